/* A pattern is matched without recursion, so a hostile one costs at most the product of the two lengths. */
#include "base/match.h"

#include <string.h>

static const char *match_after_character(const char *at)
{
	for (at++; ((unsigned char)*at & 0xc0) == 0x80; at++)
		;
	return at;
}

/* Only the last * is tried again: an earlier * need not take more, because the last one can take it as well. */
bool match_glob(const char *glob, const char *text)
{
	const char *star = NULL, *from = NULL;
	while (*text) {
		if (*glob == '*') {
			star = ++glob;
			from = text;
		} else if (*glob == '?') {
			glob++;
			text = match_after_character(text);
		} else if (*glob == *text) {
			glob++;
			text++;
		} else if (star) {
			glob = star;
			text = from = match_after_character(from);
		} else {
			return false;
		}
	}
	while (*glob == '*')
		glob++;
	return !*glob;
}

uint32_t match_distance(const char *one, const char *other)
{
	enum { BYTES = 127 };
	uint32_t row[BYTES + 1]; /* of Levenshtein's table: from a beginning of `one` to each of `other` */
	size_t one_bytes = strnlen(one, BYTES), other_bytes = strnlen(other, BYTES);
	for (uint32_t j = 0; j <= other_bytes; j++)
		row[j] = j;
	for (uint32_t i = 1; i <= one_bytes; i++) {
		uint32_t before = row[0]; /* of the row above, one to the left */
		row[0] = i;
		for (uint32_t j = 1; j <= other_bytes; j++) {
			uint32_t replaced = before + (one[i - 1] != other[j - 1]);
			before = row[j];
			row[j] = MIN(replaced, MIN(before, row[j - 1]) + 1);
		}
	}
	return row[other_bytes];
}
