/* The thread, the listener and the connections, in one loop over epoll. Peers that go are freed when the loop has seen
 * all events of its turn, because a later event may be theirs.
 *
 * A flood of connections must not keep a browser out. A new connection is read at once: the request of a browser is
 * usually there, and a connection that has sent an admitted request makes room for nobody. Of all others, the host with
 * the most loses its oldest when there are too many. When no file is free for a connection, accepting pauses. */
#include "gateway/web/web_internal.h"

#include "base/clock.h"
#include "base/shown.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define MS_NS UINT64_C(1000000)

enum {
	ACCEPTS_MAX = 64, /* in one turn of the loop */
	EVENTS_MAX = 64,
	WEB_READ_BYTES = 16 << 10,
	READS_MAX = 4,        /* of one peer in one turn of the loop */
	WEB_PAUSE_MS = 100,   /* after accepting has failed */
	LAST_MS = 500,        /* for the last messages to the peers */
	WEB_GOODBYE_MS = 500, /* for the goodbye to those that have not taken them all */
	WEB_TICK_MS = 10,     /* of these two times */
	WEB_STALLED_MAX = 8,  /* so many times as long on a machine without a free processor */
	WEB_SAY_MS = 2000,    /* one line about a refused request in this time */
};

bool web_is_available(void)
{
	return true;
}

/* --- connections -------------------------------------------------------------------------------------------------- */

static void web_watch(const struct web *web, int file, void *ctx, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = ctx};
	(void)epoll_ctl(web->events, EPOLL_CTL_MOD, file, &event);
}

void web_await(struct web_peer *peer)
{
	bool writes = peer->service ? peer->answers || peer_has_more(peer) : peer->answers;
	bool reads = !peer->answers || peer->ends;
	uint32_t events =
		(reads ? (uint32_t)EPOLLIN : 0) | (writes || peer->stream.wants_write ? (uint32_t)EPOLLOUT : 0);
	if (peer->is_gone || events == peer->events)
		return;
	peer->events = events;
	web_watch(peer->web, peer->stream.file, peer, events);
}

static void web_set_rereads(struct web_peer *peer, bool rereads)
{
	peer->web->reread_count += rereads && !peer->rereads;
	peer->web->reread_count -= !rereads && peer->rereads;
	peer->rereads = rereads;
}

void web_drop(struct web_peer *peer)
{
	if (peer->is_gone)
		return;
	peer->is_gone = true;
	web_set_rereads(peer, false);
	stream_fini(&peer->stream); /* and it is watched no more */
	peer_fini(peer);
}

/* Frees peers that are gone. */
static void web_reap(struct web *web)
{
	for (struct web_peer *peer = web->peers, *next; peer; peer = next) {
		next = peer->after;
		if (!peer->is_gone)
			continue;
		if (peer->before)
			peer->before->after = peer->after;
		else
			web->peers = peer->after;
		if (peer->after)
			peer->after->before = peer->before;
		web->peer_count--;
		text_fini(&peer->request);
		text_fini(&peer->answer);
		free(peer);
	}
}

/* How badly a peer is to make room: unknown clients by the share of their host, others when they are idle. */
static uint32_t web_burden(struct web_peer *const *peers, uint32_t count, const struct web_peer *peer)
{
	uint32_t share = 0;
	if (peer->is_admitted)
		return !peer->answers;
	for (uint32_t i = 0; i < count; i++)
		share += !strcmp(peers[i]->host, peer->host);
	return share;
}

/* One peer goes if there are too many of its kind: those that have sent a request that was admitted, or the others.
 */
static void web_make_room(struct web *web, bool admitted)
{
	struct web_peer *peers[WEB_PLAIN_PEERS_MAX + 1], *goes = NULL;
	uint32_t count = 0, most = 0;
	for (struct web_peer *peer = web->peers; peer && count < ARRAY_LEN(peers); peer = peer->after)
		if (!peer->is_gone && !peer->service && peer->is_admitted == admitted)
			peers[count++] = peer;
	if (count <= WEB_PLAIN_PEERS_MAX)
		return;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t burden = web_burden(peers, count, peers[i]);
		if (burden >= most) /* of equal ones the oldest, which is the last in the list */
			goes = peers[i];
		most = MAX(most, burden);
	}
	web_drop(goes);
}

static void web_read(struct web_peer *peer);

static void web_adopt(struct web *web, int file, const struct address *from)
{
	struct web_peer *peer = mem_alloc(sizeof *peer);
	*peer = (struct web_peer){.web = web,
		.last = &peer->first,
		.after = web->peers,
		.deadline_ns = clock_now_ns() + WEB_REQUEST_MS * MS_NS,
		.events = EPOLLIN};
	stream_init(&peer->stream, file, web->tls);
	address_text(from, peer->name);
	address_host_text(from, peer->host);
	if (web->peers)
		web->peers->before = peer;
	web->peers = peer;
	web->peer_count++;
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = peer};
	if (epoll_ctl(web->events, EPOLL_CTL_ADD, file, &event)) {
		web_drop(peer);
		return;
	}
	web_read(peer);
	web_make_room(web, peer->is_admitted);
}

/* False: no connection waits, or none can be accepted now. */
static bool web_accept(struct web *web)
{
	struct address from;
	int file = address_accept(web->listener, &from);
	if (file >= 0) {
		web_adopt(web, file, &from);
		return true;
	}
	if (errno == EINTR || errno == ECONNABORTED)
		return true;
	if (errno != EAGAIN && errno != EWOULDBLOCK) {
		web->pause_until_ns = clock_now_ns() + WEB_PAUSE_MS * MS_NS;
		web_watch(web, web->listener, &web->listener, 0);
	}
	return false;
}

static void web_accept_some(struct web *web)
{
	for (int i = 0; i < ACCEPTS_MAX && web_accept(web); i++)
		;
}

/* --- events ------------------------------------------------------------------------------------------------------- */

static void web_write(struct web_peer *peer)
{
	page_write(peer);
	if (!peer->is_gone && !peer->answers && peer->service)
		peer_write(peer);
	if (!peer->is_gone)
		web_await(peer);
}

static void web_read(struct web_peer *peer)
{
	unsigned char bytes[WEB_READ_BYTES];
	size_t count;
	enum stream_result result = STREAM_MOVED;
	int reads = 0;
	for (; reads < READS_MAX && result == STREAM_MOVED && !peer->is_gone; reads++) {
		if (peer->answers && !peer->ends) /* pipelined requests wait for the answer */
			break;
		result = stream_read(&peer->stream, bytes, sizeof bytes, &count);
		if (result == STREAM_MOVED && peer->service)
			peer_read(peer, bytes, count);
		else if (result == STREAM_MOVED)
			page_read(peer, (const char *)bytes, count);
	}
	if (result == STREAM_GONE)
		web_drop(peer);
	web_set_rereads(peer, !peer->is_gone && peer->stream.tls && result == STREAM_MOVED);
	if (!peer->is_gone && peer->answers)
		web_write(peer);
	if (!peer->is_gone)
		web_await(peer);
}

static void web_reread(struct web *web)
{
	for (struct web_peer *peer = web->peers; peer; peer = peer->after)
		if (peer->rereads)
			web_read(peer);
}

/* Visitors that are late go. */
static void web_sweep(struct web *web, uint64_t now_ns)
{
	for (struct web_peer *peer = web->peers; peer; peer = peer->after)
		if (!peer->is_gone && now_ns > peer->deadline_ns)
			web_drop(peer);
		else if (!peer->is_gone && peer->service)
			peer_tick(peer, now_ns);
}

void web_refused(struct web_peer *peer, const char *what)
{
	struct web *web = peer->web;
	struct text line = {0};
	uint64_t now_ns = clock_now_ns();
	if (!web->say || (web->said_ns && now_ns - web->said_ns < WEB_SAY_MS * MS_NS))
		return;
	web->said_ns = now_ns;
	text_add(&line, "web: request of %s refused: ", peer->name);
	shown_add(&line, what);
	web->say(web->say_ctx, line.at);
	text_fini(&line);
}

/* Waits for events, for at most `most_ms`, or, negative, for as long as nothing is due. */
static int web_timeout(const struct web *web, int most_ms)
{
	uint64_t now_ns = clock_now_ns(), until_ns = web->pause_until_ns ? web->pause_until_ns : UINT64_MAX;
	if (web->reread_count)
		return 0;
	if (web->peer_count)
		until_ns = MIN(until_ns, web->turn_ns);
	if (until_ns == UINT64_MAX)
		return most_ms;
	int wait_ms = until_ns <= now_ns ? 0 : (int)((until_ns - now_ns) / MS_NS + 1);
	return most_ms < 0 ? wait_ms : MIN(wait_ms, most_ms);
}

static void web_take_event(struct web *web, const struct epoll_event *event)
{
	struct web_peer *peer = event->data.ptr;
	uint64_t times;
	if (event->data.ptr == &web->bell) {
		(void)!read(web->bell, &times, sizeof times);
	} else if (event->data.ptr == &web->listener) {
		web_accept_some(web);
	} else if (!peer->is_gone) {
		if (event->events & (EPOLLIN | EPOLLHUP | EPOLLERR) || peer->stream.wants_write)
			web_read(peer);
		if (!peer->is_gone && event->events & EPOLLOUT)
			web_write(peer);
	}
}

static void web_take_turn(struct web *web)
{
	uint64_t now_ns = clock_now_ns();
	if (web->pause_until_ns && now_ns >= web->pause_until_ns) {
		web->pause_until_ns = 0;
		web_watch(web, web->listener, &web->listener, EPOLLIN);
	}
	if (web->peer_count && now_ns >= web->turn_ns) {
		web->turn_ns = now_ns + WEB_TURN_MS * MS_NS;
		web_sweep(web, now_ns);
		atomic_store(&web->woken, true);
	}
}

/* One turn of the loop. */
static void web_serve(struct web *web, int most_ms)
{
	struct epoll_event events[EVENTS_MAX];
	int count = epoll_wait(web->events, events, EVENTS_MAX, web_timeout(web, most_ms));
	web_reread(web);
	for (int i = 0; i < count; i++)
		web_take_event(web, &events[i]);
	web_take_turn(web);
	web_reap(web);
}

void web_close_file(int *file)
{
	if (*file >= 0)
		(void)close(*file);
	*file = -1;
}

/* --- the thread --------------------------------------------------------------------------------------------------- */

static void web_take_turns(struct web *web)
{
	for (uint32_t i = 0; i < web->service_count; i++)
		if (web->services[i].turn)
			web->services[i].turn(web->services[i].ctx);
}

/* A turn counts for at most two ticks, so that a thread that got no processor meanwhile has its turns all the same. */
static void web_close_all(
	struct web *web, void (*close)(struct web_peer *peer, uint16_t code, const char *reason), int ms)
{
	uint64_t left_ns = (uint64_t)ms * MS_NS, now_ns = clock_now_ns(), end_ns = now_ns + WEB_STALLED_MAX * left_ns;
	for (struct web_peer *peer = web->peers; peer; peer = peer->after)
		if (peer->service)
			close(peer, WS_GOING, web->goodbye);
	while (web->socket_count && left_ns && now_ns < end_ns) {
		uint64_t before_ns = now_ns;
		web_serve(web, WEB_TICK_MS);
		now_ns = clock_now_ns();
		left_ns -= MIN(left_ns, MIN(now_ns - before_ns, 2 * WEB_TICK_MS * MS_NS));
	}
}

/* A client that comes now must not be welcomed and then dropped without a close: it would miss that, and wait. */
static void web_close_doors(struct web *web)
{
	web->is_leaving = true;
	web->pause_until_ns = 0;
	web_close_file(&web->listener);
}

static void web_say_goodbye(struct web *web)
{
	web_close_doors(web);
	for (uint32_t i = 0; i < web->service_count; i++)
		if (web->services[i].last)
			web->services[i].last(web->services[i].ctx);
	web_close_all(web, peer_leave, LAST_MS);
	web_close_all(web, web_close, WEB_GOODBYE_MS);
	for (struct web_peer *peer = web->peers; peer; peer = peer->after)
		web_drop(peer);
	web_reap(web);
}

void *web_work(void *arg)
{
	struct web *web = arg;
	while (!atomic_load(&web->stop)) {
		web_serve(web, -1);
		if (atomic_exchange(&web->woken, false))
			web_take_turns(web);
	}
	web_say_goodbye(web);
	return NULL;
}

void web_ring(struct web *web)
{
	uint64_t one = 1;
	(void)!write(web->bell, &one, sizeof one);
}

void web_wake(struct web *web)
{
	if (!atomic_exchange(&web->woken, true))
		web_ring(web);
}
