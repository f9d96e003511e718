/* What a hub asks of its bus, and what it tells its gateway, line by line, with a bus and a gateway of the test's own:
 * two clients, two topics beside the clock, calls that are answered in another order, messages that come again, and the
 * end. Other tests see only what a protocol makes of this: a subscription that is asked for in each turn once more
 * would cost time in each of them, and fail in none. */
#include "gateway/hub/hub.h"

#include "base/base.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(hub_bus, .timeout = 60);

enum { WAITING_MAX = 600 };

static struct {
	struct hub hub;
	struct bus bus;
	struct text said; /* since the last look */
	struct troupe_message waiting[WAITING_MAX];
	uint32_t first, count;
	uint64_t epoch;
	uint32_t topics;
	int a, b; /* clients */
} fake;

static void fake_say(const char *format, ...) TROUPE_PRINTF(1, 2);
static void fake_say(const char *format, ...)
{
	char line[200];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(line, sizeof line, format, args);
	va_end(args);
	text_add(&fake.said, "%s%s", fake.said.count ? "; " : "", line);
}

/* What was said since the last call is this. */
static void fake_said(const char *expected)
{
	const char *found = fake.said.count ? fake.said.at : "";
	cr_assert_str_eq(found, expected, "'%s' instead of '%s'", found, expected);
	fake.said.count = 0;
}

/* --- the bus ------------------------------------------------------------------------------------------------------ */

static troupe_status fake_subscribe(struct bus *bus, const char *topic, double rate_hz, struct troupe_error *error)
{
	(void)bus;
	if (!strcmp(topic, "bad"))
		return fail(error, TROUPE_ECOMMAND, "a bad name");
	fake_say("subscribe %s %g", topic, rate_hz);
	return TROUPE_OK;
}

static void fake_unsubscribe(struct bus *bus, const char *topic)
{
	(void)bus;
	fake_say("unsubscribe %s", topic);
}

static troupe_status fake_publish(struct bus *bus, const char *topic, const char *type, const void *bytes, size_t count,
	struct troupe_error *error)
{
	(void)bus, (void)error;
	fake_say("publish %s %s %.*s", topic, type, (int)count, (const char *)bytes);
	return TROUPE_OK;
}

static troupe_status fake_call(struct bus *bus, const char *service, const char *type, const void *bytes, size_t count,
	uint64_t tag, struct troupe_error *error)
{
	(void)bus;
	if (!strcmp(service, "bad"))
		return fail(error, TROUPE_ECOMMAND, "a bad name");
	fake_say("call %s %s %.*s %llu", service, type, (int)count, (const char *)bytes, (unsigned long long)tag);
	return TROUPE_OK;
}

static bool fake_take(struct bus *bus, uint64_t timeout_ns, struct troupe_message *ret_message)
{
	(void)bus;
	cr_assert_eq(timeout_ns, 0);
	if (fake.first == fake.count)
		return false;
	*ret_message = fake.waiting[fake.first++];
	return true;
}

static const struct troupe_topics *fake_topics(struct bus *bus)
{
	static const struct troupe_topic at[] = {
		{.name = "/a", .kind = TROUPE_TOPIC_PUBLISHED, .type = "t", .owner = "o"},
		{.name = "/a", .kind = TROUPE_TOPIC_TAKEN, .type = "u", .owner = "o"},
		{.name = "/b", .kind = TROUPE_TOPIC_PUBLISHED, .type = "t", .owner = "o", .rate_hz = 5},
		{.name = "/clock", .kind = TROUPE_TOPIC_PUBLISHED, .type = "t", .owner = "o"},
		{.name = "/s", .kind = TROUPE_TOPIC_SERVICE, .type = "t", .reply_type = "r", .owner = "o"}};
	static struct troupe_topics list;
	(void)bus;
	list = (struct troupe_topics){.epoch = fake.epoch, .count = fake.topics, .at = at};
	return &list;
}

static void fake_release(struct bus *bus, const struct troupe_topics *topics)
{
	(void)bus;
	cr_assert_not_null(topics);
}

static uint64_t fake_epoch(const struct bus *bus)
{
	(void)bus;
	return fake.epoch;
}

static void fake_destroy(struct bus *bus)
{
	(void)bus;
	fake_say("close");
}

static const struct bus_ops fake_ops = {.subscribe = fake_subscribe,
	.unsubscribe = fake_unsubscribe,
	.publish = fake_publish,
	.call = fake_call,
	.take = fake_take,
	.topics = fake_topics,
	.release = fake_release,
	.epoch = fake_epoch,
	.destroy = fake_destroy};

/* --- the gateway -------------------------------------------------------------------------------------------------- */

static void fake_came(void *gateway, struct mirror_row *row)
{
	cr_assert_eq(gateway, &fake);
	fake_say("came %s %u", row->name, row->kind);
}

static void fake_gone(void *gateway, struct mirror_row *row)
{
	cr_assert_eq(gateway, &fake);
	fake_say("gone %s %u", row->name, row->kind);
}

static void fake_changed(void *gateway, const struct troupe_topics *topics)
{
	cr_assert_eq(gateway, &fake);
	fake_say("topics %u", topics->count);
}

static void fake_message(void *gateway, const struct troupe_message *message)
{
	cr_assert_eq(gateway, &fake);
	fake_say("message %s %llu had %llu at %llu", message->topic, (unsigned long long)message->step,
		(unsigned long long)fake.hub.had, (unsigned long long)fake.hub.time_ns);
}

static const char *fake_name_of(const void *client)
{
	return client == &fake.a ? "a" : client == &fake.b ? "b" : "none";
}

static void fake_reply(void *gateway, void *client, void *request, const struct hub_reply *reply)
{
	cr_assert_eq(gateway, &fake);
	fake_say("reply %s %s %d %s %s %.*s %llu", fake_name_of(client), (const char *)request,
		reply->status != TROUPE_OK, reply->why ? reply->why : "-", reply->type ? reply->type : "-",
		(int)reply->count, reply->bytes ? (const char *)reply->bytes : "", (unsigned long long)reply->step);
}

static void fake_refused(void *gateway, const char *topic, const char *why)
{
	cr_assert_eq(gateway, &fake);
	fake_say("refused %s %s", topic, why);
}

static void fake_end(void *gateway, const char *why, bool failed)
{
	cr_assert_eq(gateway, &fake);
	fake_say("end %s %d", why, failed);
}

static void fake_free(void *gateway)
{
	cr_assert_eq(gateway, &fake);
	fake_say("destroy");
}

static void fake_wake(void *ctx)
{
	(void)ctx;
}

static bool fake_hides(void *gateway, const struct troupe_message *message)
{
	cr_assert_eq(gateway, &fake);
	return message->step == 13;
}

static const struct hub_kind fake_kind = {.topic_came = fake_came,
	.topic_gone = fake_gone,
	.topics_changed = fake_changed,
	.message = fake_message,
	.reply = fake_reply,
	.refused = fake_refused,
	.moved = hub_ignore_moved,
	.end = fake_end,
	.destroy = fake_free,
	.count = hub_ignore_count};

static struct hub *fake_open(bool keeps_time)
{
	struct hub *hub = &fake.hub;
	fake.bus.ops = &fake_ops;
	fake.topics = 5;
	fake.epoch = 1;
	*hub = (struct hub){.kind = &fake_kind,
		.gateway = &fake,
		.bus = &fake.bus,
		.clock = mem_strdup("/clock"),
		.place = {.server = (struct troupe_server *)(void *)&fake},
		.options = {.wake = fake_wake, .ctx = hub, .keeps_time = keeps_time, .hides = fake_hides}};
	cr_assert(!pthread_mutex_init(&hub->guard, NULL));
	return hub;
}

static struct hub_subscriber *fake_subscriber(void *client, double rate_hz)
{
	struct hub_subscriber *subscriber = mem_alloc(sizeof *subscriber);
	*subscriber = (struct hub_subscriber){.client = client, .rate_hz = rate_hz};
	return subscriber;
}

static void fake_wait(const char *topic, uint64_t step)
{
	cr_assert_lt(fake.count, (uint32_t)WAITING_MAX);
	fake.waiting[fake.count++] = (struct troupe_message){
		.topic = topic, .type = "t", .bytes = "x", .count = 1, .step = step, .time_ns = (int64_t)step * 10};
}

static void fake_wait_reply(uint64_t tag, troupe_status status, const char *text)
{
	cr_assert_lt(fake.count, (uint32_t)WAITING_MAX);
	fake.waiting[fake.count++] = (struct troupe_message){.is_reply = true,
		.topic = "/s",
		.type = "r",
		.bytes = "yes",
		.count = 3,
		.step = 40 + tag,
		.tag = tag,
		.status = status,
		.text = text};
}

/* --- tests -------------------------------------------------------------------------------------------------------- */

Test(hub_bus, topics_come_and_go_once)
{
	struct hub *hub = fake_open(false);
	hub->options.for_clients = true;
	hub_turn(hub);
	fake_said("");
	hub->clients = 1;
	fake.topics = 3;
	hub_turn(hub);
	fake_said("came /a 0; came /a 1; came /b 0; topics 3");
	hub_turn(hub);
	fake_said("");
	fake.topics = 5;
	fake.epoch++;
	hub_turn(hub);
	fake_said("came /clock 0; came /s 2; topics 5");
	fake.topics = 1;
	hub_turn(hub);
	fake_said("");
	fake.epoch++;
	hub_turn(hub);
	hub_turn(hub);
	fake_said("gone /s 2; gone /clock 0; gone /b 0; gone /a 1; topics 1");
	hub_fini(hub);
	fake_said("end the run has ended 0; gone /a 0; close; destroy");
}

/* The clock is subscribed to at a rate of its own while there are clients, and none of them asks for it. */
Test(hub_bus, the_clock_is_followed)
{
	struct hub *hub = fake_open(true);
	hub_turn(hub);
	fake.said.count = 0;
	for (int i = 0; i < 2; i++) {
		hub->clients = 2;
		hub_turn(hub);
		hub_turn(hub);
		fake_said("subscribe /clock 60");
		struct hub_subscriber *a = fake_subscriber(&fake.a, 5), *b = fake_subscriber(&fake.b, 9);
		cr_assert(!hub_subscribe(hub, "/clock", a, NULL) && !hub_subscribe(hub, "/clock", b, NULL));
		hub_turn(hub);
		fake_said("subscribe /clock 5; subscribe /clock 9");
		hub_leave(hub, "/clock", b);
		free(b);
		hub_turn(hub);
		fake_said("subscribe /clock 5");
		hub->clients = 0;
		hub_turn(hub);
		fake_said("");
		hub->clients = 1;
		hub_leave(hub, "/clock", a);
		free(a);
		fake_said("unsubscribe /clock");
		hub_turn(hub);
		hub_turn(hub);
		fake_said("subscribe /clock 60");
		hub->clients = 0;
		hub_turn(hub);
		hub_turn(hub);
		fake_said("unsubscribe /clock");
	}
	hub_fini(hub);
}

/* A topic is asked for at the highest rate of its subscribers; 0 is higher than all. */
Test(hub_bus, the_rate_is_the_highest)
{
	struct hub *hub = fake_open(false);
	struct troupe_error error = {.text = ""};
	hub_turn(hub);
	fake.said.count = 0;
	struct hub_subscriber *at[4] = {fake_subscriber(&fake.a, 2), fake_subscriber(&fake.b, 7),
		fake_subscriber(&fake.a, 0), fake_subscriber(&fake.b, 3)};
	for (size_t i = 0; i < 4; i++)
		cr_assert(!hub_subscribe(hub, i == 3 ? "/b" : "/a", at[i], &error));
	fake_said("subscribe /a 2; subscribe /a 7; subscribe /a 0; subscribe /b 3");
	struct hub_subscriber *later = fake_subscriber(&fake, 4);
	cr_assert(!hub_subscribe(hub, "/a", later, &error));
	fake_said("subscribe /a 0");
	hub_leave(hub, "/a", later);
	free(later);
	fake_said("");
	cr_assert(at[0]->join == 1 && at[1]->join == 2 && at[2]->join == 3 && at[3]->join == 4);
	cr_assert_eq(hub_subscribe(hub, "bad", at[0], &error), TROUPE_ECOMMAND);
	cr_assert(!hub_is_subscribed(hub, "bad") && hub_is_subscribed(hub, "/a") && !hub_is_subscribed(hub, "/c"));
	cr_assert_eq(hub_subscriber(hub, "/b", &fake.b), at[3]);
	cr_assert_null(hub_subscriber(hub, "/b", &fake.a));
	cr_assert_null(hub_subscriber(hub, "/c", &fake.a));
	hub_renew(hub, false);
	fake_said("subscribe /b 3");
	hub_renew(hub, true);
	fake_said("subscribe /a 0; subscribe /b 3");
	hub_repeat(hub, "/a");
	hub_repeat(hub, "/c");
	fake_said("subscribe /a 0");
	hub_leave(hub, "/a", at[0]);
	hub_leave(hub, "/c", at[0]);
	fake_said("");
	hub_leave(hub, "/a", at[2]);
	fake_said("subscribe /a 7");
	hub_leave_all(hub, &fake.b);
	fake_said("unsubscribe /b; unsubscribe /a");
	cr_assert_eq(hub->subscriptions.rows.count, 0u);
	free(at[0]);
	free(at[2]);
	hub_unsubscribe(hub, "/a");
	fake_said("");
	cr_assert(!hub_subscribe(hub, "/b", NULL, &error) && !hub_publish(hub, "/a", "u", "hello", 5, &error));
	fake_said("subscribe /b 0; publish /a u hello");
	hub_fini(hub);
	fake_said("end the run has ended 0; gone /s 2; gone /clock 0; gone /b 0; gone /a 1; gone /a 0; "
		  "unsubscribe /b; close; destroy");
}

/* A message that comes once more for a new subscriber says which subscribers have had it. */
Test(hub_bus, messages_that_come_again)
{
	struct hub *hub = fake_open(false);
	hub_turn(hub);
	fake.said.count = 0;
	cr_assert(!hub_subscribe(hub, "/a", fake_subscriber(&fake.a, 0), NULL));
	cr_assert(!hub_subscribe(hub, "/b", fake_subscriber(&fake.b, 0), NULL));
	fake.said.count = 0;
	fake_wait("/a", 5);
	fake_wait("/a", 13); /* hidden */
	fake_wait("/b", 6);
	fake_wait("/c", 6);
	hub_turn(hub);
	fake_said("message /a 5 had 0 at 50; message /b 6 had 0 at 60; message /c 6 had 0 at 60");
	cr_assert(!hub_subscribe(hub, "/a", fake_subscriber(&fake.b, 0), NULL));
	cr_assert(!hub_subscribe(hub, "/b", fake_subscriber(&fake.a, 0), NULL));
	fake.said.count = 0;
	fake_wait("/a", 5); /* again: the first subscriber has had it, and so has the second one of all */
	fake_wait("/b", 7); /* a new one */
	fake_wait("/a", 8);
	fake_wait("/b", 7);
	hub_turn(hub);
	fake_said("message /a 5 had 2 at 50; message /b 7 had 0 at 70; message /a 8 had 0 at 80; message /b 7 had 0 at "
		  "70");
	hub_repeat(hub, "/a");
	fake_wait("/a", 8);
	hub_turn(hub);
	fake_said("subscribe /a 0; message /a 8 had 0 at 80");
	hub_fini(hub);
}

Test(hub_bus, a_turn_is_bounded_and_the_last_ones_take_the_rest)
{
	struct hub *hub = fake_open(false);
	for (int i = 0; i < WAITING_MAX; i++)
		fake_wait("/a", 1);
	cr_assert(hub_turn(hub));
	cr_assert(fake.first > 0 && fake.first < WAITING_MAX, "%u", fake.first);
	hub_finish(hub);
	cr_assert_eq(fake.first, (uint32_t)WAITING_MAX);
	fake.said.count = 0;
	hub_finish(hub);
	fake_said("");
	hub_fini(hub);
}

static char names[][4] = {"one", "two", "tri", "for", "fiv"};

/* Each reply comes to the call whose it is. */
Test(hub_bus, calls_are_answered_in_any_order)
{
	struct hub *hub = fake_open(false);
	struct troupe_error error = {.text = ""}, failure = {.status = TROUPE_EINTERNAL, .text = "it broke"};
	hub_turn(hub);
	fake.said.count = 0;
	for (uint32_t i = 0; i < 5; i++) {
		const struct hub_caller caller = {i % 2 ? (void *)&fake.b : (void *)&fake.a, 0, names[i]};
		cr_assert(!hub_call(hub, &caller, "/s", "t", names[i], 3, &error));
		cr_assert_eq(hub_call(hub, &caller, "bad", "t", "", 0, &error), TROUPE_ECOMMAND);
	}
	cr_assert(!hub_call(hub, NULL, "/s", "t", "?", 1, &error));
	fake_said("call /s t one 1; call /s t two 2; call /s t tri 3; call /s t for 4; call /s t fiv 5; call /s t ? 0");
	fake_wait_reply(2, TROUPE_OK, "done");
	fake_wait_reply(1, TROUPE_ECOMMAND, "");
	fake_wait_reply(1, TROUPE_OK, "");
	fake_wait_reply(9, TROUPE_OK, "");
	fake_wait_reply(0, TROUPE_OK, "");
	fake_wait_reply(0, TROUPE_ECOMMAND, "not so");
	hub_turn(hub);
	char *expected = mem_printf("reply b two 0 done r yes 42; reply a one 1 %s r yes 41; refused /s not so",
		troupe_status_text(TROUPE_ECOMMAND));
	fake_said(expected);
	free(expected);
	hub_forget(hub, &fake.b, 0);
	fake_wait_reply(4, TROUPE_ECOMMAND, "no");
	fake_wait_reply(3, TROUPE_ECOMMAND, NULL);
	hub_turn(hub);
	expected = mem_printf(
		"reply none for 1 no r yes 44; reply a tri 1 %s r yes 43", troupe_status_text(TROUPE_ECOMMAND));
	fake_said(expected);
	free(expected);
	hub->failure = &failure;
	hub_finish(hub);
	fake_said("reply a fiv 1 it broke -  0; end it broke 1");
	hub_fini(hub);
}
