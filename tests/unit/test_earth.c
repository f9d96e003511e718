/* Places on earth and the air above them, against values that are known: corners of the ellipsoid, distances on a
 * sphere, the table of the standard atmosphere, and the two directions of the conversion against each other. A sign of
 * the heading, a mixed-up axis, or an altitude that is only right near the ground fails here. */
#include "base/hash.h"
#include "scene/earth.h"
#include "scene/magnetic.h"

#include <criterion/criterion.h>

TestSuite(earth, .timeout = 60);

#define near(value, expected, within)                                                                                  \
	cr_assert(fabs((value) - (expected)) <= (within), "%s is %.15g, not %.15g within %g", #value, (double)(value), \
		(double)(expected), (double)(within))

static struct earth wgs84(double latitude, double longitude, double elevation, double heading)
{
	return earth_of(&(struct sdf_earth){
		true, SDF_EARTH_WGS84, 6378137, 6356752.314245, latitude, longitude, elevation, heading});
}

static void is_at(struct earth_place place, double latitude, double longitude, double altitude)
{
	near(place.latitude_deg, latitude, 1e-9);
	near(place.longitude_deg, longitude, 1e-9);
	near(place.altitude_m, altitude, 1e-6);
}

Test(earth, the_origin_and_the_point_above_it)
{
	struct earth earth = wgs84(47.5, 8.25, 450, 30);
	is_at(earth_place(&earth, (struct vec3){0, 0, 0}), 47.5, 8.25, 450);
	is_at(earth_place(&earth, (struct vec3){0, 0, 1000}), 47.5, 8.25, 1450);
	is_at(earth_place(&earth, (struct vec3){0, 0, -2000}), 47.5, 8.25, -1550);
}

/* On the equator at longitude 0 the earth-centred axes are known: up, east, north. */
Test(earth, from_the_equator_to_the_corners_of_the_ellipsoid)
{
	struct earth earth = wgs84(0, 0, 0, 0);
	is_at(earth_place(&earth, (struct vec3){0, 6356752.314245 + 100, -6378137}), 90, 0, 100);
	is_at(earth_place(&earth, (struct vec3){0, -6356752.314245, -6378137}), -90, 0, 0);
	is_at(earth_place(&earth, (struct vec3){6378137 + 7, 0, -6378137}), 0, 90, 7);
	is_at(earth_place(&earth, (struct vec3){-6378137, 0, -6378137}), 0, -90, 0);
	struct earth_place behind = earth_place(&earth, (struct vec3){0, 0, -2 * 6378137});
	near(fabs(behind.longitude_deg), 180, 1e-9);
	near(behind.altitude_m, 0, 1e-6);
}

/* A known point: 100 m east and 100 m north of 45 N 10 E are so many degrees, by the radii of curvature. */
Test(earth, small_distances_are_degrees_by_the_radii_of_curvature)
{
	double a = 6378137, e2 = 1 - pow(6356752.314245 / a, 2), w = sqrt(1 - e2 * 0.5);
	double meridian = a * (1 - e2) / (w * w * w), normal = a / w, degree = 3.14159265358979323846 / 180;
	struct earth earth = wgs84(45, 10, 0, 0);
	struct earth_place east = earth_place(&earth, (struct vec3){100, 0, 0});
	struct earth_place north = earth_place(&earth, (struct vec3){0, 100, 0});
	near(east.longitude_deg - 10, 100 / (normal * sqrt(0.5) * degree), 1e-9);
	near(north.latitude_deg - 45, 100 / (meridian * degree), 1e-9);
	near(east.altitude_m, 100 * 100 / (2 * normal), 1e-6);
	near(north.altitude_m, 100 * 100 / (2 * meridian), 1e-6);
	double latitude_m, longitude_m;
	earth_degree(&earth, (struct earth_place){45, 10, 500}, &latitude_m, &longitude_m);
	near(latitude_m, (meridian + 500) * degree, 1e-6);
	near(longitude_m, (normal + 500) * sqrt(0.5) * degree, 1e-6);
	earth_degree(&earth, (struct earth_place){90, 0, 0}, &latitude_m, &longitude_m);
	cr_assert_eq(longitude_m, 0);
	near(latitude_m, a * a / 6356752.314245 * degree, 1e-6);
}

/* A heading of 90 degrees: x points north, y west. */
Test(earth, the_heading_is_anticlockwise_from_east_to_x)
{
	struct earth straight = wgs84(50, 8, 100, 0), turned = wgs84(50, 8, 100, 90), some = wgs84(50, 8, 100, 30);
	struct earth_place north = earth_place(&straight, (struct vec3){0, 1000, 5});
	struct earth_place east = earth_place(&straight, (struct vec3){1000, 0, 5});
	cr_assert(north.latitude_deg > 50 && east.longitude_deg > 8);
	is_at(earth_place(&turned, (struct vec3){1000, 0, 5}), north.latitude_deg, north.longitude_deg,
		north.altitude_m);
	is_at(earth_place(&turned, (struct vec3){0, -1000, 5}), east.latitude_deg, east.longitude_deg, east.altitude_m);
	struct vec3 v = earth_velocity(&some, (struct vec3){2, 0, 3});
	near(v.x, 2 * sqrt(0.75), 1e-12);
	near(v.y, 1, 1e-12);
	near(v.z, 3, 0);
	/* the axes of earth_axes() are those in which the velocity is given */
	struct vec3 back = quat_rotate(earth_axes(&some), v);
	near(back.x, 2, 1e-12);
	near(back.y, 0, 1e-12);
	/* and the velocity is how the place changes */
	struct earth_place a = earth_place(&some, (struct vec3){0, 0, 0}),
			   b = earth_place(&some, (struct vec3){2, 0, 3});
	double latitude_m, longitude_m;
	earth_degree(&some, a, &latitude_m, &longitude_m);
	near((b.longitude_deg - a.longitude_deg) * longitude_m, v.x, 1e-5);
	near((b.latitude_deg - a.latitude_deg) * latitude_m, v.y, 1e-5);
	near(b.altitude_m - a.altitude_m, v.z, 1e-5);
}

static double from_to(uint64_t key, uint64_t index, double from, double to)
{
	return from + (to - from) * (double)(hash_mix(hash_mix(key, index), 5) >> 11) * 0x1p-53;
}

static void returns(const struct earth *earth, struct earth_place place)
{
	struct vec3 point = earth_point(earth, place);
	struct earth_place again = earth_place(earth, point);
	struct vec3 second = earth_point(earth, again);
	near(again.latitude_deg, place.latitude_deg, 1e-9);
	near(again.altitude_m, place.altitude_m, 1e-6);
	double turn = remainder(again.longitude_deg - place.longitude_deg, 360);
	near(turn * math_cos(place.latitude_deg * 3.14159265358979323846 / 180), 0, 1e-9);
	near(vec3_length(vec3_sub(second, point)), 0, 1e-6);
}

Test(earth, place_and_point_are_inverse)
{
	static const struct {
		double equatorial, polar;
	} axes[] = {{6378137, 6356752.314245}, {1737400, 1737400}, {2e6, 1.8e6}, {1.8e6, 2e6}};
	for (uint32_t e = 0; e < ARRAY_LEN(axes); e++)
		for (uint32_t i = 0; i < 4000; i++) {
			struct earth earth = earth_of(&(struct sdf_earth){true, SDF_CUSTOM_SURFACE, axes[e].equatorial,
				axes[e].polar, from_to(1, i, -90, 90), from_to(2, i, -180, 180),
				from_to(3, i, -400, 9000), from_to(4, i, -360, 360)});
			double latitude = i % 10 ? from_to(5, i, -90, 90) : i % 20 ? 90 - from_to(5, i, 0, 1e-4) : -90;
			double altitude = i % 3 ? from_to(6, i, -10000, 100000) : from_to(6, i, -100000, 2e6);
			returns(&earth, (struct earth_place){latitude, from_to(7, i, -180, 180), altitude});
		}
}

/* Where latitude has no meaning the result is still a number. */
Test(earth, the_centre_and_beyond_have_finite_places)
{
	struct earth earth = wgs84(0, 0, 0, 0);
	const struct vec3 points[] = {{0, 0, -6378137}, {1, 0, -6378137}, {0, 1, -6378137}, {20000, 30000, -6378137},
		{1e9, 1e9, 1e9}, {0, -40000, -6378137}};
	for (uint32_t i = 0; i < ARRAY_LEN(points); i++) {
		struct earth_place place = earth_place(&earth, points[i]);
		cr_assert(fabs(place.latitude_deg) <= 90 && fabs(place.longitude_deg) <= 180 &&
			  isfinite(place.altitude_m));
	}
}

/* U.S. Standard Atmosphere 1976, table 1: geometric height, temperature, pressure, density. */
Test(earth, the_air_is_that_of_the_standard)
{
	static const double table[][4] = {{0, 288.150, 101325, 1.2250}, {1000, 281.651, 89876, 1.1117},
		{5000, 255.676, 54048, 0.73643}, {10000, 223.252, 26500, 0.41351}, {-1000, 294.651, 113929, 1.3470}};
	const struct sdf_air air = {288.15, -0.0065, 101325};
	for (uint32_t i = 0; i < ARRAY_LEN(table); i++) {
		struct earth_air at = earth_air(&air, table[i][0]);
		near(at.temperature_K, table[i][1], 6e-4);
		near(at.pressure_Pa, table[i][2], 2e-5 * table[i][2]);
		near(at.density_kg_m3, table[i][3], 1e-4 * table[i][3]);
	}
}

Test(earth, other_air_and_no_air)
{
	const double g = 9.80665, per_kg = 8314.32 / 28.9644;
	struct earth_air even = earth_air(&(struct sdf_air){250, 0, 600}, 3000);
	near(even.temperature_K, 250, 0);
	near(even.pressure_Pa, 600 * exp(-g * 6356766. * 3000 / 6359766. / (per_kg * 250)), 1e-9);
	/* a gradient near zero is nearly the same */
	near(earth_air(&(struct sdf_air){250, 1e-9, 600}, 3000).pressure_Pa, even.pressure_Pa, 1e-5);
	/* the pressure balances the weight of the air */
	const struct sdf_air air = {300, -0.009, 90000};
	struct earth_air low = earth_air(&air, 1999), middle = earth_air(&air, 2000), high = earth_air(&air, 2001);
	near((low.pressure_Pa - high.pressure_Pa) / 2, middle.density_kg_m3 * g * pow(6356766. / 6358766., 2), 1e-5);
	cr_assert_eq(earth_air(&air, 50000).pressure_Pa, 0);
	cr_assert_eq(earth_air(&air, 50000).density_kg_m3, 0);
	cr_assert_eq(earth_air(&air, -1e9).pressure_Pa, 0);
	cr_assert(isfinite(earth_air(&air, 1e9).pressure_Pa));
}

/* The test values that NOAA publishes with the model (WMM2025_TEST_VALUES.txt), of its epoch. */
Test(earth, the_magnetic_field_is_that_of_the_world_magnetic_model)
{
	static const struct {
		double altitude_km, latitude, longitude, north, east, down; /* nT */
	} cases[] = {
		{0, 80, 0, 6521.6, 145.9, 54791.5},
		{0, 0, 120, 39677.8, -109.6, -10580.2},
		{0, -80, 240, 6117.5, 15751.9, -52022.5},
		{100, 80, 0, 6216.0, 92.4, 52598.8},
		{100, 0, 120, 37688.6, -96.2, -10152.1},
		{100, -80, 240, 5907.6, 14780.3, -49540.7},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct vec3 field = magnetic_field(
			(struct earth_place){cases[i].latitude, cases[i].longitude, cases[i].altitude_km * 1000});
		near(field.x * 1e9, cases[i].east, 0.06);
		near(field.y * 1e9, cases[i].north, 0.06);
		near(-field.z * 1e9, cases[i].down, 0.06);
	}
}

/* At a pole the direction of north is that of the longitude, and the field does not jump. */
Test(earth, the_magnetic_field_has_no_hole)
{
	for (double sign = -1; sign <= 1; sign += 2) {
		struct vec3 at = magnetic_field((struct earth_place){90 * sign, 30, 0});
		struct vec3 near_it = magnetic_field((struct earth_place){89.9999 * sign, 30, 0});
		near(at.x * 1e9, near_it.x * 1e9, 1);
		near(at.y * 1e9, near_it.y * 1e9, 1);
		near(at.z * 1e9, near_it.z * 1e9, 1);
	}
	near(magnetic_field((struct earth_place){0, 0, -2e6}).z, 0, 0);
	near(magnetic_field((struct earth_place){(double)NAN, 0, 0}).z, 0, 0);
}
