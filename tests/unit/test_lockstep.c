/* A step is complete when each secondary has answered for it, and an ack that must not come has a name of its own. */
#include "run/lockstep.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(lockstep, .timeout = 60);

static void refused(troupe_status status, const struct troupe_error *error, const char *words)
{
	cr_assert_eq(status, TROUPE_EPROTOCOL);
	cr_assert(strstr(error->text, words), "'%s' does not say '%s'", error->text, words);
}

Test(lockstep, a_step_is_complete_when_all_have_answered_in_order)
{
	struct lockstep l = {.secondaries = 3};
	struct troupe_error error;
	for (uint64_t k = 0; k < 5; k++) {
		cr_assert(lockstep_complete(&l));
		cr_assert_eq(lockstep_publish(&l, k, 1, &error), TROUPE_OK);
		for (uint32_t s = 1; s <= 3; s++) {
			cr_assert(!lockstep_complete(&l));
			cr_assert_eq(lockstep_ack(&l, s, k, &error), TROUPE_OK);
		}
	}
	cr_assert_eq(l.number, 5);
}

Test(lockstep, each_wrong_ack_has_a_name)
{
	struct lockstep l = {.secondaries = 3, .number = 7};
	struct troupe_error error;
	refused(lockstep_ack(&l, 1, 7, &error), &error, "no step is out");
	refused(lockstep_publish(&l, 8, 1, &error), &error, "expected step 7");
	cr_assert_eq(lockstep_publish(&l, 7, 1, &error), TROUPE_OK);
	refused(lockstep_publish(&l, 8, 1, &error), &error, "secondary 1 owes");
	refused(lockstep_ack(&l, 0, 7, &error), &error, "there are secondaries 1 to 3");
	refused(lockstep_ack(&l, 4, 7, &error), &error, "there are secondaries 1 to 3");
	refused(lockstep_ack(&l, 1, 6, &error), &error, "late ack from secondary 1");
	refused(lockstep_ack(&l, 1, 8, &error), &error, "early ack from secondary 1");
	refused(lockstep_ack(&l, 2, 7, &error), &error, "secondary 1's is missing");
	cr_assert_eq(lockstep_ack(&l, 1, 7, &error), TROUPE_OK);
	refused(lockstep_ack(&l, 1, 7, &error), &error, "repeated ack");
	cr_assert(!lockstep_complete(&l));
	cr_assert_eq(lockstep_ack(&l, 2, 7, &error), TROUPE_OK);
	cr_assert_eq(lockstep_ack(&l, 3, 7, &error), TROUPE_OK);
	cr_assert(lockstep_complete(&l));
}
