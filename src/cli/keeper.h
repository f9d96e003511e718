/* The keeper: a process that starts the programs of a world, passes their output on, starts them again, and ends them.
 *
 * It is forked from the command before there are threads and a world, gets its orders through a pipe, and ends all
 * programs when the pipe is closed: at the end of the run, and also when the command was killed. */
#ifndef CLI_KEEPER_H
#define CLI_KEEPER_H

#include "base/text.h"

#include <sys/types.h>

enum {
	KEEPER_RESTARTS_MAX = 10,  /* of one program */
	KEEPER_RESTART_MS = 250,   /* from the end of a program to its next start */
	KEEPER_GRACE_MS = 200,     /* from the end of the run to SIGTERM: a barrier client knows that the run is over */
	KEEPER_TERM_MS = 2000,     /* from SIGTERM to SIGKILL */
	KEEPER_KILL_MS = 2000,     /* from SIGKILL to giving up */
	KEEPER_VARIABLES_MAX = 32, /* of one program */
};

struct keeper_order { /* one program */
	const char *name;
	const char *path, *folder; /* absolute: of the program, and the folder in which it works */
	const char *const *args;   /* NULL-terminated, without the path */
	/* "NAME=VALUE", or "NAME" for a variable that is taken away; NULL-terminated. The others are those of the
	 * command. */
	const char *const *variables;
	bool restarts; /* after a failure */
};

/* Appends the orders as the keeper reads them. */
void keeper_pack(const struct keeper_order *orders, uint32_t count, struct text *out);

/* Does the keeper's work, in a process of its own with one thread; orders: the reading end of the pipe. Everything that
 * it says and that the programs write goes to standard error. loud: it also says how programs end. over_status: a
 * status line may be on the terminal, and is cleared before each line. */
_Noreturn void keeper_run(int orders, bool loud, bool over_status);

/* In a new process that is to become another program: takes back the handling of signals, makes it the leader of a
 * group, and has it killed when `parent`, which has forked it, ends. Ends it if that is so already. */
void keeper_begin_child(pid_t parent);
/* The program could not be executed: writes errno, an int, for the parent, and ends. */
_Noreturn void keeper_fail_child(int trouble);

#endif
