/* A connected client: what it has subscribed to and advertised, and the operations that it sends. All on the thread of
 * the web server. */
#ifndef GATEWAY_FOXGLOVE_FOXGLOVE_CLIENT_H
#define GATEWAY_FOXGLOVE_FOXGLOVE_CLIENT_H

#include "gateway/foxglove/playback.h"
#include "gateway/foxglove/scenery.h"
#include "gateway/foxglove/table.h"
#include "gateway/foxglove/wire.h"
#include "gateway/hub/port.h"

enum {
	FOXGLOVE_CLIENT_SUBSCRIPTIONS_MAX = 8192,
	FOXGLOVE_CLIENT_CHANNELS_MAX = 1024, /* that a client advertises */
	FOXGLOVE_CLIENT_TOPIC_MAX = 1024,    /* bytes of the name of the topic of such a channel */
};

struct foxglove_client_call { /* of a service, whose reply is awaited */
	uint32_t service, id;
};

struct foxglove {
	struct port port; /* first: see port_stop() */
	struct hub *hub;
	char session[WEB_TOKEN_MAX + 1];
	struct subscriber_list channels; /* by topic; ids: chosen by the clients */
	struct sceneries sceneries;
	struct playback *playback;      /* of a recording; NULL: a run */
	uint64_t time_ns, time_told_ns; /* simulated time that is known, and that clients were told */
	struct news *news;              /* while the mirror changes */
};

struct client_channel { /* a channel that a client advertised */
	uint32_t id;
	char *topic; /* looked up for each message: the run may take messages from it later only, or no longer */
	bool is_cdr;
	bool told; /* by a status, that its messages cannot be taken */
};

struct foxglove_client {
	struct foxglove *gateway;
	struct port_client *base;
	uint32_t subscriptions; /* among those of all channels */
	VEC(struct client_channel) client_channels;
	bool wants_graph;
	bool is_sdk;       /* its protocol is foxglove.sdk.v1 */
	bool has_controls; /* its protocol has a playback control, and a recording is shown */
};

/* As the operations of a port (hub/port.h). */
void *foxglove_client_open(void *gateway, struct port_client *base);
void foxglove_client_hear(struct port_client *base, bool binary, const void *bytes, size_t count);
void foxglove_client_close(struct port_client *base);
void foxglove_client_tell_lost(struct port_client *base, uint64_t lost);

void foxglove_client_complain(struct foxglove_client *client, enum wire_level level, const char *id, const char *format,
	...) TROUPE_PRINTF(4, 5);
/* The table has changed: takes back what the client was told of topics that are taken by now. */
void foxglove_client_look(struct foxglove_client *client);
/* Tells of the whole connection graph, if the client has asked for it. gone: members that say what is gone, or NULL. */
void foxglove_client_tell_graph(struct foxglove_client *client, const char *gone);
/* If the client advertises the topic: that what it published there was refused. */
void foxglove_client_tell_refusal(struct foxglove_client *client, const char *topic, const char *why);

/* gateway.c: the subscribers of the channel have changed; more: one has come, which gets a message at once. */
void foxglove_listen(struct foxglove *gateway, const char *channel, bool more);

#endif
