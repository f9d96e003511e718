/* Frames of a sensor in a message of the scene, besides its own. Pure. */
#ifndef GATEWAY_ROS_SENSOR_FRAMES_H
#define GATEWAY_ROS_SENSOR_FRAMES_H

#include "geom/geom.h"
#include "topic/scene.pb-c.h"

/* The frame of pictures in that of their camera: z forward and x to the right. */
extern const struct pose sensor_frames_optical;

/* Whether the sensor takes pictures. */
bool sensor_frames_has_pictures(const Gz__Msgs__Sensor *sensor);

struct sensor_frame {
	const char *name; /* the message's */
	struct pose in_link;
};

/* The frames that the world names, at most two. at: of the sensor in its link. All messages of most cameras are
 * pictures, so that their only frame is turned as pictures are; the points of a camera that measures depth have x
 * forward. */
uint32_t sensor_frames_named(const Gz__Msgs__Sensor *sensor, struct pose at, struct sensor_frame ret_frames[2]);

#endif
