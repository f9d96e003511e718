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
#include "net/end_internal.h"

#include "base/clock.h"
#include "base/eventcount.h"

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

#define POLL_NS 60000u                /* the cost of a sleep and a wake */
#define WARNED_NS UINT64_C(600000000) /* three heartbeats */
#define END_CHECKS 4                  /* checks by the monitor per stale time */
#define END_FLUSH_MS 200

enum { POLLS_A_CLOCK = 16 };

void end_hold(struct transport *transport)
{
	while (atomic_exchange_explicit(&transport->held, true, memory_order_acquire))
		sched_yield();
}

void end_let_go(struct transport *transport)
{
	atomic_store_explicit(&transport->held, false, memory_order_release); /* pairs with end_hold() */
}

void end_wake(struct transport *transport)
{
	transport->ops->wake(transport->carrier);
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
void end_act(struct transport *transport)
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

bool end_is_over(const struct transport *transport)
{
	return peers_phase(transport->peers) == PEERS_OVER;
}

void end_alarm_once(struct transport *transport)
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

bool end_take_asked(struct transport *transport)
{
	bool asked = transport->asked && transport->options.asked;
	transport->asked = false;
	return asked;
}

bool end_is_due(const struct transport *transport, uint64_t number)
{
	return number == transport->next || (number == transport->taken && transport->next > transport->taken + 1);
}

/* --- frames ------------------------------------------------------------------------------------------------------- */

static void end_take_frame(
	struct transport *transport, uint32_t id, enum frame_type type, const char *bytes, size_t count, uint64_t now)
{
	if (type == FRAME_ACK && end_is_primary(transport))
		end_primary_take_ack(transport, id, bytes, count, now);
	else if (type == FRAME_STEP && !end_is_primary(transport))
		end_secondary_take_step(transport, id, bytes, count, now);
	else if (type == FRAME_FILE_WANT && end_is_primary(transport))
		end_primary_take_want(transport, id, bytes, count, now);
	else if ((type == FRAME_FILE_DATA || type == FRAME_FILE_NONE) && !end_is_primary(transport))
		end_secondary_take_file(transport, id, type, bytes, count, now);
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

bool end_work_all(struct transport *transport)
{
	bool some = false;
	for (uint32_t i = 0; i < transport->line_count; i++)
		some |= end_work(transport, i);
	return some;
}

/* A frame that must arrive could not be sent. The peer may have sent the reason before, so its input is read. */
void end_fail_to_send(struct transport *transport, uint32_t id, const struct troupe_error *error)
{
	if (error->status == TROUPE_ELIMIT)
		peers_abandon(transport->peers, id, error->text, clock_now_ns());
	else
		(void)end_work(transport, id);
}

/* --- waiting for messages ----------------------------------------------------------------------------------------- */

/* Once the run is over, waits only until the last bytes have been sent: an end of a line may always be readable. */
static bool end_sleep_until_ready(struct transport *transport, uint64_t idle_ns)
{
	end_hold(transport);
	transport->ops->prepare(transport->carrier, end_is_over(transport));
	end_let_go(transport);
	return transport->ops->wait(transport->carrier, idle_ns);
}

void end_rest(struct transport *transport, struct end_waiting *waiting)
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
	int failed =
		end_is_primary(transport) ? pthread_create(&transport->io, NULL, end_primary_run_io, transport) : 0;
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
