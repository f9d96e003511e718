/* A networked run in a simulated network, thousands of times: the real primary and real secondaries, each with its
 * own copy of a small world, exchange the bytes that they would send over TCP (run/wire.h), with delays and slow
 * runners. In each phase of the run a process may die, freeze, hang, be cut off, leave or send invalid data. Each
 * run must end like the same run in one process, or with every runner stopped, for a reason, within the promised
 * time, and with the same last step reported. Then the primary has the state of that step, and a run in one process
 * that goes on from this state must have the same state at its end.
 *
 * The readings of sensors, which its secondaries measure, are those of one process, too.
 *
 * In other runs the run goes on when secondaries are lost or leave, also while it changes its members, and others come:
 * it must end like the same run in one process, each step merged once.
 *
 * TROUPE_TEST_SEED=N: only that run, twice, with its outcome. TROUPE_TEST_ROUNDS=N: the number of runs. */
#include "../amount.h"
#include "../named.h"
#include "../random.h"
#include "../net/sim.h"
#include "check.h"
#include "copies.h"

#include "base/hash.h"
#include "net/inproc/inproc.h"
#include "run/primary_internal.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#define MS UINT64_C(1000000)
enum { SECONDARIES_MAX = 4, STEPS = 40, TALES = 64, LATER = 14, HANG_S = 240, WINDOW_MOST = 24 };

static double between(uint64_t *state, double least, double most)
{
	return least + (most - least) * (double)random_below64(state, 1001) / 1000;
}

/* --- tales: what is commanded, and what comes of it in one process ----------------------------------------------- */

struct tale {
	struct text states[2];      /* of step 0 and of step LATER: a run begins with one of them */
	uint64_t hashes[STEPS + 1]; /* [k] of state k */
	uint64_t held[STEPS];       /* [k] of state k, with the decisions and commands of step k */
	uint64_t notes[STEPS + 1];  /* [k] the observations after step k - 1 */
	uint64_t sights[STEPS + 1]; /* [k] all that was measured before state k */
	uint64_t steps;             /* taken before the end */
	troupe_status status;       /* at the end: in some tales a model diverges */
	struct troupe_server *server;
};

/* Robots that fly past the others, and a post. They see each other, and where the others are. */
#define EYES                                                                                                           \
	"<sensor name='o' type='logical_camera'><update_rate>25</update_rate><logical_camera><far>9</far>"             \
	"<horizontal_fov>2</horizontal_fov></logical_camera></sensor><sensor name='s' type='gpu_lidar'><update_rate>"  \
	"20</update_rate><lidar><scan><horizontal><samples>24</samples><min_angle>-1</min_angle><max_angle>1"          \
	"</max_angle></horizontal></scan><range><min>0.1</min><max>4</max></range></lidar></sensor><sensor name='p' "  \
	"type='camera'><update_rate>15</update_rate><camera><image><width>12</width><height>8</height></image>"        \
	"</camera></sensor>"
#define FLIER(name, pose, speed)                                                                                       \
	"<model name='" name "'><pose>" pose "</pose><link name='l'><gravity>0</gravity><collision name='c'>"          \
	"<geometry><sphere><radius>0.1</radius></sphere></geometry></collision><visual name='v'><geometry><box><size>" \
	"0.5 0.3 0.4</size></box></geometry></visual>" EYES "</link><plugin name='gz::sim::systems::VelocityControl' " \
	"filename='x'><initial_linear>" speed " 0 0</initial_linear></plugin></model>"
static const char seeing[] = FLIER("flier_1", "0 1.5 1 0 0 0", "3") FLIER("flier_2", "4 1.6 1.1 0 0 3.1",
	"4") "<model name='post'><static>1</static><pose>2 3 1 0 0 -1.5</pose><link name='l'>" EYES "</link></model>";

static struct troupe_server *create_world(void)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server;
	struct troupe_error error;
	def.world_path = "w.sdf";
	def.world_text = named_world("levels", seeing);
	def.secondaries = 0;
	def.sense_all = true;
	def.pace = TROUPE_PACE_FACTOR;
	copies_must(troupe_server_create(&def, &server, &error), "the world", &error);
	return server;
}

static void command(struct troupe_server *server, uint64_t step, const char *topic, const char *format, ...)
	TROUPE_PRINTF(4, 5);
static void command(struct troupe_server *server, uint64_t step, const char *topic, const char *format, ...)
{
	struct troupe_error error;
	char text[400];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	copies_must(troupe_server_command(server, step, topic, text, &error), text, &error);
}

/* Some of these commands are refused, because their model does not exist (any more), and they are so in each run. */
static void draw_command(struct troupe_server *server, uint64_t step, uint64_t *dice)
{
	static const char *const movable[] = {"a", "b", "c", "arm", "crate_0", "crate_1", "crate_2", "new"};
	static const char *const driven[] = {"/model/a/cmd_vel", "/model/b/cmd_vel"};
	const char *who = movable[random_below64(dice, ARRAY_LEN(movable))];
	double x = between(dice, -1, 5), y = between(dice, -1, 1), v = between(dice, -9, 9);
	switch (random_below64(dice, 12)) {
	case 0:
		command(server, step, "/world/w/create",
			"name: 'new' pose {position {x: %g y: %g z: 1}} sdf: \"<sdf version='1.9'><model name='m'>"
			"<link name='l'><collision name='c'><geometry><sphere><radius>0.2</radius></sphere></geometry>"
			"</collision></link></model></sdf>\"",
			x, y);
		break;
	case 1:
		command(server, step, "/world/w/remove", "name: '%s'", who);
		break;
	case 2:
		command(server, step, "/world/w/set_pose", "name: '%s' position {x: %g y: %g z: 0.4}", who, x, y);
		break;
	case 3:
		command(server, step, "/world/w/set_pose", "name: 'floor_%d' position {x: %g z: -0.25}",
			(int)random_below64(dice, 3), x);
		break;
	case 4:
		command(server, step, "/world/w/control", "pause: true");
		command(server, step + 1 + random_below64(dice, 5), "/world/w/control",
			random_below64(dice, 3) ? "pause: false" : "pause: true multi_step: 4");
		break;
	case 5: /* one velocity in four is more than physics accepts, after some steps */
		command(server, step, "/world/w/set_physics", "gravity {z: %g} max_step_size: %g",
			random_below64(dice, 4) ? v : -1e6, random_below64(dice, 2) ? 0.01 : 0.008);
		break;
	case 6:
		command(server, step, "/world/w/control",
			random_below64(dice, 3) ? "reset {model_only: true}" : "reset {all: true}");
		break;
	case 7:
		command(server, step, "/model/arm/joint/j/0/cmd_pos", "data: %g", x);
		break;
	case 8:
		command(server, step, "/world/w/remove", "name: 'sun' type: LIGHT");
		break;
	case 9:
		command(server, step, "/world/w/level/set_performer", "data: 'floor_%d' size {x: %g} remove: %s",
			(int)random_below64(dice, 3), between(dice, 0, 4), random_below64(dice, 3) ? "false" : "true");
		break;
	default:
		command(server, step, driven[random_below64(dice, 2)], "linear {x: %g y: %g}", v, y);
	}
}

static void on_tale_step(void *ctx)
{
	struct tale *tale = ctx;
	struct primary *primary = tale->server->worlds[0].primary;
	tale->held[primary->lockstep.number] = primary_hash(primary);
}

static void on_tale_merged(void *ctx, uint64_t steps)
{
	struct tale *tale = ctx;
	tale->hashes[steps] = troupe_server_hash(tale->server);
	tale->notes[steps] = copies_observed(tale->server->worlds[0].primary);
	tale->sights[steps] = primary_counts(tale->server->worlds[0].primary).readings_digest;
	tale->steps = steps;
	if (steps == LATER)
		copies_pack(tale->server, &tale->states[1]);
}

static void write_tale(struct tale *tale, uint64_t number)
{
	struct troupe_server *server = create_world();
	const struct runners_callbacks watch = {.on_acked = on_tale_step, .on_merged = on_tale_merged, .ctx = tale};
	struct troupe_error error;
	struct runners *runners;
	uint64_t dice = number;
	for (uint64_t i = random_below64(&dice, 8); i; i--)
		draw_command(server, 1 + random_below64(&dice, STEPS), &dice);
	copies_pack(server, &tale->states[0]);
	troupe_server_destroy(server);
	tale->server = copies_server(&tale->states[0], 0, 0);
	struct server_world *world = &tale->server->worlds[0];
	const struct runners_world runner = {.primary = world->primary, .shared = &world->shared};
	world->primary->options.iterations = STEPS;
	world->primary->options.observe = OBSERVE_ALL;
	copies_must(runners_create(&runner, 1, &transport_inproc, &watch, &runners, &error), "a runner", &error);
	tale->status = runners_run(runners, &error);
	runners_destroy(runners);
	troupe_server_destroy(tale->server);
}

static const struct tale *tale_of(uint64_t number)
{
	static struct tale tales[TALES];
	struct tale *tale = &tales[number % TALES];
	if (!tale->states[0].count)
		write_tale(tale, number % TALES);
	return tale;
}

/* --- a run -------------------------------------------------------------------------------------------------------- */

struct worker {
	struct run *run;
	uint32_t index;
	pthread_t thread;
	struct copies_secondary side;
};

struct run {
	struct transport_link link;
	uint32_t secondaries;
	uint64_t chaos_seed;
	bool windows; /* of a random number of steps, often with wrong guesses; then nothing is observed */
	const struct tale *tale;
	const struct text *state;     /* the state at the start */
	struct text world;            /* the same as a description for replicas */
	struct troupe_server *server; /* the primary's */
	struct wire *wire;
	struct runners *runners;
	struct worker workers[SECONDARIES_MAX];
	/* the outcome */
	uint64_t steps, hash, moves;
	uint32_t outdated; /* the first secondary that had another state than the primary; 0: none */
	uint64_t other;    /* the first step after which the state was not that of one process; 0: none */
	uint64_t noted;    /* the same for observations */
	uint64_t sensed;   /* the same for readings */
	bool alarmed;      /* the stop flag was raised, or the primary itself failed */
	/* runs that go on with other members */
	bool goes_on;
	uint64_t dice;
	bool again;       /* it goes on with other members now */
	uint32_t staying; /* of those that it had */
	uint32_t rounds, lost, left, came;
	uint64_t merged; /* steps, as they were told */
	bool twice;      /* a step was told twice, or left out */
	troupe_status status;
	struct troupe_error error;
	struct text saved;
};

static struct primary *primary_of(const struct run *run)
{
	return run->server->worlds[0].primary;
}

/* A checksum in the place of TLS, which would detect a flipped bit: in a number of a state it is not visible.
 * tests/fuzz/fuzz_wire gives damaged bytes to the decoders. */
static void seal(struct text *out)
{
	pack_u64(out, hash_bytes(1, out->at, out->count));
}

static troupe_status unseal(const char *bytes, size_t *count, struct troupe_error *error)
{
	struct text again = {0};
	bool whole = *count >= 8;
	if (whole)
		pack_u64(&again, hash_bytes(1, bytes, *count -= 8));
	whole = whole && !memcmp(again.at, bytes + *count, 8);
	text_fini(&again);
	return whole ? TROUPE_OK : fail(error, TROUPE_EPROTOCOL, "a seal that is broken");
}

static void encode_step(void *ctx, uint32_t secondary, const void *payload, struct text *out)
{
	struct run *run = ctx;
	wire_encode_step(run->wire, secondary, payload, out);
	seal(out);
}

static troupe_status decode_step(void *ctx, uint32_t secondary, const char *bytes, size_t count,
	struct transport_message *ret_step, struct troupe_error *error)
{
	struct run *run = ctx;
	troupe_status status = unseal(bytes, &count, error);
	const struct step *step;
	if (!status)
		status = copies_decode_step(&run->workers[secondary].side, bytes, count, &step, error);
	if (!status) {
		ret_step->number = step->number;
		ret_step->more = step->window - 1;
		memcpy(&ret_step->payload, &step, sizeof step);
	}
	if (!status && !run->outdated && !copies_agree(primary_of(run), &run->workers[secondary].side, secondary))
		run->outdated = secondary + 1;
	return status;
}

static void encode_ack(void *ctx, uint32_t secondary, const void *payload, struct text *out)
{
	struct run *run = ctx;
	copies_encode_ack(&run->workers[secondary].side, payload, out);
	seal(out);
}

static troupe_status decode_ack(void *ctx, uint32_t secondary, const char *bytes, size_t count,
	struct transport_message *ret_ack, struct troupe_error *error)
{
	struct run *run = ctx;
	troupe_status status = unseal(bytes, &count, error);
	return status ? status : wire_decode_ack(run->wire, secondary, bytes, count, ret_ack, error);
}

static void on_merged(void *ctx, uint64_t steps)
{
	struct run *run = ctx;
	run->twice |= steps <= run->merged || (!run->windows && run->merged && steps != run->merged + 1);
	run->merged = steps;
	if (!run->other && primary_hash(primary_of(run)) != run->tale->hashes[steps])
		run->other = steps;
	if (!run->noted && !run->windows && copies_observed(primary_of(run)) != run->tale->notes[steps])
		run->noted = steps;
	if (!run->sensed && primary_counts(primary_of(run)).readings_digest != run->tale->sights[steps])
		run->sensed = steps;
}

/* Acts as the process of a secondary. */
static void *work(void *arg)
{
	struct worker *worker = arg;
	struct run *run = worker->run;
	struct transport *transport = run->link.transport;
	struct transport_message message;
	copies_begin(&worker->side, &run->world, worker->index + 1);
	while (!transport_sim.wait(transport, worker->index, &message)) {
		struct ack *ack = secondary_step(worker->side.secondary, message.payload);
		ack->busy_ns = ack->waited_ns = 0; /* measured times would give other bytes when the run is repeated */
		if (transport_sim.ack(transport, worker->index,
			    (struct transport_message){.number = message.number, .payload = ack}))
			break;
	}
	copies_end(&worker->side);
	return NULL;
}

/* --- other members ------------------------------------------------------------------------------------------------ */

enum { ROUNDS_MAX = 8 };

/* What happens to secondaries until the members change again, or the run is over. */
static void draw_faults(struct run *run)
{
	static const enum sim_fault_kind kinds[] = {
		SIM_KILL, SIM_KILL, SIM_ASK, SIM_ASK, SIM_HANG, SIM_CUT, SIM_FREEZE, SIM_LEAVE, SIM_RUBBISH, SIM_SLOW};
	uint64_t at_ns = 0;
	run->link.seed = random_below64(&run->dice, UINT64_MAX);
	run->link.fault_count = run->rounds < ROUNDS_MAX ? (uint32_t)random_below64(&run->dice, 4) : 0;
	for (uint32_t i = 0; i < run->link.fault_count; i++) {
		struct sim_fault *fault = &run->link.faults[i];
		fault->kind = kinds[random_below64(&run->dice, ARRAY_LEN(kinds))];
		fault->node = 1 + (uint32_t)random_below64(&run->dice, run->secondaries);
		fault->at_ns = at_ns += random_below64(
			&run->dice, random_below64(&run->dice, 2) ? 3 * run->link.delay_ns + 2 : 200 * MS);
		fault->ns = random_below64(&run->dice, 1500) * MS;
		if (fault->kind == SIM_SLOW)
			fault->ns %= 100 * MS;
	}
}

/* Whether the run goes on with others, because one was lost, or asked to leave. */
static bool goes_on(struct run *run)
{
	struct transport *transport = run->link.transport;
	uint32_t lost, leavers = 0;
	bool regroups = transport_sim.regroups(transport, &lost);
	for (uint32_t i = 1; i <= run->secondaries && !regroups; i++)
		leavers += transport_sim.leaving(transport, i);
	if (leavers && !run->status && primary_of(run)->lockstep.number < STEPS) {
		transport_sim.stop(transport, STOP_REGROUP, "a secondary leaves");
		regroups = true;
	}
	if (!regroups)
		return false;
	run->lost += lost != 0;
	run->left += leavers;
	return true;
}

/* The primary's world and state stay as they are. */
static void change_members(struct run *run)
{
	uint32_t come = random_below64(&run->dice, 3) == 0 || !run->link.staying;
	run->secondaries = MIN(run->link.staying + come, (uint32_t)SECONDARIES_MAX);
	run->came += come;
	run->rounds++;
	run->link.again = true;
	run->link.began = false;
	memset(run->link.ends, 0, sizeof run->link.ends);
	draw_faults(run);
	world_regroup(&run->server->worlds[0], run->secondaries);
	atomic_store(&primary_of(run)->stop, false);
}

/* Acts as the process of the primary. */
static void go(struct run *run)
{
	for (uint32_t i = 0; i < run->secondaries; i++) {
		run->workers[i] = (struct worker){.run = run, .index = i};
		if (pthread_create(&run->workers[i].thread, NULL, work, &run->workers[i]))
			abort();
	}
	run->status = runners_run(run->runners, &run->error);
	run->again = run->goes_on && goes_on(run);
	run->alarmed = atomic_load(&primary_of(run)->stop);
	if (run->status && !run->again && !transport_sim.lost(run->link.transport))
		transport_sim.stop(run->link.transport, STOP_FAILED, run->error.text);
	transport_sim.close(run->link.transport);
	for (uint32_t i = 0; i < run->secondaries; i++)
		pthread_join(run->workers[i].thread, NULL);
}

/* With these secondaries, until the members change or the run is over. */
static void play_round(struct run *run)
{
	const struct transport_codec codec = {encode_step, decode_step, encode_ack, decode_ack, .ctx = run};
	const struct runners_callbacks watch = {.on_merged = on_merged, .ctx = run};
	struct primary *primary = primary_of(run);
	run->world = copies_world(run->server);
	const struct runners_world world = {.primary = primary,
		.shared = &run->server->worlds[0].shared,
		.threads = run->secondaries,
		.codec = &codec,
		.link = &run->link};
	run->wire = wire_create(primary);
	copies_must(
		runners_create(&world, 1, &transport_sim, &watch, &run->runners, &run->error), "a crew", &run->error);
	go(run);
	runners_destroy(run->runners);
	wire_destroy(run->wire);
	text_fini(&run->world);
}

static void play(struct run *run)
{
	run->server = copies_server(run->state, run->secondaries, run->chaos_seed);
	struct primary *primary = primary_of(run);
	primary->options.iterations = STEPS;
	primary->options.observe = run->windows ? 0 : OBSERVE_ALL; /* what is observed is so in each step */
	primary->window.options =
		(struct window_options){.steps = run->windows ? 0 : 1, .random = run->windows, .seed = run->chaos_seed};
	run->merged = primary->lockstep.number;
	for (play_round(run); run->again; play_round(run))
		change_members(run);
	run->steps = primary->lockstep.number;
	run->hash = primary_hash(primary);
	run->moves = primary->plan.placement.moves;
	copies_pack(run->server, &run->saved);
	troupe_server_destroy(run->server);
}

/* --- plots -------------------------------------------------------------------------------------------------------- */

static void make_plot(struct run *run, uint64_t seed)
{
	uint64_t state = seed;
	text_fini(&run->saved);
	memset(run, 0, sizeof *run);
	run->secondaries = 1 + (uint32_t)random_below64(&state, SECONDARIES_MAX);
	run->chaos_seed = random_below64(&state, UINT64_MAX);
	run->windows = random_below64(&state, 2);
	run->tale = tale_of(random_below64(&state, TALES));
	run->state = &run->tale->states[random_below64(&state, 3) == 0 && run->tale->states[1].count];
	run->link.seed = random_below64(&state, UINT64_MAX);
	run->link.delay_ns = random_below64(&state, 20) * MS;
	run->link.work_ns = random_below64(&state, 10) * MS;
	run->link.step_ns = 800 * MS;
	run->link.wait_ns = 5000 * MS;
	run->link.fault_count = random_below64(&state, 8) ? 1 : 0;
	struct sim_fault *fault = &run->link.faults[0];
	fault->kind = (enum sim_fault_kind)random_below64(&state, SIM_ASK);
	fault->node = (uint32_t)random_below64(&state, run->secondaries + 1);
	/* as many faults during the start as in the run */
	fault->at_ns = random_below64(&state, random_below64(&state, 2) ? 5 * run->link.delay_ns + 1 : 1000 * MS);
	fault->ns = random_below64(&state, 2) ? random_below64(&state, 700) * MS : 5000 * MS;
	if (fault->kind == SIM_SLOW)
		fault->ns %= 300 * MS;
	run->dice = state;
	run->goes_on = run->link.goes_on = random_below64(&state, 2);
	if (run->goes_on)
		draw_faults(run);
}

/* Whether the end of this node counts: the node lives, and the message about the end could reach it. */
static bool counts(const struct run *run, uint32_t node)
{
	const struct sim_fault *fault = &run->link.faults[0];
	bool hit = run->link.fault_count && (fault->node == node || (fault->kind == SIM_CUT && !fault->node));
	return !(hit && (fault->kind == SIM_KILL || (fault->kind == SIM_LEAVE && node)));
}

static bool hit_by(const struct run *run, enum sim_fault_kind kind)
{
	return run->link.fault_count && run->link.faults[0].kind == kind;
}

static void check_steps(const struct run *run)
{
	const struct sim_fault *fault = &run->link.faults[0];
	uint64_t least = UINT64_MAX, most = 0;
	for (uint32_t node = 0; node <= run->secondaries; node++) {
		if (!counts(run, node) || run->link.ends[node].kind == STOP_REFUSED)
			continue;
		least = MIN(least, run->link.ends[node].next_step);
		most = MAX(most, run->link.ends[node].next_step);
	}
	/* A node without the message about the end, because the primary is gone or cut off, knows only its own last
	 * step. And a flipped bit may be in this number. */
	bool told = !run->link.fault_count || (!hit_by(run, SIM_CUT) && fault->node) || hit_by(run, SIM_LEAVE);
	if (run->link.began && least <= most && !hit_by(run, SIM_RUBBISH))
		check(most - least <= (told                  ? 0
					      : run->windows ? WINDOW_MOST
							     : 1),
			"last steps %" PRIu64 " to %" PRIu64, least, most);
	if (counts(run, 0))
		check(run->link.ends[0].next_step == run->steps, "the primary says %" PRIu64 ", and has done %" PRIu64,
			run->link.ends[0].next_step, run->steps);
}

/* The state is that of the run in one process, and leads to the same end. */
static void check_state(const struct run *run)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_limits limits = {STEPS, 0};
	struct troupe_server *server;
	struct troupe_error error;
	const struct tale *tale = run->tale;
	check(!run->outdated, "secondary %u had another state than the primary", run->outdated);
	check(!run->other, "another state after step %" PRIu64, run->other);
	check(!run->sensed, "other readings before state %" PRIu64, run->sensed);
	check(!run->noted, "other contacts or efforts after step %" PRIu64, run->noted);
	check(run->hash == (run->steps < STEPS ? tale->held[run->steps] : tale->hashes[STEPS]),
		"after %" PRIu64 " steps another state", run->steps);
	if (!run->status)
		return;
	def.resume_path = "the saved state";
	def.secondaries = 0;
	def.pace = TROUPE_PACE_FACTOR;
	char *bytes = mem_alloc(run->saved.count);
	memcpy(bytes, run->saved.at, run->saved.count);
	copies_must(server_create(&def, bytes, run->saved.count, &server, &error), check_where, &error);
	troupe_status status = troupe_server_run(server, &limits, &error);
	check(status == tale->status && troupe_server_hash(server) == tale->hashes[tale->steps],
		"the state that was saved at step %" PRIu64 " leads to another end", run->steps);
	troupe_server_destroy(server);
}

static bool is_whole(const struct run *run)
{
	return run->status == run->tale->status && run->steps == run->tale->steps;
}

/* All ends come within the stale time and a second; after a node has left, within 0.2 s and a step. A frozen node ends
 * when it wakes, a secondary that missed the start waits for a primary again, and a flipped bit may be in a time. */
static void check_time(const struct run *run)
{
	const struct sim_fault *fault = &run->link.faults[0];
	uint64_t promised_ns =
		hit_by(run, SIM_LEAVE) ? 200 * MS + 2 * run->link.delay_ns + run->link.work_ns : 2000 * MS;
	bool missed = false;
	for (uint32_t node = 1; node <= run->secondaries; node++)
		missed |= run->link.ends[node].kind == STOP_MISSING;
	if (run->link.began && !is_whole(run) && !missed && !hit_by(run, SIM_RUBBISH) && !hit_by(run, SIM_FREEZE) &&
		!hit_by(run, SIM_SLOW))
		check(run->link.now_ns <= fault->at_ns + promised_ns, "it ends %" PRIu64 " ms after the fault",
			(run->link.now_ns - fault->at_ns) / MS);
}

/* Counts of outcomes, so that a world in which nothing happens is noticed. */
static struct tally {
	uint64_t done, diverged, stopped, lost_before, moves, lost, left, came, none_came;
} tally;

/* Nobody sees that members were lost, left and came. */
static void check_members(const struct run *run)
{
	/* before the first step all must come; later at least one */
	bool none_came =
		run->link.ends[0].kind == STOP_MISSING && (!run->rounds || strstr(run->error.text, "none present"));
	tally.none_came += none_came;
	check(is_whole(run) || none_came, "in round %u with %u secondaries, after step %" PRIu64 ": %s", run->rounds,
		run->secondaries, run->steps, run->error.text);
	check(!run->twice, "a step was told twice, or not at all");
}

static void check_run(const struct run *run)
{
	const struct tale *tale = run->tale;
	bool done = run->link.ends[0].kind == STOP_DONE, failed_it = run->link.ends[0].kind == STOP_FAILED;
	check_state(run);
	if (run->goes_on) {
		check_members(run);
		return;
	}
	for (uint32_t node = 0; node <= run->secondaries; node++)
		if (counts(run, node))
			check(run->link.ends[node].kind, "node %u has no end", node);
	check_steps(run);
	check(!done || (!run->status && run->steps == STEPS), "done after %" PRIu64 " steps", run->steps);
	check(!failed_it || (tale->status && is_whole(run)), "failed: %s", run->error.text);
	check(run->alarmed == (run->status != TROUPE_OK), "stopped: %d, and it ended with %d", run->alarmed,
		(int)run->status);
	bool harmless = !run->link.fault_count || hit_by(run, SIM_SLOW);
	check(!harmless || is_whole(run), "not done: %s", run->error.text);
	check_time(run);
}

static const char *const kinds[] = {"kill", "freeze", "hang", "cut", "leave", "rubbish", "slow", "ask", "nothing"};
_Static_assert(ARRAY_LEN(kinds) == SIM_FAULT_KINDS + 1, "one name for each fault");

static void print_run(const struct run *run)
{
	const struct sim_fault *fault = &run->link.faults[0];
	printf("%u secondaries, delay to %" PRIu64 " ms, work to %" PRIu64 " ms; %s of node %u at %" PRIu64
	       " ms for %" PRIu64 " ms; step %" PRIu64 " of %" PRIu64 " in %" PRIu64 " ms: %s\n",
		run->secondaries, run->link.delay_ns / MS, run->link.work_ns / MS,
		kinds[run->link.fault_count ? fault->kind : SIM_FAULT_KINDS], fault->node, fault->at_ns / MS,
		fault->ns / MS, run->steps, run->tale->steps, run->link.now_ns / MS,
		run->status ? run->error.text : "done");
	for (uint32_t node = 0; node <= run->secondaries; node++)
		printf("node %u: kind %d, step %" PRIu64 ": %s: %s\n", node, (int)run->link.ends[node].kind,
			run->link.ends[node].next_step, run->link.ends[node].who, run->link.ends[node].why);
}

static void count_run(const struct run *run)
{
	tally.done += !run->status;
	tally.diverged += run->status == TROUPE_EDIVERGED;
	tally.stopped += run->status && run->status != TROUPE_EDIVERGED && run->link.began;
	tally.lost_before += !run->link.began;
	tally.moves += run->moves;
	tally.lost += run->lost;
	tally.left += run->left;
	tally.came += run->came;
}

static void check_tally(uint64_t runs)
{
	check(tally.done >= runs / 8 && tally.stopped >= runs / 8, "%" PRIu64 " done, %" PRIu64 " stopped", tally.done,
		tally.stopped);
	check(tally.diverged && tally.lost_before && tally.moves >= runs,
		"%" PRIu64 " diverged, %" PRIu64 " ended before the start, %" PRIu64 " moves", tally.diverged,
		tally.lost_before, tally.moves);
	check(tally.none_came <= runs / 10, "%" PRIu64 " did not begin, or had no secondary left", tally.none_came);
	check(tally.lost >= runs / 4 && tally.left >= runs / 20 && tally.came >= runs / 8,
		"%" PRIu64 " lost, %" PRIu64 " left, %" PRIu64 " came", tally.lost, tally.left, tally.came);
	printf("%" PRIu64 " secondaries were lost, %" PRIu64 " left, and %" PRIu64 " came while the world ran\n",
		tally.lost, tally.left, tally.came);
}

/* Takes each run twice: the outcome must be the same, however threads are scheduled. */
static void test_seed(uint64_t seed, bool print)
{
	static struct run run, again;
	alarm(HANG_S);
	snprintf(check_where, sizeof check_where, "TROUPE_TEST_SEED=%" PRIu64 ": ", seed);
	make_plot(&run, seed);
	play(&run);
	check_run(&run);
	count_run(&run);
	if (print)
		print_run(&run);
	if (!print && seed % 4)
		return;
	make_plot(&again, seed);
	play(&again);
	check(again.rounds == run.rounds, "%u rounds the second time, %u the first", again.rounds, run.rounds);
	check(again.hash == run.hash && again.steps == run.steps && again.link.now_ns == run.link.now_ns &&
			!memcmp(again.link.ends, run.link.ends, sizeof run.link.ends),
		"another end the second time: after %" PRIu64 " and %" PRIu64 " ns", run.link.now_ns,
		again.link.now_ns);
}

/* Virtual time that goes on for ever is reported as a failure. */
static void too_long(int number)
{
	(void)number;
	(void)!write(STDOUT_FILENO, check_where, strlen(check_where));
	(void)!write(STDOUT_FILENO, "it does not end\n", 16);
	_exit(1);
}

int main(void)
{
	const char *only = getenv("TROUPE_TEST_SEED"), *rounds = getenv("TROUPE_TEST_ROUNDS");
	uint64_t runs = rounds ? strtoull(rounds, NULL, 10) : amount_of_four(300, 1000, 3000, 5000);
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGALRM, too_long);
	if (only) {
		test_seed(strtoull(only, NULL, 10), true);
		runs = 0;
	}
	for (uint64_t seed = 1; seed <= runs && failed < 20; seed++)
		test_seed(seed, false);
	if (runs >= 100)
		check_tally(runs);
	return check_totals();
}
