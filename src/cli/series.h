/* A line of a chart, thinned while it is read: of however many points so many parts are kept, each of which stands for
 * the same number of points in a row and keeps its first, last, lowest, highest, leftmost and rightmost one. So no
 * spike is lost, and memory is bounded.
 *
 * Pure, but for memory. */
#ifndef CLI_SERIES_H
#define CLI_SERIES_H

#include "base/base.h"

struct series_point {
	double x, y;
	uint64_t number; /* of all points of the series, from 0 */
};

enum { SERIES_FIRST, SERIES_LAST, SERIES_LOW, SERIES_HIGH, SERIES_LEFT, SERIES_RIGHT, SERIES_KEPT };

struct series_part {
	struct series_point kept[SERIES_KEPT];
	uint32_t count;
	bool apart; /* the line is interrupted before it */
};

struct series { /* zeroed: empty */
	VEC(struct series_part) parts;
	uint64_t points;
	uint32_t each; /* points in a part; 0: 1 */
	double low_x, high_x, low_y, high_y;
};

/* At most `parts_max` parts, at least 2 and even. apart: the line is interrupted before this point. Both finite. */
void series_add(struct series *series, uint32_t parts_max, double x, double y, bool apart);
/* Halves the number of parts, about. */
void series_halve(struct series *series);
/* The points of a part in their order; the count. */
uint32_t series_points(const struct series_part *part, struct series_point ret_points[SERIES_KEPT]);
void series_fini(struct series *series);

#endif
