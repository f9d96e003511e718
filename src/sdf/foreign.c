/* A plug-in is known by the name of its file, because its other name is free. A model is rewritten as elements, before
 * it is read: so `print` shows what a plug-in became, and the systems see no difference to a file that was written for
 * them.
 *
 * A plug-in may change parts of the model that stand before it, such as the effort of a wheel's joint. Therefore all
 * plug-ins are translated first, and then the model is built. */
#include "sdf/foreign.h"

#include "base/parse.h"
#include "sdf/foreign_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* translate: NULL: the plug-in is left alone, and `advice` says what to write instead. */
static const struct foreign_kind {
	const char *file;
	foreign_fn *translate;
	const char *advice;
} foreign_kinds[] = {
	{"gazebo_ros_diff_drive", foreign_drives_diff, NULL},
	{"gazebo_ros_skid_steer_drive", foreign_drives_skid, NULL},
	{"gazebo_ros_planar_move", foreign_drives_planar, NULL},
	{"gazebo_ros_ackermann_drive", foreign_drives_ackermann, NULL},
	{"gazebo_ros_joint_state_publisher", foreign_drives_joint_states, NULL},
	{"gazebo_ros_p3d", foreign_drives_place, NULL},
	{"gazebo_ros_joint_pose_trajectory", foreign_drives_trajectory, NULL},
	{"gazebo_ros_joint_trajectory", foreign_drives_trajectory, NULL},
	{"gazebo_ros_wheel_slip", foreign_drives_slip, NULL},
	{"gazebo_ros_imu", foreign_sensors_imu, NULL},
	{"hector_gazebo_ros_imu", foreign_sensors_imu, NULL},
	{"gazebo_ros_ft_sensor", foreign_sensors_force_torque, NULL},
	{"gz_ros2_control-system", foreign_control_joints, NULL},
	{"ign_ros2_control-system", foreign_control_joints, NULL},
	{"gazebo_ros2_control", foreign_control_joints, NULL},
	{"gazebo_ros_control", foreign_control_transmissions, NULL},
	{"gazebo_ros_force", NULL,
		": publish gz.msgs.EntityWrench on /world/WORLD/wrench/persistent, with the name of the link "
		"(MODEL::LINK)"},
	{"gazebo_ros_tricycle_drive", NULL,
		": write <plugin filename=\"gz-sim-joint-controller-system\" "
		"name=\"gz::sim::systems::JointController\">"
		"<joint_name>DRIVEN WHEEL</joint_name></plugin> and the same with JointPositionController for the "
		"joint that steers"},
	{"gazebo_ros_vacuum_gripper", NULL,
		": write <plugin filename=\"gz-sim-detachable-joint-system\" "
		"name=\"gz::sim::systems::DetachableJoint\"> with <parent_link>, <child_model> and <child_link>"},
	{"gazebo_ros_hand_of_god", NULL, ": command the pose with the service /world/WORLD/set_pose"},
	{"gazebo_ros_harness", NULL,
		": write <plugin filename=\"gz-sim-detachable-joint-system\" "
		"name=\"gz::sim::systems::DetachableJoint\"> with <parent_link>, <child_model> and <child_link>"},
	{"gazebo_ros_state", NULL,
		": ask the service get_entities_states of simulation_interfaces, see src/doc/reference/ros2.md"},
	{"gazebo_ros_properties", NULL, ": ask the services of simulation_interfaces, see src/doc/reference/ros2.md"},
	{"gazebo_ros_force_system", NULL, ": publish gz.msgs.EntityWrench on /world/WORLD/wrench/persistent"},
};

/* Plug-ins of a world whose work --ros2 does: the clock, the creation and removal of models. */
static const char *const foreign_inherent[] = {
	"gazebo_ros_init", "gazebo_ros_factory", "gazebo_ros_api_plugin", "gazebo_ros_paths_plugin"};

bool foreign_is_file(const char *filename, const char *file)
{
	const char *slash = strrchr(filename, '/'), *name = slash ? slash + 1 : filename;
	size_t length = strlen(file);
	name += !strncmp(name, "lib", 3) ? 3 : 0;
	return !strncmp(name, file, length) && (!name[length] || !strcmp(name + length, ".so"));
}

static const struct foreign_kind *foreign_kind_of(const struct sdf_element *plugin)
{
	const char *filename = sdf_attribute(plugin, "filename");
	for (size_t i = 0; filename && i < ARRAY_LEN(foreign_kinds); i++)
		if (foreign_is_file(filename, foreign_kinds[i].file))
			return &foreign_kinds[i];
	return NULL;
}

const char *sdf_plugin_advice(const struct sdf_element *plugin)
{
	const struct foreign_kind *kind = foreign_kind_of(plugin);
	return kind && kind->advice ? kind->advice : "";
}

/* --- parameters --------------------------------------------------------------------------------------------------- */

/* Whether the name is the word, apart from underscores and the case of letters. */
static bool foreign_is_word(const char *name, const char *word, size_t length)
{
	const char *end = word + length;
	for (;; name++, word++) {
		name += strspn(name, "_");
		while (word < end && *word == '_')
			word++;
		if (word == end || !*name)
			return word == end && !*name;
		if (tolower((unsigned char)*name) != tolower((unsigned char)*word))
			return false;
	}
}

static bool foreign_is_named(const char *name, const char *names)
{
	for (const char *at = names; *at; at += strspn(at, " ")) {
		size_t length = strcspn(at, " ");
		if (foreign_is_word(name, at, length))
			return true;
		at += length;
	}
	return false;
}

const struct sdf_element *foreign_child(struct foreign *foreign, const char *names, const struct sdf_element *after)
{
	const struct sdf_element *child = after ? after->next : foreign->plugin->child;
	if (!after)
		vec_push(&foreign->asked, names);
	while (child && !foreign_is_named(child->name, names))
		child = child->next;
	return child;
}

const char *foreign_text(struct foreign *foreign, const char *names, const char *otherwise)
{
	const struct sdf_element *child = foreign_child(foreign, names, NULL);
	return child && *child->text ? child->text : otherwise;
}

bool foreign_flag(struct foreign *foreign, const char *names, bool otherwise)
{
	const char *text = foreign_text(foreign, names, NULL);
	bool value = false;
	if (!text)
		return otherwise;
	return parse_bool(text, &value) && value; /* as Gazebo reads other words */
}

double foreign_number(struct foreign *foreign, const char *names, double lo, double hi, double otherwise)
{
	const struct sdf_element *child = foreign_child(foreign, names, NULL);
	double value;
	if (!child || !*child->text)
		return otherwise;
	if (parse_double(child->text, &value) && value >= lo && value <= hi)
		return value;
	load_error(foreign->load, child, "<%.40s> is \"%.80s\": expected a number from %g to %g", child->name,
		child->text, lo, hi);
	return otherwise;
}

void foreign_skip(struct foreign *foreign, const char *names)
{
	vec_push(&foreign->asked, names);
}

static bool foreign_says_something(const struct sdf_element *child)
{
	double number;
	bool flag;
	if (!child->child && !*child->text)
		return false;
	return !(parse_double(child->text, &number) && number == 0) && !(parse_bool(child->text, &flag) && !flag);
}

static bool foreign_was_asked(const struct foreign *foreign, const struct sdf_element *child)
{
	for (uint32_t i = 0; i < foreign->asked.count; i++)
		if (foreign_is_named(child->name, foreign->asked.at[i]))
			return true;
	return false;
}

void foreign_warn_of_rest(struct foreign *foreign)
{
	struct text names = {0};
	uint32_t count = 0;
	for (const struct sdf_element *at = foreign->plugin->child; at; at = at->next)
		if (!foreign_was_asked(foreign, at) && foreign_says_something(at) && count++ < FOREIGN_NAMES_MAX)
			text_add(&names, "%s<%.40s>", count > 1 ? ", " : "", at->name);
	if (count)
		load_warn(foreign->load, foreign->plugin, "plugin \"%.80s\": %s%s %s no effect here",
			sdf_attribute(foreign->plugin, "filename"), names.at,
			count > FOREIGN_NAMES_MAX ? " and more" : "", count > 1 ? "have" : "has");
	text_fini(&names);
}

/* --- what is made ------------------------------------------------------------------------------------------------- */

struct load_builder foreign_new(
	struct foreign *foreign, const struct sdf_element *at, const char *name, const char *text)
{
	const struct sdf_element bare = {.name = name, .text = text, .file = at->file, .line = at->line};
	return load_build(foreign->load, &bare);
}

struct load_builder foreign_begin(struct foreign *foreign, const char *filename, const char *system)
{
	struct load_builder made = foreign_new(foreign, foreign->plugin, "plugin", "");
	load_build_attribute(foreign->load, &made, "filename", filename);
	load_build_attribute(
		foreign->load, &made, "name", arena_printf(&foreign->load->sdf->arena, "gz::sim::systems::%s", system));
	return made;
}

void foreign_finish(struct foreign *foreign, struct load_builder *system)
{
	vec_push(&foreign->made, system->element);
}

void foreign_add(struct foreign *foreign, struct load_builder *to, const struct sdf_element *at, const char *name,
	const char *text)
{
	load_build_add(foreign->load, to, foreign_new(foreign, at ? at : foreign->plugin, name, text).element);
}

static const char *foreign_print_number(struct foreign *foreign, double value)
{
	struct text text = {0};
	text_add_double(&text, value);
	const char *kept = arena_strdup(&foreign->load->sdf->arena, text.at);
	text_fini(&text);
	return kept;
}

void foreign_add_number(
	struct foreign *foreign, struct load_builder *to, const struct sdf_element *at, const char *name, double value)
{
	foreign_add(foreign, to, at, name, foreign_print_number(foreign, value));
}

void foreign_copy(
	struct foreign *foreign, struct load_builder *to, const char *names, const char *to_name, const char *otherwise)
{
	const struct sdf_element *at = foreign_child(foreign, names, NULL);
	if (!at && otherwise)
		foreign_add(foreign, to, NULL, to_name, otherwise);
	for (; at; at = foreign_child(foreign, names, at))
		foreign_add(foreign, to, at, to_name, at->text);
}

void foreign_change(
	struct foreign *foreign, const char *kind, const char *name, const char *path, const struct sdf_element *set)
{
	uint32_t index = foreign->changes.count, first;
	if (index == FOREIGN_CHANGES_MAX) {
		if (foreign->load->status != TROUPE_ELIMIT)
			load_limit(foreign->load, set, "plug-ins change too many parts of a model: expected at most %d",
				FOREIGN_CHANGES_MAX);
		return;
	}
	vec_push(&foreign->changes, (struct foreign_change){kind, name, path, set, SDF_NONE, index});
	if (map_add(&foreign->changed, name, index))
		return;
	(void)map_find(&foreign->changed, name, &first);
	foreign->changes.at[foreign->changes.at[first].last].next = index;
	foreign->changes.at[first].last = index;
}

void foreign_limit_effort(struct foreign *foreign, const struct sdf_element *joint_name, double effort)
{
	struct load_builder limit = foreign_new(foreign, joint_name, "effort", foreign_print_number(foreign, effort));
	foreign_change(foreign, "joint", joint_name->text, "axis/limit/effort", limit.element);
}

/* --- the model ---------------------------------------------------------------------------------------------------- */

static const struct sdf_element *foreign_find(const struct foreign *foreign, const struct map *names, const char *name)
{
	uint32_t index;
	return map_find(names, name, &index) ? foreign->parts.at[index] : NULL;
}

const struct sdf_element *foreign_link(const struct foreign *foreign, const char *name)
{
	return foreign_find(foreign, &foreign->links, name);
}

const struct sdf_element *foreign_joint(const struct foreign *foreign, const char *name)
{
	return foreign_find(foreign, &foreign->joints, name);
}

bool foreign_pose(struct foreign *foreign, const char *name, struct pose *ret_pose)
{
	if (foreign->poses == FOREIGN_POSES_MAX) {
		if (foreign->load->status != TROUPE_ELIMIT)
			load_limit(foreign->load, foreign->plugin, "plug-ins need too many poses: expected at most %d",
				FOREIGN_POSES_MAX);
		return false;
	}
	foreign->poses++;
	return load_pose_inside(foreign->load, foreign->model, name, ret_pose);
}

const char *foreign_velocity_limit(const struct foreign *foreign, const char *joint)
{
	const struct sdf_element *axis = sdf_child(foreign_joint(foreign, joint), "axis", NULL);
	const char *text = sdf_child_text(sdf_child(axis, "limit", NULL), "velocity");
	double value;
	return text && parse_double(text, &value) && value > 0 && value < 1e9 ? text : NULL;
}

const struct sdf_element *foreign_set(
	struct foreign *foreign, const struct sdf_element *element, const char *path, const struct sdf_element *set)
{
	struct load_builder copy = load_build(foreign->load, element);
	size_t length = strcspn(path, "/");
	const char *rest = path[length] ? path + length + 1 : NULL;
	bool found = false;
	for (const struct sdf_element *at = element->child; at; at = at->next) {
		bool here = !found && !strncmp(at->name, path, length) && !at->name[length];
		found |= here;
		load_build_add(foreign->load, &copy, !here ? at : rest ? foreign_set(foreign, at, rest, set) : set);
	}
	if (found)
		return copy.element;
	if (rest)
		set = foreign_set(foreign,
			foreign_new(
				foreign, set, arena_printf(&foreign->load->sdf->arena, "%.*s", (int)length, path), "")
				.element,
			rest, set);
	load_build_add(foreign->load, &copy, set);
	return copy.element;
}

static const struct sdf_element *foreign_add_part(
	struct foreign *foreign, const struct sdf_element *element, const struct sdf_element *part)
{
	struct load_builder copy = load_build(foreign->load, element);
	for (const struct sdf_element *at = element->child; at; at = at->next)
		load_build_add(foreign->load, &copy, at);
	load_build_add(foreign->load, &copy, part);
	return copy.element;
}

static const struct sdf_element *foreign_changed(struct foreign *foreign, const struct sdf_element *element)
{
	const char *name = sdf_attribute(element, "name");
	uint32_t first;
	if (!name || !map_find(&foreign->changed, name, &first))
		return element;
	for (uint32_t i = first; i != SDF_NONE; i = foreign->changes.at[i].next) {
		const struct foreign_change *change = &foreign->changes.at[i];
		if (xml_is(element, change->kind))
			element = change->path ? foreign_set(foreign, element, change->path, change->set)
					       : foreign_add_part(foreign, element, change->set);
	}
	return element;
}

/* --- names of ROS ------------------------------------------------------------------------------------------------- */

/* Without slashes at its ends; "": none. */
static const char *foreign_space(struct foreign *foreign)
{
	const struct sdf_element *ros = sdf_child(foreign->plugin, "ros", NULL);
	const char *text = sdf_child_text(ros, "namespace");
	text = text && *text ? text : foreign_text(foreign, "robot_namespace", "");
	text += strspn(text, "/");
	size_t length = strlen(text);
	while (length && text[length - 1] == '/')
		length--;
	return arena_printf(&foreign->load->sdf->arena, "%.*s", (int)length, text);
}

/* The name from the root of all names, for comparisons. */
static const char *foreign_whole_name(struct foreign *foreign, const char *name)
{
	struct arena *arena = &foreign->load->sdf->arena;
	const char *space = foreign_space(foreign), *node = sdf_attribute(foreign->plugin, "name");
	const char *slash = node ? strrchr(node, '/') : NULL;
	node = slash ? slash + 1 : node ? node : "";
	if (*name == '/')
		return name;
	if (!strncmp(name, "~/", 2))
		name = arena_printf(arena, "%s/%s", node, name + 2);
	return *space ? arena_printf(arena, "/%s/%s", space, name) : arena_printf(arena, "/%s", name);
}

/* What the <remapping>s "FROM:=TO" of the plug-in make of the name. */
static const char *foreign_remapped(struct foreign *foreign, const char *name)
{
	struct arena *arena = &foreign->load->sdf->arena;
	const struct sdf_element *ros = foreign_child(foreign, "ros", NULL), *at = NULL;
	const char *whole = foreign_whole_name(foreign, name);
	while ((at = sdf_child(ros, "remapping", at)) != NULL) {
		const char *sign = strstr(at->text, ":=");
		if (!sign || !sign[2])
			continue;
		const char *from = arena_printf(arena, "%.*s", (int)(sign - at->text), at->text);
		if (!strcmp(foreign_whole_name(foreign, from), whole))
			return sign + 2;
	}
	return name;
}

bool foreign_is_remapped(struct foreign *foreign, const char *name)
{
	return foreign_remapped(foreign, name) != name; /* otherwise the same pointer comes back */
}

const char *foreign_topic(struct foreign *foreign, const char *name)
{
	struct arena *arena = &foreign->load->sdf->arena;
	const char *space = foreign_space(foreign), *given = foreign_remapped(foreign, name);
	const char *whole = foreign_whole_name(foreign, given);
	size_t length = strlen(foreign->name);
	bool in_model = length && !strncmp(whole + 1, foreign->name, length) && whole[1 + length] == '/';
	if (!in_model && (*given == '/' || *space))
		return whole;
	const char *rest = in_model ? whole + length + 2 : whole + 1;
	return arena_printf(arena, "/model/%s/%s", foreign->name, strcmp(rest, "odom") ? rest : "odometry");
}

void foreign_add_topic(
	struct foreign *foreign, struct load_builder *to, const char *parameter, const char *name, const char *usual)
{
	const char *topic = foreign_topic(foreign, name);
	if (strcmp(topic, arena_printf(&foreign->load->sdf->arena, "/model/%s/%s", foreign->name, usual)) != 0)
		foreign_add(foreign, to, NULL, parameter, topic);
}

/* --- models and worlds -------------------------------------------------------------------------------------------- */

/* ROS 1 writes <wheelSeparation>, ROS 2 <wheel_separation>. */
static bool foreign_is_camel(const struct sdf_element *plugin)
{
	for (const struct sdf_element *at = plugin->child; at; at = at->next)
		for (const char *c = at->name; *c; c++)
			if (isupper((unsigned char)*c))
				return true;
	return false;
}

void foreign_look_at(struct foreign *foreign, const struct sdf_element *plugin)
{
	foreign->plugin = plugin;
	foreign->camel = foreign_is_camel(plugin);
	foreign->asked.count = 0;
	foreign_skip(foreign, "ros robot_namespace always_on ros_debug_level ros_debug");
}

static bool foreign_has_sensors(const struct sdf_element *part)
{
	for (const struct sdf_element *at = sdf_child(part, "sensor", NULL); at; at = sdf_child(part, "sensor", at))
		if (sdf_child(at, "plugin", NULL))
			return true;
	return false;
}

static bool foreign_is_part(const struct sdf_element *element)
{
	return xml_is(element, "link") || xml_is(element, "joint");
}

/* Elements that urdf.c passes on for the plug-ins of ros2_control and of its forerunner. */
static bool foreign_is_control(const struct sdf_element *element)
{
	return xml_is(element, "ros2_control") || xml_is(element, "transmission");
}

static bool foreign_wants(const struct sdf_element *element)
{
	if (xml_is(element, "plugin")) {
		const struct foreign_kind *kind = foreign_kind_of(element);
		return kind && kind->translate;
	}
	return foreign_is_control(element) || (foreign_is_part(element) && foreign_has_sensors(element));
}

/* A link or joint whose sensors have the topics and frames of their plug-ins. */
static const struct sdf_element *foreign_part(struct foreign *foreign, const struct sdf_element *part)
{
	const char *name = sdf_attribute(part, "name");
	if (!foreign_has_sensors(part))
		return part;
	struct load_builder copy = load_build(foreign->load, part);
	for (const struct sdf_element *at = part->child; at; at = at->next)
		load_build_add(foreign->load, &copy,
			xml_is(at, "sensor") ? foreign_sensor(foreign, at, xml_is(part, "link") ? name : NULL) : at);
	return copy.element;
}

/* Builds the model. firsts: for each child that is a plug-in that was translated, the first of what was made of it. */
static const struct sdf_element *foreign_build(struct foreign *foreign, const uint32_t *firsts)
{
	struct load_builder copy = load_build(foreign->load, foreign->model);
	uint32_t plugin = 0;
	for (const struct sdf_element *at = foreign->model->child; at; at = at->next) {
		if (foreign_is_part(at)) {
			load_build_add(foreign->load, &copy, foreign_part(foreign, foreign_changed(foreign, at)));
		} else if (!foreign_wants(at)) {
			load_build_add(foreign->load, &copy, at);
		} else if (xml_is(at, "plugin")) {
			for (uint32_t i = firsts[plugin]; i < firsts[plugin + 1]; i++)
				load_build_add(foreign->load, &copy, foreign->made.at[i]);
			plugin++;
		}
	}
	return copy.element;
}

static void foreign_list_parts(struct foreign *foreign)
{
	for (const struct sdf_element *at = foreign->model->child; at; at = at->next) {
		const char *name = foreign_is_part(at) ? sdf_attribute(at, "name") : NULL;
		if (name &&
			map_add(xml_is(at, "link") ? &foreign->links : &foreign->joints, name, foreign->parts.count))
			vec_push(&foreign->parts, at);
	}
}

static void foreign_warn_of_missing(struct load *load, const struct sdf_element *model)
{
	const struct sdf_element *control = sdf_child(model, "ros2_control", NULL);
	if (!control)
		control = sdf_child(model, "transmission", NULL);
	if (control)
		load_warn(load, control,
			"<%s> has no effect, because no plug-in of the robot reads it: expected <gazebo><plugin "
			"filename=\"%s\" name=\"%s\"/></gazebo>",
			control->name,
			xml_is(control, "ros2_control") ? "gz_ros2_control-system" : "libgazebo_ros_control.so",
			xml_is(control, "ros2_control") ? "gz_ros2_control::GazeboSimROS2ControlPlugin"
							: "gazebo_ros_control");
}

const struct sdf_element *foreign_model(struct load *load, const struct sdf_element *model)
{
	const char *name = sdf_attribute(model, "name");
	struct foreign foreign = {.load = load, .model = model, .name = name ? name : ""};
	bool wants = false, controls = false;
	VEC(uint32_t) firsts = {0};
	for (const struct sdf_element *at = model->child; at && !wants; at = at->next)
		wants = foreign_wants(at);
	if (!wants)
		return model;
	foreign_list_parts(&foreign);
	for (const struct sdf_element *at = model->child; at; at = at->next) {
		const struct foreign_kind *kind = xml_is(at, "plugin") ? foreign_kind_of(at) : NULL;
		if (!kind || !kind->translate)
			continue;
		vec_push(&firsts, foreign.made.count);
		foreign_look_at(&foreign, at);
		kind->translate(&foreign);
		foreign_warn_of_rest(&foreign);
		controls |=
			kind->translate == foreign_control_joints || kind->translate == foreign_control_transmissions;
	}
	vec_push(&firsts, foreign.made.count);
	if (!controls)
		foreign_warn_of_missing(load, model);
	const struct sdf_element *built = foreign_build(&foreign, firsts.at);
	vec_free(&firsts);
	vec_free(&foreign.changes);
	vec_free(&foreign.made);
	vec_free(&foreign.asked);
	vec_free(&foreign.parts);
	map_fini(&foreign.links);
	map_fini(&foreign.joints);
	map_fini(&foreign.changed);
	return built;
}

static bool foreign_is_inherent(const struct sdf_element *element)
{
	const char *filename = xml_is(element, "plugin") ? sdf_attribute(element, "filename") : NULL;
	for (size_t i = 0; filename && i < ARRAY_LEN(foreign_inherent); i++)
		if (foreign_is_file(filename, foreign_inherent[i]))
			return true;
	return false;
}

const struct sdf_element *foreign_world(struct load *load, const struct sdf_element *world)
{
	bool found = false;
	for (const struct sdf_element *at = world->child; at && !found; at = at->next)
		found = foreign_is_inherent(at);
	if (!found)
		return world;
	struct load_builder copy = load_build(load, world);
	for (const struct sdf_element *at = world->child; at; at = at->next)
		if (!foreign_is_inherent(at))
			load_build_add(load, &copy, at);
	return copy.element;
}
