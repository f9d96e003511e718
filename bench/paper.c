#include "paper.h"

#include "remote.h"

#include "cli/commands.h"

#include <troupe/report.h>

#include <stdio.h>
#include <stdlib.h>

struct count { /* of the steps between two reports; s */
	double steps, windows, bytes, messages, robot_steps, parts_s, primary_s;
};

static struct count paper_read(struct troupe_server *server, uint32_t secondaries)
{
	struct troupe_report *report = troupe_server_report(server);
	const struct troupe_report_world *world = &report->worlds[0];
	struct count count = {.steps = (double)world->steps,
		.windows = (double)world->windows,
		.bytes = (double)world->network.step_bytes + (double)world->network.ack_bytes,
		.messages = 2.0 * secondaries * (double)world->windows,
		.robot_steps = (double)world->network.robot_steps,
		.parts_s = world->network.largest_part_s,
		.primary_s = bench_processor_ns() * 1e-9};
	troupe_report_free(report);
	return count;
}

static struct count paper_between(const struct count *a, const struct count *b)
{
	return (struct count){b->steps - a->steps, b->windows - a->windows, b->bytes - a->bytes,
		b->messages - a->messages, b->robot_steps - a->robot_steps, b->parts_s - a->parts_s,
		b->primary_s - a->primary_s};
}

/* --- a run -------------------------------------------------------------------------------------------------------- */

static const char *paper_path(const struct paper_world *world, const char *kind)
{
	static char path[600];
	const char *source = getenv("SOURCE_DIR");
	(void)snprintf(path, sizeof path, "%s/worlds/%s.%s", source ? source : ".", world->name, kind);
	return path;
}

static void paper_command(const struct paper_world *world, struct troupe_server *server)
{
	struct command_lines commands = {0};
	struct troupe_error error;
	troupe_status status =
		world->text ? TROUPE_OK : commands_read(paper_path(world, "commands"), &commands, &error);
	if (!status && !world->text)
		status = commands_queue(&commands, server, &error);
	if (status) {
		fprintf(stderr, "bench_scaling: %s\n", error.text);
		exit(1);
	}
	commands_fini(&commands);
}

/* Lets the server take its steps, and counts. */
static struct count paper_take(
	const struct paper_world *world, struct troupe_server *server, uint32_t secondaries, uint64_t *ret_hash)
{
	paper_command(world, server);
	if (world->command)
		world->command(server);
	(void)bench_run(server, world->begin);
	struct count before = paper_read(server, secondaries);
	(void)bench_run(server, world->begin + world->steps);
	struct count after = paper_read(server, secondaries);
	*ret_hash = troupe_server_hash(server);
	return paper_between(&before, &after);
}

static struct count paper_run(const struct paper_world *world, uint32_t secondaries, uint64_t *ret_hash)
{
	struct remote remote = remote_start(&(struct remote_def){.world = world->text,
		.path = world->text ? NULL : paper_path(world, "sdf"),
		.secondaries = (int)secondaries,
		.threads = 1});
	struct count count = paper_take(world, remote.server, secondaries, ret_hash);
	remote_end(&remote);
	return count;
}

/* On one core one thread takes all steps: there are no messages. */
static struct count paper_run_alone(const struct paper_world *world, uint64_t *ret_hash)
{
	struct troupe_server_def def = bench_def(world->text, 0);
	if (!world->text)
		def.world_path = paper_path(world, "sdf");
	def.sense_all = def.scripted = true;
	struct troupe_server *server = bench_create(&def);
	struct count count = paper_take(world, server, 0, ret_hash);
	troupe_server_destroy(server);
	return count;
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

/* baseline: 0: none; hash: 0: none */
static void paper_row(const struct bench_options *options, const char *subject, const char *unit, double value,
	double baseline, uint64_t hash)
{
	struct bench_samples values = {0}, baselines = {0};
	bench_add(&values, value);
	bench_add(&baselines, baseline);
	bench_print(options, &(struct bench_row){.subject = subject,
				     .unit = unit,
				     .values = &values,
				     .baselines = baseline > 0 ? &baselines : NULL,
				     .hash = hash});
}

static void paper_rows(const struct bench_options *options, const struct paper_world *world, uint32_t secondaries,
	const struct count *count, double alone_s)
{
	static const struct {
		const char *name;
		double s;
	} trips[] = {{"20 us", 20e-6}, {"100 us", 100e-6}, {"1 ms", 1e-3}, {"20 ms", 20e-3}};
	char subject[100];
	for (size_t i = 0; i < sizeof trips / sizeof trips[0]; i++) {
		double all_s = count->parts_s + count->primary_s + count->windows * trips[i].s;
		(void)snprintf(
			subject, sizeof subject, "%s on %u, round trip %s", world->name, secondaries, trips[i].name);
		paper_row(options, subject, "steps/s", count->steps / all_s, count->steps / alone_s, 0);
	}
	(void)snprintf(subject, sizeof subject, "  %s on %u: largest part", world->name, secondaries);
	paper_row(options, subject, "us/step", count->parts_s / count->steps * 1e6, 0, 0);
	(void)snprintf(subject, sizeof subject, "  %s on %u: primary's part", world->name, secondaries);
	paper_row(options, subject, "us/step", count->primary_s / count->steps * 1e6, 0, 0);
	(void)snprintf(subject, sizeof subject, "  %s on %u: messages", world->name, secondaries);
	paper_row(options, subject, "a step", count->messages / count->steps, 0, 0);
	(void)snprintf(subject, sizeof subject, "  %s on %u: bytes", world->name, secondaries);
	paper_row(options, subject, "a robot-step", count->bytes / count->robot_steps, 0, 0);
}

void paper_print(const struct bench_options *options, const struct paper_world *world)
{
	uint64_t hash, same;
	char subject[100];
	bench_progress(options, world->name, 0);
	struct count alone = paper_run_alone(world, &hash);
	(void)snprintf(subject, sizeof subject, "%s on one core", world->name);
	paper_row(options, subject, "steps/s", alone.steps / alone.primary_s, 0, hash);
	for (uint32_t secondaries = 2; secondaries <= world->most; secondaries *= 2) {
		bench_progress(options, world->name, 0);
		struct count count = paper_run(world, secondaries, &same);
		if (same != hash) {
			fprintf(stderr, "bench_scaling: %s has another state on %u secondaries\n", world->name,
				secondaries);
			exit(1);
		}
		paper_rows(options, world, secondaries, &count, alone.primary_s);
	}
}
