/* In most steps the same links and models are there as in the step before, in the same order. Then the values are
 * compared one by one, and those that differ are marked. When the lists differ, everything is marked: to find out what
 * has moved to another place costs more than it saves, because models come and go far less often than pictures. */
#include "gateway/view/album.h"

#include "topic/troupe.pb-c.h"

#include <stdlib.h>
#include <string.h>

enum { POSE_WORDS = 7, STATUS_WORDS = 1 };

#define ALBUM_BYTES_MAX ((size_t)ALBUM_ENTRIES_MAX * 64)

static void album_fini_list(struct album_list *list)
{
	free(list->ids);
	free(list->values);
	free(list->changed);
	*list = (struct album_list){0};
}

void album_fini(struct album *album)
{
	album_fini_list(&album->links);
	album_fini_list(&album->models);
}

/* --- taking ------------------------------------------------------------------------------------------------------- */

static void album_make_room(struct album_list *list, uint32_t count)
{
	if (count <= list->room)
		return;
	uint32_t words = list->words, room = count + count / 4;
	album_fini_list(list);
	list->words = words;
	list->room = room;
	list->ids = mem_alloc(room * sizeof *list->ids);
	list->values = mem_alloc((size_t)room * words * sizeof *list->values);
	list->changed = mem_alloc(room * sizeof *list->changed);
}

static bool album_has_same(const struct album_list *list, const uint32_t *ids, size_t count)
{
	return list->count == count && (!count || !memcmp(list->ids, ids, count * sizeof *ids));
}

static void album_replace(
	struct album_list *list, const uint32_t *ids, const void *values, size_t count, uint64_t number)
{
	album_make_room(list, (uint32_t)count);
	list->count = (uint32_t)count;
	if (count) {
		memcpy(list->ids, ids, count * sizeof *ids);
		memcpy(list->values, values, count * list->words * sizeof *list->values);
	}
	for (size_t i = 0; i < count; i++)
		list->changed[i] = number;
}

static void album_compare(struct album_list *list, const void *values, uint64_t number)
{
	size_t bytes = list->words * sizeof *list->values;
	const char *from = values;
	for (size_t i = 0; i < list->count; i++)
		if (memcmp(list->values + i * list->words, from + i * bytes, bytes)) {
			memcpy(list->values + i * list->words, from + i * bytes, bytes);
			list->changed[i] = number;
		}
}

static void album_take_view(struct album *album, const Troupe__Msgs__View *view)
{
	album->links.words = POSE_WORDS;
	album->models.words = STATUS_WORDS;
	album->number++;
	if (album->number > 1 && album_has_same(&album->links, view->link, view->n_link) &&
		album_has_same(&album->models, view->model, view->n_model)) {
		album_compare(&album->links, view->pose, album->number);
		album_compare(&album->models, view->status, album->number);
		return;
	}
	album->whole_at = album->number;
	album_replace(&album->links, view->link, view->pose, view->n_link, album->number);
	album_replace(&album->models, view->model, view->status, view->n_model, album->number);
}

troupe_status album_take(
	struct album *album, const void *bytes, size_t count, int64_t time_ns, struct troupe_error *error)
{
	/* protobuf-c copies a list of numbers as it is; message_of_bytes() looks at each, which takes ten times as
	 * long, and every bit pattern is fine here */
	Troupe__Msgs__View *view = count <= ALBUM_BYTES_MAX ? troupe__msgs__view__unpack(NULL, count, bytes) : NULL;
	troupe_status status = TROUPE_OK;
	if (!view)
		return fail(error, TROUPE_ECOMMAND, "%zu bytes are no View", count);
	if (view->n_pose != POSE_WORDS * view->n_link || view->n_status != view->n_model ||
		view->n_link > ALBUM_ENTRIES_MAX || view->n_model > ALBUM_ENTRIES_MAX)
		status = fail(error, TROUPE_ECOMMAND,
			"a view of %zu links with %zu numbers, and %zu models with %zu: expected %d for each link, 1 "
			"for each model, and at most %d of each",
			view->n_link, view->n_pose, view->n_model, view->n_status, POSE_WORDS, ALBUM_ENTRIES_MAX);
	if (!status) {
		album_take_view(album, view);
		album->step = view->step;
		album->time_s = (double)time_ns * 1e-9;
		album->rtf = view->real_time_factor;
		album->real_s = view->real_time_s;
	}
	troupe__msgs__view__free_unpacked(view, NULL);
	return status;
}

/* --- giving ------------------------------------------------------------------------------------------------------- */

static uint8_t *album_put_32(uint8_t *at, uint32_t value)
{
	for (unsigned i = 0; i < sizeof value; i++)
		at[i] = (uint8_t)(value >> 8 * i);
	return at + sizeof value;
}

static uint8_t *album_put_double(uint8_t *at, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	return album_put_32(album_put_32(at, (uint32_t)bits), (uint32_t)(bits >> 32));
}

static uint32_t album_count_changed(const struct album_list *list, uint64_t seen)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < list->count; i++)
		count += list->changed[i] > seen;
	return count;
}

static uint8_t *album_put_list(uint8_t *at, const struct album_list *list, uint64_t seen)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->changed[i] > seen)
			at = album_put_32(at, list->ids[i]);
	for (size_t i = 0; i < list->count; i++)
		for (size_t w = 0; w < list->words && list->changed[i] > seen; w++)
			at = album_put_32(at, list->values[i * list->words + w]);
	return at;
}

static uint8_t *album_put_head(
	uint8_t *at, const struct album *album, bool whole, uint32_t world, uint32_t links, uint32_t models)
{
	float rtf = (float)album->rtf;
	uint32_t rtf_bits;
	memcpy(&rtf_bits, &rtf, sizeof rtf_bits);
	at = album_put_32(at, ALBUM_KIND | (uint32_t)whole << 8 | world << 16);
	at = album_put_double(album_put_32(at, rtf_bits), (double)album->step);
	at = album_put_double(at, album->time_s);
	return album_put_32(album_put_32(at, links), models);
}

void album_add_picture(const struct album *album, uint64_t seen, uint32_t world, struct text *out)
{
	bool whole = seen < album->whole_at;
	if (whole)
		seen = 0;
	uint32_t links = album_count_changed(&album->links, seen), models = album_count_changed(&album->models, seen);
	size_t words = (size_t)links * (1 + POSE_WORDS) + (size_t)models * (1 + STATUS_WORDS);
	size_t bytes = ALBUM_HEAD_BYTES + 4 * words + ALBUM_TAIL_BYTES;
	text_reserve(out, bytes);
	uint8_t *at = album_put_head((uint8_t *)out->at + out->count, album, whole, world, links, models);
	at = album_put_list(at, &album->links, seen);
	at = album_put_list(at, &album->models, seen);
	(void)album_put_double(at, album->real_s);
	out->count += bytes;
	out->at[out->count] = '\0';
}
