/* The names that are most like a name which does not exist, for the message that says so. The caller offers all names
 * that exist, one after the other:
 *
 *     struct near near = near_to(wrong);
 *     for each name that exists
 *             near_offer(&near, name);
 *     fail(error, ..., "topic '%s': no such topic: expected a topic of the world%s", wrong, near_such_as(&near));
 *
 * The order of the offers decides between names that are equally like it, and nothing else. Upper and lower case are
 * the same. No allocation; a pure module. */
#ifndef BASE_NEAR_H
#define BASE_NEAR_H

#include "base/base.h"

enum {
	NEAR_MAX = 4,             /* names that are kept */
	NEAR_COMPARED_MAX = 1000, /* offers that are compared; the others are only counted */
	NEAR_WORDS_BYTES = 320,   /* of the text of near_such_as(), with its end */
};

struct near {
	const char *wrong;
	const char *names[NEAR_MAX]; /* the nearest first */
	uint32_t distances[NEAR_MAX];
	uint32_t count;   /* of names */
	uint32_t offered; /* in all */
	char words[NEAR_WORDS_BYTES];
};

/* `wrong`, and each name that is offered, must live as long as the struct is used. */
struct near near_to(const char *wrong);
void near_offer(struct near *near, const char *name);
/* The nearest name, if it is so much like the wrong one that it may be meant: one of the two contains the other, or at
 * most a third of the longer one differs. Otherwise NULL. */
const char *near_best(const struct near *near);
/* How a message goes on after "expected ...": `, such as "a" or "b"`. The names are those that may be meant; if none
 * may be, the nearest ones, with the number of the others: `, such as "a", "b", "c" or "d" (of 20)`. "" if nothing was
 * offered. The text lies in the struct; long names are cut. */
const char *near_such_as(struct near *near);

#endif
