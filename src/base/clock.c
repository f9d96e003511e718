/* Everything that measures or waits uses one monotonic clock, in ns as one integer. A sleep ends at an absolute time,
 * so that the time between two calls does not count. */
#include "base/clock.h"

#include <time.h>

static uint64_t clock_in_ns(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

uint64_t clock_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return clock_in_ns(&now);
}

uint64_t clock_of_day_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return clock_in_ns(&now);
}

uint64_t clock_process_ns(int process)
{
	struct timespec used;
	clockid_t clock;
	return clock_getcpuclockid(process, &clock) || clock_gettime(clock, &used) ? 0 : clock_in_ns(&used);
}

uint64_t clock_thread_ns(void)
{
	struct timespec used;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return clock_in_ns(&used);
}

void clock_sleep_until_ns(uint64_t when_ns)
{
	struct timespec when = {(time_t)(when_ns / 1000000000u), (long)(when_ns % 1000000000u)};
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL);
}
