/* A warm step that changes no grouping allocates nothing. Counts every allocation of the process, ODE's included,
 * over a thousand steps of driving robots. */
#include "../../bench/robots.h"
#include "run/primary_internal.h"
#include "world.h"

#include "server/internal.h"

#include <troupe/server.h>

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static _Atomic long allocations;

/* A sanitizer brings its own malloc(): then this program shows nothing about allocations and only runs. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTING 1
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void *malloc(size_t bytes)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_calloc(count, bytes);
}
void *realloc(void *old, size_t bytes)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_realloc(old, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_memalign(alignment, bytes);
}
#else
#define COUNTING 0
#endif

static int passed, failed;

static void run(struct troupe_server *server, uint64_t until)
{
	struct troupe_limits limits = {.iterations = until};
	struct troupe_error error;
	if (troupe_server_run(server, &limits, &error)) {
		fprintf(stderr, "%s\n", error.text);
		exit(1);
	}
}

/* Counts the allocations of two runs: one of no step, one of a thousand. The cost of a run itself is the same in
 * both. */
static void count(const char *what, const char *world, int secondaries, uint32_t observe)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server;
	struct troupe_error error;
	def.world_path = what;
	def.world_text = world;
	def.secondaries = secondaries;
	def.pace = TROUPE_PACE_FACTOR;
	if (troupe_server_create(&def, &server, &error)) {
		fprintf(stderr, "%s\n", error.text);
		exit(1);
	}
	server->worlds[0].primary->options.observe = observe;
	run(server, 1500);
	long before = atomic_load(&allocations);
	run(server, 1500);
	long idle = atomic_load(&allocations) - before;
	/* the lists of a runner grow when it helps more than ever before, and the solver remembers a shape that an
	 * island has for the first time (physics/lanes/shape.h); this ends, but a leak does not */
	uint64_t end = 2500;
	long busy = idle + 1;
	for (int tries = 5; tries && busy != idle; tries--, end += 1000) {
		before = atomic_load(&allocations);
		run(server, end);
		busy = atomic_load(&allocations) - before;
	}
	troupe_server_destroy(server);
	printf("%s, %d secondaries%s: %ld allocations in 1000 warm steps\n", what, secondaries,
		observe ? ", observed" : "", busy - idle);
	if (busy - idle == 0)
		passed++;
	else
		failed++;
}

int main(void)
{
	/* this program must notice an allocation of its own */
	long before = atomic_load(&allocations);
	void *volatile seen = malloc(10);
	free(seen);
	if (COUNTING && atomic_load(&allocations) == before) {
		printf("allocations are not counted\n0 passed, 1 failed\n");
		return 1;
	}
	char *robots = robots_world(20, 3), *tiles = tiles_world(4, 5);
	for (int secondaries = 0; secondaries <= 2; secondaries++) {
		count("20 robots driving", robots, secondaries, 0);
		count("20 robots driving", robots, secondaries, OBSERVE_ALL);
		count("5 performers in a level", tiles, secondaries, 0);
		count("5 performers in a level", tiles, secondaries, OBSERVE_ALL);
	}
	free(robots);
	free(tiles);
	printf("%d passed, %d failed\n", passed, failed);
	return failed > 0;
}
