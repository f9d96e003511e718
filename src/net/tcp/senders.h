/* Bounds on what one sender may take of a resource that all senders share: places in a table, and checks per second.
 * Only the address of a sender is known, and the sender may have forged it. Pure; time is a parameter.
 *
 * Neither bound keeps a list of senders, so there is no list that an unknown peer could fill. A keyed hash gives each
 * sender a bucket. The worst that another sender can do is to share its bucket, which happens to one in
 * SENDERS_BUCKETS. */
#ifndef NET_TCP_SENDERS_H
#define NET_TCP_SENDERS_H

#include "base/base.h"

enum { SENDERS_BUCKETS = 1024 };

/* The source of a datagram or connection: the host, and the network around it, as address_sender() computes them. */
struct sender {
	uint64_t host, net;
};

/* --- looks in a second ---------------------------------------------------------------------------------------------
 */

/* Each sender earns one check per interval, and can save up a burst. */
struct senders_budget {
	uint64_t secret, interval_ns, burst_ns;
	uint64_t spent_ns[SENDERS_BUCKETS]; /* time up to which the checks have been spent */
};

/* secret: random, so that no sender can choose whose bucket it shares. */
void senders_budget_init(struct senders_budget *budget, uint64_t secret, uint64_t interval_ns, uint32_t burst);
/* Whether the sender may have one more check; if so, the check is spent. */
bool senders_take(struct senders_budget *budget, struct sender sender, uint64_t now_ns);

/* For an order of turns instead of refusals: how much of its budget a sender has spent, as a time. A later time means a
 * later turn. senders_charge() always spends a check, but no sender is charged for more than a burst in advance. */
uint64_t senders_spent_ns(const struct senders_budget *budget, struct sender sender, uint64_t now_ns);
void senders_charge(struct senders_budget *budget, struct sender sender, uint64_t now_ns);

/* --- places in a table ---------------------------------------------------------------------------------------------
 */

/* How many places each host and each network has. When a table is full, the entry whose sender has the greatest weight
 * makes room: the network with the most places loses one, and in it the host with the most. */
struct senders_share {
	uint64_t secret;
	uint32_t hosts[SENDERS_BUCKETS], nets[SENDERS_BUCKETS];
};

void senders_enter(struct senders_share *share, struct sender sender);
void senders_leave(struct senders_share *share, struct sender sender);
uint64_t senders_weight(const struct senders_share *share, struct sender sender);

#endif
