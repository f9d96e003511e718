/* What the elements of a vehicle of PX4 say (px4.c has what they do): its channels, its sensors with their noise, and
 * the fields of its messages. Read once, constant afterwards. */
#ifndef BUILTIN_PX4_CONFIG_H
#define BUILTIN_PX4_CONFIG_H

#include "builtin/parts.h"

enum {
	PX4_CONTROLS = 16,
	PX4_CHANNELS_MAX = 16,
	PX4_VECTOR = 3,
	PX4_PLACE = 6, /* latitude, longitude, altitude, velocity east, north, up */
	PX4_AXES = 9,  /* gyro, accelerometer and magnetometer */
	PX4_RC_MAX = 18,
	PX4_DELAYED_MAX = 8, /* places that wait: the GPS's rate is at most 50 Hz */
};

enum px4_input { PX4_CONTROL, PX4_RC };

struct px4_channel {
	uint32_t input;
	bool drives; /* a joint */
	double offset, scaling, disarmed, armed;
	struct builtin_servo servo;
};

struct px4_noise { /* of one axis */
	double density, walk, correlation_s, start;
};

struct px4_config {
	struct px4_channel channels[PX4_CHANNELS_MAX];
	uint32_t channel_count, link, motors, state;
	struct px4_noise axes[PX4_AXES];
	double pressure_deviation, pressure_drift, magnetic_rate, pressure_rate, place_rate;
	struct {
		double walk, density, velocity_density;
	} across, up;                 /* of the place */
	bool delays, has_earth_field; /* the place comes late; the magnetometer measures the earth's field */
	struct troupe_vec3 wind;
	const char *range; /* topic; NULL: none */
	const struct troupe_field *control, *armed, *speed, *header, *key, *value, *rc_channel, *rc_rssi;
	struct px4_fields {
		const struct troupe_field *acceleration[PX4_VECTOR], *rates[PX4_VECTOR], *magnetic[PX4_VECTOR],
			*true_acceleration[PX4_VECTOR], *true_rates[PX4_VECTOR], *attitude[4], *place[6],
			*true_place[6], *magnetic_sample, *pressure, *dynamic, *temperature, *pressure_sample,
			*place_sample, *airspeed, *place_time, *rc, *rssi;
	} field;
};

/* Reads the plug-in and those of the sensors, opens the topics, and names the words (struct px4_words). */
bool px4_config_configure(struct troupe_system *self, const struct troupe_element *plugin);

#endif
