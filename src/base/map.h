/* A hash map from names to numbers. The map borrows names: each must live until it is removed or the map is freed.
 * Not thread-safe. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/base.h"

struct map_slot {
	const char *name; /* NULL: empty */
	uint64_t hash;
	uint32_t value;
};

struct map { /* zeroed is empty */
	struct map_slot *slots;
	uint32_t count, room;
};

/* False when the map has the name already (its value stays). */
bool map_add(struct map *map, const char *name, uint32_t value);
/* False when the map has no such name; *ret_value is then unchanged. */
bool map_find(const struct map *map, const char *name, uint32_t *ret_value);
/* False when the map has no such name. The map keeps its memory but no pointer to the name: `name` may be the pointer
 * that was added, and may be freed afterwards. */
bool map_remove(struct map *map, const char *name);
void map_fini(struct map *map);

#endif
