#include "cli/commands.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const char form[] = "expected STEP TOPIC TEXT";

static char *skip_blanks(char *at)
{
	return at + strspn(at, " \t");
}

/* Cuts a word off; what follows it is *rest. */
static char *cut_word(char *at, char **rest)
{
	char *end = at + strcspn(at, " \t");
	*rest = *end ? skip_blanks(end + 1) : end;
	*end = '\0';
	return at;
}

static bool all_digits(const char *word)
{
	return *word && !word[strspn(word, "0123456789")];
}

/* Takes the quotes off. False: they do not match. */
static bool unquote(char **text)
{
	size_t count = strlen(*text);
	if (**text != '\'')
		return true;
	if (count < 2 || (*text)[count - 1] != '\'' || memchr(*text + 1, '\'', count - 2))
		return false;
	(*text)[count - 1] = '\0';
	++*text;
	return true;
}

static troupe_status parse_line(
	char *at, const char *path, uint32_t number, struct command_line *ret_line, struct troupe_error *error)
{
	struct command_line line = {.line = number};
	char *rest, *step = cut_word(at, &rest);
	if (!all_digits(step) || !text_uint64(step, &line.step))
		return fail(error, TROUPE_ECOMMAND, "%s:%u: step '%s': expected a whole number of 0 or more", path,
			number, step);
	char *topic = cut_word(rest, &rest);
	if (!*topic)
		return fail(error, TROUPE_ECOMMAND, "%s:%u: no topic: %s", path, number, form);
	if (*topic != '/')
		return fail(error, TROUPE_ECOMMAND, "%s:%u: topic '%s': expected one that begins with '/'", path,
			number, topic);
	if (!*rest)
		return fail(error, TROUPE_ECOMMAND, "%s:%u: no text after '%s': %s", path, number, topic, form);
	if (!unquote(&rest))
		return fail(error, TROUPE_ECOMMAND, "%s:%u: %.80s: expected the text in a pair of single quotes", path,
			number, rest);
	line.topic = topic;
	line.text = rest;
	*ret_line = line;
	return TROUPE_OK;
}

static void cut_trailing_blanks(char *line, size_t count)
{
	while (count && strchr(" \t\r", line[count - 1]))
		line[--count] = '\0';
}

static troupe_status parse_lines(struct command_lines *commands, size_t bytes, struct troupe_error *error)
{
	char *at = commands->bytes, *end = at + bytes;
	for (uint32_t number = 1; at < end; number++) {
		char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t count = (size_t)((newline ? newline : end) - at);
		if (count > COMMANDS_LINE_BYTES_MAX)
			return fail(error, TROUPE_ELIMIT, "%s:%u: line of %zu bytes: expected at most %d",
				commands->path, number, count, COMMANDS_LINE_BYTES_MAX);
		if (memchr(at, '\0', count))
			return fail(
				error, TROUPE_ECOMMAND, "%s:%u: a zero byte: expected text", commands->path, number);
		at[count] = '\0';
		cut_trailing_blanks(at, count);
		char *line = skip_blanks(at);
		at += count + 1;
		if (!*line || *line == '#')
			continue;
		if (commands->all.count == COMMANDS_MAX)
			return fail(error, TROUPE_ELIMIT, "%s:%u: too many commands: expected at most %d",
				commands->path, number, COMMANDS_MAX);
		struct command_line command;
		troupe_status status = parse_line(line, commands->path, number, &command, error);
		if (status)
			return status;
		vec_push(&commands->all, command);
	}
	return TROUPE_OK;
}

troupe_status commands_read(const char *path, struct command_lines *commands, struct troupe_error *error)
{
	size_t bytes;
	commands->path = path;
	troupe_status status = text_read_file(path, COMMANDS_FILE_BYTES_MAX, &commands->bytes, &bytes, error);
	return status ? status : parse_lines(commands, bytes, error);
}

troupe_status commands_queue(
	const struct command_lines *commands, struct troupe_server *server, struct troupe_error *error)
{
	for (uint32_t i = 0; i < commands->all.count; i++) {
		const struct command_line *line = &commands->all.at[i];
		struct troupe_error why;
		troupe_status status = troupe_server_command(server, line->step, line->topic, line->text, &why);
		if (status)
			return fail(error, status, "%s:%u: %s", commands->path, line->line, why.text);
	}
	return TROUPE_OK;
}

void commands_fini(struct command_lines *commands)
{
	vec_free(&commands->all);
	free(commands->bytes);
	commands->bytes = NULL;
}
