/* How can a secondary that has just started, and has no memory of the network, tell a new announcement from a recorded
 * one? A counter that must increase does not help, nor does the start time of the primary: a recorded announcement may
 * be the first that this secondary hears. The time of day does not help: clocks of different machines differ. So the
 * secondary must ask, and the answer must contain the question: the number of the secondary. The primary draws numbers
 * too, to tell current questions from recorded ones. Recorded questions are answered after the current ones.
 *
 * A process has one place among the numbers heard, however often it announces itself. When all places are taken, the
 * network and host with the most places lose one: first a number that was echoed, then one that was not live, then the
 * oldest. */
#include "net/tcp/fresh.h"

#include <string.h>

uint64_t fresh_number(struct fresh *fresh, uint64_t random, uint64_t now_ns)
{
	if (fresh->own_count && now_ns - fresh->own[0].since_ns < FRESH_PERIOD_NS)
		return fresh->own[0].number;
	fresh->own_count = MIN(fresh->own_count + 1, (uint32_t)FRESH_OWN_MAX);
	memmove(&fresh->own[1], &fresh->own[0], (fresh->own_count - 1) * sizeof fresh->own[0]);
	fresh->own[0].number = random;
	fresh->own[0].since_ns = now_ns;
	return random;
}

uint32_t fresh_own(const struct fresh *fresh, uint64_t now_ns, uint64_t ret_numbers[FRESH_OWN_MAX])
{
	uint32_t count = 0;
	while (count < fresh->own_count && now_ns - fresh->own[count].since_ns < FRESH_LIFE_NS) {
		ret_numbers[count] = fresh->own[count].number;
		count++;
	}
	return count;
}

static void fresh_forget(struct fresh *fresh, uint32_t at)
{
	senders_leave(&fresh->share, fresh->heard[at].sender);
	fresh->heard[at] = fresh->heard[--fresh->heard_count];
}

static void fresh_forget_old(struct fresh *fresh, uint64_t now_ns)
{
	for (uint32_t i = 0; i < fresh->heard_count;)
		if (now_ns - fresh->heard[i].when_ns >= FRESH_LIFE_NS)
			fresh_forget(fresh, i);
		else
			i++;
}

static uint32_t fresh_find(const struct fresh *fresh, const unsigned char id[HELLO_ID_BYTES])
{
	uint32_t i = 0;
	while (i < fresh->heard_count && memcmp(fresh->heard[i].id, id, HELLO_ID_BYTES) != 0)
		i++;
	return i;
}

/* Whether a is dropped before b, when both are of one host. */
static bool fresh_goes_before(const struct fresh_heard *a, const struct fresh_heard *b)
{
	if (a->echoed != b->echoed)
		return a->echoed;
	if (a->live != b->live)
		return b->live;
	return a->when_ns < b->when_ns;
}

static void fresh_make_room(struct fresh *fresh)
{
	uint32_t victim = 0;
	uint64_t most = 0;
	for (uint32_t i = 0; i < fresh->heard_count; i++) {
		uint64_t weight = senders_weight(&fresh->share, fresh->heard[i].sender);
		if (weight > most || (weight == most && fresh_goes_before(&fresh->heard[i], &fresh->heard[victim]))) {
			victim = i;
			most = weight;
		}
	}
	fresh_forget(fresh, victim);
}

void fresh_hear(
	struct fresh *fresh, const struct announcement *announcement, struct sender sender, bool live, uint64_t now_ns)
{
	struct fresh_heard heard = {.number = announcement->fresh, .when_ns = now_ns, .sender = sender, .live = live};
	memcpy(heard.id, announcement->id, sizeof heard.id);
	uint32_t at = fresh_find(fresh, heard.id);
	if (at < fresh->heard_count) {
		heard.echoed = fresh->heard[at].echoed && fresh->heard[at].number == heard.number;
		/* a recorded number must not replace the current number of a live process */
		if (fresh->heard[at].live && !live && now_ns - fresh->heard[at].when_ns < FRESH_LIFE_NS)
			return;
		fresh_forget(fresh, at);
	} else if (fresh->heard_count == FRESH_HEARD_MAX) {
		fresh_forget_old(fresh, now_ns);
	}
	/* the newcomer counts too, so that its own host makes room when that host has the most */
	senders_enter(&fresh->share, sender);
	if (fresh->heard_count == FRESH_HEARD_MAX)
		fresh_make_room(fresh);
	fresh->heard[fresh->heard_count++] = heard;
}

bool fresh_owes(const struct fresh *fresh)
{
	for (uint32_t i = 0; i < fresh->heard_count; i++)
		if (!fresh->heard[i].echoed)
			return true;
	return false;
}

static void fresh_echo_those(struct fresh *fresh, struct announcement *announcement, bool echoed, bool live)
{
	for (uint32_t i = 0; i < fresh->heard_count && announcement->echo_count < ANNOUNCEMENT_ECHOES_MAX; i++) {
		struct fresh_heard *heard = &fresh->heard[i];
		if (heard->echoed == echoed && heard->live == live)
			announcement->echoes[announcement->echo_count++] = heard->number;
	}
}

/* Numbers that are echoed now are marked last; if they were marked earlier, they would be added twice. */
void fresh_echo(struct fresh *fresh, struct announcement *announcement, uint64_t now_ns)
{
	fresh_forget_old(fresh, now_ns);
	announcement->echo_count = 0;
	fresh_echo_those(fresh, announcement, false, true);
	fresh_echo_those(fresh, announcement, false, false);
	uint32_t waited = announcement->echo_count;
	fresh_echo_those(fresh, announcement, true, true);
	fresh_echo_those(fresh, announcement, true, false);
	for (uint32_t i = 0; i < fresh->heard_count; i++)
		for (uint32_t k = 0; k < waited; k++)
			fresh->heard[i].echoed |= fresh->heard[i].number == announcement->echoes[k];
}
