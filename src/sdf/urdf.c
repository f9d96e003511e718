/* A robot is a tree: its links are taken in the order in which libsdformat takes them, so that a robot has the same
 * names and the same order here and in Gazebo. A chain may be as long as the file allows, so nothing here recurses. */
#include "sdf/urdf.h"

#include "base/parse.h"
#include "sdf/urdf_internal.h"

#include <stdlib.h>
#include <string.h>

/* --- parts that all three files use ------------------------------------------------------------------------------- */

struct load_builder urdf_new(struct urdf *urdf, const struct sdf_element *at, const char *name, const char *text)
{
	const struct sdf_element bare = {.name = name, .text = text, .file = at->file, .line = at->line};
	return load_build(urdf->load, &bare);
}

void urdf_add(struct urdf *urdf, struct load_builder *to, struct load_builder child)
{
	load_build_add(urdf->load, to, child.element);
}

void urdf_add_text(struct urdf *urdf, struct load_builder *to, const char *name, const char *text)
{
	urdf_add(urdf, to, urdf_new(urdf, to->element, name, text));
}

void urdf_add_number(struct urdf *urdf, struct load_builder *to, const char *name, double value)
{
	struct text text = {0};
	text_add_double(&text, value);
	urdf_add_text(urdf, to, name, arena_strdup(&urdf->load->sdf->arena, text.at));
	text_fini(&text);
}

bool urdf_number(struct urdf *urdf, const struct sdf_element *element, const char *attribute, double lo, double hi,
	double *value)
{
	const char *text = element ? sdf_attribute(element, attribute) : NULL;
	double read;
	if (!text)
		return true;
	if (!parse_double(text, &read) || !(read >= lo && read <= hi)) {
		load_error(urdf->load, element, "%s of <%.40s> is \"%.40s\": expected a number from %g to %g",
			attribute, element->name, text, lo, hi);
		return false;
	}
	*value = read;
	return true;
}

static struct vec3 urdf_vector(
	struct urdf *urdf, const struct sdf_element *element, const char *attribute, struct vec3 value)
{
	const char *text = element ? sdf_attribute(element, attribute) : NULL;
	double read[3];
	if (!text)
		return value;
	if (parse_doubles(text, read, 3) == 3 && vec3_within(vec3_from(read), SDF_LENGTH_MAX))
		return vec3_from(read);
	load_error(urdf->load, element, "%s of <%.40s> is \"%.80s\": expected three numbers of at most %g", attribute,
		element->name, text, SDF_LENGTH_MAX);
	return value;
}

struct pose urdf_origin(struct urdf *urdf, const struct sdf_element *parent)
{
	const struct sdf_element *origin = sdf_child(parent, "origin", NULL);
	struct vec3 p = urdf_vector(urdf, origin, "xyz", (struct vec3){0, 0, 0});
	struct vec3 rpy = urdf_vector(urdf, origin, "rpy", (struct vec3){0, 0, 0});
	return (struct pose){p, quat_from_rpy(rpy.x, rpy.y, rpy.z)};
}

/* --- links and joints ----------------------------------------------------------------------------------------------
 */

static const char *urdf_name_of(struct urdf *urdf, const struct sdf_element *element)
{
	const char *name = sdf_attribute(element, "name");
	if (!name || !*name)
		load_error(urdf->load, element, "<%.40s> has no name: expected one", element->name);
	return name ? name : "";
}

/* The mass of a link as its file gives it. */
static struct urdf_mass urdf_read_mass(struct urdf *urdf, const struct sdf_element *link)
{
	static const char *const names[3][3] = {{"ixx", "ixy", "ixz"}, {"ixy", "iyy", "iyz"}, {"ixz", "iyz", "izz"}};
	const struct sdf_element *inertial = sdf_child(link, "inertial", NULL);
	const struct sdf_element *mass = sdf_child(inertial, "mass", NULL);
	const struct sdf_element *inertia = sdf_child(inertial, "inertia", NULL);
	struct urdf_mass read = {0};
	struct mat3 own = {{{0}}};
	if (!inertial)
		return read;
	if (!mass || !sdf_attribute(mass, "value"))
		load_error(urdf->load, inertial, "<inertial> has no <mass value=\"...\"/>: expected one");
	if (!inertia)
		load_error(urdf->load, inertial, "<inertial> has no <inertia>: expected one with ixx to izz");
	urdf_number(urdf, mass, "value", 0, SDF_MASS_MAX, &read.mass);
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++)
			if (k >= i)
				urdf_number(urdf, inertia, names[i][k], -1e48, 1e48, &own.m[i][k]);
			else
				own.m[i][k] = own.m[k][i];
	struct pose origin = urdf_origin(urdf, inertial);
	struct mat3 r = quat_matrix(origin.q);
	read.centre = origin.p;
	for (int i = 0; i < 9; i++) /* r own r^T */
		for (int k = 0; k < 9; k++)
			read.moments.m[i / 3][i % 3] += r.m[i / 3][k / 3] * own.m[k / 3][k % 3] * r.m[i % 3][k % 3];
	return read;
}

static void urdf_read_links(struct urdf *urdf)
{
	const struct sdf_element *at = NULL;
	while ((at = sdf_child(urdf->robot, "link", at)) != NULL) {
		struct urdf_link link = {
			.element = at, .name = urdf_name_of(urdf, at), .joint = SDF_NONE, .next = SDF_NONE};
		if (!load_room(urdf->load, at, urdf->links.count))
			return;
		link.in_body = POSE_IDENTITY;
		link.own = urdf_read_mass(urdf, at);
		if (!map_add(&urdf->link_names, link.name, urdf->links.count) && *link.name)
			load_error(urdf->load, at, "a second link \"%.80s\": expected different names", link.name);
		vec_push(&urdf->links, link);
	}
}

static uint32_t urdf_find_link(struct urdf *urdf, const struct sdf_element *joint, const char *end)
{
	const struct sdf_element *element = sdf_child(joint, end, NULL);
	const char *name = element ? sdf_attribute(element, "link") : NULL;
	uint32_t link = SDF_NONE;
	if (!name)
		load_error(urdf->load, joint, "<joint> has no <%s link=\"...\"/>: expected one", end);
	else if (!map_find(&urdf->link_names, name, &link))
		load_error(
			urdf->load, element, "<%s> names the link \"%.80s\": expected a link of this robot", end, name);
	return link;
}

static enum urdf_kind urdf_kind_of(struct urdf *urdf, const struct sdf_element *joint)
{
	static const char *const names[] = {"revolute", "continuous", "prismatic", "fixed", "floating", "planar"};
	const char *type = sdf_attribute(joint, "type");
	for (size_t i = 0; type && i < ARRAY_LEN(names); i++)
		if (!strcmp(type, names[i]))
			return (enum urdf_kind)i;
	load_error(urdf->load, joint,
		"the type of <joint> is \"%.40s\": expected revolute, continuous, prismatic, fixed, floating or planar",
		type ? type : "");
	return URDF_FIXED;
}

static bool urdf_is_set(const struct urdf *urdf, const char *joint, const char *flag)
{
	return urdf_gazebo_flag(urdf, joint, flag);
}

/* A fixed joint to the link "world" stays, because it holds the robot in its place. */
static bool urdf_is_lumped(const struct urdf *urdf, const struct urdf_joint *joint)
{
	const struct urdf_link *parent = &urdf->links.at[joint->parent];
	return joint->kind == URDF_FIXED && strcmp(parent->name, "world") &&
	       !urdf_is_set(urdf, joint->name, "disableFixedJointLumping") &&
	       !urdf_is_set(urdf, joint->name, "preserveFixedJoint");
}

static void urdf_read_joints(struct urdf *urdf)
{
	const struct sdf_element *at = NULL;
	while ((at = sdf_child(urdf->robot, "joint", at)) != NULL) {
		struct urdf_joint joint = {
			.element = at, .name = urdf_name_of(urdf, at), .kind = urdf_kind_of(urdf, at)};
		if (!load_room(urdf->load, at, urdf->joints.count))
			return;
		joint.parent = urdf_find_link(urdf, at, "parent");
		joint.child = urdf_find_link(urdf, at, "child");
		joint.origin = urdf_origin(urdf, at);
		if ((joint.kind == URDF_REVOLUTE || joint.kind == URDF_PRISMATIC) && !sdf_child(at, "limit", NULL))
			load_error(urdf->load, at,
				"the %s joint \"%.80s\" has no <limit>: expected one, or the type continuous",
				sdf_attribute(at, "type"), joint.name);
		if (!map_add(&urdf->joint_names, joint.name, urdf->joints.count) && *joint.name)
			load_error(urdf->load, at, "a second joint \"%.80s\": expected different names", joint.name);
		if (joint.parent == SDF_NONE || joint.child == SDF_NONE)
			continue;
		struct urdf_link *child = &urdf->links.at[joint.child];
		if (child->joint != SDF_NONE)
			load_error(urdf->load, at,
				"the link \"%.80s\" is also the child of the joint \"%.80s\" of line %u: expected "
				"one parent of each link",
				child->name, urdf->joints.at[child->joint].name,
				urdf->joints.at[child->joint].element->line);
		child->joint = urdf->joints.count;
		joint.lumped = urdf_is_lumped(urdf, &joint);
		vec_push(&urdf->joints, joint);
	}
}

static void urdf_read_materials_of_link(struct urdf *urdf, const struct sdf_element *link)
{
	const struct sdf_element *visual = NULL;
	while ((visual = sdf_child(link, "visual", visual)) != NULL) {
		const struct sdf_element *at = sdf_child(visual, "material", NULL);
		const char *name = at ? sdf_attribute(at, "name") : NULL;
		bool is_defined = sdf_child(at, "color", NULL) || sdf_child(at, "texture", NULL);
		if (name && *name && is_defined && map_add(&urdf->materials, name, urdf->material_elements.count))
			vec_push(&urdf->material_elements, at);
	}
}

static void urdf_read_materials(struct urdf *urdf)
{
	const struct sdf_element *at = NULL;
	while ((at = sdf_child(urdf->robot, "material", at)) != NULL)
		if (map_add(&urdf->materials, urdf_name_of(urdf, at), urdf->material_elements.count))
			vec_push(&urdf->material_elements, at);
	while ((at = sdf_child(urdf->robot, "link", at)) != NULL)
		urdf_read_materials_of_link(urdf, at);
}

/* --- the tree ------------------------------------------------------------------------------------------------------
 */

static uint32_t urdf_find_root(struct urdf *urdf)
{
	uint32_t root = SDF_NONE;
	for (uint32_t i = 0; i < urdf->links.count; i++) {
		const struct urdf_link *link = &urdf->links.at[i];
		if (link->joint != SDF_NONE)
			continue;
		if (root != SDF_NONE) {
			load_error(urdf->load, link->element,
				"the links \"%.80s\" of line %u and \"%.80s\" are both the child of no joint: expected "
				"one root",
				urdf->links.at[root].name, urdf->links.at[root].element->line, link->name);
			return SDF_NONE;
		}
		root = i;
	}
	if (root == SDF_NONE)
		load_error(urdf->load, urdf->robot,
			urdf->links.count ? "each link is the child of a joint: expected a link that is the root"
					  : "<robot> has no <link>: expected one or more");
	return root;
}

struct branch { /* a joint, to be sorted */
	uint32_t parent, joint;
	const char *name;
};

static int urdf_by_parent_and_name(const void *a, const void *b)
{
	const struct branch *x = a, *y = b;
	return x->parent != y->parent ? (x->parent < y->parent ? -1 : 1) : strcmp(x->name, y->name);
}

/* Fills `order` with all links that can be reached from the root. */
static void urdf_walk(struct urdf *urdf, uint32_t root)
{
	uint32_t count = urdf->joints.count;
	struct branch *branches = mem_alloc((count + 1) * sizeof *branches);
	uint32_t *first = mem_alloc((urdf->links.count + 1) * sizeof *first);
	VEC(uint32_t) stack = {0};
	for (uint32_t i = 0; i < count; i++)
		branches[i] = (struct branch){urdf->joints.at[i].parent, i, urdf->joints.at[i].name};
	qsort(branches, count, sizeof *branches, urdf_by_parent_and_name);
	for (uint32_t link = 0, i = 0; link <= urdf->links.count; link++) {
		while (i < count && branches[i].parent < link)
			i++;
		first[link] = i;
	}
	vec_push(&stack, root);
	while (stack.count) {
		uint32_t link = stack.at[--stack.count];
		vec_push(&urdf->order, link);
		for (uint32_t i = first[link + 1]; i-- > first[link];)
			vec_push(&stack, urdf->joints.at[branches[i].joint].child);
	}
	vec_free(&stack);
	free(first);
	free(branches);
}

static void urdf_find_order(struct urdf *urdf)
{
	uint32_t root = urdf_find_root(urdf);
	if (root == SDF_NONE)
		return;
	urdf_walk(urdf, root);
	if (urdf->order.count == urdf->links.count)
		return;
	bool *reached = mem_alloc(urdf->links.count * sizeof *reached);
	uint32_t i = 0;
	for (uint32_t k = 0; k < urdf->order.count; k++)
		reached[urdf->order.at[k]] = true;
	while (reached[i])
		i++;
	load_error(urdf->load, urdf->links.at[i].element,
		"the link \"%.80s\" is part of a cycle of joints: expected a tree with the root \"%.80s\"",
		urdf->links.at[i].name, urdf->links.at[root].name);
	free(reached);
}

/* --- lumping -------------------------------------------------------------------------------------------------------
 */

static struct urdf_mass urdf_moved(struct urdf_mass mass, struct pose to)
{
	struct mat3 r = quat_matrix(to.q);
	struct urdf_mass out = {.mass = mass.mass, .centre = pose_point(to, mass.centre)};
	for (int i = 0; i < 9; i++)
		for (int k = 0; k < 9; k++)
			out.moments.m[i / 3][i % 3] +=
				r.m[i / 3][k / 3] * mass.moments.m[k / 3][k % 3] * r.m[i % 3][k % 3];
	return out;
}

/* The moments of a mass about a point at a distance from its centre (Huygens and Steiner). */
static void urdf_add_moments(struct mat3 *to, const struct urdf_mass *mass, struct vec3 centre)
{
	struct vec3 away = vec3_sub(mass->centre, centre);
	const double d[3] = {away.x, away.y, away.z};
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++)
			to->m[i][k] += mass->moments.m[i][k] +
				       mass->mass * ((i == k ? vec3_dot(away, away) : 0) - d[i] * d[k]);
}

static struct urdf_mass urdf_together(const struct urdf_mass *a, const struct urdf_mass *b)
{
	struct urdf_mass sum = {.mass = a->mass + b->mass};
	if (!(sum.mass > 0))
		return *a;
	sum.centre = vec3_scale(vec3_add(vec3_scale(a->centre, a->mass), vec3_scale(b->centre, b->mass)), 1 / sum.mass);
	urdf_add_moments(&sum.moments, a, sum.centre);
	urdf_add_moments(&sum.moments, b, sum.centre);
	return sum;
}

/* Each link becomes a body of its own, or a part of its parent's. */
static void urdf_lump(struct urdf *urdf)
{
	for (uint32_t i = 0; i < urdf->order.count; i++) {
		uint32_t index = urdf->order.at[i];
		struct urdf_link *link = &urdf->links.at[index];
		const struct urdf_joint *joint = link->joint == SDF_NONE ? NULL : &urdf->joints.at[link->joint];
		if (!joint || !joint->lumped) {
			link->body = link->last = index;
			link->mass = link->own;
			continue;
		}
		const struct urdf_link *parent = &urdf->links.at[joint->parent];
		struct urdf_link *body = &urdf->links.at[parent->body];
		link->body = parent->body;
		link->in_body = pose_mul(parent->in_body, joint->origin);
		struct urdf_mass there = urdf_moved(link->own, link->in_body);
		body->mass = body->mass.mass > 0 ? urdf_together(&body->mass, &there) : there;
		urdf->links.at[body->last].next = index;
		body->last = index;
	}
}

/* Bodies without a mass cannot be simulated; as in libsdformat, they and all that hangs on them are left out. Only
 * the link "world" is no body. */
static void urdf_leave_out(struct urdf *urdf)
{
	uint32_t bodies = 0;
	for (uint32_t i = 0; i < urdf->order.count; i++) {
		struct urdf_link *link = &urdf->links.at[urdf->order.at[i]];
		const struct urdf_joint *joint = link->joint == SDF_NONE ? NULL : &urdf->joints.at[link->joint];
		bool is_world = !joint && !strcmp(link->name, "world");
		if (joint && urdf->links.at[joint->parent].left_out) {
			link->left_out = true;
		} else if (link->body == urdf->order.at[i] && !is_world && !(link->mass.mass > 0)) {
			link->left_out = true;
			load_warn(urdf->load, link->element,
				"the link \"%.80s\" has no mass: it and the links behind it are left out: expected "
				"<inertial> with a "
				"mass, or a fixed joint",
				link->name);
		}
		bodies += link->body == urdf->order.at[i] && !is_world && !link->left_out;
	}
	if (urdf->order.count && !bodies)
		load_error(urdf->load, urdf->robot,
			"no link of the robot has a mass: expected <inertial> with <mass> and <inertia>");
}

/* --- all -----------------------------------------------------------------------------------------------------------
 */

static void urdf_ignore_others(struct urdf *urdf)
{
	static const char *const known[] = {
		"link", "joint", "material", "gazebo", "origin", "ros2_control", "transmission"};
	for (const struct sdf_element *at = urdf->robot->child; at; at = at->next) {
		bool is_known = false;
		for (size_t i = 0; i < ARRAY_LEN(known); i++)
			is_known |= xml_is(at, known[i]);
		if (!is_known)
			load_warn_once(urdf->load, arena_printf(&urdf->load->sdf->arena, "urdf %.40s", at->name), at,
				"<%.40s> in <robot> has no effect here", at->name);
	}
}

static void urdf_fini(struct urdf *urdf)
{
	vec_free(&urdf->links);
	vec_free(&urdf->joints);
	vec_free(&urdf->order);
	vec_free(&urdf->material_elements);
	map_fini(&urdf->link_names);
	map_fini(&urdf->joint_names);
	map_fini(&urdf->materials);
	map_fini(&urdf->references);
	vec_free(&urdf->extensions);
}

const struct sdf_element *urdf_convert(struct load *load, const struct sdf_element *robot)
{
	struct urdf urdf = {.load = load, .robot = robot};
	uint32_t errors = load->sdf->error_count;
	const struct sdf_element *model = NULL;
	urdf_ignore_others(&urdf);
	urdf_name_of(&urdf, robot);
	urdf_read_materials(&urdf);
	urdf_gazebo_read(&urdf);
	urdf_read_links(&urdf);
	if (load->sdf->error_count == errors)
		urdf_read_joints(&urdf);
	if (load->sdf->error_count == errors)
		urdf_find_order(&urdf);
	if (load->sdf->error_count == errors) {
		urdf_lump(&urdf);
		urdf_leave_out(&urdf);
		urdf_gazebo_check(&urdf);
	}
	if (load->sdf->error_count == errors)
		model = urdf_model(&urdf);
	urdf_fini(&urdf);
	return load->sdf->error_count == errors ? model : NULL;
}
