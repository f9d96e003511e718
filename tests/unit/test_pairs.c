/* Pairs, recent pairs and waking (run/pairs.h), with models that come, go and are moved at random: compared after each
 * step with the definitions (plan_world.h). */
#include "plan_world.h"

#include <criterion/criterion.h>

TestSuite(pairs, .timeout = 240);

static struct pairs pairs;
static bool counts[MODELS][MODELS]; /* by the list of changes alone */
static uint32_t asleep_on;          /* models that stayed asleep while others woke */
static bool unloaded[MODELS];
static uint32_t reaches; /* models that were unloaded until an active model reached them */

static bool has_bodies(const struct world *world, uint32_t m)
{
	return world_model(world, m)->body_count > 0;
}

static void take_changes(struct world *world)
{
	for (uint32_t i = 0; i < pairs.changes.count; i++) {
		struct pair_change change = pairs.changes.at[i];
		const bool begins = change.event == PAIR_BEGINS;
		cr_assert_lt(change.a, change.b);
		if (change.event == PAIR_MEETS) {
			cr_assert(counts[change.a][change.b] && world->touching[change.a][change.b],
				"step %d: %u and %u", (int)world->k, change.a, change.b);
			continue;
		}
		cr_assert_neq(
			counts[change.a][change.b], begins, "step %d: %u and %u", (int)world->k, change.a, change.b);
		counts[change.a][change.b] = begins;
	}
	pairs.changes.count = 0;
}

static void begin(struct world *world, uint64_t seed)
{
	uint32_t all[MODELS], count = 0;
	world_make(world, seed);
	pairs_init(&pairs, &world->shared);
	world->pairs = &pairs;
	memset(counts, 0, sizeof counts);
	memset(unloaded, 0, sizeof unloaded);
	for (uint32_t m = 0; m < MODELS; m++)
		if (world->active[m])
			all[count++] = m;
	pairs_add_all(&pairs, all, count);
}

/* --- random changes ----------------------------------------------------------------------------------------------- */

static void comes(struct world *world, uint32_t m)
{
	world->active[m] = true;
	unloaded[m] = false;
	pairs_add(&pairs, m);
}

static void unloads(struct world *world, uint32_t m)
{
	if (!world->active[m])
		pairs_unload(&pairs, m); /* wakes none */
	unloaded[m] = true;
}

static void goes(struct world *world, uint32_t m, bool for_good)
{
	bool unload = !for_good && world_below(world, 2);
	(unload ? pairs_unload : pairs_remove)(&pairs, m);
	unloaded[m] = unload;
	for (uint32_t other = 0; other < MODELS; other++) { /* a joint wakes a model that is not active, too */
		if (world->active[other] || !world_joined(world, m, other))
			continue;
		world->woken |= world->still[other] != 0;
		world->still[other] = 0;
	}
	world_must_leave(world, m);
	if (!for_good)
		return;
	pairs_forget(&pairs, m);
	take_changes(world);
	world_forget_pairs(world, m);
	for (uint32_t other = 0; other < MODELS; other++)
		cr_assert(!counts[MIN(m, other)][MAX(m, other)], "step %d: %u", (int)world->k, m);
}

static void put(struct world *world, uint32_t m, struct vec3 p)
{
	struct shared *shared = &world->shared;
	world_put(world, m, p);
	shared->boxes[m].box = world_box(world, m);
	touch_moved(&shared->touch, m);
	pairs_leaver(&pairs, m);
}

/* A model that rested on the moved one falls; a model that now has the moved one on it wakes. */
static void placed(struct world *world, uint32_t m)
{
	uint32_t near = world_below(world, MODELS);
	struct vec3 by = {world_between(world, -1, 1), world_between(world, -1, 1), 0};
	struct vec3 beside = vec3_add(state_model_pose(world->shared.state, near, false).p, by);
	world_must_wake_in(world, world_box(world, m));
	pairs_wake_in(&pairs, &world->shared.boxes[m].box);
	put(world, m, world_below(world, 2) ? beside : world_anywhere(world));
	world_must_wake_in(world, world_box(world, m));
	pairs_wake_in(&pairs, &world->shared.boxes[m].box);
}

static void wakes_all(struct world *world)
{
	pairs_wake_all(&pairs);
	for (uint32_t m = 0; m < MODELS; m++) {
		world->woken |= has_bodies(world, m) && !world->active[m] && world->still[m];
		world_must_wake(world, m);
		world->still[m] = 0;
	}
}

static void resets(struct world *world)
{
	pairs_reset(&pairs);
	memset(counts, 0, sizeof counts);
	memset(world->until, 0, sizeof world->until);
}

/* No model wakes while a saved state is restored. */
static void restores(struct world *world, uint32_t m)
{
	uint64_t still = world_still(world, m);
	pairs.restoring = true;
	pairs_wake(&pairs, m);
	pairs_wake_in(&pairs, &world->shared.boxes[m].box);
	pairs_wake_all(&pairs);
	pairs.restoring = false;
	cr_assert_eq(world_still(world, m), still);
}

static void happens(struct world *world)
{
	uint32_t m = world_below(world, STATIC_FIRST), what = world_below(world, 40);
	if (what == 0)
		wakes_all(world);
	else if (what == 1 && !world_below(world, 8))
		resets(world);
	else if (what == 2)
		restores(world, m);
	else if (!has_bodies(world, m))
		return;
	else if (!world->active[m] && unloaded[m] && what < 20)
		placed(world, m);
	else if (!world->active[m] && what < 5)
		unloads(world, m);
	else if (!world->active[m])
		comes(world, m);
	else if (what < 20)
		goes(world, m, what < 10);
	else
		placed(world, m);
}

/* --- a step ------------------------------------------------------------------------------------------------------- */

static void move(struct world *world)
{
	for (uint32_t m = 0; m < STATIC_FIRST; m++) {
		if (!world->active[m] || !has_bodies(world, m))
			continue;
		struct vec3 by = {world_between(world, -0.15, 0.15), world_between(world, -0.15, 0.15), 0};
		if (!world_below(world, 3))
			put(world, m, vec3_add(state_bodies(world->shared.state, m, false)->p, by));
		if (!world_below(world, 4))
			world->still[m] = *state_still(world->shared.state, m, false) = STILL;
	}
}

static bool must_reach(const struct world *world, uint32_t m)
{
	bool reached = false;
	for (uint32_t a = 0; a < STATIC_FIRST && unloaded[m]; a++)
		reached |= world->active[a] && has_bodies(world, a) &&
			   (world_joined(world, a, m) ||
				   world_reaches(world_box(world, MIN(a, m)), world_box(world, MAX(a, m))));
	return reached;
}

/* Models that were reached come, until there are none. */
static bool pairs_find_in(struct world *world)
{
	bool changed = false, some = true;
	while (some) {
		bool reached[MODELS] = {false};
		some = false;
		changed |= pairs_find(&pairs);
		for (uint32_t i = 0; i < world->shared.touch.reached.count; i++)
			reached[world->shared.touch.reached.at[i]] = true;
		for (uint32_t m = 0; m < MODELS; m++)
			cr_assert_eq(reached[m], must_reach(world, m), "step %d: %u", (int)world->k, m);
		for (uint32_t m = 0; m < MODELS; m++) {
			if (reached[m])
				comes(world, m);
			some |= reached[m];
			reaches += reached[m];
		}
	}
	return changed;
}

static void one_step(struct world *world)
{
	struct touch_pair before[MODELS * MODELS];
	uint32_t count = world->shared.touch.pairs.count;
	if (count)
		memcpy(before, world->shared.touch.pairs.at, count * sizeof *before);
	world->woken = pairs.woken = false;
	for (uint32_t i = world_below(world, 20) ? 0 : 1 + world_below(world, 3); i > 0; i--)
		happens(world);
	bool changed = pairs_find_in(world);
	world_must_touch(world);
	pairs_update(&pairs, changed, world->k);
	take_changes(world);
	world_check_pairs(world);
	const struct touch *touch = &world->shared.touch;
	bool same = count == touch->pairs.count && (!count || !memcmp(before, touch->pairs.at, count * sizeof *before));
	cr_assert(changed || same, "step %d", (int)world->k);
	for (uint32_t a = 0; a < MODELS; a++)
		for (uint32_t b = a + 1; b < MODELS; b++)
			cr_assert_eq(counts[a][b], world->until[a][b] != 0, "step %d: %u and %u", (int)world->k, a, b);
	for (uint32_t m = 0; m < MODELS; m++)
		asleep_on += pairs.woken && world->active[m] && world_still(world, m);
	world_check_still(world);
	cr_assert_eq(pairs.woken, world->woken, "step %d", (int)world->k);
	move(world);
	world->k++;
}

Test(pairs, are_what_follows_from_the_definitions)
{
	enum { SEEDS = 20, STEPS = 3000 };
	uint32_t ended = 0, wakes = 0;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		static struct world world;
		begin(&world, seed);
		while (world.k < STEPS)
			one_step(&world);
		ended += world.pairs_ended;
		wakes += world.wakes;
		pairs_fini(&pairs);
		world_destroy(&world);
	}
	cr_assert(ended > 10 && wakes > 500 && asleep_on > 500 && reaches > 200,
		"%u pairs ended, %u wakes, %u stayed asleep, %u reached", ended, wakes, asleep_on, reaches);
}
