/* How can a secondary that has just started, and has no memory of the network, tell a new announcement from a recorded
 * one? A counter that must increase does not help, nor does the start time of the primary: a recorded announcement may
 * be the first that this secondary hears. The time of day does not help: clocks of different machines differ. So the
 * secondary must ask, and the answer must contain the question: the number of the secondary. The primary draws numbers
 * too, to tell current questions from recorded ones. Recorded questions are answered after the current ones.
 *
 * A process has one place among the numbers heard, however often it announces itself. When all places are taken, the
 * network and host with the most places lose one: first a number that was echoed, then one that was not live, then the
 * oldest. */
#include "net/tcp/nonces.h"

#include <string.h>

uint64_t nonces_current(struct nonces *nonces, uint64_t random, uint64_t now_ns)
{
	if (nonces->own_count && now_ns - nonces->own[0].since_ns < NONCES_PERIOD_NS)
		return nonces->own[0].number;
	nonces->own_count = MIN(nonces->own_count + 1, (uint32_t)NONCES_OWN_MAX);
	memmove(&nonces->own[1], &nonces->own[0], (nonces->own_count - 1) * sizeof nonces->own[0]);
	nonces->own[0].number = random;
	nonces->own[0].since_ns = now_ns;
	return random;
}

uint32_t nonces_own(const struct nonces *nonces, uint64_t now_ns, uint64_t ret_numbers[NONCES_OWN_MAX])
{
	uint32_t count = 0;
	while (count < nonces->own_count && now_ns - nonces->own[count].since_ns < NONCES_LIFE_NS) {
		ret_numbers[count] = nonces->own[count].number;
		count++;
	}
	return count;
}

static void nonces_forget(struct nonces *nonces, uint32_t at)
{
	quota_leave(&nonces->share, nonces->heard[at].sender);
	nonces->heard[at] = nonces->heard[--nonces->heard_count];
}

static void nonces_forget_old(struct nonces *nonces, uint64_t now_ns)
{
	for (uint32_t i = 0; i < nonces->heard_count;)
		if (now_ns - nonces->heard[i].when_ns >= NONCES_LIFE_NS)
			nonces_forget(nonces, i);
		else
			i++;
}

static uint32_t nonces_find(const struct nonces *nonces, const unsigned char id[HELLO_ID_BYTES])
{
	uint32_t i = 0;
	while (i < nonces->heard_count && memcmp(nonces->heard[i].id, id, HELLO_ID_BYTES) != 0)
		i++;
	return i;
}

/* Whether a is dropped before b, when both are of one host. */
static bool nonces_goes_before(const struct nonces_heard *a, const struct nonces_heard *b)
{
	if (a->echoed != b->echoed)
		return a->echoed;
	if (a->live != b->live)
		return b->live;
	return a->when_ns < b->when_ns;
}

static void nonces_make_room(struct nonces *nonces)
{
	uint32_t victim = 0;
	uint64_t most = 0;
	for (uint32_t i = 0; i < nonces->heard_count; i++) {
		uint64_t weight = quota_weight(&nonces->share, nonces->heard[i].sender);
		if (weight > most ||
			(weight == most && nonces_goes_before(&nonces->heard[i], &nonces->heard[victim]))) {
			victim = i;
			most = weight;
		}
	}
	nonces_forget(nonces, victim);
}

void nonces_record(struct nonces *nonces, const struct announcement *announcement, struct sender sender, bool live,
	uint64_t now_ns)
{
	struct nonces_heard heard = {.number = announcement->nonce, .when_ns = now_ns, .sender = sender, .live = live};
	memcpy(heard.id, announcement->id, sizeof heard.id);
	uint32_t at = nonces_find(nonces, heard.id);
	if (at < nonces->heard_count) {
		heard.echoed = nonces->heard[at].echoed && nonces->heard[at].number == heard.number;
		/* a recorded number must not replace the current number of a live process */
		if (nonces->heard[at].live && !live && now_ns - nonces->heard[at].when_ns < NONCES_LIFE_NS)
			return;
		nonces_forget(nonces, at);
	} else if (nonces->heard_count == NONCES_HEARD_MAX) {
		nonces_forget_old(nonces, now_ns);
	}
	/* the newcomer counts too, so that its own host makes room when that host has the most */
	quota_enter(&nonces->share, sender);
	if (nonces->heard_count == NONCES_HEARD_MAX)
		nonces_make_room(nonces);
	nonces->heard[nonces->heard_count++] = heard;
}

bool nonces_echo_is_due(const struct nonces *nonces)
{
	for (uint32_t i = 0; i < nonces->heard_count; i++)
		if (!nonces->heard[i].echoed)
			return true;
	return false;
}

static void nonces_echo_some(struct nonces *nonces, struct announcement *announcement, bool echoed, bool live)
{
	for (uint32_t i = 0; i < nonces->heard_count && announcement->echo_count < ANNOUNCEMENT_ECHOES_MAX; i++) {
		struct nonces_heard *heard = &nonces->heard[i];
		if (heard->echoed == echoed && heard->live == live)
			announcement->echoes[announcement->echo_count++] = heard->number;
	}
}

/* Numbers that are echoed now are marked last; if they were marked earlier, they would be added twice. */
void nonces_echo(struct nonces *nonces, struct announcement *announcement, uint64_t now_ns)
{
	nonces_forget_old(nonces, now_ns);
	announcement->echo_count = 0;
	nonces_echo_some(nonces, announcement, false, true);
	nonces_echo_some(nonces, announcement, false, false);
	uint32_t waited = announcement->echo_count;
	nonces_echo_some(nonces, announcement, true, true);
	nonces_echo_some(nonces, announcement, true, false);
	for (uint32_t i = 0; i < nonces->heard_count; i++)
		for (uint32_t k = 0; k < waited; k++)
			nonces->heard[i].echoed |= nonces->heard[i].number == announcement->echoes[k];
}
