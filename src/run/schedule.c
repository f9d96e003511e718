/* Any thread posts a command at any time, but a command must be taken at exactly the step that its poster got.
 *
 * Posting threads push onto a lock-free list; the primary empties the list into a heap of its own, ordered by (step,
 * order of posting), and timed commands into its timetable. Before the primary takes the commands of step k, it sets
 * `open_step` to k+1 and waits until no thread is between reading `open_step` and pushing. So no command is pushed for
 * a step whose commands were taken. */
#include "run/schedule.h"

#include "base/clock.h"
#include "base/eventcount.h"
#include "run/services.h"
#include "topic/convert.h"
#include "topic/light.pb-c.h"
#include "topic/table.h"
#include "topic/troupe.pb-c.h"
#include "topic/world.pb-c.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- what a topic means ------------------------------------------------------------------------------------------- */

/* NULL: no service of the world. */
static const struct command_service *schedule_find_service(const char *world, const char *topic)
{
	const char *asked = topic_in_world(topic, world);
	return asked ? services_find(asked) : NULL;
}

static troupe_status schedule_unknown_topic(
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

static bool schedule_creates(const struct command *command)
{
	return command->service && command->service->creates;
}

/* The type that the topic carries. *ret_type is NULL when that is not known, and may become known. */
static troupe_status schedule_find_type(struct systems *systems, const char *world, const char *topic, bool may_create,
	struct command *command, message_type *ret_type, struct troupe_error *error)
{
	command->service = schedule_find_service(world, topic);
	message_type type = command->service ? command->service->type : systems_topic_type(systems, topic);
	if (!type && (!may_create || topic_in_world(topic, world)))
		return schedule_unknown_topic(systems, world, topic, error);
	*ret_type = type;
	return TROUPE_OK;
}

static void schedule_complete(struct command *command, const char *topic, _Atomic bool *may_create)
{
	if (schedule_creates(command))
		atomic_store(may_create, true);
	command->topic = mem_strdup(topic);
}

troupe_status command_parse(struct systems *systems, const char *world, uint64_t step, const char *topic,
	const char *text, _Atomic bool *may_create, struct command *ret_command, struct troupe_error *error)
{
	struct command command = {.step = step};
	message_type type;
	troupe_status status =
		schedule_find_type(systems, world, topic, atomic_load(may_create), &command, &type, error);
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
	schedule_complete(&command, topic, may_create);
	*ret_command = command;
	return TROUPE_OK;
}

static troupe_status schedule_other_type(const char *sent, message_type type, struct troupe_error *error)
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
static void schedule_mean_as_gazebo(ProtobufCMessage *message, message_type sent)
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

troupe_status command_of_bytes(struct systems *systems, const char *world, uint64_t step, const char *topic,
	const char *type, const void *bytes, size_t count, _Atomic bool *may_create, struct command *ret_command,
	struct troupe_error *error)
{
	struct command command = {.step = step};
	message_type carried, sent = type_find(type);
	troupe_status status =
		schedule_find_type(systems, world, topic, atomic_load(may_create), &command, &carried, error);
	if (status)
		return status;
	if (!sent && !carried)
		return fail(error, TROUPE_ECOMMAND, "type '%.100s' is not known: expected one of gz.msgs", type);
	message_type other = command.service ? service_sent_type(command.service) : carried;
	if (carried && (!sent || (sent != carried && sent != other)))
		return schedule_other_type(type, carried, error);
	status = message_of_bytes(
		carried ? carried : sent, bytes, count, &message_limits_usual, &command.message, error);
	if (status)
		return status;
	schedule_mean_as_gazebo(command.message, sent);
	schedule_complete(&command, topic, may_create);
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

static void schedule_broadcast_drop(struct broadcast *broadcast)
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
	schedule_broadcast_drop(command->broadcast);
	prepared_release(command->prepared);
	message_free(command->message);
	free(command->topic);
	free(command->client);
	free(command->text);
	*command = (struct command){0};
}

/* --- by numbers and by handle ------------------------------------------------------------------------------------- */

troupe_status command_of_numbers(struct systems *systems, const char *world, uint64_t step, const char *topic,
	const double *numbers, uint32_t count, struct command *ret_command, struct troupe_error *error)
{
	struct command command = {.step = step};
	message_type type;
	troupe_status status = schedule_find_type(systems, world, topic, false, &command, &type, error);
	if (!status)
		status = message_of_numbers(type, numbers, count, &message_limits_usual, &command.message, error);
	if (status)
		return status;
	command.topic = mem_strdup(topic);
	*ret_command = command;
	return TROUPE_OK;
}

static const char *schedule_twist_topic(const struct systems *systems, uint32_t model)
{
	const struct system_set *set = &systems->sets[model];
	for (uint32_t i = 0; i < set->count; i++)
		for (uint32_t t = 0; t < set->at[i].topics.count; t++)
			if (set->at[i].topics.at[t].type == &gz__msgs__twist__descriptor)
				return set->at[i].topics.at[t].name;
	return NULL;
}

static const char *schedule_joint_topic(const struct systems *systems, const struct scene *scene, uint32_t joint)
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
static uint32_t schedule_model_of(const struct scene *scene, const struct command_target *target)
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

static const char *const schedule_target_names[] = {[TARGET_TWIST] = "a twist for a model",
	[TARGET_JOINT] = "a number for a joint",
	[TARGET_JOINT_STATE] = "the state of a joint",
	[TARGET_WRENCH] = "a wrench for a link"};

/* Services take names, so the message is copied with names. */
static void schedule_name_target(const struct scene *scene, struct command *command)
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
	uint32_t model = schedule_model_of(scene, target);
	const char *what = schedule_target_names[target->kind], *topic = NULL;
	if (model == SCENE_NONE) {
		command->topic = mem_strdup(what);
		return fail(error, TROUPE_ECOMMAND, "the model of this command does not exist any more");
	}
	if (target->kind == TARGET_JOINT_STATE || target->kind == TARGET_WRENCH) {
		schedule_name_target(scene, command);
		return TROUPE_OK;
	}
	if (target->kind == TARGET_TWIST)
		topic = schedule_twist_topic(systems, model);
	else
		topic = schedule_joint_topic(systems, scene, target->at);
	command->topic = mem_strdup(topic ? topic : what);
	return topic ? TROUPE_OK
		     : fail(error, TROUPE_ECOMMAND, "model '%.100s' has no system that takes this command",
			       scene->models[model].name);
}

/* --- packed ------------------------------------------------------------------------------------------------------- */

static void schedule_pack_message(const ProtobufCMessage *message, struct text *out)
{
	pack_u64(out, protobuf_c_message_get_packed_size(message));
	message_add_bytes(out, message);
}

static ProtobufCMessage *schedule_unpack_message(struct unpack *in, message_type type)
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
		schedule_pack_message(command->message, out);
	else
		pack_string(out, command->text);
}

troupe_status command_unpack(struct unpack *in, const char *world, uint64_t step, _Atomic bool *may_create,
	struct command *ret_command, struct troupe_error *error)
{
	char *topic = unpack_string(in), *client = unpack_string(in), *name = unpack_string(in);
	struct command command = {.step = step};
	troupe_status status = TROUPE_OK;
	command.service = schedule_find_service(world, topic);
	message_type type = command.service ? command.service->type : NULL;
	if (*name) {
		command.message = schedule_unpack_message(in, type_find(name));
	} else {
		command.text = unpack_string(in);
		in->bad |= strlen(command.text) > COMMAND_TEXT_BYTES_MAX;
	}
	if (*client)
		command.client = mem_strdup(client);
	in->bad |= *client && !owner_name_is_valid(client);
	if (!in->bad && type && (!command.message || command.message->descriptor != type))
		status = schedule_other_type(*name ? name : "unknown", type, error);
	if (in->bad || status) {
		command_fini(&command);
	} else {
		schedule_complete(&command, topic, may_create);
		*ret_command = command;
	}
	free(topic);
	free(client);
	free(name);
	return status;
}

/* --- the queue ---------------------------------------------------------------------------------------------------- */

static bool schedule_before(const struct queued_command *a, const struct queued_command *b)
{
	return a->step != b->step ? a->step < b->step : a->order < b->order;
}

/* Commands of a state that was taken up come first in their step, because their place must not depend on when the state
 * was taken up: the run may be repeated with all other commands posted at the start. */
static void schedule_push(struct schedule *schedule, struct posted *posted)
{
	const uint64_t behind = posted->command.adopted ? 0 : UINT64_C(1) << 63;
	struct queued_command new = {posted->command.step, behind | schedule->order++, posted};
	vec_push(&schedule->heap, new);
	uint32_t at = schedule->heap.count - 1;
	for (; at && schedule_before(&new, &schedule->heap.at[(at - 1) / 2]); at = (at - 1) / 2)
		schedule->heap.at[at] = schedule->heap.at[(at - 1) / 2];
	schedule->heap.at[at] = new;
}

/* Removes the least entry; the last entry then sinks to its place from the top. */
static struct posted *schedule_pop(struct schedule *schedule)
{
	struct posted *least = schedule->heap.at[0].posted;
	uint32_t count = --schedule->heap.count, at = 0;
	struct queued_command last = schedule->heap.at[count];
	for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && schedule_before(&schedule->heap.at[child + 1], &schedule->heap.at[child]))
			child++;
		if (schedule_before(&last, &schedule->heap.at[child]))
			break;
		schedule->heap.at[at] = schedule->heap.at[child];
	}
	schedule->heap.at[at] = last;
	return least;
}

static uint64_t schedule_bytes_of(const struct command *command)
{
	return sizeof(struct posted) + sizeof(struct queued_command) +
	       (command->topic ? strlen(command->topic) + 1 : 0) + (command->text ? strlen(command->text) + 1 : 0) +
	       (command->message ? message_memory(command->message) : 0);
}

static void schedule_uncount(struct schedule *schedule, uint64_t count, uint64_t bytes)
{
	atomic_fetch_sub_explicit(&schedule->bytes, bytes, memory_order_relaxed);
	atomic_fetch_sub_explicit(&schedule->count, count, memory_order_relaxed);
}

/* Adds first and subtracts when it was too much: two threads at the limit may both be refused, but never both be let
 * in. */
static troupe_status schedule_count_in(
	struct schedule *schedule, uint64_t more, uint64_t bytes, struct troupe_error *error)
{
	uint64_t count = atomic_fetch_add_explicit(&schedule->count, more, memory_order_relaxed) + more;
	uint64_t all = atomic_fetch_add_explicit(&schedule->bytes, bytes, memory_order_relaxed) + bytes;
	if (count <= SCHEDULE_COMMANDS_MAX && all <= SCHEDULE_BYTES_MAX)
		return TROUPE_OK;
	schedule_uncount(schedule, more, bytes);
	return count > SCHEDULE_COMMANDS_MAX
		       ? fail(error, TROUPE_ELIMIT, "%d commands wait for their steps: expected no more",
				 SCHEDULE_COMMANDS_MAX)
		       : fail(error, TROUPE_ELIMIT,
				 "the commands that wait for their steps take %" PRIu64
				 " bytes: expected at most %" PRIu64,
				 all, SCHEDULE_BYTES_MAX);
}

static void schedule_push_posted(struct schedule *schedule, struct posted *posted)
{
	posted->next = atomic_load(&schedule->posted);
	while (!atomic_compare_exchange_weak(&schedule->posted, &posted->next, posted))
		;
}

/* Before the command is bound to its step: if that step comes meanwhile, the command is late. Of a timed command only
 * the order in which it is prepared depends on its step: as if each step took a millisecond. */
void schedule_prepare(struct schedule *schedule, struct command *command)
{
	uint64_t soon = atomic_load(&schedule->open_step) + PREPARE_SOON_STEPS;
	if (!schedule->preparer || !schedule_creates(command) || command->prepared)
		return;
	if (command->timed)
		command->step = (uint64_t)(command->at_s * 1000);
	preparer_give(schedule->preparer, command, !command->timed && command->step < soon);
}

troupe_status schedule_begin_post(struct schedule *schedule, const struct command *command, enum schedule_late late,
	struct posted **ret_posted, struct troupe_error *error)
{
	uint64_t bytes = schedule_bytes_of(command), wanted = command->step;
	struct posted *posted = mem_alloc(sizeof *posted);
	*posted = (struct posted){.bytes = bytes, .command = *command};
	troupe_status status = schedule_count_in(schedule, 1, bytes, error);
	if (status) {
		command_fini(&posted->command);
		free(posted);
		return status;
	}
	schedule_prepare(schedule, &posted->command);
	atomic_fetch_add(&schedule->posting, 1);
	uint64_t open = atomic_load(&schedule->open_step);
	posted->command.step = MAX(wanted, open);
	if (wanted >= open || late == SCHEDULE_LATE_NEXT) {
		*ret_posted = posted;
		return TROUPE_OK;
	}
	schedule_end_post(schedule, posted, false);
	return fail(error, TROUPE_ECOMMAND, "step %" PRIu64 " is past: expected %" PRIu64 " or later", wanted, open);
}

void schedule_end_post(struct schedule *schedule, struct posted *posted, bool keep)
{
	if (keep)
		schedule_push_posted(schedule, posted);
	atomic_fetch_sub(&schedule->posting, 1);
	if (keep)
		return;
	schedule_uncount(schedule, 1, posted->bytes);
	command_fini(&posted->command);
	free(posted);
}

troupe_status schedule_post(struct schedule *schedule, const struct command *command, enum schedule_late late,
	uint64_t *ret_step, struct troupe_error *error)
{
	struct posted *posted;
	troupe_status status = schedule_begin_post(schedule, command, late, &posted, error);
	if (status)
		return status;
	if (ret_step)
		*ret_step = posted->command.step;
	schedule_end_post(schedule, posted, true);
	return TROUPE_OK;
}

/* Waits until no thread is posting. A posting thread is between two atomic operations, so the wait is short unless
 * the system has suspended that thread. */
void schedule_open(struct schedule *schedule, uint64_t step)
{
	enum { LOOKS = 1000, NAP_NS = 20000 };
	atomic_store(&schedule->open_step, step);
	for (uint32_t i = 0; atomic_load(&schedule->posting); i++)
		if (i < LOOKS)
			eventcount_relax();
		else
			clock_sleep_until_ns(clock_now_ns() + NAP_NS);
}

/* Posted commands come off newest first; reversing the list restores the order of posting. */
static void schedule_take_posted(struct schedule *schedule)
{
	struct posted *newest = atomic_exchange(&schedule->posted, NULL), *oldest = NULL;
	while (newest) {
		struct posted *next = newest->next;
		newest->next = oldest;
		oldest = newest;
		newest = next;
	}
	for (; oldest; oldest = oldest->next)
		if (oldest->command.timed)
			timetable_add(&schedule->timetable, oldest, oldest->command.at_s, true, false);
		else
			schedule_push(schedule, oldest);
}

uint64_t schedule_next_step(struct schedule *schedule)
{
	if (atomic_load_explicit(&schedule->posted, memory_order_relaxed))
		schedule_take_posted(schedule);
	return schedule->heap.count ? schedule->heap.at[0].step : UINT64_MAX;
}

struct command *schedule_next(struct schedule *schedule, uint64_t step)
{
	if (atomic_load_explicit(&schedule->posted, memory_order_relaxed))
		schedule_take_posted(schedule);
	bool due = schedule->heap.count && schedule->heap.at[0].step <= step;
	return due ? &schedule->heap.at[0].posted->command : NULL;
}

bool schedule_due(struct schedule *schedule, uint64_t step, struct command *ret_command)
{
	if (!schedule_next(schedule, step))
		return false;
	struct posted *due = schedule_pop(schedule);
	*ret_command = due->command;
	schedule_uncount(schedule, 1, due->bytes);
	free(due);
	return true;
}

bool schedule_pending(const struct schedule *schedule)
{
	return schedule->heap.count || atomic_load(&schedule->posted) != NULL;
}

uint64_t schedule_waiting(const struct schedule *schedule)
{
	uint64_t passed = atomic_load_explicit(&schedule->passed, memory_order_relaxed);
	uint64_t count = atomic_load_explicit(&schedule->count, memory_order_relaxed);
	return count - MIN(passed, count);
}

/* --- timed commands ----------------------------------------------------------------------------------------------- */

static void schedule_count_passed(struct schedule *schedule)
{
	atomic_store_explicit(&schedule->passed, schedule->timetable.passed, memory_order_relaxed);
}

/* The prepared models go with the copy, and have its message: so the copy gets the message that was there. */
static void schedule_push_copy(struct schedule *schedule, struct posted *from, uint64_t step)
{
	struct posted *copy = mem_alloc(sizeof *copy);
	struct command *command = &from->command;
	*copy = (struct posted){.bytes = from->bytes, .command = *command};
	copy->command.timed = false;
	copy->command.step = step;
	command->topic = command->topic ? mem_strdup(command->topic) : NULL;
	command->text = command->text ? mem_strdup(command->text) : NULL;
	command->message = command->message ? message_copy(command->message) : NULL;
	command->prepared = NULL;
	atomic_fetch_add_explicit(&schedule->count, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&schedule->bytes, copy->bytes, memory_order_relaxed);
	schedule_push(schedule, copy);
}

bool schedule_feed(struct schedule *schedule, uint64_t step, double from_s, double now_s, double slack_s)
{
	struct posted *due;
	bool fed = false;
	if (atomic_load_explicit(&schedule->posted, memory_order_relaxed))
		schedule_take_posted(schedule);
	timetable_settle(&schedule->timetable, from_s - slack_s);
	for (; (due = timetable_due(&schedule->timetable, now_s + slack_s)); fed = true)
		schedule_push_copy(schedule, due, step);
	schedule_count_passed(schedule);
	return fed;
}

double schedule_next_time(struct schedule *schedule)
{
	const struct timetable_entry *next = timetable_peek(&schedule->timetable, schedule->timetable.passed);
	return next ? next->time_s : (double)INFINITY;
}

static void schedule_prepare_timed(struct schedule *schedule)
{
	const struct timetable_entry *entry;
	for (uint32_t i = schedule->timetable.passed; (entry = timetable_peek(&schedule->timetable, i)); i++)
		schedule_prepare(schedule, &entry->posted->command);
}

void schedule_rewind(struct schedule *schedule)
{
	schedule_take_posted(schedule);
	timetable_rewind(&schedule->timetable);
	schedule_prepare_timed(schedule);
	schedule_count_passed(schedule);
}

void schedule_drop_timed(struct schedule *schedule)
{
	const struct timetable_entry *entry;
	schedule_take_posted(schedule);
	for (uint32_t i = 0; (entry = timetable_peek(&schedule->timetable, i)); i++) {
		schedule_uncount(schedule, 1, entry->posted->bytes);
		command_fini(&entry->posted->command);
		free(entry->posted);
	}
	timetable_fini(&schedule->timetable);
	schedule_count_passed(schedule);
}

void schedule_fini(struct schedule *schedule)
{
	schedule_drop_timed(schedule);
	for (uint32_t i = 0; i < schedule->heap.count; i++) {
		struct command *command = &schedule->heap.at[i].posted->command;
		command_answer(command, command->step, TROUPE_EPEER, "the run ended before this command was taken");
		command_fini(command);
		free(schedule->heap.at[i].posted);
	}
	vec_free(&schedule->heap);
}

static int schedule_compare_queued(const void *a, const void *b)
{
	return schedule_before(a, b) ? -1 : schedule_before(b, a);
}

const struct command *schedule_peek(struct schedule *schedule, uint32_t i)
{
	if (!i) {
		schedule_take_posted(schedule);
		if (schedule->heap.count) /* a sorted array is also a heap */
			qsort(schedule->heap.at, schedule->heap.count, sizeof *schedule->heap.at,
				schedule_compare_queued);
	}
	return i < schedule->heap.count ? &schedule->heap.at[i].posted->command : NULL;
}

void schedule_collect(struct schedule *schedule, struct files *files)
{
	const struct command *command;
	const struct timetable_entry *entry;
	for (uint32_t i = 0; (command = schedule_peek(schedule, i)); i++)
		if (command->prepared)
			prepared_collect(command->prepared, files);
	for (uint32_t i = 0; schedule->preparer && (entry = timetable_peek(&schedule->timetable, i)); i++) {
		command = &entry->posted->command;
		if (command->prepared)
			prepared_collect(command->prepared, files);
		else if (schedule_creates(command))
			preparer_collect(schedule->preparer, command, files);
	}
}

/* A command that was given by handle is packed by its handle. The handle is looked up only when the step comes,
 * because its model may go until then, or come back with a reset. */
enum {
	PACKED_END,
	PACKED_OWN,
	PACKED_SHARED,
	PACKED_TARGET,      /* kind, packed before each command */
	PACKED_ADOPTED = 4, /* added to the kind */
};

static message_type schedule_target_type(enum command_target_kind kind)
{
	static const message_type types[] = {[TARGET_TWIST] = &gz__msgs__twist__descriptor,
		[TARGET_JOINT] = &gz__msgs__double__descriptor,
		[TARGET_JOINT_STATE] = &troupe__msgs__set_joint__descriptor,
		[TARGET_WRENCH] = &gz__msgs__entity_wrench__descriptor};
	return types[kind];
}

static void schedule_pack_target(const struct command *command, struct text *out)
{
	pack_u64(out, command->target.kind);
	pack_u64(out, command->target.at);
	pack_u64(out, command->target.born);
	pack_u64(out, command->target.axis);
	schedule_pack_message(command->message, out);
}

static void schedule_unpack_target(struct unpack *in, uint64_t step, struct command *ret_command)
{
	struct command command = {.step = step};
	command.target.kind = unpack_count(in, TARGET_WRENCH);
	command.target.at = unpack_count(in, UINT32_MAX);
	command.target.born = unpack_count(in, UINT32_MAX);
	command.target.axis = unpack_count(in, 1);
	command.message = schedule_unpack_message(in, schedule_target_type(command.target.kind));
	*ret_command = command;
}

static uint32_t schedule_packed_kind(const struct command *command)
{
	uint32_t kind = command->target.kind ? PACKED_TARGET : command->broadcast ? PACKED_SHARED : PACKED_OWN;
	return kind + (command->adopted ? PACKED_ADOPTED : 0);
}

static void schedule_pack_one(const struct command *command, struct text *out)
{
	pack_u64(out, schedule_packed_kind(command));
	pack_u64(out, command->step);
	if (command->target.kind)
		schedule_pack_target(command, out);
	else
		command_pack(command, out);
}

enum { TIMED_FRESH = 1, TIMED_PASSED = 2, TIMED_OPTIONAL = 4 };

void schedule_pack(struct schedule *schedule, struct text *out)
{
	const struct command *command;
	const struct timetable_entry *entry;
	pack_u64(out, atomic_load(&schedule->may_create));
	for (uint32_t i = 0; (command = schedule_peek(schedule, i)); i++)
		schedule_pack_one(command, out);
	pack_u64(out, PACKED_END);
	for (uint32_t i = 0; (entry = timetable_peek(&schedule->timetable, i)); i++) {
		schedule_pack_one(&entry->posted->command, out);
		pack_double(out, entry->time_s);
		pack_u64(out, (entry->fresh ? TIMED_FRESH : 0u) | (entry->passed ? TIMED_PASSED : 0u) |
				      (entry->posted->command.optional ? TIMED_OPTIONAL : 0u));
	}
	pack_u64(out, PACKED_END);
}

/* Shared commands are in the same order in all worlds, so the number of a broadcast identifies it. */
static struct broadcast *schedule_next_broadcast(broadcast_list *broadcasts, uint32_t *at)
{
	if (*at == broadcasts->count)
		vec_push(broadcasts, broadcast_create(0));
	struct broadcast *broadcast = broadcasts->at[(*at)++];
	atomic_fetch_add(&broadcast->copies, 1);
	atomic_fetch_add(&broadcast->open, 1);
	return broadcast;
}

/* kind: of the next command; its number follows in `in`. On failure *ret_command is not set. */
static troupe_status schedule_unpack_one(struct schedule *schedule, const char *world, uint32_t kind, struct unpack *in,
	struct command *ret_command, struct troupe_error *error)
{
	bool adopted = kind >= PACKED_ADOPTED;
	in->bad |= kind == PACKED_ADOPTED;
	uint64_t step = unpack_u64(in);
	troupe_status status = TROUPE_OK;
	if (kind % PACKED_ADOPTED == PACKED_TARGET)
		schedule_unpack_target(in, step, ret_command);
	else
		status = command_unpack(in, world, step, &schedule->may_create, ret_command, error);
	if (status || in->bad)
		return status;
	ret_command->saved = true;
	ret_command->adopted = adopted;
	return TROUPE_OK;
}

static troupe_status schedule_unpack_timed(
	struct schedule *schedule, const char *world, struct unpack *in, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	uint32_t kind;
	while (!status && (kind = unpack_count(in, PACKED_TARGET)) != PACKED_END) {
		struct command command;
		status = schedule_unpack_one(schedule, world, kind, in, &command, error);
		if (status || in->bad)
			continue;
		command.timed = true;
		command.at_s = unpack_double(in);
		uint32_t flags = unpack_count(in, TIMED_FRESH | TIMED_PASSED | TIMED_OPTIONAL);
		command.optional = flags & TIMED_OPTIONAL;
		uint64_t bytes = schedule_bytes_of(&command);
		in->bad |= !(command.at_s >= 0 && command.at_s <= COMMAND_TIME_MAX_S);
		status = in->bad ? TROUPE_OK : schedule_count_in(schedule, 1, bytes, error);
		if (status || in->bad) {
			command_fini(&command);
			continue;
		}
		struct posted *posted = mem_alloc(sizeof *posted);
		*posted = (struct posted){.bytes = bytes, .command = command};
		timetable_add(&schedule->timetable, posted, command.at_s, flags & TIMED_FRESH, flags & TIMED_PASSED);
	}
	schedule_prepare_timed(schedule);
	schedule_count_passed(schedule);
	return status;
}

troupe_status schedule_unpack(struct schedule *schedule, const char *world, broadcast_list *broadcasts,
	struct unpack *in, struct troupe_error *error)
{
	bool may_create = unpack_count(in, 1);
	troupe_status status = TROUPE_OK;
	uint32_t kind, shared = 0;
	atomic_store(&schedule->may_create, true); /* some may be for models that do not exist yet, or are gone */
	while (!status && (kind = unpack_count(in, PACKED_TARGET + PACKED_ADOPTED)) != PACKED_END) {
		struct command command;
		status = schedule_unpack_one(schedule, world, kind, in, &command, error);
		if (status || in->bad)
			continue;
		bool is_shared = kind % PACKED_ADOPTED == PACKED_SHARED;
		command.broadcast = is_shared ? schedule_next_broadcast(broadcasts, &shared) : NULL;
		status = schedule_post(schedule, &command, SCHEDULE_LATE_NEXT, NULL, error);
	}
	if (!status && !in->bad)
		status = schedule_unpack_timed(schedule, world, in, error);
	atomic_store(&schedule->may_create, may_create);
	return in->bad ? fail(error, TROUPE_EWORLD, "damaged: a command") : status;
}

/* Commands are due at `to` at the latest in the order in which they were due. */
static uint64_t schedule_shifted(uint64_t step, uint64_t from, uint64_t to)
{
	uint64_t later = step > from ? step - from : 0;
	return later < UINT64_MAX - to ? to + later : UINT64_MAX;
}

static void schedule_drop_adopted(struct schedule *schedule)
{
	uint32_t kept = 0;
	schedule_take_posted(schedule);
	for (uint32_t i = 0; i < schedule->heap.count; i++) {
		struct queued_command queued = schedule->heap.at[i];
		if (!queued.posted->command.adopted) {
			schedule->heap.at[kept++] = queued;
			continue;
		}
		schedule_uncount(schedule, 1, queued.posted->bytes);
		command_fini(&queued.posted->command);
		free(queued.posted);
	}
	schedule->heap.count = kept;
	if (kept) /* a sorted array is also a heap */
		qsort(schedule->heap.at, kept, sizeof *schedule->heap.at, schedule_compare_queued);
}

troupe_status schedule_adopt(
	struct schedule *schedule, struct schedule *other, uint64_t from, uint64_t to, struct troupe_error *error)
{
	schedule_take_posted(other);
	uint64_t count = other->heap.count + other->timetable.all.count, bytes = atomic_load(&other->bytes);
	troupe_status status = schedule_count_in(schedule, count, bytes, error);
	if (status)
		return status;
	schedule_drop_adopted(schedule);
	schedule_drop_timed(schedule);
	schedule->timetable = other->timetable;
	other->timetable = (struct timetable){0};
	while (other->heap.count) {
		struct posted *posted = schedule_pop(other);
		posted->command.adopted = true;
		posted->command.step = schedule_shifted(posted->command.step, from, to);
		if (schedule_creates(&posted->command)) {
			atomic_store(&schedule->may_create, true);
			if (schedule->preparer)
				preparer_give(schedule->preparer, &posted->command, false);
		}
		schedule_push(schedule, posted);
	}
	schedule_uncount(other, count, bytes);
	schedule_prepare_timed(schedule);
	schedule_count_passed(schedule);
	schedule_count_passed(other);
	return TROUPE_OK;
}
