/* Running a program and keeping what it says. */
#ifndef RANDOM_PROCESS_H
#define RANDOM_PROCESS_H

#include "base/text.h"

enum { PROCESS_HANGS = 1000 };

struct process {
	char *out, *err; /* terminated */
	int status;      /* exit status; 128 and the signal that ended it; PROCESS_HANGS: it had to be killed */
	double cpu_s;    /* of it and of the processes that it waited for */
};

/* Runs argv[0] in a folder with no input. limit_s: of wall time. Ends this process when it cannot be started. */
void process_run(const char *const *argv, const char *folder, double limit_s, struct process *ret);
void process_fini(struct process *process);

/* The words of a command line, parted by blanks; they point into the copy that *ret_copy owns. */
typedef VEC(const char *) word_list;
void process_words(const char *line, char **ret_copy, word_list *words);

#endif
