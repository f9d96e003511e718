/* CDR as ROS 2 uses it: numbers in their natural size, each aligned to its size, counted from the end of the header of
 * 4 bytes; a string is its length with its final zero byte, as 32 bits, and its bytes; a sequence is its length, as 32
 * bits, and its elements. Written little-endian, read in either order. */
#ifndef GATEWAY_ROS_CDR_H
#define GATEWAY_ROS_CDR_H

#include "base/shown.h"
#include "base/text.h"

#include <string.h>

enum { CDR_HEADER_BYTES = 4 };

struct cdr_out {
	struct text *text;
	size_t origin; /* in the text: where alignment is counted from */
};

static inline struct cdr_out cdr_begin(struct text *text)
{
	static const char header[CDR_HEADER_BYTES] = {0, 1, 0, 0}; /* plain CDR, little-endian */
	text_add_bytes(text, header, sizeof header);
	return (struct cdr_out){text, text->count};
}

/* Room for `count` numbers of `size` bytes; the place of the first. */
static inline unsigned char *cdr_room(struct cdr_out *out, size_t size, size_t count)
{
	struct text *text = out->text;
	size_t gap = (size_t) - (text->count - out->origin) % size;
	text_reserve(text, gap + size * count);
	memset(text->at + text->count, 0, gap);
	unsigned char *at = (unsigned char *)text->at + text->count + gap;
	text->count += gap + size * count;
	text->at[text->count] = '\0';
	return at;
}

static inline void cdr_store(unsigned char *at, uint64_t bits, size_t size)
{
	for (size_t i = 0; i < size; i++) /* a single store where the machine has this order */
		at[i] = (unsigned char)(bits >> 8 * i);
}

static inline void cdr_u8(struct cdr_out *out, uint8_t value)
{
	*cdr_room(out, 1, 1) = value;
}

static inline void cdr_u16(struct cdr_out *out, uint16_t value)
{
	cdr_store(cdr_room(out, 2, 1), value, 2);
}

static inline void cdr_u32(struct cdr_out *out, uint32_t value)
{
	cdr_store(cdr_room(out, 4, 1), value, 4);
}

static inline void cdr_u64(struct cdr_out *out, uint64_t value)
{
	cdr_store(cdr_room(out, 8, 1), value, 8);
}

static inline void cdr_store_f32(unsigned char *at, float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	cdr_store(at, bits, 4);
}

static inline void cdr_store_f64(unsigned char *at, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	cdr_store(at, bits, 8);
}

static inline void cdr_f32(struct cdr_out *out, float value)
{
	cdr_store_f32(cdr_room(out, 4, 1), value);
}

static inline void cdr_f64(struct cdr_out *out, double value)
{
	cdr_store_f64(cdr_room(out, 8, 1), value);
}

/* The elements only; no gap is left for none. */
static inline void cdr_f64s(struct cdr_out *out, const double *values, size_t count)
{
	unsigned char *at = count ? cdr_room(out, 8, count) : NULL;
	for (size_t i = 0; i < count; i++)
		cdr_store_f64(at + 8 * i, values[i]);
}

static inline void cdr_count(struct cdr_out *out, size_t count)
{
	cdr_u32(out, (uint32_t)count);
}

static inline void cdr_bytes(struct cdr_out *out, const void *bytes, size_t count)
{
	cdr_count(out, count);
	if (count)
		memcpy(cdr_room(out, 1, count), bytes, count);
}

static inline void cdr_string(struct cdr_out *out, const char *string)
{
	cdr_bytes(out, string, strlen(string) + 1);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Stays within bounds for any bytes: what is missing or not valid reads as 0 or "", and sets `bad`, which stays set. */
struct cdr_in {
	const unsigned char *bytes; /* behind the header */
	size_t at, end;
	bool big_endian, bad;
};

static inline struct cdr_in cdr_open(const void *bytes, size_t count)
{
	const unsigned char *b = bytes;
	bool plain = count >= CDR_HEADER_BYTES && b[0] == 0 && b[1] <= 1;
	if (!plain)
		return (struct cdr_in){.bad = true};
	return (struct cdr_in){.bytes = b + CDR_HEADER_BYTES, .end = count - CDR_HEADER_BYTES, .big_endian = !b[1]};
}

static inline uint64_t cdr_get(struct cdr_in *in, size_t size)
{
	size_t at = in->at + (size_t)-in->at % size;
	uint64_t bits = 0;
	if (in->bad || at > in->end || in->end - at < size) {
		in->bad = true;
		return 0;
	}
	for (size_t i = 0; i < size; i++)
		bits |= (uint64_t)in->bytes[at + i] << 8 * (in->big_endian ? size - 1 - i : i);
	in->at = at + size;
	return bits;
}

static inline double cdr_get_f64(struct cdr_in *in)
{
	uint64_t bits = cdr_get(in, 8);
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static inline float cdr_get_f32(struct cdr_in *in)
{
	uint32_t bits = (uint32_t)cdr_get(in, 4);
	float value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

/* The length of a sequence whose elements take at least `size` bytes each. */
static inline uint32_t cdr_get_count(struct cdr_in *in, size_t size)
{
	uint32_t count = (uint32_t)cdr_get(in, 4);
	if (in->bad || count > (in->end - in->at) / size) {
		in->bad = true;
		return 0;
	}
	return count;
}

/* UTF-8 without zero bytes. Points into the bytes. */
static inline const char *cdr_get_string(struct cdr_in *in)
{
	uint32_t count = cdr_get_count(in, 1);
	const char *string = (const char *)in->bytes + in->at;
	if (in->bad || !count || string[count - 1] || strlen(string) != count - 1 ||
		!shown_is_utf8(string, count - 1)) {
		in->bad = true;
		return "";
	}
	in->at += count;
	return string;
}

#endif
