/* A secondary's end: a step comes, and its ack goes out, both on the stepping thread; any other thread may ask for a
 * file meanwhile. */
#include "net/end_internal.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAP_NS 200000
#define BUSY_NS UINT64_C(50000000)

/* Keeps a copy, because the step is decoded while the monitor may use the channel. Its number is checked then. */
void end_secondary_take_step(struct transport *transport, uint32_t id, const char *bytes, size_t count, uint64_t now)
{
	if (!peers_step(transport->peers, id, transport->next, now))
		return;
	transport->step.count = 0;
	text_add_bytes(&transport->step, bytes, count);
	transport->step_waits = true;
}

void end_secondary_take_file(
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

static troupe_status end_secondary_decode(struct transport *transport, struct transport_message *ret_step)
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
			return end_secondary_decode(transport, ret_step);
		end_alarm_once(transport);
		if (atomic_load(&transport->closed) || atomic_load(&transport->done) || atomic_load(&transport->lost))
			return TROUPE_EPEER;
		if (some)
			waiting = (struct end_waiting){0, 0};
		else
			end_rest(transport, &waiting);
	}
}

static troupe_status end_secondary_send_ack(struct transport *transport, struct transport_message ack)
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
	troupe_status status = end_secondary_send_ack(transport, ack);
	end_let_go(transport);
	return status;
}

static bool end_secondary_is_left(const struct transport *transport)
{
	return atomic_load(&transport->closed) || atomic_load(&transport->done) || atomic_load(&transport->lost);
}

/* Looks again and again, in naps: only one thread may wait on the carrier, and that is the stepping thread. It is woken
 * if its step came meanwhile. After a while the primary is told that this side loads. */
static void end_secondary_await_file(struct transport *transport)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	uint64_t began_ns = clock_now_ns();
	bool busy = false;
	for (;;) {
		end_hold(transport);
		bool step_waited = transport->step_waits;
		(void)end_work_all(transport);
		bool over = transport->file_came != FRAME_FILE_WANT || end_secondary_is_left(transport) ||
			    end_is_over(transport);
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
	if (!end_secondary_is_left(transport) && !end_is_over(transport)) {
		transport->file_came = FRAME_FILE_WANT;
		(void)carrier_send(transport->ops, transport->carrier, 0, FRAME_FILE_WANT, path, strlen(path), NULL);
	}
	bool asked = transport->file_came == FRAME_FILE_WANT;
	end_let_go(transport);
	if (asked)
		end_secondary_await_file(transport);
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
