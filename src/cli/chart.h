/* Draws line charts as SVG: panels one below the other over one x axis, the same entity in the same colour in each.
 *
 * Pure, but for memory. */
#ifndef CLI_CHART_H
#define CLI_CHART_H

#include "base/text.h"
#include "cli/series.h"

enum {
	CHART_LINES_MAX = 8, /* so many colours */
	CHART_WIDTH_MIN = 300,
	CHART_HEIGHT_MIN = 200,
	CHART_SIZE_MAX = 20000, /* pixels */
};

struct chart_panel {
	const char *label;                           /* "x (m)" */
	const struct series *lines[CHART_LINES_MAX]; /* by entity; NULL: it has none here */
};

struct chart {
	uint32_t width, height; /* pixels; height 0: what suits the panels */
	const char *title, *x_label;
	const char *note; /* in small letters below the title; may be NULL */
	bool plan;        /* x and y to the same scale, as on a map; of one panel */
	uint32_t line_count, panel_count;
	const char *names[CHART_LINES_MAX]; /* for the legend */
	const struct chart_panel *panels;
};

/* All texts may be any bytes. Some line has a point. */
void chart_draw(const struct chart *chart, struct text *out);
/* A distance between ticks, 1, 2 or 5 times a power of ten, so that from low to high there are about `count`. */
double chart_tick(double low, double high, uint32_t count);

#endif
