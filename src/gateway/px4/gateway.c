/* PX4's SITL, unchanged: PX4 connects to the TCP port of a vehicle of the run, a model with the plug-in
 * libgazebo_mavlink_interface.so (src/builtin/px4.c). */
#include "gateway/hub/kinds.h"
#include "gateway/px4/px4_vehicle.h"

static const struct fleet_kind px4_gateway_fleet = {
	.title = "PX4",
	.topic = "/px4/",
	.plugin = "a libgazebo_mavlink_interface.so",
	.element = "a <mavlink_tcp_port>",
	.transport = "TCP",
	.create = px4_vehicle_create,
	.destroy = px4_vehicle_destroy,
	.files = px4_vehicle_files,
	.hear = px4_vehicle_hear,
};

static troupe_status px4_gateway_start(
	struct hub *hub, const struct troupe_gateway_def *def, struct troupe_error *error)
{
	return fleet_start(&px4_gateway_fleet, hub, def, error);
}

const struct hub_kind kind_px4 = {
	.about = {.name = "px4", .title = "PX4", .can_be_joined = true},
	.start = px4_gateway_start,
	FLEET_HUB_KIND,
};
