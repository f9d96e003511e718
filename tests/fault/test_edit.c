/* Random commands change the world during the run: models are created, removed, placed, woken and left to sleep, in
 * levels that load and unload. The outcome must be the same for any number of secondaries and with forced moves.
 * Every command gets an answer, a removed model is gone, no model sleeps that would move if it were awake, and a
 * reset restores the world of the file. Then come the faults that this test found, one by one. TROUPE_TEST_SEED=N:
 * only that sequence. */
#include "../amount.h"
#include "../random.h"
#include "check.h"

#include "base/text.h"

#include <troupe/server.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HASH_EVERY = 50, HASHES_MAX = 128, MODELS_MAX = 128, NAME_BYTES = 48 };

/* --- a run -------------------------------------------------------------------------------------------------------- */

struct line {
	uint64_t step;
	char *topic, *text;
};

typedef VEC(struct line) lines;

struct seen { /* the pose of one model at the end */
	char name[NAME_BYTES];
	struct troupe_pose pose;
	bool loaded, asleep;
};

struct look {
	struct seen models[MODELS_MAX];
	uint32_t count;
};

struct outcome {
	troupe_status status;
	uint64_t hashes[HASHES_MAX];
	uint32_t hash_count;
	struct text replies;
	uint32_t reply_count, refused;
	struct look middle, end;
};

struct setting {
	int secondaries;
	uint64_t chaos; /* 0: no forced moves */
};

static const struct setting settings[] = {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {2, 1}, {3, 2}};

static void on_hash(void *ctx, uint64_t step, uint64_t hash)
{
	struct outcome *outcome = ctx;
	(void)step;
	if (outcome->hash_count < HASHES_MAX)
		outcome->hashes[outcome->hash_count++] = hash;
}

static void on_reply(void *ctx, const struct troupe_reply *reply)
{
	struct outcome *outcome = ctx;
	outcome->reply_count++;
	outcome->refused += reply->status != TROUPE_OK;
	text_add(&outcome->replies, "%" PRIu64 " %s %d %s\n", reply->step, reply->topic, (int)reply->status,
		reply->text);
}

static void on_snapshot(void *ctx, const struct troupe_snapshot *snapshot)
{
	struct look *look = ctx;
	look->count = snapshot->model_count < MODELS_MAX ? snapshot->model_count : MODELS_MAX;
	for (uint32_t i = 0; i < look->count; i++) {
		const struct troupe_model_state *from = &snapshot->models[i];
		struct seen *to = &look->models[i];
		*to = (struct seen){.pose = from->pose, .loaded = from->loaded, .asleep = from->asleep};
		snprintf(to->name, sizeof to->name, "%s", from->name);
	}
}

static const struct seen *find(const struct look *look, const char *name)
{
	for (uint32_t i = 0; i < look->count; i++)
		if (!strcmp(look->models[i].name, name))
			return &look->models[i];
	return NULL;
}

static double distance(const struct troupe_pose *a, const struct troupe_pose *b)
{
	return sqrt((a->x - b->x) * (a->x - b->x) + (a->y - b->y) * (a->y - b->y) + (a->z - b->z) * (a->z - b->z));
}

static struct troupe_server *create(
	const char *path, const char *world, const struct setting *setting, struct outcome *outcome)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server;
	struct troupe_error error;
	def.world_path = path;
	def.world_text = world;
	def.secondaries = setting->secondaries;
	def.chaos = setting->chaos != 0;
	def.chaos_seed = setting->chaos;
	def.pace = TROUPE_PACE_FACTOR;
	def.hash_every = HASH_EVERY;
	def.on_hash = on_hash;
	def.on_reply = on_reply;
	def.ctx = outcome;
	if (troupe_server_create(&def, &server, &error)) {
		fprintf(stderr, "%s\n", error.text);
		exit(1);
	}
	return server;
}

static void run_to(struct troupe_server *server, uint64_t steps, struct outcome *outcome)
{
	struct troupe_limits limits = {.iterations = steps};
	struct troupe_error error;
	if (outcome->status || !steps)
		return;
	outcome->status = troupe_server_run(server, &limits, &error);
	if (outcome->status)
		text_add(&outcome->replies, "%s\n", error.text);
}

/* Runs for `steps`, and reads the scene after `middle` steps. */
static void run(const char *path, const char *world, const lines *commands, uint64_t middle, uint64_t steps,
	const struct setting *setting, struct outcome *outcome)
{
	*outcome = (struct outcome){0};
	struct troupe_server *server = create(path, world, setting, outcome);
	for (uint32_t i = 0; i < commands->count; i++) {
		const struct line *line = &commands->at[i];
		struct troupe_error error;
		if (troupe_server_command(server, line->step, line->topic, line->text, &error)) {
			fprintf(stderr, "%s: %s: %s\n", line->topic, line->text, error.text);
			exit(1);
		}
	}
	run_to(server, middle, outcome);
	troupe_server_snapshot(server, on_snapshot, &outcome->middle);
	run_to(server, steps, outcome);
	troupe_server_snapshot(server, on_snapshot, &outcome->end);
	troupe_server_destroy(server);
}

static void outcome_fini(struct outcome *outcome)
{
	text_fini(&outcome->replies);
}

static void add(lines *commands, uint64_t step, const char *topic, const char *format, ...) TROUPE_PRINTF(4, 5);
static void add(lines *commands, uint64_t step, const char *topic, const char *format, ...)
{
	char text[4096];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	vec_push(commands, (struct line){step, mem_strdup(topic), mem_strdup(text)});
}

static void lines_fini(lines *commands)
{
	for (uint32_t i = 0; i < commands->count; i++) {
		free(commands->at[i].topic);
		free(commands->at[i].text);
	}
	vec_free(commands);
}

/* Whether this setting is run: every second one, by turns, except in `make check-long`. */
static bool has_turn(size_t setting)
{
	static unsigned turn;
	turn += setting == 1;
	return amount_of_four(0, 0, 0, 1) || (setting + turn) % 2;
}

static void run_all(const char *what, const char *path, const char *world, const lines *commands, uint64_t middle,
	uint64_t steps, struct outcome *first)
{
	run(path, world, commands, middle, steps, &settings[0], first);
	check(first->status == TROUPE_OK, "%s: runs: %s", what, first->replies.at ? first->replies.at : "");
	for (size_t i = 1; i < ARRAY_LEN(settings); i++) {
		struct outcome other;
		uint32_t at = 0;
		if (!has_turn(i))
			continue;
		run(path, world, commands, middle, steps, &settings[i], &other);
		while (at < first->hash_count && at < other.hash_count && first->hashes[at] == other.hashes[at])
			at++;
		check(at == first->hash_count && at == other.hash_count,
			"%s: %d secondaries, chaos %d: another state at step %u", what, settings[i].secondaries,
			(int)settings[i].chaos, (at + 1) * HASH_EVERY);
		check(!strcmp(first->replies.at ? first->replies.at : "", other.replies.at ? other.replies.at : ""),
			"%s: %d secondaries, chaos %d: other replies", what, settings[i].secondaries,
			(int)settings[i].chaos);
		outcome_fini(&other);
	}
}

/* --- worlds ------------------------------------------------------------------------------------------------------- */

#define VELOCITY "<plugin name='gz::sim::systems::VelocityControl' filename='x'/>"
#define GEOMETRY_BOX(size) "<collision name='c'><geometry><box><size>" size "</size></box></geometry></collision>"

static void add_box(struct text *out, const char *name, double x, double y, double z, const char *size, bool is_static,
	const char *more)
{
	text_add(out,
		"<model name='%s'><static>%s</static><pose>%g %g %g 0 0 0</pose><link name='l'><collision "
		"name='c'><geometry><box><size>%s</size></box></geometry></collision></link>%s</model>",
		name, is_static ? "true" : "false", x, y, z, size, more);
}

static void begin_world(struct text *out)
{
	text_add(out, "<sdf version='1.9'><world name='w'><physics name='p' "
		      "type='ode'><max_step_size>0.002</max_step_size><real_time_factor>0</real_time_factor></"
		      "physics><model name='bottom'><static>true</static><pose>0 0 -4 0 0 0</pose><link "
		      "name='l'><collision name='c'><geometry><plane/></geometry></collision></link></model>");
}

static void add_level(struct text *out, const char *name, double x, const char *size, const char *refs)
{
	text_add(out,
		"<level name='%s'><pose>%g 0 0 0 0 "
		"0</pose><geometry><box><size>%s</size></box></geometry><buffer>0.5</buffer>%s</level>",
		name, x, size, refs);
}

static void add_performer(struct text *out, const char *name)
{
	text_add(out,
		"<performer name='p_%s'><ref>%s</ref><geometry><box><size>1 1 1</size></box></geometry></performer>",
		name, name);
}

static char *end_world(struct text *out, struct text *levels)
{
	if (levels->at)
		text_add(out, "<plugin name='gz::sim' filename='x'>%s</plugin>", levels->at);
	text_add(out, "</world></sdf>");
	text_fini(levels);
	return out->at;
}

enum { TILES = 3 };

/* Tiles of 8 m along x, each a level with a floor and two crates on one another; sliders that go from tile to tile;
 * models that sleep on a slab; a lamp that hangs from a beam over the slab's edge; two models tied to one another. The
 * tiles' floors end where the slab and the other models begin, and far below everything lies the bottom. */
static char *make_world(void)
{
	struct text out = {0}, levels = {0};
	begin_world(&out);
	for (int i = 0; i < TILES; i++) {
		char name[5][NAME_BYTES], refs[256];
		static const char *const stems[] = {"floor", "crate", "top", "slider", "tile"};
		for (int k = 0; k < 5; k++)
			snprintf(name[k], sizeof name[k], "%s_%d", stems[k], i);
		add_box(&out, name[0], i * 8, 0, -0.25, "8 8 0.5", true, "");
		add_box(&out, name[1], i * 8 + 2, 2, 0.25, "0.5 0.5 0.5", false, "");
		add_box(&out, name[2], i * 8 + 2, 2, 0.7, "0.4 0.4 0.4", false, "");
		if (i < 2) {
			add_box(&out, name[3], i * 8 - 1, -2, 0.3, "0.6 0.6 0.6", false, VELOCITY);
			add_performer(&levels, name[3]);
		}
		snprintf(refs, sizeof refs, "<ref>%s</ref><ref>%s</ref><ref>%s</ref>", name[0], name[1], name[2]);
		add_level(&levels, name[4], i * 8, "8 8 6", refs);
	}
	add_box(&out, "slab", 0, 10, -0.1, "6 4 0.2", true, "");
	add_box(&out, "base", 0, 10, 0.3, "0.6 0.6 0.6", false, "");
	add_box(&out, "rider", 0, 10, 0.8, "0.4 0.4 0.4", false, "");
	add_box(&out, "post", 2, 10, 0.5, "0.2 0.2 1", true, "");
	add_performer(&levels, "post");
	add_box(&out, "hook", -2, 10, 0.1, "0.8 3.6 0.2", false, "");
	add_box(&out, "lamp", -2, 7.6, -0.1, "0.3 0.3 0.3", false, "");
	add_box(&out, "left", 6, 10, -3.75, "0.5 0.5 0.5", false, VELOCITY);
	add_box(&out, "right", 6, 11, -3.75, "0.5 0.5 0.5", false, "");
	text_add(&out, "<actor name='walker'><pose>0 14 0.5 0 0 0</pose><link name='l'>" GEOMETRY_BOX(
			       "0.4 0.4 1") "</link><script><loop>true</loop><trajectory id='0' "
					    "type='w'><waypoint><time>0</time><pose>-2 0 0 0 0 "
					    "0</pose></waypoint><waypoint><time>1</time><pose>2 0 0 0 0 "
					    "0</pose></waypoint><waypoint><time>2</time><pose>-2 0 0 0 0 "
					    "0</pose></waypoint></trajectory></script></actor><light name='sun' "
					    "type='directional'/><light name='lamp' type='point'/><joint name='chain' "
					    "type='fixed'><parent>hook</parent><child>lamp</child></joint><joint "
					    "name='tie' type='revolute'><pose relative_to='left'>0 0 0 0 0 "
					    "0</pose><parent>left</parent><child>right</child><axis><xyz>0 0 "
					    "1</xyz></axis></joint>");
	return end_world(&out, &levels);
}

/* --- sequences ---------------------------------------------------------------------------------------------------- */

static const char *const movers[] = {"crate_0", "crate_1", "crate_2", "top_0", "top_1", "top_2", "slider_0", "slider_1",
	"base", "rider", "hook", "lamp", "left", "right", "walker"};
static const char *const statics[] = {"floor_0", "floor_1", "floor_2", "slab", "post"};
static const char *const drivers[] = {"slider_0", "slider_1", "left"};

/* The name of a model of the file, of a model that may have been created, or, seldom, a name that no model ever has. */
static const char *any_name(uint64_t *dice, char name[NAME_BYTES])
{
	uint32_t kind = random_below(dice, 10);
	if (kind < 4)
		return movers[random_below(dice, ARRAY_LEN(movers))];
	if (kind < 6)
		return statics[random_below(dice, ARRAY_LEN(statics))];
	snprintf(name, NAME_BYTES, kind < 9 ? "new_%u" : "nobody_%u", random_below(dice, 6));
	return name;
}

static const char *const kinds[] = {
	"<model name='m'><link name='l'>" GEOMETRY_BOX("0.5 0.5 0.5") "</link></model>",
	"<model name='m'><link name='l'>" GEOMETRY_BOX("0.6 0.4 0.3") "</link>" VELOCITY "</model>",
	"<model name='m'><static>true</static><link name='l'>" GEOMETRY_BOX("2 2 0.2") "</link></model>",
	"<model name='m'><link name='l'>" GEOMETRY_BOX("0.5 0.5 0.2") "</link><link name='k'><pose>0 0 0.3 0 0 "
								      "0</pose>" GEOMETRY_BOX(
									      "0.2 0.6 0.2") "</link><joint name='j' "
											     "type='revolute'><parent>"
											     "l</parent><child>k</"
											     "child><axis><xyz>0 0 "
											     "1</xyz></axis></"
											     "joint><plugin "
											     "name='gz::sim::systems::"
											     "JointController' "
											     "filename='x'><joint_name>"
											     "j</joint_name></plugin></"
											     "model>",
	"<model name='m'><link name='l'><collision "
	"name='c'><geometry><sphere><radius>0.3</radius></sphere></geometry></collision></link></model>",
	"<actor name='m'><link name='l'>" GEOMETRY_BOX(
		"0.3 0.3 0.8") "</link><script><loop>true</loop><trajectory id='0' "
			       "type='w'><waypoint><time>0</time><pose>0 0 0.5 0 0 "
			       "0</pose></waypoint><waypoint><time>1</time><pose>0 1 0.5 0 0 "
			       "0</pose></waypoint><waypoint><time>2</time><pose>0 0 0.5 0 0 "
			       "0</pose></waypoint></trajectory></script></actor>",
	"<model name='m'><link name='l'><inertial><mass>5</mass></inertial><collision "
	"name='c'><geometry><mesh><scale>0.4 0.4 "
	"0.4</scale><uri>models/shapes/block.obj</uri></mesh></geometry></collision></link></model>",
	"<model name='m'><static>true</static><link name='l'><collision name='c'><geometry><mesh><scale>0.3 0.3 "
	"0.3</scale><uri>models/shapes/ramp.dae</uri></mesh></geometry></collision></link></model>",
	"<light name='m' type='point'/>",
};

static void random_place(uint64_t *dice, char text[160])
{
	bool row = random_below(dice, 3) > 0;
	double x = row ? random_between(dice, -4, 20) : random_between(dice, -3, 7),
	       y = row ? random_between(dice, -4, 4) : random_between(dice, 8, 12);
	snprintf(text, 160, "position {x: %g y: %g z: %g} orientation {w: 1 z: %g}", x, y,
		random_between(dice, 0.2, 2.5), random_below(dice, 2) ? random_between(dice, -1, 1) : 0);
}

static void add_create(lines *commands, uint64_t *dice, uint64_t step)
{
	char pose[160];
	random_place(dice, pose);
	add(commands, step, "/world/w/create",
		"name: 'new_%u' allow_renaming: %s sdf: \"<sdf version='1.9'>%s</sdf>\" pose {%s}",
		random_below(dice, 6), random_below(dice, 8) ? "false" : "true",
		kinds[random_below(dice, ARRAY_LEN(kinds))], pose);
}

static void add_drive(lines *commands, uint64_t *dice, uint64_t step)
{
	char topic[96], name[NAME_BYTES];
	const char *who = drivers[random_below(dice, ARRAY_LEN(drivers))];
	if (random_below(dice, 3) == 0)
		who = any_name(dice, name);
	if (random_below(dice, 5) == 0) {
		snprintf(topic, sizeof topic, "/model/%s/joint/j/cmd_vel", who);
		add(commands, step, topic, "data: %g", random_between(dice, -4, 4));
	} else {
		snprintf(topic, sizeof topic, "/model/%s/cmd_vel", who);
		add(commands, step, topic, "linear: {x: %g y: %g}", random_between(dice, -6, 8),
			random_between(dice, -1, 1));
	}
}

/* In most cases a control that lets the world run. */
static void add_pace(lines *commands, uint64_t *dice, uint64_t step)
{
	uint32_t kind = random_below(dice, 6), steps = random_below(dice, 200) + 1;
	const char *pause = kind == 0 ? "pause: true" : kind < 4 ? "pause: false" : "";
	uint64_t until_ns = step * 2000000 + steps * 1000000u;
	if (random_below(dice, 3) == 0)
		add(commands, step, "/world/w/control", "%s run_to_sim_time {sec: %" PRIu64 " nsec: %" PRIu64 "}",
			pause, until_ns / 1000000000, until_ns % 1000000000);
	else
		add(commands, step, "/world/w/control", "%s multi_step: %u", pause, steps);
}

static void add_random(lines *commands, uint64_t *dice, uint64_t step)
{
	char pose[160], more[160], name[NAME_BYTES], other[NAME_BYTES];
	random_place(dice, pose);
	random_place(dice, more);
	const char *who = any_name(dice, name), *whom = any_name(dice, other);
	switch (random_below(dice, 28)) {
	case 0 ... 4:
		add_create(commands, dice, step);
		break;
	case 5 ... 8:
		add(commands, step, "/world/w/remove", "name: '%s'", who);
		break;
	case 9 ... 10:
		add(commands, step, "/world/w/set_pose", "name: '%s' %s", who, pose);
		break;
	case 11:
		add(commands, step, "/world/w/set_pose_vector", "pose {name: '%s' %s} pose {name: '%s' %s}", who, pose,
			whom, more);
		break;
	case 12:
		add(commands, step, "/world/w/set_physics", "max_step_size: %g gravity {z: %g}",
			random_below(dice, 2) ? 0.002 : 0.001,
			random_below(dice, 2) ? -9.8 : random_between(dice, -15, -5));
		break;
	case 13:
		add(commands, step, "/world/w/level/set_performer", "data: '%s' size {x: %g}", who,
			random_between(dice, 0.5, 4));
		break;
	case 14:
		add(commands, step, "/world/w/level/set_performer", "data: '%s' remove: true", who);
		break;
	case 15:
		if (random_below(dice, 4) == 0)
			add(commands, step, "/world/w/control", "reset {%s: true}",
				random_below(dice, 3) == 0 ? "all"
				: random_below(dice, 2)    ? "model_only"
							   : "time_only");
		else
			add_pace(commands, dice, step);
		break;
	case 16 ... 17:
		add(commands, step, "/world/w/reset_model", "name: '%s'", who);
		break;
	case 22:
		add(commands, step, "/world/w/remove", "name: '%s' type: LIGHT",
			random_below(dice, 2) ? "sun" : "lamp");
		break;
	case 23:
		add(commands, step, "/world/w/remove", "id: %u", random_below(dice, 40));
		break;
	case 24:
		add(commands, step, "/world/w/set_pose", "id: %u %s", random_below(dice, 40), pose);
		break;
	case 25:
		add(commands, step, "/world/w/set_velocity", "name: '%s' linear {x: %g z: %g} angular {z: %g}", who,
			random_between(dice, -6, 8), random_between(dice, 0, 3), random_between(dice, -5, 5));
		break;
	case 26:
		add(commands, step, "/world/w/wrench",
			"entity {name: '%s'} wrench {force {y: %g} torque {x: %g} force_offset {z: %g}}", who,
			random_between(dice, -500, 500), random_between(dice, -50, 50), random_between(dice, -1, 1));
		break;
	case 27:
		add(commands, step, "/world/w/set_joint", "name: '%s' joint: '%s' position: %g velocity: %g", who,
			random_below(dice, 2) ? "tie" : "j", random_between(dice, -2, 2), random_between(dice, -3, 3));
		break;
	case 18: /* two commands in one step */
		add_create(commands, dice, step);
		add(commands, step, "/world/w/remove", "name: 'new_%u'", random_below(dice, 6));
		add_create(commands, dice, step);
		break;
	default:
		add_drive(commands, dice, step);
	}
}

enum { SEQUENCE_STEPS = 1200, STILL_STEPS = 400, FRESH_STEPS = 300, BURSTS = 24 };

static int by_step(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	return x->step < y->step ? -1 : x->step > y->step;
}

/* Commands come in bursts, each burst at one step or a few. The first command creates a model: from then on a file may
 * have topics without a listener. */
static void make_sequence(uint64_t seed, lines *commands)
{
	uint64_t dice = seed;
	add_create(commands, &dice, 0);
	for (int burst = 0; burst < BURSTS; burst++) {
		uint64_t step =
			(uint64_t)burst * (SEQUENCE_STEPS / BURSTS) + random_below(&dice, SEQUENCE_STEPS / BURSTS);
		for (uint32_t i = random_below(&dice, 4); i < 4; i++)
			add_random(commands, &dice, step + (random_below(&dice, 3) ? 0 : random_below(&dice, 4)));
	}
	for (size_t i = 0; i < ARRAY_LEN(drivers); i++) {
		char topic[96];
		snprintf(topic, sizeof topic, "/model/%s/cmd_vel", drivers[i]);
		add(commands, SEQUENCE_STEPS, topic, "linear: {x: 0}");
	}
	add(commands, SEQUENCE_STEPS, "/world/w/control", "pause: false");
	/* a stable sort: commands of one step stay in their order */
	for (uint32_t i = 1; i < commands->count; i++)
		for (uint32_t k = i; k && by_step(&commands->at[k - 1], &commands->at[k]) > 0; k--) {
			struct line swap = commands->at[k];
			commands->at[k] = commands->at[k - 1];
			commands->at[k - 1] = swap;
		}
}

static const char *last_of(const char *text, const char *part)
{
	const char *last = NULL;
	for (const char *at = text; at && (at = strstr(at, part)); at++)
		last = at;
	return last;
}

/* The last command for a name decides whether the model exists. */
static void check_name(const char *what, const char *name, bool of_file, const struct outcome *outcome)
{
	char created[96], removed[96];
	snprintf(created, sizeof created, "model '%s' created", name);
	snprintf(removed, sizeof removed, "model '%s' removed", name);
	const char *came = last_of(outcome->replies.at, created), *went = last_of(outcome->replies.at, removed);
	bool shown = find(&outcome->end, name) != NULL;
	if (went && (!came || came < went))
		check(!shown, "%s: '%s' was removed and is still there", what, name);
	else if (of_file)
		check(shown, "%s: '%s' is not there", what, name);
}

/* The service control gives no reply. */
static void check_replies(const char *what, const lines *commands, const struct outcome *outcome)
{
	uint32_t services = 0;
	bool reset = false;
	for (uint32_t i = 0; i < commands->count; i++) {
		bool control = !strcmp(commands->at[i].topic, "/world/w/control");
		services += !control && !strncmp(commands->at[i].topic, "/world/", 7);
		reset |= control && strstr(commands->at[i].text, "reset") && !strstr(commands->at[i].text, "time");
	}
	check(outcome->reply_count >= services, "%s: %u commands to services, %u replies", what, services,
		outcome->reply_count);
	for (size_t i = 0; !reset && i < ARRAY_LEN(movers); i++)
		check_name(what, movers[i], true, outcome);
	for (int i = 0; !reset && i < 6; i++) {
		char name[NAME_BYTES];
		snprintf(name, sizeof name, "new_%d", i);
		check_name(what, name, false, outcome);
	}
}

/* All models are woken, by a gravity that equals the old one; models that would have stayed asleep must stay where they
 * are. */
static void check_sleepers(
	const char *what, const char *path, const char *world, lines *commands, const struct outcome *slept)
{
	struct outcome woken;
	add(commands, SEQUENCE_STEPS + 50, "/world/w/set_physics", "max_step_size: 0.002 gravity {z: -9.8}");
	add(commands, SEQUENCE_STEPS + 51, "/world/w/set_physics", "gravity {z: -9.80001}");
	run(path, world, commands, SEQUENCE_STEPS + 50, SEQUENCE_STEPS + STILL_STEPS, &settings[0], &woken);
	for (uint32_t i = 0; i < slept->end.count; i++) {
		const struct seen *end = &slept->end.models[i], *middle = find(&slept->middle, end->name);
		const struct seen *awake = find(&woken.end, end->name);
		if (!middle || !awake || !end->loaded || !middle->asleep || !end->asleep ||
			memcmp(&middle->pose, &end->pose, sizeof end->pose) != 0)
			continue;
		check(distance(&end->pose, &awake->pose) < 0.02,
			"%s: '%s' slept at %g %g %g and would move to %g %g %g", what, end->name, end->pose.x,
			end->pose.y, end->pose.z, awake->pose.x, awake->pose.y, awake->pose.z);
	}
	outcome_fini(&woken);
}

static void check_reset(const char *what, const char *path, const char *world, lines *commands)
{
	static const lines none;
	struct outcome fresh, reset;
	uint64_t at = SEQUENCE_STEPS + STILL_STEPS;
	add(commands, at, "/world/w/control", "pause: false");
	add(commands, at, "/world/w/set_physics", "max_step_size: 0.002 gravity {x: 0 y: 0 z: -9.8}");
	add(commands, at, "/world/w/control", "reset {all: true}");
	run(path, world, &none, 0, FRESH_STEPS, &settings[0], &fresh);
	run(path, world, commands, 0, at + FRESH_STEPS, &settings[2], &reset);
	for (uint32_t i = 0; i < FRESH_STEPS / HASH_EVERY; i++)
		check(at / HASH_EVERY + i < reset.hash_count && fresh.hashes[i] == reset.hashes[at / HASH_EVERY + i],
			"%s: %u steps after a reset not as after the start", what, (i + 1) * HASH_EVERY);
	check(fresh.end.count == reset.end.count, "%s: %u models after a reset, %u after the start", what,
		reset.end.count, fresh.end.count);
	outcome_fini(&fresh);
	outcome_fini(&reset);
}

static void sequence(uint64_t seed, const char *path, const char *world)
{
	char what[64];
	lines commands = {0};
	struct outcome outcome;
	snprintf(what, sizeof what, "sequence %" PRIu64, seed);
	make_sequence(seed, &commands);
	if (getenv("TROUPE_TEST_SEED"))
		for (uint32_t i = 0; i < commands.count; i++)
			printf("%" PRIu64 " %s %s\n", commands.at[i].step, commands.at[i].topic, commands.at[i].text);
	run_all(what, path, world, &commands, SEQUENCE_STEPS + 50, SEQUENCE_STEPS + STILL_STEPS, &outcome);
	if (getenv("TROUPE_TEST_SEED"))
		printf("%s", outcome.replies.at);
	if (!outcome.status) {
		check_replies(what, &commands, &outcome);
		check_sleepers(what, path, world, &commands, &outcome);
		check_reset(what, path, world, &commands);
	}
	outcome_fini(&outcome);
	lines_fini(&commands);
}

/* --- who must wake ------------------------------------------------------------------------------------------------ */

enum { ASLEEP_BY = 600, WOKEN_BY = 900 };

struct wake_case {
	const char *what;
	const char *before;       /* a model that is created at the start; NULL: none */
	const char *topic, *text; /* at step ASLEEP_BY; NULL: nothing is commanded */
	const char *model;        /* asleep until then, and must be awake afterwards */
};

#define SERVICE "/world/w/"
#define BOX_SDF "<sdf version='1.9'><model name='m'><link name='l'>" GEOMETRY_BOX("0.4 0.4 0.4") "</link></model></sdf>"
#define ACTOR_SDF                                                                                                      \
	"<sdf version='1.9'><actor name='m'><link name='l'>" GEOMETRY_BOX(                                             \
		"0.4 0.4 0.4") "</link><script><delay_start>1.3</delay_start><trajectory id='0' "                      \
			       "type='w'><waypoint><time>0</time><pose>-1 0 0 0 0 "                                    \
			       "0</pose></waypoint><waypoint><time>0.4</time><pose>0 0 0 0 0 "                         \
			       "0</pose></waypoint></trajectory></script></actor></sdf>"

static const struct wake_case wake_cases[] = {
	{"a floor is removed", NULL, SERVICE "remove", "name: 'slab'", "rider"},
	{"a floor is put elsewhere", NULL, SERVICE "set_pose", "name: 'slab' position {z: -2}", "rider"},
	{"a floor is lifted", NULL, SERVICE "set_pose", "name: 'slab' position {y: 10}", "rider"},
	{"the base under a model is removed", NULL, SERVICE "remove", "name: 'base'", "rider"},
	{"the base under a model is put elsewhere", NULL, SERVICE "set_pose", "name: 'base' position {x: 90}", "rider"},
	{"the model from which another hangs is removed", NULL, SERVICE "remove", "name: 'hook'", "lamp"},
	{"gravity turns", NULL, SERVICE "set_physics", "gravity {x: 9 z: -5}", "rider"},
	{"a model is commanded", NULL, "/model/left/cmd_vel", "linear: {x: 1}", "left"},
	{"the model at the other end of a joint is commanded", NULL, "/model/left/cmd_vel", "linear: {x: 1}", "right"},
	{"a joint is commanded",
		"name: 'new' pose {position {x: 1.2 y: 9 z: 0.1}} sdf: \"<sdf version='1.9'><model name='m'><link "
		"name='k'>" GEOMETRY_BOX("0.2 0.2 0.2") "</link><link name='l'><pose>0 0 0.2 0 0 0</pose>" GEOMETRY_BOX(
			"0.9 0.1 0.1") "</link><joint name='j' "
				       "type='revolute'><parent>k</parent><child>l</child><axis><xyz>0 0 "
				       "1</xyz></axis></joint><plugin name='gz::sim::systems::JointController' "
				       "filename='x'><joint_name>j</joint_name></plugin></model></sdf>\"",
		"/model/new/joint/j/cmd_vel", "data: 9", "new"},
	{"an actor comes", "name: 'new' pose {position {x: 0 y: 10 z: 0.8}} sdf: \"" ACTOR_SDF "\"", NULL, NULL,
		"rider"},
	{"another model comes down on it", NULL, SERVICE "create",
		"name: 'new' pose {position {x: 0.2 y: 10.1 z: 2}} sdf: \"" BOX_SDF "\"", "rider"},
};

/* The floor of a level that is not loaded still holds the models on it. */
static const struct wake_case sleep_cases[] = {
	{"the level of its floor is unloaded", "name: 'new' pose {position {x: 1 z: 0.2}} sdf: \"" BOX_SDF "\"",
		SERVICE "set_pose", "name: 'slider_0' position {x: -60}", "new"},
	{"the performer that keeps its floor is a performer no longer",
		"name: 'new' pose {position {x: 9 y: 1 z: 0.2}} sdf: \"" BOX_SDF "\"", SERVICE "level/set_performer",
		"data: 'slider_1' remove: true", "new"},
	{"the performer that keeps its floor is removed",
		"name: 'new' pose {position {x: 9 y: 1 z: 0.2}} sdf: \"" BOX_SDF "\"", SERVICE "remove",
		"name: 'slider_1'", "new"},
};

static void is_woken(const struct wake_case *c, const struct seen *slept, const struct seen *then)
{
	check(slept && then && (!then->asleep || distance(&slept->pose, &then->pose) > 0.01), "%s: '%s' sleeps on",
		c->what, c->model);
}

static void sleeps_on(const struct wake_case *c, const struct seen *slept, const struct seen *then)
{
	check(slept && then && then->asleep && distance(&slept->pose, &then->pose) == 0, "%s: '%s' woke, or is gone",
		c->what, c->model);
}

static void wakes(const char *path, const char *world, const struct wake_case *c,
	void (*expect)(const struct wake_case *c, const struct seen *slept, const struct seen *then))
{
	lines commands = {0};
	struct outcome outcome;
	if (c->before)
		add(&commands, 0, SERVICE "create", "%s", c->before);
	if (c->topic)
		add(&commands, ASLEEP_BY, c->topic, "%s", c->text);
	run_all(c->what, path, world, &commands, ASLEEP_BY, WOKEN_BY, &outcome);
	const struct seen *slept = find(&outcome.middle, c->model), *woken = find(&outcome.end, c->model);
	check(outcome.refused == 0, "%s: %s", c->what, outcome.replies.at ? outcome.replies.at : "");
	check(slept && slept->asleep, "%s: '%s' has slept", c->what, c->model);
	expect(c, slept, woken);
	outcome_fini(&outcome);
	lines_fini(&commands);
}

/* --- what was found ----------------------------------------------------------------------------------------------- */

/* Two performers far apart, each in its level. `lower` belongs to the level of the second performer; `upper`, which
 * sleeps on `lower`, belongs to the level of the first one. */
static char *shared_stack(void)
{
	struct text out = {0}, levels = {0};
	begin_world(&out);
	add_box(&out, "floor", 20, 0, -0.25, "8 8 0.5", true, "");
	add_box(&out, "lower", 22, 0, 0.25, "0.5 0.5 0.5", false, "");
	add_box(&out, "upper", 22, 0, 0.7, "0.4 0.4 0.4", false, "");
	add_box(&out, "first", 0, 0, -3.7, "0.6 0.6 0.6", false, VELOCITY);
	add_box(&out, "second", 20, 0, 0.3, "0.6 0.6 0.6", false, "");
	add_performer(&levels, "first");
	add_performer(&levels, "second");
	add_level(&levels, "one", 0, "8 8 16", "<ref>upper</ref>");
	add_level(&levels, "two", 20, "8 8 16", "<ref>lower</ref>");
	return end_world(&out, &levels);
}

static void support_unloaded(const char *path)
{
	char *world = shared_stack();
	lines commands = {0};
	struct outcome outcome;
	add(&commands, ASLEEP_BY, SERVICE "set_pose", "name: 'second' position {x: 60}");
	run_all("support unloaded", path, world, &commands, ASLEEP_BY, WOKEN_BY, &outcome);
	const struct seen *slept = find(&outcome.middle, "upper"), *end = find(&outcome.end, "upper");
	check(slept && slept->asleep, "a model on another level's model is asleep");
	check(end && end->loaded && fabs(end->pose.z - 0.7) < 1e-3,
		"the upper model stays on the model of a level that is unloaded, because it touches it");
	outcome_fini(&outcome);
	lines_fini(&commands);
	free(world);
}

/* A level's model sleeps on a floor that belongs to no level. The floor is removed while the level is not loaded. */
static void floor_lost_while_unloaded(const char *path)
{
	char *world = shared_stack();
	lines commands = {0};
	struct outcome outcome;
	add(&commands, 0, SERVICE "remove", "name: 'upper'");
	add(&commands, ASLEEP_BY, SERVICE "set_pose", "name: 'second' position {x: 60}");
	add(&commands, ASLEEP_BY + 10, SERVICE "remove", "name: 'floor'");
	add(&commands, ASLEEP_BY + 20, SERVICE "set_pose", "name: 'second' position {x: 20}");
	run_all("floor lost", path, world, &commands, ASLEEP_BY, WOKEN_BY, &outcome);
	const struct seen *slept = find(&outcome.middle, "lower"), *end = find(&outcome.end, "lower");
	check(slept && slept->asleep, "a level's model is asleep");
	check(end && end->loaded && end->pose.z < 0, "a level's model falls when it comes back without the floor");
	outcome_fini(&outcome);
	lines_fini(&commands);
	free(world);
}

/* A model that shares a group with two jointed models is removed: their joint must stay as the file has it. */
static void tie_keeps_its_anchor(const char *path, const char *world)
{
	lines commands = {0};
	struct outcome outcome;
	add(&commands, 0, SERVICE "create", "name: 'new' pose {position {x: 6.4 y: 10 z: -3.8}} sdf: \"" BOX_SDF "\"");
	add(&commands, 10, "/model/left/cmd_vel", "linear: {x: 1} angular: {z: 2}");
	add(&commands, 300, SERVICE "remove", "name: 'new'");
	run_all("tie", path, world, &commands, 0, 1000, &outcome);
	const struct seen *left = find(&outcome.end, "left"), *right = find(&outcome.end, "right");
	check(left && right && fabs(distance(&left->pose, &right->pose) - 1) < 0.01,
		"the distance of the tied models is the same");
	outcome_fini(&outcome);
	lines_fini(&commands);
}

/* Sleep must not depend on which runner looks at the models again. */
static void another_step_size(const char *path, const char *world)
{
	lines commands = {0};
	struct outcome outcome;
	add(&commands, ASLEEP_BY, SERVICE "set_physics", "max_step_size: 0.0005");
	add(&commands, ASLEEP_BY + 70, "/model/left/cmd_vel", "linear: {x: 1}");
	add(&commands, ASLEEP_BY + 700, SERVICE "set_physics", "max_step_size: 0.004");
	run_all("step size", path, world, &commands, ASLEEP_BY, 2000, &outcome);
	outcome_fini(&outcome);
	lines_fini(&commands);
}

static void static_performer_is_moved(const char *path, const char *world)
{
	lines commands = {0};
	struct outcome outcome;
	add(&commands, 100, SERVICE "set_pose", "name: 'post' position {x: 17.9 y: 2 z: 0.5}");
	add(&commands, 400, SERVICE "set_pose", "name: 'post' position {x: 90}");
	run_all("static performer", path, world, &commands, 300, 600, &outcome);
	const struct seen *crate = find(&outcome.middle, "crate_2"), *left = find(&outcome.end, "crate_2");
	check(crate && crate->loaded, "a level is loaded for a static performer that is put into the level");
	check(left && !left->loaded, "... and unloaded when it is put elsewhere");
	outcome_fini(&outcome);
	lines_fini(&commands);
}

/* The effects of these commands must be undone from step 600 on: as in a new start with the commands `always`. */
static void undone(const char *what, const char *path, const char *world, const lines *always, lines *commands)
{
	struct outcome fresh, outcome;
	run(path, world, always, 0, 300, &settings[0], &fresh);
	run_all(what, path, world, commands, 600, 900, &outcome);
	check(outcome.refused == 0, "%s: %s", what, outcome.replies.at ? outcome.replies.at : "");
	for (uint32_t i = 0; i < 6; i++)
		check(outcome.hash_count == 18 && outcome.hashes[12 + i] == fresh.hashes[i],
			"%s: %u steps after the reset", what, (i + 1) * HASH_EVERY);
	for (uint32_t i = 0; i < fresh.end.count; i++) {
		const struct seen *a = &fresh.end.models[i], *b = find(&outcome.end, a->name);
		check(b && a->asleep == b->asleep && a->loaded == b->loaded, "%s: '%s' is shown as at the start", what,
			a->name);
	}
	outcome_fini(&fresh);
	outcome_fini(&outcome);
	lines_fini(commands);
}

static void as_at_the_start(const char *what, const char *path, const char *world, lines *commands, const char *reset)
{
	static const lines none;
	add(commands, 600, SERVICE "control", "reset {%s: true}", reset);
	undone(what, path, world, &none, commands);
}

/* `crate` belongs to a level that is not loaded at first, but is inside one that is. */
static char *lent_crate(void)
{
	struct text out = {0}, levels = {0};
	begin_world(&out);
	add_box(&out, "crate", 2, 0, -3.75, "0.5 0.5 0.5", false, "");
	add_box(&out, "first", 0, 0, -3.7, "0.6 0.6 0.6", false, VELOCITY);
	add_box(&out, "second", 40, 0, -3.7, "0.6 0.6 0.6", false, VELOCITY);
	add_performer(&levels, "first");
	add_performer(&levels, "second");
	add_level(&levels, "near", 0, "8 8 16", "");
	add_level(&levels, "far", 20, "8 8 16", "<ref>crate</ref>");
	return end_world(&out, &levels);
}

static void resets(const char *path, const char *world)
{
	char *lent = lent_crate();
	lines commands = {0};
	add(&commands, 50, SERVICE "set_pose", "name: 'second' position {x: 20 z: -3.7}");
	as_at_the_start("reset with a level loaded", path, lent, &commands, "all");
	add(&commands, 600, "/model/first/cmd_vel", "linear: {x: 1}");
	as_at_the_start("command and reset in one step", path, lent, &commands, "all");
	add(&commands, 50, SERVICE "remove", "name: 'lamp'");
	add(&commands, 60, SERVICE "create", "name: 'lamp' sdf: \"" BOX_SDF "\" pose {position {x: 1 z: 3}}");
	add(&commands, 70, SERVICE "level/set_performer", "data: 'lamp'");
	add(&commands, 80, SERVICE "level/set_performer", "data: 'crate_0' size {x: 9}");
	add(&commands, 90, SERVICE "set_pose", "name: 'floor_1' position {x: 9 y: 1}");
	add(&commands, 590, SERVICE "remove", "name: 'slab'");
	as_at_the_start("much and a reset", path, world, &commands, "all");
	free(lent);
}

#define ARM_BASE GEOMETRY_BOX("0.6 0.6 0.3")
#define ARM_BAR GEOMETRY_BOX("0.8 0.2 0.2")
#define ARM_SDF                                                                                                        \
	"<model name='%s'><pose>%s</pose><link name='base'>" ARM_BASE                                                  \
	"</link><link name='arm'><pose>0 0 0.4 0 0 0</pose>" ARM_BAR                                                   \
	"</link><joint name='j' type='revolute'><parent>base</parent><child>arm</child><axis><xyz>0 0 "                \
	"1</xyz></axis></joint><plugin name='gz::sim::systems::JointPositionController' "                              \
	"filename='x'><joint_name>j</joint_name><p_gain>2</p_gain><i_gain>0.5</i_gain><i_max>1</i_max><i_min>-1</"     \
	"i_min></plugin>" VELOCITY "</model>"

/* Two links that a joint of the world ties to each other; another joint of the world ties a door to the world. */
#define PAIR_LINK GEOMETRY_BOX("0.5 0.5 0.5")
static const char pair_sdf[] =
	"<model name='pair'><pose>0 40 -3.75 0 0 0</pose><link name='a'>" PAIR_LINK
	"</link><link name='b'><pose>0 0 0.6 0 0 0</pose>" PAIR_LINK
	"</link></model><joint name='hinge' type='revolute'><pose "
	"relative_to='door::l'/><parent>world</parent><child>door::l</child><axis><xyz>0 0 "
	"1</xyz></axis></joint><joint name='slide' type='prismatic'><pose "
	"relative_to='pair::b'/><parent>pair::a</parent><child>pair::b</child><axis><xyz>0 0 1</xyz></axis></joint>";

/* A level with a crate, which `first` loads at the start; an arm whose controller has memory; a slab; and models with
 * joints of the world: a door, which the joint ties to the world, and a pair of links of one model, which may be put
 * anywhere. */
static char *arm_world(void)
{
	struct text out = {0}, levels = {0};
	begin_world(&out);
	add_box(&out, "crate", 2, 0, -3.75, "0.5 0.5 0.5", false, "");
	add_box(&out, "first", 0, 0, -3.7, "0.6 0.6 0.6", false, VELOCITY);
	add_box(&out, "slab", 10, 0, -3.9, "3 3 0.2", true, "");
	text_add(&out, ARM_SDF, "arm", "10 0 -3.6 0 0 0");
	add_box(&out, "door", 0, 30, -3, "1 0.1 1", false, VELOCITY);
	text_add(&out, "%s", pair_sdf);
	add_performer(&levels, "first");
	add_level(&levels, "near", 0, "8 8 16", "<ref>crate</ref>");
	return end_world(&out, &levels);
}

/* Each command is given by itself, and some in the step of the reset; after the reset no effect may be left. */
static void one_by_one(const char *path)
{
	static const char *const all[] = {"arm", "made", "slab", "ledge", "first", "crate", "door", "pair"};
	char *world = arm_world(), made[2048];
	snprintf(made, sizeof made, ARM_SDF, "m", "0 0 0 0 0 0");
	lines always = {0}, commands = {0};
	lines *const both[] = {&always, &commands};
	for (int i = 0; i < 2; i++) {
		add(both[i], 0, SERVICE "create",
			"name: 'made' pose {position {x: 20 z: -3.8}} sdf: \"<sdf version='1.9'>%s</sdf>\"", made);
		add(both[i], 0, SERVICE "create",
			"name: 'ledge' pose {position {x: 30 z: 3}} sdf: \"<sdf version='1.9'>%s</sdf>\"", kinds[2]);
		/* then no performer is near the level, unless an effect is left: another performer, or a larger one */
		add(both[i], i ? 700 : 100, SERVICE "set_pose", "name: 'first' position {x: 7 z: -3.7}");
	}
	add(&commands, 10, "/model/arm/joint/j/0/cmd_pos", "data: 1.5");
	add(&commands, 10, "/model/made/joint/j/0/cmd_pos", "data: -1.5");
	add(&commands, 20, "/model/made/cmd_vel", "linear: {x: 1 y: 2}");
	add(&commands, 30, SERVICE "set_pose", "name: 'slab' position {x: 11 z: -3.9} orientation {w: 1 z: 1}");
	add(&commands, 40, SERVICE "set_pose", "name: 'ledge' position {x: 31 z: 3}");
	add(&commands, 50, SERVICE "level/set_performer", "data: 'crate' size {x: 3}");
	add(&commands, 60, SERVICE "level/set_performer", "data: 'made'");
	add(&commands, 70, "/model/first/cmd_vel", "linear: {x: -30}");
	add(&commands, 80, SERVICE "level/set_performer", "data: 'first' size {x: 9}");
	add(&commands, 90, SERVICE "set_pose", "name: 'crate' position {x: 50 z: -3}");
	add(&commands, 90, SERVICE "set_pose", "name: 'pair' position {x: 9 y: 40 z: -2}");
	add(&commands, 95, "/model/door/cmd_vel", "angular: {z: 2}");
	add(&commands, 600, "/model/arm/cmd_vel", "linear: {x: 1}"); /* in the step of the reset, before it */
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		add(&commands, 600, SERVICE "reset_model", "name: '%s'", all[i]);
	undone("one by one", path, world, &always, &commands);
	lines_fini(&always);
	free(world);
}

/* Models that rested on a reset model must fall; a model that was at rest in the air at the start falls again. */
static void reset_wakes(const char *path, const char *world)
{
	lines commands = {0};
	struct outcome outcome;
	add(&commands, 0, SERVICE "create", "name: 'new' pose {position {x: 30 z: -3.8}} sdf: \"" BOX_SDF "\"");
	add(&commands, 0, SERVICE "create", "name: 'other' pose {position {x: 34 z: -3.3}} sdf: \"" BOX_SDF "\"");
	add(&commands, 0, SERVICE "create", "name: 'faller' pose {position {x: 38 z: -3.4}} sdf: \"" BOX_SDF "\"");
	add(&commands, 1, SERVICE "set_pose", "name: 'new' position {x: 34 z: -3.8}");
	add(&commands, ASLEEP_BY, SERVICE "reset_model", "name: 'new'");
	add(&commands, ASLEEP_BY, SERVICE "reset_model", "name: 'faller'");
	run_all("reset wakes", path, world, &commands, ASLEEP_BY, WOKEN_BY, &outcome);
	const struct seen *slept = find(&outcome.middle, "other"), *end = find(&outcome.end, "other");
	check(slept && slept->asleep && slept->pose.z > -3.45, "a box is asleep on another");
	check(end && end->pose.z < -3.7, "the upper box falls when the lower one is reset");
	slept = find(&outcome.middle, "faller");
	end = find(&outcome.end, "faller");
	check(slept && slept->asleep && end && !end->asleep, "a model that was asleep is awake after its reset");
	outcome_fini(&outcome);
	lines_fini(&commands);
}

static void not_reset(const char *path, const char *world)
{
	static const struct {
		const char *name, *why;
	} refused[] = {
		{"walker", "actor 'walker' is moved by its script"},
		{"lamp", "joint 'chain' ties model 'lamp' to model 'hook': only a reset of the world puts both back"},
		{"left", "joint 'tie' ties model 'left' to model 'right': only a reset of the world puts both back"},
		{"rider", "model 'rider' was removed: only a reset of the world brings it back"},
		{"new", "the world has no model 'new'"},
	};
	lines commands = {0};
	struct outcome outcome;
	add(&commands, 10, SERVICE "create", "name: 'new' pose {position {x: 30}} sdf: \"" BOX_SDF "\"");
	add(&commands, 20, SERVICE "remove", "name: 'new'");
	add(&commands, 20, SERVICE "remove", "name: 'rider'");
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		add(&commands, 20, SERVICE "reset_model", "name: '%s'", refused[i].name);
	add(&commands, 30, SERVICE "remove", "name: 'hook'");
	add(&commands, 30, SERVICE "reset_model", "name: 'lamp'"); /* no joint holds it any more */
	run_all("not reset", path, world, &commands, 0, 50, &outcome);
	check(outcome.refused == ARRAY_LEN(refused), "not reset: %u refused", outcome.refused);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		check(strstr(outcome.replies.at, refused[i].why) != NULL, "not reset: '%s'", refused[i].why);
	check(strstr(outcome.replies.at, "model 'lamp' reset") != NULL, "not reset: %s", outcome.replies.at);
	outcome_fini(&outcome);
	lines_fini(&commands);
}

/* A name of the greatest length, so that a new name made from it could be cut off. */
static void long_names(const char *path, const char *world)
{
	char name[1001];
	lines commands = {0};
	struct outcome outcome;
	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	for (int i = 0; i < 4; i++)
		add(&commands, 10, SERVICE "create",
			"name: '%s' allow_renaming: true sdf: \"" BOX_SDF "\" pose {position {x: %d z: -3}}", name,
			30 + i);
	add(&commands, 20, SERVICE "remove", "name: '%s_2'", name);
	run_all("long names", path, world, &commands, 0, 50, &outcome);
	check(outcome.refused == 0, "models of one long name get different names");
	outcome_fini(&outcome);
	lines_fini(&commands);
}

/* A model that a joint tied may be placed when the model at the other end is removed. */
static void untied(const char *path, const char *world)
{
	lines commands = {0};
	struct outcome outcome;
	add(&commands, 10, SERVICE "set_pose", "name: 'lamp' position {x: 30 z: -3}");
	add(&commands, 20, SERVICE "remove", "name: 'hook'");
	add(&commands, 20, SERVICE "set_pose", "name: 'lamp' position {x: 30 z: -3}");
	run_all("untied", path, world, &commands, 0, 50, &outcome);
	check(outcome.refused == 1, "a tied model cannot be moved, one that was tied can");
	outcome_fini(&outcome);
	lines_fini(&commands);
}

/* The hash after so many steps of the world, with these commands. */
static uint64_t hash_with(const char *what, const char *path, const char *world, lines *commands, uint64_t steps)
{
	struct outcome outcome;
	run_all(what, path, world, commands, 0, steps, &outcome);
	check(outcome.refused == 0, "%s: %s", what, outcome.replies.at ? outcome.replies.at : "");
	uint64_t hash = outcome.hash_count ? outcome.hashes[outcome.hash_count - 1] : 0;
	outcome_fini(&outcome);
	lines_fini(commands);
	return hash;
}

/* A command can make a performer of every model that <performer> can name: also of static models and actors. */
static void performers_of_every_kind(const char *path, const char *world)
{
	lines commands = {0};
	struct outcome outcome;
	add(&commands, 10, SERVICE "level/set_performer", "data: 'slab' size {x: 6 y: 4 z: 0}");
	add(&commands, 10, SERVICE "level/set_performer", "data: 'walker'");
	add(&commands, 20, SERVICE "set_pose", "name: 'slab' position {x: 17.9 y: 2 z: 0.5}"); /* loads tile_2 */
	add(&commands, 400, SERVICE "level/set_performer", "data: 'slab' remove: true");
	run_all("static performer by command", path, world, &commands, 300, 600, &outcome);
	const struct seen *there = find(&outcome.middle, "crate_2"), *gone = find(&outcome.end, "crate_2");
	check(outcome.refused == 0, "performers of every kind: %s", outcome.replies.at);
	check(there && there->loaded, "a level is loaded for a static model that a command made a performer");
	check(gone && !gone->loaded, "... and unloaded when it is none any more");
	check(find(&outcome.middle, "slab") && find(&outcome.middle, "slab")->loaded && !find(&outcome.end, "slab"),
		"... and it is shown while it is one");
	outcome_fini(&outcome);
	lines_fini(&commands);
}

/* The floor of a level that is not loaded holds a box, whether it is a performer or not. */
static void static_performer_of_a_level(const char *path, const char *world)
{
	lines commands = {0};
	struct outcome outcome;
	add(&commands, 0, SERVICE "set_pose", "name: 'slider_0' position {x: -60}");
	add(&commands, 0, SERVICE "set_pose", "name: 'slider_1' position {x: -70}");
	add(&commands, 1, SERVICE "create", "name: 'new' pose {position {x: 16 y: -3 z: 0.21}} sdf: \"" BOX_SDF "\"");
	/* far from its level, because a performer's box is the volume around its origin */
	add(&commands, 0, SERVICE "level/set_performer", "data: 'floor_2' size {x: 0 y: 0 z: 0}");
	add(&commands, 0, SERVICE "set_pose", "name: 'floor_2' position {x: 16 y: -6 z: -0.25}");
	add(&commands, ASLEEP_BY, SERVICE "level/set_performer", "data: 'floor_2' remove: true");
	run_all("static performer of a level", path, world, &commands, ASLEEP_BY, WOKEN_BY, &outcome);
	const struct seen *begun = find(&outcome.middle, "new"), *ended = find(&outcome.end, "new");
	check(outcome.refused == 0, "static performer of a level: %s", outcome.replies.at);
	check(begun && begun->pose.z > 0.1, "the floor of an unloaded level that is a performer holds a box");
	check(ended && ended->pose.z > 0.1, "... and holds it when it is none any more");
	outcome_fini(&outcome);
	lines_fini(&commands);
}

static void a_volume_that_is_not_given_stays(const char *path, const char *world)
{
	static const struct {
		const char *once, *again, *same;
	} cases[] = {
		{"data: 'slider_0'", "data: 'slider_0'", "data: 'slider_0' size {x: 1 y: 1 z: 1}"},
		{"data: 'base'", "data: 'base'", "data: 'base' size {x: 2 y: 2 z: 2}"},
		{"data: 'base' size {x: 3 z: 5}", "data: 'base' size {z: 4}", "data: 'base' size {x: 3 y: 2 z: 4}"},
		{"data: 'post' secondary: 2", "data: 'post' size {x: 4}", "data: 'post' size {x: 4 y: 1 z: 1}"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		lines two = {0}, one = {0};
		add(&two, 10, SERVICE "level/set_performer", "%s", cases[i].once);
		add(&two, 20, SERVICE "level/set_performer", "%s", cases[i].again);
		add(&one, 20, SERVICE "level/set_performer", "%s", cases[i].same);
		check(hash_with(cases[i].again, path, world, &two, 50) ==
				hash_with(cases[i].same, path, world, &one, 50),
			"'%s' after '%s' is as '%s'", cases[i].again, cases[i].once, cases[i].same);
	}
}

/* Ids count the models of the file, then its actors, and then created models. */
static void entities_by_id(const char *path, const char *world)
{
	lines ids = {0}, names = {0};
	struct outcome outcome;
	add(&ids, 0, SERVICE "create", "name: 'new' pose {position {x: 30 z: -3}} sdf: \"" BOX_SDF "\"");
	run_all("ids", path, world, &ids, 0, 50, &outcome);
	const char *said = strstr(outcome.replies.at, "model 'new' created, id ");
	unsigned new_id = said ? (unsigned)strtoul(strrchr(said, ' '), NULL, 10) : 0;
	check(new_id > 3, "the id is in the reply: %s", outcome.replies.at);
	outcome_fini(&outcome);
	add(&names, 0, SERVICE "create", "name: 'new' pose {position {x: 30 z: -3}} sdf: \"" BOX_SDF "\"");
	/* id 1 is the bottom, 2 the floor of the first tile, 3 its crate */
	add(&ids, 10, SERVICE "set_pose", "id: 3 position {x: 1 y: 1 z: 1}");
	add(&names, 10, SERVICE "set_pose", "name: 'crate_0' position {x: 1 y: 1 z: 1}");
	add(&ids, 10, SERVICE "set_pose_vector", "pose {id: 2 position {z: -1}} pose {id: %u position {x: 31}}",
		new_id);
	add(&names, 10, SERVICE "set_pose_vector",
		"pose {name: 'floor_0' position {z: -1}} pose {name: 'new' position {x: 31}}");
	add(&ids, 20, SERVICE "reset_model", "id: 3 name: 'crate_0'");
	add(&names, 20, SERVICE "reset_model", "name: 'crate_0'");
	add(&ids, 30, SERVICE "remove", "id: %u type: MODEL", new_id);
	add(&names, 30, SERVICE "remove", "name: 'new'");
	check(hash_with("ids", path, world, &ids, 100) == hash_with("names", path, world, &names, 100),
		"ids and names mean the same models");
	static const struct {
		const char *service, *text, *why;
	} refused[] = {
		{"remove", "id: 4000", "the world has no model with the id 4000"},
		{"remove", "id: 3 name: 'top_0'", "the model with the id 3 is 'crate_0', not 'top_0'"},
		{"remove", "type: MODEL", "neither a name nor an id: expected the name or the id of a model"},
		{"remove", "id: 3 type: LIGHT", "the world has no light with the id 3"},
		{"set_pose", "id: 5000", "the world has no model with the id 5000"},
		{"set_pose", "position {x: 1}", "neither a name nor an id"},
		{"reset_model", "id: 6000", "the world has no model with the id 6000"},
	};
	lines bad = {0};
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		char topic[64];
		snprintf(topic, sizeof topic, SERVICE "%s", refused[i].service);
		add(&bad, 10, topic, "%s", refused[i].text);
	}
	add(&bad, 10, SERVICE "remove", "id: 3");
	add(&bad, 10, SERVICE "remove", "id: 3"); /* has been removed */
	run_all("bad ids", path, world, &bad, 0, 50, &outcome);
	check(outcome.refused == ARRAY_LEN(refused) + 1, "bad ids: %s", outcome.replies.at);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		check(strstr(outcome.replies.at, refused[i].why) != NULL, "bad ids: '%s'", refused[i].why);
	outcome_fini(&outcome);
	lines_fini(&bad);
}

/* Whether a light was removed is part of the state; a reset restores the light. */
static void lights(const char *path, const char *world)
{
	lines commands = {0};
	struct outcome outcome;
	add(&commands, 10, SERVICE "remove", "name: 'sun' type: LIGHT");
	add(&commands, 20, SERVICE "remove", "name: 'sun' type: LIGHT");
	add(&commands, 20, SERVICE "remove", "name: 'sun'");
	add(&commands, 20, SERVICE "remove", "name: 'sun' type: MODEL");
	add(&commands, 20, SERVICE "remove", "name: 'crate_0' type: LIGHT");
	add(&commands, 20, SERVICE "reset_model", "name: 'sun' type: LIGHT");
	add(&commands, 30, SERVICE "remove", "name: 'lamp'"); /* also the name of a model */
	add(&commands, 40, SERVICE "remove", "name: 'lamp'");
	run_all("lights", path, world, &commands, 0, 50, &outcome);
	check(outcome.refused == 5, "lights: %s", outcome.replies.at);
	check(strstr(outcome.replies.at, "10 /world/w/remove 0 light 'sun' removed") != NULL, "lights: removed");
	check(strstr(outcome.replies.at, "the world has no light 'sun'") != NULL, "lights: removed twice");
	check(strstr(outcome.replies.at, "the world has no model 'sun'") != NULL, "lights: no model");
	check(strstr(outcome.replies.at, "the world has no light 'crate_0'") != NULL, "lights: no light");
	check(strstr(outcome.replies.at, "30 /world/w/remove 0 model 'lamp' removed") != NULL &&
			strstr(outcome.replies.at, "40 /world/w/remove 0 light 'lamp' removed") != NULL,
		"lights: a model goes before a light of its name: %s", outcome.replies.at);
	outcome_fini(&outcome);
	lines_fini(&commands);

	uint64_t none = hash_with("no light removed", path, world, &commands, 50);
	add(&commands, 10, SERVICE "remove", "name: 'sun' type: LIGHT");
	uint64_t sun = hash_with("the sun removed", path, world, &commands, 50);
	add(&commands, 10, SERVICE "remove", "name: 'lamp' type: LIGHT");
	uint64_t lamp = hash_with("the lamp removed", path, world, &commands, 50);
	check(none != sun && none != lamp && sun != lamp, "the hash has the removed lights");
	add(&commands, 10, SERVICE "remove", "name: 'sun' type: LIGHT");
	add(&commands, 10, SERVICE "remove", "name: 'lamp' type: LIGHT");
	add(&commands, 590, SERVICE "control", "reset {time_only: true}"); /* this leaves the lights as they are */
	add(&commands, 590, SERVICE "control", "pause: false");
	as_at_the_start("lights and a reset", path, world, &commands, "all");
	add(&commands, 10, SERVICE "remove", "name: 'sun' type: LIGHT");
	add(&commands, 20, SERVICE "control", "reset {model_only: true}");
	add(&commands, 30, SERVICE "remove", "name: 'sun' type: LIGHT");
	(void)hash_with("a light that came back is removed again", path, world, &commands, 50);
}

/* A fixed joint to the world, or to a model that does not move, is no joint of the scene, but it holds its model. */
static void fixed_to_the_world(const char *path)
{
	static const char *const tied[] = {"own", "welded", "nested", "worlds", "standing"};
	struct text out = {0}, levels = {0};
	begin_world(&out);
	text_add(&out,
		"<model name='own'><link name='l'>" PAIR_LINK
		"</link><joint name='j_own' type='fixed'><parent>world</parent><child>l</child></joint></model>");
	text_add(&out, "<model name='welded'><pose>0 5 0 0 0 0</pose><link name='a'>" PAIR_LINK
		       "</link><link name='b'><pose>0 0 1 0 0 0</pose>" PAIR_LINK
		       "</link><joint name='weld' type='fixed'><parent>a</parent><child>b</child></joint><joint "
		       "name='j_welded' type='fixed'><parent>world</parent><child>b</child></joint></model>");
	text_add(&out, "<model name='nested'><pose>0 10 0 0 0 0</pose><link name='l'>" PAIR_LINK
		       "</link><model name='n'><link name='k'/><joint name='j_nested' "
		       "type='fixed'><parent>world</parent><child>k</child></joint></model></model>");
	text_add(&out, "<model name='worlds'><pose>0 15 0 0 0 0</pose><link name='l'>" PAIR_LINK "</link></model>");
	text_add(&out, "<joint name='j_worlds' type='fixed'><parent>world</parent><child>worlds::l</child></joint>");
	add_box(&out, "wall", 0, 20, 0, "1 1 1", true, "");
	text_add(&out, "<model name='standing'><pose>0 20 1 0 0 0</pose><link name='l'>" PAIR_LINK "</link></model>");
	text_add(&out,
		"<joint name='j_standing' type='fixed'><parent>wall::l</parent><child>standing::l</child></joint>");
	text_add(&out, "<model name='free'><pose>0 25 0 0 0 0</pose><link name='a'>" PAIR_LINK
		       "</link><link name='b'><pose>0 0 1 0 0 0</pose>" PAIR_LINK
		       "</link><joint name='j' type='fixed'><parent>a</parent><child>b</child></joint></model>");
	text_add(&out,
		"<model name='held'><pose>0 30 0 0 0 0</pose><link name='l'><kinematic>true</kinematic>" PAIR_LINK
		"</link></model>");
	char *world = end_world(&out, &levels);
	lines commands = {0};
	struct outcome outcome;
	for (size_t i = 0; i < ARRAY_LEN(tied); i++)
		add(&commands, 10, SERVICE "set_pose", "name: '%s' position {x: 9}", tied[i]);
	add(&commands, 10, SERVICE "set_pose_vector", "pose {name: 'free' position {x: 3}} pose {name: 'own'}");
	add(&commands, 20, SERVICE "set_pose", "name: 'free' position {x: 9}");
	add(&commands, 20, SERVICE "set_pose",
		"name: 'held' position {x: 9}"); /* its link does not fall, but is not tied */
	add(&commands, 30, SERVICE "remove", "name: 'own'");
	run_all("fixed to the world", path, world, &commands, 0, 50, &outcome);
	check(outcome.refused == ARRAY_LEN(tied) + 1, "fixed to the world: %s", outcome.replies.at);
	for (size_t i = 0; i < ARRAY_LEN(tied); i++) {
		char why[128];
		snprintf(why, sizeof why, "joint 'j_%s' holds model '%s' in its place", tied[i], tied[i]);
		check(strstr(outcome.replies.at, why) != NULL, "fixed to the world: no '%s'", why);
	}
	outcome_fini(&outcome);
	lines_fini(&commands);
	free(world);
}

int main(void)
{
	const char *source = getenv("SOURCE_DIR"), *seed = getenv("TROUPE_TEST_SEED");
	char *path = mem_printf("%s/worlds/edit.sdf", source ? source : ".");
	char *world = make_world();
	uint64_t sequences = amount_of_four(6, 6, 20, 40);
	if (seed) {
		sequence(strtoull(seed, NULL, 10), path, world);
	} else {
		for (size_t i = 0; i < ARRAY_LEN(wake_cases); i++)
			wakes(path, world, &wake_cases[i], is_woken);
		for (size_t i = 0; i < ARRAY_LEN(sleep_cases); i++)
			wakes(path, world, &sleep_cases[i], sleeps_on);
		floor_lost_while_unloaded(path);
		support_unloaded(path);
		tie_keeps_its_anchor(path, world);
		another_step_size(path, world);
		static_performer_is_moved(path, world);
		resets(path, world);
		one_by_one(path);
		reset_wakes(path, world);
		not_reset(path, world);
		long_names(path, world);
		untied(path, world);
		performers_of_every_kind(path, world);
		static_performer_of_a_level(path, world);
		a_volume_that_is_not_given_stays(path, world);
		entities_by_id(path, world);
		lights(path, world);
		fixed_to_the_world(path);
		for (uint64_t i = 0; i < sequences; i++)
			sequence(i + 1, path, world);
	}
	free(world);
	free(path);
	return check_totals();
}
