/* Snapshots for observers, protected by RCU. The only user of liburcu (flavour memb).
 *
 * A snapshot is made only when somebody has asked for one since the last, at a step boundary, by whoever has the
 * primary's part; readers never wait for it and it never waits for readers. A frame that was replaced comes back for
 * use after a grace period, through call_rcu(); while all frames are out, no new snapshot is made.
 *
 *              publish  ask/read      X needs outside exclusion (one publisher)
 *  publish        X        -
 *  ask/read       -        -
 */
#ifndef SERVER_OBSERVE_H
#define SERVER_OBSERVE_H

#include "base/base.h"

#include <troupe/server.h>

struct observe;

struct observe *observe_create(uint32_t secondaries);
void observe_destroy(struct observe *observe);

/* Asks for a snapshot. Any thread. */
void observe_ask(struct observe *observe);
/* Whether somebody has asked since the last publish. One relaxed load. */
bool observe_wanted(const struct observe *observe);
struct observe_arrays {
	struct troupe_model_state *models;
	struct troupe_odometry *odometry;
	struct troupe_link_state *links;
	struct troupe_joint_state *joints;
	struct troupe_contact *contacts;
	double *busy;
};

/* A frame to fill in and publish, of that scene, which it holds from now on, and with room for so many contacts.
 * Allocates when there was too little room. NULL when too many are out; never with sure, which is for publishers that
 * wait below. */
struct troupe_snapshot *observe_begin(struct observe *observe, bool sure, const struct troupe_scene *scene,
	uint32_t contacts, struct observe_arrays *ret_arrays);
/* The same for the publisher itself: a frame that is never published, valid until the next call. Its busy is NULL. */
struct troupe_snapshot *observe_begin_own(struct observe *observe, const struct troupe_scene *scene, uint32_t contacts,
	struct observe_arrays *ret_arrays);
/* Readers see it from now on. With wait, the frame that it replaces is free when this returns (not for the step path);
 * else some time after. */
void observe_publish(struct observe *observe, struct troupe_snapshot *snapshot, bool wait);

/* Any thread. Does nothing before the first publish. */
void observe_read(struct observe *observe, void (*fn)(void *ctx, const struct troupe_snapshot *snapshot), void *ctx);

#endif
