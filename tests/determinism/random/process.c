/* A run ends when a pipe ends that the process and its children inherit, so that children that outlive the process
 * count as hanging. Output goes to files in memory: it can be of any length, and no process has to read it
 * meanwhile. */
#include "process.h"

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

static bool ends_in_time(int life, double limit_s)
{
	struct pollfd end = {.fd = life, .events = POLLIN};
	int ready;
	do
		ready = poll(&end, 1, (int)(limit_s * 1000));
	while (ready < 0 && errno == EINTR);
	return ready > 0;
}

void process_run(const char *const *argv, const char *folder, double limit_s, struct process *ret)
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
	bool ended = ends_in_time(life[0], limit_s);
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
