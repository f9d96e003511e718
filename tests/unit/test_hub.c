/* The mirror of a gateway, its list of subscribers and its settings: numbers of rows never come again, also after a
 * topic has gone and come; a topic of another type is another row; a client that goes takes all its subscriptions with
 * it, and no others; and a setting that is not known, or no flag, is refused with what is expected. Without it a client
 * that asks for a channel that is gone could get another one. */
#include "gateway/hub/hub.h"
#include "gateway/hub/settings.h"
#include "gateway/hub/subscriber_list.h"

#include "base/base.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(hub, .timeout = 60);

enum { TOPICS = 5 };

static struct {
	uint32_t came, gone;
	char last[32];
} seen;

static void hub_came(void *ctx, struct mirror_row *row)
{
	cr_assert_eq(ctx, &seen);
	seen.came++;
	(void)strncpy(seen.last, row->name, sizeof seen.last - 1);
	row->data = &seen;
}

static void hub_goes(void *ctx, struct mirror_row *row)
{
	cr_assert_eq(ctx, &seen);
	cr_assert_eq(row->data, &seen, "a row keeps what the gateway has put there");
	seen.gone++;
}

static struct troupe_topic hub_topic(const char *name, troupe_topic_kind kind, const char *type)
{
	return (struct troupe_topic){.name = name,
		.kind = kind,
		.type = type,
		.reply_type = kind == TROUPE_TOPIC_SERVICE ? "gz.msgs.Boolean" : NULL,
		.owner = "server"};
}

static void hub_update(struct mirror *mirror, const struct troupe_topic *at, uint32_t count)
{
	const struct troupe_topics topics = {.count = count, .at = at};
	mirror_update(mirror, &topics, hub_came, hub_goes, &seen);
}

static void hub_add(struct subscriber_list *list, const char *topic, void *client, uint32_t id)
{
	struct hub_subscriber *subscriber = mem_alloc(sizeof *subscriber);
	*subscriber = (struct hub_subscriber){.client = client, .id = id};
	vec_push(&subscriber_list_open(list, topic)->subscribers, subscriber);
}

static void hub_drop(void *ctx, const char *topic, struct hub_subscriber *subscriber)
{
	struct subscriber_list *list = ctx;
	struct hub_subscription *row = subscriber_list_find(list, topic);
	cr_assert(subscriber_list_remove(row, subscriber));
	cr_assert_not(subscriber_list_remove(row, subscriber));
	free(subscriber);
	if (!row->subscribers.count)
		subscriber_list_close(list, row);
}

Test(hub, a_client_goes_with_all_its_subscriptions)
{
	struct subscriber_list list = {.by_topic = {0}};
	int a, b;
	for (uint32_t id = 0; id < 3; id++)
		hub_add(&list, "/both", &a, id);
	hub_add(&list, "/both", &b, 0);
	hub_add(&list, "/of_a", &a, 7);
	hub_add(&list, "/of_b", &b, 0);
	cr_assert_eq(list.rows.count, 3);
	cr_assert_not_null(subscriber_list_of_client(subscriber_list_find(&list, "/of_a"), &a, 7));
	cr_assert_null(subscriber_list_of_client(subscriber_list_find(&list, "/of_a"), &a, 0));
	subscriber_list_drop_client(&list, &a, hub_drop, &list);
	cr_assert_eq(list.rows.count, 2);
	cr_assert_null(subscriber_list_find(&list, "/of_a"));
	cr_assert_eq(subscriber_list_find(&list, "/both")->subscribers.count, 1);
	cr_assert_not_null(subscriber_list_of_client(subscriber_list_find(&list, "/of_b"), &b, 0), "its row has moved");
	subscriber_list_fini(&list);
}

static bool hub_needs(const void *ctx, const char *topic)
{
	const char *const *needed = ctx;
	return !strcmp(topic, needed[0]) || !strcmp(topic, needed[1]);
}

Test(hub, topics_that_nobody_needs_are_given_up)
{
	static const char *const needed[] = {"/b", "/d"}, *const topics[] = {"/a", "/b", "/c", "/clock", "/d", "/e"};
	static char clock[] = "/clock";
	static struct hub hub;
	int client;
	hub.clock = clock;
	hub.ticks = true;
	for (size_t i = 0; i < ARRAY_LEN(topics); i++)
		hub_add(&hub.subscriptions, topics[i], &client, 0);
	hub_prune(&hub, hub_needs, needed);
	cr_assert_eq(hub.subscriptions.rows.count, 2);
	cr_assert(hub_is_subscribed(&hub, "/b") && hub_is_subscribed(&hub, "/d"));
	cr_assert_not(hub.ticks, "it is subscribed to at the clock's own rate again");
	subscriber_list_fini(&hub.subscriptions);
}

Test(hub, numbers_never_come_again)
{
	struct mirror mirror = {.round = 0};
	const struct troupe_topic all[TOPICS] = {hub_topic("/a", TROUPE_TOPIC_PUBLISHED, "gz.msgs.Clock"),
		hub_topic("/b", TROUPE_TOPIC_PUBLISHED, "gz.msgs.Twist"),
		hub_topic("/b", TROUPE_TOPIC_TAKEN, "gz.msgs.Twist"),
		hub_topic("/c", TROUPE_TOPIC_SERVICE, "gz.msgs.Empty"),
		hub_topic("/d", TROUPE_TOPIC_PUBLISHED, "gz.msgs.Pose")};
	hub_update(&mirror, all, TOPICS);
	cr_assert_eq(seen.came, TOPICS);
	uint32_t first = mirror_find(&mirror, TROUPE_TOPIC_PUBLISHED, "/a")->number;
	uint32_t last = mirror_find(&mirror, TROUPE_TOPIC_PUBLISHED, "/d")->number;
	cr_assert_neq(
		mirror_find(&mirror, TROUPE_TOPIC_TAKEN, "/b"), mirror_find(&mirror, TROUPE_TOPIC_PUBLISHED, "/b"));
	cr_assert_str_eq(mirror_find(&mirror, TROUPE_TOPIC_SERVICE, "/c")->reply_type, "gz.msgs.Boolean");
	hub_update(&mirror, all + 1, TOPICS - 1);
	cr_assert_eq(seen.gone, 1);
	cr_assert_null(mirror_of_number(&mirror, TROUPE_TOPIC_PUBLISHED, first));
	cr_assert_eq(mirror_of_number(&mirror, TROUPE_TOPIC_PUBLISHED, last)->number, last, "the others stay");
	cr_assert_null(mirror_of_number(&mirror, TROUPE_TOPIC_SERVICE, last), "of another kind");
	cr_assert_null(mirror_of_number(&mirror, TROUPE_TOPIC_PUBLISHED, 0));
	cr_assert_null(mirror_of_number(&mirror, TROUPE_TOPIC_PUBLISHED, 1000));
	hub_update(&mirror, all, TOPICS);
	cr_assert_str_eq(seen.last, "/a");
	cr_assert_gt(mirror_find(&mirror, TROUPE_TOPIC_PUBLISHED, "/a")->number, last);
	cr_assert_null(mirror_of_number(&mirror, TROUPE_TOPIC_PUBLISHED, first));
	mirror_fini(&mirror, hub_goes, &seen);
	cr_assert_eq(seen.gone, seen.came);
}

Test(hub, a_topic_of_another_type_is_another_row)
{
	struct mirror mirror = {.round = 0};
	struct troupe_topic topic = hub_topic("/a", TROUPE_TOPIC_PUBLISHED, "gz.msgs.Clock");
	hub_update(&mirror, &topic, 1);
	uint32_t number = mirror_find(&mirror, TROUPE_TOPIC_PUBLISHED, "/a")->number;
	hub_update(&mirror, &topic, 1);
	cr_assert_eq(mirror_find(&mirror, TROUPE_TOPIC_PUBLISHED, "/a")->number, number, "nothing has changed");
	topic.type = "gz.msgs.Pose";
	hub_update(&mirror, &topic, 1);
	cr_assert_neq(mirror_find(&mirror, TROUPE_TOPIC_PUBLISHED, "/a")->number, number);
	cr_assert_str_eq(mirror_find(&mirror, TROUPE_TOPIC_PUBLISHED, "/a")->type, "gz.msgs.Pose");
	cr_assert(seen.came == 2 && seen.gone == 1, "%u came, %u gone", seen.came, seen.gone);
	mirror_fini(&mirror, hub_goes, &seen);
}

static void hub_expect(const char *key, const char *value, const char *refusal)
{
	static const char *const keys[] = {"insecure", "robot", "cert", "key", NULL};
	const struct troupe_gateway_setting setting = {key, value};
	const struct troupe_gateway_def def = {.name = "g", .settings = &setting, .setting_count = 1};
	struct troupe_error error = {.text = ""};
	cr_assert_eq(settings_check(&def, keys, &error), refusal ? TROUPE_EINVAL : TROUPE_OK, "%s", key);
	cr_assert_str_eq(error.text, refusal ? refusal : "");
}

Test(hub, settings_are_checked)
{
	hub_expect("insecure", "true", NULL);
	hub_expect("insecure", NULL, NULL);
	hub_expect("insecure", "maybe", "insecure 'maybe': expected true or false");
	hub_expect("robot", "cart", NULL);
	hub_expect("robot", "", "robot: expected a value");
	hub_expect("colour", "red", "setting 'colour': expected one of insecure, robot, cert, key");
	hub_expect("cert", "a.pem", "cert and key: expected both or none");
}

Test(hub, the_last_setting_counts)
{
	const struct troupe_gateway_setting settings[] = {
		{"robot", "a"}, {"insecure", "true"}, {"robot", "b"}, {"insecure", "false"}};
	const struct troupe_gateway_def def = {.settings = settings, .setting_count = ARRAY_LEN(settings)};
	cr_assert_str_eq(settings_text(&def, "robot"), "b");
	cr_assert(!settings_flag(&def, "insecure"));
	cr_assert_null(settings_text(&def, "token"));
	cr_assert(!settings_flag(&def, "token"));
}
