/* Puts an island into a lane: state, forces, joints, laws, links and contacts, in the layout of lanes/shape.h. The
 * members of struct body_at_hand lie in the order of the fields of a body. */
#include "physics/exact_internal.h"
#include "physics/link.h"
#include "scene/axis.h"

#include <math.h>
#include <stddef.h>

enum { HAND_FIELDS = LANES_MASS };
_Static_assert(sizeof(struct body_at_hand) == HAND_FIELDS * sizeof(double) &&
		       offsetof(struct body_at_hand, q) == LANES_Q * sizeof(double) &&
		       offsetof(struct body_at_hand, v) == LANES_V * sizeof(double) &&
		       offsetof(struct body_at_hand, w) == LANES_W * sizeof(double) &&
		       offsetof(struct body_at_hand, force) == LANES_FORCE * sizeof(double) &&
		       offsetof(struct body_at_hand, torque) == LANES_TORQUE * sizeof(double),
	"the fields of a body are copied as they lie");

static void exact_fill_put(const struct exact_lane *lane, uint32_t field, const double *from, uint32_t count)
{
	double *to = lane->at + (size_t)field * lane->stride;
#pragma GCC unroll 4
	for (uint32_t i = 0; i < count; i++)
		to[(size_t)i * lane->stride] = from[i];
}

static void exact_fill_put1(const struct exact_lane *lane, uint32_t field, double value)
{
	lane->at[(size_t)field * lane->stride] = value;
}

static void exact_fill_put3(const struct exact_lane *lane, uint32_t field, struct vec3 v)
{
	const double xyz[3] = {v.x, v.y, v.z};
	exact_fill_put(lane, field, xyz, 3);
}

/* --- bodies and joints ----------------------------------------------------------------------------------------------
 */

/* What is constant in the parent's axes becomes what it is in the world, for a parent that is a kinematic body. */
static void exact_fill_ground(
	const struct worker *worker, const struct exact_lane *lane, const struct assembly_edge *edge, uint32_t field)
{
	const struct body_at_hand *ground = worker_hand(worker, edge->ground);
	const double *f = edge->fields;
	struct vec3 arm =
		quat_rotate(ground->q, (struct vec3){f[LANES_ANCHOR], f[LANES_ANCHOR + 1], f[LANES_ANCHOR + 2]});
	struct vec3 axis = quat_rotate(ground->q, (struct vec3){f[LANES_AXIS], f[LANES_AXIS + 1], f[LANES_AXIS + 2]});
	struct quat relative = {f[LANES_RELATIVE], f[LANES_RELATIVE + 1], f[LANES_RELATIVE + 2], f[LANES_RELATIVE + 3]};
	relative = quat_mul(ground->q, relative);
	const double q[4] = {relative.w, relative.x, relative.y, relative.z};
	exact_fill_put3(lane, field + LANES_ANCHOR, vec3_add(ground->p, arm));
	exact_fill_put3(lane, field + LANES_AXIS, axis);
	exact_fill_put(lane, field + LANES_RELATIVE, q, 4);
	exact_fill_put3(lane, field + LANES_GROUND_V, vec3_add(ground->v, vec3_cross(ground->w, arm)));
	exact_fill_put3(lane, field + LANES_GROUND_W, ground->w);
}

static void exact_fill_edge(const struct worker *worker, const struct exact_lane *lane,
	const struct assembly_edge *edge, uint32_t field, double dt)
{
	exact_fill_put(lane, field, edge->fields, assembly_field_count(edge));
	if (edge->joint.motion == LANES_SCREW)
		exact_fill_put1(lane, field + LANES_THREAD, link_thread_back(worker, edge->joint.index, dt));
	if (edge->ground != SCENE_NONE) {
		exact_fill_ground(worker, lane, edge, field);
	} else {
		exact_fill_put3(lane, field + LANES_GROUND_V, (struct vec3){0, 0, 0});
		exact_fill_put3(lane, field + LANES_GROUND_W, (struct vec3){0, 0, 0});
	}
}

/* Lanes turn the momentum of every body; added_push() has turned that of a body with added mass already. */
static void exact_fill_torque_of_added(const struct worker *worker, const struct exact_lane *lane, uint32_t body,
	const double *solid, uint32_t field, double dt)
{
	const struct body_at_hand *hand = worker_hand(worker, body);
	struct vec3 lost = vec3_sub(hand->w, exact_turned_spin(solid, hand->q, hand->w, dt));
	exact_fill_put3(lane, field + LANES_TORQUE,
		vec3_add(hand->torque, vec3_scale(exact_times_inertia(solid, hand->q, lost), 1 / dt)));
}

static void exact_fill_bodies(
	const struct worker *worker, const struct exact_lane *lane, const struct exact_part *part, double dt)
{
	const struct assembly *assembly = part->assembly;
	for (uint32_t i = 0; i < assembly->count; i++) {
		uint32_t place = part->body_first + i, field = place * LANES_BODY_FIELDS;
		exact_fill_put(lane, field, (const double *)worker_hand(worker, assembly->bodies[i]), HAND_FIELDS);
		exact_fill_put(lane, field + LANES_MASS, assembly->solid[i], 7);
		if (worker->scene->bodies[assembly->bodies[i]].added)
			exact_fill_torque_of_added(worker, lane, assembly->bodies[i], assembly->solid[i], field, dt);
		if (assembly->edges[i].joint.motion != LANES_FREE)
			exact_fill_edge(worker, lane, &assembly->edges[i], lane->shape->edge[place], dt);
	}
}

/* --- laws -----------------------------------------------------------------------------------------------------------
 */

static void exact_fill_law(const struct exact_lane *lane, uint32_t row, const struct axis_law *law)
{
	const double fields[LANES_LAW_FIELDS] = {
		law->target, law->soft, law->lo, law->hi, law->low, law->high, law->low_soft, law->high_soft};
	exact_fill_put(lane, lane->shape->law_at + row * LANES_LAW_FIELDS, fields, LANES_LAW_FIELDS);
}

/* Returns the number of laws that have a row so far. */
static uint32_t exact_fill_axes(
	const struct worker *worker, const struct exact_lane *lane, const struct exact_part *part, uint32_t row)
{
	const struct assembly *assembly = part->assembly;
	const struct axis_law *laws = worker->exact->laws.at + part->law_first;
	for (uint32_t i = 0; i < assembly->axis_count; i++) {
		const struct assembly_axis *axis = &assembly->axes.at[i];
		int dof = lane->shape->dof[part->body_first + axis->body] + axis->dof;
		const double fields[LANES_AXIS_FIELDS] = {laws[i].mass, laws[i].push};
		exact_fill_put(lane, (uint32_t)lane->shape->axis[dof], fields, LANES_AXIS_FIELDS);
		if (laws[i].row)
			exact_fill_law(lane, row++, &laws[i]);
	}
	return row;
}

/* A loop's axis is no coordinate, so all that acts on it is its law. Beside a motor or a stop, a spring acts with the
 * rate of state k; alone it is the law. */
static struct axis_law exact_fill_law_of_loop(
	const struct worker *worker, const struct assembly_axis *axis, const struct axis_law *law)
{
	struct axis_law whole = *law;
	if (!law->row && law->mass > 0) {
		whole.target = law->push / law->mass;
		whole.soft = 1 / law->mass;
		whole.lo = -1e300;
		whole.hi = 1e300;
		return whole;
	}
	double push = law->push;
	if (law->mass != 0)
		push -= law->mass * scene_axis_rate(worker->owner->state, axis->joint, axis->axis, false);
	whole.lo += push;
	whole.hi += push;
	return whole;
}

/* --- links ----------------------------------------------------------------------------------------------------------
 */

/* Returns the field behind those of the row. */
static uint32_t exact_fill_row(
	const struct exact_lane *lane, const struct assembly_link *link, const struct link_row *row, uint32_t field)
{
	for (uint32_t b = 0; b < link->key.body_count; b++, field += LANES_LINK_BODY_FIELDS) {
		exact_fill_put3(lane, field, row->linear[b]);
		exact_fill_put3(lane, field + 3, row->angular[b]);
	}
	for (uint32_t d = 0; d < link->key.dof_count; d++)
		exact_fill_put1(lane, field++, row->factor[d]);
	return field;
}

static void exact_fill_link(const struct worker *worker, const struct exact_lane *lane, const struct exact_part *part,
	const struct assembly_link *link, const struct lanes_link *to, double dt)
{
	uint32_t field = to->at, law_row = to->law_row;
	struct link_rows rows;
	for (uint32_t a = 0; a < link->axes; a++) {
		const struct axis_law *law = &worker->exact->laws.at[part->law_first + link->law_first + a];
		if (!exact_has_link_law(law))
			continue;
		struct link_row row;
		link_axis(worker, link, a, &row);
		field = exact_fill_row(lane, link, &row, field);
		struct axis_law whole =
			exact_fill_law_of_loop(worker, &part->assembly->axes.at[link->law_first + a], law);
		whole.target += row.target;
		whole.low = fmax(whole.low + row.target, -1e300);
		whole.high = fmin(whole.high + row.target, 1e300);
		exact_fill_law(lane, law_row++, &whole);
	}
	link_equalities(worker, link, dt, &rows);
	for (uint32_t r = 0; r < rows.count; r++) {
		const double fields[LANES_EQUAL_FIELDS] = {rows.row[r].target, rows.row[r].soft};
		uint32_t equal = to->equal_row - (uint32_t)lane->shape->law_count + r;
		field = exact_fill_row(lane, link, &rows.row[r], field);
		exact_fill_put(lane, lane->shape->equal_at + equal * LANES_EQUAL_FIELDS, fields, LANES_EQUAL_FIELDS);
	}
}

/* --- contacts -------------------------------------------------------------------------------------------------------
 */

struct vec3 exact_any_direction(struct vec3 n)
{
	struct vec3 other = fabs(n.z) > 0.7 ? (struct vec3){0, -n.z, n.y} : (struct vec3){-n.y, n.x, 0};
	return vec3_unit(other);
}

static struct vec3 exact_fill_velocity(const struct worker *worker, uint32_t body, struct vec3 at)
{
	if (body == SCENE_NONE)
		return (struct vec3){0, 0, 0};
	const struct body_at_hand *hand = worker_hand(worker, body);
	return vec3_add(hand->v, vec3_cross(hand->w, vec3_sub(at, hand->p)));
}

/* The rate along the normal that the contact asks for: out of the overlap, or back from a bounce. */
static double exact_fill_push(const struct worker *worker, const struct contact_row *row, double dt)
{
	double push = row->erp * row->depth / dt;
	if (!row->bounces)
		return push;
	struct vec3 apart = vec3_sub(exact_fill_velocity(worker, row->bodies[0], row->at),
		exact_fill_velocity(worker, row->bodies[1], row->at));
	double incoming = -vec3_dot(apart, row->normal);
	return incoming > row->bounce_rate ? fmax(push, row->bounce * incoming) : push;
}

/* The velocity of the ground at a contact counts with the rates that are wanted. */
static void exact_fill_slot(const struct worker *worker, const struct exact_lane *lane, const struct contact_row *row,
	uint32_t field, double dt)
{
	bool turned = !exact_moves(worker, row->bodies[0]);
	uint32_t ground = row->bodies[turned ? 0 : 1];
	double least = MAX(worker->scene->sdf->physics.cfm, PHYSICS_CFM_MIN);
	struct vec3 normal = turned ? vec3_scale(row->normal, -1) : row->normal, first = row->first;
	if (first.x == 0 && first.y == 0 && first.z == 0)
		first = exact_any_direction(normal);
	struct vec3 second = vec3_cross(normal, first), moves = {0, 0, 0};
	if (ground != SCENE_NONE && !exact_moves(worker, ground))
		moves = exact_fill_velocity(worker, ground, row->at);
	exact_fill_put3(lane, field + LANES_AT, row->at);
	exact_fill_put3(lane, field + LANES_NORMAL, normal);
	exact_fill_put3(lane, field + LANES_FIRST, first);
	/* the other body comes first in the lane; see contact_set_motion() of contact.c for static ones */
	bool opposite = turned && row->bodies[0] != SCENE_NONE;
	const double rest[] = {
		exact_fill_push(worker, row, dt) + vec3_dot(normal, moves),
		row->softness / dt,
		fmin(row->mu[0], 1e100),
		fmin(row->mu[1], 1e100),
		(opposite ? -row->motion[0] : row->motion[0]) + vec3_dot(first, moves),
		row->motion[1] + vec3_dot(second, moves),
		fmax(row->slips ? row->slip[0] : 0, least) / dt,
		fmax(row->slips ? row->slip[1] : 0, least) / dt,
	};
	exact_fill_put(lane, field + LANES_PUSH, rest, sizeof rest / sizeof *rest);
	if (!row->resists)
		return;
	const double resistance[] = {row->rolling, row->rolling, row->spinning, least / dt};
	exact_fill_put(lane, field + LANES_RHO, resistance, sizeof resistance / sizeof *resistance);
}

void exact_fill(struct worker *worker, const struct exact_lane *lane, double dt)
{
	struct exact *exact = worker->exact;
	uint32_t law = 0, link = 0, slot = 0;
	for (uint32_t p = lane->root; p != SCENE_NONE; p = exact->parts.at[p].next) {
		exact_fill_bodies(worker, lane, &exact->parts.at[p], dt);
		law = exact_fill_axes(worker, lane, &exact->parts.at[p], law);
	}
	for (uint32_t p = lane->root; p != SCENE_NONE; p = exact->parts.at[p].next) {
		const struct exact_part *part = &exact->parts.at[p];
		for (uint32_t i = 0; i < part->assembly->links.count; i++)
			exact_fill_link(
				worker, lane, part, &part->assembly->links.at[i], &lane->shape->links[link++], dt);
	}
	for (uint32_t r = exact->parts.at[lane->root].row_first; r != SCENE_NONE; r = exact->row_next.at[r])
		exact_fill_slot(worker, lane, &worker->rows_of_contacts.at[r], lane->shape->slot_at[slot++], dt);
}
