/* Reads comma-separated values row by row, from files that may be hostile, damaged or still growing.
 *
 * As RFC 4180 has it: a cell may stand in double quotes, with "" for a quote, and may then hold commas and line ends;
 * lines end with LF or CRLF. A byte-order mark is skipped, and so are empty lines. The first row names the columns, and
 * each row after it has as many cells.
 *
 * A file whose last line has no end and too few cells was cut off in a write (a full disk, a writer that was killed or
 * still writes): that line is left out, and csv.cut says so. */
#ifndef CLI_CSV_H
#define CLI_CSV_H

#include "base/base.h"

enum { CSV_ROW_BYTES_MAX = 1 << 20, CSV_COLUMNS_MAX = 1024 };

struct csv { /* zeroed: closed */
	const char *path;
	uint32_t columns;
	char **names;  /* [columns] of the first row */
	char **cells;  /* [columns] of the row that was read last; valid until the next one */
	uint64_t line; /* on which that row begins, from 1 */
	bool cut;

	int file; /* the descriptor plus 1; 0: all is in the buffer */
	char *buffer;
	size_t from, count, room; /* in the buffer: where the next row begins, and the end of what was read */
	uint64_t lines;           /* before `from` */
	char *row, *heading;      /* what cells and names point into */
	bool ended;
};

/* Reads the first row. TROUPE_EIO, TROUPE_EWORLD with file:line. path is kept. Close in any case. */
troupe_status csv_open(struct csv *csv, const char *path, struct troupe_error *error);
/* The same for bytes in memory, which are copied. */
troupe_status csv_open_bytes(
	struct csv *csv, const char *path, const char *bytes, size_t count, struct troupe_error *error);
/* *ret_end: there is no further row, and cells are not valid. */
troupe_status csv_next(struct csv *csv, bool *ret_end, struct troupe_error *error);
/* The column of that name; CSV_COLUMNS_MAX: there is none. */
uint32_t csv_column(const struct csv *csv, const char *name);
void csv_close(struct csv *csv);

#endif
