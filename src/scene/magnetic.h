/* The earth's magnetic field by place: the main field of the World Magnetic Model 2025 of NOAA and BGS at its epoch,
 * the begin of 2025, wherever the simulated time is (file WMM.COF of 13 November 2024, which is in the public domain:
 * ncei.noaa.gov/products/world-magnetic-model). Pure; any thread.
 *
 * The field is minus the gradient of a potential in geocentric spherical coordinates r, latitude f, longitude l, with
 * Schmidt's semi-normalized functions P of sin f, a = 6371.2 km, and the coefficients g and h (Chulliat et al., "The
 * US/UK World Magnetic Model", equations 4 to 16):
 *
 *   V = a sum(n = 1 .. 12) (a / r)^(n + 1) sum(m = 0 .. n) (g cos m l + h sin m l) P(n, m)
 *
 * It is 0.1 nT from the model's published test values, at heights to 100 km. */
#ifndef SCENE_MAGNETIC_H
#define SCENE_MAGNETIC_H

#include "scene/earth.h"

/* East, north, up at the place; T. In the earth, 1000 km below the ellipsoid of WGS84 or deeper, and where the place is
 * not finite: 0. */
struct vec3 magnetic_field(struct earth_place place);

#endif
