/* A program that uses the library is refused memory, one allocation after the other, whichever code asks for it
 * (libtroupe, ODE, libxml2, qhull, the readers of meshes and images in their process). By the rules in base/base.h the
 * process ends with one line and a status, or the refusal does not matter: then the state is the usual one. A file
 * whose reader is refused memory is an error with this reason. A world without one of its shapes, a crash or another
 * error would be wrong. */

#include "base/base.h"

#include <troupe/command.h>
#include <troupe/server.h>

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* A sanitizer brings its own malloc(), which ends the process in its own way. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include "check.h"

#include "../amount.h"

enum {
	REFUSED = 10,
	WRONG = 11,
	STEPS = 20,
	READS_MAX = 4096
}; /* exit statuses of a run, beside 0 and MEM_EXIT_STATUS */

struct plan { /* shared by the processes of a run */
	_Atomic uint64_t count, chosen;
	_Atomic bool lasting;
	_Atomic uint64_t hash;
	_Atomic uint32_t read_count; /* allocations in processes that read a file, by their numbers */
	uint64_t reads[READS_MAX];
	pid_t pid; /* of the run */
	char error[TROUPE_ERROR_TEXT_BYTES];
};

static struct plan *plan;

static bool is_refused(void)
{
	if (!plan)
		return false;
	uint64_t number = atomic_fetch_add(&plan->count, 1) + 1, chosen = atomic_load(&plan->chosen);
	if (plan->pid && plan->pid != getpid())
		plan->reads[atomic_fetch_add(&plan->read_count, 1) % READS_MAX] = number;
	return chosen && (number == chosen || (number > chosen && atomic_load(&plan->lasting)));
}

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void *malloc(size_t bytes)
{
	return is_refused() ? NULL : __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes)
{
	return is_refused() ? NULL : __libc_calloc(count, bytes);
}
void *realloc(void *old, size_t bytes)
{
	return is_refused() ? NULL : __libc_realloc(old, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes)
{
	return is_refused() ? NULL : __libc_memalign(alignment, bytes);
}

/* --- a run -------------------------------------------------------------------------------------------------------- */

#define MESH(name, x, is_static)                                                                                       \
	"<model name='" name "'><static>" is_static "</static><pose>" x " 0 1 0 0 0</pose><link name='l'><collision "  \
	"name='c'><geometry><mesh><uri>worlds/models/shapes/stool.obj</uri></mesh></geometry></collision></link>"      \
	"</model>"
#define HILLS(name, file, x)                                                                                           \
	"<model name='" name "'><static>1</static><pose>" x " 0 -3 0 0 0</pose><link name='l'><collision name='c'>"    \
	"<geometry><heightmap><uri>" file "</uri><size>9 9 1</size></heightmap></geometry></collision></link></model>"

static const char world[] =
	"<sdf version='1.9'><world name='w'><model name='floor'><static>1</static><link name='l'><collision "
	"name='c'><geometry><plane/></geometry></collision></link></model>" MESH("a", "0", "0") MESH("b", "0.1", "1")
		HILLS("hills", "worlds/models/shapes/hills.png", "20")
			HILLS("grey", "tests/data/mesh/sound_grey.jpg", "40") "</world></sdf>";

static int leave(const struct troupe_error *error)
{
	memcpy(plan->error, error->text, sizeof plan->error);
	return strstr(error->text, " MiB of memory") ? REFUSED : WRONG;
}

static void on_reply(void *ctx, const struct troupe_reply *reply)
{
	if (reply->status)
		(void)fail(ctx, reply->status, "%s", reply->text);
}

static int simulate(void)
{
	struct troupe_error error = {0}, refused = {0};
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server;
	void *saved;
	size_t count;
	def.world_path = "w.sdf";
	def.world_text = world;
	def.secondaries = 2;
	def.pace = TROUPE_PACE_FACTOR;
	def.on_reply = on_reply;
	def.ctx = &refused;
	if (troupe_server_create(&def, &server, &error))
		return leave(&error);
	if (troupe_server_command(server, 5, "/world/w/create", "sdf: \"" MESH("made", "3", "0") "\"", &error) ||
		troupe_server_step(server, STEPS, &error) || troupe_server_pack(server, &saved, &count, &error))
		return leave(&error);
	if (refused.status)
		return leave(&refused);
	free(saved);
	atomic_store(&plan->hash, troupe_server_hash(server));
	troupe_server_destroy(server);
	return 0;
}

struct outcome {
	int status; /* the exit status; negative: a signal */
	char said[1000];
};

static struct outcome run(uint64_t chosen, bool lasting)
{
	struct outcome outcome = {0};
	int ends[2], status;
	atomic_store(&plan->count, 0);
	atomic_store(&plan->chosen, chosen);
	atomic_store(&plan->lasting, lasting);
	atomic_store(&plan->hash, 0);
	atomic_store(&plan->read_count, 0);
	*plan->error = '\0';
	(void)fflush(stdout);
	if (pipe(ends))
		return (struct outcome){.status = WRONG};
	pid_t child = fork();
	if (!child) {
		(void)dup2(ends[1], STDERR_FILENO);
		(void)close(ends[0]);
		(void)alarm(60);
		plan->pid = getpid();
		_exit(simulate());
	}
	(void)close(ends[1]);
	(void)AGAIN(waitpid(child, &status, 0));
	plan->pid = 0;
	atomic_store(&plan->chosen, 0);
	ssize_t bytes = read(ends[0], outcome.said, sizeof outcome.said - 1);
	outcome.said[bytes > 0 ? bytes : 0] = '\0';
	(void)close(ends[0]);
	outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
	return outcome;
}

struct counts {
	uint32_t ended, same, refused, aborted;
};

/* An allocation is refused, and all later ones if lasting. */
static void refuse(uint64_t number, bool lasting, uint64_t hash, struct counts *counts)
{
	struct outcome outcome = run(number, lasting);
	bool ends = outcome.status == MEM_EXIT_STATUS && strstr(outcome.said, "troupe: out of memory");
	bool goes_on = !outcome.status && atomic_load(&plan->hash) == hash;
	check(ends || goes_on || outcome.status == REFUSED || outcome.status == -SIGABRT,
		"allocation %" PRIu64 "%s: ended with %d, %s; hash %016" PRIx64 "; %s", number,
		lasting ? " and later ones" : "", outcome.status, plan->error, atomic_load(&plan->hash), outcome.said);
	counts->ended += ends;
	counts->same += goes_on;
	counts->refused += outcome.status == REFUSED;
	counts->aborted += outcome.status == -SIGABRT;
}

int main(void)
{
	const char *source = getenv("SOURCE_DIR");
	if (source && chdir(source))
		return 1;
	struct plan *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	plan = shared;
	struct outcome usual = run(0, false);
	struct counts counts = {0};
	static uint64_t reads[READS_MAX];
	uint64_t all = atomic_load(&plan->count), hash = atomic_load(&plan->hash);
	uint64_t runs = amount(40, 100, 3000), each = MAX(all / runs, 1u);
	uint32_t read_count = MIN(atomic_load(&plan->read_count), READS_MAX), read_each = MAX(read_count / 12, 1u);
	memcpy(reads, plan->reads, sizeof reads);
	check(!usual.status && hash && read_count, "without a refusal: %d, %s%s", usual.status, plan->error,
		usual.said);
	for (uint64_t number = 1; number <= all && !usual.status; number += each)
		refuse(number, number / each % 4 == 3, hash, &counts);
	for (uint32_t i = 0; i < read_count && !usual.status; i += read_each)
		refuse(reads[i], false, hash, &counts);
	check(counts.ended && counts.refused, "of %" PRIu64 " allocations some should end the process and some a file",
		all);
	check(counts.aborted * 20 <= counts.ended, "%u times abort() beside %u times the right end", counts.aborted,
		counts.ended);
	printf("%" PRIu64 " allocations, %u to read files: %u ended, %u no matter, %u files refused, %u aborts\n", all,
		read_count, counts.ended, counts.same, counts.refused, counts.aborted);
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}

#else

int main(void)
{
	printf("skipped: memory: a sanitizer has its own malloc()\n0 passed, 0 failed, 1 skipped\n");
	return 0;
}

#endif
