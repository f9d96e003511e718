/* Both ends of each connection in one process: the suite's transport is a primary's end and the secondaries' ends. */
#include "transport_suite.h"

#include "base/clock.h"
#include "base/pack.h"
#include "net/tcp/pair.h"
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

struct end {
	struct transport_link link;
	struct transport *transport;
};

struct transport {
	struct transport_options options;
	struct transport_codec codec;
	struct end primary, *secondaries;
	struct channel **channels;
	uint64_t first; /* number of the first step: over TCP that is agreed on before, and is 0 here */
	bool begun;
	_Atomic uint64_t published, acks, turns, given_up;
};

static bool with_key;
static const struct key key = {"a key that all of them have, ."};

/* --- payloads are pointers ---------------------------------------------------------------------------------------- */

/* The suite's payloads may be NULL, and carry no number: it travels beside. */
static void encode(uint64_t number, const void *payload, struct text *out)
{
	pack_u64(out, number);
	pack_u64(out, (uint64_t)(uintptr_t)payload);
}

static uint64_t next_number[TROUPE_SECONDARIES_MAX], acked_number[TROUPE_SECONDARIES_MAX];

static void encode_step(void *ctx, uint32_t secondary, const void *payload, struct text *out)
{
	(void)ctx;
	encode(next_number[secondary], payload, out);
}

static void encode_ack(void *ctx, uint32_t secondary, const void *payload, struct text *out)
{
	(void)ctx;
	encode(acked_number[secondary], payload, out);
}

static troupe_status decode(const char *bytes, size_t count, struct transport_message *ret, struct troupe_error *error)
{
	struct unpack in = {bytes, bytes + count, false};
	ret->number = unpack_u64(&in);
	ret->payload = (void *)(uintptr_t)unpack_u64(&in);
	return in.bad ? fail(error, TROUPE_EPROTOCOL, "cut off") : TROUPE_OK;
}

static troupe_status decode_step(void *ctx, uint32_t secondary, const char *bytes, size_t count,
	struct transport_message *ret_step, struct troupe_error *error)
{
	(void)ctx;
	(void)secondary;
	return decode(bytes, count, ret_step, error);
}

static troupe_status decode_ack(void *ctx, uint32_t secondary, const char *bytes, size_t count,
	struct transport_message *ret_ack, struct troupe_error *error)
{
	(void)ctx;
	(void)secondary;
	return decode(bytes, count, ret_ack, error);
}

/* --- both ends ---------------------------------------------------------------------------------------------------- */

static void open_all(struct channel **channels, uint32_t count)
{
	for (uint32_t open = 0; open < count;) {
		open = 0;
		for (uint32_t i = 0; i < count; i++) {
			cr_assert_eq(channel_work(channels[i], clock_now_ns(), NULL), TROUPE_OK);
			open += channel_is_open(channels[i]);
		}
	}
}

/* channels: first the primary's, then the secondaries'. */
static struct channel **connect_all(uint32_t count)
{
	struct channel **channels = mem_alloc(2 * count * sizeof *channels);
	for (uint32_t i = 0; i < count; i++) {
		int files[2];
		cr_assert_eq(pair_create(files, NULL), TROUPE_OK);
		for (uint32_t k = 0; k < 2; k++) {
			struct channel_options options = {
				.role = k ? CHANNEL_CLIENT : CHANNEL_SERVER, .key = with_key ? &key : NULL};
			cr_assert_eq(channel_create(files[k], k ? "the primary" : "a secondary", &options,
					     clock_now_ns(), &channels[k * count + i], NULL),
				TROUPE_OK);
		}
	}
	open_all(channels, 2 * count);
	return channels;
}

static _Thread_local bool in_part; /* the primary's */

static void on_all_acked(void *ctx)
{
	struct transport *both = ctx;
	in_part = true;
	both->options.all_acked(both->options.ctx);
	in_part = false;
	both->turns++;
}

static void on_gave_up(void *ctx)
{
	struct transport *both = ctx;
	both->given_up++;
}

static troupe_status create_end(struct transport *both, struct end *end, uint32_t secondary, struct troupe_error *error)
{
	struct transport_options options = both->options;
	options.all_acked = on_all_acked;
	options.gave_up = on_gave_up;
	options.ctx = both;
	options.codec = &both->codec;
	options.link = &end->link;
	static const char *const primary[] = {"the primary"};
	static const char *const names[] = {"secondary 1", "secondary 2", "secondary 3", "secondary 4", "secondary 5",
		"secondary 6", "secondary 7"};
	end->link = (struct transport_link){.ops = &tcp_carrier_ops,
		.names = secondary ? primary : names,
		.secondary = secondary,
		.stale_ms = 20000,
		.pollers = 8};
	troupe_status status = tcp_carrier_create(
		secondary ? both->channels + both->options.secondaries + secondary - 1 : both->channels,
		secondary ? 1 : both->options.secondaries, &end->link.carrier, error);
	if (status)
		return status;
	return transport_tcp.create(&options, &end->transport, error);
}

static struct transport *make(const struct transport_options *options)
{
	struct transport *both = mem_alloc(sizeof *both);
	both->options = *options;
	both->codec = (struct transport_codec){.encode_step = encode_step,
		.decode_step = decode_step,
		.encode_ack = encode_ack,
		.decode_ack = decode_ack,
		.ctx = both};
	both->channels = connect_all(options->secondaries);
	both->secondaries = mem_alloc(options->secondaries * sizeof *both->secondaries);
	return both;
}

static troupe_status both_create(
	const struct transport_options *options, struct transport **ret_transport, struct troupe_error *error)
{
	if (!options->secondaries || options->secondaries > TROUPE_SECONDARIES_MAX)
		return fail(error, TROUPE_EINVAL, "%u secondaries", options->secondaries);
	struct transport *both = make(options);
	troupe_status status = create_end(both, &both->primary, 0, error);
	for (uint32_t i = 0; i < options->secondaries && !status; i++)
		status = create_end(both, &both->secondaries[i], i + 1, error);
	*ret_transport = both;
	return status;
}

/* An ack that was given may still be on its way. */
static troupe_status both_publish(struct transport *both, struct transport_message step)
{
	while (!in_part && both->published && both->acks == both->published * both->options.secondaries &&
		both->turns < both->published)
		sched_yield();
	both->first = both->begun ? both->first : step.number;
	both->begun = true;
	step.number -= both->first;
	for (uint32_t i = 0; i < both->options.secondaries; i++)
		next_number[i] = step.number;
	troupe_status status = transport_tcp.publish(both->primary.transport, step);
	both->published += !status;
	return status;
}

static troupe_status both_wait(struct transport *both, uint32_t secondary, struct transport_message *ret_step)
{
	troupe_status status = transport_tcp.wait(both->secondaries[secondary].transport, secondary, ret_step);
	ret_step->number += status ? 0 : both->first;
	return status;
}

static troupe_status both_ack(struct transport *both, uint32_t secondary, struct transport_message ack)
{
	ack.number -= both->first;
	acked_number[secondary] = ack.number;
	both->acks++; /* before the primary can know of it */
	troupe_status status = transport_tcp.ack(both->secondaries[secondary].transport, secondary, ack);
	both->acks -= status != TROUPE_OK;
	return status;
}

static struct transport_message both_ack_of(struct transport *both, uint32_t secondary)
{
	return transport_tcp.ack_of(both->primary.transport, secondary);
}

static const struct troupe_error *both_lost(struct transport *both)
{
	return transport_tcp.lost(both->primary.transport);
}

static void both_stop(struct transport *both, enum stop_kind kind, const char *why)
{
	transport_tcp.stop(both->primary.transport, kind, why);
}

static bool both_is_done(struct transport *both)
{
	return transport_tcp.is_done(both->primary.transport);
}

static struct transport_counts both_counts(struct transport *both)
{
	return transport_tcp.counts(both->primary.transport);
}

static void both_close(struct transport *both)
{
	transport_tcp.stop(both->primary.transport, STOP_DONE, "done");
	transport_tcp.close(both->primary.transport);
}

static void both_destroy(struct transport *both)
{
	if (!both)
		return;
	both_close(both);
	for (uint32_t i = 0; i < both->options.secondaries; i++)
		transport_tcp.destroy(both->secondaries[i].transport);
	transport_tcp.destroy(both->primary.transport);
	free(both->secondaries);
	free(both->channels);
	free(both);
}

static const struct transport_ops both_ops = {
	.name = "both ends of tcp",
	.remote = true,
	.create = both_create,
	.publish = both_publish,
	.wait = both_wait,
	.ack = both_ack,
	.ack_of = both_ack_of,
	.lost = both_lost,
	.stop = both_stop,
	.is_done = both_is_done,
	.counts = both_counts,
	.close = both_close,
	.destroy = both_destroy,
};

/* --- the suite ---------------------------------------------------------------------------------------------------- */

static void run_suite(void)
{
	CHECK(suite_order_and_once(&both_ops, 1, 2000));
	CHECK(suite_order_and_once(&both_ops, 2, 1000));
	CHECK(suite_order_and_once(&both_ops, 7, 100));
	CHECK(suite_primary_runs_once_per_step(&both_ops, 3, 500));
	CHECK(suite_publish_refuses(&both_ops));
	CHECK(suite_ack_refuses(&both_ops));
	CHECK(suite_create_refuses(&both_ops));
	CHECK(suite_close_wakes(&both_ops, 5));
	CHECK(suite_close_delivers_first(&both_ops));
}

Test(transport_tcp, in_the_clear)
{
	run_suite();
}

Test(transport_tcp, tls)
{
	if (!key_usable())
		return;
	with_key = true;
	run_suite();
}

static void on_nothing(void *ctx)
{
	(void)ctx;
}

static void add_frame(struct text *out, enum frame_type type, const struct text *payload)
{
	unsigned char header[FRAME_HEADER_BYTES];
	frame_put_header(header, type, (uint32_t)payload->count);
	text_add_bytes(out, (const char *)header, sizeof header);
	text_add_bytes(out, payload->at, payload->count);
}

/* In one piece, so that they are read together. */
static void ack_and_leave(struct channel *channel)
{
	struct text ack = {0}, stop = {0}, both = {0};
	encode(0, NULL, &ack);
	stop_encode(&(struct stop){.kind = STOP_LEFT, .who = "it", .why = "it was stopped"}, &stop);
	add_frame(&both, FRAME_ACK, &ack);
	add_frame(&both, FRAME_STOP, &stop);
	cr_assert_eq(send(channel_fd(channel), both.at, both.count, MSG_NOSIGNAL), (ssize_t)both.count);
	text_fini(&ack);
	text_fini(&stop);
	text_fini(&both);
}

/* All are told that it counts. */
Test(transport_tcp, a_step_that_all_acknowledged_counts_though_somebody_leaves_at_once)
{
	struct transport_options options = {.secondaries = 1, .all_acked = on_nothing};
	struct transport *both = make(&options);
	const struct troupe_error *lost = NULL;
	cr_assert_eq(create_end(both, &both->primary, 0, NULL), TROUPE_OK);
	cr_assert_eq(both_publish(both, (struct transport_message){0, NULL}), TROUPE_OK);
	ack_and_leave(both->channels[1]);
	while (!(lost = transport_tcp.lost(both->primary.transport)) || !(both->turns + both->given_up))
		sched_yield();
	cr_assert(strstr(lost->text, "the last step that all had acknowledged is 0"), "%s", lost->text);
	cr_assert_eq(both->turns, 1);
	cr_assert_eq(both->given_up, 0);
	transport_tcp.destroy(both->primary.transport);
	channel_destroy(both->channels[1]);
	free(both->secondaries);
	free(both->channels);
	free(both);
}

static uint64_t busy_ms(void)
{
	struct timespec used;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / 1000000;
}

/* Work after a run (saving, reporting) may take its time. */
Test(transport_tcp, a_run_that_was_stopped_costs_nothing)
{
	struct transport_options options = {.secondaries = 2, .all_acked = on_nothing};
	struct transport *both;
	cr_assert_eq(both_create(&options, &both, NULL), TROUPE_OK);
	transport_tcp.stop(both->primary.transport, STOP_LEFT, "it was stopped");
	for (uint32_t i = 0; i < 2; i++) {
		transport_tcp.destroy(both->secondaries[i].transport);
		both->secondaries[i].transport = NULL;
	}
	uint64_t began_ms = busy_ms();
	cr_assert_eq(usleep(400000), 0);
	cr_assert_lt(busy_ms() - began_ms, 50);
	both_destroy(both);
}

Test(transport_tcp, fills_all_slots)
{
	cr_assert_eq(transport_check(&transport_tcp, NULL), TROUPE_OK);
}
