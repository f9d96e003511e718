/* Text that grows, independent of the process's locale. */
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

#endif
