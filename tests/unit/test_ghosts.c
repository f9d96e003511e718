/* Performers wander among levels whose secondaries change at random. The ghosts found from the marked models alone
 * must be those found by looking at all models. */
#include "../random.h"
#include "run/ghosts.h"

#include <criterion/criterion.h>

TestSuite(ghosts, .timeout = 60);

enum { MODELS = 70, LEVELS = 9, STEPS = 300 }; /* more models than a word of marks has bits */

struct world {
	struct scene scene;
	struct scene_model models[MODELS];
	struct scene_level levels[LEVELS];
	struct tracker tracker;
	struct ghosts ghosts;
	struct assignment now;
	uint32_t model[MODELS], level[LEVELS];
	struct vec3 at[MODELS];
	uint64_t seed;
};

/* Three by three levels of 10 m, with buffers that overlap. */
static void make(struct world *world, uint64_t seed)
{
	*world = (struct world){.seed = seed};
	world->scene = (struct scene){.models = world->models,
		.model_count = MODELS,
		.levels = world->levels,
		.level_count = LEVELS,
		.room = {.models = MODELS}};
	for (uint32_t l = 0; l < LEVELS; l++) {
		struct vec3 middle = {10.0 * (l % 3), 10.0 * (l / 3), 0};
		world->levels[l].box = aabb_around(middle, (struct vec3){10, 10, 10});
		world->levels[l].outer = aabb_grow(world->levels[l].box, 1.5);
	}
	for (uint32_t m = 0; m < MODELS; m++)
		world->models[m] =
			(struct scene_model){.performer = random_below(&world->seed, 8) > 0, .volume = {1, 1, 1}};
	tracker_init(&world->tracker, &world->scene);
	ghosts_fit(&world->ghosts, MODELS);
	world->now = (struct assignment){.model = world->model, .level = world->level};
}

static void move(struct world *world, uint32_t model)
{
	world->at[model] =
		(struct vec3){random_below(&world->seed, 300) * 0.1 - 5, random_below(&world->seed, 300) * 0.1 - 5, 0};
	if (tracker_look(&world->tracker, world->tracker.performer_of[model], world->at[model]))
		ghosts_mark(&world->ghosts, model);
}

static void enlist(struct world *world, uint32_t model)
{
	if (world->tracker.performer_of[model] == SCENE_NONE) {
		tracker_add(&world->tracker, model);
		move(world, model);
	} else {
		tracker_remove(&world->tracker, model);
	}
	ghosts_mark(&world->ghosts, model);
}

static void reset(struct world *world)
{
	tracker_reset(&world->tracker);
	ghosts_mark_all(&world->ghosts);
	for (uint32_t m = 0; m < MODELS; m++)
		if (world->tracker.performer_of[m] != SCENE_NONE && random_below(&world->seed, 2))
			move(world, m);
}

static void happen(struct world *world)
{
	uint32_t model = random_below(&world->seed, MODELS), level = random_below(&world->seed, LEVELS),
		 what = random_below(&world->seed, 40);
	if (what < 24 && world->tracker.performer_of[model] != SCENE_NONE) {
		move(world, model);
	} else if (what < 30) {
		world->model[model] = random_below(&world->seed, 4);
		ghosts_mark(&world->ghosts, model);
	} else if (what < 36) {
		world->level[level] = random_below(&world->seed, 4);
		ghosts_mark_around(&world->ghosts, &world->tracker, level);
	} else if (what < 39) {
		enlist(world, model);
	} else {
		reset(world);
	}
}

static bool should_know(const struct world *world, uint32_t model, uint32_t secondary)
{
	uint32_t performer = world->tracker.performer_of[model];
	if (performer == SCENE_NONE || world->model[model] == secondary)
		return false;
	const bvh_values *near = &world->tracker.performers.at[performer].near;
	for (uint32_t i = 0; i < near->count; i++)
		if (world->level[near->at[i]] == secondary)
			return true;
	return false;
}

static void compare(const struct world *world)
{
	uint32_t at = 0;
	for (uint32_t m = 0; m < MODELS; m++)
		for (uint32_t s = 1; s < 4; s++) {
			if (!should_know(world, m, s))
				continue;
			cr_assert_lt(at, world->ghosts.now.count, "%u of secondary %u is missing", m, s);
			cr_assert_eq(world->ghosts.now.at[at].model, m);
			cr_assert_eq(world->ghosts.now.at[at++].secondary, s);
		}
	cr_assert_eq(at, world->ghosts.now.count);
}

/* A performer in a level goes where the level goes. In this test it need not, so that there are many ghosts. */
static void include_inside(struct world *world, uint32_t level)
{
	for (uint32_t m = 0; m < MODELS; m++)
		if (world->tracker.performer_of[m] != SCENE_NONE &&
			indices_has(&world->tracker.performers.at[world->tracker.performer_of[m]].in, level))
			ghosts_mark(&world->ghosts, m);
}

Test(ghosts, what_is_marked_is_enough)
{
	uint64_t most = 0;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct world world;
		make(&world, seed);
		for (uint32_t step = 0; step < STEPS; step++) {
			uint32_t levels[LEVELS];
			memcpy(levels, world.level, sizeof levels);
			for (uint32_t i = random_below(&world.seed, 4); i > 0; i--)
				happen(&world);
			for (uint32_t l = 0; l < LEVELS; l++)
				if (levels[l] != world.level[l])
					include_inside(&world, l);
			ghosts_find(&world.ghosts, &world.tracker, &world.now);
			compare(&world);
			most = MAX(most, world.ghosts.now.count);
		}
		tracker_fini(&world.tracker);
		ghosts_fini(&world.ghosts);
	}
	cr_assert_gt(most, 20u, "there are too few ghosts");
}

Test(ghosts, nothing_marked_is_nothing_found)
{
	struct world world;
	make(&world, 1);
	cr_assert_not(ghosts_find(&world.ghosts, &world.tracker, &world.now));
	ghosts_mark(&world.ghosts, 3);
	cr_assert(ghosts_find(&world.ghosts, &world.tracker, &world.now));
	cr_assert_not(ghosts_find(&world.ghosts, &world.tracker, &world.now));
	tracker_fini(&world.tracker);
	ghosts_fini(&world.ghosts);
}
