/* The policy balanced keeps what assign.h promises, on small cases worked out by hand and on random cases. */
#include "assign/assign.h"
#include "base/hash.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(balanced, .timeout = 60);

enum { MODELS_MAX = 4000, NOBODY = UINT32_MAX };

struct world {
	struct assign_input input;
	struct assignment now;
	struct assign_scratch scratch;
	uint32_t component[MODELS_MAX], cost[MODELS_MAX], pin[MODELS_MAX];
	bool mover[MODELS_MAX], entered[MODELS_MAX];
	uint32_t model[MODELS_MAX], home[MODELS_MAX], component_of[MODELS_MAX];
};

/* Each model is a component of its own. */
static struct world *world_of(uint32_t secondaries, uint32_t models)
{
	struct world *world = mem_alloc(sizeof *world);
	for (uint32_t m = 0; m < models; m++) {
		world->component[m] = m;
		world->cost[m] = 1000;
		world->mover[m] = true;
	}
	world->input = (struct assign_input){
		.secondaries = secondaries,
		.model_count = models,
		.component_count = models,
		.model_component = world->component,
		.model_is_mover = world->mover,
		.model_entered = world->entered,
		.model_pin = world->pin,
		.model_cost = world->cost,
		.move_cost = 10,
		.horizon = 100,
	};
	world->now =
		(struct assignment){.model = world->model, .home = world->home, .component_of = world->component_of};
	return world;
}

static void destroy(struct world *world)
{
	assign_scratch_fini(&world->scratch);
	free(world);
}

static void assign(struct world *world)
{
	assign_balanced(&world->input, &world->now, &world->scratch);
}

static uint64_t load_of(const struct world *world, uint32_t secondary)
{
	uint64_t load = 0;
	for (uint32_t m = 0; m < world->input.model_count; m++)
		load += world->component[m] != NOBODY && world->model[m] == secondary ? world->cost[m] : 0;
	return load;
}

static uint64_t makespan(const struct world *world)
{
	uint64_t most = 0;
	for (uint32_t s = 1; s <= world->input.secondaries; s++)
		most = MAX(most, load_of(world, s));
	return most;
}

/* The bound by the formula of assign.h; components are numbered below MODELS_MAX. */
static uint64_t bound(const struct world *world)
{
	static uint64_t of_component[MODELS_MAX];
	uint64_t all = 0, greatest = 0, pinned[64] = {0};
	memset(of_component, 0, sizeof of_component);
	for (uint32_t m = 0; m < world->input.model_count; m++) {
		all += world->cost[m];
		of_component[world->component[m]] += world->cost[m];
		greatest = MAX(greatest, of_component[world->component[m]]);
		pinned[world->pin[m]] += world->pin[m] ? world->cost[m] : 0;
		greatest = MAX(greatest, world->pin[m] ? pinned[world->pin[m]] : 0);
	}
	return MAX(greatest, (all + world->input.secondaries - 1) / world->input.secondaries);
}

static uint32_t moves_of(struct world *world)
{
	static uint32_t before[MODELS_MAX];
	memcpy(before, world->model, sizeof before);
	assign(world);
	uint32_t moves = 0;
	for (uint32_t m = 0; m < world->input.model_count; m++)
		moves += before[m] && before[m] != world->model[m];
	return moves;
}

Test(balanced, the_greatest_first_each_to_who_has_least)
{
	struct world *world = world_of(2, 5);
	memcpy(world->cost, (uint32_t[]){100, 100, 150, 150, 200}, 5 * sizeof(uint32_t));
	assign(world);
	/* 200 | 150, then 150 goes beside 150, 100 beside 200, and the last 100 to either side */
	cr_assert_eq(makespan(world), 400, "%llu", (unsigned long long)makespan(world));
	cr_assert_eq(moves_of(world), 0);
	destroy(world);
}

Test(balanced, moves_what_evens_out)
{
	struct world *world = world_of(2, 8);
	assign(world);
	cr_assert_eq(makespan(world), 4000);
	/* the models of secondary 1 become three times as dear: two of the four models of secondary 2 cost as much as
	 * one of them */
	for (uint32_t m = 0; m < 8; m++)
		world->cost[m] = world->model[m] == 1 ? 3000 : 1000;
	uint32_t moves = moves_of(world);
	cr_assert(moves >= 1 && moves <= 3, "%u moves", moves);
	cr_assert_leq(makespan(world), 9000);
	cr_assert_eq(moves_of(world), 0);
	destroy(world);
}

Test(balanced, only_if_it_pays)
{
	struct world *world = world_of(2, 4);
	assign(world);
	for (uint32_t m = 0; m < 4; m++)
		world->cost[m] = world->model[m] == 1 ? 3000 : 1000;
	/* 6000 | 2000: one move gives 5000 | 3000 at the least; 4000 | 4000 takes three moves */
	world->input.move_cost = 1000 * world->input.horizon + 1;
	cr_assert_eq(moves_of(world), 0, "three moves gain 2000 a step, one at most 1000");
	world->input.move_cost = 10;
	cr_assert_gt(moves_of(world), 0);
	destroy(world);
}

Test(balanced, noise_moves_nothing)
{
	struct world *world = world_of(4, 400);
	assign(world);
	uint32_t moves = 0;
	for (uint32_t step = 0; step < 50; step++) {
		for (uint32_t m = 0; m < 400; m++)
			world->cost[m] = 950 + (uint32_t)(hash_mix(step, m) % 100);
		moves += moves_of(world);
	}
	cr_assert_eq(moves, 0, "%u moves, though costs vary only by a twentieth", moves);
	destroy(world);
}

Test(balanced, pins_hold_and_others_make_room)
{
	struct world *world = world_of(2, 4);
	memcpy(world->cost, (uint32_t[]){3000, 1000, 1000, 1000}, 4 * sizeof(uint32_t));
	world->pin[0] = 2;
	assign(world);
	cr_assert_eq(world->model[0], 2);
	for (uint32_t m = 1; m < 4; m++)
		cr_assert_eq(world->model[m], 1, "model %u", m);
	destroy(world);
}

Test(balanced, asleep_costs_nothing_and_stays)
{
	struct world *world = world_of(2, 100);
	assign(world);
	memset(world->cost, 0, 100 * sizeof *world->cost);
	cr_assert_eq(moves_of(world), 0);
	world->cost[0] = 5000;
	cr_assert_eq(moves_of(world), 0, "another secondary has work");
	destroy(world);
}

/* Components of random sizes that merge and part, of costs over three orders of magnitude. */
static void shuffle(struct world *world, uint64_t seed, uint32_t components)
{
	for (uint32_t m = 0; m < world->input.model_count; m++) {
		world->component[m] = m < components ? m : (uint32_t)(hash_mix(seed, m) % components);
		world->cost[m] = 1u << hash_mix(seed + 1, m) % 11;
		world->pin[m] = hash_mix(seed + 2, m) % 50
					? 0
					: (uint32_t)(hash_mix(seed + 3, m) % world->input.secondaries) + 1;
	}
	/* a component has one pin, its lowest */
	for (uint32_t m = components; m < world->input.model_count; m++)
		world->pin[m] = world->pin[world->component[m]];
	world->input.component_count = components;
}

static void check(const struct world *world, uint64_t seed)
{
	uint32_t place[MODELS_MAX] = {0};
	for (uint32_t m = 0; m < world->input.model_count; m++) {
		uint32_t *of = &place[world->component[m]];
		cr_assert(world->model[m] >= 1 && world->model[m] <= world->input.secondaries, "seed %llu",
			(unsigned long long)seed);
		cr_assert(!*of || *of == world->model[m], "seed %llu: a component is split", (unsigned long long)seed);
		*of = world->model[m];
		cr_assert(!world->pin[m] || world->pin[m] == *of, "seed %llu: a component is not where its pin is",
			(unsigned long long)seed);
	}
}

Test(balanced, properties_of_random_worlds)
{
	double worst = 0;
	for (uint64_t seed = 0; seed < 300; seed++) {
		uint32_t models = 2 + (uint32_t)(hash_mix(seed, 1) % 600),
			 secondaries = 1 + (uint32_t)(hash_mix(seed, 2) % 12);
		struct world *world = world_of(secondaries, models);
		for (uint32_t step = 0; step < 5; step++) {
			uint32_t components = 1 + (uint32_t)(hash_mix(seed + 1000, step) % models);
			shuffle(world, seed * 10 + step, components);
			world->input.move_cost = 0;
			assign(world);
			check(world, seed);
			/* greatest first, each to the least loaded, gives at most 4/3 of the best, and the best is not
			 * below the bound; and it is never farther from the bound than by one component */
			double over = (double)makespan(world) / (double)bound(world);
			if (over > worst)
				worst = over;
			if (components > 10 * secondaries)
				cr_assert_leq(
					over, 1.10, "%g times the bound, seed %llu", over, (unsigned long long)seed);
			cr_assert_leq(over, 1.5, "%g times the bound, seed %llu", over, (unsigned long long)seed);
		}
		world->input.move_cost = 10;
		(void)moves_of(world);
		cr_assert_eq(
			moves_of(world), 0, "seed %llu: models move again without a change", (unsigned long long)seed);
		destroy(world);
	}
	cr_assert_gt(worst, 1.0);
}

Test(balanced, memory_of_more_secondaries_is_forgotten)
{
	struct world *world = world_of(8, 16);
	assign(world);
	world->input.secondaries = 3;
	assign(world);
	check(world, 0);
	cr_assert_leq(makespan(world), 6000);
	destroy(world);
}

Test(balanced, policies_have_names)
{
	cr_assert_eq(assign_policy_named("balanced")->assign, assign_balanced);
	cr_assert_eq(assign_policy_named("round-robin"), assign_policies);
	cr_assert_null(assign_policy_named("robin"));
}
