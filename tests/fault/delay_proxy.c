/* A line between hosts, for tests. It accepts TCP connections, connects each to a given address, and passes data on
 * in both directions with a given delay. It can also imitate lost packets: now and then some data, and all data
 * behind them, come later by the time of a retransmission. SIGUSR1 cuts the cable: from then on nothing passes, and
 * nothing is closed. SIGUSR2: what the present connections send from then on is rubbish, of the same length. It is one
 * thread with one poll(), so that it cannot reorder. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK_BYTES = 16384, CHUNKS_MAX = 1024, LINES_MAX = 64, LIFE_S = 600 };

struct chunk {
	struct chunk *next;
	uint64_t due_ns;
	size_t count, sent; /* a count of 0 is the end of the stream */
	char bytes[CHUNK_BYTES];
};

struct way { /* one direction of a connection */
	int from, to;
	bool ended;   /* no more bytes come */
	bool rubbish; /* bytes are replaced */
	int count;
	uint64_t due_ns; /* of the last chunk: no chunk overtakes another */
	struct chunk *first, **last;
};

struct line {
	bool used;
	struct way ways[2];
};

static struct options {
	struct sockaddr_in here, there;
	uint64_t delay_ns, stall_ns;
	unsigned stall_one_in; /* one chunk in so many is late; 0: none */
} options;

static struct line lines[LINES_MAX];
static volatile sig_atomic_t cut, spoil;

static void on_cut(int signal_number)
{
	(void)signal_number;
	cut = 1;
}

static void on_spoil(int signal_number)
{
	(void)signal_number;
	spoil = 1;
}

static void die(const char *what)
{
	fprintf(stderr, "delay_proxy: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* --- one direction ------------------------------------------------------------------------------------------------ */

static void append(struct way *way, struct chunk *chunk)
{
	uint64_t due_ns = now_ns() + options.delay_ns;
	if (options.stall_one_in && (unsigned)rand() % options.stall_one_in == 0)
		due_ns += options.stall_ns;
	way->due_ns = due_ns > way->due_ns ? due_ns : way->due_ns;
	chunk->due_ns = way->due_ns;
	chunk->next = NULL;
	chunk->sent = 0;
	*way->last = chunk;
	way->last = &chunk->next;
	way->count++;
}

static void drop_first(struct way *way)
{
	struct chunk *chunk = way->first;
	way->first = chunk->next;
	if (!way->first)
		way->last = &way->first;
	way->count--;
	free(chunk);
}

/* False: the connection is broken. */
static bool take_in(struct way *way)
{
	while (!way->ended && way->count < CHUNKS_MAX) {
		struct chunk *chunk = malloc(sizeof *chunk);
		if (!chunk)
			die("no memory");
		ssize_t got = read(way->from, chunk->bytes, sizeof chunk->bytes);
		if (got < 0) {
			free(chunk);
			return errno == EAGAIN || errno == EINTR;
		}
		chunk->count = (size_t)got;
		for (ssize_t i = 0; way->rubbish && i < got; i++)
			chunk->bytes[i] = (char)rand();
		way->ended = !got;
		append(way, chunk);
	}
	return true;
}

static bool hand_out(struct way *way, uint64_t now)
{
	while (way->first && way->first->due_ns <= now) {
		struct chunk *chunk = way->first;
		if (!chunk->count)
			(void)shutdown(way->to, SHUT_WR);
		ssize_t put = chunk->count ? write(way->to, chunk->bytes + chunk->sent, chunk->count - chunk->sent) : 0;
		if (put < 0)
			return errno == EAGAIN || errno == EINTR;
		chunk->sent += (size_t)put;
		if (chunk->sent == chunk->count)
			drop_first(way);
	}
	return true;
}

/* --- connections -------------------------------------------------------------------------------------------------- */

static void set_up(int file)
{
	int yes = 1;
	(void)fcntl(file, F_SETFL, O_NONBLOCK);
	(void)setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

static void set_way(struct way *way, int from, int to)
{
	*way = (struct way){.from = from, .to = to};
	way->last = &way->first;
}

/* Closes both ends at once: a line that breaks on one side is broken on the other side, too. */
static void end_line(struct line *line)
{
	for (int i = 0; i < 2; i++)
		while (line->ways[i].first)
			drop_first(&line->ways[i]);
	(void)close(line->ways[0].from);
	(void)close(line->ways[0].to);
	line->used = false;
}

static void accept_one(int listening)
{
	struct line *line = lines;
	int near = accept(listening, NULL, NULL);
	if (near < 0)
		return;
	while (line < lines + LINES_MAX && line->used)
		line++;
	int far = line < lines + LINES_MAX ? socket(AF_INET, SOCK_STREAM, 0) : -1;
	if (far < 0 || connect(far, (const struct sockaddr *)&options.there, sizeof options.there)) {
		(void)close(near);
		if (far >= 0)
			(void)close(far);
		return;
	}
	set_up(near);
	set_up(far);
	line->used = true;
	set_way(&line->ways[0], near, far);
	set_way(&line->ways[1], far, near);
}

static void go_on(struct line *line)
{
	bool good = true;
	for (int i = 0; i < 2; i++)
		good = take_in(&line->ways[i]) && good;
	for (int i = 0; i < 2; i++)
		good = hand_out(&line->ways[i], now_ns()) && good;
	bool over = line->ways[0].ended && line->ways[1].ended && !line->ways[0].first && !line->ways[1].first;
	if (!good || over)
		end_line(line);
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

static int listen_here(void)
{
	int file = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
	(void)setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	if (file < 0 || bind(file, (const struct sockaddr *)&options.here, sizeof options.here) || listen(file, 16))
		die("cannot listen there");
	(void)fcntl(file, F_SETFL, O_NONBLOCK);
	return file;
}

/* The events for which a file is watched: bytes to read if there is room for more chunks, room to write if a chunk is
 * due. */
static short events_of(const struct way *in, const struct way *out, uint64_t now)
{
	bool due = out->first && out->first->due_ns <= now;
	return (short)((!in->ended && in->count < CHUNKS_MAX ? POLLIN : 0) | (due ? POLLOUT : 0));
}

static void wait_for_more(int listening, const sigset_t *open)
{
	struct pollfd files[2 * LINES_MAX + 1] = {{.fd = listening, .events = POLLIN}};
	nfds_t count = 1;
	uint64_t now = now_ns(), until = now + 1000000000u;
	for (struct line *line = lines; line < lines + LINES_MAX; line++)
		for (int i = 0; line->used && i < 2; i++) {
			const struct way *in = &line->ways[i], *out = &line->ways[!i];
			if (in->first && in->first->due_ns > now && in->first->due_ns < until)
				until = in->first->due_ns;
			short events = events_of(in, out, now);
			files[count++] = (struct pollfd){.fd = events ? in->from : -1, .events = events};
		}
	struct timespec left = {
		.tv_sec = (time_t)((until - now) / 1000000000u), .tv_nsec = (long)((until - now) % 1000000000u)};
	(void)ppoll(files, count, &left, open);
}

static void forward(int listening, const sigset_t *open)
{
	while (!cut) {
		accept_one(listening);
		for (struct line *line = lines; spoil && line < lines + LINES_MAX; line++)
			line->ways[0].rubbish = line->used;
		spoil = 0;
		for (struct line *line = lines; line < lines + LINES_MAX; line++)
			if (line->used)
				go_on(line);
		wait_for_more(listening, open);
	}
}

static struct sockaddr_in address_of(char *text)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	char *colon = strchr(text, ':');
	errno = 0;
	if (!colon)
		die("an address is HOST:PORT");
	*colon = 0;
	address.sin_port = htons((uint16_t)atoi(colon + 1));
	if (inet_pton(AF_INET, text, &address.sin_addr) != 1)
		die("a host is an IPv4 address");
	return address;
}

int main(int argc, char **argv)
{
	sigset_t none, both;
	if (argc != 4 && argc != 7) {
		fprintf(stderr, "delay_proxy HERE:PORT THERE:PORT DELAY_MS [STALL_ONE_IN STALL_MS SEED]\n");
		return 2;
	}
	options.here = address_of(argv[1]);
	options.there = address_of(argv[2]);
	options.delay_ns = (uint64_t)(atof(argv[3]) * 1e6);
	if (argc == 7) {
		options.stall_one_in = (unsigned)atoi(argv[4]);
		options.stall_ns = (uint64_t)(atof(argv[5]) * 1e6);
		srand((unsigned)atoi(argv[6]));
	}
	/* the signals are delivered in ppoll() only: so none can be missed just before */
	(void)sigemptyset(&none);
	(void)sigemptyset(&both);
	(void)sigaddset(&both, SIGUSR1);
	(void)sigaddset(&both, SIGUSR2);
	(void)sigprocmask(SIG_BLOCK, &both, NULL);
	(void)sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_cut}, NULL);
	(void)sigaction(SIGUSR2, &(struct sigaction){.sa_handler = on_spoil}, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)prctl(PR_SET_TIMERSLACK, 1);
	(void)alarm(LIFE_S); /* a limit to the life of the process, whatever happens to the test */
	int listening = listen_here();
	(void)puts("listening");
	(void)fflush(stdout);
	forward(listening, &none);
	for (;;)
		(void)pause();
}
