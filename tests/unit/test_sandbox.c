/* A child process cannot use the rights that it gave up, and each way in which a child can end is reported. */
#include "base/sandbox.h"

#include "base/clock.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(sandbox, .timeout = 60);

/* A virtual processor of a busy machine may stand still for a second, and its time counts as used: the limits are short
 * only where a child is to reach them. */
static const struct sandbox_limits limits = {.memory_bytes = 64 << 20, .cpu_s = 20, .wall_s = 50, .still_s = 50};
static const struct sandbox_limits short_limits = {.memory_bytes = 64 << 20, .cpu_s = 1, .wall_s = 10, .still_s = 1};

static struct sandbox *start_within(const struct sandbox_limits *within, sandbox_work_fn *work, void *ctx)
{
	struct sandbox *sandbox = NULL;
	struct troupe_error error;
	cr_assert_eq(sandbox_create(within, work, ctx, &sandbox, &error), TROUPE_OK, "%s", error.text);
	return sandbox;
}

static struct sandbox *start(sandbox_work_fn *work, void *ctx)
{
	return start_within(&limits, work, ctx);
}

/* --- the stream --------------------------------------------------------------------------------------------------- */

/* Gives back each number that it takes, plus a constant. */
static void count_up(int stream, void *ctx)
{
	uint64_t number;
	while (sandbox_take(stream, &number, sizeof number)) {
		number += *(uint64_t *)ctx;
		sandbox_give(stream, &number, sizeof number);
	}
}

Test(sandbox, answers)
{
	uint64_t step = 3, number = 4;
	struct sandbox *sandbox = start(count_up, &step);
	for (int i = 0; i < 100; i++) {
		sandbox_begin(sandbox);
		cr_assert_eq(sandbox_send(sandbox, &number, sizeof number, NULL), TROUPE_OK);
		cr_assert_eq(sandbox_receive(sandbox, &number, sizeof number, NULL), TROUPE_OK);
	}
	cr_assert_eq(number, 304);
	cr_assert_not(sandbox_is_worn(sandbox));
	sandbox_destroy(sandbox);
	sandbox_destroy(NULL);
}

/* Answers before it has taken the whole message. */
static void echo(int stream, void *ctx)
{
	static char bytes[4096];
	(void)ctx;
	while (sandbox_take(stream, bytes, sizeof bytes))
		sandbox_give(stream, bytes, sizeof bytes);
}

/* Takes and gives more bytes than a socket holds. */
static void swallow(int stream, void *ctx)
{
	static char bytes[1 << 20];
	(void)ctx;
	while (sandbox_take(stream, bytes, sizeof bytes))
		sandbox_give(stream, bytes, sizeof bytes);
}

Test(sandbox, long_messages)
{
	enum { BYTES = 1 << 20 };
	char *sent = mem_alloc(BYTES), *got = mem_alloc(BYTES);
	for (size_t i = 0; i < BYTES; i++)
		sent[i] = (char)(i * 7 >> 3);
	struct sandbox *sandbox = start(swallow, NULL);
	for (int i = 0; i < 4; i++) {
		cr_assert_eq(sandbox_send(sandbox, sent, BYTES, NULL), TROUPE_OK);
		cr_assert_eq(sandbox_receive(sandbox, got, BYTES, NULL), TROUPE_OK);
		cr_assert_eq(memcmp(sent, got, BYTES), 0);
	}
	sandbox_destroy(sandbox);
	free(sent);
	free(got);
}

/* Both sides wait for each other to read. */
Test(sandbox, both_write)
{
	struct troupe_error error = {0};
	size_t bytes = 8 << 20;
	char *sent = mem_alloc(bytes);
	struct sandbox *sandbox = start_within(&short_limits, echo, NULL);
	cr_assert_eq(sandbox_send(sandbox, sent, bytes, &error), TROUPE_EINTERNAL);
	cr_assert_eq(sandbox_state(sandbox), SANDBOX_STILL);
	sandbox_destroy(sandbox);
	free(sent);
}

/* Whether the kernel can filter system calls. */
static void report_filter(int stream, void *ctx)
{
	(void)ctx;
	bool filtered = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0 && errno == EPERM;
	sandbox_give(stream, &filtered, sizeof filtered);
}

static bool has_filter(void)
{
	bool filtered = false;
	struct sandbox *sandbox = start(report_filter, NULL);
	cr_assert_eq(sandbox_receive(sandbox, &filtered, sizeof filtered, NULL), TROUPE_OK);
	sandbox_destroy(sandbox);
	if (!filtered)
		cr_log_info("this kernel has no filters of system calls: what they forbid is not looked at");
	return filtered;
}

/* --- how it ends -------------------------------------------------------------------------------------------------- */

static void touch_nothing(int stream, void *ctx)
{
	(void)stream, (void)ctx;
	raise(SIGSEGV);
}

static void give_up(int stream, void *ctx)
{
	(void)stream, (void)ctx;
	fprintf(stderr, "\n=====\nno more\x1b[1m of this\nsecond line\n");
	abort();
}

static void leave(int stream, void *ctx)
{
	(void)stream, (void)ctx;
	_exit(7);
}

static void run_for_ever(int stream, void *ctx)
{
	(void)stream, (void)ctx;
	for (volatile uint64_t i = 0;; i++)
		;
}

static void wait_for_ever(int stream, void *ctx)
{
	char byte;
	(void)ctx;
	while (sandbox_take(stream, &byte, 1))
		;
}

static void wait_for_lock(int stream, void *ctx)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	(void)stream, (void)ctx;
	pthread_mutex_lock(&lock);
	pthread_mutex_lock(&lock);
}

static void give_way(int stream, void *ctx)
{
	(void)stream, (void)ctx;
	for (;;)
		sched_yield();
}

static void take_all_memory(int stream, void *ctx)
{
	(void)stream, (void)ctx;
	for (;;)
		memset(mem_alloc(1 << 20), 1, 1 << 20);
}

Test(sandbox, ends)
{
	static const struct {
		sandbox_work_fn *work;
		enum sandbox_state state;
		const char *text;
		bool reaches_limit;
	} cases[] = {
		{touch_nothing, SANDBOX_DIED, "ended by signal 11 (SIGSEGV)", false},
		{give_up, SANDBOX_DIED, "ended by signal 6 (SIGABRT): no more\\x1b[1m of this", false},
		{leave, SANDBOX_DIED, "ended with status 7", false},
		{run_for_ever, SANDBOX_OVER_TIME, "took more than 1 s of processor time, or 10 s in all", true},
		{wait_for_ever, SANDBOX_STILL, "waited for a lock that no thread releases", true},
		{wait_for_lock, SANDBOX_STILL, "waited for a lock that no thread releases", true},
		{give_way, SANDBOX_STILL, "waited for a lock that no thread releases", true},
		{take_all_memory, SANDBOX_DIED, "needs more than 64 MiB of memory", false},
	};
	bool filtered = has_filter();
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct troupe_error error = {0};
		char byte;
		if ((cases[i].work == take_all_memory && !sandbox_limits_memory()) ||
			(cases[i].work == give_way && !filtered))
			continue;
		struct sandbox *sandbox =
			start_within(cases[i].reaches_limit ? &short_limits : &limits, cases[i].work, NULL);
		cr_assert_eq(sandbox_receive(sandbox, &byte, 1, &error), TROUPE_EINTERNAL);
		cr_assert_str_eq(error.text, cases[i].text);
		cr_assert_eq(sandbox_state(sandbox), cases[i].state, "%s", error.text);
		cr_assert_eq(sandbox_send(sandbox, &byte, 1, &error), TROUPE_EINTERNAL,
			"a child that has ended takes bytes");
		sandbox_destroy(sandbox);
	}
}

static void stop_itself(int stream, void *ctx)
{
	pid_t self = getpid();
	(void)ctx;
	sandbox_give(stream, &self, sizeof self);
	raise(SIGSTOP);
	sandbox_give(stream, "1", 1);
}

static bool is_stopped(pid_t pid)
{
	char path[32], text[128] = {0};
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	FILE *file = fopen(path, "r");
	bool stopped = file && fread(text, 1, sizeof text - 1, file) && strstr(text, ") T");
	if (file)
		fclose(file);
	return stopped;
}

static void *continue_later(void *pid)
{
	while (!is_stopped(*(pid_t *)pid))
		clock_sleep_until_ns(clock_now_ns() + 10000000);
	clock_sleep_until_ns(clock_now_ns() + 2500000000);
	kill(*(pid_t *)pid, SIGCONT);
	return NULL;
}

/* A child that gets no processor is not one that waits for a lock. */
Test(sandbox, stopped)
{
	static const struct sandbox_limits within = {.memory_bytes = 64 << 20, .cpu_s = 20, .wall_s = 50, .still_s = 1};
	struct sandbox *sandbox = start_within(&within, stop_itself, NULL);
	struct troupe_error error = {0};
	pthread_t thread;
	pid_t pid;
	char byte = 0;
	cr_assert_eq(sandbox_receive(sandbox, &pid, sizeof pid, NULL), TROUPE_OK);
	cr_assert_eq(pthread_create(&thread, NULL, continue_later, &pid), 0);
	cr_assert_eq(sandbox_receive(sandbox, &byte, 1, &error), TROUPE_OK, "%s", error.text);
	cr_assert_eq(byte, '1');
	pthread_join(thread, NULL);
	sandbox_destroy(sandbox);
}

/* The limits count from sandbox_begin(), except the limit of the child's whole life. */
static void work_half(int stream, void *ctx)
{
	char byte;
	(void)ctx;
	while (sandbox_take(stream, &byte, 1)) {
		uint64_t until = clock_process_ns(getpid()) + 1100000000;
		while (clock_process_ns(getpid()) < until)
			;
		sandbox_give(stream, &byte, 1);
	}
}

Test(sandbox, pieces_of_work)
{
	static const struct sandbox_limits within = {.memory_bytes = 64 << 20, .cpu_s = 2, .wall_s = 50, .still_s = 50};
	char byte = 0;
	struct sandbox *sandbox = start_within(&within, work_half, NULL);
	for (int i = 0; i < 2; i++) {
		sandbox_begin(sandbox);
		cr_assert_not(sandbox_is_worn(sandbox));
		cr_assert_eq(sandbox_send(sandbox, &byte, 1, NULL), TROUPE_OK);
		cr_assert_eq(sandbox_receive(sandbox, &byte, 1, NULL), TROUPE_OK);
	}
	cr_assert(sandbox_is_worn(sandbox));
	sandbox_destroy(sandbox);
}

/* In some programs the kernel takes the exit status of children: then the reason of an end is unknown, but the end is
 * reported. */
Test(sandbox, somebody_else_waits)
{
	struct troupe_error error = {0};
	char byte;
	signal(SIGCHLD, SIG_IGN);
	struct sandbox *sandbox = start(touch_nothing, NULL);
	cr_assert_eq(sandbox_receive(sandbox, &byte, 1, &error), TROUPE_EINTERNAL);
	cr_assert_str_eq(error.text, "ended, and other code took its exit status");
	sandbox_destroy(sandbox);
	sandbox = start(wait_for_ever, NULL);
	sandbox_destroy(sandbox);
}

/* No child stays, neither running nor ended, and no file stays open. */
Test(sandbox, leaves_nothing)
{
	int before = dup(0);
	close(before);
	for (int i = 0; i < 20; i++)
		sandbox_destroy(start(i % 2 ? run_for_ever : touch_nothing, NULL));
	cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1);
	cr_assert_eq(errno, ECHILD);
	int after = dup(0);
	cr_assert_eq(after, before);
	close(after);
}

/* --- what it may not do ------------------------------------------------------------------------------------------- */

enum { OPEN, OPEN_AGAIN, SOCKET, FORK, SIGNAL, EXECUTE, CHANGE_LIMIT, FILES, HANDLERS, FORBIDDEN };

static const char *const forbidden_names[FORBIDDEN] = {"open a file", "open /dev/null", "make a socket", "fork",
	"signal its parent", "make memory executable", "raise a limit", "keep a file", "keep a handler"};

static int code_of(bool failed)
{
	return failed ? errno : 0;
}

static void do_nothing(int number)
{
	(void)number;
}

static void try_all(int stream, void *ctx)
{
	int codes[FORBIDDEN] = {0};
	int kept = *(int *)ctx;
	struct rlimit limit = {1 << 10, 1 << 10};
	struct sigaction action;
	codes[OPEN] = code_of(open("/etc/passwd", O_RDONLY) < 0);
	codes[OPEN_AGAIN] = code_of(open("/dev/null", O_WRONLY) < 0);
	codes[SOCKET] = code_of(socket(AF_UNIX, SOCK_STREAM, 0) < 0);
	codes[FORK] = code_of(fork() < 0);
	codes[SIGNAL] = code_of(kill(getppid(), 0) < 0);
	codes[EXECUTE] = code_of(
		mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
	codes[CHANGE_LIMIT] = code_of(setrlimit(RLIMIT_NOFILE, &limit) < 0);
	codes[FILES] = code_of(write(kept, "x", 1) < 0);
	codes[HANDLERS] = !sigaction(SIGUSR1, NULL, &action) && action.sa_handler == do_nothing ? 0 : ENOENT;
	sandbox_give(stream, codes, sizeof codes);
}

Test(sandbox, rights)
{
	int codes[FORBIDDEN], pipes[2];
	signal(SIGUSR1, do_nothing);
	cr_assert_eq(pipe(pipes), 0);
	struct sandbox *sandbox = start(try_all, &pipes[1]);
	cr_assert_eq(sandbox_receive(sandbox, codes, sizeof codes, NULL), TROUPE_OK);
	bool filtered = has_filter();
	for (int i = 0; i < FORBIDDEN; i++)
		cr_assert(
			codes[i] || (!filtered && (i == SIGNAL || i == EXECUTE)), "a child can %s", forbidden_names[i]);
	sandbox_destroy(sandbox);
	close(pipes[0]);
	close(pipes[1]);
}

static void report_user(int stream, void *ctx)
{
	(void)ctx;
	uint32_t user = getuid(), code = (uint32_t)code_of(seteuid(0) < 0);
	sandbox_give(stream, &user, sizeof user);
	sandbox_give(stream, &code, sizeof code);
}

Test(sandbox, user)
{
	uint32_t user = 0, code = 0;
	struct sandbox *sandbox = start(report_user, NULL);
	cr_assert_eq(sandbox_receive(sandbox, &user, sizeof user, NULL), TROUPE_OK);
	cr_assert_eq(sandbox_receive(sandbox, &code, sizeof code, NULL), TROUPE_OK);
	cr_assert_neq(user, 0, "a child of root is root");
	cr_assert_eq(code, EPERM);
	sandbox_destroy(sandbox);
}
