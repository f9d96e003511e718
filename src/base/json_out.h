/* Writes JSON into a text. Commas, colons, brackets, quotes and escapes are written here only, so a caller names its
 * members and their values.
 *
 *	struct json_out out = {.text = &text};
 *	json_out_object(&out, NULL);
 *	json_out_string(&out, "name", name);
 *	json_out_array(&out, "sizes");
 *	json_out_uint(&out, NULL, 3);
 *	json_out_end(&out);
 *	json_out_end(&out);
 *
 * Each value takes the key of its member, or NULL for an item of an array and for the whole. What stands in the text
 * before the first value stays there. Pure; any thread; allocates what the text needs. */
#ifndef BASE_JSON_OUT_H
#define BASE_JSON_OUT_H

#include "base/text.h"

enum { JSON_OUT_DEPTH_MAX = 32 }; /* objects and arrays in each other */

/* The caller sets the first two; all else begins as zero. */
struct json_out {
	struct text *text;
	bool spaced;            /* a blank after each comma and colon */
	bool more;              /* something stands already in the innermost object or array */
	uint32_t depth;         /* open objects and arrays */
	uint64_t arrays, lines; /* bit N: of the one at depth N; lines: see json_out_lines() */
};

/* A writer that goes on in an object which is open in the text, and has a member already. */
static inline struct json_out json_out_in_object(struct text *text)
{
	return (struct json_out){.text = text, .depth = 1, .more = true};
}

void json_out_object(struct json_out *out, const char *key);
void json_out_array(struct json_out *out, const char *key);
/* Of the object or array that was just begun: each item, and its end, stands on a line of its own. The items have two
 * blanks before them for each open object or array. */
void json_out_lines(struct json_out *out);
/* Ends the innermost object or array. */
void json_out_end(struct json_out *out);

/* As text_add_json() writes it. */
void json_out_string(struct json_out *out, const char *key, const char *string);
/* A string that is made here. */
void json_out_printf(struct json_out *out, const char *key, const char *format, ...) TROUPE_PRINTF(3, 4);
/* A string of 16 hexadecimal digits: JavaScript's numbers do not have 64 bits. */
void json_out_hash(struct json_out *out, const char *key, uint64_t hash);
/* A string of bytes in base64 (RFC 4648, padded). */
void json_out_base64(struct json_out *out, const char *key, const void *bytes, size_t count);
/* As text_add_double() writes it: the caller keeps away numbers that are not finite. */
void json_out_double(struct json_out *out, const char *key, double value);
void json_out_uint(struct json_out *out, const char *key, uint64_t value);
void json_out_int(struct json_out *out, const char *key, int64_t value);
void json_out_bool(struct json_out *out, const char *key, bool value);
/* A whole array. */
void json_out_strings(struct json_out *out, const char *key, const char *const *strings, size_t count);
void json_out_doubles(struct json_out *out, const char *key, const double *values, size_t count);
/* The caller appends one value in JSON to the text that is returned, before its next call. */
struct text *json_out_value(struct json_out *out, const char *key);

#endif
