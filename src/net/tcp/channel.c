/* Frames are parsed in a buffer that one read() fills with as many frames as have arrived, so an exchange of small
 * frames costs one system call each way; with TLS, reading ahead does the same. A frame to send is built behind its
 * header in the output buffer, without a copy.
 *
 * The unread input is bounded by the size of the first frame in the buffer plus a constant. An unknown peer may send no
 * frame larger than a hello, so it costs a few kilobytes whatever it sends. */
#include "net/tcp/channel.h"

#include "net/tcp/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	CHANNEL_READ_BYTES = 1 << 16, /* in one call of read() */
	READ_MAX = 1 << 20,           /* unread, beyond the first frame */
	STRANGER_READ_BYTES = 1 << 12,
};
#define HANDSHAKE_NS UINT64_C(5000000000)
#define CHANNEL_KEPT_BYTES                                                                                             \
	((size_t)16 << 20) /* a larger buffer was made for a world or a mesh, and goes when it is empty */
#define QUEUE_MAX (2 * ((size_t)FRAME_PAYLOAD_MAX + FRAME_HEADER_BYTES))

enum phase { CONNECTING, SHAKING_HANDS, CHANNEL_OPEN, FAILED };

struct channel {
	int fd;
	enum phase phase;
	char *peer;
	struct tls *tls; /* NULL: no encryption */
	uint64_t deadline_ns;
	uint32_t limit;
	bool wants_write; /* TLS waits for the socket to be writable */
	bool finishing, said_goodbye;
	bool unread; /* a write failed, and the input was not read since */
	bool server;
	struct troupe_error failure;
	struct {
		char *at;
		size_t begin, end, room;
		bool any; /* any byte was received */
	} in;
	struct text out; /* bytes that wait, from out_begin on */
	size_t out_begin, frame_begin, queue_max;
	uint64_t sent, received;               /* bytes without TLS */
	uint64_t sent_before, received_before; /* the part of `sent` and `received` that is counted no more */
};

static troupe_status channel_break_off(struct channel *channel, troupe_status status, struct troupe_error *error,
	const char *format, ...) TROUPE_PRINTF(4, 5);

static const char *channel_colon(const struct channel *channel)
{
	return *channel->peer ? ": " : "";
}

/* Only the first failure is kept. */
static troupe_status channel_break_off(
	struct channel *channel, troupe_status status, struct troupe_error *error, const char *format, ...)
{
	struct troupe_error why;
	va_list args;
	va_start(args, format);
	fail_v(&why, status, format, args);
	va_end(args);
	if (channel->phase != FAILED)
		fail(&channel->failure, status, "%s%s%s", channel->peer, channel_colon(channel), why.text);
	channel->phase = FAILED;
	return fail(error, channel->failure.status, "%s", channel->failure.text);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static void channel_set_up_socket(int fd)
{
	int on = 1;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	/* fails for a socket that is not TCP: a pair of local sockets */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static troupe_status channel_set_up_tls(
	struct channel *channel, const struct channel_options *options, struct troupe_error *error)
{
	struct tls_context *context = options->tls;
	if (context) {
		tls_context_keep(context);
	} else {
		if (!options->key)
			return TROUPE_OK;
		troupe_status status = tls_context_create(options->key, &context, error);
		if (status)
			return status;
	}
	channel->tls = tls_create(context, channel->fd, options->role == CHANNEL_SERVER);
	tls_context_drop(context);
	return TROUPE_OK;
}

static void channel_feed(struct channel *channel, const void *bytes, size_t count)
{
	if (channel->tls) {
		tls_feed(channel->tls, bytes, count);
	} else if (count) {
		channel->in.at = mem_alloc(count);
		channel->in.end = channel->in.room = count;
		memcpy(channel->in.at, bytes, count);
		channel->received = count;
	}
}

static troupe_status channel_make(int fd, const char *peer, const struct channel_options *options, uint64_t now_ns,
	enum phase phase, struct channel **ret_channel, struct troupe_error *error)
{
	struct channel *channel = mem_alloc(sizeof *channel);
	channel->fd = fd;
	channel->phase = phase;
	channel->server = options->role == CHANNEL_SERVER;
	troupe_status status = channel_set_up_tls(channel, options, error);
	if (status) {
		free(channel);
		return status;
	}
	channel_set_up_socket(fd);
	channel->peer = mem_strdup(peer);
	channel->deadline_ns = now_ns + (options->handshake_ns ? options->handshake_ns : HANDSHAKE_NS);
	channel->queue_max = options->queue_max ? options->queue_max : QUEUE_MAX;
	channel->limit = frame_limit(FRAME_HELLO);
	channel_feed(channel, options->first, options->first_count);
	if (phase == SHAKING_HANDS && !channel->tls)
		channel->phase = CHANNEL_OPEN;
	*ret_channel = channel;
	return TROUPE_OK;
}

troupe_status channel_create(int fd, const char *peer, const struct channel_options *options, uint64_t now_ns,
	struct channel **ret_channel, struct troupe_error *error)
{
	/* A connecting socket is not writable yet; a connected one is. */
	return channel_make(fd, peer, options, now_ns, options->role == CHANNEL_CLIENT ? CONNECTING : SHAKING_HANDS,
		ret_channel, error);
}

troupe_status channel_connect(const struct address *address, const struct channel_options *options, uint64_t now_ns,
	struct channel **ret_channel, struct troupe_error *error)
{
	char peer[ADDRESS_TEXT_BYTES];
	const struct sockaddr *raw = (const struct sockaddr *)(const void *)address->raw;
	address_text(address, peer);
	int fd = socket(raw->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fail(error, TROUPE_EIO, "%s: no socket: %s", peer, strerror(errno));
	troupe_status status = TROUPE_OK;
	if (connect(fd, raw, (socklen_t)address->raw_bytes) && errno != EINPROGRESS)
		status = fail(error, TROUPE_EPEER, "%s: cannot be reached: %s", peer, strerror(errno));
	if (!status)
		status = channel_make(fd, peer, options, now_ns, CONNECTING, ret_channel, error);
	if (status)
		close(fd);
	return status;
}

void channel_destroy(struct channel *channel)
{
	if (!channel)
		return;
	if (channel->tls && channel->phase == CHANNEL_OPEN && !channel->said_goodbye && !channel_pending(channel))
		tls_say_goodbye(channel->tls);
	tls_destroy(channel->tls);
	close(channel->fd);
	free(channel->peer);
	free(channel->in.at);
	text_fini(&channel->out);
	free(channel);
}

/* --- questions ---------------------------------------------------------------------------------------------------- */

const char *channel_peer(const struct channel *channel)
{
	return channel->peer;
}

void channel_set_peer(struct channel *channel, const char *peer)
{
	char *copy = mem_strdup(peer);
	free(channel->peer);
	channel->peer = copy;
}

int channel_fd(const struct channel *channel)
{
	return channel->fd;
}

short channel_poll_events(const struct channel *channel)
{
	bool writes = channel->phase == CONNECTING || (channel->phase != FAILED && channel->wants_write) ||
		      (channel->phase == CHANNEL_OPEN && channel_pending(channel));
	return (short)(POLLIN | (writes ? POLLOUT : 0));
}

bool channel_is_open(const struct channel *channel)
{
	return channel->phase == CHANNEL_OPEN;
}

size_t channel_pending(const struct channel *channel)
{
	return channel->out.count - channel->out_begin;
}

void channel_forget_counts(struct channel *channel)
{
	channel->sent_before += channel_bytes_sent(channel);
	channel->received_before += channel_bytes_received(channel);
}

uint64_t channel_bytes_sent(const struct channel *channel)
{
	return (channel->tls ? tls_bytes_sent(channel->tls) : channel->sent) - channel->sent_before;
}

uint64_t channel_bytes_received(const struct channel *channel)
{
	return (channel->tls ? tls_bytes_received(channel->tls) : channel->received) - channel->received_before;
}

void channel_limit(struct channel *channel, uint32_t payload_bytes)
{
	channel->limit = payload_bytes;
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

static troupe_status channel_work_connect(struct channel *channel, struct troupe_error *error)
{
	struct pollfd poll_fd = {.fd = channel->fd, .events = POLLOUT};
	int code = 0;
	socklen_t bytes = sizeof code;
	if (poll(&poll_fd, 1, 0) <= 0)
		return TROUPE_OK;
	if (getsockopt(channel->fd, SOL_SOCKET, SO_ERROR, &code, &bytes))
		code = errno;
	if (code)
		return channel_break_off(channel, TROUPE_EPEER, error, "cannot be reached: %s", strerror(code));
	channel->phase = channel->tls ? SHAKING_HANDS : CHANNEL_OPEN;
	return TROUPE_OK;
}

static troupe_status channel_fail_io(struct channel *channel, int code, const char *when, struct troupe_error *error)
{
	const char *guess = "";
	bool mute = !channel->in.any && !channel->tls && channel->in.begin == channel->in.end;
	if (!channel->server && channel->phase == SHAKING_HANDS) /* a server with another key sends an alert */
		guess = ": it may have no key, and this process has one";
	else if (!channel->server && mute)
		guess = ": it may have a key, and this process has none";
	/* A peer that closes before it has read all that came resets the connection: here that is no other end. */
	if (code && !(mute && code == ECONNRESET))
		return channel_break_off(
			channel, TROUPE_EPEER, error, "the connection broke off%s: %s%s", when, strerror(code), guess);
	return channel_break_off(channel, TROUPE_EPEER, error, "closed the connection%s%s%s", when,
		mute ? " before it sent anything" : "", guess);
}

/* Handles a result of TLS. An error: the connection has failed. *ret_moved: TLS may be called again at once. */
static troupe_status channel_look_at(
	struct channel *channel, enum tls_result result, bool *ret_moved, struct troupe_error *error)
{
	const char *when = channel->phase == SHAKING_HANDS ? " during the TLS handshake" : "";
	*ret_moved = result == TLS_MOVED;
	switch (result) {
	case TLS_MOVED:
	case TLS_WANT_READ:
		return TROUPE_OK;
	case TLS_WANT_WRITE:
		channel->wants_write = true;
		return TROUPE_OK;
	case TLS_BROKE_OFF:
		return channel_fail_io(channel, errno, when, error);
	case TLS_CLOSED:
		return channel_fail_io(channel, 0, when, error);
	case TLS_REFUSED:
		break;
	}
	return channel_break_off(channel, TROUPE_EPROTOCOL, error, "%s", tls_reason(channel->tls));
}

static troupe_status channel_work_handshake(struct channel *channel, struct troupe_error *error)
{
	bool done = false;
	channel->wants_write = false;
	troupe_status status = channel_look_at(channel, tls_handshake(channel->tls), &done, error);
	if (done)
		channel->phase = CHANNEL_OPEN;
	return status;
}

static troupe_status channel_work_opening(struct channel *channel, uint64_t now_ns, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	const char *what =
		channel->phase == CONNECTING ? "does not answer" : "did not complete the TLS handshake in time";
	if (channel->phase == CONNECTING)
		status = channel_work_connect(channel, error);
	if (!status && channel->phase == SHAKING_HANDS)
		status = channel_work_handshake(channel, error);
	if (!status && channel->phase < CHANNEL_OPEN && now_ns >= channel->deadline_ns)
		status = channel_break_off(channel, TROUPE_EPEER, error, "%s", what);
	return status;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static troupe_status channel_write_some(struct channel *channel, size_t *ret_count, struct troupe_error *error)
{
	const char *bytes = channel->out.at + channel->out_begin;
	bool moved;
	*ret_count = 0;
	if (channel->tls)
		return channel_look_at(
			channel, tls_write(channel->tls, bytes, channel_pending(channel), ret_count), &moved, error);
	ssize_t sent = send(channel->fd, bytes, channel_pending(channel), MSG_NOSIGNAL | MSG_DONTWAIT);
	if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
		return channel_fail_io(channel, errno, "", error);
	*ret_count = sent > 0 ? (size_t)sent : 0;
	channel->sent += *ret_count;
	return TROUPE_OK;
}

/* Frees the written part of the buffer: when all is written (and a large buffer with it), or when the written part is
 * at least as large as the rest. */
static void channel_forget_written(struct channel *channel)
{
	size_t pending = channel_pending(channel);
	if (channel->out_begin < pending)
		return;
	if (pending)
		memmove(channel->out.at, channel->out.at + channel->out_begin, pending);
	channel->out.count = pending;
	channel->out_begin = 0;
	if (!pending && channel->out.room > CHANNEL_KEPT_BYTES)
		text_fini(&channel->out);
}

static troupe_status channel_write_out(struct channel *channel, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	size_t count = 1;
	channel->wants_write = false;
	while (!status && count && channel_pending(channel)) {
		status = channel_write_some(channel, &count, error);
		channel->out_begin += count;
	}
	channel_forget_written(channel);
	return status;
}

struct text *channel_begin(struct channel *channel)
{
	static const char header[FRAME_HEADER_BYTES];
	channel->frame_begin = channel->out.count;
	text_add_bytes(&channel->out, header, sizeof header);
	return &channel->out;
}

troupe_status channel_end(struct channel *channel, enum frame_type type, struct troupe_error *error)
{
	size_t begin = channel->frame_begin, count = channel->out.count - begin - FRAME_HEADER_BYTES;
	if (channel->phase == FAILED || channel->finishing || count > frame_limit(type) ||
		channel_pending(channel) > channel->queue_max) {
		bool too_large = count > frame_limit(type);
		channel->out.count = begin;
		if (channel->phase == FAILED)
			return fail(error, channel->failure.status, "%s", channel->failure.text);
		if (too_large)
			return fail(error, TROUPE_ELIMIT, "%s%sa frame %s of %zu bytes to it: at most %u are allowed",
				channel->peer, channel_colon(channel), frame_name(type), count, frame_limit(type));
		return fail(error, TROUPE_ELIMIT, "%s%sdoes not receive: %zu bytes wait to be sent", channel->peer,
			channel_colon(channel), channel_pending(channel));
	}
	frame_put_header((unsigned char *)channel->out.at + begin, type, (uint32_t)count);
	troupe_status status = channel->phase == CHANNEL_OPEN ? channel_write_out(channel, error) : TROUPE_OK;
	channel->unread = status && !channel->tls;
	return status;
}

troupe_status channel_send(
	struct channel *channel, enum frame_type type, const void *bytes, size_t count, struct troupe_error *error)
{
	struct text *out = channel_begin(channel);
	if (count)
		text_add_bytes(out, bytes, count);
	return channel_end(channel, type, error);
}

void channel_finish(struct channel *channel)
{
	channel->finishing = true;
}

static void channel_say_goodbye(struct channel *channel)
{
	if (!channel->finishing || channel->said_goodbye || channel_pending(channel))
		return;
	if (channel->tls)
		tls_say_goodbye(channel->tls);
	shutdown(channel->fd, SHUT_WR);
	channel->said_goodbye = true;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static size_t channel_read_bytes_of(const struct channel *channel)
{
	return channel->limit > STRANGER_READ_BYTES ? CHANNEL_READ_BYTES : STRANGER_READ_BYTES;
}

/* The limit for unread input. */
static size_t channel_in_max(const struct channel *channel)
{
	size_t have = channel->in.end - channel->in.begin, frame = 0;
	enum frame_type type;
	uint32_t payload;
	if (have >= FRAME_HEADER_BYTES && !frame_get_header((unsigned char *)channel->in.at + channel->in.begin,
						  channel->limit, &type, &payload, NULL))
		frame = FRAME_HEADER_BYTES + payload;
	return frame + (channel->limit > STRANGER_READ_BYTES ? READ_MAX : STRANGER_READ_BYTES);
}

static void channel_make_room(struct channel *channel)
{
	size_t have = channel->in.end - channel->in.begin, least = channel_read_bytes_of(channel);
	if (!have && channel->in.room > CHANNEL_KEPT_BYTES) {
		free(channel->in.at);
		channel->in.at = NULL;
		channel->in.room = channel->in.begin = channel->in.end = 0;
	}
	if (channel->in.room - channel->in.end >= least)
		return;
	if (channel->in.begin && have)
		memmove(channel->in.at, channel->in.at + channel->in.begin, have);
	channel->in.begin = 0;
	channel->in.end = have;
	if (channel->in.room - have >= least)
		return;
	channel->in.room = MAX(2 * channel->in.room, have + least);
	channel->in.at = mem_realloc(channel->in.at, channel->in.room);
}

static troupe_status channel_read_some(struct channel *channel, bool *ret_again, struct troupe_error *error)
{
	char *to = channel->in.at + channel->in.end;
	size_t room = channel->in.room - channel->in.end, count = 0;
	troupe_status status = TROUPE_OK;
	if (channel->tls) {
		status = channel_look_at(channel, tls_read(channel->tls, to, room, &count), ret_again, error);
		channel->in.end += status ? 0 : count;
		return status;
	}
	ssize_t got = recv(channel->fd, to, room, MSG_DONTWAIT);
	*ret_again = got == (ssize_t)room;
	if (got == 0)
		return channel_fail_io(channel, 0, "", error);
	if (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
		return channel_fail_io(channel, errno, "", error);
	channel->in.end += got > 0 ? (size_t)got : 0;
	channel->received += got > 0 ? (uint64_t)got : 0;
	return TROUPE_OK;
}

static troupe_status channel_read_in(struct channel *channel, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	bool again = true;
	if (channel->tls)
		tls_look_again(channel->tls);
	while (!status && again && channel->in.end - channel->in.begin < channel_in_max(channel)) {
		channel_make_room(channel);
		status = channel_read_some(channel, &again, error);
		if (channel->finishing)
			channel->in.begin = channel->in.end = 0;
	}
	return status;
}

/* After a failed write, the peer's last frames may hold the reason, so they are read. Not with TLS, which is unusable
 * after a failure. */
static troupe_status channel_read_last(struct channel *channel, struct troupe_error *error)
{
	if (channel->unread)
		(void)channel_read_in(channel, NULL);
	channel->unread = false;
	return fail(error, channel->failure.status, "%s", channel->failure.text);
}

troupe_status channel_work(struct channel *channel, uint64_t now_ns, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	if (channel->phase == FAILED)
		return channel_read_last(channel, error);
	if (channel->phase < CHANNEL_OPEN)
		status = channel_work_opening(channel, now_ns, error);
	if (status || channel->phase != CHANNEL_OPEN)
		return status;
	if (channel_pending(channel))
		status = channel_write_out(channel, error);
	if (status) {
		channel->unread = !channel->tls;
		return channel_read_last(channel, error);
	}
	channel_say_goodbye(channel);
	return channel_read_in(channel, error);
}

/* --- frames ------------------------------------------------------------------------------------------------------- */

bool channel_peek(const struct channel *channel, enum frame_type *ret_type)
{
	const unsigned char *at = (const unsigned char *)channel->in.at + channel->in.begin;
	size_t have = channel->in.end - channel->in.begin;
	uint32_t payload;
	return have >= FRAME_HEADER_BYTES && !channel->finishing &&
	       !frame_get_header(at, channel->limit, ret_type, &payload, NULL) && have >= FRAME_HEADER_BYTES + payload;
}

static const char channel_their_tls[] = "it speaks TLS: it has a key, and this process has none";

static bool channel_looks_like_tls(const unsigned char *header)
{
	return (header[0] == 0x16 || header[0] == 0x15) && header[1] == 0x03 && header[2] <= 0x04;
}

troupe_status channel_first(const void *bytes, size_t count, bool with_key, bool *ret_whole, struct troupe_error *error)
{
	struct troupe_error why;
	enum frame_type type;
	uint32_t payload;
	if (with_key)
		return tls_first(bytes, count, ret_whole, error);
	*ret_whole = false;
	if (count < FRAME_HEADER_BYTES)
		return TROUPE_OK;
	if (frame_get_header(bytes, frame_limit(FRAME_HELLO), &type, &payload, &why))
		return fail(
			error, TROUPE_EPROTOCOL, "%s", channel_looks_like_tls(bytes) ? channel_their_tls : why.text);
	if (type != FRAME_HELLO)
		return fail(error, TROUPE_EPROTOCOL, "its first frame is %s: expected HELLO", frame_name(type));
	*ret_whole = count >= FRAME_HEADER_BYTES + payload;
	return TROUPE_OK;
}

bool channel_receive(struct channel *channel, enum frame_type *ret_type, const char **ret_bytes, size_t *ret_count,
	troupe_status *ret_status, struct troupe_error *error)
{
	const char *at = channel->in.at + channel->in.begin;
	size_t have = channel->in.end - channel->in.begin;
	struct troupe_error why;
	uint32_t payload;
	*ret_status = TROUPE_OK;
	if (have < FRAME_HEADER_BYTES || channel->finishing)
		return false;
	if (frame_get_header((const unsigned char *)at, channel->limit, ret_type, &payload, &why)) {
		bool tls = !channel->tls && !channel->in.any && channel_looks_like_tls((const unsigned char *)at);
		*ret_status =
			channel_break_off(channel, TROUPE_EPROTOCOL, error, "%s", tls ? channel_their_tls : why.text);
		return false;
	}
	if (have < FRAME_HEADER_BYTES + payload)
		return false;
	channel->in.any = true;
	channel->in.begin += FRAME_HEADER_BYTES + payload;
	*ret_bytes = at + FRAME_HEADER_BYTES;
	*ret_count = payload;
	return true;
}
