/* The standby of a networked run as its primary has it: it comes and is lost, which secondaries know it, and whether it
 * may have taken over with them.
 *
 * Thread: that which does the primary's work, except where it says otherwise. */
#ifndef SERVER_STANDBY_LINK_H
#define SERVER_STANDBY_LINK_H

#include "net/backend.h"
#include "net/follow.h"
#include "server/internal.h"

#include <troupe/report.h>

struct standby_link;

/* note: called for each change of members. server: outlives the result. */
struct standby_link *standby_link_create(struct troupe_server *server, const struct backend *backend,
	void (*note)(void *ctx, enum troupe_member_change kind, const char *who), void *ctx);
/* Tells the standby how the run has ended. */
void standby_link_end(struct standby_link *link);
/* When no thread of the network is left. */
void standby_link_destroy(struct standby_link *link);

/* From now on a standby may come. */
void standby_link_open(struct standby_link *link);
/* NULL: one may come now; else why not. Any thread. */
const char *standby_link_may_come(struct standby_link *link);
/* It has come, and is in after the next standby_link_change(). Any thread. */
void standby_link_come(struct standby_link *link, struct feed *feed);
/* Whether one has come or is lost, for which the run must regroup. Any thread. */
bool standby_link_changes(struct standby_link *link);
/* Before a gathering: the welcomes name the standby that is there. */
void standby_link_change(struct standby_link *link);
/* Where it is to be found; NULL: there is none. */
const char *standby_link_where(const struct standby_link *link);
/* After a gathering: the standby knows of the secondaries that are there. An error: see below. */
troupe_status standby_link_confirm(struct standby_link *link, const struct follow_run *run, struct troupe_error *error);

/* Of the secondaries that know the standby, so many are lost; one leaves, and goes to no standby. */
void standby_link_lose(struct standby_link *link, uint32_t count);
void standby_link_leave(struct standby_link *link);
/* Whether the standby is lost, and so many secondaries that it may have taken over with them. left: so many are there
 * at most. */
bool standby_link_may_be_replaced(struct standby_link *link, uint32_t left);
/* Returns the error of a run that it may have taken over. */
troupe_status standby_link_fail(const struct standby_link *link, struct troupe_error *error);

/* For the standby, if there is one: as record_made(), record_taken() and record_merged(). */
void standby_link_made(struct standby_link *link, struct server_world *world, const struct command *command);
void standby_link_taken(struct standby_link *link, struct server_world *world, uint64_t step,
	const struct command *command, troupe_status status);
void standby_link_merged(struct standby_link *link, uint64_t steps);

#endif
