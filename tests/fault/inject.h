/* What test_sweep shares with the library that it preloads. */
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
	INJECT_ANY = INJECT_CALLS, /* each but memory, in the order in which they are made */
};

enum inject_what {
	INJECT_FAIL,
	INJECT_SHORT,     /* every read or write takes a third */
	INJECT_GROW,      /* a file that is read is a byte longer from then on */
	INJECT_KILL_MAIN, /* the process in which main() runs gets SIGKILL */
	INJECT_KILL_SELF, /* the process that makes the call, which may be a helper */
	INJECT_KILL_ALL,
};

struct inject {
	/* by the test */
	enum inject_call call;
	enum inject_what what;
	int code;         /* errno */
	uint64_t number;  /* of the call, from 1; 0: none */
	uint64_t lasting; /* and all after it */
	uint64_t after;   /* killed after the call, not before */
	uint64_t no_tmpfile;
	/* by the library */
	uint64_t counts[INJECT_CALLS], all;
	uint64_t met; /* the chosen call was made */
};

#endif
