/* The suite over MPI: each end is a rank of its own. tests/conform/test_transport_mpi.sh starts it under mpirun, where
 * all ranks go through the same parts of the suite. A secondary that dies falls silent: the death of a process would
 * end all ranks (tests/fault/test_mpi.sh has that).
 *
 * Without mpirun it has nothing to do, so it is no test by itself. */
#include "transport_suite.h"

#include "base/clock.h"
#include "net/mpi/mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct mpi_job *job;
static struct transport_link link_of_all;
static int passed, failed;

static bool is_here(const struct stage *stage, uint32_t secondary)
{
	(void)stage;
	return secondary == job->job.number;
}

static struct carrier *lines(void)
{
	struct carrier *carrier;
	bool primary = !job->job.number;
	if (mpi_carrier_create(job->glue, primary ? 1 : 0, primary ? job->job.size - 1 : 1, &carrier, NULL))
		abort();
	return carrier;
}

static troupe_status open_end(struct stage *stage, const struct transport_options *options, uint32_t secondary,
	struct transport **ret_transport, struct troupe_error *error)
{
	static const char *const primary[] = {"the primary"};
	static const char *const names[SUITE_SECONDARIES_MAX] = {"secondary 1", "secondary 2", "secondary 3",
		"secondary 4", "secondary 5", "secondary 6", "secondary 7", "secondary 8"};
	struct transport_options linked = *options;
	link_of_all = (struct transport_link){.ops = &mpi_carrier_ops,
		.carrier = lines(),
		.names = secondary ? primary : names,
		.name = "a rank",
		.secondary = secondary,
		.stale_ms = 2000,
		.pollers = job->job.size};
	linked.link = &link_of_all;
	return stage->ops->create(&linked, ret_transport, error);
}

static void kill_end(struct stage *stage, uint32_t secondary, struct transport *transport)
{
	(void)secondary;
	stage->ops->destroy(transport);
}

static bool has_ended(int part, uint32_t rank, const char *how)
{
	char path[4096];
	const char *folder = getenv("TROUPE_SUITE");
	(void)snprintf(path, sizeof path, "%s/%d-%u", folder ? folder : ".", part, rank);
	FILE *file = fopen(path, how);
	if (file)
		(void)fclose(file);
	return file != NULL;
}

/* Waits until all ranks have destroyed their ends. A frame would be taken by an end that still lives; so each rank
 * makes a file in the folder TROUPE_SUITE, which works because all ranks are on this machine. */
static void meet(void)
{
	static int part;
	(void)has_ended(++part, job->job.number, "w");
	for (uint32_t rank = 0; rank < job->job.size; rank++)
		while (!has_ended(part, rank, "r"))
			(void)usleep(1000);
}

/* Takes and drops the frames of a part that are left, so that none is taken in the next part: all frames that a peer
 * sent before its READY. */
static void clear(struct stage *stage)
{
	struct carrier *carrier = lines();
	uint32_t count = job->job.number ? 1 : job->job.size - 1;
	(void)stage;
	meet();
	for (uint32_t i = 0; i < count; i++)
		if (carrier_send(&mpi_carrier_ops, carrier, i, FRAME_READY, "", 0, NULL))
			abort();
	for (uint32_t i = 0; i < count; i++) {
		enum frame_type type = FRAME_STOP;
		const char *bytes;
		size_t size;
		troupe_status bad = TROUPE_OK;
		while (type != FRAME_READY)
			if (mpi_carrier_ops.work(carrier, i, NULL))
				abort();
			else if (!mpi_carrier_ops.receive(carrier, i, &type, &bytes, &size, &bad, NULL))
				(void)mpi_carrier_ops.wait(carrier, 0);
	}
	mpi_carrier_ops.finish(carrier, 1000);
	mpi_carrier_ops.destroy(carrier);
	meet(); /* otherwise frames of the next part would be dropped, too */
}

static void report(const char *part, const char *why)
{
	if (why)
		printf("FAILED: rank %u: %s: %s\n", job->job.number, part, why);
	passed += !why;
	failed += why != NULL;
}

int main(void)
{
	struct stage stage = {
		.ops = &transport_mpi, .open = open_end, .is_here = is_here, .kill = kill_end, .end = clear};
	struct troupe_job *joined;
	struct troupe_error error;
	if (troupe_job_join("mpi", &joined, &error)) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	job = (struct mpi_job *)joined;
	uint32_t secondaries = job->job.size - 1;
	report("slots", transport_check(&transport_mpi, &error) ? "a slot is not filled" : NULL);
	report("order and once", suite_order_and_once(&stage, secondaries, 2000));
	report("windows", suite_windows(&stage, secondaries, 1000));
	report("publish refuses", suite_publish_refuses(&stage, secondaries));
	report("ack refuses", suite_ack_refuses(&stage, secondaries));
	report("create refuses", suite_create_refuses(&stage));
	report("close wakes", suite_close_wakes(&stage, secondaries));
	report("close delivers first", suite_close_delivers_first(&stage, secondaries));
	report("lost before a step", suite_lost(&stage, secondaries, SUITE_BEFORE));
	report("lost during a step", suite_lost(&stage, secondaries, SUITE_DURING));
	report("lost after a step", suite_lost(&stage, secondaries, SUITE_AFTER));
	report("left", suite_left(&stage, secondaries));
	report("failed", suite_failed(&stage, secondaries));
	report("files", suite_files(&stage, secondaries));
	printf("rank %u: %d passed, %d failed\n", job->job.number, passed, failed);
	fflush(stdout);
	troupe_job_leave(joined, true);
	return failed > 0;
}
