/* The transport over TCP: the primary's end, or that of one secondary, over channels that are open. What is said over
 * them before the first step, and who may say it, is not its matter (server/network.h).
 *
 * Threads. The primary's end has two of its own: one sends, receives, decodes, and runs the primary's part; one, the
 * keeper, sends heartbeats and sees who is silent, also while the first is in the primary's part. A secondary's end has
 * the keeper; wait() and ack() are its only other user. Waiting is polling for about as long as a sleep would cost,
 * when there are no more who poll than cores, and then sleeping.
 *
 * Who is lost, why, and who is told what, net/peers.h decides, as before the first step. A step's deadline is the stale
 * time, or twenty times as long as any step before took; ten minutes for one in which something is loaded. */
#ifndef NET_TCP_H
#define NET_TCP_H

#include "net/channel.h"
#include "net/hello.h"
#include "net/transport.h"

struct tcp_link {
	/* The primary's end: one for each secondary, named as it is to be called; a secondary's end: one. A transport
	 * takes them out, and leaves NULL: they are its own then, also when its creation fails after that. */
	struct channel **channels;
	uint32_t secondary;  /* whose end it is, from 1; 0: the primary's */
	uint64_t first_step; /* number of the first step to come */
	uint32_t stale_ms;
	const char *name; /* of this process, for messages */
	uint32_t pollers; /* processes on this machine that wait for one another */
	/* set by the transport, for the calls below; NULL before and after its life */
	struct transport *transport;
};

extern const struct transport_ops transport_tcp;

/* Tells all peers that the run is over and why; once it is told, nobody is lost any more. What counts is as
 * peers_stop() has it. Any thread. */
void tcp_stop(struct tcp_link *link, enum stop_kind kind, const char *why);
/* A secondary: the primary said that all is done. Any thread. */
bool tcp_is_done(const struct tcp_link *link);

struct tcp_counts { /* on the wire, of all channels */
	uint64_t sent, received;
};
/* After the run as good as during it. Any thread. */
struct tcp_counts tcp_counts(struct tcp_link *link);

#endif
