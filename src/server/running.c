/* A server runs its worlds: the callbacks of the runners, runs and steps until a limit or a stop, and the change to
 * other members over a network.
 *
 * The runners are created at the first run: over a network all secondaries are connected only then, and a server that
 * does not run needs no threads. A failure here is sent to all peers, so that all runners stop.
 *
 * Several worlds take their steps together, and the state hash of the server is made from those of its worlds. */
#include "server/internal.h"

#include "base/clock.h"
#include "base/hash.h"
#include "net/backend.h"
#include "server/barrier.h"
#include "server/clients.h"
#include "server/costs.h"
#include "server/network.h"
#include "server/record.h"
#include "system/plugins.h"

#include <troupe/inbox.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	STOP_GRACE_NS = 500000000,
	LONG_STEP_NS = 100000 /* long compared with a hand-over between threads */
};

/* --- the callbacks of the runners -----------------------------------------------------------------------------------
 */

/* The hash of the state that was so many steps before the present one, within the windows that were just taken. A world
 * that has ended stays as it is. */
static uint64_t running_hash_before(const struct troupe_server *server, uint32_t before)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < server->world_count; i++) {
		const struct primary *primary = server->worlds[i].primary;
		uint32_t count;
		const uint64_t *hashes = primary_hashes(primary, &count);
		bool noted = before && before < count && primary_advanced(primary);
		uint64_t hash = noted ? hashes[count - 1 - before] : primary_hash(primary);
		sum += i ? hash_mix(hash, i) : hash;
	}
	return sum;
}

uint64_t troupe_server_hash(const struct troupe_server *server)
{
	return running_hash_before(server, 0);
}

static void running_on_acked(void *ctx)
{
	struct troupe_server *server = ctx;
	for (uint32_t i = 0; i < server->world_count; i++)
		if (snapshots_wanted(server->worlds[i].snapshots))
			world_publish(&server->worlds[i], true);
}

static void running_tell_hashes(struct troupe_server *server, uint64_t steps)
{
	const struct troupe_server_def *def = &server->def;
	uint32_t most = 1, count;
	for (uint32_t i = 0; i < server->world_count; i++) {
		(void)primary_hashes(server->worlds[i].primary, &count);
		if (primary_advanced(server->worlds[i].primary))
			most = MAX(most, count);
	}
	for (uint32_t before = most; before-- > 0;)
		if ((steps - before) % def->hash_every == 0)
			def->on_hash(def->ctx, steps - before, running_hash_before(server, before));
}

static void running_warn_of_unread(struct troupe_server *server)
{
	for (uint32_t i = 0; i < server->world_count; i++)
		world_warn_of_unread(&server->worlds[i]);
}

static void running_on_merged(void *ctx, uint64_t steps)
{
	struct troupe_server *server = ctx;
	const struct troupe_server_def *def = &server->def;
	if (def->on_hash && def->hash_every && steps)
		running_tell_hashes(server, steps);
	if (def->on_step && def->step_every && steps && steps % def->step_every == 0)
		def->on_step(def->ctx, server, steps);
	record_merged(server, steps);
	running_warn_of_unread(server);
	if (server->network)
		standby_link_merged(network_standby(server->network), steps);
	costs_merged(server, steps);
	clients_serve(server->clients, true);
}

static void running_on_idle(void *ctx)
{
	struct troupe_server *server = ctx;
	clients_serve(server->clients, false);
}

static void running_on_turn(void *ctx)
{
	struct troupe_server *server = ctx;
	barriers_turn(server->barriers);
}

static void running_on_watch(void *ctx)
{
	struct troupe_server *server = ctx;
	server->def.on_watch(server->def.ctx);
}

static void running_set_running(struct troupe_server *server, bool running)
{
	pthread_mutex_lock(&server->lock);
	server->running = running;
	atomic_store_explicit(&server->unseen, !running, memory_order_release);
	pthread_mutex_unlock(&server->lock);
}

/* --- runners ---------------------------------------------------------------------------------------------------------
 */

/* For troupe_server_give_up(), on another thread. */
static void running_set_runners(struct troupe_server *server, struct runners *runners)
{
	pthread_mutex_lock(&server->lock);
	server->runners = runners;
	pthread_mutex_unlock(&server->lock);
}

/* The number of secondaries that work at first, when the user did not give a number and it may be changed during the
 * run. It is all of them in a world whose steps are probably long compared with a hand-over. 0: the number is fixed. */
static uint32_t running_first_of(const struct server_world *world)
{
	const struct troupe_server *server = world->server;
	uint64_t guess_ns = (uint64_t)world->scene->body_count * COST_BODY_NS;
	bool given = server->def.secondaries >= 0 || world->scene->secondaries != SCENE_NONE;
	if (server->shown || primary_plan(world->primary)->placement.pinned)
		return 0;
	if (server->network)
		return network_tunes(server->network) ? world->threads : 0;
	if (given)
		return 0;
	return guess_ns >= LONG_STEP_NS ? world->threads : 1;
}

static troupe_status running_set_up_runners(struct troupe_server *server, struct troupe_error *error)
{
	struct runners_callbacks watch = {.on_watch = server->def.on_watch ? running_on_watch : NULL,
		.on_acked = running_on_acked,
		.on_merged = running_on_merged,
		.on_idle = running_on_idle,
		.on_turn = running_on_turn,
		.woken = &server->woken,
		.ctx = server};
	struct runners_world *worlds = mem_alloc(server->world_count * sizeof *worlds);
	for (uint32_t i = 0; i < server->world_count; i++)
		worlds[i] = (struct runners_world){.primary = server->worlds[i].primary,
			.shared = &server->worlds[i].shared,
			.threads = server->worlds[i].threads,
			.helpers = world_helpers(&server->worlds[i]),
			.first = running_first_of(&server->worlds[i]),
			.codec = server->network ? network_codec(server->network) : NULL,
			.link = server->network ? network_link(server->network) : NULL};
	const struct transport_ops *ops =
		server->network ? network_transport(server->network) : backend_local()->transport;
	struct runners *runners = NULL;
	troupe_status status = runners_create(worlds, server->world_count, ops, &watch, &runners, error);
	free(worlds);
	running_set_runners(server, runners);
	return status;
}

/* Over a network: tells the peers that this process was stopped, or has failed. */
static void running_tell_others(struct troupe_server *server, troupe_status status, const struct troupe_error *error)
{
	bool stopped = atomic_load(&server->told);
	if (!server->network || !(status || stopped))
		return;
	enum stop_kind kind = status ? STOP_FAILED : STOP_LEFT;
	const char *why = status ? error->text : "it was told to stop";
	if (server->runners)
		runners_stop(server->runners, kind, why);
	else
		network_stop(server->network, kind, why);
}

/* --- other members ------------------------------------------------------------------------------------------------ */

/* Whether the run goes on with other members, because a secondary was lost (*ret_lost), or because one asked to leave
 * or wishes to join (0). */
static bool running_is_to_regroup(struct troupe_server *server, uint32_t *ret_lost)
{
	*ret_lost = 0;
	if (!server->network || !network_changes(server->network))
		return false;
	if (runners_regroups(server->runners, ret_lost))
		return true;
	return !primary_status(server->worlds[0].primary) && !atomic_load(&server->told) &&
	       (runners_leaver_after(server->runners, 0) || network_has_wishes(server->network));
}

/* The stop flag also ends a run for other members. A client that came while the members were gathered has set it
 * already, and is still to come in: without the flag the run would go on without it. */
static void running_clear_stop(struct troupe_server *server)
{
	primary_clear_stop(server->worlds[0].primary);
	server->stop_seen_ns = 0;
	if (atomic_load(&server->told) || network_has_wishes(server->network))
		primary_stop(server->worlds[0].primary);
}

/* Tells the members that the run goes on with others, and takes the secondary that is lost, and all that asked to
 * leave, out of the run. error: on entry why the one is lost; on failure why the run ends instead. */
static troupe_status running_part_with_some(struct troupe_server *server, uint32_t lost, struct troupe_error *error)
{
	struct troupe_error why = *error; /* in the runners until now */
	struct runners *runners = server->runners;
	VEC(uint32_t) leavers = {0};
	for (uint32_t leaver;
		!lost && (leaver = runners_leaver_after(runners, leavers.count ? leavers.at[leavers.count - 1] : 0));)
		vec_push(&leavers, leaver);
	if (!lost)
		runners_stop(runners, STOP_REGROUP, leavers.count ? "a secondary leaves" : "another one joins");
	running_set_runners(server, NULL);
	network_keep_bytes(server->network, runners_counts(runners));
	runners_destroy(runners);
	troupe_status status = lost ? network_lose(server->network, lost, &why, error) : TROUPE_OK;
	while (leavers.count && !status)
		status = network_let_leave(server->network, leavers.at[--leavers.count], error);
	vec_free(&leavers);
	return status;
}

/* The run goes on from the present state, as a run that is resumed. If it is told to stop while the members are
 * gathered, it has stopped after its last step, as a run does that is stopped in a step: TROUPE_OK, and there is no
 * runners. */
static troupe_status running_regroup(struct troupe_server *server, uint32_t lost, struct troupe_error *error)
{
	struct server_world *world = &server->worlds[0];
	uint64_t since_ns = clock_now_ns();
	uint32_t changes = network_change_count(server->network);
	troupe_status status = running_part_with_some(server, lost, error);
	bool stopped = false;
	for (bool again = !status; again;) {
		robot_clients_take_wishes(network_clients(server->network));
		world_regroup(world, network_room(server->network));
		running_clear_stop(server);
		status = network_gather(server->network, error);
		stopped = status && atomic_load(&server->told);
		again = status && !stopped && network_gathers_again(server->network);
	}
	running_clear_stop(server);
	if (stopped)
		return TROUPE_OK;
	status = status ? status : running_set_up_runners(server, error);
	if (!status)
		network_went_on(server->network, changes, clock_now_ns() - since_ns);
	return status;
}

static troupe_status running_run_all_runners(struct troupe_server *server, struct troupe_error *error)
{
	uint32_t lost;
	for (;;) {
		troupe_status status = runners_run(server->runners, error);
		if (!running_is_to_regroup(server, &lost))
			return status;
		status = running_regroup(server, lost, error);
		if (!status && server->runners)
			continue;
		if (!status)
			return TROUPE_OK;
		primary_fail(server->worlds[0].primary, error);
		return status;
	}
}

/* What troupe_server_run() does after its last step. */
static void running_end_run(struct troupe_server *server, troupe_status status, const struct troupe_error *error)
{
	clients_flush(server->clients);
	running_tell_others(server, status, error);
	server->stop_seen_ns = 0;
	for (uint32_t i = 0; i < server->world_count; i++)
		primary_clear_stop(server->worlds[i].primary);
	/* after the flags: so a stop that comes meanwhile counts, for this run or for the next */
	server->was_stopped = atomic_exchange(&server->told, false);
	running_set_running(server, false);
}

/* The members of a run that begins, or that goes on after the loss of its primary: then another one may be lost before
 * all have the world. */
static troupe_status running_gather_first(struct troupe_server *server, struct troupe_error *error)
{
	troupe_status status;
	do
		status = network_gather(server->network, error);
	while (status && !atomic_load(&server->told) && network_gathers_again(server->network));
	return status;
}

static troupe_status running_run_worlds(struct troupe_server *server, struct troupe_error *error)
{
	struct troupe_error unwanted;
	error = error ? error : &unwanted;
	troupe_status status = TROUPE_OK;
	server->was_stopped = false;
	if (!server->runners) {
		status = server->network ? running_gather_first(server, error) : TROUPE_OK;
		if (!status)
			status = running_set_up_runners(server, error);
		if (status) { /* the peers that joined are told, and cannot join again */
			running_tell_others(server, status, error);
			primary_fail(server->worlds[0].primary, error);
			return status;
		}
		for (uint32_t i = 0; server->network && i < server->world_count; i++)
			world_note_windows(&server->worlds[i]);
		if (server->network)
			network_took_over(server->network);
	}
	running_set_running(server, true);
	status = running_run_all_runners(server, error);
	running_end_run(server, status, error);
	return status;
}

/* One short attempt under the lock: a run for other members makes other runners (running_regroup()). */
static enum runners_seized running_seize(struct troupe_server *server, uint32_t ms, struct text *why)
{
	enum runners_seized seized = RUNNERS_IDLE;
	pthread_mutex_lock(&server->lock);
	if (server->running && server->runners) {
		text_add(why, "step %" PRIu64 ": ", troupe_server_progress(server).steps);
		runners_describe(server->runners, why);
		seized = ms ? runners_seize(server->runners, ms) : RUNNERS_STUCK;
	}
	pthread_mutex_unlock(&server->lock);
	return seized;
}

enum troupe_given_up troupe_server_give_up(struct troupe_server *server, uint32_t ms, char *why, size_t bytes)
{
	enum { ATTEMPT_MS = 5 };
	uint64_t until_ns = clock_now_ns() + ms * UINT64_C(1000000);
	struct text text = {0};
	enum runners_seized seized;
	for (;;) {
		text.count = 0;
		seized = running_seize(server, MIN(ms, (uint32_t)ATTEMPT_MS), &text);
		if (seized != RUNNERS_STUCK || clock_now_ns() >= until_ns)
			break;
		clock_sleep_until_ns(clock_now_ns() + ATTEMPT_MS * UINT64_C(1000000));
	}
	(void)snprintf(why, bytes, "%s", text.count ? text.at : "");
	text_fini(&text);
	if (seized == RUNNERS_SEIZED)
		running_end_run(server, TROUPE_OK, NULL);
	return seized == RUNNERS_SEIZED ? TROUPE_GIVEN_UP : seized == RUNNERS_IDLE ? TROUPE_NOT_STEPPING : TROUPE_STUCK;
}

troupe_status server_run_to(struct troupe_server *server, const uint64_t *steps, struct troupe_error *error)
{
	bool some = false;
	for (uint32_t i = 0; i < server->world_count; i++)
		some |= primary_go_to(server->worlds[i].primary, steps[i]);
	return some ? running_run_worlds(server, error) : TROUPE_OK;
}

troupe_status troupe_server_run(
	struct troupe_server *server, const struct troupe_limits *limits, struct troupe_error *error)
{
	if (limits->until_s < 0 || isnan(limits->until_s))
		return fail(error, TROUPE_EINVAL, "until %g s: expected a time of 0 or more", limits->until_s);
	for (uint32_t i = 0; i < server->world_count; i++)
		if (primary_status(server->worlds[i].primary))
			return fail(error, TROUPE_EINVAL, "this server has failed before: %s",
				primary_error(server->worlds[i].primary)->text);
	for (uint32_t i = 0; i < server->world_count; i++) {
		struct primary *primary = server->worlds[i].primary;
		primary_go_on(primary, limits->iterations, limits->until_s);
	}
	record_begin(server);
	costs_begin(server);
	return running_run_worlds(server, error);
}

/* Worlds of one server are always at the same step. */
troupe_status troupe_server_step(struct troupe_server *server, uint64_t n, struct troupe_error *error)
{
	uint64_t begin = primary_steps(server->worlds[0].primary);
	struct troupe_limits limits = {.iterations = begin + MIN(n, UINT64_MAX - begin)};
	return n ? troupe_server_run(server, &limits, error) : TROUPE_OK;
}

/* Those of troupe/inbox.h are the library's own. Clients have callbacks, too: barriers, and that something has come. */
static bool running_calls_out(const struct troupe_server_def *def)
{
	return def->on_event || def->on_hash || def->on_step || def->on_taken || def->on_watch || def->on_note ||
	       def->on_next || (def->on_reply && def->on_reply != troupe_inbox_put_reply) ||
	       (def->on_warning && def->on_warning != troupe_inbox_put_warning);
}

bool server_is_plain(const struct troupe_server *server)
{
	return !running_calls_out(&server->def) && !clients_are_any(server->clients) && !server->costs &&
	       !server->network && !server->worlds[0].threads && !plugins_are_loaded(server->plugins);
}

enum outfile_urgency server_urgency(void *ctx)
{
	struct troupe_server *server = ctx;
	if (!primary_is_stopped(server->worlds[0].primary))
		return server->was_stopped ? OUTFILE_HURRIED : OUTFILE_PATIENT;
	uint64_t now = clock_now_ns();
	if (!server->stop_seen_ns)
		server->stop_seen_ns = now;
	return now - server->stop_seen_ns < STOP_GRACE_NS ? OUTFILE_HURRIED : OUTFILE_LEAVING;
}

bool troupe_server_was_stopped(const struct troupe_server *server)
{
	return server->was_stopped && !primary_status(server->worlds[0].primary);
}

void server_interrupt(struct troupe_server *server)
{
	for (uint32_t i = 0; i < server->world_count; i++)
		primary_stop(server->worlds[i].primary);
}

void server_note(const struct troupe_server *server, const char *format, ...)
{
	struct troupe_error note;
	va_list args;
	va_start(args, format);
	fail_v(&note, TROUPE_OK, format, args);
	va_end(args);
	if (server->def.on_note)
		server->def.on_note(server->def.ctx, note.text);
}

void troupe_server_stop(struct troupe_server *server)
{
	atomic_store(&server->told, true);
	for (uint32_t i = 0; i < server->world_count; i++)
		primary_stop(server->worlds[i].primary);
}
