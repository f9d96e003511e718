/* The primary's side of a standby: what it gets of the run, through the feed (net/follow.h). A recording (record.h)
 * begins with the state at a commit, and begins anew about once a second, or less often where a state takes long to
 * make. In between come the commands that were taken, each with its step; and commits, in which all commands before
 * them are whole, with the hash of the state and the commands that wait. Meshes that states leave out (server/save.c)
 * go before the first recording.
 *
 * Thread: that which does the primary's work. */
#ifndef SERVER_FOLLOWED_H
#define SERVER_FOLLOWED_H

#include "net/follow.h"
#include "server/record.h"

struct followed;

/* Takes the feed, which has been started. */
struct followed *followed_create(const struct follow_ops *ops, struct feed *feed);
/* As record_made(), record_taken() and record_merged(). */
void followed_made(struct followed *followed, struct server_world *world, const struct command *command);
void followed_taken(struct followed *followed, struct server_world *world, uint64_t step, const struct command *command,
	troupe_status status);
void followed_merged(struct followed *followed, struct troupe_server *server, uint64_t steps);
/* The standby knows of the run. False: it is lost. May wait for as long as a peer may be silent. */
bool followed_confirm(struct followed *followed, const struct follow_run *run);
const char *followed_where(const struct followed *followed);
/* Tells the standby why the run is over; NULL: nothing. followed may be NULL. */
void followed_end(struct followed *followed, const struct stop *stop);

#endif
