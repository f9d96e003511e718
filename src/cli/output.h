/* Buffered lines on standard output. Lines of several threads are not mixed.
 *
 * Thread: any; a mutex guards the buffer. Lines are written between steps, so a thread waits for the mutex for one
 * step at most. A write waits for a slow reader, unless `urgency` says otherwise. When the reader has closed its end,
 * or is not waited for any more, output_failed() returns the error and further output is dropped. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "base/outfile.h"

#include <pthread.h>

struct output {
	pthread_mutex_t guard;
	char *buffer;
	size_t count;
	int file;
	outfile_urgency_fn urgency;
	int error; /* errno of the first write that failed, for outfile_why(); 0: none */
};

/* urgency may be NULL. */
void output_init(struct output *output, int file, outfile_urgency_fn urgency);
/* Writes a line: adds the newline, and shows control characters in the line as escapes. */
void output_line(struct output *output, const char *format, ...) TROUPE_PRINTF(2, 3);
void output_text(struct output *output, const char *text);
void output_flush(struct output *output);
/* errno, or 0. */
int output_failed(struct output *output);
/* Flushes. */
void output_fini(struct output *output);

#endif
