/* Which primary a secondary tries next. Pure; time is a parameter.
 *
 * A candidate is a primary at an address: the one that the user gave, or one whose live announcement says that it
 * awaits secondaries. It is one for as long as it says so again: CANDIDATES_LIFE_NS. Candidates are tried in turn,
 * those that have failed less often first, then those that miss fewer secondaries, so that several secondaries fill one
 * primary rather than a part of each. One that fails is tried later and later. No host has more than its share of
 * attempts, nor of places, while others wait for theirs. */
#ifndef NET_CANDIDATES_H
#define NET_CANDIDATES_H

#include "net/address.h"
#include "net/hello.h"

enum { CANDIDATES_MAX = 32 };
#define CANDIDATES_LIFE_NS UINT64_C(2500000000)
#define CANDIDATES_ATTEMPT_NS UINT64_C(1500000000)      /* that an attempt at one that was not given may take */
#define CANDIDATES_AGAIN_NS UINT64_C(400000000)         /* after which another begins beside one that goes on */
#define CANDIDATES_SETTLE_NS UINT64_C(100000000)        /* from the first word of one to the first attempt */
#define CANDIDATES_RETRY_NS UINT64_C(200000000)         /* after the first failure; then twice as long, and so on */
#define CANDIDATES_RETRY_MAX_NS UINT64_C(1600000000)    /* after any failure */
#define CANDIDATES_REFUSED_MAX_NS UINT64_C(51200000000) /* after it said that we do not belong there */

struct candidate {
	struct address address;
	unsigned char id[HELLO_ID_BYTES]; /* of its process; zeros: the user gave it */
	bool given;
	uint32_t tried;    /* attempts that are going on */
	uint64_t tried_ns; /* when the last one began */
	uint32_t missing;  /* secondaries that it awaits */
	uint32_t failures; /* one after the other */
	uint64_t heard_ns; /* when it said so last */
	uint64_t due_ns;   /* not to be tried before */
};

struct candidates {
	struct candidate all[CANDIDATES_MAX];
	uint32_t count;
	struct senders_budget attempts, net_attempts; /* at a host, and at all hosts of its network */
	struct senders_share share;
};

enum candidate_fate {
	CANDIDATE_JOINED,  /* it let us in; whatever becomes of that, it has not failed */
	CANDIDATE_FAILED,  /* it could not be reached, or broke off */
	CANDIDATE_REFUSED, /* it said that we do not belong there */
	CANDIDATE_LEFT,    /* the attempt was given up, for another candidate */
};

/* secret: random. */
void candidates_init(struct candidates *candidates, uint64_t secret);
/* The user says where the primary is. */
void candidates_give(struct candidates *candidates, const struct address *address);
/* A live announcement of a primary at that address. */
void candidates_hear(struct candidates *candidates, const struct announcement *announcement,
	const struct address *address, uint64_t now_ns);
/* The one to be tried now: a copy. It is `tried` until candidates_settle(). One that does not answer is tried once more
 * beside the first attempt: what the kernel of a flooded host drops it asks for again only a second later. False: none.
 */
bool candidates_next(struct candidates *candidates, uint64_t now_ns, struct candidate *ret_candidate);
/* What came of one attempt. */
void candidates_settle(
	struct candidates *candidates, const struct candidate *candidate, enum candidate_fate fate, uint64_t now_ns);

#endif
