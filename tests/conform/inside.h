/* For programs of this folder that read the state of the first world itself, and not only its snapshots. */
#ifndef CONFORM_INSIDE_H
#define CONFORM_INSIDE_H

#include "server/internal.h" /* before the harness, which has a variable called server */

#include "run/primary_internal.h"

#include "harness.h"

static inline const struct state *state(void)
{
	return server->worlds[0].primary->shared->state;
}

static inline void steps(uint32_t count)
{
	struct troupe_limits limits = {.iterations = server->worlds[0].primary->lockstep.number + count};
	struct troupe_error error;
	cr_assert_eq(troupe_server_run(server, &limits, &error), TROUPE_OK, "%s", error.text);
}

static inline uint32_t body_of(const char *model, const char *link)
{
	const struct scene *scene = state()->scene;
	uint32_t l = scene_find_link(scene, scene_find_model(scene, model), link);
	cr_assert(l != SCENE_NONE, "%s::%s", model, link);
	return scene->links[l].body;
}

static inline const struct body_state *body(const char *model, const char *link)
{
	return state_body(state(), body_of(model, link), false);
}

/* Also of the joints that stand in the world itself. */
static inline uint32_t joint(const char *model, const char *name)
{
	const struct scene *scene = state()->scene;
	uint32_t j = scene_find_joint(scene, scene_find_model(scene, model), name);
	for (uint32_t i = 0; j == SCENE_NONE && i < scene->world_joints.count; i++)
		if (!strcmp(scene->joints[scene->world_joints.at[i]].name, name))
			j = scene->world_joints.at[i];
	cr_assert(j != SCENE_NONE, "%s::%s", model, name);
	return j;
}

static inline double position(const char *model, const char *name, uint32_t axis)
{
	return state_joint(state(), joint(model, name), false)->position[axis];
}

static inline void expect_vector(const char *what, struct vec3 measured, double x, double y, double z, double tolerance)
{
	expect(what, measured.x, x, tolerance);
	expect(what, measured.y, y, tolerance);
	expect(what, measured.z, z, tolerance);
}

#endif
