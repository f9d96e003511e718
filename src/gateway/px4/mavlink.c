/* Bytes are taken one by one where no frame begins, so that after rubbish the next frame is found. The fields of a
 * message are written in the order of their sizes, as MAVLink sends them. */
#include "gateway/px4/mavlink.h"

#include "base/math.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
	MAVLINK_VERSION_1 = 0xfe,
	MAVLINK_VERSION_2 = 0xfd,
	MAVLINK_SIGNED = 1, /* the only flag that must be understood */
	MAVLINK_SIGNATURE_BYTES = 13,
	MAVLINK_ARMED = 128,
	MAVLINK_SYSTEM = 1,
	MAVLINK_COMPONENT = 200, /* as a simulator names itself */
	MAVLINK_VERSION = 3,
	MAVLINK_GENERIC = 0,
	MAVLINK_NO_AUTOPILOT = 8,
	MAVLINK_LASER = 0,
	MAVLINK_LOOKS_DOWN = 25,
	MAVLINK_FIX_3D = 3,
	MAVLINK_SATELLITES = 10,
	MAVLINK_CM = 100,
	MAVLINK_NOT_KNOWN = UINT8_MAX,
};

/* Bytes of the payload without what later versions added, and CRC_EXTRA. */
static const struct mavlink_layout {
	uint32_t message;
	uint8_t bytes, extra;
} mavlink_layouts[] = {
	{MAVLINK_HEARTBEAT, 9, 50},
	{MAVLINK_SYSTEM_TIME, 12, 137},
	{MAVLINK_RC_CHANNELS, 42, 118},
	{MAVLINK_COMMAND_LONG, 33, 152},
	{MAVLINK_COMMAND_ACK, 3, 143},
	{MAVLINK_HIL_ACTUATOR_CONTROLS, 81, 47},
	{MAVLINK_HIL_SENSOR, 64, 108},
	{MAVLINK_HIL_GPS, 36, 124},
	{MAVLINK_HIL_STATE_QUATERNION, 64, 4},
	{MAVLINK_DISTANCE_SENSOR, 14, 85},
};

static const struct mavlink_layout *mavlink_layout_of(uint32_t message)
{
	for (size_t i = 0; i < ARRAY_LEN(mavlink_layouts); i++)
		if (mavlink_layouts[i].message == message)
			return &mavlink_layouts[i];
	return NULL;
}

/* CRC-16/MCRF4XX, which MAVLink calls X.25. */
static uint16_t mavlink_sum(const unsigned char *bytes, size_t count, unsigned char extra)
{
	uint16_t sum = 0xffff;
	for (size_t i = 0; i <= count; i++) {
		unsigned char byte = (unsigned char)((i < count ? bytes[i] : extra) ^ (sum & 0xff));
		byte = (unsigned char)(byte ^ (byte << 4));
		sum = (uint16_t)((sum >> 8) ^ (byte << 8) ^ (byte << 3) ^ (byte >> 4));
	}
	return sum;
}

static uint64_t mavlink_uint(const unsigned char *bytes, int count)
{
	uint64_t value = 0;
	for (int i = count; i-- > 0;)
		value = value << 8 | bytes[i];
	return value;
}

static float mavlink_float(const unsigned char *bytes)
{
	uint32_t bits = (uint32_t)mavlink_uint(bytes, 4);
	float value;
	memcpy(&value, &bits, sizeof value);
	return isfinite(value) ? value : 0;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

struct mavlink_shape {              /* of a frame */
	size_t head, payload, tail; /* bytes; tail: of the signature */
};

/* False: such a frame cannot be read. */
static bool mavlink_shape_of(const unsigned char *bytes, struct mavlink_shape *ret_shape)
{
	*ret_shape = (struct mavlink_shape){.head = bytes[0] == MAVLINK_VERSION_2 ? 10 : 6, .payload = bytes[1]};
	if (bytes[0] != MAVLINK_VERSION_2)
		return bytes[0] == MAVLINK_VERSION_1;
	ret_shape->tail = bytes[2] & MAVLINK_SIGNED ? MAVLINK_SIGNATURE_BYTES : 0;
	return !(bytes[2] & ~MAVLINK_SIGNED);
}

enum mavlink_found mavlink_find(
	const unsigned char *bytes, size_t count, size_t *ret_used, struct mavlink_frame *ret_frame)
{
	struct mavlink_shape shape;
	*ret_used = 0;
	if (count && bytes[0] != MAVLINK_VERSION_1 && bytes[0] != MAVLINK_VERSION_2) {
		while (*ret_used < count && bytes[*ret_used] != MAVLINK_VERSION_1 &&
			bytes[*ret_used] != MAVLINK_VERSION_2)
			++*ret_used;
		return MAVLINK_RUBBISH;
	}
	if (count < 3)
		return MAVLINK_NOTHING;
	bool can = mavlink_shape_of(bytes, &shape);
	size_t summed = shape.head + shape.payload;
	if (can && count < summed + 2 + shape.tail)
		return MAVLINK_NOTHING;
	*ret_used = 1;
	if (!can)
		return MAVLINK_RUBBISH;
	const unsigned char *number = bytes + shape.head - (shape.head == 10 ? 3 : 1);
	uint32_t message = (uint32_t)mavlink_uint(number, shape.head == 10 ? 3 : 1);
	const struct mavlink_layout *layout = mavlink_layout_of(message);
	if (layout && mavlink_sum(bytes + 1, summed - 1, layout->extra) != mavlink_uint(bytes + summed, 2))
		return MAVLINK_RUBBISH;
	*ret_used = summed + 2 + shape.tail;
	*ret_frame = (struct mavlink_frame){message, number[-2], number[-1], {0}};
	memcpy(ret_frame->payload, bytes + shape.head, shape.payload);
	return layout ? MAVLINK_FRAME : MAVLINK_OTHER;
}

struct mavlink_controls mavlink_controls_of(const struct mavlink_frame *frame)
{
	const unsigned char *at = frame->payload;
	struct mavlink_controls controls = {
		.time_us = mavlink_uint(at, 8), .lockstep = at[8] & 1, .armed = at[80] & MAVLINK_ARMED};
	for (int i = 0; i < MAVLINK_CONTROLS; i++)
		controls.values[i] = mavlink_float(at + 16 + 4 * (size_t)i);
	return controls;
}

struct mavlink_command mavlink_command_of(const struct mavlink_frame *frame)
{
	struct mavlink_command command = {.command = (uint32_t)mavlink_uint(frame->payload + 28, 2)};
	for (size_t i = 0; i < ARRAY_LEN(command.parameters); i++)
		command.parameters[i] = mavlink_float(frame->payload + 4 * i);
	return command;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

struct mavlink_payload {
	unsigned char bytes[MAVLINK_PAYLOAD_MAX];
	size_t count;
};

static void mavlink_put(struct mavlink_payload *to, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		to->bytes[to->count++] = (unsigned char)(value >> (8 * i));
}

static void mavlink_put_float(struct mavlink_payload *to, double value)
{
	const double most = (double)FLT_MAX;
	float narrow = isnan(value) ? 0 : value < -most ? -FLT_MAX : value > most ? FLT_MAX : (float)value;
	uint32_t bits;
	memcpy(&bits, &narrow, sizeof bits);
	mavlink_put(to, bits, 4);
}

/* Rounded. */
static void mavlink_put_whole(struct mavlink_payload *to, double value, double low, double high, int bytes)
{
	double whole = isnan(value) ? 0 : floor(value + 0.5);
	whole = whole < low ? low : whole > high ? high : whole;
	mavlink_put(to, (uint64_t)(int64_t)whole, bytes);
}

static void mavlink_put_i16(struct mavlink_payload *to, double value)
{
	mavlink_put_whole(to, value, INT16_MIN, INT16_MAX, 2);
}

static void mavlink_put_u16(struct mavlink_payload *to, double value)
{
	mavlink_put_whole(to, value, 0, UINT16_MAX, 2);
}

static void mavlink_put_i32(struct mavlink_payload *to, double value)
{
	mavlink_put_whole(to, value, INT32_MIN, INT32_MAX, 4);
}

static void mavlink_add(struct mavlink_out *out, uint32_t message, const struct mavlink_payload *payload)
{
	struct mavlink_payload head = {.count = 0};
	size_t count = payload->count, before = out->text->count;
	while (count > 1 && !payload->bytes[count - 1])
		count--;
	mavlink_put(&head, MAVLINK_VERSION_2, 1);
	mavlink_put(&head, count, 1);
	mavlink_put(&head, 0, 2);
	mavlink_put(&head, out->sequence++, 1);
	mavlink_put(&head, MAVLINK_SYSTEM, 1);
	mavlink_put(&head, MAVLINK_COMPONENT, 1);
	mavlink_put(&head, message, 3);
	text_add_bytes(out->text, (const char *)head.bytes, head.count);
	text_add_bytes(out->text, (const char *)payload->bytes, count);
	uint16_t sum = mavlink_sum((const unsigned char *)out->text->at + before + 1, head.count + count - 1,
		mavlink_layout_of(message)->extra);
	const char tail[] = {(char)(sum & 0xff), (char)(sum >> 8)};
	text_add_bytes(out->text, tail, sizeof tail);
}

void mavlink_add_heartbeat(struct mavlink_out *out)
{
	struct mavlink_payload payload = {.count = 0};
	mavlink_put(&payload, 0, 4); /* mode */
	mavlink_put(&payload, MAVLINK_GENERIC, 1);
	mavlink_put(&payload, MAVLINK_NO_AUTOPILOT, 1);
	mavlink_put(&payload, 0, 2); /* base mode, status */
	mavlink_put(&payload, MAVLINK_VERSION, 1);
	mavlink_add(out, MAVLINK_HEARTBEAT, &payload);
}

void mavlink_add_system_time(struct mavlink_out *out, uint64_t time_us)
{
	struct mavlink_payload payload = {.count = 0};
	mavlink_put(&payload, time_us, 8);
	mavlink_put(&payload, time_us / 1000, 4);
	mavlink_add(out, MAVLINK_SYSTEM_TIME, &payload);
}

void mavlink_add_ack(struct mavlink_out *out, uint32_t command, int result)
{
	struct mavlink_payload payload = {.count = 0};
	mavlink_put(&payload, command, 2);
	mavlink_put(&payload, (uint64_t)result, 1);
	mavlink_add(out, MAVLINK_COMMAND_ACK, &payload);
}

static void mavlink_put_floats(struct mavlink_payload *to, const double *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		mavlink_put_float(to, values[i]);
}

void mavlink_add_sensor(struct mavlink_out *out, const struct mavlink_sensor *sensor)
{
	struct mavlink_payload payload = {.count = 0};
	mavlink_put(&payload, sensor->time_us, 8);
	mavlink_put_floats(&payload, sensor->acceleration, 3);
	mavlink_put_floats(&payload, sensor->rates, 3);
	mavlink_put_floats(&payload, sensor->magnetic, 3);
	mavlink_put_float(&payload, sensor->pressure);
	mavlink_put_float(&payload, sensor->dynamic);
	mavlink_put_float(&payload, sensor->altitude);
	mavlink_put_float(&payload, sensor->temperature);
	mavlink_put(&payload, sensor->updated, 4);
	mavlink_add(out, MAVLINK_HIL_SENSOR, &payload);
}

static void mavlink_put_place(struct mavlink_payload *to, const struct mavlink_place *place)
{
	mavlink_put_i32(to, place->latitude_deg * 1e7);
	mavlink_put_i32(to, place->longitude_deg * 1e7);
	mavlink_put_i32(to, place->altitude_m * 1e3);
}

void mavlink_add_gps(struct mavlink_out *out, const struct mavlink_place *place)
{
	struct mavlink_payload payload = {.count = 0};
	const double *v = place->velocity;
	double course = floor(math_atan2(v[1], v[0]) * (180 / M_PI) * MAVLINK_CM + 0.5); /* below 360 degrees */
	mavlink_put(&payload, place->time_us, 8);
	mavlink_put_place(&payload, place);
	mavlink_put_u16(&payload, MAVLINK_CM); /* how exact it is, across and up: 1 */
	mavlink_put_u16(&payload, MAVLINK_CM);
	mavlink_put_u16(&payload, sqrt(v[0] * v[0] + v[1] * v[1]) * MAVLINK_CM);
	for (int i = 0; i < 3; i++)
		mavlink_put_i16(&payload, v[i] * MAVLINK_CM);
	mavlink_put_u16(&payload, course < 0 ? course + 360 * MAVLINK_CM : course);
	mavlink_put(&payload, MAVLINK_FIX_3D, 1);
	mavlink_put(&payload, MAVLINK_SATELLITES, 1);
	mavlink_add(out, MAVLINK_HIL_GPS, &payload);
}

void mavlink_add_truth(struct mavlink_out *out, const struct mavlink_truth *truth)
{
	struct mavlink_payload payload = {.count = 0};
	mavlink_put(&payload, truth->place.time_us, 8);
	mavlink_put_floats(&payload, truth->attitude, 4);
	mavlink_put_floats(&payload, truth->rates, 3);
	mavlink_put_place(&payload, &truth->place);
	for (int i = 0; i < 3; i++)
		mavlink_put_i16(&payload, truth->place.velocity[i] * MAVLINK_CM);
	mavlink_put_u16(&payload, fabs(truth->airspeed) * MAVLINK_CM);
	mavlink_put_u16(&payload, fabs(truth->airspeed) * MAVLINK_CM);
	for (int i = 0; i < 3; i++)
		mavlink_put_i16(&payload, truth->acceleration[i] / 9.80665 * 1e3);
	mavlink_add(out, MAVLINK_HIL_STATE_QUATERNION, &payload);
}

void mavlink_add_rc(struct mavlink_out *out, uint64_t time_us, const uint32_t *channels, size_t count, uint32_t rssi)
{
	struct mavlink_payload payload = {.count = 0};
	mavlink_put(&payload, time_us / 1000, 4);
	for (size_t i = 0; i < MAVLINK_RC_MAX; i++)
		mavlink_put_u16(&payload, i < count ? channels[i] : UINT16_MAX);
	mavlink_put(&payload, count, 1);
	mavlink_put(&payload, rssi, 1);
	mavlink_add(out, MAVLINK_RC_CHANNELS, &payload);
}

void mavlink_add_distance(struct mavlink_out *out, uint64_t time_us, double least, double most, double distance)
{
	struct mavlink_payload payload = {.count = 0};
	mavlink_put(&payload, time_us / 1000, 4);
	mavlink_put_u16(&payload, least * MAVLINK_CM);
	mavlink_put_u16(&payload, most * MAVLINK_CM);
	mavlink_put_u16(&payload, distance * MAVLINK_CM);
	mavlink_put(&payload, MAVLINK_LASER, 1);
	mavlink_put(&payload, 0, 1); /* its number */
	mavlink_put(&payload, MAVLINK_LOOKS_DOWN, 1);
	mavlink_put(&payload, MAVLINK_NOT_KNOWN, 1);
	mavlink_add(out, MAVLINK_DISTANCE_SENSOR, &payload);
}
