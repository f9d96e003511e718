/* What is between a camera and the visuals that it sees, and behind them: fog and sky. */
#include "sensor/picture_internal.h"

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

struct picture_sky picture_sky_of(const struct sdf_sky *sky)
{
	static const struct picture_rgb horizon = {0.75, 0.85, 0.95}, zenith = {0.25, 0.45, 0.85}, dark = {0, 0, 0};
	double day = sky->sunset_h - sky->sunrise_h, since = sky->time_h - sky->sunrise_h;
	double height = day > 0 && since > 0 && since < day ? math_sin(M_PI * since / day) : 0;
	double light = 0.05 + 0.95 * fmin(4 * height, 1);
	return (struct picture_sky){picture_air_mix(dark, horizon, light), picture_air_mix(dark, zenith, light)};
}

struct picture_rgb picture_sky_at(const struct picture_sky *sky, double up)
{
	return picture_air_mix(sky->horizon, sky->zenith, fmin(fmax(up, 0), 1));
}
