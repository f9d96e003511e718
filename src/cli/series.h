/* A line of a chart, reduced while it is read. It is divided into a bounded number of parts. Each part stands for the
 * same number of consecutive points, and keeps its first, last, lowest, highest, leftmost and rightmost point. So no
 * spike is lost, and memory is bounded.
 *
 * No I/O, no state; allocates memory. */
#ifndef CLI_SERIES_H
#define CLI_SERIES_H

#include "base/base.h"

struct series_point {
	double x, y;
	uint64_t number; /* index among all points of the series, from 0 */
};

enum { SERIES_FIRST, SERIES_LAST, SERIES_LOW, SERIES_HIGH, SERIES_LEFT, SERIES_RIGHT, SERIES_KEPT };

struct series_part {
	struct series_point kept[SERIES_KEPT];
	uint32_t count;
	bool apart; /* there is a gap in the line before this part */
};

struct series { /* zeroed: empty */
	VEC(struct series_part) parts;
	uint64_t points;
	uint32_t each; /* points in a part; 0: 1 */
	double low_x, high_x, low_y, high_y;
};

/* Adds a point; x and y are finite. parts_max: the limit of parts, at least 2 and even. apart: there is a gap in the
 * line before this point. */
void series_add(struct series *series, uint32_t parts_max, double x, double y, bool apart);
/* Merges pairs of parts: about half of them remain. */
void series_halve(struct series *series);
/* The points of a part in their order. Returns their number. */
uint32_t series_points(const struct series_part *part, struct series_point ret_points[SERIES_KEPT]);
void series_fini(struct series *series);

#endif
