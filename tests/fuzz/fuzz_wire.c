/* Steps and acks as bytes (src/run/wire.h): sound ones lead to the state of a run in one process; damaged ones are
 * refused with one line, or are such as a primary, or a secondary, can go on with.
 *
 *   fuzz_wire                some hundred rounds
 *   fuzz_wire SEED ROUNDS    so many
 *
 * A primary and two secondaries, each with a world of its own, in one thread. A round takes some sound steps; then it
 * damages the bytes of one step or ack, the same way for the same seed. With WITHOUT_MAIN it is a target for
 * tests/fuzz/run. */
#include "../random.h"
#include "../amount.h"
#include "../fault/copies.h"
#include "run/primary_internal.h"
#include "seeds.h"

#include "sensor/rays.h"

#include <unistd.h>

enum { SECONDARIES = 2, STEPS = 120, HANG_S = 60, ROUNDS = 300 };

#define LIDAR_COLUMNS 7
#define TEXT_OF(number) TEXT(number)
#define TEXT(number) #number

/* of model a: sensors of each group and of each layout of readings */
#define SENSORS                                                                                                        \
	"<sensor name='i' type='imu'><update_rate>500</update_rate></sensor><sensor name='l' "                         \
	"type='lidar'><lidar><scan><horizontal><samples>" TEXT_OF(                                                     \
		LIDAR_COLUMNS) "</samples><min_angle>-3</min_angle><max_angle>3</max_angle></horizontal></"            \
			       "scan><range><min>0.1</min><max>30</max></range></lidar></sensor><sensor name='c' "     \
			       "type='rgbd_camera'><camera><image><width>4</width><height>3</height></image></"        \
			       "camera></sensor><sensor name='v' "                                                     \
			       "type='logical_camera'><logical_camera><near>0.1</near><far>90</"                       \
			       "far><horizontal_fov>3</horizontal_fov><aspect_ratio>1</aspect_ratio></"                \
			       "logical_camera></sensor>"

static const char world[] =
	"<sdf version='1.9'><world name='w'><physics type='ode'><max_step_size>0.001</max_step_size></physics><light "
	"name='sun' type='directional'/><light name='lamp' type='point'/><model "
	"name='floor'><static>true</static><link name='l'><collision "
	"name='c'><geometry><plane/></geometry></collision></link></model><model name='a'><pose>0 0 0.5 0 0 "
	"0</pose><link name='l'><collision name='c'><geometry><box><size>1 1 "
	"1</size></box></geometry></collision>" SENSORS
	"</link><plugin name='gz::sim::systems::VelocityControl' filename='x'/></model><model name='b'><pose>0 0 1.52 "
	"0 0 0.3</pose><link name='l'><collision name='c'><geometry><sphere/></geometry></collision><visual "
	"name='v'><geometry><sphere/></geometry></visual></link></model><model name='c'><pose>9 0 0.5 0 0 "
	"0</pose><link name='l'><collision name='c'><geometry><box><size>1 1 "
	"1</size></box></geometry></collision></link></model><model name='arm'><pose>30 0 2 0 0 0</pose><link "
	"name='l'/><joint name='j' type='prismatic'><parent>world</parent><child>l</child><axis><xyz>0 0 "
	"1</xyz><dynamics><friction>3</friction></dynamics></axis><sensor name='s' "
	"type='force_torque'/></joint></model><model name='wall'><static>true</static><pose>20 0 1 0 0 0</pose><link "
	"name='l'><collision name='c'><geometry><box><size>1 1 "
	"1</size></box></geometry></collision></link></model><model name='p'><pose>17 0 0.5 0 0 0</pose><link "
	"name='l'><collision name='c'><geometry><box><size>1 1 1</size></box></geometry></collision></link><plugin "
	"name='gz::sim::systems::VelocityControl' filename='x'><initial_linear>3 0 "
	"0</initial_linear></plugin></model><plugin name='gz::sim' filename='x'><performer "
	"name='p'><ref>p</ref><geometry><box><size>1 1 1</size></box></geometry></performer><performer "
	"name='a'><ref>a</ref><geometry><box><size>1 1 1</size></box></geometry></performer><level "
	"name='hall'><pose>20 0 1 0 0 0</pose><geometry><box><size>4 4 "
	"4</size></box></geometry><buffer>0.4</buffer><ref>wall</ref></level></plugin></world></sdf>";

static const struct {
	uint64_t step;
	const char *topic, *text;
} commands[] = {
	{5, "/model/a/cmd_vel", "linear {x: 1}"},
	{10, "/world/w/create",
		"name: 'd' pose {position {x: 9 z: 1.6}} sdf: \"<sdf version='1.9'><model name='m'><link "
		"name='l'><collision name='c'><geometry><sphere/></geometry></collision></link></model></sdf>\""},
	{20, "/world/w/set_pose", "name: 'b' position {x: 3 z: 1}"},
	{25, "/world/w/set_pose", "name: 'wall' position {x: 20.5 z: 1}"},
	{28, "/world/w/set_velocity", "name: 'a' linear {y: 0.5} angular {z: 1}"},
	{29, "/world/w/wrench", "entity {name: 'b'} wrench {force {x: 20} torque {z: 3}}"},
	{29, "/world/w/wrench", "entity {name: 'a'} wrench {force {x: -4}}"},
	{30, "/world/w/remove", "name: 'd'"},
	{31, "/world/w/set_physics", "gravity {z: -5}"},
	{33, "/world/w/remove", "name: 'lamp' type: LIGHT"},
	{35, "/world/w/level/set_performer", "data: 'wall' size {x: 1 y: 1 z: 1}"},
	{40, "/world/w/remove", "name: 'c'"},
	{45, "/world/w/control", "pause: true"},
	{46, "/model/p/cmd_vel", "linear {x: -1}"},
	{48, "/world/w/control", "pause: false"},
	{60, "/world/w/control", "reset {all: true}"},
};

static uint64_t seed = 1, dice;

static void wire_must(bool good, const char *what, const struct troupe_error *error)
{
	if (good)
		return;
	fprintf(stderr, "fuzz_wire: %s%s%s; seed %llu\n0 passed, 1 failed\n", what, error ? ": " : "",
		error ? error->text : "", (unsigned long long)seed);
	exit(1);
}

/* --- both sides --------------------------------------------------------------------------------------------------- */

struct run {
	struct troupe_server *server;
	struct wire *wire;
	struct copies_secondary sides[SECONDARIES];
	struct text steps[SECONDARIES], acks[SECONDARIES];
	struct ack *merged[SECONDARIES];
};

static struct troupe_server *create(void)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server;
	struct troupe_error error;
	def.world_path = "w.sdf";
	def.world_text = world;
	def.secondaries = 0;
	def.pace = TROUPE_PACE_FACTOR;
	def.sense_all = true;
	wire_must(!troupe_server_create(&def, &server, &error), "the world", &error);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		wire_must(!troupe_server_command(server, commands[i].step, commands[i].topic, commands[i].text, &error),
			commands[i].topic, &error);
	return server;
}

static void begin(struct run *run, const struct text *state)
{
	*run = (struct run){.server = copies_server(state, SECONDARIES, 0)};
	run->server->worlds[0].primary->options.observe = OBSERVE_ALL;
	run->wire = wire_create(run->server->worlds[0].primary);
	struct text replica = copies_world(run->server);
	for (uint32_t i = 0; i < SECONDARIES; i++)
		copies_begin(&run->sides[i], &replica, i + 1);
	text_fini(&replica);
}

static void end(struct run *run)
{
	for (uint32_t i = 0; i < SECONDARIES; i++) {
		copies_end(&run->sides[i]);
		text_fini(&run->steps[i]);
		text_fini(&run->acks[i]);
	}
	wire_destroy(run->wire);
	troupe_server_destroy(run->server);
}

static bool decide(struct run *run)
{
	uint64_t begin_ns;
	struct primary *primary = run->server->worlds[0].primary;
	const struct step *step = primary_decide(primary, primary_propose(primary, UINT32_MAX, &begin_ns));
	for (uint32_t i = 0; i < SECONDARIES && step; i++) {
		run->steps[i].count = 0;
		wire_encode_step(run->wire, i, step, &run->steps[i]);
	}
	return step;
}

/* The secondary's part; false: it refused the step. */
static bool simulate(struct run *run, uint32_t i, struct troupe_error *error)
{
	struct copies_secondary *side = &run->sides[i];
	const struct step *step;
	if (copies_decode_step(side, run->steps[i].at, run->steps[i].count, &step, error)) {
		wire_must(error->status == TROUPE_EPROTOCOL && *error->text, "a refusal without a reason", error);
		return false;
	}
	const struct ack *ack = secondary_step(side->secondary, step);
	run->acks[i].count = 0;
	copies_encode_ack(side, ack, &run->acks[i]);
	return true;
}

static bool receive(struct run *run, uint32_t i, struct troupe_error *error)
{
	struct transport_message ack;
	if (wire_decode_ack(run->wire, i, run->acks[i].at, run->acks[i].count, &ack, error)) {
		wire_must(error->status == TROUPE_EPROTOCOL && *error->text, "a refusal without a reason", error);
		return false;
	}
	run->merged[i] = ack.payload;
	return true;
}

static void merge(struct run *run)
{
	struct primary *primary = run->server->worlds[0].primary;
	if (primary_check_acks(primary, run->merged))
		primary_advance(primary, run->merged);
}

static bool take_step(struct run *run, struct troupe_error *error)
{
	if (!decide(run))
		return false;
	for (uint32_t i = 0; i < SECONDARIES; i++)
		if (!simulate(run, i, error) || !receive(run, i, error))
			return false;
	merge(run);
	return !run->server->worlds[0].primary->ended;
}

/* --- a round ------------------------------------------------------------------------------------------------------ */

struct round {
	uint64_t sound; /* steps before the message */
	uint32_t whose;
	bool to_ack;
	void (*change)(struct text *message, void *ctx);
	void *ctx;
};

/* What is accepted must be possible to go on with, for a while. Whether it was refused. */
static bool go_round(const struct text *state, const struct round *round)
{
	struct troupe_error error = {0};
	struct run run;
	bool refused = false;
	begin(&run, state);
	for (uint64_t k = 0; k < round->sound; k++)
		wire_must(take_step(&run, &error), "a sound step is refused", &error);
	wire_must(decide(&run), "no step", NULL);
	for (uint32_t i = 0; i < SECONDARIES && !refused; i++) {
		bool hit = i == round->whose;
		if (hit && !round->to_ack)
			round->change(&run.steps[i], round->ctx);
		refused = !simulate(&run, i, &error);
		if (hit && round->to_ack && !refused)
			round->change(&run.acks[i], round->ctx);
		refused = refused || !receive(&run, i, &error);
	}
	if (!refused)
		merge(&run);
	for (int k = 0; k < 10 && !refused && !run.server->worlds[0].primary->ended; k++)
		if (!take_step(&run, &error))
			break;
	end(&run);
	return refused;
}

static struct text pack_state(void)
{
	struct text state = {0};
	struct troupe_server *server = create();
	copies_pack(server, &state);
	troupe_server_destroy(server);
	return state;
}

/* --- for libFuzzer ------------------------------------------------------------------------------------------------ */

enum { SOUND_MAX = 70, SEED_HEAD_BYTES = 2 };

struct input {
	const uint8_t *bytes;
	size_t count;
};

static void put_input(struct text *message, void *ctx)
{
	const struct input *input = ctx;
	message->count = 0;
	text_add_bytes(message, (const char *)input->bytes, input->count);
}

/* How many sound steps, then whose message: bit 0 an ack, bit 1 the second secondary; then the message. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	static struct text state;
	if (!state.at)
		state = pack_state();
	if (count < SEED_HEAD_BYTES)
		return 0;
	struct input input = {bytes + SEED_HEAD_BYTES, count - SEED_HEAD_BYTES};
	struct round round = {bytes[0] % SOUND_MAX, bytes[1] >> 1 & 1, bytes[1] & 1, put_input, &input};
	(void)go_round(&state, &round);
	return 0;
}

#ifndef WITHOUT_MAIN

struct seed {
	const char *folder;
	struct round round;
};

/* Instead of damage: the sound message is written. */
static void write_seed(struct text *message, void *ctx)
{
	const struct seed *wanted = ctx;
	const struct round *round = &wanted->round;
	char head[SEED_HEAD_BYTES] = {(char)round->sound, (char)(round->whose << 1 | round->to_ack)};
	struct text bytes = {0};
	text_add_bytes(&bytes, head, sizeof head);
	text_add_bytes(&bytes, message->at, message->count);
	seeds_write(wanted->folder, "wire", (unsigned)round->sound * 4 + (unsigned char)head[1], bytes.at, bytes.count);
	text_fini(&bytes);
}

/* --- sound ones --------------------------------------------------------------------------------------------------- */

/* No hash is made of a copy, so what only the scene has is compared by itself. */
static bool copies_have_lights(const struct run *run)
{
	const struct scene *scene = run->server->worlds[0].scene;
	bool same = true;
	for (uint32_t i = 0; i < SECONDARIES; i++)
		for (uint32_t l = 0; l < scene->light_count; l++)
			same &= copies_shared(&run->sides[i])->scene->lights[l].absent == scene->lights[l].absent;
	return same && scene->light_count == 2;
}

static void compare(const struct text *state)
{
	struct troupe_server *reference = create();
	const struct primary *primary = reference->worlds[0].primary;
	uint64_t contacts = 0, efforts = 0, reactions = 0;
	struct troupe_error error = {0};
	struct run run;
	begin(&run, state);
	reference->worlds[0].primary->options.observe = OBSERVE_ALL;
	for (uint64_t k = 1; k <= STEPS; k++) {
		struct troupe_limits limits = {k, 0};
		wire_must(!troupe_server_run(reference, &limits, &error), "the reference", &error);
		wire_must(take_step(&run, &error), "a sound step is refused", &error);
		wire_must(primary_hash(run.server->worlds[0].primary) == troupe_server_hash(reference), "another state",
			NULL);
		wire_must(copies_have_lights(&run), "other lights", NULL);
		wire_must(copies_observed(run.server->worlds[0].primary) == copies_observed(primary),
			"other contacts or efforts", NULL);
		wire_must(run.server->worlds[0].primary->reading_digest == primary->reading_digest, "other readings",
			NULL);
		contacts += primary->observed.contacts.count;
		efforts += primary->observed.efforts[0][0] != 0;
		reactions += primary->observed.reactions[0].force.z != 0;
	}
	wire_must(wire_counts(run.wire).robot_steps > STEPS, "nothing moved", NULL);
	wire_must(contacts > STEPS && efforts > STEPS / 2 && reactions > STEPS / 2,
		"nothing touched, or no joint exerted anything", NULL);
	wire_must(primary->reading_count > 3 * STEPS, "sensors did not measure", NULL);
	end(&run);
	troupe_server_destroy(reference);
}

/* A scan that says of itself that it has more columns than its sensor. */
static void widen_scan(struct text *message, void *ctx)
{
	static const double is[] = {LIDAR_COLUMNS, 1}, forged[] = {1e6, 1};
	bool *found = ctx;
	for (size_t i = 0; i + sizeof is <= message->count && !*found; i++)
		if (!memcmp(message->at + i, is, sizeof is)) {
			memcpy(message->at + i, forged, sizeof forged);
			*found = true;
		}
}

static void forge(const struct text *state)
{
	uint32_t found_by = 0;
	for (uint32_t i = 0; i < SECONDARIES; i++) {
		bool found = false;
		struct round round = {.sound = 3, .whose = i, .to_ack = true, .change = widen_scan, .ctx = &found};
		wire_must(go_round(state, &round) == found,
			"a scan that is too wide is accepted, or another one refused", NULL);
		found_by += found;
	}
	wire_must(found_by == 1, "not one secondary has the lidar", NULL);
}

/* --- damaged ones ------------------------------------------------------------------------------------------------- */

static void damage(struct text *bytes)
{
	static const unsigned char telling[] = {0, 1, 2, 0x7f, 0x80, 0xff, 0xf0, 0x3f};
	for (uint64_t times = 1 + random_below64(&dice, 3); times && bytes->count; times--) {
		size_t at = random_below64(&dice, bytes->count), some = 1 + random_below64(&dice, 9),
		       count = MIN(some, bytes->count - at);
		switch (random_below64(&dice, 6)) {
		case 0:
			bytes->at[at] ^= (char)(1u << random_below64(&dice, 8));
			break;
		case 1:
			bytes->at[at] = (char)telling[random_below64(&dice, ARRAY_LEN(telling))];
			break;
		case 2: /* cut off */
			bytes->count = at;
			break;
		case 3: /* some bytes are missing */
			memmove(bytes->at + at, bytes->at + at + count, bytes->count - at - count);
			bytes->count -= count;
			break;
		case 4:
			for (size_t i = 0; i < count; i++)
				bytes->at[at + i] = (char)random_below64(&dice, 256);
			break;
		default: /* some come twice */
			text_add_bytes(bytes, "        ", count);
			memmove(bytes->at + at + count, bytes->at + at, bytes->count - at - count);
		}
	}
}

static void damage_one(struct text *message, void *ctx)
{
	(void)ctx;
	damage(message);
}

int main(int argc, char **argv)
{
	struct text state = pack_state();
	const char *seeds = seeds_wanted(argc, argv);
	uint64_t rounds = amount(ROUNDS / 3, ROUNDS, 10 * ROUNDS), refused = 0;
	if (argc == 3) {
		seed = strtoull(argv[1], NULL, 10);
		rounds = strtoull(argv[2], NULL, 10);
	}
	for (uint32_t i = 0; seeds && i < 4 * SOUND_MAX; i++) {
		struct seed wanted = {seeds, {i / 4, i >> 1 & 1, i & 1, write_seed, &wanted}};
		(void)go_round(&state, &wanted.round);
	}
	if (seeds) {
		text_fini(&state);
		return 0;
	}
	alarm(HANG_S);
	compare(&state);
	if (rays_available())
		forge(&state);
	else
		printf("skipped: a forged scan: built without Embree\n");
	for (uint64_t i = 0; i < rounds; i++) {
		alarm(HANG_S);
		dice = seed;
		struct round round = {.sound = random_below64(&dice, SOUND_MAX), .change = damage_one};
		round.whose = (uint32_t)random_below64(&dice, SECONDARIES);
		round.to_ack = random_below64(&dice, 2);
		refused += go_round(&state, &round);
		seed++;
	}
	text_fini(&state);
	printf("%llu of %llu damaged ones were refused\n", (unsigned long long)refused, (unsigned long long)rounds);
	bool good = argc == 3 || (refused > rounds / 4 && refused < rounds);
	printf("%d passed, %d failed%s\n", good, !good, rays_available() ? "" : ", 1 skipped");
	return !good;
}

#endif
