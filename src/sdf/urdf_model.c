/* The names and the order of the parts are those of libsdformat, because plug-ins, sensors and commands of users'
 * robots use them: LINK_collision, LINK_collision_1 ...; parts of a lumped link BODY_fixed_joint_lump__LINK_collision
 * (urdf_model_name_of_part() has the exact rule); the joint and the link that are lumped stay as frames. */
#include "base/parse.h"
#include "sdf/urdf_internal.h"

#include <string.h>

static void urdf_model_add_pose(struct urdf *urdf, struct load_builder *to, struct pose pose, const char *relative_to)
{
	struct load_builder built = {.element = load_build_pose(urdf->load, to->element, pose)};
	if (relative_to)
		load_build_attribute(urdf->load, &built, "relative_to", relative_to);
	if (relative_to || !pose_is_identity(pose))
		urdf_add(urdf, to, built);
}

/* --- shapes --------------------------------------------------------------------------------------------------------
 */

static void urdf_model_add_attribute(struct urdf *urdf, struct load_builder *to, const struct sdf_element *from,
	const char *attribute, const char *name)
{
	const char *text = sdf_attribute(from, attribute);
	if (text)
		urdf_add_text(urdf, to, name, text);
	else
		load_error(urdf->load, from, "<%.40s> has no %s: expected one", from->name, attribute);
}

/* package:// and model:// are looked up in the same folders; a scene of Gazebo names only the second one. */
static void urdf_model_add_mesh(struct urdf *urdf, struct load_builder *to, const struct sdf_element *mesh)
{
	urdf_model_add_attribute(urdf, to, mesh, "filename", "uri");
	if (sdf_attribute(mesh, "scale"))
		urdf_model_add_attribute(urdf, to, mesh, "scale", "scale");
}

static bool urdf_model_add_geometry(struct urdf *urdf, struct load_builder *to, const struct sdf_element *part)
{
	const struct sdf_element *geometry = sdf_child(part, "geometry", NULL);
	const struct sdf_element *shape = geometry ? geometry->child : NULL;
	if (!shape) {
		load_error(urdf->load, geometry ? geometry : part,
			"<%.40s> has no shape: expected <geometry> with box, "
			"cylinder, sphere, capsule or mesh",
			part->name);
		return false;
	}
	struct load_builder outer = urdf_new(urdf, geometry, "geometry", "");
	struct load_builder inner = urdf_new(urdf, shape, shape->name, "");
	if (xml_is(shape, "box")) {
		urdf_model_add_attribute(urdf, &inner, shape, "size", "size");
	} else if (xml_is(shape, "sphere")) {
		urdf_model_add_attribute(urdf, &inner, shape, "radius", "radius");
	} else if (xml_is(shape, "cylinder") || xml_is(shape, "capsule")) {
		urdf_model_add_attribute(urdf, &inner, shape, "radius", "radius");
		urdf_model_add_attribute(urdf, &inner, shape, "length", "length");
	} else if (xml_is(shape, "mesh")) {
		urdf_model_add_mesh(urdf, &inner, shape);
	} else {
		load_error(urdf->load, shape, "the shape is <%.40s>: expected box, cylinder, sphere, capsule or mesh",
			shape->name);
		return false;
	}
	urdf_add(urdf, &outer, inner);
	urdf_add(urdf, to, outer);
	return true;
}

/* Viewers of URDF show a colour unshaded, and Gazebo's light leaves 0.8 of a colour. So libsdformat divides by 0.8. */
static const char *urdf_model_brighter(struct urdf *urdf, const char *rgba)
{
	double c[4];
	if (parse_doubles(rgba, c, 4) != 4)
		return rgba;
	struct text text = {0};
	for (int i = 0; i < 4; i++) {
		text_add(&text, i ? " " : "");
		text_add_double(&text, i == 3 ? c[i] : fmin(c[i] / 0.8, 1));
	}
	const char *out = arena_strdup(&urdf->load->sdf->arena, text.at);
	text_fini(&text);
	return out;
}

/* A <material> has a colour, or only a name. The first definition of a name in the file counts, those at the top before
 * those in links, also where a <material> with this name has another colour: so it is in ROS. */
static void urdf_model_add_material(struct urdf *urdf, struct load_builder *to, const struct sdf_element *visual)
{
	const struct sdf_element *material = sdf_child(visual, "material", NULL);
	const struct sdf_element *colour = sdf_child(material, "color", NULL);
	const char *name = material ? sdf_attribute(material, "name") : NULL;
	uint32_t index;
	if (name && *name && map_find(&urdf->materials, name, &index)) {
		material = urdf->material_elements.at[index];
		colour = sdf_child(material, "color", NULL);
	}
	const struct sdf_element *texture = sdf_child(material, "texture", NULL);
	if (texture)
		load_warn_once(urdf->load, "urdf texture", texture, "<texture> of <material> has no effect here");
	const char *rgba = colour ? sdf_attribute(colour, "rgba") : NULL;
	if (!rgba || sdf_child(to->element, "material", NULL))
		return;
	struct load_builder look = urdf_new(urdf, material, "material", "");
	const char *shown = urdf_model_brighter(urdf, rgba);
	urdf_add_text(urdf, &look, "ambient", shown);
	urdf_add_text(urdf, &look, "diffuse", shown);
	urdf_add(urdf, to, look);
}

/* A shape with a name has this name instead of its link's. The prefix of the body is left out where the name begins
 * with the name of the body, so the shapes of "base_plate" have none in the body "base": libsdformat takes such a name
 * for the body's own. */
static const char *urdf_model_name_of_part(
	struct urdf *urdf, const struct urdf_link *link, const struct sdf_element *part, uint32_t number)
{
	struct arena *arena = &urdf->load->sdf->arena;
	const char *body = urdf->links.at[link->body].name;
	const char *given = sdf_attribute(part, "name");
	const char *stem = given && *given ? given : link->name;
	const char *prefix =
		strncmp(stem, body, strlen(body)) ? arena_printf(arena, "%s_fixed_joint_lump__", body) : "";
	return number ? arena_printf(arena, "%s%s_%s_%u", prefix, stem, part->name, number)
		      : arena_printf(arena, "%s%s_%s", prefix, stem, part->name);
}

/* Adds the collisions or visuals of one URDF link to its body. *number: of those of the body so far. */
static void urdf_model_add_parts(
	struct urdf *urdf, const struct urdf_link *link, const char *kind, uint32_t *number, struct load_builder *to)
{
	bool is_visual = !strcmp(kind, "visual");
	for (const struct sdf_element *at = sdf_child(link->element, kind, NULL); at;
		at = sdf_child(link->element, kind, at), ++*number) {
		struct load_builder part = urdf_new(urdf, at, kind, "");
		load_build_attribute(urdf->load, &part, "name", urdf_model_name_of_part(urdf, link, at, *number));
		urdf_model_add_pose(urdf, &part, pose_mul(link->in_body, urdf_origin(urdf, at)), NULL);
		if (!urdf_model_add_geometry(urdf, &part, at))
			continue;
		if (is_visual)
			urdf_gazebo_visual(urdf, link, &part);
		else
			urdf_gazebo_collision(urdf, link, &part);
		if (is_visual)
			urdf_model_add_material(urdf, &part, at);
		urdf_add(urdf, to, part);
	}
}

/* --- links ---------------------------------------------------------------------------------------------------------
 */

static const struct sdf_element *urdf_model_inertial_of(const struct urdf_link *link)
{
	const struct sdf_element *inertial = sdf_child(link->element, "inertial", NULL);
	return inertial ? inertial : link->element;
}

static void urdf_model_add_inertial(struct urdf *urdf, const struct urdf_link *body, struct load_builder *to)
{
	static const char *const names[] = {"ixx", "ixy", "ixz", "iyy", "iyz", "izz"};
	const struct sdf_element *from = urdf_model_inertial_of(body);
	struct load_builder inertial = urdf_new(urdf, from, "inertial", "");
	struct load_builder inertia = urdf_new(urdf, from, "inertia", "");
	urdf_model_add_pose(urdf, &inertial, (struct pose){body->mass.centre, POSE_IDENTITY.q}, NULL);
	urdf_add_number(urdf, &inertial, "mass", body->mass.mass);
	for (int i = 0, at = 0; i < 3; i++)
		for (int k = i; k < 3; k++)
			urdf_add_number(urdf, &inertia, names[at++], body->mass.moments.m[i][k]);
	urdf_add(urdf, &inertial, inertia);
	urdf_add(urdf, to, inertial);
}

static void urdf_model_add_link(struct urdf *urdf, uint32_t index, struct load_builder *model)
{
	const struct urdf_link *body = &urdf->links.at[index];
	struct load_builder link = urdf_new(urdf, body->element, "link", "");
	uint32_t collisions = 0, visuals = 0;
	load_build_attribute(urdf->load, &link, "name", body->name);
	if (body->joint != SDF_NONE) {
		const struct urdf_joint *joint = &urdf->joints.at[body->joint];
		const struct urdf_link *parent = &urdf->links.at[joint->parent];
		bool to_joint = joint->kind != URDF_FLOATING && joint->kind != URDF_PLANAR;
		const char *around = strcmp(parent->name, "world") ? urdf->links.at[parent->body].name : "__model__";
		urdf_model_add_pose(urdf, &link, to_joint ? POSE_IDENTITY : pose_mul(parent->in_body, joint->origin),
			to_joint ? joint->name : around);
	}
	urdf_model_add_inertial(urdf, body, &link);
	for (uint32_t i = index; i != SDF_NONE; i = urdf->links.at[i].next)
		urdf_model_add_parts(urdf, &urdf->links.at[i], "collision", &collisions, &link);
	for (uint32_t i = index; i != SDF_NONE; i = urdf->links.at[i].next)
		urdf_model_add_parts(urdf, &urdf->links.at[i], "visual", &visuals, &link);
	urdf_gazebo_link(urdf, index, &link);
	urdf_add(urdf, model, link);
}

static void urdf_model_add_frame(struct urdf *urdf, const struct urdf_link *link, const struct sdf_element *from,
	const char *name, struct load_builder *model)
{
	struct load_builder frame = urdf_new(urdf, from, "frame", "");
	load_build_attribute(urdf->load, &frame, "name", name);
	load_build_attribute(urdf->load, &frame, "attached_to", urdf->links.at[link->body].name);
	urdf_model_add_pose(urdf, &frame, link->in_body, NULL);
	urdf_add(urdf, model, frame);
}

/* Whether the SDF has a joint of this name. */
static bool urdf_model_has_joint(const struct urdf *urdf, const char *name)
{
	uint32_t index;
	if (!map_find(&urdf->joint_names, name, &index))
		return false;
	const struct urdf_joint *joint = &urdf->joints.at[index];
	return !joint->lumped && joint->kind != URDF_FLOATING && joint->kind != URDF_PLANAR &&
	       !urdf->links.at[joint->child].left_out;
}

/* The names of a lumped joint and link go on as frames. In URDF a joint may have the name of a link, in SDF not: the
 * name is then that of the link, unless the link is lumped and the joint is not. */
static void urdf_model_add_frames(struct urdf *urdf, const struct urdf_link *link, struct load_builder *model)
{
	const struct urdf_joint *joint = &urdf->joints.at[link->joint];
	uint32_t index;
	if (!map_find(&urdf->link_names, joint->name, &index))
		urdf_model_add_frame(urdf, link, joint->element, joint->name, model);
	if (!urdf_model_has_joint(urdf, link->name))
		urdf_model_add_frame(urdf, link, link->element, link->name, model);
	const struct sdf_element *sensor = urdf_gazebo_child(urdf, joint->name, "sensor");
	if (sensor)
		load_warn(urdf->load, sensor,
			"<sensor> of the joint \"%.80s\" is left out, because the joint is lumped: expected "
			"<preserveFixedJoint>true</preserveFixedJoint> beside it",
			joint->name);
}

/* --- joints --------------------------------------------------------------------------------------------------------
 */

static void urdf_model_add_limit(struct urdf *urdf, const struct urdf_joint *joint, struct load_builder *axis)
{
	const struct sdf_element *from = sdf_child(joint->element, "limit", NULL);
	struct load_builder limit = urdf_new(urdf, from ? from : joint->element, "limit", "");
	double lower = 0, upper = 0, effort = -1, velocity = -1;
	bool endless = joint->kind == URDF_CONTINUOUS;
	urdf_number(urdf, from, "lower", -1e16, 1e16, &lower);
	urdf_number(urdf, from, "upper", -1e16, 1e16, &upper);
	urdf_number(urdf, from, "effort", 0, INFINITY, &effort);
	urdf_number(urdf, from, "velocity", 0, INFINITY, &velocity);
	if (lower > upper && !endless) {
		double swapped = lower;
		lower = upper;
		upper = swapped;
		load_warn(urdf->load, from, "lower of <limit> is above its upper: the two are exchanged");
	}
	urdf_add_number(urdf, &limit, "lower", endless ? -1e16 : lower);
	urdf_add_number(urdf, &limit, "upper", endless ? 1e16 : upper);
	if (effort >= 0)
		urdf_add_number(urdf, &limit, "effort", effort);
	if (velocity >= 0)
		urdf_add_number(urdf, &limit, "velocity", velocity);
	urdf_add(urdf, axis, limit);
}

static void urdf_model_add_dynamics(struct urdf *urdf, const struct urdf_joint *joint, struct load_builder *axis)
{
	const struct sdf_element *from = sdf_child(joint->element, "dynamics", NULL);
	const struct sdf_element *rest = urdf_gazebo_child(urdf, joint->name, "springReference");
	const struct sdf_element *spring = urdf_gazebo_child(urdf, joint->name, "springStiffness");
	double damping = 0, friction = 0;
	if (!from && !rest && !spring)
		return;
	struct load_builder dynamics = urdf_new(urdf, from ? from : joint->element, "dynamics", "");
	urdf_number(urdf, from, "damping", 0, 1e16, &damping);
	urdf_number(urdf, from, "friction", 0, 1e16, &friction);
	urdf_add_number(urdf, &dynamics, "damping", damping);
	urdf_add_number(urdf, &dynamics, "friction", friction);
	if (rest)
		urdf_add(urdf, &dynamics, urdf_new(urdf, rest, "spring_reference", rest->text));
	if (spring)
		urdf_add(urdf, &dynamics, urdf_new(urdf, spring, "spring_stiffness", spring->text));
	urdf_add(urdf, axis, dynamics);
}

static void urdf_model_add_mimic(struct urdf *urdf, const struct urdf_joint *joint, struct load_builder *axis)
{
	const struct sdf_element *from = sdf_child(joint->element, "mimic", NULL);
	const char *leader = from ? sdf_attribute(from, "joint") : NULL;
	double multiplier = 1, offset = 0;
	uint32_t index;
	if (!from)
		return;
	if (!leader || !map_find(&urdf->joint_names, leader, &index) || !strcmp(leader, joint->name)) {
		load_error(urdf->load, from, "<mimic> names the joint \"%.80s\": expected another joint of this robot",
			leader ? leader : "");
		return;
	}
	urdf_number(urdf, from, "multiplier", -1e9, 1e9, &multiplier);
	urdf_number(urdf, from, "offset", -1e9, 1e9, &offset);
	struct load_builder mimic = urdf_new(urdf, from, "mimic", "");
	load_build_attribute(urdf->load, &mimic, "joint", leader);
	urdf_add_number(urdf, &mimic, "multiplier", multiplier);
	urdf_add_number(urdf, &mimic, "offset", offset);
	urdf_add_number(urdf, &mimic, "reference", 0);
	urdf_add(urdf, axis, mimic);
}

static void urdf_model_add_axis(struct urdf *urdf, const struct urdf_joint *joint, struct load_builder *to)
{
	const struct sdf_element *from = sdf_child(joint->element, "axis", NULL);
	struct load_builder axis = urdf_new(urdf, from ? from : joint->element, "axis", "");
	const char *xyz = from ? sdf_attribute(from, "xyz") : NULL;
	urdf_add_text(urdf, &axis, "xyz", xyz ? xyz : "1 0 0");
	urdf_model_add_limit(urdf, joint, &axis);
	urdf_model_add_dynamics(urdf, joint, &axis);
	urdf_model_add_mimic(urdf, joint, &axis);
	urdf_add(urdf, to, axis);
}

static void urdf_model_add_joint(struct urdf *urdf, const struct urdf_joint *joint, struct load_builder *model)
{
	const struct urdf_link *parent = &urdf->links.at[joint->parent];
	bool in_world = !strcmp(parent->name, "world");
	const char *body = in_world ? "world" : urdf->links.at[parent->body].name;
	if (joint->kind == URDF_FLOATING || joint->kind == URDF_PLANAR) {
		load_warn(urdf->load, joint->element,
			"the joint \"%.80s\" is %s and is left out: its links move freely", joint->name,
			joint->kind == URDF_FLOATING ? "floating" : "planar");
		return;
	}
	struct load_builder built = urdf_new(urdf, joint->element, "joint", "");
	load_build_attribute(urdf->load, &built, "name", joint->name);
	load_build_attribute(urdf->load, &built, "type",
		joint->kind == URDF_FIXED       ? "fixed"
		: joint->kind == URDF_PRISMATIC ? "prismatic"
						: "revolute");
	urdf_model_add_pose(urdf, &built, pose_mul(parent->in_body, joint->origin), in_world ? "__model__" : body);
	urdf_add_text(urdf, &built, "parent", body);
	urdf_add_text(urdf, &built, "child", urdf->links.at[joint->child].name);
	if (joint->kind != URDF_FIXED)
		urdf_model_add_axis(urdf, joint, &built);
	urdf_gazebo_joint(urdf, joint, &built);
	urdf_add(urdf, model, built);
}

/* --- all -----------------------------------------------------------------------------------------------------------
 */

static bool urdf_model_is_body(const struct urdf *urdf, uint32_t index)
{
	const struct urdf_link *link = &urdf->links.at[index];
	return link->body == index && !link->left_out && (link->joint != SDF_NONE || strcmp(link->name, "world"));
}

/* SDF has no such elements; they are for the plug-ins of the model (sdf/foreign.h). */
static void urdf_model_add_controls(struct urdf *urdf, struct load_builder *model)
{
	for (const struct sdf_element *at = urdf->robot->child; at; at = at->next)
		if (xml_is(at, "ros2_control") || xml_is(at, "transmission"))
			load_build_add(urdf->load, model, at);
}

const struct sdf_element *urdf_model(struct urdf *urdf)
{
	struct load_builder sdf = urdf_new(urdf, urdf->robot, "sdf", "");
	struct load_builder model = urdf_new(urdf, urdf->robot, "model", "");
	load_build_attribute(urdf->load, &sdf, "version", "1.9");
	load_build_attribute(urdf->load, &model, "name", sdf_attribute(urdf->robot, "name"));
	if (!urdf_gazebo_child(urdf, "", "pose"))
		urdf_model_add_pose(urdf, &model, urdf_origin(urdf, urdf->robot), NULL);
	for (uint32_t i = 0; i < urdf->order.count; i++) {
		uint32_t index = urdf->order.at[i];
		const struct urdf_link *link = &urdf->links.at[index];
		if (link->left_out)
			continue;
		if (urdf_model_is_body(urdf, index) && link->joint != SDF_NONE)
			urdf_model_add_joint(urdf, &urdf->joints.at[link->joint], &model);
		if (urdf_model_is_body(urdf, index))
			urdf_model_add_link(urdf, index, &model);
		else if (link->joint != SDF_NONE)
			urdf_model_add_frames(urdf, link, &model);
	}
	urdf_gazebo_model(urdf, &model);
	urdf_model_add_controls(urdf, &model);
	urdf_add(urdf, &sdf, model);
	return sdf.element;
}
