/* Measures how many exchanges a second a barrier client in another process has through the lockstep socket: one cart,
 * one runner, an exchange in each step, in which the client gets the odometry and the clock and commands a twist. The
 * baseline is a bare exchange of as many bytes over a local socket with the same client, without a simulation. Before
 * they sleep, both sides poll for a bounded time, as the run does. */
#include "bench.h"

#include "base/text.h"
#include "gateway/lockstep/entrance.h"
#include "topic/message.h"

#include <troupe/barrier.h>

#include <poll.h>
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

static const char world[] =
	"<sdf version='1.9'><world name='w'><model name='ground'><static>true</static><link name='l'><collision "
	"name='c'>"
	"<geometry><plane><normal>0 0 1</normal></plane></geometry></collision></link></model>"
	"<model name='cart'><link name='base'><pose>0 0 0.2 0 0 "
	"0</pose><inertial><mass>10</mass><inertia><ixx>0.2</ixx>"
	"<iyy>0.35</iyy><izz>0.45</izz></inertia></inertial><collision name='c'><geometry><box><size>0.6 0.4 "
	"0.2</size></box>"
	"</geometry></collision></link>"
	"<link name='left'><pose>0.1 0.25 0.15 -1.5707963 0 0</pose><inertial><mass>1</mass><inertia><ixx>0.006</ixx>"
	"<iyy>0.006</iyy><izz>0.011</izz></inertia></inertial><collision "
	"name='c'><geometry><sphere><radius>0.15</radius>"
	"</sphere></geometry></collision></link><joint name='left_joint' type='revolute'><parent>base</parent>"
	"<child>left</child><axis><xyz expressed_in='__model__'>0 1 0</xyz></axis></joint>"
	"<link name='right'><pose>0.1 -0.25 0.15 -1.5707963 0 0</pose><inertial><mass>1</mass><inertia><ixx>0.006</ixx>"
	"<iyy>0.006</iyy><izz>0.011</izz></inertia></inertial><collision "
	"name='c'><geometry><sphere><radius>0.15</radius>"
	"</sphere></geometry></collision></link><joint name='right_joint' type='revolute'><parent>base</parent>"
	"<child>right</child><axis><xyz expressed_in='__model__'>0 1 0</xyz></axis></joint>"
	"<plugin name='gz::sim::systems::DiffDrive' "
	"filename='x'><left_joint>left_joint</left_joint><right_joint>right_joint"
	"</right_joint><wheel_separation>0.5</wheel_separation><wheel_radius>0.15</wheel_radius>"
	"<odom_publish_frequency>1000</odom_publish_frequency></plugin></model></world></sdf>";

static const char join[] = "join {version: 1 name: 'b' failure: END subscribe {topic: '/clock'} "
			   "subscribe {topic: '/model/cart/odometry'}}";
/* The message is a gz.msgs.Twist: linear {x: 0.5}. */
static const char done[] = "done {message {topic: '/model/cart/cmd_vel' "
			   "data: '\\x12\\x09\\x11\\x00\\x00\\x00\\x00\\x00\\x00\\xe0\\x3f'}}";

/* Shared with the client: the number of bytes of the last step. */
static _Atomic size_t *step_bytes;

static void die(const char *what)
{
	fprintf(stderr, "bench_barrier: %s\n", what);
	exit(1);
}

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

/* Encodes a message to the run, given as text; without a length. */
static void encode(const char *text, struct text *out)
{
	ProtobufCMessage *message;
	struct troupe_error error;
	if (message_of_text(type_find("troupe.msgs.LockstepFromClient"), text, &message_limits_usual, &message, &error))
		die(error.text);
	message_add_bytes(out, message);
	message_free(message);
}

static size_t put_varint(unsigned char *at, uint64_t value)
{
	size_t count = 0;
	for (; value >= 0x80; value >>= 7)
		at[count++] = (unsigned char)(value | 0x80);
	at[count++] = (unsigned char)value;
	return count;
}

/* Skips the tag and the length of a member. The number of the step is the first field, and left out if it is 0. */
static uint64_t step_of(const unsigned char *frame)
{
	const unsigned char *at = frame + 5;
	uint64_t step = 0;
	while (*at++ & 0x80)
		;
	if (*at++ != 1 << 3)
		return 0;
	for (int shift = 0;; shift += 7) {
		step |= (uint64_t)(*at & 0x7f) << shift;
		if (!(*at++ & 0x80))
			return step;
	}
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
		size_t digits = 1 + put_varint(number + 1, step_of(frame));
		size_t at = 4;
		answer[at++] = 2 << 3 | 2;
		at += put_varint(answer + at, digits + message->count);
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
	encode(join, &first);
	encode(done, &message);
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
	at += put_varint(frame + at, count - 7);
	frame[at++] = 1 << 3;
	(void)put_varint(frame + at, number);
}

static double exchange(int file, size_t count, uint64_t exchanges)
{
	static unsigned char frame[FRAME_MAX], answer[FRAME_MAX];
	uint64_t begun = bench_now_ns();
	for (uint64_t i = 0; i < exchanges; i++) {
		make_step(frame, count, i);
		send_all(file, frame, count);
		if (!receive(file, answer))
			die("the client of the bare exchange is gone");
	}
	return (double)(bench_now_ns() - begun);
}

/* --- measuring ---------------------------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
	enum {
		STEP_BYTES = 440
	}; /* the size that the odometry and the clock of a step have in this world, within a few bytes */
	struct bench_options options = bench_parse(argc, argv,
		"bench_barrier: exchanges of a barrier client through the lockstep socket; baseline: bare exchanges of "
		"as "
		"many bytes");
	uint64_t steps = options.smoke ? 200 : 4000, until = 0;
	char path[64];
	int pair[2];
	(void)snprintf(path, sizeof path, "/tmp/troupe-bench-barrier-%d", (int)getpid());
	step_bytes = mmap(NULL, sizeof *step_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (step_bytes == MAP_FAILED)
		die("no memory to share");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		die("no sockets");
	pid_t bare = start_client(pair[1], NULL), client = start_client(-1, path);
	struct troupe_server *server = bench_server(world, 0);
	struct troupe_server *alone = bench_server(world, 0);
	struct entrance_options where = {.path = path};
	struct entrance *entrance;
	struct troupe_error error;
	const char *const names[] = {"b", NULL};
	if (entrance_create(server, &where, &entrance, &error) ||
		troupe_server_await(server, names, 10000000000u, &error))
		die(error.text);
	struct bench_samples rates = {0}, bares = {0}, alones = {0};
	for (int r = -1; r < options.repeats; r++) {
		double ns = 0, bare_ns = 0, alone_ns = 0;
		bench_progress(&options, "exchanges", r);
		for (int turn = 0; turn < BENCH_TURNS; turn++) {
			until += steps;
			ns += bench_run(server, until);
			bare_ns += exchange(pair[0], atomic_load(step_bytes), steps);
			alone_ns += bench_run(alone, until);
		}
		double count = (double)(steps * BENCH_TURNS);
		if (r >= 0) {
			bench_add(&rates, count / ns * 1e9);
			bench_add(&bares, count / bare_ns * 1e9);
			/* the exchange alone: without the step itself */
			bench_add(&alones, count / (ns - alone_ns) * 1e9);
		}
	}
	struct bench_row row = {"lockstep socket, a cart, an exchange in each step", "exchanges/s", &rates, NULL,
		.at_least = 20000, .hash = troupe_server_hash(server)};
	bench_print(&options, &row);
	row = (struct bench_row){
		"the same, without the time of the step", "exchanges/s", &alones, &bares, .at_least = 0.5};
	bench_print(&options, &row);
	entrance_destroy(entrance, false, "done");
	close(pair[0]);
	close(pair[1]);
	troupe_server_destroy(server);
	troupe_server_destroy(alone);
	kill(bare, SIGTERM);
	(void)waitpid(bare, NULL, 0);
	(void)waitpid(client, NULL, 0);
	return 0;
}
