/* What is left to do here is I/O: who is lost, and who is told what, peers decides, and act() does.
 *
 * A channel belongs to one thread at a time. Who works it holds it by a flag, for as long as a system call or a
 * decoder takes, and never while a step is simulated or decided: so whoever finds it held spins. The thread that steps
 * finds it held only when the keeper is at work, a few times a second; an uncontended exchange is all that it costs.
 *
 * What decides that somebody is lost is looked at by the keeper after it has read what there is: a process that was
 * itself asleep takes nobody for silent who has written meanwhile. Nor who has not: all may have been asleep together,
 * so it says that it lives, and counts anew. */
#include "net/tcp.h"

#include "base/clock.h"
#include "base/gate.h"
#include "net/peers.h"

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
#define LOOKS 4 /* of the keeper in the stale time */
#define FLUSH_MS 200

enum { DEADLINE_FACTOR = 20, LOOKS_A_CLOCK = 16 };

struct line { /* by id in peers */
	struct channel *channel;
	uint64_t received;            /* bytes: part of a large frame says that it lives, too */
	struct transport_message ack; /* at the primary: that came */
};

struct transport {
	struct transport_options options;
	struct tcp_link *link;
	_Atomic bool held; /* channels and all below: by the thread that set it */
	struct peers *peers;
	struct line *lines;
	uint32_t line_count;
	bool out;            /* primary: a step is, or has been acknowledged and not been taken up */
	uint64_t next;       /* number of the step to come */
	uint64_t sent_ns;    /* when the step went out */
	uint64_t longest_ns; /* that a step took so far */
	bool loads;          /* the step that is out */
	bool told;           /* this side ended it: what happens now is no loss */
	bool alarmed;
	struct troupe_error why; /* when lost */
	_Atomic bool lost, done, closed;
	uint64_t seen_ns; /* when the keeper looked last */
	/* a secondary's */
	struct text step; /* that came; at the primary: that goes nowhere */
	bool step_waits, owes_ack;
	uint64_t taken; /* number of the step that it works on */
	int wake, quit; /* event files: for who waits for messages; for the keeper */
	bool spins;
	pthread_t io, keeper;
	bool has_io, has_keeper;
	struct pollfd *fds; /* [line_count + 1] */
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

/* --- what peers asks for ------------------------------------------------------------------------------------------ */

static void end(struct transport *transport)
{
	if (transport->told)
		return;
	bool lost = peers_end_status(transport->peers, &transport->why) != TROUPE_OK;
	atomic_store(lost ? &transport->lost : &transport->done, true);
	ring(transport->wake);
}

/* Connections that peers wants closed are when the transport is destroyed: what still comes from them is not heard. */
static void act(struct transport *transport)
{
	struct peers_action action;
	while (peers_next(transport->peers, &action))
		if (action.kind == PEERS_SEND)
			(void)channel_send(
				transport->lines[action.id].channel, action.type, action.bytes, action.count, NULL);
		else if (action.kind == PEERS_ENDED)
			end(transport);
}

static bool is_over(const struct transport *transport)
{
	return peers_phase(transport->peers) == PEERS_OVER;
}

/* Without holding anything. */
static void alarm_once(struct transport *transport)
{
	if (!atomic_load(&transport->lost))
		return;
	hold(transport);
	bool first = !transport->alarmed;
	transport->alarmed = true;
	let_go(transport);
	if (first && transport->options.alarm)
		transport->options.alarm(transport->options.ctx);
}

/* --- frames ------------------------------------------------------------------------------------------------------- */

/* One that nobody waits for is not looked at: the primary may be at work on what came before. */
static void take_ack(struct transport *transport, uint32_t id, const char *bytes, size_t count, uint64_t now)
{
	const struct transport_codec *codec = transport->options.codec;
	struct transport_message ack = {0};
	struct troupe_error error;
	if (peers_owes(transport->peers, id) && codec->decode_ack(codec->ctx, id, bytes, count, &ack, &error)) {
		peers_break(transport->peers, id, error.text, now);
		return;
	}
	if (!peers_ack(transport->peers, id, ack.number, now))
		return;
	transport->lines[id].ack = ack;
	if (!transport->loads)
		transport->longest_ns = MAX(transport->longest_ns, now - transport->sent_ns);
}

/* Kept, since it is decoded while the keeper may work the channel; then it will be seen which number it has. */
static void take_step(struct transport *transport, uint32_t id, const char *bytes, size_t count, uint64_t now)
{
	if (!peers_step(transport->peers, id, transport->next, now))
		return;
	transport->step.count = 0;
	text_add_bytes(&transport->step, bytes, count);
	transport->step_waits = true;
}

static void take_frame(
	struct transport *transport, uint32_t id, enum frame_type type, const char *bytes, size_t count, uint64_t now)
{
	if (type == FRAME_ACK && is_primary(transport))
		take_ack(transport, id, bytes, count, now);
	else if (type == FRAME_STEP && !is_primary(transport))
		take_step(transport, id, bytes, count, now);
	else
		peers_receive(transport->peers, id, type, bytes, count, now);
}

/* True: something came. */
static bool work(struct transport *transport, uint32_t id)
{
	struct line *line = &transport->lines[id];
	struct troupe_error error, why;
	enum frame_type type;
	const char *bytes;
	size_t count;
	bool some = false;
	uint64_t now = clock_now_ns();
	troupe_status bad = TROUPE_OK, broken = channel_work(line->channel, now, &why);
	uint64_t received = channel_bytes_received(line->channel);
	if (received != line->received)
		peers_alive(transport->peers, id, now);
	line->received = received;
	while (!is_over(transport) && channel_receive(line->channel, &type, &bytes, &count, &bad, &error)) {
		some = true;
		take_frame(transport, id, type, bytes, count, now);
	}
	if (bad)
		peers_break(transport->peers, id, error.text, now);
	else if (broken) /* what came before it ended counts */
		peers_drop(transport->peers, id, why.text, now);
	act(transport);
	return some;
}

static bool work_all(struct transport *transport)
{
	bool some = false;
	for (uint32_t i = 0; i < transport->line_count; i++)
		some |= work(transport, i);
	return some;
}

/* A frame that has to arrive could not be sent: why that is, it may have said itself before. */
static void fail_to_send(struct transport *transport, uint32_t id, const struct troupe_error *error)
{
	if (error->status == TROUPE_ELIMIT)
		peers_abandon(transport->peers, id, error->text, clock_now_ns());
	else
		(void)work(transport, id);
}

/* --- waiting for messages ----------------------------------------------------------------------------------------- */

struct waiting {
	uint64_t since_ns; /* 0: something has just come */
	uint32_t looks;
};

/* What to wait for; nothing: -1 for a file. Once it is over only until what was said last has gone out: a file at its
 * end is always ready to be read. */
static struct pollfd awaited(const struct transport *transport, const struct line *line)
{
	short events = channel_poll_events(line->channel);
	if (is_over(transport))
		events &= POLLOUT;
	return (struct pollfd){.fd = events ? channel_fd(line->channel) : -1, .events = events};
}

/* Until something may have come. */
static void sleep_until_ready(struct transport *transport)
{
	struct pollfd *fds = transport->fds;
	hold(transport);
	for (uint32_t i = 0; i < transport->line_count; i++)
		fds[i] = awaited(transport, &transport->lines[i]);
	let_go(transport);
	fds[transport->line_count] = (struct pollfd){.fd = transport->wake, .events = POLLIN};
	if (poll(fds, transport->line_count + 1, -1) > 0 && fds[transport->line_count].revents)
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

enum turn { TURN_NONE, TURN_ACKED, TURN_GAVE_UP };

/* What has become of the step that is out. One that all have acknowledged counts, also when somebody is lost at once:
 * the others are told that it does. */
static enum turn take_turn(struct transport *transport)
{
	bool acked = transport->out && !peers_waits(transport->peers);
	bool over = acked || (transport->out && atomic_load(&transport->lost));
	if (over)
		transport->out = false;
	return acked ? TURN_ACKED : over ? TURN_GAVE_UP : TURN_NONE;
}

static void *run_io(void *arg)
{
	struct transport *transport = arg;
	struct waiting waiting = {0, 0};
	while (!atomic_load(&transport->closed)) {
		hold(transport);
		bool some = work_all(transport);
		enum turn turn = take_turn(transport);
		let_go(transport);
		alarm_once(transport);
		if (turn == TURN_ACKED)
			transport->options.all_acked(transport->options.ctx);
		else if (turn == TURN_GAVE_UP && transport->options.gave_up)
			transport->options.gave_up(transport->options.ctx);
		if (some || turn)
			waiting = (struct waiting){0, 0};
		else
			rest(transport, &waiting);
	}
	return NULL;
}

static bool send_step(struct transport *transport, uint32_t secondary, const void *payload)
{
	const struct transport_codec *codec = transport->options.codec;
	struct channel *channel = transport->lines[secondary].channel;
	struct troupe_error error;
	codec->encode_step(codec->ctx, secondary, payload, channel_begin(channel));
	troupe_status status = channel_end(channel, FRAME_STEP, &error);
	if (status)
		fail_to_send(transport, secondary, &error);
	return !status;
}

/* The encoder sees it even when it is for nothing, because somebody is lost: see transport_codec. */
static void drop_step(struct transport *transport, uint32_t secondary, const void *payload)
{
	const struct transport_codec *codec = transport->options.codec;
	transport->step.count = 0;
	codec->encode_step(codec->ctx, secondary, payload, &transport->step);
}

static uint64_t deadline_ns(const struct transport *transport)
{
	uint64_t stale_ns = transport->link->stale_ms * UINT64_C(1000000);
	return transport->loads ? LOAD_NS : MAX(stale_ns, DEADLINE_FACTOR * transport->longest_ns);
}

static troupe_status publish(struct transport *transport, struct transport_message step)
{
	const struct transport_codec *codec = transport->options.codec;
	if (transport->out || step.number != transport->next)
		return TROUPE_EPROTOCOL;
	transport->loads = codec->loads && codec->loads(codec->ctx, step.payload);
	transport->sent_ns = clock_now_ns();
	peers_allow(transport->peers, deadline_ns(transport));
	bool sent = peers_publish(transport->peers, step.number, transport->sent_ns);
	for (uint32_t i = 0; i < transport->line_count; i++)
		if (sent)
			sent = send_step(transport, i, step.payload);
		else
			drop_step(transport, i, step.payload);
	act(transport);
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
	return transport->lines[secondary].ack;
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
		peers_break(transport->peers, 0, error.text, clock_now_ns());
	act(transport);
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
	struct channel *channel = transport->lines[0].channel;
	struct troupe_error error;
	if (!transport->owes_ack || ack.number != transport->taken)
		return TROUPE_EPROTOCOL;
	transport->owes_ack = false;
	if (!peers_acknowledge(transport->peers))
		return TROUPE_EPEER;
	codec->encode_ack(codec->ctx, transport->link->secondary - 1, ack.payload, channel_begin(channel));
	troupe_status status = channel_end(channel, FRAME_ACK, &error);
	if (status)
		fail_to_send(transport, 0, &error);
	act(transport);
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

static void look_after(struct transport *transport)
{
	(void)work_all(transport);
	uint64_t stale_ns = transport->link->stale_ms * UINT64_C(1000000), now = clock_now_ns();
	if (now - transport->seen_ns >= stale_ns)
		peers_woke(transport->peers, now);
	peers_tick(transport->peers, now);
	act(transport);
	transport->seen_ns = now;
}

static void *run_keeper(void *arg)
{
	struct transport *transport = arg;
	struct pollfd quit = {.fd = transport->quit, .events = POLLIN};
	int tick_ms = (int)MAX(transport->link->stale_ms / LOOKS, 5u);
	while (poll(&quit, 1, tick_ms) <= 0) {
		hold(transport);
		if (!is_over(transport))
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
	mem_check_thread(failed);
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
	for (uint32_t i = 0; i < transport->line_count; i++)
		channel_finish(transport->lines[i].channel);
	do {
		left = 0;
		for (uint32_t i = 0; i < transport->line_count; i++) {
			struct channel *channel = transport->lines[i].channel;
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
	for (uint32_t i = 0; i < transport->line_count; i++)
		channel_destroy(transport->lines[i].channel);
	if (transport->wake >= 0)
		(void)close(transport->wake);
	if (transport->quit >= 0)
		(void)close(transport->quit);
	transport->link->transport = NULL;
	text_fini(&transport->step);
	peers_destroy(transport->peers);
	free(transport->fds);
	free(transport->lines);
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

/* What is said of a connection has the name of who is at its other end already. */
static void set_up_lines(struct transport *transport, uint64_t now)
{
	const struct tcp_link *link = transport->link;
	uint32_t secondaries = transport->options.secondaries;
	struct peers_options options = {.secondaries = secondaries,
		.first_step = link->first_step,
		.stale_ns = link->stale_ms * UINT64_C(1000000),
		.self = {.role = link->secondary ? HELLO_SECONDARY : HELLO_PRIMARY}};
	(void)snprintf(options.self.name, sizeof options.self.name, "%s", link->name ? link->name : "");
	transport->line_count = link->secondary ? 1 : secondaries;
	transport->lines = mem_alloc(transport->line_count * sizeof *transport->lines);
	const char **names = mem_alloc(transport->line_count * sizeof *names);
	for (uint32_t i = 0; i < transport->line_count; i++)
		names[i] = channel_peer(link->channels[i]);
	transport->peers = peers_create(&options, now);
	peers_begin(transport->peers, names, link->secondary, secondaries, now);
	free(names);
	for (uint32_t i = 0; i < transport->line_count; i++) {
		transport->lines[i] = (struct line){.channel = link->channels[i]};
		channel_set_peer(link->channels[i], "");
		channel_limit(link->channels[i], FRAME_PAYLOAD_MAX);
		link->channels[i] = NULL;
	}
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
	transport->told |= !is_over(transport);
	peers_stop(transport->peers, kind, why);
	act(transport);
	let_go(transport);
}

static troupe_status tcp_create(
	const struct transport_options *options, struct transport **ret_transport, struct troupe_error *error)
{
	troupe_status status = check_options(options, error);
	if (status)
		return status;
	struct tcp_link *link = options->link;
	struct troupe_error why;
	struct transport *transport = mem_alloc(sizeof *transport);
	uint64_t now = clock_now_ns();
	*transport = (struct transport){.options = *options, .link = link, .next = link->first_step, .seen_ns = now};
	set_up_lines(transport, now);
	transport->fds = mem_alloc((transport->line_count + 1) * sizeof *transport->fds);
	transport->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	transport->quit = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	transport->spins = gate_spins(MAX(link->pollers, 1u)) > 0;
	link->transport = transport;
	status = transport->wake < 0 || transport->quit < 0
			 ? fail(&why, TROUPE_ELIMIT, "cannot open an event file: %s", strerror(errno))
			 : start(transport, &why);
	if (status) {
		tcp_stop(link, STOP_FAILED, why.text);
		tcp_destroy(transport);
		return fail(error, status, "%s", why.text);
	}
	*ret_transport = transport;
	return TROUPE_OK;
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
	for (uint32_t i = 0; i < transport->line_count; i++) {
		counts.sent += channel_bytes_sent(transport->lines[i].channel);
		counts.received += channel_bytes_received(transport->lines[i].channel);
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
