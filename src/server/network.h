/* A server as the primary of a networked run: finds its secondaries, gives them the world, and reaches them by the tcp
 * transport. */
#ifndef SERVER_NETWORK_H
#define SERVER_NETWORK_H

#include "net/tcp.h"
#include "run/wire.h"
#include "server/internal.h"

#include <troupe/network.h>

struct network;

/* Listens, or takes the sockets. TROUPE_EINVAL, TROUPE_EIO: what is wrong with the network. The sockets are gone on
 * failure, too. */
troupe_status network_create(
	const struct troupe_network *def, struct network **ret_network, struct troupe_error *error);
/* Who cannot create it: the sockets that were given, if any, are closed. NULL is fine. */
void network_refuse(const struct troupe_network *def);
/* NULL is fine. Tells all that the run is done, unless they know better. After the crew. */
void network_destroy(struct network *network);
uint32_t network_secondaries(const struct network *network);
/* Those that are not there yet. Any thread. */
uint32_t network_awaited(const struct network *network);
/* Before the first step: blocks until all are there, have the world as it is now, and came to the same hash. Ends, with
 * TROUPE_EPEER, when the primary of the world is told to stop. */
troupe_status network_gather(struct network *network, struct troupe_server *server, struct troupe_error *error);
/* What the crew needs, once that is done. */
const struct transport_codec *network_codec(const struct network *network);
void *network_link(struct network *network);
/* The run ends otherwise than by having done what it was to do; also when nothing came of what it needs to begin. */
void network_stop(struct network *network, enum stop_kind kind, const char *why);
/* Before the crew is destroyed: what is done is done. */
void network_done(struct network *network);

struct physics_stats network_physics_stats(const struct network *network, uint32_t secondary);
void network_report(struct network *network, struct troupe_report_network *ret_report);

#endif
