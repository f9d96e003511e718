/* Announcements are heard, and candidates are tried, several at a time. */
#include "net/tcp/join_internal.h"

#include "base/clock.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#define ATTEMPT_SPACING_NS UINT64_C(250000000) /* minimum time between the starts of two attempts */

static void join_search_hear_announcements(struct joining *s)
{
	struct discovery *discovery = s->session.discovery;
	struct announcement announcement;
	struct address address;
	uint64_t now = clock_now_ns();
	if (s->orphaned) /* the primary that was lost may still be heard */
		return;
	while (discovery && !s->admitted && discovery_receive(discovery, now, &announcement, &address))
		candidates_hear(&s->candidates, &announcement, &address, now);
}

/* Announces itself, so that primaries that wait for secondaries answer. */
static void join_search_announce(struct joining *s)
{
	struct announcement announcement = {.kind = ANNOUNCE_HERE};
	struct discovery *discovery = s->session.discovery;
	uint64_t now = clock_now_ns();
	s->session.discovers = !s->admitted;
	if (!discovery || s->admitted || now < discovery_send_at_ns(discovery))
		return;
	memcpy(announcement.id, s->hello.id, sizeof announcement.id);
	memcpy(announcement.name, s->hello.name, sizeof announcement.name);
	(void)discovery_send(discovery, &announcement, now, NULL);
}

/* Shows primaries that it cannot join. */
static void join_search_note_useless(struct joining *s)
{
	struct announcement announcement;
	struct address address;
	const char *why;
	char where[ADDRESS_TEXT_BYTES], host[ADDRESS_TEXT_BYTES];
	if (!s->session.discovery || s->admitted ||
		!discovery_take_useless(s->session.discovery, &announcement, &address, &why))
		return;
	address_host_text(&address, host); /* the port is only what the announcement says */
	if (!log_limit_take(&s->log_limit_foreign, host, strlen(host), why, clock_now_ns()))
		return;
	address_text(&address, where);
	gather_note(s->host, "there is a primary at %s, but it %s", where, why);
	(void)fail(&s->last, TROUPE_EPEER, "the primary at %s %s", where, why);
}

bool join_search_has_connection(const struct joining *s)
{
	for (uint32_t i = 0; i < s->session.channels.count; i++)
		if (s->session.channels.at[i])
			return true;
	return peers_id_of(s->session.peers, 0) != PEERS_NONE;
}

static uint32_t join_search_attempts_going_on(const struct joining *s)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < JOIN_ATTEMPTS_MAX; i++)
		count += s->attempts[i].channel != NULL;
	return count;
}

static void join_search_begin_attempt(struct joining *s, struct join_attempt *attempt, uint64_t now)
{
	struct channel_options options = {.role = CHANNEL_CLIENT, .key = s->keyed ? &s->key : NULL};
	struct troupe_error why;
	if (!candidates_next(&s->candidates, now, &attempt->to))
		return;
	s->attempt_ns = now;
	options.handshake_ns = attempt->to.given ? 0 : CANDIDATES_ATTEMPT_NS;
	if (channel_connect(&attempt->to.address, &options, now, &attempt->channel, &why)) {
		candidates_settle(&s->candidates, &attempt->to, CANDIDATE_FAILED, now);
		join_note_failure(s, why.text);
	}
}

/* Attempts overlap, so that a candidate that does not answer does not delay the others. */
static void join_search_try_to_connect(struct joining *s)
{
	uint64_t now = clock_now_ns();
	uint32_t going_on = join_search_attempts_going_on(s);
	if (going_on == JOIN_ATTEMPTS_MAX || (going_on && now < s->attempt_ns + ATTEMPT_SPACING_NS) ||
		join_search_has_connection(s))
		return;
	for (uint32_t i = 0; i < JOIN_ATTEMPTS_MAX; i++)
		if (!s->attempts[i].channel) {
			join_search_begin_attempt(s, &s->attempts[i], now);
			return;
		}
}

static void join_search_end_attempt(struct joining *s, struct join_attempt *attempt, enum candidate_fate fate)
{
	channel_destroy(attempt->channel);
	attempt->channel = NULL;
	candidates_settle(&s->candidates, &attempt->to, fate, clock_now_ns());
}

static void join_search_join(struct joining *s, struct join_attempt *attempt)
{
	s->joined = attempt->to;
	session_join(&s->session, attempt->channel);
	attempt->channel = NULL;
	for (uint32_t i = 0; i < JOIN_ATTEMPTS_MAX; i++)
		if (s->attempts[i].channel)
			join_search_end_attempt(s, &s->attempts[i], CANDIDATE_LEFT);
}

static void join_search_work_attempts(struct joining *s)
{
	for (uint32_t i = 0; i < JOIN_ATTEMPTS_MAX; i++) {
		struct join_attempt *attempt = &s->attempts[i];
		struct troupe_error why;
		if (!attempt->channel)
			continue;
		if (channel_work(attempt->channel, clock_now_ns(), &why)) {
			join_note_failure(s, why.text);
			join_search_end_attempt(s, attempt, CANDIDATE_FAILED);
			s->ended |= !join_may_find_another(s);
		} else if (channel_is_open(attempt->channel)) {
			join_search_join(s, attempt);
		}
	}
}

/* Waits for an event, or for the next time to look. */
static void join_search_wait_and_work(struct joining *s)
{
	struct pollfd more[1 + JOIN_ATTEMPTS_MAX] = {{.fd = s->woken, .events = POLLIN}};
	uint32_t count = 1;
	uint64_t rung;
	_Static_assert(1 + JOIN_ATTEMPTS_MAX <= SESSION_MORE_MAX, "all can be waited for");
	for (uint32_t i = 0; i < JOIN_ATTEMPTS_MAX; i++)
		if (s->attempts[i].channel)
			more[count++] = (struct pollfd){.fd = channel_fd(s->attempts[i].channel),
				.events = channel_poll_events(s->attempts[i].channel)};
	session_work(&s->session, SESSION_TICK_MS, more, count);
	if (more[0].revents)
		(void)!read(s->woken, &rung, sizeof rung);
}

void join_search(struct joining *s)
{
	join_search_announce(s);
	join_search_hear_announcements(s);
	join_search_note_useless(s);
	join_search_try_to_connect(s);
	join_search_work_attempts(s);
	join_search_wait_and_work(s);
}
