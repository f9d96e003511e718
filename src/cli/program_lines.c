/* A program may write without end, or a line without end: memory and the amount of output are bounded, and the reader
 * is told how much is missing. Each byte of a character that must not reach a terminal as it is (base/shown.h)
 * becomes '?', so that a line stays one line and as long as it was. */
#include "cli/program_lines.h"

#include "base/shown.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define S_NS UINT64_C(1000000000)

static bool program_lines_say(struct program_lines *lines, const char *text, int count, uint64_t cut)
{
	char line[PROGRAM_LINE_MAX + 160], more[40] = "";
	if (cut)
		(void)snprintf(more, sizeof more, "... (%" PRIu64 " bytes more)", cut);
	int all = snprintf(line, sizeof line, "[%.80s] %.*s%s\n", lines->name, count, text, more);
	return lines->put(lines->ctx, line, (size_t)all);
}

static void program_lines_tell_left_out(struct program_lines *lines)
{
	char text[80];
	if (!lines->left_out)
		return;
	int count = snprintf(text, sizeof text, "(%" PRIu64 " lines left out)", lines->left_out);
	if (program_lines_say(lines, text, count, 0))
		lines->left_out = 0;
}

static void program_lines_finish(struct program_lines *lines, uint64_t now_ns)
{
	if (now_ns - lines->second_ns >= S_NS) {
		program_lines_tell_left_out(lines);
		lines->second_ns = now_ns;
		lines->in_second = 0;
	}
	if (lines->count && !lines->cut && lines->line[lines->count - 1] == '\r')
		lines->count--;
	for (uint32_t i = 0; i < lines->count;) {
		struct shown_character c = shown_at(lines->line + i, lines->count - i);
		if ((c.hidden || !c.valid) && c.code != '\t')
			memset(lines->line + i, '?', c.bytes);
		i += c.bytes;
	}
	bool few = lines->in_second++ < PROGRAM_LINES_PER_S_MAX;
	if (!few || !program_lines_say(lines, lines->line, (int)lines->count, lines->cut))
		lines->left_out++;
	lines->count = 0;
	lines->cut = 0;
}

void program_lines_take(struct program_lines *lines, const char *bytes, size_t count, uint64_t now_ns)
{
	for (const char *end = bytes + count; bytes < end;) {
		const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
		size_t part = (size_t)((newline ? newline : end) - bytes);
		size_t taken = MIN(part, (size_t)(PROGRAM_LINE_MAX - lines->count));
		memcpy(lines->line + lines->count, bytes, taken);
		lines->count += (uint32_t)taken;
		lines->cut += part - taken;
		bytes += part;
		if (newline) {
			program_lines_finish(lines, now_ns);
			bytes++;
		}
	}
}

void program_lines_end(struct program_lines *lines, uint64_t now_ns)
{
	if (lines->count || lines->cut)
		program_lines_finish(lines, now_ns);
	program_lines_tell_left_out(lines);
}
