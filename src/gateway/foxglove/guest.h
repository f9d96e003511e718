/* A connected client: what it has subscribed to and advertised, and the operations that it sends. All on the thread of
 * the web server. */
#ifndef GATEWAY_FOXGLOVE_GUEST_H
#define GATEWAY_FOXGLOVE_GUEST_H

#include "gateway/foxglove/playback.h"
#include "gateway/foxglove/scenery.h"
#include "gateway/foxglove/table.h"
#include "gateway/foxglove/wire.h"
#include "gateway/source.h"
#include "gateway/web/outbox.h"

#include <troupe/foxglove.h>

#include <stdatomic.h>

enum {
	GUEST_SUBSCRIPTIONS_MAX = 8192,
	GUEST_CHANNELS_MAX = 1024, /* that a client advertises */
	GUEST_TOPIC_MAX = 1024,    /* bytes of the name of the topic of such a channel */
};

struct call { /* of a service, whose reply is awaited */
	uint64_t tag;
	struct guest *guest; /* NULL: gone */
	uint32_t service, id;
	char *reply_type;
};

struct troupe_foxglove {
	struct source_place place; /* run: only until the source is opened */
	struct source *source;
	char *clock;             /* the topic of simulated time */
	struct web *_Atomic web; /* set once it runs */
	char session[WEB_TOKEN_MAX + 1];
	struct table table;
	struct sceneries sceneries;
	struct guest *guests;
	VEC(struct call) calls;
	uint64_t tags;                      /* given so far */
	uint64_t time_ns, time_told_ns;     /* simulated time that is known, and that clients were told */
	bool ticking;                       /* the clock is subscribed to for the time only */
	struct playback *playback;          /* of a recording; NULL: a run */
	const struct troupe_error *failure; /* of the run; NULL: none. Set before the web server is stopped */
	_Atomic uint64_t published, taken, refused, lost;
	_Atomic uint32_t clients;
};

struct subscription { /* of a guest */
	uint32_t id, channel;
};

struct outlet { /* a channel that a client advertised */
	uint32_t id;
	char *topic; /* looked up for each message: the run may take messages from it later only, or no longer */
	bool is_cdr;
	bool told; /* by a status, that its messages cannot be taken */
};

struct guest {
	struct troupe_foxglove *gateway;
	struct web_peer *peer;
	struct guest *before, *after;
	struct outbox outbox;
	VEC(struct subscription) subscriptions;
	VEC(struct outlet) outlets;
	bool wants_graph;
	bool is_sdk;           /* its protocol is foxglove.sdk.v1 */
	bool has_controls;     /* its protocol has a playback control, and a recording is shown */
	uint64_t lost_told;    /* of outbox.lost */
	uint64_t lost_told_ns; /* real time */
};

/* For a web_service of which the context is a struct troupe_foxglove. */
void *guest_open(void *ctx, struct web_peer *peer);
void guest_hear(void *conn, bool binary, const void *bytes, size_t count);
void guest_room(void *conn);
void guest_close(void *conn);

/* Sends an operation. A client that does not read even these is closed. */
void guest_say(struct guest *guest, const struct text *json);
void guest_complain(struct guest *guest, enum wire_level level, const char *id, const char *format, ...)
	TROUPE_PRINTF(4, 5);
/* The table has changed: takes back what the guest was told of topics that are taken by now. */
void guest_look(struct guest *guest);
/* Tells of the whole connection graph, if the guest has asked for it. gone: members that say what is gone, or NULL. */
void guest_tell_graph(struct guest *guest, const char *gone);
/* If the guest advertises the topic: that what it published there was refused. */
void guest_tell_refusal(struct guest *guest, const char *topic, const char *why);
/* Tells how many messages were lost because the guest was slow: at most once a second. */
void guest_tell_lost(struct guest *guest);

/* gateway.c: takes over what has changed in the server's table. */
void foxglove_look(struct troupe_foxglove *gateway);
/* gateway.c: the audience of the channel has changed; more: a subscriber has come, which gets a message at once. */
void foxglove_listen(struct troupe_foxglove *gateway, const struct offer *offer, bool more);
/* gateway.c: all topics that clients have subscribed to give a message at once. */
void foxglove_renew(struct troupe_foxglove *gateway);
/* gateway.c: another server has the state from now on; calls of the former one fail, and foxglove_renew() must follow.
 */
void foxglove_adopt(struct troupe_foxglove *gateway, struct troupe_server *server);

#endif
