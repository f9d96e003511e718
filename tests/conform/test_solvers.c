/* One step by troupe's own solver and by ODE's, from the same state, and what must not grow: the energy of robots that
 * nothing drives. The own solver has other coordinates and another method, so that what both find is right, and where
 * they differ one of them is not. */
#include "server/internal.h"

#include "bodies.h"

#include "base/text.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(solvers, .timeout = 120);

static const char *const folders[] = {SOURCE_DIR "/worlds", SOURCE_DIR "/tests/robots", NULL};

static struct troupe_server *create_of(struct troupe_server_def *def)
{
	struct troupe_server *created;
	struct troupe_error error;
	def->resource_paths = folders;
	def->secondaries = 0;
	def->sleepless = true;
	def->pace = TROUPE_PACE_FACTOR;
	cr_assert_eq(troupe_server_create(def, &created, &error), TROUPE_OK, "%s", error.text);
	return created;
}

static struct troupe_server *begin(const char *gravity, const char *models)
{
	struct text text = {0};
	struct troupe_server_def def = troupe_server_def_default();
	text_add(&text,
		"<sdf version='1.11'><world name='w'><gravity>%s</gravity><physics name='p' type='ode'><max_step_size>"
		"0.001</max_step_size><ode><solver><type>world</type></solver></ode></physics>%s</world></sdf>",
		gravity, models);
	def.world_path = SOURCE_DIR "/worlds/test.sdf";
	def.world_text = text.at;
	struct troupe_server *created = create_of(&def);
	text_fini(&text);
	return created;
}

static void step_to(struct troupe_server *of, uint64_t step)
{
	struct troupe_error error;
	struct troupe_limits limits = {.iterations = step};
	cr_assert_eq(troupe_server_run(of, &limits, &error), TROUPE_OK, "%s", error.text);
}

/* --- distance to ODE ---------------------------------------------------------------------------------------------- */

static struct troupe_server *resumed(const void *bytes, size_t count, bool by_ode)
{
	struct troupe_server_def def = troupe_server_def_default();
	def.resume_path = "the present state";
	def.resume_bytes = bytes;
	def.resume_count = count;
	def.by_ode = by_ode;
	return create_of(&def);
}

/* The greatest difference of a body's velocity or spin after the next step: m/s, rad/s. */
static double distance_at(struct troupe_server *of, uint64_t step)
{
	void *bytes;
	size_t count;
	struct troupe_error error;
	double greatest = 0;
	step_to(of, step);
	cr_assert_eq(troupe_server_pack(of, &bytes, &count, &error), TROUPE_OK, "%s", error.text);
	struct troupe_server *own = resumed(bytes, count, false), *ode = resumed(bytes, count, true);
	free(bytes);
	step_to(own, step + 1);
	step_to(ode, step + 1);
	step_to(of, step + 1);
	cr_assert_eq(troupe_server_hash(own), troupe_server_hash(of), "a resumed step is another");
	const struct scene *scene = own->worlds[0].scene;
	for (uint32_t b = 0; b < scene->body_count; b++) {
		const struct body_state *x = state_body(own->worlds[0].shared.state, b, false),
					*y = state_body(ode->worlds[0].shared.state, b, false);
		greatest = fmax(greatest, vec3_length(vec3_sub(x->v, y->v)));
		greatest = fmax(greatest, vec3_length(vec3_sub(x->w, y->w)));
	}
	troupe_server_destroy(own);
	troupe_server_destroy(ode);
	return greatest;
}

#define FLOOR                                                                                                          \
	"<model name='floor'><static>true</static><link name='l'><collision name='c'><geometry><plane/></geometry>"    \
	"</collision></link></model>"
#define CART(name, pose) "<include><uri>models/cart</uri><name>" name "</name><pose>" pose "</pose></include>"

/* ODE's exact solver is asked for, however many rows an island has. Robots fall, stand, and touch each other. */
Test(solvers, are_near_each_other)
{
	static const struct {
		const char *name, *models;
	} subjects[] = {
		{"a cart", FLOOR CART("a", "0 0 0.05 0.1 0.2 0")},
		{"carts on each other", FLOOR CART("a", "0 0 0.02 0 0 0") CART("b", "0.1 0 0.5 0 0 1")},
		{"a humanoid", FLOOR "<include><uri>humanoid.sdf</uri><pose>0 0 0.05 0 0 0</pose></include>"},
		{"a quadruped", FLOOR "<include><uri>quadruped.urdf</uri><pose>0 0 0.5 0 0 0</pose></include>"},
		{"a manipulator", FLOOR "<include><uri>manipulator.urdf</uri></include>"},
		{"an arm", FLOOR "<include><uri>arm.urdf</uri></include>"},
	};
	for (size_t i = 0; i < ARRAY_LEN(subjects); i++) {
		struct troupe_server *of = begin("0 0 -9.8", subjects[i].models);
		double greatest = 0;
		for (uint64_t step = 1; step < 2000; step += 97)
			greatest = fmax(greatest, distance_at(of, step));
		printf("%-20s at most %.2g m/s or rad/s from ODE\n", subjects[i].name, greatest);
		cr_assert_lt(greatest, 1e-5, "%s: %g", subjects[i].name, greatest);
		troupe_server_destroy(of);
	}
}

/* --- what is left to ODE ------------------------------------------------------------------------------------------ */

#define WHEEL(name, at)                                                                                                \
	"<link name='" name "'><pose>" at                                                                              \
	"</pose><inertial><mass>2</mass><inertia><ixx>0.02</ixx><iyy>0.02</iyy><izz>"                                  \
	"0.02</izz></inertia></inertial><collision name='c'><geometry><sphere><radius>0.15</radius></sphere>"          \
	"</geometry></collision></link><joint name='" name "_joint' type='revolute'><parent>base</parent><child>" name \
	"</child><axis><xyz>0 1 0</xyz></axis></joint>"
#define NO_SLIP(wheel)                                                                                                 \
	"<wheel link_name='" wheel "'><slip_compliance_lateral>0</slip_compliance_lateral>"                            \
	"<slip_compliance_longitudinal>0</slip_compliance_longitudinal><wheel_radius>0.15</"                           \
	"wheel_radius><wheel_normal_force>50</wheel_normal_force></"                                                   \
	"wheel>"

/* Three wheels that shall not slip have more rows than the robot has ways to move. */
Test(solvers, slips_of_zero_are_solved_exactly)
{
	struct troupe_server *of = begin("-2 0 -9.8", FLOOR
		"<model name='m'><link name='base'><pose>0 0 0.3 0 0 0</pose><inertial><mass>10</mass><inertia><ixx>1"
		"</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial></link>" WHEEL("front", "0.5 0 0.15 0 0 0")
			WHEEL("left", "-0.2 0.3 0.15 0 0 0")
				WHEEL("right", "-0.2 -0.3 0.15 0 0 0") "<plugin name='gz::sim::systems::WheelSlip' "
								       "filename='x'>" NO_SLIP("front") NO_SLIP("left")
									       NO_SLIP("right") "</plugin></model>");
	step_to(of, 1000);
	struct troupe_report *report = troupe_server_report(of);
	const struct troupe_report_secondary *counts = report->worlds[0].secondaries;
	cr_assert_gt(counts->exact, 900);
	cr_assert_eq(counts->by_ode_unsolved + counts->by_ode_large + counts->by_ode_asked, 0);
	troupe_report_free(report);
	troupe_server_destroy(of);
}

/* --- models that come --------------------------------------------------------------------------------------------- */

static void give(struct troupe_server *of, const char *topic, const char *text)
{
	struct troupe_error error;
	cr_assert_eq(troupe_server_command(of, 0, topic, text, &error), TROUPE_OK, "%s", error.text);
}

#define BODY                                                                                                           \
	"<inertial><mass>1</mass><inertia><ixx>0.01</ixx><iyy>0.01</iyy><izz>0.01</izz></inertia></"                   \
	"inertial><collision "                                                                                         \
	"name='c'><geometry><box><size>0.22 0.2 0.2</size></box></geometry></collision>"

static void create_model(struct troupe_server *of, const char *name, double x, const char *links)
{
	struct text text = {0};
	text_add(&text, "sdf: \"<sdf version='1.9'><model name='%s'><pose>%g 0 5 0 0 0</pose>%s</model></sdf>\"", name,
		x, links);
	give(of, "/world/w/create", text.at);
	text_fini(&text);
}

static double momentum_y(const struct troupe_server *of, uint32_t model)
{
	const struct scene *scene = of->worlds[0].scene;
	const struct scene_model *m = &scene->models[model];
	double sum = 0;
	for (uint32_t b = m->body_first; b < m->body_first + m->body_count; b++)
		sum += scene->bodies[b].mass * state_body(of->worlds[0].shared.state, b, false)->v.y;
	return sum;
}

/* A model takes the lowest place that is free, and has its bodies after those of a higher place, which it touches. A
 * joint of which a body is not found would be one to the ground. */
Test(solvers, joints_of_models_that_come_are_whole)
{
	struct troupe_server *of = begin("0 0 0", "");
	create_model(of, "gone", 9, "<link name='l'>" BODY "</link>");
	create_model(of, "low", 0, "<link name='l'>" BODY "</link>");
	step_to(of, 1);
	give(of, "/world/w/remove", "name: \"gone\"");
	step_to(of, 2);
	create_model(of, "two", 0.215,
		"<link name='a'>" BODY "</link><link name='b'><pose>0.3 0 0 0 0 0</pose></link><joint name='j' "
		"type='universal'><parent>a</parent><child>b</child><axis><xyz>0 1 0</xyz></axis><axis2><xyz>0 0 "
		"1</xyz></axis2></joint>");
	step_to(of, 3);
	const struct scene *scene = of->worlds[0].scene;
	uint32_t two = scene_find_model(scene, "two"), low = scene_find_model(scene, "low");
	cr_assert(two != SCENE_NONE && low != SCENE_NONE, "the models are not there");
	const uint32_t first = scene->models[two].body_first;
	cr_assert(two < low && first > scene->models[low].body_first, "the places are not those that this test is for");
	state_body(of->worlds[0].shared.state, first, false)->v.y = 1;
	step_to(of, 100);
	double after = momentum_y(of, two) + momentum_y(of, low);
	cr_assert_float_eq(after, scene->bodies[first].mass, 1e-9, "%g kg m/s", after);
	troupe_server_destroy(of);
}

/* --- energy ------------------------------------------------------------------------------------------------------- */

static double energy_of(const struct troupe_server *of, double gravity)
{
	const struct scene *scene = of->worlds[0].scene;
	double sum = 0;
	for (uint32_t b = 0; b < scene->body_count; b++) {
		const struct scene_body *body = &scene->bodies[b];
		const struct body_state *now = state_body(of->worlds[0].shared.state, b, false);
		sum += body->mass * (vec3_dot(now->v, now->v) / 2 + gravity * now->p.z) +
		       vec3_dot(bodies_spin(body, now), now->w) / 2;
	}
	return sum;
}

#define LINK(name, at)                                                                                                 \
	"<link name='" name "'><pose>" at "</pose><inertial><pose>0 0 -0.15 0 0 0</pose><mass>2</mass><inertia><ixx>"  \
	"0.02</ixx><iyy>0.03</iyy><izz>0.01</izz></inertia></inertial></link>"
#define JOINT(kind, parent, child, axes)                                                                               \
	"<joint name='" child "_joint' type='" kind "'><parent>" parent "</parent><child>" child "</child>" axes       \
	"</joint>"
#define AXIS(n, xyz) "<axis" n "><xyz>" xyz "</xyz></axis" n ">"
#define CHAIN                                                                                                          \
	LINK("a", "0 0 3 0 0 0")                                                                                       \
	LINK("b", "0.3 0 3 0 1.2 0")                                                                                   \
	LINK("c", "0.6 0 3 0.5 0.8 0")                                                                                 \
	LINK("d", "0.8 0.2 3 0 0.4 1")                                                                                 \
	JOINT("revolute", "a", "b", AXIS("", "0 1 0"))                                                                 \
	JOINT("universal", "b", "c", AXIS("", "1 0 0") AXIS("2", "0 1 0")) JOINT("ball", "c", "d", "")

/* Steps of 1 ms brake what swings a little (as ODE's do), and drive nothing. */
static void expect_energy(const char *what, struct troupe_server *of, double g, double least_part)
{
	const double begin = energy_of(of, g);
	double least = begin, greatest = begin;
	for (uint64_t step = 10; step <= 10000; step += 10) {
		step_to(of, step);
		least = fmin(least, energy_of(of, g));
		greatest = fmax(greatest, energy_of(of, g));
	}
	printf("%-20s %.5f J, then %.5f to %.5f J\n", what, begin, least, greatest);
	cr_assert_lt(greatest, begin * (1 + 1e-6), "%s: gains %g J", what, greatest - begin);
	cr_assert_gt(least, begin * least_part, "%s: loses %g J", what, begin - least);
	troupe_server_destroy(of);
}

Test(solvers, keep_the_energy_of_what_nothing_brakes)
{
	struct troupe_server *of = begin("0 0 0", "<model name='m'>" CHAIN "</model>");
	for (uint32_t b = 0; b < of->worlds[0].scene->body_count; b++) {
		struct body_state *body = state_body(of->worlds[0].shared.state, b, false);
		body->w = (struct vec3){0.2, 0.5, 1};
		body->v = vec3_cross(body->w, body->p);
	}
	expect_energy("a chain that turns", of, 0, 0.98);
	of = begin("0 0 -9.8", "<model name='m'>" CHAIN JOINT("ball", "world", "a", "") "</model>");
	expect_energy("a chain that hangs", of, 9.8, 0.99);
}

/* Robots that nothing drives fall, bounce on their joints, and come to rest. */
Test(solvers, give_no_energy)
{
	struct troupe_server *of = begin("0 0 -9.8",
		FLOOR CART("a", "0 0 0.5 0.4 0.7 0")
			CART("b", "0.1 0 1 1 0 1") "<model name='m'><pose>2 0 0 0 0 0</pose>" CHAIN "</model>");
	double before = energy_of(of, 9.8);
	for (uint64_t step = 5; step <= 4000; step += 5) {
		step_to(of, step);
		double now = energy_of(of, 9.8);
		cr_assert_lt(now, before + 1e-3, "step %d: %g J after %g J", (int)step, now, before);
		before = now;
	}
	troupe_server_destroy(of);
}
