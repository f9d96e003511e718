/* For the build of tests/coverage, which includes this before each source: _exit() also writes the counts of this
 * process, which otherwise only exit() does. A process that a signal ends leaves none. */
#ifndef TESTS_COVERAGE_EXIT_H
#define TESTS_COVERAGE_EXIT_H

#include <unistd.h>

void __gcov_dump(void);

__attribute__((noreturn)) static inline void coverage_exit(int status)
{
	__gcov_dump();
	_exit(status);
}

#define _exit coverage_exit

#endif
