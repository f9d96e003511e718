/* The elements of a lidar that SDF does not have. Their names begin with "troupe:", as SDF lets programs name elements
 * of their own; another simulator leaves them out and takes <scan>. A name that is not known is an error, so that a
 * misspelt one is found. */
#include "sdf/lidar_heads.h"
#include "sdf/lidar_table.h"
#include "sdf/load.h"
#include "sdf/xml.h"

#include "base/math.h"
#include "base/parse.h"

#include <string.h>

#define LIDAR_OWN "troupe:"

/* The name of the pattern that has the rays of <scan>, one column after the other. */
#define LIDAR_SCAN "scan"

static const char *const lidar_words[] = {"pattern", "table", "scan_time", "stamp", "motion", "reflectivity",
	"reference_range", "intensity_table", "noise_intensity", "dropout_intensity", "rain", "fog", "returns",
	"divergence", "separation"};
enum { LIDAR_BEAM_FIRST = 5 }; /* from this word on: what becomes of the light */

static size_t lidar_find_word(const char *name)
{
	size_t i = 0;
	while (i < ARRAY_LEN(lidar_words) && strcmp(name, lidar_words[i]) != 0)
		i++;
	return i;
}

static const char *lidar_all_words(struct arena *arena)
{
	struct text out = {0};
	for (size_t i = 0; i < ARRAY_LEN(lidar_words); i++)
		text_add(&out, "%s<" LIDAR_OWN "%s>",
			!i                               ? ""
			: i + 1 < ARRAY_LEN(lidar_words) ? ", "
							 : " or ",
			lidar_words[i]);
	const char *all = arena_strdup(arena, out.at);
	text_fini(&out);
	return all;
}

/* Whether the lidar has elements of troupe, and *ret_beam: some of them are about the light. */
static bool lidar_check_names(struct load *load, const struct sdf_element *element, bool *ret_beam)
{
	bool any = false;
	*ret_beam = false;
	for (const struct sdf_element *at = element ? element->child : NULL; at; at = at->next) {
		if (strncmp(at->name, LIDAR_OWN, strlen(LIDAR_OWN)) != 0)
			continue;
		size_t word = lidar_find_word(at->name + strlen(LIDAR_OWN));
		if (word == ARRAY_LEN(lidar_words))
			load_error(load, at, "<%.80s> is no element of a lidar: expected %s", at->name,
				lidar_all_words(&load->sdf->arena));
		*ret_beam |= word >= LIDAR_BEAM_FIRST;
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

/* False, with an error: the file that the element names is not there, or is too large. */
static bool lidar_read_file(struct load *load, const struct sdf_sensor *sensor, const struct sdf_element *table,
	const char **ret_path, const char **ret_text, size_t *ret_bytes)
{
	struct troupe_error error;
	if (places_find(load, table->file, table->text, ret_path) != FILES_FILE) {
		struct text where = {0};
		places_explain(load, table->file, table->text, &where);
		load_error(load, table, "the table \"%.200s\" of sensor \"%.80s\" is not found%s", table->text,
			sensor->name, where.at ? where.at : "");
		text_fini(&where);
		return false;
	}
	if (!files_read(load->disk, *ret_path, SDF_LIDAR_TABLE_BYTES_MAX, ret_text, ret_bytes, &error))
		return true;
	load_error(load, table, "%s", error.text);
	return false;
}

static bool lidar_load_table(struct load *load, const struct sdf_sensor *sensor, const struct sdf_element *element,
	const struct sdf_element *table, struct sdf_pattern *ret_pattern)
{
	const char *path, *text;
	size_t bytes;
	struct troupe_error error;
	double scan_s = lidar_scan_s(load, sensor, element, 10);
	if (!lidar_read_file(load, sensor, table, &path, &text, &bytes))
		return false;
	if (!lidar_table_read(path, text, bytes, scan_s, &load->sdf->arena, ret_pattern, &error))
		return true;
	load_error(load, table, "%s", error.text);
	return false;
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

/* --- light -------------------------------------------------------------------------------------------------------- */

/* ITU-R P.1814: rain of R mm/h attenuates by 1.076 R^0.67 dB/km. Fog through which one sees V m, by Koschmieder's law:
 * 3.912 / V. One way. */
static double lidar_attenuation(double rain_mm_h, double fog_m)
{
	const double nepers = 0.23025850929940457; /* ln(10) / 10, of a dB of power */
	double rain = rain_mm_h > 0 ? 1.076 * math_exp(0.67 * math_log(rain_mm_h)) * nepers / 1000 : 0;
	return rain + (fog_m > 0 ? 3.912 / fog_m : 0);
}

static void lidar_load_intensities(
	struct load *load, const struct sdf_sensor *sensor, const struct sdf_element *element, struct sdf_beam *beam)
{
	const struct sdf_element *table = sdf_child(element, LIDAR_OWN "intensity_table", NULL);
	const char *path, *text;
	size_t bytes;
	struct troupe_error error;
	if (!table || !lidar_read_file(load, sensor, table, &path, &text, &bytes))
		return;
	if (lidar_table_read_intensities(
		    path, text, bytes, &load->sdf->arena, &beam->table, &beam->table_count, &error))
		load_error(load, table, "%s", error.text);
}

static const struct sdf_beam *lidar_load_beam(struct load *load, const struct sdf_sensor *sensor,
	const struct sdf_element *element, const struct sdf_pattern *pattern)
{
	struct sdf_beam *beam = arena_new(&load->sdf->arena, struct sdf_beam);
	double rain_mm_h = 0, fog_m = 0;
	*beam = (struct sdf_beam){.reflectivity = 50, .reference_m = 10, .returns = 1, .separation_m = 0.3};
	for (size_t i = LIDAR_BEAM_FIRST; i < lidar_find_word("returns"); i++)
		beam->intensity |= sdf_child(element, arena_printf(&load->sdf->arena, LIDAR_OWN "%s", lidar_words[i]),
					   NULL) != NULL;
	load_double(load, element, LIDAR_OWN "reflectivity", 0, 1e9, &beam->reflectivity);
	load_double(load, element, LIDAR_OWN "reference_range", SDF_LENGTH_MIN, SDF_LENGTH_MAX, &beam->reference_m);
	load_double(load, element, LIDAR_OWN "noise_intensity", 0, 1e9, &beam->noise_intensity);
	load_double(load, element, LIDAR_OWN "dropout_intensity", 0, 1e9, &beam->dropout_intensity);
	load_double(load, element, LIDAR_OWN "rain", 0, 1000, &rain_mm_h);
	load_double(load, element, LIDAR_OWN "fog", 1, SDF_LENGTH_MAX, &fog_m);
	load_double(load, element, LIDAR_OWN "divergence", 0, 0.1, &beam->divergence_rad);
	load_double(load, element, LIDAR_OWN "separation", 0, SDF_LENGTH_MAX, &beam->separation_m);
	load_count(load, element, LIDAR_OWN "returns", 1, SDF_RETURNS_MAX, &beam->returns);
	beam->attenuation_per_m = lidar_attenuation(rain_mm_h, fog_m);
	lidar_load_intensities(load, sensor, element, beam);
	if ((double)pattern->columns * pattern->rows * beam->returns > SDF_RAYS_MAX)
		load_error(load, element, "%u returns of %.0f rays: expected at most %d in all", beam->returns,
			(double)pattern->columns * pattern->rows, SDF_RAYS_MAX);
	return beam;
}

void load_lidar(struct load *load, const struct sdf_sensor *sensor, const struct sdf_element *element,
	struct sdf_lidar *lidar, struct sdf_signal *range)
{
	static const struct load_word stamps[] = {{"end", false}, {"start", true}};
	struct sdf_pattern pattern;
	bool beam;
	if (!lidar_check_names(load, element, &beam))
		return;
	lidar->stamp_start = load_word_of(load, element, LIDAR_OWN "stamp", stamps, ARRAY_LEN(stamps), false) != 0;
	if (!lidar_load_pattern(load, sensor, element, lidar, range, &pattern))
		return;
	struct sdf_pattern *kept = arena_new(&load->sdf->arena, struct sdf_pattern);
	*kept = pattern;
	lidar->pattern = kept;
	load_bool(load, element, LIDAR_OWN "motion", &lidar->motion);
	if (beam)
		lidar->beam = lidar_load_beam(load, sensor, element, kept);
}
