/* A subscription covers each topic that begins with it. Nearly all are whole topics, but a longer topic may begin with
 * a shorter one, so each beginning of a topic is looked up: some sixty lookups, when a topic is advertised. When a
 * subscription comes or goes, the node asks again only for topics that begin with it. */
#include "gateway/gz/audience.h"

#include "gateway/gz/names.h"

#include <stdlib.h>
#include <string.h>

static void audience_drop(struct audience *audience, uint32_t index)
{
	struct audience_entry gone = audience->entries.at[index];
	struct audience_entry last = audience->entries.at[--audience->entries.count];
	map_remove(&audience->index, gone.text);
	if (last.text != gone.text) {
		audience->entries.at[index] = last;
		map_remove(&audience->index, last.text);
		map_add(&audience->index, last.text, index);
	}
	free(gone.text);
}

bool audience_change(struct audience *audience, const char *bytes, size_t count, bool more)
{
	char text[NAMES_FULL_MAX + 1];
	uint32_t index;
	if (count > NAMES_FULL_MAX || memchr(bytes, 0, count))
		return false;
	memcpy(text, bytes, count);
	text[count] = '\0';
	bool known = map_find(&audience->index, text, &index);
	if (!more) {
		if (known && !--audience->entries.at[index].count)
			audience_drop(audience, index);
		return known;
	}
	if (known) {
		audience->entries.at[index].count++;
		return true;
	}
	if (audience->entries.count == AUDIENCE_TEXTS_MAX)
		return false;
	char *copy = mem_strdup(text);
	map_add(&audience->index, copy, audience->entries.count);
	vec_push(&audience->entries, (struct audience_entry){copy, 1});
	return true;
}

uint32_t audience_of(const struct audience *audience, const char *topic)
{
	char text[NAMES_FULL_MAX + 1];
	size_t count = strnlen(topic, NAMES_FULL_MAX);
	uint32_t sum = 0, index;
	memcpy(text, topic, count);
	for (size_t length = count + 1; length > 0; length--) {
		text[length - 1] = '\0';
		if (map_find(&audience->index, text, &index))
			sum += audience->entries.at[index].count;
	}
	return sum;
}

void audience_fini(struct audience *audience)
{
	for (uint32_t i = 0; i < audience->entries.count; i++)
		free(audience->entries.at[i].text);
	vec_free(&audience->entries);
	map_fini(&audience->index);
}
