/* Why a process of its own:
 *
 *  - A program must end with the run, and so must all that it has started, also when the run is killed. The kernel can
 *    kill a child when its parent dies, but not what the child has started. This process stays, sees its pipe close,
 * and ends them all. It gets a session of its own, so that signals to the run's process group do not reach it.
 *  - It is the parent of what its programs leave behind (PR_SET_CHILD_SUBREAPER): a daemon that left the process group
 *    of its program is found among its children.
 *  - If this process is killed itself, the kernel kills the programs. A person who kills all processes with the name of
 *    the command does not mean this one, so it gets a name and a command line of its own.
 *  - A flood of output costs this process's time, not that of a runner's thread, and a reader that has stopped to read
 *    stops this process at most: lines that cannot be written are left out.
 *  - It is forked early: a fork of the process that has the world would keep a copy of all memory that the run changes,
 *    and would inherit sockets and files.
 *
 * A program leads a process group. When it ends, the rest of its group is killed, while the program is not yet waited
 * for: until then no other group can get its number. */
#include "cli/keeper.h"

#include "base/clock.h"
#include "base/pack.h"
#include "base/sandbox.h"
#include "cli/cli.h"
#include "cli/program_lines.h"

#include <troupe/server.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	KEEPER_READ_BYTES = 1 << 16,
	KEEPER_TICK_MS = 10,
	STUCK_MS = 100,
	ORDERS_BYTES_MAX = 64 << 20,
	LIST_MAX = 1 << 16
};
#define MS_NS UINT64_C(1000000)

enum keeper_stage { RUNNING, GRACE, TERM, KILL };

struct program {
	char *name, *path, *folder;
	char **args, **variables; /* NULL-terminated; args[0] is the path */
	bool restarts;
	pid_t pid; /* also of its process group; 0: it does not run */
	int output;
	uint64_t tick_ns; /* when the present tick of reading began */
	uint32_t tick_bytes;
	uint64_t start_ns; /* when it is started again; 0: it is not */
	uint32_t restarted;
	struct program_lines lines;
};

struct keeper {
	struct program *programs;
	uint32_t count;
	int orders;
	bool loud, over_status;
	bool stuck; /* standard error took no line in time */
	enum keeper_stage stage;
	uint64_t due_ns; /* when the next stage begins */
	struct text line;
};

void keeper_pack(const struct keeper_order *orders, uint32_t count, struct text *out)
{
	struct text all = {0};
	pack_u64(&all, count);
	for (uint32_t i = 0; i < count; i++) {
		const struct keeper_order *order = &orders[i];
		pack_string(&all, order->name);
		pack_string(&all, order->path);
		pack_string(&all, order->folder);
		pack_u64(&all, order->restarts);
		for (uint32_t list = 0; list < 2; list++) {
			const char *const *words = list ? order->variables : order->args;
			uint64_t words_count = 0;
			while (words[words_count])
				words_count++;
			pack_u64(&all, words_count);
			for (uint64_t k = 0; k < words_count; k++)
				pack_string(&all, words[k]);
		}
	}
	pack_u64(out, all.count);
	text_add_bytes(out, all.at, all.count);
	text_fini(&all);
}

/* --- speaking ----------------------------------------------------------------------------------------------------- */

/* A pipe that can be written to has room for a line. A reader that has stopped is waited for once, and from then on no
 * more until it reads again. */
static bool keeper_put(void *ctx, const char *bytes, size_t count)
{
	struct keeper *keeper = ctx;
	struct pollfd out = {STDERR_FILENO, POLLOUT, 0};
	keeper->stuck = poll(&out, 1, keeper->stuck ? 0 : STUCK_MS) <= 0;
	if (keeper->stuck)
		return false;
	keeper->line.count = 0;
	text_add(&keeper->line, "%s", keeper->over_status ? "\r\033[K" : "");
	text_add_bytes(&keeper->line, bytes, count);
	return AGAIN(write(STDERR_FILENO, keeper->line.at, keeper->line.count)) > 0;
}

static void keeper_say(struct keeper *keeper, const struct program *program, const char *format, ...)
	TROUPE_PRINTF(3, 4);
static void keeper_say(struct keeper *keeper, const struct program *program, const char *format, ...)
{
	struct troupe_error what;
	struct text line = {0};
	va_list args;
	va_start(args, format);
	(void)fail_v(&what, TROUPE_EIO, format, args);
	va_end(args);
	text_add(&line, "troupe run: program '%s' %s\n", program->name, what.text);
	(void)keeper_put(keeper, line.at, line.count);
	text_fini(&line);
}

/* --- starting ----------------------------------------------------------------------------------------------------- */

void keeper_begin_child(pid_t parent)
{
	sigset_t none;
	sigemptyset(&none);
	for (int number = 1; number < NSIG; number++)
		(void)signal(number, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setpgid(0, 0);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) || getppid() != parent)
		_exit(CLI_BROKEN);
}

_Noreturn void keeper_fail_child(int trouble)
{
	int why = errno;
	(void)!write(trouble, &why, sizeof why);
	_exit(CLI_BROKEN);
}

static _Noreturn void keeper_become(const struct program *program, pid_t parent, int output, int trouble)
{
	keeper_begin_child(parent);
	for (char **variable = program->variables; *variable; variable++)
		(void)(strchr(*variable, '=') ? putenv(*variable) : unsetenv(*variable));
	if (dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0 && !chdir(program->folder))
		(void)execv(program->path, program->args);
	keeper_fail_child(trouble);
}

static void keeper_close_both(const int files[2])
{
	(void)close(files[0]);
	(void)close(files[1]);
}

/* 0 or the reason why it cannot be started. */
static int keeper_try_start(struct program *program)
{
	int output[2], trouble[2], why = 0;
	pid_t self = getpid();
	if (pipe2(output, O_CLOEXEC))
		return errno;
	if (pipe2(trouble, O_CLOEXEC)) {
		why = errno;
		keeper_close_both(output);
		return why;
	}
	pid_t pid = fork();
	if (!pid)
		keeper_become(program, self, output[1], trouble[1]);
	if (pid < 0)
		why = errno;
	(void)close(output[1]);
	(void)close(trouble[1]);
	if (pid > 0 && AGAIN(read(trouble[0], &why, sizeof why)) > 0)
		(void)AGAIN(waitpid(pid, NULL, 0));
	(void)close(trouble[0]);
	if (why) {
		(void)close(output[0]);
		return why;
	}
	(void)fcntl(output[0], F_SETFL, O_NONBLOCK);
	program->pid = pid;
	program->output = output[0];
	return 0;
}

static void keeper_start(struct keeper *keeper, struct program *program)
{
	program->start_ns = 0;
	int why = keeper_try_start(program);
	if (why)
		keeper_say(keeper, program, "cannot be started: %s: %s", program->path, strerror(why));
}

static void keeper_start_due(struct keeper *keeper, uint64_t now_ns)
{
	for (uint32_t i = 0; i < keeper->count; i++)
		if (keeper->programs[i].start_ns && keeper->programs[i].start_ns <= now_ns)
			keeper_start(keeper, &keeper->programs[i]);
}

/* --- what programs write ------------------------------------------------------------------------------------------ */

/* A program that writes without end waits for its pipe: in each tick KEEPER_READ_BYTES are read at most, and a bit
 * more. */
static bool keeper_has_read_enough(const struct program *program, uint64_t now_ns)
{
	return program->tick_bytes >= KEEPER_READ_BYTES && now_ns - program->tick_ns < KEEPER_TICK_MS * MS_NS;
}

/* Reads once; false: there is no more at present. */
static bool keeper_hear(struct program *program)
{
	static char bytes[KEEPER_READ_BYTES];
	ssize_t count = AGAIN(read(program->output, bytes, sizeof bytes));
	uint64_t now_ns = clock_now_ns();
	if (count > 0)
		program_lines_take(&program->lines, bytes, (size_t)count, now_ns);
	if (now_ns - program->tick_ns >= KEEPER_TICK_MS * MS_NS) {
		program->tick_ns = now_ns;
		program->tick_bytes = 0;
	}
	program->tick_bytes += (uint32_t)MAX(count, 0);
	if (!count) { /* closed: all that is left is its end */
		(void)close(program->output);
		program->output = -1;
	}
	return count > 0;
}

static void keeper_hear_last(struct program *program)
{
	enum { PIPE_FULLS_MAX = 16 };
	for (int i = 0; i < PIPE_FULLS_MAX && program->output >= 0 && keeper_hear(program); i++)
		;
	if (program->output >= 0)
		(void)close(program->output);
	program->output = -1;
	program_lines_end(&program->lines, clock_now_ns());
}

/* --- ends of programs --------------------------------------------------------------------------------------------- */

static void keeper_ended(struct keeper *keeper, struct program *program, int status)
{
	char how[120], next[80] = "";
	bool failed = status != 0;
	program->pid = 0;
	keeper_hear_last(program);
	if (WIFSIGNALED(status))
		(void)snprintf(
			how, sizeof how, "was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		(void)snprintf(how, sizeof how, "ended with status %d", WEXITSTATUS(status));
	if (keeper->stage == RUNNING && failed && program->restarts) {
		if (program->restarted++ < KEEPER_RESTARTS_MAX) {
			program->start_ns = clock_now_ns() + KEEPER_RESTART_MS * MS_NS;
			(void)snprintf(next, sizeof next, ": it is started again (%u of %d)", program->restarted,
				KEEPER_RESTARTS_MAX);
		} else {
			(void)snprintf(next, sizeof next, ": it was started again %d times, and is not any more",
				KEEPER_RESTARTS_MAX);
		}
	}
	if (keeper->loud && (keeper->stage == RUNNING || (keeper->stage == GRACE && failed)))
		keeper_say(keeper, program, "%s%s", how, next);
}

static struct program *keeper_find(const struct keeper *keeper, pid_t pid)
{
	for (uint32_t i = 0; i < keeper->count; i++)
		if (keeper->programs[i].pid == pid)
			return &keeper->programs[i];
	return NULL;
}

/* False: there is no child any more. */
static bool keeper_reap(struct keeper *keeper)
{
	for (;;) {
		siginfo_t info = {0};
		int status = 0;
		if (AGAIN(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT)))
			return false;
		if (!info.si_pid)
			return true;
		struct program *program = keeper_find(keeper, info.si_pid);
		if (program)
			(void)kill(-info.si_pid, SIGKILL); /* what it has started */
		(void)AGAIN(waitpid(info.si_pid, &status, 0));
		if (program)
			keeper_ended(keeper, program, status);
	}
}

/* --- the end of the run ------------------------------------------------------------------------------------------- */

/* Children that are not programs: their programs are gone. */
static void keeper_signal_strays(const struct keeper *keeper, int number)
{
	char path[64], list[LIST_MAX + 1];
	(void)snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t count = file < 0 ? 0 : AGAIN(read(file, list, LIST_MAX));
	if (file >= 0)
		(void)close(file);
	list[MAX(count, 0)] = '\0';
	char *at = list;
	for (long pid; (pid = strtol(at, &at, 10)) > 0 && *at == ' ';)
		if (!keeper_find(keeper, (pid_t)pid))
			(void)kill((pid_t)pid, number);
}

static void keeper_signal_all(const struct keeper *keeper, int number)
{
	for (uint32_t i = 0; i < keeper->count; i++)
		if (keeper->programs[i].pid)
			(void)kill(-keeper->programs[i].pid, number);
	keeper_signal_strays(keeper, number);
}

static void keeper_begin(struct keeper *keeper, enum keeper_stage stage, uint32_t ms)
{
	keeper->stage = stage;
	keeper->due_ns = clock_now_ns() + ms * MS_NS;
}

static void keeper_begin_end(struct keeper *keeper)
{
	for (uint32_t i = 0; i < keeper->count; i++)
		keeper->programs[i].start_ns = 0;
	keeper_begin(keeper, GRACE, KEEPER_GRACE_MS);
}

static void keeper_name_those_left(struct keeper *keeper)
{
	for (uint32_t i = 0; i < keeper->count; i++)
		if (keeper->programs[i].pid && keeper->loud)
			keeper_say(keeper, &keeper->programs[i], "did not end within %d s of SIGTERM: killed",
				KEEPER_TERM_MS / 1000);
}

/* False: all is over. */
static bool keeper_go_on_ending(struct keeper *keeper, uint64_t now_ns)
{
	bool due = now_ns >= keeper->due_ns;
	if (keeper->stage == GRACE && due) {
		keeper_begin(keeper, TERM, KEEPER_TERM_MS);
		keeper_signal_all(keeper, SIGTERM);
	} else if (keeper->stage == TERM && due) {
		keeper_name_those_left(keeper);
		keeper_begin(keeper, KILL, KEEPER_KILL_MS);
	} else if (keeper->stage == KILL && due) {
		return false; /* a process that cannot be killed now */
	}
	if (keeper->stage == KILL) /* again: children of a killed process become children of this process */
		keeper_signal_all(keeper, SIGKILL);
	return true;
}

/* --- waiting ------------------------------------------------------------------------------------------------------ */

static int keeper_wait_ms(const struct keeper *keeper, uint64_t now_ns)
{
	if (keeper->stage != RUNNING)
		return KEEPER_TICK_MS;
	uint64_t next_ns = UINT64_MAX;
	for (uint32_t i = 0; i < keeper->count; i++) {
		const struct program *program = &keeper->programs[i];
		if (program->start_ns)
			next_ns = MIN(next_ns, program->start_ns);
		if (program->pid && keeper_has_read_enough(program, now_ns))
			next_ns = MIN(next_ns, program->tick_ns + KEEPER_TICK_MS * MS_NS);
	}
	if (next_ns == UINT64_MAX)
		return -1;
	return next_ns <= now_ns ? 0 : (int)((next_ns - now_ns) / MS_NS) + 1;
}

/* Waits until a program writes or ends, a start is due, or the pipe of orders is closed. */
static void keeper_wait_for_any(struct keeper *keeper, struct pollfd *files)
{
	sigset_t none;
	sigemptyset(&none); /* SIGCHLD comes only here */
	uint64_t now_ns = clock_now_ns();
	int ms = keeper_wait_ms(keeper, now_ns);
	struct timespec limit = {ms / 1000, ms % 1000 * 1000000L};
	files[0] = (struct pollfd){keeper->stage == RUNNING ? keeper->orders : -1, POLLIN, 0};
	for (uint32_t i = 0; i < keeper->count; i++) {
		const struct program *program = &keeper->programs[i];
		bool listen = program->pid && !keeper_has_read_enough(program, now_ns);
		files[i + 1] = (struct pollfd){listen ? program->output : -1, POLLIN, 0};
	}
	if (ppoll(files, keeper->count + 1, ms < 0 ? NULL : &limit, &none) <= 0)
		return;
	for (uint32_t i = 0; i < keeper->count; i++)
		if (files[i + 1].revents)
			(void)keeper_hear(&keeper->programs[i]);
	char byte;
	if (files[0].revents && AGAIN(read(keeper->orders, &byte, 1)) <= 0)
		keeper_begin_end(keeper);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static char **keeper_unpack_words(struct unpack *in, uint32_t max, char *first)
{
	uint32_t count = unpack_count(in, max), own = first != NULL;
	char **words = mem_alloc((count + own + 1) * sizeof *words);
	if (own)
		words[0] = first;
	for (uint32_t i = 0; i < count; i++)
		words[own + i] = unpack_string(in);
	return words;
}

/* False: there will be no run. */
static bool keeper_take_orders(struct keeper *keeper)
{
	char head[8];
	if (!sandbox_take(keeper->orders, head, sizeof head))
		return false;
	uint64_t bytes = unpack_u64(&(struct unpack){head, head + sizeof head, false});
	char *all = mem_alloc(MIN(bytes, (uint64_t)ORDERS_BYTES_MAX) + 1);
	if (bytes > ORDERS_BYTES_MAX || !sandbox_take(keeper->orders, all, bytes))
		return false;
	struct unpack in = {all, all + bytes, false};
	keeper->count = unpack_count(&in, TROUPE_PROGRAMS_MAX);
	keeper->programs = mem_alloc(MAX(keeper->count, 1u) * sizeof *keeper->programs);
	for (uint32_t i = 0; i < keeper->count; i++) {
		struct program *program = &keeper->programs[i];
		*program = (struct program){.output = -1};
		program->name = unpack_string(&in);
		program->path = unpack_string(&in);
		program->folder = unpack_string(&in);
		program->restarts = unpack_count(&in, 1);
		program->args = keeper_unpack_words(&in, TROUPE_PROGRAM_ARGS_MAX, program->path);
		program->variables = keeper_unpack_words(&in, KEEPER_VARIABLES_MAX, NULL);
		program->lines = (struct program_lines){.name = program->name, .put = keeper_put, .ctx = keeper};
	}
	free(all);
	return !in.bad;
}

static void keeper_on_child(int number)
{
	(void)number;
}

static void keeper_set_signals(void)
{
	static const int ignored[] = {SIGINT, SIGHUP, SIGTERM, SIGPIPE, SIGALRM, SIGTSTP, SIGUSR1, SIGUSR2};
	struct sigaction action = {.sa_handler = keeper_on_child};
	sigset_t child;
	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
	(void)sigaction(SIGCHLD, &action, NULL);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	(void)sigprocmask(SIG_SETMASK, &child, NULL);
}

/* The words of the command line stand one after the other, and there are as many bytes of them as /proc says. */
static void keeper_take_name(void)
{
	static const char name[] = "keeper of programs";
	char words[4096];
	int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t count = file < 0 ? 0 : AGAIN(read(file, words, sizeof words));
	if (file >= 0)
		(void)close(file);
	if (count > 1 && !memcmp(words, program_invocation_name, (size_t)count)) {
		memset(program_invocation_name, 0, (size_t)count);
		memcpy(program_invocation_name, name, MIN(sizeof name, (size_t)count) - 1);
	}
	(void)prctl(PR_SET_NAME, "keeper", 0, 0, 0);
}

_Noreturn void keeper_run(int orders, bool loud, bool over_status)
{
	struct keeper keeper = {.orders = orders, .loud = loud, .over_status = over_status};
	keeper_set_signals();
	keeper_take_name();
	(void)setsid();
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (!keeper_take_orders(&keeper))
		_exit(0);
	struct pollfd *files = mem_alloc((keeper.count + 1) * sizeof *files);
	for (uint32_t i = 0; i < keeper.count; i++)
		keeper_start(&keeper, &keeper.programs[i]);
	for (;;) {
		bool children = keeper_reap(&keeper);
		if (keeper.stage != RUNNING && (!children || !keeper_go_on_ending(&keeper, clock_now_ns())))
			_exit(0);
		keeper_start_due(&keeper, clock_now_ns());
		keeper_wait_for_any(&keeper, files);
	}
}
