/* A controller that has a system here becomes that system, on the controller's topic. Several controllers may be
 * written for one joint, of which the user starts one: the first one counts. */
#include "sdf/foreign_control.h"

#include "base/parse.h"
#include "sdf/include.h"

#include <string.h>

/* Whether the controller is the first to claim all joints of the list. */
static bool foreign_controllers_claim(
	struct foreign_control *control, const struct controller *of, const struct sdf_element *joints)
{
	uint32_t index, count = 0;
	for (const struct sdf_element *at = joints ? joints->child : NULL; at; at = at->next)
		if (map_find(&control->claimed, at->text, &index) || ++count > CONTROL_JOINTS_MAX) {
			load_warn(control->foreign->load, of->at,
				"controller \"%.80s\" is left out: the joint \"%.80s\" is that of a controller before "
				"it",
				of->name, at->text);
			return false;
		}
	for (const struct sdf_element *at = joints ? joints->child : NULL; at; at = at->next) {
		struct controlled *joint = foreign_control_joint(control, at->text);
		if (joint)
			joint->claimed = true;
		(void)map_add(&control->claimed, at->text, 0);
	}
	if (!count)
		load_warn(control->foreign->load, of->at,
			"controller \"%.80s\" is left out: expected the names of its joints", of->name);
	return count;
}

/* Of all these parameters of a controller, warns of those that have a value. */
static void foreign_controllers_warn(
	const struct foreign_control *control, const struct controller *of, const char *names)
{
	struct text found = {0};
	double number;
	bool flag;
	for (const char *at = names; *at; at += strspn(at, " ")) {
		size_t length = strcspn(at, " ");
		const char *name = arena_printf(&control->foreign->load->sdf->arena, "%.*s", (int)length, at);
		const char *text = foreign_control_text(control, of, name, "0");
		if (!(parse_double(text, &number) && number == 0) && !(parse_bool(text, &flag) && !flag))
			text_add(&found, "%s%s", found.count ? ", " : "", name);
		at += length;
	}
	if (found.count)
		load_warn(
			control->foreign->load, of->at, "controller \"%.80s\": no effect here: %s", of->name, found.at);
	text_fini(&found);
}

/* "~/cmd_vel" of a controller is NAME/cmd_vel. */
static const char *foreign_controllers_name(
	const struct foreign_control *control, const struct controller *of, const char *name)
{
	return arena_printf(&control->foreign->load->sdf->arena, "%s/%s", of->name, name);
}

static void foreign_controllers_add_topic(struct foreign_control *control, const struct controller *of,
	struct load_builder *to, const char *parameter, const char *name)
{
	foreign_add(control->foreign, to, of->at, parameter,
		foreign_topic(control->foreign, foreign_controllers_name(control, of, name)));
}

/* The command of a drive may have one of two names; a remapping tells which. */
static void foreign_controllers_add_twist(
	struct foreign_control *control, const struct controller *of, struct load_builder *to)
{
	struct foreign *foreign = control->foreign;
	const char *const names[] = {"cmd_vel_unstamped", "cmd_vel"};
	bool stamped = foreign_control_flag(control, of, "use_stamped_vel", true);
	const char *chosen = foreign_topic(foreign, foreign_controllers_name(control, of, names[stamped]));
	for (int i = 0; i < 2; i++) {
		const char *name = foreign_controllers_name(control, of, names[i]);
		if (foreign_is_remapped(foreign, name))
			chosen = foreign_topic(foreign, name);
	}
	foreign_add(foreign, to, of->at, "topic", chosen);
}

/* For the controller manager: a controller that has a system, and what it commands. */
static void foreign_controllers_note(struct foreign_control *control, const struct controller *of)
{
	vec_push(&control->used, *of);
}

/* quantity: NOTHING: that of each joint. */
static void foreign_controllers_note_claims(struct foreign_control *control, const struct controller *of,
	const struct sdf_element *joints, enum quantity quantity)
{
	for (const struct sdf_element *at = joints->child; at; at = at->next) {
		const struct controlled *joint = foreign_control_joint(control, at->text);
		enum quantity own = joint ? joint->quantity : NOTHING;
		vec_push(&control->claims, (struct control_claim){of->name, at->text, quantity ? quantity : own, at});
	}
}

void foreign_controllers_states(struct foreign_control *control, const struct controller *of)
{
	struct load_builder states =
		foreign_begin(control->foreign, "gz-sim-joint-state-publisher-system", "JointStatePublisher");
	const struct sdf_element *joints = of ? foreign_control_list(control, of, "joints") : NULL;
	for (const struct sdf_element *at = joints ? joints->child : NULL; at; at = at->next)
		foreign_add(control->foreign, &states, at, "joint_name", at->text);
	foreign_add_topic(control->foreign, &states, "topic", "joint_states", "joint_states");
	foreign_finish(control->foreign, &states);
	control->publishes = true;
	if (of)
		foreign_controllers_note(control, of);
}

/* The same limit with its name here, and its opposite for the least value if the file does not give that. */
static void foreign_controllers_limit(struct foreign_control *control, const struct controller *of,
	struct load_builder *drive, const char *axis, const char *quantity, const char *to_axis)
{
	struct arena *arena = &control->foreign->load->sdf->arena;
	const char *has = arena_printf(arena, "%s.has_%s_limits", axis, quantity);
	const char *least = arena_printf(arena, "%s.min_%s", axis, quantity);
	const char *most = arena_printf(arena, "%s.max_%s", axis, quantity);
	double upper = foreign_control_number(control, of, most, NAN),
	       lower = foreign_control_number(control, of, least, NAN);
	if (!foreign_control_flag(control, of, has, true) || isnan(upper))
		return;
	foreign_add_number(control->foreign, drive, foreign_control_find(control, of->name, most),
		arena_printf(arena, "max_%s_%s", to_axis, quantity), upper);
	foreign_add_number(control->foreign, drive, foreign_control_find(control, of->name, most),
		arena_printf(arena, "min_%s_%s", to_axis, quantity), isnan(lower) ? -upper : lower);
}

static void foreign_controllers_diff(struct foreign_control *control, const struct controller *of)
{
	static const char *const quantities[] = {"velocity", "acceleration", "jerk"};
	struct foreign *foreign = control->foreign;
	const struct sdf_element *left = foreign_control_list(control, of, "left_wheel_names");
	const struct sdf_element *right = foreign_control_list(control, of, "right_wheel_names");
	struct load_builder drive = foreign_begin(foreign, "gz-sim-diff-drive-system", "DiffDrive");
	double separation = foreign_control_number(control, of, "wheel_separation", 0) *
			    foreign_control_number(control, of, "wheel_separation_multiplier", 1);
	double radius = foreign_control_number(control, of, "wheel_radius", 0) *
			foreign_control_number(control, of, "left_wheel_radius_multiplier", 1);
	if (!foreign_controllers_claim(control, of, left) || !foreign_controllers_claim(control, of, right))
		return;
	foreign_controllers_note(control, of);
	foreign_controllers_note_claims(control, of, left, FOREIGN_CONTROL_VELOCITY);
	foreign_controllers_note_claims(control, of, right, FOREIGN_CONTROL_VELOCITY);
	for (const struct sdf_element *at = left->child; at; at = at->next)
		foreign_add(foreign, &drive, at, "left_joint", at->text);
	for (const struct sdf_element *at = right->child; at; at = at->next)
		foreign_add(foreign, &drive, at, "right_joint", at->text);
	foreign_add_number(foreign, &drive, foreign_control_find(control, of->name, "wheel_separation"),
		"wheel_separation", separation);
	foreign_add_number(
		foreign, &drive, foreign_control_find(control, of->name, "wheel_radius"), "wheel_radius", radius);
	for (size_t i = 0; i < ARRAY_LEN(quantities); i++) {
		foreign_controllers_limit(control, of, &drive, "linear.x", quantities[i], "linear");
		foreign_controllers_limit(control, of, &drive, "angular.z", quantities[i], "angular");
	}
	foreign_controllers_add_twist(control, of, &drive);
	foreign_control_add_number(control, of, "publish_rate", &drive, "odom_publish_frequency");
	foreign_add(foreign, &drive, of->at, "frame_id", foreign_control_text(control, of, "odom_frame_id", "odom"));
	foreign_add(foreign, &drive, of->at, "child_frame_id",
		foreign_control_text(control, of, "base_frame_id", "base_link"));
	foreign_controllers_add_topic(control, of, &drive, "odom_topic", "odom");
	if (!foreign_control_flag(control, of, "enable_odom_tf", true))
		foreign_add(foreign, &drive, of->at, "publish_tf", "false");
	foreign_controllers_warn(control, of, "cmd_vel_timeout open_loop publish_limited_velocity");
	foreign_finish(foreign, &drive);
}

/* The quantity by which a controller commands its joints. */
static enum quantity foreign_controllers_commanded(
	const struct foreign_control *control, const struct controller *of, const char *name, const char *joint)
{
	const struct sdf_element *list = foreign_control_find(control, of->name, name);
	const struct sdf_element *first = list && list->child ? list->child : list;
	const struct controlled *known = foreign_control_joint(control, joint);
	enum quantity quantity = first ? foreign_control_quantity(first->text) : NOTHING;
	return quantity ? quantity : known && known->quantity ? known->quantity : FOREIGN_CONTROL_POSITION;
}

/* The gains by which a trajectory is followed with forces: gains.JOINT.p, i and d. */
static void foreign_controllers_add_gain(struct foreign_control *control, const struct controller *of,
	struct load_builder *to, const struct sdf_element *joint, const char *gain)
{
	struct arena *arena = &control->foreign->load->sdf->arena;
	double value = foreign_control_number(control, of, arena_printf(arena, "gains.%s.%s", joint->text, gain), 0);
	foreign_add_number(control->foreign, to, joint, arena_printf(arena, "position_%s_gain", gain), value);
}

/* Goals, as the action of the controller takes them. */
static void foreign_controllers_add_goals(struct foreign_control *control, const struct controller *of,
	struct load_builder *to, const struct sdf_element *joints)
{
	struct foreign *foreign = control->foreign;
	struct arena *arena = &foreign->load->sdf->arena;
	foreign_add(foreign, to, of->at, "follow_joint_trajectory", "true");
	foreign_add(foreign, to, of->at, "controller_name", of->name);
	if (foreign_control_flag(control, of, "allow_partial_joints_goal", false))
		foreign_add(foreign, to, of->at, "allow_partial_joints_goal", "true");
	for (const struct sdf_element *at = joints->child; at; at = at->next) {
		const char *path = arena_printf(arena, "constraints.%s.trajectory", at->text);
		const char *goal = arena_printf(arena, "constraints.%s.goal", at->text);
		foreign_add_number(foreign, to, at, "path_tolerance", foreign_control_number(control, of, path, 0));
		foreign_add_number(foreign, to, at, "goal_tolerance", foreign_control_number(control, of, goal, 0));
	}
	foreign_add_number(foreign, to, of->at, "stopped_velocity_tolerance",
		foreign_control_number(control, of, "constraints.stopped_velocity_tolerance", 0.01));
	foreign_add_number(foreign, to, of->at, "goal_time_tolerance",
		foreign_control_number(control, of, "constraints.goal_time", 0));
}

static void foreign_controllers_trajectory(struct foreign_control *control, const struct controller *of)
{
	struct foreign *foreign = control->foreign;
	const struct sdf_element *joints = foreign_control_list(control, of, "joints");
	struct load_builder follower =
		foreign_begin(foreign, "gz-sim-joint-trajectory-controller-system", "JointTrajectoryController");
	if (!foreign_controllers_claim(control, of, joints))
		return;
	enum quantity quantity = foreign_controllers_commanded(control, of, "command_interfaces", joints->child->text);
	bool by_force = quantity == FOREIGN_CONTROL_EFFORT;
	foreign_controllers_note(control, of);
	foreign_controllers_note_claims(control, of, joints, quantity);
	foreign_controllers_add_topic(control, of, &follower, "topic", "joint_trajectory");
	foreign_add(foreign, &follower, of->at, "interpolate", "true");
	if (!by_force) {
		foreign_add(foreign, &follower, of->at, "use_velocity_commands", "true");
		foreign_add_number(foreign, &follower, of->at, "velocity_gain", control->gain);
	}
	for (const struct sdf_element *at = joints->child; at; at = at->next) {
		const struct controlled *joint = foreign_control_joint(control, at->text);
		foreign_add(foreign, &follower, at, "joint_name", at->text);
		foreign_add(foreign, &follower, at, "initial_position", joint && joint->initial ? joint->initial : "0");
		if (by_force) {
			foreign_controllers_add_gain(control, of, &follower, at, "p");
			foreign_controllers_add_gain(control, of, &follower, at, "i");
			foreign_controllers_add_gain(control, of, &follower, at, "d");
		}
	}
	foreign_controllers_add_goals(control, of, &follower, joints);
	foreign_finish(foreign, &follower);
}

/* Each joint has its own topic; the controller's topic, a list of numbers without names, is not offered. */
static void foreign_controllers_forward(struct foreign_control *control, const struct controller *of)
{
	const struct sdf_element *joints = foreign_control_list(control, of, "joints");
	enum quantity of_type = foreign_control_quantity(arena_printf(&control->foreign->load->sdf->arena, "%.*s",
		(int)strcspn(of->type, "_"), of->type)); /* position_controllers/... */
	if (!foreign_controllers_claim(control, of, joints))
		return;
	foreign_controllers_note(control, of);
	foreign_controllers_note_claims(control, of, joints, of_type);
	for (const struct sdf_element *at = joints->child; at; at = at->next)
		foreign_control_command(control, at, at->text,
			of_type ? of_type : foreign_controllers_commanded(control, of, "interface_name", at->text));
	load_warn(control->foreign->load, of->at,
		"controller \"%.80s\": its topic is not offered: expected commands on robot_joint_command (ROS 2), or "
		"on the topic of each joint",
		of->name);
}

/* A gripper is commanded as its joint is. */
static void foreign_controllers_gripper(struct foreign_control *control, const struct controller *of)
{
	const struct sdf_element *list = foreign_control_list(control, of, "joint");
	if (!foreign_controllers_claim(control, of, list))
		return;
	const struct sdf_element *joint = list->child;
	enum quantity quantity = !strncmp(of->type, "effort_", 7) ? FOREIGN_CONTROL_EFFORT : FOREIGN_CONTROL_POSITION;
	foreign_controllers_note(control, of);
	foreign_controllers_note_claims(control, of, list, quantity);
	foreign_control_command(control, joint, joint->text, quantity);
	load_warn(control->foreign->load, of->at,
		"controller \"%.80s\": its action is not offered: expected commands on robot_joint_command (ROS 2), or "
		"on the topic of its joint",
		of->name);
}

static void foreign_controllers_use(struct foreign_control *control, const struct controller *of)
{
	static const struct {
		const char *type;
		void (*use)(struct foreign_control *control, const struct controller *of);
	} types[] = {
		{"joint_state_broadcaster/JointStateBroadcaster", foreign_controllers_states},
		{"joint_state_controller/JointStateController", foreign_controllers_states},
		{"diff_drive_controller/DiffDriveController", foreign_controllers_diff},
		{"joint_trajectory_controller/JointTrajectoryController", foreign_controllers_trajectory},
		{"forward_command_controller/ForwardCommandController", foreign_controllers_forward},
		{"position_controllers/JointGroupPositionController", foreign_controllers_forward},
		{"velocity_controllers/JointGroupVelocityController", foreign_controllers_forward},
		{"effort_controllers/JointGroupEffortController", foreign_controllers_forward},
		{"position_controllers/GripperActionController", foreign_controllers_gripper},
		{"effort_controllers/GripperActionController", foreign_controllers_gripper},
		{"parallel_gripper_action_controller/GripperActionController", foreign_controllers_gripper},
	};
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (!strcmp(types[i].type, of->type)) {
			types[i].use(control, of);
			return;
		}
	load_warn(control->foreign->load, of->at,
		"controller \"%.80s\" of type \"%.80s\" is ignored: expected diff_drive_controller, "
		"joint_trajectory_controller, forward_command_controller, a group or gripper controller, or "
		"joint_state_broadcaster",
		of->name, of->type);
}

/* The parameters of the controller_manager of a file; NULL: none. */
static const struct sdf_element *foreign_controllers_manager(const struct sdf_element *map, const char *key)
{
	const char *slash = strrchr(key, '/');
	bool here = !strcmp(slash ? slash + 1 : key, "controller_manager");
	const struct sdf_element *found = here ? sdf_child(map, "ros__parameters", NULL) : NULL;
	for (const struct sdf_element *at = map->child; at && !found; at = at->next)
		found = foreign_controllers_manager(at, at->name);
	return found;
}

/* The controllers stand there, each with its type. */
void foreign_controllers_use_all(struct foreign_control *control)
{
	for (uint32_t i = 0; i < control->files.count; i++) {
		const struct sdf_element *manager = foreign_controllers_manager(control->files.at[i], "");
		for (const struct sdf_element *at = manager ? manager->child : NULL; at; at = at->next) {
			const char *type = sdf_child_text(at, "type");
			if (type && *type)
				foreign_controllers_use(control, &(struct controller){at->name, type, at});
		}
	}
}
