/* Runs a program and keeps its output. */
#ifndef RANDOM_PROCESS_H
#define RANDOM_PROCESS_H

#include "base/text.h"

enum { PROCESS_HANGS = 1000 };

struct process {
	char *out, *err; /* end with a zero byte */
	int status;      /* exit status; 128 plus the signal that ended it; PROCESS_HANGS: it had to be killed */
	double cpu_s;    /* of the process and of the processes that it waited for */
};

/* Runs argv[0] in a folder, without input. limit_s: wall time. Ends this process when the program cannot be started. */
void process_run(const char *const *argv, const char *folder, double limit_s, struct process *ret);
void process_fini(struct process *process);

/* The words of a command line, which blanks separate; they point into the copy that *ret_copy owns. */
typedef VEC(const char *) word_list;
void process_words(const char *line, char **ret_copy, word_list *words);

#endif
