/* Frames over TCP or TLS: one channel for each line. A wait is one poll() of all sockets and of an event file, by which
 * other threads wake it. The files to poll are listed under the caller's lock, so that the wait itself touches no
 * channel. */
#include "net/tcp/tcp.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct carrier {
	struct channel **channels; /* [count] */
	uint32_t count;
	int woken;          /* event file */
	struct pollfd *fds; /* [count + 1], of the wait; the last is the event file */
};

troupe_status tcp_carrier_create(
	struct channel **channels, uint32_t count, struct carrier **ret_carrier, struct troupe_error *error)
{
	int woken = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (woken < 0)
		return fail(error, TROUPE_ELIMIT, "cannot open an event file: %s", strerror(errno));
	struct carrier *carrier = mem_alloc(sizeof *carrier);
	*carrier = (struct carrier){.count = count, .woken = woken};
	carrier->channels = mem_alloc(count * sizeof *carrier->channels);
	carrier->fds = mem_alloc((count + 1) * sizeof *carrier->fds);
	for (uint32_t i = 0; i < count; i++) {
		carrier->channels[i] = channels[i];
		channel_set_peer(channels[i], ""); /* the end of the transport puts the name into its messages */
		channel_limit(channels[i], FRAME_PAYLOAD_MAX);
		channels[i] = NULL;
	}
	*ret_carrier = carrier;
	return TROUPE_OK;
}

static void tcp_destroy(struct carrier *carrier)
{
	if (!carrier)
		return;
	for (uint32_t i = 0; i < carrier->count; i++)
		channel_destroy(carrier->channels[i]);
	(void)close(carrier->woken);
	free(carrier->channels);
	free(carrier->fds);
	free(carrier);
}

void tcp_carrier_dissolve(struct carrier *carrier, struct channel **ret_channels)
{
	memcpy(ret_channels, carrier->channels, carrier->count * sizeof *ret_channels);
	carrier->count = 0;
	tcp_destroy(carrier);
}

static troupe_status tcp_work(struct carrier *carrier, uint32_t line, struct troupe_error *error)
{
	return channel_work(carrier->channels[line], clock_now_ns(), error);
}

static uint64_t tcp_received(const struct carrier *carrier, uint32_t line)
{
	return channel_bytes_received(carrier->channels[line]);
}

static bool tcp_receive(struct carrier *carrier, uint32_t line, enum frame_type *ret_type, const char **ret_bytes,
	size_t *ret_count, troupe_status *ret_status, struct troupe_error *error)
{
	return channel_receive(carrier->channels[line], ret_type, ret_bytes, ret_count, ret_status, error);
}

static struct text *tcp_begin(struct carrier *carrier, uint32_t line)
{
	return channel_begin(carrier->channels[line]);
}

static troupe_status tcp_end(struct carrier *carrier, uint32_t line, enum frame_type type, struct troupe_error *error)
{
	return channel_end(carrier->channels[line], type, error);
}

static size_t tcp_pending(const struct carrier *carrier, uint32_t line)
{
	return channel_pending(carrier->channels[line]);
}

static void tcp_prepare(struct carrier *carrier, bool only_send)
{
	for (uint32_t i = 0; i < carrier->count; i++) {
		const struct channel *channel = carrier->channels[i];
		short events = channel_poll_events(channel);
		if (only_send)
			events &= POLLOUT;
		carrier->fds[i] = (struct pollfd){.fd = events ? channel_fd(channel) : -1, .events = events};
	}
	carrier->fds[carrier->count] = (struct pollfd){.fd = carrier->woken, .events = POLLIN};
}

static bool tcp_wait(struct carrier *carrier, uint64_t idle_ns)
{
	uint64_t count;
	(void)idle_ns;
	if (poll(carrier->fds, carrier->count + 1, -1) > 0 && carrier->fds[carrier->count].revents)
		(void)!read(carrier->woken, &count, sizeof count);
	return true;
}

static void tcp_wake(struct carrier *carrier)
{
	uint64_t one = 1;
	(void)!write(carrier->woken, &one, sizeof one);
}

/* If a connection is closed with unread input, it is reset, and the last frames may be lost. So each side reads on
 * until the other side has closed, too, or the time has passed. */
static void tcp_finish(struct carrier *carrier, uint32_t timeout_ms)
{
	uint64_t until = clock_now_ns() + timeout_ms * UINT64_C(1000000);
	uint32_t left = 0;
	for (uint32_t i = 0; i < carrier->count; i++)
		channel_finish(carrier->channels[i]);
	do {
		left = 0;
		for (uint32_t i = 0; i < carrier->count; i++) {
			struct channel *channel = carrier->channels[i];
			if (!channel_work(channel, clock_now_ns(), NULL))
				carrier->fds[left++] = (struct pollfd){
					.fd = channel_fd(channel), .events = channel_poll_events(channel)};
		}
	} while (left && clock_now_ns() < until && poll(carrier->fds, left, 10) >= 0);
}

static struct transport_counts tcp_counts(const struct carrier *carrier)
{
	struct transport_counts counts = {0, 0};
	for (uint32_t i = 0; i < carrier->count; i++) {
		counts.sent += channel_bytes_sent(carrier->channels[i]);
		counts.received += channel_bytes_received(carrier->channels[i]);
	}
	return counts;
}

const struct carrier_ops tcp_carrier_ops = {
	.work = tcp_work,
	.received = tcp_received,
	.receive = tcp_receive,
	.begin = tcp_begin,
	.end = tcp_end,
	.pending = tcp_pending,
	.prepare = tcp_prepare,
	.wait = tcp_wait,
	.wake = tcp_wake,
	.finish = tcp_finish,
	.counts = tcp_counts,
	.destroy = tcp_destroy,
};

const struct transport_ops transport_tcp = {.name = "tcp", END_SLOTS};
