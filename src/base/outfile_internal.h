/* What the files of outfile share. */
#ifndef BASE_OUTFILE_INTERNAL_H
#define BASE_OUTFILE_INTERNAL_H

#include "base/outfile.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

/* close() is not to be called twice: the descriptor is free whatever it returns. */
static inline int close_once(int file)
{
	return close(file) && errno != EINTR ? errno : 0;
}

/* --- outfile_place.c: where a name leads -------------------------------------------------------------------------- */

struct place {
	int folder; /* open for its path only */
	char name[NAME_MAX + 1];
	bool there;
	struct stat info; /* if so */
	bool by_link;     /* of /proc, to a file that is open and need not have a name */
	int own;          /* if so: the descriptor, when it is one of this process; else -1 */
};

/* Follows symbolic links, also to where nothing is yet. 0 or errno. To be closed in any case. */
int place_find(struct place *place, const char *path);
void place_close(struct place *place);
/* Whether it is, or can become, a file that may be replaced. */
bool place_is_plain(const struct place *place);

/* --- outfile_replace.c -------------------------------------------------------------------------------------------- */

/* place_is_plain() of it. 0 or errno. */
int replace_file(const struct place *place, const char *bytes, size_t count, const struct outfile_options *options);
/* Whether there could be a temporary file. 0 or errno. */
int replace_try(const struct place *place);
/* Removes what processes that were killed have left there. */
void replace_clean(int folder);

/* --- outfile.c ---------------------------------------------------------------------------------------------------- */

enum outfile_haste outfile_haste_of(const struct outfile_options *options);
/* To a file that is no device or pipe. 0 or errno. */
int outfile_put_plain(int file, const char *bytes, size_t count);

#endif
