/* Encoding has no effects: a step can be encoded again, also when some of its acks have come, and an encoding can be
 * dropped; an ack can be decoded again, also after a damaged one. In memory, a primary and its secondaries take the
 * steps of a world in this way. At each step the state is that of the same world in one process; so are the state in
 * the middle of a step, and the bytes of a saved state. */
#include "../named.h"
#include "check.h"
#include "copies.h"

#include "net/inproc/inproc.h"
#include "run/primary_internal.h"

#include <inttypes.h>

enum { SECONDARIES_MAX = 3, STEPS = 120, MIDDLE = 57 };

static const struct {
	uint64_t step;
	const char *topic, *text;
} commands[] = {
	{2, "/model/a/cmd_vel", "linear {x: 7}"},
	{3, "/model/a/cmd_vel", "linear {x: 5 y: 0.5}"},
	{3, "/model/arm/joint/j/0/cmd_pos", "data: -0.5"},
	{8, "/world/w/create",
		"name: 'new' pose {position {x: 2 y: 1 z: 1}} sdf: \"<sdf version='1.9'><model name='m'><link name='l'>"
		"<collision name='c'><geometry><sphere><radius>0.2</radius></sphere></geometry></collision></link>"
		"<plugin name='gz::sim::systems::VelocityControl' filename='x'/></model></sdf>\""},
	{8, "/model/new/cmd_vel", "linear {x: 1}"},
	{12, "/world/w/set_pose", "name: 'b' position {x: 3 z: 0.4}"},
	{12, "/model/b/cmd_vel", "linear {x: -4}"},
	{13, "/world/w/disable_collision", "name: 'b'"},
	{14, "/world/w/disable_collision", "name: 'floor_1'"},
	{15, "/world/w/set_pose", "name: 'floor_1' position {x: 2.1 z: -0.25}"},
	{20, "/world/w/wrench", "entity {name: 'c'} wrench {force {x: 20} torque {z: 3}}"},
	{21, "/world/w/wrench/persistent",
		"entity {name: 'c'} wrench {force {x: 2 z: 1} force_offset {y: 0.4} torque {z: 0.1}}"},
	{22, "/world/w/enable_collision", "name: 'floor_1'"},
	{24, "/world/w/set_physics", "gravity {z: -7} max_step_size: 0.008"},
	{30, "/world/w/control", "pause: true"},
	{31, "/model/a/cmd_vel", "linear {x: -3}"},
	{33, "/world/w/control", "pause: false"},
	{34, "/world/w/enable_collision", "name: 'b'"},
	{36, "/world/w/remove", "name: 'new'"},
	{38, "/world/w/light_config", "name: 'sun' intensity: 0.25 type: SPOT"},
	{39, "/world/w/light_config", "name: 'lamp' pose {position {z: 3}}"},
	{40, "/world/w/remove", "name: 'sun' type: LIGHT"},
	{41, "/world/w/remove", "name: 'lamp' type: LIGHT"},
	{42, "/world/w/light_config", "name: 'torch'"},
	{44, "/world/w/level/set_performer", "data: 'crate_1' size {x: 1}"},
	{50, "/model/b/cmd_vel", "linear {x: 4 y: -1}"},
	{53, "/world/w/wrench/clear", "name: 'c'"},
	{54, "/world/w/wrench/persistent", "entity {name: 'b'} wrench {torque {z: 1}}"},
	{55, "/world/w/disable_collision", "name: 'a'"},
	{MIDDLE, "/model/a/cmd_vel", "linear {x: 3}"},
	{MIDDLE, "/model/arm/joint/j/0/cmd_pos", "data: 0.8"},
	{70, "/world/w/control", "reset {model_only: true}"},
};

/* --- in one process ----------------------------------------------------------------------------------------------- */

static struct text begin;          /* the state at the start of each run */
static struct text middle;         /* state MIDDLE, saved */
static uint64_t hashes[STEPS + 1]; /* [k] of state k */
static uint64_t shared;            /* ODE worlds that helpers stepped, in all runs */
static uint64_t held[STEPS];       /* [k] of state k, with the commands of step k obeyed */

static struct text make_begin(void)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server;
	struct troupe_error error;
	struct text out = {0};
	def.world_path = "w.sdf";
	def.world_text = named_world("levels", NULL);
	def.secondaries = 0;
	def.pace = TROUPE_PACE_FACTOR;
	copies_must(troupe_server_create(&def, &server, &error), "the world", &error);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		copies_must(
			troupe_server_command(server, commands[i].step, commands[i].topic, commands[i].text, &error),
			commands[i].text, &error);
	copies_pack(server, &out);
	troupe_server_destroy(server);
	return out;
}

static void on_acked(void *ctx)
{
	struct troupe_server *server = ctx;
	struct primary *primary = server->worlds[0].primary;
	held[primary->lockstep.number] = primary_hash(primary);
}

static void on_merged(void *ctx, uint64_t steps)
{
	hashes[steps] = troupe_server_hash(ctx);
	if (steps == MIDDLE)
		copies_pack(ctx, &middle);
}

static void run_in_one_process(void)
{
	struct troupe_server *server = copies_server(&begin, 0, 0);
	const struct runners_callbacks watch = {.on_acked = on_acked, .on_merged = on_merged, .ctx = server};
	const struct runners_world world = {.primary = server->worlds[0].primary, .shared = &server->worlds[0].shared};
	struct troupe_error error;
	struct runners *runners;
	server->worlds[0].primary->options.iterations = STEPS;
	server->worlds[0].primary->options.observe = OBSERVE_ALL;
	hashes[0] = troupe_server_hash(server);
	copies_must(runners_create(&world, 1, &transport_inproc, &watch, &runners, &error), "a runner", &error);
	copies_must(runners_run(runners, &error), "the run in one process", &error);
	runners_destroy(runners);
	troupe_server_destroy(server);
}

/* --- over the codec ----------------------------------------------------------------------------------------------- */

struct run {
	struct troupe_server *server;
	struct wire *wire;
	uint32_t secondaries;
	struct copies_secondary sides[SECONDARIES_MAX];
	struct text steps[SECONDARIES_MAX], again, ack;
	struct ack *acks[SECONDARIES_MAX];
	const struct step *step;
};

static struct primary *primary_of(struct run *run)
{
	return run->server->worlds[0].primary;
}

static void check_same(const struct run *run, uint32_t secondary, const char *when)
{
	const struct text *first = &run->steps[secondary], *again = &run->again;
	check(first->count == again->count && !memcmp(first->at, again->at, first->count),
		"step %" PRIu64 " for secondary %u, %s: other bytes", run->step->number, secondary + 1, when);
}

/* Encodes the step for the secondaries in any order, and for some of them more than once. */
static void encode_again(struct run *run, const char *when)
{
	for (uint32_t n = 0; n < 2 * run->secondaries; n++) {
		uint32_t i = (run->secondaries - 1 + 2 * n) % run->secondaries;
		run->again.count = 0;
		wire_encode_step(run->wire, i, run->step, &run->again);
		check_same(run, i, when);
	}
}

static troupe_status decode_ack(struct run *run, uint32_t i, size_t count, struct troupe_error *error)
{
	struct transport_message ack;
	troupe_status status = wire_decode_ack(run->wire, i, run->ack.at, count, &ack, error);
	if (!status)
		run->acks[i] = ack.payload;
	return status;
}

/* Gives an ack damaged, then twice. */
static void exchange(struct run *run, uint32_t i)
{
	struct copies_secondary *side = &run->sides[i];
	const struct step *step;
	struct troupe_error error;
	for (int times = 0; times < 2; times++)
		copies_must(wire_decode_step(i + 1, run->steps[i].at, run->steps[i].count, &side->message, &error),
			"a step", &error);
	copies_must(replica_follow(side->replica, &side->message, side->share_over, &step, &error), "a step", &error);
	check(replica_follow(side->replica, &side->message, side->share_over, &step, &error) == TROUPE_EPROTOCOL,
		"step %" PRIu64 " is followed twice", run->step->number);
	check(copies_agree(primary_of(run), side, i), "step %" PRIu64 ": secondary %u has another state",
		run->step->number, i + 1);
	const struct ack *ack = secondary_step(side->secondary, step);
	run->ack.count = run->again.count = 0;
	copies_encode_ack(side, ack, &run->ack);
	copies_encode_ack(side, ack, &run->again);
	check(run->ack.count == run->again.count && !memcmp(run->ack.at, run->again.at, run->ack.count),
		"ack %" PRIu64 " of secondary %u: other bytes", run->step->number, i + 1);
	check(decode_ack(run, i, run->ack.count - 1, &error) != TROUPE_OK, "half an ack is accepted");
	for (int times = 0; times < 2; times++)
		copies_must(decode_ack(run, i, run->ack.count, &error), "an ack", &error);
}

static void check_middle(struct run *run)
{
	struct text saved = {0};
	copies_pack(run->server, &saved);
	check(saved.count == middle.count && !memcmp(saved.at, middle.at, saved.count), "another saved state");
	text_fini(&saved);
}

static bool take_step(struct run *run)
{
	struct primary *primary = primary_of(run);
	uint64_t k = primary->lockstep.number, begin_ns;
	if (k == MIDDLE)
		check_middle(run);
	run->step = primary_decide(primary, primary_propose(primary, UINT32_MAX, &begin_ns));
	if (!run->step)
		return false;
	check(primary_hash(primary) == held[k], "step %" PRIu64 " decided: another state", k);
	for (uint32_t i = 0; i < run->secondaries; i++) {
		run->steps[i].count = 0;
		wire_encode_step(run->wire, i, run->step, &run->steps[i]);
	}
	encode_again(run, "before any ack");
	for (uint32_t i = 0; i < run->secondaries; i++)
		exchange(run, i);
	encode_again(run, "after all acks");
	check(primary_hash(primary) == held[k], "step %" PRIu64 " acknowledged: another state", k);
	check(primary_check_acks(primary, run->acks), "step %" PRIu64 ": %s", k, primary->error.text);
	primary_advance(primary, run->acks);
	check(primary_hash(primary) == hashes[k + 1], "step %" PRIu64 ": another state", k);
	return true;
}

static void check_stats(const struct run *run)
{
	for (uint32_t i = 0; i < run->secondaries; i++) {
		struct physics_stats is = wire_physics_stats(run->wire, i);
		struct physics_stats was = secondary_physics_stats(run->sides[i].secondary);
		check(is.contacts == was.contacts && is.regroups == was.regroups && is.groups == was.groups,
			"secondary %u: %" PRIu64 " contacts: expected %" PRIu64, i + 1, is.contacts, was.contacts);
	}
}

static void run_over_codec(uint32_t secondaries, uint64_t chaos_seed, uint32_t threads)
{
	struct run run = {.server = copies_server(&begin, secondaries, chaos_seed), .secondaries = secondaries};
	struct primary *primary = primary_of(&run);
	struct text world = copies_world(run.server);
	(void)snprintf(check_where, sizeof check_where, "%u secondaries, seed %" PRIu64 ", %u threads: ", secondaries,
		chaos_seed, threads);
	primary->options.iterations = STEPS;
	primary->options.observe = OBSERVE_ALL;
	primary->plan.placement.measure = true;
	run.wire = wire_create(primary);
	for (uint32_t i = 0; i < secondaries; i++)
		copies_begin(&run.sides[i], &world, i + 1);
	for (uint32_t i = 0; threads > 1 && i < secondaries; i++)
		copies_hire(&run.sides[i], threads);
	while (take_step(&run))
		;
	check(primary->lockstep.number == STEPS && primary->refused == 0, "%" PRIu64 " steps, %" PRIu64 " refused: %s",
		primary->lockstep.number, primary->refused, primary->error.text);
	check(secondaries == 1 || primary->plan.placement.moves > STEPS / 16, "only %" PRIu64 " moves",
		primary->plan.placement.moves);
	check_stats(&run);
	for (uint32_t i = 0; i < secondaries; i++)
		shared += secondary_physics_stats(run.sides[i].secondary).helped;
	for (uint32_t i = 0; i < secondaries; i++) {
		copies_end(&run.sides[i]);
		text_fini(&run.steps[i]);
	}
	text_fini(&world);
	text_fini(&run.again);
	text_fini(&run.ack);
	wire_destroy(run.wire);
	troupe_server_destroy(run.server);
}

int main(void)
{
	begin = make_begin();
	run_in_one_process();
	for (uint32_t secondaries = 1; secondaries <= SECONDARIES_MAX; secondaries++)
		for (uint64_t seed = 1; seed <= 3; seed++)
			for (uint32_t threads = 1; threads <= 3; threads++)
				run_over_codec(secondaries, seed, threads);
	check(shared > STEPS, "helpers worked on %" PRIu64 " steps only", shared);
	text_fini(&begin);
	text_fini(&middle);
	return check_totals();
}
