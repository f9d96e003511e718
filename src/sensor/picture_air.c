/* What is between a camera and the visuals that it sees, and behind them: fog and sky. */
#include "sensor/picture_internal.h"

#include "mesh/cube.h"

enum {
	PICTURE_AIR_LATTICE = 255, /* the noise repeats itself after one more */
	PICTURE_AIR_OCTAVES = 5,
	PICTURE_AIR_ASIDE = 17, /* so that the octaves have no corner in common */
	PICTURE_AIR_HEIGHT_M = 1000,
	PICTURE_AIR_CELL_M = 200,
	PICTURE_AIR_CELL_MORE_M = 1600,
};
#define PICTURE_AIR_HORIZON 0.02 /* sines of elevations, between which clouds come out of the haze */
#define PICTURE_AIR_CLEAR 0.25

static struct picture_rgb picture_air_mix(struct picture_rgb a, struct picture_rgb b, double part)
{
	return (struct picture_rgb){a.r + part * (b.r - a.r), a.g + part * (b.g - a.g), a.b + part * (b.b - a.b)};
}

static double picture_air_fog(const struct sdf_fog *fog, double distance)
{
	if (fog->kind == SDF_FOG_NONE || !(distance > fog->start_m))
		return 0;
	double way = distance < fog->end_m ? (distance - fog->start_m) / (fog->end_m - fog->start_m) : 1;
	double part = fog->density * (fog->kind == SDF_FOG_LINEAR             ? way
					     : fog->kind == SDF_FOG_QUADRATIC ? way * way
									      : 1);
	return fmin(part, 1);
}

struct picture_rgb picture_in_fog(const struct sdf_fog *fog, double distance, struct picture_rgb colour)
{
	struct picture_rgb seen = {fmin(colour.r, 1), fmin(colour.g, 1), fmin(colour.b, 1)};
	return picture_air_mix(seen, (struct picture_rgb){fog->colour.r, fog->colour.g, fog->colour.b},
		picture_air_fog(fog, distance));
}

/* --- clouds ------------------------------------------------------------------------------------------------------- */

/* Values 0 to 1 on a lattice that repeats itself; the page has the same (src/web/clouds.js). */
static double picture_air_value(int32_t x, int32_t y)
{
	uint32_t hash =
		((uint32_t)x & PICTURE_AIR_LATTICE) * 374761393U + ((uint32_t)y & PICTURE_AIR_LATTICE) * 668265263U;
	hash = (hash ^ hash >> 13) * 1274126177U;
	return ((hash ^ hash >> 16) & 255) / 255.0;
}

static double picture_air_ease(double part)
{
	return part * part * (3 - 2 * part);
}

static double picture_air_step(double from, double to, double at)
{
	return picture_air_ease(fmin(fmax((at - from) / (to - from), 0), 1));
}

static double picture_air_noise(double x, double y)
{
	double column = floor(x), row = floor(y), right = picture_air_ease(x - column), up = picture_air_ease(y - row);
	int32_t i = (int32_t)column, j = (int32_t)row;
	double lower = picture_air_value(i, j), upper = picture_air_value(i, j + 1);
	lower += right * (picture_air_value(i + 1, j) - lower);
	upper += right * (picture_air_value(i + 1, j + 1) - upper);
	return lower + up * (upper - lower);
}

/* The part of the sky in this direction that a cloud hides. */
static double picture_air_cloud(const struct picture_sky *sky, struct vec3 d)
{
	double seen = picture_air_step(PICTURE_AIR_HORIZON, PICTURE_AIR_CLEAR, d.z), sum = 0, weight = 0.5;
	if (!(seen > 0))
		return 0;
	double x = d.x / d.z * sky->cloud_scale - sky->cloud_x, y = d.y / d.z * sky->cloud_scale - sky->cloud_y;
	for (int octave = 0; octave < PICTURE_AIR_OCTAVES; octave++) {
		sum += weight * picture_air_noise(x, y);
		x = 2 * x + PICTURE_AIR_ASIDE, y = 2 * y + PICTURE_AIR_ASIDE, weight /= 2;
	}
	return seen * picture_air_step(sky->cloud_part - 0.08, sky->cloud_part + 0.12, sum);
}

static void picture_air_set_clouds(struct picture_sky *sky, const struct sdf_sky *from, double light, double time_s)
{
	double cell_m = PICTURE_AIR_CELL_M + PICTURE_AIR_CELL_MORE_M * from->cloud_size;
	double whole = PICTURE_AIR_LATTICE + 1, way = from->cloud_speed * time_s / cell_m;
	double x = way * math_cos(from->cloud_direction_rad), y = way * math_sin(from->cloud_direction_rad);
	sky->clouds = true;
	sky->cloud = picture_air_mix((struct picture_rgb){0, 0, 0},
		(struct picture_rgb){from->cloud_ambient.r, from->cloud_ambient.g, from->cloud_ambient.b}, light);
	sky->cloud_part = 0.8 - 0.6 * from->cloud_humidity;
	sky->cloud_scale = PICTURE_AIR_HEIGHT_M / cell_m;
	sky->cloud_x = x - whole * floor(x / whole);
	sky->cloud_y = y - whole * floor(y / whole);
}

/* --- the sky ------------------------------------------------------------------------------------------------------ */

struct picture_sky picture_sky_of(const struct sdf_scene *scene, double time_s)
{
	static const struct picture_rgb horizon = {0.75, 0.85, 0.95}, zenith = {0.25, 0.45, 0.85}, dark = {0, 0, 0};
	const struct sdf_sky *from = scene->sky;
	double day = from->sunset_h - from->sunrise_h, since = from->time_h - from->sunrise_h;
	double height = day > 0 && since > 0 && since < day ? math_sin(M_PI * since / day) : 0;
	double light = 0.05 + 0.95 * fmin(4 * height, 1);
	struct picture_sky sky = {.horizon = picture_air_mix(dark, horizon, light),
		.zenith = picture_air_mix(dark, zenith, light),
		.cube = scene->sky_cube};
	if (from->clouds && !sky.cube)
		picture_air_set_clouds(&sky, from, light, time_s);
	return sky;
}

struct picture_rgb picture_sky_at(
	const struct picture_sky *sky, struct vec3 direction, struct vec3 across, struct vec3 down)
{
	float rgb[3];
	if (sky->cube) {
		cube_sample(sky->cube, direction, across, down, rgb);
		return (struct picture_rgb){(double)rgb[0], (double)rgb[1], (double)rgb[2]};
	}
	struct picture_rgb clear = picture_air_mix(sky->horizon, sky->zenith, fmin(fmax(direction.z, 0), 1));
	return sky->clouds ? picture_air_mix(clear, sky->cloud, picture_air_cloud(sky, direction)) : clear;
}
