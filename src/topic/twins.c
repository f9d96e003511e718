/* A trunk is the part of a name that is compared. All topics of a model have one trunk, so that a model is a twin with
 * all of its topics, and not with those alone that the other model has, too. */
#include "topic/twins.h"

#include <stdlib.h>
#include <string.h>

struct twins_trunk {
	char *name, *plain; /* plain: NULL: another trunk had it */
	uint32_t topics;
};

/* The trunk of a topic, as new text. */
static char *twins_trunk_of(const char *topic)
{
	static const char word[] = "/model/";
	const char *begin = strstr(topic, word), *end = begin;
	if (!begin)
		return mem_strdup(topic);
	while (!strncmp(end, word, sizeof word - 1)) {
		end += sizeof word - 1;
		end += strcspn(end, "/");
	}
	return mem_printf("%.*s", (int)(end - begin), begin);
}

static char *twins_plain_of(const char *name)
{
	char *plain = mem_strdup(name);
	for (char *at = plain; *at; at++) {
		bool letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
		if (!letter && !(*at >= '0' && *at <= '9') && *at != '/')
			*at = '_';
	}
	return plain;
}

static uint32_t twins_add_trunk(struct twins *twins, char *name)
{
	struct twins_trunk *trunk = mem_alloc(sizeof *trunk);
	uint32_t number = twins->unused.count ? twins->unused.at[--twins->unused.count] : twins->trunks.count;
	if (number == twins->trunks.count)
		vec_push(&twins->trunks, trunk);
	twins->trunks.at[number] = trunk;
	*trunk = (struct twins_trunk){.name = name, .plain = twins_plain_of(name)};
	(void)map_add(&twins->by_name, trunk->name, number);
	if (!map_add(&twins->plain, trunk->plain, number)) {
		free(trunk->plain);
		trunk->plain = NULL;
	}
	return number;
}

uint32_t twins_add(struct twins *twins, const char *topic)
{
	char *name = twins_trunk_of(topic);
	uint32_t number;
	if (map_find(&twins->by_name, name, &number))
		free(name);
	else
		number = twins_add_trunk(twins, name);
	twins->trunks.at[number]->topics++;
	return number;
}

static void twins_free_trunk(struct twins_trunk *trunk)
{
	free(trunk->name);
	free(trunk->plain);
	free(trunk);
}

void twins_remove(struct twins *twins, uint32_t number)
{
	struct twins_trunk *trunk = twins->trunks.at[number];
	if (--trunk->topics)
		return;
	(void)map_remove(&twins->by_name, trunk->name);
	if (trunk->plain)
		(void)map_remove(&twins->plain, trunk->plain);
	twins_free_trunk(trunk);
	twins->trunks.at[number] = NULL;
	vec_push(&twins->unused, number);
}

bool twins_is(const struct twins *twins, uint32_t number)
{
	return !twins->trunks.at[number]->plain;
}

void twins_fini(struct twins *twins)
{
	for (uint32_t i = 0; i < twins->trunks.count; i++)
		if (twins->trunks.at[i])
			twins_free_trunk(twins->trunks.at[i]);
	vec_free(&twins->trunks);
	vec_free(&twins->unused);
	map_fini(&twins->by_name);
	map_fini(&twins->plain);
	*twins = (struct twins){.unused = {0}};
}
