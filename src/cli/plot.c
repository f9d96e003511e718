/* A log is read once, from a file or a pipe. Only at its end is it known what is worth showing: which models moved,
 * and which kinds of rows there are. So each entity and column that may be shown becomes a series, which is reduced
 * while it grows (series.h). The size of each series depends on the number of series, so that all together have at
 * most PLOT_PARTS_MAX parts. */
#include "base/map.h"
#include "base/outfile.h"
#include "base/parse.h"
#include "cli/chart.h"
#include "cli/cli.h"
#include "cli/csv.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/signals.h"
#include "gateway/log/choice.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PANELS_MAX = 6,
	COLUMNS_MAX = 16, /* columns that may be shown */
	ENTITIES_MAX = 100000,
	PARTS_EACH_MAX = 2048, /* a series has at least half as many, which is more than the columns of pixels */
	PARTS_EACH_MIN = 16,
	PLOT_PARTS_MAX = 1 << 20, /* of all series: 160 MB */
};
#define VALUE_MAX 1e100

struct plot_settings {
	const char *file, *out, *what, *x, *title;
	int64_t width, height;
	double from, to;
};

#define PLOT_AT(member) offsetof(struct plot_settings, member)
static const struct option_spec plot_specs[] = {
	{OPTION_OPERAND, .name = "file", .argument = "FILE.csv", .offset = PLOT_AT(file)},
	{OPTION_HEADING, .help = "Options"},
	{OPTION_TEXT, .name = "out", .argument = "FILE.svg", .offset = PLOT_AT(out),
		.help = "write the chart to this file (default: standard output)"},
	{OPTION_TEXT, .name = "what", .argument = "PATTERN", .offset = PLOT_AT(what),
		.help = "draw these entities (as in --log-what of run) and these columns (by name), as a list with "
			"commas (default: x and y of the models that moved most)"},
	{OPTION_TEXT, .name = "x", .argument = "COLUMN", .offset = PLOT_AT(x),
		.help = "the column of the horizontal axis; x or y draws a map (default: time)"},
	{OPTION_REAL, .name = "from", .argument = "X", .offset = PLOT_AT(from), .lo = -VALUE_MAX, .hi = VALUE_MAX,
		.help = "leave out rows below X on the horizontal axis"},
	{OPTION_REAL, .name = "to", .argument = "X", .offset = PLOT_AT(to), .lo = -VALUE_MAX, .hi = VALUE_MAX,
		.help = "leave out rows above X on the horizontal axis"},
	{OPTION_TEXT, .name = "title", .argument = "TEXT", .offset = PLOT_AT(title),
		.help = "the title of the chart (default: the name of the file)"},
	{OPTION_WHOLE, .name = "width", .argument = "N", .offset = PLOT_AT(width), .lo = CHART_WIDTH_MIN,
		.hi = CHART_SIZE_MAX, .help = "width in pixels (default: 960)"},
	{OPTION_WHOLE, .name = "height", .argument = "N", .offset = PLOT_AT(height), .lo = CHART_HEIGHT_MIN,
		.hi = CHART_SIZE_MAX, .help = "height in pixels (default: from the number of panels)"},
	{OPTION_HELP, 'h', "help", .help = "print this help"},
};
#undef PLOT_AT

static const struct options_command plot_command = {
	.name = "plot",
	.usage = "troupe plot [OPTIONS] FILE.csv",
	.about = "Draws a log of troupe run --log, or another table of numbers, as a chart in SVG, for light "
		 "and dark backgrounds. A chart shows at most 8 entities; if more are chosen, the 8 that vary "
		 "most.",
	.after = "Examples\n"
		 "  troupe plot drive.csv --out drive.svg\n"
		 "  troupe plot drive.csv --x x --what 'cart_*' --out map.svg\n"
		 "  troupe plot drive.csv --what joint:arm,position,velocity --out arm.svg\n"
		 "  troupe plot drive.csv --what odometry --from 10 --to 20 --out drift.svg\n"
		 "\n"
		 "Exit status\n"
		 "  0  the chart is drawn\n"
		 "  1  the file cannot be read, has no row or column that was chosen, or the\n"
		 "     chart cannot be written\n"
		 "  2  wrong usage\n",
	.specs = plot_specs,
	.spec_count = ARRAY_LEN(plot_specs),
};

/* The columns shown for each kind of row, when no column was requested. If no kind was requested, the first kind in
 * this list that the file has is shown. */
static const struct kind_shown {
	const char *kind; /* name in --what */
	const char *row;  /* name in the file */
	const char *columns[9];
} plot_kinds_shown[] = {
	{"model", "model", {"x", "y"}},
	{"joint", "joint", {"position"}},
	{"odometry", "odometry", {"drift"}},
	{"link", "link", {"x", "y"}},
	{"contact", "contact", {"depth"}},
	{"secondary", "model", {"secondary"}},
	{"effort", "joint", {"effort"}},
	{"sensor", "sensor", {"range", "ax", "az", "fz", "bx", "pressure", "contacts", "altitude", "z"}},
};

static const struct {
	const char *column, *unit;
} plot_units[] = {{"time", "s"}, {"x", "m"}, {"y", "m"}, {"z", "m"}, {"yaw", "rad"}, {"vx", "m/s"}, {"vy", "m/s"},
	{"vz", "m/s"}, {"wx", "rad/s"}, {"wy", "rad/s"}, {"wz", "rad/s"}, {"position", "rad or m"},
	{"velocity", "rad/s or m/s"}, {"effort", "N m or N"}, {"depth", "m"}, {"drift", "m"}, {"drift_yaw", "rad"},
	{"tilt", "rad"}, {"ax", "m/s2"}, {"ay", "m/s2"}, {"az", "m/s2"}, {"fx", "N"}, {"fy", "N"}, {"fz", "N"},
	{"tx", "N m"}, {"ty", "N m"}, {"tz", "N m"}, {"bx", "T"}, {"by", "T"}, {"bz", "T"}, {"latitude", "deg"},
	{"longitude", "deg"}, {"altitude", "m"}, {"pressure", "Pa"}, {"temperature", "K"}, {"range", "m"}};

/* --- the table ---------------------------------------------------------------------------------------------------- */

/* Columns that identify the entity of a row. */
enum { WORLD, KIND, MODEL, NAME, AXIS, MODEL2, NAME2, KEYS };
static const char *const plot_key_names[KEYS] = {
	[WORLD] = "world",
	[KIND] = "kind",
	[MODEL] = "model",
	[NAME] = "name",
	[AXIS] = "axis",
	[MODEL2] = "model2",
	[NAME2] = "name2",
};

struct entity {
	char *key;              /* all cells that identify it */
	char *cells[KEYS];      /* in one piece with the key */
	uint32_t kind;          /* index in kinds_shown; ARRAY_LEN: another kind */
	double first_t, last_t; /* first and last time with a row */
	uint64_t times;         /* number of rows */
	struct series *lines[COLUMNS_MAX];
};

struct plot {
	struct plot_settings settings;
	struct csv csv;
	struct choice choice;
	bool chosen;     /* --what names entities */
	bool named;      /* --what names columns */
	bool any_column; /* all columns with numbers are shown */
	uint32_t keys[KEYS], x, t;
	uint32_t columns[COLUMNS_MAX], column_count; /* columns that may be shown */
	struct map by_key;
	VEC(struct entity) entities;
	uint64_t rows, parts;
	uint32_t parts_each;
};

static const char *plot_cell(const struct plot *plot, uint32_t column)
{
	return column < plot->csv.columns ? plot->csv.cells[column] : "";
}

static const char *plot_key_cell(const struct plot *plot, int key)
{
	return plot_cell(plot, plot->keys[key]);
}

static bool plot_is_key(const struct plot *plot, uint32_t column)
{
	for (int i = 0; i < KEYS; i++)
		if (plot->keys[i] == column)
			return true;
	return false;
}

static uint32_t plot_column_index(const struct plot *plot, uint32_t column)
{
	for (uint32_t i = 0; i < plot->column_count; i++)
		if (plot->columns[i] == column)
			return i;
	return COLUMNS_MAX;
}

/* Adds a column, if it is not there and there is room. */
static bool plot_add_column(struct plot *plot, uint32_t column)
{
	if (column >= plot->csv.columns || column == plot->x || plot_column_index(plot, column) < COLUMNS_MAX)
		return true;
	if (plot->column_count == COLUMNS_MAX)
		return false;
	plot->columns[plot->column_count++] = column;
	return true;
}

/* Takes the columns that --what names out of the choice of entities. */
static troupe_status plot_take_columns(struct plot *plot, struct troupe_error *error)
{
	for (uint32_t i = 0; i < plot->choice.items.count;) {
		const struct choice_item *item = &plot->choice.items.at[i];
		uint32_t column = csv_column(&plot->csv, item->glob);
		bool plain = !item->kind || !strcmp(item->kind, item->glob);
		if (item->kind || !plain || column >= plot->csv.columns) {
			i++;
			continue;
		}
		if (!plot_add_column(plot, column) || plot->column_count > PANELS_MAX)
			return fail(error, TROUPE_ECOMMAND, "--what: more than %d columns", PANELS_MAX);
		plot->named = true;
		choice_drop(&plot->choice, i);
	}
	plot->chosen = plot->choice.items.count;
	return TROUPE_OK;
}

static troupe_status plot_choose_x(struct plot *plot, struct troupe_error *error)
{
	static const char *const usual[] = {"time", "step"};
	const char *given = plot->settings.x;
	plot->x = given ? csv_column(&plot->csv, given) : CSV_COLUMNS_MAX;
	plot->t = CSV_COLUMNS_MAX;
	for (size_t i = 0; i < ARRAY_LEN(usual) && plot->t >= plot->csv.columns; i++)
		plot->t = csv_column(&plot->csv, usual[i]);
	if (!given)
		plot->x = plot->t < plot->csv.columns ? plot->t : 0;
	if (plot->x >= plot->csv.columns)
		return fail(error, TROUPE_ECOMMAND, "%s:1: no column '%.100s' for --x", plot->csv.path, given);
	if (plot->t >= plot->csv.columns)
		plot->t = plot->x;
	return TROUPE_OK;
}

static void plot_choose_columns(struct plot *plot)
{
	if (plot->named)
		return;
	plot->any_column = plot->keys[KIND] >= plot->csv.columns;
	for (size_t i = 0; i < ARRAY_LEN(plot_kinds_shown); i++)
		for (size_t k = 0; k < ARRAY_LEN(plot_kinds_shown[i].columns) && !plot->any_column; k++)
			if (plot_kinds_shown[i].columns[k])
				(void)plot_add_column(plot, csv_column(&plot->csv, plot_kinds_shown[i].columns[k]));
	plot->any_column |= !plot->column_count;
	for (uint32_t i = 0; i < plot->csv.columns && plot->any_column; i++)
		if (!plot_is_key(plot, i) && i != plot->t)
			(void)plot_add_column(plot, i);
}

static troupe_status plot_open_table(struct plot *plot, struct troupe_error *error)
{
	troupe_status status = csv_open(&plot->csv, plot->settings.file, error);
	if (status)
		return status;
	for (int i = 0; i < KEYS; i++)
		plot->keys[i] = csv_column(&plot->csv, plot_key_names[i]);
	status = plot_choose_x(plot, error);
	if (!status && plot->settings.what)
		status = choice_read(&plot->choice, "--what", plot->settings.what, false, error);
	if (!status)
		status = plot_take_columns(plot, error);
	if (!status)
		plot_choose_columns(plot);
	return status;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static bool plot_is_chosen(const struct plot *plot, const char *kind)
{
	const char *model = plot_key_cell(plot, MODEL), *name = plot_key_cell(plot, NAME);
	const char *model2 = plot_key_cell(plot, MODEL2), *name2 = plot_key_cell(plot, NAME2);
	/* in a table without models, items of the choice are names */
	if (plot->keys[MODEL] >= plot->csv.columns)
		model = name;
	return choice_has(&plot->choice, kind, model, name) ||
	       (*model2 && choice_has(&plot->choice, kind, model2, name2));
}

/* The row's index in kinds_shown; the length of kinds_shown for an unknown kind; larger: the row is not shown. */
static uint32_t plot_kind_of_row(const struct plot *plot)
{
	const char *row = plot_key_cell(plot, KIND);
	bool known = false;
	for (uint32_t i = 0; i < ARRAY_LEN(plot_kinds_shown); i++) {
		if (strcmp(plot_kinds_shown[i].row, row) != 0)
			continue;
		known = true;
		if (!plot->chosen || plot_is_chosen(plot, plot_kinds_shown[i].kind))
			return i;
	}
	if (known)
		return UINT32_MAX;
	return !plot->chosen || plot_is_chosen(plot, *row ? row : "model") ? ARRAY_LEN(plot_kinds_shown) : UINT32_MAX;
}

static troupe_status plot_find_entity(struct plot *plot, uint32_t kind, uint32_t *ret_index, struct troupe_error *error)
{
	struct text key = {0};
	for (int i = 0; i < KEYS; i++) /* a text cannot have a line end of this kind in it */
		text_add(&key, "%s\x1f", plot_key_cell(plot, i));
	troupe_status status = TROUPE_OK;
	if (map_find(&plot->by_key, key.at, ret_index)) {
		text_fini(&key);
		return TROUPE_OK;
	}
	if (plot->entities.count == ENTITIES_MAX) {
		status = fail(error, TROUPE_ELIMIT, "%s:%" PRIu64 ": more than %d entities: choose some with --what",
			plot->csv.path, plot->csv.line, ENTITIES_MAX);
		text_fini(&key);
		return status;
	}
	struct entity entity = {.key = key.at, .kind = kind};
	for (int i = 0; i < KEYS; i++)
		entity.cells[i] = mem_strdup(plot_key_cell(plot, i));
	*ret_index = plot->entities.count;
	vec_push(&plot->entities, entity);
	(void)map_add(&plot->by_key, key.at, *ret_index);
	return TROUPE_OK;
}

/* *ret_there: the cell has a number. must: an empty cell is an error. */
static troupe_status plot_read_number(const struct plot *plot, uint32_t column, bool must, double *ret_value,
	bool *ret_there, struct troupe_error *error)
{
	const char *text = plot_cell(plot, column);
	*ret_there = false;
	if (!*text)
		return TROUPE_OK;
	if (!parse_double(text, ret_value))
		return must ? fail(error, TROUPE_EWORLD, "%s:%" PRIu64 ": column '%.100s': '%.100s': expected a number",
				      plot->csv.path, plot->csv.line, plot->csv.names[column], text)
			    : TROUPE_OK;
	if (fabs(*ret_value) > VALUE_MAX) /* infinity, too */
		return fail(error, TROUPE_EWORLD,
			"%s:%" PRIu64 ": column '%.100s': '%.100s': expected a number from -1e100 to 1e100",
			plot->csv.path, plot->csv.line, plot->csv.names[column], text);
	*ret_there = !isnan(*ret_value);
	return TROUPE_OK;
}

/* Whether the entity was absent before this row: for more than five times its usual interval, or time went back. */
static bool plot_was_away(struct entity *entity, double t)
{
	if (entity->times && t == entity->last_t)
		return false;
	double mean = entity->times > 2 ? (entity->last_t - entity->first_t) / (double)(entity->times - 1) : HUGE_VAL;
	bool back = entity->times && t < entity->last_t;
	bool away = back || (entity->times && t - entity->last_t > 5 * mean);
	if (!entity->times || back) {
		entity->first_t = t;
		entity->times = 0;
	}
	entity->last_t = t;
	entity->times++;
	return away;
}

static void plot_thin_all(struct plot *plot)
{
	if (plot->parts_each <= PARTS_EACH_MIN)
		return;
	plot->parts_each /= 2;
	plot->parts = 0;
	for (uint32_t i = 0; i < plot->entities.count; i++)
		for (uint32_t k = 0; k < plot->column_count; k++) {
			struct series *line = plot->entities.at[i].lines[k];
			while (line && line->parts.count > plot->parts_each)
				series_halve(line);
			plot->parts += line ? line->parts.count : 0;
		}
}

static bool plot_is_shown(const struct plot *plot, const struct entity *entity, uint32_t index)
{
	if (plot->named || plot->any_column || entity->kind == ARRAY_LEN(plot_kinds_shown))
		return true;
	const struct kind_shown *shown = &plot_kinds_shown[entity->kind];
	for (size_t i = 0; i < ARRAY_LEN(shown->columns); i++)
		if (shown->columns[i] && !strcmp(shown->columns[i], plot->csv.names[plot->columns[index]]))
			return true;
	return false;
}

static troupe_status plot_add_values(
	struct plot *plot, struct entity *entity, double x, bool away, struct troupe_error *error)
{
	for (uint32_t i = 0; i < plot->column_count; i++) {
		double y;
		bool there;
		if (!plot_is_shown(plot, entity, i))
			continue;
		troupe_status status = plot_read_number(plot, plot->columns[i], !plot->any_column, &y, &there, error);
		if (status)
			return status;
		if (!there)
			continue;
		if (!entity->lines[i])
			entity->lines[i] = mem_alloc(sizeof *entity->lines[i]);
		struct series *line = entity->lines[i];
		uint32_t before = line->parts.count;
		series_add(line, plot->parts_each, x, y, away);
		plot->parts += line->parts.count;
		plot->parts -= before;
		if (plot->parts > PLOT_PARTS_MAX)
			plot_thin_all(plot);
	}
	return TROUPE_OK;
}

static troupe_status plot_take_row(struct plot *plot, struct troupe_error *error)
{
	double x = 0, t = 0;
	bool there, timed;
	uint32_t index, kind = plot_kind_of_row(plot);
	if (kind == UINT32_MAX)
		return TROUPE_OK;
	troupe_status status = plot_read_number(plot, plot->x, true, &x, &there, error);
	if (!status && there)
		status = plot_read_number(plot, plot->t, true, &t, &timed, error);
	if (status || !there || x < plot->settings.from || x > plot->settings.to)
		return status;
	status = plot_find_entity(plot, kind, &index, error);
	if (status)
		return status;
	struct entity *entity = &plot->entities.at[index];
	bool away = timed && plot_was_away(entity, t);
	plot->rows++;
	return plot_add_values(plot, entity, x, away, error);
}

static troupe_status plot_read_rows(struct plot *plot, struct troupe_error *error)
{
	for (;;) {
		bool end;
		troupe_status status = csv_next(&plot->csv, &end, error);
		if (!status && !end)
			status = plot_take_row(plot, error);
		if (status || end)
			return status;
	}
}

/* --- what is shown ------------------------------------------------------------------------------------------------ */

struct plot_picture {
	uint32_t entities[CHART_LINES_MAX], entity_count;
	uint32_t columns[PANELS_MAX], column_count; /* indices in plot.columns */
	uint32_t candidates;                        /* entities that could be shown */
};

/* Whether --what names the entity's kind. */
static bool plot_is_named(const struct plot *plot, const struct entity *entity)
{
	const char *kind =
		entity->kind < ARRAY_LEN(plot_kinds_shown) ? plot_kinds_shown[entity->kind].kind : entity->cells[KIND];
	for (uint32_t i = 0; i < plot->choice.items.count; i++)
		if (plot->choice.items.at[i].kind && !strcmp(plot->choice.items.at[i].kind, kind))
			return true;
	return false;
}

static bool plot_has_lines(const struct plot *plot, const struct entity *entity)
{
	for (uint32_t i = 0; i < plot->column_count; i++)
		if (entity->lines[i])
			return true;
	return false;
}

/* Keeps only the first of the kinds that --what does not name. */
static void plot_drop_kinds(struct plot *plot)
{
	uint32_t first = UINT32_MAX;
	bool any_named = false;
	for (uint32_t i = 0; i < plot->entities.count; i++) {
		const struct entity *entity = &plot->entities.at[i];
		if (plot_has_lines(plot, entity)) {
			first = MIN(first, entity->kind);
			any_named |= plot_is_named(plot, entity);
		}
	}
	for (uint32_t i = 0; i < plot->entities.count; i++) {
		struct entity *entity = &plot->entities.at[i];
		bool stays = any_named ? plot_is_named(plot, entity) : entity->kind == first;
		for (uint32_t k = 0; k < plot->column_count && !stays; k++) {
			if (entity->lines[k])
				series_fini(entity->lines[k]);
			free(entity->lines[k]);
			entity->lines[k] = NULL;
		}
	}
}

static void plot_find_panels(const struct plot *plot, struct plot_picture *picture)
{
	for (uint32_t k = 0; k < plot->column_count && picture->column_count < PANELS_MAX; k++) {
		bool any = false;
		for (uint32_t i = 0; i < plot->entities.count && !any; i++)
			any = plot->entities.at[i].lines[k];
		if (any)
			picture->columns[picture->column_count++] = k;
	}
}

/* The variation of the entity, relative to the variation of all entities. */
static double plot_liveliness(
	const struct plot_picture *picture, const struct entity *entity, const double ranges[PANELS_MAX])
{
	double sum = 0;
	bool there = false;
	for (uint32_t k = 0; k < picture->column_count; k++) {
		const struct series *line = entity->lines[picture->columns[k]];
		there |= line != NULL;
		if (line && ranges[k] > 0)
			sum += (line->high_y - line->low_y + line->high_x - line->low_x) / ranges[k];
	}
	return there ? sum : -1;
}

static void plot_find_ranges(const struct plot *plot, const struct plot_picture *picture, double ret_ranges[PANELS_MAX])
{
	for (uint32_t k = 0; k < picture->column_count; k++) {
		double low = HUGE_VAL, high = -HUGE_VAL;
		for (uint32_t i = 0; i < plot->entities.count; i++) {
			const struct series *line = plot->entities.at[i].lines[picture->columns[k]];
			if (line) {
				low = MIN(low, line->low_y);
				high = MAX(high, line->high_y);
			}
		}
		ret_ranges[k] = high - low;
	}
}

/* Selects the entities with the largest variation, in the order of the file. */
static void plot_find_entities(const struct plot *plot, struct plot_picture *picture)
{
	double ranges[PANELS_MAX], least[CHART_LINES_MAX] = {0};
	plot_find_ranges(plot, picture, ranges);
	for (uint32_t i = 0; i < plot->entities.count; i++) {
		double much = plot_liveliness(picture, &plot->entities.at[i], ranges);
		uint32_t at = picture->entity_count;
		if (much < 0)
			continue;
		picture->candidates++;
		if (at == CHART_LINES_MAX) {
			uint32_t worst = 0;
			for (uint32_t k = 1; k < CHART_LINES_MAX; k++)
				if (least[k] <= least[worst])
					worst = k;
			if (much <= least[worst])
				continue;
			for (at--, picture->entity_count--; worst < at; worst++) {
				picture->entities[worst] = picture->entities[worst + 1];
				least[worst] = least[worst + 1];
			}
		}
		picture->entities[at] = i;
		least[at] = much;
		picture->entity_count++;
	}
}

/* --- the chart ---------------------------------------------------------------------------------------------------- */

static char *plot_label_of(const char *column)
{
	for (size_t i = 0; i < ARRAY_LEN(plot_units); i++)
		if (!strcmp(plot_units[i].column, column))
			return mem_printf("%s (%s)", column, plot_units[i].unit);
	return mem_strdup(column);
}

/* Whether the entities that are shown have different values in this column. */
static bool plot_differ(const struct plot *plot, const struct plot_picture *picture, int key)
{
	const char *first = plot->entities.at[picture->entities[0]].cells[key];
	for (uint32_t i = 1; i < picture->entity_count; i++)
		if (strcmp(first, plot->entities.at[picture->entities[i]].cells[key]) != 0)
			return true;
	return false;
}

static char *plot_name_of(const struct plot *plot, const struct plot_picture *picture, const struct entity *entity)
{
	struct text name = {0};
	char *const *cells = entity->cells;
	text_add(&name, "%s", ""); /* never NULL */
	if (plot_differ(plot, picture, WORLD))
		text_add(&name, "%s: ", cells[WORLD]);
	if (plot_differ(plot, picture, KIND))
		text_add(&name, "%s ", cells[KIND]);
	text_add(&name, "%s%s%s", cells[MODEL], *cells[MODEL] && *cells[NAME] ? "/" : "", cells[NAME]);
	if (*cells[AXIS] && plot_differ(plot, picture, AXIS))
		text_add(&name, " axis %s", cells[AXIS]);
	if (*cells[MODEL2] || *cells[NAME2])
		text_add(&name, " on %s%s%s", cells[MODEL2], *cells[NAME2] ? "/" : "", cells[NAME2]);
	return name.at;
}

/* Whether both axes are lengths in the world. */
static bool plot_is_map(const struct plot *plot, const struct plot_picture *picture)
{
	const char *x = plot->csv.names[plot->x], *y = plot->csv.names[plot->columns[picture->columns[0]]];
	return picture->column_count == 1 && strlen(x) == 1 && strlen(y) == 1 && strstr("xyz", x) && strstr("xyz", y);
}

static char *plot_title_of(const struct plot *plot, const char *only)
{
	const char *slash = strrchr(plot->settings.file, '/'), *base = slash ? slash + 1 : plot->settings.file;
	if (plot->settings.title)
		return mem_strdup(plot->settings.title);
	return only && *only ? mem_printf("%s: %s", base, only) : mem_strdup(base);
}

static void plot_draw(const struct plot *plot, const struct plot_picture *picture, struct text *out)
{
	struct chart_panel panels[PANELS_MAX] = {{0}};
	struct chart chart = {.width = (uint32_t)plot->settings.width,
		.height = (uint32_t)plot->settings.height,
		.plan = plot_is_map(plot, picture),
		.line_count = picture->entity_count,
		.panel_count = picture->column_count,
		.panels = panels};
	char *names[CHART_LINES_MAX], *labels[PANELS_MAX], note[120];
	for (uint32_t i = 0; i < picture->entity_count; i++)
		chart.names[i] = names[i] = plot_name_of(plot, picture, &plot->entities.at[picture->entities[i]]);
	for (uint32_t k = 0; k < picture->column_count; k++) {
		panels[k].label = labels[k] = plot_label_of(plot->csv.names[plot->columns[picture->columns[k]]]);
		for (uint32_t i = 0; i < picture->entity_count; i++)
			panels[k].lines[i] = plot->entities.at[picture->entities[i]].lines[picture->columns[k]];
	}
	char *title = plot_title_of(plot, picture->entity_count == 1 ? names[0] : NULL);
	char *x_label = plot_label_of(plot->csv.names[plot->x]);
	(void)snprintf(note, sizeof note, "%u of %u, those that vary most (--what chooses others)",
		picture->entity_count, picture->candidates);
	chart.title = title;
	chart.x_label = x_label;
	chart.note = picture->candidates > picture->entity_count ? note : NULL;
	chart_draw(&chart, out);
	for (uint32_t i = 0; i < picture->entity_count; i++)
		free(names[i]);
	for (uint32_t k = 0; k < picture->column_count; k++)
		free(labels[k]);
	free(title);
	free(x_label);
}

static troupe_status plot_write_out(const struct plot *plot, const struct text *svg, struct troupe_error *error)
{
	if (plot->settings.out)
		return outfile_replace(plot->settings.out, svg->at, svg->count, NULL, error);
	return cli_write(svg->at, svg->count, error);
}

static troupe_status plot_check_names(const struct plot_settings *settings, struct troupe_error *error)
{
	struct outputs outputs = {0};
	outputs_add(&outputs, OUTPUT_INPUT, "the log", settings->file);
	outputs_add(&outputs, OUTPUT_OWN, "--out", settings->out);
	troupe_status status = outputs_check(&outputs, error);
	outputs_fini(&outputs);
	return status;
}

static troupe_status plot_nothing_found(const struct plot *plot, struct troupe_error *error)
{
	const char *path = plot->csv.path;
	if (plot->settings.what)
		return fail(
			error, TROUPE_EWORLD, "%s: no numbers that --what '%.200s' chooses", path, plot->settings.what);
	if (plot->rows)
		return fail(error, TROUPE_EWORLD, "%s: no column of numbers except '%.100s': expected at least two",
			path, plot->csv.names[plot->x]);
	return fail(error, TROUPE_EWORLD, "%s: no row %s", path,
		plot->settings.from > -VALUE_MAX || plot->settings.to < VALUE_MAX ? "between --from and --to"
										  : "after the first line");
}

static troupe_status plot_file(struct plot *plot, struct troupe_error *error)
{
	struct plot_picture picture = {0};
	struct text svg = {0};
	troupe_status status = plot_check_names(&plot->settings, error);
	if (!status)
		status = plot_open_table(plot, error);
	if (!status)
		status = plot_read_rows(plot, error);
	if (status)
		return status;
	if (plot->csv.cut)
		cli_complain("plot", "%s:%" PRIu64 ": the file is cut off in this line, which is left out",
			plot->csv.path, plot->csv.line);
	plot_drop_kinds(plot);
	plot_find_panels(plot, &picture);
	plot_find_entities(plot, &picture);
	if (!picture.entity_count)
		return plot_nothing_found(plot, error);
	plot_draw(plot, &picture, &svg);
	status = plot_write_out(plot, &svg, error);
	text_fini(&svg);
	return status;
}

static void plot_fini(struct plot *plot)
{
	for (uint32_t i = 0; i < plot->entities.count; i++) {
		struct entity *entity = &plot->entities.at[i];
		for (uint32_t k = 0; k < COLUMNS_MAX; k++) {
			if (entity->lines[k])
				series_fini(entity->lines[k]);
			free(entity->lines[k]);
		}
		for (int k = 0; k < KEYS; k++)
			free(entity->cells[k]);
		free(entity->key);
	}
	vec_free(&plot->entities);
	map_fini(&plot->by_key);
	choice_fini(&plot->choice);
	csv_close(&plot->csv);
}

int cli_plot(int argc, char **argv)
{
	struct plot plot = {
		.settings = {.width = 960, .from = -VALUE_MAX, .to = VALUE_MAX}, .parts_each = PARTS_EACH_MAX};
	struct arena arena = {0};
	struct troupe_error error;
	int exit_status = CLI_DONE;
	if (options_parse(&plot_command, argc, argv, &plot.settings, &arena, NULL, &exit_status)) {
		troupe_status status = plot_file(&plot, &error);
		if (status)
			cli_complain("plot", "%s", error.text);
		exit_status = status == TROUPE_EINVAL ? CLI_BAD_USAGE : cli_exit_status(status);
	}
	plot_fini(&plot);
	arena_fini(&arena);
	return exit_status;
}
