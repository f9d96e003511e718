#include "base/clock.h"

#include <time.h>

uint64_t clock_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void clock_sleep_until_ns(uint64_t when_ns)
{
	struct timespec when = {(time_t)(when_ns / 1000000000u), (long)(when_ns % 1000000000u)};
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL);
}
