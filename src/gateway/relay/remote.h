/* The viewer's side of PROTOCOL.md: a run of another process as a bus. Only a robot client gives commands.
 *
 * A thread of its own receives messages, of which the oldest are lost when REMOTE_BYTES_MAX wait to be taken. */
#ifndef GATEWAY_RELAY_REMOTE_H
#define GATEWAY_RELAY_REMOTE_H

#include "gateway/bus.h"
#include "gateway/relay/relay.h"

enum { REMOTE_BYTES_MAX = 256 << 20 };

struct remote_options {
	const char *address; /* HOST[:PORT] */
	/* The robot client whose process this is: topics and services have its name before theirs, and messages and
	 * requests for its models are taken. NULL: a viewer. */
	const char *client;
	const char *ticket;    /* of the client: hexadecimal digits; NULL: none */
	const struct key *key; /* NULL: none. Copied */
	uint32_t depth;        /* messages that wait to be taken; 0: any number */
	uint32_t wait_ms;      /* for the run to let this process in; 0: 5 s */
	bus_ready on_ready;    /* may be NULL */
	void *ctx;
};

/* Blocks until the run has let this process in, for at most wait_ms, and tries again during this time while no process
 * listens at the address. TROUPE_EINVAL: the address is not valid; TROUPE_EPEER: the run cannot be reached;
 * TROUPE_EPROTOCOL: the run refuses this process, with the reason. */
troupe_status remote_connect(const struct remote_options *options, struct bus **ret_bus, struct troupe_error *error);
/* The same for a run as a program describes it, from which address, client and key are taken, and not from options.
 * Other errors: TROUPE_EIO, TROUPE_EINVAL: the key cannot be read. */
troupe_status remote_connect_run(const struct troupe_view_run *run, const struct remote_options *options,
	struct bus **ret_bus, struct troupe_error *error);
/* Whether the connection is over, with the reason: TROUPE_OK, the run has ended; TROUPE_EINTERNAL, it has failed;
 * TROUPE_EPEER, it was lost. Any thread. on_ready was called for it. Messages that came before can still be taken. */
bool remote_is_over(struct bus *bus, struct troupe_error *ret_why);

#endif
