/* Barrier clients that take part by calls of services (PROTOCOL.md): a call answers the Step before, and its reply is
 * the next Step. It knows nothing of the transport that carries the calls.
 *
 * Thread: one thread calls these functions, except callers_answer(); `reply` is called on that thread and on the thread
 * of the step. */
#ifndef GATEWAY_LOCKSTEP_CALLERS_H
#define GATEWAY_LOCKSTEP_CALLERS_H

#include "base/base.h"

struct troupe_server;
struct callers;

enum callers_service { CALLERS_JOIN, CALLERS_STEP, CALLERS_LEAVE, CALLERS_SERVICES };

struct callers_row {
	const char *name, *type, *reply_type; /* "/lockstep/join", "troupe.msgs.LockstepJoin" */
};
extern const struct callers_row callers_rows[CALLERS_SERVICES];

/* reply: answers a request, once, with a message in binary form; must not wait and must not call these functions. */
struct callers *callers_create(struct troupe_server *server,
	void (*reply)(void *ctx, uint64_t request, const void *bytes, size_t count), void *ctx);
/* Takes a request, which is answered now or later. request: its number, not 0. connection: by which it came; a client
 * is known only on the connection by which it joined. 0: the transport has none. */
void callers_take(struct callers *callers, enum callers_service service, uint64_t connection, uint64_t request,
	const void *bytes, size_t count);
/* The connection is lost: the clients that joined by it fail at their next barrier, or at the one that is open. */
void callers_lose(struct callers *callers, uint64_t connection);
/* Takes a request of CALLERS_STEP, without a connection, if that needs no reply now: the answer to a barrier that is
 * open. Any thread; quick; does not call `reply`. Not beside callers_destroy(). False: the request is for
 * callers_take(). So a transport spares the hand-over to another thread. */
bool callers_answer(struct callers *callers, uint64_t request, const void *bytes, size_t count);
/* How many clients have joined so far. Any thread. */
uint64_t callers_joined(const struct callers *callers);
/* Tells all that wait that the run has ended, or has failed. Before the server is destroyed. NULL is fine. */
void callers_destroy(struct callers *callers, bool failed, const char *why);

#endif
