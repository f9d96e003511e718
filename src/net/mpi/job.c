/* Joining the ranks of this run, and leaving them. The module with the MPI library is loaded here, so a run with
 * another transport neither needs nor loads it: linking it would add 1 ms to each start, and a package to each
 * installation.
 *
 * A launcher ends all ranks when one of them dies or ends badly: mpirun sends SIGCONT at once, SIGTERM a second later,
 * and SIGKILL after another second. So a secondary that has found the run lost does not end by itself, which would end
 * the primary as well, before it has saved its state: it waits to be ended. The primary ends, once its work is done,
 * without waiting for ranks that may not answer. Only a run that went well is ended together (MPI_Finalize). */
#include "config.h"

#include "net/mpi/mpi.h"

#include "base/clock.h"
#include "net/hello.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINGER_S = 60, TELL_MS = 500 };

#ifdef HAVE_MPI
static const char job_module[] = "troupe_mpi.so";

/* The module beside a program that was built and not installed. */
static char *job_beside_program(void)
{
	char path[4096];
	ssize_t count = readlink("/proc/self/exe", path, sizeof path - 1);
	path[MAX(count, 0)] = '\0';
	char *slash = strrchr(path, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	return mem_printf("%s/.libs/%s", path, job_module);
}

static void *job_open_at(char *path)
{
	void *opened = path && !access(path, F_OK) ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
	free(path);
	return opened;
}

static troupe_status job_open_module(struct mpi_job *job, struct troupe_error *error)
{
	const char *folder = getenv("TROUPE_MODULES");
	if (folder && *folder)
		job->module = job_open_at(mem_printf("%s/%s", folder, job_module));
	if (!job->module)
		job->module = job_open_at(job_beside_program());
	if (!job->module)
		job->module = dlopen(TROUPE_MODULES "/troupe_mpi.so", RTLD_NOW | RTLD_GLOBAL);
	job->glue = job->module ? dlsym(job->module, GLUE_SYMBOL) : NULL;
	if (!job->glue)
		return fail(error, TROUPE_EINVAL, "transport 'mpi': cannot load the MPI library: %.300s", dlerror());
	if (job->glue->version != GLUE_VERSION)
		return fail(error, TROUPE_EINVAL, "transport 'mpi': %s is of another version of troupe", job_module);
	const struct mpi_glue *glue = job->glue;
	assert(glue->init && glue->continued && glue->finalize && glue->send && glue->next && glue->receive &&
		glue->done);
	return TROUPE_OK;
}
#else
static troupe_status job_open_module(struct mpi_job *job, struct troupe_error *error)
{
	(void)job;
	return fail(error, TROUPE_EINVAL,
		"transport 'mpi': this troupe was built without MPI: configure --with-mpi brings it");
}
#endif

static troupe_status job_count_ranks(struct mpi_job *job, struct troupe_error *error)
{
	char why[GLUE_WHY_BYTES];
	if (!job->glue->init(&job->place, why))
		return fail(error, TROUPE_EPEER, "transport 'mpi': %s", why);
	if (job->place.ranks < 2)
		return fail(error, TROUPE_EINVAL,
			"transport 'mpi' with one rank: expected a rank for the primary and one for each secondary, "
			"as mpirun -n 5 starts them");
	if (job->place.ranks - 1 > TROUPE_SECONDARIES_MAX)
		return fail(error, TROUPE_EINVAL, "transport 'mpi' with %d ranks: expected at most %d",
			job->place.ranks, TROUPE_SECONDARIES_MAX + 1);
	job->job.number = (uint32_t)job->place.rank;
	job->job.size = (uint32_t)job->place.ranks;
	bool primary = !job->place.rank;
	return mpi_carrier_create(job->glue, primary ? 1 : 0, primary ? job->job.size - 1 : 1, &job->carrier, error);
}

troupe_status mpi_job_join(struct troupe_job **ret_job, struct troupe_error *error)
{
	struct mpi_job *job = mem_alloc(sizeof *job);
	job->job.ops = &gather_mpi;
	troupe_status status = job_open_module(job, error);
	if (!status)
		status = job_count_ranks(job, error);
	if (status) {
		free(job); /* a loaded module stays: MPI cannot be taken out of a process */
		return status;
	}
	*ret_job = &job->job;
	return TROUPE_OK;
}

/* The secondaries wait for a primary that will not come, so it tells them. */
static void job_tell_secondaries(struct mpi_job *job)
{
	struct text bytes = {0};
	refuse_encode("the primary ended before the start", false, &bytes);
	for (uint32_t i = 0; i + 1 < job->job.size; i++)
		(void)carrier_send(&mpi_carrier_ops, job->carrier, i, FRAME_REFUSE, bytes.at, bytes.count, NULL);
	mpi_carrier_ops.finish(job->carrier, TELL_MS);
	text_fini(&bytes);
}

void mpi_job_leave(struct troupe_job *left, bool well)
{
	struct mpi_job *job = (struct mpi_job *)left;
	if (!well && !job->place.rank && !job->ended && job->carrier)
		job_tell_secondaries(job);
	if (!well && job->place.rank)
		clock_sleep_until_ns(clock_now_ns() + LINGER_S * UINT64_C(1000000000));
	mpi_carrier_ops.destroy(job->carrier);
	if (well)
		job->glue->finalize();
	free(job);
}
