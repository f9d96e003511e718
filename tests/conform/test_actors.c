/* Actors: their poses follow their scripts or FollowActor, they push models, and they load levels. */
#include "harness.h"

#include <troupe/report.h>

static uint64_t events[2][8]; /* the steps in which levels were loaded and unloaded, in order */
static uint32_t event_count[2];

static void on_event(void *ctx, const struct troupe_event *event)
{
	(void)ctx;
	int which = event->kind == TROUPE_EVENT_LOAD ? 0 : event->kind == TROUPE_EVENT_UNLOAD ? 1 : -1;
	if (which >= 0 && event_count[which] < 8)
		events[which][event_count[which]++] = event->step;
}

static void set_up(void)
{
	want.on_event = on_event;
}

TestSuite(actors, .init = set_up, .fini = stop, .timeout = 60);

#define POINT(time, pose) "<waypoint><time>" time "</time><pose>" pose "</pose></waypoint>"
#define ONCE "<loop>false</loop>"

static double yaw(struct troupe_pose p)
{
	return 2 * atan2(p.qz, p.qw);
}

/* For a cubic with tangents m: p(1/2) = (p0 + p1) / 2 + (m0 - m1) / 8. */
Test(actors, position_is_the_spline_s)
{
	start("0 0 -9.8", "<actor name='a'><script>" ONCE "<trajectory id='0' type='walk'>" POINT("0", "0 0 0 0 0 0")
				  POINT("1", "2 0 0 0 0 0") POINT("3", "2 4 0 0 0 1")
					  POINT("4", "6 4 1 0 0 1") "</trajectory></script></actor>");
	expect("spline: at its first point: m", pose_of("a").x, 0, 0);
	run_until(0.5); /* m0 = (1, 0), m1 = (1, 2) */
	expect("spline: x half-way between points 0 and 1: m", pose_of("a").x, 1, 1e-12);
	expect("spline: y half-way between points 0 and 1: m", pose_of("a").y, -2. / 8, 1e-12);
	run_until(1);
	expect("spline: on point 1: m", pose_of("a").x, 2, 1e-12);
	run_until(2); /* m1 = (1, 2), m2 = (2, 2) */
	expect("spline: x half-way between points 1 and 2: m", pose_of("a").x, 2 - 1. / 8, 1e-12);
	expect("spline: y half-way between points 1 and 2: m", pose_of("a").y, 2, 1e-12);
	expect("rotation half-way between 0 and 1 rad: rad", yaw(pose_of("a")), 0.5, 1e-12);
	run_until(1.5 + 1); /* a part of 3/4: the rotation has a constant rate */
	expect("rotation at 3/4: rad", yaw(pose_of("a")), 0.75, 1e-12);
	run_until(9);
	expect("without a loop it stays at the end: m", pose_of("a").x, 6, 0);
}

Test(actors, tension_shortens_the_tangents)
{
	start("0 0 -9.8",
		"<actor name='a'><script>" ONCE
		"<trajectory id='0' type='walk' tension='0.6'>" POINT("0", "0 0 0 0 0 0") POINT("1", "2 0 0 0 0 0")
			POINT("2", "2 4 0 0 0 0") "</trajectory></script></actor><actor name='b'><script>" ONCE
						  "<trajectory id='0' type='walk' tension='1'>" POINT(
							  "0", "0 0 0 0 0 0") POINT("1", "2 0 0 0 0 0")
							  POINT("2", "2 4 0 0 0 0") "</trajectory></script></actor>");
	run_until(0.5);
	expect("tension 0.6: y half-way between points 0 and 1: m", pose_of("a").y, 0.4 * -2. / 8, 1e-12);
	expect("tension 1: y half-way between points 0 and 1: m", pose_of("b").y, 0, 1e-12);
	run_until(0.75); /* 3 t^2 - 2 t^3 of the way when there are no tangents */
	expect("tension 1: x at 3/4: m", pose_of("b").x, 2 * (3 * 0.5625 - 2 * 0.421875), 1e-12);
}

/* Where a trajectory ends at its start, the tangent there is that of a closed curve. */
Test(actors, closed_trajectory_loops_smoothly)
{
	start("0 0 -9.8",
		"<actor name='a'><script><loop>true</loop><trajectory id='0' type='walk'>" POINT("0", "0 0 0 0 0 0")
			POINT("1", "1 1 0 0 0 0") POINT("2", "2 0 0 0 0 0") POINT("3", "1 -1 0 0 0 0")
				POINT("4", "0 0 0 0 0 0") "</trajectory></script></actor>");
	run_until(0.5); /* m0 = (0, 1), m1 = (1, 0) */
	expect("closed: x half-way to point 1: m", pose_of("a").x, 0.5 - 1. / 8, 1e-12);
	expect("closed: y half-way to point 1: m", pose_of("a").y, 0.5 + 1. / 8, 1e-12);
	run_until(40.5);
	expect("closed: x in the eleventh round: m", pose_of("a").x, 0.5 - 1. / 8, 1e-9);
}

Test(actors, trajectories_follow_each_other_by_id_after_the_delay)
{
	start("0 0 -9.8", "<actor name='a'><pose>10 0 0 0 0 1.5707963267948966</pose><script>" ONCE
			  "<delay_start>2</delay_start><trajectory id='7' type='walk'>" POINT("5", "1 0 0 0 0 0")
				  POINT("6", "1 2 0 0 0 0") "</trajectory><trajectory id='3' type='walk'>" POINT("0",
					  "0 0 0 0 0 0") POINT("1", "1 0 0 0 0 0") "</trajectory></script></actor>");
	run_until(1);
	expect("delayed: still at its first point: m", pose_of("a").y, 0, 1e-12);
	run_until(2.5);
	expect("first the lower id, in the frame of the actor: m", pose_of("a").y, 0.5, 1e-12);
	run_until(3.5);
	expect("then the higher, from its own first time: m", pose_of("a").x, 10 - 1, 1e-12);
	expect("and with the actor's rotation: rad", yaw(pose_of("a")), M_PI / 2, 1e-12);
	run_until(9);
	expect("end: m", pose_of("a").x, 10 - 2, 1e-12);
}

Test(actors, not_started_stays_at_its_pose_and_a_reset_begins_anew)
{
	start("0 0 -9.8", "<actor name='a'><pose>1 2 3 0 0 0</pose><script><auto_start>false</auto_start><trajectory "
			  "id='0' type='walk'>" POINT("0", "5 0 0 0 0 0") POINT("1",
				  "6 0 0 0 0 0") "</trajectory></script></actor><actor name='b'><script><trajectory "
						 "id='0' type='walk'>" POINT("0", "5 0 0 0 0 0")
							 POINT("10", "6 0 0 0 0 0") "</trajectory></script></actor>");
	run_until(1);
	expect("auto_start false: m", pose_of("a").x, 1, 0);
	run_until(4);
	double before = pose_of("b").x;
	command("/world/w/control", "reset: {all: true}");
	run_until(4.001); /* later than now, or no step would be taken, and no command obeyed */
	expect("4.001 s after a reset as 4 s after the start: m", pose_of("b").x, before, 2e-4);
	struct troupe_report *report = troupe_server_report(server);
	cr_assert_eq(report->steps, 8001, "there was no reset");
	troupe_report_free(report);
}

#define WALL                                                                                                           \
	"<link name='l'><collision name='c'><geometry><box><size>0.2 1 1</size></box></geometry></collision></link>"
#define BOX(x)                                                                                                         \
	"<model name='box'><pose>" x                                                                                   \
	" 0 0.25 0 0 0</pose><link "                                                                                   \
	"name='l'><inertial><mass>1</mass><inertia><ixx>0.04</ixx><iyy>0.04</iyy><izz>0.04</izz></inertia></"          \
	"inertial><collision name='c'><geometry><box><size>0.5 0.5 "                                                   \
	"0.5</size></box></geometry></collision></link></model>"
#define GROUND                                                                                                         \
	"<model name='g'><static>true</static><link name='l'><collision name='c'><geometry><plane><normal>0 0 "        \
	"1</normal><size>9 9</size></plane></geometry></collision></link></model>"

/* A straight walk; the actor's face is 0.1 m ahead of its origin, and the box's is 0.25 m behind the box's centre.
 * Half-way through the second segment the actor is at 3 m + (2 - 1) / 8 m: see the splines above. */
Test(actors, what_is_in_the_way_is_pushed)
{
	start("0 0 -9.8",
		GROUND BOX("2") "<actor name='a'><pose>0 0 0.5 0 0 0</pose>" WALL "<script>" ONCE
				"<trajectory id='0' type='walk'>" POINT("0", "0 0 0 0 0 0") POINT("2", "2 0 0 0 0 0")
					POINT("4", "4 0 0 0 0 0") "</trajectory></script></actor>");
	run_until(3);
	expect("the walker is not held up: m", pose_of("a").x, 3.125, 1e-12);
	expect("the box is pushed along: m", pose_of("box").x, 3.125 + 0.35, 0.01);
	run_until(6);
	expect("and stays where the walker stopped: m", pose_of("box").x, 4 + 0.35, 0.06);
}

/* At the end of its script the actor jumps back to the start: this must push nothing. */
Test(actors, a_jump_pushes_nothing)
{
	start("0 0 -9.8", GROUND BOX("0.6") "<actor name='a'><pose>0 0 0.5 0 0 0</pose>" WALL
					    "<script><trajectory id='0' type='walk'>" POINT("0", "3 0 0 0 0 0")
						    POINT("1", "4 0 0 0 0 0") "</trajectory></script></actor>");
	run_until(5.5);
	expect("a box that it jumps over: m", pose_of("box").x, 0.6, 1e-4);
}

#define LEVEL(name, x)                                                                                                 \
	"<level name='" name "'><pose>" x " 0 0 0 0 0</pose><geometry><box><size>4 4 "                                 \
					  "4</size></box></geometry></level>"

/* An actor walks at 1 m/s through two levels of 4 m, with a volume of 1 m: it is in the first level (4 to 8 m) from 3.5
 * m to 8.5 m. */
Test(actors, a_performer_loads_levels_as_it_walks)
{
	start("0 0 -9.8", "<actor name='a'><script>" ONCE "<trajectory id='0' type='walk'>" POINT(
				  "0", "0 0 0 0 0 0") POINT("20", "20 0 0 0 0 0") POINT("40",
				  "40 0 0 0 0 0") "</trajectory></script></actor><plugin name='gz::sim' "
						  "filename='x'><performer name='p'><ref>a</ref><geometry><box><size>1 "
						  "1 1</size></box></geometry></performer>" LEVEL("one", "6")
							  LEVEL("two", "16") "</plugin>");
	run_until(30);
	cr_assert_eq(event_count[0], 2);
	cr_assert_eq(event_count[1], 2);
	/* x(t) of the first segment: 20 t' (t = 20 t'), minus 10 (t'^2 - t') t', because the tangent at its start is
	 * smaller */
	static const double at[4] = {3.5, 13.5, 8.5, 18.5};
	for (int i = 0; i < 4; i++) {
		double low = 0, high = 1;
		for (int k = 0; k < 60; k++) {
			double t = (low + high) / 2, m0 = 10, m1 = 20;
			double x = 20 * (3 * t * t - 2 * t * t * t) + m0 * (t * t * t - 2 * t * t + t) +
				   m1 * (t * t * t - t * t);
			if (x < at[i])
				low = t;
			else
				high = t;
		}
		expect(i < 2 ? "loaded: s" : "unloaded: s", (double)events[i / 2][i % 2] * 0.001, low * 20, 0.0011);
	}
}

#define SCRIPT(text) "<actor name='a'><script>" text "</script></actor>"
#define TRAJECTORY(text) SCRIPT("<trajectory id='0' type='walk'>" text "</trajectory>")

Test(actors, bad_scripts_are_refused_with_their_place)
{
	refuse("descending times", TRAJECTORY(POINT("1", "0 0 0 0 0 0") POINT("0.5", "0 0 0 0 0 0")), "ascending");
	refuse("equal times", TRAJECTORY(POINT("1", "0 0 0 0 0 0") POINT("1", "0 0 0 0 0 0")), "ascending");
	refuse("negative time", TRAJECTORY(POINT("-1", "0 0 0 0 0 0")), "from 0");
	refuse("no number", TRAJECTORY(POINT("soon", "0 0 0 0 0 0")), "one number");
	refuse("not finite", TRAJECTORY(POINT("nan", "0 0 0 0 0 0")), "<time>");
	refuse("far away", TRAJECTORY(POINT("0", "1e8 0 0 0 0 0")), "within");
	refuse("bad pose", TRAJECTORY(POINT("0", "1 2 3")), "six numbers");
	refuse("bad delay", SCRIPT("<delay_start>-1</delay_start>"), "<delay_start>");
	refuse("bad loop", SCRIPT("<loop>maybe</loop>"), "true or false");
	refuse("bad tension", SCRIPT("<trajectory id='0' type='x' tension='2'/>"), "tension");
	refuse("bad id", SCRIPT("<trajectory id='x' type='x'/>"), "id of");
	refuse("bad shape",
		"<actor name='a'><link name='l'><collision name='c'><geometry><box><size>1 0 "
		"1</size></box></geometry></collision></link><script/></actor>",
		"<size>");
}

Test(actors, what_cannot_be_had_is_warned_about)
{
	start("0 0 -9.8", "<actor name='a'><link name='l'><collision "
			  "name='c'><geometry><mesh/></geometry></collision></link><script/></actor>");
	printf("%s\n", warning);
	cr_assert(strstr(warning, "expected a box"), "%s", warning);
	run_until(0.1);
	expect("an empty script: m", pose_of("a").x, 0, 0);
}

/* --- FollowActor -------------------------------------------------------------------------------------------------- */

#define DT 0.001
#define FOLLOW(parameters)                                                                                             \
	"<plugin name='gz::sim::systems::FollowActor' filename='x'><target>t</target>" parameters "</plugin>"
#define WALKER(pose, parameters) "<actor name='a'><pose>" pose "</pose>" FOLLOW(parameters) "</actor>"
#define TARGET(pose) "<model name='t'><static>1</static><pose>" pose "</pose><link name='l'/></model>"

static double far_from(const char *name, double x, double y)
{
	struct troupe_pose p = pose_of(name);
	return hypot(p.x - x, p.y - y);
}

/* In each step by velocity dt along the way to the target, which it faces; in the plane. */
Test(actors, a_follower_walks_to_its_target_and_stops_before_it)
{
	double velocity = 2, nearest = 1.4993, way = hypot(3, -4);
	start("0 0 -9.8", TARGET("4 -4 7 0 0 0") WALKER("1 0 1.5 0 0 0",
				  "<velocity>2</velocity><min_distance>1.4993</min_distance><max_distance>6</"
				  "max_distance><animation>walk</animation><animation_x_vel>2</animation_x_vel>"));
	cr_assert(!*warning, "%s", warning);
	run_until(0.75);
	expect("follower: x: m", pose_of("a").x, 1 + velocity * 0.75 * 3 / way, 1e-9);
	expect("follower: y: m", pose_of("a").y, velocity * 0.75 * -4 / way, 1e-9);
	expect("follower: it keeps its height: m", pose_of("a").z, 1.5, 0);
	expect("follower: it faces the target: rad", yaw(pose_of("a")), atan2(-4, 3), 1e-9);
	run_until(4);
	double steps = ceil((way - nearest) / (velocity * DT) - 1e-6);
	expect("follower: it stops at min_distance: m", far_from("a", 4, -4), way - steps * velocity * DT, 1e-9);
	cr_assert_leq(far_from("a", 4, -4), nearest);
}

/* 0.8 m/s, between 1.2 m and 4 m. It walks again as soon as the target is near enough. */
Test(actors, a_follower_stands_while_its_target_is_far)
{
	start("0 0 -9.8", TARGET("4.1 0 0 0 0 0") WALKER("0 0 0 0.1 0.2 0.3", ""));
	run_until(1);
	expect("too far: m", pose_of("a").x, 0, 0);
	expect("it has not turned: rad", 2 * asin(pose_of("a").qx),
		2 * asin(sin(0.05) * cos(0.1) * cos(0.15) - cos(0.05) * sin(0.1) * sin(0.15)), 1e-9);
	command("/world/w/set_pose", "name: 't' position {y: 3.9}");
	run_until(1.5);
	expect("near enough: m", pose_of("a").y, 0.8 * 0.5, 1e-9);
	expect("upright: rad", yaw(pose_of("a")), M_PI / 2, 1e-9);
	command("/world/w/set_pose", "name: 't' position {y: -3.9}");
	run_until(2);
	expect("and too far again: m", pose_of("a").y, 0.8 * 0.5, 1e-9);
	command("/world/w/set_pose", "name: 't' position {y: 3.9}");
	run_until(9);
	expect("it stops at the default distance: m", pose_of("a").y, 3.9 - 1.2, 0.8 * DT);
}

/* A target that drives around: the follower stays behind it, on its track of pursuit. */
Test(actors, a_follower_stays_behind_a_target_that_moves)
{
	start("0 0 0",
		WALKER("0 0 0 0 0 0", "<velocity>1.5</velocity>") "<model name='t'><pose>2 0 0 0 0 0</pose><link "
								  "name='l'/><plugin filename='x' "
								  "name='gz::sim::systems::VelocityControl'><initial_"
								  "linear>1 0 0</initial_linear></plugin></model>");
	run_until(10);
	/* it catches up, then walks when the distance is above min_distance: it is behind by up to a step of both */
	expect("behind: m", pose_of("t").x - pose_of("a").x, 1.2, 1.5 * DT + 1e-9);
	expect("the target: m", pose_of("t").x, 12, 1e-6);
}

Test(actors, a_follower_waits_for_its_target)
{
	start("0 0 -9.8", "<actor name='a'>" FOLLOW("") "<script><trajectory id='0' type='walk'>" POINT(
				  "0", "1 2 3 0 0 0") POINT("9", "6 0 0 0 0 0") "</trajectory></script></actor>");
	run_until(2);
	expect("it begins where its script does, and stands: m", pose_of("a").x, 1, 0);
	command("/world/w/create", "sdf: \"<sdf version='1.9'><model name='t'><static>1</static><pose>1 5 0 0 0 "
				   "0</pose><link name='l'/></model></sdf>\"");
	run_until(3);
	expect("it walks when the target has come: m", pose_of("a").y, 2 + 0.8, 1e-9);
	command("/world/w/remove", "name: 't' type: MODEL");
	run_until(5);
	expect("it stands when the target has gone: m", pose_of("a").y, 2 + 0.8, 0.8 * DT + 1e-9);
}

/* As one with a script: see above. */
Test(actors, a_follower_pushes_what_is_in_the_way_and_can_be_created)
{
	start("0 0 -9.8", GROUND BOX("1.5") TARGET("9 0 0 0 0 0"));
	command("/world/w/create", "sdf: \"<sdf version='1.9'><actor name='a'><pose>0 0 0.5 0 0 0</pose>" WALL FOLLOW(
					   "<max_distance>10</max_distance>") "</actor></sdf>\"");
	run_until(6);
	expect("the walker: m", pose_of("a").x, 0.8 * 6, 1e-9);
	expect("the box before it: m", pose_of("box").x, 0.8 * 6 + 0.35, 0.01);
}

Test(actors, bad_followers_are_refused_with_their_place)
{
	refuse("backwards", TARGET("1 0 0 0 0 0") WALKER("0 0 0 0 0 0", "<velocity>-1</velocity>"), "<velocity>");
	refuse("no number", TARGET("1 0 0 0 0 0") WALKER("0 0 0 0 0 0", "<velocity>nan</velocity>"), "<velocity>");
	refuse("distance", TARGET("1 0 0 0 0 0") WALKER("0 0 0 0 0 0", "<min_distance>-1</min_distance>"), "<min_dis");
	refuse("no text", TARGET("1 0 0 0 0 0") WALKER("0 0 0 0 0 0", "<max_distance>x</max_distance>"), "<max_dist");
}

Test(actors, followers_that_cannot_walk_are_warned_about)
{
	start("0 0 -9.8",
		"<actor name='a'><plugin name='gz::sim::systems::FollowActor' filename='x'/><script><trajectory id='0' "
		"type='walk'>" POINT("0", "0 0 0 0 0 0") POINT("1", "2 0 0 0 0 0") "</trajectory></script></actor>");
	cr_assert(strstr(warning, "test.sdf:2: the plugin has no <target>"), "%s", warning);
	run_until(1);
	expect("its script moves it: m", pose_of("a").x, 2, 1e-12);
	start("0 0 -9.8", WALKER("0 0 0 0 0 0", "<max_distance>1</max_distance>"));
	cr_assert(strstr(warning, "max_distance 1 m is not above min_distance 1.2 m"), "%s", warning);
	start("0 0 -9.8", "<actor name='a'><plugin name='gz::sim::systems::DiffDrive' filename='x'/></actor>");
	cr_assert(strstr(warning, "ignored: plugin \"gz::sim::systems::DiffDrive\" x1"), "%s", warning);
	start("0 0 -9.8", "<model name='m'><static>1</static>" FOLLOW("") "</model>");
	cr_assert(strstr(warning, "ignored: plugin \"gz::sim::systems::FollowActor\" x1"), "%s", warning);
}
