/* The host while a plug-in is configured: its parameters, the joints and links of its model, its words and topics.
 *
 * The first problem is kept and ends the plug-in: it is refused (an error with file:line), or left out with a warning,
 * as Gazebo does with plug-ins that do not fit their models. Later calls do no harm, so that a plug-in may look at the
 * results of several calls at once. */
#include "system/setup.h"

#include "base/near.h"
#include "base/text.h"
#include "geom/geom.h"
#include "mesh/trimesh.h"
#include "topic/table.h"

#include <inttypes.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE_MAX 1e9 /* Hz */

enum { TOPIC_BYTES_MAX = 255, TEXT_BYTES_MAX = TROUPE_ERROR_TEXT_BYTES };

static struct system *setup_own(struct troupe_system *self)
{
	return (struct system *)(void *)self;
}

static const struct sdf_element *setup_element_of(const struct troupe_element *element)
{
	return (const struct sdf_element *)(const void *)element;
}

static const struct troupe_element *setup_as_element(const struct sdf_element *element)
{
	return (const struct troupe_element *)(const void *)element;
}

/* The system that is being configured. A plug-in that calls functions for configure() elsewhere does no harm and gets
 * no lasting effect: what it is given holds until its next such call on this thread. */
static struct setup *setup_of(const struct troupe_system *self)
{
	static _Thread_local struct arena arena;
	static _Thread_local struct setup late;
	if (system_of(self)->setup)
		return system_of(self)->setup;
	arena_fini(&arena);
	vec_free(&late.warnings);
	arena = (struct arena){0};
	late = (struct setup){.arena = &arena};
	return &late;
}

/* --- problems ----------------------------------------------------------------------------------------------------- */

static const struct sdf_element *setup_place_of(const struct system *system, const struct troupe_element *at)
{
	return at ? setup_element_of(at) : system->plugin->element;
}

static bool setup_end_with(struct system *system, troupe_status status, const struct sdf_element *at, const char *text)
{
	struct setup *setup = setup_of(&system->self);
	if (!setup->status)
		setup->status = fail(&setup->why, status, "%s:%u: %s", at->file, at->line, text);
	return false;
}

/* Defines `text` as the formatted arguments after `format`. */
#define FORMATTED                                                                                                      \
	char text[TEXT_BYTES_MAX];                                                                                     \
	va_list args;                                                                                                  \
	va_start(args, format);                                                                                        \
	(void)vsnprintf(text, sizeof text, format, args);                                                              \
	va_end(args)

bool setup_refuse(struct troupe_system *self, const struct troupe_element *at, const char *format, ...)
{
	FORMATTED;
	return setup_end_with(setup_own(self), TROUPE_EWORLD, setup_place_of(setup_own(self), at), text);
}

bool setup_leave_out(struct troupe_system *self, const struct troupe_element *at, const char *format, ...)
{
	FORMATTED;
	return setup_end_with(setup_own(self), TROUPE_EINVAL, setup_place_of(setup_own(self), at), text);
}

bool setup_pass(struct troupe_system *self)
{
	setup_of(self)->passed = true;
	return false;
}

void setup_warn(struct troupe_system *self, const struct troupe_element *at, const char *format, ...)
{
	FORMATTED;
	const struct sdf_element *place = setup_place_of(setup_own(self), at);
	struct setup *setup = setup_of(self);
	vec_push(&setup->warnings, arena_printf(setup->arena, "%s:%u: %s", place->file, place->line, text));
}

/* A problem that sdf/ found. */
static void setup_keep(struct system *system, troupe_status status, const struct troupe_error *why)
{
	struct setup *setup = setup_of(&system->self);
	if (!status || setup->status)
		return;
	setup->status = status;
	setup->why = *why;
}

/* --- memory and parameters ---------------------------------------------------------------------------------------- */

void *setup_alloc(struct troupe_system *self, size_t bytes)
{
	return arena_alloc(setup_of(self)->arena, bytes);
}

/* The locale of the process does not matter: other programs read topics and texts of messages. */
const char *setup_print(struct troupe_system *self, const char *format, ...)
{
	struct text text = {0};
	va_list args;
	va_start(args, format);
	text_add_v(&text, format, args);
	va_end(args);
	const char *kept = arena_strdup(setup_of(self)->arena, text.at);
	text_fini(&text);
	return kept;
}

const struct troupe_element *setup_child(
	const struct troupe_element *parent, const char *name, const struct troupe_element *after)
{
	if (name)
		return setup_as_element(sdf_child(setup_element_of(parent), name, setup_element_of(after)));
	return setup_as_element(after ? setup_element_of(after)->next : setup_element_of(parent)->child);
}

const char *setup_name_of(const struct troupe_element *element)
{
	return setup_element_of(element)->name;
}

const char *setup_text_of(const struct troupe_element *element)
{
	return setup_element_of(element)->text;
}

const char *setup_attribute(const struct troupe_element *element, const char *name)
{
	return sdf_attribute(setup_element_of(element), name);
}

double setup_number(struct troupe_system *self, const struct troupe_element *parent, const char *name, double otherwise)
{
	struct troupe_error why;
	setup_keep(setup_own(self),
		sdf_child_double(setup_element_of(parent), name, -HUGE_VAL, HUGE_VAL, &otherwise, &why), &why);
	return otherwise;
}

bool setup_boolean(struct troupe_system *self, const struct troupe_element *parent, const char *name, bool otherwise)
{
	struct troupe_error why;
	setup_keep(setup_own(self), sdf_child_bool(setup_element_of(parent), name, &otherwise, &why), &why);
	return otherwise;
}

const char *setup_text(const struct troupe_element *parent, const char *name, const char *otherwise)
{
	const char *text = sdf_child_text(setup_element_of(parent), name);
	return text && *text ? text : otherwise;
}

struct troupe_vec3 setup_vector(
	struct troupe_system *self, const struct troupe_element *parent, const char *name, struct troupe_vec3 otherwise)
{
	struct troupe_error why;
	struct vec3 v = otherwise;
	setup_keep(
		setup_own(self), sdf_child_vec3(setup_element_of(parent), name, -HUGE_VAL, HUGE_VAL, &v, &why), &why);
	return v;
}

struct troupe_pose setup_pose(struct troupe_system *self, const struct troupe_element *parent, const char *name)
{
	struct troupe_error why;
	struct pose pose = POSE_IDENTITY;
	const struct sdf_element *element = sdf_child(setup_element_of(parent), name, NULL);
	if (element) { /* sdf_child_pose() reads a child that is called <pose> */
		struct sdf_element child = *element, holder = {.file = element->file, .line = element->line};
		child.name = "pose";
		child.next = NULL;
		holder.name = holder.text = "";
		holder.child = &child;
		setup_keep(setup_own(self), sdf_child_pose(&holder, &pose, &why), &why);
	}
	return pose_flat(pose);
}

const char *setup_inside(struct troupe_system *self, const struct troupe_element *element)
{
	struct text out = {0};
	sdf_print_inside(setup_element_of(element), &out);
	const char *text = arena_strdup(setup_of(self)->arena, out.at ? out.at : "");
	text_fini(&out);
	return text;
}

/* --- the table of parameters -------------------------------------------------------------------------------------- */

static troupe_status setup_check_one(
	const struct sdf_element *plugin, const struct troupe_parameter *p, struct troupe_error *error)
{
	double number;
	bool flag;
	struct vec3 v;
	switch (p->kind) {
	case TROUPE_NUMBER:
		return sdf_child_double(plugin, p->name, p->low, p->high, &number, error);
	case TROUPE_BOOL:
		return sdf_child_bool(plugin, p->name, &flag, error);
	case TROUPE_VECTOR:
		return sdf_child_vec3(plugin, p->name, p->low, p->high, &v, error);
	default:
		return TROUPE_OK;
	}
}

static const struct troupe_parameter *setup_find_parameter(const struct troupe_kind *kind, const char *name)
{
	for (const struct troupe_parameter *p = kind->parameters; p && p->name; p++)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}

static bool setup_asks_for_nothing(const struct sdf_element *element)
{
	return !element->child &&
	       (!*element->text || !strcmp(element->text, "false") || !element->text[strspn(element->text, "0.")]);
}

static troupe_status setup_unknown_parameter(
	const struct troupe_kind *kind, const struct sdf_element *element, struct troupe_error *error)
{
	struct text names = {0};
	for (const struct troupe_parameter *p = kind->parameters; p && p->name; p++)
		text_add(&names, "%s%s", names.count ? ", " : "", p->name);
	fail(error, TROUPE_EWORLD, "%s:%u: <%s> is no parameter of plugin '%s': expected %s%s", element->file,
		element->line, element->name, kind->names[0], names.count ? "one of " : "none",
		names.count ? names.at : "");
	text_fini(&names);
	return TROUPE_EWORLD;
}

troupe_status setup_check(struct system *system, const struct sdf_element *plugin, struct troupe_error *error)
{
	const struct troupe_kind *kind = system->self.kind;
	for (const struct sdf_element *e = plugin->child; e; e = e->next) {
		const struct troupe_parameter *p = setup_find_parameter(kind, e->name);
		if (!p && kind->flags & TROUPE_LENIENT)
			setup_warn(&system->self, setup_as_element(e),
				"<%s> is no parameter of plugin '%s': it has no effect", e->name, kind->names[0]);
		else if (!p)
			return setup_unknown_parameter(kind, e, error);
		else if (p->kind == TROUPE_UNUSED && !setup_asks_for_nothing(e))
			setup_warn(&system->self, setup_as_element(e), "<%s> of plugin '%s' has no effect%s%s", e->name,
				kind->names[0], p->what ? ": " : "", p->what ? p->what : "");
	}
	troupe_status status = TROUPE_OK;
	for (const struct troupe_parameter *p = kind->parameters; p && p->name && !status; p++)
		status = setup_check_one(plugin, p, error);
	return status;
}

/* --- the model ---------------------------------------------------------------------------------------------------- */

static const struct scene_model *setup_model_of(const struct troupe_system *self)
{
	return self->model == TROUPE_NOTHING ? NULL : &system_of(self)->scene->models[self->model];
}

const struct troupe_element *setup_world(const struct troupe_system *self)
{
	return (const struct troupe_element *)(const void *)system_of(self)->scene->sdf->element;
}

const char *setup_world_name(const struct troupe_system *self)
{
	return system_of(self)->scene->name;
}

const char *setup_owner_name(const struct troupe_system *self)
{
	const struct system *system = system_of(self);
	if (system->setup && system->setup->owner)
		return system->setup->owner->name;
	return setup_model_of(self) ? setup_model_of(self)->name : system->scene->name;
}

const struct troupe_element *setup_sibling(const struct troupe_system *self, const struct troupe_element *after)
{
	const struct scene_model *model = setup_model_of(self);
	if (!setup_of(self) || !model || model->actor)
		return NULL;
	const struct sdf_model *from = &model->from->models.at[model->sdf];
	const struct sdf_plugin *all = model->from->plugins.at + from->plugin_first;
	uint32_t next = 0;
	for (uint32_t i = 0; after && i < from->plugin_count; i++)
		if (all[i].element == setup_element_of(after))
			next = i + 1;
	return next < from->plugin_count && (next || !after) ? setup_as_element(all[next].element) : NULL;
}

bool setup_is_static(const struct troupe_system *self)
{
	return !setup_model_of(self) || setup_model_of(self)->is_static;
}

bool setup_must_move(struct troupe_system *self)
{
	if (!setup_is_static(self))
		return true;
	if (!setup_model_of(self))
		return setup_refuse(self, NULL, "the plugin is in <world>: expected it in a <model>");
	return setup_leave_out(self, NULL, "model '%s' is static: expected a model that this plugin can move",
		setup_model_of(self)->name);
}

/* The full name of a part of the model that the <plugin> stands in. */
static char *setup_scoped(const struct troupe_system *self, const char *name)
{
	const struct scene_model *model = setup_model_of(self);
	struct setup *setup = setup_of(self);
	return arena_printf(setup->arena, "%s::%s", setup->owner ? setup->owner->scoped : model->name, name);
}

/* Offers a part of the model by its name there. */
static void setup_offer(const struct troupe_system *self, struct near *near, const char *full)
{
	const char *owner = setup_scoped(self, "");
	size_t length = strlen(owner);
	if (!strncmp(full, owner, length))
		near_offer(near, full + length);
}

static const struct sdf_joint *setup_find_in_file(const struct scene_model *model, const char *name)
{
	if (model->actor) /* it has no joints */
		return NULL;
	const struct sdf_world *world = model->from;
	const struct sdf_model *top = &world->models.at[model->sdf];
	for (uint32_t i = top->joint_first; i < top->joint_first + top->joint_count; i++)
		if (!strcmp(world->joints.at[i].scoped, name))
			return &world->joints.at[i];
	return NULL;
}

/* The warning for a joint that cannot be driven: it does not exist, or has no axis in the scene (fixed, ball, or a kind
 * that is left out). */
static void setup_refuse_joint(
	struct troupe_system *self, const struct troupe_element *at, const char *name, const char *full)
{
	const struct scene *scene = system_of(self)->scene;
	const struct scene_model *model = setup_model_of(self);
	const struct sdf_joint *joint = setup_find_in_file(model, full);
	const char *element = at ? setup_element_of(at)->name : "plugin";
	if (joint) {
		setup_leave_out(self, at, "<%s>: joint '%s' is of type %s: expected one that can be driven", element,
			name, sdf_joint_kind_text(joint->kind));
		return;
	}
	struct near near = near_to(name);
	for (uint32_t i = 0; i < model->joint_count; i++)
		setup_offer(self, &near, scene->joints[model->joint_first + i].scoped);
	setup_leave_out(self, at, "<%s>: there is no joint '%s' in model '%s': expected %s%s", element, name,
		setup_owner_name(self), near.offered ? "the name of a joint of it" : "it to have joints",
		near_such_as(&near));
}

uint32_t setup_find_joint(const struct troupe_system *self, const char *name, bool any)
{
	const struct scene *scene = system_of(self)->scene;
	if (!setup_model_of(self))
		return TROUPE_NOTHING;
	uint32_t joint = scene_find_joint(scene, self->model, setup_scoped(self, name));
	return joint != SCENE_NONE && (any || scene->joints[joint].axis_count) ? joint : TROUPE_NOTHING;
}

uint32_t setup_joint(struct troupe_system *self, const struct troupe_element *at, const char *name)
{
	if (!setup_must_move(self))
		return TROUPE_NOTHING;
	uint32_t joint = setup_find_joint(self, name, false);
	if (joint == TROUPE_NOTHING)
		setup_refuse_joint(self, at, name, setup_scoped(self, name));
	return joint;
}

uint32_t setup_find_link(const struct troupe_system *self, const char *name)
{
	return setup_model_of(self) ? scene_find_link(system_of(self)->scene, self->model, setup_scoped(self, name))
				    : TROUPE_NOTHING;
}

static void setup_refuse_link(struct troupe_system *self, const struct troupe_element *at, const char *name)
{
	const struct scene_model *model = setup_model_of(self);
	struct near near = near_to(name);
	for (uint32_t i = 0; model && i < model->link_count; i++)
		setup_offer(self, &near, system_of(self)->scene->links[model->link_first + i].scoped);
	setup_leave_out(self, at, "<%s>: there is no link '%s' in model '%s': expected the name of a link of it%s",
		at ? setup_element_of(at)->name : "plugin", name, setup_owner_name(self), near_such_as(&near));
}

uint32_t setup_link(struct troupe_system *self, const struct troupe_element *at, const char *name)
{
	uint32_t link = setup_find_link(self, name);
	if (link == TROUPE_NOTHING)
		setup_refuse_link(self, at, name);
	return link;
}

uint32_t setup_links(const struct troupe_system *self, uint32_t *ret_count)
{
	const struct scene_model *model = setup_model_of(self);
	*ret_count = model ? model->link_count : 0;
	return model ? model->link_first : TROUPE_NOTHING;
}

uint32_t setup_joints(const struct troupe_system *self, uint32_t *ret_count)
{
	const struct scene_model *model = setup_model_of(self);
	*ret_count = model ? model->joint_count : 0;
	return model ? model->joint_first : TROUPE_NOTHING;
}

/* The name in the top-level model: "link", "nested::link". */
static const char *setup_in_model(const struct troupe_system *self, const char *full)
{
	size_t length = strlen(setup_model_of(self)->name);
	return !strncmp(full, setup_model_of(self)->name, length) && !strncmp(full + length, "::", 2)
		       ? full + length + 2
		       : full;
}

/* Handles come from plug-ins: those of other models, or of none, are 0 and "". */
static bool setup_own_link(const struct troupe_system *self, uint32_t link)
{
	const struct scene_model *m = setup_model_of(self);
	return m && link >= m->link_first && link - m->link_first < m->link_count;
}

static bool setup_own_joint(const struct troupe_system *self, uint32_t joint)
{
	const struct scene_model *m = setup_model_of(self);
	return m && joint >= m->joint_first && joint - m->joint_first < m->joint_count;
}

const char *setup_link_name(const struct troupe_system *self, uint32_t link)
{
	if (!setup_own_link(self, link))
		return "";
	return setup_in_model(self, system_of(self)->scene->links[link].scoped);
}

const char *setup_joint_name(const struct troupe_system *self, uint32_t joint)
{
	if (!setup_own_joint(self, joint))
		return "";
	return setup_in_model(self, system_of(self)->scene->joints[joint].scoped);
}

uint32_t setup_joint_axes(const struct troupe_system *self, uint32_t joint)
{
	if (!setup_own_joint(self, joint))
		return 0;
	return system_of(self)->scene->joints[joint].axis_count;
}

/* The link of that name in the file, of the model; the first link of the body if the file names none. */
static uint32_t setup_link_of_body(const struct troupe_system *self, uint32_t body)
{
	const struct scene *scene = system_of(self)->scene;
	const struct scene_model *model = setup_model_of(self);
	for (uint32_t l = model->link_first; body != SCENE_NONE && l < model->link_first + model->link_count; l++)
		if (scene->links[l].body == body)
			return l;
	return TROUPE_NOTHING;
}

uint32_t setup_joint_child(const struct troupe_system *self, uint32_t joint)
{
	if (!setup_own_joint(self, joint))
		return TROUPE_NOTHING;
	return setup_link_of_body(self, system_of(self)->scene->joints[joint].child);
}

uint32_t setup_joint_parent(const struct troupe_system *self, uint32_t joint)
{
	if (!setup_own_joint(self, joint))
		return TROUPE_NOTHING;
	return setup_link_of_body(self, system_of(self)->scene->joints[joint].parent);
}

uint32_t setup_frame_link(const struct troupe_system *self)
{
	const struct scene_model *model = setup_model_of(self);
	if (!model || !model->link_count)
		return TROUPE_NOTHING;
	return model->body_count ? setup_link_of_body(self, model->body_first + model->frame_body) : model->link_first;
}

/* A symmetric matrix in other axes: q M q*. */
static void setup_turn(struct quat q, struct troupe_inertia *inertia)
{
	struct vec3 row[3] = {{inertia->diagonal.x, inertia->off.x, inertia->off.y},
		{inertia->off.x, inertia->diagonal.y, inertia->off.z},
		{inertia->off.y, inertia->off.z, inertia->diagonal.z}};
	for (int i = 0; i < 3; i++)
		row[i] = quat_rotate(q, row[i]);
	struct vec3 column[3] = {
		{row[0].x, row[1].x, row[2].x}, {row[0].y, row[1].y, row[2].y}, {row[0].z, row[1].z, row[2].z}};
	for (int i = 0; i < 3; i++)
		column[i] = quat_rotate(q, column[i]);
	inertia->diagonal = troupe_vec3_make(column[0].x, column[1].y, column[2].z);
	inertia->off = troupe_vec3_make(column[1].x, column[2].x, column[2].y);
}

struct troupe_inertia setup_link_inertia(const struct troupe_system *self, uint32_t link)
{
	if (!setup_own_link(self, link))
		return (struct troupe_inertia){.mass = 0};
	const struct scene *scene = system_of(self)->scene;
	const struct scene_link *l = &scene->links[link];
	if (l->body == SCENE_NONE)
		return (struct troupe_inertia){.mass = 0};
	const struct scene_body *body = &scene->bodies[l->body];
	struct pose to_link = pose_inverse(l->in_body);
	struct troupe_inertia inertia = {
		body->mass, to_link.p, {body->ixx, body->iyy, body->izz}, {body->ixy, body->ixz, body->iyz}};
	setup_turn(to_link.q, &inertia);
	return inertia;
}

struct troupe_inertia setup_link_own_inertia(const struct troupe_system *self, uint32_t link)
{
	const struct scene_model *m = setup_model_of(self);
	if (!setup_own_link(self, link) || m->actor)
		return (struct troupe_inertia){.mass = 0};
	const struct sdf_model *from = &m->from->models.at[m->sdf];
	const struct sdf_inertial *own = m->from->links.at[from->link_first + (link - m->link_first)].inertial;
	struct troupe_inertia inertia = {
		own->mass, own->in_link.p, {own->ixx, own->iyy, own->izz}, {own->ixy, own->ixz, own->iyz}};
	setup_turn(own->in_link.q, &inertia);
	return inertia;
}

bool setup_link_add_mass(
	struct troupe_system *self, const struct troupe_element *at, uint32_t link, const double matrix[36])
{
	struct scene *scene = system_of(self)->all->scene;
	struct mat6 added;
	bool whole = true;
	if (!setup_of(self) || !setup_own_link(self, link))
		return false;
	uint32_t body = scene->links[link].body;
	if (body == SCENE_NONE || scene->bodies[body].kinematic)
		return true;
	for (int i = 0; i < 36; i++) {
		if (!isfinite(matrix[i]))
			return false;
		added.m[i / 6][i % 6] = (matrix[i] + matrix[i % 6 * 6 + i / 6]) / 2;
	}
	if (!scene_link_add_mass(scene, link, &added, &whole)) {
		setup_warn(self, at,
			"the added mass with the mass and inertia of link '%s' is not positive definite: expected that "
			"of a body in a fluid; it is left out",
			setup_link_name(self, link));
		return false;
	}
	if (!whole)
		setup_warn(self, at,
			"the added mass of link '%s' couples translation and rotation in a way that contacts and "
			"joints "
			"do not feel: they act as if this part were not there",
			setup_link_name(self, link));
	return true;
}

static const struct scene_geom *setup_geom_of(const struct troupe_system *self, uint32_t link, uint32_t index)
{
	const struct scene *scene = system_of(self)->scene;
	const struct scene_model *model = setup_model_of(self);
	for (uint32_t g = model->geom_first; g < model->geom_first + model->geom_count; g++)
		if (scene->geoms[g].link == link && !index--)
			return &scene->geoms[g];
	return NULL;
}

uint32_t setup_link_solids(const struct troupe_system *self, uint32_t link)
{
	if (!setup_own_link(self, link))
		return 0;
	uint32_t count = 0;
	while (setup_geom_of(self, link, count))
		count++;
	return count;
}

static double setup_volume_of(const struct scene_geom *geom)
{
	const struct vec3 s = geom->size;
	switch (geom->kind) {
	case SCENE_BOX:
		return 8 * s.x * s.y * s.z;
	case SCENE_SPHERE:
		return 4.0 / 3 * M_PI * s.x * s.x * s.x;
	case SCENE_CYLINDER:
		return M_PI * s.x * s.x * 2 * s.z;
	case SCENE_CAPSULE:
		return M_PI * s.x * s.x * (2 * s.z + 4.0 / 3 * s.x);
	case SCENE_CONE:
		return M_PI * s.x * s.x * 2 * s.z / 3;
	case SCENE_ELLIPSOID:
		return 4.0 / 3 * M_PI * s.x * s.y * s.z;
	default:
		return 0;
	}
}

/* The corners of the triangles of a mesh, in its frame; their number. out: NULL: only that. */
static uint32_t setup_corners_of(const struct scene_geom *geom, struct vec3 *out)
{
	uint32_t count = 0;
	const struct hull *hull = geom->kind == SCENE_CONVEX ? geom->hull : NULL;
	const struct trimesh *mesh = geom->kind == SCENE_MESH ? scene_trimesh(geom) : NULL;
	for (uint32_t f = 0; hull && f < hull->faces.count; f++) {
		const uint32_t *corners = hull->corners.at + hull->faces.at[f].first;
		for (uint32_t i = 2; i < hull->faces.at[f].count; i++, count += 3)
			for (uint32_t c = 0; out && c < 3; c++)
				out[count + c] = hull->points.at[corners[c ? i - 2 + c : 0]];
	}
	for (uint32_t i = 0; mesh && i < 3 * mesh->triangle_count; i++, count++)
		if (out)
			out[count] = mesh->points[mesh->corners[i]];
	return count;
}

/* The volume that the triangles enclose, and its centre: the sum of the tetrahedra from one point. */
static double setup_enclosed(const struct vec3 *corners, uint32_t count, struct vec3 *ret_centre)
{
	double volume = 0;
	struct vec3 moment = {0, 0, 0}, o = count ? corners[0] : moment;
	for (uint32_t i = 0; i + 2 < count; i += 3) {
		struct vec3 a = vec3_sub(corners[i], o), b = vec3_sub(corners[i + 1], o);
		struct vec3 c = vec3_sub(corners[i + 2], o);
		double part = vec3_dot(a, vec3_cross(b, c)) / 6;
		volume += part;
		moment = vec3_add(moment, vec3_scale(vec3_add(a, vec3_add(b, c)), part / 4));
	}
	*ret_centre = volume > 0 ? vec3_add(o, vec3_scale(moment, 1 / volume)) : o;
	return fmax(volume, 0);
}

struct troupe_vec3 *setup_link_triangles(
	struct troupe_system *self, uint32_t link, uint32_t index, uint32_t *ret_corners)
{
	const struct scene_geom *geom = setup_own_link(self, link) ? setup_geom_of(self, link, index) : NULL;
	uint32_t count = geom ? setup_corners_of(geom, NULL) : 0;
	*ret_corners = count;
	if (!count)
		return NULL;
	struct pose to_link = pose_inverse(system_of(self)->scene->links[link].in_body);
	struct vec3 *corners = mem_alloc(count * sizeof *corners);
	struct troupe_vec3 *out = setup_alloc(self, count * sizeof *out);
	setup_corners_of(geom, corners);
	for (uint32_t i = 0; i < count; i++)
		out[i] = pose_point(to_link, pose_point(geom->reference, corners[i]));
	free(corners);
	return out;
}

static double setup_mesh_volume(const struct scene_geom *geom, struct vec3 *ret_centre)
{
	uint32_t count = setup_corners_of(geom, NULL);
	struct vec3 *corners = mem_alloc((count + 1) * sizeof *corners);
	setup_corners_of(geom, corners);
	double volume = setup_enclosed(corners, count, ret_centre);
	free(corners);
	return volume;
}

struct troupe_solid setup_link_solid(const struct troupe_system *self, uint32_t link, uint32_t index)
{
	static const enum troupe_solid_kind kinds[] = {
		[SCENE_BOX] = TROUPE_SOLID_BOX,
		[SCENE_SPHERE] = TROUPE_SOLID_SPHERE,
		[SCENE_CYLINDER] = TROUPE_SOLID_CYLINDER,
		[SCENE_CAPSULE] = TROUPE_SOLID_CAPSULE,
		[SCENE_PLANE] = TROUPE_SOLID_PLANE,
		[SCENE_CONE] = TROUPE_SOLID_CONE,
		[SCENE_ELLIPSOID] = TROUPE_SOLID_ELLIPSOID,
		[SCENE_CONVEX] = TROUPE_SOLID_CONVEX,
		[SCENE_MESH] = TROUPE_SOLID_MESH,
		[SCENE_HEIGHTMAP] = TROUPE_SOLID_HEIGHTMAP,
	};
	const struct scene_geom *geom = setup_own_link(self, link) ? setup_geom_of(self, link, index) : NULL;
	if (!geom)
		return (struct troupe_solid){.volume = 0};
	struct pose to_link = pose_inverse(system_of(self)->scene->links[link].in_body);
	struct pose pose = pose_mul(to_link, geom->reference);
	struct vec3 centre = {0, 0, geom->kind == SCENE_CONE ? -geom->size.z / 2 : 0};
	bool is_mesh = geom->kind == SCENE_CONVEX || geom->kind == SCENE_MESH;
	double volume = is_mesh ? setup_mesh_volume(geom, &centre) : setup_volume_of(geom);
	return (struct troupe_solid){kinds[geom->kind], geom->size, pose_flat(pose), volume, pose_point(pose, centre)};
}

bool setup_link_wind(const struct troupe_system *self, uint32_t link)
{
	if (!setup_own_link(self, link))
		return false;
	return system_of(self)->scene->links[link].wind;
}

static struct pose setup_model_in_file(const struct scene *scene, const struct scene_model *model)
{
	if (!model->body_count)
		return model->reference;
	return pose_mul(scene->bodies[model->body_first + model->frame_body].reference, model->in_body);
}

struct troupe_pose setup_link_in_model(const struct troupe_system *self, uint32_t link)
{
	if (!setup_own_link(self, link))
		return pose_flat(POSE_IDENTITY);
	const struct scene *scene = system_of(self)->scene;
	const struct scene_link *l = &scene->links[link];
	struct pose in_world =
		l->body == SCENE_NONE ? l->reference : pose_mul(scene->bodies[l->body].reference, l->in_body);
	return pose_flat(pose_mul(pose_inverse(setup_model_in_file(scene, setup_model_of(self))), in_world));
}

struct troupe_vec3 setup_joint_in_model(const struct troupe_system *self, uint32_t joint)
{
	if (!setup_own_joint(self, joint))
		return (struct vec3){0, 0, 0};
	const struct scene *scene = system_of(self)->scene;
	return pose_point(pose_inverse(setup_model_in_file(scene, setup_model_of(self))), scene->joints[joint].anchor);
}

struct troupe_vec3 setup_gravity(const struct troupe_system *self)
{
	return system_of(self)->scene->gravity;
}

struct troupe_vec3 setup_wind(const struct troupe_system *self)
{
	return system_of(self)->scene->wind;
}

/* --- words and topics --------------------------------------------------------------------------------------------- */

uint32_t setup_add_words(struct troupe_system *self, const char *name, enum troupe_word_kind kind, uint32_t count)
{
	struct system *system = setup_own(self);
	uint32_t first = system->words;
	if (!system->setup)
		return 0;
	if (count > SYSTEM_WORDS_MAX - first) {
		struct troupe_error why;
		setup_keep(system,
			fail(&why, TROUPE_ELIMIT,
				"%s:%u: plugin '%s' needs %" PRIu64 " words of state; the limit is %d",
				system->plugin->element->file, system->plugin->element->line, self->kind->names[0],
				(uint64_t)first + count, SYSTEM_WORDS_MAX),
			&why);
		return 0;
	}
	vec_push(&system->names, (struct system_words){arena_strdup(system->setup->arena, name), kind, count});
	system->words += count;
	return first;
}

/* The name, cleaned; NULL: it is too long, or empty. */
static const char *setup_topic_name(struct troupe_system *self, const struct troupe_element *at, const char *topic)
{
	char *name = arena_printf(setup_of(self)->arena, "/%s", topic ? topic : "");
	topic_name_clean(name);
	if (name[1] && strlen(name) <= TOPIC_BYTES_MAX)
		return name;
	setup_refuse(self, at, "topic '%.40s' has %zu bytes: expected 2 to %d", name, strlen(name), TOPIC_BYTES_MAX);
	return NULL;
}

static message_type setup_type_of(struct troupe_system *self, const struct troupe_element *at, const char *type)
{
	message_type found = type ? type_find(type) : NULL;
	if (!found)
		setup_refuse(self, at, "type '%.100s' is not known: expected one of gz.msgs or troupe.msgs",
			type ? type : "");
	return found;
}

static bool setup_too_many(struct system *system, const char *does)
{
	char text[TEXT_BYTES_MAX];
	(void)snprintf(text, sizeof text, "the plugin %s more than %d topics", does, SYSTEM_TOPICS_MAX);
	return setup_end_with(system, TROUPE_ELIMIT, system->plugin->element, text);
}

bool setup_take(struct troupe_system *self, const struct troupe_element *at, const char *topic, const char *type,
	uint32_t input, uint32_t drives)
{
	struct system *system = setup_own(self);
	if (!system->setup)
		return false;
	const char *name = setup_topic_name(self, at, topic);
	message_type found = setup_type_of(self, at, type ? type : "gz.msgs.StringMsg");
	if (!name || !found)
		return false;
	if (system->topics.count == SYSTEM_TOPICS_MAX)
		return setup_too_many(system, "has");
	vec_push(&system->topics, (struct system_topic){name, found, input, drives, NULL, !type});
	return true;
}

bool setup_serve(struct troupe_system *self, const struct troupe_element *at, const char *name, const char *type,
	const char *reply, uint32_t input)
{
	struct system *system = setup_own(self);
	message_type found = setup_type_of(self, at, reply);
	if (!found || !setup_take(self, at, name, type, input, TROUPE_NOTHING))
		return false;
	system->topics.at[system->topics.count - 1].reply = found;
	return true;
}

/* Whether the plug-in has what the output needs. */
static bool setup_check_output(
	struct troupe_system *self, const struct troupe_element *at, const struct troupe_output *output)
{
	const struct troupe_kind *kind = self->kind;
	bool reckons = output->gives == TROUPE_GIVES_ODOMETRY || output->gives == TROUPE_GIVES_TF;
	if ((uint32_t)output->gives > TROUPE_GIVES_POSE)
		return setup_refuse(self, at, "output '%.100s' gives %d: expected one of enum troupe_gives",
			output->name, (int)output->gives);
	if (!(output->rate_hz >= 0 && output->rate_hz <= RATE_MAX))
		return setup_refuse(self, at, "output '%.100s' has a rate of %g Hz: expected 0 to %g", output->name,
			output->rate_hz, RATE_MAX);
	if (output->gives == TROUPE_GIVES_REPORT && !kind->report)
		return setup_refuse(self, at, "output '%.100s' needs report(), which '%.100s' has not", output->name,
			kind->names[0]);
	if (reckons && !kind->reckon)
		return setup_refuse(self, at, "output '%.100s' needs reckon(), which '%.100s' has not", output->name,
			kind->names[0]);
	return true;
}

bool setup_give(struct troupe_system *self, const struct troupe_element *at, const struct troupe_output *output,
	uint32_t *ret_output)
{
	struct system *system = setup_own(self);
	if (!system->setup)
		return false;
	struct arena *arena = system->setup->arena;
	const char *name = setup_topic_name(self, at, output->name);
	bool free_type = output->gives == TROUPE_GIVES_REPORT || output->gives == TROUPE_GIVES_PUBLISHED;
	message_type type = free_type ? setup_type_of(self, at, output->type) : NULL;
	if (!name || (free_type && !type) || !setup_check_output(self, at, output))
		return false;
	if (system->outputs.count == SYSTEM_TOPICS_MAX)
		return setup_too_many(system, "publishes");
	struct system_output copy = {*output, type};
	copy.def.name = name;
	copy.def.type = type ? type->name : NULL;
	copy.def.frame = output->frame ? arena_strdup(arena, output->frame) : NULL;
	copy.def.child_frame = output->child_frame ? arena_strdup(arena, output->child_frame) : NULL;
	copy.def.only = output->only ? arena_strdup(arena, output->only) : NULL;
	if (ret_output)
		*ret_output = system->outputs.count;
	vec_push(&system->outputs, copy);
	return true;
}
