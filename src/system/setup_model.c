/* The host while a plug-in is configured: the joints, links and shapes of its model.
 *
 * A name is that of a part of the model in which the <plugin> stands, which may be a nested one. */
#include "system/setup.h"

#include "base/near.h"
#include "geom/geom.h"
#include "mesh/trimesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct scene_model *setup_model_model_of(const struct troupe_system *self)
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
	return setup_model_model_of(self) ? setup_model_model_of(self)->name : system->scene->name;
}

const struct troupe_element *setup_sibling(const struct troupe_system *self, const struct troupe_element *after)
{
	const struct scene_model *model = setup_model_model_of(self);
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
	return !setup_model_model_of(self) || setup_model_model_of(self)->is_static;
}

bool setup_must_move(struct troupe_system *self)
{
	if (!setup_is_static(self))
		return true;
	if (!setup_model_model_of(self))
		return setup_refuse(self, NULL, "the plugin is in <world>: expected it in a <model>");
	return setup_leave_out(self, NULL, "model '%s' is static: expected a model that this plugin can move",
		setup_model_model_of(self)->name);
}

/* The full name of a part of the model that the <plugin> stands in, while the plug-in is configured. */
static char *setup_model_scoped(const struct troupe_system *self, const char *name)
{
	const struct scene_model *model = setup_model_model_of(self);
	struct setup *setup = setup_of(self);
	return arena_printf(&setup->scratch, "%s::%s", setup->owner ? setup->owner->scoped : model->name, name);
}

/* Offers a part of the model by its name there. */
static void setup_model_offer(const struct troupe_system *self, struct near *near, const char *full)
{
	const char *owner = setup_model_scoped(self, "");
	size_t length = strlen(owner);
	if (!strncmp(full, owner, length))
		near_offer(near, full + length);
}

static const struct sdf_joint *setup_model_find_in_file(const struct scene_model *model, const char *name)
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
static void setup_model_refuse_joint(
	struct troupe_system *self, const struct troupe_element *at, const char *name, const char *full)
{
	const struct scene *scene = system_of(self)->scene;
	const struct scene_model *model = setup_model_model_of(self);
	const struct sdf_joint *joint = setup_model_find_in_file(model, full);
	const char *element = at ? setup_element_of(at)->name : "plugin";
	if (joint) {
		setup_leave_out(self, at, "<%s>: joint '%s' is of type %s: expected one that can be driven", element,
			name, sdf_joint_kind_text(joint->kind));
		return;
	}
	struct near near = near_to(name);
	for (uint32_t i = 0; i < model->joint_count; i++)
		setup_model_offer(self, &near, scene->joints[model->joint_first + i].scoped);
	setup_leave_out(self, at, "<%s>: there is no joint '%s' in model '%s': expected %s%s", element, name,
		setup_owner_name(self), near.offered ? "the name of a joint of it" : "it to have joints",
		near_such_as(&near));
}

uint32_t setup_find_joint(const struct troupe_system *self, const char *name, bool any)
{
	const struct scene *scene = system_of(self)->scene;
	if (!setup_model_model_of(self))
		return TROUPE_NOTHING;
	uint32_t joint = scene_find_joint(scene, self->model, setup_model_scoped(self, name));
	return joint != SCENE_NONE && (any || scene->joints[joint].axis_count) ? joint : TROUPE_NOTHING;
}

uint32_t setup_joint(struct troupe_system *self, const struct troupe_element *at, const char *name)
{
	if (!setup_must_move(self))
		return TROUPE_NOTHING;
	uint32_t joint = setup_find_joint(self, name, false);
	if (joint == TROUPE_NOTHING)
		setup_model_refuse_joint(self, at, name, setup_model_scoped(self, name));
	return joint;
}

uint32_t setup_find_link(const struct troupe_system *self, const char *name)
{
	return setup_model_model_of(self)
		       ? scene_find_link(system_of(self)->scene, self->model, setup_model_scoped(self, name))
		       : TROUPE_NOTHING;
}

static void setup_model_refuse_link(struct troupe_system *self, const struct troupe_element *at, const char *name)
{
	const struct scene_model *model = setup_model_model_of(self);
	struct near near = near_to(name);
	for (uint32_t i = 0; model && i < model->link_count; i++)
		setup_model_offer(self, &near, system_of(self)->scene->links[model->link_first + i].scoped);
	setup_leave_out(self, at, "<%s>: there is no link '%s' in model '%s': expected the name of a link of it%s",
		at ? setup_element_of(at)->name : "plugin", name, setup_owner_name(self), near_such_as(&near));
}

uint32_t setup_link(struct troupe_system *self, const struct troupe_element *at, const char *name)
{
	uint32_t link = setup_find_link(self, name);
	if (link == TROUPE_NOTHING)
		setup_model_refuse_link(self, at, name);
	return link;
}

uint32_t setup_links(const struct troupe_system *self, uint32_t *ret_count)
{
	const struct scene_model *model = setup_model_model_of(self);
	*ret_count = model ? model->link_count : 0;
	return model ? model->link_first : TROUPE_NOTHING;
}

uint32_t setup_joints(const struct troupe_system *self, uint32_t *ret_count)
{
	const struct scene_model *model = setup_model_model_of(self);
	*ret_count = model ? model->joint_count : 0;
	return model ? model->joint_first : TROUPE_NOTHING;
}

/* The name in the top-level model: "link", "nested::link". */
static const char *setup_model_in_model(const struct troupe_system *self, const char *full)
{
	size_t length = strlen(setup_model_model_of(self)->name);
	return !strncmp(full, setup_model_model_of(self)->name, length) && !strncmp(full + length, "::", 2)
		       ? full + length + 2
		       : full;
}

/* Handles come from plug-ins: those of other models, or of none, are 0 and "". */
static bool setup_model_own_link(const struct troupe_system *self, uint32_t link)
{
	const struct scene_model *m = setup_model_model_of(self);
	return m && link >= m->link_first && link - m->link_first < m->link_count;
}

static bool setup_model_own_joint(const struct troupe_system *self, uint32_t joint)
{
	const struct scene_model *m = setup_model_model_of(self);
	return m && joint >= m->joint_first && joint - m->joint_first < m->joint_count;
}

const char *setup_link_name(const struct troupe_system *self, uint32_t link)
{
	if (!setup_model_own_link(self, link))
		return "";
	return setup_model_in_model(self, system_of(self)->scene->links[link].scoped);
}

const char *setup_joint_name(const struct troupe_system *self, uint32_t joint)
{
	if (!setup_model_own_joint(self, joint))
		return "";
	return setup_model_in_model(self, system_of(self)->scene->joints[joint].scoped);
}

uint32_t setup_joint_axes(const struct troupe_system *self, uint32_t joint)
{
	if (!setup_model_own_joint(self, joint))
		return 0;
	return system_of(self)->scene->joints[joint].axis_count;
}

/* The link of that name in the file, of the model; the first link of the body if the file names none. */
static uint32_t setup_model_link_of_body(const struct troupe_system *self, uint32_t body)
{
	const struct scene *scene = system_of(self)->scene;
	const struct scene_model *model = setup_model_model_of(self);
	for (uint32_t l = model->link_first; body != SCENE_NONE && l < model->link_first + model->link_count; l++)
		if (scene->links[l].body == body)
			return l;
	return TROUPE_NOTHING;
}

uint32_t setup_joint_child(const struct troupe_system *self, uint32_t joint)
{
	if (!setup_model_own_joint(self, joint))
		return TROUPE_NOTHING;
	return setup_model_link_of_body(self, system_of(self)->scene->joints[joint].child);
}

uint32_t setup_joint_parent(const struct troupe_system *self, uint32_t joint)
{
	if (!setup_model_own_joint(self, joint))
		return TROUPE_NOTHING;
	return setup_model_link_of_body(self, system_of(self)->scene->joints[joint].parent);
}

uint32_t setup_frame_link(const struct troupe_system *self)
{
	const struct scene_model *model = setup_model_model_of(self);
	if (!model || !model->link_count)
		return TROUPE_NOTHING;
	return model->body_count ? setup_model_link_of_body(self, model->body_first + model->frame_body)
				 : model->link_first;
}

/* A symmetric matrix in other axes: q M q*. */
static void setup_model_turn(struct quat q, struct troupe_inertia *inertia)
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
	if (!setup_model_own_link(self, link))
		return (struct troupe_inertia){.mass = 0};
	const struct scene *scene = system_of(self)->scene;
	const struct scene_link *l = &scene->links[link];
	if (l->body == SCENE_NONE)
		return (struct troupe_inertia){.mass = 0};
	const struct scene_body *body = &scene->bodies[l->body];
	struct pose to_link = pose_inverse(l->in_body);
	struct troupe_inertia inertia = {
		body->mass, to_link.p, {body->ixx, body->iyy, body->izz}, {body->ixy, body->ixz, body->iyz}};
	setup_model_turn(to_link.q, &inertia);
	return inertia;
}

struct troupe_inertia setup_link_own_inertia(const struct troupe_system *self, uint32_t link)
{
	const struct scene_model *m = setup_model_model_of(self);
	if (!setup_model_own_link(self, link) || m->actor)
		return (struct troupe_inertia){.mass = 0};
	const struct sdf_model *from = &m->from->models.at[m->sdf];
	const struct sdf_inertial *own = m->from->links.at[from->link_first + (link - m->link_first)].inertial;
	struct troupe_inertia inertia = {
		own->mass, own->in_link.p, {own->ixx, own->iyy, own->izz}, {own->ixy, own->ixz, own->iyz}};
	setup_model_turn(own->in_link.q, &inertia);
	return inertia;
}

bool setup_link_add_mass(
	struct troupe_system *self, const struct troupe_element *at, uint32_t link, const double matrix[36])
{
	struct scene *scene = system_of(self)->all->scene;
	struct mat6 added;
	bool whole = true;
	if (!setup_of(self) || !setup_model_own_link(self, link))
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

static const struct scene_geom *setup_model_geom_of(const struct troupe_system *self, uint32_t link, uint32_t index)
{
	const struct scene *scene = system_of(self)->scene;
	const struct scene_model *model = setup_model_model_of(self);
	for (uint32_t g = model->geom_first; g < model->geom_first + model->geom_count; g++)
		if (scene->geoms[g].link == link && !index--)
			return &scene->geoms[g];
	return NULL;
}

uint32_t setup_link_solids(const struct troupe_system *self, uint32_t link)
{
	if (!setup_model_own_link(self, link))
		return 0;
	uint32_t count = 0;
	while (setup_model_geom_of(self, link, count))
		count++;
	return count;
}

static double setup_model_volume_of(const struct scene_geom *geom)
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
static uint32_t setup_model_corners_of(const struct scene_geom *geom, struct vec3 *out)
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
static double setup_model_enclosed(const struct vec3 *corners, uint32_t count, struct vec3 *ret_centre)
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
	const struct scene_geom *geom =
		setup_model_own_link(self, link) ? setup_model_geom_of(self, link, index) : NULL;
	uint32_t count = geom ? setup_model_corners_of(geom, NULL) : 0;
	*ret_corners = count;
	if (!count)
		return NULL;
	struct pose to_link = pose_inverse(system_of(self)->scene->links[link].in_body);
	struct vec3 *corners = mem_alloc(count * sizeof *corners);
	struct troupe_vec3 *out = setup_alloc(self, count * sizeof *out);
	setup_model_corners_of(geom, corners);
	for (uint32_t i = 0; i < count; i++)
		out[i] = pose_point(to_link, pose_point(geom->in_body, corners[i]));
	free(corners);
	return out;
}

static double setup_model_mesh_volume(const struct scene_geom *geom, struct vec3 *ret_centre)
{
	uint32_t count = setup_model_corners_of(geom, NULL);
	struct vec3 *corners = mem_alloc((count + 1) * sizeof *corners);
	setup_model_corners_of(geom, corners);
	double volume = setup_model_enclosed(corners, count, ret_centre);
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
	const struct scene_geom *geom =
		setup_model_own_link(self, link) ? setup_model_geom_of(self, link, index) : NULL;
	if (!geom)
		return (struct troupe_solid){.volume = 0};
	struct pose to_link = pose_inverse(system_of(self)->scene->links[link].in_body);
	struct pose pose = pose_mul(to_link, geom->in_body);
	struct vec3 centre = {0, 0, geom->kind == SCENE_CONE ? -geom->size.z / 2 : 0};
	bool is_mesh = geom->kind == SCENE_CONVEX || geom->kind == SCENE_MESH;
	double volume = is_mesh ? setup_model_mesh_volume(geom, &centre) : setup_model_volume_of(geom);
	return (struct troupe_solid){kinds[geom->kind], geom->size, pose_flat(pose), volume, pose_point(pose, centre)};
}

bool setup_link_wind(const struct troupe_system *self, uint32_t link)
{
	if (!setup_model_own_link(self, link))
		return false;
	return system_of(self)->scene->links[link].wind;
}

static struct pose setup_model_model_in_file(const struct scene *scene, const struct scene_model *model)
{
	if (!model->body_count)
		return scene_first_pose(model);
	return pose_mul(scene->bodies[model->body_first + model->frame_body].reference, model->in_body);
}

struct troupe_pose setup_link_in_model(const struct troupe_system *self, uint32_t link)
{
	if (!setup_model_own_link(self, link))
		return pose_flat(POSE_IDENTITY);
	const struct scene *scene = system_of(self)->scene;
	const struct scene_link *l = &scene->links[link];
	struct pose in_world = l->body == SCENE_NONE ? scene_link_first(scene, link)
						     : pose_mul(scene->bodies[l->body].reference, l->in_body);
	return pose_flat(
		pose_mul(pose_inverse(setup_model_model_in_file(scene, setup_model_model_of(self))), in_world));
}

struct troupe_vec3 setup_joint_in_model(const struct troupe_system *self, uint32_t joint)
{
	if (!setup_model_own_joint(self, joint))
		return (struct vec3){0, 0, 0};
	const struct scene *scene = system_of(self)->scene;
	return pose_point(pose_inverse(setup_model_model_in_file(scene, setup_model_model_of(self))),
		scene->joints[joint].anchor);
}

struct troupe_vec3 setup_gravity(const struct troupe_system *self)
{
	return system_of(self)->scene->gravity;
}

struct troupe_vec3 setup_wind(const struct troupe_system *self)
{
	return system_of(self)->scene->wind;
}
