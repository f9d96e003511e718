/* What comes from the primary is kept as it is: the last recording that is whole up to a commit, and the next one until
 * it is. Only when this process takes over are the steps since its first state taken, from the file in memory that a
 * replay reads; and once before, on a thread of its own, to see whether that can be done here. */
#include "server/standby.h"

#include "base/pack.h"
#include "base/text.h"
#include "net/backend.h"
#include "physics/physics.h"
#include "server/replay.h"

#include <troupe/standby.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct standby_trial { /* of the first recording */
	bool begun, runs;
	pthread_t thread;
	struct text bytes;
	uint64_t step;
	_Atomic bool failed;
	struct troupe_error why; /* read after `failed` */
};

struct troupe_standby {
	struct troupe_standby_def def;
	const struct backend *backend;
	struct follow_host host;
	struct following *following;
	_Atomic bool stop;
	struct text packed; /* FOLLOW_FILES, until a recording begins */
	pthread_mutex_t lock;
	struct files files; /* of FOLLOW_FILES; under the lock */
	struct files_source source;
	struct text now, next; /* recordings */
	bool in_next;          /* bytes that come are of `next` */
	size_t whole;          /* bytes of `now` up to its last commit */
	uint64_t step;         /* of this commit */
	struct text state;
	struct standby_trial trial;
	struct troupe_takeover takeover; /* its term is 0: it does not take over */
};

static void server_standby_on_note(void *ctx, const char *text)
{
	struct troupe_standby *standby = ctx;
	if (standby->def.on_note)
		standby->def.on_note(standby->def.ctx, text);
}

static bool server_standby_is_stopped(void *ctx)
{
	struct troupe_standby *standby = ctx;
	return atomic_load(&standby->stop) || atomic_load(&standby->trial.failed);
}

/* --- repeating a recording ---------------------------------------------------------------------------------------- */

static troupe_status server_standby_write(int file, const char *bytes, size_t count, struct troupe_error *error)
{
	for (size_t at = 0; at < count;) {
		ssize_t wrote = write(file, bytes + at, count - at);
		if (wrote < 0 && errno != EINTR)
			return fail(error, TROUPE_ELIMIT, "cannot keep the run in memory: %s", strerror(errno));
		at += (size_t)MAX(wrote, 0);
	}
	return TROUPE_OK;
}

/* Repeats the recording, and appends the state of its last commit. shows: hashes are told of. */
static troupe_status server_standby_repeat(const struct troupe_standby *standby, const char *path, bool shows,
	uint64_t expected, struct text *state, struct troupe_error *error)
{
	struct troupe_server_def def = troupe_server_def_default();
	uint64_t step;
	def.resume_path = path;
	def.plugin_paths = standby->def.plugin_paths;
	def.resource_paths = standby->def.resource_paths;
	def.hash_every = shows ? standby->def.hash_every : 0;
	def.on_hash = shows ? standby->def.on_hash : NULL;
	def.ctx = standby->def.ctx;
	troupe_status status = replay_follow(&def, &standby->source, state, &step, error);
	if (!status && step != expected)
		return fail(error, TROUPE_EINTERNAL, "the run was repeated up to step %" PRIu64 ": expected %" PRIu64,
			step, expected);
	return status;
}

static troupe_status server_standby_rebuild(const struct troupe_standby *standby, const char *bytes, size_t count,
	bool shows, uint64_t step, struct text *state, struct troupe_error *error)
{
	int file = memfd_create("troupe-standby", MFD_CLOEXEC);
	if (file < 0)
		return fail(error, TROUPE_ELIMIT, "cannot keep the run in memory: %s", strerror(errno));
	char *path = mem_printf("/proc/self/fd/%d", file);
	troupe_status status = server_standby_write(file, bytes, count, error);
	if (!status)
		status = server_standby_repeat(standby, path, shows, step, state, error);
	size_t named = strlen(path);
	if (status && !strncmp(error->text, path, named) && !strncmp(error->text + named, ": ", 2))
		(void)fail(error, status, "what the primary sent: %.400s", error->text + named + 2);
	free(path);
	(void)close(file);
	return status;
}

/* --- trying it ---------------------------------------------------------------------------------------------------- */

/* What this machine lacks, such as the library of a plug-in, is found while the primary is there. */
static void *server_standby_try(void *arg)
{
	struct troupe_standby *standby = arg;
	struct standby_trial *trial = &standby->trial;
	struct text state = {0};
	troupe_status status = server_standby_rebuild(
		standby, trial->bytes.at, trial->bytes.count, false, trial->step, &state, &trial->why);
	text_fini(&state);
	if (status)
		atomic_store(&trial->failed, true);
	standby->backend->follow->following_wake(standby->following);
	return NULL;
}

static void server_standby_begin_trial(struct troupe_standby *standby)
{
	struct standby_trial *trial = &standby->trial;
	if (trial->begun)
		return;
	trial->begun = true;
	trial->step = standby->step;
	text_add_bytes(&trial->bytes, standby->now.at, standby->whole);
	int failed = pthread_create(&trial->thread, NULL, server_standby_try, standby);
	mem_check_thread(failed);
	trial->runs = !failed; /* without a thread it is not tried */
}

static void server_standby_end_trial(struct troupe_standby *standby)
{
	struct standby_trial *trial = &standby->trial;
	if (trial->runs)
		pthread_join(trial->thread, NULL);
	trial->runs = false;
	text_fini(&trial->bytes);
	trial->bytes = (struct text){0};
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static void server_standby_take_files(struct troupe_standby *standby)
{
	struct unpack in = {standby->packed.at, standby->packed.at + standby->packed.count, false};
	pthread_mutex_lock(&standby->lock);
	if (standby->packed.count) /* a list of its own: of this primary, or of this moment */
		files_fini(&standby->files);
	while (!in.bad && in.at < in.end) {
		size_t count;
		char *path = unpack_string(&in);
		const char *bytes = unpack_bytes(&in, &count);
		if (!in.bad)
			files_add(&standby->files, path, bytes, count);
		free(path);
	}
	pthread_mutex_unlock(&standby->lock);
	text_fini(&standby->packed);
	standby->packed = (struct text){0};
}

/* Any thread. */
static troupe_status server_standby_fetch(
	void *ctx, const char *path, char **ret_bytes, size_t *ret_count, struct troupe_error *error)
{
	struct troupe_standby *standby = ctx;
	struct files files = {.before = &standby->files, .closed = true};
	const char *bytes;
	pthread_mutex_lock(&standby->lock);
	troupe_status status = files_read(&files, path, SIZE_MAX, &bytes, ret_count, error);
	if (!status) {
		*ret_bytes = mem_alloc(*ret_count + 1);
		memcpy(*ret_bytes, bytes, *ret_count);
	}
	files_fini(&files);
	pthread_mutex_unlock(&standby->lock);
	return status;
}

/* --- what comes from the primary ---------------------------------------------------------------------------------- */

static void server_standby_commit(struct troupe_standby *standby, const char *bytes, size_t count)
{
	struct unpack in = {bytes, bytes + count, false};
	uint64_t step = unpack_u64(&in);
	if (in.bad)
		return;
	if (standby->in_next) {
		struct text old = standby->now;
		standby->now = standby->next;
		standby->next = old;
	}
	standby->in_next = false;
	standby->whole = standby->now.count;
	standby->step = step;
	server_standby_begin_trial(standby);
}

static void server_standby_on_follow(void *ctx, enum follow_kind kind, const char *bytes, size_t count)
{
	struct troupe_standby *standby = ctx;
	if (kind == FOLLOW_FILES) {
		standby->packed.count = count ? standby->packed.count : 0;
		text_add_bytes(&standby->packed, bytes, count);
	} else if (kind == FOLLOW_BEGIN) {
		server_standby_take_files(standby);
		standby->in_next = true;
		standby->next.count = 0;
	} else if (kind == FOLLOW_BYTES) {
		text_add_bytes(standby->in_next ? &standby->next : &standby->now, bytes, count);
	} else {
		server_standby_commit(standby, bytes, count);
	}
}

/* --- taking over -------------------------------------------------------------------------------------------------- */

static troupe_status server_standby_take_over(struct troupe_standby *standby, struct troupe_error *error)
{
	troupe_status status = server_standby_rebuild(
		standby, standby->now.at, standby->whole, true, standby->step, &standby->state, error);
	text_fini(&standby->now);
	text_fini(&standby->next);
	if (status)
		text_fini(&standby->state);
	struct troupe_error line;
	(void)fail(&line, TROUPE_OK,
		"this standby takes over as primary of term %" PRIu64 ": the run goes on from step %" PRIu64,
		standby->takeover.term.term, standby->step);
	if (!status)
		server_standby_on_note(standby, line.text);
	return status;
}

/* No other process may have the state of the last commit. */
static void server_standby_keep_state(struct troupe_standby *standby)
{
	struct troupe_error unwanted;
	if (server_standby_rebuild(
		    standby, standby->now.at, standby->whole, false, standby->step, &standby->state, &unwanted))
		text_fini(&standby->state);
}

troupe_status troupe_standby_run(struct troupe_standby *standby, struct troupe_error *error)
{
	struct troupe_error unwanted;
	error = error ? error : &unwanted;
	troupe_status status =
		standby->backend->follow->following_run(standby->following, &standby->takeover.term, error);
	server_standby_end_trial(standby);
	const struct standby_trial *trial = &standby->trial;
	if (!status && atomic_load(&trial->failed))
		status = fail(error, trial->why.status, "this process cannot go on with the run: %s", trial->why.text);
	else if (!status && standby->takeover.term.term)
		status = server_standby_take_over(standby, error);
	if (status)
		standby->takeover.term.term = 0;
	/* too few secondaries came; of a state that cannot be repeated nothing is left */
	if (status && standby->takeover.term.lost_ns && standby->now.count)
		server_standby_keep_state(standby);
	return status;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static troupe_status server_standby_check(const struct troupe_network *network, struct troupe_error *error)
{
	if (!network->address)
		return fail(error, TROUPE_EINVAL, "a standby without the address of the primary");
	if (network->sockets || network->job)
		return fail(error, TROUPE_EINVAL, "a standby of processes that are started together: expected none");
	if (!(network->wait_s >= 0 && network->wait_s <= 1e9))
		return fail(error, TROUPE_EINVAL, "waiting for %g s: expected 0 to 1e9", network->wait_s);
	return TROUPE_OK;
}

troupe_status troupe_standby_create(
	const struct troupe_standby_def *def, struct troupe_standby **ret_standby, struct troupe_error *error)
{
	struct troupe_standby *standby = mem_alloc(sizeof *standby);
	standby->def = *def;
	pthread_mutex_init(&standby->lock, NULL);
	standby->source = (struct files_source){server_standby_fetch, standby};
	standby->host = (struct follow_host){.on_note = server_standby_on_note,
		.stopped = server_standby_is_stopped,
		.on_follow = server_standby_on_follow,
		.ctx = standby};
	struct gather_self self = {.network = def->network};
	troupe_status status = server_standby_check(def->network, error);
	if (!status)
		status = backend_remote(def->network->transport, &standby->backend, error);
	if (!status && !standby->backend->follow)
		status = fail(error, TROUPE_EINVAL, "this transport has no standbys");
	if (!status)
		status = physics_init_process(error);
	if (!status) {
		self.fingerprint = *physics_fingerprint_parts();
		status = standby->backend->follow->following_create(&self, &standby->host, &standby->following, error);
	}
	if (status) {
		troupe_standby_destroy(standby);
		return status;
	}
	*ret_standby = standby;
	return TROUPE_OK;
}

void troupe_standby_destroy(struct troupe_standby *standby)
{
	if (!standby)
		return;
	server_standby_end_trial(standby);
	if (standby->following)
		standby->backend->follow->following_destroy(standby->following);
	text_fini(&standby->packed);
	text_fini(&standby->now);
	text_fini(&standby->next);
	text_fini(&standby->state);
	files_fini(&standby->files);
	pthread_mutex_destroy(&standby->lock);
	free(standby);
}

const struct troupe_takeover *troupe_standby_takeover(const struct troupe_standby *standby)
{
	return standby->takeover.term.term ? &standby->takeover : NULL;
}

const void *troupe_standby_state(const struct troupe_standby *standby, size_t *ret_count)
{
	*ret_count = standby->state.count;
	return standby->state.at;
}

struct troupe_followed_run troupe_standby_was(const struct troupe_standby *standby)
{
	const struct follow_run *was = &standby->takeover.term.was;
	return (struct troupe_followed_run){.secondaries = was->secondaries,
		.on_loss = was->goes_on ? TROUPE_ON_LOSS_CONTINUE : TROUPE_ON_LOSS_STOP,
		.iterations = was->iterations,
		.until_s = was->until_s};
}

void troupe_standby_stop(struct troupe_standby *standby)
{
	int code = errno;
	atomic_store(&standby->stop, true);
	standby->backend->follow->following_wake(standby->following);
	errno = code;
}
