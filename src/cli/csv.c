/* A log may be larger than memory and may come through a pipe. So it is read in parts, and only one row is kept.
 * First the end of the row is found, within a limit of bytes; then the row is split in place. So a quote that is
 * never closed uses memory for one row, not for the whole file. */
#include "cli/csv.h"

#include "base/text.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CSV_READ_BYTES = 1 << 16 };

/* What the file is if it begins like another kind of file; NULL: it does not. */
static const char *csv_other_kind(const struct csv *csv)
{
	static const struct {
		const char *beginning, *kind;
	} kinds[] = {{"troupe record\n", "a recording of troupe, which troupe replay takes"},
		{"troupe state\n", "a saved state of troupe, which troupe run --resume takes"},
		{"\x89MCAP", "an MCAP file"}, {"\x89PNG", "a picture"}, {"<", "an XML file"}, {"{", "a JSON file"},
		{"\x7f"
		 "ELF",
			"a program"},
		{"PK\x03\x04", "an archive"}, {"\x1f\x8b", "a compressed file"}};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (csv->count >= strlen(kinds[i].beginning) &&
			!memcmp(csv->buffer, kinds[i].beginning, strlen(kinds[i].beginning)))
			return kinds[i].kind;
	return NULL;
}

static troupe_status csv_damaged(const struct csv *csv, struct troupe_error *error, const char *what)
{
	return fail(error, TROUPE_EWORLD, "%s:%" PRIu64 ": %s", csv->path, csv->line, what);
}

/* --- bytes -------------------------------------------------------------------------------------------------------- */

/* Reads more bytes into the buffer, after those that are there. */
static troupe_status csv_read_more(struct csv *csv, struct troupe_error *error)
{
	if (csv->from) {
		memmove(csv->buffer, csv->buffer + csv->from, csv->count - csv->from);
		csv->count -= csv->from;
		csv->from = 0;
	}
	if (csv->room - csv->count < CSV_READ_BYTES) {
		csv->room = csv->count + 2 * (size_t)CSV_READ_BYTES;
		csv->buffer = mem_realloc(csv->buffer, csv->room);
	}
	ssize_t got = csv->file ? AGAIN(read(csv->file - 1, csv->buffer + csv->count, CSV_READ_BYTES)) : 0;
	if (got < 0)
		return fail(error, TROUPE_EIO, "%s: cannot read: %s", csv->path, strerror(errno));
	csv->ended = !got;
	csv->count += (size_t)got;
	return TROUPE_OK;
}

/* The search for the end of a row, kept between calls for the same row. lines: the line ends inside the row. */
struct scan {
	size_t at; /* offset from the beginning of the row */
	bool quoted;
	uint64_t lines;
};

static bool csv_find_end(const struct csv *csv, struct scan *scan)
{
	const char *row = csv->buffer + csv->from;
	size_t count = csv->count - csv->from;
	for (; scan->at < count; scan->at++) {
		if (row[scan->at] == '"')
			scan->quoted = !scan->quoted;
		if (row[scan->at] != '\n')
			continue;
		if (!scan->quoted)
			return true;
		scan->lines++;
	}
	return false;
}

/* *ret_count: the length of the row that begins at csv->from; *ret_whole: the row has a line end. */
static troupe_status csv_find_row(struct csv *csv, struct scan *scan, bool *ret_whole, struct troupe_error *error)
{
	*scan = (struct scan){0};
	csv->line = csv->lines + 1;
	for (;;) {
		*ret_whole = csv_find_end(csv, scan);
		if (scan->at > CSV_ROW_BYTES_MAX)
			return csv_damaged(csv, error,
				scan->quoted ? "a quote that is not closed within 1 MiB" : "a line of more than 1 MiB");
		if (*ret_whole || csv->ended)
			return TROUPE_OK;
		troupe_status status = csv_read_more(csv, error);
		if (status)
			return status;
	}
}

/* --- cells -------------------------------------------------------------------------------------------------------- */

/* Removes the quotes of one cell. *at is moved to the comma after it, or to the end. */
static troupe_status csv_unquote(const struct csv *csv, char **at, struct troupe_error *error)
{
	char *from = *at + 1, *to = *at;
	for (;; from++) {
		if (!*from)
			return csv_damaged(csv, error, "a quote that is not closed");
		if (*from == '"' && *++from != '"')
			break;
		*to++ = *from;
	}
	if (*from && *from != ',')
		return csv_damaged(csv, error, "text after a closing quote: expected a comma");
	if (to < from)
		*to = '\0';
	*at = from;
	return TROUPE_OK;
}

/* Splits the row into at most `max` cells; *ret_count is max + 1 if there are more. */
static troupe_status csv_cut_row(
	const struct csv *csv, char *at, char **cells, uint32_t max, uint32_t *ret_count, struct troupe_error *error)
{
	uint32_t count = 0;
	for (;;) {
		char *cell = at;
		troupe_status status = TROUPE_OK;
		if (*at == '"')
			status = csv_unquote(csv, &at, error);
		else
			at += strcspn(at, ",");
		if (status)
			return status;
		if (count < max)
			cells[count] = cell;
		count++;
		if (!*at || count > max)
			break;
		*at++ = '\0';
	}
	*ret_count = count;
	return TROUPE_OK;
}

/* Copies the next row that is not empty to csv->row, without its line end. */
static troupe_status csv_take_row(struct csv *csv, bool *ret_whole, bool *ret_end, struct troupe_error *error)
{
	struct scan scan;
	size_t count;
	do {
		troupe_status status = csv_find_row(csv, &scan, ret_whole, error);
		if (status)
			return status;
		const char *row = csv->buffer + csv->from;
		count = scan.at;
		while (count && row[count - 1] == '\r')
			count--;
		if (memchr(row, '\0', count))
			return csv_damaged(csv, error, "a zero byte: expected text");
		memcpy(csv->row, row, count);
		csv->row[count] = '\0';
		csv->from += scan.at + *ret_whole;
		csv->lines += scan.lines + *ret_whole;
	} while (!count && *ret_whole);
	*ret_end = !count;
	return TROUPE_OK;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static void csv_skip_mark(struct csv *csv)
{
	if (csv->count >= 3 && !memcmp(csv->buffer, "\xef\xbb\xbf", 3))
		csv->from = 3;
}

static troupe_status csv_check_names(const struct csv *csv, struct troupe_error *error)
{
	if (csv->columns == 1 && strchr(csv->names[0], ';'))
		return csv_damaged(csv, error, "columns between semicolons: expected commas");
	for (uint32_t i = 0; i < csv->columns; i++) {
		if (!*csv->names[i])
			return fail(error, TROUPE_EWORLD, "%s:%" PRIu64 ": column %u has no name", csv->path, csv->line,
				i + 1);
		for (uint32_t k = 0; k < i; k++)
			if (!strcmp(csv->names[i], csv->names[k]))
				return fail(error, TROUPE_EWORLD, "%s:%" PRIu64 ": two columns named '%.100s'",
					csv->path, csv->line, csv->names[i]);
	}
	return TROUPE_OK;
}

static troupe_status csv_read_names(struct csv *csv, struct troupe_error *error)
{
	bool whole, end;
	csv->row = mem_alloc(CSV_ROW_BYTES_MAX + 1);
	csv->cells = mem_alloc(CSV_COLUMNS_MAX * sizeof *csv->cells);
	csv->names = mem_alloc(CSV_COLUMNS_MAX * sizeof *csv->names);
	troupe_status status = csv_take_row(csv, &whole, &end, error);
	if (status)
		return status;
	if (end)
		return csv_damaged(csv, error, "nothing in it: expected a line with the names of the columns");
	csv->heading = mem_strdup(csv->row);
	status = csv_cut_row(csv, csv->heading, csv->names, CSV_COLUMNS_MAX, &csv->columns, error);
	if (status)
		return status;
	if (csv->columns > CSV_COLUMNS_MAX) {
		csv->columns = 0;
		return csv_damaged(csv, error, "more than 1024 columns");
	}
	return csv_check_names(csv, error);
}

troupe_status csv_open_bytes(
	struct csv *csv, const char *path, const char *bytes, size_t count, struct troupe_error *error)
{
	*csv = (struct csv){.path = path, .count = count, .room = count, .ended = true};
	csv->buffer = mem_alloc(count + 1);
	memcpy(csv->buffer, bytes, count);
	csv_skip_mark(csv);
	return csv_read_names(csv, error);
}

troupe_status csv_open(struct csv *csv, const char *path, struct troupe_error *error)
{
	struct stat info;
	*csv = (struct csv){.path = path};
	csv->file = AGAIN(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)) + 1;
	if (!csv->file || fstat(csv->file - 1, &info))
		return fail(error, TROUPE_EIO, "%s: cannot open: %s", path, strerror(errno));
	if (S_ISDIR(info.st_mode))
		return fail(error, TROUPE_EIO, "%s: is a folder: expected a file", path);
	while (csv->count < 3 && !csv->ended) {
		troupe_status status = csv_read_more(csv, error);
		if (status)
			return status;
	}
	const char *kind = csv_other_kind(csv);
	if (kind)
		return fail(error, TROUPE_EWORLD, "%s: %s: expected a table (CSV), as troupe run --log writes it", path,
			kind);
	csv_skip_mark(csv);
	return csv_read_names(csv, error);
}

troupe_status csv_next(struct csv *csv, bool *ret_end, struct troupe_error *error)
{
	bool whole, end;
	uint32_t count = 0;
	*ret_end = true;
	troupe_status status = csv_take_row(csv, &whole, &end, error);
	if (status || end)
		return status;
	status = csv_cut_row(csv, csv->row, csv->cells, csv->columns, &count, error);
	csv->cut = !whole && (status || count < csv->columns);
	if (csv->cut)
		return TROUPE_OK;
	if (status)
		return status;
	if (count != csv->columns)
		return fail(error, TROUPE_EWORLD, "%s:%" PRIu64 ": %s cells than the %u columns of the first line",
			csv->path, csv->line, count < csv->columns ? "fewer" : "more", csv->columns);
	*ret_end = false;
	return TROUPE_OK;
}

uint32_t csv_column(const struct csv *csv, const char *name)
{
	for (uint32_t i = 0; i < csv->columns; i++)
		if (!strcmp(csv->names[i], name))
			return i;
	return CSV_COLUMNS_MAX;
}

void csv_close(struct csv *csv)
{
	if (csv->file)
		(void)close(csv->file - 1);
	free(csv->buffer);
	free(csv->row);
	free(csv->heading);
	free(csv->names);
	free(csv->cells);
	*csv = (struct csv){0};
}
