/* Feeds damaged files of commands to their reader, and what they hold to the reader of messages, with every type:
 * bytes flipped, cut and repeated, words replaced by nasty ones. fuzz_command [SEED ROUNDS FILE ...]; without arguments
 * a few hundred rounds over a corpus of its own, which is also read undamaged: what once went wrong stays there. The
 * same arguments damage the same bytes. Whatever comes in, the readers must return, either with what is sane, and is
 * read again from its own print, or with one line that says where. Build with --enable-sanitize=address to see more.
 * With WITHOUT_MAIN it is a target for tests/fuzz/run. */
#include "base/infile.h"
#include "base/text.h"
#include "cli/commands.h"
#include "topic/convert.h"
#include "topic/world.pb-c.h"

#include "rounds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const types[] = {"Twist", "Double", "Boolean", "WorldControl", "EntityFactory", "EntityFactory_V",
	"Entity", "Pose", "Pose_V", "Physics", "StringMsg", "Actuators", "EntityWrench", "troupe.msgs.SetPerformer",
	"troupe.msgs.SetVelocity", "troupe.msgs.SetJoint"};

/* --- a message, and its print ------------------------------------------------------------------------------------- */

static bool is_sane(const ProtobufCMessage *message)
{
	const Gz__Msgs__Pose *pose = NULL;
	struct pose read;
	if (message_check(message, &message_limits_usual, NULL))
		return false;
	if (message->descriptor == &gz__msgs__pose__descriptor)
		pose = (const Gz__Msgs__Pose *)message;
	if (message->descriptor == &gz__msgs__entity_factory__descriptor)
		pose = ((const Gz__Msgs__EntityFactory *)message)->pose;
	return message_pose(pose, &read, NULL) || fabs(quat_mul(read.q, quat_conj(read.q)).w - 1) < 1e-12;
}

/* As bytes, and back: it is the same. */
static void pack_and_back(const ProtobufCMessage *message)
{
	struct text bytes = {0};
	ProtobufCMessage *back;
	message_add_bytes(&bytes, message);
	must(!message_of_bytes(message->descriptor, bytes.at, bytes.count, &message_limits_usual, &back, NULL),
		"bytes that are refused", bytes.at, bytes.count);
	must(message_equal(message, back), "bytes that are read differently", bytes.at, bytes.count);
	message_free(back);
	text_fini(&bytes);
}

static bool one_message(message_type type, const char *text)
{
	struct troupe_error error = {0};
	ProtobufCMessage *message, *again;
	size_t count = strlen(text);
	if (message_of_text(type, text, &message_limits_usual, &message, &error)) {
		must(!strncmp(error.text, "column ", 7), "a message refused without a place", text, count);
		return false;
	}
	must(is_sane(message), "a message that is not sane", text, count);
	pack_and_back(message);
	struct text print = {0};
	message_add_text(&print, message, MESSAGE_LINE);
	must(!message_of_text(type, print.at, &message_limits_usual, &again, &error), "a print that is refused", text,
		count);
	must(message_equal(message, again), "a print that is read differently", text, count);
	message_free(again);
	text_fini(&print);
	message_free(message);
	return true;
}

/* --- a file ------------------------------------------------------------------------------------------------------- */

static unsigned all_messages(const char *text)
{
	unsigned read = 0;
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		read += one_message(type_find(types[i]), text);
	return read;
}

/* How many of its messages somebody takes. */
static unsigned one_file(const char *bytes, size_t count)
{
	struct command_lines commands = {0};
	struct troupe_error error = {0};
	unsigned read = 0;
	char *copy = mem_alloc(count + 1); /* of exactly this size, so that a sanitizer sees every look beyond it */
	memcpy(copy, bytes, count);
	if (commands_parse("fuzz", copy, count, &commands, &error))
		must(!strncmp(error.text, "fuzz:", 5), "a file refused without a place", bytes, count);
	uint32_t lines = 1;
	for (size_t i = 0; i < count; i++)
		lines += bytes[i] == '\n';
	for (uint32_t i = 0; i < commands.all.count; i++) {
		const struct command_line *line = &commands.all.at[i];
		must(line->line >= (i ? commands.all.at[i - 1].line + 1 : 1) && line->line <= lines, "wrong line",
			bytes, count);
		must(line->topic[0] == '/', "wrong topic", bytes, count);
		must(line->text >= copy && line->text + strlen(line->text) <= copy + count, "wrong text", bytes, count);
		char *text = mem_strdup(line->text);
		read += all_messages(text);
		free(text);
	}
	commands_fini(&commands);
	return read;
}

/* The input as a file, and as one message. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	char *text = mem_alloc(count + 1);
	memcpy(text, bytes, count);
	one_file(text, count);
	all_messages(text);
	free(text);
	return 0;
}

#ifndef WITHOUT_MAIN

/* --- damage ------------------------------------------------------------------------------------------------------- */

static const char *const corpus[] = {
	"# drive\n100 /model/v/cmd_vel linear: {x: 4.0} angular {z: -0.5}\n\n200 /m 'linear < x: 1e3; y: .5f, >'\n"
	"300 /world/w/control pause: true multi_step: 10 reset {all: true} seed: 4294967295\n7 /j/cmd_force data: -3\n",
	"0 /world/w/create sdf: '<sdf version=\"1.9\">\n <model name=\"ball\"/>\n</sdf>' pose {position {x: 1 z: 2} "
	"orientation {w: 1}} name: \"b\\\"\\x41\\303\\251\" allow_renaming: true relative_to: \"world\"\n"
	"1 /world/w/create 'header {stamp {sec: -1 nsec: 2} data {key: \"a\" value: [\"b\", \"c\"]}}\n clone_name: "
	"\"x\" \"y\" # z\n'\n",
	"5 /world/w/create_multiple data: {sdf_filename: 'a.sdf', name: \"a\"}, data < pose: {name: 'p' id: 3 "
	"orientation {z: 1}} >\n6 /world/w/create_multiple data: [{name: 'a'}, {}, <>]\n",
	"9 /world/w/remove name: \"ball\" type: MODEL id: 17\n9 /world/w/remove 'type: 2'\n"
	"10 /world/w/set_pose name: \"ball\", id: 1, position: {x: 1, y: 2e-3, z: -3}, orientation: {x: 0 y: 0 z: 0 w: "
	"-2}\n11 /world/w/set_pose_vector pose {name: \"a\" position {x: 1}} pose [{id: 2}, {}] header {}\n",
	"12 /world/w/set_physics type: ODE solver_type: \"quick\" max_step_size: 0.002 real_time_factor: 1.5 "
	"real_time_update_rate: 500 gravity {header {} z: -9.8} iters: -50 sor: 1.3 magnetic_field {x: 1e-5}\n"
	"13 /world/w/level/set_performer data: \"v\" size {x: 1 y: 2 z: 3} remove: true\n"
	"14 /world/w/reset_model name: \"v\" type: MODEL\n",
	"15 /world/w/set_velocity name: \"v\" linear {x: 1 y: -2e-3} angular: {z: .5}\n"
	"16 /world/w/set_joint id: 3 joint: \"v::arm\" axis: 1 position: -7.25 velocity: 0\n"
	"17 /world/w/wrench entity {name: \"v::l\" type: LINK id: 2} wrench {force {x: 1} torque: {y: -2} force_offset "
	"{header {} z: 0.5}}\n",
	/* quotes, comments and line ends where they may surprise */
	"1 /t data: \"\\\"\n# '\n\\\\\" # don't\n2 /t 'data: \"a\n\"\t'\r\n3 /t's data: 'a\"\n\"#' \"b\n'\"\r\n",
	"1 /t 'data: \"a",
	"1 /t data: \"\\",
	"1 /actuators position: [1, -2.5] velocity: 3 position: 4e2 normalized: []\n2 /start \"\"\n3 /start\n"
	"4 /world/w/control header {} run_to_sim_time {sec: 4 nsec: 5}\n5 /world/w/remove id: 3 type: LIGHT\n",
	"# timed\ntime: simulated\n0.25 /model/v/cmd_vel linear: {x: 4.0}\n1e1 /world/w/control reset {all: true}\n",
	"1 /t",
	"1 /t '",
	"",
};

static const char *const nasty[] = {"nan", "-inf", "1e308", "-1e9", "1e-320", "0", "-1", "", "4294967296", "\"", "'",
	"\\", "\\\"", "\\x", "\\0", "\\777", "{", "}", "<", ">", "[", "]", "[]", ":", ",", ";", "#", "\n", "\r\n", "\t",
	"header", "header {a: [{}]}", "pose", "data", "data: ", "name: 'n'", "type: WORLD", "\xc3", "\xc3\xa9",
	"\xed\xa0\x80", "\n1 /t ", "'\n2 /u '", "time: simulated\n", "{{{{{{{{{{{{{{{{{{{{", "[[[[[[[[[[[[[[[[[[[[",
	"a{a{a{a{a{a{a{a{a{a{"};

static void repeat(struct text *text, size_t at)
{
	char copy[64];
	size_t length = rounds_below(sizeof copy);
	length = MIN(length, text->count - at); /* MIN looks at its arguments twice */
	memcpy(copy, text->at + at, length);
	for (size_t n = 1 + rounds_below(3) * rounds_below(20); n > 0; n--)
		rounds_replace(text, rounds_below(text->count), 0, copy, length);
}

static void damage(struct text *text)
{
	size_t at = rounds_below(text->count), length = strcspn(text->at + at, " \n{}:'\"");
	const char *word = nasty[rounds_below(ARRAY_LEN(nasty))];
	switch (rounds_below(6)) {
	case 0:
		text->at[at] = (char)(text->at[at] ^ (1 << rounds_below(8)));
		break;
	case 1:
		rounds_replace(text, at, rounds_below(20), "", 0);
		break;
	case 2:
		repeat(text, at);
		break;
	case 3:
		rounds_replace(text, at, length, word, strlen(word));
		break;
	default:
		rounds_replace(text, at, 0, word, strlen(word));
	}
}

static unsigned run(const char *bytes, size_t count, size_t rounds)
{
	unsigned read = 0;
	for (size_t i = 0; i < rounds; i++) {
		struct text copy = {0};
		text_add_bytes(&copy, bytes, count);
		for (size_t n = 1 + rounds_below(3); n > 0 && copy.count; n--)
			damage(&copy);
		read += one_file(copy.at, copy.count);
		if (i % 4 == 0)
			LLVMFuzzerTestOneInput((const uint8_t *)copy.at, copy.count);
		text_fini(&copy);
	}
	return read;
}

int main(int argc, char **argv)
{
	unsigned whole = 0, read = 0;
	const char *seeds = seeds_wanted(argc, argv);
	for (unsigned i = 0; seeds && i < ARRAY_LEN(corpus); i++)
		seeds_write(seeds, "command", i, corpus[i], strlen(corpus[i]));
	if (seeds)
		return 0;
	size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
	rounds_state = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	for (size_t i = 0; argc <= 3 && i < ARRAY_LEN(corpus); i++) {
		whole += one_file(corpus[i], strlen(corpus[i]));
		read += run(corpus[i], strlen(corpus[i]), rounds);
	}
	for (int i = 3; i < argc; i++) {
		char *text;
		size_t count;
		struct troupe_error error;
		if (infile_read(argv[i], 1 << 20, &text, &count, &error)) {
			fprintf(stderr, "fuzz_command: %s\n", error.text);
			continue;
		}
		whole += one_file(text, count);
		read += run(text, count, rounds);
		free(text);
	}
	printf("messages read: %u undamaged, %u damaged\n", whole, read);
	must(argc > 3 || whole >= 16, "the corpus is refused undamaged", "", 0);
	printf("1 passed, 0 failed\n");
	return 0;
}

#endif
