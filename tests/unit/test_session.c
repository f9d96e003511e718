/* What comes before the first step, at a secondary, of whose primary the test has the other end of the connection. */
#include "server/session.h"

#include "base/clock.h"
#include "net/pair.h"

#include <criterion/criterion.h>

TestSuite(session, .timeout = 60);

static const struct key key = {"a key that both of them have, ."};

struct seen {
	bool admitted, started, ended;
};

static void on_action(void *ctx, const struct peers_action *action)
{
	struct seen *seen = ctx;
	seen->admitted |= action->kind == PEERS_ADMITTED;
	seen->started |= action->kind == PEERS_STARTED;
	seen->ended |= action->kind == PEERS_ENDED;
}

static struct hello hello_of(enum hello_role role)
{
	return (struct hello){.protocol = HELLO_PROTOCOL, .role = role, .id = {(unsigned char)role}, .name = "host:1"};
}

/* channels: the primary's, then the secondary's. */
static void connect_both(bool with_key, struct channel *channels[2])
{
	int files[2];
	cr_assert_eq(pair_create(files, NULL), TROUPE_OK);
	for (uint32_t i = 0; i < 2; i++) {
		struct channel_options options = {
			.role = i ? CHANNEL_CLIENT : CHANNEL_SERVER, .key = with_key ? &key : NULL};
		cr_assert_eq(
			channel_create(files[i], "the other", &options, clock_now_ns(), &channels[i], NULL), TROUPE_OK);
	}
	while (!channel_is_open(channels[0]) || !channel_is_open(channels[1]))
		for (uint32_t i = 0; i < 2; i++)
			cr_assert_eq(channel_work(channels[i], clock_now_ns(), NULL), TROUPE_OK);
}

static void send_text(struct channel *channel, enum frame_type type, struct text *bytes)
{
	cr_assert_eq(channel_send(channel, type, bytes->at, bytes->count, NULL), TROUPE_OK);
	text_fini(bytes);
}

static void send_welcome(struct channel *primary)
{
	struct text hello = {0}, welcome = {0};
	struct hello self = hello_of(HELLO_PRIMARY);
	hello_encode(&self, &hello);
	welcome_encode(&(struct welcome){.secondary = 1, .secondaries = 1, .stale_ms = 20000}, &welcome);
	send_text(primary, FRAME_HELLO, &hello);
	send_text(primary, FRAME_WELCOME, &welcome);
}

static void send_start_and_end(struct channel *primary)
{
	struct text start = {0}, stop = {0};
	number_encode(7, &start);
	stop_encode(&(struct stop){.kind = STOP_LEFT, .next_step = 7, .who = "it", .why = "it was stopped"}, &stop);
	send_text(primary, FRAME_START, &start);
	send_text(primary, FRAME_STOP, &stop);
	channel_finish(primary);
	cr_assert_eq(channel_work(primary, clock_now_ns(), NULL), TROUPE_OK);
}

static void assert_stop_is_next(struct channel *channel)
{
	enum frame_type type;
	const char *bytes;
	size_t count;
	troupe_status bad;
	(void)channel_work(channel, clock_now_ns(), NULL);
	cr_assert(channel_receive(channel, &type, &bytes, &count, &bad, NULL));
	cr_assert_eq(type, FRAME_STOP);
}

/* Who was asleep meanwhile finds start, stop and the end of the connection all at once. */
static void begin_and_end_at_once(bool with_key)
{
	struct seen seen = {false, false, false};
	struct peers_options options = {.self = hello_of(HELLO_SECONDARY)};
	struct session session = {
		.peers = peers_create(&options, clock_now_ns()), .on_action = on_action, .ctx = &seen};
	struct channel *channels[2];
	connect_both(with_key, channels);
	session_join(&session, channels[1]);
	send_welcome(channels[0]);
	while (!seen.admitted)
		session_work(&session, SESSION_TICK_MS, -1, false);
	peers_ready(session.peers, 1);
	session_act(&session);
	send_start_and_end(channels[0]);
	while (!seen.started)
		session_work(&session, SESSION_TICK_MS, -1, false);
	cr_assert_not(seen.ended);
	struct channel *channel = session_take(&session, peers_id_of(session.peers, 0));
	cr_assert_eq(channel, channels[1]);
	assert_stop_is_next(channel);
	channel_destroy(channel);
	channel_destroy(channels[0]);
	session_fini(&session);
}

Test(session, what_comes_after_the_start_is_left_to_the_run)
{
	begin_and_end_at_once(false);
	if (key_usable())
		begin_and_end_at_once(true);
}
