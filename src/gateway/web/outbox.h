/* The messages that wait for a slow client. Each has a bounded outbox, and loses its own oldest messages: a client that
 * is slow delays no other, and shows the present, not the past. On the thread of the web server. */
#ifndef GATEWAY_WEB_OUTBOX_H
#define GATEWAY_WEB_OUTBOX_H

#include "base/base.h"
#include "gateway/web/web.h"

enum {
	OUTBOX_BYTES_MAX = 8 << 20,      /* of waiting messages; one message may be longer */
	OUTBOX_DIRECT_BYTES = 256 << 10, /* as much as the web server may have, from which none can be dropped */
};

struct outbox { /* zeroed is empty, but for peer */
	struct web_peer *peer;
	struct outbox_item *first, *last;
	size_t bytes;
	uint64_t lost; /* messages, so far */
};

/* Sends a message, or keeps a copy until outbox_flush(). */
void outbox_put(struct outbox *outbox, bool binary, const void *bytes, size_t count);
/* Call it when the peer has room. */
void outbox_flush(struct outbox *outbox);
/* Forgets all that waits here. */
void outbox_clear(struct outbox *outbox);
bool outbox_is_empty(const struct outbox *outbox);
void outbox_fini(struct outbox *outbox);

#endif
