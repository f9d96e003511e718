/* Each kind of sensor has one function: it asks measure.h for the true values, then noise.h for what a sensor makes of
 * them, and stores the numbers that reading.h lists. */
#include "sensor/sampler.h"

#include "scene/axis.h"
#include "sensor/boxes.h"
#include "sensor/lens.h"
#include "sensor/measure.h"
#include "sensor/picture.h"
#include "sensor/scan_beam.h"

#include <stdlib.h>
#include <string.h>

enum { MODELS_SEEN_MAX = 65536 };      /* by one logical camera */
enum { SAMPLER_CONTACTS_MAX = 65536 }; /* in one reading */
enum { BOXES_MAX = 4096 };             /* in one reading */

struct sampler_sample { /* one that is being taken */
	const struct sampler *from;
	struct sensor *sensor;
	struct noise_sample noise;
	struct motion before, after;
	struct readings *readings;
};

/* --- parts -------------------------------------------------------------------------------------------------------- */

static struct motion sampler_motion_of(const struct sampler *sampler, const struct sensor *sensor, bool next)
{
	const struct scene_link *link = &sampler->scene->links[sensor->link];
	if (link->body == SCENE_NONE)
		return (struct motion){.pose = pose_mul(link->in_body, sensor->sdf->in_parent)};
	return measure_motion(
		state_body(sampler->state, link->body, next), pose_mul(link->in_body, sensor->sdf->in_parent));
}

static uint64_t sampler_key_of(const struct sampler_sample *sample, uint32_t signal)
{
	const struct sensor *sensor = sample->sensor;
	return noise_key(sample->from->seed, sample->from->scene->models[sensor->model].id, sensor->index, signal);
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

static void *sampler_add(const struct sampler_sample *sample, size_t bytes)
{
	uint64_t id = sample->from->scene->models[sample->sensor->model].id;
	return readings_add(sample->readings, sample->sensor, id, sample->from->time_ns, bytes);
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
	struct pose first = pose_mul(joint->sdf->in_world, sample->sensor->sdf->in_parent);
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
		scene_axis_anchor(sample->from->state, joint, false), &pose,
		sampler_rotation_of(sample, joint->sdf->child), sampler_rotation_of(sample, joint->sdf->parent))};
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

/* Of the sensor, or of a part that has this pose in it. now: of that part. */
static struct scan_path sampler_path(
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

/* --- cameras ------------------------------------------------------------------------------------------------------ */

/* Without <intrinsics>: from the field of view, square pixels, the axis in the middle. */
static struct reading_picture sampler_picture_head(const struct sensor *sensor)
{
	const struct sdf_camera *camera = sensor->sdf->settings->cameras;
	struct reading_picture head = {.width = camera->width,
		.height = camera->height,
		.parts = sensor_parts(sensor->sdf),
		.hole = lens_pinhole_of(camera),
		.by_instance = camera->segmentation == SDF_SEGMENTATION_INSTANCE,
		.solid = sensor->sdf->kind == SDF_BOUNDINGBOX_CAMERA && camera->boxes == SDF_BOX_3D};
	if (sensor->sdf->kind == SDF_WIDE_ANGLE_CAMERA && !camera->intrinsics_given)
		head.hole.fx = head.hole.fy = lens_focal(camera, true);
	head.p_fx = head.hole.fx, head.p_fy = head.hole.fy;
	head.p_cx = head.hole.cx, head.p_cy = head.hole.cy;
	if (camera->projection_given) {
		head.p_fx = camera->p_fx, head.p_fy = camera->p_fy;
		head.p_cx = camera->p_cx, head.p_cy = camera->p_cy;
		head.tx = camera->p_tx, head.ty = camera->p_ty;
	}
	if (camera->baseline_m != 0)
		head.tx = -head.p_fx * camera->baseline_m;
	return head;
}

static size_t sampler_picture_bytes(const struct sensor *sensor)
{
	const struct sdf_camera *camera = sensor->sdf->settings->cameras;
	size_t pixels = (size_t)camera->width * camera->height;
	return (readings_part_at(sensor->sdf->kind, sensor_parts(sensor->sdf), pixels, 0) + 7) / 8 * 8;
}

static void sampler_store_colour(const float *from, size_t count, unsigned char *to)
{
	for (size_t i = 0; i < count; i++) {
		float value = from[i] < 0 ? 0 : from[i] > 1 ? 1 : from[i];
		to[i] = (unsigned char)(value * 255 + 0.5F);
	}
}

static double *sampler_begin_picture(const struct sampler_sample *sample)
{
	const struct reading_picture head = sampler_picture_head(sample->sensor);
	return memcpy(sampler_add(sample, sampler_picture_bytes(sample->sensor)), &head, sizeof head);
}

static void sampler_fill_colour(
	const struct sampler_sample *sample, float *colour, uint32_t first, uint32_t count, unsigned char *to)
{
	const struct sdf_camera *camera = sample->sensor->sdf->settings->cameras;
	struct sdf_signal signal = noise_open(camera->noise);
	signal.min = 0, signal.max = 1;
	for (size_t i = 0; camera->gain != 1 && i < 3 * (size_t)count; i++)
		colour[i] *= (float)camera->gain;
	if (signal.noise.kind != SDF_NOISE_NONE)
		noise_apply_floats(&signal, sampler_key_of(sample, 1), &sample->noise, NULL, 3 * (uint64_t)first,
			colour, 3 * (uint64_t)count);
	sampler_store_colour(colour, 3 * (size_t)count, to);
}

/* Where pixel `first` of a part of the picture is, of so many bytes for each; NULL: it has no such part. */
static void *sampler_part(const struct sensor *sensor, double *numbers, uint32_t part, size_t bytes, uint32_t first)
{
	const struct sdf_camera *camera = sensor->sdf->settings->cameras;
	uint32_t parts = sensor_parts(sensor->sdf);
	size_t pixels = (size_t)camera->width * camera->height;
	return parts & part ? (char *)numbers + readings_part_at(sensor->sdf->kind, parts, pixels, part) + bytes * first
			    : NULL;
}

/* Compares with the sensor's sample before this one. path: from there on. */
static struct picture_past sampler_past(
	const struct sampler_sample *sample, struct pose eye, struct scan_path *ret_path)
{
	const struct sensor *sensor = sample->sensor;
	const struct sdf_camera *camera = sensor->sdf->settings->cameras;
	double ago_s = sensor_since_s(sample->from->sensors, sensor, sample->from->time_ns);
	*ret_path = sampler_path(sample, ago_s + camera->readout_s + camera->exposure_s, &camera->in_sensor, eye);
	return (struct picture_past){.state = sample->from->state,
		.path = ret_path,
		.ago_s = ago_s,
		.body = sample->from->scene->links[sensor->link].body,
		.wide = sensor->sdf->kind == SDF_WIDE_ANGLE_CAMERA};
}

/* Takes pixels of what the reading holds, but colour: of that, *picture has its place. */
static void sampler_take_picture(const struct sampler_sample *sample, double *numbers, struct picture *picture)
{
	const struct sensor *sensor = sample->sensor;
	const struct sensors *sensors = sample->from->sensors;
	const struct sdf_camera *camera = sensor->sdf->settings->cameras;
	size_t pixels = (size_t)camera->width * camera->height;
	uint32_t first = picture->first;
	uint32_t *segments = sampler_part(sensor, numbers, SENSOR_SEGMENTS, 4, first);
	struct pose eye = pose_mul(sample->after.pose, camera->in_sensor);
	double span_s = sdf_sensor_span_s(sensor->sdf->kind, sensor->sdf->settings);
	struct scan_path path, long_path;
	struct picture_past past;
	struct picture_motion motion = {
		&path, sensor->model, camera->readout_s, camera->exposure_s, camera->exposure_samples};
	if (span_s > 0) {
		path = sampler_path(sample, span_s, &camera->in_sensor, eye);
		picture->motion = &motion;
	}
	picture->depth = sampler_part(sensor, numbers, SENSOR_DEPTH, 4, first);
	picture->normals = sampler_part(sensor, numbers, SENSOR_NORMALS, 12, first);
	picture->flow = sampler_part(sensor, numbers, SENSOR_FLOW, 8, first);
	picture->heat = sampler_part(sensor, numbers, SENSOR_HEAT, 2, first);
	if (!picture->labels) {
		picture->labels = sampler_part(sensor, numbers, SENSOR_LABELS, 4, first);
		picture->labels = picture->labels ? picture->labels : segments;
		picture->instances = picture->labels ? picture->labels + pixels : NULL;
	}
	picture->time_s = (double)sample->from->time_ns * 1e-9;
	picture->air_K = sensor->surroundings->air.temperature_K;
	if (picture->flow) {
		past = sampler_past(sample, eye, &long_path);
		picture->past = &past;
	}
	picture_take(sensors->rays, sensors->lights, camera, sensors->lenses.at[sensor->scan].directions, eye, picture);
	if (segments && segments != picture->labels) {
		memcpy(segments, picture->labels, picture->count * sizeof *segments);
		memcpy(segments + pixels, picture->instances, picture->count * sizeof *segments);
	}
	picture->motion = NULL, picture->past = NULL; /* they point to variables of this function */
}

static void sampler_fill_picture(const struct sampler_sample *sample, double *numbers, uint32_t first, uint32_t count)
{
	const struct sdf_camera *camera = sample->sensor->sdf->settings->cameras;
	unsigned char *colour = sampler_part(sample->sensor, numbers, SENSOR_COLOUR, 3, first);
	struct picture picture = {
		.colour = colour ? mem_alloc(3 * (size_t)count * sizeof(float)) : NULL, .first = first, .count = count};
	sampler_take_picture(sample, numbers, &picture);
	struct sdf_signal signal = noise_open(camera->noise);
	if (picture.depth && noise_matters(&signal))
		noise_apply_floats(
			&signal, sampler_key_of(sample, 0), &sample->noise, NULL, first, picture.depth, count);
	if (picture.colour)
		sampler_fill_colour(sample, picture.colour, first, count, colour);
	free(picture.colour);
}

struct sampler_boxes {
	uint32_t count;
	struct boxes_flat flat[BOXES_MAX];
	struct boxes_solid solid[BOXES_MAX];
};

static void sampler_store_boxes(const struct sampler_boxes *from, bool solid, struct reading_box *to)
{
	for (uint32_t i = 0; i < from->count; i++) {
		const struct boxes_flat *box = &from->flat[i];
		to[i] = (struct reading_box){.label = box->label,
			.instance = box->instance,
			.left = box->left,
			.top = box->top,
			.right = box->right,
			.bottom = box->bottom,
			.visible = box->pixels < box->pixels_alone ? (double)box->pixels / box->pixels_alone : 1,
			.truncated = box->truncated};
		if (solid)
			to[i].pose = from->solid[i].pose, to[i].size = from->solid[i].size;
	}
}

/* A box for each model with a label of which some part is visible. */
static void sampler_find_boxes(const struct sampler_sample *sample, const uint32_t *labels, const uint32_t *instances,
	struct pose eye, struct sampler_boxes *ret_boxes)
{
	const struct sensors *sensors = sample->from->sensors;
	const struct sdf_camera *camera = sample->sensor->sdf->settings->cameras;
	struct boxes_flat *flat = ret_boxes->flat;
	uint32_t count = boxes_find(labels, instances, camera->width, camera->height, flat, BOXES_MAX);
	boxes_measure(sensors->rays, camera, sensors->lenses.at[sample->sensor->scan].directions, eye, flat, count);
	if (camera->boxes == SDF_BOX_FULL_2D)
		boxes_full(sensors->rays, camera, eye, flat, count);
	if (camera->boxes == SDF_BOX_3D)
		boxes_solid(sensors->rays, eye, flat, count, ret_boxes->solid);
	ret_boxes->count = count;
}

static void sampler_read_boxes(const struct sampler_sample *sample)
{
	const struct sensor *sensor = sample->sensor;
	const struct sdf_camera *camera = sensor->sdf->settings->cameras;
	struct pose eye = pose_mul(sample->after.pose, camera->in_sensor);
	size_t pixels = (size_t)camera->width * camera->height, bytes = sampler_picture_bytes(sensor);
	uint32_t *labels = mem_alloc(2 * pixels * sizeof *labels);
	struct sampler_boxes *boxes = mem_alloc(sizeof *boxes);
	double *own = mem_alloc(bytes); /* before the number of boxes is known */
	struct picture picture = {.labels = labels,
		.instances = labels + pixels,
		.colour = mem_alloc(3 * pixels * sizeof(float)),
		.count = (uint32_t)pixels};
	const struct reading_picture head = sampler_picture_head(sensor);
	memcpy(own, &head, sizeof head);
	sampler_take_picture(sample, own, &picture);
	sampler_find_boxes(sample, labels, labels + pixels, eye, boxes);
	sampler_fill_colour(
		sample, picture.colour, 0, (uint32_t)pixels, sampler_part(sensor, own, SENSOR_COLOUR, 3, 0));
	char *to = sampler_add(sample, bytes + boxes->count * sizeof(struct reading_box));
	memcpy(to, own, bytes);
	sampler_store_boxes(boxes, head.solid != 0, (struct reading_box *)(void *)(to + bytes));
	free(labels);
	free(picture.colour);
	free(own);
	free(boxes);
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
	[SDF_CAMERA] = {.begin = sampler_begin_picture, .fill = sampler_fill_picture},
	[SDF_WIDE_ANGLE_CAMERA] = {.begin = sampler_begin_picture, .fill = sampler_fill_picture},
	[SDF_DEPTH_CAMERA] = {.begin = sampler_begin_picture, .fill = sampler_fill_picture},
	[SDF_RGBD_CAMERA] = {.begin = sampler_begin_picture, .fill = sampler_fill_picture},
	[SDF_THERMAL_CAMERA] = {.begin = sampler_begin_picture, .fill = sampler_fill_picture},
	[SDF_SEGMENTATION_CAMERA] = {.begin = sampler_begin_picture, .fill = sampler_fill_picture},
	[SDF_BOUNDINGBOX_CAMERA] = {sampler_read_boxes, 0},
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
		return sampler_is_list(bytes, sampler_picture_bytes(sensor), sizeof(struct reading_box), BOXES_MAX);
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
