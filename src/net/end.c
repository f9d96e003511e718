/* This file passes frames between the carrier and peers: peers decides which peer is lost and which peers are told, and
 * end_act() carries that out.
 *
 * The carrier belongs to one thread at a time. A thread holds it by a flag, for the time of a system call or of a
 * decoder, but never while a step is simulated or decided; so a thread that finds the flag set spins. The stepping
 * thread finds the flag set only while the monitor works, a few times a second; otherwise it pays only for an
 * uncontended exchange.
 *
 * The monitor reads all input before it decides that a peer is lost: so after this process was suspended, a peer that
 * has written meanwhile does not count as silent. Nor does a peer that has not written: all processes may have been
 * suspended together, so the monitor sends heartbeats and measures silence from now on. */
#include "net/end.h"

#include "base/clock.h"
#include "base/eventcount.h"
#include "net/peers.h"

#include <assert.h>
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

#define POLL_NS 60000u /* the cost of a sleep and a wake */
#define LOAD_NS (600 * UINT64_C(1000000000))
#define WARNED_NS UINT64_C(600000000) /* three heartbeats */
#define END_CHECKS 4                  /* checks by the monitor per stale time */
#define END_FLUSH_MS 200
#define NAP_NS 200000
#define BUSY_NS UINT64_C(50000000)

enum { DEADLINE_FACTOR = 20, POLLS_A_CLOCK = 16 };

struct end_line {                     /* index: id in peers, and line of the carrier */
	uint64_t received;            /* in bytes: part of a large frame shows that the peer lives */
	struct transport_message ack; /* primary: the ack that came */
	char *wants;                  /* primary: path of the file that it asks for; NULL: none */
};

struct transport {
	struct transport_options options;
	const struct transport_link *link;
	const struct carrier_ops *ops;
	struct carrier *carrier;
	struct transport_link *given; /* the caller's, if it is to get the carrier back */
	_Atomic bool held;            /* guards the carrier and all below; set by the thread that holds them */
	struct peers *peers;
	struct end_line *lines;
	uint32_t line_count;
	uint32_t wanting;    /* primary: lines that want a file */
	bool out;            /* primary: a step was published, and its outcome not taken up */
	uint64_t next;       /* number of the step to come, if the last one is not repeated */
	uint64_t taken;      /* number of the step that is out, or was last; UINT64_MAX: none was */
	uint64_t sent_ns;    /* time of publishing the step */
	uint32_t more;       /* primary: further steps of the window that was published last */
	uint64_t longest_ns; /* longest time of a step so far; in a window, of each on average */
	bool loads;          /* the published step may load something */
	bool ended;          /* this side ended the run: later events are no loss */
	bool alarmed;
	bool asked;              /* a secondary asks to leave, and the owner was not told yet */
	struct troupe_error why; /* the reason, when lost */
	_Atomic bool lost, done, closed;
	uint64_t seen_ns; /* time of the monitor's last check */
	/* fields of a secondary's end */
	struct text step; /* the step that came */
	bool step_waits, owes_ack;
	pthread_mutex_t fetching;  /* held by the thread that asks for a file */
	struct text file;          /* what came: the bytes, or why there are none */
	enum frame_type file_came; /* FRAME_FILE_WANT: it is awaited; 0: none is */
	int quit;                  /* event file: ends the monitor */
	bool spins;
	pthread_t io, monitor;
	bool has_io, has_monitor;
};

static void end_hold(struct transport *transport)
{
	while (atomic_exchange_explicit(&transport->held, true, memory_order_acquire))
		sched_yield();
}

static void end_let_go(struct transport *transport)
{
	atomic_store_explicit(&transport->held, false, memory_order_release); /* pairs with end_hold() */
}

static void end_wake(struct transport *transport)
{
	transport->ops->wake(transport->carrier);
}

static bool end_is_primary(const struct transport *transport)
{
	return !transport->link->secondary;
}

/* --- what peers asks for ------------------------------------------------------------------------------------------ */

static void end(struct transport *transport)
{
	if (transport->ended)
		return;
	bool lost = peers_end_status(transport->peers, &transport->why) != TROUPE_OK;
	atomic_store(lost ? &transport->lost : &transport->done, true);
	end_wake(transport);
}

/* PEERS_CLOSE is not acted on here: the transport closes all connections when it is destroyed, and until then ignores
 * what they receive. */
static void end_act(struct transport *transport)
{
	struct peers_action action;
	while (peers_next(transport->peers, &action))
		if (action.kind == PEERS_SEND)
			(void)carrier_send(transport->ops, transport->carrier, action.id, action.type, action.bytes,
				action.count, NULL);
		else if (action.kind == PEERS_ENDED)
			end(transport);
		else if (action.kind == PEERS_LEAVES)
			transport->asked = true;
}

static bool end_is_over(const struct transport *transport)
{
	return peers_phase(transport->peers) == PEERS_OVER;
}

/* The caller must not hold the carrier. */
static void end_alarm_once(struct transport *transport)
{
	if (!atomic_load(&transport->lost))
		return;
	end_hold(transport);
	bool first = !transport->alarmed;
	transport->alarmed = true;
	end_let_go(transport);
	if (first && transport->options.alarm)
		transport->options.alarm(transport->options.ctx);
}

/* The caller holds the carrier. Whether the owner is to be told that a secondary asks to leave. */
static bool end_take_asked(struct transport *transport)
{
	bool asked = transport->asked && transport->options.asked;
	transport->asked = false;
	return asked;
}

/* A step that follows the last one, or a window again. */
static bool end_is_due(const struct transport *transport, uint64_t number)
{
	return number == transport->next || (number == transport->taken && transport->next > transport->taken + 1);
}

/* --- frames ------------------------------------------------------------------------------------------------------- */

/* An ack that is not awaited is not decoded: the primary may be at work on the last ack of that secondary. */
static void end_take_ack(struct transport *transport, uint32_t id, const char *bytes, size_t count, uint64_t now)
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
		transport->longest_ns =
			MAX(transport->longest_ns, (now - transport->sent_ns) / (transport->more + UINT64_C(1)));
}

/* Keeps a copy, because the step is decoded while the monitor may use the channel. Its number is checked then. */
static void end_take_step(struct transport *transport, uint32_t id, const char *bytes, size_t count, uint64_t now)
{
	if (!peers_step(transport->peers, id, transport->next, now))
		return;
	transport->step.count = 0;
	text_add_bytes(&transport->step, bytes, count);
	transport->step_waits = true;
}

/* The file is not read here, where other threads wait for the carrier: a disk may take longer than peers may be silent.
 */
static void end_take_want(struct transport *transport, uint32_t id, const char *bytes, size_t count, uint64_t now)
{
	if (!peers_heard(transport->peers, id, FRAME_FILE_WANT, now))
		return;
	if (transport->lines[id].wants) {
		peers_break(transport->peers, id, "asked for a file before the one before it had come", now);
		return;
	}
	transport->lines[id].wants = mem_printf("%.*s", (int)count, bytes);
	transport->wanting++;
}

static void end_take_file(
	struct transport *transport, uint32_t id, enum frame_type type, const char *bytes, size_t count, uint64_t now)
{
	if (!peers_heard(transport->peers, id, type, now))
		return;
	if (transport->file_came != FRAME_FILE_WANT) {
		peers_break(transport->peers, id, "sent a file that was not asked for", now);
		return;
	}
	transport->file.count = 0;
	text_add_bytes(&transport->file, bytes, count);
	transport->file_came = type;
}

static void end_take_frame(
	struct transport *transport, uint32_t id, enum frame_type type, const char *bytes, size_t count, uint64_t now)
{
	if (type == FRAME_ACK && end_is_primary(transport))
		end_take_ack(transport, id, bytes, count, now);
	else if (type == FRAME_STEP && !end_is_primary(transport))
		end_take_step(transport, id, bytes, count, now);
	else if (type == FRAME_FILE_WANT && end_is_primary(transport))
		end_take_want(transport, id, bytes, count, now);
	else if ((type == FRAME_FILE_DATA || type == FRAME_FILE_NONE) && !end_is_primary(transport))
		end_take_file(transport, id, type, bytes, count, now);
	else
		peers_receive(transport->peers, id, type, bytes, count, now);
}

/* True: a frame came. */
static bool end_work(struct transport *transport, uint32_t id)
{
	struct end_line *line = &transport->lines[id];
	struct troupe_error error, why;
	enum frame_type type;
	const char *bytes;
	size_t count;
	bool some = false;
	uint64_t now = clock_now_ns();
	troupe_status bad = TROUPE_OK, broken = transport->ops->work(transport->carrier, id, &why);
	uint64_t received = transport->ops->received(transport->carrier, id);
	if (received != line->received)
		peers_alive(transport->peers, id, now);
	line->received = received;
	while (!end_is_over(transport) &&
		transport->ops->receive(transport->carrier, id, &type, &bytes, &count, &bad, &error)) {
		some = true;
		end_take_frame(transport, id, type, bytes, count, now);
	}
	if (bad)
		peers_break(transport->peers, id, error.text, now);
	else if (broken) /* frames that came before the end count */
		peers_drop(transport->peers, id, why.text, now);
	end_act(transport);
	return some;
}

static bool end_work_all(struct transport *transport)
{
	bool some = false;
	for (uint32_t i = 0; i < transport->line_count; i++)
		some |= end_work(transport, i);
	return some;
}

/* A frame that must arrive could not be sent. The peer may have sent the reason before, so its input is read. */
static void end_fail_to_send(struct transport *transport, uint32_t id, const struct troupe_error *error)
{
	if (error->status == TROUPE_ELIMIT)
		peers_abandon(transport->peers, id, error->text, clock_now_ns());
	else
		(void)end_work(transport, id);
}

/* --- waiting for messages ----------------------------------------------------------------------------------------- */

struct end_waiting {
	uint64_t since_ns; /* 0: a frame has just come */
	uint32_t polls;
};

/* Once the run is over, waits only until the last bytes have been sent: an end of a line may always be readable. */
static bool end_sleep_until_ready(struct transport *transport, uint64_t idle_ns)
{
	end_hold(transport);
	transport->ops->prepare(transport->carrier, end_is_over(transport));
	end_let_go(transport);
	return transport->ops->wait(transport->carrier, idle_ns);
}

static void end_rest(struct transport *transport, struct end_waiting *waiting)
{
	if (!waiting->since_ns)
		waiting->since_ns = clock_now_ns();
	if (transport->spins && ++waiting->polls % POLLS_A_CLOCK)
		return;
	uint64_t idle_ns = clock_now_ns() - waiting->since_ns;
	if (transport->spins && idle_ns < POLL_NS)
		return;
	if (end_sleep_until_ready(transport, idle_ns))
		*waiting = (struct end_waiting){0, 0};
}

/* --- the primary's end -------------------------------------------------------------------------------------------- */

enum end_turn { TURN_NONE, TURN_ACKED, TURN_GAVE_UP };

/* The outcome of the published step. A step that all have acknowledged counts, even when a peer is lost right after:
 * the other peers are told that it counts. */
static enum end_turn end_take_turn(struct transport *transport)
{
	bool acked = transport->out && !peers_waits(transport->peers);
	bool over = acked || (transport->out && atomic_load(&transport->lost));
	if (over)
		transport->out = false;
	return acked ? TURN_ACKED : over ? TURN_GAVE_UP : TURN_NONE;
}

/* A peer that cannot take the file is given up; when its line is broken, the next look at it says so. */
static void end_send_file(
	struct transport *transport, uint32_t id, troupe_status given, const struct text *file, const char *why)
{
	struct troupe_error error;
	struct text *out = transport->ops->begin(transport->carrier, id);
	if (given)
		text_add(out, "%.500s", why);
	else
		text_add_bytes(out, file->at, file->count);
	if (transport->ops->end(transport->carrier, id, given ? FRAME_FILE_NONE : FRAME_FILE_DATA, &error) ==
		TROUPE_ELIMIT)
		peers_abandon(transport->peers, id, error.text, clock_now_ns());
	end_act(transport);
}

/* The caller does not hold the carrier. Whether a file was asked for. */
static bool end_give_file(struct transport *transport, uint32_t id)
{
	const struct transport_codec *codec = transport->options.codec;
	struct troupe_error error = {0};
	struct text file = {0};
	end_hold(transport);
	char *path = end_is_over(transport) ? NULL : transport->lines[id].wants;
	end_let_go(transport);
	if (!path)
		return false;
	troupe_status status = codec->give_file ? codec->give_file(codec->ctx, path, &file, &error)
						: fail(&error, TROUPE_EIO, "%s: no file is given", path);
	end_hold(transport);
	transport->lines[id].wants = NULL;
	transport->wanting--;
	if (!end_is_over(transport))
		end_send_file(transport, id, status, &file, error.text);
	end_let_go(transport);
	text_fini(&file);
	free(path);
	return true;
}

static void *end_run_io(void *arg)
{
	struct transport *transport = arg;
	struct end_waiting waiting = {0, 0};
	while (!atomic_load(&transport->closed)) {
		end_hold(transport);
		bool some = end_work_all(transport);
		enum end_turn turn = end_take_turn(transport);
		bool asked = end_take_asked(transport), wanted = transport->wanting;
		end_let_go(transport);
		end_alarm_once(transport);
		if (asked)
			transport->options.asked(transport->options.ctx);
		if (turn == TURN_ACKED)
			transport->options.all_acked(transport->options.ctx);
		else if (turn == TURN_GAVE_UP && transport->options.gave_up)
			transport->options.gave_up(transport->options.ctx);
		for (uint32_t i = 0; wanted && i < transport->line_count; i++)
			some |= end_give_file(transport, i);
		if (some || turn)
			waiting = (struct end_waiting){0, 0};
		else
			end_rest(transport, &waiting);
	}
	return NULL;
}

static bool end_send_step(struct transport *transport, uint32_t secondary, const void *payload)
{
	const struct transport_codec *codec = transport->options.codec;
	struct troupe_error error;
	codec->encode_step(codec->ctx, secondary, payload, transport->ops->begin(transport->carrier, secondary));
	troupe_status status = transport->ops->end(transport->carrier, secondary, FRAME_STEP, &error);
	if (status)
		end_fail_to_send(transport, secondary, &error);
	return !status;
}

static uint64_t end_deadline_ns(const struct transport *transport)
{
	uint64_t stale_ns = transport->link->stale_ms * UINT64_C(1000000);
	return transport->loads ? LOAD_NS
				: MAX(stale_ns, DEADLINE_FACTOR * transport->longest_ns * (transport->more + 1));
}

static troupe_status end_publish_step(struct transport *transport, struct transport_message step)
{
	const struct transport_codec *codec = transport->options.codec;
	if (transport->out || !end_is_due(transport, step.number))
		return TROUPE_EPROTOCOL;
	transport->more = step.more;
	transport->loads = codec->loads && codec->loads(codec->ctx, step.payload);
	transport->sent_ns = clock_now_ns();
	peers_allow(transport->peers, end_deadline_ns(transport));
	bool sent = peers_publish(transport->peers, step.number, transport->sent_ns);
	peers_widen(transport->peers, step.number, step.more);
	for (uint32_t i = 0; i < transport->line_count && sent; i++)
		sent = end_send_step(transport, i, step.payload);
	end_act(transport);
	if (!sent)
		return atomic_load(&transport->lost) ? transport->why.status : TROUPE_EPEER;
	transport->taken = step.number;
	transport->next = step.number + 1 + step.more;
	transport->out = true;
	return TROUPE_OK;
}

troupe_status end_publish(struct transport *transport, struct transport_message step)
{
	if (!end_is_primary(transport) || atomic_load(&transport->closed))
		return TROUPE_EPROTOCOL;
	end_hold(transport);
	troupe_status status = end_publish_step(transport, step);
	end_let_go(transport);
	if (!pthread_equal(pthread_self(), transport->io))
		end_wake(transport);
	return status;
}

struct transport_message end_ack_of(struct transport *transport, uint32_t secondary)
{
	return transport->lines[secondary].ack;
}

/* --- a secondary's end -------------------------------------------------------------------------------------------- */

static troupe_status end_decode(struct transport *transport, struct transport_message *ret_step)
{
	const struct transport_codec *codec = transport->options.codec;
	struct troupe_error error;
	struct transport_message step;
	troupe_status status = codec->decode_step(
		codec->ctx, transport->link->secondary - 1, transport->step.at, transport->step.count, &step, &error);
	if (!status && !end_is_due(transport, step.number))
		status = fail(&error, TROUPE_EPROTOCOL, "step %" PRIu64 ": expected step %" PRIu64, step.number,
			transport->next);
	end_hold(transport);
	if (status)
		peers_break(transport->peers, 0, error.text, clock_now_ns());
	end_act(transport);
	transport->step_waits = false;
	transport->owes_ack = !status;
	if (!status) {
		peers_widen(transport->peers, step.number, step.more);
		transport->taken = step.number;
		transport->next = step.number + 1 + step.more;
	}
	end_let_go(transport);
	if (!status)
		*ret_step = step;
	return status ? TROUPE_EPEER : TROUPE_OK;
}

troupe_status end_wait(struct transport *transport, uint32_t secondary, struct transport_message *ret_step)
{
	struct end_waiting waiting = {0, 0};
	if (secondary + 1 != transport->link->secondary)
		return TROUPE_EPROTOCOL;
	for (;;) {
		end_hold(transport);
		bool some = !transport->step_waits && !atomic_load(&transport->lost) && end_work_all(transport);
		bool waits = transport->step_waits;
		end_let_go(transport);
		if (waits)
			return end_decode(transport, ret_step);
		end_alarm_once(transport);
		if (atomic_load(&transport->closed) || atomic_load(&transport->done) || atomic_load(&transport->lost))
			return TROUPE_EPEER;
		if (some)
			waiting = (struct end_waiting){0, 0};
		else
			end_rest(transport, &waiting);
	}
}

static troupe_status end_send_ack(struct transport *transport, struct transport_message ack)
{
	const struct transport_codec *codec = transport->options.codec;
	struct troupe_error error;
	if (!transport->owes_ack || ack.number != transport->taken)
		return TROUPE_EPROTOCOL;
	transport->owes_ack = false;
	if (!peers_acknowledge(transport->peers))
		return TROUPE_EPEER;
	codec->encode_ack(
		codec->ctx, transport->link->secondary - 1, ack.payload, transport->ops->begin(transport->carrier, 0));
	troupe_status status = transport->ops->end(transport->carrier, 0, FRAME_ACK, &error);
	if (status)
		end_fail_to_send(transport, 0, &error);
	end_act(transport);
	return status ? TROUPE_EPEER : TROUPE_OK;
}

troupe_status end_ack(struct transport *transport, uint32_t secondary, struct transport_message ack)
{
	if (secondary + 1 != transport->link->secondary)
		return TROUPE_EPROTOCOL;
	end_hold(transport);
	troupe_status status = end_send_ack(transport, ack);
	end_let_go(transport);
	return status;
}

static bool end_is_left(const struct transport *transport)
{
	return atomic_load(&transport->closed) || atomic_load(&transport->done) || atomic_load(&transport->lost);
}

/* Looks again and again, in naps: only one thread may wait on the carrier, and that is the stepping thread. It is woken
 * if its step came meanwhile. After a while the primary is told that this side loads. */
static void end_await_file(struct transport *transport)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	uint64_t began_ns = clock_now_ns();
	bool busy = false;
	for (;;) {
		end_hold(transport);
		bool step_waited = transport->step_waits;
		(void)end_work_all(transport);
		bool over = transport->file_came != FRAME_FILE_WANT || end_is_left(transport) || end_is_over(transport);
		bool step_came = !step_waited && transport->step_waits;
		if (over ? busy : !busy && clock_now_ns() - began_ns > BUSY_NS) {
			peers_busy(transport->peers, busy = !over, clock_now_ns());
			end_act(transport);
		}
		end_let_go(transport);
		if (step_came || over)
			end_wake(transport);
		end_alarm_once(transport);
		if (over)
			return;
		(void)nanosleep(&nap, NULL);
	}
}

troupe_status end_fetch(
	struct transport *transport, const char *path, char **ret_bytes, size_t *ret_count, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	if (end_is_primary(transport))
		return fail(error, TROUPE_EINVAL, "only a secondary asks for files");
	pthread_mutex_lock(&transport->fetching);
	end_hold(transport);
	if (!end_is_left(transport) && !end_is_over(transport)) {
		transport->file_came = FRAME_FILE_WANT;
		(void)carrier_send(transport->ops, transport->carrier, 0, FRAME_FILE_WANT, path, strlen(path), NULL);
	}
	bool asked = transport->file_came == FRAME_FILE_WANT;
	end_let_go(transport);
	if (asked)
		end_await_file(transport);
	end_hold(transport);
	if (transport->file_came == FRAME_FILE_DATA) {
		*ret_bytes = mem_alloc(transport->file.count + 1);
		*ret_count = transport->file.count;
		memcpy(*ret_bytes, transport->file.at, transport->file.count);
	} else if (transport->file_came == FRAME_FILE_NONE) {
		status = fail(error, TROUPE_EIO, "the primary: %.*s", (int)transport->file.count, transport->file.at);
	} else {
		status = fail(error, TROUPE_EPEER, "%s: the run is over", path);
	}
	transport->file_came = 0;
	text_fini(&transport->file);
	end_let_go(transport);
	pthread_mutex_unlock(&transport->fetching);
	return status;
}

/* --- the monitor -------------------------------------------------------------------------------------------------- */

static void end_look_after(struct transport *transport)
{
	(void)end_work_all(transport);
	uint64_t stale_ns = transport->link->stale_ms * UINT64_C(1000000), now = clock_now_ns();
	if (now - transport->seen_ns >= stale_ns)
		peers_woke(transport->peers, now);
	if (transport->ops->is_warned && transport->ops->is_warned(transport->carrier))
		peers_hurry(transport->peers, WARNED_NS);
	peers_tick(transport->peers, now);
	end_act(transport);
	transport->seen_ns = now;
}

/* The run goes on with other members, and this secondary is still in a step. */
static void end_linger(struct transport *transport)
{
	struct troupe_error why;
	peers_linger(transport->peers);
	end_act(transport);
	for (uint32_t i = 0; i < transport->line_count; i++)
		(void)transport->ops->work(transport->carrier, i, &why);
}

static void *end_run_monitor(void *arg)
{
	struct transport *transport = arg;
	struct pollfd quit = {.fd = transport->quit, .events = POLLIN};
	int tick_ms = (int)MAX(transport->link->stale_ms / END_CHECKS, 5u);
	while (poll(&quit, 1, tick_ms) <= 0) {
		end_hold(transport);
		if (!end_is_over(transport))
			end_look_after(transport);
		else if (!end_is_primary(transport) && peers_stays(transport->peers, 0))
			end_linger(transport);
		bool asked = end_take_asked(transport);
		end_let_go(transport);
		end_wake(transport); /* the monitor may have read what another thread waits for */
		end_alarm_once(transport);
		if (asked)
			transport->options.asked(transport->options.ctx);
	}
	return NULL;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static troupe_status end_start(struct transport *transport, struct troupe_error *error)
{
	int failed = end_is_primary(transport) ? pthread_create(&transport->io, NULL, end_run_io, transport) : 0;
	transport->has_io = end_is_primary(transport) && !failed;
	if (!failed) {
		failed = pthread_create(&transport->monitor, NULL, end_run_monitor, transport);
		transport->has_monitor = !failed;
	}
	mem_check_thread(failed);
	return failed ? fail(error, TROUPE_ELIMIT, "cannot start a thread: %s", strerror(failed)) : TROUPE_OK;
}

void end_close(struct transport *transport)
{
	if (atomic_exchange(&transport->closed, true))
		return;
	uint64_t one = 1;
	end_wake(transport);
	(void)!write(transport->quit, &one, sizeof one);
}

/* Secondaries that join again do so on the connections that they have. */
static bool end_give_back(struct transport *transport)
{
	uint32_t lost;
	if (!transport->given || !peers_regroups(transport->peers, &lost))
		return false;
	for (uint32_t i = 0; i < transport->line_count; i++)
		transport->given->over[i] = !peers_stays(transport->peers, i);
	transport->given->carrier = transport->carrier;
	return true;
}

void end_destroy(struct transport *transport)
{
	if (!transport)
		return;
	end_close(transport);
	if (transport->has_io)
		pthread_join(transport->io, NULL);
	if (transport->has_monitor)
		pthread_join(transport->monitor, NULL);
	if (!end_give_back(transport)) {
		transport->ops->finish(transport->carrier, END_FLUSH_MS);
		transport->ops->destroy(transport->carrier);
	}
	if (transport->quit >= 0)
		(void)close(transport->quit);
	text_fini(&transport->step);
	text_fini(&transport->file);
	pthread_mutex_destroy(&transport->fetching);
	peers_destroy(transport->peers);
	for (uint32_t i = 0; i < transport->line_count; i++)
		free(transport->lines[i].wants);
	free(transport->lines);
	free(transport);
}

static troupe_status end_check_options(const struct transport_options *options, struct troupe_error *error)
{
	const struct transport_link *link = options->link;
	if (!options->secondaries || options->secondaries > TROUPE_SECONDARIES_MAX)
		return fail(error, TROUPE_EINVAL, "%u secondaries: expected 1 to %d", options->secondaries,
			TROUPE_SECONDARIES_MAX);
	if (!link || !link->carrier || !options->codec || link->secondary > options->secondaries || !link->stale_ms)
		return fail(error, TROUPE_EINVAL, "a remote transport without a carrier, a codec or a stale time");
	return TROUPE_OK;
}

static void end_set_up_lines(struct transport *transport, uint64_t now)
{
	const struct transport_link *link = transport->link;
	uint32_t secondaries = transport->options.secondaries;
	struct peers_options options = {.secondaries = secondaries,
		.clients = link->clients,
		.goes_on = link->goes_on,
		.first_step = link->first_step,
		.stale_ns = link->stale_ms * UINT64_C(1000000),
		.self = {.role = link->secondary ? HELLO_SECONDARY : HELLO_PRIMARY}};
	(void)snprintf(options.self.name, sizeof options.self.name, "%s", link->name ? link->name : "");
	transport->line_count = link->secondary ? 1 : secondaries;
	transport->lines = mem_alloc(transport->line_count * sizeof *transport->lines);
	transport->peers = peers_create(&options, now);
	peers_begin(transport->peers, link->names, link->secondary, secondaries, now);
}

const struct troupe_error *end_lost(struct transport *transport)
{
	return atomic_load(&transport->lost) ? &transport->why : NULL;
}

void end_stop(struct transport *transport, enum stop_kind kind, const char *why)
{
	end_hold(transport);
	if (!end_is_over(transport)) {
		transport->ended = true;
		atomic_store(&transport->done, kind == STOP_DONE);
	}
	peers_stop(transport->peers, kind, why);
	end_act(transport);
	end_let_go(transport);
}

static bool end_is_carried(const struct carrier_ops *has)
{
	return has->work && has->received && has->receive && has->begin && has->end && has->pending && has->prepare &&
	       has->wait && has->wake && has->finish && has->counts && has->destroy;
}

troupe_status end_create(
	const struct transport_options *options, struct transport **ret_transport, struct troupe_error *error)
{
	troupe_status status = end_check_options(options, error);
	if (status)
		return status;
	struct transport_link *link = options->link;
	struct troupe_error why;
	assert(end_is_carried(link->ops));
	struct transport *transport = mem_alloc(sizeof *transport);
	uint64_t now = clock_now_ns();
	*transport = (struct transport){.options = *options,
		.link = link,
		.ops = link->ops,
		.carrier = link->carrier,
		.next = link->first_step,
		.taken = UINT64_MAX,
		.seen_ns = now};
	link->carrier = NULL;
	pthread_mutex_init(&transport->fetching, NULL);
	transport->given = link->over ? link : NULL;
	end_set_up_lines(transport, now);
	transport->quit = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	transport->spins = eventcount_spins(MAX(link->pollers, 1u)) > 0;
	status = transport->quit < 0 ? fail(&why, TROUPE_ELIMIT, "cannot open an event file: %s", strerror(errno))
				     : end_start(transport, &why);
	if (status) {
		end_stop(transport, STOP_FAILED, why.text);
		end_destroy(transport);
		return fail(error, status, "%s", why.text);
	}
	*ret_transport = transport;
	return TROUPE_OK;
}

bool end_regroups(struct transport *transport, uint32_t *ret_lost)
{
	end_hold(transport);
	bool regroups = peers_regroups(transport->peers, ret_lost);
	end_let_go(transport);
	return regroups;
}

bool end_orphaned(struct transport *transport)
{
	end_hold(transport);
	bool orphan = peers_is_orphan(transport->peers);
	end_let_go(transport);
	return orphan;
}

bool end_leaving(struct transport *transport, uint32_t secondary)
{
	end_hold(transport);
	bool leaving = peers_is_leaving(transport->peers, secondary);
	end_let_go(transport);
	return leaving;
}

void end_leave(struct transport *transport)
{
	end_hold(transport);
	peers_leave(transport->peers, clock_now_ns());
	end_act(transport);
	end_let_go(transport);
	end_wake(transport);
}

bool end_is_done(struct transport *transport)
{
	return atomic_load(&transport->done);
}

struct transport_counts end_counts(struct transport *transport)
{
	end_hold(transport);
	struct transport_counts counts = transport->ops->counts(transport->carrier);
	end_let_go(transport);
	return counts;
}
