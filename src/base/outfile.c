/* Writing to open files, and checking a name before a run. A device or a pipe may block a write for any time, and an
 * interrupted write does not tell how much was written. So poll() is called first, and a write gets no more bytes
 * than the pipe takes at once. How a file is replaced is in outfile_replace.c. */
#include "base/outfile_internal.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

enum {
	PIPE_BYTES = 4096, /* PIPE_BUF: a pipe that poll() calls ready takes this many bytes at once */
	OUTFILE_LOOK_MS = 50,
	READER_MS = 500,
};

const char *outfile_why(int code)
{
	switch (code) {
	case ETIMEDOUT:
		return "no process reads it";
	case ECANCELED:
		return "given up, because the run was told to stop";
	case EISDIR:
		return "is a folder";
	case EEXIST:
		return "the file exists: expected a new name, or remove the file first";
	case EWOULDBLOCK:
		return "another run writes it: expected another name, or wait for the end of that run";
	case ENOTSOCK:
		return "is a socket: expected a file, a device or a pipe";
	default:
		return strerror(code);
	}
}

troupe_status outfile_fail(const char *path, int code, struct troupe_error *error)
{
	return code ? fail(error, TROUPE_EIO, "%s: cannot write: %s", path, outfile_why(code)) : TROUPE_OK;
}

/* --- signals ------------------------------------------------------------------------------------------------------ */

struct held {
	sigset_t before, ours;
};

/* Blocks SIGPIPE and SIGXFSZ; signals that were pending stay pending. */
static void outfile_hold_signals(struct held *held)
{
	static const int numbers[] = {SIGPIPE, SIGXFSZ};
	sigset_t both, pending;
	sigemptyset(&both);
	sigemptyset(&held->ours);
	sigpending(&pending);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		sigaddset(&both, numbers[i]);
		if (!sigismember(&pending, numbers[i]))
			sigaddset(&held->ours, numbers[i]);
	}
	pthread_sigmask(SIG_BLOCK, &both, &held->before);
}

static void outfile_release_signals(const struct held *held)
{
	static const struct timespec at_once = {0, 0};
	int code = errno;
	while (sigtimedwait(&held->ours, NULL, &at_once) > 0 || errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, &held->before, NULL);
	errno = code;
}

/* Refuses kinds that are never written to. 0 or errno. */
static int outfile_check_kind(const struct outfile_target *target)
{
	if (target->there && S_ISDIR(target->info.st_mode))
		return EISDIR;
	return target->there && S_ISSOCK(target->info.st_mode) && target->own < 0 ? ENOTSOCK : 0; /* open() cannot */
}

/* A file of another user in a sticky folder, where each user may remove only own files. */
static bool outfile_belongs_to_others(const struct outfile_target *target)
{
	struct stat folder;
	return geteuid() && !fstat(target->folder, &folder) && folder.st_mode & S_ISVTX && folder.st_uid != geteuid() &&
	       target->info.st_uid != geteuid();
}

/* An existing file may be replaced only by a process that could write to it. 0 or errno. */
static int outfile_check_old(const struct outfile_target *target)
{
	if (!target->there)
		return 0;
	if (AGAIN(faccessat(target->folder, target->name, W_OK, AT_EACCESS)))
		return errno;
	return outfile_belongs_to_others(target) ? EPERM : 0;
}

/* --- putting bytes ------------------------------------------------------------------------------------------------ */

enum outfile_urgency outfile_urgency_of(const struct outfile_options *options)
{
	return options->urgency ? options->urgency(options->ctx) : OUTFILE_PATIENT;
}

/* Waits until a pipe or a device takes bytes. 0, or ETIMEDOUT when it takes none and the caller is in a hurry. */
static int outfile_wait_for_reader(int file, const struct outfile_options *options)
{
	int hurried_ms = 0;
	for (;;) {
		struct pollfd fd = {.fd = file, .events = POLLOUT};
		int ready = poll(&fd, 1, OUTFILE_LOOK_MS);
		if (ready > 0)
			return 0; /* also on an error, which write() reports */
		if (ready < 0 && errno != EINTR)
			return errno;
		hurried_ms = outfile_urgency_of(options) ? hurried_ms + OUTFILE_LOOK_MS : 0;
		if (hurried_ms > READER_MS)
			return ETIMEDOUT;
	}
}

static int outfile_put_special(int file, const char *bytes, size_t count, const struct outfile_options *options)
{
	while (count) {
		int code = outfile_wait_for_reader(file, options);
		if (code)
			return code;
		ssize_t written = write(file, bytes, MIN(count, (size_t)PIPE_BYTES));
		if (written < 0 && errno != EINTR && errno != EAGAIN)
			return errno;
		bytes += MAX(written, 0);
		count -= (size_t)MAX(written, 0);
	}
	return 0;
}

int outfile_put_plain(int file, const char *bytes, size_t count)
{
	while (count) {
		ssize_t written = AGAIN(write(file, bytes, count));
		if (written < 0)
			return errno;
		if (!written)
			return EIO;
		bytes += written;
		count -= (size_t)written;
	}
	return 0;
}

int outfile_put(int file, const char *bytes, size_t count, const struct outfile_options *options)
{
	struct held held;
	struct stat info;
	outfile_hold_signals(&held);
	bool special = !fstat(file, &info) && !S_ISREG(info.st_mode);
	int code = special ? outfile_put_special(file, bytes, count, options) : outfile_put_plain(file, bytes, count);
	outfile_release_signals(&held);
	return code;
}

/* --- writing to what cannot be replaced --------------------------------------------------------------------------- */

/* Waits for a reader of a pipe. Returns the descriptor, or -1 with errno. */
static int outfile_open_special(const struct outfile_target *target, const struct outfile_options *options)
{
	int flags = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | O_APPEND;
	if (S_ISBLK(target->info.st_mode))
		flags |= O_EXCL; /* refuses a mounted disk */
	if (target->own >= 0)
		return AGAIN(fcntl(target->own, F_DUPFD_CLOEXEC, 0));
	for (int hurried_ms = 0;;) {
		int file = AGAIN(openat(target->folder, target->name, flags));
		if (file >= 0 || errno != ENXIO || !S_ISFIFO(target->info.st_mode))
			return file;
		(void)poll(NULL, 0, OUTFILE_LOOK_MS);
		hurried_ms = outfile_urgency_of(options) ? hurried_ms + OUTFILE_LOOK_MS : 0;
		if (hurried_ms > READER_MS) {
			errno = ETIMEDOUT;
			return -1;
		}
	}
}

static int outfile_write_special(
	const struct outfile_target *target, const char *bytes, size_t count, const struct outfile_options *options)
{
	int file = outfile_open_special(target, options);
	if (file < 0)
		return errno;
	bool plain = S_ISREG(target->info.st_mode);
	int code = plain ? outfile_put_plain(file, bytes, count) : outfile_put_special(file, bytes, count, options);
	int closed = close_once(file);
	return code ? code : closed;
}

troupe_status outfile_replace(const char *path, const char *bytes, size_t count, const struct outfile_options *options,
	struct troupe_error *error)
{
	static const struct outfile_options usual;
	struct outfile_target target;
	struct held held;
	options = options ? options : &usual;
	outfile_hold_signals(&held);
	int code = outfile_target_find(&target, path);
	if (!code)
		code = outfile_check_kind(&target);
	if (!code && outfile_target_is_plain(&target))
		code = outfile_check_old(&target);
	if (!code)
		code = outfile_target_is_plain(&target) ? replace_file(&target, bytes, count, options)
		       : options->fresh                 ? EEXIST
							: outfile_write_special(&target, bytes, count, options);
	outfile_target_close(&target);
	outfile_release_signals(&held);
	return outfile_fail(path, code, error);
}

/* --- streams ------------------------------------------------------------------------------------------------------ */

static int outfile_open_plain(const struct outfile_target *target)
{
	int flags = O_WRONLY | (target->there ? 0 : O_CREAT) | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC | O_NONBLOCK;
	int file = AGAIN(openat(target->folder, target->name, flags, 0666));
	int code = file < 0 ? errno : claim_lock(file);
	if (!code && AGAIN(ftruncate(file, 0))) /* also a new one, which another process may have written meanwhile */
		code = errno;
	if (!code)
		return file;
	if (file >= 0)
		(void)close_once(file);
	errno = code;
	return -1;
}

troupe_status outfile_open(
	struct outfile *out, const char *path, const struct outfile_options *options, struct troupe_error *error)
{
	struct outfile_target target;
	struct outfile opened = {.options = options ? *options : (struct outfile_options){0}};
	int code = outfile_target_find(&target, path), file = -1;
	if (!code)
		code = outfile_check_kind(&target);
	if (!code) {
		opened.special = target.there && !S_ISREG(target.info.st_mode);
		file = outfile_target_is_plain(&target) ? outfile_open_plain(&target)
							: outfile_open_special(&target, &opened.options);
		code = file < 0 ? errno : 0;
	}
	outfile_target_close(&target);
	opened.file = file + 1;
	if (!code)
		*out = opened;
	return outfile_fail(path, code, error);
}

int outfile_write(struct outfile *out, const char *bytes, size_t count)
{
	struct held held;
	outfile_hold_signals(&held);
	int code = out->special ? outfile_put_special(out->file - 1, bytes, count, &out->options)
				: outfile_put_plain(out->file - 1, bytes, count);
	outfile_release_signals(&held);
	return code;
}

int outfile_write_at(struct outfile *out, uint64_t offset, const char *bytes, size_t count)
{
	if (out->special)
		return ESPIPE;
	if (offset > INT64_MAX)
		return EFBIG;
	if (lseek(out->file - 1, (off_t)offset, SEEK_SET) < 0)
		return errno;
	return outfile_write(out, bytes, count);
}

int outfile_close(struct outfile *out)
{
	int code = 0, closed;
	if (!out->file)
		return 0;
	if (!out->special && AGAIN(fsync(out->file - 1)) && errno != EINVAL && errno != EROFS)
		code = errno;
	closed = close_once(out->file - 1);
	out->file = 0;
	return code ? code : closed;
}

/* --- looking ahead ------------------------------------------------------------------------------------------------ */

/* Finds what permissions do not show: a running program, an immutable file, another writer. 0 or errno. */
static int outfile_try_to_open(const struct outfile_target *target)
{
	int file = AGAIN(openat(target->folder, target->name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	if (file < 0)
		return errno;
	int code = claim_lock(file), closed = close_once(file);
	return code ? code : closed;
}

static int outfile_check_special(const struct outfile_target *target)
{
	if (target->own >= 0) {
		int flags = AGAIN(fcntl(target->own, F_GETFL));
		return flags < 0 ? errno : (flags & O_ACCMODE) == O_RDONLY ? EBADF : 0;
	}
	return AGAIN(faccessat(target->folder, target->name, W_OK, AT_EACCESS)) ? errno : 0;
}

static int outfile_check_target(const struct outfile_target *target, bool stream)
{
	int code = outfile_check_kind(target);
	if (code || !outfile_target_is_plain(target))
		return code ? code : outfile_check_special(target);
	code = outfile_check_old(target);
	if (!code && target->there)
		code = outfile_try_to_open(target);
	if (code || (stream && target->there))
		return code;
	replace_clean(target->folder);
	return replace_try(target);
}

static troupe_status outfile_find_and_check(const char *path, bool stream, struct troupe_error *error)
{
	struct outfile_target target;
	int code = outfile_target_find(&target, path);
	if (!code)
		code = outfile_check_target(&target, stream);
	outfile_target_close(&target);
	return outfile_fail(path, code, error);
}

troupe_status outfile_check(const char *path, struct troupe_error *error)
{
	return outfile_find_and_check(path, false, error);
}

troupe_status outfile_check_stream(const char *path, struct troupe_error *error)
{
	return outfile_find_and_check(path, true, error);
}
