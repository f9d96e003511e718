/* Feeds damaged tables of rays and of intensities to their readers (sdf/lidar_table.h).
 *
 *   fuzz_lidar                      some thousand rounds over tables of its own
 *   fuzz_lidar SEED ROUNDS FILE...  so many rounds over each file
 *
 * Whatever comes in, the reader ends; what it takes has only numbers within the limits; an error is one line that names
 * the file, a line that there is, and what was expected. With WITHOUT_MAIN it is a target for tests/fuzz/run. */
#include "rounds.h"

#include "sdf/lidar_table.h"

#include <inttypes.h>
#include <math.h>

#define SCAN_S 0.1

static unsigned taken, refused;

static void check_refused(const struct troupe_error *error, const char *bytes, size_t count)
{
	uint64_t lines = 1, line = 0;
	for (size_t i = 0; i < count; i++)
		lines += bytes[i] == '\n';
	must(!strncmp(error->text, "fuzz.txt:", 9), "an error without its file", bytes, count);
	must(sscanf(error->text + 9, "%" SCNu64, &line) == 1 && line <= lines, "an error without its line", bytes,
		count);
	must(!strchr(error->text, '\n'), "an error of several lines", bytes, count);
	must(strstr(error->text, "expected"), "an error that does not say what was expected", bytes, count);
	refused++;
}

static void check_firing(const struct troupe_scan_firing *at, const char *bytes, size_t count)
{
	must(isfinite(at->azimuth_rad) && fabs(at->azimuth_rad) < 20, "an azimuth", bytes, count);
	must(fabs(at->elevation_rad) < 1.6, "an elevation", bytes, count);
	must(at->time_s >= 0 && at->time_s <= SCAN_S, "a time", bytes, count);
	must(at->ring >= 0 && at->ring < SDF_RAYS_MAX && at->ring == floor(at->ring), "a ring", bytes, count);
}

static void one_pattern(const char *bytes, size_t count)
{
	struct sdf_pattern pattern = {0};
	struct troupe_error error = {0};
	struct arena arena = {0};
	if (lidar_table_read("fuzz.txt", bytes, count, SCAN_S, &arena, &pattern, &error)) {
		check_refused(&error, bytes, count);
	} else {
		must(pattern.columns >= 1 && pattern.rows >= 1 && pattern.scans == 1, "no rays", bytes, count);
		must((uint64_t)pattern.columns * pattern.rows <= SDF_RAYS_MAX, "too many rays", bytes, count);
		for (uint32_t c = 0; c < pattern.columns; c++)
			check_firing(&pattern.by_column[c], bytes, count);
		for (uint32_t r = 0; r < pattern.rows; r++)
			check_firing(&pattern.by_row[r], bytes, count);
		taken++;
	}
	arena_fini(&arena);
}

static void one_calibration(const char *bytes, size_t count)
{
	const double *values;
	uint32_t pairs;
	struct troupe_error error = {0};
	struct arena arena = {0};
	if (lidar_table_read_intensities("fuzz.txt", bytes, count, &arena, &values, &pairs, &error)) {
		check_refused(&error, bytes, count);
	} else {
		must(pairs >= 2 && pairs <= LIDAR_TABLE_INTENSITIES_MAX, "pairs", bytes, count);
		for (uint32_t i = 0; i < 2 * pairs; i++)
			must(values[i] >= 0 && values[i] <= 1e9, "an intensity", bytes, count);
		for (uint32_t i = 1; i < pairs; i++)
			must(values[2 * i] > values[2 * i - 2], "intensities that do not rise", bytes, count);
		taken++;
	}
	arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	char *text = mem_alloc(count + 1);
	memcpy(text, bytes, count);
	one_pattern(text, count);
	one_calibration(text, count);
	free(text);
	return 0;
}

#ifndef WITHOUT_MAIN

static const char *const corpus[] = {
	"# a head\nchannels 36 anticlockwise\n-15 0.5 0\n-2, -0.5, 30, 1\n9\t0\t70\t0\r\n",
	"rays\n-20 -170 0\n0 -90 50\n10 -10 200\n0 0 300 7\n-5 80 500\n-30 170 900\n",
	"channels 16 clockwise # turns\n\n  1 2 3 4\n",
	"# reported by range\n0 0\n10 20.5\n 100, 90\n1000\t255\n",
	"rays",
	"",
};

static const char *const nasty[] = {"\n", "\r\n", " ", ",", "#", "\0", "rays\n", "channels ", "channels 4097\n",
	"anticlockwise", "-91", "90", "1e400", "-0", "nan", "inf", "0x10", "1e-320", "65535", "65536", "0.5", "1e9",
	"\xff", "\xed\xa0\x80", "\x1b[31m", "00000000000000000000000000000000000000000000000000000000000000001", "--1",
	"1 2 3 4 5 6"};

static void damage(struct text *text)
{
	const char *word = nasty[rounds_below(ARRAY_LEN(nasty))];
	size_t at = rounds_below(text->count + 1), cut = rounds_below(3) ? 0 : rounds_below(12);
	if (rounds_below(20) == 0)
		text->count = at;
	else
		rounds_replace(text, at, cut, word, *word ? strlen(word) : 1);
}

int main(int argc, char **argv)
{
	const char *seeds = seeds_wanted(argc, argv);
	size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 3000;
	for (unsigned i = 0; seeds && i < ARRAY_LEN(corpus); i++)
		seeds_write(seeds, "lidar", i, corpus[i], strlen(corpus[i]));
	if (seeds)
		return 0;
	rounds_state = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	for (size_t i = 0; argc <= 3 && i < ARRAY_LEN(corpus); i++)
		rounds_run(corpus[i], strlen(corpus[i]), rounds, damage);
	for (int i = 3; i < argc; i++)
		rounds_run_file(argv[i], rounds, damage);
	printf("%u tables read, %u refused\n", taken, refused);
	must(argc > 3 || (taken > rounds / 10 && refused > rounds), "hardly anything was read, or refused", NULL, 0);
	printf("1 passed, 0 failed\n");
	return 0;
}

#endif
