/* Messages that a run publishes reach its own systems, too: odometry, poses, joints, reports and readings of sensors,
 * when a system listens to their topic (TriggeredPublisher does, with an <input> of the user's choice). They come as
 * commands of step k, from state k: so they follow from the state alone, on any number of machines, and a resumed or
 * replayed run has them again. Messages that systems publish themselves take another way (run/primary_systems.c).
 *
 * Topics that depend on real time, or on the assignment to secondaries, are not heard: a warning says so. */
#ifndef SERVER_SUBSCRIBERS_H
#define SERVER_SUBSCRIBERS_H

#include "server/model_topics.h"

struct subscribers; /* of one world */

/* topics: of the world, in the table. They must outlive the result. */
struct subscribers *subscribers_create(
	struct server_world *world, struct topic_table *table, struct model_topics *topics);
void subscribers_destroy(struct subscribers *subscribers);
/* Posts what is due in state k. Between steps, on the primary's thread, in steps that move. */
void subscribers_take(struct subscribers *subscribers);
/* The notes, bits OBSERVE_..., that such messages are made of. Between steps, on the primary's thread. */
uint32_t subscribers_notes(struct subscribers *subscribers);
/* Whether anything is heard, so that each step may have an effect that follows from the state before it. */
bool subscribers_hears(const struct subscribers *subscribers);

#endif
