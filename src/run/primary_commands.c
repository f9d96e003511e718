/* A command is told of, obeyed on the primary's own scene and states, and kept until its step is over: messages for
 * systems travel with the step to the secondaries that simulate their models. */
#include "run/primary_commands.h"

#include "run/primary_internal.h"
#include "run/services.h"
#include "run/turn.h"
#include "system/camera_trigger.h"

#include <string.h>

void primary_free_taken(struct primary *primary)
{
	for (uint32_t i = 0; i < primary->taken.count; i++)
		command_fini(&primary->taken.at[i]);
	primary->taken.count = 0;
}

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
static troupe_status primary_commands_trigger(
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
static bool primary_commands_may_reach(const struct primary *primary, uint32_t owner, const struct system_listener *to)
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
		if (primary_commands_may_reach(primary, owner, &entry->listeners.at[i]))
			return true;
	return false;
}

/* The message as the listener has it: a system that takes each type gets those of other types as an empty message of
 * its own, so that each machine can read it. */
static const ProtobufCMessage *primary_commands_as_taken(
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
		if (!primary_commands_may_reach(primary, owner, to)) {
			first = first ? first
				      : fail(error, TROUPE_ECOMMAND, "no model of client '%.80s' listens to it",
						owners_name(&primary->edit.owners, owner));
			continue;
		}
		const struct sdf_sensor *camera = camera_trigger_of(systems, to);
		const ProtobufCMessage *own = primary_commands_as_taken(systems, to, message);
		troupe_status status =
			camera ? primary_commands_trigger(primary, to->model, camera, first ? NULL : error)
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

static troupe_status primary_commands_obey(
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

struct command *primary_waits_for_empty(struct primary *primary, uint64_t k)
{
	struct command *next = primary->emptied ? NULL : schedule_next(&primary->schedule, k);
	return next && service_replaces(next) ? next : NULL;
}

/* A command that waits for an empty step is told of when it begins to wait, before the state after that step is: given
 * again at that step, it is obeyed when it was. Its outcome is not known then. The commands behind it wait with it.
 * They are told of when they are taken, with the step at which they were due: given again at that step, they wait
 * behind it again, and come before the commands of a later step. */
void primary_tell_taken(struct primary *primary, uint64_t k, struct command *command, troupe_status status)
{
	if (primary->options.on_taken && !command->told)
		primary->options.on_taken(primary->options.ctx, MIN(command->step, k), command, status);
	command->told = true;
}

/* Obeys the command, tells what came of it, and keeps it until the step is over. */
static void primary_commands_take(struct primary *primary, uint64_t k, struct command *command)
{
	char note[EDIT_NOTE_BYTES] = "";
	struct troupe_error error;
	troupe_status status = command_find_target(primary->shared->systems, primary->shared->scene, command, &error);
	if (!status)
		status = primary_commands_obey(primary, command, note, &error);
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

static void primary_commands_take_due(struct primary *primary, uint64_t k)
{
	struct command command;
	while (!primary->ended && !primary_waits_for_empty(primary, k) &&
		schedule_due(&primary->schedule, k, &command)) {
		if (command_passes(primary->shared->systems, &command))
			command_fini(&command);
		else
			primary_commands_take(primary, k, &command);
	}
}

/* Commands bound to simulated time are for steps that move. */
static bool primary_commands_feed(struct primary *primary, uint64_t k)
{
	double step_s = primary->edit.step_s;
	double now_s = primary->even_since_s - primary->options.initial_time_s + (double)primary->even_steps * step_s;
	return !primary->paused && !primary->ended && !primary_waits_for_empty(primary, k) &&
	       schedule_feed(&primary->schedule, k, now_s - (primary->window.steps - 1) * step_s, now_s, step_s * 1e-6);
}

/* A timed command may reset the time, whereupon the first ones are due again: they are taken in the same step, as in
 * the first step of the run. A further reset among them has no such effect before the next step. */
static void primary_commands_take_timed(struct primary *primary, uint64_t k)
{
	for (int i = 0; i < 2 && primary_commands_feed(primary, k); i++)
		primary_commands_take_due(primary, k);
}

void primary_take_commands(struct primary *primary, uint64_t k)
{
	primary_free_taken(primary);
	primary->due.count = 0;
	schedule_open(&primary->schedule, k + 1);
	primary_commands_take_due(primary, k);
	primary_commands_take_timed(primary, k);
}

/* What systems decide follows from state k, which has the effects of the commands of this step. It is not recorded or
 * saved: a replay and a resumed run decide it again. A step that was given up is taken again with what was decided. */
void primary_take_decisions(struct primary *primary, uint64_t k)
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
		primary_commands_take(primary, k, &primary->decided.at[i]);
	primary->decided.count = 0;
	primary_commands_take_timed(primary, k); /* only after a reset */
}

/* Drops commands to models that a later command of the same step removed. */
static void primary_commands_drop_for_absent(struct primary *primary)
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
static uint32_t primary_commands_taker_of(const struct primary *primary, const struct due_command *due)
{
	return due->to.model == SCENE_NONE ? ASSIGN_NONE : primary->plan.placement.ownership.now.model[due->to.model];
}

void primary_obey_due(struct primary *primary, bool all)
{
	const struct shared *shared = primary->shared;
	for (uint32_t i = 0; i < primary->due.count; i++) {
		const struct due_command *due = &primary->due.at[i];
		if (all || primary->remote.acked || primary_commands_taker_of(primary, due) == ASSIGN_NONE)
			systems_command(shared->systems, &due->to, due->message, shared->state, shared->systems->fault);
	}
}

void primary_deal_commands(struct primary *primary)
{
	struct plan *plan = &primary->plan;
	primary_commands_drop_for_absent(primary);
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
			if (primary_commands_taker_of(primary, &primary->due.at[i]) == s + 1) {
				primary->commands.at[at++] = primary->due.at[i];
				plan->placement.parts[s].command_count++;
			}
	}
}
