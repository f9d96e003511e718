/* One end of a remote transport, over any carrier of frames (net/carrier.h): the end of the primary, or of one
 * secondary, when all peers have been gathered (net/gather.h). A back end puts these functions into its table of slots
 * by END_SLOTS, and gives the carrier with the link.
 *
 * Threads. The primary's end has two threads of its own. The first one sends, receives, decodes, and runs the primary's
 * part. The second one, the monitor, sends heartbeats and detects silent peers, also while the first is in the
 * primary's part. A secondary's end has a monitor too; only wait() and ack() use the end besides it. A wait polls for
 * about as long as a sleep would cost, if there are no more polling processes than cores, and then sleeps.
 *
 * net/peers.h decides which peer is lost, why, and which peers are told, as it does before the first step. The deadline
 * of a step is the stale time or twenty times the longest step so far, whichever is longer; ten minutes for a step that
 * loads something. */
#ifndef NET_END_H
#define NET_END_H

#include "net/carrier.h"

struct transport_link {
	/* The transport takes the carrier and leaves NULL: it owns it from then on, also when its creation fails after
	 * that; but see `over`. */
	const struct carrier_ops *ops;
	struct carrier *carrier;
	const char *const *names; /* of the peers, by line, as messages name them; used by the creation only */
	uint32_t secondary;       /* the secondary whose end this is, from 1; 0: the primary's end */
	uint64_t first_step;      /* number of the first step to come */
	uint32_t clients;         /* primary: the last so many of the secondaries are robot clients, which may leave */
	bool goes_on;             /* primary: the others may leave, too */
	/* When the run goes on with other members, the transport gives the carrier back when it is destroyed, and says
	 * which lines are in use no longer. NULL: it does not. */
	bool *over; /* [lines] */
	uint32_t stale_ms;
	const char *name; /* of this process, for messages */
	uint32_t pollers; /* processes on this machine that poll for one another */
};

troupe_status end_create(
	const struct transport_options *options, struct transport **ret_transport, struct troupe_error *error);
troupe_status end_publish(struct transport *transport, struct transport_message step);
troupe_status end_wait(struct transport *transport, uint32_t secondary, struct transport_message *ret_step);
troupe_status end_ack(struct transport *transport, uint32_t secondary, struct transport_message ack);
struct transport_message end_ack_of(struct transport *transport, uint32_t secondary);
const struct troupe_error *end_lost(struct transport *transport);
void end_stop(struct transport *transport, enum stop_kind kind, const char *why);
bool end_regroups(struct transport *transport, uint32_t *ret_lost);
bool end_orphaned(struct transport *transport);
bool end_leaving(struct transport *transport, uint32_t secondary);
void end_leave(struct transport *transport);
troupe_status end_fetch(
	struct transport *transport, const char *path, char **ret_bytes, size_t *ret_count, struct troupe_error *error);
bool end_is_done(struct transport *transport);
struct transport_counts end_counts(struct transport *transport);
void end_close(struct transport *transport);
void end_destroy(struct transport *transport);

#define END_SLOTS                                                                                                      \
	.remote = true, .create = end_create, .publish = end_publish, .wait = end_wait, .ack = end_ack,                \
	.ack_of = end_ack_of, .lost = end_lost, .regroups = end_regroups, .orphaned = end_orphaned,                    \
	.leaving = end_leaving, .leave = end_leave, .fetch = end_fetch, .stop = end_stop, .is_done = end_is_done,      \
	.counts = end_counts, .close = end_close, .destroy = end_destroy

#endif
