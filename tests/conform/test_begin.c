/* Joints that begin at an <initial_position>: the poses of their links in state 0 are compared with the kinematics of
 * the mechanism, and the joints hold there. If the physics attached the joints at these poses instead of those of the
 * file, the positions would be 0; if the links did not follow, the first step would tear at the joints. */
#include "inside.h"

#define EXACT 1e-12
#define HELD 1e-9 /* after some steps without gravity */

TestSuite(begin, .init = be_sleepless, .fini = stop, .timeout = 60);

#define LINK(name, pose)                                                                                               \
	"<link name='" name "'><pose>" pose                                                                            \
	"</pose><inertial><mass>2</mass><inertia><ixx>0.5</ixx><iyy>0.5</iyy><izz>0.5</izz></inertia></inertial>"      \
	"</link>"
#define JOINT(name, type, at, parent, child, rest)                                                                     \
	"<joint name='" name "' type='" type "'><pose relative_to='__model__'>" at "</pose><parent>" parent            \
	"</parent><child>" child "</child>" rest "</joint>"
#define AXIS(tag, xyz, rest) "<" tag "><xyz expressed_in='__model__'>" xyz "</xyz>" rest "</" tag ">"
#define AT(position) "<initial_position>" position "</initial_position>"
#define MODEL(name, rest) "<model name='" name "'>" rest "</model>"
#define BASE LINK("base", "0 0 1 0 0 0") JOINT("tie", "fixed", "0 0 0 0 0 0", "world", "base", "")
/* Two links of 1 m along x, which turn about z. */
#define ARM(first, second)                                                                                             \
	BASE LINK("a", "0.5 0 1 0 0 0") LINK("b", "1.5 0 1 0 0 0")                                                     \
		JOINT("one", "revolute", "0 0 1 0 0 0", "base", "a", AXIS("axis", "0 0 1", first))                     \
			JOINT("two", "revolute", "1 0 1 0 0 0", "a", "b", AXIS("axis", "0 0 1", second))

static void expect_planar(const char *link, double x, double y, double yaw, double tolerance)
{
	const struct body_state *b = body("m", link);
	expect("x", b->p.x, x, tolerance);
	expect("y", b->p.y, y, tolerance);
	expect("z", b->p.z, 1, tolerance);
	expect("yaw", 2 * atan2(b->q.z, b->q.w), yaw, tolerance);
	expect("speed", sqrt(vec3_dot(b->v, b->v) + vec3_dot(b->w, b->w)), 0, tolerance);
}

static void expect_arm(double one, double two, double tolerance)
{
	expect_planar("a", 0.5 * cos(one), 0.5 * sin(one), one, tolerance);
	expect_planar("b", cos(one) + 0.5 * cos(one + two), sin(one) + 0.5 * sin(one + two), one + two, tolerance);
	expect("position of the first joint", position("m", "one", 0), one, tolerance);
	expect("position of the second joint", position("m", "two", 0), two, tolerance);
}

Test(begin, links_follow_their_joints)
{
	start("0 0 0", "%s", MODEL("m", ARM(AT("0.3"), AT("-0.7"))));
	cr_assert_str_empty(warning);
	expect_arm(0.3, -0.7, EXACT);
	steps(200);
	expect_arm(0.3, -0.7, HELD);
}

/* More than a turn is a position of its own. */
Test(begin, full_turns_count)
{
	start("0 0 0", "%s", MODEL("m", ARM(AT("7"), "")));
	expect("position", position("m", "one", 0), 7, EXACT);
	steps(50);
	expect("position", position("m", "one", 0), 7, HELD);
	expect("x", body("m", "b")->p.x, 1.5 * cos(7), HELD);
}

Test(begin, each_kind_of_axis)
{
	start("0 0 0", "%s",
		MODEL("p", BASE LINK("a", "1 0 1 0 0 0") JOINT("j", "prismatic", "0 0 1 0 0 0", "base", "a",
				   AXIS("axis", "0 1 0", AT("0.25")))) MODEL("s",
			BASE LINK("a", "1 0 1 0 0 0") JOINT("j", "screw", "1 0 1 0 0 0", "base", "a",
				AXIS("axis", "0 0 1", AT("3")) "<screw_thread_pitch>0.5</screw_thread_pitch>"))
			MODEL("u", BASE LINK("a", "1 0 1 0 0 0") JOINT("j", "universal", "0 0 1 0 0 0", "base", "a",
					   AXIS("axis", "0 0 1", AT("0.4")) AXIS("axis2", "0 1 0", AT("-0.2")))));
	for (int round = 0; round < 2; round++) {
		double tolerance = round ? HELD : EXACT;
		expect("prismatic: y", body("p", "a")->p.y, 0.25, tolerance);
		expect("screw: z, half a metre a turn", body("s", "a")->p.z, 1 + 3 * 0.5 / (2 * M_PI), tolerance);
		expect("screw: yaw", 2 * atan2(body("s", "a")->q.z, body("s", "a")->q.w), 3, tolerance);
		/* the second axis is turned by the first */
		expect("universal: x", body("u", "a")->p.x, cos(0.2) * cos(0.4), tolerance);
		expect("universal: y", body("u", "a")->p.y, cos(0.2) * sin(0.4), tolerance);
		expect("universal: z", body("u", "a")->p.z, 1 + sin(0.2), tolerance);
		expect("universal: second axis", position("u", "j", 1), -0.2, tolerance);
		steps(100);
	}
}

#define LIMITS "<limit><lower>-0.5</lower><upper>0.25</upper></limit>"

Test(begin, a_joint_begins_between_its_stops)
{
	start("0 0 0", "%s", "\n\n" MODEL("m", ARM("\n" AT("0.3") LIMITS, AT("-0.5") LIMITS)));
	cr_assert(strstr(warning, "/test.sdf:5: <initial_position> of joint 'one': 0.3 is beyond a stop: the joint "
				  "begins at the stop, at 0.25"),
		"%s", warning);
	expect_arm(0.25, -0.5, EXACT);
	steps(100);
	expect_arm(0.25, -0.5, 1e-6);
	/* a joint without an initial position begins where the file has it, also beyond a stop */
	start("0 0 0", "%s", MODEL("m", ARM("<limit><lower>0.25</lower><upper>0.5</upper></limit>", "")));
	cr_assert_str_empty(warning);
	expect_arm(0, 0, EXACT);
}

Test(begin, an_axis_that_mimics_begins_with_its_leader)
{
	start("0 0 0", "%s",
		MODEL("m", ARM(AT("0.3"), "<mimic joint='one'><multiplier>-2</multiplier><offset>0.1</offset>"
					  "<reference>0.2</reference></mimic>")));
	expect_arm(0.3, -2 * (0.3 - 0.2) + 0.1, EXACT);
	steps(100);
	expect_arm(0.3, -2 * (0.3 - 0.2) + 0.1, HELD);
	start("0 0 0", "%s",
		MODEL("m", ARM(AT("0.3"), AT("0.4") "<mimic joint='one'><multiplier>1</multiplier><offset>0</offset>"
						    "<reference>0</reference></mimic>")));
	cr_assert(strstr(warning, "/test.sdf:2: <initial_position> of joint 'two': it mimics joint 'one'"), "%s",
		warning);
	expect_arm(0.3, 0.3, EXACT);
}

Test(begin, a_joint_that_others_bridge_begins_where_the_file_has_it)
{
	start("0 0 0", "%s", MODEL("m", ARM(AT("0.3"), "") JOINT("three", "ball", "2 0 1 0 0 0", "base", "b", "")));
	cr_assert(strstr(warning, "/test.sdf:2: <initial_position> of joint 'one': ") &&
			  strstr(warning, "ties bodies that move with joint 'one'") && strstr(warning, "begins at 0"),
		"%s", warning);
	expect_arm(0, 0, EXACT);
}

Test(begin, joints_of_the_world_between_models)
{
	start("0 0 0", "%s",
		MODEL("n", BASE) MODEL("m",
			LINK("a", "1 0 1 0 0 0")) "<joint name='j' "
						  "type='revolute'><parent>n::base</parent><child>m::a</child><pose "
						  "relative_to='world'>0 0 1 0 0 0</pose><axis><xyz "
						  "expressed_in='world'>0 0 1</xyz>" AT("0.5") "</axis>"
											       "</joint>");
	expect_planar("a", cos(0.5), sin(0.5), 0.5, EXACT);
	steps(100);
	expect_planar("a", cos(0.5), sin(0.5), 0.5, HELD);
}

Test(begin, a_reset_goes_back_there)
{
	start("0 0 0", "%s", MODEL("m", ARM(AT("0.3"), AT("-0.7"))));
	static const char *const resets[][2] = {
		{"/world/w/reset_model", "name: 'm'"}, {"/world/w/control", "reset: {all: true}"}};
	for (size_t i = 0; i < ARRAY_LEN(resets); i++) {
		command("/world/w/set_joint", "name: 'm' joint: 'one' position: 1 velocity: 2");
		steps(50);
		cr_assert_gt(position("m", "one", 0), 1);
		command("/world/w/control", "pause: true");
		steps(1);
		command(resets[i][0], resets[i][1]);
		steps(1);
		expect_arm(0.3, -0.7, EXACT);
		command("/world/w/control", "pause: false");
		steps(1);
	}
}

Test(begin, a_created_model_begins_there)
{
	start("0 0 0", "%s", MODEL("other", LINK("l", "0 0 9 0 0 0")));
	command("/world/w/create", "sdf: \"<sdf version='1.11'>" MODEL("m", ARM(AT("0.3"), AT("-0.7"))) "</sdf>\"");
	steps(1);
	expect_arm(0.3, -0.7, HELD);
}

Test(begin, a_position_that_is_no_number_is_refused)
{
	refuse("not a number", MODEL("m", ARM(AT("nan"), "")), "<initial_position>");
	refuse("too far", MODEL("m", ARM(AT("1e7"), "")), "<initial_position>");
}
