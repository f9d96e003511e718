/* The program gets its arguments as a list, without a shell, and leads a process group, so that all that it has started
 * ends with it: when it has ended, when it takes too long, and (by the kernel) when this process is killed. Its output
 * and its errors are read in turn as they come, because a program whose pipe is full does not go on. */
#include "cli/xacro.h"

#include "base/clock.h"
#include "base/infile.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "xacro"
enum { XACRO_READ_BYTES = 1 << 16, ERRORS_BYTES_MAX = 1 << 16, XACRO_TICK_MS = 20, DRAIN_MAX = 32 };

enum pipe { OUTPUT, ERRORS, TROUBLE, PIPES };

struct xacro_child {
	pid_t pid;
	int from[PIPES];
	struct text output, errors;
	int why;            /* errno of the exec; 0: it has worked */
	bool late, flooded; /* the limits that it has passed */
	bool ended;
	int status; /* of waitpid() */
};

/* --- which files -------------------------------------------------------------------------------------------------- */

static bool xacro_is_named(const char *path)
{
	size_t length = strlen(path), ending = strlen(".xacro");
	return length > ending && !strcmp(path + length - ending, ".xacro");
}

/* A file with another name is a xacro file if it has an element of xacro. */
static bool xacro_is_macro(const char *path)
{
	struct stat info;
	char *text;
	size_t bytes;
	if (xacro_is_named(path))
		return true;
	if (stat(path, &info) || !S_ISREG(info.st_mode) || /* a pipe can be read only once */
		infile_read(path, XACRO_BYTES_MAX, &text, &bytes, NULL))
		return false; /* the loader says why */
	bool found = strstr(text, "<xacro:");
	free(text);
	return found;
}

static troupe_status xacro_check_arguments(const struct option_list *arguments, struct troupe_error *error)
{
	for (uint32_t i = 0; i < arguments->count; i++) {
		const char *text = arguments->at[i], *sign = strstr(text, ":=");
		if (!sign || sign == text || *text == '-')
			return fail(error, TROUPE_EINVAL, "--xacro-arg: '%.80s': expected NAME:=VALUE", text);
	}
	return TROUPE_OK;
}

/* --- the child ---------------------------------------------------------------------------------------------------- */

static _Noreturn void xacro_become(char **words, pid_t parent, const int to[PIPES])
{
	int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	keeper_begin_child(parent);
	if (dup2(input, STDIN_FILENO) >= 0 && dup2(to[OUTPUT], STDOUT_FILENO) >= 0 &&
		dup2(to[ERRORS], STDERR_FILENO) >= 0)
		(void)execvp(words[0], words);
	keeper_fail_child(to[TROUBLE]);
}

static void xacro_close(const int ends[PIPES])
{
	for (int i = 0; i < PIPES; i++)
		if (ends[i] >= 0)
			(void)close(ends[i]);
}

static troupe_status xacro_start(char **words, struct xacro_child *child, struct troupe_error *error)
{
	int to[PIPES] = {-1, -1, -1}, ends[2];
	pid_t parent = getpid();
	for (int i = 0; i < PIPES; i++)
		child->from[i] = -1;
	for (int i = 0; i < PIPES && !pipe2(ends, O_CLOEXEC); i++) {
		child->from[i] = ends[0];
		to[i] = ends[1];
	}
	child->pid = to[PIPES - 1] >= 0 ? fork() : -1;
	if (!child->pid)
		xacro_become(words, parent, to);
	int why = errno;
	xacro_close(to);
	if (child->pid > 0)
		return TROUPE_OK;
	xacro_close(child->from);
	return fail(error, TROUPE_ELIMIT, PROGRAM ": cannot start a process: %s", strerror(why));
}

/* Reads what has come. False: nothing has, or the pipe is closed. */
static bool xacro_read(struct xacro_child *child, enum pipe pipe)
{
	char bytes[XACRO_READ_BYTES];
	struct text *to = pipe == OUTPUT ? &child->output : &child->errors;
	size_t bytes_max = pipe == OUTPUT ? XACRO_BYTES_MAX : ERRORS_BYTES_MAX;
	struct pollfd from = {.fd = child->from[pipe], .events = POLLIN};
	ssize_t count = poll(&from, 1, 0) > 0 ? AGAIN(read(from.fd, bytes, sizeof bytes)) : -1;
	if (count == 0) {
		(void)close(from.fd);
		child->from[pipe] = -1;
	}
	if (count <= 0)
		return false;
	if (pipe == TROUBLE) {
		memcpy(&child->why, bytes, MIN(sizeof child->why, (size_t)count));
		return true;
	}
	child->flooded |= pipe == OUTPUT && to->count + (size_t)count > bytes_max;
	text_add_bytes(to, bytes, MIN((size_t)count, bytes_max - to->count));
	return true;
}

/* Waits until something has come, for a moment at most. A program that never stops to write does not hold it. */
static void xacro_listen(struct xacro_child *child)
{
	struct pollfd all[PIPES];
	for (int i = 0; i < PIPES; i++)
		all[i] = (struct pollfd){.fd = child->from[i], .events = POLLIN}; /* -1 is ignored */
	(void)poll(all, PIPES, XACRO_TICK_MS);
	for (enum pipe i = OUTPUT; i < PIPES; i++)
		if (all[i].revents)
			(void)xacro_read(child, i);
}

/* Reads what the pipes hold when the program has ended. */
static void xacro_drain(struct xacro_child *child)
{
	for (enum pipe i = OUTPUT; i < PIPES; i++)
		for (int reads = 0; reads < DRAIN_MAX && child->from[i] >= 0 && xacro_read(child, i); reads++)
			;
}

/* The end of the program counts, not that of its pipes: something that it has started may hold them. */
static void xacro_follow(struct xacro_child *child)
{
	uint64_t end_ns = clock_now_ns() + XACRO_LIMIT_S * UINT64_C(1000000000);
	siginfo_t info = {0};
	while (!child->late && !child->flooded && !child->ended) {
		info.si_pid = 0;
		/* it stays a zombie, so that its group keeps its number until the others in it are killed */
		child->ended = !waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid;
		xacro_listen(child);
		child->late = !child->ended && clock_now_ns() > end_ns;
	}
	if (child->ended)
		xacro_drain(child);
	(void)kill(-child->pid, SIGKILL);
	(void)kill(child->pid, SIGKILL); /* it may not lead a group yet */
	(void)AGAIN(waitpid(child->pid, &child->status, 0));
	xacro_close(child->from);
}

/* --- the outcome -------------------------------------------------------------------------------------------------- */

/* Shows what it has said, line by line; returns the last line that says something, or NULL. */
static const char *xacro_show_errors(struct xacro_child *child, const char *command)
{
	const char *last = NULL;
	uint32_t lines = 0;
	char *rest = child->errors.at;
	for (char *line; rest && (line = strsep(&rest, "\n"));) {
		if (!line[strspn(line, " \t\r")])
			continue;
		last = line;
		if (lines++ < XACRO_LINES_MAX)
			cli_complain(command, PROGRAM ": %s", line);
	}
	if (lines > XACRO_LINES_MAX)
		cli_complain(command, PROGRAM ": %u lines more", lines - XACRO_LINES_MAX);
	return last;
}

static troupe_status xacro_judge(
	const struct xacro_child *child, const char *path, const char *last, struct troupe_error *error)
{
	const char *said = last ? last : "";
	if (child->why == ENOENT)
		return fail(error, TROUPE_EIO,
			"--xacro: no program " PROGRAM " in PATH: expected that of ROS (its setup.bash puts it there)");
	if (child->why)
		return fail(error, TROUPE_EIO, "--xacro: cannot start " PROGRAM ": %s", strerror(child->why));
	if (child->late)
		return fail(error, TROUPE_ELIMIT, "%.200s: " PROGRAM " has not ended after %d s", path, XACRO_LIMIT_S);
	if (child->flooded)
		return fail(error, TROUPE_ELIMIT,
			"%.200s: " PROGRAM " writes more than %d MiB: expected a robot or a world", path,
			XACRO_BYTES_MAX >> 20);
	if (WIFSIGNALED(child->status))
		return fail(error, TROUPE_EWORLD, "%.200s: " PROGRAM " has crashed (%s)", path,
			strsignal(WTERMSIG(child->status)));
	if (WEXITSTATUS(child->status))
		return fail(error, TROUPE_EWORLD, "%.200s: " PROGRAM " has failed with status %d%s%.300s", path,
			WEXITSTATUS(child->status), last ? ": " : "", said);
	if (!child->output.count || memchr(child->output.at, 0, child->output.count))
		return fail(error, TROUPE_EWORLD, "%.200s: " PROGRAM " has written %s: expected a robot or a world",
			path, child->output.count ? "a zero byte" : "nothing");
	return TROUPE_OK;
}

static troupe_status xacro_run(const struct xacro_settings *settings, const char *command, const char *path,
	struct arena *arena, const char **ret_text, struct troupe_error *error)
{
	char *words[OPTION_LIST_MAX + 3] = {mem_strdup(PROGRAM)};
	struct xacro_child child = {0};
	uint32_t count = 1;
	words[count++] = mem_printf("%s%s", *path == '-' ? "./" : "", path); /* no option of xacro */
	for (uint32_t i = 0; i < settings->arguments.count; i++)
		words[count++] = mem_strdup(settings->arguments.at[i]);
	troupe_status status = xacro_start(words, &child, error);
	if (!status) {
		xacro_follow(&child);
		status = xacro_judge(&child, path, xacro_show_errors(&child, command), error);
	}
	if (!status)
		*ret_text = arena_strdup(arena, child.output.at);
	text_fini(&child.output);
	text_fini(&child.errors);
	for (uint32_t i = 0; i < count; i++)
		free(words[i]);
	return status;
}

bool xacro_expand(const struct xacro_settings *settings, const char *command, const char *world,
	const char *const *resource_paths, struct arena *arena, const char **ret_path, const char **ret_text,
	int *ret_exit)
{
	const struct sdf_options options = {.resource_paths = resource_paths, .use_environment = true};
	struct troupe_error error;
	*ret_path = world;
	*ret_text = NULL;
	if (!settings->expand)
		return true;
	if (xacro_check_arguments(&settings->arguments, &error)) {
		cli_complain(command, "%s; see troupe %s --help", error.text, command);
		*ret_exit = CLI_BAD_USAGE;
		return false;
	}
	char *found = sdf_find_file(world, ".sdf", &options);
	bool is_macro = found && xacro_is_macro(found);
	if (is_macro)
		*ret_path = arena_strdup(arena, found);
	free(found);
	if (!is_macro || !xacro_run(settings, command, *ret_path, arena, ret_text, &error))
		return true;
	cli_complain(command, "%s", error.text);
	*ret_exit = cli_exit_status(error.status);
	return false;
}
