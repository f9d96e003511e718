/* Feeds damaged recordings to `replay`.
 *
 *   fuzz_record                   some rounds over a recording of its own, which is also replayed undamaged
 *   fuzz_record SEED ROUNDS       so many
 *   fuzz_record --replay FILE...  files as they are
 *
 * The same arguments damage the same bytes. A recording's chunks are moved, doubled, left out, and changed inside; then
 * their checksums are set right again: else a replay would end at the first. Whatever comes in, the replay returns,
 * with an end of its own or with one line that names the file. With FUZZ_RECORD_LAST=FILE each recording is written
 * there first and kept. With WITHOUT_MAIN it is a target for tests/fuzz/run. */
#include "base/infile.h"
#include "server/record.h"

#include "rounds.h"

#include <troupe/record.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef WITHOUT_MAIN
enum { HANG_S = 0 }; /* the timer is the fuzzer's */
#else
enum { HANG_S = 60 };
#endif
enum { STEPS = 120, UNTIL = 200, FILE_BYTES_MAX = 1 << 22 };

static char folder[] = "/tmp/fuzz_record.XXXXXX", path[64];

static void record_must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "fuzz_record: %s; the recording is %s\n", what, path);
	abort();
}

static void begin_folder(void)
{
	record_must(mkdtemp(folder), "no folder");
	snprintf(path, sizeof path, "%s/recording", folder);
}

static void end_folder(void)
{
	unlink(path);
	rmdir(folder);
}

/* --- checksums ---------------------------------------------------------------------------------------------------- */

static void put_number(char *to, uint64_t number)
{
	for (int i = 0; i < 8; i++)
		to[i] = (char)(number >> (8 * i) & 0xff);
}

static uint64_t number_at(const char *at)
{
	struct unpack in = {at, at + 8, false};
	return unpack_u64(&in);
}

/* The first chunk ends with a state, which has a checksum of its own. */
static void mend_state(char *body, size_t count)
{
	static const char magic[] = "troupe state\n";
	char *state = memmem(body, count, magic, strlen(magic));
	size_t bytes = state ? count - (size_t)(state - body) : 0;
	if (bytes >= SAVE_HEAD_BYTES)
		server_seal(state, bytes);
}

static void mend(char *bytes, size_t count)
{
	size_t at = RECORD_HEAD_BYTES;
	for (uint64_t index = 0; at + RECORD_CHUNK_BYTES <= count; index++) {
		char *head = bytes + at, *body = head + RECORD_CHUNK_BYTES;
		uint64_t kind = number_at(head), size = number_at(head + 8);
		if (size > count - at - RECORD_CHUNK_BYTES)
			return;
		if (kind == RECORD_START)
			mend_state(body, (size_t)size);
		put_number(head + 16, record_checksum(kind, index, body, (size_t)size));
		at += RECORD_CHUNK_BYTES + (size_t)size;
	}
}

/* --- feeding ------------------------------------------------------------------------------------------------------ */

static void put(const char *to, const char *bytes, size_t count)
{
	FILE *file = fopen(to, "wb");
	if (!file || fwrite(bytes, 1, count, file) != count || fclose(file)) {
		perror(to);
		exit(1);
	}
}

static void watch(unsigned limit_s)
{
	if (HANG_S)
		alarm(limit_s);
}

/* Its end; -1: it was refused. */
static int feed(const char *bytes, size_t count)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_replay replay;
	struct troupe_error error = {0};
	const char *last = getenv("FUZZ_RECORD_LAST");
	def.resume_path = path;
	def.secondaries = 0;
	put(path, bytes, count);
	if (last)
		put(last, bytes, count);
	watch(HANG_S);
	troupe_status status = troupe_replay_run(&def, UNTIL, &replay, &error);
	watch(0);
	if (!status)
		return (int)replay.end;
	record_must(!strchr(error.text, '\n') && *error.text, "refused in none or more than one line");
	if (status != TROUPE_EDIVERGED && strncmp(error.text, path, strlen(path)) != 0) {
		fprintf(stderr, "%d: %s\n", (int)status, error.text);
		record_must(false, "refused without the file's name");
	}
	return -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	if (!*path) {
		begin_folder();
		atexit(end_folder);
	}
	char *copy = mem_alloc(count + 1);
	memcpy(copy, bytes, count);
	mend(copy, count);
	(void)feed(copy, count);
	free(copy);
	return 0;
}

#ifndef WITHOUT_MAIN

/* --- a recording of its own --------------------------------------------------------------------------------------- */

#define BOX "<collision name='c'><geometry><box><size>1 1 1</size></box></geometry></collision>"
static const char world[] =
	"<sdf version='1.9'><world name='w'><model name='floor'><static>1</static><link name='l'><collision name='c'>"
	"<geometry><plane/></geometry></collision></link></model><model name='a'><pose>0 0 0.5 0 0 0</pose><link "
	"name='l'>" BOX "</link><plugin name='gz::sim::systems::VelocityControl' filename='x'/></model></world></sdf>";

static const struct {
	uint64_t step;
	const char *topic, *text;
} commands[] = {
	{10, "/model/a/cmd_vel", "linear {x: 1}"},
	{20, "/world/w/create",
		"name: 'b' pose {position {x: 3 z: 1}} sdf: \"<sdf version='1.9'><model name='m'><link name='l'>" BOX
		"</link></model></sdf>\""},
	{60, "/world/w/set_physics", "gravity {z: -5}"},
	{80, "/world/w/remove", "name: 'b'"},
	{90, "/world/w/control", "pause: true"},
	{95, "/world/w/control", "pause: false"},
};

static void or_die(troupe_status status, const struct troupe_error *error)
{
	if (!status)
		return;
	fprintf(stderr, "fuzz_record: %s\n", error->text);
	exit(1);
}

static struct text read_whole(const char *from)
{
	struct text text = {0};
	struct troupe_error error;
	char *bytes;
	size_t count;
	or_die(infile_read(from, FILE_BYTES_MAX, &bytes, &count, &error), &error);
	text_add_bytes(&text, bytes, count);
	free(bytes);
	return text;
}

static struct text record(void)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server;
	struct troupe_error error;
	struct troupe_limits limits = {.iterations = STEPS};
	def.world_path = "w.sdf";
	def.world_text = world;
	def.secondaries = 0;
	def.pace = TROUPE_PACE_FACTOR;
	def.record_path = path;
	def.record_every = 25;
	or_die(troupe_server_create(&def, &server, &error), &error);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		or_die(troupe_server_command(server, commands[i].step, commands[i].topic, commands[i].text, &error),
			&error);
	or_die(troupe_server_run(server, &limits, &error), &error);
	or_die(troupe_server_end_recording(server, &error), &error);
	troupe_server_destroy(server);
	return read_whole(path);
}

/* --- damage ------------------------------------------------------------------------------------------------------- */

struct span {
	size_t at, count;
};

/* A random chunk. */
static struct span pick(const struct text *text)
{
	struct span all[64];
	size_t count = 0, at = RECORD_HEAD_BYTES;
	while (at + RECORD_CHUNK_BYTES <= text->count && count < ARRAY_LEN(all)) {
		uint64_t size = number_at(text->at + at + 8);
		if (size > text->count - at - RECORD_CHUNK_BYTES)
			break;
		all[count++] = (struct span){at, RECORD_CHUNK_BYTES + (size_t)size};
		at += RECORD_CHUNK_BYTES + (size_t)size;
	}
	return count ? all[rounds_below(count)] : (struct span){text->count, 0};
}

static void replace(struct text *text, struct span cut, const char *with, size_t count)
{
	struct text out = {0};
	text_add_bytes(&out, text->at, cut.at);
	text_add_bytes(&out, with, count);
	text_add_bytes(&out, text->at + cut.at + cut.count, text->count - cut.at - cut.count);
	text_fini(text);
	*text = out;
}

static void damage_body(struct text *text, struct span chunk)
{
	static const uint64_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 30, 100, 1000, UINT32_MAX, UINT64_MAX,
		UINT64_C(1) << 24, UINT64_C(1) << 32, UINT64_C(1) << 63, UINT64_C(0x7ff0000000000000)};
	size_t room = chunk.count - RECORD_CHUNK_BYTES, at = rounds_below(room), some = rounds_below(20);
	char *body = text->at + chunk.at + RECORD_CHUNK_BYTES;
	uint64_t number = numbers[rounds_below(ARRAY_LEN(numbers))];
	if (!room)
		return;
	switch (rounds_below(4)) {
	case 0:
		body[at] = (char)(body[at] ^ 1 << rounds_below(8));
		break;
	case 1: /* a number, where numbers stand */
		at -= at % 8;
		memcpy(body + at, &number, MIN(sizeof number, room - at));
		break;
	case 2: /* shorter */
		some = MIN(some, room);
		put_number(text->at + chunk.at + 8, room - some);
		replace(text, (struct span){chunk.at + chunk.count - some, some}, "", 0);
		break;
	default: /* longer */
		put_number(text->at + chunk.at + 8, room + some);
		replace(text, (struct span){chunk.at + chunk.count, 0}, "abcdefghijklmnopqrst", some);
	}
}

static void damage(struct text *text)
{
	struct span chunk = pick(text), other = pick(text);
	struct text copy = {0};
	if (!chunk.count)
		return;
	text_add_bytes(&copy, text->at + other.at, other.count);
	switch (rounds_below(8)) {
	case 0:
		replace(text, chunk, "", 0);
		break;
	case 1:
		replace(text, (struct span){chunk.at, 0}, copy.at, copy.count);
		break;
	case 2:
		text->count = chunk.at + rounds_below(chunk.count);
		break;
	case 3:
		put_number(text->at + chunk.at, rounds_below(8));
		break;
	default:
		damage_body(text, chunk);
	}
	text_fini(&copy);
}

/* Nothing is mended in a recording without damage; else each damaged one would be refused for its checksums. */
static void check_mend(const struct text *sound)
{
	struct text copy = {0};
	text_add_bytes(&copy, sound->at, sound->count);
	mend(copy.at, copy.count);
	record_must(!memcmp(copy.at, sound->at, sound->count), "the checksums are not those that a recording has");
	text_fini(&copy);
}

/* The first hash says that a world is very far, at a step within the limit. */
static void check_far(const struct text *sound)
{
	enum { WORLD_STEPS_AT = RECORD_CHUNK_BYTES + 2 * 8 };
	struct text copy = {0};
	text_add_bytes(&copy, sound->at, sound->count);
	size_t at = RECORD_HEAD_BYTES;
	while (number_at(copy.at + at) != RECORD_HASH)
		at += RECORD_CHUNK_BYTES + (size_t)number_at(copy.at + at + 8);
	put_number(copy.at + at + WORLD_STEPS_AT, UINT64_C(1) << 40);
	mend(copy.at, copy.count);
	record_must(feed(copy.at, copy.count) == TROUPE_REPLAY_DAMAGED, "a world beyond its step is not noticed");
	text_fini(&copy);
}

int main(int argc, char **argv)
{
	bool given = argc > 2 && !strcmp(argv[1], "--replay");
	const char *seeds = seeds_wanted(argc, argv);
	size_t rounds = argc == 3 ? strtoul(argv[2], NULL, 10) : getenv("TROUPE_TEST_QUICK") ? 100 : 400;
	unsigned refused = 0, whole = 0;
	begin_folder();
	for (int i = 2; given && i < argc; i++) {
		struct text text = read_whole(argv[i]);
		printf("%s: %d\n", argv[i], feed(text.at, text.count));
		text_fini(&text);
	}
	struct text sound = record();
	record_must(feed(sound.at, sound.count) == TROUPE_REPLAY_WHOLE, "a sound one is not replayed to its end");
	check_mend(&sound);
	check_far(&sound);
	if (seeds)
		seeds_write(seeds, "record", 0, sound.at, sound.count);
	rounds_state = argc == 3 && !seeds ? strtoul(argv[1], NULL, 10) : 1;
	for (size_t i = 0; i < rounds && !given && !seeds; i++) {
		struct text copy = {0};
		text_add_bytes(&copy, sound.at, sound.count);
		for (size_t n = 1 + rounds_below(3); n; n--)
			damage(&copy);
		mend(copy.at, copy.count);
		int end = feed(copy.at, copy.count);
		refused += end < 0;
		whole += end == TROUPE_REPLAY_WHOLE;
		text_fini(&copy);
	}
	text_fini(&sound);
	end_folder();
	printf("%u damaged ones were refused, %u replayed to their end\n1 passed, 0 failed\n", refused, whole);
	return 0;
}

#endif
