/* Frames as messages of MPI: a frame, with its header, is one message. Messages from a rank come in order.
 *
 * MPI makes progress only when it is called, and has nothing to sleep on: so a wait is a nap, after which the caller
 * looks again. A nap is a sixteenth of the time that the caller has been idle, so a wait lasts at most that much longer
 * than it must, and a long wait costs little. The same napping keeps processes that outnumber the cores from spinning.
 *
 * Bytes that are being sent or received belong to MPI: buffers are reused when MPI is done with them, and a buffer that
 * it still has when the carrier is destroyed is never freed. */
#include "net/mpi/mpi.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define NAP_MIN_NS 50000u /* about the shortest sleep that Linux gives */
#define NAP_MAX_NS 1000000u
enum { NAP_SHARE = 16, SENDS_MAX = 64 };
#define QUEUE_BYTES_MAX (2 * (uint64_t)FRAME_PAYLOAD_MAX)

struct sending {
	struct text bytes; /* with the header */
	struct glue_message message;
};

struct rank_line {
	int rank;
	VEC(struct sending) sends; /* the oldest first; then free entries, without a message */
	uint32_t sends_out;
	size_t pending; /* bytes of the sends that are not done */
	struct text in; /* the frame that is being received, or was received last */
	struct glue_message coming;
	bool whole; /* `in` is a whole frame, which receive() has not given yet */
	uint64_t sent, received;
	bool broken;
	struct troupe_error why;
};

struct carrier {
	const struct mpi_glue *glue;
	struct rank_line *lines;
	uint32_t count;
	int woken; /* event file */
};

troupe_status mpi_carrier_create(const struct mpi_glue *glue, int first, uint32_t count, struct carrier **ret_carrier,
	struct troupe_error *error)
{
	int woken = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (woken < 0)
		return fail(error, TROUPE_ELIMIT, "cannot open an event file: %s", strerror(errno));
	struct carrier *carrier = mem_alloc(sizeof *carrier);
	*carrier = (struct carrier){.glue = glue, .count = count, .woken = woken};
	carrier->lines = mem_alloc(count * sizeof *carrier->lines);
	for (uint32_t i = 0; i < count; i++)
		carrier->lines[i] = (struct rank_line){.rank = first + (int)i};
	*ret_carrier = carrier;
	return TROUPE_OK;
}

static troupe_status carrier_break_line(struct rank_line *line, const char *why, struct troupe_error *error)
{
	if (!line->broken)
		(void)fail(&line->why, TROUPE_EPEER, "%s", why);
	line->broken = true;
	return fail(error, TROUPE_EPEER, "%s", line->why.text);
}

/* --- sending ------------------------------------------------------------------------------------------------------ */

/* Moves sends that are done to the end of the list, where entries are free. */
static bool carrier_reap(struct carrier *carrier, struct rank_line *line, char *why)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < line->sends_out; i++) {
		struct sending *sending = &line->sends.at[i];
		bool done;
		if (!carrier->glue->done(&sending->message, &done, why))
			return false;
		if (done) {
			line->pending -= sending->bytes.count;
			continue;
		}
		struct sending swap = line->sends.at[kept];
		line->sends.at[kept++] = *sending;
		*sending = swap;
	}
	line->sends_out = kept;
	return true;
}

static struct text *carrier_mpi_begin(struct carrier *carrier, uint32_t at)
{
	static const char header[FRAME_HEADER_BYTES];
	struct rank_line *line = &carrier->lines[at];
	if (line->sends_out == line->sends.count)
		vec_push(&line->sends, (struct sending){0});
	struct text *bytes = &line->sends.at[line->sends_out].bytes;
	bytes->count = 0;
	text_add_bytes(bytes, header, sizeof header);
	return bytes;
}

static troupe_status carrier_mpi_end(
	struct carrier *carrier, uint32_t at, enum frame_type type, struct troupe_error *error)
{
	struct rank_line *line = &carrier->lines[at];
	struct sending *sending = &line->sends.at[line->sends_out];
	size_t count = sending->bytes.count, payload = count - FRAME_HEADER_BYTES;
	char why[GLUE_WHY_BYTES];
	if (line->broken)
		return fail(error, TROUPE_EPEER, "%s", line->why.text);
	if (payload > frame_limit(type))
		return fail(error, TROUPE_ELIMIT, "a frame %s of %zu bytes: expected at most %u", frame_name(type),
			payload, frame_limit(type));
	if (line->pending + count > QUEUE_BYTES_MAX)
		return fail(error, TROUPE_ELIMIT, "it does not take what is sent to it: %zu bytes wait", line->pending);
	frame_put_header((unsigned char *)sending->bytes.at, type, (uint32_t)payload);
	if (!carrier->glue->send(line->rank, sending->bytes.at, count, &sending->message, why))
		return carrier_break_line(line, why, error);
	line->sends_out++;
	line->pending += count;
	line->sent += count;
	return TROUPE_OK;
}

static size_t carrier_mpi_pending(const struct carrier *carrier, uint32_t at)
{
	return carrier->lines[at].pending;
}

/* --- receiving ---------------------------------------------------------------------------------------------------- */

/* Begins to receive the next message, if there is one, or continues to receive the present one. */
static bool carrier_take(struct carrier *carrier, struct rank_line *line, char *why)
{
	bool there = line->coming.out, done;
	size_t count;
	if (!there) {
		if (!carrier->glue->next(line->rank, &there, &count, &line->coming, why))
			return false;
		if (!there)
			return true;
		if (count > FRAME_HEADER_BYTES + (size_t)FRAME_PAYLOAD_MAX) {
			(void)snprintf(why, GLUE_WHY_BYTES, "sent a message of %zu bytes, which is no frame", count);
			return false;
		}
		line->in.count = 0;
		text_reserve(&line->in, count);
		line->in.count = count;
		if (!carrier->glue->receive(line->in.at, count, &line->coming, why))
			return false;
	}
	if (!carrier->glue->done(&line->coming, &done, why))
		return false;
	line->whole = done;
	if (done)
		line->received += line->in.count;
	return true;
}

static troupe_status carrier_mpi_work(struct carrier *carrier, uint32_t at, struct troupe_error *error)
{
	struct rank_line *line = &carrier->lines[at];
	char why[GLUE_WHY_BYTES];
	if (line->broken)
		return fail(error, TROUPE_EPEER, "%s", line->why.text);
	if (!carrier_reap(carrier, line, why) || (!line->whole && !carrier_take(carrier, line, why)))
		return carrier_break_line(line, why, error);
	return TROUPE_OK;
}

static uint64_t carrier_mpi_received(const struct carrier *carrier, uint32_t at)
{
	return carrier->lines[at].received;
}

static bool carrier_mpi_receive(struct carrier *carrier, uint32_t at, enum frame_type *ret_type, const char **ret_bytes,
	size_t *ret_count, troupe_status *ret_status, struct troupe_error *error)
{
	struct rank_line *line = &carrier->lines[at];
	uint32_t payload;
	char why[GLUE_WHY_BYTES];
	if (!line->whole && (line->broken || !carrier_take(carrier, line, why) || !line->whole))
		return false; /* the next work() finds the error again */
	line->whole = false;
	if (line->in.count < FRAME_HEADER_BYTES)
		*ret_status =
			fail(error, TROUPE_EPROTOCOL, "a message of %zu bytes, which is no frame", line->in.count);
	else
		*ret_status = frame_get_header(
			(const unsigned char *)line->in.at, FRAME_PAYLOAD_MAX, ret_type, &payload, error);
	if (!*ret_status && payload != line->in.count - FRAME_HEADER_BYTES)
		*ret_status = fail(
			error, TROUPE_EPROTOCOL, "a frame of %u bytes in a message of %zu", payload, line->in.count);
	*ret_bytes = line->in.at + FRAME_HEADER_BYTES;
	*ret_count = line->in.count - FRAME_HEADER_BYTES;
	return !*ret_status;
}

/* --- waiting ------------------------------------------------------------------------------------------------------ */

static void carrier_mpi_prepare(struct carrier *carrier, bool only_send)
{
	(void)carrier;
	(void)only_send;
}

static bool carrier_mpi_wait(struct carrier *carrier, uint64_t idle_ns)
{
	uint64_t count, nap_ns = MIN(MAX(idle_ns / NAP_SHARE, (uint64_t)NAP_MIN_NS), (uint64_t)NAP_MAX_NS);
	struct pollfd woken = {.fd = carrier->woken, .events = POLLIN};
	struct timespec nap = {.tv_nsec = (long)nap_ns};
	if (ppoll(&woken, 1, &nap, NULL) <= 0)
		return false;
	(void)!read(carrier->woken, &count, sizeof count);
	return true;
}

static void carrier_mpi_wake(struct carrier *carrier)
{
	uint64_t one = 1;
	(void)!write(carrier->woken, &one, sizeof one);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

/* Receives nothing: later messages are for the next carrier between these ranks, if there is one. */
static void carrier_mpi_finish(struct carrier *carrier, uint32_t timeout_ms)
{
	uint64_t until = clock_now_ns() + timeout_ms * UINT64_C(1000000);
	char why[GLUE_WHY_BYTES];
	size_t left;
	do {
		left = 0;
		for (uint32_t i = 0; i < carrier->count; i++) {
			struct rank_line *line = &carrier->lines[i];
			if (!line->broken && carrier_reap(carrier, line, why))
				left += line->pending;
		}
		if (left)
			(void)carrier_mpi_wait(carrier, 0);
	} while (left && clock_now_ns() < until);
}

static struct transport_counts carrier_mpi_counts(const struct carrier *carrier)
{
	struct transport_counts counts = {0, 0};
	for (uint32_t i = 0; i < carrier->count; i++) {
		counts.sent += carrier->lines[i].sent;
		counts.received += carrier->lines[i].received;
	}
	return counts;
}

static bool carrier_mpi_is_warned(const struct carrier *carrier)
{
	return carrier->glue->continued();
}

static void carrier_destroy_line(struct rank_line *line)
{
	for (uint32_t i = line->sends_out; i < line->sends.count; i++)
		text_fini(&line->sends.at[i].bytes);
	if (!line->coming.out)
		text_fini(&line->in);
	vec_free(&line->sends);
}

static void carrier_mpi_destroy(struct carrier *carrier)
{
	if (!carrier)
		return;
	for (uint32_t i = 0; i < carrier->count; i++)
		carrier_destroy_line(&carrier->lines[i]);
	(void)close(carrier->woken);
	free(carrier->lines);
	free(carrier);
}

const struct carrier_ops mpi_carrier_ops = {
	.work = carrier_mpi_work,
	.received = carrier_mpi_received,
	.receive = carrier_mpi_receive,
	.begin = carrier_mpi_begin,
	.end = carrier_mpi_end,
	.pending = carrier_mpi_pending,
	.prepare = carrier_mpi_prepare,
	.wait = carrier_mpi_wait,
	.wake = carrier_mpi_wake,
	.finish = carrier_mpi_finish,
	.counts = carrier_mpi_counts,
	.is_warned = carrier_mpi_is_warned,
	.destroy = carrier_mpi_destroy,
};

const struct transport_ops transport_mpi = {.name = "mpi", END_SLOTS};
