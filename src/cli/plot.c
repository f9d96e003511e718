/* A log is read once, from a file or a pipe (plot_log.h). Only at its end is it known what is worth showing: which
 * models moved, and which kinds of rows there are. */
#include "base/outfile.h"
#include "cli/chart.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/plot_log.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	{OPTION_REAL, .name = "from", .argument = "X", .offset = PLOT_AT(from), .lo = -PLOT_VALUE_MAX,
		.hi = PLOT_VALUE_MAX, .help = "leave out rows below X on the horizontal axis"},
	{OPTION_REAL, .name = "to", .argument = "X", .offset = PLOT_AT(to), .lo = -PLOT_VALUE_MAX, .hi = PLOT_VALUE_MAX,
		.help = "leave out rows above X on the horizontal axis"},
	{OPTION_TEXT, .name = "title", .argument = "TEXT", .offset = PLOT_AT(title),
		.help = "the title of the chart (default: the name of the file)"},
	{OPTION_WHOLE, .name = "width", .argument = "N", .offset = PLOT_AT(width), .lo = CHART_WIDTH_MIN,
		.hi = CHART_SIZE_MAX, .help = "width in pixels (default: 960)"},
	{OPTION_WHOLE, .name = "height", .argument = "N", .offset = PLOT_AT(height), .lo = CHART_HEIGHT_MIN,
		.hi = CHART_SIZE_MAX, .help = "height in pixels (default: from the number of panels)"},
	OPTIONS_HELP,
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

static const struct {
	const char *column, *unit;
} plot_units[] = {{"time", "s"}, {"x", "m"}, {"y", "m"}, {"z", "m"}, {"yaw", "rad"}, {"vx", "m/s"}, {"vy", "m/s"},
	{"vz", "m/s"}, {"wx", "rad/s"}, {"wy", "rad/s"}, {"wz", "rad/s"}, {"position", "rad or m"},
	{"velocity", "rad/s or m/s"}, {"effort", "N m or N"}, {"depth", "m"}, {"drift", "m"}, {"drift_yaw", "rad"},
	{"tilt", "rad"}, {"ax", "m/s2"}, {"ay", "m/s2"}, {"az", "m/s2"}, {"fx", "N"}, {"fy", "N"}, {"fz", "N"},
	{"tx", "N m"}, {"ty", "N m"}, {"tz", "N m"}, {"bx", "T"}, {"by", "T"}, {"bz", "T"}, {"latitude", "deg"},
	{"longitude", "deg"}, {"altitude", "m"}, {"pressure", "Pa"}, {"temperature", "K"}, {"range", "m"}};

/* --- what is shown ------------------------------------------------------------------------------------------------ */

struct plot_picture {
	uint32_t entities[CHART_LINES_MAX], entity_count;
	uint32_t columns[PLOT_PANELS_MAX], column_count; /* indices in plot.columns */
	uint32_t candidates;                             /* entities that could be shown */
};

/* Whether --what names the entity's kind. */
static bool plot_is_named(const struct plot *plot, const struct plot_entity *entity)
{
	const char *kind = entity->kind < PLOT_KINDS ? plot_kinds[entity->kind].kind : entity->cells[PLOT_KIND];
	for (uint32_t i = 0; i < plot->choice.items.count; i++)
		if (plot->choice.items.at[i].kind && !strcmp(plot->choice.items.at[i].kind, kind))
			return true;
	return false;
}

static bool plot_has_lines(const struct plot *plot, const struct plot_entity *entity)
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
		const struct plot_entity *entity = &plot->entities.at[i];
		if (plot_has_lines(plot, entity)) {
			first = MIN(first, entity->kind);
			any_named |= plot_is_named(plot, entity);
		}
	}
	for (uint32_t i = 0; i < plot->entities.count; i++) {
		struct plot_entity *entity = &plot->entities.at[i];
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
	for (uint32_t k = 0; k < plot->column_count && picture->column_count < PLOT_PANELS_MAX; k++) {
		bool any = false;
		for (uint32_t i = 0; i < plot->entities.count && !any; i++)
			any = plot->entities.at[i].lines[k];
		if (any)
			picture->columns[picture->column_count++] = k;
	}
}

/* The variation of the entity, relative to the variation of all entities. */
static double plot_liveliness(
	const struct plot_picture *picture, const struct plot_entity *entity, const double ranges[PLOT_PANELS_MAX])
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

static void plot_find_ranges(
	const struct plot *plot, const struct plot_picture *picture, double ret_ranges[PLOT_PANELS_MAX])
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
	double ranges[PLOT_PANELS_MAX], least[CHART_LINES_MAX] = {0};
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

static char *plot_name_of(const struct plot *plot, const struct plot_picture *picture, const struct plot_entity *entity)
{
	struct text name = {0};
	char *const *cells = entity->cells;
	text_add(&name, "%s", ""); /* never NULL */
	if (plot_differ(plot, picture, PLOT_WORLD))
		text_add(&name, "%s: ", cells[PLOT_WORLD]);
	if (plot_differ(plot, picture, PLOT_KIND))
		text_add(&name, "%s ", cells[PLOT_KIND]);
	text_add(&name, "%s%s%s", cells[PLOT_MODEL], *cells[PLOT_MODEL] && *cells[PLOT_NAME] ? "/" : "",
		cells[PLOT_NAME]);
	if (*cells[PLOT_AXIS] && plot_differ(plot, picture, PLOT_AXIS))
		text_add(&name, " axis %s", cells[PLOT_AXIS]);
	if (*cells[PLOT_MODEL2] || *cells[PLOT_NAME2])
		text_add(&name, " on %s%s%s", cells[PLOT_MODEL2], *cells[PLOT_NAME2] ? "/" : "", cells[PLOT_NAME2]);
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
	struct chart_panel panels[PLOT_PANELS_MAX] = {{0}};
	struct chart chart = {.width = (uint32_t)plot->settings.width,
		.height = (uint32_t)plot->settings.height,
		.plan = plot_is_map(plot, picture),
		.line_count = picture->entity_count,
		.panel_count = picture->column_count,
		.panels = panels};
	char *names[CHART_LINES_MAX], *labels[PLOT_PANELS_MAX], note[120];
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
		plot->settings.from > -PLOT_VALUE_MAX || plot->settings.to < PLOT_VALUE_MAX ? "between --from and --to"
											    : "after the first line");
}

static troupe_status plot_file(struct plot *plot, struct troupe_error *error)
{
	struct plot_picture picture = {0};
	struct text svg = {0};
	troupe_status status = plot_check_names(&plot->settings, error);
	if (!status)
		status = plot_log_open(plot, error);
	if (!status)
		status = plot_log_read(plot, error);
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

int cli_plot(int argc, char **argv)
{
	struct plot plot = {.settings = {.width = 960, .from = -PLOT_VALUE_MAX, .to = PLOT_VALUE_MAX},
		.parts_each = PLOT_PARTS_EACH_MAX};
	struct arena arena = {0};
	struct troupe_error error;
	int exit_status = CLI_DONE;
	if (options_parse(&plot_command, argc, argv, &plot.settings, &arena, NULL, &exit_status)) {
		troupe_status status = plot_file(&plot, &error);
		if (status)
			cli_complain("plot", "%s", error.text);
		exit_status = status == TROUPE_EINVAL ? CLI_BAD_USAGE : cli_exit_status(status);
	}
	plot_log_close(&plot);
	arena_fini(&arena);
	return exit_status;
}
