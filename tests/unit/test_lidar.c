/* The firing patterns of known lidars against their data sheets, and tables of users: a wrong angle, order or time
 * gives clouds that look right and that no program can undo the motion of. */
#include "sdf/lidar_heads.h"
#include "sdf/lidar_table.h"
#include "sdf_help.h"
#include "sensor/scan.h"
#include "sensor/summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(lidar, .timeout = 60, .fini = sdf_help_end);

#define DEGREES(rad) ((rad)*180 / M_PI)

static struct arena arena;

static struct sdf_pattern pattern_of(const char *name, double scan_s, uint32_t columns)
{
	double rays;
	const struct lidar_head *head = lidar_head_find(name);
	cr_assert_not_null(head, "%s", name);
	struct sdf_pattern pattern = lidar_head_pattern(head, scan_s, columns, &arena, &rays);
	cr_assert(pattern.columns > 0 && rays == (double)pattern.columns * pattern.rows * pattern.scans);
	return pattern;
}

/* Page 54 of its manual: laser 0 points to -15 degrees, 1 to +1, 2 to -13 and so on; laser i fires 2.304 i us after the
 * first, all of them again after 55.296 us. At 10 Hz the head turns 0.0082944 degrees between two lasers. */
Test(lidar, vlp16)
{
	struct sdf_pattern p = pattern_of("VLP-16", 0.1, 0);
	cr_assert(p.rows == 16 && p.columns == 1808 && p.scans == 1);
	for (int laser = 0; laser < 16; laser++) {
		double up = laser % 2 ? laser : laser - 15;
		int ring = laser % 2 ? 8 + laser / 2 : laser / 2;
		const struct troupe_scan_firing *row = &p.by_row[ring];
		cr_assert_float_eq(DEGREES(row->elevation_rad), up, 1e-12);
		cr_assert_float_eq(row->time_s, laser * 2.304e-6, 1e-15);
		cr_assert_float_eq(DEGREES(row->azimuth_rad), laser * -0.0082944, 1e-12);
		cr_assert_eq(row->ring, ring);
	}
	cr_assert_float_eq(p.by_column[1].time_s, 55.296e-6, 1e-15);
	cr_assert_float_eq(DEGREES(p.by_column[100].azimuth_rad), 180 - 100 * 0.1990656, 1e-9);
	cr_assert_eq(pattern_of("VLP-16", 0.05, 0).columns, 904);
}

/* Lasers 0 and 1 fire together; 3 points to -15.639 degrees, 1.4 degrees aside (Velodyne: -1.4, clockwise), after 2.304
 * us. */
Test(lidar, vlp32)
{
	struct sdf_pattern p = pattern_of("VLP-32", 0.1, 0);
	cr_assert(p.rows == 32 && p.columns == 1808);
	cr_assert_float_eq(DEGREES(p.by_row[0].elevation_rad), -25, 1e-12);
	cr_assert_float_eq(DEGREES(p.by_row[1].elevation_rad), -15.639, 1e-12);
	cr_assert_float_eq(DEGREES(p.by_row[31].elevation_rad), 15, 1e-12);
	cr_assert_float_eq(p.by_row[1].time_s, 2.304e-6, 1e-15);
	cr_assert_float_eq(DEGREES(p.by_row[1].azimuth_rad), 1.4 - 0.0082944, 1e-12);
	for (uint32_t r = 1; r < 32; r++)
		cr_assert(p.by_row[r].elevation_rad > p.by_row[r - 1].elevation_rad && p.by_row[r].ring == r);
}

/* 26.9 degrees, from +2 in thirds to -8.33 and from -8.83 in halves; 0.1728 degrees between two columns at 10 Hz. */
Test(lidar, hdl64)
{
	struct sdf_pattern p = pattern_of("HDL-64", 0.1, 0);
	cr_assert(p.rows == 64 && p.columns == 2083);
	cr_assert_float_eq(DEGREES(p.by_row[63].elevation_rad), 2, 1e-12);
	cr_assert_float_eq(DEGREES(p.by_row[32].elevation_rad), -8.333333333, 1e-6);
	cr_assert_float_eq(DEGREES(p.by_row[31].elevation_rad), -8.83, 1e-12);
	cr_assert_float_eq(DEGREES(p.by_row[0].elevation_rad), -24.33, 1e-9);
	cr_assert_float_eq(DEGREES(p.by_column[0].azimuth_rad - p.by_column[1].azimuth_rad), 0.1728, 1e-9);
}

/* A channel 128 times as often, the highest first; all of a column at once. Azimuths of the first four, of the four in
 * the middle and of the last four channels as units of these models report them (beam_azimuth_angles): positive ones
 * are clockwise, "theta = 2 pi (1 - measurement_id / columns) - 2 pi beam_azimuth_angle / 360". */
Test(lidar, ouster)
{
	static const struct {
		const char *name;
		double field_deg, off, azimuths_deg[12];
	} kinds[] = {
		{"OS0-128", 90, 0.4, {10.85, 3.67, -3.4, -10.32, 8.28, 2.75, -2.77, -8.29, 10.64, 3.6, -3.61, -11.02}},
		{"OS1-128", 45, 0.05, {4.21, 1.41, -1.4, -4.22, 4.22, 1.42, -1.4, -4.2, 4.22, 1.42, -1.39, -4.2}},
		{"OS2-128", 22.5, 0.05,
			{2.07, 0.66, -0.71, -2.08, 2.07, 0.71, -0.67, -2.05, 2.11, 0.73, -0.66, -2.04}}};
	static const uint32_t firsts[] = {0, 64, 124};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct sdf_pattern p = pattern_of(kinds[i].name, 0.1, 2048);
		cr_assert(p.rows == 128 && p.columns == 2048);
		cr_assert_float_eq(DEGREES(p.by_row[0].elevation_rad), kinds[i].field_deg / 2, 1e-9);
		cr_assert_float_eq(DEGREES(p.by_row[127].elevation_rad), -kinds[i].field_deg / 2, 1e-9);
		for (uint32_t r = 0; r < 128; r++)
			cr_assert(p.by_row[r].time_s == 0 && p.by_row[r].ring == r);
		for (uint32_t k = 0; k < 12; k++)
			cr_assert_float_eq(DEGREES(p.by_row[firsts[k / 4] + k % 4].azimuth_rad),
				-kinds[i].azimuths_deg[k], kinds[i].off, "%s: %u", kinds[i].name, k);
		cr_assert_float_eq(p.by_column[2047].time_s, 0.1 * 2047 / 2048, 1e-15);
	}
	cr_assert_eq(pattern_of("OS1-32", 0.1, 0).columns, 1024);
}

/* Columns of a flat scanner have rising azimuths; one that turns clockwise fired the last one first. */
Test(lidar, flat_scanners)
{
	struct sdf_pattern p = pattern_of("RPLIDAR", 0.1, 0), q = pattern_of("LDS-01", 0.2, 0);
	cr_assert(p.columns == 800 && p.rows == 1 && q.columns == 360 && q.rows == 1);
	for (uint32_t c = 1; c < 800; c++) {
		cr_assert(p.by_column[c].azimuth_rad > p.by_column[c - 1].azimuth_rad);
		cr_assert_float_eq(p.by_column[c].time_s, (799 - c) * 125e-6, 1e-12);
	}
	for (uint32_t c = 0; c < 360; c++) {
		cr_assert_float_eq(DEGREES(q.by_column[c].azimuth_rad), c, 1e-9);
		cr_assert_float_eq(q.by_column[c].time_s, c * 0.2 / 360, 1e-12);
	}
}

/* The field of view is filled and not left, and no scan is like the one before. */
Test(lidar, livox)
{
	static const struct {
		const char *name;
		uint32_t columns, rows;
		double low_deg, high_deg;
	} kinds[] = {{"Mid-360", 5000, 4, -7, 52}, {"Avia", 4000, 6, -38.6, 38.6}};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct sdf_pattern p = pattern_of(kinds[i].name, 0.1, 0);
		cr_assert(p.columns == kinds[i].columns && p.rows == kinds[i].rows && p.scans == 10);
		double lo = INFINITY, hi = -INFINITY;
		for (uint32_t c = 0; c < p.columns * p.scans; c++)
			for (uint32_t r = 0; r < p.rows; r++) {
				double up = DEGREES(p.by_column[c].elevation_rad + p.by_row[r].elevation_rad);
				lo = fmin(lo, up);
				hi = fmax(hi, up);
			}
		cr_assert(lo >= kinds[i].low_deg - 1e-9 && lo < kinds[i].low_deg + 1, "%s: from %g", kinds[i].name, lo);
		cr_assert(hi <= kinds[i].high_deg + 1e-9 && hi > kinds[i].high_deg - 1, "%s: to %g", kinds[i].name, hi);
		uint32_t same = 0;
		for (uint32_t c = 0; c < p.columns; c++)
			same += fabs(p.by_column[c].azimuth_rad - p.by_column[c + p.columns].azimuth_rad) < 1e-3;
		cr_assert(same < p.columns / 20, "%s: %u of %u columns are the same", kinds[i].name, same, p.columns);
	}
}

/* --- tables ------------------------------------------------------------------------------------------------------- */

Test(lidar, tables)
{
	struct troupe_error error = {0};
	struct sdf_pattern p;
	static const char channels[] = "# my lidar\n channels 4 anticlockwise\r\n-10 1 0\n\n5,-2,25000,7 # later\n";
	cr_assert(!lidar_table_read("t", channels, strlen(channels), 0.1, &arena, &p, &error), "%s", error.text);
	cr_assert(p.columns == 4 && p.rows == 2 && p.scans == 1 && p.scan_s == 0.1);
	cr_assert_float_eq(DEGREES(p.by_row[1].elevation_rad), 5, 1e-12);
	cr_assert_float_eq(DEGREES(p.by_row[1].azimuth_rad), -2 + 90, 1e-12);
	cr_assert(p.by_row[0].ring == 0 && p.by_row[1].ring == 7 && fabs(p.by_row[1].time_s - 0.025) < 1e-15);
	cr_assert_float_eq(DEGREES(p.by_column[3].azimuth_rad), 180 + 270, 1e-12);
	cr_assert_float_eq(p.by_column[3].time_s, 0.075, 1e-15);
	static const char rays[] = "rays\n1 2 3\n4 5 100000 6";
	cr_assert(!lidar_table_read("t", rays, strlen(rays), 0.1, &arena, &p, &error), "%s", error.text);
	cr_assert(p.columns == 2 && p.rows == 1 && p.by_column[1].ring == 6 && p.by_row[0].elevation_rad == 0);
	cr_assert_float_eq(p.by_column[0].time_s, 3e-6, 1e-18);
	cr_assert_float_eq(p.by_column[1].time_s, 0.1, 1e-15);
}

Test(lidar, bad_tables)
{
	static const char *const bad[][2] = {
		{"", "t:0: no line with angles: expected at least one"},
		{"rays\n", "no line with angles"},
		{"1 2 3\n", "t:1: the first line begins with \"1\": expected \"channels COLUMNS\" or \"rays\""},
		{"rays 3\n", "t:1: the first line"},
		{"channels\n", "t:1: the number of columns is \"\": expected a number from 1 to 16777216"},
		{"channels 0\n", "the number of columns is \"0\""},
		{"channels 9 left\n", "t:1: \"left\" after the number of columns: expected clockwise or anticlockwise"},
		{"rays\n1 2\n", "t:2: 2 values: expected ELEVATION_deg AZIMUTH_deg TIME_us [RING]"},
		{"rays\n1 2 3 4 5 6\n", "t:2: 5 values"},
		{"rays\n91 2 3\n", "t:2: the elevation is \"91\": expected a number from -90 to 90"},
		{"rays\n1 nan 3\n", "t:2: the azimuth is \"nan\""},
		{"rays\n1 2 -1\n", "t:2: the time is \"-1\": expected a number from 0 to 100000"},
		{"channels 1000\n1 2 101\n", "t:2: the time is \"101\": expected a number from 0 to 100"},
		{"rays\n1 2 3 1.5\n", "t:2: the ring is \"1.5\": expected a whole number from 0 to 65535"},
		{"channels 16777216\n1 2 0\n1 2 0\n", "33554432 rays: expected at most 16777216"},
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct troupe_error error = {0};
		struct sdf_pattern p;
		cr_assert_eq(lidar_table_read("t", bad[i][0], strlen(bad[i][0]), 0.1, &arena, &p, &error),
			TROUPE_EWORLD, "%s", bad[i][0]);
		cr_assert(strstr(error.text, bad[i][1]), "%s: %s", bad[i][0], error.text);
	}
}

/* --- worlds ------------------------------------------------------------------------------------------------------- */

#define LIDAR(rate, more)                                                                                              \
	"<sdf version='1.9'><world name='w'><model name='m'><static>1</static><link name='l'><sensor name='s' "        \
	"type='gpu_lidar'><update_rate>" rate "</update_rate><lidar>" more "</lidar></sensor></link></model></world>"  \
	"</sdf>"
#define RANGE "<range><min>0.1</min><max>9</max></range>"

static const struct sdf_settings *settings_of(const char *text)
{
	return sdf_help_keep(sdf_help_good(text, NULL))->worlds.at[0].sensors.at[0].settings;
}

Test(lidar, elements)
{
	const struct sdf_settings *s = settings_of(LIDAR("10", RANGE));
	cr_assert_null(s->lidar->pattern);
	s = settings_of(LIDAR("20", "<troupe:pattern>VLP-16</troupe:pattern>"));
	cr_assert(s->lidar->pattern->columns == 904 && s->signals[0].max == 100 && !s->lidar->stamp_start);
	s = settings_of(LIDAR("20", RANGE "<troupe:pattern>VLP-16</troupe:pattern><troupe:stamp>start</troupe:stamp>"
					  "<troupe:scan_time>0.1</troupe:scan_time>"));
	cr_assert(s->lidar->pattern->columns == 1808 && s->signals[0].max == 9 && s->lidar->stamp_start);
	s = settings_of(LIDAR("0", "<troupe:pattern>LDS-01</troupe:pattern>"));
	cr_assert_eq(s->lidar->pattern->scan_s, 0.2);
	s = settings_of(LIDAR("0", "<troupe:pattern columns='512'>OS2-64</troupe:pattern>"));
	cr_assert_eq(s->lidar->pattern->columns, 512);
}

/* The pattern of <scan> has the rays of <scan>, with the same bits. */
Test(lidar, pattern_of_scan)
{
#define SCAN                                                                                                           \
	RANGE "<scan><horizontal><samples>7</samples><min_angle>-1</min_angle><max_angle>2</max_angle></horizontal>"   \
	      "<vertical><samples>3</samples><min_angle>-0.3</min_angle><max_angle>0.4</max_angle></vertical></scan>"
	const struct sdf_lidar *plain = settings_of(LIDAR("10", SCAN))->lidar,
			       *timed = settings_of(LIDAR("10", SCAN "<troupe:pattern>scan</troupe:pattern>"))->lidar;
	struct scan_layout layout = scan_layout(plain), like = scan_layout(timed);
	struct vec3 a[21], b[21];
	cr_assert(scan_count(&layout) == 21 && scan_count(&like) == 21);
	scan_directions(&layout, a);
	scan_pattern_directions(timed->pattern, b);
	cr_assert(!memcmp(a, b, sizeof a));
	cr_assert_float_eq(timed->pattern->by_column[6].time_s, 0.1 * 6 / 7, 1e-15);
}

Test(lidar, bad_elements)
{
	static const char *const bad[][2] = {
		{LIDAR("10", RANGE "<troupe:patern>VLP-16</troupe:patern>"),
			"t.sdf:1: <troupe:patern> is no element of a lidar: expected <troupe:pattern>"},
		{LIDAR("10", "<troupe:pattern>VLP-17</troupe:pattern>"),
			"is \"VLP-17\": expected scan, VLP-16, VLP-32"},
		{LIDAR("10", "<troupe:pattern columns='9'>VLP-16</troupe:pattern>"), "attribute columns"},
		{LIDAR("10", "<troupe:pattern columns='x'>OS0-32</troupe:pattern>"), "expected a number of columns"},
		{LIDAR("100000", "<troupe:pattern>VLP-16</troupe:pattern>"), "has 0 rays: expected 1 to"},
		{LIDAR("10", RANGE "<troupe:scan_time>1000</troupe:scan_time><troupe:pattern>HDL-64</troupe:pattern>"),
			"rays: expected 1 to"},
		{LIDAR("10", RANGE "<troupe:scan_time>0</troupe:scan_time>"), "scan_time"},
		{LIDAR("10", RANGE "<troupe:table>none.txt</troupe:table>"), "is not found"},
		{LIDAR("10", RANGE "<troupe:table>a</troupe:table><troupe:pattern>VLP-16</troupe:pattern>"),
			"expected one of them"},
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct troupe_error error = {0};
		struct sdf *sdf = NULL;
		cr_assert_neq(sdf_help_load(bad[i][0], NULL, &sdf, &error), TROUPE_OK, "%s", bad[i][0]);
		cr_assert(sdf_help_says(sdf_help_keep(sdf), SDF_ERROR, bad[i][1]), "%s: %s", bad[i][0], error.text);
	}
}

/* The least range wherever it stands; what is not in range is infinite, or no number. Of contacts the deepest. */
Test(lidar, a_reading_is_summed_up)
{
	enum { RAYS = 6 };
	static const struct {
		double ranges[RAYS], least;
	} rows[] = {{{3, 2, 5, 4, 9, 7}, 2}, {{1, 2, 3, 4, 5, 6}, 1}, {{6, 5, 4, 3, 2, 0.5}, 0.5},
		{{INFINITY, 8, NAN, 7, -INFINITY, 9}, 7}, {{INFINITY, INFINITY, NAN, NAN, -INFINITY, INFINITY}, NAN}};
	struct {
		struct troupe_scan_reading head;
		double ranges[RAYS];
	} scan = {.head = {.columns = 3, .rows = 2}};
	struct reading_contact contacts[3] = {{.depth = 0.1}, {.depth = 0.3}, {.depth = 0.2}};
	double found[SENSOR_KIND_COLUMNS_MAX];
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		memcpy(scan.ranges, rows[i].ranges, sizeof scan.ranges);
		struct readings readings = {.numbers = {.at = (double *)(void *)&scan}};
		const struct reading reading = {.kind = i % 2 ? SDF_LIDAR : SDF_GPU_LIDAR, .count = sizeof scan};
		summary_make(&readings, &reading, found);
		cr_assert(isnan(rows[i].least) ? isnan(found[0]) : found[0] == rows[i].least, "%zu: %g", i, found[0]);
		cr_assert(isnan(found[1]));
	}
	for (uint32_t count = 0; count <= ARRAY_LEN(contacts); count++) {
		static const double deepest[] = {NAN, 0.1, 0.3, 0.3};
		struct readings readings = {.numbers = {.at = (double *)(void *)contacts}};
		const struct reading reading = {.kind = SDF_CONTACT, .count = count * (uint32_t)sizeof *contacts};
		summary_make(&readings, &reading, found);
		cr_assert_eq(found[0], count);
		cr_assert(count ? found[1] == deepest[count] : isnan(found[1]), "%u: %g", count, found[1]);
	}
}
