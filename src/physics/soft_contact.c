/* The contacts of piles, from their places to the blocks of lanes/soft.h and back.
 *
 * Order. Pairs of geoms are taken in the order of their contacts. Each gets the lowest colour that none of its moving
 * bodies has, so that the pairs of one colour share no such body and are solved side by side. An island's colours do
 * not depend on the islands around it, and its result does not either. */
#include "physics/soft_internal.h"

#include <math.h>
#include <string.h>

/* --- finding them ------------------------------------------------------------------------------------------------- */

/* A body that is near one of another island will touch it before it matters. */
static bool soft_contact_is_wanted(const struct worker *worker, const struct geom_pair *pair)
{
	const struct scene_geom *geoms = worker->scene->geoms;
	uint32_t a = geoms[pair->a].body, b = geoms[pair->b].body;
	uint32_t of_a = soft_island_of(worker, a), of_b = soft_island_of(worker, b);
	if (exact_moves(worker, a) && exact_moves(worker, b))
		return of_a && of_a == of_b;
	return of_a || of_b;
}

static bool soft_contact_concerns(const struct worker *worker, const struct group *group)
{
	for (uint32_t i = 0; i < group->assemblies.count; i++)
		if (soft_island_of(worker, group->assemblies.at[i]->bodies[0]))
			return true;
	return false;
}

static uint64_t soft_contact_key(const struct contact_row *row)
{
	return (uint64_t)row->geoms[0] << 32 | row->geoms[1];
}

/* Contacts of shapes that are grown are beside those of the shapes themselves. So a contact that touches becomes the
 * one of them that is nearest. Both lists are in the order of pairs. */
static void soft_contact_take_touching(struct worker *worker, const struct group *group, uint32_t first)
{
	struct soft *soft = worker->exact->soft;
	const struct contact_row *touching = worker->rows_of_contacts.at + group->row_first;
	uint32_t from = 0;
	for (uint32_t r = first; r < soft->rows.count; r++) {
		struct contact_row *row = &soft->rows.at[r];
		uint32_t best = SCENE_NONE;
		double least = 4 * SOFT_MARGIN * SOFT_MARGIN;
		while (from < group->row_count && soft_contact_key(&touching[from]) < soft_contact_key(row))
			from++;
		for (uint32_t t = from; row->overlap >= 0 && t < group->row_count &&
					soft_contact_key(&touching[t]) == soft_contact_key(row);
			t++) {
			struct vec3 d = vec3_sub(touching[t].at, row->at);
			if (vec3_dot(d, d) < least) {
				least = vec3_dot(d, d);
				best = t;
			}
		}
		if (best != SCENE_NONE)
			*row = touching[best];
	}
}

void soft_list_contacts(struct worker *worker)
{
	struct soft *soft = worker->exact->soft;
	soft->rows.count = 0;
	for (uint32_t g = 0; g < worker->ode_world->groups.count; g++) {
		const struct group *group = group_at_hand(worker, g);
		uint32_t first = soft->rows.count;
		if (group->alone || !soft_contact_concerns(worker, group))
			continue;
		contact_list_near(worker, group, SOFT_MARGIN, soft_contact_is_wanted, &soft->rows);
		soft_contact_take_touching(worker, group, first);
	}
}

static uint32_t soft_contact_island(const struct worker *worker, const struct contact_row *row)
{
	return soft_island_of(worker, row->bodies[exact_moves(worker, row->bodies[0]) ? 0 : 1]) - 1;
}

void soft_find_ratios(struct worker *worker)
{
	struct soft *soft = worker->exact->soft;
	for (uint32_t r = 0; r < soft->rows.count; r++) {
		const struct contact_row *row = &soft->rows.at[r];
		if (!exact_moves(worker, row->bodies[0]) || !exact_moves(worker, row->bodies[1]))
			continue;
		double a = worker->scene->bodies[row->bodies[0]].mass, b = worker->scene->bodies[row->bodies[1]].mass;
		struct soft_island *island = &soft->islands.at[soft_contact_island(worker, row)];
		island->ratio = fmax(island->ratio, fmax(a, b) / fmin(a, b));
	}
}

/* --- pairs and lanes ---------------------------------------------------------------------------------------------- */

static uint32_t soft_contact_owner(const struct worker *worker, const struct contact_row *row)
{
	uint32_t owner = SCENE_NONE;
	for (uint32_t end = 0; end < 2; end++)
		if (exact_moves(worker, row->bodies[end]))
			owner = MIN(owner, worker->scene->bodies[row->bodies[end]].model);
	return owner;
}

static void soft_contact_add(struct worker *worker, uint32_t r)
{
	struct soft *soft = worker->exact->soft;
	const struct contact_row *row = &soft->rows.at[r];
	struct soft_pair *last = soft->pairs.count ? &soft->pairs.at[soft->pairs.count - 1] : NULL;
	uint32_t island = soft_contact_island(worker, row);
	if (!soft_is_at_hand(soft, island))
		return;
	if (last && last->count < LANES_SOFT_POINTS &&
		soft_contact_key(&soft->rows.at[last->row]) == soft_contact_key(row)) {
		last->count++;
		return;
	}
	vec_push(&soft->pairs,
		(struct soft_pair){.row = r,
			.count = 1,
			.island = island,
			.bodies = {soft_number_of(soft, row->bodies[0]), soft_number_of(soft, row->bodies[1])},
			.owner = soft_contact_owner(worker, row)});
}

static void soft_contact_fill_blocks(struct soft *soft, uint32_t colour, uint32_t lanes)
{
	uint32_t lane = lanes;
	for (uint32_t i = soft->queue.head[colour]; i != SCENE_NONE; i = soft->queue.next.at[i]) {
		struct soft_pair *pair = &soft->pairs.at[i];
		if (lane == lanes || colour == SOFT_COLOURS) {
			vec_push(&soft->blocks, (struct lanes_soft_block){0});
			lane = 0;
		}
		struct lanes_soft_block *block = &soft->blocks.at[soft->blocks.count - 1];
		block->a[lane] = pair->bodies[0];
		block->b[lane] = pair->bodies[1];
		block->points = MAX(block->points, pair->count);
		pair->block = soft->blocks.count - 1;
		pair->lane = lane++;
	}
}

void soft_deal_contacts(struct worker *worker)
{
	struct soft *soft = worker->exact->soft;
	soft->pairs.count = soft->blocks.count = 0;
	for (uint32_t r = 0; r < soft->rows.count; r++)
		soft_contact_add(worker, r);
	soft_begin_queue(soft);
	for (uint32_t i = 0; i < soft->pairs.count; i++)
		soft_enqueue(soft, soft->pairs.at[i].bodies, 2);
	for (uint32_t colour = 0; colour <= SOFT_COLOURS; colour++)
		soft_contact_fill_blocks(soft, colour, worker->exact->kernel->lanes);
	for (uint32_t i = 0; i < soft->blocks.count; i++) {
		soft->blocks.at[i].at = (uint32_t)soft->group_count;
		soft->group_count += LANES_SOFT_BLOCK_FIELDS + soft->blocks.at[i].points * LANES_SOFT_POINT_FIELDS;
	}
}

static struct soft_lane soft_contact_lane(const struct worker *worker, const struct soft_pair *pair)
{
	return soft_lane_at(worker, worker->exact->soft->blocks.at[pair->block].at, pair->lane);
}

static struct soft_lane soft_contact_point(const struct soft_lane *lane, uint32_t point)
{
	return soft_lane_after(lane, LANES_SOFT_BLOCK_FIELDS + point * LANES_SOFT_POINT_FIELDS);
}

/* --- impulses ----------------------------------------------------------------------------------------------------- */

struct soft_memory { /* of a pair in the step before */
	struct soft_impulse of[PHYSICS_CONTACTS_MAX];
	uint32_t count;
	uint64_t used; /* bits */
};

/* In the axes of the first body that moves, from its centre of mass. */
static struct vec3 soft_contact_place(const struct worker *worker, const struct contact_row *row)
{
	const struct body_at_hand *hand = worker_hand(worker, row->bodies[exact_moves(worker, row->bodies[0]) ? 0 : 1]);
	return quat_rotate(quat_conj(hand->q), vec3_sub(row->at, hand->p));
}

/* The impulse that was nearest, and that no other point has. */
static struct vec3 soft_contact_recall(struct soft_memory *memory, struct vec3 place)
{
	double near = SOFT_NEAR * SOFT_NEAR;
	uint32_t best = SCENE_NONE;
	for (uint32_t i = 0; i < memory->count; i++) {
		const float *at = memory->of[i].numbers;
		struct vec3 d = vec3_sub(place, (struct vec3){at[0], at[1], at[2]});
		if (!(memory->used >> i & 1) && vec3_dot(d, d) < near) {
			near = vec3_dot(d, d);
			best = i;
		}
	}
	if (best == SCENE_NONE)
		return (struct vec3){0, 0, 0};
	memory->used |= UINT64_C(1) << best;
	const float *impulse = memory->of[best].numbers + 3;
	return (struct vec3){impulse[0], impulse[1], impulse[2]};
}

/* --- filling lanes ------------------------------------------------------------------------------------------------ */

/* A rigid contact is as stiff as a substep allows. The stiffness and the damping of another are those of which
 * contact_row.erp and .softness are a step: force = depth stiffness - rate damping. */
static void soft_contact_fill_stiffness(
	const struct soft *soft, const struct soft_lane *point, const struct contact_row *row, double dt)
{
	const double damped = 2 * SOFT_DAMPING + SOFT_STIFFNESS;
	double depth = row->overlap, rate = SOFT_STIFFNESS / (soft->h * damped), give = -1 / (SOFT_STIFFNESS * damped),
	       push = row->push == SDF_SURFACE_MAX_VEL ? soft->class->push : row->push;
	if (row->spring) {
		double stiffness = row->erp / (dt * row->softness), damping = (1 - row->erp) / row->softness;
		double resists = stiffness * soft->h + damping;
		depth = depth < 0 ? depth : row->depth;
		rate = stiffness / resists;
		give = 1 / (soft->h * resists);
		push = LANES_SOFT_ENDLESS;
	}
	soft_set(point, LANES_SOFT_DEPTH, depth);
	soft_set(point, LANES_SOFT_RATE, rate);
	soft_set(point, LANES_SOFT_GIVE, give);
	soft_set(point, LANES_SOFT_PUSH, push);
}

static void soft_contact_fill_surface(
	const struct soft *soft, const struct soft_lane *point, const struct contact_row *row)
{
	bool turned = row->bodies[0] == SCENE_NONE; /* see contact_set_motion() of contact.c */
	for (uint32_t k = 0; k < 2; k++) {
		soft_set(point, LANES_SOFT_FRICTION + k, fmin(row->mu[k], 1e100));
		soft_set(point, LANES_SOFT_WANTED + k, turned && !k ? -row->motion[k] : row->motion[k]);
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

static void soft_contact_fill_point(struct worker *worker, const struct soft_pair *pair, const struct soft_lane *point,
	const struct contact_row *row, struct soft_memory *memory)
{
	struct vec3 first = row->first;
	if (first.x == 0 && first.y == 0 && first.z == 0)
		first = exact_any_direction(row->normal);
	soft_set3(point, LANES_SOFT_NORMAL, row->normal);
	soft_set3(point, LANES_SOFT_FIRST, first);
	if (pair->bodies[0])
		soft_set3(point, LANES_SOFT_ARM_A, vec3_sub(row->at, worker_hand(worker, row->bodies[0])->p));
	if (pair->bodies[1])
		soft_set3(point, LANES_SOFT_ARM_B, vec3_sub(row->at, worker_hand(worker, row->bodies[1])->p));
	struct vec3 impulse = soft_contact_recall(memory, soft_contact_place(worker, row));
	soft_set(point, LANES_SOFT_IMPULSE, fmax(vec3_dot(impulse, row->normal), 0));
	soft_set(point, LANES_SOFT_IMPULSE + 1, vec3_dot(impulse, first));
	soft_set(point, LANES_SOFT_IMPULSE + 2, vec3_dot(impulse, vec3_cross(row->normal, first)));
}

static void soft_contact_fill(struct worker *worker, const struct soft_pair *pair, double dt)
{
	struct soft *soft = worker->exact->soft;
	struct lanes_soft_block *block = &soft->blocks.at[pair->block];
	struct soft_lane lane = soft_contact_lane(worker, pair);
	struct soft_memory memory;
	memory.used = 0;
	memory.count = soft_recall(
		worker, pair->owner, soft_contact_key(&soft->rows.at[pair->row]), memory.of, ARRAY_LEN(memory.of));
	soft_set_body(soft, &lane, LANES_SOFT_MASS_A, pair->bodies[0]);
	soft_set_body(soft, &lane, LANES_SOFT_MASS_B, pair->bodies[1]);
	for (uint32_t i = 0; i < pair->count; i++) {
		const struct contact_row *row = &soft->rows.at[pair->row + i];
		struct soft_lane point = soft_contact_point(&lane, i);
		soft_contact_fill_point(worker, pair, &point, row, &memory);
		soft_contact_fill_stiffness(soft, &point, row, dt);
		soft_contact_fill_surface(soft, &point, row);
		block->bounces |= row->bounces;
		block->resists |= row->resists;
	}
}

void soft_fill_contacts(struct worker *worker, double dt)
{
	const struct soft *soft = worker->exact->soft;
	for (uint32_t i = 0; i < soft->pairs.count; i++)
		soft_contact_fill(worker, &soft->pairs.at[i], dt);
}

/* --- results ------------------------------------------------------------------------------------------------------ */

static struct vec3 soft_contact_sum(const struct soft_lane *point, uint32_t field)
{
	struct vec3 n = soft_of3(point, LANES_SOFT_NORMAL), first = soft_of3(point, LANES_SOFT_FIRST);
	struct vec3 along = soft_of3(point, field);
	struct vec3 sum = vec3_add(vec3_scale(n, along.x),
		vec3_add(vec3_scale(first, along.y), vec3_scale(vec3_cross(n, first), along.z)));
	return (struct vec3){sum.x + 0.0, sum.y + 0.0, sum.z + 0.0}; /* zeros have no sign: see soft.c */
}

/* Observers of forces know only the contacts that touch, so the nearest of them in the pair gets the impulse. */
static void soft_contact_note(struct worker *worker, const struct contact_row *near, uint32_t root, struct vec3 impulse)
{
	struct exact *exact = worker->exact;
	const struct contact_row *rows = worker->rows_of_contacts.at;
	uint32_t best = SCENE_NONE;
	double least = INFINITY;
	if (vec3_dot(impulse, impulse) == 0) /* most of those that do not touch: the search is long */
		return;
	for (uint32_t r = exact->parts.at[root].row_first; r != SCENE_NONE; r = exact->row_next.at[r]) {
		struct vec3 d = vec3_sub(rows[r].at, near->at);
		if (soft_contact_key(&rows[r]) != soft_contact_key(near) || vec3_dot(d, d) >= least)
			continue;
		least = vec3_dot(d, d);
		best = r;
	}
	if (best != SCENE_NONE)
		exact->contact_impulses.at[best] = vec3_add(exact->contact_impulses.at[best], impulse);
}

/* What presses on a body holds it, even where the two are apart by less than can be seen. */
static void soft_contact_note_held(struct worker *worker, const struct contact_row *row)
{
	for (uint32_t end = 0; end < 2; end++)
		if (row->bodies[end] != SCENE_NONE)
			worker->instances[worker->scene->bodies[row->bodies[end]].model]->touched = true;
}

static void soft_contact_keep(
	struct worker *worker, const struct soft_pair *pair, const struct contact_row *row, struct vec3 impulse)
{
	struct vec3 place = soft_contact_place(worker, row);
	const struct soft_impulse kept = {soft_contact_key(row),
		{(float)place.x, (float)place.y, (float)place.z, (float)impulse.x, (float)impulse.y, (float)impulse.z}};
	soft_keep(worker, pair->owner, &kept);
}

static void soft_contact_store(struct worker *worker, const struct soft_pair *pair)
{
	struct soft *soft = worker->exact->soft;
	bool observed = worker->observe & (OBSERVE_JOINTS | OBSERVE_FORCES);
	struct soft_lane lane = soft_contact_lane(worker, pair);
	for (uint32_t i = 0; i < pair->count; i++) {
		const struct contact_row *row = &soft->rows.at[pair->row + i];
		struct soft_lane point = soft_contact_point(&lane, i);
		soft_contact_keep(worker, pair, row, soft_contact_sum(&point, LANES_SOFT_IMPULSE));
		if (soft_of(&point, LANES_SOFT_IMPULSE) > 0)
			soft_contact_note_held(worker, row);
		if (observed)
			soft_contact_note(worker, row, soft->islands.at[pair->island].root,
				soft_contact_sum(&point, LANES_SOFT_SUM));
	}
}

void soft_store_contacts(struct worker *worker)
{
	const struct soft *soft = worker->exact->soft;
	for (uint32_t i = 0; i < soft->pairs.count; i++)
		if (soft->islands.at[soft->pairs.at[i].island].sane)
			soft_contact_store(worker, &soft->pairs.at[i]);
}
