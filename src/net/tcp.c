/* A channel belongs to one thread at a time. Who works it holds it by a flag, for as long as a system call or a
 * decoder takes, and never while a step is simulated or decided: so whoever finds it held spins. The thread that steps
 * finds it held only when the keeper is at work, a few times a second; an uncontended exchange is all that it costs.
 *
 * What decides that somebody is lost is looked at by the keeper after it has read what there is: a process that was
 * itself asleep takes nobody for silent who has written meanwhile. */
#include "net/tcp.h"

#include "base/clock.h"
#include "base/gate.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define POLL_NS 60000u /* as long as a sleep and a wake cost */
#define LOAD_NS (600 * UINT64_C(1000000000))
#define BEATS 4 /* heartbeats in the stale time */
#define FLUSH_MS 200

enum { DEADLINE_FACTOR = 20, LOOKS_A_CLOCK = 16 };

struct peer {
	struct channel *channel;
	uint64_t heard_ns, said_ns;
	uint64_t received;            /* bytes: part of a large frame says that it lives, too */
	bool owes;                    /* the ack of the step that is out */
	struct transport_message ack; /* of the primary's peers */
};

struct transport {
	struct transport_options options;
	struct tcp_link *link;
	_Atomic bool held; /* channels and all below: by the thread that set it */
	struct peer *peers;
	uint32_t peer_count, outstanding;
	bool out;            /* primary: a step is, or has been acknowledged and not been taken up */
	uint64_t next;       /* number of the step to come */
	uint64_t sent_ns;    /* when the step went out */
	uint64_t longest_ns; /* that a step took so far */
	bool loads;          /* the step that is out */
	bool told;           /* STOP went out: what happens now is no loss */
	bool alarmed;
	struct troupe_error why; /* when lost */
	_Atomic bool lost, done, closed;
	uint64_t seen_ns; /* when the keeper looked last */
	/* a secondary's */
	struct text step; /* that came; at the primary: that goes nowhere */
	bool step_waits, owes_ack;
	uint64_t taken;      /* number of the step that it works on */
	int wake, quit;      /* event files: for who waits for messages; for the keeper */
	_Atomic bool sleeps; /* who waits for messages does */
	bool spins;
	pthread_t io, keeper;
	bool has_io, has_keeper;
	struct pollfd *fds;       /* [peer_count + 1] */
	struct tcp_counts counts; /* at the end */
};

static void hold(struct transport *transport)
{
	while (atomic_exchange_explicit(&transport->held, true, memory_order_acquire))
		sched_yield();
}

static void let_go(struct transport *transport)
{
	atomic_store_explicit(&transport->held, false, memory_order_release); /* pairs with hold() */
}

static void ring(int file)
{
	uint64_t one = 1;
	(void)!write(file, &one, sizeof one);
}

static void silence(int file)
{
	uint64_t count;
	(void)!read(file, &count, sizeof count);
}

static bool is_primary(const struct transport *transport)
{
	return !transport->link->secondary;
}

/* --- losing somebody ---------------------------------------------------------------------------------------------- */

/* All steps below it have been acknowledged by all, as far as is known here: to a secondary, a step says it of those
 * before. */
static uint64_t acknowledged(const struct transport *transport)
{
	bool open = is_primary(transport) ? transport->out && transport->outstanding
					  : transport->next > transport->link->first_step;
	return transport->next - (open ? 1u : 0u);
}

static void add_last_step(const struct transport *transport, uint64_t all_below, struct text *out)
{
	if (all_below > transport->link->first_step)
		text_add(out, "; the last step that all acknowledged is %" PRIu64, all_below - 1);
	else
		text_add(out, "; no step has been acknowledged by all");
}

static void send_stop(struct transport *transport, enum stop_kind kind, const char *who, const char *why)
{
	struct stop stop = {.kind = kind, .next_step = acknowledged(transport)};
	bool in_vain = is_primary(transport) && kind == STOP_FAILED && stop.next_step == transport->next;
	if (in_vain && transport->next > transport->link->first_step)
		stop.next_step--;
	struct text bytes = {0};
	(void)snprintf(stop.who, sizeof stop.who, "%s", who);
	(void)snprintf(stop.why, sizeof stop.why, "%s", why);
	stop_encode(&stop, &bytes);
	transport->told = true;
	for (uint32_t i = 0; i < transport->peer_count; i++)
		(void)channel_send(transport->peers[i].channel, FRAME_STOP, bytes.at, bytes.count, NULL);
	text_fini(&bytes);
}

/* The first counts. who: what it is called, or NULL when `why` says it. all_below: see acknowledged(); UINT64_MAX:
 * `why` says that, too. */
static void lose_at(
	struct transport *transport, troupe_status status, const char *who, const char *why, uint64_t all_below)
{
	if (transport->told || atomic_load(&transport->lost) || atomic_load(&transport->done))
		return;
	struct text text = {0};
	text_add(&text, "%s%s%s", who ? who : "", who ? ": " : "", why);
	if (all_below != UINT64_MAX)
		add_last_step(transport, all_below, &text);
	(void)fail(&transport->why, status, "%s", text.at);
	if (is_primary(transport))
		send_stop(transport, status == TROUPE_EPROTOCOL ? STOP_BROKEN : STOP_LOST, who ? who : "a secondary",
			transport->why.text);
	text_fini(&text);
	atomic_store(&transport->lost, true);
	ring(transport->wake);
}

static void lose(struct transport *transport, troupe_status status, const char *who, const char *why)
{
	lose_at(transport, status, who, why, acknowledged(transport));
}

/* Without holding anything. */
static void alarm_once(struct transport *transport)
{
	hold(transport);
	bool first = atomic_load(&transport->lost) && !transport->alarmed;
	transport->alarmed |= first;
	let_go(transport);
	if (first && transport->options.alarm)
		transport->options.alarm(transport->options.ctx);
}

/* --- frames ------------------------------------------------------------------------------------------------------- */

static troupe_status take_ack(
	struct transport *transport, struct peer *peer, const char *bytes, size_t count, struct troupe_error *error)
{
	const struct transport_codec *codec = transport->options.codec;
	if (!peer->owes)
		return fail(error, TROUPE_EPROTOCOL, "an ack of a step that nobody asked for");
	troupe_status status =
		codec->decode_ack(codec->ctx, (uint32_t)(peer - transport->peers), bytes, count, &peer->ack, error);
	if (!status && peer->ack.number != transport->next - 1)
		status = fail(error, TROUPE_EPROTOCOL, "an ack of step %" PRIu64 ": expected step %" PRIu64,
			peer->ack.number, transport->next - 1);
	if (status)
		return status;
	peer->owes = false;
	transport->outstanding--;
	if (!transport->loads)
		transport->longest_ns = MAX(transport->longest_ns, peer->heard_ns - transport->sent_ns);
	return TROUPE_OK;
}

/* Kept, since it is decoded while the keeper may work the channel. */
static troupe_status take_step(struct transport *transport, const char *bytes, size_t count, struct troupe_error *error)
{
	if (transport->step_waits || transport->owes_ack)
		return fail(error, TROUPE_EPROTOCOL, "a step before the last one was acknowledged");
	transport->step.count = 0;
	text_add_bytes(&transport->step, bytes, count);
	transport->step_waits = true;
	return TROUPE_OK;
}

static troupe_status take_stop(
	struct transport *transport, struct peer *peer, const char *bytes, size_t count, struct troupe_error *error)
{
	struct stop stop;
	troupe_status status = stop_decode(bytes, count, &stop, error);
	if (status)
		return status;
	if (!is_primary(transport) && stop.kind == STOP_DONE) {
		atomic_store(&transport->done, true);
		ring(transport->wake);
		return TROUPE_OK;
	}
	bool whole = *stop.who && stop.kind != STOP_LEFT; /* about somebody else: the primary has said it all */
	if (is_primary(transport))
		lose(transport, TROUPE_EPEER, channel_peer(peer->channel), stop.why);
	else
		lose_at(transport, TROUPE_EPEER, whole ? NULL : channel_peer(peer->channel), stop.why,
			whole ? UINT64_MAX : stop.next_step);
	return TROUPE_OK;
}

static troupe_status take_frame(struct transport *transport, struct peer *peer, enum frame_type type, const char *bytes,
	size_t count, struct troupe_error *error)
{
	struct heartbeat heartbeat;
	if (type == FRAME_ACK && is_primary(transport))
		return take_ack(transport, peer, bytes, count, error);
	if (type == FRAME_STEP && !is_primary(transport))
		return take_step(transport, bytes, count, error);
	if (type == FRAME_STOP)
		return take_stop(transport, peer, bytes, count, error);
	if (type == FRAME_HEARTBEAT)
		return heartbeat_decode(bytes, count, &heartbeat, error);
	return fail(error, TROUPE_EPROTOCOL, "a frame '%s' that does not belong here", frame_name(type));
}

/* True: something came. */
static bool work(struct transport *transport, struct peer *peer)
{
	struct troupe_error error = {0};
	enum frame_type type;
	const char *bytes;
	size_t count;
	bool some = false;
	troupe_status status = TROUPE_OK, broken = channel_work(peer->channel, clock_now_ns(), &error);
	struct troupe_error end = error;
	uint64_t received = channel_bytes_received(peer->channel);
	if (received != peer->received) {
		peer->received = received;
		peer->heard_ns = clock_now_ns();
	}
	while (!status && channel_receive(peer->channel, &type, &bytes, &count, &status, &error)) {
		some = true;
		status = take_frame(transport, peer, type, bytes, count, &error);
	}
	if (status)
		lose(transport, status, channel_peer(peer->channel), error.text);
	else if (broken) /* what came before it ended counts */
		lose(transport, broken, NULL, end.text);
	return some;
}

static bool work_all(struct transport *transport)
{
	bool some = false;
	for (uint32_t i = 0; i < transport->peer_count; i++)
		some |= work(transport, &transport->peers[i]);
	return some;
}

/* --- waiting for messages ----------------------------------------------------------------------------------------- */

struct waiting {
	uint64_t since_ns; /* 0: something has just come */
	uint32_t looks;
};

/* Until something may have come. */
static void sleep_until_ready(struct transport *transport)
{
	struct pollfd *fds = transport->fds;
	hold(transport);
	for (uint32_t i = 0; i < transport->peer_count; i++)
		fds[i] = (struct pollfd){.fd = channel_fd(transport->peers[i].channel),
			.events = channel_poll_events(transport->peers[i].channel)};
	let_go(transport);
	if (atomic_load(&transport->lost) || atomic_load(&transport->done)) /* a file at its end is always ready */
		for (uint32_t i = 0; i < transport->peer_count; i++)
			fds[i].fd = -1;
	fds[transport->peer_count] = (struct pollfd){.fd = transport->wake, .events = POLLIN};
	if (poll(fds, transport->peer_count + 1, -1) > 0 && fds[transport->peer_count].revents)
		silence(transport->wake);
}

static void rest(struct transport *transport, struct waiting *waiting)
{
	if (!waiting->since_ns)
		waiting->since_ns = clock_now_ns();
	bool spin =
		transport->spins && (++waiting->looks % LOOKS_A_CLOCK || clock_now_ns() - waiting->since_ns < POLL_NS);
	if (spin)
		return;
	sleep_until_ready(transport);
	*waiting = (struct waiting){0, 0};
}

/* --- the primary's end -------------------------------------------------------------------------------------------- */

static void *run_io(void *arg)
{
	struct transport *transport = arg;
	struct waiting waiting = {0, 0};
	while (!atomic_load(&transport->closed)) {
		hold(transport);
		bool some = !atomic_load(&transport->lost) && work_all(transport);
		bool lost = atomic_load(&transport->lost);
		bool over = transport->out && (lost || !transport->outstanding);
		if (over)
			transport->out = false;
		let_go(transport);
		if (lost)
			alarm_once(transport);
		if (over && lost && transport->options.gave_up)
			transport->options.gave_up(transport->options.ctx);
		else if (over && !lost)
			transport->options.all_acked(transport->options.ctx);
		if (some || over)
			waiting = (struct waiting){0, 0};
		else
			rest(transport, &waiting);
	}
	return NULL;
}

static bool send_step(struct transport *transport, uint32_t secondary, const void *payload)
{
	const struct transport_codec *codec = transport->options.codec;
	struct peer *peer = &transport->peers[secondary];
	struct troupe_error error;
	codec->encode_step(codec->ctx, secondary, payload, channel_begin(peer->channel));
	troupe_status status = channel_end(peer->channel, FRAME_STEP, &error);
	peer->owes = !status;
	if (status)
		lose(transport, status, status == TROUPE_ELIMIT ? channel_peer(peer->channel) : NULL, error.text);
	return !status;
}

/* The encoder sees it even when it is for nothing, because somebody is lost: see transport_codec. */
static void drop_step(struct transport *transport, uint32_t secondary, const void *payload)
{
	const struct transport_codec *codec = transport->options.codec;
	transport->step.count = 0;
	codec->encode_step(codec->ctx, secondary, payload, &transport->step);
}

static troupe_status publish(struct transport *transport, struct transport_message step)
{
	const struct transport_codec *codec = transport->options.codec;
	if (transport->out || step.number != transport->next)
		return TROUPE_EPROTOCOL;
	transport->outstanding = transport->peer_count;
	transport->loads = codec->loads && codec->loads(codec->ctx, step.payload);
	transport->sent_ns = clock_now_ns();
	bool sent = !atomic_load(&transport->lost);
	for (uint32_t i = 0; i < transport->peer_count; i++)
		if (sent)
			sent = send_step(transport, i, step.payload);
		else
			drop_step(transport, i, step.payload);
	if (!sent)
		return atomic_load(&transport->lost) ? transport->why.status : TROUPE_EPEER;
	transport->next++;
	transport->out = true;
	return TROUPE_OK;
}

static troupe_status tcp_publish(struct transport *transport, struct transport_message step)
{
	if (!is_primary(transport) || atomic_load(&transport->closed))
		return TROUPE_EPROTOCOL;
	hold(transport);
	troupe_status status = publish(transport, step);
	let_go(transport);
	if (!pthread_equal(pthread_self(), transport->io))
		ring(transport->wake);
	return status;
}

static struct transport_message tcp_ack_of(struct transport *transport, uint32_t secondary)
{
	return transport->peers[secondary].ack;
}

/* --- a secondary's end -------------------------------------------------------------------------------------------- */

static troupe_status decode(struct transport *transport, struct transport_message *ret_step)
{
	const struct transport_codec *codec = transport->options.codec;
	struct troupe_error error;
	struct transport_message step;
	troupe_status status = codec->decode_step(
		codec->ctx, transport->link->secondary - 1, transport->step.at, transport->step.count, &step, &error);
	if (!status && step.number != transport->next)
		status = fail(&error, TROUPE_EPROTOCOL, "step %" PRIu64 ": expected step %" PRIu64, step.number,
			transport->next);
	hold(transport);
	if (status)
		lose(transport, status, channel_peer(transport->peers[0].channel), error.text);
	transport->step_waits = false;
	transport->owes_ack = !status;
	transport->taken = transport->next++;
	let_go(transport);
	if (!status)
		*ret_step = step;
	return status ? TROUPE_EPEER : TROUPE_OK;
}

static troupe_status tcp_wait(struct transport *transport, uint32_t secondary, struct transport_message *ret_step)
{
	struct waiting waiting = {0, 0};
	if (secondary + 1 != transport->link->secondary)
		return TROUPE_EPROTOCOL;
	for (;;) {
		hold(transport);
		bool some = !transport->step_waits && !atomic_load(&transport->lost) && work_all(transport);
		bool waits = transport->step_waits;
		let_go(transport);
		if (waits)
			return decode(transport, ret_step);
		alarm_once(transport);
		if (atomic_load(&transport->closed) || atomic_load(&transport->done) || atomic_load(&transport->lost))
			return TROUPE_EPEER;
		if (some)
			waiting = (struct waiting){0, 0};
		else
			rest(transport, &waiting);
	}
}

static troupe_status send_ack(struct transport *transport, struct transport_message ack)
{
	const struct transport_codec *codec = transport->options.codec;
	struct channel *channel = transport->peers[0].channel;
	struct troupe_error error;
	if (!transport->owes_ack || ack.number != transport->taken)
		return TROUPE_EPROTOCOL;
	transport->owes_ack = false;
	if (atomic_load(&transport->lost))
		return TROUPE_EPEER;
	codec->encode_ack(codec->ctx, transport->link->secondary - 1, ack.payload, channel_begin(channel));
	troupe_status status = channel_end(channel, FRAME_ACK, &error);
	if (status)
		lose(transport, status, NULL, error.text);
	return status ? TROUPE_EPEER : TROUPE_OK;
}

static troupe_status tcp_ack(struct transport *transport, uint32_t secondary, struct transport_message ack)
{
	if (secondary + 1 != transport->link->secondary)
		return TROUPE_EPROTOCOL;
	hold(transport);
	troupe_status status = send_ack(transport, ack);
	let_go(transport);
	return status;
}

/* --- the keeper --------------------------------------------------------------------------------------------------- */

static uint64_t stale_ns(const struct transport *transport)
{
	return transport->link->stale_ms * UINT64_C(1000000);
}

static void beat(struct transport *transport, struct peer *peer, uint64_t now)
{
	struct heartbeat heartbeat = {.step = transport->next};
	struct text bytes = {0};
	heartbeat_encode(&heartbeat, &bytes);
	(void)channel_send(peer->channel, FRAME_HEARTBEAT, bytes.at, bytes.count, NULL);
	text_fini(&bytes);
	peer->said_ns = now;
}

static void judge(struct transport *transport, struct peer *peer, uint64_t now)
{
	char why[128];
	uint64_t silent = now - peer->heard_ns, worked = now - transport->sent_ns;
	uint64_t deadline =
		transport->loads ? LOAD_NS : MAX(stale_ns(transport), DEADLINE_FACTOR * transport->longest_ns);
	if (silent > stale_ns(transport)) {
		snprintf(why, sizeof why, "nothing was heard of it for %" PRIu64 " ms", silent / 1000000);
		lose(transport, TROUPE_EPEER, channel_peer(peer->channel), why);
	} else if (transport->out && peer->owes && worked > deadline) {
		snprintf(why, sizeof why, "it has not acknowledged step %" PRIu64 " for %" PRIu64 " ms",
			transport->next - 1, worked / 1000000);
		lose(transport, TROUPE_EPEER, channel_peer(peer->channel), why);
	}
}

static void look_after(struct transport *transport)
{
	uint64_t now = clock_now_ns();
	bool awake = now - transport->seen_ns < stale_ns(transport); /* this process itself was */
	(void)work_all(transport);
	for (uint32_t i = 0; i < transport->peer_count && !transport->told; i++)
		beat(transport, &transport->peers[i], now);
	now = clock_now_ns();
	for (uint32_t i = 0; i < transport->peer_count && awake; i++)
		judge(transport, &transport->peers[i], now);
	transport->seen_ns = now;
}

static void *run_keeper(void *arg)
{
	struct transport *transport = arg;
	struct pollfd quit = {.fd = transport->quit, .events = POLLIN};
	int tick_ms = (int)MAX(transport->link->stale_ms / BEATS, 5u);
	while (poll(&quit, 1, tick_ms) <= 0) {
		hold(transport);
		if (!atomic_load(&transport->lost) && !atomic_load(&transport->done))
			look_after(transport);
		let_go(transport);
		ring(transport->wake); /* it may have read what somebody waits for */
		alarm_once(transport);
	}
	return NULL;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static troupe_status start(struct transport *transport, struct troupe_error *error)
{
	int failed = is_primary(transport) ? pthread_create(&transport->io, NULL, run_io, transport) : 0;
	transport->has_io = is_primary(transport) && !failed;
	if (!failed) {
		failed = pthread_create(&transport->keeper, NULL, run_keeper, transport);
		transport->has_keeper = !failed;
	}
	return failed ? fail(error, TROUPE_ELIMIT, "cannot start a thread: %s", strerror(failed)) : TROUPE_OK;
}

static void tcp_close(struct transport *transport)
{
	if (atomic_exchange(&transport->closed, true))
		return;
	ring(transport->wake);
	ring(transport->quit);
}

/* What was said last shall still arrive: closed with something unread, a connection is broken off, and it might not. So
 * each goes on reading until the other has closed, too, or does not. */
static void finish(struct transport *transport)
{
	uint64_t until = clock_now_ns() + FLUSH_MS * UINT64_C(1000000);
	struct pollfd *fds = transport->fds;
	uint32_t left = 0;
	for (uint32_t i = 0; i < transport->peer_count; i++)
		channel_finish(transport->peers[i].channel);
	do {
		left = 0;
		for (uint32_t i = 0; i < transport->peer_count; i++) {
			struct channel *channel = transport->peers[i].channel;
			if (!channel_work(channel, clock_now_ns(), NULL))
				fds[left++] = (struct pollfd){
					.fd = channel_fd(channel), .events = channel_poll_events(channel)};
		}
	} while (left && clock_now_ns() < until && poll(fds, left, 10) >= 0);
}

static void tcp_destroy(struct transport *transport)
{
	if (!transport)
		return;
	tcp_close(transport);
	if (transport->has_io)
		pthread_join(transport->io, NULL);
	if (transport->has_keeper)
		pthread_join(transport->keeper, NULL);
	finish(transport);
	for (uint32_t i = 0; i < transport->peer_count; i++)
		channel_destroy(transport->peers[i].channel);
	if (transport->wake >= 0)
		(void)close(transport->wake);
	if (transport->quit >= 0)
		(void)close(transport->quit);
	transport->link->transport = NULL;
	text_fini(&transport->step);
	free(transport->fds);
	free(transport->peers);
	free(transport);
}

static troupe_status check_options(const struct transport_options *options, struct troupe_error *error)
{
	const struct tcp_link *link = options->link;
	if (!options->secondaries || options->secondaries > TRANSPORT_SECONDARIES_MAX)
		return fail(error, TROUPE_EINVAL, "%u secondaries: expected 1 to %d", options->secondaries,
			TRANSPORT_SECONDARIES_MAX);
	if (!link || !options->codec || link->secondary > options->secondaries || !link->stale_ms)
		return fail(error, TROUPE_EINVAL, "transport 'tcp' without a link, a codec or a stale time");
	return TROUPE_OK;
}

static troupe_status tcp_create(
	const struct transport_options *options, struct transport **ret_transport, struct troupe_error *error)
{
	troupe_status status = check_options(options, error);
	if (status)
		return status;
	struct tcp_link *link = options->link;
	struct transport *transport = mem_alloc(sizeof *transport);
	uint64_t now = clock_now_ns();
	*transport = (struct transport){.options = *options, .link = link, .next = link->first_step, .seen_ns = now};
	transport->peer_count = link->secondary ? 1 : options->secondaries;
	transport->peers = mem_alloc(transport->peer_count * sizeof *transport->peers);
	transport->fds = mem_alloc((transport->peer_count + 1) * sizeof *transport->fds);
	for (uint32_t i = 0; i < transport->peer_count; i++) {
		transport->peers[i] = (struct peer){.channel = link->channels[i], .heard_ns = now, .said_ns = now};
		channel_limit(transport->peers[i].channel, FRAME_PAYLOAD_MAX);
	}
	transport->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	transport->quit = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	transport->spins = gate_spins(MAX(link->pollers, 1u)) > 0;
	link->transport = transport;
	status = transport->wake < 0 || transport->quit < 0
			 ? fail(error, TROUPE_ELIMIT, "cannot open an event file: %s", strerror(errno))
			 : start(transport, error);
	if (status) {
		tcp_destroy(transport);
		return status;
	}
	*ret_transport = transport;
	return TROUPE_OK;
}

static const struct troupe_error *tcp_lost(struct transport *transport)
{
	return atomic_load(&transport->lost) ? &transport->why : NULL;
}

void tcp_stop(struct tcp_link *link, enum stop_kind kind, const char *why)
{
	struct transport *transport = link->transport;
	if (!transport)
		return;
	hold(transport);
	if (!transport->told && !atomic_load(&transport->lost))
		send_stop(transport, kind, "", why);
	let_go(transport);
}

bool tcp_is_done(const struct tcp_link *link)
{
	return link->transport && atomic_load(&link->transport->done);
}

struct tcp_counts tcp_counts(struct tcp_link *link)
{
	struct transport *transport = link->transport;
	struct tcp_counts counts = {0, 0};
	if (!transport)
		return counts;
	hold(transport);
	for (uint32_t i = 0; i < transport->peer_count; i++) {
		counts.sent += channel_bytes_sent(transport->peers[i].channel);
		counts.received += channel_bytes_received(transport->peers[i].channel);
	}
	let_go(transport);
	return counts;
}

const struct transport_ops transport_tcp = {
	.name = "tcp",
	.create = tcp_create,
	.publish = tcp_publish,
	.wait = tcp_wait,
	.ack = tcp_ack,
	.ack_of = tcp_ack_of,
	.lost = tcp_lost,
	.close = tcp_close,
	.destroy = tcp_destroy,
};
