/* Cameras: pictures of what a sensor holds (sensor_parts()), pixel by pixel, and boxes around what they show. */
#include "sensor/sampler_picture.h"

#include "sensor/boxes.h"
#include "sensor/lens.h"
#include "sensor/picture.h"

#include <stdlib.h>
#include <string.h>

/* Without <intrinsics>: from the field of view, square pixels, the axis in the middle. */
struct reading_picture sampler_picture_head(const struct sensor *sensor)
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

size_t sampler_picture_bytes(const struct sensor *sensor)
{
	const struct sdf_camera *camera = sensor->sdf->settings->cameras;
	size_t pixels = (size_t)camera->width * camera->height;
	return (readings_part_at(sensor->sdf->kind, sensor_parts(sensor->sdf), pixels, 0) + 7) / 8 * 8;
}

static void sampler_picture_store_colour(const float *from, size_t count, unsigned char *to)
{
	for (size_t i = 0; i < count; i++) {
		float value = from[i] < 0 ? 0 : from[i] > 1 ? 1 : from[i];
		to[i] = (unsigned char)(value * 255 + 0.5F);
	}
}

double *sampler_picture_begin(const struct sampler_sample *sample)
{
	const struct reading_picture head = sampler_picture_head(sample->sensor);
	return memcpy(sampler_add(sample, sampler_picture_bytes(sample->sensor)), &head, sizeof head);
}

static void sampler_picture_fill_colour(
	const struct sampler_sample *sample, float *colour, uint32_t first, uint32_t count, unsigned char *to)
{
	const struct sdf_camera *camera = sample->sensor->sdf->settings->cameras;
	struct sdf_signal signal = noise_open(camera->noise);
	signal.min = 0, signal.max = 1;
	for (size_t i = 0; camera->gain != 1 && i < 3 * (size_t)count; i++)
		colour[i] *= (float)camera->gain;
	if (signal.noise.kind != SDF_NOISE_NONE)
		noise_apply_floats(&signal, sampler_key_of(sample, 1), &sample->noise, 3 * (uint64_t)first, colour,
			3 * (uint64_t)count);
	sampler_picture_store_colour(colour, 3 * (size_t)count, to);
}

/* Where pixel `first` of a part of the picture is, of so many bytes for each; NULL: it has no such part. */
static void *sampler_picture_part(
	const struct sensor *sensor, double *numbers, uint32_t part, size_t bytes, uint32_t first)
{
	const struct sdf_camera *camera = sensor->sdf->settings->cameras;
	uint32_t parts = sensor_parts(sensor->sdf);
	size_t pixels = (size_t)camera->width * camera->height;
	return parts & part ? (char *)numbers + readings_part_at(sensor->sdf->kind, parts, pixels, part) + bytes * first
			    : NULL;
}

/* Compares with the sensor's sample before this one. path: from there on. */
static struct picture_past sampler_picture_past(
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
static void sampler_picture_take_picture(const struct sampler_sample *sample, double *numbers, struct picture *picture)
{
	const struct sensor *sensor = sample->sensor;
	const struct sensors *sensors = sample->from->sensors;
	const struct sdf_camera *camera = sensor->sdf->settings->cameras;
	size_t pixels = (size_t)camera->width * camera->height;
	uint32_t first = picture->first;
	uint32_t *segments = sampler_picture_part(sensor, numbers, SENSOR_SEGMENTS, 4, first);
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
	picture->depth = sampler_picture_part(sensor, numbers, SENSOR_DEPTH, 4, first);
	picture->normals = sampler_picture_part(sensor, numbers, SENSOR_NORMALS, 12, first);
	picture->flow = sampler_picture_part(sensor, numbers, SENSOR_FLOW, 8, first);
	picture->heat = sampler_picture_part(sensor, numbers, SENSOR_HEAT, 2, first);
	if (!picture->labels) {
		picture->labels = sampler_picture_part(sensor, numbers, SENSOR_LABELS, 4, first);
		picture->labels = picture->labels ? picture->labels : segments;
		picture->instances = picture->labels ? picture->labels + pixels : NULL;
	}
	picture->time_s = (double)sample->from->time_ns * 1e-9;
	picture->air_K = sensor->surroundings->air.temperature_K;
	if (picture->flow) {
		past = sampler_picture_past(sample, eye, &long_path);
		picture->past = &past;
	}
	picture_take(sensors->rays, sensors->lights, camera, sensors->lenses.at[sensor->scan].directions, eye, picture);
	if (segments && segments != picture->labels) {
		memcpy(segments, picture->labels, picture->count * sizeof *segments);
		memcpy(segments + pixels, picture->instances, picture->count * sizeof *segments);
	}
	picture->motion = NULL, picture->past = NULL; /* they point to variables of this function */
}

void sampler_picture_fill(const struct sampler_sample *sample, double *numbers, uint32_t first, uint32_t count)
{
	const struct sdf_camera *camera = sample->sensor->sdf->settings->cameras;
	unsigned char *colour = sampler_picture_part(sample->sensor, numbers, SENSOR_COLOUR, 3, first);
	struct picture picture = {
		.colour = colour ? mem_alloc(3 * (size_t)count * sizeof(float)) : NULL, .first = first, .count = count};
	sampler_picture_take_picture(sample, numbers, &picture);
	struct sdf_signal signal = noise_open(camera->noise);
	if (picture.depth && noise_matters(&signal))
		noise_apply_floats(&signal, sampler_key_of(sample, 0), &sample->noise, first, picture.depth, count);
	if (picture.colour)
		sampler_picture_fill_colour(sample, picture.colour, first, count, colour);
	free(picture.colour);
}

struct sampler_boxes {
	uint32_t count;
	struct boxes_flat flat[SAMPLER_BOXES_MAX];
	struct boxes_solid solid[SAMPLER_BOXES_MAX];
};

static void sampler_picture_store_boxes(const struct sampler_boxes *from, bool solid, struct reading_box *to)
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
static void sampler_picture_find_boxes(const struct sampler_sample *sample, const uint32_t *labels,
	const uint32_t *instances, struct pose eye, struct sampler_boxes *ret_boxes)
{
	const struct sensors *sensors = sample->from->sensors;
	const struct sdf_camera *camera = sample->sensor->sdf->settings->cameras;
	struct boxes_flat *flat = ret_boxes->flat;
	uint32_t count = boxes_find(labels, instances, camera->width, camera->height, flat, SAMPLER_BOXES_MAX);
	boxes_measure(sensors->rays, camera, sensors->lenses.at[sample->sensor->scan].directions, eye, flat, count);
	if (camera->boxes == SDF_BOX_FULL_2D)
		boxes_full(sensors->rays, camera, eye, flat, count);
	if (camera->boxes == SDF_BOX_3D)
		boxes_solid(sensors->rays, eye, flat, count, ret_boxes->solid);
	ret_boxes->count = count;
}

void sampler_picture_read_boxes(const struct sampler_sample *sample)
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
	sampler_picture_take_picture(sample, own, &picture);
	sampler_picture_find_boxes(sample, labels, labels + pixels, eye, boxes);
	sampler_picture_fill_colour(
		sample, picture.colour, 0, (uint32_t)pixels, sampler_picture_part(sensor, own, SENSOR_COLOUR, 3, 0));
	char *to = sampler_add(sample, bytes + boxes->count * sizeof(struct reading_box));
	memcpy(to, own, bytes);
	sampler_picture_store_boxes(boxes, head.solid != 0, (struct reading_box *)(void *)(to + bytes));
	free(labels);
	free(picture.colour);
	free(own);
	free(boxes);
}
