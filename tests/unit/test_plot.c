/* The parts of `troupe plot`: patterns, the reader of CSV, the thinning of lines, and charts. */
#include "base/match.h"
#include "cli/chart.h"
#include "gateway/log/choice.h"
#include "cli/csv.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(plot, .timeout = 30);

/* --- patterns ----------------------------------------------------------------------------------------------------- */

Test(plot, glob)
{
	static const struct {
		const char *glob, *text;
		bool fits;
	} cases[] = {{"", "", true}, {"", "a", false}, {"*", "", true}, {"*", "abc", true}, {"a*", "abc", true},
		{"*c", "abc", true}, {"a*c", "abc", true}, {"a*c", "abd", false}, {"?", "a", true}, {"?", "", false},
		{"a?c", "abc", true}, {"a?c", "ac", false}, {"a?", "a\xc3\xa9", true}, {"*a*b*c*", "xxaxxbxxcxx", true},
		{"*aab", "aaaab", true}, {"[a]", "a", false}, {"[a]", "[a]", true}, {"*", "*", true}, {"a", "*", false},
		{"**", "x", true}, {"a*?", "a", false}, {"\xc3\xa9*", "\xc3\xa9t", true}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		cr_assert_eq(match_glob(cases[i].glob, cases[i].text), cases[i].fits, "'%s' of '%s'", cases[i].glob,
			cases[i].text);
	/* the time grows no more than quadratically */
	char *many = mem_alloc(20001), *stars = mem_alloc(2003);
	memset(many, 'a', 20000);
	for (int i = 0; i < 1000; i++)
		memcpy(stars + (size_t)2 * (size_t)i, "*a", 2);
	stars[2000] = 'b';
	cr_assert(!match_glob(stars, many));
	free(many);
	free(stars);
}

Test(plot, choice)
{
	static const struct {
		const char *text, *kind, *model, *name;
		bool fits;
	} cases[] = {
		{"cart_1", "model", "cart_1", "", true},
		{"cart_1", "joint", "cart_1", "wheel", true},
		{"cart_1", "odometry", "cart_1", "", true},
		{"cart_1", "link", "cart_1", "chassis", false},
		{"cart_1", "contact", "cart_1", "c", false},
		{"cart_1", "model", "cart_10", "", false},
		{"cart_?", "model", "cart_1", "", true},
		{"x,cart*", "model", "cart_1", "", true},
		{"link", "link", "any", "l", true},
		{"link", "model", "link", "", false},
		{"model:link", "model", "link", "", true},
		{"link:cart_1", "link", "cart_1", "l", true},
		{"link:cart_1/l", "link", "cart_1", "l", true},
		{"link:cart_1/l", "link", "cart_1", "m", false},
		{"link:*/l", "link", "cart_1", "l", true},
		{"joint:", "joint", "cart_1", "j", true},
		{"cart_1/*", "model", "cart_1", "", false},
		{"cart_1/*", "joint", "cart_1", "j", true},
		{"*:cart_1", "contact", "cart_1", "c", true},
		{"*:cart_1", "secondary", "cart_1", "", true},
		{"*", "secondary", "cart_1", "", false},
		{"arm::hand", "model", "arm::hand", "", true},
		{"model:arm::hand", "model", "arm::hand", "", true},
		{"a?b", "model", "a,b", "", true},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct choice choice = {0};
		struct troupe_error error;
		cr_assert_eq(choice_read(&choice, "--what", cases[i].text, true, &error), TROUPE_OK, "%s", error.text);
		cr_assert_eq(choice_has(&choice, cases[i].kind, cases[i].model, cases[i].name), cases[i].fits,
			"'%s' of %s %s/%s", cases[i].text, cases[i].kind, cases[i].model, cases[i].name);
		choice_fini(&choice);
	}
}

Test(plot, bad_choice)
{
	static const char *const cases[][2] = {{"lnik:x", "--what: 'lnik': no such kind: expected model, link"},
		{"a,,b", "--what: an empty item"}, {"", "--what: an empty item"}, {"a,", "--what: an empty item"}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct choice choice = {0};
		struct troupe_error error;
		cr_assert_eq(choice_read(&choice, "--what", cases[i][0], true, &error), TROUPE_EINVAL);
		cr_assert(!strncmp(error.text, cases[i][1], strlen(cases[i][1])), "'%s': %s", cases[i][0], error.text);
		choice_fini(&choice);
	}
	struct choice choice = {0};
	cr_assert_eq(choice_read(&choice, "--what", "level:hall", false, NULL), TROUPE_OK);
	cr_assert(choice_has(&choice, "level", "hall", ""));
	choice_fini(&choice);
}

/* --- CSV ---------------------------------------------------------------------------------------------------------- */

/* All cells of all rows, with | after each cell and a line end after each row; or the error. */
static char *read_all(const char *bytes, size_t count)
{
	struct csv csv;
	struct text out = {0};
	struct troupe_error error;
	bool end = false;
	text_add(&out, "%s", "");
	troupe_status status = csv_open_bytes(&csv, "f", bytes, count, &error);
	while (!status && !end) {
		status = csv_next(&csv, &end, &error);
		for (uint32_t i = 0; !status && !end && i < csv.columns; i++)
			text_add(&out, "%s|%s", csv.cells[i], i + 1 < csv.columns ? "" : "\n");
	}
	if (csv.cut)
		text_add(&out, "cut in %u", (unsigned)csv.line);
	if (status)
		text_add(&out, "%s", error.text);
	csv_close(&csv);
	return out.at;
}

Test(plot, csv)
{
	static const char *const cases[][2] = {
		{"a,b\n1,2\n3,4\n", "1|2|\n3|4|\n"},
		{"a,b\n1,2\n3,4", "1|2|\n3|4|\n"},
		{"\xef\xbb\xbf"
		 "a,b\r\n1,2\r\n\r\n\n3,4\r\n",
			"1|2|\n3|4|\n"},
		{"a,b\n,\n", "||\n"},
		{"a,b\n\"x,\"\"y\"\"\nz\",2\n", "x,\"y\"\nz|2|\n"},
		{"a,b\n\"\",\"\"\n", "||\n"},
		{"a\n", ""},
		{"a,b\n1,2\n3", "1|2|\ncut in 3"},
		{"a,b\n1,2\n\"3", "1|2|\ncut in 3"},
		{"", "f:1: nothing in it: expected a line with the names of the columns"},
		{"\n\n", "f:3: nothing in it: expected a line with the names of the columns"},
		{"a,b\n1,2\n3\n", "1|2|\nf:3: fewer cells than the 2 columns of the first line"},
		{"a,b\n\n\n1,2,3\n", "f:4: more cells than the 2 columns of the first line"},
		{"a,b\n\"1\n\n\",2\n3\n", "1\n\n|2|\nf:5: fewer cells than the 2 columns of the first line"},
		{"a,b\n\"1\"x,2\n", "f:2: text after a closing quote: expected a comma"},
		{"a,,b\n", "f:1: column 2 has no name"},
		{"a,b,a\n", "f:1: two columns named 'a'"},
		{"a;b;c\n1;2;3\n", "f:1: columns between semicolons: expected commas"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *found = read_all(cases[i][0], strlen(cases[i][0]));
		cr_assert_str_eq(found, cases[i][1], "case %zu: %s", i, found);
		free(found);
	}
	char *found = read_all("a,b\n1,\0002\n", 9);
	cr_assert_str_eq(found, "f:2: a zero byte: expected text");
	free(found);
}

/* Limits of CSV; and rows that are longer than the part of a file that is read at once. */
Test(plot, csv_limits)
{
	struct text text = {0};
	text_add(&text, "a,b\n\"");
	while (text.count < CSV_ROW_BYTES_MAX + 100)
		text_add(&text, "\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
	char *found = read_all(text.at, text.count);
	cr_assert_str_eq(found, "f:2: a quote that is not closed within 1 MiB");
	free(found);
	text.count = 0;
	for (int i = 0; i < CSV_COLUMNS_MAX + 1; i++)
		text_add(&text, "%sc%d", i ? "," : "", i);
	found = read_all(text.at, text.count);
	cr_assert_str_eq(found, "f:1: more than 1024 columns");
	free(found);
	text_fini(&text);
}

/* --- thinning ----------------------------------------------------------------------------------------------------- */

Test(plot, series)
{
	struct series series = {0};
	double low = 0, high = 0;
	for (uint32_t i = 0; i < 1000000; i++)
		series_add(&series, 256, i, i == 654321 ? 5 : i == 123456 ? -7 : sin(i * 1e-4), false);
	cr_assert_leq(series.parts.count, 256);
	cr_assert_geq(series.parts.count, 128);
	uint64_t next = 0, counted = 0;
	for (uint32_t i = 0; i < series.parts.count; i++) {
		struct series_point points[SERIES_KEPT];
		uint32_t count = series_points(&series.parts.at[i], points);
		counted += series.parts.at[i].count;
		for (uint32_t k = 0; k < count; k++) {
			cr_assert(points[k].number >= next && points[k].x == (double)points[k].number);
			next = points[k].number + 1;
			low = MIN(low, points[k].y);
			high = MAX(high, points[k].y);
		}
	}
	cr_assert_eq(counted, 1000000);
	cr_assert_eq(next, 1000000, "the last point is not the last");
	cr_assert(low == -7 && high == 5, "a spike is lost: %g to %g", low, high);
	cr_assert(series.low_y == -7 && series.high_y == 5 && series.low_x == 0 && series.high_x == 999999);
	series_fini(&series);
}

/* --- charts ------------------------------------------------------------------------------------------------------- */

Test(plot, ticks)
{
	cr_assert_float_eq(chart_tick(0, 10, 5), 2, 1e-12);
	cr_assert_float_eq(chart_tick(0, 10, 10), 1, 1e-12);
	cr_assert_float_eq(chart_tick(-3, 4, 5), 2, 1e-12);
	cr_assert_float_eq(chart_tick(0, 0.3, 6), 0.05, 1e-12);
	cr_assert_float_eq(chart_tick(0, 45e6, 5), 1e7, 1);
	for (int i = -300; i < 300; i++) { /* ticks are 1, 2 or 5 times a power of ten, and few */
		double high = 1.7 * pow(10, i * 0.3), tick = chart_tick(0, high, 6);
		double digit = tick / pow(10, floor(log10(tick) + 1e-9));
		cr_assert(fabs(digit - 1) < 1e-6 || fabs(digit - 2) < 1e-6 || fabs(digit - 5) < 1e-6, "%g", tick);
		cr_assert(high / tick <= 6.0001 && high / tick >= 2, "%g of %g", tick, high);
	}
}

static void draw(const char *name, const struct series *line, struct text *ret_svg)
{
	struct chart_panel panel = {.label = "y (m)", .lines = {line}};
	struct chart chart = {.width = 600,
		.title = name,
		.x_label = "time (s)",
		.line_count = 1,
		.panel_count = 1,
		.names = {name},
		.panels = &panel};
	*ret_svg = (struct text){0};
	chart_draw(&chart, ret_svg);
}

/* A line of many points is drawn with a few points for each column of pixels, and its spike stays. */
Test(plot, chart_spike)
{
	struct series series = {0};
	struct text svg;
	for (uint32_t i = 0; i < 2000; i++)
		series_add(&series, 2048, i, i == 777 ? 100 : 0, false);
	draw("n", &series, &svg);
	const char *path = strstr(svg.at, "class=\"line l0\" d=\"");
	cr_assert(path);
	uint32_t tops = 0, points = 0;
	double top = HUGE_VAL, bottom = 0;
	for (const char *at = path + strlen("class=\"line l0\" d=\""); *at != '"'; at++) {
		double x, y;
		if (*at != 'M' && *at != 'L')
			continue;
		cr_assert_eq(sscanf(at + 1, "%lf %lf", &x, &y), 2);
		tops = y < top ? 1 : tops + (y == top);
		top = MIN(top, y);
		bottom = MAX(bottom, y);
		points++;
	}
	cr_assert(tops == 1 && bottom - top > 300, "%u points at %g, others at %g", tops, top, bottom);
	cr_assert(points < 4 * 600, "%u points", points);
	text_fini(&svg);
	series_fini(&series);
}

/* Texts from files cannot break the picture. */
Test(plot, chart_texts)
{
	struct series series = {0};
	struct text svg;
	series_add(&series, 16, 1, 1, false);
	draw("a<b>&\"\x01\x7f\xff\xc3\xa9\xed\xa0\x80\xf4\x90\x80\x80\xef\xbf\xbf z", &series, &svg);
	cr_assert(strstr(svg.at, "a&#60;b&#62;&#38;&#34;\\x01\\x7f\\xff\xc3\xa9\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80\\uffff z"), "%s", strstr(svg.at, "<title>"));
	cr_assert(!strchr(svg.at, '\x01') && !strchr(svg.at, '\x7f') && !strchr(svg.at, '\xff'));
	text_fini(&svg);
	series_fini(&series);
}

/* Numbers of any size, and lines that are points, are drawn at finite places. */
Test(plot, chart_extremes)
{
	static const double values[] = {0, 1e-300, -1e-12, 1, 1 + 1e-15, 1e9, 1e100, -1e100};
	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		for (size_t k = 0; k < ARRAY_LEN(values); k++) {
			struct series series = {0};
			struct text svg;
			series_add(&series, 16, values[i], values[k], false);
			series_add(&series, 16, values[k], values[i], true);
			draw("n", &series, &svg);
			cr_assert(!strstr(svg.at, "nan") && !strstr(svg.at, "inf"), "%g %g", values[i], values[k]);
			cr_assert_lt(svg.count, 20000u, "%g %g", values[i], values[k]);
			text_fini(&svg);
			series_fini(&series);
		}
}
