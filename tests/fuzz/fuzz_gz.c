/* Feeds damaged datagrams of gz-transport's discovery to their decoder and to what is known of others, and damaged
 * parts of its ZeroMQ messages to their checks. fuzz_gz [SEED ROUNDS FILE ...]; without arguments some thousand rounds
 * over what is valid, which is read undamaged, too. Whatever comes in, a decoder returns; what it accepts is within its
 * limits, is safe to print, names no file and no host to be resolved, and is decoded again from its own encoding. With
 * WITHOUT_MAIN it is a target for tests/fuzz/run. */
#include "gateway/gz/audience.h"
#include "gateway/gz/directory.h"
#include "gateway/gz/parts.h"

#include "rounds.h"

#define SECOND_NS UINT64_C(1000000000)

static unsigned decoded; /* that were valid */

/* Whether it can be printed. */
static bool is_tame(const char *at, size_t count, size_t max)
{
	for (size_t i = 0; i < count; i++)
		if ((unsigned char)at[i] <= ' ' || at[i] == 0x7f)
			return false;
	return count <= max;
}

static bool is_same(struct beacon_text a, struct beacon_text b)
{
	return a.count == b.count && (!a.count || !memcmp(a.at, b.at, a.count));
}

/* --- datagrams ---------------------------------------------------------------------------------------------------- */

static void check_beacon(const struct beacon *beacon, const char *bytes, size_t count)
{
	struct names_endpoint endpoint;
	must(is_tame(beacon->process.at, beacon->process.count, NAMES_ID_MAX), "a process", bytes, count);
	if (beacon->kind == BEACON_HEARTBEAT || beacon->kind == BEACON_BYE)
		return;
	must(is_tame(beacon->topic.at, beacon->topic.count, NAMES_FULL_MAX), "a topic", bytes, count);
	if (beacon->kind == BEACON_SUBSCRIBE)
		return;
	must(beacon->has_publisher && is_tame(beacon->type.at, beacon->type.count, NAMES_TYPE_MAX) &&
			is_tame(beacon->request_type.at, beacon->request_type.count, NAMES_TYPE_MAX) &&
			is_tame(beacon->node.at, beacon->node.count, NAMES_ID_MAX) &&
			is_tame(beacon->socket.at, beacon->socket.count, NAMES_ID_MAX),
		"a publisher", bytes, count);
	must(beacon->kind != BEACON_ADVERTISE ||
			names_endpoint_parse(beacon->address.at, beacon->address.count, &endpoint),
		"an address", bytes, count);
}

static void check_again(const struct beacon *beacon, const char *bytes, size_t count)
{
	struct text out = {0};
	struct beacon again;
	if (beacon_encode(beacon, &out)) { /* another encoding may be longer than what came */
		must(beacon_decode(out.at, out.count, &again) && again.kind == beacon->kind &&
				is_same(again.process, beacon->process) && is_same(again.topic, beacon->topic),
			"another encoding of the same", bytes, count);
		if (beacon->has_publisher && beacon->kind != BEACON_SUBSCRIBE)
			must(is_same(again.address, beacon->address) && is_same(again.owner, beacon->owner) &&
					again.is_service == beacon->is_service && again.rate_hz == beacon->rate_hz,
				"another encoding of the same publisher", bytes, count);
	}
	text_fini(&out);
}

static void drop(struct directory_record *record, void *ctx)
{
	must(*record->full == '@' && strlen(record->address) <= NAMES_ENDPOINT_MAX, "a record", "", 0);
	--*(int *)ctx;
}

static void one_datagram(struct directory *directory, const char *bytes, size_t count, uint64_t now_ns, int *records)
{
	struct beacon beacon;
	bool is_new;
	if (!beacon_decode(bytes, count, &beacon))
		return;
	decoded++;
	check_beacon(&beacon, bytes, count);
	check_again(&beacon, bytes, count);
	directory_hear(directory, beacon.process, now_ns, &is_new);
	if (beacon.kind == BEACON_ADVERTISE) {
		if (directory_add(directory, &beacon, &is_new))
			*records += is_new;
	} else if (beacon.kind == BEACON_UNADVERTISE) {
		directory_remove(directory, &beacon);
	} else if (beacon.kind == BEACON_BYE) {
		directory_remove_process(directory, beacon.process);
	}
	must((int)directory_count(directory) == *records, "records that are not counted", bytes, count);
}

/* --- parts -------------------------------------------------------------------------------------------------------- */

static void one_message(const struct part *parts, uint32_t count)
{
	struct parts_message message;
	struct parts_request request;
	struct parts_reply reply;
	struct names_endpoint endpoint;
	if (parts_read_message(parts, count, &message)) {
		decoded++;
		must(is_tame(message.type.at, message.type.count, NAMES_TYPE_MAX) &&
				message.topic.count <= NAMES_FULL_MAX,
			"a message", message.type.at, message.type.count);
	}
	if (parts_read_request(parts, count, &request)) {
		decoded++;
		must(is_tame(request.id.at, request.id.count, NAMES_ID_MAX) &&
				is_tame(request.type.at, request.type.count, NAMES_TYPE_MAX),
			"a request", request.id.at, request.id.count);
		must(request.one_way || names_endpoint_parse(request.address.at, request.address.count, &endpoint),
			"where a reply goes", request.address.at, request.address.count);
	}
	if (parts_read_reply(parts, count, &reply)) {
		decoded++;
		must(is_tame(reply.request.at, reply.request.count, NAMES_ID_MAX), "a reply", reply.request.at,
			reply.request.count);
	}
}

/* The bytes as chunks with a length of 16 bits before each; calls for each row of chunks that ends with an empty one,
 * and for each chunk as a datagram and as a subscription. */
static void chunks(const char *bytes, size_t count)
{
	int records = 0;
	struct directory *directory = directory_create(drop, &records);
	struct audience audience = {0};
	struct part parts[PARTS_MAX + 2];
	uint32_t part_count = 0;
	uint64_t now_ns = SECOND_NS;
	uint16_t length;
	while (count >= sizeof length) {
		memcpy(&length, bytes, sizeof length);
		bytes += sizeof length;
		count -= sizeof length;
		size_t here = MIN((size_t)length, count);
		char *copy = mem_alloc(here + !here); /* so that a sanitizer sees each look beyond it */
		memcpy(copy, bytes, here);
		one_datagram(directory, copy, here, now_ns, &records);
		audience_change(&audience, copy, here, here % 2);
		must(audience_of(&audience, "@/p@/t") <= 70000, "an audience", copy, here);
		free(copy);
		parts[part_count++] = (struct part){bytes, here};
		if (!here || part_count == ARRAY_LEN(parts)) {
			one_message(parts, part_count - !here);
			part_count = 0;
		}
		bytes += here;
		count -= here;
		directory_expire(directory, now_ns += SECOND_NS / 2);
	}
	one_message(parts, part_count);
	directory_destroy(directory);
	must(!records, "records that do not go", "", 0);
	audience_fini(&audience);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	char *copy = mem_alloc(count + !count);
	int records = 0;
	struct directory *directory = directory_create(drop, &records);
	memcpy(copy, bytes, count);
	one_datagram(directory, copy, count, SECOND_NS, &records);
	directory_destroy(directory);
	chunks(copy, count);
	free(copy);
	return 0;
}

#ifndef WITHOUT_MAIN

/* --- what is valid ------------------------------------------------------------------------------------------------ */

enum { SEEDS_MAX = 32 };
static struct text corpus[SEEDS_MAX];
static uint32_t corpus_count;

static struct beacon publisher_of(enum beacon_kind kind, bool is_service)
{
	struct beacon beacon = {.version = BEACON_VERSION,
		.kind = kind,
		.process = beacon_text_of("f9491a7f-7eec-4bf7-b4a2-ae4dfd921d55"),
		.has_publisher = true,
		.is_service = is_service,
		.topic = beacon_text_of("@/p@/t"),
		.address = beacon_text_of("tcp://127.0.0.1:40001"),
		.owner = beacon_text_of("f9491a7f-7eec-4bf7-b4a2-ae4dfd921d55"),
		.node = beacon_text_of("n"),
		.scope = BEACON_ALL};
	if (is_service) {
		beacon.socket = beacon_text_of("s");
		beacon.request_type = beacon_text_of("gz.msgs.StringMsg");
		beacon.reply_type = beacon_text_of("gz.msgs.Boolean");
	} else {
		beacon.control = beacon_text_of("c");
		beacon.type = beacon_text_of("ignition.msgs.Clock");
		beacon.throttled = true;
		beacon.rate_hz = 30;
	}
	return beacon;
}

static void add_beacon(struct beacon beacon)
{
	if (!beacon_encode(&beacon, &corpus[corpus_count++]))
		abort();
}

static void add_chunk(struct text *out, const char *bytes, size_t count)
{
	uint16_t length = (uint16_t)count;
	text_add_bytes(out, (const char *)&length, sizeof length);
	text_add_bytes(out, bytes, count);
}

static void add_parts(const char *const *parts, size_t count)
{
	struct text *out = &corpus[corpus_count++];
	for (size_t i = 0; i < count; i++)
		add_chunk(out, parts[i], strlen(parts[i]));
	add_chunk(out, "", 0);
}

static void make_corpus(void)
{
	static const char *const message[] = {"@/p@/t", "tcp://127.0.0.1:40001", "bytes", "ignition.msgs.Clock"};
	static const char *const request[] = {"identity", "@/p@/s", "tcp://127.0.0.1:40002", "id", "node", "request",
		"bytes", "gz.msgs.StringMsg", "gz.msgs.Boolean"};
	static const char *const one_way[] = {
		"identity", "@/p@/s", "x", "id", "node", "request", "bytes", "gz.msgs.StringMsg", "gz.msgs.Empty"};
	static const char *const reply[] = {"identity", "@/p@/s", "node", "request", "bytes", "1"};
	for (int kind = BEACON_ADVERTISE; kind <= BEACON_END_CONNECTION; kind++)
		add_beacon(publisher_of((enum beacon_kind)kind, kind % 2));
	struct beacon relayed = publisher_of(BEACON_ADVERTISE, false);
	relayed.relay = true;
	add_beacon(relayed);
	uint32_t beacons = corpus_count;
	add_parts(message, ARRAY_LEN(message));
	add_parts(request, ARRAY_LEN(request));
	add_parts(one_way, ARRAY_LEN(one_way));
	add_parts(reply, ARRAY_LEN(reply));
	struct text *life = &corpus[corpus_count++]; /* all datagrams one after the other */
	for (uint32_t i = 0; i < beacons; i++)
		add_chunk(life, corpus[i].at, corpus[i].count);
}

/* --- damage ------------------------------------------------------------------------------------------------------- */

/* A datagram with a length that is right is looked at further. */
static void mend(struct text *text)
{
	uint16_t length = (uint16_t)(text->count - sizeof length);
	if (text->count >= sizeof length)
		memcpy(text->at, &length, sizeof length);
}

static void damage(struct text *text)
{
	static const char nasty[] = "\0\1\2\x7f\x80\xff@/ \033";
	const struct text *other = &corpus[rounds_below(corpus_count)];
	size_t at = rounds_below(text->count + 1), from = rounds_below(other->count);
	switch (rounds_below(6)) {
	case 0:
		rounds_replace(text, at, rounds_below(20), "", 0);
		break;
	case 1:
		rounds_replace(text, at, rounds_below(3), &nasty[rounds_below(sizeof nasty - 1)], 1);
		break;
	case 2: /* a part of another */
		rounds_replace(text, at, 0, other->at + from, rounds_below(other->count - from + 1));
		break;
	case 3:
		rounds_replace(text, at, text->count, "", 0);
		break;
	default:
		if (at < text->count)
			text->at[at] = (char)(text->at[at] ^ (1 << rounds_below(8)));
	}
	if (rounds_below(4))
		mend(text);
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 20000;
	rounds_state = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	make_corpus();
	const char *seeds = seeds_wanted(argc, argv);
	for (uint32_t i = 0; seeds && i < corpus_count; i++)
		seeds_write(seeds, "gz", i, corpus[i].at, corpus[i].count);
	if (seeds)
		return 0;
	for (uint32_t i = 0; argc <= 3 && i < corpus_count; i++)
		LLVMFuzzerTestOneInput((const uint8_t *)corpus[i].at, corpus[i].count);
	unsigned whole = decoded;
	must(argc > 3 || whole >= 20, "what is valid is refused", "", 0);
	for (uint32_t i = 0; argc <= 3 && i < corpus_count; i++)
		rounds_run(corpus[i].at, corpus[i].count, rounds, damage);
	for (int i = 3; i < argc; i++)
		rounds_run_file(argv[i], rounds, damage);
	printf("decoded: %u undamaged, %u damaged\n", whole, decoded - whole);
	for (uint32_t i = 0; i < corpus_count; i++)
		text_fini(&corpus[i]);
	printf("1 passed, 0 failed\n");
	return 0;
}

#endif
