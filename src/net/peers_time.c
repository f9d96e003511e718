/* Time: heartbeats, and deadlines of peers, of the step that is out, and of the wait for members.
 *
 * Only peers_tick() computes deadlines exactly. Between ticks, one number is kept that is never later than the next
 * deadline. A frame from a peer only moves deadlines to a later time, so it need not change that number. */
#include "net/peers_internal.h"

#include <assert.h>
#include <string.h>

enum { PEERS_LINE_BYTES = 320 /* of the peers present; with the rest of the text it must fit into one error */ };

static void peers_time_send_heartbeats(struct peers *peers, uint64_t now_ns)
{
	uint64_t step = is_primary(peers) ? peers->next_step : peers->expected;
	for (uint32_t id = 0; id < peers->room; id++) {
		if (peers->all[id].stage != MEMBER || (!is_primary(peers) && !peers->own))
			continue;
		size_t begin = peers->bytes.count;
		heartbeat_encode(&(struct heartbeat){peers->busy, peers->all[id].leaving && !is_primary(peers), step},
			&peers->bytes);
		peers_push_send(peers, id, FRAME_HEARTBEAT, begin);
	}
	peers->beat_ns = now_ns;
}

void peers_leave(struct peers *peers, uint64_t now_ns)
{
	assert(!is_primary(peers));
	if (peers->phase != PEERS_RUNNING)
		return;
	peers->all[peers->members[0]].leaving = true;
	peers_time_send_heartbeats(peers, now_ns);
}

void peers_busy(struct peers *peers, bool busy, uint64_t now_ns)
{
	peers->busy = busy;
	if (peers->phase != PEERS_OVER)
		peers_time_send_heartbeats(peers, now_ns);
}

void peers_woke(struct peers *peers, uint64_t now_ns)
{
	if (peers->phase == PEERS_OVER)
		return;
	for (uint32_t id = 0; id < peers->room; id++)
		peers->all[id].heard_ns = now_ns;
	peers->published_ns = now_ns;
	peers_time_send_heartbeats(peers, now_ns);
}

void peers_wake_at(struct peers *peers, uint64_t when_ns)
{
	peers->deadline_ns = MIN(peers->deadline_ns, when_ns);
}

bool peers_passed(struct peers *peers, uint64_t since_ns, uint64_t span_ns, uint64_t now_ns)
{
	if (now_ns >= since_ns && now_ns - since_ns >= span_ns)
		return true;
	peers_wake_at(peers, since_ns + span_ns);
	return false;
}

/* Checks how long a peer has been silent: an unknown peer until its hello, a primary until its welcome. */
static void peers_time_tick_one(struct peers *peers, uint32_t id, uint64_t now_ns)
{
	const struct peer *peer = &peers->all[id];
	struct troupe_error why;
	bool admitted = peer->stage == MEMBER && (is_primary(peers) || peers->own);
	if (peer->hello) /* it waits for others */
		return;
	if ((admitted || peer->kept) && peers_passed(peers, peer->heard_ns, peers->options.stale_ns, now_ns)) {
		fail(&why, TROUPE_EPEER, "silent for %llu ms", (unsigned long long)((now_ns - peer->heard_ns) / MS));
		peers_lose(peers, id, STOP_LOST, why.text, FAREWELL_WORDS, now_ns);
		return;
	}
	uint64_t span_ns = peer->kept ? peers->options.kept_ns : peers->options.hello_ns;
	if (!admitted && peers_passed(peers, peer->joined_ns, span_ns, now_ns))
		peers_lose(peers, id, STOP_LOST,
			peer->stage == MEMBER ? "did not answer the hello in time" : "sent no hello in time",
			FAREWELL_WORDS, now_ns);
}

/* Primary. When the deadline of the step has passed and no secondary that owes its ack is busy, the one with the lowest
 * number is lost. */
static void peers_time_tick_step(struct peers *peers, uint64_t now_ns)
{
	uint32_t first = PEERS_NONE;
	struct troupe_error why;
	if (!peers->step_is_out || !peers->options.step_ns ||
		!peers_passed(peers, peers->published_ns, peers->options.step_ns, now_ns))
		return;
	for (uint32_t i = peers->options.secondaries; i > 0; i--) {
		const struct peer *peer = &peers->all[peers->members[i]];
		if (!peer->acked && peer->busy) {
			peers_wake_at(peers, now_ns + peers->options.heartbeat_ns);
			return;
		}
		if (!peer->acked)
			first = peers->members[i];
	}
	fail(&why, TROUPE_EPEER, "did not acknowledge step %llu within %llu ms", (unsigned long long)peers->next_step,
		(unsigned long long)(peers->options.step_ns / MS));
	peers_lose(peers, first, STOP_LOST, why.text, FAREWELL_WORDS, now_ns);
}

/* Names as many secondaries as fit into one line, and counts the others. */
static void peers_time_say_who_is_here(const struct peers *peers, struct text *out)
{
	uint32_t named = 0;
	text_add(out, ", present: ");
	for (uint32_t i = 1; i <= peers->options.secondaries; i++) {
		const char *name = peers->members[i] == PEERS_NONE ? NULL : peers->all[peers->members[i]].name;
		if (name && out->count + strlen(name) < PEERS_LINE_BYTES)
			text_add(out, "%s%s", named++ ? ", " : "", name);
	}
	if (named < peers->present)
		text_add(out, "%s%u%s", named ? " and " : "", peers->present - named, named ? " more" : "");
}

static void peers_time_say_who_is_missing(const struct peers *peers, struct text *out)
{
	uint32_t all = peers->options.secondaries;
	text_add(out, "waited %.6g s", (double)peers->options.wait_ns / 1e9);
	if (!is_primary(peers)) {
		text_add(out, " for a primary");
		return;
	}
	text_add(out, " for %u %s: %u missing", all, all == 1 ? "secondary" : "secondaries", all - peers->present);
	if (peers->present)
		peers_time_say_who_is_here(peers, out);
	else
		text_add(out, ", none present");
}

static void peers_time_tick_wait(struct peers *peers, uint64_t now_ns)
{
	/* in a run that goes on: for one to come when none is left */
	bool some = peers->options.again && (peers->kept || peers_count_waiting(peers, false));
	if (peers->phase != PEERS_GATHERING || !peers->options.wait_ns || some ||
		!peers_passed(peers, peers->gathering_ns, peers->options.wait_ns, now_ns))
		return;
	struct text why = {0};
	peers_time_say_who_is_missing(peers, &why);
	peers_stop(peers, STOP_MISSING, why.at);
	text_fini(&why);
}

void peers_tick(struct peers *peers, uint64_t now_ns)
{
	peers->deadline_ns = UINT64_MAX;
	for (uint32_t id = 0; id < peers->room && peers->phase != PEERS_OVER; id++)
		if (peers->all[id].stage != FREE)
			peers_time_tick_one(peers, id, now_ns);
	if (peers->phase == PEERS_RUNNING && is_primary(peers))
		peers_time_tick_step(peers, now_ns);
	if (peers->options.again)
		peers_settle(peers, now_ns);
	peers_time_tick_wait(peers, now_ns);
	if (peers->phase == PEERS_OVER || !peers->present)
		return;
	if (peers_passed(peers, peers->beat_ns, peers->options.heartbeat_ns, now_ns)) {
		peers_time_send_heartbeats(peers, now_ns);
		peers_wake_at(peers, now_ns + peers->options.heartbeat_ns);
	}
}

uint64_t peers_deadline_ns(const struct peers *peers)
{
	return peers->phase == PEERS_OVER ? UINT64_MAX : peers->deadline_ns;
}
