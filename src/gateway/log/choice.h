/* A pattern that chooses entities of a world, as --log-what and plot's --what take it: items separated by commas. An
 * item is one of
 *
 *   KIND              all entities of a kind
 *   KIND:MODEL        the entities of this kind in a model
 *   KIND:MODEL/NAME   the link, joint or collision of that name in the model
 *   MODEL, MODEL/NAME the same for the default kinds: model, joint and odometry
 *
 * In MODEL and NAME, * matches any text and ? matches one character. KIND may be *, for all kinds. The text before a
 * single colon is the kind ("arm::hand" is a model's name).
 *
 * No I/O, no state; allocates memory. */
#ifndef GATEWAY_LOG_CHOICE_H
#define GATEWAY_LOG_CHOICE_H

#include "base/base.h"

enum { CHOICE_BYTES_MAX = 1 << 16, CHOICE_ITEMS_MAX = 4096 };

struct choice_item {
	const char *kind; /* NULL: the default kinds; "*": all */
	const char *glob; /* matches MODEL, or "MODEL/NAME" if it contains a / */
	bool whole;       /* it matches "MODEL/NAME" */
};

struct choice { /* zeroed: nothing is chosen */
	char *text;
	VEC(struct choice_item) items;
};

/* The kinds of a log, NULL-terminated. */
extern const char *const choice_kinds[];

/* strict: only the words of choice_kinds may stand before a colon; otherwise any word may. TROUPE_EINVAL: the error
 * text begins with the name of the option. Call choice_fini() in any case. */
troupe_status choice_read(
	struct choice *choice, const char *option, const char *text, bool strict, struct troupe_error *error);
/* Removes item i. */
void choice_drop(struct choice *choice, uint32_t i);
/* name: NULL or "" for an entity that is a whole model. */
bool choice_has(const struct choice *choice, const char *kind, const char *model, const char *name);
/* Whether the pattern can match an entity of this kind. */
bool choice_may_have(const struct choice *choice, const char *kind);
void choice_fini(struct choice *choice);

#endif
