/* Clients encode the models of a capture on their own threads, so a lock guards the list. It is sorted by id. An id may
 * come again when the world takes up an earlier state, so what was said counts for a model of this id and name. */
#include "server/model_info.h"

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

struct model_info {
	pthread_mutex_t lock;
	VEC(struct info) all;
};

struct model_info *model_info_create(void)
{
	struct model_info *model_info = mem_alloc(sizeof *model_info);
	*model_info = (struct model_info){0};
	pthread_mutex_init(&model_info->lock, NULL);
	return model_info;
}

static void model_info_free(struct info *info)
{
	for (uint32_t i = 0; i < info->tag_count; i++)
		free(info->tags[i]);
	free(info->tags);
	free(info->description);
	free(info->name);
}

void model_info_destroy(struct model_info *model_info)
{
	if (!model_info)
		return;
	for (uint32_t i = 0; i < model_info->all.count; i++)
		model_info_free(&model_info->all.at[i]);
	vec_free(&model_info->all);
	pthread_mutex_destroy(&model_info->lock);
	free(model_info);
}

/* The index of the first one whose id is not below. */
static uint32_t model_info_place_of(const struct model_info *model_info, uint64_t id)
{
	uint32_t lo = 0, hi = model_info->all.count;
	while (lo < hi) {
		uint32_t middle = lo + (hi - lo) / 2;
		if (model_info->all.at[middle].id < id)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo;
}

static bool model_info_is_at(const struct model_info *model_info, uint32_t place, uint64_t id)
{
	return place < model_info->all.count && model_info->all.at[place].id == id;
}

struct Troupe__Msgs__EntityInfo *model_info_copy(
	struct model_info *model_info, uint64_t id, const char *name, struct arena *arena)
{
	Troupe__Msgs__EntityInfo *out = NULL;
	pthread_mutex_lock(&model_info->lock);
	uint32_t place = model_info_place_of(model_info, id);
	if (model_info_is_at(model_info, place, id) && !strcmp(model_info->all.at[place].name, name)) {
		const struct info *info = &model_info->all.at[place];
		out = ENCODE_NEW(arena, Troupe__Msgs__EntityInfo, troupe__msgs__entity_info__init);
		out->id = id;
		out->category = info->category;
		out->description = arena_strdup(arena, info->description);
		out->tag = arena_array(arena, char *, info->tag_count);
		for (uint32_t i = 0; i < info->tag_count; i++)
			out->tag[out->n_tag++] = arena_strdup(arena, info->tags[i]);
	}
	pthread_mutex_unlock(&model_info->lock);
	return out;
}

/* --- saying ------------------------------------------------------------------------------------------------------- */

static troupe_status model_info_check(
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
	if (strlen(message->description) > MODEL_INFO_DESCRIPTION_MAX)
		return fail(error, TROUPE_ELIMIT, "description: %zu bytes: expected at most %d",
			strlen(message->description), MODEL_INFO_DESCRIPTION_MAX);
	if (message->n_tag > MODEL_INFO_TAGS_MAX)
		return fail(error, TROUPE_ELIMIT, "%zu tags: expected at most %d", message->n_tag, MODEL_INFO_TAGS_MAX);
	for (size_t i = 0; i < message->n_tag; i++)
		if (strlen(message->tag[i]) > MODEL_INFO_TAG_MAX)
			return fail(error, TROUPE_ELIMIT, "tag '%.60s': expected at most %d bytes", message->tag[i],
				MODEL_INFO_TAG_MAX);
	return TROUPE_OK;
}

/* When there is no more room, drops the entries of models that are gone. */
static void model_info_forget_gone(struct model_info *model_info, const struct scene *scene)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < model_info->all.count; i++)
		if (scene_find_id(scene, model_info->all.at[i].id) == SCENE_NONE)
			model_info_free(&model_info->all.at[i]);
		else
			model_info->all.at[kept++] = model_info->all.at[i];
	model_info->all.count = kept;
}

static struct info model_info_of(const Troupe__Msgs__EntityInfo *message, const char *name)
{
	struct info info = {message->id, message->category, mem_strdup(name), mem_strdup(message->description),
		mem_alloc(message->n_tag * sizeof(char *)), (uint32_t)message->n_tag};
	for (uint32_t i = 0; i < info.tag_count; i++)
		info.tags[i] = mem_strdup(message->tag[i]);
	return info;
}

static troupe_status model_info_keep(struct model_info *model_info, const struct scene *scene,
	const Troupe__Msgs__EntityInfo *message, struct troupe_error *error)
{
	if (model_info->all.count == MODEL_INFO_MAX)
		model_info_forget_gone(model_info, scene);
	uint32_t place = model_info_place_of(model_info, message->id);
	bool known = model_info_is_at(model_info, place, message->id);
	if (!known && model_info->all.count == MODEL_INFO_MAX)
		return fail(error, TROUPE_ELIMIT, "%d models have one: expected no more", MODEL_INFO_MAX);
	if (known) {
		model_info_free(&model_info->all.at[place]);
	} else {
		(void)vec_append(&model_info->all, 1);
		memmove(&model_info->all.at[place + 1], &model_info->all.at[place],
			(model_info->all.count - 1 - place) * sizeof *model_info->all.at);
	}
	model_info->all.at[place] = model_info_of(message, scene->models[scene_find_id(scene, message->id)].name);
	return TROUPE_OK;
}

static troupe_status model_info_set(struct server_world *world, const ProtobufCMessage *request,
	char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	const Troupe__Msgs__EntityInfo *message = (const void *)request;
	(void)note;
	troupe_status status = model_info_check(world, message, error);
	if (status)
		return status;
	pthread_mutex_lock(&world->model_info->lock);
	status = model_info_keep(world->model_info, world->scene, message, error);
	pthread_mutex_unlock(&world->model_info->lock);
	return status;
}

const struct query_ops act_set_entity_info = {.act = model_info_set};
