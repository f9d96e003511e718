/* The suite in a simulated network (tests/net/sim.h), whose ends are all in one transport: a secondary that dies does
 * so at once, and virtual time passes while the primary waits. Before the first step it gathers its secondaries, so no
 * secondary can be lost then. */
#include "transport_suite.h"

#include "../net/sim.h"

#include <criterion/criterion.h>

TestSuite(transport_sim, .timeout = 60);

#define CHECK(call)                                                                                                    \
	do {                                                                                                           \
		const char *why = (call);                                                                              \
		cr_assert_null(why, "%s", why);                                                                        \
	} while (0)

static struct transport_link link_of_all = {.seed = 7, .delay_ns = 100000, .work_ns = 100000};

static troupe_status open_all(struct stage *stage, const struct transport_options *options, uint32_t secondary,
	struct transport **ret_transport, struct troupe_error *error)
{
	struct transport_options linked = *options;
	(void)secondary;
	linked.link = &link_of_all;
	return stage->ops->create(&linked, ret_transport, error);
}

/* The secondary's thread goes on: virtual time passes only when all threads wait. */
static void kill_one(struct stage *stage, uint32_t secondary, struct transport *transport)
{
	struct transport_message step;
	sim_strike(transport, SIM_KILL, secondary);
	cr_assert_neq(stage->ops->wait(transport, secondary - 1, &step), TROUPE_OK);
}

static struct stage stage = {.ops = &transport_sim, .is_shared = true, .open = open_all, .kill = kill_one};

Test(transport_sim, order_and_once)
{
	CHECK(suite_order_and_once(&stage, 1, 2000));
	CHECK(suite_order_and_once(&stage, 2, 2000));
	CHECK(suite_order_and_once(&stage, 7, 200));
	CHECK(suite_windows(&stage, 1, 1000));
	CHECK(suite_windows(&stage, 3, 1000));
}

Test(transport_sim, refusals)
{
	CHECK(suite_publish_refuses(&stage, 2));
	CHECK(suite_ack_refuses(&stage, 2));
	CHECK(suite_create_refuses(&stage));
}

Test(transport_sim, close)
{
	CHECK(suite_close_wakes(&stage, 5));
	CHECK(suite_close_delivers_first(&stage, 2));
}

Test(transport_sim, losses)
{
	CHECK(suite_lost(&stage, 3, SUITE_DURING));
	CHECK(suite_lost(&stage, 3, SUITE_AFTER));
	CHECK(suite_lost(&stage, 1, SUITE_DURING));
	CHECK(suite_failed(&stage, 3));
}

Test(transport_sim, fills_all_slots)
{
	cr_assert_eq(transport_check(&transport_sim, NULL), TROUPE_OK);
}
