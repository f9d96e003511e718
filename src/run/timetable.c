/* A file gives its commands in order, so adding is appending, and sorting finds nothing to do. A program may give them
 * in any order: then they are sorted once for all that came together, not at each.
 *
 * Whether an entry has passed is kept beside it and does not follow from the time alone: a step may be given up after
 * its commands were taken, and taken again from the same time. */
#include "run/timetable.h"

#include <stdlib.h>

void timetable_add(struct timetable *table, struct posted *posted, double time_s, bool fresh, bool passed)
{
	const struct timetable_entry *last = table->all.count ? &table->all.at[table->all.count - 1] : NULL;
	table->unsorted |= last && (last->time_s > time_s || (passed && !last->passed));
	struct timetable_entry entry = {time_s, table->order++, fresh, passed, posted};
	vec_push(&table->all, entry);
	table->passed += passed;
	table->has_fresh |= fresh;
}

static int timetable_compare(const void *a, const void *b)
{
	const struct timetable_entry *x = a, *y = b;
	if (x->passed != y->passed)
		return x->passed ? -1 : 1;
	if (x->time_s != y->time_s)
		return x->time_s < y->time_s ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void timetable_sort(struct timetable *table)
{
	if (table->unsorted && table->all.count)
		qsort(table->all.at, table->all.count, sizeof *table->all.at, timetable_compare);
	table->unsorted = false;
}

void timetable_settle(struct timetable *table, double from_s)
{
	for (uint32_t i = 0; table->has_fresh && i < table->all.count; i++) {
		struct timetable_entry *entry = &table->all.at[i];
		bool past = entry->fresh && !entry->passed && entry->time_s < from_s;
		entry->fresh = false;
		entry->passed |= past;
		table->passed += past;
		table->unsorted |= past;
	}
	table->has_fresh = false;
}

struct posted *timetable_due(struct timetable *table, double until_s)
{
	timetable_sort(table);
	struct timetable_entry *next = table->all.at + table->passed;
	if (table->passed == table->all.count || next->time_s > until_s)
		return NULL;
	next->passed = true;
	table->passed++;
	return next->posted;
}

void timetable_rewind(struct timetable *table)
{
	for (uint32_t i = 0; i < table->all.count; i++)
		table->all.at[i].passed = table->all.at[i].fresh = false;
	table->passed = 0;
	table->unsorted = true;
	table->has_fresh = false;
}

const struct timetable_entry *timetable_peek(struct timetable *table, uint32_t i)
{
	timetable_sort(table);
	return i < table->all.count ? &table->all.at[i] : NULL;
}

void timetable_fini(struct timetable *table)
{
	vec_free(&table->all);
	*table = (struct timetable){0};
}
