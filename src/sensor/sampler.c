/* Each kind of sensor has one function: it asks measure.h for the true values, then noise.h for what a sensor makes of
 * them, and stores the numbers that reading.h lists. */
#include "sensor/sampler.h"

#include "scene/axis.h"
#include "sensor/sampler_picture.h"
#include "sensor/scan_beam.h"

#include <stdlib.h>
#include <string.h>

enum { MODELS_SEEN_MAX = 65536 };      /* by one logical camera */
enum { SAMPLER_CONTACTS_MAX = 65536 }; /* in one reading */

/* --- parts -------------------------------------------------------------------------------------------------------- */

static struct motion sampler_motion_of(const struct sampler *sampler, const struct sensor *sensor, bool next)
{
	const struct scene_link *link = &sampler->scene->links[sensor->link];
	if (link->body == SCENE_NONE)
		return (struct motion){.pose = pose_mul(link->in_body, sensor->sdf->in_parent)};
	return measure_motion(
		state_body(sampler->state, link->body, next), pose_mul(link->in_body, sensor->sdf->in_parent));
}

static struct noise_cache *sampler_cache_of(const struct sampler_sample *sample, uint32_t signal)
{
	return sample->sensor->caches ? &sample->sensor->caches[signal] : NULL;
}

/* Adds the noise of the first signals of the sensor to their true values. */
static void sampler_add_noise(const struct sampler_sample *sample, uint32_t count, double *values)
{
	const struct sdf_settings *settings = sample->sensor->sdf->settings;
	for (uint32_t i = 0; i < count && i < settings->signal_count; i++)
		values[i] = noise_apply(&settings->signals[i], sampler_key_of(sample, i), &sample->noise,
			sampler_cache_of(sample, i), values[i]);
}

/* A reading that is a struct of doubles, of which the first `signals` are the sensor's signals, in their order. */
#define SAMPLER_ADD(sample, signals, reading)                                                                          \
	({                                                                                                             \
		sampler_add_noise(sample, signals, (double *)&(reading));                                              \
		memcpy(sampler_add(sample, sizeof(reading)), &(reading), sizeof(reading));                             \
	})

/* --- kinds -------------------------------------------------------------------------------------------------------- */

static void sampler_read_imu(const struct sampler_sample *sample)
{
	const struct sensor *sensor = sample->sensor;
	const struct sdf_settings *settings = sensor->sdf->settings;
	struct measure_imu imu = measure_imu(
		&sample->before, &sample->after, sample->from->dt, sample->from->scene->gravity, sensor->reference);
	bool turned = false;
	for (uint32_t i = SDF_IMU_ORIENTATION; i < settings->signal_count; i++)
		turned |= noise_matters(&settings->signals[i]);
	sampler_add_noise(sample, offsetof(struct measure_imu, orientation) / sizeof(double), (double *)&imu);
	if (turned)
		imu.orientation = quat_from_rpy(imu.rpy.x, imu.rpy.y, imu.rpy.z);
	struct troupe_imu_reading *reading = sampler_add(sample, sizeof *reading);
	reading->oriented = settings->imu->orientation;
	if (settings->imu->orientation)
		reading->orientation = imu.orientation;
	reading->angular_velocity = imu.angular_velocity;
	reading->acceleration = imu.acceleration;
}

static void sampler_read_altimeter(const struct sampler_sample *sample)
{
	struct troupe_altimeter_reading reading = measure_altimeter(&sample->after, sample->sensor->first.p.z);
	SAMPLER_ADD(sample, 2, reading);
}

static void sampler_read_magnetometer(const struct sampler_sample *sample)
{
	struct troupe_magnetometer_reading reading =
		measure_magnetometer(&sample->after, sample->sensor->surroundings->magnetic_field);
	SAMPLER_ADD(sample, 3, reading);
}

static void sampler_read_air_pressure(const struct sampler_sample *sample)
{
	const struct sdf_settings *settings = sample->sensor->sdf->settings;
	double stddev = settings->signal_count ? settings->signals[0].noise.stddev : 0;
	double own_m = *settings->reference_altitude_m;
	struct troupe_air_pressure_reading reading = {.variance = stddev * stddev};
	reading.pressure_Pa = measure_air_pressure(&sample->after, &sample->sensor->surroundings->air,
		own_m != 0 ? own_m : sample->sensor->earth->elevation_m);
	SAMPLER_ADD(sample, 1, reading);
}

static void sampler_read_air_speed(const struct sampler_sample *sample)
{
	struct troupe_air_speed_reading reading = measure_air_speed(
		&sample->after, &sample->sensor->surroundings->air, sample->sensor->earth->elevation_m);
	SAMPLER_ADD(sample, 1, reading);
}

static void sampler_read_navsat(const struct sampler_sample *sample)
{
	const struct sdf_settings *settings = sample->sensor->sdf->settings;
	struct earth earth = earth_of(sample->sensor->earth);
	struct troupe_navsat_reading reading = measure_navsat(&earth, &sample->after);
	uint64_t keys[MEASURE_NAVSAT_NUMBERS];
	for (uint32_t i = 0; i < MEASURE_NAVSAT_NUMBERS; i++)
		keys[i] = sampler_key_of(sample, i);
	if (settings->signal_count >= 4)
		measure_navsat_noise(&earth, settings->signals, keys, &sample->noise, sample->sensor->caches, &reading);
	SAMPLER_ADD(sample, 0, reading);
}

/* The rotation of a link of the model, by its index in the file. */
static struct quat sampler_rotation_of(const struct sampler_sample *sample, uint32_t sdf_link)
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
static struct pose sampler_pose_on_child(const struct sampler_sample *sample, const struct scene_joint *joint)
{
	struct pose first = sample->sensor->sdf->in_world;
	if (joint->child == SCENE_NONE)
		return first;
	const struct body_state *body = state_body(sample->from->state, joint->child, false);
	struct pose in_body = pose_mul(pose_inverse(sample->from->scene->bodies[joint->child].reference), first);
	return pose_mul((struct pose){body->p, body->q}, in_body);
}

static void sampler_read_force_torque(const struct sampler_sample *sample)
{
	const struct sensor *sensor = sample->sensor;
	const struct scene_joint *joint = &sample->from->scene->joints[sensor->joint];
	const struct reaction *reaction = &sample->from->reactions[sensor->joint];
	struct pose pose = sampler_pose_on_child(sample, joint);
	struct troupe_force_torque_reading reading = {measure_force_torque(sensor->sdf->settings->force_torque,
		(struct troupe_wrench){reaction->force, reaction->torque},
		scene_axis_anchor(sample->from->state, joint), &pose, sampler_rotation_of(sample, joint->sdf->child),
		sampler_rotation_of(sample, joint->sdf->parent))};
	SAMPLER_ADD(sample, 6, reading);
}

/* Fills in what the file says of the scan: everything except the sensor's pose. */
static struct troupe_scan_reading sampler_scan_head(const struct scan_layout *layout, const struct sdf_signal *range)
{
	const struct scan_axis *columns = &layout->columns, *rows = &layout->rows;
	return (struct troupe_scan_reading){.columns = columns->count,
		.rows = rows->count,
		.min_rad = columns->min_rad,
		.step_rad = columns->step_rad,
		.row_min_rad = rows->min_rad,
		.row_step_rad = rows->step_rad,
		.min_m = range->min,
		.max_m = range->max};
}

static size_t sampler_scan_bytes(const struct sdf_lidar *lidar, const struct scan_layout *layout)
{
	size_t numbers = 2 * (size_t)scan_count(layout) + (lidar->pattern ? scan_pattern_count(lidar->pattern) : 0);
	numbers += 2 * (size_t)scan_count(layout) * (scan_returns(lidar) - 1);
	return sizeof(struct troupe_scan_reading) + numbers * sizeof(double);
}

/* Which scan of a pattern that differs from scan to scan. */
static uint32_t sampler_scan_number(const struct sampler_sample *sample)
{
	const struct sdf_pattern *pattern = sample->sensor->sdf->settings->lidar->pattern;
	return pattern ? (uint32_t)(sample->noise.index % pattern->scans) : 0;
}

static double *sampler_begin_scan(const struct sampler_sample *sample)
{
	const struct sensor *sensor = sample->sensor;
	const struct sensor_scan *scan = &sample->from->sensors->scans.at[sensor->scan];
	const struct sdf_lidar *lidar = sensor->sdf->settings->lidar;
	struct troupe_scan_reading *out = sampler_add(sample, sampler_scan_bytes(lidar, &scan->layout));
	*out = sampler_scan_head(&scan->layout, &sensor->sdf->settings->signals[0]);
	out->sensor = pose_flat(sample->after.pose);
	if (lidar->pattern)
		scan_pattern_store(lidar, sampler_scan_number(sample),
			(double *)(void *)(out + 1) + 2 * (size_t)scan_count(&scan->layout));
	return &out->columns;
}

struct scan_path sampler_path(
	const struct sampler_sample *sample, double span_s, const struct pose *in_sensor, struct pose now)
{
	const struct sensor *sensor = sample->sensor;
	const struct scene_link *link = &sample->from->scene->links[sensor->link];
	if (sensor->trail == SCENE_NONE) /* without motion, or on a static model */
		return scan_path_of(NULL, span_s, 0, POSE_IDENTITY, POSE_IDENTITY, now);
	struct pose in_body = pose_mul(link->in_body, sensor->sdf->in_parent);
	if (in_sensor)
		in_body = pose_mul(in_body, *in_sensor);
	return scan_path_of(sensor_trail(sample->from->state, sensor), span_s, (double)sample->from->time_ns * 1e-9,
		body_pose(state_body(sample->from->state, link->body, false)), in_body, now);
}

static struct scan_job sampler_scan_job(
	const struct sampler_sample *sample, const struct vec3 *directions, uint32_t first, uint32_t count)
{
	const struct sensor *sensor = sample->sensor;
	const struct sensors *sensors = sample->from->sensors;
	const struct sensor_scan *scan = &sensors->scans.at[sensor->scan];
	const struct sdf_lidar *lidar = sensor->sdf->settings->lidar;
	return (struct scan_job){.rays = sensors->rays,
		.directions = directions,
		.first = first,
		.count = count,
		.range = &sensor->sdf->settings->signals[0],
		.visibility_mask = lidar->visibility_mask,
		.model = sensor->model,
		.pattern = &scan->pattern,
		.by_column = scan->pattern.by_column + (size_t)sampler_scan_number(sample) * scan->pattern.columns,
		.motion = lidar->motion};
}

/* Further returns follow the pattern. */
static void sampler_scan_beams(
	const struct sampler_sample *sample, const struct scan_job *job, const struct scan_path *path, double *ranges)
{
	const struct sensor *sensor = sample->sensor;
	const struct sdf_lidar *lidar = sensor->sdf->settings->lidar;
	uint32_t all = job->pattern->columns * job->pattern->rows;
	struct scan_returns to = {{ranges}, {ranges + all}};
	double *more = ranges + 2 * (size_t)all + scan_pattern_count(job->pattern);
	for (uint32_t r = 1; r < lidar->beam->returns; r++, more += 2 * (size_t)all) {
		to.ranges[r] = more;
		to.intensities[r] = more + all;
	}
	scan_measure_beams(job, path, lidar->beam, &to);
	scan_finish_beams(lidar->beam, job->range, sampler_key_of(sample, 0), &sample->noise,
		sampler_cache_of(sample, 0), job->first, job->count, all, &to);
}

static void sampler_fill_scan(const struct sampler_sample *sample, double *numbers, uint32_t first, uint32_t count)
{
	const struct sensor *sensor = sample->sensor;
	const struct sdf_signal *signal = &sensor->sdf->settings->signals[0];
	const struct sdf_lidar *lidar = sensor->sdf->settings->lidar;
	const struct sensor_scan *scan = &sample->from->sensors->scans.at[sensor->scan];
	double *ranges = numbers + sizeof(struct troupe_scan_reading) / sizeof(double) + first;
	double *intensities = ranges + scan_count(&scan->layout);
	const struct vec3 *directions =
		scan->directions + (size_t)sampler_scan_number(sample) * scan_count(&scan->layout) + first;
	if (lidar->motion || lidar->beam) {
		struct scan_job job = sampler_scan_job(sample, directions, first, count);
		struct scan_path path = sampler_path(
			sample, sdf_sensor_span_s(sensor->sdf->kind, sensor->sdf->settings), NULL, sample->after.pose);
		if (lidar->beam) {
			sampler_scan_beams(sample, &job, &path, ranges);
			return;
		}
		scan_measure_moving(&job, &path, ranges, intensities);
	} else {
		scan_measure(sample->from->sensors->rays, directions, count, sample->after.pose, signal,
			lidar->visibility_mask, ranges, intensities);
	}
	if (noise_matters(signal))
		noise_apply_many(signal, sampler_key_of(sample, 0), &sample->noise, sampler_cache_of(sample, 0), first,
			ranges, count);
}

static void sampler_read_logical_camera(const struct sampler_sample *sample)
{
	const struct scene *scene = sample->from->scene;
	const bool *hidden = sample->from->sensors->hidden;
	const struct sdf_logical_camera *camera = sample->sensor->sdf->settings->logical_camera;
	struct pose eye = sample->after.pose;
	VEC(struct reading_model) seen = {0};
	for (uint32_t m = 0; m < scene->model_count && seen.count < MODELS_SEEN_MAX; m++) {
		const struct scene_model *model = &scene->models[m];
		if (!model->id || model->absent || m == sample->sensor->model || (hidden && hidden[m]))
			continue;
		struct pose pose = model->body_count ? state_model_pose(sample->from->state, m, false) : model->in_body;
		if (measure_frustum_holds(camera, eye, pose.p))
			vec_push(&seen, (struct reading_model){(double)model->id, pose_mul(pose_inverse(eye), pose)});
	}
	struct pose *first = sampler_add(sample, sizeof eye + seen.count * sizeof *seen.at);
	*first = eye;
	if (seen.count)
		memcpy(first + 1, seen.at, seen.count * sizeof *seen.at);
	vec_free(&seen);
}

/* --- contacts ----------------------------------------------------------------------------------------------------- */

static bool sampler_touches(const struct sampler_sample *sample, uint32_t geom)
{
	const struct sensor *sensor = sample->sensor;
	const struct sdf_contact *sdf = sensor->sdf->settings->contact;
	const struct scene_geom *g = &sample->from->scene->geoms[geom];
	const struct scene_model *m = &sample->from->scene->models[sensor->model];
	bool named = false;
	for (uint32_t i = 0; i < sdf->collision_count && g->model == sensor->model && g->link == sensor->link; i++)
		named |= sdf_names_collision(sdf->collisions[i], m->from->links.at[sensor->sdf->link].name, g->name);
	return named;
}

static void sampler_read_contact(const struct sampler_sample *sample)
{
	const contact_notes *contacts = sample->from->contacts;
	VEC(struct reading_contact) found = {0};
	for (uint32_t i = 0; i < contacts->count && found.count < SAMPLER_CONTACTS_MAX; i++) {
		const struct contact_note *note = &contacts->at[i];
		if (sampler_touches(sample, note->geoms[0]) || sampler_touches(sample, note->geoms[1]))
			vec_push(&found, (struct reading_contact){{note->geoms[0], note->geoms[1]}, note->position,
						 note->normal, note->depth, note->force});
	}
	void *to = sampler_add(sample, found.count * sizeof *found.at);
	if (found.count)
		memcpy(to, found.at, found.count * sizeof *found.at);
	vec_free(&found);
}

/* begin: adds a reading and the numbers that are the same in all of it; fill: measures some of its rays or pixels. The
 * parts of a reading may be filled by several threads. */
static const struct {
	void (*read)(const struct sampler_sample *sample);
	size_t bytes; /* of a reading that is one struct */
	double *(*begin)(const struct sampler_sample *sample);
	void (*fill)(const struct sampler_sample *sample, double *numbers, uint32_t first, uint32_t count);
} sampler_kinds[] = {
	[SDF_IMU] = {sampler_read_imu, sizeof(struct troupe_imu_reading)},
	[SDF_FORCE_TORQUE] = {sampler_read_force_torque, sizeof(struct troupe_force_torque_reading)},
	[SDF_ALTIMETER] = {sampler_read_altimeter, sizeof(struct troupe_altimeter_reading)},
	[SDF_MAGNETOMETER] = {sampler_read_magnetometer, sizeof(struct troupe_magnetometer_reading)},
	[SDF_AIR_PRESSURE] = {sampler_read_air_pressure, sizeof(struct troupe_air_pressure_reading)},
	[SDF_AIR_SPEED] = {sampler_read_air_speed, sizeof(struct troupe_air_speed_reading)},
	[SDF_NAVSAT] = {sampler_read_navsat, sizeof(struct troupe_navsat_reading)},
	[SDF_LIDAR] = {.begin = sampler_begin_scan, .fill = sampler_fill_scan},
	[SDF_GPU_LIDAR] = {.begin = sampler_begin_scan, .fill = sampler_fill_scan},
	[SDF_CAMERA] = {.begin = sampler_picture_begin, .fill = sampler_picture_fill},
	[SDF_WIDE_ANGLE_CAMERA] = {.begin = sampler_picture_begin, .fill = sampler_picture_fill},
	[SDF_DEPTH_CAMERA] = {.begin = sampler_picture_begin, .fill = sampler_picture_fill},
	[SDF_RGBD_CAMERA] = {.begin = sampler_picture_begin, .fill = sampler_picture_fill},
	[SDF_THERMAL_CAMERA] = {.begin = sampler_picture_begin, .fill = sampler_picture_fill},
	[SDF_SEGMENTATION_CAMERA] = {.begin = sampler_picture_begin, .fill = sampler_picture_fill},
	[SDF_BOUNDINGBOX_CAMERA] = {sampler_picture_read_boxes, 0},
	[SDF_LOGICAL_CAMERA] = {sampler_read_logical_camera, 0},
	[SDF_CONTACT] = {sampler_read_contact, 0},
	[SENSOR_KINDS - 1] = {NULL},
};

_Static_assert(ARRAY_LEN(sampler_kinds) == SENSOR_KINDS, "each kind has a row");

static bool sampler_is_lidar(const struct sensor *sensor)
{
	return sensor_kind_is_lidar(sensor->sdf->kind);
}

static bool sampler_is_camera(const struct sensor *sensor)
{
	return sensor->group != SENSOR_SILENT && sensor_kind_of(sensor->sdf->kind)->picture;
}

/* Whether so many bytes are a head and then at most `max` items. */
static bool sampler_is_list(size_t bytes, size_t head, size_t item, size_t max)
{
	return bytes >= head && (bytes - head) % item == 0 && (bytes - head) / item <= max;
}

bool sampler_may_have(const struct sensor *sensor, size_t bytes)
{
	const struct sdf_settings *settings = sensor->sdf->settings;
	size_t kind = (size_t)sensor->sdf->kind, expected = 0;
	if (kind == SDF_LOGICAL_CAMERA)
		return sampler_is_list(bytes, sizeof(struct pose), sizeof(struct reading_model), MODELS_SEEN_MAX);
	if (kind == SDF_BOUNDINGBOX_CAMERA)
		return sampler_is_list(
			bytes, sampler_picture_bytes(sensor), sizeof(struct reading_box), SAMPLER_BOXES_MAX);
	if (sampler_is_lidar(sensor)) {
		struct scan_layout layout = scan_layout(settings->lidar);
		expected = sampler_scan_bytes(settings->lidar, &layout);
	} else if (sampler_is_camera(sensor))
		expected = sampler_picture_bytes(sensor);
	else
		expected = sampler_kinds[kind].bytes;
	return expected && bytes == expected;
}

/* What follows the ranges of a lidar that has a pattern is that of one of its scans. */
static bool sampler_has_pattern(const struct sdf_lidar *lidar, const struct scan_layout *layout, const double *numbers)
{
	if (!lidar->pattern)
		return true;
	uint32_t count = scan_pattern_count(lidar->pattern);
	const double *found =
		numbers + sizeof(struct troupe_scan_reading) / sizeof(double) + 2 * (size_t)scan_count(layout);
	double scan = READINGS_AS(troupe_scan_firings, found)->scan;
	if (!(scan >= 0 && scan < lidar->pattern->scans))
		return false;
	double *expected = mem_alloc(count * sizeof *expected);
	scan_pattern_store(lidar, (uint32_t)scan, expected);
	bool same = !memcmp(found, expected, count * sizeof *expected);
	free(expected);
	return same;
}

bool sampler_has_shape(const struct sensor *sensor, const double *numbers)
{
	if (sampler_is_lidar(sensor)) {
		struct scan_layout layout = scan_layout(sensor->sdf->settings->lidar);
		struct troupe_scan_reading head = sampler_scan_head(&layout, &sensor->sdf->settings->signals[0]);
		return !memcmp(numbers, &head, offsetof(struct troupe_scan_reading, sensor)) &&
		       sampler_has_pattern(sensor->sdf->settings->lidar, &layout, numbers);
	}
	if (sampler_is_camera(sensor)) {
		struct reading_picture head = sampler_picture_head(sensor);
		return !memcmp(numbers, &head, sizeof head);
	}
	return true;
}

static struct sampler_sample sampler_sample_of(const struct sampler *sampler, struct sensor *sensor)
{
	struct sampler_sample sample = {.from = sampler,
		.sensor = sensor,
		.noise = {.index = sensor_sample(sampler->sensors, sensor, sampler->time_ns),
			.time_ns = (uint64_t)sampler->time_ns,
			.period_s = sensor_period_s(sampler->sensors, sensor)}};
	if (sensor->link != SCENE_NONE) {
		sample.before = sampler_motion_of(sampler, sensor, false);
		sample.after = sampler->moved ? sampler_motion_of(sampler, sensor, true) : sample.before;
	}
	return sample;
}

void sampler_read(const struct sampler *sampler, struct sensor *sensor, struct readings *ret_readings)
{
	size_t kind = (size_t)sensor->sdf->kind;
	if (!sampler_kinds[kind].read && !sampler_kinds[kind].fill)
		return;
	struct sampler_sample sample = sampler_sample_of(sampler, sensor);
	sample.readings = ret_readings;
	if (sampler_kinds[kind].fill)
		sampler_kinds[kind].fill(
			&sample, sampler_kinds[kind].begin(&sample), 0, sensor_samples(sampler->sensors, sensor));
	else
		sampler_kinds[kind].read(&sample);
}

void sampler_begin(const struct sampler *sampler, struct sensor *sensor, struct readings *ret_readings)
{
	struct sampler_sample sample = sampler_sample_of(sampler, sensor);
	sample.readings = ret_readings;
	(void)sampler_kinds[sensor->sdf->kind].begin(&sample);
}

/* A copy of the sensor without its caches, because several threads measure with it. */
void sampler_fill(
	const struct sampler *sampler, const struct sensor *sensor, uint32_t slice, uint32_t slices, double *numbers)
{
	struct sensor own = *sensor;
	own.caches = NULL;
	uint64_t samples = sensor_samples(sampler->sensors, sensor);
	uint32_t first = (uint32_t)(samples * slice / slices), end = (uint32_t)(samples * (slice + 1) / slices);
	const struct sampler_sample sample = sampler_sample_of(sampler, &own);
	sampler_kinds[own.sdf->kind].fill(&sample, numbers, first, end - first);
}
