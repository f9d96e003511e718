/* The primary's side of a networked run. Before the start, one thread works on the session (session.h): it waits for
 * secondaries, sends the world to each, and starts the run when all have the same state hash. A send queue gets no
 * more of the world while it holds QUEUE_BYTES, so that a slow secondary costs bounded memory.
 *
 * After the start, the connections belong to the transport. The listener stays open on a thread of its own, which
 * refuses late peers with a reason, so that a stranger costs the run nothing. Messages about strangers are limited
 * in rate (told.h), because anybody can connect at any rate. */
#include "server/network.h"

#include "base/clock.h"
#include "server/session.h"
#include "server/told.h"

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
#define DATA_BYTES 65536u

struct network {
	struct hello hello;
	uint32_t secondaries, stale_ms;
	uint64_t wait_ns;
	struct session session;
	struct troupe_error unheard; /* why there is no multicast discovery */
	bool keyed;
	_Atomic uint32_t awaited;
	struct told told, told_members, told_foreign; /* messages about connections; admissions; multicast senders */
	bool *met, *told_of; /* [secondaries + 1] by number: one has joined; its last join was shown */
	/* the world that is sent */
	const struct troupe_server *server;
	struct text world;
	struct session_world described;
	VEC(uint64_t) sent; /* by connection: bytes sent, plus one; 0: not requested */
	bool started, ended;
	/* the run */
	struct wire *wire;
	struct transport_codec codec;
	struct transport_link link;
	struct channel **channels;
	pthread_t doorman;
	bool has_doorman;
	int quit;
};

/* --- telling people ----------------------------------------------------------------------------------------------- */

static void note(const struct network *network, const char *format, ...) TROUPE_PRINTF(2, 3);
static void note(const struct network *network, const char *format, ...)
{
	const struct troupe_server_def *def = &network->server->def;
	struct troupe_error text;
	va_list args;
	if (!def->on_note || !network->session.listener) /* secondaries that were started here need no notes */
		return;
	va_start(args, format);
	fail_v(&text, TROUPE_OK, format, args);
	va_end(args);
	def->on_note(def->ctx, text.text);
}

static const char *word(uint32_t secondaries)
{
	return secondaries == 1 ? "secondary" : "secondaries";
}

static void note_waiting(const struct network *network)
{
	const struct address *address = network->session.listener ? listener_address(network->session.listener) : NULL;
	char where[ADDRESS_TEXT_BYTES];
	struct text how = {0};
	if (!address)
		return;
	address_text(address, where);
	text_add(&how, "%s%s%s, ", where, address_is_wildcard(address) ? ", all interfaces" : "",
		address_is_loopback(address) ? ", this machine only" : "");
	if (network->session.discovery) {
		text_add(&how, "found by multicast at ");
		discovery_describe(network->session.discovery, &how);
	} else {
		text_add(&how, "not found by multicast (%s)", network->unheard.text);
	}
	text_add(&how, *network->hello.partition ? ", partition '%s'" : ", default partition%s",
		network->hello.partition);
	note(network, "waiting for %u %s at %s, %s", network->secondaries, word(network->secondaries), how.at,
		network->keyed ? "with a key" : "without a key");
	text_fini(&how);
}

/* Shows refused connections with the reasons, limited in rate. */
static void note_refusals(struct network *network)
{
	struct address address;
	struct troupe_error why;
	char where[ADDRESS_TEXT_BYTES], host[ADDRESS_TEXT_BYTES];
	while (listener_take_refusal(network->session.listener, &address, &why)) {
		address_text(&address, where);
		address_host_text(&address, host);
		const char *reason = strstr(why.text, where) == why.text ? why.text + strlen(where) : why.text;
		if (told_take(&network->told, host, strlen(host), reason, clock_now_ns()))
			note(network, "turned away %s", why.text);
	}
}

/* Secondaries connect by themselves after our next announcement, so their announcements are only read, and checked
 * for reasons why they cannot join. */
static void hear_announcements(struct network *network)
{
	struct discovery *discovery = network->session.discovery;
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
	if (told_take(&network->told_foreign, host, strlen(host), why, now))
		note(network, "a secondary at %s cannot join: it %s", host, why);
}

/* A peer with a valid hello can join and leave as often as it likes. So the first join of each number is always
 * shown, and later ones are limited in rate. */
static void note_joined(struct network *network, const struct peers_action *action)
{
	const struct channel *channel = network->session.channels.at[action->id];
	uint32_t number = action->secondary;
	network->told_of[number] = !network->met[number] || told_take_again(&network->told_members, clock_now_ns());
	network->met[number] = true;
	if (network->told_of[number])
		note(network, "secondary %u of %u joined from %s", number, network->secondaries,
			channel ? channel_peer(channel) : peers_name(network->session.peers, action->id));
}

/* Shown only if the join was shown. */
static void note_lost(const struct network *network, const struct peers_action *action)
{
	if (network->told_of[action->secondary])
		note(network, "%s; %u of %u present", action->bytes, peers_present(network->session.peers),
			network->secondaries);
}

/* --- giving the world --------------------------------------------------------------------------------------------- */

static bool on_world(
	void *ctx, uint32_t id, enum frame_type type, const char *bytes, size_t count, struct troupe_error *error)
{
	struct network *network = ctx;
	(void)bytes;
	if (type != FRAME_WORLD_WANT || count || id >= network->sent.count || network->sent.at[id]) {
		(void)fail(error, TROUPE_EPROTOCOL, "a frame '%s' that does not belong here", frame_name(type));
		return false;
	}
	network->sent.at[id] = 1;
	return true;
}

static void send_data(struct network *network)
{
	for (uint32_t id = 0; id < network->sent.count; id++) {
		struct channel *channel =
			id < network->session.channels.count ? network->session.channels.at[id] : NULL;
		while (channel && network->sent.at[id] && network->sent.at[id] - 1 < network->world.count &&
			channel_pending(channel) < QUEUE_BYTES) {
			size_t at = network->sent.at[id] - 1,
			       count = MIN(network->world.count - at, (size_t)DATA_BYTES);
			if (channel_send(channel, FRAME_WORLD_DATA, network->world.at + at, count, NULL))
				break;
			network->sent.at[id] += count;
		}
	}
}

static void send_world(struct network *network, uint32_t id)
{
	struct text bytes = {0};
	while (network->sent.count <= id)
		vec_push(&network->sent, 0);
	network->sent.at[id] = 0;
	session_encode_world(&network->described, &bytes);
	if (network->session.channels.at[id])
		(void)channel_send(network->session.channels.at[id], FRAME_WORLD, bytes.at, bytes.count, NULL);
	text_fini(&bytes);
}

static void on_action(void *ctx, const struct peers_action *action)
{
	struct network *network = ctx;
	uint64_t now = clock_now_ns();
	if (action->kind == PEERS_ADMITTED) {
		note_joined(network, action);
		send_world(network, action->id);
	} else if (action->kind == PEERS_LOST) {
		note_lost(network, action);
	} else if (action->kind == PEERS_TURNED_AWAY && told_take(&network->told, "", 0, action->bytes, now)) {
		note(network, "turned away %s", action->bytes);
	} else if (action->kind == PEERS_STARTED) {
		network->started = true;
		note(network, "%u %s ready: the run begins", network->secondaries, word(network->secondaries));
	} else if (action->kind == PEERS_ENDED) {
		network->ended = true;
	}
}

/* --- being found -------------------------------------------------------------------------------------------------- */

static void announce(struct network *network, enum announcement_kind kind)
{
	struct announcement announcement = {.kind = kind};
	if (!network->session.discovery)
		return;
	memcpy(announcement.id, network->hello.id, sizeof announcement.id);
	announcement.port = address_port(listener_address(network->session.listener));
	announcement.secondaries = network->secondaries;
	announcement.present = network->session.peers ? peers_present(network->session.peers) : 0;
	memcpy(announcement.name, network->hello.name, sizeof announcement.name);
	(void)discovery_send(network->session.discovery, &announcement, clock_now_ns(), NULL);
}

static bool is_to_announce(const struct network *network)
{
	return network->session.discovery && clock_now_ns() >= discovery_send_at_ns(network->session.discovery);
}

static troupe_status listen_at(
	struct network *network, const struct troupe_network *def, const struct key *key, struct troupe_error *error)
{
	struct listener_options options = {.key = key, .insecure = def->insecure};
	const char *where = def->listen ? def->listen : key || def->insecure ? "*" : "";
	troupe_status status = address_parse_listen(where, ADDRESS_PORT, &options.address, error);
	return status ? status : listener_create(&options, &network->session.listener, error);
}

/* Without multicast, secondaries can still be given the address: so missing multicast is only noted. But an interface
 * that was named must exist. */
static troupe_status look_around(
	struct network *network, const struct troupe_network *def, const struct key *key, struct troupe_error *error)
{
	const struct address *at = listener_address(network->session.listener);
	char host[ADDRESS_TEXT_BYTES];
	bool one_address = !address_is_wildcard(at) && !address_is_loopback(at);
	address_host_text(at, host);
	struct discovery_options options = {.role = HELLO_PRIMARY,
		.interface = def->interface ? def->interface : one_address ? host : NULL, /* where it listens */
		.loopback_only = address_is_loopback(at) || (!key && !def->insecure),
		.key = key,
		.partition = network->hello.partition};
	if (discovery_create(&options, &network->session.discovery, &network->unheard) == TROUPE_EINVAL &&
		def->interface)
		return fail(error, TROUPE_EINVAL, "%s", network->unheard.text);
	return TROUPE_OK;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static troupe_status take_sockets(struct network *network, const struct troupe_network *def, struct troupe_error *error)
{
	struct channel_options options = {.role = CHANNEL_SERVER};
	troupe_status status = TROUPE_OK;
	network->channels = mem_alloc(def->secondaries * sizeof *network->channels);
	for (uint32_t i = 0; i < def->secondaries; i++) {
		char peer[40];
		(void)snprintf(peer, sizeof peer, "socket %u", i + 1);
		if (status || (status = channel_create(
				       def->sockets[i], peer, &options, clock_now_ns(), &network->channels[i], error)))
			(void)close(def->sockets[i]);
	}
	return status;
}

void network_refuse(const struct troupe_network *def)
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

static troupe_status open_door(struct network *network, const struct troupe_network *def, struct troupe_error *error)
{
	struct key key;
	troupe_status status = session_key(def, &key, &network->keyed, error);
	const struct key *given = network->keyed ? &key : NULL;
	if (!status)
		status = listen_at(network, def, given, error);
	if (!status)
		status = look_around(network, def, given, error);
	key_forget(&key);
	return status;
}

troupe_status network_create(const struct troupe_network *def, struct network **ret_network, struct troupe_error *error)
{
	troupe_status status = check(def, error);
	if (status) {
		network_refuse(def);
		return status;
	}
	struct network *network = mem_alloc(sizeof *network);
	network->secondaries = def->secondaries;
	network->awaited = def->secondaries;
	network->met = mem_alloc((def->secondaries + 1) * sizeof *network->met);
	network->told_of = mem_alloc((def->secondaries + 1) * sizeof *network->told_of);
	network->stale_ms = def->stale_ms ? def->stale_ms : STALE_MS;
	network->wait_ns = (uint64_t)(def->wait_s * 1e9);
	network->quit = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (def->sockets)
		status = take_sockets(network, def, error);
	if (!status)
		status = session_hello(def, HELLO_PRIMARY, &network->hello, error);
	if (!status && !def->sockets)
		status = open_door(network, def, error);
	if (status) {
		network_destroy(network);
		return status;
	}
	*ret_network = network;
	return TROUPE_OK;
}

static void dismiss_doorman(struct network *network)
{
	uint64_t one = 1;
	if (!network->has_doorman)
		return;
	(void)!write(network->quit, &one, sizeof one);
	pthread_join(network->doorman, NULL);
	network->has_doorman = false;
}

void network_destroy(struct network *network)
{
	if (!network)
		return;
	dismiss_doorman(network);
	announce(network, ANNOUNCE_LEAVING);
	if (network->session.peers)
		session_flush(&network->session, 200);
	for (uint32_t i = 0; network->channels && i < network->secondaries; i++) /* channels not passed on */
		channel_destroy(network->channels[i]);
	session_fini(&network->session);
	wire_destroy(network->wire);
	if (network->quit >= 0)
		(void)close(network->quit);
	free(network->channels);
	free(network->met);
	free(network->told_of);
	text_fini(&network->world);
	vec_free(&network->sent);
	free(network);
}

uint32_t network_secondaries(const struct network *network)
{
	return network->secondaries;
}

uint32_t network_awaited(const struct network *network)
{
	return atomic_load(&network->awaited);
}

/* --- gathering ---------------------------------------------------------------------------------------------------- */

static void begin_gathering(struct network *network, struct troupe_server *server)
{
	struct primary *primary = &server->worlds[0].primary;
	network->server = server;
	server_pack(server, &network->world);
	network->described = session_describe(network->world.at, network->world.count);
	network->hello.world = network->described.hash[0];
	struct peers_options options = {
		.self = network->hello,
		.secondaries = network->secondaries,
		.first_step = primary->lockstep.number,
		.state_hash = primary_hash(primary),
		.stale_ns = network->stale_ms * UINT64_C(1000000),
		.wait_ns = network->wait_ns,
	};
	network->session.on_world = on_world;
	network->session.on_action = on_action;
	network->session.ctx = network;
	network->session.hears = true;
	network->session.peers = peers_create(&options, clock_now_ns());
	for (uint32_t i = 0; network->channels && i < network->secondaries; i++) {
		session_join(&network->session, network->channels[i]);
		network->channels[i] = NULL;
	}
}

/* The number of processes that poll for one another on this machine: at most the primary and all secondaries. */
static uint32_t pollers_of(const struct network *network)
{
	return 1 + network->secondaries;
}

static void take_channels(struct network *network)
{
	struct peers *peers = network->session.peers;
	if (!network->channels)
		network->channels = mem_alloc(network->secondaries * sizeof *network->channels);
	for (uint32_t i = 0; i < network->secondaries; i++) {
		uint32_t id = peers_id_of(peers, i + 1);
		struct channel *channel = session_take(&network->session, id);
		channel_set_peer(channel, peers_name(peers, id));
		network->channels[i] = channel;
	}
	network->link = (struct transport_link){.channels = network->channels,
		.first_step = network->server->worlds[0].primary.lockstep.number,
		.stale_ms = network->stale_ms,
		.name = network->hello.name,
		.pollers = pollers_of(network)};
}

/* --- after the start ---------------------------------------------------------------------------------------------- */

static void note_late(struct network *network, const struct channel *channel)
{
	static const char what[] = "came too late";
	const char *peer = channel_peer(channel), *port = strrchr(peer, ':');
	size_t host = port ? (size_t)(port - peer) : strlen(peer);
	if (told_take(&network->told, peer, host, what, clock_now_ns()))
		note(network, "turned away %s: it %s, the simulation has begun", peer, what);
}

static void turn_away(struct network *network, struct channel *channel)
{
	struct text bytes = {0};
	char why[160];
	(void)snprintf(why, sizeof why, "the simulation has begun: it is fixed with %u %s", network->secondaries,
		word(network->secondaries));
	note_late(network, channel);
	refuse_encode(why, &bytes);
	(void)channel_send(channel, FRAME_REFUSE, bytes.at, bytes.count, NULL);
	text_fini(&bytes);
	session_finish(&network->session, channel);
}

/* The thread that refuses peers after the start, so that a stranger costs the run nothing. */
static void *keep_door(void *arg)
{
	struct network *network = arg;
	struct listener *listener = network->session.listener;
	struct channel *channel;
	struct pollfd fds[LISTENER_POLL_MAX + 1];
	for (;;) {
		uint32_t count = listener_poll(listener, clock_now_ns(), fds);
		fds[count] = (struct pollfd){.fd = network->quit, .events = POLLIN};
		bool busy = listener_deadline_ns(listener, clock_now_ns()) != UINT64_MAX ||
			    network->session.finishing.count;
		(void)poll(fds, count + 1, busy ? SESSION_TICK_MS : DOOR_LOOK_MS);
		if (fds[count].revents)
			return NULL;
		listener_work(listener, clock_now_ns());
		note_refusals(network);
		while ((channel = listener_take(listener)))
			turn_away(network, channel);
		session_flush(&network->session, 0);
		if (is_to_announce(network))
			announce(network, ANNOUNCE_FIXED);
	}
}

static bool loads(void *ctx, const void *payload)
{
	const struct step *step = payload;
	(void)ctx;
	return step->change_count || step->world_changed || step->statics_changed;
}

static troupe_status begin(struct network *network, struct troupe_server *server, struct troupe_error *error)
{
	take_channels(network);
	network->wire = wire_create(&server->worlds[0].primary);
	network->codec = (struct transport_codec){
		.encode_step = wire_encode_step, .decode_ack = wire_decode_ack, .loads = loads, .ctx = network->wire};
	text_fini(&network->world);
	if (!network->session.listener)
		return TROUPE_OK;
	listener_slow_down(network->session.listener, DOOR_ACCEPTS_PER_SECOND);
	int failed = pthread_create(&network->doorman, NULL, keep_door, network);
	network->has_doorman = !failed;
	mem_check_thread(failed);
	return failed ? fail(error, TROUPE_ELIMIT, "cannot start a thread: %s", strerror(failed)) : TROUPE_OK;
}

/* When sockets were given, no other secondaries can join. So the run fails if a socket closes, also before its peer
 * has sent a hello. */
static void count_sockets(struct network *network)
{
	uint32_t open = 0;
	for (uint32_t i = 0; i < network->session.channels.count; i++)
		open += network->session.channels.at[i] != NULL;
	if (network->channels && open < network->secondaries && !network->ended) {
		peers_stop(network->session.peers, STOP_FAILED, "a secondary that was to take part is gone");
		session_act(&network->session);
	}
}

troupe_status network_gather(struct network *network, struct troupe_server *server, struct troupe_error *error)
{
	_Atomic bool *stop = &server->worlds[0].primary.stop;
	begin_gathering(network, server);
	note_waiting(network);
	while (!network->started && !network->ended) {
		if (atomic_load(stop))
			peers_stop(network->session.peers, STOP_LEFT, "it was stopped before the start");
		if (is_to_announce(network))
			announce(network, ANNOUNCE_HERE);
		session_work(&network->session, SESSION_TICK_MS, NULL, 0);
		if (!network->started)
			count_sockets(network);
		atomic_store(&network->awaited, network->secondaries - peers_present(network->session.peers));
		if (network->session.listener)
			note_refusals(network);
		hear_announcements(network);
		send_data(network);
		if (server->def.on_watch)
			server->def.on_watch(server->def.ctx);
	}
	if (network->ended) {
		troupe_status status = peers_end_status(network->session.peers, error);
		return status ? status : fail(error, TROUPE_EPEER, "the run is over before it began");
	}
	return begin(network, server, error);
}

const struct transport_codec *network_codec(const struct network *network)
{
	return &network->codec;
}

struct transport_link *network_link(struct network *network)
{
	return &network->link;
}

/* After the start but without a transport, the session sends the reason of the stop. */
static void stop_before_transport(struct network *network, enum stop_kind kind, const char *why)
{
	struct session *session = &network->session;
	dismiss_doorman(network); /* it uses the session */
	for (uint32_t i = 0; i < network->secondaries; i++)
		if (network->channels[i]) {
			session->channels.at[peers_id_of(session->peers, i + 1)] = network->channels[i];
			network->channels[i] = NULL;
		}
	peers_stop(session->peers, kind, why);
	session_act(session);
}

void network_stop(struct network *network, enum stop_kind kind, const char *why)
{
	if (network->started && !network->ended)
		stop_before_transport(network, kind, why);
}

/* --- asking ------------------------------------------------------------------------------------------------------- */

struct physics_stats network_physics_stats(const struct network *network, uint32_t secondary)
{
	return network->wire ? wire_physics_stats(network->wire, secondary) : (struct physics_stats){0};
}

void network_report(
	const struct network *network, struct transport_counts bytes, struct troupe_report_network *ret_report)
{
	struct wire_counts counts = network->wire ? wire_counts(network->wire) : (struct wire_counts){0};
	*ret_report = (struct troupe_report_network){.given = true,
		.bytes_sent = bytes.sent,
		.bytes_received = bytes.received,
		.step_bytes = counts.step_bytes,
		.ack_bytes = counts.ack_bytes,
		.robot_steps = counts.robot_steps};
}
