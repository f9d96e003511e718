/* Intensity, returns, drop-out and noise of a lidar against their formulas: what is wrong here looks like weather. */
#include "sdf/lidar_table.h"
#include "sdf_help.h"
#include "sensor/scan_beam.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(lidar_beam, .timeout = 60, .fini = sdf_help_end);

#define WALL(name, place, size, more)                                                                                  \
	"<model name='" name "'><static>1</static><pose>" place "</pose><link name='l'><visual name='v'>" more         \
	"<geometry><box><size>" size "</size></box></geometry></visual></link></model>"

enum { COLUMNS = 400 };

static struct troupe_scan_firing columns[COLUMNS], rows[1];
static const struct sdf_pattern pattern = {COLUMNS, 1, 1, 0.1, columns, rows};
static struct vec3 directions[COLUMNS];
static double ranges[SDF_RETURNS_MAX][COLUMNS], intensities[SDF_RETURNS_MAX][COLUMNS];
static const struct scan_returns returns = {
	{ranges[0], ranges[1], ranges[2]}, {intensities[0], intensities[1], intensities[2]}};
static const struct sdf_signal range = {.min = 0.5, .max = 50};

static void measure(const char *text, double field_rad, const struct sdf_beam *beam, double *ret_plain)
{
	struct troupe_error error;
	struct scene *scene;
	struct rays *rays;
	struct sdf *sdf = sdf_help_keep(sdf_help_good(text, NULL));
	for (uint32_t c = 0; c < COLUMNS; c++)
		columns[c] =
			(struct troupe_scan_firing){field_rad * ((c + 0.5) / COLUMNS - 0.5), 0, 0.1 * c / COLUMNS, 0};
	scan_pattern_directions(&pattern, directions);
	cr_assert(!scene_create(&sdf->worlds.at[0], NULL, &scene, &error), "%s", error.text);
	struct state *state = state_create(scene, NULL);
	cr_assert(!rays_create(scene, NULL, &rays, &error), "%s", error.text);
	rays_follow(rays, state);
	const struct scan_job job = {
		rays, directions, 0, COLUMNS, &range, UINT32_MAX, SCENE_NONE, &pattern, columns, false};
	const struct scan_path path = scan_path_of(NULL, 0.1, 0, POSE_IDENTITY, POSE_IDENTITY, POSE_IDENTITY);
	scan_measure_beams(&job, &path, beam, &returns);
	if (ret_plain)
		scan_measure(rays, directions, COLUMNS, POSE_IDENTITY, &range, UINT32_MAX, ret_plain, NULL);
	rays_destroy(rays);
	state_destroy(state);
	scene_destroy(scene);
}

/* A wall 20 m ahead, beyond the reference range, in fog, with and without a reflectivity of its own. */
Test(lidar_beam, intensity)
{
	if (!rays_available())
		cr_skip_test("built without Embree");
	static const char *const worlds[] = {"<sdf version='1.9'><world name='w'>" WALL("a", "20.5 0 0 0 0 0",
						     "1 90 90", "<laser_retro>80</laser_retro>") "</world></sdf>",
		"<sdf version='1.9'><world name='w'>" WALL("a", "20.5 0 0 0 0 0", "1 90 90", "") "</world></sdf>"};
	static double plain[COLUMNS];
	for (int w = 0; w < 2; w++) {
		const struct sdf_beam beam = {.intensity = true,
			.reflectivity = 30,
			.reference_m = 8,
			.attenuation_per_m = 0.02,
			.returns = 1};
		measure(worlds[w], 2, &beam, plain);
		cr_assert(!memcmp(plain, ranges[0], sizeof plain), "the ranges are those of one ray");
		for (uint32_t c = 0; c < COLUMNS; c++) {
			double cosine = cos(columns[c].azimuth_rad), r = 20 / cosine;
			double want = (w ? 30 : 80) * cosine * 64 / (r * r) * exp(-0.04 * r);
			cr_assert(fabs(intensities[0][c] - want) < 1e-9 * want, "ray %u: %g, not %g", c,
				intensities[0][c], want);
		}
	}
}

/* Two panes, of which the first lets 60 % through and the second half of that, and a wall: three returns. */
Test(lidar_beam, transparent)
{
	if (!rays_available())
		cr_skip_test("built without Embree");
	static const char text[] = "<sdf version='1.9'><world name='w'>" WALL(
		"a", "3 0 0 0 0 0", "0.2 9 9", "<transparency>0.6</transparency><laser_retro>10</laser_retro>")
		WALL("b", "5 0 0 0 0 0", "0.2 9 9", "<transparency>0.5</transparency><laser_retro>10</laser_retro>")
			WALL("c", "8 0 0 0 0 0", "0.2 9 9", "<laser_retro>10</laser_retro>") "</world></sdf>";
	static const double faces[] = {2.9, 4.9, 7.9}, shares[] = {0.4, 0.36 * 0.5, 0.36 * 0.25};
	for (uint32_t n = 1; n <= 3; n++) {
		const struct sdf_beam beam = {.returns = n, .separation_m = 0.1};
		measure(text, 0.2, &beam, NULL);
		for (uint32_t c = 0; c < COLUMNS; c++)
			for (uint32_t r = 0; r < n; r++) {
				cr_assert_float_eq(ranges[r][c], faces[r] / cos(columns[c].azimuth_rad), 1e-9);
				cr_assert_float_eq(intensities[r][c], 10 * (n == 1 ? 1 : shares[r]), 1e-9);
			}
	}
}

/* A beam that meets an edge has two returns, which share its light; beside the edge it has one. */
Test(lidar_beam, edges)
{
	if (!rays_available())
		cr_skip_test("built without Embree");
	static const char text[] = "<sdf version='1.9'><world name='w'>" WALL(
		"a", "5.5 -4.5 0 0 0 0", "1 9 9", "<laser_retro>10</laser_retro>")
		WALL("c", "10.5 0 0 0 0 0", "1 40 40", "<laser_retro>10</laser_retro>") "</world></sdf>";
	const struct sdf_beam beam = {.returns = 2, .separation_m = 0.5, .divergence_rad = 0.02};
	measure(text, 0.4, &beam, NULL);
	uint32_t both = 0;
	for (uint32_t c = 0; c < COLUMNS; c++) {
		double a = columns[c].azimuth_rad;
		bool edge = fabs(a) < 0.0099;
		if (fabs(fabs(a) - 0.01) < 1e-4)
			continue;
		both += isfinite(ranges[1][c]);
		cr_assert_eq(isfinite(ranges[1][c]), edge, "ray %u at %g", c, a);
		double sum = intensities[0][c] + (edge ? intensities[1][c] : 0);
		cr_assert_float_eq(sum, 10, 1e-9, "ray %u: %g", c, sum);
		cr_assert_float_eq(ranges[0][c], (edge || a < 0 ? 5 : 10) / cos(a), 0.02);
		if (edge)
			cr_assert_float_eq(ranges[1][c], 10, 0.02);
	}
	cr_assert(both > 10 && both < 30, "%u rays have two", both);
}

/* What is too near hides what lies behind, as without beams. */
Test(lidar_beam, too_near)
{
	if (!rays_available())
		cr_skip_test("built without Embree");
	static const char text[] = "<sdf version='1.9'><world name='w'>" WALL("a", "0.3 0 0 0 0 0", "0.1 9 9",
		"<transparency>0.5</transparency>") WALL("c", "10 0 0 0 0 0", "1 40 40", "") "</world></sdf>";
	const struct sdf_beam beam = {.returns = 2, .intensity = true, .reflectivity = 50, .reference_m = 10};
	measure(text, 0.2, &beam, NULL);
	for (uint32_t c = 0; c < COLUMNS; c++)
		cr_assert(ranges[0][c] < 0 && isinf(ranges[0][c]) && isinf(ranges[1][c]) && intensities[0][c] == 0);
}

/* --- what a sensor makes of it ------------------------------------------------------------------------------------ */

enum { MANY = 20000 };

/* The share that is lost, and the deviation of the rest. */
static void finish(const struct sdf_beam *beam, double power, double *ret_lost, double *ret_deviation)
{
	static double far[MANY], light[MANY];
	const struct sdf_signal noisy = {.noise = {.kind = SDF_NOISE_GAUSSIAN, .stddev = 0.02}, .min = 0, .max = 50};
	const struct noise_sample sample = {.index = 3, .time_ns = 5, .period_s = 0.1};
	const struct scan_returns to = {{far}, {light}};
	double sum = 0;
	uint32_t lost = 0;
	for (uint32_t i = 0; i < MANY; i++)
		far[i] = 10, light[i] = power;
	scan_finish_beams(beam, &noisy, 77, &sample, NULL, 0, MANY, MANY, &to);
	for (uint32_t i = 0; i < MANY; i++) {
		lost += isinf(far[i]) != 0;
		sum += isinf(far[i]) ? 0 : (far[i] - 10) * (far[i] - 10);
	}
	*ret_lost = (double)lost / MANY;
	*ret_deviation = sqrt(sum / (MANY - lost));
}

Test(lidar_beam, drop_out_and_noise)
{
	double lost, deviation;
	struct sdf_beam beam = {.returns = 1};
	finish(&beam, 3, &lost, &deviation);
	cr_assert(lost == 0 && fabs(deviation - 0.02) < 0.0005, "%g %g", lost, deviation);
	beam.dropout_intensity = 2;
	beam.noise_intensity = 12;
	finish(&beam, 3, &lost, &deviation);
	cr_assert(fabs(lost - exp(-1.5)) < 0.01, "%g lost, not %g", lost, exp(-1.5));
	cr_assert(fabs(deviation - 0.04) < 0.001, "deviation %g, not 0.04", deviation);
	finish(&beam, 48, &lost, &deviation);
	cr_assert(lost < 0.001 && fabs(deviation - 0.01) < 0.0005, "%g %g", lost, deviation);
}

Test(lidar_beam, tables_of_intensities)
{
	static struct arena arena;
	struct troupe_error error = {0};
	const double *values;
	uint32_t count;
	static const char good[] = "# reported\n0 0\n10, 100\n20 120 # flat\n";
	cr_assert(!lidar_table_read_intensities("t", good, strlen(good), &arena, &values, &count, &error));
	const struct sdf_beam beam = {.table = values, .table_count = count};
	cr_assert_eq(count, 3);
	cr_assert_float_eq(scan_reported(&beam, 5), 50, 1e-12);
	cr_assert_float_eq(scan_reported(&beam, 15), 110, 1e-12);
	cr_assert(scan_reported(&beam, 99) == 120 && scan_reported(&beam, 0) == 0);
	static const char *const bad[][2] = {{"0 0\n", "1 lines of intensities: expected at least two"},
		{"0 0\n1\n", "t:2: 1 values: expected INTENSITY REPORTED"},
		{"0 0\n1 x\n", "t:2: \"x\": expected a number from 0 to 1e9"},
		{"3 0\n3 1\n", "t:2: the intensity 3 follows 3: expected a larger one"}};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		cr_assert_eq(lidar_table_read_intensities(
				     "t", bad[i][0], strlen(bad[i][0]), &arena, &values, &count, &error),
			TROUPE_EWORLD);
		cr_assert(strstr(error.text, bad[i][1]), "%s", error.text);
	}
}

/* --- elements ----------------------------------------------------------------------------------------------------- */

#define LIDAR(more)                                                                                                    \
	"<sdf version='1.9'><world name='w'><model name='m'><static>1</static><link name='l'><sensor name='s' "        \
	"type='gpu_lidar'><update_rate>10</update_rate><lidar><range><min>0.1</min><max>9</max></range>" more          \
	"</lidar></sensor></link></model></world></sdf>"

Test(lidar_beam, elements)
{
	const struct sdf_lidar *lidar = sdf_help_keep(sdf_help_good(LIDAR("<troupe:motion>true</troupe:motion>"), NULL))
						->worlds.at[0]
						.sensors.at[0]
						.settings->lidar;
	cr_assert_null(lidar->beam);
	lidar = sdf_help_keep(sdf_help_good(LIDAR("<troupe:rain>10</troupe:rain><troupe:fog>100</troupe:fog>"
						  "<troupe:returns>3</troupe:returns>"),
				      NULL))
			->worlds.at[0]
			.sensors.at[0]
			.settings->lidar;
	cr_assert(lidar->beam && lidar->beam->intensity && lidar->beam->returns == 3);
	/* 1.076 * 10^0.67 = 5.033 dB/km */
	cr_assert_float_eq(lidar->beam->attenuation_per_m, 5.0328e-3 * log(10) / 10 + 0.03912, 1e-6);
	lidar = sdf_help_keep(sdf_help_good(LIDAR("<troupe:returns>2</troupe:returns>"), NULL))
			->worlds.at[0]
			.sensors.at[0]
			.settings->lidar;
	cr_assert(!lidar->beam->intensity && lidar->beam->reference_m == 10);
	static const char *const bad[] = {LIDAR("<troupe:returns>4</troupe:returns>"),
		LIDAR("<troupe:rain>-1</troupe:rain>"), LIDAR("<troupe:fog>0</troupe:fog>"),
		LIDAR("<troupe:divergence>1</troupe:divergence>"),
		LIDAR("<troupe:intensity_table>none</troupe:intensity_table>")};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct troupe_error error = {0};
		struct sdf *sdf = NULL;
		cr_assert_neq(sdf_help_load(bad[i], NULL, &sdf, &error), TROUPE_OK, "%s", bad[i]);
		cr_assert(!strncmp(error.text, "t.sdf:1: ", 9), "%s", error.text);
		sdf_help_keep(sdf);
	}
}
