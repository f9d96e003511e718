/* The key file holds a secret, so no other user may be able to read it. A new file has mode 0600 and never replaces an
 * existing file. A file that other users can access is refused. The open file is checked, because its path may name
 * another file by then. The text of the key is erased from memory after use. */
#include "net/key.h"

#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADING "troupe key 1 "
enum { FILE_BYTES = sizeof HEADING - 1 + 2 * KEY_BYTES + 1 };

char *key_default_path(void)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	/* the XDG specification: ignore a path that is not absolute */
	if (config && *config == '/')
		return mem_printf("%s/troupe/key", config);
	return home && *home ? mem_printf("%s/.config/troupe/key", home) : NULL;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Checks the open file, not its path: the path may name another file by now. */
static troupe_status key_check_file(int file, const char *path, struct troupe_error *error)
{
	struct stat info;
	if (fstat(file, &info))
		return fail(error, TROUPE_EIO, "%s: cannot read: %s", path, strerror(errno));
	if (!S_ISREG(info.st_mode))
		return fail(error, TROUPE_EIO, "%s: not a plain file: expected a key file", path);
	if (info.st_mode & (S_IRWXG | S_IRWXO))
		return fail(error, TROUPE_EIO,
			"%s: other users may read it (mode %04o): expected mode 0600 (chmod 600)", path,
			(unsigned)info.st_mode & 07777);
	if (info.st_uid != geteuid() && info.st_uid)
		return fail(error, TROUPE_EIO, "%s: belongs to another user", path);
	return TROUPE_OK;
}

static int key_digit_of(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;
	return at ? (int)(at - digits) : -1;
}

static bool key_decode(const char *text, size_t count, struct key *ret_key)
{
	struct key key;
	const char *at = text + sizeof HEADING - 1;
	if (count != FILE_BYTES || memcmp(text, HEADING, sizeof HEADING - 1) || text[count - 1] != '\n')
		return false;
	for (int i = 0; i < KEY_BYTES; i++) {
		int high = key_digit_of(at[2 * i]), low = key_digit_of(at[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		key.bytes[i] = (unsigned char)(high << 4 | low);
	}
	*ret_key = key;
	key_forget(&key);
	return true;
}

static troupe_status key_read_open(int file, const char *path, struct key *ret_key, struct troupe_error *error)
{
	char text[FILE_BYTES + 1];
	troupe_status status = key_check_file(file, path, error);
	if (status)
		return status;
	ssize_t count = AGAIN(read(file, text, sizeof text));
	if (count < 0)
		return fail(error, TROUPE_EIO, "%s: cannot read: %s", path, strerror(errno));
	if (!key_decode(text, (size_t)count, ret_key))
		status = fail(error, TROUPE_EINVAL, "%s: not a key: expected a file written by troupe keygen", path);
	explicit_bzero(text, sizeof text);
	return status;
}

troupe_status key_read(const char *path, struct key *ret_key, struct troupe_error *error)
{
	/* O_NONBLOCK: opening a pipe does not wait for a writer */
	int file = AGAIN(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
	if (file < 0)
		return fail(error, TROUPE_EIO, "%s: cannot open: %s", path, strerror(errno));
	troupe_status status = key_read_open(file, path, ret_key, error);
	close(file);
	return status;
}

/* --- making ------------------------------------------------------------------------------------------------------- */

troupe_status key_random_bytes(void *ret_bytes, size_t count, struct troupe_error *error)
{
	unsigned char *at = ret_bytes;
	while (count) {
		ssize_t got = getrandom(at, count, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return fail(error, TROUPE_EIO, "cannot get random bytes from the system: %s", strerror(errno));
		at += got;
		count -= (size_t)got;
	}
	return TROUPE_OK;
}

troupe_status key_random(struct key *ret_key, struct troupe_error *error)
{
	return key_random_bytes(ret_key->bytes, sizeof ret_key->bytes, error);
}

static void key_encode(const struct key *key, char ret_text[FILE_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	memcpy(ret_text, HEADING, sizeof HEADING - 1);
	char *at = ret_text + sizeof HEADING - 1;
	for (int i = 0; i < KEY_BYTES; i++) {
		*at++ = digits[key->bytes[i] >> 4];
		*at++ = digits[key->bytes[i] & 15];
	}
	*at = '\n';
}

/* Makes the missing folders of the path. */
static troupe_status key_make_folders(const char *path, struct troupe_error *error)
{
	char *copy = mem_strdup(path);
	troupe_status status = TROUPE_OK;
	for (char *slash = strchr(copy + 1, '/'); slash && !status; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (AGAIN(mkdir(copy, 0700)) && errno != EEXIST && errno != EROFS && errno != EACCES)
			status = fail(error, TROUPE_EIO, "%s: cannot create the folder: %s", copy, strerror(errno));
		*slash = '/';
	}
	free(copy);
	return status;
}

troupe_status key_find(const char *given, bool none, struct key *ret_key, bool *ret_found, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	char *path = given ? mem_strdup(given) : key_default_path();
	*ret_found = path && (given || (!none && !access(path, F_OK)));
	if (*ret_found)
		status = key_read(path, ret_key, error);
	free(path);
	return status;
}

troupe_status key_create(const char *path, struct troupe_error *error)
{
	struct outfile_options options = {.fresh = true, .mode = 0600};
	struct key key;
	char text[FILE_BYTES];
	troupe_status status = key_make_folders(path, error);
	if (!status)
		status = key_random(&key, error);
	if (status)
		return status;
	key_encode(&key, text);
	status = outfile_replace(path, text, sizeof text, &options, error);
	explicit_bzero(text, sizeof text);
	key_forget(&key);
	return status;
}

void key_forget(struct key *key)
{
	explicit_bzero(key->bytes, sizeof key->bytes);
}
