/* A camera is known by the topic of its boxes. */
#include "cli/annotate.h"

#include "base/parse.h"
#include "topic/message.h"
#include "topic/sensor.pb-c.h"

#include <stdlib.h>
#include <string.h>

static const char annotate_flat_type[] = "gz.msgs.AnnotatedAxisAligned2DBox_V";
static const char annotate_solid_type[] = "gz.msgs.AnnotatedOriented3DBox_V";
static const char annotate_info_type[] = "gz.msgs.CameraInfo";

struct annotate_camera {
	char *topic, *file;
	bool pictured, boxed; /* the picture and the boxes of a time are there */
	int64_t picture_us, boxes_us;
	uint32_t number, width, height;
	VEC(struct dataset_box) boxes;
};

struct annotate_info { /* the last camera_info */
	char *topic;
	double projection[12];
};

troupe_status annotate_begin(
	struct annotate *annotate, const char *folder, enum dataset_format format, struct troupe_error *error)
{
	*annotate = (struct annotate){0};
	return format ? dataset_begin(&annotate->set, folder, format, error) : TROUPE_OK;
}

bool annotate_wants(const struct annotate *annotate, const struct troupe_topic *topic)
{
	return annotate->set.format && topic->kind == TROUPE_TOPIC_PUBLISHED &&
	       (!strcmp(topic->type, annotate_flat_type) || !strcmp(topic->type, annotate_solid_type) ||
		       !strcmp(topic->type, annotate_info_type));
}

/* The camera whose boxes have the topic of the first `length` characters; NULL: there is none, and it is not made. */
static struct annotate_camera *annotate_find(struct annotate *annotate, const char *topic, size_t length, bool make)
{
	for (uint32_t i = 0; i < annotate->cameras.count; i++) {
		struct annotate_camera *camera = annotate->cameras.at[i];
		if (strlen(camera->topic) == length && !memcmp(camera->topic, topic, length))
			return camera;
	}
	if (!make || annotate->cameras.count == ANNOTATE_CAMERAS_MAX)
		return NULL;
	struct annotate_camera *camera = mem_alloc(sizeof *camera);
	camera->topic = mem_printf("%.*s", (int)length, topic);
	vec_push(&annotate->cameras, camera);
	return camera;
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

/* The numbers of an entry of a header; true: there are so many. */
static bool annotate_read(const Gz__Msgs__Header *header, const char *key, double *numbers, int count)
{
	for (size_t i = 0; header && i < header->n_data; i++)
		if (!strcmp(header->data[i]->key, key) && header->data[i]->n_value == 1)
			return parse_doubles(header->data[i]->value[0], numbers, count) == count;
	return false;
}

static struct dataset_box annotate_box_of(const Gz__Msgs__Header *header, uint32_t label)
{
	double around[4] = {0}, instance = 0, visible = 1, truncated = 0;
	(void)annotate_read(header, "instance", &instance, 1);
	(void)annotate_read(header, "visible", &visible, 1);
	(void)annotate_read(header, "truncated", &truncated, 1);
	(void)annotate_read(header, "box", around, (int)ARRAY_LEN(around));
	return (struct dataset_box){.label = label,
		.instance = instance >= 0 && instance <= UINT32_MAX ? (uint32_t)instance : 0,
		.left = around[0],
		.top = around[1],
		.right = around[2],
		.bottom = around[3],
		.visible = visible,
		.truncated = truncated};
}

static void annotate_take_flat(struct annotate_camera *camera, const Gz__Msgs__AnnotatedAxisAligned2DBoxV *message)
{
	for (size_t i = 0; i < message->n_annotated_box; i++) {
		const Gz__Msgs__AnnotatedAxisAligned2DBox *from = message->annotated_box[i];
		struct dataset_box box = annotate_box_of(from->header, from->label);
		if (from->box && from->box->min_corner && from->box->max_corner) {
			box.left = from->box->min_corner->x, box.top = from->box->min_corner->y;
			box.right = from->box->max_corner->x, box.bottom = from->box->max_corner->y;
		}
		vec_push(&camera->boxes, box);
	}
}

/* From the frame of Gazebo's renderer, whose y and z are opposite. */
static void annotate_take_solid(struct annotate_camera *camera, const Gz__Msgs__AnnotatedOriented3DBoxV *message)
{
	static const struct quat half_turn = {0, 1, 0, 0};
	for (size_t i = 0; i < message->n_annotated_box; i++) {
		const Gz__Msgs__Oriented3DBox *from = message->annotated_box[i]->box;
		struct dataset_box box =
			annotate_box_of(message->annotated_box[i]->header, message->annotated_box[i]->label);
		box.solid = from && from->center && from->orientation && from->boxsize;
		if (box.solid) {
			const Gz__Msgs__Quaternion *q = from->orientation;
			box.pose.p = (struct vec3){from->center->x, 0 - from->center->y, 0 - from->center->z};
			box.pose.q = quat_mul(half_turn, (struct quat){q->w, q->x, q->y, q->z});
			box.size = (struct vec3){from->boxsize->x, from->boxsize->y, from->boxsize->z};
		}
		vec_push(&camera->boxes, box);
	}
}

/* The characters of a topic up to its last part. */
static size_t annotate_folder(const char *topic)
{
	const char *slash = strrchr(topic, '/');
	return slash ? (size_t)(slash - topic) : 0;
}

static void annotate_take_info(struct annotate *annotate, const char *topic, const Gz__Msgs__CameraInfo *message)
{
	struct annotate_info *info = NULL;
	if (!message->projection || message->projection->n_p != ARRAY_LEN(info->projection))
		return;
	for (uint32_t i = 0; i < annotate->infos.count && !info; i++)
		if (!strcmp(annotate->infos.at[i]->topic, topic))
			info = annotate->infos.at[i];
	if (!info && annotate->infos.count < ANNOTATE_CAMERAS_MAX) {
		info = mem_alloc(sizeof *info);
		info->topic = mem_strdup(topic);
		vec_push(&annotate->infos, info);
	}
	if (info)
		memcpy(info->projection, message->projection->p, sizeof info->projection);
}

/* The projection that a topic beside that of the boxes gives; NULL: none. */
static const double *annotate_projection(const struct annotate *annotate, const char *topic)
{
	size_t folder = annotate_folder(topic);
	for (uint32_t i = 0; i < annotate->infos.count; i++)
		if (annotate_folder(annotate->infos.at[i]->topic) == folder &&
			!memcmp(annotate->infos.at[i]->topic, topic, folder))
			return annotate->infos.at[i]->projection;
	return NULL;
}

static int64_t annotate_time_us(const struct troupe_message *message, const Gz__Msgs__Header *header)
{
	const Gz__Msgs__Time *stamp = header ? header->stamp : NULL;
	return stamp ? stamp->sec * 1000000 + stamp->nsec / 1000 : message->time_ns / 1000;
}

static void annotate_take_boxes(
	struct annotate *annotate, const struct troupe_message *message, const ProtobufCMessage *decoded)
{
	bool solid = !strcmp(message->type, annotate_solid_type);
	const Gz__Msgs__AnnotatedAxisAligned2DBoxV *flat = (const void *)decoded;
	const Gz__Msgs__AnnotatedOriented3DBoxV *boxes = (const void *)decoded;
	struct annotate_camera *camera = annotate_find(annotate, message->topic, strlen(message->topic), true);
	if (!camera)
		return;
	camera->boxes.count = 0;
	camera->boxed = true;
	camera->boxes_us = annotate_time_us(message, solid ? boxes->header : flat->header);
	if (solid)
		annotate_take_solid(camera, boxes);
	else
		annotate_take_flat(camera, flat);
}

troupe_status annotate_take(struct annotate *annotate, const struct troupe_message *message, struct troupe_error *error)
{
	static const struct message_limits no_limits = {.bytes_max = SIZE_MAX, .items_max = UINT32_MAX};
	ProtobufCMessage *decoded;
	troupe_status status =
		message_of_bytes(type_find(message->type), message->bytes, message->count, &no_limits, &decoded, error);
	if (status)
		return status;
	if (!strcmp(message->type, annotate_info_type))
		annotate_take_info(annotate, message->topic, (const void *)decoded);
	else
		annotate_take_boxes(annotate, message, decoded);
	message_free(decoded);
	return TROUPE_OK;
}

/* --- pictures ----------------------------------------------------------------------------------------------------- */

char *annotate_picture(struct annotate *annotate, const char *topic, int64_t time_us, uint32_t width, uint32_t height,
	const char *usual)
{
	static const char end[] = "_image";
	size_t length = strlen(topic), stem = length > sizeof end - 1 ? length - (sizeof end - 1) : 0;
	struct annotate_camera *camera = annotate->set.format && stem && !strcmp(topic + stem, end)
						 ? annotate_find(annotate, topic, stem, true)
						 : NULL;
	if (!camera)
		return mem_strdup(usual);
	free(camera->file);
	camera->number = annotate->pictures++;
	camera->file = dataset_file(&annotate->set, camera->number, usual);
	camera->pictured = true;
	camera->picture_us = time_us;
	camera->width = width, camera->height = height;
	return mem_strdup(camera->file);
}

troupe_status annotate_step(struct annotate *annotate, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	for (uint32_t i = 0; i < annotate->cameras.count && !status; i++) {
		struct annotate_camera *camera = annotate->cameras.at[i];
		if (!camera->pictured || !camera->boxed || camera->picture_us != camera->boxes_us)
			continue;
		camera->pictured = camera->boxed = false;
		status = dataset_add(&annotate->set,
			&(struct dataset_picture){camera->file, camera->number, camera->width, camera->height,
				annotate_projection(annotate, camera->topic), camera->boxes.at, camera->boxes.count},
			error);
	}
	return status;
}

void annotate_end(struct annotate *annotate)
{
	for (uint32_t i = 0; i < annotate->cameras.count; i++) {
		free(annotate->cameras.at[i]->topic);
		free(annotate->cameras.at[i]->file);
		vec_free(&annotate->cameras.at[i]->boxes);
		free(annotate->cameras.at[i]);
	}
	for (uint32_t i = 0; i < annotate->infos.count; i++) {
		free(annotate->infos.at[i]->topic);
		free(annotate->infos.at[i]);
	}
	vec_free(&annotate->infos);
	vec_free(&annotate->cameras);
	dataset_end(&annotate->set);
	annotate->set.format = DATASET_NONE;
}
