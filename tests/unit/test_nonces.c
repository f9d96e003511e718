/* Which announcements count as live, and which get an answer, in virtual time, with replayed announcements and
 * floods of them. */
#include "net/tcp/nonces.h"

#include "base/hash.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(nonces, .timeout = 60);

#define MS UINT64_C(1000000)
static const struct sender here = {1, 1}, there = {2, 2};

static struct announcement announcement_of(uint32_t process, uint64_t number)
{
	struct announcement announcement = {.kind = ANNOUNCE_HERE, .role = HELLO_SECONDARY, .nonce = number};
	memcpy(announcement.id, &process, sizeof process);
	return announcement;
}

static bool is_live(const struct nonces *nonces, uint64_t echo, uint64_t now)
{
	uint64_t own[NONCES_OWN_MAX];
	uint32_t count = nonces_own(nonces, now, own);
	for (uint32_t i = 0; i < count; i++)
		if (own[i] == echo)
			return true;
	return false;
}

static bool echoes(struct nonces *nonces, uint64_t number, uint64_t now)
{
	struct announcement out;
	nonces_echo(nonces, &out, now);
	cr_assert_leq(out.echo_count, ANNOUNCEMENT_ECHOES_MAX);
	for (uint32_t i = 0; i < out.echo_count; i++)
		if (out.echoes[i] == number)
			return true;
	return false;
}

Test(nonces, a_number_is_new_each_half_second_and_is_forgotten_after_two)
{
	struct nonces nonces = {0};
	uint64_t begin = 10000 * MS;
	cr_assert_not(is_live(&nonces, 0, begin), "no number was drawn yet");
	cr_assert_eq(nonces_current(&nonces, 11, begin), 11);
	cr_assert_eq(nonces_current(&nonces, 12, begin + 499 * MS), 11);
	cr_assert_eq(nonces_current(&nonces, 13, begin + 500 * MS), 13);
	cr_assert_not(is_live(&nonces, 12, begin + 500 * MS), "this number was not drawn");
	for (uint64_t i = 2; i < 20; i++) {
		uint64_t now = begin + i * 500 * MS;
		cr_assert_eq(nonces_current(&nonces, 100 + i, now), 100 + i);
		cr_assert(is_live(&nonces, 100 + i, now));
		cr_assert_eq(is_live(&nonces, 11, now), i < 4, "after %u ms", (unsigned)i * 500);
		if (i > 5)
			cr_assert(is_live(&nonces, 100 + i - 3, now) && !is_live(&nonces, 100 + i - 4, now));
	}
}

/* A recording of yesterday, or of the moment before the number was drawn, echoes no number of now. */
Test(nonces, a_recording_is_not_live_later)
{
	struct nonces primary = {0}, secondary = {0};
	uint64_t now = 10000 * MS;
	struct announcement asked = announcement_of(1, nonces_current(&secondary, 501, now)), answer;
	nonces_record(&primary, &asked, here, false, now);
	cr_assert(nonces_echo_is_due(&primary));
	answer.nonce = nonces_current(&primary, 901, now);
	nonces_echo(&primary, &answer, now);
	cr_assert_not(nonces_echo_is_due(&primary));
	cr_assert_eq(answer.echo_count, 1);
	cr_assert(is_live(&secondary, answer.echoes[0], now + 1900 * MS));
	cr_assert_not(is_live(&secondary, answer.echoes[0], now + 2000 * MS), "the same secondary, later");
	struct nonces other = {0};
	(void)nonces_current(&other, 502, now);
	cr_assert_not(is_live(&other, answer.echoes[0], now), "another secondary");
}

Test(nonces, who_asks_again_waits_for_an_echo_of_the_new_number_only)
{
	struct nonces nonces = {0};
	uint64_t now = 10000 * MS;
	struct announcement asked = announcement_of(1, 501);
	nonces_record(&nonces, &asked, here, true, now);
	cr_assert(echoes(&nonces, 501, now));
	nonces_record(&nonces, &asked, here, true, now + MS);
	cr_assert_not(nonces_echo_is_due(&nonces), "a number that was echoed is owed again");
	cr_assert(echoes(&nonces, 501, now + MS), "the number is still echoed");
	asked.nonce = 502;
	nonces_record(&nonces, &asked, here, true, now + 2 * MS);
	cr_assert(nonces_echo_is_due(&nonces));
	cr_assert(echoes(&nonces, 502, now + 2 * MS) && !echoes(&nonces, 501, now + 2 * MS));
	cr_assert_not(echoes(&nonces, 502, now + 2 * MS + NONCES_LIFE_NS), "a silent process is echoed");
}

/* An old question of the same process, sent again, does not replace a new question. */
Test(nonces, a_recorded_question_does_not_replace_a_live_one)
{
	struct nonces nonces = {0};
	uint64_t now = 10000 * MS;
	struct announcement asked = announcement_of(1, 501), recorded = announcement_of(1, 77);
	nonces_record(&nonces, &asked, here, true, now);
	nonces_record(&nonces, &recorded, here, false, now + MS);
	cr_assert(echoes(&nonces, 501, now + 2 * MS));
}

Test(nonces, a_thousand_secondaries_are_all_answered)
{
	enum { SECONDARIES = 1024 };
	struct nonces nonces = {0};
	bool answered[SECONDARIES] = {false};
	uint32_t left = SECONDARIES;
	uint64_t now = 10000 * MS, begin = now;
	for (; left && now < begin + 2000 * MS;
		now += 10 * MS) {                            /* the interval at which announcements are sent then */
		for (uint32_t i = 0; i < SECONDARIES; i++) { /* each secondary asks twice in a second */
			struct announcement asked = announcement_of(i + 1, 1000 + i);
			if ((now - begin) / (10 * MS) % 50 == i % 50 && !answered[i])
				nonces_record(&nonces, &asked, here, true, now);
		}
		struct announcement out;
		nonces_echo(&nonces, &out, now);
		for (uint32_t i = 0; i < out.echo_count; i++) {
			left -= !answered[out.echoes[i] - 1000];
			answered[out.echoes[i] - 1000] = true;
		}
	}
	cr_assert_eq(left, 0);
	cr_assert_leq(now - begin, 1000 * MS, "it takes %u ms", (unsigned)((now - begin) / MS));
}

/* How long a genuine question waits for its answer, among 150 000 false ones in a second (recorded ones, or, without a
 * key, invented ones). The answer must come within two seconds: at once if the question is from another host; if it is
 * from the same host, when it is live, which it is after the next announcement. */
static uint64_t wait_ms(bool same_host, bool live)
{
	struct nonces nonces = {0};
	uint64_t begin = 10000 * MS, friend = 4711;
	struct announcement asked = announcement_of(UINT32_MAX, friend);
	for (uint64_t i = 0; i < 300000; i++) {
		uint64_t now = begin + i * 1000 * MS / 150000, at_ms = i / 150;
		struct announcement forged = announcement_of((uint32_t)i, hash_mix(3, i));
		nonces_record(&nonces, &forged, there, false, now);
		if (i % 75000 == 1)
			nonces_record(&nonces, &asked, same_host ? there : here, live, now);
		if (i % 1500 == 1499 && echoes(&nonces, friend, now))
			return at_ms;
	}
	return UINT64_MAX;
}

Test(nonces, a_flood_of_questions_delays_no_genuine_one)
{
	cr_assert_leq(wait_ms(false, false), 20);
	cr_assert_leq(wait_ms(false, true), 20);
	cr_assert_leq(wait_ms(true, true), 20);
}

/* The oldest question of a host is dropped when there is no room for another one. */
Test(nonces, the_oldest_question_makes_room)
{
	struct nonces nonces = {0};
	uint64_t begin = 10000 * MS, now = begin;
	for (uint32_t i = 0; i < NONCES_HEARD_MAX + 3; i++, now += MS) {
		struct announcement asked = announcement_of(i + 1, 1000 + i);
		nonces_record(&nonces, &asked, here, false, now);
	}
	bool heard[NONCES_HEARD_MAX + 3] = {false};
	for (int rounds = 0; rounds < NONCES_HEARD_MAX / ANNOUNCEMENT_ECHOES_MAX + 2; rounds++) {
		struct announcement out;
		nonces_echo(&nonces, &out, now);
		for (uint32_t i = 0; i < out.echo_count; i++)
			heard[out.echoes[i] - 1000] = true;
	}
	for (uint32_t i = 0; i < NONCES_HEARD_MAX + 3; i++)
		cr_assert_eq(heard[i], i >= 3, "question %u", i);
}

/* Wherever the one byte is in which it differs; and a ticket of zeros is none, for a client of zeros, too. */
Test(nonces, a_ticket_is_right_in_all_of_its_bytes)
{
	unsigned char right[HELLO_TICKET_BYTES], given[HELLO_TICKET_BYTES];
	static const unsigned char none[HELLO_TICKET_BYTES];
	for (size_t i = 0; i < sizeof right; i++)
		right[i] = (unsigned char)(7 * i + 1);
	cr_assert(hello_ticket_is(right, right));
	cr_assert(!hello_ticket_is(none, none) && !hello_ticket_is(right, none) && !hello_ticket_is(none, right));
	for (size_t i = 0; i < sizeof right; i++) {
		memcpy(given, right, sizeof right);
		given[i] ^= 0x80;
		cr_assert(!hello_ticket_is(given, right) && !hello_ticket_is(right, given), "byte %d", (int)i);
		memcpy(given, none, sizeof none);
		given[i] = 1;
		cr_assert(hello_ticket_is(given, given), "byte %d", (int)i);
	}
}
