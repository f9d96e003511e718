/* ros2_control and its forerunner ros_control. The robot names joints with the quantities by which they are commanded;
 * a file of parameters names controllers (foreign_controllers.c), which claim joints. A joint that no controller claims
 * gets a system of its own, which takes its commands on the usual topic of a joint (src/doc/reference/ros2.md,
 * "ros2_control").
 *
 * The simulated hardware follows a position with the velocity GAIN x error, so the systems do, too. */
#include "base/parse.h"
#include "sdf/foreign_control.h"

#include "sdf/include.h"
#include "sdf/yaml.h"

#include <math.h>
#include <string.h>

enum {
	CONTROL_FILES_MAX = 16,
	CONTROL_FILE_BYTES_MAX = 1 << 20,
};
#define CONTROL_RATE_HZ 100.0 /* of the controllers if the file does not say it */
#define CONTROL_GAIN 0.1      /* velocity per error and step of the controllers */

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

const struct sdf_element *foreign_control_find(
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
const struct sdf_element *foreign_control_list(
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

const char *foreign_control_text(
	const struct foreign_control *control, const struct controller *of, const char *name, const char *otherwise)
{
	const struct sdf_element *at = foreign_control_find(control, of->name, name);
	return at && *at->text ? at->text : otherwise;
}

bool foreign_control_flag(
	const struct foreign_control *control, const struct controller *of, const char *name, bool otherwise)
{
	bool value = otherwise;
	(void)parse_bool(foreign_control_text(control, of, name, ""), &value);
	return value;
}

/* .nan and .inf of YAML say that there is no number. */
double foreign_control_number(
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

void foreign_control_add_number(const struct foreign_control *control, const struct controller *of, const char *name,
	struct load_builder *to, const char *to_name)
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
		yaml_parse(&load->sdf->arena, text, bytes, arena_strdup(&load->sdf->arena, path), &root, &error))
		load_warn(load, named, "%s; the file is ignored", error.text);
	else
		vec_push(&control->files, root);
}

/* --- joints ------------------------------------------------------------------------------------------------------- */

struct controlled *foreign_control_joint(const struct foreign_control *control, const char *name)
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

enum quantity foreign_control_quantity(const char *name)
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

void foreign_control_command(
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
		foreign_controllers_states(control, NULL);
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
	foreign_controllers_use_all(&control);
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
