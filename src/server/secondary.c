/* The process of a secondary. The caller's thread works on the connection; a second thread loads the world and steps
 * it. So the process learns that the run is over even during loading or during a step that does not end. */
#include "server/network.h"

#include "base/clock.h"
#include "base/gate.h"
#include "net/candidates.h"
#include "run/secondary.h"
#include "server/session.h"
#include "server/told.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { GRACE_MS = 500, STOP_LOOK_MS = 20, ATTEMPTS_MAX = 4 };
#define ATTEMPT_SPACING_NS UINT64_C(250000000) /* minimum time between the starts of two attempts */

struct attempt {
	struct channel *channel; /* not open yet; NULL: there is no attempt */
	struct candidate to;
};

struct troupe_secondary {
	struct troupe_secondary_def def;
	struct hello hello;
	struct key key;
	bool keyed;
	struct candidates candidates;
	bool addressed; /* the one candidate is a given address */
	bool seeks;     /* other primaries may still be found */
	struct attempt attempts[ATTEMPTS_MAX];
	uint64_t attempt_ns;            /* start of the last attempt */
	struct candidate joined;        /* the candidate of the session's present or last connection */
	struct text sought;             /* where it searches, for messages */
	struct told told, told_foreign; /* messages about own failures; about announcements */
	struct session session;
	struct troupe_error last; /* the last error of an attempt */
	_Atomic bool stop;
	int woken; /* event file; written by the thread below and by a stop */
	/* the world that is received */
	struct session_world described;
	struct text world;
	bool wanted, admitted, started, ended;
	/* the second thread, and its results */
	pthread_t thread;
	bool has_thread, stuck, told_ready;
	struct gate go; /* opened when the transport exists */
	_Atomic bool loaded, finished;
	troupe_status load_status;
	struct troupe_error load_error;
	struct troupe_server *server;
	struct secondary *secondary;
	struct wire_copy *copy;
	uint64_t hash;
	uint32_t number;
	/* the run */
	struct transport_codec codec;
	struct transport_link link;
	const struct transport_ops *ops;
	struct transport *transport;
};

static void note(const struct troupe_secondary *s, const char *format, ...) TROUPE_PRINTF(2, 3);
static void note(const struct troupe_secondary *s, const char *format, ...)
{
	struct troupe_error text;
	va_list args;
	if (!s->def.on_note)
		return;
	va_start(args, format);
	fail_v(&text, TROUPE_OK, format, args);
	va_end(args);
	s->def.on_note(s->def.ctx, text.text);
}

static void wake(const struct troupe_secondary *s)
{
	uint64_t one = 1;
	(void)!write(s->woken, &one, sizeof one);
}

/* Shows why it has not joined; each reason once. */
static void note_failure(struct troupe_secondary *s, const char *why)
{
	(void)fail(&s->last, TROUPE_EPEER, "%s", why);
	if (told_take(&s->told, "", 0, why, clock_now_ns()))
		note(s, "%s", why);
}

/* --- the other thread --------------------------------------------------------------------------------------------- */

static troupe_status load(struct troupe_secondary *s, struct troupe_error *error)
{
	struct troupe_server_def def = troupe_server_def_default();
	def.resume_path = "the primary's world";
	def.secondaries = 1;
	def.break_rule = s->def.break_rule;
	char *bytes = s->world.at;
	size_t count = s->world.count;
	s->world = (struct text){0};
	troupe_status status = server_create_copy(&def, bytes, count, &s->server, error);
	if (status)
		return status;
	if (s->server->world_count != 1)
		return fail(error, TROUPE_EWORLD, "the primary's world: more than one");
	struct server_world *world = &s->server->worlds[0];
	s->hash = primary_hash(&world->primary);
	s->copy = wire_copy_create(s->number, &world->primary.edit);
	s->secondary = secondary_create(s->number, &world->shared);
	return TROUPE_OK;
}

static void step(struct troupe_secondary *s)
{
	struct transport_message message;
	while (s->ops->wait(s->transport, s->number - 1, &message) == TROUPE_OK) {
		struct ack *ack = secondary_step(s->secondary, message.payload);
		if (s->ops->ack(s->transport, s->number - 1, (struct transport_message){message.number, ack}))
			break;
	}
}

static void *work(void *arg)
{
	struct troupe_secondary *s = arg;
	s->load_status = load(s, &s->load_error);
	atomic_store(&s->loaded, true);
	wake(s);
	while (!gate_peek(&s->go))
		(void)gate_wait(&s->go, 0, 0, 0);
	if (s->transport)
		step(s);
	secondary_destroy(s->secondary);
	atomic_store(&s->finished, true);
	wake(s);
	return NULL;
}

static void start_loading(struct troupe_secondary *s)
{
	int failed = pthread_create(&s->thread, NULL, work, s);
	s->has_thread = !failed;
	mem_check_thread(failed);
	if (!failed)
		return;
	s->load_status = fail(&s->load_error, TROUPE_ELIMIT, "cannot start a thread: %s", strerror(failed));
	atomic_store(&s->loaded, true);
}

/* --- being given the world ---------------------------------------------------------------------------------------- */

static bool on_world(
	void *ctx, uint32_t id, enum frame_type type, const char *bytes, size_t count, struct troupe_error *error)
{
	struct troupe_secondary *s = ctx;
	if (type == FRAME_WORLD && !s->wanted) {
		if (session_decode_world(bytes, count, &s->described, error))
			return false;
		s->wanted = true;
		return !channel_send(s->session.channels.at[id], FRAME_WORLD_WANT, NULL, 0, error);
	}
	if (type != FRAME_WORLD_DATA || !s->wanted || s->has_thread || s->world.count + count > s->described.bytes) {
		(void)fail(error, TROUPE_EPROTOCOL, "a frame '%s' that does not belong here", frame_name(type));
		return false;
	}
	text_add_bytes(&s->world, bytes, count);
	if (s->world.count < s->described.bytes)
		return true;
	struct session_world came = session_describe(s->world.at, s->world.count);
	if (memcmp(came.hash, s->described.hash, sizeof came.hash) != 0) {
		(void)fail(error, TROUPE_EPROTOCOL, "the world did not arrive as it was sent");
		return false;
	}
	start_loading(s);
	return true;
}

/* Whether it may search for another primary. If not, it has only the connection that it was given. */
static bool may_find_another(const struct troupe_secondary *s)
{
	return s->addressed || s->seeks;
}

static void on_action(void *ctx, const struct peers_action *action)
{
	struct troupe_secondary *s = ctx;
	if (action->kind == PEERS_ADMITTED) {
		uint32_t all;
		s->number = peers_own_number(s->session.peers, &all);
		s->admitted = true;
		candidates_settle(&s->candidates, &s->joined, CANDIDATE_JOINED, clock_now_ns());
		note(s, "joined %s, as secondary %u of %u", peers_name(s->session.peers, action->id), s->number, all);
	} else if (action->kind == PEERS_LOST || action->kind == PEERS_REFUSED) {
		bool refused = action->kind == PEERS_REFUSED;
		s->admitted = false;
		s->ended |= s->wanted || !may_find_another(s); /* another primary would have another world */
		candidates_settle(
			&s->candidates, &s->joined, refused ? CANDIDATE_REFUSED : CANDIDATE_FAILED, clock_now_ns());
		note_failure(s, action->bytes);
	} else if (action->kind == PEERS_STARTED) {
		s->started = true;
	} else if (action->kind == PEERS_ENDED) {
		s->ended = true;
	}
}

/* --- finding the primary ------------------------------------------------------------------------------------------ */

static void hear_announcements(struct troupe_secondary *s)
{
	struct discovery *discovery = s->session.discovery;
	struct announcement announcement;
	struct address address;
	uint64_t now = clock_now_ns();
	while (discovery && !s->admitted && discovery_receive(discovery, now, &announcement, &address))
		candidates_hear(&s->candidates, &announcement, &address, now);
}

/* Announces itself, so that primaries that wait for secondaries answer. */
static void announce(struct troupe_secondary *s)
{
	struct announcement announcement = {.kind = ANNOUNCE_HERE};
	struct discovery *discovery = s->session.discovery;
	uint64_t now = clock_now_ns();
	s->session.hears = !s->admitted;
	if (!discovery || s->admitted || now < discovery_send_at_ns(discovery))
		return;
	memcpy(announcement.id, s->hello.id, sizeof announcement.id);
	memcpy(announcement.name, s->hello.name, sizeof announcement.name);
	(void)discovery_send(discovery, &announcement, now, NULL);
}

/* Shows primaries that it cannot join. */
static void note_useless(struct troupe_secondary *s)
{
	struct announcement announcement;
	struct address address;
	const char *why;
	char where[ADDRESS_TEXT_BYTES], host[ADDRESS_TEXT_BYTES];
	if (!s->session.discovery || s->admitted ||
		!discovery_take_useless(s->session.discovery, &announcement, &address, &why))
		return;
	address_host_text(&address, host); /* the port is only what the announcement says */
	if (!told_take(&s->told_foreign, host, strlen(host), why, clock_now_ns()))
		return;
	address_text(&address, where);
	note(s, "there is a primary at %s, but it %s", where, why);
	(void)fail(&s->last, TROUPE_EPEER, "the one at %s %s", where, why);
}

static bool has_connection(const struct troupe_secondary *s)
{
	for (uint32_t i = 0; i < s->session.channels.count; i++)
		if (s->session.channels.at[i])
			return true;
	return peers_id_of(s->session.peers, 0) != PEERS_NONE;
}

static uint32_t attempts_going_on(const struct troupe_secondary *s)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < ATTEMPTS_MAX; i++)
		count += s->attempts[i].channel != NULL;
	return count;
}

static void begin_attempt(struct troupe_secondary *s, struct attempt *attempt, uint64_t now)
{
	struct channel_options options = {.role = CHANNEL_CLIENT, .key = s->keyed ? &s->key : NULL};
	struct troupe_error why;
	if (!candidates_next(&s->candidates, now, &attempt->to))
		return;
	s->attempt_ns = now;
	options.handshake_ns = attempt->to.given ? 0 : CANDIDATES_ATTEMPT_NS;
	if (channel_connect(&attempt->to.address, &options, now, &attempt->channel, &why)) {
		candidates_settle(&s->candidates, &attempt->to, CANDIDATE_FAILED, now);
		note_failure(s, why.text);
	}
}

/* Attempts overlap, so that a candidate that does not answer does not delay the others. */
static void try_to_connect(struct troupe_secondary *s)
{
	uint64_t now = clock_now_ns();
	uint32_t going_on = attempts_going_on(s);
	if (going_on == ATTEMPTS_MAX || (going_on && now < s->attempt_ns + ATTEMPT_SPACING_NS) || has_connection(s))
		return;
	for (uint32_t i = 0; i < ATTEMPTS_MAX; i++)
		if (!s->attempts[i].channel) {
			begin_attempt(s, &s->attempts[i], now);
			return;
		}
}

static void end_attempt(struct troupe_secondary *s, struct attempt *attempt, enum candidate_fate fate)
{
	channel_destroy(attempt->channel);
	attempt->channel = NULL;
	candidates_settle(&s->candidates, &attempt->to, fate, clock_now_ns());
}

static void join(struct troupe_secondary *s, struct attempt *attempt)
{
	s->joined = attempt->to;
	session_join(&s->session, attempt->channel);
	attempt->channel = NULL;
	for (uint32_t i = 0; i < ATTEMPTS_MAX; i++)
		if (s->attempts[i].channel)
			end_attempt(s, &s->attempts[i], CANDIDATE_LEFT);
}

static void work_attempts(struct troupe_secondary *s)
{
	for (uint32_t i = 0; i < ATTEMPTS_MAX; i++) {
		struct attempt *attempt = &s->attempts[i];
		struct troupe_error why;
		if (!attempt->channel)
			continue;
		if (channel_work(attempt->channel, clock_now_ns(), &why)) {
			note_failure(s, why.text);
			end_attempt(s, attempt, CANDIDATE_FAILED);
			s->ended |= !may_find_another(s);
		} else if (channel_is_open(attempt->channel)) {
			join(s, attempt);
		}
	}
}

/* Waits for an event, or for the next time to look. */
static void wait_and_work(struct troupe_secondary *s)
{
	struct pollfd more[1 + ATTEMPTS_MAX] = {{.fd = s->woken, .events = POLLIN}};
	uint32_t count = 1;
	uint64_t rung;
	_Static_assert(1 + ATTEMPTS_MAX <= SESSION_MORE_MAX, "all can be waited for");
	for (uint32_t i = 0; i < ATTEMPTS_MAX; i++)
		if (s->attempts[i].channel)
			more[count++] = (struct pollfd){.fd = channel_fd(s->attempts[i].channel),
				.events = channel_poll_events(s->attempts[i].channel)};
	session_work(&s->session, SESSION_TICK_MS, more, count);
	if (more[0].revents)
		(void)!read(s->woken, &rung, sizeof rung);
}

static void tell_ready(struct troupe_secondary *s)
{
	if (!atomic_load(&s->loaded) || s->told_ready)
		return;
	s->told_ready = true;
	if (s->load_status)
		peers_stop(s->session.peers, STOP_FAILED, s->load_error.text);
	else
		peers_ready(s->session.peers, s->hash);
	session_act(&s->session);
}

static void gather(struct troupe_secondary *s)
{
	if (s->sought.count)
		note(s, "looking for a primary %s", s->sought.at);
	while (!s->started && !s->ended) {
		if (atomic_load(&s->stop))
			peers_stop(s->session.peers, STOP_LEFT, "it was stopped before the start");
		announce(s);
		hear_announcements(s);
		note_useless(s);
		try_to_connect(s);
		work_attempts(s);
		wait_and_work(s);
		tell_ready(s);
	}
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

static void encode_ack(void *ctx, uint32_t number, const void *payload, struct text *out)
{
	struct troupe_secondary *s = ctx;
	struct physics_stats stats = secondary_physics_stats(s->secondary);
	(void)number;
	wire_encode_ack(s->copy, payload, &stats, out);
}

static troupe_status decode_step(void *ctx, uint32_t number, const char *bytes, size_t count,
	struct transport_message *ret_step, struct troupe_error *error)
{
	struct troupe_secondary *s = ctx;
	return wire_decode_step(s->copy, number, bytes, count, ret_step, error);
}

static void on_alarm(void *ctx)
{
	wake(ctx);
}

/* Whether the primary is on this machine; also true when a connection was given, without an address. */
static bool is_here(const struct address *address)
{
	return !address->raw_bytes || address_is_loopback(address);
}

static troupe_status start(struct troupe_secondary *s, struct troupe_error *error)
{
	struct peers *peers = s->session.peers;
	uint32_t id = peers_id_of(peers, 0), all;
	(void)peers_own_number(peers, &all);
	struct channel *channel = session_take(&s->session, id);
	channel_set_peer(channel, peers_name(peers, id));
	struct channel *channels[] = {channel};
	s->codec = (struct transport_codec){.decode_step = decode_step, .encode_ack = encode_ack, .ctx = s};
	s->link = (struct transport_link){.channels = channels,
		.secondary = s->number,
		.first_step = s->server->worlds[0].primary.lockstep.number,
		.stale_ms = (uint32_t)(peers_stale_ns(peers) / 1000000),
		.name = s->hello.name,
		.pollers = is_here(&s->joined.address) ? 1 + all : 1};
	struct transport_options options = {
		.secondaries = all, .alarm = on_alarm, .ctx = s, .codec = &s->codec, .link = &s->link};
	troupe_status status = s->ops->create(&options, &s->transport, error);
	channel_destroy(channels[0]); /* if no transport took it */
	return status;
}

static void wait_for_end(struct troupe_secondary *s)
{
	uint64_t until = UINT64_MAX;
	while (!atomic_load(&s->finished) && clock_now_ns() < until) {
		bool over = s->ops->lost(s->transport) || s->ops->is_done(s->transport);
		if (atomic_load(&s->stop) && !over) {
			s->ops->stop(s->transport, STOP_LEFT, "it was stopped");
			s->ops->close(s->transport);
			over = true;
		}
		if (over && until == UINT64_MAX)
			until = clock_now_ns() + GRACE_MS * UINT64_C(1000000);
		session_wait(s->woken, over ? STOP_LOOK_MS : 1000);
	}
	s->stuck = !atomic_load(&s->finished);
}

static troupe_status run(struct troupe_secondary *s, struct troupe_error *error)
{
	troupe_status status = start(s, error);
	if (status)
		return status;
	gate_open(&s->go);
	wait_for_end(s);
	const struct troupe_error *lost = s->ops->lost(s->transport);
	if (lost && !atomic_load(&s->stop)) {
		*error = *lost;
		return lost->status;
	}
	return TROUPE_OK;
}

static troupe_status why_not_started(const struct troupe_secondary *s, struct troupe_error *error)
{
	const struct stop *end = peers_end(s->session.peers);
	const char *last = s->last.text;
	/* the second thread's result is valid once it has set `loaded`: the thread may still be running */
	if (atomic_load(&s->loaded) && s->load_status)
		return fail(error, s->load_status, "%s", s->load_error.text);
	if (end && end->kind == STOP_MISSING && !s->admitted && s->sought.count)
		return fail(error, TROUPE_EPEER, "%s %s%s%s", end->why, s->sought.at, *last ? ": " : "", last);
	troupe_status status = peers_end_status(s->session.peers, error);
	return status ? status : fail(error, TROUPE_EPEER, "%s", last);
}

troupe_status troupe_secondary_run(struct troupe_secondary *s, struct troupe_error *error)
{
	struct troupe_error unwanted;
	gather(s);
	if (s->started && !s->ended)
		return run(s, error ? error : &unwanted);
	return atomic_load(&s->stop) ? TROUPE_OK : why_not_started(s, error);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static troupe_status take_socket(struct troupe_secondary *s, int file, struct troupe_error *error)
{
	struct channel_options options = {.role = CHANNEL_CLIENT};
	troupe_status status =
		channel_create(file, "the primary", &options, clock_now_ns(), &s->attempts[0].channel, error);
	if (status)
		(void)close(file);
	return status;
}

static void describe_way(
	struct troupe_secondary *s, const struct troupe_network *network, const struct address *address)
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
		confined ? " and so on this machine only" : "");
}

static troupe_status take_address(
	struct troupe_secondary *s, const struct troupe_network *network, struct troupe_error *error)
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
	describe_way(s, network, &address);
	return TROUPE_OK;
}

static troupe_status look_around(
	struct troupe_secondary *s, const struct troupe_network *network, struct troupe_error *error)
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
	describe_way(s, network, NULL);
	return TROUPE_OK;
}

static troupe_status find_way(
	struct troupe_secondary *s, const struct troupe_network *network, struct troupe_error *error)
{
	troupe_status status = session_key(network, &s->key, &s->keyed, error);
	if (status)
		return status;
	return network->address ? take_address(s, network, error) : look_around(s, network, error);
}

troupe_status troupe_secondary_create(
	const struct troupe_secondary_def *def, struct troupe_secondary **ret_secondary, struct troupe_error *error)
{
	const struct troupe_network *network = def->network;
	struct troupe_secondary *s = mem_alloc_lines(sizeof *s);
	s->def = *def;
	s->ops = &transport_tcp;
	s->woken = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	uint64_t secret = 0;
	troupe_status status = physics_init_process(error);
	if (!status)
		status = session_hello(network, HELLO_SECONDARY, &s->hello, error);
	if (!status)
		status = key_random_bytes(&secret, sizeof secret, error);
	candidates_init(&s->candidates, secret);
	if (network->sockets && !status)
		status = take_socket(s, network->sockets[0], error);
	else if (network->sockets)
		(void)close(network->sockets[0]);
	else if (!status)
		status = find_way(s, network, error);
	struct peers_options options = {
		.self = s->hello, .wait_ns = (uint64_t)(network->wait_s * 1e9), .seeks = s->seeks};
	s->session.on_world = on_world;
	s->session.on_action = on_action;
	s->session.ctx = s;
	if (!status)
		s->session.peers = peers_create(&options, clock_now_ns());
	if (status) {
		troupe_secondary_destroy(s);
		return status;
	}
	*ret_secondary = s;
	return TROUPE_OK;
}

static void disconnect(struct troupe_secondary *s)
{
	if (s->session.peers)
		session_flush(&s->session, 200);
	session_fini(&s->session);
	for (uint32_t i = 0; i < ATTEMPTS_MAX; i++)
		channel_destroy(s->attempts[i].channel);
}

/* Waits at most GRACE_MS for the second thread, also while it loads. */
static void wait_for_thread(struct troupe_secondary *s)
{
	uint64_t until = clock_now_ns() + GRACE_MS * UINT64_C(1000000);
	gate_open(&s->go);
	while (!atomic_load(&s->finished) && clock_now_ns() < until)
		session_wait(s->woken, STOP_LOOK_MS);
	s->stuck = !atomic_load(&s->finished);
	if (!s->stuck)
		pthread_join(s->thread, NULL);
}

void troupe_secondary_destroy(struct troupe_secondary *s)
{
	if (!s)
		return;
	disconnect(s);
	if (s->has_thread && !s->stuck)
		wait_for_thread(s);
	if (s->stuck) /* the second thread still uses all of it: the process ends anyway */
		return;
	if (s->transport)
		s->ops->destroy(s->transport);
	wire_copy_destroy(s->copy);
	troupe_server_destroy(s->server);
	text_fini(&s->world);
	text_fini(&s->sought);
	key_forget(&s->key);
	if (s->woken >= 0)
		(void)close(s->woken);
	free(s);
}

void troupe_secondary_stop(struct troupe_secondary *s)
{
	int code = errno;
	atomic_store(&s->stop, true);
	wake(s);
	errno = code;
}
