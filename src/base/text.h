/* Text in and out, independent of the process's locale. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/base.h"

/* A growing string. Zeroed is empty; at is NULL or terminated. */
struct text {
	char *at;
	size_t count, room;
};

void text_add(struct text *text, const char *format, ...) TROUPE_PRINTF(2, 3);
void text_add_bytes(struct text *text, const char *bytes, size_t count);
/* The shortest decimal form that reads back as the same double ("nan" and "inf" as such). */
void text_add_double(struct text *text, double value);
/* A JSON string with quotes; bytes that are not printable ASCII or UTF-8 become \u escapes. */
void text_add_json(struct text *text, const char *string);
void text_fini(struct text *text);

/* Whole-word parsers: false when text is not exactly one such number (blanks around it are allowed).
 * text_double takes what strtod takes in the C locale, "inf" and "nan" included: callers decide what is sane. */
bool text_double(const char *text, double *ret_value);
bool text_int64(const char *text, int64_t *ret_value);
bool text_uint64(const char *text, uint64_t *ret_value);
bool text_bool(const char *text, bool *ret_value); /* true false 1 0, any case */
/* Up to max numbers separated by blanks; the count, or -1 when a word is not a number or there are more than max. */
int text_doubles(const char *text, double *ret_values, int max);

/* Whether the whole text is of this form: * stands for any text, ? for one character (of UTF-8). Takes at most as many
 * steps as the product of the two lengths. */
bool text_glob(const char *glob, const char *text);

/* The whole file, terminated. *ret_bytes does not count the terminator. Free with free().
 *
 * A pipe or a device is read to its end. Blocks as long as it gives nothing. One that goes on with nothing but zero
 * bytes is not read on. TROUPE_EIO: it cannot be read, is a folder, or changed while it was read. TROUPE_ELIMIT: it is
 * larger than bytes_max. */
troupe_status text_read_file(
	const char *path, size_t bytes_max, char **ret_text, size_t *ret_bytes, struct troupe_error *error);
/* Likewise. One that does not begin so is not read on: the caller has to look, and to refuse it. */
troupe_status text_read_file_of(const char *path, const char *beginning, size_t bytes_max, char **ret_text,
	size_t *ret_bytes, struct troupe_error *error);

#endif
