/* Each sensor is a formula on the motion of its frame. The acceleration is a difference of velocities, and not a force
 * by a mass, because a step's contacts and joints act as impulses: the difference has all of them, whichever part of
 * the physics made them. */
#include "sensor/measure.h"

#include "base/math.h"

#define PI 3.14159265358979323846

struct motion measure_motion(const struct body_state *body, struct pose in_body)
{
	struct vec3 arm = quat_rotate(body->q, in_body.p);
	return (struct motion){.pose = {vec3_add(body->p, arm), quat_unit(quat_mul(body->q, in_body.q))},
		.v = vec3_add(body->v, vec3_cross(body->w, arm)),
		.w = body->w};
}

/* A vector of the world in the axes of a frame. */
static struct vec3 measure_in_axes(struct quat frame, struct vec3 v)
{
	return quat_rotate(quat_conj(frame), v);
}

/* --- IMU ---------------------------------------------------------------------------------------------------------- */

/* v without its part along the unit vector. */
static struct vec3 measure_across(struct vec3 v, struct vec3 along)
{
	return vec3_sub(v, vec3_scale(along, vec3_dot(v, along)));
}

static struct vec3 measure_first_across(struct vec3 wanted, struct vec3 along)
{
	const struct vec3 tries[] = {vec3_unit(wanted), {1, 0, 0}, {0, 1, 0}};
	struct vec3 x = {0};
	for (uint32_t i = 0; i < ARRAY_LEN(tries) && vec3_length(x) < 1e-6; i++)
		x = measure_across(tries[i], along);
	return vec3_unit(x);
}

/* The rotation whose x and z axes are these (unit, at right angles): by way of the half turn or less that takes the
 * world's z to z, and then a turn about z. */
static struct quat measure_from_axes(struct vec3 x, struct vec3 z)
{
	struct quat tilt = z.z > -0.5 ? quat_unit((struct quat){1 + z.z, -z.y, z.x, 0})
				      : quat_unit((struct quat){-z.y, 1 - z.z, 0, z.x});
	struct vec3 flat = quat_rotate(quat_conj(tilt), x);
	return quat_mul(tilt, quat_from_rpy(0, 0, math_atan2(flat.y, flat.x)));
}

static struct quat measure_by_gravity(struct vec3 gravity, struct vec3 x_axis, bool up)
{
	struct vec3 z = vec3_unit(vec3_scale(gravity, -1));
	if (!(vec3_length(z) > 0.5))
		z = (struct vec3){0, 0, 1};
	if (!up)
		z = vec3_scale(z, -1);
	return measure_from_axes(measure_first_across(x_axis, z), z);
}

struct quat measure_imu_reference(const struct sdf_imu *imu, const struct earth *earth, struct vec3 gravity,
	struct quat first, struct quat rpy_parent, struct quat x_axis_parent)
{
	if (!imu->reference_given)
		return first;
	switch (imu->frame) {
	case SDF_IMU_ENU:
		return earth_axes(earth);
	case SDF_IMU_NED:
		return quat_mul(earth_axes(earth), quat_from_rpy(PI, 0, PI / 2));
	case SDF_IMU_NWU:
		return quat_mul(earth_axes(earth), quat_from_rpy(0, 0, PI / 2));
	case SDF_IMU_GRAVITY_UP:
	case SDF_IMU_GRAVITY_DOWN:
		return measure_by_gravity(
			gravity, quat_rotate(x_axis_parent, imu->x_axis), imu->frame == SDF_IMU_GRAVITY_UP);
	case SDF_IMU_CUSTOM:
		break;
	}
	return quat_mul(rpy_parent, quat_from_rpy(imu->rpy.x, imu->rpy.y, imu->rpy.z));
}

/* At a pitch of a quarter turn, where roll and yaw are one angle, roll is 0. */
static struct vec3 measure_rpy_of(struct quat q)
{
	struct mat3 m = quat_matrix(q);
	double level = sqrt(m.m[0][0] * m.m[0][0] + m.m[1][0] * m.m[1][0]), pitch = math_atan2(-m.m[2][0], level);
	if (level < 1e-9)
		return (struct vec3){0, pitch, math_atan2(-m.m[0][1], m.m[1][1])};
	return (struct vec3){math_atan2(m.m[2][1], m.m[2][2]), pitch, math_atan2(m.m[1][0], m.m[0][0])};
}

struct measure_imu measure_imu(const struct motion *before, const struct motion *after, double step_s,
	struct vec3 gravity, struct quat reference)
{
	struct vec3 acceleration = vec3_scale(vec3_sub(after->v, before->v), 1 / step_s);
	struct quat orientation = quat_unit(quat_mul(quat_conj(reference), after->pose.q));
	return (struct measure_imu){.angular_velocity = measure_in_axes(after->pose.q, after->w),
		.acceleration = measure_in_axes(after->pose.q, vec3_sub(acceleration, gravity)),
		.rpy = measure_rpy_of(orientation),
		.orientation = orientation};
}

/* --- height, field and air ---------------------------------------------------------------------------------------- */

struct troupe_altimeter_reading measure_altimeter(const struct motion *motion, double first_m)
{
	return (struct troupe_altimeter_reading){
		.height_m = motion->pose.p.z - first_m, .climb_m_s = motion->v.z, .first_m = first_m};
}

struct troupe_magnetometer_reading measure_magnetometer(const struct motion *motion, struct vec3 field)
{
	return (struct troupe_magnetometer_reading){measure_in_axes(motion->pose.q, field)};
}

double measure_air_pressure(const struct motion *motion, const struct sdf_air *air, double origin_m)
{
	return earth_air(air, origin_m + motion->pose.p.z).pressure_Pa;
}

struct troupe_air_speed_reading measure_air_speed(
	const struct motion *motion, const struct sdf_air *air, double origin_m)
{
	struct earth_air here = earth_air(air, origin_m + motion->pose.p.z);
	double speed = measure_in_axes(motion->pose.q, motion->v).x;
	return (struct troupe_air_speed_reading){
		.pressure_Pa = here.density_kg_m3 / 2 * speed * fabs(speed), .temperature_K = here.temperature_K};
}

/* --- navsat ------------------------------------------------------------------------------------------------------- */

struct troupe_navsat_reading measure_navsat(const struct earth *earth, const struct motion *motion)
{
	struct earth_place place = earth_place(earth, motion->pose.p);
	return (struct troupe_navsat_reading){
		place.latitude_deg, place.longitude_deg, place.altitude_m, earth_velocity(earth, motion->v)};
}

void measure_navsat_noise(const struct earth *earth, const struct sdf_signal signals[4],
	const uint64_t keys[MEASURE_NAVSAT_NUMBERS], const struct noise_sample *sample, struct noise_cache *caches,
	struct troupe_navsat_reading *reading)
{
	const struct {
		double *number;
		uint32_t signal;
	} noisy[MEASURE_NAVSAT_NUMBERS] = {{&reading->latitude_deg, SDF_NAVSAT_POSITION},
		{&reading->longitude_deg, SDF_NAVSAT_POSITION}, {&reading->altitude_m, SDF_NAVSAT_POSITION + 1},
		{&reading->velocity_m_s.x, SDF_NAVSAT_VELOCITY}, {&reading->velocity_m_s.y, SDF_NAVSAT_VELOCITY},
		{&reading->velocity_m_s.z, SDF_NAVSAT_VELOCITY + 1}};
	double metres[MEASURE_NAVSAT_NUMBERS] = {1, 1, 1, 1, 1, 1}; /* of one unit of each number */
	const struct earth_place place = {reading->latitude_deg, reading->longitude_deg, reading->altitude_m};
	earth_degree(earth, place, &metres[0], &metres[1]);
	for (uint32_t i = 0; i < MEASURE_NAVSAT_NUMBERS; i++)
		if (noise_matters(&signals[noisy[i].signal]) && metres[i] > 0)
			*noisy[i].number = noise_apply(&signals[noisy[i].signal], keys[i], sample,
						   caches ? &caches[i] : NULL, *noisy[i].number * metres[i]) /
					   metres[i];
	if (fabs(reading->latitude_deg) > 90)
		reading->latitude_deg = copysign(90, reading->latitude_deg);
	if (fabs(reading->longitude_deg) > 180)
		reading->longitude_deg = remainder(reading->longitude_deg, 360);
}

/* --- forces ------------------------------------------------------------------------------------------------------- */

struct troupe_wrench measure_force_torque(const struct sdf_force_torque *sdf, struct troupe_wrench on_child,
	struct vec3 point, const struct pose *sensor, struct quat child, struct quat parent)
{
	struct quat axes = sdf->frame == SDF_WRENCH_CHILD    ? child
			   : sdf->frame == SDF_WRENCH_PARENT ? parent
							     : sensor->q;
	double sign = sdf->parent_to_child ? 1 : -1;
	struct vec3 arm = vec3_sub(point, sensor->p);
	struct vec3 torque = vec3_add(on_child.torque, vec3_cross(arm, on_child.force));
	return (struct troupe_wrench){measure_in_axes(axes, vec3_scale(on_child.force, sign)),
		measure_in_axes(axes, vec3_scale(torque, sign))};
}

/* --- places ------------------------------------------------------------------------------------------------------- */

bool measure_frustum_holds(const struct sdf_logical_camera *camera, struct pose pose, struct vec3 point)
{
	struct vec3 p = pose_point(pose_inverse(pose), point);
	double wide = math_tan(camera->fov_rad / 2), high = wide / camera->aspect_ratio;
	return p.x >= camera->near_m && p.x <= camera->far_m && fabs(p.y) <= wide * p.x && fabs(p.z) <= high * p.x;
}
