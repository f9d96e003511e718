/* Random messages in files, for tests/topic/test_protoc.sh.
 *
 *   messages make SEED FOLDER   writes FOLDER/TYPE.text and FOLDER/TYPE.bytes of each type, FOLDER/TYPE.files with its
 *                               descriptors, and prints the names of the types
 *   messages same FOLDER        reads FOLDER/TYPE.read of each type, which another program wrote as text, and prints
 *                               the names of the types where it is not the message in FOLDER/TYPE.bytes */
#include "base/infile.h"
#include "random_message.h"

#include <stdio.h>

static const struct message_limits any_number = {.bytes_max = 16 << 20, .items_max = 100000};

static void write_file(const char *folder, message_type type, const char *end, const struct text *text)
{
	char path[1300];
	snprintf(path, sizeof path, "%.1000s/%.200s.%s", folder, type->name, end);
	FILE *file = fopen(path, "wb");
	if (!file || fwrite(text->count ? text->at : "", 1, text->count, file) != text->count || fclose(file)) {
		perror(path);
		exit(1);
	}
}

static char *read_file(const char *folder, message_type type, const char *end, size_t *ret_count)
{
	char path[1300], *text;
	struct troupe_error error;
	snprintf(path, sizeof path, "%.1000s/%.200s.%s", folder, type->name, end);
	if (infile_read(path, 16 << 20, &text, ret_count, &error)) {
		fprintf(stderr, "%s\n", error.text);
		exit(1);
	}
	return text;
}

static void make(uint64_t seed, const char *folder)
{
	for (uint32_t i = 0; i < type_count(); i++) {
		struct random_source source = {.state = hash_mix(seed, i), .any_number = true};
		struct text text = {0}, bytes = {0}, files = {0};
		ProtobufCMessage *message = random_message(&source, type_at(i), 4);
		message_add_text(&text, message, seed % 2 ? MESSAGE_LINE : MESSAGE_LINES);
		message_add_bytes(&bytes, message);
		write_file(folder, type_at(i), "text", &text);
		write_file(folder, type_at(i), "bytes", &bytes);
		type_add_file_set(type_at(i), &files);
		write_file(folder, type_at(i), "files", &files);
		printf("%s\n", type_at(i)->name);
		text_fini(&text);
		text_fini(&bytes);
		text_fini(&files);
		arena_fini(&source.arena);
	}
}

static void compare(const char *folder)
{
	for (uint32_t i = 0; i < type_count(); i++) {
		size_t count;
		struct troupe_error error = {0};
		ProtobufCMessage *read = NULL, *made = NULL;
		char *text = read_file(folder, type_at(i), "read", &count);
		if (message_of_text(type_at(i), text, &any_number, &read, &error))
			printf("%s: %s\n", type_at(i)->name, error.text);
		free(text);
		text = read_file(folder, type_at(i), "bytes", &count);
		if (message_of_bytes(type_at(i), text, count, &any_number, &made, &error))
			printf("%s: %s\n", type_at(i)->name, error.text);
		free(text);
		if (read && made && !message_equal(read, made))
			printf("%s: not the same message\n", type_at(i)->name);
		message_free(read);
		message_free(made);
	}
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "make"))
		make(strtoul(argv[2], NULL, 10), argv[3]);
	else if (argc == 3 && !strcmp(argv[1], "same"))
		compare(argv[2]);
	else
		return 2;
	return 0;
}
