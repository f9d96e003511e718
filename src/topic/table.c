/* Rows of one kind and name form a chain, whose first row a map finds by the name. One lock guards all rows. The
 * primary holds the lock only while it changes the table, which happens when models come and go; it needs no lock to
 * read, because only the primary changes the table. */
#include "topic/table.h"

#include "base/map.h"
#include "topic/twins.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct topic_table_place {
	struct topic_row row; /* row.name NULL: the place is free. It owns the texts. */
	uint32_t next;        /* of the same kind and name, or TOPIC_NONE */
	uint32_t last;        /* of the first of a chain: the last one */
	uint32_t trunk;       /* in twins */
};

struct topic_table {
	pthread_mutex_t lock;
	_Atomic uint64_t epoch;
	VEC(struct topic_table_place) places;
	VEC(uint32_t) unused;
	struct map firsts[TOPIC_KINDS];
	struct twins twins;
};

struct topic_table *topic_table_create(void)
{
	struct topic_table *table = mem_alloc(sizeof *table);
	pthread_mutex_init(&table->lock, NULL);
	return table;
}

/* The texts of a row, its name first. A copy has them in one piece of memory, which begins where its name does. */
static const size_t topic_table_texts[] = {offsetof(struct topic_row, name), offsetof(struct topic_row, type),
	offsetof(struct topic_row, reply), offsetof(struct topic_row, owner), offsetof(struct topic_row, model),
	offsetof(struct topic_row, frame), offsetof(struct topic_row, child_frame), offsetof(struct topic_row, only),
	offsetof(struct topic_row, client)};

static const char **topic_table_text_of(struct topic_row *row, size_t text)
{
	return (const char **)(void *)((char *)row + topic_table_texts[text]);
}

void topic_row_copy(const struct topic_row *row, struct topic_row *ret_row)
{
	size_t bytes = 0;
	*ret_row = *row;
	for (size_t i = 0; i < ARRAY_LEN(topic_table_texts); i++) {
		const char *text = *topic_table_text_of(ret_row, i);
		bytes += text ? strlen(text) + 1 : 0;
	}
	char *at = mem_alloc(bytes);
	for (size_t i = 0; i < ARRAY_LEN(topic_table_texts); i++) {
		const char **text = topic_table_text_of(ret_row, i);
		if (!*text)
			continue;
		size_t count = strlen(*text) + 1;
		*text = memcpy(at, *text, count);
		at += count;
	}
}

void topic_row_fini(struct topic_row *row)
{
	free((char *)(uintptr_t)row->name);
	*row = (struct topic_row){.name = NULL};
}

void topic_table_destroy(struct topic_table *table)
{
	if (!table)
		return;
	for (uint32_t i = 0; i < table->places.count; i++)
		topic_row_fini(&table->places.at[i].row);
	for (int kind = 0; kind < TOPIC_KINDS; kind++)
		map_fini(&table->firsts[kind]);
	twins_fini(&table->twins);
	vec_free(&table->places);
	vec_free(&table->unused);
	pthread_mutex_destroy(&table->lock);
	free(table);
}

bool topic_name_is_valid(const char *name)
{
	size_t length = strlen(name);
	if (name[0] != '/' || length < 2 || length >= TOPIC_NAME_BYTES_MAX || name[length - 1] == '/')
		return false;
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)name[i];
		if (c <= ' ' || c == 0x7f || c == '@' || c == '~' || (c == '/' && name[i + 1] == '/') ||
			(c == ':' && name[i + 1] == '='))
			return false;
	}
	return true;
}

void topic_name_clean(char *name)
{
	char *to = name;
	for (const char *from = name; *from; from++) {
		char last = to > name ? to[-1] : '\0';
		if (*from == '=' && last == ':')
			to--;
		else if (*from != '@' && *from != '~' && !(*from == '/' && last == '/'))
			*to++ = (unsigned char)*from <= ' ' || *from == 0x7f ? '_' : *from;
	}
	if (to > name + 1 && to[-1] == '/')
		to--;
	*to = '\0';
}

static const char *topic_table_part_after(const char *name, const char *folder, size_t length)
{
	return !strncmp(name, folder, length) && name[length] == '/' ? name + length + 1 : NULL;
}

const char *topic_in_world(const char *name, const char *world)
{
	static const char root[] = "/world/";
	size_t length = strlen(world), begin = sizeof root - 1;
	char clean[TOPIC_NAME_BYTES_MAX];
	if (strncmp(name, root, begin) != 0)
		return NULL;
	const char *part = topic_table_part_after(name + begin, world, length);
	if (part || begin + length >= sizeof clean)
		return part;
	memcpy(clean, root, begin);
	memcpy(clean + begin, world, length + 1);
	topic_name_clean(clean);
	length = strlen(clean);
	return length > begin ? topic_table_part_after(name, clean, length) : NULL; /* NULL: the clean name is empty */
}

bool topic_is_of_world(const char *name, const char *world)
{
	char *topic = mem_printf("/world/%s/topic", name);
	bool same = topic_in_world(topic, world);
	free(topic);
	return same;
}

/* --- changes ------------------------------------------------------------------------------------------------------ */

static uint32_t topic_table_new_place(struct topic_table *table)
{
	if (table->unused.count)
		return table->unused.at[--table->unused.count];
	if (table->places.count == TOPIC_ROWS_MAX)
		return TOPIC_NONE;
	(void)vec_append(&table->places, 1);
	return table->places.count - 1;
}

static void topic_table_chain(struct topic_table *table, uint32_t id)
{
	struct topic_table_place *place = &table->places.at[id];
	uint32_t first;
	place->next = TOPIC_NONE;
	place->last = id;
	if (map_add(&table->firsts[place->row.kind], place->row.name, id))
		return;
	(void)map_find(&table->firsts[place->row.kind], place->row.name, &first);
	table->places.at[table->places.at[first].last].next = id;
	table->places.at[first].last = id;
}

uint32_t topic_add(struct topic_table *table, const struct topic_row *row)
{
	if (!topic_name_is_valid(row->name))
		return TOPIC_NONE;
	if (row->kind == TOPIC_SERVICE && topic_find(table, TOPIC_SERVICE, row->name) != TOPIC_NONE)
		return TOPIC_NONE;
	pthread_mutex_lock(&table->lock);
	uint32_t id = topic_table_new_place(table);
	if (id != TOPIC_NONE) {
		struct topic_table_place *place = &table->places.at[id];
		topic_row_copy(row, &place->row);
		place->trunk = twins_add(&table->twins, row->name);
		place->row.is_twin = twins_is(&table->twins, place->trunk);
		topic_table_chain(table, id);
		atomic_fetch_add_explicit(&table->epoch, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&table->lock);
	return id;
}

static void topic_table_unchain(struct topic_table *table, uint32_t id)
{
	struct topic_table_place *place = &table->places.at[id];
	struct map *firsts = &table->firsts[place->row.kind];
	uint32_t first;
	(void)map_find(firsts, place->row.name, &first);
	if (first == id) {
		map_remove(firsts, place->row.name);
		if (place->next == TOPIC_NONE)
			return;
		table->places.at[place->next].last = place->last;
		map_add(firsts, table->places.at[place->next].row.name, place->next);
		return;
	}
	uint32_t before = first;
	while (table->places.at[before].next != id)
		before = table->places.at[before].next;
	table->places.at[before].next = place->next;
	if (table->places.at[first].last == id)
		table->places.at[first].last = before;
}

void topic_remove(struct topic_table *table, uint32_t id)
{
	assert(id < table->places.count && table->places.at[id].row.name);
	pthread_mutex_lock(&table->lock);
	topic_table_unchain(table, id);
	twins_remove(&table->twins, table->places.at[id].trunk);
	topic_row_fini(&table->places.at[id].row);
	vec_push(&table->unused, id);
	atomic_fetch_add_explicit(&table->epoch, 1, memory_order_relaxed);
	pthread_mutex_unlock(&table->lock);
}

/* --- asking ------------------------------------------------------------------------------------------------------- */

uint32_t topic_find(const struct topic_table *table, enum topic_kind kind, const char *name)
{
	uint32_t id;
	return map_find(&table->firsts[kind], name, &id) ? id : TOPIC_NONE;
}

uint32_t topic_next(const struct topic_table *table, uint32_t id)
{
	return table->places.at[id].next;
}

const struct topic_row *topic_row(const struct topic_table *table, uint32_t id)
{
	return &table->places.at[id].row;
}

bool topic_row_is_for(const struct topic_row *row, const char *client)
{
	if (!row->client)
		return true;
	return client ? !strcmp(row->client, client) : !*row->client;
}

bool topic_copy(struct topic_table *table, enum topic_kind kind, const char *name, const char *client,
	struct topic_row *ret_row)
{
	pthread_mutex_lock(&table->lock);
	uint32_t id = topic_find(table, kind, name);
	while (id != TOPIC_NONE && !topic_row_is_for(&table->places.at[id].row, client))
		id = topic_next(table, id);
	if (id != TOPIC_NONE)
		topic_row_copy(&table->places.at[id].row, ret_row);
	pthread_mutex_unlock(&table->lock);
	return id != TOPIC_NONE;
}

uint64_t topic_epoch(const struct topic_table *table)
{
	return atomic_load_explicit(&table->epoch, memory_order_relaxed);
}

static int topic_table_by_name(const void *a, const void *b, void *ctx)
{
	const struct topic_table *table = ctx;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	int order = strcmp(table->places.at[left].row.name, table->places.at[right].row.name);
	return order ? order : left < right ? -1 : left > right;
}

uint64_t topic_read(
	struct topic_table *table, void (*fn)(void *ctx, uint32_t id, const struct topic_row *row), void *ctx)
{
	VEC(uint32_t) order = {0};
	pthread_mutex_lock(&table->lock);
	uint64_t epoch = topic_epoch(table);
	for (uint32_t i = 0; i < table->places.count; i++)
		if (table->places.at[i].row.name)
			vec_push(&order, i);
	if (order.count)
		qsort_r(order.at, order.count, sizeof *order.at, topic_table_by_name, table);
	for (uint32_t i = 0; i < order.count; i++)
		fn(ctx, order.at[i], &table->places.at[order.at[i]].row);
	pthread_mutex_unlock(&table->lock);
	vec_free(&order);
	return epoch;
}
