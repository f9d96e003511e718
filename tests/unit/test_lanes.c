/* The exact solver (physics/lanes): random islands of random shapes, in all widths, with other islands in the lanes
 * beside them. Bits that depended on the number of lanes, on the instruction set or on a neighbour would differ. Each
 * result is then held against what it must obey: the joints, the laws of axes and of contacts, which are written down
 * here a second time from their definitions, in plain vectors of bodies. A solver that stops early, flips a sign or
 * leaves a row out has a residual. */
#include "config.h"
#include "../random.h"
#include "physics/lanes/kernel.h"

#include "geom/geom.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(lanes, .timeout = 60);

enum { ISLANDS = 8, BODIES = 8, SLOTS = 6, FIELDS = 4096 };
#define STEP_S 0.001
#define NEAR 1e-9 /* m/s or rad/s: residual of a rate */

static uint64_t dice = 1;

static struct quat any_turn(void)
{
	struct vec3 v = vec3_unit(random_vec3(&dice, 1));
	double angle = random_between(&dice, -3, 3);
	return (struct quat){cos(angle / 2), v.x * sin(angle / 2), v.y * sin(angle / 2), v.z * sin(angle / 2)};
}

/* --- an island ------------------------------------------------------------------------------------------------------
 */

struct kind { /* what the islands of one shape have in common */
	uint32_t bodies, slots;
	struct lanes_key_body body[BODIES];
	struct lanes_key_slot slot[SLOTS];
	bool tied;
	struct lanes_key_link link;
};

struct island {
	struct pose pose[BODIES];
	struct vec3 v[BODIES], w[BODIES], anchor[BODIES], axis[BODIES][2];
	double field[FIELDS]; /* input and output, as one lane has them */
};

static void put3(struct island *island, uint32_t at, struct vec3 v)
{
	island->field[at] = v.x;
	island->field[at + 1] = v.y;
	island->field[at + 2] = v.z;
}

static struct vec3 get3(const struct island *island, uint32_t at)
{
	return (struct vec3){island->field[at], island->field[at + 1], island->field[at + 2]};
}

static void put4(struct island *island, uint32_t at, struct quat q)
{
	island->field[at] = q.w;
	put3(island, at + 1, (struct vec3){q.x, q.y, q.z});
}

static uint32_t axes_of(enum lanes_joint joint)
{
	return joint == LANES_UNIVERSAL ? 2 : joint == LANES_HINGE || joint == LANES_SLIDER || joint == LANES_SCREW;
}

static struct kind any_kind(void)
{
	struct kind kind = {.bodies = 1 + random_below(&dice, BODIES), .slots = random_below(&dice, SLOTS + 1)};
	for (uint32_t b = 0; b < kind.bodies; b++) {
		bool free = !b ? random_below(&dice, 3) > 0 : random_below(&dice, 6) == 0;
		kind.body[b].joint = free ? LANES_FREE : 1 + random_below(&dice, LANES_SCREW);
		kind.body[b].parent = b && random_below(&dice, 8) ? (int16_t)random_below(&dice, b) : LANES_GROUND;
		for (uint32_t a = 0; a < axes_of(kind.body[b].joint); a++)
			kind.body[b].law |= (uint32_t)(random_below(&dice, 3) > 0) << a;
	}
	for (uint32_t s = 0; s < kind.slots; s++) {
		kind.slot[s].a = (int16_t)random_below(&dice, kind.bodies);
		kind.slot[s].b = (int16_t)random_below(&dice, kind.bodies);
		if (kind.slot[s].b == kind.slot[s].a || random_below(&dice, 2))
			kind.slot[s].b = LANES_GROUND;
	}
	kind.tied = kind.bodies > 2 && !random_below(&dice, 3);
	kind.link =
		(struct lanes_key_link){.body_count = 2, .bodies = {0, (int16_t)(kind.bodies - 1)}, .equal_rows = 2};
	return kind;
}

static struct lanes_shape *make_shape(const struct kind *kind)
{
	struct lanes_key key;
	lanes_key_begin(&key);
	for (uint32_t b = 0; b < kind->bodies; b++)
		lanes_key_add_body(&key, &kind->body[b]);
	if (kind->tied)
		lanes_key_add_link(&key, &kind->link);
	for (uint32_t s = 0; s < kind->slots; s++)
		lanes_key_add_slot(&key, &kind->slot[s]);
	cr_assert(lanes_key_end(&key));
	struct lanes_shape *shape = lanes_shape_create(&key);
	cr_assert(shape && shape->batch_count <= FIELDS);
	return shape;
}

/* A body at the end of its joint, which has not drifted, at any angle. */
static void place_body(const struct kind *kind, struct island *island, uint32_t b, uint32_t edge)
{
	const struct lanes_key_body *key = &kind->body[b];
	struct pose parent = key->parent < 0 || key->joint == LANES_FREE ? POSE_IDENTITY : island->pose[key->parent];
	struct vec3 own = random_vec3(&dice, 0.5), other = random_vec3(&dice, 0.5),
		    axis = vec3_unit(random_vec3(&dice, 1));
	struct quat q = any_turn();
	double slid = key->joint == LANES_SLIDER || key->joint == LANES_SCREW ? random_between(&dice, -0.2, 0.2) : 0;
	if (key->joint == LANES_HINGE || key->joint == LANES_SCREW) /* any turn about the axis */
		q = quat_mul(parent.q,
			quat_mul((struct quat){cos(1.0), axis.x * sin(1.0), axis.y * sin(1.0), axis.z * sin(1.0)},
				QUAT_IDENTITY));
	struct vec3 along = quat_rotate(parent.q, axis), own_axis = along;
	if (key->joint == LANES_UNIVERSAL) /* across the parent's axis */
		own_axis = vec3_unit(vec3_cross(along, random_vec3(&dice, 1)));
	island->anchor[b] = vec3_add(pose_point(parent, other), vec3_scale(along, slid));
	island->axis[b][0] = along;
	island->axis[b][1] = own_axis;
	island->pose[b] = (struct pose){vec3_sub(island->anchor[b], quat_rotate(q, own)), q};
	if (key->joint == LANES_FREE) {
		island->pose[b].p = random_vec3(&dice, 1);
		return;
	}
	put3(island, edge + LANES_OWN_ANCHOR, own);
	put3(island, edge + LANES_ANCHOR, other);
	put3(island, edge + LANES_OWN_AXIS, quat_rotate(quat_conj(q), own_axis));
	put3(island, edge + LANES_AXIS, axis);
	put4(island, edge + LANES_RELATIVE, quat_mul(quat_conj(parent.q), q));
	island->field[edge + LANES_LEAD] = 0.1;
	island->field[edge + LANES_THREAD] = 0;
	put3(island, edge + LANES_GROUND_V, (struct vec3){0, 0, 0});
	put3(island, edge + LANES_GROUND_W, (struct vec3){0, 0, 0});
}

static void put_law(struct island *island, uint32_t at)
{
	double *law = island->field + at, most = random_below(&dice, 3) ? random_between(&dice, 0, 0.02) : 1e297;
	law[LANES_TARGET] = random_between(&dice, -2, 2);
	law[LANES_SOFT] = random_below(&dice, 2) ? 1e-7 : random_between(&dice, 0, 0.1);
	law[LANES_HI] = random_below(&dice, 3) ? most : 0;
	law[LANES_LO] = -law[LANES_HI];
	law[LANES_LOW] = random_below(&dice, 2) ? random_between(&dice, -1, 0) : -1e300;
	law[LANES_HIGH] = random_below(&dice, 2) ? random_between(&dice, 0, 1) : 1e300;
	law[LANES_TARGET] = fmin(fmax(law[LANES_TARGET], law[LANES_LOW]), law[LANES_HIGH]);
	law[LANES_LOW_SOFT] = law[LANES_HIGH_SOFT] = random_below(&dice, 2) ? 1e-7 : random_between(&dice, 0, 0.1);
}

static void put_slot(const struct kind *kind, struct island *island, uint32_t s, uint32_t at)
{
	struct vec3 normal = vec3_unit(random_vec3(&dice, 1)),
		    first = vec3_unit(vec3_cross(normal, random_vec3(&dice, 1)));
	put3(island, at + LANES_AT, vec3_add(island->pose[kind->slot[s].a].p, random_vec3(&dice, 0.3)));
	put3(island, at + LANES_NORMAL, normal);
	put3(island, at + LANES_FIRST, first);
	island->field[at + LANES_PUSH] = random_between(&dice, 0, 0.1);
	island->field[at + LANES_PUSH_SOFT] = 1e-6;
	for (uint32_t k = 0; k < 2; k++) {
		island->field[at + LANES_MU + k] = random_below(&dice, 4) ? random_between(&dice, 0, 2) : 0;
		island->field[at + LANES_MOTION + k] = random_below(&dice, 2) ? 0 : random_between(&dice, -1, 1);
		island->field[at + LANES_SLIP + k] = 1e-7;
	}
}

static void fill(const struct kind *kind, const struct lanes_shape *shape, struct island *island)
{
	*island = (struct island){0};
	for (uint32_t b = 0; b < kind->bodies; b++) {
		uint32_t at = b * LANES_BODY_FIELDS;
		place_body(kind, island, b, shape->edge[b]);
		put3(island, at + LANES_P, island->pose[b].p);
		put4(island, at + LANES_Q, island->pose[b].q);
		put3(island, at + LANES_V, random_vec3(&dice, 2));
		put3(island, at + LANES_W, random_vec3(&dice, 2));
		put3(island, at + LANES_FORCE, random_vec3(&dice, 20));
		put3(island, at + LANES_TORQUE, random_vec3(&dice, 2));
		island->field[at + LANES_MASS] = random_between(&dice, 0.5, 5);
		for (uint32_t k = 0; k < 6; k++)
			island->field[at + LANES_INERTIA + k] = k == 0 || k == 3 || k == 5
									? random_between(&dice, 0.2, 0.4)
									: random_between(&dice, -0.02, 0.02);
		for (uint32_t a = 0; a < axes_of(kind->body[b].joint); a++)
			if (random_below(&dice, 2)) {
				island->field[shape->axis[shape->dof[b] + (int)a] + LANES_AXIS_MASS] =
					random_between(&dice, 0, 1);
				island->field[shape->axis[shape->dof[b] + (int)a] + LANES_AXIS_PUSH] =
					random_between(&dice, -0.1, 0.1);
			}
	}
	for (int r = 0; r < shape->law_count; r++)
		put_law(island, shape->law_at + (uint32_t)r * LANES_LAW_FIELDS);
	for (int r = 0; r < shape->equal_count; r++) {
		island->field[shape->equal_at + (uint32_t)r * LANES_EQUAL_FIELDS + LANES_TARGET] =
			random_between(&dice, -0.1, 0.1);
		island->field[shape->equal_at + (uint32_t)r * LANES_EQUAL_FIELDS + LANES_SOFT] = 1e-7;
	}
	for (uint32_t k = 0; kind->tied && k < 2 * 2 * LANES_LINK_BODY_FIELDS; k++)
		island->field[shape->links[0].at + k] = random_between(&dice, -1, 1);
	for (uint32_t s = 0; s < kind->slots; s++)
		put_slot(kind, island, s, shape->slot_at[s]);
}

/* --- steps in lanes -------------------------------------------------------------------------------------------------
 */

/* Islands order[0] .. order[count - 1] in the lanes of one kernel; further lanes get the first of them. */
static void step_lanes(const struct lanes_shape *shape, const struct lanes_kernel *kernel, const struct island *from,
	const uint32_t *order, uint32_t count, struct island *ret)
{
	const struct lanes_step step = {STEP_S, 0.2, 400};
	uint32_t lanes = kernel->lanes;
	double *batch = mem_alloc_lines((size_t)shape->batch_count * lanes * sizeof *batch);
	double *work = mem_alloc_lines((size_t)shape->work_count * lanes * sizeof *work);
	for (uint32_t first = 0; first < count; first += lanes) {
		for (uint32_t l = 0; l < lanes; l++)
			for (uint32_t f = 0; f < shape->in_count; f++)
				batch[f * lanes + l] = from[order[first + l < count ? first + l : 0]].field[f];
		kernel->step(shape, &step, batch, work);
		for (uint32_t l = 0; l < lanes && first + l < count; l++)
			for (uint32_t f = 0; f < shape->batch_count; f++)
				ret[order[first + l]].field[f] = batch[f * lanes + l];
	}
	free(batch);
	free(work);
}

static bool has_failed(const struct lanes_shape *shape, const struct island *island)
{
	uint64_t failed;
	memcpy(&failed, &island->field[shape->failed_at], sizeof failed);
	return failed;
}

static void compare(const struct lanes_shape *shape, const struct island *a, const struct island *b, const char *what)
{
	for (uint32_t i = 0; i < ISLANDS; i++)
		cr_assert(
			!memcmp(a[i].field, b[i].field, shape->batch_count * sizeof(double)), "%s: island %u", what, i);
}

Test(lanes, bits_depend_on_the_island_alone)
{
	static struct island from[ISLANDS], result[ISLANDS], other[ISLANDS];
	uint32_t order[ISLANDS] = {0, 1, 2, 3, 4, 5, 6, 7}, kernels = 0;
	for (int round = 0; round < 200; round++) {
		struct kind kind = any_kind();
		struct lanes_shape *shape = make_shape(&kind);
		for (uint32_t i = 0; i < ISLANDS; i++)
			fill(&kind, shape, &from[i]);
		step_lanes(
			shape, &(struct lanes_kernel){.lanes = 2, .step = lanes_step_2}, from, order, ISLANDS, result);
		for (const struct lanes_kernel *kernel = NULL; (kernel = lanes_kernel_next(kernel));) {
			kernels += !round;
			for (uint32_t i = ISLANDS - 1; i > 0; i--) { /* other neighbours, other lanes */
				uint32_t k = random_below(&dice, i + 1), swap = order[i];
				order[i] = order[k];
				order[k] = swap;
			}
			step_lanes(shape, kernel, from, order, ISLANDS, other);
			compare(shape, result, other, kernel->needs);
			for (uint32_t i = 0; i < ISLANDS; i++)
				step_lanes(shape, kernel, from, &i, 1, other);
			compare(shape, result, other, "alone");
		}
		lanes_shape_destroy(shape);
	}
	if (kernels < 4)
		printf("skipped: %u of 4 kernels: this processor lacks the instructions\n", 4 - kernels);
}

/* --- negative controls ----------------------------------------------------------------------------------------------
 */

lanes_step_fn lanes_step_fused, lanes_step_estimate, lanes_step_together; /* lanes_fused.c, ... */

static bool is_noticed(lanes_step_fn *step)
{
	static struct island from[ISLANDS], result[ISLANDS], other[ISLANDS];
	const uint32_t order[ISLANDS] = {0, 1, 2, 3, 4, 5, 6, 7};
	const struct lanes_kernel broken = {.lanes = 2, .needs = "", .step = step};
	bool noticed = false;
	for (int round = 0; round < 50; round++) {
		struct kind kind = any_kind();
		struct lanes_shape *shape = make_shape(&kind);
		for (uint32_t i = 0; i < ISLANDS; i++)
			fill(&kind, shape, &from[i]);
		step_lanes(shape, lanes_kernel_of(2), from, order, ISLANDS, result);
		step_lanes(shape, &broken, from, order, ISLANDS, other);
		for (uint32_t i = 0; i < ISLANDS; i++)
			noticed |= memcmp(result[i].field, other[i].field, shape->batch_count * sizeof(double)) != 0;
		lanes_shape_destroy(shape);
	}
	return noticed;
}

Test(lanes, a_broken_rule_is_noticed)
{
	cr_assert(is_noticed(lanes_step_fused));
	cr_assert(is_noticed(lanes_step_estimate));
	cr_assert(is_noticed(lanes_step_together));
}

/* --- what a result must obey ----------------------------------------------------------------------------------------
 */

static struct vec3 velocity_at(const struct island *before, const struct island *after, int body, struct vec3 at)
{
	if (body < 0)
		return (struct vec3){0, 0, 0};
	uint32_t field = (uint32_t)body * LANES_BODY_FIELDS;
	return vec3_add(get3(after, field + LANES_V),
		vec3_cross(get3(after, field + LANES_W), vec3_sub(at, before->pose[body].p)));
}

static struct vec3 spin_of(const struct island *after, int body)
{
	return body < 0 ? (struct vec3){0, 0, 0} : get3(after, (uint32_t)body * LANES_BODY_FIELDS + LANES_W);
}

/* The motion that a joint forbids, in m/s or rad/s. */
static double broken_joint(const struct kind *kind, const struct island *before, const struct island *after, uint32_t b)
{
	const struct lanes_key_body *key = &kind->body[b];
	struct vec3 at = before->anchor[b], along = before->axis[b][0], own = before->axis[b][1];
	struct vec3 slip =
		vec3_sub(velocity_at(before, after, (int)b, at), velocity_at(before, after, key->parent, at));
	struct vec3 turn = vec3_sub(spin_of(after, (int)b), spin_of(after, key->parent));
	double rate = vec3_dot(turn, along);
	switch (key->joint) {
	case LANES_HINGE:
		return vec3_length(slip) + vec3_length(vec3_sub(turn, vec3_scale(along, rate)));
	case LANES_SLIDER:
		return vec3_length(turn) + vec3_length(vec3_sub(slip, vec3_scale(along, vec3_dot(slip, along))));
	case LANES_BALL:
		return vec3_length(slip);
	case LANES_UNIVERSAL:
		return vec3_length(slip) + fabs(vec3_dot(turn, vec3_cross(along, own)));
	case LANES_FIXED:
		return vec3_length(slip) + vec3_length(turn);
	case LANES_SCREW:
		return vec3_length(vec3_sub(slip, vec3_scale(along, 0.1 * rate))) +
		       vec3_length(vec3_sub(turn, vec3_scale(along, rate)));
	default:
		return 0;
	}
}

static double axis_rate(
	const struct kind *kind, const struct island *before, const struct island *after, uint32_t b, uint32_t a)
{
	const struct lanes_key_body *key = &kind->body[b];
	struct vec3 turn = vec3_sub(spin_of(after, (int)b), spin_of(after, key->parent));
	struct vec3 slip = vec3_sub(velocity_at(before, after, (int)b, before->anchor[b]),
		velocity_at(before, after, key->parent, before->anchor[b]));
	return vec3_dot(key->joint == LANES_SLIDER ? slip : turn, before->axis[b][a]);
}

/* How far x and rate are from the line of a law, as a rate. */
static double broken_law(const double *law, double x, double rate)
{
	double off_target = rate + law[LANES_SOFT] * x - law[LANES_TARGET];
	if (x < law[LANES_LO] - 1e-12)
		return rate + law[LANES_HIGH_SOFT] * (x - law[LANES_LO]) - law[LANES_HIGH];
	if (x > law[LANES_HI] + 1e-12)
		return rate + law[LANES_LOW_SOFT] * (x - law[LANES_HI]) - law[LANES_LOW];
	bool passive = law[LANES_LO] >= law[LANES_HI];
	if (passive)
		return fmax(rate - law[LANES_HIGH], 0) + fmin(rate - law[LANES_LOW], 0);
	if (fabs(x - law[LANES_LO]) <= 1e-12)
		return fmin(off_target, 0) + fmax(rate - law[LANES_HIGH], 0);
	if (fabs(x - law[LANES_HI]) <= 1e-12)
		return fmax(off_target, 0) + fmin(rate - law[LANES_LOW], 0);
	return off_target;
}

static double broken_contact(const struct lanes_shape *shape, const struct kind *kind, const struct island *before,
	const struct island *after, uint32_t s)
{
	uint32_t at = shape->slot_at[s];
	struct vec3 point = get3(before, at + LANES_AT), n = get3(before, at + LANES_NORMAL),
		    first = get3(before, at + LANES_FIRST);
	const struct vec3 direction[3] = {n, first, vec3_cross(n, first)};
	struct vec3 apart = vec3_sub(
		velocity_at(before, after, kind->slot[s].a, point), velocity_at(before, after, kind->slot[s].b, point));
	const double *x = after->field + shape->impulses_at, *in = before->field + at;
	double push = x[shape->normal_first + (int)s], worst;
	double off = vec3_dot(apart, n) + in[LANES_PUSH_SOFT] * push - in[LANES_PUSH];
	worst = push > 1e-12 ? fabs(off) : fmax(-off, 0);
	for (int k = 0; k < 2; k++) {
		double slide = x[shape->friction_first + 2 * (int)s + k];
		off = vec3_dot(apart, direction[k + 1]) + in[LANES_SLIP + k] * slide - in[LANES_MOTION + k];
		/* at its limit friction acts against the slip; the limit is of the first stage, which is not known here
		 */
		if (fabs(off) > NEAR && slide * off > 1e-12 * fabs(off))
			worst = fmax(worst, fabs(off));
	}
	return fmax(worst, push < 0 ? 1 : 0);
}

static double broken_link(const struct lanes_shape *shape, const struct kind *kind, const struct island *before,
	const struct island *after)
{
	double worst = 0;
	for (uint32_t r = 0; kind->tied && r < 2; r++) {
		const double *equal = before->field + shape->equal_at + r * LANES_EQUAL_FIELDS;
		uint32_t at = shape->links[0].at + r * 2 * LANES_LINK_BODY_FIELDS;
		double rate = 0, x = after->field[shape->impulses_at + (uint32_t)shape->law_count + r];
		for (uint32_t i = 0; i < 2; i++, at += LANES_LINK_BODY_FIELDS) {
			int body = kind->link.bodies[i];
			rate += vec3_dot(get3(before, at), velocity_at(before, after, body, before->pose[body].p)) +
				vec3_dot(get3(before, at + 3), spin_of(after, body));
		}
		worst = fmax(worst, fabs(rate + equal[LANES_SOFT] * x - equal[LANES_TARGET]));
	}
	return worst;
}

static double residual(const struct lanes_shape *shape, const struct kind *kind, const struct island *before,
	const struct island *after)
{
	double worst = broken_link(shape, kind, before, after);
	uint32_t row = 0;
	for (uint32_t b = 0; b < kind->bodies; b++) {
		struct kind grounded = *kind;
		if (kind->body[b].joint == LANES_FREE)
			continue;
		worst = fmax(worst, broken_joint(&grounded, before, after, b));
		for (uint32_t a = 0; a < axes_of(kind->body[b].joint); a++)
			if (kind->body[b].law >> a & 1) {
				worst = fmax(
					worst, fabs(broken_law(before->field + shape->law_at + row * LANES_LAW_FIELDS,
						       after->field[shape->impulses_at + row],
						       axis_rate(kind, before, after, b, a))));
				row++;
			}
	}
	for (uint32_t s = 0; s < kind->slots; s++)
		worst = fmax(worst, broken_contact(shape, kind, before, after, s));
	return worst;
}

Test(lanes, results_obey_joints_and_laws)
{
	static struct island from[ISLANDS], result[ISLANDS];
	const uint32_t order[ISLANDS] = {0, 1, 2, 3, 4, 5, 6, 7};
	uint32_t failed = 0, islands = 0;
	double worst = 0;
	for (int round = 0; round < 1000; round++) {
		struct kind kind = any_kind();
		struct lanes_shape *shape = make_shape(&kind);
		for (uint32_t i = 0; i < ISLANDS; i++)
			fill(&kind, shape, &from[i]);
		step_lanes(shape, lanes_kernel_best(), from, order, ISLANDS, result);
		for (uint32_t i = 0; i < ISLANDS; i++, islands++) {
			if (has_failed(shape, &result[i])) {
				failed++;
				continue;
			}
			double off = residual(shape, &kind, &from[i], &result[i]);
			cr_assert(off <= 1e-7, "round %d, island %u: off by %g", round, i, off);
			worst = fmax(worst, off);
		}
		lanes_shape_destroy(shape);
	}
	printf("%u islands, %u failed, worst residual %g\n", islands, failed, worst);
	cr_assert_leq(failed, islands / 50);
}
