/* Limits for each sender: floods from other senders take nothing from a sender's limit. In virtual time, at the rates
 * of real floods. */
#include "net/tcp/quota.h"

#include "base/hash.h"
#include "net/address.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(quota, .timeout = 60);

#define SECOND_NS UINT64_C(1000000000)
enum { PER_SECOND = 100, BURST = 64, FLOOD_PER_SECOND = 150000 };

static struct sender sender_of(const char *text)
{
	struct address address;
	cr_assert_eq(address_parse(text, 1, &address, NULL), TROUPE_OK, "%s", text);
	return address_sender(&address);
}

static bool is_same(struct sender a, struct sender b)
{
	return a.host == b.host && a.net == b.net;
}

Test(quota, are_addresses_and_the_networks_around_them)
{
	cr_assert(is_same(sender_of("10.0.0.3:5"), sender_of("10.0.0.3:6")));
	cr_assert_neq(sender_of("10.0.0.3").host, sender_of("10.0.0.4").host);
	cr_assert_eq(sender_of("10.0.0.3").net, sender_of("10.0.0.200").net);
	cr_assert_neq(sender_of("10.0.0.3").net, sender_of("10.0.1.3").net);
	cr_assert(is_same(sender_of("10.0.0.3"), sender_of("[::ffff:10.0.0.3]")),
		"an address of IPv4 on a socket for IPv6, too");
	cr_assert_eq(sender_of("[2001:db8:1:2::1]").host, sender_of("[2001:db8:1:2:ffff::9]").host);
	cr_assert_neq(sender_of("[2001:db8:1:2::1]").host, sender_of("[2001:db8:1:3::1]").host);
	cr_assert_eq(sender_of("[2001:db8:1:2::1]").net, sender_of("[2001:db8:1:3::1]").net);
	cr_assert_neq(sender_of("[2001:db8:1:2::1]").net, sender_of("[2001:db8:2:2::1]").net);
}

/* A sender has so many looks in a second, and a burst. */
Test(quota, have_so_many_looks_in_a_second)
{
	static struct quota_rate budget;
	struct sender sender = {1, 2};
	uint64_t now = 5 * SECOND_NS, taken = 0;
	quota_rate_init(&budget, 7, SECOND_NS / PER_SECOND, BURST);
	for (int i = 0; i < 1000; i++)
		taken += quota_take(&budget, sender, now);
	cr_assert_eq(taken, BURST);
	for (uint64_t i = 0; i < 3 * FLOOD_PER_SECOND; i++)
		taken += quota_take(&budget, sender, now += SECOND_NS / FLOOD_PER_SECOND);
	cr_assert_geq(taken, BURST + 3 * PER_SECOND - 1);
	cr_assert_leq(taken, BURST + 3 * PER_SECOND + 1);
	taken = 0;
	now += 1000 * SECOND_NS;
	for (int i = 0; i < 1000; i++)
		taken += quota_take(&budget, sender, now);
	cr_assert_eq(taken, BURST, "a pause saves up more than a burst");
}

/* How many of its looks a sender gets which announces itself twice in a second: all of them while one host floods, and
 * most of them while a flood has as many senders as announcements, which exhausts the limit of all senders together. */
static uint64_t looks_of_a_friend(uint32_t flooders)
{
	static struct quota_rate budget;
	struct sender friend = {hash_mix(1, 2), 3};
	uint64_t looks = 0, step_ns = SECOND_NS / FLOOD_PER_SECOND;
	quota_rate_init(&budget, 99, SECOND_NS / PER_SECOND, BURST);
	for (uint64_t i = 0; i < 10 * FLOOD_PER_SECOND; i++) {
		uint64_t now = 100 * SECOND_NS + i * step_ns;
		(void)quota_take(&budget, (struct sender){hash_mix(4, i % flooders), 5}, now);
		if (i % (FLOOD_PER_SECOND / 2) == FLOOD_PER_SECOND / 4)
			looks += quota_take(&budget, friend, now);
	}
	return looks;
}

Test(quota, lose_nothing_to_a_flood_of_others)
{
	cr_assert_eq(looks_of_a_friend(1), 20);
	cr_assert_eq(looks_of_a_friend(254), 20);
}

/* A table that is always full gets senders of ever other hosts: the sender that is dropped is of the network with the
 * most senders. */
enum { PLACES = 64 };

static bool stays(uint32_t flooders, struct sender friend)
{
	static struct quota_table share;
	struct sender table[PLACES] = {friend};
	uint32_t count = 1;
	share = (struct quota_table){.secret = 17};
	quota_enter(&share, friend);
	for (uint32_t i = 0; i < 100000; i++) {
		struct sender newcomer = sender_of("192.168.7.0");
		newcomer.host += i % flooders;
		quota_enter(&share, newcomer);
		if (count == PLACES) {
			uint32_t victim = 0;
			for (uint32_t k = 1; k < count; k++)
				if (quota_weight(&share, table[k]) > quota_weight(&share, table[victim]))
					victim = k;
			if (!victim)
				return false;
			quota_leave(&share, table[victim]);
			table[victim] = table[--count];
		}
		table[count++] = newcomer;
	}
	return true;
}

Test(quota, keep_their_place_while_others_come)
{
	cr_assert(stays(1, sender_of("192.168.7.200")), "a sender of the same network as one flooding host is dropped");
	cr_assert(
		stays(8, sender_of("192.168.7.200")), "a sender of the same network as some flooding hosts is dropped");
	cr_assert(stays(200, sender_of("10.0.0.1")), "a sender of another network than many flooding hosts is dropped");
}
