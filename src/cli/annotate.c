/* A camera is known by the topic of its picture, and found when the topics of its boxes or segments come. */
#include "cli/annotate.h"

#include "base/parse.h"
#include "topic/message.h"
#include "topic/sensor.pb-c.h"

#include <stdlib.h>
#include <string.h>

static const char annotate_flat_type[] = "gz.msgs.AnnotatedAxisAligned2DBox_V";
static const char annotate_solid_type[] = "gz.msgs.AnnotatedOriented3DBox_V";
static const char annotate_image_type[] = "gz.msgs.Image";
static const char annotate_info_type[] = "gz.msgs.CameraInfo";

struct annotate_camera {
	char *picture, *boxes_topic, *segments_topic; /* topics; the last two: NULL: none */
	char *file, *segments_file;
	bool pictured, boxed, segmented; /* the picture, the boxes and the segments of a time are there */
	int64_t picture_us, boxes_us, segments_us;
	uint32_t number, width, height;
	VEC(struct dataset_box) boxes;
	VEC(uint8_t) segments;
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

/* --- cameras ------------------------------------------------------------------------------------------------------ */

/* The camera that has the topic as this one; NULL: there is none. */
static struct annotate_camera *annotate_find(const struct annotate *annotate, const char *topic, size_t which)
{
	for (uint32_t i = 0; i < annotate->cameras.count; i++) {
		char *of = *(char **)(void *)((char *)annotate->cameras.at[i] + which);
		if (of && !strcmp(of, topic))
			return annotate->cameras.at[i];
	}
	return NULL;
}
#define ANNOTATE_FIND(annotate, topic, which) annotate_find(annotate, topic, offsetof(struct annotate_camera, which))

/* NULL: there are too many. */
static struct annotate_camera *annotate_make(struct annotate *annotate, const char *picture)
{
	struct annotate_camera *camera = ANNOTATE_FIND(annotate, picture, picture);
	if (camera || annotate->cameras.count == ANNOTATE_CAMERAS_MAX)
		return camera;
	camera = mem_alloc(sizeof *camera);
	camera->picture = mem_strdup(picture);
	vec_push(&annotate->cameras, camera);
	return camera;
}

static bool annotate_is_image(const struct troupe_topics *topics, const char *name, const char *owner)
{
	for (uint32_t i = 0; i < topics->count; i++)
		if (topics->at[i].kind == TROUPE_TOPIC_PUBLISHED && !strcmp(topics->at[i].name, name) &&
			!strcmp(topics->at[i].type, annotate_image_type) && !strcmp(topics->at[i].owner, owner))
			return true;
	return false;
}

/* The topic of the picture to which segments belong, of the same sensor; NULL: there is none. free() it. */
static char *annotate_picture_of(const struct troupe_topics *topics, const struct troupe_topic *segments)
{
	static const char end[] = "/segments";
	static const char *const ends[] = {"", "_image", "/image", "/boundingbox_image"};
	size_t length = strlen(segments->name), stem = length > sizeof end - 1 ? length - (sizeof end - 1) : 0;
	if (strcmp(segments->type, annotate_image_type) != 0 || !stem || strcmp(segments->name + stem, end) != 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		char *picture = mem_printf("%.*s%s", (int)stem, segments->name, ends[i]);
		if (annotate_is_image(topics, picture, segments->owner))
			return picture;
		free(picture);
	}
	return NULL;
}

void annotate_follow(struct annotate *annotate, const struct troupe_topics *topics)
{
	for (uint32_t i = 0; i < topics->count && annotate->set.format; i++) {
		const struct troupe_topic *topic = &topics->at[i];
		bool boxes = !strcmp(topic->type, annotate_flat_type) || !strcmp(topic->type, annotate_solid_type);
		if (topic->kind != TROUPE_TOPIC_PUBLISHED)
			continue;
		char *picture = boxes ? mem_printf("%s_image", topic->name) : annotate_picture_of(topics, topic);
		struct annotate_camera *camera = picture ? annotate_make(annotate, picture) : NULL;
		char **name = !camera ? NULL : boxes ? &camera->boxes_topic : &camera->segments_topic;
		if (name && !*name)
			*name = mem_strdup(topic->name);
		free(picture);
	}
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
		.measured = true,
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
	struct annotate_camera *camera = ANNOTATE_FIND(annotate, message->topic, boxes_topic);
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
	ProtobufCMessage *decoded;
	troupe_status status = message_of_bytes(
		type_find(message->type), message->bytes, message->count, &message_limits_none, &decoded, error);
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

static void annotate_take_segments(struct annotate_camera *camera, const struct annotate_picture *picture)
{
	size_t count = (size_t)3 * picture->width * picture->height;
	if (picture->count != count || count > UINT32_MAX)
		return;
	camera->segments.count = 0;
	memcpy(vec_append(&camera->segments, (uint32_t)count), picture->bytes, count);
	camera->segmented = true;
	camera->segments_us = picture->time_us;
	free(camera->segments_file);
	camera->segments_file = mem_strdup(picture->usual);
}

char *annotate_picture(struct annotate *annotate, const struct annotate_picture *picture)
{
	struct annotate_camera *segments = ANNOTATE_FIND(annotate, picture->topic, segments_topic),
			       *camera = ANNOTATE_FIND(annotate, picture->topic, picture);
	if (segments)
		annotate_take_segments(segments, picture);
	if (!camera)
		return mem_strdup(picture->usual);
	free(camera->file);
	camera->number = annotate->pictures++;
	camera->file = dataset_file(&annotate->set, camera->number, picture->usual);
	camera->pictured = true;
	camera->picture_us = picture->time_us;
	camera->width = picture->width, camera->height = picture->height;
	return mem_strdup(camera->file);
}

/* All that belongs to the picture has come. */
static bool annotate_is_whole(const struct annotate_camera *camera)
{
	bool boxed = !camera->boxes_topic || (camera->boxed && camera->boxes_us == camera->picture_us);
	bool segmented = !camera->segments_topic ||
			 (camera->segmented && camera->segments_us == camera->picture_us &&
				 camera->segments.count == (size_t)3 * camera->width * camera->height);
	return camera->pictured && boxed && segmented;
}

troupe_status annotate_step(struct annotate *annotate, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	for (uint32_t i = 0; i < annotate->cameras.count && !status; i++) {
		struct annotate_camera *camera = annotate->cameras.at[i];
		if (!annotate_is_whole(camera))
			continue;
		camera->pictured = camera->boxed = camera->segmented = false;
		status = dataset_add(&annotate->set,
			&(struct dataset_picture){.file = camera->file,
				.number = camera->number,
				.width = camera->width,
				.height = camera->height,
				.projection = annotate_projection(annotate, camera->picture),
				.boxed = camera->boxes_topic != NULL,
				.boxes = camera->boxes.at,
				.count = camera->boxes.count,
				.segments = camera->segments_topic ? camera->segments.at : NULL,
				.segments_file = camera->segments_file},
			error);
	}
	return status;
}

void annotate_end(struct annotate *annotate)
{
	for (uint32_t i = 0; i < annotate->cameras.count; i++) {
		struct annotate_camera *camera = annotate->cameras.at[i];
		free(camera->picture);
		free(camera->boxes_topic);
		free(camera->segments_topic);
		free(camera->file);
		free(camera->segments_file);
		vec_free(&camera->boxes);
		vec_free(&camera->segments);
		free(camera);
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
