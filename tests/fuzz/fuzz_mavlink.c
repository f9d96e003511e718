/* Feeds damaged streams of MAVLink to its reader (gateway/px4/mavlink.h), in pieces of random length, as a socket gives
 * them. fuzz_mavlink [SEED ROUNDS]; without arguments a few thousand rounds. Whatever comes in: the reader never looks
 * beyond what has come, goes on, and the pieces make no difference; and the frames between the damage are read.
 * With WITHOUT_MAIN it is a target for tests/fuzz/run. */
#include "base/hash.h"
#include "gateway/px4/mavlink.h"

#include "rounds.h"

struct outcome {
	uint64_t hash; /* of what was read */
	uint32_t read;
};

/* Reads the stream, of which `piece` bytes come at a time. */
static struct outcome read_stream(const uint8_t *bytes, size_t count, size_t piece)
{
	struct outcome outcome = {.hash = 1};
	size_t used = 0;
	for (size_t here = 0; here < count;) {
		here = MIN(here + piece, count);
		size_t left = here - used;
		unsigned char *copy = mem_alloc(left + !left); /* of this size: a sanitizer sees a look beyond it */
		memcpy(copy, bytes + used, left);
		struct mavlink_frame frame;
		enum mavlink_found found;
		size_t taken, at = 0;
		while ((found = mavlink_find(copy + at, left - at, &taken, &frame)) != MAVLINK_NOTHING) {
			must(taken > 0 && taken <= left - at, "more than has come", (const char *)bytes, count);
			at += taken;
			if (found != MAVLINK_FRAME)
				continue;
			struct mavlink_controls controls = mavlink_controls_of(&frame);
			outcome.hash = hash_mix(hash_mix(outcome.hash, frame.message), controls.time_us);
			outcome.read++;
		}
		must(!taken, "nothing, but taken", (const char *)bytes, count);
		used += at;
		must(here - used < MAVLINK_FRAME_MAX + 14, "a frame that is never whole", (const char *)bytes, count);
		free(copy);
	}
	return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	struct outcome whole = read_stream(bytes, count, count + !count);
	struct outcome pieces = read_stream(bytes, count, count / 7 + 1);
	must(whole.read == pieces.read && whole.hash == pieces.hash, "another outcome when it comes in pieces",
		(const char *)bytes, count);
	return 0;
}

#ifndef WITHOUT_MAIN

enum { FRAMES = 6, ROUNDS = 4000 };

static void make_stream(struct text *stream)
{
	struct mavlink_out out = {.text = stream};
	mavlink_add_heartbeat(&out);
	mavlink_add_system_time(&out, 1234567);
	mavlink_add_sensor(&out, &(struct mavlink_sensor){.time_us = 4000, .acceleration = {0, 0, -9.8}});
	mavlink_add_gps(&out, &(struct mavlink_place){.time_us = 4000, .latitude_deg = 47, .velocity = {1, -2, 3}});
	mavlink_add_truth(&out, &(struct mavlink_truth){.attitude = {1, 0, 0, 0}, .airspeed = NAN});
	mavlink_add_distance(&out, 4000, 0.1, 20, INFINITY);
}

static void damage(struct text *stream)
{
	size_t at = rounds_below(stream->count);
	static const char bytes[] = "\xfd\xff\x00\x00\xfe\x09\xfd\x01";
	if (rounds_below(2))
		stream->at[at] ^= (char)(1 << rounds_below(8));
	else
		rounds_replace(stream, at, rounds_below(16), bytes, rounds_below(sizeof bytes));
}

int main(int argc, char **argv)
{
	const char *folder = seeds_wanted(argc, argv);
	struct text stream = {0};
	uint64_t read = 0;
	make_stream(&stream);
	if (folder)
		seeds_write(folder, "mavlink", 0, stream.at, stream.count);
	must(read_stream((const uint8_t *)stream.at, stream.count, 1).read == FRAMES, "a valid stream", stream.at,
		stream.count);
	uint64_t seed = argc > 2 && !folder ? strtoull(argv[1], NULL, 10) : 1;
	uint64_t rounds = argc > 2 && !folder ? strtoull(argv[2], NULL, 10) : folder ? 0 : ROUNDS;
	for (uint64_t round = 0; round < rounds; round++) {
		struct text copy = {0};
		rounds_state = hash_mix(seed, round);
		text_add_bytes(&copy, stream.at, stream.count);
		for (size_t n = 1 + rounds_below(3); n > 0 && copy.count; n--)
			damage(&copy);
		(void)LLVMFuzzerTestOneInput((const uint8_t *)copy.at, copy.count);
		read += read_stream((const uint8_t *)copy.at, copy.count, copy.count + 1).read;
		text_fini(&copy);
	}
	must(!rounds || rounds < 1000 || (read > 2 * rounds && read < (FRAMES - 1) * rounds),
		"damage that damages nothing or all", "", 0);
	printf("%llu rounds: %llu frames read\n1 passed, 0 failed\n", (unsigned long long)rounds,
		(unsigned long long)read);
	text_fini(&stream);
	return 0;
}

#endif
