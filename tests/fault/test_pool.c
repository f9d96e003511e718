/* Pools of servers (troupe/pool.h), whose threads step some worlds in turn on stacks of their own, so that robots of
 * one shape in different worlds are solved side by side: each world has the bits that it has alone, whatever the others
 * are, and a world that fails in the middle of its step fails alone. A plain program, so that the sanitizers follow the
 * changes of stacks. */
#include "check.h"

#include <troupe/command.h>
#include <troupe/pool.h>

#include <stdlib.h>
#include <string.h>

enum { SERVERS = 30, ROUNDS = 5, FALL_STEPS = 3000 };

/* Piles, islands with more rows than lanes take, robots with loops, and crowds that sleep. */
static const char *const files[] = {
	"worlds/warehouse", "worlds/heap", "worlds/mechanisms", "worlds/crowd", "worlds/jam", "worlds/shapes"};

static const char robot[] =
	"<sdf version='1.9'><world name='w'><physics name='p' type='ode'><max_step_size>%g</max_step_size>"
	"<real_time_factor>0</real_time_factor></physics><model name='ground'><static>1</static><link name='l'>"
	"<collision name='c'><geometry><plane/></geometry></collision></link></model><model name='robot'><pose>0 0 0.3 "
	"0 "
	"0 %g</pose><link name='base'><inertial><mass>%g</mass></inertial><collision name='c'><geometry><box><size>0.6 "
	"0.4 0.2</size></box></geometry></collision></link><link name='wheel'><pose>0.2 0.3 0 1.5707 0 "
	"0</pose><collision "
	"name='c'><geometry><sphere><radius>0.2</radius></sphere></geometry></collision></link><joint name='axle' "
	"type='revolute'><parent>base</parent><child>wheel</child><axis><xyz>0 0 1</xyz></axis></joint><plugin "
	"filename='gz-sim-joint-controller-system' "
	"name='gz::sim::systems::JointController'><joint_name>axle</joint_name>"
	"<initial_velocity>%g</initial_velocity></plugin></model></world></sdf>";

struct world {
	char path[1000], text[3000];
	struct troupe_server_def def;
};

static void define(struct world *world, uint64_t seed)
{
	world->def = troupe_server_def_default();
	world->def.world_path = world->path;
	world->def.world_text = *world->text ? world->text : NULL;
	world->def.secondaries = 0;
	world->def.pace = TROUPE_PACE_FACTOR;
	world->def.seed = seed;
}

static struct troupe_server *make(const struct world *world)
{
	struct troupe_server *server = NULL;
	struct troupe_error error;
	or_die(troupe_server_create(&world->def, &server, &error), &error);
	return server;
}

static struct troupe_pool *pool_of(uint32_t threads)
{
	struct troupe_pool *pool = NULL;
	struct troupe_error error;
	or_die(troupe_pool_create(threads, &pool, &error), &error);
	return pool;
}

static void define_file(struct world *world, const char *file, uint64_t seed)
{
	const char *source = getenv("SOURCE_DIR");
	*world->text = '\0';
	snprintf(world->path, sizeof world->path, "%s/%s.sdf", source ? source : ".", file);
	define(world, seed);
}

/* Robots of one shape that differ in masses, speeds, turns and some in their step; every fifth world is a file. */
static void define_mixed(struct world *world, uint32_t i)
{
	if (i % 5 == 4) {
		define_file(world, files[i / 5], i);
		return;
	}
	strcpy(world->path, "robot.sdf");
	snprintf(world->text, sizeof world->text, robot, i % 7 == 3 ? 0.002 : 0.001, 0.1 * i, 3 + 0.5 * i, 1 + 0.1 * i);
	define(world, i);
}

static void destroy_all(struct troupe_server **servers, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		troupe_server_destroy(servers[i]);
}

static void test_mixed_worlds(void)
{
	struct troupe_server *alone[SERVERS], *pooled[SERVERS];
	const uint32_t threads[ROUNDS] = {1, 2, 3, 1, 2};
	const uint64_t steps[ROUNDS] = {1, 7, 40, 64, 30};
	const struct troupe_server_def *defs[SERVERS];
	struct world *worlds = calloc(SERVERS, sizeof *worlds);
	struct troupe_pool *maker = pool_of(3);
	struct troupe_error error;
	for (uint32_t i = 0; i < SERVERS; i++) {
		define_mixed(&worlds[i], i);
		defs[i] = &worlds[i].def;
		alone[i] = make(&worlds[i]);
	}
	or_die(troupe_pool_create_servers(maker, defs, SERVERS, pooled, NULL, &error), &error);
	troupe_pool_destroy(maker);
	free(worlds);
	for (uint32_t k = 0; k < ROUNDS; k++) {
		struct troupe_pool *pool = pool_of(threads[k]);
		for (int again = 0; again < 2; again++)
			or_die(troupe_pool_step(pool, pooled, SERVERS, steps[k], NULL, &error), &error);
		troupe_pool_destroy(pool);
		for (uint32_t i = 0; i < SERVERS; i++) {
			or_die(troupe_server_step(alone[i], 2 * steps[k], &error), &error);
			check(troupe_server_hash(pooled[i]) == troupe_server_hash(alone[i]),
				"world %u, round %u: other bits than alone", i, k);
		}
	}
	destroy_all(alone, SERVERS);
	destroy_all(pooled, SERVERS);
}

/* Worlds whose only model falls beyond all limits, among others: these go on, and the pool is good for another round.
 */
static void test_failures(void)
{
	struct troupe_server *servers[SERVERS];
	struct troupe_error errors[SERVERS], error;
	struct troupe_pool *pool = pool_of(2);
	for (uint32_t i = 0; i < SERVERS; i++) {
		struct world world = {.path = ""};
		define_mixed(&world, i % 5 == 4 ? 0 : i);
		if (i % 3 == 0)
			define_file(&world, "tests/worlds/falls", 0);
		servers[i] = make(&world);
	}
	for (uint32_t round = 1; round <= 2; round++) {
		/* a world that has failed refuses further steps */
		const troupe_status expected = round == 1 ? TROUPE_EDIVERGED : TROUPE_EINVAL;
		check(troupe_pool_step(pool, servers, SERVERS, FALL_STEPS, errors, &error) == expected, "%s",
			error.text);
		for (uint32_t i = 0; i < SERVERS; i++) {
			bool whole = troupe_server_progress(servers[i]).steps == round * FALL_STEPS;
			check(i % 3 ? !errors[i].status && whole : errors[i].status == expected,
				"round %u, world %u: status %d", round, i, (int)errors[i].status);
		}
	}
	troupe_pool_destroy(pool);
	destroy_all(servers, SERVERS);
}

int main(void)
{
	test_mixed_worlds();
	test_failures();
	return check_totals();
}
