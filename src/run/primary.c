/* Runs the world through time: merges the acks of a step, obeys the commands that are due, decides the next step.
 *
 * State k+1 becomes the present state only when the acks of all worlds are good. If an ack reports a failure, or a
 * secondary gave the step up, nothing is merged: the world stays at the last good state. A step that was given up can
 * be taken again; the commands that were obeyed before it stay obeyed. */
#include "run/sense.h"
#include "sensor/summary.h"
#include "system/camera_trigger.h"
#include "run/primary_internal.h"

#include "base/clock.h"
#include "geom/pack.h"
#include "run/services.h"
#include "run/sleepers.h"
#include "run/turn.h"

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

static void primary_free_taken(struct primary *primary)
{
	for (uint32_t i = 0; i < primary->taken.count; i++)
		command_fini(&primary->taken.at[i]);
	primary->taken.count = 0;
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

/* From a decision in a pause to the next one, or to the end, the world was paused. */
static void primary_end_pause(struct primary *primary, uint64_t now_ns)
{
	if (primary->paused_since_ns && now_ns > primary->paused_since_ns)
		primary->paused_ns += now_ns - primary->paused_since_ns;
	primary->paused_since_ns = 0;
}

static void primary_end(struct primary *primary, troupe_status status)
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

/* Real time that a step should take, in s; 0: as little as possible. */
static double primary_step_real_s(const struct primary *primary)
{
	double factor = primary_pace(primary);
	return factor > 0 ? primary->edit.step_s / factor : 0;
}

/* --- merge ------------------------------------------------------------------------------------------------------ */

static void primary_count_time(struct primary *primary, struct ack *const *acks)
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

/* Models of the secondary that it did not step are asleep, and cost nothing. */
static void primary_take_costs(struct primary *primary, const struct ack *ack)
{
	struct shared *shared = primary->shared;
	const uint32_t *owner = primary->plan.placement.ownership.now.model;
	for (uint32_t m = 0; m < shared->scene->model_count; m++)
		if (owner[m] == ack->secondary && shared->scene->models[m].body_count)
			cost_set(&shared->costs, m, 0);
	for (uint32_t i = 0; i < ack->changed.count; i++)
		cost_set(&shared->costs, ack->changed.at[i], ack->costs.at[i]);
}

/* Does for a remote secondary what a secondary in this process does itself: writes the boxes of state k+1, lists
 * leavers, writes costs. */
static void primary_derive(struct primary *primary, struct ack *ack)
{
	struct shared *shared = primary->shared;
	ack->leavers.count = 0;
	for (uint32_t i = 0; i < ack->changed.count; i++) {
		uint32_t model = ack->changed.at[i];
		if (!shared->scene->models[model].body_count)
			continue;
		shared->boxes[model].box = state_model_box(shared->state, model, true);
		if (shared_leaves(shared, model))
			vec_push(&ack->leavers, model);
	}
	if (primary->step.measure)
		primary_take_costs(primary, ack);
}

static void primary_take_remote(struct primary *primary, struct ack *const *acks)
{
	for (uint32_t i = 0; i < primary_taking_part(primary); i++)
		primary_derive(primary, acks[i]);
	primary->remote.acked(primary->remote.ctx, &primary->step, true);
}

/* The number of the moving step, of those that were just taken, in which the model changed last. */
static uint64_t primary_last_change(const struct primary *primary, uint32_t model)
{
	const struct touch_sweep *sweep = &primary->shared->sweeps[model];
	uint32_t step = primary->window.steps > 1 ? sweep->last : 1;
	return primary->moving_steps + step;
}

/* State k becomes that after the step for all models that changed. */
static void primary_advance_state(struct primary *primary, struct ack *const *acks)
{
	struct shared *shared = primary->shared;
	primary->changed = 0;
	primary->moved.count = 0;
	for (uint32_t i = 0; i < primary_taking_part(primary); i++) {
		primary->changed += acks[i]->changed.count;
		if (acks[i]->changed.count)
			memcpy(vec_append(&primary->moved, acks[i]->changed.count), acks[i]->changed.at,
				acks[i]->changed.count * sizeof *acks[i]->changed.at);
		for (uint32_t m = 0; m < acks[i]->changed.count; m++) {
			state_advance(shared->state, acks[i]->changed.at[m]);
			shared->state->models[acks[i]->changed.at[m]].changed_at =
				primary_last_change(primary, acks[i]->changed.at[m]);
			touch_moved(&shared->touch, acks[i]->changed.at[m]);
		}
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

static bool primary_some_abandoned(const struct primary *primary, struct ack *const *acks)
{
	bool abandoned = false;
	for (uint32_t i = 0; i < primary_taking_part(primary); i++)
		abandoned |= acks[i]->abandoned;
	return abandoned;
}

/* The ack that failed; NULL: none did. If several models diverged in the step, the model with the lowest number is
 * named, whichever secondary has it. */
static const struct ack *primary_failed_ack(const struct primary *primary, struct ack *const *acks)
{
	const struct ack *failed = NULL;
	for (uint32_t i = 0; i < primary_taking_part(primary); i++)
		if (acks[i]->status && (!failed || acks[i]->diverged < failed->diverged))
			failed = acks[i];
	return failed;
}

/* On failure no model advances: state k stays the last good one. */
static troupe_status primary_check_all_acks(struct primary *primary, struct ack *const *acks)
{
	for (uint32_t i = 0; i < primary_taking_part(primary); i++) {
		troupe_status status =
			lockstep_ack(&primary->lockstep, acks[i]->secondary, acks[i]->number, &primary->error);
		if (status)
			return status;
	}
	const struct ack *failed = primary_failed_ack(primary, acks);
	if (!failed)
		return TROUPE_OK;
	lockstep_roll_back(&primary->lockstep);
	primary->repeats = true;
	return fail(&primary->error, failed->status, "step %" PRIu64 ": %s", primary->step.number, failed->error.text);
}

bool primary_check_acks(struct primary *primary, struct ack *const *acks)
{
	assert(!lockstep_complete(&primary->lockstep));
	troupe_status status = primary_check_all_acks(primary, acks);
	if (!status && !primary_some_abandoned(primary, acks))
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
static bool primary_prove_levels(struct primary *primary)
{
	struct shared *shared = primary->shared;
	bool proven = true;
	for (uint32_t i = 0; proven && i < primary->moved.count; i++) {
		uint32_t model = primary->moved.at[i], performer = shared->tracker.performer_of[model];
		if (performer != SCENE_NONE)
			proven = tracker_proof_add(&shared->tracker, performer, &shared->sweeps[model].origin);
	}
	return tracker_proof_end(&shared->tracker) && proven;
}

static uint32_t primary_good_steps(const struct primary *primary, struct ack *const *acks)
{
	uint32_t good = primary->window.steps;
	for (uint32_t i = 0; i < primary_taking_part(primary); i++)
		good = MIN(good, acks[i]->good);
	return good;
}

static bool primary_prove_guesses(struct primary *primary)
{
	struct shared *shared = primary->shared;
	const enum physics_break rule = shared->physics.rule;
	const struct aabb_line *boxes = rule == PHYSICS_BREAK_SLEEPERS ? NULL : shared->boxes;
	bool minds_levels = primary->step.origins == STEP_ORIGINS_ALL && rule != PHYSICS_BREAK_LEVELS;
	return rule == PHYSICS_BREAK_PROOF ||
	       ((!minds_levels || primary_prove_levels(primary)) &&
		       touch_prove(&shared->touch, shared->sweeps, boxes, primary->step.mark, primary->moved.at,
			       primary->moved.count));
}

bool primary_prove(struct primary *primary, struct ack *const *acks)
{
	if (primary->step.window == 1) {
		window_proven(&primary->window);
		return true;
	}
	uint32_t good = primary_good_steps(primary, acks);
	primary->moved.count = 0;
	for (uint32_t i = 0; i < primary_taking_part(primary); i++)
		if (acks[i]->changed.count)
			memcpy(vec_append(&primary->moved, acks[i]->changed.count), acks[i]->changed.at,
				acks[i]->changed.count * sizeof *acks[i]->changed.at);
	bool proven = good == primary->step.window && primary_prove_guesses(primary);
	if (proven)
		window_proven(&primary->window);
	else
		window_refuted(&primary->window, good);
	return proven;
}

/* The step is state k to k+1; a reading of another time than that of k+1 is of k. */
static void primary_keep_last(const struct primary *primary, const struct readings *readings)
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

static void primary_take_readings(struct primary *primary, struct ack *const *acks)
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
		primary_keep_last(primary, readings);
	primary->reading_count += readings->list.count;
	primary->reading_digest += readings_digest(readings);
}

static void primary_look_back(struct primary *primary)
{
	for (uint32_t i = 0; i < primary->moved.count; i++)
		plan_look_back(
			&primary->plan, primary->moved.at[i], primary->shared->sweeps[primary->moved.at[i]].before);
	plan_looked_back(&primary->plan);
}

/* Of the states after each step of the window, from the last one back: the sum of the models' hashes is all that has
 * changed between them. */
static void primary_note_hashes(struct primary *primary, struct ack *const *acks)
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

static void primary_take_step(struct primary *primary, struct ack *const *acks)
{
	primary->triggered.count = 0;
	readings_clear(&primary->readings); /* not in a pause: systems see after it what was measured before it */
	primary_advance_state(primary, acks);
	if (primary->step.observe)
		observed_merge(
			&primary->observed, primary->shared, primary->step.mark, acks, primary_taking_part(primary));
	primary_take_readings(primary, acks);
	if (primary->step.origins)
		primary_look_back(primary);
	for (uint32_t i = 0; i < primary_taking_part(primary); i++)
		for (uint32_t s = 0; s < acks[i]->leavers.count; s++)
			plan_leaver(&primary->plan, acks[i]->leavers.at[s]);
}

void primary_advance(struct primary *primary, struct ack *const *acks)
{
	primary_count_time(primary, acks);
	primary->pace_elapsed_s += primary_step_real_s(primary) * primary->step.window;
	if (primary->remote.acked)
		primary_take_remote(primary, acks);
	primary->edit.log.count = primary->shared->state->written.count = 0;
	edit_give_up_places(&primary->edit);
	if (!primary->step.paused)
		primary_take_step(primary, acks);
	primary_note_hashes(primary, acks);
}

void primary_refute(struct primary *primary)
{
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

/* --- commands --------------------------------------------------------------------------------------------------- */

void primary_plan_effects(struct primary *primary)
{
	struct plan *plan = &primary->plan;
	for (uint32_t i = 0; i < primary->edit.effects.count; i++) {
		uint32_t model = primary->edit.effects.at[i].model;
		switch (primary->edit.effects.at[i].kind) {
		case EDIT_ADDED:
			plan_add(plan, model);
			break;
		case EDIT_REMOVED:
			plan_remove(plan, model);
			break;
		case EDIT_RESTORED:
			plan_add(plan, model);
			if (plan->loading.statics[model])
				plan_placed(plan, model);
			break;
		case EDIT_PLACED:
			plan_placed(plan, model);
			break;
		case EDIT_RESHAPED:
			plan_reshaped(plan, model);
			break;
		case EDIT_PUSHED:
			plan_pushed(plan, model);
			break;
		case EDIT_ATTACHED:
			plan_attached(plan, model);
			break;
		case EDIT_PERFORMER:
			plan_performer(plan, model);
			break;
		case EDIT_WOKE_ALL:
			plan_wake_all(plan);
		}
	}
	primary->edit.effects.count = 0;
}

/* Without Embree, cameras are not simulated. */
static troupe_status primary_trigger(
	struct primary *primary, uint32_t model, const struct sdf_sensor *camera, struct troupe_error *error)
{
	const struct sensor *sensor;
	for (uint32_t i = 0; (sensor = sensors_find(primary_sensors(primary), model, i)); i++)
		if (sensor->sdf == camera)
			break;
	if (!sensor || sensor->group == SENSOR_SILENT)
		return fail(error, TROUPE_ECOMMAND, "camera '%.150s' is not simulated here", camera->name);
	struct triggered triggered = {primary->shared->scene->models[model].id, {model, sensor->index}};
	for (uint32_t i = 0; i < primary->triggered.count; i++)
		if (!memcmp(&primary->triggered.at[i], &triggered, sizeof triggered))
			return TROUPE_OK;
	vec_push(&primary->triggered, triggered);
	return TROUPE_OK;
}

/* Whether a message of the client, or of a system of one of its models, is for this listener. Some systems of the world
 * are there for the robots of all clients. */
static bool primary_may_reach(const struct primary *primary, uint32_t owner, const struct system_listener *to)
{
	const struct systems *systems = primary->shared->systems;
	uint32_t of = to->model == SCENE_NONE ? 0 : primary->shared->scene->models[to->model].owner;
	return owners_may_act(&primary->edit.owners, owner, of) ||
	       systems_of(systems, to->model)->at[to->system].self.kind->flags & TROUPE_FOR_CLIENTS;
}

bool primary_reaches(const struct primary *primary, uint32_t owner, const char *topic)
{
	const struct system_listeners *entry = systems_find_listeners(primary->shared->systems, topic);
	for (uint32_t i = 0; entry && i < entry->listeners.count; i++)
		if (primary_may_reach(primary, owner, &entry->listeners.at[i]))
			return true;
	return false;
}

/* The message as the listener has it: a system that takes each type gets those of other types as an empty message of
 * its own, so that each machine can read it. */
static const ProtobufCMessage *primary_as_taken(
	const struct systems *systems, const struct system_listener *to, const ProtobufCMessage *message)
{
	static const Gz__Msgs__StringMsg empty = GZ__MSGS__STRING_MSG__INIT;
	const struct system_topic *topic = &systems_of(systems, to->model)->at[to->system].topics.at[to->topic];
	return topic->any && message->descriptor != topic->type ? &empty.base : message;
}

/* A list of Actuators may be for some listeners only. */
troupe_status primary_give(struct primary *primary, uint32_t owner, const char *topic, const ProtobufCMessage *message,
	struct troupe_error *error)
{
	const struct systems *systems = primary->shared->systems;
	const struct system_listeners *entry = systems_find_listeners(systems, topic);
	uint32_t given = 0;
	troupe_status first = TROUPE_OK;
	if (!entry)
		return fail(error, TROUPE_ECOMMAND, "no model has a plug-in that listens to it");
	for (uint32_t i = 0; i < entry->listeners.count; i++) {
		const struct system_listener *to = &entry->listeners.at[i];
		if (!primary_may_reach(primary, owner, to)) {
			first = first ? first
				      : fail(error, TROUPE_ECOMMAND, "no model of client '%.80s' listens to it",
						owners_name(&primary->edit.owners, owner));
			continue;
		}
		const struct sdf_sensor *camera = camera_trigger_of(systems, to);
		const ProtobufCMessage *own = primary_as_taken(systems, to, message);
		troupe_status status = camera ? primary_trigger(primary, to->model, camera, first ? NULL : error)
					      : systems_check(systems, to, own, first ? NULL : error);
		first = first ? first : status;
		if (status)
			continue;
		if (!camera)
			vec_push(&primary->due, (struct due_command){*to, own});
		given++;
	}
	return given ? TROUPE_OK : first;
}

static troupe_status primary_obey(
	struct primary *primary, struct command *command, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	if (command->service)
		return service_obey(primary, command, note, error);
	troupe_status status = command_parse_late(primary->shared->systems, command, error);
	const char *client = status ? NULL : command->client ? command->client : owner_of_message(command->message);
	if (client && !command->owner) {
		command->owner = owners_find(&primary->edit.owners, client);
		if (!command->owner) /* and so no model of its own */
			return fail(error, TROUPE_ECOMMAND, "no model of client '%.80s' listens to it", client);
	}
	return status ? status : primary_give(primary, command->owner, command->topic, command->message, error);
}

/* The next command that is due by step k, if it must wait until no secondary has anything; NULL: there is none. */
static struct command *primary_waits_for_empty(struct primary *primary, uint64_t k)
{
	struct command *next = primary->emptied ? NULL : schedule_next(&primary->schedule, k);
	return next && service_replaces(next) ? next : NULL;
}

/* A command that waits for an empty step is told of when it begins to wait, before the state after that step is: given
 * again at that step, it is obeyed when it was. Its outcome is not known then. The commands behind it wait with it.
 * They are told of when they are taken, with the step at which they were due: given again at that step, they wait
 * behind it again, and come before the commands of a later step. */
static void primary_tell_taken(struct primary *primary, uint64_t k, struct command *command, troupe_status status)
{
	if (primary->options.on_taken && !command->told)
		primary->options.on_taken(primary->options.ctx, MIN(command->step, k), command, status);
	command->told = true;
}

/* Obeys the command, tells what came of it, and keeps it until the step is over. */
static void primary_take(struct primary *primary, uint64_t k, struct command *command)
{
	char note[EDIT_NOTE_BYTES] = "";
	struct troupe_error error;
	troupe_status status = command_find_target(primary->shared->systems, primary->shared->scene, command, &error);
	if (!status)
		status = primary_obey(primary, command, note, &error);
	primary_plan_effects(primary);
	primary->requests += command->service != NULL;
	if (primary->options.on_reply && (status || command->service))
		primary->options.on_reply(
			primary->options.ctx, k, command->topic, status, status ? error.text : note, command->call);
	if (!status && command->told && command->prepared && primary->options.on_made)
		primary->options.on_made(primary->options.ctx, command);
	primary_tell_taken(primary, k, command, status);
	primary->refused += status && !command->call; /* its caller is told */
	if (!status && command_blocks(command) && (primary->multi_steps || primary->run_to_s > 0)) {
		vec_push(&primary->waiting_calls, command->call);
		command->call = NULL;
	}
	command_answer(command, k, status, status ? error.text : note);
	vec_push(&primary->taken, *command);
}

static void primary_take_due(struct primary *primary, uint64_t k)
{
	struct command command;
	while (!primary->ended && !primary_waits_for_empty(primary, k) &&
		schedule_due(&primary->schedule, k, &command)) {
		if (command_passes(primary->shared->systems, &command))
			command_fini(&command);
		else
			primary_take(primary, k, &command);
	}
}

/* Commands bound to simulated time are for steps that move. */
static bool primary_feed(struct primary *primary, uint64_t k)
{
	double step_s = primary->edit.step_s;
	double now_s = primary->even_since_s - primary->options.initial_time_s + (double)primary->even_steps * step_s;
	return !primary->paused && !primary->ended && !primary_waits_for_empty(primary, k) &&
	       schedule_feed(&primary->schedule, k, now_s - (primary->window.steps - 1) * step_s, now_s, step_s * 1e-6);
}

/* A timed command may reset the time, whereupon the first ones are due again: they are taken in the same step, as in
 * the first step of the run. A further reset among them has no such effect before the next step. */
static void primary_take_timed(struct primary *primary, uint64_t k)
{
	for (int i = 0; i < 2 && primary_feed(primary, k); i++)
		primary_take_due(primary, k);
}

static void primary_take_commands(struct primary *primary, uint64_t k)
{
	primary_free_taken(primary);
	primary->due.count = 0;
	schedule_open(&primary->schedule, k + 1);
	primary_take_due(primary, k);
	primary_take_timed(primary, k);
}

/* What systems decide follows from state k, which has the effects of the commands of this step. It is not recorded or
 * saved: a replay and a resumed run decide it again. A step that was given up is taken again with what was decided. */
static void primary_take_decisions(struct primary *primary, uint64_t k)
{
	if (primary->paused || primary->ended || primary_waits_for_empty(primary, k) || primary->decided_step == k + 1)
		return;
	primary->decided_step = k + 1;
	if (primary->options.on_decide)
		primary->options.on_decide(primary->options.ctx);
	if (primary->turn)
		turn_set(primary->turn, TURN_UPDATES);
	primary_update_systems(primary);
	if (primary->turn)
		turn_set(primary->turn, TURN_BUSY);
	for (uint32_t i = 0; i < primary->decided.count; i++)
		primary_take(primary, k, &primary->decided.at[i]);
	primary->decided.count = 0;
	primary_take_timed(primary, k); /* only after a reset */
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

/* Drops commands to models that a later command of the same step removed. */
static void primary_drop_for_absent(struct primary *primary)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < primary->due.count; i++) {
		uint32_t model = primary->due.at[i].to.model;
		if (model == SCENE_NONE || !primary->shared->scene->models[model].absent)
			primary->due.at[kept++] = primary->due.at[i];
	}
	primary->due.count = kept;
}

/* The secondary that gets a command, from 1; ASSIGN_NONE: none does. */
static uint32_t primary_taker_of(const struct primary *primary, const struct due_command *due)
{
	return due->to.model == SCENE_NONE ? ASSIGN_NONE : primary->plan.placement.ownership.now.model[due->to.model];
}

/* Obeys commands on the primary's own state: those to the world, and to models that no secondary simulates. If the
 * secondaries are in other processes, they obey theirs on copies, so the primary obeys all. all: no secondary will get
 * the step. */
static void primary_obey_due(struct primary *primary, bool all)
{
	const struct shared *shared = primary->shared;
	for (uint32_t i = 0; i < primary->due.count; i++) {
		const struct due_command *due = &primary->due.at[i];
		if (all || primary->remote.acked || primary_taker_of(primary, due) == ASSIGN_NONE)
			systems_command(shared->systems, &due->to, due->message, shared->state, shared->systems->fault);
	}
}

/* Commands go to the secondary that simulates the model. */
static void primary_deal_commands(struct primary *primary)
{
	struct plan *plan = &primary->plan;
	primary_drop_for_absent(primary);
	primary->commands.count = 0;
	for (uint32_t s = 0; s < primary->options.secondaries; s++)
		plan->placement.parts[s].command_count = 0;
	if (!primary->due.count)
		return;
	(void)vec_append(&primary->commands, primary->due.count);
	uint32_t at = 0;
	for (uint32_t s = 0; s < primary->options.secondaries; s++) {
		plan->placement.parts[s].commands = primary->commands.at + at;
		for (uint32_t i = 0; i < primary->due.count; i++)
			if (primary_taker_of(primary, &primary->due.at[i]) == s + 1) {
				primary->commands.at[at++] = primary->due.at[i];
				plan->placement.parts[s].command_count++;
			}
	}
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
static void primary_keep_pace(struct primary *primary)
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
	primary->paced_steps = (uint32_t)primary_expected_horizon(primary, k, primary_most_steps(primary, k));
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

uint32_t primary_observes(const struct primary *primary)
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

/* Decides how many steps are taken together from step k on. */
static void primary_begin_window(struct primary *primary, uint64_t k)
{
	struct step *step = &primary->step;
	uint32_t most = primary_most_steps(primary, k);
	if (primary->paced_steps)
		most = MIN(most, primary->paced_steps);
	primary->plan.pairs.blind = window_is_blind(&primary->window, k);
	step->window = (uint32_t)primary_horizon(primary, k, most);
	window_begin(&primary->window, step->window);
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

/* Brings state k to what it is when the step begins. False: a system has broken a rule. */
static bool primary_begin_step(struct primary *primary, uint64_t k, bool alone)
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
		return false;
	struct command *waiting = primary_waits_for_empty(primary, k);
	if (waiting)
		primary_tell_taken(primary, k, waiting, TROUPE_OK);
	primary->emptied = waiting;
	step->paused = primary->paused || primary->emptied;
	bool changed = !primary->emptied && plan_levels(&primary->plan);
	primary_begin_window(primary, k);
	if (primary->emptied)
		plan_empty(&primary->plan);
	else
		plan_step(&primary->plan, changed, k, (step->window - 1) * primary->edit.step_s);
	placement_deal_near(&primary->plan.placement, step->window > 1);
	primary_deal_commands(primary);
	primary_obey_due(primary, alone);
	return !primary_ends_by_fault(primary, k);
}

void primary_begin_alone(struct primary *primary)
{
	primary->ended = false;
	(void)primary_begin_step(primary, primary->lockstep.number, true);
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

static const struct step *primary_decide_step(struct primary *primary)
{
	uint64_t k = primary->lockstep.number;
	struct step *step = &primary->step;
	bool first = !primary->plan.begun;
	if (primary->shared->scene->unread)
		unread_free_old(primary->shared->scene->unread, primary_time_s(primary));
	if (!primary_begin_step(primary, k, false))
		return NULL;
	wrenches_deal(&primary->wrenches, primary->shared->state, step->paused,
		primary->plan.placement.ownership.now.model, primary->plan.placement.parts,
		primary->options.secondaries);
	primary_begin_sensors(primary);
	primary_observe(primary);
	primary_tell(primary, k, first);
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
	return step;
}

const struct step *primary_decide(struct primary *primary, uint64_t *ret_begin_ns)
{
	if (primary->ended)
		return NULL;
	if (!primary_limit_reached(primary))
		primary_keep_pace(primary);
	*ret_begin_ns = clock_now_ns();
	if (!primary->begin_ns) {
		primary->begin_ns = *ret_begin_ns;
		primary->begin_step = primary->lockstep.number;
		primary->begin_time_s = primary->passed_from_s = primary_time_s(primary);
	}
	primary_end_pause(primary, *ret_begin_ns);
	if (primary_limit_reached(primary) || atomic_load(&primary->stop)) {
		primary_end_between_steps(primary, *ret_begin_ns, TROUPE_OK);
		return NULL;
	}
	const struct step *step = primary_decide_step(primary);
	if (step && primary->paused)
		primary->paused_since_ns = *ret_begin_ns;
	return step;
}
