/* A line is a whole command: so a quote that is not closed spoils one line, and not all lines after it. The reader has
 * a thread of its own, because a command that creates models is prepared by the thread that gives it, which may take
 * long. The end of the input is not the end of the run: a program may give its commands and end. */
#include "cli/commands_in.h"

#include "base/text.h"
#include "cli/commands.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { COMMANDS_IN_CHUNK_BYTES = 65536, FIRST_CHUNKS_MAX = 1024 }; /* FIRST: before the thread begins */

struct commands_in {
	struct troupe_server *server;
	const char *name;
	void (*complain)(void *ctx, const char *text);
	void *ctx;
	int file, woken; /* woken: an event file, which ends the thread */
	pthread_t thread;
	bool started;
	struct command_form form;
	struct text bytes; /* received bytes, without the lines that were taken */
	uint32_t number;   /* number of lines that have begun */
	bool skipping;     /* the rest of a line that was too long is skipped */
	bool over;         /* the input has ended */
	uint64_t given;
};

/* --- lines -------------------------------------------------------------------------------------------------------- */

/* at: with room for a terminator. */
static void commands_in_take_line(struct commands_in *in, char *at, size_t count)
{
	struct command_line line;
	struct troupe_error error;
	bool has_step;
	troupe_status status =
		commands_parse_line(in->name, ++in->number, &in->form, at, count, &line, &has_step, &error);
	bool given = !status && line.topic;
	if (given)
		status = commands_give(in->server, in->name, &line, has_step, &error);
	in->given += given && !status;
	if (status)
		in->complain(in->ctx, error.text);
}

/* Drops the end of a line that is longer than a command may be. */
static void commands_in_cut_long_line(struct commands_in *in)
{
	struct troupe_error error;
	if (in->bytes.count <= COMMANDS_STATEMENT_BYTES_MAX)
		return;
	if (!in->skipping) {
		(void)fail(&error, TROUPE_ELIMIT, "%s:%u: a line of more than %d bytes: expected no more", in->name,
			++in->number, COMMANDS_STATEMENT_BYTES_MAX);
		in->complain(in->ctx, error.text);
	}
	in->skipping = true;
	in->bytes.count = 0;
}

static void commands_in_take_lines(struct commands_in *in)
{
	char *at = in->bytes.at, *end = at + in->bytes.count, *newline;
	for (; at < end && (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1) {
		if (!in->skipping)
			commands_in_take_line(in, at, (size_t)(newline - at));
		in->skipping = false;
	}
	in->bytes.count = (size_t)(end - at);
	if (in->bytes.count)
		memmove(in->bytes.at, at, in->bytes.count);
	commands_in_cut_long_line(in);
}

static void commands_in_take_end(struct commands_in *in)
{
	if (in->bytes.count && !in->skipping) {
		text_add_bytes(&in->bytes, "", 1); /* room for a terminator */
		commands_in_take_line(in, in->bytes.at, in->bytes.count - 1);
	}
	in->over = true;
}

/* Reads once. Waits only if there is nothing to read. */
static void commands_in_take_some(struct commands_in *in)
{
	char bytes[COMMANDS_IN_CHUNK_BYTES];
	ssize_t count = AGAIN(read(in->file, bytes, sizeof bytes));
	struct troupe_error error;
	if (count > 0) {
		text_add_bytes(&in->bytes, bytes, (size_t)count);
		commands_in_take_lines(in);
	} else if (count == 0) {
		commands_in_take_end(in);
	} else if (errno != EAGAIN) {
		(void)fail(&error, TROUPE_EIO, "%s: cannot read: %s: expected lines of commands", in->name,
			strerror(errno));
		in->complain(in->ctx, error.text);
		in->over = true;
	}
}

/* --- the thread --------------------------------------------------------------------------------------------------- */

/* Waits for timeout_ms, or without end if this is negative. False: there is nothing to read, or the thread is to
 * end. */
static bool commands_in_await_input(struct commands_in *in, int timeout_ms)
{
	struct pollfd polled[] = {{in->file, POLLIN, 0}, {in->woken, POLLIN, 0}};
	return AGAIN(poll(polled, 2, timeout_ms)) > 0 && !polled[1].revents;
}

static void *commands_in_work(void *arg)
{
	struct commands_in *in = arg;
	while (!in->over && commands_in_await_input(in, -1))
		commands_in_take_some(in);
	return NULL;
}

troupe_status commands_in_create(struct troupe_server *server, int file, const char *name,
	void (*complain)(void *ctx, const char *text), void *ctx, struct commands_in **ret_in,
	struct troupe_error *error)
{
	int woken = eventfd(0, EFD_CLOEXEC), failed = 0;
	if (woken < 0)
		return fail(error, TROUPE_ELIMIT, "%s: no event file: %s", name, strerror(errno));
	struct commands_in *in = mem_alloc(sizeof *in);
	*in = (struct commands_in){
		.server = server, .name = name, .complain = complain, .ctx = ctx, .file = file, .woken = woken};
	for (int i = 0; i < FIRST_CHUNKS_MAX && !in->over && commands_in_await_input(in, 0); i++)
		commands_in_take_some(in);
	in->started = !in->over; /* decided here, because from its start on `over` is the thread's */
	if (in->started)
		failed = pthread_create(&in->thread, NULL, commands_in_work, in);
	mem_check_thread(failed);
	if (failed) {
		in->started = false;
		commands_in_destroy(in);
		return fail(error, TROUPE_ELIMIT, "%s: cannot start a thread: %s", name, strerror(failed));
	}
	*ret_in = in;
	return TROUPE_OK;
}

void commands_in_end(struct commands_in *in)
{
	uint64_t one = 1;
	if (!in || !in->started)
		return;
	(void)!write(in->woken, &one, sizeof one);
	pthread_join(in->thread, NULL);
	in->started = false;
}

uint64_t commands_in_given(const struct commands_in *in)
{
	return in ? in->given : 0;
}

void commands_in_destroy(struct commands_in *in)
{
	if (!in)
		return;
	commands_in_end(in);
	close(in->woken);
	text_fini(&in->bytes);
	free(in);
}
