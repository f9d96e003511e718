/* What programs of ROS 2 do with arms of ros2_control, over DDS: the spawner of controllers, and a program such as
 * MoveIt that sends trajectories as goals. It is a program on Cyclone DDS, with types that Cyclone's compiler makes of
 * ros2_arms.idl, so nothing here is troupe's. Each argument is one order (ros2_calls.h); each prints a line, which
 * begins with the order. With HUMBLE defined it is a program of that release, whose spawner uses the older names.
 *
 *   domain:N                          the domain; first
 *   spawn:ARM:NAME                    as the spawner does: list, load, configure, switch
 *   list:ARM, interfaces:ARM          ListControllers, ListHardwareInterfaces
 *   off:ARM:NAME:STRICTNESS           SwitchController
 *   unload:ARM:NAME                   UnloadController
 *   all:COUNT                         a goal for each of arm0, arm1, ... at the same time
 *   goal:ARM:SHOULDER:S[:PATH]        a goal that is at SHOULDER after S seconds, with this tolerance on its path
 *   cancel:ARM, replace:ARM           a long goal, which is cancelled, or replaced by a short one
 *   gone:ARM                          a goal for an arm that is removed by another program, which "gone" on the
 * standard output asks for */
#include "ros2_arms.h"

#include "ros2_calls.h"

#define ACTION(Type) control_msgs_action_dds__FollowJointTrajectory_##Type
#define MANAGER(variable, Type, arm, service, ...)                                                                     \
	char topic_##variable[128];                                                                                    \
	(void)snprintf(topic_##variable, sizeof topic_##variable, "%s/controller_manager/" service, arm);              \
	CALL(variable, controller_manager_msgs_srv_dds_, Type, topic_##variable, __VA_ARGS__)

enum { ARMS_MAX = 32, FEEDBACK_KEPT = 10 };

typedef unique_identifier_msgs_msg_dds__UUID_ id_t_;

#ifdef HUMBLE
#define ACTIVATE start_controllers
#define DEACTIVATE stop_controllers
#define TEXT(response) "-"
#else
#define ACTIVATE activate_controllers
#define DEACTIVATE deactivate_controllers
#define TEXT(response) (response)->message
#endif

static dds_sequence_string one_name(char **text)
{
	return (dds_sequence_string){1, 1, text, false};
}

/* --- the controller manager --------------------------------------------------------------------------------------- */

static void list(void)
{
	MANAGER(r, ListControllers, words[1], "list_controllers", .number = 0);
	printf("list");
	for (uint32_t i = 0; i < r->controller._length; i++) {
		const controller_manager_msgs_msg_dds__ControllerState_ *of = &r->controller._buffer[i];
		printf(" %s=%s,%u", of->name, of->state, of->claimed_interfaces._length);
	}
	printf("\n");
}

static void interfaces(void)
{
	MANAGER(r, ListHardwareInterfaces, words[1], "list_hardware_interfaces", .number = 0);
	printf("interfaces");
	for (uint32_t i = 0; i < r->command_interfaces._length; i++)
		printf(" %s=%d", r->command_interfaces._buffer[i].name, r->command_interfaces._buffer[i].is_claimed);
	printf(" states=%u\n", r->state_interfaces._length);
}

static void spawn(void)
{
	MANAGER(all, ListControllers, words[1], "list_controllers", .number = 0);
	bool loaded = false;
	for (uint32_t i = 0; i < all->controller._length; i++)
		loaded |= !strcmp(all->controller._buffer[i].name, words[2]);
	MANAGER(load, LoadController, words[1], "load_controller", .name = words[2]);
	MANAGER(configure, ConfigureController, words[1], "configure_controller", .name = words[2]);
	MANAGER(on, SwitchController, words[1], "switch_controller", .ACTIVATE = one_name(&words[2]), .strictness = 2);
	printf("spawn loaded=%d load=%d configure=%d on=%d '%s'\n", loaded, load->ok, configure->ok, on->ok, TEXT(on));
}

static void off(void)
{
	MANAGER(r, SwitchController, words[1], "switch_controller", .DEACTIVATE = one_name(&words[2]),
		.strictness = atoi(words[3]));
	printf("off ok=%d '%s'\n", r->ok, TEXT(r));
}

static void unload(void)
{
	MANAGER(r, UnloadController, words[1], "unload_controller", .name = words[2]);
	printf("unload ok=%d\n", r->ok);
}

/* --- goals -------------------------------------------------------------------------------------------------------- */

struct arm {
	char name[96]; /* of the action */
	struct ends send, get;
	dds_entity_t feedback;
	id_t_ id;
	int heard;
	double last; /* position of the shoulder */
};

static id_t_ new_id(void)
{
	static uint8_t number;
	id_t_ id;
	dds_guid_t guid;
	dds_get_guid(participant, &guid);
	memcpy(id.uuid, guid.v, sizeof id.uuid);
	id.uuid[15] = ++number;
	id.uuid[14] = (uint8_t)(dds_time() % 251);
	return id;
}

static void open_arm(struct arm *arm, const char *name)
{
	char topic[160];
	int turns = 0;
	dds_subscription_matched_status_t matched = {0};
	(void)snprintf(
		arm->name, sizeof arm->name, "%s/joint_trajectory_controller/follow_joint_trajectory/_action", name);
	(void)snprintf(topic, sizeof topic, "rt/%s/feedback", arm->name);
	arm->feedback = make_reader(topic, &ACTION(FeedbackMessage__desc), NULL, false);
	for (dds_time_t begin = dds_time(); !matched.current_count && waits(begin, &turns);)
		dds_get_subscription_matched_status(arm->feedback, &matched);
	(void)snprintf(topic, sizeof topic, "%s/send_goal", arm->name);
	arm->send = open_ends(topic, &ACTION(SendGoal_Request__desc), &ACTION(SendGoal_Response__desc));
	(void)snprintf(topic, sizeof topic, "%s/get_result", arm->name);
	arm->get = open_ends(topic, &ACTION(GetResult_Request__desc), &ACTION(GetResult_Response__desc));
}

/* Returns the number of the request. tolerance: of the shoulder's path; 0: the controller's own. */
static int64_t send_goal(struct arm *arm, double shoulder, double time_s, double tolerance)
{
	static char *names[] = {"elbow", "shoulder"};
	double positions[] = {0.3, shoulder};
	trajectory_msgs_msg_dds__JointTrajectoryPoint_ point = {.positions = {2, 2, positions, false},
		.time_from_start = {(int32_t)time_s, (uint32_t)((time_s - (int32_t)time_s) * 1e9)}};
	control_msgs_msg_dds__JointTolerance_ path = {.name = "shoulder", .position = tolerance};
	ACTION(SendGoal_Request_)
	request = {.goal = {.trajectory = {.header = {.frame_id = ""},
				    .joint_names = {2, 2, names, false},
				    .points = {1, 1, &point, false}},
			   .multi_dof_trajectory = {.header = {.frame_id = ""}}}};
	if (tolerance > 0) {
		request.goal.path_tolerance._length = request.goal.path_tolerance._maximum = 1;
		request.goal.path_tolerance._buffer = &path;
	}
	arm->id = request.goal_id = new_id();
	arm->heard = 0;
	return send_request(&arm->send, &request);
}

static bool is_accepted(struct arm *arm, int64_t number)
{
	const ACTION(SendGoal_Response_) *r = await_reply(&arm->send, number);
	return r->accepted;
}

static void take_feedback(struct arm *arm)
{
	void *samples[FEEDBACK_KEPT] = {NULL};
	dds_sample_info_t infos[FEEDBACK_KEPT];
	int count = dds_take(arm->feedback, samples, infos, FEEDBACK_KEPT, FEEDBACK_KEPT);
	for (int i = 0; i < count; i++) {
		const ACTION(FeedbackMessage_) *m = samples[i];
		if (!infos[i].valid_data || memcmp(&m->goal_id, &arm->id, sizeof arm->id) != 0)
			continue;
		if (m->feedback.joint_names._length != 2 ||
			strcmp(m->feedback.joint_names._buffer[0], "shoulder") != 0 ||
			m->feedback.actual.positions._length != 2 || m->feedback.error.velocities._length != 2)
			fail("feedback", DDS_RETCODE_BAD_PARAMETER);
		arm->last = m->feedback.actual.positions._buffer[0];
		arm->heard++;
	}
	if (count > 0)
		dds_return_loan(arm->feedback, samples, count);
}

static void await_feedback(struct arm *arm)
{
	int turns = 0;
	for (dds_time_t begin = dds_time(); !arm->heard && waits(begin, &turns);)
		take_feedback(arm);
}

static int64_t ask_result(struct arm *arm, const id_t_ *id)
{
	ACTION(GetResult_Request_) ask = {.goal_id = *id};
	return send_request(&arm->get, &ask);
}

static void say_result(struct arm *arm, int64_t number)
{
	const ACTION(GetResult_Response_) *r = await_reply(&arm->get, number);
	printf("%s status=%d code=%d '%s' heard=%d\n", words[0], r->status, r->result.error_code,
		r->result.error_string, arm->heard > 0);
}

static void goal(void)
{
	struct arm arm = {.heard = 0};
	open_arm(&arm, words[1]);
	int64_t number = send_goal(&arm, atof(words[2]), atof(words[3]), atof(word(4)));
	if (!is_accepted(&arm, number)) {
		printf("goal refused\n");
		return;
	}
	number = ask_result(&arm, &arm.id);
	await_feedback(&arm);
	say_result(&arm, number);
}

static void cancel(void)
{
	struct arm arm = {.heard = 0};
	char topic[160];
	open_arm(&arm, words[1]);
	bool accepted = is_accepted(&arm, send_goal(&arm, 1, 60, 0));
	int64_t number = ask_result(&arm, &arm.id);
	await_feedback(&arm);
	(void)snprintf(topic, sizeof topic, "%s/cancel_goal", arm.name);
	CALL(r, action_msgs_srv_dds_, CancelGoal, topic, .goal_info = {.goal_id = arm.id});
	printf("cancel accepted=%d code=%d goals=%u\n", accepted, r->return_code, r->goals_canceling._length);
	say_result(&arm, number);
}

static void replace(void)
{
	struct arm arm = {.heard = 0};
	open_arm(&arm, words[1]);
	bool accepted = is_accepted(&arm, send_goal(&arm, 1, 60, 0));
	int64_t first = ask_result(&arm, &arm.id);
	await_feedback(&arm);
	accepted &= is_accepted(&arm, send_goal(&arm, 0.2, 0.5, 0));
	int64_t second = ask_result(&arm, &arm.id);
	printf("replace accepted=%d\n", accepted);
	say_result(&arm, first);
	await_feedback(&arm);
	say_result(&arm, second);
}

/* The results are those of the goals only if each arm has followed its own. */
static void all(void)
{
	static struct arm arms[ARMS_MAX];
	int count = atoi(words[1]), good = 0;
	int64_t numbers[ARMS_MAX];
	for (int i = 0; i < count && i < ARMS_MAX; i++) {
		char name[32];
		(void)snprintf(name, sizeof name, "arm%d", i);
		open_arm(&arms[i], name);
	}
	for (int i = 0; i < count && i < ARMS_MAX; i++)
		numbers[i] = send_goal(&arms[i], 0.1 + 0.02 * i, 1.5, 0);
	for (int i = 0; i < count && i < ARMS_MAX; i++)
		numbers[i] = is_accepted(&arms[i], numbers[i]) ? ask_result(&arms[i], &arms[i].id) : -1;
	for (int i = 0; i < count && i < ARMS_MAX; i++) {
		const ACTION(GetResult_Response_) *r = numbers[i] < 0 ? NULL : await_reply(&arms[i].get, numbers[i]);
		await_feedback(&arms[i]);
		good += r && r->status == 4 && r->result.error_code == 0 && arms[i].heard > 0;
	}
	printf("all %d\n", good);
}

static void gone(void)
{
	struct arm arm = {.heard = 0};
	open_arm(&arm, words[1]);
	if (!is_accepted(&arm, send_goal(&arm, 1, 60, 0)))
		fail("a goal", DDS_RETCODE_ERROR);
	int64_t number = ask_result(&arm, &arm.id);
	await_feedback(&arm);
	printf("gone\n");
	say_result(&arm, number);
}

int main(int argc, char **argv)
{
	static const struct order orders[] = {{"spawn", spawn, 3}, {"list", list, 2}, {"interfaces", interfaces, 2},
		{"off", off, 4}, {"unload", unload, 3}, {"all", all, 2}, {"goal", goal, 4}, {"cancel", cancel, 2},
		{"replace", replace, 2}, {"gone", gone, 2}, {NULL, NULL, 0}};
	return obey(argc, argv, orders);
}
