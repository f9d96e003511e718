/* A connected client: what it has subscribed to and advertised, and the operations that it sends. All on the thread of
 * the web server. */
#ifndef GATEWAY_FOXGLOVE_GUEST_H
#define GATEWAY_FOXGLOVE_GUEST_H

#include "gateway/foxglove/playback.h"
#include "gateway/foxglove/scenery.h"
#include "gateway/foxglove/table.h"
#include "gateway/foxglove/wire.h"
#include "gateway/hub/port.h"

enum {
	GUEST_SUBSCRIPTIONS_MAX = 8192,
	GUEST_CHANNELS_MAX = 1024, /* that a client advertises */
	GUEST_TOPIC_MAX = 1024,    /* bytes of the name of the topic of such a channel */
};

struct guest_call { /* of a service, whose reply is awaited */
	uint32_t service, id;
};

struct foxglove {
	struct port port; /* first: see port_stop() */
	struct hub *hub;
	char session[WEB_TOKEN_MAX + 1];
	struct sceneries sceneries;
	struct playback *playback;      /* of a recording; NULL: a run */
	uint64_t time_ns, time_told_ns; /* simulated time that is known, and that clients were told */
	struct news *news;              /* while the mirror changes */
};

struct subscription { /* of a guest */
	uint32_t id, channel;
};

struct client_channel { /* a channel that a client advertised */
	uint32_t id;
	char *topic; /* looked up for each message: the run may take messages from it later only, or no longer */
	bool is_cdr;
	bool told; /* by a status, that its messages cannot be taken */
};

struct guest {
	struct foxglove *gateway;
	struct port_client *client;
	VEC(struct subscription) subscriptions;
	VEC(struct client_channel) client_channels;
	bool wants_graph;
	bool is_sdk;       /* its protocol is foxglove.sdk.v1 */
	bool has_controls; /* its protocol has a playback control, and a recording is shown */
};

/* As the operations of a port (hub/port.h). */
void *guest_open(void *gateway, struct port_client *client);
void guest_hear(struct port_client *client, bool binary, const void *bytes, size_t count);
void guest_close(struct port_client *client);
void guest_tell_lost(struct port_client *client, uint64_t lost);

void guest_complain(struct guest *guest, enum wire_level level, const char *id, const char *format, ...)
	TROUPE_PRINTF(4, 5);
/* The table has changed: takes back what the guest was told of topics that are taken by now. */
void guest_look(struct guest *guest);
/* Tells of the whole connection graph, if the guest has asked for it. gone: members that say what is gone, or NULL. */
void guest_tell_graph(struct guest *guest, const char *gone);
/* If the guest advertises the topic: that what it published there was refused. */
void guest_tell_refusal(struct guest *guest, const char *topic, const char *why);

/* gateway.c: the audience of the channel has changed; more: a subscriber has come, which gets a message at once. */
void foxglove_listen(struct foxglove *gateway, const struct offer *offer, bool more);

#endif
