/* Both sides keep a table of connections. The primary's connections are unknown peers until their hello matches, then
 * members with a number. A secondary has at most one connection, to its primary.
 *
 * Things to do go into a queue of actions; the payloads stand one after another in one text. Both are emptied once all
 * actions have been taken. So actions come out in the order in which they were decided, and a heartbeat allocates
 * nothing.
 *
 * Only peers_tick() computes deadlines exactly. Between ticks, one number is kept that is never later than the next
 * deadline. A frame from a peer only moves deadlines to a later time, so it need not change that number. */
#include "net/peers_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	PEERS_STEP_BYTES = 80,  /* "; the last step that all had acknowledged is N", terminated */
	PEERS_LINE_BYTES = 320, /* of the peers present; with the rest of the text it must fit into one error */
};

/* --- life --------------------------------------------------------------------------------------------------------- */

struct peers *peers_create(const struct peers_options *options, uint64_t now_ns)
{
	struct peers *peers = mem_alloc(sizeof *peers);
	struct peers_options *own = &peers->options;
	*own = *options;
	own->secondaries = is_primary(peers) ? own->secondaries : 0;
	assert(!is_primary(peers) || (own->secondaries && own->secondaries <= TROUPE_SECONDARIES_MAX));
	own->stale_ns = own->stale_ns ? own->stale_ns : 1000 * MS;
	own->heartbeat_ns = own->heartbeat_ns ? own->heartbeat_ns : MAX(own->stale_ns / 5, 1);
	own->hello_ns = own->hello_ns ? own->hello_ns : 2000 * MS;
	own->kept_ns = own->kept_ns ? own->kept_ns : own->hello_ns;
	peers->room = is_primary(peers) ? own->secondaries + PEERS_UNKNOWN_MAX : 1;
	peers->all = mem_alloc(peers->room * sizeof *peers->all);
	peers->members = mem_alloc((own->secondaries + 1) * sizeof *peers->members);
	for (uint32_t i = 0; i <= own->secondaries; i++)
		peers->members[i] = PEERS_NONE;
	peers->gathering_ns = peers->beat_ns = now_ns;
	peers->next_step = own->first_step;
	peers->deadline_ns = now_ns; /* the first tick computes it */
	return peers;
}

void peers_destroy(struct peers *peers)
{
	if (!peers)
		return;
	for (uint32_t id = 0; id < peers->room; id++)
		free(peers->all[id].hello);
	free(peers->all);
	free(peers->members);
	vec_free(&peers->queue);
	text_fini(&peers->bytes);
	free(peers);
}

/* --- actions ------------------------------------------------------------------------------------------------------ */

bool peers_next(struct peers *peers, struct peers_action *ret_action)
{
	if (peers->taken == peers->queue.count) {
		peers->taken = peers->queue.count = 0;
		peers->bytes.count = 0;
		return false;
	}
	const struct queued *queued = &peers->queue.at[peers->taken++];
	*ret_action = queued->action;
	ret_action->bytes = peers->bytes.at + queued->begin;
	return true;
}

void peers_push(struct peers *peers, struct peers_action action, size_t begin)
{
	action.count = peers->bytes.count - begin;
	text_add_bytes(&peers->bytes, "", 1); /* a terminator, because the bytes may be a text */
	vec_push(&peers->queue, (struct queued){action, begin});
}

void peers_push_send(struct peers *peers, uint32_t id, enum frame_type type, size_t begin)
{
	peers_push(peers, (struct peers_action){.kind = PEERS_SEND, .id = id, .type = type}, begin);
}

void peers_push_close(struct peers *peers, uint32_t id)
{
	peers_push(peers, (struct peers_action){.kind = PEERS_CLOSE, .id = id}, peers->bytes.count);
}

void peers_send_number(struct peers *peers, uint32_t id, enum frame_type type, uint64_t number)
{
	size_t begin = peers->bytes.count;
	number_encode(number, &peers->bytes);
	peers_push_send(peers, id, type, begin);
}

void peers_send_refuse(struct peers *peers, uint32_t id, const char *why, bool again)
{
	size_t begin = peers->bytes.count;
	refuse_encode(why, again, &peers->bytes);
	peers_push_send(peers, id, FRAME_REFUSE, begin);
}

void peers_push_turned_away(struct peers *peers, uint32_t id, const char *why)
{
	size_t begin = peers->bytes.count;
	text_add(&peers->bytes, "%s: %s", peers->all[id].name, why);
	peers_push(peers, (struct peers_action){.kind = PEERS_TURNED_AWAY, .id = id}, begin);
}

static void peers_send_stop(struct peers *peers, uint32_t id, const struct stop *stop)
{
	size_t begin = peers->bytes.count;
	stop_encode(stop, &peers->bytes);
	peers_push_send(peers, id, FRAME_STOP, begin);
}

/* --- going -------------------------------------------------------------------------------------------------------- */

void peers_copy_words(char *to, size_t room, const char *from)
{
	size_t count = strnlen(from, room - 1);
	memcpy(to, from, count);
	to[count] = '\0';
}

static void peers_free(struct peers *peers, struct peer *peer)
{
	peers->kept -= peer->kept;
	free(peer->hello);
	*peer = (struct peer){.stage = FREE};
}

void peers_forget(struct peers *peers, uint32_t id, uint64_t now_ns)
{
	struct peer *peer = &peers->all[id];
	if (peer->kept) /* one less is hoped for */
		peers->options.expected = MAX(peers->options.expected, 2) - 1;
	if (peer->stage == MEMBER) {
		peers->members[peer->secondary] = PEERS_NONE;
		peers->present--;
		peers->ready -= peer->ready;
		peers->own = peers->own_of = 0;
		if (peers->phase == PEERS_LOADING) {
			peers->phase = PEERS_GATHERING;
			peers->gathering_ns = now_ns;
		}
	}
	peers_free(peers, peer);
}

/* The run has ended. Those that are to join again keep their connections. handled: the caller has told it, or it us. */
static void peers_part_with(struct peers *peers, uint32_t id, bool handled)
{
	struct peer *peer = &peers->all[id];
	const bool regroups = peers->end.kind == STOP_REGROUP, member = peer->stage == MEMBER;
	struct stop left = {.kind = STOP_LEFT, .next_step = peers->end.next_step};
	peers_copy_words(left.who, sizeof left.who, peer->name);
	peers_copy_words(left.why, sizeof left.why, "it was told to stop");
	if (peer->hello)
		peers_send_refuse(peers, id, "the members change once more", true);
	if (member && !handled)
		peers_send_stop(peers, id, regroups && peer->leaving ? &left : &peers->end);
	if (regroups && member && !peer->leaving && !(handled && is_primary(peers)))
		return;
	if (!handled)
		peers_push_close(peers, id);
	peers_free(peers, peer);
}

void peers_end_all(struct peers *peers, enum stop_kind kind, const char *who, const char *why, uint32_t but)
{
	if (peers->phase == PEERS_OVER)
		return;
	peers->end = (struct stop){.kind = kind, .next_step = peers->next_step};
	peers_copy_words(peers->end.who, sizeof peers->end.who, who);
	peers_copy_words(peers->end.why, sizeof peers->end.why, why);
	peers->phase = PEERS_OVER;
	for (uint32_t id = 0; id < peers->room; id++)
		if (peers->all[id].stage != FREE)
			peers_part_with(peers, id, id == but);
	peers_push(peers, (struct peers_action){.kind = PEERS_ENDED}, peers->bytes.count);
}

/* The peer is told why it is lost, and the others are told to join again. */
static void peers_lose_one(
	struct peers *peers, uint32_t id, enum stop_kind kind, const char *who, const char *why, enum farewell farewell)
{
	const bool client = peers->all[id].secondary > peers->options.secondaries - peers->options.clients;
	struct stop own = {.kind = kind == STOP_LOST && !client ? STOP_AGAIN : kind, .next_step = peers->next_step};
	peers_copy_words(own.who, sizeof own.who, who);
	peers_copy_words(own.why, sizeof own.why, why);
	peers->lost = peers->all[id].secondary;
	if (farewell == FAREWELL_WORDS) {
		peers_send_stop(peers, id, &own);
		peers_push_close(peers, id);
	}
	peers_end_all(peers, STOP_REGROUP, who, why, id);
}

bool peers_goes_on_without(const struct peers *peers, const struct peer *peer)
{
	bool client = peer->secondary > peers->options.secondaries - peers->options.clients;
	return is_primary(peers) && (peers->options.goes_on || client);
}

void peers_lose(
	struct peers *peers, uint32_t id, enum stop_kind kind, const char *why, enum farewell farewell, uint64_t now_ns)
{
	struct peer *peer = &peers->all[id];
	char who[PEERS_NAME_BYTES];
	bool matters = peer->stage == MEMBER || !is_primary(peers); /* the loss of an unknown peer does not matter */
	uint32_t number = peer->secondary;
	if (peers->phase == PEERS_OVER) { /* it will not join again */
		peers_free(peers, peer);
		return;
	}
	memcpy(who, peer->name, sizeof who);
	bool again = is_primary(peers) && peers->options.again && peers->phase == PEERS_LOADING;
	if ((peers->phase == PEERS_RUNNING || again) && peer->stage == MEMBER) {
		if (farewell == FAREWELL_CLOSE)
			peers_push_close(peers, id);
		if (peers_goes_on_without(peers, peer))
			peers_lose_one(peers, id, kind, who, why, farewell);
		else
			peers_end_all(peers, kind, who, why, farewell == FAREWELL_WORDS ? PEERS_NONE : id);
		peers->orphan = !is_primary(peers) && kind == STOP_LOST;
		return;
	}
	if (farewell == FAREWELL_WORDS)
		peers_send_refuse(peers, id, why, false);
	if (farewell != FAREWELL_NONE)
		peers_push_close(peers, id);
	peers_forget(peers, id, now_ns);
	if (!matters)
		return;
	size_t begin = peers->bytes.count;
	text_add(&peers->bytes, "%s: %s", who, why);
	peers_push(peers, (struct peers_action){.kind = PEERS_LOST, .id = id, .secondary = number}, begin);
}

static bool peers_is_here(const struct peers *peers, uint32_t id)
{
	return id < peers->room && peers->all[id].stage != FREE;
}

void peers_drop(struct peers *peers, uint32_t id, const char *why, uint64_t now_ns)
{
	if (peers_is_here(peers, id))
		peers_lose(peers, id, STOP_LOST, why, FAREWELL_NONE, now_ns);
}

void peers_break(struct peers *peers, uint32_t id, const char *why, uint64_t now_ns)
{
	if (!peers_is_here(peers, id))
		return;
	const struct peer *peer = &peers->all[id];
	if (is_primary(peers) && peer->stage == STRANGER)
		peers_push_turned_away(peers, id, why);
	peers_lose(peers, id, STOP_BROKEN, why, FAREWELL_WORDS, now_ns);
}

void peers_abandon(struct peers *peers, uint32_t id, const char *why, uint64_t now_ns)
{
	if (peers_is_here(peers, id))
		peers_lose(peers, id, STOP_LOST, why, FAREWELL_WORDS, now_ns);
}

void peers_stop(struct peers *peers, enum stop_kind kind, const char *why)
{
	struct text who = {0};
	const char *name = peers->options.self.name;
	bool in_vain = is_primary(peers) && kind == STOP_FAILED && !peers->step_is_out;
	if (in_vain && peers->phase == PEERS_RUNNING && peers->next_step > peers->options.first_step)
		peers->next_step -= (uint64_t)peers->more + 1;
	if (is_primary(peers))
		text_add(&who, "the primary (%s)", name);
	else if (peers->own)
		text_add(&who, "secondary %u (%s)", peers->own, name);
	else
		text_add(&who, "a secondary (%s)", name);
	peers_end_all(peers, kind, who.at, why, PEERS_NONE);
	text_fini(&who);
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

bool peers_heard(struct peers *peers, uint32_t id, enum frame_type type, uint64_t now_ns)
{
	if (!peers_is_here(peers, id) || peers->phase == PEERS_OVER)
		return false;
	if (!peers_is_due(peers, &peers->all[id], type)) {
		struct troupe_error error;
		fail(&error, TROUPE_EPROTOCOL, "sent %s, which is not due", frame_name(type));
		peers_break(peers, id, error.text, now_ns);
		return false;
	}
	peers->all[id].heard_ns = now_ns;
	return true;
}

void peers_alive(struct peers *peers, uint32_t id, uint64_t now_ns)
{
	if (peers_is_here(peers, id))
		peers->all[id].heard_ns = now_ns;
}

void peers_ready(struct peers *peers, uint64_t state_hash)
{
	if (is_primary(peers) || peers->phase != PEERS_LOADING)
		return;
	struct peer *primary = &peers->all[peers->members[0]];
	peers->ready += !primary->ready;
	primary->ready = true;
	peers_send_number(peers, peers->members[0], FRAME_READY, state_hash);
}

void peers_begin(struct peers *peers, const char *const *names, uint32_t own, uint32_t own_of, uint64_t now_ns)
{
	uint32_t count = is_primary(peers) ? peers->options.secondaries : 1;
	for (uint32_t id = 0; id < count; id++) {
		struct peer *peer = &peers->all[id];
		*peer = (struct peer){.stage = MEMBER, .ready = true, .joined_ns = now_ns, .heard_ns = now_ns};
		peer->secondary = is_primary(peers) ? id + 1 : 0;
		peers_copy_words(peer->name, sizeof peer->name, names[id]);
		peers->members[peer->secondary] = id;
	}
	peers->present = peers->ready = count;
	peers->own = own;
	peers->own_of = own_of;
	peers->expected = peers->next_step;
	peers->phase = PEERS_RUNNING;
	peers->began = true;
}

void peers_allow(struct peers *peers, uint64_t step_ns)
{
	peers->options.step_ns = step_ns;
}

bool peers_publish(struct peers *peers, uint64_t number, uint64_t now_ns)
{
	assert(is_primary(peers));
	if (peers->phase != PEERS_RUNNING) {
		peers->end.next_step = MIN(peers->end.next_step, number);
		return false;
	}
	assert(!peers->step_is_out && (number == peers->next_step || number == peers->published));
	peers->step_is_out = true;
	peers->published = peers->next_step = number;
	peers->more = 0;
	peers->acks = 0;
	peers->published_ns = now_ns;
	for (uint32_t i = 1; i <= peers->options.secondaries; i++)
		peers->all[peers->members[i]].acked = false;
	if (peers->options.step_ns)
		peers_wake_at(peers, now_ns + peers->options.step_ns);
	return true;
}

void peers_hurry(struct peers *peers, uint64_t stale_ns)
{
	peers->options.stale_ns = MIN(peers->options.stale_ns, stale_ns);
}

static bool peers_break_number(
	struct peers *peers, uint32_t id, const char *what, uint64_t number, uint64_t expected, uint64_t now_ns)
{
	struct troupe_error error;
	fail(&error, TROUPE_EPROTOCOL, "sent %s %llu: expected %llu", what, (unsigned long long)number,
		(unsigned long long)expected);
	peers_break(peers, id, error.text, now_ns);
	return false;
}

bool peers_step(struct peers *peers, uint32_t id, uint64_t number, uint64_t now_ns)
{
	if (!peers_heard(peers, id, FRAME_STEP, now_ns))
		return false;
	if (number != peers->expected)
		return peers_break_number(peers, id, "step", number, peers->expected, now_ns);
	if (peers->step_is_out) {
		peers_break(peers, id, "sent a step before the previous step was acknowledged", now_ns);
		return false;
	}
	peers->step_is_out = true;
	peers->next_step = number;
	peers->expected = number + 1;
	return true;
}

void peers_widen(struct peers *peers, uint64_t number, uint32_t more)
{
	peers->more = more;
	if (is_primary(peers))
		return;
	peers->next_step = number;
	peers->expected = number + 1 + more;
}

bool peers_ack(struct peers *peers, uint32_t id, uint64_t number, uint64_t now_ns)
{
	if (!peers_heard(peers, id, FRAME_ACK, now_ns))
		return false;
	struct peer *peer = &peers->all[id];
	if (!peers->step_is_out || peer->acked) {
		peers_break(peers, id, "sent an ack when no step waited for one", now_ns);
		return false;
	}
	if (number != peers->next_step)
		return peers_break_number(peers, id, "an ack of step", number, peers->next_step, now_ns);
	peer->acked = true;
	if (++peers->acks == peers->options.secondaries) {
		peers->step_is_out = false;
		peers->next_step += (uint64_t)peers->more + 1;
	}
	return true;
}

bool peers_waits(const struct peers *peers)
{
	return is_primary(peers) && peers->step_is_out;
}

bool peers_owes(const struct peers *peers, uint32_t id)
{
	return peers_waits(peers) && peers_is_here(peers, id) && !peers->all[id].acked;
}

bool peers_acknowledge(struct peers *peers)
{
	assert(!is_primary(peers));
	peers->step_is_out = false;
	return peers->phase == PEERS_RUNNING;
}

/* --- time --------------------------------------------------------------------------------------------------------- */

static void peers_send_heartbeats(struct peers *peers, uint64_t now_ns)
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
	peers_send_heartbeats(peers, now_ns);
}

void peers_busy(struct peers *peers, bool busy, uint64_t now_ns)
{
	peers->busy = busy;
	if (peers->phase != PEERS_OVER)
		peers_send_heartbeats(peers, now_ns);
}

void peers_woke(struct peers *peers, uint64_t now_ns)
{
	if (peers->phase == PEERS_OVER)
		return;
	for (uint32_t id = 0; id < peers->room; id++)
		peers->all[id].heard_ns = now_ns;
	peers->published_ns = now_ns;
	peers_send_heartbeats(peers, now_ns);
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
static void peers_tick_one(struct peers *peers, uint32_t id, uint64_t now_ns)
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
static void peers_tick_step(struct peers *peers, uint64_t now_ns)
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
static void peers_say_who_is_here(const struct peers *peers, struct text *out)
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

static void peers_say_who_is_missing(const struct peers *peers, struct text *out)
{
	uint32_t all = peers->options.secondaries;
	text_add(out, "waited %.6g s", (double)peers->options.wait_ns / 1e9);
	if (!is_primary(peers)) {
		text_add(out, " for a primary");
		return;
	}
	text_add(out, " for %u %s: %u missing", all, all == 1 ? "secondary" : "secondaries", all - peers->present);
	if (peers->present)
		peers_say_who_is_here(peers, out);
	else
		text_add(out, ", none present");
}

static void peers_tick_wait(struct peers *peers, uint64_t now_ns)
{
	/* in a run that goes on: for one to come when none is left */
	bool some = peers->options.again && (peers->kept || peers_count_waiting(peers, false));
	if (peers->phase != PEERS_GATHERING || !peers->options.wait_ns || some ||
		!peers_passed(peers, peers->gathering_ns, peers->options.wait_ns, now_ns))
		return;
	struct text why = {0};
	peers_say_who_is_missing(peers, &why);
	peers_stop(peers, STOP_MISSING, why.at);
	text_fini(&why);
}

void peers_tick(struct peers *peers, uint64_t now_ns)
{
	peers->deadline_ns = UINT64_MAX;
	for (uint32_t id = 0; id < peers->room && peers->phase != PEERS_OVER; id++)
		if (peers->all[id].stage != FREE)
			peers_tick_one(peers, id, now_ns);
	if (peers->phase == PEERS_RUNNING && is_primary(peers))
		peers_tick_step(peers, now_ns);
	if (peers->options.again)
		peers_settle(peers, now_ns);
	peers_tick_wait(peers, now_ns);
	if (peers->phase == PEERS_OVER || !peers->present)
		return;
	if (peers_passed(peers, peers->beat_ns, peers->options.heartbeat_ns, now_ns)) {
		peers_send_heartbeats(peers, now_ns);
		peers_wake_at(peers, now_ns + peers->options.heartbeat_ns);
	}
}

uint64_t peers_deadline_ns(const struct peers *peers)
{
	return peers->phase == PEERS_OVER ? UINT64_MAX : peers->deadline_ns;
}

/* --- what is known ------------------------------------------------------------------------------------------------ */

enum peers_phase peers_phase(const struct peers *peers)
{
	return peers->phase;
}

const struct stop *peers_end(const struct peers *peers)
{
	return peers->phase == PEERS_OVER ? &peers->end : NULL;
}

static const char *peers_deed_of(enum stop_kind kind)
{
	switch (kind) {
	case STOP_DONE:
		return "is done";
	case STOP_LEFT:
		return "left";
	case STOP_LOST:
	case STOP_AGAIN:
		return "was lost";
	case STOP_BROKEN:
		return "sent invalid data";
	case STOP_FAILED:
		return "failed";
	case STOP_MISSING:
		return "gave up";
	case STOP_REFUSED:
		return "turned this process away";
	case STOP_REGROUP:
		return "takes part no longer";
	}
	return "?";
}

bool peers_regroups(const struct peers *peers, uint32_t *ret_lost)
{
	*ret_lost = is_primary(peers) ? peers->lost : peers->end.kind == STOP_AGAIN;
	return peers->phase == PEERS_OVER && (peers->end.kind == STOP_REGROUP || peers->end.kind == STOP_AGAIN);
}

const char *peers_address(const struct peers *peers, uint32_t id)
{
	return peers->all[id].address;
}

bool peers_is_orphan(const struct peers *peers)
{
	return peers->orphan;
}

const unsigned char *peers_run(const struct peers *peers)
{
	return peers->run;
}

uint64_t peers_term(const struct peers *peers)
{
	return peers->term;
}

const char *peers_standby(const struct peers *peers)
{
	return peers->standby;
}

const char *peers_missing(const struct peers *peers)
{
	return peers->missing;
}

bool peers_stays(const struct peers *peers, uint32_t id)
{
	return peers->phase == PEERS_OVER && peers->end.kind == STOP_REGROUP && id < peers->room &&
	       peers->all[id].stage == MEMBER;
}

bool peers_is_leaving(const struct peers *peers, uint32_t secondary)
{
	uint32_t id = peers_id_of(peers, secondary);
	return is_primary(peers) && id != PEERS_NONE && peers->all[id].leaving;
}

void peers_linger(struct peers *peers)
{
	size_t begin = peers->bytes.count;
	if (is_primary(peers) || !peers_stays(peers, peers->members[0]))
		return;
	heartbeat_encode(&(struct heartbeat){.step = peers->expected}, &peers->bytes);
	peers_push_send(peers, peers->members[0], FRAME_HEARTBEAT, begin);
}

bool peers_is_new(const struct peers *peers, uint32_t secondary)
{
	uint32_t id = peers_id_of(peers, secondary);
	return id != PEERS_NONE && !peers->all[id].known;
}

const unsigned char *peers_process(const struct peers *peers, uint32_t secondary)
{
	return peers->all[peers_id_of(peers, secondary)].id;
}

uint32_t peers_known(const struct peers *peers)
{
	uint32_t count = 0;
	for (uint32_t id = 0; id < peers->room; id++)
		count += peers->all[id].stage != FREE && peers->all[id].known;
	return count;
}

uint32_t peers_secondaries(const struct peers *peers)
{
	return peers->options.secondaries;
}

const unsigned char *peers_ticket(const struct peers *peers)
{
	return peers->ticket;
}

uint16_t peers_port(const struct peers *peers)
{
	return peers->port;
}

troupe_status peers_end_status(const struct peers *peers, struct troupe_error *error)
{
	const struct stop *end = &peers->end;
	bool wrong = end->kind == STOP_BROKEN || end->kind == STOP_REFUSED;
	char step[PEERS_STEP_BYTES], line[TROUPE_ERROR_TEXT_BYTES - PEERS_STEP_BYTES];
	struct text text = {0};
	if (peers->phase != PEERS_OVER || end->kind == STOP_DONE)
		return TROUPE_OK;
	if (!peers->began)
		text_add(&text, "before the first step");
	else if (end->next_step == peers->options.first_step)
		text_add(&text, "no step was acknowledged by all");
	else
		text_add(&text, "the last step that all had acknowledged is %llu",
			(unsigned long long)end->next_step - 1);
	peers_copy_words(step, sizeof step, text.at);
	text.count = 0;
	text_add(&text, "%.200s %s: %s", end->who, peers_deed_of(end->kind), end->why);
	peers_copy_words(line, sizeof line, text.at);
	text_fini(&text);
	/* the step stands last and is never cut off */
	return fail(error, wrong ? TROUPE_EPROTOCOL : TROUPE_EPEER, "%s; %s", line, step);
}

uint32_t peers_present(const struct peers *peers)
{
	return peers->present;
}

uint32_t peers_id_of(const struct peers *peers, uint32_t secondary)
{
	return secondary <= peers->options.secondaries ? peers->members[secondary] : PEERS_NONE;
}

uint32_t peers_secondary_of(const struct peers *peers, uint32_t id)
{
	return peers_is_here(peers, id) ? peers->all[id].secondary : 0;
}

const char *peers_name(const struct peers *peers, uint32_t id)
{
	return peers_is_here(peers, id) ? peers->all[id].name : "nobody";
}

uint32_t peers_own_number(const struct peers *peers, uint32_t *ret_secondaries)
{
	*ret_secondaries = peers->own_of;
	return peers->own;
}

uint64_t peers_stale_ns(const struct peers *peers)
{
	return peers->options.stale_ns;
}

uint64_t peers_first_step(const struct peers *peers)
{
	return peers->options.first_step;
}
