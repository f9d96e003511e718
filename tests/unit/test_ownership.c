/* A world changes at random, step after step. The table of ownership looks only at changes; its assignment must be that
 * of a policy that sees the whole world in every step. */
#include "../random.h"
#include "run/ownership.h"

#include "joined.h"
#include "run/step.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(ownership, .timeout = 120);

enum { MODELS = 24, CARGO = 16, LEVELS = 6 }; /* models from index CARGO on belong to levels */

struct world {
	struct scene scene;
	struct scene_model models[MODELS];
	struct scene_level levels[LEVELS];
	uint32_t named[LEVELS][MODELS];
	struct tracker tracker;
	bool active[MODELS], loaded[LEVELS], is_mover[MODELS], entered[MODELS];
	uint32_t model_pin[MODELS], level_pin[LEVELS];
	bool linked[MODELS][MODELS];
	struct ownership ownership;
	uint32_t secondaries;
	uint64_t seed;

	/* the policy that sees the whole world */
	struct joined joined;
	struct assignment now;
	struct assign_scratch scratch;
	uint32_t model[MODELS], level[LEVELS], home[MODELS], component_of[MODELS];
};

static void make(struct world *world, uint64_t seed)
{
	*world = (struct world){.seed = seed};
	world->secondaries = 1 + random_below(&world->seed, 4);
	world->scene = (struct scene){.models = world->models,
		.model_count = MODELS,
		.levels = world->levels,
		.level_count = LEVELS,
		.room = {.models = MODELS}};
	for (uint32_t l = 0; l < LEVELS; l++)
		world->levels[l].models = world->named[l];
	for (uint32_t m = 0; m < MODELS; m++) {
		uint32_t level = m < CARGO ? SCENE_NONE : random_below(&world->seed, LEVELS);
		world->models[m] = (struct scene_model){.performer = m < CARGO, .level = level, .body_count = 1};
		world->is_mover[m] = m < CARGO;
		world->active[m] = m < CARGO && random_below(&world->seed, 3);
		if (level != SCENE_NONE)
			world->named[level][world->levels[level].model_count++] = m;
		if (!random_below(&world->seed, 12))
			world->model_pin[m] = random_below(&world->seed, world->secondaries) + 1;
	}
	tracker_init(&world->tracker, &world->scene);
	ownership_init(&world->ownership, world->secondaries, LEVELS, assign_policies);
	ownership_fit(&world->ownership, MODELS);
	ownership_reset(&world->ownership);
	world->now = (struct assignment){world->model, world->level, world->home, world->component_of, 0};
}

static void destroy(struct world *world)
{
	tracker_fini(&world->tracker);
	ownership_fini(&world->ownership);
	joined_fini(&world->joined);
	assign_scratch_fini(&world->scratch);
}

/* --- what happens ------------------------------------------------------------------------------------------------- */

static bool holds(const bvh_values *levels, uint32_t level)
{
	return indices_has(levels, level);
}

/* Levels are loaded while a performer is near; their cargo comes with them. */
static void load_levels(struct world *world)
{
	for (uint32_t l = 0; l < LEVELS; l++) {
		bool loaded = world->tracker.near_count[l] > 0;
		if (loaded == world->loaded[l])
			continue;
		world->loaded[l] = loaded;
		ownership_mark_level(&world->ownership, l);
		for (uint32_t i = 0; i < world->levels[l].model_count; i++) {
			world->active[world->named[l][i]] = loaded;
			ownership_mark(&world->ownership, world->named[l][i]);
		}
	}
}

static void set_near(struct world *world, uint32_t model, uint32_t level, uint32_t how)
{
	struct tracked *performer = &world->tracker.performers.at[world->tracker.performer_of[model]];
	bool in = how > 1, near = how > 0;
	world->tracker.in_count[level] += (uint32_t)in - holds(&performer->in, level);
	world->tracker.near_count[level] += (uint32_t)near - holds(&performer->near, level);
	if (in && !holds(&performer->in, level)) {
		world->entered[model] = true;
		ownership_entered(&world->ownership, model);
	}
	(in ? indices_add : indices_remove)(&performer->in, level);
	(near ? indices_add : indices_remove)(&performer->near, level);
	ownership_mark(&world->ownership, model);
}

static void cut_all(struct world *world, uint32_t model)
{
	for (uint32_t m = 0; m < MODELS; m++)
		if (world->linked[m][model]) {
			world->linked[m][model] = world->linked[model][m] = false;
			ownership_cut(&world->ownership, m, model);
		}
}

static void set_active(struct world *world, uint32_t model, bool active)
{
	for (uint32_t l = 0; l < LEVELS && !active; l++)
		set_near(world, model, l, 0);
	world->active[model] = active;
	ownership_mark(&world->ownership, model);
}

static void touch(struct world *world, uint32_t a, uint32_t b, bool on)
{
	if (a == b || !world->active[a] || !world->active[b] || world->linked[a][b] == on)
		return;
	world->linked[a][b] = world->linked[b][a] = on;
	(on ? ownership_link : ownership_cut)(&world->ownership, a, b);
}

static void happen(struct world *world)
{
	uint32_t model = random_below(&world->seed, CARGO), kind = random_below(&world->seed, 20);
	if (kind == 0) {
		set_active(world, model, !world->active[model]);
	} else if (kind == 1) {
		world->model_pin[model] = random_below(&world->seed, 2)
						  ? random_below(&world->seed, world->secondaries + 1)
						  : ASSIGN_NONE;
		ownership_mark(&world->ownership, model);
	} else if (kind < 8) {
		touch(world, random_below(&world->seed, MODELS), random_below(&world->seed, MODELS),
			random_below(&world->seed, 3) == 0);
	} else if (world->active[model]) {
		set_near(world, model, random_below(&world->seed, LEVELS), random_below(&world->seed, 3));
	}
}

/* --- the other way ------------------------------------------------------------------------------------------------ */

static uint32_t lowest_near(const struct world *world, uint32_t level)
{
	for (uint32_t p = 0; p < world->tracker.performers.count; p++)
		if (holds(&world->tracker.performers.at[p].near, level))
			return world->tracker.performers.at[p].model;
	return UINT32_MAX;
}

static uint32_t join_all(struct world *world)
{
	joined_begin(&world->joined, MODELS, LEVELS);
	for (uint32_t p = 0; p < world->tracker.performers.count; p++) {
		const struct tracked *performer = &world->tracker.performers.at[p];
		for (uint32_t i = 0; i < performer->in.count; i++)
			joined_level(&world->joined, performer->model, performer->in.at[i]);
	}
	for (uint32_t m = CARGO; m < MODELS; m++)
		if (world->active[m])
			joined_level(&world->joined, m, world->models[m].level);
	for (uint32_t m = 0; m < MODELS; m++)
		for (uint32_t other = 0; other < m; other++)
			if (world->linked[m][other])
				joined_models(&world->joined, m, other);
	return joined_finish(&world->joined, world->active, world->loaded);
}

static void assign_all(struct world *world)
{
	bool has_performer[LEVELS];
	uint32_t near[LEVELS];
	for (uint32_t l = 0; l < LEVELS; l++) {
		has_performer[l] = world->tracker.in_count[l] > 0;
		near[l] = has_performer[l] ? UINT32_MAX : lowest_near(world, l);
	}
	struct assign_input input = {
		.secondaries = world->secondaries,
		.model_count = MODELS,
		.level_count = LEVELS,
		.component_count = join_all(world),
		.model_component = world->joined.model_component,
		.level_component = world->joined.level_component,
		.model_is_mover = world->is_mover,
		.model_entered = world->entered,
		.level_has_performer = has_performer,
		.level_near = near,
		.model_pin = world->model_pin,
		.level_pin = world->level_pin,
	};
	cr_assert(assign_round_robin(&input, &world->now, &world->scratch));
}

static void check(struct world *world, uint64_t seed, uint32_t k)
{
	const struct assignment *now = &world->ownership.now;
	for (uint32_t m = 0; m < MODELS; m++)
		cr_assert(now->model[m] == world->model[m] && now->home[m] == world->home[m],
			"seed %u, step %u: model %u is on %u, its home %u: expected %u and %u", (unsigned)seed, k, m,
			now->model[m], now->home[m], world->model[m], world->home[m]);
	for (uint32_t l = 0; l < LEVELS; l++)
		cr_assert_eq(now->level[l], world->level[l], "seed %u, step %u: level %u is on %u: expected %u",
			(unsigned)seed, k, l, now->level[l], world->level[l]);
}

static void step(struct world *world)
{
	const struct ownership_input view = {
		.scene = &world->scene,
		.tracker = &world->tracker,
		.active = world->active,
		.loaded = world->loaded,
		.is_mover = world->is_mover,
		.model_pin = world->model_pin,
		.level_pin = world->level_pin,
	};
	ownership_find(&world->ownership, &view);
	ownership_commit(&world->ownership);
	assign_all(world);
	memset(world->entered, 0, sizeof world->entered);
}

Test(ownership, assigns_as_if_it_saw_all_in_every_step)
{
	uint32_t steps = 0, small = 0, moves = 0;
	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct world world;
		make(&world, seed);
		uint32_t busy = 1 + random_below(&world.seed, 6);
		for (uint32_t k = 0; k < 150; k++) {
			for (uint32_t i = 0; i < busy && k; i++)
				happen(&world);
			for (uint32_t m = 0; m < CARGO; m++)
				if (!world.active[m])
					cut_all(&world, m);
			load_levels(&world);
			for (uint32_t m = CARGO; m < MODELS; m++)
				if (!world.active[m])
					cut_all(&world, m);
			if (!world.ownership.dirty)
				continue;
			step(&world);
			check(&world, seed, k);
			steps++;
			small += world.ownership.part.models.count < MODELS / 2;
			for (uint32_t i = 0; i < world.ownership.models.count; i++)
				moves += world.ownership.models.at[i].from && world.ownership.models.at[i].to;
		}
		destroy(&world);
	}
	cr_assert(small > steps / 2, "%u of %u steps looked at less than half of the world", small, steps);
	cr_assert(moves > 10000, "%u moves in %u steps", moves, steps);
}
