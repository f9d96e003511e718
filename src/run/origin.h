/* Where worlds come from: the files that they were loaded from, and how they are simulated. With it a world can be
 * loaded again elsewhere, without the file system: for a saved state, and for a replica. */
#ifndef RUN_ORIGIN_H
#define RUN_ORIGIN_H

#include "base/files.h"

struct origin {
	uint64_t seed;
	bool ignore_levels, sleepless, sense_all;
	char *path;          /* of the world file */
	VEC(char *) folders; /* where files were searched, without NULL at the end */
	struct files files;
};

/* more: files beside those of the origin. */
void origin_pack(const struct origin *origin, const struct files *more, struct text *out);
/* Unpacks into a zeroed origin, which owns what it has then. Input is not trusted: false when it is damaged. */
bool origin_unpack(struct origin *origin, struct unpack *in);
void origin_fini(struct origin *origin);

#endif
