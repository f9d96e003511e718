/* A vehicle of the run and the UDP port at which ArduPilot finds it. With its first servo outputs ArduPilot joins as a
 * barrier client (troupe/barrier.h): from then on each step waits for the servo outputs that it is to be taken with,
 * and ArduPilot gets the state after the step. So a flight has the same bits whenever it is flown.
 *
 * Thread: the gateway's, except that the thread of the step has the port while ArduPilot is joined. */
#ifndef GATEWAY_ARDUPILOT_VEHICLE_H
#define GATEWAY_ARDUPILOT_VEHICLE_H

#include "base/base.h"

#include <netinet/in.h>

struct troupe_server;
struct vehicle;

struct vehicle_def {
	struct troupe_server *server; /* outlives the vehicle */
	const char *model;
	uint32_t number; /* of its topics: /ardupilot/NUMBER/state */
	struct in_addr address;
	/* A line for people. Any thread. */
	void (*say)(void *ctx, const char *text);
	void (*wake)(void *ctx); /* has the gateway's thread look again. Any thread */
	void *ctx;
};

/* Opens port `number`. Copies the texts. TROUPE_EIO. */
troupe_status vehicle_create(const struct vehicle_def *def, struct vehicle **ret_vehicle, struct troupe_error *error);
/* ArduPilot leaves the lockstep. NULL is fine. */
void vehicle_destroy(struct vehicle *vehicle);
uint32_t vehicle_number(const struct vehicle *vehicle);
const char *vehicle_model(const struct vehicle *vehicle);
/* Any thread. */
bool vehicle_is_joined(const struct vehicle *vehicle);
/* While ArduPilot is not joined: to be polled for packets, which vehicle_hear() takes. */
int vehicle_file(const struct vehicle *vehicle);
/* True: ArduPilot has joined. */
bool vehicle_hear(struct vehicle *vehicle);

#endif
