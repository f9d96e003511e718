/* How much of a test is run: little of it in builds with a sanitizer (TROUPE_TEST_QUICK), the usual in `make check`,
 * all of it in `make check-long` and .ci/run (TROUPE_TEST_FULL). Scripts have the same in tests/determinism/lib.sh. */
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
