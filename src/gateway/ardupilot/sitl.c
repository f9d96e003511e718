/* The packets' bytes are little-endian: ArduPilot sends its struct as it lies in memory. The JSON has the members that
 * ArduPilot's documents name, and no others. */
#include "gateway/ardupilot/sitl.h"

#include "base/json_out.h"
#include "base/math.h"

#include <math.h>
#include <string.h>

enum { SITL_MAGIC_16 = 18458, SITL_MAGIC_32 = 29569, SITL_HEAD_BYTES = 8 };

static uint32_t sitl_uint(const unsigned char *bytes, int count)
{
	uint32_t value = 0;
	for (int i = count; i-- > 0;)
		value = value << 8 | bytes[i];
	return value;
}

troupe_status sitl_read_servos(
	const void *bytes, size_t count, struct sitl_servos *ret_servos, struct troupe_error *error)
{
	const unsigned char *at = bytes;
	uint32_t magic = count >= SITL_HEAD_BYTES ? sitl_uint(at, 2) : 0;
	*ret_servos = (struct sitl_servos){.channel_count = magic == SITL_MAGIC_16 ? 16 : 32};
	if (magic != SITL_MAGIC_16 && magic != SITL_MAGIC_32)
		return fail(error, TROUPE_EPROTOCOL, "a packet of %zu bytes that begins with %u: expected %d or %d",
			count, magic, SITL_MAGIC_16, SITL_MAGIC_32);
	if (count != SITL_HEAD_BYTES + 2 * ret_servos->channel_count)
		return fail(error, TROUPE_EPROTOCOL, "servo outputs of %u channels in %zu bytes: expected %u",
			ret_servos->channel_count, count, SITL_HEAD_BYTES + 2 * ret_servos->channel_count);
	ret_servos->frame = sitl_uint(at + 4, 4); /* before it: the rate that ArduPilot wishes for */
	for (uint32_t i = 0; i < ret_servos->channel_count; i++)
		ret_servos->us[i] = (uint16_t)sitl_uint(at + SITL_HEAD_BYTES + 2 * i, 2);
	return TROUPE_OK;
}

static void sitl_add_vector(struct json_out *out, const char *key, struct troupe_vec3 v)
{
	const double values[] = {v.x, v.y, v.z};
	json_out_doubles(out, key, values, ARRAY_LEN(values));
}

static void sitl_add_wind(struct json_out *out, const struct sitl_state *state)
{
	struct troupe_vec3 apparent =
		troupe_quat_rotate(troupe_quat_inverse(state->attitude), troupe_vec3_sub(state->wind, state->velocity));
	json_out_object(out, "windvane");
	json_out_double(out, "direction", math_atan2(-apparent.y, -apparent.x));
	json_out_double(out, "speed", sqrt(apparent.x * apparent.x + apparent.y * apparent.y));
	json_out_end(out);
}

void sitl_add_state(struct text *text, const struct sitl_state *state)
{
	const double attitude[] = {state->attitude.w, state->attitude.x, state->attitude.y, state->attitude.z};
	struct json_out out = {.text = text};
	text_add(text, "\n");
	json_out_object(&out, NULL);
	json_out_double(&out, "timestamp", (double)state->time_ns * 1e-9);
	json_out_object(&out, "imu");
	sitl_add_vector(&out, "gyro", state->gyro);
	sitl_add_vector(&out, "accel_body", state->accel);
	json_out_end(&out);
	sitl_add_vector(&out, "position", state->position);
	json_out_doubles(&out, "quaternion", attitude, ARRAY_LEN(attitude));
	sitl_add_vector(&out, "velocity", state->velocity);
	for (int i = 0; i < SITL_RANGES_MAX; i++) {
		const char key[] = {'r', 'n', 'g', '_', (char)('1' + i), '\0'};
		if (!isnan(state->ranges[i]))
			json_out_double(&out, key, state->ranges[i]);
	}
	if (state->has_wind)
		sitl_add_wind(&out, state);
	json_out_end(&out);
	text_add(text, "\n");
}
