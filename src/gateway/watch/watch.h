/* Viewers of other processes: see PROTOCOL.md. The run's side is watch_host; the viewer's side is remote.h.
 *
 * Thread: watch_host has one of its own, which never waits for a step, nor a step for it. */
#ifndef GATEWAY_WATCH_WATCH_H
#define GATEWAY_WATCH_WATCH_H

#include "base/text.h"
#include "net/key.h"

struct troupe_server;
struct watch_host;

enum {
	WATCH_PORT = 47083,                /* unless told otherwise */
	WATCH_VIEWERS_MAX = 256,           /* at one time */
	WATCH_QUEUE_BYTES_MAX = 300 << 20, /* that wait for one viewer: one of the largest messages */
	WATCH_ROOM_BYTES = 1 << 20,        /* while more wait, no further message is taken for it */
	WATCH_SILENT_S = 5,
	WATCH_STALLED_S = 10,
};

struct watch_options {
	const char *address;   /* [HOST]:PORT, "*" for all interfaces */
	const struct key *key; /* NULL: no encryption. Copied */
	bool insecure;         /* without a key, an address that other hosts can reach is allowed */
};

/* Listens. TROUPE_EINVAL: the address is none, or other hosts can reach it and there is no key; TROUPE_EIO. The server
 * must outlive the host. */
troupe_status watch_host_create(struct troupe_server *server, const struct watch_options *options,
	struct watch_host **ret_host, struct troupe_error *error);
/* Tells all viewers that the run has ended. why: it has failed; NULL: it has not. NULL is fine. */
void watch_host_destroy(struct watch_host *host, const struct troupe_error *why);
/* "127.0.0.1:47083". */
void watch_host_describe(const struct watch_host *host, struct text *out);
/* Whether only programs of this machine can join. */
bool watch_host_is_local(const struct watch_host *host);
/* The number of commands that robot clients have given so far. Any thread. */
uint64_t watch_host_commands(const struct watch_host *host);
/* The number of viewers that have joined so far. Any thread. */
uint64_t watch_host_joined(const struct watch_host *host);

#endif
