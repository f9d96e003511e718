/* The floating-point behaviour of this machine as one number, which peers, saved states, recordings and golden hashes
 * carry.
 *
 * Versions do not suffice: one glibc file chooses its functions by the CPU (with FMA or without). So the number is
 * computed from everything outside troupe on which the bits of a run depend: rounding, subnormal numbers,
 * contraction, the functions of base/math.h (and libm's of single precision, which assimp calls for some files),
 * ODE's colliders and solvers, and troupe's own solver in each width that this processor has. Two machines with
 * different numbers may still have the same bits for a while. Two with the same number agree in samples dense enough
 * that a function of which glibc has two versions differs in hundreds of them. */
#include "physics/internal.h"
#include "physics/lanes/kernel.h"

#include "base/hash.h"
#include "base/math.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 8192, BODIES = 4, STEPS = 120, FINGERPRINT_CONTACTS_MAX = 4 };

static uint64_t fingerprint_add(uint64_t hash, double value)
{
	uint64_t word;
	memcpy(&word, &value, sizeof word);
	return hash_mix(hash, word);
}

/* --- arithmetic and functions ----------------------------------------------------------------------------------- */

/* From -1 to 1, the same on every machine: nothing is rounded. */
static double fingerprint_argument(uint64_t key, uint64_t index)
{
	return (double)(int64_t)(hash_mix(key, index) >> 11) * 0x1p-52 - 1;
}

static double fingerprint_sine_of_both(double x)
{
	double sine, cosine;
	math_sincos(x, &sine, &cosine);
	return sine + 3 * cosine;
}

/* As assimp does for a rotation by an angle; that libm rounds to single precision hides most differences. */
static double fingerprint_single_of_both(double x)
{
	float sine, cosine;
	sincosf((float)x, &sine, &cosine);
	return (double)sine + 3 * (double)cosine;
}

static double fingerprint_single_acos(double x)
{
	return (double)acosf((float)x);
}

static double fingerprint_log_of_positive(double x)
{
	return math_log(fabs(x) + 0x1p-1000);
}

typedef double (*unary_fn)(double x);
typedef double (*binary_fn)(double x, double y);
/* Volatile, so that no compiler computes them itself. range: the greatest argument. */
static const struct {
	volatile unary_fn fn;
	double range;
	bool single; /* of libm, in single precision */
} fingerprint_unary[] = {{math_sin, 3.2, false}, {math_cos, 3.2, false}, {math_sin, 1e4, false}, {math_cos, 1e4, false},
	{fingerprint_sine_of_both, 7, false}, {math_asin, 1, false}, {math_acos, 1, false}, {floor, 1e3, false},
	{fingerprint_single_of_both, 7, true}, {fingerprint_single_acos, 1, true}, {math_tan, 1.5, false},
	{math_exp, 50, false}, {math_expm1, 2, false}, {fingerprint_log_of_positive, 1, false},
	{fingerprint_log_of_positive, 0x1p-40, false}};
static const struct {
	volatile binary_fn fn;
	double range_x, range_y;
} fingerprint_binary[] = {{math_atan2, 1, 1}, {math_atan2, 1e-3, 1}, {fmod, 1e3, 7}, {remainder, 1e3, 7}};

/* f: index in the table */
static uint64_t fingerprint_function(uint64_t hash, uint32_t f)
{
	for (uint32_t i = 0; i < SAMPLES; i++)
		hash = fingerprint_add(
			hash, fingerprint_unary[f].fn(fingerprint_argument(f, i) * fingerprint_unary[f].range));
	return hash;
}

static uint64_t fingerprint_single_functions(uint64_t hash)
{
	for (uint32_t f = 0; f < ARRAY_LEN(fingerprint_unary); f++)
		hash = fingerprint_unary[f].single ? fingerprint_function(hash, f) : hash;
	return hash;
}

/* singles: with those of single precision */
static uint64_t fingerprint_functions(uint64_t hash, bool singles)
{
	for (uint32_t f = 0; f < ARRAY_LEN(fingerprint_unary); f++)
		hash = singles || !fingerprint_unary[f].single ? fingerprint_function(hash, f) : hash;
	for (uint32_t f = 0; f < ARRAY_LEN(fingerprint_binary); f++)
		for (uint32_t i = 0; i < SAMPLES; i++)
			hash = fingerprint_add(
				hash, fingerprint_binary[f].fn(
					      fingerprint_argument(f + 100, i) * fingerprint_binary[f].range_x,
					      fingerprint_argument(f + 200, i) * fingerprint_binary[f].range_y));
	for (uint32_t i = 0; i < SAMPLES; i++)
		hash = fingerprint_add(hash, sqrt(1 + fingerprint_argument(300, i)));
	return hash;
}

/* GCC has fused this one when it was let (GCC 12 for CPUs with FMA, with -ffp-contract=off), and the plain sum below
 * not. */
static uint64_t fingerprint_contraction(uint64_t hash)
{
	struct quat turns[64];
	for (uint32_t i = 0; i < ARRAY_LEN(turns); i++)
		turns[i] = (struct quat){fingerprint_argument(500, i), fingerprint_argument(501, i),
			fingerprint_argument(502, i), fingerprint_argument(503, i)};
	for (uint32_t i = 0; i + 1 < ARRAY_LEN(turns); i++)
		turns[i] = quat_mul(turns[i], turns[i + 1]);
	for (uint32_t i = 0; i < ARRAY_LEN(turns); i++)
		hash = fingerprint_add(
			fingerprint_add(fingerprint_add(fingerprint_add(hash, turns[i].w), turns[i].x), turns[i].y),
			turns[i].z);
	return hash;
}

/* Rounding to nearest, no contraction, no excess precision, subnormals not taken for zero. */
static uint64_t fingerprint_arithmetic(uint64_t hash)
{
	volatile double third = 1.0 / 3, least = 0x1p-1022, one = 1, tiny = 0x1p-53;
	hash = fingerprint_add(hash, third * third - (one - third) * third);
	hash = fingerprint_add(hash, least / 8 * 3);
	hash = fingerprint_add(hash, one + tiny);
	hash = fingerprint_add(hash, -one - tiny * 1.5);
	for (uint32_t i = 0; i < SAMPLES; i++) {
		double a = fingerprint_argument(400, i), b = fingerprint_argument(401, i),
		       c = fingerprint_argument(402, i);
		hash = fingerprint_add(hash, a * b + c);
		hash = fingerprint_add(hash, a / (b + 2));
	}
	return fingerprint_contraction(hash);
}

/* --- ODE ---------------------------------------------------------------------------------------------------------- */

struct probe {
	dWorldID world;
	dThreadingImplementationID threading;
	dJointGroupID contacts;
	dBodyID bodies[BODIES];
	dGeomID geoms[BODIES + 1]; /* the last one is the floor */
};

/* A box, a cylinder, a capsule and a ball fall, tilted, onto a floor and one another; a hinge ties the first two. */
static void fingerprint_set_up(struct probe *probe)
{
	probe->world = dWorldCreate();
	probe->threading = dThreadingAllocateSelfThreadedImplementation();
	dWorldSetStepThreadingImplementation(
		probe->world, dThreadingImplementationGetFunctions(probe->threading), probe->threading);
	probe->contacts = dJointGroupCreate(0);
	dWorldSetGravity(probe->world, 0.1, -0.2, -9.8);
	dWorldSetQuickStepNumIterations(probe->world, 10);
	dGeomID geoms[BODIES] = {dCreateBox(0, 0.5, 0.4, 0.3), dCreateCylinder(0, 0.2, 0.5),
		dCreateCapsule(0, 0.15, 0.3), dCreateSphere(0, 0.2)};
	for (uint32_t i = 0; i < BODIES; i++) {
		dMass mass;
		dMassSetBoxTotal(&mass, 1 + 0.3 * i, 0.5, 0.4, 0.3 + 0.1 * i);
		dBodyID body = probe->bodies[i] = dBodyCreate(probe->world);
		const dQuaternion tilt = {0.9, 0.1 + 0.2 * i, -0.3, 0.2};
		dBodySetMass(body, &mass);
		dBodySetPosition(body, 0.3 * i, 0.07 * i, 0.4 + 0.15 * i);
		dBodySetQuaternion(body, tilt);
		dBodySetAngularVel(body, 0.3, -2, 1.1 * i);
		dGeomSetBody(geoms[i], body);
		probe->geoms[i] = geoms[i];
	}
	probe->geoms[BODIES] = dCreateBox(0, 9, 9, 1);
	dGeomSetPosition(probe->geoms[BODIES], 0, 0, -0.5);
	dJointID hinge = dJointCreateHinge(probe->world, 0);
	dJointAttach(hinge, probe->bodies[0], probe->bodies[1]);
	dJointSetHingeAnchor(hinge, 0.15, 0, 0.5);
	dJointSetHingeAxis(hinge, 0.6, 0, 0.8);
	dJointSetHingeParam(hinge, dParamVel, 1.5);
	dJointSetHingeParam(hinge, dParamFMax, 0.2);
}

static void fingerprint_collide_all(struct probe *probe)
{
	dContact contact = {.surface = {.mode = dContactApprox1 | dContactSoftERP | dContactSoftCFM,
				    .mu = 0.7,
				    .soft_erp = 0.3,
				    .soft_cfm = 1e-5}};
	dContactGeom found[FINGERPRINT_CONTACTS_MAX];
	for (uint32_t a = 0; a < BODIES; a++)
		for (uint32_t b = a + 1; b <= BODIES; b++) {
			int count = dCollide(
				probe->geoms[a], probe->geoms[b], FINGERPRINT_CONTACTS_MAX, found, sizeof found[0]);
			for (int i = 0; i < count; i++) {
				contact.geom = found[i];
				dJointID joint = dJointCreateContact(probe->world, probe->contacts, &contact);
				dJointAttach(joint, probe->bodies[a], b < BODIES ? probe->bodies[b] : 0);
			}
		}
}

static uint64_t fingerprint_add_bodies(uint64_t hash, const struct probe *probe)
{
	for (uint32_t b = 0; b < BODIES; b++) {
		const dReal *at = dBodyGetPosition(probe->bodies[b]), *turn = dBodyGetQuaternion(probe->bodies[b]);
		const dReal *speed = dBodyGetLinearVel(probe->bodies[b]), *spin = dBodyGetAngularVel(probe->bodies[b]);
		for (uint32_t i = 0; i < 3; i++)
			hash = fingerprint_add(fingerprint_add(fingerprint_add(hash, at[i]), speed[i]), spin[i]);
		for (uint32_t i = 0; i < 4; i++)
			hash = fingerprint_add(hash, turn[i]);
	}
	return hash;
}

static uint64_t fingerprint_simulate(uint64_t hash)
{
	struct probe probe;
	fingerprint_set_up(&probe);
	for (uint32_t step = 0; step < STEPS; step++) {
		fingerprint_collide_all(&probe);
		if (step < STEPS / 2)
			dWorldStep(probe.world, 0.01);
		else
			dWorldQuickStep(probe.world, 0.01);
		dJointGroupEmpty(probe.contacts);
		hash = fingerprint_add_bodies(hash, &probe);
	}
	for (uint32_t i = 0; i <= BODIES; i++)
		dGeomDestroy(probe.geoms[i]);
	dJointGroupDestroy(probe.contacts);
	dWorldDestroy(probe.world);
	dThreadingFreeImplementation(probe.threading);
	return hash;
}

/* --- lanes -------------------------------------------------------------------------------------------------------- */

enum { CHAIN = 3, CHAIN_SLOTS = 3 };

/* A chain of bodies on hinges with laws, one of them free, that touches the ground. */
static struct lanes_shape *fingerprint_shape(void)
{
	struct lanes_key key;
	lanes_key_begin(&key);
	for (int16_t b = 0; b < CHAIN; b++)
		lanes_key_add_body(
			&key, &(struct lanes_key_body){(int16_t)(b - 1), b ? LANES_HINGE : LANES_FREE, b ? 1u : 0u});
	for (int16_t s = 0; s < CHAIN_SLOTS; s++)
		lanes_key_add_slot(&key, &(struct lanes_key_slot){s, LANES_GROUND, false});
	(void)lanes_key_end(&key);
	return lanes_shape_create(&key);
}

/* The same island in each lane: any numbers, with the positive ones where the solver needs them. */
static void fingerprint_fill(const struct lanes_shape *shape, uint32_t lanes, double *batch)
{
	static const double solid[] = {1.3, 0.4, 0.02, -0.01, 0.5, 0.03, 0.6}, turn[] = {0.8, 0.36, -0.48, 0},
			    law[] = {0.7, 1e-5, -0.01, 0.02, -1e9, 1e9, 0, 0};
	double *one = mem_alloc(shape->in_count * sizeof *one);
	for (uint32_t i = 0; i < shape->in_count; i++)
		one[i] = 0.3 * fingerprint_argument(600, i);
	for (int b = 0; b < CHAIN; b++) {
		memcpy(one + b * LANES_BODY_FIELDS + LANES_Q, turn, sizeof turn);
		memcpy(one + b * LANES_BODY_FIELDS + LANES_MASS, solid, sizeof solid);
	}
	for (int d = 0; d < shape->dof_count; d++)
		if (shape->axis[d] >= 0)
			one[shape->axis[d] + LANES_AXIS_MASS] = 0.01;
	for (int r = 0; r < shape->law_count; r++)
		memcpy(one + shape->law_at + (size_t)r * LANES_LAW_FIELDS, law, sizeof law);
	for (int s = 0; s < CHAIN_SLOTS; s++) {
		double *slot = one + shape->slot_at[s];
		slot[LANES_PUSH_SOFT] = slot[LANES_SLIP] = slot[LANES_SLIP + 1] = 1e-6;
		slot[LANES_MU] = slot[LANES_MU + 1] = 0.6;
	}
	for (uint32_t i = 0; i < shape->in_count; i++)
		for (uint32_t l = 0; l < lanes; l++)
			batch[i * lanes + l] = one[i];
	free(one);
}

static uint64_t fingerprint_step(const struct lanes_shape *shape, const struct lanes_kernel *kernel)
{
	const struct lanes_step step = {0.01, 0.2, 50};
	const uint32_t lanes = kernel->lanes;
	double *batch = mem_alloc_lines((size_t)shape->batch_count * lanes * sizeof *batch);
	double *work = mem_alloc_lines((size_t)shape->work_count * lanes * sizeof *work);
	uint64_t hash = 0;
	fingerprint_fill(shape, lanes, batch);
	for (uint32_t i = 0; i < STEPS; i++) {
		kernel->step(shape, &step, batch, work);
		for (uint32_t k = 0; k < (uint32_t)CHAIN * LANES_BODY_FIELDS * lanes; k++)
			hash = k % lanes ? hash : fingerprint_add(hash, batch[k]);
		for (uint32_t k = shape->impulses_at * lanes; k < shape->failed_at * lanes; k++)
			hash = k % lanes ? hash : fingerprint_add(hash, batch[k]);
	}
	free(batch);
	free(work);
	return hash;
}

/* --- soft steps --------------------------------------------------------------------------------------------------- */

enum {
	SOFT_BODIES = 3, /* the ground, and two that move */
	SOFT_POINTS = 3,
	SOFT_LINK_AT = LANES_SOFT_BLOCK_FIELDS + SOFT_POINTS * LANES_SOFT_POINT_FIELDS,
	SOFT_GROUPS = SOFT_LINK_AT + LANES_SOFT_LINK_FIELDS + LANES_SOFT_ROW_FIELDS,
};

/* A body on the ground, which bounces and resists to roll, and a joint's row between it and another: any numbers, with
 * the positive ones where the solver needs them. */
static void fingerprint_fill_soft(double *one, struct lanes_soft_body *bodies)
{
	static const double solid[] = {0.8, 2.5, 0.1, -0.2, 2, 0.05, 3};
	for (uint32_t i = 0; i < SOFT_GROUPS; i++)
		one[i] = 0.3 * fingerprint_argument(700, i);
	memcpy(one + LANES_SOFT_MASS_A, solid, sizeof solid);
	memset(one + LANES_SOFT_MASS_B, 0, sizeof solid);
	for (uint32_t p = 0; p < SOFT_POINTS; p++) {
		double *point = one + LANES_SOFT_BLOCK_FIELDS + p * LANES_SOFT_POINT_FIELDS;
		const double normal[] = {0, 0.6, 0.8, 1, 0, 0};
		memcpy(point + LANES_SOFT_NORMAL, normal, sizeof normal);
		point[LANES_SOFT_IMPULSE] = 0.01;
		point[LANES_SOFT_DEPTH] = 0.001 * (p + 1.0);
		point[LANES_SOFT_RATE] = 300;
		point[LANES_SOFT_GIVE] = -0.2;
		point[LANES_SOFT_PUSH] = 3;
		point[LANES_SOFT_FRICTION] = point[LANES_SOFT_FRICTION + 1] = 0.7;
		point[LANES_SOFT_SLIP] = point[LANES_SOFT_SLIP + 1] = 1e-3;
		point[LANES_SOFT_BOUNCE] = 0.4;
		point[LANES_SOFT_BOUNCE + 1] = 0.01;
		point[LANES_SOFT_RESIST] = point[LANES_SOFT_RESIST + 1] = 1e-3;
	}
	for (uint32_t b = 0; b < LANES_SOFT_LINK_BODIES; b++)
		memcpy(one + SOFT_LINK_AT + 7 * b, solid, sizeof solid);
	double *row = one + SOFT_LINK_AT + LANES_SOFT_LINK_FIELDS;
	row[LANES_SOFT_YIELD] = 1e-4;
	row[LANES_SOFT_LO] = -0.05;
	row[LANES_SOFT_HI] = 0.05;
	for (uint32_t b = 1; b < SOFT_BODIES; b++) {
		for (uint32_t k = 0; k < 3; k++) {
			bodies[b].v[k] = fingerprint_argument(800 + b, k);
			bodies[b].w[k] = fingerprint_argument(810 + b, k);
			bodies[b].move[k] = 1e-3 * fingerprint_argument(820 + b, k);
			bodies[b].turn[k] = 1e-3 * fingerprint_argument(830 + b, k);
		}
		memcpy(bodies[b].inverse, solid, sizeof solid);
	}
	bodies[1].v[2] -= 2; /* against the ground */
}

static uint64_t fingerprint_soft_step(const struct lanes_kernel *kernel)
{
	static const enum lanes_soft_pass passes[] = {LANES_SOFT_PREPARE, LANES_SOFT_START, LANES_SOFT_SOLVE,
		LANES_SOFT_RELAX, LANES_SOFT_END, LANES_SOFT_START, LANES_SOFT_SOLVE, LANES_SOFT_END,
		LANES_SOFT_REBOUND};
	const uint32_t lanes = kernel->lanes;
	struct lanes_soft_body bodies[SOFT_BODIES] = {0};
	const struct lanes_soft_block block = {.points = SOFT_POINTS, .a = {1}, .bounces = true, .resists = true};
	const struct lanes_soft_links links = {
		.at = SOFT_LINK_AT, .rows = 1, .body_count = 2, .body = {{1}, {2}}, .last = {1}};
	double one[SOFT_GROUPS], *groups = mem_alloc_lines(SOFT_GROUPS * lanes * sizeof *groups);
	struct lanes_soft soft = {.groups = groups,
		.blocks = &block,
		.links = &links,
		.block_count = 1,
		.link_count = 1,
		.bodies = bodies,
		.fixed = 1,
		.push = 0.1,
		.per_s = 4000};
	uint64_t hash = 0;
	fingerprint_fill_soft(one, bodies);
	for (uint32_t i = 0; i < SOFT_GROUPS * lanes; i++)
		groups[i] = i % lanes ? 0 : one[i / lanes];
	for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
		soft.moved = passes[i] == LANES_SOFT_RELAX || passes[i] == LANES_SOFT_END;
		soft.backward = i % 2;
		kernel->soft(&soft, passes[i]);
	}
	for (uint32_t i = 0; i < SOFT_GROUPS; i++)
		hash = fingerprint_add(hash, groups[i * lanes] + 0.0); /* zeros have no sign */
	for (uint32_t b = 1; b < SOFT_BODIES; b++)
		for (uint32_t k = 0; k < 3; k++)
			hash = fingerprint_add(fingerprint_add(hash, bodies[b].v[k]), bodies[b].w[k]);
	free(groups);
	return hash;
}

/* --- both --------------------------------------------------------------------------------------------------------- */

static uint64_t fingerprint_kernel(const struct lanes_shape *shape, uint32_t lanes)
{
	const struct lanes_kernel *kernel = lanes_kernel_of(lanes);
	return kernel ? hash_mix(fingerprint_step(shape, kernel), fingerprint_soft_step(kernel)) : 0;
}

/* A width that this processor lacks changes nothing; one that has other bits than two lanes does. */
static uint64_t fingerprint_lanes(uint64_t hash)
{
	struct lanes_shape *shape = fingerprint_shape();
	uint64_t two = fingerprint_kernel(shape, LANES_LEAST);
	hash = hash_mix(hash, two);
	for (uint32_t width = 2 * LANES_LEAST; width <= LANES_MOST; width *= 2) {
		uint64_t other = fingerprint_kernel(shape, width);
		hash = !other || other == two ? hash : hash_mix(hash, other);
	}
	lanes_shape_destroy(shape);
	return hash;
}

/* --- in all ------------------------------------------------------------------------------------------------------- */

static uint64_t fingerprint;
static struct fingerprint fingerprint_with_parts;

static uint64_t fingerprint_run_ode(uint64_t hash)
{
	physics_thread_begin();
	ode_set_random(0, false); /* each step of a runner on this thread sets it again */
	hash = fingerprint_simulate(hash);
	(void)ode_take_lost();
	return hash;
}

static uint64_t fingerprint_name(void)
{
	return hash_bytes(1, math_name(), strlen(math_name()));
}

static void fingerprint_compute(void)
{
	fingerprint = fingerprint_lanes(
		fingerprint_run_ode(fingerprint_functions(fingerprint_arithmetic(fingerprint_name()), true)));
}

static void fingerprint_compute_parts(void)
{
	uint64_t all = physics_fingerprint(); /* first, because it prepares the process */
	fingerprint_with_parts = (struct fingerprint){.all = all,
		.of = {[FINGERPRINT_ARITHMETIC] = fingerprint_arithmetic(0),
			[FINGERPRINT_FUNCTIONS] = fingerprint_functions(fingerprint_name(), false),
			[FINGERPRINT_LIBM] = fingerprint_single_functions(0),
			[FINGERPRINT_ODE] = fingerprint_run_ode(0),
			[FINGERPRINT_SOLVER] = fingerprint_lanes(0)}};
}

uint64_t physics_fingerprint(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	(void)physics_init_process(NULL);
	pthread_once(&once, fingerprint_compute);
	return fingerprint;
}

const struct fingerprint *physics_fingerprint_parts(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, fingerprint_compute_parts);
	return &fingerprint_with_parts;
}
