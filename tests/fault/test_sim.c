/* The protocol in a simulated network, thousands of times: delays, slow runners, and somebody who dies, freezes, hangs,
 * is cut off, leaves or sends rubbish, at any phase of it. Each run ends with the right result, or with every runner
 * stopped, for a reason, within the time that is promised, and with the same last step reported, whose state is right.
 * TROUPE_TEST_SEED=N: only that run, twice, and what came of it. */
#include "check.h"

#include "base/hash.h"
#include "base/pack.h"
#include "net/sim.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)
enum { SECONDARIES_MAX = 4, STEPS = 30 };

/* --- a simulation of next to nothing ------------------------------------------------------------------------------ */

/* The state is a number; each secondary makes one of it, and the primary makes the next state of all theirs. */

static uint64_t work_of(uint64_t state, uint32_t secondary)
{
	return hash_mix(state, secondary + 1000);
}

static uint64_t merge(uint64_t state, uint64_t answer)
{
	return hash_mix(state + 1, answer);
}

static uint64_t state_after(uint32_t secondaries, uint64_t steps)
{
	uint64_t state = 7;
	for (uint64_t k = 0; k < steps; k++) {
		uint64_t next = state;
		for (uint32_t i = 0; i < secondaries; i++)
			next = merge(next, work_of(state, i));
		state = next;
	}
	return state;
}

struct letter {
	uint64_t number, value;
};

struct run {
	struct sim_link link;
	struct transport_options options;
	struct transport *transport;
	uint64_t state, turns; /* the primary's */
	bool gave_up;
	int alarms;
	struct letter step;                     /* that is out */
	struct letter steps[SECONDARIES_MAX];   /* decoded, each by its secondary */
	struct letter answers[SECONDARIES_MAX]; /* each its secondary's */
	struct letter acks[SECONDARIES_MAX];    /* decoded */
	uint64_t got[SECONDARIES_MAX];          /* steps, each */
};

static void encode(const struct letter *letter, struct text *out)
{
	pack_u64(out, letter->number);
	pack_u64(out, letter->value);
	pack_u64(out, hash_mix(letter->number, letter->value));
}

static troupe_status decode(const char *bytes, size_t count, struct letter *ret, struct transport_message *ret_message,
	struct troupe_error *error)
{
	struct unpack in = {bytes, bytes + count, false};
	struct letter letter;
	letter.number = unpack_u64(&in);
	letter.value = unpack_u64(&in);
	if (unpack_u64(&in) != hash_mix(letter.number, letter.value) || in.bad || in.at != in.end)
		return fail(error, TROUPE_EPROTOCOL, "a letter that is not valid");
	*ret = letter;
	*ret_message = (struct transport_message){letter.number, ret};
	return TROUPE_OK;
}

static void encode_step(void *ctx, uint32_t secondary, const void *payload, struct text *out)
{
	(void)ctx;
	(void)secondary;
	encode(payload, out);
}

static troupe_status decode_step(void *ctx, uint32_t secondary, const char *bytes, size_t count,
	struct transport_message *ret_step, struct troupe_error *error)
{
	struct run *run = ctx;
	return decode(bytes, count, &run->steps[secondary], ret_step, error);
}

static void encode_ack(void *ctx, uint32_t secondary, const void *payload, struct text *out)
{
	(void)ctx;
	(void)secondary;
	encode(payload, out);
}

static troupe_status decode_ack(void *ctx, uint32_t secondary, const char *bytes, size_t count,
	struct transport_message *ret_ack, struct troupe_error *error)
{
	struct run *run = ctx;
	return decode(bytes, count, &run->acks[secondary], ret_ack, error);
}

static void publish(struct run *run)
{
	run->step = (struct letter){run->turns, run->state};
	if (transport_sim.publish(run->transport, (struct transport_message){run->turns, &run->step}))
		transport_sim.close(run->transport);
}

static void all_acked(void *ctx)
{
	struct run *run = ctx;
	uint64_t next = run->state;
	for (uint32_t i = 0; i < run->options.secondaries; i++) {
		struct transport_message ack = transport_sim.ack_of(run->transport, i);
		const struct letter *letter = ack.payload;
		if (ack.number != run->turns || letter->number != run->turns)
			check(false, "an ack of step %" PRIu64 " in step %" PRIu64, ack.number, run->turns);
		next = merge(next, letter->value);
	}
	run->state = next;
	if (++run->turns < STEPS)
		publish(run);
	else
		transport_sim.close(run->transport);
}

static void gave_up(void *ctx)
{
	struct run *run = ctx;
	run->gave_up = true;
	transport_sim.close(run->transport);
}

static void alarm_rings(void *ctx)
{
	struct run *run = ctx;
	run->alarms++;
}

struct worker {
	struct run *run;
	uint32_t index;
};

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct run *run = worker->run;
	struct transport_message step;
	while (!transport_sim.wait(run->transport, worker->index, &step)) {
		const struct letter *letter = step.payload;
		run->answers[worker->index] = (struct letter){step.number, work_of(letter->value, worker->index)};
		run->got[worker->index]++;
		if (transport_sim.ack(run->transport, worker->index,
			    (struct transport_message){step.number, &run->answers[worker->index]}))
			break;
	}
	return NULL;
}

static void play(struct run *run)
{
	const struct transport_codec codec = {encode_step, decode_step, encode_ack, decode_ack, .ctx = run};
	pthread_t threads[SECONDARIES_MAX];
	struct worker workers[SECONDARIES_MAX];
	run->options = (struct transport_options){.secondaries = run->options.secondaries,
		.all_acked = all_acked,
		.alarm = alarm_rings,
		.gave_up = gave_up,
		.ctx = run,
		.codec = &codec,
		.link = &run->link};
	run->state = 7;
	if (transport_sim.create(&run->options, &run->transport, NULL))
		abort();
	publish(run);
	for (uint32_t i = 0; i < run->options.secondaries; i++) {
		workers[i] = (struct worker){run, i};
		if (pthread_create(&threads[i], NULL, work, &workers[i]))
			abort();
	}
	for (uint32_t i = 0; i < run->options.secondaries; i++)
		pthread_join(threads[i], NULL);
	transport_sim.destroy(run->transport);
}

/* --- plots -------------------------------------------------------------------------------------------------------- */

static uint64_t below(uint64_t *state, uint64_t limit)
{
	*state = hash_mix(*state, 0x9e3779b97f4a7c15u);
	return *state % limit;
}

static void make_plot(struct run *run, uint64_t seed)
{
	uint64_t state = seed;
	memset(run, 0, sizeof *run);
	run->options.secondaries = 1 + (uint32_t)below(&state, SECONDARIES_MAX);
	run->link.seed = below(&state, UINT64_MAX);
	run->link.delay_ns = below(&state, 20) * MS;
	run->link.work_ns = below(&state, 10) * MS;
	run->link.step_ns = 800 * MS;
	run->link.wait_ns = 5000 * MS;
	run->link.fault_count = below(&state, 8) ? 1 : 0;
	struct sim_fault *fault = &run->link.faults[0];
	fault->kind = (enum sim_fault_kind)below(&state, SIM_FAULT_KINDS);
	fault->node = (uint32_t)below(&state, run->options.secondaries + 1);
	/* as often in the start as in the run */
	fault->at_ns = below(&state, below(&state, 2) ? 5 * run->link.delay_ns + 1 : 1000 * MS);
	fault->ns = below(&state, 2) ? below(&state, 700) * MS : 5000 * MS;
	if (fault->kind == SIM_SLOW)
		fault->ns %= 300 * MS;
}

/* Whether this one's end counts: of those who live, and were there to hear. */
static bool counts(const struct run *run, uint32_t node)
{
	const struct sim_fault *fault = &run->link.faults[0];
	bool hit = run->link.fault_count && (fault->node == node || (fault->kind == SIM_CUT && !fault->node));
	return !(hit && (fault->kind == SIM_KILL || (fault->kind == SIM_LEAVE && node)));
}

static void check_steps(const struct run *run)
{
	const struct sim_fault *fault = &run->link.faults[0];
	uint64_t least = UINT64_MAX, most = 0;
	for (uint32_t node = 0; node <= run->options.secondaries; node++) {
		if (!counts(run, node) || run->link.ends[node].kind == STOP_REFUSED)
			continue;
		least = MIN(least, run->link.ends[node].next_step);
		most = MAX(most, run->link.ends[node].next_step);
	}
	/* who is not told, because the primary is gone or does not reach it, knows of the step that it has; and a bit
	 * may be another in the very number */
	bool told = !run->link.fault_count || (fault->kind != SIM_CUT && fault->kind != SIM_RUBBISH && fault->node);
	if (run->link.began && least <= most)
		check(most - least <= (told || fault->kind == SIM_LEAVE ? 0u : 1u) ||
				(run->link.fault_count && fault->kind == SIM_RUBBISH),
			"last steps %" PRIu64 " to %" PRIu64, least, most);
	if (counts(run, 0))
		check(run->link.ends[0].next_step == run->turns, "the primary says %" PRIu64 ", and has done %" PRIu64,
			run->link.ends[0].next_step, run->turns);
}

static void check_run(const struct run *run)
{
	const struct sim_fault *fault = &run->link.faults[0];
	bool done = run->link.ends[0].kind == STOP_DONE;
	check(run->state == state_after(run->options.secondaries, run->turns), "after %" PRIu64 " steps another state",
		run->turns);
	for (uint32_t node = 0; node <= run->options.secondaries; node++)
		if (counts(run, node))
			check(run->link.ends[node].kind, "node %u has no end", node);
	check_steps(run);
	check(!done || run->turns == STEPS, "done after %" PRIu64 " steps", run->turns);
	check(run->alarms == (done || (run->turns == STEPS && !run->gave_up) ? run->alarms : 1), "%d alarms",
		run->alarms);
	bool harmless = !run->link.fault_count || fault->kind == SIM_SLOW;
	check(!harmless || done, "not done: %s: %s", run->link.ends[0].who, run->link.ends[0].why);
	/* the stale time and a second; a bit may have made of it another time. One who slept hears when it wakes. */
	bool missed = false; /* the start: it waits for a primary again */
	for (uint32_t node = 1; node <= run->options.secondaries; node++)
		missed |= run->link.ends[node].kind == STOP_MISSING;
	if (run->link.began && !done && !missed && fault->kind != SIM_RUBBISH && fault->kind != SIM_FREEZE &&
		fault->kind != SIM_SLOW)
		check(run->link.now_ns <= fault->at_ns + 2000 * MS, "it ends %" PRIu64 " ms after the fault",
			(run->link.now_ns - fault->at_ns) / MS);
}

static const char *const kinds[] = {"kill", "freeze", "hang", "cut", "leave", "rubbish", "slow", "nothing"};
_Static_assert(ARRAY_LEN(kinds) == SIM_FAULT_KINDS + 1, "a name for each fault");

static void print_run(const struct run *run)
{
	const struct sim_fault *fault = &run->link.faults[0];
	printf("%u secondaries, delay to %" PRIu64 " ms, work to %" PRIu64 " ms; %s of node %u at %" PRIu64
	       " ms for %" PRIu64 " ms; %" PRIu64 " steps in %" PRIu64 " ms\n",
		run->options.secondaries, run->link.delay_ns / MS, run->link.work_ns / MS,
		kinds[run->link.fault_count ? fault->kind : SIM_FAULT_KINDS], fault->node, fault->at_ns / MS,
		fault->ns / MS, run->turns, run->link.now_ns / MS);
	for (uint32_t node = 0; node <= run->options.secondaries; node++)
		printf("node %u: kind %d, step %" PRIu64 ": %s: %s\n", node, (int)run->link.ends[node].kind,
			run->link.ends[node].next_step, run->link.ends[node].who, run->link.ends[node].why);
}

/* Twice: the same must come of it, however threads are scheduled. */
static void test_seed(uint64_t seed, bool print)
{
	static struct run run, again;
	snprintf(check_where, sizeof check_where, "TROUPE_TEST_SEED=%" PRIu64 ": ", seed);
	make_plot(&run, seed);
	play(&run);
	check_run(&run);
	if (print)
		print_run(&run);
	if (!print && seed % 4)
		return;
	make_plot(&again, seed);
	play(&again);
	check(again.state == run.state && again.link.now_ns == run.link.now_ns &&
			!memcmp(again.link.ends, run.link.ends, sizeof run.link.ends),
		"another end the second time: after %" PRIu64 " and %" PRIu64 " ns", run.link.now_ns,
		again.link.now_ns);
}

int main(void)
{
	const char *only = getenv("TROUPE_TEST_SEED");
	uint64_t runs = getenv("TROUPE_TEST_QUICK") ? 500 : 3000;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (only) {
		test_seed(strtoull(only, NULL, 10), true);
		runs = 0;
	}
	for (uint64_t seed = 1; seed <= runs && failed < 20; seed++)
		test_seed(seed, false);
	printf("%d passed, %d failed\n", passed, failed);
	return failed > 0;
}
