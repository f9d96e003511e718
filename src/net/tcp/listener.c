/* The checks of a new connection are ordered by cost, and each lets fewer connections through: to accept and close
 * costs 8 us, to read the first bytes another 8 us, a TLS handshake that fails 110 us, one that succeeds 500 us. So a
 * channel is made only for a connection whose first bytes may be ours. A few channels are made at a time, first for
 * hosts that have not had their share.
 *
 * A limit of 200 accepts in a second was tried: it left the kernel's queue full, and in a flood a genuine peer needed
 * three to ten seconds to get into the queue. To leave silent connections in the kernel (TCP_DEFER_ACCEPT) helps until
 * its queue of half-open connections is full, which takes a tenth of a second.
 *
 * When no file is free, accept() fails and the listening socket stays readable. Then a waiting connection is closed to
 * make room. If there is none, a file that is kept in reserve is closed, so that new connections can be accepted and
 * closed at once: their peers learn that they are refused. Then accepting pauses. */
#include "net/tcp/listener.h"

#include "net/tcp/quota.h"
#include "net/tcp/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)
#define PAUSE_NS UINT64_C(100000000) /* after accepting has failed */
enum {
	STARTS_PER_SECOND = 50, /* per host; more only while no other host has a connection to start */
	STARTS_BURST = 64,
	FAILURES_MAX = 16,      /* consecutive failures before a pause */
	LISTENER_SHED_MAX = 16, /* connections closed at one time */
};

struct listener_waiting {
	int fd;
	struct address address;
	struct sender sender;
	uint64_t deadline_ns;
	char *first; /* bytes received; NULL: none */
	size_t count;
	bool whole; /* these bytes are enough to tell, and may begin a hello */
};

struct unknown_peer {
	struct channel *channel;
	struct address address;
	struct sender sender;
	uint64_t deadline_ns;
};

struct listener {
	int fd, reserve;
	struct address address;
	struct tls_context *tls; /* NULL: no encryption */
	uint64_t hello_ns;
	/* One accept is earned per interval, up to a second's worth can be saved; 0: no limit. */
	uint64_t interval_ns, earned_ns;                       /* earned_ns: time up to which accepts are spent */
	uint64_t pause_until_ns;                               /* after failures of accept() */
	uint32_t failures;                                     /* consecutive */
	struct listener_waiting waiting[LISTENER_WAITING_MAX]; /* waiting and unknown peers: in order of arrival */
	struct unknown_peer unknown[LISTENER_UNKNOWN_MAX];
	uint32_t waiting_count, whole_count, count;
	struct quota_table waiting_share, share;
	struct quota_rate starts;
	struct listener_counts counts;
	struct refusal {
		struct address address;
		struct troupe_error why;
	} refusals[LISTENER_REFUSALS_MAX]; /* not yet taken by listener_take_refusal() */
	uint32_t refusal_count;
};

/* --- life --------------------------------------------------------------------------------------------------------- */

static troupe_status listener_open_socket(struct listener *listener, const char *in_use, struct troupe_error *error)
{
	listener->fd = address_listen(&listener->address, SOMAXCONN);
	if (listener->fd < 0) {
		char text[ADDRESS_TEXT_BYTES];
		int code = errno;
		address_text(&listener->address, text);
		return fail(error, TROUPE_EIO, "cannot listen on %s: %s%s", text, strerror(code),
			code == EADDRINUSE && in_use ? in_use : "");
	}
	listener->reserve = fcntl(listener->fd, F_DUPFD_CLOEXEC, 0);
	return TROUPE_OK;
}

static troupe_status listener_check_options(const struct listener_options *options, struct troupe_error *error)
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
	uint64_t secrets[3];
	troupe_status status = listener_check_options(options, error);
	if (!status)
		status = key_random_bytes(secrets, sizeof secrets, error);
	if (!status && options->key)
		status = tls_context_create(options->key, &tls, error);
	if (status)
		return status;
	struct listener *listener = mem_alloc(sizeof *listener);
	listener->fd = listener->reserve = -1;
	listener->address = options->address;
	listener->tls = tls;
	listener->hello_ns = options->hello_ns ? options->hello_ns : 2 * SECOND_NS;
	listener->waiting_share.secret = secrets[0];
	listener->share.secret = secrets[1];
	quota_rate_init(&listener->starts, secrets[2], SECOND_NS / STARTS_PER_SECOND, STARTS_BURST);
	status = listener_open_socket(listener, options->in_use, error);
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
	for (uint32_t i = 0; i < listener->waiting_count; i++) {
		close(listener->waiting[i].fd);
		free(listener->waiting[i].first);
	}
	for (uint32_t i = 0; i < listener->count; i++)
		channel_destroy(listener->unknown[i].channel);
	if (listener->fd >= 0)
		close(listener->fd);
	if (listener->reserve >= 0)
		close(listener->reserve);
	tls_context_drop(listener->tls);
	free(listener);
}

const struct address *listener_address(const struct listener *listener)
{
	return &listener->address;
}

void listener_slow_down(struct listener *listener, uint32_t accepts_per_second)
{
	listener->interval_ns = accepts_per_second ? SECOND_NS / accepts_per_second : 0;
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

/* --- peers of the run --------------------------------------------------------------------------------------------- */

static const char listener_too_many[] = "made room for another connection: too many connections wait without a hello";
static const char listener_too_late[] = "connected, but sent no hello in time";

/* named: why already begins with the name of the peer. */
static void listener_remember_refusal(
	struct listener *listener, const struct address *address, const char *why, bool named)
{
	char text[ADDRESS_TEXT_BYTES];
	if (listener->refusal_count == LISTENER_REFUSALS_MAX)
		return;
	struct refusal *refusal = &listener->refusals[listener->refusal_count++];
	refusal->address = *address;
	address_text(address, text);
	fail(&refusal->why, TROUPE_EPEER, "%s%s%s", named ? "" : text, named ? "" : ": ", why);
}

/* Removes the entry. The caller now owns its file and its bytes. */
static void listener_take_out_waiting(struct listener *listener, uint32_t at)
{
	struct listener_waiting *waiting = &listener->waiting[at];
	quota_leave(&listener->waiting_share, waiting->sender);
	listener->whole_count -= waiting->whole;
	listener->waiting_count--;
	memmove(waiting, waiting + 1, (listener->waiting_count - at) * sizeof *waiting);
}

static void listener_turn_away_waiting(struct listener *listener, uint32_t at, uint64_t *counter, const char *why)
{
	const struct listener_waiting waiting = listener->waiting[at];
	listener_remember_refusal(listener, &waiting.address, why, false);
	*counter += 1;
	close(waiting.fd);
	free(waiting.first);
	listener_take_out_waiting(listener, at);
}

static void listener_take_out(struct listener *listener, uint32_t at)
{
	quota_leave(&listener->share, listener->unknown[at].sender);
	listener->count--;
	memmove(&listener->unknown[at], &listener->unknown[at + 1],
		(listener->count - at) * sizeof listener->unknown[0]);
}

static void listener_turn_away(
	struct listener *listener, uint32_t at, uint64_t *counter, const struct troupe_error *why)
{
	listener_remember_refusal(listener, &listener->unknown[at].address, why->text, true);
	*counter += 1;
	channel_destroy(listener->unknown[at].channel);
	listener_take_out(listener, at);
}

/* Turns away one waiting connection, of the host with most connections: the oldest that has not sent enough; if all
 * have, the newest, because the others came before it. */
static void listener_make_room_to_wait(struct listener *listener)
{
	uint32_t victim = 0;
	uint64_t most = 0;
	for (uint32_t i = 0; i < listener->waiting_count; i++) {
		const struct listener_waiting *waiting = &listener->waiting[i];
		uint64_t weight = quota_weight(&listener->waiting_share, waiting->sender);
		if (weight > most || (weight == most && listener->waiting[victim].whole)) {
			victim = i;
			most = weight;
		}
	}
	listener_turn_away_waiting(listener, victim, &listener->counts.dropped, listener_too_many);
}

/* Of one host: the oldest. */
static void listener_make_room(struct listener *listener)
{
	struct troupe_error error;
	uint32_t victim = 0;
	uint64_t most = 0;
	for (uint32_t i = 0; i < listener->count; i++) {
		uint64_t weight = quota_weight(&listener->share, listener->unknown[i].sender);
		if (weight > most) {
			victim = i;
			most = weight;
		}
	}
	fail(&error, TROUPE_ELIMIT, "%s: %s", channel_peer(listener->unknown[victim].channel), listener_too_many);
	listener_turn_away(listener, victim, &listener->counts.dropped, &error);
}

/* --- accepting ---------------------------------------------------------------------------------------------------- */

static bool listener_may_accept(const struct listener *listener, uint64_t now_ns)
{
	return now_ns >= listener->pause_until_ns && listener->earned_ns + listener->interval_ns <= now_ns;
}

static void listener_spend(struct listener *listener, uint64_t now_ns)
{
	uint64_t saved_up = now_ns > SECOND_NS ? now_ns - SECOND_NS : 0;
	if (listener->interval_ns)
		listener->earned_ns = MAX(listener->earned_ns, saved_up) + listener->interval_ns;
}

static void listener_have_wait(struct listener *listener, int fd, const struct address *address, uint64_t now_ns)
{
	struct listener_waiting waiting = {.fd = fd,
		.address = *address,
		.sender = address_sender(address),
		.deadline_ns = now_ns + listener->hello_ns};
	/* the newcomer counts too, so that its own host makes room when that host has the most */
	quota_enter(&listener->waiting_share, waiting.sender);
	if (listener->waiting_count == LISTENER_WAITING_MAX)
		listener_make_room_to_wait(listener);
	listener->waiting[listener->waiting_count++] = waiting;
	listener->counts.accepted++;
}

static bool listener_lacks_files(int code)
{
	return code == EMFILE || code == ENFILE || code == ENOBUFS || code == ENOMEM;
}

/* No file is free, and there is no waiting connection to close: new connections are accepted and closed at once. */
static void listener_shed(struct listener *listener)
{
	struct address address;
	if (listener->reserve < 0)
		return;
	close(listener->reserve);
	for (int i = 0; i < LISTENER_SHED_MAX; i++) {
		int fd = address_accept(listener->fd, &address);
		if (fd < 0)
			break;
		listener_remember_refusal(listener, &address, "this process has no file descriptor left for it", false);
		listener->counts.shed++;
		close(fd);
	}
	listener->reserve = fcntl(listener->fd, F_DUPFD_CLOEXEC, 0);
}

/* Without a free file, accept() fails in the same way when no connection has come. */
static bool listener_somebody_came(const struct listener *listener)
{
	struct pollfd fd = {.fd = listener->fd, .events = POLLIN};
	return poll(&fd, 1, 0) != 0;
}

/* A few failures are ignored, because a peer may have gone. A lasting failure would repeat at once, so accepting
 * pauses. */
static void listener_fail_to_accept(struct listener *listener, int code, uint64_t now_ns)
{
	listener->counts.failed++;
	listener->failures++;
	if (listener_lacks_files(code) && listener->waiting_count) {
		listener_make_room_to_wait(listener);
	} else if (listener_lacks_files(code)) {
		listener_shed(listener);
		listener->failures = FAILURES_MAX;
	}
	if (listener->failures < FAILURES_MAX)
		return;
	listener->failures = 0;
	listener->pause_until_ns = now_ns + PAUSE_NS;
}

static void listener_accept_some(struct listener *listener, uint64_t now_ns)
{
	for (int i = 0; i < LISTENER_ACCEPTS_MAX && listener_may_accept(listener, now_ns); i++) {
		struct address address;
		int fd = address_accept(listener->fd, &address), code = errno;
		if (fd < 0 && (code == EAGAIN || code == EWOULDBLOCK ||
				      (listener_lacks_files(code) && !listener_somebody_came(listener))))
			return;
		listener_spend(listener, now_ns);
		if (fd >= 0) {
			listener->failures = 0;
			listener_have_wait(listener, fd, &address, now_ns);
		} else {
			listener_fail_to_accept(listener, code, now_ns);
		}
	}
}

/* --- peers that wait ---------------------------------------------------------------------------------------------- */

/* Whether it is still here. */
static bool listener_judge(struct listener *listener, uint32_t at)
{
	struct listener_waiting *waiting = &listener->waiting[at];
	struct troupe_error error;
	if (channel_first(waiting->first, waiting->count, listener->tls != NULL, &waiting->whole, &error)) {
		listener_turn_away_waiting(listener, at, &listener->counts.broken, error.text);
		return false;
	}
	listener->whole_count += waiting->whole;
	return true;
}

/* Likewise. */
static bool listener_hear(struct listener *listener, uint32_t at)
{
	struct listener_waiting *waiting = &listener->waiting[at];
	char bytes[CHANNEL_FIRST_MAX];
	size_t room = CHANNEL_FIRST_MAX - waiting->count;
	ssize_t got = recv(waiting->fd, bytes, room, MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return true;
	if (got <= 0) {
		listener_turn_away_waiting(listener, at, &listener->counts.broken,
			got              ? "the connection broke off"
			: waiting->count ? "closed the connection before its hello was complete"
					 : "closed the connection before it sent anything");
		return false;
	}
	waiting->first = mem_realloc(waiting->first, waiting->count + (size_t)got);
	memcpy(waiting->first + waiting->count, bytes, (size_t)got);
	waiting->count += (size_t)got;
	return listener_judge(listener, at);
}

static void listener_hear_those_who_wait(struct listener *listener, uint64_t now_ns)
{
	struct pollfd fds[LISTENER_WAITING_MAX];
	for (uint32_t i = 0; i < listener->waiting_count; i++)
		fds[i] = (struct pollfd){
			.fd = listener->waiting[i].whole ? -1 : listener->waiting[i].fd, .events = POLLIN};
	if (listener->waiting_count && poll(fds, listener->waiting_count, 0) < 0)
		return;
	for (uint32_t i = 0, was = 0; i < listener->waiting_count; was++) {
		if (fds[was].revents && !listener_hear(listener, i))
			continue;
		if (now_ns < listener->waiting[i].deadline_ns)
			i++;
		else
			listener_turn_away_waiting(listener, i, &listener->counts.late, listener_too_late);
	}
}

/* Makes a channel for a waiting connection, which becomes an unknown peer. */
static void listener_start(struct listener *listener, uint32_t at, uint64_t now_ns)
{
	const struct listener_waiting waiting = listener->waiting[at];
	struct channel_options options = {.role = CHANNEL_SERVER,
		.tls = listener->tls,
		.handshake_ns = UINT64_MAX / 2, /* the unknown peer's own deadline comes first */
		.first = waiting.first,
		.first_count = waiting.count};
	struct unknown_peer unknown_peer = {
		.address = waiting.address, .sender = waiting.sender, .deadline_ns = waiting.deadline_ns};
	char text[ADDRESS_TEXT_BYTES];
	struct troupe_error error;
	address_text(&waiting.address, text);
	if (channel_create(waiting.fd, text, &options, now_ns, &unknown_peer.channel, &error)) {
		listener_turn_away_waiting(listener, at, &listener->counts.broken, error.text);
		return;
	}
	free(waiting.first);
	listener_take_out_waiting(listener, at);
	quota_enter(&listener->share, unknown_peer.sender);
	if (listener->count == LISTENER_UNKNOWN_MAX)
		listener_make_room(listener);
	listener->unknown[listener->count++] = unknown_peer;
}

/* First connections whose host has not had its share, then any. */
static void listener_start_some(struct listener *listener, uint64_t now_ns)
{
	uint32_t left = LISTENER_STARTS_MAX;
	for (int share = 1; share >= 0; share--)
		for (uint32_t i = 0; i < listener->waiting_count && left && listener->whole_count;) {
			const struct listener_waiting *waiting = &listener->waiting[i];
			bool goes =
				waiting->whole && (!share || quota_take(&listener->starts, waiting->sender, now_ns));
			left -= goes;
			if (goes)
				listener_start(listener, i, now_ns);
			else
				i++;
		}
}

/* --- unknown peers ------------------------------------------------------------------------------------------------ */

/* OK: still in progress, or its hello has come. */
static troupe_status listener_look_at(struct unknown_peer *unknown_peer, uint64_t now_ns, struct troupe_error *error)
{
	struct channel *channel = unknown_peer->channel;
	enum frame_type type;
	const char *bytes;
	size_t count;
	troupe_status status = channel_work(channel, now_ns, error), refused;
	bool whole = channel_peek(channel, &type);
	if (whole && type == FRAME_HELLO)
		return TROUPE_OK; /* a failure after the hello will show again later */
	if (status)
		return status;
	if (whole)
		return fail(error, TROUPE_EPROTOCOL, "%s: its first frame is %s: expected HELLO", channel_peer(channel),
			frame_name(type));
	channel_receive(channel, &type, &bytes, &count, &refused, error);
	return refused;
}

/* Whether it is still here. */
static bool listener_work_one(struct listener *listener, uint32_t at, uint64_t now_ns)
{
	struct unknown_peer *unknown_peer = &listener->unknown[at];
	struct troupe_error error;
	if (listener_look_at(unknown_peer, now_ns, &error)) {
		listener_turn_away(listener, at, &listener->counts.broken, &error);
		return false;
	}
	if (now_ns < unknown_peer->deadline_ns)
		return true;
	fail(&error, TROUPE_EPEER, "%s: %s", channel_peer(unknown_peer->channel), listener_too_late);
	listener_turn_away(listener, at, &listener->counts.late, &error);
	return false;
}

/* --- working ------------------------------------------------------------------------------------------------------ */

void listener_work(struct listener *listener, uint64_t now_ns)
{
	listener_accept_some(listener, now_ns);
	listener_hear_those_who_wait(listener, now_ns);
	listener_start_some(listener, now_ns);
	for (uint32_t i = 0; i < listener->count;)
		i += listener_work_one(listener, i, now_ns);
}

struct channel *listener_take(struct listener *listener)
{
	enum frame_type type;
	for (uint32_t i = 0; i < listener->count; i++) {
		struct channel *channel = listener->unknown[i].channel;
		if (!channel_peek(channel, &type) || type != FRAME_HELLO)
			continue;
		listener_take_out(listener, i);
		listener->counts.taken++;
		return channel;
	}
	return NULL;
}

uint32_t listener_poll(const struct listener *listener, uint64_t now_ns, struct pollfd *ret_fds)
{
	uint32_t count = 0;
	if (listener_may_accept(listener, now_ns))
		ret_fds[count++] = (struct pollfd){.fd = listener->fd, .events = POLLIN};
	for (uint32_t i = 0; i < listener->waiting_count; i++)
		if (!listener->waiting[i].whole)
			ret_fds[count++] = (struct pollfd){.fd = listener->waiting[i].fd, .events = POLLIN};
	for (uint32_t i = 0; i < listener->count; i++)
		ret_fds[count++] = (struct pollfd){.fd = channel_fd(listener->unknown[i].channel),
			.events = channel_poll_events(listener->unknown[i].channel)};
	return count;
}

uint64_t listener_deadline_ns(const struct listener *listener, uint64_t now_ns)
{
	uint64_t deadline_ns = UINT64_MAX;
	if (listener->whole_count)
		return now_ns;
	if (!listener_may_accept(listener, now_ns))
		deadline_ns = MAX(listener->pause_until_ns, listener->earned_ns + listener->interval_ns);
	for (uint32_t i = 0; i < listener->waiting_count; i++)
		deadline_ns = MIN(deadline_ns, listener->waiting[i].deadline_ns);
	for (uint32_t i = 0; i < listener->count; i++)
		deadline_ns = MIN(deadline_ns, listener->unknown[i].deadline_ns);
	return deadline_ns;
}
