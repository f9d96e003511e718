/* Rows of topics, found by name; a row that goes is replaced by the last one. */
#include "gateway/hub/subscriber_list.h"

#include <stdlib.h>

struct hub_subscription *subscriber_list_find(const struct subscriber_list *list, const char *topic)
{
	uint32_t at;
	return map_find(&list->by_topic, topic, &at) ? list->rows.at[at] : NULL;
}

struct hub_subscription *subscriber_list_open(struct subscriber_list *list, const char *topic)
{
	struct hub_subscription *row = subscriber_list_find(list, topic);
	if (row)
		return row;
	row = mem_alloc(sizeof *row);
	row->topic = mem_strdup(topic);
	map_add(&list->by_topic, row->topic, list->rows.count);
	vec_push(&list->rows, row);
	return row;
}

void subscriber_list_close(struct subscriber_list *list, struct hub_subscription *row)
{
	struct hub_subscription *last = list->rows.at[--list->rows.count];
	uint32_t at = 0;
	map_find(&list->by_topic, row->topic, &at);
	map_remove(&list->by_topic, row->topic);
	if (last != row) {
		map_remove(&list->by_topic, last->topic);
		map_add(&list->by_topic, last->topic, at);
		list->rows.at[at] = last;
	}
	while (row->subscribers.count)
		free(row->subscribers.at[--row->subscribers.count]);
	text_fini(&row->kept_type);
	text_fini(&row->kept_bytes);
	vec_free(&row->subscribers);
	free(row->topic);
	free(row);
}

struct hub_subscriber *subscriber_list_of_client(const struct hub_subscription *row, const void *client, uint32_t id)
{
	for (uint32_t i = 0; row && i < row->subscribers.count; i++)
		if (row->subscribers.at[i]->client == client && row->subscribers.at[i]->id == id)
			return row->subscribers.at[i];
	return NULL;
}

bool subscriber_list_remove(struct hub_subscription *row, const struct hub_subscriber *subscriber)
{
	for (uint32_t i = 0; i < row->subscribers.count; i++)
		if (row->subscribers.at[i] == subscriber) {
			row->subscribers.at[i] = row->subscribers.at[--row->subscribers.count];
			return true;
		}
	return false;
}

void subscriber_list_drop_client(const struct subscriber_list *list, const void *client,
	void (*drop)(void *ctx, const char *topic, struct hub_subscriber *subscriber), void *ctx)
{
	for (uint32_t i = list->rows.count; i-- > 0;) {
		const struct hub_subscription *row = list->rows.at[i];
		/* drop() may close the row with its last subscriber, which is then at 0 */
		for (uint32_t s = row->subscribers.count; s-- > 0;)
			if (row->subscribers.at[s]->client == client)
				drop(ctx, row->topic, row->subscribers.at[s]);
	}
}

void subscriber_list_fini(struct subscriber_list *list)
{
	while (list->rows.count)
		subscriber_list_close(list, list->rows.at[list->rows.count - 1]);
	vec_free(&list->rows);
	map_fini(&list->by_topic);
}
