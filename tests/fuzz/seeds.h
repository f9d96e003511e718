/* The first inputs of a coverage-guided fuzzer. With --seeds FOLDER each program of this folder writes its valid
 * inputs, in the form that its own LLVMFuzzerTestOneInput() takes. */
#ifndef TESTS_FUZZ_SEEDS_H
#define TESTS_FUZZ_SEEDS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As tests/fuzz/run does it with clang's -fsanitize=fuzzer. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* Ends the program, with the input that it fails for: in hexadecimal digits, unless it is text; NULL: none. */
static inline void must(bool good, const char *what, const void *input, size_t count)
{
	const unsigned char *bytes = input;
	bool is_text = true;
	if (good)
		return;
	for (size_t i = 0; i < count; i++)
		is_text &= bytes[i] != '\0';
	fprintf(stderr, "%s: %s%s", program_invocation_short_name, what, input ? "; the input was:\n" : "");
	for (size_t i = 0; i < count; i++)
		fprintf(stderr, is_text ? "%c" : "%02x", bytes[i]);
	fprintf(stderr, "\n");
	abort();
}

static inline void seeds_write(const char *folder, const char *name, unsigned number, const void *bytes, size_t count)
{
	char path[1300];
	snprintf(path, sizeof path, "%.1000s/%.200s_%u", folder, name, number);
	FILE *file = fopen(path, "wb");
	if (!file || fwrite(bytes, 1, count, file) != count || fclose(file)) {
		perror(path);
		exit(1);
	}
}

/* The folder; NULL: seeds are not asked for. */
static inline const char *seeds_wanted(int argc, char **argv)
{
	return argc == 3 && !strcmp(argv[1], "--seeds") ? argv[2] : NULL;
}

#endif
