/* A run ends when a pipe ends that the process and its children inherit, so that children that outlive the process
 * count as hanging. Output goes to files in memory: it can be of any length, and no process has to read it
 * meanwhile. */
#include "process.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static int output_file(void)
{
	int file = memfd_create("output", MFD_CLOEXEC);
	if (file < 0)
		die("memfd_create");
	return file;
}

static char *take(int file)
{
	off_t count = lseek(file, 0, SEEK_END);
	char *text = mem_alloc((size_t)count + 1);
	ssize_t got = pread(file, text, (size_t)count, 0);
	if (got != count)
		die("output");
	close(file);
	return text;
}

static void become(const char *const *argv, const char *folder, int out, int err, int life)
{
	int nothing = open("/dev/null", O_RDONLY);
	struct rlimit no_core = {0, 0};
	setpgid(0, 0);
	setrlimit(RLIMIT_CORE, &no_core);
	dup2(nothing, 0);
	dup2(out, 1);
	dup2(err, 2);
	fcntl(life, F_SETFD, 0);
	if (chdir(folder))
		_exit(126);
	execvp(argv[0], (char *const *)(uintptr_t)argv);
	_exit(127);
}

/* Whether the pipe ends within this time. */
static bool ends_within(int life, int limit_ms)
{
	struct pollfd end = {.fd = life, .events = POLLIN};
	int ready;
	do
		ready = poll(&end, 1, limit_ms);
	while (ready < 0 && errno == EINTR);
	return ready > 0;
}

/* --- a strike ----------------------------------------------------------------------------------------------------- */

/* A child of the process; 0: it has none. */
static pid_t process_child(pid_t process, uint32_t which)
{
	char path[64], list[4096];
	pid_t children[256];
	uint32_t count = 0;
	(void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)process, (int)process);
	FILE *file = fopen(path, "r");
	size_t bytes = file ? fread(list, 1, sizeof list - 1, file) : 0;
	if (file)
		(void)fclose(file);
	list[bytes] = '\0';
	for (char *at = list, *end; count < 256; at = end) {
		long number = strtol(at, &end, 10);
		if (end == at)
			break;
		children[count++] = (pid_t)number;
	}
	return count ? children[which % count] : 0;
}

static void process_hit(pid_t process, const struct process_strike *strike)
{
	pid_t child = process_child(process, strike->child);
	if (strike->blow == PROCESS_IS_TOLD_TO_STOP)
		(void)kill(process, SIGTERM);
	else if (child)
		(void)kill(child, SIGKILL);
}

/* Counts the lines of a file from *at on, which is moved to the end of the last whole line. */
static uint64_t process_count(int file, off_t *at, const char *begin)
{
	char bytes[1 << 16];
	uint64_t lines = 0;
	size_t length = strlen(begin);
	for (ssize_t count; (count = pread(file, bytes, sizeof bytes - 1, *at)) > 0;) {
		bytes[count] = '\0';
		char *line = bytes, *end;
		for (; (end = memchr(line, '\n', (size_t)(bytes + count - line))); line = end + 1)
			lines += !strncmp(line, begin, length);
		if (line == bytes)
			break;
		*at += line - bytes;
	}
	return lines;
}

/* Waits for the end, and strikes once. False: the time is up. */
static bool ends_in_time(pid_t process, int life, int out, double limit_s, const struct process_strike *strike)
{
	uint64_t lines = 0, end_ns = clock_now_ns() + (uint64_t)(limit_s * 1e9);
	off_t at = 0;
	while (strike && lines < strike->lines && clock_now_ns() < end_ns) {
		if (ends_within(life, 1))
			return true;
		lines += process_count(out, &at, strike->line);
		if (lines >= strike->lines)
			process_hit(process, strike);
	}
	uint64_t now_ns = clock_now_ns();
	return ends_within(life, now_ns < end_ns ? (int)((end_ns - now_ns) / 1000000) : 0);
}

/* --- a run -------------------------------------------------------------------------------------------------------- */

void process_run(const char *const *argv, const char *folder, double limit_s, const struct process_strike *strike,
	struct process *ret)
{
	int out = output_file(), err = output_file(), life[2], status;
	struct rusage usage;
	if (pipe2(life, O_CLOEXEC))
		die("pipe");
	fflush(NULL);
	pid_t child = fork();
	if (child < 0)
		die("fork");
	if (!child)
		become(argv, folder, out, err, life[1]);
	setpgid(child, child);
	close(life[1]);
	bool ended = ends_in_time(child, life[0], out, limit_s, strike);
	if (!ended)
		kill(-child, SIGKILL);
	while (wait4(child, &status, 0, &usage) < 0)
		if (errno != EINTR)
			die("wait4");
	close(life[0]);
	*ret = (struct process){.out = take(out), .err = take(err)};
	ret->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (!ended)
		ret->status = PROCESS_HANGS;
	ret->cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		     (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
	if (ret->status == 126 || ret->status == 127)
		die(argv[0]);
}

void process_fini(struct process *process)
{
	free(process->out);
	free(process->err);
	*process = (struct process){0};
}

void process_words(const char *line, char **ret_copy, word_list *words)
{
	char *save, *copy = mem_strdup(line);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		vec_push(words, word);
	vec_push(words, NULL);
	*ret_copy = copy;
}
