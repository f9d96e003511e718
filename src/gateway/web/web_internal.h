/* What the parts of the web server share: web_start.c starts and ends it, web.c has the thread and the connections,
 * page.c answers HTTP, peer.c has the WebSockets. All on the loop's thread, except where it says otherwise. */
#ifndef GATEWAY_WEB_INTERNAL_H
#define GATEWAY_WEB_INTERNAL_H

#include "base/text.h"
#include "gateway/web/admit.h"
#include "gateway/web/stream.h"
#include "gateway/web/web.h"
#include "gateway/web/ws.h"
#include "net/address.h"

#include <pthread.h>
#include <stdatomic.h>

struct web_name { /* a subprotocol */
	const char *name;
	const struct web_service *service;
};

struct web_block { /* a message that waits */
	struct web_block *next;
	size_t head, count, sent; /* bytes of the head of its frame, of the message, and of both that the kernel has */
	bool begun;               /* it must be the next that is written */
	unsigned char at[];       /* WS_OUT_HEAD_MAX bytes, at the end of which the head stands; the message */
};

struct web_peer { /* a connection; a WebSocket once it has a service */
	struct web *web;
	struct stream stream;
	struct web_peer *before, *after; /* in web.peers, the newest first */
	char name[ADDRESS_TEXT_BYTES];
	char host[ADDRESS_TEXT_BYTES]; /* of the name, without the port */
	uint32_t events;               /* for which the loop waits */
	bool rereads;                  /* there may be more to read, although the socket has nothing */
	bool is_gone;                  /* it is freed when the loop has seen all events */
	bool is_admitted;              /* it has sent a request that was admitted */
	/* By which a request must have come, its answer have gone, a message of a WebSocket be whole, or the last bytes
	 * of a WebSocket be taken. UINT64_MAX: none. */
	uint64_t deadline_ns;
	/* of HTTP */
	struct text request; /* bytes that have come, from the begin of a head */
	struct text answer;  /* head of an answer */
	size_t answer_sent;
	const unsigned char *body;
	size_t body_left;
	bool answers, ends; /* an answer is on its way; the connection ends with it */
	/* of a WebSocket */
	const char *protocol;
	const struct web_service *service;
	void *conn; /* the service's own; NULL: none, or gone */
	struct web_block *first, **last;
	size_t queued;        /* bytes of messages in the list that the kernel has not */
	struct text controls; /* frames that come before the list */
	bool told_room;       /* since the last message */
	bool is_closing, sent_close;
	bool is_leaving; /* it is closed once all that waits has gone; nothing that comes is heard */
	uint16_t close_code;
	char close_reason[WEB_REASON_MAX + 1];
	uint64_t heard_ns; /* when something came last */
	bool pinged;       /* since then */
	/* what is coming in */
	unsigned char head[WS_HEAD_MAX];
	size_t head_count;
	struct ws_frame frame; /* whose bytes are coming; only if in_frame */
	bool in_frame;
	uint64_t frame_at;   /* bytes of it that have come */
	enum ws_kind opened; /* of the message that is coming in; WS_MORE: none is */
	struct text heard;   /* of this message */
	unsigned char control[WS_CONTROL_MAX];
};

struct web {
	struct web_service services[WEB_SERVICES_MAX];
	char **origins[WEB_SERVICES_MAX]; /* the lists of services */
	struct web_name names[WEB_NAMES_MAX];
	uint32_t service_count, name_count;
	const struct web_name *unnamed; /* for clients that ask for no subprotocol; NULL: none */
	struct web_file *files;
	uint32_t file_count;
	bool (*find)(void *ctx, const char *path, struct web_file *ret_file);
	void *find_ctx;
	struct admit_rules rules;
	struct address address; /* on which it listens */
	char host[ADDRESS_TEXT_BYTES];
	char *token, *cookie; /* the cookie's name; NULL: none */
	char *common;         /* headers of each answer */
	struct tls_context *tls;
	uint32_t peers_max;
	size_t queue_bytes_max;
	void (*say)(void *ctx, const char *text);
	void *say_ctx;
	uint64_t said_ns; /* when it said something last; 0: never */
	int listener, events, bell;
	uint64_t pause_until_ns; /* before that nothing is accepted; 0: the loop waits for connections */
	uint64_t turn_ns;        /* when the next turn is due */
	pthread_t thread;
	bool started;
	struct web_peer *peers;
	uint32_t peer_count, socket_count; /* connections; of them WebSockets */
	const char *goodbye;               /* the reason, for all peers; set before `stop` is */
	bool is_leaving;                   /* the server ends, and accepts no client any more */
	uint32_t reread_count;             /* peers that reread */
	size_t half_bytes;                 /* of messages of which a part has come, of all peers */
	_Atomic bool woken, stop;          /* any thread */
};

/* page.c: bytes of requests have come, or an answer can go on. */
void page_read(struct web_peer *peer, const char *bytes, size_t count);
void page_write(struct web_peer *peer);

/* peer.c: the connection becomes a WebSocket of this service; the answer to its request is on its way. */
void peer_begin(struct web_peer *peer, const struct web_name *name);
/* Bytes of frames have come. */
void peer_read(struct web_peer *peer, unsigned char *bytes, size_t count);
void peer_write(struct web_peer *peer);
/* Closes the peer as web_close() does, after all that waits for it. */
void peer_leave(struct web_peer *peer, uint16_t code, const char *reason);
/* Whether anything waits to be written. */
bool peer_has_more(const struct web_peer *peer);
/* Each WEB_TURN_MS: asks a silent peer whether it is there. */
void peer_tick(struct web_peer *peer, uint64_t now_ns);
/* Frees what belongs to a connection that is gone. */
void peer_fini(struct web_peer *peer);

/* web.c: the loop, as the function of a thread; it ends when web->stop is set and web_ring() was called. */
void *web_work(void *web);
/* web.c: has the loop look at what other threads have set. Any thread. */
void web_ring(struct web *web);
/* web.c: closes a file that is open, and sets it to -1. */
void web_close_file(int *file);
/* web.c: waits for what the peer needs now; to be called when that may have changed. */
void web_await(struct web_peer *peer);
/* web.c: the connection ends at once. */
void web_drop(struct web_peer *peer);
/* web.c: says so, unless it has been said too often. */
void web_refused(struct web_peer *peer, const char *what);

enum {
	WEB_REQUEST_MS = 10000, /* to send a request, and to send the next one */
	WEB_ANSWER_MS = 30000,  /* to take 32 KiB of an answer */
	WEB_MESSAGE_MS = 60000, /* to send a whole message */
	WEB_CLOSE_MS = 2000,    /* to take the last bytes of a WebSocket */
	WEB_PING_MS = 30000,
	WEB_GONE_MS = 45000,
};

#endif
