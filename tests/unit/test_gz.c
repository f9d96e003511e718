/* The pure parts of the node of gz-transport: names, datagrams, the directory of other nodes, and the audience of a
 * topic. */
#include "gateway/gz/audience.h"
#include "gateway/gz/directory.h"
#include "gateway/gz/parts.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(gz, .timeout = 60);

#define SECOND_NS UINT64_C(1000000000)

static bool is_topic(const char *text)
{
	return names_is_topic(text, strlen(text));
}

Test(gz, names_are_those_of_gz_transport)
{
	char longest[NAMES_TOPIC_MAX + 2];
	memset(longest, 'a', sizeof longest);
	cr_assert(is_topic("/clock") && is_topic("clock") && is_topic("/a/b/") && is_topic("/m\303\274ller"));
	cr_assert(!is_topic("") && !is_topic("/") && !is_topic("/a b") && !is_topic("/a//b") && !is_topic("~/a"));
	cr_assert(!is_topic("/a:=b") && !is_topic("/a@b") && !is_topic("/a\nb") && !is_topic("/a\033[1m"));
	cr_assert(names_is_topic(longest, NAMES_TOPIC_MAX) && !names_is_topic(longest, NAMES_TOPIC_MAX + 1));
	cr_assert(names_is_partition("", 0) && names_is_partition("vm:root", 7) && !names_is_partition("/", 1));
	cr_assert(names_is_type("gz.msgs.Pose_V", 14) && !names_is_type("a b", 3) && !names_is_type("", 0));
}

static void join(const char *partition, const char *topic, const char *expected)
{
	struct text text = {0};
	names_join(&text, partition, topic);
	cr_assert_str_eq(text.at, expected);
	const char *again = names_topic_in(text.at, text.count, partition);
	cr_assert(again && !strcmp(again, strrchr(expected, '@') + 1), "%s of %s", expected, partition);
	text_fini(&text);
}

Test(gz, full_names_have_the_partition)
{
	join("p", "/t", "@/p@/t");
	join("/p/", "/t/", "@/p@/t");
	join("", "t", "@@/t");
	join("vm:root", "/a/b", "@/vm:root@/a/b");
	cr_assert(!names_topic_in("@/pp@/t", 7, "p") && !names_topic_in("@/p@/t", 6, "pp"));
	cr_assert(!names_topic_in("@/p@/t", 6, "") && !names_topic_in("@@/t", 4, "p"));
	cr_assert(!names_topic_in("@/p@", 4, "p") && !names_topic_in("", 0, "") && !names_topic_in("@/p/t", 5, "p"));
	cr_assert(!names_topic_in("@/p@/a@b", 8, "p"));
}

Test(gz, types_have_two_prefixes)
{
	struct text text = {0};
	cr_assert_str_eq(names_plain_type("gz.msgs.Clock"), "Clock");
	cr_assert_str_eq(names_plain_type("ignition.msgs.Clock"), "Clock");
	cr_assert_null(names_plain_type("my.msgs.Clock"));
	cr_assert(names_same_type("gz.msgs.Clock", "ignition.msgs.Clock"));
	cr_assert(!names_same_type("gz.msgs.Clock", "gz.msgs.Clocks") && !names_same_type("my.Clock", "gz.msgs.Clock"));
	names_add_type(&text, "gz.msgs.Clock", true);
	names_add_type(&text, "ignition.msgs.Clock", false);
	names_add_type(&text, "my.Clock", true);
	cr_assert_str_eq(text.at, "ignition.msgs.Clockgz.msgs.Clockmy.Clock");
	cr_assert(names_is_empty_type("gz.msgs.Empty") && !names_is_empty_type("Empty"));
	text_fini(&text);
}

static bool is_endpoint(const char *text)
{
	struct names_endpoint endpoint;
	return names_endpoint_parse(text, strlen(text), &endpoint);
}

Test(gz, endpoints_have_one_form)
{
	struct names_endpoint endpoint;
	cr_assert(names_endpoint_parse("tcp://192.168.1.5:40001", 23, &endpoint));
	cr_assert(endpoint.address == 0xc0a80105u && endpoint.port == 40001);
	static const char *const bad[] = {"", "tcp://", "tcp://1.2.3.4", "tcp://1.2.3.4:", "tcp://1.2.3.4:0",
		"tcp://1.2.3.4:65536", "tcp://1.2.3:4", "tcp://1.2.3.256:4", "tcp://1.2.3.4:5 ", "tcp://*:5",
		"tcp://host:5", "ipc:///tmp/x", "inproc://x", "tcp://1.2.3.4:5;6", "tcp://01.2.3.4:5",
		"tcp://-1.2.3.4:5", "udp://1.2.3.4:5", "tcp://1.2.3.4.5:6", "tcp://1.2.3.4:99999999999"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		cr_assert(!is_endpoint(bad[i]), "%s", bad[i]);
}

/* --- datagrams ---------------------------------------------------------------------------------------------------- */

static struct beacon topic_beacon(enum beacon_kind kind)
{
	return (struct beacon){.version = BEACON_VERSION,
		.kind = kind,
		.process = beacon_text_of("f9491a7f-7eec-4bf7-b4a2-ae4dfd921d55"),
		.has_publisher = true,
		.topic = beacon_text_of("@/p@/clock"),
		.address = beacon_text_of("tcp://127.0.0.1:40001"),
		.owner = beacon_text_of("f9491a7f-7eec-4bf7-b4a2-ae4dfd921d55"),
		.node = beacon_text_of("n1"),
		.scope = BEACON_ALL,
		.type = beacon_text_of("ignition.msgs.Clock"),
		.throttled = true,
		.rate_hz = 30};
}

static struct beacon service_beacon(void)
{
	struct beacon beacon = topic_beacon(BEACON_ADVERTISE);
	beacon.is_service = true;
	beacon.throttled = false;
	beacon.rate_hz = 0;
	beacon.type = (struct beacon_text){0};
	beacon.socket = beacon_text_of("s1");
	beacon.request_type = beacon_text_of("gz.msgs.StringMsg");
	beacon.reply_type = beacon_text_of("gz.msgs.Boolean");
	return beacon;
}

static bool same(struct beacon_text a, struct beacon_text b)
{
	return a.count == b.count && (!a.count || !memcmp(a.at, b.at, a.count));
}

static void round_trip(struct beacon beacon)
{
	struct text out = {0};
	struct beacon again;
	cr_assert(beacon_encode(&beacon, &out));
	cr_assert(beacon_decode(out.at, out.count, &again), "kind %d", beacon.kind);
	cr_assert(again.version == beacon.version && again.kind == beacon.kind && again.relay == beacon.relay &&
		  again.no_relay == beacon.no_relay && again.has_publisher == beacon.has_publisher &&
		  again.is_service == beacon.is_service && again.scope == beacon.scope &&
		  again.throttled == beacon.throttled && again.rate_hz == beacon.rate_hz);
	cr_assert(same(again.process, beacon.process) && same(again.topic, beacon.topic) &&
		  same(again.address, beacon.address) && same(again.owner, beacon.owner) &&
		  same(again.node, beacon.node) && same(again.type, beacon.type) && same(again.socket, beacon.socket) &&
		  same(again.request_type, beacon.request_type) && same(again.reply_type, beacon.reply_type) &&
		  same(again.control, beacon.control));
	for (size_t count = 0; count < out.count; count++)
		cr_assert(!beacon_decode(out.at, count, &again), "cut off at %zu", count);
	text_fini(&out);
}

Test(gz, datagrams_survive_encoding)
{
	struct beacon beacon = topic_beacon(BEACON_ADVERTISE);
	round_trip(beacon);
	beacon.no_relay = true;
	round_trip(beacon);
	beacon = topic_beacon(BEACON_NEW_CONNECTION);
	beacon.control = beacon_text_of("c1");
	round_trip(beacon);
	round_trip(topic_beacon(BEACON_UNADVERTISE));
	round_trip(topic_beacon(BEACON_END_CONNECTION));
	round_trip(service_beacon());
	round_trip((struct beacon){.version = 10,
		.kind = BEACON_SUBSCRIBE,
		.process = beacon_text_of("p"),
		.topic = beacon_text_of("@/p@/t")});
	round_trip((struct beacon){
		.version = 10, .kind = BEACON_HEARTBEAT, .process = beacon_text_of("p"), .relay = true});
	round_trip((struct beacon){.version = 110, .kind = BEACON_BYE, .process = beacon_text_of("p")});
}

/* A heartbeat as ign-transport-topic 11 sends it. */
Test(gz, datagrams_of_gz_transport_are_read)
{
	static const char bytes[] = "\x2a\0\x10\n\x1a$f9491a7f-7eec-4bf7-b4a2-ae4dfd921d55 \x04";
	struct beacon beacon;
	struct text out = {0};
	cr_assert(beacon_decode(bytes, sizeof bytes - 1, &beacon));
	cr_assert(beacon.kind == BEACON_HEARTBEAT && beacon.version == 10);
	cr_assert(beacon_encode(&beacon, &out));
	cr_assert(out.count == sizeof bytes - 1 && !memcmp(out.at, bytes, out.count), "ours differs");
	text_fini(&out);
}

/* A publisher is of a topic or of a service: in a datagram that has both, the last one counts. */
Test(gz, datagrams_have_one_kind_of_publisher)
{
	struct text topic = {0}, service = {0}, both = {0};
	struct beacon beacon = topic_beacon(BEACON_ADVERTISE), again;
	cr_assert(beacon_encode(&beacon, &topic));
	beacon = service_beacon();
	cr_assert(beacon_encode(&beacon, &service));
	uint16_t length = (uint16_t)(topic.count + service.count - 2 * sizeof length);
	text_add_bytes(&both, (const char *)&length, sizeof length);
	text_add_bytes(&both, topic.at + sizeof length, topic.count - sizeof length);
	text_add_bytes(&both, service.at + sizeof length, service.count - sizeof length);
	cr_assert(beacon_decode(both.at, both.count, &again));
	cr_assert(again.is_service && !again.type.count && !again.throttled && !again.rate_hz && again.socket.count);
	text_fini(&topic);
	text_fini(&service);
	text_fini(&both);
}

static void refuse(struct beacon beacon, const char *what)
{
	struct text out = {0};
	struct beacon again;
	cr_assert(beacon_encode(&beacon, &out));
	cr_assert(!beacon_decode(out.at, out.count, &again), "%s", what);
	text_fini(&out);
}

Test(gz, datagrams_that_lack_something_are_refused)
{
	struct beacon beacon = topic_beacon(BEACON_ADVERTISE);
	beacon.process = (struct beacon_text){0};
	refuse(beacon, "no process");
	beacon = topic_beacon(BEACON_ADVERTISE);
	beacon.topic = beacon_text_of("/clock");
	refuse(beacon, "no partition");
	beacon = topic_beacon(BEACON_ADVERTISE);
	beacon.address = beacon_text_of("ipc:///tmp/x");
	refuse(beacon, "an address that is a file");
	beacon = topic_beacon(BEACON_ADVERTISE);
	beacon.type = beacon_text_of("\033[2J");
	refuse(beacon, "a type with control characters");
	beacon = topic_beacon(BEACON_ADVERTISE);
	beacon.has_publisher = false;
	refuse(beacon, "no publisher");
	beacon = topic_beacon(BEACON_ADVERTISE);
	beacon.kind = (enum beacon_kind)9;
	refuse(beacon, "another kind");
	char *longest = mem_alloc(BEACON_BYTES_MAX + 1);
	memset(longest, 'x', BEACON_BYTES_MAX);
	struct text out = {0};
	beacon = topic_beacon(BEACON_ADVERTISE);
	beacon.topic = beacon_text_of(longest);
	cr_assert(!beacon_encode(&beacon, &out) && !out.count, "too long");
	free(longest);
	text_fini(&out);
}

/* --- what is known of others -------------------------------------------------------------------------------------- */

static void count_gone(struct directory_record *record, void *ctx)
{
	(void)record;
	++*(unsigned *)ctx;
}

static struct directory_record *add(struct directory *directory, const struct beacon *beacon, bool *ret_new)
{
	bool new_process;
	directory_hear(directory, beacon->process, SECOND_NS, &new_process);
	return directory_add(directory, beacon, ret_new);
}

Test(gz, records_come_and_go)
{
	unsigned gone = 0;
	struct directory *directory = directory_create(count_gone, &gone);
	struct beacon topic = topic_beacon(BEACON_ADVERTISE), service = service_beacon();
	bool is_new;
	cr_assert(add(directory, &topic, &is_new) && is_new);
	cr_assert(add(directory, &topic, &is_new) && !is_new);
	cr_assert(add(directory, &service, &is_new) && is_new, "a service may have the name of a topic");
	cr_assert_eq(directory_count(directory), 2);
	topic.address = beacon_text_of("tcp://127.0.0.1:40002");
	struct directory_record *record = add(directory, &topic, &is_new);
	cr_assert(record && is_new && gone == 1, "another address");
	cr_assert_str_eq(record->address, "tcp://127.0.0.1:40002");
	cr_assert_str_eq(record->full, "@/p@/clock");
	cr_assert_str_eq(record->type, "ignition.msgs.Clock");
	topic.node = beacon_text_of("n2");
	cr_assert(add(directory, &topic, &is_new) && is_new);
	directory_remove(directory, &topic);
	cr_assert(gone == 2 && directory_count(directory) == 2);
	directory_remove_process(directory, topic.process);
	cr_assert(gone == 4 && !directory_count(directory) && !directory_process_count(directory));
	directory_destroy(directory);
}

Test(gz, silent_processes_expire)
{
	unsigned gone = 0;
	struct directory *directory = directory_create(count_gone, &gone);
	struct beacon topic = topic_beacon(BEACON_ADVERTISE);
	bool is_new;
	cr_assert(add(directory, &topic, &is_new));
	directory_expire(directory, SECOND_NS + DIRECTORY_SILENCE_NS);
	cr_assert_eq(gone, 0);
	directory_hear(directory, topic.process, 2 * SECOND_NS, &is_new);
	cr_assert(!is_new);
	directory_expire(directory, SECOND_NS + DIRECTORY_SILENCE_NS + 1);
	cr_assert_eq(gone, 0);
	directory_expire(directory, 2 * SECOND_NS + DIRECTORY_SILENCE_NS + 1);
	cr_assert_eq(gone, 1);
	cr_assert_null(directory_add(directory, &topic, &is_new), "a topic of an unknown process");
	directory_destroy(directory);
}

Test(gz, floods_of_records_are_bounded)
{
	unsigned gone = 0;
	char name[64];
	struct directory *directory = directory_create(count_gone, &gone);
	struct beacon topic = topic_beacon(BEACON_ADVERTISE);
	uint32_t taken = 0;
	bool is_new;
	for (int i = 0; i < DIRECTORY_RECORDS_MAX + 100; i++) {
		snprintf(name, sizeof name, "@/p@/t%d", i);
		topic.topic = beacon_text_of(name);
		taken += add(directory, &topic, &is_new) != NULL;
	}
	cr_assert_eq(taken, DIRECTORY_RECORDS_MAX);
	for (int i = 0; i < DIRECTORY_PROCESSES_MAX + 100; i++) {
		snprintf(name, sizeof name, "process%d", i);
		directory_hear(directory, beacon_text_of(name), SECOND_NS, &is_new);
	}
	cr_assert_eq(directory_process_count(directory), DIRECTORY_PROCESSES_MAX);
	directory_destroy(directory);
	cr_assert_eq(gone, DIRECTORY_RECORDS_MAX);
}

Test(gz, an_audience_is_counted_by_beginnings)
{
	struct audience audience = {0};
	cr_assert_eq(audience_of(&audience, "@/p@/a"), 0);
	cr_assert(audience_change(&audience, "@/p@/a", 6, true) && audience_change(&audience, "@/p@/a", 6, true));
	cr_assert(audience_change(&audience, "@/p@/", 5, true) && audience_change(&audience, "", 0, true));
	cr_assert(audience_change(&audience, "@/p@/ab", 7, true));
	cr_assert_eq(audience_of(&audience, "@/p@/a"), 4);
	cr_assert_eq(audience_of(&audience, "@/p@/ab"), 5);
	cr_assert_eq(audience_of(&audience, "@/q@/a"), 1);
	cr_assert(audience_change(&audience, "@/p@/a", 6, false));
	cr_assert_eq(audience_of(&audience, "@/p@/a"), 3);
	cr_assert(audience_change(&audience, "@/p@/a", 6, false) && !audience_change(&audience, "@/p@/a", 6, false));
	cr_assert(!audience_change(&audience, "a\0b", 3, true), "a zero byte");
	cr_assert_eq(audience_of(&audience, "@/p@/a"), 2);
	audience_fini(&audience);
}

/* --- parts of messages -------------------------------------------------------------------------------------------- */

static struct part part(const char *text)
{
	return (struct part){text, strlen(text)};
}

Test(gz, parts_are_checked)
{
	struct part parts[] = {part("identity"), part("@/p@/s"), part("tcp://127.0.0.1:5"), part("id"), part("node"),
		part("request"), part("bytes"), part("gz.msgs.StringMsg"), part("gz.msgs.Boolean")};
	struct parts_request request;
	cr_assert(parts_read_request(parts, 9, &request) && !request.one_way && request.endpoint.port == 5);
	cr_assert(!parts_read_request(parts, 8, &request));
	parts[2] = part("ipc:///tmp/x");
	cr_assert(!parts_read_request(parts, 9, &request), "an address of the reply that is not tcp");
	parts[8] = part("ignition.msgs.Empty");
	cr_assert(parts_read_request(parts, 9, &request) && request.one_way, "no reply, no address");
	parts[5] = part("");
	cr_assert(!parts_read_request(parts, 9, &request), "the identity of the request is missing");

	struct part reply_parts[] = {
		part("identity"), part("@/p@/s"), part("node"), part("request"), part("bytes"), part("1")};
	struct parts_reply reply;
	cr_assert(parts_read_reply(reply_parts, 6, &reply) && reply.good);
	reply_parts[5] = part("0");
	cr_assert(parts_read_reply(reply_parts, 6, &reply) && !reply.good);
	cr_assert(!parts_read_reply(reply_parts, 5, &reply));

	struct part message_parts[] = {
		part("@/p@/t"), part("tcp://127.0.0.1:5"), part(""), part("gz.msgs.Clock"), part("16")};
	struct parts_message message;
	cr_assert(parts_read_message(message_parts, 4, &message) && parts_read_message(message_parts, 5, &message));
	cr_assert(!parts_read_message(message_parts, 3, &message));
	message_parts[3] = part("no type");
	cr_assert(!parts_read_message(message_parts, 4, &message));
}
