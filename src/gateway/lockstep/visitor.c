/* During a barrier the thread of the step writes to the socket and reads from it itself, without blocking, so that an
 * exchange costs two system calls on each side and no thread is woken. What a client sends too early stays in the
 * kernel's buffer until its next barrier: a flood fills that buffer and nothing else. */
#include "gateway/lockstep/visitor.h"

#include "gateway/lockstep/seat.h"
#include "topic/message.h"

#include <troupe/server.h>

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { VISITOR_CHUNK_BYTES = 65536, JOIN_BYTES_MAX = 1 << 20, FAREWELL_MS = 200 };

struct visitor {
	struct troupe_server *server;
	struct seat seat;
	int file;
	uint64_t since_ns;
	struct text in, out; /* bytes that have come; bytes that are to go */
	size_t used, sent;   /* of these, taken and sent */
	/* Held while the client joins and is welcomed, so that its first barrier comes after the welcome. */
	pthread_mutex_t joining;
	void (*on_over)(void *ctx);
	void *ctx;
	bool end_sent;
	_Atomic bool over;
};

struct visitor *visitor_create(
	struct troupe_server *server, int file, uint64_t now_ns, void (*on_over)(void *ctx), void *ctx)
{
	struct visitor *visitor = mem_alloc(sizeof *visitor);
	*visitor = (struct visitor){.server = server, .file = file, .since_ns = now_ns, .on_over = on_over, .ctx = ctx};
	pthread_mutex_init(&visitor->joining, NULL);
	return visitor;
}

int visitor_file(const struct visitor *visitor)
{
	return visitor->file;
}

uint64_t visitor_since_ns(const struct visitor *visitor)
{
	return visitor->since_ns;
}

bool visitor_is_over(const struct visitor *visitor)
{
	return atomic_load(&visitor->over);
}

/* --- bytes -------------------------------------------------------------------------------------------------------- */

/* Sends what the kernel takes now. False: the connection is lost. */
static bool visitor_flush(struct visitor *visitor)
{
	while (visitor->sent < visitor->out.count) {
		ssize_t count = AGAIN(send(visitor->file, visitor->out.at + visitor->sent,
			visitor->out.count - visitor->sent, MSG_DONTWAIT | MSG_NOSIGNAL));
		if (count < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK;
		visitor->sent += (size_t)count;
	}
	visitor->sent = visitor->out.count = 0;
	return true;
}

/* Reads what is there, up to a chunk. False: the connection is closed or lost; *error says so. */
static bool visitor_fetch(struct visitor *visitor, struct troupe_error *error)
{
	char bytes[VISITOR_CHUNK_BYTES];
	ssize_t count = AGAIN(recv(visitor->file, bytes, sizeof bytes, MSG_DONTWAIT));
	if (count > 0) {
		if (visitor->used) { /* what was taken makes room */
			visitor->in.count -= visitor->used;
			memmove(visitor->in.at, visitor->in.at + visitor->used, visitor->in.count);
			visitor->used = 0;
		}
		text_add_bytes(&visitor->in, bytes, (size_t)count);
		return true;
	}
	if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return true;
	(void)fail(error, TROUPE_EPEER, count ? "its connection is lost: %s" : "it closed its connection%s",
		count ? strerror(errno) : "");
	return false;
}

static enum packet_read visitor_read_packet(
	struct visitor *visitor, Troupe__Msgs__LockstepFromClient **ret_packet, struct troupe_error *error)
{
	return packet_next(visitor->in.at, visitor->in.count, &visitor->used, ret_packet, error);
}

static void visitor_await_file(const struct visitor *visitor, uint64_t wait_ns)
{
	short events = visitor->out.count ? POLLIN | POLLOUT : POLLIN;
	(void)poll(&(struct pollfd){visitor->file, events, 0}, 1, (int)(wait_ns / 1000000) + 1);
}

static void visitor_say_end(struct visitor *visitor, bool failed, const char *why)
{
	if (visitor->end_sent)
		return;
	visitor->end_sent = true;
	packet_add_ended(&visitor->out, failed, why);
	(void)visitor_flush(visitor);
}

/* --- a barrier ---------------------------------------------------------------------------------------------------- */

static void visitor_begin(void *ctx, const struct troupe_barrier *barrier)
{
	struct visitor *visitor = ctx;
	pthread_mutex_lock(&visitor->joining);
	seat_add_step(&visitor->seat, barrier, &visitor->out);
	(void)visitor_flush(visitor); /* a connection that is lost is found when the answer is read */
	pthread_mutex_unlock(&visitor->joining);
}

static troupe_answer visitor_take_answer(struct visitor *visitor, const Troupe__Msgs__LockstepFromClient *packet,
	const struct troupe_barrier *barrier, struct troupe_error *error)
{
	switch (packet->what_case) {
	case TROUPE__MSGS__LOCKSTEP_FROM_CLIENT__WHAT_DONE:
		return seat_take_done(&visitor->seat, packet->done, barrier, error);
	case TROUPE__MSGS__LOCKSTEP_FROM_CLIENT__WHAT_LEAVE:
		return TROUPE_ANSWER_LEFT;
	default:
		(void)fail(error, TROUPE_EPROTOCOL, "it joins a second time: expected done or leave");
		return TROUPE_ANSWER_FAILED;
	}
}

static troupe_answer visitor_poll_answer(
	void *ctx, const struct troupe_barrier *barrier, uint64_t wait_ns, struct troupe_error *error)
{
	struct visitor *visitor = ctx;
	Troupe__Msgs__LockstepFromClient *packet;
	enum packet_read read = visitor_read_packet(visitor, &packet, error);
	if (read == PACKET_NONE) { /* only then are more bytes kept */
		if (wait_ns)
			visitor_await_file(visitor, wait_ns);
		(void)visitor_flush(visitor);
		if (!visitor_fetch(visitor, error))
			return TROUPE_ANSWER_FAILED;
		read = visitor_read_packet(visitor, &packet, error);
	}
	if (read != PACKET_READ)
		return read == PACKET_NONE ? TROUPE_ANSWER_NONE : TROUPE_ANSWER_FAILED;
	troupe_answer answer = visitor_take_answer(visitor, packet, barrier, error);
	message_free(&packet->base);
	return answer;
}

static void visitor_out(void *ctx, const struct troupe_error *why)
{
	struct visitor *visitor = ctx;
	visitor_say_end(visitor, why->status, why->text);
	atomic_store(&visitor->over, true);
	visitor->on_over(visitor->ctx);
}

static const struct troupe_barrier_ops visitor_ops = {
	.begin = visitor_begin, .poll = visitor_poll_answer, .out = visitor_out};

/* --- joining ------------------------------------------------------------------------------------------------------ */

static troupe_status visitor_join(
	struct visitor *visitor, const Troupe__Msgs__LockstepJoin *asked, struct troupe_error *error)
{
	pthread_mutex_lock(&visitor->joining);
	troupe_status status = seat_join(&visitor->seat, visitor->server, asked, &visitor_ops, visitor, error);
	if (!status) {
		seat_add_welcome(&visitor->seat, asked, &visitor->out);
		(void)visitor_flush(visitor);
	}
	pthread_mutex_unlock(&visitor->joining);
	return status;
}

static enum visitor_state visitor_refuse(struct visitor *visitor, const char *why)
{
	visitor->end_sent = true;
	packet_add_refused(&visitor->out, why);
	(void)visitor_flush(visitor);
	return VISITOR_GONE;
}

enum visitor_state visitor_hear(struct visitor *visitor)
{
	struct troupe_error error;
	Troupe__Msgs__LockstepFromClient *packet;
	bool open = visitor_fetch(visitor, &error);
	switch (visitor_read_packet(visitor, &packet, &error)) {
	case PACKET_NONE:
		if (open && visitor->in.count > JOIN_BYTES_MAX)
			return visitor_refuse(visitor, "too many bytes before it has joined");
		return open ? VISITOR_WAITS : VISITOR_GONE;
	case PACKET_BAD:
		return visitor_refuse(visitor, error.text);
	default:
		break;
	}
	troupe_status status = TROUPE_EPROTOCOL;
	if (packet->what_case == TROUPE__MSGS__LOCKSTEP_FROM_CLIENT__WHAT_JOIN)
		status = visitor_join(visitor, packet->join, &error);
	else
		(void)fail(&error, status, "it has not joined: expected join");
	message_free(&packet->base);
	return status ? visitor_refuse(visitor, error.text) : VISITOR_JOINED;
}

void visitor_destroy(struct visitor *visitor, bool failed, const char *why)
{
	seat_leave(&visitor->seat);
	if (visitor->seat.client && why)
		visitor_say_end(visitor, failed, why);
	for (int i = 0; i < FAREWELL_MS / 20 && visitor->out.count && visitor_flush(visitor); i++)
		if (visitor->out.count)
			(void)poll(&(struct pollfd){visitor->file, POLLOUT, 0}, 1, 20);
	seat_fini(&visitor->seat);
	(void)shutdown(visitor->file, SHUT_WR);
	close(visitor->file);
	pthread_mutex_destroy(&visitor->joining);
	text_fini(&visitor->in);
	text_fini(&visitor->out);
	free(visitor);
}
