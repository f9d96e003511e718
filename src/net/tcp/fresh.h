/* Whether an announcement was made now, by a sender that hears us. Without this check, an attacker who has recorded an
 * announcement could send it again at any time, with a MAC that is right.
 *
 * Each announcement carries a number of its sender, which is random and changes every 500 ms, and echoes the numbers
 * that the sender has heard from the other role. An announcement is live when it echoes a number of ours that is less
 * than FRESH_LIFE_NS old: it was made after that number was drawn, so it is no older.
 *
 * Pure; time and random numbers are parameters. Bounded: the numbers heard have FRESH_HEARD_MAX places, which senders
 * share. */
#ifndef NET_TCP_FRESH_H
#define NET_TCP_FRESH_H

#include "net/hello.h"
#include "net/tcp/senders.h"

enum { FRESH_OWN_MAX = 5, FRESH_HEARD_MAX = 128 };
#define FRESH_PERIOD_NS UINT64_C(500000000)
#define FRESH_LIFE_NS UINT64_C(2000000000)
_Static_assert(FRESH_LIFE_NS <= (FRESH_OWN_MAX - 1) * FRESH_PERIOD_NS, "no number is forgotten while it is live");

struct fresh { /* zeroed, except share.secret: nothing sent, nothing heard */
	struct {
		uint64_t number, since_ns;
	} own[FRESH_OWN_MAX]; /* the newest first */
	uint32_t own_count;
	struct fresh_heard {
		unsigned char id[HELLO_ID_BYTES]; /* of the process */
		uint64_t number, when_ns;
		struct sender sender;
		bool live;   /* the announcement was live */
		bool echoed; /* the number has been echoed */
	} heard[FRESH_HEARD_MAX];
	uint32_t heard_count;
	struct senders_share share;
};

/* The number to announce now. random: the new number, used when the last one is FRESH_PERIOD_NS old. */
uint64_t fresh_number(struct fresh *fresh, uint64_t random, uint64_t now_ns);
/* Our numbers whose echo still makes an announcement live; returns how many there are. */
uint32_t fresh_own(const struct fresh *fresh, uint64_t now_ns, uint64_t ret_numbers[FRESH_OWN_MAX]);
/* Records an announcement that is valid and authentic. */
void fresh_hear(
	struct fresh *fresh, const struct announcement *announcement, struct sender sender, bool live, uint64_t now_ns);
/* Whether a sender that was heard waits for an echo. */
bool fresh_owes(const struct fresh *fresh);
/* Fills in the echoes of an announcement that is sent now: first the numbers that wait for an echo, live ones before
 * others, then the numbers that were echoed before. */
void fresh_echo(struct fresh *fresh, struct announcement *announcement, uint64_t now_ns);

#endif
