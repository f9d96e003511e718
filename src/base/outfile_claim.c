/* Two runs that write one file: each line of the one would be written over lines of the other, and neither would know.
 * So a stream is locked while it is open. That alone is too late, because a run checks its names before it loads its
 * world, and opens its files when it begins; and a state is a new file each time. So a run claims its names when it
 * checks them. A claim locks a hidden file beside the named one, since the named one may not exist yet and may be
 * replaced. Its name is that of a temporary file (outfile_replace.c): if the process is killed, the next run that
 * writes into the folder removes it. */
#include "base/outfile_internal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

enum { CLAIM_NUMBER = 99 };

_Static_assert(CLAIM_NUMBER >= (int)REPLACE_NUMBERS, "no temporary file has the name of a claim");

int claim_lock(int file)
{
	return AGAIN(flock(file, LOCK_EX | LOCK_NB)) && errno == EWOULDBLOCK ? EWOULDBLOCK : 0;
}

/* The hidden file, locked; *ret_file -1: none can be made there. 0 or EWOULDBLOCK. A file that its owner removed
 * before it was locked here is no claim: then the next one is made. */
static int claim_open(const struct place *place, const char *name, int *ret_file)
{
	int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	for (;;) {
		int file = AGAIN(openat(place->folder, name, flags, 0600));
		*ret_file = file;
		if (file < 0)
			return 0;
		int code = claim_lock(file);
		if (!code && replace_is_named(place->folder, name, file))
			return 0;
		(void)close_once(file);
		*ret_file = -1;
		if (code)
			return code;
	}
}

/* Whether a stream of another process has the file open. 0 or EWOULDBLOCK. */
static int claim_try(const struct place *place)
{
	int file = place->there ? AGAIN(openat(place->folder, place->name,
					  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC))
				: -1;
	int code = file < 0 ? 0 : claim_lock(file);
	if (file >= 0)
		(void)close_once(file);
	return code;
}

troupe_status outfile_claim(struct outfile_claim *claim, const char *path, struct troupe_error *error)
{
	struct place place;
	struct outfile_claim made = {0};
	int code = place_find(&place, path), file = -1;
	_Static_assert(sizeof made.name == REPLACE_NAME_BYTES, "a claim has the name of a temporary file");
	if (!code && place_is_plain(&place)) {
		replace_name(&place, CLAIM_NUMBER, made.name);
		code = claim_open(&place, made.name, &file);
		if (!code)
			code = claim_try(&place);
	}
	if (!code && file >= 0) {
		made.folder = place.folder + 1;
		made.file = file + 1;
		place.folder = -1;
		*claim = made;
	} else if (file >= 0) {
		(void)AGAIN(unlinkat(place.folder, made.name, 0));
		(void)close_once(file);
	}
	place_close(&place);
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
	if (claim->folder) {
		(void)AGAIN(unlinkat(claim->folder - 1, claim->name, 0));
		(void)close_once(claim->folder - 1);
	}
	if (claim->file)
		(void)close_once(claim->file - 1);
	*claim = (struct outfile_claim){0};
}
