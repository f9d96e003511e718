/* Servers whose secondaries are processes: the bench's own program, executed again. Between the two ends may be a relay
 * that holds each byte back, as a long line does. Each function ends the bench with a message when something fails. */
#ifndef BENCH_REMOTE_H
#define BENCH_REMOTE_H

#include <troupe/server.h>

enum { REMOTE_SECONDARIES = 2, REMOTE_SECONDARIES_MAX = 64, REMOTE_STALE_MS = 60000 };

struct remote {
	struct troupe_server *server;
	int processes[2 * REMOTE_SECONDARIES_MAX], count; /* of secondaries and relays */
};

struct remote_def {
	const char *world;        /* as text; NULL: see path */
	const char *path;         /* a file, which may name others beside it */
	int secondaries, threads; /* threads: of each secondary */
	const char *key;          /* a file: over TLS, found by its address; NULL: over sockets that they inherit */
	int delay_us;             /* each way; only without a key */
	uint32_t window;          /* as in struct troupe_server_def */
	bool load_all;            /* the same */
};

/* To be called first in main(): does not return in the process of a secondary. */
void remote_main(int argc, char **argv);
struct remote remote_start(const struct remote_def *def);
void remote_end(struct remote *remote);

#endif
