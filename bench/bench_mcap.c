/* Measures MCAP files. First the format alone (gateway/mcap/file.h): messages like scans of a lidar, 8 KB each, whose
 * ranges change little from one to the next; the baseline is a bare write() of the same messages, in pieces as large as
 * a chunk. Then a run with --mcap: robots that drive, with all usual topics recorded, beside the same run without.
 * Files are written to the current folder, and removed. */
#include "bench.h"
#include "robots.h"

#include "base/hash.h"
#include "gateway/mcap/file.h"

#include <troupe/gateway.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANGES = 2000, MESSAGE_BYTES = 4 * RANGES };
static const char path[] = "bench_mcap.tmp";

static void must(troupe_status status, const struct troupe_error *error)
{
	if (!status)
		return;
	fprintf(stderr, "bench_mcap: %s\n", error->text);
	exit(1);
}

/* Ranges of single precision, of which each message has other last digits, as noise gives them. */
static void fill(float ranges[RANGES], uint64_t message)
{
	for (uint32_t i = 0; i < RANGES; i++)
		ranges[i] = 5 + 0.01F * (float)(i % 100) + 0.001F * (float)(hash_mix(message, i) % 16);
}

static float *make_messages(int count)
{
	float *messages = malloc((size_t)count * MESSAGE_BYTES);
	if (!messages)
		exit(1);
	for (int i = 0; i < count; i++)
		fill(messages + (size_t)i * RANGES, (uint64_t)i);
	return messages;
}

/* MB/s */
static double write_file(const float *messages, int count, uint64_t *ret_bytes)
{
	struct mcap_file *file;
	struct mcap_file_counts counts;
	struct troupe_error error;
	uint64_t begin_ns = bench_now_ns();
	must(mcap_file_open(path, "", "bench", NULL, &file, &error), &error);
	int32_t channel = mcap_file_add_channel(
		file, mcap_file_add_schema(file, "scan", "ros2msg", "", 0), "/scan", "cdr", NULL, 0);
	for (int i = 0; i < count; i++)
		mcap_file_message(file, channel, i * INT64_C(1000000), messages + (size_t)i * RANGES, MESSAGE_BYTES);
	if (mcap_file_close(file, &counts))
		exit(1);
	*ret_bytes = counts.bytes;
	return (double)count * MESSAGE_BYTES * 1e3 / (double)(bench_now_ns() - begin_ns);
}

static double write_bare(const float *messages, int count)
{
	const char *bytes = (const char *)messages;
	size_t all = (size_t)count * MESSAGE_BYTES;
	uint64_t begin_ns = bench_now_ns();
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	for (size_t at = 0; at < all; at += MCAP_CHUNK_BYTES) {
		size_t piece = all - at < MCAP_CHUNK_BYTES ? all - at : MCAP_CHUNK_BYTES;
		if (file < 0 || write(file, bytes + at, piece) != (ssize_t)piece) {
			perror(path);
			exit(1);
		}
	}
	if (fsync(file) || close(file)) /* as the end of an MCAP file does */
		exit(1);
	return (double)all * 1e3 / (double)(bench_now_ns() - begin_ns);
}

static void measure_file(const struct bench_options *options, int count)
{
	struct bench_samples file = {0}, bare = {0};
	float *messages = make_messages(count);
	uint64_t bytes = 0;
	for (int repeat = -1; repeat < options->repeats; repeat++) {
		bench_progress(options, "file", repeat);
		double rates[2] = {write_file(messages, count, &bytes), write_bare(messages, count)};
		if (repeat < 0)
			continue;
		bench_add(&file, rates[0]);
		bench_add(&bare, rates[1]);
	}
	struct bench_row row = {mcap_file_compresses() ? "scans of 8 KB, compressed" : "scans of 8 KB", "MB/s", &file,
		&bare, .hash = bytes};
	bench_print(options, &row);
	fprintf(stderr, "%d messages, %.1f MB in a file of %.1f MB\n", count, (double)count * MESSAGE_BYTES / 1e6,
		(double)bytes / 1e6);
	free(messages);
	(void)unlink(path);
}

/* ctx: where the recorder will be. */
static void on_step(void *ctx, struct troupe_server *server, uint64_t step)
{
	(void)server, (void)step;
	troupe_mcap_step(*(struct troupe_mcap **)ctx);
}

static void measure_run(const struct bench_options *options, int robots, int secondaries, uint64_t steps)
{
	char *world = robots_driven_world(robots), subject[128];
	struct troupe_mcap *mcap = NULL;
	struct troupe_mcap_counts counts;
	struct troupe_error error;
	struct bench_samples rates[2] = {0};
	struct troupe_server_def def = bench_def(world, secondaries);
	uint64_t until = 0;
	def.on_step = on_step;
	def.step_every = 1;
	def.ctx = &mcap;
	struct troupe_server *servers[2] = {bench_server(world, secondaries), bench_create(&def)};
	for (int i = 0; i < 2; i++)
		robots_drive(servers[i], robots);
	must(troupe_mcap_start(servers[1], &(struct troupe_mcap_def){.path = path}, &mcap, &error), &error);
	bench_take_turns(options, "run", servers, 2, steps, &until, rates);
	(void)snprintf(subject, sizeof subject, "%d robots on %d, recorded", robots, secondaries);
	struct bench_row row = {
		subject, "steps/s", &rates[1], &rates[0], .at_least = 0.9, .hash = troupe_server_hash(servers[1])};
	bench_print(options, &row);
	bench_same(servers[0], servers[1], "with and without a recorder");
	must(troupe_mcap_end(mcap, &counts, &error), &error);
	fprintf(stderr, "%s: %lu messages, %.1f MB, steps waited %.3f s\n", subject, (unsigned long)counts.messages,
		(double)counts.bytes / 1e6, (double)counts.waited_ns * 1e-9);
	for (int i = 0; i < 2; i++)
		troupe_server_destroy(servers[i]);
	(void)unlink(path);
	free(world);
}

int main(int argc, char **argv)
{
	struct bench_options options = bench_parse(argc, argv,
		"bench_mcap: MCAP files; baselines: a bare write of the same messages, the same run without a file");
	measure_file(&options, options.smoke ? 500 : 10000);
	measure_run(&options, options.smoke ? 8 : 64, 1, options.smoke ? 10 : 200);
	measure_run(&options, options.smoke ? 8 : 512, 2, options.smoke ? 5 : 40);
	return 0;
}
