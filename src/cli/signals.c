/* A signal can arrive on any thread at any time, also before there is a callback to call. So the request is stored
 * (asked), and a callback that is set later is called then.
 *
 * To leave in the middle of work that cannot be interrupted, a timer and its signal are used, and not a thread. The
 * signal works where a thread would get no processor or no memory; and users who count the threads of the process
 * count threads that simulate. So leave() must be safe in a signal handler: no malloc(), no stdio. base/outfile is
 * safe. */
#include "cli/signals.h"

#include "base/clock.h"
#include "cli/cli.h"

#include <troupe/plugin_check.h>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

/* timeout(1) and some shells send a signal to a process and then to its group: within SAME_NS both count as one. */
enum { SIGNALS_LOOK_NS = 10000000, SAME_NS = 200000000 };
enum watching { OFF, ON, LEAVING };

static atomic_bool signals_stop_asked;
static _Atomic uint64_t signals_asked_ns; /* clock_now_ns() of the first signal; 0: none yet */
static bool signals_hangup_ignored;       /* SIGHUP was ignored at the start of the process */
static bool signals_terminal_left;

static struct target {
	void (*stop)(void *ctx);
	void *ctx;
} signals_target;
static _Atomic(struct target *) signals_stop_target; /* &target or NULL */
static atomic_int signals_stopping;                  /* handlers that use the target */

static struct watchdog { /* the first three are written while the state is OFF */
	uint32_t grace_ms;
	void (*leave)(void *ctx);
	void *ctx;
	atomic_int state; /* enum watching: ON -> OFF by the watched thread, ON -> LEAVING by the timer's handler */
} signals_watchdog;

/* --- handlers ----------------------------------------------------------------------------------------------------- */

static void signals_set(int number, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	sigaddset(&action.sa_mask, SIGTERM);
	sigaddset(&action.sa_mask, SIGINT);
	sigaddset(&action.sa_mask, SIGHUP);
	sigaction(number, &action, NULL);
}

static void signals_set_all(void (*handler)(int))
{
	signals_set(SIGTERM, handler);
	if (signals_terminal_left)
		return;
	signals_set(SIGINT, handler);
	if (!signals_hangup_ignored)
		signals_set(SIGHUP, handler);
}

static void signals_set_timer(uint32_t ms)
{
	struct itimerval when = {.it_value = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000}};
	(void)setitimer(ITIMER_REAL, &when, NULL);
}

static void signals_look_at_loading(void);

static void signals_on_timer(int number)
{
	int on = ON;
	(void)number;
	if (!signals_asked())
		signals_look_at_loading();
	else if (atomic_compare_exchange_strong(&signals_watchdog.state, &on, LEAVING))
		signals_watchdog.leave(signals_watchdog.ctx);
}

static void signals_write_stuck(void)
{
	atomic_fetch_add(&signals_stopping, 1);
	struct target *to = atomic_load(&signals_stop_target);
	if (to)
		to->stop(to->ctx);
	atomic_fetch_sub(&signals_stopping, 1);
}

/* The first signal asks for the end; the second one kills. */
static void signals_on_signal(int number)
{
	int code = errno;
	uint64_t now_ns = clock_now_ns(), first_ns = 0;
	if (atomic_compare_exchange_strong(&signals_asked_ns, &first_ns, now_ns)) {
		atomic_store(&signals_stop_asked, true);
		signals_write_stuck();
		if (atomic_load(&signals_watchdog.state) == ON)
			signals_set_timer(signals_watchdog.grace_ms);
	} else if (now_ns - first_ns > SAME_NS) {
		signals_set_all(SIG_DFL);
		(void)raise(number); /* is delivered when this handler returns */
	}
	errno = code;
}

/* --- being asked -------------------------------------------------------------------------------------------------- */

void signals_catch(void)
{
	struct sigaction before;
	signals_hangup_ignored = !sigaction(SIGHUP, NULL, &before) && before.sa_handler == SIG_IGN;
	signals_set_all(signals_on_signal);
}

void signals_leave_terminal(void)
{
	signals_set(SIGINT, SIG_IGN);
	signals_set(SIGHUP, SIG_IGN);
	signals_terminal_left = true;
}

void signals_leave_all(void)
{
	signals_leave_terminal();
	signals_set(SIGTERM, SIG_IGN);
}

void signals_release(void)
{
	signals_set_all(SIG_DFL);
}

bool signals_asked(void)
{
	return atomic_load(&signals_stop_asked);
}

void signals_tell(void (*stop)(void *ctx), void *ctx)
{
	atomic_store(&signals_stop_target, NULL);
	while (atomic_load(&signals_stopping)) /* a handler on another thread may still use the last target */
		clock_sleep_until_ns(clock_now_ns() + SIGNALS_LOOK_NS);
	if (!stop)
		return;
	signals_target = (struct target){stop, ctx};
	atomic_store(&signals_stop_target, &signals_target);
	if (signals_asked()) /* the signal came before the callback was set */
		stop(ctx);
}

enum outfile_urgency signals_urgency(void *ctx)
{
	(void)ctx;
	return signals_asked() ? OUTFILE_HURRIED : OUTFILE_PATIENT;
}

/* --- leaving in the middle ---------------------------------------------------------------------------------------- */

void signals_arm_watchdog(uint32_t grace_ms, void (*leave)(void *ctx), void *ctx)
{
	sigset_t timer;
	sigemptyset(&timer);
	sigaddset(&timer, SIGALRM);
	signals_watchdog.grace_ms = grace_ms;
	signals_watchdog.leave = leave;
	signals_watchdog.ctx = ctx;
	signals_set(SIGALRM, signals_on_timer);
	(void)pthread_sigmask(SIG_UNBLOCK, &timer, NULL); /* the parent process may have blocked it */
	atomic_store(&signals_watchdog.state, ON);
	if (signals_asked()) /* the signal came before the watch */
		signals_set_timer(grace_ms);
}

void signals_disarm_watchdog(void)
{
	int on = ON;
	if (atomic_compare_exchange_strong(&signals_watchdog.state, &on, OFF))
		signals_set_timer(0);
	else if (on == LEAVING)
		for (;;)
			(void)pause();
}

/* --- crashes ------------------------------------------------------------------------------------------------------ */

static void signals_write_all(const char *text)
{
	size_t done = 0, count = strlen(text);
	while (done < count) {
		ssize_t wrote = write(STDERR_FILENO, text + done, count - done);
		if (wrote <= 0)
			return;
		done += (size_t)wrote;
	}
}

/* Whether this thread was in a plug-in, which is then told of: "troupe: PLUG-IN crashes". As one piece: other threads
 * may tell at the same time. */
static bool signals_tell_of_plugin(const char *begin, const char *end)
{
	char text[800];
	size_t room = sizeof text - strlen(begin) - strlen(end), at = strlen(begin);
	troupe_plugin_interrupted(text + at, room);
	if (!text[at])
		return false;
	memcpy(text, begin, at);
	at += strlen(text + at);
	memcpy(text + at, end, strlen(end) + 1);
	signals_write_all(text);
	return true;
}

/* Several threads may crash at once: the first one tells, and ends the process, while the others wait. */
static void signals_on_crash(int number)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;
	static _Thread_local volatile sig_atomic_t telling;
	while (!telling && atomic_flag_test_and_set(&told))
		(void)pause();
	if (!telling) {
		telling = 1;
		(void)signals_tell_of_plugin("troupe: ", number == SIGSEGV || number == SIGBUS
								 ? " crashes: it uses memory that it has not\n"
							 : number == SIGFPE ? " crashes: it divides by 0\n"
									    : " crashes\n");
	}
	(void)signal(number, SIG_DFL);
	(void)raise(number);
}

enum { EXITS_AT_ONCE = 64 };

/* exit() and quick_exit() call this on the thread that has called them. */
static void signals_on_exit_of_plugin(void)
{
	if (signals_tell_of_plugin("troupe: ", " ends the process\n"))
		_exit(CLI_BAD_INPUT);
}

void signals_name_plugins(void)
{
	static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
	/* Secondaries may call exit() at the same time. Each takes a function off the list before it calls it, and the
	 * one that finds none ends the process, with the status that the plug-in gave. */
	for (int i = 0; i < EXITS_AT_ONCE; i++) {
		(void)atexit(signals_on_exit_of_plugin);
		(void)at_quick_exit(signals_on_exit_of_plugin);
	}
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		struct sigaction before, action = {.sa_handler = signals_on_crash, .sa_flags = SA_NODEFER | SA_ONSTACK};
		if (!sigaction(numbers[i], NULL, &before) && before.sa_handler == SIG_DFL)
			(void)sigaction(numbers[i], &action, NULL);
	}
}

/* --- plug-ins that do not return ---------------------------------------------------------------------------------- */

static struct {
	char begin[40], end[64];
	int seconds;
} signals_limit;

/* For how many seconds this thread has been in one function of a plug-in. Called once a second, by the handler of
 * SIGALRM on the thread that calls plug-ins. */
static int signals_seconds_in_plugin(void)
{
	static volatile sig_atomic_t seconds;
	static volatile uint64_t before;
	char text[600];
	troupe_plugin_interrupted(text, sizeof text);
	seconds = *text && troupe_plugin_calls() == before ? seconds + 1 : 0;
	before = troupe_plugin_calls();
	return seconds;
}

static void signals_on_second(int number)
{
	(void)number;
	if (signals_seconds_in_plugin() >= signals_limit.seconds &&
		signals_tell_of_plugin(signals_limit.begin, signals_limit.end))
		_exit(CLI_BAD_INPUT);
}

void signals_limit_plugins(const char *command, int seconds)
{
	const struct sigaction action = {.sa_handler = signals_on_second, .sa_flags = SA_RESTART | SA_ONSTACK};
	const struct itimerval every = {.it_interval.tv_sec = 1, .it_value.tv_sec = 1};
	(void)snprintf(signals_limit.begin, sizeof signals_limit.begin, "troupe %s: ", command);
	(void)snprintf(signals_limit.end, sizeof signals_limit.end, " has not returned after %d s\n", seconds);
	signals_limit.seconds = seconds;
	(void)sigaction(SIGALRM, &action, NULL);
	(void)setitimer(ITIMER_REAL, &every, NULL);
}

/* --- runs that stand still ---------------------------------------------------------------------------------------- */

enum { SIGNALS_STILL_S = 5 };

#define STILL_TEXT " has not returned for some seconds: the run waits for it\n"

static struct {
	uint64_t (*steps)(void *ctx);
	void *ctx;
	/* one timer, but each second any thread may have its signal */
	_Atomic uint64_t before;
	_Atomic int seconds;
} signals_still;

/* The plug-in may be in any thread, and only that thread can tell. opendir() is not safe in a signal handler. */
static void signals_ask_all_threads(void)
{
	_Alignas(8) char names[4096];
	int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long bytes;
	while (folder >= 0 && (bytes = syscall(SYS_getdents64, folder, names, sizeof names)) > 0)
		for (long at = 0; at < bytes;) {
			const struct dirent64 *entry = (const void *)(names + at);
			long thread = strtol(entry->d_name, NULL, 10);
			if (thread > 0)
				(void)syscall(SYS_tgkill, getpid(), thread, SIGALRM);
			at += entry->d_reclen;
		}
	if (folder >= 0)
		(void)close(folder);
}

/* SIGALRM: of the timer once a second on some thread, or of signals_ask_all_threads(). */
static void signals_on_look(int number, siginfo_t *about, void *context)
{
	int code = errno;
	(void)number, (void)context;
	if (about->si_code == SI_TKILL) {
		(void)signals_tell_of_plugin("troupe run: ", STILL_TEXT);
	} else {
		uint64_t now = signals_still.steps(signals_still.ctx);
		int seconds = now == signals_still.before ? signals_still.seconds + 1 : 0;
		signals_still.seconds = seconds;
		signals_still.before = now;
		if (seconds == SIGNALS_STILL_S)
			signals_ask_all_threads();
	}
	errno = code;
}

void signals_name_stuck(uint64_t (*steps)(void *ctx), void *ctx)
{
	const struct sigaction action = {
		.sa_sigaction = signals_on_look, .sa_flags = SA_RESTART | SA_ONSTACK | SA_SIGINFO};
	const struct itimerval every = {.it_interval.tv_sec = 1, .it_value.tv_sec = 1};
	if (!steps) {
		signals_set_timer(0);
		(void)signal(SIGALRM, SIG_IGN);
		return;
	}
	signals_still.steps = steps;
	signals_still.ctx = ctx;
	signals_still.seconds = 0;
	(void)sigaction(SIGALRM, &action, NULL);
	(void)setitimer(ITIMER_REAL, &every, NULL);
}

static void signals_look_at_loading(void)
{
	int code = errno;
	if (signals_seconds_in_plugin() == SIGNALS_STILL_S)
		(void)signals_tell_of_plugin("troupe run: ", STILL_TEXT);
	errno = code;
}

void signals_name_stuck_in_loading(bool on)
{
	const struct itimerval every = {.it_interval.tv_sec = on, .it_value.tv_sec = on};
	(void)setitimer(ITIMER_REAL, &every, NULL);
	if (signals_asked() && atomic_load(&signals_watchdog.state) == ON) /* the timer is that of the watch */
		signals_set_timer(signals_watchdog.grace_ms);
}
