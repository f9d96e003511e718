/* Gateways: adapters through which other programs see a running server and act on it. A gateway reads what the server
 * publishes and posts what arrives (client.h); it never touches the world.
 *
 * gz-transport: all topics and services of a server for Gazebo's programs, unchanged (`gz topic`, `gz service`,
 * bridges, GUIs), of both generations: Ignition and Gz. Barrier clients join by the services /lockstep/join, step and
 * leave (src/gateway/lockstep/PROTOCOL.md). */
#ifndef TROUPE_GATEWAY_H
#define TROUPE_GATEWAY_H

#include <troupe/base.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct troupe_server;
struct troupe_gz;

struct troupe_gz_def { /* zeroed: what the environment says, on this machine only */
	/* The IPv4 address of an interface of this machine: programs that reach it can see and command everything, and
	 * nothing is encrypted. NULL: programs of this machine only. */
	const char *address;
	const char *partition; /* NULL: GZ_PARTITION or IGN_PARTITION, or else "HOST:USER" */
};

/* Whether this build has gz-transport (ZeroMQ). */
TROUPE_API bool troupe_gz_available(void);
/* Starts a thread that serves until troupe_gz_end(), which must come before troupe_server_destroy(). Besides the
 * partition it reads GZ_DISCOVERY_MULTICAST_IP, GZ_DISCOVERY_MSG_PORT, GZ_DISCOVERY_SRV_PORT, GZ_RELAY,
 * GZ_TRANSPORT_USERNAME and _PASSWORD, GZ_TRANSPORT_TOPIC_STATISTICS, _SNDHWM and _RCVHWM; each also with IGN_.
 * TROUPE_EINVAL: a setting is not valid, or this build has no gz-transport; TROUPE_EIO: no socket or no multicast. */
TROUPE_API troupe_status troupe_gz_start(struct troupe_server *server, const struct troupe_gz_def *def,
	struct troupe_gz **ret_gz, struct troupe_error *error);
/* Says goodbye to all peers. why: the run has failed, which barrier clients are told; NULL: it has ended. gz may be
 * NULL.
 */
TROUPE_API void troupe_gz_end(struct troupe_gz *gz, const struct troupe_error *why);

struct troupe_gz_counts {
	uint64_t published;       /* messages that were sent */
	uint64_t boundaries_lost; /* step boundaries whose messages were lost, because the gateway was too slow */
	uint64_t taken, refused;  /* messages and requests that came; those that were not valid */
	uint64_t commands;        /* of those taken: commands to the simulation */
	uint64_t joined;          /* barrier clients that have joined so far (barrier.h) */
};
/* Any thread. */
TROUPE_API struct troupe_gz_counts troupe_gz_counts(const struct troupe_gz *gz);
/* One line for people: "partition host:user, discovery 239.255.0.7:10317 on 127.0.0.1 (this machine only)". */
TROUPE_API void troupe_gz_describe(const struct troupe_gz *gz, char *ret_text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
