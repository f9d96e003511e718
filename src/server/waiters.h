/* Secondaries that come while there is no place for them, or while the world runs: each is told to come again, which it
 * does a few times a second (a waiter). If there is a place, the run changes its members for it; a spare waits until a
 * secondary is lost. One that came in vain does not make the run change its members again soon.
 *
 * Pure; time is a parameter. The caller's lock. */
#ifndef SERVER_WAITERS_H
#define SERVER_WAITERS_H

#include "net/hello.h"

struct waiters { /* zeroed: none */
	VEC(struct waiter {
		unsigned char id[HELLO_ID_BYTES]; /* of the process */
		uint64_t seen_ns;                 /* when it came last */
		uint64_t asked_ns;                /* when the run changed its members for it; 0: never */
	})
	all;
};

void waiters_fini(struct waiters *waiters);
/* The secondary has come. places: for secondaries and spares that are free. False: it is one too many. */
bool waiters_come(struct waiters *waiters, const unsigned char id[HELLO_ID_BYTES], uint32_t places, uint64_t now_ns);
/* For how many the run would change its members, if so many secondaries may still take part. */
uint32_t waiters_count_welcome(struct waiters *waiters, uint32_t free_places, uint64_t now_ns);
/* The run changes its members for all that wait. */
void waiters_note_asked(struct waiters *waiters, uint64_t now_ns);

#endif
