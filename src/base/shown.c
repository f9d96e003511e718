/* One table of what is hidden, so that no output forgets a kind of character. The page of the viewer has the same one
 * (src/web/page.js). A character that was cut in the middle, as printf("%.80s") does, is not hostile: it becomes '?'.
 */
#include "base/shown.h"

#include <stdio.h>
#include <string.h>

static bool shown_is_hidden(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = {{0, 0x1f}, {0x7f, 0x9f},                                        /* control characters */
		{0x61c, 0x61c}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f}, /* lines, directions, no width */
		{0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xfffe, 0xffff}, /* no character; XML forbids them */
		{0xe0000, 0xe007f}};
	for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
		if (code >= hidden[i].first && code <= hidden[i].last)
			return true;
	return false;
}

/* How many bytes a character has by its first byte; 0: no character begins with it. */
static uint32_t shown_length(unsigned char first)
{
	return first < 0x80                    ? 1
	       : first >= 0xc2 && first < 0xe0 ? 2
	       : (first & 0xf0) == 0xe0        ? 3
	       : first >= 0xf0 && first < 0xf5 ? 4
					       : 0;
}

struct shown_character shown_at(const char *text, size_t count)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}, mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	unsigned char first = (unsigned char)*text;
	struct shown_character out = {.bytes = 1, .code = first, .hidden = true};
	uint32_t length = shown_length(first), at = 1;
	uint32_t code = length ? first & mask[length] : 0;
	while (at < length && at < count && ((unsigned char)text[at] & 0xc0) == 0x80)
		code = code << 6 | ((unsigned char)text[at++] & 0x3f);
	if (length && at < length) /* cut in the middle */
		return (struct shown_character){.bytes = at, .code = '?', .valid = false, .hidden = false};
	bool surrogate = code >= 0xd800 && code <= 0xdfff;
	if (!length || code < least[length] || code > 0x10ffff || surrogate)
		return out;
	return (struct shown_character){.bytes = length, .code = code, .valid = true, .hidden = shown_is_hidden(code)};
}

bool shown_is_utf8(const char *bytes, size_t count)
{
	for (size_t at = 0; at < count;) {
		if ((unsigned char)bytes[at] < 0x80) { /* nearly all */
			at++;
			continue;
		}
		struct shown_character character = shown_at(bytes + at, count - at);
		if (!character.valid)
			return false;
		at += character.bytes;
	}
	return true;
}

void shown_escape(struct shown_character character, char ret_escape[SHOWN_ESCAPE_MAX])
{
	unsigned code = character.code;
	if (character.valid && (code == '\n' || code == '\t' || code == '\r'))
		(void)snprintf(ret_escape, SHOWN_ESCAPE_MAX, "\\%c", code == '\n' ? 'n' : code == '\t' ? 't' : 'r');
	else if (!character.valid || code < 0x80)
		(void)snprintf(ret_escape, SHOWN_ESCAPE_MAX, "\\x%02x", code & 0xff);
	else if (code < 0x10000)
		(void)snprintf(ret_escape, SHOWN_ESCAPE_MAX, "\\u%04x", code);
	else
		(void)snprintf(ret_escape, SHOWN_ESCAPE_MAX, "\\U%08x", code);
}

/* The bytes that stand for the next character of the text; *ret_bytes: those of the text. */
static size_t shown_next(const char *text, size_t count, char ret_shown[SHOWN_ESCAPE_MAX], uint32_t *ret_bytes)
{
	struct shown_character character = shown_at(text, count);
	*ret_bytes = character.bytes;
	if (character.hidden) {
		shown_escape(character, ret_shown);
		return strlen(ret_shown);
	}
	if (!character.valid) {
		*ret_shown = '?';
		return 1;
	}
	memcpy(ret_shown, text, character.bytes);
	return character.bytes;
}

size_t shown_copy(char *to, size_t room, const char *text)
{
	size_t used = 0, count = strlen(text);
	while (count) {
		char shown[SHOWN_ESCAPE_MAX];
		uint32_t bytes;
		size_t wanted = shown_next(text, count, shown, &bytes);
		if (used + wanted >= room)
			break;
		memcpy(to + used, shown, wanted);
		used += wanted;
		text += bytes;
		count -= bytes;
	}
	to[used] = '\0';
	return used;
}

void shown_add(struct text *out, const char *text)
{
	for (size_t count = strlen(text); count;) {
		char shown[SHOWN_ESCAPE_MAX];
		uint32_t bytes;
		size_t wanted = shown_next(text, count, shown, &bytes);
		text_add_bytes(out, shown, wanted);
		text += bytes;
		count -= bytes;
	}
}
