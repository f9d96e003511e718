/* Measures the cost of a program that reads a cart's state and commands the cart in every step, through the library.
 * The baseline is the same carts with a command that is given once. The control is feedback on the cart's speed and
 * heading, so that the numbers differ from step to step. */
#include "bench.h"
#include "robots.h"

#include <troupe/command.h>

#include <stdio.h>
#include <stdlib.h>

enum way { WAY_ALONE, WAY_STEPS, WAY_CALLBACK, WAYS };

static const char *const names[WAYS] = {"nobody", "a loop of troupe_server_step(1)", "on_step"};

struct controller {
	troupe_model cart;
	uint64_t reads;
};

static void must(troupe_status status, const struct troupe_error *error)
{
	if (!status)
		return;
	fprintf(stderr, "bench_control: %s\n", error->text);
	exit(1);
}

/* Commands the cart towards 0.5 m/s straight ahead. */
static void control(struct troupe_server *server, struct controller *controller)
{
	struct troupe_model_state state;
	struct troupe_error error;
	if (!troupe_get_model(server, controller->cart, &state))
		exit(1);
	controller->reads++;
	struct troupe_twist twist = {{0.5 + 0.1 * (0.5 - state.twist.linear.x), 0, 0}, {0, 0, -state.pose.qz}};
	must(troupe_command_twist(server, NULL, controller->cart, &twist, NULL, &error), &error);
}

static void on_step(void *ctx, struct troupe_server *server, uint64_t step)
{
	(void)step;
	control(server, ctx);
}

static struct troupe_server *create(const char *world, int carts, enum way way, struct controller *controller)
{
	struct troupe_server_def def = bench_def(world, 0);
	if (way == WAY_CALLBACK) {
		def.step_every = 1;
		def.on_step = on_step;
		def.ctx = controller;
	}
	struct troupe_server *server = bench_create(&def);
	robots_drive(server, carts);
	controller->cart = troupe_find_model(server, 0, "cart_0");
	return server;
}

static double run(
	struct troupe_server *server, enum way way, struct controller *controller, uint64_t *until, uint64_t steps)
{
	struct troupe_error error;
	*until += steps;
	if (way != WAY_STEPS)
		return bench_run(server, *until);
	uint64_t begin = bench_now_ns();
	for (uint64_t i = 0; i < steps; i++) { /* after each step, at the moment at which on_step is called */
		must(troupe_server_step(server, 1, &error), &error);
		control(server, controller);
	}
	return (double)(bench_now_ns() - begin);
}

static void measure(const struct bench_options *options, int carts, uint64_t steps)
{
	char *world = robots_driven_world(carts), subject[96];
	struct controller controllers[WAYS] = {0};
	struct troupe_server *servers[WAYS];
	uint64_t until[WAYS] = {0};
	struct bench_samples rates[WAYS] = {0};
	for (int way = 0; way < WAYS; way++)
		servers[way] = create(world, carts, way, &controllers[way]);
	for (int r = -1; r < options->repeats; r++) {
		double ns[WAYS] = {0};
		bench_progress(options, "control", r);
		for (int turn = 0; turn < BENCH_TURNS; turn++)
			for (int way = 0; way < WAYS; way++)
				ns[way] += run(servers[way], way, &controllers[way], &until[way], steps);
		for (int way = 0; r >= 0 && way < WAYS; way++)
			bench_add(&rates[way], (double)(steps * BENCH_TURNS) / ns[way] * 1e9);
	}
	for (int way = WAY_STEPS; way < WAYS; way++) {
		(void)snprintf(subject, sizeof subject, "%d cart%s, one controlled by %s", carts, carts > 1 ? "s" : "",
			names[way]);
		struct bench_row row = {subject, "steps/s", &rates[way], &rates[WAY_ALONE], .at_least = 0.9,
			.hash = troupe_server_hash(servers[way])};
		bench_print(options, &row);
	}
	bench_same(servers[WAY_STEPS], servers[WAY_CALLBACK], "controlled in two ways");
	for (int way = 0; way < WAYS; way++)
		troupe_server_destroy(servers[way]);
	free(world);
}

int main(int argc, char **argv)
{
	struct bench_options options = bench_parse(argc, argv,
		"bench_control: a program that reads a cart and commands it in each step; baseline: the same carts "
		"alone");
	uint64_t shrink = options.smoke ? 20 : 1;
	measure(&options, 1, 2000 / shrink);
	measure(&options, 8, 1000 / shrink);
	measure(&options, 64, 200 / shrink);
	return 0;
}
