/* The suite over TCP and TLS, with both ends of each connection in this process; and how the end of a remote transport
 * works on what its carrier brings at awkward moments. A secondary that dies closes its connection without a word. */
#include "transport_suite.h"

#include "base/clock.h"
#include "net/tcp/socket_pair.h"
#include "net/tcp/tcp.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

TestSuite(transport_tcp, .timeout = 60);

#define CHECK(call)                                                                                                    \
	do {                                                                                                           \
		const char *why = (call);                                                                              \
		cr_assert_null(why, "%s", why);                                                                        \
	} while (0)

static const struct key key = {"a key that all of them have, ."};

/* --- connections -------------------------------------------------------------------------------------------------- */

struct wires {
	bool with_key;
	uint32_t secondaries;
	struct channel *channels[2 * SUITE_SECONDARIES_MAX]; /* the primary's channels, then the secondaries' */
	struct transport_link links[SUITE_SECONDARIES_MAX + 1];
};

static void open_channels(struct channel **channels, uint32_t count)
{
	for (uint32_t open = 0; open < count;) {
		open = 0;
		for (uint32_t i = 0; i < count; i++) {
			cr_assert_eq(channel_work(channels[i], clock_now_ns(), NULL), TROUPE_OK);
			open += channel_is_open(channels[i]);
		}
	}
}

static void connect_all(struct stage *stage, uint32_t secondaries)
{
	struct wires *wires = stage->ctx;
	wires->secondaries = secondaries;
	for (uint32_t i = 0; i < secondaries; i++) {
		int files[2];
		cr_assert_eq(socket_pair_create(files, NULL), TROUPE_OK);
		for (uint32_t k = 0; k < 2; k++) {
			struct channel_options options = {
				.role = k ? CHANNEL_CLIENT : CHANNEL_SERVER, .key = wires->with_key ? &key : NULL};
			cr_assert_eq(channel_create(files[k], "", &options, clock_now_ns(),
					     &wires->channels[k * secondaries + i], NULL),
				TROUPE_OK);
		}
	}
	open_channels(wires->channels, 2 * secondaries);
}

static troupe_status open_end(struct stage *stage, const struct transport_options *options, uint32_t secondary,
	struct transport **ret_transport, struct troupe_error *error)
{
	static const char *const primary[] = {"the primary"};
	static const char *const names[SUITE_SECONDARIES_MAX] = {"secondary 1", "secondary 2", "secondary 3",
		"secondary 4", "secondary 5", "secondary 6", "secondary 7", "secondary 8"};
	struct wires *wires = stage->ctx;
	struct transport_options linked = *options;
	struct transport_link *link = &wires->links[secondary];
	*link = (struct transport_link){.ops = &tcp_carrier_ops,
		.names = secondary ? primary : names,
		.name = "a process",
		.secondary = secondary,
		.stale_ms = 20000,
		.pollers = 8};
	linked.link = link;
	cr_assert_eq(
		tcp_carrier_create(secondary ? wires->channels + wires->secondaries + secondary - 1 : wires->channels,
			secondary ? 1 : wires->secondaries, &link->carrier, error),
		TROUPE_OK);
	return stage->ops->create(&linked, ret_transport, error);
}

static void kill_end(struct stage *stage, uint32_t secondary, struct transport *transport)
{
	(void)secondary;
	stage->ops->destroy(transport);
}

static struct wires wires;
static struct stage stage = {
	.ops = &transport_tcp, .begin = connect_all, .open = open_end, .kill = kill_end, .ctx = &wires};

/* --- the suite ---------------------------------------------------------------------------------------------------- */

static void run_suite(void)
{
	CHECK(suite_order_and_once(&stage, 1, 2000));
	CHECK(suite_order_and_once(&stage, 2, 1000));
	CHECK(suite_order_and_once(&stage, 7, 100));
	CHECK(suite_windows(&stage, 1, 1000));
	CHECK(suite_windows(&stage, 3, 1000));
	CHECK(suite_publish_refuses(&stage, 2));
	CHECK(suite_ack_refuses(&stage, 2));
	CHECK(suite_create_refuses(&stage));
	CHECK(suite_close_wakes(&stage, 5));
	CHECK(suite_close_delivers_first(&stage, 2));
	CHECK(suite_lost(&stage, 3, SUITE_BEFORE));
	CHECK(suite_lost(&stage, 3, SUITE_DURING));
	CHECK(suite_lost(&stage, 3, SUITE_AFTER));
	CHECK(suite_lost(&stage, 1, SUITE_DURING));
	CHECK(suite_left(&stage, 3));
	CHECK(suite_failed(&stage, 3));
	CHECK(suite_files(&stage, 3));
}

Test(transport_tcp, in_the_clear)
{
	run_suite();
}

Test(transport_tcp, tls)
{
	if (!key_usable())
		return;
	wires.with_key = true;
	run_suite();
}

Test(transport_tcp, fills_all_slots)
{
	cr_assert_eq(transport_check(&transport_tcp, NULL), TROUPE_OK);
}

/* --- awkward moments ---------------------------------------------------------------------------------------------- */

static _Atomic uint64_t turns, given_up;

static void count_turn(void *ctx)
{
	(void)ctx;
	turns++;
}

static void count_given_up(void *ctx)
{
	(void)ctx;
	given_up++;
}

static void encode_nothing(void *ctx, uint32_t secondary, const void *payload, struct text *out)
{
	(void)ctx;
	(void)secondary;
	(void)payload;
	text_add_bytes(out, "", 1);
}

static troupe_status decode_zero(void *ctx, uint32_t secondary, const char *bytes, size_t count,
	struct transport_message *ret, struct troupe_error *error)
{
	(void)ctx;
	(void)secondary;
	(void)bytes;
	(void)error;
	*ret = (struct transport_message){0};
	return count == 1 ? TROUPE_OK : TROUPE_EPROTOCOL;
}

static const struct transport_codec nothing = {.encode_step = encode_nothing,
	.decode_step = decode_zero,
	.encode_ack = encode_nothing,
	.decode_ack = decode_zero};

static struct transport *open_primary(uint32_t secondaries)
{
	struct transport_options options = {
		.secondaries = secondaries, .all_acked = count_turn, .gave_up = count_given_up, .codec = &nothing};
	struct transport *primary;
	connect_all(&stage, secondaries);
	cr_assert_eq(open_end(&stage, &options, 0, &primary, NULL), TROUPE_OK);
	return primary;
}

static void add_frame(struct text *out, enum frame_type type, const struct text *payload)
{
	unsigned char header[FRAME_HEADER_BYTES];
	frame_put_header(header, type, (uint32_t)payload->count);
	text_add_bytes(out, (const char *)header, sizeof header);
	text_add_bytes(out, payload->at, payload->count);
}

/* In one piece, so that the peer reads both together. */
static void ack_and_leave(struct channel *channel)
{
	struct text ack = {0}, stop = {0}, both = {0};
	text_add_bytes(&ack, "", 1);
	stop_encode(&(struct stop){.kind = STOP_LEFT, .who = "it", .why = "it was stopped"}, &stop);
	add_frame(&both, FRAME_ACK, &ack);
	add_frame(&both, FRAME_STOP, &stop);
	cr_assert_eq(send(channel_fd(channel), both.at, both.count, MSG_NOSIGNAL), (ssize_t)both.count);
	text_fini(&ack);
	text_fini(&stop);
	text_fini(&both);
}

/* The reason that all get says that the step counts. */
Test(transport_tcp, a_step_that_all_acknowledged_counts_though_a_secondary_leaves_at_once)
{
	struct transport *primary = open_primary(1);
	const struct troupe_error *lost = NULL;
	cr_assert_eq(transport_tcp.publish(primary, (struct transport_message){0}), TROUPE_OK);
	ack_and_leave(wires.channels[1]);
	while (!(lost = transport_tcp.lost(primary)) || !(turns + given_up))
		sched_yield();
	cr_assert(strstr(lost->text, "the last step that all had acknowledged is 0"), "%s", lost->text);
	cr_assert_eq(turns, 1);
	cr_assert_eq(given_up, 0);
	transport_tcp.destroy(primary);
	channel_destroy(wires.channels[1]);
}

static uint64_t busy_ms(void)
{
	struct timespec used;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / 1000000;
}

/* A program may take its time after a run, to save and report. */
Test(transport_tcp, a_run_that_was_stopped_costs_nothing)
{
	struct transport *primary = open_primary(2);
	transport_tcp.stop(primary, STOP_LEFT, "it was stopped");
	for (uint32_t i = 0; i < 2; i++)
		channel_destroy(wires.channels[2 + i]);
	uint64_t began_ms = busy_ms();
	cr_assert_eq(usleep(400000), 0);
	cr_assert_lt(busy_ms() - began_ms, 50);
	transport_tcp.destroy(primary);
}

static troupe_status code_nothing(void *ctx, uint32_t secondary, const char *bytes, size_t count,
	struct transport_message *ret_message, struct troupe_error *error)
{
	(void)ctx;
	(void)secondary;
	(void)bytes;
	(void)count;
	(void)ret_message;
	(void)error;
	return TROUPE_OK;
}

/* What an end needs of its caller; each is missing once. A carrier that is not looked into is enough for the check. */
Test(transport_tcp, an_end_without_what_it_needs)
{
	struct transport *transport = NULL;
	struct troupe_error error = {0};
	char carrier[64] = {0};
	const struct transport_codec codec = {.decode_step = code_nothing};
	const struct transport_link good = {.ops = &tcp_carrier_ops,
		.carrier = (struct carrier *)(void *)carrier,
		.secondary = 1,
		.stale_ms = 1000};
	for (int missing = 0; missing < 5; missing++) {
		struct transport_link link = good;
		struct transport_options options = {.secondaries = 2, .link = &link, .codec = &codec};
		options.link = missing == 0 ? NULL : &link;
		link.carrier = missing == 1 ? NULL : link.carrier;
		options.codec = missing == 2 ? NULL : &codec;
		link.secondary = missing == 3 ? 3 : 1;
		link.stale_ms = missing == 4 ? 0 : 1000;
		cr_assert_eq(transport_tcp.create(&options, &transport, &error), TROUPE_EINVAL, "%d", missing);
		cr_assert(
			strstr(error.text, "a remote transport without") && !transport, "%d: %s", missing, error.text);
	}
}
