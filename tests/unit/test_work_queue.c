/* Some threads open rounds, others take parts: each part is done once, in its round, and the owner sees the results.
 */
#include "run/work_queue.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>

TestSuite(share, .timeout = 60);

Test(share, owner_takes_from_the_front_and_others_from_the_back)
{
	struct work_queue share = {0};
	uint32_t part;
	cr_assert(!work_queue_take(&share, &part));
	cr_assert(!work_queue_steal(&share, &part));
	cr_assert(work_queue_is_done(&share));
	work_queue_open(&share, 3, 1);
	cr_assert_eq(work_queue_round(&share), 1u);
	cr_assert(work_queue_take(&share, &part));
	cr_assert_eq(part, 0u);
	cr_assert(work_queue_steal(&share, &part));
	cr_assert_eq(part, 2u);
	cr_assert(work_queue_steal(&share, &part));
	cr_assert_eq(part, 1u);
	cr_assert(!work_queue_take(&share, &part));
	cr_assert(!work_queue_steal(&share, &part));
	for (int i = 0; i < 3; i++) {
		cr_assert(!work_queue_is_done(&share));
		work_queue_done(&share);
	}
	cr_assert(work_queue_is_done(&share));
	work_queue_wait(&share, 0); /* returns at once */
	work_queue_open(&share, 0, 2);
	cr_assert_eq(work_queue_round(&share), 2u);
	cr_assert(work_queue_is_done(&share));
}

enum { OWNERS = 2, PARTS = 40, ROUNDS = 3000 };

struct owner {
	struct work_queue share;
	uint32_t parts, done[PARTS]; /* not atomic: only the share keeps two threads from one part */
	uint64_t wrong, stolen;
	struct owner *other;
	_Atomic bool *ended;
};

static void work_on(struct owner *owner, uint32_t part)
{
	owner->done[part < PARTS ? part : 0]++;
	work_queue_done(&owner->share);
}

static bool help(struct owner *self)
{
	uint32_t part;
	if (!work_queue_steal(&self->other->share, &part))
		return false;
	work_on(self->other, part);
	self->stolen++;
	return true;
}

static void *own(void *ctx)
{
	struct owner *self = ctx;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint32_t part, parts = round % (PARTS + 1);
		for (uint32_t i = 0; i < PARTS; i++)
			self->done[i] = 0;
		work_queue_open(&self->share, parts, round + 1);
		sched_yield(); /* so that other threads get parts on one core, too */
		while (work_queue_take(&self->share, &part))
			work_on(self, part);
		while (!work_queue_is_done(&self->share))
			if (!help(self))
				work_queue_wait(&self->share, 10);
		for (uint32_t i = 0; i < PARTS; i++)
			self->wrong += self->done[i] != (i < parts);
	}
	while (!atomic_load(self->ended))
		(void)help(self);
	return NULL;
}

static void *steal(void *ctx)
{
	struct owner *self = ctx;
	while (!atomic_load(self->ended))
		(void)help(self);
	return NULL;
}

Test(share, each_part_is_done_once)
{
	static struct owner owners[OWNERS], thief;
	_Atomic bool ended = false, thief_ended = false;
	pthread_t threads[OWNERS + 1];
	thief = (struct owner){.other = &owners[0], .ended = &thief_ended};
	for (uint32_t i = 0; i < OWNERS; i++)
		owners[i] = (struct owner){.other = &owners[1 - i], .ended = &ended};
	cr_assert_not(pthread_create(&threads[OWNERS], NULL, steal, &thief));
	for (uint32_t i = 0; i < OWNERS; i++)
		cr_assert_not(pthread_create(&threads[i], NULL, own, &owners[i]));
	for (uint32_t i = 0; i < OWNERS; i++)
		while (work_queue_round(&owners[i].share) < ROUNDS)
			eventcount_relax();
	atomic_store(&ended, true);
	for (uint32_t i = 0; i < OWNERS; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&thief_ended, true);
	pthread_join(threads[OWNERS], NULL);
	for (uint32_t i = 0; i < OWNERS; i++)
		cr_assert_eq(owners[i].wrong, 0u);
	cr_assert_gt(owners[0].stolen + owners[1].stolen + thief.stolen, 0u);
}
