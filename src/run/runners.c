/* Hands each step to all secondaries and collects their acks, with as few thread changes as possible.
 *
 * The primaries have no thread of their own: the secondary that acknowledges last, over all worlds, does the primaries'
 * part on its thread and publishes the next step. The counter `outstanding` decides which secondary that is. So the
 * primaries' part runs on one thread at a time, and publishing the last world's step passes it on. Without threads, one
 * loop on the caller's thread does both parts.
 *
 * A step in the order of its calls: runners_decide_and_send() has each primary decide a step and publishes it;
 * runners_step_and_ack() takes it on a secondary's thread; the last ack calls runners_on_all_acked(), where
 * runners_merge() makes the result the present state, and the next step is decided. */
#include "run/runners.h"

#include "base/clock.h"
#include "base/eventcount.h"
#include "base/hash.h"
#include "run/primary_internal.h"
#include "run/turn.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CHAOS_STEPS = 16 }; /* steps between changes of the number of secondaries, under chaos */
#define WATCH_NS 100000000u
#define SEIZE_LOOK_NS 1000000u
#define RUNNERS_NAP_NS 20000000u /* idle runners look for commands this often */

struct runner {
	struct runners *runners;
	struct runner_set *set;
	uint32_t index;
	pthread_t thread;
	struct secondary *secondary;
};

struct runner_set { /* of one world */
	struct runners_world world;
	struct runners *runners;
	struct transport *transport;
	uint32_t active; /* secondaries that take part in the step that is out */
	uint32_t first;  /* first member with a thread; the members before it run on the thread of runners_run() */
	uint32_t count;  /* members that run here */
	struct runner *members;
	struct secondary **peers; /* [count] the members' secondaries, by number */
	uint32_t spins;
	struct ack **acks;
	bool out;         /* a step is out; written between steps */
	bool has_helpers; /* of a single runner */
};

struct runners {
	struct runners_callbacks callbacks;
	const struct transport_ops *ops;
	struct runner_set *sets;
	uint32_t set_count;
	struct eventcount idle; /* advanced when all primaries have ended */
	bool tuned;             /* there is one world, and tune decides how many secondaries work */
	struct tune tune;
	struct eventcount ready;      /* advanced by each member once it can step */
	uint64_t serial_ns, slept_ns; /* so far; slept_ns: by the primaries */
	uint64_t decided_ns;          /* when the decision of the step that is out began; only if tuned */
	uint64_t watched_ns;          /* last call of on_watch */
	pthread_t caller;             /* of runners_run() */
	uint64_t stepped_ns;          /* when the last secondary ended the step before; 0: not to be counted */
	/* Sets whose step is not acknowledged yet. The thread that brings it to zero does the primaries' part. The
	 * decrement is acquire-release, so that this thread sees the acks of the other sets. */
	_Alignas(64) _Atomic uint32_t outstanding;
	struct turn turn;
	_Atomic bool watching; /* in on_watch() */
};

/* --- the primaries' part ------------------------------------------------------------------------------------------ */

static bool runners_all_idle(const struct runners *runners)
{
	bool some = false;
	for (uint32_t i = 0; i < runners->set_count; i++) {
		const struct primary *primary = runners->sets[i].world.primary;
		if (!primary->ended && !primary_is_idle(primary))
			return false;
		some |= !primary->ended;
	}
	return some;
}

/* A primary that failed ends all: no world goes on beside a world that is wrong. */
static bool runners_end_together(struct runners *runners)
{
	bool failed = false;
	for (uint32_t i = 0; i < runners->set_count; i++)
		failed |= runners->sets[i].world.primary->status != TROUPE_OK;
	for (uint32_t i = 0; failed && i < runners->set_count; i++)
		atomic_store(&runners->sets[i].world.primary->stop, true);
	return failed;
}

/* Serial time lasts from the last end of the step before to the first begin of this step. Both are clock reads that
 * secondaries make anyway. */
static void runners_count_serial(struct runners *runners)
{
	uint64_t begin_ns = UINT64_MAX, end_ns = 0, slept_ns = 0;
	for (uint32_t i = 0; i < runners->set_count; i++) {
		const struct runner_set *set = &runners->sets[i];
		slept_ns += set->world.primary->slept_ns;
		for (uint32_t a = 0; set->out && a < MAX(MIN(set->count, set->active), 1u); a++) {
			begin_ns = MIN(begin_ns, set->acks[a]->begin_ns);
			end_ns = MAX(end_ns, set->acks[a]->end_ns);
		}
	}
	if (runners->stepped_ns)
		runners->serial_ns += begin_ns - runners->stepped_ns - (slept_ns - runners->slept_ns);
	runners->stepped_ns = end_ns;
	runners->slept_ns = slept_ns;
}

/* A paused step says nothing about the cost of steps. Under chaos the number of secondaries is random. */
static void runners_tune_worlds(struct runners *runners)
{
	struct primary *primary = runners->sets[0].world.primary;
	const struct primary_options *options = &primary->options;
	if (!runners->tuned || primary->step.paused)
		return;
	if (!options->chaos)
		primary_use(
			primary, tune_step(&runners->tune, clock_now_ns() - runners->decided_ns, primary->step.window));
	else if (primary->step.number % CHAOS_STEPS == 0)
		primary_use(primary,
			(uint32_t)(hash_mix(options->chaos_seed, primary->step.number) % options->secondaries) + 1);
}

/* All worlds advance or none does, so that the states saved after a failure are of one step. */
static void runners_merge(struct runners *runners)
{
	uint64_t steps = 0;
	bool good = true, proven = true, taken[SDF_WORLDS_MAX];
	runners_count_serial(runners);
	runners_tune_worlds(runners);
	for (uint32_t i = 0; i < runners->set_count; i++) {
		struct runner_set *set = &runners->sets[i];
		taken[i] = set->out && primary_check_acks(set->world.primary, set->acks);
		good = good && taken[i] == set->out;
		proven = (!taken[i] || primary_prove(set->world.primary, set->acks)) && proven;
	}
	for (uint32_t i = 0; i < runners->set_count; i++) {
		struct runner_set *set = &runners->sets[i];
		if (taken[i] && good && proven)
			primary_advance(set->world.primary, set->acks);
		else if (taken[i] && good)
			primary_refute(set->world.primary);
		else if (taken[i])
			primary_roll_back(set->world.primary);
		set->out = false;
		steps = MAX(steps, set->world.primary->lockstep.number);
	}
	if (!runners_end_together(runners) && runners->callbacks.on_merged && proven)
		runners->callbacks.on_merged(runners->callbacks.ctx, steps);
}

/* The flag is set before the turn is read, and a thread that seizes the runners does the reverse: so either it waits
 * for the end of the call, or there is no call. */
static void runners_call_watch(struct runners *runners)
{
	atomic_store(&runners->watching, true);
	if (runners->callbacks.on_watch && turn_at(&runners->turn) != TURN_SEIZED)
		runners->callbacks.on_watch(runners->callbacks.ctx);
	atomic_store(&runners->watching, false);
}

/* now_ns: a recent clock read. */
static void runners_watch_when_due(struct runners *runners, uint64_t now_ns)
{
	if (now_ns - runners->watched_ns < WATCH_NS)
		return;
	runners->watched_ns = now_ns;
	runners_call_watch(runners);
}

/* Worlds take windows of the same length: the least that any of them proposes, of those that go on. */
static uint32_t runners_propose(struct runners *runners, uint32_t *ret_proposed)
{
	uint32_t expected = UINT32_MAX, least = UINT32_MAX;
	for (uint32_t i = 0; runners->set_count > 1 && i < runners->set_count; i++)
		expected = MIN(expected, primary_expects(runners->sets[i].world.primary));
	for (uint32_t i = 0; i < runners->set_count; i++) {
		ret_proposed[i] = primary_propose(runners->sets[i].world.primary, expected, &runners->decided_ns);
		least = ret_proposed[i] ? MIN(least, ret_proposed[i]) : least;
	}
	return least;
}

/* steps[i] is NULL for a set that has ended. False: all sets have ended. */
static bool runners_decide(struct runners *runners, const struct step **steps)
{
	bool some = false;
	while (runners_all_idle(runners)) {
		uint32_t seen = runners->callbacks.woken ? eventcount_read(runners->callbacks.woken) : 0;
		if (runners->callbacks.on_idle)
			runners->callbacks.on_idle(runners->callbacks.ctx);
		if (runners_all_idle(runners) && runners->callbacks.woken)
			(void)eventcount_await(runners->callbacks.woken, seen, 0, RUNNERS_NAP_NS);
		if (pthread_equal(pthread_self(), runners->caller)) /* another thread's caller watches meanwhile */
			runners_watch_when_due(runners, clock_now_ns());
		runners->stepped_ns = 0;
	}
	if (runners->callbacks.on_turn) {
		runners->callbacks.on_turn(runners->callbacks.ctx);
		(void)runners_end_together(runners);
	}
	uint32_t proposed[SDF_WORLDS_MAX];
	const uint32_t least = runners_propose(runners, proposed);
	for (uint32_t i = 0; i < runners->set_count; i++) {
		steps[i] = primary_decide(runners->sets[i].world.primary, MIN(proposed[i], least));
		runners->sets[i].out = steps[i] != NULL;
		some |= runners->sets[i].out;
	}
	(void)runners_end_together(runners);
	return some;
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

/* The message lends the step as it is; const ends at the transport, which only carries it. */
static troupe_status runners_send(struct runner_set *set, const struct step *step)
{
	void *payload;
	memcpy(&payload, &step, sizeof payload);
	uint32_t active = primary_taking_part(set->world.primary);
	if (active != set->active)
		set->runners->ops->resize(set->transport, active);
	set->active = active;
	troupe_status status = set->runners->ops->publish(
		set->transport, (struct transport_message){step->number, payload, step->window - 1});
	if (status)
		set->world.primary->status = fail(&set->world.primary->error, status,
			"transport '%s' refused step %llu", set->runners->ops->name, (unsigned long long)step->number);
	return status;
}

/* Makes runners_run() return. */
static void runners_end_run(struct runners *runners)
{
	eventcount_advance(&runners->idle);
	if (runners->ops->release)
		runners->ops->release(runners->sets[0].transport);
}

/* Once the last step is sent, another thread may do the primaries' part: do not touch the runners after that. */
static void runners_decide_and_send(struct runners *runners)
{
	const struct step *steps[SDF_WORLDS_MAX];
	struct runner_set *going[SDF_WORLDS_MAX];
	uint32_t count = 0;
	(void)runners_decide(runners, steps);
	for (uint32_t i = 0; i < runners->set_count; i++)
		if (runners->sets[i].out) {
			steps[count] = steps[i];
			going[count++] = &runners->sets[i];
		}
	atomic_store(&runners->outstanding, count); /* before any step can be acknowledged */
	if (count)
		turn_set(&runners->turn, TURN_STEPS);
	bool refused = false;
	for (uint32_t i = 0; i < count; i++)
		refused |= runners_send(going[i], steps[i]) != TROUPE_OK;
	if (!count || refused)
		runners_end_run(runners);
}

/* Runs on the thread of the secondary that acknowledged last. */
static void runners_on_all_acked(void *ctx)
{
	struct runner_set *set = ctx;
	struct runners *runners = set->runners;
	for (uint32_t i = 0; i < set->active; i++)
		set->acks[i] = runners->ops->ack_of(set->transport, i).payload;
	if (atomic_fetch_sub_explicit(&runners->outstanding, 1, memory_order_acq_rel) != 1)
		return;
	turn_set(&runners->turn, TURN_BUSY);
	if (runners->callbacks.on_acked)
		runners->callbacks.on_acked(runners->callbacks.ctx);
	runners_merge(runners);
	runners_decide_and_send(runners);
}

/* Stops whatever the primary's part waits for; runners_run() then asks for the reason, or its caller does. */
static void runners_on_alarm(void *ctx)
{
	struct runner_set *set = ctx;
	atomic_store(&set->world.primary->stop, true);
}

static void runners_on_gave_up(void *ctx)
{
	struct runner_set *set = ctx;
	runners_end_run(set->runners);
}

static void runners_make_secondary(struct runner *runner)
{
	struct runner_set *set = runner->set;
	runner->secondary = secondary_create(runner->index + 1, set->world.shared);
	set->peers[runner->index] = runner->secondary;
	if (set->world.threads > 1)
		secondary_set_peers(runner->secondary, set->peers, set->spins);
}

static void runners_step_and_ack(struct runner *runner, struct transport_message message)
{
	struct ack *ack = secondary_step(runner->secondary, message.payload);
	runner->runners->ops->ack(runner->set->transport, runner->index,
		(struct transport_message){.number = message.number, .payload = ack});
}

static void *runners_work(void *arg)
{
	struct runner *runner = arg;
	struct runners *runners = runner->runners;
	struct transport_message message;
	runners_make_secondary(runner);
	eventcount_advance(&runners->ready);
	while (runners->ops->wait(runner->set->transport, runner->index, &message) == TROUPE_OK)
		runners_step_and_ack(runner, message);
	secondary_destroy(runner->secondary);
	return NULL;
}

/* The first member of the first set steps on the thread that calls runners_run(), which would only wait. So a single
 * secondary needs no hand-over, and several secondaries need one thread less. */
static troupe_status runners_start_threads(struct runner_set *set, struct troupe_error *error)
{
	set->first = set->runners->ops->wait_for && set == set->runners->sets;
	for (uint32_t i = 0; i < set->world.threads; i++) {
		set->members[i] = (struct runner){.runners = set->runners, .set = set, .index = i};
		if (i < set->first) {
			runners_make_secondary(&set->members[i]);
			set->count++;
			continue;
		}
		int failed = pthread_create(&set->members[i].thread, NULL, runners_work, &set->members[i]);
		mem_check_thread(failed);
		if (failed)
			return fail(error, TROUPE_ELIMIT, "cannot start thread %u of the secondaries: %s", i + 1,
				strerror(failed));
		set->count++;
	}
	return TROUPE_OK;
}

static void runners_wait_until_ready(struct runners *runners)
{
	uint32_t threads = 0;
	for (uint32_t i = 0; i < runners->set_count; i++)
		threads += runners->sets[i].count - runners->sets[i].first;
	for (uint32_t seen = 0; seen < threads;)
		seen = eventcount_await(&runners->ready, seen, 0, 0);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static troupe_status runners_start_set(struct runner_set *set, uint32_t all_threads, struct troupe_error *error)
{
	uint32_t room = MAX(set->world.threads, 1u);
	set->members = mem_alloc(room * sizeof *set->members);
	set->acks = mem_alloc(room * sizeof *set->acks);
	set->peers = mem_alloc(room * sizeof *set->peers);
	set->spins = eventcount_spins(all_threads);
	if (!set->world.threads) {
		set->members[0].secondary = secondary_create(1, set->world.shared);
		return TROUPE_OK;
	}
	struct transport_options options = {
		.secondaries = set->world.threads,
		.threads = all_threads,
		.all_acked = runners_on_all_acked,
		.alarm = runners_on_alarm,
		.asked = runners_on_alarm,
		.gave_up = runners_on_gave_up,
		.ctx = set,
		.codec = set->world.codec,
		.link = set->world.link,
	};
	set->active = set->world.threads;
	troupe_status status = set->runners->ops->create(&options, &set->transport, error);
	return status || set->runners->ops->remote ? status : runners_start_threads(set, error);
}

static void runners_set_up_tuning(struct runners *runners)
{
	const struct runners_world *world = &runners->sets[0].world;
	runners->tuned = runners->set_count == 1 && world->first && world->threads > 1;
	if (!runners->tuned)
		return;
	tune_init(&runners->tune, world->threads, MIN(world->first, world->threads),
		(uint64_t)world->shared->scene->model_count * PLACEMENT_MOVE_NS);
	primary_use(world->primary, runners->tune.chosen);
}

troupe_status runners_create(const struct runners_world *worlds, uint32_t world_count, const struct transport_ops *ops,
	const struct runners_callbacks *callbacks, struct runners **ret_runners, struct troupe_error *error)
{
	struct runners *runners = mem_alloc_lines(sizeof *runners);
	*runners = (struct runners){.callbacks = *callbacks, .ops = ops, .set_count = world_count};
	runners->sets = mem_alloc(world_count * sizeof *runners->sets);
	uint32_t threads = 0;
	for (uint32_t i = 0; i < world_count; i++) {
		runners->sets[i] = (struct runner_set){.world = worlds[i], .runners = runners};
		worlds[i].primary->turn = &runners->turn;
		threads += worlds[i].threads;
	}
	troupe_status status = transport_check(ops, error);
	for (uint32_t i = 0; i < world_count && !status; i++)
		status = runners_start_set(&runners->sets[i], threads, error);
	runners_wait_until_ready(runners);
	if (status) {
		runners_destroy(runners);
		return status;
	}
	runners_set_up_tuning(runners);
	*ret_runners = runners;
	return TROUPE_OK;
}

/* A single runner. If no thread can be started it does all by itself. */
static struct ack *runners_step_alone(struct runner_set *set, const struct step *step)
{
	struct secondary *secondary = set->members[0].secondary;
	struct troupe_error error;
	if (step->share && set->world.helpers && !set->has_helpers)
		(void)secondary_start_helpers(secondary, set->world.helpers, &error);
	set->has_helpers |= step->share;
	return secondary_step(secondary, step);
}

static void runners_run_alone(struct runners *runners)
{
	const struct step *steps[SDF_WORLDS_MAX];
	physics_thread_begin();
	while (runners_decide(runners, steps)) {
		turn_set(&runners->turn, TURN_STEPS);
		for (uint32_t i = 0; i < runners->set_count; i++)
			if (steps[i])
				runners->sets[i].acks[0] = runners_step_alone(&runners->sets[i], steps[i]);
		turn_set(&runners->turn, TURN_BUSY);
		if (runners->callbacks.on_acked)
			runners->callbacks.on_acked(runners->callbacks.ctx);
		runners_merge(runners);
		runners_watch_when_due(runners, runners->stepped_ns);
	}
}

static void runners_run_together(struct runners *runners)
{
	uint32_t seen = eventcount_read(&runners->idle);
	runners_decide_and_send(runners);
	while (eventcount_await(&runners->idle, seen, 0, WATCH_NS) == seen)
		runners_call_watch(runners);
}

/* Like runners_run_together(), but this thread is also the first member. */
static void runners_run_as_member(struct runners *runners)
{
	struct runner *runner = &runners->sets[0].members[0];
	uint32_t seen = eventcount_read(&runners->idle);
	struct transport_message message;
	physics_thread_begin();
	runners_decide_and_send(runners);
	while (eventcount_read(&runners->idle) == seen &&
		runners->ops->wait_for(runner->set->transport, 0, WATCH_NS, &message) == TROUPE_OK) {
		if (message.payload)
			runners_step_and_ack(runner, message);
		runners_watch_when_due(
			runners, message.payload ? secondary_ended_ns(runner->secondary) : clock_now_ns());
	}
}

/* --- steps that do not end ---------------------------------------------------------------------------------------- */

/* Whether the secondaries have done what they do to state k itself: obeyed their commands. Remote ones have states of
 * their own. */
static bool runners_all_have_begun(const struct runners *runners)
{
	bool all = true;
	for (uint32_t i = 0; i < runners->set_count && all; i++) {
		const struct runner_set *set = &runners->sets[i];
		for (uint32_t m = 0; set->out && !runners->ops->remote && m < MAX(MIN(set->count, set->active), 1u);
			m++)
			all &= secondary_has_begun(set->members[m].secondary, set->world.primary->step.number);
	}
	return all;
}

enum runners_seized runners_seize(struct runners *runners, uint32_t ms)
{
	uint64_t until_ns = clock_now_ns() + ms * UINT64_C(1000000);
	enum turn_at from;
	for (uint32_t i = 0; i < runners->set_count; i++)
		atomic_store(&runners->sets[i].world.primary->stop, true);
	while (!turn_seize(&runners->turn, &from)) {
		if (from == TURN_IDLE || clock_now_ns() > until_ns)
			return from == TURN_IDLE ? RUNNERS_IDLE : RUNNERS_STUCK;
		clock_sleep_until_ns(clock_now_ns() + SEIZE_LOOK_NS);
	}
	while ((from == TURN_STEPS && !runners_all_have_begun(runners)) || atomic_load(&runners->watching)) {
		if (clock_now_ns() > until_ns) {
			turn_return(&runners->turn, from);
			return RUNNERS_STUCK;
		}
		clock_sleep_until_ns(clock_now_ns() + SEIZE_LOOK_NS);
	}
	for (uint32_t i = 0; i < runners->set_count; i++)
		primary_give_up(runners->sets[i].world.primary);
	return RUNNERS_SEIZED;
}

void runners_describe(const struct runners *runners, struct text *out)
{
	bool some = false;
	enum turn_at at = turn_at(&runners->turn);
	if (at == TURN_BUSY || at == TURN_UPDATES) {
		text_add(out, at == TURN_BUSY ? "the commands and the clients" : "update() of the plug-ins");
		return;
	}
	for (uint32_t i = 0; i < runners->set_count; i++)
		for (uint32_t m = 0; m < MAX(runners->sets[i].count, 1u) && !runners->ops->remote; m++) {
			const struct secondary *secondary = runners->sets[i].members[m].secondary;
			const char *doing = secondary ? secondary_doing(secondary) : NULL;
			if (!doing)
				continue;
			text_add(out, "%s%s", some ? "; " : "", doing);
			if (runners->sets[i].world.threads > 1)
				text_add(out, " (secondary %u)", m + 1);
			some = true;
		}
	if (!some)
		text_add(out, runners->ops->remote ? "the secondaries" : "the end of a step");
}

static const struct troupe_error *runners_who_is_lost(const struct runner_set *set)
{
	const struct transport_ops *ops = set->runners->ops;
	return set->transport && ops->remote ? ops->lost(set->transport) : NULL;
}

troupe_status runners_run(struct runners *runners, struct troupe_error *error)
{
	runners->stepped_ns = 0;
	runners->caller = pthread_self();
	turn_set(&runners->turn, TURN_BUSY);
	if (runners->callbacks.on_idle)
		runners->callbacks.on_idle(runners->callbacks.ctx);
	if (runners->callbacks.on_watch)
		runners->watched_ns = clock_now_ns();
	if (!runners->sets[0].world.threads)
		runners_run_alone(runners);
	else if (runners->sets[0].first)
		runners_run_as_member(runners);
	else
		runners_run_together(runners);
	turn_set(&runners->turn, TURN_IDLE);
	for (uint32_t i = 0; i < runners->set_count; i++) {
		struct primary *primary = runners->sets[i].world.primary;
		const struct troupe_error *lost = runners_who_is_lost(&runners->sets[i]);
		if (lost && (!primary->status || primary->status == lost->status)) {
			primary->status = lost->status;
			primary->end_ns = clock_now_ns();
			primary->error = *lost;
		}
		if (!primary->status)
			continue;
		if (error)
			*error = primary->error;
		return primary->status;
	}
	return TROUPE_OK;
}

static void runners_stop_set(struct runner_set *set)
{
	if (!set->transport)
		return;
	set->runners->ops->close(set->transport);
	for (uint32_t i = set->first; i < set->count; i++)
		pthread_join(set->members[i].thread, NULL);
	for (uint32_t i = 0; i < MIN(set->first, set->count); i++)
		secondary_destroy(set->members[i].secondary);
}

static void runners_free_set(struct runner_set *set)
{
	if (set->transport)
		set->runners->ops->destroy(set->transport);
	else if (set->members)
		secondary_destroy(set->members[0].secondary);
	free(set->members);
	free(set->peers);
	free(set->acks);
}

/* A thread of one set may still be leaving another set's transport, so all threads end before any transport is
 * destroyed. */
void runners_destroy(struct runners *runners)
{
	if (!runners)
		return;
	for (uint32_t i = 0; i < runners->set_count; i++)
		runners_stop_set(&runners->sets[i]);
	for (uint32_t i = 0; i < runners->set_count; i++) {
		runners->sets[i].world.primary->turn = NULL;
		runners_free_set(&runners->sets[i]);
	}
	free(runners->sets);
	free(runners);
}

bool runners_regroups(struct runners *runners, uint32_t *ret_lost)
{
	return runners->ops->remote && runners->ops->regroups(runners->sets[0].transport, ret_lost);
}

uint32_t runners_leaver_after(struct runners *runners, uint32_t secondary)
{
	struct runner_set *set = &runners->sets[0];
	for (uint32_t i = secondary + 1; runners->ops->remote && i <= set->world.threads; i++)
		if (runners->ops->leaving(set->transport, i))
			return i;
	return 0;
}

void runners_stop(struct runners *runners, enum stop_kind kind, const char *why)
{
	for (uint32_t i = 0; i < runners->set_count; i++)
		runners->ops->stop(runners->sets[i].transport, kind, why);
}

struct transport_counts runners_counts(const struct runners *runners)
{
	struct transport_counts all = {0, 0};
	for (uint32_t i = 0; i < runners->set_count; i++) {
		struct transport_counts one = runners->ops->counts(runners->sets[i].transport);
		all.sent += one.sent;
		all.received += one.received;
	}
	return all;
}

const struct tune *runners_tune(const struct runners *runners)
{
	return runners->tuned ? &runners->tune : NULL;
}

uint64_t runners_serial_ns(const struct runners *runners)
{
	return runners->serial_ns;
}

struct secondary_slices runners_slices(const struct runners *runners, uint32_t world, uint32_t secondary)
{
	return secondary_slices(runners->sets[world].members[secondary].secondary);
}

struct physics_stats runners_physics_stats(const struct runners *runners, uint32_t world, uint32_t secondary)
{
	return secondary_physics_stats(runners->sets[world].members[secondary].secondary);
}
