/* First the end of a statement is found, from quotes and comments alone; this reads each byte once. Then its parts
 * are checked. A text without single quotes around it continues on the next line only inside a quoted string of its
 * message. A message that fits on a line never leaves a quote open. */
#include "cli/commands.h"

#include "base/infile.h"
#include "base/parse.h"


#include <troupe/command.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *commands_skip_blanks(char *at)
{
	return at + strspn(at, " \t");
}

/* Terminates the word at `at`; *rest is the text after it. */
static char *commands_cut_word(char *at, char **rest)
{
	char *end = at + strcspn(at, " \t");
	*rest = *end ? commands_skip_blanks(end + 1) : end;
	*end = '\0';
	return at;
}

static bool commands_all_digits(const char *word)
{
	return *word && !word[strspn(word, "0123456789")];
}

/* Removes the quotes. False: they do not match. A message begins with a field name, so a text of two double quotes
 * can only be the empty message, as a shell's "". */
static bool commands_unquote(char **text)
{
	size_t count = strlen(*text);
	if (!strcmp(*text, "\"\""))
		*text += count;
	if (**text != '\'')
		return true;
	if (count < 2 || (*text)[count - 1] != '\'' || memchr(*text + 1, '\'', count - 2))
		return false;
	(*text)[count - 1] = '\0';
	++*text;
	return true;
}

static troupe_status commands_read_step(
	const char *word, const char *path, struct command_line *line, struct troupe_error *error)
{
	if (line->timed && parse_double(word, &line->time_s) && line->time_s >= 0 && isfinite(line->time_s))
		return TROUPE_OK;
	if (line->timed)
		return fail(error, TROUPE_ECOMMAND, "%s:%u: time '%.80s': expected a number of seconds, 0 or more",
			path, line->line, word);
	if (commands_all_digits(word) && parse_uint64(word, &line->step))
		return TROUPE_OK;
	return fail(error, TROUPE_ECOMMAND, "%s:%u: step '%.80s': expected a whole number of 0 or more%s", path,
		line->line, word, strchr(word, '.') ? "; for seconds, a first line 'time: simulated'" : "");
}

/* has_step: false if the line begins with its topic. */
static troupe_status commands_parse_text(char *at, const char *path, uint32_t number, bool timed, bool has_step,
	struct command_line *ret_line, struct troupe_error *error)
{
	struct command_line line = {.line = number, .timed = timed && has_step};
	char *rest = at;
	troupe_status status = TROUPE_OK;
	if (has_step)
		status = commands_read_step(commands_cut_word(at, &rest), path, &line, error);
	if (status)
		return status;
	char *topic = commands_cut_word(rest, &rest);
	if (!*topic)
		return fail(error, TROUPE_ECOMMAND, "%s:%u: no topic: expected %s TOPIC TEXT", path, number,
			timed ? "SECONDS" : "STEP");
	if (*topic != '/')
		return fail(error, TROUPE_ECOMMAND, "%s:%u: topic '%.150s': expected a topic that begins with '/'",
			path, number, topic);
	for (char *end = topic + strlen(topic) - 1; end > topic && *end == '/'; end--)
		*end = '\0'; /* Gazebo's programs take such names */
	if (!commands_unquote(&rest))
		return fail(error, TROUPE_ECOMMAND, "%s:%u: %.80s: expected the text in a pair of single quotes", path,
			number, rest);
	line.topic = topic;
	line.text = rest;
	*ret_line = line;
	return TROUPE_OK;
}

static void commands_cut_trailing_blanks(char *line, size_t count)
{
	while (count && strchr(" \t\r", line[count - 1]))
		line[--count] = '\0';
}

/* Whether the statement says to what the others are bound. It is cut into words then. */
static bool commands_is_head(char *at)
{
	return !strncmp(at, "time:", 5) && strchr(" \t", at[5]); /* also '\0' */
}

static troupe_status commands_read_head(
	char *at, const char *path, uint32_t number, struct command_form *form, struct troupe_error *error)
{
	char *rest, *word;
	(void)commands_cut_word(at, &rest);
	word = commands_cut_word(rest, &rest);
	bool timed = !strcmp(word, "simulated");
	if (*rest || (!timed && strcmp(word, "steps") != 0))
		return fail(error, TROUPE_ECOMMAND,
			"%s:%u: time: '%.80s%s%.80s': expected 'time: simulated' or 'time: steps'", path, number, word,
			*rest ? " " : "", rest);
	if (form->begun)
		return fail(error, TROUPE_ECOMMAND, "%s:%u: 'time: %s' after a command: expected it before the first",
			path, number, word);
	*form = (struct command_form){.begun = true, .timed = timed};
	return TROUPE_OK;
}

/* --- where a statement ends --------------------------------------------------------------------------------------- */

static char *commands_line_end(char *at, char *end)
{
	char *newline = memchr(at, '\n', (size_t)(end - at));
	return newline ? newline : end;
}

/* The place after the quote that closes the one at `at`; NULL: it is not closed. */
static char *commands_skip_quoted(char *at, char *end, bool escapes)
{
	for (char quote = *at++; at < end; at++) {
		if (*at == quote)
			return at + 1;
		at += escapes && *at == '\\';
	}
	return NULL;
}

/* The end of the text at `at`; NULL: a quote is not closed. */
static char *commands_text_end(char *at, char *end)
{
	if (at < end && *at == '\'') {
		at = commands_skip_quoted(at, end, false);
		return at ? commands_line_end(at, end) : NULL;
	}
	while (at < end && *at != '\n') {
		if (*at == '#')
			return commands_line_end(at, end);
		at = *at == '"' || *at == '\'' ? commands_skip_quoted(at, end, true) : at + 1;
		if (!at)
			return NULL;
	}
	return at;
}

/* words: the number of words before the text. */
static char *commands_statement_end(char *at, char *end, int words)
{
	at = commands_skip_blanks(at);
	if (*at == '#')
		return commands_line_end(at, end);
	while (words--)
		at = commands_skip_blanks(at + strcspn(at, " \t\n"));
	return commands_text_end(at, end);
}

static uint32_t commands_count_lines(const char *at, const char *end)
{
	uint32_t count = 0;
	while ((at = memchr(at, '\n', (size_t)(end - at)))) {
		at++;
		count++;
	}
	return count;
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

/* The statement at `at`, without blanks around it; *ret_line is NULL if it is empty or a comment. number: the number of
 * its first line. */
static troupe_status commands_cut_statement(
	const char *path, uint32_t number, char *at, size_t count, char **ret_line, struct troupe_error *error)
{
	if (count > COMMANDS_STATEMENT_BYTES_MAX)
		return fail(error, TROUPE_ELIMIT, "%s:%u: a command of %zu bytes: expected at most %d", path, number,
			count, COMMANDS_STATEMENT_BYTES_MAX);
	if (memchr(at, '\0', count))
		return fail(error, TROUPE_ECOMMAND, "%s:%u: a zero byte: expected text", path, number);
	at[count] = '\0';
	commands_cut_trailing_blanks(at, count);
	char *line = commands_skip_blanks(at);
	*ret_line = *line && *line != '#' ? line : NULL;
	return TROUPE_OK;
}

static troupe_status commands_fail_open(const char *path, uint32_t number, struct troupe_error *error)
{
	return fail(error, TROUPE_ECOMMAND, "%s:%u: a quote in the text is not closed: expected its end", path, number);
}

static troupe_status commands_parse_statement(struct command_lines *commands, char *at, size_t count, uint32_t number,
	bool is_open, struct troupe_error *error)
{
	struct command_line command;
	char *line;
	troupe_status status = commands_cut_statement(commands->path, number, at, count, &line, error);
	if (status || !line)
		return status;
	if (commands_is_head(line))
		return commands_read_head(line, commands->path, number, &commands->form, error);
	commands->form.begun = true;
	if (commands->all.count == COMMANDS_MAX)
		return fail(error, TROUPE_ELIMIT, "%s:%u: too many commands: expected at most %d", commands->path,
			number, COMMANDS_MAX);
	status = commands_parse_text(line, commands->path, number, commands->form.timed, true, &command, error);
	if (status)
		return status;
	if (is_open)
		return commands_fail_open(commands->path, number, error);
	vec_push(&commands->all, command);
	return TROUPE_OK;
}

troupe_status commands_parse(
	const char *path, char *bytes, size_t count, struct command_lines *commands, struct troupe_error *error)
{
	commands->path = path;
	commands->bytes = bytes;
	uint32_t number = 1;
	for (char *at = bytes, *end = bytes + count; at < end;) {
		char *stop = commands_statement_end(at, end, 2);
		bool is_open = !stop;
		if (is_open)
			stop = commands_line_end(at, end); /* the rest of the line may have a more important error */
		uint32_t lines = commands_count_lines(at, stop) + 1;
		troupe_status status =
			commands_parse_statement(commands, at, (size_t)(stop - at), number, is_open, error);
		if (status)
			return status;
		at = stop + 1;
		number += lines;
	}
	return TROUPE_OK;
}

troupe_status commands_parse_line(const char *name, uint32_t number, struct command_form *form, char *at, size_t count,
	struct command_line *ret_line, bool *ret_has_step, struct troupe_error *error)
{
	at[count] = '\0';
	bool has_step = *commands_skip_blanks(at) != '/',
	     is_open = !commands_statement_end(at, at + count, has_step ? 2 : 1);
	char *line;
	troupe_status status = commands_cut_statement(name, number, at, count, &line, error);
	*ret_line = (struct command_line){.line = number};
	*ret_has_step = has_step;
	if (status || !line)
		return status;
	if (commands_is_head(line))
		return commands_read_head(line, name, number, form, error);
	form->begun = true;
	status = commands_parse_text(line, name, number, form->timed, has_step, ret_line, error);
	if (!status && is_open)
		status = commands_fail_open(name, number, error);
	return status;
}

troupe_status commands_read(const char *path, struct command_lines *commands, struct troupe_error *error)
{
	char *bytes;
	size_t count;
	troupe_status status = infile_read(path, COMMANDS_FILE_BYTES_MAX, &bytes, &count, error);
	return status ? status : commands_parse(path, bytes, count, commands, error);
}

static int commands_by_step(const void *a, const void *b)
{
	const struct command_line *x = *(const struct command_line *const *)a;
	const struct command_line *y = *(const struct command_line *const *)b;
	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	if (x->time_s != y->time_s)
		return x->time_s < y->time_s ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* Sorts by step or time, and of one step or time in the order of the file. The server must get a creation before
 * commands to topics that exist only after the creation. */
static const struct command_line **commands_in_order(const struct command_lines *commands)
{
	const struct command_line **order = mem_alloc((commands->all.count + 1) * sizeof(const struct command_line *));
	bool sorted = true;
	for (uint32_t i = 0; i < commands->all.count; i++) {
		order[i] = &commands->all.at[i];
		sorted = sorted && (!i || commands_by_step(&order[i - 1], &order[i]) <= 0);
	}
	if (!sorted)
		qsort(order, commands->all.count, sizeof(const struct command_line *), commands_by_step);
	return order;
}

troupe_status commands_give(struct troupe_server *server, const char *name, const struct command_line *line,
	bool has_step, struct troupe_error *error)
{
	struct troupe_when when = {.step = line->step};
	struct troupe_error why;
	troupe_status status =
		line->timed ? troupe_command_timed(server, line->time_s, line->topic, line->text, &why)
			    : troupe_command_text(server, has_step ? &when : NULL, line->topic, line->text, NULL, &why);
	return status ? fail(error, status, "%s:%u: %s", name, line->line, why.text) : TROUPE_OK;
}

troupe_status commands_queue(
	const struct command_lines *commands, struct troupe_server *server, struct troupe_error *error)
{
	const struct command_line **order = commands_in_order(commands);
	troupe_status status = TROUPE_OK;
	for (uint32_t i = 0; i < commands->all.count && !status; i++)
		status = commands_give(server, commands->path, order[i], true, error);
	free(order);
	return status;
}

void commands_fini(struct command_lines *commands)
{
	vec_free(&commands->all);
	free(commands->bytes);
	commands->bytes = NULL;
}
