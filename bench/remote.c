#include "remote.h"

#include "bench.h"

#include "base/base.h"
#include "base/clock.h"
#include "net/tcp/socket_pair.h"

#include <troupe/network.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what)
{
	fprintf(stderr, "bench: %s\n", what);
	exit(1);
}

/* --- secondaries -------------------------------------------------------------------------------------------------- */

/* argv: "--be-secondary", a number of threads, then a socket, or an address and a key's file. */
static int be_secondary(int argc, char **argv)
{
	int file = argc == 4 ? atoi(argv[3]) : -1;
	struct troupe_network network = {.address = argv[3], .key_file = argc == 5 ? argv[4] : NULL, .wait_s = 60};
	if (argc == 4)
		network = (struct troupe_network){.sockets = &file};
	struct troupe_secondary_def def = {.network = &network, .threads = (uint32_t)atoi(argv[2])};
	struct troupe_secondary *secondary;
	struct troupe_error error;
	troupe_status status = troupe_secondary_create(&def, &secondary, &error);
	if (!status)
		status = troupe_secondary_run(secondary, &error);
	if (status)
		fprintf(stderr, "bench: %s\n", error.text);
	return status ? 1 : 0;
}

void remote_main(int argc, char **argv)
{
	if (argc >= 4 && !strcmp(argv[1], "--be-secondary"))
		exit(be_secondary(argc, argv));
}

static int execute(int file, const char *where, int threads, const char *key)
{
	char number[16];
	(void)snprintf(number, sizeof number, "%d", threads);
	char name[] = "bench", be[] = "--be-secondary", *place = mem_strdup(where),
	     *secret = mem_strdup(key ? key : "");
	char *arguments[] = {name, be, number, place, key ? secret : NULL, NULL};
	fflush(NULL);
	int process = fork();
	if (!process) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (file >= 0)
			(void)fcntl(file, F_SETFD, 0);
		(void)execv("/proc/self/exe", arguments);
		_exit(1);
	}
	free(place);
	free(secret);
	return process;
}

/* --- the relay ---------------------------------------------------------------------------------------------------- */

struct piece {
	uint64_t due_ns;
	size_t end; /* in the bytes of the way */
};

struct way { /* one direction; all bytes so far, which a bench can afford */
	int from, to;
	VEC(char) bytes;
	VEC(struct piece) pieces;
	size_t sent;
	uint32_t first; /* piece that is not sent yet */
	bool ended;
};

static void take_in(struct way *way, uint64_t delay_ns)
{
	enum { MOST = 1 << 16 };
	ssize_t got = read(way->from, vec_append(&way->bytes, MOST), MOST);
	way->bytes.count -= MOST - (uint32_t)(got > 0 ? got : 0);
	way->ended |= got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
	if (got > 0)
		vec_push(&way->pieces, (struct piece){clock_now_ns() + delay_ns, way->bytes.count});
}

static void let_out(struct way *way)
{
	while (way->first < way->pieces.count && way->pieces.at[way->first].due_ns <= clock_now_ns()) {
		size_t left = way->pieces.at[way->first].end - way->sent;
		ssize_t put = write(way->to, way->bytes.at + way->sent, left);
		if (put <= 0)
			return;
		way->sent += (size_t)put;
		way->first += (size_t)put == left;
	}
	if (way->first == way->pieces.count)
		way->bytes.count = way->pieces.count = way->first = 0, way->sent = 0;
}

static void relay(int one, int other, uint64_t delay_ns)
{
	struct way ways[2] = {{.from = one, .to = other}, {.from = other, .to = one}};
	(void)fcntl(one, F_SETFL, O_NONBLOCK);
	(void)fcntl(other, F_SETFL, O_NONBLOCK);
	while (!ways[0].ended && !ways[1].ended) {
		struct pollfd files[2] = {{one, POLLIN, 0}, {other, POLLIN, 0}};
		uint64_t now = clock_now_ns(), due = now + UINT64_C(1000000000);
		for (int i = 0; i < 2; i++)
			if (ways[i].first < ways[i].pieces.count)
				due = MIN(due, MAX(now, ways[i].pieces.at[ways[i].first].due_ns));
		const struct timespec wait = {(time_t)((due - now) / 1000000000), (long)((due - now) % 1000000000)};
		(void)ppoll(files, 2, &wait, NULL);
		for (int i = 0; i < 2; i++) {
			if (files[i].revents)
				take_in(&ways[i], delay_ns);
			let_out(&ways[i]);
		}
	}
}

/* Its end of the line for the primary; the other end goes to the secondary. */
static int start_relay(struct remote *remote, int *ret_for_secondary, int delay_us)
{
	int near[2], far[2];
	struct troupe_error error;
	if (socket_pair_create(near, &error) || socket_pair_create(far, &error))
		die(error.text);
	fflush(NULL);
	int process = fork();
	if (!process) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)prctl(PR_SET_TIMERSLACK, 1000ul);
		(void)signal(SIGPIPE, SIG_IGN);
		(void)close(near[0]);
		(void)close(far[1]);
		relay(near[1], far[0], (uint64_t)delay_us * 1000);
		_exit(0);
	}
	(void)close(near[1]);
	(void)close(far[0]);
	remote->processes[remote->count++] = process;
	*ret_for_secondary = far[1];
	return near[0];
}

/* --- servers ------------------------------------------------------------------------------------------------------ */

static int connect_by_socket(struct remote *remote, const struct remote_def *def)
{
	int ends[2];
	char number[16];
	struct troupe_error error;
	if (def->delay_us)
		ends[0] = start_relay(remote, &ends[1], def->delay_us);
	else if (socket_pair_create(ends, &error))
		die(error.text);
	(void)snprintf(number, sizeof number, "%d", ends[1]);
	remote->processes[remote->count++] = execute(ends[1], number, def->threads, NULL);
	(void)close(ends[1]);
	return ends[0];
}

struct remote remote_start(const struct remote_def *def)
{
	static int port;
	struct remote remote = {0};
	struct troupe_server_def server = bench_def(def->world, def->secondaries);
	int sockets[REMOTE_SECONDARIES_MAX];
	char where[32];
	if (def->path)
		server.world_path = def->path;
	server.sense_all = true;
	server.window = def->window;
	server.load_all = def->load_all;
	server.scripted = true;
	/* ports below the range that the system gives to outgoing connections, and far from the ports of another bench
	 * that began just before */
	port = port ? port + 1 : 20000 + (int)(getpid() * 64 % 12000);
	(void)snprintf(where, sizeof where, "127.0.0.1:%d", port);
	struct troupe_network network = {.secondaries = (uint32_t)def->secondaries,
		.stale_ms = REMOTE_STALE_MS,
		.listen = where,
		.key_file = def->key};
	for (int i = 0; i < def->secondaries && !def->key; i++) {
		sockets[i] = connect_by_socket(&remote, def);
		network.sockets = sockets;
	}
	server.network = &network;
	remote.server = bench_create(&server);
	for (int i = 0; i < def->secondaries && def->key; i++)
		remote.processes[remote.count++] = execute(-1, where, def->threads, def->key);
	return remote;
}

void remote_end(struct remote *remote)
{
	troupe_server_destroy(remote->server);
	for (int i = 0; i < remote->count; i++)
		(void)waitpid(remote->processes[i], NULL, 0);
}
