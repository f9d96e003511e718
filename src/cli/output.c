/* Several threads write lines to standard output. A mutex guards the buffer, and a line is formatted before the
 * mutex is taken, so that a line is never split and the mutex is held for a short time. Text longer than the buffer
 * is written directly. After the first write error all further output is dropped. */
#include "cli/output.h"

#include "base/shown.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUTPUT_BUFFER_BYTES = 1 << 16, OUTPUT_LINE_BYTES = 2048 };

void output_init(struct output *output, int file, outfile_urgency_fn urgency)
{
	*output = (struct output){.file = file, .urgency = urgency, .buffer = mem_alloc(OUTPUT_BUFFER_BYTES)};
	pthread_mutex_init(&output->guard, NULL);
}

static void output_write_all(struct output *output, const char *at, size_t count)
{
	const struct outfile_options options = {.urgency = output->urgency};
	if (!output->error)
		output->error = outfile_put(output->file, at, count, &options);
}

/* the caller holds `guard` in the next two functions */
static void output_flush_now(struct output *output)
{
	output_write_all(output, output->buffer, output->count);
	output->count = 0;
}

static void output_add(struct output *output, const char *at, size_t count)
{
	if (count > OUTPUT_BUFFER_BYTES - output->count)
		output_flush_now(output);
	if (count > OUTPUT_BUFFER_BYTES) {
		output_write_all(output, at, count);
		return;
	}
	memcpy(output->buffer + output->count, at, count);
	output->count += count;
}

void output_line(struct output *output, const char *format, ...)
{
	char text[OUTPUT_LINE_BYTES] = "", line[OUTPUT_LINE_BYTES];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	size_t count = shown_copy(line, sizeof line, text);
	line[count] = '\n';
	pthread_mutex_lock(&output->guard);
	output_add(output, line, count + 1);
	pthread_mutex_unlock(&output->guard);
}

void output_text(struct output *output, const char *text)
{
	pthread_mutex_lock(&output->guard);
	output_add(output, text, strlen(text));
	pthread_mutex_unlock(&output->guard);
}

void output_flush(struct output *output)
{
	pthread_mutex_lock(&output->guard);
	output_flush_now(output);
	pthread_mutex_unlock(&output->guard);
}

int output_failed(struct output *output)
{
	pthread_mutex_lock(&output->guard);
	int error = output->error;
	pthread_mutex_unlock(&output->guard);
	return error;
}

void output_fini(struct output *output)
{
	output_flush(output);
	pthread_mutex_destroy(&output->guard);
	free(output->buffer);
}
