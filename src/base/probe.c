/* A fork of the process, and a pipe for the answer. The C library repairs its own locks in the child (allocator,
 * loader, streams); a lock of other code that another thread held stays locked there, and then the child reaches its
 * limit of time, which is an error with its own words and does no harm to this process. */
#include "base/probe.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- the child ---------------------------------------------------------------------------------------------------- */

static void probe_drop_handlers(void)
{
	sigset_t none;
	for (int number = 1; number < NSIG; number++) {
		struct sigaction action = {.sa_handler = number == SIGPIPE ? SIG_IGN : SIG_DFL};
		(void)sigaction(number, &action, NULL); /* two signals cannot be set */
	}
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* A pipe without a reader takes what the child prints. */
static void probe_mute(void)
{
	int nowhere[2];
	if (pipe2(nowhere, O_CLOEXEC))
		return;
	(void)close(nowhere[0]);
	(void)dup2(nowhere[1], STDOUT_FILENO);
	(void)dup2(nowhere[1], STDERR_FILENO);
}

static void probe_be_child(int to, probe_fn *work, void *ctx)
{
	struct rlimit none = {0, 0};
	struct text answer = {0};
	probe_drop_handlers();
	probe_mute();
	(void)setrlimit(RLIMIT_CORE, &none);
	work(ctx, &answer);
	size_t count = MIN(answer.count, (size_t)PROBE_ANSWER_MAX);
	if (write(to, &count, sizeof count) == sizeof count && count)
		(void)!write(to, answer.at, count);
	_exit(0);
}

/* --- the parent --------------------------------------------------------------------------------------------------- */

/* All bytes before the time, or false. */
static bool probe_receive(int from, void *bytes, size_t count, uint64_t until_ns)
{
	char *at = bytes;
	while (count) {
		uint64_t now = clock_now_ns();
		struct pollfd fd = {.fd = from, .events = POLLIN};
		int ready = now < until_ns ? poll(&fd, 1, (int)((until_ns - now) / 1000000 + 1)) : 0;
		if (ready < 0 && errno == EINTR)
			continue;
		ssize_t got = ready > 0 ? read(from, at, count) : 0;
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		count -= (size_t)got;
	}
	return true;
}

static troupe_status probe_say_end(int status, bool known, bool late, uint32_t limit_ms, struct troupe_error *error)
{
	if (late)
		return fail(error, TROUPE_EINTERNAL, "it has not returned after %g s", limit_ms * 1e-3);
	if (known && WIFSIGNALED(status))
		return fail(error, TROUPE_EINTERNAL, "it crashes (%s)", strsignal(WTERMSIG(status)));
	if (known && WIFEXITED(status))
		return fail(error, TROUPE_EINTERNAL, "it ends the process with status %d", WEXITSTATUS(status));
	return fail(error, TROUPE_EINTERNAL, "it ends the process");
}

static troupe_status probe_hear(pid_t pid, int from, uint32_t limit_ms, struct text *answer, struct troupe_error *error)
{
	uint64_t until = clock_now_ns() + limit_ms * UINT64_C(1000000);
	char bytes[PROBE_ANSWER_MAX];
	size_t count = 0;
	bool heard = probe_receive(from, &count, sizeof count, until) && count <= sizeof bytes &&
		     probe_receive(from, bytes, count, until);
	bool late = !heard && clock_now_ns() >= until;
	int status = 0;
	if (heard || late)
		(void)kill(pid, SIGKILL); /* it may have threads that go on */
	bool known = AGAIN(waitpid(pid, &status, 0)) == pid;
	if (!heard)
		return probe_say_end(status, known, late, limit_ms, error);
	text_add_bytes(answer, bytes, count);
	return TROUPE_OK;
}

troupe_status probe_run(probe_fn *work, void *ctx, uint32_t limit_ms, struct text *answer, struct troupe_error *error)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC))
		return fail(error, TROUPE_ELIMIT, "cannot make a pipe: %s", strerror(errno));
	pid_t pid = fork();
	if (!pid) {
		(void)close(ends[0]);
		probe_be_child(ends[1], work, ctx);
	}
	int code = errno;
	(void)close(ends[1]);
	troupe_status status = pid < 0 ? fail(error, TROUPE_ELIMIT, "cannot start a process: %s", strerror(code))
				       : probe_hear(pid, ends[0], limit_ms, answer, error);
	(void)close(ends[0]);
	return status;
}

static _Noreturn void probe_be_whole_child(int to, pid_t parent, probe_whole_fn *work, void *ctx)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(0);
	int value = work(ctx);
	(void)!write(to, &value, sizeof value);
	_exit(0);
}

static void probe_die_by(int number)
{
	struct rlimit none = {0, 0};
	(void)setrlimit(RLIMIT_CORE, &none); /* the child has left a core, if one was wanted */
	(void)signal(number, SIG_DFL);
	(void)raise(number);
}

troupe_status probe_run_whole(probe_whole_fn *work, void *ctx, int *ret_value, struct troupe_error *error)
{
	int ends[2], value, status = 0;
	pid_t parent = getpid();
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return fail(error, TROUPE_ELIMIT, "cannot make a pipe: %s", strerror(errno));
	pid_t pid = fork();
	if (!pid) {
		(void)close(ends[0]);
		probe_be_whole_child(ends[1], parent, work, ctx);
	}
	int code = errno;
	bool known = pid > 0 && AGAIN(waitpid(pid, &status, 0)) == pid;
	bool heard = read(ends[0], &value, sizeof value) == sizeof value;
	(void)close(ends[0]);
	(void)close(ends[1]);
	if (pid < 0)
		return fail(error, TROUPE_ELIMIT, "cannot start a process: %s", strerror(code));
	if (known && WIFSIGNALED(status))
		probe_die_by(WTERMSIG(status));
	if (!heard)
		return probe_say_end(status, known, false, 0, error);
	*ret_value = value;
	return TROUPE_OK;
}
