/* The transport over TCP: the end of the primary, or of one secondary, over channels that are open. Admission, before
 * the first step, is done elsewhere (server/network.h).
 *
 * Threads. The primary's end has two threads of its own. The first one sends, receives, decodes, and runs the primary's
 * part. The second one, the keeper, sends heartbeats and detects silent peers, also while the first is in the primary's
 * part. A secondary's end has a keeper too; only wait() and ack() use the end besides it. A wait polls for about as
 * long as a sleep would cost, if there are no more polling processes than cores, and then sleeps.
 *
 * net/peers.h decides which peer is lost, why, and which peers are told, as it does before the first step. The deadline
 * of a step is the stale time or twenty times the longest step so far, whichever is longer; ten minutes for a step that
 * loads something. */
#ifndef NET_TCP_H
#define NET_TCP_H

#include "net/channel.h"
#include "net/hello.h"
#include "net/transport.h"

struct tcp_link {
	/* The primary's end: one channel for each secondary, with the peer name that messages use; a secondary's end:
	 * one. The transport takes the channels and leaves NULL in the array: it owns them from then on, also when its
	 * creation fails after that. */
	struct channel **channels;
	uint32_t secondary;  /* the secondary whose end this is, from 1; 0: the primary's end */
	uint64_t first_step; /* number of the first step to come */
	uint32_t stale_ms;
	const char *name; /* of this process, for messages */
	uint32_t pollers; /* processes on this machine that poll for one another */
	/* set by the transport, for the calls below; NULL before and after its life */
	struct transport *transport;
};

extern const struct transport_ops transport_tcp;

/* Tells all peers that the run is over and why; after that, no peer counts as lost. Steps count as in peers_stop(). Any
 * thread. */
void tcp_stop(struct tcp_link *link, enum stop_kind kind, const char *why);
/* Secondary: whether the primary said that the run is done. Any thread. */
bool tcp_is_done(const struct tcp_link *link);

struct tcp_counts { /* bytes on the wire, all channels */
	uint64_t sent, received;
};
/* During the run or after it. Any thread. */
struct tcp_counts tcp_counts(struct tcp_link *link);

#endif
