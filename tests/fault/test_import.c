/* Meshes are read while the process has other threads: models with meshes are created in a running world, while threads
 * allocate, and while other servers load. The result is the same whatever the threads do. And files on which the
 * process that reads them dies: the run goes on, and a secondary that gets such a file refuses the world. */
#include "../named.h"
#include "check.h"

#include "base/hash.h"
#include "base/infile.h"
#include "base/outfile.h"
#include "base/text.h"
#include "run/replica.h"
#include "server/internal.h"

#include <troupe/server.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HANG_S = 240, ALLOCATORS = 3, CREATED = 24, STEPS = 400, FILE_BYTES_MAX = 1 << 20 };

static const char *source(void)
{
	const char *folder = getenv("SOURCE_DIR");
	return folder ? folder : ".";
}

/* For all servers; main() fills it before there are threads. */
static const char *import_places[2];

/* --- a run -------------------------------------------------------------------------------------------------------- */

static const char *const meshes[] = {"worlds/models/shapes/stool.obj", "worlds/models/shapes/gem.stl",
	"tests/data/mesh/sound_aside.gltf", "tests/data/mesh/sound.glb"};
/* Damaged files that end the process that reads them, with Debian's assimp 5.2.5. */
static const char *const broken[] = {"tests/data/mesh/broken_1.dae", "tests/data/mesh/broken_3.gltf"};

struct outcome {
	uint64_t hash;
	uint32_t created, refused;
	/* refused because the process that reads them ended; ended_last: those with the last broken file */
	uint32_t ended, ended_last;
};

static void on_reply(void *ctx, const struct troupe_reply *reply)
{
	struct outcome *outcome = ctx;
	outcome->created += !reply->status;
	outcome->refused += reply->status != TROUPE_OK;
	bool ended = reply->status && strstr(reply->text, "the process that reads it");
	outcome->ended += ended;
	outcome->ended_last += ended && strstr(reply->text, broken[1]);
}

static struct troupe_server *create(const char *world, int secondaries, struct outcome *outcome)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server = NULL;
	struct troupe_error error = {0};
	def.world_path = "w.sdf";
	def.world_text = world;
	def.resource_paths = import_places; /* its files are there */
	def.secondaries = secondaries;
	def.pace = TROUPE_PACE_FACTOR;
	def.on_reply = on_reply;
	def.ctx = outcome;
	if (troupe_server_create(&def, &server, &error)) {
		printf("FAILED: %s\n", error.text);
		exit(1);
	}
	return server;
}

static void add_model(struct text *out, const char *name, const char *mesh, double x)
{
	text_add(out,
		"<model name='%s'><pose>%g 0 1 0 0 0</pose><link name='l'><collision name='c'><geometry><mesh><uri>"
		"%s/%s</uri></mesh></geometry></collision></link></model>",
		name, x, source(), mesh);
}

static void add_world(struct text *out)
{
	struct text models = {0};
	add_model(&models, "first", meshes[0], -5);
	add_model(&models, "second", meshes[1], -3);
	text_add(out, "%s", named_world("ground", models.at));
	text_fini(&models);
}

static void command_creation(struct troupe_server *server, uint64_t step, int number, const char *mesh)
{
	struct text text = {0};
	struct troupe_error error = {0};
	char name[32];
	snprintf(name, sizeof name, "made_%d", number);
	text_add(&text, "sdf: \"<sdf version='1.9'>");
	add_model(&text, name, mesh, 2.0 * number);
	text_add(&text, "</sdf>\"");
	check(!troupe_server_command(server, step, "/world/w/create", text.at, &error), "%s", error.text);
	text_fini(&text);
}

static struct outcome run(int secondaries)
{
	struct outcome outcome = {0};
	struct text world = {0};
	struct troupe_error error = {0};
	struct troupe_limits limits = {.iterations = STEPS};
	add_world(&world);
	struct troupe_server *server = create(world.at, secondaries, &outcome);
	for (int i = 0; i < CREATED; i++) {
		uint64_t step = 1 + (uint64_t)i * 15;
		command_creation(server, step, i, meshes[(size_t)i % ARRAY_LEN(meshes)]);
		if (i % 6 == 0)
			command_creation(server, step, 1000 + i, broken[(size_t)(i / 6) % ARRAY_LEN(broken)]);
	}
	check(!troupe_server_run(server, &limits, &error), "%s", error.text);
	outcome.hash = troupe_server_hash(server);
	troupe_server_destroy(server);
	text_fini(&world);
	return outcome;
}

static void check_run(const struct outcome *found, const struct outcome *expected, const char *when)
{
	check(found->hash == expected->hash, "%s: hash %016" PRIx64 ", expected %016" PRIx64, when, found->hash,
		expected->hash);
	check(found->created == expected->created, "%s: %u created, expected %u", when, found->created,
		expected->created);
	check(found->refused == expected->refused, "%s: %u refused, expected %u", when, found->refused,
		expected->refused);
}

/* --- other threads ------------------------------------------------------------------------------------------------ */

static _Atomic bool over;
static _Atomic uint32_t loaded;

/* Allocates blocks of all sizes, so that every lock of an allocator is taken. */
static void *allocate(void *arg)
{
	uint64_t seed = (uint64_t)(uintptr_t)arg, number = 0;
	void *kept[64] = {NULL};
	while (!atomic_load(&over)) {
		uint64_t draw = hash_mix(seed, ++number);
		size_t bytes = (size_t)1 << (4 + draw % (number % 64 ? 12 : 18));
		free(kept[draw >> 32 & 63]);
		kept[draw >> 32 & 63] = mem_alloc(bytes);
	}
	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		free(kept[i]);
	return NULL;
}

/* Servers load meshes, one after the other, while the other threads run. */
static void *load(void *arg)
{
	(void)arg;
	while (!atomic_load(&over)) {
		struct outcome outcome = {0};
		struct text world = {0};
		add_world(&world);
		troupe_server_destroy(create(world.at, 1, &outcome));
		text_fini(&world);
		atomic_fetch_add(&loaded, 1);
	}
	return NULL;
}

static void among_threads(const struct outcome *expected)
{
	pthread_t threads[ALLOCATORS + 1];
	for (uintptr_t i = 0; i < ALLOCATORS; i++)
		pthread_create(&threads[i], NULL, allocate, (void *)(i + 1));
	pthread_create(&threads[ALLOCATORS], NULL, load, NULL);
	for (int secondaries = 0; secondaries <= 2; secondaries += 2) {
		struct outcome found = run(secondaries);
		check_run(&found, expected, secondaries ? "two secondaries, busy threads" : "busy threads");
	}
	atomic_store(&over, true);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		pthread_join(threads[i], NULL);
	check(atomic_load(&loaded) > 0, "no other server was loaded");
}

/* --- a secondary -------------------------------------------------------------------------------------------------- */

static struct text read_source(const char *name)
{
	struct text text = {0};
	struct troupe_error error;
	char path[1200], *bytes;
	size_t count;
	snprintf(path, sizeof path, "%.1000s/%s", source(), name);
	check(!infile_read(path, FILE_BYTES_MAX, &bytes, &count, &error), "%s", error.text);
	text_add_bytes(&text, bytes, count);
	free(bytes);
	return text;
}

/* The description of a world with a sound mesh, as a primary sends it, in which a broken mesh of the same length
 * replaces the sound one. */
static void damage_world(struct text *state)
{
	struct text sound = read_source("tests/data/mesh/sound.gltf"), bad = read_source(broken[1]);
	while (sound.count < bad.count)
		text_add(&sound, " ");
	struct text world = {0};
	text_add(&world,
		"<sdf version='1.9'><world name='w'><model name='m'><link name='l'><collision name='c'><geometry>"
		"<mesh><uri>in_memory.gltf</uri></mesh></geometry></collision></link></model></world></sdf>");
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server;
	struct troupe_error error = {0};
	char folder[] = "/tmp/test_import.XXXXXX", path[64];
	check(mkdtemp(folder) != NULL, "no folder");
	snprintf(path, sizeof path, "%s/in_memory.gltf", folder);
	check(!outfile_replace(path, sound.at, sound.count, NULL, &error), "%s", error.text);
	snprintf(path, sizeof path, "%s/w.sdf", folder);
	def.world_path = path;
	def.world_text = world.at;
	check(!troupe_server_create(&def, &server, &error), "%s", error.text);
	(void)server_pack_replica(server, state, NULL);
	troupe_server_destroy(server);
	snprintf(path, sizeof path, "%s/in_memory.gltf", folder);
	unlink(path);
	rmdir(folder);
	char *at = memmem(state->at, state->count, sound.at, sound.count);
	check(at != NULL, "the mesh is not in the state");
	if (at)
		memcpy(at, bad.at, bad.count);
	text_fini(&sound);
	text_fini(&bad);
	text_fini(&world);
}

/* What the process of a secondary does with a world that it receives. */
static void refuse_world(bool dies)
{
	struct text state = {0};
	struct replica *replica = NULL;
	struct troupe_error error = {0};
	damage_world(&state);
	troupe_status status = replica_create(state.at, state.count, 1, PHYSICS_BREAK_NOTHING, NULL, &replica, &error);
	if (dies)
		check(status && strstr(error.text, "in_memory.gltf") && strstr(error.text, "the process that reads it"),
			"a secondary: %d, %s", (int)status, error.text);
	replica_destroy(replica);
	text_fini(&state);
}

int main(void)
{
	alarm(HANG_S);
	import_places[0] = source();
	struct outcome quiet = run(0);
	uint32_t tried = (CREATED + 5) / 6;
	/* the process that reads may survive a broken file by chance: then the model is created without its mesh */
	check(quiet.created >= CREATED && quiet.created + quiet.refused == CREATED + tried &&
			quiet.refused == quiet.ended,
		"%u created, %u refused, %u of these because the process ended", quiet.created, quiet.refused,
		quiet.ended);
	among_threads(&quiet);
	refuse_world(quiet.ended_last > 0);
	printf("%u of %u broken files ended the process that read them, %u worlds were loaded meanwhile\n", quiet.ended,
		tried, (unsigned)atomic_load(&loaded));
	return check_totals();
}
