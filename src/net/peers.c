/* Both sides keep a table of connections. The primary's connections are unknown peers until their hello matches, then
 * members with a number. A secondary has at most one connection, to its primary.
 *
 * Things to do go into a queue of actions; the payloads stand one after another in one text. Both are emptied once all
 * actions have been taken. So actions come out in the order in which they were decided, and a heartbeat allocates
 * nothing. */
#include "net/peers_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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

bool peers_is_here(const struct peers *peers, uint32_t id)
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
