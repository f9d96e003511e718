/* The squeezed form is a list of runs: how many bytes follow as they are, these bytes, how many bytes are copied, and
 * from how far back; small numbers take few bytes. A copy may reach into what it writes.
 *
 * Where the same MATCH_MIN bytes stood last is found by a table of their hashes; two positions with one hash: the later
 * one. Long matches are wanted: the short ones of XML ("</link><link name='") are everywhere, and would hide the ones
 * that are a whole robot long. */
#include "base/squeeze.h"
#include "base/pack.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MATCH_MIN = 16, TABLE_BITS = 16 };

static uint32_t squeeze_slot(const char *at)
{
	uint64_t first, second;
	memcpy(&first, at, sizeof first);
	memcpy(&second, at + sizeof first, sizeof second);
	first = (first ^ second * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
	return (uint32_t)(first >> (64 - TABLE_BITS));
}

static size_t squeeze_match(const char *bytes, size_t old, size_t at, size_t count)
{
	size_t length = 0;
	while (at + length < count && bytes[old + length] == bytes[at + length])
		length++;
	return length;
}

void squeeze(const char *bytes, size_t count, struct text *out)
{
	uint32_t *last = mem_alloc(sizeof *last << TABLE_BITS); /* position + 1 */
	size_t plain = 0, at = 0;
	assert(count < UINT32_MAX);
	while (at + MATCH_MIN <= count) {
		uint32_t slot = squeeze_slot(bytes + at);
		size_t old = last[slot], length = old ? squeeze_match(bytes, old - 1, at, count) : 0;
		last[slot] = (uint32_t)at + 1;
		if (length < MATCH_MIN) {
			at++;
			continue;
		}
		pack_var(out, at - plain);
		text_add_bytes(out, bytes + plain, at - plain);
		pack_var(out, length);
		pack_var(out, at + 1 - old);
		for (size_t end = at + length; at < end; at++)
			if (at + MATCH_MIN <= count)
				last[squeeze_slot(bytes + at)] = (uint32_t)at + 1;
		plain = at;
	}
	pack_var(out, count - plain);
	text_add_bytes(out, bytes + plain, count - plain);
	free(last);
}

char *squeeze_undo(const struct text *squeezed, size_t count)
{
	struct unpack in = {squeezed->at, squeezed->at + squeezed->count, false};
	char *bytes = mem_alloc(count + 1);
	size_t at = 0;
	for (;;) {
		size_t plain = unpack_var_count(&in, count - at);
		memcpy(bytes + at, in.at, plain);
		in.at += plain;
		at += plain;
		if (at == count)
			break;
		size_t length = unpack_var_count(&in, count - at), back = unpack_var_count(&in, at);
		assert(!in.bad && back && length);
		for (size_t i = 0; i < length; i++, at++)
			bytes[at] = bytes[at - back];
		if (at == count)
			break;
	}
	bytes[count] = '\0';
	return bytes;
}
