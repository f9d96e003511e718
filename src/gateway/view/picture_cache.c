/* In most steps the same links and models are there as in the step before, in the same order. Then the values are
 * compared one by one, and those that differ are marked. When the lists differ, everything is marked: to find out what
 * has moved to another place costs more than it saves, because models come and go far less often than pictures. */
#include "gateway/view/picture_cache.h"

#include "topic/troupe.pb-c.h"

#include <stdlib.h>
#include <string.h>

enum { POSE_WORDS = 7, STATUS_WORDS = 1 };

#define PICTURE_CACHE_BYTES_MAX ((size_t)PICTURE_CACHE_ENTRIES_MAX * 64)

static void picture_cache_fini_list(struct picture_cache_list *list)
{
	free(list->ids);
	free(list->values);
	free(list->changed);
	*list = (struct picture_cache_list){0};
}

void picture_cache_fini(struct picture_cache *picture_cache)
{
	picture_cache_fini_list(&picture_cache->links);
	picture_cache_fini_list(&picture_cache->models);
}

/* --- taking ------------------------------------------------------------------------------------------------------- */

static void picture_cache_make_room(struct picture_cache_list *list, uint32_t count)
{
	if (count <= list->room)
		return;
	uint32_t words = list->words, room = count + count / 4;
	picture_cache_fini_list(list);
	list->words = words;
	list->room = room;
	list->ids = mem_alloc(room * sizeof *list->ids);
	list->values = mem_alloc((size_t)room * words * sizeof *list->values);
	list->changed = mem_alloc(room * sizeof *list->changed);
}

static bool picture_cache_has_same(const struct picture_cache_list *list, const uint32_t *ids, size_t count)
{
	return list->count == count && (!count || !memcmp(list->ids, ids, count * sizeof *ids));
}

static void picture_cache_replace(
	struct picture_cache_list *list, const uint32_t *ids, const void *values, size_t count, uint64_t number)
{
	picture_cache_make_room(list, (uint32_t)count);
	list->count = (uint32_t)count;
	if (count) {
		memcpy(list->ids, ids, count * sizeof *ids);
		memcpy(list->values, values, count * list->words * sizeof *list->values);
	}
	for (size_t i = 0; i < count; i++)
		list->changed[i] = number;
}

static void picture_cache_compare(struct picture_cache_list *list, const void *values, uint64_t number)
{
	size_t bytes = list->words * sizeof *list->values;
	const char *from = values;
	for (size_t i = 0; i < list->count; i++)
		if (memcmp(list->values + i * list->words, from + i * bytes, bytes)) {
			memcpy(list->values + i * list->words, from + i * bytes, bytes);
			list->changed[i] = number;
		}
}

static void picture_cache_take_view(struct picture_cache *picture_cache, const Troupe__Msgs__View *view)
{
	picture_cache->links.words = POSE_WORDS;
	picture_cache->models.words = STATUS_WORDS;
	picture_cache->number++;
	if (picture_cache->number > 1 && picture_cache_has_same(&picture_cache->links, view->link, view->n_link) &&
		picture_cache_has_same(&picture_cache->models, view->model, view->n_model)) {
		picture_cache_compare(&picture_cache->links, view->pose, picture_cache->number);
		picture_cache_compare(&picture_cache->models, view->status, picture_cache->number);
		return;
	}
	picture_cache->whole_at = picture_cache->number;
	picture_cache_replace(&picture_cache->links, view->link, view->pose, view->n_link, picture_cache->number);
	picture_cache_replace(&picture_cache->models, view->model, view->status, view->n_model, picture_cache->number);
}

troupe_status picture_cache_take(struct picture_cache *picture_cache, const void *bytes, size_t count, int64_t time_ns,
	struct troupe_error *error)
{
	/* protobuf-c copies a list of numbers as it is; message_of_bytes() looks at each, which takes ten times as
	 * long, and every bit pattern is fine here */
	Troupe__Msgs__View *view =
		count <= PICTURE_CACHE_BYTES_MAX ? troupe__msgs__view__unpack(NULL, count, bytes) : NULL;
	troupe_status status = TROUPE_OK;
	if (!view)
		return fail(error, TROUPE_ECOMMAND, "%zu bytes are no View", count);
	if (view->n_pose != POSE_WORDS * view->n_link || view->n_status != view->n_model ||
		view->n_link > PICTURE_CACHE_ENTRIES_MAX || view->n_model > PICTURE_CACHE_ENTRIES_MAX)
		status = fail(error, TROUPE_ECOMMAND,
			"a view of %zu links with %zu numbers, and %zu models with %zu: expected %d for each link, 1 "
			"for each model, and at most %d of each",
			view->n_link, view->n_pose, view->n_model, view->n_status, POSE_WORDS,
			PICTURE_CACHE_ENTRIES_MAX);
	if (!status) {
		picture_cache_take_view(picture_cache, view);
		picture_cache->step = view->step;
		picture_cache->time_s = (double)time_ns * 1e-9;
		picture_cache->rtf = view->real_time_factor;
		picture_cache->real_s = view->real_time_s;
	}
	troupe__msgs__view__free_unpacked(view, NULL);
	return status;
}

/* --- giving ------------------------------------------------------------------------------------------------------- */

static uint8_t *picture_cache_put_32(uint8_t *at, uint32_t value)
{
	for (unsigned i = 0; i < sizeof value; i++)
		at[i] = (uint8_t)(value >> 8 * i);
	return at + sizeof value;
}

static uint8_t *picture_cache_put_double(uint8_t *at, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	return picture_cache_put_32(picture_cache_put_32(at, (uint32_t)bits), (uint32_t)(bits >> 32));
}

static uint32_t picture_cache_count_changed(const struct picture_cache_list *list, uint64_t seen)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < list->count; i++)
		count += list->changed[i] > seen;
	return count;
}

static uint8_t *picture_cache_put_list(uint8_t *at, const struct picture_cache_list *list, uint64_t seen)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->changed[i] > seen)
			at = picture_cache_put_32(at, list->ids[i]);
	for (size_t i = 0; i < list->count; i++)
		for (size_t w = 0; w < list->words && list->changed[i] > seen; w++)
			at = picture_cache_put_32(at, list->values[i * list->words + w]);
	return at;
}

static uint8_t *picture_cache_put_head(uint8_t *at, const struct picture_cache *picture_cache, bool whole,
	uint32_t world, uint32_t links, uint32_t models)
{
	float rtf = (float)picture_cache->rtf;
	uint32_t rtf_bits;
	memcpy(&rtf_bits, &rtf, sizeof rtf_bits);
	at = picture_cache_put_32(at, PICTURE_CACHE_KIND | (uint32_t)whole << 8 | world << 16);
	at = picture_cache_put_double(picture_cache_put_32(at, rtf_bits), (double)picture_cache->step);
	at = picture_cache_put_double(at, picture_cache->time_s);
	return picture_cache_put_32(picture_cache_put_32(at, links), models);
}

void picture_cache_add_picture(
	const struct picture_cache *picture_cache, uint64_t seen, uint32_t world, struct text *out)
{
	bool whole = seen < picture_cache->whole_at;
	if (whole)
		seen = 0;
	uint32_t links = picture_cache_count_changed(&picture_cache->links, seen),
		 models = picture_cache_count_changed(&picture_cache->models, seen);
	size_t words = (size_t)links * (1 + POSE_WORDS) + (size_t)models * (1 + STATUS_WORDS);
	size_t bytes = PICTURE_CACHE_HEAD_BYTES + 4 * words + PICTURE_CACHE_TAIL_BYTES;
	text_reserve(out, bytes);
	uint8_t *at =
		picture_cache_put_head((uint8_t *)out->at + out->count, picture_cache, whole, world, links, models);
	at = picture_cache_put_list(at, &picture_cache->links, seen);
	at = picture_cache_put_list(at, &picture_cache->models, seen);
	(void)picture_cache_put_double(at, picture_cache->real_s);
	out->count += bytes;
	out->at[out->count] = '\0';
}
