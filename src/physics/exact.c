/* Islands, and their ways through the lanes. Islands of one shape wait until the lanes of a batch are full, or until
 * all islands of the ODE world at hand are listed. A lane's result does not depend on its neighbours, so none of this
 * changes a bit.
 *
 * Which islands are solved exactly is decided from the island alone: all whose shape is within the limits, and on which
 * the solver does not fail. The others are piles (soft.c), or are left to ODE (solver.c). */
#include "physics/exact_internal.h"
#include "physics/shared_lanes.h"

#include "base/hash.h"
#include "base/math.h"

#include <stdlib.h>
#include <string.h>

struct exact *exact_create(uint32_t lanes)
{
	struct exact *exact = mem_alloc(sizeof *exact);
	exact->soft = soft_create();
	exact->kernel = lanes ? lanes_kernel_of(lanes) : lanes_kernel_best();
	return exact;
}

bool physics_has_lanes(uint32_t lanes)
{
	return !lanes || lanes_kernel_of(lanes);
}

static void exact_give_batch_back(struct exact *exact, struct exact_shape *shape)
{
	vec_push(&exact->spare, shape->batch);
	shape->batch = (struct exact_memory){0};
	shape->waiting = 0;
}

static void exact_forget_waiting(struct exact *exact)
{
	for (uint32_t i = 0; i < exact->busy.count; i++) {
		struct exact_shape *shape = &exact->shapes.at[exact->busy.at[i]];
		if (shape->waiting)
			exact_give_batch_back(exact, shape);
		shape->busy = false;
	}
	exact->busy.count = 0;
}

/* When none waits. */
static void exact_forget_shapes(struct exact *exact)
{
	for (uint32_t i = 0; i < exact->shapes.count; i++) {
		lanes_shape_destroy(exact->shapes.at[i].shape);
	}
	exact->shapes.count = 0;
	memset(exact->table, 0, sizeof exact->table);
}

void exact_destroy(struct exact *exact)
{
	if (!exact)
		return;
	exact_forget_waiting(exact);
	exact_forget_shapes(exact);
	soft_destroy(exact->soft);
	vec_free(&exact->shapes);
	vec_free(&exact->busy);
	vec_free(&exact->parts);
	vec_free(&exact->laws);
	vec_free(&exact->row_next);
	vec_free(&exact->law_impulses);
	vec_free(&exact->link_impulses);
	vec_free(&exact->contact_impulses);
	free(exact->note_of);
	free(exact->work.at);
	free(exact->narrow.at);
	for (uint32_t i = 0; i < exact->spare.count; i++)
		free(exact->spare.at[i].at);
	vec_free(&exact->spare);
	free(exact->part);
	free(exact->place);
	free(exact);
}

/* --- parts ----------------------------------------------------------------------------------------------------------
 */

static void exact_fit_room(struct worker *worker)
{
	struct exact *exact = worker->exact;
	uint32_t room = worker->room.bodies;
	MEM_FIT(exact->part, exact->room, room);
	MEM_FIT(exact->place, exact->room, room);
	exact->room = room;
}

static void exact_add_part(struct worker *worker, const struct assembly *assembly, double dt)
{
	struct exact *exact = worker->exact;
	uint32_t index = exact->parts.count;
	struct exact_part part = {.assembly = assembly,
		.law_first = exact->laws.count,
		.root = index,
		.next = SCENE_NONE,
		.row_first = SCENE_NONE};
	for (uint32_t i = 0; i < assembly->count; i++) {
		exact->part[assembly->bodies[i]] = index;
		exact->place[assembly->bodies[i]] = i;
	}
	struct axis_law *laws = vec_append(&exact->laws, assembly->axes.count);
	for (uint32_t i = 0; i < assembly->axes.count; i++)
		joint_law(worker->owner, assembly->axes.at[i].joint, assembly->axes.at[i].axis, dt, &laws[i]);
	part.link_row_first = exact->link_rows;
	for (uint32_t i = 0; i < assembly->links.count; i++)
		exact->link_rows += assembly->links.at[i].key.equal_rows;
	vec_push(&exact->parts, part);
}

uint32_t exact_root(struct exact *exact, uint32_t part)
{
	struct exact_part *parts = exact->parts.at;
	while (parts[part].root != part)
		part = parts[part].root = parts[parts[part].root].root;
	return part;
}

bool exact_moves(const struct worker *worker, uint32_t body)
{
	return body != SCENE_NONE && !worker->scene->bodies[body].kinematic;
}

void exact_join(struct worker *worker, uint32_t body_a, uint32_t body_b)
{
	struct exact *exact = worker->exact;
	if (!exact_moves(worker, body_a) || !exact_moves(worker, body_b))
		return;
	uint32_t a = exact_root(exact, exact->part[body_a]), b = exact_root(exact, exact->part[body_b]);
	exact->parts.at[MAX(a, b)].root = MIN(a, b);
}

/* Lists parts and contacts by island, each ascending. */
static void exact_list_islands(struct worker *worker)
{
	struct exact *exact = worker->exact;
	const struct contact_row *rows = worker->rows_of_contacts.at;
	uint32_t count = worker->rows_of_contacts.count;
	for (uint32_t i = 0; i < count; i++)
		exact_join(worker, rows[i].bodies[0], rows[i].bodies[1]);
	soft_join(worker);
	for (uint32_t i = exact->parts.count; i-- > 0;) {
		uint32_t root = exact_root(exact, i);
		if (root == i)
			continue;
		exact->parts.at[i].next = exact->parts.at[root].next;
		exact->parts.at[root].next = i;
	}
	exact->row_next.count = 0;
	(void)vec_append(&exact->row_next, count);
	for (uint32_t i = count; i-- > 0;) {
		uint32_t body = rows[i].bodies[exact_moves(worker, rows[i].bodies[0]) ? 0 : 1];
		if (!exact_moves(worker, body)) {
			exact->row_next.at[i] = SCENE_NONE;
			continue;
		}
		struct exact_part *root = &exact->parts.at[exact_root(exact, exact->part[body])];
		exact->row_next.at[i] = root->row_first;
		root->row_first = i;
	}
}

/* --- shapes ---------------------------------------------------------------------------------------------------------
 */

static void exact_key_bodies(struct exact *exact, const struct exact_part *part)
{
	const struct assembly *assembly = part->assembly;
	const struct axis_law *laws = exact->laws.at + part->law_first;
	uint32_t axis = 0;
	for (uint32_t i = 0; i < assembly->count; i++) {
		struct lanes_key_body body = assembly->keys[i];
		if (body.parent >= 0)
			body.parent = (int16_t)(body.parent + (int)part->body_first);
		for (; axis < assembly->axis_count && assembly->axes.at[axis].body == i; axis++)
			body.law |= (laws[axis].row ? 1u : 0u) << assembly->axes.at[axis].dof;
		lanes_key_add_body(&exact->key, &body);
	}
}

static uint32_t exact_link_laws(
	const struct exact *exact, const struct exact_part *part, const struct assembly_link *link)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < link->axes; i++)
		count += exact_has_link_law(&exact->laws.at[part->law_first + link->law_first + i]);
	return count;
}

static void exact_key_links(struct exact *exact, const struct exact_part *part)
{
	const struct assembly *assembly = part->assembly;
	for (uint32_t i = 0; i < assembly->links.count; i++) {
		struct lanes_key_link key = assembly->links.at[i].key;
		for (uint32_t k = 0; k < key.body_count; k++)
			key.bodies[k] = (int16_t)(key.bodies[k] + (int)part->body_first);
		for (uint32_t k = 0; k < key.dof_count; k++)
			key.dofs[k] = (int16_t)(key.dofs[k] + (int)part->dof_first);
		key.law_rows = exact_link_laws(exact, part, &assembly->links.at[i]);
		lanes_key_add_link(&exact->key, &key);
	}
}

static int16_t exact_place_of(const struct worker *worker, uint32_t body)
{
	const struct exact *exact = worker->exact;
	if (!exact_moves(worker, body))
		return LANES_GROUND;
	return (int16_t)(exact->place[body] + exact->parts.at[exact->part[body]].body_first);
}

/* False: the island is too large for a key. */
static bool exact_make_key(struct worker *worker, uint32_t root)
{
	struct exact *exact = worker->exact;
	uint32_t bodies = 0, dofs = 0;
	exact->jointed = false;
	lanes_key_begin(&exact->key);
	for (uint32_t p = root; p != SCENE_NONE; p = exact->parts.at[p].next) {
		struct exact_part *part = &exact->parts.at[p];
		if (part->assembly->large || bodies + part->assembly->count > LANES_BODIES_MAX)
			return false;
		part->body_first = bodies;
		part->dof_first = dofs;
		bodies += part->assembly->count;
		exact->jointed |= part->assembly->count > 1 || part->assembly->keys[0].joint != LANES_FREE ||
				  part->assembly->links.count;
		dofs += part->assembly->dof_count;
		exact_key_bodies(exact, part);
	}
	for (uint32_t p = root; p != SCENE_NONE; p = exact->parts.at[p].next)
		exact_key_links(exact, &exact->parts.at[p]);
	for (uint32_t r = exact->parts.at[root].row_first; r != SCENE_NONE; r = exact->row_next.at[r]) {
		const struct contact_row *row = &worker->rows_of_contacts.at[r];
		int16_t a = exact_place_of(worker, row->bodies[0]), b = exact_place_of(worker, row->bodies[1]);
		bool turned = a == LANES_GROUND;
		lanes_key_add_slot(&exact->key, &(struct lanes_key_slot){turned ? b : a, turned ? a : b, row->resists});
	}
	return lanes_key_end(&exact->key);
}

/* The shape of exact.key; valid until the next shape is made. */
static struct exact_shape *exact_find_shape(struct exact *exact)
{
	uint32_t mask = (1u << EXACT_TABLE_BITS) - 1, at = (uint32_t)exact->key.hash & mask;
	for (; exact->table[at]; at = (at + 1) & mask) {
		struct exact_shape *shape = &exact->shapes.at[exact->table[at] - 1];
		if (lanes_key_is_equal(shape->shape->key, &exact->key))
			return shape;
	}
	vec_push(&exact->shapes, (struct exact_shape){.shape = lanes_shape_create(&exact->key)});
	exact->table[at] = exact->shapes.count;
	return &exact->shapes.at[exact->shapes.count - 1];
}

/* --- batches --------------------------------------------------------------------------------------------------------
 */

void exact_leave(struct worker *worker, uint32_t root, enum physics_left why)
{
	struct exact *exact = worker->exact;
	worker->left_count[why]++;
	for (uint32_t p = root; p != SCENE_NONE; p = exact->parts.at[p].next)
		exact->parts.at[p].left = true;
	exact->left++;
}

double *exact_fit(struct exact_memory *memory, size_t groups, uint32_t lanes)
{
	size_t bytes = groups * lanes * sizeof(double);
	if (bytes > memory->bytes) {
		free(memory->at);
		memory->bytes = 2 * bytes;
		memory->at = mem_alloc_lines(memory->bytes);
	}
	return memory->at;
}

static void exact_take_batch(struct exact *exact, struct exact_shape *shape)
{
	if (exact->spare.count)
		shape->batch = exact->spare.at[--exact->spare.count];
	(void)exact_fit(&shape->batch, shape->shape->batch_count, exact->lanes);
	if (!shape->busy)
		vec_push(&exact->busy, (uint32_t)(shape - exact->shapes.at));
	shape->busy = true;
}

/* Where there are few islands, their batches are narrow from the start. */
static void exact_choose_lanes(struct exact *exact)
{
	uint32_t islands = 0;
	for (uint32_t i = 0; i < exact->parts.count && islands < exact->kernel->lanes; i++)
		islands += exact->parts.at[i].root == i;
	exact->lanes = lanes_kernel_narrowest(exact->kernel, islands)->lanes;
}

/* Islands that wait, in a batch of other lanes; lanes without an island get the first one's. */
static inline void exact_spread(
	const double *from, uint32_t from_lanes, uint32_t waiting, double *to, uint32_t to_lanes, size_t groups)
{
	for (size_t i = 0; i < groups; i++, from += from_lanes, to += to_lanes)
		for (uint32_t l = 0; l < to_lanes; l++)
			to[l] = from[l < waiting ? l : 0];
}

/* The same of a batch of two lanes, for the first of which an island waits. */
static void exact_double(double *batch, size_t groups)
{
#pragma GCC unroll 4
	for (size_t i = 0; i < groups; i++)
		batch[2 * i + 1] = batch[2 * i];
}

/* The input of a batch in lanes for that kernel, with islands in all of them. */
static double *exact_narrow(struct exact *exact, const struct exact_shape *shape, const struct lanes_kernel *kernel)
{
	const uint32_t from = exact->lanes, to = kernel->lanes;
	const size_t groups = shape->shape->in_count;
	if (from == to && shape->waiting == to)
		return shape->batch.at;
	double *narrow = from == to ? shape->batch.at : exact_fit(&exact->narrow, shape->shape->batch_count, to);
	if (shape->waiting == 1 && from == LANES_LEAST) /* a robot alone */
		exact_double(shape->batch.at, groups);
	else if (shape->waiting == 1 && to == LANES_LEAST) /* as constants they cost half */
		exact_spread(shape->batch.at, from, 1, narrow, LANES_LEAST, groups);
	else
		exact_spread(shape->batch.at, from, shape->waiting, narrow, to, groups);
	return narrow;
}

/* What steps an island that the exact solver gives up. For ODE the joints of the forest are rows. */
enum exact_else { EXACT_ELSE_SOFT, EXACT_ELSE_ODE, EXACT_ELSE_NOTHING };

static enum exact_else exact_else_of(const struct worker *worker, const struct lanes_shape *shape)
{
	int held = 6 * shape->body_count - shape->dof_count;
	if (!held && !shape->law_count && !shape->equal_count)
		return EXACT_ELSE_SOFT;
	return held + shape->row_count <= (int)physics_exact_rows(&worker->owner->options) ? EXACT_ELSE_ODE
											   : EXACT_ELSE_NOTHING;
}

/* Whether the world names the solver of ODE that the island gets when it is not solved exactly here. */
static bool exact_is_asked_of_ode(const struct worker *worker, uint32_t root)
{
	const struct physics_options *options = &worker->owner->options;
	uint32_t rows = 0;
	if (options->solver != PHYSICS_SOLVER_WORLD)
		return options->solver == PHYSICS_SOLVER_QUICK;
	for (uint32_t r = worker->exact->parts.at[root].row_first; r != SCENE_NONE; r = worker->exact->row_next.at[r])
		rows += 3;
	return rows <= physics_exact_rows(options);
}

/* Whether islands wait for those of other worlds. A world with many robots fills most lanes by itself, and one
 * that is left in the middle of a step is less in the caches afterwards: with twelve robots that costs more than it
 * saves. */
static bool exact_shares(const struct worker *worker, const struct exact_shape *shape)
{
	return worker->owner->awake.count <= worker->exact->kernel->lanes / 2 && shared_lanes_pay(shape->waiting);
}

/* Where the results of a batch are: see struct shared_result. batch: NULL: the worker's own memory. */
static struct shared_result exact_solve(
	const struct worker *worker, const struct exact_shape *shape, const struct lanes_step *step)
{
	struct exact *exact = worker->exact;
	if (exact_shares(worker, shape))
		return shared_lanes_step(
			&(struct shared_islands){shape->shape, shape->batch.at, exact->lanes, shape->waiting}, step);
	const struct lanes_kernel *kernel = lanes_kernel_narrowest(exact->kernel, shape->waiting);
	double *batch = exact_narrow(exact, shape, kernel);
	kernel->step(shape->shape, step, batch, exact_fit(&exact->work, shape->shape->work_count, kernel->lanes));
	return (struct shared_result){batch, kernel->lanes, NULL};
}

static void exact_run(struct worker *worker, struct exact_shape *shape, double dt)
{
	struct exact *exact = worker->exact;
	const enum exact_else way = exact_else_of(worker, shape->shape);
	const struct lanes_step step = {
		dt, worker->scene->sdf->physics.erp, way == EXACT_ELSE_NOTHING ? EXACT_ROUNDS_MOST : EXACT_ROUNDS};
	const struct shared_result result = exact_solve(worker, shape, &step);
	for (uint32_t l = 0; l < shape->waiting; l++) {
		const struct exact_lane lane = {shape->shape, result.at + l, result.stride, shape->roots[l]};
		uint64_t failed;
		memcpy(&failed, &result.at[(size_t)shape->shape->failed_at * result.stride + l], sizeof failed);
		if (!failed && exact_store(worker, &lane, dt))
			worker->exact_count++;
		else if (way != EXACT_ELSE_ODE && !exact_is_asked_of_ode(worker, shape->roots[l]) &&
			 soft_covers(worker, shape->roots[l]))
			soft_add(worker, shape->roots[l]);
		else
			exact_leave(worker, shape->roots[l], PHYSICS_LEFT_UNSOLVED);
	}
	if (result.batch)
		shared_lanes_take(result.batch);
	exact_give_batch_back(exact, shape);
}

static void exact_run_all(struct worker *worker, double dt)
{
	struct exact *exact = worker->exact;
	for (uint32_t i = 0; i < exact->busy.count; i++) {
		struct exact_shape *shape = &exact->shapes.at[exact->busy.at[i]];
		if (shape->waiting)
			exact_run(worker, shape, dt);
		shape->busy = false;
	}
	exact->busy.count = 0;
}

/* Whether two contacts push a body in different directions. */
static bool exact_squeeze(const struct contact_row *a, const struct contact_row *b)
{
	double along = vec3_dot(a->normal, b->normal);
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t k = 0; k < 2; k++)
			if (a->bodies[i] != SCENE_NONE && a->bodies[i] == b->bodies[k] &&
				(i == k ? along : -along) < EXACT_ASTRIDE)
				return true;
	return false;
}

/* Whether some body is deep in others in different directions, by the first contacts that are so deep. */
static bool exact_is_stuck(const struct worker *worker, uint32_t root)
{
	const struct exact *exact = worker->exact;
	const struct contact_row *deep[EXACT_DEEP_MAX];
	uint32_t count = 0;
	for (uint32_t r = exact->parts.at[root].row_first; r != SCENE_NONE && count < EXACT_DEEP_MAX;
		r = exact->row_next.at[r]) {
		const struct contact_row *row = &worker->rows_of_contacts.at[r];
		if (row->overlap <= EXACT_DEPTH_MAX || row->spring)
			continue;
		for (uint32_t i = 0; i < count; i++)
			if (exact_squeeze(deep[i], row))
				return true;
		deep[count++] = row;
	}
	return false;
}

/* Whether the island of the key is solved exactly. One without joints is a pile: most of its rows are not independent,
 * and pivoting takes hundreds of rounds to find which of them hold. Where bodies are
 * stuck in each other no motion satisfies all rows, and an exact solution throws them about. */
static bool exact_takes(struct worker *worker, uint32_t root)
{
	const struct physics_options *options = &worker->owner->options;
	const uint32_t rows = worker->exact->key.rows, by_ode = physics_exact_rows(options);
	if (options->solver == PHYSICS_SOLVER_QUICK || (exact_is_stuck(worker, root) && soft_covers(worker, root)))
		return false;
	if (!worker->exact->jointed)
		return rows <= EXACT_PILE_ROWS && !soft_was_pile(worker, root);
	return rows <= by_ode;
}

static void exact_add_island(struct worker *worker, uint32_t root, double dt)
{
	struct exact *exact = worker->exact;
	if (!exact_make_key(worker, root) || !exact_takes(worker, root)) {
		bool asked = exact_is_asked_of_ode(worker, root);
		if (!asked && soft_covers(worker, root)) {
			soft_add(worker, root);
			return;
		}
		exact_leave(worker, root, asked ? PHYSICS_LEFT_ASKED : PHYSICS_LEFT_LARGE);
		return;
	}
	struct exact_shape *shape = exact_find_shape(exact);
	if (!shape->waiting && exact->busy.count == EXACT_WAITING_MAX)
		exact_run_all(worker, dt);
	if (!shape->waiting)
		exact_take_batch(exact, shape);
	const struct exact_lane lane = {shape->shape, shape->batch.at + shape->waiting, exact->lanes, root};
	exact_fill(worker, &lane, dt);
	shape->roots[shape->waiting++] = root;
	if (shape->waiting == exact->lanes)
		exact_run(worker, shape, dt);
}

static void exact_begin_impulses(struct worker *worker)
{
	struct exact *exact = worker->exact;
	exact->law_impulses.count = exact->link_impulses.count = exact->contact_impulses.count = 0;
	(void)vec_append(&exact->law_impulses, exact->laws.count);
	(void)vec_append(&exact->link_impulses, exact->link_rows);
	(void)vec_append(&exact->contact_impulses, worker->rows_of_contacts.count);
}

void exact_step(struct worker *worker, double dt)
{
	struct exact *exact = worker->exact;
	exact_fit_room(worker);
	exact_forget_waiting(exact); /* left over where ODE gave up */
	exact->parts.count = exact->laws.count = 0;
	exact->left = exact->link_rows = 0;
	soft_begin(worker);
	if (exact->shapes.count > EXACT_SHAPES_MAX)
		exact_forget_shapes(exact);
	for (uint32_t g = 0; g < worker->ode_world->groups.count; g++) {
		const struct group *group = group_at_hand(worker, g);
		for (uint32_t i = 0; i < group->assemblies.count; i++)
			exact_add_part(worker, group->assemblies.at[i], dt);
	}
	exact_list_islands(worker);
	exact_choose_lanes(exact);
	if (worker->observe & (OBSERVE_JOINTS | OBSERVE_FORCES))
		exact_begin_impulses(worker);
	for (uint32_t i = 0; i < exact->parts.count && !worker_abandons(worker); i++)
		if (exact->parts.at[i].root == i)
			exact_add_island(worker, i, dt);
	exact_run_all(worker, dt);
	soft_step(worker, dt);
}

uint32_t exact_left_count(const struct exact *exact)
{
	return exact->left;
}

bool exact_is_left(const struct worker *worker, uint32_t body)
{
	return worker->exact->left && exact_moves(worker, body) &&
	       worker->exact->parts.at[worker->exact->part[body]].left;
}
