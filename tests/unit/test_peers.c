/* Each rule of the membership of peers by itself, then thousands of random schedules: a primary and secondaries,
 * with frames in order but late; some peers are cut off, frozen, unknown peers, or too many, at any moment. */
#include "../random.h"
#include "net/peers.h"

#include "config.h"

#include "net/follow.h"
#include "net/gather.h"

#include "../amount.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(peers, .timeout = 60);

#define MS UINT64_C(1000000)
enum { NODES_MAX = 6, LINE_MAX = 64, HASH = 77 };

/* --- a network of peers ------------------------------------------------------------------------------------------- */

struct frame {
	uint64_t at_ns; /* when it arrives */
	enum frame_type type;
	size_t count;
	char bytes[1024];
};

/* One direction of a connection: frames in order. */
struct line {
	struct frame frames[LINE_MAX];
	uint32_t begin, end;
	bool closed;        /* by the sender; the receiver sees it when all frames before it have been taken */
	uint64_t closed_ns; /* the close arrives at this time */
};

struct connection {
	bool used;
	uint32_t primary_id, secondary_id; /* each in the peer's table; PEERS_NONE: not connected, or not any more */
	struct line to_primary, to_secondary;
};

struct node {
	struct peers *peers;
	bool dead;          /* killed: it sends nothing any more, and its connections break */
	uint64_t frozen_ns; /* until this time the node does nothing, but is not dead */
	bool loaded;        /* has sent ready */
	bool works;         /* busy with a step, until works_ns */
	uint64_t works_ns;
	bool started, ended;
	uint64_t step; /* primary: the step that is out; secondary: the step that it is busy with */
};

struct net {
	uint64_t seed, now_ns;
	uint32_t secondaries; /* the number that the primary asks for */
	uint32_t count;       /* nodes; 0 is the primary */
	struct node nodes[NODES_MAX];
	struct connection connections[NODES_MAX]; /* the connection of each secondary, by node */
	uint64_t steps;                           /* the number of steps to be done */
	bool step_is_out;
	uint32_t acks;
	uint64_t done; /* steps that all secondaries acknowledged, by the primary's count */
	uint32_t cut;  /* the node whose frames are lost from now on, in both directions; 0: none */
	uint32_t turned_away, lost, refused;
	uint64_t delay_max_ns;
};

static struct hello hello_of(enum hello_role role, uint32_t node)
{
	struct hello hello = {
		.protocol = HELLO_PROTOCOL, .role = role, .fingerprint = {.all = 5}, .build = "b", .partition = "p"};
	hello.id[0] = (unsigned char)(node + 1);
	strcpy(hello.name, role == HELLO_PRIMARY ? "host:1" : "host:2");
	hello.secondaries = 0;
	return hello;
}

static struct peers *make_primary(uint32_t secondaries, uint64_t wait_ns, uint64_t step_ns)
{
	struct peers_options options = {.self = hello_of(HELLO_PRIMARY, 0),
		.secondaries = secondaries,
		.first_step = 100,
		.state_hash = HASH,
		.wait_ns = wait_ns,
		.step_ns = step_ns};
	return peers_create(&options, 0);
}

static struct peers *make_secondary(uint32_t node, uint64_t wait_ns, uint64_t now_ns)
{
	struct peers_options options = {.self = hello_of(HELLO_SECONDARY, node), .wait_ns = wait_ns};
	return peers_create(&options, now_ns);
}

static void put(struct net *net, struct line *line, enum frame_type type, const char *bytes, size_t count)
{
	struct frame *frame = &line->frames[line->end++ % LINE_MAX];
	cr_assert_leq(line->end - line->begin, LINE_MAX, "a line overflows");
	cr_assert_leq(count, sizeof frame->bytes);
	uint64_t before = line->end - 1 > line->begin ? line->frames[(line->end - 2) % LINE_MAX].at_ns : 0;
	uint64_t at_ns = net->now_ns + random_below64(&net->seed, net->delay_max_ns);
	frame->at_ns = MAX(before, at_ns);
	frame->type = type;
	frame->count = count;
	memcpy(frame->bytes, bytes, count);
}

static void put_number(struct net *net, struct line *line, enum frame_type type, uint64_t number)
{
	put(net, line, type, (const char *)&number, sizeof number);
}

static struct connection *connection_of(struct net *net, uint32_t node, uint32_t id, uint32_t *ret_secondary)
{
	for (uint32_t i = 1; i < net->count; i++) {
		struct connection *c = &net->connections[i];
		if (c->used && (node ? i == node && c->secondary_id == id : c->primary_id == id)) {
			*ret_secondary = i;
			return c;
		}
	}
	return NULL;
}

static void act(struct net *net, uint32_t node, const struct peers_action *action)
{
	uint32_t secondary = 0;
	struct connection *c = NULL;
	if (action->kind == PEERS_SEND || action->kind == PEERS_CLOSE)
		c = connection_of(net, node, action->id, &secondary);
	struct line *line = c ? node ? &c->to_primary : &c->to_secondary : NULL;
	switch (action->kind) {
	case PEERS_SEND:
		cr_assert_not_null(c, "sent to a connection that is not there");
		put(net, line, action->type, action->bytes, action->count);
		break;
	case PEERS_CLOSE:
		cr_assert_not_null(c, "closed a connection that is not there");
		line->closed = true;
		line->closed_ns = net->now_ns + random_below64(&net->seed, net->delay_max_ns);
		*(node ? &c->secondary_id : &c->primary_id) = PEERS_NONE;
		break;
	case PEERS_STARTED:
		cr_assert(!net->nodes[node].started);
		net->nodes[node].started = true;
		break;
	case PEERS_ENDED:
		cr_assert(!net->nodes[node].ended, "it ended twice");
		net->nodes[node].ended = true;
		break;
	case PEERS_LOST:
		cr_assert_gt(action->count, 0);
		net->lost++;
		net->nodes[node].loaded = false;
		break;
	case PEERS_REFUSED:
		cr_assert_gt(action->count, 0);
		net->refused++;
		break;
	case PEERS_KNOCKED:
	case PEERS_LEAVES:
	case PEERS_TURNED_AWAY:
		net->turned_away++;
		break;
	case PEERS_ADMITTED:
		break;
	}
}

static void drain(struct net *net, uint32_t node)
{
	struct peers_action action;
	while (peers_next(net->nodes[node].peers, &action))
		act(net, node, &action);
}

static bool is_up(const struct net *net, uint32_t node)
{
	return !net->nodes[node].dead && net->now_ns >= net->nodes[node].frozen_ns;
}

static void connect_node(struct net *net, uint32_t node)
{
	struct connection *c = &net->connections[node];
	*c = (struct connection){.used = true};
	c->primary_id = is_up(net, 0) ? peers_join(net->nodes[0].peers, "10.0.0.2:9", net->now_ns) : PEERS_NONE;
	c->secondary_id = peers_join(net->nodes[node].peers, "10.0.0.1:1", net->now_ns);
	if (c->primary_id == PEERS_NONE) {
		c->to_secondary.closed = true;
		c->to_secondary.closed_ns = net->now_ns;
	}
	drain(net, 0);
	drain(net, node);
}

/* --- what the drivers do ------------------------------------------------------------------------------------------ */

static void primary_takes(struct net *net, struct connection *c, const struct frame *frame)
{
	uint64_t number;
	if (frame->type != FRAME_ACK) {
		peers_receive(net->nodes[0].peers, c->primary_id, frame->type, frame->bytes, frame->count, net->now_ns);
		return;
	}
	memcpy(&number, frame->bytes, sizeof number);
	if (peers_ack(net->nodes[0].peers, c->primary_id, number, net->now_ns) && ++net->acks == net->secondaries) {
		net->step_is_out = false;
		net->done++;
	}
}

static void secondary_takes(struct net *net, uint32_t node, struct connection *c, const struct frame *frame)
{
	struct node *n = &net->nodes[node];
	uint64_t number;
	if (frame->type != FRAME_STEP) {
		peers_receive(n->peers, c->secondary_id, frame->type, frame->bytes, frame->count, net->now_ns);
		return;
	}
	memcpy(&number, frame->bytes, sizeof number);
	if (!peers_step(n->peers, c->secondary_id, number, net->now_ns))
		return;
	n->works = true;
	n->step = number;
	n->works_ns = net->now_ns + random_below64(&net->seed, 3 * MS);
}

static void deliver(struct net *net, uint32_t node, bool to_primary)
{
	struct connection *c = &net->connections[node];
	struct line *line = to_primary ? &c->to_primary : &c->to_secondary;
	uint32_t *id = to_primary ? &c->primary_id : &c->secondary_id, reader = to_primary ? 0 : node;
	if (!c->used || !is_up(net, reader))
		return;
	while (line->begin < line->end && line->frames[line->begin % LINE_MAX].at_ns <= net->now_ns) {
		const struct frame *frame = &line->frames[line->begin++ % LINE_MAX];
		if (*id == PEERS_NONE || net->cut == node)
			continue;
		if (to_primary)
			primary_takes(net, c, frame);
		else
			secondary_takes(net, node, c, frame);
		drain(net, reader);
	}
	if (line->closed && line->begin == line->end && line->closed_ns <= net->now_ns && *id != PEERS_NONE &&
		net->cut != node) {
		uint32_t gone = *id;
		*id = PEERS_NONE;
		peers_drop(net->nodes[reader].peers, gone, "closed the connection", net->now_ns);
		drain(net, reader);
	}
}

static void drive_primary(struct net *net)
{
	struct node *n = &net->nodes[0];
	if (!is_up(net, 0) || peers_phase(n->peers) != PEERS_RUNNING || net->step_is_out)
		return;
	if (net->done == net->steps) {
		peers_stop(n->peers, STOP_DONE, "");
		drain(net, 0);
		return;
	}
	if (!peers_publish(n->peers, 100 + net->done, net->now_ns))
		return;
	net->step_is_out = true;
	net->acks = 0;
	for (uint32_t i = 1; i < net->count; i++)
		if (net->connections[i].used && net->connections[i].primary_id != PEERS_NONE &&
			peers_secondary_of(n->peers, net->connections[i].primary_id))
			put_number(net, &net->connections[i].to_secondary, FRAME_STEP, 100 + net->done);
}

static void drive_secondary(struct net *net, uint32_t node)
{
	struct node *n = &net->nodes[node];
	struct connection *c = &net->connections[node];
	if (!is_up(net, node))
		return;
	if (peers_phase(n->peers) == PEERS_LOADING && !n->loaded) {
		n->loaded = true;
		peers_ready(n->peers, HASH);
		drain(net, node);
	}
	if (n->works && net->now_ns >= n->works_ns) {
		n->works = false;
		if (peers_acknowledge(n->peers))
			put_number(net, &c->to_primary, FRAME_ACK, n->step);
	}
	if (c->used && c->secondary_id == PEERS_NONE && c->primary_id == PEERS_NONE && !n->ended &&
		peers_phase(n->peers) == PEERS_GATHERING)
		connect_node(net, node); /* lost before the start: it connects once more */
}

static void pass(struct net *net, uint64_t ns)
{
	net->now_ns += ns;
	for (uint32_t node = 1; node < net->count; node++) {
		deliver(net, node, true);
		deliver(net, node, false);
		drive_secondary(net, node);
	}
	for (uint32_t node = 0; node < net->count; node++)
		if (net->nodes[node].peers && is_up(net, node) &&
			peers_deadline_ns(net->nodes[node].peers) <= net->now_ns) {
			peers_tick(net->nodes[node].peers, net->now_ns);
			drain(net, node);
		}
	drive_primary(net);
}

static void kill_node(struct net *net, uint32_t node)
{
	net->nodes[node].dead = true;
	for (uint32_t i = 1; i < net->count; i++) {
		struct connection *c = &net->connections[i];
		if (!c->used || (node && i != node))
			continue;
		struct line *line = node ? &c->to_primary : &c->to_secondary;
		line->closed = true;
		line->closed_ns = net->now_ns;
	}
}

static void destroy(struct net *net)
{
	for (uint32_t i = 0; i < net->count; i++)
		peers_destroy(net->nodes[i].peers);
}

static void set_up(struct net *net, uint32_t secondaries, uint32_t extra, uint64_t seed)
{
	*net = (struct net){.seed = seed,
		.secondaries = secondaries,
		.count = 1 + secondaries + extra,
		.steps = 20,
		.delay_max_ns = 3 * MS};
	net->nodes[0].peers = make_primary(secondaries, 0, 800 * MS);
	for (uint32_t i = 1; i < net->count; i++)
		net->nodes[i].peers = make_secondary(i, 3000 * MS, 0);
}

/* --- rules, one by one -------------------------------------------------------------------------------------------- */

static bool all_ended(const struct net *net)
{
	for (uint32_t i = 0; i < net->count; i++)
		if (!net->nodes[i].dead && !net->nodes[i].ended)
			return false;
	return true;
}

static void run_until_over(struct net *net, uint64_t limit_ns)
{
	while (!all_ended(net) && net->now_ns < limit_ns)
		pass(net, MS);
}

static void says(struct net *net, uint32_t node, troupe_status status, const char *words)
{
	struct troupe_error error = {0};
	cr_assert_eq(peers_end_status(net->nodes[node].peers, &error), status, "%u: %s", node, error.text);
	cr_assert(strstr(error.text, words), "'%s' does not say '%s'", error.text, words);
}

Test(peers, a_run_begins_when_all_are_there_and_ends_when_it_is_done)
{
	static struct net net;
	set_up(&net, 3, 0, 1);
	connect_node(&net, 1);
	connect_node(&net, 2);
	for (int i = 0; i < 500; i++)
		pass(&net, MS);
	cr_assert_eq(peers_phase(net.nodes[0].peers), PEERS_GATHERING);
	cr_assert_eq(peers_present(net.nodes[0].peers), 2);
	cr_assert(!net.nodes[1].started);
	connect_node(&net, 3);
	run_until_over(&net, 2000 * MS);
	cr_assert(all_ended(&net));
	cr_assert_eq(net.done, net.steps);
	for (uint32_t i = 0; i < 4; i++) {
		cr_assert_eq(peers_end_status(net.nodes[i].peers, NULL), TROUPE_OK);
		cr_assert_eq(peers_end(net.nodes[i].peers)->next_step, 100 + net.steps);
	}
	destroy(&net);
}

Test(peers, one_too_many_is_told_and_delays_nobody)
{
	static struct net net;
	set_up(&net, 2, 1, 2);
	net.steps = 100;
	for (uint32_t i = 1; i <= 3; i++)
		connect_node(&net, i);
	run_until_over(&net, 5000 * MS);
	cr_assert_eq(net.done, net.steps);
	cr_assert_eq(net.turned_away, 1);
	uint32_t extra = 0;
	for (uint32_t i = 1; i <= 3; i++)
		if (!net.nodes[i].started)
			extra = i;
	says(&net, extra, TROUPE_EPROTOCOL, "one too many: the primary needs 2 secondaries, and has them");
	destroy(&net);
}

Test(peers, who_comes_after_the_start_is_told_that_it_is_fixed)
{
	static struct net net;
	set_up(&net, 1, 1, 3);
	net.steps = 1000000;
	connect_node(&net, 1);
	for (int i = 0; i < 300; i++)
		pass(&net, MS);
	cr_assert_gt(net.done, 0);
	connect_node(&net, 2);
	for (int i = 0; i < 100; i++)
		pass(&net, MS);
	cr_assert(net.nodes[2].ended);
	says(&net, 2, TROUPE_EPROTOCOL, "the run has begun with 1 secondary");
	cr_assert(!net.nodes[0].ended && !net.nodes[1].ended);
	destroy(&net);
}

static void differs(struct hello theirs, const char *words)
{
	static struct net net;
	struct peers_options options = {.self = theirs};
	set_up(&net, 1, 0, 4);
	peers_destroy(net.nodes[1].peers);
	net.nodes[1].peers = peers_create(&options, 0);
	connect_node(&net, 1);
	for (int i = 0; i < 100; i++)
		pass(&net, MS);
	cr_assert(net.nodes[1].ended);
	says(&net, 1, TROUPE_EPROTOCOL, words);
	cr_assert_eq(net.turned_away, 1);
	cr_assert_eq(peers_present(net.nodes[0].peers), 0);
	destroy(&net);
}

/* Two releases of a system differ in these first, and a user can see what to install. */
Test(peers, the_build_names_the_libraries_on_which_bits_depend)
{
	struct troupe_network network = {0};
	struct gather_self self = {.network = &network};
	struct hello hello;
	struct troupe_error error;
	char expected[HELLO_TEXT_MAX + 1];
	cr_assert_eq(gather_hello(&self, HELLO_SECONDARY, &hello, &error), TROUPE_OK);
	snprintf(expected, sizeof expected, "%s with ODE ", troupe_version());
	cr_assert(!strncmp(hello.build, expected, strlen(expected)), "%s", hello.build);
	cr_assert(strlen(hello.build) < HELLO_TEXT_MAX, "cut: %s", hello.build);
#ifdef HAVE_MESHES
	cr_assert(strstr(hello.build, ", assimp "), "%s", hello.build);
#endif
}

Test(peers, a_difference_is_named)
{
	struct hello hello = hello_of(HELLO_SECONDARY, 1);
	hello.fingerprint.all = 6;
	differs(hello, "its floating-point arithmetic has fingerprint 0000000000000005: expected 0000000000000006");
	hello.fingerprint.of[FINGERPRINT_ODE] = 7;
	differs(hello, "because it would compute other bits, in ODE, which was compiled for another processor or with "
		       "other options");
	hello.fingerprint.of[FINGERPRINT_LIBM] = 8;
	differs(hello, "bits, in libm's functions of single precision and ODE, which was compiled for another");
	hello = hello_of(HELLO_SECONDARY, 1);
	strcpy(hello.build, "c");
	differs(hello, "its build is 'b': expected 'c'");
	hello = hello_of(HELLO_SECONDARY, 1);
	strcpy(hello.partition, "q");
	differs(hello, "its partition is 'p': expected 'q'");
	hello = hello_of(HELLO_SECONDARY, 1);
	hello.protocol = HELLO_PROTOCOL + 1;
	struct troupe_error expected;
	fail(&expected, TROUPE_OK, "its protocol is %d: expected %d", HELLO_PROTOCOL, HELLO_PROTOCOL + 1);
	differs(hello, expected.text);
}

/* Either the primary tells the secondary that they differ, or the secondary finds it out by itself. */
Test(peers, one_that_seeks_goes_on_after_a_refusal)
{
	static struct net net;
	for (int other = 0; other < 2; other++) {
		struct peers_options options = {.self = hello_of(HELLO_SECONDARY, 2), .seeks = true};
		set_up(&net, 1, 1, 13);
		strcpy(options.self.build, other ? "c" : "b");
		peers_destroy(net.nodes[2].peers);
		net.nodes[2].peers = peers_create(&options, 0);
		connect_node(&net, 1);
		while (!net.nodes[1].started)
			pass(&net, MS);
		connect_node(&net, 2);
		while (!net.refused && net.now_ns < 5000 * MS)
			pass(&net, MS);
		cr_assert_eq(net.refused, 1);
		cr_assert_eq(net.lost, 0);
		cr_assert(!net.nodes[2].ended);
		cr_assert_eq(peers_phase(net.nodes[2].peers), PEERS_GATHERING);
		cr_assert_neq(net.connections[2].secondary_id, PEERS_NONE, "the secondary has not connected again");
		destroy(&net);
	}
}

Test(peers, another_state_hash_is_not_let_to_run)
{
	static struct net net;
	set_up(&net, 1, 0, 5);
	connect_node(&net, 1);
	while (peers_phase(net.nodes[1].peers) != PEERS_LOADING) {
		net.now_ns += MS;
		deliver(&net, 1, true);
		deliver(&net, 1, false);
	}
	net.nodes[1].loaded = true;
	peers_ready(net.nodes[1].peers, HASH + 1);
	drain(&net, 1);
	for (int i = 0; i < 50; i++)
		pass(&net, MS);
	says(&net, 1, TROUPE_EPROTOCOL,
		"the state that was rebuilt has hash 000000000000004e: expected 000000000000004d");
	cr_assert_eq(net.lost, 1);
	cr_assert(!net.nodes[0].ended);
	destroy(&net);
}

/* A run of two, up to its tenth step. */
static void run_two(struct net *net, uint64_t seed)
{
	set_up(net, 2, 0, seed);
	net->steps = 1000000;
	connect_node(net, 1);
	connect_node(net, 2);
	while (net->done < 10)
		pass(net, MS);
}

Test(peers, who_is_silent_is_lost_within_the_stale_time)
{
	static struct net net;
	run_two(&net, 6);
	net.cut = 2;
	uint64_t cut_ns = net.now_ns;
	while (!all_ended(&net) && net.now_ns < cut_ns + 5000 * MS)
		pass(&net, MS);
	cr_assert(all_ended(&net));
	cr_assert_leq(net.now_ns - cut_ns, 1010 * MS);
	cr_assert_eq(peers_end(net.nodes[0].peers)->kind, STOP_LOST);
	says(&net, 2, TROUPE_EPEER, "the primary (host:1 at 10.0.0.1:1) was lost: silent for 1000 ms");
	destroy(&net);
}

/* All nodes sleep at once, as when the machine on which all of them run is suspended. */
Test(peers, who_was_asleep_with_all_others_takes_nobody_for_lost)
{
	static struct net net;
	run_two(&net, 9);
	net.steps = 20;
	while (!net.nodes[2].works)
		pass(&net, MS);
	net.nodes[2].works_ns = net.now_ns + 5500 * MS;
	net.now_ns += 5000 * MS;
	for (uint32_t i = 0; i < 3; i++) {
		peers_woke(net.nodes[i].peers, net.now_ns);
		drain(&net, i);
	}
	run_until_over(&net, net.now_ns + 5000 * MS);
	cr_assert(all_ended(&net));
	for (uint32_t i = 0; i < 3; i++)
		cr_assert_eq(peers_end(net.nodes[i].peers)->kind, STOP_DONE);
	destroy(&net);
}

Test(peers, who_owes_an_ack_beyond_the_deadline_is_lost_though_its_heart_beats)
{
	static struct net net;
	run_two(&net, 7);
	while (!net.nodes[2].works)
		pass(&net, MS);
	net.nodes[2].works_ns = UINT64_MAX;
	uint64_t hung_ns = net.now_ns;
	run_until_over(&net, hung_ns + 3000 * MS);
	cr_assert(all_ended(&net));
	cr_assert_leq(net.now_ns - hung_ns, 820 * MS);
	for (uint32_t i = 0; i < 3; i++)
		says(&net, i, TROUPE_EPEER, "(host:2 at 10.0.0.2:9) was lost: did not acknowledge step ");
	for (uint32_t i = 1; i < 3; i++)
		cr_assert_eq(peers_end(net.nodes[i].peers)->next_step, 100 + net.done);
	destroy(&net);
}

Test(peers, who_is_loading_is_waited_for)
{
	static struct net net;
	run_two(&net, 8);
	while (!net.nodes[2].works)
		pass(&net, MS);
	peers_busy(net.nodes[2].peers, true, net.now_ns);
	drain(&net, 2);
	net.nodes[2].works_ns = net.now_ns + 10000 * MS;
	for (int i = 0; i < 9000; i++)
		pass(&net, MS);
	cr_assert(!net.nodes[0].ended && !net.nodes[1].ended && !net.nodes[2].ended);
	peers_busy(net.nodes[2].peers, false, net.now_ns);
	drain(&net, 2);
	net.nodes[2].works_ns = UINT64_MAX;
	run_until_over(&net, net.now_ns + 3000 * MS);
	says(&net, 1, TROUPE_EPEER, "was lost: did not acknowledge step ");
	destroy(&net);
}

Test(peers, who_leaves_says_so_and_all_stop_at_once)
{
	static struct net net;
	run_two(&net, 9);
	net.steps = 20;
	peers_stop(net.nodes[1].peers, STOP_LEFT, "interrupted");
	drain(&net, 1);
	uint64_t left_ns = net.now_ns;
	run_until_over(&net, left_ns + 3000 * MS);
	cr_assert_leq(net.now_ns - left_ns, 15 * MS);
	says(&net, 0, TROUPE_EPEER, "secondary");
	says(&net, 2, TROUPE_EPEER, "left: interrupted; the last step that all had acknowledged is ");
	cr_assert_eq(peers_end(net.nodes[2].peers)->next_step, peers_end(net.nodes[0].peers)->next_step);
	destroy(&net);
}

static void breaks(enum frame_type type, const void *bytes, size_t count, const char *words)
{
	static struct net net;
	run_two(&net, 10);
	put(&net, &net.connections[1].to_primary, type, bytes, count);
	run_until_over(&net, net.now_ns + 3000 * MS);
	for (uint32_t i = 0; i < 3; i++) {
		cr_assert_eq(peers_end(net.nodes[i].peers)->kind, STOP_BROKEN);
		says(&net, i, TROUPE_EPROTOCOL, words);
	}
	destroy(&net);
}

Test(peers, rubbish_ends_the_run_by_name)
{
	uint64_t far = 4711;
	breaks(FRAME_HEARTBEAT, "", 0, "sent invalid data: its heartbeat is not valid");
	breaks(FRAME_HELLO, "hello", 5, "sent invalid data: sent HELLO, which is not due");
	breaks(FRAME_READY, &far, 8, "sent invalid data: sent READY, which is not due");
	breaks(FRAME_STEP, &far, 8, "sent invalid data: sent STEP, which is not due");
	breaks(FRAME_ACK, &far, 8, "sent invalid data: sent an ack");
}

static void hear_stop(struct net *net, uint32_t node, uint64_t next_step)
{
	struct text bytes = {0};
	stop_encode(&(struct stop){.kind = STOP_LEFT, .next_step = next_step, .who = "it", .why = "why"}, &bytes);
	peers_receive(net->nodes[node].peers, net->connections[node].secondary_id, FRAME_STOP, bytes.at, bytes.count,
		net->now_ns);
	text_fini(&bytes);
}

/* A step is over when each secondary has acknowledged it; two acks of one secondary do not count for two. */
Test(peers, an_ack_counts_once)
{
	static struct net net;
	run_two(&net, 13);
	while (!net.nodes[1].works || !net.nodes[2].works)
		pass(&net, MS);
	struct peers *primary = net.nodes[0].peers;
	uint32_t id = net.connections[1].primary_id;
	cr_assert(peers_waits(primary));
	cr_assert(peers_ack(primary, id, net.nodes[1].step, net.now_ns));
	cr_assert(peers_waits(primary), "the step is not over before the other secondary's ack");
	cr_assert_not(peers_ack(primary, id, net.nodes[1].step, net.now_ns));
	says(&net, 0, TROUPE_EPROTOCOL, "sent an ack when no step waited for one");
	destroy(&net);
}

Test(peers, who_has_lost_its_primary_has_no_number)
{
	static struct net net;
	set_up(&net, 2, 0, 14);
	connect_node(&net, 1);
	uint32_t of = 0;
	while (!peers_own_number(net.nodes[1].peers, &of))
		pass(&net, MS);
	cr_assert_eq(peers_own_number(net.nodes[1].peers, &of), 1);
	cr_assert_eq(of, 2);
	peers_drop(net.nodes[1].peers, net.connections[1].secondary_id, "the connection broke", net.now_ns);
	drain(&net, 1);
	cr_assert_eq(peers_own_number(net.nodes[1].peers, &of), 0);
	cr_assert_eq(of, 0);
	destroy(&net);
}

Test(peers, the_end_is_at_a_step_that_can_be)
{
	static struct net net;
	run_two(&net, 10);
	hear_stop(&net, 1, 0);
	hear_stop(&net, 2, UINT64_MAX);
	says(&net, 1, TROUPE_EPEER, "it left: why; no step was acknowledged by all");
	uint64_t next_step = peers_end(net.nodes[2].peers)
				     ->next_step; /* the secondary may have a step that the others do not have */
	cr_assert_geq(next_step, 100 + net.done);
	cr_assert_leq(next_step, 101 + net.done);
	destroy(&net);
}

Test(peers, who_cannot_be_sent_to_is_told_and_so_are_all)
{
	static struct net net;
	run_two(&net, 11);
	peers_abandon(net.nodes[0].peers, net.connections[2].primary_id, "a step is too large for it", net.now_ns);
	drain(&net, 0);
	run_until_over(&net, net.now_ns + 1000 * MS);
	for (uint32_t i = 0; i < 3; i++)
		says(&net, i, TROUPE_EPEER, "(host:2 at 10.0.0.2:9) was lost: a step is too large for it");
	destroy(&net);
}

Test(peers, a_run_does_not_begin_before_one_is_ready)
{
	static struct net net;
	struct text start = {0};
	set_up(&net, 2, 0, 12);
	connect_node(&net, 1);
	net.nodes[1].loaded = true; /* without this it would send ready */
	while (peers_phase(net.nodes[1].peers) == PEERS_GATHERING)
		pass(&net, MS);
	number_encode(100, &start);
	peers_receive(
		net.nodes[1].peers, net.connections[1].secondary_id, FRAME_START, start.at, start.count, net.now_ns);
	drain(&net, 1);
	cr_assert_not(net.nodes[1].started);
	cr_assert_eq(net.lost, 1);
	text_fini(&start);
	destroy(&net);
}

Test(peers, who_waits_in_vain_says_who_is_missing)
{
	static struct net net;
	set_up(&net, 3, 0, 11);
	peers_destroy(net.nodes[0].peers);
	net.nodes[0].peers = make_primary(3, 500 * MS, 0);
	connect_node(&net, 1);
	run_until_over(&net, 4000 * MS);
	says(&net, 0, TROUPE_EPEER, "waited 0.5 s for 3 secondaries: 2 missing, present: secondary 1 (host:2 at");
	says(&net, 1, TROUPE_EPEER, "gave up: waited 0.5 s for 3 secondaries");
	says(&net, 2, TROUPE_EPEER, "gave up: waited 3 s for a primary");
	destroy(&net);
}

/* When a secondary is lost while it loads, the primary waits again for the whole waiting time. */
Test(peers, the_wait_begins_anew_when_one_is_lost_while_loading)
{
	static struct net net;
	set_up(&net, 1, 0, 15);
	peers_destroy(net.nodes[0].peers);
	net.nodes[0].peers = make_primary(1, 1000 * MS, 0);
	while (net.now_ns < 900 * MS)
		pass(&net, MS);
	connect_node(&net, 1);
	while (peers_phase(net.nodes[0].peers) != PEERS_LOADING)
		pass(&net, MS);
	uint64_t lost_ns = net.now_ns;
	peers_drop(net.nodes[0].peers, net.connections[1].primary_id, "the connection broke", net.now_ns);
	drain(&net, 0);
	net.nodes[1].dead = true;
	while (net.now_ns < lost_ns + 990 * MS)
		pass(&net, MS);
	cr_assert(!net.nodes[0].ended, "the primary waits for another secondary");
	while (net.now_ns < lost_ns + 1100 * MS)
		pass(&net, MS);
	cr_assert(net.nodes[0].ended, "the primary ends after the waiting time");
	says(&net, 0, TROUPE_EPEER, "waited 1 s for 1 secondary");
	destroy(&net);
}

Test(peers, who_connects_and_says_nothing_is_closed)
{
	struct peers *primary = make_primary(1, 0, 0);
	struct peers_action action;
	for (uint32_t i = 0; i < 1 + PEERS_UNKNOWN_MAX; i++)
		cr_assert_eq(peers_join(primary, "x", 5), i);
	cr_assert_eq(peers_join(primary, "x", 5), PEERS_NONE);
	peers_tick(primary, 1999 * MS);
	cr_assert(!peers_next(primary, &action));
	cr_assert_leq(peers_deadline_ns(primary), 2000 * MS + 5);
	peers_tick(primary, 2000 * MS + 5);
	uint32_t closed = 0;
	while (peers_next(primary, &action))
		closed += action.kind == PEERS_CLOSE;
	cr_assert_eq(closed, 1 + PEERS_UNKNOWN_MAX);
	cr_assert_eq(peers_join(primary, "x", 3000 * MS), 0);
	peers_destroy(primary);
}

/* --- random schedules --------------------------------------------------------------------------------------------- */

enum fate { FATE_NONE, FATE_KILL, FATE_FREEZE, FATE_CUT, FATE_LEAVE, FATE_HANG, FATES };

struct plot {
	enum fate fate;
	uint32_t node;
	uint64_t at_ns;
};

static void strike(struct net *net, const struct plot *plot)
{
	struct node *node = &net->nodes[plot->node];
	switch (plot->fate) {
	case FATE_KILL:
		kill_node(net, plot->node);
		break;
	case FATE_FREEZE:
		node->frozen_ns = net->now_ns + 10000 * MS;
		break;
	case FATE_CUT:
		net->cut = plot->node ? plot->node : 1;
		break;
	case FATE_LEAVE:
		if (is_up(net, plot->node)) {
			peers_stop(node->peers, STOP_LEFT, "interrupted");
			drain(net, plot->node);
		}
		break;
	case FATE_HANG:
		node->works = plot->node > 0 && node->started;
		node->works_ns = UINT64_MAX;
		break;
	default:
		break;
	}
}

/* Each node that lives has ended, for one reason and with one last step. Only nodes that lost the primary itself may be
 * one step behind. */
static void check_end(const struct net *net, const struct plot *plot, uint64_t seed)
{
	uint64_t least = UINT64_MAX, most = 0;
	for (uint32_t i = 0; i < net->count; i++) {
		const struct node *n = &net->nodes[i];
		if (n->dead || !n->started)
			continue;
		cr_assert(n->ended, "seed %llu: node %u hangs", (unsigned long long)seed, i);
		if (plot->fate == FATE_LEAVE && i && i == plot->node)
			continue; /* a secondary knows only of its own steps */
		least = MIN(least, peers_end(n->peers)->next_step);
		most = MAX(most, peers_end(n->peers)->next_step);
		if (plot->fate == FATE_NONE)
			cr_assert_eq(peers_end(n->peers)->kind, STOP_DONE, "seed %llu", (unsigned long long)seed);
	}
	bool orphans = (plot->fate != FATE_LEAVE && plot->node == 0) || plot->fate == FATE_CUT;
	if (least <= most)
		cr_assert_leq(most - least, orphans, "seed %llu: last steps %llu to %llu", (unsigned long long)seed,
			(unsigned long long)least, (unsigned long long)most);
	if (net->nodes[0].started && !net->nodes[0].dead)
		cr_assert_eq(peers_end(net->nodes[0].peers)->next_step, 100 + net->done);
}

static enum fate play(uint64_t seed)
{
	static struct net net;
	uint64_t number = seed;
	net.seed = seed;
	uint32_t secondaries = 1 + (uint32_t)random_below64(&net.seed, 3),
		 extra = (uint32_t)random_below64(&net.seed, 2);
	uint64_t state = net.seed;
	set_up(&net, secondaries, extra, state);
	net.delay_max_ns = 1 + random_below64(&net.seed, 40) * MS;
	struct plot plot = {(enum fate)random_below64(&net.seed, FATES), 0, random_below64(&net.seed, 400) * MS};
	plot.node = (uint32_t)random_below64(&net.seed, net.count);
	for (uint32_t i = 1; i < net.count; i++)
		if (plot.at_ns > i * 3 * MS || i != plot.node)
			connect_node(&net, i);
	bool struck = false;
	while (net.now_ns < 14000 * MS && !all_ended(&net)) {
		pass(&net, MS + random_below64(&net.seed, 2 * MS));
		if (!struck && net.now_ns >= plot.at_ns) {
			struck = true;
			strike(&net, &plot);
		}
	}
	if (!struck) /* the run was over before */
		plot.fate = FATE_NONE;
	/* a run that has not begun begins only if another process replaces the lost one */
	check_end(&net, &plot, number);
	destroy(&net);
	return net.nodes[0].started ? plot.fate : FATES;
}

Test(peers, random_schedules_end_well_or_all_stop_at_the_same_step)
{
	uint32_t counts[FATES + 1] = {0};
	uint64_t seeds = amount(1000, 5000, 50000);
	for (uint64_t seed = 1; seed <= seeds; seed++)
		counts[play(seed)]++;
	for (uint32_t fate = 0; fate < FATES; fate++)
		cr_assert_gt(counts[fate], 20, "fate %u struck %u runs only", fate, counts[fate]);
}

/* --- members that change ------------------------------------------------------------------------------------------ */

static struct peers *make_again(uint32_t secondaries, uint32_t expected, bool goes_on)
{
	struct peers_options options = {.self = hello_of(HELLO_PRIMARY, 0),
		.secondaries = secondaries,
		.expected = expected,
		.again = true,
		.goes_on = goes_on,
		.settle_ns = 1000 * MS,
		.kept_ns = 20000 * MS,
		.state_hash = HASH};
	return peers_create(&options, 0);
}

static void hear_hello(struct peers *peers, uint32_t id, uint64_t now_ns)
{
	struct text bytes = {0};
	struct hello hello = hello_of(HELLO_SECONDARY, id + 1);
	hello_encode(&hello, &bytes);
	peers_receive(peers, id, FRAME_HELLO, bytes.at, bytes.count, now_ns);
	text_fini(&bytes);
}

static void hear_beat(struct peers *peers, uint32_t id, bool leaves, uint64_t now_ns)
{
	struct text bytes = {0};
	heartbeat_encode(&(struct heartbeat){.leaves = leaves}, &bytes);
	peers_receive(peers, id, FRAME_HEARTBEAT, bytes.at, bytes.count, now_ns);
	text_fini(&bytes);
}

/* Takes all actions. How many are of this kind; of SEND, how many carry STOP with this kind of end. */
static uint32_t count_actions(struct peers *peers, enum peers_action_kind kind, enum stop_kind end)
{
	struct peers_action action;
	struct stop stop;
	uint32_t count = 0;
	while (peers_next(peers, &action))
		count += action.kind == kind &&
			 (kind != PEERS_SEND ||
				 (action.type == FRAME_STOP && !stop_decode(action.bytes, action.count, &stop, NULL) &&
					 stop.kind == end));
	return count;
}

/* They say hello, are admitted, and are ready. */
static void begin_all(struct peers *peers, uint32_t count)
{
	for (uint32_t id = 0; id < count; id++) {
		cr_assert_eq(peers_keep(peers, "a", 0), id);
		hear_hello(peers, id, MS);
	}
	cr_assert_eq(count_actions(peers, PEERS_ADMITTED, 0), count);
	for (uint32_t id = 0; id < count; id++) {
		const uint64_t hash = HASH;
		peers_receive(peers, id, FRAME_READY, &hash, sizeof hash, 2 * MS);
	}
	cr_assert_eq(peers_phase(peers), PEERS_RUNNING);
}

Test(peers, one_that_hangs_while_the_members_change_is_lost)
{
	struct peers *peers = make_again(2, 2, true);
	(void)peers_keep(peers, "a", 0);
	(void)peers_keep(peers, "b", 0);
	hear_hello(peers, 0, 10 * MS);
	peers_tick(peers, 990 * MS);
	cr_assert_eq(count_actions(peers, PEERS_ADMITTED, 0), 0);
	peers_tick(peers, 1010 * MS); /* the second has said nothing for the stale time */
	cr_assert_eq(count_actions(peers, PEERS_ADMITTED, 0), 1);
	cr_assert_eq(peers_secondaries(peers), 1);
	peers_tick(peers, 1020 * MS); /* the first had nothing to say meanwhile, and is not lost for that */
	cr_assert_eq(peers_phase(peers), PEERS_LOADING);
	peers_destroy(peers);
}

Test(peers, one_that_is_in_a_step_is_waited_for)
{
	struct peers *peers = make_again(2, 2, true);
	(void)peers_keep(peers, "a", 0);
	(void)peers_keep(peers, "b", 0);
	hear_hello(peers, 0, 10 * MS);
	for (uint64_t now_ms = 500; now_ms < 5000; now_ms += 500) {
		hear_beat(peers, 1, false, now_ms * MS);
		peers_tick(peers, now_ms * MS);
		cr_assert_eq(count_actions(peers, PEERS_ADMITTED, 0), 0);
	}
	hear_hello(peers, 1, 5000 * MS);
	cr_assert_eq(count_actions(peers, PEERS_ADMITTED, 0), 2);
	peers_destroy(peers);
}

Test(peers, one_that_leaves_is_told_so_and_the_others_join_again)
{
	struct peers *peers = make_again(2, 2, true);
	begin_all(peers, 2);
	(void)count_actions(peers, PEERS_SEND, STOP_DONE);
	hear_beat(peers, 1, true, 3 * MS);
	cr_assert(peers_is_leaving(peers, 2));
	peers_stop(peers, STOP_REGROUP, "a secondary leaves");
	cr_assert(peers_stays(peers, 0));
	cr_assert_not(peers_stays(peers, 1));
	cr_assert_eq(count_actions(peers, PEERS_SEND, STOP_LEFT), 1);
	peers_destroy(peers);
}

Test(peers, a_loss_before_all_are_ready_ends_a_run_that_does_not_go_on)
{
	for (int goes_on = 0; goes_on < 2; goes_on++) {
		struct peers *peers = make_again(2, 2, goes_on);
		uint32_t lost;
		for (uint32_t id = 0; id < 2; id++) {
			(void)peers_keep(peers, "a", 0);
			hear_hello(peers, id, MS);
		}
		cr_assert_eq(count_actions(peers, PEERS_ADMITTED, 0), 2);
		peers_drop(peers, 0, "closed the connection", 2 * MS);
		cr_assert_eq(peers_phase(peers), PEERS_OVER);
		cr_assert_eq(peers_regroups(peers, &lost), goes_on);
		cr_assert_eq(lost, goes_on ? 1 : 0);
		cr_assert_eq(count_actions(peers, PEERS_SEND, goes_on ? STOP_REGROUP : STOP_LOST), 1);
		peers_destroy(peers);
	}
}

/* The time limit holds while no secondary has come, and not while one waits for the other. */
Test(peers, the_time_to_wait_is_for_the_first_one_to_come)
{
	struct peers_options options = {.self = hello_of(HELLO_PRIMARY, 0),
		.secondaries = 2,
		.expected = 2,
		.again = true,
		.goes_on = true,
		.settle_ns = 9000 * MS,
		.wait_ns = 3000 * MS};
	struct peers *peers = peers_create(&options, 0);
	(void)peers_join(peers, "a", 0);
	hear_hello(peers, 0, MS);
	peers_tick(peers, 3001 * MS);
	cr_assert_eq(peers_phase(peers), PEERS_GATHERING);
	peers_destroy(peers);
	peers = peers_create(&options, 0);
	peers_tick(peers, 3001 * MS);
	cr_assert_eq(peers_phase(peers), PEERS_OVER);
	peers_destroy(peers);
}

/* --- another primary ---------------------------------------------------------------------------------------------- */

static void refuses_term(struct hello ours, const struct hello *theirs, const char *words)
{
	struct troupe_error why = {.text = ""};
	cr_assert_eq(hello_match(&ours, theirs, &why), TROUPE_EPROTOCOL);
	cr_assert(strstr(why.text, words), "'%s' lacks '%s'", why.text, words);
}

Test(peers, a_primary_of_an_earlier_term_is_refused)
{
	struct hello primary = hello_of(HELLO_PRIMARY, 0), secondary = hello_of(HELLO_SECONDARY, 1),
		     standby = hello_of(HELLO_STANDBY, 2);
	memset(primary.run, 7, sizeof primary.run);
	memset(secondary.run, 7, sizeof secondary.run);
	primary.term = 1;
	cr_assert_eq(hello_match(&secondary, &primary, NULL), TROUPE_OK, "the secondary had no primary before");
	secondary.term = 1;
	cr_assert_eq(hello_match(&secondary, &primary, NULL), TROUPE_OK);
	cr_assert_eq(hello_match(&primary, &secondary, NULL), TROUPE_OK);
	primary.term = 2;
	cr_assert_eq(hello_match(&secondary, &primary, NULL), TROUPE_OK, "the term may be later");
	cr_assert_eq(hello_match(&primary, &secondary, NULL), TROUPE_OK);
	secondary.term = 3;
	refuses_term(secondary, &primary, "it is of term 2, but another primary has taken over its run");
	refuses_term(primary, &secondary, "another primary has taken over this run: it is of term 3");
	secondary.run[15] = 8;
	cr_assert_eq(hello_match(&secondary, &primary, NULL), TROUPE_OK, "terms of two runs are not compared");
	cr_assert_eq(hello_match(&primary, &standby, NULL), TROUPE_OK);
	refuses_term(secondary, &standby, "it is a standby: expected a primary");
	standby.term = 3;
	memset(standby.run, 7, sizeof standby.run);
	refuses_term(standby, &primary, "it is of term 2");
}

Test(peers, a_standby_takes_no_place_and_comes_again)
{
	struct peers *peers = make_again(2, 2, true);
	struct text bytes = {0};
	struct hello standby = hello_of(HELLO_STANDBY, 9);
	struct peers_action action;
	bool again = false;
	char why[HELLO_WORDS_MAX + 1];
	uint32_t id = peers_join(peers, "a", 0), refused = 0;
	hello_encode(&standby, &bytes);
	peers_receive(peers, id, FRAME_HELLO, bytes.at, bytes.count, MS);
	while (peers_next(peers, &action))
		if (action.kind == PEERS_SEND && action.type == FRAME_REFUSE && ++refused)
			cr_assert_eq(refuse_decode(action.bytes, action.count, why, &again, NULL), TROUPE_OK);
	cr_assert_eq(refused, 1);
	cr_assert(again);
	cr_assert_eq(peers_join(peers, "b", MS), id, "its place is free");
	text_fini(&bytes);
	peers_destroy(peers);
}

/* The processes of the nodes 1 and 2 took part before. */
static struct peers *make_taken_over(uint32_t secondaries, uint32_t least)
{
	static unsigned char before[2][HELLO_ID_BYTES];
	for (uint32_t i = 0; i < 2; i++) {
		struct hello hello = hello_of(HELLO_SECONDARY, i + 1);
		memcpy(before[i], hello.id, sizeof before[i]);
	}
	struct peers_options options = {.self = hello_of(HELLO_PRIMARY, 0),
		.secondaries = secondaries,
		.expected = secondaries,
		.least = least,
		.least_of = (const unsigned char(*)[HELLO_ID_BYTES])before,
		.least_of_count = 2,
		.again = true,
		.goes_on = true,
		.settle_ns = 1000 * MS,
		.state_hash = HASH};
	return peers_create(&options, 0);
}

Test(peers, fewer_than_the_least_are_not_admitted)
{
	struct peers *peers = make_taken_over(3, 2);
	cr_assert_eq(peers_join(peers, "a", 0), 0);
	hear_hello(peers, 0, MS);
	peers_tick(peers, 5000 * MS);
	cr_assert_eq(count_actions(peers, PEERS_ADMITTED, 0), 0);
	cr_assert_eq(peers_join(peers, "c", 5000 * MS), 1);
	cr_assert_eq(peers_join(peers, "b", 5000 * MS), 2);
	hear_hello(peers, 2, 5001 * MS); /* of node 3, which did not take part */
	peers_tick(peers, 5010 * MS);    /* the time in which all could have come has passed */
	cr_assert_eq(count_actions(peers, PEERS_ADMITTED, 0), 0);
	hear_hello(peers, 1, 5011 * MS);
	peers_tick(peers, 5012 * MS);
	cr_assert_eq(count_actions(peers, PEERS_ADMITTED, 0), 3);
	cr_assert_eq(peers_secondaries(peers), 3);
	peers_destroy(peers);
}

/* Node 3 did not take part, and comes before one of the two that did. */
Test(peers, a_new_one_does_not_take_the_place_of_one_that_took_part)
{
	struct peers *peers = make_taken_over(2, 1);
	cr_assert_eq(peers_join(peers, "a", 0), 0);
	cr_assert_eq(peers_join(peers, "b", 0), 1);
	cr_assert_eq(peers_join(peers, "c", 0), 2);
	hear_hello(peers, 1, MS);
	hear_hello(peers, 2, 2 * MS);
	cr_assert_eq(count_actions(peers, PEERS_ADMITTED, 0), 0);
	hear_hello(peers, 0, 3 * MS);
	cr_assert_eq(count_actions(peers, PEERS_ADMITTED, 0), 2);
	cr_assert_eq(peers_secondaries(peers), 2);
	peers_destroy(peers);
	/* where there is a place for it, too, it has it */
	peers = make_taken_over(3, 1);
	for (uint32_t i = 0; i < 3; i++)
		cr_assert_eq(peers_join(peers, "x", 0), i);
	hear_hello(peers, 2, MS);
	hear_hello(peers, 0, 2 * MS);
	hear_hello(peers, 1, 3 * MS);
	cr_assert_eq(peers_secondaries(peers), 3);
	peers_destroy(peers);
}

/* A secondary in a run, whose welcome named a standby. */
static struct peers *make_welcomed(void)
{
	struct peers *peers = make_secondary(1, 0, 0);
	struct hello primary = hello_of(HELLO_PRIMARY, 0);
	struct welcome welcome = {1, 1, 1000, 0, {0}, "10.0.0.9:4711"};
	struct text bytes = {0};
	memset(primary.run, 7, sizeof primary.run);
	primary.term = 5;
	cr_assert_eq(peers_join(peers, "a", 0), 0);
	hello_encode(&primary, &bytes);
	peers_receive(peers, 0, FRAME_HELLO, bytes.at, bytes.count, MS);
	bytes.count = 0;
	welcome_encode(&welcome, &bytes);
	peers_receive(peers, 0, FRAME_WELCOME, bytes.at, bytes.count, MS);
	peers_ready(peers, HASH);
	bytes.count = 0;
	number_encode(17, &bytes);
	peers_receive(peers, 0, FRAME_START, bytes.at, bytes.count, MS);
	cr_assert_eq(peers_phase(peers), PEERS_RUNNING);
	text_fini(&bytes);
	return peers;
}

Test(peers, one_that_loses_its_primary_knows_where_to_go)
{
	struct peers *silent = make_welcomed(), *gone = make_welcomed(), *told = make_welcomed(),
		     *bad = make_welcomed();
	const struct stop stop = {.kind = STOP_LOST, .next_step = 17};
	struct text bytes = {0};
	cr_assert_str_eq(peers_standby(silent), "10.0.0.9:4711");
	cr_assert_eq(peers_term(silent), 5);
	cr_assert_eq(peers_run(silent)[HELLO_RUN_BYTES - 1], 7);
	cr_assert_not(peers_is_orphan(silent));
	peers_tick(silent, 1500 * MS);
	cr_assert(peers_is_orphan(silent));
	peers_drop(gone, 0, "closed the connection", 10 * MS);
	cr_assert(peers_is_orphan(gone));
	stop_encode(&stop, &bytes); /* another one was lost, and the primary says so */
	peers_receive(told, 0, FRAME_STOP, bytes.at, bytes.count, 10 * MS);
	cr_assert_eq(peers_phase(told), PEERS_OVER);
	cr_assert_not(peers_is_orphan(told), "the primary has said that the run is over");
	peers_receive(bad, 0, FRAME_HEARTBEAT, "x", 1, 10 * MS);
	cr_assert_eq(peers_phase(bad), PEERS_OVER);
	cr_assert_not(peers_is_orphan(bad), "a primary that sends invalid data may send it to the standby, too");
	text_fini(&bytes);
	peers_destroy(silent);
	peers_destroy(gone);
	peers_destroy(told);
	peers_destroy(bad);
}

/* For any number of secondaries, and any number of these that are lost to the primary together with the standby: if the
 * standby may take over with them, the primary ends; and if the primary has all others, one of the two goes on. */
Test(peers, never_do_two_primaries_go_on)
{
	for (uint32_t all = 1; all <= TROUPE_SECONDARIES_MAX; all++)
		for (uint32_t lost = 0; lost <= all; lost++) {
			bool takes_over = lost >= follow_least(all), ends = follow_may_be_replaced(all, lost);
			cr_assert_eq(takes_over, ends, "%u of %u", lost, all);
			cr_assert(takes_over == (2 * (lost + 1) > all + 1), "%u of %u: a majority, with the standby",
				lost, all);
		}
}
