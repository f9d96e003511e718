/* Numbers and bytes packed one after the other, as in a file: little-endian, 64 bits per number. Reading stays within
 * bounds for any input: an item that is missing or not valid reads as zero or "", and sets `bad`, which stays set. */
#ifndef BASE_PACK_H
#define BASE_PACK_H

#include "base/text.h"

static inline void pack_u64(struct text *out, uint64_t value)
{
	char bytes[8];
	for (int i = 0; i < 8; i++)
		bytes[i] = (char)(value >> (8 * i) & 0xff);
	text_add_bytes(out, bytes, sizeof bytes);
}

void pack_double(struct text *out, double value);                   /* its bits */
void pack_bytes(struct text *out, const void *bytes, size_t count); /* the count, then the bytes */
void pack_string(struct text *out, const char *text);

struct unpack {
	const char *at, *end;
	bool bad;
};

/* Small numbers in few bytes: seven bits per byte, lowest bits first; the top bit says that another byte follows.
 * Each number has one form: a longer encoding than necessary is bad. */
void pack_var(struct text *out, uint64_t value);
uint64_t unpack_var(struct unpack *in);
/* Not above max; else bad, and 0. */
uint32_t unpack_var_count(struct unpack *in, uint64_t max);

uint64_t unpack_u64(struct unpack *in);
/* Not above max; else bad, and 0. */
uint32_t unpack_count(struct unpack *in, uint64_t max);
double unpack_double(struct unpack *in); /* not finite: bad, and 0 */
/* Points into the unpacked memory. */
const char *unpack_bytes(struct unpack *in, size_t *ret_count);
/* A copy, to be freed with free(); "" when bad. A string with a zero byte in it is bad. */
char *unpack_string(struct unpack *in);

#endif
