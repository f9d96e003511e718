/* MAVLink beside a second implementation of its public definitions (common.xml): frames are put together and taken
 * apart here byte by byte, with a checksum bit by bit, and each message by a table of its fields in the order in which
 * they are sent. Whole, cut, damaged, signed and of both versions; numbers at their limits, beyond them, and none. */
#include "../random.h"
#include "gateway/px4/mavlink.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

TestSuite(mavlink, .timeout = 60);

/* --- the second implementation -------------------------------------------------------------------------------------
 */

enum { PEER_FIELDS_MAX = 24 };

/* Of a field: u, i, f and its bytes, in the order of the wire. crc: CRC_EXTRA. */
static const struct peer_message {
	uint32_t number;
	unsigned crc;
	const char *fields;
} peer_messages[] = {
	{0, 50, "u4 u1 u1 u1 u1 u1"},
	{2, 137, "u8 u4"},
	{76, 152, "f4 f4 f4 f4 f4 f4 f4 u2 u1 u1 u1"},
	{77, 143, "u2 u1"},
	{93, 47, "u8 u8 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 u1"},
	{107, 108, "u8 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 u4"},
	{113, 124, "u8 i4 i4 i4 u2 u2 u2 i2 i2 i2 u2 u1 u1"},
	{115, 4, "u8 f4 f4 f4 f4 f4 f4 f4 i4 i4 i4 i2 i2 i2 u2 u2 i2 i2 i2"},
	{132, 85, "u4 u2 u2 u2 u1 u1 u1 u1"},
};

static const struct peer_message *peer_message(uint32_t number)
{
	for (size_t i = 0; i < ARRAY_LEN(peer_messages); i++)
		if (peer_messages[i].number == number)
			return &peer_messages[i];
	return NULL;
}

static unsigned peer_sum(const unsigned char *bytes, size_t count, unsigned extra)
{
	unsigned crc = 0xffff;
	for (size_t i = 0; i <= count; i++) {
		crc ^= i < count ? bytes[i] : extra;
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0x8408 : crc >> 1;
	}
	return crc;
}

static size_t peer_frame(
	unsigned char *to, int version, bool is_signed, uint32_t number, const unsigned char *payload, size_t bytes)
{
	size_t at = 0;
	while (version == 2 && bytes > 1 && !payload[bytes - 1])
		bytes--;
	to[at++] = version == 2 ? 0xfd : 0xfe;
	to[at++] = (unsigned char)bytes;
	if (version == 2) {
		to[at++] = is_signed;
		to[at++] = 0;
	}
	to[at++] = 77; /* sequence, system, component */
	to[at++] = 5;
	to[at++] = 6;
	to[at++] = (unsigned char)number;
	if (version == 2) {
		to[at++] = (unsigned char)(number >> 8);
		to[at++] = (unsigned char)(number >> 16);
	}
	memcpy(to + at, payload, bytes);
	at += bytes;
	const struct peer_message *message = peer_message(number);
	unsigned sum = peer_sum(to + 1, at - 1, message ? message->crc : 0);
	to[at++] = (unsigned char)sum;
	to[at++] = (unsigned char)(sum >> 8);
	for (int i = 0; is_signed && i < 13; i++)
		to[at++] = 0xfd; /* as if another frame began there */
	return at;
}

/* The numbers of the one frame that the text is, which must be of this message and sequence number. */
static void peer_read(const struct text *text, uint32_t number, unsigned sequence, double *values)
{
	const unsigned char *at = (const unsigned char *)text->at;
	unsigned char payload[256] = {0};
	const struct peer_message *message = peer_message(number);
	cr_assert(text->count >= 13 && at[0] == 0xfd && at[2] == 0 && at[3] == 0 && at[4] == (unsigned char)sequence);
	cr_assert(at[5] == 1 && at[6] == 200, "system and component of a simulator");
	cr_assert_eq(at[7] + 256u * at[8] + 65536u * at[9], number);
	cr_assert_eq(text->count, 10u + at[1] + 2u);
	cr_assert(at[1] == 1 || at[9 + at[1]], "zeros at the end are not sent");
	unsigned sum = peer_sum(at + 1, 9u + at[1], message->crc);
	cr_assert_eq(at[10 + at[1]] + 256u * at[11 + at[1]], sum);
	memcpy(payload, at + 10, at[1]);
	size_t place = 0, count = 0;
	for (const char *field = message->fields; *field; field += field[2] ? 3 : 2) {
		int bytes = field[1] - '0';
		uint64_t bits = 0;
		for (int i = bytes; i-- > 0;)
			bits = bits << 8 | payload[place + (size_t)i];
		place += (size_t)bytes;
		float real;
		uint32_t low = (uint32_t)bits;
		memcpy(&real, &low, sizeof real);
		double sign = field[0] == 'i' && bits >> (8 * bytes - 1) ? ldexp(1, 8 * bytes) : 0;
		values[count++] = field[0] == 'f' ? (double)real : (double)bits - sign;
	}
	cr_assert_leq(at[1], place);
}

/* --- reading -------------------------------------------------------------------------------------------------------
 */

static uint64_t dice = 11;

static size_t any_frame(unsigned char *bytes, uint32_t *ret_number, unsigned char *payload, size_t *ret_bytes)
{
	const struct peer_message *message = &peer_messages[random_below(&dice, ARRAY_LEN(peer_messages))];
	int version = 1 + (int)random_below(&dice, 2);
	*ret_bytes = 0;
	for (const char *field = message->fields; *field; field += field[2] ? 3 : 2)
		*ret_bytes += (size_t)(field[1] - '0');
	size_t sent = random_below(&dice, 2) ? *ret_bytes : 1 + random_below(&dice, (uint32_t)*ret_bytes);
	memset(payload, 0, 256);
	for (size_t i = 0; i < sent; i++)
		payload[i] = (unsigned char)random_bits(&dice);
	*ret_number = message->number;
	return peer_frame(bytes, version, version == 2 && random_below(&dice, 2), message->number, payload, *ret_bytes);
}

/* Nothing until the last byte is there; then the payload, with zeros behind it, and no byte beyond the frame. */
Test(mavlink, frames_are_found_when_they_are_whole)
{
	unsigned char bytes[600], payload[256];
	for (int round = 0; round < 300; round++) {
		struct mavlink_frame frame;
		uint32_t number;
		size_t size, used, count = any_frame(bytes, &number, payload, &size);
		for (size_t i = 0; i < 20; i++)
			bytes[count + i] = (unsigned char)random_bits(&dice); /* what comes behind it */
		for (size_t part = 0; part < count; part++) {
			cr_assert_eq(
				mavlink_find(bytes, part, &used, &frame), MAVLINK_NOTHING, "%zu of %zu", part, count);
			cr_assert_eq(used, 0);
		}
		for (size_t more = 0; more < 20; more += 19) {
			cr_assert_eq(
				mavlink_find(bytes, count + more, &used, &frame), MAVLINK_FRAME, "message %u", number);
			cr_assert(
				used == count && frame.message == number && frame.system == 5 && frame.component == 6);
			cr_assert(!memcmp(frame.payload, payload, sizeof frame.payload));
		}
	}
}

/* A byte that is changed is seen, wherever it is (but for the signature, of which the sender alone knows the key), and
 * the frame that follows is found all the same: mostly, for what is left of the damaged one may look like the beginning
 * of a longer one. */
Test(mavlink, damage_is_seen_and_the_next_frame_found)
{
	enum { ROUNDS = 300 };
	unsigned char bytes[600], payload[256], next[256];
	int followed = 0;
	for (int round = 0; round < ROUNDS; round++) {
		struct mavlink_frame frame;
		uint32_t number, other;
		size_t size, used, count = any_frame(bytes, &number, payload, &size);
		size_t summed = count - (bytes[0] == 0xfd && bytes[2] ? 13 : 0);
		size_t all = count + any_frame(bytes + count, &other, next, &size), begin = 0;
		bytes[random_below(&dice, (uint32_t)summed)] ^= (unsigned char)(1 + random_below(&dice, 255));
		bool found = false;
		while (begin < all && !found) {
			enum mavlink_found what = mavlink_find(bytes + begin, all - begin, &used, &frame);
			if (what == MAVLINK_NOTHING)
				break; /* a length that is longer than all that follows */
			cr_assert_gt(used, 0);
			found = what == MAVLINK_FRAME && begin == count;
			cr_assert(what != MAVLINK_FRAME || begin, "a damaged frame");
			cr_assert(!found || (frame.message == other && !memcmp(frame.payload, next, sizeof next)));
			begin += used;
		}
		followed += found;
	}
	cr_assert_gt(followed, ROUNDS * 8 / 10, "%d", followed);
}

Test(mavlink, what_is_no_frame_is_rubbish_and_other_messages_are_passed_over)
{
	unsigned char bytes[300], payload[256] = {1, 2, 3};
	struct mavlink_frame frame;
	size_t used, count = peer_frame(bytes, 2, false, 70000, payload, 3);
	cr_assert(
		mavlink_find(bytes, count, &used, &frame) == MAVLINK_OTHER && used == count && frame.message == 70000);
	count = peer_frame(bytes, 1, false, 30, payload, 3);
	cr_assert(mavlink_find(bytes, count, &used, &frame) == MAVLINK_OTHER && used == count);
	memmove(bytes + 9, bytes, count);
	memset(bytes, 'x', 9);
	cr_assert(mavlink_find(bytes, count + 9, &used, &frame) == MAVLINK_RUBBISH && used == 9, "%zu", used);
	cr_assert(mavlink_find(bytes, 4, &used, &frame) == MAVLINK_RUBBISH && used == 4);
	cr_assert(mavlink_find(bytes, 0, &used, &frame) == MAVLINK_NOTHING && used == 0);
	for (unsigned flags = 2; flags < 256; flags++) { /* flags that must be understood, and are not */
		count = peer_frame(bytes, 2, false, 0, payload, 9);
		bytes[2] = (unsigned char)flags;
		cr_assert(mavlink_find(bytes, count, &used, &frame) == MAVLINK_RUBBISH && used == 1, "flags %u", flags);
	}
}

static void put_float(unsigned char *at, float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	for (int i = 0; i < 4; i++)
		at[i] = (unsigned char)(bits >> 8 * i);
}

Test(mavlink, controls_and_commands_have_their_fields)
{
	struct mavlink_frame frame = {.message = MAVLINK_HIL_ACTUATOR_CONTROLS};
	for (unsigned i = 0; i < 8; i++)
		frame.payload[i] = (unsigned char)(i + 1);
	for (int i = 0; i < 16; i++)
		put_float(frame.payload + 16 + 4 * i, i == 14 ? NAN : i == 15 ? INFINITY : 0.25f * (float)(i - 8));
	for (unsigned flags = 0; flags < 4; flags++)
		for (unsigned mode = 0; mode < 256; mode += 51) {
			frame.payload[8] = (unsigned char)flags;
			frame.payload[80] = (unsigned char)mode;
			struct mavlink_controls controls = mavlink_controls_of(&frame);
			cr_assert(controls.time_us == 0x0807060504030201u && controls.lockstep == (flags & 1) &&
				  controls.armed == (mode >= 128));
			for (int i = 0; i < 16; i++)
				cr_assert_eq(controls.values[i], i < 14 ? 0.25f * (float)(i - 8) : 0, "control %d", i);
		}
	struct mavlink_frame asked = {.message = MAVLINK_COMMAND_LONG};
	for (int i = 0; i < 7; i++)
		put_float(asked.payload + 4 * i, (float)(i + 1) * -1.5f);
	asked.payload[28] = 0x39;
	asked.payload[29] = 0x30;
	asked.payload[30] = 0xff; /* the target */
	struct mavlink_command command = mavlink_command_of(&asked);
	cr_assert_eq(command.command, 12345);
	for (int i = 0; i < 7; i++)
		cr_assert_eq(command.parameters[i], (float)(i + 1) * -1.5f);
}

/* --- writing -------------------------------------------------------------------------------------------------------
 */

static const double wild[] = {
	0, 1, -1, 0.4, -0.4, 12.345, -12.345, 1e4, -1e4, 1e9, -1e9, 1e300, -1e300, NAN, INFINITY, -INFINITY};

static double any(void)
{
	return random_below(&dice, 3) ? random_between(&dice, -400, 400) : wild[random_below(&dice, ARRAY_LEN(wild))];
}

static double whole(double value, double low, double high)
{
	return isnan(value) ? 0 : fmin(fmax(floor(value + 0.5), low), high);
}

static double as_float(double value)
{
	return isnan(value) ? 0 : (double)(float)fmin(fmax(value, -(double)FLT_MAX), (double)FLT_MAX);
}

static void expect_values(const double *got, const double *wanted, size_t count, double slack, const char *what)
{
	for (size_t i = 0; i < count; i++)
		cr_assert(fabs(got[i] - wanted[i]) <= slack, "%s, field %zu: %.17g: expected %.17g", what, i, got[i],
			wanted[i]);
}

Test(mavlink, plain_messages_are_those_of_a_simulator)
{
	struct text text = {0};
	struct mavlink_out out = {.text = &text, .sequence = 254};
	double got[PEER_FIELDS_MAX];
	mavlink_add_heartbeat(&out);
	peer_read(&text, 0, 254, got);
	expect_values(got, (const double[]){0, 0, 8, 0, 0, 3}, 6, 0, "heartbeat");
	text.count = 0;
	mavlink_add_system_time(&out, 1234567890123);
	peer_read(&text, 2, 255, got);
	expect_values(got, (const double[]){1234567890123, 1234567890}, 2, 0, "system time");
	text.count = 0;
	mavlink_add_system_time(&out, 0); /* all zeros: one byte is sent */
	peer_read(&text, 2, 256, got);
	cr_assert(text.at[1] == 1 && got[0] == 0 && got[1] == 0);
	text.count = 0;
	mavlink_add_ack(&out, 511, 3);
	peer_read(&text, 77, 257, got);
	expect_values(got, (const double[]){511, 3}, 2, 0, "ack");
	text.count = 0;
	mavlink_add_distance(&out, 5000999, 0.105, 655.36, 7.123);
	peer_read(&text, 132, 258, got);
	expect_values(got, (const double[]){5000, 11, 65535, 712, 0, 0, 25, 255}, 8, 0, "distance");
	text_fini(&text);
}

Test(mavlink, sensors_are_floats_in_order)
{
	struct text text = {0};
	struct mavlink_out out = {.text = &text};
	for (unsigned round = 0; round < 500; round++) {
		struct mavlink_sensor sensor = {
			.time_us = random_bits(&dice) >> 12, .updated = (uint32_t)random_bits(&dice) & 0x1fff};
		double *const parts[] = {&sensor.acceleration[0], &sensor.acceleration[1], &sensor.acceleration[2],
			&sensor.rates[0], &sensor.rates[1], &sensor.rates[2], &sensor.magnetic[0], &sensor.magnetic[1],
			&sensor.magnetic[2], &sensor.pressure, &sensor.dynamic, &sensor.altitude, &sensor.temperature};
		double got[PEER_FIELDS_MAX], wanted[15] = {(double)sensor.time_us};
		for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
			*parts[i] = any();
			wanted[i + 1] = as_float(*parts[i]);
		}
		wanted[14] = sensor.updated;
		text.count = 0;
		mavlink_add_sensor(&out, &sensor);
		peer_read(&text, 107, round, got);
		expect_values(got, wanted, 15, 0, "sensor");
	}
	text_fini(&text);
}

static struct mavlink_place any_place(double *wanted)
{
	struct mavlink_place place = {.time_us = random_bits(&dice) >> 12,
		.latitude_deg = any(),
		.longitude_deg = any(),
		.altitude_m = any(),
		.velocity = {any(), any(), any()}};
	wanted[0] = whole(place.latitude_deg * 1e7, INT32_MIN, INT32_MAX);
	wanted[1] = whole(place.longitude_deg * 1e7, INT32_MIN, INT32_MAX);
	wanted[2] = whole(place.altitude_m * 1e3, INT32_MIN, INT32_MAX);
	for (int i = 0; i < 3; i++)
		wanted[3 + i] = whole(place.velocity[i] * 100, INT16_MIN, INT16_MAX);
	return place;
}

/* Course over ground is from 0 to 359.99 degrees, clockwise from north. */
Test(mavlink, places_are_whole_numbers_within_their_limits)
{
	struct text text = {0};
	struct mavlink_out out = {.text = &text};
	for (unsigned round = 0; round < 500; round++) {
		double got[PEER_FIELDS_MAX], w[6];
		struct mavlink_place place = any_place(w);
		if (round < 3) { /* to the north, and hardly to the west, or to the east */
			place.velocity[0] = 10;
			place.velocity[1] = (round - 1.0) * 1e-4;
			place.velocity[2] = 0;
			w[3] = 1000;
			w[4] = w[5] = 0;
		}
		const double *v = place.velocity;
		double speed = whole(hypot(v[0], v[1]) * 100, 0, 65535);
		text.count = 0;
		mavlink_add_gps(&out, &place);
		peer_read(&text, 113, round, got);
		expect_values(got, (const double[]){(double)place.time_us, w[0], w[1], w[2], 100, 100}, 6, 0, "gps");
		expect_values(got + 7, w + 3, 3, 0, "velocity");
		cr_assert(got[11] == 3 && got[12] == 10 && got[10] >= 0 && got[10] < 36000, "course %g", got[10]);
		if (!isfinite(v[0]) || !isfinite(v[1]) || hypot(v[0], v[1]) > 1e6)
			continue;
		cr_assert(fabs(got[6] - speed) <= 1, "speed %g", got[6]);
		double course = got[10] / 100 * M_PI / 180, is = hypot(v[0], v[1]);
		cr_assert(is == 0 || (fabs(cos(course) - v[0] / is) < 2e-4 && fabs(sin(course) - v[1] / is) < 2e-4),
			"course %g of %g %g", got[10], v[0], v[1]);
	}
	text_fini(&text);
}

Test(mavlink, the_truth_has_its_fields_in_order)
{
	struct text text = {0};
	struct mavlink_out out = {.text = &text};
	for (unsigned round = 0; round < 500; round++) {
		double got[PEER_FIELDS_MAX], w[6];
		struct mavlink_truth truth = {.place = any_place(w),
			.attitude = {any(), any(), any(), any()},
			.rates = {any(), any(), any()},
			.acceleration = {any(), any(), any()},
			.airspeed = any()};
		text.count = 0;
		mavlink_add_truth(&out, &truth);
		peer_read(&text, 115, round, got);
		double wanted[19] = {(double)truth.place.time_us};
		for (int i = 0; i < 4; i++)
			wanted[1 + i] = as_float(truth.attitude[i]);
		for (int i = 0; i < 3; i++) {
			wanted[5 + i] = as_float(truth.rates[i]);
			wanted[16 + i] = whole(truth.acceleration[i] / 9.80665 * 1000, INT16_MIN, INT16_MAX); /* mG */
		}
		memcpy(wanted + 8, w, sizeof w);
		wanted[14] = wanted[15] = whole(fabs(truth.airspeed) * 100, 0, 65535);
		expect_values(got, wanted, 19, 0, "truth");
	}
	text_fini(&text);
}
