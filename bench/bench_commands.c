/* Measures the reading of commands, from the bytes of a file to messages. The baseline is a bare strtod() of their
 * numbers. A large file is measured beside a small one, because a reader whose time is not linear would show there. */
#include "bench.h"

#include "base/hash.h"
#include "base/text.h"
#include "cli/commands.h"
#include "topic/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(troupe_status status, const struct troupe_error *error)
{
	if (!status)
		return;
	fprintf(stderr, "bench_commands: %s\n", error->text);
	exit(1);
}

static struct text twists(uint32_t count)
{
	struct text file = {0};
	for (uint32_t i = 0; i < count; i++)
		text_add(&file, "%u /model/vehicle_%u/cmd_vel linear: {x: %u.%u} angular: {z: -0.%u}\n", i, i % 512,
			i % 5, i % 97, i % 89);
	return file;
}

/* SDF text in which every fourth line has a pose. */
static struct text create(uint32_t bytes)
{
	struct text file = {0};
	text_add(&file, "0 /world/w/create name: 'm' sdf: '");
	for (uint32_t i = 0; file.count < bytes; i++)
		text_add(&file,
			"<link name=\"link_%u\">\n  <pose>%u 0 0 0 0 0</pose>\n  <visual name=\"v\"/>\n</link>\n", i,
			i);
	text_add(&file, "'\n");
	return file;
}

/* Time in ns of reading the file into messages of the type. */
static double time_read(const struct text *file, message_type type, uint64_t *ret_hash)
{
	struct command_lines commands = {0};
	struct troupe_error error;
	char *bytes = mem_alloc(file->count + 1);
	memcpy(bytes, file->at, file->count + 1);
	uint64_t hash = 0, begin = bench_now_ns();
	must(commands_parse("bench", bytes, file->count, &commands, &error), &error);
	VEC(ProtobufCMessage *) messages = {0};
	for (uint32_t i = 0; i < commands.all.count; i++) {
		ProtobufCMessage *message;
		must(message_of_text(type, commands.all.at[i].text, &message_limits_usual, &message, &error), &error);
		vec_push(&messages, message);
	}
	double ns = (double)(bench_now_ns() - begin);
	for (uint32_t i = 0; i < messages.count; i++) {
		struct text packed = {0};
		message_add_bytes(&packed, messages.at[i]);
		hash = hash_bytes(hash, packed.at, packed.count);
		text_fini(&packed);
		message_free(messages.at[i]);
	}
	vec_free(&messages);
	commands_fini(&commands);
	*ret_hash = hash;
	return ns;
}

/* Reads only the numbers: step, linear and angular. */
static double time_numbers(const struct text *file)
{
	double sum = 0;
	uint64_t begin = bench_now_ns();
	for (const char *at = file->at; *at; at = strchr(at, '\n') + 1) {
		sum += strtod(at, NULL);
		at = strstr(at, "x: ");
		sum += strtod(at + 3, NULL);
		at = strstr(at, "z: ");
		sum += strtod(at + 3, NULL);
	}
	double ns = (double)(bench_now_ns() - begin);
	if (sum < 0)
		printf("%g\n", sum); /* otherwise the compiler would see that the sum is not used */
	return ns;
}

static double time_copy(const struct text *file)
{
	uint64_t begin = bench_now_ns();
	char *copy = mem_strdup(file->at);
	double ns = (double)(bench_now_ns() - begin);
	if (copy[file->count])
		exit(1);
	free(copy);
	return ns;
}

static void measure_twists(const struct bench_options *options, uint32_t many, uint32_t few)
{
	struct text all = twists(many), some = twists(few);
	struct bench_samples mine = {0}, small = {0}, bare = {0};
	uint64_t hash = 0, unused;
	for (int r = -1; r < options->repeats; r++) {
		bench_progress(options, "twist commands", r);
		double ns = time_read(&all, type_find("Twist"), &hash),
		       small_ns = time_read(&some, type_find("Twist"), &unused), bare_ns = time_numbers(&all);
		if (r < 0)
			continue;
		bench_add(&mine, ns / many);
		bench_add(&small, small_ns / few);
		bench_add(&bare, bare_ns / many);
	}
	struct bench_row row = {"twist command, of its numbers", "ns", &mine, &bare, .hash = hash};
	bench_print(options, &row);
	row.subject = "one of 1000000, of 100000";
	row.baselines = &small;
	bench_print(options, &row);
	text_fini(&all);
	text_fini(&some);
}

static void measure_sdf(const struct bench_options *options, uint32_t bytes)
{
	struct text file = create(bytes);
	struct bench_samples mine = {0}, bare = {0};
	uint64_t hash = 0;
	for (int r = -1; r < options->repeats; r++) {
		bench_progress(options, "inline SDF", r);
		double ns = time_read(&file, type_find("EntityFactory"), &hash), bare_ns = time_copy(&file);
		if (r < 0)
			continue;
		bench_add(&mine, ns / bytes);
		bench_add(&bare, bare_ns / bytes);
	}
	bench_print(options, &(struct bench_row){"byte of inline SDF, of copied", "ns", &mine, &bare, .hash = hash});
	text_fini(&file);
}

int main(int argc, char **argv)
{
	struct bench_options options = bench_parse(
		argc, argv, "bench_commands: reading commands; baseline: the numbers and bytes in them alone");
	uint32_t shrink = options.smoke ? 1000 : 1;
	measure_twists(&options, 1000000 / shrink, 100000 / shrink);
	measure_sdf(&options, (15 << 20) / shrink);
	return 0;
}
