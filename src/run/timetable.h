/* Commands bound to simulated time. Each is due once, when its time has come, and once more after each rewind. The time
 * is counted from the start of the world, or from its last reset: so the commands of a demo begin anew with it. A
 * command whose time was past when it was added is not due before the next rewind.
 *
 * Only the container; run/schedule.h says what is done with a command that is due. One thread at a time. */
#ifndef RUN_TIMETABLE_H
#define RUN_TIMETABLE_H

#include "base/base.h"

struct posted;

struct timetable_entry {
	double time_s;
	uint64_t order;
	bool fresh;            /* added since timetable_settle() */
	bool passed;           /* was due, or its time was past when it was added */
	struct posted *posted; /* the caller's */
};

struct timetable {                       /* zeroed is empty */
	VEC(struct timetable_entry) all; /* once sorted: the entries that have passed, then the others; by time */
	uint32_t passed;                 /* number of entries that have passed */
	uint64_t order;                  /* of the next entry */
	bool unsorted, has_fresh;
};

/* O(1); the entries are sorted when one is asked for. */
void timetable_add(struct timetable *table, struct posted *posted, double time_s, bool fresh, bool passed);
/* New entries for a time before `from_s` have passed. Call it before timetable_due(). */
void timetable_settle(struct timetable *table, double from_s);
/* The next entry that is due by `until_s`, which has passed then; by time, and of one time in the order of adding.
 * NULL: there is none. */
struct posted *timetable_due(struct timetable *table, double until_s);
/* All are due again. */
void timetable_rewind(struct timetable *table);
/* The entries in order, i = 0 up; NULL after the last. Valid until the table changes. */
const struct timetable_entry *timetable_peek(struct timetable *table, uint32_t i);
/* Forgets the entries. */
void timetable_fini(struct timetable *table);

#endif
