/* The addresses that a secondary tries, in virtual time: only of primaries that wait for a secondary, in turn; an
 * address that failed is tried less and less often; and a flood of false primaries delays a genuine primary by less
 * than two seconds. */
#include "net/tcp/candidates.h"

#include "base/hash.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(candidates, .timeout = 60);

#define MS UINT64_C(1000000)
#define BEGIN_NS (100000 * MS)

static struct address address_of(const char *text)
{
	struct address address;
	cr_assert_eq(address_parse(text, 1, &address, NULL), TROUPE_OK);
	return address;
}

static struct announcement primary_of(uint64_t process, uint32_t present, uint32_t secondaries)
{
	struct announcement announcement = {.kind = ANNOUNCE_HERE,
		.role = HELLO_PRIMARY,
		.port = 1,
		.present = present,
		.secondaries = secondaries};
	memcpy(announcement.id, &process, sizeof process);
	return announcement;
}

static void hear(struct candidates *candidates, uint64_t process, const char *text, uint32_t missing, uint64_t now)
{
	struct address address = address_of(text);
	struct announcement announcement = primary_of(process, 5 - missing, 5);
	candidates_hear(candidates, &announcement, &address, now);
}

/* The next address to try; "": none. */
static const char *next(struct candidates *candidates, uint64_t now, struct candidate *ret)
{
	static char text[ADDRESS_TEXT_BYTES];
	if (!candidates_next(candidates, now, ret))
		return "";
	address_text(&ret->address, text);
	return text;
}

Test(candidates, one_that_is_given_is_tried_at_once_and_again)
{
	static struct candidates candidates;
	struct candidate candidate;
	struct address address = address_of("10.0.0.1:5");
	uint64_t now = BEGIN_NS, pause = 0;
	candidates_init(&candidates, 1);
	cr_assert_str_eq(next(&candidates, now, &candidate), "");
	candidates_give(&candidates, &address);
	for (int i = 0; i < 10; i++) {
		cr_assert_str_eq(next(&candidates, now, &candidate), "10.0.0.1:5");
		cr_assert_str_eq(next(&candidates, now + CANDIDATES_AGAIN_NS - 1, &candidate), "",
			"an address is tried a second time while the first attempt runs");
		candidates_settle(&candidates, &candidate, CANDIDATE_FAILED, now);
		uint64_t failed = now;
		while (!candidates.all[0].tried && candidates.all[0].due_ns > now)
			now += MS;
		cr_assert_geq(now - failed, pause, "the pause after a failure is shorter than the one before it");
		pause = now - failed;
		cr_assert_geq(pause, CANDIDATES_RETRY_NS);
		cr_assert_leq(pause, CANDIDATES_RETRY_MAX_NS);
	}
	cr_assert_eq(pause, CANDIDATES_RETRY_MAX_NS);
	cr_assert_str_eq(next(&candidates, now, &candidate), "10.0.0.1:5");
	candidates_settle(&candidates, &candidate, CANDIDATE_JOINED, now);
	cr_assert_eq(candidates.all[0].failures, 0);
}

Test(candidates, nobody_goes_where_nobody_is_awaited)
{
	static struct candidates candidates;
	struct candidate candidate;
	struct address address = address_of("10.0.0.1:5");
	struct announcement running = primary_of(1, 0, 2), full = primary_of(2, 2, 2), leaving = primary_of(3, 0, 2);
	running.kind = ANNOUNCE_FIXED;
	leaving.kind = ANNOUNCE_LEAVING;
	candidates_init(&candidates, 1);
	candidates_hear(&candidates, &running, &address, BEGIN_NS);
	candidates_hear(&candidates, &full, &address, BEGIN_NS);
	candidates_hear(&candidates, &leaving, &address, BEGIN_NS);
	cr_assert_str_eq(next(&candidates, BEGIN_NS + 1000 * MS, &candidate), "");
	/* a primary that waits for secondaries is found beside the others, until it runs itself */
	hear(&candidates, 9, "10.0.0.2:5", 1, BEGIN_NS);
	cr_assert_str_eq(next(&candidates, BEGIN_NS + 1000 * MS, &candidate), "10.0.0.2:5");
	candidates_settle(&candidates, &candidate, CANDIDATE_LEFT, BEGIN_NS + 1000 * MS);
	hear(&candidates, 9, "10.0.0.2:5", 0, BEGIN_NS + 1100 * MS);
	cr_assert_str_eq(next(&candidates, BEGIN_NS + 1200 * MS, &candidate), "");
	hear(&candidates, 9, "10.0.0.2:5", 2, BEGIN_NS + 1300 * MS);
	cr_assert_str_eq(next(&candidates, BEGIN_NS + 1300 * MS, &candidate), "10.0.0.2:5",
		"a primary that lost a secondary is not tried");
}

Test(candidates, one_that_is_not_heard_any_more_is_none)
{
	static struct candidates candidates;
	struct candidate candidate;
	candidates_init(&candidates, 1);
	hear(&candidates, 9, "10.0.0.2:5", 1, BEGIN_NS);
	cr_assert_str_eq(next(&candidates, BEGIN_NS, &candidate), "",
		"an address is tried before other primaries had time to announce themselves");
	cr_assert_str_eq(next(&candidates, BEGIN_NS + CANDIDATES_LIFE_NS, &candidate), "");
	hear(&candidates, 9, "10.0.0.2:5", 1, BEGIN_NS);
	cr_assert_str_eq(next(&candidates, BEGIN_NS + CANDIDATES_LIFE_NS - 1, &candidate), "10.0.0.2:5");
}

Test(candidates, one_that_does_not_answer_is_tried_once_more_meanwhile)
{
	static struct candidates candidates;
	struct candidate first, second;
	struct address address = address_of("10.0.0.1:5");
	candidates_init(&candidates, 1);
	candidates_give(&candidates, &address);
	cr_assert_str_eq(next(&candidates, BEGIN_NS, &first), "10.0.0.1:5");
	cr_assert_str_eq(next(&candidates, BEGIN_NS + CANDIDATES_AGAIN_NS, &second), "10.0.0.1:5");
	candidates_settle(&candidates, &first, CANDIDATE_FAILED, BEGIN_NS + CANDIDATES_AGAIN_NS);
	candidates_settle(&candidates, &second, CANDIDATE_JOINED, BEGIN_NS + CANDIDATES_AGAIN_NS + MS);
	cr_assert_eq(candidates.all[0].tried, 0);
	cr_assert_eq(candidates.all[0].failures, 0);
}

/* Several secondaries choose the same primary, whatever the order in which they learn of primaries. */
Test(candidates, all_agree_on_who_is_filled_first)
{
	static const char *const addresses[] = {"10.0.0.1:5", "10.0.0.2:5", "10.0.0.3:5"};
	for (uint32_t first = 0; first < 3; first++) {
		static struct candidates candidates;
		struct candidate candidate;
		candidates_init(&candidates, first);
		for (uint32_t i = 0; i < 3; i++) {
			uint32_t which = (first + i) % 3;
			hear(&candidates, 7 + which, addresses[which], 3, BEGIN_NS + i * 50 * MS);
		}
		cr_assert_str_eq(next(&candidates, BEGIN_NS + 300 * MS, &candidate), addresses[0]);
		candidates_settle(&candidates, &candidate, CANDIDATE_LEFT, BEGIN_NS + 300 * MS);
		hear(&candidates, 9, addresses[2], 1, BEGIN_NS + 400 * MS);
		cr_assert_str_eq(next(&candidates, BEGIN_NS + 400 * MS, &candidate), addresses[2],
			"the primary that misses the fewest secondaries is not the first");
	}
}

/* A primary that refused this secondary would refuse it again: it is tried less often, and other primaries are tried in
 * between. */
Test(candidates, one_that_refuses_us_is_left_alone)
{
	static struct candidates candidates;
	struct candidate candidate;
	uint64_t now = BEGIN_NS, attempts[2] = {0, 0};
	candidates_init(&candidates, 1);
	for (; now < BEGIN_NS + 100000 * MS; now += 100 * MS) {
		hear(&candidates, 1, "10.0.0.1:5", 1, now);
		hear(&candidates, 2, "10.0.0.2:5", 5, now);
		if (!*next(&candidates, now, &candidate))
			continue;
		bool other = candidate.missing == 5;
		attempts[other]++;
		candidates_settle(&candidates, &candidate, other ? CANDIDATE_FAILED : CANDIDATE_REFUSED, now);
	}
	cr_assert_geq(attempts[0], 3);
	cr_assert_leq(attempts[0], 6);
	cr_assert_geq(attempts[1], 50);
}

/* --- floods ------------------------------------------------------------------------------------------------------- */

/* How long the genuine primary at this address waits for the secondary, in ms, while forged announcements name
 * primaries that do not exist: 150 000 in a second, with ever other ports of so many hosts. An attempt to reach one of
 * these takes attempt_ms; four attempts run at once. */
static uint64_t wait_ms(const char *genuine, uint32_t hosts, uint64_t attempt_ms)
{
	static struct candidates candidates;
	struct {
		struct candidate to;
		uint64_t until_ns;
	} attempts[4] = {0};
	struct address at = address_of(genuine);
	struct announcement announcement = primary_of(UINT64_MAX, 0, 2);
	candidates_init(&candidates, 3);
	for (uint64_t ms = 0; ms < 10000; ms++) {
		uint64_t now = BEGIN_NS + ms * MS;
		for (uint64_t i = 0; i < 150; i++) {
			char text[40];
			uint64_t n = ms * 150 + i;
			(void)snprintf(text, sizeof text, "10.9.%u.%u:%u", (unsigned)(n % hosts / 250),
				(unsigned)(n % hosts % 250), (unsigned)(1 + hash_mix(n, 5) % 65535));
			hear(&candidates, n, text, 1, now);
		}
		if (ms % 500 == 250)
			candidates_hear(&candidates, &announcement, &at, now);
		for (uint32_t i = 0; i < 4; i++) {
			if (attempts[i].until_ns && now >= attempts[i].until_ns)
				candidates_settle(&candidates, &attempts[i].to, CANDIDATE_FAILED, now);
			if (now < attempts[i].until_ns)
				continue;
			attempts[i].until_ns = 0;
			if (!candidates_next(&candidates, now, &attempts[i].to))
				continue;
			attempts[i].until_ns = now + attempt_ms * MS;
			if (address_same_host(&attempts[i].to.address, &at) &&
				address_port(&attempts[i].to.address) == address_port(&at))
				return ms;
		}
	}
	return UINT64_MAX;
}

Test(candidates, a_flood_of_forged_ones_delays_no_genuine_one)
{
	uint64_t begin = 250; /* the genuine primary announces itself at this time */
	cr_assert_leq(wait_ms("10.0.0.1:5", 1, 0), begin + 2000, "one host, which refuses at once");
	cr_assert_leq(
		wait_ms("10.0.0.1:5", 1, CANDIDATES_ATTEMPT_NS / MS), begin + 2000, "one host, which does not answer");
	cr_assert_leq(wait_ms("10.0.0.1:5", 200, 0), begin + 2000, "many hosts, which refuse at once");
	cr_assert_leq(wait_ms("10.0.0.1:5", 200, CANDIDATES_ATTEMPT_NS / MS), begin + 2000,
		"many hosts, which do not answer");
	cr_assert_leq(wait_ms("10.9.0.200:5", 8, 0), begin + 2000,
		"some hosts of the primary's network, which refuse at once");
	cr_assert_leq(wait_ms("10.9.0.200:5", 4, CANDIDATES_ATTEMPT_NS / MS), begin + 2000,
		"four hosts of the primary's network, which do not answer");
}
