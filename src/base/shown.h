/* Names come from worlds and programs, and are hostile: a control character clears a terminal or begins a new line, and
 * some invisible ones of Unicode reverse the text after them. So whatever a person reads goes through this module,
 * which shows these characters as escapes: \n, \x1b, \u202e. Programs get them as escapes of their format (JSON, XML).
 *
 * Text is UTF-8; a byte that is no part of a character is shown as \x9b. No allocation but for shown_add(). Pure; any
 * thread. */
#ifndef BASE_SHOWN_H
#define BASE_SHOWN_H

#include "base/text.h"

enum { SHOWN_ESCAPE_MAX = 12 }; /* bytes of an escape, with its end */

struct shown_character {
	uint32_t bytes; /* at least 1 */
	uint32_t code;  /* of Unicode; if it is not valid, the byte */
	bool valid;
	bool hidden; /* must be escaped: not valid, a control character, or one that is invisible and changes the text
		      * around it */
};

/* Whether the bytes are UTF-8: the shortest form of each character, no surrogates, none beyond U+10FFFF. */
bool shown_is_utf8(const char *bytes, size_t count);
/* The character at the beginning of the text; count is at least 1. */
struct shown_character shown_at(const char *text, size_t count);
/* The escape of a hidden character. */
void shown_escape(struct shown_character character, char ret_escape[SHOWN_ESCAPE_MAX]);

/* Copies the text as it is shown, terminated, into room bytes. What does not fit is cut off after a whole character.
 * Returns the number of bytes. The two may not overlap. */
size_t shown_copy(char *to, size_t room, const char *text);
void shown_add(struct text *out, const char *text);

#endif
