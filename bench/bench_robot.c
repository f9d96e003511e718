/* What a robot-step costs with everything included, beside the bare ODE loop over the same robots. */
#include "bench.h"
#include "robots.h"

#include <stdio.h>
#include <stdlib.h>

enum { SPACING = 2, REPEATS_MAX = 99 };

static void measure(const struct bench_options *options, int robots, int steps, int secondaries)
{
	double mine[REPEATS_MAX], bare_ns[REPEATS_MAX];
	char *world = robots_world(robots, SPACING);
	struct troupe_server *server = bench_server(world, secondaries);
	struct bare *bare = bare_create(robots, SPACING);
	int warm = steps / 4 + 1, repeats = options->repeats < REPEATS_MAX ? options->repeats : REPEATS_MAX;
	bench_run(server, (uint64_t)warm);
	for (int s = 0; s < warm; s++)
		bare_step(bare, 0, robots);
	for (int r = 0; r < repeats; r++) {
		mine[r] = bench_run(server, (uint64_t)(warm + (r + 1) * steps));
		uint64_t begin = bench_now_ns();
		for (int s = 0; s < steps; s++)
			bare_step(bare, 0, robots);
		bare_ns[r] = (double)(bench_now_ns() - begin);
	}
	char subject[64];
	double per = (double)robots * steps * 1000;
	snprintf(subject, sizeof subject, "%d robot%s, %s", robots, robots > 1 ? "s" : "",
		secondaries ? "one secondary" : "single runner");
	bench_row(options, subject, "us/robot-step", bench_median(mine, repeats) / per,
		bench_median(bare_ns, repeats) / per, troupe_server_hash(server));
	bare_destroy(bare);
	troupe_server_destroy(server);
	free(world);
}

int main(int argc, char **argv)
{
	struct bench_options options =
		bench_parse(argc, argv, "Cost of a robot-step, beside a bare ODE loop over the same robots");
	static const int counts[] = {1, 8, 64, 512};
	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
		measure(&options, counts[i], options.smoke ? 20 : 100000 / counts[i] + 20, 1);
	measure(&options, 64, options.smoke ? 20 : 1500, 0);
	return 0;
}
