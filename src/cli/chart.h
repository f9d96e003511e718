/* Draws line charts as SVG. A chart is one or more panels, one below the other, with one common x axis. An entity has
 * the same colour in each panel.
 *
 * No I/O, no state; allocates memory. */
#ifndef CLI_CHART_H
#define CLI_CHART_H

#include "base/text.h"
#include "cli/series.h"

enum {
	CHART_LINES_MAX = 8, /* the number of colours */
	CHART_WIDTH_MIN = 300,
	CHART_HEIGHT_MIN = 200,
	CHART_SIZE_MAX = 20000, /* pixels */
};

struct chart_panel {
	const char *label;                           /* "x (m)" */
	const struct series *lines[CHART_LINES_MAX]; /* by entity; NULL: the entity has no line here */
};

struct chart {
	uint32_t width, height; /* pixels; height 0: chosen from the number of panels */
	const char *title, *x_label;
	const char *note; /* in small letters below the title; NULL: none */
	bool plan;        /* x and y have the same scale, as on a map; one panel only */
	uint32_t line_count, panel_count;
	const char *names[CHART_LINES_MAX]; /* for the legend */
	const struct chart_panel *panels;
};

/* Texts may contain any bytes. At least one line must have a point. */
void chart_draw(const struct chart *chart, struct text *out);
/* The distance between ticks: 1, 2 or 5 times a power of ten. There are about `count` ticks from low to high. */
double chart_tick(double low, double high, uint32_t count);

#endif
