/* A hash map from names to numbers. Names are borrowed: they must outlive the map, or their removal. Not thread-safe.
 */
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

/* False when the name is there already (its value stays). */
bool map_add(struct map *map, const char *name, uint32_t value);
/* False when the name is not there; *ret_value is then left alone. */
bool map_find(const struct map *map, const char *name, uint32_t *ret_value);
/* False when the name is not there. The map keeps its room for names to come, and no trace of the name: `name` may be
 * the very one that was added, and be freed afterwards. */
bool map_remove(struct map *map, const char *name);
void map_fini(struct map *map);

#endif
