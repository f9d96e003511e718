/* Commands from programs. A command given as numbers stays numbers until its step: it is printed and parsed only for
 * a recording or a saved state. A handle is looked up by the primary at that step, because models come and go while
 * other threads post commands. */
#include "server/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum schedule_late late_of(const struct troupe_when *when)
{
	return when && when->late == TROUPE_LATE_REFUSE ? SCHEDULE_LATE_REFUSE : SCHEDULE_LATE_NEXT;
}

static troupe_status post(struct server_world *world, struct command *command, const struct troupe_when *when,
	uint64_t *ret_step, struct troupe_error *error)
{
	command->step = when ? when->step : 0;
	return schedule_post(&world->primary.schedule, command, late_of(when), ret_step, error);
}

/* --- on a topic --------------------------------------------------------------------------------------------------- */

struct given { /* a message, as text or as numbers */
	const struct troupe_when *when;
	const char *topic, *text;
	const double *numbers;
	uint32_t count;
	uint64_t *ret_step;
	struct command_call *call;
};

static troupe_status give(struct server_world *world, const struct given *given, struct troupe_error *error)
{
	struct schedule *schedule = &world->primary.schedule;
	const char *name = world->scene->name;
	struct command command;
	troupe_status status = given->text ? command_parse(world->systems, name, 0, given->topic, given->text,
						     &schedule->may_create, &command, error)
					   : command_of_numbers(world->systems, name, 0, given->topic, given->numbers,
						     given->count, &command, error);
	if (status)
		return status;
	command.call = given->call;
	return post(world, &command, given->when, given->ret_step, error);
}

/* The world that the topic names; NULL: none, so any world may be meant. */
static struct server_world *world_of_topic(struct troupe_server *server, const char *topic)
{
	for (uint32_t i = 0; i < server->world_count; i++) {
		const char *name = server->worlds[i].scene->name;
		size_t length = strlen(name);
		if (!strncmp(topic, "/world/", 7) && !strncmp(topic + 7, name, length) && topic[7 + length] == '/')
			return &server->worlds[i];
	}
	return NULL;
}

static bool may_hear(struct server_world *world, const char *topic)
{
	return systems_channel_schema(world->systems, topic) || atomic_load(&world->primary.schedule.may_create);
}

/* Writes numbers as text, by the schema of the topic in the first world where it has a listener. Other worlds may get
 * listeners later. */
static troupe_status write_numbers(
	struct troupe_server *server, const struct given *given, struct text *out, struct troupe_error *error)
{
	for (uint32_t i = 0; i < server->world_count; i++) {
		struct server_world *world = &server->worlds[i];
		struct command command;
		if (i + 1 < server->world_count && !systems_channel_schema(world->systems, given->topic))
			continue;
		troupe_status status = command_of_numbers(world->systems, world->scene->name, 0, given->topic,
			given->numbers, given->count, &command, error);
		if (status)
			return status;
		text_add(out, "%s", "");
		message_print(command.schema, &command.message, out);
		command_fini(&command);
		break;
	}
	return TROUPE_OK;
}

/* Makes one copy of a message for each world without posting it; on failure there are none. */
static troupe_status make_copies(struct troupe_server *server, const struct given *given, const char *text,
	struct command *copies, struct troupe_error *error)
{
	_Atomic bool later = true;
	for (uint32_t i = 0; i < server->world_count; i++) {
		struct server_world *world = &server->worlds[i];
		troupe_status status = command_parse(
			world->systems, world->scene->name, 0, given->topic, text, &later, &copies[i], error);
		while (status && i)
			command_fini(&copies[--i]);
		if (status)
			return status;
	}
	struct hearing *hearing = hearing_create(server->world_count);
	for (uint32_t i = 0; i < server->world_count; i++) {
		copies[i].hearing = hearing;
		copies[i].step = given->when ? given->when->step : 0;
	}
	return TROUPE_OK;
}

/* Posts to all worlds or to none. The result is the last of the steps at which the worlds take it. */
static troupe_status post_copies(
	struct troupe_server *server, const struct given *given, const char *text, struct troupe_error *error)
{
	struct command copies[SDF_WORLDS_MAX];
	struct posted *posted[SDF_WORLDS_MAX];
	troupe_status status = make_copies(server, given, text, copies, error);
	if (status)
		return status;
	uint32_t begun = 0;
	uint64_t last_step = 0;
	for (uint32_t i = 0; i < server->world_count; i++)
		if (status) {
			command_fini(&copies[i]);
		} else {
			status = schedule_begin_post(&server->worlds[i].primary.schedule, &copies[i],
				late_of(given->when), &posted[i], error);
			begun += !status;
		}
	for (uint32_t i = 0; i < begun; i++)
		last_step = MAX(last_step, posted[i]->command.step);
	for (uint32_t i = 0; i < begun; i++)
		schedule_end_post(&server->worlds[i].primary.schedule, posted[i], !status);
	if (!status && given->ret_step)
		*given->ret_step = last_step;
	return status;
}

/* A command to a model's topic is posted to all worlds: models come and go, so the listeners are known only at its
 * step. At least one world must have a listener, or may get one. */
static troupe_status give_to_all(struct troupe_server *server, const struct given *given, struct troupe_error *error)
{
	struct text text = {0};
	bool heard = false;
	for (uint32_t i = 0; i < server->world_count; i++)
		heard |= may_hear(&server->worlds[i], given->topic);
	if (!heard)
		return give(&server->worlds[0], given, error);
	troupe_status status = given->text ? TROUPE_OK : write_numbers(server, given, &text, error);
	if (!status)
		status = post_copies(server, given, given->text ? given->text : text.at, error);
	text_fini(&text);
	return status;
}

static troupe_status give_any(struct troupe_server *server, const struct given *given, struct troupe_error *error)
{
	struct server_world *world =
		server->world_count == 1 ? &server->worlds[0] : world_of_topic(server, given->topic);
	return world ? give(world, given, error) : give_to_all(server, given, error);
}

troupe_status troupe_command_text(struct troupe_server *server, const struct troupe_when *when, const char *topic,
	const char *text, uint64_t *ret_step, struct troupe_error *error)
{
	struct given given = {.when = when, .topic = topic, .text = text, .ret_step = ret_step};
	return give_any(server, &given, error);
}

troupe_status troupe_command_numbers(struct troupe_server *server, const struct troupe_when *when, const char *topic,
	const double *numbers, uint32_t count, uint64_t *ret_step, struct troupe_error *error)
{
	struct given given = {.when = when, .topic = topic, .numbers = numbers, .count = count, .ret_step = ret_step};
	return give_any(server, &given, error);
}

troupe_status server_command(struct troupe_server *server, const char *service, const char *text,
	struct command_call *call, struct troupe_error *error)
{
	struct server_world *world = world_of_topic(server, service);
	if (!world)
		return fail(error, TROUPE_ECOMMAND, "service '%.150s': there is no such world", service);
	struct given given = {.topic = service, .text = text, .call = call};
	return give(world, &given, error);
}

troupe_status troupe_server_command(
	struct troupe_server *server, uint64_t step, const char *topic, const char *text, struct troupe_error *error)
{
	struct troupe_when when = {.step = step};
	return troupe_command_text(server, &when, topic, text, NULL, error);
}

/* --- by handle ---------------------------------------------------------------------------------------------------- */

static struct server_world *world_of(
	struct troupe_server *server, uint32_t at, uint32_t world, struct troupe_error *error)
{
	if (at && world < server->world_count)
		return &server->worlds[world];
	(void)fail(error, TROUPE_ECOMMAND, "no handle: expected one of this server's");
	return NULL;
}

/* A number that is not given is NAN, where that is allowed. */
static troupe_status set_numbers(struct message *message, uint32_t slot, const double *numbers, uint32_t count,
	bool some, struct troupe_error *error)
{
	for (uint32_t i = 0; i < count; i++) {
		if (some && isnan(numbers[i]))
			continue;
		if (!(fabs(numbers[i]) <= MESSAGE_DOUBLE_MAX))
			return fail(error, TROUPE_ECOMMAND, "%g: expected a number within %g", numbers[i],
				MESSAGE_DOUBLE_MAX);
		message->value[slot + i] = numbers[i];
		message->given |= 1u << (slot + i);
	}
	return TROUPE_OK;
}

static troupe_status give_to(struct troupe_server *server, const struct troupe_when *when, uint32_t world,
	const struct command_target *target, const double *numbers, uint32_t count, uint64_t *ret_step,
	struct troupe_error *error)
{
	struct server_world *w = world_of(server, target->at + 1, world, error);
	struct command command = {.kind = COMMAND_SYSTEM,
		.schema = target->kind == TARGET_JOINT ? &message_double : &message_twist,
		.target = *target};
	if (!w)
		return TROUPE_ECOMMAND;
	troupe_status status =
		set_numbers(&command.message, 0, numbers, count, target->kind == TARGET_JOINT_STATE, error);
	return status ? status : post(w, &command, when, ret_step, error);
}

/* Posts to a service that takes a model's id. */
static troupe_status give_to_service(struct troupe_server *server, const struct troupe_when *when, troupe_model model,
	const char *service, uint32_t id_slot, uint32_t slot, const double *numbers, uint32_t count, uint64_t *ret_step,
	struct troupe_error *error)
{
	struct server_world *world = world_of(server, model.at, model.world, error);
	struct command command = {0};
	if (!world)
		return TROUPE_ECOMMAND;
	char *long_topic = mem_printf("/world/%s/%s", world->scene->name, service);
	troupe_status status =
		command_of_numbers(world->systems, world->scene->name, 0, long_topic, NULL, 0, &command, error);
	free(long_topic);
	if (status)
		return status;
	command.message.value[id_slot] = model.born;
	command.message.given |= 1u << id_slot;
	status = set_numbers(&command.message, slot, numbers, count, false, error);
	if (!status)
		return post(world, &command, when, ret_step, error);
	command_fini(&command);
	return status;
}

troupe_status troupe_command_twist(struct troupe_server *server, const struct troupe_when *when, troupe_model model,
	const struct troupe_twist *twist, uint64_t *ret_step, struct troupe_error *error)
{
	const double numbers[6] = {twist->linear.x, twist->linear.y, twist->linear.z, twist->angular.x,
		twist->angular.y, twist->angular.z};
	struct command_target target = {TARGET_TWIST, model.at - 1, model.born, 0};
	return give_to(server, when, model.world, &target, numbers, 6, ret_step, error);
}

troupe_status troupe_command_joint(struct troupe_server *server, const struct troupe_when *when, troupe_joint joint,
	double number, uint64_t *ret_step, struct troupe_error *error)
{
	struct command_target target = {TARGET_JOINT, joint.at - 1, joint.born, 0};
	return give_to(server, when, joint.world, &target, &number, 1, ret_step, error);
}

troupe_status troupe_command_wrench(struct troupe_server *server, const struct troupe_when *when, troupe_link link,
	const struct troupe_wrench *wrench, uint64_t *ret_step, struct troupe_error *error)
{
	const double numbers[6] = {wrench->force.x, wrench->force.y, wrench->force.z, wrench->torque.x,
		wrench->torque.y, wrench->torque.z};
	struct command_target target = {TARGET_WRENCH, link.at - 1, link.born, 0};
	return give_to(server, when, link.world, &target, numbers, 6, ret_step, error);
}

troupe_status troupe_command_joint_state(struct troupe_server *server, const struct troupe_when *when,
	troupe_joint joint, uint32_t axis, double position, double velocity, uint64_t *ret_step,
	struct troupe_error *error)
{
	const double numbers[2] = {position, velocity};
	struct command_target target = {TARGET_JOINT_STATE, joint.at - 1, joint.born, axis};
	if (axis > 1)
		return fail(error, TROUPE_ECOMMAND, "axis %u: expected 0 or 1", axis);
	if (isnan(position) && isnan(velocity))
		return fail(error, TROUPE_ECOMMAND, "a joint's state: expected a position, a velocity or both");
	return give_to(server, when, joint.world, &target, numbers, 2, ret_step, error);
}

troupe_status troupe_command_pose(struct troupe_server *server, const struct troupe_when *when, troupe_model model,
	const struct troupe_pose *pose, uint64_t *ret_step, struct troupe_error *error)
{
	const double numbers[MESSAGE_POSE_SLOTS] = {pose->x, pose->y, pose->z, pose->qx, pose->qy, pose->qz, pose->qw};
	return give_to_service(server, when, model, "set_pose", MESSAGE_POSE_ID, MESSAGE_POSE_POSE, numbers,
		MESSAGE_POSE_SLOTS, ret_step, error);
}

troupe_status troupe_command_velocity(struct troupe_server *server, const struct troupe_when *when, troupe_model model,
	const struct troupe_twist *twist, uint64_t *ret_step, struct troupe_error *error)
{
	const double numbers[6] = {twist->linear.x, twist->linear.y, twist->linear.z, twist->angular.x,
		twist->angular.y, twist->angular.z};
	return give_to_service(server, when, model, "set_velocity", MESSAGE_VELOCITY_ID, MESSAGE_VELOCITY_LINEAR,
		numbers, 6, ret_step, error);
}
