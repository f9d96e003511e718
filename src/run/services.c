/* What each service does when its step has come, and the table of all services.
 *
 * Most commands only change the scene and state k: these are edits (run/edit.h). The others also change what the
 * primary keeps beside them: its time, its pace, the forces of the coming step, and the commands that it has just
 * taken. One table with functions replaced a list of names, an enum and a switch, which had to agree. */
#include "run/services.h"

#include "run/primary_commands.h"
#include "run/primary_internal.h"
#include "topic/light.pb-c.h"
#include "topic/table.h"
#include "topic/troupe.pb-c.h"
#include "topic/world.pb-c.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- time --------------------------------------------------------------------------------------------------------- */

static void run_services_reset_time(struct primary *primary)
{
	primary_sum_time(primary);
	primary->moving_steps = primary->even_steps = 0;
	primary->passed_from_s = primary->options.initial_time_s;
	primary->even_since_s = primary->options.initial_time_s;
	primary->pace_ns = 0;
	schedule_rewind(&primary->schedule);
	for (uint32_t m = 0; m < primary->shared->scene->model_count; m++)
		primary->shared->state->models[m].changed_at = 0; /* steps are counted anew: see primary_sleeps() */
}

/* The run_to_sim_time of the message. 0: it has none, or one that is not in the future, which Gazebo ignores, too. */
static double run_services_asked_time_s(const struct primary *primary, const Gz__Msgs__WorldControl *message)
{
	const Gz__Msgs__Time *until = message->run_to_sim_time;
	double time_s = until ? (double)until->sec + until->nsec * 1e-9 : 0;
	return time_s > 0 && !primary_has_reached(primary, time_s) ? time_s : 0;
}

/* How the world goes on after a message to /world/NAME/control. n: multi_step, or 1 for step. T: run_to_sim_time, when
 * it is still to come.
 *
 *   message              paused before             in n' steps before            running before
 *   pause: true          paused                    paused                        paused
 *   pause: true, n       n steps, then paused      n' + n steps, then paused     n steps, then paused
 *   pause: false         running                   running                       running
 *   pause: false, n      running: n counts for nothing
 *   n                    n steps, then paused      n' + n steps, then paused     unchanged
 *   T, or pause: false, T                          running until T, then paused
 *   n, T                 n steps or until T        n' + n steps or until T       running until T, then paused
 *   neither              unchanged
 *
 * As in Gazebo, with one difference: there a pause that is not given is pause: false, here a field that is not given
 * changes nothing. Clients of Gazebo cannot tell the two apart: in bytes from them a pause is always given, see
 * command_of_bytes(). A message that changes something ends what an earlier T asked for. */
static void run_services_control_pace(struct primary *primary, const Gz__Msgs__WorldControl *message)
{
	bool given = message->pause_given_case;
	bool pause = message->pause;
	bool runs = given ? !pause : !primary->paused && !primary->multi_steps;
	uint64_t steps = message->multi_step ? message->multi_step : message->step != 0;
	double time_s = run_services_asked_time_s(primary, message);
	if (!given && time_s <= 0 && (runs || !steps))
		return;
	if (pause && !steps) {
		primary_pause(primary);
		return;
	}
	primary->paused = false;
	primary->run_to_s = time_s;
	primary->multi_steps = runs || !steps ? 0 : primary->multi_steps + steps;
	if (!primary->multi_steps && time_s <= 0)
		primary_answer_waiting(primary, primary->lockstep.number, TROUPE_OK, "the world runs on");
}

static void run_services_control_world(struct primary *primary, const Gz__Msgs__WorldControl *message)
{
	static const Gz__Msgs__WorldReset no_reset = GZ__MSGS__WORLD_RESET__INIT;
	const Gz__Msgs__WorldReset *reset = message->reset ? message->reset : &no_reset;
	if (reset->all || reset->model_only) {
		edit_reset(&primary->edit);
		primary_plan_effects(primary);
		state_reset(primary->shared->state);
		plan_reset(&primary->plan);
		observed_clear(&primary->observed);
		primary->step.state_changed = true;
		primary->due.count = 0; /* earlier commands of this step are undone, too */
		wrenches_reset(&primary->wrenches);
	}
	if (reset->all || reset->time_only)
		run_services_reset_time(primary);
	run_services_control_pace(primary, message);
}

static troupe_status run_services_control(
	struct primary *primary, struct command *command, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	(void)note, (void)error;
	run_services_control_world(primary, (const void *)command->message);
	return TROUPE_OK;
}

/* Gazebo's states are lists of components of its own, with numbers for their types that its build decides. */
static troupe_status run_services_control_state(
	struct primary *primary, struct command *command, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	(void)note;
	const Gz__Msgs__WorldControlState *message = (const void *)command->message;
	if (message->state && message->state->n_entities)
		return fail(error, TROUPE_ECOMMAND,
			"a state of %zu entities: expected none: a state is not set in this way here",
			message->state->n_entities);
	if (message->world_control)
		run_services_control_world(primary, message->world_control);
	return TROUPE_OK;
}

/* Simulated time continues from its present value, with steps of another length. */
static troupe_status run_services_set_physics(
	struct primary *primary, struct command *command, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	const Gz__Msgs__Physics *message = (const void *)command->message;
	double time_s = primary_time_s(primary), step_s = primary->edit.step_s;
	troupe_status status = edit_set_physics(&primary->edit, message, note, error);
	if (!status && primary->edit.step_s != step_s) {
		primary->even_since_s = time_s;
		primary->even_steps = 0;
	}
	if (!status && message->real_time_factor_given_case) {
		primary->options.rtf = message->real_time_factor;
		primary->options.rate_hz = 0;
		primary->pace_ns = 0;
	}
	return status;
}

/* --- models ------------------------------------------------------------------------------------------------------- */

/* Commands to the model that came earlier in this step are undone, too. */
static troupe_status run_services_reset_model(
	struct primary *primary, struct command *command, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	const Gz__Msgs__Entity *entity = (const void *)command->message;
	uint32_t model, kept = 0;
	troupe_status status = edit_reset_model(&primary->edit, entity, &model, note, error);
	if (status)
		return status;
	for (uint32_t i = 0; i < primary->due.count; i++)
		if (primary->due.at[i].to.model != model)
			primary->due.at[kept++] = primary->due.at[i];
	primary->due.count = kept;
	wrenches_forget(&primary->wrenches, primary->shared->scene, model);
	return TROUPE_OK;
}

/* --- forces ------------------------------------------------------------------------------------------------------- */

static troupe_status run_services_push_once(
	struct primary *primary, struct command *command, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	const Gz__Msgs__EntityWrench *message = (const void *)command->message;
	const struct scene *scene = primary->shared->scene;
	struct due_wrench wrench;
	troupe_status status = edit_wrench(&primary->edit, message, &wrench, note, error);
	if (status)
		return status;
	uint32_t model = scene->bodies[wrench.body].model;
	if (!plan_simulates(&primary->plan, model))
		return fail(error, TROUPE_ECOMMAND, "model '%.100s' is not simulated: its level is not loaded",
			scene->models[model].name);
	if (primary->paused)
		return fail(error, TROUPE_ECOMMAND,
			"the world is paused: expected a running world, because a force acts in one step");
	wrenches_add_once(&primary->wrenches, &wrench);
	return TROUPE_OK;
}

static troupe_status run_services_push_on(
	struct primary *primary, struct command *command, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	const Gz__Msgs__EntityWrench *message = (const void *)command->message;
	struct lasting_wrench wrench;
	troupe_status status = edit_lasting_wrench(&primary->edit, message, &wrench, note, error);
	return status ? status : wrenches_add_lasting(&primary->wrenches, &wrench, error);
}

static troupe_status run_services_clear_wrenches(
	struct primary *primary, struct command *command, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	const Gz__Msgs__Entity *entity = (const void *)command->message;
	const struct scene *scene = primary->shared->scene;
	uint32_t model, link;
	troupe_status status = edit_find_pushed(&primary->edit, entity, &model, &link, error);
	if (status)
		return status;
	uint32_t cleared = wrenches_clear(&primary->wrenches, scene, model, link);
	(void)snprintf(note, EDIT_NOTE_BYTES, "wrenches on '%.100s' cleared: %u",
		link == SCENE_NONE ? scene->models[model].name : scene->links[link].scoped, cleared);
	return TROUPE_OK;
}

/* --- the whole world ---------------------------------------------------------------------------------------------- */

static troupe_status run_services_resume(
	struct primary *primary, struct command *command, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	const Troupe__Msgs__Resume *message = (const void *)command->message;
	struct troupe_error why;
	if (!message->state.len)
		return fail(error, TROUPE_ECOMMAND, "%s", *message->error ? message->error : "no state");
	troupe_status status =
		primary_adopt_state(primary, (const char *)message->state.data, message->state.len, note, &why);
	return status ? fail(error, status, "%.100s: %s", message->data, why.text) : TROUPE_OK;
}

/* --- robot clients ------------------------------------------------------------------------------------------------ */

/* The model that a request of a client is about, or whose link or collision it is about: "model::link". */
static troupe_status run_services_check_owner(
	const struct primary *primary, uint32_t owner, uint64_t id, const char *name, struct troupe_error *error)
{
	uint32_t model;
	const char *colons = strstr(name, "::");
	char *first = mem_printf("%.*s", (int)(colons ? colons - name : (ptrdiff_t)strlen(name)), name);
	troupe_status status = edit_find_by_id(&primary->edit, id, first, &model, error);
	free(first);
	if (status || owners_may_act(&primary->edit.owners, owner, primary->shared->scene->models[model].owner))
		return status;
	return fail(error, TROUPE_ECOMMAND, "model '%.100s' was not created by client '%.80s'",
		primary->shared->scene->models[model].name, owners_name(&primary->edit.owners, owner));
}

static troupe_status run_services_check_entity(
	const struct primary *primary, uint32_t owner, const ProtobufCMessage *message, struct troupe_error *error)
{
	const Gz__Msgs__Entity *entity = (const void *)message;
	return run_services_check_owner(primary, owner, entity->id, entity->name, error);
}

static troupe_status run_services_check_pose(
	const struct primary *primary, uint32_t owner, const ProtobufCMessage *message, struct troupe_error *error)
{
	const Gz__Msgs__Pose *pose = (const void *)message;
	return run_services_check_owner(primary, owner, pose->id, pose->name, error);
}

static troupe_status run_services_check_poses(
	const struct primary *primary, uint32_t owner, const ProtobufCMessage *message, struct troupe_error *error)
{
	const Gz__Msgs__PoseV *poses = (const void *)message;
	troupe_status status = TROUPE_OK;
	for (size_t i = 0; i < poses->n_pose && !status; i++)
		status = run_services_check_pose(primary, owner, &poses->pose[i]->base, error);
	return status;
}

static troupe_status run_services_check_wrench(
	const struct primary *primary, uint32_t owner, const ProtobufCMessage *message, struct troupe_error *error)
{
	const Gz__Msgs__EntityWrench *wrench = (const void *)message;
	return wrench->entity ? run_services_check_entity(primary, owner, &wrench->entity->base, error)
			      : fail(error, TROUPE_ECOMMAND, "no entity: expected a model or a link");
}

static troupe_status run_services_check_velocity(
	const struct primary *primary, uint32_t owner, const ProtobufCMessage *message, struct troupe_error *error)
{
	const Troupe__Msgs__SetVelocity *velocity = (const void *)message;
	return run_services_check_owner(primary, owner, velocity->id, velocity->name, error);
}

static troupe_status run_services_check_joint(
	const struct primary *primary, uint32_t owner, const ProtobufCMessage *message, struct troupe_error *error)
{
	const Troupe__Msgs__SetJoint *joint = (const void *)message;
	return run_services_check_owner(primary, owner, joint->id, joint->name, error);
}

/* A model of a client stays on its secondary. */
static troupe_status run_services_check_performer(
	const struct primary *primary, uint32_t owner, const ProtobufCMessage *message, struct troupe_error *error)
{
	const Troupe__Msgs__SetPerformer *performer = (const void *)message;
	if (performer->secondary_given_case)
		return fail(error, TROUPE_ECOMMAND, "a robot client cannot choose a secondary");
	return run_services_check_owner(primary, owner, 0, performer->data, error);
}

/* What a client creates is its own, and messages for systems reach its own models alone: no other check is needed. */
static troupe_status run_services_check_nothing(
	const struct primary *primary, uint32_t owner, const ProtobufCMessage *message, struct troupe_error *error)
{
	(void)primary, (void)owner, (void)message, (void)error;
	return TROUPE_OK;
}

/* Finds the client that the command acts for, and checks whether it may. */
static troupe_status run_services_admit(struct primary *primary, struct command *command, struct troupe_error *error)
{
	struct owners *owners = &primary->edit.owners;
	const char *client = command->client ? command->client : owner_of_message(command->message);
	troupe_status status = TROUPE_OK;
	if (client && !command->owner)
		status = owners_add(owners, client, &command->owner, error);
	if (status || !command->owner || owners->rights == OWNERS_ALL)
		return status;
	if (!command->service->admit)
		return fail(error, TROUPE_ECOMMAND,
			"client '%.80s', or a plug-in of its models, asks for this service: expected one about its "
			"models",
			owners_name(owners, command->owner));
	return command->service->admit(primary, command->owner, command->message, error);
}

troupe_status service_obey(
	struct primary *primary, struct command *command, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	struct edit *edit = &primary->edit;
	uint32_t before = edit->log.count;
	troupe_status status = run_services_admit(primary, command, error);
	uint32_t owner = command->owner;
	edit->creates_for = owner;
	if (!status)
		status = command->service->apply(primary, command, note, error);
	edit->creates_for = 0;
	for (uint32_t i = before; owner && primary->options.on_owned && i < edit->log.count; i++)
		if (edit->log.at[i].kind == EDIT_CREATE)
			primary->options.on_owned(primary->options.ctx, edit->log.at[i].model);
	return status;
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

/* Services that are edits and nothing else. */
#define EDITS(verb)                                                                                                    \
	static troupe_status verb##_by_edit(struct primary *primary, struct command *command,                          \
		char note[EDIT_NOTE_BYTES], struct troupe_error *error)                                                \
	{                                                                                                              \
		return edit_##verb(&primary->edit, (const void *)command->message, note, error);                       \
	}

EDITS(remove)
EDITS(set_pose)
EDITS(set_poses)
EDITS(set_performer)
EDITS(set_velocity)
EDITS(set_joint)
EDITS(enable_collision)
EDITS(disable_collision)
EDITS(light_config)
EDITS(set_spherical_coordinates)

/* The scoped name of the model or link with this id. */
static troupe_status run_services_name_of_id(
	const struct primary *primary, uint64_t id, const char **ret_name, struct troupe_error *error)
{
	const struct scene *scene = primary->shared->scene;
	uint64_t place = id - SCENE_LINK_ID - 1;
	uint32_t model =
		id > SCENE_LINK_ID && place < scene->link_count ? scene->links[place].model : scene_find_id(scene, id);
	if (model == SCENE_NONE || !scene->models[model].id || scene->models[model].absent)
		return fail(error, TROUPE_ECOMMAND, "the world has no model or link with the id %" PRIu64, id);
	*ret_name = id > SCENE_LINK_ID ? scene->links[place].scoped : scene->models[model].name;
	return TROUPE_OK;
}

/* Systems know models and links by their names: a request that has an id is replaced by one with the name. */
static troupe_status run_services_name_wheels(
	const struct primary *primary, struct command *command, struct troupe_error *error)
{
	Gz__Msgs__WheelSlipParametersCmd *message = (void *)command->message;
	Gz__Msgs__Entity *entity = message->entity;
	ProtobufCMessage *named;
	struct text bytes = {0};
	const char *name = NULL;
	if (!entity || !entity->id)
		return TROUPE_OK;
	troupe_status status = run_services_name_of_id(primary, entity->id, &name, error);
	if (!status && *entity->name && strcmp(entity->name, name) != 0)
		status = fail(error, TROUPE_ECOMMAND,
			"the entity with the id %" PRIu64
			" is '%.100s', not '%.100s': expected name and id of one entity",
			entity->id, name, entity->name);
	if (status)
		return status;
	Gz__Msgs__WheelSlipParametersCmd by_name = *message;
	Gz__Msgs__Entity only_name = *entity;
	char *copy = mem_strdup(name);
	only_name.id = 0;
	only_name.name = copy;
	by_name.entity = &only_name;
	message_add_bytes(&bytes, &by_name.base);
	status = message_of_bytes(by_name.base.descriptor, bytes.at, bytes.count, &message_limits_usual, &named, error);
	text_fini(&bytes);
	free(copy);
	if (status)
		return status;
	message_free(command->message);
	command->message = named;
	return TROUPE_OK;
}

/* The systems of the wheels know what their words mean. */
static troupe_status run_services_slip_wheels(
	struct primary *primary, struct command *command, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	(void)note;
	troupe_status status = run_services_name_wheels(primary, command, error);
	if (status)
		return status;
	char *topic = mem_printf("/world/%s/wheel_slip", primary->shared->scene->name);
	topic_name_clean(topic);
	status = primary_give(primary, command->owner, topic, command->message, error);
	free(topic);
	return status;
}

static troupe_status run_services_create(
	struct primary *primary, struct command *command, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	struct edit_source *const *sources = prepared_wait(command->prepared);
	return edit_create(&primary->edit, (const void *)command->message, *sources, note, error);
}

static troupe_status run_services_create_multiple(
	struct primary *primary, struct command *command, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	struct edit_source *const *sources = prepared_wait(command->prepared);
	return edit_create_multiple(&primary->edit, (const void *)command->message, sources, note, error);
}

/* A SetPerformer and a Resume are StringMsgs with more fields; a SetLight is a Light that tells which numbers are
 * given. */
static const struct command_service run_services[] = {
	{"control", &gz__msgs__world_control__descriptor, .apply = run_services_control, .steps = true},
	{"control/state", &gz__msgs__world_control_state__descriptor, .apply = run_services_control_state,
		.steps = true},
	{"create", &gz__msgs__entity_factory__descriptor, .apply = run_services_create,
		.admit = run_services_check_nothing, .creates = true},
	{"create_multiple", &gz__msgs__entity_factory__v__descriptor, .apply = run_services_create_multiple,
		.admit = run_services_check_nothing, .creates = true, .partial = true},
	{"remove", &gz__msgs__entity__descriptor, .apply = remove_by_edit, .admit = run_services_check_entity},
	{"set_pose", &gz__msgs__pose__descriptor, .apply = set_pose_by_edit, .admit = run_services_check_pose},
	{"set_pose_vector", &gz__msgs__pose__v__descriptor, .apply = set_poses_by_edit,
		.admit = run_services_check_poses},
	{"set_physics", &gz__msgs__physics__descriptor, .apply = run_services_set_physics},
	{"level/set_performer", &troupe__msgs__set_performer__descriptor, .sent = &gz__msgs__string_msg__descriptor,
		.apply = set_performer_by_edit, .admit = run_services_check_performer},
	{"enable_collision", &gz__msgs__entity__descriptor, .apply = enable_collision_by_edit,
		.admit = run_services_check_entity},
	{"disable_collision", &gz__msgs__entity__descriptor, .apply = disable_collision_by_edit,
		.admit = run_services_check_entity},
	{"light_config", &troupe__msgs__set_light__descriptor, .sent = &gz__msgs__light__descriptor,
		.apply = light_config_by_edit, .is_topic = true},
	{"wheel_slip", &gz__msgs__wheel_slip_parameters_cmd__descriptor, .apply = run_services_slip_wheels,
		.admit = run_services_check_nothing},
	{"set_spherical_coordinates", &gz__msgs__spherical_coordinates__descriptor,
		.apply = set_spherical_coordinates_by_edit},
	/* not Gazebo's: */
	{"reset_model", &gz__msgs__entity__descriptor, .apply = run_services_reset_model,
		.admit = run_services_check_entity},
	{"set_velocity", &troupe__msgs__set_velocity__descriptor, .apply = set_velocity_by_edit,
		.admit = run_services_check_velocity},
	{"set_joint", &troupe__msgs__set_joint__descriptor, .apply = set_joint_by_edit,
		.admit = run_services_check_joint},
	{"resume", &troupe__msgs__resume__descriptor, .sent = &gz__msgs__string_msg__descriptor,
		.apply = run_services_resume, .replaces = true}, /* not Gazebo's */
	{"wrench", &gz__msgs__entity_wrench__descriptor, .apply = run_services_push_once,
		.admit = run_services_check_wrench, .is_topic = true},
	{"wrench/persistent", &gz__msgs__entity_wrench__descriptor, .apply = run_services_push_on,
		.admit = run_services_check_wrench, .is_topic = true},
	{"wrench/clear", &gz__msgs__entity__descriptor, .apply = run_services_clear_wrenches,
		.admit = run_services_check_entity, .is_topic = true},
};

const struct command_service *services_list(uint32_t *ret_count)
{
	*ret_count = ARRAY_LEN(run_services);
	return run_services;
}

bool service_replaces(const struct command *command)
{
	return command->service && command->service->replaces &&
	       ((const Troupe__Msgs__Resume *)(const void *)command->message)->state.len;
}

static bool run_services_is_called(const struct command_service *service, const char *asked)
{
	size_t length = strlen(service->name);
	return !strncmp(asked, service->name, length) && (!asked[length] || !strcmp(asked + length, "/blocking"));
}

const struct command_service *services_find(const char *asked)
{
	for (size_t i = 0; i < ARRAY_LEN(run_services); i++)
		if (run_services_is_called(&run_services[i], asked))
			return &run_services[i];
	return NULL;
}
