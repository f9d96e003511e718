/* What a topic means decides which type its message has: the table of services (run/services.h) comes first, then the
 * topics of the systems. */
#include "run/world_command.h"

#include "run/owners.h"
#include "run/prepare.h"
#include "run/services.h"
#include "topic/light.pb-c.h"
#include "topic/table.h"
#include "topic/troupe.pb-c.h"
#include "topic/world.pb-c.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- what a topic means ------------------------------------------------------------------------------------------- */

/* NULL: no service of the world. */
static const struct command_service *world_command_find_service(const char *world, const char *topic)
{
	const char *asked = topic_in_world(topic, world);
	return asked ? services_find(asked) : NULL;
}

static troupe_status world_command_unknown_topic(
	struct systems *systems, const char *world, const char *topic, struct troupe_error *error)
{
	char known[TROUPE_ERROR_TEXT_BYTES];
	const char *asked = topic_in_world(topic, world);
	if (asked) {
		size_t used = 0;
		uint32_t count;
		const struct command_service *services = services_list(&count);
		for (uint32_t i = 0; i < count && used < sizeof known; i++)
			used += (size_t)snprintf(
				known + used, sizeof known - used, "%s%s", i ? ", " : "", services[i].name);
		return fail(error, TROUPE_ECOMMAND, "world '%s' has no service '%.80s': expected one of %s", world,
			asked, known);
	}
	char name[TROUPE_ERROR_TEXT_BYTES];
	(void)snprintf(name, sizeof name, "/world/%s", world);
	topic_name_clean(name);
	if (!strncmp(topic, "/world/", 7))
		return fail(error, TROUPE_ECOMMAND,
			"topic '%.150s' is of another world: this one is '%s', expected %s/...", topic, world, name);
	systems_near_topics(systems, topic, known, sizeof known);
	return fail(error, TROUPE_ECOMMAND, "topic '%.150s' has no listener: expected %s%s%s/control", topic, known,
		*known ? " or " : "", name);
}

bool command_creates(const struct command *command)
{
	return command->service && command->service->creates;
}

/* The type that the topic carries. *ret_type is NULL when that is not known, and may become known. */
static troupe_status world_command_find_type(struct systems *systems, const char *world, const char *topic,
	bool may_create, struct command *command, message_type *ret_type, struct troupe_error *error)
{
	command->service = world_command_find_service(world, topic);
	message_type type = command->service ? command->service->type : systems_topic_type(systems, topic);
	if (!type && (!may_create || topic_in_world(topic, world)))
		return world_command_unknown_topic(systems, world, topic, error);
	*ret_type = type;
	return TROUPE_OK;
}

static void world_command_complete(struct command *command, const char *topic, _Atomic bool *may_create)
{
	if (command_creates(command))
		atomic_store(may_create, true);
	command->topic = mem_strdup(topic);
}

troupe_status command_parse(struct systems *systems, const char *world, const char *topic, const char *text,
	_Atomic bool *may_create, struct command *ret_command, struct troupe_error *error)
{
	struct command command = {0};
	message_type type;
	troupe_status status =
		world_command_find_type(systems, world, topic, atomic_load(may_create), &command, &type, error);
	if (status)
		return status;
	if (type)
		status = message_of_text(type, text, &message_limits_usual, &command.message, error);
	else if (strlen(text) > COMMAND_TEXT_BYTES_MAX)
		status = fail(error, TROUPE_ECOMMAND, "%zu bytes of text: expected at most %d", strlen(text),
			COMMAND_TEXT_BYTES_MAX);
	if (status)
		return status;
	if (!type)
		command.text = mem_strdup(text);
	world_command_complete(&command, topic, may_create);
	*ret_command = command;
	return TROUPE_OK;
}

static troupe_status world_command_other_type(const char *sent, message_type type, struct troupe_error *error)
{
	return fail(error, TROUPE_ECOMMAND, "a message of type %.100s: expected %s", sent, type->name);
}

void command_mean_light(Troupe__Msgs__SetLight *light)
{
	light->type_given_case = TROUPE__MSGS__SET_LIGHT__TYPE_GIVEN_TYPE;
	light->attenuation_constant_given_case =
		TROUPE__MSGS__SET_LIGHT__ATTENUATION_CONSTANT_GIVEN_ATTENUATION_CONSTANT;
	light->attenuation_linear_given_case = TROUPE__MSGS__SET_LIGHT__ATTENUATION_LINEAR_GIVEN_ATTENUATION_LINEAR;
	light->attenuation_quadratic_given_case =
		TROUPE__MSGS__SET_LIGHT__ATTENUATION_QUADRATIC_GIVEN_ATTENUATION_QUADRATIC;
	light->range_given_case = TROUPE__MSGS__SET_LIGHT__RANGE_GIVEN_RANGE;
	light->cast_shadows_given_case = TROUPE__MSGS__SET_LIGHT__CAST_SHADOWS_GIVEN_CAST_SHADOWS;
	light->spot_inner_angle_given_case = TROUPE__MSGS__SET_LIGHT__SPOT_INNER_ANGLE_GIVEN_SPOT_INNER_ANGLE;
	light->spot_outer_angle_given_case = TROUPE__MSGS__SET_LIGHT__SPOT_OUTER_ANGLE_GIVEN_SPOT_OUTER_ANGLE;
	light->spot_falloff_given_case = TROUPE__MSGS__SET_LIGHT__SPOT_FALLOFF_GIVEN_SPOT_FALLOFF;
	light->intensity_given_case = TROUPE__MSGS__SET_LIGHT__INTENSITY_GIVEN_INTENSITY;
	light->is_light_off_given_case = TROUPE__MSGS__SET_LIGHT__IS_LIGHT_OFF_GIVEN_IS_LIGHT_OFF;
	light->visualize_visual_given_case = TROUPE__MSGS__SET_LIGHT__VISUALIZE_VISUAL_GIVEN_VISUALIZE_VISUAL;
}

/* See run_services_control_pace() for what a pause that is not given means in text, edit_set_physics() for a component
 * of gravity, and edit_light_config() for the numbers of a light. */
static void world_command_mean_as_gazebo(ProtobufCMessage *message, message_type sent)
{
	Gz__Msgs__WorldControl *control = NULL;
	if (sent == &gz__msgs__light__descriptor && message->descriptor == &troupe__msgs__set_light__descriptor)
		command_mean_light((Troupe__Msgs__SetLight *)message);
	if (message->descriptor == &gz__msgs__world_control__descriptor)
		control = (Gz__Msgs__WorldControl *)message;
	if (message->descriptor == &gz__msgs__world_control_state__descriptor)
		control = ((Gz__Msgs__WorldControlState *)message)->world_control;
	if (control)
		control->pause_given_case = GZ__MSGS__WORLD_CONTROL__PAUSE_GIVEN_PAUSE;
	Gz__Msgs__Physics__Gravity *gravity = NULL;
	if (message->descriptor == &gz__msgs__physics__descriptor)
		gravity = ((Gz__Msgs__Physics *)message)->gravity;
	if (gravity) {
		gravity->x_given_case = GZ__MSGS__PHYSICS__GRAVITY__X_GIVEN_X;
		gravity->y_given_case = GZ__MSGS__PHYSICS__GRAVITY__Y_GIVEN_Y;
		gravity->z_given_case = GZ__MSGS__PHYSICS__GRAVITY__Z_GIVEN_Z;
	}
}

troupe_status command_of_bytes(struct systems *systems, const char *world, const char *topic, const char *type,
	const void *bytes, size_t count, _Atomic bool *may_create, struct command *ret_command,
	struct troupe_error *error)
{
	struct command command = {0};
	message_type carried, sent = type_find(type);
	troupe_status status =
		world_command_find_type(systems, world, topic, atomic_load(may_create), &command, &carried, error);
	if (status)
		return status;
	if (!sent && !carried)
		return fail(error, TROUPE_ECOMMAND, "type '%.100s' is not known: expected one of gz.msgs", type);
	message_type other = command.service ? service_sent_type(command.service) : carried;
	if (carried && (!sent || (sent != carried && sent != other)))
		return world_command_other_type(type, carried, error);
	status = message_of_bytes(
		carried ? carried : sent, bytes, count, &message_limits_usual, &command.message, error);
	if (status)
		return status;
	world_command_mean_as_gazebo(command.message, sent);
	world_command_complete(&command, topic, may_create);
	*ret_command = command;
	return TROUPE_OK;
}

troupe_status command_parse_late(struct systems *systems, struct command *command, struct troupe_error *error)
{
	const struct system_listeners *topic = systems_find_listeners(systems, command->topic);
	if (!topic)
		return fail(error, TROUPE_ECOMMAND, "this topic has no listener");
	if (!command->text)
		return topic->any || topic->type == command->message->descriptor
			       ? TROUPE_OK
			       : fail(error, TROUPE_ECOMMAND, "this topic now carries %s: expected %s",
					 command->message->descriptor->name, topic->type->name);
	troupe_status status =
		message_of_text(topic->type, command->text, &message_limits_usual, &command->message, error);
	if (status)
		return status;
	free(command->text);
	command->text = NULL;
	return TROUPE_OK;
}

struct broadcast *broadcast_create(uint32_t copies)
{
	struct broadcast *broadcast = mem_alloc(sizeof *broadcast);
	atomic_init(&broadcast->copies, copies);
	atomic_init(&broadcast->open, copies);
	return broadcast;
}

static void world_command_broadcast_drop(struct broadcast *broadcast)
{
	if (broadcast && atomic_fetch_sub(&broadcast->copies, 1) == 1)
		free(broadcast);
}

bool command_passes(struct systems *systems, const struct command *command)
{
	struct broadcast *broadcast = command->broadcast;
	if (!broadcast)
		return command->optional && !command->service && !systems_find_listeners(systems, command->topic);
	bool accepted = systems_find_listeners(systems, command->topic) != NULL;
	if (accepted)
		atomic_store(&broadcast->accepted, true);
	bool last = atomic_fetch_sub(&broadcast->open, 1) == 1;
	return !accepted && !(last && !atomic_load(&broadcast->accepted));
}

void command_answer(struct command *command, uint64_t step, troupe_status status, const char *text)
{
	struct command_call *call = command->call;
	command->call = NULL;
	if (call)
		call->done(call, step, status, text);
}

bool command_blocks(const struct command *command)
{
	static const char ending[] = "/blocking";
	size_t length = command->topic ? strlen(command->topic) : 0;
	return command->call && command->service && command->service->steps && length >= sizeof ending &&
	       !strcmp(command->topic + length - (sizeof ending - 1), ending);
}

void command_fini(struct command *command)
{
	world_command_broadcast_drop(command->broadcast);
	prepared_release(command->prepared);
	message_free(command->message);
	free(command->topic);
	free(command->client);
	free(command->text);
	*command = (struct command){0};
}

/* --- by numbers and by handle ------------------------------------------------------------------------------------- */

troupe_status command_of_numbers(struct systems *systems, const char *world, const char *topic, const double *numbers,
	uint32_t count, struct command *ret_command, struct troupe_error *error)
{
	struct command command = {0};
	message_type type;
	troupe_status status = world_command_find_type(systems, world, topic, false, &command, &type, error);
	if (!status)
		status = message_of_numbers(type, numbers, count, &message_limits_usual, &command.message, error);
	if (status)
		return status;
	command.topic = mem_strdup(topic);
	*ret_command = command;
	return TROUPE_OK;
}

static const char *world_command_twist_topic(const struct systems *systems, uint32_t model)
{
	const struct system_set *set = &systems->sets[model];
	for (uint32_t i = 0; i < set->count; i++)
		for (uint32_t t = 0; t < set->at[i].topics.count; t++)
			if (set->at[i].topics.at[t].type == &gz__msgs__twist__descriptor)
				return set->at[i].topics.at[t].name;
	return NULL;
}

static const char *world_command_joint_topic(const struct systems *systems, const struct scene *scene, uint32_t joint)
{
	const struct system_set *set = &systems->sets[scene->joints[joint].model];
	for (uint32_t i = 0; i < set->count; i++)
		for (uint32_t t = 0; t < set->at[i].topics.count; t++) {
			const struct system_topic *topic = &set->at[i].topics.at[t];
			if (topic->type == &gz__msgs__double__descriptor && topic->joint == joint)
				return topic->name;
		}
	return NULL;
}

/* The model of a target; SCENE_NONE: it is gone. */
static uint32_t world_command_model_of(const struct scene *scene, const struct command_target *target)
{
	uint32_t at = target->at, model = SCENE_NONE;
	if (target->kind == TARGET_TWIST)
		model = at;
	else if (target->kind == TARGET_WRENCH && at < scene->link_count)
		model = scene->links[at].model;
	else if (target->kind != TARGET_WRENCH && at < scene->joint_count)
		model = scene->joints[at].model;
	if (model >= scene->model_count)
		return SCENE_NONE;
	const struct scene_model *m = &scene->models[model];
	return m->id && (uint32_t)m->id == target->born && !m->absent ? model : SCENE_NONE;
}

static const char *const world_command_target_names[] = {[TARGET_TWIST] = "a twist for a model",
	[TARGET_JOINT] = "a number for a joint",
	[TARGET_JOINT_STATE] = "the state of a joint",
	[TARGET_WRENCH] = "a wrench for a link"};

/* Services take names, so the message is copied with names. */
static void world_command_name_target(const struct scene *scene, struct command *command)
{
	const struct command_target *target = &command->target;
	ProtobufCMessage *without = command->message;
	const char *service;
	if (target->kind == TARGET_WRENCH) {
		Gz__Msgs__EntityWrench wrench = *(const Gz__Msgs__EntityWrench *)without;
		Gz__Msgs__Entity entity = GZ__MSGS__ENTITY__INIT;
		entity.name = message_string(scene->links[target->at].scoped);
		entity.type = GZ__MSGS__ENTITY__TYPE__LINK;
		wrench.entity = &entity;
		command->message = message_copy(&wrench.base);
		service = "wrench";
	} else {
		Troupe__Msgs__SetJoint joint = *(const Troupe__Msgs__SetJoint *)without;
		joint.name = message_string(scene->models[scene->joints[target->at].model].name);
		joint.joint = message_string(scene->joints[target->at].name);
		joint.axis = target->axis;
		command->message = message_copy(&joint.base);
		service = "set_joint";
	}
	message_free(without);
	command->topic = mem_printf("/world/%s/%s", scene->name, service);
	command->service = services_find(service);
}

troupe_status command_find_target(
	const struct systems *systems, const struct scene *scene, struct command *command, struct troupe_error *error)
{
	const struct command_target *target = &command->target;
	if (target->kind == TARGET_NONE || command->topic)
		return TROUPE_OK;
	uint32_t model = world_command_model_of(scene, target);
	const char *what = world_command_target_names[target->kind], *topic = NULL;
	if (model == SCENE_NONE) {
		command->topic = mem_strdup(what);
		return fail(error, TROUPE_ECOMMAND, "the model of this command does not exist any more");
	}
	if (target->kind == TARGET_JOINT_STATE || target->kind == TARGET_WRENCH) {
		world_command_name_target(scene, command);
		return TROUPE_OK;
	}
	if (target->kind == TARGET_TWIST)
		topic = world_command_twist_topic(systems, model);
	else
		topic = world_command_joint_topic(systems, scene, target->at);
	command->topic = mem_strdup(topic ? topic : what);
	return topic ? TROUPE_OK
		     : fail(error, TROUPE_ECOMMAND, "model '%.100s' has no system that takes this command",
			       scene->models[model].name);
}

/* --- packed ------------------------------------------------------------------------------------------------------- */

static void world_command_pack_message(const ProtobufCMessage *message, struct text *out)
{
	pack_u64(out, protobuf_c_message_get_packed_size(message));
	message_add_bytes(out, message);
}

static ProtobufCMessage *world_command_unpack_message(struct unpack *in, message_type type)
{
	size_t count = 0;
	ProtobufCMessage *message = NULL;
	const char *bytes = unpack_bytes(in, &count);
	if (!in->bad && (!type || message_of_bytes(type, bytes, count, &message_limits_usual, &message, NULL)))
		in->bad = true;
	return message;
}

void command_pack(const struct command *command, struct text *out)
{
	pack_string(out, command->topic);
	pack_string(out, command->client ? command->client : "");
	pack_string(out, command->message ? command->message->descriptor->name : "");
	if (command->message)
		world_command_pack_message(command->message, out);
	else
		pack_string(out, command->text);
}

troupe_status command_unpack(struct unpack *in, const char *world, uint64_t step, _Atomic bool *may_create,
	struct command *ret_command, struct troupe_error *error)
{
	char *topic = unpack_string(in), *client = unpack_string(in), *name = unpack_string(in);
	struct command command = {.step = step};
	troupe_status status = TROUPE_OK;
	command.service = world_command_find_service(world, topic);
	message_type type = command.service ? command.service->type : NULL;
	if (*name) {
		command.message = world_command_unpack_message(in, type_find(name));
	} else {
		command.text = unpack_string(in);
		in->bad |= strlen(command.text) > COMMAND_TEXT_BYTES_MAX;
	}
	if (*client)
		command.client = mem_strdup(client);
	in->bad |= *client && !owner_name_is_valid(client);
	if (!in->bad && type && (!command.message || command.message->descriptor != type))
		status = world_command_other_type(*name ? name : "unknown", type, error);
	if (in->bad || status) {
		command_fini(&command);
	} else {
		world_command_complete(&command, topic, may_create);
		*ret_command = command;
	}
	free(topic);
	free(client);
	free(name);
	return status;
}

static message_type world_command_target_type(enum command_target_kind kind)
{
	static const message_type types[] = {[TARGET_TWIST] = &gz__msgs__twist__descriptor,
		[TARGET_JOINT] = &gz__msgs__double__descriptor,
		[TARGET_JOINT_STATE] = &troupe__msgs__set_joint__descriptor,
		[TARGET_WRENCH] = &gz__msgs__entity_wrench__descriptor};
	return types[kind];
}

void command_pack_target(const struct command *command, struct text *out)
{
	pack_u64(out, command->target.kind);
	pack_u64(out, command->target.at);
	pack_u64(out, command->target.born);
	pack_u64(out, command->target.axis);
	world_command_pack_message(command->message, out);
}

void command_unpack_target(struct unpack *in, uint64_t step, struct command *ret_command)
{
	struct command command = {.step = step};
	command.target.kind = unpack_count(in, TARGET_WRENCH);
	command.target.at = unpack_count(in, UINT32_MAX);
	command.target.born = unpack_count(in, UINT32_MAX);
	command.target.axis = unpack_count(in, 1);
	command.message = world_command_unpack_message(in, world_command_target_type(command.target.kind));
	*ret_command = command;
}
