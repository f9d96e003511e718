/* Every call by which troupe gets memory or changes files fails once, in each part of a run that saves, records and
 * reports, is resumed, and is replayed. Also, the process is killed before and after each of these calls. Whichever
 * call fails:
 *  - the program does not crash or hang, and no signal ends it; the exit status is a documented one;
 *  - the last line on standard error says what failed and why, and there are few other lines;
 *  - no temporary file stays;
 *  - an existing file is the old one or the new one, to the last bit, and a recording is the beginning of a whole one.
 *
 * `make check` takes a part of the calls, and starts with another call each time (TROUPE_TEST_FIRST=N: with call N);
 * TROUPE_TEST_FULL=1 takes one in twelve or more, `make check-long` one in three, TROUPE_TEST_ALL=1 all: some ten
 * minutes. */
#include "../amount.h"
#include "../named.h"
#include "check.h"
#include "inject.h"

#include "base/base.h"
#include "base/infile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT_MS = 30000, LOOK_US = 1000, ARGUMENTS_MAX = 40 };

static const char *troupe, *library;
static struct inject *plan;
static bool every_call;
static uint64_t most_stride;
static unsigned first; /* the first call of a sweep that leaves some out */

static const char *const call_names[] = {"alloc", "open", "read", "write", "close", "fsync", "ftruncate", "link",
	"rename", "unlink", "mkdir", "stat", "other"};
_Static_assert(ARRAY_LEN(call_names) == INJECT_CALLS, "one name for each call");

/* --- files -------------------------------------------------------------------------------------------------------- */

static char *contents(const char *path, size_t *ret_count)
{
	char *bytes;
	*ret_count = 0;
	return infile_read(path, 1 << 26, &bytes, ret_count, NULL) ? NULL : bytes;
}

static void put(const char *path, const char *bytes, size_t count)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (file < 0 || write(file, bytes, count) != (ssize_t)count || close(file)) {
		printf("%s: %s\n", path, strerror(errno));
		exit(1);
	}
}

struct blob { /* bytes that a file may hold */
	char *bytes;
	size_t count;
};

static struct blob blob_of(const char *path)
{
	struct blob blob;
	blob.bytes = contents(path, &blob.count);
	return blob;
}

static bool holds(const char *path, const struct blob *blob)
{
	size_t count;
	char *bytes = contents(path, &count);
	bool same = bytes && count == blob->count && !memcmp(bytes, blob->bytes, count);
	free(bytes);
	return same;
}

/* Names that begin with a dot are temporary files: the test makes no such files itself. */
static bool is_left_behind(void)
{
	DIR *all = opendir(".");
	bool left = false;
	for (struct dirent *entry; all && (entry = readdir(all));)
		left |= entry->d_name[0] == '.' && strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	if (all)
		(void)closedir(all);
	return left;
}

static void remove_left_behind(void)
{
	if (system("rm -f .troupe*") != 0)
		exit(1);
}

/* --- running ------------------------------------------------------------------------------------------------------ */

struct outcome {
	int status; /* as in a shell: 128 and more is a signal */
	bool hung;
	uint32_t lines; /* number of lines on standard error */
	char last[700];
};

static void begin(const char *const *arguments)
{
	char *words[ARGUMENTS_MAX];
	size_t count = 0;
	for (; arguments[count]; count++)
		words[count] = mem_strdup(arguments[count]);
	words[count] = NULL;
	int out = open("/dev/null", O_WRONLY), err = open("err", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (out < 0 || err < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
		_exit(126);
	(void)close(out);
	(void)close(err);
	(void)setenv("LD_PRELOAD", library, 1);
	(void)execv(troupe, words);
	_exit(127);
}

static void read_lines(struct outcome *outcome)
{
	size_t count;
	char *text = contents("err", &count);
	for (char *at = text, *end; at && *at; at = end + 1) {
		end = strchr(at, '\n');
		outcome->lines++;
		if (!end)
			end = at + strlen(at) - 1;
		(void)snprintf(outcome->last, sizeof outcome->last, "%.*s", (int)(end - at), at);
	}
	free(text);
}

static struct outcome run(const char *const *arguments)
{
	struct outcome outcome = {0};
	int status = 0, pid, waited_us = 0;
	memset(plan->counts, 0, sizeof plan->counts);
	plan->all = plan->met = 0;
	fflush(stdout);
	pid = fork();
	if (!pid)
		begin(arguments);
	while (!waitpid(pid, &status, WNOHANG)) {
		(void)usleep(LOOK_US);
		if ((waited_us += LOOK_US) < LIMIT_MS * 1000)
			continue;
		outcome.hung = true;
		(void)kill(pid, SIGKILL);
	}
	outcome.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	read_lines(&outcome);
	return outcome;
}

static struct outcome run_well(const char *const *arguments)
{
	plan->number = 0;
	plan->what = INJECT_FAIL;
	plan->no_tmpfile = 0;
	return run(arguments);
}

/* --- the scenes --------------------------------------------------------------------------------------------------- */

static struct blob state_5, state_10, state_20, recording;

struct scene {
	const char *name;
	const char *arguments[ARGUMENTS_MAX];
	void (*prepare)(void);
	/* Called after a run that ended with this status, which may be that of a signal. */
	void (*look)(int status);
	int good;              /* its status when no call fails */
	int failing[3];        /* its statuses when a call fails; 0: no more */
	int without_memory[3]; /* its statuses when an allocation fails */
	uint32_t lines_max;
};

static void prepare_run(void)
{
	put("s", state_5.bytes, state_5.count);
	put("s5", state_10.bytes, state_10.count);
	put("r", "old", 3);
	put("j", "old\n", 4);
	put("c", "old\n", 4);
}

static bool is_beginning(const char *path, const struct blob *whole)
{
	size_t count;
	char *bytes = contents(path, &count);
	bool same = bytes && count <= whole->count && !memcmp(bytes, whole->bytes, count);
	free(bytes);
	return same;
}

static bool is_report(const char *path)
{
	size_t count;
	char *text = contents(path, &count);
	bool whole =
		text && (!strcmp(text, "old\n") || (count > 3 && *text == '{' && !strcmp(text + count - 3, "\n}\n")));
	free(text);
	return whole;
}

static void look_at_run(int status)
{
	static char text[] = "old";
	static const struct blob old = {text, sizeof text - 1};
	bool newest = holds("s", &state_20);
	check(newest || holds("s", &state_10) || holds("s", &state_5), "s is no whole state");
	check(holds("s5", &state_5) || holds("s5", &state_10), "s5 is no whole state");
	check(holds("r", &old) || is_beginning("r", &recording), "r is no beginning of the recording");
	check(is_report("j"), "j is no whole report");
	if (!status)
		check(newest && holds("s5", &state_5) && holds("r", &recording),
			"the status is 0, but an output is missing");
}

static void prepare_resume(void)
{
	put("s5", state_5.bytes, state_5.count);
	put("s", state_10.bytes, state_10.count);
}

static void look_at_resume(int status)
{
	check(holds("s5", &state_5), "the resumed state is another file now");
	check(holds("s", &state_20) || (status && holds("s", &state_10)), "s is no whole state");
}

static void prepare_replay(void)
{
	put("r", recording.bytes, recording.count);
}

static void look_at_replay(int status)
{
	(void)status;
	check(holds("r", &recording), "the recording is another file now");
}

static void prepare_wild(void)
{
	put("s", state_5.bytes, state_5.count);
}

static void look_at_wild(int status)
{
	size_t count;
	char *bytes = contents("s", &count);
	(void)status;
	check(bytes && count > 16 && !memcmp(bytes, "troupe state", 12), "s is no state");
	free(bytes);
}

#define RUN "troupe", "run", "w.sdf", "--commands", "commands", "--iterations", "20", "--rtf", "0"
#define OUTPUTS                                                                                                        \
	"--save-every", "10", "s", "--save-at", "5", "s5", "--record", "r", "--record-every", "4", "--report", "j",    \
		"--costs", "c", "--costs-every", "5"

static const struct scene scenes[] = {
	{"run", {RUN, OUTPUTS, "--secondaries", "0", NULL}, prepare_run, look_at_run, 0, {1}, {4}, 6},
	{"threads", {RUN, OUTPUTS, "--secondaries", "2", NULL}, prepare_run, look_at_run, 0, {1}, {4}, 6},
	{"resume",
		{"troupe", "run", "--resume", "s5", "--iterations", "20", "--rtf", "0", "--save-at", "20", "s",
			"--secondaries", "0", NULL},
		prepare_resume, look_at_resume, 0, {1}, {4}, 12}, /* with a summary */
	{"replay", {"troupe", "replay", "r", "--secondaries", "0", NULL}, prepare_replay, look_at_replay, 0, {1}, {4},
		1},
	{"wild", {"troupe", "run", "wild.sdf", "--rtf", "0", "--save-on-stop", "s", "--secondaries", "0", NULL},
		prepare_wild, look_at_wild, 4, {4, 1}, {4}, 3},
};
/* A secondary that is refused a call ends, and then the primary with status 3; both print a line. */
static const struct scene over_tcp = {
	"tcp", {RUN, "--transport", "tcp", "--secondaries", "2", NULL}, prepare_resume, NULL, 0, {0}, {4, 3}, 12};

static bool is_among(int status, const int *statuses)
{
	for (int i = 0; i < 3 && statuses[i]; i++)
		if (statuses[i] == status)
			return true;
	return false;
}

/* --- inputs ------------------------------------------------------------------------------------------------------- */

static void write_inputs(void)
{
	static const char commands[] = "3 /model/box/cmd_vel linear: {x: 1}\n"
				       "7 /world/w/create name: 'late' pose {position {x: -2 z: 1}} sdf: \"<sdf "
				       "version='1.9'><model name='m'><link name='l'><collision "
				       "name='c'><geometry><sphere><radius>0.2</radius></sphere></geometry></"
				       "collision></link></model></sdf>\"\n"
				       "15 /world/w/remove name: 'late' type: MODEL\n";
	const char *world = named_world("hall", NULL);
	put("w.sdf", world, strlen(world));
	put("commands", commands, sizeof commands - 1);
	world = named_world("falls", NULL);
	put("wild.sdf", world, strlen(world));
}

/* --- sweeping ----------------------------------------------------------------------------------------------------- */

static void say_where(const struct scene *scene, const char *how, enum inject_call call, uint64_t number)
{
	(void)snprintf(check_where, sizeof check_where, "%s, %s of %s %llu%s: ", scene->name, how,
		call < INJECT_CALLS ? call_names[call] : "call", (unsigned long long)number,
		plan->no_tmpfile ? ", no O_TMPFILE" : "");
}

static void look(const struct scene *scene, const struct outcome *outcome, const int *statuses, const char *why)
{
	bool good = outcome->status == scene->good, may = is_among(outcome->status, statuses);
	check(!outcome->hung, "hangs");
	check(good || may, "status %d: %s", outcome->status, outcome->last);
	check(outcome->lines <= scene->lines_max, "%u lines, the last: %s", outcome->lines, outcome->last);
	if (outcome->status && outcome->status != scene->good)
		check(strstr(outcome->last, why) != NULL, "status %d, and the last line does not tell why: %s",
			outcome->status, outcome->last);
	check(!is_left_behind(), "a temporary file stays");
	remove_left_behind();
	if (scene->look)
		scene->look(outcome->status);
}

static uint64_t stride_of(uint64_t share)
{
	return every_call ? 1 : MIN(share, most_stride);
}

/* Each call that changes files fails once with this code; of many calls one in `share`. */
static void sweep_files(const struct scene *scene, int code, uint64_t share)
{
	static const int none[3];
	for (uint64_t number = 1 + first % stride_of(share), met = 1; met; number += stride_of(share)) {
		scene->prepare();
		plan->call = INJECT_ANY;
		plan->what = INJECT_FAIL;
		plan->code = code;
		plan->number = number;
		struct outcome outcome = run(scene->arguments);
		met = plan->met;
		say_where(scene, strerror(code), INJECT_ANY, number);
		/* a call that a signal interrupted is made again, without a message */
		look(scene, &outcome, met && code != EINTR ? scene->failing : none, strerror(code));
	}
}

static void sweep_short(const struct scene *scene)
{
	static const int none[3];
	for (enum inject_call call = INJECT_READ; call <= INJECT_WRITE; call++) {
		scene->prepare();
		plan->call = call;
		plan->what = INJECT_SHORT;
		plan->number = 0;
		struct outcome outcome = run(scene->arguments);
		say_where(scene, "a part", call, 0);
		look(scene, &outcome, none, "");
	}
}

/* A world, commands or a state to which another process writes while troupe reads it. */
static void sweep_growth(void)
{
	static const int refused[3] = {1};
	static const struct scene reading = {
		"growing", {RUN, "--secondaries", "0", NULL}, prepare_resume, NULL, 0, {0}, {0}, 12};
	for (uint64_t number = 1, met = 1; met; number++) {
		write_inputs();
		plan->call = INJECT_READ;
		plan->what = INJECT_GROW;
		plan->number = number;
		struct outcome outcome = run(reading.arguments);
		met = plan->met;
		say_where(&reading, "growth", INJECT_READ, number);
		look(&reading, &outcome, refused, "changed while it was read");
		check(outcome.status == (met ? 1 : 0), "status %d: %s", outcome.status, outcome.last);
	}
	write_inputs();
}

/* Each allocation is refused once; with `lasting`, so are all allocations after it. */
static void sweep_memory(const struct scene *scene, bool lasting, uint64_t share)
{
	static const int none[3];
	for (uint64_t number = 1 + first % stride_of(share), met = 1; met; number += stride_of(share)) {
		scene->prepare();
		plan->call = INJECT_ALLOC;
		plan->what = INJECT_FAIL;
		plan->number = number;
		plan->lasting = lasting;
		struct outcome outcome = run(scene->arguments);
		met = plan->met;
		say_where(scene, lasting ? "memory from" : "memory", INJECT_ALLOC, number);
		look(scene, &outcome, met ? scene->without_memory : none,
			outcome.status == 4 ? "troupe: out of memory" : "");
		plan->lasting = 0;
	}
}

/* kill -9 before and after each call. The helper that gives a file its name lives a little longer. */
static void sweep_kills(const struct scene *scene, enum inject_what what, uint64_t share)
{
	static const char *const words[] = {
		[INJECT_KILL_MAIN] = "kill", [INJECT_KILL_SELF] = "kill of itself", [INJECT_KILL_ALL] = "kill of all"};
	for (uint64_t number = 1 + first % stride_of(share), met = 1; met; number += stride_of(share))
		for (plan->after = 0; plan->after < 2; plan->after++) {
			scene->prepare();
			plan->call = INJECT_ANY;
			plan->what = what;
			plan->number = number;
			struct outcome outcome = run(scene->arguments);
			met = plan->met;
			say_where(scene, words[what], INJECT_ANY, number);
			for (int looks = 0; is_left_behind() && looks < 1000 && what == INJECT_KILL_MAIN; looks++)
				(void)usleep(LOOK_US);
			bool needs_next = what != INJECT_KILL_MAIN || plan->no_tmpfile;
			check(needs_next || !is_left_behind(), "a temporary file stays");
			check(!outcome.hung, "hangs");
			scene->look(met ? 128 + SIGKILL : outcome.status);
			if (!is_left_behind())
				continue;
			/* the next run that writes to the folder removes the file */
			uint64_t no_tmpfile = plan->no_tmpfile;
			static const char *const next[] = {"troupe", "run", "w.sdf", "--iterations", "1", "--rtf", "0",
				"--save-on-stop", "other", NULL};
			outcome = run_well(next);
			plan->no_tmpfile = no_tmpfile;
			check(!outcome.status && !is_left_behind(), "a temporary file stays after the next run");
			remove_left_behind();
		}
	plan->after = 0;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static void make_references(void)
{
	static const char *const arguments[] = {RUN, "--secondaries", "0", "--save-at", "5", "state_5", "--save-at",
		"10", "state_10", "--save-at", "20", "state_20", "--record", "recording", "--record-every", "4", NULL};
	struct outcome outcome = run_well(arguments);
	check(!outcome.status && plan->counts[INJECT_ALLOC] && plan->counts[INJECT_WRITE],
		"nothing is counted, or status %d: %s", outcome.status, outcome.last);
	state_5 = blob_of("state_5");
	state_10 = blob_of("state_10");
	state_20 = blob_of("state_20");
	recording = blob_of("recording");
	if (outcome.status || !state_5.count || !recording.count)
		exit(1);
}

static void map_plan(const char *folder)
{
	char *path = mem_printf("%s/plan", folder);
	int file = open(path, O_RDWR | O_CREAT, 0600);
	if (file < 0 || ftruncate(file, sizeof *plan))
		exit(1);
	plan = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (plan == MAP_FAILED || setenv("TROUPE_INJECT", path, 1))
		exit(1);
	(void)close(file);
	free(path);
}

static void sweep_all(void)
{
	for (size_t i = 0; i < ARRAY_LEN(scenes); i++) {
		const struct scene *scene = &scenes[i];
		bool alone = i == 0;
		sweep_files(scene, EIO, alone ? 4 : 19);
		sweep_files(scene, ENOSPC, alone ? 7 : 29);
		sweep_files(scene, EINTR, alone ? 9 : 29);
		sweep_short(scene);
		sweep_memory(scene, false, alone ? 7 : 19);
		sweep_memory(scene, true, alone ? 41 : 101);
	}
	sweep_growth();
	sweep_memory(&over_tcp, false, 61);
	sweep_kills(&scenes[0], INJECT_KILL_MAIN, 5);
	sweep_kills(&scenes[0], INJECT_KILL_SELF, 23);
	sweep_kills(&scenes[0], INJECT_KILL_ALL, 23);
	plan->no_tmpfile = 1;
	sweep_files(&scenes[0], EIO, 23);
	sweep_kills(&scenes[0], INJECT_KILL_MAIN, 29);
	plan->no_tmpfile = 0;
}

int main(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	printf("a sanitizer replaces these calls\n0 passed, 0 failed, 1 skipped\n");
	return 0;
#endif
	char in_memory[] = "/dev/shm/troupe_sweep_XXXXXX", on_disk[] = "/tmp/troupe_sweep_XXXXXX";
	char *folder = mkdtemp(in_memory); /* a folder in memory, where bringing a file to the disk takes no time */
	folder = folder ? folder : mkdtemp(on_disk);
	const char *build = getenv("BUILD_DIR"), *program = getenv("TROUPE");
	char *here = realpath(program ? program : "./troupe", NULL);
	char *path = mem_printf("%s/tests/fault/.libs/inject.so", build ? build : ".");
	troupe = here;
	library = realpath(path, NULL);
	most_stride = amount_of_four(UINT64_MAX, UINT64_MAX, 12, 3);
	every_call = getenv("TROUPE_TEST_ALL") != NULL;
	const char *from = getenv("TROUPE_TEST_FIRST");
	first = from ? (unsigned)atoi(from) : (unsigned)time(NULL) % 1000;
	if (!troupe || !library || !folder || chdir(folder)) {
		printf("no program, no %s, or no folder\n0 passed, 1 failed\n", path);
		return 1;
	}
	map_plan(folder);
	write_inputs();
	make_references();
	sweep_all();
	check_where[0] = '\0';
	char *command = mem_printf("rm -rf '%s'", folder);
	check(!chdir("/") && !system(command), "the folder stays");
	if (failed)
		printf("TROUPE_TEST_FIRST=%u takes the same calls\n", first);
	return check_totals();
}
