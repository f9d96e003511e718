/* Limits at equality: a value exactly at a limit is accepted, and the next value beyond it is refused; in commands, in
 * worlds, and in the definition of a server. */
#include "base/text.h"
#include "net/hello.h"
#include "physics/internal.h"
#include "run/edit_internal.h"
#include "run/schedule.h"
#include "builtin/parts.h"
#include "system/system.h"

#include <troupe/server.h>

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

TestSuite(limits, .timeout = 60);

#define MODEL(inside)                                                                                                  \
	"<model name='m'><link name='l'>" inside "</link><plugin name='gz::sim::systems::VelocityControl' "            \
	"filename='x'/></model>"
#define WORLD(inside) "<sdf version='1.9'><world name='w'>" inside "</world></sdf>"
#define PLAIN WORLD("<physics name='p' type='ode'><real_time_factor>0</real_time_factor></physics>" MODEL(""))

static troupe_status last;
static struct troupe_pose where;

static void on_reply(void *ctx, const struct troupe_reply *reply)
{
	(void)ctx;
	last = reply->status;
}

static struct troupe_server_def definition(const char *world)
{
	struct troupe_server_def def = troupe_server_def_default();
	def.world_path = "limits.sdf";
	def.world_text = world;
	def.secondaries = 0;
	def.on_reply = on_reply;
	return def;
}

static troupe_status create(const char *world, struct troupe_error *error)
{
	struct troupe_server_def def = definition(world);
	struct troupe_server *server;
	troupe_status status = troupe_server_create(&def, &server, error);
	if (!status)
		troupe_server_destroy(server);
	return status;
}

static void step(struct troupe_server *server, uint64_t until)
{
	struct troupe_limits limits = {.iterations = until};
	struct troupe_error error;
	cr_assert_eq(troupe_server_run(server, &limits, &error), TROUPE_OK, "%s", error.text);
}

/* The text with the number in place of each @. */
static char *filled(const char *text, double value)
{
	struct text out = {0};
	for (; *text; text++)
		if (*text == '@')
			text_add(&out, "%.17g", value);
		else
			text_add_bytes(&out, text, 1);
	return out.at;
}

/* Gives a command with the number in it. The command is refused at once, or when it is taken. */
static troupe_status command_status(
	struct troupe_server *server, uint64_t at, const char *topic, const char *with, double value)
{
	char *text = filled(with, value);
	last = TROUPE_OK;
	troupe_status status = troupe_server_command(server, at, topic, text, NULL);
	free(text);
	if (!status)
		step(server, at + 1);
	return status ? status : last;
}

struct limit {
	const char *topic, *text; /* @ stands for the number */
	double value;
	int beyond; /* -1: a lower limit; 1: an upper one */
};

#define TO_W "/world/w/"
static const struct limit commands[] = {
	{TO_W "set_pose", "name: 'm' position {x: @}", SCENE_POSITION_MAX, 1},
	{TO_W "set_pose", "name: 'm' position {y: @}", SCENE_POSITION_MAX, 1},
	{TO_W "set_pose", "name: 'm' position {z: @}", SCENE_POSITION_MAX, 1},
	{TO_W "set_pose", "name: 'm' position {x: @}", -SCENE_POSITION_MAX, -1},
	{TO_W "set_pose", "name: 'm' position {y: @}", -SCENE_POSITION_MAX, -1},
	{TO_W "set_pose", "name: 'm' position {z: @}", -SCENE_POSITION_MAX, -1},
	{TO_W "level/set_performer", "data: 'm' size {x: @}", SDF_LENGTH_MAX, 1},
	{TO_W "level/set_performer", "data: 'm' size {y: @}", SDF_LENGTH_MAX, 1},
	{TO_W "level/set_performer", "data: 'm' size {z: @}", SDF_LENGTH_MAX, 1},
	{TO_W "level/set_performer", "data: 'm' size {x: @}", 0, -1},
	{TO_W "level/set_performer", "data: 'm' size {z: @}", 0, -1},
	{TO_W "set_physics", "max_step_size: @", SDF_STEP_MIN, -1},
	{TO_W "set_physics", "max_step_size: 0.001 real_time_factor: @", 1e6, 1},
	{TO_W "set_physics", "real_time_factor: @", 0, -1},
	{TO_W "set_physics", "gravity {x: @ y: 0 z: 0}", EDIT_GRAVITY_MAX, 1},
	{TO_W "set_physics", "gravity {x: 0 y: @ z: 0}", -EDIT_GRAVITY_MAX, -1},
	{TO_W "set_physics", "gravity {x: 0 y: 0 z: @}", EDIT_GRAVITY_MAX, 1},
};

static double next(const struct limit *limit)
{
	return nextafter(limit->value, limit->beyond * HUGE_VAL);
}

Test(limits, commands)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		const struct limit *limit = &commands[i];
		struct troupe_server_def def = definition(PLAIN);
		struct troupe_server *server;
		cr_assert_eq(troupe_server_create(&def, &server, NULL), TROUPE_OK);
		step(server, 1);
		/* paused, so that models that are far away or heavy do not move */
		cr_assert_eq(troupe_server_command(server, 1, TO_W "control", "pause: true", NULL), TROUPE_OK);
		step(server, 2);
		cr_assert_eq(command_status(server, 2, limit->topic, limit->text, next(limit)), TROUPE_ECOMMAND,
			"%s %s: beyond %.17g is taken", limit->topic, limit->text, limit->value);
		cr_assert_eq(command_status(server, 3, limit->topic, limit->text, limit->value), TROUPE_OK,
			"%s %s: %.17g is refused", limit->topic, limit->text, limit->value);
		troupe_server_destroy(server);
	}
}

static void look(void *ctx, const struct troupe_snapshot *snapshot)
{
	(void)ctx;
	where = snapshot->models[0].pose;
}

/* A velocity beyond what a plug-in may ask for is cut, along each axis, on both sides. */
Test(limits, velocities_are_cut)
{
	static const char *const axes[] = {"x", "y", "z"};
	for (int axis = 0; axis < 3; axis++)
		for (int sign = -1; sign <= 1; sign += 2) {
			struct troupe_server_def def = definition(PLAIN);
			struct troupe_server *server;
			char text[80];
			cr_assert_eq(troupe_server_create(&def, &server, NULL), TROUPE_OK);
			snprintf(text, sizeof text, "linear {%s: %g}", axes[axis], sign * 3 * BUILTIN_VELOCITY_MAX);
			cr_assert_eq(troupe_server_command(server, 0, "/model/m/cmd_vel", text, NULL), TROUPE_OK);
			step(server, 1);
			troupe_server_snapshot(server, look, NULL);
			const double at[] = {where.x, where.y, where.z};
			/* gravity adds to the velocity in the step */
			for (int k = 0; k < 3; k++)
				cr_assert_float_eq(at[k],
					(k == axis ? sign * BUILTIN_VELOCITY_MAX * 0.001 : 0) - (k == 2) * 9.8e-6, 1e-9,
					"%s", text);
			troupe_server_destroy(server);
		}
}

static const struct limit worlds[] = {
	{"mass", WORLD(MODEL("<inertial><mass>@</mass></inertial>")), SDF_MASS_MAX, 1},
	{"box", WORLD(MODEL("<collision name='c'><geometry><box><size>@ 1 1</size></box></geometry></collision>")),
		SDF_LENGTH_MIN, -1},
	{"box", WORLD(MODEL("<collision name='c'><geometry><box><size>1 @ 1</size></box></geometry></collision>")),
		SDF_LENGTH_MIN, -1},
	{"box", WORLD(MODEL("<collision name='c'><geometry><box><size>1 1 @</size></box></geometry></collision>")),
		SDF_LENGTH_MAX, 1},
	{"sphere",
		WORLD(MODEL("<collision "
			    "name='c'><geometry><sphere><radius>@</radius></sphere></geometry></collision>")),
		SDF_LENGTH_MIN, -1},
	{"sphere",
		WORLD(MODEL("<collision "
			    "name='c'><geometry><sphere><radius>@</radius></sphere></geometry></collision>")),
		SDF_LENGTH_MAX, 1},
	{"cylinder",
		WORLD(MODEL("<collision "
			    "name='c'><geometry><cylinder><radius>1</radius><length>@</length></cylinder></"
			    "geometry></collision>")),
		SDF_LENGTH_MIN, -1},
	{"pose", WORLD("<model name='n'><pose>@ 0 0 0 0 0</pose><link name='l'/></model>"), SCENE_POSITION_MAX, 1},
	{"pose", WORLD("<model name='n'><pose>0 0 @ 0 0 0</pose><link name='l'/></model>"), -SCENE_POSITION_MAX, -1},
	{"step", WORLD("<physics name='p' type='ode'><max_step_size>@</max_step_size></physics>" MODEL("")),
		SDF_STEP_MIN, -1},
	{"secondaries", WORLD(MODEL("") "<plugin name='gz::sim' filename='x'><secondaries>@</secondaries></plugin>"),
		TROUPE_SECONDARIES_MAX, 1},
};

Test(limits, worlds)
{
	for (size_t i = 0; i < ARRAY_LEN(worlds); i++) {
		const struct limit *limit = &worlds[i];
		struct troupe_error error = {0};
		char *at = filled(limit->text, limit->value), *beyond = filled(limit->text, next(limit));
		cr_assert_eq(create(at, &error), TROUPE_OK, "%s: %.17g is refused: %s", limit->topic, limit->value,
			error.text);
		cr_assert_eq(
			create(beyond, &error), TROUPE_EWORLD, "%s: beyond %.17g is taken", limit->topic, limit->value);
		free(at);
		free(beyond);
	}
}

/* The greatest number of secondaries takes part in a step, and the step has the bits of a single runner. */
Test(limits, as_many_secondaries_as_there_may_be)
{
	struct troupe_server_def def = definition(PLAIN);
	uint64_t hashes[2];
	for (int many = 0; many < 2; many++) {
		struct troupe_server *server = NULL;
		struct troupe_error error;
		def.secondaries = many ? TROUPE_SECONDARIES_MAX : 0;
		cr_assert_eq(troupe_server_create(&def, &server, &error), TROUPE_OK, "%s", error.text);
		cr_assert_eq(troupe_server_secondaries(server, 0), (uint32_t)def.secondaries);
		cr_assert_eq(troupe_server_step(server, 3, &error), TROUPE_OK, "%s", error.text);
		hashes[many] = troupe_server_hash(server);
		troupe_server_destroy(server);
	}
	cr_assert_eq(hashes[0], hashes[1]);
}

static troupe_status status_of(const struct troupe_server_def *def)
{
	struct troupe_server *server;
	troupe_status status = troupe_server_create(def, &server, NULL);
	if (!status)
		troupe_server_destroy(server);
	return status;
}

Test(limits, definitions)
{
	struct troupe_server_def def = definition(PLAIN);
	def.secondaries = TROUPE_SECONDARIES_MAX;
	cr_assert_eq(status_of(&def), TROUPE_OK);
	def.secondaries = TROUPE_SECONDARIES_MAX + 1;
	cr_assert_eq(status_of(&def), TROUPE_EINVAL);
	def.secondaries = TROUPE_SECONDARIES_AUTO;
	cr_assert_eq(status_of(&def), TROUPE_OK);
	def.secondaries = TROUPE_SECONDARIES_AUTO - 1;
	cr_assert_eq(status_of(&def), TROUPE_EINVAL);
	def = definition(PLAIN);
	def.pace = TROUPE_PACE_RATE + 1;
	cr_assert_eq(status_of(&def), TROUPE_EINVAL);
	def.pace = TROUPE_PACE_FACTOR;
	const double factors[] = {0, 1e6}, no_factors[] = {-1e-9, nextafter(1e6, 2e6), NAN};
	for (size_t i = 0; i < ARRAY_LEN(factors); i++) {
		def.rtf = factors[i];
		cr_assert_eq(status_of(&def), TROUPE_OK, "factor %g", factors[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(no_factors); i++) {
		def.rtf = no_factors[i];
		cr_assert_eq(status_of(&def), TROUPE_EINVAL, "factor %g", no_factors[i]);
	}
	def = definition(PLAIN);
	def.pace = TROUPE_PACE_RATE;
	def.rate_hz = 1e12;
	cr_assert_eq(status_of(&def), TROUPE_OK);
	def.rate_hz = nextafter(1e12, 2e12);
	cr_assert_eq(status_of(&def), TROUPE_EINVAL);
	def.rate_hz = 0;
	cr_assert_eq(status_of(&def), TROUPE_EINVAL);
	def = definition(PLAIN);
	def.initial_time_s = 1e9;
	cr_assert_eq(status_of(&def), TROUPE_OK);
	def.initial_time_s = nextafter(1e9, 2e9);
	cr_assert_eq(status_of(&def), TROUPE_EINVAL);
	def = definition(PLAIN);
	const char *const pins[][2] = {{"m=1024", NULL}, {"m=1025", NULL}, {"m=0", NULL}, {"m=1", NULL}};
	const troupe_status expected[] = {TROUPE_OK, TROUPE_EWORLD, TROUPE_EWORLD, TROUPE_OK};
	for (size_t i = 0; i < ARRAY_LEN(pins); i++) {
		def.pins = pins[i];
		cr_assert_eq(status_of(&def), expected[i], "pin %s", pins[i][0]);
	}
}

/* A body's state is sane up to the bound of each number, and not if one number is beyond its bound or is not finite. */
Test(limits, states_of_bodies)
{
	const struct body_state still = {.q = {1, 0, 0, 0}};
	const double most[] = {PHYSICS_POSITION_MAX, PHYSICS_POSITION_MAX, PHYSICS_POSITION_MAX, 0, 0, 0, 0,
		PHYSICS_VELOCITY_MAX, PHYSICS_VELOCITY_MAX, PHYSICS_VELOCITY_MAX, PHYSICS_SPIN_MAX, PHYSICS_SPIN_MAX,
		PHYSICS_SPIN_MAX};
	const double odd[] = {NAN, HUGE_VAL, -HUGE_VAL};
	cr_assert(body_state_sane(&still));
	for (size_t i = 0; i < ARRAY_LEN(most); i++) {
		struct body_state state = still;
		double *number = (double *)&state + i;
		for (size_t k = 0; k < ARRAY_LEN(odd); k++) {
			*number = odd[k];
			cr_assert_not(body_state_sane(&state), "number %zu is %g", i, odd[k]);
		}
		for (int sign = -1; sign <= 1 && most[i] > 0; sign += 2) {
			*number = sign * most[i];
			cr_assert(body_state_sane(&state), "number %zu is %g", i, *number);
			*number = nextafter(*number, sign * HUGE_VAL);
			cr_assert_not(body_state_sane(&state), "number %zu is %.17g", i, *number);
		}
	}
	static const double norms[] = {0, 0.25, 0.7, 0.72, 1.41, 1.42, 4};
	static const bool sane[] = {false, false, false, true, true, false, false};
	for (size_t i = 0; i < ARRAY_LEN(norms); i++)
		for (int axis = 0; axis < 4; axis++) {
			struct body_state state = {.q = {0, 0, 0, 0}};
			*((double *)&state.q + axis) = norms[i];
			cr_assert_eq(body_state_sane(&state), sane[i], "a quaternion of length %g", norms[i]);
		}
}
