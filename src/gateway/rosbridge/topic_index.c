/* Names are made anew when the server's table changes, because the name of a topic may depend on other topics; channels
 * stay. What is subscribed to at the server follows from both. */
#include "gateway/rosbridge/topic_index.h"

#include <stdlib.h>
#include <string.h>

uint32_t topic_index_first(const struct topic_index *topic_index, const char *name)
{
	uint32_t at;
	return map_find(&topic_index->by_name, name, &at) ? at : UINT32_MAX;
}

bool topic_index_is_type(const char *type, const char *said)
{
	const char *slash = strchr(type, '/'), *last = strrchr(type, '/');
	if (!strcmp(type, said))
		return true;
	return !strncmp(type, said, (size_t)(slash - type)) && !strcmp(last, said + (slash - type));
}

char *topic_index_full_name(const char *said)
{
	return mem_printf("%s%s", *said == '/' ? "" : "/", said);
}

const char *topic_index_type(const struct topic_index *topic_index, const char *name)
{
	const char *published = NULL,
		   *type = NULL; /* the first one counts: a Twist is more usual than a TwistStamped */
	for (uint32_t at = topic_index_first(topic_index, name); at != UINT32_MAX; at = topic_index->same_name[at]) {
		type = topic_index->names.offers.at[at].type;
		published = topic_index->names.offers.at[at].kind == TROUPE_TOPIC_PUBLISHED ? type : published;
	}
	return published ? published : type;
}

/* --- channels ----------------------------------------------------------------------------------------------------- */

static bool topic_index_is_needed(const void *ctx, const char *topic)
{
	const struct topic_index *topic_index = ctx;
	const struct ros_names *names = &topic_index->names;
	uint32_t at = names_first_of_topic(names, topic);
	while (at != UINT32_MAX && !subscriber_list_find(&topic_index->channels, names->offers.at[at].name))
		at = names->offers.at[at].same_topic;
	return at != UINT32_MAX;
}

/* Drops the subscriptions that no client needs any more. */
static void topic_index_prune(struct topic_index *topic_index)
{
	hub_prune(topic_index->hub, topic_index_is_needed, topic_index);
}

void topic_index_hear(struct topic_index *topic_index, const char *name, struct hub_subscriber *subscriber)
{
	vec_push(&subscriber_list_open(&topic_index->channels, name)->subscribers, subscriber);
	for (uint32_t at = topic_index_first(topic_index, name); at != UINT32_MAX; at = topic_index->same_name[at])
		if (topic_index->names.offers.at[at].kind == TROUPE_TOPIC_PUBLISHED)
			(void)hub_subscribe(topic_index->hub, topic_index->names.offers.at[at].topic, NULL, NULL);
}

void topic_index_leave(struct topic_index *topic_index, const char *name, struct hub_subscriber *subscriber)
{
	struct hub_subscription *channel = subscriber_list_find(&topic_index->channels, name);
	if (!channel || !subscriber_list_remove(channel, subscriber) || channel->subscribers.count)
		return;
	subscriber_list_close(&topic_index->channels, channel);
	topic_index_prune(topic_index);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static void topic_index_drop_names(struct topic_index *topic_index)
{
	names_fini(&topic_index->names);
	map_fini(&topic_index->by_name);
	topic_index->by_name = (struct map){0};
	free(topic_index->same_name);
	topic_index->same_name = NULL;
}

static void topic_index_say(void *ctx, const char *line)
{
	const struct topic_index *topic_index = ctx;
	hub_say(topic_index->hub, "rosbridge: %s", line);
}

void topic_index_update(struct topic_index *topic_index, const struct troupe_topics *topics)
{
	struct ros_names names;
	names_update(&topic_index->names, topics, topic_index->client, &topic_index->robot, topic_index_say,
		topic_index, &names);
	topic_index_drop_names(topic_index);
	topic_index->names = names;
	uint32_t count = topic_index->names.offers.count;
	topic_index->same_name = mem_alloc((count + 1) * sizeof *topic_index->same_name);
	for (uint32_t i = 0; i < count; i++) {
		const char *name = topic_index->names.offers.at[i].name;
		topic_index->same_name[i] = topic_index_first(topic_index, name);
		if (topic_index->same_name[i] != UINT32_MAX)
			map_remove(&topic_index->by_name, name);
		map_add(&topic_index->by_name, name, i);
	}
	topic_index_prune(topic_index);
	for (uint32_t i = 0; i < count; i++) {
		const struct ros_offer *offer = &topic_index->names.offers.at[i];
		if (offer->kind == TROUPE_TOPIC_PUBLISHED &&
			subscriber_list_find(&topic_index->channels, offer->name) &&
			!hub_is_subscribed(topic_index->hub, offer->topic))
			(void)hub_subscribe(topic_index->hub, offer->topic, NULL, NULL);
	}
}

void topic_index_fini(struct topic_index *topic_index)
{
	topic_index_drop_names(topic_index);
	subscriber_list_fini(&topic_index->channels);
	free(topic_index->robot);
}
