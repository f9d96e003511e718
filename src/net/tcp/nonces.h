/* Whether an announcement was made now, by a sender that hears us. Without this check, an attacker who has recorded an
 * announcement could send it again at any time, with a MAC that is right.
 *
 * Each announcement carries a nonce of its sender, a random number that changes every 500 ms, and echoes the nonces
 * that the sender has heard from the other role. An announcement is live when it echoes a nonce of ours that is less
 * than NONCES_LIFE_NS old: it was made after that number was drawn, so it is no older.
 *
 * Pure; time and random numbers are parameters. Bounded: the nonces heard have NONCES_HEARD_MAX places, which senders
 * share. */
#ifndef NET_TCP_NONCES_H
#define NET_TCP_NONCES_H

#include "net/hello.h"
#include "net/tcp/quota.h"

enum { NONCES_OWN_MAX = 5, NONCES_HEARD_MAX = 128 };
#define NONCES_PERIOD_NS UINT64_C(500000000)
#define NONCES_LIFE_NS UINT64_C(2000000000)
_Static_assert(NONCES_LIFE_NS <= (NONCES_OWN_MAX - 1) * NONCES_PERIOD_NS, "no number is forgotten while it is live");

struct nonces { /* zeroed, except share.secret: nothing sent, nothing heard */
	struct {
		uint64_t number, since_ns;
	} own[NONCES_OWN_MAX]; /* the newest first */
	uint32_t own_count;
	struct nonces_heard {
		unsigned char id[HELLO_ID_BYTES]; /* of the process */
		uint64_t number, when_ns;
		struct sender sender;
		bool live;   /* the announcement was live */
		bool echoed; /* the nonce has been echoed */
	} heard[NONCES_HEARD_MAX];
	uint32_t heard_count;
	struct quota_table share;
};

/* The nonce to announce now. random: the new nonce, used when the last one is NONCES_PERIOD_NS old. */
uint64_t nonces_current(struct nonces *nonces, uint64_t random, uint64_t now_ns);
/* Our nonces whose echo still makes an announcement live; returns how many there are. */
uint32_t nonces_own(const struct nonces *nonces, uint64_t now_ns, uint64_t ret_numbers[NONCES_OWN_MAX]);
/* Records an announcement that is valid and authentic. */
void nonces_record(struct nonces *nonces, const struct announcement *announcement, struct sender sender, bool live,
	uint64_t now_ns);
/* Whether a sender that was heard waits for an echo. */
bool nonces_echo_is_due(const struct nonces *nonces);
/* Fills in the echoes of an announcement that is sent now: first the nonces that wait for an echo, live ones before
 * others, then the nonces that were echoed before. */
void nonces_echo(struct nonces *nonces, struct announcement *announcement, uint64_t now_ns);

#endif
