/* Efforts and reactions of joints whose islands were solved in lanes. There a joint of the forest has no force of its
 * own, so its reaction is what its side of the forest gained in momentum beyond what all other forces explain
 * (Newton and Euler, from the leaves). */
#include "physics/exact_internal.h"
#include "physics/link.h"
#include "scene/axis.h"

#include <string.h>

/* --- efforts --------------------------------------------------------------------------------------------------------
 */

double exact_rate_after(const struct worker *worker, uint32_t index, uint32_t axis)
{
	const struct scene_joint *joint = &worker->scene->joints[index];
	const uint32_t bodies[2] = {joint->child, joint->parent};
	struct axis_rate of;
	double rate = 0;
	scene_axis_rate_of(worker->owner->state, joint, axis, false, &of);
	for (uint32_t i = 0; i < 2; i++) {
		if (bodies[i] == SCENE_NONE)
			continue;
		const struct body_state *body = state_body(worker->owner->state, bodies[i], true);
		rate += vec3_dot(of.linear[i], body->v) + vec3_dot(of.angular[i], body->w);
	}
	return rate;
}

static void exact_notes_add(struct worker *worker, uint32_t joint, uint32_t axis, double effort)
{
	if (worker->observe & OBSERVE_EFFORTS)
		worker->notes.efforts.at[worker->exact->note_of[joint]].effort[axis] += effort;
}

static void exact_notes_add_axes(struct worker *worker, const struct exact_part *part, double dt)
{
	const struct exact *exact = worker->exact;
	for (uint32_t i = 0; i < part->assembly->axes.count; i++) {
		const struct assembly_axis *axis = &part->assembly->axes.at[i];
		const struct axis_law *law = &exact->laws.at[part->law_first + i];
		double impulse = exact->law_impulses.at[part->law_first + i];
		if (i < part->assembly->axis_count) { /* of a loop's axis the law is all that acts */
			impulse += law->push;
			if (law->mass != 0)
				impulse -= law->mass * exact_rate_after(worker, axis->joint, axis->axis);
		}
		exact_notes_add(worker, axis->joint, axis->axis, impulse / dt);
	}
}

static void exact_notes_add_couplings(struct worker *worker, const struct exact_part *part, double dt)
{
	uint32_t row = part->link_row_first;
	for (uint32_t i = 0; i < part->assembly->links.count; i++) {
		const struct assembly_link *link = &part->assembly->links.at[i];
		const struct scene_joint *joint = &worker->scene->joints[link->joint.index];
		double force = worker->exact->link_impulses.at[row] / dt;
		row += link->key.equal_rows;
		if (link->joint.kind == ASSEMBLY_MIMIC) {
			const struct scene_mimic *mimic = &joint->mimic[link->axis];
			exact_notes_add(worker, link->joint.index, link->axis, force);
			exact_notes_add(worker, mimic->joint, mimic->axis, -mimic->multiplier * force);
		} else if (link->joint.kind == ASSEMBLY_GEARS) {
			exact_notes_add(worker, link->joint.index, 0, force * joint->sdf->gearbox_ratio);
			exact_notes_add(worker, link->joint.index, 1, force);
		}
	}
}

/* --- reactions ------------------------------------------------------------------------------------------------------
 */

struct exact_wrench { /* an impulse, and its moment about a point */
	struct vec3 linear, angular;
};

static void exact_notes_push(
	struct exact_wrench *to, struct vec3 about, struct vec3 impulse, struct vec3 at, double sign)
{
	to->linear = vec3_add(to->linear, vec3_scale(impulse, sign));
	to->angular = vec3_add(to->angular, vec3_scale(vec3_cross(vec3_sub(at, about), impulse), sign));
}

struct vec3 exact_times_inertia(const double *solid, struct quat q, struct vec3 v)
{
	struct vec3 a = quat_rotate(quat_conj(q), v);
	const double *i = solid + 1;
	return quat_rotate(q, (struct vec3){i[0] * a.x + i[1] * a.y + i[2] * a.z, i[1] * a.x + i[3] * a.y + i[4] * a.z,
				      i[2] * a.x + i[4] * a.y + i[5] * a.z});
}

struct vec3 exact_turned_spin(const double *solid, struct quat q, struct vec3 w, double h)
{
	struct vec3 m = exact_times_inertia(solid, q, w), k = vec3_scale(m, h);
	struct vec3 row[3];
	const struct vec3 unit[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
	for (int i = 0; i < 3; i++) /* row i of I + h [I w] */
		row[i] = vec3_sub(exact_times_inertia(solid, q, unit[i]), vec3_cross(unit[i], k));
	struct vec3 c0 = vec3_cross(row[1], row[2]), c1 = vec3_cross(row[2], row[0]), c2 = vec3_cross(row[0], row[1]);
	struct vec3 x = vec3_add(vec3_add(vec3_scale(c0, m.x), vec3_scale(c1, m.y)), vec3_scale(c2, m.z));
	return vec3_scale(x, 1 / vec3_dot(row[0], c0));
}

/* What a body gained beyond its own motion and the forces on it. */
static void exact_notes_gain(const struct worker *worker, uint32_t body, const double *solid, struct vec3 about,
	double dt, struct exact_wrench *to)
{
	const struct scene_body *from = &worker->scene->bodies[body];
	const struct body_at_hand *hand = worker_hand(worker, body);
	const struct body_state *next = state_body(worker->owner->state, body, true);
	struct vec3 v = next->v, w = next->w;
	if (from->linear_damping > 0 && from->linear_damping < 1)
		v = vec3_scale(v, 1 / (1 - from->linear_damping));
	if (from->angular_damping > 0 && from->angular_damping < 1)
		w = vec3_scale(w, 1 / (1 - from->angular_damping));
	struct vec3 gained = vec3_sub(vec3_scale(vec3_sub(v, hand->v), solid[0]), vec3_scale(hand->force, dt));
	struct vec3 spin = from->added ? hand->w : exact_turned_spin(solid, hand->q, hand->w, dt);
	struct vec3 turned = exact_times_inertia(solid, hand->q, vec3_sub(w, spin));
	exact_notes_push(to, about, gained, hand->p, 1);
	to->angular = vec3_add(to->angular, vec3_sub(turned, vec3_scale(hand->torque, dt)));
}

/* Whether body i of the assembly hangs on body `top`, or is it. */
static bool exact_notes_hangs_on(const struct assembly *assembly, uint32_t i, uint32_t top)
{
	int at = (int)i;
	while (at > (int)top)
		at = assembly->edges[at].joint.motion == LANES_FREE ? -1 : assembly->keys[at].parent;
	return at == (int)top;
}

static void exact_notes_subtract_contacts(const struct worker *worker, const struct exact_part *part, uint32_t top,
	struct vec3 about, struct exact_wrench *to)
{
	const struct exact *exact = worker->exact;
	for (uint32_t r = 0; r < worker->rows_of_contacts.count; r++) {
		const struct contact_row *row = &worker->rows_of_contacts.at[r];
		for (uint32_t end = 0; end < 2; end++) {
			uint32_t body = row->bodies[end];
			if (exact_moves(worker, body) && &exact->parts.at[exact->part[body]] == part &&
				exact_notes_hangs_on(part->assembly, exact->place[body], top))
				exact_notes_push(to, about, exact->contact_impulses.at[r], row->at, end ? 1 : -1);
		}
	}
}

/* The impulse of a row of a link on one of its bodies. */
static void exact_notes_push_row(const struct worker *worker, const struct assembly_link *link,
	const struct link_row *row, uint32_t body, double impulse, struct vec3 about, struct exact_wrench *to)
{
	exact_notes_push(
		to, about, vec3_scale(row->linear[body], impulse), worker_hand(worker, link->bodies[body])->p, 1);
	to->angular = vec3_add(to->angular, vec3_scale(row->angular[body], impulse));
}

/* Adds what a link does to one of its bodies. */
static void exact_notes_add_link(const struct worker *worker, const struct exact_part *part,
	const struct assembly_link *link, uint32_t equal, uint32_t body, struct vec3 about, double dt,
	struct exact_wrench *to)
{
	const struct exact *exact = worker->exact;
	struct link_rows rows;
	link_equalities(worker, link, dt, &rows);
	for (uint32_t r = 0; r < rows.count; r++)
		exact_notes_push_row(worker, link, &rows.row[r], body, exact->link_impulses.at[equal + r], about, to);
	for (uint32_t a = 0; a < link->axes; a++) {
		uint32_t law = part->law_first + link->law_first + a;
		struct link_row row;
		if (!exact_has_link_law(&exact->laws.at[law]))
			continue;
		link_axis(worker, link, a, &row);
		exact_notes_push_row(worker, link, &row, body, exact->law_impulses.at[law], about, to);
	}
}

static void exact_notes_subtract_links(const struct worker *worker, const struct exact_part *part, uint32_t top,
	struct vec3 about, double dt, struct exact_wrench *to)
{
	uint32_t equal = part->link_row_first;
	for (uint32_t i = 0; i < part->assembly->links.count; i++) {
		const struct assembly_link *link = &part->assembly->links.at[i];
		for (uint32_t b = 0; b < link->key.body_count; b++) {
			struct exact_wrench own = {{0, 0, 0}, {0, 0, 0}};
			if (!exact_notes_hangs_on(part->assembly, (uint32_t)link->key.bodies[b], top))
				continue;
			exact_notes_add_link(worker, part, link, equal, b, about, dt, &own);
			to->linear = vec3_sub(to->linear, own.linear);
			to->angular = vec3_sub(to->angular, own.angular);
		}
		equal += link->key.equal_rows;
	}
}

static void exact_notes_set_reaction(
	struct worker *worker, uint32_t joint, const struct exact_wrench *wrench, double scale)
{
	reaction_notes *notes = &worker->notes.reactions;
	for (uint32_t i = worker->reactions_before; i < notes->count; i++)
		if (notes->at[i].joint == joint)
			notes->at[i].reaction = (struct reaction){
				vec3_scale(wrench->linear, scale), vec3_scale(wrench->angular, scale)};
}

static bool exact_notes_is_measured(const struct worker *worker, const struct assembly_joint *joint)
{
	return (joint->kind == ASSEMBLY_LOOP || joint->kind == ASSEMBLY_GEARS) &&
	       worker->scene->joints[joint->index].measured;
}

/* 0 where it is none of the link's bodies. */
static uint32_t exact_notes_place_in_link(const struct assembly_link *link, uint32_t body)
{
	for (uint32_t i = 0; i < link->key.body_count; i++)
		if (link->bodies[i] == body)
			return i;
	return 0;
}

static void exact_notes_add_reactions(struct worker *worker, const struct exact_part *part, double dt)
{
	const struct assembly *assembly = part->assembly;
	const struct state *state = worker->owner->state;
	uint32_t equal = part->link_row_first;
	for (uint32_t i = 0; i < assembly->count; i++) {
		const struct assembly_edge *edge = &assembly->edges[i];
		struct exact_wrench wrench = {{0, 0, 0}, {0, 0, 0}};
		if (edge->joint.motion == LANES_FREE || !exact_notes_is_measured(worker, &edge->joint))
			continue;
		struct vec3 about = scene_axis_anchor(state, &worker->scene->joints[edge->joint.index]);
		for (uint32_t k = i; k < assembly->count; k++)
			if (exact_notes_hangs_on(assembly, k, i))
				exact_notes_gain(worker, assembly->bodies[k], assembly->solid[k], about, dt, &wrench);
		exact_notes_subtract_contacts(worker, part, i, about, &wrench);
		exact_notes_subtract_links(worker, part, i, about, dt, &wrench);
		exact_notes_set_reaction(worker, edge->joint.index, &wrench, (edge->reversed ? -1 : 1) / dt);
	}
	for (uint32_t i = 0; i < assembly->links.count; i++) {
		const struct assembly_link *link = &assembly->links.at[i];
		if (exact_notes_is_measured(worker, &link->joint)) {
			struct exact_wrench wrench = {{0, 0, 0}, {0, 0, 0}};
			struct vec3 about = scene_axis_anchor(state, &worker->scene->joints[link->joint.index]);
			uint32_t child = worker->scene->joints[link->joint.index].child;
			uint32_t own = exact_notes_place_in_link(link, child);
			exact_notes_add_link(worker, part, link, equal, own, about, dt, &wrench);
			exact_notes_set_reaction(
				worker, link->joint.index, &wrench, (link->bodies[own] == child ? 1 : -1) / dt);
		}
		equal += link->key.equal_rows;
	}
}

/* --- all joints -----------------------------------------------------------------------------------------------------
 */

static void exact_notes_begin_joint(struct worker *worker, uint32_t index)
{
	const struct scene_joint *joint = &worker->scene->joints[index];
	if ((worker->observe & OBSERVE_EFFORTS) && notes_axes(joint)) {
		worker->exact->note_of[index] = worker->notes.efforts.count;
		vec_push(&worker->notes.efforts, (struct effort_note){.joint = index, .step = worker->note_step});
	}
	if ((worker->observe & OBSERVE_FORCES) && joint->measured)
		vec_push(&worker->notes.reactions, (struct reaction_note){.joint = index, .step = worker->note_step});
}

bool exact_has_joint(const struct worker *worker, uint32_t index)
{
	const struct scene_joint *joint = &worker->scene->joints[index];
	return !exact_is_left(worker, joint->child) && !exact_is_left(worker, joint->parent) &&
	       (joint->kind != SDF_GEARBOX || !exact_is_left(worker, joint->reference));
}

static void exact_notes_contacts(struct worker *worker, double dt)
{
	const struct exact *exact = worker->exact;
	for (uint32_t r = 0; r < worker->rows_of_contacts.count; r++) {
		const struct contact_row *row = &worker->rows_of_contacts.at[r];
		if (!exact_is_left(worker, row->bodies[0]) && !exact_is_left(worker, row->bodies[1]))
			observe_contact_force(worker, r, vec3_scale(exact->contact_impulses.at[r], 1 / dt));
	}
}

void exact_note_joints(struct worker *worker, double dt)
{
	struct exact *exact = worker->exact;
	if (observes_contact_forces(worker))
		exact_notes_contacts(worker, dt);
	MEM_FIT(exact->note_of, exact->joint_room, worker->room.joints);
	exact->joint_room = worker->room.joints;
	for (uint32_t g = 0; g < worker->ode_world->groups.count; g++) {
		const struct group *group = group_at_hand(worker, g);
		for (uint32_t i = 0; i < group->members.count; i++) {
			const struct scene_model *m = &worker->scene->models[group->members.at[i]];
			for (uint32_t j = m->joint_first; j < m->joint_first + m->joint_count; j++)
				if (exact_has_joint(worker, j))
					exact_notes_begin_joint(worker, j);
		}
		for (uint32_t i = 0; i < group->world_joints.count; i++)
			if (exact_has_joint(worker, group->world_joints.at[i].index))
				exact_notes_begin_joint(worker, group->world_joints.at[i].index);
	}
	for (uint32_t p = 0; p < exact->parts.count; p++) {
		const struct exact_part *part = &exact->parts.at[p];
		if (part->left)
			continue;
		exact_notes_add_axes(worker, part, dt);
		exact_notes_add_couplings(worker, part, dt);
		if (worker->observe & OBSERVE_FORCES)
			exact_notes_add_reactions(worker, part, dt);
	}
}
