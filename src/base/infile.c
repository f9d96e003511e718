/* The size that a file had when it was opened is not relied on: a file may change while it is read, which is an error,
 * and a file that the kernel makes up has no size. */
#include "base/infile.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { INFILE_READ_BYTES = 1 << 16, INFILE_PROC_MAGIC = 0x9fa0, SYSFS_MAGIC_NUMBER = 0x62656572 };

struct infile_reading {
	const char *path;
	int file;
	bool plain;
	size_t expected; /* bytes of a plain file when it was opened; 0: unknown (as in /proc) */
	size_t bytes_max;
	const char *beginning;
	struct text text;
};

static troupe_status infile_cannot_open(const char *path, struct troupe_error *error)
{
	return fail(error, TROUPE_EIO, "%s: cannot open: %s", path, strerror(errno));
}

static troupe_status infile_begin_reading(struct infile_reading *r, struct troupe_error *error)
{
	struct stat info;
	if (r->file < 0 || AGAIN(fstat(r->file, &info)))
		return infile_cannot_open(r->path, error);
	if (S_ISDIR(info.st_mode))
		return fail(error, TROUPE_EIO, "%s: is a folder: expected a file", r->path);
	r->plain = S_ISREG(info.st_mode);
	r->expected = r->plain ? (size_t)info.st_size : 0;
	return r->expected > r->bytes_max
		       ? fail(error, TROUPE_ELIMIT, "%s: larger than %zu bytes", r->path, r->bytes_max)
		       : TROUPE_OK;
}

/* A device may never end. Whether the bytes read so far are reason enough to stop. */
static bool infile_is_hopeless(const struct infile_reading *r, size_t from)
{
	const char *at = r->text.at + from, *end = r->text.at + r->text.count;
	if (r->beginning)
		return memcmp(r->text.at, r->beginning, MIN(strlen(r->beginning), r->text.count)) != 0;
	return !r->plain && at < end && !*at && !memcmp(at, at + 1, (size_t)(end - at) - 1);
}

static troupe_status infile_read_all(struct infile_reading *r, struct troupe_error *error)
{
	for (;;) {
		/* of a file of known length: the rest, and one more byte, which must not exist */
		size_t from = r->text.count, part = r->expected ? r->expected - from + 1 : INFILE_READ_BYTES;
		text_reserve(&r->text, part);
		ssize_t got = AGAIN(read(r->file, r->text.at + from, part));
		if (got < 0)
			return fail(error, TROUPE_EIO, "%s: cannot read: %s", r->path, strerror(errno));
		r->text.count += (size_t)got;
		r->text.at[r->text.count] = '\0';
		if (r->text.count > r->bytes_max)
			return fail(error, TROUPE_ELIMIT, "%s: larger than %zu bytes", r->path, r->bytes_max);
		if (!got ? r->expected && r->text.count < r->expected : r->expected && r->text.count > r->expected)
			return fail(error, TROUPE_EIO, "%s: changed while it was read", r->path);
		if (!got || infile_is_hopeless(r, from))
			return TROUPE_OK;
	}
}

/* Closes the file. */
static troupe_status infile_read_whole(int file, const char *path, const char *beginning, size_t bytes_max,
	char **ret_text, size_t *ret_bytes, struct troupe_error *error)
{
	struct infile_reading r = {.path = path, .file = file, .bytes_max = bytes_max, .beginning = beginning};
	troupe_status status = infile_begin_reading(&r, error);
	if (!status)
		status = infile_read_all(&r, error);
	if (file >= 0)
		(void)close(file);
	if (status) {
		text_fini(&r.text);
		return status;
	}
	*ret_text = mem_realloc(r.text.at, r.text.count + 1); /* callers keep many files */
	*ret_bytes = r.text.count;
	return TROUPE_OK;
}

/* A file that the kernel makes up has no size, or, below /sys, a size that means nothing. */
static bool infile_is_made_up(int file)
{
	struct statfs system;
	return !AGAIN(fstatfs(file, &system)) &&
	       (system.f_type == INFILE_PROC_MAGIC || system.f_type == SYSFS_MAGIC_NUMBER);
}

troupe_status infile_open_plain(const char *path, int *ret_file, struct troupe_error *error)
{
	struct stat named, opened;
	/* a device may do something when it is opened: so its name is looked at first, and then the open file */
	if (AGAIN(stat(path, &named)))
		return infile_cannot_open(path, error);
	int file = S_ISREG(named.st_mode) ? AGAIN(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) : -1;
	if (S_ISREG(named.st_mode) && file < 0)
		return infile_cannot_open(path, error);
	bool plain = file >= 0 && !AGAIN(fstat(file, &opened)) && S_ISREG(opened.st_mode) && !infile_is_made_up(file);
	if (plain && opened.st_size > 0) {
		*ret_file = file;
		return TROUPE_OK;
	}
	if (file >= 0)
		(void)close(file);
	return fail(error, TROUPE_EIO, "%s: %s", path,
		plain                    ? "an empty file: expected one with content"
		: S_ISDIR(named.st_mode) ? "is a folder: expected a file"
					 : "not a plain file: expected one");
}

troupe_status infile_read_open(
	int file, const char *path, size_t bytes_max, char **ret_text, size_t *ret_bytes, struct troupe_error *error)
{
	int own = AGAIN(fcntl(file, F_DUPFD_CLOEXEC, 0));
	return infile_read_whole(own, path, NULL, bytes_max, ret_text, ret_bytes, error);
}

troupe_status infile_read_plain(const char *path, const char *beginning, size_t bytes_max, char **ret_text,
	size_t *ret_bytes, struct troupe_error *error)
{
	int file = -1;
	troupe_status status = infile_open_plain(path, &file, error);
	return status ? status : infile_read_whole(file, path, beginning, bytes_max, ret_text, ret_bytes, error);
}

troupe_status infile_read_of(const char *path, const char *beginning, size_t bytes_max, char **ret_text,
	size_t *ret_bytes, struct troupe_error *error)
{
	int file = AGAIN(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY));
	return infile_read_whole(file, path, beginning, bytes_max, ret_text, ret_bytes, error);
}

troupe_status infile_read(
	const char *path, size_t bytes_max, char **ret_text, size_t *ret_bytes, struct troupe_error *error)
{
	return infile_read_of(path, NULL, bytes_max, ret_text, ret_bytes, error);
}
