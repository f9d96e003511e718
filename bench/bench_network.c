/* Measures steps over a network on one machine. The baseline of an empty step is a bare exchange of as many bytes over
 * a polled loopback connection; the baseline of robots is secondaries that are threads. Both run without and with TLS.
 * The secondaries are processes: this program, executed again. */
#include "bench.h"
#include "remote.h"
#include "robots.h"

#include "base/base.h"
#include "base/text.h"
#include "net/key.h"
#include "net/tcp/socket_pair.h"

#include <troupe/network.h>
#include <troupe/report.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TURN_NS 2e7
#define SPACING 4.0 /* m: between robots that a camera sees, or not */
#define NEAR 5.0

enum { STEPS_LEAST = 200, STEPS_MOST = 20000, EXCHANGES = 1000 };
enum { STEP_BYTES = 17, ACK_BYTES = 18 }; /* the sizes of an empty step and its ack */

enum way { TCP, TLS };
static const char *const way_names[] = {[TCP] = "tcp", [TLS] = "tls"};

static void die(const char *what)
{
	fprintf(stderr, "bench_network: %s\n", what);
	exit(1);
}

/* --- the bare exchange -------------------------------------------------------------------------------------------- */

static bool receive(int file, char *bytes, size_t count)
{
	for (size_t at = 0; at < count;) {
		ssize_t got = read(file, bytes + at, count - at);
		if (!got)
			return false;
		at += got > 0 ? (size_t)got : 0;
	}
	return true;
}

struct exchange {
	int file, process;
	size_t there, back; /* bytes */
};

static struct exchange begin_exchange(size_t there, size_t back)
{
	struct troupe_error error;
	char bytes[256] = {0};
	int ends[2];
	if (socket_pair_create(ends, &error))
		die(error.text);
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	(void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
	fflush(NULL);
	int process = fork();
	if (!process) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)close(ends[0]);
		while (receive(ends[1], bytes, there))
			(void)!write(ends[1], bytes, back);
		_exit(0);
	}
	(void)close(ends[1]);
	return (struct exchange){ends[0], process, there, back};
}

static void make_exchanges(const struct exchange *exchange, int count)
{
	char bytes[256] = {0};
	for (int i = 0; i < count; i++) {
		(void)!write(exchange->file, bytes, exchange->there);
		if (!receive(exchange->file, bytes, exchange->back))
			die("the other end is gone");
	}
}

static void end_exchange(struct exchange *exchange)
{
	(void)close(exchange->file);
	(void)waitpid(exchange->process, NULL, 0);
}

/* ns of one exchange. The process at the other end exists only during this call: it polls, and would take a core from
 * the next measurement. */
static double time_exchanges(size_t there, size_t back, int count)
{
	struct exchange exchange = begin_exchange(there, back);
	make_exchanges(&exchange, count);
	uint64_t begin = bench_now_ns();
	make_exchanges(&exchange, count);
	double ns = (double)(bench_now_ns() - begin) / count;
	end_exchange(&exchange);
	return ns;
}

/* --- measuring ---------------------------------------------------------------------------------------------------- */

static double bytes_so_far(struct troupe_server *server)
{
	struct troupe_report *report = troupe_server_report(server);
	const struct troupe_report_network *network = &report->worlds[0].network;
	double bytes = (double)network->step_bytes + (double)network->ack_bytes;
	troupe_report_free(report);
	return bytes;
}

static uint64_t steps_of_turn(struct troupe_server *server, uint64_t *until)
{
	(void)bench_run(server, *until += STEPS_LEAST); /* in this run the secondaries join */
	double steps = TURN_NS * STEPS_LEAST / bench_run(server, *until += STEPS_LEAST);
	return steps > STEPS_MOST ? STEPS_MOST : steps < STEPS_LEAST ? STEPS_LEAST : (uint64_t)steps;
}

static void measure_empty(const struct bench_options *options, enum way way, const char *key)
{
	struct bench_samples mine = {0}, bare = {0};
	char *world = robots_world(0, 1), subject[64];
	/* an exchange in each step: that is what the bare exchange is compared with */
	struct remote remote = remote_start(&(struct remote_def){
		.world = world, .secondaries = 1, .threads = 1, .key = way == TLS ? key : NULL, .window = 1});
	uint64_t until = 0, steps = steps_of_turn(remote.server, &until);
	steps = options->smoke ? 50 : steps;
	(void)snprintf(subject, sizeof subject, "empty step, %s", way_names[way]);
	for (int r = -1; r < options->repeats; r++) {
		double ns = 0, bare_ns = 0;
		bench_progress(options, subject, r);
		for (int turn = 0; turn < BENCH_TURNS; turn++) {
			ns += bench_run(remote.server, until += steps) / (double)steps;
			bare_ns += time_exchanges(STEP_BYTES, ACK_BYTES, options->smoke ? 50 : EXCHANGES);
		}
		if (r < 0)
			continue;
		bench_add(&mine, ns / BENCH_TURNS / 1000);
		bench_add(&bare, bare_ns / BENCH_TURNS / 1000);
	}
	bench_print(options, &(struct bench_row){.subject = subject,
				     .unit = "us/step",
				     .values = &mine,
				     .baselines = &bare,
				     .at_most = way == TCP ? 1.5 : 0,
				     .hash = troupe_server_hash(remote.server)});
	remote_end(&remote);
	free(world);
}

/* threads: the number of threads of each secondary. The baseline has `beside` secondaries that are threads. */
static void measure_robots(const struct bench_options *options, int robots, int secondaries, int threads, int beside,
	enum way way, const char *key)
{
	struct bench_samples mine = {0}, local = {0};
	char *world = robots_world(robots, beside), subject[80], many[24] = "";
	struct remote remote = remote_start(&(struct remote_def){
		.world = world, .secondaries = secondaries, .threads = threads, .key = way == TLS ? key : NULL});
	struct troupe_server *here = bench_server(world, beside);
	uint64_t until = 0, steps = steps_of_turn(remote.server, &until);
	steps = options->smoke ? 10 : MAX(steps / 2, UINT64_C(10));
	(void)bench_run(here, until);
	double before = bytes_so_far(remote.server);
	uint64_t from = until;
	for (int r = -1; r < options->repeats; r++) {
		double ns = 0, local_ns = 0;
		bench_progress(options, "robots", r);
		for (int turn = 0; turn < BENCH_TURNS; turn++) {
			ns += bench_run(remote.server, until += steps);
			local_ns += bench_run(here, until);
		}
		if (r < 0)
			continue;
		bench_add(&mine, ns / BENCH_TURNS / (double)steps / 1000);
		bench_add(&local, local_ns / BENCH_TURNS / (double)steps / 1000);
	}
	bench_same(remote.server, here, "bench_network");
	double bytes = bytes_so_far(remote.server) - before;
	if (beside != secondaries)
		(void)snprintf(many, sizeof many, " of %d thread%s", threads, threads > 1 ? "s" : "");
	(void)snprintf(subject, sizeof subject, "%d on %d%s, %s, %.0f B/step", robots, secondaries, many,
		way_names[way], bytes / (double)(until - from));
	bench_print(options, &(struct bench_row){.subject = subject,
				     .unit = "us/step",
				     .values = &mine,
				     .baselines = &local,
				     .hash = troupe_server_hash(here)});
	remote_end(&remote);
	troupe_server_destroy(here);
	free(world);
}

/* Robots of which one has a sensor that sees, in every step. */
static char *world_with_camera(int robots, const char *sensor)
{
	struct text out = {0};
	char *world = robots_world(robots, SPACING), *end = strstr(world, "</link>");
	text_add(&out, "%.*s%s%s", (int)(end - world), world, sensor, end);
	free(world);
	return out.at;
}

/* To all sides ahead, so many metres away. */
static char *logical_camera(double far)
{
	return mem_printf("<sensor name='camera' type='logical_camera'><update_rate>1000</update_rate><logical_camera>"
			  "<near>0.1</near><far>%g</far><horizontal_fov>3</horizontal_fov><aspect_ratio>1"
			  "</aspect_ratio></logical_camera></sensor>",
		far);
}

/* In colour, of 60 degrees. */
static char *picture_camera(double far)
{
	return mem_printf(
		"<sensor name='camera' type='camera'><pose>0 0 0.3 0 0 0.8</pose><update_rate>1000</update_rate>"
		"<camera><horizontal_fov>1.05</horizontal_fov><image><width>8</width><height>6</height></image>"
		"<clip><near>0.1</near><far>%g</far></clip></camera></sensor>",
		far);
}

static double bytes_of_step(const struct bench_options *options, int robots, char *sensor, uint64_t *hash)
{
	char *world = world_with_camera(robots, sensor);
	struct remote remote =
		remote_start(&(struct remote_def){.world = world, .secondaries = REMOTE_SECONDARIES, .threads = 1});
	uint64_t steps = options->smoke ? 20 : 500;
	(void)bench_run(remote.server, steps);
	double before = bytes_so_far(remote.server);
	(void)bench_run(remote.server, 2 * steps);
	double bytes = (bytes_so_far(remote.server) - before) / (double)steps;
	if (*hash && *hash != troupe_server_hash(remote.server))
		die("what a camera sees changes the state");
	*hash = troupe_server_hash(remote.server);
	remote_end(&remote);
	free(world);
	free(sensor);
	return bytes;
}

/* A secondary is sent the remote models that its sensors may see, and no others. The baseline sees all. */
static void measure_sight(const struct bench_options *options, int robots)
{
	struct bench_samples near = {0}, picture = {0}, all = {0};
	uint64_t hash = 0;
	char subject[80];
	bench_progress(options, "sight", 0);
	bench_add(&near, bytes_of_step(options, robots, logical_camera(NEAR), &hash));
	bench_add(&all, bytes_of_step(options, robots, logical_camera(1000), &hash));
	bench_add(&picture, bytes_of_step(options, robots, picture_camera(4 * NEAR), &hash));
	(void)snprintf(
		subject, sizeof subject, "%d on %d, one sees %g m; baseline: all", robots, REMOTE_SECONDARIES, NEAR);
	bench_print(options,
		&(struct bench_row){
			.subject = subject, .unit = "B/step", .values = &near, .baselines = &all, .hash = hash});
	(void)snprintf(subject, sizeof subject, "%d on %d, pictures of %g m; baseline: all", robots, REMOTE_SECONDARIES,
		4 * NEAR);
	bench_print(options,
		&(struct bench_row){
			.subject = subject, .unit = "B/step", .values = &picture, .baselines = &all, .hash = hash});
}

int main(int argc, char **argv)
{
	remote_main(argc, argv);
	char folder[] = "/tmp/bench_network.XXXXXX", key[64];
	struct troupe_error error;
	struct bench_options options = bench_parse(argc, argv,
		"bench_network: steps whose secondaries are processes; baseline of an empty one: a bare exchange of as "
		"many "
		"bytes, polled; of robots: threads");
	if (!mkdtemp(folder))
		die("no folder for a key");
	(void)snprintf(key, sizeof key, "%s/key", folder);
	bool keyed = key_usable() && !key_create(key, &error);
	for (enum way way = TCP; way <= (keyed ? TLS : TCP); way++)
		measure_empty(&options, way, key);
	static const int robots[] = {0, 64, 512};
	for (size_t i = 0; i < ARRAY_LEN(robots); i++)
		for (int secondaries = 1; secondaries <= REMOTE_SECONDARIES; secondaries++)
			for (enum way way = TCP; way <= (keyed ? TLS : TCP); way++)
				measure_robots(&options, options.smoke ? MIN(robots[i], 8) : robots[i], secondaries, 1,
					secondaries, way, key);
	measure_sight(&options, options.smoke ? 16 : 64);
	for (int threads = 1; threads <= 2; threads++)
		measure_robots(&options, options.smoke ? 64 : 512, 1, threads, 2, TCP, key);
	(void)unlink(key);
	(void)rmdir(folder);
	return 0;
}
