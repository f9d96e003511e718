/* Reciprocal collision avoidance, and people who walk by it. Discs that step by orca_velocity() alone must get where
 * they want to without overlaps; with less they would walk through each other, or block each other for ever. Worlds
 * with a crowd, written as elements: who walks where, and what is refused. */
#include "builtin/orca.h"

#include "base/text.h"
#include "systems.h"

TestSuite(orca, .timeout = 60);

#define STEP_S 0.05
#define RADIUS 0.3

enum { DISCS_MAX = 40 };

struct walk {
	struct orca_self discs[DISCS_MAX];
	struct orca_vec goals[DISCS_MAX], walls[ORCA_WALLS_MAX];
	uint32_t count, wall_count;
	double share, nearest; /* nearest: of all steps, in radii of two */
	double right;          /* how much they keep to the right */
};

static void add(struct walk *walk, double x, double y, double goal_x, double goal_y)
{
	walk->goals[walk->count] = (struct orca_vec){goal_x, goal_y};
	walk->discs[walk->count] = (struct orca_self){.place = {x, y},
		.radius = RADIUS,
		.speed_max = 1.5,
		.horizon = 2,
		.wall_horizon = 0.5,
		.id = walk->count};
	walk->count++;
}

static struct orca_vec chosen(const struct walk *walk, uint32_t i)
{
	struct orca_disc others[DISCS_MAX];
	struct orca_self self = walk->discs[i];
	struct orca_vec way = orca_sub(walk->goals[i], self.place);
	double distance = orca_length(way);
	uint32_t count = 0;
	for (uint32_t j = 0; j < walk->count; j++)
		if (j != i)
			others[count++] = (struct orca_disc){walk->discs[j].place, walk->discs[j].velocity, RADIUS,
				walk->share > 0 ? walk->share : 0.5, j};
	self.wanted = orca_scale(way, distance > 0 ? fmin(1, distance / STEP_S) / distance : 0);
	if (walk->right > 0 && distance > 2)
		self.wanted = orca_add(
			self.wanted, orca_scale((struct orca_vec){self.wanted.y, -self.wanted.x}, walk->right));
	return orca_velocity(&self, others, count, walk->walls, walk->wall_count, STEP_S);
}

static void step(struct walk *walk)
{
	struct orca_vec next[DISCS_MAX];
	for (uint32_t i = 0; i < walk->count; i++)
		next[i] = chosen(walk, i);
	for (uint32_t i = 0; i < walk->count; i++) {
		walk->discs[i].velocity = next[i];
		walk->discs[i].place = orca_add(walk->discs[i].place, orca_scale(next[i], STEP_S));
		cr_assert(
			orca_length(next[i]) <= walk->discs[i].speed_max * (1 + 1e-9), "%g m/s", orca_length(next[i]));
	}
	for (uint32_t i = 0; i < walk->count; i++)
		for (uint32_t j = 0; j < i; j++) {
			double distance = orca_length(orca_sub(walk->discs[i].place, walk->discs[j].place));
			walk->nearest = fmin(walk->nearest, distance / (2 * RADIUS));
		}
}

/* Returns the steps until all are at their goals; `most`: they are not. */
static uint32_t walked(struct walk *walk, uint32_t most)
{
	walk->nearest = HUGE_VAL;
	for (uint32_t k = 0; k < most; k++) {
		bool there = true;
		for (uint32_t i = 0; i < walk->count; i++)
			there &= orca_length(orca_sub(walk->goals[i], walk->discs[i].place)) < 0.05;
		if (there)
			return k;
		step(walk);
	}
	return most;
}

/* On a circle, each wants to be on the opposite side: all meet in the middle. They are not quite at equal distances,
 * and keep a little to the right: else those that meet in the middle all wait for each other, as the paper has it. */
Test(orca, a_circle_swaps_places_without_overlap)
{
	for (uint32_t count = 2; count <= 20; count += 3) {
		struct walk walk = {.right = 0.1};
		for (uint32_t i = 0; i < count; i++) {
			double angle = 2 * M_PI * i / count + 0.01 * (i * 7 % 5), x = 5 * cos(angle),
			       y = 5 * sin(angle);
			add(&walk, x, y, -x, -y);
		}
		uint32_t steps = walked(&walk, 2000);
		cr_assert(steps < 2000, "%u discs block each other", count);
		cr_assert(steps > 10 / STEP_S * 0.9, "%u discs arrive in %u steps, which is too fast", count, steps);
		cr_assert(
			walk.nearest > 0.999, "of %u discs two come as near as %g of their radii", count, walk.nearest);
	}
}

/* Nothing says on which side to pass; the share of each is half of what one of them would do alone. */
Test(orca, two_meet_head_on)
{
	struct walk walk = {0};
	add(&walk, -4, 0, 4, 0);
	add(&walk, 4, 0.01, -4, 0.01);
	cr_assert(walked(&walk, 400) < 400);
	cr_assert(walk.nearest > 0.999, "%g of their radii", walk.nearest);
}

/* One that does not give way: the other does it all. */
Test(orca, one_stands_in_the_way)
{
	struct walk walk = {.share = 1};
	add(&walk, -4, 0, 4, 0.1);
	add(&walk, 0, 0, 0, 0);
	for (int k = 0; k < 400; k++) {
		walk.discs[0].velocity = chosen(&walk, 0);
		walk.discs[0].place = orca_add(walk.discs[0].place, orca_scale(walk.discs[0].velocity, STEP_S));
		cr_assert(orca_length(walk.discs[0].place) > 0.999 * 2 * RADIUS);
	}
	cr_assert(orca_length(orca_sub(walk.discs[0].place, walk.goals[0])) < 0.05);
}

/* Alone, and far from all others, it does what it wants, to the bit. */
Test(orca, what_is_free_is_as_wanted)
{
	const struct orca_self self = {
		.wanted = {0.3, -0.7}, .radius = RADIUS, .speed_max = 1, .horizon = 2, .wall_horizon = 1};
	const struct orca_disc behind = {.place = {-3, 7}, .radius = RADIUS, .share = 0.5, .id = 1};
	struct orca_vec v = orca_velocity(&self, &behind, 1, NULL, 0, STEP_S);
	cr_assert(v.x == 0.3 && v.y == -0.7, "%g %g", v.x, v.y);
	v = orca_velocity(&self, NULL, 0, NULL, 0, STEP_S);
	cr_assert(v.x == 0.3 && v.y == -0.7, "%g %g", v.x, v.y);
}

/* Towards a wall it slows down, so that it would take wall_horizon to touch; along the wall it is free. */
Test(orca, a_wall_is_not_touched)
{
	struct walk walk = {0};
	add(&walk, 0, 0, 0, 5);
	walk.wall_count = 1;
	for (int k = 0; k < 400; k++) {
		walk.walls[0] = (struct orca_vec){walk.discs[0].place.x, 1};
		struct orca_vec v = chosen(&walk, 0);
		NEAR(v.y, fmin(1, (1 - walk.discs[0].place.y - RADIUS) / 0.5), 1e-9);
		step(&walk);
	}
	NEAR(walk.discs[0].place.y, 1 - RADIUS, 1e-6);
	walk.goals[0] = (struct orca_vec){5, walk.discs[0].place.y};
	walk.walls[0] = (struct orca_vec){walk.discs[0].place.x, 1};
	NEAR(chosen(&walk, 0).x, 1, 1e-9);
}

/* So many around a place that no velocity is allowed: all still get one, and drift apart. Two walls that are nearer
 * than the radius leave standing still, or a velocity along them. */
Test(orca, a_crowd_that_has_no_room_drifts_apart)
{
	struct walk walk = {0};
	for (uint32_t i = 0; i < DISCS_MAX; i++)
		add(&walk, 0, 0, 0, 0);
	for (int k = 0; k < 600; k++) {
		step(&walk);
		for (uint32_t i = 0; i < DISCS_MAX; i++) /* outwards */
			walk.goals[i] = orca_scale(walk.discs[i].place, 3);
	}
	walk.nearest = HUGE_VAL;
	step(&walk);
	cr_assert(walk.nearest > 0.999, "%g of their radii", walk.nearest);
	struct walk narrow = {.walls = {{0, 0.2}, {0, -0.2}}, .wall_count = 2};
	add(&narrow, 0, 0, 3, 1);
	struct orca_vec v = chosen(&narrow, 0);
	cr_assert(v.x > 0.9 && fabs(v.y) < 1e-9, "%g %g", v.x, v.y);
}

/* --- worlds ------------------------------------------------------------------------------------------------------- */

static void end_world(void)
{
	lib_destroy(server);
	server = NULL;
}

TestSuite(crowd, .timeout = 120, .fini = end_world);

#define L(text) "<l>" text "</l>"
/* An L of three squares of 4 m: (0,0), (4,0), (4,4); the corner is at 4 4. */
#define MESH_HEAD                                                                                                      \
	L("8")                                                                                                         \
	L("0 0")                                                                                                       \
	L("4 0")                                                                                                       \
	L("8 0")                                                                                                       \
	L("0 4")                                                                                                       \
	L("4 4")                                                                                                       \
	L("8 4") L("4 8") L("8 8") L("2") L("1 4 0 1") L("4 5 1 "                                                      \
							 "2")
#define MESH_WALLS                                                                                                     \
	L("8") L("0 1 0 1") L("1 2 1 2") L("2 5 1 3") L("5 7 2 4") L("7 6 2 5") L("6 4 2 6") L("4 3 0 7") L("3 0 0 0")
#define MESH_NODES                                                                                                     \
	L("walkable")                                                                                                  \
	L("3")                                                                                                         \
	L("2 2")                                                                                                       \
	L("4 0 1 4 3")                                                                                                 \
	L("0 0 0")                                                                                                     \
	L("1 0")                                                                                                       \
	L("3 0 6 7")                                                                                                   \
	L("6 2") L("4 1 2 5 4") L("0 0 0") L("2 0 1") L("2 1 2") L("6 6") L("4 4 5 7 6") L("0 0 0") L("1 1")           \
		L("3 3 4 5")
#define MESH "<nav_mesh name='m'>" MESH_HEAD MESH_WALLS MESH_NODES "</nav_mesh><obstacles>m</obstacles>"
#define WALKS "<VelComponent type='nav_mesh' file_name='m' heading_threshold='15'/>"
#define GOAL(set, id, x, y, more)                                                                                      \
	"<GoalSet id='" set "'><Goal id='" id "' type='point' x='" x "' y='" y "' " more "/></GoalSet>"
#define PLAN(what) "<behavior><BFSM>" what "</BFSM></behavior>"
#define STATE(name, set)                                                                                               \
	"<State name='" name "' final='0'><GoalSelector type='weighted' goal_set='" set "'/>" WALKS "</State>"
#define AGENT(name, state, entry)                                                                                      \
	"<agent><name>" name "</name><profile>0</profile><state>" state "</state><group>0</group><entry>" entry        \
	"</entry></agent>"
#define PROFILE                                                                                                        \
	"<profile><r>0.25</r><pref_speed>1.2</pref_speed><max_speed>1.5</max_speed><tau>1</tau><tauObst>0.4</"         \
	"tauObst></profile>"
#define CROWD_BEGIN "<plugin filename='libcrowd_simulation.so' name='crowd_simulation'>" PROFILE
#define CROWD(what) CROWD_BEGIN what "</plugin>"
#define PERSON(name, x, y, entry)                                                                                      \
	"<model name='" name "'><pose>" x " " y                                                                        \
	" 1 0 0 0</pose><link name='body'><kinematic>1</kinematic></link><plugin filename='x' "                        \
	"name='troupe::RmfPerson'><topic>/crowd/0</topic><entry>" entry "</entry></plugin></model>"

static struct orca_vec at(const char *name)
{
	struct troupe_model_state state = model_of(name);
	return (struct orca_vec){state.pose.x, state.pose.y};
}

static double from(const char *name, double x, double y)
{
	return orca_length(orca_sub(at(name), (struct orca_vec){x, y}));
}

/* Around the corner, not through the wall, at the speed that it prefers, with its face ahead. */
Test(crowd, a_person_walks_around_a_corner)
{
	start(CROWD(MESH PLAN(STATE("go", "0") GOAL("0", "0", "6", "7", "")) AGENT("p", "go", "0"))
			PERSON("p", "1", "2", "0"));
	double way = 0;
	for (int k = 0; k < 200; k++) {
		struct orca_vec was = at("p");
		lib_step(server, 50);
		struct orca_vec is = at("p");
		way += orca_length(orca_sub(is, was));
		cr_assert(is.x >= 4.2 || is.y <= 3.8, "through the wall at %g %g", is.x, is.y);
		cr_assert(is.x > 0.2 && is.y > 0.2 && is.x < 7.8 && is.y < 7.8, "out at %g %g", is.x, is.y);
	}
	NEAR(from("p", 6, 7), 0, 0.02);
	cr_assert(way > 6.9 && way < 7.8, "a way of %g m", way); /* 3.25 + 4 m at least: past 4.25 3.75 */
}

/* Two swap places, a robot stands between them, and neither meets the other or the robot. */
Test(crowd, people_and_robots_are_gone_around)
{
	start(CROWD(MESH PLAN(STATE("right", "0") STATE("left", "1") GOAL("0", "0", "7", "2", "")
			GOAL("1", "0", "1", "2", "")) AGENT("p", "right", "0") AGENT("q", "left",
		"1") "<agent><name>robot</name><profile>0</profile><external>true</external></agent>") PERSON("p", "1",
		"2", "0") PERSON("q", "7", "2", "1") "<model name='robot'><pose>4 2.05 0.25 0 0 0</pose>" LIB_BOX
						     "</model>");
	for (int k = 0; k < 1000; k++) {
		lib_step(server, 10);
		struct orca_vec p = at("p"), q = at("q");
		cr_assert(orca_length(orca_sub(p, q)) > 0.45, "together at %g %g", p.x, p.y);
		cr_assert(from("robot", p.x, p.y) > 0.45 && from("robot", q.x, q.y) > 0.45);
	}
	NEAR(from("p", 7, 2), 0, 0.02);
	NEAR(from("q", 1, 2), 0, 0.02);
}

/* A goal for one: the second one waits until the first one has left it; a timer ends the first one's stay. */
Test(crowd, goals_have_a_capacity_and_states_a_time)
{
	start(CROWD(MESH PLAN(STATE("go", "0") STATE("away", "1") "<State name='end' final='1'/>" GOAL(
		"0", "0", "3", "2", "capacity='1'") GOAL("1", "7", "6", "1",
		"") "<Transition from='go' to='away'><Condition type='and'><Condition type='goal_reached' "
		    "distance='0.1'/><Condition type='not'><Condition type='timer' per_agent='1' dist='c' "
		    "value='1e6'/></Condition></Condition></Transition><Transition from='away' to=''>"
		    "<Condition type='timer' per_agent='1' dist='u' min='1' max='1'/><Target type='prob'>"
		    "<State name='end' weight='1'/><State name='go' weight='0'/></Target></Transition>") AGENT("p",
		"go", "0") AGENT("q", "go", "1")) PERSON("p", "1", "2", "0") PERSON("q", "1", "3", "1"));
	lib_step(server, 1500);
	NEAR(from("q", 1, 3), 0, 0.3);
	cr_assert(from("p", 1, 2) > 1);
	lib_step(server, 3500); /* p was there at 1.7 s, went away for 1 s, and stands */
	cr_assert(from("p", 3, 2) > 0.7 && from("p", 6, 1) > 1.5);
	struct orca_vec stands = at("p");
	lib_step(server, 2000);
	NEAR(from("p", stands.x, stands.y), 0, 0.3);
	cr_assert(from("q", 1, 3) > 1);
}

/* Who is removed leaves its goal to others. The one who waited for it goes there at once, and not to the side as
 * somebody does who cannot get on: it had nowhere to go. */
Test(crowd, a_goal_is_free_when_its_person_is_removed)
{
	start(CROWD(MESH PLAN(STATE("go", "0") GOAL("0", "0", "6", "2", "capacity='1'")) AGENT("p", "go", "0")
			AGENT("q", "go", "1")) PERSON("p", "1", "1", "0") PERSON("q", "1", "3", "1"));
	lib_step(server, 3000);
	NEAR(from("q", 1, 3), 0, 0.3);
	lib_text(server, 3000, "/world/w/remove", "name: 'p' type: MODEL");
	struct orca_vec was = at("q"), way = orca_sub((struct orca_vec){6, 2}, was);
	for (int k = 0; k < 60; k++) {
		lib_step(server, 10);
		double side = orca_cross(way, orca_sub(at("q"), was)) / orca_length(way);
		cr_assert(fabs(side) < 0.01, "%g m to the side after %d ms", side, 10 * k);
	}
	cr_assert(from("q", was.x, was.y) > 0.3);
	lib_step(server, 5000);
	NEAR(from("q", 6, 2), 0, 0.02);
}

/* Time in a state begins with the first decision, whatever time it is then. */
Test(crowd, a_run_may_begin_at_a_later_time)
{
	char *world = world_of(CROWD(MESH PLAN(STATE("go", "0") "<State name='end' final='1'/>" GOAL("0", "0", "7", "2",
		"") "<Transition from='go' to='end'><Condition type='timer' per_agent='1' dist='c' value='3'/>"
		    "</Transition>") AGENT("p", "go", "0")) PERSON("p", "1", "2", "0"));
	for (int later = 0; later < 2; later++) {
		struct troupe_server_def def = lib_def(world, 0);
		def.initial_time_s = later ? 100 : 0;
		server = lib_create(&def);
		lib_step(server, 2500);
		cr_assert(at("p").x > 3.5, "%g m", at("p").x);
		NEAR(at("p").y, 2, 1e-6);
		lib_step(server, 2000);
		cr_assert(at("p").x < 4.9, "it has not ended at %g m", at("p").x);
		lib_destroy(server);
		server = NULL;
	}
	free(world);
}

/* `from` is names with commas and blanks between; the transition is that of each of them. */
Test(crowd, a_transition_leads_from_each_state_that_it_names)
{
	start(CROWD(MESH PLAN(STATE("b", "0") STATE("a", "0") STATE("c", "1") GOAL("0", "0", "7", "2", "")
			GOAL("1", "0", "1", "2", "") "<Transition from=' b , c,a,b ' to='c'><Condition type='auto'/>"
						     "</Transition>") AGENT("p", "a", "0") AGENT("q", "b", "1"))
			PERSON("p", "4", "1.5", "0") PERSON("q", "4", "2.5", "1"));
	lib_step(server, 2000);
	cr_assert(at("p").x < 3 && at("q").x < 3, "%g %g", at("p").x, at("q").x);
}

/* What would take long to read is refused by a limit. */
static void expect_long_refused(const char *before, const char *repeated, const char *after, const char *what)
{
	struct text text = {0};
	text_add(&text, "%s", before);
	for (uint32_t i = 0; i < 100000; i++)
		text_add(&text, "%s", repeated);
	text_add(&text, "%s", after);
	expect_refused(text.at, what);
	text_fini(&text);
}

Test(crowd, many_transitions_are_refused)
{
	expect_long_refused(CROWD_BEGIN MESH "<behavior><BFSM>" STATE("go", "0") GOAL("0", "0", "6", "7", ""),
		"<Transition from='go' to='go'/>", "</BFSM></behavior></plugin>",
		"<BFSM> has 100000 <Transition>: expected at most 10000");
	expect_long_refused(CROWD_BEGIN MESH "<behavior><BFSM>" STATE("go", "0")
				    GOAL("0", "0", "6", "7", "") "<Transition to='go' from='go",
		",go", "'><Condition type='auto'/></Transition></BFSM></behavior></plugin>",
		"too many names in from, conditions or targets: expected at most 10000 in all");
}

Test(crowd, many_states_with_many_goals_are_refused)
{
	struct text text = {0};
	text_add(&text, "%s<GoalSet id='0'>", CROWD_BEGIN MESH "<behavior><BFSM>");
	for (int i = 0; i < 5000; i++)
		text_add(&text, "<Goal id='%d' type='point' x='%d' y='1'/>", i, i % 7);
	text_add(&text, "</GoalSet>");
	for (int i = 0; i < 1100; i++)
		text_add(&text, "<State name='%d'><GoalSelector type='random' goal_set='0'/>%s</State>", i, WALKS);
	text_add(&text, "</BFSM></behavior></plugin>");
	expect_refused(text.at, "on a mesh of 3 polygons: expected at most 5333333 goals, counted once for each state");
	text_fini(&text);
}

Test(crowd, what_is_wrong_is_named)
{
#define WITH(plan) CROWD(MESH PLAN(plan) AGENT("p", "go", "0"))
#define GOES STATE("go", "0") GOAL("0", "0", "6", "7", "")
	expect_refused(CROWD(MESH "<behavior/>"), "expected a <BFSM>");
	expect_refused(CROWD("<nav_mesh name='m'>" L("2") L("0 0") L("1 x") "</nav_mesh>" PLAN("")),
		"\"x\": expected a coordinate of a vertex, a number from -1e+06 to 1e+06");
	expect_refused(CROWD("<nav_mesh name='m'>" MESH_HEAD MESH_WALLS "</nav_mesh>" PLAN("")),
		"the navigation mesh ends too early: expected the name of the polygons");
	expect_refused(CROWD("<nav_mesh name='m'>" L("1") L("0 0") L("1") L("0 5 0 0") "</nav_mesh>" PLAN("")),
		"\"5\": expected a vertex of an edge, a number from 0 to 0");
	expect_refused(CROWD("<nav_mesh name='m'>" L("1") L("0 0") L("0") L("0") L("w") L("0") "</nav_mesh>" PLAN("")),
		"has no polygons");
	expect_refused(
		CROWD("<nav_mesh name='m'>" MESH_HEAD L("0") L("w 1 0 0 4 0 1 4 3 0 0 0 0 0") "</nav_mesh>" PLAN("")),
		"of a polygon that does not have it: expected one of the 1 polygons");
	expect_refused(CROWD("<nav_mesh name='m'>" L("1e9") "</nav_mesh>" PLAN("")), "expected the number of vertices");
	expect_refused(CROWD("<obstacles>n</obstacles>" PLAN("")), "\"n\": expected the name of a <nav_mesh>");
	expect_refused(
		WITH(STATE("go", "3") GOAL("0", "0", "6", "7", "")), "goal_set is 3: expected the id of a <GoalSet>");
	expect_refused(WITH(GOES STATE("go", "0")), "name of <State> is \"go\": expected one of its own");
	expect_refused(
		CROWD(MESH PLAN(GOES) AGENT("p", "stop", "0")), "state \"stop\": expected the name of a <State>");
	expect_refused(WITH(GOES "<Transition from='go' to='x'><Condition type='auto'/></Transition>"),
		"\"x\": expected the name of a <State>");
	expect_refused(WITH(GOES "<Transition from='go' to=''><Condition type='auto'/></Transition>"), "leads nowhere");
	expect_refused(WITH(GOES "<Transition from='go,x' to='go'><Condition type='auto'/></Transition>"),
		"from has \"x\": expected the name of a <State>");
	expect_refused(WITH(GOES "<Transition to='go'><Condition type='auto'/></Transition>"),
		"from has \"\": expected the name of a <State>");
	expect_refused(
		WITH(GOES "<Transition from='go' to='go'><Condition type='auto'/><Target type='copy'/></Transition>"),
		"type of <Target> is \"copy\": expected prob");
	expect_refused(WITH(GOES "<Transition from='go' to='go'/>"), "has no <Condition>");
	expect_refused(WITH(GOES "<Transition from='go' to='go'><Condition type='space'/></Transition>"),
		"type of <Condition> is \"space\"");
	expect_refused(WITH(GOES "<Transition from='go' to='go'><Condition type='not'/></Transition>"),
		"not: expected 1 <Condition> in it");
	expect_refused(WITH(GOES "<Transition from='go' to='go'><Condition type='timer' dist='n'/></Transition>"),
		"dist of a timer is \"n\": expected c or u");
	expect_refused(
		WITH("<State name='go'><VelComponent type='const'/></State>"), "type of <VelComponent> is \"const\"");
	expect_refused(
		WITH("<State name='go'><VelComponent type='goal'/></State>"), "moves: expected a <GoalSelector>");
	expect_refused(WITH("<State name='go'><GoalSelector type='mirror' goal_set='0'/></State>" GOAL(
			       "0", "0", "0", "0", "")),
		"type of <GoalSelector> is \"mirror\"");
	expect_refused(WITH(STATE("go", "0") "<GoalSet id='0'><Goal id='0' type='OBB' x='0' y='0'/></GoalSet>"),
		"type of <Goal> is \"OBB\"");
	expect_refused(WITH(STATE("go", "0") "<GoalSet id='0'><Goal id='0' type='point' y='0'/></GoalSet>"),
		"<Goal> has no x");
}
