/* Takes the result of an island out of its lane: bodies of state k+1, the forces of couplings, and what is observed. */
#include "physics/exact_internal.h"

#include <math.h>
#include <string.h>

static double exact_store_impulse(const struct exact_lane *lane, uint32_t row)
{
	return lane->at[(size_t)(lane->shape->impulses_at + row) * lane->stride];
}

/* --- bodies ---------------------------------------------------------------------------------------------------------
 */

void exact_damp(const struct scene_body *from, struct body_state *next)
{
	if (from->linear_damping > 0)
		next->v = vec3_scale(next->v, 1 - from->linear_damping);
	if (from->angular_damping > 0)
		next->w = vec3_scale(next->w, 1 - from->angular_damping);
}

static bool exact_store_body(
	struct worker *worker, const struct exact_lane *lane, uint32_t place, uint32_t body, double dt)
{
	const struct scene_body *from = &worker->scene->bodies[body];
	struct body_state *next = state_body(worker->owner->state, body, true);
	double fields[LANES_FORCE];
	const double *at = lane->at + (size_t)place * LANES_BODY_FIELDS * lane->stride;
	for (uint32_t i = 0; i < LANES_FORCE; i++)
		fields[i] = at[(size_t)i * lane->stride];
	memcpy(next, fields, sizeof *next);
	double spin2 = vec3_dot(next->w, next->w);
	if (spin2 * dt * dt > PHYSICS_TURN_FAR * PHYSICS_TURN_FAR && isfinite(spin2))
		next->q = quat_unit(instance_far_turn(worker_hand(worker, body)->q, next->w, sqrt(spin2), dt));
	exact_damp(from, next);
	return body_state_sane(next);
}
_Static_assert(sizeof(struct body_state) == LANES_FORCE * sizeof(double), "a state is copied as it lies");

/* --- couplings ------------------------------------------------------------------------------------------------------
 */

static void exact_store_couplings(struct worker *worker, const struct exact_lane *lane, double dt)
{
	const struct exact *exact = worker->exact;
	struct state *state = worker->owner->state;
	uint32_t link = 0;
	for (uint32_t p = lane->root; p != SCENE_NONE; p = exact->parts.at[p].next) {
		const struct assembly *assembly = exact->parts.at[p].assembly;
		for (uint32_t i = 0; i < assembly->links.count; i++) {
			const struct assembly_link *from = &assembly->links.at[i];
			uint32_t row = lane->shape->links[link++].equal_row;
			if (from->joint.kind != ASSEMBLY_GEARS && from->joint.kind != ASSEMBLY_MIMIC)
				continue;
			/* an impulse of couple.c acts against its function */
			double force = -exact_store_impulse(lane, row) / dt;
			uint32_t model = worker->scene->joints[from->joint.index].model;
			uint32_t word = state->joint_coupling[from->joint.index] + from->which;
			memcpy(state_words(state, model, true) + word, &force, sizeof force);
		}
	}
}

/* --- observed forces ------------------------------------------------------------------------------------------------
 */

/* The normal and the two directions of friction of a contact. */
static struct vec3 exact_store_direction(const struct exact_lane *lane, uint32_t slot, uint32_t which)
{
	struct vec3 d[2];
	for (uint32_t i = 0; i < 2; i++) {
		const double *at =
			lane->at + (size_t)(lane->shape->slot_at[slot] + LANES_NORMAL + 3 * i) * lane->stride;
		d[i] = (struct vec3){at[0], at[lane->stride], at[2 * lane->stride]};
	}
	return which < 2 ? d[which] : vec3_cross(d[0], d[1]);
}

static void exact_store_contact_impulses(struct worker *worker, const struct exact_lane *lane)
{
	struct exact *exact = worker->exact;
	uint32_t slot = 0;
	for (uint32_t r = exact->parts.at[lane->root].row_first; r != SCENE_NONE; r = exact->row_next.at[r], slot++) {
		uint32_t rows[3] = {(uint32_t)lane->shape->normal_first + slot,
			(uint32_t)lane->shape->friction_first + 2 * slot,
			(uint32_t)lane->shape->friction_first + 2 * slot + 1};
		struct vec3 impulse = {0, 0, 0};
		for (uint32_t k = 0; k < 3; k++)
			impulse = vec3_add(impulse,
				vec3_scale(exact_store_direction(lane, slot, k), exact_store_impulse(lane, rows[k])));
		if (!exact_moves(worker, worker->rows_of_contacts.at[r].bodies[0]))
			impulse = vec3_scale(impulse, -1);
		exact->contact_impulses.at[r] = impulse;
	}
}

static void exact_store_link_impulses(struct exact *exact, const struct exact_lane *lane, const struct exact_part *part,
	const struct assembly_link *link, const struct lanes_link *from, uint32_t equal)
{
	uint32_t row = from->law_row;
	for (uint32_t a = 0; a < link->axes; a++) {
		uint32_t law = part->law_first + link->law_first + a;
		if (exact_has_link_law(&exact->laws.at[law]))
			exact->law_impulses.at[law] = exact_store_impulse(lane, row++);
	}
	for (uint32_t r = 0; r < link->key.equal_rows; r++)
		exact->link_impulses.at[equal + r] = exact_store_impulse(lane, from->equal_row + r);
}

static void exact_store_joint_impulses(struct worker *worker, const struct exact_lane *lane)
{
	struct exact *exact = worker->exact;
	uint32_t row = 0, link = 0;
	for (uint32_t p = lane->root; p != SCENE_NONE; p = exact->parts.at[p].next) {
		const struct exact_part *part = &exact->parts.at[p];
		for (uint32_t i = 0; i < part->assembly->axis_count; i++)
			if (exact->laws.at[part->law_first + i].row)
				exact->law_impulses.at[part->law_first + i] = exact_store_impulse(lane, row++);
	}
	for (uint32_t p = lane->root; p != SCENE_NONE; p = exact->parts.at[p].next) {
		const struct exact_part *part = &exact->parts.at[p];
		uint32_t equal = part->link_row_first;
		for (uint32_t i = 0; i < part->assembly->links.count; i++) {
			const struct assembly_link *from = &part->assembly->links.at[i];
			exact_store_link_impulses(exact, lane, part, from, &lane->shape->links[link++], equal);
			equal += from->key.equal_rows;
		}
	}
}

bool exact_store(struct worker *worker, const struct exact_lane *lane, double dt)
{
	const struct exact *exact = worker->exact;
	bool sane = true;
	for (uint32_t p = lane->root; p != SCENE_NONE; p = exact->parts.at[p].next) {
		const struct exact_part *part = &exact->parts.at[p];
		for (uint32_t i = 0; i < part->assembly->count; i++)
			sane &= exact_store_body(worker, lane, part->body_first + i, part->assembly->bodies[i], dt);
	}
	if (!sane)
		return false;
	exact_store_couplings(worker, lane, dt);
	if (worker->observe & (OBSERVE_JOINTS | OBSERVE_FORCES))
		exact_store_contact_impulses(worker, lane);
	if (worker->observe & OBSERVE_JOINTS)
		exact_store_joint_impulses(worker, lane);
	return true;
}
