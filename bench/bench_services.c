/* Measures how many exchanges a second a barrier client of another process has by calls of /lockstep/step over
 * gz-transport: one cart, one runner, an exchange in each step, as bench_barrier has through the socket. The client is
 * a node of gz-transport, too. The baseline is a bare exchange over ZeroMQ between two processes, with as many
 * messages, parts and bytes: a request of nine parts and a reply of six. A node has a thread of its own on each side,
 * so a call wakes more threads than the bare exchange. */
#include "bench.h"

#include "barrier.h"
#include "gateway/gz/node.h"

#include <troupe/barrier.h>
#include <troupe/gateway.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

enum { REPLY_MAX = 65536, STEP = 3 << 3 | 2, CALL_MS = 60000, REQUEST_PARTS = 9, REPLY_PARTS = 6, PART_BYTES = 30 };

/* Shared with the client: bytes of the last Step and of the last request. */
struct sizes {
	_Atomic size_t step, request;
};
static struct sizes *sizes;

/* --- the client: a process of its own ----------------------------------------------------------------------------- */

/* Calls the service, copies the reply, and returns its size. */
static size_t call(
	struct node *node, const char *service, const char *type, const void *bytes, size_t count, unsigned char *reply)
{
	struct node_event event;
	struct troupe_error error;
	uint64_t number;
	if (node_call(
		    node, service, type, "troupe.msgs.LockstepToClient", bytes, count, CALL_MS, NULL, &number, &error))
		barrier_die(error.text);
	if (!node_next(node, -1, &event) || event.kind != NODE_REPLY || event.outcome != NODE_REPLIED ||
		event.count > REPLY_MAX)
		_exit(1);
	memcpy(reply, event.bytes, event.count);
	count = event.count;
	node_event_fini(&event);
	return count;
}

/* Makes the request that answers the step; returns its size. */
static size_t make_turn(unsigned char *at, uint64_t step, const struct text *message)
{
	unsigned char number[12] = {1 << 3};
	size_t digits = 1 + barrier_put_varint(number + 1, step), count = 0;
	memcpy(at,
		"\x0a\x01"
		"b\x12",
		4);
	count = 4 + barrier_put_varint(at + 4, digits + message->count);
	memcpy(at + count, number, digits);
	memcpy(at + count + digits, message->at, message->count);
	return count + digits + message->count;
}

static void be_client(void)
{
	static unsigned char reply[REPLY_MAX], turn[REPLY_MAX];
	struct text first = {0}, message = {0};
	struct node_options options = {.partition = NULL};
	struct node *node;
	struct troupe_error error;
	barrier_encode("troupe.msgs.LockstepJoin", BARRIER_JOIN, &first);
	barrier_encode("troupe.msgs.LockstepDone", BARRIER_DONE, &message);
	if (node_options_read_environment(&options, &error) || node_create(&options, &node, &error))
		barrier_die(error.text);
	(void)call(node, "/lockstep/join", "troupe.msgs.LockstepJoin", first.at, first.count, reply);
	size_t count = call(node, "/lockstep/step", "troupe.msgs.LockstepTurn",
		"\x0a\x01"
		"b",
		3, reply);
	while (reply[0] == STEP) {
		atomic_store(&sizes->step, count);
		count = make_turn(turn, barrier_step_of(reply), &message);
		atomic_store(&sizes->request, count);
		count = call(node, "/lockstep/step", "troupe.msgs.LockstepTurn", turn, count, reply);
	}
	node_destroy(node);
	_exit(0);
}

/* --- the bare exchange -------------------------------------------------------------------------------------------- */

/* The last part has the bytes of the message, the others are names and addresses. */
static void send_parts(void *socket, int parts, size_t count)
{
	static char bytes[REPLY_MAX];
	for (int i = 1; i < parts; i++)
		if (zmq_send(socket, bytes, PART_BYTES, ZMQ_SNDMORE) < 0)
			_exit(1);
	if (zmq_send(socket, bytes, count, 0) < 0)
		_exit(1);
}

static void receive_parts(void *socket, int parts)
{
	static char bytes[REPLY_MAX];
	while (parts--)
		if (zmq_recv(socket, bytes, sizeof bytes, 0) < 0)
			_exit(1);
}

static void be_bare(const char *address)
{
	void *zmq = zmq_ctx_new(), *socket = zmq_socket(zmq, ZMQ_DEALER);
	if (zmq_connect(socket, address))
		_exit(1);
	send_parts(socket, 1, 1);
	for (;;) {
		receive_parts(socket, REPLY_PARTS);
		send_parts(socket, REQUEST_PARTS, atomic_load(&sizes->request));
	}
}

static double exchange(void *socket, uint64_t exchanges)
{
	uint64_t begun = bench_now_ns();
	for (uint64_t i = 0; i < exchanges; i++) {
		send_parts(socket, REPLY_PARTS, atomic_load(&sizes->step));
		receive_parts(socket, REQUEST_PARTS);
	}
	return (double)(bench_now_ns() - begun);
}

/* --- measuring ---------------------------------------------------------------------------------------------------- */

/* Sets a partition and ports of its own, so that the bench meets no simulator on this machine and no other bench. */
static void set_environment(void)
{
	char text[32];
	int port = 20000 + (int)(getpid() * 64 % 12000);
	(void)snprintf(text, sizeof text, "bench%d", (int)getpid());
	setenv("GZ_PARTITION", text, 1);
	(void)snprintf(text, sizeof text, "%d", port);
	setenv("GZ_DISCOVERY_MSG_PORT", text, 1);
	(void)snprintf(text, sizeof text, "%d", port + 1);
	setenv("GZ_DISCOVERY_SRV_PORT", text, 1);
	unsetenv("GZ_IP");
	unsetenv("IGN_IP");
}

static pid_t start(bool bare, const char *address)
{
	pid_t child = fork();
	if (child)
		return child;
	if (bare)
		be_bare(address);
	be_client();
	_exit(1);
}

/* A port that is free now: the processes that connect to it are forked before ZeroMQ, which has threads, binds it. */
static void choose_address(char ret_address[64])
{
	struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof name;
	int file = socket(AF_INET, SOCK_STREAM, 0);
	if (file < 0 || bind(file, (struct sockaddr *)&name, bytes) ||
		getsockname(file, (struct sockaddr *)&name, &bytes))
		barrier_die("no free port");
	close(file);
	(void)snprintf(ret_address, 64, "tcp://127.0.0.1:%d", ntohs(name.sin_port));
}

int main(int argc, char **argv)
{
	struct bench_options options = bench_parse(argc, argv,
		"bench_services: exchanges of a barrier client over gz-transport; "
		"baseline: bare exchanges over ZeroMQ of as many bytes");
	uint64_t steps = options.smoke ? 20 : 400;
	char address[64];
	set_environment();
	sizes = mmap(NULL, sizeof *sizes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sizes == MAP_FAILED)
		barrier_die("no memory to share");
	choose_address(address);
	pid_t bare = start(true, address), client = start(false, NULL);
	void *zmq = zmq_ctx_new(), *socket = zmq_socket(zmq, ZMQ_DEALER);
	if (zmq_bind(socket, address))
		barrier_die("no ZeroMQ socket");
	receive_parts(socket, 1);
	struct troupe_server *server = bench_server(barrier_world, 0), *alone = bench_server(barrier_world, 0);
	const struct troupe_gateway_def def = {.name = "gz", .server = server};
	struct troupe_gateway *gz;
	struct troupe_error error;
	const char *const names[] = {"b", NULL};
	if (troupe_gateway_start(&def, &gz, &error) || troupe_server_await(server, names, 10000000000u, &error))
		barrier_die(error.text);
	struct barrier_rates rates = {0};
	barrier_measure(&options, server, alone, exchange, socket, steps, &rates);
	barrier_print(&options, "gz-transport, a cart, an exchange in each step", &rates, 0, 0.7, server);
	troupe_gateway_end(gz, NULL);
	kill(bare, SIGTERM);
	(void)waitpid(bare, NULL, 0);
	(void)waitpid(client, NULL, 0);
	int none = 0;
	zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none);
	zmq_close(socket);
	zmq_ctx_term(zmq);
	troupe_server_destroy(server);
	troupe_server_destroy(alone);
	return 0;
}
