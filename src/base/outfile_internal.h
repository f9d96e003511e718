/* Declarations shared by the files of outfile. */
#ifndef BASE_OUTFILE_INTERNAL_H
#define BASE_OUTFILE_INTERNAL_H

#include "base/outfile.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

/* close() must not be called twice: the descriptor is free whatever close() returns. */
static inline int close_once(int file)
{
	return close(file) && errno != EINTR ? errno : 0;
}

/* --- outfile_target.c: where a name leads ------------------------------------------------------------------------- */

struct outfile_target {
	int folder; /* open for its path only */
	char name[NAME_MAX + 1];
	bool there;
	struct stat info; /* if so */
	bool by_link;     /* a link of /proc to an open file, which may have no name */
	int own;          /* by_link: the descriptor if it is of this process, else -1 */
};

/* Follows symbolic links, also to a name that does not exist yet. 0 or errno. The caller closes it in any case. */
int outfile_target_find(struct outfile_target *target, const char *path);
void outfile_target_close(struct outfile_target *target);
/* Whether the target is, or can become, a file that may be replaced. */
bool outfile_target_is_plain(const struct outfile_target *target);

/* --- outfile_replace.c -------------------------------------------------------------------------------------------- */

/* For a target with outfile_target_is_plain(). 0 or errno. */
int replace_file(
	const struct outfile_target *target, const char *bytes, size_t count, const struct outfile_options *options);
/* Whether a temporary file can be made there. 0 or errno. */
int replace_try(const struct outfile_target *target);
/* Removes temporary files that killed processes left in the folder. */
void replace_clean(int folder);

/* --- outfile_claim.c ---------------------------------------------------------------------------------------------- */

/* Locks an open file for this writer. EWOULDBLOCK: another writer has it. 0 also where there are no locks. */
int claim_lock(int file);

/* --- outfile.c ---------------------------------------------------------------------------------------------------- */

/* TROUPE_OK for 0; else the error of the errno. */
troupe_status outfile_fail(const char *path, int code, struct troupe_error *error);
enum outfile_urgency outfile_urgency_of(const struct outfile_options *options);
/* For a file that is no device or pipe. 0 or errno. */
int outfile_put_plain(int file, const char *bytes, size_t count);

#endif
