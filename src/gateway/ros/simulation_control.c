/* What ROS 2 expects of a robot of ros2_control: the action FollowJointTrajectory of its controllers of trajectories,
 * and the services of its controller_manager. A goal is a message to the controller's system, which follows it, looks
 * at its tolerances in each step, and tells how it ended (builtin/joint_trajectory_goal.h): so what a goal does is in
 * the state, and a recording repeats it. Here goals are only carried, and what the system tells is passed on. */
#include "base/clock.h"
#include "base/hash.h"
#include "gateway/ros/cdr.h"
#include "gateway/ros/json.h"
#include "gateway/ros/ros.h"
#include "gateway/ros/simulation_job.h"
#include "topic/control.pb-c.h"
#include "topic/message.h"

#include <stdlib.h>

enum { INVALID_GOAL = -1, BEST_EFFORT = 1 };
#define FEEDBACK_HZ 20.0 /* as ros2_controllers' action_monitor_rate */
#define WATCH_HZ 100.0
#define STATE(name) TROUPE__MSGS__CONTROLLER__STATE__##name

/* As lifecycle_msgs/State has them; one that is not loaded is not listed. */
static const char *const simulation_control_states[] = {[STATE(ACTIVE)] = "active",
	[STATE(INACTIVE)] = "inactive",
	[STATE(UNCONFIGURED)] = "unconfigured",
	[STATE(UNLOADED)] = "unloaded"};

static ProtobufCMessage *simulation_control_read(
	const ProtobufCMessageDescriptor *type, const struct troupe_message *message)
{
	ProtobufCMessage *read = NULL;
	struct troupe_error error;
	if (message_of_bytes(type, message->bytes, message->count, &message_limits_none, &read, &error))
		return NULL;
	return read;
}

/* --- goals -------------------------------------------------------------------------------------------------------- */

static void simulation_control_add_error(struct json_out *out, int code, const char *why)
{
	json_out_int(out, "error_code", code);
	json_out_string(out, "error_string", why);
}

static void simulation_control_refuse_goal(struct json_out *out, const char *why)
{
	simulation_control_add_error(out, INVALID_GOAL, why);
}

static void simulation_control_end(struct job *job, const Troupe__Msgs__TrajectoryResult *result)
{
	enum simulation_end end = result->status ? (enum simulation_end)result->status : SIMULATION_ABORTED;
	simulation_control_add_error(job_open(job), result->error_code, result->error_string);
	job_send_end(job, end);
}

static void simulation_control_add_point(
	struct json_out *out, const char *key, const Gz__Msgs__JointTrajectoryPoint *point)
{
	json_out_object(out, key);
	json_out_doubles(out, "positions", point ? point->positions : NULL, point ? point->n_positions : 0);
	json_out_doubles(out, "velocities", point ? point->velocities : NULL, point ? point->n_velocities : 0);
	json_out_end(out);
}

static void simulation_control_tell(struct job *job, const Troupe__Msgs__TrajectoryState *state, int64_t time_ns)
{
	static const char type[] = "control_msgs/action/FollowJointTrajectory_Feedback";
	struct text given = {0}, feedback = {0}, cdr = {0};
	struct json_out out = {.text = &given};
	json_out_object(&out, NULL);
	json_out_object(&out, "header");
	json_out_object(&out, "stamp");
	json_out_int(&out, "sec", time_ns / 1000000000);
	json_out_int(&out, "nanosec", time_ns % 1000000000);
	json_out_end(&out);
	json_out_end(&out);
	json_out_strings(&out, "joint_names", (const char *const *)state->joint_names, state->n_joint_names);
	simulation_control_add_point(&out, "desired", state->desired);
	simulation_control_add_point(&out, "actual", state->actual);
	simulation_control_add_point(&out, "error", state->error);
	json_out_end(&out);
	json_t *json = json_loadb(given.at, given.count, 0, NULL);
	if (!ros_json_to_cdr(type, json, &cdr, NULL) && !ros_json_of_cdr(type, cdr.at, cdr.count, &feedback, NULL))
		job->asker.feedback(job->asker.ctx, &feedback);
	json_decref(json);
	text_fini(&given);
	text_fini(&feedback);
	text_fini(&cdr);
}

/* The state names the last two goals. If both are others, several have come between two looks, or in one step; if there
 * is none before the last one, or time went back, the world was reset. */
static void simulation_control_miss(struct job *job, bool replaced)
{
	Troupe__Msgs__TrajectoryResult end = TROUPE__MSGS__TRAJECTORY_RESULT__INIT;
	end.status = SIMULATION_CANCELED;
	end.error_string = (char[]){"another goal has come"};
	job_accept(job);
	if (replaced)
		simulation_control_end(job, &end);
	else
		job_answer(job, JOB_FAILED, "the controller has been reset");
}

static void simulation_control_look(struct job *job, const Troupe__Msgs__TrajectoryState *state, int64_t time_ns)
{
	static const Troupe__Msgs__TrajectoryResult none = TROUPE__MSGS__TRAJECTORY_RESULT__INIT;
	const Troupe__Msgs__TrajectoryResult *now = state->goal ? state->goal : &none,
					     *before = state->before ? state->before : &none;
	const Troupe__Msgs__TrajectoryResult *own = now->id == job->goal      ? now
						    : before->id == job->goal ? before
									      : NULL;
	if (!own) {
		simulation_control_miss(job, before->id && time_ns >= job->feedback_ns);
		return;
	}
	if (!own->status) {
		job_answer(job, JOB_FAILED, "%s", own->error_string);
		return;
	}
	job_accept(job);
	bool due = time_ns - job->feedback_ns >= (int64_t)(1e9 / FEEDBACK_HZ) || time_ns < job->feedback_ns;
	if (own->status != 2) {
		simulation_control_end(job, own);
	} else if (due && job->asker.feedback) {
		job->feedback_ns = time_ns;
		simulation_control_tell(job, state, time_ns);
	}
}

static void simulation_control_hear(struct job *job, const struct troupe_message *message)
{
	Troupe__Msgs__TrajectoryState *state = (Troupe__Msgs__TrajectoryState *)(void *)simulation_control_read(
		&troupe__msgs__trajectory_state__descriptor, message);
	if (state)
		simulation_control_look(job, state, message->time_ns);
	if (state)
		message_free(&state->base);
}

/* The reply says that the goal was taken; what became of it says the state. */
static void simulation_control_taken(struct job *job)
{
	const struct job_sent *refused = job_refused(job);
	job->next = NULL;
	if (refused && !job->is_accepted) {
		job_answer(job, JOB_FAILED, "%s", refused->text);
		return;
	}
	char *state = mem_printf("%s/state", job->part->topic);
	job_forget_sent(job);
	job_watch(job, state, WATCH_HZ, simulation_control_hear);
	free(state);
}

static void simulation_control_cancel(struct job *job)
{
	Troupe__Msgs__TrajectoryGoal goal = TROUPE__MSGS__TRAJECTORY_GOAL__INIT;
	goal.id = job->goal;
	goal.cancel = true;
	(void)job_ask(job, job->part->topic, &goal.base);
	job->next = simulation_control_taken;
}

/* Below 2^53, and another one for each goal of all programs. */
static uint64_t simulation_control_new_id(const struct job *job)
{
	static const uint64_t mask = (UINT64_C(1) << 52) - 1;
	const uint64_t parts[] = {clock_now_ns(), (uint64_t)(uintptr_t)job, (uint64_t)(uintptr_t)job->simulation};
	return (hash_bytes(0, parts, sizeof parts) & mask) + 1;
}

/* The trajectory by the reader of its type; NULL: it cannot be one. */
static Gz__Msgs__JointTrajectory *simulation_control_trajectory(const json_t *json)
{
	const struct ros_type *type = ros_type_find("gz.msgs.JointTrajectory", NULL);
	struct text cdr = {0}, bytes = {0};
	struct troupe_error error;
	ProtobufCMessage *read = NULL;
	text_add(&bytes, "%s", "");
	if (!ros_json_to_cdr(type->name, json, &cdr, &error) &&
		!ros_to_bytes(type, cdr.at, cdr.count, &bytes, &error) &&
		message_of_bytes(type->gz, bytes.at, bytes.count, &message_limits_none, &read, &error))
		read = NULL;
	text_fini(&cdr);
	text_fini(&bytes);
	return (Gz__Msgs__JointTrajectory *)(void *)read;
}

struct control_tolerances {
	Troupe__Msgs__JointTolerance *rows, **list;
	size_t count;
};

static struct control_tolerances simulation_control_tolerances(const json_t *json)
{
	struct control_tolerances made = {.count = json_array_size(json)};
	made.rows = mem_alloc(made.count * sizeof *made.rows + 1);
	made.list = mem_alloc(made.count * sizeof *made.list + 1);
	for (size_t i = 0; i < made.count; i++) {
		const json_t *row = json_array_get(json, i);
		made.rows[i] = (Troupe__Msgs__JointTolerance)TROUPE__MSGS__JOINT_TOLERANCE__INIT;
		made.rows[i].name = message_string(job_text(row, "name"));
		made.rows[i].position = json_number_value(json_object_get(row, "position"));
		made.rows[i].velocity = json_number_value(json_object_get(row, "velocity"));
		made.list[i] = &made.rows[i];
	}
	return made;
}

static void simulation_control_free_tolerances(struct control_tolerances *tolerances)
{
	free(tolerances->rows);
	free(tolerances->list);
}

static void simulation_control_send(struct job *job, Gz__Msgs__JointTrajectory *trajectory)
{
	const json_t *stamp = json_object_get(json_object_get(job_arg(job, "trajectory"), "header"), "stamp");
	const json_t *limit = job_arg(job, "goal_time_tolerance");
	struct control_tolerances path = simulation_control_tolerances(job_arg(job, "path_tolerance"));
	struct control_tolerances goal_tolerances = simulation_control_tolerances(job_arg(job, "goal_tolerance"));
	Troupe__Msgs__TrajectoryGoal goal = TROUPE__MSGS__TRAJECTORY_GOAL__INIT;
	Gz__Msgs__Header header = GZ__MSGS__HEADER__INIT, *before = trajectory->header;
	Gz__Msgs__Time time = GZ__MSGS__TIME__INIT;
	Gz__Msgs__Duration limit_message = GZ__MSGS__DURATION__INIT;
	time.sec = job_whole(stamp, "sec");
	time.nsec = (int32_t)job_whole(stamp, "nanosec");
	header.stamp = &time;
	limit_message.sec = job_whole(limit, "sec");
	limit_message.nsec = (int32_t)job_whole(limit, "nanosec");
	trajectory->header = &header;
	goal.id = job->goal = simulation_control_new_id(job);
	goal.trajectory = trajectory;
	goal.goal_time_tolerance = &limit_message;
	goal.path_tolerance = path.list;
	goal.n_path_tolerance = path.count;
	goal.goal_tolerance = goal_tolerances.list;
	goal.n_goal_tolerance = goal_tolerances.count;
	(void)job_ask(job, job->part->topic, &goal.base);
	trajectory->header = before;
	simulation_control_free_tolerances(&path);
	simulation_control_free_tolerances(&goal_tolerances);
}

static void simulation_control_follow(struct job *job)
{
	Gz__Msgs__JointTrajectory *trajectory = simulation_control_trajectory(job_arg(job, "trajectory"));
	if (!trajectory) {
		job_answer(job, JOB_FAILED, "the trajectory cannot be read");
		return;
	}
	if (json_array_size(json_object_get(job_arg(job, "multi_dof_trajectory"), "joint_names"))) {
		job_answer(job, JOB_FAILED, "multi_dof_trajectory: expected joints with one axis only");
	} else {
		job->feedback_ns = INT64_MIN / 2;
		job->next = simulation_control_taken;
		simulation_control_send(job, trajectory);
	}
	message_free(&trajectory->base);
}

const struct job_part_row job_follow_row = {
	{"", "control_msgs/action/FollowJointTrajectory", JOB_NO_FEATURE, JOB_ALONE, simulation_control_follow},
	simulation_control_refuse_goal, simulation_control_cancel};

/* --- controller_manager ------------------------------------------------------------------------------------------- */

/* Other responses say no more than ok: false, which is what a response without fields says. */
static void simulation_control_refuse(struct json_out *out, const char *why)
{
	(void)out, (void)why;
}

static void simulation_control_refuse_switch(struct json_out *out, const char *why)
{
	json_out_bool(out, "ok", false);
	json_out_string(out, "message", why);
}

/* What is told is that of the present state, so it is asked for anew each time. */
static void simulation_control_ask_controllers(
	struct job *job, void (*hear)(struct job *job, const struct troupe_message *message))
{
	char *topic = mem_printf("%s/controllers", job->part->topic);
	job->next = NULL;
	job_watch(job, topic, 1, hear);
	free(topic);
}

static Troupe__Msgs__Controllers *simulation_control_controllers(struct job *job, const struct troupe_message *message)
{
	ProtobufCMessage *read = simulation_control_read(&troupe__msgs__controllers__descriptor, message);
	Troupe__Msgs__Controllers *all = (Troupe__Msgs__Controllers *)(void *)read;
	bool sound = read;
	for (size_t i = 0; sound && i < all->n_controller; i++)
		sound = (size_t)all->controller[i]->state < ARRAY_LEN(simulation_control_states);
	if (sound)
		return all;
	if (read)
		message_free(read);
	job_answer(job, JOB_FAILED, "the controllers cannot be read");
	return NULL;
}

static void simulation_control_add_controller(
	struct json_out *out, const Troupe__Msgs__Controller *of, int32_t update_rate)
{
	const char *const *claims = (const char *const *)of->claimed_interfaces;
	bool is_active = of->state == STATE(ACTIVE);
	json_out_object(out, NULL);
	json_out_string(out, "name", of->name);
	json_out_string(out, "state", simulation_control_states[of->state]);
	json_out_string(out, "type", of->type);
	json_out_int(out, "update_rate", update_rate);
	json_out_strings(out, "claimed_interfaces", claims, is_active ? of->n_claimed_interfaces : 0);
	json_out_strings(out, "required_command_interfaces", claims, of->n_claimed_interfaces);
	json_out_end(out);
}

static void simulation_control_tell_controllers(struct job *job, const struct troupe_message *message)
{
	Troupe__Msgs__Controllers *all = simulation_control_controllers(job, message);
	if (!all)
		return;
	struct json_out *out = job_open(job);
	json_out_array(out, "controller");
	for (size_t i = 0; i < all->n_controller; i++)
		if (all->controller[i]->state != STATE(UNLOADED))
			simulation_control_add_controller(out, all->controller[i], all->update_rate);
	json_out_end(out);
	job_send(job);
	message_free(&all->base);
}

static void simulation_control_list(struct job *job)
{
	simulation_control_ask_controllers(job, simulation_control_tell_controllers);
}

static bool simulation_control_is_claimed(const Troupe__Msgs__Controllers *all, const char *name)
{
	for (size_t i = 0; i < all->n_controller; i++)
		for (size_t k = 0;
			k < all->controller[i]->n_claimed_interfaces && all->controller[i]->state == STATE(ACTIVE); k++)
			if (!strcmp(all->controller[i]->claimed_interfaces[k], name))
				return true;
	return false;
}

static void simulation_control_add_interfaces(struct json_out *out, const char *key,
	const Troupe__Msgs__Controllers *all, char *const *names, size_t count, bool claimed)
{
	json_out_array(out, key);
	for (size_t i = 0; i < count; i++) {
		json_out_object(out, NULL);
		json_out_string(out, "name", names[i]);
		json_out_string(out, "data_type", "double");
		json_out_bool(out, "is_available", true);
		json_out_bool(out, "is_claimed", claimed && simulation_control_is_claimed(all, names[i]));
		json_out_end(out);
	}
	json_out_end(out);
}

static void simulation_control_tell_interfaces(struct job *job, const struct troupe_message *message)
{
	Troupe__Msgs__Controllers *all = simulation_control_controllers(job, message);
	if (!all)
		return;
	struct json_out *out = job_open(job);
	simulation_control_add_interfaces(
		out, "command_interfaces", all, all->command_interfaces, all->n_command_interfaces, true);
	simulation_control_add_interfaces(
		out, "state_interfaces", all, all->state_interfaces, all->n_state_interfaces, false);
	job_send(job);
	message_free(&all->base);
}

static void simulation_control_list_interfaces(struct job *job)
{
	simulation_control_ask_controllers(job, simulation_control_tell_interfaces);
}

/* Those that a robot's file may name (sdf/foreign_control.c). */
static void simulation_control_list_types(struct job *job)
{
	static const char *const types[] = {"diff_drive_controller/DiffDriveController",
		"forward_command_controller/ForwardCommandController", "joint_state_broadcaster/JointStateBroadcaster",
		"joint_trajectory_controller/JointTrajectoryController"};
	struct json_out *out = job_open(job);
	json_out_strings(out, "types", types, ARRAY_LEN(types));
	json_out_array(out, "base_classes");
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		json_out_string(out, NULL, "controller_interface::ControllerInterface");
	json_out_end(out);
	job_send(job);
}

static void simulation_control_switched(struct job *job)
{
	const struct job_sent *refused = job_refused(job);
	if (refused) {
		job_answer(job, JOB_FAILED, "%s", refused->text);
		return;
	}
	json_out_bool(job_open(job), "ok", true);
	job_send(job);
}

static const Troupe__Msgs__Controller *simulation_control_find(const Troupe__Msgs__Controllers *all, const char *name)
{
	size_t i = 0;
	while (i < all->n_controller && strcmp(all->controller[i]->name, name) != 0)
		i++;
	return i < all->n_controller ? all->controller[i] : NULL;
}

/* --- one controller, by its name --- */

struct control_change {
	const char *service;
	const char *list;    /* of a ControllerSwitch */
	unsigned from, idle; /* bits of states: in which the list changes it; in which there is nothing to do */
};

static const struct control_change *simulation_control_change_of(const struct job *job)
{
	enum {
		A = 1 << STATE(ACTIVE),
		I = 1 << STATE(INACTIVE),
		C = 1 << STATE(UNCONFIGURED),
		U = 1 << STATE(UNLOADED)
	};
	static const struct control_change changes[] = {
		{"load_controller", "load", U, A | I | C},
		{"configure_controller", "configure", C, A | I},
		{"cleanup_controller", "cleanup", I, C},
		{"unload_controller", "unload", I | C, 0},
	};
	size_t i = 0;
	while (strcmp(changes[i].service, job->row->name) != 0)
		i++;
	return &changes[i];
}

static void simulation_control_send_change(struct job *job, const char *list)
{
	Troupe__Msgs__ControllerSwitch message = TROUPE__MSGS__CONTROLLER_SWITCH__INIT;
	const ProtobufCFieldDescriptor *field =
		protobuf_c_message_descriptor_get_field_by_name(message.base.descriptor, list);
	char *topic = mem_printf("%s/switch_controller", job->part->topic);
	char *name = message_string(job_text(job->args, "name")), **names = &name;
	memcpy((char *)&message + field->offset, &names, sizeof(char **));
	memcpy((char *)&message + field->quantifier_offset, &(size_t){1}, sizeof(size_t));
	job->next = simulation_control_switched;
	(void)job_ask(job, topic, &message.base);
	free(topic);
}

static void simulation_control_look_at_one(struct job *job, const struct troupe_message *message)
{
	const struct control_change *change = simulation_control_change_of(job);
	Troupe__Msgs__Controllers *all = job->next ? NULL : simulation_control_controllers(job, message);
	if (!all)
		return;
	const Troupe__Msgs__Controller *found = simulation_control_find(all, job_text(job->args, "name"));
	unsigned state = found ? 1U << found->state : 0;
	if (state & change->from) {
		simulation_control_send_change(job, change->list);
	} else {
		json_out_bool(job_open(job), "ok", state & change->idle);
		job_send(job);
	}
	message_free(&all->base);
}

static void simulation_control_change(struct job *job)
{
	simulation_control_ask_controllers(job, simulation_control_look_at_one);
}

/* --- switches --- */

/* Names that are lent by the request; without those of controllers that are not configured, of which the first is
 * returned. */
static const Troupe__Msgs__Controller *simulation_control_names(
	const json_t *list, const Troupe__Msgs__Controllers *all, char ***ret_names, size_t *ret_count)
{
	const Troupe__Msgs__Controller *wrong = NULL;
	char **names = *ret_names = mem_alloc(json_array_size(list) * sizeof *names + 1);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i));
		const Troupe__Msgs__Controller *of = simulation_control_find(all, name);
		if (!of || of->state == STATE(ACTIVE) || of->state == STATE(INACTIVE))
			names[(*ret_count)++] = message_string(name);
		else if (!wrong)
			wrong = of;
	}
	return wrong;
}

/* What a system cannot refuse, since it does not know the state when it is asked: controllers that are not
 * configured. */
static void simulation_control_look_at_all(struct job *job, const struct troupe_message *message)
{
	Troupe__Msgs__Controllers *all = job->next ? NULL : simulation_control_controllers(job, message);
	if (!all)
		return;
	Troupe__Msgs__ControllerSwitch m = TROUPE__MSGS__CONTROLLER_SWITCH__INIT;
	char *topic = mem_printf("%s/switch_controller", job->part->topic);
	const Troupe__Msgs__Controller *on =
		simulation_control_names(job_arg(job, "activate_controllers"), all, &m.activate, &m.n_activate);
	const Troupe__Msgs__Controller *off =
		simulation_control_names(job_arg(job, "deactivate_controllers"), all, &m.deactivate, &m.n_deactivate);
	const Troupe__Msgs__Controller *wrong = on ? on : off;
	m.strictness = (int32_t)job_whole(job->args, "strictness");
	if (wrong && (m.strictness != BEST_EFFORT || m.n_activate + m.n_deactivate == 0)) {
		job_answer(job, JOB_FAILED, "controller '%.80s' is %s: expected %s first", wrong->name,
			simulation_control_states[wrong->state],
			wrong->state == STATE(UNLOADED) ? "load_controller and configure_controller"
							: "configure_controller");
	} else {
		job->next = simulation_control_switched;
		(void)job_ask(job, topic, &m.base);
	}
	free(m.activate);
	free(m.deactivate);
	free(topic);
	message_free(&all->base);
}

static void simulation_control_switch(struct job *job)
{
	simulation_control_ask_controllers(job, simulation_control_look_at_all);
}

#define MANAGER(name, type, begin, refuse)                                                                             \
	{                                                                                                              \
		{name, "controller_manager_msgs/srv/" type, JOB_NO_FEATURE, JOB_ALONE, begin}, refuse, NULL            \
	}
const struct job_part_row job_manager_rows[] = {
	MANAGER("list_controllers", "ListControllers", simulation_control_list, simulation_control_refuse),
	MANAGER("list_controller_types", "ListControllerTypes", simulation_control_list_types,
		simulation_control_refuse),
	MANAGER("list_hardware_interfaces", "ListHardwareInterfaces", simulation_control_list_interfaces,
		simulation_control_refuse),
	MANAGER("load_controller", "LoadController", simulation_control_change, simulation_control_refuse),
	MANAGER("configure_controller", "ConfigureController", simulation_control_change, simulation_control_refuse),
	MANAGER("cleanup_controller", "CleanupController", simulation_control_change, simulation_control_refuse),
	MANAGER("unload_controller", "UnloadController", simulation_control_change, simulation_control_refuse),
	MANAGER("switch_controller", "SwitchController", simulation_control_switch, simulation_control_refuse_switch),
	{{NULL, NULL, 0, JOB_ALONE, NULL}, NULL, NULL},
};
