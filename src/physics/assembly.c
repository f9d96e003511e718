/* Makes assemblies. The forest is found breadth first, so that it is as flat as it can be: the cost of a row grows with
 * the depth of its bodies. A tree begins at the ground if a joint holds it there, else at its lowest body. Joints are
 * tried in the order of the scene. */
#include "physics/assembly.h"

#include "physics/internal.h"

#include <stdlib.h>
#include <string.h>

struct assembly_list { /* SCENE_NONE: the end */
	uint32_t *first, *next;
};

/* A group while its assemblies are made. Bodies that forces move are numbered in the order of the scene. */
struct assembly_plan {
	const struct physics *physics;
	const struct scene *scene;
	const struct group *group;
	VEC(uint32_t) bodies;
	VEC(struct assembly_joint) joints;
	bool *used;            /* [joints.count] edge of the forest */
	uint32_t *set, *place; /* [bodies.count] union-find; place in its assembly */
	VEC(uint32_t) coupled; /* joints with couplings */
	/* Bodies, joints and coupled joints of each component, as lists: the first by the root, then the next of each.
	 */
	struct assembly_list of_bodies, of_joints, of_coupled;
	double *fields; /* of the edges of the assembly that is being made */
};

#define ASSEMBLY_NO_PLACE UINT32_MAX
enum { ROWS_OF_LINK = 6 }; /* of added mass */

/* --- bodies and joints of the group ------------------------------------------------------------------------------- */

/* The number of a body; SCENE_NONE: ground. */
static uint32_t assembly_plan_number(const struct assembly_plan *plan, uint32_t body)
{
	if (body == SCENE_NONE || plan->scene->bodies[body].kinematic)
		return SCENE_NONE;
	uint32_t lo = 0, hi = plan->bodies.count;
	while (lo + 1 < hi) {
		uint32_t mid = (lo + hi) / 2;
		if (plan->bodies.at[mid] <= body)
			lo = mid;
		else
			hi = mid;
	}
	return lo < plan->bodies.count && plan->bodies.at[lo] == body ? lo : SCENE_NONE;
}

static enum lanes_joint assembly_motion_of(enum sdf_joint_kind kind)
{
	switch (kind) {
	case SDF_REVOLUTE:
		return LANES_HINGE;
	case SDF_PRISMATIC:
		return LANES_SLIDER;
	case SDF_BALL:
		return LANES_BALL;
	case SDF_SCREW:
		return LANES_SCREW;
	case SDF_UNIVERSAL:
	case SDF_REVOLUTE2:
		return LANES_UNIVERSAL;
	default:
		return LANES_FIXED;
	}
}

/* Joints that the file makes soft have rows of their own. */
static bool assembly_is_soft_joint(const struct assembly_plan *plan, const struct assembly_joint *joint)
{
	if (joint->kind != ASSEMBLY_LOOP || (joint->motion != LANES_BALL && joint->motion != LANES_FIXED))
		return false;
	const struct sdf_joint_ode *ode = plan->scene->joints[joint->index].sdf->ode;
	return !isnan(ode->erp) || !isnan(ode->cfm);
}

static void assembly_plan_add_joint(struct assembly_plan *plan, uint32_t index)
{
	const struct scene_joint *joint = &plan->scene->joints[index];
	struct assembly_joint add = {
		ASSEMBLY_LOOP, index, joint->child, joint->parent, assembly_motion_of(joint->kind)};
	bool moves = assembly_plan_number(plan, joint->child) != SCENE_NONE ||
		     assembly_plan_number(plan, joint->parent) != SCENE_NONE;
	if (joint->kind != SDF_GEARBOX && moves)
		vec_push(&plan->joints, add);
}

static int assembly_compare_bodies(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* A model that was created may have lower bodies than one of a lower place. */
static void assembly_plan_sort(struct assembly_plan *plan)
{
	if (plan->bodies.count)
		qsort(plan->bodies.at, plan->bodies.count, sizeof *plan->bodies.at, assembly_compare_bodies);
}

static void assembly_plan_list(struct assembly_plan *plan)
{
	const struct scene *scene = plan->scene;
	const struct group *group = plan->group;
	for (uint32_t i = 0; i < group->members.count; i++) {
		const struct scene_model *m = &scene->models[group->members.at[i]];
		for (uint32_t b = m->body_first; b < m->body_first + m->body_count; b++)
			if (!scene->bodies[b].kinematic)
				vec_push(&plan->bodies, b);
	}
	assembly_plan_sort(plan);
	for (uint32_t i = 0; i < group->members.count; i++) {
		const struct scene_model *m = &scene->models[group->members.at[i]];
		for (uint32_t j = m->joint_first; j < m->joint_first + m->joint_count; j++)
			assembly_plan_add_joint(plan, j);
	}
	for (uint32_t i = 0; i < group->world_joints.count; i++)
		assembly_plan_add_joint(plan, group->world_joints.at[i].index);
	for (uint32_t i = 0; i < group->attachments.count; i++) {
		const struct attachment_joint *attachment = &group->attachments.at[i];
		struct assembly_joint add = {ASSEMBLY_ATTACHMENT, attachment->index, attachment->bodies[1],
			attachment->bodies[0], LANES_FIXED};
		if (assembly_plan_number(plan, add.child) != SCENE_NONE ||
			assembly_plan_number(plan, add.parent) != SCENE_NONE)
			vec_push(&plan->joints, add);
	}
	plan->used = mem_alloc(plan->joints.count * sizeof *plan->used);
	plan->set = mem_alloc(plan->bodies.count * sizeof *plan->set);
	plan->place = mem_alloc(plan->bodies.count * sizeof *plan->place);
}

/* --- components --------------------------------------------------------------------------------------------------- */

static uint32_t assembly_plan_root(const struct assembly_plan *plan, uint32_t number)
{
	while (plan->set[number] != number)
		number = plan->set[number] = plan->set[plan->set[number]];
	return number;
}

static void assembly_plan_join(const struct assembly_plan *plan, uint32_t body_a, uint32_t body_b)
{
	uint32_t a = assembly_plan_number(plan, body_a), b = assembly_plan_number(plan, body_b);
	if (a == SCENE_NONE || b == SCENE_NONE)
		return;
	a = assembly_plan_root(plan, a);
	b = assembly_plan_root(plan, b);
	plan->set[MAX(a, b)] = MIN(a, b);
}

/* A body of the joint that moves, if there is one. */
static uint32_t assembly_moving_body(const struct assembly_plan *plan, const struct scene_joint *joint)
{
	return assembly_plan_number(plan, joint->child) != SCENE_NONE ? joint->child : joint->parent;
}

static void assembly_join_couplings_of(struct assembly_plan *plan, uint32_t index)
{
	const struct scene_joint *joint = &plan->scene->joints[index];
	if (scene_joint_couplings(joint))
		vec_push(&plan->coupled, index);
	if (joint->kind == SDF_GEARBOX) {
		assembly_plan_join(plan, joint->parent, joint->child);
		assembly_plan_join(plan, joint->parent, joint->reference);
		assembly_plan_join(plan, joint->child, joint->reference);
	}
	for (uint32_t a = 0; a < joint->axis_count; a++)
		if (joint->mimic[a].joint != SCENE_NONE)
			assembly_plan_join(plan, assembly_moving_body(plan, joint),
				assembly_moving_body(plan, &plan->scene->joints[joint->mimic[a].joint]));
}

static void assembly_find_components(struct assembly_plan *plan)
{
	for (uint32_t i = 0; i < plan->bodies.count; i++) {
		plan->set[i] = i;
		plan->place[i] = ASSEMBLY_NO_PLACE;
	}
	for (uint32_t i = 0; i < plan->joints.count; i++)
		assembly_plan_join(plan, plan->joints.at[i].child, plan->joints.at[i].parent);
	for (uint32_t i = 0; i < plan->group->members.count; i++) {
		const struct scene_model *m = &plan->scene->models[plan->group->members.at[i]];
		for (uint32_t j = m->joint_first; j < m->joint_first + m->joint_count; j++)
			assembly_join_couplings_of(plan, j);
	}
	for (uint32_t i = 0; i < plan->group->world_joints.count; i++)
		assembly_join_couplings_of(plan, plan->group->world_joints.at[i].index);
}

static void assembly_list_begin(struct assembly_list *list, uint32_t roots, uint32_t count)
{
	list->first = mem_alloc(roots * sizeof *list->first);
	list->next = mem_alloc(count * sizeof *list->next);
	for (uint32_t i = 0; i < roots; i++)
		list->first[i] = SCENE_NONE;
}

/* To be called for the items in descending order. */
static void assembly_list_add(struct assembly_list *list, uint32_t root, uint32_t item)
{
	list->next[item] = list->first[root];
	list->first[root] = item;
}

static void assembly_list_fini(struct assembly_list *list)
{
	free(list->first);
	free(list->next);
}

/* A body of the joint that moves, as a number. */
static uint32_t assembly_moving_number(const struct assembly_plan *plan, uint32_t child, uint32_t parent)
{
	uint32_t number = assembly_plan_number(plan, child);
	return number == SCENE_NONE ? assembly_plan_number(plan, parent) : number;
}

static void assembly_list_components(struct assembly_plan *plan)
{
	uint32_t bodies = plan->bodies.count;
	assembly_list_begin(&plan->of_bodies, bodies, bodies);
	assembly_list_begin(&plan->of_joints, bodies, plan->joints.count);
	assembly_list_begin(&plan->of_coupled, bodies, plan->coupled.count);
	for (uint32_t i = bodies; i-- > 0;)
		assembly_list_add(&plan->of_bodies, assembly_plan_root(plan, i), i);
	for (uint32_t i = plan->joints.count; i-- > 0;) {
		const struct assembly_joint *joint = &plan->joints.at[i];
		uint32_t number = assembly_moving_number(plan, joint->child, joint->parent);
		assembly_list_add(&plan->of_joints, assembly_plan_root(plan, number), i);
	}
	for (uint32_t i = plan->coupled.count; i-- > 0;) {
		const struct scene_joint *joint = &plan->scene->joints[plan->coupled.at[i]];
		uint32_t number = assembly_moving_number(plan, joint->child, joint->parent);
		if (number == SCENE_NONE)
			number = assembly_plan_number(plan, joint->reference);
		if (number != SCENE_NONE)
			assembly_list_add(&plan->of_coupled, assembly_plan_root(plan, number), i);
	}
}

/* --- the forest --------------------------------------------------------------------------------------------------- */

static void assembly_add_to_tree(struct assembly_plan *plan, struct assembly *assembly, uint32_t number,
	uint32_t parent, const struct assembly_joint *joint)
{
	uint32_t place = assembly->count++, body = plan->bodies.at[number];
	struct assembly_edge *edge = &assembly->edges[place];
	plan->place[number] = place;
	assembly->bodies[place] = body;
	edge->ground = SCENE_NONE;
	edge->fields = plan->fields + (size_t)place * LANES_EDGE_FIELDS;
	if (joint) {
		uint32_t other = joint->child == body ? joint->parent : joint->child;
		edge->joint = *joint;
		edge->reversed = joint->child != body;
		if (parent == ASSEMBLY_NO_PLACE)
			edge->ground = other;
	} else {
		edge->joint.motion = LANES_FREE;
	}
	assembly->keys[place] = (struct lanes_key_body){
		.parent = parent == ASSEMBLY_NO_PLACE ? LANES_GROUND : (int16_t)parent, .joint = edge->joint.motion};
}

/* Adds the bodies that hang on those from place `at` on. */
static void assembly_grow_tree(struct assembly_plan *plan, struct assembly *assembly, uint32_t root, uint32_t at)
{
	for (; at < assembly->count; at++) {
		uint32_t body = assembly->bodies[at];
		for (uint32_t i = plan->of_joints.first[root]; i != SCENE_NONE; i = plan->of_joints.next[i]) {
			const struct assembly_joint *joint = &plan->joints.at[i];
			if (plan->used[i] || (joint->child != body && joint->parent != body) ||
				assembly_is_soft_joint(plan, joint))
				continue;
			uint32_t other =
				assembly_plan_number(plan, joint->child == body ? joint->parent : joint->child);
			if (other == SCENE_NONE || plan->place[other] != ASSEMBLY_NO_PLACE)
				continue;
			plan->used[i] = true;
			assembly_add_to_tree(plan, assembly, other, at, joint);
		}
	}
}

static void assembly_grow_held_trees(struct assembly_plan *plan, struct assembly *assembly, uint32_t root)
{
	for (uint32_t i = plan->of_joints.first[root]; i != SCENE_NONE; i = plan->of_joints.next[i]) {
		const struct assembly_joint *joint = &plan->joints.at[i];
		uint32_t child = assembly_plan_number(plan, joint->child),
			 parent = assembly_plan_number(plan, joint->parent);
		uint32_t number = child == SCENE_NONE ? parent : child;
		if ((child != SCENE_NONE && parent != SCENE_NONE) || plan->place[number] != ASSEMBLY_NO_PLACE ||
			assembly_is_soft_joint(plan, joint))
			continue;
		plan->used[i] = true;
		assembly_add_to_tree(plan, assembly, number, ASSEMBLY_NO_PLACE, joint);
		assembly_grow_tree(plan, assembly, root, assembly->count - 1);
	}
}

static void assembly_grow_forest(struct assembly_plan *plan, struct assembly *assembly, uint32_t root)
{
	assembly_grow_held_trees(plan, assembly, root);
	for (uint32_t i = root; i != SCENE_NONE; i = plan->of_bodies.next[i]) {
		if (plan->place[i] != ASSEMBLY_NO_PLACE)
			continue;
		assembly_add_to_tree(plan, assembly, i, ASSEMBLY_NO_PLACE, NULL);
		assembly_grow_tree(plan, assembly, root, assembly->count - 1);
	}
}

/* --- what is constant --------------------------------------------------------------------------------------------- */

/* The pose of the file: the pose of state k would depend on when the assembly is made. */
static struct pose assembly_reference_of(const struct physics *physics, uint32_t body)
{
	if (body == SCENE_NONE)
		return POSE_IDENTITY;
	if (physics->options.rule == PHYSICS_BREAK_REFERENCE)
		return body_pose(state_body(physics->state, body, false));
	return physics->scene->bodies[body].reference;
}

static void assembly_fill_attachment(const struct scene *scene, struct assembly_edge *edge)
{
	struct pose pose = scene->attachments.at[edge->joint.index].pose; /* of the child in the parent */
	if (edge->reversed)
		pose = pose_inverse(pose);
	vec3_store(pose.p, edge->fields + LANES_ANCHOR);
	quat_store(pose.q, edge->fields + LANES_RELATIVE);
}

static void assembly_fill_joint(
	const struct physics *physics, struct assembly_edge *edge, uint32_t own, uint32_t parent)
{
	const struct scene_joint *joint = &physics->scene->joints[edge->joint.index];
	struct pose own_pose = assembly_reference_of(physics, own), at = assembly_reference_of(physics, parent);
	struct quat own_back = quat_conj(own_pose.q), back = quat_conj(at.q);
	double *f = edge->fields, sign = edge->reversed ? -1 : 1;
	vec3_store(quat_rotate(own_back, vec3_sub(joint->anchor, own_pose.p)), f + LANES_OWN_ANCHOR);
	vec3_store(quat_rotate(back, vec3_sub(joint->anchor, at.p)), f + LANES_ANCHOR);
	quat_store(quat_mul(back, own_pose.q), f + LANES_RELATIVE);
	if (!joint->axis_count)
		return;
	/* of two axes the first moves with the joint's parent */
	bool two = joint->axis_count == 2;
	struct vec3 of_own = joint->axis[two && !edge->reversed].xyz_world,
		    of_other = joint->axis[two && edge->reversed].xyz_world;
	vec3_store(quat_rotate(own_back, vec3_scale(of_own, sign)), f + LANES_OWN_AXIS);
	vec3_store(quat_rotate(back, vec3_scale(of_other, sign)), f + LANES_AXIS);
	if (edge->joint.motion == LANES_SCREW)
		f[LANES_LEAD] = 1 / joint->sdf->thread_pitch;
}

static void assembly_fill_bodies(const struct physics *physics, struct assembly *assembly)
{
	const struct scene *scene = physics->scene;
	for (uint32_t i = 0; i < assembly->count; i++) {
		const struct scene_body *b = &scene->bodies[assembly->bodies[i]];
		struct assembly_edge *edge = &assembly->edges[i];
		double solid[] = {b->mass, b->ixx, b->ixy, b->ixz, b->iyy, b->iyz, b->izz};
		if (b->added) {
			const struct scene_added *a = b->added;
			const double with[] = {a->mass, a->ixx, a->ixy, a->ixz, a->iyy, a->iyz, a->izz};
			memcpy(solid, with, sizeof solid);
		}
		memcpy(assembly->solid[i], solid, sizeof solid);
		if (edge->joint.motion == LANES_FREE)
			continue;
		int parent = assembly->keys[i].parent;
		if (edge->joint.kind == ASSEMBLY_ATTACHMENT)
			assembly_fill_attachment(scene, edge);
		else
			assembly_fill_joint(physics, edge, assembly->bodies[i],
				parent >= 0 ? assembly->bodies[parent] : edge->ground);
	}
}

/* --- axes and links ----------------------------------------------------------------------------------------------- */

static uint32_t assembly_axes_of(enum lanes_joint motion)
{
	switch (motion) {
	case LANES_HINGE:
	case LANES_SLIDER:
	case LANES_SCREW:
		return 1;
	case LANES_UNIVERSAL:
		return 2;
	default:
		return 0;
	}
}

static void assembly_list_axes(struct assembly *assembly)
{
	for (uint32_t i = 0; i < assembly->count; i++) {
		const struct assembly_edge *edge = &assembly->edges[i];
		for (uint32_t d = 0; d < assembly_axes_of(edge->joint.motion); d++) {
			uint32_t axis = assembly_axes_of(edge->joint.motion) == 2 && edge->reversed ? 1 - d : d;
			vec_push(&assembly->axes,
				(struct assembly_axis){edge->joint.index, axis, (uint16_t)i, (uint8_t)d});
		}
	}
	assembly->axis_count = assembly->axes.count;
	assembly->dof_count = (uint32_t)lanes_dof_of(assembly->keys, assembly->count, 0);
}

static struct assembly_link *assembly_add_link(struct assembly *assembly, struct assembly_link link)
{
	vec_push(&assembly->links, link);
	return &assembly->links.at[assembly->links.count - 1];
}

static void assembly_link_add_body(const struct assembly_plan *plan, struct assembly_link *link, uint32_t body)
{
	uint32_t number = assembly_plan_number(plan, body);
	if (number == SCENE_NONE)
		return;
	for (uint32_t i = 0; i < link->key.body_count; i++)
		if (link->bodies[i] == body)
			return;
	link->bodies[link->key.body_count] = body;
	link->key.bodies[link->key.body_count++] = (int16_t)plan->place[number];
}

static uint32_t assembly_rows_of_loop(enum lanes_joint motion)
{
	static const uint8_t rows[] = {[LANES_HINGE] = 5,
		[LANES_SLIDER] = 5,
		[LANES_BALL] = 3,
		[LANES_UNIVERSAL] = 4,
		[LANES_FIXED] = 6,
		[LANES_SCREW] = 5};
	return rows[motion];
}

static void assembly_add_loop(
	const struct assembly_plan *plan, struct assembly *assembly, const struct assembly_joint *joint)
{
	struct assembly_link *link = assembly_add_link(assembly,
		(struct assembly_link){
			.joint = *joint, .law_first = assembly->axes.count, .axes = assembly_axes_of(joint->motion)});
	assembly_link_add_body(plan, link, joint->child);
	assembly_link_add_body(plan, link, joint->parent);
	link->key.equal_rows = assembly_rows_of_loop(joint->motion);
	for (uint32_t a = 0; a < link->axes; a++)
		vec_push(&assembly->axes, (struct assembly_axis){.joint = joint->index, .axis = a});
}

/* The coordinate of an axis; -1: the axis is none of the forest's. */
static int assembly_dof_of_axis(const struct assembly *assembly, uint32_t joint, uint32_t axis)
{
	for (uint32_t i = 0; i < assembly->axis_count; i++)
		if (assembly->axes.at[i].joint == joint && assembly->axes.at[i].axis == axis)
			return lanes_dof_of(assembly->keys, assembly->axes.at[i].body, assembly->axes.at[i].dof);
	return -1;
}

static void assembly_add_mimic(
	const struct assembly_plan *plan, struct assembly *assembly, uint32_t index, uint32_t axis, uint32_t which)
{
	const struct scene_joint *joint = &plan->scene->joints[index];
	const struct scene_mimic *mimic = &joint->mimic[axis];
	const struct scene_joint *leader = &plan->scene->joints[mimic->joint];
	struct assembly_link *link =
		assembly_add_link(assembly, (struct assembly_link){.joint = {.kind = ASSEMBLY_MIMIC, .index = index},
						    .axis = axis,
						    .which = which,
						    .key.equal_rows = 1});
	int own = assembly_dof_of_axis(assembly, index, axis),
	    leading = assembly_dof_of_axis(assembly, mimic->joint, mimic->axis);
	link->by_dofs = own >= 0 && leading >= 0;
	if (link->by_dofs) {
		link->key.dof_count = 2;
		link->key.dofs[0] = (int16_t)own;
		link->key.dofs[1] = (int16_t)leading;
		return;
	}
	const uint32_t bodies[] = {joint->child, joint->parent, leader->child, leader->parent};
	for (uint32_t i = 0; i < 4; i++)
		assembly_link_add_body(plan, link, bodies[i]);
}

/* The couplings of a joint, but the thread of a screw: that is in its motion. */
static void assembly_add_couplings(const struct assembly_plan *plan, struct assembly *assembly, uint32_t index)
{
	const struct scene_joint *joint = &plan->scene->joints[index];
	uint32_t which = joint->kind == SDF_SCREW;
	if (joint->kind == SDF_GEARBOX) {
		struct assembly_link *link = assembly_add_link(
			assembly, (struct assembly_link){.joint = {.kind = ASSEMBLY_GEARS, .index = index},
					  .which = which++,
					  .key.equal_rows = 1});
		assembly_link_add_body(plan, link, joint->parent);
		assembly_link_add_body(plan, link, joint->child);
		assembly_link_add_body(plan, link, joint->reference);
	}
	for (uint32_t a = 0; a < joint->axis_count; a++)
		if (joint->mimic[a].joint != SCENE_NONE)
			assembly_add_mimic(plan, assembly, index, a, which++);
}

static void assembly_add_fluid(const struct assembly_plan *plan, struct assembly *assembly, uint32_t body)
{
	const struct scene_added *added = plan->scene->bodies[body].added;
	if (!added)
		return;
	for (uint32_t first = 0; first < added->row_count; first += ROWS_OF_LINK) {
		struct assembly_link *link = assembly_add_link(
			assembly, (struct assembly_link){.joint = {.kind = ASSEMBLY_ADDED, .index = body},
					  .which = first,
					  .key.equal_rows = MIN(added->row_count - first, (uint32_t)ROWS_OF_LINK)});
		assembly_link_add_body(plan, link, body);
	}
}

static void assembly_list_links(const struct assembly_plan *plan, struct assembly *assembly, uint32_t root)
{
	for (uint32_t i = plan->of_joints.first[root]; i != SCENE_NONE; i = plan->of_joints.next[i])
		if (!plan->used[i])
			assembly_add_loop(plan, assembly, &plan->joints.at[i]);
	for (uint32_t i = plan->of_coupled.first[root]; i != SCENE_NONE; i = plan->of_coupled.next[i])
		assembly_add_couplings(plan, assembly, plan->coupled.at[i]);
	for (uint32_t i = 0; i < assembly->count; i++)
		assembly_add_fluid(plan, assembly, assembly->bodies[i]);
}

/* An assembly with too many bodies for a shape has them as a list only. */
static void assembly_list_large(const struct assembly_plan *plan, struct assembly *assembly, uint32_t root)
{
	for (uint32_t i = root; i != SCENE_NONE; i = plan->of_bodies.next[i])
		assembly->bodies[assembly->count++] = plan->bodies.at[i];
	assembly->large = true;
}

/* Takes so many bytes of a piece of memory; the next ones are aligned for doubles. */
static void *assembly_cut(char **piece, const void *from, size_t bytes)
{
	void *at = *piece;
	if (bytes)
		memcpy(at, from, bytes);
	*piece += (bytes + 7) & ~(size_t)7;
	return at;
}

static uint32_t assembly_fields_in_all(const struct assembly *assembly)
{
	uint32_t all = 0;
	for (uint32_t i = 0; i < assembly->count && !assembly->large; i++)
		all += assembly_field_count(&assembly->edges[i]);
	return all;
}

/* Moves what was made piece by piece into one piece, in the order in which steps read it. */
static struct assembly *assembly_settle(struct assembly *loose)
{
	const uint32_t count = loose->count, bodies = loose->large ? 0 : count;
	const size_t keys = bodies * sizeof *loose->keys, edges = bodies * sizeof *loose->edges;
	const size_t axes = loose->axes.count * sizeof *loose->axes.at,
		     links = loose->links.count * sizeof *loose->links.at;
	const size_t gaps = (size_t)4 * 8;
	char *piece = mem_alloc(sizeof *loose + count * sizeof *loose->bodies + keys + edges + axes + links + gaps +
				assembly_fields_in_all(loose) * sizeof(double) + bodies * sizeof *loose->solid);
	struct assembly *settled = assembly_cut(&piece, loose, sizeof *loose);
	settled->bodies = assembly_cut(&piece, loose->bodies, count * sizeof *loose->bodies);
	settled->keys = assembly_cut(&piece, loose->keys, keys);
	settled->axes.at = assembly_cut(&piece, loose->axes.at, axes);
	settled->edges = assembly_cut(&piece, loose->edges, edges);
	for (uint32_t i = 0; i < bodies; i++)
		settled->edges[i].fields = assembly_cut(
			&piece, loose->edges[i].fields, assembly_field_count(&loose->edges[i]) * sizeof(double));
	settled->solid = assembly_cut(&piece, loose->solid, bodies * sizeof *loose->solid);
	settled->links.at = assembly_cut(&piece, loose->links.at, links);
	free(loose->bodies);
	free(loose->solid);
	free(loose->keys);
	free(loose->edges);
	vec_free(&loose->axes);
	vec_free(&loose->links);
	return settled;
}

static struct assembly *assembly_make_assembly(struct assembly_plan *plan, uint32_t root)
{
	struct assembly made = {0}, *assembly = &made;
	uint32_t bodies = 0;
	for (uint32_t i = root; i != SCENE_NONE; i = plan->of_bodies.next[i])
		bodies++;
	assembly->bodies = mem_alloc(bodies * sizeof *assembly->bodies);
	if (bodies > LANES_BODIES_MAX) {
		assembly_list_large(plan, assembly, root);
		return assembly_settle(assembly);
	}
	assembly->solid = mem_alloc(bodies * sizeof *assembly->solid);
	assembly->keys = mem_alloc(bodies * sizeof *assembly->keys);
	assembly->edges = mem_alloc(bodies * sizeof *assembly->edges);
	plan->fields = mem_alloc((size_t)bodies * LANES_EDGE_FIELDS * sizeof *plan->fields);
	assembly_grow_forest(plan, assembly, root);
	assembly_fill_bodies(plan->physics, assembly);
	assembly_list_axes(assembly);
	assembly_list_links(plan, assembly, root);
	struct assembly *settled = assembly_settle(assembly);
	free(plan->fields);
	return settled;
}

void assemblies_make(const struct physics *physics, struct group *group)
{
	if (group->assembled)
		return;
	group->assembled = true;
	struct assembly_plan plan = {.physics = physics, .scene = physics->scene, .group = group};
	assembly_plan_list(&plan);
	assembly_find_components(&plan);
	assembly_list_components(&plan);
	for (uint32_t i = 0; i < plan.bodies.count; i++)
		if (assembly_plan_root(&plan, i) == i)
			vec_push(&group->assemblies, assembly_make_assembly(&plan, i));
	vec_free(&plan.bodies);
	vec_free(&plan.joints);
	vec_free(&plan.coupled);
	assembly_list_fini(&plan.of_bodies);
	assembly_list_fini(&plan.of_joints);
	assembly_list_fini(&plan.of_coupled);
	free(plan.used);
	free(plan.set);
	free(plan.place);
}

void assemblies_drop(struct group *group)
{
	for (uint32_t i = 0; i < group->assemblies.count; i++)
		free(group->assemblies.at[i]);
	group->assemblies.count = 0;
	group->assembled = false;
}
