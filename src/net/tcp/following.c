/* One thread has the connection to the primary and the listener, at which secondaries come that have lost the primary,
 * too. They are told to come again until this process takes over. A standby of which only the own connection has failed
 * finds none there; it connects anew, and the feed begins again. A secondary of which only the own connection has
 * failed is sent back to the primary.
 *
 * That a secondary has come shows only that it lost the primary then. How many follow this process is known when they
 * have joined it: peers.h waits for so many (struct peers_options, least). In both cases only those count that the
 * primary had when it told of them last. */
#include "net/tcp/following.h"

#include "base/clock.h"
#include "base/pack.h"
#include "net/tcp/listener.h"
#include "net/tcp/log_limit.h"
#include "net/tcp/session.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { FOLLOWING_LOOK_MS = 50, FOLLOWING_VOTES_MAX = 2 * TROUPE_SECONDARIES_MAX };
#define FOLLOWING_BYTES_MAX (UINT64_C(4) << 30)
#define FOLLOWING_RETRY_NS UINT64_C(200000000)
#define FOLLOWING_VOTE_NS UINT64_C(1500000000) /* a secondary that came so lately has not found a primary */
/* How long secondaries that have lost a primary look for another one. */
#define FOLLOWING_PATIENCE_NS UINT64_C(30000000000)

struct vote {
	unsigned char id[HELLO_ID_BYTES];
	uint64_t first_ns, seen_ns; /* when it came first, and last */
};

struct following {
	const struct follow_host *host;
	struct hello hello;
	struct address address; /* of the primary */
	struct key key;
	bool keyed;
	uint64_t wait_ns;       /* for the primary to accept this process; 0: no limit */
	struct session session; /* only its listener, and connections that are being closed */
	int woken;              /* event file */
	struct log_limit log_limit;
	/* the connection to the primary */
	struct channel *channel; /* NULL: none */
	bool greeted;            /* our hello is sent */
	bool met;                /* its hello has come, and matches */
	bool begun;              /* a recording, on this connection */
	uint64_t bytes;          /* of this recording */
	bool follows;            /* it has sent a commit on this connection */
	uint64_t heard_ns, beat_ns, retry_ns, looked_ns;
	/* the run, as the primary told it last */
	uint64_t number, stale_ms;
	struct follow_run was;
	unsigned char (*processes)[HELLO_ID_BYTES]; /* of was; owned */
	bool known;                                 /* there is a recording to go on from */
	/* the primary is lost */
	uint64_t began_ns, lost_ns; /* 0: it is not */
	VEC(struct vote) votes;
	uint32_t told; /* votes that people were told of */
	/* the end */
	bool over, takes_over;
	bool forsaken; /* too few secondaries came when the primary was lost */
	troupe_status status;
	struct troupe_error why;
};

static void following_note(struct following *s, const char *format, ...) TROUPE_PRINTF(2, 3);
static void following_note(struct following *s, const char *format, ...)
{
	struct troupe_error text;
	va_list args;
	va_start(args, format);
	fail_v(&text, TROUPE_OK, format, args);
	va_end(args);
	s->host->on_note(s->host->ctx, text.text);
}

static void following_end(struct following *s, troupe_status status, const char *why)
{
	if (s->over)
		return;
	s->over = true;
	s->status = status;
	(void)fail(&s->why, status, "%s", why);
}

static uint32_t following_needed(const struct following *s)
{
	return s->was.goes_on ? follow_least(s->was.secondaries) : s->was.secondaries;
}

/* --- the connection to the primary -------------------------------------------------------------------------------- */

static void following_connect(struct following *s, uint64_t now_ns)
{
	struct channel_options options = {
		.role = CHANNEL_CLIENT, .key = s->keyed ? &s->key : NULL, .handshake_ns = 10 * FOLLOWING_RETRY_NS};
	struct troupe_error why;
	s->retry_ns = now_ns + FOLLOWING_RETRY_NS;
	s->greeted = s->met = s->begun = s->follows = false;
	if (channel_connect(&s->address, &options, now_ns, &s->channel, &why) &&
		log_limit_take(&s->log_limit, "", 0, why.text, now_ns))
		following_note(s, "%s", why.text);
}

static void following_drop(struct following *s, const char *why, uint64_t now_ns)
{
	char where[ADDRESS_TEXT_BYTES];
	char bare[TROUPE_ERROR_TEXT_BYTES];
	address_text(&s->address, where);
	(void)snprintf(bare, sizeof bare, "%s", session_bare(s->channel, why));
	channel_destroy(s->channel);
	s->channel = NULL;
	if (s->known && !s->lost_ns && s->met) {
		s->lost_ns = now_ns;
		s->told = 0;
		following_note(s,
			"the primary at %s is lost: %s; this standby takes over when %u of %u secondaries have lost "
			"it, too",
			where, bare, following_needed(s), s->was.secondaries);
	} else if (!s->met && !s->lost_ns && log_limit_take(&s->log_limit, "", 0, why, now_ns)) {
		following_note(s, "the primary at %s: %s", where, bare);
	}
	s->met = s->follows = false;
	s->retry_ns = now_ns + FOLLOWING_RETRY_NS;
}

static void following_greet(struct following *s)
{
	struct text hello = {0};
	hello_encode(&s->hello, &hello);
	(void)channel_send(s->channel, FRAME_HELLO, hello.at, hello.count, NULL);
	text_fini(&hello);
	s->greeted = true;
}

static troupe_status following_take_hello(
	struct following *s, const char *bytes, size_t count, struct troupe_error *error)
{
	struct hello hello;
	troupe_status status = hello_decode(bytes, count, &hello, error);
	if (!status)
		status = hello_match(&s->hello, &hello, error);
	if (status)
		return status;
	if (s->known && memcmp(s->hello.run, hello.run, sizeof hello.run) != 0)
		return fail(error, TROUPE_EPROTOCOL, "it has another run than the one that this standby follows");
	s->met = true;
	memcpy(s->hello.run, hello.run, sizeof s->hello.run);
	s->hello.term = hello.term;
	channel_limit(s->channel, FRAME_PAYLOAD_MAX);
	return TROUPE_OK;
}

static troupe_status following_take_run(struct following *s, struct unpack *in, struct troupe_error *error)
{
	uint64_t number = unpack_u64(in);
	struct follow_run run = {
		.secondaries = unpack_count(in, TROUPE_SECONDARIES_MAX), .goes_on = unpack_count(in, 1)};
	run.iterations = unpack_u64(in);
	run.until_s = unpack_double(in);
	uint64_t stale_ms = unpack_count(in, HELLO_STALE_MS_MAX);
	size_t bytes = run.secondaries * sizeof *s->processes;
	if (in->bad || (size_t)(in->end - in->at) != bytes || !bytes || !stale_ms || !(run.until_s >= 0))
		return fail(error, TROUPE_EPROTOCOL, "what it said of the run is not valid");
	free(s->processes);
	s->processes = mem_alloc(bytes);
	memcpy(s->processes, in->at, bytes);
	run.processes = s->processes;
	s->number = number;
	s->was = run;
	s->stale_ms = stale_ms;
	s->beat_ns = 0; /* the answer goes at once */
	return TROUPE_OK;
}

static troupe_status following_take_follow(
	struct following *s, const char *bytes, size_t count, struct troupe_error *error)
{
	struct unpack in = {bytes, bytes + count, false};
	uint64_t kind = unpack_u64(&in);
	bool due = kind == FOLLOW_RUN || kind == FOLLOW_BEGIN || (kind == FOLLOW_BYTES && s->begun) ||
		   (kind == FOLLOW_FILES && !s->begun) || (kind == FOLLOW_COMMIT && s->begun && s->was.secondaries);
	if (in.bad || !s->met || !due)
		return fail(error, TROUPE_EPROTOCOL, "it sent a part of the run that is not due");
	s->begun |= kind == FOLLOW_BEGIN;
	s->bytes = kind == FOLLOW_BEGIN ? 0 : s->bytes + count;
	if (s->bytes > FOLLOWING_BYTES_MAX)
		return fail(error, TROUPE_EPROTOCOL, "it sent more than %" PRIu64 " bytes without a new state",
			FOLLOWING_BYTES_MAX);
	if (kind == FOLLOW_RUN)
		return following_take_run(s, &in, error);
	if (kind == FOLLOW_COMMIT && !s->follows) {
		char where[ADDRESS_TEXT_BYTES];
		address_text(&s->address, where);
		following_note(s, "follows the primary at %s, of %u %s", where, s->was.secondaries,
			s->was.secondaries == 1 ? "secondary" : "secondaries");
		s->follows = s->known = true;
		s->lost_ns = 0;
	}
	s->host->on_follow(s->host->ctx, (enum follow_kind)kind, in.at, (size_t)(in.end - in.at));
	return TROUPE_OK;
}

static troupe_status following_take_stop(
	struct following *s, const char *bytes, size_t count, struct troupe_error *error)
{
	struct stop stop;
	struct troupe_error line;
	troupe_status status = stop_decode(bytes, count, &stop, error);
	if (status)
		return status;
	(void)fail(&line, TROUPE_EPEER, "the primary ended the run: %s", stop.why);
	following_end(s, stop.kind == STOP_DONE ? TROUPE_OK : TROUPE_EPEER, line.text);
	return TROUPE_OK;
}

/* A refusal that is not for ever: the world does not run yet, or there is another standby. */
static troupe_status following_take_refuse(
	struct following *s, const char *bytes, size_t count, uint64_t now_ns, struct troupe_error *error)
{
	char why[HELLO_WORDS_MAX + 1];
	bool again;
	struct troupe_error line;
	troupe_status status = refuse_decode(bytes, count, why, &again, error);
	if (status)
		return status;
	(void)fail(&line, TROUPE_EPROTOCOL, "the primary turned this process away: %s", why);
	if (!again)
		following_end(s, TROUPE_EPROTOCOL, line.text);
	else if (log_limit_take(&s->log_limit, "", 0, why, now_ns))
		following_note(s, "%s; this process comes again until it is let in", line.text);
	channel_destroy(s->channel);
	s->channel = NULL;
	s->retry_ns = now_ns + FOLLOWING_RETRY_NS;
	return TROUPE_OK;
}

static troupe_status following_take(struct following *s, enum frame_type type, const char *bytes, size_t count,
	uint64_t now_ns, struct troupe_error *error)
{
	switch (type) {
	case FRAME_HELLO:
		return s->met ? fail(error, TROUPE_EPROTOCOL, "it sent a second hello")
			      : following_take_hello(s, bytes, count, error);
	case FRAME_REFUSE:
		return following_take_refuse(s, bytes, count, now_ns, error);
	case FRAME_FOLLOW:
		return following_take_follow(s, bytes, count, error);
	case FRAME_STOP:
		return following_take_stop(s, bytes, count, error);
	case FRAME_HEARTBEAT:
		return TROUPE_OK;
	default:
		return fail(error, TROUPE_EPROTOCOL, "it sent %s, which is not due", frame_name(type));
	}
}

static void following_receive(struct following *s, uint64_t now_ns)
{
	enum frame_type type;
	const char *bytes;
	size_t count;
	troupe_status status = TROUPE_OK;
	struct troupe_error error, end;
	troupe_status ended = channel_work(s->channel, now_ns, &end);
	if (!ended && !s->greeted && channel_is_open(s->channel))
		following_greet(s);
	while (s->channel && !s->over && channel_receive(s->channel, &type, &bytes, &count, &status, &error)) {
		s->heard_ns = now_ns;
		status = following_take(s, type, bytes, count, now_ns, &error);
		if (status)
			break;
	}
	if (s->channel && !s->over && (status || ended))
		following_drop(s, status ? error.text : end.text, now_ns);
}

/* Like peers_woke(): a process that was suspended has not heard the others, and its own silence was as long. */
static void following_look_after(struct following *s, uint64_t now_ns)
{
	struct text payload = {0};
	const uint64_t stale_ns = s->stale_ms * UINT64_C(1000000);
	if (!s->channel || !s->met || !stale_ns)
		return;
	if (now_ns - s->looked_ns >= stale_ns)
		s->heard_ns = now_ns;
	s->looked_ns = now_ns;
	if (now_ns - s->heard_ns >= stale_ns) {
		following_drop(s, "it is silent", now_ns);
		return;
	}
	if (now_ns - s->beat_ns < stale_ns / 5)
		return;
	s->beat_ns = now_ns;
	heartbeat_encode(&(struct heartbeat){.step = s->number}, &payload);
	(void)channel_send(s->channel, FRAME_HEARTBEAT, payload.at, payload.count, NULL);
	text_fini(&payload);
}

/* --- secondaries that have lost the primary ----------------------------------------------------------------------- */

static struct vote *following_find_vote(struct following *s, const unsigned char id[HELLO_ID_BYTES])
{
	for (uint32_t i = 0; i < s->votes.count; i++)
		if (!memcmp(s->votes.at[i].id, id, HELLO_ID_BYTES))
			return &s->votes.at[i];
	return NULL;
}

/* False: it has waited for long, but the primary is there: it is to join it again, and its vote is forgotten. */
static bool following_count_vote(struct following *s, const unsigned char id[HELLO_ID_BYTES], uint64_t now_ns)
{
	struct vote *known = following_find_vote(s, id);
	struct vote vote = {.first_ns = now_ns, .seen_ns = now_ns};
	memcpy(vote.id, id, sizeof vote.id);
	if (!known && s->votes.count < FOLLOWING_VOTES_MAX)
		vec_push(&s->votes, vote);
	if (!known)
		return true;
	known->seen_ns = now_ns;
	if (!s->follows || now_ns - known->first_ns < 2 * s->stale_ms * UINT64_C(1000000) + FOLLOWING_VOTE_NS)
		return true;
	*known = s->votes.at[--s->votes.count];
	return false;
}

static bool following_is_member(const struct following *s, const unsigned char id[HELLO_ID_BYTES])
{
	for (uint32_t i = 0; i < s->was.secondaries; i++)
		if (!memcmp(s->processes[i], id, HELLO_ID_BYTES))
			return true;
	return false;
}

static uint32_t following_votes(struct following *s, uint64_t now_ns)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < s->votes.count; i++)
		if (now_ns - s->votes.at[i].seen_ns < FOLLOWING_VOTE_NS && following_is_member(s, s->votes.at[i].id))
			s->votes.at[kept++] = s->votes.at[i];
	s->votes.count = kept;
	return kept;
}

/* Whether it is, or was, a secondary of the primary that this process follows. */
static bool following_is_ours(const struct following *s, const struct hello *hello)
{
	return s->known && hello->role == HELLO_SECONDARY && !*hello->client && hello->term == s->hello.term &&
	       !memcmp(hello->run, s->hello.run, sizeof hello->run);
}

/* One that the primary has lost before has no vote: the primary goes on without it. False: it is to join the primary
 * again. */
static bool following_takes_vote(struct following *s, const unsigned char id[HELLO_ID_BYTES], uint64_t now_ns)
{
	return following_is_member(s, id) ? following_count_vote(s, id, now_ns) : !s->follows;
}

static void following_answer(struct following *s, struct channel *channel, uint64_t now_ns)
{
	enum frame_type type;
	const char *bytes;
	size_t count;
	troupe_status status;
	struct hello hello;
	struct troupe_error why;
	struct text refusal = {0};
	const char *words = "it is a standby, which has not taken over";
	bool again = channel_receive(channel, &type, &bytes, &count, &status, NULL) && type == FRAME_HELLO &&
		     !hello_decode(bytes, count, &hello, &why) && !hello_match(&s->hello, &hello, &why);
	if (!again) {
		words = "it is a standby";
	} else if (following_is_ours(s, &hello) && !following_takes_vote(s, hello.id, now_ns)) {
		words = "it is a standby, and the primary is not lost";
		again = false;
	}
	refuse_encode(words, again, &refusal);
	(void)channel_send(channel, FRAME_REFUSE, refusal.at, refusal.count, NULL);
	text_fini(&refusal);
	session_finish(&s->session, channel);
}

static void following_listen(struct following *s, uint64_t now_ns)
{
	struct channel *channel;
	struct address from;
	struct troupe_error unwanted;
	listener_work(s->session.listener, now_ns);
	while ((channel = listener_take(s->session.listener)))
		following_answer(s, channel, now_ns);
	while (listener_take_refusal(s->session.listener, &from, &unwanted))
		;
	session_flush(&s->session, 0);
}

/* --- deciding ----------------------------------------------------------------------------------------------------- */

static void following_decide(struct following *s, uint64_t now_ns)
{
	struct troupe_error line;
	uint32_t votes = following_votes(s, now_ns), needed = following_needed(s);
	if (!s->known) {
		if (s->wait_ns && now_ns - s->began_ns >= s->wait_ns)
			following_end(s, TROUPE_EPEER,
				"no primary has let this standby in: expected one in the time of "
				"--network-wait");
		return;
	}
	if (votes > s->told) {
		s->told = votes;
		following_note(s, "%u of %u secondaries have lost the primary; %u %s needed", votes, s->was.secondaries,
			needed, needed == 1 ? "is" : "are");
	}
	if (votes >= needed) {
		s->takes_over = true;
		following_end(s, TROUPE_OK, "");
	} else if (s->lost_ns && now_ns - s->lost_ns >= (s->wait_ns ? s->wait_ns : FOLLOWING_PATIENCE_NS)) {
		(void)fail(&line, TROUPE_EPEER,
			"the primary was lost, and %u of %u secondaries came to this standby: expected %u", votes,
			s->was.secondaries, needed);
		s->forsaken = true;
		following_end(s, TROUPE_EPEER, line.text);
	}
}

static void following_wait(struct following *s)
{
	struct pollfd fds[2 + LISTENER_POLL_MAX] = {{s->woken, POLLIN, 0}};
	uint32_t count = 1;
	uint64_t rung;
	if (s->channel)
		fds[count++] = (struct pollfd){channel_fd(s->channel), channel_poll_events(s->channel), 0};
	count += listener_poll(s->session.listener, clock_now_ns(), fds + count);
	int least_ms = s->stale_ms ? (int)(s->stale_ms / 5 + 1) : FOLLOWING_LOOK_MS;
	(void)poll(fds, count, MIN(FOLLOWING_LOOK_MS, least_ms));
	if (fds[0].revents)
		(void)!read(s->woken, &rung, sizeof rung);
}

/* A primary that most of its secondaries have lost may be there; and one that the standby leaves need not wait for it.
 */
static void following_say_goodbye(struct following *s)
{
	struct stop stop = {.kind = STOP_LEFT};
	struct text payload = {0};
	(void)snprintf(
		stop.why, sizeof stop.why, "%s", s->takes_over ? "the standby takes over" : "the standby leaves");
	stop_encode(&stop, &payload);
	(void)channel_send(s->channel, FRAME_STOP, payload.at, payload.count, NULL);
	(void)channel_work(s->channel, clock_now_ns(), NULL);
	text_fini(&payload);
}

troupe_status following_run(struct following *s, struct follow_term *ret_term, struct troupe_error *error)
{
	*ret_term = (struct follow_term){0};
	s->began_ns = clock_now_ns();
	while (!s->over && !s->host->stopped(s->host->ctx)) {
		following_wait(s);
		uint64_t now_ns = clock_now_ns();
		if (!s->channel && now_ns >= s->retry_ns)
			following_connect(s, now_ns);
		if (s->channel)
			following_receive(s, now_ns);
		following_look_after(s, now_ns);
		following_listen(s, now_ns);
		following_decide(s, now_ns);
	}
	if (s->channel && s->met)
		following_say_goodbye(s);
	listener_destroy(s->session.listener);
	s->session.listener = NULL;
	channel_destroy(s->channel);
	s->channel = NULL;
	ret_term->lost_ns = s->forsaken ? s->lost_ns : 0;
	if (!s->takes_over)
		return s->status ? fail(error, s->status, "%s", s->why.text) : TROUPE_OK;
	memcpy(ret_term->run, s->hello.run, sizeof ret_term->run);
	ret_term->term = s->hello.term + 1;
	ret_term->was = s->was;
	ret_term->lost_ns = s->lost_ns ? s->lost_ns : clock_now_ns();
	ret_term->least = following_needed(s);
	return TROUPE_OK;
}

void following_wake(struct following *s)
{
	uint64_t one = 1;
	(void)!write(s->woken, &one, sizeof one);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

/* Secondaries are told the host only if it is one that others can reach; else they take it from the connection. */
static void following_describe(struct following *s)
{
	const struct address *at = listener_address(s->session.listener);
	char where[ADDRESS_TEXT_BYTES];
	address_text(at, where);
	if (address_is_wildcard(at) || address_is_loopback(at))
		(void)snprintf(s->hello.listen, sizeof s->hello.listen, ":%u", address_port(at));
	else
		(void)snprintf(s->hello.listen, sizeof s->hello.listen, "%s", where);
}

static troupe_status following_open(
	struct following *s, const struct troupe_network *network, struct troupe_error *error)
{
	struct listener_options options = {
		.insecure = network->insecure, .in_use = ": --network-listen :PORT chooses another port"};
	troupe_status status = session_key(network, &s->key, &s->keyed, error);
	options.key = s->keyed ? &s->key : NULL;
	const char *where = network->listen ? network->listen : s->keyed || network->insecure ? "*" : "";
	if (!status)
		status = address_parse(network->address, ADDRESS_PORT, &s->address, error);
	if (!status && !s->keyed && !network->insecure && !address_is_loopback(&s->address))
		status = fail(error, TROUPE_EINVAL,
			"%s: without a key only this machine: expected a key file (see troupe keygen), or "
			"--network-insecure",
			network->address);
	if (!status)
		status = address_parse_listen(where, ADDRESS_PORT, &options.address, error);
	if (!status)
		status = listener_create(&options, &s->session.listener, error);
	if (!status)
		following_describe(s);
	return status;
}

troupe_status following_create(const struct gather_self *self, const struct follow_host *host,
	struct following **ret_following, struct troupe_error *error)
{
	struct following *s = mem_alloc(sizeof *s);
	s->host = host;
	s->wait_ns = (uint64_t)(self->network->wait_s * 1e9);
	s->woken = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	troupe_status status = gather_hello(self, HELLO_STANDBY, &s->hello, error);
	if (!status)
		status = following_open(s, self->network, error);
	if (status) {
		following_destroy(s);
		return status;
	}
	*ret_following = s;
	return TROUPE_OK;
}

void following_destroy(struct following *s)
{
	if (!s)
		return;
	vec_free(&s->votes);
	free(s->processes);
	channel_destroy(s->channel);
	session_fini(&s->session);
	key_forget(&s->key);
	if (s->woken >= 0)
		(void)close(s->woken);
	free(s);
}
