/* Feeds damaged tables to the reader of CSV, patterns to that of --what, and what the tables hold to the chart.
 *
 *   fuzz_csv                      some thousand rounds over tables of its own
 *   fuzz_csv SEED ROUNDS FILE...  so many rounds over each file
 *
 * Whatever comes in, the reader ends; each row has as many cells as there are names; an error names the file and a line
 * that there is; and a chart holds no character that XML cannot hold. With WITHOUT_MAIN it is a target for
 * tests/fuzz/run. */
#include "base/infile.h"
#include "base/parse.h"
#include "cli/chart.h"
#include "gateway/log/choice.h"
#include "cli/csv.h"
#include "rounds.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_error(const struct troupe_error *error, const char *bytes, size_t count)
{
	uint64_t lines = 1, line = 0;
	for (size_t i = 0; i < count; i++)
		lines += bytes[i] == '\n';
	must(!strncmp(error->text, "fuzz.csv:", 9), "an error without its file", bytes, count);
	must(sscanf(error->text + 9, "%" SCNu64, &line) == 1 && line >= 1 && line <= lines, "an error without its line",
		bytes, count);
}

static void check_chart(const char *name, const struct series *series, const char *bytes, size_t count)
{
	struct chart_panel panel = {.label = name, .lines = {series, series}};
	struct chart chart = {.width = 400,
		.title = name,
		.x_label = name,
		.note = name,
		.line_count = 2,
		.panel_count = 1,
		.names = {name, name},
		.panels = &panel,
		.plan = count % 2};
	struct text svg = {0};
	chart_draw(&chart, &svg);
	for (size_t i = 0; i < svg.count; i++)
		must((unsigned char)svg.at[i] >= 0x20 || svg.at[i] == '\n', "a control character", bytes, count);
	must(!strstr(svg.at, "nan") || strstr(name, "nan"), "no number", bytes, count);
	must(svg.count < 1 << 20, "a chart without bounds", bytes, count);
	text_fini(&svg);
}

/* The rows that were read. */
static unsigned one_table(const char *bytes, size_t count)
{
	struct csv csv;
	struct troupe_error error = {0};
	struct series series = {0};
	bool end = false;
	unsigned rows = 0;
	troupe_status status = csv_open_bytes(&csv, "fuzz.csv", bytes, count, &error);
	char *name = mem_strdup(status ? "" : csv.names[0]);
	must(status || (csv.columns >= 1 && csv.columns <= CSV_COLUMNS_MAX), "columns", bytes, count);
	while (!status && !end) {
		double x, y;
		status = csv_next(&csv, &end, &error);
		if (status || end)
			break;
		rows++;
		size_t length = 0;
		for (uint32_t i = 0; i < csv.columns; i++)
			length += strlen(csv.cells[i]) + 1;
		must(length <= count + csv.columns, "cells that are longer than the table", bytes, count);
		must(csv.line >= 1, "a row without a line", bytes, count);
		if (csv.columns >= 2 && parse_double(csv.cells[0], &x) && parse_double(csv.cells[1], &y) &&
			fabs(x) < 1e100 && fabs(y) < 1e100)
			series_add(&series, 16, x, y, csv.columns > 2 && !*csv.cells[2]);
	}
	if (status)
		check_error(&error, bytes, count);
	if (series.points && strlen(name) < 200)
		check_chart(name, &series, bytes, count);
	series_fini(&series);
	free(name);
	csv_close(&csv);
	return rows;
}

static void one_pattern(const char *text)
{
	for (int strict = 0; strict < 2; strict++) {
		struct choice choice = {0};
		struct troupe_error error;
		if (!choice_read(&choice, "--what", text, strict, &error))
			(void)choice_has(&choice, "model", "cart_1", "wheel");
		while (choice.items.count)
			choice_drop(&choice, 0);
		choice_fini(&choice);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	char *text = mem_alloc(count + 1);
	memcpy(text, bytes, count);
	one_table(text, count);
	if (count < 1000)
		one_pattern(text);
	free(text);
	return 0;
}

#ifndef WITHOUT_MAIN

static const char *const corpus[] = {
	"step,time,world,kind,model,name,x,y\n0,0,w,model,cart_0,,1.5,-2e-3\n10,0.01,w,model,\"a,\"\"b\",,1,2\n",
	"x,y,z\r\n1,2,\r\n3,4,5\r\n\r\n1e99,-1e99,0\r\n",
	"\xef\xbb\xbf"
	"a\xc3\xa9,\"b\nc\"\n1,2\n\"3\",\"4\"\n5,6",
	"t,v\n0,1\n1,1\n2,1\n3,1\n4,-7\n5,nan\n6,inf\n7,1e-320\n",
	"model,joint:cart_*/wheel,*:arm::hand,a?b,contact",
	"a;b\n1;2\n",
	"",
};

static const char *const nasty[] = {"\"", "\"\"", ",", "\n", "\r\n", "\r", "\0", ",,,,,,,,", "1e400", "-0", "nan",
	"\xff", "\xed\xa0\x80", "<", "&", "]]>", ":", "::", "*", "?", "*?*?*?*?", "/"};

static void damage(struct text *text)
{
	size_t at = rounds_below(text->count + 1), cut = rounds_below(3) ? 0 : rounds_below(12);
	const char *word = nasty[rounds_below(ARRAY_LEN(nasty))];
	struct text out = {0};
	cut = MIN(cut, text->count - at);
	text_add_bytes(&out, text->at, at);
	if (rounds_below(8) == 0)
		text_add_bytes(&out, text->at + at, MIN((size_t)20, text->count - at));
	else
		text_add_bytes(&out, word, *word ? strlen(word) : 1);
	text_add_bytes(&out, text->at + at + cut, text->count - at - cut);
	text_fini(text);
	*text = out;
}

static unsigned run(const char *bytes, size_t count, size_t rounds)
{
	unsigned rows = one_table(bytes, count);
	for (size_t i = 0; i < rounds; i++) {
		struct text copy = {0};
		text_add_bytes(&copy, bytes, count);
		for (size_t n = 1 + rounds_below(4); n > 0; n--)
			damage(&copy);
		rows += one_table(copy.at, copy.count);
		LLVMFuzzerTestOneInput((const uint8_t *)copy.at, copy.count);
		text_fini(&copy);
	}
	return rows;
}

int main(int argc, char **argv)
{
	unsigned rows = 0;
	const char *seeds = seeds_wanted(argc, argv);
	for (unsigned i = 0; seeds && i < ARRAY_LEN(corpus); i++)
		seeds_write(seeds, "csv", i, corpus[i], strlen(corpus[i]));
	if (seeds)
		return 0;
	size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
	rounds_state = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	for (size_t i = 0; argc <= 3 && i < ARRAY_LEN(corpus); i++)
		rows += run(corpus[i], strlen(corpus[i]), rounds);
	for (int i = 3; i < argc; i++) {
		char *text;
		size_t count;
		struct troupe_error error;
		if (infile_read(argv[i], 1 << 20, &text, &count, &error)) {
			fprintf(stderr, "fuzz_csv: %s\n", error.text);
			continue;
		}
		rows += run(text, count, rounds);
		free(text);
	}
	printf("%u rows read\n", rows);
	must(argc > 3 || rows > rounds, "hardly anything could be read", "", 0);
	printf("1 passed, 0 failed\n");
	return 0;
}

#endif
