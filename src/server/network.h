/* A server as the primary of a networked run: finds its secondaries, gives them the world, and reaches them by the tcp
 * transport. */
#ifndef SERVER_NETWORK_H
#define SERVER_NETWORK_H

#include "net/tcp.h"
#include "run/wire.h"
#include "server/internal.h"

#include <troupe/network.h>

struct network;

/* Listens, or takes ownership of the given sockets. TROUPE_EINVAL, TROUPE_EIO: an error in the network's settings. On
 * failure the sockets are closed. */
troupe_status network_create(
	const struct troupe_network *def, struct network **ret_network, struct troupe_error *error);
/* Call it when network_create() will not be called: closes the sockets that were given, if any. def may be NULL. */
void network_refuse(const struct troupe_network *def);
/* Tells all peers that the run is done, unless they were told another reason. Call it after the crew is destroyed.
 * network may be NULL. */
void network_destroy(struct network *network);
uint32_t network_secondaries(const struct network *network);
/* The number of secondaries that have not joined yet. Any thread. */
uint32_t network_awaited(const struct network *network);
/* Call it before the first step: blocks until all secondaries have joined, have loaded the present world, and have
 * the same state hash. TROUPE_EPEER when the primary of the world is told to stop. */
troupe_status network_gather(struct network *network, struct troupe_server *server, struct troupe_error *error);
/* For the crew, after network_gather(). */
const struct transport_codec *network_codec(const struct network *network);
struct transport_link *network_link(struct network *network);
/* Ends the run while it has no crew, because setting up the run failed. */
void network_stop(struct network *network, enum stop_kind kind, const char *why);

struct physics_stats network_physics_stats(const struct network *network, uint32_t secondary);
/* bytes: of the crew, or 0 when there was none. */
void network_report(
	const struct network *network, struct transport_counts bytes, struct troupe_report_network *ret_report);

#endif
