/* The transport of one process keeps the contract of all transports (transport_suite.h); and steps in which only some
 * of the secondaries take part are published, acknowledged and released as the others are. */
#include "transport_suite.h"

#include "base/hash.h"
#include "net/inproc/inproc.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

TestSuite(transport_inproc, .timeout = 60);

#define CHECK(call)                                                                                                    \
	do {                                                                                                           \
		const char *why = (call);                                                                              \
		cr_assert_null(why, "%s", why);                                                                        \
	} while (0)

static troupe_status open_all(struct stage *stage, const struct transport_options *options, uint32_t secondary,
	struct transport **ret_transport, struct troupe_error *error)
{
	(void)secondary;
	return stage->ops->create(options, ret_transport, error);
}

static struct stage stage = {.ops = &transport_inproc, .is_shared = true, .open = open_all};

Test(transport_inproc, order_and_once)
{
	CHECK(suite_order_and_once(&stage, 1, 20000));
	CHECK(suite_order_and_once(&stage, 2, 20000));
	CHECK(suite_order_and_once(&stage, 7, 1000));
	CHECK(suite_windows(&stage, 1, 20001));
	CHECK(suite_windows(&stage, 3, 20001));
}

Test(transport_inproc, refusals)
{
	CHECK(suite_publish_refuses(&stage, 2));
	CHECK(suite_ack_refuses(&stage, 2));
	CHECK(suite_create_refuses(&stage));
}

Test(transport_inproc, close)
{
	CHECK(suite_close_wakes(&stage, 5));
	CHECK(suite_close_delivers_first(&stage, 1));
}

Test(transport_inproc, registration_refuses_holes)
{
	struct troupe_error error;
	struct transport_ops holed = transport_inproc;
	cr_assert_eq(transport_check(&holed, &error), TROUPE_OK);
	holed.resize = NULL;
	cr_assert_eq(transport_check(&holed, &error), TROUPE_EINVAL);
	holed = transport_inproc;
	holed.ack_of = NULL;
	cr_assert_eq(transport_check(&holed, &error), TROUPE_EINVAL);
	cr_assert(strstr(error.text, "ack_of"), "%s", error.text);
	holed = transport_inproc;
	holed.remote = true; /* a remote transport must have lost() */
	cr_assert_eq(transport_check(&holed, &error), TROUPE_EINVAL);
	cr_assert(strstr(error.text, "lost"), "%s", error.text);
}

/* --- some of the secondaries -------------------------------------------------------------------------------------- */

enum { ALL = 4, STEPS = 20000 };

struct part_time {
	struct transport *transport;
	uint64_t published, wrong;
	uint32_t active[STEPS + 1];     /* which secondaries take part in each step; the primary writes it */
	uint64_t taken[ALL], last[ALL]; /* each secondary writes its own */
	_Atomic uint32_t foreign;       /* steps that came to a secondary that has no part in them */
};

struct runner {
	struct part_time *all;
	uint32_t index;
};

/* The thread of the secondary that acknowledges last does the primary's part. */
static void next_step(void *ctx)
{
	struct part_time *all = ctx;
	uint64_t number = all->published++;
	if (number == STEPS) {
		transport_inproc.close(all->transport);
		return;
	}
	all->active[number] = (uint32_t)(hash_mix(number / 3, 7) % ALL) + 1;
	transport_inproc.resize(all->transport, all->active[number]);
	if (transport_inproc.publish(all->transport, (struct transport_message){.number = number}))
		all->wrong++;
}

static void *take_part(void *ctx)
{
	struct runner *runner = ctx;
	struct part_time *all = runner->all;
	struct transport_message step;
	while (!transport_inproc.wait(all->transport, runner->index, &step)) {
		bool again = all->taken[runner->index] && step.number <= all->last[runner->index];
		if (again || runner->index >= all->active[step.number])
			atomic_fetch_add(&all->foreign, 1);
		all->taken[runner->index]++;
		all->last[runner->index] = step.number;
		transport_inproc.ack(all->transport, runner->index, step);
	}
	return NULL;
}

Test(transport_inproc, some_take_part)
{
	static struct part_time all;
	struct runner runners[ALL];
	pthread_t threads[ALL];
	struct troupe_error error;
	struct transport_options options = {.secondaries = ALL, .all_acked = next_step, .ctx = &all};
	cr_assert_eq(transport_inproc.create(&options, &all.transport, &error), TROUPE_OK);
	for (uint32_t i = 0; i < ALL; i++) {
		runners[i] = (struct runner){&all, i};
		cr_assert_eq(pthread_create(&threads[i], NULL, take_part, &runners[i]), 0);
	}
	next_step(&all);
	for (uint32_t i = 0; i < ALL; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 0; i < ALL; i++) {
		uint64_t expected = 0;
		for (uint32_t k = 0; k < STEPS; k++)
			expected += i < all.active[k];
		cr_assert_eq(all.taken[i], expected, "secondary %u: %lu steps, expected %lu", i,
			(unsigned long)all.taken[i], (unsigned long)expected);
	}
	cr_assert_eq(atomic_load(&all.foreign), 0u);
	cr_assert_eq(all.wrong, 0u);
	transport_inproc.destroy(all.transport);
}

Test(transport_inproc, waiting_is_released)
{
	struct transport *transport;
	struct transport_message step;
	struct troupe_error error;
	struct transport_options options = {.secondaries = 1, .all_acked = next_step};
	cr_assert_eq(transport_inproc.create(&options, &transport, &error), TROUPE_OK);
	cr_assert_eq(transport_inproc.wait_for(transport, 0, 1000000, &step), TROUPE_OK); /* the time limit passes */
	cr_assert_null(step.payload);
	transport_inproc.release(transport);
	cr_assert_eq(transport_inproc.wait_for(transport, 0, UINT64_C(3600000000000), &step), TROUPE_OK);
	cr_assert_null(step.payload);
	transport_inproc.close(transport);
	cr_assert_eq(transport_inproc.wait_for(transport, 0, 1000000, &step), TROUPE_EPEER);
	transport_inproc.destroy(transport);
}
