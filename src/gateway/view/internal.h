/* What the files of this folder share. All of it is used on the loop's thread of the web server, unless a comment says
 * otherwise. PROTOCOL.md has the messages. */
#ifndef GATEWAY_VIEW_INTERNAL_H
#define GATEWAY_VIEW_INTERNAL_H

#include "base/map.h"
#include "gateway/hub/port.h"
#include "gateway/play.h"
#include "gateway/view/picture_cache.h"
#include "gateway/view/meshes.h"
#include "gateway/view/panels.h"

enum {
	VIEW_PICTURES_HZ = 30,  /* of real time, for each page */
	VIEW_TOPICS_MAX = 1024, /* subscriptions of a page */
	VIEW_CALLS_MAX = 256,   /* replies for which a page waits */
};

struct gateway;

struct page { /* a browser that is connected */
	struct gateway *gateway;
	struct port_client *client;
	uint32_t topics, calls; /* subscriptions; replies for which it waits */
	/* pictures */
	struct watched *watched;    /* NULL: it wants none */
	uint64_t period_ns, due_ns; /* of pictures */
	uint64_t seen;              /* the picture that it was sent last */
};

struct page_listener {              /* a page that has subscribed to a topic */
	struct hub_subscriber base; /* its client: struct page */
	uint64_t due_ns;            /* real time at which its next message is due */
	bool fresh;                 /* it has had no message yet */
	bool missed;                /* the message that is kept came too early for it */
};

struct watched {              /* a world of which pages want pictures */
	char *prefix, *topic; /* "/world/w", "/world/w/view" */
	uint32_t index;
	struct picture_cache picture_cache;
	uint32_t pages;
	double asked_hz; /* the rate of the subscription, of simulated time */
	uint64_t page_in_ns;
	uint64_t open_ns; /* when a page could take a picture last */
	bool rests;       /* no page can: there is no subscription now */
};

enum { TIMELINE_FOUND_MAX = 16 };

struct timeline {           /* of a recording; zeroed */
	struct marks found; /* the settings `mark`, each by itself */
	struct play_state told;
	uint64_t told_ns, told_marks_ns, told_version; /* real times; the version of the marks */
};

struct gateway {
	struct port port; /* first: see port_stop() */
	struct hub *hub;
	struct timeline timeline;
	struct bus *pictures; /* a bus of its own for pictures, of which only the newest count */
	struct meshes *meshes;
	struct images *images;
	struct panels *panels;
	const struct troupe_topics *topics; /* as pages were told of them last, or later */
	uint64_t told_epoch, told_ns;       /* of which pages were told */
	VEC(struct watched) worlds;         /* does not change */
};

/* gateway.c */
/* A row of the present table; NULL: there is none. Valid until the next call. */
const struct troupe_topic *gateway_find_topic(struct gateway *gateway, troupe_topic_kind kind, const char *name);

/* timeline.c */
/* Reads the settings `mark`. TROUPE_EINVAL, TROUPE_ELIMIT. Call timeline_fini() in any case. */
troupe_status timeline_init(
	struct timeline *timeline, const struct troupe_gateway_def *def, struct troupe_error *error);
void timeline_fini(struct timeline *timeline);
/* A page has come: it is to be told all. */
void timeline_renew(struct timeline *timeline);
/* Tells all pages what has changed: at most ten times a second, marks twice. */
void timeline_tell(struct gateway *gateway, uint64_t now_ns);

/* page_in.c: takes a message of a page. */
void page_hear(struct page *page, const char *json, size_t count);

/* subscriptions.c */
troupe_status subscriptions_subscribe(
	struct gateway *gateway, struct page *page, const char *topic, double rate_hz, struct troupe_error *error);
void subscriptions_unsubscribe(struct gateway *gateway, struct page *page, const char *topic);
/* Gives a message to the pages that have subscribed. */
void subscriptions_give(const struct gateway *gateway, const struct troupe_message *message);
/* Whether the next message of a row may be given now; if so, *due_ns becomes the time at which the one after it is due.
 * On average at most one is given in a period, and one that is late does not delay the others. */
bool subscriptions_is_due(uint64_t *due_ns, uint64_t period_ns, uint64_t now_ns);
/* Gives a page the newest message that came too early for it. */
void subscriptions_turn(const struct gateway *gateway, uint64_t now_ns);
/* Each page gets the newest message of its topics: of all, because another server has them; or of those that have a
 * rate. The others come whenever something changes. */
void subscriptions_renew(struct gateway *gateway, bool all);

/* motion.c */
struct watched *motion_find(struct gateway *gateway, const char *prefix); /* NULL: there is no such world */
void motion_begin(struct page *page, struct watched *watched, double rate_hz);
void motion_end(struct page *page);
/* Each page gets the newest picture; another server may have the worlds. */
void motion_renew(struct gateway *gateway);
/* Takes pictures that have come. Whether there may be more. */
bool motion_take(struct gateway *gateway);
/* Sends the page the newest picture, if it wants one, a picture is due, and nothing else waits to be sent. */
void motion_send(struct page *page, uint64_t now_ns);

/* page_out.c: messages to pages, as JSON. */
void page_out_hello(const struct gateway *gateway, struct text *text);
void page_out_topics(const struct troupe_topics *topics, const char *begin, struct text *text);
void page_out_timeline(const struct play_state *state, struct text *text);
void page_out_marks(const struct timeline *timeline, const struct play_marks *marks, struct text *text);
void page_out_refusal(uint64_t id, const char *why, struct text *text);
void page_out_image(uint64_t id, const char *path, struct text *text);
/* False: a text; true: a binary frame of kind 2. */
bool page_out_message(const struct troupe_message *message, struct text *out);

#endif
