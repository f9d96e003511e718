/* The table of topics and services as programs see it: a copy, so that the reader needs no lock. */
#include "server/client.h"

#include "base/arena.h"

#include <stdlib.h>

struct server_topics_listing {
	struct troupe_topics shown; /* first: a troupe_topics is its listing */
	const char *client;         /* as in topic_row_is_for() */
	struct arena arena;
	VEC(struct troupe_topic) rows;
};

static const troupe_topic_kind server_topics_kinds[] = {
	[TOPIC_PUBLISHED] = TROUPE_TOPIC_PUBLISHED,
	[TOPIC_TAKEN] = TROUPE_TOPIC_TAKEN,
	[TOPIC_SERVICE] = TROUPE_TOPIC_SERVICE,
};

static bool server_topics_changes(const struct topic_row *row)
{
	const struct query_ops *ops = row->ops;
	bool asks = row->kind == TOPIC_SERVICE && ops && ops->answer && !ops->ends_run;
	return row->kind != TOPIC_PUBLISHED && !asks;
}

static void server_topics_add(void *ctx, uint32_t id, const struct topic_row *row)
{
	struct server_topics_listing *listing = ctx;
	struct arena *arena = &listing->arena;
	(void)id;
	if (!topic_row_is_for(row, listing->client))
		return;
	vec_push(&listing->rows, (struct troupe_topic){.name = arena_strdup(arena, row->name),
					 .kind = server_topics_kinds[row->kind],
					 .type = arena_strdup(arena, row->type),
					 .reply_type = row->reply ? arena_strdup(arena, row->reply) : NULL,
					 .owner = arena_strdup(arena, row->owner),
					 .rate_hz = row->rate_hz,
					 .changes = server_topics_changes(row),
					 .is_twin = row->is_twin,
					 .model = row->model ? arena_strdup(arena, row->model) : NULL});
}

static const struct troupe_topics *server_topics_list_for(struct troupe_server *server, const char *client)
{
	struct server_topics_listing *listing = mem_alloc(sizeof *listing);
	listing->client = client;
	listing->shown.epoch = topic_read(clients_table(server->clients), server_topics_add, listing);
	listing->shown.count = listing->rows.count;
	listing->shown.at = listing->rows.at;
	return &listing->shown;
}

const struct troupe_topics *troupe_topics_list(struct troupe_server *server)
{
	return server_topics_list_for(server, NULL);
}

const struct troupe_topics *client_topics(struct troupe_client *client)
{
	return server_topics_list_for(client->server, client->as);
}

void troupe_topics_release(const struct troupe_topics *topics)
{
	struct server_topics_listing *listing = (struct server_topics_listing *)(void *)(uintptr_t)topics;
	if (!listing)
		return;
	vec_free(&listing->rows);
	arena_fini(&listing->arena);
	free(listing);
}

uint64_t troupe_topics_epoch(const struct troupe_server *server)
{
	return topic_epoch(clients_table(server->clients));
}
