/* Names are made anew when the server's table changes, because the name of a topic may depend on other topics; channels
 * stay. What is subscribed to at the server follows from both. */
#include "gateway/rosbridge/board.h"

#include "gateway/hub/hub.h"

#include <stdlib.h>
#include <string.h>

uint32_t board_first(const struct board *board, const char *name)
{
	uint32_t at;
	return map_find(&board->by_name, name, &at) ? at : UINT32_MAX;
}

uint32_t board_first_of_topic(const struct board *board, const char *topic)
{
	uint32_t at;
	return map_find(&board->by_topic, topic, &at) ? at : UINT32_MAX;
}

bool board_is_type(const char *type, const char *said)
{
	const char *slash = strchr(type, '/'), *last = strrchr(type, '/');
	if (!strcmp(type, said))
		return true;
	return !strncmp(type, said, (size_t)(slash - type)) && !strcmp(last, said + (slash - type));
}

char *board_full_name(const char *said)
{
	return mem_printf("%s%s", *said == '/' ? "" : "/", said);
}

const char *board_type(const struct board *board, const char *name)
{
	const char *published = NULL,
		   *type = NULL; /* the first one counts: a Twist is more usual than a TwistStamped */
	for (uint32_t at = board_first(board, name); at != UINT32_MAX; at = board->same_name[at]) {
		type = board->names.offers.at[at].type;
		published = board->names.offers.at[at].kind == TROUPE_TOPIC_PUBLISHED ? type : published;
	}
	return published ? published : type;
}

/* --- channels ----------------------------------------------------------------------------------------------------- */

struct ros_channel *board_channel(const struct board *board, const char *name)
{
	uint32_t at;
	return map_find(&board->channel_of, name, &at) ? board->channels.at[at] : NULL;
}

static bool board_is_needed(const void *ctx, const char *topic)
{
	const struct board *board = ctx;
	for (uint32_t at = board_first_of_topic(board, topic); at != UINT32_MAX; at = board->same_topic[at])
		if (board_channel(board, board->names.offers.at[at].name))
			return true;
	return false;
}

/* Drops the subscriptions that no client needs any more. */
static void board_prune(struct board *board)
{
	hub_prune(board->hub, board_is_needed, board);
}

void board_hear(struct board *board, const char *name, struct topic_subscription *subscription)
{
	struct ros_channel *channel = board_channel(board, name);
	if (!channel) {
		channel = mem_alloc(sizeof *channel);
		channel->name = mem_strdup(name);
		map_add(&board->channel_of, channel->name, board->channels.count);
		vec_push(&board->channels, channel);
	}
	vec_push(&channel->subscriptions, subscription);
	for (uint32_t at = board_first(board, name); at != UINT32_MAX; at = board->same_name[at])
		if (board->names.offers.at[at].kind == TROUPE_TOPIC_PUBLISHED)
			(void)hub_subscribe(board->hub, board->names.offers.at[at].topic, 0, NULL);
}

static void board_drop_channel(struct board *board, struct ros_channel *channel)
{
	uint32_t at = 0;
	map_find(&board->channel_of, channel->name, &at);
	map_remove(&board->channel_of, channel->name);
	struct ros_channel *last = board->channels.at[--board->channels.count];
	if (last != channel) {
		map_remove(&board->channel_of, last->name);
		map_add(&board->channel_of, last->name, at);
		board->channels.at[at] = last;
	}
	vec_free(&channel->subscriptions);
	free(channel->name);
	free(channel);
}

void board_leave(struct board *board, const char *name, struct topic_subscription *subscription)
{
	struct ros_channel *channel = board_channel(board, name);
	if (!channel)
		return;
	for (uint32_t i = 0; i < channel->subscriptions.count; i++)
		if (channel->subscriptions.at[i] == subscription) {
			channel->subscriptions.at[i] = channel->subscriptions.at[--channel->subscriptions.count];
			break;
		}
	if (!channel->subscriptions.count) {
		board_drop_channel(board, channel);
		board_prune(board);
	}
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static void board_link_offer(struct map *map, uint32_t *before, const char *name, uint32_t at)
{
	before[at] = UINT32_MAX;
	if (map_find(map, name, &before[at]))
		map_remove(map, name);
	map_add(map, name, at);
}

static void board_drop_names(struct board *board)
{
	names_fini(&board->names);
	map_fini(&board->by_name);
	map_fini(&board->by_topic);
	board->by_name = board->by_topic = (struct map){0};
	free(board->same_name);
	free(board->same_topic);
	board->same_name = board->same_topic = NULL;
}

void board_update(struct board *board, const struct troupe_topics *topics)
{
	if (board->is_made)
		board_drop_names(board);
	names_make(topics, board->client, board->robot, &board->names);
	if (!board->robot && board->names.robot)
		board->robot = mem_strdup(board->names.robot);
	board->is_made = true;
	uint32_t count = board->names.offers.count;
	board->same_name = mem_alloc((count + 1) * sizeof *board->same_name);
	board->same_topic = mem_alloc((count + 1) * sizeof *board->same_topic);
	for (uint32_t i = 0; i < count; i++) {
		const struct ros_offer *offer = &board->names.offers.at[i];
		board_link_offer(&board->by_name, board->same_name, offer->name, i);
		if (offer->kind == TROUPE_TOPIC_PUBLISHED)
			board_link_offer(&board->by_topic, board->same_topic, offer->topic, i);
	}
	board_prune(board);
	for (uint32_t i = 0; i < count; i++) {
		const struct ros_offer *offer = &board->names.offers.at[i];
		if (offer->kind == TROUPE_TOPIC_PUBLISHED && board_channel(board, offer->name) &&
			!hub_is_subscribed(board->hub, offer->topic))
			(void)hub_subscribe(board->hub, offer->topic, 0, NULL);
	}
}

void board_fini(struct board *board)
{
	if (board->is_made)
		board_drop_names(board);
	while (board->channels.count)
		board_drop_channel(board, board->channels.at[board->channels.count - 1]);
	vec_free(&board->channels);
	map_fini(&board->channel_of);
	free(board->robot);
}
