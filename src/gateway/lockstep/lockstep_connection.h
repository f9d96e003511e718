/* One connection to the lockstep socket. Until its client has joined it belongs to the thread of the listener; from
 * then on to the thread of the step, which asks it for its answers; when it is over, to the listener's thread again. */
#ifndef GATEWAY_LOCKSTEP_LOCKSTEP_CONNECTION_H
#define GATEWAY_LOCKSTEP_LOCKSTEP_CONNECTION_H

#include "base/text.h"

#include <troupe/barrier.h>

struct lockstep_connection;

/* The connection takes the file over; it must not block. on_over: called on the thread of the step when
 * lockstep_connection_is_over() has become true. */
struct lockstep_connection *lockstep_connection_create(
	struct troupe_server *server, int file, uint64_t now_ns, void (*on_over)(void *ctx), void *ctx);
/* Not while a step may ask it: leaves the lockstep first. why: told to a client that has joined and was not told of an
 * end; NULL: nothing. */
void lockstep_connection_destroy(struct lockstep_connection *connection, bool failed, const char *why);

int lockstep_connection_file(const struct lockstep_connection *connection);
uint64_t lockstep_connection_since_ns(const struct lockstep_connection *connection);

/* Before the client has joined: reads what has come, and joins. */
enum lockstep_connection_state { LOCKSTEP_CONNECTION_WAITS, LOCKSTEP_CONNECTION_JOINED, LOCKSTEP_CONNECTION_GONE };
enum lockstep_connection_state lockstep_connection_hear(struct lockstep_connection *connection);
/* Any thread. Whether the connection is over: the step waits for this client no more. */
bool lockstep_connection_is_over(const struct lockstep_connection *connection);

#endif
