/* Which entities of a world are meant, as --log-what and plot's --what say it: items separated by commas, each of them
 *
 *   KIND              all of a kind
 *   KIND:MODEL        those of a model
 *   KIND:MODEL/NAME   the link, joint or collision of that name in the model
 *   MODEL, MODEL/NAME the same of the usual kinds: model, joint and odometry
 *
 * In MODEL and NAME * stands for any text and ? for one character. KIND may be *, for all kinds. What comes before a
 * single colon is the kind ("arm::hand" is a model's name).
 *
 * Pure, but for memory. */
#ifndef CLI_CHOICE_H
#define CLI_CHOICE_H

#include "base/base.h"

enum { CHOICE_BYTES_MAX = 1 << 16, CHOICE_ITEMS_MAX = 4096 };

struct choice_item {
	const char *kind; /* NULL: the usual ones; "*": all */
	const char *glob; /* of the model, or of "MODEL/NAME" when there is a / in it */
	bool whole;       /* the latter */
};

struct choice { /* zeroed: nothing is chosen */
	char *text;
	VEC(struct choice_item) items;
};

/* The kinds of a log, NULL-terminated. */
extern const char *const choice_kinds[];

/* strict: only these may stand before a colon; otherwise any word may. TROUPE_EINVAL: the text begins with the name of
 * the option. Fini in any case. */
troupe_status choice_read(
	struct choice *choice, const char *option, const char *text, bool strict, struct troupe_error *error);
/* Takes item i out of the choice. */
void choice_drop(struct choice *choice, uint32_t i);
/* name: NULL or "" for an entity that is a whole model. */
bool choice_has(const struct choice *choice, const char *kind, const char *model, const char *name);
/* Whether anything of this kind may be chosen. */
bool choice_may_have(const struct choice *choice, const char *kind);
void choice_fini(struct choice *choice);

#endif
