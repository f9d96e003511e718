/* A client like others, which subscribes to all topics of images, and for a data set of boxes; new ones are found when
 * the table of topics changes.
 */
#include "cli/camera_out.h"

#include "base/base.h"
#include "mesh/png_out.h"
#include "topic/message.h"
#include "topic/plain.pb-c.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char camera_out_image_type[] = "gz.msgs.Image";

/* Topics whose files have one stem: usually one topic. */
struct camera_out_pass {
	char *stem;
	int64_t last_us;
	uint32_t number; /* how many times its times have begun anew */
};

static void camera_out_subscribe(struct camera_out *out, struct troupe_server *server)
{
	const struct troupe_topics *topics = troupe_topics_list(server);
	out->epoch = topics->epoch;
	for (uint32_t i = 0; i < topics->count; i++)
		if ((topics->at[i].kind == TROUPE_TOPIC_PUBLISHED &&
			    !strcmp(topics->at[i].type, camera_out_image_type)) ||
			annotate_wants(&out->annotate, &topics->at[i]))
			(void)troupe_client_subscribe(out->client, topics->at[i].name, 0, NULL);
	annotate_follow(&out->annotate, topics);
	troupe_topics_release(topics);
}

troupe_status camera_out_begin(struct camera_out *out, const char *folder, const char *format,
	struct troupe_server *server, void (*warn)(void *ctx, const char *text), void *ctx, struct troupe_error *error)
{
	struct stat info;
	*out = (struct camera_out){.folder = folder, .warn = warn, .ctx = ctx};
	if (!folder)
		return TROUPE_OK;
	if (mkdir(folder, 0777) && (errno != EEXIST || stat(folder, &info) || !S_ISDIR(info.st_mode)))
		return fail(error, TROUPE_EIO, "%s: cannot make this folder for pictures: %s", folder,
			strerror(errno == EEXIST ? ENOTDIR : errno));
	if (outfile_claim_folder(&out->claim, folder, error) ||
		annotate_begin(&out->annotate, folder, dataset_format_of(format), error))
		return TROUPE_EIO;
	/* messages of a step wait until on_step of the next one */
	struct troupe_client_def def = {.depth = 1024};
	troupe_status status = troupe_client_create(server, &def, &out->client, error);
	if (!status)
		camera_out_subscribe(out, server);
	return status;
}

static uint32_t camera_out_pass_of(struct camera_out *out, const char *stem, int64_t time_us)
{
	uint32_t at = out->passes.count;
	struct camera_out_pass *pass;
	if (map_find(&out->stems, stem, &at)) {
		pass = out->passes.at[at];
		pass->number += time_us <= pass->last_us;
	} else {
		pass = mem_alloc(sizeof *pass);
		pass->stem = mem_strdup(stem);
		vec_push(&out->passes, pass);
		map_add(&out->stems, pass->stem, at);
	}
	pass->last_us = time_us;
	return pass->number;
}

/* The time of a picture is that of its stamp: it is sent after the step in which it was taken. */
static char *camera_out_path_of(
	struct camera_out *out, const struct troupe_message *message, const Gz__Msgs__Image *image)
{
	const Gz__Msgs__Time *stamp = image->header ? image->header->stamp : NULL;
	int64_t time_us = stamp ? stamp->sec * 1000000 + stamp->nsec / 1000 : message->time_ns / 1000;
	char *name = mem_strdup(message->topic + (*message->topic == '/'));
	for (char *at = name; *at; at++)
		if (*at == '/')
			*at = '_';
	bool flow = image->pixel_format_type == GZ__MSGS__PIXEL_FORMAT_TYPE__UNKNOWN_PIXEL_FORMAT;
	uint32_t pass = camera_out_pass_of(out, name, time_us);
	char again[16] = "";
	if (pass)
		(void)snprintf(again, sizeof again, "-%u", pass + 1);
	char *usual = mem_printf("%s-%012" PRId64 "%s.%s", name, time_us, again, flow ? "flo" : "png");
	char *file = annotate_picture(&out->annotate, &(struct annotate_picture){message->topic, time_us, image->width,
							      image->height, image->data.data, image->data.len, usual});
	char *path = mem_printf("%s/%s", out->folder, file);
	free(file);
	free(usual);
	free(name);
	return path;
}

static uint16_t camera_out_millimetres(float metres)
{
	return isfinite(metres) && metres > 0 && metres < 65.535F ? (uint16_t)(metres * 1000 + 0.5F) : 0;
}

static troupe_status camera_out_write_depth(const char *path, const Gz__Msgs__Image *image, struct troupe_error *error)
{
	size_t pixels = (size_t)image->width * image->height;
	uint16_t *values = mem_alloc(pixels * sizeof *values);
	for (size_t i = 0; i < pixels; i++) {
		float metres;
		memcpy(&metres, image->data.data + i * sizeof metres, sizeof metres);
		values[i] = camera_out_millimetres(metres);
	}
	troupe_status status = png_out_write(path, PNG_OUT_GREY16, image->width, image->height, values, error);
	free(values);
	return status;
}

/* A normal from -1 to 1 as a byte from 0 to 255; 128 128 128: there is none. */
static troupe_status camera_out_write_normals(
	const char *path, const Gz__Msgs__Image *image, struct troupe_error *error)
{
	size_t count = (size_t)image->width * image->height * 3;
	uint8_t *bytes = mem_alloc(count);
	for (size_t i = 0; i < count; i++) {
		float part;
		memcpy(&part, image->data.data + i * sizeof part, sizeof part);
		bytes[i] = (uint8_t)(fminf(fmaxf((part + 1) * 127.5F, 0), 255) + 0.5F);
	}
	troupe_status status = png_out_write(path, PNG_OUT_RGB8, image->width, image->height, bytes, error);
	free(bytes);
	return status;
}

/* The format of the Middlebury benchmark, vision.middlebury.edu/flow: "PIEH", width and height, and two floats for each
 * pixel, little-endian; 1e10: unknown. */
static troupe_status camera_out_write_flow(const char *path, const Gz__Msgs__Image *image, struct troupe_error *error)
{
	const uint32_t size[2] = {image->width, image->height};
	size_t count = (size_t)image->width * image->height * 2;
	struct text text = {0};
	text_add_bytes(&text, "PIEH", 4);
	text_add_bytes(&text, (const char *)size, sizeof size);
	for (size_t i = 0; i < count; i++) {
		float part;
		memcpy(&part, image->data.data + i * sizeof part, sizeof part);
		part = isfinite(part) ? part : 1e10F;
		text_add_bytes(&text, (const char *)&part, sizeof part);
	}
	troupe_status status = outfile_replace(path, text.at, text.count, NULL, error);
	text_fini(&text);
	return status;
}

/* The bytes in the order red, green, blue, or of 16 bits in this machine's order. */
static troupe_status camera_out_write_swapped(
	const char *path, const Gz__Msgs__Image *image, struct troupe_error *error)
{
	bool grey = image->pixel_format_type == GZ__MSGS__PIXEL_FORMAT_TYPE__L_INT16;
	size_t count = image->data.len;
	const uint8_t *from = image->data.data;
	uint8_t *bytes = mem_alloc(count);
	uint16_t *words = (uint16_t *)(void *)bytes;
	for (size_t i = 0; grey && 2 * i < count; i++)
		words[i] = (uint16_t)(from[2 * i] | from[2 * i + 1] << 8);
	for (size_t i = 0; !grey && i < count; i++)
		bytes[i] = from[i / 3 * 3 + 2 - i % 3];
	troupe_status status =
		png_out_write(path, grey ? PNG_OUT_GREY16 : PNG_OUT_RGB8, image->width, image->height, bytes, error);
	free(bytes);
	return status;
}

/* 0: a format that is not written */
static size_t camera_out_pixel_bytes(Gz__Msgs__PixelFormatType format)
{
	switch (format) {
	case GZ__MSGS__PIXEL_FORMAT_TYPE__RGB_INT8:
	case GZ__MSGS__PIXEL_FORMAT_TYPE__BGR_INT8:
		return 3;
	case GZ__MSGS__PIXEL_FORMAT_TYPE__R_FLOAT32:
		return 4;
	case GZ__MSGS__PIXEL_FORMAT_TYPE__RGB_FLOAT32:
		return 12;
	case GZ__MSGS__PIXEL_FORMAT_TYPE__UNKNOWN_PIXEL_FORMAT: /* flow */
		return 8;
	case GZ__MSGS__PIXEL_FORMAT_TYPE__L_INT16:
		return 2;
	case GZ__MSGS__PIXEL_FORMAT_TYPE__L_INT8:
	case GZ__MSGS__PIXEL_FORMAT_TYPE__BAYER_RGGB8:
	case GZ__MSGS__PIXEL_FORMAT_TYPE__BAYER_BGGR8:
	case GZ__MSGS__PIXEL_FORMAT_TYPE__BAYER_GBRG8:
	case GZ__MSGS__PIXEL_FORMAT_TYPE__BAYER_GRBG8:
		return 1;
	default:
		return 0;
	}
}

/* The mosaic of a Bayer format is grey. A picture of another format, or of another size than it says, is left out. */
static troupe_status camera_out_write_image(const char *path, const Gz__Msgs__Image *image, struct troupe_error *error)
{
	Gz__Msgs__PixelFormatType format = image->pixel_format_type;
	size_t bytes = camera_out_pixel_bytes(format);
	if (!image->data.len || image->data.len != bytes * image->width * image->height)
		return TROUPE_OK;
	if (format == GZ__MSGS__PIXEL_FORMAT_TYPE__R_FLOAT32)
		return camera_out_write_depth(path, image, error);
	if (format == GZ__MSGS__PIXEL_FORMAT_TYPE__RGB_FLOAT32)
		return camera_out_write_normals(path, image, error);
	if (format == GZ__MSGS__PIXEL_FORMAT_TYPE__UNKNOWN_PIXEL_FORMAT)
		return camera_out_write_flow(path, image, error);
	if (format == GZ__MSGS__PIXEL_FORMAT_TYPE__BGR_INT8 || format == GZ__MSGS__PIXEL_FORMAT_TYPE__L_INT16)
		return camera_out_write_swapped(path, image, error);
	return png_out_write(
		path, bytes == 1 ? PNG_OUT_GREY8 : PNG_OUT_RGB8, image->width, image->height, image->data.data, error);
}

static troupe_status camera_out_write_message(
	struct camera_out *out, const struct troupe_message *message, struct troupe_error *error)
{
	ProtobufCMessage *decoded;
	troupe_status status = message_of_bytes(type_find(camera_out_image_type), message->bytes, message->count,
		&message_limits_none, &decoded, error);
	if (status)
		return status;
	const Gz__Msgs__Image *image = (const Gz__Msgs__Image *)(const void *)decoded;
	char *path = camera_out_path_of(out, message, image);
	status = camera_out_write_image(path, image, error);
	free(path);
	message_free(decoded);
	return status;
}

static void camera_out_give_up(struct camera_out *out, const struct troupe_error *error)
{
	out->why = *error;
	out->warn(out->ctx, error->text);
	troupe_client_destroy(out->client);
	out->client = NULL;
}

static void camera_out_drain(struct camera_out *out)
{
	struct troupe_message message;
	struct troupe_error error;
	troupe_status status = TROUPE_OK;
	while (!status && troupe_client_take(out->client, 0, &message)) {
		if (message.is_reply)
			continue;
		if (strcmp(message.type, camera_out_image_type) != 0) {
			status = annotate_take(&out->annotate, &message, &error);
			continue;
		}
		status = out->files++ < CAMERA_OUT_FILES_MAX
				 ? camera_out_write_message(out, &message, &error)
				 : fail(&error, TROUPE_ELIMIT, "%s: %d pictures are written: no more", out->folder,
					   CAMERA_OUT_FILES_MAX);
	}
	if (!status)
		status = annotate_step(&out->annotate, &error);
	if (status)
		camera_out_give_up(out, &error);
}

void camera_out_step(struct camera_out *out, struct troupe_server *server)
{
	if (!out->client)
		return;
	if (troupe_topics_epoch(server) != out->epoch)
		camera_out_subscribe(out, server);
	camera_out_drain(out);
}

troupe_status camera_out_end(struct camera_out *out, struct troupe_error *error)
{
	if (out->client)
		camera_out_drain(out);
	troupe_client_destroy(out->client);
	out->client = NULL;
	annotate_end(&out->annotate);
	for (uint32_t i = 0; i < out->passes.count; i++) {
		free(out->passes.at[i]->stem);
		free(out->passes.at[i]);
	}
	vec_free(&out->passes);
	map_fini(&out->stems);
	outfile_release(&out->claim);
	troupe_status status = out->why.status;
	if (status && error)
		*error = out->why;
	out->why.status = TROUPE_OK;
	return status;
}
