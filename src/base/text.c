/* Numbers are printed in the C locale, whatever the locale of the process is. */
#include "base/text.h"

#include "base/c_locale.h"
#include "base/shown.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_reserve(struct text *text, size_t more)
{
	if (text->count + more + 1 <= text->room)
		return;
	size_t room = text->room ? text->room : 64;
	while (room < text->count + more + 1)
		room *= 2;
	text->at = mem_realloc(text->at, room);
	text->room = room;
}

void text_add_bytes(struct text *text, const char *bytes, size_t count)
{
	text_reserve(text, count);
	if (count) /* no bytes may have no address */
		memcpy(text->at + text->count, bytes, count);
	text->count += count;
	text->at[text->count] = '\0';
}

void text_add_v(struct text *text, const char *format, va_list args)
{
	va_list again;
	locale_t before = uselocale(c_locale_get());
	va_copy(again, args);
	int length = vsnprintf(NULL, 0, format, args);
	if (length < 0)
		mem_run_out(0);
	text_reserve(text, (size_t)length);
	vsnprintf(text->at + text->count, (size_t)length + 1, format, again);
	text->count += (size_t)length;
	va_end(again);
	uselocale(before);
}

void text_add(struct text *text, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	text_add_v(text, format, args);
	va_end(args);
}

void text_add_json(struct text *text, const char *string)
{
	text_add_bytes(text, "\"", 1);
	for (size_t count = strlen(string); count;) {
		struct shown_character c = shown_at(string, count);
		if (c.code == '"' || c.code == '\\')
			text_add(text, "\\%c", (char)c.code);
		else if (!c.valid)
			text_add(text, "\\ufffd");
		else if (c.hidden && c.code >= 0x10000)
			text_add(
				text, "\\u%04x\\u%04x", 0xd800 + ((c.code - 0x10000) >> 10), 0xdc00 + (c.code & 0x3ff));
		else if (c.hidden)
			text_add(text, "\\u%04x", c.code);
		else
			text_add_bytes(text, string, c.bytes);
		string += c.bytes;
		count -= c.bytes;
	}
	text_add_bytes(text, "\"", 1);
}

void text_fini(struct text *text)
{
	free(text->at);
	*text = (struct text){0};
}
