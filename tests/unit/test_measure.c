/* What sensors without rays measure, in motions whose readings are known: a turntable, free fall, a body at rest, a
 * body that is tilted. A vector in the axes of another frame, a missing arm, a sign or a frame of reference that is
 * exchanged fails here. */
#include "sensor/measure.h"

#include <criterion/criterion.h>

TestSuite(measure, .timeout = 60);

#define PI 3.14159265358979323846

#define near(value, expected, within)                                                                                  \
	cr_assert(fabs((value) - (expected)) <= (within), "%s is %.15g, not %.15g within %g", #value, (double)(value), \
		(double)(expected), (double)(within))

static void near3(const double *v, double x, double y, double z, double within)
{
	cr_assert(fabs(v[0] - x) <= within && fabs(v[1] - y) <= within && fabs(v[2] - z) <= within,
		"%.12g %.12g %.12g is not %g %g %g", v[0], v[1], v[2], x, y, z);
}

/* Where the rotation takes x and z. */
static void turns_to(struct quat q, struct vec3 x, struct vec3 z)
{
	struct vec3 to_x = quat_rotate(q, (struct vec3){1, 0, 0}), to_z = quat_rotate(q, (struct vec3){0, 0, 1});
	near(vec3_length(vec3_sub(to_x, x)), 0, 1e-12);
	near(vec3_length(vec3_sub(to_z, z)), 0, 1e-12);
}

static const struct vec3 gravity = {0, 0, -9.8};

static struct motion still(struct quat q)
{
	return (struct motion){.pose = {{1, 2, 3}, q}};
}

/* --- IMU ---------------------------------------------------------------------------------------------------------- */

static struct measure_imu read_imu(const struct motion *before, const struct motion *after, double step_s)
{
	return measure_imu(before, after, step_s, gravity, QUAT_IDENTITY);
}

Test(measure, at_rest_an_imu_feels_the_ground)
{
	struct measure_imu imu;
	struct motion level = still(QUAT_IDENTITY), tilted = still(quat_from_rpy(0.5, 0, 0));
	struct motion on_its_nose = still(quat_from_rpy(0, PI / 2, 0)), turned = still(quat_from_rpy(0, 0, 2));
	imu = read_imu(&level, &level, 1e-3);
	near3(&imu.angular_velocity.x, 0, 0, 0, 0);
	near3(&imu.acceleration.x, 0, 0, 9.8, 0);
	imu = read_imu(&tilted, &tilted, 1e-3);
	near3(&imu.acceleration.x, 0, 9.8 * sin(0.5), 9.8 * cos(0.5), 1e-12);
	near3(&imu.rpy.x, 0.5, 0, 0, 1e-12);
	imu = read_imu(&on_its_nose, &on_its_nose, 1e-3);
	near3(&imu.acceleration.x, -9.8, 0, 0, 1e-12);
	near3(&imu.rpy.x, 0, PI / 2, 0, 1e-7);
	imu = read_imu(&turned, &turned, 1e-3);
	near3(&imu.acceleration.x, 0, 0, 9.8, 1e-12);
	near3(&imu.rpy.x, 0, 0, 2, 1e-12);
}

Test(measure, in_free_fall_an_imu_feels_nothing)
{
	struct motion before = still(quat_from_rpy(0.3, 0.2, 0.1)), after = before;
	after.v = vec3_scale(gravity, 1e-3);
	struct measure_imu imu = read_imu(&before, &after, 1e-3);
	near3(&imu.acceleration.x, 0, 0, 0, 1e-12);
}

/* 2 rad/s, 3 m from the axis: 12 m/s2 towards it, in the sensor's own axes. The sensor's x points outward, and it is
 * mounted upside down in one of the cases. */
Test(measure, on_a_turntable_an_imu_feels_its_radius)
{
	const double dt = 1e-4, rate = 2;
	for (uint32_t i = 0; i < 8; i++) {
		double angle = 0.8 * i;
		struct body_state before = {.q = quat_from_rpy(0, 0, angle), .w = {0, 0, rate}},
				  after = {.q = quat_from_rpy(0, 0, angle + rate * dt), .w = {0, 0, rate}};
		double roll = i % 2 ? PI : 0, up = i % 2 ? -1 : 1;
		struct pose in_body = {{3, 0, 0}, quat_from_rpy(roll, 0, 0)};
		struct motion a = measure_motion(&before, in_body), b = measure_motion(&after, in_body);
		near(vec3_length(b.v), 6, 1e-12);
		struct measure_imu imu = read_imu(&a, &b, dt);
		near3(&imu.angular_velocity.x, 0, 0, rate * up, 1e-12);
		near3(&imu.acceleration.x, -12, 0, 9.8 * up, 12 * rate * dt);
		near(imu.acceleration.x, -12, 1e-6);
	}
}

Test(measure, the_motion_of_a_sensor_is_that_of_its_point)
{
	struct body_state body = {{1, 2, 3}, quat_from_rpy(0, 0, PI / 2), {10, 0, 0}, {0, 0, 5}};
	struct motion motion = measure_motion(&body, (struct pose){{2, 0, 1}, quat_from_rpy(0, 0, PI / 2)});
	near3(&motion.pose.p.x, 1, 4, 4, 1e-12);
	near3(&motion.v.x, 0, 0, 0, 1e-12); /* w x (0 2 1) = -10 0 0 */
	turns_to(motion.pose.q, (struct vec3){-1, 0, 0}, (struct vec3){0, 0, 1});
}

static struct quat reference(enum sdf_imu_frame frame, double heading_deg, struct vec3 x_axis, struct vec3 pull)
{
	const struct sdf_imu imu = {.reference_given = true, .frame = frame, .rpy = {0, 0, 1}, .x_axis = x_axis};
	struct earth earth = earth_of(
		&(struct sdf_earth){.equatorial_m = 6378137, .polar_m = 6356752.314245, .heading_deg = heading_deg});
	return measure_imu_reference(
		&imu, &earth, pull, quat_from_rpy(1, 0, 0), quat_from_rpy(0, 0, 0.5), quat_from_rpy(0, 0, PI / 2));
}

#define V(x, y, z) ((struct vec3){x, y, z})

/* With a heading of 0 the world's x is east and y is north; with one of 90 degrees x is north and y is west. */
Test(measure, orientation_refers_to_the_named_frame)
{
	turns_to(reference(SDF_IMU_ENU, 0, V(1, 0, 0), gravity), V(1, 0, 0), V(0, 0, 1));
	turns_to(reference(SDF_IMU_NED, 0, V(1, 0, 0), gravity), V(0, 1, 0), V(0, 0, -1));
	turns_to(reference(SDF_IMU_NWU, 0, V(1, 0, 0), gravity), V(0, 1, 0), V(0, 0, 1));
	turns_to(reference(SDF_IMU_ENU, 90, V(1, 0, 0), gravity), V(0, -1, 0), V(0, 0, 1));
	turns_to(reference(SDF_IMU_NED, 90, V(1, 0, 0), gravity), V(1, 0, 0), V(0, 0, -1));
	turns_to(reference(SDF_IMU_NWU, 90, V(1, 0, 0), gravity), V(1, 0, 0), V(0, 0, 1));
	/* custom: 1 rad about z in a parent that is turned by 0.5 */
	turns_to(reference(SDF_IMU_CUSTOM, 90, V(1, 0, 0), gravity), V(cos(1.5), sin(1.5), 0), V(0, 0, 1));
	struct sdf_imu none = {.frame = SDF_IMU_CUSTOM};
	turns_to(measure_imu_reference(&none, NULL, gravity, quat_from_rpy(PI / 2, 0, 0), QUAT_IDENTITY, QUAT_IDENTITY),
		V(1, 0, 0), V(0, -1, 0));
}

/* grav_dir_x is given in a frame that is turned by a quarter: its x is the world's y. */
Test(measure, orientation_refers_to_gravity)
{
	turns_to(reference(SDF_IMU_GRAVITY_UP, 0, V(1, 0, 5), gravity), V(0, 1, 0), V(0, 0, 1));
	turns_to(reference(SDF_IMU_GRAVITY_DOWN, 0, V(1, 0, 5), gravity), V(0, 1, 0), V(0, 0, -1));
	turns_to(reference(SDF_IMU_GRAVITY_UP, 0, V(0, 1, 0), V(0, 3, 0)), V(-1, 0, 0), V(0, -1, 0));
	turns_to(reference(SDF_IMU_GRAVITY_DOWN, 0, V(0, 0, 1), V(2, 0, 0)), V(0, 0, 1), V(1, 0, 0));
	turns_to(reference(SDF_IMU_GRAVITY_UP, 0, V(0, 0, 1), gravity), V(1, 0, 0), V(0, 0, 1)); /* along gravity */
	turns_to(reference(SDF_IMU_GRAVITY_UP, 0, V(1, 0, 0), V(0, 0, 0)), V(0, 1, 0), V(0, 0, 1));
	struct vec3 odd = {1, -2, 0.5}, z = vec3_unit(vec3_scale(odd, -1));
	struct vec3 x = quat_rotate(reference(SDF_IMU_GRAVITY_UP, 0, V(0.3, 2, 1), odd), V(1, 0, 0));
	near(vec3_dot(x, z), 0, 1e-12);
	turns_to(reference(SDF_IMU_GRAVITY_UP, 0, V(0.3, 2, 1), odd), x, z);
}

/* What a compass, a pilot or a submarine would call heading north-east, nose up. */
Test(measure, orientation_is_that_of_the_sensor_in_its_reference)
{
	struct motion motion = still(quat_mul(quat_from_rpy(0, 0, PI / 4), quat_from_rpy(0, -0.2, 0)));
	struct measure_imu imu =
		measure_imu(&motion, &motion, 1, gravity, reference(SDF_IMU_NED, 0, V(1, 0, 0), gravity));
	near(fabs(imu.rpy.x), PI, 1e-12); /* z of the sensor is up, z of the frame down */
	near3(&imu.rpy.x, imu.rpy.x, 0.2, PI / 4, 1e-12);
	struct quat again = quat_from_rpy(imu.rpy.x, imu.rpy.y, imu.rpy.z), first = imu.orientation;
	near(fabs(again.w * first.w + again.x * first.x + again.y * first.y + again.z * first.z), 1, 1e-12);
	imu = measure_imu(&motion, &motion, 1, gravity, motion.pose.q);
	near3(&imu.rpy.x, 0, 0, 0, 1e-12);
}

/* --- others ------------------------------------------------------------------------------------------------------- */

Test(measure, height_field_and_air)
{
	const struct sdf_air air = {288.15, -0.0065, 101325};
	struct motion motion = {.pose = {{5, 6, 1000}, quat_from_rpy(0, 0, PI / 2)}, .v = {1, -30, 4}};
	struct troupe_altimeter_reading height = measure_altimeter(&motion, 900);
	near(height.height_m, 100, 0);
	near(height.climb_m_s, 4, 0);
	near(height.first_m, 900, 0);
	struct troupe_magnetometer_reading north = measure_magnetometer(&motion, (struct vec3){1e-5, 2e-5, -4e-5});
	near3(&north.field.x, 2e-5, -1e-5, -4e-5, 1e-18);
	near(measure_air_pressure(&motion, &air, 0), 89876, 2);
	near(measure_air_pressure(&motion, &air, 4000), 54048, 2);
	struct troupe_air_speed_reading tube = measure_air_speed(&motion, &air, 0); /* backwards at 30 m/s */
	near(tube.pressure_Pa, -1.1117 / 2 * 900, 0.05);
	near(tube.temperature_K, 281.651, 1e-3);
	tube = measure_air_speed(&motion, &air, 4000);
	near(tube.pressure_Pa, -0.73643 / 2 * 900, 0.05);
	near(tube.temperature_K, 255.676, 1e-3);
}

Test(measure, navsat)
{
	struct earth earth = earth_of(&(struct sdf_earth){.equatorial_m = 6378137,
		.polar_m = 6356752.314245,
		.latitude_deg = 60,
		.longitude_deg = 179.999,
		.elevation_m = 50,
		.heading_deg = 90});
	struct motion motion = {.pose = {{0, -100, 7}, QUAT_IDENTITY}, .v = {3, -4, 5}};
	const struct troupe_navsat_reading plain = measure_navsat(&earth, &motion);
	near(plain.latitude_deg, 60, 1e-4);
	near(plain.longitude_deg, -179.9992, 1e-4); /* 100 m to the east, beyond the date line */
	near(plain.altitude_m, 57, 1e-2);
	near3(&plain.velocity_m_s.x, 4, 3, 5, 1e-12);

	/* the deviation of each number, in the units of its signal */
	struct sdf_signal signals[4];
	uint64_t keys[MEASURE_NAVSAT_NUMBERS];
	double sum[MEASURE_NAVSAT_NUMBERS] = {0}, latitude_m, longitude_m;
	for (uint32_t i = 0; i < 4; i++)
		signals[i] = noise_open((struct sdf_noise){.kind = SDF_NOISE_GAUSSIAN, .stddev = i + 1});
	for (uint32_t i = 0; i < MEASURE_NAVSAT_NUMBERS; i++)
		keys[i] = noise_key(1, 2, 3, i);
	earth_degree(&earth, (struct earth_place){60, 0, 57}, &latitude_m, &longitude_m);
	const double unit[MEASURE_NAVSAT_NUMBERS] = {latitude_m, longitude_m, 1, 1, 1, 1},
		     deviation[MEASURE_NAVSAT_NUMBERS] = {1, 1, 2, 3, 3, 4};
	for (uint32_t k = 0; k < 4000; k++) {
		struct troupe_navsat_reading noisy = plain;
		measure_navsat_noise(&earth, signals, keys, &(struct noise_sample){k, k, 1}, NULL, &noisy);
		for (uint32_t i = 0; i < MEASURE_NAVSAT_NUMBERS; i++)
			sum[i] += pow((((double *)&noisy)[i] - ((const double *)&plain)[i]) * unit[i], 2);
	}
	for (uint32_t i = 0; i < MEASURE_NAVSAT_NUMBERS; i++)
		near(sqrt(sum[i] / 4000), deviation[i], 0.05 * deviation[i]);
	struct troupe_navsat_reading pole = {.latitude_deg = 90, .longitude_deg = 30};
	for (uint32_t k = 0; k < 100; k++) {
		measure_navsat_noise(&earth, signals, keys, &(struct noise_sample){k, k, 1}, NULL, &pole);
		cr_assert(fabs(pole.latitude_deg) <= 90 && fabs(pole.longitude_deg) <= 180);
	}
}

/* 10 N pull the child up (world z) at a point 2 m from the sensor along the world's x; the joint twists it by 3 N m. */
Test(measure, a_wrench_in_each_frame_and_both_directions)
{
	const struct troupe_wrench on_child = {{0, 0, 10}, {3, 0, 0}};
	const struct pose sensor = {{1, 0, 0}, quat_from_rpy(PI / 2, 0, 0)}; /* its y is the world's z */
	const struct quat child = quat_from_rpy(0, 0, PI / 2), parent = quat_from_rpy(0, PI / 2, 0);
	const struct vec3 point = {3, 0, 0};
	static const struct {
		enum sdf_wrench_frame frame;
		double force[3], torque[3]; /* the torque about the sensor in the world: 3 -20 0 */
	} cases[] = {{SDF_WRENCH_SENSOR, {0, 10, 0}, {3, 0, 20}}, {SDF_WRENCH_CHILD, {0, 0, 10}, {-20, -3, 0}},
		{SDF_WRENCH_PARENT, {-10, 0, 0}, {0, -20, 3}}};
	for (uint32_t i = 0; i < ARRAY_LEN(cases); i++)
		for (int sign = -1; sign <= 1; sign += 2) {
			struct sdf_force_torque sdf = {cases[i].frame, sign > 0};
			struct troupe_wrench wrench =
				measure_force_torque(&sdf, on_child, point, &sensor, child, parent);
			near3(&wrench.force.x, sign * cases[i].force[0], sign * cases[i].force[1],
				sign * cases[i].force[2], 1e-12);
			near3(&wrench.torque.x, sign * cases[i].torque[0], sign * cases[i].torque[1],
				sign * cases[i].torque[2], 1e-12);
		}
}
