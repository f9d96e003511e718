/* Nothing else in the library names a transport, apart from its own folder: so another transport is a folder and a line
 * here. The first local one and the first remote one are the usual ones. */
#include "net/backend.h"

#include "net/inproc/inproc.h"
#include "net/mpi/mpi.h"
#include "net/tcp/tcp.h"

#include <assert.h>
#include <string.h>

/* X(name, summary, kind, transport, gatherer, follower) */
#define BACKENDS(X)                                                                                                    \
	X("inproc", "threads of one process", THREADS, &transport_inproc, NULL, NULL)                                  \
	X("tcp", "processes, over TCP or TLS", PROCESSES, &transport_tcp, &gather_tcp, &follow_tcp)                    \
	X("mpi", "processes that mpirun or srun starts", JOB, &transport_mpi, &gather_mpi, NULL)

static const struct troupe_transport backend_shown[] = {
#define X(name, summary, kind, transport, gather, follow) {name, summary, TROUPE_TRANSPORT_##kind},
	BACKENDS(X)
#undef X
};

static const struct backend backend_backends[] = {
#define X(name, summary, kind, transport, gather, follow) {name, transport, gather, follow},
	BACKENDS(X)
#undef X
};

static bool backend_gathers(const struct gather_ops *has)
{
	return has->refuse && has->gathering_create && has->gathering_run && has->gathering_missing &&
	       has->gathering_regroups && has->gathering_members && has->gathering_known && has->gathering_process &&
	       has->gathering_awaited && has->gathering_link && has->gathering_stop && has->gathering_destroy &&
	       has->joining_create && has->joining_run && has->joining_regroups && has->joining_orphaned &&
	       has->joining_standby && has->joining_seek_standby && has->joining_wake && has->joining_link &&
	       has->joining_destroy && !has->job_join == !has->job_leave &&
	       !has->joining_renew == !has->changes_members;
}

static bool backend_follows(const struct follow_ops *has)
{
	return has->feed_start && has->feed_where && has->feed_send && has->feed_waiting && has->feed_confirm &&
	       has->feed_end && has->following_create && has->following_run && has->following_wake &&
	       has->following_destroy;
}

const struct troupe_transport *troupe_transports(uint32_t *ret_count)
{
	*ret_count = ARRAY_LEN(backend_shown);
	return backend_shown;
}

const struct backend *backend_local(void)
{
	return &backend_backends[0];
}

troupe_status backend_remote(const char *name, const struct backend **ret_backend, struct troupe_error *error)
{
	struct text names = {0};
	for (size_t i = 0; i < ARRAY_LEN(backend_backends); i++) {
		if (!backend_backends[i].gather)
			continue;
		if (!name || !strcmp(name, backend_backends[i].name)) {
			assert(backend_gathers(backend_backends[i].gather));
			assert(!backend_backends[i].follow || backend_follows(backend_backends[i].follow));
			*ret_backend = &backend_backends[i];
			text_fini(&names);
			return TROUPE_OK;
		}
		text_add(&names, "%s%s", names.count ? ", " : "", backend_backends[i].name);
	}
	(void)fail(error, TROUPE_EINVAL, "transport '%.40s' between processes: expected one of %s", name, names.at);
	text_fini(&names);
	return TROUPE_EINVAL;
}

/* --- jobs --------------------------------------------------------------------------------------------------------- */

troupe_status troupe_job_join(const char *transport, struct troupe_job **ret_job, struct troupe_error *error)
{
	const struct backend *backend;
	troupe_status status = backend_remote(transport, &backend, error);
	if (status)
		return status;
	if (!backend->gather->job_join)
		return fail(error, TROUPE_EINVAL, "transport '%s': no launcher starts its processes", backend->name);
	return backend->gather->job_join(ret_job, error);
}

uint32_t troupe_job_number(const struct troupe_job *job)
{
	return job->number;
}

uint32_t troupe_job_size(const struct troupe_job *job)
{
	return job->size;
}

void troupe_job_leave(struct troupe_job *job, bool well)
{
	if (job)
		job->ops->job_leave(job, well);
}
