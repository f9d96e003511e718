/* The connections before a networked run starts. net/peers.h decides which peer is admitted, without any I/O; this file
 * does the I/O that it asks for. It waits for all open connections with one poll(), on one thread at a time.
 *
 * Peers are not trusted: before the admission a peer can send no more than a hello, and connections that are being
 * closed have a deadline and a maximum count, so that peers that keep their end open use bounded memory. */
#include "net/tcp/session.h"

#include "base/clock.h"
#include "net/tcp/socket_pair.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FINISH_NS UINT64_C(1000000000)

/* --- channels ----------------------------------------------------------------------------------------------------- */

static void session_take_out(struct session *session, uint32_t at)
{
	struct finishing *one = &session->finishing.at[at];
	channel_destroy(one->channel);
	session->finishing.count--;
	memmove(one, one + 1, (session->finishing.count - at) * sizeof *one);
}

/* The number is bounded, because a refused peer may keep its end open and connect again. */
void session_finish(struct session *session, struct channel *channel)
{
	uint64_t now = clock_now_ns();
	channel_finish(channel);
	(void)channel_work(channel, now, NULL); /* its last message is sent in any case */
	if (session->finishing.count >= session->channels.count + SESSION_FINISHING_MAX)
		session_take_out(session, 0);
	vec_push(&session->finishing, (struct finishing){channel, now + FINISH_NS});
}

static void session_work_finishing(struct session *session)
{
	uint64_t now = clock_now_ns();
	for (uint32_t i = 0; i < session->finishing.count;) {
		const struct finishing *one = &session->finishing.at[i];
		if (now >= one->until_ns || channel_work(one->channel, now, NULL))
			session_take_out(session, i);
		else
			i++;
	}
}

struct channel *session_take(struct session *session, uint32_t id)
{
	struct channel *channel = id < session->channels.count ? session->channels.at[id] : NULL;
	if (channel)
		session->channels.at[id] = NULL;
	return channel;
}

static void session_enter(struct session *session, struct channel *channel, uint32_t id)
{
	if (id == PEERS_NONE) {
		channel_destroy(channel);
		return;
	}
	while (session->channels.count <= id)
		vec_push(&session->channels, NULL);
	session->channels.at[id] = channel;
	session_act(session);
}

void session_join(struct session *session, struct channel *channel)
{
	session_enter(session, channel, peers_join(session->peers, channel_peer(channel), clock_now_ns()));
}

void session_keep(struct session *session, struct channel *channel)
{
	session_enter(session, channel, peers_keep(session->peers, channel_peer(channel), clock_now_ns()));
}

void session_fini(struct session *session)
{
	for (uint32_t i = 0; i < session->channels.count; i++)
		channel_destroy(session->channels.at[i]);
	while (session->finishing.count)
		session_take_out(session, session->finishing.count - 1);
	vec_free(&session->channels);
	vec_free(&session->finishing);
	listener_destroy(session->listener);
	discovery_destroy(session->discovery);
	peers_destroy(session->peers);
	*session = (struct session){0};
}

/* --- what peers asks for ------------------------------------------------------------------------------------------ */

static void session_send_frame(struct session *session, const struct peers_action *action)
{
	struct channel *channel = action->id < session->channels.count ? session->channels.at[action->id] : NULL;
	if (channel) /* a failure is found by the next channel_work() */
		(void)channel_send(channel, action->type, action->bytes, action->count, NULL);
}

/* An admitted peer may send more than a hello. */
static void session_admit(struct session *session, const struct peers_action *action)
{
	if (action->id < session->channels.count && session->channels.at[action->id])
		channel_limit(session->channels.at[action->id], FRAME_PAYLOAD_MAX);
}

void session_act(struct session *session)
{
	struct peers_action action;
	while (peers_next(session->peers, &action)) {
		struct channel *channel;
		switch (action.kind) {
		case PEERS_SEND:
			session_send_frame(session, &action);
			continue;
		case PEERS_CLOSE:
			channel = session_take(session, action.id);
			if (channel)
				session_finish(session, channel);
			continue;
		case PEERS_ADMITTED:
			session_admit(session, &action);
			break;
		case PEERS_LOST:
		case PEERS_REFUSED:
		case PEERS_TURNED_AWAY:
		case PEERS_KNOCKED:
		case PEERS_LEAVES:
		case PEERS_STARTED:
		case PEERS_ENDED:
			break;
		}
		session->on_action(session->ctx, &action);
	}
}

/* --- working ------------------------------------------------------------------------------------------------------ */

static bool session_is_of_world(enum frame_type type)
{
	return type == FRAME_WORLD || type == FRAME_WORLD_WANT || type == FRAME_WORLD_DATA;
}

static void session_hear(struct session *session, uint32_t id, enum frame_type type, const char *bytes, size_t count)
{
	struct troupe_error why;
	uint64_t now = clock_now_ns();
	if (!session_is_of_world(type))
		peers_receive(session->peers, id, type, bytes, count, now);
	else if (peers_heard(session->peers, id, type, now) &&
		 !session->on_world(session->ctx, id, type, bytes, count, &why))
		peers_break(session->peers, id, why.text, now);
	session_act(session);
}

const char *session_bare(const struct channel *channel, const char *text)
{
	size_t count = strlen(channel_peer(channel));
	bool named = !strncmp(text, channel_peer(channel), count) && !strncmp(text + count, ": ", 2);
	return named ? text + count + 2 : text;
}

static void session_work_channel(struct session *session, uint32_t id)
{
	struct channel *channel = session->channels.at[id];
	struct troupe_error error, end = {0};
	enum frame_type type;
	const char *bytes;
	size_t count;
	troupe_status status = TROUPE_OK, ended = channel_work(channel, clock_now_ns(), &end);
	while (session->channels.at[id] == channel && peers_phase(session->peers) < PEERS_RUNNING &&
		channel_receive(channel, &type, &bytes, &count, &status, &error))
		session_hear(session, id, type, bytes, count);
	if (session->channels.at[id] != channel)
		return;
	if (status) {
		peers_break(session->peers, id, session_bare(channel, error.text), clock_now_ns());
	} else if (ended && peers_phase(session->peers) < PEERS_RUNNING) {
		/* after the start, the transport reads what is still unread, such as the reason of the end, before it
		 * finds this end */
		peers_drop(session->peers, id, session_bare(channel, end.text), clock_now_ns());
		channel_destroy(session_take(session, id));
	}
	session_act(session);
}

/* Shortens the timeout so that it ends at until_ns. */
static int session_limit_timeout(int timeout_ms, uint64_t until_ns, uint64_t now)
{
	uint64_t left_ms = until_ns > now ? (until_ns - now) / 1000000 + 1 : 0;
	return left_ms < (uint64_t)timeout_ms ? (int)left_ms : timeout_ms;
}

static void session_wait_for_any(
	const struct session *session, int timeout_ms, struct pollfd *more, uint32_t more_count)
{
	struct pollfd fds[LISTENER_POLL_MAX + TROUPE_SECONDARIES_MAX + PEERS_UNKNOWN_MAX + 1 + SESSION_MORE_MAX];
	uint64_t now = clock_now_ns();
	uint32_t count = 0;
	timeout_ms = session_limit_timeout(timeout_ms, peers_deadline_ns(session->peers), now);
	if (session->listener) {
		count = listener_poll(session->listener, now, fds);
		timeout_ms = session_limit_timeout(timeout_ms, listener_deadline_ns(session->listener, now), now);
	}
	if (session->discovery && session->discovers) {
		uint64_t poll_at_ns = discovery_poll_at_ns(session->discovery, now);
		timeout_ms = session_limit_timeout(timeout_ms, discovery_send_at_ns(session->discovery), now);
		if (poll_at_ns)
			timeout_ms = session_limit_timeout(timeout_ms, poll_at_ns, now);
		else
			fds[count++] = (struct pollfd){.fd = discovery_fd(session->discovery), .events = POLLIN};
	}
	for (uint32_t i = 0; i < session->channels.count; i++)
		if (session->channels.at[i])
			fds[count++] = (struct pollfd){.fd = channel_fd(session->channels.at[i]),
				.events = channel_poll_events(session->channels.at[i])};
	for (uint32_t i = 0; i < more_count; i++)
		fds[count + i] = more[i];
	bool some = poll(fds, count + more_count, timeout_ms) > 0;
	for (uint32_t i = 0; i < more_count; i++)
		more[i].revents = some ? fds[count + i].revents : 0;
}

/* Call it after received frames were handled; the monitor in net/end.c does the same during the run. */
static void session_keep_time(struct session *session)
{
	uint64_t now = clock_now_ns();
	if (session->looked_ns && now - session->looked_ns >= peers_stale_ns(session->peers))
		peers_woke(session->peers, now);
	peers_tick(session->peers, now);
	session->looked_ns = now;
	session_act(session);
}

void session_work(struct session *session, int timeout_ms, struct pollfd *more, uint32_t more_count)
{
	struct channel *channel;
	session_wait_for_any(session, timeout_ms, more, more_count);
	if (session->listener)
		listener_work(session->listener, clock_now_ns());
	while (session->listener && (channel = listener_take(session->listener)))
		session_join(session, channel);
	for (uint32_t i = 0; i < session->channels.count && peers_phase(session->peers) < PEERS_RUNNING; i++)
		if (session->channels.at[i])
			session_work_channel(session, i);
	session_keep_time(session);
	session_work_finishing(session);
}

void session_flush(struct session *session, int timeout_ms)
{
	uint64_t until = clock_now_ns() + (uint64_t)timeout_ms * 1000000;
	for (session_work_finishing(session); session->finishing.count && clock_now_ns() < until;
		session_work_finishing(session)) {
		struct channel *oldest = session->finishing.at[0].channel;
		struct pollfd fd = {.fd = channel_fd(oldest), .events = channel_poll_events(oldest)};
		(void)poll(&fd, 1, 5);
	}
}

/* --- our own hello ------------------------------------------------------------------------------------------------ */

troupe_status session_key(
	const struct troupe_network *network, struct key *ret_key, bool *ret_given, struct troupe_error *error)
{
	return key_find(network->key_file, network->insecure, ret_key, ret_given, error);
}

troupe_status troupe_network_pair(int ret_sockets[2], struct troupe_error *error)
{
	return socket_pair_create(ret_sockets, error);
}
