/* MAVLink 2: frames, and the messages that PX4 and a simulator exchange, as the public definitions (common.xml) have
 * them. Frames of version 1 are read, too. Pure.
 *
 * A frame of version 2: 0xfd, bytes of the payload, flags that must be understood, other flags, sequence number,
 * system, component, the message's number (3 bytes), payload, checksum (2 bytes); then 13 bytes of a signature, if it
 * has one. Zeros at the end of the payload are not sent. All numbers are little-endian. The checksum is CRC-16/MCRF4XX
 * of all but the first byte, and then of a byte that the layout of the message gives (CRC_EXTRA). */
#ifndef GATEWAY_PX4_MAVLINK_H
#define GATEWAY_PX4_MAVLINK_H

#include "base/text.h"

enum mavlink_message {
	MAVLINK_HEARTBEAT = 0,
	MAVLINK_SYSTEM_TIME = 2,
	MAVLINK_RC_CHANNELS = 65,
	MAVLINK_COMMAND_LONG = 76,
	MAVLINK_COMMAND_ACK = 77,
	MAVLINK_HIL_ACTUATOR_CONTROLS = 93,
	MAVLINK_HIL_SENSOR = 107,
	MAVLINK_HIL_GPS = 113,
	MAVLINK_HIL_STATE_QUATERNION = 115,
	MAVLINK_DISTANCE_SENSOR = 132,
};

enum { MAVLINK_PAYLOAD_MAX = 255, MAVLINK_FRAME_MAX = 280, MAVLINK_CONTROLS = 16 };

struct mavlink_frame {
	uint32_t message;
	unsigned system, component;
	unsigned char payload[MAVLINK_PAYLOAD_MAX + 1]; /* zeros behind what was sent */
};

enum mavlink_found {
	MAVLINK_NOTHING, /* more bytes are needed */
	MAVLINK_FRAME,
	MAVLINK_OTHER,   /* a frame with a message that is not of the list above: it cannot be checked */
	MAVLINK_RUBBISH, /* no frame begins with these bytes, or its checksum is wrong */
};

/* What the bytes begin with. *ret_used: the bytes of it; 0: MAVLINK_NOTHING. */
enum mavlink_found mavlink_find(
	const unsigned char *bytes, size_t count, size_t *ret_used, struct mavlink_frame *ret_frame);

struct mavlink_controls { /* HIL_ACTUATOR_CONTROLS */
	uint64_t time_us;
	bool lockstep, armed;
	float values[MAVLINK_CONTROLS];
};
struct mavlink_controls mavlink_controls_of(const struct mavlink_frame *frame);

struct mavlink_command { /* COMMAND_LONG */
	float parameters[7];
	uint32_t command;
};
struct mavlink_command mavlink_command_of(const struct mavlink_frame *frame);

/* --- writing. Numbers are clamped to what their fields hold; NaN is 0. -------------------------------------------- */

struct mavlink_out {
	struct text *text;
	uint8_t sequence; /* of the next frame */
};

void mavlink_add_heartbeat(struct mavlink_out *out);
void mavlink_add_system_time(struct mavlink_out *out, uint64_t time_us);
/* result: 0: accepted, 3: not supported */
void mavlink_add_ack(struct mavlink_out *out, uint32_t command, int result);

enum {
	MAVLINK_SENSOR_MOTION = 0x3f, /* accelerometer and gyro */
	MAVLINK_SENSOR_MAGNETIC = 0x1c0,
	MAVLINK_SENSOR_AIR = 0x1e00,
};
struct mavlink_sensor {
	uint64_t time_us;
	double acceleration[3], rates[3], magnetic[3];   /* m/s2, rad/s, gauss; x forward, y right, z down */
	double pressure, dynamic, altitude, temperature; /* hPa, hPa, m, degrees C */
	uint32_t updated;
};
void mavlink_add_sensor(struct mavlink_out *out, const struct mavlink_sensor *sensor);

struct mavlink_place {
	uint64_t time_us;
	double latitude_deg, longitude_deg, altitude_m;
	double velocity[3]; /* north, east, down; m/s */
};
void mavlink_add_gps(struct mavlink_out *out, const struct mavlink_place *place);

struct mavlink_truth {
	struct mavlink_place place;
	double attitude[4]; /* w x y z */
	double rates[3], acceleration[3], airspeed;
};
void mavlink_add_truth(struct mavlink_out *out, const struct mavlink_truth *truth);

enum { MAVLINK_RC_MAX = 18 };

/* The channels of a remote control, in us; those that are not given are marked as such. rssi: 255: not known. */
void mavlink_add_rc(struct mavlink_out *out, uint64_t time_us, const uint32_t *channels, size_t count, uint32_t rssi);

/* A lidar that looks down. Metres. */
void mavlink_add_distance(struct mavlink_out *out, uint64_t time_us, double least, double most, double distance);

#endif
