/* One pointer remains of a row that is gone, so that numbers are found without a search. */
#include "gateway/hub/mirror.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

static void mirror_free_row(struct mirror_row *row)
{
	free(row->name);
	free(row->type);
	free(row->reply_type);
	free(row->owner);
	free(row);
}

static struct mirror_row *mirror_add(struct mirror *mirror, const struct troupe_topic *topic)
{
	struct mirror_row *row = mem_alloc(sizeof *row);
	if (!mirror->by_number.count)
		vec_push(&mirror->by_number, NULL); /* 0 is no number */
	*row = (struct mirror_row){.number = mirror->by_number.count,
		.kind = topic->kind,
		.name = mem_strdup(topic->name),
		.type = mem_strdup(topic->type),
		.reply_type = topic->reply_type ? mem_strdup(topic->reply_type) : NULL,
		.owner = mem_strdup(topic->owner ? topic->owner : ""),
		.round = mirror->round};
	vec_push(&mirror->by_number, row);
	map_add(&mirror->index[row->kind], row->name, mirror->rows.count);
	vec_push(&mirror->rows, row);
	return row;
}

static void mirror_drop(struct mirror *mirror, uint32_t at)
{
	struct mirror_row *row = mirror->rows.at[at], *last = mirror->rows.at[--mirror->rows.count];
	map_remove(&mirror->index[row->kind], row->name);
	if (last != row) {
		map_remove(&mirror->index[last->kind], last->name);
		map_add(&mirror->index[last->kind], last->name, at);
		mirror->rows.at[at] = last;
	}
	mirror->by_number.at[row->number] = NULL;
	mirror_free_row(row);
}

static bool mirror_is_same(const struct mirror_row *row, const struct troupe_topic *topic)
{
	return row && !strcmp(row->type, topic->type) &&
	       !strcmp(row->reply_type ? row->reply_type : "", topic->reply_type ? topic->reply_type : "");
}

void mirror_update(struct mirror *mirror, const struct troupe_topics *topics,
	void (*came)(void *ctx, struct mirror_row *row), void (*goes)(void *ctx, struct mirror_row *row), void *ctx)
{
	mirror->round++;
	for (uint32_t i = 0; i < topics->count; i++) {
		struct mirror_row *row = mirror_find(mirror, topics->at[i].kind, topics->at[i].name);
		if (mirror_is_same(row, &topics->at[i]))
			row->round = mirror->round;
	}
	for (uint32_t i = mirror->rows.count; i-- > 0;)
		if (mirror->rows.at[i]->round != mirror->round) {
			goes(ctx, mirror->rows.at[i]);
			mirror_drop(mirror, i);
		}
	for (uint32_t i = 0; i < topics->count; i++)
		if (!mirror_find(mirror, topics->at[i].kind, topics->at[i].name))
			came(ctx, mirror_add(mirror, &topics->at[i]));
}

void mirror_fini(struct mirror *mirror, void (*goes)(void *ctx, struct mirror_row *row), void *ctx)
{
	while (mirror->rows.count) {
		goes(ctx, mirror->rows.at[mirror->rows.count - 1]);
		mirror_drop(mirror, mirror->rows.count - 1);
	}
	for (int kind = 0; kind < 3; kind++)
		map_fini(&mirror->index[kind]);
	vec_free(&mirror->rows);
	vec_free(&mirror->by_number);
}

struct mirror_row *mirror_find(const struct mirror *mirror, troupe_topic_kind kind, const char *name)
{
	uint32_t at;
	return map_find(&mirror->index[kind], name, &at) ? mirror->rows.at[at] : NULL;
}

struct mirror_row *mirror_of_number(const struct mirror *mirror, troupe_topic_kind kind, uint32_t number)
{
	struct mirror_row *row = number < mirror->by_number.count ? mirror->by_number.at[number] : NULL;
	return row && row->kind == kind ? row : NULL;
}
