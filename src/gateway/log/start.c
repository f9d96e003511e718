/* The log of a program that uses the library: a struct log with its own memory. */
#include "base/base.h"
#include "gateway/log/log.h"

#include <troupe/log.h>

#include <stdlib.h>

struct troupe_log {
	struct log log;
	struct troupe_server *server;
	void (*on_warning)(void *ctx, const char *text);
	void *ctx;
};

static void start_warn(void *ctx, const char *text)
{
	const struct troupe_log *log = ctx;
	if (log->on_warning)
		log->on_warning(log->ctx, text);
}

troupe_status troupe_log_observes(const char *what, uint32_t *ret_observe, struct troupe_error *error)
{
	struct log log;
	troupe_status status = log_init(&log, "", 0, "what", what, NULL, NULL, error);
	*ret_observe = status ? 0 : log_observes(&log);
	log_fini(&log);
	return status;
}

troupe_status troupe_log_start(struct troupe_server *server, const struct troupe_log_def *def,
	struct troupe_log **ret_log, struct troupe_error *error)
{
	*ret_log = NULL;
	if (!def->path || !*def->path)
		return fail(error, TROUPE_EINVAL, "log: no path: expected a file");
	struct troupe_log *log = mem_alloc(sizeof *log);
	*log = (struct troupe_log){.server = server};
	troupe_status status = log_init(&log->log, def->path, def->every, "what", def->what, start_warn, log, error);
	if (!status)
		log_begin(&log->log, server, NULL);
	if (!status && log->log.why.status)
		status = fail(error, log->log.why.status, "%s", log->log.why.text);
	if (status) {
		log_fini(&log->log);
		free(log);
		return status;
	}
	log->on_warning = def->on_warning;
	log->ctx = def->ctx;
	*ret_log = log;
	return TROUPE_OK;
}

void troupe_log_step(struct troupe_log *log)
{
	if (log)
		log_step(&log->log, log->server, troupe_server_progress(log->server).steps);
}

troupe_status troupe_log_end(struct troupe_log *log, struct troupe_error *error)
{
	if (!log)
		return TROUPE_OK;
	troupe_status status = log_end(&log->log, error);
	log_fini(&log->log);
	free(log);
	return status;
}
