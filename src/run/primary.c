/* Runs the world through time: decides the next step, when the acks of the last one are merged (primary_merge.c) and
 * the commands that are due were obeyed (primary_commands.c). A step that was given up can be taken again; the commands
 * that were obeyed before it stay obeyed. */
#include "run/primary_internal.h"

#include "base/clock.h"
#include "run/primary_commands.h"
#include "run/sleepers.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PRIMARY_NAP_NS 20000000u   /* a sleeping primary checks `stop` this often */
#define PACE_LAG_MAX_NS 500000000u /* a larger delay is not caught up */

struct primary *primary_create(const struct primary_options *options, struct shared *shared)
{
	struct primary *primary = mem_alloc(sizeof *primary);
	*primary = (struct primary){.options = *options, .shared = shared, .paused = options->paused, .acted = true};
	shared->physics.stop = &primary->stop;
	primary->lockstep.secondaries = primary->wanted = options->secondaries;
	primary->stats = mem_alloc(options->secondaries * sizeof *primary->stats);
	primary->stats_room = options->secondaries;
	shared->tracker.minds_all = options->hash_steps;
	plan_init(&primary->plan, shared, options->secondaries, options->policy ? options->policy : assign_policies);
	edit_init(&primary->edit, shared, &options->edit);
	primary->schedule.preparer = preparer_create(&options->edit);
	primary->even_since_s = options->initial_time_s;
	primary->seen_ns = INT64_MAX;
	window_init(&primary->window, &options->window);
	primary->plan.placement.measure = options->measure;
	primary->plan.placement.chaos = options->chaos;
	primary->plan.placement.chaos_seed = options->chaos_seed;
	primary->plan.placement.chaos_moves = options->chaos_moves;
	return primary;
}

void primary_answer_waiting(struct primary *primary, uint64_t step, troupe_status status, const char *text)
{
	for (uint32_t i = 0; i < primary->waiting_calls.count; i++) {
		struct command_call *call = primary->waiting_calls.at[i];
		call->done(call, step, status, text);
	}
	primary->waiting_calls.count = 0;
}

void primary_destroy(struct primary *primary)
{
	primary_free_taken(primary);
	vec_free(&primary->taken);
	edit_fini(&primary->edit);
	plan_fini(&primary->plan);
	schedule_fini(&primary->schedule);
	preparer_destroy(primary->schedule.preparer);
	vec_free(&primary->commands);
	vec_free(&primary->due);
	wrenches_fini(&primary->wrenches);
	vec_free(&primary->triggered);
	primary_answer_waiting(
		primary, primary->lockstep.number, TROUPE_EPEER, "the run ended before the steps were taken");
	vec_free(&primary->waiting_calls);
	vec_free(&primary->decided);
	vec_free(&primary->published);
	vec_free(&primary->surfaced);
	vec_free(&primary->attachments);
	vec_free(&primary->attachments_refused);
	vec_free(&primary->moved);
	vec_free(&primary->hashes);
	text_fini(&primary->published_bytes);
	text_fini(&primary->touch_names[0]);
	text_fini(&primary->touch_names[1]);
	observed_fini(&primary->observed);
	readings_fini(&primary->readings);
	free(primary->stats);
	free(primary);
}

void primary_go_remote(struct primary *primary, const struct primary_remote *remote)
{
	primary->remote = *remote;
	primary->shared->sensors->elsewhere = true;
	primary->edit.log.count = primary->shared->state->written.count = 0; /* the copies have this already */
}

void primary_regroup(struct primary *primary, uint32_t secondaries)
{
	if (!lockstep_complete(&primary->lockstep)) {
		lockstep_give_up(&primary->lockstep);
		primary->emptied = false;
		primary->repeats = true;
	}
	if (primary->stats_room < secondaries) {
		MEM_FIT(primary->stats, primary->stats_room, secondaries);
		primary->stats_room = secondaries;
	}
	primary->options.secondaries = primary->lockstep.secondaries = primary->wanted = secondaries;
	primary->ended = false;
	primary->status = TROUPE_OK;
	primary->pace_ns = 0;
	primary->refuted = false;
	plan_regroup(&primary->plan, secondaries);
}

void primary_use(struct primary *primary, uint32_t count)
{
	assert(count >= 1 && count <= primary->options.secondaries);
	primary->wanted = count;
}

uint32_t primary_taking_part(const struct primary *primary)
{
	return primary->lockstep.secondaries;
}

bool primary_sleeps(const struct primary *primary, uint32_t model)
{
	const struct state *state = primary->shared->state;
	return primary->plan.loading.active[model] && primary->shared->scene->models[model].body_count &&
	       primary->moving_steps && state->models[model].changed_at != primary->moving_steps &&
	       *state_still(state, model, false); /* zero: created or woken since its last step */
}

double primary_time_s(const struct primary *primary)
{
	return primary->even_since_s + (double)primary->even_steps * primary->edit.step_s;
}

double primary_passed_s(const struct primary *primary)
{
	return primary->begin_ns ? primary->passed_s + primary_time_s(primary) - primary->passed_from_s : 0;
}

void primary_sum_time(struct primary *primary)
{
	primary->passed_s = primary_passed_s(primary);
}

uint64_t primary_changes_hash(const struct primary *primary)
{
	return edit_hash(&primary->edit) + wrenches_hash(&primary->wrenches, primary->shared->scene);
}

uint64_t primary_hash(const struct primary *primary)
{
	return state_hash(primary->shared->state) + plan_hash(&primary->plan) + primary_changes_hash(primary);
}

void primary_end_pause(struct primary *primary, uint64_t now_ns)
{
	if (primary->paused_since_ns && now_ns > primary->paused_since_ns)
		primary->paused_ns += now_ns - primary->paused_since_ns;
	primary->paused_since_ns = 0;
}

void primary_end(struct primary *primary, troupe_status status)
{
	primary->ended = true;
	primary->status = status;
}

double primary_pace(const struct primary *primary)
{
	const struct primary_options *o = &primary->options;
	if (o->unpaced)
		return 0;
	return o->rate_hz > 0 ? o->rate_hz * primary->edit.step_s : o->rtf;
}

double primary_step_real_s(const struct primary *primary)
{
	double factor = primary_pace(primary);
	return factor > 0 ? primary->edit.step_s / factor : 0;
}

void primary_pause(struct primary *primary)
{
	primary->paused = true;
	primary->multi_steps = 0;
	primary->run_to_s = 0;
	primary_answer_waiting(primary, primary->lockstep.number, TROUPE_OK, "paused");
}

bool primary_has_reached(const struct primary *primary, double time_s)
{
	return primary_time_s(primary) >= time_s - primary->edit.step_s * 1e-6;
}

/* A system broke a rule on this thread: the run ends before the step. */
static bool primary_ends_by_fault(struct primary *primary, uint64_t k)
{
	const struct system_fault *fault = primary->shared->systems->fault;
	if (primary->ended || !fault->error.status)
		return primary->ended;
	struct troupe_error error;
	(void)fail(&error, fault->error.status, "step %" PRIu64 ": %s", k, fault->error.text);
	primary_fail(primary, &error);
	return true;
}

/* --- time ------------------------------------------------------------------------------------------------------- */

static bool primary_limit_reached(const struct primary *primary)
{
	const struct primary_options *o = &primary->options;
	if (o->iterations && primary->lockstep.number >= o->iterations)
		return true;
	return o->until_s > 0 && primary_has_reached(primary, o->until_s);
}

static void primary_sleep_until(struct primary *primary, uint64_t now_ns, uint64_t when_ns)
{
	uint64_t begin_ns = now_ns;
	for (; now_ns < when_ns && !atomic_load(&primary->stop); now_ns = clock_now_ns())
		clock_sleep_until_ns(MIN(when_ns, now_ns + PRIMARY_NAP_NS));
	primary->slept_ns += now_ns - begin_ns;
}

/* Commands that are given live wait for the end of a window: in a run that is slower than simulated time, no longer
 * than its real time allows either. */
static uint32_t primary_most_steps(const struct primary *primary, uint64_t k)
{
	const struct window *window = &primary->window;
	const double real_s = primary_step_real_s(primary);
	uint32_t most = window_most(window, k, primary->edit.step_s);
	if (real_s <= 0 || !window_is_found(window) || window->options.alone)
		return most;
	double paced = WINDOW_LIVE_S / real_s;
	return paced >= most ? most : MAX((uint32_t)(paced + 1e-6), 1u);
}

/* A window that was interrupted says little about the next one: an estimate grows slowly. */
static void primary_learn_pace(struct primary *primary, uint64_t now_ns)
{
	if (!primary->paced_begin_ns)
		return;
	uint64_t took_ns = (now_ns - primary->paced_begin_ns) / primary->window.steps,
		 before_ns = primary->paced_step_ns;
	primary->paced_step_ns = before_ns ? MIN(took_ns, before_ns + before_ns / 4 + 1) : took_ns;
}

/* Each step has a due time. After a late step the next ones start at once, until the delay is caught up. The last step
 * of a window starts at its due time, as if it were taken alone, so that its state, the only one of them that anybody
 * sees, is there neither too early nor too late; the steps before it start earlier by the time that they took last. */
static void primary_keep_pace(struct primary *primary, uint32_t most)
{
	double real_s = primary_step_real_s(primary);
	primary->paced_steps = 0;
	if (real_s <= 0)
		return;
	const uint64_t k = primary->lockstep.number;
	uint64_t now = clock_now_ns();
	primary_learn_pace(primary, now);
	if (!primary->pace_ns || primary->pace_ns + (uint64_t)(primary->pace_elapsed_s * 1e9) + PACE_LAG_MAX_NS < now) {
		primary->pace_ns = now;
		primary->pace_elapsed_s = 0;
	}
	primary->paced_steps =
		(uint32_t)primary_expected_horizon(primary, k, MIN(primary_most_steps(primary, k), most));
	const double ahead_s = fmax(real_s - (double)primary->paced_step_ns * 1e-9, 0) * (primary->paced_steps - 1);
	primary_sleep_until(primary, now, primary->pace_ns + (uint64_t)((primary->pace_elapsed_s + ahead_s) * 1e9));
	primary->paced_begin_ns = clock_now_ns();
}

bool primary_will_step(const struct primary *primary)
{
	return !primary->ended && !primary_limit_reached(primary) && !atomic_load(&primary->stop);
}

static void primary_end_between_steps(struct primary *primary, uint64_t now_ns, troupe_status status)
{
	primary->end_ns = now_ns;
	primary_end_pause(primary, now_ns);
	atomic_store_explicit(&primary->seen_steps, primary->lockstep.number, memory_order_relaxed);
	atomic_store_explicit(&primary->seen_time_s, primary_time_s(primary), memory_order_relaxed);
	primary_end(primary, status);
}

void primary_fail(struct primary *primary, const struct troupe_error *error)
{
	primary->error = *error;
	primary_end_between_steps(primary, clock_now_ns(), error->status);
}

void primary_give_up(struct primary *primary)
{
	if (!lockstep_complete(&primary->lockstep)) {
		lockstep_give_up(&primary->lockstep);
		for (uint32_t m = 0; primary->step.window > 1 && m < primary->shared->scene->model_count; m++)
			state_leave_window(primary->shared->state, m);
		primary->emptied = false;
		primary->repeats = true;
	}
	primary_end_between_steps(primary, clock_now_ns(), TROUPE_OK);
}

bool primary_is_idle(const struct primary *primary)
{
	return primary->paused && !primary->options.iterations && !schedule_pending(&primary->schedule) &&
	       !atomic_load(&primary->stop);
}

/* --- the turn --------------------------------------------------------------------------------------------------- */

static void primary_tell(struct primary *primary, uint64_t k, bool first)
{
	uint64_t loaded = 0;
	for (uint32_t i = 0; primary->options.on_event && i < primary->plan.placement.events.count; i++)
		primary->options.on_event(primary->options.ctx, k, &primary->plan.placement.events.at[i]);
	if (primary->plan.placement.events.count || first) {
		for (uint32_t l = 0; l < primary->shared->scene->level_count; l++)
			loaded += primary->plan.loading.loaded[l];
		atomic_store_explicit(&primary->seen_levels, loaded, memory_order_relaxed);
		atomic_store_explicit(&primary->seen_moves, primary->plan.placement.moves, memory_order_relaxed);
	}
	atomic_store_explicit(&primary->seen_steps, k, memory_order_relaxed);
	atomic_store_explicit(&primary->seen_time_s, primary_time_s(primary), memory_order_relaxed);
	atomic_store_explicit(&primary->seen_paused, primary->paused, memory_order_relaxed);
}

/* Secondaries that worked so far take part once more, to release their models. */
static void primary_choose_secondaries(struct primary *primary)
{
	uint32_t before = primary->plan.placement.secondaries, now = primary->wanted;
	if (now != before)
		placement_use(&primary->plan.placement, now);
	for (uint32_t s = 0; s < primary->options.secondaries; s++)
		primary->plan.placement.parts[s].was_idle = s >= primary->lockstep.secondaries;
	primary->lockstep.secondaries =
		primary->options.all_take_part ? primary->options.secondaries : MAX(before, now);
}

/* Models that sleep when contacts are first asked for have no notes. */
static void primary_note_sleepers(struct primary *primary)
{
	struct observed *observed = &primary->observed;
	VEC(uint32_t) asleep = {0};
	for (uint32_t i = 0; i < primary->shared->scene->model_count; i++)
		if (primary_sleeps(primary, i))
			vec_push(&asleep, i);
	sleepers_note(primary->shared, asleep.at, asleep.count, primary->plan.loading.statics, primary->edit.step_s,
		&observed->contacts);
	notes_sort_contacts(&observed->contacts, &observed->scratch);
	vec_free(&asleep);
}

/* Forces are observed while there are sensors of them, wanted or not: a sensor of a sleeping model needs those of the
 * step in which the model was stepped last. */
static uint32_t primary_needed(const struct primary *primary)
{
	const struct sensors *sensors = primary->shared->sensors;
	uint32_t heard = primary->options.on_observe ? primary->options.on_observe(primary->options.ctx) : 0;
	return heard | (sensors->forces ? (uint32_t)OBSERVE_FORCES : 0u) |
	       (sensors->contacts || primary->shared->systems->reading ? (uint32_t)OBSERVE_CONTACTS : 0u);
}

/* The notes, bits OBSERVE_..., that are wanted of the coming step. */
static uint32_t primary_observes(const struct primary *primary)
{
	return primary->options.observe | primary->watched | primary_needed(primary);
}

/* Sets what is observed from this step on, and drops kept notes that no longer hold. Notes that the simulation itself
 * begins to read begin anew, because they must not depend on clients that have watched before. */
static void primary_observe(struct primary *primary)
{
	struct observed *observed = &primary->observed;
	uint32_t need = primary_needed(primary), renewed = need & ~observed->needed;
	uint32_t what = primary_observes(primary);
	bool begins = ((what & ~primary->step.observe) | renewed) & OBSERVE_CONTACTS;
	if (primary->step.observe != what || renewed)
		observed_keep(observed, what & ~renewed);
	observed->needed = need;
	primary->step.observe = what;
	if (!primary->step.observe)
		return;
	observed_fit(observed, primary->shared->scene);
	if (begins)
		primary_note_sleepers(primary);
	observed_forget(observed, primary->shared->scene, primary->plan.gone.at, primary->plan.gone.count);
}

/* After a reset, and at first, time was not seen by sensors. */
static struct sensor_times primary_times_of(const struct primary *primary)
{
	int64_t now_ns = sensor_time_ns(primary_time_s(primary));
	double next_s = primary->even_since_s + (double)(primary->even_steps + 1) * primary->edit.step_s;
	return (struct sensor_times){.seen_ns = primary->seen_ns < now_ns ? primary->seen_ns : now_ns - 1,
		.now_ns = now_ns,
		.next_ns = sensor_time_ns(next_s)};
}

struct sensors *primary_sensors(struct primary *primary)
{
	if (primary->sensed_epoch != primary->edit.epoch + 1)
		sensors_update(primary->shared->sensors);
	primary->sensed_epoch = primary->edit.epoch + 1;
	return primary->shared->sensors;
}

static void primary_fire_cameras(struct primary *primary)
{
	for (uint32_t i = 0; i < primary->triggered.count; i++) {
		const struct triggered *triggered = &primary->triggered.at[i];
		const struct scene_model *model = &primary->shared->scene->models[triggered->camera.model];
		if (model->id == triggered->id && !model->absent)
			sensors_fire(primary->shared->sensors, triggered->camera.model, triggered->camera.index);
	}
}

bool primary_minds_levels(struct primary *primary)
{
	return primary->options.hash_steps || loading_has_cargo(&primary->plan.loading);
}

/* How many steps may be taken together from step k on. */
static uint32_t primary_find_window(struct primary *primary, uint64_t k)
{
	uint32_t most = primary_most_steps(primary, k);
	if (primary->paced_steps)
		most = MIN(most, primary->paced_steps);
	primary->plan.pairs.blind = window_is_blind(&primary->window, k);
	primary->proposed = (uint32_t)primary_horizon(primary, k, most);
	return primary->proposed;
}

static void primary_begin_window(struct primary *primary, uint64_t k, uint32_t steps)
{
	struct step *step = &primary->step;
	if (steps < primary->proposed) /* commands need not wait for longer than the window lasts */
		schedule_open(&primary->schedule, k + steps);
	step->window = steps;
	window_begin(&primary->window, steps);
	step->mark = primary->window.mark;
	primary->plan.placement.window = step->window;
	step->hashes = step->window > 1 && primary->options.hash_steps;
	step->origins = step->window == 1 || !primary->shared->tracker.performers.count ? STEP_ORIGINS_NONE
			: primary_minds_levels(primary)                                 ? STEP_ORIGINS_ALL
											: STEP_ORIGINS_LAST;
	step->even_since_s = primary->even_since_s;
	step->even_steps = primary->even_steps;
}

static void primary_begin_sensors(struct primary *primary)
{
	struct sensors *sensors = primary_sensors(primary);
	primary->step.times = primary_times_of(primary);
	if (!primary->step.paused) {
		sensors_begin(sensors, &primary->step.times);
		primary_fire_cameras(primary);
	}
	if (!primary->step.paused && sensors->due_world)
		sensors_look(sensors, primary->shared->state, NULL);
}

/* Brings state k to what it is when the step begins. Returns how many steps may be taken together; 0: a system has
 * broken a rule. */
static uint32_t primary_begin_step(struct primary *primary, uint64_t k)
{
	struct step *step = &primary->step;
	primary->begun_step = k + 1;
	step->state_changed = false;
	primary_choose_secondaries(primary);
	plan_begin(&primary->plan);
	edit_begin(&primary->edit);
	primary_take_commands(primary, k);
	primary_take_decisions(primary, k);
	if (primary_ends_by_fault(primary, k))
		return 0;
	struct command *waiting = primary_waits_for_empty(primary, k);
	if (waiting)
		primary_tell_taken(primary, k, waiting, TROUPE_OK);
	primary->emptied = waiting;
	step->paused = primary->paused || primary->emptied;
	primary->pairs_changed = !primary->emptied && plan_levels(&primary->plan);
	return primary_find_window(primary, k);
}

/* Plans so many steps. False: a system has broken a rule. */
static bool primary_plan_step(struct primary *primary, uint64_t k, uint32_t steps, bool alone)
{
	const struct step *step = &primary->step;
	primary_begin_window(primary, k, steps);
	if (primary->emptied)
		plan_empty(&primary->plan);
	else
		plan_step(&primary->plan, primary->pairs_changed, k, (step->window - 1) * primary->edit.step_s);
	placement_deal_near(&primary->plan.placement, step->window > 1);
	primary_deal_commands(primary);
	primary_obey_due(primary, alone);
	return !primary_ends_by_fault(primary, k);
}

void primary_begin_alone(struct primary *primary)
{
	primary->ended = false;
	const uint64_t k = primary->lockstep.number;
	const uint32_t steps = primary_begin_step(primary, k);
	if (steps)
		(void)primary_plan_step(primary, k, steps, true);
	primary->ended = true;
}

/* Steps that are measured are not shared: the cost must be measured where the model is. Steps in which little moves,
 * and at most one slice of a reading is measured, are not shared either: they are not worth it. */
static bool primary_shares(const struct primary *primary)
{
	const struct step *step = &primary->step;
	const struct sensors *sensors = primary->shared->sensors;
	if (step->measure || step->window > 1)
		return false;
	if (step->secondaries == 1)
		return primary->options.helpers && !step->paused && sensors_call_for_help(sensors);
	return primary->changed > step->secondaries || (!step->paused && sensors->slices_due > 1);
}

const struct step *primary_decide(struct primary *primary, uint32_t steps)
{
	uint64_t k = primary->lockstep.number;
	struct step *step = &primary->step;
	if (!steps || !primary_plan_step(primary, k, steps, false))
		return NULL;
	wrenches_deal(&primary->wrenches, primary->shared->scene, step->paused,
		primary->plan.placement.ownership.now.model, primary->plan.placement.parts,
		primary->options.secondaries);
	primary_begin_sensors(primary);
	primary_observe(primary);
	primary_tell(primary, k, primary->is_first);
	step->number = k;
	step->time_s = primary_time_s(primary);
	step->dt = primary->edit.step_s;
	step->world_changed = primary->edit.world_changed;
	step->measure = placement_measures(&primary->plan.placement, k, step->window);
	step->secondaries = primary->lockstep.secondaries;
	step->share = primary_shares(primary);
	primary->share_rounds += step->share;
	step->share_round = (uint32_t)primary->share_rounds;
	step->help_first = primary->options.chaos && !primary->options.chaos_moves;
	step->repeated = primary->repeats;
	step->again = primary->refuted;
	primary->repeats = primary->refuted = false;
	step->state_changed |= primary->plan.pairs.woken;
	step->statics_changed = primary->plan.statics_changed;
	step->statics = primary->plan.loading.statics;
	step->changes = primary->plan.placement.changes.at;
	step->change_count = primary->plan.placement.changes.count;
	step->parts = primary->plan.placement.parts;
	troupe_status status = lockstep_publish(&primary->lockstep, k, step->window, &primary->error);
	if (status) {
		primary_end(primary, status);
		return NULL;
	}
	if (primary->paused)
		primary->paused_since_ns = primary->decided_ns;
	return step;
}

uint32_t primary_expects(struct primary *primary)
{
	const uint64_t k = primary->lockstep.number;
	if (primary->ended || primary_step_real_s(primary) <= 0)
		return UINT32_MAX;
	return (uint32_t)primary_expected_horizon(primary, k, primary_most_steps(primary, k));
}

uint32_t primary_propose(struct primary *primary, uint32_t most, uint64_t *ret_begin_ns)
{
	primary->advanced = false;
	if (primary->ended)
		return 0;
	if (!primary_limit_reached(primary))
		primary_keep_pace(primary, most);
	*ret_begin_ns = clock_now_ns();
	if (!primary->begin_ns) {
		primary->begin_ns = *ret_begin_ns;
		primary->begin_step = primary->lockstep.number;
		primary->begin_time_s = primary->passed_from_s = primary_time_s(primary);
	}
	primary_end_pause(primary, *ret_begin_ns);
	if (primary_limit_reached(primary) || atomic_load(&primary->stop)) {
		primary_end_between_steps(primary, *ret_begin_ns, TROUPE_OK);
		return 0;
	}
	primary->decided_ns = *ret_begin_ns;
	primary->is_first = !primary->plan.begun;
	if (primary->shared->scene->unread)
		unread_free_old(primary->shared->scene->unread, primary_time_s(primary));
	return primary_begin_step(primary, primary->lockstep.number);
}
