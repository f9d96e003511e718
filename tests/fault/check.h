/* The counters of passed and failed checks, for the programs of this folder. */
#ifndef TESTS_FAULT_CHECK_H
#define TESTS_FAULT_CHECK_H

#include <troupe/base.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static int passed, failed;
static char check_where[64]; /* printed before the message of a failed check: the seed, for instance */

static void check(bool good, const char *format, ...) TROUPE_PRINTF(2, 3);
static void check(bool good, const char *format, ...)
{
	passed += good;
	failed += !good;
	if (good)
		return;
	va_list args;
	va_start(args, format);
	printf("FAILED: %s", check_where);
	vprintf(format, args);
	printf("\n");
	va_end(args);
}

/* For a call without which nothing can be tested: ends the program if it has failed. */
static inline void or_die(troupe_status status, const struct troupe_error *error)
{
	if (!status)
		return;
	printf("FAILED: %s%s\n0 passed, 1 failed\n", check_where, error->text);
	exit(1);
}

/* The last line of a program, and its exit status. */
static inline int check_totals(void)
{
	printf("%d passed, %d failed\n", passed, failed);
	return failed > 0;
}

#endif
