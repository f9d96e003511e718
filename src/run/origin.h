/* Where worlds come from: the files that they were loaded from, and how they are simulated. With it a world can be
 * loaded again elsewhere, without the file system: for a saved state, and for a replica. */
#ifndef RUN_ORIGIN_H
#define RUN_ORIGIN_H

#include "base/files.h"
#include "system/plugins.h"

struct origin {
	uint64_t seed;
	bool ignore_levels, load_all, sleepless, sense_all, by_ode;
	char *path;           /* of the world file */
	VEC(char *) folders;  /* where files were searched, without NULL at the end */
	plugin_marks plugins; /* the libraries of plug-ins, and those that were not found */
	struct files files;
	bool apart; /* to pack: files that are set apart, and not in `more`, go without their bytes (files_pack_apart())
		     */
};

/* more: files beside those of the origin. */
void origin_pack(const struct origin *origin, const struct files *more, struct text *out);
/* Unpacks into a zeroed origin, which owns what it has then. Input is not trusted: false when it is damaged. */
bool origin_unpack(struct origin *origin, struct unpack *in);
/* The libraries of the run that goes on in this process must be the same. whose: as for plugins_expect(). */
void origin_expect(const struct origin *origin, struct plugins *plugins, const char *whose);
void origin_fini(struct origin *origin);

#endif
