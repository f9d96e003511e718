/* Where peers come in: the primary listens, is found by multicast, and after the start answers all that come too late.
 * The listener then stays open on a thread of its own, which refuses late peers with a reason, so that an unknown peer
 * costs the run nothing. */
#include "net/tcp/gather_internal.h"

#include "base/clock.h"
#include "base/host_port.h"
#include "net/tcp/feed.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DOOR_LOOK_MS = 500, DOOR_ACCEPTS_PER_SECOND = 200 };

/* more: 1 if a secondary may come though none is awaited. */
void gather_door_announce(struct gathering *gathering, enum announcement_kind kind, uint32_t more)
{
	struct announcement announcement = {.kind = kind};
	if (!gathering->session.discovery)
		return;
	memcpy(announcement.id, gathering->hello.id, sizeof announcement.id);
	announcement.port = address_port(listener_address(gathering->session.listener));
	announcement.secondaries = gathering->secondaries + more;
	announcement.present = gathering->session.peers ? peers_present(gathering->session.peers) : 0;
	memcpy(announcement.name, gathering->hello.name, sizeof announcement.name);
	(void)discovery_send(gathering->session.discovery, &announcement, clock_now_ns(), NULL);
}

bool gather_door_is_to_announce(const struct gathering *gathering)
{
	return gathering->session.discovery && clock_now_ns() >= discovery_send_at_ns(gathering->session.discovery);
}

static troupe_status gather_door_listen_at(struct gathering *gathering, const struct troupe_network *def,
	const struct key *key, struct troupe_error *error)
{
	struct listener_options options = {.key = key,
		.insecure = def->insecure,
		.in_use = ": is another primary running on this machine? --network-listen :PORT chooses another port"};
	const char *where = def->listen ? def->listen : key || def->insecure ? "*" : "";
	troupe_status status = address_parse_listen(where, ADDRESS_PORT, &options.address, error);
	return status ? status : listener_create(&options, &gathering->session.listener, error);
}

/* Without multicast, secondaries can still be given the address: so missing multicast is only noted. But an interface
 * that was named must exist. */
static troupe_status gather_door_look_around(struct gathering *gathering, const struct troupe_network *def,
	const struct key *key, struct troupe_error *error)
{
	const struct address *at = listener_address(gathering->session.listener);
	char host[ADDRESS_TEXT_BYTES];
	bool one_address = !address_is_wildcard(at) && !address_is_loopback(at);
	address_host_text(at, host);
	struct discovery_options options = {.role = HELLO_PRIMARY,
		.interface = def->interface ? def->interface : one_address ? host : NULL, /* where it listens */
		.loopback_only = address_is_loopback(at) || (!key && !def->insecure),
		.key = key,
		.partition = gathering->hello.partition};
	if (discovery_create(&options, &gathering->session.discovery, &gathering->unheard) == TROUPE_EINVAL &&
		def->interface)
		return fail(error, TROUPE_EINVAL, "%s", gathering->unheard.text);
	return TROUPE_OK;
}

troupe_status gather_door_open(
	struct gathering *gathering, const struct troupe_network *def, struct troupe_error *error)
{
	struct key key;
	troupe_status status = session_key(def, &key, &gathering->keyed, error);
	const struct key *given = gathering->keyed ? &key : NULL;
	if (!status)
		status = gather_door_listen_at(gathering, def, given, error);
	if (!status)
		status = gather_door_look_around(gathering, def, given, error);
	key_forget(&key);
	return status;
}

void gather_door_stop(struct gathering *gathering)
{
	uint64_t one = 1;
	if (!gathering->has_acceptor)
		return;
	(void)!write(gathering->quit, &one, sizeof one);
	pthread_join(gathering->acceptor, NULL);
	(void)!read(gathering->quit, &one, sizeof one); /* another may come */
	gathering->has_acceptor = false;
}

/* --- after the start ---------------------------------------------------------------------------------------------- */

static void gather_door_note_late(struct gathering *gathering, const struct channel *channel)
{
	static const char what[] = "came too late";
	const char *peer = channel_peer(channel);
	if (log_limit_take(&gathering->log_limit, peer, host_port_host_bytes(peer), what, clock_now_ns()))
		gather_notes_say(gathering, "turned away %s: it %s: the run has begun", peer, what);
}

/* Whether the peer may be let in later; the owner is told. *ret_why: if it could be, but may not. */
static bool gather_door_knocks(struct gathering *gathering, const struct hello *hello, const char **ret_why)
{
	if (!gathering->host->knocked || (!*hello->client && !gathering->members.more_come))
		return false;
	*ret_why = gathering->host->knocked(gathering->host->ctx, hello->client, hello->id);
	return !*ret_why;
}

static void gather_door_refuse(struct gathering *gathering, struct channel *channel, const char *why, bool again)
{
	struct text bytes = {0};
	refuse_encode(why, again, &bytes);
	(void)channel_send(channel, FRAME_REFUSE, bytes.at, bytes.count, NULL);
	text_fini(&bytes);
	session_finish(&gathering->session, channel);
}

/* A standby whose hello matches. */
static void gather_door_take_standby(struct gathering *gathering, struct channel *channel, const struct hello *hello)
{
	const struct gather_host *host = gathering->host;
	const char *why = host->may_follow ? host->may_follow(host->ctx) : "it has no place for a standby";
	if (why)
		gather_door_refuse(gathering, channel, why, true);
	else
		host->followed(host->ctx, feed_create(channel, &gathering->hello, hello, gathering->stale_ms));
}

/* One that comes after the start. */
static void gather_door_hear_late(struct gathering *gathering, struct channel *channel)
{
	enum frame_type type;
	const char *bytes;
	size_t count;
	troupe_status status;
	struct hello hello;
	char begun[160];
	const char *why = begun;
	bool valid = channel_receive(channel, &type, &bytes, &count, &status, NULL) && type == FRAME_HELLO &&
		     !hello_decode(bytes, count, &hello, NULL) && !hello_match(&gathering->hello, &hello, NULL);
	if (valid && hello.role == HELLO_STANDBY) {
		gather_door_take_standby(gathering, channel, &hello);
		return;
	}
	bool again = valid && gather_door_knocks(gathering, &hello, &why);
	(void)snprintf(begun, sizeof begun, "the run has begun with %u %s", gathering->secondaries,
		gather_notes_word(gathering->secondaries));
	/* members that come back may be sooner than the gathering */
	if (!gathering->members.clients && !gathering->members.more && !again)
		gather_door_note_late(gathering, channel);
	gather_door_refuse(gathering, channel, again ? "it may come in with the next change of members" : why, again);
}

/* Those that came in the moment of the start: their hello has come, and was not read. Without an answer, a standby
 * would wait until the run ends. */
static void gather_door_hear_unheard(struct gathering *gathering)
{
	struct session *session = &gathering->session;
	for (uint32_t id = 0; id < session->channels.count; id++) {
		const struct channel *channel = session->channels.at[id];
		enum frame_type type;
		if (channel && channel_peek(channel, &type) && type == FRAME_HELLO)
			gather_door_hear_late(gathering, session_take(session, id));
	}
}

/* The thread that refuses peers after the start, so that an unknown peer costs the run nothing. */
static void *gather_door_accept_all(void *arg)
{
	struct gathering *gathering = arg;
	struct listener *listener = gathering->session.listener;
	struct channel *channel;
	struct pollfd fds[LISTENER_POLL_MAX + 1];
	const uint32_t more = gathering->members.more_come; /* there is always room for one to knock */
	gather_door_hear_unheard(gathering);
	for (;;) {
		uint32_t count = listener_poll(listener, clock_now_ns(), fds);
		fds[count] = (struct pollfd){.fd = gathering->quit, .events = POLLIN};
		bool busy = listener_deadline_ns(listener, clock_now_ns()) != UINT64_MAX ||
			    gathering->session.finishing.count;
		(void)poll(fds, count + 1, busy ? SESSION_TICK_MS : DOOR_LOOK_MS);
		if (fds[count].revents)
			return NULL;
		listener_work(listener, clock_now_ns());
		gather_notes_refusals(gathering);
		while ((channel = listener_take(listener)))
			gather_door_hear_late(gathering, channel);
		session_flush(&gathering->session, 0);
		if (gather_door_is_to_announce(gathering))
			gather_door_announce(gathering, more ? ANNOUNCE_HERE : ANNOUNCE_FIXED, more);
	}
}

troupe_status gather_door_open_for_late(struct gathering *gathering, struct troupe_error *error)
{
	if (!gathering->session.listener)
		return TROUPE_OK;
	listener_slow_down(gathering->session.listener, DOOR_ACCEPTS_PER_SECOND);
	int failed = pthread_create(&gathering->acceptor, NULL, gather_door_accept_all, gathering);
	gathering->has_acceptor = !failed;
	mem_check_thread(failed);
	return failed ? fail(error, TROUPE_ELIMIT, "cannot start a thread: %s", strerror(failed)) : TROUPE_OK;
}
