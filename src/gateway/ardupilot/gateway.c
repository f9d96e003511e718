/* ArduPilot's SITL, unchanged: `sim_vehicle.py -f JSON:127.0.0.1` for each vehicle of the run, a model with an
 * ArduPilotPlugin (src/builtin/ardupilot.c). */
#include "gateway/ardupilot/vehicle.h"
#include "gateway/hub/kinds.h"

static const struct fleet_kind ardupilot_gateway_fleet = {
	.title = "ArduPilot",
	.topic = "/ardupilot/",
	.plugin = "an ArduPilotPlugin",
	.element = "an <fdm_port_in>",
	.transport = "UDP",
	.create = vehicle_create,
	.destroy = vehicle_destroy,
	.files = vehicle_files,
	.hear = vehicle_hear,
};

static troupe_status ardupilot_gateway_start(
	struct hub *hub, const struct troupe_gateway_def *def, struct troupe_error *error)
{
	return fleet_start(&ardupilot_gateway_fleet, hub, def, error);
}

const struct hub_kind kind_ardupilot = {
	.about = {.name = "ardupilot", .title = "ArduPilot", .can_be_joined = true},
	.start = ardupilot_gateway_start,
	FLEET_HUB_KIND,
};
