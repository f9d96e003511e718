/* The <gazebo> elements of a robot say what URDF cannot: surfaces, sensors, plug-ins. Some of their children have
 * names of their own and go to a certain place of the SDF; all others are SDF already and are copied. A link that is
 * lumped into another one takes its extensions along: what has a place (a sensor, a light) is moved with it. */
#include "base/parse.h"
#include "sdf/urdf_internal.h"

#include <string.h>

struct rule;
static const struct rule *urdf_gazebo_rule_of(const struct sdf_element *element);

/* The values of libsdformat's own elements may stand in an attribute, <mu1 value="0.3"/>: they become texts. */
static const struct sdf_element *urdf_gazebo_texts(struct urdf *urdf, const struct sdf_element *gazebo)
{
	struct load_builder copy = load_build(urdf->load, gazebo);
	for (const struct sdf_element *at = gazebo->child; at; at = at->next) {
		const char *value = urdf_gazebo_rule_of(at) || xml_is(at, "static") ? sdf_attribute(at, "value") : NULL;
		if (value && !at->child)
			urdf_add(urdf, &copy, urdf_new(urdf, at, at->name, value));
		else
			load_build_add(urdf->load, &copy, at);
	}
	return copy.element;
}

void urdf_gazebo_read(struct urdf *urdf)
{
	const struct sdf_element *at = NULL;
	while ((at = sdf_child(urdf->robot, "gazebo", at)) != NULL) {
		const char *reference = sdf_attribute(at, "reference");
		uint32_t index = urdf->extensions.count, first;
		if (!load_room(urdf->load, at, index))
			return;
		const struct sdf_element *element = urdf_gazebo_texts(urdf, at);
		vec_push(&urdf->extensions, (struct urdf_extension){element, SDF_NONE, index});
		if (map_add(&urdf->references, reference ? reference : "", index))
			continue;
		(void)map_find(&urdf->references, reference ? reference : "", &first);
		urdf->extensions.at[urdf->extensions.at[first].last].next = index;
		urdf->extensions.at[first].last = index;
	}
}

static uint32_t urdf_gazebo_first_of(const struct urdf *urdf, const char *reference)
{
	uint32_t first;
	return map_find(&urdf->references, reference, &first) ? first : SDF_NONE;
}

const struct sdf_element *urdf_gazebo_child(const struct urdf *urdf, const char *reference, const char *name)
{
	for (uint32_t i = urdf_gazebo_first_of(urdf, reference); i != SDF_NONE; i = urdf->extensions.at[i].next) {
		const struct sdf_element *child = sdf_child(urdf->extensions.at[i].element, name, NULL);
		if (child)
			return child;
	}
	return NULL;
}

bool urdf_gazebo_flag(const struct urdf *urdf, const char *reference, const char *name)
{
	const struct sdf_element *child = urdf_gazebo_child(urdf, reference, name);
	bool value = false;
	return child && parse_bool(child->text, &value) && value;
}

void urdf_gazebo_check(struct urdf *urdf)
{
	for (uint32_t i = 0, index; i < urdf->extensions.count; i++) {
		const struct sdf_element *element = urdf->extensions.at[i].element;
		const char *reference = sdf_attribute(element, "reference");
		if (reference && *reference && !map_find(&urdf->link_names, reference, &index) &&
			!map_find(&urdf->joint_names, reference, &index))
			load_warn(urdf->load, element,
				"<gazebo> refers to \"%.80s\" and has no effect: expected a link or joint of this "
				"robot",
				reference);
	}
}

/* --- children with a place of their own ----------------------------------------------------------------------------
 */

enum urdf_gazebo_place { OF_COLLISION, OF_VISUAL, URDF_GAZEBO_OF_LINK, OF_JOINT, OF_CONVERTER };

struct rule {
	const char *name;
	enum urdf_gazebo_place place;
	const char *path; /* where the text goes, below the collision, visual, link or axis; NULL: handled elsewhere */
};

static const struct rule urdf_gazebo_rules[] = {
	{"mu1", OF_COLLISION, "surface/friction/ode/mu"},
	{"mu2", OF_COLLISION, "surface/friction/ode/mu2"},
	{"fdir1", OF_COLLISION, "surface/friction/ode/fdir1"},
	{"kp", OF_COLLISION, "surface/contact/ode/kp"},
	{"kd", OF_COLLISION, "surface/contact/ode/kd"},
	{"minDepth", OF_COLLISION, "surface/contact/ode/min_depth"},
	{"maxVel", OF_COLLISION, "surface/contact/ode/max_vel"},
	{"maxContacts", OF_COLLISION, "max_contacts"},
	{"collision", OF_COLLISION, NULL},
	{"material", OF_VISUAL, NULL},
	{"laserRetro", OF_VISUAL, "laser_retro"},
	{"visual", OF_VISUAL, NULL},
	{"gravity", URDF_GAZEBO_OF_LINK, "gravity"},
	{"selfCollide", URDF_GAZEBO_OF_LINK, "self_collide"},
	{"turnGravityOff", URDF_GAZEBO_OF_LINK, NULL},
	{"dampingFactor", URDF_GAZEBO_OF_LINK, NULL},
	{"stopCfm", OF_JOINT, "physics/ode/limit/cfm"},
	{"stopErp", OF_JOINT, "physics/ode/limit/erp"},
	{"springReference", OF_JOINT, NULL},
	{"springStiffness", OF_JOINT, NULL},
	{"provideFeedback", OF_JOINT, "physics/ode/provide_feedback"},
	{"implicitSpringDamper", OF_JOINT, "physics/ode/implicit_spring_damper"},
	{"fudgeFactor", OF_JOINT, "physics/ode/fudge_factor"},
	{"disableFixedJointLumping", OF_CONVERTER, NULL},
	{"preserveFixedJoint", OF_CONVERTER, NULL},
};

static const struct rule *urdf_gazebo_rule_of(const struct sdf_element *element)
{
	for (size_t i = 0; i < ARRAY_LEN(urdf_gazebo_rules); i++)
		if (xml_is(element, urdf_gazebo_rules[i].name))
			return &urdf_gazebo_rules[i];
	return NULL;
}

struct urdf_gazebo_node { /* of the tree that the paths make; small */
	const char *name, *text;
	const struct sdf_element *at;
	struct urdf_gazebo_node *child, *next;
};

static void urdf_gazebo_put(
	struct urdf *urdf, struct urdf_gazebo_node *root, const char *path, const struct sdf_element *from)
{
	struct arena *arena = &urdf->load->sdf->arena;
	while (*path) {
		size_t length = strcspn(path, "/");
		struct urdf_gazebo_node **slot = &root->child;
		while (*slot && (strncmp((*slot)->name, path, length) || (*slot)->name[length]))
			slot = &(*slot)->next;
		if (!*slot) {
			*slot = arena_new(arena, struct urdf_gazebo_node);
			**slot = (struct urdf_gazebo_node){
				.name = arena_printf(arena, "%.*s", (int)length, path), .text = "", .at = from};
		}
		root = *slot;
		path += length + (path[length] == '/');
	}
	/* Of several texts libsdformat takes the last, except for <gravity>, which SDF has already. */
	if (!*root->text || !xml_is(from, "gravity"))
		root->text = from->text;
}

static void urdf_gazebo_emit(struct urdf *urdf, const struct urdf_gazebo_node *node, struct load_builder *to)
{
	for (; node; node = node->next) {
		struct load_builder child = urdf_new(urdf, node->at, node->name, node->text);
		urdf_gazebo_emit(urdf, node->child, &child);
		urdf_add(urdf, to, child);
	}
}

static void urdf_gazebo_collect(
	struct urdf *urdf, const char *reference, enum urdf_gazebo_place place, struct urdf_gazebo_node *root)
{
	for (uint32_t i = urdf_gazebo_first_of(urdf, reference); i != SDF_NONE; i = urdf->extensions.at[i].next)
		for (const struct sdf_element *at = urdf->extensions.at[i].element->child; at; at = at->next) {
			const struct rule *rule = urdf_gazebo_rule_of(at);
			if (rule && rule->place == place && rule->path)
				urdf_gazebo_put(urdf, root, rule->path, at);
		}
}

/* Copies the children of an SDF fragment such as <visual> to the element. */
static void urdf_gazebo_add_fragment(
	struct urdf *urdf, const char *reference, const char *name, struct load_builder *to)
{
	for (uint32_t i = urdf_gazebo_first_of(urdf, reference); i != SDF_NONE; i = urdf->extensions.at[i].next) {
		const struct sdf_element *fragment = sdf_child(urdf->extensions.at[i].element, name, NULL);
		for (const struct sdf_element *at = fragment ? fragment->child : NULL; at; at = at->next)
			if (!sdf_child(to->element, at->name, NULL))
				load_build_add(urdf->load, to, at);
	}
}

void urdf_gazebo_collision(struct urdf *urdf, const struct urdf_link *link, struct load_builder *to)
{
	struct urdf_gazebo_node root = {0};
	urdf_gazebo_collect(urdf, link->name, OF_COLLISION, &root);
	urdf_gazebo_emit(urdf, root.child, to);
	urdf_gazebo_add_fragment(urdf, link->name, "collision", to);
}

/* <material>Gazebo/Red</material> names a material of Gazebo; a <material> with children is SDF. */
static void urdf_gazebo_add_material(struct urdf *urdf, const struct sdf_element *material, struct load_builder *to)
{
	if (material->child) {
		load_build_add(urdf->load, to, material);
		return;
	}
	struct load_builder look = urdf_new(urdf, material, "material", "");
	struct load_builder script = urdf_new(urdf, material, "script", "");
	urdf_add_text(urdf, &script, "name", material->text);
	urdf_add_text(urdf, &script, "uri", "file://media/materials/scripts/gazebo.material");
	urdf_add(urdf, &look, script);
	urdf_add(urdf, to, look);
}

void urdf_gazebo_visual(struct urdf *urdf, const struct urdf_link *link, struct load_builder *to)
{
	const struct sdf_element *material = urdf_gazebo_child(urdf, link->name, "material");
	struct urdf_gazebo_node root = {0};
	if (material && (material->child || *material->text))
		urdf_gazebo_add_material(urdf, material, to);
	urdf_gazebo_collect(urdf, link->name, OF_VISUAL, &root);
	urdf_gazebo_emit(urdf, root.child, to);
	urdf_gazebo_add_fragment(urdf, link->name, "visual", to);
}

/* --- what is SDF already -------------------------------------------------------------------------------------------
 */

static bool urdf_gazebo_has_place(const struct sdf_element *element)
{
	return xml_is(element, "sensor") || xml_is(element, "light") || xml_is(element, "projector") ||
	       xml_is(element, "particle_emitter");
}

/* A copy with the pose of the link in its body in front of its own. */
static void urdf_gazebo_add_moved(
	struct urdf *urdf, const struct urdf_link *link, const struct sdf_element *element, struct load_builder *to)
{
	const struct sdf_element *given = sdf_child(element, "pose", NULL);
	const char *frame = given ? sdf_attribute(given, "relative_to") : NULL;
	if (pose_is_identity(link->in_body) || !urdf_gazebo_has_place(element) || (frame && *frame)) {
		load_build_add(urdf->load, to, element);
		return;
	}
	struct load_builder copy = load_build(urdf->load, element);
	struct pose pose = pose_mul(link->in_body, load_pose(urdf->load, element, NULL));
	load_build_add(urdf->load, &copy, load_build_pose(urdf->load, given ? given : element, pose));
	for (const struct sdf_element *at = element->child; at; at = at->next)
		if (at != given)
			load_build_add(urdf->load, &copy, at);
	urdf_add(urdf, to, copy);
}

static void urdf_gazebo_add_others(struct urdf *urdf, const struct urdf_link *link, struct load_builder *to)
{
	for (uint32_t i = urdf_gazebo_first_of(urdf, link->name); i != SDF_NONE; i = urdf->extensions.at[i].next)
		for (const struct sdf_element *at = urdf->extensions.at[i].element->child; at; at = at->next)
			if (!urdf_gazebo_rule_of(at))
				urdf_gazebo_add_moved(urdf, link, at, to);
}

/* <turnGravityOff> and <dampingFactor> are older names of what SDF has in another form. */
static void urdf_gazebo_add_old_names(struct urdf *urdf, const char *reference, struct load_builder *to)
{
	const struct sdf_element *off = urdf_gazebo_child(urdf, reference, "turnGravityOff");
	const struct sdf_element *damping = urdf_gazebo_child(urdf, reference, "dampingFactor");
	if (off && !sdf_child(to->element, "gravity", NULL))
		urdf_add(urdf, to,
			urdf_new(
				urdf, off, "gravity", urdf_gazebo_flag(urdf, reference, "turnGravityOff") ? "0" : "1"));
	if (!damping)
		return;
	struct load_builder decay = urdf_new(urdf, damping, "velocity_decay", "");
	urdf_add_text(urdf, &decay, "linear", damping->text);
	urdf_add_text(urdf, &decay, "angular", damping->text);
	urdf_add(urdf, to, decay);
}

void urdf_gazebo_link(struct urdf *urdf, uint32_t body, struct load_builder *to)
{
	struct urdf_gazebo_node root = {0};
	for (uint32_t i = body; i != SDF_NONE; i = urdf->links.at[i].next)
		urdf_gazebo_collect(urdf, urdf->links.at[i].name, URDF_GAZEBO_OF_LINK, &root);
	urdf_gazebo_emit(urdf, root.child, to);
	urdf_gazebo_add_old_names(urdf, urdf->links.at[body].name, to);
	for (uint32_t i = body; i != SDF_NONE; i = urdf->links.at[i].next)
		urdf_gazebo_add_others(urdf, &urdf->links.at[i], to);
}

void urdf_gazebo_joint(struct urdf *urdf, const struct urdf_joint *joint, struct load_builder *to)
{
	struct urdf_gazebo_node root = {0};
	urdf_gazebo_collect(urdf, joint->name, OF_JOINT, &root);
	urdf_gazebo_emit(urdf, root.child, to);
	for (uint32_t i = urdf_gazebo_first_of(urdf, joint->name); i != SDF_NONE; i = urdf->extensions.at[i].next)
		for (const struct sdf_element *at = urdf->extensions.at[i].element->child; at; at = at->next)
			if (!urdf_gazebo_rule_of(at))
				load_build_add(urdf->load, to, at);
}

void urdf_gazebo_model(struct urdf *urdf, struct load_builder *to)
{
	for (uint32_t i = urdf_gazebo_first_of(urdf, ""); i != SDF_NONE; i = urdf->extensions.at[i].next)
		for (const struct sdf_element *at = urdf->extensions.at[i].element->child; at; at = at->next)
			load_build_add(urdf->load, to, at);
}
