/* How much of a test is run: little in builds with a sanitizer (TROUPE_TEST_QUICK), the usual part in `make check`, all
 * in `make check-long` and .ci/run (TROUPE_TEST_FULL). For scripts tests/determinism/lib.sh has the same. */
#ifndef TESTS_AMOUNT_H
#define TESTS_AMOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

static inline bool amount_asked(const char *name)
{
	const char *value = getenv(name);
	return value && *value;
}

static inline uint64_t amount(uint64_t quick, uint64_t usual, uint64_t full)
{
	return amount_asked("TROUPE_TEST_QUICK") ? quick : amount_asked("TROUPE_TEST_FULL") ? full : usual;
}

#endif
