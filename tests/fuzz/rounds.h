/* Rounds of random damage, for the programs of this folder when no fuzzer drives them: random numbers, pieces of text
 * that are replaced, and an input that is run as it is and then damaged again and again. The same seed gives the same
 * rounds. */
#ifndef TESTS_FUZZ_ROUNDS_H
#define TESTS_FUZZ_ROUNDS_H

#include "../random.h"
#include "base/infile.h"
#include "base/text.h"

#include "seeds.h"

static uint64_t rounds_state; /* the seed to begin with */

/* A random number below limit; 0 when that is 0. */
static inline size_t rounds_below(size_t limit)
{
	return random_below64(&rounds_state, limit);
}

/* Puts `count` bytes in the place of `cut` bytes at `at`, or of as many as follow there. */
static inline void rounds_replace(struct text *text, size_t at, size_t cut, const void *with, size_t count)
{
	struct text out = {0};
	cut = MIN(cut, text->count - at);
	text_add_bytes(&out, "", 0); /* also an empty text has an address */
	text_add_bytes(&out, text->at, at);
	text_add_bytes(&out, with, count);
	text_add_bytes(&out, text->at + at + cut, text->count - at - cut);
	text_fini(text);
	*text = out;
}

/* Runs the input, and then `rounds` copies of it, each damaged one to three times. */
static inline void rounds_run(const char *bytes, size_t count, size_t rounds, void (*damage)(struct text *text))
{
	LLVMFuzzerTestOneInput((const uint8_t *)bytes, count);
	for (size_t i = 0; i < rounds; i++) {
		struct text copy = {0};
		text_add_bytes(&copy, bytes, count);
		for (size_t n = 1 + rounds_below(3); n > 0; n--)
			damage(&copy);
		LLVMFuzzerTestOneInput((const uint8_t *)copy.at, copy.count);
		text_fini(&copy);
	}
}

/* The same with the content of a file of at most 1 MiB. */
static inline void rounds_run_file(const char *path, size_t rounds, void (*damage)(struct text *text))
{
	char *text;
	size_t count;
	struct troupe_error error;
	if (infile_read(path, 1 << 20, &text, &count, &error)) {
		fprintf(stderr, "%s\n", error.text);
		exit(1);
	}
	rounds_run(text, count, rounds, damage);
	free(text);
}

#endif
