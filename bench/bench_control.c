/* Measures the cost of a program that reads a cart's state and commands the cart in every step, through the library.
 * The baseline is the same carts, driven by a command that is given once. The control is feedback on the cart's
 * speed and heading, so that the numbers differ from step to step. */
#include "bench.h"

#include "base/text.h"

#include <troupe/command.h>

#include <stdio.h>
#include <stdlib.h>

enum way { WAY_ALONE, WAY_STEPS, WAY_CALLBACK, WAYS };

static const char *const names[WAYS] = {"nobody", "a loop of troupe_server_step(1)", "on_step"};

struct controller {
	troupe_model cart;
	uint64_t reads;
};

static const char cart[] =
	"<link name='base'><pose>0 0 0.2 0 0 "
	"0</pose><inertial><mass>10</mass><inertia><ixx>0.2</ixx><iyy>0.35</iyy><izz>0.45"
	"</izz></inertia></inertial><collision name='c'><geometry><box><size>0.6 0.4 "
	"0.2</size></box></geometry></collision>"
	"<collision name='caster'><pose>-0.2 0 -0.12 0 0 "
	"0</pose><geometry><sphere><radius>0.08</radius></sphere></geometry>"
	"<surface><friction><ode><mu>0</mu><mu2>0</mu2></ode></friction></surface></collision></link>";

static void add_wheel(struct text *world, const char *side, double y)
{
	text_add(world,
		"<link name='%s'><pose>0.1 %g 0.15 -1.5707963 0 "
		"0</pose><inertial><mass>1</mass><inertia><ixx>0.006</ixx>"
		"<iyy>0.006</iyy><izz>0.011</izz></inertia></inertial><collision "
		"name='c'><geometry><sphere><radius>0.15"
		"</radius></sphere></geometry></collision></link><joint name='%s_joint' "
		"type='revolute'><parent>base</parent>"
		"<child>%s</child><axis><xyz expressed_in='__model__'>0 1 0</xyz></axis></joint>",
		side, y, side, side);
}

static char *make_world(int carts)
{
	struct text world = {0};
	text_add(&world,
		"<sdf version='1.9'><world name='w'><model name='ground'><static>true</static><link "
		"name='l'><collision "
		"name='c'><geometry><plane><normal>0 0 1</normal><size>9 9</size></plane></geometry></collision></link>"
		"</model>");
	for (int i = 0; i < carts; i++) {
		text_add(&world, "<model name='cart_%d'><pose>0 %d 0 0 0 0</pose>%s", i, 3 * i, cart);
		add_wheel(&world, "left", 0.25);
		add_wheel(&world, "right", -0.25);
		text_add(&world,
			"<plugin name='gz::sim::systems::DiffDrive' filename='x'><left_joint>left_joint</left_joint>"
			"<right_joint>right_joint</right_joint><wheel_separation>0.5</wheel_separation><wheel_radius>"
			"0.15</wheel_radius></plugin></model>");
	}
	text_add(&world, "</world></sdf>");
	return world.at;
}

static void must(troupe_status status, const struct troupe_error *error)
{
	if (!status)
		return;
	fprintf(stderr, "bench_control: %s\n", error->text);
	exit(1);
}

/* Towards 0.5 m/s straight ahead. */
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
	struct troupe_error error;
	if (way == WAY_CALLBACK) {
		def.step_every = 1;
		def.on_step = on_step;
		def.ctx = controller;
	}
	struct troupe_server *server = bench_create(&def);
	const struct troupe_twist ahead = {{0.5, 0, 0}, {0, 0, 0}};
	for (int i = 0; i < carts; i++) {
		char name[20];
		(void)snprintf(name, sizeof name, "cart_%d", i);
		must(troupe_command_twist(server, NULL, troupe_find_model(server, 0, name), &ahead, NULL, &error),
			&error);
	}
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
	for (uint64_t i = 0; i < steps; i++) { /* after each step, as on_step is called */
		must(troupe_server_step(server, 1, &error), &error);
		control(server, controller);
	}
	return (double)(bench_now_ns() - begin);
}

static void measure(const struct bench_options *options, int carts, uint64_t steps)
{
	char *world = make_world(carts), subject[96];
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
