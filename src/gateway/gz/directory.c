/* A record is found by a key made of all that identifies it, a process by its identity, so each datagram costs two
 * lookups however much is known. Removing a process looks at all records: it happens once for a process, and programs
 * cannot make it happen more often than DIRECTORY_PROCESSES_MAX times in three seconds. */
#include "gateway/gz/directory.h"

#include "base/map.h"

#include <stdlib.h>
#include <string.h>

struct directory_process {
	char *name;
	uint64_t heard_ns;
};

struct directory {
	directory_gone_fn *on_gone;
	void *ctx;
	VEC(struct directory_record *) records;
	struct map record_index, process_index;
	VEC(struct directory_process) processes;
	struct text key; /* reused */
};

struct directory *directory_create(directory_gone_fn *on_gone, void *ctx)
{
	struct directory *directory = mem_alloc(sizeof *directory);
	directory->on_gone = on_gone;
	directory->ctx = ctx;
	return directory;
}

static void directory_drop_record(struct directory *directory, uint32_t index)
{
	struct directory_record *record = directory->records.at[index];
	struct directory_record *last = directory->records.at[directory->records.count - 1];
	directory->on_gone(record, directory->ctx);
	map_remove(&directory->record_index, record->key);
	directory->records.count--;
	if (last != record) {
		directory->records.at[index] = last;
		map_remove(&directory->record_index, last->key);
		map_add(&directory->record_index, last->key, index);
	}
	free(record);
}

static void directory_drop_process(struct directory *directory, uint32_t index)
{
	struct directory_process gone = directory->processes.at[index];
	for (uint32_t i = directory->records.count; i > 0; i--)
		if (!strcmp(directory->records.at[i - 1]->process, gone.name))
			directory_drop_record(directory, i - 1);
	map_remove(&directory->process_index, gone.name);
	struct directory_process last = directory->processes.at[--directory->processes.count];
	if (last.name != gone.name) {
		directory->processes.at[index] = last;
		map_remove(&directory->process_index, last.name);
		map_add(&directory->process_index, last.name, index);
	}
	free(gone.name);
}

void directory_destroy(struct directory *directory)
{
	if (!directory)
		return;
	while (directory->records.count)
		directory_drop_record(directory, directory->records.count - 1);
	while (directory->processes.count)
		directory_drop_process(directory, directory->processes.count - 1);
	vec_free(&directory->records);
	vec_free(&directory->processes);
	map_fini(&directory->record_index);
	map_fini(&directory->process_index);
	text_fini(&directory->key);
	free(directory);
}

static bool directory_find_process(const struct directory *directory, struct beacon_text name, uint32_t *ret_index)
{
	char text[NAMES_ID_MAX + 1];
	if (name.count > NAMES_ID_MAX)
		return false;
	memcpy(text, name.at, name.count);
	text[name.count] = '\0';
	return map_find(&directory->process_index, text, ret_index);
}

bool directory_hear(struct directory *directory, struct beacon_text process, uint64_t now_ns, bool *ret_new)
{
	uint32_t index;
	*ret_new = false;
	if (directory_find_process(directory, process, &index)) {
		directory->processes.at[index].heard_ns = now_ns;
		return true;
	}
	if (directory->processes.count == DIRECTORY_PROCESSES_MAX)
		return false;
	char *name = mem_printf("%.*s", (int)process.count, process.at);
	map_add(&directory->process_index, name, directory->processes.count);
	vec_push(&directory->processes, (struct directory_process){name, now_ns});
	*ret_new = true;
	return true;
}

/* Blanks separate: no part contains one. */
static const char *directory_make_key(struct directory *directory, const struct beacon *beacon)
{
	struct text *key = &directory->key;
	key->count = 0;
	text_add(key, "%c ", beacon->is_service ? 's' : 't');
	text_add_bytes(key, beacon->owner.at, beacon->owner.count);
	text_add(key, " ");
	text_add_bytes(key, beacon->node.count ? beacon->node.at : "", beacon->node.count);
	text_add(key, " ");
	text_add_bytes(key, beacon->topic.at, beacon->topic.count);
	return key->at;
}

/* Copies a text behind the record and returns where it is. */
static const char *directory_put(char **at, struct beacon_text text)
{
	char *begin = *at;
	memcpy(begin, text.count ? text.at : "", text.count);
	begin[text.count] = '\0';
	*at += text.count + 1;
	return begin;
}

/* One piece of memory for the record and its texts. */
static struct directory_record *directory_make_record(const struct beacon *beacon, const char *key)
{
	struct beacon_text key_text = beacon_text_of(key);
	size_t bytes = key_text.count + beacon->topic.count + beacon->address.count + beacon->owner.count +
		       beacon->node.count + beacon->type.count + beacon->socket.count + beacon->request_type.count +
		       beacon->reply_type.count + 9;
	struct directory_record *record = mem_alloc(sizeof *record + bytes);
	char *at = (char *)(record + 1);
	record->key = at;
	directory_put(&at, key_text);
	record->is_service = beacon->is_service;
	record->full = directory_put(&at, beacon->topic);
	record->address = directory_put(&at, beacon->address);
	record->process = directory_put(&at, beacon->owner);
	record->node = directory_put(&at, beacon->node);
	record->type = directory_put(&at, beacon->type);
	record->socket = directory_put(&at, beacon->socket);
	record->request_type = directory_put(&at, beacon->request_type);
	record->reply_type = directory_put(&at, beacon->reply_type);
	record->throttled = beacon->throttled;
	record->rate_hz = beacon->rate_hz;
	return record;
}

static bool directory_says_the_same(const struct directory_record *record, const struct beacon *beacon)
{
	return beacon_text_is(beacon->address, record->address) && beacon_text_is(beacon->type, record->type) &&
	       beacon_text_is(beacon->socket, record->socket) &&
	       beacon_text_is(beacon->request_type, record->request_type) &&
	       beacon_text_is(beacon->reply_type, record->reply_type);
}

struct directory_record *directory_add(struct directory *directory, const struct beacon *beacon, bool *ret_new)
{
	const char *key = directory_make_key(directory, beacon);
	uint32_t index;
	*ret_new = false;
	if (map_find(&directory->record_index, key, &index)) {
		struct directory_record *known = directory->records.at[index];
		if (directory_says_the_same(known, beacon)) {
			known->throttled = beacon->throttled;
			known->rate_hz = beacon->rate_hz;
			return known;
		}
		directory_drop_record(directory, index);
	}
	if (directory->records.count == DIRECTORY_RECORDS_MAX ||
		!directory_find_process(directory, beacon->owner, &index))
		return NULL;
	struct directory_record *record = directory_make_record(beacon, key);
	map_add(&directory->record_index, record->key, directory->records.count);
	vec_push(&directory->records, record);
	*ret_new = true;
	return record;
}

void directory_remove(struct directory *directory, const struct beacon *beacon)
{
	uint32_t index;
	if (map_find(&directory->record_index, directory_make_key(directory, beacon), &index))
		directory_drop_record(directory, index);
}

void directory_remove_process(struct directory *directory, struct beacon_text process)
{
	uint32_t index;
	if (directory_find_process(directory, process, &index))
		directory_drop_process(directory, index);
}

void directory_expire(struct directory *directory, uint64_t now_ns)
{
	for (uint32_t i = directory->processes.count; i > 0; i--)
		if (now_ns > directory->processes.at[i - 1].heard_ns + DIRECTORY_SILENCE_NS)
			directory_drop_process(directory, i - 1);
}

uint32_t directory_count(const struct directory *directory)
{
	return directory->records.count;
}

uint32_t directory_process_count(const struct directory *directory)
{
	return directory->processes.count;
}

struct directory_record *directory_at(const struct directory *directory, uint32_t index)
{
	return directory->records.at[index];
}
