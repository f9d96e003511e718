/* Reads comma-separated values row by row, from files that may be hostile, damaged or still growing.
 *
 * The format is RFC 4180: a cell may be enclosed in double quotes, with "" for a quote, and may then contain commas
 * and line ends. Lines end with LF or CRLF. A byte-order mark and empty lines are skipped. The first row names the
 * columns; each later row has the same number of cells.
 *
 * If the last line has no line end and too few cells, then its write was interrupted (a full disk, a writer that was
 * killed or still writes). That line is left out, and csv.cut is set. */
#ifndef CLI_CSV_H
#define CLI_CSV_H

#include "base/base.h"

enum { CSV_ROW_BYTES_MAX = 1 << 20, CSV_COLUMNS_MAX = 1024 };

struct csv { /* zeroed: closed */
	const char *path;
	uint32_t columns;
	char **names;  /* [columns] cells of the first row */
	char **cells;  /* [columns] cells of the row that was read last; valid until the next one */
	uint64_t line; /* line on which that row begins, from 1 */
	bool cut;

	int file; /* the descriptor plus 1; 0: all bytes are in the buffer */
	char *buffer;
	size_t from, count, room; /* indices in the buffer: start of the next row, end of the data; size */
	uint64_t lines;           /* lines before `from` */
	char *row, *heading;      /* cells and names point into these */
	bool ended;
};

/* Opens the file and reads the first row. TROUPE_EIO, TROUPE_EWORLD with file:line. path must live until csv_close().
 * Call csv_close() in any case. */
troupe_status csv_open(struct csv *csv, const char *path, struct troupe_error *error);
/* The same for bytes in memory, which are copied. */
troupe_status csv_open_bytes(
	struct csv *csv, const char *path, const char *bytes, size_t count, struct troupe_error *error);
/* Reads the next row. *ret_end: there is no further row, and cells are not valid. */
troupe_status csv_next(struct csv *csv, bool *ret_end, struct troupe_error *error);
/* The index of the column; CSV_COLUMNS_MAX: no such column. */
uint32_t csv_column(const struct csv *csv, const char *name);
void csv_close(struct csv *csv);

#endif
