/* Barrier clients of `troupe run`: the sockets through which they join, and the wait for clients before the run. */
#ifndef CLI_LOCKSTEP_H
#define CLI_LOCKSTEP_H

#include "cli/options.h"

struct troupe_server;
struct lockstep_listener;

struct lockstep_settings {
	const char *socket, *listen; /* NULL: none */
	bool insecure;
	struct option_list wait_for;
	double wait_s;     /* 0: for ever */
	double deadline_s; /* the longest that a client may ask for */
};

/* open: clients can join without a socket, through a gateway. note: called with a line that names the sockets and the
 * clients for which the run waits. *ret_listener is NULL if no option asks for a socket. TROUPE_EINVAL: the run would
 * wait for clients that cannot join. */
troupe_status lockstep_start(const struct lockstep_settings *settings, struct troupe_server *server, bool open,
	void (*note)(void *ctx, const char *text), void *ctx, struct lockstep_listener **ret_listener,
	struct troupe_error *error);
/* Waits until all clients have joined, or until the run is to stop. */
troupe_status lockstep_await(
	const struct lockstep_settings *settings, struct troupe_server *server, struct troupe_error *error);
/* The address of the TCP socket; NULL: there is none. */
const char *lockstep_address(const struct lockstep_listener *listener);
/* status: of the run; error: set if the run failed. */
void lockstep_end(struct lockstep_listener *listener, troupe_status status, const struct troupe_error *error);

#endif
