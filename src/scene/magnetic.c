/* Recursions over the degree for each order, from sin and cos of the latitude; cos of 0, at a pole, is taken as a very
 * small number, where the east component, whose terms are divided by it, has its limit. */
#include "scene/magnetic.h"

#include "base/math.h"

#include <math.h>

enum { MAGNETIC_DEGREE = 12 };

/* g and h in nT, of degree n + 1 and order m. */
static const double magnetic_coefficients[MAGNETIC_DEGREE][MAGNETIC_DEGREE + 1][2] = {
	{{-29351.8, 0}, {-1410.8, 4545.4}},
	{{-2556.6, 0}, {2951.1, -3133.6}, {1649.3, -815.1}},
	{{1361, 0}, {-2404.1, -56.6}, {1243.8, 237.5}, {453.6, -549.5}},
	{{895, 0}, {799.5, 278.6}, {55.7, -133.9}, {-281.1, 212}, {12.1, -375.6}},
	{{-233.2, 0}, {368.9, 45.4}, {187.2, 220.2}, {-138.7, -122.9}, {-142, 43}, {20.9, 106.1}},
	{{64.4, 0}, {63.8, -18.4}, {76.9, 16.8}, {-115.7, 48.8}, {-40.9, -59.8}, {14.9, 10.9}, {-60.7, 72.7}},
	{{79.5, 0}, {-77, -48.9}, {-8.8, -14.4}, {59.3, -1}, {15.8, 23.4}, {2.5, -7.4}, {-11.1, -25.1}, {14.2, -2.3}},
	{{23.2, 0}, {10.8, 7.1}, {-17.5, -12.6}, {2, 11.4}, {-21.7, -9.7}, {16.9, 12.7}, {15, 0.7}, {-16.8, -5.2},
		{0.9, 3.9}},
	{{4.6, 0}, {7.8, -24.8}, {3, 12.2}, {-0.2, 8.3}, {-2.5, -3.3}, {-13.1, -5.2}, {2.4, 7.2}, {8.6, -0.6},
		{-8.7, 0.8}, {-12.9, 10}},
	{{-1.3, 0}, {-6.4, 3.3}, {0.2, 0}, {2, 2.4}, {-1, 5.3}, {-0.6, -9.1}, {-0.9, 0.4}, {1.5, -4.2}, {0.9, -3.8},
		{-2.7, 0.9}, {-3.9, -9.1}},
	{{2.9, 0}, {-1.5, 0}, {-2.5, 2.9}, {2.4, -0.6}, {-0.6, 0.2}, {-0.1, 0.5}, {-0.6, -0.3}, {-0.1, -1.2},
		{1.1, -1.7}, {-1, -2.9}, {-0.2, -1.8}, {2.6, -2.3}},
	{{-2, 0}, {-0.2, -1.3}, {0.3, 0.7}, {1.2, 1}, {-1.3, -1.4}, {0.6, 0}, {0.6, 0.6}, {0.5, -0.1}, {-0.1, 0.8},
		{-0.4, 0.1}, {-0.2, -1}, {-1.3, 0.1}, {-0.7, 0.2}},
};

/* In geocentric coordinates. */
struct magnetic_point {
	double radius_m, sine, cosine; /* of the latitude */
	double longitude;              /* rad */
};

/* P of degrees 0 .. MAGNETIC_DEGREE + 1 and one order; its first: P(order, order). */
static void magnetic_legendre(int order, double first, double sine, double ret[MAGNETIC_DEGREE + 2])
{
	double m2 = (double)order * order;
	for (int n = 0; n <= MAGNETIC_DEGREE + 1; n++)
		ret[n] = 0;
	ret[order] = first;
	for (int n = order + 1; n <= MAGNETIC_DEGREE + 1; n++) {
		double before = n - 1, last = n > order + 1 ? sqrt(before * before - m2) * ret[n - 2] : 0;
		ret[n] = ((2.0 * n - 1) * sine * ret[n - 1] - last) / sqrt((double)n * n - m2);
	}
}

/* Adds the terms of one order: to north, east, down; nT. */
static void magnetic_add_order(const struct magnetic_point *at, int m, double first, double sum[3])
{
	static const double reference_m = 6371200;
	double p[MAGNETIC_DEGREE + 2], ratio = reference_m / at->radius_m;
	double power = ratio * ratio, sine, cosine;
	magnetic_legendre(m, first, at->sine, p);
	math_sincos(m * at->longitude, &sine, &cosine);
	for (int n = 1; n <= MAGNETIC_DEGREE; n++) {
		power *= ratio;
		if (n < m)
			continue;
		const double *c = magnetic_coefficients[n - 1][m];
		double with = c[0] * cosine + c[1] * sine, across = c[0] * sine - c[1] * cosine, next = n + 1;
		double slope = (next * at->sine * p[n] - sqrt(next * next - (double)m * m) * p[n + 1]) / at->cosine;
		sum[0] -= power * with * slope;
		sum[1] += power * m * across * p[n] / at->cosine;
		sum[2] -= power * next * with * p[n];
	}
}

struct vec3 magnetic_field(struct earth_place place)
{
	static const double equatorial_m = 6378137, square = 0.00669437999014, degree = M_PI / 180, deepest_m = -1e6;
	double sum[3] = {0, 0, 0}, first = 1, sine, cosine;
	if (!(isfinite(place.latitude_deg) && isfinite(place.longitude_deg) && place.altitude_m > deepest_m &&
		    isfinite(place.altitude_m)))
		return (struct vec3){0, 0, 0};
	math_sincos(place.latitude_deg * degree, &sine, &cosine);
	double normal = equatorial_m / sqrt(1 - square * sine * sine);
	double across = (normal + place.altitude_m) * cosine, along = (normal * (1 - square) + place.altitude_m) * sine;
	struct magnetic_point at = {
		.radius_m = sqrt(across * across + along * along), .longitude = place.longitude_deg * degree};
	at.sine = along / at.radius_m;
	at.cosine = fmax(across / at.radius_m, 1e-10);
	for (int m = 0; m <= MAGNETIC_DEGREE; m++) {
		magnetic_add_order(&at, m, first, sum);
		first *= at.cosine * (m ? sqrt((2.0 * m + 1) / (2.0 * m + 2)) : 1);
	}
	/* from the geocentric to the geodetic vertical */
	double turn_sine = at.sine * cosine - at.cosine * sine, turn_cosine = at.cosine * cosine + at.sine * sine;
	double north = sum[0] * turn_cosine - sum[2] * turn_sine, down = sum[0] * turn_sine + sum[2] * turn_cosine;
	return (struct vec3){sum[1] * 1e-9, north * 1e-9, -down * 1e-9};
}
