/* Which models share an ODE world: small models that touch nothing, as many as there is room for. No bit depends on it,
 * nor on which workers step which ODE worlds. */
#include "../named.h"
#include "physics/worker.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(ode_worlds, .timeout = 60);

enum { CRATES = 70, IN_A_WORLD = 32 /* where ODE solves them; otherwise more */ };
#define DT 0.001
static struct physics_options options; /* of the test */

/* Crates of different kinds above a plane, 3 m apart, which fall on an edge; the world of one test. */
struct place {
	struct sdf *sdf;
	struct scene *scene;
	struct state *state;
	struct control control;
	struct aabb_line *boxes;
	uint32_t *present;
	uint32_t ground;
	struct worker *worker;
};

static const char *world_text(void)
{
	struct text out = {0};
	for (int i = 0; i < CRATES; i++)
		text_add(&out,
			"<model name='crate_%d'><pose>%d 0 0.8 0.3 0.%d 0</pose><link "
			"name='l'><inertial><mass>%d</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></"
			"inertial><collision name='c'><geometry><box><size>1 1 "
			"%g</size></box></geometry></collision></link></model>",
			i, 3 * i, 1 + i % 9, 1 + i % 5, 0.5 + 0.01 * i);
	const char *text = named_world("ground", out.at);
	text_fini(&out);
	return text;
}

static void begin(struct place *place)
{
	struct troupe_error error = {0};
	struct sdf_options sdf_options = {0};
	struct scene_options scene_options = {0};
	const char *text = world_text();
	*place = (struct place){0};
	cr_assert_eq(sdf_load_text(text, strlen(text), "t.sdf", &sdf_options, &place->sdf, &error), TROUPE_OK, "%s",
		error.text);
	cr_assert_eq(scene_create(&place->sdf->worlds.at[0], &scene_options, &place->scene, &error), TROUPE_OK, "%s",
		error.text);
	cr_assert_eq(physics_init_process(&error), TROUPE_OK, "%s", error.text);
	const struct scene *scene = place->scene;
	uint32_t *words = mem_alloc(scene->room.models * sizeof *words);
	place->state = state_create(scene, words);
	free(words);
	place->control.joints = mem_alloc_lines((scene->joint_count + 1) * sizeof *place->control.joints);
	place->control.bodies = mem_alloc_lines(scene->body_count * sizeof *place->control.bodies);
	place->control.surfaces = mem_alloc_lines((scene->geom_count + 1) * sizeof *place->control.surfaces);
	place->control.models = mem_alloc_lines(scene->model_count * sizeof *place->control.models);
	place->boxes = mem_alloc_lines(scene->room.models * sizeof *place->boxes);
	place->present = mem_alloc(scene->room.models * sizeof *place->present);
	for (uint32_t m = 0; m < scene->model_count; m++)
		if (!scene->models[m].body_count)
			place->present[place->ground = m] = 1;
	place->worker = worker_create(scene, NULL);
}

static void end(struct place *place)
{
	worker_destroy(place->worker);
	free(place->control.joints);
	free(place->control.bodies);
	free(place->control.surfaces);
	free(place->control.models);
	free(place->boxes);
	free(place->present);
	state_destroy(place->state);
	scene_destroy(place->scene);
	sdf_free(place->sdf);
}

static uint32_t crate(const struct place *place, uint32_t i)
{
	return i < place->ground ? i : i + 1;
}

/* A runner with the crates [first, last). */
static struct physics *runner(const struct place *place, uint32_t first, uint32_t last)
{
	struct physics *physics = physics_create(place->scene, place->state, &place->control, &options);
	for (uint32_t i = first; i < last; i++)
		physics_take(physics, crate(place, i));
	physics_set_statics(physics, place->present);
	return physics;
}

static uint32_t step(
	const struct place *place, struct physics *physics, const struct physics_pair *pairs, uint32_t count)
{
	struct troupe_error error = {0};
	cr_assert_eq(physics_begin(physics, pairs, count, DT, &error), TROUPE_OK, "%s", error.text);
	uint32_t worlds = physics_ode_world_count(physics);
	worker_begin(place->worker, &options);
	cr_assert_eq(worker_step(place->worker, physics, 0, worlds, &error), TROUPE_OK, "%s", error.text);
	cr_assert_eq(physics_end(physics, place->boxes, &error), TROUPE_OK, "%s", error.text);
	for (uint32_t i = 0; i < physics_awake(physics)->count; i++)
		state_advance(place->state, physics_awake(physics)->at[i]);
	return worlds;
}

Test(ode_worlds, small_ones_share)
{
	struct place place;
	begin(&place);
	struct physics *physics = runner(&place, 0, CRATES);
	cr_assert_eq(step(&place, physics, NULL, 0), 1, "lanes want to be filled");
	physics_destroy(physics);
	options.ode = true;
	physics = runner(&place, 0, CRATES);
	cr_assert_eq(step(&place, physics, NULL, 0), (CRATES + IN_A_WORLD - 1) / IN_A_WORLD);
	physics_destroy(physics);
	end(&place);
}

Test(ode_worlds, those_that_may_touch_have_one_of_their_own_and_their_places_are_given_away)
{
	struct place place;
	options.ode = true;
	begin(&place);
	const uint32_t full = 2 * IN_A_WORLD;
	struct physics *physics = runner(&place, 0, full);
	const struct physics_pair pair = {crate(&place, 3), crate(&place, 40)};
	cr_assert_eq(step(&place, physics, NULL, 0), 2);
	cr_assert_eq(step(&place, physics, &pair, 1), 3, "the pair has no ODE world of its own");
	cr_assert_eq(physics_stats(physics).regroups, full + 1, "other models were built anew");
	physics_take(physics, crate(&place, full));
	physics_take(physics, crate(&place, full + 1));
	cr_assert_eq(step(&place, physics, &pair, 1), 3, "the places of the pair were not given away");
	physics_take(physics, crate(&place, full + 2));
	cr_assert_eq(step(&place, physics, &pair, 1), 4, "there was no room left");
	physics_release(physics, crate(&place, 3));
	physics_release(physics, crate(&place, 40));
	physics_release(physics, crate(&place, full + 2));
	cr_assert_eq(step(&place, physics, NULL, 0), 2, "an ODE world without groups is stepped");
	physics_destroy(physics);
	end(&place);
}

Test(ode_worlds, a_step_that_others_work_on_falls_into_many)
{
	struct place place;
	begin(&place);
	struct physics *physics = runner(&place, 0, CRATES);
	physics_share(physics);
	cr_assert_eq(step(&place, physics, NULL, 0), (CRATES + 31) / 32, "lanes want to be filled");
	physics_destroy(physics);
	options.ode = true;
	physics = runner(&place, 0, CRATES);
	physics_share(physics);
	cr_assert_eq(step(&place, physics, NULL, 0), CRATES / 2);
	physics_destroy(physics);
	end(&place);
}

/* All crates on one runner, or each on a runner of its own: until all have fallen. */
Test(ode_worlds, who_shares_one_makes_no_difference)
{
	enum { STEPS = 800 };
	struct place together, apart;
	struct physics *all, *each[CRATES];
	begin(&together);
	begin(&apart);
	all = runner(&together, 0, CRATES);
	for (uint32_t i = 0; i < CRATES; i++)
		each[i] = runner(&apart, i, i + 1);
	uint64_t first = state_hash(apart.state);
	for (uint32_t k = 0; k < STEPS; k++) {
		cr_assert_lt(step(&together, all, NULL, 0), CRATES / 8);
		for (uint32_t i = 0; i < CRATES; i++)
			step(&apart, each[i], NULL, 0);
		cr_assert_eq(state_hash(together.state), state_hash(apart.state), "step %u", k);
	}
	cr_assert_neq(state_hash(apart.state), first);
	struct physics_stats stats = physics_stats(all);
	worker_add_stats(together.worker, &stats);
	cr_assert_gt(stats.contacts, STEPS, "no crate has reached the ground");
	physics_destroy(all);
	for (uint32_t i = 0; i < CRATES; i++)
		physics_destroy(each[i]);
	end(&together);
	end(&apart);
}

/* Two workers step by turns, so that each meets the ground in lists that the other worker has made. */
static void step_in_turn(
	const struct place *place, struct physics *physics, struct worker *const workers[2], uint32_t k)
{
	struct troupe_error error = {0};
	for (uint32_t w = 0; w < 2; w++)
		worker_begin(workers[w], &options);
	cr_assert_eq(physics_begin(physics, NULL, 0, DT, &error), TROUPE_OK, "%s", error.text);
	for (uint32_t i = 0; i < physics_ode_world_count(physics); i++)
		cr_assert_eq(worker_step(workers[k % 2], physics, i, 1, &error), TROUPE_OK, "%s", error.text);
	cr_assert_eq(physics_end(physics, place->boxes, &error), TROUPE_OK, "%s", error.text);
	for (uint32_t i = 0; i < physics_awake(physics)->count; i++)
		state_advance(place->state, physics_awake(physics)->at[i]);
}

/* The ground is removed, and comes back, while crates lie on it: each worker has its own ODE geom of the ground. */
static void place_ground(const struct place *place, struct physics *physics, uint32_t placing)
{
	place->present[place->ground] = placing;
	physics_set_statics(physics, place->present);
}

Test(ode_worlds, which_worker_steps_one_makes_no_difference)
{
	enum { STEPS = 900, GOES = 600, COMES = 650 };
	struct place alone, turns;
	begin(&alone);
	begin(&turns);
	struct physics *one = runner(&alone, 0, CRATES), *two = runner(&turns, 0, CRATES);
	physics_share(two);
	struct worker *workers[2] = {worker_create(turns.scene, two), worker_create(turns.scene, NULL)};
	for (uint32_t k = 0; k < STEPS; k++) {
		if (k == GOES || k == COMES) {
			place_ground(&alone, one, k == GOES ? 0 : 2);
			place_ground(&turns, two, k == GOES ? 0 : 2);
		}
		step(&alone, one, NULL, 0);
		step_in_turn(&turns, two, workers, k);
		cr_assert_eq(state_hash(alone.state), state_hash(turns.state), "step %u", k);
	}
	struct physics_stats own = {0}, help = {0}, all = {0};
	worker_add_stats(workers[0], &own);
	worker_add_stats(workers[1], &help);
	worker_add_stats(alone.worker, &all);
	cr_assert_gt(help.contacts, 0);
	cr_assert_eq(own.contacts + help.contacts, all.contacts);
	cr_assert_eq(own.helped, 0);
	cr_assert_eq(help.helped, (uint64_t)STEPS * CRATES / 2, "the worker without models has half of the steps");
	physics_destroy(one);
	physics_destroy(two);
	worker_destroy(workers[0]);
	worker_destroy(workers[1]);
	end(&alone);
	end(&turns);
}
