/* Declarations that barrier.c and barrier_client.c share. */
#ifndef SERVER_BARRIER_INTERNAL_H
#define SERVER_BARRIER_INTERNAL_H

#include "base/eventcount.h"
#include "server/barrier.h"
#include "server/client.h"

struct post { /* a message or a request of a client, until its barrier ends */
	char *topic, *type;
	void *bytes; /* of the message */
	size_t count;
	bool has_when;
	struct troupe_when when;
	struct command_call *call; /* NULL: a message */
};

struct posts {
	VEC(struct post) all;
	uint64_t bytes;
};

enum member_state { MEMBER_IDLE, MEMBER_OPEN, MEMBER_DONE, MEMBER_OUT };

struct member {
	_Atomic uint32_t refs;
	struct barriers *barriers;
	struct troupe_client *client; /* one reference */
	char name[TROUPE_BARRIER_NAME_MAX + 1];
	uint32_t world;
	int64_t period_ns;
	uint64_t deadline_ns;
	troupe_failure failure;
	const struct troupe_barrier_ops *ops;
	void *ctx;

	/* The member may leave while the turn calls its ops. The turn first raises `serving` and then looks at `gone`;
	 * the leaving thread sets `gone`, and then waits until `serving` is 0. */
	_Atomic bool gone;
	_Atomic uint32_t serving;

	/* the turn's */
	int64_t next_ns, last_ns;
	bool seen, open;
	uint64_t opened_ns;
	struct troupe_barrier at; /* read by the client while state is MEMBER_OPEN */

	/* of a client that is a thread of this process */
	_Atomic uint32_t state; /* enum member_state */
	struct eventcount opened, answered;
	struct posts collected;  /* the client's */
	struct posts handed;     /* the turn's while state is MEMBER_DONE, else the client's */
	struct troupe_error why; /* written before state becomes MEMBER_OUT */
};

extern const struct troupe_barrier_ops barrier_thread_ops; /* ctx: the member */

void member_release(struct member *member);
/* The number of times that a thread may look before it sleeps, with all runners and barrier clients on this machine. */
uint32_t barriers_spins(const struct barriers *barriers);
void posts_drop(struct posts *posts);
/* Takes the member off the list, so that its name is free. Any thread. */
void barriers_remove(struct barriers *barriers, struct member *member);
/* For troupe_client_join(). */
troupe_status barriers_add(struct barriers *barriers, struct member *member, struct troupe_error *error);
/* The world of this name, and its time step in ns; 0: the time step is no whole number of ns. */
troupe_status barriers_world(struct barriers *barriers, const char *name, uint32_t *ret_world, int64_t *ret_step_ns,
	struct troupe_error *error);
struct barriers *barriers_of(struct troupe_server *server);

#endif
