/* The lockstep sockets: where barrier clients (troupe/barrier.h) of other processes come in, in any language that can
 * write to a socket. PROTOCOL.md describes what they say.
 *
 * Thread: lockstep_listener_create() and lockstep_listener_destroy() on the caller's; the listener has a thread of its
 * own in between, for clients that come and go. During barriers the thread of the step speaks with the clients itself.
 */
#ifndef GATEWAY_LOCKSTEP_LOCKSTEP_LISTENER_H
#define GATEWAY_LOCKSTEP_LOCKSTEP_LISTENER_H

#include "base/text.h"

struct troupe_server;
struct lockstep_listener;

struct lockstep_listener_options {
	const char *path;    /* of a local socket; NULL: none */
	const char *address; /* of a TCP socket, see base/host_port.h; a port is required, and a host is an address of
			      * this machine, or "localhost" (the default). NULL: none */
	bool insecure;       /* HOST may be other than this machine's loopback */
};

enum { LOCKSTEP_LISTENER_WAITING_MAX = 64 }; /* connections that have not joined */

/* TROUPE_EINVAL: an address that is not one, or that other hosts can reach. TROUPE_EIO: it cannot listen. The server
 * must outlive the listener. */
troupe_status lockstep_listener_create(struct troupe_server *server, const struct lockstep_listener_options *options,
	struct lockstep_listener **ret_listener, struct troupe_error *error);
/* Not while the server runs. Tells all clients that the run has ended. failed: with an error; why: its text. NULL is
 * fine. */
void lockstep_listener_destroy(struct lockstep_listener *listener, bool failed, const char *why);
/* "127.0.0.1:40001": the TCP socket; NULL: there is none. */
const char *lockstep_listener_address(const struct lockstep_listener *listener);
/* "PATH" or "127.0.0.1:40001" or both. */
void lockstep_listener_describe(const struct lockstep_listener *listener, struct text *out);

#endif
