/* Limits how often messages about unknown peers are shown. A message with the same sender and reason as an earlier one
 * is not shown: the hash of both is kept in a ring. So memory is bounded, and the oldest messages may be shown
 * again. All messages together share a token bucket, stored as one time: the time up to which tokens have been
 * spent. */
#include "net/tcp/log_limit.h"

#include "base/hash.h"

#include <string.h>

#define INTERVAL_NS UINT64_C(10000000000)

/* One message is allowed per interval; up to LOG_LIMIT_BURST of them can be saved up. */
bool log_limit_again(struct log_limit *limit, uint64_t now_ns)
{
	uint64_t burst_ns = LOG_LIMIT_BURST * INTERVAL_NS;
	if (limit->spent_ns + INTERVAL_NS > now_ns + burst_ns)
		return false;
	limit->spent_ns = MAX(limit->spent_ns, now_ns) + INTERVAL_NS;
	return true;
}

bool log_limit_take(struct log_limit *limit, const void *who, size_t who_bytes, const char *what, uint64_t now_ns)
{
	uint64_t key = hash_mix(hash_bytes(1, who, who_bytes), hash_bytes(2, what, strlen(what)));
	for (uint32_t i = 0; i < MIN(limit->count, (uint32_t)LOG_LIMIT_MAX); i++)
		if (limit->keys[i] == key)
			return false;
	if (!log_limit_again(limit, now_ns))
		return false;
	limit->keys[limit->count++ % LOG_LIMIT_MAX] = key;
	return true;
}
