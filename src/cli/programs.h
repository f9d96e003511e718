/* The programs of a world, as `troupe run` sees them: found before the run, started with it, ended after it. They are
 * children of the keeper (keeper.h). Only the process of the primary has programs. */
#ifndef CLI_PROGRAMS_H
#define CLI_PROGRAMS_H

#include "cli/gateways.h"

struct troupe_server;
struct programs;

/* Where programs find the run; NULL or "": not there. */
struct programs_place {
	const char *lockstep_socket;      /* path */
	const char *lockstep_address;     /* "HOST:PORT" */
	struct gateways_addresses others; /* of the gateways */
};

/* Makes the keeper. Call it before the world is loaded. TROUPE_ELIMIT: no process can be started. */
troupe_status programs_create(bool loud, struct programs **ret_programs, struct troupe_error *error);
/* Finds the files of all programs of the server's worlds. TROUPE_EWORLD with file:line: one cannot be executed. */
troupe_status programs_find(struct programs *programs, const struct troupe_server *server, struct troupe_error *error);
/* Starts them. TROUPE_EIO: the keeper has ended. The server must live until then. */
troupe_status programs_start(struct programs *programs, const struct troupe_server *server,
	const struct programs_place *place, struct troupe_error *error);
/* The run has ended: the programs are given a moment, then SIGTERM, then SIGKILL. Does not wait. */
void programs_stop(struct programs *programs);
/* The same, and waits until they have ended, for a bounded time. NULL is fine. */
void programs_destroy(struct programs *programs);

/* Says for each world in one line which of its programs are not started. */
void programs_warn(const struct troupe_server *server, void (*warn)(void *ctx, const char *text), void *ctx);

#endif
