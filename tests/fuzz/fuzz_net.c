/* Feeds damaged frames, payloads and announcements to their decoders, and whole streams of frames to both sides of the
 * protocol (net/peers.h). fuzz_net [SEED ROUNDS FILE ...]; without arguments a few thousand rounds over what is valid,
 * which is read undamaged, too (what once went wrong belongs there, in make_corpus()). Whatever comes in, a decoder
 * returns, with what is within its limits and is its own encoding, or with one line; and a peer that sends it is
 * dropped or not, but nothing else happens. Build with --enable-sanitize=address to see more. With WITHOUT_MAIN it is
 * a target for tests/fuzz/run. */
#include "net/hello.h"
#include "net/peers.h"

#include "rounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)

/* --- decoders ----------------------------------------------------------------------------------------------------- */

static bool sane(const char *text, size_t max)
{
	size_t count = strnlen(text, max + 1);
	for (size_t i = 0; i < count; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	return count <= max;
}

static unsigned decoded; /* that were valid */

/* What was decoded is encoded to what was decoded; but a hello of another protocol, of which more may follow. */
static void same_again(const struct text *again, const char *bytes, size_t count)
{
	must(again->count == count && !memcmp(again->at, bytes, count), "another encoding of the same", bytes, count);
	decoded++;
}

static void one_hello(const char *bytes, size_t count)
{
	struct hello hello;
	struct text again = {0};
	if (hello_decode(bytes, count, &hello, NULL))
		return;
	must(sane(hello.name, HELLO_TEXT_MAX) && sane(hello.build, HELLO_TEXT_MAX) &&
			sane(hello.partition, HELLO_TEXT_MAX) && hello.protocol &&
			hello.secondaries <= TROUPE_SECONDARIES_MAX,
		"a hello that is not sane", bytes, count);
	hello_encode(&hello, &again);
	if (hello.protocol == HELLO_PROTOCOL)
		same_again(&again, bytes, count);
	text_fini(&again);
}

static void one_announcement(const char *bytes, size_t count)
{
	struct announcement announcement;
	struct text again = {0};
	if (announcement_decode(bytes, count, &announcement, NULL))
		return;
	bool echoes;
	must(announcement_glance(bytes, count, announcement.role, announcement.echoes, 1, &echoes) &&
			echoes == (announcement.echo_count > 0),
		"a valid announcement that a glance rejects", bytes, count);
	must(sane(announcement.name, HELLO_TEXT_MAX) && sane(announcement.partition, HELLO_TEXT_MAX) &&
			announcement.echo_count <= ANNOUNCEMENT_ECHOES_MAX &&
			announcement.secondaries <= TROUPE_SECONDARIES_MAX &&
			count <= ANNOUNCEMENT_BYTES_MAX - ANNOUNCEMENT_MAC_BYTES,
		"an announcement that is not sane", bytes, count);
	announcement_encode(&announcement, &again);
	same_again(&again, bytes, count);
	text_fini(&again);
}

static void one_small(const char *bytes, size_t count)
{
	struct welcome welcome;
	struct heartbeat heartbeat;
	struct stop stop;
	char why[HELLO_WORDS_MAX + 1];
	uint64_t number;
	struct text again = {0};
	if (!welcome_decode(bytes, count, &welcome, NULL)) {
		must(welcome.secondary && welcome.secondary <= welcome.secondaries &&
				welcome.secondaries <= TROUPE_SECONDARIES_MAX && welcome.stale_ms,
			"a welcome that is not sane", bytes, count);
		welcome_encode(&welcome, &again);
		same_again(&again, bytes, count);
		again.count = 0;
	}
	if (!heartbeat_decode(bytes, count, &heartbeat, NULL)) {
		heartbeat_encode(&heartbeat, &again);
		same_again(&again, bytes, count);
		again.count = 0;
	}
	if (!stop_decode(bytes, count, &stop, NULL)) {
		must(sane(stop.who, HELLO_WHO_MAX) && sane(stop.why, HELLO_WORDS_MAX) && stop.kind >= STOP_DONE &&
				stop.kind <= STOP_AGAIN && stop.kind != STOP_REFUSED,
			"a stop that is not sane", bytes, count);
		stop_encode(&stop, &again);
		same_again(&again, bytes, count);
		again.count = 0;
	}
	bool come_again;
	if (!refuse_decode(bytes, count, why, &come_again, NULL)) {
		must(sane(why, HELLO_WORDS_MAX), "a refusal that is not sane", bytes, count);
		refuse_encode(why, come_again, &again);
		same_again(&again, bytes, count);
		again.count = 0;
	}
	if (!number_decode(bytes, count, &number, NULL)) {
		number_encode(number, &again);
		same_again(&again, bytes, count);
	}
	text_fini(&again);
}

/* --- a stream to a peer ------------------------------------------------------------------------------------------- */

static struct hello hello_of(enum hello_role role, unsigned char id)
{
	struct hello hello = {.protocol = HELLO_PROTOCOL, .role = role, .id = {id}, .build = "b", .name = "n:1"};
	return hello;
}

/* Takes all actions; whether the connection is still open, as it was. */
static bool drain(struct peers *peers, uint32_t id, bool is_open)
{
	struct peers_action action;
	while (peers_next(peers, &action)) {
		must(action.kind != PEERS_SEND ||
				(action.count <= frame_limit(action.type) && frame_limit(action.type)),
			"an answer beyond its limit", action.bytes, action.count);
		must(action.kind != PEERS_SEND || action.id != id || is_open, "said to a closed connection", "", 0);
		is_open = is_open && !(action.kind == PEERS_CLOSE && action.id == id);
	}
	return is_open;
}

struct side {
	struct peers *peers;
	uint32_t id;
	uint64_t now_ns, next;
	bool out; /* primary: a step is */
};

static void give(struct side *side, enum frame_type type, const char *bytes, size_t count)
{
	uint64_t number = 0;
	memcpy(&number, bytes, MIN(count, sizeof number));
	switch (type) {
	case FRAME_STEP:
		if (peers_step(side->peers, side->id, number, side->now_ns))
			peers_acknowledge(side->peers);
		break;
	case FRAME_ACK:
		if (!peers_ack(side->peers, side->id, number, side->now_ns))
			break;
		must(side->out && number == side->next, "an ack that nobody waits for is taken", bytes, count);
		side->out = false;
		side->next++;
		break;
	case FRAME_WORLD:
	case FRAME_WORLD_WANT:
	case FRAME_WORLD_DATA:
		peers_heard(side->peers, side->id, type, side->now_ns);
		break;
	default:
		peers_receive(side->peers, side->id, type, bytes, count, side->now_ns);
	}
}

static void publish_next(struct side *side)
{
	if (peers_phase(side->peers) != PEERS_RUNNING || side->out)
		return;
	side->out = peers_publish(side->peers, side->next, side->now_ns);
}

/* The frames of a stream, up to the first that is not whole or is refused, to one who plays this role. */
static void one_stream(const char *bytes, size_t count, enum hello_role role)
{
	struct peers_options options = {
		.self = hello_of(role, 1), .secondaries = role == HELLO_PRIMARY, .state_hash = 77};
	struct side side = {.peers = peers_create(&options, 0)};
	side.id = peers_join(side.peers, "10.0.0.2:9", 0);
	bool is_open = drain(side.peers, side.id, true);
	while (count >= FRAME_HEADER_BYTES && is_open) {
		enum frame_type type;
		uint32_t payload;
		struct troupe_error error = {0};
		if (frame_get_header((const unsigned char *)bytes, FRAME_PAYLOAD_MAX, &type, &payload, &error)) {
			must(*error.text, "a header refused without a word", bytes, FRAME_HEADER_BYTES);
			peers_break(side.peers, side.id, error.text, side.now_ns);
			is_open = drain(side.peers, side.id, is_open);
			must(!is_open, "who sends rubbish stays", bytes, FRAME_HEADER_BYTES);
			break;
		}
		must(payload <= frame_limit(type), "a frame beyond its limit", bytes, FRAME_HEADER_BYTES);
		if (payload > count - FRAME_HEADER_BYTES)
			break;
		side.now_ns += 10 * MS;
		give(&side, type, bytes + FRAME_HEADER_BYTES, payload);
		is_open = drain(side.peers, side.id, is_open);
		if (role == HELLO_PRIMARY)
			publish_next(&side);
		bytes += FRAME_HEADER_BYTES + payload;
		count -= FRAME_HEADER_BYTES + payload;
	}
	for (int i = 0; i < 4; i++) {
		peers_tick(side.peers, side.now_ns += 600 * MS);
		is_open = drain(side.peers, side.id, is_open);
	}
	/* a secondary keeps its primary's stale time, which may be long */
	must(!is_open || role == HELLO_SECONDARY, "who has said nothing for two seconds stays", "", 0);
	peers_destroy(side.peers);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	char *copy =
		mem_alloc(count + !count); /* of exactly this size, so that a sanitizer sees every look beyond it */
	memcpy(copy, bytes, count);
	one_hello(copy, count);
	one_announcement(copy, count);
	one_small(copy, count);
	one_stream(copy, count, HELLO_PRIMARY);
	one_stream(copy, count, HELLO_SECONDARY);
	free(copy);
	return 0;
}

#ifndef WITHOUT_MAIN

/* --- what is valid ------------------------------------------------------------------------------------------------ */

enum { SEEDS_MAX = 16 };
static struct text corpus[SEEDS_MAX];
static uint32_t corpus_count;

static void add_frame(struct text *stream, enum frame_type type, const struct text *payload)
{
	unsigned char header[FRAME_HEADER_BYTES];
	frame_put_header(header, type, (uint32_t)payload->count);
	text_add_bytes(stream, (const char *)header, sizeof header);
	text_add_bytes(stream, payload->at, payload->count);
}

static void add_number(struct text *stream, enum frame_type type, uint64_t number)
{
	struct text payload = {0};
	number_encode(number, &payload);
	add_frame(stream, type, &payload);
	text_fini(&payload);
}

/* What a primary hears from a secondary, and a secondary from its primary, from the beginning to the end. */
static void make_stream(struct text *stream, bool from_primary)
{
	struct hello hello = hello_of(from_primary ? HELLO_PRIMARY : HELLO_SECONDARY, 9);
	struct text payload = {0};
	hello_encode(&hello, &payload);
	add_frame(stream, FRAME_HELLO, &payload);
	payload.count = 0;
	if (from_primary) {
		welcome_encode(&(struct welcome){.secondary = 1, .secondaries = 1, .stale_ms = 1000}, &payload);
		add_frame(stream, FRAME_WELCOME, &payload);
		payload.count = 0;
	}
	heartbeat_encode(&(struct heartbeat){.busy = true, .step = 0}, &payload);
	add_frame(stream, FRAME_HEARTBEAT, &payload);
	add_number(stream, from_primary ? FRAME_START : FRAME_READY, from_primary ? 0 : 77);
	add_number(stream, from_primary ? FRAME_STEP : FRAME_HEARTBEAT, 0);
	add_number(stream, from_primary ? FRAME_STEP : FRAME_ACK, from_primary ? 1 : 0);
	payload.count = 0;
	stop_encode(&(struct stop){STOP_LEFT, 2, "somebody (x at y)", "was told to"}, &payload);
	add_frame(stream, FRAME_STOP, &payload);
	text_fini(&payload);
}

static void make_corpus(void)
{
	struct hello hello = hello_of(HELLO_PRIMARY, 3);
	struct announcement announcement = {.kind = ANNOUNCE_HERE,
		.role = HELLO_PRIMARY,
		.id = {4},
		.nonce = 11,
		.echo_count = 3,
		.echoes = {5, 6, 7},
		.port = 4711,
		.secondaries = 2,
		.name = "host:1"};
	struct stop stop = {STOP_LOST, 17, "secondary 2 (host:1 at 10.0.0.3:4)", "silent for 1000 ms"};
	hello_encode(&hello, &corpus[corpus_count++]);
	hello.protocol = HELLO_PROTOCOL + 1;
	hello_encode(&hello, &corpus[corpus_count++]);
	announcement_encode(&announcement, &corpus[corpus_count++]);
	welcome_encode(&(struct welcome){.secondary = 1, .secondaries = 2, .stale_ms = 1000, .standby = "spare:11400"},
		&corpus[corpus_count++]);
	heartbeat_encode(&(struct heartbeat){.busy = true, .step = 5}, &corpus[corpus_count++]);
	stop_encode(&stop, &corpus[corpus_count++]);
	refuse_encode("one too many", false, &corpus[corpus_count++]);
	number_encode(8, &corpus[corpus_count++]);
	make_stream(&corpus[corpus_count++], true);
	make_stream(&corpus[corpus_count++], false);
	text_add_bytes(&corpus[corpus_count++], "", 0);
}

/* --- damage ------------------------------------------------------------------------------------------------------- */

static const uint64_t nasty[] = {0, 1, 2, 3, 127, 128, 255, 1024, 1025, UINT32_MAX, UINT64_C(1) << 32, UINT64_MAX,
	UINT64_MAX - 7, UINT64_C(1) << 63};

static void damage(struct text *text)
{
	const struct text *other = &corpus[rounds_below(corpus_count)];
	size_t at = rounds_below(text->count + 1), from = rounds_below(other->count);
	switch (rounds_below(7)) {
	case 0:
		rounds_replace(text, at, rounds_below(20), "", 0);
		break;
	case 1: /* a number, where numbers stand */
		at -= at % 8;
		rounds_replace(text, at, 8, &nasty[rounds_below(ARRAY_LEN(nasty))], 8);
		break;
	case 2: /* a part of another */
		rounds_replace(
			text, at, 0, other->count ? other->at + from : "", rounds_below(other->count - from + 1));
		break;
	case 3:
		rounds_replace(text, at, text->count, "", 0);
		break;
	case 4:
		if (at < text->count)
			text->at[at] = (char)rounds_below(FRAME_TYPES + 1);
		break;
	default:
		if (at < text->count)
			text->at[at] = (char)(text->at[at] ^ (1 << rounds_below(8)));
	}
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 3000;
	rounds_state = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	make_corpus();
	const char *seeds = seeds_wanted(argc, argv);
	for (uint32_t i = 0; seeds && i < corpus_count; i++)
		seeds_write(seeds, "net", i, corpus[i].at ? corpus[i].at : "", corpus[i].count);
	if (seeds)
		return 0;
	for (uint32_t i = 0; argc <= 3 && i < corpus_count; i++)
		LLVMFuzzerTestOneInput((const uint8_t *)(corpus[i].at ? corpus[i].at : ""), corpus[i].count);
	unsigned whole = decoded;
	must(argc > 3 || whole >= 7, "what is valid is refused", "", 0);
	for (uint32_t i = 0; argc <= 3 && i < corpus_count; i++)
		rounds_run(corpus[i].at ? corpus[i].at : "", corpus[i].count, rounds, damage);
	for (int i = 3; i < argc; i++)
		rounds_run_file(argv[i], rounds, damage);
	printf("decoded: %u undamaged, %u damaged\n", whole, decoded - whole);
	for (uint32_t i = 0; i < corpus_count; i++)
		text_fini(&corpus[i]);
	printf("1 passed, 0 failed\n");
	return 0;
}

#endif
