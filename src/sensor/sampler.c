/* Each kind of sensor has one function: it asks measure.h for the true values, then noise.h for what a sensor makes of
 * them, and stores the numbers that reading.h lists. */
#include "sensor/sampler.h"

#include "scene/axis.h"
#include "sensor/measure.h"

struct sample { /* one that is being taken */
	const struct sampler *from;
	struct sensor *sensor;
	struct noise_sample noise;
	struct motion before, after;
	struct readings *readings;
};

/* --- parts -------------------------------------------------------------------------------------------------------- */

static struct motion motion_of(const struct sampler *sampler, const struct sensor *sensor, bool next)
{
	const struct scene_link *link = &sampler->scene->links[sensor->link];
	if (link->body == SCENE_NONE)
		return (struct motion){.pose = pose_mul(link->in_body, sensor->sdf->in_parent)};
	return measure_motion(
		state_body(sampler->state, link->body, next), pose_mul(link->in_body, sensor->sdf->in_parent));
}

static uint64_t key_of(const struct sample *sample, uint32_t signal)
{
	const struct sensor *sensor = sample->sensor;
	return noise_key(sample->from->seed, sample->from->scene->models[sensor->model].id, sensor->index, signal);
}

static struct noise_cache *cache_of(const struct sample *sample, uint32_t signal)
{
	return sample->sensor->caches ? &sample->sensor->caches[signal] : NULL;
}

/* Makes the true values of the first signals of the sensor what it measures. */
static void add_noise(const struct sample *sample, uint32_t count, double *values)
{
	const struct sdf_settings *settings = sample->sensor->sdf->settings;
	for (uint32_t i = 0; i < count && i < settings->signal_count; i++)
		values[i] = noise_apply(
			&settings->signals[i], key_of(sample, i), &sample->noise, cache_of(sample, i), values[i]);
}

static double *add(const struct sample *sample, uint32_t count)
{
	uint64_t id = sample->from->scene->models[sample->sensor->model].id;
	return readings_add(sample->readings, sample->sensor, id, sample->from->time_ns, count * sizeof(double));
}

static void put_vec3(double *to, struct vec3 v)
{
	to[0] = v.x, to[1] = v.y, to[2] = v.z;
}

/* --- kinds -------------------------------------------------------------------------------------------------------- */

static void read_imu(const struct sample *sample)
{
	const struct sensor *sensor = sample->sensor;
	const struct sdf_settings *settings = sensor->sdf->settings;
	double signals[9];
	struct quat q;
	measure_imu(&sample->before, &sample->after, sample->from->dt, sample->from->scene->gravity, sensor->reference,
		signals, &q);
	bool turned = false;
	for (uint32_t i = SDF_IMU_ORIENTATION; i < settings->signal_count; i++)
		turned |= noise_matters(&settings->signals[i]);
	add_noise(sample, 9, signals);
	q = turned ? measure_imu_orientation(signals) : q;
	double *n = add(sample, 11);
	n[0] = settings->imu->orientation;
	if (settings->imu->orientation)
		n[1] = q.w, n[2] = q.x, n[3] = q.y, n[4] = q.z;
	for (uint32_t i = 0; i < 6; i++)
		n[5 + i] = signals[i];
}

static void read_altimeter(const struct sample *sample)
{
	double signals[2];
	measure_altimeter(&sample->after, sample->sensor->first.p.z, signals);
	add_noise(sample, 2, signals);
	double *n = add(sample, 3);
	n[0] = signals[0];
	n[1] = signals[1];
	n[2] = sample->sensor->first.p.z;
}

static void read_magnetometer(const struct sample *sample)
{
	double signals[3];
	measure_magnetometer(&sample->after, sample->sensor->surroundings->magnetic_field, signals);
	add_noise(sample, 3, signals);
	put_vec3(add(sample, 3), (struct vec3){signals[0], signals[1], signals[2]});
}

static void read_air_pressure(const struct sample *sample)
{
	const struct sdf_settings *settings = sample->sensor->sdf->settings;
	double signals[1], stddev = settings->signal_count ? settings->signals[0].noise.stddev : 0;
	measure_air_pressure(
		&sample->after, &sample->sensor->surroundings->air, *settings->reference_altitude_m, signals);
	add_noise(sample, 1, signals);
	double *n = add(sample, 2);
	n[0] = signals[0];
	n[1] = stddev * stddev;
}

static void read_air_speed(const struct sample *sample)
{
	double signals[1], temperature_K;
	measure_air_speed(&sample->after, &sample->sensor->surroundings->air, signals, &temperature_K);
	add_noise(sample, 1, signals);
	double *n = add(sample, 2);
	n[0] = signals[0];
	n[1] = temperature_K;
}

static void read_navsat(const struct sample *sample)
{
	const struct sdf_settings *settings = sample->sensor->sdf->settings;
	struct earth earth = earth_of(&sample->sensor->surroundings->earth);
	double numbers[NAVSAT_NUMBERS];
	uint64_t keys[NAVSAT_NUMBERS];
	measure_navsat(&earth, &sample->after, numbers);
	for (uint32_t i = 0; i < NAVSAT_NUMBERS; i++)
		keys[i] = key_of(sample, i);
	if (settings->signal_count >= 4)
		measure_navsat_noise(&earth, settings->signals, keys, &sample->noise, sample->sensor->caches, numbers);
	double *n = add(sample, NAVSAT_NUMBERS);
	for (uint32_t i = 0; i < NAVSAT_NUMBERS; i++)
		n[i] = numbers[i];
}

/* The rotation of a link of the model, by its index in the file. */
static struct quat rotation_of(const struct sample *sample, uint32_t sdf_link)
{
	const struct scene *scene = sample->from->scene;
	const struct scene_model *m = &scene->models[sample->sensor->model];
	if (sdf_link == SDF_NONE)
		return QUAT_IDENTITY;
	const struct scene_link *link =
		&scene->links[m->link_first + (sdf_link - m->from->models.at[m->sdf].link_first)];
	return link->body == SCENE_NONE
		       ? link->in_body.q
		       : quat_mul(state_body(sample->from->state, link->body, false)->q, link->in_body.q);
}

/* The sensor is where the file has it on the child of its joint. */
static struct pose pose_on_child(const struct sample *sample, const struct scene_joint *joint)
{
	struct pose first = pose_mul(joint->sdf->in_world, sample->sensor->sdf->in_parent);
	if (joint->child == SCENE_NONE)
		return first;
	const struct body_state *body = state_body(sample->from->state, joint->child, false);
	struct pose in_body = pose_mul(pose_inverse(sample->from->scene->bodies[joint->child].reference), first);
	return pose_mul((struct pose){body->p, body->q}, in_body);
}

static void read_force_torque(const struct sample *sample)
{
	const struct sensor *sensor = sample->sensor;
	const struct scene_joint *joint = &sample->from->scene->joints[sensor->joint];
	const struct reaction *reaction = &sample->from->reactions[sensor->joint];
	struct pose pose = pose_on_child(sample, joint);
	double signals[6];
	measure_force_torque(sensor->sdf->settings->force_torque, (struct wrench){reaction->force, reaction->torque},
		scene_axis_anchor(sample->from->state, joint, false), &pose, rotation_of(sample, joint->sdf->child),
		rotation_of(sample, joint->sdf->parent), signals);
	add_noise(sample, 6, signals);
	double *n = add(sample, 6);
	for (uint32_t i = 0; i < 6; i++)
		n[i] = signals[i];
}

static const struct {
	void (*read)(const struct sample *sample);
	uint32_t numbers;
} kinds[] = {
	[SDF_IMU] = {read_imu, 11},
	[SDF_FORCE_TORQUE] = {read_force_torque, 6},
	[SDF_ALTIMETER] = {read_altimeter, 3},
	[SDF_MAGNETOMETER] = {read_magnetometer, 3},
	[SDF_AIR_PRESSURE] = {read_air_pressure, 2},
	[SDF_AIR_SPEED] = {read_air_speed, 2},
	[SDF_NAVSAT] = {read_navsat, NAVSAT_NUMBERS},
};

uint32_t sampler_bytes_max(const struct sensor *sensor)
{
	size_t kind = (size_t)sensor->sdf->kind;
	return kind < ARRAY_LEN(kinds) ? kinds[kind].numbers * (uint32_t)sizeof(double) : 0;
}

void sampler_read(const struct sampler *sampler, struct sensor *sensor, struct readings *ret_readings)
{
	size_t kind = (size_t)sensor->sdf->kind;
	if (kind >= ARRAY_LEN(kinds) || !kinds[kind].read)
		return;
	struct sample sample = {.from = sampler,
		.sensor = sensor,
		.noise = {.index = sensor_sample(sampler->sensors, sensor, sampler->time_ns),
			.time_ns = (uint64_t)sampler->time_ns,
			.period_s = sensor_period_s(sampler->sensors, sensor)},
		.readings = ret_readings};
	if (sensor->link != SCENE_NONE) {
		sample.before = motion_of(sampler, sensor, false);
		sample.after = sampler->moved ? motion_of(sampler, sensor, true) : sample.before;
	}
	kinds[kind].read(&sample);
}
