/* ros2_control and its forerunner ros_control. The robot names joints with the quantities by which they are commanded;
 * a file of parameters names controllers, which claim joints. A controller that has a system here becomes that system,
 * on the controller's topic. A joint that no controller claims gets a system of its own, which takes its commands on
 * the usual topic of a joint (src/doc/reference/ros2.md, "ros2_control"). Several controllers may be written for one
 * joint, of which the user starts one: the first one counts.
 *
 * The simulated hardware follows a position with the velocity GAIN x error, so the systems do, too. */
#include "base/parse.h"
#include "sdf/foreign_internal.h"

#include "sdf/include.h"
#include "sdf/yaml.h"

#include <math.h>
#include <string.h>

enum {
	CONTROL_FILES_MAX = 16,
	CONTROL_FILE_BYTES_MAX = 1 << 20,
	CONTROL_JOINTS_MAX = 4096, /* of a robot, and in a list */
};
#define CONTROL_RATE_HZ 100.0 /* of the controllers if the file does not say it */
#define CONTROL_GAIN 0.1      /* velocity per error and step of the controllers */

enum quantity { NOTHING, FOREIGN_CONTROL_POSITION, FOREIGN_CONTROL_VELOCITY, FOREIGN_CONTROL_EFFORT };

struct controlled { /* a joint of <ros2_control> or <transmission> */
	const char *name;
	const struct sdf_element *element;
	enum quantity quantity; /* by which it is commanded; the first one of position, velocity and effort */
	const char *initial;    /* position; NULL: not given */
	bool claimed;
};

struct controller {
	const char *name, *type;
	const struct sdf_element *at;
};

struct control_claim { /* by a controller that has a system */
	const char *controller, *joint;
	enum quantity quantity;
	const struct sdf_element *at;
};

struct foreign_control {
	struct foreign *foreign;
	VEC(const struct sdf_element *) files; /* of parameters */
	VEC(struct controlled) joints;
	struct map by_name, claimed; /* claimed: also joints that the robot does not name */
	double gain;                 /* 1/s */
	double update_rate;          /* Hz, of the controllers */
	bool publishes;              /* a controller publishes the states of joints */
	VEC(struct controller) used; /* those that have systems */
	VEC(struct control_claim) claims;
};

/* --- parameters --------------------------------------------------------------------------------------------------- */

/* "linear.x.max_velocity" is written so, or as maps in one another. */
static const struct sdf_element *foreign_control_in(const struct sdf_element *map, const char *name)
{
	for (const struct sdf_element *at = map->child; at; at = at->next) {
		size_t length = strlen(at->name);
		if (!strcmp(at->name, name))
			return at;
		const struct sdf_element *found = !strncmp(at->name, name, length) && name[length] == '.' && length
							  ? foreign_control_in(at, name + length + 1)
							  : NULL;
		if (found)
			return found;
	}
	return NULL;
}

/* The parameter of a node, whose name may have a namespace before it; node "*": of all nodes. */
static const struct sdf_element *foreign_control_below(
	const struct sdf_element *map, const char *key, const char *node, const char *name)
{
	const char *slash = strrchr(key, '/'), *last = slash ? slash + 1 : key;
	bool here = !strcmp(node, "*") ? *last == '*' : !strcmp(last, node);
	for (const struct sdf_element *at = map->child; at; at = at->next) {
		bool parameters = !strcmp(at->name, "ros__parameters");
		const struct sdf_element *found = !parameters ? foreign_control_below(at, at->name, node, name)
						  : here      ? foreign_control_in(at, name)
							      : NULL;
		if (found)
			return found;
	}
	return NULL;
}

static const struct sdf_element *foreign_control_find(
	const struct foreign_control *control, const char *node, const char *name)
{
	const struct sdf_element *found = NULL;
	for (uint32_t i = 0; i < control->files.count && !found; i++)
		found = foreign_control_below(control->files.at[i], "", node, name);
	for (uint32_t i = 0; i < control->files.count && !found; i++)
		found = foreign_control_below(control->files.at[i], "", "*", name);
	return found;
}

/* A list of names; a single name counts as a list with one. NULL: none. */
static const struct sdf_element *foreign_control_list(
	const struct foreign_control *control, const struct controller *of, const char *name)
{
	struct arena *arena = &control->foreign->load->sdf->arena;
	const struct sdf_element *at = foreign_control_find(control, of->name, name);
	if (!at || at->child || !*at->text)
		return at;
	struct sdf_element *list = arena_new(arena, struct sdf_element), *item = arena_new(arena, struct sdf_element);
	*list = *item = *at;
	item->next = list->next = NULL;
	list->child = item;
	return list;
}

static const char *foreign_control_text(
	const struct foreign_control *control, const struct controller *of, const char *name, const char *otherwise)
{
	const struct sdf_element *at = foreign_control_find(control, of->name, name);
	return at && *at->text ? at->text : otherwise;
}

static bool foreign_control_flag(
	const struct foreign_control *control, const struct controller *of, const char *name, bool otherwise)
{
	bool value = otherwise;
	(void)parse_bool(foreign_control_text(control, of, name, ""), &value);
	return value;
}

/* .nan and .inf of YAML say that there is no number. */
static double foreign_control_number(
	const struct foreign_control *control, const struct controller *of, const char *name, double otherwise)
{
	const struct sdf_element *at = foreign_control_find(control, of->name, name);
	double value = otherwise;
	bool given = at && *at->text && (!strchr("-.", *at->text) || strpbrk(at->text, "0123456789"));
	if (given && (!parse_double(at->text, &value) || !(fabs(value) <= 1e9))) {
		load_error(control->foreign->load, at, "\"%.80s\" is \"%.80s\": expected a number of at most 1e9", name,
			at->text);
		return otherwise;
	}
	return value;
}

static void foreign_control_add_number(const struct foreign_control *control, const struct controller *of,
	const char *name, struct load_builder *to, const char *to_name)
{
	const struct sdf_element *at = foreign_control_find(control, of->name, name);
	double value = foreign_control_number(control, of, name, NAN);
	if (at && !isnan(value))
		foreign_add_number(control->foreign, to, at, to_name, value);
}

static void foreign_control_read_file(struct foreign_control *control, const struct sdf_element *named)
{
	struct load *load = control->foreign->load;
	const char *uri = named->text, *text, *path;
	const struct sdf_element *root;
	struct troupe_error error;
	size_t bytes;
	if (!strncmp(uri, "$(find ", 7) && strchr(uri, ')'))
		uri = arena_printf(&load->sdf->arena, "package://%.*s%s", (int)strcspn(uri + 7, ")"), uri + 7,
			strchr(uri, ')') + 1);
	if (control->files.count == CONTROL_FILES_MAX || !*uri || !(path = include_find_file(load, named, uri)))
		return; /* not found: a warning was given */
	if (files_read(load->disk, path, CONTROL_FILE_BYTES_MAX, &text, &bytes, &error) ||
		yaml_parse(&load->sdf->arena, text, arena_strdup(&load->sdf->arena, path), &root, &error))
		load_warn(load, named, "%s; the file is ignored", error.text);
	else
		vec_push(&control->files, root);
}

/* --- joints ------------------------------------------------------------------------------------------------------- */

static struct controlled *foreign_control_joint(const struct foreign_control *control, const char *name)
{
	uint32_t index;
	return map_find(&control->by_name, name, &index) ? &control->joints.at[index] : NULL;
}

static void foreign_control_add_joint(struct foreign_control *control, struct controlled joint)
{
	if (control->joints.count == CONTROL_JOINTS_MAX)
		return;
	if (!foreign_joint(control->foreign, joint.name))
		load_warn(control->foreign->load, joint.element,
			"<joint> names \"%.80s\": expected a joint of this robot that moves; it is left out",
			joint.name);
	else if (map_add(&control->by_name, joint.name, control->joints.count))
		vec_push(&control->joints, joint);
}

static enum quantity foreign_control_quantity(const char *name)
{
	return !strcmp(name, "position")   ? FOREIGN_CONTROL_POSITION
	       : !strcmp(name, "velocity") ? FOREIGN_CONTROL_VELOCITY
	       : !strcmp(name, "effort")   ? FOREIGN_CONTROL_EFFORT
					   : NOTHING;
}

static const struct sdf_element *foreign_control_param(const struct sdf_element *parent, const char *name)
{
	const struct sdf_element *at = NULL;
	while ((at = sdf_child(parent, "param", at)) != NULL) {
		const char *given = sdf_attribute(at, "name");
		if (given && !strcmp(given, name))
			break;
	}
	return at;
}

static void foreign_control_read_joint(struct foreign_control *control, const struct sdf_element *element)
{
	struct controlled joint = {.element = element, .name = sdf_attribute(element, "name")};
	const struct sdf_element *at = NULL;
	joint.name = joint.name ? joint.name : "";
	while ((at = sdf_child(element, "command_interface", at)) != NULL) {
		const char *name = sdf_attribute(at, "name");
		enum quantity quantity = foreign_control_quantity(name ? name : "");
		if (quantity && (!joint.quantity || quantity < joint.quantity))
			joint.quantity = quantity;
	}
	while ((at = sdf_child(element, "state_interface", at)) != NULL) {
		const char *name = sdf_attribute(at, "name");
		const struct sdf_element *initial = foreign_control_param(at, "initial_value");
		if (name && !strcmp(name, "position") && initial && *initial->text)
			joint.initial = initial->text;
	}
	if (foreign_control_param(element, "mimic")) /* a <mimic> of the joint moves it */
		joint.quantity = NOTHING;
	foreign_control_add_joint(control, joint);
}

static void foreign_control_read_transmission(struct foreign_control *control, const struct sdf_element *element)
{
	const struct sdf_element *at = NULL;
	while ((at = sdf_child(element, "joint", at)) != NULL) {
		const char *name = sdf_attribute(at, "name"), *interface = sdf_child_text(at, "hardwareInterface");
		if (!interface)
			interface = sdf_child_text(sdf_child(element, "actuator", NULL), "hardwareInterface");
		interface = interface ? interface : "";
		foreign_control_add_joint(
			control, (struct controlled){.name = name ? name : "",
					 .element = at,
					 .quantity = strstr(interface, "Effort")     ? FOREIGN_CONTROL_EFFORT
						     : strstr(interface, "Velocity") ? FOREIGN_CONTROL_VELOCITY
						     : strstr(interface, "Position") ? FOREIGN_CONTROL_POSITION
										     : NOTHING});
	}
}

static void foreign_control_read_joints(struct foreign_control *control)
{
	const struct sdf_element *block = NULL, *joint;
	while ((block = sdf_child(control->foreign->model, "ros2_control", block)) != NULL)
		for (joint = sdf_child(block, "joint", NULL); joint; joint = sdf_child(block, "joint", joint))
			foreign_control_read_joint(control, joint);
	/* <ros2_control> may also stand in the plug-in of a model in SDF */
	while ((block = sdf_child(control->foreign->plugin, "ros2_control", block)) != NULL)
		for (joint = sdf_child(block, "joint", NULL); joint; joint = sdf_child(block, "joint", joint))
			foreign_control_read_joint(control, joint);
}

/* The joint begins where its state does. */
static void foreign_control_place_joints(struct foreign_control *control)
{
	for (uint32_t i = 0; i < control->joints.count; i++) {
		const struct controlled *joint = &control->joints.at[i];
		if (joint->initial)
			foreign_change(control->foreign, "joint", joint->name, "axis/initial_position",
				foreign_new(control->foreign, joint->element, "initial_position", joint->initial)
					.element);
	}
}

/* --- systems of joints -------------------------------------------------------------------------------------------- */

static void foreign_control_command(
	struct foreign_control *control, const struct sdf_element *at, const char *name, enum quantity quantity)
{
	static const char *const systems[][2] = {
		[FOREIGN_CONTROL_POSITION] = {"gz-sim-joint-position-controller-system", "JointPositionController"},
		[FOREIGN_CONTROL_VELOCITY] = {"gz-sim-joint-controller-system", "JointController"},
		[FOREIGN_CONTROL_EFFORT] = {"gz-sim-apply-joint-force-system", "ApplyJointForce"},
	};
	struct foreign *foreign = control->foreign;
	const struct controlled *joint = foreign_control_joint(control, name);
	const char *limit = foreign_velocity_limit(foreign, name);
	if (!quantity)
		return;
	struct load_builder system = foreign_begin(foreign, systems[quantity][0], systems[quantity][1]);
	foreign_add(foreign, &system, at, "joint_name", name);
	if (quantity == FOREIGN_CONTROL_POSITION) {
		foreign_add(foreign, &system, at, "use_velocity_commands", "true");
		foreign_add_number(foreign, &system, at, "velocity_gain", control->gain);
		if (limit)
			foreign_add(foreign, &system, at, "cmd_max", limit);
		if (joint && joint->initial)
			foreign_add(foreign, &system, at, "initial_position", joint->initial);
	}
	foreign_finish(foreign, &system);
}

/* --- controllers -------------------------------------------------------------------------------------------------- */

/* Whether the controller is the first to claim all joints of the list. */
static bool foreign_control_claim(
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
static void foreign_control_warn(const struct foreign_control *control, const struct controller *of, const char *names)
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
static const char *foreign_control_name(
	const struct foreign_control *control, const struct controller *of, const char *name)
{
	return arena_printf(&control->foreign->load->sdf->arena, "%s/%s", of->name, name);
}

static void foreign_control_add_topic(struct foreign_control *control, const struct controller *of,
	struct load_builder *to, const char *parameter, const char *name)
{
	foreign_add(control->foreign, to, of->at, parameter,
		foreign_topic(control->foreign, foreign_control_name(control, of, name)));
}

/* The command of a drive may have one of two names; a remapping tells which. */
static void foreign_control_add_twist(
	struct foreign_control *control, const struct controller *of, struct load_builder *to)
{
	struct foreign *foreign = control->foreign;
	const char *const names[] = {"cmd_vel_unstamped", "cmd_vel"};
	bool stamped = foreign_control_flag(control, of, "use_stamped_vel", true);
	const char *chosen = foreign_topic(foreign, foreign_control_name(control, of, names[stamped]));
	for (int i = 0; i < 2; i++) {
		const char *name = foreign_control_name(control, of, names[i]);
		if (foreign_is_remapped(foreign, name))
			chosen = foreign_topic(foreign, name);
	}
	foreign_add(foreign, to, of->at, "topic", chosen);
}

/* For the controller manager: a controller that has a system, and what it commands. */
static void foreign_control_note(struct foreign_control *control, const struct controller *of)
{
	vec_push(&control->used, *of);
}

/* quantity: NOTHING: that of each joint. */
static void foreign_control_note_claims(struct foreign_control *control, const struct controller *of,
	const struct sdf_element *joints, enum quantity quantity)
{
	for (const struct sdf_element *at = joints->child; at; at = at->next) {
		const struct controlled *joint = foreign_control_joint(control, at->text);
		enum quantity own = joint ? joint->quantity : NOTHING;
		vec_push(&control->claims, (struct control_claim){of->name, at->text, quantity ? quantity : own, at});
	}
}

static void foreign_control_states(struct foreign_control *control, const struct controller *of)
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
		foreign_control_note(control, of);
}

/* The same limit with its name here, and its opposite for the least value if the file does not give that. */
static void foreign_control_limit(struct foreign_control *control, const struct controller *of,
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

static void foreign_control_diff(struct foreign_control *control, const struct controller *of)
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
	if (!foreign_control_claim(control, of, left) || !foreign_control_claim(control, of, right))
		return;
	foreign_control_note(control, of);
	foreign_control_note_claims(control, of, left, FOREIGN_CONTROL_VELOCITY);
	foreign_control_note_claims(control, of, right, FOREIGN_CONTROL_VELOCITY);
	for (const struct sdf_element *at = left->child; at; at = at->next)
		foreign_add(foreign, &drive, at, "left_joint", at->text);
	for (const struct sdf_element *at = right->child; at; at = at->next)
		foreign_add(foreign, &drive, at, "right_joint", at->text);
	foreign_add_number(foreign, &drive, foreign_control_find(control, of->name, "wheel_separation"),
		"wheel_separation", separation);
	foreign_add_number(
		foreign, &drive, foreign_control_find(control, of->name, "wheel_radius"), "wheel_radius", radius);
	for (size_t i = 0; i < ARRAY_LEN(quantities); i++) {
		foreign_control_limit(control, of, &drive, "linear.x", quantities[i], "linear");
		foreign_control_limit(control, of, &drive, "angular.z", quantities[i], "angular");
	}
	foreign_control_add_twist(control, of, &drive);
	foreign_control_add_number(control, of, "publish_rate", &drive, "odom_publish_frequency");
	foreign_add(foreign, &drive, of->at, "frame_id", foreign_control_text(control, of, "odom_frame_id", "odom"));
	foreign_add(foreign, &drive, of->at, "child_frame_id",
		foreign_control_text(control, of, "base_frame_id", "base_link"));
	foreign_control_add_topic(control, of, &drive, "odom_topic", "odom");
	if (!foreign_control_flag(control, of, "enable_odom_tf", true))
		foreign_add(foreign, &drive, of->at, "publish_tf", "false");
	foreign_control_warn(control, of, "cmd_vel_timeout open_loop publish_limited_velocity");
	foreign_finish(foreign, &drive);
}

/* The quantity by which a controller commands its joints. */
static enum quantity foreign_control_commanded(
	const struct foreign_control *control, const struct controller *of, const char *name, const char *joint)
{
	const struct sdf_element *list = foreign_control_find(control, of->name, name);
	const struct sdf_element *first = list && list->child ? list->child : list;
	const struct controlled *known = foreign_control_joint(control, joint);
	enum quantity quantity = first ? foreign_control_quantity(first->text) : NOTHING;
	return quantity ? quantity : known && known->quantity ? known->quantity : FOREIGN_CONTROL_POSITION;
}

/* The gains by which a trajectory is followed with forces: gains.JOINT.p, i and d. */
static void foreign_control_add_gain(struct foreign_control *control, const struct controller *of,
	struct load_builder *to, const struct sdf_element *joint, const char *gain)
{
	struct arena *arena = &control->foreign->load->sdf->arena;
	double value = foreign_control_number(control, of, arena_printf(arena, "gains.%s.%s", joint->text, gain), 0);
	foreign_add_number(control->foreign, to, joint, arena_printf(arena, "position_%s_gain", gain), value);
}

/* Goals, as the action of the controller takes them. */
static void foreign_control_add_goals(struct foreign_control *control, const struct controller *of,
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

static void foreign_control_trajectory(struct foreign_control *control, const struct controller *of)
{
	struct foreign *foreign = control->foreign;
	const struct sdf_element *joints = foreign_control_list(control, of, "joints");
	struct load_builder follower =
		foreign_begin(foreign, "gz-sim-joint-trajectory-controller-system", "JointTrajectoryController");
	if (!foreign_control_claim(control, of, joints))
		return;
	enum quantity quantity = foreign_control_commanded(control, of, "command_interfaces", joints->child->text);
	bool by_force = quantity == FOREIGN_CONTROL_EFFORT;
	foreign_control_note(control, of);
	foreign_control_note_claims(control, of, joints, quantity);
	foreign_control_add_topic(control, of, &follower, "topic", "joint_trajectory");
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
			foreign_control_add_gain(control, of, &follower, at, "p");
			foreign_control_add_gain(control, of, &follower, at, "i");
			foreign_control_add_gain(control, of, &follower, at, "d");
		}
	}
	foreign_control_add_goals(control, of, &follower, joints);
	foreign_finish(foreign, &follower);
}

/* Each joint has its own topic; the controller's topic, a list of numbers without names, is not offered. */
static void foreign_control_forward(struct foreign_control *control, const struct controller *of)
{
	const struct sdf_element *joints = foreign_control_list(control, of, "joints");
	enum quantity of_type = foreign_control_quantity(arena_printf(&control->foreign->load->sdf->arena, "%.*s",
		(int)strcspn(of->type, "_"), of->type)); /* position_controllers/... */
	if (!foreign_control_claim(control, of, joints))
		return;
	foreign_control_note(control, of);
	foreign_control_note_claims(control, of, joints, of_type);
	for (const struct sdf_element *at = joints->child; at; at = at->next)
		foreign_control_command(control, at, at->text,
			of_type ? of_type : foreign_control_commanded(control, of, "interface_name", at->text));
	load_warn(control->foreign->load, of->at,
		"controller \"%.80s\": its topic is not offered: expected commands on robot_joint_command (ROS 2), or "
		"on the topic of each joint",
		of->name);
}

/* A gripper is commanded as its joint is. */
static void foreign_control_gripper(struct foreign_control *control, const struct controller *of)
{
	const struct sdf_element *list = foreign_control_list(control, of, "joint");
	if (!foreign_control_claim(control, of, list))
		return;
	const struct sdf_element *joint = list->child;
	enum quantity quantity = !strncmp(of->type, "effort_", 7) ? FOREIGN_CONTROL_EFFORT : FOREIGN_CONTROL_POSITION;
	foreign_control_note(control, of);
	foreign_control_note_claims(control, of, list, quantity);
	foreign_control_command(control, joint, joint->text, quantity);
	load_warn(control->foreign->load, of->at,
		"controller \"%.80s\": its action is not offered: expected commands on robot_joint_command (ROS 2), or "
		"on the topic of its joint",
		of->name);
}

static void foreign_control_use(struct foreign_control *control, const struct controller *of)
{
	static const struct {
		const char *type;
		void (*use)(struct foreign_control *control, const struct controller *of);
	} types[] = {
		{"joint_state_broadcaster/JointStateBroadcaster", foreign_control_states},
		{"joint_state_controller/JointStateController", foreign_control_states},
		{"diff_drive_controller/DiffDriveController", foreign_control_diff},
		{"joint_trajectory_controller/JointTrajectoryController", foreign_control_trajectory},
		{"forward_command_controller/ForwardCommandController", foreign_control_forward},
		{"position_controllers/JointGroupPositionController", foreign_control_forward},
		{"velocity_controllers/JointGroupVelocityController", foreign_control_forward},
		{"effort_controllers/JointGroupEffortController", foreign_control_forward},
		{"position_controllers/GripperActionController", foreign_control_gripper},
		{"effort_controllers/GripperActionController", foreign_control_gripper},
		{"parallel_gripper_action_controller/GripperActionController", foreign_control_gripper},
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
static const struct sdf_element *foreign_control_manager(const struct sdf_element *map, const char *key)
{
	const char *slash = strrchr(key, '/');
	bool here = !strcmp(slash ? slash + 1 : key, "controller_manager");
	const struct sdf_element *found = here ? sdf_child(map, "ros__parameters", NULL) : NULL;
	for (const struct sdf_element *at = map->child; at && !found; at = at->next)
		found = foreign_control_manager(at, at->name);
	return found;
}

/* The controllers stand there, each with its type. */
static void foreign_control_use_all(struct foreign_control *control)
{
	for (uint32_t i = 0; i < control->files.count; i++) {
		const struct sdf_element *manager = foreign_control_manager(control->files.at[i], "");
		for (const struct sdf_element *at = manager ? manager->child : NULL; at; at = at->next) {
			const char *type = sdf_child_text(at, "type");
			if (type && *type)
				foreign_control_use(control, &(struct controller){at->name, type, at});
		}
	}
}

/* --- the plug-ins ------------------------------------------------------------------------------------------------- */

static const char *foreign_control_interface(const struct foreign_control *control, const char *joint, const char *name)
{
	return arena_printf(&control->foreign->load->sdf->arena, "%s/%s", joint, name);
}

/* The interfaces of the hardware, as <ros2_control> names them. */
static void foreign_control_add_interfaces(
	struct foreign_control *control, struct load_builder *manager, const char *child)
{
	for (uint32_t i = 0; i < control->joints.count; i++) {
		const struct controlled *joint = &control->joints.at[i];
		const struct sdf_element *at = NULL;
		while ((at = sdf_child(joint->element, child, at)) != NULL) {
			const char *name = sdf_attribute(at, "name");
			foreign_add(control->foreign, manager, at, child,
				foreign_control_interface(control, joint->name, name ? name : ""));
		}
	}
}

/* What controller_manager tells: the controllers that have systems. */
static void foreign_control_add_manager(struct foreign_control *control)
{
	static const char *const names[] = {"", "position", "velocity", "effort"};
	static const char trajectories[] = "joint_trajectory_controller/JointTrajectoryController";
	struct foreign *foreign = control->foreign;
	struct arena *arena = &foreign->load->sdf->arena;
	struct load_builder manager = foreign_new(foreign, foreign->plugin, "plugin", "");
	load_build_attribute(foreign->load, &manager, "filename", "troupe");
	load_build_attribute(foreign->load, &manager, "name", "troupe::ControllerManager");
	foreign_add(foreign, &manager, NULL, "topic", foreign_topic(foreign, "controller_manager"));
	foreign_add_number(foreign, &manager, NULL, "update_rate", control->update_rate);
	for (uint32_t i = 0; i < control->used.count; i++) {
		const struct controller *of = &control->used.at[i];
		foreign_add(foreign, &manager, of->at, "controller", arena_printf(arena, "%s %s", of->name, of->type));
		if (!strcmp(of->type, trajectories))
			foreign_add(foreign, &manager, of->at, "switchable", of->name);
	}
	for (uint32_t i = 0; i < control->claims.count; i++) {
		const struct control_claim *claim = &control->claims.at[i];
		foreign_add(foreign, &manager, claim->at, "claims",
			arena_printf(arena, "%s %s", claim->controller,
				foreign_control_interface(control, claim->joint, names[claim->quantity])));
	}
	foreign_control_add_interfaces(control, &manager, "command_interface");
	foreign_control_add_interfaces(control, &manager, "state_interface");
	foreign_finish(foreign, &manager);
}

static void foreign_control_end(struct foreign_control *control)
{
	for (uint32_t i = 0; i < control->joints.count; i++)
		if (!control->joints.at[i].claimed)
			foreign_control_command(control, control->joints.at[i].element, control->joints.at[i].name,
				control->joints.at[i].quantity);
	if (!control->publishes && !control->files.count)
		foreign_control_states(control, NULL);
	if (control->files.count)
		foreign_control_add_manager(control);
	vec_free(&control->used);
	vec_free(&control->claims);
	vec_free(&control->files);
	vec_free(&control->joints);
	map_fini(&control->by_name);
	map_fini(&control->claimed);
}

void foreign_control_joints(struct foreign *foreign)
{
	struct foreign_control control = {.foreign = foreign};
	const struct controller manager = {.name = "controller_manager"}, hardware = {.name = "gz_ros_control"};
	for (const struct sdf_element *at = foreign_child(foreign, "parameters", NULL); at;
		at = foreign_child(foreign, "parameters", at))
		foreign_control_read_file(&control, at);
	foreign_skip(
		foreign, "robot_param robot_param_node controller_manager_name controller_manager_prefix_node_name");
	foreign_skip(foreign, "ros2_control robot_sim_type control_period");
	control.update_rate = foreign_control_number(&control, &manager, "update_rate", CONTROL_RATE_HZ);
	control.gain = control.update_rate *
		       foreign_control_number(&control, &hardware, "position_proportional_gain",
			       foreign_control_number(&control, &manager, "position_proportional_gain", CONTROL_GAIN));
	foreign_control_read_joints(&control);
	foreign_control_place_joints(&control);
	foreign_control_use_all(&control);
	foreign_control_end(&control);
}

void foreign_control_transmissions(struct foreign *foreign)
{
	struct foreign_control control = {.foreign = foreign, .gain = CONTROL_GAIN * CONTROL_RATE_HZ};
	const struct sdf_element *at = NULL;
	foreign_skip(foreign, "robot_sim_type control_period legacy_mode_ns robot_param e_stop_topic");
	while ((at = sdf_child(foreign->model, "transmission", at)) != NULL)
		foreign_control_read_transmission(&control, at);
	foreign_control_end(&control);
}
