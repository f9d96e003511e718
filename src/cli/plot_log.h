/* The log that `troupe plot` draws, read once: each entity and column that may be shown is a series, which is reduced
 * while it grows (series.h). One thread. */
#ifndef CLI_PLOT_LOG_H
#define CLI_PLOT_LOG_H

#include "base/map.h"
#include "cli/csv.h"
#include "gateway/log/choice.h"

enum {
	PLOT_PANELS_MAX = 6,
	PLOT_COLUMNS_MAX = 16,      /* columns that may be shown */
	PLOT_PARTS_EACH_MAX = 2048, /* a series has at least half as many, which is more than the columns of pixels */
};
#define PLOT_VALUE_MAX 1e100

struct plot_settings {
	const char *file, *out, *what, *x, *title;
	int64_t width, height;
	double from, to;
};

/* Columns that identify the entity of a row. */
enum { PLOT_WORLD, PLOT_KIND, PLOT_MODEL, PLOT_NAME, PLOT_AXIS, PLOT_MODEL2, PLOT_NAME2, PLOT_KEYS };

/* The columns shown for each kind of row, when no column was requested. If no kind was requested, the first kind in
 * this list that the file has is shown. */
struct plot_kind {        /* of rows */
	const char *kind; /* name in --what */
	const char *row;  /* name in the file */
	const char *columns[9];
};
enum { PLOT_KINDS = 8 };
extern const struct plot_kind plot_kinds[PLOT_KINDS];

struct plot_entity {
	char *key;              /* all cells that identify it */
	char *cells[PLOT_KEYS]; /* in one piece with the key */
	uint32_t kind;          /* index in plot_kinds; PLOT_KINDS: another kind */
	double first_t, last_t; /* first and last time with a row */
	uint64_t times;         /* number of rows */
	struct series *lines[PLOT_COLUMNS_MAX];
};

struct plot {
	struct plot_settings settings;
	struct csv csv;
	struct choice choice;
	bool chosen;     /* --what names entities */
	bool named;      /* --what names columns */
	bool any_column; /* all columns with numbers are shown */
	uint32_t keys[PLOT_KEYS], x, t;
	uint32_t columns[PLOT_COLUMNS_MAX], column_count; /* columns that may be shown */
	struct map by_key;
	VEC(struct plot_entity) entities;
	uint64_t rows, parts;
	uint32_t parts_each;
};

/* Opens the table and finds its columns. TROUPE_EIO, TROUPE_EWORLD: the file is no table; TROUPE_ECOMMAND: --x or
 * --what names what it does not have. */
troupe_status plot_log_open(struct plot *plot, struct troupe_error *error);
/* Reads all rows. */
troupe_status plot_log_read(struct plot *plot, struct troupe_error *error);
/* In any case, also if nothing was opened. */
void plot_log_close(struct plot *plot);

#endif
