/* Models are created in the turn of a step, but their SDF is parsed and their meshes are read before: by the thread
 * that gives the command, or by the preparer's own thread. The calls that parse, read and make hulls are wrapped (ld
 * --wrap), and so is the turn; such a call on a thread that is in its turn counts as an error. The files of a command
 * that is due soon are deleted between the call that gives the command and its step. The bits do not depend on the
 * thread that prepares. */
#include "base/infile.h"
#include "config.h"

#include "../named.h"
#include "check.h"

#include "mesh/importer.h"
#include "run/primary.h"
#include "sdf/xml.h"

#include <troupe/command.h>
#include <troupe/server.h>

#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef HAVE_MESHES
enum { HULLS = 7 };
#else
enum { HULLS = 0 };
#endif

/* --- what is counted ---------------------------------------------------------------------------------------------- */

enum call { PARSE, MESH, IMAGE, HULL, LOOK, READ, CALLS };
static const char *const names[] = {
	"xml_parse", "importer_mesh", "importer_image", "hull_make", "files_look on disk", "infile_open_plain"};
static _Atomic uint32_t in_turns[CALLS], in_all[CALLS];
static _Thread_local bool in_turn;

static void count(enum call call)
{
	in_all[call]++;
	in_turns[call] += in_turn;
}

#define WRAP(result, name, call, parameters, ...)                                                                      \
	result __real_##name parameters;                                                                               \
	result __wrap_##name parameters;                                                                               \
	result __wrap_##name parameters                                                                                \
	{                                                                                                              \
		count(call);                                                                                           \
		return __real_##name(__VA_ARGS__);                                                                     \
	}

WRAP(troupe_status, xml_parse, PARSE,
	(struct arena * arena, const char *text, size_t bytes, const char *file, const struct sdf_element **ret_root,
		struct troupe_error *error),
	arena, text, bytes, file, ret_root, error)
WRAP(troupe_status, importer_mesh, MESH,
	(struct importer * importer, struct importer_losses *losses, struct files *files, const char *path,
		struct mesh *ret_mesh, struct troupe_error *error),
	importer, losses, files, path, ret_mesh, error)
WRAP(troupe_status, importer_image, IMAGE,
	(struct importer * importer, struct importer_losses *losses, struct files *files, const char *path,
		struct image *ret_image, struct troupe_error *error),
	importer, losses, files, path, ret_image, error)
WRAP(troupe_status, hull_make, HULL,
	(const struct vec3 *points, uint32_t n, struct hull *ret_hull, struct troupe_error *error), points, n, ret_hull,
	error)
WRAP(int, stat, LOOK, (const char *path, struct stat *info), path, info)
WRAP(troupe_status, infile_open_plain, READ, (const char *path, int *ret_file, struct troupe_error *error), path,
	ret_file, error)
WRAP(troupe_status, infile_read_plain, READ,
	(const char *path, const char *beginning, size_t bytes_max, char **ret_bytes, size_t *ret_count,
		struct troupe_error *error),
	path, beginning, bytes_max, ret_bytes, ret_count, error)

uint32_t __real_primary_propose(struct primary *primary, uint32_t most, uint64_t *ret_begin_ns);
uint32_t __wrap_primary_propose(struct primary *primary, uint32_t most, uint64_t *ret_begin_ns);
uint32_t __wrap_primary_propose(struct primary *primary, uint32_t most, uint64_t *ret_begin_ns)
{
	in_turn = true;
	uint32_t steps = __real_primary_propose(primary, most, ret_begin_ns);
	in_turn = false;
	return steps;
}

const struct step *__real_primary_decide(struct primary *primary, uint32_t steps);
const struct step *__wrap_primary_decide(struct primary *primary, uint32_t steps);
const struct step *__wrap_primary_decide(struct primary *primary, uint32_t steps)
{
	in_turn = true;
	const struct step *step = __real_primary_decide(primary, steps);
	in_turn = false;
	return step;
}

static void forget_counts(void)
{
	for (int i = 0; i < CALLS; i++)
		in_turns[i] = in_all[i] = 0;
}

/* least: the least number of calls outside of turns; fewer would show nothing. */
static void check_counts(const char *when, const uint32_t least[CALLS])
{
	for (int i = 0; i < CALLS; i++) {
		check(!in_turns[i], "%s: %s was called %u times in a turn", when, names[i], in_turns[i]);
		check(in_all[i] >= least[i], "%s: %s was called %u times in all: expected %u", when, names[i],
			in_all[i], least[i]);
	}
	forget_counts();
}

/* --- a world ------------------------------------------------------------------------------------------------------ */

enum { REPLIES_MAX = 400 };

struct outcome {
	uint32_t created, refused;
	char last[300]; /* the last reply */
	char refusals[2000];
};

static void on_reply(void *ctx, const struct troupe_reply *reply)
{
	struct outcome *outcome = ctx;
	outcome->created += !reply->status;
	outcome->refused += reply->status != TROUPE_OK;
	(void)snprintf(outcome->last, sizeof outcome->last, "%s", reply->text);
	if (reply->status) {
		size_t used = strlen(outcome->refusals);
		(void)snprintf(outcome->refusals + used, sizeof outcome->refusals - used, "%s\n", reply->text);
	}
}

static char folder[] = "/tmp/troupe_turn_XXXXXX";

static const char there[] = "<model name='there'><pose>3 4 1 0 0 0.5</pose><link name='l'><collision name='c'>"
			    "<geometry><sphere><radius>0.5</radius></sphere></geometry></collision></link></model>";

static struct troupe_server *begin(struct outcome *outcome)
{
	static const char *const places[] = {folder, NULL};
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server = NULL;
	struct troupe_error error = {0};
	def.world_path = "w.sdf";
	def.world_text = named_world("ground", there);
	def.resource_paths = places; /* files of models are there */
	def.secondaries = 1;
	def.pace = TROUPE_PACE_FACTOR;
	def.on_reply = on_reply;
	def.ctx = outcome;
	or_die(troupe_server_create(&def, &server, &error), &error);
	return server;
}

static void post(struct troupe_server *server, uint64_t step, const char *service, const char *text)
{
	struct troupe_error error = {0};
	char topic[100];
	(void)snprintf(topic, sizeof topic, "/world/w/%s", service);
	or_die(troupe_server_command(server, step, topic, text, &error), &error);
}

static void run_to(struct troupe_server *server, uint64_t step)
{
	struct troupe_error error = {0};
	struct troupe_limits limits = {.iterations = step};
	or_die(troupe_server_run(server, &limits, &error), &error);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static void write_file(const char *name, const char *bytes, size_t count)
{
	char path[200];
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "w");
	check(file && fwrite(bytes, 1, count, file) == count, "%s cannot be written", path);
	if (file)
		(void)fclose(file);
}

static void copy_file(const char *from, const char *name)
{
	const char *source = getenv("SOURCE_DIR");
	char path[300], *bytes;
	size_t n;
	struct troupe_error error = {0};
	(void)snprintf(path, sizeof path, "%s/%s", source ? source : ".", from);
	or_die(infile_read(path, 1 << 24, &bytes, &n, &error), &error);
	write_file(name, bytes, n);
	free(bytes);
}

static void make_files(void)
{
	/* the mesh is not in the first folder that is searched */
	char model[500];
	int bytes = snprintf(model, sizeof model,
		"<sdf version='1.9'><model name='from_file'><link name='l'><collision name='c'><geometry><mesh>"
		"<uri>model://%s/stool.obj</uri></mesh></geometry></collision></link></model></sdf>",
		strrchr(folder, '/') + 1);
	copy_file("worlds/models/shapes/stool.obj", "stool.obj");
	copy_file("worlds/models/shapes/hills.png", "hills.png");
	write_file("model.sdf", model, (size_t)bytes);
}

static void delete_files(void)
{
	DIR *all = opendir(folder);
	for (struct dirent *entry; all && (entry = readdir(all));) {
		char path[500];
		(void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		if (*entry->d_name != '.')
			(void)unlink(path);
	}
	if (all)
		(void)closedir(all);
}

/* The text of a create command for a model with a mesh. more: other fields. */
static const char *creation(const char *name, double x, const char *more)
{
	static _Thread_local char text[1000];
	(void)snprintf(text, sizeof text,
		"sdf: \"<sdf version='1.9'><model name='%s'><pose>%g 0 1 0 0 0</pose><link name='l'><collision "
		"name='c'><geometry><mesh><uri>%s/stool.obj</uri></mesh></geometry></collision></link></model>"
		"</sdf>\" %s",
		name, x, folder, more);
	return text;
}

/* --- the tests ---------------------------------------------------------------------------------------------------- */

static void post_all(struct troupe_server *server, uint64_t step)
{
	char text[1000];
	post(server, step, "create", creation("a", 0, ""));
	post(server, step, "create", creation("a", 6, "allow_renaming: true"));
	post(server, step, "create", creation("a", 9, "")); /* the name is taken */
	post(server, step, "create", creation("b", 0, "pose: {position: {x: 12}} relative_to: 'there'"));
	post(server, step, "create", creation("b", 0, "pose: {position: {x: 12}} relative_to: 'nothing'"));
	post(server, step, "create", "sdf: '<sdf version=\"1.9\"><model'"); /* no XML */
	post(server, step, "create", "sdf_filename: '/nowhere/model.sdf'");
	(void)snprintf(
		text, sizeof text, "sdf_filename: '%s/model.sdf' name: 'c' pose: {position: {x: 15 z: 1}}", folder);
	post(server, step, "create", text);
	(void)snprintf(text, sizeof text,
		"sdf: \"<sdf version='1.9'><model name='hills'><static>1</static><pose>100 0 -5 0 0 0</pose>"
		"<link name='l'><collision name='c'><geometry><heightmap><uri>%s/hills.png</uri><size>9 9 1</size>"
		"</heightmap></geometry></collision></link></model></sdf>\"",
		folder);
	post(server, step, "create", text);
	(void)snprintf(text, sizeof text,
		"data {sdf_filename: '%s/model.sdf' name: 'd' pose: {position: {x: 18 z: 1}}} "
		"data {sdf_filename: '%s/model.sdf' name: 'd' allow_renaming: true pose: {position: {x: 21 z: 1}}}",
		folder, folder);
	post(server, step, "create_multiple", text);
}

static uint64_t check_all(struct troupe_server *server, const struct outcome *outcome, uint64_t step, const char *when)
{
	static const char refusals[] =
		"a model 'a' exists already: expected another name, or allow_renaming\n"
		"the world has no model 'nothing'\n"
		"(command):1: Couldn't find end of Start Tag model line 1: expected well-formed XML\n";
	run_to(server, step + 1);
	check(outcome->created == 6, "%s: %u replies of success: expected 6", when, outcome->created);
	check(outcome->refused == 4, "%s: %u refused: expected 4", when, outcome->refused);
	check(!strncmp(outcome->refusals, refusals, strlen(refusals)), "%s: refused with: %s", when, outcome->refusals);
	check(strstr(outcome->refusals, "/nowhere/model.sdf"), "%s: refused with: %s", when, outcome->refusals);
	static const char *const models[] = {"a", "a_0", "b", "c", "hills", "d", "d_0"};
	for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
		check(troupe_find_model(server, 0, models[i]).at, "%s: no model %s", when, models[i]);
	}
	run_to(server, 500);
	return troupe_server_hash(server);
}

/* The creation is prepared by the thread that gives the command, or, if its step is far ahead, by the preparer's
 * thread. */
static void test_turns(void)
{
	static const uint32_t least[CALLS] = {
		[PARSE] = 8, [MESH] = 7, [IMAGE] = 1, [HULL] = HULLS, [LOOK] = 10, [READ] = 8};
	uint64_t hash[2];
	for (int far = 0; far < 2; far++) {
		const char *when = far ? "prepared ahead" : "prepared by the thread that gives it";
		struct outcome outcome = {0};
		struct troupe_server *server = begin(&outcome);
		make_files();
		forget_counts();
		if (!far)
			run_to(server, 150);
		post_all(server, 200);
		if (!far)
			delete_files();
		hash[far] = check_all(server, &outcome, 200, when);
		check_counts(when, least);
		troupe_server_destroy(server);
	}
	check(hash[0] == hash[1], "by the thread that gives it %016" PRIx64 ", ahead %016" PRIx64, hash[0], hash[1]);
}

/* More commands for one step than are prepared ahead, and a server that is destroyed while some commands wait. */
static void test_many(void)
{
	static const uint32_t none[CALLS] = {0};
	struct outcome outcome = {0};
	struct troupe_server *server = begin(&outcome);
	char name[20];
	make_files();
	for (int i = 0; i < PREPARE_COMMANDS_MAX + 50; i++) {
		(void)snprintf(name, sizeof name, "m%d", i);
		post(server, 1 + (uint64_t)i % 2, "create", creation(name, 6.0 * i, ""));
	}
	run_to(server, 3);
	check(outcome.created == PREPARE_COMMANDS_MAX + 50, "of many %u created: %s", outcome.created,
		outcome.refusals);
	check_counts("many", none);
	for (int i = 0; i < 30; i++)
		post(server, 1000000, "create", creation("late", 6.0 * i, ""));
	troupe_server_destroy(server);
}

struct poster {
	struct troupe_server *server;
	int number;
};

static void *post_some(void *ctx)
{
	struct poster *poster = ctx;
	char name[20];
	for (int i = 0; i < 10; i++) {
		(void)snprintf(name, sizeof name, "p%d_%d", poster->number, i);
		post(poster->server, 0, "create", creation(name, 6.0 * (10 * poster->number + i), ""));
	}
	return NULL;
}

/* Threads create models while the world runs, and end. */
static void test_posters(void)
{
	static const uint32_t least[CALLS] = {[PARSE] = 30, [MESH] = 30};
	struct outcome outcome = {0};
	struct troupe_server *server = begin(&outcome);
	struct poster posters[3];
	pthread_t threads[3];
	uint64_t steps = 0;
	make_files();
	forget_counts();
	for (int i = 0; i < 3; i++) {
		posters[i] = (struct poster){server, i};
		check(!pthread_create(&threads[i], NULL, post_some, &posters[i]), "no thread");
	}
	while (outcome.created + outcome.refused < 30 && steps < 20000000)
		run_to(server, steps += 50);
	for (int i = 0; i < 3; i++)
		(void)pthread_join(threads[i], NULL);
	check(outcome.created == 30, "by threads %u created: %s", outcome.created, outcome.refusals);
	check_counts("threads", least);
	troupe_server_destroy(server);
}

int main(void)
{
	if (!mkdtemp(folder)) {
		printf("FAILED: no folder %s\n", folder);
		return 1;
	}
	test_turns();
	test_many();
	test_posters();
	delete_files();
	(void)rmdir(folder);
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
