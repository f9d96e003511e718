/* Measures how many controlled steps a second a program in Python takes, beside the same program in C: it reads the
 * state of carts after each step and commands them by feedback, as in bench_control. Once one of the carts is
 * controlled, once all are. Python runs in a process of its own, bench_python.py, and takes turns with this one: a line
 * with a number of steps makes it take them, and it answers with their time. Both have the same numbers, so the hashes
 * must be equal. The third result is that of troupe.VectorEnv: many worlds of one cart, commanded by feedback every few
 * steps, beside a program in C that does the same with a pool. */
#include "bench.h"
#include "robots.h"

#include <troupe/command.h>
#include <troupe/pool.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CARTS = 64, ENVIRONMENTS = 64, ACTION_STEPS = 5 };

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "bench_python: %s\n", what);
	exit(1);
}

/* --- the process of Python ---------------------------------------------------------------------------------------- */

struct python {
	pid_t process;
	FILE *to, *from;
};

/* The process gets the world and the number of its controlled carts; with a number of steps, that of its worlds. */
static struct python start(const char *world, int controlled, int action_steps)
{
	int to[2], from[2];
	char length[24], count[24], steps[24];
	struct python python;
	must(!pipe(to) && !pipe(from), "no pipe");
	(void)snprintf(length, sizeof length, "%zu", strlen(world));
	(void)snprintf(count, sizeof count, "%d", controlled);
	(void)snprintf(steps, sizeof steps, "%d", action_steps);
	python.process = fork();
	must(python.process >= 0, "no process");
	if (!python.process) {
		(void)dup2(to[0], STDIN_FILENO);
		(void)dup2(from[1], STDOUT_FILENO);
		(void)close(to[1]);
		(void)close(from[0]);
		(void)setenv("PYTHONPATH", BENCH_PYTHONPATH, 1);
		(void)setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
		(void)execl(BENCH_PYTHON, BENCH_PYTHON, BENCH_SCRIPT, length, count, action_steps ? steps : NULL,
			(char *)NULL);
		_exit(127);
	}
	(void)close(to[0]);
	(void)close(from[1]);
	python.to = fdopen(to[1], "w");
	python.from = fdopen(from[0], "r");
	must(python.to && python.from && fputs(world, python.to) >= 0 && !fflush(python.to), "no pipe");
	return python;
}

/* Returns the time in ns. */
static double turn(const struct python *python, uint64_t steps, uint64_t *ret_hash)
{
	double ns = 0;
	must(fprintf(python->to, "%" PRIu64 "\n", steps) > 0 && !fflush(python->to) &&
			fscanf(python->from, "%lf %" SCNx64, &ns, ret_hash) == 2,
		"bench_python.py has ended: its error stands above");
	return ns;
}

static void end(const struct python *python)
{
	int status = 0;
	(void)fclose(python->to);
	(void)fclose(python->from);
	must(waitpid(python->process, &status, 0) == python->process && !status, "bench_python.py has failed");
}

/* --- the same in C ------------------------------------------------------------------------------------------------ */

struct controller {
	struct troupe_server *server;
	troupe_model carts[CARTS];
	uint32_t count;
};

static void control(const struct controller *c)
{
	struct troupe_error error;
	for (uint32_t i = 0; i < c->count; i++) {
		struct troupe_model_state state;
		must(troupe_get_model(c->server, c->carts[i], &state), "no cart");
		struct troupe_twist twist = {{0.5 + 0.1 * (0.5 - state.twist.linear.x), 0, 0}, {0, 0, -state.pose.qz}};
		must(!troupe_command_twist(c->server, NULL, c->carts[i], &twist, NULL, &error), "a refused command");
	}
}

static double run(const struct controller *c, uint64_t steps)
{
	struct troupe_error error;
	uint64_t begin = bench_now_ns();
	for (uint64_t i = 0; i < steps; i++) {
		must(!troupe_server_step(c->server, 1, &error), "a step has failed");
		control(c);
	}
	return (double)(bench_now_ns() - begin);
}

static void measure(const struct bench_options *options, uint32_t controlled, uint64_t steps)
{
	char *world = robots_driven_world(CARTS), subject[96];
	struct controller c = {.server = bench_server(world, 0), .count = controlled};
	struct python python = start(world, (int)controlled, 0);
	struct bench_samples of_python = {0}, of_c = {0};
	uint64_t hash = 0;
	robots_drive(c.server, CARTS);
	for (uint32_t i = 0; i < controlled; i++) {
		char name[20];
		(void)snprintf(name, sizeof name, "cart_%u", i);
		c.carts[i] = troupe_find_model(c.server, 0, name);
	}
	for (int r = -1; r < options->repeats; r++) {
		double ns[2] = {0};
		bench_progress(options, "python", r);
		for (int i = 0; i < BENCH_TURNS; i++) {
			ns[0] += run(&c, steps);
			ns[1] += turn(&python, steps, &hash);
		}
		for (int i = 0; r >= 0 && i < 2; i++)
			bench_add(i ? &of_python : &of_c, (double)(steps * BENCH_TURNS) / ns[i] * 1e9);
	}
	must(hash == troupe_server_hash(c.server), "Python and C have different states");
	(void)snprintf(subject, sizeof subject, "%d carts, %u controlled from Python; in C", CARTS, controlled);
	struct bench_row row = {subject, "steps/s", &of_python, &of_c, .at_least = 0.5, .hash = hash};
	bench_print(options, &row);
	end(&python);
	troupe_server_destroy(c.server);
	free(world);
}

/* --- many worlds -------------------------------------------------------------------------------------------------- */

struct environments {
	struct troupe_pool *pool;
	struct troupe_server *servers[ENVIRONMENTS];
	troupe_model carts[ENVIRONMENTS];
};

/* What a program in C does that uses a pool: it commands each world, steps them all, and reads each. */
static double act(const struct environments *all, uint64_t actions)
{
	struct troupe_error error;
	uint64_t begin = bench_now_ns();
	for (uint64_t k = 0; k < actions; k++) {
		for (uint32_t i = 0; i < ENVIRONMENTS; i++) {
			struct troupe_model_state state;
			must(troupe_get_model(all->servers[i], all->carts[i], &state), "no cart");
			struct troupe_twist twist = {
				{0.5 + 0.1 * (0.5 - state.twist.linear.x), 0, 0}, {0, 0, -state.pose.qz}};
			must(!troupe_command_twist(all->servers[i], NULL, all->carts[i], &twist, NULL, &error),
				"a refused command");
		}
		must(!troupe_pool_step(all->pool, all->servers, ENVIRONMENTS, ACTION_STEPS, NULL, &error),
			"a step has failed");
	}
	return (double)(bench_now_ns() - begin);
}

static void measure_environments(const struct bench_options *options, uint64_t actions)
{
	char *world = robots_driven_world(1), subject[96];
	struct environments all = {.pool = NULL};
	struct bench_samples of_python = {0}, of_c = {0};
	struct troupe_error error;
	uint64_t hash = 0, expected = 0;
	must(!troupe_pool_create(0, &all.pool, &error), "no pool");
	for (uint32_t i = 0; i < ENVIRONMENTS; i++) {
		all.servers[i] = bench_server(world, 0);
		all.carts[i] = troupe_find_model(all.servers[i], 0, "cart_0");
	}
	struct python python = start(world, ENVIRONMENTS, ACTION_STEPS);
	int numpy = 0;
	must(fscanf(python.from, "%d", &numpy) == 1, "bench_python.py has ended: its error stands above");
	for (int r = -1; r < options->repeats; r++) {
		double ns[2] = {0};
		bench_progress(options, "environments", r);
		for (int i = 0; i < BENCH_TURNS; i++) {
			ns[0] += act(&all, actions);
			ns[1] += turn(&python, actions, &hash);
		}
		for (int i = 0; r >= 0 && i < 2; i++)
			bench_add(i ? &of_python : &of_c,
				(double)(actions * BENCH_TURNS * ENVIRONMENTS * ACTION_STEPS) / ns[i] * 1e9);
	}
	for (uint32_t i = 0; i < ENVIRONMENTS; i++)
		expected += troupe_server_hash(all.servers[i]);
	must(hash == expected, "Python and C have different states");
	(void)snprintf(subject, sizeof subject, "VectorEnv%s, %d worlds, actions of %d steps; in C",
		numpy ? "" : " without numpy", ENVIRONMENTS, ACTION_STEPS);
	struct bench_row row = {subject, "steps/s", &of_python, &of_c, .at_least = 0.8, .hash = hash};
	bench_print(options, &row);
	end(&python);
	for (uint32_t i = 0; i < ENVIRONMENTS; i++)
		troupe_server_destroy(all.servers[i]);
	troupe_pool_destroy(all.pool);
	free(world);
}

int main(int argc, char **argv)
{
	struct bench_options options = bench_parse(argc, argv,
		"bench_python: a program in Python that reads carts and commands them in each step; baseline: the same "
		"in C");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	printf("skipped: Python: the library has a sanitizer\n");
	return 0;
#endif
	if (access(BENCH_PYTHON, X_OK)) {
		printf("skipped: Python: no python3\n");
		return 0;
	}
	uint64_t steps = options.smoke ? 2 : 40;
	measure(&options, 1, steps);
	measure(&options, CARTS, steps);
	measure_environments(&options, options.smoke ? 2 : 10);
	return 0;
}
