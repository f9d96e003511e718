/* Where on earth a point of the world is, and the air and the magnetic field there. Pure; any thread.
 *
 * Place: the world's origin is at <spherical_coordinates>, on an ellipsoid of revolution (sdf/look.h). The world's z is
 * up, and its x axis points `heading` anticlockwise from east, as seen from above (gz::math::SphericalCoordinates, with
 * the coordinates that it calls LOCAL2 and, since version 8, LOCAL). World coordinates are cartesian: the ground of a
 * flat world leaves the ellipsoid with the square of the distance (1 km: 8 cm).
 *
 * MOON_SCS is here a sphere of 1737.4 km, as the coordinate system of that name is defined; Gazebo takes 1738.1 and
 * 1736.0 km. Latitude and altitude are exact to 1e-9 degrees and 1e-6 m at any distance (Gazebo takes one step of
 * Bowring's method, whose altitude is 0.1 mm off at 100 km and 8 mm at 1000 km).
 *
 * The magnetic field is the vector of <magnetic_field> in the axes of the world, everywhere, as sdf_surroundings has
 * it. The earth's own field by place is in scene/magnetic.h; PX4's magnetometers measure it. */
#ifndef SCENE_EARTH_H
#define SCENE_EARTH_H

#include "sdf/look.h"

struct earth { /* of a world; made once */
	double equatorial_m, polar_m;
	struct vec3 origin;     /* earth-centred: x at latitude and longitude 0, z at the north pole; m */
	struct mat3 from_world; /* directions: earth-centred from those of the world */
	double cos_heading, sin_heading;
};

struct earth_place {
	double latitude_deg, longitude_deg; /* -90 .. 90, -180 .. 180 */
	double altitude_m;                  /* above the ellipsoid */
};

struct earth earth_of(const struct sdf_earth *sdf);

/* of a point of the world, and back */
struct earth_place earth_place(const struct earth *earth, struct vec3 in_world);
struct vec3 earth_point(const struct earth *earth, struct earth_place place);

/* A velocity in the world as east, north, up of the world's origin (as Gazebo does: not of the place). */
struct vec3 earth_velocity(const struct earth *earth, struct vec3 in_world);
/* The rotation of those axes (x east, y north, z up) in the world. */
struct quat earth_axes(const struct earth *earth);

/* What one degree of latitude and one of longitude are there, in m; the latter is 0 at a pole. */
void earth_degree(const struct earth *earth, struct earth_place place, double *ret_latitude_m, double *ret_longitude_m);

struct earth_air {
	double temperature_K, pressure_Pa, density_kg_m3;
};

/* The air at an altitude; <atmosphere> describes that at sea level. The temperature changes linearly with the
 * geopotential height, and the pressure as it does in standard air (U.S. Standard Atmosphere 1976, equations 18 and
 * 33a):
 *
 *   H = r z / (r + z),  T = T0 + L H,  p = p0 (T0 / T)^(g M / (R L)),  or p0 exp(-g M H / (R T0)) if L is 0
 *
 * With the defaults of <atmosphere> this is the pressure of Gazebo's air pressure sensor, which has these defaults as
 * constants, and the density of its air speed sensor. (Gazebo takes z of the world for the altitude, wherever on earth
 * the world is.) Where T is not above 0 there is no air: all three are 0. */
struct earth_air earth_air(const struct sdf_air *air, double altitude_m);

#endif
