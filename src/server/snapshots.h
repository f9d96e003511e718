/* Snapshots for observers, protected by RCU. The only user of liburcu (flavour memb).
 *
 * A snapshot is made only if one was requested after the last snapshot. It is made at a step boundary, by the thread
 * that does the primary's work. Readers never wait for it and it never waits for readers. A copy that was replaced
 * can be used again after a grace period (call_rcu()). While all copies are in use, no new snapshot is made.
 *
 *                publish  ask/read      X needs outside exclusion (one publisher)
 *    publish        X        -
 *    ask/read       -        - */
#ifndef SERVER_SNAPSHOTS_H
#define SERVER_SNAPSHOTS_H

#include "base/base.h"

#include <troupe/server.h>

struct snapshots;

struct snapshots *snapshots_create(uint32_t secondaries);
void snapshots_destroy(struct snapshots *snapshots);

/* Asks for a snapshot. Any thread. */
void snapshots_ask(struct snapshots *snapshots);
/* Whether a snapshot was requested since the last publish. One relaxed load. */
bool snapshots_wanted(const struct snapshots *snapshots);
struct snapshots_arrays {
	struct troupe_model_state *models;
	struct troupe_odometry *odometry;
	struct troupe_link_state *links;
	struct troupe_joint_state *joints;
	struct troupe_reading *readings;
	struct troupe_contact *contacts;
	double *busy;
};

/* A copy of the scene, to be filled in and published, with room for `contacts` contacts. The copy holds the scene
 * from now on. Allocates when the copy is too small. NULL when too many copies are in use; never NULL with `sure`,
 * which is for publishers that pass wait to snapshots_publish(). */
struct troupe_snapshot *snapshots_begin(struct snapshots *snapshots, bool sure, const struct troupe_scene *scene,
	uint32_t contacts, struct snapshots_arrays *ret_arrays);
/* A copy that is never published, for the publisher itself; valid until the next call. Its busy is NULL. */
struct troupe_snapshot *snapshots_begin_own(struct snapshots *snapshots, const struct troupe_scene *scene,
	uint32_t contacts, struct snapshots_arrays *ret_arrays);
/* Makes the copy visible to readers. With wait, the replaced copy is free when this returns (not for the step
 * path); without wait, some time after. */
void snapshots_publish(struct snapshots *snapshots, struct troupe_snapshot *snapshot, bool wait);

/* Any thread. Does nothing before the first publish. */
void snapshots_read(
	struct snapshots *snapshots, void (*fn)(void *ctx, const struct troupe_snapshot *snapshot), void *ctx);

#endif
