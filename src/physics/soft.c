/* Piles, from the state to the blocks of lanes/soft.h and back.
 *
 * Order. Pairs of geoms are taken island by island, in the order of their contacts. Each gets the lowest colour that
 * none of its moving bodies has, so that the pairs of one colour share no such body and are solved side by side. An
 * island's colours do not depend on the islands around it, and its result does not either. */
#include "physics/soft.h"

#include "physics/exact_internal.h"
#include "physics/lanes/soft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ../bench/NOTES.md has what was tried. */
#define SOFT_SUBSTEP_S 2.5e-4 /* unless that makes fewer or more substeps than these */
enum { SOFT_SUBSTEPS_MIN = 2, SOFT_SUBSTEPS_MAX = 16 };
#define SOFT_STIFFNESS 0.75  /* rad: a rigid contact is a spring that turns so far in a substep */
#define SOFT_DAMPING 30.0    /* its damping ratio */
#define SOFT_PUSH 0.1        /* m/s: rate at which overlaps are pushed apart where no file says otherwise */
#define SOFT_MARGIN 1e-3     /* m: contacts are found so long before bodies touch */
#define SOFT_NEAR 0.01       /* m: a point is that of the step before if it was so near, on its body */
#define SOFT_SPIN_LEAST 1e-3 /* rad/s: a slower body is not turned by its own spin */

/* An island gets the more substeps the more the masses of two of its bodies that touch differ. */
enum { SOFT_CLASSES = 3 };
static const struct soft_class {
	double ratio; /* of masses, up to which an island is of the class */
	uint32_t factor; /* of substeps */
} soft_classes[SOFT_CLASSES] = {{4, 1}, {16, 2}, {INFINITY, 4}};

enum { SOFT_COLOURS = 64 }; /* pairs that get none are solved one by one */

struct soft_mover {
	uint32_t body, island;
	const double *solid;
	struct vec3 gained, spun; /* velocities from forces in a substep */
	struct quat q;
};

struct soft_pair {
	uint32_t row, count; /* in soft.rows */
	uint32_t island;     /* in soft.islands */
	uint32_t a, b;       /* in soft.bodies */
	uint32_t owner;      /* the model that has its impulses */
	uint32_t next;       /* of its colour */
	uint32_t at, lane;   /* first group of its block */
};

struct soft_island {
	uint32_t root;
	uint32_t mover, mover_count; /* in soft.movers */
	double ratio;                /* the greatest of masses of bodies that touch */
	bool sane;
};

struct soft {
	VEC(struct soft_island) islands;
	contact_rows rows; /* of all islands */
	/* Of the islands of the class at hand. */
	const struct soft_class *class;
	VEC(struct lanes_soft_body) bodies; /* ground, kinematic bodies, movers */
	VEC(struct soft_mover) movers;
	VEC(double) inverse; /* [bodies][7] 1 / mass, and inverse inertia in the world's axes */
	VEC(struct soft_pair) pairs;
	VEC(uint64_t) colours; /* [bodies] of their pairs */
	VEC(struct lanes_soft_block) blocks;
	struct exact_memory groups;
	VEC(uint32_t) numbered; /* bodies of the scene that have a number */
	uint32_t body_room, model_room;
	uint32_t *number; /* [room.bodies] in soft.bodies; 0: none */
	uint32_t *found;  /* [room.models] place after the impulse that was found last */
	uint32_t head[SOFT_COLOURS + 1], tail[SOFT_COLOURS + 1]; /* pairs by colour */
	uint32_t fixed;
	double h; /* s: a substep */
	uint32_t substeps;
};

struct soft *soft_create(void)
{
	return mem_alloc(sizeof(struct soft));
}

void soft_destroy(struct soft *soft)
{
	vec_free(&soft->islands);
	vec_free(&soft->rows);
	vec_free(&soft->bodies);
	vec_free(&soft->movers);
	vec_free(&soft->inverse);
	vec_free(&soft->pairs);
	vec_free(&soft->colours);
	vec_free(&soft->blocks);
	vec_free(&soft->numbered);
	free(soft->groups.at);
	free(soft->number);
	free(soft->found);
	free(soft);
}

void soft_begin(struct worker *worker)
{
	struct soft *soft = worker->exact->soft;
	soft->islands.count = 0;
	MEM_FIT(soft->number, soft->body_room, worker->room.bodies);
	soft->body_room = worker->room.bodies;
	MEM_FIT(soft->found, soft->model_room, worker->room.models);
	soft->model_room = worker->room.models;
}

bool soft_covers(const struct worker *worker, uint32_t root)
{
	const struct exact *exact = worker->exact;
	for (uint32_t p = root; p != SCENE_NONE; p = exact->parts.at[p].next) {
		const struct assembly *assembly = exact->parts.at[p].assembly;
		if (assembly->large || assembly->count > 1 || assembly->keys[0].joint != LANES_FREE ||
			assembly->links.count)
			return false;
	}
	return true;
}

void soft_add(struct worker *worker, uint32_t root)
{
	struct exact *exact = worker->exact;
	vec_push(&exact->soft->islands, (struct soft_island){.root = root});
	exact->parts.at[root].pile = exact->soft->islands.count;
}

/* --- islands ------------------------------------------------------------------------------------------------------ */

/* Whether the geom is of the ODE world at hand, or static. Another cannot be near: its model would share the group. */
static bool soft_is_at_hand(const struct worker *worker, uint32_t geom)
{
	const struct scene_geom *g = geom < worker->scene->geom_count ? &worker->scene->geoms[geom] : NULL;
	if (!g || g->body == SCENE_NONE)
		return false;
	const struct instance *instance = worker->instances[g->model];
	return instance && instance->group != SCENE_NONE &&
	       &worker->owner->ode_worlds.at[worker->owner->groups.at[instance->group].ode_world] == worker->ode_world;
}

static bool soft_are_near(const struct worker *worker, uint32_t a, uint32_t b)
{
	const struct scene *scene = worker->scene;
	const struct aabb *box[2];
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t geom = i ? b : a, model = scene->geoms[geom].model;
		box[i] = &worker->instances[model]->boxes[geom - scene->models[model].geom_first];
	}
	struct aabb grown = aabb_grow(*box[0], SOFT_MARGIN);
	return aabb_overlap(&grown, box[1]);
}

static void soft_join_model(struct worker *worker, uint32_t model)
{
	uint32_t words;
	const uint64_t *impulses = state_impulses(worker->owner->state, model, false, &words);
	struct exact *exact = worker->exact;
	for (uint32_t i = 0; i < words; i += STATE_IMPULSE_WORDS) {
		uint32_t a = (uint32_t)(impulses[i] >> 32), b = (uint32_t)impulses[i];
		bool is_a = soft_is_at_hand(worker, a), is_b = soft_is_at_hand(worker, b);
		if (!is_a && !is_b)
			continue;
		uint32_t body = worker->scene->geoms[is_a ? a : b].body;
		if (exact_moves(worker, body))
			exact->parts.at[exact->part[body]].impulses++;
		if (is_a && is_b && soft_are_near(worker, a, b))
			exact_join(worker, worker->scene->geoms[a].body, worker->scene->geoms[b].body);
	}
}

void soft_join(struct worker *worker)
{
	for (uint32_t g = 0; g < worker->ode_world->groups.count; g++) {
		const struct group *group = group_at_hand(worker, g);
		for (uint32_t i = 0; i < group->members.count && !group->alone; i++)
			soft_join_model(worker, group->members.at[i]);
	}
}

bool soft_was_pile(const struct worker *worker, uint32_t root)
{
	const struct exact *exact = worker->exact;
	uint32_t impulses = 0;
	for (uint32_t p = root; p != SCENE_NONE; p = exact->parts.at[p].next)
		impulses += exact->parts.at[p].impulses;
	return 3 * impulses > EXACT_PILE_ROWS;
}

/* --- contacts ----------------------------------------------------------------------------------------------------- */

/* The island of a body, plus 1; 0: the body is in none of these islands. */
static uint32_t soft_island_of(const struct worker *worker, uint32_t body)
{
	struct exact *exact = worker->exact;
	return exact_moves(worker, body) ? exact->parts.at[exact_root(exact, exact->part[body])].pile : 0;
}

/* A body that is near one of another island will touch it before it matters. */
static bool soft_wants(const struct worker *worker, const struct geom_pair *pair)
{
	const struct scene_geom *geoms = worker->scene->geoms;
	uint32_t a = geoms[pair->a].body, b = geoms[pair->b].body;
	uint32_t of_a = soft_island_of(worker, a), of_b = soft_island_of(worker, b);
	if (exact_moves(worker, a) && exact_moves(worker, b))
		return of_a && of_a == of_b;
	return of_a || of_b;
}

static bool soft_has_group(const struct worker *worker, const struct group *group)
{
	for (uint32_t i = 0; i < group->assemblies.count; i++)
		if (soft_island_of(worker, group->assemblies.at[i]->bodies[0]))
			return true;
	return false;
}

static void soft_list_rows(struct worker *worker)
{
	struct soft *soft = worker->exact->soft;
	soft->rows.count = 0;
	for (uint32_t g = 0; g < worker->ode_world->groups.count; g++) {
		const struct group *group = group_at_hand(worker, g);
		if (!group->alone && soft_has_group(worker, group))
			contact_list_near(worker, group, SOFT_MARGIN, soft_wants, &soft->rows);
	}
}

static const struct soft_class *soft_class_of(const struct soft_island *island)
{
	const struct soft_class *class = soft_classes;
	while (island->ratio > class->ratio)
		class++;
	return class;
}

static uint32_t soft_island_of_row(const struct worker *worker, const struct contact_row *row)
{
	return soft_island_of(worker, row->bodies[exact_moves(worker, row->bodies[0]) ? 0 : 1]) - 1;
}

static void soft_find_ratios(struct worker *worker)
{
	struct soft *soft = worker->exact->soft;
	for (uint32_t i = 0; i < soft->islands.count; i++)
		soft->islands.at[i].ratio = 1;
	for (uint32_t r = 0; r < soft->rows.count; r++) {
		const struct contact_row *row = &soft->rows.at[r];
		if (!exact_moves(worker, row->bodies[0]) || !exact_moves(worker, row->bodies[1]))
			continue;
		double a = worker->scene->bodies[row->bodies[0]].mass, b = worker->scene->bodies[row->bodies[1]].mass;
		struct soft_island *island = &soft->islands.at[soft_island_of_row(worker, row)];
		island->ratio = fmax(island->ratio, fmax(a, b) / fmin(a, b));
	}
}

/* --- bodies ------------------------------------------------------------------------------------------------------- */

static void soft_put3(double *to, struct vec3 v)
{
	to[0] = v.x;
	to[1] = v.y;
	to[2] = v.z;
}

static struct vec3 soft_get3(const double *from)
{
	return (struct vec3){from[0], from[1], from[2]};
}

/* Of a body's own inertia, in the world's axes: R I^-1 R^T. */
static void soft_invert(const double *solid, struct quat q, double *ret)
{
	const double *i = solid + 1;
	double xx = i[3] * i[5] - i[4] * i[4], xy = i[2] * i[4] - i[1] * i[5], xz = i[1] * i[4] - i[2] * i[3];
	double scale = 1 / (i[0] * xx + i[1] * xy + i[2] * xz);
	double yy = i[0] * i[5] - i[2] * i[2], yz = i[1] * i[2] - i[0] * i[4], zz = i[0] * i[3] - i[1] * i[1];
	const double own[3][3] = {{xx * scale, xy * scale, xz * scale}, {xy * scale, yy * scale, yz * scale},
		{xz * scale, yz * scale, zz * scale}};
	struct mat3 r = quat_matrix(q);
	double half[3][3];
	for (int a = 0; a < 3; a++)
		for (int b = 0; b < 3; b++)
			half[a][b] = r.m[a][0] * own[0][b] + r.m[a][1] * own[1][b] + r.m[a][2] * own[2][b];
	ret[0] = 1 / solid[0];
	for (int a = 0, at = 1; a < 3; a++)
		for (int b = a; b < 3; b++)
			ret[at++] = half[a][0] * r.m[b][0] + half[a][1] * r.m[b][1] + half[a][2] * r.m[b][2];
}

static struct vec3 soft_times_inverse(const double *inverse, struct vec3 v)
{
	const double *i = inverse + 1;
	return (struct vec3){i[0] * v.x + i[1] * v.y + i[2] * v.z, i[1] * v.x + i[3] * v.y + i[4] * v.z,
		i[2] * v.x + i[4] * v.y + i[5] * v.z};
}

static uint32_t soft_add_body(struct soft *soft, uint32_t body, const struct body_at_hand *hand)
{
	uint32_t number = soft->bodies.count;
	struct lanes_soft_body added = {.v = {0}};
	if (hand) {
		soft_put3(added.v, hand->v);
		soft_put3(added.w, hand->w);
	}
	vec_push(&soft->bodies, added);
	vec_push(&soft->colours, 0);
	memset(vec_append(&soft->inverse, 7), 0, 7 * sizeof(double));
	if (body != SCENE_NONE) {
		soft->number[body] = number;
		vec_push(&soft->numbered, body);
	}
	return number;
}

static void soft_add_mover(struct worker *worker, const struct assembly *assembly, uint32_t island)
{
	struct soft *soft = worker->exact->soft;
	uint32_t body = assembly->bodies[0], number = soft_add_body(soft, body, &worker->hand[body]);
	const struct body_at_hand *hand = &worker->hand[body];
	double *inverse = soft->inverse.at + 7 * (size_t)number;
	soft_invert(assembly->solid[0], hand->q, inverse);
	vec_push(&soft->movers,
		(struct soft_mover){.body = body,
			.island = island,
			.solid = assembly->solid[0],
			.gained = vec3_scale(hand->force, inverse[0] * soft->h),
			.spun = vec3_scale(soft_times_inverse(inverse, hand->torque), soft->h),
			.q = hand->q});
}

/* Kinematic bodies come first: lanes/soft.h wants those that forces do not move before all others. */
static void soft_number_kinematic(struct worker *worker, struct soft *soft)
{
	for (uint32_t r = 0; r < soft->rows.count; r++)
		for (uint32_t end = 0; end < 2; end++) {
			uint32_t body = soft->rows.at[r].bodies[end];
			if (body != SCENE_NONE && !exact_moves(worker, body) && !soft->number[body])
				(void)soft_add_body(soft, body, &worker->hand[body]);
		}
}

static void soft_list_bodies(struct worker *worker)
{
	struct exact *exact = worker->exact;
	struct soft *soft = exact->soft;
	soft->bodies.count = soft->movers.count = soft->inverse.count = soft->colours.count = soft->numbered.count = 0;
	(void)soft_add_body(soft, SCENE_NONE, NULL);
	soft_number_kinematic(worker, soft);
	soft->fixed = soft->bodies.count;
	for (uint32_t i = 0; i < soft->islands.count; i++) {
		struct soft_island *island = &soft->islands.at[i];
		if (soft_class_of(island) != soft->class)
			continue;
		island->mover = soft->movers.count;
		for (uint32_t p = island->root; p != SCENE_NONE; p = exact->parts.at[p].next)
			soft_add_mover(worker, exact->parts.at[p].assembly, i);
		island->mover_count = soft->movers.count - island->mover;
	}
}

/* --- pairs -------------------------------------------------------------------------------------------------------- */

static uint32_t soft_number_of(const struct soft *soft, uint32_t body)
{
	return body == SCENE_NONE ? 0 : soft->number[body];
}

static uint32_t soft_owner(const struct worker *worker, const struct contact_row *row)
{
	uint32_t owner = SCENE_NONE;
	for (uint32_t end = 0; end < 2; end++)
		if (exact_moves(worker, row->bodies[end]))
			owner = MIN(owner, worker->scene->bodies[row->bodies[end]].model);
	return owner;
}

static bool soft_is_same_pair(const struct contact_row *a, const struct contact_row *b)
{
	return a->geoms[0] == b->geoms[0] && a->geoms[1] == b->geoms[1];
}

static void soft_add_row(struct worker *worker, uint32_t r)
{
	struct soft *soft = worker->exact->soft;
	const struct contact_row *row = &soft->rows.at[r];
	uint32_t island = soft_island_of_row(worker, row);
	if (soft_class_of(&soft->islands.at[island]) != soft->class)
		return;
	struct soft_pair *last = soft->pairs.count ? &soft->pairs.at[soft->pairs.count - 1] : NULL;
	if (last && last->count < LANES_SOFT_POINTS && soft_is_same_pair(&soft->rows.at[last->row], row)) {
		last->count++;
		return;
	}
	vec_push(&soft->pairs,
		(struct soft_pair){.row = r,
			.count = 1,
			.island = island,
			.a = soft_number_of(soft, row->bodies[0]),
			.b = soft_number_of(soft, row->bodies[1]),
			.owner = soft_owner(worker, row)});
}

static void soft_list_pairs(struct worker *worker)
{
	struct soft *soft = worker->exact->soft;
	soft->pairs.count = 0;
	for (uint32_t r = 0; r < soft->rows.count; r++)
		soft_add_row(worker, r);
}

static uint64_t soft_colours_of(const struct soft *soft, uint32_t body)
{
	return body < soft->fixed ? 0 : soft->colours.at[body];
}

static uint32_t soft_colour(struct soft *soft, const struct soft_pair *pair)
{
	uint64_t taken = soft_colours_of(soft, pair->a) | soft_colours_of(soft, pair->b);
	uint32_t colour = ~taken ? (uint32_t)__builtin_ctzll(~taken) : SOFT_COLOURS;
	for (int i = 0; i < 2 && colour < SOFT_COLOURS; i++)
		soft->colours.at[i ? pair->b : pair->a] |= UINT64_C(1) << colour;
	return colour;
}

/* Gives each pair a lane. Returns the number of groups of all blocks. */
static size_t soft_deal_lanes(struct soft *soft, uint32_t lanes)
{
	size_t groups = 0;
	memset(soft->head, 0xff, sizeof soft->head);
	for (uint32_t i = 0; i < soft->pairs.count; i++) {
		uint32_t colour = soft_colour(soft, &soft->pairs.at[i]);
		soft->pairs.at[i].next = SCENE_NONE;
		*(soft->head[colour] == SCENE_NONE ? &soft->head[colour]
						   : &soft->pairs.at[soft->tail[colour]].next) = i;
		soft->tail[colour] = i;
	}
	soft->blocks.count = 0;
	for (uint32_t colour = 0; colour <= SOFT_COLOURS; colour++) {
		uint32_t lane = lanes;
		for (uint32_t i = soft->head[colour]; i != SCENE_NONE; i = soft->pairs.at[i].next) {
			struct soft_pair *pair = &soft->pairs.at[i];
			if (lane == lanes || colour == SOFT_COLOURS) {
				vec_push(&soft->blocks, (struct lanes_soft_block){0});
				lane = 0;
			}
			struct lanes_soft_block *block = &soft->blocks.at[soft->blocks.count - 1];
			block->a[lane] = pair->a;
			block->b[lane] = pair->b;
			block->points = MAX(block->points, pair->count);
			pair->at = soft->blocks.count - 1;
			pair->lane = lane++;
		}
	}
	for (uint32_t i = 0; i < soft->blocks.count; i++) {
		soft->blocks.at[i].at = (uint32_t)groups;
		groups += LANES_SOFT_BLOCK_FIELDS + soft->blocks.at[i].points * LANES_SOFT_POINT_FIELDS;
	}
	return groups;
}

/* --- impulses of the step before ---------------------------------------------------------------------------------- */

struct soft_impulse { /* as it lies in the state */
	uint64_t pair;        /* geoms */
	float at[3];          /* in the axes of the first body that moves, from its centre of mass */
	float impulse[3];     /* on the first body, world: N s in a substep */
};
_Static_assert(sizeof(struct soft_impulse) == STATE_IMPULSE_WORDS * 8, "an impulse has no padding to hash");

static uint64_t soft_key(const struct contact_row *row)
{
	return (uint64_t)row->geoms[0] << 32 | row->geoms[1];
}

static struct vec3 soft_place(const struct worker *worker, const struct contact_row *row)
{
	const struct body_at_hand *hand = &worker->hand[row->bodies[exact_moves(worker, row->bodies[0]) ? 0 : 1]];
	return quat_rotate(quat_conj(hand->q), vec3_sub(row->at, hand->p));
}

struct soft_memory { /* impulses of a pair in the step before */
	struct soft_impulse of[PHYSICS_CONTACTS_MAX];
	uint32_t count;
	uint64_t used; /* bits */
};

static void soft_recall(struct worker *worker, const struct soft_pair *pair, struct soft_memory *ret)
{
	uint32_t words, *from = &worker->exact->soft->found[pair->owner];
	const uint64_t *all = state_impulses(worker->owner->state, pair->owner, false, &words);
	uint64_t key = soft_key(&worker->exact->soft->rows.at[pair->row]);
	uint32_t count = words / STATE_IMPULSE_WORDS, at = *from;
	ret->count = 0;
	ret->used = 0;
	for (uint32_t i = 0; i < count && all[at % count * STATE_IMPULSE_WORDS] != key; i++)
		at = at % count + 1;
	for (uint32_t i = 0; i < count && i < PHYSICS_CONTACTS_MAX; i++, at++) {
		const uint64_t *here = all + at % count * STATE_IMPULSE_WORDS;
		if (*here != key)
			break;
		memcpy(&ret->of[ret->count++], here, sizeof ret->of[0]);
	}
	*from = count ? at % count : 0;
}

/* The impulse that was nearest, and is taken by no other point. */
static struct vec3 soft_recall_point(struct soft_memory *memory, struct vec3 place)
{
	double near = SOFT_NEAR * SOFT_NEAR;
	uint32_t best = SCENE_NONE;
	for (uint32_t i = 0; i < memory->count; i++) {
		const float *at = memory->of[i].at;
		struct vec3 d = vec3_sub(place, (struct vec3){at[0], at[1], at[2]});
		if (!(memory->used >> i & 1) && vec3_dot(d, d) < near) {
			near = vec3_dot(d, d);
			best = i;
		}
	}
	if (best == SCENE_NONE)
		return (struct vec3){0, 0, 0};
	memory->used |= UINT64_C(1) << best;
	const float *impulse = memory->of[best].impulse;
	return (struct vec3){impulse[0], impulse[1], impulse[2]};
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

struct soft_lane { /* of a pair */
	double *at;
	uint32_t stride;
};

static void soft_set(const struct soft_lane *lane, uint32_t field, double value)
{
	lane->at[(size_t)field * lane->stride] = value;
}

static void soft_set3(const struct soft_lane *lane, uint32_t field, struct vec3 v)
{
	soft_set(lane, field, v.x);
	soft_set(lane, field + 1, v.y);
	soft_set(lane, field + 2, v.z);
}

static struct vec3 soft_of3(const struct soft_lane *lane, uint32_t field)
{
	const double *at = lane->at + (size_t)field * lane->stride;
	return (struct vec3){at[0], at[lane->stride], at[2 * (size_t)lane->stride]};
}

static struct soft_lane soft_lane_of(const struct soft *soft, const struct soft_pair *pair, uint32_t lanes)
{
	return (struct soft_lane){
		soft->groups.at + (size_t)soft->blocks.at[pair->at].at * lanes + pair->lane, lanes};
}

static struct soft_lane soft_point_of(const struct soft_lane *lane, uint32_t point)
{
	size_t group = LANES_SOFT_BLOCK_FIELDS + (size_t)point * LANES_SOFT_POINT_FIELDS;
	return (struct soft_lane){lane->at + group * lane->stride, lane->stride};
}

/* A rigid contact is as stiff as a substep allows. The stiffness and the damping of another are what makes
 * contact_row.erp and .softness in a whole step: force = depth stiffness - rate damping. */
static void soft_fill_stiffness(const struct soft *soft, const struct soft_lane *point, const struct contact_row *row, double dt)
{
	double rate, give;
	if (row->spring) {
		double stiffness = row->erp / (dt * row->softness), damping = (1 - row->erp) / row->softness;
		double resists = stiffness * soft->h + damping;
		rate = stiffness / resists;
		give = 1 / (soft->h * resists);
		soft_set(point, LANES_SOFT_DEPTH, row->overlap < 0 ? row->overlap : row->depth);
	} else {
		const double damped = 2 * SOFT_DAMPING + SOFT_STIFFNESS;
		rate = SOFT_STIFFNESS / (soft->h * damped);
		give = -1 / (SOFT_STIFFNESS * damped);
		soft_set(point, LANES_SOFT_DEPTH, row->overlap);
	}
	soft_set(point, LANES_SOFT_RATE, rate);
	soft_set(point, LANES_SOFT_GIVE, give);
	soft_set(point, LANES_SOFT_PUSH, row->spring ? 1e100 : row->push == SDF_SURFACE_MAX_VEL ? SOFT_PUSH : row->push);
}

static void soft_fill_point(struct worker *worker, const struct soft_pair *pair, const struct soft_lane *point,
	const struct contact_row *row, struct soft_memory *memory, double dt)
{
	const struct soft *soft = worker->exact->soft;
	struct vec3 first = row->first;
	if (first.x == 0 && first.y == 0 && first.z == 0)
		first = exact_any_direction(row->normal);
	soft_set3(point, LANES_SOFT_NORMAL, row->normal);
	soft_set3(point, LANES_SOFT_FIRST, first);
	if (pair->a)
		soft_set3(point, LANES_SOFT_ARM_A, vec3_sub(row->at, worker->hand[row->bodies[0]].p));
	if (pair->b)
		soft_set3(point, LANES_SOFT_ARM_B, vec3_sub(row->at, worker->hand[row->bodies[1]].p));
	struct vec3 impulse = soft_recall_point(memory, soft_place(worker, row));
	soft_set(point, LANES_SOFT_IMPULSE, fmax(vec3_dot(impulse, row->normal), 0));
	soft_set(point, LANES_SOFT_IMPULSE + 1, vec3_dot(impulse, first));
	soft_set(point, LANES_SOFT_IMPULSE + 2, vec3_dot(impulse, vec3_cross(row->normal, first)));
	soft_fill_stiffness(soft, point, row, dt);
	for (uint32_t k = 0; k < 2; k++) {
		soft_set(point, LANES_SOFT_FRICTION + k, fmin(row->mu[k], 1e100));
		soft_set(point, LANES_SOFT_WANTED + k, k || row->bodies[0] != SCENE_NONE ? row->motion[k] : -row->motion[k]);
		soft_set(point, LANES_SOFT_SLIP + k, row->slips ? row->slip[k] / soft->h : 0);
	}
	if (row->bounces) {
		soft_set(point, LANES_SOFT_BOUNCE, row->bounce);
		soft_set(point, LANES_SOFT_BOUNCE + 1, row->bounce_rate);
	}
	if (row->resists) {
		soft_set(point, LANES_SOFT_RESIST, row->rolling);
		soft_set(point, LANES_SOFT_RESIST + 1, row->spinning);
	}
}

static void soft_fill_pair(struct worker *worker, const struct soft_pair *pair, uint32_t lanes, double dt)
{
	struct soft *soft = worker->exact->soft;
	struct lanes_soft_block *block = &soft->blocks.at[pair->at];
	struct soft_lane lane = soft_lane_of(soft, pair, lanes);
	struct soft_memory memory;
	soft_recall(worker, pair, &memory);
	for (uint32_t k = 0; k < 7; k++) {
		soft_set(&lane, LANES_SOFT_MASS_A + k, soft->inverse.at[7 * (size_t)pair->a + k]);
		soft_set(&lane, LANES_SOFT_MASS_B + k, soft->inverse.at[7 * (size_t)pair->b + k]);
	}
	for (uint32_t i = 0; i < pair->count; i++) {
		const struct contact_row *row = &soft->rows.at[pair->row + i];
		struct soft_lane point = soft_point_of(&lane, i);
		soft_fill_point(worker, pair, &point, row, &memory, dt);
		block->bounces |= row->bounces;
		block->resists |= row->resists;
	}
}

static void soft_fill(struct worker *worker, double dt)
{
	struct exact *exact = worker->exact;
	struct soft *soft = exact->soft;
	uint32_t lanes = exact->kernel->lanes;
	size_t groups = soft_deal_lanes(soft, lanes);
	memset(exact_fit(&soft->groups, groups, lanes), 0, groups * lanes * sizeof(double));
	for (uint32_t i = 0; i < soft->pairs.count; i++)
		soft->found[soft->pairs.at[i].owner] = 0;
	for (uint32_t i = 0; i < soft->pairs.count; i++)
		soft_fill_pair(worker, &soft->pairs.at[i], lanes, dt);
}

/* --- the step ----------------------------------------------------------------------------------------------------- */

static void soft_gain(struct soft *soft)
{
	for (uint32_t i = 0; i < soft->movers.count; i++) {
		const struct soft_mover *mover = &soft->movers.at[i];
		struct lanes_soft_body *body = &soft->bodies.at[soft->fixed + i];
		struct vec3 v = vec3_add(soft_get3(body->v), mover->gained), w = soft_get3(body->w);
		if (vec3_dot(w, w) > SOFT_SPIN_LEAST * SOFT_SPIN_LEAST)
			w = exact_turned_spin(mover->solid, mover->q, w, soft->h);
		soft_put3(body->v, v);
		soft_put3(body->w, vec3_add(w, mover->spun));
	}
}

static struct quat soft_turned(struct quat q, struct vec3 w, double h)
{
	double spin2 = vec3_dot(w, w);
	if (spin2 * h * h > PHYSICS_TURN_FAR * PHYSICS_TURN_FAR && isfinite(spin2))
		return quat_unit(instance_far_turn(q, w, sqrt(spin2), h));
	struct quat by = quat_mul((struct quat){0, w.x, w.y, w.z}, q);
	h *= 0.5;
	return quat_unit((struct quat){q.w + h * by.w, q.x + h * by.x, q.y + h * by.y, q.z + h * by.z});
}

static void soft_move(struct soft *soft)
{
	for (uint32_t i = 1; i < soft->bodies.count; i++) {
		struct lanes_soft_body *body = &soft->bodies.at[i];
		for (int k = 0; k < 3; k++) {
			body->moved[k] += soft->h * body->v[k];
			body->turned[k] += soft->h * body->w[k];
		}
		if (i >= soft->fixed) {
			struct soft_mover *mover = &soft->movers.at[i - soft->fixed];
			mover->q = soft_turned(mover->q, soft_get3(body->w), soft->h);
		}
	}
}

static void soft_run(struct worker *worker)
{
	struct soft *soft = worker->exact->soft;
	lanes_soft_fn *pass = worker->exact->kernel->soft;
	struct lanes_soft work = {soft->groups.at, soft->blocks.at, soft->blocks.count, soft->bodies.at, soft->fixed,
		false, 1 / soft->h};
	pass(&work, LANES_SOFT_PREPARE);
	for (uint32_t i = 0; i < soft->substeps && !worker_abandons(worker); i++) {
		soft_gain(soft);
		work.backward = i % 2;
		pass(&work, LANES_SOFT_START);
		pass(&work, LANES_SOFT_SOLVE);
		soft_move(soft);
		work.backward = !work.backward;
		pass(&work, LANES_SOFT_RELAX);
	}
	pass(&work, LANES_SOFT_REBOUND);
}

/* --- results ------------------------------------------------------------------------------------------------------ */

/* Zeros have no sign: which zeros were added depends on the pairs in the other lanes. */
static struct vec3 soft_unsigned(struct vec3 v)
{
	return (struct vec3){v.x + 0.0, v.y + 0.0, v.z + 0.0};
}

static bool soft_store_body(struct worker *worker, uint32_t mover)
{
	const struct soft *soft = worker->exact->soft;
	const struct soft_mover *from = &soft->movers.at[mover];
	const struct lanes_soft_body *body = &soft->bodies.at[soft->fixed + mover];
	const struct scene_body *of = &worker->scene->bodies[from->body];
	struct body_state *next = state_body(worker->owner->state, from->body, true);
	next->p = soft_unsigned(vec3_add(worker->hand[from->body].p, soft_get3(body->moved)));
	next->q = (struct quat){from->q.w + 0.0, from->q.x + 0.0, from->q.y + 0.0, from->q.z + 0.0};
	next->v = soft_unsigned(soft_get3(body->v));
	next->w = soft_unsigned(soft_get3(body->w));
	if (of->linear_damping > 0)
		next->v = vec3_scale(next->v, 1 - of->linear_damping);
	if (of->angular_damping > 0)
		next->w = vec3_scale(next->w, 1 - of->angular_damping);
	return body_state_sane(next);
}

static struct vec3 soft_sum_of(const struct soft_lane *point, uint32_t field)
{
	struct vec3 n = soft_of3(point, LANES_SOFT_NORMAL), first = soft_of3(point, LANES_SOFT_FIRST);
	struct vec3 along = soft_of3(point, field);
	return soft_unsigned(vec3_add(vec3_scale(n, along.x),
		vec3_add(vec3_scale(first, along.y), vec3_scale(vec3_cross(n, first), along.z))));
}

static void soft_store_impulse(
	struct worker *worker, const struct soft_pair *pair, const struct contact_row *row, struct vec3 impulse)
{
	struct state *state = worker->owner->state;
	struct vec3 place = soft_place(worker, row);
	struct soft_impulse kept = {soft_key(row), {(float)place.x, (float)place.y, (float)place.z},
		{(float)impulse.x, (float)impulse.y, (float)impulse.z}};
	uint32_t count;
	(void)state_impulses(state, pair->owner, true, &count);
	if (count == STATE_IMPULSES_MAX * STATE_IMPULSE_WORDS) /* the others begin at 0 */
		return;
	memcpy(state_resize_impulses(state, pair->owner, true, count + STATE_IMPULSE_WORDS) + count, &kept, sizeof kept);
}

/* Those who ask for the forces of contacts know the contacts that touch: the nearest one of the pair has it. */
static void soft_note_impulse(
	struct worker *worker, const struct contact_row *near, uint32_t root, struct vec3 impulse)
{
	struct exact *exact = worker->exact;
	const struct contact_row *rows = worker->rows_of_contacts.at;
	uint32_t best = SCENE_NONE;
	double least = INFINITY;
	for (uint32_t r = exact->parts.at[root].row_first; r != SCENE_NONE; r = exact->row_next.at[r]) {
		struct vec3 d = vec3_sub(rows[r].at, near->at);
		if (!soft_is_same_pair(&rows[r], near) || vec3_dot(d, d) >= least)
			continue;
		least = vec3_dot(d, d);
		best = r;
	}
	if (best != SCENE_NONE)
		exact->contact_impulses.at[best] = vec3_add(exact->contact_impulses.at[best], impulse);
}

/* What presses on a body holds it, even where the two are apart by less than can be seen. */
static void soft_note_held(struct worker *worker, const struct contact_row *row)
{
	for (uint32_t end = 0; end < 2; end++)
		if (row->bodies[end] != SCENE_NONE)
			worker->instances[worker->scene->bodies[row->bodies[end]].model]->touched = true;
}

static void soft_store_pair(struct worker *worker, const struct soft_pair *pair)
{
	struct exact *exact = worker->exact;
	struct soft *soft = exact->soft;
	bool observed = worker->owner->observe & (OBSERVE_JOINTS | OBSERVE_FORCES);
	struct soft_lane lane = soft_lane_of(soft, pair, exact->kernel->lanes);
	for (uint32_t i = 0; i < pair->count; i++) {
		const struct contact_row *row = &soft->rows.at[pair->row + i];
		struct soft_lane point = soft_point_of(&lane, i);
		soft_store_impulse(worker, pair, row, soft_sum_of(&point, LANES_SOFT_IMPULSE));
		if (soft_of3(&point, LANES_SOFT_IMPULSE).x > 0)
			soft_note_held(worker, row);
		if (observed)
			soft_note_impulse(worker, row, soft->islands.at[pair->island].root,
				soft_sum_of(&point, LANES_SOFT_SUM));
	}
}

static void soft_store(struct worker *worker)
{
	struct soft *soft = worker->exact->soft;
	for (uint32_t i = 0; i < soft->islands.count; i++) {
		struct soft_island *island = &soft->islands.at[i];
		if (soft_class_of(island) != soft->class)
			continue;
		island->sane = true;
		for (uint32_t k = 0; k < island->mover_count; k++)
			island->sane &= soft_store_body(worker, island->mover + k);
		if (island->sane)
			worker->soft_count++;
		else
			exact_leave(worker, island->root, PHYSICS_LEFT_UNSOLVED);
	}
	for (uint32_t i = 0; i < soft->pairs.count; i++)
		if (soft->islands.at[soft->pairs.at[i].island].sane)
			soft_store_pair(worker, &soft->pairs.at[i]);
}

static void soft_step_class(struct worker *worker, double dt)
{
	struct soft *soft = worker->exact->soft;
	double wanted = ceil(dt / SOFT_SUBSTEP_S - 1e-6);
	soft->substeps = (uint32_t)MIN(MAX(wanted, SOFT_SUBSTEPS_MIN), SOFT_SUBSTEPS_MAX) * soft->class->factor;
	soft->h = dt / soft->substeps;
	soft_list_bodies(worker);
	soft_list_pairs(worker);
	soft_fill(worker, dt);
	soft_run(worker);
	soft_store(worker);
	for (uint32_t i = 0; i < soft->numbered.count; i++)
		soft->number[soft->numbered.at[i]] = 0;
}

void soft_step(struct worker *worker, double dt)
{
	struct soft *soft = worker->exact->soft;
	if (!soft->islands.count)
		return;
	soft_list_rows(worker);
	soft_find_ratios(worker);
	for (uint32_t c = 0; c < SOFT_CLASSES; c++) {
		uint32_t islands = 0;
		soft->class = &soft_classes[c];
		for (uint32_t i = 0; i < soft->islands.count; i++)
			islands += soft_class_of(&soft->islands.at[i]) == soft->class;
		if (islands)
			soft_step_class(worker, dt);
	}
}
