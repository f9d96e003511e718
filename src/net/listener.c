#include "net/listener.h"

#include "net/tls.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)
enum { ACCEPTS_PER_SECOND = 200, BACKLOG = 128 };

struct stranger {
	struct channel *channel;
	struct address address;
	uint64_t deadline_ns;
};

struct listener {
	int fd;
	struct address address;
	struct tls_context *tls; /* NULL: in the clear */
	uint64_t hello_ns;
	/* One accept is earned in each interval, and a second's worth can be saved up. */
	uint64_t interval_ns, earned_ns;                   /* earned_ns: up to when accepts have been spent */
	struct stranger strangers[LISTENER_STRANGERS_MAX]; /* in the order in which they came */
	uint32_t count;
	struct listener_counts counts;
	struct refusal {
		struct address address;
		struct troupe_error why;
	} refusals[LISTENER_REFUSALS_MAX]; /* that nobody has asked for */
	uint32_t refusal_count;
};

/* --- life --------------------------------------------------------------------------------------------------------- */

static troupe_status open_socket(struct listener *listener, struct troupe_error *error)
{
	const struct sockaddr *raw = (const struct sockaddr *)(const void *)listener->address.raw;
	struct sockaddr_storage got;
	socklen_t bytes = sizeof got;
	int on = 1;
	listener->fd = socket(raw->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (listener->fd < 0 || setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
		bind(listener->fd, raw, (socklen_t)listener->address.raw_bytes) || listen(listener->fd, BACKLOG) ||
		getsockname(listener->fd, (struct sockaddr *)&got, &bytes)) {
		char text[ADDRESS_TEXT_BYTES];
		int code = errno;
		address_text(&listener->address, text);
		return fail(error, TROUPE_EIO, "cannot listen on %s: %s%s", text, strerror(code),
			code == EADDRINUSE ? ": is there another primary on this machine? --network-listen :PORT "
					     "takes another port"
					   : "");
	}
	memcpy(listener->address.raw, &got, MIN(bytes, ADDRESS_RAW_BYTES));
	return TROUPE_OK;
}

static troupe_status check_options(const struct listener_options *options, struct troupe_error *error)
{
	char text[ADDRESS_TEXT_BYTES];
	if (options->key || options->insecure || address_is_loopback(&options->address))
		return TROUPE_OK;
	address_text(&options->address, text);
	return fail(error, TROUPE_EINVAL,
		"%s is not loopback, and there is no key: expected a key (troupe keygen makes one) or "
		"--network-insecure",
		text);
}

troupe_status listener_create(
	const struct listener_options *options, struct listener **ret_listener, struct troupe_error *error)
{
	struct tls_context *tls = NULL;
	troupe_status status = check_options(options, error);
	if (!status && options->key)
		status = tls_context_create(options->key, &tls, error);
	if (status)
		return status;
	struct listener *listener = mem_alloc(sizeof *listener);
	listener->fd = -1;
	listener->address = options->address;
	listener->tls = tls;
	listener->hello_ns = options->hello_ns ? options->hello_ns : 2 * SECOND_NS;
	listener->interval_ns =
		SECOND_NS / (options->accepts_per_second ? options->accepts_per_second : ACCEPTS_PER_SECOND);
	status = open_socket(listener, error);
	if (status) {
		listener_destroy(listener);
		return status;
	}
	*ret_listener = listener;
	return TROUPE_OK;
}

void listener_destroy(struct listener *listener)
{
	if (!listener)
		return;
	for (uint32_t i = 0; i < listener->count; i++)
		channel_destroy(listener->strangers[i].channel);
	if (listener->fd >= 0)
		close(listener->fd);
	tls_context_drop(listener->tls);
	free(listener);
}

const struct address *listener_address(const struct listener *listener)
{
	return &listener->address;
}

struct listener_counts listener_counts(const struct listener *listener)
{
	return listener->counts;
}

bool listener_take_refusal(struct listener *listener, struct address *ret_address, struct troupe_error *ret_why)
{
	if (!listener->refusal_count)
		return false;
	*ret_address = listener->refusals[0].address;
	*ret_why = listener->refusals[0].why;
	listener->refusal_count--;
	memmove(&listener->refusals[0], &listener->refusals[1], listener->refusal_count * sizeof listener->refusals[0]);
	return true;
}

/* --- who is here -------------------------------------------------------------------------------------------------- */

static void take_out(struct listener *listener, uint32_t at)
{
	listener->count--;
	memmove(&listener->strangers[at], &listener->strangers[at + 1],
		(listener->count - at) * sizeof listener->strangers[0]);
}

static void turn_away(struct listener *listener, uint32_t at, uint64_t *counter, const struct troupe_error *why)
{
	if (listener->refusal_count < LISTENER_REFUSALS_MAX)
		listener->refusals[listener->refusal_count++] = (struct refusal){listener->strangers[at].address, *why};
	*counter += 1;
	channel_destroy(listener->strangers[at].channel);
	take_out(listener, at);
}

static uint32_t count_of_host(const struct listener *listener, const struct address *address)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < listener->count; i++)
		count += address_same_host(&listener->strangers[i].address, address);
	return count;
}

/* The host that has most loses its oldest: the first in the table whose host has as many as any. */
static void make_room(struct listener *listener)
{
	uint32_t victim = 0, most = 0;
	for (uint32_t i = 0; i < listener->count; i++) {
		uint32_t count = count_of_host(listener, &listener->strangers[i].address);
		if (count > most) {
			most = count;
			victim = i;
		}
	}
	struct troupe_error error;
	fail(&error, TROUPE_ELIMIT, "%s: made room for others: too many have connected and not said hello",
		channel_peer(listener->strangers[victim].channel));
	turn_away(listener, victim, &listener->counts.dropped, &error);
}

/* --- accepting ---------------------------------------------------------------------------------------------------- */

static void let_in(struct listener *listener, int fd, const struct address *address, uint64_t now_ns)
{
	struct channel_options options = {.role = CHANNEL_SERVER, .tls = listener->tls, .handshake_ns = UINT64_MAX / 2};
	struct channel *channel;
	struct troupe_error error;
	char text[ADDRESS_TEXT_BYTES];
	/* the stranger's own deadline comes first */
	address_text(address, text);
	if (channel_create(fd, text, &options, now_ns, &channel, &error)) {
		close(fd);
		return;
	}
	if (listener->count == LISTENER_STRANGERS_MAX)
		make_room(listener);
	listener->strangers[listener->count++] = (struct stranger){channel, *address, now_ns + listener->hello_ns};
	listener->counts.accepted++;
}

static bool may_accept(const struct listener *listener, uint64_t now_ns)
{
	return listener->earned_ns + listener->interval_ns <= now_ns;
}

static void spend(struct listener *listener, uint64_t now_ns)
{
	uint64_t saved_up = now_ns > SECOND_NS ? now_ns - SECOND_NS : 0;
	listener->earned_ns = MAX(listener->earned_ns, saved_up) + listener->interval_ns;
}

static void accept_some(struct listener *listener, uint64_t now_ns)
{
	for (int i = 0; i < LISTENER_ACCEPTS_MAX && may_accept(listener, now_ns); i++) {
		struct address address = {.raw_bytes = ADDRESS_RAW_BYTES};
		struct sockaddr *raw = (struct sockaddr *)(void *)address.raw;
		socklen_t bytes = ADDRESS_RAW_BYTES;
		int fd = accept4(listener->fd, raw, &bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
		address.raw_bytes = bytes;
		if (fd >= 0)
			let_in(listener, fd, &address, now_ns);
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
			return;
		spend(listener, now_ns); /* an error, too: out of files, say, which would be there again at once */
	}
}

/* --- working ------------------------------------------------------------------------------------------------------ */

/* OK: goes on, or its hello is there. */
static troupe_status look_at(struct stranger *stranger, uint64_t now_ns, struct troupe_error *error)
{
	struct channel *channel = stranger->channel;
	enum frame_type type;
	const char *bytes;
	size_t count;
	troupe_status status = channel_work(channel, now_ns, error), refused;
	bool whole = channel_peek(channel, &type);
	if (whole && type == FRAME_HELLO)
		return TROUPE_OK; /* what failed after it, if anything did, will fail again */
	if (status)
		return status;
	if (whole)
		return fail(error, TROUPE_EPROTOCOL, "%s: its first frame is %s: expected HELLO", channel_peer(channel),
			frame_name(type));
	channel_receive(channel, &type, &bytes, &count, &refused, error);
	return refused;
}

/* Whether it is still here. */
static bool work_one(struct listener *listener, uint32_t at, uint64_t now_ns)
{
	struct stranger *stranger = &listener->strangers[at];
	struct troupe_error error;
	if (look_at(stranger, now_ns, &error)) {
		turn_away(listener, at, &listener->counts.broken, &error);
		return false;
	}
	if (now_ns < stranger->deadline_ns)
		return true;
	fail(&error, TROUPE_EPEER, "%s: connected, but did not say hello in time", channel_peer(stranger->channel));
	turn_away(listener, at, &listener->counts.late, &error);
	return false;
}

void listener_work(struct listener *listener, uint64_t now_ns)
{
	accept_some(listener, now_ns);
	for (uint32_t i = 0; i < listener->count;)
		i += work_one(listener, i, now_ns);
}

struct channel *listener_take(struct listener *listener)
{
	enum frame_type type;
	for (uint32_t i = 0; i < listener->count; i++) {
		struct channel *channel = listener->strangers[i].channel;
		if (!channel_peek(channel, &type) || type != FRAME_HELLO)
			continue;
		take_out(listener, i);
		listener->counts.taken++;
		return channel;
	}
	return NULL;
}

uint32_t listener_poll(const struct listener *listener, uint64_t now_ns, struct pollfd *ret_fds)
{
	uint32_t count = 0;
	if (may_accept(listener, now_ns))
		ret_fds[count++] = (struct pollfd){.fd = listener->fd, .events = POLLIN};
	for (uint32_t i = 0; i < listener->count; i++)
		ret_fds[count++] = (struct pollfd){.fd = channel_fd(listener->strangers[i].channel),
			.events = channel_poll_events(listener->strangers[i].channel)};
	return count;
}

uint64_t listener_deadline_ns(const struct listener *listener, uint64_t now_ns)
{
	uint64_t deadline_ns = may_accept(listener, now_ns) ? UINT64_MAX : listener->earned_ns + listener->interval_ns;
	for (uint32_t i = 0; i < listener->count; i++)
		deadline_ns = MIN(deadline_ns, listener->strangers[i].deadline_ns);
	return deadline_ns;
}
