/* Snapshots for observers, protected by RCU (liburcu, flavour bp: readers need not register). The only user of liburcu.
 *
 * A snapshot is made only when somebody has asked for one since the last, at a step boundary, by whoever has the
 * primary's part; readers never wait for it and it never waits for readers. A frame that was replaced comes back for use
 * after a grace period, through call_rcu(); while all frames are out, no new snapshot is made.
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

/* Frames with room for so many models and secondaries. */
struct observe *observe_create(uint32_t models, uint32_t secondaries);
void observe_destroy(struct observe *observe);

/* Whether somebody has asked since the last publish. One relaxed load. */
bool observe_wanted(const struct observe *observe);
/* A frame to fill in, its arrays allocated; NULL when all are out. Then publish it. */
struct troupe_snapshot *observe_begin(struct observe *observe, struct troupe_model_state **ret_models,
	double **ret_busy);
void observe_publish(struct observe *observe, struct troupe_snapshot *snapshot);

/* Any thread. Does nothing before the first publish. */
void observe_read(struct observe *observe, void (*fn)(void *ctx, const struct troupe_snapshot *snapshot), void *ctx);

#endif
