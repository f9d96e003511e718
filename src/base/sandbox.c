/* Libraries that read files of many formats have errors that damaged files find: they crash, loop, or ask for all
 * memory. They run in a child process, so that the process that simulates survives, and the child has few rights, so
 * that a file that takes it over gains nothing.
 *
 * Why fork(), in a process that may have threads. POSIX allows the child of such a process only async-signal-safe
 * calls, because a lock that another thread held stays locked in the child for ever. The alternatives are a program of
 * its own, which a user of the library would have to install beside it, and a process that is forked before the first
 * thread starts, which a library cannot arrange: its user's threads are there first, and a process that waits keeps a
 * copy of all memory that the parent changes meanwhile. What makes fork() sound enough:
 *
 *  - The C library repairs its own locks (allocator, streams, loader) in the child of fork().
 *  - What the child calls, the parent never calls, so no other thread can hold the locks of that code.
 *  - What remains (a replaced allocator that knows nothing of fork(), a sanitizer's, a C++ locale that another thread
 *    was changing) is found out: the child has one thread, so that a system call that waits for a lock, or gives way to
 *    another thread, waits for ever. The filter ends the child at such a call. Where there is no filter, the parent
 *    sees that it is blocked and uses no processor time (still_s). Either way its caller starts another one, at another
 *    moment.
 *
 * Who ends what. The parent enforces the limits of time, because it can count them for each piece of work. It waits
 * with a tick, and it counts a wait by at most one tick, so that a process that was stopped meanwhile finds no limit
 * exceeded. It signals the child by a process descriptor, because the number of a child that the user of the library
 * has waited for may belong to another process. The kernel ends the child when the thread that made it ends; a child
 * that is left over in another way reads the end of its stream, or reaches its own limit of processor time.
 *
 * What the child gives up, in order: signal handlers, descriptors (the stream is its standard input, a pipe for last
 * words its standard output and error), resources, user and capabilities, and then system calls, by a filter. A kernel
 * without filters leaves the rest: without a free descriptor nothing can be opened. What the child keeps is a copy of
 * the parent's memory, and it can send the content to the parent only. */
#include "base/sandbox.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED true
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

enum { SANDBOX_TICK_MS = 100, LAST_WORDS_BYTES = 160, NOBODY = 65534 };
#define TICK_NS (SANDBOX_TICK_MS * UINT64_C(1000000))
#define S_NS UINT64_C(1000000000)

struct sandbox {
	struct sandbox_limits limits;
	enum sandbox_state state;
	pid_t pid;
	int process;  /* descriptor of the child; -1: the kernel has none */
	int stream;   /* socket */
	int words;    /* pipe: what the child says on its standard output and error */
	int exited;   /* status from waitpid() */
	bool no_exit; /* another waitpid() took the status: how it ended is not known */
	/* for this piece of work, in ns */
	uint64_t waited, still, cpu_begin, cpu_seen, looked;
};

bool sandbox_limits_memory(void)
{
	return !SANITIZED;
}

/* --- the child: what it gives up -------------------------------------------------------------------------------- */

/* Signals meant for the whole run: the parent decides what happens to the child then. */
static bool sandbox_is_the_parents(int number)
{
	return number == SIGINT || number == SIGQUIT || number == SIGHUP || number == SIGTERM || number == SIGTSTP ||
	       number == SIGPIPE || number == SIGUSR1 || number == SIGUSR2 || number == SIGALRM;
}

static void sandbox_drop_handlers(void)
{
	sigset_t none;
	for (int number = 1; number < NSIG; number++) {
		struct sigaction action = {.sa_handler = sandbox_is_the_parents(number) ? SIG_IGN : SIG_DFL};
		(void)sigaction(number, &action, NULL); /* two signals cannot be set */
	}
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

void sandbox_close_from(unsigned first)
{
#ifdef SYS_close_range
	if (!syscall(SYS_close_range, first, ~0u, 0))
		return;
#endif
	struct rlimit limit = {.rlim_cur = 65536};
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	for (unsigned file = first; file < limit.rlim_cur; file++)
		(void)close((int)file);
}

static bool sandbox_keep_two(int stream, int words)
{
	/* to a number above the final ones, so that neither is overwritten */
	stream = fcntl(stream, F_DUPFD, 3);
	words = fcntl(words, F_DUPFD, 3);
	if (stream < 0 || words < 0 || dup2(stream, 0) < 0 || dup2(words, 1) < 0 || dup2(words, 2) < 0)
		return false;
	sandbox_close_from(3);
	return true;
}

/* The address space now, in bytes; 0: not known. */
static size_t sandbox_address_space(void)
{
	char text[64] = {0};
	int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t count = file < 0 ? 0 : read(file, text, sizeof text - 1);
	if (file >= 0)
		(void)close(file);
	return count > 0 ? (size_t)strtoull(text, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE) : 0;
}

/* Makes the kernel kill the child first when the machine runs out of memory. */
static void sandbox_volunteer(void)
{
	int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (file < 0)
		return;
	(void)!write(file, "1000", 4);
	(void)close(file);
}

static void sandbox_lower(int what, rlim_t to)
{
	struct rlimit limit;
	if (getrlimit(what, &limit))
		return;
	limit.rlim_max = MIN(limit.rlim_max, to);
	limit.rlim_cur = MIN(limit.rlim_cur, to);
	(void)setrlimit(what, &limit);
}

static void sandbox_limit_resources(const struct sandbox_limits *limits)
{
	size_t now = sandbox_address_space();
	sandbox_volunteer();
	if (sandbox_limits_memory() && now)
		sandbox_lower(RLIMIT_AS, now + limits->memory_bytes);
	/* limit for its whole life, in case the parent no longer counts */
	sandbox_lower(RLIMIT_CPU, 2 * (rlim_t)limits->cpu_s);
	sandbox_lower(RLIMIT_CORE, 0);
	sandbox_lower(RLIMIT_FSIZE, 0);
	sandbox_lower(RLIMIT_NPROC, 0);
	sandbox_lower(RLIMIT_NOFILE, 0);
}

/* As raw system calls: the C library would also signal threads, which the child does not have. */
static void sandbox_drop_privileges(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};
	if (!geteuid()) {
		(void)!syscall(SYS_setgroups, 0, NULL);
		(void)!syscall(SYS_setresgid, NOBODY, NOBODY, NOBODY);
		(void)!syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY);
	}
	(void)!syscall(SYS_capset, &head, none);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* --- the child: its system calls -------------------------------------------------------------------------------- */

#if defined __x86_64__ && defined __LP64__
#define FILTER_ARCH AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define FILTER_ARCH AUDIT_ARCH_AARCH64
#elif defined __riscv && __riscv_xlen == 64
#define FILTER_ARCH AUDIT_ARCH_RISCV64
#endif

#ifdef FILTER_ARCH

/* System calls for computing, allocating and ending. */
static const int sandbox_allowed[] = {
	__NR_read,
	__NR_write,
	__NR_writev,
	__NR_lseek,
	__NR_close,
	__NR_munmap,
	__NR_mremap,
	__NR_brk,
	__NR_madvise,
	__NR_exit,
	__NR_exit_group,
	__NR_rt_sigreturn,
	__NR_rt_sigaction,
	__NR_rt_sigprocmask,
	__NR_sigaltstack,
	__NR_clock_gettime,
	__NR_clock_getres,
	__NR_gettimeofday,
	__NR_getrandom,
	__NR_getpid,
	__NR_gettid,
	__NR_sysinfo,
	__NR_getrusage,
	__NR_restart_syscall,
#ifdef __NR_time
	__NR_time,
#endif
};

#define FIELD(member) (uint32_t) offsetof(struct seccomp_data, member)
#define LOW_HALF(member) (FIELD(member) + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0))
#define LOAD(offset) ((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset))
#define RETURN(what) ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what))
/* How many of the next instructions are skipped when the values are equal, and when they are not. */
#define IF_EQUAL(value, then, otherwise)                                                                               \
	((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), (then), (otherwise)))
#define IF_ANY_BIT(bits, then, otherwise)                                                                              \
	((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (uint32_t)(bits), (then), (otherwise)))

/* Executable memory is refused, and so is a signal to another process. A refused call fails with EPERM, so that
 * libraries that look for, say, a time zone go on without it. A call that waits ends the child, with SIGSYS. */
static bool sandbox_filter_calls(void)
{
	static const int mapping[] = {__NR_mmap, __NR_mprotect};
	static const int waiting[] = {__NR_sched_yield, __NR_nanosleep, __NR_clock_nanosleep};
	struct sock_filter code[2 * (ARRAY_LEN(sandbox_allowed) + ARRAY_LEN(waiting)) + 5 * ARRAY_LEN(mapping) + 20];
	uint16_t count = 0;
	code[count++] = LOAD(FIELD(arch));
	code[count++] = IF_EQUAL(FILTER_ARCH, 1, 0);
	code[count++] = RETURN(SECCOMP_RET_KILL_PROCESS);
	code[count++] = LOAD(FIELD(nr));
	for (size_t i = 0; i < ARRAY_LEN(sandbox_allowed); i++) {
		code[count++] = IF_EQUAL(sandbox_allowed[i], 0, 1);
		code[count++] = RETURN(SECCOMP_RET_ALLOW);
	}
	for (size_t i = 0; i < ARRAY_LEN(mapping); i++) {
		code[count++] = IF_EQUAL(mapping[i], 0, 4);
		code[count++] = LOAD(LOW_HALF(args[2]));
		code[count++] = IF_ANY_BIT(PROT_EXEC, 1, 0);
		code[count++] = RETURN(SECCOMP_RET_ALLOW);
		code[count++] = RETURN(SECCOMP_RET_ERRNO | EPERM);
	}
	for (size_t i = 0; i < ARRAY_LEN(waiting); i++) {
		code[count++] = IF_EQUAL(waiting[i], 0, 1);
		code[count++] = RETURN(SECCOMP_RET_KILL_PROCESS);
	}
	code[count++] = IF_EQUAL(__NR_futex, 0, 5);
	code[count++] = LOAD(LOW_HALF(args[1]));
	code[count++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (uint32_t)FUTEX_CMD_MASK);
	code[count++] = IF_EQUAL(FUTEX_WAKE, 0, 1);
	code[count++] = RETURN(SECCOMP_RET_ALLOW);
	code[count++] = RETURN(SECCOMP_RET_KILL_PROCESS);
	code[count++] = IF_EQUAL(__NR_tgkill, 0, 3);
	code[count++] = LOAD(LOW_HALF(args[0]));
	code[count++] = IF_EQUAL(getpid(), 0, 1);
	code[count++] = RETURN(SECCOMP_RET_ALLOW);
	code[count++] = RETURN(SECCOMP_RET_ERRNO | EPERM);
	struct sock_fprog program = {count, code};
	return !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

#else

static bool sandbox_filter_calls(void)
{
	return false;
}

#endif

/* --- the child -------------------------------------------------------------------------------------------------- */

static _Noreturn void sandbox_be_child(
	int stream, int words, pid_t parent, const struct sandbox_limits *limits, sandbox_work_fn *work, void *ctx)
{
	sandbox_drop_handlers();
	if (!sandbox_keep_two(stream, words))
		_exit(1);
	sandbox_limit_resources(limits);
	sandbox_drop_privileges();
	/* after the change of user, which clears this setting */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) || getppid() != parent)
		_exit(1);
	(void)sandbox_filter_calls();
	work(0, ctx);
	_exit(0);
}

bool sandbox_take(int stream, void *bytes, size_t count)
{
	for (char *at = bytes; count;) {
		ssize_t some = read(stream, at, count);
		if (some < 0 && errno == EINTR)
			continue;
		if (some <= 0)
			return false;
		at += some;
		count -= (size_t)some;
	}
	return true;
}

bool sandbox_give(int stream, const void *bytes, size_t count)
{
	for (const char *at = bytes; count;) {
		ssize_t some = write(stream, at, count);
		if (some < 0 && errno == EINTR)
			continue;
		if (some <= 0)
			return false;
		at += some;
		count -= (size_t)some;
	}
	return true;
}

/* --- the parent: starting --------------------------------------------------------------------------------------- */

static void sandbox_close_all(const int *files, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (files[i] >= 0)
			(void)close(files[i]);
}

/* files: the two ends of the stream, then of the pipe; those at even indices are the parent's. */
static bool sandbox_open_files(int files[4])
{
	files[0] = files[1] = files[2] = files[3] = -1;
	return !socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, files) &&
	       !pipe2(files + 2, O_CLOEXEC | O_NONBLOCK) && !fcntl(files[0], F_SETFL, O_NONBLOCK);
}

/* With all signals held back, so that no handler of this process runs in the child. */
static pid_t sandbox_fork_quietly(
	const int files[4], const struct sandbox_limits *limits, sandbox_work_fn *work, void *ctx)
{
	sigset_t all, before;
	pid_t self = getpid();
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	pid_t child = fork();
	if (!child)
		sandbox_be_child(files[1], files[3], self, limits, work, ctx);
	int why = errno;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = why;
	return child;
}

troupe_status sandbox_create(const struct sandbox_limits *limits, sandbox_work_fn *work, void *ctx,
	struct sandbox **ret_sandbox, struct troupe_error *error)
{
	int files[4];
	pid_t child = sandbox_open_files(files) ? sandbox_fork_quietly(files, limits, work, ctx) : -1;
	if (child < 0) {
		int why = errno;
		sandbox_close_all(files, ARRAY_LEN(files));
		return fail(error, TROUPE_ELIMIT, "cannot start a process: %s", strerror(why));
	}
	sandbox_close_all((const int[]){files[1], files[3]}, 2);
	struct sandbox *s = mem_alloc(sizeof *s);
	*s = (struct sandbox){.limits = *limits, .pid = child, .process = -1, .stream = files[0], .words = files[2]};
#ifdef SYS_pidfd_open
	s->process = (int)syscall(SYS_pidfd_open, child, 0);
#endif
	sandbox_begin(s);
	*ret_sandbox = s;
	return TROUPE_OK;
}

/* --- the parent: ending ----------------------------------------------------------------------------------------- */

static void sandbox_kill_child(const struct sandbox *s)
{
#ifdef SYS_pidfd_send_signal
	if (s->process >= 0) {
		(void)!syscall(SYS_pidfd_send_signal, s->process, SIGKILL, NULL, 0);
		return;
	}
#endif
	(void)kill(s->pid, SIGKILL);
}

/* An ended process keeps its status: the kill only makes sure that a living one ends. */
static void sandbox_end_child(struct sandbox *s, enum sandbox_state state)
{
	siginfo_t info = {0};
	int got;
	sandbox_kill_child(s);
	do {
		got = s->process >= 0 ? waitid(P_PIDFD, (id_t)s->process, &info, WEXITED)
				      : waitid(P_PID, (id_t)s->pid, &info, WEXITED);
	} while (got && errno == EINTR);
	s->no_exit = got;
	s->exited = info.si_code == CLD_EXITED ? -info.si_status : info.si_status;
	s->state = s->exited == SIGSYS ? SANDBOX_STILL : state;
	s->pid = 0;
}

void sandbox_destroy(struct sandbox *s)
{
	if (!s)
		return;
	if (s->state == SANDBOX_RUNS)
		sandbox_end_child(s, SANDBOX_DIED);
	sandbox_close_all((const int[]){s->process, s->stream, s->words}, 3);
	free(s);
}

/* The first line with a letter in the output of the child. */
static void sandbox_last_words(const struct sandbox *s, char ret_words[LAST_WORDS_BYTES])
{
	char text[4096];
	ssize_t count = read(s->words, text, sizeof text - 1);
	text[MAX(count, 0)] = '\0';
	*ret_words = '\0';
	for (char *rest = text, *line; !*ret_words && (line = strsep(&rest, "\n"));)
		if (strpbrk(line, "abcdefghijklmnopqrstuvwxyz"))
			(void)snprintf(ret_words, LAST_WORDS_BYTES, "%.*s", LAST_WORDS_BYTES - 1, line);
}

static const char *sandbox_signal_name(int number)
{
	static const struct {
		int number;
		const char *name;
	} names[] = {{SIGSEGV, "SIGSEGV"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"},
		{SIGILL, "SIGILL"}, {SIGTRAP, "SIGTRAP"}, {SIGKILL, "SIGKILL"}, {SIGXCPU, "SIGXCPU"},
		{SIGXFSZ, "SIGXFSZ"}};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (names[i].number == number)
			return names[i].name;
	return "unknown signal";
}

static troupe_status sandbox_say_end(const struct sandbox *s, struct troupe_error *error)
{
	char words[LAST_WORDS_BYTES];
	sandbox_last_words(s, words);
	const char *said = *words ? ": " : "";
	if (s->state == SANDBOX_OVER_TIME)
		return fail(error, TROUPE_EINTERNAL, "took more than %u s of processor time, or %u s in all",
			s->limits.cpu_s, s->limits.wall_s);
	if (s->state == SANDBOX_GIVEN_UP)
		return fail(error, TROUPE_EINTERNAL, "was ended, because nobody waits for it");
	if (s->state == SANDBOX_STILL)
		return fail(error, TROUPE_EINTERNAL, "waited for a lock that no thread releases");
	if (s->no_exit)
		return fail(error, TROUPE_EINTERNAL, "ended, and other code took its exit status%s%s", said, words);
	if (s->exited > 0)
		return fail(error, TROUPE_EINTERNAL, "ended by signal %d (%s)%s%s", s->exited,
			sandbox_signal_name(s->exited), said, words);
	if (-s->exited == MEM_EXIT_STATUS)
		return fail(error, TROUPE_EINTERNAL, "needs more than %zu MiB of memory", s->limits.memory_bytes >> 20);
	return fail(error, TROUPE_EINTERNAL, "ended with status %d%s%s", -s->exited, said, words);
}

/* --- the parent: the stream ------------------------------------------------------------------------------------- */

void sandbox_begin(struct sandbox *s)
{
	char words[512];
	while (read(s->words, words, sizeof words) > 0)
		; /* not the last ones */
	s->waited = s->still = 0;
	s->looked = clock_now_ns();
	s->cpu_begin = s->cpu_seen = s->pid ? clock_process_ns(s->pid) : 0;
}

enum sandbox_state sandbox_state(const struct sandbox *sandbox)
{
	return sandbox->state;
}

bool sandbox_is_worn(const struct sandbox *s)
{
	return s->pid && clock_process_ns(s->pid) > s->limits.cpu_s * S_NS;
}

/* Whether the child is blocked in a system call, as proc(5) has it: not when it is stopped, reads a page from a slow
 * disk or only gets no processor on a busy machine. True where that is not known. */
static bool sandbox_is_blocked(const struct sandbox *s)
{
	char path[32], text[128] = {0};
	(void)snprintf(path, sizeof path, "/proc/%d/stat", s->pid);
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t count = file < 0 ? 0 : read(file, text, sizeof text - 1);
	if (file >= 0)
		(void)close(file);
	const char *name_end = count > 0 ? strrchr(text, ')') : NULL;
	return !name_end || !strncmp(name_end, ") S", 3);
}

/* To be called after each wait of the parent. */
static enum sandbox_state sandbox_judge(struct sandbox *s)
{
	uint64_t now = clock_now_ns(), step = now - s->looked;
	if (s->limits.given_up && atomic_load_explicit(s->limits.given_up, memory_order_relaxed))
		return SANDBOX_GIVEN_UP;
	if (step < TICK_NS)
		return SANDBOX_RUNS;
	uint64_t cpu = clock_process_ns(s->pid);
	step = MIN(step, 2 * TICK_NS);
	s->still = cpu == s->cpu_seen && sandbox_is_blocked(s) ? s->still + step : 0;
	s->waited += step;
	s->cpu_seen = cpu;
	s->looked = now;
	if (s->waited > s->limits.wall_s * S_NS || cpu - s->cpu_begin > s->limits.cpu_s * S_NS)
		return SANDBOX_OVER_TIME;
	return s->still > s->limits.still_s * S_NS ? SANDBOX_STILL : SANDBOX_RUNS;
}

/* Interprets the result of send() or recv(): bytes; 0: none yet, after a wait; negative: the child has ended. */
static ssize_t sandbox_go_on(struct sandbox *s, ssize_t moved, short events)
{
	enum sandbox_state state = sandbox_judge(s);
	bool gone = !moved || (moved < 0 && errno != EAGAIN && errno != EINTR);
	if (gone || state) {
		sandbox_end_child(s, gone ? SANDBOX_DIED : state);
		return -1;
	}
	if (moved > 0)
		return moved;
	(void)poll(&(struct pollfd){s->stream, events, 0}, 1, SANDBOX_TICK_MS);
	return 0;
}

troupe_status sandbox_send(struct sandbox *s, const void *bytes, size_t count, struct troupe_error *error)
{
	const char *at = bytes;
	while (count && s->state == SANDBOX_RUNS) {
		ssize_t moved = sandbox_go_on(s, send(s->stream, at, count, MSG_NOSIGNAL), POLLOUT);
		at += MAX(moved, 0);
		count -= (size_t)MAX(moved, 0);
	}
	return count ? sandbox_say_end(s, error) : TROUPE_OK;
}

troupe_status sandbox_receive(struct sandbox *s, void *bytes, size_t count, struct troupe_error *error)
{
	char *at = bytes;
	while (count && s->state == SANDBOX_RUNS) {
		ssize_t moved = sandbox_go_on(s, recv(s->stream, at, count, 0), POLLIN);
		at += MAX(moved, 0);
		count -= (size_t)MAX(moved, 0);
	}
	return count ? sandbox_say_end(s, error) : TROUPE_OK;
}
