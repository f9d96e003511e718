/* Pools of servers (troupe/pool.h), whose threads step some worlds in turn on stacks of their own, so that robots of
 * one shape in different worlds are solved side by side: each world has the bits that it has alone, whatever the others
 * are, and a world that fails in the middle of its step fails alone. A plain program, so that the sanitizers follow the
 * changes of stacks. */
#include "../named.h"
#include "check.h"

#include <troupe/command.h>
#include <troupe/pool.h>

#include <inttypes.h>
#include <string.h>

enum { SERVERS = 30, ROUNDS = 5, FALL_STEPS = 3000 };

/* Piles, islands with more rows than lanes take, robots with loops, and crowds that sleep. */
static const char *const files[] = {"warehouse", "heap", "mechanisms", "crowd", "jam", "shapes"};

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

static struct troupe_server *make(const char *path, const char *text, uint64_t seed)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server = NULL;
	struct troupe_error error;
	def.world_path = path;
	def.world_text = text;
	def.secondaries = 0;
	def.pace = TROUPE_PACE_FACTOR;
	def.seed = seed;
	or_die(troupe_server_create(&def, &server, &error), &error);
	return server;
}

static struct troupe_pool *pool_of(uint32_t threads)
{
	struct troupe_pool *pool = NULL;
	struct troupe_error error;
	or_die(troupe_pool_create(threads, &pool, &error), &error);
	return pool;
}

/* Robots of one shape that differ in masses, speeds, turns and some in their step; every fifth world is a file. */
static struct troupe_server *make_mixed(uint32_t i)
{
	const char *source = getenv("SOURCE_DIR");
	char text[3000], path[1000];
	if (i % 5 == 4) {
		snprintf(path, sizeof path, "%s/worlds/%s.sdf", source ? source : ".", files[i / 5]);
		return make(path, NULL, i);
	}
	snprintf(text, sizeof text, robot, i % 7 == 3 ? 0.002 : 0.001, 0.1 * i, 3 + 0.5 * i, 1 + 0.1 * i);
	return make("robot.sdf", text, i);
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
	struct troupe_error error;
	for (uint32_t i = 0; i < SERVERS; i++) {
		alone[i] = make_mixed(i);
		pooled[i] = make_mixed(i);
	}
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
	for (uint32_t i = 0; i < SERVERS; i++)
		servers[i] = i % 3 ? make_mixed(i % 5 == 4 ? 0 : i) : make("falls.sdf", named_world("falls", NULL), 0);
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
