/* The assignment and its changes for each secondary (run/placement.h), with levels, models, pairs and pins that change
 * at random: compared after each step with the definitions (plan_world.h). The levels and the pairs come from the
 * definitions, so that only the placement is tested. And the costs of models (run/cost.h). */
#include "plan_world.h"

#include "base/hash.h"

#include <criterion/criterion.h>
#include <stdlib.h>

TestSuite(placement, .timeout = 240);

static struct placement placement;
static struct loading loading; /* filled in from the definitions */
static bool away[MODELS];
static uint64_t samples;

static void begin(struct world *world, uint64_t seed)
{
	world_make(world, seed);
	placement_init(&placement, &world->shared, world->most, world->policy);
	placement.chaos = world->chaos;
	placement.chaos_seed = seed;
	placement_reset(&placement);
	world->placement = &placement;
	loading = (struct loading){.active = world->active, .loaded = world->loaded};
	loading.is_mover = mem_alloc(MODELS * sizeof *loading.is_mover);
}

static void end(struct world *world)
{
	free(loading.is_mover);
	placement_fini(&placement);
	world_destroy(world);
}

/* --- random changes ----------------------------------------------------------------------------------------------- */

static void performs(struct world *world, uint32_t m)
{
	struct scene_model *model = world_model(world, m);
	struct tracker *tracker = &world->shared.tracker;
	if (tracker->performer_of[m] != SCENE_NONE)
		tracker_remove(tracker, m);
	model->performer = !model->performer;
	model->level = model->performer ? SCENE_NONE : model->home_level;
	model->volume =
		(struct vec3){world_between(world, 0, 3), world_between(world, 0, 1), world_between(world, 0, 2)};
	if (model->performer)
		tracker_add(tracker, m);
	placement_crossed(&placement, m, false);
}

static void pinned(struct world *world, uint32_t m)
{
	world_model(world, m)->pin =
		world_below(world, world->most + 2); /* 0 and the number after the last secondary are no pins */
	placement_learn_pin(&placement, m);
	placement_mark(&placement, m);
}

/* A model is removed for one step, and another model comes in its place. */
static void replaced(struct world *world, uint32_t m)
{
	if (world_model(world, m)->performer)
		return;
	away[m] = true;
	for (uint32_t other = 0; other < MODELS; other++)
		if (world->until[MIN(m, other)][MAX(m, other)])
			placement_cut(&placement, MIN(m, other), MAX(m, other));
	world_forget_pairs(world, m);
	placement_forget(&placement, m);
}

static void happens(struct world *world)
{
	uint32_t m = world_below(world, MODELS), what = world_below(world, 40);
	if (what == 0)
		placement_use(&placement, 1 + world_below(world, world->most));
	else if (what < 5)
		pinned(world, m);
	else if (what < 10 && m < STATIC_FIRST && !away[m])
		performs(world, m);
	else if (what < 14)
		replaced(world, m);
	else
		world_put(world, m, world_anywhere(world));
}

/* --- what the other parts of the plan would say ------------------------------------------------------------------- */

static void look_at_all(struct world *world)
{
	struct tracker *tracker = &world->shared.tracker;
	for (uint32_t p = 0; p < tracker->performers.count; p++) {
		uint32_t m = tracker->performers.at[p].model;
		if (tracker_look(tracker, p, state_model_pose(world->shared.state, m, false).p))
			placement_crossed(&placement, m, tracker->performers.at[p].entered);
	}
}

/* Loads the levels as the definitions say; models of an unloaded level stay or go by chance. */
static void load(struct world *world)
{
	bool active[MODELS], loaded[LEVELS];
	memcpy(active, world->active, sizeof active);
	memcpy(loaded, world->loaded, sizeof loaded);
	world_must_be_near(world);
	world_must_be_loaded(world);
	for (uint32_t m = 0; m < MODELS; m++) {
		const struct scene_model *model = world_model(world, m);
		loading.is_mover[m] = world_moves_freely(world, m);
		bool outlives = !loading.is_mover[m] && world->active[m] && model->level != SCENE_NONE &&
				!world->loaded[model->level];
		world->active[m] = loading.is_mover[m] || (world->active[m] && !(outlives && !world_below(world, 20)));
		world->active[m] &= !away[m];
		if (world->active[m] != active[m])
			placement_mark(&placement, m);
	}
	for (uint32_t l = 0; l < LEVELS; l++)
		if (world->loaded[l] != loaded[l])
			placement_mark_level(&placement, l);
}

static bool pair(struct world *world)
{
	static uint64_t until[MODELS][MODELS];
	struct touch *touch = &world->shared.touch;
	uint32_t count = touch->pairs.count;
	bool changed = false;
	memcpy(until, world->until, sizeof until);
	world_must_touch(world);
	touch->pairs.count = 0;
	for (uint32_t a = 0; a < MODELS; a++)
		for (uint32_t b = a + 1; b < MODELS; b++) {
			if (!until[a][b] && world->until[a][b]) {
				placement_link(&placement, a, b);
				placement_meet(&placement, a, b);
			}
			if (until[a][b] && !world->until[a][b])
				placement_cut(&placement, a, b);
			changed |= (until[a][b] == UINT64_MAX) != (world->until[a][b] == UINT64_MAX);
			if (world->touching[a][b])
				vec_push(&touch->pairs, (struct touch_pair){a, b});
		}
	return changed || touch->pairs.count != count;
}

static void one_step(struct world *world)
{
	memset(away, 0, sizeof away);
	for (uint32_t i = world_below(world, 6) ? 0 : 1 + world_below(world, 3); i > 0; i--)
		happens(world);
	for (uint32_t m = 0; m < STATIC_FIRST; m++)
		if (world->active[m] && !world_below(world, 3))
			world_put(world, m,
				vec3_add(state_model_pose(world->shared.state, m, false).p,
					(struct vec3){
						world_between(world, -0.2, 0.2), world_between(world, -0.2, 0.2), 0}));
	if (placement_measures(&placement, world->k, 1)) {
		cost_learn(&world->shared.costs, world_below(world, MODELS), world_below(world, 1000000));
		samples++;
	}
	look_at_all(world);
	load(world);
	bool changed = pair(world);
	placement_step(&placement, &loading, changed, world->k);
	cr_assert_eq(placement.meetings, world->meetings, "step %d", (int)world->k);
	world_check_changes(world);
	world_check_components(world);
	world_check_ghosts(world);
	world_check_parts(world);
	world->k++;
}

Test(placement, is_what_follows_from_the_definitions)
{
	enum { SEEDS = 20, STEPS = 3000 };
	uint32_t components = 0, pins = 0;
	uint64_t moves = 0, meetings = 0;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		static struct world world;
		begin(&world, seed);
		while (world.k < STEPS)
			one_step(&world);
		components += world.components;
		pins += world.pinned;
		moves += placement.moves;
		meetings += placement.meetings;
		end(&world);
	}
	cr_assert(components > 1000 && pins > 1000 && moves > 500 && meetings > 50 && samples > 100,
		"%u in components, %u pinned, %d moves, %d meetings, %d samples", components, pins, (int)moves,
		(int)meetings, (int)samples);
}

/* A step with nothing to do changes nothing, whichever models it is asked about. */
Test(placement, a_step_without_changes_has_none)
{
	static struct world world;
	begin(&world, 3);
	placement.chaos = world.chaos = false;
	look_at_all(&world);
	load(&world);
	placement_step(&placement, &loading, pair(&world), 0);
	cr_assert_gt(placement.changes.count, 0);
	for (uint64_t k = 1; k < 300; k++) {
		placement_step(&placement, &loading, false, k);
		cr_assert(!placement.changes.count && !placement.events.count, "step %d", (int)k);
	}
	end(&world);
}

/* --- costs -------------------------------------------------------------------------------------------------------- */

Test(cost, is_smoothed_and_a_surge_counts_for_little)
{
	struct model_costs costs = {0};
	cost_fit(&costs, 3);
	cr_assert(costs.ns[0] == COST_UNKNOWN && costs.ns[2] == COST_UNKNOWN);
	cost_learn(&costs, 0, 1000);
	cr_assert_eq(costs.ns[0], 1000, "the first sample is taken as it is");
	cost_learn(&costs, 0, 2000);
	cr_assert_eq(costs.ns[0], 1250);
	cost_learn(&costs, 0, 1000000000);
	cr_assert_eq(costs.ns[0], (4 * 1250 + 3 * 1250) / 4);
	cost_set(&costs, 0, 0);
	cost_learn(&costs, 0, UINT64_MAX);
	cr_assert_eq(costs.ns[0], UINT32_MAX - 1, "a sample after sleep is taken as it is, but is never COST_UNKNOWN");
	cost_learn(&costs, 1, 0);
	cr_assert_eq(costs.ns[1], 1, "a model that was stepped has a cost above 0");
	cost_fit(&costs, 5);
	cr_assert(costs.ns[0] == UINT32_MAX - 1 && costs.ns[4] == COST_UNKNOWN);
	cost_forget(&costs, 0);
	cr_assert_eq(costs.ns[0], COST_UNKNOWN);
	/* sensors that measure in one step of ten cost a tenth in each */
	cost_learn_sensing(&costs, 0, 10, 10000);
	cr_assert_eq(costs.sense_ns[0], 1000);
	cost_learn_sensing(&costs, 0, 20, 20000);
	cr_assert_eq(costs.sense_ns[0], 1250, "smoothed: %u", costs.sense_ns[0]);
	cost_forget(&costs, 0);
	cr_assert_eq(costs.sense_ns[0], 0);
	cost_fini(&costs);
}

Test(cost, of_a_body_is_the_mean_of_what_was_measured)
{
	static struct world world;
	world_make(&world, 1);
	struct model_costs *costs = &world.shared.costs;
	const struct scene *scene = world.shared.scene;
	cr_assert_eq(cost_of_body(costs, scene, world.active), COST_BODY_NS, "nothing was measured");
	cost_set(costs, FREE_FIRST, 500);
	cost_set(costs, FREE_FIRST + 1, 1500);
	cost_set(costs, FREE_FIRST + 2, 0);    /* asleep */
	cost_set(costs, CARGO_FIRST, 1000000); /* not active */
	cr_assert_eq(cost_of_body(costs, scene, world.active), 1000);
	cost_set(costs, FREE_FIRST, UINT32_MAX - 1);
	cost_set(costs, FREE_FIRST + 1, UINT32_MAX - 1);
	cr_assert_eq(cost_of_body(costs, scene, world.active), UINT32_MAX / 2);
	world_destroy(&world);
}
