/* The gateways that there are: one constant table for each, in its own folder. */
#ifndef GATEWAY_HUB_KINDS_H
#define GATEWAY_HUB_KINDS_H

#include "gateway/hub/hub.h"

extern const struct hub_kind kind_ardupilot, kind_px4, kind_gz, kind_ros2, kind_rosbridge, kind_ws, kind_view,
	kind_foxglove;

#endif
