/* One step of one secondary: apply changes and commands, run systems and physics, fill the ack.
 *
 * The physics of a step is split into parts. A secondary that has finished its own parts takes parts from other
 * secondaries. Which secondary works on a part affects no result. The owner alone begins its step, and ends it when
 * all of its parts are done.
 *
 * Sensors that see measure state k, which no part of the step changes: so the models that have such sensors are further
 * parts, before those of the physics. Each part has its own list of readings, whose order does not matter. A large
 * reading, such as a picture, is divided further when there are fewer such models than parts: else one robot with a
 * camera would keep one thread busy while the others wait.
 *
 * In a process that has one secondary, helpers take parts: threads with a worker and no models. A helper touches its
 * worker only while it has a part, and a part is taken after work_queue_open() and done before work_queue_is_done(). So
 * between steps the secondary's thread may read what the workers noted, without a further hand-over. */
#include "run/secondary.h"

#include "base/clock.h"
#include "physics/worker.h"
#include "run/observed.h"
#include "run/pack.h"
#include "run/sense.h"
#include "run/work_queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A part should be short compared with a step, since a secondary may have to wait for a part that has just begun. It
 * should be long compared with the cost of taking it. */
enum {
	RUN_SECONDARY_PARTS_MAX = 64,
	RUN_SECONDARY_POLLS = 20,
	WINDOW_ROUND = 1 << 23 /* no number of a step's round */
};

struct sense_part { /* of a step: some models, and what their sensors measured; of the thread that has the part */
	_Alignas(64) struct readings readings;
};

static troupe_status run_secondary_step_worlds(void *ctx, struct troupe_error *ret_error);
static void run_secondary_go_ahead(void *ctx, uint32_t count);

struct helper {
	_Alignas(64) struct secondary *secondary;
	pthread_t thread;
	struct worker *worker;
	uint32_t round; /* in which the worker began a step last; written while it has a part */
};

struct secondary {
	uint32_t number;
	struct shared *shared;
	struct pack pack;
	struct physics *physics; /* of the pack */
	struct worker *worker;   /* of its thread */
	indices with_sensors;    /* taken models that have bodies and sensors: sense_statics() has the others */
	struct readings readings;
	uint64_t sensed_ns; /* in this step, by sensors of the world */
	struct ack ack;
	uint64_t idle_since_ns;
	uint64_t idle_ns; /* in this step, without work */

	/* sharing: fields that its peers write, or read while it steps */
	struct secondary *const *peers; /* by number; NULL: works alone */
	uint32_t peer_count;            /* peers that take part in this step */
	uint32_t spins;
	/* in this round: parts of the physics, before them slices, and before these the sensors of `sensing` */
	uint32_t parts, sense_parts;
	sense_slices slices;
	struct secondary_slices sliced; /* so far */
	indices sensing;                /* models */
	const struct step *step;
	struct sense_part *sensed;                 /* [RUN_SECONDARY_PARTS_MAX] */
	uint64_t took_ns[RUN_SECONDARY_PARTS_MAX]; /* by part of `sensing` */
	struct helper *helpers;                    /* [helper_count]; NULL: none */
	uint32_t helper_count;
	uint32_t round;          /* of the step, if it is shared; else 0 */
	uint32_t window_rounds;  /* so far: each step of a window that is shared is a round */
	bool goes_ahead;         /* the parts are tasks of pack_take_ahead() */
	bool window_shares;      /* helpers may take parts of the steps of this window */
	_Atomic uint32_t idle;   /* of the first secondary: peers that have done their window, and look for parts */
	_Atomic bool in_window;  /* it has begun a window, and not done all of its steps */
	struct eventcount calls; /* opened when there are parts for the helpers, and when they are to end */
	struct eventcount ready; /* opened by each helper once */
	_Atomic bool stop_helpers;
	struct notes notes, notes_scratch; /* of all workers, when there are helpers */
	struct work_queue share;
	_Atomic bool failed; /* a part failed: the thread that set it fills in `ack` */
	/* Written by its thread, read by any. begun: the number of the last step of which it has obeyed the commands,
	 * plus 1. */
	_Atomic(const char *) doing;
	_Atomic uint64_t begun;
};

struct secondary *secondary_create(uint32_t number, struct shared *shared)
{
	struct secondary *secondary = mem_alloc_lines(sizeof *secondary);
	secondary->number = number;
	secondary->shared = shared;
	pack_init(&secondary->pack, shared);
	secondary->pack.doing = &secondary->doing;
	secondary->pack.step_worlds = run_secondary_step_worlds;
	secondary->pack.go_ahead = run_secondary_go_ahead;
	secondary->pack.ctx = secondary;
	secondary->physics = secondary->pack.physics;
	secondary->worker = worker_create(shared->scene, secondary->physics);
	secondary->ack.secondary = number;
	secondary->idle_since_ns = clock_now_ns();
	return secondary;
}

static void run_secondary_stop_helpers(struct secondary *secondary)
{
	atomic_store(&secondary->stop_helpers, true);
	eventcount_advance(&secondary->calls);
	for (uint32_t i = 0; i < secondary->helper_count; i++)
		pthread_join(secondary->helpers[i].thread, NULL);
	free(secondary->helpers);
}

void secondary_destroy(struct secondary *secondary)
{
	if (!secondary)
		return;
	run_secondary_stop_helpers(secondary);
	notes_fini(&secondary->notes);
	notes_fini(&secondary->notes_scratch);
	pack_fini(&secondary->pack);
	worker_destroy(secondary->worker);
	vec_free(&secondary->with_sensors);
	vec_free(&secondary->sensing);
	vec_free(&secondary->slices);
	for (uint32_t i = 0; secondary->sensed && i < RUN_SECONDARY_PARTS_MAX; i++)
		readings_fini(&secondary->sensed[i].readings);
	free(secondary->sensed);
	readings_fini(&secondary->readings);
	vec_free(&secondary->ack.changed);
	vec_free(&secondary->ack.leavers);
	vec_free(&secondary->ack.hashes);
	free(secondary);
}

void secondary_set_peers(struct secondary *secondary, struct secondary *const *peers, uint32_t spins)
{
	secondary->peers = peers;
	secondary->spins = spins;
	physics_share(secondary->physics);
}

uint64_t secondary_ended_ns(const struct secondary *secondary)
{
	return secondary->idle_since_ns;
}

struct physics_stats secondary_physics_stats(const struct secondary *secondary)
{
	struct physics_stats stats = physics_stats(secondary->physics);
	worker_add_stats(secondary->worker, &stats);
	for (uint32_t i = 0; i < secondary->helper_count; i++)
		worker_add_stats(secondary->helpers[i].worker, &stats);
	return stats;
}

struct secondary_slices secondary_slices(const struct secondary *secondary)
{
	return secondary->sliced;
}

/* --- apply ------------------------------------------------------------------------------------------------------ */

static void run_secondary_take(struct secondary *secondary, uint32_t model)
{
	const struct scene_model *m = &secondary->shared->scene->models[model];
	pack_take(&secondary->pack, model);
	if (secondary->shared->sensors->sets[model].count && m->body_count) /* a performer may be static */
		indices_add(&secondary->with_sensors, model);
}

static void run_secondary_release(struct secondary *secondary, uint32_t model)
{
	pack_release(&secondary->pack, model);
	indices_remove(&secondary->with_sensors, model);
}

/* To load a level, its static models become present (to all secondaries) and its dynamic models are taken. Of LOAD and
 * UNLOAD follows only which meshes are wanted. GHOST needs no work: in one process a ghost is the performer's own
 * state, which all secondaries can read. */
static void run_secondary_apply_changes(struct secondary *secondary, const struct step *step)
{
	bool was_idle = step->parts[secondary->number - 1].was_idle;
	if (step->world_changed || was_idle)
		physics_world_changed(secondary->physics);
	for (uint32_t i = 0; i < step->change_count; i++) {
		const struct change *change = &step->changes[i];
		if (change->secondary != secondary->number)
			continue;
		if (change->kind == CHANGE_RELEASE)
			run_secondary_release(secondary, change->id);
		else if (change->kind == CHANGE_TAKE)
			run_secondary_take(secondary, change->id);
		else if (change->kind == CHANGE_LOAD || change->kind == CHANGE_UNLOAD)
			scene_want_level(secondary->shared->scene, change->id, change->kind == CHANGE_LOAD);
	}
	if (step->statics_changed || was_idle)
		physics_set_statics(secondary->physics, step->statics);
	if (was_idle || step->world_changed || step->repeated || step->state_changed)
		pack_call_all(&secondary->pack);
	if (step->repeated)
		physics_repeat(secondary->physics);
	if (step->state_changed)
		physics_state_changed(secondary->physics);
}

static void run_secondary_apply_commands(struct secondary *secondary, const struct step_part *part)
{
	for (uint32_t i = 0; i < part->command_count; i++) {
		const struct due_command *command = &part->commands[i];
		systems_command(secondary->shared->systems, &command->to, command->message, secondary->shared->state,
			&secondary->pack.fault);
	}
}

/* --- sharing ----------------------------------------------------------------------------------------------------- */

static void run_secondary_fail_step(struct secondary *secondary, troupe_status status, const struct troupe_error *error)
{
	if (atomic_exchange(&secondary->failed, true))
		return;
	secondary->ack.status = status;
	secondary->ack.error = *error;
}

/* What the pack says of a step that it took. */
static troupe_status run_secondary_take_fault(struct secondary *secondary)
{
	struct ack *ack = &secondary->ack;
	if (ack->status || !pack_take_fault(&secondary->pack))
		return ack->status;
	ack->status = secondary->pack.status;
	ack->error = secondary->pack.error;
	ack->diverged = secondary->pack.diverged;
	return ack->status;
}

static uint32_t run_secondary_part_begin(uint32_t count, uint32_t part, uint32_t parts)
{
	return (uint32_t)((uint64_t)count * part / parts);
}

static void run_secondary_sense_part(struct secondary *owner, uint32_t part)
{
	uint32_t first = run_secondary_part_begin(owner->sensing.count, part, owner->sense_parts);
	uint32_t end = run_secondary_part_begin(owner->sensing.count, part + 1, owner->sense_parts);
	const indices models = {.at = owner->sensing.at + first, .count = end - first};
	struct readings *readings = &owner->sensed[part].readings;
	readings_clear(readings);
	owner->took_ns[part] =
		sense_models(owner->shared, owner->step, SENSOR_OF_WORLD, owner->physics, &models, readings);
}

static void run_secondary_physics_part(struct worker *worker, struct secondary *owner, uint32_t part)
{
	uint32_t worlds = physics_ode_world_count(owner->physics);
	uint32_t first = run_secondary_part_begin(worlds, part, owner->parts),
		 end = run_secondary_part_begin(worlds, part + 1, owner->parts);
	struct troupe_error error;
	troupe_status status = worker_step(worker, owner->physics, first, end - first, &error);
	if (status)
		run_secondary_fail_step(owner, status, &error);
}

static void run_secondary_slice(const struct worker *worker, struct secondary *owner, uint32_t number)
{
	struct sense_slice *slice = &owner->slices.at[number];
	sense_slice(owner->shared, owner->step, &owner->readings, slice);
	slice->by_other = worker != owner->worker;
}

static void run_secondary_work_on(struct worker *worker, struct secondary *owner, uint32_t number)
{
	uint32_t slices_end = owner->sense_parts + owner->slices.count;
	if (owner->goes_ahead)
		pack_take_ahead(&owner->pack, worker, number);
	else if (number < owner->sense_parts)
		run_secondary_sense_part(owner, number);
	else if (number < slices_end)
		run_secondary_slice(worker, owner, number - owner->sense_parts);
	else
		run_secondary_physics_part(worker, owner, number - slices_end);
	work_queue_done(&owner->share);
}

/* Works on one part of another secondary's step; false: no part is left. */
static bool run_secondary_help(struct secondary *secondary)
{
	for (uint32_t i = 0; i + 1 < secondary->peer_count; i++) {
		struct secondary *peer = secondary->peers[(secondary->number + i) % secondary->peer_count];
		uint32_t part;
		if (!work_queue_steal(&peer->share, &part))
			continue;
		run_secondary_work_on(secondary->worker, peer, part);
		return true;
	}
	return false;
}

static void run_secondary_set_doing(struct secondary *secondary, const char *what)
{
	atomic_store_explicit(&secondary->doing, what, memory_order_relaxed);
}

const char *secondary_doing(const struct secondary *secondary)
{
	return atomic_load_explicit(&secondary->doing, memory_order_relaxed);
}

bool secondary_has_begun(const struct secondary *secondary, uint64_t step)
{
	/* acquire: the reader sees the words that the commands have changed */
	return atomic_load_explicit(&secondary->begun, memory_order_acquire) == step + 1;
}

static bool run_secondary_all_have_begun(const struct secondary *secondary)
{
	const uint32_t round = work_queue_round(&secondary->share);
	bool all = true;
	for (uint32_t i = 0; i < secondary->peer_count; i++)
		all = all && work_queue_round(&secondary->peers[i]->share) == round;
	return all;
}

/* Helps until no part is left, or until a secondary that has not begun its step takes too long. */
static void run_secondary_help_others(struct secondary *secondary)
{
	uint64_t begin_ns = clock_now_ns(), helped_ns = 0, was_ns = begin_ns;
	for (uint32_t polls = 0; polls <= secondary->spins * RUN_SECONDARY_POLLS; polls++) {
		if (run_secondary_help(secondary)) {
			polls = 0;
			helped_ns += clock_now_ns() - was_ns;
		} else if (run_secondary_all_have_begun(secondary)) {
			break;
		}
		eventcount_relax();
		was_ns = clock_now_ns();
	}
	secondary->idle_ns += clock_now_ns() - begin_ns - helped_ns;
}

static void run_secondary_finish_own(struct secondary *secondary)
{
	uint32_t part;
	while (work_queue_take(&secondary->share, &part))
		run_secondary_work_on(secondary->worker, secondary, part);
	while (!work_queue_is_done(&secondary->share)) {
		if (run_secondary_help(secondary))
			continue;
		uint64_t begin_ns = clock_now_ns();
		work_queue_wait(&secondary->share, secondary->spins);
		secondary->idle_ns += clock_now_ns() - begin_ns;
	}
}

/* --- windows ------------------------------------------------------------------------------------------------------ */

static bool run_secondary_some_are_in_windows(const struct secondary *secondary, uint64_t step)
{
	bool some = false;
	for (uint32_t i = 0; i < secondary->peer_count && !some; i++)
		some = atomic_load(&secondary->peers[i]->in_window) || !secondary_has_begun(secondary->peers[i], step);
	return some;
}

/* A window is done when all its steps are: a secondary that has taken its own may help the others with theirs. */
static void run_secondary_help_in_windows(struct secondary *secondary, uint64_t step)
{
	uint64_t begin_ns = clock_now_ns(), helped_ns = 0, was_ns = begin_ns;
	atomic_fetch_add(&secondary->peers[0]->idle, 1);
	for (uint32_t polls = 0;
		polls <= secondary->spins * RUN_SECONDARY_POLLS && run_secondary_some_are_in_windows(secondary, step);
		polls++) {
		if (run_secondary_help(secondary)) {
			polls = 0;
			helped_ns += clock_now_ns() - was_ns;
		}
		eventcount_relax();
		was_ns = clock_now_ns();
	}
	atomic_fetch_sub(&secondary->peers[0]->idle, 1);
	secondary->idle_ns += clock_now_ns() - begin_ns - helped_ns;
}

static void run_secondary_add_notes(struct notes *to, const struct notes *from)
{
	if (from->contacts.count)
		memcpy(vec_append(&to->contacts, from->contacts.count), from->contacts.at,
			from->contacts.count * sizeof *from->contacts.at);
	if (from->efforts.count)
		memcpy(vec_append(&to->efforts, from->efforts.count), from->efforts.at,
			from->efforts.count * sizeof *from->efforts.at);
	if (from->reactions.count)
		memcpy(vec_append(&to->reactions, from->reactions.count), from->reactions.at,
			from->reactions.count * sizeof *from->reactions.at);
}

/* Of helpers that had a part in the round that is done. */
static void run_secondary_add_helpers_notes(struct secondary *secondary)
{
	for (uint32_t i = 0; secondary->round && i < secondary->helper_count; i++)
		if (secondary->helpers[i].round == secondary->round)
			run_secondary_add_notes(&secondary->notes, worker_notes(secondary->helpers[i].worker));
}

/* Opens a round of parts to all threads that have nothing else to do, and returns when all parts are done. */
static void run_secondary_share(struct secondary *secondary, uint32_t parts)
{
	secondary->round = ++secondary->window_rounds | WINDOW_ROUND;
	work_queue_open(&secondary->share, parts, secondary->round);
	if (secondary->helper_count)
		eventcount_advance(&secondary->calls);
	run_secondary_finish_own(secondary);
	run_secondary_add_helpers_notes(secondary);
}

/* Here threads take tasks from each other without waiting for each other. */
static void run_secondary_go_ahead(void *ctx, uint32_t count)
{
	struct secondary *secondary = ctx;
	if (count < 2 || !(secondary->peer_count > 1 || secondary->window_shares)) {
		for (uint32_t at = 0; at < count; at++)
			pack_take_ahead(&secondary->pack, secondary->worker, at);
		return;
	}
	secondary->goes_ahead = true;
	run_secondary_share(secondary, count);
	secondary->goes_ahead = false;
}

/* Opens the ODE worlds of a step within a window to threads that have nothing else to do. */
static troupe_status run_secondary_step_worlds(void *ctx, struct troupe_error *ret_error)
{
	struct secondary *secondary = ctx;
	const uint32_t worlds = physics_ode_world_count(secondary->physics);
	bool idle = secondary->peer_count > 1 && atomic_load_explicit(&secondary->peers[0]->idle, memory_order_relaxed);
	if (worlds < 2 || !(idle || secondary->window_shares))
		return worker_step(secondary->worker, secondary->physics, 0, worlds, ret_error);
	atomic_store_explicit(&secondary->failed, false, memory_order_relaxed);
	secondary->parts = MIN(worlds, RUN_SECONDARY_PARTS_MAX);
	run_secondary_share(secondary, secondary->parts);
	troupe_status status = secondary->ack.status;
	*ret_error = secondary->ack.error;
	secondary->ack.status = TROUPE_OK; /* the step is taken again by itself, and then says so */
	return status;
}

/* --- helpers ------------------------------------------------------------------------------------------------------ */

/* The worker begins the step with its first part: a helper that comes too late for a step has no part in it. */
static void run_secondary_help_here(struct helper *helper)
{
	struct secondary *secondary = helper->secondary;
	uint32_t part;
	while (work_queue_steal(&secondary->share, &part)) {
		if (helper->round != secondary->round)
			worker_begin(helper->worker, &secondary->shared->physics);
		helper->round = secondary->round;
		run_secondary_work_on(helper->worker, secondary, part);
	}
}

static void *run_secondary_be_helper(void *arg)
{
	struct helper *helper = arg;
	struct secondary *secondary = helper->secondary;
	uint32_t seen = eventcount_read(&secondary->calls);
	physics_thread_begin();
	helper->worker = worker_create(secondary->shared->scene, NULL);
	eventcount_advance(&secondary->ready);
	while (!atomic_load(&secondary->stop_helpers)) {
		seen = eventcount_await(&secondary->calls, seen, secondary->spins, 0);
		run_secondary_help_here(helper);
	}
	worker_destroy(helper->worker);
	return NULL;
}

troupe_status secondary_start_helpers(struct secondary *secondary, uint32_t count, struct troupe_error *error)
{
	int failed = 0;
	secondary->helpers = mem_alloc_lines(count * sizeof *secondary->helpers);
	secondary->spins = 0;
	for (uint32_t i = 0; i < count && !failed; i++) {
		struct helper *helper = &secondary->helpers[i];
		*helper = (struct helper){.secondary = secondary};
		failed = pthread_create(&helper->thread, NULL, run_secondary_be_helper, helper);
		mem_check_thread(failed);
		secondary->helper_count += !failed;
	}
	for (uint32_t seen = 0; seen < secondary->helper_count;)
		seen = eventcount_await(&secondary->ready, seen, 0, 0);
	if (secondary->helper_count)
		physics_share(secondary->physics);
	return failed ? fail(error, TROUPE_ELIMIT, "cannot start thread %u of the secondary: %s",
				secondary->helper_count + 2, strerror(failed))
		      : TROUPE_OK;
}

static void run_secondary_clear_notes(struct secondary *secondary)
{
	secondary->notes.contacts.count = secondary->notes.efforts.count = secondary->notes.reactions.count = 0;
}

/* The notes of all workers that had a part in the step, or in the window; those of helpers in its steps are there. */
static const struct notes *run_secondary_all_notes(struct secondary *secondary, const struct step *step)
{
	struct notes *notes = &secondary->notes, *scratch = &secondary->notes_scratch;
	const struct notes *own = worker_notes(secondary->worker);
	if (!secondary->helper_count && step->window == 1)
		return own;
	if (step->window == 1)
		run_secondary_add_helpers_notes(secondary);
	run_secondary_add_notes(notes, own);
	notes_sort_contacts(&notes->contacts, &scratch->contacts);
	notes_sort_efforts(&notes->efforts, &scratch->efforts);
	notes_sort_reactions(&notes->reactions, &scratch->reactions);
	if (step->window > 1 &&
		!secondary->peers) /* else others may have notes about its models, and it about theirs */
		observed_keep_last(notes, secondary->shared, step->mark);
	return notes;
}

static void run_secondary_gather_readings(struct secondary *secondary)
{
	for (uint32_t i = 0; i < secondary->sense_parts; i++)
		readings_append(&secondary->readings, &secondary->sensed[i].readings);
	secondary->sliced.all += secondary->slices.count;
	for (uint32_t i = 0; i < secondary->slices.count; i++)
		secondary->sliced.by_others += secondary->slices.at[i].by_other;
	sense_join(secondary->shared, secondary->step, secondary->took_ns, &secondary->slices);
	if (secondary->sense_parts)
		secondary->ack.readings = &secondary->readings;
}

static troupe_status run_secondary_step_physics(struct secondary *secondary, const struct step *step,
	const struct step_part *part, bool shares, const struct system_step *view)
{
	struct physics *physics = secondary->physics;
	struct ack *ack = &secondary->ack;
	worker_begin(secondary->worker, &secondary->shared->physics);
	ack->status = physics_begin(physics, part->pairs, part->pair_count, step->dt, &ack->error);
	if (!run_secondary_take_fault(secondary))
		pack_call_awake(&secondary->pack, view);
	uint32_t worlds = ack->status ? 0 : physics_ode_world_count(physics);
	if (shares) {
		atomic_store_explicit(&secondary->failed, false, memory_order_relaxed);
		secondary->parts = MIN(worlds, RUN_SECONDARY_PARTS_MAX);
		secondary->round = step->share_round;
		uint32_t parts = secondary->sense_parts + secondary->slices.count + secondary->parts;
		work_queue_open(&secondary->share, parts, step->share_round);
		if (secondary->helper_count && parts > 1)
			eventcount_advance(&secondary->calls);
		if (step->help_first)
			run_secondary_help_others(secondary);
		run_secondary_finish_own(secondary);
		run_secondary_gather_readings(secondary);
	} else if (!ack->status) {
		ack->status = worker_step(secondary->worker, physics, 0, worlds, &ack->error);
	}
	if (!ack->status) {
		ack->status = physics_end(physics, secondary->shared->boxes, &ack->error);
		ack->diverged = physics_diverged(physics);
	}
	return ack->status;
}

/* --- sensors ------------------------------------------------------------------------------------------------------ */

static void run_secondary_sense(struct secondary *secondary, const struct step *step, enum sensor_group group)
{
	const struct sensors *sensors = secondary->shared->sensors;
	if (!(group == SENSOR_OF_SELF ? sensors->due_self : sensors->due_world))
		return;
	secondary->sensed_ns += sense_models(
		secondary->shared, step, group, secondary->physics, &secondary->with_sensors, &secondary->readings);
	sense_statics(secondary->shared, step, group, secondary->number, &secondary->readings);
	secondary->ack.readings = &secondary->readings;
}

/* Has the sensors measure later, as parts of the step. */
static void run_secondary_part_sensing(struct secondary *secondary, const struct step *step)
{
	secondary->sensing.count = secondary->sense_parts = 0;
	secondary->step = step;
	if (!secondary->shared->sensors->due_world)
		return;
	sense_list(secondary->shared, step, secondary->number, &secondary->with_sensors, &secondary->sensing);
	secondary->sense_parts = MIN(secondary->sensing.count, (uint32_t)RUN_SECONDARY_PARTS_MAX);
	if (secondary->sensing.count < RUN_SECONDARY_PARTS_MAX)
		sense_divide(secondary->shared, step, &secondary->sensing, &secondary->readings, &secondary->slices);
	if (!secondary->sensed)
		secondary->sensed = mem_alloc_lines(RUN_SECONDARY_PARTS_MAX * sizeof *secondary->sensed);
}

/* --- update ------------------------------------------------------------------------------------------------------ */

/* A broken rule is for negative controls. */
static uint32_t run_secondary_left(const struct secondary *secondary, const struct step *step, uint32_t model)
{
	const struct shared *shared = secondary->shared;
	const bool forgets = shared->physics.rule == PHYSICS_BREAK_LEAVERS;
	if (step->window > 1)
		return shared->sweeps[model].left & ~(forgets ? (uint32_t)LEFT_SWEPT : 0u);
	return shared->scene->models[model].body_count ? shared_left(shared, model) : 0;
}

static void run_secondary_report(struct secondary *secondary, const struct step *step)
{
	const struct shared *shared = secondary->shared;
	const struct pack *pack = &secondary->pack;
	struct ack *ack = &secondary->ack;
	if (pack->changed.count)
		memcpy(vec_append(&ack->changed, pack->changed.count), pack->changed.at,
			pack->changed.count * sizeof *ack->changed.at);
	ack->stepped = pack->stepped;
	for (uint32_t i = 0; shared_has_tracking(shared) && i < pack->changed.count; i++) {
		const uint32_t model = pack->changed.at[i], left = run_secondary_left(secondary, step, model);
		if (left)
			vec_push(&ack->leavers, (struct leaver){model, left});
	}
}

static troupe_status run_secondary_simulate(
	struct secondary *secondary, const struct step *step, const struct step_part *part)
{
	struct pack *pack = &secondary->pack;
	struct system_step system_step = pack_view(pack, step->number, step->time_s, step->dt);
	bool shares = step->share && (secondary->peers || secondary->helper_count);
	run_secondary_set_doing(secondary, "the sensors");
	if (shares)
		run_secondary_part_sensing(secondary, step);
	else
		run_secondary_sense(secondary, step, SENSOR_OF_WORLD);
	run_secondary_set_doing(secondary, pack_doing_before);
	pack_pre_update(pack, &system_step);
	pack_push(pack);
	secondary->round = 0;
	run_secondary_set_doing(secondary, shares ? "the physics and the sensors" : pack_doing_physics);
	if (run_secondary_step_physics(secondary, step, part, shares, &system_step) ||
		physics_abandoned(secondary->physics))
		return secondary->ack.status;
	run_secondary_set_doing(secondary, pack_doing_after);
	pack_post_update(pack, &system_step);
	if (run_secondary_take_fault(secondary))
		return secondary->ack.status;
	run_secondary_set_doing(secondary, "the sensors");
	run_secondary_sense(secondary, step, SENSOR_OF_SELF);
	run_secondary_report(secondary, step);
	if (shares)
		run_secondary_help_others(secondary);
	if (step->observe && secondary->ack.good == step->window)
		secondary->ack.notes = run_secondary_all_notes(secondary, step);
	return TROUPE_OK;
}

/* Steps that are taken together: no sensor measures but at the beginning, and nothing acts from outside. A failure in
 * the first of them is that of step k; one in a later step shows again when that step is taken alone. */
static troupe_status run_secondary_take_window(
	struct secondary *secondary, const struct step *step, const struct step_part *part)
{
	struct pack *pack = &secondary->pack;
	run_secondary_set_doing(secondary, "the sensors");
	run_secondary_sense(secondary, step, SENSOR_OF_WORLD);
	secondary->round = 0;
	secondary->sense_parts = secondary->slices.count = 0;
	secondary->window_shares = step->share && secondary->helper_count;
	worker_begin(secondary->worker, &secondary->shared->physics);
	secondary->ack.good = pack_take_window(pack, step, part);
	atomic_store(&secondary->in_window, false);
	if (secondary->ack.good == step->window)
		run_secondary_report(secondary, step);
	if (pack->hashes.count)
		memcpy(vec_append(&secondary->ack.hashes, pack->hashes.count), pack->hashes.at,
			pack->hashes.count * sizeof *pack->hashes.at);
	if (secondary->peer_count > 1)
		run_secondary_help_in_windows(secondary, step->number);
	if (step->observe && secondary->ack.good == step->window)
		secondary->ack.notes = run_secondary_all_notes(secondary, step);
	return TROUPE_OK;
}

static troupe_status run_secondary_update(
	struct secondary *secondary, const struct step *step, const struct step_part *part)
{
	pack_hold(&secondary->pack, part);
	troupe_status status = step->window > 1 ? run_secondary_take_window(secondary, step, part)
						: run_secondary_simulate(secondary, step, part);
	pack_let_go(&secondary->pack);
	return status;
}

/* --- costs -------------------------------------------------------------------------------------------------------- */

/* Time that is neither a model's own physics nor that of its sensors is divided evenly among the models that were
 * awake. */
static void run_secondary_learn_costs(struct secondary *secondary, uint64_t step_ns)
{
	step_ns -= MIN(step_ns, secondary->sensed_ns);
	const indices *taken = physics_taken(secondary->physics), *awake = physics_awake(secondary->physics);
	struct model_costs *costs = &secondary->shared->costs;
	uint64_t own_ns = 0;
	for (uint32_t i = 0; i < awake->count; i++)
		own_ns += physics_measured_ns(secondary->physics, awake->at[i]);
	uint64_t common_ns = step_ns > own_ns && awake->count ? (step_ns - own_ns) / awake->count : 0;
	for (uint32_t i = 0; i < awake->count; i++) {
		uint32_t model = awake->at[i];
		cost_learn(costs, model,
			physics_measured_ns(secondary->physics, model) + common_ns + costs->sense_ns[model]);
	}
	for (uint32_t i = 0; i < taken->count; i++)
		if (physics_sleeps(secondary->physics, taken->at[i]))
			cost_set(costs, taken->at[i], costs->sense_ns[taken->at[i]]);
}

struct ack *secondary_step(struct secondary *secondary, const struct step *step)
{
	uint64_t begin_ns = clock_now_ns();
	const struct step_part *part = &step->parts[secondary->number - 1];
	struct ack *ack = &secondary->ack;
	ack->number = step->number;
	ack->status = TROUPE_OK;
	ack->diverged = SCENE_NONE;
	pack_begin(&secondary->pack);
	ack->good = step->window;
	ack->abandoned = false;
	ack->changed.count = ack->leavers.count = ack->hashes.count = ack->stepped = 0;
	ack->notes = NULL;
	ack->readings = NULL;
	readings_clear(&secondary->readings);
	secondary->sensed_ns = 0;
	secondary->peer_count = secondary->peers ? step->secondaries : 0;
	ack->begin_ns = begin_ns;
	ack->waited_ns = part->was_idle ? 0 : begin_ns - secondary->idle_since_ns;
	secondary->idle_ns = 0;
	physics_observe(secondary->physics, step->observe);
	run_secondary_clear_notes(secondary);
	run_secondary_set_doing(secondary, "taking models, and commands for plug-ins");
	run_secondary_apply_changes(secondary, step);
	run_secondary_apply_commands(secondary, part);
	atomic_store(&secondary->in_window, step->window > 1);
	/* release: pairs with secondary_has_begun() */
	atomic_store_explicit(&secondary->begun, step->number + 1, memory_order_release);
	if (step->paused)
		(void)run_secondary_take_fault(secondary);
	if (step->measure && step->window == 1)
		physics_measure(secondary->physics);
	if (!step->paused) {
		ack->status = run_secondary_update(secondary, step, part);
		ack->abandoned = physics_abandoned(secondary->physics);
	}
	run_secondary_set_doing(secondary, NULL);
	secondary->idle_since_ns = clock_now_ns();
	ack->busy_ns = secondary->idle_since_ns - begin_ns - secondary->idle_ns;
	ack->waited_ns += secondary->idle_ns;
	if (step->measure && !step->paused && !ack->status)
		run_secondary_learn_costs(secondary, ack->busy_ns / step->window);
	ack->end_ns = secondary->idle_since_ns;
	return ack;
}
