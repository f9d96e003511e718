/* What it costs to publish by gz-transport: robots that drive, while another process has subscribed to the poses of all
 * (60 Hz), the odometry of each (50 Hz) and the clock of each step. Beside the same robots alone, and beside the same
 * robots while a thread with a bare ZeroMQ socket sends the same bytes at the same steps to a process that receives
 * them: no gateway can cost less. */
#include "bench.h"
#include "robots.h"

#include "gateway/gz/node.h"

#include <troupe/client.h>
#include <troupe/gateway.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

enum { QUEUE = 20000, ENDPOINT_BYTES = 64, LOOK_NS = 500000, WAIT_S = 20 };
enum way { WAY_ALONE, WAY_BARE, WAY_GZ, WAYS };

/* Steps of 1 ms between two messages: 60 Hz and 50 Hz of simulated time. */
static const double pose_steps = 1000 / 60.0, odometry_steps = 1000 / 50.0;

static void die(const char *what)
{
	fprintf(stderr, "bench_gz: %s\n", what);
	exit(1);
}

static void must(troupe_status status, const struct troupe_error *error)
{
	if (status)
		die(error->text);
}

/* --- the processes that receive ----------------------------------------------------------------------------------- */

/* Forked before this process has threads; ends with it. */
static pid_t start_process(void (*run)(const char *name, int robots), const char *name, int robots)
{
	fflush(NULL);
	pid_t child = fork();
	if (child < 0)
		die("fork() failed");
	if (child)
		return child;
	run(name, robots);
	_exit(0);
}

static void subscribe(struct node *node, const char *topic)
{
	struct node_subscription *subscription;
	struct troupe_error error;
	must(node_subscribe(node, topic, QUEUE, NULL, &subscription, &error), &error);
}

static void receive_by_node(const char *partition, int robots)
{
	struct node_options options = {.partition = partition};
	struct node_event event;
	struct troupe_error error;
	struct node *node;
	must(node_create(&options, &node, &error), &error);
	subscribe(node, "/clock");
	subscribe(node, "/world/w/pose/info");
	for (int i = 0; i < robots; i++) {
		char topic[64];
		(void)snprintf(topic, sizeof topic, "/model/cart_%d/odometry", i);
		subscribe(node, topic);
	}
	while (getppid() != 1)
		if (node_next(node, 1000, &event))
			node_event_fini(&event);
	node_destroy(node);
}

static void receive_bare(const char *endpoint, int robots)
{
	void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_SUB);
	int queue = QUEUE, wait_ms = 1000;
	zmq_msg_t part;
	(void)robots;
	if (zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "", 0) || zmq_setsockopt(socket, ZMQ_RCVHWM, &queue, sizeof queue) ||
		zmq_setsockopt(socket, ZMQ_RCVTIMEO, &wait_ms, sizeof wait_ms) || zmq_connect(socket, endpoint))
		die("the bare receiver cannot connect");
	zmq_msg_init(&part);
	while (getppid() != 1)
		(void)zmq_msg_recv(&part, socket, 0);
	zmq_msg_close(&part);
	zmq_close(socket);
	zmq_ctx_term(context);
}

static void end_process(pid_t child)
{
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
}

/* --- the bare sender ---------------------------------------------------------------------------------------------- */

struct bare_sender {
	void *context, *socket;
	char endpoint[ENDPOINT_BYTES];
	pthread_t thread;
	_Atomic uint64_t step; /* that the server has taken */
	_Atomic bool stop;
	uint64_t sent; /* messages */
	int robots;
	char *pose;
	size_t pose_bytes, odometry_bytes, clock_bytes;
};

/* As gz-transport sends it: topic, address of the sender, message, type. */
static void send_message(
	struct bare_sender *sender, const char *topic, const char *bytes, size_t count, const char *type)
{
	(void)zmq_send(sender->socket, topic, strlen(topic), ZMQ_SNDMORE);
	(void)zmq_send(sender->socket, sender->endpoint, strlen(sender->endpoint), ZMQ_SNDMORE);
	(void)zmq_send(sender->socket, bytes, count, ZMQ_SNDMORE);
	(void)zmq_send(sender->socket, type, strlen(type), 0);
	sender->sent++;
}

static bool is_due(uint64_t step, double period)
{
	return (uint64_t)((double)step / period) != (uint64_t)((double)(step - 1) / period);
}

static void send_step(struct bare_sender *sender, uint64_t step)
{
	send_message(sender, "@/p@msgs@/clock", sender->pose, sender->clock_bytes, "ignition.msgs.Clock");
	if (is_due(step, pose_steps))
		send_message(sender, "@/p@msgs@/world/w/pose/info", sender->pose, sender->pose_bytes,
			"ignition.msgs.Pose_V");
	for (int i = 0; is_due(step, odometry_steps) && i < sender->robots; i++) {
		char topic[64];
		(void)snprintf(topic, sizeof topic, "@/p@msgs@/model/cart_%d/odometry", i);
		send_message(sender, topic, sender->pose, sender->odometry_bytes, "ignition.msgs.Odometry");
	}
}

static void *send_all(void *ctx)
{
	struct bare_sender *sender = ctx;
	uint64_t done = 0;
	while (!atomic_load(&sender->stop)) {
		uint64_t step = atomic_load(&sender->step);
		while (done < step)
			send_step(sender, ++done);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = LOOK_NS}, NULL);
	}
	return NULL;
}

static void open_sender(struct bare_sender *sender)
{
	size_t bytes = sizeof sender->endpoint;
	int queue = QUEUE;
	sender->context = zmq_ctx_new();
	sender->socket = zmq_socket(sender->context, ZMQ_PUB);
	if (zmq_setsockopt(sender->socket, ZMQ_SNDHWM, &queue, sizeof queue) ||
		zmq_bind(sender->socket, "tcp://127.0.0.1:*") ||
		zmq_getsockopt(sender->socket, ZMQ_LAST_ENDPOINT, sender->endpoint, &bytes))
		die("the bare sender cannot bind");
}

static void close_sender(struct bare_sender *sender)
{
	int linger_ms = 0;
	atomic_store(&sender->stop, true);
	pthread_join(sender->thread, NULL);
	zmq_setsockopt(sender->socket, ZMQ_LINGER, &linger_ms, sizeof linger_ms);
	zmq_close(sender->socket);
	zmq_ctx_term(sender->context);
	free(sender->pose);
}

/* Takes one message of each topic from a server of its own, so that the bare sender sends as many bytes. */
static void learn_sizes(struct bare_sender *sender, const char *world)
{
	const char *const topics[] = {"/clock", "/world/w/pose/info", "/model/cart_0/odometry"};
	size_t *const sizes[] = {&sender->clock_bytes, &sender->pose_bytes, &sender->odometry_bytes};
	struct troupe_server *server = bench_server(world, 1);
	struct troupe_client_def def = {.depth = 1024};
	struct troupe_client *client;
	struct troupe_message message;
	struct troupe_error error;
	must(troupe_client_create(server, &def, &client, &error), &error);
	for (int i = 0; i < 3; i++)
		must(troupe_client_subscribe(client, topics[i], 0, &error), &error);
	(void)bench_run(server, 2 * (uint64_t)odometry_steps);
	while (troupe_client_take(client, 0, &message))
		for (int i = 0; i < 3; i++)
			if (!strcmp(message.topic, topics[i]))
				*sizes[i] = message.count;
	troupe_client_destroy(client);
	troupe_server_destroy(server);
	if (!sender->clock_bytes || !sender->pose_bytes || !sender->odometry_bytes)
		die("a topic has no message");
	sender->pose = calloc(1, sender->pose_bytes + sender->odometry_bytes + sender->clock_bytes);
}

/* --- measuring ---------------------------------------------------------------------------------------------------- */

static void count_step(void *ctx, struct troupe_server *server, uint64_t step)
{
	struct bare_sender *sender = ctx;
	(void)server;
	atomic_store(&sender->step, step);
}

static struct troupe_server *create(const char *world, int secondaries, enum way way, struct bare_sender *sender)
{
	struct troupe_server_def def = bench_def(world, secondaries);
	if (way == WAY_BARE) {
		def.step_every = 1;
		def.on_step = count_step;
		def.ctx = sender;
	}
	return bench_create(&def);
}

/* Until the other process has all subscriptions: then each step of an odometry publishes one message for each robot. */
static void await_subscriber(struct troupe_gateway *gz, struct troupe_server *server, int robots, uint64_t *until)
{
	uint64_t begin_ns = bench_now_ns();
	for (;;) {
		uint64_t before = troupe_gateway_counts(gz).published;
		*until += (uint64_t)odometry_steps;
		(void)bench_run(server, *until);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = 100000000}, NULL);
		if (troupe_gateway_counts(gz).published >= before + (uint64_t)robots + (uint64_t)odometry_steps)
			return;
		if (bench_now_ns() - begin_ns > WAIT_S * UINT64_C(1000000000))
			die("the subscriber did not come");
	}
}

static void print(const struct bench_options *options, const char *what, int robots, int secondaries,
	const struct bench_samples *rates, const struct bench_samples *baseline, struct troupe_server *server,
	double target)
{
	char subject[128];
	(void)snprintf(subject, sizeof subject, "%d robots on %d, %s", robots, secondaries, what);
	struct bench_row row = {
		subject, "steps/s", rates, baseline, .at_least = target, .hash = troupe_server_hash(server)};
	bench_print(options, &row);
}

static void measure(const struct bench_options *options, int robots, int secondaries, uint64_t steps)
{
	char *world = robots_driven_world(robots), partition[64];
	struct bare_sender sender = {.robots = robots};
	struct troupe_server *servers[WAYS];
	struct bench_samples rates[WAYS] = {0};
	struct troupe_error error;
	struct troupe_gateway *gz;
	uint64_t until = 0;
	(void)snprintf(partition, sizeof partition, "bench_gz_%ld_%d", (long)getpid(), robots);
	pid_t by_node = start_process(receive_by_node, partition, robots);
	open_sender(&sender);
	pid_t bare = start_process(receive_bare, sender.endpoint, robots);
	learn_sizes(&sender, world);
	for (int way = 0; way < WAYS; way++) {
		servers[way] = create(world, secondaries, way, &sender);
		robots_drive(servers[way], robots);
	}
	if (pthread_create(&sender.thread, NULL, send_all, &sender))
		die("no thread");
	const struct troupe_gateway_setting settings[] = {{"partition", partition}};
	must(troupe_gateway_start(&(struct troupe_gateway_def){.name = "gz",
					  .settings = settings,
					  .setting_count = 1,
					  .server = servers[WAY_GZ]},
		     &gz, &error),
		&error);
	await_subscriber(gz, servers[WAY_GZ], robots, &until);
	for (int way = 0; way < WAYS; way++)
		(void)bench_run(servers[way], until);
	bench_take_turns(options, "gz", servers, WAYS, steps, &until, rates);
	print(options, "gz-transport, to alone", robots, secondaries, &rates[WAY_GZ], &rates[WAY_ALONE],
		servers[WAY_GZ], 0.95);
	print(options, "bare ZeroMQ, to alone", robots, secondaries, &rates[WAY_BARE], &rates[WAY_ALONE],
		servers[WAY_BARE], 0);
	print(options, "gz-transport, to bare ZeroMQ", robots, secondaries, &rates[WAY_GZ], &rates[WAY_BARE],
		servers[WAY_GZ], 0.95);
	bench_same(servers[WAY_ALONE], servers[WAY_GZ], "with and without a subscriber");
	struct troupe_gateway_counts counts = troupe_gateway_counts(gz);
	troupe_gateway_end(gz, NULL);
	close_sender(&sender);
	fprintf(stderr, "%d robots on %d: %lu messages by gz-transport, %lu step boundaries lost; %lu bare\n", robots,
		secondaries, (unsigned long)counts.published, (unsigned long)counts.boundaries_lost,
		(unsigned long)sender.sent);
	end_process(by_node);
	end_process(bare);
	for (int way = 0; way < WAYS; way++)
		troupe_server_destroy(servers[way]);
	free(world);
}

int main(int argc, char **argv)
{
	struct bench_options options = bench_parse(
		argc, argv, "bench_gz: robots whose poses, odometry and clock another process takes by gz-transport");
	measure(&options, options.smoke ? 8 : 64, 1, options.smoke ? 40 : 200);
	measure(&options, options.smoke ? 32 : 512, 2, options.smoke ? 20 : 40);
	return 0;
}
