/* Open addressing, linear probing, at most two thirds full. Removing a name moves later names of the same run of
 * slots back. The alternative, a mark in the slot of a removed name, makes finding slow until the marks are cleaned
 * up. */
#include "base/map.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

static struct map_slot *map_probe(struct map_slot *slots, uint32_t room, const char *name, uint64_t hash)
{
	for (uint32_t i = (uint32_t)hash & (room - 1);; i = (i + 1) & (room - 1))
		if (!slots[i].name || (slots[i].hash == hash && !strcmp(slots[i].name, name)))
			return &slots[i];
}

static void map_grow(struct map *map)
{
	uint32_t room = map->room ? map->room * 2 : 16;
	struct map_slot *slots = mem_alloc(room * sizeof *slots);
	for (uint32_t i = 0; i < map->room; i++)
		if (map->slots[i].name)
			*map_probe(slots, room, map->slots[i].name, map->slots[i].hash) = map->slots[i];
	free(map->slots);
	map->slots = slots;
	map->room = room;
}

bool map_add(struct map *map, const char *name, uint32_t value)
{
	if ((map->count + 1) * 3 > map->room * 2)
		map_grow(map);
	uint64_t hash = hash_bytes(0, name, strlen(name));
	struct map_slot *slot = map_probe(map->slots, map->room, name, hash);
	if (slot->name)
		return false;
	*slot = (struct map_slot){name, hash, value};
	map->count++;
	return true;
}

bool map_find(const struct map *map, const char *name, uint32_t *ret_value)
{
	if (!map->count)
		return false;
	const struct map_slot *slot = map_probe(map->slots, map->room, name, hash_bytes(0, name, strlen(name)));
	if (!slot->name)
		return false;
	*ret_value = slot->value;
	return true;
}

bool map_remove(struct map *map, const char *name)
{
	if (!map->count)
		return false;
	uint32_t mask = map->room - 1;
	struct map_slot *gone = map_probe(map->slots, map->room, name, hash_bytes(0, name, strlen(name)));
	if (!gone->name)
		return false;
	uint32_t hole = (uint32_t)(gone - map->slots);
	for (uint32_t i = (hole + 1) & mask; map->slots[i].name; i = (i + 1) & mask) {
		/* a name may move back no farther than to the slot at which its search begins */
		uint32_t home = (uint32_t)map->slots[i].hash & mask;
		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		map->slots[hole] = map->slots[i];
		hole = i;
	}
	map->slots[hole] = (struct map_slot){0};
	map->count--;
	return true;
}

void map_fini(struct map *map)
{
	free(map->slots);
	*map = (struct map){0};
}
