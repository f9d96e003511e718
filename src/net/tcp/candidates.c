/* At first a secondary remembered only the address in the last announcement, and each announcement replaced it. So a
 * sender that announced more often than the primary decided where secondaries went. If such a sender always announced
 * one address, secondaries tried no other.
 *
 * The wait after a failure doubles with each failure, but stays short: the candidate may be a primary that is flooded,
 * and its secondaries must join within two seconds after the flood ends. A candidate that refuses us will refuse us
 * again (another version), so the wait after a refusal is longer. */
#include "net/tcp/candidates.h"

#include <string.h>

#define CANDIDATES_TURN_NS UINT64_C(10000000000) /* in this time one attempt is forgotten */
enum {
	REFUSED_FAILURES = 4,  /* a refusal counts as so many failures */
	CANDIDATES_TURNS = 32, /* attempts per host or network that are remembered */
};

void candidates_init(struct candidates *candidates, uint64_t secret)
{
	*candidates = (struct candidates){.share.secret = secret};
	quota_rate_init(&candidates->attempts, secret, CANDIDATES_TURN_NS, CANDIDATES_TURNS);
	quota_rate_init(&candidates->net_attempts, secret, CANDIDATES_TURN_NS, CANDIDATES_TURNS);
}

static bool candidates_is_same(
	const struct candidate *candidate, const struct address *address, const unsigned char *id)
{
	return !memcmp(candidate->id, id, HELLO_ID_BYTES) && address_same_host(&candidate->address, address) &&
	       address_port(&candidate->address) == address_port(address);
}

static struct candidate *candidates_find(
	struct candidates *candidates, const struct address *address, const unsigned char *id)
{
	for (uint32_t i = 0; i < candidates->count; i++)
		if (candidates_is_same(&candidates->all[i], address, id))
			return &candidates->all[i];
	return NULL;
}

static void candidates_forget(struct candidates *candidates, uint32_t at)
{
	quota_leave(&candidates->share, address_sender(&candidates->all[at].address));
	candidates->all[at] = candidates->all[--candidates->count];
}

static void candidates_forget_old(struct candidates *candidates, uint64_t now_ns)
{
	for (uint32_t i = 0; i < candidates->count;) {
		const struct candidate *candidate = &candidates->all[i];
		if (!candidate->given && !candidate->tried && now_ns - candidate->heard_ns >= CANDIDATES_LIFE_NS)
			candidates_forget(candidates, i);
		else
			i++;
	}
}

static bool candidates_goes_before(const struct candidate *a, const struct candidate *b)
{
	return a->failures != b->failures ? a->failures > b->failures : a->heard_ns > b->heard_ns;
}

/* The host with the most candidates, newcomer included, loses one: the candidate with the most failures; if none has
 * failed, the newest, so that a sender that announces many addresses does not push out candidates that wait for their
 * turn. False: the newcomer is the one. */
static bool candidates_make_room(struct candidates *candidates, const struct candidate *newcomer)
{
	const struct candidate *victim = newcomer;
	uint64_t most = quota_weight(&candidates->share, address_sender(&newcomer->address));
	for (uint32_t i = 0; i < candidates->count; i++) {
		const struct candidate *here = &candidates->all[i];
		uint64_t weight = quota_weight(&candidates->share, address_sender(&here->address));
		if (here->given || here->tried || weight < most ||
			(weight == most && !candidates_goes_before(here, victim)))
			continue;
		victim = here;
		most = weight;
	}
	if (victim == newcomer)
		return false;
	candidates_forget(candidates, (uint32_t)(victim - candidates->all));
	return true;
}

static struct candidate *candidates_add(struct candidates *candidates, const struct candidate *newcomer)
{
	struct sender sender = address_sender(&newcomer->address);
	quota_enter(&candidates->share, sender);
	if (candidates->count == CANDIDATES_MAX && !candidates_make_room(candidates, newcomer)) {
		quota_leave(&candidates->share, sender);
		return NULL;
	}
	candidates->all[candidates->count] = *newcomer;
	return &candidates->all[candidates->count++];
}

void candidates_give(struct candidates *candidates, const struct address *address)
{
	(void)candidates_add(candidates, &(struct candidate){.address = *address, .given = true, .missing = 1});
}

static uint32_t candidates_missing_of(const struct announcement *announcement)
{
	bool gathers = announcement->kind == ANNOUNCE_HERE && announcement->present < announcement->secondaries;
	return gathers ? announcement->secondaries - announcement->present : 0;
}

void candidates_hear(struct candidates *candidates, const struct announcement *announcement,
	const struct address *address, uint64_t now_ns)
{
	struct candidate new = {.address = *address, .heard_ns = now_ns, .due_ns = now_ns + CANDIDATES_SETTLE_NS};
	candidates_forget_old(candidates, now_ns);
	memcpy(new.id, announcement->id, sizeof new.id);
	struct candidate *candidate = candidates_find(candidates, address, announcement->id);
	if (!candidate && candidates_missing_of(announcement))
		candidate = candidates_add(candidates, &new);
	if (!candidate)
		return;
	candidate->missing = candidates_missing_of(announcement);
	candidate->heard_ns = now_ns;
}

/* The sort key of the next attempt. */
struct candidates_turn {
	uint64_t net_ns, host_ns; /* see quota_spent_ns() */
	struct candidate *candidate;
};

static int candidates_compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int candidates_compare(const struct candidates_turn *a, const struct candidates_turn *b)
{
	const struct candidate *x = a->candidate, *y = b->candidate;
	int order = candidates_compare_numbers(a->net_ns, b->net_ns);
	order = order ? order : candidates_compare_numbers(a->host_ns, b->host_ns);
	order = order ? order : candidates_compare_numbers(x->failures, y->failures);
	order = order ? order : candidates_compare_numbers(x->missing, y->missing);
	order = order ? order : memcmp(x->id, y->id, sizeof x->id);
	return order ? order : memcmp(x->address.raw, y->address.raw, sizeof x->address.raw);
}

static struct sender candidates_net_of(struct sender sender)
{
	return (struct sender){sender.net, sender.net};
}

bool candidates_next(struct candidates *candidates, uint64_t now_ns, struct candidate *ret_candidate)
{
	struct candidates_turn first = {.candidate = NULL};
	candidates_forget_old(candidates, now_ns);
	for (uint32_t i = 0; i < candidates->count; i++) {
		struct candidate *candidate = &candidates->all[i];
		struct sender sender = address_sender(&candidate->address);
		struct candidates_turn turn = {
			quota_spent_ns(&candidates->net_attempts, candidates_net_of(sender), now_ns),
			quota_spent_ns(&candidates->attempts, sender, now_ns), candidate};
		bool free = !candidate->tried || now_ns - candidate->tried_ns >= CANDIDATES_AGAIN_NS;
		bool due = candidate->missing && free && candidate->due_ns <= now_ns;
		if (due && (!first.candidate || candidates_compare(&turn, &first) < 0))
			first = turn;
	}
	if (!first.candidate)
		return false;
	struct sender sender = address_sender(&first.candidate->address);
	quota_charge(&candidates->attempts, sender, now_ns);
	quota_charge(&candidates->net_attempts, candidates_net_of(sender), now_ns);
	first.candidate->tried++;
	first.candidate->tried_ns = now_ns;
	*ret_candidate = *first.candidate;
	return true;
}

static uint64_t candidates_pause_ns(uint32_t failures, uint64_t most_ns)
{
	uint64_t pause = CANDIDATES_RETRY_NS;
	for (uint32_t i = 1; i < failures && pause < most_ns; i++)
		pause *= 2;
	return MIN(pause, most_ns);
}

void candidates_settle(
	struct candidates *candidates, const struct candidate *which, enum candidate_fate fate, uint64_t now_ns)
{
	struct candidate *candidate = candidates_find(candidates, &which->address, which->id);
	if (!candidate)
		return;
	bool refused = fate == CANDIDATE_REFUSED;
	candidate->tried -= candidate->tried > 0;
	if (fate == CANDIDATE_LEFT)
		return;
	bool fine = fate == CANDIDATE_JOINED || fate == CANDIDATE_LATER;
	candidate->failures = fine ? 0 : candidate->failures + (refused ? REFUSED_FAILURES : 1);
	candidate->laters = fate == CANDIDATE_LATER ? candidate->laters + 1 : 0;
	candidate->due_ns = now_ns;
	if (candidate->laters)
		candidate->due_ns += MIN(CANDIDATES_LATER_NS << MIN(candidate->laters - 1, 8u), CANDIDATES_RETRY_NS);
	if (candidate->failures)
		candidate->due_ns += candidates_pause_ns(
			candidate->failures, refused ? CANDIDATES_REFUSED_MAX_NS : CANDIDATES_RETRY_MAX_NS);
}
