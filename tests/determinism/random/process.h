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

enum process_blow { PROCESS_LOSES_CHILD, PROCESS_IS_TOLD_TO_STOP };

/* What happens to the program when it has printed so many lines that begin with `line`: one of its children is killed,
 * or it gets SIGTERM. A program that ends before has been spared. */
struct process_strike {
	enum process_blow blow;
	const char *line;
	uint64_t lines;
	uint32_t child; /* which one, modulo their number */
};

/* Runs argv[0] in a folder, without input. limit_s: wall time. strike: NULL: none. Ends this process when the program
 * cannot be started. */
void process_run(const char *const *argv, const char *folder, double limit_s, const struct process_strike *strike,
	struct process *ret);
void process_fini(struct process *process);

/* The words of a command line, which blanks separate; they point into the copy that *ret_copy owns. */
typedef VEC(const char *) word_list;
void process_words(const char *line, char **ret_copy, word_list *words);

#endif
