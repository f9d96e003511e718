/* A player of recordings: each state that it shows is the recorded one, whatever the order of the jumps and the number
 * of secondaries; clients of its server see it; commands are refused; recordings that are cut off, damaged or forged
 * end with one line, or show what is left. */
#include "../random.h"
#include "clients.h"

#include "topic/troupe.pb-c.h"

#include <troupe/record.h>

#include <unistd.h>

TestSuite(player, .fini = clients_end, .timeout = 120);

enum { STEPS = 1200, EVERY = 20 };

static char tape[] = "/tmp/test_player.XXXXXX";

static void note_hash(void *ctx, uint64_t step, uint64_t hash)
{
	((uint64_t *)ctx)[step] = hash;
}

/* A file name, and the hashes of all states of the run that is recorded in it. */
static bool by_ode; /* of the runs that are recorded */

static uint64_t *record(void)
{
	uint64_t *hashes = calloc(STEPS + 1, sizeof *hashes);
	struct troupe_server_def def = lib_def(lib_all, 2);
	int file = mkstemp(tape);
	cr_assert_geq(file, 0);
	close(file);
	def.by_ode = by_ode;
	def.record_path = tape;
	def.record_every = EVERY;
	def.hash_every = 1;
	def.on_hash = note_hash;
	def.ctx = hashes;
	struct troupe_server *server = lib_create(&def);
	hashes[0] = troupe_server_hash(server);
	lib_text(server, 10, "/model/cart/cmd_vel", "linear {x: 0.7} angular {z: 0.2}");
	lib_text(server, 200, "/world/w/create",
		"name: \"late\" pose {position {x: 9 z: 2}} sdf: \"<sdf version='1.9'><model name='m'><link name='l'>"
		"<inertial><mass>1</mass></inertial><collision name='c'><geometry><box><size>1 1 1</size></box>"
		"</geometry></collision></link></model></sdf>\"");
	lib_text(server, 500, "/world/w/remove", "name: \"crate\"");
	lib_text(server, 777, "/model/pusher/cmd_vel", "linear {x: 0.3}");
	lib_run(server, STEPS);
	must(troupe_server_end_recording(server, &lib_error));
	lib_destroy(server);
	return hashes;
}

static void forget(uint64_t *hashes)
{
	free(hashes);
	unlink(tape);
	memcpy(strrchr(tape, '.'), ".XXXXXX", 8);
}

static void count_server(void *ctx, struct troupe_server *server)
{
	(void)server;
	(*(uint32_t *)ctx)++;
}

static struct troupe_player *open_player(int secondaries, uint32_t *servers)
{
	struct troupe_server_def def = lib_def(NULL, secondaries);
	struct troupe_player *player = NULL;
	def.world_path = NULL;
	def.resume_path = tape;
	must(troupe_player_open(&def, count_server, servers, &player, &lib_error));
	return player;
}

static void go(struct troupe_player *player, uint64_t step, const uint64_t *hashes)
{
	uint64_t there = step > STEPS ? STEPS : step;
	must(troupe_player_go(player, step, &lib_error));
	cr_assert_eq(troupe_player_step(player), there);
	cr_assert_eq(troupe_server_hash(troupe_player_server(player)), hashes[there], "step %lu", (unsigned long)there);
}

Test(player, any_step_has_its_hash)
{
	uint64_t *hashes = record();
	for (int secondaries = 0; secondaries <= 2; secondaries++) {
		uint32_t servers = 0;
		struct troupe_player *player = open_player(secondaries, &servers);
		struct troupe_player_info info = troupe_player_info(player);
		cr_assert_eq(info.begin, 0u);
		cr_assert_eq(info.end, STEPS);
		cr_assert_eq(info.hashes, STEPS / EVERY + 1);
		cr_assert_eq(info.how, TROUPE_REPLAY_WHOLE);
		cr_assert_gt(info.states, 2u, "only %lu states in the recording", (unsigned long)info.states);
		static const uint64_t steps[] = {
			0, 1, 19, 20, 21, 203, 555, 500, 499, 501, 1200, 5000, 778, 777, 0, 900};
		for (size_t i = 0; i < ARRAY_LEN(steps); i++)
			go(player, steps[i], hashes);
		uint64_t state = 7;
		for (int i = 0; i < 20; i++)
			go(player, random_below64(&state, STEPS + 1), hashes);
		cr_assert_gt(servers, 5u);
		troupe_player_close(player);
	}
	forget(hashes);
}

/* The number of secondaries that work is not found by how long steps take: moves would depend on it. */
Test(player, no_move_depends_on_time)
{
	uint64_t *hashes = record();
	uint32_t servers = 0;
	struct troupe_player *player = open_player(TROUPE_SECONDARIES_AUTO, &servers);
	for (uint64_t step = 600; step >= 300; step -= 300) {
		go(player, step, hashes);
		struct troupe_report *report = troupe_server_report(troupe_player_server(player));
		cr_assert(!report->worlds[0].tuning.given);
		troupe_report_free(report);
	}
	cr_assert_eq(troupe_player_start(player, 0), 0u);
	for (uint64_t step = 1; step <= STEPS; step++) {
		uint64_t start = troupe_player_start(player, step);
		cr_assert(start <= step && start % EVERY == 0 && start >= troupe_player_start(player, step - 1));
	}
	cr_assert_gt(troupe_player_start(player, STEPS), 0u);
	troupe_player_close(player);
	forget(hashes);
}

Test(player, going_forward_keeps_the_server)
{
	uint64_t *hashes = record();
	uint32_t servers = 0;
	struct troupe_player *player = open_player(1, &servers);
	struct troupe_server *server = troupe_player_server(player);
	for (uint64_t step = 0; step <= STEPS; step += 17)
		go(player, step, hashes);
	cr_assert_eq(servers, 1u);
	cr_assert_eq(troupe_player_server(player), server);
	go(player, 3, hashes);
	cr_assert_eq(servers, 2u);
	troupe_player_close(player);
	forget(hashes);
}

/* A run that went on from a saved state has a recording whose first step is that of the state. */
Test(player, a_recording_that_begins_later)
{
	enum { FROM = 300, TO = 340 };
	char saved[] = "/tmp/test_player_state.XXXXXX";
	uint64_t *hashes = calloc(STEPS + 1, sizeof *hashes);
	uint32_t servers = 0;
	int files[] = {mkstemp(saved), mkstemp(tape)};
	for (int i = 0; i < 2; i++) {
		cr_assert_geq(files[i], 0);
		close(files[i]);
	}
	struct troupe_server_def def = lib_def(lib_all, 1);
	struct troupe_server *server = lib_create(&def);
	lib_run(server, FROM);
	must(troupe_server_save(server, saved, &lib_error));
	lib_destroy(server);
	def = lib_def(NULL, 1);
	def.world_path = NULL;
	def.resume_path = saved;
	def.record_path = tape;
	def.hash_every = 1;
	def.on_hash = note_hash;
	def.ctx = hashes;
	server = lib_create(&def);
	hashes[FROM] = troupe_server_hash(server);
	lib_run(server, TO);
	must(troupe_server_end_recording(server, &lib_error));
	lib_destroy(server);
	struct troupe_player *player = open_player(1, &servers);
	struct troupe_player_info info = troupe_player_info(player);
	cr_assert(info.begin == FROM && info.end == TO, "from %lu to %lu", (unsigned long)info.begin,
		(unsigned long)info.end);
	for (uint64_t step = TO; step >= FROM; step -= 20)
		go(player, step, hashes);
	must(troupe_player_go(player, 0, &lib_error));
	cr_assert_eq(troupe_player_step(player), (uint64_t)FROM, "before the first step is the first one");
	troupe_player_close(player);
	unlink(saved);
	forget(hashes);
}

Test(player, clients_see_the_state_and_cannot_change_it)
{
	uint64_t *hashes = record();
	uint32_t servers = 0;
	struct troupe_player *player = open_player(1, &servers);
	go(player, 640, hashes);
	struct troupe_server *server = troupe_player_server(player);
	struct troupe_client *client = client_of(server, 0);
	struct troupe_message message;
	request(client, "/world/w/hash", "gz.msgs.Empty", "", 1);
	cr_assert(!answer(client, 1, &message));
	troupe_player_serve(player);
	cr_assert(answer(client, 1, &message));
	Troupe__Msgs__StateHash *hash = decode(&message);
	cr_assert_eq(hash->step, 640u);
	cr_assert_eq(hash->hash, hashes[640]);
	message_free(&hash->base);
	subscribe(client, "/world/w/pose/info", 0);
	go(player, 700, hashes);
	cr_assert(troupe_client_take(client, 0, &message));
	const struct troupe_when now = {0};
	refused(TROUPE_ECOMMAND,
		troupe_client_publish(client, &now, "/model/cart/cmd_vel", NULL, "", 0, NULL, &lib_error));
	refused(TROUPE_ECOMMAND, troupe_client_call(client, "/world/w/control", NULL, "", 0, 2, &lib_error));
	refused(TROUPE_ECOMMAND,
		troupe_command_text(server, &now, "/model/cart/cmd_vel", "linear {x: 1}", NULL, &lib_error));
	client_destroy(client);
	go(player, STEPS, hashes);
	troupe_player_close(player);
	forget(hashes);
}

static void cut(long bytes)
{
	FILE *file = fopen(tape, "rb");
	cr_assert(file && !fseek(file, 0, SEEK_END));
	long size = ftell(file);
	fclose(file);
	cr_assert_eq(truncate(tape, bytes < 0 ? size + bytes : bytes), 0);
}

Test(player, what_is_left_of_a_recording_is_shown)
{
	uint64_t *hashes = record();
	uint32_t servers = 0;
	cut(-2000);
	struct troupe_player *player = open_player(0, &servers);
	struct troupe_player_info info = troupe_player_info(player);
	cr_assert_eq(info.how, TROUPE_REPLAY_CUT);
	cr_assert(info.end < STEPS && info.end > STEPS / 2);
	go(player, info.end, hashes);
	go(player, 33, hashes);
	troupe_player_close(player);
	cut(100);
	struct troupe_server_def def = lib_def(NULL, 0);
	def.world_path = NULL;
	def.resume_path = tape;
	refused(TROUPE_EWORLD, troupe_player_open(&def, NULL, NULL, &player, &lib_error));
	def.resume_path = "/nonexistent";
	refused(TROUPE_EIO, troupe_player_open(&def, NULL, NULL, &player, &lib_error));
	forget(hashes);
}

Test(player, another_state_than_the_recorded_one_is_an_error)
{
	by_ode = true; /* the rule that is broken is one of ODE's objects */
	uint64_t *hashes = record();
	uint32_t servers = 0;
	struct troupe_server_def def = lib_def(NULL, 1);
	struct troupe_player *player = NULL;
	def.world_path = NULL;
	def.resume_path = tape;
	def.break_rule = "rotation";
	must(troupe_player_open(&def, count_server, &servers, &player, &lib_error));
	refused(TROUPE_EWORLD, troupe_player_go(player, STEPS, &lib_error));
	cr_assert(strstr(lib_error.text, "is not the recorded one"), "%s", lib_error.text);
	refused(TROUPE_EWORLD, troupe_player_go(player, STEPS, &lib_error));
	troupe_player_close(player);
	forget(hashes);
}
