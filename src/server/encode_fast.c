/* protobuf-c takes 2.3 us for an odometry: it makes a struct for each part, computes the size of each part once for
 * each part around it, and looks at each field of each descriptor. Here a part is written at once behind a byte for its
 * length, which nearly always is enough; otherwise the part is moved.
 *
 * So the numbers of these fields stand here for a second time. tests/unit/test_encode_fast compares the bytes with
 * those of protobuf-c, which come from the .proto files. */
#include "server/encode_fast.h"

#include "server/encode.h"

#include <string.h>

enum { ENCODE_FAST_WIRE_VARINT, ENCODE_FAST_WIRE_64, ENCODE_FAST_WIRE_LENGTH };
enum { ENCODE_FAST_TIME_BYTES = 2 + 11 + 11, VEC3_BYTES = 2 + 27, POSE_BYTES = 2 + 9 + 10 + 6 + VEC3_BYTES + 2 + 36 };
enum { PAIR_BYTES = 10 + 2 + 14 + 10 }; /* a key and a value in a header, without the value */

/* --- fields ------------------------------------------------------------------------------------------------------- */

static uint8_t *encode_fast_put_varint(uint8_t *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (uint8_t)(value | 0x80);
	*at++ = (uint8_t)value;
	return at;
}

/* What is 0 is left out, as in all of proto3. */
static uint8_t *encode_fast_put_number(uint8_t *at, unsigned field, uint64_t value)
{
	if (!value)
		return at;
	*at++ = (uint8_t)(field << 3 | ENCODE_FAST_WIRE_VARINT);
	return encode_fast_put_varint(at, value);
}

static uint8_t *encode_fast_put_double(uint8_t *at, unsigned field, double value)
{
	uint64_t bits;
	if (value == 0)
		return at;
	memcpy(&bits, &value, sizeof bits);
	*at++ = (uint8_t)(field << 3 | ENCODE_FAST_WIRE_64);
	for (unsigned i = 0; i < sizeof bits; i++) /* a single store where the machine has this order */
		at[i] = (uint8_t)(bits >> 8 * i);
	return at + sizeof bits;
}

static uint8_t *encode_fast_put_text(uint8_t *at, unsigned field, const char *text, size_t count)
{
	*at++ = (uint8_t)(field << 3 | ENCODE_FAST_WIRE_LENGTH);
	at = encode_fast_put_varint(at, count);
	memcpy(at, text, count);
	return at + count;
}

static uint8_t *encode_fast_put_fixed32(uint8_t *at, uint32_t value)
{
	for (unsigned i = 0; i < sizeof value; i++)
		at[i] = (uint8_t)(value >> 8 * i);
	return at + sizeof value;
}

static uint8_t *encode_fast_put_float(uint8_t *at, double value)
{
	float single = (float)value;
	uint32_t bits;
	memcpy(&bits, &single, sizeof bits);
	return encode_fast_put_fixed32(at, bits);
}

/* The head of a packed list of numbers of 4 bytes. */
static uint8_t *encode_fast_put_list(uint8_t *at, unsigned field, size_t count)
{
	if (!count)
		return at;
	*at++ = (uint8_t)(field << 3 | ENCODE_FAST_WIRE_LENGTH);
	return encode_fast_put_varint(at, 4 * count);
}

/* --- parts -------------------------------------------------------------------------------------------------------- */

/* The place where the content of the part begins. */
static uint8_t *encode_fast_open_part(uint8_t *at, unsigned field)
{
	*at = (uint8_t)(field << 3 | ENCODE_FAST_WIRE_LENGTH);
	return at + 2;
}

/* The content ends at `at`. Returns the end of the part. */
static uint8_t *encode_fast_close_part(uint8_t *content, uint8_t *at)
{
	uint8_t length[10];
	size_t count = (size_t)(at - content), bytes = (size_t)(encode_fast_put_varint(length, count) - length);
	if (bytes > 1)
		memmove(content + bytes - 1, content, count);
	memcpy(content - 1, length, bytes);
	return at + bytes - 1;
}

static uint8_t *encode_fast_put_time(uint8_t *at, unsigned field, int64_t ns)
{
	uint8_t *content = encode_fast_open_part(at, field);
	at = encode_fast_put_number(content, 1, (uint64_t)(ns / 1000000000));
	return encode_fast_close_part(content, encode_fast_put_number(at, 2, (uint64_t)(ns % 1000000000)));
}

static uint8_t *encode_fast_put_pair(uint8_t *at, const char *key, size_t key_count, const char *value)
{
	uint8_t *content = encode_fast_open_part(at, 2);
	at = encode_fast_put_text(content, 1, key, key_count);
	return encode_fast_close_part(content, encode_fast_put_text(at, 2, value, strlen(value)));
}

static uint8_t *encode_fast_put_header(uint8_t *at, int64_t time_ns, const char *frame, const char *child_frame)
{
	static const char frame_key[] = "frame_id", child_key[] = "child_frame_id";
	uint8_t *content = encode_fast_open_part(at, 1);
	at = encode_fast_put_time(content, 1, time_ns);
	if (frame)
		at = encode_fast_put_pair(at, frame_key, sizeof frame_key - 1, frame);
	if (child_frame)
		at = encode_fast_put_pair(at, child_key, sizeof child_key - 1, child_frame);
	return encode_fast_close_part(content, at);
}

static uint8_t *encode_fast_put_vec3(uint8_t *at, unsigned field, double x, double y, double z)
{
	uint8_t *content = encode_fast_open_part(at, field);
	at = encode_fast_put_double(content, 2, x);
	at = encode_fast_put_double(at, 3, y);
	return encode_fast_close_part(content, encode_fast_put_double(at, 4, z));
}

/* The last fields of a pose. */
static uint8_t *encode_fast_put_place(uint8_t *at, const struct troupe_pose *pose)
{
	at = encode_fast_put_vec3(at, 4, pose->x, pose->y, pose->z);
	uint8_t *orientation = encode_fast_open_part(at, 5);
	at = encode_fast_put_double(orientation, 2, pose->qx);
	at = encode_fast_put_double(at, 3, pose->qy);
	at = encode_fast_put_double(at, 4, pose->qz);
	return encode_fast_close_part(orientation, encode_fast_put_double(at, 5, pose->qw));
}

static uint8_t *encode_fast_put_pose(
	uint8_t *at, const struct troupe_pose *pose, const char *name, size_t name_count, uint32_t id)
{
	uint8_t *part = encode_fast_open_part(at, 2);
	at = name_count ? encode_fast_put_text(part, 2, name, name_count) : part;
	return encode_fast_close_part(part, encode_fast_put_place(encode_fast_put_number(at, 3, id), pose));
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

static uint8_t *encode_fast_begin(struct text *out, size_t bytes)
{
	text_reserve(out, bytes);
	return (uint8_t *)out->at + out->count;
}

static void encode_fast_end(struct text *out, const uint8_t *at)
{
	out->count = (size_t)(at - (const uint8_t *)out->at);
	out->at[out->count] = '\0';
}

void encode_fast_clock(struct text *out, int64_t sim_ns, int64_t real_ns, int64_t system_ns)
{
	uint8_t *at = encode_fast_begin(out, 2 + 4 * ENCODE_FAST_TIME_BYTES);
	at = encode_fast_put_header(at, sim_ns, NULL, NULL);
	at = encode_fast_put_time(at, 2, system_ns);
	at = encode_fast_put_time(at, 3, real_ns);
	encode_fast_end(out, encode_fast_put_time(at, 4, sim_ns));
}

void encode_fast_odometry(struct text *out, int64_t time_ns, const char *frame, const char *child_frame,
	const struct troupe_pose *pose, double linear, double angular)
{
	size_t names = (frame ? strlen(frame) : 0) + (child_frame ? strlen(child_frame) : 0);
	uint8_t *at = encode_fast_begin(
		out, names + 10 + ENCODE_FAST_TIME_BYTES + 2 * PAIR_BYTES + POSE_BYTES + 2 + 2 * VEC3_BYTES);
	at = encode_fast_put_header(at, time_ns, frame, child_frame);
	at = encode_fast_put_pose(at, pose, NULL, 0, 0);
	uint8_t *twist = encode_fast_open_part(at, 3);
	at = encode_fast_put_vec3(twist, 2, linear, 0, 0);
	encode_fast_end(out, encode_fast_close_part(twist, encode_fast_put_vec3(at, 3, 0, 0, angular)));
}

void encode_fast_tf(
	struct text *out, int64_t time_ns, const char *frame, const char *child_frame, const struct troupe_pose *pose)
{
	size_t names = (frame ? strlen(frame) : 0) + (child_frame ? strlen(child_frame) : 0);
	uint8_t *at =
		encode_fast_begin(out, names + 2 * (10 + ENCODE_FAST_TIME_BYTES) + 2 * PAIR_BYTES + 10 + POSE_BYTES);
	uint8_t *part = encode_fast_open_part(encode_fast_put_header(at, time_ns, NULL, NULL), 2);
	at = encode_fast_put_header(part, time_ns, frame, child_frame);
	encode_fast_end(out, encode_fast_close_part(part, encode_fast_put_place(at, pose)));
}

void encode_fast_poses(struct text *out, int64_t time_ns)
{
	encode_fast_end(
		out, encode_fast_put_header(encode_fast_begin(out, 2 + ENCODE_FAST_TIME_BYTES), time_ns, NULL, NULL));
}

void encode_fast_pose(struct text *out, const struct troupe_pose *pose, const char *name, uint32_t id)
{
	size_t count = strlen(name);
	encode_fast_end(
		out, encode_fast_put_pose(encode_fast_begin(out, count + 10 + POSE_BYTES), pose, name, count, id));
}

static uint8_t *encode_fast_put_fixed32s(uint8_t *at, const uint32_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		at = encode_fast_put_fixed32(at, values[i]);
	return at;
}

void encode_fast_view(struct text *out, const struct encode_moment *moment, const struct troupe_scene *scene,
	const struct encode_picture *picture)
{
	enum {
		HEAD_BYTES = 2 + ENCODE_FAST_TIME_BYTES + 2 * 11 + 2 * 9 + 4 * 11,
		MODEL_BYTES = 2 * 4,
		LINK_BYTES = 4 + 7 * 4
	};
	uint32_t models = picture->model_count, links = picture->link_count;
	uint8_t *at = encode_fast_begin(out, HEAD_BYTES + (size_t)models * MODEL_BYTES + (size_t)links * LINK_BYTES);
	at = encode_fast_put_header(at, moment->time_ns, NULL, NULL);
	at = encode_fast_put_number(at, 2, moment->step);
	at = encode_fast_put_number(at, 3, scene->epoch);
	at = encode_fast_put_list(encode_fast_put_double(at, 4, moment->rtf), 5, models);
	for (uint32_t i = 0; i < models; i++)
		at = encode_fast_put_fixed32(at, (uint32_t)scene->models[i].id);
	at = encode_fast_put_fixed32s(encode_fast_put_list(at, 6, models), picture->status, models);
	at = encode_fast_put_list(at, 7, links);
	for (uint32_t i = 0; i < links; i++)
		at = encode_fast_put_fixed32(at, encode_link_id(&scene->links[i]));
	at = encode_fast_put_list(at, 8, ENCODE_POSE_NUMBERS * (size_t)links);
	for (uint32_t i = 0; i < links; i++) {
		uint32_t bits[ENCODE_POSE_NUMBERS];
		_Static_assert(sizeof bits == sizeof picture->poses[i], "a float has 4 bytes");
		memcpy(bits, picture->poses[i], sizeof bits);
		at = encode_fast_put_fixed32s(at, bits, ENCODE_POSE_NUMBERS);
	}
	encode_fast_end(out, encode_fast_put_double(at, 9, moment->real_s));
}

void encode_fast_mesh(
	struct text *out, const double *points, uint32_t point_count, const uint32_t *corners, uint32_t triangle_count)
{
	size_t numbers = 3 * (size_t)point_count, corner_count = 3 * (size_t)triangle_count;
	uint8_t *at = encode_fast_put_list(encode_fast_begin(out, 2 * 11 + 4 * (numbers + corner_count)), 1, numbers);
	for (size_t i = 0; i < numbers; i++)
		at = encode_fast_put_float(at, points[i]);
	at = encode_fast_put_list(at, 2, corner_count);
	for (size_t i = 0; i < corner_count; i++)
		at = encode_fast_put_fixed32(at, corners[i]);
	encode_fast_end(out, at);
}
