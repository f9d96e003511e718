/* The place of a barrier client of another process in the run, whatever carries its messages: a client of the server
 * that has joined, and the next Step for it. */
#ifndef GATEWAY_LOCKSTEP_LOCKSTEP_MEMBER_H
#define GATEWAY_LOCKSTEP_LOCKSTEP_MEMBER_H

#include "gateway/lockstep/packet.h"

#include <troupe/barrier.h>

struct lockstep_member { /* zeroed: empty */
	struct troupe_server *server;
	struct troupe_client *client; /* NULL: it has not joined */
	struct packet_step step;
	const struct troupe_topics *topics; /* for types of messages that come as text; NULL: none yet */
};

/* ops, ctx: of the barriers, which may begin before this returns. Errors: those of troupe_client_join(), and
 * TROUPE_EPROTOCOL. Call lockstep_member_fini() in any case. */
troupe_status lockstep_member_join(struct lockstep_member *member, struct troupe_server *server,
	const Troupe__Msgs__LockstepJoin *asked, const struct troupe_barrier_ops *ops, void *ctx,
	struct troupe_error *error);
/* Appends the frame that answers the join. */
void lockstep_member_add_welcome(
	const struct lockstep_member *member, const Troupe__Msgs__LockstepJoin *asked, struct text *out);
/* Appends the frame of the Step, with all that has come for the client. On the thread of the step. */
void lockstep_member_add_step(struct lockstep_member *member, const struct troupe_barrier *barrier, struct text *out);
/* Does what the client's answer says. Refusals are in the client's next Step. On the thread of the step. */
troupe_answer lockstep_member_take_done(struct lockstep_member *member, const Troupe__Msgs__LockstepDone *done,
	const struct troupe_barrier *barrier, struct troupe_error *error);
/* Leaves the lockstep first. Not while it joins. */
void lockstep_member_leave(struct lockstep_member *member);
void lockstep_member_fini(struct lockstep_member *member);

#endif
