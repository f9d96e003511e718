/* The process of a secondary. The caller's thread works on the connection; a second thread loads the world and steps
 * it. So the process learns that the run is over even during loading, or during a step that does not end. Finding the
 * primary and carrying steps is the task of a back end (net/backend.h). */
#include "base/clock.h"
#include "base/eventcount.h"
#include "base/host_port.h"
#include "net/backend.h"
#include "run/secondary.h"
#include "server/network.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	GRACE_MS = 500,
	STOP_LOOK_MS = 20,
	SHARE_MODELS = 8,
	SERVER_SECONDARY_LEAVE_MS = 5000,
	REJOIN_S = 30,
	COME_AGAIN_S = 5
};

struct troupe_secondary {
	struct troupe_secondary_def def;
	const struct backend *backend;
	struct gather_host host;
	struct joining *joining;
	_Atomic bool stop;
	int woken;         /* event file; written by the thread below and by a stop */
	struct text world; /* until the second thread takes it */
	/* the second thread, and its results */
	pthread_t thread;
	bool has_thread, stuck;
	struct eventcount go; /* advanced when the transport exists */
	_Atomic bool loaded, finished;
	troupe_status load_status;
	struct troupe_error load_error;
	struct replica *replica;
	struct secondary *secondary;
	struct replica_step message; /* the received step */
	wire_scratch scratch;
	uint64_t hash;
	uint32_t number;
	uint32_t threads;                        /* threads that step the models */
	char ticket[2 * HELLO_TICKET_BYTES + 1]; /* of the last welcome, in hexadecimal digits */
	/* the run */
	struct transport_codec codec;
	uint64_t step_began_ns, ack_took_ns; /* processor time of the stepping thread */
	struct transport *transport;
	struct files_source source;
};

static const struct transport_ops *server_secondary_ops_of(const struct troupe_secondary *s)
{
	return s->backend->transport;
}

static void server_secondary_wake(const struct troupe_secondary *s)
{
	uint64_t one = 1;
	(void)!write(s->woken, &one, sizeof one);
	if (s->joining)
		s->backend->gather->joining_wake(s->joining);
}

static void server_secondary_wait_for_news(const struct troupe_secondary *s, int timeout_ms)
{
	struct pollfd fd = {.fd = s->woken, .events = POLLIN};
	uint64_t count;
	if (poll(&fd, 1, timeout_ms) > 0)
		(void)!read(s->woken, &count, sizeof count);
}

/* --- the other thread --------------------------------------------------------------------------------------------- */

static troupe_status server_secondary_fetch(
	void *ctx, const char *path, char **ret_bytes, size_t *ret_count, struct troupe_error *error)
{
	struct troupe_secondary *s = ctx;
	return server_secondary_ops_of(s)->fetch(s->transport, path, ret_bytes, ret_count, error);
}

static troupe_status server_secondary_load(struct troupe_secondary *s, struct troupe_error *error)
{
	enum physics_break rule;
	troupe_status status = server_break_rule(s->def.break_rule, &rule, error);
	if (!status)
		status = replica_create(
			s->world.at, s->world.count, s->number, rule, s->def.plugin_paths, &s->replica, error);
	text_fini(&s->world);
	if (status)
		return status;
	s->hash = replica_hash(s->replica);
	replica_fetch_from(s->replica, &s->source);
	s->secondary = secondary_create(s->number, replica_shared(s->replica));
	/* Helpers do not spin: the stepping thread polls for the next step, and is the only thread here that polls. */
	return s->threads > 1 ? secondary_start_helpers(s->secondary, s->threads - 1, error) : TROUPE_OK;
}

static void server_secondary_step(struct troupe_secondary *s)
{
	struct transport_message message;
	while (server_secondary_ops_of(s)->wait(s->transport, s->number - 1, &message) == TROUPE_OK) {
		struct ack *ack = secondary_step(s->secondary, message.payload);
		struct physics_stats stats = secondary_physics_stats(s->secondary);
		replica_stepped(s->replica, ack, &stats);
		if (server_secondary_ops_of(s)->ack(s->transport, s->number - 1,
			    (struct transport_message){.number = message.number, .payload = ack}))
			break;
	}
}

static void *server_secondary_work(void *arg)
{
	struct troupe_secondary *s = arg;
	s->load_status = server_secondary_load(s, &s->load_error);
	atomic_store(&s->loaded, true);
	server_secondary_wake(s);
	while (!eventcount_read(&s->go))
		(void)eventcount_await(&s->go, 0, 0, 0);
	if (s->transport)
		server_secondary_step(s);
	secondary_destroy(s->secondary);
	atomic_store(&s->finished, true);
	server_secondary_wake(s);
	return NULL;
}

static void server_secondary_start_loading(struct troupe_secondary *s)
{
	int failed = pthread_create(&s->thread, NULL, server_secondary_work, s);
	s->has_thread = !failed;
	mem_check_thread(failed);
	if (!failed)
		return;
	s->load_status = fail(&s->load_error, TROUPE_ELIMIT, "cannot start a thread: %s", strerror(failed));
	atomic_store(&s->loaded, true);
}

/* --- what joining asks for ---------------------------------------------------------------------------------------- */

static void server_secondary_on_note(void *ctx, const char *text)
{
	struct troupe_secondary *s = ctx;
	if (s->def.on_note)
		s->def.on_note(s->def.ctx, text);
}

static bool server_secondary_is_stopped(void *ctx)
{
	struct troupe_secondary *s = ctx;
	return atomic_load(&s->stop);
}

static void server_secondary_on_welcome(
	void *ctx, const char *host, uint16_t port, const unsigned char ticket[HELLO_TICKET_BYTES])
{
	struct troupe_secondary *s = ctx;
	for (int i = 0; i < HELLO_TICKET_BYTES; i++)
		(void)snprintf(s->ticket + 2 * i, 3, "%02x", ticket[i]);
	bool known = host && port;
	char address[HOST_PORT_TEXT_BYTES];
	if (known)
		host_port_text(host, port, address, sizeof address);
	if (s->def.on_welcome)
		s->def.on_welcome(s->def.ctx, known ? address : NULL);
}

static void server_secondary_on_world(void *ctx, uint32_t number, char *bytes, size_t count)
{
	struct troupe_secondary *s = ctx;
	s->number = number;
	s->world = (struct text){.at = bytes, .count = count};
	server_secondary_start_loading(s);
}

static troupe_status server_secondary_is_loaded(
	void *ctx, bool *ret_loaded, uint64_t *ret_hash, struct troupe_error *error)
{
	struct troupe_secondary *s = ctx;
	*ret_loaded = atomic_load(&s->loaded);
	if (!*ret_loaded)
		return TROUPE_OK;
	*ret_hash = s->hash;
	if (s->load_status)
		*error = s->load_error;
	return s->load_status;
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

static void server_secondary_encode_ack(void *ctx, uint32_t number, const void *payload, struct text *out)
{
	struct troupe_secondary *s = ctx;
	(void)number;
	(void)payload; /* the replica has it already */
	uint64_t now_ns = clock_thread_ns();
	wire_encode_ack(s->replica, &s->scratch, now_ns - s->step_began_ns + s->ack_took_ns, out);
	s->ack_took_ns = clock_thread_ns() - now_ns;
}

/* Waking a helper takes tens of us: about as long as a few models of a step. */
static uint32_t server_secondary_share_over(const struct troupe_secondary *s)
{
	return s->threads > 1 ? SHARE_MODELS * s->threads : UINT32_MAX;
}

/* Also makes the replica follow the step, so that an error in the step is an error of the primary's message. */
static troupe_status server_secondary_decode_step(void *ctx, uint32_t number, const char *bytes, size_t count,
	struct transport_message *ret_step, struct troupe_error *error)
{
	struct troupe_secondary *s = ctx;
	const struct step *step;
	s->step_began_ns = clock_thread_ns();
	troupe_status status = wire_decode_step(number + 1, bytes, count, &s->message, error);
	if (!status)
		status = replica_follow(s->replica, &s->message, server_secondary_share_over(s), &step, error);
	if (status)
		return status;
	for (char *text; (text = replica_take_warning(s->replica)); free(text))
		server_secondary_on_note(s, text);
	*ret_step = (struct transport_message){.number = step->number, .more = step->window - 1};
	memcpy(&ret_step->payload, &step, sizeof step); /* the transport has no const: it only carries the pointer */
	return TROUPE_OK;
}

static void server_secondary_on_alarm(void *ctx)
{
	server_secondary_wake(ctx);
}

static troupe_status server_secondary_start(struct troupe_secondary *s, struct troupe_error *error)
{
	struct transport_link *link;
	uint32_t all;
	troupe_status status = s->backend->gather->joining_link(s->joining, &link, &all, error);
	if (status)
		return status;
	s->codec = (struct transport_codec){
		.decode_step = server_secondary_decode_step, .encode_ack = server_secondary_encode_ack, .ctx = s};
	struct transport_options options = {
		.secondaries = all, .alarm = server_secondary_on_alarm, .ctx = s, .codec = &s->codec, .link = link};
	return server_secondary_ops_of(s)->create(&options, &s->transport, error);
}

/* Whether the primary was lost without a word, and had named a standby. */
static bool server_secondary_has_standby(const struct troupe_secondary *s)
{
	bool orphaned = s->transport ? server_secondary_ops_of(s)->orphaned(s->transport)
				     : s->backend->gather->joining_orphaned(s->joining);
	return orphaned && *s->backend->gather->joining_standby(s->joining);
}

static void server_secondary_wait_for_end(struct troupe_secondary *s)
{
	uint64_t until = UINT64_MAX, leave_by_ns = 0;
	uint32_t lost;
	while (!atomic_load(&s->finished) && clock_now_ns() < until) {
		bool over = server_secondary_ops_of(s)->lost(s->transport) ||
			    server_secondary_ops_of(s)->is_done(s->transport);
		if (atomic_load(&s->stop) && !over && !leave_by_ns) {
			server_secondary_ops_of(s)->leave(s->transport);
			leave_by_ns = clock_now_ns() + SERVER_SECONDARY_LEAVE_MS * UINT64_C(1000000);
		}
		if (leave_by_ns && !over && clock_now_ns() >= leave_by_ns) {
			server_secondary_ops_of(s)->stop(s->transport, STOP_LEFT, "it was told to stop");
			server_secondary_ops_of(s)->close(s->transport);
			over = true;
		}
		/* a step may take a while, and the primary waits until this secondary joins again */
		bool again =
			over && !atomic_load(&s->stop) &&
			(server_secondary_ops_of(s)->regroups(s->transport, &lost) || server_secondary_has_standby(s));
		if (over && until == UINT64_MAX)
			until = clock_now_ns() +
				(again ? REJOIN_S * UINT64_C(1000000000) : GRACE_MS * UINT64_C(1000000));
		server_secondary_wait_for_news(s, over ? STOP_LOOK_MS : leave_by_ns ? 100 : 1000);
	}
	s->stuck = !atomic_load(&s->finished);
}

static troupe_status server_secondary_run(struct troupe_secondary *s, struct troupe_error *error)
{
	troupe_status status = server_secondary_start(s, error);
	if (status)
		return status;
	eventcount_advance(&s->go);
	server_secondary_wait_for_end(s);
	const struct troupe_error *lost = server_secondary_ops_of(s)->lost(s->transport);
	if (lost && !atomic_load(&s->stop)) {
		*error = *lost;
		return lost->status;
	}
	return TROUPE_OK;
}

/* Waits at most GRACE_MS for the second thread, also while it loads. */
static void server_secondary_wait_for_thread(struct troupe_secondary *s)
{
	uint64_t until = clock_now_ns() + GRACE_MS * UINT64_C(1000000);
	eventcount_advance(&s->go);
	while (!atomic_load(&s->finished) && clock_now_ns() < until)
		server_secondary_wait_for_news(s, STOP_LOOK_MS);
	s->stuck = !atomic_load(&s->finished);
	if (!s->stuck)
		pthread_join(s->thread, NULL);
}

/* Forgets the world, but not where it comes from. False: the second thread does not end. */
static bool server_secondary_forget(struct troupe_secondary *s)
{
	if (s->has_thread)
		server_secondary_wait_for_thread(s);
	if (s->stuck)
		return false;
	replica_step_fini(&s->message);
	s->message = (struct replica_step){0};
	replica_destroy(s->replica);
	s->replica = NULL;
	if (s->transport) /* last: until then it says that this process lives */
		server_secondary_ops_of(s)->destroy(s->transport);
	s->transport = NULL;
	s->secondary = NULL;
	text_fini(&s->world);
	s->has_thread = false;
	atomic_store(&s->go.count, 0);
	atomic_store(&s->loaded, false);
	atomic_store(&s->finished, false);
	s->load_status = TROUPE_OK;
	return true;
}

/* The run goes on with other members, or has gone on without this process. */
static troupe_status server_secondary_join_again(struct troupe_secondary *s, struct troupe_error *error)
{
	uint32_t lost = 0;
	if (s->transport)
		(void)server_secondary_ops_of(s)->regroups(s->transport, &lost);
	server_secondary_on_note(s, lost ? "the run goes on without this process, which was lost: joining it again"
					 : "the run gets other members: joining it again");
	if (!server_secondary_forget(s))
		return fail(error, TROUPE_EPEER, "the run gets other members, and this process is still in a step");
	return s->backend->gather->joining_renew(s->joining, lost ? COME_AGAIN_S : REJOIN_S, error);
}

/* error: on entry how the primary was lost. */
static troupe_status server_secondary_seek_standby(struct troupe_secondary *s, struct troupe_error *error)
{
	struct troupe_error note;
	const char *lost = strstr(error->text, "; "), *standby = s->backend->gather->joining_standby(s->joining);
	(void)fail(&note, TROUPE_OK, "%.*s: looking for the standby at %s%s",
		(int)(lost ? lost - error->text : (ptrdiff_t)strlen(error->text)), error->text,
		*standby == ':' ? "the same host" : "", standby);
	server_secondary_on_note(s, note.text);
	if (!server_secondary_forget(s))
		return fail(error, TROUPE_EPEER, "the primary is lost, and this process is still in a step");
	return s->backend->gather->joining_seek_standby(s->joining, REJOIN_S, error);
}

static troupe_status server_secondary_run_once(struct troupe_secondary *s, bool *ret_again, struct troupe_error *error)
{
	uint32_t lost;
	troupe_status status = s->backend->gather->joining_run(s->joining, error);
	*ret_again = status && s->backend->gather->joining_regroups(s->joining);
	if (!status) {
		status = server_secondary_run(s, error);
		*ret_again = s->transport && server_secondary_ops_of(s)->regroups(s->transport, &lost);
		return status;
	}
	if (atomic_load(&s->stop))
		return TROUPE_OK;
	/* the second thread's result is valid only after it has set `loaded`: the thread may still be running */
	return atomic_load(&s->loaded) && s->load_status ? fail(error, s->load_status, "%s", s->load_error.text)
							 : status;
}

troupe_status troupe_secondary_run(struct troupe_secondary *s, struct troupe_error *error)
{
	struct troupe_error unwanted;
	bool again;
	error = error ? error : &unwanted;
	troupe_status status = server_secondary_run_once(s, &again, error);
	for (;;) {
		bool orphaned = status && server_secondary_has_standby(s);
		if ((!again && !orphaned) || atomic_load(&s->stop))
			return status;
		status = orphaned ? server_secondary_seek_standby(s, error) : server_secondary_join_again(s, error);
		if (status)
			return status;
		status = server_secondary_run_once(s, &again, error);
	}
}

/* --- life --------------------------------------------------------------------------------------------------------- */

/* Closes the socket that the secondary may have been given. */
static void server_secondary_refuse(const struct troupe_network *def)
{
	struct troupe_network one = *def;
	one.secondaries = 1;
	network_refuse(&one);
}

troupe_status troupe_secondary_create(
	const struct troupe_secondary_def *def, struct troupe_secondary **ret_secondary, struct troupe_error *error)
{
	struct troupe_secondary *s = mem_alloc_lines(sizeof *s);
	s->def = *def;
	s->threads = def->threads ? def->threads : MIN(eventcount_cores(), (uint32_t)TROUPE_NETWORK_THREADS_MAX);
	s->host = (struct gather_host){.on_note = server_secondary_on_note,
		.stopped = server_secondary_is_stopped,
		.on_welcome = server_secondary_on_welcome,
		.on_world = server_secondary_on_world,
		.loaded = server_secondary_is_loaded,
		.ctx = s};
	s->source = (struct files_source){server_secondary_fetch, s};
	s->woken = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct gather_self self = {.network = def->network};
	troupe_status status =
		def->threads <= TROUPE_NETWORK_THREADS_MAX
			? backend_remote(def->network->transport, &s->backend, error)
			: fail(error, TROUPE_EINVAL, "%u threads: expected 1 to %d, or 0 for one on each core",
				  def->threads, TROUPE_NETWORK_THREADS_MAX);
	if (!status)
		status = physics_init_process(error);
	if (status)
		server_secondary_refuse(def->network);
	if (!status) {
		self.fingerprint = *physics_fingerprint_parts();
		status = s->backend->gather->joining_create(&self, &s->host, &s->joining, error);
	}
	if (status) {
		troupe_secondary_destroy(s);
		return status;
	}
	*ret_secondary = s;
	return TROUPE_OK;
}

void troupe_secondary_destroy(struct troupe_secondary *s)
{
	if (!s)
		return;
	if (s->has_thread && !s->stuck)
		server_secondary_wait_for_thread(s);
	if (s->stuck) /* the second thread still uses all of it: the process ends anyway */
		return;
	if (s->transport)
		server_secondary_ops_of(s)->close(s->transport);
	replica_step_fini(&s->message);
	vec_free(&s->scratch);
	replica_destroy(s->replica); /* its thread may ask for a file */
	if (s->transport)
		server_secondary_ops_of(s)->destroy(s->transport);
	if (s->backend)
		s->backend->gather->joining_destroy(s->joining);
	text_fini(&s->world);
	if (s->woken >= 0)
		(void)close(s->woken);
	free(s);
}

const char *troupe_secondary_ticket(const struct troupe_secondary *s)
{
	return s->ticket;
}

void troupe_secondary_stop(struct troupe_secondary *s)
{
	int code = errno;
	atomic_store(&s->stop, true);
	server_secondary_wake(s);
	errno = code;
}
