/* Couplings connect the rates of several axes. The thread of a screw connects its turning and its sliding, a gearbox
 * its two shafts, a mimic an axis and the axis that it follows.
 *
 * ODE's rows connect two bodies, but a coupling may connect four: no row between two bodies can connect opposite
 * fingers on one palm. So a coupling is an impulse along its direction, applied to all its bodies before the step,
 * and the impulse is found by trying: ODE steps the same state k several times, and the error of the rate after each
 * try tells how to go on. The error is a piecewise linear function of the impulses, with a symmetric slope, since
 * ODE's step is itself the solution of such a problem. So conjugate gradients find the impulses of an island in as
 * many directions as it has couplings, and one coupling takes three tries. The impulses of a coupling on its bodies
 * balance, so motors, loads, contacts and stops act through it as through a real linkage.
 *
 * The search begins at the force of the previous step, which is a word of the state. Where an impulse changes nothing
 * (the axes are held by motors and stops of unlimited strength) the force is reduced again, instead of growing
 * without bound.
 *
 * Islands are searched side by side, each by its own rules, so bits do not depend on which islands share an ODE
 * world.
 *
 * Dropped: a row of a contact joint as a screw's thread (with a stop or a spring beside it the exact solver returned
 * NaN); limiting the impulse to what the freest bodies could take (a gearbox under load lagged, a mimic could not
 * push back on its leader). */
#include "physics/internal.h"

#include "base/math.h"
#include "scene/axis.h"

#include <string.h>

enum {
	COUPLE_ROUNDS_MAX = 3, /* searches of an island in one step */
	DIRECTIONS_MAX = 8,    /* of one search */
	NARROWED_MAX = 5,      /* tries to narrow a zero down */
};
#define LEFT_MAX 1e-9      /* rad/s or m/s: a smaller error counts as none */
#define REACH_FACTOR 10.0  /* when an impulse has no effect, the next is this many times as large */
#define COUPLE_REACH_MAX 1e4 /* at most this many times what free bodies would need */
#define NEAR 1e-3          /* of the error: this part counts as none in a first approach */
#define COUPLE_FLAT 1e-8   /* of the effect on free bodies: this part counts as none */

/* --- what is coupled -----------------------------------------------------------------------------------------------
 */

static uint32_t couple_place_of(struct coupling *coupling, uint32_t body)
{
	for (uint32_t i = 0; i < coupling->count; i++)
		if (coupling->body[i] == body)
			return i;
	coupling->body[coupling->count] = body;
	coupling->linear[coupling->count] = coupling->angular[coupling->count] = (struct vec3){0, 0, 0};
	return coupling->count++;
}

static void couple_add_body(
	struct coupling *coupling, uint32_t body, struct vec3 linear, struct vec3 angular, double weight)
{
	if (body == SCENE_NONE)
		return;
	uint32_t i = couple_place_of(coupling, body);
	coupling->linear[i] = vec3_add(coupling->linear[i], vec3_scale(linear, weight));
	coupling->angular[i] = vec3_add(coupling->angular[i], vec3_scale(angular, weight));
}

static void couple_add_rate(
	struct coupling *coupling, const struct scene_joint *joint, const struct axis_rate *rate, double weight)
{
	couple_add_body(coupling, joint->child, rate->linear[0], rate->angular[0], weight);
	couple_add_body(coupling, joint->parent, rate->linear[1], rate->angular[1], weight);
}

/* The velocity per unit of impulse that free bodies would get along it. */
static double couple_mobility_of(const struct worker *worker, const struct coupling *coupling)
{
	double mobility = 0;
	for (uint32_t i = 0; i < coupling->count; i++) {
		const struct scene_body *b = &worker->scene->bodies[coupling->body[i]];
		if (b->kinematic)
			continue;
		struct vec3 a = quat_rotate(
			quat_conj(state_body(worker->owner->state, coupling->body[i], false)->q), coupling->angular[i]);
		/* a . I^-1 a, by the adjugate */
		double cxx = b->iyy * b->izz - b->iyz * b->iyz, cxy = b->ixz * b->iyz - b->ixy * b->izz;
		double cxz = b->ixy * b->iyz - b->ixz * b->iyy, cyy = b->ixx * b->izz - b->ixz * b->ixz;
		double cyz = b->ixy * b->ixz - b->ixx * b->iyz, czz = b->ixx * b->iyy - b->ixy * b->ixy;
		double determinant = b->ixx * cxx + b->ixy * cxy + b->ixz * cxz;
		mobility += vec3_dot(coupling->linear[i], coupling->linear[i]) / b->mass +
			    (cxx * a.x * a.x + cyy * a.y * a.y + czz * a.z * a.z +
				    2 * (cxy * a.x * a.y + cxz * a.x * a.z + cyz * a.y * a.z)) /
				    determinant;
	}
	return mobility;
}

/* amiss: the position error of the coupling. */
static void couple_finish(struct worker *worker, struct coupling *coupling, double amiss, double back_max, double dt)
{
	double back = worker->scene->sdf->physics.erp * amiss / dt;
	coupling->target = -fmin(fmax(back, -back_max), back_max);
	coupling->mobility = couple_mobility_of(worker, coupling);
	if (!(coupling->mobility > 0)) { /* none of its bodies can move */
		worker->couplings.count--;
		return;
	}
	const struct scene_joint *joint = &worker->scene->joints[coupling->joint];
	double force;
	memcpy(&force, state_words(worker->owner->state, joint->model, false) + coupling->word, sizeof force);
	coupling->impulse = coupling->best = force * dt;
}

static struct coupling *couple_begin_one(struct worker *worker, uint32_t joint, uint32_t which)
{
	vec_push(&worker->couplings, (struct coupling){0});
	struct coupling *coupling = &worker->couplings.at[worker->couplings.count - 1];
	coupling->joint = joint;
	coupling->word = worker->owner->state->joint_coupling[joint] + which;
	coupling->axis = SCENE_NONE;
	return coupling;
}

static double couple_position_of(const struct worker *worker, uint32_t joint, uint32_t axis)
{
	return state_joint(worker->owner->state, joint, false)->position[axis];
}

/* Slides by `lead` for each radian. */
static void couple_collect_thread(struct worker *worker, uint32_t index, dJointID id, double dt)
{
	const struct scene_joint *joint = &worker->scene->joints[index];
	struct coupling *coupling = couple_begin_one(worker, index, 0);
	double lead = 1 / joint->sdf->thread_pitch;
	struct axis_rate slide, turn;
	scene_axis_sliding(worker->owner->state, joint, false, &slide);
	scene_axis_turning(worker->owner->state, joint, 0, false, &turn);
	couple_add_rate(coupling, joint, &slide, 1);
	couple_add_rate(coupling, joint, &turn, -lead);
	couple_finish(worker, coupling, dJointGetPistonPosition(id) - lead * couple_position_of(worker, index, 0),
		PHYSICS_SLIDE_BACK_MAX, dt);
}

/* SDF: theta_child = -ratio theta_parent, both against the reference body. */
static void couple_collect_gears(struct worker *worker, uint32_t index, double dt)
{
	const struct scene_joint *joint = &worker->scene->joints[index];
	struct coupling *coupling = couple_begin_one(worker, index, 0);
	const struct vec3 none = {0, 0, 0};
	double ratio = joint->sdf->gearbox_ratio;
	struct vec3 input = scene_axis_direction(worker->owner->state, joint, 0, false);
	struct vec3 output = scene_axis_direction(worker->owner->state, joint, 1, false);
	couple_add_body(coupling, joint->parent, none, input, ratio);
	couple_add_body(coupling, joint->child, none, output, 1);
	couple_add_body(coupling, joint->reference, none, input, -ratio);
	couple_add_body(coupling, joint->reference, none, output, -1);
	couple_finish(worker, coupling,
		ratio * couple_position_of(worker, index, 0) + couple_position_of(worker, index, 1),
		PHYSICS_TURN_BACK_MAX, dt);
}

static void couple_collect_mimic(struct worker *worker, uint32_t index, uint32_t axis, uint32_t which, double dt)
{
	const struct scene_joint *joint = &worker->scene->joints[index];
	const struct scene_mimic *mimic = &joint->mimic[axis];
	const struct scene_joint *leader = &worker->scene->joints[mimic->joint];
	struct coupling *coupling = couple_begin_one(worker, index, which);
	struct axis_rate own, leading;
	coupling->axis = axis;
	scene_axis_rate_of(worker->owner->state, joint, axis, false, &own);
	scene_axis_rate_of(worker->owner->state, leader, mimic->axis, false, &leading);
	couple_add_rate(coupling, joint, &own, 1);
	couple_add_rate(coupling, leader, &leading, -mimic->multiplier);
	double wanted = mimic->multiplier * (couple_position_of(worker, mimic->joint, mimic->axis) - mimic->reference) +
			mimic->offset;
	couple_finish(worker, coupling, couple_position_of(worker, index, axis) - wanted,
		joint->kind == SDF_PRISMATIC ? PHYSICS_SLIDE_BACK_MAX : PHYSICS_TURN_BACK_MAX, dt);
}

void couple_collect(struct worker *worker, uint32_t index, dJointID id, double dt)
{
	const struct scene_joint *joint = &worker->scene->joints[index];
	uint32_t which = 0;
	if (joint->kind == SDF_SCREW)
		couple_collect_thread(worker, index, id, dt);
	else if (joint->kind == SDF_GEARBOX)
		couple_collect_gears(worker, index, dt);
	which += joint->kind == SDF_SCREW || joint->kind == SDF_GEARBOX;
	for (uint32_t a = 0; a < joint->axis_count; a++)
		if (joint->mimic[a].joint != SCENE_NONE)
			couple_collect_mimic(worker, index, a, which++, dt);
}

/* The twist about the axis of what turns the reference's pose against the pose in the file. */
static double couple_twist(struct quat reference, struct quat body, struct vec3 axis)
{
	struct quat turn = quat_mul(quat_conj(reference), body);
	double angle = 2 * math_atan2(vec3_dot((struct vec3){turn.x, turn.y, turn.z}, axis), turn.w);
	return angle > M_PI ? angle - 2 * M_PI : angle < -M_PI ? angle + 2 * M_PI : angle;
}

double couple_angle(const struct physics *physics, uint32_t index, uint32_t axis)
{
	const struct scene_joint *joint = &physics->scene->joints[index];
	struct quat turn[2];
	uint32_t bodies[2] = {joint->reference, axis ? joint->child : joint->parent};
	for (int i = 0; i < 2; i++) {
		dBodyID body = instance_body(physics, bodies[i]);
		turn[i] = QUAT_IDENTITY;
		if (!body)
			continue;
		const dReal *q = dBodyGetQuaternion(body);
		turn[i] = quat_mul(quat_from(q),
			quat_conj(physics->scene->bodies[bodies[i]].reference.q));
	}
	return couple_twist(turn[0], turn[1], joint->axis[axis].xyz_world);
}

/* --- tries --------------------------------------------------------------------------------------------------------
 */

void couple_apply(struct worker *worker, double dt)
{
	for (uint32_t c = 0; c < worker->couplings.count; c++) {
		const struct coupling *coupling = &worker->couplings.at[c];
		double force = -coupling->impulse / dt;
		for (uint32_t i = 0; i < coupling->count; i++) {
			dBodyID body = instance_body(worker->owner, coupling->body[i]);
			struct vec3 f = vec3_scale(coupling->linear[i], force);
			struct vec3 t = vec3_scale(coupling->angular[i], force);
			dBodyAddForce(body, f.x, f.y, f.z);
			dBodyAddTorque(body, t.x, t.y, t.z);
		}
	}
}

/* The error of the rate after a try, by the directions of state k. */
static double couple_left_of(const struct worker *worker, const struct coupling *coupling)
{
	double rate = -coupling->target;
	for (uint32_t i = 0; i < coupling->count; i++) {
		dBodyID body = instance_body(worker->owner, coupling->body[i]);
		const dReal *v = dBodyGetLinearVel(body), *w = dBodyGetAngularVel(body);
		rate += vec3_dot(coupling->linear[i], vec3_from(v)) + vec3_dot(coupling->angular[i], vec3_from(w));
	}
	return rate;
}

enum search_phase {
	SEARCH_BEGUN, /* the try was at `at` */
	SEARCH_TRIED, /* the try was at `at` + reach along the direction */
	SEARCH_FOUND, /* the try was at `at`, where the search ended */
	SEARCH_LAST,  /* the try was the one to keep */
	SEARCH_DONE,
};

/* The couplings of the island with this root. */
struct couple_search {
	struct worker *worker;
	uint32_t root;
	struct coupling *lead; /* its first coupling, which keeps the data of the search */
};

#define FOR_EACH(c, search)                                                                                            \
	for (struct coupling *c = (search)->lead,                                                                      \
			     *end_ = (search)->worker->couplings.at + (search)->worker->couplings.count;               \
		c < end_; c++)                                                                                         \
		if (c->root == (search)->root)

static double couple_worst(const struct couple_search *search)
{
	double most = 0;
	FOR_EACH(c, search)
	most = fmax(most, fabs(c->left));
	return most;
}

static uint32_t couple_count_of(const struct couple_search *search)
{
	uint32_t count = 0;
	FOR_EACH(c, search)
	count++;
	return count;
}

static void couple_try_along(const struct couple_search *search, double reach)
{
	search->lead->reach = reach;
	search->lead->phase = SEARCH_TRIED;
	FOR_EACH(c, search)
	c->impulse = c->at + reach * c->direction;
}

static void couple_try_at(const struct couple_search *search, enum search_phase phase)
{
	search->lead->phase = phase;
	FOR_EACH(c, search)
	c->impulse = c->at;
}

static void couple_end_search(const struct couple_search *search)
{
	bool kept = true;
	FOR_EACH(c, search)
	{
		c->at = c->best;
		kept = kept && c->impulse == c->best;
	}
	if (kept)
		search->lead->phase = SEARCH_DONE;
	else
		couple_try_at(search, SEARCH_LAST);
}

/* To be called when `left` is the error at `at`. */
static void couple_turn_to_gradient(const struct couple_search *search, bool anew)
{
	struct coupling *lead = search->lead;
	double before = lead->weight;
	lead->weight = 0;
	lead->narrowed = 0;
	FOR_EACH(c, search)
	lead->weight += c->left * c->left / c->mobility;
	double carry = anew || !(before > 0) ? 0 : lead->weight / before;
	FOR_EACH(c, search)
	c->direction = c->left / c->mobility + carry * c->direction;
	couple_try_along(search, 1);
}

static void couple_begin_round(const struct couple_search *search)
{
	FOR_EACH(c, search)
	c->left = c->tried;
	double most = couple_worst(search);
	if (!search->lead->rounds || most < search->lead->best_left) {
		search->lead->best_left = most;
		FOR_EACH(c, search)
		c->best = c->at;
	}
	if (most <= LEFT_MAX || search->lead->rounds == COUPLE_ROUNDS_MAX) {
		couple_end_search(search);
		return;
	}
	search->lead->rounds++;
	search->lead->directions = 0;
	couple_turn_to_gradient(search, true);
}

/* No axis gives way: impulses without effect are halved. */
static void couple_give_way(const struct couple_search *search)
{
	double most = couple_worst(search);
	FOR_EACH(c, search)
	{
		if (fabs(c->left) > most / 10)
			c->at /= 2;
		c->best = c->at;
	}
	couple_try_at(search, SEARCH_LAST);
}

static void couple_next_direction(const struct couple_search *search)
{
	if (++search->lead->directions < MIN(couple_count_of(search), (uint32_t)DIRECTIONS_MAX) &&
		couple_worst(search) > LEFT_MAX)
		couple_turn_to_gradient(search, false);
	else
		couple_try_at(search, SEARCH_FOUND);
}

/* Moves to a point `part` of the way to the try; the error there is computed, not tried. */
static void couple_go_along(const struct couple_search *search, double part)
{
	FOR_EACH(c, search)
	{
		c->at += part * search->lead->reach * c->direction;
		c->left += part * (c->tried - c->left);
	}
	couple_next_direction(search);
}

/* Narrows the zero between a point at which the impulse has no effect yet and one beyond the zero: false position,
 * where the weight of an end that does not move is reduced each time (the Illinois rule). */
static void couple_narrow(const struct couple_search *search, double here, double there)
{
	struct coupling *lead = search->lead;
	if (fabs(there) <= NEAR * here || lead->narrowed++ == NARROWED_MAX) {
		couple_go_along(search, 1);
		return;
	}
	bool low = there > 0;
	*(low ? &lead->low : &lead->high) = lead->reach;
	*(low ? &lead->low_left : &lead->high_left) = there;
	if (lead->narrowed > 1 && low == lead->was_low)
		*(low ? &lead->high_left : &lead->low_left) /= 2;
	lead->was_low = low;
	couple_try_along(
		search, lead->low + (lead->high - lead->low) * lead->low_left / (lead->low_left - lead->high_left));
}

/* Along the direction the error falls; the search goes on where it is zero. */
static void couple_look_along(const struct couple_search *search)
{
	struct coupling *lead = search->lead;
	double here = 0, there = 0, free = 0;
	FOR_EACH(c, search)
	{
		here += c->direction * c->left;
		there += c->direction * c->tried;
		free += c->direction * c->direction * c->mobility;
	}
	bool flat = here - there <= COUPLE_FLAT * lead->reach * free;
	if (lead->narrowed) {
		couple_narrow(search, here, there);
	} else if (flat && lead->reach < COUPLE_REACH_MAX) {
		lead->low = lead->reach;
		couple_try_along(search, lead->reach * REACH_FACTOR);
	} else if (flat) {
		couple_give_way(search);
	} else if (lead->reach > 1 && there < 0) {
		lead->low_left = here;
		couple_narrow(search, here, there);
	} else {
		couple_go_along(search, here / (here - there));
	}
}

static void couple_advance(const struct couple_search *search)
{
	switch (search->lead->phase) {
	case SEARCH_BEGUN:
		FOR_EACH(c, search)
		c->at = c->impulse;
		couple_begin_round(search);
		break;
	case SEARCH_FOUND:
		couple_begin_round(search);
		break;
	case SEARCH_TRIED:
		couple_look_along(search);
		break;
	case SEARCH_LAST:
	case SEARCH_DONE:
		search->lead->phase = SEARCH_DONE;
		break;
	}
}

/* The leads are the first couplings of their islands. A single coupling needs no island, unless the pass is for one. */
static void couple_begin_searches(struct worker *worker, bool islands)
{
	uint32_t alone = worker->pass.alone;
	for (uint32_t i = 0; i < worker->couplings.count; i++) {
		struct coupling *coupling = &worker->couplings.at[i];
		coupling->root = islands ? solver_island(worker, coupling->body[0]) : 0;
		coupling->leads = alone == SCENE_NONE || alone == coupling->root;
		for (uint32_t k = 0; k < i; k++)
			coupling->leads = coupling->leads && worker->couplings.at[k].root != coupling->root;
		coupling->phase = SEARCH_BEGUN;
	}
}

void couple_begin(struct worker *worker)
{
	bool islands = worker->couplings.count > 1 || worker->pass.alone != SCENE_NONE;
	if (islands)
		solver_find_islands(worker);
	couple_begin_searches(worker, islands);
}

bool couple_search(struct worker *worker)
{
	bool done = true;
	for (uint32_t i = 0; i < worker->couplings.count; i++)
		worker->couplings.at[i].tried = couple_left_of(worker, &worker->couplings.at[i]);
	for (uint32_t i = 0; i < worker->couplings.count; i++) {
		struct coupling *coupling = &worker->couplings.at[i];
		struct couple_search search = {worker, coupling->root, coupling};
		if (!coupling->leads)
			continue;
		couple_advance(&search);
		done = done && coupling->phase == SEARCH_DONE;
	}
	return done;
}

void couple_store(struct worker *worker, double dt)
{
	for (uint32_t i = 0; i < worker->couplings.count; i++) {
		const struct coupling *coupling = &worker->couplings.at[i];
		uint32_t model = worker->scene->joints[coupling->joint].model;
		double force = coupling->impulse / dt;
		memcpy(state_words(worker->owner->state, model, true) + coupling->word, &force, sizeof force);
	}
}
