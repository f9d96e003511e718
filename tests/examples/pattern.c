/* A controller in lockstep, as a thread of the program that runs the world. Each 100 ms of simulated time the run waits
 * for it; it pauses for a random time, and commands the next part of a pattern: ahead, turn, ahead, turn. However long
 * the pauses are, the hash at the end is the same.
 *
 *     cc pattern.c -o pattern $(pkg-config --cflags --libs troupe) -pthread
 *     ./pattern $(pkg-config --variable=worldsdir troupe) */
#include <troupe/barrier.h>
#include <troupe/server.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char floor_with_cart[] =
	"<sdf version='1.9'><world name='floor'>"
	"<physics name='p' type='ode'><max_step_size>0.001</max_step_size></physics>"
	"<model name='ground'><static>true</static><link name='l'>"
	"<collision name='c'><geometry><plane><normal>0 0 1</normal></plane></geometry></collision></link></model>"
	"<include><uri>models/cart</uri><name>cart</name></include></world></sdf>";

static void must(troupe_status status, const struct troupe_error *error)
{
	if (!status)
		return;
	fprintf(stderr, "pattern: %s\n", error->text);
	exit(1);
}

/* gz.msgs.Twist in binary form: linear is field 2, angular 3; of each, x y z are 2 3 4, doubles. */
static size_t put_twist(unsigned char bytes[32], double forward, double turn)
{
	static const unsigned char linear[] = {2 << 3 | 2, 9, 2 << 3 | 1}, angular[] = {3 << 3 | 2, 9, 4 << 3 | 1};
	memcpy(bytes, linear, 3);
	memcpy(bytes + 3, &forward, 8); /* least significant byte first, as this processor has it */
	memcpy(bytes + 11, angular, 3);
	memcpy(bytes + 14, &turn, 8);
	return 22;
}

static void *control(void *arg)
{
	struct troupe_client *client = arg;
	struct troupe_barrier barrier;
	struct troupe_error error;
	unsigned char bytes[32];
	unsigned seed = (unsigned)time(NULL);
	while (!troupe_client_next(client, 10000000000u, &barrier, &error)) {
		usleep((useconds_t)(rand_r(&seed) % 3000));
		int turns = barrier.time_ns / 1000000000 % 2;
		size_t count = put_twist(bytes, turns ? 0 : 0.5, turns ? 1.5 : 0);
		must(troupe_client_publish(client, NULL, "/model/cart/cmd_vel", NULL, bytes, count, NULL, &error),
			&error);
		must(troupe_client_done(client, barrier.step, &error), &error);
		if (barrier.time_ns >= 3900000000)
			break;
	}
	troupe_client_leave(client);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *const folders[] = {argc > 1 ? argv[1] : ".", NULL}; /* with models/cart in them */
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_client_def client_def = {.depth = 0};
	struct troupe_join join = {.name = "pattern", .period_ns = 100000000, .failure = TROUPE_FAILURE_ENDS};
	struct troupe_limits limits = {.iterations = 5000};
	struct troupe_server *server;
	struct troupe_client *client;
	struct troupe_error error;
	pthread_t thread;
	def.world_path = "floor.sdf"; /* a name for messages: the text is above */
	def.world_text = floor_with_cart;
	def.resource_paths = folders;
	def.pace = TROUPE_PACE_FACTOR; /* with rtf 0: as fast as possible */
	must(troupe_server_create(&def, &server, &error), &error);
	must(troupe_client_create(server, &client_def, &client, &error), &error);
	must(troupe_client_join(client, &join, &error), &error);
	if (pthread_create(&thread, NULL, control, client))
		return 1;
	must(troupe_server_run(server, &limits, &error), &error);
	pthread_join(thread, NULL);
	printf("hash %016" PRIx64 "\n", troupe_server_hash(server));
	troupe_client_destroy(client);
	troupe_server_destroy(server);
	return 0;
}
