/* Signals come to any thread at any time, also before there is anything that could be told to stop. So a signal is
 * kept (asked), and who comes later is told then.
 *
 * The handler does no more than set a flag, call what stop is, and ring a semaphore, all of which may be done in a
 * handler. A thread is told by the semaphore and does the rest. It takes no signals itself. */
#include "cli/signals.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

enum { LOOK_NS = 10000000 };
enum watching { OFF, ON, LEAVING };

static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
static bool hangup_ignored; /* when this process was started */
static bool terminal_left;

static atomic_bool asked;
static struct target {
	void (*stop)(void *ctx);
	void *ctx;
} target;
static _Atomic(struct target *) told; /* &target or NULL */
static atomic_int telling;            /* handlers that use the target */

static struct watch {
	uint32_t grace_ms;
	void (*leave)(void *ctx);
	void *ctx;
	pthread_t thread;
	bool there;
	sem_t bell;
	atomic_int state; /* enum watching: ON -> OFF by the watched thread, ON -> LEAVING by the watching one */
} watch;

/* --- the handler -------------------------------------------------------------------------------------------------- */

static void tell(void)
{
	atomic_fetch_add(&telling, 1);
	struct target *to = atomic_load(&told);
	if (to)
		to->stop(to->ctx);
	atomic_fetch_sub(&telling, 1);
}

static void set(int number, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		sigaddset(&action.sa_mask, numbers[i]);
	sigaction(number, &action, NULL);
}

static void set_all(void (*handler)(int))
{
	set(SIGTERM, handler);
	if (terminal_left)
		return;
	set(SIGINT, handler);
	if (!hangup_ignored)
		set(SIGHUP, handler);
}

static void on_signal(int number)
{
	int code = errno;
	(void)number;
	atomic_store(&asked, true);
	tell();
	(void)sem_post(&watch.bell);
	set_all(SIG_DFL); /* the second one kills */
	errno = code;
}

/* --- being asked -------------------------------------------------------------------------------------------------- */

void signals_catch(void)
{
	struct sigaction before;
	(void)sem_init(&watch.bell, 0, 0);
	hangup_ignored = !sigaction(SIGHUP, NULL, &before) && before.sa_handler == SIG_IGN;
	set_all(on_signal);
}

void signals_leave_terminal(void)
{
	set(SIGINT, SIG_IGN);
	set(SIGHUP, SIG_IGN);
	terminal_left = true;
}

void signals_release(void)
{
	set_all(SIG_DFL);
}

bool signals_asked(void)
{
	return atomic_load(&asked);
}

void signals_tell(void (*stop)(void *ctx), void *ctx)
{
	atomic_store(&told, NULL);
	while (atomic_load(&telling)) /* a handler on another thread may still use the last one */
		clock_sleep_until_ns(clock_now_ns() + LOOK_NS);
	if (!stop)
		return;
	target = (struct target){stop, ctx};
	atomic_store(&told, &target);
	if (signals_asked()) /* before it was there to be told */
		stop(ctx);
}

enum outfile_haste signals_haste(void *ctx)
{
	(void)ctx;
	return signals_asked() ? OUTFILE_HURRIED : OUTFILE_PATIENT;
}

/* --- leaving in the middle ---------------------------------------------------------------------------------------- */

static void *wait_and_leave(void *arg)
{
	int on = ON;
	(void)arg;
	while (atomic_load(&watch.state) == ON && !signals_asked())
		(void)sem_wait(&watch.bell);
	uint64_t until = clock_now_ns() + watch.grace_ms * UINT64_C(1000000);
	while (atomic_load(&watch.state) == ON && clock_now_ns() < until)
		clock_sleep_until_ns(MIN(until, clock_now_ns() + LOOK_NS));
	if (atomic_compare_exchange_strong(&watch.state, &on, LEAVING))
		watch.leave(watch.ctx);
	return NULL;
}

void signals_watch(uint32_t grace_ms, void (*leave)(void *ctx), void *ctx)
{
	sigset_t all, mask;
	watch.grace_ms = grace_ms;
	watch.leave = leave;
	watch.ctx = ctx;
	atomic_store(&watch.state, ON);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mask);
	/* without it a stop is obeyed later, and that is all */
	watch.there = !pthread_create(&watch.thread, NULL, wait_and_leave, NULL);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

void signals_unwatch(void)
{
	int on = ON;
	if (!watch.there)
		return;
	if (!atomic_compare_exchange_strong(&watch.state, &on, OFF))
		for (;;)
			(void)pause();
	(void)sem_post(&watch.bell);
	pthread_join(watch.thread, NULL);
	watch.there = false;
}
