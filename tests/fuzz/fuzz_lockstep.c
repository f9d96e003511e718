/* Feeds damaged streams of frames to the reader of the lockstep socket (gateway/lockstep/packet.h), in pieces of random
 * length, as a socket gives them. fuzz_lockstep [SEED ROUNDS]; without arguments a few thousand rounds over valid
 * streams, which are read undamaged, too. Whatever comes in: the reader never looks beyond what has come, takes frames
 * in order, gives a message that encodes to a message it reads again, or one line; and the pieces make no difference.
 * With WITHOUT_MAIN it is a target for tests/fuzz/run. */
#include "base/hash.h"
#include "gateway/lockstep/packet.h"
#include "topic/message.h"

#include "rounds.h"

static void read_again(const Troupe__Msgs__LockstepFromClient *packet, const char *bytes, size_t count)
{
	static const struct message_limits limits = {.bytes_max = SIZE_MAX, .items_max = UINT32_MAX};
	struct text again = {0};
	ProtobufCMessage *message;
	message_add_bytes(&again, &packet->base);
	must(!message_of_bytes(packet->base.descriptor, again.at ? again.at : "", again.count, &limits, &message, NULL),
		"a message that cannot be read again", bytes, count);
	must(message_equal(message, &packet->base), "another message when it is read again", bytes, count);
	message_free(message);
	text_fini(&again);
}

struct outcome {
	uint64_t hash; /* of what was read */
	uint32_t read;
	bool bad;
};

/* Reads the stream, of which `piece` bytes come at a time. */
static struct outcome read_stream(const char *bytes, size_t count, size_t piece)
{
	struct outcome outcome = {.hash = 1};
	size_t used = 0;
	for (size_t here = 0; here < count && !outcome.bad;) {
		here = MIN(here + piece, count);
		char *copy = mem_alloc(here); /* of exactly this size, so that a sanitizer sees every look beyond it */
		memcpy(copy, bytes, here);
		for (bool more = true; more;) {
			Troupe__Msgs__LockstepFromClient *packet;
			struct troupe_error error = {.text = ""};
			size_t before = used;
			switch (packet_next(copy, here, &used, &packet, &error)) {
			case PACKET_READ:
				must(used > before && used <= here, "a frame beyond what has come", bytes, count);
				must(packet->what_case, "a frame without a member", bytes, count);
				outcome.hash = hash_mix(outcome.hash, used + (uint64_t)packet->what_case);
				outcome.read++;
				read_again(packet, bytes, count);
				message_free(&packet->base);
				break;
			case PACKET_BAD:
				must(*error.text && !strchr(error.text, '\n'), "no line", bytes, count);
				outcome.bad = true;
				more = false;
				break;
			default:
				must(used == before, "a frame that is not whole, but taken", bytes, count);
				more = false;
			}
		}
		free(copy);
	}
	return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	struct outcome whole = read_stream((const char *)bytes, count, count + !count);
	struct outcome pieces = read_stream((const char *)bytes, count, count / 5 + 1);
	must(whole.read == pieces.read && whole.hash == pieces.hash && whole.bad == pieces.bad,
		"another outcome when it comes in pieces", bytes, count);
	return 0;
}

#ifndef WITHOUT_MAIN

enum { STREAMS = 4, ROUNDS = 4000 };
static struct text corpus[STREAMS];

static void add(struct text *out, const char *text)
{
	ProtobufCMessage *message;
	struct troupe_error error;
	size_t begin = out->count;
	if (message_of_text(
		    &troupe__msgs__lockstep_from_client__descriptor, text, &message_limits_usual, &message, &error)) {
		fprintf(stderr, "fuzz_lockstep: %s\n", error.text);
		exit(1);
	}
	text_add_bytes(out, "\0\0\0\0", PACKET_HEAD_BYTES);
	message_add_bytes(out, message);
	for (int i = 0; i < PACKET_HEAD_BYTES; i++)
		out->at[begin + (size_t)i] = (char)((out->count - begin - PACKET_HEAD_BYTES) >> 8 * i & 0xff);
	message_free(message);
}

static void make_corpus(void)
{
	static const char join[] =
		"join {version: 1 name: 'c' period_ns: 10000000 failure: END subscribe {topic: '/clock'}}";
	add(&corpus[0], join);
	add(&corpus[0], "done {}");
	add(&corpus[0], "leave {}");
	add(&corpus[1], join);
	for (int i = 0; i < 3; i++)
		add(&corpus[1], "done {step: 7 message {topic: '/model/cart/cmd_vel' type: 'gz.msgs.Twist' data: 'abc' "
				"step: 9} message {topic: '/world/w/control' call: true tag: 18446744073709551615} "
				"subscribe {topic: '/a' rate_hz: 1e6} unsubscribe: ['/b', '/c']}");
	add(&corpus[2], "done {step: 18446744073709551615}");
	add(&corpus[3], "leave {}");
	text_add_bytes(&corpus[3], "\xff\xff\xff\xff", 4);
}

static void damage(struct text *stream)
{
	for (size_t i = rounds_below(4); i-- > 0 && stream->count;) {
		size_t at = rounds_below(stream->count), count = rounds_below(MIN(stream->count - at, (size_t)16)) + 1;
		switch (rounds_below(4)) {
		case 0:
			stream->at[at] ^= (char)(1 << rounds_below(8));
			break;
		case 1:
			stream->at[at] = (char)(rounds_below(2) ? 0xff : 0);
			break;
		case 2: /* cut out */
			memmove(stream->at + at, stream->at + at + count, stream->count - at - count);
			stream->count -= count;
			break;
		default: /* twice */
			for (size_t b = 0; b < count; b++)
				text_add_bytes(stream, (char[]){stream->at[at + b]}, 1);
		}
	}
}

int main(int argc, char **argv)
{
	const char *folder = seeds_wanted(argc, argv);
	make_corpus();
	for (unsigned i = 0; i < STREAMS; i++) {
		if (folder)
			seeds_write(folder, "lockstep", i, corpus[i].at, corpus[i].count);
		struct outcome outcome = read_stream(corpus[i].at, corpus[i].count, corpus[i].count);
		must(outcome.read == (const uint32_t[]){3, 4, 1, 1}[i] && outcome.bad == (i == 3), "a valid stream",
			corpus[i].at, corpus[i].count);
	}
	uint64_t seed = argc > 2 && !folder ? strtoull(argv[1], NULL, 10) : 1;
	uint64_t rounds = argc > 2 && !folder ? strtoull(argv[2], NULL, 10) : folder ? 0 : ROUNDS;
	uint64_t read = 0, bad = 0;
	for (uint64_t round = 0; round < rounds; round++) {
		struct text stream = {0};
		rounds_state = hash_mix(seed, round);
		for (size_t i = rounds_below(3) + 1; i-- > 0;) {
			const struct text *part = &corpus[rounds_below(STREAMS - 1)];
			text_add_bytes(&stream, part->at, part->count);
		}
		damage(&stream);
		(void)LLVMFuzzerTestOneInput((const uint8_t *)stream.at, stream.count);
		struct outcome outcome = read_stream(stream.at, stream.count, stream.count + 1);
		read += outcome.read;
		bad += outcome.bad;
		text_fini(&stream);
	}
	must(!rounds || rounds < 1000 || (read > rounds && bad > rounds / 4), "damage that damages nothing or all", "",
		0);
	printf("%llu rounds: %llu frames read, %llu streams refused\n1 passed, 0 failed\n", (unsigned long long)rounds,
		(unsigned long long)read, (unsigned long long)bad);
	for (int i = 0; i < STREAMS; i++)
		text_fini(&corpus[i]);
	return 0;
}

#endif
