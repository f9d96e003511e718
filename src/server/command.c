/* Commands from programs: as text, bytes or numbers, or by handle. The posting thread makes the message. A handle is
 * looked up by the primary at the step of the command, because models come and go while other threads post. */
#include "server/internal.h"

#include "run/services.h"
#include "server/run_control.h"
#include "topic/convert.h"
#include "topic/table.h"
#include "topic/troupe.pb-c.h"
#include "topic/world.pb-c.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum schedule_late command_late_of(const struct troupe_when *when)
{
	return when && when->late == TROUPE_LATE_REFUSE ? SCHEDULE_LATE_REFUSE : SCHEDULE_LATE_NEXT;
}

troupe_status server_check_when(const struct troupe_when *when, struct troupe_error *error)
{
	if (!when || when->late == TROUPE_LATE_NEXT || when->late == TROUPE_LATE_REFUSE)
		return TROUPE_OK;
	return fail(
		error, TROUPE_ECOMMAND, "late %d: expected TROUPE_LATE_NEXT or TROUPE_LATE_REFUSE", (int)when->late);
}

/* Refuses commands while a recording is played, which must stay as it was recorded, and where there is no world. */
static troupe_status command_check_taking(
	const struct troupe_server *server, const struct troupe_when *when, struct troupe_error *error)
{
	troupe_status status = server_check_when(when, error);
	if (status)
		return status;
	if (server->replaying)
		return fail(error, TROUPE_ECOMMAND, "a recording is played: expected a running world to command");
	return server->def.no_world ? fail(error, TROUPE_ECOMMAND, "no world is loaded: expected load_world first")
				    : TROUPE_OK;
}

static troupe_status command_post(struct server_world *world, struct command *command, const struct troupe_when *when,
	uint64_t *ret_step, struct troupe_error *error)
{
	troupe_status status = command_check_taking(world->server, when, error);
	if (status) {
		command_fini(command);
		return status;
	}
	command->step = when ? when->step : 0;
	return schedule_post(primary_schedule(world->primary), command, command_late_of(when), ret_step, error);
}

/* --- on a topic --------------------------------------------------------------------------------------------------- */

struct given { /* a message as text, as bytes or as numbers: the one that is not NULL */
	const struct troupe_when *when;
	bool timed; /* bound to simulated time at_s; `when` is NULL */
	double at_s;
	const char *topic, *text;
	const char *client; /* the robot client that it acts for; NULL: none */
	const void *bytes;
	const char *type; /* of bytes */
	const double *numbers;
	size_t count; /* of bytes or numbers */
	uint64_t *ret_step;
	struct command_call *call;
};

/* Makes a command without posting it. */
static troupe_status command_make(
	struct server_world *world, const struct given *given, struct command *ret_command, struct troupe_error *error)
{
	_Atomic bool *may_create = &primary_schedule(world->primary)->may_create;
	const char *name = world->scene->name;
	if (given->text)
		return command_parse(world->systems, name, given->topic, given->text, may_create, ret_command, error);
	if (given->bytes)
		return command_of_bytes(world->systems, name, given->topic, given->type, given->bytes, given->count,
			may_create, ret_command, error);
	return command_of_numbers(
		world->systems, name, given->topic, given->numbers, (uint32_t)given->count, ret_command, error);
}

/* Replaces the message of the command by one with this state, or with this error. */
static void command_put_state(struct command *command, char *bytes, size_t count, const char *error)
{
	Troupe__Msgs__Resume whole = *(const Troupe__Msgs__Resume *)(const void *)command->message;
	whole.state = (ProtobufCBinaryData){count, (uint8_t *)bytes};
	whole.error = message_string(error);
	ProtobufCMessage *message = message_copy(&whole.base);
	message_free(command->message);
	command->message = message;
}

static troupe_status command_read_state(
	struct server_world *world, struct command *command, const char *path, struct troupe_error *error)
{
	enum { REST_BYTES = 1 << 10 }; /* more than the other fields have */
	char *bytes = NULL;
	size_t count = 0, most = message_limits_usual.bytes_max - REST_BYTES;
	troupe_status status = server_read_state(world, path, &bytes, &count, error);
	if (!status && count > most)
		status = fail(error, TROUPE_ELIMIT,
			"%s: the state of the world has %zu bytes: expected at most %zu (troupe run --resume takes it)",
			path, count, most);
	if (!status)
		command_put_state(command, bytes, count, "");
	free(bytes);
	return status;
}

/* The message of a command that resumes a saved state gets the state itself, so that a recording has it, and a turn
 * reads no file. An error waits with the command, and is its reply at its step. */
static void command_complete(struct server_world *world, struct command *command)
{
	if (!command->service || !command->service->replaces)
		return;
	const Troupe__Msgs__Resume *message = (const void *)command->message;
	char *path = NULL;
	struct troupe_error why;
	troupe_status status = run_control_path(world->server, message->data, "resume", &path, &why);
	if (!status && (message->state.len || *message->error))
		status = fail(&why, TROUPE_ECOMMAND, "a state in the message: expected only the name of a saved state");
	if (!status)
		status = command_read_state(world, command, path, &why);
	if (status)
		command_put_state(command, NULL, 0, why.text);
	free(path);
}

/* "TOPIC@CLIENT" names a robot client, for which the command acts. A name that is a part of a topic may have the sign,
 * too. *ret_topic: memory of the new topic, or NULL; the caller frees it. */
static troupe_status command_given_split(struct given *given, char **ret_topic, struct troupe_error *error)
{
	const char *at = strrchr(given->topic, '@');
	*ret_topic = NULL;
	if (!at || strchr(at, '/'))
		return TROUPE_OK;
	if (!owner_name_is_valid(at + 1))
		return fail(error, TROUPE_ECOMMAND,
			"topic '%.150s': expected TOPIC, or TOPIC@CLIENT with the name of a robot client",
			given->topic);
	*ret_topic = mem_printf("%.*s", (int)(at - given->topic), given->topic);
	given->topic = *ret_topic;
	given->client = at + 1;
	return TROUPE_OK;
}

static troupe_status command_give(struct server_world *world, const struct given *given, struct troupe_error *error)
{
	struct command command;
	troupe_status status = command_make(world, given, &command, error);
	if (status)
		return status;
	command.client = given->client ? mem_strdup(given->client) : NULL;
	command_complete(world, &command);
	command.call = given->call;
	command.timed = given->timed;
	command.at_s = given->at_s;
	return command_post(world, &command, given->when, given->ret_step, error);
}

/* The world that the topic names; NULL: none, so any world may be meant. */
static struct server_world *command_world_of_topic(struct troupe_server *server, const char *topic)
{
	for (uint32_t i = 0; i < server->world_count; i++)
		if (topic_in_world(topic, server->worlds[i].scene->name))
			return &server->worlds[i];
	return NULL;
}

static bool command_may_listen(struct server_world *world, const char *topic)
{
	return systems_topic_type(world->systems, topic) || atomic_load(&primary_schedule(world->primary)->may_create);
}

/* Writes numbers as text, by the type of the topic in the first world where it has a listener. Other worlds may get
 * listeners later. */
static troupe_status command_write_numbers(
	struct troupe_server *server, const struct given *given, struct text *out, struct troupe_error *error)
{
	for (uint32_t i = 0; i < server->world_count; i++) {
		struct server_world *world = &server->worlds[i];
		struct command command;
		if (i + 1 < server->world_count && !systems_topic_type(world->systems, given->topic))
			continue;
		troupe_status status = command_of_numbers(world->systems, world->scene->name, given->topic,
			given->numbers, (uint32_t)given->count, &command, error);
		if (status)
			return status;
		message_add_text(out, command.message, MESSAGE_LINE);
		command_fini(&command);
		break;
	}
	return TROUPE_OK;
}

/* Makes one copy of a message for each world without posting it; on failure there are none. */
static troupe_status command_make_copies(
	struct troupe_server *server, const struct given *given, struct command *copies, struct troupe_error *error)
{
	_Atomic bool later = true;
	for (uint32_t i = 0; i < server->world_count; i++) {
		struct server_world *world = &server->worlds[i];
		const char *name = world->scene->name;
		troupe_status status = given->bytes ? command_of_bytes(world->systems, name, given->topic, given->type,
							      given->bytes, given->count, &later, &copies[i], error)
						    : command_parse(world->systems, name, given->topic, given->text,
							      &later, &copies[i], error);
		while (status && i)
			command_fini(&copies[--i]);
		if (status)
			return status;
		copies[i].client = given->client ? mem_strdup(given->client) : NULL;
	}
	struct broadcast *broadcast = broadcast_create(server->world_count);
	for (uint32_t i = 0; i < server->world_count; i++) {
		copies[i].broadcast = broadcast;
		copies[i].step = given->when ? given->when->step : 0;
	}
	return TROUPE_OK;
}

/* Posts to all worlds or to none. All take it at one step, the first that none of them has begun. */
static troupe_status command_post_copies(
	struct troupe_server *server, const struct given *given, struct troupe_error *error)
{
	struct command copies[SDF_WORLDS_MAX];
	struct posted *posted[SDF_WORLDS_MAX];
	troupe_status status = command_check_taking(server, given->when, error);
	if (!status)
		status = command_make_copies(server, given, copies, error);
	if (status)
		return status;
	uint32_t begun = 0;
	uint64_t last_step = 0;
	for (uint32_t i = 0; i < server->world_count; i++)
		if (status) {
			command_fini(&copies[i]);
		} else {
			status = schedule_begin_post(primary_schedule(server->worlds[i].primary), &copies[i],
				command_late_of(given->when), &posted[i], error);
			begun += !status;
		}
	for (uint32_t i = 0; i < begun; i++)
		last_step = MAX(last_step, posted[i]->command.step);
	for (uint32_t i = 0; i < begun; i++) {
		posted[i]->command.step =
			last_step; /* some worlds may have taken the commands of a step, and others not */
		schedule_end_post(primary_schedule(server->worlds[i].primary), posted[i], !status);
	}
	if (!status && given->ret_step)
		*given->ret_step = last_step;
	return status;
}

/* Each world has a simulated time of its own, so each takes its copy at a step of its own. Posts to all worlds that
 * have a listener or may get one, or to none of them. */
static troupe_status command_give_timed(
	struct troupe_server *server, const struct given *given, struct troupe_error *error)
{
	struct command copies[SDF_WORLDS_MAX];
	uint32_t made = 0, taken = 0;
	bool takes[SDF_WORLDS_MAX];
	troupe_status status = command_check_taking(server, NULL, error);
	for (uint32_t i = 0; i < server->world_count && !status; i++) {
		takes[i] = command_may_listen(&server->worlds[i], given->topic);
		if (takes[i])
			status = command_make(&server->worlds[i], given, &copies[made], error);
		made += takes[i] && !status;
	}
	for (uint32_t i = 0; taken < made; i++) {
		if (!takes[i])
			continue;
		struct command *copy = &copies[taken++];
		copy->timed = copy->optional = true;
		copy->at_s = given->at_s;
		if (status)
			command_fini(copy);
		else
			status = command_post(&server->worlds[i], copy, NULL, NULL, error);
	}
	return status;
}

/* A command to a model's topic is posted to all worlds: models come and go, so the listeners are known only at its
 * step. At least one world must have a listener, or may get one. */
static troupe_status command_give_to_all(
	struct troupe_server *server, const struct given *given, struct troupe_error *error)
{
	struct given written = *given;
	struct text text = {0};
	bool accepted = false;
	for (uint32_t i = 0; i < server->world_count; i++)
		accepted |= command_may_listen(&server->worlds[i], given->topic);
	if (!accepted)
		return command_give(&server->worlds[0], given, error);
	if (given->timed)
		return command_give_timed(server, given, error);
	troupe_status status = TROUPE_OK;
	if (!given->text && !given->bytes) {
		status = command_write_numbers(server, given, &text, error);
		written.text = text.at;
	}
	if (!status)
		status = command_post_copies(server, &written, error);
	text_fini(&text);
	return status;
}

static troupe_status command_give_any(struct troupe_server *server, struct given *given, struct troupe_error *error)
{
	char *topic;
	troupe_status status = command_given_split(given, &topic, error);
	if (status)
		return status;
	struct server_world *world =
		server->world_count == 1 ? &server->worlds[0] : command_world_of_topic(server, given->topic);
	status = world ? command_give(world, given, error) : command_give_to_all(server, given, error);
	free(topic);
	return status;
}

troupe_status troupe_command_text(struct troupe_server *server, const struct troupe_when *when, const char *topic,
	const char *text, uint64_t *ret_step, struct troupe_error *error)
{
	struct given given = {.when = when, .topic = topic, .text = text, .ret_step = ret_step};
	return command_give_any(server, &given, error);
}

troupe_status troupe_command_timed(
	struct troupe_server *server, double time_s, const char *topic, const char *text, struct troupe_error *error)
{
	struct given given = {.timed = true, .at_s = time_s, .topic = topic, .text = text};
	if (!(time_s >= 0 && time_s <= COMMAND_TIME_MAX_S))
		return fail(error, TROUPE_ECOMMAND, "time %g: expected 0 to %g s", time_s, COMMAND_TIME_MAX_S);
	return command_give_any(server, &given, error);
}

troupe_status troupe_command_bytes(struct troupe_server *server, const struct troupe_when *when, const char *topic,
	const char *type, const void *bytes, size_t count, uint64_t *ret_step, struct troupe_error *error)
{
	struct given given = {.when = when,
		.topic = topic,
		.bytes = bytes ? bytes : "",
		.type = type,
		.count = count,
		.ret_step = ret_step};
	return command_give_any(server, &given, error);
}

troupe_status troupe_command_numbers(struct troupe_server *server, const struct troupe_when *when, const char *topic,
	const double *numbers, uint32_t count, uint64_t *ret_step, struct troupe_error *error)
{
	struct given given = {.when = when, .topic = topic, .numbers = numbers, .count = count, .ret_step = ret_step};
	return command_give_any(server, &given, error);
}

/* A service of a model's system has no name of a world: it is in the first world whose systems take it. */
static struct server_world *command_world_of_service(struct troupe_server *server, const char *service)
{
	struct server_world *world =
		server->world_count == 1 ? &server->worlds[0] : command_world_of_topic(server, service);
	for (uint32_t i = 0; i < server->world_count && !world; i++)
		if (command_may_listen(&server->worlds[i], service))
			world = &server->worlds[i];
	return world;
}

troupe_status server_command(struct troupe_server *server, const char *service, const char *type, const void *bytes,
	size_t count, struct command_call *call, struct troupe_error *error)
{
	struct server_world *world = command_world_of_service(server, service);
	if (!world)
		return fail(error, TROUPE_ECOMMAND, "service '%.150s': there is no such world", service);
	char *topic;
	struct given given = {
		.topic = service, .type = type, .bytes = bytes ? bytes : "", .count = count, .call = call};
	troupe_status status = command_given_split(&given, &topic, error);
	if (!status)
		status = command_give(world, &given, error);
	free(topic);
	return status;
}

troupe_status troupe_server_command(
	struct troupe_server *server, uint64_t step, const char *topic, const char *text, struct troupe_error *error)
{
	struct troupe_when when = {.step = step};
	return troupe_command_text(server, &when, topic, text, NULL, error);
}

/* --- by handle ---------------------------------------------------------------------------------------------------- */

static struct server_world *command_world_of(
	struct troupe_server *server, uint32_t at, uint32_t world, struct troupe_error *error)
{
	if (at && world < server->world_count)
		return &server->worlds[world];
	(void)fail(error, TROUPE_ECOMMAND, "no handle: expected one of this server's");
	return NULL;
}

static troupe_status command_check_numbers(const double *numbers, uint32_t count, struct troupe_error *error)
{
	double max = message_limits_usual.number_max;
	for (uint32_t i = 0; i < count; i++)
		if (!(fabs(numbers[i]) <= max))
			return fail(error, TROUPE_ECOMMAND, "%g: expected a number within %g", numbers[i], max);
	return TROUPE_OK;
}

static troupe_status command_check_vectors(
	const struct troupe_vec3 *a, const struct troupe_vec3 *b, struct troupe_error *error)
{
	const double numbers[6] = {a->x, a->y, a->z, b->x, b->y, b->z};
	return command_check_numbers(numbers, 6, error);
}

/* Takes ownership of the message. */
static troupe_status command_give_to(struct troupe_server *server, const struct troupe_when *when, uint32_t world,
	const struct command_target *target, ProtobufCMessage *message, uint64_t *ret_step, struct troupe_error *error)
{
	struct server_world *w = command_world_of(server, target->at + 1, world, error);
	struct command command = {.message = message, .target = *target};
	if (w)
		return command_post(w, &command, when, ret_step, error);
	message_free(message);
	return TROUPE_ECOMMAND;
}

/* Posts to a service that takes a model's id. Copies the message. */
static troupe_status command_give_to_service(struct troupe_server *server, const struct troupe_when *when,
	troupe_model model, const char *service, const ProtobufCMessage *message, uint64_t *ret_step,
	struct troupe_error *error)
{
	struct server_world *world = command_world_of(server, model.at, model.world, error);
	if (!world)
		return TROUPE_ECOMMAND;
	struct command command = {.service = services_find(service),
		.topic = mem_printf("/world/%s/%s", world->scene->name, service),
		.message = message_copy(message)};
	return command_post(world, &command, when, ret_step, error);
}

troupe_status troupe_command_twist(struct troupe_server *server, const struct troupe_when *when, troupe_model model,
	const struct troupe_twist *twist, uint64_t *ret_step, struct troupe_error *error)
{
	struct command_target target = {TARGET_TWIST, model.at - 1, model.born, 0};
	troupe_status status = command_check_vectors(&twist->linear, &twist->angular, error);
	if (status)
		return status;
	Gz__Msgs__Twist *message = message_of_twist(twist->linear, twist->angular);
	return command_give_to(server, when, model.world, &target, &message->base, ret_step, error);
}

troupe_status troupe_command_joint(struct troupe_server *server, const struct troupe_when *when, troupe_joint joint,
	double number, uint64_t *ret_step, struct troupe_error *error)
{
	struct command_target target = {TARGET_JOINT, joint.at - 1, joint.born, 0};
	troupe_status status = command_check_numbers(&number, 1, error);
	if (status)
		return status;
	return command_give_to(server, when, joint.world, &target, &message_of_double(number)->base, ret_step, error);
}

troupe_status troupe_command_wrench(struct troupe_server *server, const struct troupe_when *when, troupe_link link,
	const struct troupe_wrench *wrench, uint64_t *ret_step, struct troupe_error *error)
{
	struct command_target target = {TARGET_WRENCH, link.at - 1, link.born, 0};
	Gz__Msgs__Vector3d force = message_of_vec3(wrench->force);
	Gz__Msgs__Vector3d torque = message_of_vec3(wrench->torque);
	Gz__Msgs__Wrench part = GZ__MSGS__WRENCH__INIT;
	Gz__Msgs__EntityWrench message = GZ__MSGS__ENTITY_WRENCH__INIT;
	part.force = &force;
	part.torque = &torque;
	message.wrench = &part;
	troupe_status status = command_check_vectors(&wrench->force, &wrench->torque, error);
	if (status)
		return status;
	return command_give_to(server, when, link.world, &target, message_copy(&message.base), ret_step, error);
}

troupe_status troupe_command_joint_state(struct troupe_server *server, const struct troupe_when *when,
	troupe_joint joint, uint32_t axis, double position, double velocity, uint64_t *ret_step,
	struct troupe_error *error)
{
	struct command_target target = {TARGET_JOINT_STATE, joint.at - 1, joint.born, axis};
	Troupe__Msgs__SetJoint message = TROUPE__MSGS__SET_JOINT__INIT;
	if (axis > 1)
		return fail(error, TROUPE_ECOMMAND, "axis %u: expected 0 or 1", axis);
	if (isnan(position) && isnan(velocity))
		return fail(error, TROUPE_ECOMMAND, "a joint's state: expected a position, a velocity or both");
	if (!isnan(position)) {
		message.position_given_case = TROUPE__MSGS__SET_JOINT__POSITION_GIVEN_POSITION;
		message.position = position + 0.0;
	}
	if (!isnan(velocity)) {
		message.velocity_given_case = TROUPE__MSGS__SET_JOINT__VELOCITY_GIVEN_VELOCITY;
		message.velocity = velocity + 0.0;
	}
	const double numbers[2] = {message.position, message.velocity};
	troupe_status status = command_check_numbers(numbers, 2, error);
	if (status)
		return status;
	return command_give_to(server, when, joint.world, &target, message_copy(&message.base), ret_step, error);
}

troupe_status troupe_command_pose(struct troupe_server *server, const struct troupe_when *when, troupe_model model,
	const struct troupe_pose *pose, uint64_t *ret_step, struct troupe_error *error)
{
	const double numbers[7] = {pose->x, pose->y, pose->z, pose->qx, pose->qy, pose->qz, pose->qw};
	Gz__Msgs__Vector3d position = message_of_vec3(troupe_pose_place(*pose));
	Gz__Msgs__Quaternion orientation = GZ__MSGS__QUATERNION__INIT;
	Gz__Msgs__Pose message = GZ__MSGS__POSE__INIT;
	orientation.x = pose->qx + 0.0;
	orientation.y = pose->qy + 0.0;
	orientation.z = pose->qz + 0.0;
	orientation.w = pose->qw + 0.0;
	message.id = model.born;
	message.position = &position;
	message.orientation = &orientation;
	troupe_status status = command_check_numbers(numbers, 7, error);
	if (status)
		return status;
	return command_give_to_service(server, when, model, "set_pose", &message.base, ret_step, error);
}

troupe_status troupe_command_velocity(struct troupe_server *server, const struct troupe_when *when, troupe_model model,
	const struct troupe_twist *twist, uint64_t *ret_step, struct troupe_error *error)
{
	Gz__Msgs__Vector3d linear = message_of_vec3(twist->linear);
	Gz__Msgs__Vector3d angular = message_of_vec3(twist->angular);
	Troupe__Msgs__SetVelocity message = TROUPE__MSGS__SET_VELOCITY__INIT;
	message.id = model.born;
	message.linear = &linear;
	message.angular = &angular;
	troupe_status status = command_check_vectors(&twist->linear, &twist->angular, error);
	if (status)
		return status;
	return command_give_to_service(server, when, model, "set_velocity", &message.base, ret_step, error);
}

/* --- many at once ------------------------------------------------------------------------------------------------- */

static troupe_status command_fail_item(uint32_t item, const struct troupe_error *why, struct troupe_error *error)
{
	return fail(error, why->status, "item %u: %s", item, why->text);
}

troupe_status troupe_command_twists(struct troupe_server *server, const struct troupe_when *when,
	const troupe_model *models, uint32_t count, const struct troupe_twist *twists, struct troupe_error *error)
{
	struct troupe_error why;
	for (uint32_t i = 0; i < count; i++)
		if (troupe_command_twist(server, when, models[i], &twists[i], NULL, &why))
			return command_fail_item(i, &why, error);
	return TROUPE_OK;
}

troupe_status troupe_command_joints(struct troupe_server *server, const struct troupe_when *when,
	const troupe_joint *joints, uint32_t count, const double *numbers, struct troupe_error *error)
{
	struct troupe_error why;
	for (uint32_t i = 0; i < count; i++)
		if (troupe_command_joint(server, when, joints[i], numbers[i], NULL, &why))
			return command_fail_item(i, &why, error);
	return TROUPE_OK;
}

troupe_status troupe_command_wrenches(struct troupe_server *server, const struct troupe_when *when,
	const troupe_link *links, uint32_t count, const struct troupe_wrench *wrenches, struct troupe_error *error)
{
	struct troupe_error why;
	for (uint32_t i = 0; i < count; i++)
		if (troupe_command_wrench(server, when, links[i], &wrenches[i], NULL, &why))
			return command_fail_item(i, &why, error);
	return TROUPE_OK;
}
