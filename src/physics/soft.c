/* Piles: which islands they are, their bodies, and their step. */
#include "physics/soft_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SOFT_SUBSTEP_S 2.5e-4 /* unless that makes fewer or more substeps than these */
enum { SOFT_SUBSTEPS_MIN = 2, SOFT_SUBSTEPS_MAX = 16 };
/* A free body that is slower than both limits loses its spin at this rate */
#define SOFT_CALM_M_S 1e-3
#define SOFT_CALM_RAD_S 0.1
#define SOFT_CALM_PER_S 5.0
#define SOFT_SPIN_LEAST 1e-3 /* rad/s: a slower body is not turned by its own spin */

static const struct soft_class soft_classes[SOFT_CLASSES] = {
	{4, 1, 1, SOFT_PUSH}, {16, 2, 1, SOFT_PUSH}, {1e300, 4, 1, SOFT_PUSH}, {INFINITY, 4, 2, SDF_SURFACE_MAX_VEL}};

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
	vec_free(&soft->colours);
	vec_free(&soft->pairs);
	vec_free(&soft->links);
	vec_free(&soft->link_rows);
	vec_free(&soft->blocks);
	vec_free(&soft->link_blocks);
	vec_free(&soft->queue.next);
	vec_free(&soft->numbered);
	free(soft->groups.at);
	free(soft->number);
	free(soft->found);
	free(soft);
}

/* --- islands ------------------------------------------------------------------------------------------------------ */

static void soft_forget_numbers(struct soft *soft)
{
	for (uint32_t i = 0; i < soft->numbered.count; i++)
		soft->number[soft->numbered.at[i]] = 0;
	soft->numbered.count = 0;
}

void soft_begin(struct worker *worker)
{
	struct soft *soft = worker->exact->soft;
	soft->islands.count = 0;
	soft_forget_numbers(soft); /* left over where ODE gave up */
	MEM_FIT(soft->number, soft->body_room, worker->room.bodies);
	soft->body_room = worker->room.bodies;
	MEM_FIT(soft->found, soft->model_room, worker->room.models);
	soft->model_room = worker->room.models;
}

/* Whether the geom belongs to the ODE world at hand. Another one that moves cannot be near, or its model would share
 * the group. */
static bool soft_has_geom(const struct worker *worker, uint32_t geom)
{
	const struct scene_geom *g = geom < worker->scene->geom_count ? &worker->scene->geoms[geom] : NULL;
	if (!g || g->body == SCENE_NONE || worker->scene->models[g->model].absent)
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

/* An impulse counts for a body of the model that has it: whether the other model is at hand depends on groups. */
static void soft_join_pair(struct worker *worker, uint32_t model, uint32_t a, uint32_t b)
{
	struct exact *exact = worker->exact;
	const struct scene_geom *geoms = worker->scene->geoms;
	bool is_a = soft_has_geom(worker, a), is_b = soft_has_geom(worker, b);
	bool own_a = is_a && geoms[a].model == model, own_b = is_b && geoms[b].model == model;
	if (!own_a && !own_b)
		return;
	uint32_t body = geoms[own_a ? a : b].body;
	if (exact_moves(worker, body))
		exact->parts.at[exact->part[body]].impulses++;
	if (is_a && is_b && soft_are_near(worker, a, b))
		exact_join(worker, geoms[a].body, geoms[b].body);
}

static void soft_join_model(struct worker *worker, uint32_t model)
{
	uint32_t words;
	const uint64_t *impulses = state_impulses(worker->owner->state, model, false, &words);
	for (uint32_t i = 0; i < words; i += STATE_IMPULSE_WORDS)
		if (!(impulses[i] & SOFT_KEY_OF_JOINT))
			soft_join_pair(worker, model, (uint32_t)(impulses[i] >> 32), (uint32_t)impulses[i]);
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

bool soft_covers(const struct worker *worker, uint32_t root)
{
	const struct exact *exact = worker->exact;
	for (uint32_t p = root; p != SCENE_NONE; p = exact->parts.at[p].next) {
		const struct assembly *assembly = exact->parts.at[p].assembly;
		if (assembly->large)
			return false;
		for (uint32_t i = 0; i < assembly->links.count; i++)
			if (assembly->links.at[i].joint.kind == ASSEMBLY_ADDED)
				return false;
	}
	return true;
}

void soft_add(struct worker *worker, uint32_t root)
{
	struct exact *exact = worker->exact;
	struct soft_island island = {.root = root, .ratio = 1};
	for (uint32_t p = root; p != SCENE_NONE; p = exact->parts.at[p].next) {
		const struct assembly *assembly = exact->parts.at[p].assembly;
		if (assembly->count > 1 || assembly->keys[0].joint != LANES_FREE || assembly->links.count)
			island.ratio = INFINITY;
	}
	vec_push(&exact->soft->islands, island);
	exact->parts.at[root].pile = exact->soft->islands.count;
}

uint32_t soft_island_of(const struct worker *worker, uint32_t body)
{
	struct exact *exact = worker->exact;
	return exact_moves(worker, body) ? exact->parts.at[exact_root(exact, exact->part[body])].pile : 0;
}

static const struct soft_class *soft_class_of(const struct soft_island *island)
{
	uint32_t c = 0;
	while (island->ratio > soft_classes[c].ratio)
		c++;
	return &soft_classes[c];
}

bool soft_is_at_hand(const struct soft *soft, uint32_t island)
{
	return soft_class_of(&soft->islands.at[island]) == soft->class;
}

/* --- bodies ------------------------------------------------------------------------------------------------------- */

/* Of a body's own inertia, in the world's axes: R I^-1 R^T. */
static void soft_invert(const double *solid, struct quat q, double *ret)
{
	const double *i = solid + 1;
	double xx = i[3] * i[5] - i[4] * i[4], xy = i[2] * i[4] - i[1] * i[5], xz = i[1] * i[4] - i[2] * i[3];
	double yy = i[0] * i[5] - i[2] * i[2], yz = i[1] * i[2] - i[0] * i[4], zz = i[0] * i[3] - i[1] * i[1];
	double scale = 1 / (i[0] * xx + i[1] * xy + i[2] * xz);
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
		vec3_store(hand->v, added.v);
		vec3_store(hand->w, added.w);
	}
	vec_push(&soft->bodies, added);
	vec_push(&soft->colours, 0);
	if (body != SCENE_NONE) {
		soft->number[body] = number;
		vec_push(&soft->numbered, body);
	}
	return number;
}

static void soft_add_movers(struct worker *worker, const struct assembly *assembly)
{
	struct soft *soft = worker->exact->soft;
	for (uint32_t i = 0; i < assembly->count; i++) {
		uint32_t body = assembly->bodies[i], number = soft_add_body(soft, body, worker_hand(worker, body));
		const struct body_at_hand *hand = worker_hand(worker, body);
		double *inverse = soft->bodies.at[number].inverse;
		soft_invert(assembly->solid[i], hand->q, inverse);
		vec_push(&soft->movers, (struct soft_mover){.body = body,
						.solid = assembly->solid[i],
						.gained = vec3_scale(hand->force, inverse[0] * soft->h),
						.spun = vec3_scale(soft_times_inverse(inverse, hand->torque), soft->h),
						.q = hand->q});
	}
}

/* Ground and kinematic bodies come first: lanes/soft.h wants those that forces do not move before all others. */
static void soft_list_bodies(struct worker *worker)
{
	struct exact *exact = worker->exact;
	struct soft *soft = exact->soft;
	soft->bodies.count = soft->movers.count = soft->colours.count = 0;
	(void)soft_add_body(soft, SCENE_NONE, NULL);
	for (uint32_t r = 0; r < soft->rows.count; r++)
		for (uint32_t end = 0; end < 2; end++) {
			uint32_t body = soft->rows.at[r].bodies[end];
			if (body != SCENE_NONE && !exact_moves(worker, body) && !soft->number[body])
				(void)soft_add_body(soft, body, worker_hand(worker, body));
		}
	soft->fixed = soft->bodies.count;
	for (uint32_t i = 0; i < soft->islands.count; i++) {
		struct soft_island *island = &soft->islands.at[i];
		if (!soft_is_at_hand(soft, i))
			continue;
		island->mover = soft->movers.count;
		for (uint32_t p = island->root; p != SCENE_NONE; p = exact->parts.at[p].next)
			soft_add_movers(worker, exact->parts.at[p].assembly);
		island->mover_count = soft->movers.count - island->mover;
	}
}

uint32_t soft_number_of(const struct soft *soft, uint32_t body)
{
	return body == SCENE_NONE ? 0 : soft->number[body];
}

void soft_set_body(const struct soft *soft, const struct soft_lane *lane, uint32_t field, uint32_t body)
{
	for (uint32_t k = 0; k < 7; k++)
		soft_set(lane, field + k, soft->bodies.at[body].inverse[k]);
}

void soft_begin_queue(struct soft *soft)
{
	struct soft_queue *queue = &soft->queue;
	memset(soft->colours.at, 0, soft->colours.count * sizeof *soft->colours.at);
	memset(queue->head, 0xff, sizeof queue->head);
	queue->next.count = 0;
}

static uint32_t soft_colour(struct soft *soft, const uint32_t *bodies, uint32_t count)
{
	uint64_t taken = 0;
	for (uint32_t i = 0; i < count; i++)
		taken |= bodies[i] < soft->fixed ? 0 : soft->colours.at[bodies[i]];
	if (!~taken)
		return SOFT_COLOURS;
	uint32_t colour = (uint32_t)__builtin_ctzll(~taken);
	for (uint32_t i = 0; i < count; i++)
		soft->colours.at[bodies[i]] |= UINT64_C(1) << colour;
	return colour;
}

void soft_enqueue(struct soft *soft, const uint32_t *bodies, uint32_t count)
{
	struct soft_queue *queue = &soft->queue;
	uint32_t colour = soft_colour(soft, bodies, count), item = queue->next.count;
	vec_push(&queue->next, SCENE_NONE);
	if (queue->head[colour] == SCENE_NONE)
		queue->head[colour] = item;
	else
		queue->next.at[queue->tail[colour]] = item;
	queue->tail[colour] = item;
}

/* --- impulses of the step before ---------------------------------------------------------------------------------- */

uint32_t soft_recall(struct worker *worker, uint32_t model, uint64_t key, struct soft_impulse *ret, uint32_t room)
{
	uint32_t words, found = 0, *from = &worker->exact->soft->found[model];
	const uint64_t *all = state_impulses(worker->owner->state, model, false, &words);
	uint32_t count = words / STATE_IMPULSE_WORDS, at = *from;
	if (!count)
		return 0;
	for (uint32_t i = 0; i < count && all[at % count * STATE_IMPULSE_WORDS] != key; i++)
		at = at % count + 1;
	for (; found < MIN(count, room); at++) {
		const uint64_t *here = all + at % count * STATE_IMPULSE_WORDS;
		if (*here != key)
			break;
		memcpy(&ret[found++], here, sizeof *ret);
	}
	*from = at % count;
	return found;
}

void soft_keep(struct worker *worker, uint32_t model, const struct soft_impulse *impulse)
{
	struct state *state = worker->owner->state;
	uint32_t count;
	(void)state_impulses(state, model, true, &count);
	if (count == STATE_IMPULSES_MAX * STATE_IMPULSE_WORDS) /* the others begin at 0 */
		return;
	memcpy(state_resize_impulses(state, model, true, count + STATE_IMPULSE_WORDS) + count, impulse,
		sizeof *impulse);
}

/* --- the step ----------------------------------------------------------------------------------------------------- */

static void soft_gain(struct soft *soft)
{
	for (uint32_t i = 0; i < soft->movers.count; i++) {
		const struct soft_mover *mover = &soft->movers.at[i];
		struct lanes_soft_body *body = &soft->bodies.at[soft->fixed + i];
		struct vec3 v = vec3_add(vec3_from(body->v), mover->gained), w = vec3_from(body->w);
		if (vec3_dot(w, w) > SOFT_SPIN_LEAST * SOFT_SPIN_LEAST)
			w = exact_turned_spin(mover->solid, mover->q, w, soft->h);
		vec3_store(v, body->v);
		vec3_store(vec3_add(w, mover->spun), body->w);
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

/* To first order: dJ = [turn] J + ([turn] J)^T. */
static void soft_turn_inertia(struct lanes_soft_body *body)
{
	const double *t = body->turn;
	double *j = body->inverse + 1;
	const double rows[3][3] = {{j[0], j[1], j[2]}, {j[1], j[3], j[4]}, {j[2], j[4], j[5]}};
	double turned[3][3];
	for (int c = 0; c < 3; c++) {
		turned[0][c] = t[1] * rows[2][c] - t[2] * rows[1][c];
		turned[1][c] = t[2] * rows[0][c] - t[0] * rows[2][c];
		turned[2][c] = t[0] * rows[1][c] - t[1] * rows[0][c];
	}
	for (int a = 0, at = 0; a < 3; a++)
		for (int b = a; b < 3; b++)
			j[at++] += turned[a][b] + turned[b][a];
}

static void soft_move(struct soft *soft)
{
	for (uint32_t i = 1; i < soft->bodies.count; i++) {
		struct lanes_soft_body *body = &soft->bodies.at[i];
		for (int k = 0; k < 3; k++) {
			body->move[k] = soft->h * body->v[k];
			body->turn[k] = soft->h * body->w[k];
		}
		if (i >= soft->fixed) {
			struct soft_mover *mover = &soft->movers.at[i - soft->fixed];
			mover->moved = vec3_add(mover->moved, vec3_from(body->move));
			mover->q = soft_turned(mover->q, vec3_from(body->w), soft->h);
			soft_turn_inertia(body);
		}
	}
}

/* A pass in one direction carries an error along; the next goes the other way. */
static void soft_run(struct worker *worker)
{
	struct soft *soft = worker->exact->soft;
	lanes_soft_fn *pass = worker->exact->kernel->soft;
	struct lanes_soft work = {.groups = soft->groups.at,
		.blocks = soft->blocks.at,
		.links = soft->link_blocks.at,
		.block_count = soft->blocks.count,
		.link_count = soft->link_blocks.count,
		.bodies = soft->bodies.at,
		.fixed = soft->fixed,
		.push = SOFT_PUSH,
		.per_s = 1 / soft->h};
	pass(&work, LANES_SOFT_PREPARE);
	for (uint32_t i = 0; i < soft->substeps && !worker_abandons(worker); i++) {
		soft_gain(soft);
		work.backward = i % 2;
		pass(&work, LANES_SOFT_START);
		pass(&work, LANES_SOFT_SOLVE);
		soft_move(soft);
		work.backward = !work.backward;
		for (uint32_t r = 0; r < soft->class->relaxes; r++) {
			work.moved = !r;
			pass(&work, r + 1 < soft->class->relaxes ? LANES_SOFT_RELAX : LANES_SOFT_END);
		}
		work.moved = false;
	}
	pass(&work, LANES_SOFT_REBOUND);
}

/* Zeros have no sign: which zeros were added depends on what is in the other lanes. */
static struct vec3 soft_unsigned(struct vec3 v)
{
	return (struct vec3){v.x + 0.0, v.y + 0.0, v.z + 0.0};
}

/* A box between two corners spins for ever about the line through them: friction of single points has no moment about
 * it, and the pile would never sleep. Real corners are blunt. */
static void soft_calm(struct body_state *body, double dt)
{
	if (vec3_dot(body->v, body->v) < SOFT_CALM_M_S * SOFT_CALM_M_S &&
		vec3_dot(body->w, body->w) < SOFT_CALM_RAD_S * SOFT_CALM_RAD_S)
		body->w = vec3_scale(body->w, 1 / (1 + SOFT_CALM_PER_S * dt));
}

static bool soft_store_body(struct worker *worker, const struct soft_island *island, uint32_t mover)
{
	const struct soft *soft = worker->exact->soft;
	const struct soft_mover *from = &soft->movers.at[mover];
	const struct lanes_soft_body *body = &soft->bodies.at[soft->fixed + mover];
	struct body_state *next = state_body(worker->owner->state, from->body, true);
	next->p = soft_unsigned(vec3_add(worker_hand(worker, from->body)->p, from->moved));
	next->q = (struct quat){from->q.w + 0.0, from->q.x + 0.0, from->q.y + 0.0, from->q.z + 0.0};
	next->v = soft_unsigned(vec3_from(body->v));
	next->w = soft_unsigned(vec3_from(body->w));
	exact_damp(&worker->scene->bodies[from->body], next);
	if (isfinite(island->ratio)) /* no joints */
		soft_calm(next, soft->substeps * soft->h);
	return body_state_sane(next);
}

static void soft_store_bodies(struct worker *worker)
{
	struct soft *soft = worker->exact->soft;
	for (uint32_t i = 0; i < soft->islands.count; i++) {
		struct soft_island *island = &soft->islands.at[i];
		if (!soft_is_at_hand(soft, i))
			continue;
		island->sane = true;
		for (uint32_t k = 0; k < island->mover_count; k++)
			island->sane &= soft_store_body(worker, island, island->mover + k);
		if (island->sane)
			worker->soft_count++;
		else
			exact_leave(worker, island->root, PHYSICS_LEFT_UNSOLVED);
	}
}

static void soft_step_class(struct worker *worker, double dt)
{
	struct soft *soft = worker->exact->soft;
	double wanted = ceil(dt / SOFT_SUBSTEP_S - 1e-6);
	soft->substeps = (uint32_t)MIN(MAX(wanted, SOFT_SUBSTEPS_MIN), SOFT_SUBSTEPS_MAX) * soft->class->factor;
	soft->h = dt / soft->substeps;
	soft->group_count = 0;
	soft_list_bodies(worker);
	soft_list_joints(worker, dt);
	soft_deal_contacts(worker);
	soft_deal_joints(worker);
	size_t bytes = soft->group_count * worker->exact->kernel->lanes * sizeof(double);
	double *groups = exact_fit(&soft->groups, soft->group_count, worker->exact->kernel->lanes);
	if (bytes) /* none, and perhaps no memory yet, for bodies that nothing touches any more */
		memset(groups, 0, bytes);
	for (uint32_t i = 0; i < soft->movers.count; i++)
		soft->found[worker->scene->bodies[soft->movers.at[i].body].model] = 0;
	soft_fill_contacts(worker, dt);
	soft_fill_joints(worker);
	soft_run(worker);
	soft_store_bodies(worker);
	soft_store_contacts(worker);
	soft_store_joints(worker, dt);
	soft_forget_numbers(soft);
}

void soft_step(struct worker *worker, double dt)
{
	struct soft *soft = worker->exact->soft;
	if (!soft->islands.count)
		return;
	soft_list_contacts(worker);
	soft_find_ratios(worker);
	for (uint32_t c = 0; c < SOFT_CLASSES; c++) {
		uint32_t islands = 0;
		soft->class = &soft_classes[c];
		for (uint32_t i = 0; i < soft->islands.count; i++)
			islands += soft_is_at_hand(soft, i);
		if (islands)
			soft_step_class(worker, dt);
	}
}
