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
void text_add_v(struct text *text, const char *format, va_list args) TROUPE_PRINTF(2, 0);
/* Makes room for so many bytes more, and a terminator. */
void text_reserve(struct text *text, size_t more);
void text_add_bytes(struct text *text, const char *bytes, size_t count);
/* The shortest decimal form that reads back as the same double ("nan" and "inf" as such). */
void text_add_double(struct text *text, double value);
/* A JSON string with quotes. Characters that a person must not see as they are (base/shown.h) become \u escapes, and
 * bytes that are no part of a character \ufffd. */
void text_add_json(struct text *text, const char *string);
void text_fini(struct text *text);
/* Whether the bytes are UTF-8: the shortest form of each character, no surrogates, none beyond U+10FFFF. */
bool text_is_utf8(const char *bytes, size_t count);

/* Whole-word parsers: false when text is not exactly one such number (blanks around it are allowed).
 * text_double takes what strtod takes in the C locale, "inf" and "nan" included: callers decide what is sane. */
bool text_double(const char *text, double *ret_value);
bool text_int64(const char *text, int64_t *ret_value);
bool text_uint64(const char *text, uint64_t *ret_value);
bool text_bool(const char *text, bool *ret_value); /* true false 1 0, any case */
/* Up to max numbers separated by blanks; the count, or -1 when a word is not a number or there are more than max. */
int text_doubles(const char *text, double *ret_values, int max);

/* Whether the whole text matches: * stands for any text, ? for one UTF-8 character. Takes at most as many steps as
 * the product of the two lengths. */
bool text_glob(const char *glob, const char *text);

/* How many bytes have to be inserted, removed or replaced to make one text of the other. The first 127 bytes of each
 * count. */
uint32_t text_distance(const char *one, const char *other);

/* Reads a whole file and terminates it. *ret_bytes does not count the terminator. Free with free().
 *
 * A pipe or a device is read to its end; the call blocks while it gives nothing. Reading stops when a pipe or device
 * gives only zero bytes. TROUPE_EIO: the file cannot be read, is a folder, or changed while it was read.
 * TROUPE_ELIMIT: the file is larger than bytes_max. */
troupe_status text_read_file(
	const char *path, size_t bytes_max, char **ret_text, size_t *ret_bytes, struct troupe_error *error);
/* The same, but reading stops early when the file does not begin with `beginning`, still with TROUPE_OK: the caller
 * has to check the beginning and refuse the file. */
troupe_status text_read_file_of(const char *path, const char *beginning, size_t bytes_max, char **ret_text,
	size_t *ret_bytes, struct troupe_error *error);
/* For paths that others choose: never blocks, and reads only files that have a size. A pipe, a device, an empty file,
 * or one of the files that the kernel makes up while they are read (/proc, /sys) is TROUPE_EIO. */
troupe_status text_read_plain(const char *path, const char *beginning, size_t bytes_max, char **ret_text,
	size_t *ret_bytes, struct troupe_error *error);
/* In two calls. Opens such a file; *ret_file is closed by the caller. Then reads it; path: for messages. */
troupe_status text_open_plain(const char *path, int *ret_file, struct troupe_error *error);
troupe_status text_read_open(
	int file, const char *path, size_t bytes_max, char **ret_text, size_t *ret_bytes, struct troupe_error *error);

#endif
