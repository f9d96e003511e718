/* Where the name of a file leads. The last part of a path may be a symbolic link, to another link or to a name that
 * does not exist yet. realpath() fails at such a name, and open() would write to the file instead of replacing it. So
 * links are followed here, one by one, from folder to folder. Links of /proc to open files are not followed: their
 * text is no path ("pipe:[123]"), or the path of a file that may have been replaced. */
#include "base/outfile_internal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/vfs.h>

enum { LINKS_MAX = 40, OUTFILE_PLACE_PROC_MAGIC = 0x9fa0 };

void outfile_target_close(struct outfile_target *target)
{
	if (target->folder >= 0)
		(void)close_once(target->folder);
	target->folder = -1;
}

/* Opens the folder of the path and leaves the last part in target->name. 0 or errno. */
static int outfile_target_enter(struct outfile_target *target, char *path)
{
	char *slash = strrchr(path, '/');
	const char *folder = !slash ? "." : slash == path ? "/" : path, *name = slash ? slash + 1 : path;
	if (!*path)
		return ENOENT;
	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return EISDIR;
	if (strlen(name) > NAME_MAX)
		return ENAMETOOLONG;
	memcpy(target->name, name, strlen(name) + 1);
	if (slash)
		*slash = '\0';
	int from = target->folder >= 0 ? target->folder : AT_FDCWD;
	int entered = AGAIN(openat(from, folder, O_PATH | O_DIRECTORY | O_CLOEXEC));
	if (entered < 0)
		return errno;
	outfile_target_close(target);
	target->folder = entered;
	return 0;
}

/* The descriptor of this process for which a link of /proc/self/fd stands. */
static int outfile_target_own_descriptor(const struct outfile_target *target)
{
	struct stat here;
	int number = 0;
	for (const char *at = target->name; *at; at++) {
		if (*at < '0' || *at > '9' || number > INT_MAX / 10 - 1)
			return -1;
		number = number * 10 + (*at - '0');
	}
	bool same = !fstat(number, &here) && here.st_dev == target->info.st_dev && here.st_ino == target->info.st_ino;
	return same ? number : -1;
}

/* 0 or errno. The caller closes the target in any case. */
int outfile_target_find(struct outfile_target *target, const char *path)
{
	char at[PATH_MAX];
	*target = (struct outfile_target){.folder = -1, .own = -1};
	if (strlen(path) >= sizeof at)
		return ENAMETOOLONG;
	memcpy(at, path, strlen(path) + 1);
	for (int links = 0; links < LINKS_MAX; links++) {
		struct statfs system;
		int code = outfile_target_enter(target, at);
		if (code)
			return code;
		if (AGAIN(fstatat(target->folder, target->name, &target->info, AT_SYMLINK_NOFOLLOW)))
			return errno == ENOENT ? 0 : errno;
		target->there = true;
		if (!S_ISLNK(target->info.st_mode))
			return 0;
		if (!AGAIN(fstatfs(target->folder, &system)) && system.f_type == OUTFILE_PLACE_PROC_MAGIC &&
			!AGAIN(fstatat(target->folder, target->name, &target->info, 0))) {
			target->by_link = true;
			target->own = outfile_target_own_descriptor(target);
			return 0;
		}
		ssize_t count = AGAIN(readlinkat(target->folder, target->name, at, sizeof at - 1));
		if (count < 0)
			return errno;
		at[count] = '\0';
		target->there = false;
	}
	return ELOOP;
}

bool outfile_target_is_plain(const struct outfile_target *target)
{
	return !target->there || (S_ISREG(target->info.st_mode) && !target->by_link);
}

bool outfile_same(const char *path, const char *other)
{
	struct outfile_target a, b;
	struct stat x, y;
	bool found = !outfile_target_find(&a, path), same = !outfile_target_find(&b, other) && found &&
							    outfile_target_is_plain(&a) && outfile_target_is_plain(&b);
	if (same && a.there && b.there)
		same = a.info.st_dev == b.info.st_dev && a.info.st_ino == b.info.st_ino;
	else if (same)
		same = !a.there && !b.there && !strcmp(a.name, b.name) && !fstat(a.folder, &x) &&
		       !fstat(b.folder, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
	outfile_target_close(&a);
	outfile_target_close(&b);
	return same;
}
