/* Clients encode the models of a capture on their own threads, so a lock guards the list. It is sorted by id. An id may
 * come again when the world takes up an earlier state, so what was said counts for a model of this id and name. */
#include "server/infos.h"

#include "server/encode.h"
#include "topic/message.h"
#include "topic/troupe.pb-c.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct info {
	uint64_t id;
	uint32_t category;
	char *name; /* of the model */
	char *description;
	char **tags;
	uint32_t tag_count;
};

struct infos {
	pthread_mutex_t lock;
	VEC(struct info) all;
};

struct infos *infos_create(void)
{
	struct infos *infos = mem_alloc(sizeof *infos);
	*infos = (struct infos){0};
	pthread_mutex_init(&infos->lock, NULL);
	return infos;
}

static void infos_free(struct info *info)
{
	for (uint32_t i = 0; i < info->tag_count; i++)
		free(info->tags[i]);
	free(info->tags);
	free(info->description);
	free(info->name);
}

void infos_destroy(struct infos *infos)
{
	if (!infos)
		return;
	for (uint32_t i = 0; i < infos->all.count; i++)
		infos_free(&infos->all.at[i]);
	vec_free(&infos->all);
	pthread_mutex_destroy(&infos->lock);
	free(infos);
}

/* The index of the first one whose id is not below. */
static uint32_t infos_place_of(const struct infos *infos, uint64_t id)
{
	uint32_t lo = 0, hi = infos->all.count;
	while (lo < hi) {
		uint32_t middle = lo + (hi - lo) / 2;
		if (infos->all.at[middle].id < id)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo;
}

static bool infos_is_at(const struct infos *infos, uint32_t place, uint64_t id)
{
	return place < infos->all.count && infos->all.at[place].id == id;
}

struct Troupe__Msgs__EntityInfo *infos_copy(struct infos *infos, uint64_t id, const char *name, struct arena *arena)
{
	Troupe__Msgs__EntityInfo *out = NULL;
	pthread_mutex_lock(&infos->lock);
	uint32_t place = infos_place_of(infos, id);
	if (infos_is_at(infos, place, id) && !strcmp(infos->all.at[place].name, name)) {
		const struct info *info = &infos->all.at[place];
		out = ENCODE_NEW(arena, Troupe__Msgs__EntityInfo, troupe__msgs__entity_info__init);
		out->id = id;
		out->category = info->category;
		out->description = arena_strdup(arena, info->description);
		out->tag = arena_array(arena, char *, info->tag_count);
		for (uint32_t i = 0; i < info->tag_count; i++)
			out->tag[out->n_tag++] = arena_strdup(arena, info->tags[i]);
	}
	pthread_mutex_unlock(&infos->lock);
	return out;
}

/* --- saying ------------------------------------------------------------------------------------------------------- */

static troupe_status infos_check(
	const struct server_world *world, const Troupe__Msgs__EntityInfo *message, struct troupe_error *error)
{
	enum { UNKNOWN = 3, CATEGORIES = 6 };
	if (scene_find_id(world->scene, message->id) == SCENE_NONE)
		return fail(error, TROUPE_ECOMMAND, "there is no model with id %" PRIu64, message->id);
	if (message->category >= CATEGORIES || message->category == UNKNOWN)
		return fail(error, TROUPE_ECOMMAND,
			"category %u: expected 0 (object), 1 (robot), 2 (human), 4 (dynamic object) or 5 (static "
			"object)",
			message->category);
	if (strlen(message->description) > INFOS_DESCRIPTION_MAX)
		return fail(error, TROUPE_ELIMIT, "description: %zu bytes: expected at most %d",
			strlen(message->description), INFOS_DESCRIPTION_MAX);
	if (message->n_tag > INFOS_TAGS_MAX)
		return fail(error, TROUPE_ELIMIT, "%zu tags: expected at most %d", message->n_tag, INFOS_TAGS_MAX);
	for (size_t i = 0; i < message->n_tag; i++)
		if (strlen(message->tag[i]) > INFOS_TAG_MAX)
			return fail(error, TROUPE_ELIMIT, "tag '%.60s': expected at most %d bytes", message->tag[i],
				INFOS_TAG_MAX);
	return TROUPE_OK;
}

/* When there is no more room, drops the entries of models that are gone. */
static void infos_forget_gone(struct infos *infos, const struct scene *scene)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < infos->all.count; i++)
		if (scene_find_id(scene, infos->all.at[i].id) == SCENE_NONE)
			infos_free(&infos->all.at[i]);
		else
			infos->all.at[kept++] = infos->all.at[i];
	infos->all.count = kept;
}

static struct info infos_of(const Troupe__Msgs__EntityInfo *message, const char *name)
{
	struct info info = {message->id, message->category, mem_strdup(name), mem_strdup(message->description),
		mem_alloc(message->n_tag * sizeof(char *)), (uint32_t)message->n_tag};
	for (uint32_t i = 0; i < info.tag_count; i++)
		info.tags[i] = mem_strdup(message->tag[i]);
	return info;
}

static troupe_status infos_keep(struct infos *infos, const struct scene *scene, const Troupe__Msgs__EntityInfo *message,
	struct troupe_error *error)
{
	if (infos->all.count == INFOS_MAX)
		infos_forget_gone(infos, scene);
	uint32_t place = infos_place_of(infos, message->id);
	bool known = infos_is_at(infos, place, message->id);
	if (!known && infos->all.count == INFOS_MAX)
		return fail(error, TROUPE_ELIMIT, "%d models have one: expected no more", INFOS_MAX);
	if (known) {
		infos_free(&infos->all.at[place]);
	} else {
		(void)vec_append(&infos->all, 1);
		memmove(&infos->all.at[place + 1], &infos->all.at[place],
			(infos->all.count - 1 - place) * sizeof *infos->all.at);
	}
	infos->all.at[place] = infos_of(message, scene->models[scene_find_id(scene, message->id)].name);
	return TROUPE_OK;
}

static troupe_status infos_set(struct server_world *world, const ProtobufCMessage *request, char note[EDIT_NOTE_BYTES],
	struct troupe_error *error)
{
	const Troupe__Msgs__EntityInfo *message = (const void *)request;
	(void)note;
	troupe_status status = infos_check(world, message, error);
	if (status)
		return status;
	pthread_mutex_lock(&world->infos->lock);
	status = infos_keep(world->infos, world->scene, message, error);
	pthread_mutex_unlock(&world->infos->lock);
	return status;
}

const struct query_ops act_set_entity_info = {.act = infos_set};
