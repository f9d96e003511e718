/* The thread of a remote: it reads what comes, and sends what the caller asks for. */
#include "gateway/relay/remote_internal.h"

#include "base/clock.h"
#include "net/hello.h"
#include "topic/message.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)
enum { REMOTE_LOOK_MS = 200 };

/* One View of 100 000 links has 700 000 elements. */
static const struct message_limits remote_thread_limits = {.bytes_max = FRAME_PAYLOAD_MAX, .items_max = 1 << 24};

static void remote_thread_end(struct remote *remote, troupe_status status, const char *why)
{
	pthread_mutex_lock(&remote->lock);
	if (!remote->over) {
		remote->over = true;
		(void)fail(&remote->why, status, "%s", why);
		eventcount_advance(&remote->more);
	}
	pthread_mutex_unlock(&remote->lock);
	if (remote->on_ready)
		remote->on_ready(remote->ctx);
}

/* The oldest messages make room; replies stay. */
static void remote_thread_make_room(struct remote *remote)
{
	struct come **at = &remote->first;
	while (*at && (remote->bytes > REMOTE_BYTES_MAX || (remote->depth && remote->count > remote->depth))) {
		struct come *come = *at;
		if (come->tell->what == TROUPE__MSGS__RELAY_TELL__WHAT__REPLY || !come->next) {
			at = &come->next;
			continue;
		}
		*at = come->next;
		remote->bytes -= come->bytes;
		remote->count--;
		remote->lost++;
		remote_free_come(come);
	}
}

static void remote_thread_keep(struct remote *remote, Troupe__Msgs__RelayTell *tell, size_t bytes)
{
	struct come *come = mem_alloc(sizeof *come);
	*come = (struct come){NULL, tell, bytes};
	pthread_mutex_lock(&remote->lock);
	if (remote->last)
		remote->last->next = come;
	else
		remote->first = come;
	remote->last = come;
	remote->bytes += bytes;
	remote->count++;
	remote_thread_make_room(remote);
	eventcount_advance(&remote->more);
	bool tell_it = remote->idle;
	remote->idle = false;
	pthread_mutex_unlock(&remote->lock);
	if (tell_it && remote->on_ready)
		remote->on_ready(remote->ctx);
}

static void remote_thread_take_topics(struct remote *remote, const Troupe__Msgs__RelayTell *tell)
{
	struct remote_listing *fresh = remote_listing_of(remote, tell);
	pthread_mutex_lock(&remote->lock);
	struct remote_listing *old = remote->topics;
	remote->topics = fresh;
	pthread_mutex_unlock(&remote->lock);
	atomic_store(&remote->epoch, fresh->shown.epoch);
	remote_listing_release(old);
}

static void remote_thread_take_welcome(struct remote *remote, const Troupe__Msgs__RelayTell *tell)
{
	if (remote->worlds)
		return;
	remote->worlds = mem_alloc((tell->n_world + 1) * sizeof *remote->worlds);
	for (size_t i = 0; i < tell->n_world; i++)
		remote->worlds[i] = mem_strdup(tell->world[i]);
	remote->world_count = (uint32_t)tell->n_world;
}

/* Returns whether the message is kept. */
static bool remote_thread_hear_tell(struct remote *remote, Troupe__Msgs__RelayTell *tell, size_t bytes)
{
	switch (tell->what) {
	case TROUPE__MSGS__RELAY_TELL__WHAT__WELCOME:
		remote_thread_take_welcome(remote, tell);
		return false;
	case TROUPE__MSGS__RELAY_TELL__WHAT__TOPICS:
		remote_thread_take_topics(remote, tell);
		return false;
	case TROUPE__MSGS__RELAY_TELL__WHAT__EPOCH:
		(void)remote_ask_topics(remote);
		return false;
	case TROUPE__MSGS__RELAY_TELL__WHAT__MESSAGE:
	case TROUPE__MSGS__RELAY_TELL__WHAT__REPLY:
		remote_thread_keep(remote, tell, bytes);
		return true;
	default:
		return false;
	}
}

static void remote_thread_hear(struct remote *remote, enum frame_type type, const char *bytes, size_t count)
{
	ProtobufCMessage *tell;
	struct troupe_error why;
	struct stop stop;
	char words[HELLO_WORDS_MAX + 1];
	if (type == FRAME_TELL) {
		if (message_of_bytes(
			    &troupe__msgs__relay_tell__descriptor, bytes, count, &remote_thread_limits, &tell, &why))
			remote_thread_end(remote, TROUPE_EPROTOCOL, why.text);
		else if (!remote_thread_hear_tell(remote, (Troupe__Msgs__RelayTell *)tell, count))
			message_free(tell);
	} else if (type == FRAME_STOP && !stop_decode(bytes, count, &stop, &why)) {
		remote_thread_end(remote, stop.kind == STOP_FAILED ? TROUPE_EINTERNAL : TROUPE_OK, stop.why);
	} else if (type == FRAME_REFUSE && !refuse_decode(bytes, count, words, NULL, &why)) {
		remote_thread_end(remote, TROUPE_EPROTOCOL, words);
	} else if (type != FRAME_HEARTBEAT) {
		remote_thread_end(remote, TROUPE_EPROTOCOL, "it sends frames that are not for a viewer");
	}
}

void remote_thread_send_asks(struct remote *remote)
{
	for (;;) {
		struct text next = {0};
		pthread_mutex_lock(&remote->lock);
		if (remote->asks.count && channel_pending(remote->channel) < RELAY_ROOM_BYTES) {
			next = remote->asks.at[0];
			remote->asks.count--;
			memmove(remote->asks.at, remote->asks.at + 1, remote->asks.count * sizeof next);
		}
		pthread_mutex_unlock(&remote->lock);
		if (!next.at)
			return;
		(void)channel_send(remote->channel, FRAME_ASK, next.at, next.count, NULL);
		text_fini(&next);
	}
}

/* False: the connection is over. */
bool remote_thread_turn(struct remote *remote)
{
	enum frame_type type;
	const char *bytes;
	size_t count;
	troupe_status status;
	struct troupe_error why;
	uint64_t now_ns = clock_now_ns();
	troupe_status worked = channel_work(remote->channel, now_ns, &why);
	while (!remote->over && channel_receive(remote->channel, &type, &bytes, &count, &status, NULL)) {
		remote->heard_ns = now_ns;
		remote_thread_hear(remote, type, bytes, count);
	}
	if (worked)
		remote_thread_end(remote, worked, why.text);
	else if (now_ns - remote->heard_ns > RELAY_SILENT_S * SECOND_NS)
		remote_thread_end(remote, TROUPE_EPEER, "it is silent");
	return !remote->over;
}

void remote_thread_await_more(struct remote *remote)
{
	struct pollfd polled[2] = {
		{remote->woken, POLLIN, 0}, {channel_fd(remote->channel), channel_poll_events(remote->channel), 0}};
	uint64_t rung;
	(void)poll(polled, 2, REMOTE_LOOK_MS);
	if (polled[0].revents)
		(void)!read(remote->woken, &rung, sizeof rung);
}

void *remote_thread_work(void *arg)
{
	struct remote *remote = arg;
	while (!atomic_load(&remote->stop) && remote_thread_turn(remote)) {
		remote_thread_send_asks(remote);
		remote_thread_await_more(remote);
	}
	return NULL;
}
