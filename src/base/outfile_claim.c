/* Two runs that write one file: each line of the one would be written over lines of the other, and neither would know.
 * So a stream is locked while it is open. That alone is too late, because a run checks its names before it loads its
 * world, and opens its files when it begins; and a state is a new file each time. So a run claims its names when it
 * checks them. The named file may not exist yet and may be replaced, so it cannot be locked itself; and a lock file
 * would stay behind where a process is killed or has no memory. A claim is a socket that has the name of the folder and
 * file: an abstract name (unix(7)) belongs to one process of this machine, and goes with it. */
#include "base/outfile_internal.h"

#include "base/hash.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>

int claim_lock(int file)
{
	return AGAIN(flock(file, LOCK_EX | LOCK_NB)) && errno == EWOULDBLOCK ? EWOULDBLOCK : 0;
}

/* *ret_file: the socket; -1: none can be made. 0 or EWOULDBLOCK. */
static int outfile_claim_open(const struct outfile_target *target, int *ret_file)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct stat folder;
	*ret_file = -1;
	if (fstat(target->folder, &folder))
		return 0;
	int length = snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "troupe writes %llx %llx %016llx",
		(unsigned long long)folder.st_dev, (unsigned long long)folder.st_ino,
		(unsigned long long)hash_bytes(0, target->name, strlen(target->name)));
	int file = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (file < 0)
		return 0;
	socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
	if (!bind(file, (const struct sockaddr *)&at, bytes)) {
		*ret_file = file;
		return 0;
	}
	int code = errno == EADDRINUSE ? EWOULDBLOCK : 0;
	(void)close_once(file);
	return code;
}

/* Whether a stream of another process has the file open. 0 or EWOULDBLOCK. */
static int outfile_claim_try(const struct outfile_target *target)
{
	int file = target->there ? AGAIN(openat(target->folder, target->name,
					   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC))
				 : -1;
	int code = file < 0 ? 0 : claim_lock(file);
	if (file >= 0)
		(void)close_once(file);
	return code;
}

troupe_status outfile_claim(struct outfile_claim *claim, const char *path, struct troupe_error *error)
{
	struct outfile_target target;
	int code = outfile_target_find(&target, path), file = -1;
	if (!code && outfile_target_is_plain(&target)) {
		code = outfile_claim_open(&target, &file);
		if (!code)
			code = outfile_claim_try(&target);
	}
	if (!code)
		*claim = (struct outfile_claim){.file = file + 1};
	else if (file >= 0)
		(void)close_once(file);
	outfile_target_close(&target);
	return outfile_fail(path, code, error);
}

troupe_status outfile_claim_folder(struct outfile_claim *claim, const char *path, struct troupe_error *error)
{
	int file = AGAIN(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	int code = file < 0 ? 0 : claim_lock(file);
	if (code)
		(void)close_once(file);
	else if (file >= 0)
		*claim = (struct outfile_claim){.file = file + 1};
	return outfile_fail(path, code, error);
}

void outfile_release(struct outfile_claim *claim)
{
	if (claim->file)
		(void)close_once(claim->file - 1);
	*claim = (struct outfile_claim){0};
}
