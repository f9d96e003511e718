/* The SVG text is written in drawing order, from top to bottom. Colours are classes of a style sheet, so that a
 * viewer can select dark ones. The eight colours are those of Okabe and Ito, which colour-blind readers can
 * distinguish. Their yellow is darker here, for a white background, and their black is the colour of the text. The
 * second four lines are dashed, so that a print without colour can be read. In each column of pixels a line is
 * reduced to its first, lowest, highest and last point: the picture is the same as with all points. */
#include "cli/chart.h"

#include "base/shown.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	EDGE = 16,         /* empty, at each side */
	TITLE_HEIGHT = 30, /* with its note: 48 */
	NOTE_HEIGHT = 18,
	LABEL_HEIGHT = 24, /* above a panel */
	AXIS_HEIGHT = 44,  /* below the last */
	GAP_HEIGHT = 12,   /* below the others */
	PANEL_HEIGHT = 240,
	ONE_PANEL_HEIGHT = 400,
	PLAN_HEIGHT = 640,
	LEGEND_LINE = 20,
	LEGEND_LETTERS_MAX = 32,
	TITLE_LETTERS_MAX = 120,
	LETTER_WIDTH = 7, /* of 12 px, rounded up */
	TICK_GAP = 8,
	X_TICK_WIDTH = 90,
	Y_TICK_HEIGHT = 40,
};

struct scale {
	double low, high; /* values at the two ends */
	double from, to;  /* pixels there */
	double tick;
};

static const char chart_style[] =
	"<style>\n"
	".ground{fill:#fff}.grid{stroke:#e4e4e4;fill:none}.frame{stroke:#8a8a8a;fill:none}\n"
	"text{fill:#222;font-family:system-ui,-apple-system,\"Segoe UI\",\"Liberation Sans\",\"DejaVu "
	"Sans\",sans-serif;"
	"font-size:12px}\n"
	".title{font-size:16px;font-weight:600}.note,.tick{fill:#5c5c5c}.tick{font-variant-numeric:tabular-nums}\n"
	".line{fill:none;stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}\n"
	".l4,.l5,.l6,.l7{stroke-linecap:butt}"
	".l4{stroke-dasharray:7 3}.l5{stroke-dasharray:2.5 2.5}.l6{stroke-dasharray:9 3 2 3}.l7{stroke-dasharray:14 "
	"4}\n"
	".l0{stroke:#0072b2}.l1{stroke:#d55e00}.l2{stroke:#009e73}.l3{stroke:#cc79a7}"
	".l4{stroke:#e69f00}.l5{stroke:#56b4e9}.l6{stroke:#222}.l7{stroke:#a39000}\n"
	".begin{fill:#fff;stroke-width:1.8;stroke-dasharray:none}.end{stroke-width:6;stroke-linecap:round;stroke-"
	"dasharray:none}\n"
	"@media (prefers-color-scheme:dark){.ground{fill:#16181d}.grid{stroke:#2c3038}.frame{stroke:#7d838f}"
	"text{fill:#e6e6e6}.note,.tick{fill:#a7adb8}\n"
	".l0{stroke:#4ba6e0}.l1{stroke:#ff8a3c}.l2{stroke:#2cc598}.l3{stroke:#e39cc6}"
	".l4{stroke:#f0b43c}.l5{stroke:#9ad4f7}.l6{stroke:#e6e6e6}.l7{stroke:#f0e442}.begin{fill:#16181d}}\n"
	"</style>\n";

/* --- texts -------------------------------------------------------------------------------------------------------- */

/* Appends text or an attribute value of XML. A long text is cut. */
static void chart_add_escaped(struct text *out, const char *string, uint32_t letters_max)
{
	struct text shown = {0};
	shown_add(&shown, string);
	const char *at = shown.at ? shown.at : "";
	for (uint32_t letters = 0; *at; letters++) {
		uint32_t bytes = shown_at(at, strlen(at)).bytes;
		if (letters == letters_max) {
			text_add(out, "\xe2\x80\xa6");
			break;
		}
		if (*at == '&' || *at == '<' || *at == '>' || *at == '"')
			text_add(out, "&#%d;", *at);
		else
			text_add_bytes(out, at, bytes);
		at += bytes;
	}
	text_fini(&shown);
}

static uint32_t chart_letters_of(const char *string)
{
	uint32_t letters = 0;
	for (; *string; string++)
		letters += ((unsigned char)*string & 0xc0) != 0x80;
	return letters;
}

/* A coordinate in pixels, with one decimal. */
static void chart_add_pixel(struct text *out, double value)
{
	double rounded = round(value * 10) / 10;
	text_add(out, rounded == floor(rounded) ? "%.0f" : "%.1f", rounded == 0 ? 0.0 : rounded);
}

static void chart_add_text(
	struct text *out, double x, double y, const char *more, const char *string, uint32_t letters_max)
{
	text_add(out, "<text x=\"");
	chart_add_pixel(out, x);
	text_add(out, "\" y=\"");
	chart_add_pixel(out, y);
	text_add(out, "\"%s>", more);
	chart_add_escaped(out, string, letters_max);
	text_add(out, "</text>\n");
}

/* --- axes --------------------------------------------------------------------------------------------------------- */

double chart_tick(double low, double high, uint32_t count)
{
	double rough = (high - low) / MAX(count, 1u), power = pow(10, floor(log10(rough)));
	double times = rough / power;
	return (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10) * power;
}

/* Widens a range, also one of equal values, so that a line in it can be seen. */
static void chart_widen(double *low, double *high)
{
	double least = MAX(fabs(*low), fabs(*high)) * 1e-9;
	if (*high - *low > MAX(least, 1e-12))
		return;
	double most = MAX(fabs(*low), fabs(*high)), more = most < 1e-12 ? 1 : 0.05 * most;
	*low -= more;
	*high += more;
}

static struct scale chart_make_scale(double low, double high, double from, double to, bool margin)
{
	struct scale scale = {.low = low, .high = high, .from = from, .to = to};
	chart_widen(&scale.low, &scale.high);
	if (margin) {
		double more = 0.04 * (scale.high - scale.low);
		scale.low -= more;
		scale.high += more;
	}
	double wanted = fabs(to - from) / (to > from ? X_TICK_WIDTH : Y_TICK_HEIGHT);
	scale.tick = chart_tick(scale.low, scale.high, (uint32_t)MAX(2.0, wanted));
	return scale;
}

static double chart_place(const struct scale *scale, double value)
{
	return scale->from + (value - scale->low) / (scale->high - scale->low) * (scale->to - scale->from);
}

/* Prints as many digits as are needed to distinguish neighbouring ticks. */
static void chart_print_tick(const struct scale *scale, double value, char *ret_text, size_t bytes)
{
	double most = MAX(fabs(scale->low), fabs(scale->high));
	int decimals = (int)MAX(0.0, ceil(-log10(scale->tick) - 1e-9));
	struct text text = {0};
	if (fabs(value) < scale->tick / 2)
		text_add(&text, "0");
	else if (most < 1e7 && decimals <= 6)
		text_add(&text, "%.*f", decimals, value);
	else
		text_add(&text, "%.*g", (int)MIN(15.0, MAX(3.0, ceil(log10(most / scale->tick)) + 1)), value);
	size_t count = MIN(text.count, bytes - 1);
	memcpy(ret_text, text.at, count);
	ret_text[count] = '\0';
	text_fini(&text);
}

/* The numbers of the first tick and of the one after the last. */
static void chart_find_ticks(const struct scale *scale, double *ret_first, double *ret_end)
{
	*ret_first = ceil(scale->low / scale->tick - 1e-9);
	*ret_end = MIN(floor(scale->high / scale->tick + 1e-9) + 1, *ret_first + 1000);
}

static uint32_t chart_widest_tick(const struct scale *scale)
{
	double first, end;
	uint32_t most = 1;
	char text[40];
	chart_find_ticks(scale, &first, &end);
	for (double i = first; i < end; i++) {
		chart_print_tick(scale, i * scale->tick, text, sizeof text);
		most = MAX(most, (uint32_t)strlen(text));
	}
	return most;
}

static void chart_draw_axes(const struct scale *x, const struct scale *y, bool last, struct text *out)
{
	double first, end;
	char text[40];
	text_add(out, "<path class=\"grid\" d=\"");
	chart_find_ticks(x, &first, &end);
	for (double i = first; i < end; i++)
		text_add(out, "M%.1f %.1fV%.1f", chart_place(x, i * x->tick), y->from, y->to);
	chart_find_ticks(y, &first, &end);
	for (double i = first; i < end; i++)
		text_add(out, "M%.1f %.1fH%.1f", x->from, chart_place(y, i * y->tick), x->to);
	text_add(out, "\"/>\n<path class=\"frame\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", x->from, y->to, y->from, x->to);
	for (double i = first; i < end; i++) {
		chart_print_tick(y, i * y->tick, text, sizeof text);
		chart_add_text(out, x->from - TICK_GAP, chart_place(y, i * y->tick) + 4,
			" class=\"tick\" text-anchor=\"end\"", text, 40);
	}
	chart_find_ticks(x, &first, &end);
	for (double i = first; last && i < end; i++) {
		chart_print_tick(x, i * x->tick, text, sizeof text);
		chart_add_text(out, chart_place(x, i * x->tick), y->from + 18, " class=\"tick\" text-anchor=\"middle\"",
			text, 40);
	}
}

/* --- lines -------------------------------------------------------------------------------------------------------- */

struct pixel {
	double x, y;
};

struct chart_pen { /* collects the points in one column of pixels */
	struct text *out;
	bool down; /* the line continues from the present point */
	uint32_t count;
	double column;
	struct pixel first, last, low, high;
	uint32_t low_at, high_at;
};

static void chart_put(struct chart_pen *pen, struct pixel at)
{
	text_add(pen->out, pen->down ? "L" : "M");
	chart_add_pixel(pen->out, at.x);
	text_add(pen->out, " ");
	chart_add_pixel(pen->out, at.y);
	pen->down = true;
}

static void chart_flush(struct chart_pen *pen)
{
	if (!pen->count)
		return;
	chart_put(pen, pen->first);
	struct pixel one = pen->low_at < pen->high_at ? pen->low : pen->high;
	struct pixel other = pen->low_at < pen->high_at ? pen->high : pen->low;
	if (pen->count > 2 && (one.y != pen->first.y || one.x != pen->first.x))
		chart_put(pen, one);
	if (pen->count > 2 && (other.y != pen->last.y || other.x != pen->last.x))
		chart_put(pen, other);
	if (pen->count > 1)
		chart_put(pen, pen->last);
	pen->count = 0;
}

static void chart_lift(struct chart_pen *pen)
{
	chart_flush(pen);
	if (pen->down)
		text_add(pen->out, "h0"); /* a single point is drawn as a dot */
	pen->down = false;
}

static void chart_move_to(struct chart_pen *pen, struct pixel at)
{
	if (pen->count && floor(at.x) != pen->column)
		chart_flush(pen);
	if (!pen->count) {
		pen->column = floor(at.x);
		pen->first = pen->low = pen->high = at;
		pen->low_at = pen->high_at = 0;
	}
	if (at.y > pen->low.y) {
		pen->low = at;
		pen->low_at = pen->count;
	}
	if (at.y < pen->high.y) {
		pen->high = at;
		pen->high_at = pen->count;
	}
	pen->last = at;
	pen->count++;
}

/* On a map a line may stay in one column for many points. So points are left out only where this cannot be seen. */
static void chart_move_on_map(struct chart_pen *pen, struct pixel at)
{
	if (pen->down && fabs(at.x - pen->last.x) < 0.3 && fabs(at.y - pen->last.y) < 0.3)
		return;
	chart_put(pen, at);
	pen->last = at;
}

static void chart_draw_path(
	const struct series *line, const struct scale *x, const struct scale *y, bool plan, struct text *out)
{
	struct chart_pen pen = {.out = out};
	for (uint32_t i = 0; i < line->parts.count; i++) {
		struct series_point points[SERIES_KEPT];
		uint32_t count = series_points(&line->parts.at[i], points);
		if (line->parts.at[i].apart)
			chart_lift(&pen);
		for (uint32_t k = 0; k < count; k++) {
			struct pixel at = {chart_place(x, points[k].x), chart_place(y, points[k].y)};
			(plan ? chart_move_on_map : chart_move_to)(&pen, at);
		}
	}
	chart_lift(&pen);
}

/* Marks the first and the last point. */
static void chart_draw_ends(
	const struct series *line, const struct scale *x, const struct scale *y, uint32_t index, struct text *out)
{
	const struct series_point *begin = &line->parts.at[0].kept[SERIES_FIRST];
	const struct series_point *end = &line->parts.at[line->parts.count - 1].kept[SERIES_LAST];
	text_add(out, "<circle class=\"begin l%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"/>\n", index,
		chart_place(x, begin->x), chart_place(y, begin->y));
	text_add(out, "<path class=\"end l%u\" d=\"M%.1f %.1fh0\"/>\n", index, chart_place(x, end->x),
		chart_place(y, end->y));
}

static void chart_draw_lines(const struct chart *chart, const struct chart_panel *panel, const struct scale *x,
	const struct scale *y, struct text *out)
{
	for (uint32_t i = 0; i < chart->line_count; i++) {
		const struct series *line = panel->lines[i];
		if (!line || !line->parts.count)
			continue;
		text_add(out, "<path class=\"line l%u\" d=\"", i);
		chart_draw_path(line, x, y, chart->plan, out);
		text_add(out, "\"><title>");
		chart_add_escaped(out, chart->names[i], TITLE_LETTERS_MAX);
		text_add(out, "</title></path>\n");
	}
	for (uint32_t i = 0; i < chart->line_count && chart->plan; i++)
		if (panel->lines[i] && panel->lines[i]->parts.count)
			chart_draw_ends(panel->lines[i], x, y, i, out);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

struct bounds {
	double low_x, high_x, low_y, high_y;
	bool any;
};

static struct bounds chart_bounds_of(const struct chart_panel *panel, struct bounds all)
{
	for (uint32_t i = 0; i < CHART_LINES_MAX; i++) {
		const struct series *line = panel->lines[i];
		if (!line || !line->points)
			continue;
		all.low_x = all.any ? MIN(all.low_x, line->low_x) : line->low_x;
		all.high_x = all.any ? MAX(all.high_x, line->high_x) : line->high_x;
		all.low_y = all.any ? MIN(all.low_y, line->low_y) : line->low_y;
		all.high_y = all.any ? MAX(all.high_y, line->high_y) : line->high_y;
		all.any = true;
	}
	return all;
}

/* Makes both scales of a map equal: the range with more pixels per metre is widened around its middle. */
static void chart_even_out(struct scale *x, struct scale *y)
{
	double unit_x = (x->high - x->low) / fabs(x->to - x->from), unit_y = (y->high - y->low) / fabs(y->to - y->from);
	struct scale *less = unit_x < unit_y ? x : y;
	double half = MAX(unit_x, unit_y) * fabs(less->to - less->from) / 2, middle = (less->low + less->high) / 2;
	*less = chart_make_scale(middle - half, middle + half, less->from, less->to, false);
	x->tick = y->tick = MAX(x->tick, y->tick);
}

static uint32_t chart_legend_width(const struct chart *chart)
{
	uint32_t letters = 0;
	for (uint32_t i = 0; i < chart->line_count; i++)
		letters = MAX(letters, MIN(chart_letters_of(chart->names[i]), (uint32_t)LEGEND_LETTERS_MAX));
	return chart->line_count > 1 ? 40 + letters * LETTER_WIDTH : 0;
}

static void chart_draw_legend(const struct chart *chart, double x, double y, struct text *out)
{
	for (uint32_t i = 0; i < chart->line_count && chart->line_count > 1; i++, y += LEGEND_LINE) {
		text_add(out, "<path class=\"line l%u\" d=\"M%.1f %.1fh22\"/>\n", i, x, y - 4);
		text_add(out, "<g><title>");
		chart_add_escaped(out, chart->names[i], TITLE_LETTERS_MAX);
		text_add(out, "</title>");
		chart_add_text(out, x + 30, y, "", chart->names[i], LEGEND_LETTERS_MAX);
		text_add(out, "</g>\n");
	}
}

static uint32_t chart_height_of(const struct chart *chart)
{
	uint32_t panel = chart->plan ? PLAN_HEIGHT : chart->panel_count == 1 ? ONE_PANEL_HEIGHT : PANEL_HEIGHT;
	if (chart->height)
		return chart->height;
	uint32_t head = chart->note ? EDGE + TITLE_HEIGHT + NOTE_HEIGHT : EDGE + TITLE_HEIGHT;
	return head + chart->panel_count * (LABEL_HEIGHT + panel + GAP_HEIGHT) + AXIS_HEIGHT;
}

static void chart_draw_head(const struct chart *chart, uint32_t height, struct text *out)
{
	text_add(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\" "
		"role=\"img\">\n<title>",
		chart->width, height, chart->width, height);
	chart_add_escaped(out, chart->title, TITLE_LETTERS_MAX);
	text_add(out, "</title>\n%s<rect class=\"ground\" width=\"100%%\" height=\"100%%\"/>\n", chart_style);
	chart_add_text(out, EDGE, EDGE + 14, " class=\"title\"", chart->title, TITLE_LETTERS_MAX);
	if (chart->note)
		chart_add_text(
			out, EDGE, EDGE + 14 + NOTE_HEIGHT, " class=\"note\"", chart->note, 2 * TITLE_LETTERS_MAX);
}

struct layout {
	double top, step; /* of the first panel's frame, and from one to the next */
	double panel;     /* height of a frame */
	struct scale x;
	struct scale *y; /* [panel_count] */
	uint32_t digits; /* of the widest tick at the side */
};

static void chart_lay_out(const struct chart *chart, uint32_t height, struct scale *y, struct layout *layout)
{
	struct bounds all = {0};
	double right = chart->width - EDGE - chart_legend_width(chart);
	double head = EDGE + TITLE_HEIGHT + (chart->note ? NOTE_HEIGHT : 0);
	*layout = (struct layout){
		.top = head + LABEL_HEIGHT, .step = (height - head - AXIS_HEIGHT) / chart->panel_count, .y = y};
	layout->panel = MAX(10.0, layout->step - LABEL_HEIGHT - GAP_HEIGHT);
	for (uint32_t i = 0; i < chart->panel_count; i++) {
		struct bounds own = chart_bounds_of(&chart->panels[i], (struct bounds){0});
		double top = layout->top + i * layout->step;
		all = chart_bounds_of(&chart->panels[i], all);
		y[i] = chart_make_scale(own.low_y, own.high_y, top + layout->panel, top, true);
	}
	/* the left edge depends on the ticks at the side, and on a map these depend on the left edge: so start from a
	 * guess */
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < chart->panel_count; i++)
			layout->digits = MAX(layout->digits, chart_widest_tick(&y[i]));
		double left = EDGE + layout->digits * LETTER_WIDTH + TICK_GAP;
		layout->x = chart_make_scale(all.low_x, all.high_x, left, MAX(right - EDGE, left + 50), chart->plan);
		if (chart->plan)
			chart_even_out(&layout->x, &y[0]);
	}
}

void chart_draw(const struct chart *chart, struct text *out)
{
	uint32_t height = chart_height_of(chart);
	struct scale *y = mem_alloc(chart->panel_count * sizeof *y);
	struct layout layout;
	chart_lay_out(chart, height, y, &layout);
	chart_draw_head(chart, height, out);
	for (uint32_t i = 0; i < chart->panel_count; i++) {
		chart_add_text(out, layout.x.from, y[i].to - 8, "", chart->panels[i].label, TITLE_LETTERS_MAX);
		chart_draw_axes(&layout.x, &y[i], i + 1 == chart->panel_count, out);
		chart_draw_lines(chart, &chart->panels[i], &layout.x, &y[i], out);
	}
	double middle = (layout.x.from + layout.x.to) / 2;
	chart_add_text(out, middle, y[chart->panel_count - 1].from + 36, " text-anchor=\"middle\"", chart->x_label,
		TITLE_LETTERS_MAX);
	chart_draw_legend(chart, layout.x.to + EDGE, y[0].to + 10, out);
	text_add(out, "</svg>\n");
	free(y);
}
