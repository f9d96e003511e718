/* What one sender may take of something that all senders share: places in a table, and looks in a second. Of a sender
 * nothing is known but the address, which it may have forged. Pure; time is a parameter.
 *
 * Neither kind of bound keeps a list of senders, so there is no list that a stranger could fill: a sender is found by a
 * keyed hash, and the worst that another sender can do is to share its place, which happens to one in
 * SENDERS_BUCKETS. */
#ifndef NET_SENDERS_H
#define NET_SENDERS_H

#include "base/base.h"

enum { SENDERS_BUCKETS = 1024 };

/* Where something comes from: the host, and the network around it, as address_sender() cuts them. */
struct sender {
	uint64_t host, net;
};

/* --- looks in a second ---------------------------------------------------------------------------------------------
 */

/* Each sender earns one look in an interval, and can save up a burst. */
struct senders_budget {
	uint64_t secret, interval_ns, burst_ns;
	uint64_t spent_ns[SENDERS_BUCKETS]; /* up to when a sender's looks are spent */
};

/* secret: random, so that nobody can choose whose place to share. */
void senders_budget_init(struct senders_budget *budget, uint64_t secret, uint64_t interval_ns, uint32_t burst);
/* Whether the sender may have one more look; then it is spent. */
bool senders_take(struct senders_budget *budget, struct sender sender, uint64_t now_ns);

/* For taking turns rather than refusing: how much of its budget a sender has spent, as a time: the greater, the later
 * is its turn. Charging takes a look in any case; nobody is charged for more than a burst in advance. */
uint64_t senders_spent_ns(const struct senders_budget *budget, struct sender sender, uint64_t now_ns);
void senders_charge(struct senders_budget *budget, struct sender sender, uint64_t now_ns);

/* --- places in a table ---------------------------------------------------------------------------------------------
 */

/* How many places each host and each network has. When a table is full, the entry whose sender has the greatest weight
 * makes room: so the network that has most places loses one, and in it the host that has most. */
struct senders_share {
	uint64_t secret;
	uint32_t hosts[SENDERS_BUCKETS], nets[SENDERS_BUCKETS];
};

void senders_enter(struct senders_share *share, struct sender sender);
void senders_leave(struct senders_share *share, struct sender sender);
uint64_t senders_weight(const struct senders_share *share, struct sender sender);

#endif
