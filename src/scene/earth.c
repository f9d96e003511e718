/* Geodetic latitude has no closed form that is accurate at all heights. Bowring's formula for the tangent of the
 * latitude, taken as an iteration on the reduced latitude, gains some four digits with each turn on the ellipsoids of
 * planets; it ends when a turn changes nothing more, or in the depth near the centre, where it may not converge, after
 * a fixed number. Sine and cosine are carried instead of the tangent, because then nothing is divided by zero at a pole
 * or in the centre. The altitude comes from both coordinates (p cos + z sin - a sqrt(1 - e^2 sin^2)): p / cos - N,
 * which Gazebo takes, loses its digits near a pole. */
#include "scene/earth.h"

#define PI 3.14159265358979323846
#define DEGREE (PI / 180)

enum { TURNS_MAX = 100 };

static double earth_sine_deg(double deg)
{
	return math_sin(deg * DEGREE);
}

static double earth_cosine_deg(double deg)
{
	return math_cos(deg * DEGREE);
}

/* First eccentricity squared; below 0 for an ellipsoid that is higher than wide. */
static double earth_eccentricity2(const struct earth *earth)
{
	double ratio = earth->polar_m / earth->equatorial_m;
	return 1 - ratio * ratio;
}

/* From the axis to the surface along its normal. */
static double earth_normal_radius(const struct earth *earth, double sine)
{
	return earth->equatorial_m / sqrt(1 - earth_eccentricity2(earth) * sine * sine);
}

static struct vec3 earth_centred(const struct earth *earth, struct earth_place place)
{
	double sine = earth_sine_deg(place.latitude_deg), cosine = earth_cosine_deg(place.latitude_deg);
	double normal = earth_normal_radius(earth, sine), ratio = earth->polar_m / earth->equatorial_m;
	double from_axis = (normal + place.altitude_m) * cosine;
	return (struct vec3){from_axis * earth_cosine_deg(place.longitude_deg),
		from_axis * earth_sine_deg(place.longitude_deg), (ratio * ratio * normal + place.altitude_m) * sine};
}

static struct vec3 earth_turned(const struct mat3 *m, struct vec3 v)
{
	return (struct vec3){m->m[0][0] * v.x + m->m[0][1] * v.y + m->m[0][2] * v.z,
		m->m[1][0] * v.x + m->m[1][1] * v.y + m->m[1][2] * v.z,
		m->m[2][0] * v.x + m->m[2][1] * v.y + m->m[2][2] * v.z};
}

static struct vec3 earth_turned_back(const struct mat3 *m, struct vec3 v)
{
	return (struct vec3){m->m[0][0] * v.x + m->m[1][0] * v.y + m->m[2][0] * v.z,
		m->m[0][1] * v.x + m->m[1][1] * v.y + m->m[2][1] * v.z,
		m->m[0][2] * v.x + m->m[1][2] * v.y + m->m[2][2] * v.z};
}

struct earth earth_of(const struct sdf_earth *sdf)
{
	struct earth earth = {.equatorial_m = sdf->equatorial_m,
		.polar_m = sdf->polar_m,
		.cos_heading = earth_cosine_deg(sdf->heading_deg),
		.sin_heading = earth_sine_deg(sdf->heading_deg)};
	double slat = earth_sine_deg(sdf->latitude_deg), clat = earth_cosine_deg(sdf->latitude_deg);
	double slon = earth_sine_deg(sdf->longitude_deg), clon = earth_cosine_deg(sdf->longitude_deg);
	struct vec3 east = {-slon, clon, 0}, north = {-clon * slat, -slon * slat, clat};
	struct vec3 x = vec3_add(vec3_scale(east, earth.cos_heading), vec3_scale(north, earth.sin_heading));
	struct vec3 y = vec3_sub(vec3_scale(north, earth.cos_heading), vec3_scale(east, earth.sin_heading));
	earth.from_world = (struct mat3){{{x.x, y.x, clon * clat}, {x.y, y.y, slon * clat}, {x.z, y.z, slat}}};
	earth.origin =
		earth_centred(&earth, (struct earth_place){sdf->latitude_deg, sdf->longitude_deg, sdf->elevation_m});
	return earth;
}

/* Sets the length of (a, b) to 1; of (0, 0): to (1, 0). */
static void earth_normalize(double *a, double *b)
{
	double length = sqrt(*a * *a + *b * *b);
	*a = length > 0 ? *a / length : 1;
	*b = length > 0 ? *b / length : 0;
}

struct earth_place earth_place(const struct earth *earth, struct vec3 in_world)
{
	struct vec3 at = vec3_add(earth->origin, earth_turned(&earth->from_world, in_world));
	double a = earth->equatorial_m, b = earth->polar_m, from_axis = sqrt(at.x * at.x + at.y * at.y);
	double focus2 = a * a - b * b;
	double cosine = 1, sine = 0, c = b * from_axis, s = a * at.z; /* c, s: of the reduced latitude */
	earth_normalize(&c, &s);
	for (int i = 0; i < TURNS_MAX; i++) {
		double cosine_before = cosine, sine_before = sine;
		cosine = from_axis - focus2 / a * c * c * c;
		sine = at.z + focus2 / b * s * s * s;
		earth_normalize(&cosine, &sine);
		if (cosine == cosine_before && sine == sine_before)
			break;
		c = a * cosine;
		s = b * sine;
		earth_normalize(&c, &s);
	}
	double shrink = sqrt(1 - earth_eccentricity2(earth) * sine * sine);
	return (struct earth_place){math_atan2(sine, cosine) / DEGREE, math_atan2(at.y, at.x) / DEGREE,
		from_axis * cosine + at.z * sine - a * shrink};
}

struct vec3 earth_point(const struct earth *earth, struct earth_place place)
{
	return earth_turned_back(&earth->from_world, vec3_sub(earth_centred(earth, place), earth->origin));
}

struct vec3 earth_velocity(const struct earth *earth, struct vec3 v)
{
	return (struct vec3){v.x * earth->cos_heading - v.y * earth->sin_heading,
		v.x * earth->sin_heading + v.y * earth->cos_heading, v.z};
}

struct quat earth_axes(const struct earth *earth)
{
	return quat_from_rpy(0, 0, -math_atan2(earth->sin_heading, earth->cos_heading));
}

void earth_degree(const struct earth *earth, struct earth_place place, double *ret_latitude_m, double *ret_longitude_m)
{
	double sine = earth_sine_deg(place.latitude_deg), cosine = earth_cosine_deg(place.latitude_deg);
	double normal = earth_normal_radius(earth, sine), ratio = normal / earth->equatorial_m;
	double meridian = earth->polar_m * earth->polar_m / earth->equatorial_m * ratio * ratio * ratio;
	*ret_latitude_m = (meridian + place.altitude_m) * DEGREE;
	*ret_longitude_m = (normal + place.altitude_m) * (cosine > 1e-15 ? cosine : 0) * DEGREE;
}

/* The constants are those of the standard; density by the law of ideal gases. */
struct earth_air earth_air(const struct sdf_air *air, double altitude_m)
{
	const double gravity = 9.80665, molar_mass = 28.9644, gas = 8314.32, radius_m = 6356766;
	double height = altitude_m > -radius_m ? radius_m * altitude_m / (radius_m + altitude_m) : (double)-INFINITY;
	double temperature = air->temperature_K + air->temperature_gradient * height;
	if (!(temperature > 0 && isfinite(temperature)))
		return (struct earth_air){0};
	double exponent = air->temperature_gradient != 0 ? gravity * molar_mass / (gas * air->temperature_gradient) *
								   math_log(air->temperature_K / temperature)
							 : -gravity * molar_mass * height / (gas * air->temperature_K);
	double pressure = air->pressure_Pa * math_exp(exponent);
	if (!isfinite(pressure))
		return (struct earth_air){0};
	return (struct earth_air){temperature, pressure, pressure * molar_mass / (gas * temperature)};
}
