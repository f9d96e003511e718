/* Faults that show only after a resume, a removal or a reset: state that is saved, cleared or reused incompletely.
 *
 * A resumed run must equal the undisturbed one in everything that can be observed: the hash of every step, replies,
 * report, which commands are accepted, and the file saved at the end, which holds every flag and number of a run. And
 * a model that comes in the place of a removed one must behave as it would in an unused place. */
#include "check.h"

#include "base/infile.h"
#include "base/text.h"

#include <troupe/report.h>
#include <troupe/server.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HASHES_MAX = 400, POINTS_MAX = 6 };

static char *path;                     /* of a file that does not exist: decides the folder of relative names */
static char *first_save, *second_save; /* files */

/* --- a run -------------------------------------------------------------------------------------------------------- */

struct said {
	uint64_t hashes[HASHES_MAX]; /* [k] of state k */
	struct text replies;
};

static void on_hash(void *ctx, uint64_t step, uint64_t hash)
{
	struct said *said = ctx;
	if (step < HASHES_MAX)
		said->hashes[step] = hash;
}

static void on_reply(void *ctx, const struct troupe_reply *reply)
{
	struct said *said = ctx;
	text_add(&said->replies, "%" PRIu64 " %s %d %s\n", reply->step, reply->topic, (int)reply->status, reply->text);
}

static struct troupe_server *create(struct troupe_server_def def, const char *world, struct said *said)
{
	struct troupe_server *server;
	struct troupe_error error;
	*said = (struct said){0};
	if (!def.resume_path) {
		def.world_path = path;
		def.world_text = world;
	}
	def.hash_every = 1;
	def.on_hash = on_hash;
	def.on_reply = on_reply;
	def.ctx = said;
	or_die(troupe_server_create(&def, &server, &error), &error);
	return server;
}

/* With no other options. */
static struct troupe_server *begin(const char *world, int32_t secondaries, struct said *said)
{
	struct troupe_server_def def = troupe_server_def_default();
	def.secondaries = secondaries;
	return create(def, world, said);
}

static void run_to(struct troupe_server *server, uint64_t steps)
{
	struct troupe_limits limits = {.iterations = steps};
	struct troupe_error error;
	if (steps)
		or_die(troupe_server_run(server, &limits, &error), &error);
}

static void end_run(struct troupe_server *server, struct said *said)
{
	troupe_server_destroy(server);
	text_fini(&said->replies);
}

static void save(struct troupe_server *server, const char *to)
{
	struct troupe_error error;
	or_die(troupe_server_save(server, to, &error), &error);
}

struct command {
	uint64_t step;
	const char *topic, *text;
};

static void give(struct troupe_server *server, const struct command *commands)
{
	struct troupe_error error;
	for (; commands && commands->topic; commands++)
		or_die(troupe_server_command(server, commands->step, commands->topic, commands->text, &error), &error);
}

static char *read_file(const char *name, size_t *ret_bytes)
{
	struct troupe_error error;
	char *bytes = NULL;
	or_die(infile_read(name, 1 << 30, &bytes, ret_bytes, &error), &error);
	return bytes;
}

static bool same_file(const char *a, const char *b)
{
	size_t a_bytes, b_bytes;
	char *x = read_file(a, &a_bytes), *y = read_file(b, &b_bytes);
	bool same = a_bytes == b_bytes && !memcmp(x, y, a_bytes);
	free(x);
	free(y);
	return same;
}

/* The report without members that depend on clocks and runners. */
static char *report_of(struct troupe_server *server)
{
	static const char *const apart[] = {"wall_time", "serial_time", "paused_time", "paused_steps", "rtf",
		"steps_per_second", "moves", "meetings", "peak_memory_bytes", "windows", "tuning", "secondary",
		"secondaries"};
	struct troupe_report *numbers = troupe_server_report(server);
	char *report = troupe_report_json(numbers), *rest = report;
	troupe_report_free(numbers);
	struct text out = {0};
	for (char *line; (line = strsep(&rest, "\n"));) {
		bool kept = true;
		for (size_t i = 0; i < sizeof apart / sizeof *apart; i++) {
			char *name = mem_printf("\"%s\":", apart[i]);
			kept = kept && !strstr(line, name);
			free(name);
		}
		if (kept)
			text_add(&out, "%s\n", line);
	}
	free(report);
	return out.at;
}

/* --- resuming ----------------------------------------------------------------------------------------------------- */

struct story {
	const char *what, *world;
	void (*options)(struct troupe_server_def *def);
	const struct command *commands;
	/* points: the steps at which a state is saved, ascending; a 0 that is not the first ends the list. steps: of
	 * the whole run */
	uint64_t points[POINTS_MAX], steps;
};

struct end {
	char *report, *replies;
	troupe_status unheard; /* of a command for a topic without a listener */
	uint64_t hash;
};

static struct end end_of(struct troupe_server *server, const struct said *said)
{
	struct end end = {.report = report_of(server), .hash = troupe_server_hash(server)};
	end.replies = mem_strdup(said->replies.at ? said->replies.at : "");
	end.unheard = troupe_server_command(server, UINT64_MAX / 4, "/nobody/listens", "data: 1", NULL);
	return end;
}

static void end_fini(struct end *end)
{
	free(end->report);
	free(end->replies);
}

static const char *first_difference(const char *a, const char *b)
{
	size_t at = 0, line = 0;
	for (; a[at] && a[at] == b[at]; at++)
		line = a[at] == '\n' ? at + 1 : line;
	return a + line;
}

/* The undisturbed run's replies from this step on. */
static const char *replies_from(const char *replies, uint64_t step)
{
	while (*replies && strtoull(replies, NULL, 10) < step)
		replies = strchr(replies, '\n') + 1;
	return replies;
}

/* before: the report of the undisturbed run at the step at which the state was saved. */
static void resume_from(const struct story *story, uint64_t point, const char *before, int secondaries,
	const struct said *said, const struct end *end)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct said again;
	char *from = mem_printf("%s.%" PRIu64, first_save, point);
	def.resume_path = from;
	def.secondaries = secondaries;
	struct troupe_server *server = create(def, NULL, &again);
	char *begins = report_of(server);
	check(!strcmp(begins, before), "%s, from %" PRIu64 ": the report before the first step: %.90s", story->what,
		point, first_difference(begins, before));
	free(begins);
	run_to(server, story->steps);
	save(server, second_save);
	struct end now = end_of(server, &again);
	uint64_t differs = 0;
	for (uint64_t k = point + 1; k <= story->steps && k < HASHES_MAX && !differs; k++)
		differs = again.hashes[k] != said->hashes[k] ? k : 0;
	check(!differs, "%s, from %" PRIu64 " with %d: another hash at step %" PRIu64, story->what, point, secondaries,
		differs);
	check(now.hash == end->hash, "%s, from %" PRIu64 ": another hash at the end", story->what, point);
	check(!strcmp(now.report, end->report), "%s, from %" PRIu64 ": the report: %.90s", story->what, point,
		first_difference(now.report, end->report));
	const char *later = replies_from(end->replies, point);
	check(!strcmp(now.replies, later), "%s, from %" PRIu64 ": a reply: %.90s", story->what, point,
		first_difference(now.replies, later));
	check(now.unheard == end->unheard, "%s, from %" PRIu64 ": a command for a topic without listener", story->what,
		point);
	check(same_file(first_save, second_save), "%s, from %" PRIu64 ": saves another file", story->what, point);
	end_fini(&now);
	text_fini(&again.replies);
	troupe_server_destroy(server);
	free(from);
}

static void goes_on(const struct story *story)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct said said;
	uint64_t points = 1;
	char *reports[POINTS_MAX];
	def.secondaries = 2;
	if (story->options)
		story->options(&def);
	struct troupe_server *server = create(def, story->world, &said);
	give(server, story->commands);
	for (uint32_t i = 0; i < POINTS_MAX && (!i || story->points[i]); i++, points = i) {
		char *to = mem_printf("%s.%" PRIu64, first_save, story->points[i]);
		run_to(server, story->points[i]);
		reports[i] = report_of(server);
		save(server, to);
		free(to);
	}
	run_to(server, story->steps);
	save(server, first_save);
	struct end end = end_of(server, &said);
	troupe_server_destroy(server);
	for (uint32_t i = 0; i < points; i++)
		for (int secondaries = 0; secondaries <= 2; secondaries += 2)
			resume_from(story, story->points[i], reports[i], secondaries, &said, &end);
	for (uint32_t i = 0; i < points; i++) {
		free(reports[i]);
		char *from = mem_printf("%s.%" PRIu64, first_save, story->points[i]);
		unlink(from);
		free(from);
	}
	end_fini(&end);
	text_fini(&said.replies);
}

#define BODY(size)                                                                                                     \
	"<inertial><mass>2</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial><collision "  \
	"name='c'><geometry><box><size>" size "</size></box></geometry></collision>"
#define BOX(name, x, y, z, more)                                                                                       \
	"<model name='" name "'><pose>" #x " " #y " " #z                                                               \
	" 0 0 0</pose><link name='l'>" BODY("0.5 0.5 0.5") "</link>" more "</model>"
#define VELOCITY "<plugin name='gz::sim::systems::VelocityControl' filename='x'/>"
#define FLOOR                                                                                                          \
	"<model name='floor'><static>true</static><pose>0 0 -0.5 0 0 0</pose><link name='l'>" BODY(                    \
		"40 40 1") "</link></model>"
#define WORLD(more)                                                                                                    \
	"<sdf version='1.9'><world name='w'><physics name='p' type='ode'><max_step_size>0.004</max_step_size>"         \
	"<real_time_factor>0</real_time_factor></physics>" more "</world></sdf>"
#define TO_W "/world/w/"
#define BOX_SDF "<sdf version='1.9'><model name='m'><link name='l'>" BODY("0.4 0.4 0.4") "</link></model></sdf>"

/* Two levels, of which the second is loaded when its performer comes; a box that slides; lights; a spinning wheel; a
 * controller that gives no command but goes on counting. */
#define COUNTING                                                                                                       \
	"<model name='counts'><pose>-5 5 0.25 0 0 0</pose><link name='l'>" BODY(                                       \
		"0.5 0.5 0.5") "</link><link "                                                                         \
			       "name='k'><pose>0 0 0.5 0 0 0</pose>" BODY(                                             \
				       "0.4 0.4 0.4") "</link><joint name='j' type='revolute'><parent>l"               \
						      "</parent><child>k</child><axis><xyz>0 0 "                       \
						      "1</xyz></axis></joint><plugin "                                 \
						      "name='gz::sim::systems::JointPositionController' "              \
						      "filename='x'><joint_name>j</joint_name><initial_position>1"     \
						      "</initial_position><p_gain>0</p_gain><i_gain>1e-3</"            \
						      "i_gain><d_gain>0</d_gain><i_max>9</i_max><i_min>-9</i_min>"     \
						      "<cmd_max>0</cmd_max><cmd_min>0</cmd_min></plugin></model>"
#define STAGE                                                                                                          \
	FLOOR BOX("mover", 0, 0, 0.25, VELOCITY) BOX("load", 1.2, 0, 0.25, "") BOX("far", 9, 0.8, 0.25, "") COUNTING   \
		"<light name='sun' type='directional'/><light name='lamp' type='point'/><plugin name='gz::sim' "       \
		"filename='x'>"                                                                                        \
		"<performer name='p'><ref>mover</ref><geometry><box><size>0.5 0.5 "                                    \
		"0.5</size></box></geometry></performer>"                                                              \
		"<level name='home'><geometry><box><size>4 4 9</size></box></geometry><ref>load</ref></level><level "  \
		"name='away'><pose>9 0 0 0 0 0</pose><geometry><box><size>2 4 "                                        \
		"9</size></box></geometry><ref>far</ref></level>"                                                      \
		"</plugin>"

static void no_sleep(struct troupe_server_def *def)
{
	def->sleepless = true;
}

static void no_levels(struct troupe_server_def *def)
{
	def->ignore_levels = true;
}

static void later(struct troupe_server_def *def)
{
	def->initial_time_s = 12.5;
}

static void seeded(struct troupe_server_def *def)
{
	def->seed = 77;
}

static void begins_paused(struct troupe_server_def *def)
{
	def->paused = true;
}

static void at_a_rate(struct troupe_server_def *def)
{
	def->pace = TROUPE_PACE_RATE;
	def->rate_hz = 3e5;
}

static void at_a_factor(struct troupe_server_def *def)
{
	def->pace = TROUPE_PACE_FACTOR;
	def->rtf = 900;
}

static const struct command moves[] = {{10, "/model/mover/cmd_vel", "linear: {x: 1}"}, {0, NULL, NULL}};

static const struct command reset_later[] = {{10, "/model/mover/cmd_vel", "linear: {x: 1}"},
	{150, TO_W "control", "reset {time_only: true}"}, {220, TO_W "control", "reset {all: true}"},
	{230, "/model/mover/cmd_vel", "linear: {y: 1}"}, {0, NULL, NULL}};

static const struct command paced[] = {{10, "/model/mover/cmd_vel", "linear: {x: 1}"},
	{40, TO_W "control", "pause: true"}, {60, TO_W "control", "multi_step: 30"},
	{110, TO_W "control", "run_to_sim_time {nsec: 480000000}"}, {200, TO_W "control", "pause: true multi_step: 20"},
	{260, TO_W "control", "pause: false"}, {0, NULL, NULL}};

static const struct command physics[] = {{20, TO_W "set_physics", "max_step_size: 0.0003 gravity {x: 1 y: 2 z: -5}"},
	{120, TO_W "set_physics", "max_step_size: 0.01 real_time_factor: 700"},
	{200, TO_W "set_physics", "gravity {y: -1}"}, {0, NULL, NULL}};

static const struct command performers[] = {{5, TO_W "level/set_performer", "data: 'load' size {x: 1 y: 2 z: 3}"},
	{15, TO_W "level/set_performer", "data: 'mover' secondary: 2"},
	{15, TO_W "level/set_performer", "data: 'far' secondary: 1 size {x: 4}"},
	{60, TO_W "level/set_performer", "data: 'floor' size {x: 1 y: 1 z: 1}"},
	{90, TO_W "level/set_performer", "data: 'far' remove: true"},
	{120, TO_W "set_pose", "name: 'load' position {x: 9 z: 0.25}"},
	{170, TO_W "level/set_performer", "data: 'floor' remove: true"}, {200, TO_W "reset_model", "name: 'load'"},
	{0, NULL, NULL}};

static const struct command comings[] = {
	{10, TO_W "create", "name: 'new' pose {position {x: -3 z: 2}} sdf: \"" BOX_SDF "\""},
	{20, TO_W "create", "name: 'new' pose {position {x: -3 z: 2}} sdf: \"" BOX_SDF "\""}, /* refused */
	{30, TO_W "remove", "name: 'load'"}, {30, TO_W "remove", "name: 'nobody'"},
	{35, TO_W "create",
		"name: 'bad' sdf: \"<sdf version='1.9'><model name='m'><link name='l'/><link name='k'/><joint "
		"name='j' type='revolute'><parent>l</parent><child>k</child><axis><xyz>0 0 1</xyz></axis></joint>"
		"<plugin name='gz::sim::systems::DiffDrive' filename='x'><left_joint>j</left_joint><right_joint>j"
		"</right_joint></plugin></model></sdf>\""}, /* refused by its plug-in */
	{36, TO_W "create", "name: 'nothing'"},             /* refused: nothing to create */
	{40, TO_W "remove", "name: 'lamp' type: LIGHT"},
	{50, TO_W "create",
		"name: 'slab' pose {position {x: -3 z: 0.3}} sdf: \"<sdf version='1.9'><model name='m'>"
		"<static>true</static><link name='l'>" BODY("2 2 0.2") "</link></model></sdf>\""},
	{60, TO_W "remove", "name: 'new'"},
	{70, TO_W "create", "name: 'next' pose {position {x: -3 z: 2}} sdf: \"" BOX_SDF "\""},
	{80, TO_W "set_pose", "name: 'floor' position {z: -0.6}"},
	{90, TO_W "set_pose", "name: 'slab' position {x: -3 z: 0.6}"}, {180, TO_W "remove", "name: 'slab'"},
	{190, TO_W "create_multiple",
		"data {name: 'a' pose {position {x: 4 z: 3}} sdf: \"" BOX_SDF
		"\"} data {name: 'b' pose {position {x: 4 y: 2 z: 3}} sdf: \"" BOX_SDF "\"}"},
	{250, TO_W "remove", "name: 'a'"}, {260, "/model/next/cmd_vel", "linear: {x: 1}"}, /* no listener */
	{0, NULL, NULL}};

/* A level's own model becomes a performer, and goes where no level is: its level is unloaded, but the model stays. */
static const struct command own_ways[] = {{5, TO_W "level/set_performer", "data: 'load' size {x: 1 y: 1 z: 1}"},
	{20, TO_W "set_pose", "name: 'load' position {x: -15 y: 15 z: 0.5}"},
	{25, TO_W "set_pose", "name: 'mover' position {x: 30 z: 0.25}"}, {0, NULL, NULL}};

static const struct command multiple[] = {
	{190, TO_W "create_multiple", "data {name: 'a' pose {position {x: 4 z: 3}} sdf: \"" BOX_SDF "\"}"},
	{0, NULL, NULL}};

static const struct story stories[] = {
	{"as it is", WORLD(STAGE), NULL, moves, {0, 100, 260}, 300},
	{"--no-sleep", WORLD(STAGE), no_sleep, moves, {0, 50, 260}, 300},
	{"--no-levels", WORLD(STAGE), no_levels, moves, {0, 50}, 300},
	{"--initial-sim-time", WORLD(STAGE), later, reset_later, {0, 100, 180, 225}, 300},
	{"--seed", WORLD(STAGE), seeded, moves, {0, 50}, 100},
	{"paused at first", WORLD(STAGE), begins_paused, paced, {0, 50}, 300},
	{"a rate", WORLD(STAGE), at_a_rate, moves, {0, 50}, 100},
	{"a factor", WORLD(STAGE), at_a_factor, moves, {0, 50}, 100},
	{"pauses", WORLD(STAGE), NULL, paced, {35, 50, 75, 150, 205, 270}, 320},
	{"physics", WORLD(STAGE), NULL, physics, {10, 50, 150, 250}, 300},
	{"performers", WORLD(STAGE), NULL, performers, {10, 40, 100, 150, 190, 250}, 300},
	{"comings and goings", WORLD(STAGE), NULL, comings, {5, 35, 65, 185, 255, 290}, 300},
	{"a performer of an unloaded level", WORLD(STAGE), NULL, own_ways, {10, 22, 60}, 120},
	{"several to come", WORLD(STAGE), NULL, multiple, {100, 250}, 300},
	{"a reset", WORLD(STAGE), NULL, reset_later, {140, 210, 230}, 300},
};

/* The number of secondaries changes during the run. A secondary that had no part in a step must still see the changes
 * that the step made to the world. */
static void numbers_that_change(void)
{
	enum { SEEDS = 6 };
	for (size_t i = 0; i < sizeof stories / sizeof *stories; i++) {
		struct said said;
		for (uint64_t seed = 0; seed <= SEEDS; seed++) {
			struct troupe_server_def def = troupe_server_def_default();
			struct said again;
			if (stories[i].options)
				stories[i].options(&def);
			def.secondaries = seed ? TROUPE_SECONDARIES_AUTO : 0;
			def.chaos = seed > 0;
			def.chaos_seed = seed;
			struct troupe_server *server = create(def, stories[i].world, seed ? &again : &said);
			give(server, stories[i].commands);
			run_to(server, stories[i].steps);
			troupe_server_destroy(server);
			text_fini(seed ? &again.replies : &said.replies);
			check(!seed || !memcmp(said.hashes, again.hashes, sizeof said.hashes),
				"%s: the same when numbers change, with %d", stories[i].what, (int)seed);
		}
	}
}

/* --- worlds that end together ------------------------------------------------------------------------------------- */

/* One of two worlds fails. The run fails with it, both worlds stop at the same step, and a state saved then is of that
 * step. */
static void one_of_two_fails(void)
{
#define FAILS                                                                                                          \
	"<world name='bad'><physics type='ode'><max_step_size>0.004</max_step_size></physics><gravity>0 0 0</gravity>" \
	"<model name='m'><pose>9999990 0 0 0 0 0</pose><link name='l'/><plugin "                                       \
	"name='gz::sim::systems::VelocityControl'"                                                                     \
	" filename='x'><initial_linear>100 0 0</initial_linear></plugin></model></world>"
#define GOES_ON                                                                                                        \
	"<world name='good'><physics type='ode'><max_step_size>0.004</max_step_size></physics>" FLOOR BOX(             \
		"b", 0, 0, 3, "") "</world>"
	static const char *const worlds[] = {
		"<sdf version='1.9'>" FAILS GOES_ON "</sdf>", "<sdf version='1.9'>" GOES_ON FAILS "</sdf>"};
	for (int way = 0; way < 6; way++) {
		struct troupe_server_def def = troupe_server_def_default();
		struct troupe_limits limits = {.iterations = 200};
		struct troupe_error error = {0};
		struct said said;
		def.secondaries = way / 2;
		def.pace = TROUPE_PACE_FACTOR;
		struct troupe_server *server = create(def, worlds[way % 2], &said);
		check(troupe_server_run(server, &limits, &error) == TROUPE_EDIVERGED, "the run ends with it: %s",
			error.text);
		struct troupe_report *report = troupe_server_report(server);
		check(report->worlds[0].steps == report->worlds[1].steps && report->worlds[0].steps < 200,
			"both worlds are at one step: %d and %d", (int)report->worlds[0].steps,
			(int)report->worlds[1].steps);
		troupe_report_free(report);
		uint64_t hash = troupe_server_hash(server);
		save(server, first_save);
		end_run(server, &said);
		struct troupe_server_def again = troupe_server_def_default();
		again.resume_path = first_save;
		server = create(again, NULL, &said);
		check(troupe_server_hash(server) == hash, "the saved state is the state at the end");
		end_run(server, &said);
	}
}

/* The pause between steps counts as no work, neither serial nor parallel. */
static void serial_time(void)
{
	static const char world[] = WORLD(FLOOR BOX("a", 0, 0, 9, "") BOX("b", 5, 0, 9, ""));
	struct troupe_server_def def = troupe_server_def_default();
	struct said said;
	def.secondaries = 2;
	def.pace = TROUPE_PACE_FACTOR;
	def.rtf = 1;
	struct troupe_server *server = create(def, world, &said);
	run_to(server, 100);
	struct troupe_report *report = troupe_server_report(server);
	check(report->worlds[0].serial_s >= 0 && report->worlds[0].serial_s <= report->wall_s,
		"%g s of %g s are serial", report->worlds[0].serial_s, report->wall_s);
	troupe_report_free(report);
	end_run(server, &said);
}

/* --- options that no bit depends on ------------------------------------------------------------------------------- */

static const char *looked_for;
static uint32_t found_on;

static void look(void *ctx, const struct troupe_snapshot *snapshot)
{
	(void)ctx;
	for (uint32_t i = 0; i < snapshot->model_count; i++)
		if (!strcmp(snapshot->models[i].name, looked_for))
			found_on = snapshot->models[i].secondary;
}

static uint32_t secondary_of(struct troupe_server *server, const char *name)
{
	looked_for = name;
	found_on = 0;
	troupe_server_snapshot(server, look, NULL);
	return found_on;
}

/* A pin that a command has set stays after a resume, and ends with a reset. */
static void pins(void)
{
	static const struct command commands[] = {{5, TO_W "level/set_performer", "data: 'b' secondary: 2"},
		{5, TO_W "level/set_performer", "data: 'a' secondary: 2"},
		{5, TO_W "level/set_performer", "data: 'c' secondary: 1"}, {0, NULL, NULL}};
	static const char world[] = WORLD(BOX("a", 0, 0, 9, "") BOX("b", 5, 0, 9, "") BOX("c", 9, 0, 9, ""));
	struct troupe_server_def def = troupe_server_def_default();
	struct said said;
	def.secondaries = 2;
	struct troupe_server *server = create(def, world, &said);
	give(server, commands);
	run_to(server, 20);
	check(secondary_of(server, "a") == 2 && secondary_of(server, "b") == 2 && secondary_of(server, "c") == 1,
		"pins that commands have set are kept");
	save(server, first_save);
	end_run(server, &said);
	def.resume_path = first_save;
	server = create(def, NULL, &said);
	run_to(server, 30);
	check(secondary_of(server, "a") == 2 && secondary_of(server, "b") == 2 && secondary_of(server, "c") == 1,
		"pins given while it runs are kept after a resume: %u %u %u", secondary_of(server, "a"),
		secondary_of(server, "b"), secondary_of(server, "c"));
	save(server, second_save);
	end_run(server, &said);
	def.secondaries = 1; /* there is no secondary 2 */
	server = create(def, NULL, &said);
	run_to(server, 30);
	save(server, first_save);
	check(same_file(first_save, second_save), "... and are not lost where there is no such secondary");
	end_run(server, &said);
}

/* --- places that are used again ----------------------------------------------------------------------------------- */

struct where {
	const char *name;
	struct troupe_model_state state;
	bool found;
};

static void look_at(void *ctx, const struct troupe_snapshot *snapshot)
{
	struct where *where = ctx;
	for (uint32_t i = 0; i < snapshot->model_count; i++)
		if (!strcmp(snapshot->models[i].name, where->name)) {
			where->state = snapshot->models[i];
			where->found = true;
		}
}

static struct where find(struct troupe_server *server, const char *name)
{
	struct where where = {.name = name};
	troupe_server_snapshot(server, look_at, &where);
	return where;
}

static double distance(const struct troupe_pose *a, const struct troupe_pose *b)
{
	return sqrt((a->x - b->x) * (a->x - b->x) + (a->y - b->y) * (a->y - b->y) + (a->z - b->z) * (a->z - b->z));
}

#define TURNTABLE(limit, plugins)                                                                                      \
	"<sdf version='1.9'><model name='m'><link name='l'>" BODY(                                                     \
		"0.5 0.5 0.2") "</link><link name='k'><pose>0 0 0.2 0 0 0</pose>" BODY("0.5 0.5 0.1") "</link><joint " \
												      "name='j' "      \
												      "type='"         \
												      "revolute'><"    \
												      "parent>l</"     \
												      "parent><child>" \
												      "k</"            \
												      "child><axis><"  \
												      "xyz>0 0 "       \
												      "1</xyz>" limit  \
												      "</axis></"      \
												      "joint>" plugins \
												      "</model></sdf>"
#define JOINT_PLUGIN(system)                                                                                           \
	"<plugin name='gz::sim::systems::" system "' filename='x'><joint_name>j</joint_name></plugin>"

/* A model comes in the place of an equal model that was driven: it must behave as if the place had never been used. */
static void a_place_again(const char *system, const char *topic, const char *text)
{
	static const char world[] = WORLD(FLOOR);
	char *driven = mem_printf("name: 'old' pose {position {z: 4}} sdf: \"%s\"", system);
	const char *plain = "name: 'new' pose {position {x: 1 y: 1 z: 3}} sdf: \"" TURNTABLE(
		"<limit><lower>-0.5</lower><upper>0.5</upper></limit>", "") "\"";
	for (int secondaries = 0; secondaries <= 2; secondaries += 2) {
		const struct command used[] = {{5, TO_W "create", driven}, {10, topic, text},
			{60, TO_W "remove", "name: 'old'"}, {61, TO_W "create", plain}, {0, NULL, NULL}};
		const struct command fresh[] = {{61, TO_W "create", plain}, {0, NULL, NULL}};
		const struct command *const both[] = {used, fresh};
		struct where at[2];
		for (int i = 0; i < 2; i++) {
			struct said said;
			struct troupe_server *server = begin(world, secondaries, &said);
			if (i == 0) { /* the topic exists in this world only */
				give(server, (struct command[]){used[0], {0, NULL, NULL}});
				run_to(server, 8);
				give(server, used + 1);
			} else {
				give(server, both[i]);
			}
			run_to(server, 130);
			at[i] = find(server, "new");
			check(at[i].found, "%s: 'new' is there: %s", topic, said.replies.at ? said.replies.at : "");
			end_run(server, &said);
		}
		check(!memcmp(&at[0].state.pose, &at[1].state.pose, sizeof at[0].state.pose),
			"%s: what comes into a driven model's place moves as elsewhere, with %d: %g m apart", topic,
			secondaries, distance(&at[0].state.pose, &at[1].state.pose));
	}
	free(driven);
}

/* The second link shows the command of its joint; so does a model whose joint is driven when the model is removed, and
 * which a reset brings back. */
static void places(void)
{
	a_place_again(TURNTABLE("", JOINT_PLUGIN("JointController")), "/model/old/joint/j/cmd_vel", "data: 5");
	a_place_again(TURNTABLE("", JOINT_PLUGIN("ApplyJointForce")), "/model/old/joint/j/cmd_force", "data: 2");
	a_place_again(TURNTABLE("", VELOCITY), "/model/old/cmd_vel", "linear: {x: 2} angular: {z: 3}");
}

/* --- listeners ---------------------------------------------------------------------------------------------------- */

#define HEARS(name, y)                                                                                                 \
	BOX(name, 0, y, 9,                                                                                             \
		"<plugin name='gz::sim::systems::VelocityControl' filename='x'><topic>/shared</topic></plugin>")

static void expect_moved(struct troupe_server *server, const char *name, bool there, double x, const char *what)
{
	struct where where = find(server, name);
	check(where.found == there, "%s: '%s' is %sthere", what, name, there ? "" : "not ");
	check(!there || fabs(where.state.pose.x - x) < 1e-6, "%s: '%s' is at %g: expected %g", what, name,
		where.state.pose.x, x);
}

/* One of three models that listen to a topic is removed: the others still listen, and after a reset the removed one
 * listens again. */
static void listeners(void)
{
	static const char *const names[] = {"a", "b", "c"};
	static const char world[] = WORLD("<gravity>0 0 0</gravity>" HEARS("a", 0) HEARS("b", 3) HEARS("c", 6));
	for (int gone = 0; gone < 3; gone++)
		for (int secondaries = 0; secondaries <= 2; secondaries++) {
			char *remove = mem_printf("name: '%s'", names[gone]);
			const struct command commands[] = {{10, TO_W "remove", remove},
				{10, "/shared", "linear: {x: 1}"}, {60, "/shared", "linear: {x: -1}"},
				{110, TO_W "control", "reset {all: true}"}, {111, "/shared", "linear: {x: 2}"},
				{0, NULL, NULL}};
			struct said said;
			struct troupe_server *server = begin(world, secondaries, &said);
			give(server, commands);
			run_to(server, 60);
			for (int i = 0; i < 3; i++)
				expect_moved(server, names[i], i != gone, 50 * 0.004, "one listener has gone");
			run_to(server, 110);
			for (int i = 0; i < 3; i++)
				expect_moved(
					server, names[i], i != gone, 0, "the other listeners take the next command");
			run_to(server, 161);
			for (int i = 0; i < 3; i++)
				expect_moved(server, names[i], true, 50 * 2 * 0.004, "after a reset all listen");
			end_run(server, &said);
			free(remove);
		}
}

/* When all models of a topic are removed, the topic has no listener, and a new topic of this name may have another
 * type. */
static void no_listeners(void)
{
	static const char world[] = WORLD(FLOOR HEARS("a", 0));
	const struct command commands[] = {{10, TO_W "remove", "name: 'a'"},
		{20, TO_W "create",
			"name: 'new' pose {position {z: 0.1}} sdf: \"" TURNTABLE("",
				"<plugin name='gz::sim::systems::JointController' "
				"filename='x'><joint_name>j</joint_name><topic>"
				"/shared</topic></plugin>") "\""},
		{0, NULL, NULL}};
	struct said said;
	struct troupe_server *server = begin(world, TROUPE_SECONDARIES_AUTO, &said);
	give(server, commands);
	run_to(server, 15);
	check(troupe_server_command(server, 18, "/shared", "linear: {x: 1}", NULL) == TROUPE_OK,
		"a model may come that hears it");
	run_to(server, 30);
	check(said.replies.at && strstr(said.replies.at, "this topic has no listener"), "a topic without listener: %s",
		said.replies.at ? said.replies.at : "");
	check(troupe_server_command(server, 30, "/shared", "linear: {x: 1}", NULL) == TROUPE_ECOMMAND,
		"the topic carries the messages of the new model");
	check(troupe_server_command(server, 30, "/shared", "data: 1", NULL) == TROUPE_OK, "... and no others");
	run_to(server, 130);
	check(find(server, "new").found, "the model exists");
	end_run(server, &said);
}

/* --- sleepers ----------------------------------------------------------------------------------------------------- */

/* Two models that a joint of the world ties, one on a post and one beside it, sleep. When either is removed, the
 * other moves. */
static void partners(void)
{
	static const char *const joints[] = {
		"<joint name='tie' type='fixed'><parent>on</parent><child>beside</child></joint>",
		"<joint name='tie' type='fixed'><parent>beside</parent><child>on</child></joint>"};
	static const char on[] = BOX("on", 1.1, 0, 1.25, "");
	static const char beside[] =
		"<model name='beside'><pose>1.8 0 1.25 0 0 0</pose><link name='l'><inertial><mass>0.5"
		"</mass></inertial></link></model>";
	for (int i = 0; i < 4; i++) /* also with the other model first in the file */
		for (int secondaries = 0; secondaries <= 2; secondaries += 2) {
			char *world = mem_printf(
				WORLD("<model name='post'><static>true</static><pose>0 0 0.5 0 0 0</pose><link "
				      "name='l'>" BODY("3 1 1") "</link></model>%s%s%s"),
				i / 2 ? beside : on, i / 2 ? on : beside, joints[i % 2]);
			const struct command commands[] = {{400, TO_W "remove", "name: 'on'"}, {0, NULL, NULL}};
			struct said said;
			struct troupe_server *server = begin(world, secondaries, &said);
			give(server, commands);
			run_to(server, 400);
			struct where slept = find(server, "beside");
			check(slept.found && slept.state.asleep, "two that are tied sleep");
			run_to(server, 450);
			struct where then = find(server, "beside");
			double t = 50 * 0.004; /* falls freely from this step on */
			check(then.found &&
					fabs(slept.state.pose.z - then.state.pose.z - 9.8 * t * (t + 0.004) / 2) < 1e-9,
				"what hung on a model that was removed falls: by %g m",
				slept.state.pose.z - then.state.pose.z);
			end_run(server, &said);
			free(world);
		}
}

/* The words of a plug-in change while its model is asleep: the state's hash changes with them, and nothing else of the
 * model. */
static void counts_asleep(void)
{
	static const char world[] = WORLD(STAGE);
	for (int secondaries = 0; secondaries <= 2; secondaries++) {
		struct troupe_server_def def = troupe_server_def_default();
		struct said said;
		def.secondaries = secondaries;
		def.chaos = secondaries == 2;
		struct troupe_server *server = create(def, world, &said);
		run_to(server, 300);
		struct where before = find(server, "counts");
		check(before.found, "a model is at rest while its plug-in goes on counting");
		run_to(server, 399);
		struct where after = find(server, "counts");
		check(!memcmp(&before.state.pose, &after.state.pose, sizeof before.state.pose),
			"... and does not move");
		for (uint64_t k = 301; k < 399; k++)
			if (said.hashes[k] == said.hashes[k + 1])
				check(false, "... and its words change in step %" PRIu64 ", with %d", k, secondaries);
		/* the model is moved, and comes to rest again: the words of rest were those of the step before */
		const struct command commands[] = {
			{399, TO_W "set_pose", "name: 'counts' position {x: -5 y: 5 z: 0.75}"}, {0, NULL, NULL}};
		give(server, commands);
		run_to(server, 500);
		struct where end = find(server, "counts");
		check(end.found && fabs(end.state.pose.z - 0.25) < 1e-2, "it falls when it is lifted: %g",
			end.state.pose.z);
		end_run(server, &said);
	}
}

/* A static model under a box is lowered, then removed, and another comes where the box falls: each change counts at
 * once. */
static void floors(void)
{
#define SLAB                                                                                                           \
	"<sdf version='1.9'><model name='m'><static>true</static><link name='l'>" BODY(                                \
		"4 4 0.2") "</link></model></sdf>"
	static const char world[] =
		WORLD("<model name='slab'><static>true</static><pose>0 0 3 0 0 0</pose><link name='l'>" BODY(
			"4 4 0.2") "</link></model>" BOX("b", 0, 0, 3.35, ""));
	static const struct command commands[] = {{50, TO_W "set_pose", "name: 'slab' position {z: 2.9}"},
		{200, TO_W "remove", "name: 'slab'"},
		{210, TO_W "create", "name: 'other' pose {position {z: 1.5}} sdf: \"" SLAB "\""},
		{500, TO_W "remove", "name: 'other'"},
		{500, TO_W "create", "name: 'last' pose {position {z: 1.45}} sdf: \"" SLAB "\""},
		{700, TO_W "remove", "name: 'last'"}, {0, NULL, NULL}};
	static const struct {
		uint64_t step;
		double z;
	} seen[] = {{50, 3.35}, {200, 3.25}, {500, 1.85}, {700, 1.8}};
	for (int secondaries = 0; secondaries <= 2; secondaries += 2) {
		struct said said;
		struct troupe_server *server = begin(world, secondaries, &said);
		give(server, commands);
		for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
			run_to(server, seen[i].step);
			check(fabs(find(server, "b").state.pose.z - seen[i].z) < 0.02,
				"at step %" PRIu64 " the box is at %g: expected %g", seen[i].step,
				find(server, "b").state.pose.z, seen[i].z);
		}
		struct where before = find(server, "b");
		run_to(server, 750);
		double t = 50 * 0.004;
		check(fabs(before.state.pose.z - find(server, "b").state.pose.z - 9.8 * t * (t + 0.004) / 2) < 1e-9,
			"without any floor it falls freely: %g m",
			before.state.pose.z - find(server, "b").state.pose.z);
		end_run(server, &said);
	}
}

/* A model falls asleep again after a command has ended, also when all ODE objects are made anew in each step; the steps
 * are the same in each way. */
static void sleeps_again(void)
{
	static const char world[] = WORLD(FLOOR BOX("b", 0, 0, 0.25, VELOCITY) BOX("c", 3, 0, 0.25, "")
			BOX("d", 6, 0, 0.25, "<allow_auto_disable>false</allow_auto_disable>"));
	static const struct command commands[] = {{200, "/model/b/cmd_vel", "linear: {x: 0.5}"},
		{220, "/model/b/cmd_vel", "linear: {}"}, {0, NULL, NULL}};
	uint64_t hash = 0;
	for (int way = 0; way < 4; way++) {
		struct troupe_server_def def = troupe_server_def_default();
		struct said said;
		def.secondaries = way % 3;
		def.anew = way == 3;
		struct troupe_server *server = create(def, world, &said);
		give(server, commands);
		run_to(server, 199);
		check(find(server, "b").state.asleep, "a box is asleep before its command, in way %d", way);
		run_to(server, 221);
		struct where driven = find(server, "b");
		check(!driven.state.asleep && driven.state.pose.x > 0.035, "the box is driven, in way %d", way);
		check(find(server, "c").state.asleep, "another box stays asleep, in way %d", way);
		run_to(server, 600);
		check(find(server, "b").state.asleep, "the box is asleep again, in way %d", way);
		check(!find(server, "d").state.asleep, "a model that must not sleep is awake, in way %d", way);
		check(!way || troupe_server_hash(server) == hash, "the hash is that of the other ways, in way %d", way);
		hash = troupe_server_hash(server);
		end_run(server, &said);
	}
}

/* A model that a joint holds to the world falls asleep once it has nearly stopped trembling, although it touches
 * nothing. A model that floats by slowly never falls asleep. */
static void held_ones_sleep(void)
{
	static const char world[] = WORLD(
		"<model name='hangs'><pose>0 0 5 0.02 0 0</pose><link name='l'><pose>0 0 -1 0 0 0"
		"</pose>" BODY(
			"0.2 0.2 0.2") "</link><joint name='j' type='revolute'><pose>0 0 1 0 0 0</pose><parent>world"
				       "</parent><child>l</child><axis><xyz>1 0 "
				       "0</xyz><dynamics><damping>20</damping></dynamics></axis></joint>"
				       "</model><model name='floats'><pose>9 0 5 0 0 0</pose><link "
				       "name='l'><gravity>0</gravity>" BODY(
					       "0.2 0.2 0.2") "</link><plugin name='gz::sim::systems::VelocityControl' "
							      "filename='x'><initial_linear>1e-5 0 0"
							      "</initial_linear></plugin></model>");
	struct said said;
	struct troupe_server *server = begin(world, TROUPE_SECONDARIES_AUTO, &said);
	run_to(server, 3000);
	check(find(server, "hangs").state.asleep, "a model that hangs from the world falls asleep");
	check(!find(server, "floats").state.asleep, "a model that floats stays awake");
	end_run(server, &said);
}

/* Different states must have different hashes: each kind of change is compared with no change and with the opposite
 * change. */
static void hashes(void)
{
	static const char world[] = WORLD(FLOOR BOX("b", 0, 0, 9, "") BOX("c", 3, 0, 9,
		"") "<light name='sun' "
		    "type='directional'/><plugin name='gz::sim' filename='x'><performer name='p'><ref>b</ref>"
		    "<geometry><box><size>1 2 3</size></box></geometry></performer></plugin>");
	static const struct {
		const char *topic, *text;
	} changes[] = {{TO_W "control", "pause: false"}, {TO_W "level/set_performer", "data: 'b'"},
		{TO_W "level/set_performer", "data: 'b' remove: true"},
		{TO_W "level/set_performer", "data: 'b' size {x: 4}"},
		{TO_W "level/set_performer", "data: 'b' size {y: 4}"},
		{TO_W "level/set_performer", "data: 'b' size {z: 4}"},
		{TO_W "level/set_performer", "data: 'c' size {x: 1 y: 2 z: 3}"},
		{TO_W "set_pose", "name: 'floor' position {x: 1 z: -0.5}"},
		{TO_W "set_pose", "name: 'floor' position {y: 1 z: -0.5}"},
		{TO_W "set_pose", "name: 'floor' position {z: -1.5}"},
		{TO_W "set_pose", "name: 'floor' position {z: -0.5} orientation {w: 0.8 x: 0.6}"},
		{TO_W "set_pose", "name: 'floor' position {z: -0.5} orientation {w: 0.8 y: 0.6}"},
		{TO_W "set_pose", "name: 'floor' position {z: -0.5} orientation {w: 0.8 z: 0.6}"},
		{TO_W "wrench/persistent", "entity {name: 'b'} wrench {force {x: 1}}"},
		{TO_W "wrench/persistent", "entity {name: 'c'} wrench {force {x: 1}}"},
		{TO_W "wrench/persistent", "entity {name: 'b'} wrench {torque {x: 1}}"},
		{TO_W "wrench/persistent", "entity {name: 'b'} wrench {force_offset {x: 1}}"},
		{TO_W "light_config", "name: 'sun'"}, {TO_W "light_config", "name: 'sun' intensity: 2"},
		{TO_W "light_config", "name: 'sun' visualize_visual: false"},
		{TO_W "light_config", "name: 'sun' pose {position {x: 1}}"}, {TO_W "light_config", "name: 'lamp'"},
		{TO_W "light_config", "name: 'torch'"}, {TO_W "disable_collision", "name: 'floor'"},
		{TO_W "disable_collision", "name: 'b'"}, {TO_W "remove", "name: 'floor'"}, {TO_W "remove", "name: 'c'"},
		{TO_W "remove", "name: 'sun' type: LIGHT"}, {TO_W "set_physics", "max_step_size: 0.002"},
		{TO_W "set_physics", "max_step_size: 0.003"}, {TO_W "set_physics", "gravity {x: 1}"},
		{TO_W "set_physics", "gravity {y: 1}"}, {TO_W "set_physics", "gravity {z: 1}"}};
	enum { CHANGES = sizeof changes / sizeof *changes };
	uint64_t seen[CHANGES];
	for (uint32_t i = 0; i < CHANGES; i++) {
		struct said said;
		struct troupe_server *server = begin(world, 0, &said);
		/* nothing moves, so only the changes make a difference */
		give(server,
			(struct command[]){{0, TO_W "control", "pause: true"}, {0, changes[i].topic, changes[i].text},
				{0, TO_W "control", "pause: true"}, {0, NULL, NULL}});
		run_to(server, 2);
		seen[i] = troupe_server_hash(server);
		for (uint32_t k = 0; k < i; k++)
			check(seen[k] != seen[i], "'%s' and '%s' have one hash", changes[k].text, changes[i].text);
		end_run(server, &said);
	}
}

/* The creation of a static model, and its place, are in the hash. */
static void created_are_hashed(void)
{
	static const char world[] = WORLD(FLOOR);
	uint64_t seen[3];
	for (int i = 0; i < 3; i++) {
		struct troupe_server_def def = troupe_server_def_default();
		struct said said;
		char *slab =
			mem_printf("name: 's' pose {position {x: %d z: 9}} sdf: \"<sdf version='1.9'><model name='m'>"
				   "<static>true</static><link name='l'>" BODY("2 2 0.2") "</link></model></sdf>\"",
				50 + i);
		const struct command create_one[] = {{3, TO_W "create", slab}, {0, NULL, NULL}};
		struct troupe_server *server = create(def, world, &said);
		if (i)
			give(server, create_one);
		run_to(server, 9);
		seen[i] = troupe_server_hash(server);
		for (int k = 0; k < i; k++)
			check(seen[i] != seen[k], "the creation of a static model and its place are in the hash");
		end_run(server, &said);
		free(slab);
	}
}

static uint32_t found_by_policy[2];

/* After a reset each step equals the step of the same number after the start. */
static void begins_anew(void)
{
	enum { STEPS = 150 };
	static const char world[] = WORLD(STAGE);
	static const struct command commands[] = {{STEPS, TO_W "control", "reset {all: true}"}, {0, NULL, NULL}};
	for (int way = 0; way < 4; way++) {
		struct troupe_server_def def = troupe_server_def_default();
		struct said said;
		uint64_t differs = 0;
		def.secondaries = way % 3;
		def.chaos = way == 3;
		struct troupe_server *server = create(def, world, &said);
		give(server, commands);
		run_to(server, 2 * STEPS);
		for (uint64_t k = 1; k < STEPS && !differs; k++)
			differs = said.hashes[k] != said.hashes[STEPS + k] ? k : 0;
		check(!differs, "in way %d step %" PRIu64 " after a reset is not the one after the start", way,
			differs);
		end_run(server, &said);
	}
}

/* Commands before a reset in the same step are undone: by a reset of one model, and of all. */
static void undone(void)
{
	static const char world[] = WORLD("<gravity>0 0 0</gravity>" BOX("a", 0, 0, 9, VELOCITY)
			BOX("b", 0, 5, 9, VELOCITY) BOX("c", 0, 9, 9, ""));
	static const struct {
		const char *reset_topic, *reset;
		bool a, b, c;
	} cases[] = {{TO_W "reset_model", "name: 'a'", false, true, true},
		{TO_W "reset_model", "name: 'b'", true, false, true},
		{TO_W "reset_model", "name: 'c'", true, true, false},
		{TO_W "control", "reset {all: true}", false, false, false},
		{TO_W "control", "reset {time_only: true}", true, true, true}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct command commands[] = {{5, "/model/a/cmd_vel", "linear: {x: 1}"},
			{5, "/model/b/cmd_vel", "linear: {x: 1}"},
			{5, TO_W "wrench", "entity {name: 'c::l' type: LINK} wrench {force {x: 500}}"},
			{5, cases[i].reset_topic, cases[i].reset}, {0, NULL, NULL}};
		static const char *const names[] = {"a", "b", "c"};
		const bool moves_on[] = {cases[i].a, cases[i].b, cases[i].c};
		struct said said;
		struct troupe_server *server = begin(world, TROUPE_SECONDARIES_AUTO, &said);
		give(server, commands);
		run_to(server, 15);
		for (int m = 0; m < 3; m++)
			check((find(server, names[m]).state.pose.x > 0.03) == moves_on[m], "%s: '%s' is at %g",
				cases[i].reset, names[m], find(server, names[m]).state.pose.x);
		end_run(server, &said);
	}
}

/* After a reset models are pinned as the file or the caller pinned them. */
#define PINNED(name, secondary)                                                                                        \
	"<performer name='" name "'><ref>" name "</ref><geometry><box><size>1 1 1</size></box></geometry>"             \
	"<secondary>" secondary "</secondary></performer>"
#define THREE BOX("a", 0, 0, 9, "") BOX("b", 5, 0, 9, "") BOX("c", 9, 0, 9, "")
static void pins_of_the_file(void)
{
	static const char *const worlds[] = {WORLD(THREE "<plugin name='gz::sim' filename='x'>" PINNED("a", "2")
							     PINNED("b", "2") PINNED("c", "1") "</plugin>"),
		WORLD(THREE)};
	static const char *const given[] = {"a=2", "b=2", "c=1", NULL};
	static const struct command commands[] = {{5, TO_W "level/set_performer", "data: 'a' secondary: 1"},
		{5, TO_W "level/set_performer", "data: 'c' secondary: 2"}, {50, TO_W "control", "reset {all: true}"},
		{0, NULL, NULL}};
	static const uint32_t expected[][3] = {{2, 2, 1}, {1, 2, 2}, {2, 2, 1}};
	for (int by_hand = 0; by_hand < 2; by_hand++) {
		struct troupe_server_def def = troupe_server_def_default();
		struct said said;
		def.secondaries = 2;
		def.pins = by_hand ? given : NULL;
		struct troupe_server *server = create(def, worlds[by_hand], &said);
		give(server, commands);
		for (int k = 0; k < 3; k++) {
			run_to(server, (uint64_t)(3 + 30 * k));
			check(secondary_of(server, "a") == expected[k][0] &&
					secondary_of(server, "b") == expected[k][1] &&
					secondary_of(server, "c") == expected[k][2],
				"pins of the file, then of commands, then of the file: %d", k);
		}
		end_run(server, &said);
	}
}

/* Pinned models are on their secondaries from the first step on, also if no number of secondaries is given. */
static void pins_without_a_number(void)
{
	static const char world[] = WORLD(THREE);
	static const char *const given[] = {"a=2", "b=2", "c=1", NULL};
	struct troupe_server_def def = troupe_server_def_default();
	struct said said;
	def.secondaries = TROUPE_SECONDARIES_AUTO;
	def.pins = given;
	struct troupe_server *server = create(def, world, &said);
	if (troupe_server_secondaries(server, 0) >= 2)
		for (uint64_t k = 1; k < 300; k += 10) {
			run_to(server, k);
			check(secondary_of(server, "a") == 2 && secondary_of(server, "b") == 2 &&
					secondary_of(server, "c") == 1,
				"models are where they are pinned, at step %d", (int)k);
		}
	end_run(server, &said);
}

/* After a command that creates models, commands are accepted for topics that have no listener yet. */
static void topics_to_come(void)
{
	static const char *const creations[][2] = {{TO_W "create", "name: 'a' sdf: \"" BOX_SDF "\""},
		{TO_W "create_multiple", "data {name: 'a' sdf: \"" BOX_SDF "\"}"}};
	static const char world[] = WORLD(FLOOR);
	for (int i = 0; i < 2; i++) {
		struct said said;
		struct troupe_server *server = begin(world, TROUPE_SECONDARIES_AUTO, &said);
		check(troupe_server_command(server, 20, "/model/a/cmd_vel", "", NULL) == TROUPE_ECOMMAND,
			"no listener can come");
		or_die(troupe_server_command(server, 10, creations[i][0], creations[i][1], NULL), NULL);
		check(troupe_server_command(server, 20, "/model/a/cmd_vel", "", NULL) == TROUPE_OK,
			"%s: somebody may come to hear it", creations[i][0]);
		end_run(server, &said);
	}
}

/* A refusal names the wrong field, or the joint that prevents the change. */
static void refusals(void)
{
	static const struct command commands[] = {{3, TO_W "create", "name: 'nothing'"},
		{3, TO_W "set_pose", "name: 'held' position {x: 1}"}, {0, NULL, NULL}};
	/* the second of two links that form one body is held */
	static const char world[] = WORLD(FLOOR "<model name='held'><pose>9 0 3 0 0 0</pose><link name='l'/><link "
						"name='k'/><joint name='weld' type='fixed'>"
						"<parent>l</parent><child>k</child></joint><joint name='nail' "
						"type='fixed'><parent>world</parent><child>k"
						"</child></joint></model>");
	struct said said;
	struct troupe_server *server = begin(world, TROUPE_SECONDARIES_AUTO, &said);
	struct troupe_error error;
	check(troupe_server_command(server, 3, TO_W "create", "name: 'both' sdf_filename: 'x' sdf: \"" BOX_SDF "\"",
		      &error) == TROUPE_ECOMMAND,
		"both sdf and sdf_filename");
	check(strstr(error.text, "sdf beside sdf_filename: expected only one of the two"), "%s", error.text);
	give(server, commands);
	run_to(server, 5);
	check(strstr(said.replies.at, "none of sdf, sdf_filename and clone_name: expected one of them"), "%s",
		said.replies.at);
	check(strstr(said.replies.at, "nail") != NULL, "the joint that holds a model is named: %s", said.replies.at);
	struct troupe_report *report = troupe_server_report(server);
	check(report->worlds[0].refused_commands == 2, "all refused commands are counted");
	troupe_report_free(report);
	end_run(server, &said);
}

/* A static model that was moved exists at its new place only: a box on it moves as if the model had always been
 * there. */
static void moved_statics(void)
{
#define SLAB_AT(z)                                                                                                     \
	"<model name='slab'><static>true</static><pose>0 0 " z                                                         \
	" 0 0 0</pose><link name='l'>" BODY("4 4 0.2") "</link></model>"
	static const char *const worlds[] = {WORLD(SLAB_AT("1") BOX("b", 0.3, 0.1, 1.36, VELOCITY)),
		WORLD(SLAB_AT("0.96875") BOX("b", 0.3, 0.1, 1.36, VELOCITY))};
	static const struct command commands[] = {{0, TO_W "set_pose", "name: 'slab' position {z: 1}"},
		{100, TO_W "set_pose", "name: 'slab' position {z: 0.875}"}, {150, TO_W "remove", "name: 'slab'"},
		{0, NULL, NULL}};
	for (int secondaries = 0; secondaries <= 2; secondaries += 2) {
		struct where at[2][3];
		for (int i = 0; i < 2; i++) {
			struct troupe_server_def def = troupe_server_def_default();
			struct said said;
			def.secondaries = secondaries;
			struct troupe_server *server = create(def, worlds[i], &said);
			give(server, i ? commands : commands + 1);
			for (int k = 0; k < 3; k++) {
				run_to(server, (uint64_t)(80 + 60 * k));
				at[i][k] = find(server, "b");
			}
			end_run(server, &said);
		}
		for (int k = 0; k < 3; k++)
			check(!memcmp(&at[0][k].state.pose, &at[1][k].state.pose, sizeof at[0][k].state.pose),
				"what lies on a model that was moved: %g m apart, at step %d",
				distance(&at[0][k].state.pose, &at[1][k].state.pose), 80 + 60 * k);
	}
}

/* A static model that takes the place of a removed one counts once, not twice. */
static void recreated_statics(void)
{
#define SLAB_SDF                                                                                                       \
	"<sdf version='1.9'><model name='m'><static>true</static><link name='l'>" BODY(                                \
		"4 4 0.2") "</link></model></sdf>"
	static const char world[] = WORLD(BOX("b", 0.3, 0.1, 1.5, VELOCITY));
	static const struct command commands[] = {
		{2, TO_W "create", "name: 'first' pose {position {x: 0.125 z: 1}} sdf: \"" SLAB_SDF "\""},
		{4, TO_W "remove", "name: 'first'"},
		{6, TO_W "create", "name: 'second' pose {position {z: 1}} sdf: \"" SLAB_SDF "\""}, {0, NULL, NULL}};
	struct where at[2];
	for (int i = 0; i < 2; i++) {
		struct said said;
		struct troupe_server *server = begin(world, TROUPE_SECONDARIES_AUTO, &said);
		give(server, i ? commands : commands + 2);
		run_to(server, 150);
		at[i] = find(server, "b");
		check(at[i].state.pose.z > 1.3, "the box lies on the second model");
		end_run(server, &said);
	}
	check(!memcmp(&at[0].state.pose, &at[1].state.pose, sizeof at[0].state.pose),
		"what lies on a model in the place of another: %g m apart",
		distance(&at[0].state.pose, &at[1].state.pose));
}

/* A command for a model of an unloaded level takes effect when the level is loaded. */
static void commands_while_unloaded(void)
{
	static const char world[] = WORLD("<gravity>0 0 0</gravity>" BOX("mover", 0, 0, 0.25, "") BOX(
		"far", 9, 0, 0.25, VELOCITY) "<plugin name='gz::sim' filename='x'><performer "
					     "name='p'><ref>mover</ref><geometry><box><size>"
					     "0.5 0.5 0.5</size></box></geometry></performer><level "
					     "name='away'><pose>9 0 0 0 0 0</pose><geometry>"
					     "<box><size>2 4 9</size></box></geometry><ref>far</ref></level></plugin>");
	static const struct command commands[] = {{5, "/model/far/cmd_vel", "linear: {x: 1}"},
		{20, TO_W "set_pose", "name: 'mover' position {x: 9 y: 1.5 z: 0.25}"}, {0, NULL, NULL}};
	for (int secondaries = 0; secondaries <= 2; secondaries++) {
		struct said said;
		struct troupe_server *server = begin(world, secondaries, &said);
		give(server, commands);
		run_to(server, 20);
		check(fabs(find(server, "far").state.pose.x - 9) < 1e-9, "a model of an unloaded level does not move");
		run_to(server, 70);
		check(fabs(find(server, "far").state.pose.x - 9 - 50 * 0.004) < 1e-6,
			"it is commanded all the same: it is at %g once its level is loaded",
			find(server, "far").state.pose.x);
		end_run(server, &said);
	}
}

/* After a reset of time a sleeping model is reported as asleep in each step. */
static void sleeps_through_time(void)
{
	static const char world[] = WORLD(FLOOR BOX("b", 0, 0, 0.25, ""));
	static const struct command commands[] = {{300, TO_W "control", "reset {time_only: true}"}, {0, NULL, NULL}};
	struct said said;
	struct troupe_server *server = begin(world, TROUPE_SECONDARIES_AUTO, &said);
	give(server, commands);
	run_to(server, 300);
	check(find(server, "b").state.asleep, "it sleeps");
	for (uint64_t k = 302; k < 600; k++) {
		run_to(server, k);
		if (!find(server, "b").state.asleep)
			check(false, "a model is reported as awake in step %" PRIu64, k);
	}
	end_run(server, &said);
}

/* --- what a reset restores ---------------------------------------------------------------------------------------- */

/* A created model returns to the pose at which it was created, at rest, with its plug-ins as at first; and it falls as
 * it did then. */
static void created_ones_go_back(void)
{
	static const char world[] = WORLD(FLOOR);
	static const struct command commands[] = {
		{10, TO_W "create", "name: 'new' pose {position {x: 3 z: 2}} sdf: \"" BOX_SDF "\""},
		{40, TO_W "reset_model", "name: 'new'"}, {0, NULL, NULL}};
	for (int secondaries = 0; secondaries <= 2; secondaries += 2) {
		struct said said;
		struct troupe_server *server = begin(world, secondaries, &said);
		give(server, commands);
		run_to(server, 20);
		struct where first = find(server, "new");
		run_to(server, 50);
		struct where second = find(server, "new");
		check(first.found && second.found && first.state.pose.z < 2 - 1e-3, "it falls");
		check(!memcmp(&first.state.pose, &second.state.pose, sizeof first.state.pose),
			"ten steps after a reset it is where it was ten steps after it came: %g and %g",
			first.state.pose.z, second.state.pose.z);
		end_run(server, &said);
	}
}

/* After a reset no effect of the commands before it is left: which models are performers, their sizes and their pins.
 * The expected state is that of a run without these commands, except for the number of removed models. */
static void roles_go_back(void)
{
	static const struct command commands[] = {{5, TO_W "level/set_performer", "data: 'load' secondary: 2"},
		{6, TO_W "level/set_performer", "data: 'mover' size {x: 3 y: 3 z: 3} secondary: 1"},
		{7, TO_W "level/set_performer", "data: 'floor'"},
		{8, TO_W "set_pose", "name: 'floor' position {z: -0.6}"}, {9, TO_W "remove", "name: 'sun' type: LIGHT"},
		{10, TO_W "remove", "name: 'load'"}, {50, TO_W "control", "reset {all: true}"}, {0, NULL, NULL}};
	static const char world[] = WORLD(STAGE);
	uint64_t hash = 0;
	for (int way = 0; way < 2; way++) {
		struct said said;
		struct troupe_server *server = begin(world, 2, &said);
		give(server, way ? commands : commands + 6);
		run_to(server, 80);
		check(!way || troupe_server_hash(server) == hash,
			"after a reset the hash is that of a run without commands");
		hash = troupe_server_hash(server);
		struct troupe_report *report = troupe_server_report(server);
		check(report->worlds[0].removed == (uint64_t)way, "%d removed", (int)report->worlds[0].removed);
		troupe_report_free(report);
		for (uint32_t m = 0; way && m < 2; m++)
			check(secondary_of(server, m ? "mover" : "load") == found_by_policy[m],
				"'%s' is where the policy puts it", m ? "mover" : "load");
		for (uint32_t m = 0; !way && m < 2; m++)
			found_by_policy[m] = secondary_of(server, m ? "mover" : "load");
		end_run(server, &said);
	}
}

/* --- levels that come back soon ----------------------------------------------------------------------------------- */

/* A level's crate touches a performer. The level is unloaded and loaded again several times within the steps for which
 * contacts count, at times while the two touch, at times not. */
static void levels_again(void)
{
	static const struct command commands[] = {{50, TO_W "set_pose", "name: 'mover' position {x: 30 y: 3 z: 0.25}"},
		{80, TO_W "set_pose", "name: 'mover' position {x: 0.69 z: 0.25}"},
		{140, TO_W "set_pose", "name: 'mover' position {x: 9 y: 0.29 z: 0.25}"},
		{180, TO_W "set_pose", "name: 'mover' position {x: 0.69 z: 0.25}"},
		{190, TO_W "remove", "name: 'load'"},
		{200, TO_W "create", "name: 'load' pose {position {x: 1.2 z: 0.2}} sdf: \"" BOX_SDF "\""},
		{230, TO_W "set_pose", "name: 'mover' position {x: 9 y: 0.29 z: 0.25}"},
		{300, TO_W "control", "reset {all: true}"},
		{330, TO_W "set_pose", "name: 'mover' position {x: 9 y: 0.29 z: 0.25}"}, {0, NULL, NULL}};
	static const char world[] = WORLD(STAGE);
	struct said first = {0};
	for (int way = 0; way < 9; way++) {
		struct troupe_server_def def = troupe_server_def_default();
		struct said said;
		def.secondaries = way % 4;
		def.anew = way == 8;
		def.chaos = way > 4;
		def.chaos_seed = (uint64_t)way;
		def.distribution = way % 2 ? "balanced" : "round-robin";
		struct troupe_server *server = create(def, world, &said);
		give(server, commands);
		run_to(server, HASHES_MAX - 1);
		check(!way || !memcmp(said.hashes, first.hashes, sizeof said.hashes),
			"levels that are soon loaded again are the same, in way %d", way);
		end_run(server, &said);
		if (!way)
			first = said;
	}
}

struct move {
	uint64_t step;
	char name[16];
	uint32_t to;
};

static struct move moves_seen[32];
static uint32_t move_count;

static void on_move(void *ctx, const struct troupe_event *event)
{
	(void)ctx;
	if (event->kind != TROUPE_EVENT_MOVE || move_count == sizeof moves_seen / sizeof *moves_seen)
		return;
	struct move *move = &moves_seen[move_count++];
	*move = (struct move){.step = event->step, .to = event->to};
	snprintf(move->name, sizeof move->name, "%s", event->name);
}

static void run_watched(const char *world, const struct command *commands, uint64_t steps)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct said said;
	def.secondaries = 2;
	def.on_event = on_move;
	move_count = 0;
	struct troupe_server *server = create(def, world, &said);
	give(server, commands);
	run_to(server, steps);
	end_run(server, &said);
}

/* Two models that touched are on one secondary for exactly 500 more steps, whatever other contacts there are. Then the
 * model that was fetched goes back. */
static void contacts_are_remembered(void)
{
	enum { KEPT = 500 };
	static const struct command commands[] = {{50, TO_W "set_pose", "name: 'a' position {x: 3.505 z: 0.25}"},
		{100, TO_W "set_pose", "name: 'a' position {x: -9 z: 0.25}"},
		{300, TO_W "set_pose", "name: 'c' position {x: 11.505 y: 1 z: 0.25}"},
		{320, TO_W "set_pose", "name: 'c' position {x: 9 z: 0.25}"}, {0, NULL, NULL}};
	run_watched(WORLD(FLOOR BOX("a", 0, 0, 0.25, "") BOX("b", 4, 0, 0.25, "") BOX("c", 9, 0, 0.25, "")
				    BOX("d", 12, 1, 0.25, "")),
		commands, 1000);
	uint64_t fetched = 0, back = 0;
	for (uint32_t i = 0; i < move_count; i++) {
		if (strcmp(moves_seen[i].name, moves_seen[0].name) != 0)
			continue;
		*(i ? &back : &fetched) = moves_seen[i].step;
	}
	check(fetched == 50 && back == 100 + KEPT,
		"a model is fetched at %" PRIu64 " and goes back at %" PRIu64 ": expected 50 and %d", fetched, back,
		100 + KEPT);
}

/* A level's crate has touched one performer, and its level has been unloaded. When the level comes back with another
 * performer, the crate is on that performer's secondary, and the first performer does not matter. */
static void unloading_forgets_contacts(void)
{
	static const struct command commands[] = {
		/* `one` is put beside the crate, then away from it, and then out of the level */
		{20, TO_W "set_pose", "name: 'one' position {x: 0.75 z: 0.25}"},
		{40, TO_W "set_pose", "name: 'one' position {x: -0.5 z: 0.25}"},
		{80, TO_W "set_pose", "name: 'one' position {x: -15 z: 0.25}"},
		{120, TO_W "set_pose", "name: 'two' position {x: -0.5 y: 1 z: 0.25}"}, {0, NULL, NULL}};
	static const char *const orders[][2] = {{BOX("one", -0.5, 0, 0.25, ""), BOX("crate", 1.2, 0, 0.25, "")},
		{BOX("crate", 1.2, 0, 0.25, ""), BOX("one", -0.5, 0, 0.25, "")}};
	for (int i = 0; i < 2; i++) {
		char *world = mem_printf(WORLD(FLOOR "%s%s" BOX("two", 15, 0, 0.25,
						 "") "<plugin name='gz::sim' filename='x'><performer name='p1'>"
						     "<ref>one</ref><geometry><box><size>0.5 0.5 "
						     "0.5</size></box></geometry></performer><performer "
						     "name='p2'><ref>two</ref><geometry><box><size>0.5 0.5 "
						     "0.5</size></box></geometry></performer>"
						     "<level name='home'><geometry><box><size>4 4 "
						     "9</size></box></geometry><ref>crate</ref></level>"
						     "</plugin>"),
			orders[i][0], orders[i][1]);
		run_watched(world, commands, 300);
		for (uint32_t k = 0; k < move_count; k++)
			check(moves_seen[k].step < 80,
				"a crate whose level was unloaded still ties '%s', which moves at %" PRIu64,
				moves_seen[k].name, moves_seen[k].step);
		free(world);
	}
}

int main(void)
{
	const char *source = getenv("SOURCE_DIR");
	char *folder = mem_printf("%s/troupe_after.XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	path = mem_printf("%s/worlds/after.sdf", source ? source : ".");
	if (!mkdtemp(folder))
		return 1;
	first_save = mem_printf("%s/first", folder);
	second_save = mem_printf("%s/second", folder);
	for (size_t i = 0; i < sizeof stories / sizeof *stories; i++)
		goes_on(&stories[i]);
	pins();
	places();
	listeners();
	no_listeners();
	partners();
	counts_asleep();
	floors();
	sleeps_again();
	held_ones_sleep();
	hashes();
	created_are_hashed();
	created_ones_go_back();
	roles_go_back();
	moved_statics();
	recreated_statics();
	commands_while_unloaded();
	sleeps_through_time();
	pins_of_the_file();
	topics_to_come();
	pins_without_a_number();
	numbers_that_change();
	one_of_two_fails();
	serial_time();
	begins_anew();
	undone();
	refusals();
	levels_again();
	contacts_are_remembered();
	unloading_forgets_contacts();
	unlink(first_save);
	unlink(second_save);
	rmdir(folder);
	free(folder);
	free(path);
	free(first_save);
	free(second_save);
	return check_totals();
}
