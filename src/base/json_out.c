/* Whether a comma is due is the only thing that a writer has to know of what was written: one flag, because an object
 * or array that has ended is itself an item of the one around it. */
#include "base/json_out.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool json_out_is(const struct json_out *out, uint64_t bits)
{
	return bits >> out->depth & 1;
}

static void json_out_new_line(struct json_out *out, uint32_t depth)
{
	text_add(out->text, "\n%*s", (int)(2 * depth), "");
}

struct text *json_out_value(struct json_out *out, const char *key)
{
	assert(!key == (!out->depth || json_out_is(out, out->arrays)));
	if (out->more)
		text_add_bytes(out->text, ",", 1);
	if (json_out_is(out, out->lines))
		json_out_new_line(out, out->depth);
	else if (out->more && out->spaced)
		text_add_bytes(out->text, " ", 1);
	if (key) {
		text_add_json(out->text, key);
		text_add_bytes(out->text, ": ", out->spaced ? 2 : 1);
	}
	out->more = out->depth > 0;
	return out->text;
}

static void json_out_begin(struct json_out *out, const char *key, bool array)
{
	text_add_bytes(json_out_value(out, key), array ? "[" : "{", 1);
	out->depth++;
	assert(out->depth < JSON_OUT_DEPTH_MAX);
	out->arrays = (out->arrays & ~(UINT64_C(1) << out->depth)) | (uint64_t)array << out->depth;
	out->lines &= ~(UINT64_C(1) << out->depth);
	out->more = false;
}

void json_out_object(struct json_out *out, const char *key)
{
	json_out_begin(out, key, false);
}

void json_out_array(struct json_out *out, const char *key)
{
	json_out_begin(out, key, true);
}

void json_out_lines(struct json_out *out)
{
	assert(out->depth && !out->more);
	out->lines |= UINT64_C(1) << out->depth;
}

void json_out_end(struct json_out *out)
{
	assert(out->depth);
	if (json_out_is(out, out->lines))
		json_out_new_line(out, out->depth - 1);
	text_add_bytes(out->text, json_out_is(out, out->arrays) ? "]" : "}", 1);
	out->depth--;
	out->more = out->depth > 0;
}

void json_out_string(struct json_out *out, const char *key, const char *string)
{
	text_add_json(json_out_value(out, key), string);
}

void json_out_printf(struct json_out *out, const char *key, const char *format, ...)
{
	struct text made = {0};
	va_list args;
	va_start(args, format);
	text_add_v(&made, format, args);
	va_end(args);
	json_out_string(out, key, made.at);
	text_fini(&made);
}

void json_out_hash(struct json_out *out, const char *key, uint64_t hash)
{
	text_add(json_out_value(out, key), "\"%016" PRIx64 "\"", hash);
}

void json_out_base64(struct json_out *out, const char *key, const void *bytes, size_t count)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *at = bytes;
	struct text *text = json_out_value(out, key);
	text_reserve(text, (count + 2) / 3 * 4 + 2);
	char *to = text->at + text->count;
	*to++ = '"';
	for (size_t i = 0; i < count; i += 3) {
		size_t left = count - i;
		uint32_t three = (uint32_t)at[i] << 16 | (left > 1 ? (uint32_t)at[i + 1] << 8 : 0) |
				 (left > 2 ? (uint32_t)at[i + 2] : 0);
		*to++ = digits[three >> 18];
		*to++ = digits[three >> 12 & 63];
		*to++ = left > 1 ? digits[three >> 6 & 63] : '=';
		*to++ = left > 2 ? digits[three & 63] : '=';
	}
	*to++ = '"';
	*to = '\0';
	text->count = (size_t)(to - text->at);
}

void json_out_double(struct json_out *out, const char *key, double value)
{
	text_add_double(json_out_value(out, key), value);
}

void json_out_uint(struct json_out *out, const char *key, uint64_t value)
{
	text_add(json_out_value(out, key), "%" PRIu64, value);
}

void json_out_int(struct json_out *out, const char *key, int64_t value)
{
	text_add(json_out_value(out, key), "%" PRId64, value);
}

void json_out_bool(struct json_out *out, const char *key, bool value)
{
	text_add(json_out_value(out, key), value ? "true" : "false");
}

void json_out_strings(struct json_out *out, const char *key, const char *const *strings, size_t count)
{
	json_out_array(out, key);
	for (size_t i = 0; i < count; i++)
		json_out_string(out, NULL, strings[i]);
	json_out_end(out);
}

void json_out_doubles(struct json_out *out, const char *key, const double *values, size_t count)
{
	json_out_array(out, key);
	for (size_t i = 0; i < count; i++)
		json_out_double(out, NULL, values[i]);
	json_out_end(out);
}
