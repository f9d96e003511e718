/* A world may come from anywhere, and a program can do all that the user can. So programs are started only when
 * --programs says so, by the process that was given the world itself: a world that a primary sends, and a model that is
 * created while the world runs, start none.
 *
 * A program works in the folder of the SDF file that names it, so that its arguments can name files beside that file:
 * the world is the same from wherever it is run. */
#include "cli/programs.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/sandbox.h"
#include "cli/keeper.h"
#include "cli/status.h"

#include <troupe/server.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	PROGRAMS_END_MS = KEEPER_GRACE_MS + KEEPER_TERM_MS + KEEPER_KILL_MS + 1000,
	PROGRAMS_LOOK_MS = 2,
	PROGRAMS_NAMES_MAX = 8
};
#define MS_NS UINT64_C(1000000)
#define USUAL_PATH "/usr/local/bin:/usr/bin:/bin"

struct programs_found { /* one program */
	char *path, *folder;
};

struct programs {
	pid_t keeper;
	int orders; /* writing end of the keeper's pipe; -1: closed */
	VEC(struct programs_found) found;
};

/* --- the keeper --------------------------------------------------------------------------------------------------- */

/* In the new process: only the pipe and standard error stay open, so that no reader of the command's standard
 * output, or writes to its standard input, waits for the keeper. */
static _Noreturn void programs_become_keeper(int orders, bool loud)
{
	struct status_line line;
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	status_init(&line, loud ? STDERR_FILENO : -1);
	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		_exit(1);
	if (orders != STDERR_FILENO + 1 && dup2(orders, STDERR_FILENO + 1) < 0)
		_exit(1);
	orders = STDERR_FILENO + 1;
	(void)fcntl(orders, F_SETFD, FD_CLOEXEC);
	sandbox_close_from((unsigned)orders + 1);
	keeper_run(orders, loud, line.file >= 0);
}

troupe_status programs_create(bool loud, struct programs **ret_programs, struct troupe_error *error)
{
	int ends[2];
	sigset_t all, before;
	if (pipe2(ends, O_CLOEXEC))
		return fail(error, TROUPE_ELIMIT, "--programs: cannot make a pipe: %s", strerror(errno));
	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before); /* no handler of this process runs in the keeper */
	pid_t pid = fork();
	int why = errno;
	if (!pid)
		programs_become_keeper(ends[0], loud);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	(void)close(ends[0]);
	if (pid < 0) {
		(void)close(ends[1]);
		return fail(error, TROUPE_ELIMIT, "--programs: cannot start a process: %s", strerror(why));
	}
	*ret_programs = mem_alloc(sizeof **ret_programs);
	**ret_programs = (struct programs){.keeper = pid, .orders = ends[1]};
	return TROUPE_OK;
}

void programs_stop(struct programs *programs)
{
	if (!programs || programs->orders < 0)
		return;
	(void)close(programs->orders);
	programs->orders = -1;
}

/* The keeper bounds its time itself; should it be stopped, the kernel kills the programs with it. */
static void programs_await_end(pid_t pid)
{
	uint64_t limit_ns = clock_now_ns() + PROGRAMS_END_MS * MS_NS;
	while (!AGAIN(waitpid(pid, NULL, WNOHANG))) {
		if (clock_now_ns() > limit_ns) {
			(void)kill(pid, SIGKILL);
			limit_ns = UINT64_MAX;
		}
		clock_sleep_until_ns(clock_now_ns() + PROGRAMS_LOOK_MS * MS_NS);
	}
}

void programs_destroy(struct programs *programs)
{
	if (!programs)
		return;
	programs_stop(programs);
	programs_await_end(programs->keeper);
	for (uint32_t i = 0; i < programs->found.count; i++) {
		free(programs->found.at[i].path);
		free(programs->found.at[i].folder);
	}
	vec_free(&programs->found);
	free(programs);
}

/* --- finding ------------------------------------------------------------------------------------------------------ */

/* 0: it is a file that can be executed; else the reason. */
static int programs_check_file(const char *path)
{
	struct stat about;
	if (stat(path, &about))
		return errno;
	if (S_ISDIR(about.st_mode))
		return EISDIR;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) ? errno : 0;
}

/* The caller frees the result; NULL: it is in no folder. */
static char *programs_search_path(const char *name)
{
	const char *folders = getenv("PATH");
	for (const char *at = folders ? folders : USUAL_PATH; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
		size_t length = strcspn(at, ":");
		char *path = length ? mem_printf("%.*s/%s", (int)length, at, name) : mem_printf("./%s", name);
		char *absolute = programs_check_file(path) ? NULL : realpath(path, NULL);
		free(path);
		if (absolute)
			return absolute;
	}
	return NULL;
}

static char *programs_folder_of(const char *file)
{
	const char *slash = strrchr(file, '/');
	char *folder = !slash          ? mem_strdup(".")
		       : slash == file ? mem_strdup("/")
				       : mem_printf("%.*s", (int)(slash - file), file);
	char *absolute = realpath(folder, NULL);
	free(folder);
	return absolute;
}

static troupe_status programs_find_one(
	const struct troupe_program *program, struct programs_found *ret_found, struct troupe_error *error)
{
	const char *executable = program->executable;
	char *folder = programs_folder_of(program->file), *path = NULL;
	if (!folder)
		return fail(error, TROUPE_EWORLD,
			"%s:%u: program '%s': the folder of this file: %s: expected a folder to start it in",
			program->file, program->line, program->name, strerror(errno));
	int why = 0;
	if (!strchr(executable, '/')) {
		path = programs_search_path(executable);
		why = path ? 0 : ENOENT;
	} else {
		path = *executable == '/' ? mem_strdup(executable) : mem_printf("%s/%s", folder, executable);
		why = programs_check_file(path);
	}
	if (!why) {
		*ret_found = (struct programs_found){path, folder};
		return TROUPE_OK;
	}
	(void)fail(error, TROUPE_EWORLD,
		"%s:%u: <executable> of program '%s': '%.500s'%s: %s: expected a file that can be "
		"executed",
		program->file, program->line, program->name, path ? path : executable, path ? "" : " in PATH",
		strerror(why));
	free(path);
	free(folder);
	return TROUPE_EWORLD;
}

troupe_status programs_find(struct programs *programs, const struct troupe_server *server, struct troupe_error *error)
{
	const struct troupe_program *all;
	uint32_t count = troupe_server_programs(server, &all);
	troupe_status status = TROUPE_OK;
	for (uint32_t i = 0; i < count && !status; i++) {
		struct programs_found found;
		status = programs_find_one(&all[i], &found, error);
		if (!status)
			vec_push(&programs->found, found);
	}
	return status;
}

/* --- starting ----------------------------------------------------------------------------------------------------- */

/* A variable without a value is taken away: this process may itself be the program of a world. */
static const char *programs_variable(struct arena *arena, const char *name, const char *value)
{
	return value && *value ? arena_printf(arena, "%s=%s", name, value) : name;
}

static const char *programs_absolute_path(struct arena *arena, const char *path)
{
	char *here = path && *path != '/' ? realpath(".", NULL) : NULL;
	const char *absolute = here ? arena_printf(arena, "%s/%s", here, path) : path;
	free(here);
	return absolute;
}

static const char *programs_own_path(struct arena *arena)
{
	char *path = realpath("/proc/self/exe", NULL);
	const char *own = path ? arena_strdup(arena, path) : NULL;
	free(path);
	return own;
}

static const char *const *programs_variables(
	const struct troupe_program *program, const struct programs_place *place, struct arena *arena)
{
	const struct gateways_addresses *others = &place->others;
	const char *const all[] = {
		programs_variable(arena, "TROUPE", programs_own_path(arena)),
		programs_variable(arena, "TROUPE_WORLD", program->world),
		programs_variable(arena, "TROUPE_MODEL", program->model),
		programs_variable(arena, "TROUPE_PROGRAM", program->name),
		programs_variable(
			arena, "TROUPE_LOCKSTEP_SOCKET", programs_absolute_path(arena, place->lockstep_socket)),
		programs_variable(arena, "TROUPE_LOCKSTEP_ADDRESS", place->lockstep_address),
		programs_variable(arena, "TROUPE_GZ", others->gz),
		programs_variable(arena, "TROUPE_VIEW", others->view),
		programs_variable(arena, "TROUPE_WATCH", others->watch),
		programs_variable(arena, "TROUPE_FOXGLOVE", others->foxglove),
		programs_variable(arena, "TROUPE_ROS2", others->ros2),
		programs_variable(arena, "TROUPE_ROSBRIDGE", others->rosbridge),
	};
	_Static_assert(ARRAY_LEN(all) <= KEEPER_VARIABLES_MAX, "the keeper takes them");
	const char **copy = arena_array(arena, const char *, ARRAY_LEN(all) + 1);
	memcpy(copy, all, sizeof all);
	return copy;
}

troupe_status programs_start(struct programs *programs, const struct troupe_server *server,
	const struct programs_place *place, struct troupe_error *error)
{
	const struct troupe_program *all;
	uint32_t count = troupe_server_programs(server, &all);
	struct keeper_order orders[TROUPE_PROGRAMS_MAX];
	struct arena arena = {0};
	struct text text = {0};
	for (uint32_t i = 0; i < count; i++)
		orders[i] = (struct keeper_order){.name = all[i].name,
			.path = programs->found.at[i].path,
			.folder = programs->found.at[i].folder,
			.args = all[i].args,
			.variables = programs_variables(&all[i], place, &arena),
			.restarts = all[i].restarts};
	keeper_pack(orders, count, &text);
	bool sent = sandbox_give(programs->orders, text.at, text.count);
	text_fini(&text);
	arena_fini(&arena);
	return sent ? TROUPE_OK
		    : fail(error, TROUPE_EIO,
			      "--programs: the process that starts them has ended: no program is started");
}

/* --- not starting ------------------------------------------------------------------------------------------------- */

void programs_warn(const struct troupe_server *server, void (*warn)(void *ctx, const char *text), void *ctx)
{
	const struct troupe_program *all;
	uint32_t count = troupe_server_programs(server, &all), of_world;
	for (uint32_t i = 0; i < count; i += of_world) {
		struct text line = {0};
		for (of_world = 1; i + of_world < count && !strcmp(all[i + of_world].world, all[i].world);)
			of_world++;
		text_add(&line, "%s:%u: world '%.80s': not started: %s ", all[i].file, all[i].line, all[i].world,
			of_world == 1 ? "program" : "programs");
		for (uint32_t k = 0; k < MIN(of_world, (uint32_t)PROGRAMS_NAMES_MAX); k++)
			text_add(&line, "%s'%s'", k ? ", " : "", all[i + k].name);
		if (of_world > PROGRAMS_NAMES_MAX)
			text_add(&line, " and %u more", of_world - PROGRAMS_NAMES_MAX);
		text_add(&line, "; --programs starts %s", of_world == 1 ? "it" : "them");
		struct troupe_error clean;
		(void)fail(&clean, TROUPE_EWORLD, "%s", line.at);
		warn(ctx, clean.text);
		text_fini(&line);
	}
}
