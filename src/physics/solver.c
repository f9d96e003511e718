/* Chooses one of ODE's two steppers for an island. An island is a set of bodies that joints and contacts of this step
 * connect: the finest partition there is. It is a function of state k alone, so the size of the group around it does
 * not matter. */
#include "physics/exact.h"
#include "physics/internal.h"

static uint32_t solver_root_of(struct worker *worker, uint32_t body)
{
	uint32_t *island = worker->island;
	while (island[body] != body)
		body = island[body] = island[island[body]];
	return body;
}

bool solver_has(const struct worker *worker, uint32_t body)
{
	return body != SCENE_NONE && (!worker->exact || exact_is_left(worker, body));
}

/* For ODE an island goes on beyond a kinematic body. So islands that are left and touch the same one are one island. */
static bool solver_reaches(const struct worker *worker, uint32_t body)
{
	return solver_has(worker, body) || (body != SCENE_NONE && worker->scene->bodies[body].kinematic);
}

static void solver_join_two(struct worker *worker, struct island_join joined)
{
	if (!solver_has(worker, joined.a) && !solver_has(worker, joined.b))
		return;
	if (!solver_reaches(worker, joined.a))
		joined.a = SCENE_NONE;
	if (!solver_reaches(worker, joined.b))
		joined.b = SCENE_NONE;
	uint32_t a = joined.a == SCENE_NONE ? SCENE_NONE : solver_root_of(worker, joined.a);
	uint32_t b = joined.b == SCENE_NONE ? SCENE_NONE : solver_root_of(worker, joined.b);
	if (a == SCENE_NONE || (b != SCENE_NONE && b < a)) {
		uint32_t swap = a;
		a = b;
		b = swap;
	}
	worker->island_rows[a] += joined.rows;
	if (b != SCENE_NONE && b != a) {
		worker->island[b] = a;
		worker->island_rows[a] += worker->island_rows[b];
	}
}

static void solver_join_joint(struct worker *worker, uint32_t index)
{
	const struct scene_joint *joint = &worker->scene->joints[index];
	solver_join_two(worker, (struct island_join){joint->parent, joint->child, joint_rows(worker->scene, index)});
}

static void solver_list_bodies(struct worker *worker)
{
	worker->bodies.count = 0;
	for (uint32_t g = 0; g < worker->ode_world->groups.count; g++) {
		const struct group *group = group_at_hand(worker, g);
		for (uint32_t i = 0; i < group->members.count && !group->alone; i++) {
			const struct scene_model *m = &worker->scene->models[group->members.at[i]];
			for (uint32_t b = m->body_first; b < m->body_first + m->body_count; b++)
				if (group->in_ode && solver_reaches(worker, b))
					vec_push(&worker->bodies, b);
		}
	}
}

static void solver_join_added(struct worker *worker, const struct scene_model *m)
{
	for (uint32_t b = m->body_first; b < m->body_first + m->body_count; b++)
		if (worker->scene->bodies[b].added)
			solver_join_two(
				worker, (struct island_join){b, SCENE_NONE, worker->scene->bodies[b].added->row_count});
}

static void solver_join_joints(struct worker *worker, const struct group *group)
{
	for (uint32_t i = 0; i < group->members.count; i++) {
		const struct scene_model *m = &worker->scene->models[group->members.at[i]];
		for (uint32_t j = m->joint_first; j < m->joint_first + m->joint_count; j++)
			solver_join_joint(worker, j);
		if (group->in_ode && worker->instances[group->members.at[i]]->has_added)
			solver_join_added(worker, m);
	}
	for (uint32_t i = 0; i < group->world_joints.count; i++)
		solver_join_joint(worker, group->world_joints.at[i].index);
	for (uint32_t i = 0; i < group->attachments.count; i++)
		solver_join_two(worker, (struct island_join){group->attachments.at[i].bodies[0],
						group->attachments.at[i].bodies[1], ATTACHMENT_ROWS});
}

static void solver_number_islands(struct worker *worker, bool keep_lost)
{
	solver_list_bodies(worker);
	for (uint32_t i = 0; i < worker->bodies.count; i++) {
		uint32_t b = worker->bodies.at[i];
		worker->island[b] = b;
		worker->island_rows[b] = 0;
		worker->island_lost[b] &= keep_lost;
	}
	for (uint32_t g = 0; g < worker->ode_world->groups.count; g++)
		solver_join_joints(worker, group_at_hand(worker, g));
	for (uint32_t i = 0; i < worker->joins.count; i++)
		solver_join_two(worker, worker->joins.at[i]);
	for (uint32_t c = 0; c < worker->couplings.count; c++)
		for (uint32_t i = 1; i < worker->couplings.at[c].count; i++)
			solver_join_two(worker, (struct island_join){worker->couplings.at[c].body[0],
							worker->couplings.at[c].body[i], 0});
}

void solver_find_islands(struct worker *worker)
{
	solver_number_islands(worker, worker->pass.again);
}

void solver_forget_lost(struct worker *worker)
{
	solver_number_islands(worker, false);
}

uint32_t solver_island(struct worker *worker, uint32_t body)
{
	return solver_root_of(worker, body);
}

void solver_begin(struct worker *worker, struct solver_pass pass)
{
	worker->pass = pass;
	worker->joins.count = 0;
	worker->rows_most = 0;
}

void solver_begin_group(struct worker *worker, const struct group *group)
{
	worker->rows = 0;
	for (uint32_t i = 0; i < group->members.count; i++)
		worker->rows += worker->instances[group->members.at[i]]->joint_rows;
	for (uint32_t i = 0; i < group->world_joints.count; i++)
		worker->rows += joint_rows(worker->scene, group->world_joints.at[i].index);
	worker->rows += group->attachments.count * ATTACHMENT_ROWS;
}

void solver_join(struct worker *worker, uint32_t body_a, uint32_t body_b, uint32_t rows)
{
	vec_push(&worker->joins, (struct island_join){body_a, body_b, rows});
	worker->rows += rows;
}

void solver_end_group(struct worker *worker, struct group *group)
{
	group->rows = worker->rows;
	worker->rows_most = MAX(worker->rows_most, worker->rows);
}

/* The exact solver's worst case grows with the cube of the rows: with PHYSICS_EXACT_ROWS_MOST it takes about a second.
 */
uint32_t physics_exact_rows(const struct physics_options *options)
{
	switch (options->solver) {
	case PHYSICS_SOLVER_WORLD:
		return PHYSICS_EXACT_ROWS_MOST;
	case PHYSICS_SOLVER_QUICK:
		return 0;
	default:
		return options->exact_rows_max ? options->exact_rows_max : PHYSICS_EXACT_ROWS;
	}
}

uint32_t physics_lanes_rows(const struct scene *scene, uint32_t model)
{
	const struct scene_model *m = &scene->models[model];
	uint32_t rows = added_rows(scene, model);
	for (uint32_t i = 0; i < m->joint_count; i++) {
		const struct scene_joint *joint = &scene->joints[m->joint_first + i];
		rows += joint->axis_count + scene_joint_couplings(joint);
	}
	return rows;
}

uint32_t physics_rows(const struct scene *scene, uint32_t model)
{
	const struct scene_model *m = &scene->models[model];
	uint32_t rows = added_rows(scene, model);
	for (uint32_t i = 0; i < m->joint_count; i++)
		rows += joint_rows(scene, m->joint_first + i);
	return rows;
}

static uint32_t solver_exact_rows_max(const struct worker *worker)
{
	return physics_exact_rows(&worker->owner->options);
}

static bool solver_is_exact(const struct worker *worker, uint32_t root)
{
	return !worker->island_lost[root] && worker->owner->options.solver != PHYSICS_SOLVER_QUICK &&
	       worker->island_rows[root] <= solver_exact_rows_max(worker);
}

/* Only islands with an enabled body are stepped by ODE. Beside lanes a kinematic body is never one with which ODE
 * begins, because the order of an island's bodies would depend on it: ODE enables it when it reaches it. */
static void solver_enable(struct worker *worker, bool (*which)(struct worker *worker, uint32_t root, uint32_t argument),
	uint32_t argument)
{
	for (uint32_t i = 0; i < worker->bodies.count; i++) {
		dBodyID body = instance_body(worker->owner, worker->bodies.at[i]);
		if (solver_has(worker, worker->bodies.at[i]) &&
			which(worker, solver_root_of(worker, worker->bodies.at[i]), argument))
			dBodyEnable(body);
		else
			dBodyDisable(body);
	}
}

/* Bodies of islands that lanes have solved are not stepped. ODE itself enables what an island reaches. */
static void solver_enable_left(const struct worker *worker)
{
	for (uint32_t g = 0; g < worker->ode_world->groups.count; g++) {
		const struct group *group = group_at_hand(worker, g);
		for (uint32_t i = 0; group->in_ode && i < group->members.count; i++) {
			const struct scene_model *m = &worker->scene->models[group->members.at[i]];
			for (uint32_t b = m->body_first; b < m->body_first + m->body_count; b++)
				if (exact_is_left(worker, b))
					dBodyEnable(instance_body(worker->owner, b));
				else
					dBodyDisable(instance_body(worker->owner, b));
		}
	}
}

static bool solver_any(struct worker *worker, uint32_t root, uint32_t unused)
{
	(void)worker, (void)root, (void)unused;
	return true;
}

static bool solver_of_kind(struct worker *worker, uint32_t root, uint32_t exact)
{
	return solver_is_exact(worker, root) == (exact != 0);
}

static bool solver_this_one(struct worker *worker, uint32_t root, uint32_t island)
{
	(void)worker;
	return root == island;
}

/* When no group has more rows than the limit, no island has, so islands need not be examined. */
static bool solver_all_exact(const struct worker *worker)
{
	if (worker->pass.again || worker->exact)
		return false;
	return worker->owner->options.solver != PHYSICS_SOLVER_QUICK &&
	       worker->rows_most <= solver_exact_rows_max(worker);
}

static void solver_step_by_island(struct worker *worker, double dt)
{
	bool found[2] = {false, false};
	solver_number_islands(worker, worker->pass.again);
	if (worker->exact)
		solver_enable_left(worker);
	for (uint32_t i = 0; i < worker->bodies.count; i++)
		if (solver_has(worker, worker->bodies.at[i]))
			found[solver_is_exact(worker, solver_root_of(worker, worker->bodies.at[i]))] = true;
	for (uint32_t exact = 0; exact < 2; exact++) {
		if (!found[exact])
			continue;
		if (found[!exact])
			solver_enable(worker, solver_of_kind, exact);
		if (exact)
			dWorldStep(worker->ode_world->id, dt);
		else
			dWorldQuickStep(worker->ode_world->id, dt);
	}
	if (found[0] && found[1])
		solver_enable(worker, solver_any, 0);
}

static void solver_step_alone(struct worker *worker, double dt)
{
	solver_number_islands(worker, true);
	if (worker->exact)
		solver_enable_left(worker);
	solver_enable(worker, solver_this_one, worker->pass.alone);
	dWorldStep(worker->ode_world->id, dt);
	solver_enable(worker, solver_any, 0);
}

bool solver_step(struct worker *worker, double dt)
{
	(void)ode_take_lost();
	if (worker->pass.alone != SCENE_NONE)
		solver_step_alone(worker, dt);
	else if (solver_all_exact(worker))
		dWorldStep(worker->ode_world->id, dt);
	else
		solver_step_by_island(worker, dt);
	bool lost = ode_take_lost(), last = worker->pass.again && worker->pass.alone == SCENE_NONE;
	return !lost || last;
}

bool solver_is_sane(struct worker *worker, uint32_t root)
{
	bool sane = true;
	for (uint32_t i = 0; i < worker->bodies.count; i++)
		if (solver_root_of(worker, worker->bodies.at[i]) == root)
			sane = sane && instance_sane(instance_body(worker->owner, worker->bodies.at[i]));
	return sane;
}

bool solver_next_exact(struct worker *worker, uint32_t *i, uint32_t *ret_root)
{
	for (; *i < worker->bodies.count; ++*i) {
		uint32_t body = worker->bodies.at[*i];
		if (solver_root_of(worker, body) != body || !solver_is_exact(worker, body))
			continue;
		*ret_root = body;
		return true;
	}
	return false;
}

void solver_set_lost(struct worker *worker, uint32_t root, bool lost)
{
	worker->island_lost[root] = lost;
}
