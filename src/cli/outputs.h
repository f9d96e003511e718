/* Checks the files that a run names, before the run: whether each can be written, and whether one would overwrite
 * another; and keeps other runs from writing them. */
#ifndef CLI_OUTPUTS_H
#define CLI_OUTPUTS_H

#include "base/outfile.h"

enum output_kind {
	OUTPUT_INPUT,      /* is read: must not be written */
	OUTPUT_STATE_READ, /* is read, and may be replaced by a state */
	OUTPUT_OWN,        /* is replaced; no other output may have the name */
	OUTPUT_STREAM,     /* is written during the run; no other output may have the name */
	OUTPUT_STATE,      /* a state; states may replace one another */
	OUTPUT_STATES,     /* states; a %s in the name is replaced by the step */
};

struct outputs_item {
	enum output_kind kind;
	const char *option, *path; /* the caller's */
};

struct outputs { /* zeroed: none */
	VEC(struct outputs_item) all;
	VEC(struct outfile_claim) claims;
};

/* path may be NULL: then nothing is added. */
void outputs_add(struct outputs *outputs, enum output_kind kind, const char *option, const char *path);
/* TROUPE_EIO: names the first file that cannot be written, or that two options write. */
troupe_status outputs_check(const struct outputs *outputs, struct troupe_error *error);
/* After the check: claims all files that are written, until outputs_fini(). TROUPE_EIO: another process has one. Of a
 * name with a %s the one with step 0 stands for all. */
troupe_status outputs_claim(struct outputs *outputs, struct troupe_error *error);
void outputs_fini(struct outputs *outputs);

/* The pattern with its first %s replaced by the step; the caller frees it. */
char *outputs_name(const char *pattern, uint64_t step);

#endif
