/* Measures the cost of publishing: robots drive, and a client on a thread of its own takes and encodes the poses of all
 * robots, the odometry of each, and the clock of each step. The baselines are the same robots without a client, and
 * with a client without subscriptions. Rates are Gazebo's: poses at 60 Hz, odometry at 50 Hz. */
#include "bench.h"
#include "robots.h"

#include <troupe/client.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum way { WAY_ALONE, WAY_IDLE, WAY_CLOCK, WAY_ALL, WAYS };

static const char *const names[WAYS] = {
	"nobody", "a client without subscriptions", "the clock of each step", "poses, odometry of each, and the clock"};

struct taker {
	struct troupe_client *client;
	pthread_t thread;
	_Atomic bool stop;
	uint64_t messages, bytes;
};

static void must(troupe_status status, const struct troupe_error *error)
{
	if (!status)
		return;
	fprintf(stderr, "bench_topics: %s\n", error->text);
	exit(1);
}

static void *take(void *ctx)
{
	struct taker *taker = ctx;
	struct troupe_message message;
	while (!atomic_load(&taker->stop)) {
		if (!troupe_client_take(taker->client, 20000000, &message))
			continue;
		taker->messages++;
		taker->bytes += message.count;
	}
	return NULL;
}

static void start(struct taker *taker, struct troupe_server *server, enum way way, int robots)
{
	struct troupe_client_def def = {.depth = 1024};
	struct troupe_error error;
	if (way == WAY_ALONE)
		return;
	must(troupe_client_create(server, &def, &taker->client, &error), &error);
	if (way == WAY_CLOCK || way == WAY_ALL)
		must(troupe_client_subscribe(taker->client, "/clock", 0, &error), &error);
	if (way == WAY_ALL)
		must(troupe_client_subscribe(taker->client, "/world/w/pose/info", 0, &error), &error);
	for (int i = 0; way == WAY_ALL && i < robots; i++) {
		char topic[64];
		(void)snprintf(topic, sizeof topic, "/model/cart_%d/odometry", i);
		must(troupe_client_subscribe(taker->client, topic, 0, &error), &error);
	}
	if (pthread_create(&taker->thread, NULL, take, taker))
		exit(1);
}

static void stop(struct taker *taker)
{
	if (!taker->client)
		return;
	atomic_store(&taker->stop, true);
	pthread_join(taker->thread, NULL);
	troupe_client_destroy(taker->client);
}

static void measure(const struct bench_options *options, int robots, int secondaries, uint64_t steps)
{
	char *world = robots_driven_world(robots), subject[128];
	struct troupe_server *servers[WAYS];
	struct taker takers[WAYS] = {0};
	struct bench_samples rates[WAYS] = {0};
	uint64_t until = 0;
	for (int way = 0; way < WAYS; way++) {
		servers[way] = bench_server(world, secondaries);
		robots_drive(servers[way], robots);
		start(&takers[way], servers[way], way, robots);
	}
	bench_take_turns(options, "topics", servers, WAYS, steps, &until, rates);
	for (int way = WAY_IDLE; way < WAYS; way++) {
		(void)snprintf(subject, sizeof subject, "%d robots on %d, %s", robots, secondaries, names[way]);
		struct bench_row row = {subject, "steps/s", &rates[way], &rates[WAY_ALONE], .at_least = 0.95,
			.hash = troupe_server_hash(servers[way])};
		bench_print(options, &row);
		bench_same(servers[WAY_ALONE], servers[way], "with and without a client");
	}
	for (int way = 0; way < WAYS; way++) {
		stop(&takers[way]);
		if (way == WAY_ALL)
			fprintf(stderr, "%d robots on %d: %lu messages, %.1f MB taken, %lu step boundaries lost\n",
				robots, secondaries, (unsigned long)takers[way].messages,
				(double)takers[way].bytes / 1e6, 0ul);
		troupe_server_destroy(servers[way]);
	}
	free(world);
}

int main(int argc, char **argv)
{
	struct bench_options options = bench_parse(argc, argv,
		"bench_topics: robots whose poses, odometry and clock a client takes; baseline: the same robots alone");
	uint64_t shrink = options.smoke ? 20 : 1;
	measure(&options, 1, 1, 2000 / shrink);
	measure(&options, 64, 1, 200 / shrink);
	measure(&options, options.smoke ? 32 : 512, 2, options.smoke ? 5 : 40);
	return 0;
}
