/* Which primary a secondary tries next. Pure; time is a parameter.
 *
 * A candidate is a primary at an address: the address that the user gave, or the source of a live announcement which
 * says that the primary awaits secondaries. A candidate from an announcement is kept for CANDIDATES_LIFE_NS after its
 * last announcement. Candidates are tried in turn: first by fewest failures, then by fewest missing secondaries, so
 * that several secondaries fill one primary and not a part of each. The wait after a failure grows with each failure.
 * No host has more than its share of attempts, nor of places, while other hosts wait. */
#ifndef NET_TCP_CANDIDATES_H
#define NET_TCP_CANDIDATES_H

#include "net/address.h"
#include "net/tcp/quota.h"
#include "net/hello.h"

enum { CANDIDATES_MAX = 32 };
#define CANDIDATES_LIFE_NS UINT64_C(2500000000)
#define CANDIDATES_ATTEMPT_NS UINT64_C(1500000000)      /* of an attempt at an announced candidate */
#define CANDIDATES_AGAIN_NS UINT64_C(400000000)         /* then a second attempt starts beside the first */
#define CANDIDATES_SETTLE_NS UINT64_C(100000000)        /* from its first announcement to the first attempt */
#define CANDIDATES_RETRY_NS UINT64_C(200000000)         /* wait after the first failure; then doubled */
#define CANDIDATES_LATER_NS UINT64_C(20000000)          /* the same when it may let us in later; at most the above */
#define CANDIDATES_RETRY_MAX_NS UINT64_C(1600000000)    /* longest wait after a failure */
#define CANDIDATES_REFUSED_MAX_NS UINT64_C(51200000000) /* longest wait after a refusal */

struct candidate {
	struct address address;
	unsigned char id[HELLO_ID_BYTES]; /* of its process; zeros: the user gave the address */
	bool given;
	uint32_t tried;    /* attempts in progress */
	uint64_t tried_ns; /* start of the last attempt */
	uint32_t missing;  /* secondaries that it awaits */
	uint32_t failures; /* consecutive */
	uint32_t laters;   /* how often it has said, in a row, that it may let us in later */
	uint64_t heard_ns; /* time of its last announcement */
	uint64_t due_ns;   /* earliest time of the next attempt */
};

struct candidates {
	struct candidate all[CANDIDATES_MAX];
	uint32_t count;
	struct quota_rate attempts, net_attempts; /* per host, and per network */
	struct quota_table share;
};

enum candidate_fate {
	CANDIDATE_JOINED,  /* it admitted us; a later loss does not count as its failure */
	CANDIDATE_FAILED,  /* it could not be reached, or the connection broke off */
	CANDIDATE_LATER,   /* it said that it may let us in later */
	CANDIDATE_REFUSED, /* it said that we do not belong to its run */
	CANDIDATE_LEFT,    /* the attempt was given up in favour of another candidate */
};

/* secret: random. */
void candidates_init(struct candidates *candidates, uint64_t secret);
/* The user says where the primary is. */
void candidates_give(struct candidates *candidates, const struct address *address);
/* A live announcement of a primary at that address. */
void candidates_hear(struct candidates *candidates, const struct announcement *announcement,
	const struct address *address, uint64_t now_ns);
/* The candidate to try now: a copy. Counted in `tried` until candidates_settle(). A candidate that does not answer gets
 * a second attempt beside the first: when the kernel of a flooded host drops a connection request, our kernel repeats
 * the request only a second later. False: none. */
bool candidates_next(struct candidates *candidates, uint64_t now_ns, struct candidate *ret_candidate);
/* The outcome of one attempt. */
void candidates_settle(
	struct candidates *candidates, const struct candidate *candidate, enum candidate_fate fate, uint64_t now_ns);

#endif
