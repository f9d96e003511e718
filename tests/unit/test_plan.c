/* Calls the plan with random changes of a world, step after step. The plan looks only at changes; after each step its
 * answers are compared with answers derived from the definitions and the whole world (plan_world.h). The parts of the
 * plan have tests of their own: test_loading, test_pairs, test_dispatch. */
#include "plan_world.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(plan, .timeout = 240);

/* Answers that only the plan as a whole gives. */
struct more {
	bool unknown_cost[MODELS];
	uint32_t placed[MODELS]; /* loading.statics before the step */
	bool must_place[MODELS]; /* the static model must have another number */
	bool reset, begun;
};

static struct plan the_plan;
static struct more more;

static void set_up_plan(struct world *world, struct plan *plan, struct shared *shared)
{
	plan_init(plan, shared, world->most, world->policy);
	plan->placement.chaos = world->chaos;
	plan->placement.chaos_seed = 5;
}

static void listen_to(struct world *world, struct plan *plan)
{
	world->loading = &plan->loading;
	world->pairs = &plan->pairs;
	world->placement = &plan->placement;
}

static void make(struct world *world, uint64_t seed)
{
	world_make(world, seed);
	more = (struct more){0};
	set_up_plan(world, &the_plan, &world->shared);
	listen_to(world, &the_plan);
	for (uint32_t m = 0; m < MODELS; m++)
		more.placed[m] = the_plan.loading.statics[m];
}

static void destroy(struct world *world)
{
	plan_fini(&the_plan);
	world_destroy(world);
}

/* --- random changes ----------------------------------------------------------------------------------------------- */

static void removed(struct world *world, uint32_t m)
{
	scene_set_absent(world->shared.scene, m, true);
	plan_remove(&the_plan, m);
	world_must_leave(world, m);
	world_must_wake_in(world, world_box(world, m));
	world_forget_pairs(world, m);
	world->gone[m] = true;
}

static void returns(struct world *world, uint32_t m)
{
	struct scene_model *model = world_model(world, m);
	if (world_below(world, 2))
		world_put(world, m, world_anywhere(world));
	scene_set_absent(world->shared.scene, m, false);
	plan_add(&the_plan, m);
	world->active[m] = world_moves_freely(world, m) || (model->level != SCENE_NONE && world->loaded[model->level]);
	if (model->is_static)
		world_must_wake_in(world, world_box(world, m));
	more.must_place[m] = model->is_static;
	more.unknown_cost[m] = true;
}

static void placed(struct world *world, uint32_t m)
{
	struct vec3 to = world_anywhere(world),
		    by = {world_between(world, -0.2, 0.2), world_between(world, -0.2, 0.2), 0};
	uint32_t how = world_below(world, 4);
	if (how < 2) /* so little that its neighbours stay the same */
		to = vec3_add(state_model_pose(world->shared.state, m, false).p, by);
	else if (how == 2) /* beside another model */
		to = vec3_add(
			state_model_pose(world->shared.state, world_below(world, MODELS), false).p, vec3_scale(by, 5));
	world_must_wake_in(world, world_box(world, m));
	world_put(world, m, to);
	plan_placed(&the_plan, m);
	world_must_wake_in(world, world_box(world, m));
	world_must_wake(world, m);
	world->woken = world->gone[m] = true;
	more.must_place[m] |= world_model(world, m)->is_static;
}

static void performs(struct world *world, uint32_t m, bool performer)
{
	struct scene_model *model = world_model(world, m);
	model->performer = performer;
	model->level = performer ? SCENE_NONE : model->home_level;
	model->volume =
		(struct vec3){world_between(world, 0, 3), world_between(world, 0, 1), world_between(world, 0, 2)};
	if (!world_below(world, 6))
		model->pin =
			world_below(world, world->most + 2); /* 0 and the number after the last secondary are no pins */
	plan_performer(&the_plan, m);
	if (model->is_static && !performer)
		world_must_leave(world, m);
	else if (performer || model->level == SCENE_NONE)
		world->active[m] = true;
}

static void pushed(struct world *world, uint32_t m)
{
	plan_pushed(&the_plan, m);
	world_must_wake(world, m);
	world->woken = true;
}

static void wake_all(struct world *world)
{
	plan_wake_all(&the_plan);
	for (uint32_t m = 0; m < MODELS; m++)
		if (!world_model(world, m)->absent)
			world_must_wake(world, m);
}

static void resets(struct world *world)
{
	state_reset(world->shared.state);
	plan_reset(&the_plan);
	more.reset = true;
	for (uint32_t m = 0; m < MODELS; m++) {
		world->active[m] = world_moves_freely(world, m);
		world->still[m] = world_still(world, m);
	}
	memset(world->loaded, 0, sizeof world->loaded);
	memset(world->until, 0, sizeof world->until);
}

/* The plan of a resumed run: it unpacks the saved part and derives the rest, and wakes no model. */
static void resumes(struct world *world)
{
	static struct shared shared;
	struct plan plan;
	struct text text = {0};
	uint32_t pins[MODELS];
	plan_pack(&the_plan, &text);
	plan_pack_pins(&the_plan, &text);
	for (uint32_t m = 0; m < MODELS; m++) {
		pins[m] = world_model(world, m)->pin;
		world_model(world, m)->pin = world_model(world, m)->home_pin;
	}
	world_share(&shared, world->shared.scene, world->shared.state);
	set_up_plan(world, &plan, &shared);
	struct unpack in = {text.at, text.at + text.count, false};
	cr_assert(plan_unpack(&plan, &in) && plan_unpack_pins(&plan, &in) && in.at == in.end);
	cr_assert_eq(plan_hash(&plan), plan_hash(&the_plan));
	cr_assert_eq(plan.loading.loads, world->loading->loads);
	for (uint32_t m = 0; m < MODELS; m++) {
		cr_assert_eq(world_model(world, m)->pin, pins[m], "the pin of %s", world_model(world, m)->name);
		more.placed[m] = plan.loading.statics[m];
		world->still[m] = world->active[m] ? world->still[m] : world_still(world, m);
		world->first[m] = world->owner[m] = ASSIGN_NONE;
	}
	plan_fini(&the_plan);
	world_unshare(&world->shared);
	world->shared = shared;
	the_plan = plan;
	the_plan.shared = world->loading->shared = world->pairs->shared = &world->shared;
	world->placement->shared = &world->shared;
	memset(world->until, 0, sizeof world->until);
	memset(world->level_owner, 0, sizeof world->level_owner);
	memset(world->ghost, 0, sizeof world->ghost);
	world->moves = world->meetings = 0;
	more.begun = false;
	text_fini(&text);
}

static void happens(struct world *world)
{
	uint32_t m = world_below(world, MODELS), what = world_below(world, 40);
	struct scene_model *model = world_model(world, m);
	if (what == 0 && !world_below(world, 6))
		resets(world);
	else if (what == 1)
		wake_all(world);
	else if (what == 2)
		placement_use(&the_plan.placement, 1 + world_below(world, world->most));
	else if (model->absent && !world->gone[m]) /* the model's place is kept until the step is over */
		returns(world, m);
	else if (model->absent)
		return;
	else if (what < 9)
		removed(world, m);
	else if (what < 20)
		performs(world, m, what < 12 || !model->performer);
	else if (what < 24 && !model->is_static)
		pushed(world, m);
	else if (!model->is_static || !model->performer)
		placed(world, m);
}

/* Moves active models a little, as a step would, and lets some count as still. */
static void move(struct world *world)
{
	struct shared *shared = &world->shared;
	for (uint32_t m = 0; m < STATIC_FIRST; m++) {
		if (!world->active[m] || world_model(world, m)->is_static || world_below(world, 3))
			continue;
		struct vec3 by = {world_between(world, -0.15, 0.15), world_between(world, -0.15, 0.15), 0};
		world_put(world, m, vec3_add(state_bodies(shared->state, m, false)->p, by));
		shared->boxes[m].box = world_box(world, m);
		touch_moved(&shared->touch, m);
		uint32_t performer = shared->tracker.performer_of[m];
		if (touch_leaves(&shared->touch, m, &shared->boxes[m].box) ||
			(performer != SCENE_NONE && tracker_must_look(&shared->tracker.performers.at[performer],
							    state_model_pose(shared->state, m, false).p)))
			plan_leaver(&the_plan, m);
	}
	for (uint32_t m = 0; m < STATIC_FIRST; m++)
		if (world->active[m] && !world_model(world, m)->is_static && !world_below(world, 4))
			world->still[m] = *state_still(shared->state, m, false) = STILL;
}

/* --- comparisons -------------------------------------------------------------------------------------------------- */

static void check_statics(struct world *world)
{
	const struct plan *plan = &the_plan;
	bool changed = !more.begun;
	for (uint32_t m = 0; m < MODELS; m++) {
		bool exists = world_model(world, m)->is_static && !world_model(world, m)->absent;
		cr_assert_eq(plan->loading.statics[m] != 0, exists, "step %d: %s", (int)world->k,
			world_model(world, m)->name);
		bool same = plan->loading.statics[m] == more.placed[m];
		cr_assert(!exists || !same || !more.must_place[m], "step %d: %s was placed", (int)world->k,
			world_model(world, m)->name);
		cr_assert(same || more.must_place[m] || !exists);
		changed |= !same || (world_model(world, m)->is_static &&
					    world->gone[m]); /* also if the static model came in the step before */
		more.placed[m] = plan->loading.statics[m];
	}
	cr_assert_eq(plan->statics_changed, changed, "step %d", (int)world->k);
	more.begun = true;
}

static void check_gone(const struct world *world)
{
	bool gone[MODELS] = {false};
	for (uint32_t i = 0; i < the_plan.gone.count; i++)
		gone[the_plan.gone.at[i]] = true;
	for (uint32_t m = 0; m < MODELS && !more.reset; m++)
		cr_assert_eq(gone[m], world->gone[m], "step %d: %s", (int)world->k, world_model(world, m)->name);
}

static void one_step(struct world *world)
{
	struct plan *plan = &the_plan;
	world->woken = more.reset = false;
	memset(world->gone, 0, sizeof world->gone);
	memset(more.must_place, 0, sizeof more.must_place);
	memset(more.unknown_cost, 0, sizeof more.unknown_cost);
	for (uint32_t m = 0; m < MODELS; m++)
		world->shared.costs.ns[m] = 1000 + m;
	plan_begin(plan);
	for (uint32_t i = world_below(world, 6) ? 0 : 1 + world_below(world, 3); i > 0; i--)
		happens(world);
	for (uint32_t m = 0; m < MODELS; m++)
		cr_assert_eq(world->shared.costs.ns[m], more.unknown_cost[m] ? COST_UNKNOWN : 1000 + m);
	bool simulated[MODELS];
	for (uint32_t m = 0; m < MODELS; m++)
		simulated[m] = !world_model(world, m)->absent && plan_simulates(plan, m);
	world_must_be_near(world);
	world_must_be_loaded(world);
	world_must_outlive(world);
	world_must_touch(world);
	plan_step(plan, plan_levels(plan), world->k, 0);
	world_check_loading(world);
	world_check_hash(world, plan_hash(plan));
	world_check_still(world);
	cr_assert(plan->pairs.woken || !world->woken, "step %d", (int)world->k);
	check_statics(world);
	check_gone(world);
	world_check_pairs(world);
	cr_assert_eq(the_plan.placement.meetings, world->meetings, "step %d", (int)world->k);
	world_check_changes(world);
	world_check_components(world);
	world_check_ghosts(world);
	world_check_parts(world);
	for (uint32_t m = 0; m < MODELS; m++)
		cr_assert_eq(simulated[m], world->active[m], "step %d: %s", (int)world->k, world_model(world, m)->name);
	move(world);
	if (!world_below(world, 1500))
		resumes(world);
	world->k++;
}

Test(plan, is_what_follows_from_the_definitions)
{
	enum { SEEDS = 20, STEPS = 4000 };
	uint32_t ended = 0, strays = 0, reaches = 0, wakes = 0, components = 0, pinned = 0;
	uint64_t moves = 0, meetings = 0;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		static struct world world;
		make(&world, seed);
		while (world.k < STEPS)
			one_step(&world);
		ended += world.pairs_ended;
		strays += world.strays;
		reaches += world.reaches;
		wakes += world.wakes;
		components += world.components;
		pinned += world.pinned;
		moves += the_plan.placement.moves;
		meetings += the_plan.placement.meetings;
		destroy(&world);
	}
	cr_assert(ended > 10 && strays > 500 && reaches > 50 && wakes > 500 && components > 1000 && pinned > 1000 &&
			  moves > 500 && meetings > 50,
		"%u pairs ended, %u strays, %u reached, %u wakes, %u in components, %u pinned, %d moves, %d meetings",
		ended, strays, reaches, wakes, components, pinned, (int)moves, (int)meetings);
}
