/* The caller's thread works on the connections: it hears announcements, tries candidates, and stays with the primary
 * that lets it in. Another primary would have another world: so once the world is on its way, the loss of the primary
 * is the end. */
#include "net/tcp/join_internal.h"

#include "base/clock.h"
#include "base/host_port.h"
#include "net/tcp/tcp.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

void join_note_failure(struct joining *s, const char *why)
{
	(void)fail(&s->last, TROUPE_EPEER, "%s", why);
	if (log_limit_take(&s->log_limit, "", 0, why, clock_now_ns()))
		gather_note(s->host, "%s", why);
}

/* --- being given the world ---------------------------------------------------------------------------------------- */

static troupe_status join_take_world(struct joining *s, uint32_t id, enum frame_type type, const char *bytes,
	size_t count, struct troupe_error *error)
{
	bool whole;
	if (type == FRAME_WORLD && !s->wanted) {
		troupe_status status = bundle_decode(bytes, count, &s->described, error);
		s->wanted = !status;
		return status ? status : channel_send(s->session.channels.at[id], FRAME_WORLD_WANT, NULL, 0, error);
	}
	if (type != FRAME_WORLD_DATA || !s->wanted || s->given)
		return fail(error, TROUPE_EPROTOCOL, "an unexpected frame '%s'", frame_name(type));
	troupe_status status = bundle_add(&s->described, &s->world, bytes, count, &whole, error);
	if (status || !whole)
		return status;
	s->given = true;
	s->host->on_world(s->host->ctx, s->number, s->world.at, s->world.count);
	s->world = (struct text){0};
	return TROUPE_OK;
}

static bool join_on_world(
	void *ctx, uint32_t id, enum frame_type type, const char *bytes, size_t count, struct troupe_error *error)
{
	return !join_take_world(ctx, id, type, bytes, count, error);
}

/* Whether it may search for another primary. If not, it has only the connection that it was given. */
bool join_may_find_another(const struct joining *s)
{
	return s->addressed || s->seeks;
}

static void join_tell_welcome(const struct joining *s)
{
	char host[ADDRESS_TEXT_BYTES];
	bool known = s->joined.address.raw_bytes;
	if (!s->host->on_welcome)
		return;
	if (known)
		address_host_text(&s->joined.address, host);
	s->host->on_welcome(
		s->host->ctx, known ? host : NULL, peers_port(s->session.peers), peers_ticket(s->session.peers));
}

/* What is needed when this primary is lost. */
static void join_remember(struct joining *s)
{
	(void)snprintf(s->standby, sizeof s->standby, "%s", peers_standby(s->session.peers));
	memcpy(s->hello.run, peers_run(s->session.peers), sizeof s->hello.run);
	s->hello.term = peers_term(s->session.peers);
	s->primary = s->joined.address;
	s->orphaned = false;
}

/* The standby says that the primary is there: only our own connection to it has failed. */
static void join_go_back(struct joining *s)
{
	s->orphaned = false;
	if (s->primary.raw_bytes)
		candidates_give(&s->candidates, &s->primary);
}

static void join_on_action(void *ctx, const struct peers_action *action)
{
	struct joining *s = ctx;
	if (action->kind == PEERS_ADMITTED) {
		uint32_t all;
		s->number = peers_own_number(s->session.peers, &all);
		s->admitted = true;
		join_remember(s);
		candidates_settle(&s->candidates, &s->joined, CANDIDATE_JOINED, clock_now_ns());
		gather_note(s->host, "joined %s, as secondary %u of %u", peers_name(s->session.peers, action->id),
			s->number, all);
		join_tell_welcome(s);
	} else if (action->kind == PEERS_LOST || action->kind == PEERS_REFUSED) {
		bool later = action->kind == PEERS_REFUSED && action->again;
		bool refused = action->kind == PEERS_REFUSED && !later && !s->again && !*s->hello.client;
		if (s->orphaned && action->kind == PEERS_REFUSED && !later)
			join_go_back(s);
		if (!s->orphaned && action->kind == PEERS_LOST && (s->wanted || (s->again && *s->standby)))
			s->orphaned = s->ended = true; /* also of a primary that is lost while the members change */
		s->admitted = false;
		s->ended |= s->wanted || !join_may_find_another(s); /* another primary would have another world */
		candidates_settle(&s->candidates, &s->joined,
			later     ? CANDIDATE_LATER
			: refused ? CANDIDATE_REFUSED
				  : CANDIDATE_FAILED,
			clock_now_ns());
		if (later && !*s->hello.client && log_limit_take(&s->log_limit, "", 0, "later", clock_now_ns()))
			gather_note(s->host, "%s; this process comes again until it is let in", action->bytes);
		if (refused || action->kind == PEERS_LOST)
			join_note_failure(s, action->bytes);
	} else if (action->kind == PEERS_STARTED) {
		s->started = true;
	} else if (action->kind == PEERS_ENDED) {
		s->ended = true;
		s->orphaned = false; /* no standby took over in time */
	}
}

/* --- the start -----------------------------------------------------------------------------------------------------
 */

static void join_tell_ready(struct joining *s)
{
	struct troupe_error why;
	bool loaded = false;
	if (!s->given || s->ready_sent)
		return;
	troupe_status status = s->host->loaded(s->host->ctx, &loaded, &s->hash, &why);
	if (!status && !loaded)
		return;
	s->ready_sent = true;
	if (status)
		peers_stop(s->session.peers, STOP_FAILED, why.text);
	else
		peers_ready(s->session.peers, s->hash);
	session_act(&s->session);
}

static troupe_status join_why_not_started(const struct joining *s, struct troupe_error *error)
{
	const struct stop *end = peers_end(s->session.peers);
	const char *last = s->last.text;
	if (end && end->kind == STOP_MISSING && !s->admitted && s->sought.count)
		return fail(error, TROUPE_EPEER, "%s %s%s%s", end->why, s->sought.at, *last ? ": " : "", last);
	troupe_status status = peers_end_status(s->session.peers, error);
	return status ? status : fail(error, TROUPE_EPEER, "%s", last);
}

troupe_status join_run(struct joining *s, struct troupe_error *error)
{
	if (s->sought.count && !join_search_has_connection(s) && !s->orphaned)
		gather_note(s->host, "looking for a primary %s", s->sought.at);
	while (!s->started && !s->ended) {
		if (s->host->stopped(s->host->ctx))
			peers_stop(s->session.peers, STOP_LEFT, "it was told to stop before the run began");
		join_search(s);
		join_tell_ready(s);
	}
	if (s->started && !s->ended)
		return TROUPE_OK;
	session_flush(&s->session, 200);
	return join_why_not_started(s, error);
}

bool join_regroups(const struct joining *s)
{
	uint32_t lost;
	return peers_regroups(s->session.peers, &lost);
}

void join_wake(struct joining *s)
{
	uint64_t one = 1;
	(void)!write(s->woken, &one, sizeof one);
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

/* Whether the primary is on this machine; also true when a connection was given, without an address. */
static bool join_is_here(const struct address *address)
{
	return !address->raw_bytes || address_is_loopback(address);
}

troupe_status join_link(
	struct joining *s, struct transport_link **ret_link, uint32_t *ret_secondaries, struct troupe_error *error)
{
	struct peers *peers = s->session.peers;
	uint32_t id = peers_id_of(peers, 0), all;
	struct channel *channel = session_take(&s->session, id);
	(void)peers_own_number(peers, &all);
	s->name = peers_name(peers, id);
	s->link = (struct transport_link){.ops = &tcp_carrier_ops,
		.names = &s->name,
		.secondary = s->number,
		.first_step = peers_first_step(peers),
		.over = s->over,
		.stale_ms = (uint32_t)(peers_stale_ns(peers) / 1000000),
		.name = s->hello.name,
		.pollers = join_is_here(&s->joined.address) ? 1 + all : 1};
	troupe_status status = tcp_carrier_create(&channel, 1, &s->link.carrier, error);
	channel_destroy(channel); /* if no carrier took it */
	if (status)
		return status;
	*ret_link = &s->link;
	*ret_secondaries = all;
	return TROUPE_OK;
}

/* --- other members ------------------------------------------------------------------------------------------------ */

/* The connection on which it is to join again; NULL: it is gone. */
static struct channel *join_take_kept(struct joining *s)
{
	struct channel *channel = NULL;
	if (s->link.carrier) {
		tcp_carrier_dissolve(s->link.carrier, &channel);
		s->link.carrier = NULL;
		if (!s->over[0])
			return channel;
		channel_destroy(channel);
		return NULL;
	}
	for (uint32_t i = 0; i < s->session.channels.count && !channel; i++)
		if (s->session.channels.at[i] && peers_stays(s->session.peers, i))
			channel = session_take(&s->session, i);
	return channel;
}

static void join_begin_again(struct joining *s, struct channel *channel, double wait_s)
{
	struct peers_options options = {
		.self = s->hello, .hello_ns = PEERS_GIVEN_HELLO_NS, .wait_ns = (uint64_t)(wait_s * 1e9), .seeks = true};
	peers_destroy(s->session.peers);
	s->session.peers = peers_create(&options, clock_now_ns());
	text_fini(&s->world);
	s->world = (struct text){0};
	s->wanted = s->given = s->admitted = s->ready_sent = s->started = s->ended = s->orphaned = false;
	s->again = true;
	s->log_limit = (struct log_limit){0}; /* what was said before may be said again */
	if (channel)
		session_keep(&s->session, channel);
}

troupe_status join_renew(struct joining *s, double wait_s, struct troupe_error *error)
{
	struct channel *channel = join_take_kept(s);
	uint32_t id = peers_id_of(s->session.peers, 0);
	if (channel && id != PEERS_NONE)
		channel_set_peer(channel, peers_address(s->session.peers, id));
	if (!channel && !join_may_find_another(s))
		return fail(error, TROUPE_EPEER, "the connection to the primary is gone");
	join_begin_again(s, channel, wait_s);
	return TROUPE_OK;
}

/* The host of a standby that named none is that of the primary. */
static troupe_status join_find_standby(const struct joining *s, struct address *ret_address, struct troupe_error *error)
{
	char host[ADDRESS_TEXT_BYTES], where[HOST_PORT_TEXT_BYTES];
	struct host_port parts;
	if (!*s->standby)
		return fail(error, TROUPE_EPEER, "there is no standby");
	if (*s->standby != ':' || !s->joined.address.raw_bytes || !host_port_read(s->standby, &parts))
		return address_parse(s->standby, ADDRESS_PORT, ret_address, error);
	address_host_text(&s->joined.address, host);
	host_port_text(host, parts.port, where, sizeof where);
	return address_parse(where, ADDRESS_PORT, ret_address, error);
}

troupe_status join_seek_standby(struct joining *s, double wait_s, struct troupe_error *error)
{
	struct address address;
	uint64_t secret = s->candidates.share.secret;
	troupe_status status = join_find_standby(s, &address, error);
	if (status)
		return status;
	channel_destroy(join_take_kept(s));
	candidates_init(&s->candidates, secret);
	candidates_give(&s->candidates, &address);
	s->sought.count = 0;
	text_add(&s->sought, "at the standby");
	join_begin_again(s, NULL, wait_s);
	s->orphaned = s->addressed = true;
	return TROUPE_OK;
}

bool join_orphaned(const struct joining *s)
{
	return s->orphaned;
}

const char *join_standby(const struct joining *s)
{
	return s->standby;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static troupe_status join_take_socket(struct joining *s, int file, struct troupe_error *error)
{
	struct channel_options options = {.role = CHANNEL_CLIENT};
	troupe_status status =
		channel_create(file, "the primary", &options, clock_now_ns(), &s->attempts[0].channel, error);
	if (status)
		(void)close(file);
	return status;
}

static void join_describe_way(struct joining *s, const struct troupe_network *network, const struct address *address)
{
	char where[ADDRESS_TEXT_BYTES];
	bool confined = !s->keyed && !network->insecure;
	if (address) {
		address_text(address, where);
		text_add(&s->sought, "at %s", where);
	} else {
		text_add(&s->sought, "by multicast at ");
		discovery_describe(s->session.discovery, &s->sought);
		text_add(&s->sought, *s->hello.partition ? ", partition '%s'" : ", default partition%s",
			s->hello.partition);
	}
	text_add(&s->sought, ", %s%s", s->keyed ? "with a key" : "without a key",
		confined ? ", so only on this machine" : "");
}

static troupe_status join_take_address(
	struct joining *s, const struct troupe_network *network, struct troupe_error *error)
{
	struct address address;
	troupe_status status = address_parse(network->address, ADDRESS_PORT, &address, error);
	if (status)
		return status;
	if (!s->keyed && !network->insecure && !address_is_loopback(&address))
		return fail(error, TROUPE_EINVAL,
			"%s: without a key only this machine: expected a key file (see troupe keygen), or "
			"--network-insecure",
			network->address);
	s->addressed = true;
	candidates_give(&s->candidates, &address);
	join_describe_way(s, network, &address);
	return TROUPE_OK;
}

static troupe_status join_look_around(
	struct joining *s, const struct troupe_network *network, struct troupe_error *error)
{
	struct discovery_options options = {.role = HELLO_SECONDARY,
		.interface = network->interface,
		.loopback_only = !s->keyed && !network->insecure,
		.key = s->keyed ? &s->key : NULL,
		.partition = s->hello.partition};
	troupe_status status = discovery_create(&options, &s->session.discovery, error);
	if (status)
		return status;
	s->seeks = true;
	join_describe_way(s, network, NULL);
	return TROUPE_OK;
}

static troupe_status join_find_way(struct joining *s, const struct troupe_network *network, struct troupe_error *error)
{
	troupe_status status = session_key(network, &s->key, &s->keyed, error);
	if (status)
		return status;
	return network->address ? join_take_address(s, network, error) : join_look_around(s, network, error);
}

troupe_status join_create(const struct gather_self *self, const struct gather_host *host, struct joining **ret_joining,
	struct troupe_error *error)
{
	const struct troupe_network *network = self->network;
	struct joining *s = mem_alloc(sizeof *s);
	s->host = host;
	s->woken = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	uint64_t secret = 0;
	troupe_status status = gather_hello(self, HELLO_SECONDARY, &s->hello, error);
	if (!status)
		status = key_random_bytes(&secret, sizeof secret, error);
	candidates_init(&s->candidates, secret);
	if (network->sockets && !status)
		status = join_take_socket(s, network->sockets[0], error);
	else if (network->sockets)
		(void)close(network->sockets[0]);
	else if (!status)
		status = join_find_way(s, network, error);
	struct peers_options options = {.self = s->hello,
		.hello_ns = network->sockets ? PEERS_GIVEN_HELLO_NS : 0,
		.wait_ns = (uint64_t)(network->wait_s * 1e9),
		.seeks = s->seeks};
	s->session.on_world = join_on_world;
	s->session.on_action = join_on_action;
	s->session.ctx = s;
	if (!status)
		s->session.peers = peers_create(&options, clock_now_ns());
	if (status) {
		join_destroy(s);
		return status;
	}
	*ret_joining = s;
	return TROUPE_OK;
}

void join_destroy(struct joining *s)
{
	if (!s)
		return;
	if (s->session.peers)
		session_flush(&s->session, 200);
	session_fini(&s->session);
	for (uint32_t i = 0; i < JOIN_ATTEMPTS_MAX; i++)
		channel_destroy(s->attempts[i].channel);
	if (s->link.carrier)
		tcp_carrier_ops.destroy(s->link.carrier);
	text_fini(&s->world);
	text_fini(&s->sought);
	key_forget(&s->key);
	if (s->woken >= 0)
		(void)close(s->woken);
	free(s);
}
