/* What is to be sent waits in a queue of messages (kind, number of bytes, bytes) until the thread passes it on to the
 * channel, in frames, while the channel has room. So the thread that steps the world only copies bytes. */
#include "net/tcp/feed.h"

#include "base/clock.h"
#include "base/host_port.h"
#include "base/pack.h"
#include "net/tcp/session.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { FEED_LOOK_MS = 50, FEED_PART_BYTES = 60000, FEED_GOODBYE_MS = 500 };
#define FEED_ROOM_BYTES ((size_t)4 << 20)    /* that may wait in the channel */
#define FEED_WAITING_BYTES ((size_t)1 << 30) /* that may wait in the queue */

struct feed {
	struct channel *channel;
	struct feed_host host;
	char where[HELLO_TEXT_MAX + 1];
	uint32_t stale_ms;
	int woken; /* event file */
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t answered;
	/* under the lock */
	struct text queue;
	uint64_t asked, answer; /* numbers of the last FOLLOW_RUN, and of the last that was answered */
	bool lost, ends;
	/* the thread's */
	uint64_t heard_ns, beat_ns, looked_ns;
	struct text taken;  /* of the queue */
	size_t taken_bytes; /* of it that were sent */
};

static void feed_wake(const struct feed *feed)
{
	uint64_t one = 1;
	(void)!write(feed->woken, &one, sizeof one);
}

/* --- the thread --------------------------------------------------------------------------------------------------- */

static void feed_lose(struct feed *feed, const char *why)
{
	pthread_mutex_lock(&feed->lock);
	bool first = !feed->lost && !feed->ends;
	feed->lost = true;
	feed->queue.count = 0;
	pthread_cond_broadcast(&feed->answered);
	pthread_mutex_unlock(&feed->lock);
	if (first)
		feed->host.lost(feed->host.ctx, why);
}

static void feed_hear(struct feed *feed, enum frame_type type, const char *bytes, size_t count)
{
	struct heartbeat heartbeat;
	struct troupe_error why;
	if (type == FRAME_STOP) {
		feed_lose(feed, "it left");
	} else if (type != FRAME_HEARTBEAT) {
		feed_lose(feed, "it sent a frame that is not due");
	} else if (heartbeat_decode(bytes, count, &heartbeat, &why)) {
		feed_lose(feed, why.text);
	} else {
		pthread_mutex_lock(&feed->lock);
		feed->answer = MIN(heartbeat.step, feed->asked);
		pthread_cond_broadcast(&feed->answered);
		pthread_mutex_unlock(&feed->lock);
	}
}

static void feed_receive(struct feed *feed, uint64_t now_ns)
{
	enum frame_type type;
	const char *bytes;
	size_t count;
	troupe_status status = TROUPE_OK;
	struct troupe_error error, end;
	troupe_status ended = channel_work(feed->channel, now_ns, &end);
	while (channel_receive(feed->channel, &type, &bytes, &count, &status, &error)) {
		feed->heard_ns = now_ns;
		feed_hear(feed, type, bytes, count);
	}
	if (status || ended)
		feed_lose(feed, session_bare(feed->channel, status ? error.text : end.text));
}

static void feed_send_part(struct feed *feed, uint64_t kind, const char *bytes, size_t count)
{
	struct text *frame = channel_begin(feed->channel);
	pack_u64(frame, kind);
	text_add_bytes(frame, bytes, count);
	(void)channel_end(feed->channel, FRAME_FOLLOW, NULL); /* a failure is found by the next channel_work() */
}

/* Only the bytes of a recording, and of files, may come in parts. */
static void feed_send_taken(struct feed *feed)
{
	while (feed->taken_bytes < feed->taken.count && channel_pending(feed->channel) < FEED_ROOM_BYTES) {
		struct unpack in = {feed->taken.at + feed->taken_bytes, feed->taken.at + feed->taken.count, false};
		uint64_t kind = unpack_u64(&in);
		size_t count;
		const char *bytes = unpack_bytes(&in, &count);
		for (size_t at = 0; at < count || !at; at += FEED_PART_BYTES)
			feed_send_part(feed, kind, bytes + at, MIN(count - at, (size_t)FEED_PART_BYTES));
		feed->taken_bytes = (size_t)(in.at - feed->taken.at);
	}
}

static void feed_pass_on(struct feed *feed)
{
	feed_send_taken(feed);
	if (feed->taken_bytes < feed->taken.count)
		return;
	feed->taken.count = feed->taken_bytes = 0;
	pthread_mutex_lock(&feed->lock);
	struct text empty = feed->taken;
	feed->taken = feed->queue;
	feed->queue = empty;
	pthread_mutex_unlock(&feed->lock);
	feed_send_taken(feed);
}

static void feed_beat(struct feed *feed, uint64_t now_ns)
{
	struct text payload = {0};
	const uint64_t stale_ns = feed->stale_ms * UINT64_C(1000000);
	if (now_ns - feed->looked_ns >= stale_ns) /* this process was suspended, and perhaps the standby, too */
		feed->heard_ns = now_ns;
	feed->looked_ns = now_ns;
	if (now_ns - feed->heard_ns >= stale_ns)
		feed_lose(feed, "it is silent");
	if (now_ns - feed->beat_ns < stale_ns / 5)
		return;
	feed->beat_ns = now_ns;
	heartbeat_encode(&(struct heartbeat){0}, &payload);
	(void)channel_send(feed->channel, FRAME_HEARTBEAT, payload.at, payload.count, NULL);
	text_fini(&payload);
}

static bool feed_goes_on(struct feed *feed)
{
	pthread_mutex_lock(&feed->lock);
	bool goes_on = !feed->lost && !feed->ends;
	pthread_mutex_unlock(&feed->lock);
	return goes_on;
}

static void *feed_work(void *arg)
{
	struct feed *feed = arg;
	uint64_t rung;
	while (feed_goes_on(feed)) {
		struct pollfd fds[2] = {
			{feed->woken, POLLIN, 0}, {channel_fd(feed->channel), channel_poll_events(feed->channel), 0}};
		(void)poll(fds, 2, MIN(FEED_LOOK_MS, (int)feed->stale_ms / 5 + 1));
		if (fds[0].revents)
			(void)!read(feed->woken, &rung, sizeof rung);
		feed_receive(feed, clock_now_ns());
		feed_pass_on(feed);
		feed_beat(feed, clock_now_ns());
	}
	return NULL;
}

/* --- for the owner ------------------------------------------------------------------------------------------------ */

/* A port without a host is on the standby's host. That is left open when the standby is on this machine: the host is
 * then where a secondary finds this primary. */
static void feed_find_where(struct feed *feed, const char *listen)
{
	const char *peer = channel_peer(feed->channel);
	bool here = !strncmp(peer, "127.", 4) || !strncmp(peer, "[::1]", 5);
	if (*listen == ':' && !here)
		(void)snprintf(feed->where, sizeof feed->where, "%.*s%.10s", (int)MIN(host_port_host_bytes(peer), 100u),
			peer, listen);
	else
		(void)snprintf(feed->where, sizeof feed->where, "%s", listen);
}

struct feed *feed_create(
	struct channel *channel, const struct hello *ours, const struct hello *theirs, uint32_t stale_ms)
{
	struct feed *feed = mem_alloc(sizeof *feed);
	struct text hello = {0};
	feed->channel = channel;
	feed->stale_ms = stale_ms;
	feed->woken = -1;
	pthread_mutex_init(&feed->lock, NULL);
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&feed->answered, &monotonic);
	pthread_condattr_destroy(&monotonic);
	feed_find_where(feed, theirs->listen);
	hello_encode(ours, &hello);
	(void)channel_send(channel, FRAME_HELLO, hello.at, hello.count, NULL);
	text_fini(&hello);
	return feed;
}

void feed_start(struct feed *feed, const struct feed_host *host)
{
	feed->host = *host;
	feed->heard_ns = feed->looked_ns = clock_now_ns();
	feed->woken = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int failed = feed->woken < 0 ? errno : pthread_create(&feed->thread, NULL, feed_work, feed);
	mem_check_thread(failed);
	feed->started = !failed;
	if (failed)
		feed_lose(feed, "its thread cannot be started");
}

const char *feed_where(const struct feed *feed)
{
	return feed->where;
}

void feed_send(struct feed *feed, enum follow_kind kind, const void *bytes, size_t count)
{
	pthread_mutex_lock(&feed->lock);
	bool full = feed->queue.count + count > FEED_WAITING_BYTES;
	if (!feed->lost && !full) {
		pack_u64(&feed->queue, kind);
		pack_bytes(&feed->queue, count ? bytes : "", count);
	}
	pthread_mutex_unlock(&feed->lock);
	if (full)
		feed_lose(feed, "it takes too little");
	feed_wake(feed);
}

size_t feed_waiting(struct feed *feed)
{
	pthread_mutex_lock(&feed->lock);
	size_t count = feed->queue.count;
	pthread_mutex_unlock(&feed->lock);
	return count;
}

bool feed_confirm(struct feed *feed, const struct follow_run *run)
{
	struct text message = {0};
	pthread_mutex_lock(&feed->lock);
	uint64_t number = ++feed->asked;
	pthread_mutex_unlock(&feed->lock);
	pack_u64(&message, number);
	pack_u64(&message, run->secondaries);
	pack_u64(&message, run->goes_on);
	pack_u64(&message, run->iterations);
	pack_double(&message, run->until_s);
	pack_u64(&message, feed->stale_ms);
	text_add_bytes(&message, (const char *)run->processes, run->secondaries * sizeof *run->processes);
	feed_send(feed, FOLLOW_RUN, message.at, message.count);
	text_fini(&message);
	pthread_mutex_lock(&feed->lock);
	while (!feed->lost && feed->answer < number)
		(void)pthread_cond_wait(&feed->answered, &feed->lock);
	bool confirmed = !feed->lost;
	pthread_mutex_unlock(&feed->lock);
	return confirmed;
}

/* The last frames may need more than one call. */
static void feed_flush(struct feed *feed)
{
	uint64_t until_ns = clock_now_ns() + FEED_GOODBYE_MS * UINT64_C(1000000);
	channel_finish(feed->channel);
	while (!channel_work(feed->channel, clock_now_ns(), NULL) && clock_now_ns() < until_ns) {
		struct pollfd fd = {channel_fd(feed->channel), channel_poll_events(feed->channel), 0};
		(void)poll(&fd, 1, 5);
	}
}

void feed_end(struct feed *feed, const struct stop *stop)
{
	struct text payload = {0};
	if (!feed)
		return;
	pthread_mutex_lock(&feed->lock);
	feed->ends = true;
	pthread_mutex_unlock(&feed->lock);
	feed_wake(feed);
	if (feed->started)
		pthread_join(feed->thread, NULL);
	if (stop) {
		stop_encode(stop, &payload);
		(void)channel_send(feed->channel, FRAME_STOP, payload.at, payload.count, NULL);
		feed_flush(feed);
	}
	text_fini(&payload);
	channel_destroy(feed->channel);
	if (feed->woken >= 0)
		(void)close(feed->woken);
	pthread_cond_destroy(&feed->answered);
	pthread_mutex_destroy(&feed->lock);
	text_fini(&feed->queue);
	text_fini(&feed->taken);
	free(feed);
}
