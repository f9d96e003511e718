/* The library for programs in languages in which calls are dear: many handles in one call, many servers stepped at
 * once, and messages without protobuf. Each is compared with the call for one, or with the numbers that went in. */
#include "../named.h"
#include "library.h"

#include <troupe/client.h>
#include <troupe/message.h>
#include <troupe/pool.h>

TestSuite(library_many, .fini = lib_end, .timeout = 120);

enum { MODELS = 4, SERVERS = 7 };

static const char *const names[MODELS] = {"cart", "arm", "pusher", "falling"};

/* --- handles ------------------------------------------------------------------------------------------------------ */

Test(library_many, reads_the_same_as_one_by_one)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	troupe_model models[MODELS + 1] = {{0}};
	struct troupe_pose poses[MODELS + 1], alone[MODELS + 1];
	struct troupe_twist twists[MODELS + 1];
	for (int i = 0; i < MODELS; i++)
		models[i] = lib_model(server, names[i]);
	lib_step(server, 200);
	cr_assert_eq(troupe_get_models(server, models, MODELS + 1, poses, twists), MODELS, "the last handle is empty");
	for (int i = 0; i < MODELS; i++) {
		struct troupe_model_state state = lib_at(server, models[i]);
		cr_assert_not(memcmp(&poses[i], &state.pose, sizeof poses[i]), "the pose of %s", names[i]);
		cr_assert_not(memcmp(&twists[i], &state.twist, sizeof twists[i]), "the twist of %s", names[i]);
	}
	cr_assert(twists[3].linear.z < -1, "%s falls", names[3]);
	cr_assert(isnan(poses[MODELS].x) && isnan(poses[MODELS].qw) && isnan(twists[MODELS].angular.z));
	cr_assert_eq(troupe_get_models(server, models, MODELS, alone, NULL), MODELS);
	cr_assert_not(memcmp(alone, poses, MODELS * sizeof *poses), "poses alone are the same");
}

Test(library_many, reads_links_and_joints)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	troupe_link links[] = {lib_link(server, "arm", "fore"), {0}, lib_link(server, "cart", "left")};
	troupe_joint joints[] = {lib_joint(server, "arm", "elbow"), {0}};
	struct troupe_pose poses[3];
	struct troupe_twist twists[3];
	struct troupe_joint_state states[2];
	struct troupe_error error;
	must(troupe_command_joint(server, NULL, joints[0], 2, NULL, &error));
	lib_step(server, 100);
	cr_assert_eq(troupe_get_links(server, links, 3, poses, twists), 2);
	cr_assert_eq(troupe_get_joints(server, joints, 2, states), 1);
	struct troupe_link_state fore = lib_link_at(server, links[0]), left = lib_link_at(server, links[2]);
	struct troupe_joint_state elbow = lib_joint_at(server, joints[0]);
	cr_assert(!memcmp(&poses[0], &fore.pose, sizeof fore.pose) && !memcmp(&poses[2], &left.pose, sizeof left.pose));
	cr_assert_not(memcmp(&twists[0], &fore.twist, sizeof fore.twist));
	cr_assert(isnan(poses[1].z) && isnan(twists[1].linear.x) && isnan(states[1].velocity[0]));
	cr_assert_not(memcmp(&states[0], &elbow, sizeof elbow));
	cr_assert(fabs(elbow.velocity[0] - 2) < 1e-3, "the elbow turns: %g", elbow.velocity[0]);
}

static uint64_t hash_of_commands(bool many)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	troupe_model models[] = {lib_model(server, "cart"), lib_model(server, "pusher")};
	troupe_joint joints[] = {lib_joint(server, "arm", "elbow"), lib_joint(server, "arm", "wrist")};
	troupe_link links[] = {lib_link(server, "crate", "l"), lib_link(server, "falling", "l")};
	const struct troupe_twist twists[] = {{{0.5, 0, 0}, {0, 0, 0.3}}, {{0, 0.25, 0}, {0, 0, 0}}};
	const struct troupe_wrench wrenches[] = {{{30, 0, 0}, {0, 0, 0}}, {{0, 0, 0}, {0, 0, 2}}};
	const double numbers[] = {1.5, -0.5};
	struct troupe_error error;
	for (uint32_t i = 0; i < 2 && !many; i++) {
		must(troupe_command_twist(server, NULL, models[i], &twists[i], NULL, &error));
		must(troupe_command_joint(server, NULL, joints[i], numbers[i], NULL, &error));
		must(troupe_command_wrench(server, NULL, links[i], &wrenches[i], NULL, &error));
	}
	if (many) {
		must(troupe_command_twists(server, NULL, models, 2, twists, &error));
		must(troupe_command_joints(server, NULL, joints, 2, numbers, &error));
		must(troupe_command_wrenches(server, NULL, links, 2, wrenches, &error));
	}
	lib_step(server, 200);
	uint64_t hash = troupe_server_hash(server);
	lib_destroy(server);
	return hash;
}

Test(library_many, commands_the_same_as_one_by_one)
{
	struct troupe_server *idle = lib_server(lib_all, 0);
	lib_step(idle, 200);
	uint64_t alone = hash_of_commands(false), many = hash_of_commands(true);
	cr_assert_eq(alone, many);
	cr_assert_neq(alone, troupe_server_hash(idle), "the commands have an effect");
}

Test(library_many, names_the_command_that_is_refused)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	troupe_model models[] = {lib_model(server, "pusher"), lib_model(server, "pusher"), {0}};
	const struct troupe_twist twists[] = {{{1, 0, 0}, {0, 0, 0}}, {{NAN, 0, 0}, {0, 0, 0}}, {{0, 0, 0}, {0, 0, 0}}};
	refused(TROUPE_ECOMMAND, troupe_command_twists(server, NULL, models, 3, twists, &lib_error));
	cr_assert(!strncmp(lib_error.text, "item 1: ", 8), "%s", lib_error.text);
	refused(TROUPE_ECOMMAND, troupe_command_twists(server, NULL, models + 2, 1, twists, &lib_error));
	cr_assert(!strncmp(lib_error.text, "item 0: ", 8), "%s", lib_error.text);
	lib_step(server, 2);
	cr_assert(lib_at(server, models[0]).twist.linear.x > 0.5, "the command before the refused one is given");
}

/* --- servers ------------------------------------------------------------------------------------------------------ */

/* Servers whose carts drive at different speeds. */
static void make_servers(struct troupe_server *ret_servers[SERVERS])
{
	for (int i = 0; i < SERVERS; i++) {
		ret_servers[i] = lib_server(lib_all, i == SERVERS - 1 ? 2 : 0);
		struct troupe_twist twist = {{0.1 * (i + 1), 0, 0}, {0, 0, 0}};
		must(troupe_command_twist(
			ret_servers[i], NULL, lib_model(ret_servers[i], "cart"), &twist, NULL, &lib_error));
	}
}

static void destroy_servers(struct troupe_server *servers[SERVERS])
{
	for (int i = 0; i < SERVERS; i++)
		lib_destroy(servers[i]);
}

static struct troupe_pool *pool_of(uint32_t threads)
{
	struct troupe_pool *pool = NULL;
	must(troupe_pool_create(threads, &pool, &lib_error));
	return pool;
}

/* Rounds of one step are where a thread that is late for a round could do harm. */
Test(library_many, steps_servers_to_the_same_bits)
{
	struct troupe_server *alone[SERVERS], *pooled[SERVERS];
	enum { ROUNDS = 300 };
	make_servers(alone);
	make_servers(pooled);
	for (int i = 0; i < SERVERS; i++)
		lib_step(alone[i], ROUNDS);
	const uint32_t threads[] = {1, 2, 5};
	for (int k = 0; k < 3; k++) {
		struct troupe_pool *pool = pool_of(threads[k]);
		cr_assert_eq(troupe_pool_threads(pool), threads[k]);
		for (int round = 0; round < ROUNDS / 3; round++)
			must(troupe_pool_step(pool, pooled, SERVERS, 1, NULL, &lib_error));
		troupe_pool_destroy(pool);
	}
	for (int i = 0; i < SERVERS; i++) {
		cr_assert_eq(lib_steps(pooled[i]), ROUNDS, "server %d", i);
		cr_assert_eq(troupe_server_hash(pooled[i]), troupe_server_hash(alone[i]), "server %d", i);
		cr_assert(!i || troupe_server_hash(pooled[i]) != troupe_server_hash(pooled[i - 1]), "server %d", i);
	}
	destroy_servers(alone);
	destroy_servers(pooled);
}

/* A program's callbacks may look where the stack is. */
static void on_step_of_pool(void *ctx, struct troupe_server *server, uint64_t step)
{
	uint32_t *calls = ctx;
	pthread_attr_t attr;
	void *low;
	size_t bytes;
	char here;
	(void)server, (void)step;
	++*calls;
	cr_assert_not(pthread_getattr_np(pthread_self(), &attr));
	cr_assert_not(pthread_attr_getstack(&attr, &low, &bytes));
	cr_assert(&here > (char *)low && &here < (char *)low + bytes, "the stack is the thread's");
	pthread_attr_destroy(&attr);
}

Test(library_many, callbacks_in_a_pool_have_the_stack_of_a_thread)
{
	struct troupe_server *servers[SERVERS];
	struct troupe_pool *pool = pool_of(1);
	uint32_t calls = 0;
	for (int i = 0; i < SERVERS; i++) {
		struct troupe_server_def def = lib_def(lib_all, 0);
		def.step_every = 1;
		def.on_step = i % 2 ? on_step_of_pool : NULL;
		def.ctx = &calls;
		servers[i] = lib_create(&def);
	}
	must(troupe_pool_step(pool, servers, SERVERS, 10, NULL, &lib_error));
	cr_assert_eq(calls, SERVERS / 2 * 10);
	troupe_pool_destroy(pool);
	destroy_servers(servers);
}

/* A turn is the commands, steps and looks at each server alone; one that rests is only looked at. */
Test(library_many, a_turn_commands_steps_and_observes)
{
	enum { STEPS = 50, ROW = 3 };
	struct troupe_server *alone[SERVERS], *pooled[SERVERS];
	struct troupe_pool *pool = pool_of(3);
	double commands[SERVERS][2], seen[SERVERS][ROW];
	uint32_t delays[SERVERS] = {0};
	bool rests[SERVERS] = {false};
	make_servers(alone);
	make_servers(pooled);
	troupe_model cart = lib_model(pooled[0], "cart");
	const troupe_sensor handle = {cart.at, cart.born, cart.world, 0};
	const struct troupe_part act = {.kind = TROUPE_PART_TWIST, .handle = handle, .count = 2, .which = {5, 0}};
	const struct troupe_part look[] = {{.kind = TROUPE_PART_POSE, .handle = handle, .count = 2, .which = {1, 0}},
		{.kind = TROUPE_PART_TWIST, .handle = handle, .count = 1, .which = {5}}};
	delays[1] = 20;
	rests[SERVERS - 1] = true;
	for (int i = 0; i < SERVERS; i++) {
		commands[i][0] = 0.2 * (i + 1);
		commands[i][1] = 0.5 - 0.1 * i;
		struct troupe_twist twist = {{commands[i][1], 0, 0}, {0, 0, commands[i][0]}};
		lib_step(alone[i], rests[i] ? 0 : delays[i]);
		if (!rests[i])
			must(troupe_command_twist(alone[i], NULL, cart, &twist, NULL, &lib_error));
		lib_step(alone[i], rests[i] ? 0 : STEPS - delays[i]);
	}
	struct troupe_turn turn = {.servers = pooled,
		.count = SERVERS,
		.steps = STEPS,
		.actions = &act,
		.observations = look,
		.action_count = 1,
		.observation_count = 2,
		.commands = commands[0],
		.delays = delays,
		.rests = rests,
		.ret_observed = seen[0]};
	must(troupe_pool_turn(pool, &turn, NULL, &lib_error));
	for (int i = 0; i < SERVERS; i++) {
		struct troupe_model_state state = lib_at(alone[i], cart);
		const double wanted[ROW] = {state.pose.y, state.pose.x, state.twist.angular.z};
		cr_assert_eq(lib_steps(pooled[i]), lib_steps(alone[i]), "server %d", i);
		cr_assert_eq(troupe_server_hash(pooled[i]), troupe_server_hash(alone[i]), "server %d", i);
		cr_assert_not(memcmp(seen[i], wanted, sizeof wanted), "server %d: %g %g %g", i, seen[i][0], seen[i][1],
			seen[i][2]);
	}
	/* what is no number of its kind is refused, and nothing is done */
	const struct troupe_part bad[] = {{.kind = TROUPE_PART_TWIST, .handle = handle, .count = 2, .which = {0, 6}},
		{.kind = TROUPE_PART_POSE, .handle = handle, .count = 1},
		{.kind = (troupe_part_kind)77, .handle = handle, .count = 1},
		{.kind = TROUPE_PART_TWIST, .handle = handle, .count = TROUPE_PART_NUMBERS + 1}};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		turn.actions = &bad[i];
		refused(TROUPE_EINVAL, troupe_pool_turn(pool, &turn, NULL, &lib_error));
		cr_assert_eq(lib_steps(pooled[0]), STEPS, "%zu", i);
	}
	troupe_pool_destroy(pool);
	destroy_servers(alone);
	destroy_servers(pooled);
}

static const char light_world[] = LIB_SDF(LIB_WORLD("w", LIB_MODEL("stone", "0 0 1 0 0 0", LIB_BOX)));
/* Every other server fails. */
Test(library_many, gives_the_error_of_each_server)
{
	enum { STEPS = 10000 };
	struct troupe_server *servers[SERVERS];
	struct troupe_error errors[SERVERS];
	struct troupe_pool *pool = pool_of(3);
	for (int i = 0; i < SERVERS; i++)
		servers[i] = lib_server(i % 2 ? named_world("falls", NULL) : light_world, 0);
	refused(TROUPE_EDIVERGED, troupe_pool_step(pool, servers, SERVERS, STEPS, errors, &lib_error));
	cr_assert_str_eq(lib_error.text, errors[1].text, "the first that failed");
	cr_assert(strstr(lib_error.text, "stone"), "%s", lib_error.text);
	for (int i = 0; i < SERVERS; i++) {
		cr_assert_eq(errors[i].status, i % 2 ? TROUPE_EDIVERGED : TROUPE_OK, "server %d", i);
		cr_assert(i % 2 ? lib_steps(servers[i]) < STEPS : lib_steps(servers[i]) == STEPS, "server %d", i);
	}
	troupe_pool_destroy(pool);
	destroy_servers(servers);
}

/* Made by the threads of a pool they are the same as made one by one, and one that cannot be made stops no other. */
Test(library_many, makes_servers)
{
	struct troupe_server_def defs[SERVERS];
	const struct troupe_server_def *list[SERVERS];
	struct troupe_server *made[SERVERS];
	struct troupe_error errors[SERVERS];
	const uint32_t threads[] = {1, 3};
	for (int k = 0; k < 2; k++) {
		struct troupe_pool *pool = pool_of(threads[k]);
		for (int i = 0; i < SERVERS; i++) {
			defs[i] = lib_def(i == 2 || i == 5 ? "<sdf version='1.9'><world/></sdf>" : lib_all, 0);
			defs[i].seed = (uint64_t)i;
			list[i] = &defs[i];
			made[i] = (struct troupe_server *)&defs; /* is overwritten */
		}
		refused(TROUPE_EWORLD, troupe_pool_create_servers(pool, list, SERVERS, made, errors, &lib_error));
		cr_assert_str_eq(lib_error.text, errors[2].text, "the first that failed");
		for (int i = 0; i < SERVERS; i++) {
			cr_assert_eq(errors[i].status, i == 2 || i == 5 ? TROUPE_EWORLD : TROUPE_OK, "server %d", i);
			cr_assert_eq(!made[i], i == 2 || i == 5, "server %d", i);
			if (!made[i])
				continue;
			struct troupe_server *alone = lib_create(&defs[i]);
			cr_assert_eq(troupe_server_seed(made[i]), (uint64_t)i);
			must(troupe_server_step(made[i], 20, &lib_error));
			lib_step(alone, 20);
			cr_assert_eq(troupe_server_hash(made[i]), troupe_server_hash(alone), "server %d", i);
			lib_destroy(alone);
			troupe_server_destroy(made[i]);
		}
		/* the pool steps afterwards */
		struct troupe_server *servers[] = {lib_server(lib_all, 0), lib_server(lib_all, 0)};
		must(troupe_pool_step(pool, servers, 2, 5, NULL, &lib_error));
		cr_assert_eq(lib_steps(servers[1]), 5);
		refused(TROUPE_EINVAL,
			troupe_pool_create_servers(pool, NULL, TROUPE_POOL_SERVERS_MAX + 1, NULL, NULL, &lib_error));
		troupe_pool_destroy(pool);
		lib_destroy(servers[0]);
		lib_destroy(servers[1]);
	}
}

Test(library_many, refuses_pools_and_lists_that_are_too_large)
{
	struct troupe_pool *pool = NULL;
	refused(TROUPE_EINVAL, troupe_pool_create(TROUPE_POOL_THREADS_MAX + 1, &pool, &lib_error));
	cr_assert_null(pool);
	pool = pool_of(0);
	cr_assert_geq(troupe_pool_threads(pool), 1);
	refused(TROUPE_EINVAL, troupe_pool_step(pool, NULL, TROUPE_POOL_SERVERS_MAX + 1, 1, NULL, &lib_error));
	must(troupe_pool_step(pool, NULL, 0, 1, NULL, &lib_error));
	troupe_pool_destroy(pool);
	troupe_pool_destroy(NULL);
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

static void *bytes_of(const char *type, const char *json, size_t *ret_count)
{
	void *bytes = NULL;
	must(troupe_message_from_json(type, json, &bytes, ret_count, &lib_error));
	cr_assert_not_null(bytes);
	return bytes;
}

static struct troupe_numbers numbers_of(const char *type, const void *bytes, size_t count, const char *path)
{
	struct troupe_numbers numbers;
	must(troupe_message_numbers(type, bytes, count, path, &numbers, &lib_error));
	if (numbers.count)
		cr_assert((const char *)numbers.at > (const char *)bytes &&
				  (const char *)numbers.at < (const char *)bytes + count,
			"%s lies in the message", path);
	return numbers;
}

Test(library_many, messages_become_json_and_back)
{
	static const char json[] = "{\"linear\":{\"x\":0.5,\"z\":-2},\"angular\":{\"z\":0.1}}";
	size_t count;
	char *again = NULL;
	void *bytes = bytes_of("ignition.msgs.Twist", json, &count);
	must(troupe_message_to_json("gz.msgs.Twist", bytes, count, &again, &lib_error));
	cr_assert_str_eq(again, json);
	free(again);
	free(bytes);
	free(bytes_of("gz.msgs.Twist", "{}", &count));
	cr_assert_eq(count, 0);
	refused(TROUPE_ECOMMAND, troupe_message_from_json("gz.msgs.Twist", "{\"x\":1}", &bytes, &count, &lib_error));
	refused(TROUPE_ECOMMAND, troupe_message_from_json("gz.msgs.Twist", "{", &bytes, &count, &lib_error));
	refused(TROUPE_ECOMMAND, troupe_message_from_json("gz.msgs.None", "{}", &bytes, &count, &lib_error));
	refused(TROUPE_ECOMMAND, troupe_message_to_json("None", "", 0, &again, &lib_error));
	refused(TROUPE_ECOMMAND, troupe_message_to_json("Twist", "\x12\x7f", 2, &again, &lib_error));
}

Test(library_many, numbers_are_found_in_place)
{
	static const char scan[] = "{\"frame\":\"l\",\"world_pose\":{\"position\":{\"y\":7.5}},\"count\":3,"
				   "\"ranges\":[1.5,\"Infinity\",-2],\"intensities\":[]}";
	static const double ranges[] = {1.5, INFINITY, -2};
	size_t count;
	void *bytes = bytes_of("LaserScan", scan, &count);
	struct troupe_numbers found = numbers_of("LaserScan", bytes, count, "ranges");
	cr_assert(found.kind == TROUPE_NUMBER_DOUBLE && found.count == 3);
	cr_assert_not(memcmp(found.at, ranges, sizeof ranges));
	found = numbers_of("LaserScan", bytes, count, "world_pose.position.y");
	double y = 0;
	cr_assert(found.kind == TROUPE_NUMBER_DOUBLE && found.count == 1);
	memcpy(&y, found.at, sizeof y);
	cr_assert_eq(y, 7.5);
	cr_assert_eq(numbers_of("LaserScan", bytes, count, "world_pose.position.x").count, 0, "the default");
	cr_assert_eq(numbers_of("LaserScan", bytes, count, "intensities").count, 0);
	free(bytes);
	bytes = bytes_of("Image", "{\"width\":2,\"data\":\"AAEC/w==\"}", &count);
	found = numbers_of("Image", bytes, count, "data");
	cr_assert(found.kind == TROUPE_NUMBER_BYTE && found.count == 4);
	cr_assert_not(memcmp(found.at, "\0\1\2\377", 4));
	free(bytes);
}

static double number_of(const char *type, const void *bytes, size_t count, const char *path)
{
	double number = NAN;
	must(troupe_message_number(type, bytes, count, path, &number, &lib_error));
	return number;
}

Test(library_many, one_number_of_any_type)
{
	size_t count;
	double number;
	void *bytes =
		bytes_of("Image", "{\"width\":640,\"pixel_format_type\":\"R_FLOAT32\",\"data\":\"AAEC\"}", &count);
	cr_assert_eq(number_of("Image", bytes, count, "width"), 640);
	cr_assert_eq(number_of("Image", bytes, count, "height"), 0, "the default");
	cr_assert_eq(number_of("Image", bytes, count, "pixel_format_type"), 13, "R_FLOAT32");
	refused(TROUPE_ECOMMAND, troupe_message_number("Image", bytes, count, "data", &number, &lib_error));
	refused(TROUPE_ECOMMAND, troupe_message_number("Image", bytes, count, "wide", &number, &lib_error));
	refused(TROUPE_ECOMMAND, troupe_message_number("Image", bytes, count - 1, "width", &number, &lib_error));
	free(bytes);
	bytes = bytes_of(
		"LaserScan", "{\"angle_min\":-1.5,\"header\":{\"stamp\":{\"sec\":\"-7\",\"nsec\":-8}}}", &count);
	cr_assert_eq(number_of("LaserScan", bytes, count, "angle_min"), -1.5);
	cr_assert_eq(number_of("LaserScan", bytes, count, "header.stamp.sec"), -7);
	cr_assert_eq(number_of("LaserScan", bytes, count, "header.stamp.nsec"), -8);
	refused(TROUPE_ECOMMAND, troupe_message_number("LaserScan", bytes, count, "ranges", &number, &lib_error));
	free(bytes);
	bytes = bytes_of("Boolean", "{\"data\":true}", &count);
	cr_assert_eq(number_of("Boolean", bytes, count, "data"), 1);
	free(bytes);
}

Test(library_many, numbers_that_are_none_are_refused)
{
	static const char *const paths[] = {"", "rangs", "frame", "count", "world_pose", "world_pose.position",
		"world_pose.position.w", "ranges.x", "world_pose..x", "world_pose.position.x.y", "."};
	static const char apart[] =
		"\x71\0\0\0\0\0\0\0\0\x71\0\0\0\0\0\0\0\0"; /* ranges, not packed: field 14, fixed64 */
	static const char odd[] = "\x72\x03\1\2\3";         /* three bytes of doubles */
	struct troupe_numbers found;
	size_t count;
	void *bytes = bytes_of("LaserScan", "{\"ranges\":[1],\"count\":3}", &count);
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		refused(TROUPE_ECOMMAND,
			troupe_message_numbers("LaserScan", bytes, count, paths[i], &found, &lib_error));
	refused(TROUPE_ECOMMAND, troupe_message_numbers("LaserScan", apart, 18, "ranges", &found, &lib_error));
	must(troupe_message_numbers("LaserScan", apart, 9, "ranges", &found, &lib_error));
	cr_assert_eq(found.count, 1);
	refused(TROUPE_ECOMMAND, troupe_message_numbers("LaserScan", odd, 5, "ranges", &found, &lib_error));
	refused(TROUPE_ECOMMAND, troupe_message_numbers("LaserScan", bytes, count - 1, "ranges", &found, &lib_error));
	refused(TROUPE_ECOMMAND, troupe_message_numbers("Scan", bytes, count, "ranges", &found, &lib_error));
	free(bytes);
}
