/* The primary's way to its secondaries over TCP. Before the start, one thread works on the session (session.h): it
 * waits for secondaries, sends the world to each, and starts the run when all have the same state hash. A send queue
 * gets no more of the world while it holds QUEUE_BYTES, so that a slow secondary costs bounded memory. After the start,
 * the connections belong to the transport, and the listener answers those that come too late (gather_door.c). */
#include "net/tcp/gather_internal.h"

#include "base/clock.h"
#include "net/tcp/feed.h"
#include "net/tcp/following.h"
#include "net/tcp/join.h"
#include "net/tcp/tcp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { QUEUE_BYTES = 1 << 20, TCP_GATHER_STALE_MS = 1000 };
/* When the run goes on with other members: how long it waits for secondaries without a connection that was kept, for
 * robot clients, and for the hello on a connection that was kept, whose process may be in a step. */
#define SETTLE_NS UINT64_C(1000000000)
#define CLIENTS_NS UINT64_C(10000000000)
#define KEPT_NS UINT64_C(20000000000)

/* --- giving the world --------------------------------------------------------------------------------------------- */

static bool tcp_gather_on_world(
	void *ctx, uint32_t id, enum frame_type type, const char *bytes, size_t count, struct troupe_error *error)
{
	struct gathering *gathering = ctx;
	(void)bytes;
	if (type != FRAME_WORLD_WANT || count || id >= gathering->sent.count || gathering->sent.at[id]) {
		(void)fail(error, TROUPE_EPROTOCOL, "an unexpected frame '%s'", frame_name(type));
		return false;
	}
	gathering->sent.at[id] = 1;
	return true;
}

static void tcp_gather_send_data(struct gathering *gathering)
{
	for (uint32_t id = 0; id < gathering->sent.count; id++) {
		struct channel *channel =
			id < gathering->session.channels.count ? gathering->session.channels.at[id] : NULL;
		while (channel && gathering->sent.at[id] && gathering->sent.at[id] - 1 < gathering->world->count &&
			channel_pending(channel) < QUEUE_BYTES) {
			size_t at = gathering->sent.at[id] - 1,
			       count = MIN(gathering->world->count - at, (size_t)BUNDLE_PART_BYTES);
			if (channel_send(channel, FRAME_WORLD_DATA, gathering->world->bytes + at, count, NULL))
				break;
			gathering->sent.at[id] += count;
		}
	}
}

static void tcp_gather_send_world(struct gathering *gathering, uint32_t id)
{
	struct text bytes = {0};
	while (gathering->sent.count <= id)
		vec_push(&gathering->sent, 0);
	gathering->sent.at[id] = 0;
	bundle_encode(&gathering->described, &bytes);
	if (gathering->session.channels.at[id])
		(void)channel_send(gathering->session.channels.at[id], FRAME_WORLD, bytes.at, bytes.count, NULL);
	text_fini(&bytes);
}

static void tcp_gather_on_action(void *ctx, const struct peers_action *action)
{
	struct gathering *gathering = ctx;
	uint64_t now = clock_now_ns();
	if (action->kind == PEERS_ADMITTED) {
		gather_notes_joined(gathering, action);
		tcp_gather_send_world(gathering, action->id);
	} else if (action->kind == PEERS_LOST) {
		gather_notes_lost(gathering, action);
	} else if (action->kind == PEERS_TURNED_AWAY &&
		   log_limit_take(&gathering->log_limit, "", 0, action->bytes, now)) {
		gather_notes_say(gathering, "turned away %s", action->bytes);
	} else if (action->kind == PEERS_KNOCKED) {
		(void)gathering->host->knocked(
			gathering->host->ctx, action->bytes + HELLO_ID_BYTES, (const unsigned char *)action->bytes);
	} else if (action->kind == PEERS_STARTED) {
		gathering->started = true;
		if (!gathering->members.again) /* otherwise the owner says so */
			gather_notes_say(gathering, "%u %s ready: the run begins", gathering->secondaries,
				gather_notes_word(gathering->secondaries));
	} else if (action->kind == PEERS_ENDED) {
		gathering->ended = true;
	}
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static troupe_status tcp_gather_take_sockets(
	struct gathering *gathering, const struct troupe_network *def, struct troupe_error *error)
{
	struct channel_options options = {.role = CHANNEL_SERVER};
	troupe_status status = TROUPE_OK;
	gathering->channels = mem_alloc(def->secondaries * sizeof *gathering->channels);
	for (uint32_t i = 0; i < def->secondaries; i++) {
		char peer[40];
		(void)snprintf(peer, sizeof peer, "socket %u", i + 1);
		if (status || (status = channel_create(def->sockets[i], peer, &options, clock_now_ns(),
				       &gathering->channels[i], error)))
			(void)close(def->sockets[i]);
	}
	return status;
}

static void tcp_gather_close_sockets(const struct troupe_network *def)
{
	for (uint32_t i = 0; def && def->sockets && i < def->secondaries; i++)
		(void)close(def->sockets[i]);
}

static troupe_status tcp_gather_check(const struct troupe_network *def, struct troupe_error *error)
{
	if (!def->secondaries || def->secondaries > TROUPE_SECONDARIES_MAX)
		return fail(error, TROUPE_EINVAL, "%u secondaries in networked mode: expected 1 to %d",
			def->secondaries, TROUPE_SECONDARIES_MAX);
	if (!(def->wait_s >= 0 && def->wait_s <= 1e9))
		return fail(error, TROUPE_EINVAL, "waiting for %g s: expected 0 to 1e9", def->wait_s);
	if (def->stale_ms > HELLO_STALE_MS_MAX)
		return fail(error, TROUPE_EINVAL, "stale after %u ms: expected at most %d", def->stale_ms,
			HELLO_STALE_MS_MAX);
	return TROUPE_OK;
}

static void tcp_gather_gathering_destroy(struct gathering *gathering);

static troupe_status tcp_gather_gathering_create(const struct gather_self *self, const struct gather_host *host,
	struct gathering **ret_gathering, struct troupe_error *error)
{
	const struct troupe_network *def = self->network;
	troupe_status status = tcp_gather_check(def, error);
	if (status) {
		tcp_gather_close_sockets(def);
		return status;
	}
	struct gathering *gathering = mem_alloc(sizeof *gathering);
	gathering->host = host;
	gathering->secondaries = gathering->members.secondaries = def->secondaries;
	gathering->awaited = def->secondaries;
	gathering->met = mem_alloc((def->secondaries + 1) * sizeof *gathering->met);
	gathering->join_shown = mem_alloc((def->secondaries + 1) * sizeof *gathering->join_shown);
	gathering->names = mem_alloc(def->secondaries * sizeof *gathering->names);
	gathering->stale_ms = def->stale_ms ? def->stale_ms : TCP_GATHER_STALE_MS;
	gathering->wait_ns = (uint64_t)(def->wait_s * 1e9);
	gathering->hello_ns = def->sockets ? PEERS_GIVEN_HELLO_NS : 0;
	gathering->quit = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (def->sockets)
		status = tcp_gather_take_sockets(gathering, def, error);
	if (!status)
		status = gather_hello(self, HELLO_PRIMARY, &gathering->hello, error);
	if (!status && !def->sockets)
		status = gather_door_open(gathering, def, error);
	if (status) {
		tcp_gather_gathering_destroy(gathering);
		return status;
	}
	*ret_gathering = gathering;
	return TROUPE_OK;
}

static void tcp_gather_gathering_destroy(struct gathering *gathering)
{
	if (!gathering)
		return;
	gather_door_stop(gathering);
	gather_door_announce(gathering, ANNOUNCE_LEAVING, 0);
	if (gathering->session.peers)
		session_flush(&gathering->session, 200);
	for (uint32_t i = 0; gathering->channels && i < gathering->secondaries; i++) /* channels not passed on */
		channel_destroy(gathering->channels[i]);
	if (gathering->link.carrier)
		tcp_carrier_ops.destroy(gathering->link.carrier);
	session_fini(&gathering->session);
	if (gathering->quit >= 0)
		(void)close(gathering->quit);
	for (uint32_t i = 0; i < gathering->kept.count; i++)
		channel_destroy(gathering->kept.at[i]);
	vec_free(&gathering->kept);
	free(gathering->channels);
	free(gathering->names);
	free(gathering->link.over);
	free(gathering->met);
	free(gathering->join_shown);
	vec_free(&gathering->sent);
	free(gathering);
}

static uint32_t tcp_gather_members(const struct gathering *gathering, uint32_t *ret_new)
{
	uint32_t plain = gathering->secondaries - gathering->members.clients;
	*ret_new = 0;
	for (uint32_t i = 1; gathering->members.again && i <= plain; i++)
		*ret_new += peers_is_new(gathering->session.peers, i);
	return gathering->secondaries;
}

static const unsigned char *tcp_gather_process(const struct gathering *gathering, uint32_t secondary)
{
	return peers_process(gathering->session.peers, secondary);
}

static uint32_t tcp_gather_known(const struct gathering *gathering)
{
	return peers_known(gathering->session.peers);
}

static bool tcp_gather_regroups(const struct gathering *gathering)
{
	uint32_t lost;
	return gathering->ended && peers_regroups(gathering->session.peers, &lost);
}

static const char *tcp_gather_missing(const struct gathering *gathering)
{
	return gathering->ended ? peers_missing(gathering->session.peers) : NULL;
}

static uint32_t tcp_gather_gathering_awaited(const struct gathering *gathering)
{
	return atomic_load(&gathering->awaited);
}

/* --- gathering ---------------------------------------------------------------------------------------------------- */

/* number: of the secondary, from 1, of so many. */
static void tcp_gather_keep(struct gathering *gathering, struct channel *channel, uint32_t number, uint32_t of)
{
	vec_push(&gathering->kept, channel);
	gathering->kept_plain += number <= of - gathering->members.clients;
}

/* The connections of a run that goes on. The owner has counted their bytes. */
static void tcp_gather_keep_connections(struct gathering *gathering)
{
	if (!gathering->link.carrier)
		return;
	tcp_carrier_dissolve(gathering->link.carrier, gathering->channels);
	gathering->link.carrier = NULL;
	for (uint32_t i = 0; i < gathering->secondaries; i++) {
		struct channel *channel = gathering->channels[i];
		const struct peers *peers = gathering->session.peers;
		channel_set_peer(channel, peers_address(peers, peers_id_of(peers, i + 1)));
		channel_forget_counts(channel);
		if (gathering->link.over[i])
			session_finish(&gathering->session, channel);
		else
			tcp_gather_keep(gathering, channel, i + 1, gathering->secondaries);
		gathering->channels[i] = NULL;
	}
}

/* Drops the peers of the run before, so that peers can be gathered again; keeps the connections on which secondaries
 * join again. */
static void tcp_gather_begin_again(struct gathering *gathering)
{
	struct session *session = &gathering->session;
	gather_door_stop(gathering);
	tcp_gather_keep_connections(gathering);
	for (uint32_t i = 0; i < session->channels.count; i++) {
		struct channel *channel = session_take(session, i);
		if (channel && peers_stays(session->peers, i))
			tcp_gather_keep(gathering, channel, peers_secondary_of(session->peers, i),
				peers_secondaries(session->peers));
		else if (channel)
			session_finish(session, channel);
	}
	peers_destroy(session->peers);
	session->peers = NULL;
	free(gathering->channels);
	gathering->channels = NULL;
	gathering->sent.count = 0;
	gathering->started = gathering->ended = false;
	if (session->listener)
		listener_slow_down(session->listener, 0);
}

/* After the creation of peers. */
static void tcp_gather_join_kept(struct gathering *gathering)
{
	for (uint32_t i = 0; i < gathering->kept.count; i++)
		session_keep(&gathering->session, gathering->kept.at[i]);
	gathering->kept.count = 0;
}

static void tcp_gather_take_members(struct gathering *gathering, const struct gather_members *members)
{
	gathering->members = *members;
	gathering->secondaries = gathering->hello.secondaries = members->secondaries + members->clients;
	uint32_t count = gathering->secondaries;
	free(gathering->met);
	free(gathering->join_shown);
	free(gathering->names);
	free(gathering->link.over);
	gathering->met = mem_alloc((count + 1) * sizeof *gathering->met);
	gathering->join_shown = mem_alloc((count + 1) * sizeof *gathering->join_shown);
	gathering->names = mem_alloc(count * sizeof *gathering->names);
	gathering->link.over = mem_alloc(count * sizeof *gathering->link.over);
	atomic_store(&gathering->awaited, count);
}

static void tcp_gather_begin_gathering(struct gathering *gathering, const struct gather_world *world)
{
	gathering->kept_plain = 0;
	if (gathering->session.peers)
		tcp_gather_begin_again(gathering);
	if (world->members)
		tcp_gather_take_members(gathering, world->members);
	gathering->members.expected += gathering->kept_plain;
	gathering->world = world;
	gathering->described = bundle_describe(world->bytes, world->count);
	gathering->hello.world = gathering->described.hash[0];
	struct peers_options options = {
		.self = gathering->hello,
		.secondaries = gathering->secondaries,
		.first_step = world->first_step,
		.state_hash = world->state_hash,
		.stale_ns = gathering->stale_ms * UINT64_C(1000000),
		.hello_ns = gathering->hello_ns,
		.kept_ns = KEPT_NS,
		.wait_ns = gathering->wait_ns,
		.settle_ns = SETTLE_NS,
		.clients_ns = CLIENTS_NS,
		.goes_on = gathering->members.goes_on,
		.clients = gathering->members.clients,
		.client_names = gathering->members.names,
		.client_tickets = gathering->members.tickets,
		.more_clients = gathering->members.more,
		.more_plain = gathering->members.more_come,
		.port = gathering->members.port,
		.again = gathering->members.again,
		.expected = gathering->members.expected,
		.least = gathering->members.least,
		.least_of = gathering->members.least_of,
		.least_of_count = gathering->members.least_of_count,
		.standby = gathering->members.standby,
	};
	gathering->session.on_world = tcp_gather_on_world;
	gathering->session.on_action = tcp_gather_on_action;
	gathering->session.ctx = gathering;
	gathering->session.discovers = true;
	gathering->session.peers = peers_create(&options, clock_now_ns());
	for (uint32_t i = 0; gathering->channels && i < gathering->secondaries; i++) {
		session_join(&gathering->session, gathering->channels[i]);
		gathering->channels[i] = NULL;
	}
	tcp_gather_join_kept(gathering);
}

/* The number of processes that poll for one another on this machine: at most the primary and all secondaries. */
static uint32_t tcp_gather_pollers_of(const struct gathering *gathering)
{
	return 1 + gathering->secondaries;
}

static void tcp_gather_take_channels(struct gathering *gathering)
{
	struct peers *peers = gathering->session.peers;
	gathering->secondaries = peers_secondaries(peers);
	if (!gathering->channels)
		gathering->channels = mem_alloc(gathering->secondaries * sizeof *gathering->channels);
	for (uint32_t i = 0; i < gathering->secondaries; i++) {
		uint32_t id = peers_id_of(peers, i + 1);
		gathering->channels[i] = session_take(&gathering->session, id);
		gathering->names[i] = peers_name(peers, id);
	}
	gathering->link = (struct transport_link){.ops = &tcp_carrier_ops,
		.names = gathering->names,
		.first_step = gathering->world->first_step,
		.clients = gathering->members.clients,
		.goes_on = gathering->members.goes_on,
		.over = gathering->link.over,
		.stale_ms = gathering->stale_ms,
		.name = gathering->hello.name,
		.pollers = tcp_gather_pollers_of(gathering)};
	gathering->world = NULL;
}

static troupe_status tcp_gather_gathering_link(
	struct gathering *gathering, struct transport_link **ret_link, struct troupe_error *error)
{
	troupe_status status =
		tcp_carrier_create(gathering->channels, gathering->secondaries, &gathering->link.carrier, error);
	if (!status)
		*ret_link = &gathering->link;
	return status;
}

/* When sockets were given, no other secondaries can join. So the run fails if a socket closes before it has begun, also
 * before its peer has sent a hello; and when none is left. */
static void tcp_gather_count_sockets(struct gathering *gathering)
{
	uint32_t open = 0;
	for (uint32_t i = 0; i < gathering->session.channels.count; i++)
		open += gathering->session.channels.at[i] != NULL;
	const char *why = gathering->channels && open < gathering->secondaries ? "a secondary left before the run began"
			  : gathering->members.again && !open                  ? "no secondary is left"
									       : NULL;
	if (gathering->session.listener || gathering->ended || !why)
		return;
	peers_stop(gathering->session.peers, STOP_FAILED, why);
	session_act(&gathering->session);
}

static uint32_t tcp_gather_count_awaited(const struct gathering *gathering)
{
	const struct gather_members *members = &gathering->members;
	uint32_t all = members->again ? members->expected + members->clients : gathering->secondaries;
	return all - MIN(all, peers_present(gathering->session.peers));
}

static void tcp_gather_work(struct gathering *gathering)
{
	const struct gather_host *host = gathering->host;
	if (host->stopped(host->ctx))
		peers_stop(gathering->session.peers, STOP_LEFT, "it was told to stop before the run began");
	if (gather_door_is_to_announce(gathering))
		gather_door_announce(gathering, ANNOUNCE_HERE, 0);
	session_work(&gathering->session, SESSION_TICK_MS, NULL, 0);
	if (!gathering->started)
		tcp_gather_count_sockets(gathering);
	atomic_store(&gathering->awaited, tcp_gather_count_awaited(gathering));
	if (gathering->session.listener)
		gather_notes_refusals(gathering);
	gather_notes_announcements(gathering);
	tcp_gather_send_data(gathering);
	if (host->on_watch)
		host->on_watch(host->ctx);
}

/* Tells the peers of the end while the connections belong to the gathering. */
static void tcp_gather_gathering_stop(struct gathering *gathering, enum stop_kind kind, const char *why)
{
	struct session *session = &gathering->session;
	if (!gathering->started || gathering->ended)
		return;
	gather_door_stop(gathering); /* it uses the session */
	if (gathering->link.carrier)
		tcp_carrier_dissolve(gathering->link.carrier, gathering->channels);
	gathering->link.carrier = NULL;
	for (uint32_t i = 0; i < gathering->secondaries; i++)
		if (gathering->channels[i]) {
			session->channels.at[peers_id_of(session->peers, i + 1)] = gathering->channels[i];
			gathering->channels[i] = NULL;
		}
	peers_stop(session->peers, kind, why);
	session_act(session);
}

static troupe_status tcp_gather_gathering_run(
	struct gathering *gathering, const struct gather_world *world, struct troupe_error *error)
{
	tcp_gather_begin_gathering(gathering, world);
	if (!gathering->members.again)
		gather_notes_waiting(gathering);
	else if (tcp_gather_count_awaited(gathering) > gathering->kept_plain)
		gather_notes_say(gathering, "the run gets other members: waiting for %u %s",
			tcp_gather_count_awaited(gathering), gather_notes_word(tcp_gather_count_awaited(gathering)));
	while (!gathering->started && !gathering->ended)
		tcp_gather_work(gathering);
	if (gathering->ended) {
		troupe_status status = peers_end_status(gathering->session.peers, error);
		return status ? status : fail(error, TROUPE_EPEER, "the run ended before its first step");
	}
	tcp_gather_take_channels(gathering);
	troupe_status status = gather_door_open_for_late(gathering, error);
	if (status)
		tcp_gather_gathering_stop(gathering, STOP_FAILED, error->text);
	return status;
}

const struct gather_ops gather_tcp = {
	.changes_members = true,
	.refuse = tcp_gather_close_sockets,
	.gathering_create = tcp_gather_gathering_create,
	.gathering_run = tcp_gather_gathering_run,
	.gathering_missing = tcp_gather_missing,
	.gathering_regroups = tcp_gather_regroups,
	.gathering_members = tcp_gather_members,
	.gathering_known = tcp_gather_known,
	.gathering_process = tcp_gather_process,
	.gathering_awaited = tcp_gather_gathering_awaited,
	.gathering_link = tcp_gather_gathering_link,
	.gathering_stop = tcp_gather_gathering_stop,
	.gathering_destroy = tcp_gather_gathering_destroy,
	.joining_create = join_create,
	.joining_run = join_run,
	.joining_regroups = join_regroups,
	.joining_renew = join_renew,
	.joining_orphaned = join_orphaned,
	.joining_standby = join_standby,
	.joining_seek_standby = join_seek_standby,
	.joining_wake = join_wake,
	.joining_link = join_link,
	.joining_destroy = join_destroy,
};

const struct follow_ops follow_tcp = {
	.feed_start = feed_start,
	.feed_where = feed_where,
	.feed_send = feed_send,
	.feed_waiting = feed_waiting,
	.feed_confirm = feed_confirm,
	.feed_end = feed_end,
	.following_create = following_create,
	.following_run = following_run,
	.following_wake = following_wake,
	.following_destroy = following_destroy,
};
