/* Which of ODE's two steppers an island gets. An island is a set of bodies that joints and contacts of this very step
 * connect: the finest partition there is, and a function of state k alone, however large the group around it is. */
#include "physics/internal.h"

static uint32_t root_of(struct physics *physics, uint32_t body)
{
	uint32_t *island = physics->island;
	while (island[body] != body)
		body = island[body] = island[island[body]];
	return body;
}

void solver_begin(struct physics *physics, const struct group *group)
{
	for (uint32_t i = 0; i < group->members.count; i++) {
		const struct scene_model *m = &physics->scene->models[group->members.at[i]];
		for (uint32_t b = m->body_first; b < m->body_first + m->body_count; b++) {
			physics->island[b] = b;
			physics->island_rows[b] = 0;
		}
	}
	for (uint32_t i = 0; i < group->members.count; i++) {
		const struct scene_model *m = &physics->scene->models[group->members.at[i]];
		for (uint32_t j = m->joint_first; j < m->joint_first + m->joint_count; j++)
			solver_join(physics, physics->scene->joints[j].parent, physics->scene->joints[j].child,
				joint_rows(physics, j));
	}
	for (uint32_t i = 0; i < group->world_joints.count; i++) {
		uint32_t j = group->world_joints.at[i].index;
		solver_join(physics, physics->scene->joints[j].parent, physics->scene->joints[j].child,
			joint_rows(physics, j));
	}
}

void solver_join(struct physics *physics, uint32_t body_a, uint32_t body_b, uint32_t rows)
{
	uint32_t a = body_a == SCENE_NONE ? SCENE_NONE : root_of(physics, body_a);
	uint32_t b = body_b == SCENE_NONE ? SCENE_NONE : root_of(physics, body_b);
	if (a == SCENE_NONE || (b != SCENE_NONE && b < a)) {
		uint32_t swap = a;
		a = b;
		b = swap;
	}
	physics->island_rows[a] += rows;
	if (b != SCENE_NONE && b != a) {
		physics->island[b] = a;
		physics->island_rows[a] += physics->island_rows[b];
	}
}

static bool exact_for(const struct physics *physics, uint32_t rows)
{
	switch (physics->options.solver) {
	case PHYSICS_SOLVER_WORLD:
		return true;
	case PHYSICS_SOLVER_QUICK:
		return false;
	default:
		return rows <= physics->options.exact_rows_max;
	}
}

/* ODE steps islands that have an enabled body, and only those. */
static void enable_only(struct physics *physics, const struct group *group, bool exact)
{
	for (uint32_t i = 0; i < group->members.count; i++) {
		const struct scene_model *m = &physics->scene->models[group->members.at[i]];
		for (uint32_t b = m->body_first; b < m->body_first + m->body_count; b++) {
			dBodyID body = instance_body(physics, b);
			if (exact_for(physics, physics->island_rows[root_of(physics, b)]) == exact)
				dBodyEnable(body);
			else
				dBodyDisable(body);
		}
	}
}

static void enable_all(struct physics *physics, const struct group *group)
{
	for (uint32_t i = 0; i < group->members.count; i++) {
		const struct scene_model *m = &physics->scene->models[group->members.at[i]];
		for (uint32_t b = m->body_first; b < m->body_first + m->body_count; b++)
			dBodyEnable(instance_body(physics, b));
	}
}

void solver_step(struct physics *physics, struct group *group, double dt)
{
	bool any[2] = {false, false};
	for (uint32_t i = 0; i < group->members.count; i++) {
		const struct scene_model *m = &physics->scene->models[group->members.at[i]];
		for (uint32_t b = m->body_first; b < m->body_first + m->body_count; b++)
			if (root_of(physics, b) == b)
				any[exact_for(physics, physics->island_rows[b])] = true;
	}
	for (int exact = 0; exact < 2; exact++) {
		if (!any[exact])
			continue;
		if (any[!exact])
			enable_only(physics, group, exact);
		if (exact)
			dWorldStep(group->world, dt);
		else
			dWorldQuickStep(group->world, dt);
	}
	if (any[0] && any[1])
		enable_all(physics, group);
}
