/* Bounds on what one sender may take of a resource that all senders share: places in a table, and checks per second.
 * Only the address of a sender is known, and the sender may have forged it. Pure; time is a parameter.
 *
 * Neither bound keeps a list of senders, so there is no list that an unknown peer could fill. A keyed hash gives each
 * sender a bucket. The worst that another sender can do is to share its bucket, which happens to one in
 * QUOTA_BUCKETS. */
#ifndef NET_TCP_QUOTA_H
#define NET_TCP_QUOTA_H

#include "net/address.h"

enum { QUOTA_BUCKETS = 1024 };

/* --- checks in a second ------------------------------------------------------------------------------------------- */

/* Each sender earns one check per interval, and can save up a burst. */
struct quota_rate {
	uint64_t secret, interval_ns, burst_ns;
	uint64_t spent_ns[QUOTA_BUCKETS]; /* time up to which the checks have been spent */
};

/* secret: random, so that no sender can choose whose bucket it shares. */
void quota_rate_init(struct quota_rate *budget, uint64_t secret, uint64_t interval_ns, uint32_t burst);
/* Whether the sender may have one more check; if so, the check is spent. */
bool quota_take(struct quota_rate *budget, struct sender sender, uint64_t now_ns);

/* For an order of turns instead of refusals: how much of its budget a sender has spent, as a time. A later time means a
 * later turn. quota_charge() always spends a check, but no sender is charged for more than a burst in advance. */
uint64_t quota_spent_ns(const struct quota_rate *budget, struct sender sender, uint64_t now_ns);
void quota_charge(struct quota_rate *budget, struct sender sender, uint64_t now_ns);

/* --- places in a table -------------------------------------------------------------------------------------------- */

/* How many places each host and each network has. When a table is full, the entry whose sender has the greatest weight
 * makes room: the network with the most places loses one, and in it the host with the most. */
struct quota_table {
	uint64_t secret;
	uint32_t hosts[QUOTA_BUCKETS], nets[QUOTA_BUCKETS];
};

void quota_enter(struct quota_table *share, struct sender sender);
void quota_leave(struct quota_table *share, struct sender sender);
uint64_t quota_weight(const struct quota_table *share, struct sender sender);

#endif
