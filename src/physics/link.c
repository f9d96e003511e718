/* The directions and the corrections of drift are those of ODE's joints. A row's part for a body that is ground (the
 * world, a kinematic body) becomes part of its target. */
#include "physics/link.h"

#include "physics/internal.h"
#include "scene/axis.h"

#include <string.h>

/* A coupling yields to a motor, a stop and a limit of a rate (joint.c): as much softer than these, so that a load of
 * 100 N m turns it by 1e-4 rad/s, which the correction of its position makes good. */
#define LINK_COUPLING_YIELDS 1e4

/* --- a row and its bodies ----------------------------------------------------------------------------------------- */

struct link_work {
	const struct worker *worker;
	const struct assembly_link *link;
	struct link_rows *rows;
	double dt, erp, soft;
};

static void physics_link_add(
	const struct link_work *work, struct link_row *row, uint32_t body, struct vec3 linear, struct vec3 angular)
{
	if (body == SCENE_NONE)
		return;
	for (uint32_t i = 0; i < work->link->key.body_count; i++)
		if (work->link->bodies[i] == body) {
			row->linear[i] = vec3_add(row->linear[i], linear);
			row->angular[i] = vec3_add(row->angular[i], angular);
			return;
		}
	const struct body_at_hand *ground = worker_hand(work->worker, body); /* it is kinematic */
	row->target -= vec3_dot(linear, ground->v) + vec3_dot(angular, ground->w);
}

/* drift: of the row, in m or rad, that the step corrects in part. */
static struct link_row *physics_link_row_begin(const struct link_work *work, double drift)
{
	struct link_row *row = &work->rows->row[work->rows->count++];
	double back = drift * work->erp / work->dt;
	*row = (struct link_row){.target = back, .soft = work->soft, .back = back};
	return row;
}

/* The two ends of a joint or an attachment in state k. The parent's vectors are those of the world where it is the
 * world. */
struct link_end {
	uint32_t body;
	struct pose pose, reference;
	struct vec3 anchor; /* world */
};

static struct link_end physics_link_end_of(const struct worker *worker, uint32_t body, struct vec3 anchor)
{
	struct link_end end = {.body = body, .pose = POSE_IDENTITY, .reference = POSE_IDENTITY, .anchor = anchor};
	if (body == SCENE_NONE)
		return end;
	end.pose = (struct pose){worker_hand(worker, body)->p, worker_hand(worker, body)->q};
	end.reference = worker->scene->bodies[body].reference;
	struct vec3 arm = quat_rotate(quat_conj(end.reference.q), vec3_sub(anchor, end.reference.p));
	end.anchor = pose_point(end.pose, arm);
	return end;
}

static struct vec3 physics_link_turned(const struct link_end *end, struct vec3 axis)
{
	return quat_rotate(end->pose.q, quat_rotate(quat_conj(end->reference.q), axis));
}

struct link_joint {
	struct link_end child, parent;
	struct quat relative; /* the child's rotation in the parent, as it should be */
};

static void physics_link_along(const struct link_work *work, const struct link_joint *joint, struct link_row *row,
	struct vec3 along, struct vec3 at)
{
	physics_link_add(work, row, joint->child.body, along, vec3_cross(vec3_sub(at, joint->child.pose.p), along));
	physics_link_add(work, row, joint->parent.body, vec3_scale(along, -1),
		vec3_cross(along, vec3_sub(at, joint->parent.pose.p)));
}

static void physics_link_about(
	const struct link_work *work, const struct link_joint *joint, struct link_row *row, struct vec3 axis)
{
	const struct vec3 none = {0, 0, 0};
	physics_link_add(work, row, joint->child.body, none, axis);
	physics_link_add(work, row, joint->parent.body, none, vec3_scale(axis, -1));
}

/* Keeps the anchors together along a direction. Both are pushed at one point between them: forces at two points that
 * have drifted apart would turn the two bodies. */
static void physics_link_hold_point(const struct link_work *work, const struct link_joint *joint, struct vec3 along)
{
	struct link_row *row =
		physics_link_row_begin(work, vec3_dot(along, vec3_sub(joint->parent.anchor, joint->child.anchor)));
	physics_link_along(
		work, joint, row, along, vec3_scale(vec3_add(joint->child.anchor, joint->parent.anchor), 0.5));
}

/* The same where the child may slide, so that its anchor is not where the parent's is. */
static void physics_link_hold_line(const struct link_work *work, const struct link_joint *joint, struct vec3 along)
{
	struct link_row *row =
		physics_link_row_begin(work, vec3_dot(along, vec3_sub(joint->parent.anchor, joint->child.anchor)));
	physics_link_along(work, joint, row, along, joint->child.anchor);
}

static void physics_link_hold_turn(
	const struct link_work *work, const struct link_joint *joint, struct vec3 axis, double drift)
{
	physics_link_about(work, joint, physics_link_row_begin(work, drift), axis);
}

static void physics_link_across(struct vec3 axis, struct vec3 *ret_a, struct vec3 *ret_b)
{
	struct vec3 other = fabs(axis.x) < 0.6 ? (struct vec3){1, 0, 0} : (struct vec3){0, 1, 0};
	*ret_a = vec3_unit(vec3_cross(axis, other));
	*ret_b = vec3_cross(axis, *ret_a);
}

static const struct vec3 physics_link_units[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

static void physics_link_hold_anchor(const struct link_work *work, const struct link_joint *joint)
{
	for (uint32_t i = 0; i < 3; i++)
		physics_link_hold_point(work, joint, physics_link_units[i]);
}

static void physics_link_hold_rotation(const struct link_work *work, const struct link_joint *joint)
{
	struct quat off = quat_mul(joint->child.pose.q, quat_conj(quat_mul(joint->parent.pose.q, joint->relative)));
	double twice = off.w < 0 ? 2 : -2;
	struct vec3 bend = {twice * off.x, twice * off.y, twice * off.z};
	for (uint32_t i = 0; i < 3; i++)
		physics_link_hold_turn(work, joint, physics_link_units[i], vec3_dot(physics_link_units[i], bend));
}

/* Keeps the axis of the child along that of the parent. */
static void physics_link_hold_axis(
	const struct link_work *work, const struct link_joint *joint, struct vec3 own, struct vec3 other)
{
	struct vec3 a, b, bend = vec3_cross(own, other);
	physics_link_across(own, &a, &b);
	physics_link_hold_turn(work, joint, a, vec3_dot(a, bend));
	physics_link_hold_turn(work, joint, b, vec3_dot(b, bend));
}

/* --- joints and attachments ---------------------------------------------------------------------------------------
 */

static struct link_joint physics_link_joint_of(const struct worker *worker, const struct assembly_joint *from)
{
	struct link_joint joint;
	if (from->kind == ASSEMBLY_ATTACHMENT) {
		const struct scene_attachment *attachment = &worker->scene->attachments.at[from->index];
		joint.child = physics_link_end_of(worker, from->child, (struct vec3){0, 0, 0});
		joint.parent = physics_link_end_of(worker, from->parent, (struct vec3){0, 0, 0});
		joint.child.anchor = joint.child.pose.p;
		joint.parent.anchor = pose_point(joint.parent.pose, attachment->pose.p);
		joint.relative = attachment->pose.q;
		return joint;
	}
	const struct scene_joint *of = &worker->scene->joints[from->index];
	joint.child = physics_link_end_of(worker, from->child, of->anchor);
	joint.parent = physics_link_end_of(worker, from->parent, of->anchor);
	joint.relative = quat_mul(quat_conj(joint.parent.reference.q), joint.child.reference.q);
	return joint;
}

/* How far a screw has slid, less what its turn says; in m. */
static double physics_link_thread_error(const struct state *state, uint32_t index)
{
	const struct scene_joint *joint = &state->scene->joints[index];
	struct vec3 axis = scene_axis_direction(state, joint, 0, false), apart = {0, 0, 0};
	const uint32_t bodies[2] = {joint->child, joint->parent};
	for (uint32_t i = 0; i < 2; i++) {
		const struct scene_body *b = bodies[i] == SCENE_NONE ? NULL : &state->scene->bodies[bodies[i]];
		struct vec3 at = joint->anchor;
		if (b) {
			struct vec3 arm =
				quat_rotate(quat_conj(b->reference.q), vec3_sub(joint->anchor, b->reference.p));
			const struct body_state *now = state_body(state, bodies[i], false);
			at = vec3_add(now->p, quat_rotate(now->q, arm));
		}
		apart = i ? vec3_sub(apart, at) : at;
	}
	return vec3_dot(axis, apart) - state_joint(state, index, false)->position[0] / joint->sdf->thread_pitch;
}

double link_thread_back(const struct worker *worker, uint32_t joint, double dt)
{
	double back = -worker->scene->sdf->physics.erp * physics_link_thread_error(worker->owner->state, joint) / dt;
	return fmin(fmax(back, -PHYSICS_SLIDE_BACK_MAX), PHYSICS_SLIDE_BACK_MAX);
}

static void physics_link_hold_thread(const struct link_work *work, const struct link_joint *joint, struct vec3 axis)
{
	uint32_t index = work->link->joint.index;
	double lead = 1 / work->worker->scene->joints[index].sdf->thread_pitch;
	struct link_row *row = physics_link_row_begin(work, 0);
	physics_link_along(work, joint, row, axis, joint->child.anchor);
	physics_link_about(work, joint, row, vec3_scale(axis, -lead));
	row->back = link_thread_back(work->worker, index, work->dt);
	row->target += row->back;
}

static void physics_link_loop(struct link_work *work)
{
	const struct assembly_joint *from = &work->link->joint;
	const struct link_joint joint = physics_link_joint_of(work->worker, from);
	struct vec3 own = {0, 0, 0}, other = {0, 0, 0}, a, b;
	if (from->kind == ASSEMBLY_LOOP) {
		const struct scene_joint *of = &work->worker->scene->joints[from->index];
		if (of->axis_count) { /* of two axes the first moves with the parent */
			own = physics_link_turned(&joint.child, of->axis[of->axis_count - 1].xyz_world);
			other = physics_link_turned(&joint.parent, of->axis[0].xyz_world);
		} else {
			if (!isnan(of->sdf->ode->erp))
				work->erp = of->sdf->ode->erp;
			if (!isnan(of->sdf->ode->cfm))
				work->soft = MAX(of->sdf->ode->cfm, PHYSICS_CFM_MIN) / work->dt;
		}
	}
	switch (from->motion) {
	case LANES_HINGE:
		physics_link_hold_anchor(work, &joint);
		physics_link_hold_axis(work, &joint, own, other);
		break;
	case LANES_SLIDER:
	case LANES_SCREW:
		physics_link_across(other, &a, &b);
		physics_link_hold_line(work, &joint, a);
		physics_link_hold_line(work, &joint, b);
		if (from->motion == LANES_SLIDER) {
			physics_link_hold_rotation(work, &joint);
		} else {
			physics_link_hold_axis(work, &joint, own, other);
			physics_link_hold_thread(work, &joint, own);
		}
		break;
	case LANES_UNIVERSAL:
		physics_link_hold_anchor(work, &joint);
		physics_link_hold_turn(work, &joint, vec3_unit(vec3_cross(own, other)), -vec3_dot(own, other));
		break;
	case LANES_FIXED:
		physics_link_hold_anchor(work, &joint);
		physics_link_hold_rotation(work, &joint);
		break;
	default:
		physics_link_hold_anchor(work, &joint);
		break;
	}
}

void link_axis(const struct worker *worker, const struct assembly_link *link, uint32_t axis, struct link_row *ret)
{
	struct link_rows rows = {0};
	const struct link_work work = {.worker = worker, .link = link, .rows = &rows, .dt = 1};
	const struct link_joint joint = physics_link_joint_of(worker, &link->joint);
	const struct scene_joint *of = &worker->scene->joints[link->joint.index];
	bool with_parent = of->axis_count == 2 && axis == 0;
	struct vec3 direction =
		physics_link_turned(with_parent || link->joint.motion == LANES_SLIDER ? &joint.parent : &joint.child,
			of->axis[axis].xyz_world);
	*ret = (struct link_row){0};
	if (link->joint.motion == LANES_SLIDER)
		physics_link_along(&work, &joint, ret, direction, joint.child.anchor);
	else
		physics_link_about(&work, &joint, ret, direction);
}

/* --- couplings ------------------------------------------------------------------------------------------------------
 */

static double physics_link_position(const struct link_work *work, uint32_t joint, uint32_t axis)
{
	return state_joint(work->worker->owner->state, joint, false)->position[axis];
}

static void physics_link_add_rate(
	const struct link_work *work, struct link_row *row, uint32_t joint, uint32_t axis, double weight)
{
	const struct scene_joint *of = &work->worker->scene->joints[joint];
	struct axis_rate rate;
	scene_axis_rate_of(work->worker->owner->state, of, axis, false, &rate);
	physics_link_add(work, row, of->child, vec3_scale(rate.linear[0], weight), vec3_scale(rate.angular[0], weight));
	physics_link_add(
		work, row, of->parent, vec3_scale(rate.linear[1], weight), vec3_scale(rate.angular[1], weight));
}

/* amiss: the error of the coupled position. */
static void physics_link_correct(const struct link_work *work, struct link_row *row, double amiss, double most)
{
	row->back = fmin(fmax(-work->erp * amiss / work->dt, -most), most);
	row->target += row->back;
}

/* SDF: theta_child = -ratio theta_parent, both against the reference body. */
static void physics_link_gears(const struct link_work *work)
{
	const struct state *state = work->worker->owner->state;
	const struct scene_joint *joint = &work->worker->scene->joints[work->link->joint.index];
	const struct vec3 none = {0, 0, 0};
	double ratio = joint->sdf->gearbox_ratio;
	struct vec3 input = scene_axis_direction(state, joint, 0, false),
		    output = scene_axis_direction(state, joint, 1, false);
	struct link_row *row = physics_link_row_begin(work, 0);
	physics_link_add(work, row, joint->parent, none, vec3_scale(input, ratio));
	physics_link_add(work, row, joint->child, none, output);
	physics_link_add(work, row, joint->reference, none, vec3_sub(vec3_scale(input, -ratio), output));
	physics_link_correct(work, row,
		ratio * physics_link_position(work, work->link->joint.index, 0) +
			physics_link_position(work, work->link->joint.index, 1),
		PHYSICS_TURN_BACK_MAX);
}

static void physics_link_mimic(const struct link_work *work)
{
	uint32_t index = work->link->joint.index, axis = work->link->axis;
	const struct scene_joint *joint = &work->worker->scene->joints[index];
	const struct scene_mimic *mimic = &joint->mimic[axis];
	struct link_row *row = physics_link_row_begin(work, 0);
	if (work->link->by_dofs) {
		row->factor[0] = 1;
		row->factor[1] = -mimic->multiplier;
	} else {
		physics_link_add_rate(work, row, index, axis, 1);
		physics_link_add_rate(work, row, mimic->joint, mimic->axis, -mimic->multiplier);
	}
	double wanted =
		mimic->multiplier * (physics_link_position(work, mimic->joint, mimic->axis) - mimic->reference) +
		mimic->offset;
	physics_link_correct(work, row, physics_link_position(work, index, axis) - wanted,
		joint->kind == SDF_PRISMATIC ? PHYSICS_SLIDE_BACK_MAX : PHYSICS_TURN_BACK_MAX);
}

/* Each row resists acceleration as a mass does: rate = rate now - impulse / mass. */
static void physics_link_added(const struct link_work *work)
{
	uint32_t body = work->link->joint.index;
	const struct body_at_hand *hand = worker_hand(work->worker, body);
	const struct scene_added *added = work->worker->scene->bodies[body].added;
	for (uint32_t i = 0; i < work->link->key.equal_rows; i++) {
		const struct scene_added_row *from = &added->rows[work->link->which + i];
		struct vec3 along = quat_rotate(hand->q, from->along), at = quat_rotate(hand->q, from->at);
		struct link_row *row = physics_link_row_begin(work, 0);
		physics_link_add(work, row, body, along, vec3_cross(at, along));
		row->target = vec3_dot(along, vec3_add(hand->v, vec3_cross(hand->w, at)));
		row->soft = 1 / from->mass;
	}
}

void link_equalities(const struct worker *worker, const struct assembly_link *link, double dt, struct link_rows *ret)
{
	const struct sdf_physics *physics = &worker->scene->sdf->physics;
	struct link_work work = {.worker = worker,
		.link = link,
		.rows = ret,
		.dt = dt,
		.erp = physics->erp,
		.soft = MAX(physics->cfm, PHYSICS_CFM_MIN) / dt};
	ret->count = 0;
	switch (link->joint.kind) {
	case ASSEMBLY_LOOP:
	case ASSEMBLY_ATTACHMENT:
		physics_link_loop(&work);
		break;
	case ASSEMBLY_GEARS:
		work.soft *= LINK_COUPLING_YIELDS;
		physics_link_gears(&work);
		break;
	case ASSEMBLY_MIMIC:
		work.soft *= LINK_COUPLING_YIELDS;
		physics_link_mimic(&work);
		break;
	case ASSEMBLY_ADDED:
		physics_link_added(&work);
		break;
	}
}
