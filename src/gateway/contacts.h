/* Which states of a run begin a contact. Pure: no thread, no I/O.
 *
 * A contact of two models begins in a state in which they touch, if they did not touch in the CONTACTS_APART_S before:
 * a wheel that loses the floor for some steps has been on it all the time. */
#ifndef GATEWAY_CONTACTS_H
#define GATEWAY_CONTACTS_H

#include "base/base.h"

struct troupe_snapshot;

#define CONTACTS_APART_S 0.1

struct contacts_pair {
	uint64_t a, b; /* ids of models, a < b */
	uint64_t last; /* the last step in which the two touched */
};

struct contacts {                        /* of one world; zeroed knows nothing */
	VEC(struct contacts_pair) pairs; /* by a and b */
	bool known;                      /* a state was taken */
	/* NULL, or called with the names of the models of each contact that begins; for several places of one contact,
	 * too */
	void (*on_begin)(void *ctx, const char *a, const char *b);
	void *ctx;
};

/* The number of steps without a touch after which a contact begins. step_s: what a step takes. */
uint64_t contacts_apart_steps(double step_s);
/* Forgets all. */
void contacts_forget(struct contacts *contacts);
void contacts_fini(struct contacts *contacts);
/* Takes the next state, of a server with TROUPE_OBSERVE_CONTACTS. step_s: what a step takes. Returns whether a contact
 * begins in it. None does in the first one, before which nothing is known. */
bool contacts_take(struct contacts *contacts, const struct troupe_snapshot *snapshot, double step_s);

#endif
