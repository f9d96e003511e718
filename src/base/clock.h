/* The monotonic clock, and the time of day. Their readings must never reach the state of a world. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_now_ns(void);
uint64_t clock_of_day_ns(void); /* since 1970 */
void clock_sleep_until_ns(uint64_t when_ns); /* returns early on a signal */
/* Processor time that a process has used; 0 when there is no such process. */
uint64_t clock_process_ns(int process);
uint64_t clock_thread_ns(void); /* processor time that the calling thread has used; a system call */

#endif
