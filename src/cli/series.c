/* The number of points and their range are known only at the end of the file. So at first a part stands for one
 * point. When there are too many parts, each pair is merged, and then each part stands for twice as many points. All
 * parts of a series stand for the same number of points. Keeping only every n-th point was ruled out: a contact that
 * lasts for one sample is often the reason for a plot. */
#include "cli/series.h"

static bool series_is_better(int which, const struct series_point *a, const struct series_point *b)
{
	switch (which) {
	case SERIES_LAST:
		return a->number > b->number;
	case SERIES_LOW:
		return a->y < b->y;
	case SERIES_HIGH:
		return a->y > b->y;
	case SERIES_LEFT:
		return a->x < b->x;
	case SERIES_RIGHT:
		return a->x > b->x;
	default: /* the first one exists already */
		return false;
	}
}

/* Merges b, which follows a, into a. A gap inside a part is lost: by then it is narrower than a pixel. */
static void series_join(struct series_part *a, const struct series_part *b)
{
	for (int i = 0; i < SERIES_KEPT; i++)
		if (series_is_better(i, &b->kept[i], &a->kept[i]))
			a->kept[i] = b->kept[i];
	a->count += b->count;
}

void series_halve(struct series *series)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < series->parts.count; i += 2, count++) {
		series->parts.at[count] = series->parts.at[i];
		if (i + 1 < series->parts.count)
			series_join(&series->parts.at[count], &series->parts.at[i + 1]);
	}
	series->parts.count = count;
	series->each = 2 * MAX(series->each, 1u);
}

static void series_widen(struct series *series, double x, double y)
{
	bool first = !series->points;
	series->low_x = first ? x : MIN(series->low_x, x);
	series->high_x = first ? x : MAX(series->high_x, x);
	series->low_y = first ? y : MIN(series->low_y, y);
	series->high_y = first ? y : MAX(series->high_y, y);
}

void series_add(struct series *series, uint32_t parts_max, double x, double y, bool apart)
{
	struct series_part part = {.count = 1, .apart = apart};
	struct series_part *last = series->parts.count ? &series->parts.at[series->parts.count - 1] : NULL;
	for (int i = 0; i < SERIES_KEPT; i++)
		part.kept[i] = (struct series_point){x, y, series->points};
	series_widen(series, x, y);
	series->points++;
	if (last && last->count < series->each) {
		series_join(last, &part);
		return;
	}
	if (series->parts.count >= parts_max)
		series_halve(series);
	last = series->parts.count ? &series->parts.at[series->parts.count - 1] : NULL;
	if (last && last->count < series->each)
		series_join(last, &part);
	else
		vec_push(&series->parts, part);
}

uint32_t series_points(const struct series_part *part, struct series_point ret_points[SERIES_KEPT])
{
	uint32_t count = 0;
	for (int i = 0; i < SERIES_KEPT; i++) { /* inserted in order, without duplicates */
		struct series_point point = part->kept[i];
		uint32_t at = 0;
		while (at < count && ret_points[at].number < point.number)
			at++;
		if (at < count && ret_points[at].number == point.number)
			continue;
		for (uint32_t k = count; k > at; k--)
			ret_points[k] = ret_points[k - 1];
		ret_points[at] = point;
		count++;
	}
	return count;
}

void series_fini(struct series *series)
{
	vec_free(&series->parts);
	*series = (struct series){0};
}
