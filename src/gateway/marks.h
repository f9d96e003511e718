/* Marks of one kind on a time line: steps at which something happens. However many these are, at most MARKS_MAX marks
 * are kept: marks that are near one another become one, which says how many there are and has the first text. Pure: no
 * thread, no I/O. */
#ifndef GATEWAY_MARKS_H
#define GATEWAY_MARKS_H

#include "base/base.h"

enum { MARKS_MAX = 256, MARKS_TEXT_MAX = 256 /* bytes of a text; what is longer is cut off */ };

struct mark {
	uint64_t step, last; /* the first and the last step */
	uint64_t count;
	char *text; /* of the first */
};

struct marks { /* zeroed is empty */
	VEC(struct mark) at;
	uint64_t width; /* marks that are less than so many steps apart are one; 0 or 1: those of one step */
};

/* A step before that of the last mark counts as its. The same text at the same step again is no other event. */
void marks_add(struct marks *marks, uint64_t step, const char *text);
/* Empty again. */
void marks_clear(struct marks *marks);

#endif
