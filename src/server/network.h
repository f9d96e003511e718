/* A server as the primary of a networked run: gathers its secondaries, gives them the world, and encodes steps for
 * them. A back end does the gathering (net/backend.h). */
#ifndef SERVER_NETWORK_H
#define SERVER_NETWORK_H

#include "net/transport.h"
#include "run/wire.h"
#include "server/internal.h"
#include "server/robot_clients.h"
#include "server/standby_link.h"

#include <troupe/network.h>

struct network;

/* Makes the server visible to secondaries, or takes ownership of the given sockets. TROUPE_EINVAL, TROUPE_EIO: an error
 * in the network's settings. On failure the sockets are closed. server: outlives the network. */
troupe_status network_create(struct troupe_server *server, struct network **ret_network, struct troupe_error *error);
/* Call it when network_create() will not be called: closes the sockets that were given, if any. def may be NULL. */
void network_refuse(const struct troupe_network *def);
/* Call it after the runners are destroyed. network may be NULL. */
void network_destroy(struct network *network);
uint32_t network_secondaries(const struct network *network);
/* The most secondaries that there can be at one time. */
uint32_t network_room(const struct network *network);
/* The number of secondaries that have not joined yet. Any thread. */
uint32_t network_awaited(const struct network *network);

/* Robot clients. The port at which they get their topics; before the first network_gather(). */
void network_offer(struct network *network, uint16_t port);
struct robot_clients *network_clients(const struct network *network);
/* Whether members can change while the world runs; whether some wish to join, or a standby has come or is lost, for
 * which the run must regroup. */
bool network_changes(const struct network *network);
bool network_has_wishes(struct network *network);
/* Whether it is found out how many of the secondaries pay. Not if their number is fixed: then a user knows what each
 * one simulates; and not with robot clients, which have models of their own. */
bool network_tunes(const struct network *network);
/* Call it while there is no transport. The secondary was lost, for the reason `why`: the definition says whether the
 * run goes on, and what becomes of the models of a client. An error: the run ends. */
troupe_status network_lose(
	struct network *network, uint32_t secondary, const struct troupe_error *why, struct troupe_error *error);
/* The same for one that asked to leave. Of several, the one with the greatest number first. */
troupe_status network_let_leave(struct network *network, uint32_t secondary, struct troupe_error *error);
/* After a network_gather() that failed: whether another one was lost meanwhile, or a client did not come back, so that
 * the run gathers again. */
bool network_gathers_again(struct network *network);

/* Call it before the first step, and again when other members are to take part: blocks until all secondaries have
 * joined, have loaded the present world, and have the same state hash. TROUPE_EPEER when the primary of the world is
 * told to stop. */
troupe_status network_gather(struct network *network, struct troupe_error *error);
struct standby_link *network_standby(const struct network *network);
/* The run goes on, after it stood still for so long; changes_before: network_change_count() before. */
void network_went_on(struct network *network, uint32_t changes_before, uint64_t stood_ns);
/* The first steps can be taken. If a standby has taken over: the run goes on, after the loss of the primary. */
void network_took_over(struct network *network);
uint32_t network_change_count(const struct network *network);
/* The changes of the members so far. Lent until the members change; in the primary's thread. */
const struct troupe_report_member *network_changes_so_far(const struct network *network, uint32_t *ret_count);
/* The bytes of runners that are to be destroyed. */
void network_keep_bytes(struct network *network, struct transport_counts bytes);
/* For the runners, after network_gather(). */
const struct transport_ops *network_transport(const struct network *network);
const struct transport_codec *network_codec(const struct network *network);
struct transport_link *network_link(const struct network *network);
/* Ends the run if it has no runners because setting up the run failed. */
void network_stop(struct network *network, enum stop_kind kind, const char *why);

struct physics_stats network_physics_stats(const struct network *network, uint32_t secondary);
/* bytes: of the runners, or 0 if there was none. The list of changes is lent until the members change. */
void network_report(
	const struct network *network, struct transport_counts bytes, struct troupe_report_network *ret_report);

#endif
