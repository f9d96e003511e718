/* Welds the links of models into bodies: links that fixed joints connect are one rigid body, with the sum of their
 * masses and inertias.
 *
 * Fixed joints inside one top-level model weld links; a fixed joint to the world makes the body kinematic. A fixed
 * joint between different models stays a joint, because models come and go separately, and so does one that a
 * force-torque sensor reads: the force across a weld is not known. */
#include "scene/bend.h"
#include "scene/compile.h"

static uint32_t weld_top_model(const struct compile *c, uint32_t link)
{
	return c->top[c->sdf->links.at[link].model];
}

static uint32_t weld_root(struct compile *c, uint32_t link)
{
	while (c->weld[link] != link)
		link = c->weld[link] = c->weld[c->weld[link]];
	return link;
}

static void weld_together(struct compile *c, uint32_t a, uint32_t b)
{
	uint32_t ra = weld_root(c, a), rb = weld_root(c, b);
	c->weld[MAX(ra, rb)] = MIN(ra, rb); /* the lowest link is the root, and its name is the name of the body */
}

bool scene_in_world(const struct compile *c, uint32_t link)
{
	return link == SDF_NONE || c->link_static[link];
}

void scene_weld_links(struct compile *c)
{
	const struct sdf_world *sdf = c->sdf;
	for (uint32_t i = 0; i < sdf->links.count; i++) {
		c->weld[i] = i;
		const struct sdf_model *model = &sdf->models.at[sdf->links.at[i].model];
		c->link_static[i] = c->fixed[c->top[sdf->links.at[i].model]];
		c->link_held[i] = model->is_static || sdf->links.at[i].kinematic;
	}
	for (uint32_t i = 0; i < sdf->joints.count; i++) {
		const struct sdf_joint *joint = &sdf->joints.at[i];
		if (joint->kind != SDF_FIXED || c->joint_measured[i])
			continue;
		bool parent_world = scene_in_world(c, joint->parent), child_world = scene_in_world(c, joint->child);
		if (parent_world && child_world)
			continue;
		uint32_t held = parent_world ? joint->child : joint->parent;
		if (parent_world || child_world) {
			c->link_held[held] = true;
			c->link_fixed_by[held] = c->link_fixed_by[held] ? c->link_fixed_by[held] : joint->name;
		} else if (weld_top_model(c, joint->parent) == weld_top_model(c, joint->child)) {
			weld_together(c, joint->parent, joint->child);
		}
	}
	for (uint32_t i = 0; i < sdf->links.count; i++) {
		uint32_t root = weld_root(c, i);
		if (c->link_held[i])
			c->link_held[root] = true;
		if (!c->link_fixed_by[root])
			c->link_fixed_by[root] = c->link_fixed_by[i];
	}
}

/* --- bodies ----------------------------------------------------------------------------------------------------- */

static struct mat3 weld_rotate_inertia(struct mat3 r, const struct sdf_inertial *in)
{
	double i[3][3] = {{in->ixx, in->ixy, in->ixz}, {in->ixy, in->iyy, in->iyz}, {in->ixz, in->iyz, in->izz}};
	struct mat3 half, whole;
	for (int a = 0; a < 3; a++)
		for (int b = 0; b < 3; b++)
			half.m[a][b] = r.m[a][0] * i[0][b] + r.m[a][1] * i[1][b] + r.m[a][2] * i[2][b];
	for (int a = 0; a < 3; a++)
		for (int b = 0; b < 3; b++)
			whole.m[a][b] = half.m[a][0] * r.m[b][0] + half.m[a][1] * r.m[b][1] + half.m[a][2] * r.m[b][2];
	return whole;
}

/* Adds the inertia of one link, moved from the link's centre of mass to `about` (both in the body's axes). */
static void weld_add_inertia(
	struct scene_body *body, const struct sdf_inertial *in, struct pose in_axes, struct vec3 about)
{
	struct mat3 i = weld_rotate_inertia(quat_matrix(in_axes.q), in);
	struct vec3 d = vec3_sub(in_axes.p, about);
	body->ixx += i.m[0][0] + in->mass * (d.y * d.y + d.z * d.z);
	body->iyy += i.m[1][1] + in->mass * (d.x * d.x + d.z * d.z);
	body->izz += i.m[2][2] + in->mass * (d.x * d.x + d.y * d.y);
	body->ixy += i.m[0][1] - in->mass * d.x * d.y;
	body->ixz += i.m[0][2] - in->mass * d.x * d.z;
	body->iyz += i.m[1][2] - in->mass * d.y * d.z;
}

static void weld_warn_undivided(struct compile *c, const struct sdf_link *link)
{
	const struct sdf_element *at = sdf_child(sdf_child(link->element, "inertial", NULL), "fluid_added_mass", NULL);
	if (at)
		scene_warn(c, NULL,
			"%s:%u: <fluid_added_mass> of link '%.80s' couples translation and rotation (xp to zr) in a "
			"way that contacts and joints do not feel: they act as if this part were not there",
			at->file, at->line, link->scoped);
}

static void weld_add_fluid(struct compile *c, struct scene_body *body, uint32_t root, uint32_t first, uint32_t count)
{
	const struct sdf_link *links = c->sdf->links.at, *link = NULL;
	VEC(struct scene_added_part) parts = {0};
	for (uint32_t i = first; i < first + count && !body->kinematic; i++) {
		if (!links[i].inertial->added || weld_root(c, i) != root)
			continue;
		struct vec3 com = pose_point(sdf_link_in_world(c->sdf, i), links[i].inertial->in_link.p);
		struct pose in_world = {com, quat_unit(sdf_link_in_world(c->sdf, i).q)};
		struct pose in_body = pose_mul(pose_inverse(body->reference), in_world);
		vec_push(&parts, ((struct scene_added_part){*links[i].inertial->added, in_body}));
		link = link ? link : &links[i];
	}
	if (parts.count && !scene_add_added(c->arena, body, parts.at, parts.count))
		weld_warn_undivided(c, link);
	vec_free(&parts);
}

static void weld_measure_body(struct compile *c, struct scene_body *body, uint32_t root, uint32_t first, uint32_t count)
{
	const struct sdf_link *links = c->sdf->links.at;
	struct pose axes = sdf_link_in_world(c->sdf, root);
	struct vec3 moment = {0, 0, 0};
	for (uint32_t i = first; i < first + count; i++) {
		if (weld_root(c, i) != root)
			continue;
		struct pose com = pose_mul(
			pose_mul(pose_inverse(axes), sdf_link_in_world(c->sdf, i)), links[i].inertial->in_link);
		body->mass += links[i].inertial->mass;
		moment = vec3_add(moment, vec3_scale(com.p, links[i].inertial->mass));
		body->gravity |= links[i].gravity;
		body->commanded = body->commanded && !c->sdf->models.at[links[i].model].is_static;
		body->linear_damping = MAX(body->linear_damping, links[i].linear_damping);
		body->angular_damping = MAX(body->angular_damping, links[i].angular_damping);
	}
	struct vec3 com = vec3_scale(moment, 1 / body->mass);
	for (uint32_t i = first; i < first + count; i++)
		if (weld_root(c, i) == root)
			weld_add_inertia(body, links[i].inertial,
				pose_mul(pose_mul(pose_inverse(axes), sdf_link_in_world(c->sdf, i)),
					links[i].inertial->in_link),
				com);
	body->reference = (struct pose){pose_point(axes, com), quat_unit(axes.q)};
	weld_add_fluid(c, body, root, first, count);
}

void scene_add_bodies(struct compile *c, uint32_t model, uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++) {
		if (weld_root(c, i) != i)
			continue;
		struct scene_body *body = vec_append(&c->bodies, 1);
		body->name = c->sdf->links.at[i].scoped;
		body->model = model;
		body->kinematic = c->link_held[i];
		body->fixed_by = c->link_fixed_by[i];
		body->commanded = body->kinematic && !body->fixed_by;
		c->body_of_root[i] = c->bodies.count - 1;
		weld_measure_body(c, body, i, first, count);
	}
}

void scene_add_links(struct compile *c, uint32_t model, bool is_static, uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++) {
		const struct sdf_link *from = &c->sdf->links.at[i];
		struct scene_link link = {.name = from->name,
			.scoped = from->scoped,
			.model = model,
			.body = SCENE_NONE,
			.in_body = sdf_link_in_world(c->sdf, i),
			.self_collide = from->self_collide,
			.is_static = c->sdf->models.at[from->model].is_static,
			.wind = from->wind};
		if (!is_static) {
			link.body = c->body_of_root[weld_root(c, i)];
			link.in_body = pose_mul(pose_inverse(c->bodies.at[link.body].reference), link.in_body);
		}
		c->link_index[i] = c->links.count;
		vec_push(&c->links, link);
	}
}
