/* Events are frames that arrive, ends of lines, deadlines of peers, faults, and steps that are done. The earliest event
 * is taken next. At equal times faults come first, then steps done and frames by secondary, then deadlines by node, so
 * nothing depends on which thread came first. A thread that has to wait, or has just acknowledged, drives: it takes
 * events one by one, up to the time at which a computing secondary could act.
 *
 * One mutex guards everything. It is released only while the primary's part is called, with `driving` set, and while a
 * secondary's thread sleeps. */
#include "sim.h"

#include "base/hash.h"
#include "net/peers.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = SIM_SECONDARIES_MAX + 1 };
#define NEVER UINT64_MAX
#define SECOND_NS UINT64_C(1000000000)

struct parcel {
	uint64_t at_ns;
	enum frame_type type;
	uint64_t number; /* of the step, in STEP and ACK */
	uint32_t more;   /* further steps of its window */
	void *payload;   /* of STEP and ACK, without a codec */
	struct text bytes;
};

struct line { /* one direction of a connection */
	VEC(struct parcel) parcels;
	uint32_t taken;
	uint64_t sent;      /* parcels so far: the key of the random delays */
	uint64_t closed_ns; /* time at which its end arrives; NEVER: open */
	uint32_t id;        /* id of the connection in its reader's table; PEERS_NONE: removed */
};

struct node {
	struct peers *peers;
	bool dead, hangs, cut, spoils;
	uint64_t frozen_ns, slow_ns;
	struct line in, out; /* of a secondary: from and to the primary */
	/* fields of a secondary */
	pthread_cond_t changed;  /* wakes its thread */
	bool has_step, computes; /* a step has arrived; the step is worked on */
	bool owes;               /* wait() gave the step; its ack is due */
	uint64_t number, done_ns;
	uint64_t expected;        /* the step after the last window */
	struct parcel step, done; /* the step that came; the ack, until the step is done */
	bool has_done, is_bad;    /* is_bad: the step was not valid */
	struct troupe_error bad;
	/* the primary's data of this secondary */
	struct parcel next; /* the published step, until it is sent */
	struct transport_message ack;
};

struct transport {
	struct transport_options options;
	struct transport_link *link, none;
	pthread_mutex_t guard;
	struct node nodes[NODES_MAX];
	uint32_t count; /* of nodes */
	uint64_t now_ns;
	uint32_t faults; /* count of the faults that have happened */
	bool begun;      /* a step was published */
	bool running;    /* the primary has started */
	bool out, sent;  /* a step is published; it was put on the lines */
	bool driving, closed, lost, alarmed;
	bool told;       /* the primary itself ended the run, so this is no loss */
	uint64_t number; /* of the step that was published last */
	uint32_t more;   /* further steps of its window */
	uint32_t acks;
	bool all_acked, gave_up, asked; /* all_acked(), gave_up() or asked() must be called */
	struct troupe_error why;
	struct transport_counts counts; /* of the primary: payloads */
};

static uint64_t draw(const struct transport *transport, uint64_t key, uint64_t limit)
{
	return limit ? hash_mix(hash_mix(transport->link->seed, key), 0x9e3779b97f4a7c15u) % (limit + 1) : 0;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static troupe_status sim_create(
	const struct transport_options *options, struct transport **ret_transport, struct troupe_error *error)
{
	if (!options->secondaries || options->secondaries > SIM_SECONDARIES_MAX)
		return fail(error, TROUPE_EINVAL, "%u secondaries: expected 1 to %d", options->secondaries,
			SIM_SECONDARIES_MAX);
	struct transport *transport = mem_alloc(sizeof *transport);
	transport->options = *options;
	transport->link = options->link ? options->link : &transport->none;
	transport->link->transport = transport;
	transport->count = options->secondaries + 1;
	pthread_mutex_init(&transport->guard, NULL);
	for (uint32_t i = 0; i < transport->count; i++)
		pthread_cond_init(&transport->nodes[i].changed, NULL);
	*ret_transport = transport;
	return TROUPE_OK;
}

static void free_line(struct line *line)
{
	for (uint32_t i = line->taken; i < line->parcels.count; i++)
		text_fini(&line->parcels.at[i].bytes);
	vec_free(&line->parcels);
}

static void sim_destroy(struct transport *transport)
{
	if (!transport)
		return;
	transport->link->transport = NULL;
	for (uint32_t i = 0; i < transport->count; i++) {
		struct node *node = &transport->nodes[i];
		peers_destroy(node->peers);
		pthread_cond_destroy(&node->changed);
		free_line(&node->in);
		free_line(&node->out);
		text_fini(&node->step.bytes);
		text_fini(&node->done.bytes);
		text_fini(&node->next.bytes);
	}
	pthread_mutex_destroy(&transport->guard);
	free(transport);
}

/* --- lines -------------------------------------------------------------------------------------------------------- */

static void damage(struct transport *transport, struct parcel *parcel)
{
	uint64_t bits = 8 * (parcel->bytes.count + 1), bit = draw(transport, parcel->at_ns, bits - 1);
	if (bit < 8) /* a bit of the type, which may become any number */
		parcel->type = (enum frame_type)((unsigned)parcel->type ^ 1u << bit);
	else
		parcel->bytes.at[bit / 8 - 1] = (char)(parcel->bytes.at[bit / 8 - 1] ^ 1 << bit % 8);
}

/* Takes ownership of the parcel's bytes. sender: a node; who: the secondary at one end of the line. */
static void put(struct transport *transport, uint32_t sender, uint32_t who, struct parcel parcel)
{
	struct node *secondary = &transport->nodes[who], *from = &transport->nodes[sender];
	struct line *line = sender ? &secondary->out : &secondary->in;
	uint64_t before = line->taken < line->parcels.count ? line->parcels.at[line->parcels.count - 1].at_ns : 0;
	uint64_t delay = draw(transport, line->sent++ * NODES_MAX * 2 + who * 2 + !sender, transport->link->delay_ns);
	parcel.at_ns = MAX(before, transport->now_ns + delay + from->slow_ns);
	if (secondary->cut || line->closed_ns != NEVER) {
		text_fini(&parcel.bytes);
		return;
	}
	if (from->spoils) {
		damage(transport, &parcel);
		from->spoils = false;
	}
	vec_push(&line->parcels, parcel);
	*(sender ? &transport->counts.received : &transport->counts.sent) += parcel.bytes.count;
}

static void close_line(struct transport *transport, struct line *line)
{
	uint64_t last = line->taken < line->parcels.count ? line->parcels.at[line->parcels.count - 1].at_ns : 0;
	if (line->closed_ns == NEVER)
		line->closed_ns = MAX(last, transport->now_ns);
}

/* --- actions of peers --------------------------------------------------------------------------------------------- */

/* The secondary at one end of this connection of the node: the other end, or the node itself. */
static uint32_t who_is(const struct transport *transport, uint32_t node, uint32_t id)
{
	for (uint32_t i = 1; i < transport->count && !node; i++)
		if (transport->nodes[i].out.id == id)
			return i;
	return node;
}

static void end_node(struct transport *transport, uint32_t node)
{
	transport->link->ends[node] = *peers_end(transport->nodes[node].peers);
	if (node)
		return;
	transport->link->staying = 0;
	for (uint32_t i = 1; i < transport->count; i++)
		transport->link->staying += transport->nodes[i].out.id != PEERS_NONE &&
					    peers_stays(transport->nodes[0].peers, transport->nodes[i].out.id);
	if (peers_end_status(transport->nodes[0].peers, &transport->why) && !transport->told)
		transport->lost = true;
	if (transport->lost && transport->out)
		transport->gave_up = true;
	transport->out = false;
}

static void act(struct transport *transport, uint32_t node, const struct peers_action *action)
{
	uint32_t who = who_is(transport, node, action->id);
	struct node *secondary = &transport->nodes[who];
	struct parcel parcel = {.type = action->type};
	switch (action->kind) {
	case PEERS_SEND:
		text_add_bytes(&parcel.bytes, action->bytes, action->count);
		put(transport, node, who, parcel);
		break;
	case PEERS_CLOSE:
		if (!secondary->cut)
			close_line(transport, node ? &secondary->out : &secondary->in);
		*(node ? &secondary->in.id : &secondary->out.id) = PEERS_NONE;
		break;
	case PEERS_ADMITTED:
		if (node)
			peers_ready(transport->nodes[node].peers, transport->link->seed);
		break;
	case PEERS_STARTED:
		if (!node && peers_secondaries(transport->nodes[0].peers) != transport->count - 1) {
			/* one was lost before it came: the others begin anew, without it */
			peers_stop(transport->nodes[0].peers, STOP_REGROUP, "not all have come");
			break;
		}
		transport->running |= !node;
		transport->link->began |= !node;
		break;
	case PEERS_LEAVES:
		transport->asked = true;
		break;
	case PEERS_ENDED:
		end_node(transport, node);
		break;
	case PEERS_LOST:
	case PEERS_REFUSED:
	case PEERS_KNOCKED:
	case PEERS_TURNED_AWAY:
		break;
	}
}

static void drain(struct transport *transport, uint32_t node)
{
	struct peers_action action;
	while (peers_next(transport->nodes[node].peers, &action))
		act(transport, node, &action);
}

/* --- beginning ---------------------------------------------------------------------------------------------------- */

static struct peers *make_peers(const struct transport *transport, uint32_t node, uint64_t first_step)
{
	struct peers_options options = {.first_step = first_step,
		.state_hash = transport->link->seed,
		.step_ns = transport->link->step_ns,
		.wait_ns = transport->link->wait_ns,
		.self = {.protocol = HELLO_PROTOCOL, .role = node ? HELLO_SECONDARY : HELLO_PRIMARY}};
	options.secondaries = node ? 0 : transport->count - 1;
	options.goes_on = transport->link->goes_on;
	options.again = transport->link->again && !node;
	options.expected = transport->count - 1;
	options.settle_ns = SECOND_NS;
	options.self.id[0] = (unsigned char)node;
	(void)snprintf(options.self.name, sizeof options.self.name, "sim:%u", node);
	return peers_create(&options, transport->now_ns);
}

/* All secondaries connect in their order, at the same time. */
static void begin(struct transport *transport, uint64_t first_step)
{
	transport->begun = true;
	for (uint32_t i = 0; i < transport->count; i++) {
		struct node *node = &transport->nodes[i];
		node->peers = make_peers(transport, i, first_step);
		node->in.closed_ns = node->out.closed_ns = NEVER;
		node->expected = first_step;
		node->number = UINT64_MAX;
	}
	for (uint32_t i = 1; i < transport->count; i++) {
		/* half of them on connections of the run before, so that what they still sent there may arrive */
		bool kept = transport->link->again && i % 2;
		transport->nodes[i].out.id =
			(kept ? peers_keep : peers_join)(transport->nodes[0].peers, "sim", transport->now_ns);
		if (kept)
			put(transport, i, i, (struct parcel){.type = FRAME_HEARTBEAT});
		transport->nodes[i].in.id = peers_join(transport->nodes[i].peers, "sim", transport->now_ns);
		drain(transport, i);
	}
}

/* --- frames that arrive ------------------------------------------------------------------------------------------- */

static void take_step(struct transport *transport, uint32_t index, struct parcel *parcel)
{
	struct node *node = &transport->nodes[index];
	if (!peers_step(node->peers, node->in.id, node->expected, transport->now_ns))
		return;
	if (parcel->number != node->expected &&
		!(parcel->number == node->number && node->expected > node->number + 1)) {
		peers_break(node->peers, node->in.id, "another step", transport->now_ns);
		return;
	}
	peers_widen(node->peers, parcel->number, parcel->more);
	node->expected = parcel->number + 1 + parcel->more;
	text_fini(&node->step.bytes);
	node->step = *parcel;
	parcel->bytes = (struct text){0};
	node->has_step = node->computes = true;
	node->number = parcel->number;
	node->done_ns = transport->now_ns + 1 + node->slow_ns +
			draw(transport, parcel->number * NODES_MAX + index, transport->link->work_ns);
	if (node->hangs)
		node->done_ns = NEVER;
}

static void take_ack(struct transport *transport, uint32_t index, const struct parcel *parcel)
{
	struct node *primary = &transport->nodes[0], *node = &transport->nodes[index];
	const struct transport_codec *codec = transport->options.codec;
	struct troupe_error error;
	struct transport_message ack = {.number = parcel->number, .payload = parcel->payload};
	if (codec && peers_owes(primary->peers, node->out.id) &&
		codec->decode_ack(codec->ctx, index - 1, parcel->bytes.at, parcel->bytes.count, &ack, &error)) {
		peers_break(primary->peers, node->out.id, error.text, transport->now_ns);
		return;
	}
	if (!peers_ack(primary->peers, node->out.id, ack.number, transport->now_ns))
		return;
	node->ack = ack;
	if (++transport->acks < transport->count - 1)
		return;
	transport->out = false;
	transport->all_acked = true;
}

static void take_parcel(struct transport *transport, uint32_t index, bool to_primary)
{
	struct node *node = &transport->nodes[index];
	struct line *line = to_primary ? &node->out : &node->in;
	struct parcel parcel = line->parcels.at[line->taken++];
	uint32_t reader = to_primary ? 0 : index;
	if (line->taken == line->parcels.count)
		line->taken = line->parcels.count = 0;
	if (line->id != PEERS_NONE && !transport->nodes[reader].dead && !node->cut) {
		if (!to_primary && parcel.type == FRAME_STEP)
			take_step(transport, index, &parcel);
		else if (to_primary && parcel.type == FRAME_ACK)
			take_ack(transport, index, &parcel);
		else
			peers_receive(transport->nodes[reader].peers, line->id, parcel.type, parcel.bytes.at,
				parcel.bytes.count, transport->now_ns);
		drain(transport, reader);
	}
	text_fini(&parcel.bytes);
}

static void take_end(struct transport *transport, uint32_t index, bool to_primary)
{
	struct line *line = to_primary ? &transport->nodes[index].out : &transport->nodes[index].in;
	uint32_t reader = to_primary ? 0 : index, id = line->id;
	line->closed_ns = NEVER - 1; /* the end has arrived */
	line->id = PEERS_NONE;
	if (id == PEERS_NONE || transport->nodes[reader].dead)
		return;
	peers_drop(transport->nodes[reader].peers, id, "closed the connection", transport->now_ns);
	drain(transport, reader);
}

/* --- faults ------------------------------------------------------------------------------------------------------- */

static void kill_node(struct transport *transport, uint32_t index)
{
	transport->nodes[index].dead = true;
	for (uint32_t i = 1; i < transport->count; i++)
		if ((!index || i == index) && !transport->nodes[i].cut)
			close_line(transport, index ? &transport->nodes[i].out : &transport->nodes[i].in);
	if (index || transport->lost)
		return;
	fail(&transport->why, TROUPE_EPEER, "the primary was killed");
	transport->lost = true;
	transport->gave_up = transport->out;
	transport->out = false;
}

static void strike(struct transport *transport, const struct sim_fault *fault)
{
	struct node *node = &transport->nodes[fault->node];
	switch (fault->kind) {
	case SIM_KILL:
		kill_node(transport, fault->node);
		break;
	case SIM_FREEZE:
		node->frozen_ns = transport->now_ns + fault->ns;
		break;
	case SIM_HANG:
		node->hangs = true;
		if (node->computes || node->has_done) /* whether or not its thread has finished the step */
			node->done_ns = NEVER;
		break;
	case SIM_CUT:
		for (uint32_t i = 1; i < transport->count; i++)
			transport->nodes[i].cut |= !fault->node || i == fault->node;
		break;
	case SIM_LEAVE:
		if (!node->dead)
			peers_stop(node->peers, STOP_LEFT, "SIM_LEAVE");
		drain(transport, fault->node);
		break;
	case SIM_RUBBISH:
		node->spoils = true;
		break;
	case SIM_SLOW:
		node->slow_ns = fault->ns;
		break;
	case SIM_ASK:
		if (!node->dead && node->peers)
			peers_leave(node->peers, transport->now_ns);
		drain(transport, fault->node);
		break;
	case SIM_FAULT_KINDS:
		break;
	}
}

/* --- events ------------------------------------------------------------------------------------------------------- */

static bool is_over_for(const struct transport *transport, uint32_t index)
{
	const struct node *node = &transport->nodes[index];
	return node->dead || (node->peers && peers_phase(node->peers) == PEERS_OVER);
}

struct event {
	uint64_t at_ns;
	enum { FAULT, DONE, PARCEL, END, DEADLINE } kind;
	uint32_t node;
	bool to_primary;
};

static void consider(struct event *earliest, struct event event)
{
	if (event.at_ns < earliest->at_ns)
		*earliest = event;
}

static void consider_line(const struct transport *transport, uint32_t index, bool to_primary, struct event *earliest)
{
	const struct node *node = &transport->nodes[index];
	const struct line *line = to_primary ? &node->out : &node->in;
	uint64_t awake_ns = transport->nodes[to_primary ? 0 : index].frozen_ns;
	if (line->taken < line->parcels.count)
		consider(earliest,
			(struct event){MAX(line->parcels.at[line->taken].at_ns, awake_ns), PARCEL, index, to_primary});
	else if (line->closed_ns < NEVER - 1)
		consider(earliest, (struct event){MAX(line->closed_ns, awake_ns), END, index, to_primary});
}

static struct event find_next(const struct transport *transport)
{
	const struct transport_link *link = transport->link;
	struct event earliest = {.at_ns = NEVER};
	if (transport->faults < link->fault_count)
		consider(&earliest, (struct event){link->faults[transport->faults].at_ns, FAULT, 0, false});
	for (uint32_t i = 1; i < transport->count; i++) {
		const struct node *node = &transport->nodes[i];
		if (node->has_done && !is_over_for(transport, i) && node->done_ns != NEVER)
			consider(&earliest, (struct event){MAX(node->done_ns, node->frozen_ns), DONE, i, false});
		consider_line(transport, i, true, &earliest);
		consider_line(transport, i, false, &earliest);
	}
	for (uint32_t i = 0; i < transport->count; i++) {
		const struct node *node = &transport->nodes[i];
		uint64_t due_ns = peers_deadline_ns(node->peers);
		if (!node->dead && due_ns != NEVER)
			consider(&earliest, (struct event){MAX(due_ns, node->frozen_ns), DEADLINE, i, false});
	}
	earliest.at_ns = MAX(earliest.at_ns, transport->now_ns);
	return earliest;
}

/* The time of a step has passed: its ack is sent. */
static void send_ack(struct transport *transport, uint32_t index)
{
	struct node *node = &transport->nodes[index];
	node->has_done = false;
	if (node->is_bad) {
		peers_break(node->peers, node->in.id, node->bad.text, transport->now_ns);
		drain(transport, index);
		return;
	}
	if (peers_acknowledge(node->peers))
		put(transport, index, index, node->done);
	else
		text_fini(&node->done.bytes);
	node->done.bytes = (struct text){0};
}

static void take_event(struct transport *transport, const struct event *event)
{
	transport->now_ns = event->at_ns;
	switch (event->kind) {
	case FAULT:
		strike(transport, &transport->link->faults[transport->faults++]);
		break;
	case DONE:
		send_ack(transport, event->node);
		break;
	case PARCEL:
		take_parcel(transport, event->node, event->to_primary);
		break;
	case END:
		take_end(transport, event->node, event->to_primary);
		break;
	case DEADLINE:
		peers_tick(transport->nodes[event->node].peers, transport->now_ns);
		drain(transport, event->node);
		break;
	}
}

/* --- driving ------------------------------------------------------------------------------------------------------ */

/* The time up to which events may be taken: no computing secondary can act before. */
static uint64_t horizon_of(const struct transport *transport)
{
	uint64_t horizon_ns = NEVER;
	for (uint32_t i = 1; i < transport->count; i++) {
		const struct node *node = &transport->nodes[i];
		if (node->computes && !is_over_for(transport, i))
			horizon_ns = MIN(horizon_ns, node->done_ns);
	}
	return horizon_ns;
}

static void send_steps(struct transport *transport)
{
	transport->sent = true;
	if (!peers_publish(transport->nodes[0].peers, transport->number, transport->now_ns))
		return;
	peers_widen(transport->nodes[0].peers, transport->number, transport->more);
	for (uint32_t i = 1; i < transport->count; i++) {
		/* peers may number the secondaries in another order than nodes[]; the step number is the same for all
		 */
		put(transport, 0, i, transport->nodes[i].next);
		transport->nodes[i].next.bytes = (struct text){0};
	}
}

static bool secondaries_are_over(const struct transport *transport)
{
	for (uint32_t i = 1; i < transport->count; i++)
		if (!is_over_for(transport, i))
			return false;
	return true;
}

/* Calls the primary's part without the mutex; `driving` keeps other threads from driving meanwhile. */
static void call(struct transport *transport, void (*function)(void *ctx))
{
	pthread_mutex_unlock(&transport->guard);
	if (function)
		function(transport->options.ctx);
	pthread_mutex_lock(&transport->guard);
}

static bool call_primary(struct transport *transport)
{
	bool all_acked = transport->all_acked, gave_up = transport->gave_up, asked = transport->asked;
	bool alarm = transport->lost && !transport->alarmed;
	transport->all_acked = transport->gave_up = transport->asked = false;
	transport->alarmed |= alarm;
	if (alarm)
		call(transport, transport->options.alarm);
	if (asked)
		call(transport, transport->options.asked);
	if (all_acked)
		call(transport, transport->options.all_acked);
	if (gave_up)
		call(transport, transport->options.gave_up);
	return alarm || asked || all_acked || gave_up;
}

/* Returns whether anything happened. Virtual time stands still while no thread waits for a peer. */
static bool drive_once(struct transport *transport)
{
	if (call_primary(transport))
		return true;
	bool awaited = transport->out || transport->closed || transport->lost || secondaries_are_over(transport);
	if (!transport->begun || !awaited || (is_over_for(transport, 0) && secondaries_are_over(transport)))
		return false;
	if (transport->out && transport->running && !transport->sent) {
		send_steps(transport);
		return true;
	}
	if (transport->closed && transport->running && !is_over_for(transport, 0)) {
		peers_stop(transport->nodes[0].peers, STOP_DONE, "");
		drain(transport, 0);
		return true;
	}
	struct event event = find_next(transport);
	if (event.at_ns == NEVER || event.at_ns >= horizon_of(transport))
		return false;
	take_event(transport, &event);
	return true;
}

static void wake(struct transport *transport, uint32_t index)
{
	pthread_cond_signal(&transport->nodes[index].changed);
}

/* Called when a call from outside changed the state: a waiting thread must drive. */
static void wake_all(struct transport *transport)
{
	for (uint32_t i = 1; i < transport->count; i++)
		wake(transport, i);
}

/* Drives, and then wakes only the threads that can go on: a run spends most of its time with waking. */
static void drive(struct transport *transport)
{
	if (transport->driving)
		return;
	transport->driving = true;
	while (drive_once(transport))
		;
	transport->driving = false;
	transport->link->now_ns = transport->now_ns;
	for (uint32_t i = 1; i < transport->count; i++)
		if (transport->nodes[i].has_step || is_over_for(transport, i))
			wake(transport, i);
}

/* --- the vtable --------------------------------------------------------------------------------------------------- */

static void encode_steps(struct transport *transport, struct transport_message step)
{
	const struct transport_codec *codec = transport->options.codec;
	for (uint32_t i = 1; i < transport->count; i++) {
		struct parcel *next = &transport->nodes[i].next;
		text_fini(&next->bytes);
		*next = (struct parcel){.type = FRAME_STEP, .number = step.number, .more = step.more};
		if (codec)
			codec->encode_step(codec->ctx, i - 1, step.payload, &next->bytes);
		else
			next->payload = step.payload;
	}
}

static troupe_status publish(struct transport *transport, struct transport_message step)
{
	if (transport->out || transport->all_acked || transport->closed ||
		(transport->begun && step.number != transport->number + 1 + transport->more &&
			!(transport->more && step.number == transport->number)))
		return TROUPE_EPROTOCOL;
	if (transport->lost)
		return transport->why.status;
	if (transport->begun && is_over_for(transport, 0))
		return TROUPE_EPEER;
	encode_steps(transport, step);
	if (!transport->begun)
		begin(transport, step.number);
	transport->number = step.number;
	transport->more = step.more;
	transport->out = true;
	transport->sent = false;
	transport->acks = 0;
	if (!transport->driving)
		wake_all(transport);
	return TROUPE_OK;
}

static troupe_status sim_publish(struct transport *transport, struct transport_message step)
{
	pthread_mutex_lock(&transport->guard);
	troupe_status status = publish(transport, step);
	pthread_mutex_unlock(&transport->guard);
	return status;
}

/* Called on the thread of this secondary. */
static troupe_status give_step(struct transport *transport, uint32_t index, struct transport_message *ret_step)
{
	struct node *node = &transport->nodes[index];
	const struct transport_codec *codec = transport->options.codec;
	struct transport_message step = {
		.number = node->step.number, .payload = node->step.payload, .more = node->step.more};
	troupe_status status = TROUPE_OK;
	node->has_step = false;
	if (codec)
		status = codec->decode_step(
			codec->ctx, index - 1, node->step.bytes.at, node->step.bytes.count, &step, &node->bad);
	if (!status && step.number != node->number)
		status = fail(&node->bad, TROUPE_EPROTOCOL, "step %llu: expected step %llu",
			(unsigned long long)step.number, (unsigned long long)node->number);
	if (status) {
		node->computes = false;
		node->has_done = node->is_bad = true; /* reported at done_ns, not when a thread finds it */
		return TROUPE_EPROTOCOL;
	}
	node->owes = true;
	*ret_step = step;
	return TROUPE_OK;
}

static troupe_status sim_wait(struct transport *transport, uint32_t secondary, struct transport_message *ret_step)
{
	uint32_t index = secondary + 1;
	struct node *node = &transport->nodes[index];
	troupe_status status = TROUPE_EPEER;
	pthread_mutex_lock(&transport->guard);
	for (;;) {
		drive(transport);
		/* a step that came before the end is still delivered */
		if (node->has_step && !node->dead) {
			status = give_step(transport, index, ret_step);
			if (!status)
				break;
			status = TROUPE_EPEER;
			continue;
		}
		if (is_over_for(transport, index) || (transport->closed && !transport->begun))
			break;
		pthread_cond_wait(&node->changed, &transport->guard);
	}
	pthread_mutex_unlock(&transport->guard);
	return status;
}

static troupe_status acknowledge(struct transport *transport, uint32_t index, struct transport_message ack)
{
	struct node *node = &transport->nodes[index];
	const struct transport_codec *codec = transport->options.codec;
	if (!node->owes || ack.number != node->number)
		return TROUPE_EPROTOCOL;
	node->owes = node->computes = false;
	if (is_over_for(transport, index))
		return TROUPE_EPEER;
	node->done = (struct parcel){.type = FRAME_ACK, .number = ack.number};
	if (codec)
		codec->encode_ack(codec->ctx, index - 1, ack.payload, &node->done.bytes);
	else
		node->done.payload = ack.payload;
	node->has_done = true;
	drive(transport);
	return TROUPE_OK;
}

static troupe_status sim_ack(struct transport *transport, uint32_t secondary, struct transport_message ack)
{
	pthread_mutex_lock(&transport->guard);
	troupe_status status = acknowledge(transport, secondary + 1, ack);
	pthread_mutex_unlock(&transport->guard);
	return status;
}

static struct transport_message sim_ack_of(struct transport *transport, uint32_t secondary)
{
	return transport->nodes[secondary + 1].ack;
}

static const struct troupe_error *sim_lost(struct transport *transport)
{
	pthread_mutex_lock(&transport->guard);
	bool lost = transport->lost;
	pthread_mutex_unlock(&transport->guard);
	return lost ? &transport->why : NULL;
}

static void sim_close(struct transport *transport)
{
	pthread_mutex_lock(&transport->guard);
	transport->closed = true;
	if (!transport->driving)
		wake_all(transport);
	pthread_mutex_unlock(&transport->guard);
}

static void sim_stop(struct transport *transport, enum stop_kind kind, const char *why)
{
	pthread_mutex_lock(&transport->guard);
	if (transport->begun && !is_over_for(transport, 0)) {
		transport->told = true;
		peers_stop(transport->nodes[0].peers, kind, why);
		drain(transport, 0);
		wake_all(transport);
	}
	pthread_mutex_unlock(&transport->guard);
}

void sim_strike(struct transport *transport, enum sim_fault_kind kind, uint32_t node)
{
	pthread_mutex_lock(&transport->guard);
	strike(transport, &(struct sim_fault){.kind = kind, .node = node, .at_ns = transport->now_ns});
	wake_all(transport);
	pthread_mutex_unlock(&transport->guard);
}

static bool sim_is_done(struct transport *transport)
{
	pthread_mutex_lock(&transport->guard);
	const struct stop *end = transport->begun ? peers_end(transport->nodes[0].peers) : NULL;
	bool done = end && end->kind == STOP_DONE;
	pthread_mutex_unlock(&transport->guard);
	return done;
}

static struct transport_counts sim_counts(struct transport *transport)
{
	pthread_mutex_lock(&transport->guard);
	struct transport_counts counts = transport->counts;
	pthread_mutex_unlock(&transport->guard);
	return counts;
}

static bool sim_regroups(struct transport *transport, uint32_t *ret_lost)
{
	*ret_lost = 0;
	pthread_mutex_lock(&transport->guard);
	bool regroups = transport->begun && peers_regroups(transport->nodes[0].peers, ret_lost);
	pthread_mutex_unlock(&transport->guard);
	return regroups;
}

static bool sim_leaving(struct transport *transport, uint32_t secondary)
{
	pthread_mutex_lock(&transport->guard);
	bool leaving = transport->begun && peers_is_leaving(transport->nodes[0].peers, secondary);
	pthread_mutex_unlock(&transport->guard);
	return leaving;
}

/* The loss of a primary is not simulated. */
static bool sim_orphaned(struct transport *transport)
{
	(void)transport;
	return false;
}

/* Faults let secondaries ask. */
static void sim_leave(struct transport *transport)
{
	(void)transport;
}

/* Nobody asks for files here. */
static troupe_status sim_fetch(
	struct transport *transport, const char *path, char **ret_bytes, size_t *ret_count, struct troupe_error *error)
{
	(void)transport;
	(void)ret_bytes;
	(void)ret_count;
	return fail(error, TROUPE_EPEER, "%s: no files in a simulated network", path);
}

const struct transport_ops transport_sim = {
	.name = "sim",
	.remote = true,
	.create = sim_create,
	.publish = sim_publish,
	.wait = sim_wait,
	.ack = sim_ack,
	.ack_of = sim_ack_of,
	.lost = sim_lost,
	.regroups = sim_regroups,
	.orphaned = sim_orphaned,
	.leaving = sim_leaving,
	.leave = sim_leave,
	.fetch = sim_fetch,
	.stop = sim_stop,
	.is_done = sim_is_done,
	.counts = sim_counts,
	.close = sim_close,
	.destroy = sim_destroy,
};
