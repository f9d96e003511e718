/* What gateways of autopilots share: vehicles come and go with their topics, and one thread waits for each one's
 * autopilot; those that are joined are served by the thread of the step. A gateway is a table (struct fleet_kind), and
 * its hub_kind has the functions below. */
#ifndef GATEWAY_AUTOPILOT_FLEET_H
#define GATEWAY_AUTOPILOT_FLEET_H

#include "gateway/autopilot/autopilot_client.h"
#include "gateway/hub/hub.h"

enum { FLEET_FILES_MAX = 2 };

struct fleet_kind {
	const char *title;   /* "ArduPilot" */
	const char *topic;   /* what begins the name of a vehicle's topic: "/ardupilot/9002/state" has "/ardupilot/" */
	const char *plugin;  /* of the models: "an ArduPilotPlugin" */
	const char *element; /* of the plug-in, with the port: "<fdm_port_in>" */
	const char *transport; /* "UDP" */
	/* Opens the vehicle's port. A vehicle begins with its struct autopilot_client. TROUPE_EIO. */
	troupe_status (*create)(const struct autopilot_client_def *def, struct autopilot_client **ret_vehicle,
		struct troupe_error *error);
	void (*destroy)(struct autopilot_client *vehicle);
	/* What is to be polled for input now; -1 in place of a file that is not. */
	void (*files)(const struct autopilot_client *vehicle, int ret_files[FLEET_FILES_MAX]);
	/* One of them has input. True: its autopilot has joined. */
	bool (*hear)(struct autopilot_client *vehicle);
};

/* As hub_kind.start. */
troupe_status fleet_start(const struct fleet_kind *kind, struct hub *hub, const struct troupe_gateway_def *def,
	struct troupe_error *error);
/* The functions of the hub_kind. */
void fleet_topic_came(void *fleet, struct mirror_row *row);
void fleet_topic_gone(void *fleet, struct mirror_row *row);
void fleet_message(void *fleet, const struct troupe_message *message);
void fleet_reply(void *fleet, void *client, void *request, const struct hub_reply *reply);
void fleet_stop(void *fleet);
void fleet_destroy(void *fleet);
void fleet_describe(const void *fleet, struct text *out);
void fleet_count(const void *fleet, struct troupe_gateway_counts *counts);
bool fleet_is_available(void);

#define FLEET_HUB_KIND                                                                                                 \
	.settings = (const char *const[]){"insecure", NULL}, .is_available = fleet_is_available,                       \
	.topic_came = fleet_topic_came, .topic_gone = fleet_topic_gone, .topics_changed = hub_ignore_topics,           \
	.message = fleet_message, .reply = fleet_reply, .refused = hub_ignore_refused, .moved = hub_ignore_moved,      \
	.end = hub_ignore_end, .stop = fleet_stop, .destroy = fleet_destroy, .describe = fleet_describe,               \
	.count = fleet_count

#endif
