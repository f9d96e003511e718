/* Writing files.
 *
 * Problem. A file is to be replaced so that its reader sees the old content or the new one, whatever happens in
 * between: a full disk, a kill -9, a crash of the system. The usual way is a temporary file beside it and rename(). But
 * rename() replaces whatever has that name, a device as well as a symbolic link; and a process that is killed leaves
 * its temporary file behind.
 *
 * What holds here:
 *  1. Only a plain file is replaced, after symbolic links were followed one by one. Everything else is written to.
 *  2. The new content is written to a file without a name (O_TMPFILE), which is gone when the process is. It gets the
 *     name when it is on the disk. Where nothing has that name yet, that is one call, linkat().
 *  3. linkat() cannot replace. So where there is an old file the new one first gets a temporary name and is then
 *     renamed. A process that is killed between the two calls would leave the temporary name. So they are made by a
 *     helper, a process of its own that shares this one's memory and is out of its process group: kill -9 of the
 *     process or of its group does not reach it, and it needs nothing of its parent's to finish.
 *  4. What remains is that the helper is killed as well (all processes of a container are), or that the system crashes
 *     between the two calls. The temporary file then stays. Its name shows what it is, and it is locked as long as the
 *     process that writes it lives, so that outfile_check(), at the start of the next run that writes to that folder,
 *     removes it, and so does the next save of the same file.
 *  5. On a file system without O_TMPFILE (NFS, FAT, some FUSE) the temporary file has its name from the start, and 4 is
 *     all that holds.
 *
 * Dropped: renameat2(RENAME_EXCHANGE), which needs a name for the new file as well; writing in a forked process, which
 * has to copy the page tables of a large simulation at each save; a thread as helper, which kill -9 ends too. */
#include "base/outfile_internal.h"

#include "base/hash.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <sys/xattr.h>

enum {
	PART_BYTES = 4 << 20,           /* bytes written between two questions whether to go on */
	OUTFILE_REPLACE_NAMES_MAX = 64, /* temporary files of one target, from concurrent writers */
	TEMPORARY_BYTES = 48,
	HELPER_STACK_BYTES = 32768,
	ACL_BYTES_MAX = 4096,
};

/* --- temporary files ---------------------------------------------------------------------------------------------- */

static const char outfile_replace_prefix[] = ".troupe-", outfile_replace_suffix[] = ".tmp";

static void outfile_replace_name_temporary(
	const struct outfile_target *target, unsigned number, char ret_name[TEMPORARY_BYTES])
{
	(void)snprintf(ret_name, TEMPORARY_BYTES, "%s%016" PRIx64 "-%u%s", outfile_replace_prefix,
		hash_bytes(1, target->name, strlen(target->name)), number, outfile_replace_suffix);
}

static bool outfile_replace_is_temporary(const char *name)
{
	unsigned number;
	int end = 0;
	return strlen(name) < TEMPORARY_BYTES &&
	       !strncmp(name, outfile_replace_prefix, strlen(outfile_replace_prefix)) &&
	       sscanf(name + strlen(outfile_replace_prefix), "%*16[0-9a-f]-%2u.tmp%n", &number, &end) == 1 &&
	       end == (int)strlen(name + strlen(outfile_replace_prefix));
}

/* Removes a temporary file that no living process writes: such a file is not locked. Only the process that has the lock
 * takes the name away, so the name is compared after locking. */
static bool outfile_replace_remove_stale(int folder, const char *name)
{
	struct stat info, now;
	int file = AGAIN(openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	if (file < 0)
		return false;
	bool stale = !fstat(file, &info) && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
		     !AGAIN(flock(file, LOCK_EX | LOCK_NB)) && !fstatat(folder, name, &now, AT_SYMLINK_NOFOLLOW) &&
		     now.st_dev == info.st_dev && now.st_ino == info.st_ino && !AGAIN(unlinkat(folder, name, 0));
	(void)close_once(file);
	return stale;
}

void replace_clean(int folder)
{
	int copy = AGAIN(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	DIR *all = copy >= 0 ? fdopendir(copy) : NULL;
	if (!all && copy >= 0)
		(void)close_once(copy);
	for (struct dirent *entry; all && (entry = readdir(all));)
		if (outfile_replace_is_temporary(entry->d_name))
			(void)outfile_replace_remove_stale(folder, entry->d_name);
	if (all)
		(void)closedir(all);
}

/* --- replacing ---------------------------------------------------------------------------------------------------- */

struct replacing {
	const struct outfile_target *target;
	const struct outfile_options *options;
	mode_t mode; /* of a new file */
	int file;
	char link[32]; /* link of /proc to the file without a name */
	char temporary[TEMPORARY_BYTES];
	unsigned number; /* of the next temporary name */
	/* written by the helper while this process waits for it */
	volatile bool linked, renamed;
	volatile int code;
};

static bool outfile_replace_lacks_tmpfile(int code)
{
	return code == EOPNOTSUPP || code == EISDIR || code == EINVAL || code == ENOENT;
}

/* Locks a temporary file, so that it is not stale while a process has it open. Without locks it is never removed. */
static void outfile_replace_mark_as_written(int file)
{
	(void)AGAIN(flock(file, LOCK_EX | LOCK_NB));
}

static bool outfile_replace_is_named(const struct replacing *r, const char *name)
{
	struct stat file, named;
	return !fstat(r->file, &file) && !fstatat(r->target->folder, name, &named, AT_SYMLINK_NOFOLLOW) &&
	       file.st_dev == named.st_dev && file.st_ino == named.st_ino;
}

/* The next temporary name, when a living process uses the present one. False: no name is left. */
static bool outfile_replace_next_temporary(struct replacing *r)
{
	if (!*r->temporary || !outfile_replace_remove_stale(r->target->folder, r->temporary))
		outfile_replace_name_temporary(r->target, r->number++, r->temporary);
	return r->number <= OUTFILE_REPLACE_NAMES_MAX;
}

/* Opens a temporary file that has a name. 0 or errno. */
static int outfile_replace_open_named(struct replacing *r)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	while (outfile_replace_next_temporary(r)) {
		r->file = AGAIN(openat(r->target->folder, r->temporary, flags, r->mode));
		if (r->file < 0 && errno != EEXIST)
			return errno;
		if (r->file < 0)
			continue;
		outfile_replace_mark_as_written(r->file);
		r->linked = outfile_replace_is_named(r, r->temporary);
		if (r->linked)
			return 0;
		(void)close_once(r->file); /* another process removed it as stale before it was locked */
		r->file = -1;
	}
	return EBUSY;
}

/* Opens a file for the new content, without a name if possible. 0 or errno. */
static int outfile_replace_open_temporary(struct replacing *r)
{
	r->file = AGAIN(openat(r->target->folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, r->mode));
	if (r->file < 0)
		return outfile_replace_lacks_tmpfile(errno) ? outfile_replace_open_named(r) : errno;
	outfile_replace_mark_as_written(r->file);
	(void)snprintf(r->link, sizeof r->link, "/proc/self/fd/%d", r->file);
	return 0;
}

/* Gives the file the old file's user and group, as far as allowed. Returns the mode that then fits. */
static mode_t outfile_replace_keep_owner(const struct replacing *r)
{
	const struct stat *old = &r->target->info;
	struct stat made;
	mode_t mode = old->st_mode & 07777;
	if (fstat(r->file, &made) || (made.st_uid == old->st_uid && made.st_gid == old->st_gid) ||
		!AGAIN(fchown(r->file, old->st_uid, old->st_gid)))
		return mode;
	mode &= 01777; /* no set-user-id when the user differs */
	return made.st_gid == old->st_gid || !AGAIN(fchown(r->file, (uid_t)-1, old->st_gid)) ? mode : mode & 01707;
}

static void outfile_replace_keep_access_list(const struct replacing *r)
{
	static const char name[] = "system.posix_acl_access";
	char list[ACL_BYTES_MAX];
	int old = AGAIN(openat(r->target->folder, r->target->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	ssize_t count = old < 0 ? -1 : fgetxattr(old, name, list, sizeof list);
	if (count > 0)
		(void)fsetxattr(r->file, name, list, (size_t)count, 0);
	if (old >= 0)
		(void)close_once(old);
}

static int outfile_replace_link_as(const struct replacing *r, const char *name)
{
	if (!AGAIN(linkat(AT_FDCWD, r->link, r->target->folder, name, AT_SYMLINK_FOLLOW)))
		return 0;
	if (errno != ENOENT) /* without /proc */
		return errno;
	return AGAIN(linkat(r->file, "", r->target->folder, name, AT_EMPTY_PATH)) ? errno : 0;
}

/* The two calls between which a temporary name exists. Also runs in the helper: system calls only. */
static void outfile_replace_link_and_rename(struct replacing *r)
{
	int folder = r->target->folder;
	if (!r->linked)
		r->code = outfile_replace_link_as(r, r->temporary);
	r->linked = r->linked || !r->code;
	if (!r->code && AGAIN(renameat(folder, r->temporary, folder, r->target->name)))
		r->code = errno;
	r->renamed = !r->code;
}

static int outfile_replace_help(void *arg)
{
	(void)setpgid(0, 0); /* a signal to the group must not reach the helper */
	outfile_replace_link_and_rename(arg);
	return 0;
}

/* ThreadSanitizer treats the helper as the child of a fork() and then ignores all synchronization of the thread whose
 * memory the helper shares. So such a build has no helper. */
#if defined(__SANITIZE_THREAD__)
enum { HAS_HELPER = 0 };
#else
enum { HAS_HELPER = 1 };
#endif

/* The helper works while this thread waits for it, so its stack may be in this thread's. */
static void outfile_replace_link_and_rename_safely(struct replacing *r)
{
	_Alignas(16) char stack[HELPER_STACK_BYTES];
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* no signal handler of the program runs in the helper */
	r->code = 0;
	int pid = HAS_HELPER ? clone(outfile_replace_help, stack + sizeof stack, CLONE_VM | CLONE_VFORK, r) : -1;
	while (pid > 0 && waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r->renamed || r->code)
		return;
	/* there was no helper, or it was killed before it could report */
	r->renamed = outfile_replace_is_named(r, r->target->name);
	r->linked = !r->renamed && outfile_replace_is_named(r, r->temporary);
	if (!r->renamed)
		outfile_replace_link_and_rename(r);
}

/* Replaces an existing file. 0 or errno. */
static int outfile_replace_old(struct replacing *r)
{
	int code = EBUSY;
	while (outfile_replace_next_temporary(r)) {
		outfile_replace_link_and_rename_safely(r);
		code = r->renamed ? 0 : r->code;
		if (r->linked || code != EEXIST)
			return code;
	}
	return code;
}

/* Gives a file with a temporary name its final name. 0 or errno. */
static int outfile_replace_rename_named(struct replacing *r)
{
	int folder = r->target->folder;
	if (!r->options->fresh) {
		outfile_replace_link_and_rename(r);
		return r->renamed ? 0 : r->code;
	}
	/* rename() would replace a file that was created meanwhile */
	return AGAIN(linkat(folder, r->temporary, folder, r->target->name, 0)) ? errno : 0;
}

static int outfile_replace_give_name(struct replacing *r)
{
	int code = EEXIST;
	if (r->linked)
		return outfile_replace_rename_named(r);
	if (!r->target->there)
		code = outfile_replace_link_as(r, r->target->name);
	return code == EEXIST && !r->options->fresh ? outfile_replace_old(r) : code;
}

/* 0 or errno. Some file systems cannot sync a folder, and some folders must not be read. */
static int outfile_replace_sync_folder(int folder)
{
	int file = AGAIN(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (file < 0)
		return 0;
	int code = AGAIN(fsync(file)) ? errno : 0;
	(void)close_once(file);
	return code == EINVAL || code == EBADF || code == ENOSYS || code == EOPNOTSUPP ? 0 : code;
}

/* Writes in parts: one part goes to the disk while the next is written, so that no call takes long. */
static int outfile_replace_put_whole(int file, const char *bytes, size_t count, const struct outfile_options *options)
{
	enum { START = SYNC_FILE_RANGE_WRITE, WAIT = SYNC_FILE_RANGE_WAIT_BEFORE | START | SYNC_FILE_RANGE_WAIT_AFTER };
	for (size_t at = 0; at < count; at += PART_BYTES) {
		size_t part = MIN(count - at, (size_t)PART_BYTES);
		if (outfile_urgency_of(options) == OUTFILE_LEAVING)
			return ECANCELED;
		int code = outfile_put_plain(file, bytes + at, part);
		if (code)
			return code;
		/* only spreads the work: fsync() reports whether the content is on the disk */
		(void)sync_file_range(file, (off_t)at, (off_t)part, START);
		if (at)
			(void)sync_file_range(file, (off_t)(at - PART_BYTES), PART_BYTES, WAIT);
	}
	if (outfile_urgency_of(options) == OUTFILE_LEAVING)
		return ECANCELED;
	return AGAIN(fsync(file)) ? errno : 0;
}

/* Removes a file that did not get its final name. */
static void outfile_replace_end_replacing(struct replacing *r)
{
	if (r->linked && !r->renamed)
		(void)AGAIN(unlinkat(r->target->folder, r->temporary, 0));
	(void)close_once(r->file); /* the content is on the disk or not needed */
}

int replace_try(const struct outfile_target *target)
{
	struct replacing r = {.target = target, .mode = 0600, .file = -1};
	int code = outfile_replace_open_temporary(&r);
	if (!code)
		outfile_replace_end_replacing(&r);
	return code;
}

int replace_file(
	const struct outfile_target *target, const char *bytes, size_t count, const struct outfile_options *options)
{
	mode_t mode = options->mode ? options->mode : 0666;
	struct replacing r = {.target = target, .options = options, .mode = mode, .file = -1};
	if (options->fresh && target->there)
		return EEXIST;
	int code = outfile_replace_open_temporary(&r);
	if (code)
		return code;
	if (target->there) {
		(void)AGAIN(fchmod(r.file, outfile_replace_keep_owner(&r)));
		outfile_replace_keep_access_list(&r);
	}
	code = outfile_replace_put_whole(r.file, bytes, count, options);
	if (!code)
		code = outfile_replace_give_name(&r);
	outfile_replace_end_replacing(&r);
	return code ? code : outfile_replace_sync_folder(target->folder);
}
