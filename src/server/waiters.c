/* A secondary that waits holds no connection, so it is known by the number of its process, and forgotten when it has
 * not come for some time. */
#include "server/waiters.h"

#include <string.h>

#define FRESH_NS UINT64_C(1500000000)  /* one that came so lately will come again */
#define AGAIN_NS UINT64_C(10000000000) /* until the run changes its members for the same one again */
enum { WAITERS_MAX = 2 * TROUPE_SECONDARIES_MAX };

void waiters_fini(struct waiters *waiters)
{
	vec_free(&waiters->all);
}

static void waiters_forget(struct waiters *waiters, uint64_t now_ns)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < waiters->all.count; i++)
		if (now_ns - waiters->all.at[i].seen_ns < FRESH_NS)
			waiters->all.at[kept++] = waiters->all.at[i];
	waiters->all.count = kept;
}

static struct waiter *waiters_find(struct waiters *waiters, const unsigned char id[HELLO_ID_BYTES])
{
	for (uint32_t i = 0; i < waiters->all.count; i++)
		if (!memcmp(waiters->all.at[i].id, id, HELLO_ID_BYTES))
			return &waiters->all.at[i];
	return NULL;
}

/* The waiters for which the run has changed its members already may have come in meanwhile. */
static uint32_t waiters_count_unasked(const struct waiters *waiters)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < waiters->all.count; i++)
		count += !waiters->all.at[i].asked_ns;
	return count;
}

bool waiters_come(struct waiters *waiters, const unsigned char id[HELLO_ID_BYTES], uint32_t places, uint64_t now_ns)
{
	waiters_forget(waiters, now_ns);
	struct waiter *known = waiters_find(waiters, id);
	if (known) {
		known->seen_ns = now_ns;
		return true;
	}
	if (waiters_count_unasked(waiters) >= places || waiters->all.count >= WAITERS_MAX)
		return false;
	struct waiter come = {.seen_ns = now_ns};
	memcpy(come.id, id, sizeof come.id);
	vec_push(&waiters->all, come);
	return true;
}

uint32_t waiters_count_welcome(struct waiters *waiters, uint32_t free_places, uint64_t now_ns)
{
	uint32_t count = 0;
	waiters_forget(waiters, now_ns);
	for (uint32_t i = 0; i < waiters->all.count; i++) {
		const struct waiter *waiter = &waiters->all.at[i];
		count += !waiter->asked_ns || now_ns - waiter->asked_ns >= AGAIN_NS;
	}
	return MIN(count, free_places);
}

void waiters_note_asked(struct waiters *waiters, uint64_t now_ns)
{
	for (uint32_t i = 0; i < waiters->all.count; i++)
		waiters->all.at[i].asked_ns = now_ns;
}
