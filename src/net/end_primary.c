/* The primary's end: steps go out, acks and questions for files come in, on a thread of its own. */
#include "net/end_internal.h"

#include "base/clock.h"

#include <stdlib.h>

#define LOAD_NS (600 * UINT64_C(1000000000))
enum { DEADLINE_FACTOR = 20 };

/* An ack that is not awaited is not decoded: the primary may be at work on the last ack of that secondary. */
void end_primary_take_ack(struct transport *transport, uint32_t id, const char *bytes, size_t count, uint64_t now)
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

/* The file is not read here, where other threads wait for the carrier: a disk may take longer than peers may be silent.
 */
void end_primary_take_want(struct transport *transport, uint32_t id, const char *bytes, size_t count, uint64_t now)
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

enum end_turn { TURN_NONE, TURN_ACKED, TURN_GAVE_UP };

/* The outcome of the published step. A step that all have acknowledged counts, even when a peer is lost right after:
 * the other peers are told that it counts. */
static enum end_turn end_primary_take_turn(struct transport *transport)
{
	bool acked = transport->out && !peers_waits(transport->peers);
	bool over = acked || (transport->out && atomic_load(&transport->lost));
	if (over)
		transport->out = false;
	return acked ? TURN_ACKED : over ? TURN_GAVE_UP : TURN_NONE;
}

/* A peer that cannot take the file is given up; when its line is broken, the next look at it says so. */
static void end_primary_send_file(
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
static bool end_primary_give_file(struct transport *transport, uint32_t id)
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
		end_primary_send_file(transport, id, status, &file, error.text);
	end_let_go(transport);
	text_fini(&file);
	free(path);
	return true;
}

void *end_primary_run_io(void *arg)
{
	struct transport *transport = arg;
	struct end_waiting waiting = {0, 0};
	while (!atomic_load(&transport->closed)) {
		end_hold(transport);
		bool some = end_work_all(transport);
		enum end_turn turn = end_primary_take_turn(transport);
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
			some |= end_primary_give_file(transport, i);
		if (some || turn)
			waiting = (struct end_waiting){0, 0};
		else
			end_rest(transport, &waiting);
	}
	return NULL;
}

static bool end_primary_send_step(struct transport *transport, uint32_t secondary, const void *payload)
{
	const struct transport_codec *codec = transport->options.codec;
	struct troupe_error error;
	codec->encode_step(codec->ctx, secondary, payload, transport->ops->begin(transport->carrier, secondary));
	troupe_status status = transport->ops->end(transport->carrier, secondary, FRAME_STEP, &error);
	if (status)
		end_fail_to_send(transport, secondary, &error);
	return !status;
}

static uint64_t end_primary_deadline_ns(const struct transport *transport)
{
	uint64_t stale_ns = transport->link->stale_ms * UINT64_C(1000000);
	return transport->loads ? LOAD_NS
				: MAX(stale_ns, DEADLINE_FACTOR * transport->longest_ns * (transport->more + 1));
}

static troupe_status end_primary_publish_step(struct transport *transport, struct transport_message step)
{
	const struct transport_codec *codec = transport->options.codec;
	if (transport->out || !end_is_due(transport, step.number))
		return TROUPE_EPROTOCOL;
	transport->more = step.more;
	transport->loads = codec->loads && codec->loads(codec->ctx, step.payload);
	transport->sent_ns = clock_now_ns();
	peers_allow(transport->peers, end_primary_deadline_ns(transport));
	bool sent = peers_publish(transport->peers, step.number, transport->sent_ns);
	peers_widen(transport->peers, step.number, step.more);
	for (uint32_t i = 0; i < transport->line_count && sent; i++)
		sent = end_primary_send_step(transport, i, step.payload);
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
	troupe_status status = end_primary_publish_step(transport, step);
	end_let_go(transport);
	if (!pthread_equal(pthread_self(), transport->io))
		end_wake(transport);
	return status;
}

struct transport_message end_ack_of(struct transport *transport, uint32_t secondary)
{
	return transport->lines[secondary].ack;
}
