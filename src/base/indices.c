/* A set that is walked in order much more often than it is changed: an ascending array. Finding is a binary search;
 * adding and removing shift the items behind. */
#include "base/indices.h"

#include <string.h>

uint32_t indices_place(const indices *set, uint32_t value)
{
	uint32_t lo = 0, hi = set->count;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (set->at[mid] < value)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool indices_has(const indices *set, uint32_t value)
{
	uint32_t at = indices_place(set, value);
	return at < set->count && set->at[at] == value;
}

void indices_add(indices *set, uint32_t value)
{
	uint32_t at = indices_place(set, value);
	if (at < set->count && set->at[at] == value)
		return;
	vec_push(set, value);
	memmove(&set->at[at + 1], &set->at[at], (set->count - 1 - at) * sizeof *set->at);
	set->at[at] = value;
}

void indices_remove(indices *set, uint32_t value)
{
	uint32_t at = indices_place(set, value);
	if (at == set->count || set->at[at] != value)
		return;
	memmove(&set->at[at], &set->at[at + 1], (set->count - 1 - at) * sizeof *set->at);
	set->count--;
}
