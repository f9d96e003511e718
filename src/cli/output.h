/* Lines on standard output, buffered, whole whoever writes them.
 *
 * Thread: any; a mutex guards the buffer. Lines come between steps, so what waits for it is at worst one step. When
 * the reader is slow, the writer waits, until it is in haste; when the reader has gone, or is not waited for any more,
 * output_failed() says so and what follows is dropped. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "base/outfile.h"

#include <pthread.h>

struct output {
	pthread_mutex_t guard;
	char *buffer;
	size_t count;
	int file;
	outfile_haste_fn haste;
	int error; /* errno of the first write that failed, for outfile_why(); 0: none */
};

/* haste may be NULL. */
void output_init(struct output *output, int file, outfile_haste_fn haste);
/* A line; the newline is added, control characters in it become '?'. */
void output_line(struct output *output, const char *format, ...) TROUPE_PRINTF(2, 3);
void output_text(struct output *output, const char *text);
void output_flush(struct output *output);
/* errno, or 0. */
int output_failed(struct output *output);
/* Flushes. */
void output_fini(struct output *output);

#endif
