#include "transport_suite.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(transport_inproc, .timeout = 60);

#define CHECK(call)                                                                                                    \
	do {                                                                                                           \
		const char *why = (call);                                                                              \
		cr_assert_null(why, "%s", why);                                                                        \
	} while (0)

Test(transport_inproc, order_and_once)
{
	CHECK(suite_order_and_once(&transport_inproc, 1, 20000));
	CHECK(suite_order_and_once(&transport_inproc, 2, 20000));
	CHECK(suite_order_and_once(&transport_inproc, 7, 1000));
}

Test(transport_inproc, primary_runs_once_per_step)
{
	CHECK(suite_primary_runs_once_per_step(&transport_inproc, 3, 3000));
}

Test(transport_inproc, refusals)
{
	CHECK(suite_publish_refuses(&transport_inproc));
	CHECK(suite_ack_refuses(&transport_inproc));
	CHECK(suite_create_refuses(&transport_inproc));
}

Test(transport_inproc, close)
{
	CHECK(suite_close_wakes(&transport_inproc, 5));
	CHECK(suite_close_delivers_first(&transport_inproc));
}

Test(transport_inproc, registration_refuses_holes)
{
	struct troupe_error error;
	struct transport_ops holed = transport_inproc;
	cr_assert_eq(transport_check(&holed, &error), TROUPE_OK);
	holed.ack_of = NULL;
	cr_assert_eq(transport_check(&holed, &error), TROUPE_EINVAL);
	cr_assert(strstr(error.text, "ack_of"), "%s", error.text);
}
