/* When the server is asked for pictures, and which pages are sent them: a page that takes nothing for a while costs the
 * run no pictures, and gets the newest one when it takes again. Clock, web server and server are the test's. */
#include <stdint.h>

static uint64_t test_now_ns(void);
#define clock_now_ns test_now_ns
#define web_waiting waiting_of
#define web_send take_by
#include "../../src/gateway/view/motion.c"
#undef clock_now_ns
#undef web_waiting
#undef web_send
#include "topic/message.h"
#include "topic/troupe.pb-c.h"

#include <criterion/criterion.h>
#include <stdlib.h>

TestSuite(pages, .timeout = 60);

enum { PAGES = 2 };
#define MS UINT64_C(1000000)

struct web_peer {
	size_t waiting;
	uint32_t pictures;
	double time_s; /* of the last one */
};

static uint64_t time_now_ns;
static struct web_peer peers[PAGES];
static struct page all[PAGES];
static struct port_client clients[PAGES];
static struct gateway gateway;

static uint64_t test_now_ns(void)
{
	return time_now_ns;
}

size_t waiting_of(const struct web_peer *peer)
{
	return peer->waiting;
}

bool take_by(struct web_peer *peer, bool binary, const void *bytes, size_t count)
{
	cr_assert(binary && count >= PICTURE_CACHE_HEAD_BYTES);
	cr_assert_eq(peer->waiting, 0, "a picture for a page that waits for another");
	peer->pictures++;
	memcpy(&peer->time_s, (const char *)bytes + 16, sizeof peer->time_s);
	return true;
}

/* --- a source that makes a picture when one is subscribed to -------------------------------------------------------
 */

static struct {
	bool subscribed, has_one;
	uint32_t asked, made;
	struct text bytes;
} made;

static troupe_status subscribe(struct bus *bus, const char *topic, double rate_hz, struct troupe_error *error)
{
	(void)bus, (void)error;
	cr_assert_str_eq(topic, "/world/w/view");
	cr_assert(rate_hz > 0);
	made.subscribed = true;
	made.asked++;
	return TROUPE_OK;
}

static void unsubscribe(struct bus *bus, const char *topic)
{
	(void)bus;
	cr_assert_str_eq(topic, "/world/w/view");
	made.subscribed = false;
}

static bool take_made(struct bus *bus, uint64_t timeout_ns, struct troupe_message *ret_message)
{
	(void)bus, (void)timeout_ns;
	if (!made.has_one)
		return false;
	made.has_one = false;
	*ret_message = (struct troupe_message){.topic = "/world/w/view",
		.bytes = made.bytes.at,
		.count = made.bytes.count,
		.time_ns = (int64_t)time_now_ns};
	return true;
}

static const struct bus_ops bus_ops = {.subscribe = subscribe, .unsubscribe = unsubscribe, .take = take_made};
static struct bus bus = {&bus_ops};

static void make(void)
{
	uint32_t link = 3;
	float pose[7] = {(float)time_now_ns};
	Troupe__Msgs__View view = TROUPE__MSGS__VIEW__INIT;
	view.n_link = 1;
	view.link = &link;
	view.n_pose = 7;
	view.pose = pose;
	view.real_time_factor = 1;
	made.bytes.count = 0;
	message_add_bytes(&made.bytes, &view.base);
	made.has_one = true;
	made.made++;
}

/* --- the test ----------------------------------------------------------------------------------------------------- */

/* Goes on for so many pictures of 30 a second, as the gateway's turn does. */
static void go_on(uint32_t periods)
{
	for (uint32_t i = 0; i < periods; i++) {
		time_now_ns += 33 * MS + MS / 3;
		if (made.subscribed)
			make();
		(void)motion_take(&gateway);
		for (struct port_client *client = gateway.port.clients; client; client = client->after)
			motion_send(client->data, time_now_ns);
	}
}

static void begin(uint32_t pages)
{
	time_now_ns = 1000 * MS;
	gateway.pictures = &bus;
	vec_push(&gateway.worlds,
		(struct watched){.prefix = mem_strdup("/world/w"), .topic = mem_strdup("/world/w/view")});
	for (uint32_t p = 0; p < pages; p++) {
		clients[p] = (struct port_client){.peer = &peers[p], .data = &all[p], .after = gateway.port.clients};
		gateway.port.clients = &clients[p];
		all[p] = (struct page){.gateway = &gateway, .client = &clients[p]};
		motion_begin(&all[p], motion_find(&gateway, "/world/w"), 0);
	}
}

static void end(void)
{
	picture_cache_fini(&gateway.worlds.at[0].picture_cache);
	free(gateway.worlds.at[0].prefix);
	free(gateway.worlds.at[0].topic);
	vec_free(&gateway.worlds);
	text_fini(&made.bytes);
}

Test(pages, a_page_gets_thirty_pictures_a_second)
{
	begin(1);
	go_on(300);
	cr_assert_geq(peers[0].pictures, 290);
	cr_assert_eq(made.asked, 2, "asked %u times: at first, and when the speed was known", made.asked);
	end();
}

Test(pages, a_stuck_page_costs_no_pictures)
{
	begin(1);
	go_on(30);
	peers[0].waiting = 1;
	uint32_t pictures = peers[0].pictures, before = made.made;
	go_on(300);
	cr_assert_eq(peers[0].pictures, pictures);
	cr_assert(!made.subscribed, "nobody takes pictures, and they are made");
	cr_assert_leq(made.made - before, 8, "%u were made", made.made - before);
	peers[0].waiting = 0;
	motion_send(&all[0], time_now_ns); /* as when the web server says that there is room */
	cr_assert(made.subscribed, "pictures are asked for again");
	go_on(30);
	cr_assert_geq(peers[0].pictures, pictures + 25);
	cr_assert_float_eq(peers[0].time_s, (double)time_now_ns * 1e-9, 0.07, "the newest");
	end();
}

Test(pages, a_page_that_is_slow_for_a_moment_keeps_the_subscription)
{
	begin(1);
	for (int i = 0; i < 20; i++) {
		peers[0].waiting = 1;
		go_on(4);
		peers[0].waiting = 0;
		go_on(1);
	}
	cr_assert(made.subscribed && made.asked == 2, "asked %u times", made.asked);
	cr_assert_geq(peers[0].pictures, 20);
	end();
}

Test(pages, other_pages_keep_the_pictures_of_a_stuck_one)
{
	begin(2);
	peers[0].waiting = 1;
	go_on(300);
	cr_assert(made.subscribed);
	cr_assert_geq(peers[1].pictures, 290);
	motion_end(&all[1]);
	gateway.port.clients = &clients[0];
	go_on(30);
	cr_assert(!made.subscribed, "only the stuck one is left");
	gateway.port.clients = &clients[1];
	motion_begin(&all[1], motion_find(&gateway, "/world/w"), 0);
	cr_assert(made.subscribed, "a page has come that takes pictures");
	uint32_t pictures = peers[1].pictures;
	go_on(30);
	cr_assert_geq(peers[1].pictures, pictures + 28);
	end();
}

Test(pages, the_last_page_takes_the_subscription_with_it)
{
	begin(1);
	go_on(10);
	motion_end(&all[0]);
	cr_assert(!made.subscribed);
	end();
}
