/* Topics and services for viewers and robot clients of other processes: see PROTOCOL.md. The run's side is relay_host;
 * the viewer's side is remote.h.
 *
 * Thread: relay_host has one of its own, which never waits for a step, nor a step for it. */
#ifndef GATEWAY_RELAY_RELAY_H
#define GATEWAY_RELAY_RELAY_H

#include "base/text.h"
#include "net/key.h"

struct troupe_server;
struct relay_host;

enum {
	RELAY_PORT = 47083,                /* unless told otherwise */
	RELAY_VIEWERS_MAX = 256,           /* at one time */
	RELAY_QUEUE_BYTES_MAX = 300 << 20, /* that wait for one viewer: one of the largest messages */
	RELAY_ROOM_BYTES = 1 << 20,        /* while more wait, no further message is taken for it */
	RELAY_SILENT_S = 5,
	RELAY_STALLED_S = 10,
};

struct relay_options {
	const char *address;   /* [HOST]:PORT, "*" for all interfaces */
	const struct key *key; /* NULL: no encryption. Copied */
	bool insecure;         /* without a key, an address that other hosts can reach is allowed */
};

/* Listens. TROUPE_EINVAL: the address is none, or other hosts can reach it and there is no key; TROUPE_EIO. The server
 * must outlive the host. */
troupe_status relay_host_create(struct troupe_server *server, const struct relay_options *options,
	struct relay_host **ret_host, struct troupe_error *error);
/* Tells all viewers that the run has ended. why: it has failed; NULL: it has not. NULL is fine. */
void relay_host_destroy(struct relay_host *host, const struct troupe_error *why);
/* "127.0.0.1:47083". */
void relay_host_describe(const struct relay_host *host, struct text *out);
/* Whether only programs of this machine can join. */
bool relay_host_is_local(const struct relay_host *host);
/* The number of commands that robot clients have given so far. Any thread. */
uint64_t relay_host_commands(const struct relay_host *host);
/* The number of viewers that have joined so far. Any thread. */
uint64_t relay_host_joined(const struct relay_host *host);

#endif
