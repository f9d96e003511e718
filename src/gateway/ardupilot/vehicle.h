/* A vehicle of the run and the UDP port at which ArduPilot finds it. With its first servo outputs ArduPilot joins as a
 * barrier client (troupe/barrier.h): from then on each step waits for the servo outputs that it is to be taken with,
 * and ArduPilot gets the state after the step. So a flight has the same bits whenever it is flown.
 *
 * Thread: as an autopilot_client (autopilot/autopilot_client.h); the functions are those of a fleet_kind. */
#ifndef GATEWAY_ARDUPILOT_VEHICLE_H
#define GATEWAY_ARDUPILOT_VEHICLE_H

#include "gateway/autopilot/fleet.h"

troupe_status vehicle_create(
	const struct autopilot_client_def *def, struct autopilot_client **ret_vehicle, struct troupe_error *error);
/* NULL is fine. */
void vehicle_destroy(struct autopilot_client *vehicle);
void vehicle_files(const struct autopilot_client *vehicle, int ret_files[FLEET_FILES_MAX]);
bool vehicle_hear(struct autopilot_client *vehicle);

#endif
