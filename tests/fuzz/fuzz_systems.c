/* Worlds with troupe's own plug-ins, whose parameters are random: of the kinds and within the limits of their tables,
 * or just beyond, or nonsense.
 *
 *   fuzz_systems               some hundred worlds
 *   fuzz_systems SEED ROUNDS   so many; the same seed makes the same worlds
 *
 * A world is refused with one line that says where, or it runs: with one runner, and with two secondaries and forced
 * moves. Both have the same state at the end, or both end with a model that diverged. Build with
 * --enable-sanitize=address to see more. */

#include "../random.h"
#include "base/base.h"
#include "base/hash.h"
#include "base/text.h"
#include "builtin/builtin.h"

#include "../amount.h"

#include <troupe/command.h>
#include <troupe/report.h>
#include <troupe/server.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 60 };

static uint64_t dice;

static const char *one_of(const char *const *texts, size_t count)
{
	return texts[random_below64(&dice, count)];
}

/* --- a plug-in ---------------------------------------------------------------------------------------------------- */

static const char *const names[] = {"l", "k", "j", "s", "m", "n", "w", "__model__", "inner::k", "inner", "nobody",
	"/topic", "own/topic", "cmd", "", "a b", "box", "QPSK", "\xc3\xa9", "1 2 3", "0 0 0.5"};
static const char *const nonsense[] = {"nan", "inf", "-inf", "x", "", "1e999", "1 2", "0x10", "--1", "1e-400"};
/* Elements and attributes inside of others; the tables of parameters do not list them. */
static const char *const inner[] = {"link", "link_name", "velocity_topic", "center_of_rotation_topic", "min_velocity",
	"max_velocity", "max_acceleration", "wheel_radius", "wheel_normal_force", "slip_compliance_lateral",
	"slip_compliance_longitudinal", "size", "box", "radius", "waypoint", "direction", "length", "max_range",
	"capacity", "messages_topic", "bind_service", "density", "above_depth", "sdf", "model", "match", "magnitude",
	"x"};

static void add_number(struct text *out, double low, double high)
{
	const double values[] = {0, 1, -1, 0.5, 2, 1e-9, 100, low, high, low - 1, high * 2 + 1, 1e308};
	double value = values[random_below64(&dice, random_below64(&dice, 4) ? 5 : ARRAY_LEN(values))];
	if (!random_below64(&dice, 200))
		text_add(out, "%s", one_of(nonsense, ARRAY_LEN(nonsense)));
	else if (random_below64(&dice, 60) && (value < low || value > high))
		text_add(out, "%.17g", low > -1e300 && low > 0 ? low : high < 0 ? high : 0);
	else
		text_add(out, "%.17g", value);
}

static void add_numbers(struct text *out, const struct troupe_parameter *parameter, uint64_t count)
{
	for (uint64_t i = random_below64(&dice, 100) ? 0 : random_below64(&dice, count); i < count; i++) {
		add_number(out, parameter->low, parameter->high);
		text_add(out, " ");
	}
}

static void add_text(struct text *out)
{
	if (!random_below64(&dice, 40))
		for (int i = 0; i < 300; i++)
			text_add(out, "/long");
	text_add(out, "%s", one_of(names, ARRAY_LEN(names)));
}

static void add_inner(struct text *out, unsigned depth)
{
	for (uint64_t i = random_below64(&dice, 5); i > 0; i--) {
		const char *name = one_of(inner, ARRAY_LEN(inner));
		text_add(out, "<%s>", name);
		if (depth && !random_below64(&dice, 4))
			add_inner(out, depth - 1);
		else if (random_below64(&dice, 2))
			add_number(out, -1e9, 1e9);
		else
			add_text(out);
		text_add(out, "</%s>", name);
	}
}

static void add_parameter(struct text *out, const struct troupe_parameter *parameter)
{
	text_add(out, "<%s", parameter->name);
	if (parameter->kind == TROUPE_PARTS && random_below64(&dice, 2))
		text_add(out, " link_name='%s' topic='t' type='gz.msgs.Double'", one_of(names, 6));
	text_add(out, ">");
	switch (parameter->kind) {
	case TROUPE_NUMBER:
		add_number(out, parameter->low, parameter->high);
		break;
	case TROUPE_BOOL:
		text_add(out, "%s", random_below64(&dice, 100) ? (random_below64(&dice, 2) ? "true" : "0") : "maybe");
		break;
	case TROUPE_TEXT:
		add_text(out);
		break;
	case TROUPE_VECTOR:
		add_numbers(out, parameter, 3);
		break;
	case TROUPE_POSE:
		add_numbers(out, parameter, 6);
		break;
	case TROUPE_UNUSED:
	case TROUPE_PARTS:
		add_inner(out, 2);
	}
	text_add(out, "</%s>", parameter->name);
}

/* Names of joints and links are right more often than by chance: a plug-in without its joints is left out. */
static bool add_likely(struct text *out, const struct troupe_parameter *parameter)
{
	bool joint = strstr(parameter->name, "joint") != NULL, link = strstr(parameter->name, "link") != NULL;
	if (parameter->kind != TROUPE_TEXT || (!joint && !link) || !random_below64(&dice, 6))
		return false;
	const char *right = strstr(parameter->name, "right") ? "s" : "j";
	text_add(out, "<%s>%s</%s>", parameter->name,
		joint                      ? right
		: random_below64(&dice, 2) ? "l"
					   : "k",
		parameter->name);
	return true;
}

/* Few kinds may stand in actors: they are looked for. */
static const struct troupe_kind *draw_kind(uint32_t place)
{
	uint32_t count = 0;
	while (builtin_plugin.kinds[count])
		count++;
	const struct troupe_kind *kind = builtin_plugin.kinds[random_below64(&dice, count)];
	while (place == TROUPE_IN_ACTOR && random_below64(&dice, 100) && !(kind->flags & place))
		kind = builtin_plugin.kinds[random_below64(&dice, count)];
	return kind;
}

static void add_plugin(struct text *out, uint32_t place)
{
	const struct troupe_kind *kind = draw_kind(place);
	if (random_below64(&dice, 8) && !(kind->flags & place))
		return;
	text_add(out, "<plugin name='%s' filename='x'>", kind->names[0]);
	for (const struct troupe_parameter *p = kind->parameters; p && p->name; p++)
		for (uint64_t i = random_below64(&dice, 3); i > 0; i -= i > 1 && random_below64(&dice, 8) ? 2 : 1)
			if (!add_likely(out, p))
				add_parameter(out, p);
	text_add(out, "</plugin>\n");
}

/* --- a world ------------------------------------------------------------------------------------------------------ */

#define LINK(name, pose)                                                                                               \
	"<link name='" name "'><pose>" pose "</pose><collision name='c'><geometry><box><size>0.5 0.4 0.3</size></box>" \
	"</geometry></collision></link>"
#define JOINT(name, parent, child)                                                                                     \
	"<joint name='" name "' type='revolute'><parent>" parent "</parent><child>" child "</child><axis><xyz>0 1 0"   \
	"</xyz></axis></joint>"

static void add_model(struct text *out, const char *name, int x, bool is_static)
{
	text_add(out,
		"<model name='%s'><static>%d</static><pose>%d 0 0.5 0 0 0</pose>" LINK("l", "0 0 0 0 0 0") LINK(
			"k", "0 0.6 0 0 0 0") LINK("r", "0 -0.6 0 0 0 0") JOINT("j", "l", "k") JOINT("s", "l", "r"),
		name, is_static, x);
	text_add(out, "<model name='inner'>" LINK("k", "0 0 1 0 0 0") "</model>\n");
	for (uint64_t i = 1 + random_below64(&dice, 3); i > 0; i--)
		add_plugin(out, TROUPE_IN_MODEL);
	text_add(out, "</model>\n");
}

static void make_world(struct text *out)
{
	text_add(out,
		"<sdf version='1.9'><world name='w'><physics name='p' type='ode'><max_step_size>0.004</max_step_size>"
		"<real_time_factor>0</real_time_factor></physics><model name='ground'><static>1</static><link name='l'>"
		"<collision name='c'><geometry><plane><normal>0 0 "
		"1</normal></plane></geometry></collision></link></model>\n");
	add_model(out, "m", 0, !random_below64(&dice, 6));
	add_model(out, "n", 1, false);
	if (!random_below64(&dice, 4)) {
		text_add(out, "<actor name='a'><pose>0 0 0.5 0 0 0</pose>" LINK("l", "0 0 0 0 0 0"));
		add_plugin(out, TROUPE_IN_ACTOR);
		text_add(out, "</actor>\n");
	}
	for (uint64_t i = random_below64(&dice, 2); i > 0; i--)
		add_plugin(out, TROUPE_IN_WORLD | TROUPE_FOR_EACH_MODEL);
	text_add(out, "</world></sdf>");
}

static void must(bool good, const char *what, const char *more, const struct text *world, uint64_t round)
{
	if (good)
		return;
	fprintf(stderr, "fuzz_systems: round %" PRIu64 ": %s: %s; the world:\n%s\n0 passed, 1 failed\n", round, what,
		more, world->at);
	exit(1);
}

static const char *const commands[][2] = {{"/model/m/cmd_vel", "linear {x: 1} angular {z: 0.5}"},
	{"/model/n/cmd_vel", "linear {x: -2}"}, {"/topic", "data: 1"}, {"/topic", ""},
	{"/model/m/link/l/track_cmd_vel", "data: 1"}, {"/model/n/detachable_joint/detach", ""},
	{"/model/m/joint/j/cmd_vel", "data: 3"}, {"/model/n/joint/j/0/cmd_pos", "data: 1"}};

/* The hash at the end; 0: a model diverged. */
static uint64_t run(const struct text *world, int secondaries, uint64_t round, bool *ret_refused)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server = NULL;
	struct troupe_error error = {0};
	def.world_path = "fuzz.sdf";
	def.world_text = world->at;
	def.secondaries = secondaries;
	def.chaos = secondaries > 0;
	def.pace = TROUPE_PACE_FACTOR;
	troupe_status status = troupe_server_create(&def, &server, &error);
	*ret_refused = status != TROUPE_OK;
	must(!status || (status == TROUPE_EWORLD && !strncmp(error.text, "fuzz.sdf:", 9) && !strchr(error.text, '\n')),
		"refused without a place", error.text, world, round);
	if (status)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		const struct troupe_when when = {.step = 5 + i};
		(void)troupe_command_text(server, &when, commands[i][0], commands[i][1], NULL, &error);
	}
	const struct troupe_limits limits = {.iterations = STEPS};
	status = troupe_server_run(server, &limits, &error);
	must(!status || status == TROUPE_EDIVERGED, "a run that fails", error.text, world, round);
	struct troupe_report *report = status ? NULL : troupe_server_report(server);
	uint64_t hash = report ? report->hash : 0;
	if (report)
		troupe_report_free(report);
	troupe_server_destroy(server);
	return hash;
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	uint64_t rounds = argc > 2 ? strtoull(argv[2], NULL, 10) : amount_of_four(40, 400, 8000, 20000), ran = 0,
		 refused = 0, diverged = 0;
	for (uint64_t round = 0; round < rounds; round++) {
		struct text world = {0};
		bool no, again;
		dice = hash_mix(seed, round);
		make_world(&world);
		uint64_t one = run(&world, 0, round, &no), two = run(&world, 2, round, &again);
		must(no == again, "refused by one of two", "", &world, round);
		must(one == two, "other bits with two secondaries", "", &world, round);
		refused += no;
		diverged += !no && !one;
		ran += !no && one;
		text_fini(&world);
	}
	printf("%" PRIu64 " worlds ran, %" PRIu64 " were refused, in %" PRIu64 " a model diverged\n", ran, refused,
		diverged);
	bool enough = ran >= rounds / 4;
	printf("%d passed, %d failed\n", enough, !enough);
	return !enough;
}
