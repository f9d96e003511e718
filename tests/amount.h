/* How much of a test is run: little in builds with a sanitizer (TROUPE_TEST_QUICK), the usual part in `make check`,
 * more for some tests in .ci/run (TROUPE_TEST_FULL), all in `make check-long` (TROUPE_TEST_FULL and TROUPE_TEST_LONG).
 * For scripts tests/determinism/lib.sh has the same. */
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

static inline uint64_t amount_of_four(uint64_t quick, uint64_t usual, uint64_t full, uint64_t all)
{
	if (amount_asked("TROUPE_TEST_QUICK"))
		return quick;
	if (amount_asked("TROUPE_TEST_LONG"))
		return all;
	return amount_asked("TROUPE_TEST_FULL") ? full : usual;
}

/* `full` also in `make check-long` */
static inline uint64_t amount(uint64_t quick, uint64_t usual, uint64_t full)
{
	return amount_of_four(quick, usual, full, full);
}

#endif
