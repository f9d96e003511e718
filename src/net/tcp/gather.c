/* The primary's way to its secondaries over TCP. Before the start, one thread works on the session (session.h): it
 * waits for secondaries, sends the world to each, and starts the run when all have the same state hash. A send queue
 * gets no more of the world while it holds QUEUE_BYTES, so that a slow secondary costs bounded memory.
 *
 * After the start, the connections belong to the transport. The listener stays open on a thread of its own, which
 * refuses late peers with a reason, so that a stranger costs the run nothing. Messages about strangers are limited in
 * rate (log_limit.h), because any process can connect at any rate. */
#include "base/clock.h"
#include "net/bundle.h"
#include "net/tcp/join.h"
#include "net/tcp/session.h"
#include "net/tcp/tcp.h"
#include "net/tcp/log_limit.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { DOOR_LOOK_MS = 500, DOOR_ACCEPTS_PER_SECOND = 200, QUEUE_BYTES = 1 << 20, STALE_MS = 1000 };
#define REGROUP_NS UINT64_C(10000000000) /* for all members to come when the run goes on with others */

struct gathering {
	const struct gather_host *host;
	struct hello hello;
	struct gather_members members;
	uint32_t secondaries, stale_ms;
	uint64_t wait_ns, hello_ns; /* as in struct peers_options */
	struct session session;
	struct troupe_error unheard; /* why there is no multicast discovery */
	bool keyed;
	_Atomic uint32_t awaited;
	struct log_limit log_limit;         /* of messages about connections */
	struct log_limit log_limit_members; /* about admissions */
	struct log_limit log_limit_foreign; /* about senders of announcements */
	bool *met, *join_shown;             /* [secondaries + 1] by number: one has joined; its last join was shown */
	/* the world that is sent */
	const struct gather_world *world;
	struct bundle described;
	VEC(uint64_t) sent; /* by connection: bytes sent, plus one; 0: not requested */
	bool started, ended;
	/* the run */
	struct transport_link link;
	struct channel **channels;
	const char **names; /* [secondaries] */
	pthread_t doorman;
	bool has_doorman;
	int quit;
};

/* --- telling people ----------------------------------------------------------------------------------------------- */

/* Secondaries that were started by the owner need no notes. */
static void note(const struct gathering *gathering, const char *format, ...) TROUPE_PRINTF(2, 3);
static void note(const struct gathering *gathering, const char *format, ...)
{
	struct troupe_error text;
	va_list args;
	if (!gathering->session.listener)
		return;
	va_start(args, format);
	fail_v(&text, TROUPE_OK, format, args);
	va_end(args);
	gathering->host->on_note(gathering->host->ctx, text.text);
}

static const char *word(uint32_t secondaries)
{
	return secondaries == 1 ? "secondary" : "secondaries";
}

static void note_waiting(const struct gathering *gathering)
{
	const struct address *address =
		gathering->session.listener ? listener_address(gathering->session.listener) : NULL;
	char where[ADDRESS_TEXT_BYTES];
	struct text how = {0};
	if (!address)
		return;
	address_text(address, where);
	text_add(&how, "%s%s%s, ", where, address_is_wildcard(address) ? ", all interfaces" : "",
		address_is_loopback(address) ? ", this machine only" : "");
	if (gathering->session.discovery) {
		text_add(&how, "found by multicast at ");
		discovery_describe(gathering->session.discovery, &how);
	} else {
		text_add(&how, "not found by multicast (%s)", gathering->unheard.text);
	}
	text_add(&how, *gathering->hello.partition ? ", partition '%s'" : ", default partition%s",
		gathering->hello.partition);
	note(gathering, "waiting for %u %s at %s, %s", gathering->secondaries, word(gathering->secondaries), how.at,
		gathering->keyed ? "with a key" : "without a key");
	text_fini(&how);
}

/* Shows refused connections with the reasons, limited in rate. */
static void note_refusals(struct gathering *gathering)
{
	struct address address;
	struct troupe_error why;
	char where[ADDRESS_TEXT_BYTES], host[ADDRESS_TEXT_BYTES];
	while (listener_take_refusal(gathering->session.listener, &address, &why)) {
		address_text(&address, where);
		address_host_text(&address, host);
		const char *reason = strstr(why.text, where) == why.text ? why.text + strlen(where) : why.text;
		if (log_limit_take(&gathering->log_limit, host, strlen(host), reason, clock_now_ns()))
			note(gathering, "turned away %s", why.text);
	}
}

/* Secondaries connect by themselves after our next announcement, so their announcements are only read, and checked
 * for reasons why they cannot join. */
static void hear_announcements(struct gathering *gathering)
{
	struct discovery *discovery = gathering->session.discovery;
	struct announcement announcement;
	struct address address;
	const char *why;
	char host[ADDRESS_TEXT_BYTES];
	uint64_t now = clock_now_ns();
	while (discovery && discovery_receive(discovery, now, &announcement, &address))
		;
	if (!discovery || !discovery_take_useless(discovery, &announcement, &address, &why))
		return;
	address_host_text(&address, host);
	if (log_limit_take(&gathering->log_limit_foreign, host, strlen(host), why, now))
		note(gathering, "a secondary at %s cannot join: it %s", host, why);
}

/* A peer with a valid hello can join and leave as often as it likes. So the first join of each number is always
 * shown, and later ones are limited in rate. */
static void note_joined(struct gathering *gathering, const struct peers_action *action)
{
	const struct channel *channel = gathering->session.channels.at[action->id];
	uint32_t number = action->secondary;
	gathering->join_shown[number] =
		!gathering->met[number] || log_limit_again(&gathering->log_limit_members, clock_now_ns());
	gathering->met[number] = true;
	if (!gathering->join_shown[number])
		return;
	if (number > gathering->members.secondaries)
		note(gathering, "client '%s' joined as secondary %u of %u, from %s",
			gathering->members.names[number - gathering->members.secondaries - 1], number,
			gathering->secondaries, channel ? channel_peer(channel) : "?");
	else
		note(gathering, "secondary %u of %u joined from %s", number, gathering->secondaries,
			channel ? channel_peer(channel) : peers_name(gathering->session.peers, action->id));
}

/* Shown only if the join was shown. */
static void note_lost(const struct gathering *gathering, const struct peers_action *action)
{
	if (gathering->join_shown[action->secondary])
		note(gathering, "%s; %u of %u present", action->bytes, peers_present(gathering->session.peers),
			gathering->secondaries);
}

/* --- giving the world --------------------------------------------------------------------------------------------- */

static bool on_world(
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

static void send_data(struct gathering *gathering)
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

static void send_world(struct gathering *gathering, uint32_t id)
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

static void on_action(void *ctx, const struct peers_action *action)
{
	struct gathering *gathering = ctx;
	uint64_t now = clock_now_ns();
	if (action->kind == PEERS_ADMITTED) {
		note_joined(gathering, action);
		send_world(gathering, action->id);
	} else if (action->kind == PEERS_LOST) {
		note_lost(gathering, action);
	} else if (action->kind == PEERS_TURNED_AWAY &&
		   log_limit_take(&gathering->log_limit, "", 0, action->bytes, now)) {
		note(gathering, "turned away %s", action->bytes);
	} else if (action->kind == PEERS_KNOCKED) {
		(void)gathering->host->knocked(gathering->host->ctx, action->bytes);
	} else if (action->kind == PEERS_STARTED) {
		gathering->started = true;
		note(gathering, "%u %s ready: the run begins", gathering->secondaries, word(gathering->secondaries));
	} else if (action->kind == PEERS_ENDED) {
		gathering->ended = true;
	}
}

/* --- being found -------------------------------------------------------------------------------------------------- */

static void announce(struct gathering *gathering, enum announcement_kind kind)
{
	struct announcement announcement = {.kind = kind};
	if (!gathering->session.discovery)
		return;
	memcpy(announcement.id, gathering->hello.id, sizeof announcement.id);
	announcement.port = address_port(listener_address(gathering->session.listener));
	announcement.secondaries = gathering->secondaries;
	announcement.present = gathering->session.peers ? peers_present(gathering->session.peers) : 0;
	memcpy(announcement.name, gathering->hello.name, sizeof announcement.name);
	(void)discovery_send(gathering->session.discovery, &announcement, clock_now_ns(), NULL);
}

static bool is_to_announce(const struct gathering *gathering)
{
	return gathering->session.discovery && clock_now_ns() >= discovery_send_at_ns(gathering->session.discovery);
}

static troupe_status listen_at(struct gathering *gathering, const struct troupe_network *def, const struct key *key,
	struct troupe_error *error)
{
	struct listener_options options = {.key = key,
		.insecure = def->insecure,
		.in_use = ": is another primary running on this machine? --network-listen :PORT chooses another port"};
	const char *where = def->listen ? def->listen : key || def->insecure ? "*" : "";
	troupe_status status = address_parse_listen(where, ADDRESS_PORT, &options.address, error);
	return status ? status : listener_create(&options, &gathering->session.listener, error);
}

/* Without multicast, secondaries can still be given the address: so missing multicast is only noted. But an interface
 * that was named must exist. */
static troupe_status look_around(struct gathering *gathering, const struct troupe_network *def, const struct key *key,
	struct troupe_error *error)
{
	const struct address *at = listener_address(gathering->session.listener);
	char host[ADDRESS_TEXT_BYTES];
	bool one_address = !address_is_wildcard(at) && !address_is_loopback(at);
	address_host_text(at, host);
	struct discovery_options options = {.role = HELLO_PRIMARY,
		.interface = def->interface ? def->interface : one_address ? host : NULL, /* where it listens */
		.loopback_only = address_is_loopback(at) || (!key && !def->insecure),
		.key = key,
		.partition = gathering->hello.partition};
	if (discovery_create(&options, &gathering->session.discovery, &gathering->unheard) == TROUPE_EINVAL &&
		def->interface)
		return fail(error, TROUPE_EINVAL, "%s", gathering->unheard.text);
	return TROUPE_OK;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static troupe_status take_sockets(
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

static void refuse(const struct troupe_network *def)
{
	for (uint32_t i = 0; def && def->sockets && i < def->secondaries; i++)
		(void)close(def->sockets[i]);
}

static troupe_status check(const struct troupe_network *def, struct troupe_error *error)
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

static troupe_status open_door(
	struct gathering *gathering, const struct troupe_network *def, struct troupe_error *error)
{
	struct key key;
	troupe_status status = session_key(def, &key, &gathering->keyed, error);
	const struct key *given = gathering->keyed ? &key : NULL;
	if (!status)
		status = listen_at(gathering, def, given, error);
	if (!status)
		status = look_around(gathering, def, given, error);
	key_forget(&key);
	return status;
}

static void gathering_destroy(struct gathering *gathering);

static troupe_status gathering_create(const struct gather_self *self, const struct gather_host *host,
	struct gathering **ret_gathering, struct troupe_error *error)
{
	const struct troupe_network *def = self->network;
	troupe_status status = check(def, error);
	if (status) {
		refuse(def);
		return status;
	}
	struct gathering *gathering = mem_alloc(sizeof *gathering);
	gathering->host = host;
	gathering->secondaries = gathering->members.secondaries = def->secondaries;
	gathering->awaited = def->secondaries;
	gathering->met = mem_alloc((def->secondaries + 1) * sizeof *gathering->met);
	gathering->join_shown = mem_alloc((def->secondaries + 1) * sizeof *gathering->join_shown);
	gathering->names = mem_alloc(def->secondaries * sizeof *gathering->names);
	gathering->stale_ms = def->stale_ms ? def->stale_ms : STALE_MS;
	gathering->wait_ns = (uint64_t)(def->wait_s * 1e9);
	gathering->hello_ns = def->sockets ? PEERS_GIVEN_HELLO_NS : 0;
	gathering->quit = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (def->sockets)
		status = take_sockets(gathering, def, error);
	if (!status)
		status = gather_hello(self, HELLO_PRIMARY, &gathering->hello, error);
	if (!status && !def->sockets)
		status = open_door(gathering, def, error);
	if (status) {
		gathering_destroy(gathering);
		return status;
	}
	*ret_gathering = gathering;
	return TROUPE_OK;
}

static void dismiss_doorman(struct gathering *gathering)
{
	uint64_t one = 1;
	if (!gathering->has_doorman)
		return;
	(void)!write(gathering->quit, &one, sizeof one);
	pthread_join(gathering->doorman, NULL);
	(void)!read(gathering->quit, &one, sizeof one); /* another may come */
	gathering->has_doorman = false;
}

static void gathering_destroy(struct gathering *gathering)
{
	if (!gathering)
		return;
	dismiss_doorman(gathering);
	announce(gathering, ANNOUNCE_LEAVING);
	if (gathering->session.peers)
		session_flush(&gathering->session, 200);
	for (uint32_t i = 0; gathering->channels && i < gathering->secondaries; i++) /* channels not passed on */
		channel_destroy(gathering->channels[i]);
	if (gathering->link.carrier)
		tcp_carrier_ops.destroy(gathering->link.carrier);
	session_fini(&gathering->session);
	if (gathering->quit >= 0)
		(void)close(gathering->quit);
	free(gathering->channels);
	free(gathering->names);
	free(gathering->met);
	free(gathering->join_shown);
	vec_free(&gathering->sent);
	free(gathering);
}

static bool gathering_has(const struct gathering *gathering, uint32_t secondary)
{
	return gathering->session.peers && peers_id_of(gathering->session.peers, secondary) != PEERS_NONE;
}

static uint32_t gathering_awaited(const struct gathering *gathering)
{
	return atomic_load(&gathering->awaited);
}

/* --- gathering ---------------------------------------------------------------------------------------------------- */

/* Drops the peers and channels of the run before, so that peers can be gathered again. */
static void begin_again(struct gathering *gathering)
{
	dismiss_doorman(gathering);
	peers_destroy(gathering->session.peers);
	for (uint32_t i = 0; i < gathering->session.channels.count; i++) {
		channel_destroy(gathering->session.channels.at[i]);
		gathering->session.channels.at[i] = NULL;
	}
	free(gathering->channels);
	gathering->channels = NULL;
	gathering->sent.count = 0;
	gathering->started = gathering->ended = false;
	listener_slow_down(gathering->session.listener, 0);
}

static void take_members(struct gathering *gathering, const struct gather_members *members)
{
	gathering->members = *members;
	gathering->secondaries = gathering->hello.secondaries = members->secondaries + members->clients;
	uint32_t count = gathering->secondaries;
	free(gathering->met);
	free(gathering->join_shown);
	free(gathering->names);
	gathering->met = mem_alloc((count + 1) * sizeof *gathering->met);
	gathering->join_shown = mem_alloc((count + 1) * sizeof *gathering->join_shown);
	gathering->names = mem_alloc(count * sizeof *gathering->names);
	atomic_store(&gathering->awaited, count);
}

static void begin_gathering(struct gathering *gathering, const struct gather_world *world)
{
	if (gathering->session.peers)
		begin_again(gathering);
	if (world->members)
		take_members(gathering, world->members);
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
		.wait_ns = gathering->members.again ? REGROUP_NS : gathering->wait_ns,
		.clients = gathering->members.clients,
		.client_names = gathering->members.names,
		.client_tickets = gathering->members.tickets,
		.more_clients = gathering->members.more,
		.port = gathering->members.port,
		.again = gathering->members.again,
	};
	gathering->session.on_world = on_world;
	gathering->session.on_action = on_action;
	gathering->session.ctx = gathering;
	gathering->session.discovers = true;
	gathering->session.peers = peers_create(&options, clock_now_ns());
	for (uint32_t i = 0; gathering->channels && i < gathering->secondaries; i++) {
		session_join(&gathering->session, gathering->channels[i]);
		gathering->channels[i] = NULL;
	}
}

/* The number of processes that poll for one another on this machine: at most the primary and all secondaries. */
static uint32_t pollers_of(const struct gathering *gathering)
{
	return 1 + gathering->secondaries;
}

static void take_channels(struct gathering *gathering)
{
	struct peers *peers = gathering->session.peers;
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
		.stale_ms = gathering->stale_ms,
		.name = gathering->hello.name,
		.pollers = pollers_of(gathering)};
	gathering->world = NULL;
}

static troupe_status gathering_link(
	struct gathering *gathering, struct transport_link **ret_link, struct troupe_error *error)
{
	troupe_status status =
		tcp_carrier_create(gathering->channels, gathering->secondaries, &gathering->link.carrier, error);
	if (!status)
		*ret_link = &gathering->link;
	return status;
}

/* --- after the start ---------------------------------------------------------------------------------------------- */

static void note_late(struct gathering *gathering, const struct channel *channel)
{
	static const char what[] = "came too late";
	const char *peer = channel_peer(channel), *port = strrchr(peer, ':');
	size_t host = port ? (size_t)(port - peer) : strlen(peer);
	if (log_limit_take(&gathering->log_limit, peer, host, what, clock_now_ns()))
		note(gathering, "turned away %s: it %s: the run has begun", peer, what);
}

/* Whether the peer is a robot client that may be let in; the owner is told. *ret_why: if it is a client and may not. */
static bool knocks(struct gathering *gathering, struct channel *channel, const char **ret_why)
{
	enum frame_type type;
	const char *bytes;
	size_t count;
	troupe_status status;
	struct hello hello;
	if (!gathering->host->knocked || !channel_receive(channel, &type, &bytes, &count, &status, NULL) ||
		type != FRAME_HELLO || hello_decode(bytes, count, &hello, NULL) || !*hello.client ||
		hello_match(&gathering->hello, &hello, NULL))
		return false;
	*ret_why = gathering->host->knocked(gathering->host->ctx, hello.client);
	return !*ret_why;
}

static void turn_away(struct gathering *gathering, struct channel *channel)
{
	struct text bytes = {0};
	char begun[160];
	const char *why = begun;
	bool again = knocks(gathering, channel, &why);
	(void)snprintf(begun, sizeof begun, "the run has begun with %u %s", gathering->secondaries,
		word(gathering->secondaries));
	/* members that come back may be sooner than the gathering */
	if (!gathering->members.clients && !gathering->members.more)
		note_late(gathering, channel);
	refuse_encode(again ? "it comes in with the next change of members" : why, again, &bytes);
	(void)channel_send(channel, FRAME_REFUSE, bytes.at, bytes.count, NULL);
	text_fini(&bytes);
	session_finish(&gathering->session, channel);
}

/* The thread that refuses peers after the start, so that a stranger costs the run nothing. */
static void *keep_door(void *arg)
{
	struct gathering *gathering = arg;
	struct listener *listener = gathering->session.listener;
	struct channel *channel;
	struct pollfd fds[LISTENER_POLL_MAX + 1];
	for (;;) {
		uint32_t count = listener_poll(listener, clock_now_ns(), fds);
		fds[count] = (struct pollfd){.fd = gathering->quit, .events = POLLIN};
		bool busy = listener_deadline_ns(listener, clock_now_ns()) != UINT64_MAX ||
			    gathering->session.finishing.count;
		(void)poll(fds, count + 1, busy ? SESSION_TICK_MS : DOOR_LOOK_MS);
		if (fds[count].revents)
			return NULL;
		listener_work(listener, clock_now_ns());
		note_refusals(gathering);
		while ((channel = listener_take(listener)))
			turn_away(gathering, channel);
		session_flush(&gathering->session, 0);
		if (is_to_announce(gathering))
			announce(gathering, ANNOUNCE_FIXED);
	}
}

static troupe_status open_for_late(struct gathering *gathering, struct troupe_error *error)
{
	if (!gathering->session.listener)
		return TROUPE_OK;
	listener_slow_down(gathering->session.listener, DOOR_ACCEPTS_PER_SECOND);
	int failed = pthread_create(&gathering->doorman, NULL, keep_door, gathering);
	gathering->has_doorman = !failed;
	mem_check_thread(failed);
	return failed ? fail(error, TROUPE_ELIMIT, "cannot start a thread: %s", strerror(failed)) : TROUPE_OK;
}

/* When sockets were given, no other secondaries can join. So the run fails if a socket closes, also before its peer
 * has sent a hello. */
static void count_sockets(struct gathering *gathering)
{
	uint32_t open = 0;
	for (uint32_t i = 0; i < gathering->session.channels.count; i++)
		open += gathering->session.channels.at[i] != NULL;
	if (gathering->channels && open < gathering->secondaries && !gathering->ended) {
		peers_stop(gathering->session.peers, STOP_FAILED, "a secondary left before the run began");
		session_act(&gathering->session);
	}
}

static void work(struct gathering *gathering)
{
	const struct gather_host *host = gathering->host;
	if (host->stopped(host->ctx))
		peers_stop(gathering->session.peers, STOP_LEFT, "it was told to stop before the run began");
	if (is_to_announce(gathering))
		announce(gathering, ANNOUNCE_HERE);
	session_work(&gathering->session, SESSION_TICK_MS, NULL, 0);
	if (!gathering->started)
		count_sockets(gathering);
	atomic_store(&gathering->awaited, gathering->secondaries - peers_present(gathering->session.peers));
	if (gathering->session.listener)
		note_refusals(gathering);
	hear_announcements(gathering);
	send_data(gathering);
	if (host->on_watch)
		host->on_watch(host->ctx);
}

/* Tells the peers of the end while the connections belong to the gathering. */
static void gathering_stop(struct gathering *gathering, enum stop_kind kind, const char *why)
{
	struct session *session = &gathering->session;
	if (!gathering->started || gathering->ended)
		return;
	dismiss_doorman(gathering); /* it uses the session */
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

static troupe_status gathering_run(
	struct gathering *gathering, const struct gather_world *world, struct troupe_error *error)
{
	begin_gathering(gathering, world);
	note_waiting(gathering);
	while (!gathering->started && !gathering->ended)
		work(gathering);
	if (gathering->ended) {
		troupe_status status = peers_end_status(gathering->session.peers, error);
		return status ? status : fail(error, TROUPE_EPEER, "the run ended before its first step");
	}
	take_channels(gathering);
	troupe_status status = open_for_late(gathering, error);
	if (status)
		gathering_stop(gathering, STOP_FAILED, error->text);
	return status;
}

const struct gather_ops gather_tcp = {
	.refuse = refuse,
	.gathering_create = gathering_create,
	.gathering_run = gathering_run,
	.gathering_has = gathering_has,
	.gathering_awaited = gathering_awaited,
	.gathering_link = gathering_link,
	.gathering_stop = gathering_stop,
	.gathering_destroy = gathering_destroy,
	.joining_create = join_create,
	.joining_run = join_run,
	.joining_regroups = join_regroups,
	.joining_wake = join_wake,
	.joining_link = join_link,
	.joining_destroy = join_destroy,
};
