/* Merges the acks of a step: state k+1 becomes the present state of the models that changed.
 *
 * It does so only when the acks of all worlds are good. If an ack reports a failure, or a secondary gave the step up,
 * nothing is merged: the world stays at the last good state. Nor is a window whose guesses are refuted. */
#include "run/primary_internal.h"

#include "base/clock.h"
#include "geom/pack.h"
#include "run/sense.h"
#include "sensor/summary.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* Returns for how long the secondary worked that worked longest. */
static uint64_t primary_merge_count_time(struct primary *primary, struct ack *const *acks)
{
	uint32_t slowest = 0;
	for (uint32_t i = 0; i < primary_taking_part(primary); i++) {
		struct secondary_stats *stats = &primary->stats[i];
		stats->steps += primary->window.steps;
		stats->busy_ns += acks[i]->busy_ns;
		stats->waited_ns += acks[i]->waited_ns;
		if (acks[i]->busy_ns > acks[slowest]->busy_ns)
			slowest = i;
	}
	primary->stats[slowest].critical_ns += acks[slowest]->busy_ns;
	return acks[slowest]->busy_ns;
}

/* Models of the secondary that it did not step are asleep, and cost nothing. */
static void primary_merge_take_costs(struct primary *primary, const struct ack *ack)
{
	struct shared *shared = primary->shared;
	const uint32_t *owner = primary->plan.placement.ownership.now.model;
	for (uint32_t m = 0; m < shared->scene->model_count; m++)
		if (owner[m] == ack->secondary && shared->scene->models[m].body_count)
			cost_set(&shared->costs, m, 0);
	for (uint32_t i = 0; i < ack->changed.count; i++)
		cost_set(&shared->costs, ack->changed.at[i], ack->costs.at[i]);
}

static void primary_merge_add_leaver(struct ack *ack, uint32_t model, uint32_t left)
{
	if (left)
		vec_push(&ack->leavers, (struct leaver){model, left});
}

/* Does for a remote secondary what a secondary in this process does itself, before a window is proven. */
static void primary_merge_derive_leavers(struct primary *primary, struct ack *ack)
{
	const struct shared *shared = primary->shared;
	ack->leavers.count = 0;
	for (uint32_t i = 0; i < ack->changed.count; i++) {
		uint32_t model = ack->changed.at[i];
		primary_merge_add_leaver(ack, model, shared_left_window(shared, &primary->step, model, true));
	}
}

/* The same when its result counts: writes the boxes of state k+1, lists leavers of a single step, writes costs. */
static void primary_merge_derive(struct primary *primary, struct ack *ack)
{
	struct shared *shared = primary->shared;
	for (uint32_t i = 0; i < ack->changed.count; i++) {
		uint32_t model = ack->changed.at[i];
		if (!shared->scene->models[model].body_count)
			continue;
		shared->boxes[model].box = state_model_box(shared->state, model, true);
		if (primary->step.window == 1)
			primary_merge_add_leaver(ack, model, shared_left(shared, model));
	}
	if (primary->step.measure)
		primary_merge_take_costs(primary, ack);
}

static void primary_merge_take_remote(struct primary *primary, struct ack *const *acks)
{
	for (uint32_t i = 0; i < primary_taking_part(primary); i++)
		primary_merge_derive(primary, acks[i]);
	primary->remote.acked(primary->remote.ctx, &primary->step, true);
}

/* State k becomes that after the step for all models that changed. */
static void primary_merge_advance_ack(const struct primary *primary, const struct ack *ack)
{
	struct shared *shared = primary->shared;
	struct state_model *models = shared->state->models;
	const uint64_t last_step = primary->moving_steps + primary->window.steps;
	for (uint32_t m = 0; m < ack->changed.count; m++) {
		const uint32_t model = ack->changed.at[m];
		state_advance(shared->state, model);
		models[model].changed_at = last_step;
		touch_moved(&shared->touch, model);
	}
	for (uint32_t s = 0; s < ack->leavers.count; s++)
		if (ack->leavers.at[s].left & LEFT_EARLY)
			models[ack->leavers.at[s].model].changed_at =
				primary->moving_steps + shared->sweeps[ack->leavers.at[s].model].last;
}

static void primary_merge_advance_state(struct primary *primary, struct ack *const *acks)
{
	primary->changed = 0;
	primary->moved.count = 0;
	for (uint32_t i = 0; i < primary_taking_part(primary); i++) {
		primary->changed += acks[i]->changed.count;
		if (acks[i]->changed.count)
			memcpy(vec_append(&primary->moved, acks[i]->changed.count), acks[i]->changed.at,
				acks[i]->changed.count * sizeof *acks[i]->changed.at);
		primary_merge_advance_ack(primary, acks[i]);
	}
	const uint32_t steps = primary->window.steps;
	wrenches_taken(&primary->wrenches);
	primary->moving_steps += steps;
	primary->even_steps += steps;
	primary->run_steps += steps;
	bool last = primary->multi_steps && !(primary->multi_steps -= MIN(primary->multi_steps, steps));
	if (last || (primary->run_to_s > 0 && primary_has_reached(primary, primary->run_to_s)))
		primary_pause(primary);
}

static bool primary_merge_some_abandoned(const struct primary *primary, struct ack *const *acks)
{
	bool abandoned = false;
	for (uint32_t i = 0; i < primary_taking_part(primary); i++)
		abandoned |= acks[i]->abandoned;
	return abandoned;
}

/* The ack that failed; NULL: none did. If several models diverged in the step, the model with the lowest number is
 * named, whichever secondary has it. */
static const struct ack *primary_merge_failed_ack(const struct primary *primary, struct ack *const *acks)
{
	const struct ack *failed = NULL;
	for (uint32_t i = 0; i < primary_taking_part(primary); i++)
		if (acks[i]->status && (!failed || acks[i]->diverged < failed->diverged))
			failed = acks[i];
	return failed;
}

/* On failure no model advances: state k stays the last good one. */
static troupe_status primary_merge_check_all_acks(struct primary *primary, struct ack *const *acks)
{
	for (uint32_t i = 0; i < primary_taking_part(primary); i++) {
		troupe_status status =
			lockstep_ack(&primary->lockstep, acks[i]->secondary, acks[i]->number, &primary->error);
		if (status)
			return status;
	}
	const struct ack *failed = primary_merge_failed_ack(primary, acks);
	if (!failed)
		return TROUPE_OK;
	lockstep_roll_back(&primary->lockstep);
	primary->repeats = true;
	return fail(&primary->error, failed->status, "step %" PRIu64 ": %s", primary->step.number, failed->error.text);
}

bool primary_check_acks(struct primary *primary, struct ack *const *acks)
{
	assert(!lockstep_complete(&primary->lockstep));
	troupe_status status = primary_merge_check_all_acks(primary, acks);
	if (!status && !primary_merge_some_abandoned(primary, acks))
		return true;
	if (!status)
		primary_roll_back(primary);
	primary->end_ns = clock_now_ns();
	primary_end_pause(primary, primary->end_ns);
	primary_end(primary, status);
	return false;
}

/* Whether no level may have been to be loaded or unloaded within the window, so that models should have come or gone
 * with it. */
static bool primary_merge_prove_levels(struct primary *primary, struct ack *const *acks)
{
	struct shared *shared = primary->shared;
	bool proven = true;
	for (uint32_t i = 0; i < primary_taking_part(primary); i++)
		for (uint32_t s = 0; proven && s < acks[i]->leavers.count; s++) {
			const struct leaver *leaver = &acks[i]->leavers.at[s];
			if (leaver->left & LEFT_CALM)
				proven =
					tracker_proof_add(&shared->tracker, shared->tracker.performer_of[leaver->model],
						&shared->sweeps[leaver->model].origin);
		}
	return tracker_proof_end(&shared->tracker) && proven;
}

/* Also puts the models that left their boxes into new ones, which the window that counts then needs. */
static bool primary_merge_prove_pairs(struct primary *primary, struct ack *const *acks)
{
	struct shared *shared = primary->shared;
	const struct aabb_line *boxes = shared->physics.rule == PHYSICS_BREAK_SLEEPERS ? NULL : shared->boxes;
	primary->moved.count = 0;
	for (uint32_t i = 0; i < primary_taking_part(primary); i++)
		for (uint32_t s = 0; s < acks[i]->leavers.count; s++)
			if (acks[i]->leavers.at[s].left & LEFT_SWEPT)
				vec_push(&primary->moved, acks[i]->leavers.at[s].model);
	return touch_prove(
		&shared->touch, shared->sweeps, boxes, primary->step.mark, primary->moved.at, primary->moved.count);
}

static uint32_t primary_merge_good_steps(const struct primary *primary, struct ack *const *acks)
{
	uint32_t good = primary->window.steps;
	for (uint32_t i = 0; i < primary_taking_part(primary); i++)
		good = MIN(good, acks[i]->good);
	return good;
}

static bool primary_merge_prove_guesses(struct primary *primary, struct ack *const *acks)
{
	const enum physics_break rule = primary->shared->physics.rule;
	bool minds_levels = primary->step.origins == STEP_ORIGINS_ALL && rule != PHYSICS_BREAK_LEVELS;
	for (uint32_t i = 0; primary->remote.acked && i < primary_taking_part(primary); i++)
		primary_merge_derive_leavers(primary, acks[i]);
	bool proven = !minds_levels || primary_merge_prove_levels(primary, acks);
	proven = primary_merge_prove_pairs(primary, acks) && proven;
	return proven || rule == PHYSICS_BREAK_PROOF;
}

bool primary_prove(struct primary *primary, struct ack *const *acks)
{
	primary->good = primary->step.window;
	if (primary->step.window == 1)
		return true;
	primary->good = primary_merge_good_steps(primary, acks);
	return primary->good == primary->step.window && primary_merge_prove_guesses(primary, acks);
}

/* The step is state k to k+1; a reading of another time than that of k+1 is of k. */
static void primary_merge_keep_last(const struct primary *primary, const struct readings *readings)
{
	for (uint32_t i = 0; i < readings->list.count; i++) {
		const struct reading *reading = &readings->list.at[i];
		const struct sensor *sensor = sensors_find(primary->shared->sensors, reading->model, reading->index);
		if (!sensor || !sensor->last)
			continue;
		sensor->last->given = true;
		sensor->last->step = primary->step.number + (reading->time_ns == primary->step.times.next_ns);
		sensor->last->time_ns = reading->time_ns;
		summary_make(readings, reading, sensor->last->numbers);
	}
}

static void primary_merge_take_readings(struct primary *primary, struct ack *const *acks)
{
	struct readings *readings = &primary->readings;
	primary->seen_ns = primary->window.steps > 1
				   ? sensor_time_ns(primary->even_since_s +
						    (double)(primary->even_steps - 1) * primary->edit.step_s)
				   : primary->step.times.now_ns;
	if (!primary->shared->sensors->wanted)
		return;
	for (uint32_t i = 0; i < primary_taking_part(primary); i++)
		if (acks[i]->readings)
			readings_append(readings, acks[i]->readings);
	if (primary->step.observe & OBSERVE_FORCES)
		sense_forces(primary->shared, &primary->step, primary->observed.reactions, &primary->observed.contacts,
			primary->plan.placement.ownership.now.model, readings);
	readings_sort(readings);
	if (primary->shared->sensors->held)
		primary_merge_keep_last(primary, readings);
	primary->reading_count += readings->list.count;
	primary->reading_digest += readings_digest(readings);
}

static void primary_merge_look_back(struct primary *primary, struct ack *const *acks)
{
	for (uint32_t i = 0; i < primary_taking_part(primary); i++)
		for (uint32_t s = 0; s < acks[i]->leavers.count; s++) {
			const struct leaver *leaver = &acks[i]->leavers.at[s];
			if (leaver->left & LEFT_BEFORE)
				plan_look_back(
					&primary->plan, leaver->model, primary->shared->sweeps[leaver->model].before);
		}
	plan_looked_back(&primary->plan);
}

/* Of the states after each step of the window, from the last one back: the sum of the models' hashes is all that has
 * changed between them. */
static void primary_merge_note_hashes(struct primary *primary, struct ack *const *acks)
{
	uint32_t steps = primary->step.window;
	primary->hashes.count = 0;
	if (!primary->options.hash_steps)
		return;
	uint64_t *hashes = vec_append(&primary->hashes, steps);
	hashes[steps - 1] = primary_hash(primary);
	for (uint32_t s = steps - 1; s; s--) {
		hashes[s - 1] = hashes[s];
		for (uint32_t i = 0; i < primary_taking_part(primary); i++)
			hashes[s - 1] -= acks[i]->hashes.at[s];
	}
}

static void primary_merge_take_step(struct primary *primary, struct ack *const *acks)
{
	primary->triggered.count = 0;
	readings_clear(&primary->readings); /* not in a pause: systems see after it what was measured before it */
	primary_merge_advance_state(primary, acks);
	if (primary->step.observe)
		observed_merge(
			&primary->observed, primary->shared, primary->step.mark, acks, primary_taking_part(primary));
	primary_merge_take_readings(primary, acks);
	if (primary->step.origins)
		primary_merge_look_back(primary, acks);
	for (uint32_t i = 0; i < primary_taking_part(primary); i++)
		for (uint32_t s = 0; s < acks[i]->leavers.count; s++)
			if (acks[i]->leavers.at[s].left & (LEFT_STAY | LEFT_BEFORE))
				plan_leaver(&primary->plan, acks[i]->leavers.at[s].model);
}

void primary_advance(struct primary *primary, struct ack *const *acks)
{
	primary->advanced = true;
	const uint64_t busy_ns = primary_merge_count_time(primary, acks);
	window_proven(&primary->window, (double)(clock_now_ns() - primary->decided_ns), (double)busy_ns);
	primary->pace_elapsed_s += primary_step_real_s(primary) * primary->step.window;
	if (primary->remote.acked)
		primary_merge_take_remote(primary, acks);
	primary->edit.log.count = primary->shared->state->written.count = 0;
	edit_give_up_places(&primary->edit);
	if (!primary->step.paused)
		primary_merge_take_step(primary, acks);
	primary_merge_note_hashes(primary, acks);
}

void primary_refute(struct primary *primary)
{
	window_refuted(&primary->window, primary->good);
	if (primary->remote.acked)
		primary->remote.acked(primary->remote.ctx, &primary->step, false);
	primary->edit.log.count = primary->shared->state->written.count = 0;
	edit_give_up_places(&primary->edit);
	primary_roll_back(primary);
	primary->refuted = true;
}

/* Forgets what was derived from state k+1 so far. */
void primary_roll_back(struct primary *primary)
{
	lockstep_roll_back(&primary->lockstep);
	primary->emptied = false;
	plan_measure(&primary->plan);
	primary->repeats = true;
}
