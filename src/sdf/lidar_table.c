/* One line after the other; the first says what the others are. */
#include "sdf/lidar_table.h"

#include "base/parse.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LIDAR_TABLE_DEGREE (3.14159265358979323846 / 180)
#define LIDAR_TABLE_TURN 6.28318530717958647693

enum { LIDAR_TABLE_WORDS_MAX = 5, LIDAR_TABLE_WORD_BYTES = 64 };

struct lidar_table {
	const char *path;
	uint32_t line;
	double scan_s, turn_rad_s;
	uint32_t columns; /* 0: each line is a ray */
	bool begun;
	VEC(struct troupe_scan_firing) lines;
	struct troupe_error *error;
};

struct lidar_table_words {
	char at[LIDAR_TABLE_WORDS_MAX][LIDAR_TABLE_WORD_BYTES];
	uint32_t count; /* LIDAR_TABLE_WORDS_MAX: that many or more */
	bool odd;       /* one of them is too long, or has a NUL */
};

static struct lidar_table_words lidar_table_split(const char *line, size_t bytes)
{
	static const char between[] = " \t\r,";
	struct lidar_table_words words = {.count = 0};
	size_t at = 0;
	while (at < bytes && line[at] != '#' && words.count < LIDAR_TABLE_WORDS_MAX) {
		size_t end = at;
		while (end < bytes && line[end] != '#' && (!line[end] || !strchr(between, line[end])))
			end++;
		size_t length = MIN(end - at, (size_t)LIDAR_TABLE_WORD_BYTES - 1);
		words.odd |= length < end - at || memchr(line + at, '\0', length);
		if (end > at)
			memcpy(words.at[words.count++], line + at, length);
		at = end + (end < bytes && line[end] != '#');
	}
	return words;
}

#define LIDAR_TABLE_FAIL(table, ...)                                                                                   \
	({                                                                                                             \
		char *why_ = mem_printf(__VA_ARGS__);                                                                  \
		troupe_status status_ =                                                                                \
			fail((table)->error, TROUPE_EWORLD, "%.300s:%u: %s", (table)->path, (table)->line, why_);      \
		free(why_);                                                                                            \
		status_;                                                                                               \
	})

/* The next line that has words. False: there is none, or *status says that it is not valid, or said so before. */
static bool lidar_table_next(struct lidar_table *table, const char *text, size_t bytes, size_t *at,
	struct lidar_table_words *ret_words, troupe_status *status)
{
	while (*at < bytes && !*status) {
		const char *found = memchr(text + *at, '\n', bytes - *at);
		size_t end = found ? (size_t)(found - text) : bytes;
		*ret_words = lidar_table_split(text + *at, end - *at);
		*at = end + 1;
		table->line++;
		if (ret_words->odd)
			*status =
				LIDAR_TABLE_FAIL(table, "a word with a NUL, or of more than %d bytes: expected numbers",
					LIDAR_TABLE_WORD_BYTES - 1);
		if (ret_words->count && !*status)
			return true;
	}
	return false;
}

static troupe_status lidar_table_begin(struct lidar_table *table, const struct lidar_table_words *words)
{
	uint64_t columns = 0;
	bool turns = !strcmp(words->at[0], "channels");
	bool clockwise = words->count < 3 || !strcmp(words->at[2], "clockwise");
	table->begun = true;
	if (!turns && (strcmp(words->at[0], "rays") || words->count > 1))
		return LIDAR_TABLE_FAIL(table,
			"the first line begins with \"%s\": expected \"channels COLUMNS\" or \"rays\"", words->at[0]);
	if (!turns)
		return TROUPE_OK;
	if (words->count < 2 || !parse_uint64(words->at[1], &columns) || columns < 1 || columns > SDF_RAYS_MAX)
		return LIDAR_TABLE_FAIL(table, "the number of columns is \"%s\": expected a number from 1 to %d",
			words->at[1], SDF_RAYS_MAX);
	if (words->count > 3 || (!clockwise && strcmp(words->at[2], "anticlockwise")))
		return LIDAR_TABLE_FAIL(table,
			"\"%s\" after the number of columns: expected clockwise or anticlockwise",
			words->at[words->count > 3 ? 3 : 2]);
	table->columns = (uint32_t)columns;
	table->turn_rad_s = (clockwise ? -LIDAR_TABLE_TURN : LIDAR_TABLE_TURN) / table->scan_s;
	return TROUPE_OK;
}

static troupe_status lidar_table_add(struct lidar_table *table, const struct lidar_table_words *words)
{
	static const char *const names[] = {"elevation", "azimuth", "time", "ring"};
	double most_s = table->columns ? table->scan_s / table->columns : table->scan_s;
	const double lo[] = {-90, -360, 0, 0}, hi[] = {90, 360, most_s * 1e6, 65535};
	double values[] = {0, 0, 0, table->lines.count};
	uint32_t most = table->columns ? SDF_CHANNELS_MAX : SDF_RAYS_MAX;
	if (words->count < 3 || words->count > 4)
		return LIDAR_TABLE_FAIL(
			table, "%u values: expected ELEVATION_deg AZIMUTH_deg TIME_us [RING]", words->count);
	for (uint32_t i = 0; i < words->count; i++)
		if (!parse_double(words->at[i], &values[i]) || !(values[i] >= lo[i] && values[i] <= hi[i]) ||
			(i == 3 && values[i] != floor(values[i])))
			return LIDAR_TABLE_FAIL(table, "the %s is \"%s\": expected a %snumber from %g to %g", names[i],
				words->at[i], i == 3 ? "whole " : "", lo[i], hi[i]);
	if (table->lines.count == most)
		return LIDAR_TABLE_FAIL(table, "one line more: expected at most %u", most);
	double time_s = fmin(values[2] * 1e-6, most_s);
	vec_push(&table->lines, (struct troupe_scan_firing){values[1] * LIDAR_TABLE_DEGREE + table->turn_rad_s * time_s,
					values[0] * LIDAR_TABLE_DEGREE, time_s, values[3]});
	return TROUPE_OK;
}

static troupe_status lidar_table_read_lines(struct lidar_table *table, const char *text, size_t bytes)
{
	troupe_status status = TROUPE_OK;
	struct lidar_table_words words;
	for (size_t at = 0; lidar_table_next(table, text, bytes, &at, &words, &status);)
		status = table->begun ? lidar_table_add(table, &words) : lidar_table_begin(table, &words);
	if (!status && !table->lines.count)
		return LIDAR_TABLE_FAIL(table, "no line with angles: expected at least one");
	double rays = (double)table->lines.count * MAX(table->columns, 1u);
	if (!status && rays > SDF_RAYS_MAX)
		return LIDAR_TABLE_FAIL(table, "%.0f rays: expected at most %d", rays, SDF_RAYS_MAX);
	return status;
}

static struct sdf_pattern lidar_table_pattern(const struct lidar_table *table, struct arena *arena)
{
	uint32_t lines = table->lines.count;
	struct sdf_pattern to = {.columns = table->columns ? table->columns : lines,
		.rows = table->columns ? lines : 1,
		.scans = 1,
		.scan_s = table->scan_s};
	to.by_column = arena_array(arena, struct troupe_scan_firing, to.columns);
	to.by_row = arena_array(arena, struct troupe_scan_firing, to.rows);
	memcpy(table->columns ? to.by_row : to.by_column, table->lines.at, lines * sizeof *to.by_row);
	for (uint32_t c = 0; c < table->columns; c++) {
		double time_s = c * (table->scan_s / table->columns);
		to.by_column[c] =
			(struct troupe_scan_firing){LIDAR_TABLE_TURN / 2 + table->turn_rad_s * time_s, 0, time_s, 0};
	}
	return to;
}

troupe_status lidar_table_read(const char *path, const char *text, size_t bytes, double scan_s, struct arena *arena,
	struct sdf_pattern *ret_pattern, struct troupe_error *error)
{
	struct lidar_table table = {.path = path, .scan_s = scan_s, .error = error};
	troupe_status status = lidar_table_read_lines(&table, text, bytes);
	if (!status)
		*ret_pattern = lidar_table_pattern(&table, arena);
	vec_free(&table.lines);
	return status;
}

/* --- intensities -------------------------------------------------------------------------------------------------- */

static troupe_status lidar_table_add_intensity(
	struct lidar_table *table, const struct lidar_table_words *words, double *values, uint32_t *count)
{
	double *pair = &values[2 * (size_t)*count];
	if (words->count != 2)
		return LIDAR_TABLE_FAIL(table, "%u values: expected INTENSITY REPORTED", words->count);
	if (*count == LIDAR_TABLE_INTENSITIES_MAX)
		return LIDAR_TABLE_FAIL(table, "one line more: expected at most %d", LIDAR_TABLE_INTENSITIES_MAX);
	for (int i = 0; i < 2; i++)
		if (!parse_double(words->at[i], &pair[i]) || !(pair[i] >= 0 && pair[i] <= 1e9))
			return LIDAR_TABLE_FAIL(table, "\"%s\": expected a number from 0 to 1e9", words->at[i]);
	if (*count && !(pair[0] > pair[-2]))
		return LIDAR_TABLE_FAIL(table, "the intensity %g follows %g: expected a larger one", pair[0], pair[-2]);
	++*count;
	return TROUPE_OK;
}

troupe_status lidar_table_read_intensities(const char *path, const char *text, size_t bytes, struct arena *arena,
	const double **ret_values, uint32_t *ret_count, struct troupe_error *error)
{
	struct lidar_table table = {.path = path, .error = error};
	double *values = arena_array(arena, double, 2 * (LIDAR_TABLE_INTENSITIES_MAX + 1));
	troupe_status status = TROUPE_OK;
	*ret_values = values;
	*ret_count = 0;
	struct lidar_table_words words;
	for (size_t at = 0; lidar_table_next(&table, text, bytes, &at, &words, &status);)
		status = lidar_table_add_intensity(&table, &words, values, ret_count);
	if (!status && *ret_count < 2)
		return LIDAR_TABLE_FAIL(&table, "%u lines of intensities: expected at least two", *ret_count);
	return status;
}
