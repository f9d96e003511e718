/* What the parts of the web server share: web.c has the thread and the connections, page.c answers HTTP, peer.c has the
 * WebSockets. All on the loop's thread, except where it says otherwise. */
#ifndef GATEWAY_WEB_INTERNAL_H
#define GATEWAY_WEB_INTERNAL_H

#include "base/text.h"
#include "gateway/web/admit.h"
#include "gateway/web/place.h"
#include "gateway/web/web.h"

#include <libwebsockets.h>
#include <pthread.h>
#include <stdatomic.h>

struct web_name { /* a subprotocol */
	const char *name;
	const struct web_service *service;
};

struct web_block { /* a message that waits */
	struct web_block *next;
	size_t count;
	bool binary;
	unsigned char *at; /* LWS_PRE bytes of room stand before it */
};

struct web_peer { /* a connection; a WebSocket once it has a service */
	struct web *web;
	struct lws *wsi;
	struct web_peer *before, *after; /* in web.peers, the newest first */
	char name[PLACE_TEXT_BYTES];
	uint64_t deadline_ns; /* by which a request must have come, or its answer have gone; not of a WebSocket */
	/* of an HTTP answer */
	const unsigned char *body;
	size_t body_left;
	/* of a WebSocket */
	bool admitted;
	const struct web_service *service;
	void *conn; /* the service's own; NULL: none, or gone */
	struct web_block *first, **last;
	size_t queued;  /* bytes in the list */
	size_t held;    /* bytes of the message that libwebsockets has, but the kernel has not */
	bool told_room; /* since the last message */
	bool is_closing;
	bool is_leaving; /* it is closed once all that waits has gone; nothing that comes is heard */
	uint16_t close_code;
	char close_reason[WEB_REASON_MAX + 1];
	struct text heard; /* the message that is coming in */
};

struct web {
	struct lws_context *context;
	struct lws_vhost *vhost;
	struct lws_protocols protocols[WEB_NAMES_MAX + 2];
	struct web_service services[WEB_SERVICES_MAX];
	char **origins[WEB_SERVICES_MAX]; /* the lists of services */
	struct web_name names[WEB_NAMES_MAX];
	uint32_t service_count, name_count;
	const struct web_name *unnamed; /* for clients that ask for no subprotocol; NULL: none */
	struct web_file *files;
	uint32_t file_count;
	struct admit_rules rules;
	struct place place;
	char host[PLACE_TEXT_BYTES];
	char *token, *cookie; /* the cookie's name; NULL: none */
	char *common;         /* headers of each answer */
	bool has_tls;
	uint32_t peers_max;
	size_t queue_bytes_max;
	void (*say)(void *ctx, const char *text);
	void *say_ctx;
	uint64_t said_ns;    /* when it said something last; 0: never */
	int listener, timer; /* files; libwebsockets closes them */
	int bell;            /* event file, of which libwebsockets has a copy */
	bool ticking;        /* the timer runs */
	pthread_t thread;
	bool started;
	struct web_peer *peers;
	struct web_peer *adopting;
	uint32_t peer_count, socket_count; /* connections; of them WebSockets */
	const char *goodbye;               /* the reason, for all peers; set before `stop` is */
	_Atomic bool woken, stop;          /* any thread */
};

/* page.c: a callback of libwebsockets for protocols[0]; all connections begin there. */
int page_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t count);
/* peer.c: the callback for all other protocols. */
int peer_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t count);
/* peer.c: closes the peer as web_close() does, after all that waits for it. */
void peer_leave(struct web_peer *peer, uint16_t code, const char *reason);
/* peer.c: frees what belongs to a connection that is gone. */
void peer_fini(struct web_peer *peer);

/* web.c: the listener or the timer has something. */
void web_take_file(struct web *web, struct lws *wsi);
/* web.c: the connection is gone. */
void web_forget(struct web_peer *peer);
/* web.c: says so, unless it has been said too often. */
void web_refused(struct web_peer *peer, const char *what);

enum {
	WEB_REQUEST_MS = 10000, /* to send a request, and to send the next one */
	WEB_ANSWER_MS = 30000,  /* to take 32 KiB of an answer */
	WEB_CLOSE_MS = 2000,    /* to take the last bytes of a WebSocket */
};

#endif
