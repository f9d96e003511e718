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

struct transport_link {
	/* The primary's end: one channel for each secondary, with the peer name that messages use; a secondary's end:
	 * one. The transport takes the channels and leaves NULL in the array: it owns them from then on, also when its
	 * creation fails after that. */
	struct channel **channels;
	uint32_t secondary;  /* the secondary whose end this is, from 1; 0: the primary's end */
	uint64_t first_step; /* number of the first step to come */
	uint32_t stale_ms;
	const char *name; /* of this process, for messages */
	uint32_t pollers; /* processes on this machine that poll for one another */
};

extern const struct transport_ops transport_tcp;

#endif
