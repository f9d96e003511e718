/* Only at the end of the log is it known what is worth showing, so all that may be shown is kept. The size of each
 * series depends on the number of series, so that all together have at most PLOT_PARTS_MAX parts. */
#include "cli/plot_log.h"

#include "base/parse.h"
#include "base/text.h"
#include "cli/series.h"
#include "cli/signals.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	ENTITIES_MAX = 100000,
	PARTS_EACH_MIN = 16,
	PLOT_PARTS_MAX = 1 << 20, /* of all series: 160 MB */
};

static const char *const plot_log_key_names[PLOT_KEYS] = {
	[PLOT_WORLD] = "world",
	[PLOT_KIND] = "kind",
	[PLOT_MODEL] = "model",
	[PLOT_NAME] = "name",
	[PLOT_AXIS] = "axis",
	[PLOT_MODEL2] = "model2",
	[PLOT_NAME2] = "name2",
};

const struct plot_kind plot_kinds[PLOT_KINDS] = {
	{"model", "model", {"x", "y"}},
	{"joint", "joint", {"position"}},
	{"odometry", "odometry", {"drift"}},
	{"link", "link", {"x", "y"}},
	{"contact", "contact", {"depth"}},
	{"secondary", "model", {"secondary"}},
	{"effort", "joint", {"effort"}},
	{"sensor", "sensor", {"range", "ax", "az", "fz", "bx", "pressure", "contacts", "altitude", "z"}},
};

/* --- the table ---------------------------------------------------------------------------------------------------- */

static const char *plot_log_cell(const struct plot *plot, uint32_t column)
{
	return column < plot->csv.columns ? plot->csv.cells[column] : "";
}

static const char *plot_log_key_cell(const struct plot *plot, int key)
{
	return plot_log_cell(plot, plot->keys[key]);
}

static bool plot_log_is_key(const struct plot *plot, uint32_t column)
{
	for (int i = 0; i < PLOT_KEYS; i++)
		if (plot->keys[i] == column)
			return true;
	return false;
}

static uint32_t plot_log_column_index(const struct plot *plot, uint32_t column)
{
	for (uint32_t i = 0; i < plot->column_count; i++)
		if (plot->columns[i] == column)
			return i;
	return PLOT_COLUMNS_MAX;
}

/* Adds a column, if it is not there and there is room. */
static bool plot_log_add_column(struct plot *plot, uint32_t column)
{
	if (column >= plot->csv.columns || column == plot->x || plot_log_column_index(plot, column) < PLOT_COLUMNS_MAX)
		return true;
	if (plot->column_count == PLOT_COLUMNS_MAX)
		return false;
	plot->columns[plot->column_count++] = column;
	return true;
}

/* Takes the columns that --what names out of the choice of entities. */
static troupe_status plot_log_take_columns(struct plot *plot, struct troupe_error *error)
{
	for (uint32_t i = 0; i < plot->choice.items.count;) {
		const struct choice_item *item = &plot->choice.items.at[i];
		uint32_t column = csv_column(&plot->csv, item->glob);
		bool plain = !item->kind || !strcmp(item->kind, item->glob);
		if (item->kind || !plain || column >= plot->csv.columns) {
			i++;
			continue;
		}
		if (!plot_log_add_column(plot, column) || plot->column_count > PLOT_PANELS_MAX)
			return fail(error, TROUPE_ECOMMAND, "--what: more than %d columns", PLOT_PANELS_MAX);
		plot->named = true;
		choice_drop(&plot->choice, i);
	}
	plot->chosen = plot->choice.items.count;
	return TROUPE_OK;
}

static troupe_status plot_log_choose_x(struct plot *plot, struct troupe_error *error)
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

static void plot_log_choose_columns(struct plot *plot)
{
	if (plot->named)
		return;
	plot->any_column = plot->keys[PLOT_KIND] >= plot->csv.columns;
	for (size_t i = 0; i < PLOT_KINDS; i++)
		for (size_t k = 0; k < ARRAY_LEN(plot_kinds[i].columns) && !plot->any_column; k++)
			if (plot_kinds[i].columns[k])
				(void)plot_log_add_column(plot, csv_column(&plot->csv, plot_kinds[i].columns[k]));
	plot->any_column |= !plot->column_count;
	for (uint32_t i = 0; i < plot->csv.columns && plot->any_column; i++)
		if (!plot_log_is_key(plot, i) && i != plot->t)
			(void)plot_log_add_column(plot, i);
}

troupe_status plot_log_open(struct plot *plot, struct troupe_error *error)
{
	troupe_status status = csv_open(&plot->csv, plot->settings.file, error);
	if (status)
		return status;
	for (int i = 0; i < PLOT_KEYS; i++)
		plot->keys[i] = csv_column(&plot->csv, plot_log_key_names[i]);
	status = plot_log_choose_x(plot, error);
	if (!status && plot->settings.what)
		status = choice_read(&plot->choice, "--what", plot->settings.what, false, error);
	if (!status)
		status = plot_log_take_columns(plot, error);
	if (!status)
		plot_log_choose_columns(plot);
	return status;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static bool plot_log_is_chosen(const struct plot *plot, const char *kind)
{
	const char *model = plot_log_key_cell(plot, PLOT_MODEL), *name = plot_log_key_cell(plot, PLOT_NAME);
	const char *model2 = plot_log_key_cell(plot, PLOT_MODEL2), *name2 = plot_log_key_cell(plot, PLOT_NAME2);
	/* in a table without models, items of the choice are names */
	if (plot->keys[PLOT_MODEL] >= plot->csv.columns)
		model = name;
	return choice_has(&plot->choice, kind, model, name) ||
	       (*model2 && choice_has(&plot->choice, kind, model2, name2));
}

/* The row's index in kinds_shown; the length of kinds_shown for an unknown kind; larger: the row is not shown. */
static uint32_t plot_log_kind_of_row(const struct plot *plot)
{
	const char *row = plot_log_key_cell(plot, PLOT_KIND);
	bool known = false;
	for (uint32_t i = 0; i < PLOT_KINDS; i++) {
		if (strcmp(plot_kinds[i].row, row) != 0)
			continue;
		known = true;
		if (!plot->chosen || plot_log_is_chosen(plot, plot_kinds[i].kind))
			return i;
	}
	if (known)
		return UINT32_MAX;
	return !plot->chosen || plot_log_is_chosen(plot, *row ? row : "model") ? PLOT_KINDS : UINT32_MAX;
}

static troupe_status plot_log_find_entity(
	struct plot *plot, uint32_t kind, uint32_t *ret_index, struct troupe_error *error)
{
	struct text key = {0};
	for (int i = 0; i < PLOT_KEYS; i++) /* a text cannot have a line end of this kind in it */
		text_add(&key, "%s\x1f", plot_log_key_cell(plot, i));
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
	struct plot_entity entity = {.key = key.at, .kind = kind};
	for (int i = 0; i < PLOT_KEYS; i++)
		entity.cells[i] = mem_strdup(plot_log_key_cell(plot, i));
	*ret_index = plot->entities.count;
	vec_push(&plot->entities, entity);
	(void)map_add(&plot->by_key, key.at, *ret_index);
	return TROUPE_OK;
}

/* *ret_there: the cell has a number. must: an empty cell is an error. */
static troupe_status plot_log_read_number(const struct plot *plot, uint32_t column, bool must, double *ret_value,
	bool *ret_there, struct troupe_error *error)
{
	const char *text = plot_log_cell(plot, column);
	*ret_there = false;
	if (!*text)
		return TROUPE_OK;
	if (!parse_double(text, ret_value))
		return must ? fail(error, TROUPE_EWORLD, "%s:%" PRIu64 ": column '%.100s': '%.100s': expected a number",
				      plot->csv.path, plot->csv.line, plot->csv.names[column], text)
			    : TROUPE_OK;
	if (fabs(*ret_value) > PLOT_VALUE_MAX) /* infinity, too */
		return fail(error, TROUPE_EWORLD,
			"%s:%" PRIu64 ": column '%.100s': '%.100s': expected a number from -1e100 to 1e100",
			plot->csv.path, plot->csv.line, plot->csv.names[column], text);
	*ret_there = !isnan(*ret_value);
	return TROUPE_OK;
}

/* Whether the entity was absent before this row: for more than five times its usual interval, or time went back. */
static bool plot_log_was_away(struct plot_entity *entity, double t)
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

static void plot_log_thin_all(struct plot *plot)
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

static bool plot_log_is_shown(const struct plot *plot, const struct plot_entity *entity, uint32_t index)
{
	if (plot->named || plot->any_column || entity->kind == PLOT_KINDS)
		return true;
	const struct plot_kind *shown = &plot_kinds[entity->kind];
	for (size_t i = 0; i < ARRAY_LEN(shown->columns); i++)
		if (shown->columns[i] && !strcmp(shown->columns[i], plot->csv.names[plot->columns[index]]))
			return true;
	return false;
}

static troupe_status plot_log_add_values(
	struct plot *plot, struct plot_entity *entity, double x, bool away, struct troupe_error *error)
{
	for (uint32_t i = 0; i < plot->column_count; i++) {
		double y;
		bool there;
		if (!plot_log_is_shown(plot, entity, i))
			continue;
		troupe_status status =
			plot_log_read_number(plot, plot->columns[i], !plot->any_column, &y, &there, error);
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
			plot_log_thin_all(plot);
	}
	return TROUPE_OK;
}

static troupe_status plot_log_take_row(struct plot *plot, struct troupe_error *error)
{
	double x = 0, t = 0;
	bool there, timed;
	uint32_t index, kind = plot_log_kind_of_row(plot);
	if (kind == UINT32_MAX)
		return TROUPE_OK;
	troupe_status status = plot_log_read_number(plot, plot->x, true, &x, &there, error);
	if (!status && there)
		status = plot_log_read_number(plot, plot->t, true, &t, &timed, error);
	if (status || !there || x < plot->settings.from || x > plot->settings.to)
		return status;
	status = plot_log_find_entity(plot, kind, &index, error);
	if (status)
		return status;
	struct plot_entity *entity = &plot->entities.at[index];
	bool away = timed && plot_log_was_away(entity, t);
	plot->rows++;
	return plot_log_add_values(plot, entity, x, away, error);
}

troupe_status plot_log_read(struct plot *plot, struct troupe_error *error)
{
	for (;;) {
		bool end;
		troupe_status status = csv_next(&plot->csv, &end, error);
		if (!status && !end)
			status = plot_log_take_row(plot, error);
		if (status || end)
			return status;
	}
}

void plot_log_close(struct plot *plot)
{
	for (uint32_t i = 0; i < plot->entities.count; i++) {
		struct plot_entity *entity = &plot->entities.at[i];
		for (uint32_t k = 0; k < PLOT_COLUMNS_MAX; k++) {
			if (entity->lines[k])
				series_fini(entity->lines[k]);
			free(entity->lines[k]);
		}
		for (int k = 0; k < PLOT_KEYS; k++)
			free(entity->cells[k]);
		free(entity->key);
	}
	vec_free(&plot->entities);
	map_fini(&plot->by_key);
	choice_fini(&plot->choice);
	csv_close(&plot->csv);
}
