#include "transport_suite.h"

#include "../net/sim.h"

#include <criterion/criterion.h>

TestSuite(transport_sim, .timeout = 60);

#define CHECK(call)                                                                                                    \
	do {                                                                                                           \
		const char *why = (call);                                                                              \
		cr_assert_null(why, "%s", why);                                                                        \
	} while (0)

Test(transport_sim, order_and_once)
{
	CHECK(suite_order_and_once(&transport_sim, 1, 2000));
	CHECK(suite_order_and_once(&transport_sim, 2, 2000));
	CHECK(suite_order_and_once(&transport_sim, 7, 200));
}

Test(transport_sim, primary_runs_once_per_step)
{
	CHECK(suite_primary_runs_once_per_step(&transport_sim, 3, 1000));
}

Test(transport_sim, refusals)
{
	CHECK(suite_publish_refuses(&transport_sim));
	CHECK(suite_ack_refuses(&transport_sim));
	CHECK(suite_create_refuses(&transport_sim));
}

Test(transport_sim, close)
{
	CHECK(suite_close_wakes(&transport_sim, 5));
	CHECK(suite_close_delivers_first(&transport_sim));
}

Test(transport_sim, fills_all_slots)
{
	cr_assert_eq(transport_check(&transport_sim, NULL), TROUPE_OK);
}
