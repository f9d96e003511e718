/* Places in an array must depend on the history of calls alone, so that runs repeat. The free stretches below the end
 * are kept in ascending order, neighbours are merged, and a request takes the lowest stretch that fits. */
#include "base/ranges.h"

#include <string.h>

static void ranges_erase(struct ranges *ranges, uint32_t i)
{
	memmove(ranges->free.at + i, ranges->free.at + i + 1, (ranges->free.count - i - 1) * sizeof *ranges->free.at);
	ranges->free.count--;
}

uint32_t ranges_take(struct ranges *ranges, uint32_t count)
{
	if (!count)
		return 0;
	for (uint32_t i = 0; i < ranges->free.count; i++) {
		struct range *free = &ranges->free.at[i];
		if (free->count < count)
			continue;
		uint32_t first = free->first;
		free->first += count;
		free->count -= count;
		if (!free->count)
			ranges_erase(ranges, i);
		return first;
	}
	ranges->end += count;
	return ranges->end - count;
}

bool ranges_claim(struct ranges *ranges, uint32_t first, uint32_t count)
{
	if (!count)
		return true;
	if (first > UINT32_MAX - count)
		return false;
	uint32_t end = ranges->end;
	if (first >= end) {
		ranges->end = first + count;
		if (first > end)
			vec_push(&ranges->free, (struct range){end, first - end});
		return true;
	}
	for (uint32_t i = 0; i < ranges->free.count; i++) {
		struct range *free = &ranges->free.at[i];
		if (first < free->first || first + count > free->first + free->count)
			continue;
		struct range after = {first + count, free->first + free->count - first - count};
		free->count = first - free->first;
		if (after.count) {
			vec_push(&ranges->free, after);
			for (uint32_t k = ranges->free.count - 1; k > i + 1; k--)
				ranges->free.at[k] = ranges->free.at[k - 1];
			ranges->free.at[i + 1] = after;
		}
		if (!ranges->free.at[i].count)
			ranges_erase(ranges, i);
		return true;
	}
	return false;
}

void ranges_give(struct ranges *ranges, uint32_t first, uint32_t count)
{
	if (!count)
		return;
	uint32_t i = 0;
	while (i < ranges->free.count && ranges->free.at[i].first < first)
		i++;
	vec_push(&ranges->free, (struct range){0, 0});
	memmove(ranges->free.at + i + 1, ranges->free.at + i, (ranges->free.count - 1 - i) * sizeof *ranges->free.at);
	ranges->free.at[i] = (struct range){first, count};
	if (i + 1 < ranges->free.count && first + count == ranges->free.at[i + 1].first) {
		ranges->free.at[i].count += ranges->free.at[i + 1].count;
		ranges_erase(ranges, i + 1);
	}
	if (i && ranges->free.at[i - 1].first + ranges->free.at[i - 1].count == first) {
		ranges->free.at[i - 1].count += ranges->free.at[i].count;
		ranges_erase(ranges, i);
	}
	struct range last = ranges->free.at[ranges->free.count - 1];
	if (last.first + last.count == ranges->end) {
		ranges->end = last.first;
		ranges->free.count--;
	}
}

void ranges_fini(struct ranges *ranges)
{
	vec_free(&ranges->free);
	ranges->end = 0;
}
