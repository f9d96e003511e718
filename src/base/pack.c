/* Packed data may come from hostile files and frames, so no read goes beyond the end. The first read that fails sets
 * `bad`, and every later read fails too: a caller may read a whole record and test `bad` once. Doubles that are not
 * finite are refused here, and so is every number of variable length that is not in its shortest form. */
#include "base/pack.h"

#include <math.h>
#include <string.h>

void pack_double(struct text *out, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	pack_u64(out, bits);
}

void pack_bytes(struct text *out, const void *bytes, size_t count)
{
	pack_u64(out, count);
	if (count)
		text_add_bytes(out, bytes, count);
}

void pack_string(struct text *out, const char *text)
{
	pack_bytes(out, text, strlen(text));
}

uint64_t unpack_u64(struct unpack *in)
{
	uint64_t value = 0;
	if (in->bad || in->end - in->at < 8) {
		in->bad = true;
		return 0;
	}
	for (int i = 0; i < 8; i++)
		value |= (uint64_t)(unsigned char)in->at[i] << (8 * i);
	in->at += 8;
	return value;
}

uint32_t unpack_count(struct unpack *in, uint64_t max)
{
	uint64_t value = unpack_u64(in);
	if (value > max || value > UINT32_MAX)
		in->bad = true;
	return in->bad ? 0 : (uint32_t)value;
}

double unpack_double(struct unpack *in)
{
	uint64_t bits = unpack_u64(in);
	double value;
	memcpy(&value, &bits, sizeof value);
	if (!isfinite(value))
		in->bad = true;
	return in->bad ? 0 : value;
}

const char *unpack_bytes(struct unpack *in, size_t *ret_count)
{
	uint64_t count = unpack_u64(in);
	const char *bytes = in->at;
	*ret_count = 0;
	if (in->bad || count > (uint64_t)(in->end - in->at)) {
		in->bad = true;
		return "";
	}
	in->at += count;
	*ret_count = (size_t)count;
	return bytes;
}

char *unpack_string(struct unpack *in)
{
	size_t count;
	const char *bytes = unpack_bytes(in, &count);
	if (count && memchr(bytes, '\0', count)) {
		in->bad = true;
		count = 0;
	}
	char *text = mem_alloc(count + 1);
	if (count)
		memcpy(text, bytes, count);
	return text;
}

void pack_var(struct text *out, uint64_t value)
{
	char bytes[10];
	size_t count = 0;
	for (; value > 0x7f; value >>= 7)
		bytes[count++] = (char)(value & 0x7f) | (char)-0x80;
	bytes[count++] = (char)value;
	text_add_bytes(out, bytes, count);
}

uint64_t unpack_var(struct unpack *in)
{
	uint64_t value = 0;
	for (uint32_t shift = 0; !in->bad; shift += 7) {
		if (in->at == in->end || shift > 63)
			break;
		unsigned char byte = (unsigned char)*in->at++;
		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!byte && shift)
			break; /* the encoding would be shorter without this byte */
		if (byte <= 0x7f)
			return value;
	}
	in->bad = true;
	return 0;
}

uint32_t unpack_var_count(struct unpack *in, uint64_t max)
{
	uint64_t value = unpack_var(in);
	if (value > max || value > UINT32_MAX)
		in->bad = true;
	return in->bad ? 0 : (uint32_t)value;
}
