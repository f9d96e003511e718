/* Memory that test_sweep shares with the library that it preloads. */
#ifndef TESTS_FAULT_INJECT_H
#define TESTS_FAULT_INJECT_H

#include <stdint.h>

enum inject_call {
	INJECT_ALLOC,
	INJECT_OPEN,
	INJECT_READ,
	INJECT_WRITE,
	INJECT_CLOSE,
	INJECT_FSYNC,
	INJECT_FTRUNCATE,
	INJECT_LINK,
	INJECT_RENAME,
	INJECT_UNLINK,
	INJECT_MKDIR,
	INJECT_STAT,
	INJECT_OTHER,
	INJECT_CALLS,
	INJECT_ANY = INJECT_CALLS, /* all calls but those for memory, counted in their order */
};

enum inject_what {
	INJECT_FAIL,
	INJECT_SHORT,     /* every read or write transfers a third of its bytes */
	INJECT_GROW,      /* a file that is read is one byte longer from then on */
	INJECT_KILL_MAIN, /* the process in which main() runs gets SIGKILL */
	INJECT_KILL_SELF, /* the process that makes the call, possibly a helper */
	INJECT_KILL_ALL,
};

struct inject {
	/* written by the test */
	enum inject_call call;
	enum inject_what what;
	int code;         /* errno */
	uint64_t number;  /* of the chosen call, from 1; 0: none */
	uint64_t lasting; /* all calls after the chosen one fail, too */
	uint64_t after;   /* the process is killed after the call, not before */
	uint64_t no_tmpfile;
	/* written by the library */
	uint64_t counts[INJECT_CALLS], all;
	uint64_t met; /* the chosen call was made */
};

#endif
