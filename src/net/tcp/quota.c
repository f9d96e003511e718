/* Floods are bounded per sender, because with one bound for all senders a single sender can use it up: with a limit of
 * 1000 announcements in a second and an unknown peer that sends 150 000, only one in 150 of a genuine peer's
 * announcements was checked.
 *
 * A table of senders was rejected: when it is full it must forget a sender, and an attacker that uses many addresses
 * then decides which one. */
#include "net/tcp/quota.h"

#include "base/hash.h"

#include <assert.h>

static uint32_t quota_bucket_of(uint64_t secret, uint64_t key)
{
	return (uint32_t)(hash_mix(secret, key) % QUOTA_BUCKETS);
}

void quota_rate_init(struct quota_rate *budget, uint64_t secret, uint64_t interval_ns, uint32_t burst)
{
	assert(interval_ns && burst);
	*budget = (struct quota_rate){.secret = secret, .interval_ns = interval_ns};
	budget->burst_ns = burst * budget->interval_ns;
}

uint64_t quota_spent_ns(const struct quota_rate *budget, struct sender sender, uint64_t now_ns)
{
	uint64_t saved_up_ns = now_ns > budget->burst_ns ? now_ns - budget->burst_ns : 0;
	return MAX(budget->spent_ns[quota_bucket_of(budget->secret, sender.host)], saved_up_ns);
}

bool quota_take(struct quota_rate *budget, struct sender sender, uint64_t now_ns)
{
	uint64_t then_ns = quota_spent_ns(budget, sender, now_ns) + budget->interval_ns;
	if (then_ns > now_ns)
		return false;
	budget->spent_ns[quota_bucket_of(budget->secret, sender.host)] = then_ns;
	return true;
}

void quota_charge(struct quota_rate *budget, struct sender sender, uint64_t now_ns)
{
	uint64_t then_ns = quota_spent_ns(budget, sender, now_ns) + budget->interval_ns;
	budget->spent_ns[quota_bucket_of(budget->secret, sender.host)] = MIN(then_ns, now_ns + budget->burst_ns);
}

void quota_enter(struct quota_table *share, struct sender sender)
{
	share->hosts[quota_bucket_of(share->secret, sender.host)]++;
	share->nets[quota_bucket_of(share->secret, sender.net)]++;
}

void quota_leave(struct quota_table *share, struct sender sender)
{
	uint32_t *host = &share->hosts[quota_bucket_of(share->secret, sender.host)];
	uint32_t *net = &share->nets[quota_bucket_of(share->secret, sender.net)];
	assert(*host && *net);
	--*host;
	--*net;
}

uint64_t quota_weight(const struct quota_table *share, struct sender sender)
{
	return (uint64_t)share->nets[quota_bucket_of(share->secret, sender.net)] << 32 |
	       share->hosts[quota_bucket_of(share->secret, sender.host)];
}
