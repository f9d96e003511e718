/* Measures how many exchanges a second a barrier client of another process has through the lockstep socket: one cart,
 * one runner, an exchange in each step, in which the client gets the odometry and the clock and commands a twist.
 * The baseline is a bare exchange of as many bytes over a local socket with the same client, without a simulation.
 * Before they sleep, both sides poll for a bounded time and yield between two polls, as the run does. */
#include "bench.h"

#include "barrier.h"
#include "gateway/lockstep/lockstep_listener.h"

#include <troupe/barrier.h>

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FRAME_MAX = 65536, SPIN_NS = 100000, STEP = 3 << 3 | 2, ENDED = 4 << 3 | 2 };

/* Shared with the client: the number of bytes of the last step. */
static _Atomic size_t *step_bytes;

/* --- both sides --------------------------------------------------------------------------------------------------- */

static void send_all(int file, const unsigned char *bytes, size_t count)
{
	if (send(file, bytes, count, MSG_NOSIGNAL) != (ssize_t)count)
		_exit(1);
}

/* Receives one frame with its length; returns its size. 0: the other side has ended. */
static size_t receive(int file, unsigned char *frame)
{
	size_t count = 0, want = 4;
	uint64_t begun = bench_now_ns();
	while (count < want) {
		ssize_t got = recv(file, frame + count, want - count, MSG_DONTWAIT);
		if (got == 0)
			return 0;
		if (got < 0)
			sched_yield();
		if (got < 0 && bench_now_ns() - begun > SPIN_NS)
			(void)poll(&(struct pollfd){file, POLLIN, 0}, 1, 1000);
		count += got > 0 ? (size_t)got : 0;
		if (count == 4 && want == 4)
			want += frame[0] | (size_t)frame[1] << 8;
		if (want > FRAME_MAX)
			return 0;
	}
	return want;
}

/* --- the client: a process of its own ----------------------------------------------------------------------------- */

static void be_client(int file, bool joined, const struct text *message)
{
	static unsigned char frame[FRAME_MAX], answer[FRAME_MAX];
	for (;;) {
		size_t count = receive(file, frame);
		if (!count || frame[4] == ENDED)
			_exit(0);
		if (frame[4] != STEP)
			continue;
		if (joined)
			atomic_store(step_bytes, count);
		unsigned char number[12] = {1 << 3};
		size_t digits = 1 + barrier_put_varint(number + 1, barrier_step_of(frame + 4));
		size_t at = 4;
		answer[at++] = 2 << 3 | 2;
		at += barrier_put_varint(answer + at, digits + message->count);
		memcpy(answer + at, number, digits);
		memcpy(answer + at + digits, message->at, message->count);
		at += digits + message->count;
		for (int i = 0; i < 4; i++)
			answer[i] = (unsigned char)((at - 4) >> 8 * i);
		send_all(file, answer, at);
	}
}

static int dial(const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	(void)snprintf(name.sun_path, sizeof name.sun_path, "%s", path);
	for (int i = 0; connect(file, (struct sockaddr *)&name, sizeof name); i++) {
		if (i == 200)
			_exit(1);
		usleep(20000);
	}
	return file;
}

/* Call it before this process has threads. pair: a socket; -1: the client joins at the path. */
static pid_t start_client(int pair, const char *path)
{
	struct text first = {0}, message = {0}, head = {0};
	bool joined = pair < 0;
	pid_t child = fork();
	if (child)
		return child;
	barrier_encode("troupe.msgs.LockstepFromClient", "join {" BARRIER_JOIN "}", &first);
	barrier_encode("troupe.msgs.LockstepFromClient", "done {" BARRIER_DONE "}", &message);
	/* the content of `done`, without its tag and its length of one byte */
	message.at += 2;
	message.count -= 2;
	if (pair < 0) {
		pair = dial(path);
		unsigned char length[4] = {(unsigned char)first.count};
		text_add_bytes(&head, (const char *)length, 4);
		text_add_bytes(&head, first.at, first.count);
		send_all(pair, (const unsigned char *)head.at, head.count);
	}
	be_client(pair, joined, &message);
	_exit(0);
}

/* --- the bare exchange -------------------------------------------------------------------------------------------- */

/* Makes a frame like that of a step, with so many bytes. */
static void make_step(unsigned char *frame, size_t count, uint64_t number)
{
	size_t at = 4;
	memset(frame, 0, count);
	for (int i = 0; i < 4; i++)
		frame[i] = (unsigned char)((count - 4) >> 8 * i);
	frame[at++] = STEP;
	at += barrier_put_varint(frame + at, count - 7);
	frame[at++] = 1 << 3;
	(void)barrier_put_varint(frame + at, number);
}

static double exchange(void *socket, uint64_t exchanges)
{
	int file = *(const int *)socket;
	size_t count = atomic_load(step_bytes);
	static unsigned char frame[FRAME_MAX], answer[FRAME_MAX];
	uint64_t begun = bench_now_ns();
	for (uint64_t i = 0; i < exchanges; i++) {
		make_step(frame, count, i);
		send_all(file, frame, count);
		if (!receive(file, answer))
			barrier_die("the client of the bare exchange has ended");
	}
	return (double)(bench_now_ns() - begun);
}

/* --- measuring ---------------------------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
	struct bench_options options = bench_parse(argc, argv,
		"bench_barrier: exchanges of a barrier client through the lockstep socket; baseline: bare exchanges "
		"of as many bytes");
	uint64_t steps = options.smoke ? 200 : 4000;
	char path[64];
	int pair[2];
	(void)snprintf(path, sizeof path, "/tmp/troupe-bench-barrier-%d", (int)getpid());
	step_bytes = mmap(NULL, sizeof *step_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (step_bytes == MAP_FAILED)
		barrier_die("no memory to share");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		barrier_die("no sockets");
	pid_t bare = start_client(pair[1], NULL), client = start_client(-1, path);
	struct troupe_server *server = bench_server(barrier_world, 0);
	struct troupe_server *alone = bench_server(barrier_world, 0);
	struct lockstep_listener_options where = {.path = path};
	struct lockstep_listener *listener;
	struct troupe_error error;
	const char *const names[] = {"b", NULL};
	if (lockstep_listener_create(server, &where, &listener, &error) ||
		troupe_server_await(server, names, 10000000000u, &error))
		barrier_die(error.text);
	struct barrier_rates rates = {0};
	barrier_measure(&options, server, alone, exchange, &pair[0], steps, &rates);
	barrier_print(&options, "lockstep socket, a cart, an exchange in each step", &rates, 20000, 0.5, server);
	lockstep_listener_destroy(listener, false, "done");
	close(pair[0]);
	close(pair[1]);
	troupe_server_destroy(server);
	troupe_server_destroy(alone);
	kill(bare, SIGTERM);
	(void)waitpid(bare, NULL, 0);
	(void)waitpid(client, NULL, 0);
	return 0;
}
