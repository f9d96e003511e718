/* Barrier clients (troupe/barrier.h) on the server's side. barrier.c has their list, and the turn, which waits for
 * them; barrier_client.c has the hand-over to clients that are threads of this process. */
#ifndef SERVER_BARRIER_H
#define SERVER_BARRIER_H

#include "server/internal.h"

#include <troupe/barrier.h>

struct barriers;
struct member; /* a client that has joined */

struct barriers *barriers_create(struct troupe_server *server);
/* NULL is fine. */
void barriers_destroy(struct barriers *barriers);
/* Call it before a step is decided, on the thread that does the primary's part. Waits for the clients that have a
 * barrier at the present state. A client whose failure ends the run ends the primary of its world. */
void barriers_turn(struct barriers *barriers);

/* Whether clients have joined, which may have a barrier at each state. The same thread. */
bool barriers_are_held(const struct barriers *barriers);

/* For client_call.c: whether the client's messages and calls wait for its barrier. */
bool barrier_collects(const struct troupe_client *client);
/* Keeps a message or request for the client's next barrier. call: of a request, or NULL; it gets its reply in any case,
 * unless this function fails. *ret_step may be NULL; it is the step of the barrier that is open, or else of the last
 * one. */
troupe_status barrier_collect(struct troupe_client *client, const struct troupe_when *when, const char *topic,
	const char *type, const void *bytes, size_t count, struct command_call *call, uint64_t *ret_step,
	struct troupe_error *error);

#endif
