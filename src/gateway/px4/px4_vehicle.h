/* A vehicle of the run and the TCP port at which PX4 finds it. With its first message PX4 joins as a barrier client
 * (troupe/barrier.h), every 4 ms of simulated time, or in each step of a world whose step does not divide that. There
 * it gets what the sensors measure, and in lockstep the run waits for the controls that answer it: those with its time.
 *
 * PX4 boots by the simulated time, but answers nothing until it has booted. Until its first controls the run goes on,
 * at the pace of real time at most; a program whose first message are controls is waited for from the beginning, so
 * that its flights have the same bits. Controls that say that they are not in lockstep are taken as they come.
 *
 * Thread: as an autopilot_client (autopilot/autopilot_client.h); the functions are those of a fleet_kind. */
#ifndef GATEWAY_PX4_PX4_VEHICLE_H
#define GATEWAY_PX4_PX4_VEHICLE_H

#include "gateway/autopilot/fleet.h"

troupe_status px4_vehicle_create(
	const struct autopilot_client_def *def, struct autopilot_client **ret_vehicle, struct troupe_error *error);
/* NULL is fine. */
void px4_vehicle_destroy(struct autopilot_client *vehicle);
void px4_vehicle_files(const struct autopilot_client *vehicle, int ret_files[FLEET_FILES_MAX]);
bool px4_vehicle_hear(struct autopilot_client *vehicle);

#endif
