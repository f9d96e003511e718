/* The elements of a lidar that SDF does not have. Their names begin with "troupe:", as SDF lets programs name elements
 * of their own; another simulator leaves them out and takes <scan>. A name that is not known is an error, so that a
 * misspelt one is found. */
#include "sdf/lidar_heads.h"
#include "sdf/lidar_table.h"
#include "sdf/load.h"
#include "sdf/xml.h"

#include "base/parse.h"

#include <string.h>

#define LIDAR_OWN "troupe:"

/* The name of the pattern that has the rays of <scan>, one column after the other. */
#define LIDAR_SCAN "scan"

static const char *const lidar_words[] = {"pattern", "table", "scan_time", "stamp", "motion"};

/* Whether the lidar has elements of troupe. */
static bool lidar_check_names(struct load *load, const struct sdf_element *element)
{
	bool any = false;
	for (const struct sdf_element *at = element ? element->child : NULL; at; at = at->next) {
		bool known = false;
		if (strncmp(at->name, LIDAR_OWN, strlen(LIDAR_OWN)) != 0)
			continue;
		for (size_t i = 0; i < ARRAY_LEN(lidar_words); i++)
			known |= !strcmp(at->name + strlen(LIDAR_OWN), lidar_words[i]);
		if (!known)
			load_error(load, at,
				"<%.80s> is no element of a lidar: expected <troupe:pattern>, <troupe:table>, "
				"<troupe:scan_time>, <troupe:stamp> or <troupe:motion>",
				at->name);
		any = true;
	}
	return any;
}

static double lidar_scan_s(
	struct load *load, const struct sdf_sensor *sensor, const struct sdf_element *element, double usual_hz)
{
	double scan_s = 1 / (sensor->update_rate > 0 ? sensor->update_rate : usual_hz);
	load_double(load, element, LIDAR_OWN "scan_time", 1e-6, 1e3, &scan_s);
	return scan_s;
}

/* The columns of <scan> one after the other, and the rows of a column at once. */
static struct sdf_pattern lidar_of_scan(struct load *load, const struct sdf_lidar *lidar, double scan_s)
{
	const struct sdf_scan *h = &lidar->horizontal, *v = &lidar->vertical;
	uint32_t columns = sdf_scan_count(h), rows = sdf_scan_count(v);
	struct sdf_pattern to = {.columns = columns, .rows = rows, .scans = 1, .scan_s = scan_s};
	to.by_column = arena_array(&load->sdf->arena, struct troupe_scan_firing, columns);
	to.by_row = arena_array(&load->sdf->arena, struct troupe_scan_firing, rows);
	for (uint32_t c = 0; c < columns; c++)
		to.by_column[c] =
			(struct troupe_scan_firing){h->min_rad + c * sdf_scan_step(h), 0, c * (scan_s / columns), 0};
	for (uint32_t r = 0; r < rows; r++)
		to.by_row[r] = (struct troupe_scan_firing){0, v->min_rad + r * sdf_scan_step(v), 0, r};
	return to;
}

static bool lidar_load_table(struct load *load, const struct sdf_sensor *sensor, const struct sdf_element *element,
	const struct sdf_element *table, struct sdf_pattern *ret_pattern)
{
	const char *path, *text;
	size_t bytes;
	struct troupe_error error;
	double scan_s = lidar_scan_s(load, sensor, element, 10);
	if (places_find(load, table->file, table->text, &path) != FILES_FILE) {
		struct text where = {0};
		places_explain(load, table->file, table->text, &where);
		load_error(load, table, "the table \"%.200s\" of sensor \"%.80s\" is not found%s", table->text,
			sensor->name, where.at ? where.at : "");
		text_fini(&where);
		return false;
	}
	if (files_read(load->disk, path, SDF_LIDAR_TABLE_BYTES_MAX, &text, &bytes, &error) ||
		lidar_table_read(path, text, bytes, scan_s, &load->sdf->arena, ret_pattern, &error)) {
		load_error(load, table, "%s", error.text);
		return false;
	}
	return true;
}

static bool lidar_load_named(struct load *load, const struct sdf_sensor *sensor, const struct sdf_element *element,
	const struct sdf_element *pattern, struct sdf_signal *range, struct sdf_pattern *ret_pattern)
{
	const struct lidar_head *head = lidar_head_find(pattern->text);
	const char *given = sdf_attribute(pattern, "columns");
	uint64_t columns = 0;
	double rays;
	if (!head) {
		load_error(load, pattern, "<%s> is \"%.80s\": expected " LIDAR_SCAN ", %s", pattern->name,
			pattern->text, lidar_head_names(&load->sdf->arena));
		return false;
	}
	if (given && (!lidar_head_has_columns(head) || !parse_uint64(given, &columns) || columns < 1 ||
			     columns > SDF_RAYS_MAX)) {
		load_error(load, pattern, "attribute columns of <%s> is \"%.80s\": expected %s", pattern->name, given,
			lidar_head_has_columns(head) ? "a number of columns"
						     : "none, because the sensor has as many as its scan time gives");
		return false;
	}
	double scan_s = lidar_scan_s(load, sensor, element, lidar_head_rate(head));
	*ret_pattern = lidar_head_pattern(head, scan_s, (uint32_t)columns, &load->sdf->arena, &rays);
	if (!ret_pattern->columns)
		load_error(load, pattern, "a scan of %g s of the %s has %.0f rays: expected 1 to %d", scan_s,
			pattern->text, rays, SDF_RAYS_MAX);
	if (!sdf_child(element, "range", NULL))
		lidar_head_range(head, &range->min, &range->max);
	return ret_pattern->columns > 0;
}

static bool lidar_load_pattern(struct load *load, const struct sdf_sensor *sensor, const struct sdf_element *element,
	const struct sdf_lidar *lidar, struct sdf_signal *range, struct sdf_pattern *ret_pattern)
{
	const struct sdf_element *pattern = sdf_child(element, LIDAR_OWN "pattern", NULL);
	const struct sdf_element *table = sdf_child(element, LIDAR_OWN "table", NULL);
	if (pattern && table) {
		load_error(load, table, "<%s> beside <%s>: expected one of them", table->name, pattern->name);
		return false;
	}
	if (table)
		return lidar_load_table(load, sensor, element, table, ret_pattern);
	if (pattern && strcmp(pattern->text, LIDAR_SCAN) != 0)
		return lidar_load_named(load, sensor, element, pattern, range, ret_pattern);
	if ((double)sdf_scan_count(&lidar->horizontal) * sdf_scan_count(&lidar->vertical) > SDF_RAYS_MAX)
		return false; /* an error was given */
	*ret_pattern = lidar_of_scan(load, lidar, lidar_scan_s(load, sensor, element, 10));
	return true;
}

void load_lidar(struct load *load, const struct sdf_sensor *sensor, const struct sdf_element *element,
	struct sdf_lidar *lidar, struct sdf_signal *range)
{
	static const struct load_word stamps[] = {{"end", false}, {"start", true}};
	struct sdf_pattern pattern;
	if (!lidar_check_names(load, element))
		return;
	lidar->stamp_start = load_word_of(load, element, LIDAR_OWN "stamp", stamps, ARRAY_LEN(stamps), false) != 0;
	if (!lidar_load_pattern(load, sensor, element, lidar, range, &pattern))
		return;
	struct sdf_pattern *kept = arena_new(&load->sdf->arena, struct sdf_pattern);
	*kept = pattern;
	lidar->pattern = kept;
	load_bool(load, element, LIDAR_OWN "motion", &lidar->motion);
}
