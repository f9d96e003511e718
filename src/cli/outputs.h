/* The files that a run names, looked at before it: whether each can be written, and whether one would overwrite
 * another. */
#ifndef CLI_OUTPUTS_H
#define CLI_OUTPUTS_H

#include "base/base.h"

enum output_kind {
	OUTPUT_INPUT,      /* is read: nothing may be written there */
	OUTPUT_STATE_READ, /* is read, and may be replaced by a state */
	OUTPUT_OWN,        /* is replaced, and is nothing else's */
	OUTPUT_STREAM,     /* is written while the run goes on, and is nothing else's */
	OUTPUT_STATE,      /* a state; states may replace one another */
	OUTPUT_STATES,     /* states, whose step replaces a %s in the name */
};

struct outputs_item {
	enum output_kind kind;
	const char *option, *path; /* lent */
};

struct outputs { /* zeroed: none */
	VEC(struct outputs_item) all;
};

/* path may be NULL: there is none. */
void outputs_add(struct outputs *outputs, enum output_kind kind, const char *option, const char *path);
/* TROUPE_EIO: the first that cannot be written, or is written by two. */
troupe_status outputs_check(const struct outputs *outputs, struct troupe_error *error);
void outputs_fini(struct outputs *outputs);

/* The name with the step instead of its first %s; free() it. */
char *outputs_name(const char *pattern, uint64_t step);

#endif
