/* Limits how often messages about strangers are shown. A message with the same sender and reason as an earlier one
 * is not shown: the hash of both is kept in a ring. So memory is bounded, and the oldest messages may be shown
 * again. All messages together share a token bucket, stored as one time: the time up to which tokens have been
 * spent. */
#include "net/tcp/told.h"

#include "base/hash.h"

#include <string.h>

#define INTERVAL_NS UINT64_C(10000000000)

/* One message is allowed per interval; up to TOLD_BURST of them can be saved up. */
bool told_take_again(struct told *told, uint64_t now_ns)
{
	uint64_t burst_ns = TOLD_BURST * INTERVAL_NS;
	if (told->spent_ns + INTERVAL_NS > now_ns + burst_ns)
		return false;
	told->spent_ns = MAX(told->spent_ns, now_ns) + INTERVAL_NS;
	return true;
}

bool told_take(struct told *told, const void *who, size_t who_bytes, const char *what, uint64_t now_ns)
{
	uint64_t key = hash_mix(hash_bytes(1, who, who_bytes), hash_bytes(2, what, strlen(what)));
	for (uint32_t i = 0; i < MIN(told->count, (uint32_t)TOLD_MAX); i++)
		if (told->keys[i] == key)
			return false;
	if (!told_take_again(told, now_ns))
		return false;
	told->keys[told->count++ % TOLD_MAX] = key;
	return true;
}
