/* Joints that couple motions (screws, gearboxes, mimics, and loops of joints) are compared with the motions that
 * their definitions require. */
#include "harness.h"

TestSuite(couplings, .init = be_sleepless, .fini = stop, .timeout = 60);

/* The angle about z, in (-pi, pi]. */
static double turn(const char *name)
{
	struct troupe_pose p = pose_of(name);
	return remainder(2 * atan2(p.qz, p.qw), 2 * M_PI);
}

static void expect_turn(const char *what, double measured, double expected, double tolerance)
{
	expect(what, measured, remainder(expected, 2 * M_PI), tolerance);
}

#define INERTIAL "<inertial><mass>1</mass><inertia><ixx>0.02</ixx><iyy>0.02</iyy><izz>0.02</izz></inertia></inertial>"
#define SYSTEM(name, joint)                                                                                            \
	"<plugin name='gz::sim::systems::" name "' filename='x'><joint_name>" joint "</joint_name></plugin>"
#define QUICK "<ode><solver><type>quick</type></solver></ode>"

/* --- screws ----------------------------------------------------------------------------------------------------- */

#define NUT(pitch, axis, system)                                                                                       \
	"<model name='m'><link name='l'>" INERTIAL                                                                     \
	"</link><joint name='j' type='screw'><parent>world</parent><child>l</child>" pitch                             \
	"<axis><xyz>0 0 1</xyz>" axis "</axis></joint>" SYSTEM(system, "j") "</model>"
#define PITCH(m) "<screw_thread_pitch>" m "</screw_thread_pitch>"
#define TURNING "data: 6.283185307179586"

Test(couplings, screw_moves_by_its_pitch)
{
	static const struct {
		const char *text, *solver;
		double pitch, tolerance;
	} screws[] = {
		{NUT(PITCH("0.1"), "", "JointController"), "", 0.1, 1e-5},
		{NUT(PITCH("-0.02"), "", "JointController"), "", -0.02, 1e-5},
		{NUT(PITCH("3"), "", "JointController"), "", 3, 1e-5},
		/* the old form: rad/m, with the opposite sign */
		{NUT("<thread_pitch>-62.83185307179586</thread_pitch>", "", "JointController"), "", 0.1, 1e-5},
		/* after fifty iterations the motor's speed is not quite reached; see below */
		{NUT(PITCH("0.1"), "", "JointController"), QUICK, 0.1, 1e-2},
	};
	for (size_t i = 0; i < ARRAY_LEN(screws); i++) {
		want.solver = screws[i].solver;
		start("0 0 0", "%s", screws[i].text);
		command("/model/m/joint/j/cmd_vel", TURNING);
		run_until(10.025); /* not a whole number of turns, so that a missing turn would show */
		double x = pose_of("m").z, angle = turn("m");
		angle += 2 * M_PI * nearbyint((2 * M_PI * x / screws[i].pitch - angle) / (2 * M_PI));
		expect("screw: turns in 10.025 s: rad", angle, 2 * M_PI * 10.025, screws[i].tolerance);
		expect("screw: pitch times turns: m", x, screws[i].pitch * angle / (2 * M_PI),
			1e-6 * fabs(screws[i].pitch));
		expect("screw: nothing sideways: m", pose_of("m").x, 0, 1e-9);
	}
}

/* With a lead of h per radian a load of m g moves m and turns I: a = g / (1 + I / (m h^2)). */
Test(couplings, a_load_drives_a_screw_back)
{
	double h = 0.1 / (2 * M_PI);
	start("0 0 -9.8", NUT(PITCH("0.1"), "", "None"));
	run_until(2);
	expect("screw under its weight for 2 s: m", pose_of("m").z, -9.8 / (1 + 0.02 / (h * h)) * 2, 2e-4);
}

Test(couplings, a_torque_drives_a_screw)
{
	double h = 1 / (2 * M_PI);
	start("0 0 0", NUT(PITCH("1"), "", "ApplyJointForce"));
	command("/model/m/joint/j/cmd_force", "data: 0.01");
	run_until(1);
	expect("0.01 N m on I + m h^2 for 1 s: m", pose_of("m").z, 0.01 / (0.02 + h * h) / 2 * h, 1e-4);
}

Test(couplings, effort_limits_and_friction_hold_a_screw)
{
	/* m g h is 0.156 N m */
	start("0 0 -9.8", NUT(PITCH("0.1"), "<dynamics><friction>0.16</friction></dynamics>", "None"));
	run_until(2);
	expect("friction of 0.16 N m holds the weight: m", pose_of("m").z, 0, 1e-6);
	start("0 0 -9.8", NUT(PITCH("0.1"), "<limit><effort>0.15</effort></limit>", "JointController"));
	command("/model/m/joint/j/cmd_vel", "data: 1");
	double h = 0.1 / (2 * M_PI);
	run_until(2);
	expect("a motor of 0.15 N m is driven back: m", pose_of("m").z, (0.15 - 9.8 * h) / (0.02 + h * h) * 2 * h,
		1e-4);
	start("0 0 -9.8", NUT(PITCH("0.1"), "<limit><effort>0.17</effort></limit>", "JointController"));
	command("/model/m/joint/j/cmd_vel", "data: 1");
	run_until(4);
	double rise_s = (0.02 + h * h) / (0.17 - 9.8 * h); /* the time until it turns at 1 rad/s */
	expect("one of 0.17 N m lifts: m", pose_of("m").z, (4 - rise_s / 2) * h, 1e-4);
}

Test(couplings, screw_stops_after_many_turns)
{
	double h = -0.1 / (2 * M_PI);
	start("0 0 -9.8", NUT(PITCH("-0.1"), "<limit><lower>-10</lower><upper>25</upper></limit>", "None"));
	run_until(20);
	expect("left-handed screw falls to its upper stop: m", pose_of("m").z, 25 * h, 1e-4);
	expect_turn("at the stop: rad", turn("m"), 25, 1e-3);
}

Test(couplings, screw_with_a_spring)
{
	/* k q = -m g h */
	double h = 0.1 / (2 * M_PI);
	start("0 0 -9.8",
		NUT(PITCH("0.1"), "<dynamics><damping>0.3</damping><spring_stiffness>0.1</spring_stiffness></dynamics>",
			"None"));
	run_until(60);
	expect("screw on a spring of 0.1 N m/rad: m", pose_of("m").z, -9.8 * h / 0.1 * h, 1e-5);
}

/* --- gearboxes -------------------------------------------------------------------------------------------------- */

#define SHAFT(name, x, system)                                                                                         \
	"<model name='" name "'><pose>" x " 0 1 0 0 0</pose><link name='l'>" INERTIAL                                  \
	"</link><joint name='j' type='revolute'><parent>world</parent><child>l</child><axis><xyz>0 0 "                 \
	"1</xyz></axis></joint>" system "</model>"
#define GEARS(ratio)                                                                                                   \
	"<joint name='g' type='gearbox'><parent>a::l</parent><child>b::l</child><gearbox_ratio>" ratio                 \
	"</gearbox_ratio><gearbox_reference_body>world</gearbox_reference_body><axis><xyz>0 0 "                        \
	"1</xyz></axis><axis2><xyz>0 0 1</xyz></axis2></joint>"

/* SDF: theta_2 = -ratio theta_1; each is the angle of a shaft (parent or child) against the reference body. */
Test(couplings, gearbox_turns_by_its_ratio)
{
	static const struct {
		const char *text;
		double ratio;
	} boxes[] = {
		{SHAFT("a", "0", SYSTEM("JointController", "j")) SHAFT("b", "1", "") GEARS("5"), 5},
		{SHAFT("a", "0", SYSTEM("JointController", "j")) SHAFT("b", "0", "") GEARS("5"), 5}, /* coaxial */
		{SHAFT("a", "0", SYSTEM("JointController", "j")) SHAFT("b", "1", "") GEARS("-0.25"), -0.25},
	};
	for (size_t i = 0; i < ARRAY_LEN(boxes); i++) {
		start("0 0 0", "%s", boxes[i].text);
		command("/model/a/joint/j/cmd_vel", "data: 1");
		run_until(4);
		expect_turn("gearbox: driving shaft: rad", turn("a"), 4, 1e-5);
		expect_turn("gearbox: driven shaft: rad", turn("b"), -boxes[i].ratio * 4, 1e-5);
	}
}

/* A shaft turns by more than half a turn in a step: turns are counted from the rate of each shaft. */
Test(couplings, gearbox_of_fast_shafts)
{
	static const struct {
		const char *text, *velocity;
		double driving, driven;
	} boxes[] = {
		{SHAFT("a", "0", SYSTEM("JointController", "j")) SHAFT("b", "1", "") GEARS("0.1"), "data: 5000", 5000,
			-500},
		{SHAFT("a", "0", SYSTEM("JointController", "j")) SHAFT("b", "1", "") GEARS("10"), "data: 500", 500,
			-5000},
	};
	for (size_t i = 0; i < ARRAY_LEN(boxes); i++) {
		start("0 0 0", "%s", boxes[i].text);
		command("/model/a/joint/j/cmd_vel", boxes[i].velocity);
		run_until(1.003);
		expect_turn("fast driving shaft: rad", turn("a"), boxes[i].driving * 1.003, 1e-3);
		expect_turn("fast driven shaft: rad", turn("b"), boxes[i].driven * 1.003, 1e-3);
	}
}

Test(couplings, gearbox_transmits_torque)
{
	start("0 0 0", SHAFT("a", "0", SYSTEM("ApplyJointForce", "j")) SHAFT("b", "1", "") GEARS("3"));
	command("/model/a/joint/j/cmd_force", "data: 0.1");
	run_until(1);
	double angle = 0.1 / (0.02 + 9 * 0.02) / 2;
	expect("0.1 N m on I + 9 I for 1 s: rad", turn("a"), angle, 1e-3);
	expect("the other shaft: rad", turn("b"), -3 * angle, 3e-3);
	expect("what is amiss under this load: rad", 3 * turn("a") + turn("b"), 0, 1e-8);
}

/* Input, output and a carrier that floats: the sum of their angular momenta stays 0. */
Test(couplings, gearbox_on_a_floating_carrier)
{
	start("0 0 0",
		"<model name='m'><link "
		"name='c'><inertial><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></"
		"inertial></link><link name='a'>" INERTIAL "</link><link name='b'>" INERTIAL
		"</link><joint name='ja' type='revolute'><parent>c</parent><child>a</child><axis><xyz>0 0 "
		"1</xyz></axis></joint><joint name='jb' type='revolute'><parent>c</parent><child>b</child><axis><xyz>0 "
		"0 1</xyz></axis></joint><joint name='g' "
		"type='gearbox'><parent>a</parent><child>b</child><gearbox_ratio>2</"
		"gearbox_ratio><gearbox_reference_body>c</gearbox_reference_body><axis><xyz>0 0 "
		"1</xyz></axis><axis2><xyz>0 0 1</xyz></axis2></joint>" SYSTEM("JointController", "ja") "</model>");
	command("/model/m/joint/ja/cmd_vel", "data: 1");
	run_until(7);
	expect("carrier: rad", turn("m"), 7 * (-0.02 + 2 * 0.02) / 0.14, 5e-3);
}

/* The world is the child, in the form of a static model: the nut is the parent, and does not turn with the screw. */
Test(couplings, screw_with_the_world_as_child)
{
	double h = 0.1 / (2 * M_PI);
	start("0 0 -9.8",
		"<model name='rock'><static>true</static><link name='l'/></model><model name='m'><link "
		"name='l'>" INERTIAL
		"</link></model><joint name='j' type='screw'><parent>m::l</parent><child>rock::l</child>" PITCH(
			"0.1") "<axis><xyz>0 0 "
			       "1</xyz><limit><lower>-9</lower><upper>30</upper></limit></axis></joint>");
	run_until(2);
	expect("a nut on a standing screw: m", pose_of("m").z, -9.8 / (1 + 0.02 / (h * h)) * 2, 2e-4);
	expect_turn("and its turns: rad", turn("m"), pose_of("m").z / h, 1e-4);
	run_until(20);
	expect("falls to where the joint's upper stop is: m", pose_of("m").z, -30 * h, 1e-4);
}

#define BARE(pitch)                                                                                                    \
	"<model name='m'><link name='l'/><joint name='j' type='screw'><parent>world</parent><child>l</child>" pitch    \
	"<axis><xyz>0 0 1</xyz></axis></joint></model>"

Test(couplings, threads_beyond_reason_are_left_out)
{
	static const char *const worlds[] = {BARE(PITCH("1e-9")), BARE(PITCH("1e5"))};
	for (size_t i = 0; i < ARRAY_LEN(worlds); i++) {
		start("0 0 0", "%s", worlds[i]);
		printf("%s\n", warning);
		cr_assert(strstr(warning, "m a turn: expected"), "%s", warning);
		run_until(0.1);
	}
}

Test(couplings, gearbox_without_a_reference_is_left_out)
{
	start("0 0 0",
		SHAFT("a", "0", "") SHAFT("b", "1",
			"") "<joint name='g' type='gearbox'><parent>a::l</parent><child>b::l</child><axis><xyz>0 0 "
			    "1</xyz></axis><axis2><xyz>0 0 1</xyz></axis2></joint>");
	printf("%s\n", warning);
	cr_assert(strstr(warning, "gearbox_reference_body"), "%s", warning);
}

/* --- mimics ----------------------------------------------------------------------------------------------------- */

#define AXIS(text) "<axis><xyz>0 0 1</xyz>" text "</axis>"
#define HINGE(name, child, axis)                                                                                       \
	"<joint name='" name "' type='revolute'><parent>world</parent><child>" child "</child>" axis "</joint>"
#define MIMIC(joint, multiplier, offset, reference)                                                                    \
	"<mimic joint='" joint "' axis='axis'><multiplier>" multiplier "</multiplier><offset>" offset                  \
	"</offset><reference>" reference "</reference></mimic>"
#define THREE(first, joints)                                                                                           \
	"<model name='m' canonical_link='" first "'><link name='a'>" INERTIAL "</link><link name='b'>" INERTIAL        \
	"</link><link name='c'>" INERTIAL "</link>" joints SYSTEM("JointController", "ja") "</model>"

Test(couplings, mimic_follows)
{
	static const struct {
		const char *what, *text;
		double expected;
	} mimics[] = {
		{"mimic: -2 (1 - 0.1) + 0.3: rad",
			THREE("b", HINGE("ja", "a", AXIS("")) HINGE("jb", "b", AXIS(MIMIC("ja", "-2", "0.3", "0.1")))),
			-1.5},
		{"mimic of a mimic: 0.5 (-1.5) - 0.2: rad",
			THREE("c", HINGE("jc", "c", AXIS(MIMIC("jb", "0.5", "-0.2", "0"))) HINGE("ja", "a", AXIS(""))
					   HINGE("jb", "b", AXIS(MIMIC("ja", "-2", "0.3", "0.1")))),
			-0.95},
		{"mimic that may turn at 0.2 rad/s only: rad",
			THREE("b", HINGE("ja", "a", AXIS("")) HINGE("jb", "b",
					   AXIS("<limit><velocity>0.2</velocity></limit>" MIMIC("ja", "2", "0", "0")))),
			0.4},
		{"mimic that has a stop at 0.7: rad",
			THREE("b", HINGE("ja", "a", AXIS("")) HINGE("jb", "b",
					   AXIS("<limit><lower>0</lower><upper>0.7</upper></limit>" MIMIC(
						   "ja", "1", "0", "0")))),
			0.7},
	};
	for (size_t i = 0; i < ARRAY_LEN(mimics); i++) {
		start("0 0 0", "%s", mimics[i].text);
		command("/model/m/joint/ja/cmd_vel", "data: 0.5");
		run_until(2);
		expect(mimics[i].what, turn("m"), mimics[i].expected, 1e-3);
	}
}

/* A link that slides as another one turns; the mimic holds its weight. */
Test(couplings, mimic_between_kinds)
{
	start("0 0 -9.8",
		THREE("b", HINGE("ja", "a", AXIS("")) "<joint name='jb' "
						      "type='prismatic'><parent>world</parent><child>b</child>" AXIS(
							      MIMIC("ja", "0.1", "0", "0")) "</joint>"));
	command("/model/m/joint/ja/cmd_vel", "data: 0.5");
	run_until(2);
	expect("slide that mimics a hinge: m", pose_of("m").z, 0.1, 1e-5);
}

/* The second axis of a joint may follow its first one; no axis follows itself. */
Test(couplings, an_axis_mimics_another_of_its_joint)
{
	start("0 0 0", "<model name='m' canonical_link='b'><link name='a'>" INERTIAL "</link><link name='b'>" INERTIAL
		       "</link><joint name='ja' type='universal'><parent>a</parent><child>b</child><axis><xyz>0 0 "
		       "1</xyz></axis><axis2><xyz>0 1 0</xyz><mimic joint='ja' "
		       "axis='axis'><multiplier>1</multiplier></mimic></axis2></joint><joint name='fix' "
		       "type='fixed'><parent>world</parent><child>a</child></joint></model>");
	command("/world/w/set_joint", "name: 'm' joint: 'ja' axis: 0 position: 0.3 velocity: 0");
	run_until(0.2);
	struct troupe_pose p = pose_of("m");
	/* turned by 0.3 about z, then by 0.3 about the turned y: the angle of the whole turn */
	expect("both axes of a joint turn: rad", 2 * acos(fabs(p.qw)), 2 * acos(cos(0.15) * cos(0.15)), 2e-3);
	refuse("the second axis mimics itself",
		"<model name='m'><link name='a'>" INERTIAL "</link><link name='b'>" INERTIAL
		"</link><joint name='ja' type='universal'><parent>a</parent><child>b</child><axis><xyz>0 0 "
		"1</xyz></axis><axis2><xyz>0 1 0</xyz><mimic joint='ja' "
		"axis='axis2'><multiplier>1</multiplier></mimic></axis2></joint></model>",
		"another joint");
}

static double height_of(const char *name)
{
	return pose_of(name).z;
}

/* Two pendulums of different lengths that hang from the world: coupled they have the period of sum(m g l) / sum(I + m
 * l^2). Alone they would swing in 2.0 and in 1.1 s. */
#define PENDULUM(name, y, length, mimic)                                                                               \
	"<link name='" name "'><pose>" length " " y " 0 0 0 0</pose>" INERTIAL "</link><joint name='j" name            \
	"' type='revolute'><pose>-" length " 0 0 0 0 0</pose><parent>world</parent><child>" name                       \
	"</child><axis><xyz>0 1 0</xyz>" mimic "</axis></joint>"

static double pendulum_tilt(const char *frame)
{
	struct troupe_pose p = pose_of(frame);
	return 2 * atan2(p.qy, p.qw);
}

Test(couplings, pendulums_tied_by_a_mimic_swing_as_one)
{
	double length[2] = {1, 0.25}, moment = 0, inertia = 0;
	for (int i = 0; i < 2; i++) {
		moment += 9.8 * length[i];
		inertia += 0.02 + length[i] * length[i];
	}
	/* integrated in small steps: from horizontal, at rest, for 3 s */
	double angle = 0, rate = 0, h = 1e-6;
	for (int i = 0; i < 3000000; i++) {
		rate += h * moment / inertia * cos(angle);
		angle += h * rate;
	}
	static const char *const frames[] = {"a", "b"};
	for (size_t i = 0; i < ARRAY_LEN(frames); i++) {
		start("0 0 -9.8",
			"<model name='m' canonical_link='%s'>" PENDULUM("a", "0", "1", "")
				PENDULUM("b", "1", "0.25", MIMIC("ja", "1", "0", "0")) "</model>",
			frames[i]);
		run_until(3);
		expect("pendulums of 1 and 0.25 m as one: rad", pendulum_tilt("m"), angle, 5e-3);
	}
}

/* The bodies turn about each other on a base that floats: no force acts from outside. */
Test(couplings, a_driven_follower_moves_nothing_but_what_it_pushes)
{
	start("0 0 0", "<model name='m' canonical_link='base'><link "
		       "name='base'><inertial><mass>100</mass></inertial></link><link name='a'><pose>1 0 0 0 0 "
		       "0</pose>" INERTIAL "</link><link name='b'><pose>0 1 0 0 0 0</pose>" INERTIAL
		       "</link><joint name='ja' type='revolute'><parent>base</parent><child>a</child><axis><xyz>0 1 "
		       "0</xyz></axis></joint><joint name='jb' "
		       "type='revolute'><parent>base</parent><child>b</child><axis><xyz>1 0 0</xyz>" MIMIC(
			       "ja", "-3", "0.5", "0") "</axis></joint>" SYSTEM("JointController", "jb") "</model>");
	command("/model/m/joint/jb/cmd_vel", "data: 2");
	double farthest = 0;
	for (double t = 0.05; t < 3; t += 0.05) {
		run_until(t);
		struct troupe_pose p = pose_of("m");
		farthest = fmax(farthest, sqrt(p.x * p.x + p.y * p.y + p.z * p.z));
	}
	expect("a base of 100 kg on which 2 kg turn: m", farthest, 0, 0.01);
}

/* If a mimic ties two motors, the leader's command counts, whatever the follower's command is, whether the motors are
 * weak or strong. */
Test(couplings, a_follower_is_not_driven_while_its_leader_is)
{
	static const char *const limits[] = {"", "<limit><effort>5</effort></limit>"};
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		start("0 0 0",
			"<model name='m' canonical_link='b'><link name='a'>" INERTIAL "</link><link name='b'>" INERTIAL
			"</link><joint name='ja' type='revolute'><parent>world</parent><child>a</child><axis><xyz>0 0 "
			"1</xyz>%s</axis></joint><joint name='jb' "
			"type='revolute'><parent>world</parent><child>b</child><axis><xyz>0 0 1</xyz>%s" MIMIC(
				"ja", "2", "0", "0") "</axis></joint>" SYSTEM("JointController", "ja")
				SYSTEM("JointController", "jb") "</model>",
			limits[i], limits[i]);
		command("/model/m/joint/ja/cmd_vel", "data: 0.5");
		run_until(1);
		expect("a follower with a command to stand still: rad", turn("m"), 1, 5e-3);
		command("/model/m/joint/jb/cmd_vel", "data: -3");
		run_until(2);
		expect("and to go the other way: rad", turn("m"), 2, 5e-3);
	}
}

/* A force that holds the follower holds the leader, too. */
Test(couplings, a_mimic_pushes_back_on_its_leader)
{
	/* a motor of 1 N m turns the leader until the follower is at its stop */
	start("0 0 0", THREE("a", HINGE("ja", "a", AXIS("<limit><effort>1</effort></limit>")) HINGE("jb", "b",
					  AXIS("<limit><lower>-1</lower><upper>0.6</upper></limit>" MIMIC(
						  "ja", "2", "0", "0")))));
	command("/model/m/joint/ja/cmd_vel", "data: 1");
	run_until(3);
	expect("the leader stops with its follower: rad", turn("m"), 0.3, 1e-4);
	/* the follower lifts 1 kg by 0.1 m per radian: m g h is 0.98 N m */
	static const struct {
		const char *effort, *what;
		double low, high;
	} lifts[] = {{"0.9", "too weak a leader sinks: m", -9, -0.5}, {"1.1", "a stronger one lifts: m", 0.2, 9}};
	for (size_t i = 0; i < ARRAY_LEN(lifts); i++) {
		start("0 0 -9.8",
			"<model name='m' canonical_link='b'><link name='a'>" INERTIAL "</link><link name='b'>" INERTIAL
			"</link><joint name='ja' type='revolute'><parent>world</parent><child>a</child><axis><xyz>0 0 "
			"1</xyz><limit><effort>%s</effort></limit></axis></joint><joint name='jb' "
			"type='prismatic'><parent>world</parent><child>b</child><axis><xyz>0 0 1</xyz>" MIMIC(
				"ja", "0.1", "0", "0") "</axis></joint>" SYSTEM("JointController", "ja") "</model>",
			lifts[i].effort);
		command("/model/m/joint/ja/cmd_vel", "data: 1");
		run_until(4);
		printf("%-52s %g\n", lifts[i].what, height_of("m"));
		cr_assert(height_of("m") > lifts[i].low && height_of("m") < lifts[i].high, "%s", lifts[i].what);
	}
}

/* A follower that starts behind its leader catches up, and lifts a load. */
Test(couplings, a_follower_comes_back_to_its_leader_against_a_load)
{
	start("0 0 -9.8",
		"<model name='m' canonical_link='b'><link name='a'>" INERTIAL
		"</link><link name='b'><inertial><mass>200</mass></inertial></link><joint name='ja' "
		"type='revolute'><parent>world</parent><child>a</child><axis><xyz>0 0 1</xyz></axis></joint><joint "
		"name='jb' type='prismatic'><parent>world</parent><child>b</child><axis><xyz>0 0 1</xyz>" MIMIC(
			"ja", "1", "0.5", "0") "</axis></joint>" SYSTEM("JointController", "ja") "</model>");
	command("/model/m/joint/ja/cmd_vel", "data: 1e-9"); /* held in place, with any force */
	run_until(2);
	expect("200 kg that had to rise by 0.5 m: m", height_of("m"), 0.5, 1e-4);
}

/* Opposite fingers of a gripper whose palm floats: no row of ODE's can tie these. */
Test(couplings, fingers_close_alike)
{
	start("0 0 0", "<model name='m' canonical_link='b'><link name='p'>" INERTIAL
		       "</link><link name='a'><pose>0 0.5 0 0 0 0</pose>" INERTIAL
		       "</link><link name='b'><pose>0 -0.5 0 0 0 0</pose>" INERTIAL
		       "</link><joint name='ja' type='prismatic'><parent>p</parent><child>a</child><axis><xyz>0 -1 "
		       "0</xyz></axis></joint><joint name='jb' "
		       "type='prismatic'><parent>p</parent><child>b</child><axis><xyz>0 1 0</xyz>" MIMIC(
			       "ja", "1", "0", "0") "</axis></joint>" SYSTEM("ApplyJointForce", "ja") "</model>");
	command("/model/m/joint/ja/cmd_force", "data: 1"); /* pushes 2 kg, because of the mimic */
	run_until(1);
	expect("the finger that follows, 1 N on 2 kg for 1 s: m", pose_of("m").y, 0.25, 1e-3);
}

Test(couplings, bad_mimics_are_refused_with_their_place)
{
	refuse("unknown", THREE("a", HINGE("ja", "a", AXIS(MIMIC("nobody", "1", "0", "0")))), "'nobody'");
	refuse("itself", THREE("a", HINGE("ja", "a", AXIS(MIMIC("ja", "1", "0", "0")))), "another joint");
	refuse("no such axis",
		THREE("a", HINGE("jb", "b", AXIS("")) HINGE("ja", "a",
				   AXIS("<mimic joint='jb' axis='axis2'><multiplier>1</multiplier></mimic>"))),
		"has this axis");
	refuse("bad axis",
		THREE("a", HINGE("jb", "b", AXIS("")) HINGE(
				   "ja", "a", AXIS("<mimic joint='jb' axis='x'><multiplier>1</multiplier></mimic>"))),
		"axis or axis2");
	refuse("bad number",
		THREE("a", HINGE("jb", "b", AXIS("")) HINGE("ja", "a", AXIS(MIMIC("jb", "much", "0", "0")))),
		"one number");
	refuse("a circle of three",
		THREE("a", HINGE("jb", "b", AXIS(MIMIC("jc", "1", "0", "0")))
				   HINGE("jc", "c", AXIS(MIMIC("ja", "1", "0", "0")))
					   HINGE("ja", "a", AXIS(MIMIC("jb", "1", "0", "0")))),
		"mimics itself");
}

/* --- loops ------------------------------------------------------------------------------------------------------ */

#define PIN(name, parent, child, at)                                                                                   \
	"<joint name='" name "' type='revolute'><pose relative_to='__model__'>" at " 0 0 0 0</pose><parent>" parent    \
	"</parent><child>" child "</child><axis><xyz>0 0 1</xyz></axis></joint>"

/* Ground A (0,0) and D (2,0), crank A B of 0.5, coupler B C, rocker D C. C is where the circles about B and D meet
 * above the ground; the rocker turns as D C does. */
Test(couplings, four_bar_linkage_closes)
{
	start("0 0 0", "<model name='m' canonical_link='rocker'><link name='rocker'><pose>2 0 0 0 0 0</pose>" INERTIAL
		       "</link><link name='crank'>" INERTIAL
		       "</link><link name='coupler'><pose>0.9 0.9 0 0 0 0</pose>" INERTIAL
		       "</link>" PIN("ja", "world", "crank", "0 0") PIN("jb", "crank", "coupler", "0 0.5")
			       PIN("jc", "coupler", "rocker", "1.8 1.3") PIN("jd", "world", "rocker", "2 0")
				       SYSTEM("JointController", "ja") "</model>");
	command("/model/m/joint/ja/cmd_vel", "data: 2");
	double coupler2 = 1.8 * 1.8 + 0.8 * 0.8, rocker2 = 0.2 * 0.2 + 1.3 * 1.3;
	for (int k = 1; k <= 8; k++) {
		run_until(k * 0.9);
		double bx = 0.5 * cos(M_PI / 2 + k * 1.8), by = 0.5 * sin(M_PI / 2 + k * 1.8);
		double dx = 2 - bx, dy = -by, d2 = dx * dx + dy * dy;
		double a = (coupler2 - rocker2 + d2) / (2 * d2), h = sqrt(coupler2 / d2 - a * a);
		double cx = bx + a * dx - h * dy, cy = by + a * dy + h * dx;
		double angle = atan2(cy, cx - 2) - atan2(1.3, -0.2);
		expect("four-bar linkage: rocker: rad", turn("m"), angle, 2e-3);
		/* the rocker carries the model's frame, 2 m from its pin */
		expect("four-bar linkage: its pin: m", pose_of("m").x + 2 * cos(turn("m")), 2, 1e-3);
	}
}
