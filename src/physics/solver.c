/* Which of ODE's two steppers an island gets. An island is a set of bodies that joints and contacts of this step
 * connect: the finest partition there is. It is a function of state k alone, so the size of the group around it does
 * not matter. */
#include "physics/internal.h"

static uint32_t root_of(struct physics *physics, uint32_t body)
{
	uint32_t *island = physics->island;
	while (island[body] != body)
		body = island[body] = island[island[body]];
	return body;
}

static void join(struct physics *physics, struct island_join joined)
{
	uint32_t a = joined.a == SCENE_NONE ? SCENE_NONE : root_of(physics, joined.a);
	uint32_t b = joined.b == SCENE_NONE ? SCENE_NONE : root_of(physics, joined.b);
	if (a == SCENE_NONE || (b != SCENE_NONE && b < a)) {
		uint32_t swap = a;
		a = b;
		b = swap;
	}
	physics->island_rows[a] += joined.rows;
	if (b != SCENE_NONE && b != a) {
		physics->island[b] = a;
		physics->island_rows[a] += physics->island_rows[b];
	}
}

static void join_joint(struct physics *physics, uint32_t index)
{
	const struct scene_joint *joint = &physics->scene->joints[index];
	join(physics, (struct island_join){joint->parent, joint->child, joint_rows(physics, index)});
}

static void list_bodies(struct physics *physics)
{
	physics->bodies.count = 0;
	for (uint32_t g = 0; g < physics->world->groups.count; g++) {
		const struct group *group = group_at_hand(physics, g);
		for (uint32_t i = 0; i < group->members.count; i++) {
			const struct scene_model *m = &physics->scene->models[group->members.at[i]];
			for (uint32_t b = m->body_first; b < m->body_first + m->body_count; b++)
				vec_push(&physics->bodies, b);
		}
	}
}

static void join_joints(struct physics *physics, const struct group *group)
{
	for (uint32_t i = 0; i < group->members.count; i++) {
		const struct scene_model *m = &physics->scene->models[group->members.at[i]];
		for (uint32_t j = m->joint_first; j < m->joint_first + m->joint_count; j++)
			join_joint(physics, j);
	}
	for (uint32_t i = 0; i < group->world_joints.count; i++)
		join_joint(physics, group->world_joints.at[i].index);
}

static void find_islands(struct physics *physics, bool keep_lost)
{
	list_bodies(physics);
	for (uint32_t i = 0; i < physics->bodies.count; i++) {
		uint32_t b = physics->bodies.at[i];
		physics->island[b] = b;
		physics->island_rows[b] = 0;
		physics->island_lost[b] &= keep_lost;
	}
	for (uint32_t g = 0; g < physics->world->groups.count; g++)
		join_joints(physics, group_at_hand(physics, g));
	for (uint32_t i = 0; i < physics->joins.count; i++)
		join(physics, physics->joins.at[i]);
	for (uint32_t c = 0; c < physics->couplings.count; c++)
		for (uint32_t i = 1; i < physics->couplings.at[c].count; i++)
			join(physics, (struct island_join){
					      physics->couplings.at[c].body[0], physics->couplings.at[c].body[i], 0});
}

void solver_find_islands(struct physics *physics)
{
	find_islands(physics, physics->pass.again);
}

void solver_forget_lost(struct physics *physics)
{
	find_islands(physics, false);
}

uint32_t solver_island(struct physics *physics, uint32_t body)
{
	return root_of(physics, body);
}

void solver_begin(struct physics *physics, struct solver_pass pass)
{
	physics->pass = pass;
	physics->joins.count = 0;
	physics->rows_most = 0;
}

void solver_begin_group(struct physics *physics, const struct group *group)
{
	physics->rows = 0;
	for (uint32_t i = 0; i < group->members.count; i++)
		physics->rows += physics->instances[group->members.at[i]]->joint_rows;
	for (uint32_t i = 0; i < group->world_joints.count; i++)
		physics->rows += joint_rows(physics, group->world_joints.at[i].index);
}

void solver_join(struct physics *physics, uint32_t body_a, uint32_t body_b, uint32_t rows)
{
	vec_push(&physics->joins, (struct island_join){body_a, body_b, rows});
	physics->rows += rows;
}

void solver_end_group(struct physics *physics, struct group *group)
{
	group->rows = physics->rows;
	physics->rows_most = MAX(physics->rows_most, physics->rows);
}

/* The exact solver's worst case grows with the cube of the rows: with PHYSICS_EXACT_ROWS_MOST it takes about a second.
 */
static uint32_t exact_rows_max(const struct physics *physics)
{
	switch (physics->options.solver) {
	case PHYSICS_SOLVER_WORLD:
		return PHYSICS_EXACT_ROWS_MOST;
	case PHYSICS_SOLVER_QUICK:
		return 0;
	default:
		return physics->options.exact_rows_max;
	}
}

static bool is_exact(const struct physics *physics, uint32_t root)
{
	return !physics->island_lost[root] && physics->options.solver != PHYSICS_SOLVER_QUICK &&
	       physics->island_rows[root] <= exact_rows_max(physics);
}

/* Only islands with an enabled body are stepped by ODE. */
static void enable(struct physics *physics, bool (*which)(struct physics *physics, uint32_t root, uint32_t argument),
	uint32_t argument)
{
	for (uint32_t i = 0; i < physics->bodies.count; i++) {
		dBodyID body = instance_body(physics, physics->bodies.at[i]);
		if (which(physics, root_of(physics, physics->bodies.at[i]), argument))
			dBodyEnable(body);
		else
			dBodyDisable(body);
	}
}

static bool any(struct physics *physics, uint32_t root, uint32_t unused)
{
	(void)physics, (void)root, (void)unused;
	return true;
}

static bool of_kind(struct physics *physics, uint32_t root, uint32_t exact)
{
	return is_exact(physics, root) == (exact != 0);
}

static bool this_one(struct physics *physics, uint32_t root, uint32_t island)
{
	(void)physics;
	return root == island;
}

/* When no group has more rows than the limit, no island has, so islands need not be examined. */
static bool all_exact(const struct physics *physics)
{
	if (physics->pass.again)
		return false;
	return physics->options.solver != PHYSICS_SOLVER_QUICK && physics->rows_most <= exact_rows_max(physics);
}

static void step_by_island(struct physics *physics, double dt)
{
	bool found[2] = {false, false};
	find_islands(physics, physics->pass.again);
	for (uint32_t i = 0; i < physics->bodies.count; i++)
		if (root_of(physics, physics->bodies.at[i]) == physics->bodies.at[i])
			found[is_exact(physics, physics->bodies.at[i])] = true;
	for (uint32_t exact = 0; exact < 2; exact++) {
		if (!found[exact])
			continue;
		if (found[!exact])
			enable(physics, of_kind, exact);
		if (exact)
			dWorldStep(physics->world->id, dt);
		else
			dWorldQuickStep(physics->world->id, dt);
	}
	if (found[0] && found[1])
		enable(physics, any, 0);
}

static void step_alone(struct physics *physics, double dt)
{
	find_islands(physics, true);
	enable(physics, this_one, physics->pass.alone);
	dWorldStep(physics->world->id, dt);
	enable(physics, any, 0);
}

bool solver_step(struct physics *physics, double dt)
{
	(void)ode_take_lost();
	if (physics->pass.alone != SCENE_NONE)
		step_alone(physics, dt);
	else if (all_exact(physics))
		dWorldStep(physics->world->id, dt);
	else
		step_by_island(physics, dt);
	bool lost = ode_take_lost(), last = physics->pass.again && physics->pass.alone == SCENE_NONE;
	return !lost || last;
}

bool solver_is_sane(struct physics *physics, uint32_t root)
{
	bool sane = true;
	for (uint32_t i = 0; i < physics->bodies.count; i++)
		if (root_of(physics, physics->bodies.at[i]) == root)
			sane = sane && instance_sane(instance_body(physics, physics->bodies.at[i]));
	return sane;
}

bool solver_next_exact(struct physics *physics, uint32_t *i, uint32_t *ret_root)
{
	for (; *i < physics->bodies.count; ++*i) {
		uint32_t body = physics->bodies.at[*i];
		if (root_of(physics, body) != body || !is_exact(physics, body))
			continue;
		*ret_root = body;
		return true;
	}
	return false;
}

void solver_set_lost(struct physics *physics, uint32_t root, bool lost)
{
	physics->island_lost[root] = lost;
}
