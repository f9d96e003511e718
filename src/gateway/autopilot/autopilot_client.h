/* A vehicle's place in the lockstep, for an autopilot outside: its client at the run, which joins as a barrier client
 * (troupe/barrier.h) when the autopilot comes, and leaves with it. The first member of the vehicles of all gateways of
 * autopilots (fleet.h).
 *
 * Thread: the gateway's, except that the thread of the step has the vehicle while the autopilot is joined. */
#ifndef GATEWAY_AUTOPILOT_AUTOPILOT_CLIENT_H
#define GATEWAY_AUTOPILOT_AUTOPILOT_CLIENT_H

#include "net/address.h"

#include <troupe/barrier.h>

#include <stdatomic.h>

struct autopilot_client_def {
	struct troupe_server *server; /* outlives the vehicle */
	const char *title;            /* of the autopilot: "ArduPilot" */
	const char *model;
	uint32_t number;        /* its port, and in the names of its topics */
	struct address address; /* where its port is */
	/* A line for people. Any thread. */
	void (*say)(void *ctx, const char *text);
	void (*wake)(void *ctx); /* has the gateway's thread look again. Any thread */
	void *ctx;
};

struct autopilot_client {
	struct autopilot_client_def def;
	char *model, *name;           /* name: of the barrier client */
	struct troupe_client *client; /* NULL: the autopilot has never come */
	_Atomic bool is_joined;
	bool told; /* why it cannot join */
};

/* Copies the texts. prefix: of the name of the client, if the model's is none that a client can have. */
void autopilot_client_init(struct autopilot_client *base, const struct autopilot_client_def *def, const char *prefix);
/* The autopilot leaves the lockstep. */
void autopilot_client_fini(struct autopilot_client *base);
/* "ArduPilot of 'iris': ..." */
void autopilot_client_say(const struct autopilot_client *base, const char *format, ...) TROUPE_PRINTF(2, 3);

/* Makes the client, if there is none. Errors as of troupe_client_create(). */
troupe_status autopilot_client_open(struct autopilot_client *base, struct troupe_error *error);
/* Joins; period_ns: as in troupe_join. The first barrier may come, and end it, before the function returns. The
 * autopilot, which is `where`, is told of; a failure once. */
bool autopilot_client_join(struct autopilot_client *base, const struct troupe_barrier_ops *ops, void *ctx,
	uint64_t period_ns, const char *where);
/* Tells once that the autopilot cannot join. */
void autopilot_client_refuse(struct autopilot_client *base, const char *where, const struct troupe_error *why);
/* For barrier_ops.out(): the autopilot is not joined any more. */
void autopilot_client_out(struct autopilot_client *base);
bool autopilot_client_is_joined(const struct autopilot_client *base);

#endif
