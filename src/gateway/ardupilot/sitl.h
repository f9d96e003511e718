/* The two packets of ArduPilot's JSON interface for simulators (libraries/SITL/SIM_JSON of ArduPilot): servo outputs to
 * the simulator, as a struct, and the vehicle's state from it, as JSON in a line. Pure. */
#ifndef GATEWAY_ARDUPILOT_SITL_H
#define GATEWAY_ARDUPILOT_SITL_H

#include "base/text.h"

#include <troupe/geometry.h>

enum {
	SITL_CHANNELS_MAX = 32,
	SITL_RANGES_MAX = 6,
	SITL_SERVOS_BYTES_MAX = 8 + 2 * SITL_CHANNELS_MAX,
};

struct sitl_servos {
	uint32_t frame;         /* grows by one with each packet; the same number again: the answer to it was lost */
	uint32_t channel_count; /* 16 or 32 */
	uint16_t us[SITL_CHANNELS_MAX]; /* pulse widths */
};

/* TROUPE_EPROTOCOL: not such a packet; *error says what is wrong. */
troupe_status sitl_read_servos(
	const void *bytes, size_t count, struct sitl_servos *ret_servos, struct troupe_error *error);

/* In ArduPilot's frames: the world's x north, y east, z down; the airplane's x forward, y right, z down. */
struct sitl_state {
	int64_t time_ns; /* simulated */
	struct troupe_vec3 gyro,
		accel; /* rad/s, m/s2, in the airplane's frame; accel without gravity, as an IMU has it */
	struct troupe_vec3 position, velocity; /* m, m/s, in the world's frame */
	struct troupe_quat attitude;           /* of the airplane in the world */
	double ranges[SITL_RANGES_MAX];        /* m; NAN: no such rangefinder */
	bool has_wind;
	struct troupe_vec3 wind; /* m/s, in the world's frame */
};

/* Appends a line feed, the state, and a line feed. The wind is given as a vane on the vehicle has it: its speed, and
 * the direction from which it comes, in rad from the airplane's x to its y. */
void sitl_add_state(struct text *out, const struct sitl_state *state);

#endif
