/* The messages before the first step; the test is the other end of the connection. */
#include "net/tcp/session.h"

#include "base/clock.h"
#include "net/tcp/socket_pair.h"

#include <troupe/record.h>
#include <troupe/server.h>

#include <criterion/criterion.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* channels: first the primary's, then the secondary's. */
static void connect_both(bool with_key, struct channel *channels[2])
{
	int files[2];
	cr_assert_eq(socket_pair_create(files, NULL), TROUPE_OK);
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

/* A secondary that slept meanwhile receives start, stop and the end of the connection all at once. */
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
		session_work(&session, SESSION_TICK_MS, NULL, 0);
	peers_ready(session.peers, 1);
	session_act(&session);
	send_start_and_end(channels[0]);
	while (!seen.started)
		session_work(&session, SESSION_TICK_MS, NULL, 0);
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

/* --- sockets that are given --------------------------------------------------------------------------------------- */

static bool is_closed(int file)
{
	char byte;
	return recv(file, &byte, 1, MSG_DONTWAIT) == 0;
}

/* The definition has sockets, which belong to the server even if it cannot be created, and must be closed then. */
static void refuses(const char *what, struct troupe_server_def def, struct troupe_network network, bool replays)
{
	int ours[2], theirs[2];
	struct troupe_server *server;
	struct troupe_replay replay;
	for (uint32_t i = 0; i < 2; i++) {
		int files[2];
		cr_assert_eq(troupe_network_pair(files, NULL), TROUPE_OK);
		ours[i] = files[0];
		theirs[i] = files[1];
	}
	network.secondaries = 2;
	network.sockets = theirs;
	def.network = &network;
	troupe_status status =
		replays ? troupe_replay_run(&def, 0, &replay, NULL) : troupe_server_create(&def, &server, NULL);
	cr_assert_neq(status, TROUPE_OK, "%s", what);
	for (uint32_t i = 0; i < 2; i++) {
		cr_assert(is_closed(ours[i]), "%s: socket %u", what, i);
		close(ours[i]);
	}
}

Test(session, sockets_are_closed_when_there_is_no_server)
{
	struct troupe_server_def def = troupe_server_def_default(), bad = def;
	const struct troupe_network network = {0};
	refuses("no world", def, network, false);
	refuses("no recording", def, network, true);
	bad.world_path = "/nowhere.sdf";
	refuses("a world that is not there", bad, network, false);
	bad.world_path = "two.sdf";
	bad.world_text = "<sdf version='1.9'><world name='a'/><world name='b'/></sdf>";
	refuses("two worlds", bad, network, false);
	bad.world_text = "<sdf version='1.9'><world name='a'/></sdf>";
	refuses("a stale time", bad, (struct troupe_network){.stale_ms = UINT32_MAX}, false);
	refuses("a wait", bad, (struct troupe_network){.wait_s = -1}, false);
	bad.break_rule = "none such";
	refuses("a rule", bad, network, false);
	bad = def;
	bad.resume_path = "/nowhere.state";
	refuses("a state that is not there", bad, network, false);
	refuses("a recording that is not there", bad, network, true);
	bad.resume_path = SOURCE_DIR "/README";
	refuses("a recording that is none", bad, network, true);
}

Test(session, a_secondary_that_was_given_a_connection_ends_with_it)
{
	int files[2];
	struct troupe_secondary *secondary;
	cr_assert_eq(troupe_network_pair(files, NULL), TROUPE_OK);
	const struct troupe_network network = {.sockets = &files[1]};
	const struct troupe_secondary_def def = {.network = &network};
	close(files[0]);
	cr_assert_eq(troupe_secondary_create(&def, &secondary, NULL), TROUPE_OK);
	cr_assert_eq(troupe_secondary_run(secondary, NULL), TROUPE_EPEER);
	troupe_secondary_destroy(secondary);
}
