/* The owner takes parts from the front and other runners take them from the back, so both ends of the range that is
 * left must change together. They are in one 64-bit word, and a compare-and-swap takes a part. The number of the
 * round, in the same word, tells other runners whether the owner has opened this round yet. */
#include "run/work_queue.h"

enum { END_BITS = 20, ROUND_AT = 2 * END_BITS };
_Static_assert(SHARE_PARTS_MAX == 1 << END_BITS, "a part's number has END_BITS");

static uint32_t work_queue_first_of(uint64_t left)
{
	return (uint32_t)(left >> END_BITS) & (SHARE_PARTS_MAX - 1);
}

static uint32_t work_queue_end_of(uint64_t left)
{
	return (uint32_t)left & (SHARE_PARTS_MAX - 1);
}

void work_queue_open(struct work_queue *share, uint32_t count, uint32_t round)
{
	share->due = eventcount_read(&share->done) + count;
	atomic_store_explicit(&share->left, (uint64_t)round << ROUND_AT | count,
		memory_order_release); /* pairs with work_queue_take_part() */
}

/* An old read is harmless: if the word has the same value again, it means the same, in whatever round it was read. */
static bool work_queue_take_part(struct work_queue *share, bool front, uint32_t *ret_part)
{
	uint64_t left = atomic_load_explicit(&share->left, memory_order_relaxed), less;
	do {
		if (work_queue_first_of(left) == work_queue_end_of(left))
			return false;
		*ret_part = front ? work_queue_first_of(left) : work_queue_end_of(left) - 1;
		less = front ? left + (UINT64_C(1) << END_BITS) : left - 1;
	} while (!atomic_compare_exchange_weak_explicit(&share->left, &left, less, memory_order_acquire,
		memory_order_relaxed)); /* pairs with work_queue_open() */
	return true;
}

bool work_queue_take(struct work_queue *share, uint32_t *ret_part)
{
	return work_queue_take_part(share, true, ret_part);
}

bool work_queue_steal(struct work_queue *share, uint32_t *ret_part)
{
	return work_queue_take_part(share, false, ret_part);
}

void work_queue_done(struct work_queue *share)
{
	eventcount_advance(&share->done);
}

bool work_queue_is_done(const struct work_queue *share)
{
	return eventcount_read(&share->done) == share->due;
}

void work_queue_wait(struct work_queue *share, uint32_t spins)
{
	uint32_t seen = eventcount_read(&share->done);
	if (seen != share->due)
		(void)eventcount_await(&share->done, seen, spins, 0);
}

uint32_t work_queue_round(const struct work_queue *share)
{
	return (uint32_t)(atomic_load_explicit(&share->left, memory_order_relaxed) >> ROUND_AT);
}
