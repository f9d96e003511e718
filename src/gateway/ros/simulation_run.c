/* The run as a whole: its state, steps, resets, and services that simulation_interfaces lacks.
 *
 * Stopped is the same as paused for the server. simulation_interfaces tells the two apart by the last request. So the
 * stop is kept here, as long as the world is in the state in which the stop has left it. */
#include "gateway/ros/simulation_job.h"

#include "topic/message.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- what there is ------------------------------------------------------------------------------------------------ */

static void simulation_run_add_features(const struct job_row *rows, struct json_out *out)
{
	for (const struct job_row *row = rows; row->name; row++)
		if (row->feature != JOB_NO_FEATURE)
			json_out_int(out, NULL, row->feature);
}

static void simulation_run_add_all_features(bool loads, struct json_out *out)
{
	/* ENTITY_TAGS, ENTITY_BOUNDS_BOX, ENTITY_CATEGORIES, SPAWNING_RESOURCE_STRING, SIMULATION_RESET_TIME, _STATE
	 * and _SPAWNED, SIMULATION_STATE_PAUSE, STEP_SIMULATION_MULTIPLE: parts of services, without a service of their
	 * own */
	static const int others[] = {4, 6, 8, 9, 21, 22, 23, 26, 32};
	static const int loading[] = {40, 41, 43}; /* WORLD_LOADING, WORLD_RESOURCE_STRING, WORLD_UNLOADING */
	json_out_array(out, "features");
	simulation_run_add_features(job_run_rows, out);
	simulation_run_add_features(job_world_rows, out);
	simulation_run_add_features(job_entity_rows, out);
	simulation_run_add_features(job_place_rows, out);
	simulation_run_add_features(job_resource_rows, out);
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		json_out_int(out, NULL, others[i]);
	for (size_t i = 0; loads && i < ARRAY_LEN(loading); i++)
		json_out_int(out, NULL, loading[i]);
	json_out_end(out);
}

static void simulation_run_answer_features(struct job *job, bool loads)
{
	static const char *const formats[] = {"sdf", "urdf"};
	struct json_out *out = job_open(job);
	json_out_object(out, "features");
	simulation_run_add_all_features(loads, out);
	json_out_strings(out, "spawn_formats", formats, ARRAY_LEN(formats));
	json_out_printf(out, "custom_info", "troupe %s", troupe_version());
	json_out_end(out);
	job_send(job);
}

static void simulation_run_finish_features(struct job *job)
{
	simulation_run_answer_features(job, !job_refused(job));
}

static void simulation_run_get_features(struct job *job)
{
	job->next = simulation_run_finish_features;
	if (!job_ask_loading(job))
		simulation_run_answer_features(job, false);
}

/* --- state -------------------------------------------------------------------------------------------------------- */

enum simulation_run_state { STOPPED = 0, PLAYING = 1, SIMULATION_RUN_PAUSED = 2, QUITTING = 3, NO_WORLD = 4 };
enum { ALREADY_IN_TARGET_STATE = 101, STATE_TRANSITION_ERROR = 102, INCORRECT_TRANSITION = 103 };
static const char *const simulation_run_state_names[] = {"stopped", "playing", "paused", "quitting", "without a world"};

static enum simulation_run_state simulation_run_state_of(const struct job *job)
{
	struct job_world *world = job->world;
	if (job->models->no_world)
		return NO_WORLD;
	world->was_stopped &= job->models->paused && job->time_ns == world->stopped_ns;
	if (!job->models->paused)
		return PLAYING;
	return world->was_stopped ? STOPPED : SIMULATION_RUN_PAUSED;
}

static void simulation_run_get_state(struct job *job)
{
	struct json_out *out = job_respond(job, JOB_OK, "");
	json_out_object(out, "state");
	json_out_int(out, "state", simulation_run_state_of(job));
	json_out_end(out);
	job_send(job);
}

/* pause, and steps if there are any; reset NULL: none. */
static void simulation_run_ask_control(struct job *job, bool pause, uint32_t steps, Gz__Msgs__WorldReset *reset)
{
	Gz__Msgs__WorldControl control = GZ__MSGS__WORLD_CONTROL__INIT;
	control.pause_given_case = GZ__MSGS__WORLD_CONTROL__PAUSE_GIVEN_PAUSE;
	control.pause = pause;
	control.multi_step = steps;
	control.reset = reset;
	(void)job_ask(job, steps ? "control/blocking" : "control", &control.base);
}

static void simulation_run_note_stop(struct job *job)
{
	job->world->was_stopped = true;
	job->world->stopped_ns = job->time_ns;
	job_answer(job, JOB_OK, "%s", "");
}

static void simulation_run_finish_state(struct job *job)
{
	const struct job_sent *refused = job_refused(job);
	if (refused) {
		job_answer(job, STATE_TRANSITION_ERROR, "%s", refused->text);
	} else if (job_whole(job_arg(job, "state"), "state") == STOPPED) {
		job->next = simulation_run_note_stop;
		job_ask_models(job, false);
	} else {
		job->world->was_stopped = false;
		job_answer(job, JOB_OK, "%s", "");
	}
}

static void simulation_run_set_state(struct job *job)
{
	Gz__Msgs__WorldReset all = GZ__MSGS__WORLD_RESET__INIT;
	Gz__Msgs__ServerControl stop = GZ__MSGS__SERVER_CONTROL__INIT;
	int64_t wanted = job_whole(job_arg(job, "state"), "state");
	all.all = stop.stop = true;
	if (wanted > QUITTING) {
		job_answer(job, INCORRECT_TRANSITION,
			"state %" PRId64 ": expected 0 (stopped), 1 (playing), 2 (paused) or 3 (quitting)", wanted);
		return;
	}
	if (simulation_run_state_of(job) == NO_WORLD && wanted != QUITTING) {
		job_answer(job, INCORRECT_TRANSITION, "no world is loaded: expected load_world first");
		return;
	}
	if (wanted == (int64_t)simulation_run_state_of(job)) {
		job_answer(job, ALREADY_IN_TARGET_STATE, "the simulation is %s already",
			simulation_run_state_names[wanted]);
		return;
	}
	job->next = simulation_run_finish_state;
	if (wanted == QUITTING)
		(void)job_ask(job, "/server_control", &stop.base);
	else
		simulation_run_ask_control(job, wanted != PLAYING, 0, wanted == STOPPED ? &all : NULL);
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

static void simulation_run_check_steps(struct job *job)
{
	double step_ns = job->models->step_s * 1e9;
	double taken = step_ns > 0 ? (double)(job->time_ns - job->began_ns) / step_ns : 0;
	if (job->is_cancelled && job->done < job->total)
		job_answer(job, JOB_FAILED, "cancelled after %" PRIu64 " of %" PRIu64 " steps", job->done, job->total);
	else if (*job->failure)
		job_answer(job, JOB_FAILED, "%s", job->failure);
	else if (!job->models->paused || fabs(taken - (double)job->total) > 0.5)
		job_answer(job, JOB_FAILED,
			"%" PRIu64
			" steps were asked for, but the world %s after %.0f: another program commands it, too",
			job->total, job->models->paused ? "is paused" : "plays", taken);
	else
		job_answer(job, JOB_OK, "%s", "");
}

static void simulation_run_keep_failure(struct job *job)
{
	const struct job_sent *refused = job_refused(job);
	if (refused && !*job->failure)
		(void)snprintf(job->failure, sizeof job->failure, "%s", refused->text);
	job_forget_sent(job);
}

static void simulation_run_end_steps(struct job *job)
{
	simulation_run_keep_failure(job);
	job->next = simulation_run_check_steps;
	job_ask_models(job, false);
}

static bool simulation_run_begin_steps(struct job *job)
{
	int64_t steps = job_whole(job->args, "steps");
	if (steps < 1 || steps > UINT32_MAX) {
		job_answer(job, JOB_FAILED, "steps %" PRId64 ": expected 1 to %" PRIu32, steps, UINT32_MAX);
		return false;
	}
	if (simulation_run_state_of(job) == PLAYING || job->world->stepper) {
		job_answer(job, JOB_INCORRECT_STATE, "the simulation %s: expected a paused one",
			job->world->stepper ? "takes steps already" : "is playing");
		return false;
	}
	job->world->stepper = job;
	job->world->was_stopped = false;
	job->total = (uint64_t)steps;
	job->began_ns = job->time_ns;
	return true;
}

static void simulation_run_step(struct job *job)
{
	if (!simulation_run_begin_steps(job))
		return;
	job->next = simulation_run_end_steps;
	simulation_run_ask_control(job, true, (uint32_t)job->total, NULL);
}

static void simulation_run_tell_steps(const struct job *job)
{
	struct text feedback = {0};
	struct json_out out = {.text = &feedback};
	if (!job->asker.feedback)
		return;
	json_out_object(&out, NULL);
	json_out_uint(&out, "completed_steps", job->done);
	json_out_uint(&out, "remaining_steps", job->total - job->done);
	json_out_end(&out);
	job->asker.feedback(job->asker.ctx, &feedback);
	text_fini(&feedback);
}

/* Each step is a command of its own, so the world can be paused between any two, and is when the action is cancelled.
 */
static void simulation_run_simulate_step(struct job *job)
{
	if (job->sent.count) {
		simulation_run_keep_failure(job);
		if (!*job->failure) {
			job->done++;
			simulation_run_tell_steps(job);
		}
	}
	if (job->done == job->total || job->is_cancelled || *job->failure)
		simulation_run_end_steps(job);
	else
		simulation_run_ask_control(job, true, 1, NULL);
}

static void simulation_run_simulate_steps(struct job *job)
{
	if (!simulation_run_begin_steps(job))
		return;
	job->next = simulation_run_simulate_step;
	simulation_run_simulate_step(job);
}

/* --- reset -------------------------------------------------------------------------------------------------------- */

enum { SIMULATION_RUN_TIME = 1, STATE = 2, SPAWNED = 4, ALL = 255 };

static void simulation_run_finish_reset(struct job *job)
{
	simulation_run_keep_failure(job);
	if (*job->failure)
		job_answer(job, JOB_FAILED, "%s", job->failure);
	else
		job_answer(job, JOB_OK, "%s", "");
}

/* Asks the server for a reset, if its reset has exactly this scope. The world stays paused or running. */
static void simulation_run_ask_reset(struct job *job, int64_t scope)
{
	Gz__Msgs__WorldReset reset = GZ__MSGS__WORLD_RESET__INIT;
	bool models = (scope & (STATE | SPAWNED)) == (STATE | SPAWNED);
	reset.all = models && scope & SIMULATION_RUN_TIME;
	reset.model_only = models && !(scope & SIMULATION_RUN_TIME);
	reset.time_only = !models;
	job->next = simulation_run_finish_reset;
	simulation_run_ask_control(job, job->models->paused, 0, &reset);
}

/* Otherwise one model after the other. */
static void simulation_run_reset_models(struct job *job)
{
	simulation_run_keep_failure(job);
	for (int i = 0; i < JOB_BATCH && job->at < job->items.count; i++, job->at++) {
		Gz__Msgs__Entity entity = GZ__MSGS__ENTITY__INIT;
		entity.id = job->items.at[job->at].id;
		(void)job_ask(job, job->items.at[job->at].service, &entity.base);
	}
	if (job->sent.count)
		return;
	if (job_whole(job->args, "scope") & SIMULATION_RUN_TIME)
		simulation_run_ask_reset(job, SIMULATION_RUN_TIME);
	else
		simulation_run_finish_reset(job);
}

static void simulation_run_reset(struct job *job)
{
	int64_t scope = job_whole(job->args, "scope");
	if (!scope || scope == ALL)
		scope = SIMULATION_RUN_TIME | STATE | SPAWNED;
	if (scope & ~(SIMULATION_RUN_TIME | STATE | SPAWNED)) {
		job_answer(job, JOB_UNSUPPORTED, "scope %" PRId64 ": expected a sum of 1, 2 and 4, or 255", scope);
		return;
	}
	if (job->world->stepper) {
		job_answer(job, JOB_INCORRECT_STATE, "the simulation takes steps: expected one that does not");
		return;
	}
	if (scope == SIMULATION_RUN_TIME || (scope & (STATE | SPAWNED)) == (STATE | SPAWNED)) {
		simulation_run_ask_reset(job, scope);
		return;
	}
	for (size_t i = 0; i < job->models->n_model; i++) {
		const Troupe__Msgs__ModelState *state = job->models->model[i]->state;
		if (scope & SPAWNED ? state->created : !state->actor)
			vec_push(&job->items, (struct job_item){scope & SPAWNED ? "remove" : "reset_model", state->id});
	}
	job->next = simulation_run_reset_models;
	simulation_run_reset_models(job);
}

/* --- what simulation_interfaces lacks ----------------------------------------------------------------------------- */

static const Troupe__Msgs__StateHash *simulation_run_hash_of(struct job *job)
{
	const struct job_sent *sent = &job->sent.at[0];
	if (!sent->status && sent->reply && sent->reply->descriptor == &troupe__msgs__state_hash__descriptor)
		return (const void *)sent->reply;
	job_answer(job, JOB_FAILED, "%s", sent->text);
	return NULL;
}

static void simulation_run_finish_hash(struct job *job)
{
	const Troupe__Msgs__StateHash *hash = simulation_run_hash_of(job);
	if (!hash)
		return;
	struct json_out *out = job_respond(job, JOB_OK, "");
	json_out_uint(out, "step", hash->step);
	json_out_hash(out, "hash", hash->hash);
	job_send(job);
}

/* As text: JavaScript's numbers do not have 64 bits. */
static void simulation_run_finish_seed(struct job *job)
{
	const Troupe__Msgs__StateHash *hash = simulation_run_hash_of(job);
	if (!hash)
		return;
	json_out_printf(job_respond(job, JOB_OK, ""), "seed", "%" PRIu64, hash->seed);
	job_send(job);
}

static void simulation_run_ask_hash(struct job *job, job_fn *next)
{
	Gz__Msgs__Empty empty = GZ__MSGS__EMPTY__INIT;
	job->next = next;
	(void)job_ask(job, "hash", &empty.base);
}

static void simulation_run_get_hash(struct job *job)
{
	simulation_run_ask_hash(job, simulation_run_finish_hash);
}

static void simulation_run_get_seed(struct job *job)
{
	simulation_run_ask_hash(job, simulation_run_finish_seed);
}

static void simulation_run_ask_file(struct job *job, const char *service)
{
	Gz__Msgs__StringMsg name = GZ__MSGS__STRING_MSG__INIT;
	name.data = message_string(job_text(job->args, "name"));
	job->next = simulation_run_finish_reset;
	(void)job_ask(job, service, &name.base);
}

static void simulation_run_save(struct job *job)
{
	simulation_run_ask_file(job, "save");
}

static void simulation_run_resume(struct job *job)
{
	simulation_run_ask_file(job, "resume");
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

#define SIMULATION_RUN_STANDARD(type) "simulation_interfaces/srv/" type
#define OWN(type) "troupe_interfaces/srv/" type

const struct job_row job_run_rows[] = {
	{"get_simulator_features", SIMULATION_RUN_STANDARD("GetSimulatorFeatures"), JOB_NO_FEATURE, JOB_ALONE,
		simulation_run_get_features},
	{"get_simulation_state", SIMULATION_RUN_STANDARD("GetSimulationState"), 24, JOB_ANY, simulation_run_get_state},
	{"set_simulation_state", SIMULATION_RUN_STANDARD("SetSimulationState"), 25, JOB_ANY, simulation_run_set_state},
	{"step_simulation", SIMULATION_RUN_STANDARD("StepSimulation"), 31, JOB_MODELS, simulation_run_step},
	{"simulate_steps", "simulation_interfaces/action/SimulateSteps", 33, JOB_MODELS, simulation_run_simulate_steps},
	{"reset_simulation", SIMULATION_RUN_STANDARD("ResetSimulation"), 20, JOB_MODELS, simulation_run_reset},
	{"troupe/get_hash", OWN("GetHash"), JOB_NO_FEATURE, JOB_MODELS, simulation_run_get_hash},
	{"troupe/get_seed", OWN("GetSeed"), JOB_NO_FEATURE, JOB_MODELS, simulation_run_get_seed},
	{"troupe/save", OWN("Save"), JOB_NO_FEATURE, JOB_MODELS, simulation_run_save},
	{"troupe/resume", OWN("Resume"), JOB_NO_FEATURE, JOB_MODELS, simulation_run_resume},
	{NULL, NULL, 0, JOB_ALONE, NULL},
};
