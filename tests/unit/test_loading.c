/* Levels, models that exist, strays and static models (run/loading.h), with random changes of a world: compared after
 * each step with the definitions (plan_world.h). */
#include "plan_world.h"

#include <criterion/criterion.h>

TestSuite(loading, .timeout = 240);

static struct loading loading;
static bool is_active[MODELS];     /* by the lists of answers alone */
static bool fetched[MODELS];       /* in this step */
static bool level_changed[LEVELS]; /* in this step */
static uint32_t placed[MODELS];    /* loading.statics before the step */
static uint32_t strays_left;

static void touch_unloaded(struct world *world, uint32_t m)
{
	struct shared *shared = &world->shared;
	if (loading_is_cargo(&loading, m) && !is_active[m])
		touch_unload(&shared->touch, m, &shared->boxes[m].box);
	else if (shared->touch.models[m].unloaded)
		touch_remove(&shared->touch, m);
}

static void touch_all_unloaded(struct world *world)
{
	for (uint32_t m = 0; m < MODELS; m++)
		touch_unloaded(world, m);
}

/* Applies the answers, as the plan does. */
static void take_answers(struct world *world)
{
	struct shared *shared = &world->shared;
	for (uint32_t i = 0; i < loading.came.count; i++) {
		uint32_t m = loading.came.at[i];
		cr_assert(!is_active[m], "step %d: %s came twice", (int)world->k, world_model(world, m)->name);
		is_active[m] = true;
		if (world_model(world, m)->body_count)
			touch_add(&shared->touch, m, &shared->boxes[m].box);
	}
	for (uint32_t i = 0; i < loading.went.count; i++) {
		uint32_t m = loading.went.at[i];
		cr_assert(is_active[m], "step %d: %s went twice", (int)world->k, world_model(world, m)->name);
		is_active[m] = false;
		if (world_model(world, m)->body_count && !loading_is_cargo(&loading, m))
			touch_remove(&shared->touch, m);
		touch_unloaded(world, m);
	}
	for (uint32_t i = 0; i < loading.fetched.count; i++)
		fetched[loading.fetched.at[i]] = true;
	for (uint32_t i = 0; i < loading.changed_levels.count; i++)
		level_changed[loading.changed_levels.at[i]] = true;
	loading_clear(&loading);
}

static void look_at_all(void)
{
	for (uint32_t m = 0; m < MODELS; m++)
		(void)loading_look(&loading, m, state_model_pose(loading.shared->state, m, false).p);
}

static void begin(struct world *world, uint64_t seed)
{
	world_make(world, seed);
	loading_init(&loading, &world->shared);
	world->loading = &loading;
	memset(is_active, 0, sizeof is_active);
	loading_restart(&loading);
	take_answers(world);
	touch_all_unloaded(world);
	look_at_all();
	for (uint32_t m = 0; m < MODELS; m++)
		placed[m] = loading.statics[m];
}

/* --- random changes ----------------------------------------------------------------------------------------------- */

static void put(struct world *world, uint32_t m, struct vec3 p)
{
	struct shared *shared = &world->shared;
	world_put(world, m, p);
	shared->boxes[m].box = world_box(world, m);
	touch_moved(&shared->touch, m);
	if ((shared->touch.models[m].here || shared->touch.models[m].unloaded) &&
		touch_leaves(&shared->touch, m, &shared->boxes[m].box))
		touch_move(&shared->touch, m, &shared->boxes[m].box);
	(void)loading_look(&loading, m, state_model_pose(loading.shared->state, m, false).p);
}

static void removed(struct world *world, uint32_t m)
{
	scene_set_absent(world->shared.scene, m, true);
	loading_remove(&loading, m);
	take_answers(world);
	touch_unloaded(world, m);
	cr_assert_eq(loading_learn(&loading, m), world_model(world, m)->is_static);
	world_must_leave(world, m);
}

static void returns(struct world *world, uint32_t m)
{
	const struct scene_model *model = world_model(world, m);
	scene_set_absent(world->shared.scene, m, false);
	cr_assert_eq(loading_learn(&loading, m), model->is_static);
	loading_add(&loading, m);
	take_answers(world);
	touch_unloaded(world, m);
	(void)loading_look(&loading, m, state_model_pose(loading.shared->state, m, false).p);
	world->active[m] = world_moves_freely(world, m) || (model->level != SCENE_NONE && world->loaded[model->level]);
}

static void performs(struct world *world, uint32_t m, bool performer)
{
	struct scene_model *model = world_model(world, m);
	model->performer = performer;
	model->level = performer ? SCENE_NONE : model->home_level;
	model->volume =
		(struct vec3){world_between(world, 0, 3), world_between(world, 0, 1), world_between(world, 0, 2)};
	cr_assert(!loading_learn(&loading, m));
	loading_performer(&loading, m);
	take_answers(world);
	(void)loading_look(&loading, m, state_model_pose(loading.shared->state, m, false).p);
	if (model->is_static && !performer)
		world_must_leave(world, m);
	else if (performer || model->level == SCENE_NONE)
		world->active[m] = true;
}

static void placed_elsewhere(struct world *world, uint32_t m)
{
	put(world, m, world_anywhere(world));
	if (loading.statics[m])
		loading_placed(&loading, m);
}

/* After a restart the active models are those of the start. */
static void restarts(struct world *world)
{
	loading_empty(&loading);
	take_answers(world);
	for (uint32_t m = 0; m < MODELS; m++)
		cr_assert(!is_active[m]);
	loading_restart(&loading);
	take_answers(world);
	look_at_all();
	for (uint32_t m = 0; m < MODELS; m++)
		world->active[m] = world_moves_freely(world, m);
	memset(world->loaded, 0, sizeof world->loaded);
}

/* The loading is packed, and unpacked into one that begins anew. */
static void resumes(struct world *world)
{
	struct text text = {0};
	uint64_t hash = loading_hash(&loading);
	loading_pack(&loading, &text);
	loading_empty(&loading);
	take_answers(world);
	loading_fini(&loading);
	loading_init(&loading, &world->shared);
	loading_restart(&loading);
	take_answers(world);
	look_at_all();
	struct unpack in = {text.at, text.at + text.count, false};
	cr_assert(loading_unpack(&loading, &in) && in.at == in.end);
	take_answers(world);
	cr_assert_eq(loading_hash(&loading), hash);
	for (uint32_t end = 0; end < text.count;
		end += 8) { /* packed bytes that are cut off are refused, and change nothing else */
		struct loading other;
		loading_init(&other, &world->shared);
		struct unpack part = {text.at, text.at + end, false};
		cr_assert(!loading_unpack(&other, &part));
		loading_fini(&other);
	}
	for (uint32_t m = 0; m < MODELS; m++)
		placed[m] = loading.statics[m];
	text_fini(&text);
}

static bool happens(struct world *world)
{
	uint32_t m = world_below(world, MODELS), what = world_below(world, 30);
	const struct scene_model *model = world_model(world, m);
	if (what == 0 && !world_below(world, 6))
		restarts(world);
	else if (model->absent)
		returns(world, m);
	else if (what < 8)
		removed(world, m);
	else if (what < 16)
		performs(world, m, what < 10 || !model->performer);
	else if (!model->is_static || !model->performer)
		placed_elsewhere(world, m);
	return what == 0;
}

/* --- a step ------------------------------------------------------------------------------------------------------- */

static void check_lists(const struct world *world, const bool loaded[LEVELS], bool restarted)
{
	for (uint32_t m = 0; m < MODELS; m++) {
		const struct scene_model *model = world_model(world, m);
		cr_assert_eq(is_active[m], world->active[m], "step %d: %s", (int)world->k, model->name);
		bool fetches = model->level != SCENE_NONE && world->loaded[model->level] && !loaded[model->level];
		fetches |= world->reached[m];
		cr_assert(restarted || fetched[m] == fetches, "step %d: %s", (int)world->k, model->name);
	}
	for (uint32_t l = 0; l < LEVELS; l++)
		cr_assert(restarted || level_changed[l] == (loaded[l] != world->loaded[l]), "step %d: level %u",
			(int)world->k, l);
}

static void check_strays(const struct world *world)
{
	uint64_t strays = 0;
	for (uint32_t i = 0; i < loading.strays.count; i++)
		strays |= UINT64_C(1) << loading.strays.at[i];
	cr_assert_eq(strays, world->key & ((UINT64_C(1) << MODELS) - 1), "step %d", (int)world->k);
	cr_assert_eq(__builtin_popcountll(strays), (int)loading.strays.count, "step %d: each once", (int)world->k);
}

static void one_step(struct world *world)
{
	bool loaded[LEVELS], expected[MODELS], restarted = false;
	memcpy(loaded, world->loaded, sizeof loaded);
	memset(fetched, 0, sizeof fetched);
	memset(level_changed, 0, sizeof level_changed);
	memset(world->gone, 0, sizeof world->gone);
	for (uint32_t i = world_below(world, 3) ? 0 : 1 + world_below(world, 3); i > 0; i--)
		restarted |= happens(world);
	for (uint32_t m = 0; m < MODELS; m++)
		expected[m] = !world_model(world, m)->absent && loading_expects(&loading, m);
	world_must_be_near(world);
	world_must_be_loaded(world);
	world_must_outlive(world);
	for (uint32_t m = 0; m < MODELS; m++)
		strays_left += world->gone[m];
	loading_update(&loading);
	bool changed = false;
	do {
		take_answers(world);
		changed |= touch_find(&world->shared.touch, world->shared.boxes);
	} while (loading_settle(&loading, changed));
	world_check_loading(world);
	world_check_hash(world, loading_hash(&loading));
	check_lists(world, loaded, restarted);
	check_strays(world);
	for (uint32_t m = 0; m < MODELS; m++) {
		const struct scene_model *model = world_model(world, m);
		cr_assert_eq(expected[m], world->active[m], "step %d: %s", (int)world->k, model->name);
		cr_assert(!model->is_static || !loading.statics[m] || loading.statics[m] >= placed[m],
			"step %d: %s has a number that it had before", (int)world->k, model->name);
		placed[m] = loading.statics[m];
	}
	for (uint32_t m = 0; m < STATIC_FIRST; m++)
		if (world->active[m] && !world_model(world, m)->is_static && world_below(world, 3))
			put(world, m,
				vec3_add(state_bodies(world->shared.state, m, false)->p,
					(struct vec3){
						world_between(world, -0.3, 0.3), world_between(world, -0.3, 0.3), 0}));
	if (!world_below(world, 500))
		resumes(world);
	world->k++;
}

Test(loading, is_what_follows_from_the_definitions)
{
	enum { SEEDS = 20, STEPS = 2000 };
	uint32_t strays = 0, reaches = 0;
	uint64_t loads = 0;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		static struct world world;
		begin(&world, seed);
		while (world.k < STEPS)
			one_step(&world);
		strays += world.strays;
		reaches += world.reaches;
		loads += world.loads;
		loading_fini(&loading);
		world_destroy(&world);
	}
	cr_assert(strays > 500 && strays_left > 100 && reaches > 50 && loads > 500,
		"%u strays, %u left, %u reached, %d loads", strays, strays_left, reaches, (int)loads);
}
