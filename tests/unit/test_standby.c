/* A standby, of which the test is all peers: the primary that it follows, and the secondaries that come to it when they
 * have lost this primary. */
#include "base/clock.h"
#include "base/pack.h"
#include "net/backend.h"
#include "net/tcp/channel.h"
#include "net/tcp/listener.h"
#include "server/record.h"
#include "server/standby.h"

#include <troupe/standby.h>

#include <criterion/criterion.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(standby, .timeout = 120);

enum { MEMBERS_MAX = 4, CALM_MS = 600000, STEP_MS = 5 };

/* --- the standby, on a thread of its own -------------------------------------------------------------------------- */

struct given { /* one on_follow() */
	enum follow_kind kind;
	char bytes[16];
	size_t count;
};

struct side {
	const struct backend *backend;
	struct following *following;
	struct troupe_standby *standby; /* in place of it */
	struct follow_host host;
	struct follow_term term;
	struct troupe_error error;
	troupe_status status;
	pthread_t thread;
	_Atomic bool stop, over;
	pthread_mutex_t lock;
	struct text notes; /* lines; under the lock, as what follows */
	struct given given[16];
	uint32_t given_count;
	uint64_t shown_step, shown_hash;
	uint32_t shown;
};

static void on_note(void *ctx, const char *text)
{
	struct side *side = ctx;
	pthread_mutex_lock(&side->lock);
	text_add(&side->notes, "%s\n", text);
	pthread_mutex_unlock(&side->lock);
}

static bool stopped(void *ctx)
{
	struct side *side = ctx;
	return atomic_load(&side->stop);
}

static void on_follow(void *ctx, enum follow_kind kind, const char *bytes, size_t count)
{
	struct side *side = ctx;
	pthread_mutex_lock(&side->lock);
	struct given *given = &side->given[side->given_count++ % 16];
	*given = (struct given){.kind = kind, .count = count};
	memcpy(given->bytes, bytes, MIN(count, sizeof given->bytes));
	pthread_mutex_unlock(&side->lock);
}

static void on_hash(void *ctx, uint64_t step, uint64_t hash)
{
	struct side *side = ctx;
	side->shown_step = step;
	side->shown_hash = hash;
	side->shown++;
}

static void *work(void *arg)
{
	struct side *side = arg;
	side->status = side->standby ? troupe_standby_run(side->standby, &side->error)
				     : side->backend->follow->following_run(side->following, &side->term, &side->error);
	atomic_store(&side->over, true);
	return NULL;
}

static void begin(struct side *side)
{
	cr_assert_eq(pthread_create(&side->thread, NULL, work, side), 0);
}

static void finish(struct side *side)
{
	cr_assert_eq(pthread_join(side->thread, NULL), 0);
}

static bool has_said(struct side *side, const char *words)
{
	pthread_mutex_lock(&side->lock);
	bool said = side->notes.at && strstr(side->notes.at, words);
	pthread_mutex_unlock(&side->lock);
	return said;
}

static uint32_t times_said(struct side *side, const char *words)
{
	uint32_t count = 0;
	pthread_mutex_lock(&side->lock);
	for (const char *at = side->notes.at; at && (at = strstr(at, words)); at++)
		count++;
	pthread_mutex_unlock(&side->lock);
	return count;
}

static uint32_t given_count(struct side *side)
{
	pthread_mutex_lock(&side->lock);
	uint32_t count = side->given_count;
	pthread_mutex_unlock(&side->lock);
	return count;
}

/* --- its primary -------------------------------------------------------------------------------------------------- */

struct primary {
	struct listener *listener;
	char where[ADDRESS_TEXT_BYTES];
	struct channel *channel;
	struct hello standby, hello; /* the standby's last hello, and ours */
	uint32_t secondaries;
	bool goes_on;
	uint64_t stale_ms;
};

static void member_id(uint32_t number, unsigned char ret_id[HELLO_ID_BYTES])
{
	memset(ret_id, 0, HELLO_ID_BYTES);
	ret_id[0] = 'm'; /* members differ in the last byte */
	ret_id[HELLO_ID_BYTES - 1] = (unsigned char)(number + 1);
}

static void make_primary(struct primary *primary, uint32_t secondaries, bool goes_on)
{
	struct listener_options options = {.hello_ns = UINT64_C(100000000000)};
	*primary = (struct primary){.secondaries = secondaries, .goes_on = goes_on, .stale_ms = CALM_MS};
	cr_assert_eq(address_parse_listen("127.0.0.1:0", 0, &options.address, NULL), TROUPE_OK);
	cr_assert_eq(listener_create(&options, &primary->listener, NULL), TROUPE_OK);
	address_text(listener_address(primary->listener), primary->where);
}

static void wait_a_little(struct channel *channel)
{
	struct pollfd fd = {channel ? channel_fd(channel) : -1, POLLIN, 0};
	(void)poll(&fd, 1, STEP_MS);
}

/* The next frame, which the test waits for; 0: the connection has ended. */
static enum frame_type next_frame(struct channel *channel, const char **ret_bytes, size_t *ret_count)
{
	enum frame_type type;
	troupe_status bad = TROUPE_OK, ended = TROUPE_OK;
	while (!channel_receive(channel, &type, ret_bytes, ret_count, &bad, NULL)) {
		if (ended || bad)
			return (enum frame_type)0;
		wait_a_little(channel);
		ended = channel_work(channel, clock_now_ns(), NULL);
	}
	return type;
}

static void send_frame(struct channel *channel, enum frame_type type, struct text *bytes)
{
	cr_assert_eq(channel_send(channel, type, bytes->at, bytes->count, NULL), TROUPE_OK);
	(void)channel_work(channel, clock_now_ns(), NULL); /* the standby may have ended the connection already */
	text_fini(bytes);
	*bytes = (struct text){0};
}

static void send_hello(struct channel *channel, const struct hello *hello)
{
	struct text bytes = {0};
	hello_encode(hello, &bytes);
	send_frame(channel, FRAME_HELLO, &bytes);
}

/* The standby has come, and said who it is. */
static void await_standby(struct primary *primary)
{
	const char *bytes;
	size_t count;
	while (!(primary->channel = listener_take(primary->listener))) {
		wait_a_little(NULL);
		listener_work(primary->listener, clock_now_ns());
	}
	cr_assert_eq(next_frame(primary->channel, &bytes, &count), FRAME_HELLO);
	cr_assert_eq(hello_decode(bytes, count, &primary->standby, NULL), TROUPE_OK);
	channel_limit(primary->channel, FRAME_PAYLOAD_MAX);
	if (!primary->hello.term) {
		primary->hello = primary->standby;
		primary->hello.role = HELLO_PRIMARY;
		primary->hello.term = 6;
		memcpy(primary->hello.run, "a run, 16 bytes.", HELLO_RUN_BYTES);
		memset(primary->hello.id, 'p', HELLO_ID_BYTES);
		*primary->hello.listen = '\0';
	}
}

static void send_part(struct primary *primary, uint64_t kind, const void *bytes, size_t count)
{
	struct text frame = {0};
	pack_u64(&frame, kind);
	text_add_bytes(&frame, count ? bytes : "", count);
	send_frame(primary->channel, FRAME_FOLLOW, &frame);
}

static void send_commit(struct primary *primary, uint64_t step)
{
	struct text bytes = {0};
	pack_u64(&bytes, step);
	send_part(primary, FOLLOW_COMMIT, bytes.at, bytes.count);
	text_fini(&bytes);
}

struct run_frame {
	uint64_t number, secondaries, goes_on, iterations;
	double until_s;
	uint64_t stale_ms, processes;
};

static struct run_frame run_of(const struct primary *primary, uint64_t number)
{
	return (struct run_frame){
		number, primary->secondaries, primary->goes_on, 5000, 12.5, primary->stale_ms, primary->secondaries};
}

static void send_run(struct primary *primary, const struct run_frame *run)
{
	struct text frame = {0};
	pack_u64(&frame, run->number);
	pack_u64(&frame, run->secondaries);
	pack_u64(&frame, run->goes_on);
	pack_u64(&frame, run->iterations);
	pack_double(&frame, run->until_s);
	pack_u64(&frame, run->stale_ms);
	for (uint32_t i = 0; i < run->processes; i++) {
		unsigned char id[HELLO_ID_BYTES];
		member_id(i, id);
		text_add_bytes(&frame, (const char *)id, sizeof id);
	}
	send_part(primary, FOLLOW_RUN, frame.at, frame.count);
	text_fini(&frame);
}

static void await_answer(struct primary *primary, uint64_t number)
{
	struct heartbeat heartbeat = {.step = UINT64_MAX};
	const char *bytes;
	size_t count;
	while (heartbeat.step != number) {
		cr_assert_eq(next_frame(primary->channel, &bytes, &count), FRAME_HEARTBEAT);
		cr_assert_eq(heartbeat_decode(bytes, count, &heartbeat, NULL), TROUPE_OK);
	}
}

/* Tells of the run, and waits for the answer. */
static void tell(struct primary *primary, uint64_t number)
{
	struct run_frame run = run_of(primary, number);
	send_run(primary, &run);
	await_answer(primary, number);
}

/* Up to a first commit, of which the standby has said that it follows. */
static void lead(struct primary *primary, struct side *side)
{
	await_standby(primary);
	send_hello(primary->channel, &primary->hello);
	tell(primary, 1);
	uint32_t before = times_said(side, "follows the primary");
	send_part(primary, FOLLOW_BEGIN, NULL, 0);
	send_commit(primary, 3);
	while (times_said(side, "follows the primary") == before)
		wait_a_little(NULL);
}

static void lose(struct primary *primary)
{
	channel_destroy(primary->channel);
	primary->channel = NULL;
}

static bool is_closed(struct primary *primary)
{
	const char *bytes;
	size_t count;
	enum frame_type type;
	while ((type = next_frame(primary->channel, &bytes, &count)) == FRAME_HEARTBEAT)
		;
	lose(primary);
	return !type;
}

static void end_primary(struct primary *primary)
{
	lose(primary);
	listener_destroy(primary->listener);
	primary->listener = NULL;
}

static void make_side(struct side *side, const struct primary *primary, double wait_s)
{
	struct troupe_network network = {.address = primary->where, .listen = "127.0.0.1:0", .wait_s = wait_s};
	struct gather_self self = {.network = &network};
	*side = (struct side){.lock = PTHREAD_MUTEX_INITIALIZER};
	side->host = (struct follow_host){on_note, stopped, on_follow, side};
	cr_assert_eq(backend_remote(NULL, &side->backend, NULL), TROUPE_OK);
	cr_assert_eq(side->backend->follow->following_create(&self, &side->host, &side->following, NULL), TROUPE_OK);
	begin(side);
}

static void end_side(struct side *side, struct primary *primary)
{
	atomic_store(&side->stop, true);
	side->backend->follow->following_wake(side->following);
	finish(side);
	side->backend->follow->following_destroy(side->following);
	end_primary(primary);
	text_fini(&side->notes);
}

/* --- its secondaries ---------------------------------------------------------------------------------------------- */

struct answer {
	char words[HELLO_WORDS_MAX + 1];
	bool again;
};

static struct hello member_of(const struct primary *primary, uint32_t number)
{
	struct hello hello = primary->hello;
	hello.role = HELLO_SECONDARY;
	member_id(number, hello.id);
	return hello;
}

/* A secondary with this hello comes to the standby, and is sent away. False: nobody is there. */
static bool come_as(const struct primary *primary, const struct hello *hello, struct answer *ret_answer)
{
	struct channel_options options = {.role = CHANNEL_CLIENT, .handshake_ns = UINT64_C(100000000000)};
	struct address address;
	struct channel *channel;
	char where[HELLO_TEXT_MAX + 16];
	const char *bytes;
	size_t count;
	struct text frame = {0};
	*ret_answer = (struct answer){0};
	(void)snprintf(where, sizeof where, "127.0.0.1%s", primary->standby.listen);
	cr_assert_eq(address_parse(where, 0, &address, NULL), TROUPE_OK);
	if (channel_connect(&address, &options, clock_now_ns(), &channel, NULL))
		return false;
	hello_encode(hello, &frame);
	(void)channel_send(channel, FRAME_HELLO, frame.at, frame.count, NULL);
	text_fini(&frame);
	bool answered = next_frame(channel, &bytes, &count) == FRAME_REFUSE;
	if (answered)
		cr_assert_eq(refuse_decode(bytes, count, ret_answer->words, &ret_answer->again, NULL), TROUPE_OK);
	channel_destroy(channel);
	return answered;
}

static struct answer come(const struct primary *primary, uint32_t number)
{
	struct answer answer;
	struct hello hello = member_of(primary, number);
	(void)come_as(primary, &hello, &answer);
	return answer;
}

/* --- what comes from the primary ---------------------------------------------------------------------------------- */

Test(standby, a_run_is_followed_and_each_part_is_passed_on)
{
	struct primary primary;
	struct side side;
	make_primary(&primary, 2, false);
	make_side(&side, &primary, 0);
	lead(&primary, &side);
	cr_assert_eq(primary.standby.role, HELLO_STANDBY);
	cr_assert_eq(*primary.standby.listen, ':');
	char expected[256];
	(void)snprintf(expected, sizeof expected, "follows the primary at %s, of 2 secondaries\n", primary.where);
	cr_assert(has_said(&side, expected), "%s", side.notes.at);
	send_part(&primary, FOLLOW_BYTES, "first", 5);
	send_commit(&primary, 4);
	send_part(&primary, FOLLOW_BEGIN, NULL, 0);
	send_part(&primary, FOLLOW_BYTES, "second bytes", 12);
	primary.secondaries = 3;
	tell(&primary, 8);
	send_commit(&primary, 0x102030405);
	tell(&primary, 9);
	static const enum follow_kind kinds[] = {
		FOLLOW_BEGIN, FOLLOW_COMMIT, FOLLOW_BYTES, FOLLOW_COMMIT, FOLLOW_BEGIN, FOLLOW_BYTES, FOLLOW_COMMIT};
	cr_assert_eq(given_count(&side), 7);
	for (uint32_t i = 0; i < 7; i++)
		cr_assert_eq(side.given[i].kind, kinds[i], "%u", i);
	cr_assert_eq(side.given[2].count, 5);
	cr_assert_arr_eq(side.given[2].bytes, "first", 5);
	cr_assert_arr_eq(side.given[5].bytes, "second bytes", 12);
	cr_assert_arr_eq(side.given[6].bytes, "\5\4\3\2\1\0\0\0", 8);
	cr_assert_eq(times_said(&side, "follows"), 1, "once for a connection");
	end_side(&side, &primary);
}

Test(standby, one_secondary_is_named_as_one)
{
	struct primary primary;
	struct side side;
	make_primary(&primary, 1, true);
	make_side(&side, &primary, 0);
	lead(&primary, &side);
	cr_assert(has_said(&side, ", of 1 secondary\n"));
	lose(&primary);
	while (!has_said(&side, "is lost"))
		wait_a_little(NULL);
	cr_assert(has_said(&side, "when 1 of 1 secondaries have lost it, too"));
	end_side(&side, &primary);
}

/* Of these parts the primary sends one in place of what is due; NULL begins what is sent on each connection. */
static void send_odd(struct primary *primary, uint32_t which)
{
	struct run_frame run = run_of(primary, 2);
	struct text bytes = {0};
	switch (which) {
	case 0:
		send_part(primary, FOLLOW_BYTES, "x", 1);
		return;
	case 1:
		send_commit(primary, 1);
		return;
	case 2:
		send_part(primary, 0, NULL, 0);
		return;
	case 3:
		send_part(primary, FOLLOW_KINDS, NULL, 0);
		return;
	case 4:
		pack_u64(&bytes, 0);
		send_frame(primary->channel, FRAME_READY, &bytes);
		return;
	case 5:
		send_hello(primary->channel, &primary->hello);
		return;
	case 6:
		text_add(&bytes, "short");
		send_frame(primary->channel, FRAME_FOLLOW, &bytes);
		return;
	case 7:
		run.secondaries = run.processes = 0;
		break;
	case 8:
		run.processes--;
		break;
	case 9:
		run.processes++;
		break;
	case 10:
		run.goes_on = 2;
		break;
	case 11:
		run.stale_ms = 0;
		break;
	case 12:
		run.stale_ms = HELLO_STALE_MS_MAX + 1;
		break;
	case 13:
		run.until_s = -1;
		break;
	default:
		run.until_s = INFINITY;
		break;
	}
	send_run(primary, &run);
}

static const char *const odd_words[] = {"a part of the run that is not due", "a part of the run that is not due",
	"a part of the run that is not due", "a part of the run that is not due", "READY, which is not due",
	"a second hello", "a part of the run that is not due", "what it said of the run is not valid"};
enum { ODD_COUNT = 15, ODD_AT_FIRST = 2, ODD_WORDS = 8 };

/* Each on a connection of its own, after one that was right: what had begun there has not begun here. */
Test(standby, parts_that_are_not_due_or_not_valid_end_the_connection)
{
	struct primary primary;
	struct side side;
	make_primary(&primary, 3, true);
	make_side(&side, &primary, 0);
	lead(&primary, &side);
	lose(&primary);
	while (!has_said(&side, "is lost"))
		wait_a_little(NULL);
	for (uint32_t i = 0; i < ODD_AT_FIRST; i++) {
		await_standby(&primary);
		send_hello(primary.channel, &primary.hello);
		send_odd(&primary, i);
		cr_assert(is_closed(&primary), "%u", i);
	}
	cr_assert_eq(times_said(&side, "is lost"), 1, "%s", side.notes.at);
	end_side(&side, &primary);
}

Test(standby, a_primary_that_breaks_a_rule_is_lost_and_the_reason_is_told)
{
	for (uint32_t i = ODD_AT_FIRST; i < ODD_COUNT; i++) { /* in a recording that has begun the others are due */
		struct primary primary;
		struct side side;
		make_primary(&primary, 3, true);
		make_side(&side, &primary, 0);
		lead(&primary, &side);
		send_odd(&primary, i);
		cr_assert(is_closed(&primary), "%u", i);
		while (!has_said(&side, "is lost"))
			wait_a_little(NULL);
		cr_assert(has_said(&side, odd_words[MIN(i, ODD_WORDS - 1)]), "%u: %s", i, side.notes.at);
		cr_assert(has_said(&side, "when 2 of 3 secondaries"), "%s", side.notes.at);
		end_side(&side, &primary);
	}
}

Test(standby, a_primary_that_has_not_said_who_it_is_may_send_nothing_of_the_run)
{
	struct primary primary;
	struct side side;
	make_primary(&primary, 2, true);
	make_side(&side, &primary, 0);
	await_standby(&primary);
	send_part(&primary, FOLLOW_BEGIN, NULL, 0);
	cr_assert(is_closed(&primary));
	await_standby(&primary);
	primary.hello.role = HELLO_STANDBY;
	send_hello(primary.channel, &primary.hello);
	cr_assert(is_closed(&primary));
	primary.hello.role = HELLO_PRIMARY;
	while (!has_said(&side, "not due"))
		wait_a_little(NULL);
	cr_assert_not(has_said(&side, "is lost"));
	lead(&primary, &side); /* and then all is well */
	end_side(&side, &primary);
}

Test(standby, another_run_at_the_same_address_is_not_followed)
{
	struct primary primary;
	struct side side;
	make_primary(&primary, 2, true);
	make_side(&side, &primary, 0);
	lead(&primary, &side);
	lose(&primary);
	await_standby(&primary);
	cr_assert_eq(primary.standby.term, 6);
	cr_assert_arr_eq(primary.standby.run, primary.hello.run, HELLO_RUN_BYTES);
	primary.hello.run[HELLO_RUN_BYTES - 1] ^= 1;
	send_hello(primary.channel, &primary.hello);
	cr_assert(is_closed(&primary));
	primary.hello.run[HELLO_RUN_BYTES - 1] ^= 1;
	lead(&primary, &side);
	cr_assert_eq(times_said(&side, "follows"), 2);
	lose(&primary);
	while (times_said(&side, "is lost") < 2)
		wait_a_little(NULL);
	end_side(&side, &primary);
}

static void end_with_stop(enum stop_kind kind, troupe_status status, const char *words)
{
	struct primary primary;
	struct side side;
	struct text bytes = {0};
	make_primary(&primary, 2, true);
	make_side(&side, &primary, 0);
	lead(&primary, &side);
	stop_encode(&(struct stop){.kind = kind, .why = "why it ended"}, &bytes);
	send_frame(primary.channel, FRAME_STOP, &bytes);
	while (!atomic_load(&side.over))
		wait_a_little(NULL);
	cr_assert_eq(side.status, status);
	cr_assert_eq(side.term.term, 0);
	cr_assert(!words || strstr(side.error.text, words), "%s", side.error.text);
	end_side(&side, &primary);
}

Test(standby, ends_with_the_run)
{
	end_with_stop(STOP_DONE, TROUPE_OK, NULL);
	end_with_stop(STOP_FAILED, TROUPE_EPEER, "the primary ended the run: why it ended");
}

static void refuse(struct primary *primary, bool again)
{
	struct text bytes = {0};
	refuse_encode("no room", again, &bytes);
	send_frame(primary->channel, FRAME_REFUSE, &bytes);
}

Test(standby, comes_again_when_it_is_refused_for_now_and_ends_when_for_ever)
{
	struct primary primary;
	struct side side;
	make_primary(&primary, 2, true);
	make_side(&side, &primary, 0);
	for (uint32_t i = 0; i < 3; i++) {
		await_standby(&primary);
		refuse(&primary, true);
		cr_assert(is_closed(&primary));
	}
	cr_assert_eq(
		times_said(&side, "turned this process away: no room; this process comes again until it is let in\n"),
		1, "%s", side.notes.at);
	cr_assert_not(atomic_load(&side.over));
	await_standby(&primary);
	refuse(&primary, false);
	while (!atomic_load(&side.over))
		wait_a_little(NULL);
	cr_assert_eq(side.status, TROUPE_EPROTOCOL);
	cr_assert(strstr(side.error.text, "the primary turned this process away: no room"), "%s", side.error.text);
	end_side(&side, &primary);
}

/* The text of the frame by which it leaves. */
static void await_goodbye(struct primary *primary, const char *words)
{
	const char *bytes;
	size_t count;
	enum frame_type type;
	struct stop stop;
	while ((type = next_frame(primary->channel, &bytes, &count)) == FRAME_HEARTBEAT)
		;
	cr_assert_eq(type, FRAME_STOP);
	cr_assert_eq(stop_decode(bytes, count, &stop, NULL), TROUPE_OK);
	cr_assert_eq(stop.kind, STOP_LEFT);
	cr_assert_str_eq(stop.why, words);
}

Test(standby, says_that_it_leaves)
{
	struct primary primary;
	struct side side;
	make_primary(&primary, 2, true);
	make_side(&side, &primary, 0);
	lead(&primary, &side);
	atomic_store(&side.stop, true);
	side.backend->follow->following_wake(side.following);
	await_goodbye(&primary, "the standby leaves");
	end_side(&side, &primary);
	cr_assert_eq(side.status, TROUPE_OK);
	cr_assert_eq(side.term.term, 0);
}

/* --- when the primary is lost ------------------------------------------------------------------------------------- */

Test(standby, waits_so_long_for_a_primary_and_for_secondaries_of_one_that_is_lost)
{
	struct primary primary;
	struct side side;
	make_primary(&primary, 3, true);
	make_side(&side, &primary, 0.25);
	while (!atomic_load(&side.over))
		wait_a_little(NULL);
	cr_assert_eq(side.status, TROUPE_EPEER);
	cr_assert(strstr(side.error.text, "no primary has let this standby in"), "%s", side.error.text);
	end_side(&side, &primary);

	make_primary(&primary, 3, true);
	make_side(&side, &primary, 2.5); /* a slow machine has to begin within this time */
	lead(&primary, &side);
	uint64_t began_ns = clock_now_ns();
	lose(&primary);
	while (!has_said(&side, "is lost"))
		wait_a_little(NULL);
	(void)come(&primary, 1);
	while (!atomic_load(&side.over))
		wait_a_little(NULL);
	cr_assert_geq(clock_now_ns() - began_ns, UINT64_C(2500000000));
	cr_assert_eq(side.status, TROUPE_EPEER);
	cr_assert(strstr(side.error.text,
			  "the primary was lost, and 0 of 3 secondaries came to this standby: expected 2"),
		"%s", side.error.text);
	end_side(&side, &primary);
}

Test(standby, a_primary_that_is_silent_is_lost)
{
	struct primary primary;
	struct side side;
	make_primary(&primary, 2, true);
	make_side(&side, &primary, 0);
	primary.stale_ms = 300;
	await_standby(&primary);
	send_hello(primary.channel, &primary.hello);
	struct run_frame run = run_of(&primary, 1);
	send_part(&primary, FOLLOW_BEGIN, NULL, 0);
	send_run(&primary, &run);
	send_commit(&primary, 3);
	cr_assert(is_closed(&primary));
	while (!has_said(&side, "is lost: it is silent; "))
		wait_a_little(NULL);
	end_side(&side, &primary);
}

/* Comes as each of these secondaries, one after the other and again and again, until the standby takes over. */
static void vote_until_over(struct side *side, const struct primary *primary, const uint32_t *members, uint32_t count)
{
	for (uint32_t i = 0; !atomic_load(&side->over); i = (i + 1) % count)
		(void)come(primary, members[i]);
}

static void takes_over(struct side *side, const struct primary *primary, uint32_t least)
{
	cr_assert_eq(side->status, TROUPE_OK, "%s", side->error.text);
	cr_assert_eq(side->term.term, 7);
	cr_assert_arr_eq(side->term.run, primary->hello.run, HELLO_RUN_BYTES);
	cr_assert_eq(side->term.least, least);
	cr_assert_eq(side->term.was.secondaries, primary->secondaries);
	cr_assert_eq(side->term.was.goes_on, primary->goes_on);
	cr_assert_eq(side->term.was.iterations, 5000);
	cr_assert_eq(side->term.was.until_s, 12.5);
	cr_assert(side->term.lost_ns);
	for (uint32_t i = 0; i < primary->secondaries; i++) {
		unsigned char id[HELLO_ID_BYTES];
		member_id(i, id);
		cr_assert_arr_eq(side->term.was.processes[i], id, HELLO_ID_BYTES);
	}
}

static void lead_and_lose(struct primary *primary, struct side *side, uint32_t secondaries, bool goes_on)
{
	make_primary(primary, secondaries, goes_on);
	make_side(side, primary, 0);
	lead(primary, side);
	lose(primary);
	listener_destroy(primary->listener); /* it does not come back */
	primary->listener = NULL;
	while (!has_said(side, "is lost"))
		wait_a_little(NULL);
}

Test(standby, takes_over_with_a_majority_in_which_each_counts_once)
{
	struct primary primary;
	struct side side;
	struct answer answer;
	lead_and_lose(&primary, &side, 3, true);
	for (uint32_t i = 0; i < 3; i++) {
		answer = come(&primary, 2);
		cr_assert(answer.again);
		cr_assert_str_eq(answer.words, "it is a standby, which has not taken over");
	}
	while (!has_said(&side, "1 of 3 secondaries have lost the primary; 2 are needed"))
		(void)come(&primary, 2);
	cr_assert_not(atomic_load(&side.over));
	static const uint32_t both[] = {2, 0};
	vote_until_over(&side, &primary, both, 2);
	cr_assert(has_said(&side, "2 of 3 secondaries have lost the primary; 2 are needed"));
	takes_over(&side, &primary, 2);
	end_side(&side, &primary);
}

Test(standby, needs_all_where_a_loss_ends_the_run)
{
	struct primary primary;
	struct side side;
	static const uint32_t all[] = {0, 1, 2}, some[] = {1, 2};
	lead_and_lose(&primary, &side, 3, false);
	cr_assert(has_said(&side, "when 3 of 3 secondaries"));
	while (!has_said(&side, "2 of 3 secondaries have lost the primary; 3 are needed"))
		for (uint32_t i = 0; i < 2; i++)
			(void)come(&primary, some[i]);
	cr_assert_not(atomic_load(&side.over));
	vote_until_over(&side, &primary, all, 3);
	takes_over(&side, &primary, 3);
	end_side(&side, &primary);
}

Test(standby, counts_nobody_else)
{
	struct primary primary;
	struct side side;
	struct answer answer;
	lead_and_lose(&primary, &side, 2, true);
	cr_assert(has_said(&side, "when 1 of 2 secondaries"));
	struct hello of_another_run = member_of(&primary, 0), of_another_term = of_another_run, client = of_another_run,
		     viewer = of_another_run, primary_itself = of_another_run;
	of_another_run.run[HELLO_RUN_BYTES - 1] ^= 1;
	of_another_term.term--;
	(void)snprintf(client.client, sizeof client.client, "robot");
	viewer.role = HELLO_VIEWER;
	primary_itself.role = HELLO_PRIMARY;
	const struct hello *others[] = {&of_another_run, &of_another_term, &client, &viewer, &primary_itself};
	for (uint32_t i = 0; i < 5; i++) {
		(void)come_as(&primary, others[i], &answer);
		cr_assert(strstr(answer.words, "it is a standby"), "%u: %s", i, answer.words);
	}
	answer = come(&primary, 2); /* one that the primary had lost before */
	cr_assert(answer.again);
	answer = come(&primary, 3);
	(void)come(&primary, 3);
	cr_assert_not(atomic_load(&side.over));
	cr_assert_not(has_said(&side, "have lost the primary"));
	vote_until_over(&side, &primary, &(uint32_t){1}, 1);
	cr_assert(has_said(&side, "1 of 2 secondaries have lost the primary; 1 is needed"));
	takes_over(&side, &primary, 1);
	end_side(&side, &primary);
}

/* A secondary that does not come again has found a primary. */
Test(standby, forgets_a_secondary_that_does_not_come_again)
{
	struct primary primary;
	struct side side;
	lead_and_lose(&primary, &side, 3, true);
	while (!has_said(&side, "1 of 3"))
		(void)come(&primary, 0);
	uint64_t until_ns = clock_now_ns() + UINT64_C(1550000000);
	while (clock_now_ns() < until_ns)
		wait_a_little(NULL);
	for (uint32_t i = 0; i < 20; i++)
		(void)come(&primary, 1);
	cr_assert_not(atomic_load(&side.over));
	cr_assert_not(has_said(&side, "2 of 3 secondaries have lost the primary"));
	static const uint32_t two[] = {1, 0};
	vote_until_over(&side, &primary, two, 2);
	takes_over(&side, &primary, 2);
	end_side(&side, &primary);
}

/* A connection of one secondary has failed, and the primary is there: it is sent back when it has come for long, and
 * counts no longer. One that is no member is sent back at once. */
Test(standby, sends_secondaries_back_to_a_primary_that_is_there)
{
	struct primary primary;
	struct side side;
	struct answer answer;
	make_primary(&primary, 4, true);
	make_side(&side, &primary, 0);
	primary.stale_ms = 600;
	lead(&primary, &side);
	answer = come(&primary, 4);
	cr_assert_not(answer.again);
	cr_assert_str_eq(answer.words, "it is a standby, and the primary is not lost");
	uint64_t began_ns = clock_now_ns();
	struct text bytes = {0};
	do {
		heartbeat_encode(&(struct heartbeat){0}, &bytes);
		send_frame(primary.channel, FRAME_HEARTBEAT, &bytes);
		answer = come(&primary, 3);
	} while (answer.again && !has_said(&side, "is lost"));
	if (!has_said(&side, "is lost")) { /* else this process stood still for so long */
		cr_assert_str_eq(answer.words, "it is a standby, and the primary is not lost");
		cr_assert_geq(clock_now_ns() - began_ns, UINT64_C(2700000000));
		answer = come(&primary, 3);
		cr_assert(answer.again, "it counts anew");
	}
	end_side(&side, &primary);
}

/* More than half come although the primary is there for this process: it tells the primary that it takes over. */
Test(standby, tells_a_primary_that_most_have_lost)
{
	struct primary primary;
	struct side side;
	make_primary(&primary, 4, true);
	make_side(&side, &primary, 0);
	lead(&primary, &side);
	static const uint32_t two[] = {1, 3};
	vote_until_over(&side, &primary, two, 2);
	await_goodbye(&primary, "the standby takes over");
	takes_over(&side, &primary, 2);
	end_side(&side, &primary);
}

/* --- the process as a whole: recordings --------------------------------------------------------------------------- */

/* The second world has other steps, so that it is seen which one went on. */
static const char world[] =
	"<sdf version='1.9'><world name='w'><physics type='ode'><max_step_size>0.01</max_step_size></physics><model "
	"name='a'><pose>0 0 9 0.1 0 0</pose><link "
	"name='l'><velocity_decay><linear>0.3</linear></velocity_decay><collision "
	"name='c'><geometry><box><size>1 2 3</size></box></geometry></collision></link></model></world></sdf>";

static struct troupe_server *make_server(void)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server;
	struct troupe_error error;
	def.world_path = "w.sdf";
	def.world_text = world;
	def.pace = TROUPE_PACE_FACTOR; /* as fast as possible */
	def.rtf = 0;
	cr_assert_eq(troupe_server_create(&def, &server, &error), TROUPE_OK, "%s", error.text);
	return server;
}

static void step_to(struct troupe_server *server, uint64_t step)
{
	cr_assert_eq(troupe_server_run(server, &(struct troupe_limits){.iterations = step}, NULL), TROUPE_OK);
}

/* In parts, as a feed sends them. */
static void send_written(struct primary *primary, struct record_writer *writer)
{
	for (size_t at = 0; at < writer->out.count; at += 700)
		send_part(primary, FOLLOW_BYTES, writer->out.at + at, MIN(writer->out.count - at, (size_t)700));
	writer->out.count = 0;
}

static void send_state(
	struct primary *primary, struct record_writer *writer, struct troupe_server *server, uint64_t step)
{
	step_to(server, step);
	record_put_commit(writer, server, step);
	send_written(primary, writer);
	send_commit(primary, step);
}

static void send_start(struct primary *primary, struct record_writer *writer, struct troupe_server *server)
{
	send_part(primary, FOLLOW_BEGIN, NULL, 0);
	record_put_start(writer, server, true);
	send_written(primary, writer);
}

static void make_whole(struct side *side, const struct primary *primary, bool quiet)
{
	struct troupe_network network = {.address = primary->where, .listen = "127.0.0.1:0"};
	*side = (struct side){.lock = PTHREAD_MUTEX_INITIALIZER};
	const struct troupe_standby_def def = {.network = &network,
		.on_note = quiet ? NULL : on_note,
		.on_hash = on_hash,
		.hash_every = quiet ? 0 : 1,
		.ctx = side};
	cr_assert_eq(troupe_standby_create(&def, &side->standby, NULL), TROUPE_OK);
	begin(side);
}

static void end_whole(struct side *side, struct primary *primary)
{
	troupe_standby_destroy(side->standby);
	end_primary(primary);
	text_fini(&side->notes);
}

/* The standby follows the primary. goes_on: on a loss. */
static void begin_whole(struct side *side, struct primary *primary, bool goes_on, bool quiet)
{
	make_primary(primary, 2, goes_on);
	make_whole(side, primary, quiet);
	await_standby(primary);
	send_hello(primary->channel, &primary->hello);
	tell(primary, 1);
}

static void lose_and_vote(struct side *side, struct primary *primary)
{
	static const uint32_t members[] = {0, 1};
	tell(primary, 2); /* all before has come */
	end_primary(primary);
	vote_until_over(side, primary, members, 2);
}

/* The state that it hands over is that of the primary in this step. */
static void goes_on_from(struct side *side, struct troupe_server *server, uint64_t step)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *next;
	struct troupe_error error;
	cr_assert_eq(side->status, TROUPE_OK, "%s", side->error.text);
	cr_assert(troupe_standby_takeover(side->standby));
	cr_assert_eq(troupe_standby_takeover(side->standby)->term.term, 7);
	def.pace = TROUPE_PACE_FACTOR; /* as fast as possible */
	def.rtf = 0;
	def.resume_bytes = troupe_standby_state(side->standby, &def.resume_count);
	cr_assert_eq(troupe_server_create(&def, &next, &error), TROUPE_OK, "%s", error.text);
	cr_assert_eq(primary_steps(next->worlds[0].primary), step);
	step_to(server, step + 40);
	step_to(next, step + 40);
	cr_assert_eq(troupe_server_hash(next), troupe_server_hash(server));
	troupe_server_destroy(next);
}

/* recordings: so many, each with two commits, and then the begin of one more. */
static void take_over_after(uint32_t recordings)
{
	struct primary primary;
	struct side side;
	struct record_writer writer = {0};
	struct troupe_server *server = make_server();
	uint64_t step = 0;
	begin_whole(&side, &primary, recordings % 2, false);
	for (uint32_t i = 0; i < recordings; i++) {
		send_start(&primary, &writer, server);
		send_state(&primary, &writer, server, step + 3);
		send_state(&primary, &writer, server, step += 7);
	}
	uint64_t hash = troupe_server_hash(server);
	record_put_commit(&writer, server, step); /* bytes without a commit are not a part of it */
	send_written(&primary, &writer);
	struct troupe_server *ahead = make_server();
	step_to(ahead, step + 2);
	send_start(&primary, &writer, ahead);
	lose_and_vote(&side, &primary);
	finish(&side);
	cr_assert_eq(side.shown_step, step);
	cr_assert_eq(side.shown_hash, hash);
	cr_assert_eq(side.shown, 7, "each step of the last recording: %u", side.shown);
	char words[128];
	(void)snprintf(words, sizeof words,
		"this standby takes over as primary of term 7: the run goes on from step %u\n", (unsigned)step);
	cr_assert(has_said(&side, words), "%s", side.notes.at);
	goes_on_from(&side, server, step);
	struct troupe_followed_run was = troupe_standby_was(side.standby);
	cr_assert_eq(was.secondaries, 2);
	cr_assert_eq(was.on_loss, recordings % 2 ? TROUPE_ON_LOSS_CONTINUE : TROUPE_ON_LOSS_STOP);
	cr_assert_eq(was.iterations, 5000);
	cr_assert_eq(was.until_s, 12.5);
	troupe_server_destroy(ahead);
	troupe_server_destroy(server);
	record_writer_fini(&writer);
	end_whole(&side, &primary);
}

Test(standby, goes_on_from_the_last_commit_of_the_last_whole_recording)
{
	for (uint32_t i = 1; i <= 3; i++)
		take_over_after(i);
}

static void fails_with(struct side *side, struct primary *primary, troupe_status status, const char *words)
{
	size_t count = 1;
	finish(side);
	cr_assert_eq(side->status, status, "%d: %s", side->status, side->error.text);
	cr_assert(strstr(side->error.text, words), "%s", side->error.text);
	cr_assert_null(troupe_standby_takeover(side->standby));
	(void)troupe_standby_state(side->standby, &count);
	cr_assert_eq(count, 0);
	end_whole(side, primary);
}

/* It is tried with the first commit, while the primary is there. */
Test(standby, a_run_that_cannot_be_repeated_here_is_found_at_once)
{
	struct primary primary;
	struct side side;
	struct record_writer writer = {0};
	struct troupe_server *server = make_server();
	begin_whole(&side, &primary, true, true);
	send_part(&primary, FOLLOW_BEGIN, NULL, 0);
	send_part(&primary, FOLLOW_BYTES, "no recording", 12);
	send_commit(&primary, 1);
	fails_with(&side, &primary, TROUPE_EWORLD, "this process cannot go on with the run: what the primary sent: ");

	begin_whole(&side, &primary, true, true);
	send_start(&primary, &writer, server);
	step_to(server, 4);
	record_put_commit(&writer, server, 4);
	send_written(&primary, &writer);
	send_commit(&primary, 5);
	fails_with(&side, &primary, TROUPE_EINTERNAL,
		"this process cannot go on with the run: the run was repeated up to step 4: expected 5");
	troupe_server_destroy(server);
	record_writer_fini(&writer);
}

/* What can be repeated at the first commit, and not at the last one. */
Test(standby, a_last_commit_that_cannot_be_repeated_is_not_handed_over)
{
	struct primary primary;
	struct side side;
	struct record_writer writer = {0};
	struct troupe_server *server = make_server();
	begin_whole(&side, &primary, true, true);
	send_start(&primary, &writer, server);
	send_state(&primary, &writer, server, 2);
	send_part(&primary, FOLLOW_BYTES, "no chunk, but more bytes than one has at least", 46);
	send_commit(&primary, 5);
	lose_and_vote(&side, &primary);
	cr_assert_eq(side.shown, 0);
	fails_with(&side, &primary, TROUPE_EWORLD, "what the primary sent is damaged");
	troupe_server_destroy(server);
	record_writer_fini(&writer);
}

Test(standby, is_stopped_and_hands_over_nothing)
{
	struct primary primary;
	struct side side;
	struct record_writer writer = {0};
	struct troupe_server *server = make_server();
	begin_whole(&side, &primary, true, false);
	send_start(&primary, &writer, server);
	send_state(&primary, &writer, server, 2);
	tell(&primary, 2);
	troupe_standby_stop(side.standby);
	fails_with(&side, &primary, TROUPE_OK, "");
	troupe_server_destroy(server);
	record_writer_fini(&writer);
}

static void is_refused(struct troupe_network network, const char *words)
{
	const struct troupe_standby_def def = {.network = &network};
	struct troupe_standby *standby = NULL;
	struct troupe_error error = {0};
	cr_assert_eq(troupe_standby_create(&def, &standby, &error), TROUPE_EINVAL, "%s", words);
	cr_assert(strstr(error.text, words), "%s", error.text);
	cr_assert_null(standby);
}

Test(standby, settings_that_a_standby_cannot_have_are_refused)
{
	int sockets[1] = {-1};
	cr_assert_eq(setenv("HOME", "/nowhere", 1) | unsetenv("XDG_CONFIG_HOME"), 0); /* there is no key */
	const struct troupe_network network = {.address = "127.0.0.1:1", .listen = "127.0.0.1:0"};
	struct troupe_network bad = network;
	bad.address = NULL;
	is_refused(bad, "a standby without the address of the primary");
	bad = network;
	bad.sockets = sockets;
	is_refused(bad, "a standby of processes that are started together: expected none");
	static const double waits[] = {-1, 1.1e9, NAN, INFINITY};
	for (uint32_t i = 0; i < 4; i++) {
		bad = network;
		bad.wait_s = waits[i];
		is_refused(bad, "expected 0 to 1e9");
	}
	bad = network;
	bad.transport = "none such";
	is_refused(bad, "none such");
	bad = network;
	bad.address = "192.0.2.1:1";
	is_refused(bad, "192.0.2.1:1: without a key only this machine");
	bad = network;
	bad.listen = "0.0.0.0:0";
	is_refused(bad, "");
	for (double wait_s = 0; wait_s <= 1e9; wait_s += 1e9) {
		bad = network;
		bad.wait_s = wait_s;
		const struct troupe_standby_def def = {.network = &bad};
		struct troupe_standby *standby;
		cr_assert_eq(troupe_standby_create(&def, &standby, NULL), TROUPE_OK, "%g", wait_s);
		troupe_standby_destroy(standby);
	}
}
