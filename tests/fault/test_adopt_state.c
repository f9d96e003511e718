/* A running world takes up states that are damaged. A state is either refused, and then the world goes on as if nothing
 * had been tried, to the last bit; or it has the hash that was saved. The checksum of each damaged state is right, as
 * that of a state that was forged. */
#include "../random.h"
#include "check.h"
#include "world.h"

#include "../amount.h"
#include "server/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Commands wait in the state until step 200. Each state that is refused costs an empty step, so these commands come
 * early compared with the states: the saved run is followed up to MOVED_MAX only. */
enum { SAVED = 120, STEPS = 400, BEHIND = 3, MOVED_MAX = 165 };

static const char sdf[] = "<sdf version='1.9'><model name='m'><pose>7 6 2 0 0 0</pose><link name='l'><light name='b' "
			  "type='point'/><collision name='c'><geometry><box><size>1 1 1</size></box></geometry>"
			  "</collision></link></model></sdf>";
static const char slab[] = "<sdf version='1.9'><model name='s'><static>true</static><pose>14 2 0.2 0 0 0</pose><link "
			   "name='l'><collision name='c'><geometry><box><size>3 3 0.2</size></box></geometry>"
			   "</collision></link></model></sdf>";

static uint64_t hashes[STEPS + 1]; /* of the run that was saved, by step */
static char folder[] = "take-up-XXXXXX";
static char path[300];
static char last_reply[600];
static bool last_failed;

static void on_hash(void *ctx, uint64_t step, uint64_t hash)
{
	(void)ctx;
	if (step <= STEPS)
		hashes[step] = hash;
}

static void on_reply(void *ctx, const struct troupe_reply *reply)
{
	(void)ctx;
	if (!strstr(reply->topic, "/resume"))
		return;
	last_failed = reply->status != TROUPE_OK;
	(void)snprintf(last_reply, sizeof last_reply, "%s", reply->text);
}

static void command(struct troupe_server *server, uint64_t step, const char *topic, const char *text)
{
	struct troupe_error error;
	or_die(troupe_server_command(server, step, topic, text, &error), &error);
}

static void step(struct troupe_server *server, uint64_t count)
{
	struct troupe_error error;
	or_die(troupe_server_step(server, count, &error), &error);
}

static struct troupe_server *create(const char *world, bool keeps_hashes)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server;
	struct troupe_error error;
	def.world_path = "w.sdf";
	def.world_text = world;
	def.save_folder = folder;
	def.secondaries = 2;
	def.observe = TROUPE_OBSERVE_CONTACTS;
	def.pace = TROUPE_PACE_FACTOR;
	def.on_reply = on_reply;
	def.on_hash = keeps_hashes ? on_hash : NULL;
	def.hash_every = 1;
	or_die(troupe_server_create(&def, &server, &error), &error);
	return server;
}

static void command_all(struct troupe_server *server)
{
	char text[1000];
	command(server, 0, "/model/slider_0/cmd_vel", "linear {x: 3}");
	command(server, 0, "/model/slider_1/cmd_vel", "linear {x: 2 y: 0.2}");
	(void)snprintf(text, sizeof text, "sdf: \"%s\"", sdf);
	command(server, 20, "/world/w/create", text);
	(void)snprintf(text, sizeof text, "sdf: \"%s\"", slab);
	command(server, 25, "/world/w/create", text);
	command(server, 30, "/world/w/wrench/persistent", "entity {name: 'box_0'} wrench {force {x: 2}}");
	command(server, 40, "/world/w/remove", "name: 'box_1'");
	command(server, 50, "/world/w/light_config", "name: 'lamp'");
	command(server, 51, "/world/w/light_config", "name: 'm::l::b' intensity: 0.5");
	command(server, 60, "/world/w/disable_collision", "name: 's'");
	command(server, 70, "/world/w/level/set_performer", "data: 'm' size {x: 1 y: 1 z: 1}");
	command(server, 200, "/world/w/set_velocity", "name: 'm' linear {x: 1}"); /* waits in the state */
	command(server, 201, "/model/slider_0/cmd_vel", "linear {x: -3}");
}

static void write_state(const char *bytes, size_t count)
{
	FILE *file = fopen(path, "w");
	check(file && fwrite(bytes, 1, count, file) == count && !fclose(file), "%s: not written", path);
}

static uint64_t dice = 1;

/* One or two places in the last `deep` bytes, which are the world's. */
static void damage(char *bytes, size_t count, size_t deep)
{
	static const uint64_t values[] = {0, 1, 2, UINT64_MAX, UINT64_C(1) << 62, UINT64_C(0x7ff8000000000000),
		UINT64_C(0x7fe0000000000000), 0xffffffff, 1000, UINT64_C(0x3ff0000000000000)};
	for (uint64_t times = 1 + random_below64(&dice, 2); times; times--) {
		size_t at = count - deep + (size_t)random_below64(&dice, deep - 8);
		if (random_below64(&dice, 3)) /* numbers stand at multiples of 8, up to the first string */
			at -= (at - (count - deep)) % 8;
		if (random_below64(&dice, 2))
			bytes[at] = (char)(bytes[at] ^ (1 << random_below64(&dice, 8)));
		else
			memcpy(bytes + at, &values[random_below64(&dice, ARRAY_LEN(values))], 8);
	}
	server_seal(bytes, count);
}

/* The command is given, and BEHIND + 1 steps are taken. Returns the number of those in which the world moved, as it was
 * before or from the state on. */
static uint64_t resume(struct troupe_server *server)
{
	*last_reply = '\0';
	last_failed = false;
	command(server, 0, "/world/w/resume", "data: 's'");
	step(server, 1);
	bool at_once = *last_reply;
	step(server, BEHIND);
	check(*last_reply && !strchr(last_reply, '\n'), "no line: '%s'", last_reply);
	check(!at_once || last_failed, "the state is taken up before all is released");
	return BEHIND + at_once;
}

static void resume_good(struct troupe_server *server, const char *good, size_t count)
{
	write_state(good, count);
	check(resume(server) == BEHIND && !last_failed, "the good state is refused: %s", last_reply);
	check(troupe_server_hash(server) == hashes[SAVED + BEHIND], "another state than that of the run");
}

static void try_all(struct troupe_server *server, const char *good, size_t count, size_t deep)
{
	char *bytes = mem_alloc(count);
	uint64_t moved = SAVED + BEHIND;
	uint32_t refused = 0, taken = 0;
	for (uint64_t round = 0, rounds = amount(60, 250, 2000); round < rounds; round++) {
		(void)snprintf(check_where, sizeof check_where, "round %" PRIu64 ": ", round);
		memcpy(bytes, good, count);
		damage(bytes, count, deep);
		write_state(bytes, count);
		moved += resume(server);
		refused += last_failed;
		taken += !last_failed;
		if (last_failed)
			check(troupe_server_hash(server) == hashes[moved], "a refused state changed the world: %s",
				last_reply);
		if (!last_failed || moved > MOVED_MAX) {
			resume_good(server, good, count);
			moved = SAVED + BEHIND;
		}
	}
	*check_where = '\0';
	check(refused > 10 && taken > 3, "%u refused, %u taken up", refused, taken);
	free(bytes);
}

int main(void)
{
	char *world = tiles_world(3, 2);
	struct text state = {0}, own = {0};
	if (!mkdtemp(folder))
		return 1;
	(void)snprintf(path, sizeof path, "%s/s", folder);
	struct troupe_server *first = create(world, true), *server = create(world, false);
	command_all(first);
	step(first, SAVED);
	if (server_pack(first, &state, NULL))
		return 1;
	primary_pack(first->worlds[0].primary, &own);
	step(first, STEPS - SAVED);
	hashes[STEPS] = troupe_server_hash(first);
	step(server, 5);
	resume_good(server, state.at, state.count);
	try_all(server, state.at, state.count, own.count);
	resume_good(server, state.at, state.count);
	step(server, STEPS - SAVED - BEHIND);
	check(troupe_server_hash(server) == hashes[STEPS], "after many states the world goes another way");
	troupe_server_destroy(first);
	troupe_server_destroy(server);
	(void)unlink(path);
	(void)rmdir(folder);
	text_fini(&state);
	text_fini(&own);
	free(world);
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
