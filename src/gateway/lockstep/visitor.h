/* One connection to the lockstep socket. Until its client has joined it belongs to the thread of the entrance; from
 * then on to the thread of the step, which asks it for its answers; when it is over, to the entrance's thread again. */
#ifndef GATEWAY_LOCKSTEP_VISITOR_H
#define GATEWAY_LOCKSTEP_VISITOR_H

#include "base/text.h"

#include <troupe/barrier.h>

struct visitor;

/* The visitor takes the file over; it must not block. on_over: called on the thread of the step when visitor_is_over()
 * has become true. */
struct visitor *visitor_create(
	struct troupe_server *server, int file, uint64_t now_ns, void (*on_over)(void *ctx), void *ctx);
/* Not while a step may ask it: leaves the lockstep first. why: told to a client that has joined and was not told of an
 * end; NULL: nothing. */
void visitor_destroy(struct visitor *visitor, bool failed, const char *why);

int visitor_file(const struct visitor *visitor);
uint64_t visitor_since_ns(const struct visitor *visitor);

/* Before the client has joined: reads what has come, and joins. */
enum visitor_state { VISITOR_WAITS, VISITOR_JOINED, VISITOR_GONE };
enum visitor_state visitor_hear(struct visitor *visitor);
/* Any thread. Whether the connection is over: the step waits for this client no more. */
bool visitor_is_over(const struct visitor *visitor);

#endif
