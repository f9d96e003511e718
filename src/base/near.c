/* People leave letters out, exchange them, write another case, or leave out the beginning or end of a compound name
 * ("left_wheel" for "left_wheel_joint"). So a name is near by its distance (Levenshtein's), or because one of the two
 * contains the other. A wrong name must not hold up a world with a hundred thousand models: the number of comparisons
 * is limited, and so is the length that each looks at (match_distance()). */
#include "base/match.h"
#include "base/near.h"


#include <stdio.h>
#include <string.h>

enum {
	NEAR_BYTES = 128,  /* of a name that are compared, with its end */
	NEAR_PART_MIN = 3, /* bytes of a name that may be a part of the other */
};

static char near_lower_letter(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static void near_lower(const char *name, char *ret_lower)
{
	size_t count = strnlen(name, NEAR_BYTES - 1);
	for (size_t i = 0; i < count; i++)
		ret_lower[i] = near_lower_letter(name[i]);
	ret_lower[count] = '\0';
}

struct near near_to(const char *wrong)
{
	return (struct near){.wrong = wrong};
}

void near_offer(struct near *near, const char *name)
{
	char one[NEAR_BYTES], other[NEAR_BYTES];
	if (near->offered++ >= NEAR_COMPARED_MAX)
		return;
	near_lower(near->wrong, one);
	near_lower(name, other);
	uint32_t distance = match_distance(one, other), at = near->count;
	while (at > 0 && near->distances[at - 1] > distance)
		at--;
	if (at == NEAR_MAX)
		return;
	near->count = MIN(near->count + 1, (uint32_t)NEAR_MAX);
	for (uint32_t i = near->count - 1; i > at; i--) {
		near->names[i] = near->names[i - 1];
		near->distances[i] = near->distances[i - 1];
	}
	near->names[at] = name;
	near->distances[at] = distance;
}

static bool near_may_mean(const struct near *near, uint32_t index)
{
	char one[NEAR_BYTES], other[NEAR_BYTES];
	near_lower(near->wrong, one);
	near_lower(near->names[index], other);
	size_t shorter = MIN(strlen(one), strlen(other)), longer = MAX(strlen(one), strlen(other));
	bool part = shorter >= NEAR_PART_MIN && (strstr(one, other) || strstr(other, one));
	return part || near->distances[index] <= longer / 3;
}

const char *near_best(const struct near *near)
{
	for (uint32_t i = 0; i < near->count; i++)
		if (near_may_mean(near, i))
			return near->names[i];
	return NULL;
}

/* Adds `before` and the name, or cuts them. Returns the number of bytes in use. */
static size_t near_add(struct near *near, size_t used, const char *before, const char *name)
{
	int added = snprintf(near->words + used, sizeof near->words - used, "%s\"%.60s\"", before, name);
	return added < 0 ? used : MIN(used + (size_t)added, sizeof near->words - 1);
}

const char *near_such_as(struct near *near)
{
	uint32_t chosen[NEAR_MAX], count = 0;
	for (uint32_t i = 0; i < near->count; i++)
		if (near_may_mean(near, i))
			chosen[count++] = i;
	bool all = !count;
	for (; all && count < near->count; count++)
		chosen[count] = count;
	size_t used = 0;
	near->words[0] = '\0';
	for (uint32_t i = 0; i < count; i++) {
		const char *before = !i ? ", such as " : i + 1 == count ? " or " : ", ";
		used = near_add(near, used, before, near->names[chosen[i]]);
	}
	if (all && near->offered > count)
		(void)snprintf(near->words + used, sizeof near->words - used, " (of %u)", (unsigned)near->offered);
	return near->words;
}
