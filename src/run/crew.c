/* Hands each step to all secondaries and collects their acks, with as few thread changes as possible.
 *
 * The primaries have no thread of their own: the secondary that acknowledges last, over all worlds, does the primaries'
 * part on its thread and publishes the next step. The counter `outstanding` decides which secondary that is. So the
 * primaries' part runs on one thread at a time, and publishing the last world's step passes it on. Without threads, one
 * loop on the caller's thread does both parts. */
#include "run/crew.h"

#include "base/clock.h"
#include "base/eventcount.h"
#include "base/hash.h"
#include "run/turn.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CHAOS_STEPS = 16 }; /* steps between changes of the number of secondaries, under chaos */
#define WATCH_NS 100000000u
#define SEIZE_LOOK_NS 1000000u
#define CREW_NAP_NS 20000000u /* an idle crew looks for commands this often */

struct crew_member {
	struct crew *crew;
	struct team *team;
	uint32_t index;
	pthread_t thread;
	struct secondary *secondary;
};

struct team { /* of one world */
	struct crew_world world;
	struct crew *crew;
	struct transport *transport;
	uint32_t active; /* secondaries that take part in the step that is out */
	uint32_t first;  /* first member with a thread; the members before it run on the thread of crew_run() */
	uint32_t count;  /* members that run here */
	struct crew_member *members;
	struct secondary **mates; /* [count] the members' secondaries, by number */
	uint32_t spins;
	struct ack **acks;
	bool out; /* a step is out; written between steps */
};

struct crew {
	struct crew_watch watch;
	const struct transport_ops *ops;
	struct team *teams;
	uint32_t team_count;
	struct eventcount idle; /* advanced when all primaries have ended */
	bool tuned;             /* there is one world, and tune decides how many secondaries work */
	struct tune tune;
	struct eventcount ready;      /* advanced by each member once it can step */
	uint64_t serial_ns, slept_ns; /* so far; slept_ns: by the primaries */
	uint64_t decided_ns;          /* when the decision of the step that is out began; only if tuned */
	uint64_t watched_ns;          /* last call of on_watch */
	pthread_t caller;             /* of crew_run() */
	uint64_t stepped_ns;          /* when the last secondary ended the step before; 0: not to be counted */
	/* Teams whose step is not acknowledged yet. The thread that brings it to zero does the primaries' part. The
	 * decrement is acquire-release, so that this thread sees the acks of the other teams. */
	_Alignas(64) _Atomic uint32_t outstanding;
	struct turn turn;
	_Atomic bool watching; /* in on_watch() */
};

/* --- the primaries' part ------------------------------------------------------------------------------------------ */

static bool crew_all_idle(const struct crew *crew)
{
	bool some = false;
	for (uint32_t i = 0; i < crew->team_count; i++) {
		const struct primary *primary = crew->teams[i].world.primary;
		if (!primary->ended && !primary_is_idle(primary))
			return false;
		some |= !primary->ended;
	}
	return some;
}

/* A primary that failed ends all: no world goes on beside a world that is wrong. */
static bool crew_end_together(struct crew *crew)
{
	bool failed = false;
	for (uint32_t i = 0; i < crew->team_count; i++)
		failed |= crew->teams[i].world.primary->status != TROUPE_OK;
	for (uint32_t i = 0; failed && i < crew->team_count; i++)
		atomic_store(&crew->teams[i].world.primary->stop, true);
	return failed;
}

/* Serial time lasts from the last end of the step before to the first begin of this step. Both are clock reads that
 * secondaries make anyway. */
static void crew_count_serial(struct crew *crew)
{
	uint64_t begin_ns = UINT64_MAX, end_ns = 0, slept_ns = 0;
	for (uint32_t i = 0; i < crew->team_count; i++) {
		const struct team *team = &crew->teams[i];
		slept_ns += team->world.primary->slept_ns;
		for (uint32_t a = 0; team->out && a < MAX(MIN(team->count, team->active), 1u); a++) {
			begin_ns = MIN(begin_ns, team->acks[a]->begin_ns);
			end_ns = MAX(end_ns, team->acks[a]->end_ns);
		}
	}
	if (crew->stepped_ns)
		crew->serial_ns += begin_ns - crew->stepped_ns - (slept_ns - crew->slept_ns);
	crew->stepped_ns = end_ns;
	crew->slept_ns = slept_ns;
}

/* A paused step says nothing about the cost of steps. Under chaos the number of secondaries is random. */
static void crew_tune_worlds(struct crew *crew)
{
	struct primary *primary = crew->teams[0].world.primary;
	const struct primary_options *options = &primary->options;
	if (!crew->tuned || primary->step.paused)
		return;
	if (!options->chaos)
		primary_use(primary, tune_step(&crew->tune, clock_now_ns() - crew->decided_ns, primary->step.window));
	else if (primary->step.number % CHAOS_STEPS == 0)
		primary_use(primary,
			(uint32_t)(hash_mix(options->chaos_seed, primary->step.number) % options->secondaries) + 1);
}

/* All worlds advance or none does, so that the states saved after a failure are of one step. */
static void crew_merge(struct crew *crew)
{
	uint64_t steps = 0;
	bool good = true, proven = true, taken[SDF_WORLDS_MAX];
	crew_count_serial(crew);
	crew_tune_worlds(crew);
	for (uint32_t i = 0; i < crew->team_count; i++) {
		struct team *team = &crew->teams[i];
		taken[i] = team->out && primary_check_acks(team->world.primary, team->acks);
		good = good && taken[i] == team->out;
		proven = (!taken[i] || primary_prove(team->world.primary, team->acks)) && proven;
	}
	for (uint32_t i = 0; i < crew->team_count; i++) {
		struct team *team = &crew->teams[i];
		if (taken[i] && good && proven)
			primary_advance(team->world.primary, team->acks);
		else if (taken[i] && good)
			primary_refute(team->world.primary);
		else if (taken[i])
			primary_roll_back(team->world.primary);
		team->out = false;
		steps = MAX(steps, team->world.primary->lockstep.number);
	}
	if (!crew_end_together(crew) && crew->watch.on_merged && proven)
		crew->watch.on_merged(crew->watch.ctx, steps);
}

/* The flag is set before the turn is read, and a thread that seizes the crew does the reverse: so either it waits for
 * the end of the call, or there is no call. */
static void crew_call_watch(struct crew *crew)
{
	atomic_store(&crew->watching, true);
	if (crew->watch.on_watch && turn_at(&crew->turn) != TURN_SEIZED)
		crew->watch.on_watch(crew->watch.ctx);
	atomic_store(&crew->watching, false);
}

/* now_ns: a recent clock read. */
static void crew_watch_when_due(struct crew *crew, uint64_t now_ns)
{
	if (now_ns - crew->watched_ns < WATCH_NS)
		return;
	crew->watched_ns = now_ns;
	crew_call_watch(crew);
}

/* steps[i] is NULL for a team that has ended. False: all teams have ended. */
static bool crew_decide(struct crew *crew, const struct step **steps)
{
	bool some = false;
	while (crew_all_idle(crew)) {
		uint32_t seen = crew->watch.woken ? eventcount_read(crew->watch.woken) : 0;
		if (crew->watch.on_idle)
			crew->watch.on_idle(crew->watch.ctx);
		if (crew_all_idle(crew) && crew->watch.woken)
			(void)eventcount_await(crew->watch.woken, seen, 0, CREW_NAP_NS);
		if (pthread_equal(pthread_self(), crew->caller)) /* another thread's caller watches meanwhile */
			crew_watch_when_due(crew, clock_now_ns());
		crew->stepped_ns = 0;
	}
	if (crew->watch.on_turn) {
		crew->watch.on_turn(crew->watch.ctx);
		(void)crew_end_together(crew);
	}
	for (uint32_t i = 0; i < crew->team_count; i++) {
		steps[i] = primary_decide(crew->teams[i].world.primary, &crew->decided_ns);
		crew->teams[i].out = steps[i] != NULL;
		some |= crew->teams[i].out;
	}
	(void)crew_end_together(crew);
	return some;
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

/* The message lends the step as it is; const ends at the transport, which only carries it. */
static troupe_status crew_send(struct team *team, const struct step *step)
{
	void *payload;
	memcpy(&payload, &step, sizeof payload);
	uint32_t active = primary_taking_part(team->world.primary);
	if (active != team->active)
		team->crew->ops->resize(team->transport, active);
	team->active = active;
	troupe_status status = team->crew->ops->publish(
		team->transport, (struct transport_message){step->number, payload, step->window - 1});
	if (status)
		team->world.primary->status = fail(&team->world.primary->error, status,
			"transport '%s' refused step %llu", team->crew->ops->name, (unsigned long long)step->number);
	return status;
}

/* Makes crew_run() return. */
static void crew_end_run(struct crew *crew)
{
	eventcount_advance(&crew->idle);
	if (crew->ops->release)
		crew->ops->release(crew->teams[0].transport);
}

/* Once the last step is sent, another thread may do the primaries' part: do not touch the crew after that. */
static void crew_decide_and_send(struct crew *crew)
{
	const struct step *steps[SDF_WORLDS_MAX];
	struct team *going[SDF_WORLDS_MAX];
	uint32_t count = 0;
	(void)crew_decide(crew, steps);
	for (uint32_t i = 0; i < crew->team_count; i++)
		if (crew->teams[i].out) {
			steps[count] = steps[i];
			going[count++] = &crew->teams[i];
		}
	atomic_store(&crew->outstanding, count); /* before any step can be acknowledged */
	if (count)
		turn_set(&crew->turn, TURN_STEPS);
	bool refused = false;
	for (uint32_t i = 0; i < count; i++)
		refused |= crew_send(going[i], steps[i]) != TROUPE_OK;
	if (!count || refused)
		crew_end_run(crew);
}

/* Runs on the thread of the secondary that acknowledged last. */
static void crew_on_all_acked(void *ctx)
{
	struct team *team = ctx;
	struct crew *crew = team->crew;
	for (uint32_t i = 0; i < team->active; i++)
		team->acks[i] = crew->ops->ack_of(team->transport, i).payload;
	if (atomic_fetch_sub_explicit(&crew->outstanding, 1, memory_order_acq_rel) != 1)
		return;
	turn_set(&crew->turn, TURN_BUSY);
	if (crew->watch.on_acked)
		crew->watch.on_acked(crew->watch.ctx);
	crew_merge(crew);
	crew_decide_and_send(crew);
}

/* Stops whatever the primary's part waits for; crew_run() then asks for the reason, or its caller does. */
static void crew_on_alarm(void *ctx)
{
	struct team *team = ctx;
	atomic_store(&team->world.primary->stop, true);
}

static void crew_on_gave_up(void *ctx)
{
	struct team *team = ctx;
	crew_end_run(team->crew);
}

static void crew_enlist(struct crew_member *member)
{
	struct team *team = member->team;
	member->secondary = secondary_create(member->index + 1, team->world.shared);
	team->mates[member->index] = member->secondary;
	if (team->world.threads > 1)
		secondary_join(member->secondary, team->mates, team->spins);
}

static void crew_step_and_ack(struct crew_member *member, struct transport_message message)
{
	struct ack *ack = secondary_step(member->secondary, message.payload);
	member->crew->ops->ack(member->team->transport, member->index,
		(struct transport_message){.number = message.number, .payload = ack});
}

static void *crew_work(void *arg)
{
	struct crew_member *member = arg;
	struct crew *crew = member->crew;
	struct transport_message message;
	crew_enlist(member);
	eventcount_advance(&crew->ready);
	while (crew->ops->wait(member->team->transport, member->index, &message) == TROUPE_OK)
		crew_step_and_ack(member, message);
	secondary_destroy(member->secondary);
	return NULL;
}

/* The first member of the first team steps on the thread that calls crew_run(), which would only wait. So a single
 * secondary needs no hand-over, and several secondaries need one thread less. */
static troupe_status crew_start_threads(struct team *team, struct troupe_error *error)
{
	team->first = team->crew->ops->wait_for && team == team->crew->teams;
	for (uint32_t i = 0; i < team->world.threads; i++) {
		team->members[i] = (struct crew_member){.crew = team->crew, .team = team, .index = i};
		if (i < team->first) {
			crew_enlist(&team->members[i]);
			team->count++;
			continue;
		}
		int failed = pthread_create(&team->members[i].thread, NULL, crew_work, &team->members[i]);
		mem_check_thread(failed);
		if (failed)
			return fail(error, TROUPE_ELIMIT, "cannot start thread %u of the secondaries: %s", i + 1,
				strerror(failed));
		team->count++;
	}
	return TROUPE_OK;
}

static void crew_wait_until_ready(struct crew *crew)
{
	uint32_t threads = 0;
	for (uint32_t i = 0; i < crew->team_count; i++)
		threads += crew->teams[i].count - crew->teams[i].first;
	for (uint32_t seen = 0; seen < threads;)
		seen = eventcount_await(&crew->ready, seen, 0, 0);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static troupe_status crew_start_team(struct team *team, uint32_t all_threads, struct troupe_error *error)
{
	uint32_t room = MAX(team->world.threads, 1u);
	team->members = mem_alloc(room * sizeof *team->members);
	team->acks = mem_alloc(room * sizeof *team->acks);
	team->mates = mem_alloc(room * sizeof *team->mates);
	team->spins = eventcount_spins(all_threads);
	if (!team->world.threads) {
		team->members[0].secondary = secondary_create(1, team->world.shared);
		return TROUPE_OK;
	}
	struct transport_options options = {
		.secondaries = team->world.threads,
		.threads = all_threads,
		.all_acked = crew_on_all_acked,
		.alarm = crew_on_alarm,
		.asked = crew_on_alarm,
		.gave_up = crew_on_gave_up,
		.ctx = team,
		.codec = team->world.codec,
		.link = team->world.link,
	};
	team->active = team->world.threads;
	troupe_status status = team->crew->ops->create(&options, &team->transport, error);
	return status || team->crew->ops->remote ? status : crew_start_threads(team, error);
}

static void crew_set_up_tuning(struct crew *crew)
{
	const struct crew_world *world = &crew->teams[0].world;
	crew->tuned = crew->team_count == 1 && world->first && world->threads > 1;
	if (!crew->tuned)
		return;
	tune_init(&crew->tune, world->threads, MIN(world->first, world->threads),
		(uint64_t)world->shared->scene->model_count * DISPATCH_MOVE_NS);
	primary_use(world->primary, crew->tune.chosen);
}

troupe_status crew_create(const struct crew_world *worlds, uint32_t world_count, const struct transport_ops *ops,
	const struct crew_watch *watch, struct crew **ret_crew, struct troupe_error *error)
{
	struct crew *crew = mem_alloc_lines(sizeof *crew);
	*crew = (struct crew){.watch = *watch, .ops = ops, .team_count = world_count};
	crew->teams = mem_alloc(world_count * sizeof *crew->teams);
	uint32_t threads = 0;
	for (uint32_t i = 0; i < world_count; i++) {
		crew->teams[i] = (struct team){.world = worlds[i], .crew = crew};
		worlds[i].primary->turn = &crew->turn;
		threads += worlds[i].threads;
	}
	troupe_status status = transport_check(ops, error);
	for (uint32_t i = 0; i < world_count && !status; i++)
		status = crew_start_team(&crew->teams[i], threads, error);
	crew_wait_until_ready(crew);
	if (status) {
		crew_destroy(crew);
		return status;
	}
	crew_set_up_tuning(crew);
	*ret_crew = crew;
	return TROUPE_OK;
}

static void crew_run_alone(struct crew *crew)
{
	const struct step *steps[SDF_WORLDS_MAX];
	physics_thread_begin();
	while (crew_decide(crew, steps)) {
		turn_set(&crew->turn, TURN_STEPS);
		for (uint32_t i = 0; i < crew->team_count; i++)
			if (steps[i])
				crew->teams[i].acks[0] = secondary_step(crew->teams[i].members[0].secondary, steps[i]);
		turn_set(&crew->turn, TURN_BUSY);
		if (crew->watch.on_acked)
			crew->watch.on_acked(crew->watch.ctx);
		crew_merge(crew);
		crew_watch_when_due(crew, crew->stepped_ns);
	}
}

static void crew_run_together(struct crew *crew)
{
	uint32_t seen = eventcount_read(&crew->idle);
	crew_decide_and_send(crew);
	while (eventcount_await(&crew->idle, seen, 0, WATCH_NS) == seen)
		crew_call_watch(crew);
}

/* Like crew_run_together(), but this thread is also the first member. */
static void crew_run_as_member(struct crew *crew)
{
	struct crew_member *member = &crew->teams[0].members[0];
	uint32_t seen = eventcount_read(&crew->idle);
	struct transport_message message;
	physics_thread_begin();
	crew_decide_and_send(crew);
	while (eventcount_read(&crew->idle) == seen &&
		crew->ops->wait_for(member->team->transport, 0, WATCH_NS, &message) == TROUPE_OK) {
		if (message.payload)
			crew_step_and_ack(member, message);
		crew_watch_when_due(crew, message.payload ? secondary_ended_ns(member->secondary) : clock_now_ns());
	}
}

/* --- steps that do not end ---------------------------------------------------------------------------------------- */

/* Whether the secondaries have done what they do to state k itself: obeyed their commands. Remote ones have states of
 * their own. */
static bool crew_all_have_begun(const struct crew *crew)
{
	bool all = true;
	for (uint32_t i = 0; i < crew->team_count && all; i++) {
		const struct team *team = &crew->teams[i];
		for (uint32_t m = 0; team->out && !crew->ops->remote && m < MAX(MIN(team->count, team->active), 1u);
			m++)
			all &= secondary_has_begun(team->members[m].secondary, team->world.primary->step.number);
	}
	return all;
}

enum crew_seized crew_seize(struct crew *crew, uint32_t ms)
{
	uint64_t until_ns = clock_now_ns() + ms * UINT64_C(1000000);
	enum turn_at from;
	for (uint32_t i = 0; i < crew->team_count; i++)
		atomic_store(&crew->teams[i].world.primary->stop, true);
	while (!turn_seize(&crew->turn, &from)) {
		if (from == TURN_IDLE || clock_now_ns() > until_ns)
			return from == TURN_IDLE ? CREW_IDLE : CREW_STUCK;
		clock_sleep_until_ns(clock_now_ns() + SEIZE_LOOK_NS);
	}
	while ((from == TURN_STEPS && !crew_all_have_begun(crew)) || atomic_load(&crew->watching)) {
		if (clock_now_ns() > until_ns) {
			turn_return(&crew->turn, from);
			return CREW_STUCK;
		}
		clock_sleep_until_ns(clock_now_ns() + SEIZE_LOOK_NS);
	}
	for (uint32_t i = 0; i < crew->team_count; i++)
		primary_give_up(crew->teams[i].world.primary);
	return CREW_SEIZED;
}

void crew_describe(const struct crew *crew, struct text *out)
{
	bool some = false;
	enum turn_at at = turn_at(&crew->turn);
	if (at == TURN_BUSY || at == TURN_UPDATES) {
		text_add(out, at == TURN_BUSY ? "the commands and the clients" : "update() of the plug-ins");
		return;
	}
	for (uint32_t i = 0; i < crew->team_count; i++)
		for (uint32_t m = 0; m < MAX(crew->teams[i].count, 1u) && !crew->ops->remote; m++) {
			const struct secondary *secondary = crew->teams[i].members[m].secondary;
			const char *doing = secondary ? secondary_doing(secondary) : NULL;
			if (!doing)
				continue;
			text_add(out, "%s%s", some ? "; " : "", doing);
			if (crew->teams[i].world.threads > 1)
				text_add(out, " (secondary %u)", m + 1);
			some = true;
		}
	if (!some)
		text_add(out, crew->ops->remote ? "the secondaries" : "the end of a step");
}

static const struct troupe_error *crew_who_is_lost(const struct team *team)
{
	const struct transport_ops *ops = team->crew->ops;
	return team->transport && ops->remote ? ops->lost(team->transport) : NULL;
}

troupe_status crew_run(struct crew *crew, struct troupe_error *error)
{
	crew->stepped_ns = 0;
	crew->caller = pthread_self();
	turn_set(&crew->turn, TURN_BUSY);
	if (crew->watch.on_idle)
		crew->watch.on_idle(crew->watch.ctx);
	if (crew->watch.on_watch)
		crew->watched_ns = clock_now_ns();
	if (!crew->teams[0].world.threads)
		crew_run_alone(crew);
	else if (crew->teams[0].first)
		crew_run_as_member(crew);
	else
		crew_run_together(crew);
	turn_set(&crew->turn, TURN_IDLE);
	for (uint32_t i = 0; i < crew->team_count; i++) {
		struct primary *primary = crew->teams[i].world.primary;
		const struct troupe_error *lost = crew_who_is_lost(&crew->teams[i]);
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

static void crew_stop_threads(struct team *team)
{
	if (!team->transport)
		return;
	team->crew->ops->close(team->transport);
	for (uint32_t i = team->first; i < team->count; i++)
		pthread_join(team->members[i].thread, NULL);
	for (uint32_t i = 0; i < MIN(team->first, team->count); i++)
		secondary_destroy(team->members[i].secondary);
}

static void crew_dismiss(struct team *team)
{
	if (team->transport)
		team->crew->ops->destroy(team->transport);
	else if (team->members)
		secondary_destroy(team->members[0].secondary);
	free(team->members);
	free(team->mates);
	free(team->acks);
}

/* A thread of one team may still be leaving another team's transport, so all threads end before any transport is
 * destroyed. */
void crew_destroy(struct crew *crew)
{
	if (!crew)
		return;
	for (uint32_t i = 0; i < crew->team_count; i++)
		crew_stop_threads(&crew->teams[i]);
	for (uint32_t i = 0; i < crew->team_count; i++) {
		crew->teams[i].world.primary->turn = NULL;
		crew_dismiss(&crew->teams[i]);
	}
	free(crew->teams);
	free(crew);
}

bool crew_regroups(struct crew *crew, uint32_t *ret_lost)
{
	return crew->ops->remote && crew->ops->regroups(crew->teams[0].transport, ret_lost);
}

uint32_t crew_leaver_after(struct crew *crew, uint32_t secondary)
{
	struct team *team = &crew->teams[0];
	for (uint32_t i = secondary + 1; crew->ops->remote && i <= team->world.threads; i++)
		if (crew->ops->leaving(team->transport, i))
			return i;
	return 0;
}

void crew_stop(struct crew *crew, enum stop_kind kind, const char *why)
{
	for (uint32_t i = 0; i < crew->team_count; i++)
		crew->ops->stop(crew->teams[i].transport, kind, why);
}

struct transport_counts crew_counts(const struct crew *crew)
{
	struct transport_counts all = {0, 0};
	for (uint32_t i = 0; i < crew->team_count; i++) {
		struct transport_counts one = crew->ops->counts(crew->teams[i].transport);
		all.sent += one.sent;
		all.received += one.received;
	}
	return all;
}

const struct tune *crew_tune(const struct crew *crew)
{
	return crew->tuned ? &crew->tune : NULL;
}

uint64_t crew_serial_ns(const struct crew *crew)
{
	return crew->serial_ns;
}

struct physics_stats crew_physics_stats(const struct crew *crew, uint32_t world, uint32_t secondary)
{
	return secondary_physics_stats(crew->teams[world].members[secondary].secondary);
}
