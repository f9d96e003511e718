/* During a barrier the thread of the step writes to the socket and reads from it itself, without blocking, so that an
 * exchange costs two system calls on each side and no thread is woken. What a client sends too early stays in the
 * kernel's buffer until its next barrier: a flood fills that buffer and nothing else. */
#include "gateway/lockstep/lockstep_connection.h"

#include "gateway/lockstep/lockstep_member.h"
#include "topic/message.h"

#include <troupe/server.h>

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LOCKSTEP_CONNECTION_CHUNK_BYTES = 65536, JOIN_BYTES_MAX = 1 << 20, FAREWELL_MS = 200 };

struct lockstep_connection {
	struct troupe_server *server;
	struct lockstep_member member;
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

struct lockstep_connection *lockstep_connection_create(
	struct troupe_server *server, int file, uint64_t now_ns, void (*on_over)(void *ctx), void *ctx)
{
	struct lockstep_connection *connection = mem_alloc(sizeof *connection);
	*connection = (struct lockstep_connection){
		.server = server, .file = file, .since_ns = now_ns, .on_over = on_over, .ctx = ctx};
	pthread_mutex_init(&connection->joining, NULL);
	return connection;
}

int lockstep_connection_file(const struct lockstep_connection *connection)
{
	return connection->file;
}

uint64_t lockstep_connection_since_ns(const struct lockstep_connection *connection)
{
	return connection->since_ns;
}

bool lockstep_connection_is_over(const struct lockstep_connection *connection)
{
	return atomic_load(&connection->over);
}

/* --- bytes -------------------------------------------------------------------------------------------------------- */

/* Sends what the kernel takes now. False: the connection is lost. */
static bool lockstep_connection_flush(struct lockstep_connection *connection)
{
	while (connection->sent < connection->out.count) {
		ssize_t count = AGAIN(send(connection->file, connection->out.at + connection->sent,
			connection->out.count - connection->sent, MSG_DONTWAIT | MSG_NOSIGNAL));
		if (count < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK;
		connection->sent += (size_t)count;
	}
	connection->sent = connection->out.count = 0;
	return true;
}

/* Reads what is there, up to a chunk. False: the connection is closed or lost; *error says so. */
static bool lockstep_connection_fetch(struct lockstep_connection *connection, struct troupe_error *error)
{
	char bytes[LOCKSTEP_CONNECTION_CHUNK_BYTES];
	ssize_t count = AGAIN(recv(connection->file, bytes, sizeof bytes, MSG_DONTWAIT));
	if (count > 0) {
		if (connection->used) { /* what was taken makes room */
			connection->in.count -= connection->used;
			memmove(connection->in.at, connection->in.at + connection->used, connection->in.count);
			connection->used = 0;
		}
		text_add_bytes(&connection->in, bytes, (size_t)count);
		return true;
	}
	if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return true;
	(void)fail(error, TROUPE_EPEER, count ? "its connection is lost: %s" : "it closed its connection%s",
		count ? strerror(errno) : "");
	return false;
}

static enum packet_read lockstep_connection_read_packet(struct lockstep_connection *connection,
	Troupe__Msgs__LockstepFromClient **ret_packet, struct troupe_error *error)
{
	return packet_next(connection->in.at, connection->in.count, &connection->used, ret_packet, error);
}

static void lockstep_connection_await_file(const struct lockstep_connection *connection, uint64_t wait_ns)
{
	short events = connection->out.count ? POLLIN | POLLOUT : POLLIN;
	(void)poll(&(struct pollfd){connection->file, events, 0}, 1, (int)(wait_ns / 1000000) + 1);
}

static void lockstep_connection_say_end(struct lockstep_connection *connection, bool failed, const char *why)
{
	if (connection->end_sent)
		return;
	connection->end_sent = true;
	packet_add_ended(&connection->out, failed, why);
	(void)lockstep_connection_flush(connection);
}

/* --- a barrier ---------------------------------------------------------------------------------------------------- */

static void lockstep_connection_begin(void *ctx, const struct troupe_barrier *barrier)
{
	struct lockstep_connection *connection = ctx;
	pthread_mutex_lock(&connection->joining);
	lockstep_member_add_step(&connection->member, barrier, &connection->out);
	(void)lockstep_connection_flush(connection); /* a connection that is lost is found when the answer is read */
	pthread_mutex_unlock(&connection->joining);
}

static troupe_answer lockstep_connection_take_answer(struct lockstep_connection *connection,
	const Troupe__Msgs__LockstepFromClient *packet, const struct troupe_barrier *barrier,
	struct troupe_error *error)
{
	switch (packet->what_case) {
	case TROUPE__MSGS__LOCKSTEP_FROM_CLIENT__WHAT_DONE:
		return lockstep_member_take_done(&connection->member, packet->done, barrier, error);
	case TROUPE__MSGS__LOCKSTEP_FROM_CLIENT__WHAT_LEAVE:
		return TROUPE_ANSWER_LEFT;
	default:
		(void)fail(error, TROUPE_EPROTOCOL, "it joins a second time: expected done or leave");
		return TROUPE_ANSWER_FAILED;
	}
}

static troupe_answer lockstep_connection_poll_answer(
	void *ctx, const struct troupe_barrier *barrier, uint64_t wait_ns, struct troupe_error *error)
{
	struct lockstep_connection *connection = ctx;
	Troupe__Msgs__LockstepFromClient *packet;
	enum packet_read read = lockstep_connection_read_packet(connection, &packet, error);
	if (read == PACKET_NONE) { /* only then are more bytes kept */
		if (wait_ns)
			lockstep_connection_await_file(connection, wait_ns);
		(void)lockstep_connection_flush(connection);
		if (!lockstep_connection_fetch(connection, error))
			return TROUPE_ANSWER_FAILED;
		read = lockstep_connection_read_packet(connection, &packet, error);
	}
	if (read != PACKET_READ)
		return read == PACKET_NONE ? TROUPE_ANSWER_NONE : TROUPE_ANSWER_FAILED;
	troupe_answer answer = lockstep_connection_take_answer(connection, packet, barrier, error);
	message_free(&packet->base);
	return answer;
}

static void lockstep_connection_out(void *ctx, const struct troupe_error *why)
{
	struct lockstep_connection *connection = ctx;
	lockstep_connection_say_end(connection, why->status, why->text);
	atomic_store(&connection->over, true);
	connection->on_over(connection->ctx);
}

static const struct troupe_barrier_ops lockstep_connection_ops = {
	.begin = lockstep_connection_begin, .poll = lockstep_connection_poll_answer, .out = lockstep_connection_out};

/* --- joining ------------------------------------------------------------------------------------------------------ */

static troupe_status lockstep_connection_join(
	struct lockstep_connection *connection, const Troupe__Msgs__LockstepJoin *asked, struct troupe_error *error)
{
	pthread_mutex_lock(&connection->joining);
	troupe_status status = lockstep_member_join(
		&connection->member, connection->server, asked, &lockstep_connection_ops, connection, error);
	if (!status) {
		lockstep_member_add_welcome(&connection->member, asked, &connection->out);
		(void)lockstep_connection_flush(connection);
	}
	pthread_mutex_unlock(&connection->joining);
	return status;
}

static enum lockstep_connection_state lockstep_connection_refuse(
	struct lockstep_connection *connection, const char *why)
{
	connection->end_sent = true;
	packet_add_refused(&connection->out, why);
	(void)lockstep_connection_flush(connection);
	return LOCKSTEP_CONNECTION_GONE;
}

enum lockstep_connection_state lockstep_connection_hear(struct lockstep_connection *connection)
{
	struct troupe_error error;
	Troupe__Msgs__LockstepFromClient *packet;
	bool open = lockstep_connection_fetch(connection, &error);
	switch (lockstep_connection_read_packet(connection, &packet, &error)) {
	case PACKET_NONE:
		if (open && connection->in.count > JOIN_BYTES_MAX)
			return lockstep_connection_refuse(connection, "too many bytes before it has joined");
		return open ? LOCKSTEP_CONNECTION_WAITS : LOCKSTEP_CONNECTION_GONE;
	case PACKET_BAD:
		return lockstep_connection_refuse(connection, error.text);
	default:
		break;
	}
	troupe_status status = TROUPE_EPROTOCOL;
	if (packet->what_case == TROUPE__MSGS__LOCKSTEP_FROM_CLIENT__WHAT_JOIN)
		status = lockstep_connection_join(connection, packet->join, &error);
	else
		(void)fail(&error, status, "it has not joined: expected join");
	message_free(&packet->base);
	return status ? lockstep_connection_refuse(connection, error.text) : LOCKSTEP_CONNECTION_JOINED;
}

void lockstep_connection_destroy(struct lockstep_connection *connection, bool failed, const char *why)
{
	lockstep_member_leave(&connection->member);
	if (connection->member.client && why)
		lockstep_connection_say_end(connection, failed, why);
	for (int i = 0; i < FAREWELL_MS / 20 && connection->out.count && lockstep_connection_flush(connection); i++)
		if (connection->out.count)
			(void)poll(&(struct pollfd){connection->file, POLLOUT, 0}, 1, 20);
	lockstep_member_fini(&connection->member);
	(void)shutdown(connection->file, SHUT_WR);
	close(connection->file);
	pthread_mutex_destroy(&connection->joining);
	text_fini(&connection->in);
	text_fini(&connection->out);
	free(connection);
}
