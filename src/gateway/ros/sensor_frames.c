/* The same frames stand in the scenery of 3D panels (stage.h) and in the transforms of a robot (fixed_frames.c). */
#include "gateway/ros/sensor_frames.h"

#include "gateway/ros/parts.h"

#include <string.h>

const struct pose sensor_frames_optical = {.q = {.w = 0.5, .x = -0.5, .y = 0.5, .z = -0.5}};

bool sensor_frames_has_pictures(const Gz__Msgs__Sensor *sensor)
{
	return strstr(sensor->type, "camera") && strcmp(sensor->type, "logical_camera") != 0;
}

uint32_t sensor_frames_named(const Gz__Msgs__Sensor *sensor, struct pose at, struct sensor_frame ret_frames[2])
{
	const char *frame = part_header_value(sensor->header, "frame_id");
	const char *picture = part_header_value(sensor->header, "optical_frame_id");
	bool has_points = !strncmp(sensor->type, "depth", 5) || !strncmp(sensor->type, "rgbd", 4);
	bool same = !strcmp(frame, picture);
	struct pose turned = sensor_frames_has_pictures(sensor) ? pose_mul(at, sensor_frames_optical) : at;
	uint32_t count = 0;
	if (*picture && (!same || !has_points))
		ret_frames[count++] = (struct sensor_frame){picture, turned};
	if (*frame && (!same || has_points))
		ret_frames[count++] = (struct sensor_frame){frame, at};
	return count;
}
