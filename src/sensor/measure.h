/* The sensors that need no rays: from the motion of the sensor and its surroundings to what it would measure without
 * noise. Pure; any thread. */
#ifndef SENSOR_MEASURE_H
#define SENSOR_MEASURE_H

#include "scene/state.h"
#include "scene/earth.h"
#include "sensor/noise.h"

#include <troupe/reading.h>

struct motion {           /* of a sensor */
	struct pose pose; /* in the world */
	struct vec3 v;    /* of its origin, m/s, world axes */
	struct vec3 w;    /* rad/s, world axes */
};

/* in_body: the sensor's pose in the frame of the body (centre of mass). */
struct motion measure_motion(const struct body_state *body, struct pose in_body);

/* The rotation, in the world, of the frame to which an IMU's orientation refers. Without <orientation_reference_frame>
 * it is the sensor's at the beginning. ENU, NED, NWU: with the heading of <spherical_coordinates>, as navsat has it
 * (gz-sim's IMU takes the heading with the other sign). CUSTOM: custom_rpy in its parent frame. GRAV_UP, GRAV_DOWN: z
 * is against or along gravity (without gravity: the world's z is up), x is grav_dir_x, projected; if nothing is left of
 * it, the world's x or y. first: the sensor's rotation in the world at the beginning. rpy_parent, x_axis_parent: the
 * same of the frames that sdf_imu names; of "world" the identity, and of "" `first`. */
struct quat measure_imu_reference(const struct sdf_imu *imu, const struct earth *earth, struct vec3 gravity,
	struct quat first, struct quat rpy_parent, struct quat x_axis_parent);

struct measure_imu {                                     /* first its signals, in their order (sdf/sensor.h) */
	struct vec3 angular_velocity, acceleration, rpy; /* rad/s, m/s2, rad; axes of the sensor */
	struct quat orientation;                         /* in the reference frame; the same as rpy */
};

/* An IMU at the end of the step from `before` to `after`, which takes step_s: rates and orientation of `after`; the
 * mean acceleration in the step less gravity, in the axes of `after`, as Gazebo has it. At rest it is -gravity. If
 * there was no step before: before == after. The orientation stands there as roll, pitch and yaw, too, for the noise.
 */
struct measure_imu measure_imu(const struct motion *before, const struct motion *after, double step_s,
	struct vec3 gravity, struct quat reference);

/* first_m: the sensor's z at the beginning. */
struct troupe_altimeter_reading measure_altimeter(const struct motion *motion, double first_m);

/* field: T, world axes. */
struct troupe_magnetometer_reading measure_magnetometer(const struct motion *motion, struct vec3 field);

/* In Pa. origin_m: the altitude of the world's z = 0: the <elevation> of the world's origin, unless the sensor has a
 * <reference_altitude> other than 0. */
double measure_air_pressure(const struct motion *motion, const struct sdf_air *air, double origin_m);

/* The pressure of a pitot tube along the sensor's x in air at rest: rho / 2 u |u|, with the density at the sensor's
 * altitude (gz-sensors AirSpeedSensor, which has no wind either; its noise is in hPa, ours in Pa as SDF says). The wind
 * that blows is in the words of WindEffects, one for each model, and not in the state that sensors see. */
struct troupe_air_speed_reading measure_air_speed(
	const struct motion *motion, const struct sdf_air *air, double origin_m);

struct troupe_navsat_reading measure_navsat(const struct earth *earth, const struct motion *motion);
enum { MEASURE_NAVSAT_NUMBERS = sizeof(struct troupe_navsat_reading) / sizeof(double) };
/* Adds the noise of the signals: one for horizontal and one for vertical positions, and the same for velocities. That
 * of the horizontal position is in m, as SDF says (Gazebo adds it in degrees). keys: of each number of the reading, in
 * its order. caches: NULL, or one for each number. Longitude has no noise at a pole. */
void measure_navsat_noise(const struct earth *earth, const struct sdf_signal signals[4],
	const uint64_t keys[MEASURE_NAVSAT_NUMBERS], const struct noise_sample *sample, struct noise_cache *caches,
	struct troupe_navsat_reading *reading);

/* A force-torque sensor. Torques are about the origin of the sensor. on_child: the wrench that the joint exerts on its
 * child, with its torque about `point`, both in the world. The result is this wrench in the axes of sensor, child or
 * parent, with the sign of measure_direction: child to parent, the default, is the wrench that the child exerts on the
 * joint. */
struct troupe_wrench measure_force_torque(const struct sdf_force_torque *sdf, struct troupe_wrench on_child,
	struct vec3 point, const struct pose *sensor, struct quat child, struct quat parent);

/* Whether the frustum of the camera, at pose, holds the point: the origin of a model, as in Gazebo. */
bool measure_frustum_holds(const struct sdf_logical_camera *camera, struct pose pose, struct vec3 point);

#endif
