/* The primary's side of following (net/follow.h) over a connection of its own, with a thread of its own. */
#ifndef NET_TCP_FEED_H
#define NET_TCP_FEED_H

#include "net/follow.h"
#include "net/tcp/channel.h"

/* Of the connection of a standby whose hello was `theirs`, and matches ours. Takes the channel. stale_ms: a standby
 * that is silent for so long is lost. */
struct feed *feed_create(
	struct channel *channel, const struct hello *ours, const struct hello *theirs, uint32_t stale_ms);

/* Slots of struct follow_ops. */
void feed_start(struct feed *feed, const struct feed_host *host);
const char *feed_where(const struct feed *feed);
void feed_send(struct feed *feed, enum follow_kind kind, const void *bytes, size_t count);
size_t feed_waiting(struct feed *feed);
bool feed_confirm(struct feed *feed, const struct follow_run *run);
void feed_end(struct feed *feed, const struct stop *stop);

#endif
