/* Each kind of joint is compared with its definition: stops act on the right side, springs balance, limits are kept.
 */
#include "harness.h"

TestSuite(joints, .init = be_sleepless, .fini = stop, .timeout = 60);

/* An arm of 0.5 m along x; a joint ties it to the world; its frame is at its own centre. */
#define ARM(joint)                                                                                                     \
	"<model name='m'><pose>0.5 0 2 0 0 0</pose><link "                                                             \
	"name='l'><inertial><mass>1</mass><inertia><ixx>0.02</ixx><iyy>0.02</iyy><izz>0.02</izz></inertia></"          \
	"inertial></link>" joint "</model>"
#define AT_THE_END "<parent>world</parent><child>l</child><pose>-0.5 0 0 0 0 0</pose>"
#define LIMITED(tag, xyz, lower, upper)                                                                                \
	"<" tag "><xyz>" xyz "</xyz><limit><lower>" lower "</lower><upper>" upper                                      \
	"</upper></limit><dynamics><damping>0.5</damping></dynamics></" tag ">"

static struct troupe_pose pose(void)
{
	return pose_of("m");
}

static double angle_about_y(struct troupe_pose p)
{
	return 2 * atan2(p.qy, p.qw);
}

static double angle_about_z(struct troupe_pose p)
{
	return 2 * atan2(p.qz, p.qw);
}

Test(joints, prismatic_stops_on_the_right_side)
{
	start("0 0 -9.8",
		ARM("<joint name='j' type='prismatic'>" AT_THE_END LIMITED("axis", "0 0 1", "-0.3", "0.2") "</joint>"));
	run_until(5);
	expect("prismatic falls to its lower stop: m", pose().z, 2 - 0.3, 2e-3);
	start("0 0 9.8",
		ARM("<joint name='j' type='prismatic'>" AT_THE_END LIMITED("axis", "0 0 1", "-0.3", "0.2") "</joint>"));
	run_until(5);
	expect("prismatic rises to its upper stop: m", pose().z, 2 + 0.2, 2e-3);
}

Test(joints, spring_holds_its_load)
{
	start("0 0 -9.8", ARM("<joint name='j' type='prismatic'>" AT_THE_END
			      "<axis><xyz>0 0 "
			      "1</xyz><dynamics><damping>20</damping><spring_stiffness>98</"
			      "spring_stiffness><spring_reference>0.05</spring_reference></dynamics></axis></joint>"));
	run_until(10);
	expect("spring of 98 N/m under 1 kg: m", pose().z, 2 + 0.05 - 0.1, 1e-4);
}

Test(joints, stiff_damping_is_stable)
{
	start("0 0 -9.8", ARM("<joint name='j' type='revolute'>" AT_THE_END
			      "<axis><xyz>0 1 0</xyz><dynamics><damping>1e6</damping></dynamics></axis></joint>"));
	run_until(1);
	expect("hinge in treacle hardly moves: rad", angle_about_y(pose()), 9.8 * 0.5 / 1e6, 1e-5);
}

Test(joints, universal_and_revolute2_have_the_sign_of_sdf)
{
	static const char *const kinds[] = {"universal", "revolute2"};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		char joint[2000];
		snprintf(joint, sizeof joint,
			ARM("<joint name='j' type='%s'>" AT_THE_END LIMITED("axis", "0 1 0", "-0.2", "0.6")
					LIMITED("axis2", "0 0 1", "-0.4", "0.7") "</joint>"),
			kinds[i]);
		start("0 0 -9.8", "%s", joint); /* an arm that falls turns by a positive angle about y */
		run_until(8);
		expect("two axes: first, falling: rad", angle_about_y(pose()), 0.6, 5e-3);
		start("0 -9.8 0", "%s", joint); /* gravity towards -y turns the arm by a negative angle about z */
		run_until(8);
		expect("two axes: second, drawn to -y: rad", angle_about_z(pose()), -0.4, 5e-3);
	}
}

Test(joints, ball_keeps_its_distance)
{
	start("0 0 -9.8", ARM("<joint name='j' type='ball'>" AT_THE_END "</joint>"));
	for (double t = 0.5; t < 5; t += 0.5) {
		run_until(t);
		struct troupe_pose p = pose();
		expect("ball joint: distance from its anchor, m", sqrt(p.x * p.x + p.y * p.y + (p.z - 2) * (p.z - 2)),
			0.5, 1e-3);
	}
}

Test(joints, fixed_to_the_world_holds)
{
	start("0 0 -9.8", ARM("<joint name='j' type='fixed'>" AT_THE_END "</joint>"));
	run_until(3);
	expect("fixed to the world: m", pose().z, 2, 0);
}

/* Two links that a fixed joint welds turn about their common centre of mass as one body. */
Test(joints, fixed_welds_links_to_one_body)
{
	start("0 0 0",
		"<model name='m'><link "
		"name='a'><inertial><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></"
		"inertial></link><link name='b'><pose>1 0 0 0 0 "
		"0.5</pose><inertial><mass>3</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></"
		"inertial></link><joint name='j' type='fixed'><parent>a</parent><child>b</child></joint><plugin "
		"name='gz::sim::systems::VelocityControl' filename='x'><initial_linear>0 0.75 "
		"0</initial_linear><initial_angular>0 0 1</initial_angular></plugin></model>");
	run_until(1);
	struct troupe_pose p = pose();
	expect("welded pair turns as one: rad", angle_about_z(p), 1, 1e-3);
}

#define WHEEL(axis, system)                                                                                            \
	ARM("<joint name='j' type='revolute'><parent>world</parent><child>l</child><axis><xyz>0 0 1</xyz>" axis        \
	    "</axis></joint><plugin name='gz::sim::systems::" system                                                   \
	    "' filename='x'><joint_name>j</joint_name></plugin>")

Test(joints, velocity_is_followed_and_limited)
{
	start("0 0 0", WHEEL("", "JointController"));
	command("/model/m/joint/j/cmd_vel", "data: 0.5");
	run_until(2);
	expect("driven at 0.5 rad/s for 2 s: rad", angle_about_z(pose()), 1, 2e-3);
	start("0 0 0", WHEEL("<limit><velocity>0.2</velocity></limit>", "JointController"));
	command("/model/m/joint/j/cmd_vel", "data: 5");
	run_until(2);
	expect("driven at 5, limited to 0.2 rad/s, for 2 s: rad", angle_about_z(pose()), 0.4, 2e-3);
}

struct rates {
	uint32_t axis;
	double rate;
};

static void read_rate(void *ctx, const struct troupe_snapshot *snapshot)
{
	struct rates *rates = ctx;
	rates->rate = snapshot->joints[0].velocity[rates->axis];
}

/* The greatest rate of an axis of the first joint in 200 steps. */
static double greatest_rate(uint32_t axis)
{
	struct rates rates = {.axis = axis};
	double greatest = 0;
	for (int k = 1; k <= 200; k++) {
		run_until(k * 0.001);
		troupe_server_snapshot(server, read_rate, &rates);
		greatest = fmax(greatest, fabs(rates.rate));
	}
	return greatest;
}

#define SLOW "<limit><velocity>0.5</velocity></limit>"

/* A limit of the rate holds in the very step in which a force or a load would exceed it. */
Test(joints, limits_of_rates_hold_in_every_step)
{
	static const char *const force[] = {"data: 5000", "data: -5000"};
	for (size_t i = 0; i < ARRAY_LEN(force); i++) {
		start("0 0 0", WHEEL(SLOW, "ApplyJointForce"));
		command("/model/m/joint/j/cmd_force", force[i]);
		expect("turned by 5 kN m: at most, rad/s", greatest_rate(0), 0.5, 1e-6);
	}
	start("0 0 -9800",
		ARM("<joint name='j' type='revolute'>" AT_THE_END "<axis><xyz>0 1 0</xyz>" SLOW "</axis></joint>"));
	expect("falls by 1000 g: at most, rad/s", greatest_rate(0), 0.5, 1e-6);
	start("0 0 -9800",
		ARM("<joint name='j' type='prismatic'>" AT_THE_END "<axis><xyz>0 0 1</xyz>" SLOW "</axis></joint>"));
	expect("slides by 1000 g: at most, m/s", greatest_rate(0), 0.5, 1e-6);
	start("0 0 -9800", ARM("<joint name='j' type='universal'>" AT_THE_END
			       "<axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 1 0</xyz>" SLOW "</axis2></joint>"));
	expect("second axis, falls by 1000 g: at most, rad/s", greatest_rate(1), 0.5, 1e-6);
}

Test(joints, force_accelerates_and_effort_limits)
{
	start("0 0 0", WHEEL("", "ApplyJointForce"));
	command("/model/m/joint/j/cmd_force", "data: 0.02");
	run_until(1);
	expect("0.02 N m on 0.02 kg m2 for 1 s: rad", angle_about_z(pose()), 0.5, 2e-3);
	start("0 0 0", WHEEL("<limit><effort>0.01</effort></limit>", "ApplyJointForce"));
	command("/model/m/joint/j/cmd_force", "data: 0.5");
	run_until(1);
	expect("0.5 N m, limited to 0.01, for 1 s: rad", angle_about_z(pose()), 0.25, 2e-3);
}

Test(joints, friction_holds_below_and_brakes_above)
{
	start("0 0 0", WHEEL("<dynamics><friction>0.1</friction></dynamics>", "ApplyJointForce"));
	command("/model/m/joint/j/cmd_force", "data: 0.09");
	run_until(2);
	expect("0.09 N m against 0.1 of friction: rad", angle_about_z(pose()), 0, 1e-6);
	start("0 0 0", WHEEL("<dynamics><friction>0.1</friction></dynamics>", "ApplyJointForce"));
	command("/model/m/joint/j/cmd_force", "data: 0.12");
	run_until(1);
	expect("0.12 N m against 0.1 of friction, 1 s: rad", angle_about_z(pose()), 0.5, 2e-3);
}

/* Damping beside a motor or dry friction, which then use the axis's constraint row: at the end the torques are
 * equal. */
Test(joints, damping_beside_a_motor_and_friction)
{
	for (int sign = -1; sign <= 1; sign += 2) {
		start("0 0 0", WHEEL("<limit><effort>0.05</effort></limit><dynamics><damping>0.1</damping></dynamics>",
				       "JointController"));
		command("/model/m/joint/j/cmd_vel", sign < 0 ? "data: -9" : "data: 9");
		run_until(3);
		double before = angle_about_z(pose());
		run_until(4);
		expect("a motor of 0.05 N m against damping of 0.1, in 1 s: rad", angle_about_z(pose()) - before,
			sign * 0.5, 5e-3);
		start("0 0 0", WHEEL("<dynamics><damping>0.1</damping><friction>0.03</friction></dynamics>",
				       "ApplyJointForce"));
		command("/model/m/joint/j/cmd_force", sign < 0 ? "data: -0.08" : "data: 0.08");
		run_until(3);
		before = angle_about_z(pose());
		run_until(4);
		expect("0.08 N m against friction of 0.03 and damping of 0.1, in 1 s: rad",
			angle_about_z(pose()) - before, sign * 0.5, 5e-3);
	}
}

/* A motor without a limit of force must not push the joint through its stop, and must be able to leave the stop. */
Test(joints, driven_against_a_stop_and_away_again)
{
	start("0 0 0", WHEEL("<limit><lower>-0.5</lower><upper>0.5</upper></limit>", "JointController"));
	command("/model/m/joint/j/cmd_vel", "data: 1");
	run_until(3);
	expect("driven against its upper stop: rad", angle_about_z(pose()), 0.5, 2e-3);
	command("/model/m/joint/j/cmd_vel", "data: -0.25");
	run_until(4);
	expect("and away from it for 1 s: rad", angle_about_z(pose()), 0.25, 3e-3);
	run_until(10);
	expect("to the lower one: rad", angle_about_z(pose()), -0.5, 2e-3);
}

/* With position control by velocity a position is reached in one step, however many turns away it is; cmd_max, if
 * given, limits the speed. */
Test(joints, positions_by_velocity_are_exact)
{
	static const double targets[] = {0.3, -2.5, 3.5, 9.5, -9.9};
	for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
		char to[40];
		snprintf(to, sizeof to, "data: %g", targets[i]);
		start("0 0 0", ARM("<joint name='j' type='revolute'><parent>world</parent><child>l</child><axis><xyz>0 "
				   "0 1</xyz></axis></joint><plugin name='gz::sim::systems::JointPositionController' "
				   "filename='x'><joint_name>j</joint_name><use_velocity_commands>true</"
				   "use_velocity_commands></plugin>"));
		command("/model/m/joint/j/0/cmd_pos", to);
		run_until(0.001);
		expect("a position, one step later: rad", remainder(angle_about_z(pose()) - targets[i], 2 * M_PI), 0,
			1e-6);
		run_until(0.01);
		expect("and held: rad", remainder(angle_about_z(pose()) - targets[i], 2 * M_PI), 0, 1e-9);
	}
	start("0 0 0", ARM("<joint name='j' type='revolute'><parent>world</parent><child>l</child><axis><xyz>0 0 "
			   "1</xyz></axis></joint><plugin name='gz::sim::systems::JointPositionController' "
			   "filename='x'><joint_name>j</joint_name><use_velocity_commands>true</"
			   "use_velocity_commands><cmd_max>0.5</cmd_max></plugin>"));
	command("/model/m/joint/j/0/cmd_pos", "data: 2");
	run_until(1);
	expect("with cmd_max 0.5 for 1 s: rad", angle_about_z(pose()), 0.5, 1e-3);
}

/* --- both axes, and every parameter ------------------------------------------------------------------------------ */

Test(joints, stops_beyond_a_turn)
{
	start("0 0 0", WHEEL("<limit><lower>-20</lower><upper>15</upper></limit>", "JointController"));
	command("/model/m/joint/j/cmd_vel", "data: 4");
	run_until(6);
	expect("driven to its upper stop at 15 rad: rad", angle_about_z(pose()), 15 - 4 * M_PI, 1e-3);
	command("/model/m/joint/j/cmd_vel", "data: -7");
	run_until(14);
	expect("driven to its lower stop at -20 rad: rad", remainder(angle_about_z(pose()), 2 * M_PI), -20 + 6 * M_PI,
		1e-3);
}

#define LOCKED(at) "<axis><xyz>0 1 0</xyz><limit><lower>" at "</lower><upper>" at "</upper></limit></axis></joint>"
#define HINGED "<joint name='j' type='revolute'>" AT_THE_END

Test(joints, equal_stops_hold)
{
	start("0 0 -9.8", ARM(HINGED LOCKED("0")));
	run_until(3);
	expect("equal stops hold against the weight: rad", angle_about_y(pose()), 0, 1e-6);
	start("0 0 9.8", ARM(HINGED LOCKED("0.4")));
	run_until(3);
	expect("and draw the joint to where they are: rad", angle_about_y(pose()), 0.4, 1e-6);
	start("0 0 0", WHEEL("<limit><lower>0.1</lower><upper>0.1</upper></limit>", "JointController"));
	command("/model/m/joint/j/cmd_vel", "data: 3");
	run_until(3);
	expect("a motor cannot move it: rad", angle_about_z(pose()), 0.1, 1e-6);
	start("0 0 0", WHEEL("<limit><lower>1</lower><upper>-1</upper></limit>", "JointController"));
	command("/model/m/joint/j/cmd_vel", "data: 1");
	run_until(2);
	expect("a lower stop above the upper one is none: rad", angle_about_z(pose()), 2, 1e-3);
}

/* k x = m g at rest; the stop at -0.1 gives way by the same amount. */
Test(joints, soft_stops_give_way)
{
	static const char *const kinds[] = {"1000", "200"};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		char joint[2000];
		snprintf(joint, sizeof joint,
			ARM("<joint name='j' type='prismatic'>" AT_THE_END
			    "<axis><xyz>0 0 "
			    "1</xyz><limit><lower>-0.1</lower><upper>0.2</upper><stiffness>%s</"
			    "stiffness><dissipation>20</dissipation></limit></axis></joint>"),
			kinds[i]);
		start("0 0 -9.8", "%s", joint);
		run_until(10);
		expect("soft stop under 1 kg: m", pose().z, 2 - 0.1 - 9.8 / atof(kinds[i]), 1e-4);
	}
}

/* The arm hangs on two axes; gravity along -y turns it about z, the second axis. */
#define TWO_AXES(kind, second)                                                                                         \
	ARM("<joint name='j' type='" kind "'>" AT_THE_END                                                              \
	    "<axis><xyz>0 1 0</xyz></axis><axis2><xyz>0 0 1</xyz>" second "</axis2></joint>")

Test(joints, second_axis_has_all_that_the_first_has)
{
	static const struct {
		const char *what, *text;
		double time_s, expected, tolerance;
	} axes[] = {
		/* damping d: the arm falls at a rate of m g l / d; the lever arm has hardly changed by then */
		{"second axis: damping of 1e6 N m s/rad: rad",
			TWO_AXES("universal", "<dynamics><damping>1e6</damping></dynamics>"), 1, -9.8 * 0.5 / 1e6,
			1e-6},
		{"second axis: friction of 5 N m holds 4.9 N m: rad",
			TWO_AXES("universal", "<dynamics><friction>5</friction></dynamics>"), 2, 0, 1e-6},
		/* k q = m g l cos q */
		{"second axis: spring of 49 N m/rad: rad",
			TWO_AXES("revolute2",
				"<dynamics><spring_stiffness>49</spring_stiffness><damping>3</damping></dynamics>"),
			10, -0.0995, 1e-4},
		{"second axis: spring with a reference of 0.3: rad",
			TWO_AXES("universal", "<dynamics><spring_stiffness>4900</spring_stiffness><damping>50</"
					      "damping><spring_reference>0.3</spring_reference></dynamics>"),
			10, 0.3 - 4.9 * 0.9556 / 4900, 1e-4},
		{"second axis: no faster than 0.2 rad/s: rad",
			TWO_AXES("universal", "<limit><velocity>0.2</velocity></limit>"), 2, -0.4, 5e-3},
		{"second axis: equal stops: rad",
			TWO_AXES("universal", "<limit><lower>0.2</lower><upper>0.2</upper></limit>"), 2, 0.2, 1e-4},
		{"second axis: lower stop at -0.4, softened: rad",
			TWO_AXES("universal", "<limit><lower>-0.4</lower><upper>2</upper><stiffness>490</"
					      "stiffness><dissipation>20</dissipation></limit>"),
			6, -0.4 - 4.9 * 0.917 / 490, 2e-4},
	};
	for (size_t i = 0; i < ARRAY_LEN(axes); i++) {
		start("0 -9.8 0", "%s", axes[i].text);
		run_until(axes[i].time_s);
		expect(axes[i].what, angle_about_z(pose()), axes[i].expected, axes[i].tolerance);
	}
}

Test(joints, prismatic_has_friction_and_speed_limit)
{
	start("0 0 -9.8", ARM("<joint name='j' type='prismatic'>" AT_THE_END
			      "<axis><xyz>0 0 1</xyz><dynamics><friction>9.9</friction></dynamics></axis></joint>"));
	run_until(2);
	expect("friction of 9.9 N holds 9.8 N: m", pose().z, 2, 1e-6);
	start("0 0 -9.8", ARM("<joint name='j' type='prismatic'>" AT_THE_END
			      "<axis><xyz>0 0 1</xyz><dynamics><friction>5.8</friction></dynamics></axis></joint>"));
	run_until(1);
	expect("friction of 5.8 N brakes 9.8 N, 1 s: m", pose().z, 2 - 2, 3e-3);
	start("0 0 -9.8", ARM("<joint name='j' type='prismatic'>" AT_THE_END
			      "<axis><xyz>0 0 1</xyz><limit><velocity>0.1</velocity></limit></axis></joint>"));
	run_until(3);
	expect("falls no faster than 0.1 m/s: m", pose().z, 2 - 0.3, 2e-2);
}

/* The world is the parent and, in the form of a static model, the child: then the joint's signs are those of the world
 * against the link. */
#define ROCK "<model name='rock'><static>true</static><link name='l'/></model>"
#define WORLD_JOINT(kind, axes)                                                                                        \
	"<joint name='j' type='" kind                                                                                  \
	"'><pose relative_to='m::l'>-0.5 0 0 0 0 0</pose><parent>m::l</parent><child>rock::l</child>" axes "</joint>"
#define STOPS(tag, xyz, lower, upper)                                                                                  \
	"<" tag "><xyz expressed_in='rock::l'>" xyz "</xyz><limit><lower>" lower "</lower><upper>" upper               \
	"</upper></limit><dynamics><damping>0.5</damping></dynamics></" tag ">"

Test(joints, world_as_child)
{
	start("0 0 -9.8", ROCK ARM("") WORLD_JOINT("prismatic", STOPS("axis", "0 0 1", "-0.2", "0.3")));
	run_until(5);
	expect("slide with the world as child falls by its upper: m", pose().z, 2 - 0.3, 2e-3);
	start("0 0 -9.8", ROCK ARM("") WORLD_JOINT("revolute", STOPS("axis", "0 1 0", "-0.3", "0.2")));
	run_until(8);
	expect("hinge with the world as child falls by its lower: rad", angle_about_y(pose()), 0.3, 5e-3);
	/* SDF's first axis belongs to the parent, which is the arm here */
	start("0 0 -9.8", ROCK ARM("") WORLD_JOINT("universal",
				  STOPS("axis", "0 1 0", "-0.35", "0.2") STOPS("axis2", "0 0 1", "-1", "1")));
	run_until(8);
	expect("universal with the world as child, first: rad", angle_about_y(pose()), 0.35, 5e-3);
	start("0 -9.8 0", ROCK ARM("") WORLD_JOINT("universal",
				  STOPS("axis", "0 1 0", "-0.35", "0.2") STOPS("axis2", "0 0 1", "-1", "0.45")));
	run_until(8);
	expect("universal with the world as child, second: rad", angle_about_z(pose()), -0.45, 5e-3);
	start("0 0 -9.8", ROCK ARM("") WORLD_JOINT("fixed", ""));
	run_until(2);
	expect("fixed to a static model: m", pose().z, 2, 0);
}

/* Joints of the world between models, and one whose two links belong to one model. */
Test(joints, between_models)
{
	start("0 0 -9.8",
		"<model name='ceiling'><static>true</static><pose>0 0 2 0 0 0</pose><link name='l'/></model>" ARM(
			"") "<joint name='j' type='ball'><pose "
			    "relative_to='ceiling::l'/><parent>ceiling::l</parent><child>m::l</child></joint>");
	run_until(1);
	struct troupe_pose p = pose();
	expect("ball to a static model: distance, m", sqrt(p.x * p.x + p.y * p.y + (p.z - 2) * (p.z - 2)), 0.5, 1e-3);
	start("0 0 -9.8", "<model name='m'><link name='a'/><link name='b'><pose>0 0 1 0 0 0</pose></link><joint "
			  "name='f' type='fixed'><parent>world</parent><child>b</child></joint></model><joint name='j' "
			  "type='prismatic'><parent>m::b</parent><child>m::a</child><axis><xyz>0 0 "
			  "1</xyz><limit><lower>-0.25</lower><upper>1</upper></limit></axis></joint>");
	run_until(2);
	expect("slide of the world inside one model: m", pose().z, -0.25, 2e-3);
}

/* --- springs and stops in time ------------------------------------------------------------------------------------ */

#define SWINGING(kind, axis, spring, rest)                                                                             \
	"<model name='m'><link name='l'><pose>0 0 0 0 0 "                                                              \
	"0</pose><inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial></"         \
	"link><joint name='j' type='" kind "'><parent>world</parent><child>l</child>" axis                             \
	"<dynamics><spring_stiffness>" spring                                                                          \
	"</spring_stiffness><spring_reference>0.1</spring_reference></dynamics>" rest "</joint></model>"

static double slide_or_turn(bool turns)
{
	return turns ? angle_about_z(pose()) : pose().z;
}

/* Swings from 0 to 0.2, about 0.1: the amplitude in the tenth period is that of the first. */
static void swings(const char *what, const char *text, double stiffness, bool turns)
{
	double period_s = 2 * M_PI / sqrt(stiffness), high = -1, low = 1;
	start("0 0 0", "%s", text);
	run_until(9 * period_s);
	for (double t = 9 * period_s; t < 10 * period_s; t += 0.001) {
		run_until(t);
		high = fmax(high, slide_or_turn(turns));
		low = fmin(low, slide_or_turn(turns));
	}
	expect(what, (high - low) / 2, 0.1, 0.1 * 0.005);
}

Test(joints, springs_keep_their_amplitude)
{
	/* the last one has 50 steps for each period */
	static const char *const stiffness[] = {"10", "100", "1000", "15791.367"};
	static const char *const solvers[] = {"", "<ode><solver><type>quick</type></solver></ode>"};
	for (size_t i = 0; i < ARRAY_LEN(stiffness); i++) {
		char text[2000];
		want.solver = solvers[i % 2];
		snprintf(text, sizeof text, SWINGING("prismatic", "<axis><xyz>0 0 1</xyz>", "%s", "</axis>"),
			stiffness[i]);
		swings("amplitude of a slide in its tenth period: m", text, atof(stiffness[i]), false);
		snprintf(text, sizeof text, SWINGING("revolute", "<axis><xyz>0 0 1</xyz>", "%s", "</axis>"),
			stiffness[i]);
		swings("amplitude of a hinge: rad", text, atof(stiffness[i]), true);
		snprintf(text, sizeof text,
			SWINGING("universal", "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 0 1</xyz>", "%s", "</axis2>"),
			stiffness[i]);
		swings("amplitude of a second axis: rad", text, atof(stiffness[i]), true);
	}
	want.solver = NULL;
}

/* Two floating bodies with arms: a spring acts on both equally, and no momentum is gained. */
Test(joints, stiff_springs_are_stable)
{
	static const char *const stiffness[] = {"1e5", "1e6", "1e8", "1e11"};
	for (size_t i = 0; i < ARRAY_LEN(stiffness); i++) {
		start("0 0 0",
			"<model name='m'><link name='a'/><link name='b'><pose>0.7 0.2 0 0 0 "
			"0</pose><inertial><mass>0.01</mass><inertia><ixx>1e-4</ixx><iyy>1e-4</iyy><izz>1e-4</izz></"
			"inertia></inertial></link><joint name='j' "
			"type='revolute'><parent>a</parent><child>b</child><pose>-0.5 0 0 0 0 0</pose><axis><xyz>0 0 "
			"1</xyz><dynamics><spring_stiffness>%s</spring_stiffness><spring_reference>0.05</"
			"spring_reference></dynamics></axis></joint></model>",
			stiffness[i]);
		double farthest = 0;
		for (double t = 0.1; t < 2; t += 0.1) {
			run_until(t);
			farthest = fmax(farthest, fabs(pose().x));
		}
		expect("the heavy one beside a stiff spring: m", farthest, 0, 1e-3);
	}
}

#define FALLING(lower, upper, rest)                                                                                    \
	ARM("<joint name='j' type='revolute'>" AT_THE_END "<axis><xyz>0 1 0</xyz><limit><lower>" lower                 \
	    "</lower><upper>" upper "</upper></limit>" rest "</axis></joint>")

/* A joint that falls onto its stop stays there: the stops of SDF have no restitution. */
Test(joints, nothing_bounces_on_a_stop)
{
	static const struct {
		const char *what, *gravity, *text;
		double at;
	} falls[] = {
		{"hinge on its upper stop: rad", "0 0 -9.8", FALLING("-1", "0.8", ""), 0.8},
		{"hinge on its lower stop: rad", "0 0 9.8", FALLING("-0.7", "1", ""), -0.7},
		{"with friction: rad", "0 0 -9.8",
			FALLING("-1", "0.8", "<dynamics><friction>0.1</friction></dynamics>"), 0.8},
		{"with a spring: rad", "0 0 -9.8",
			FALLING("-1", "0.8", "<dynamics><spring_stiffness>1</spring_stiffness></dynamics>"), 0.8},
	};
	for (size_t i = 0; i < ARRAY_LEN(falls); i++) {
		double farthest = 0;
		start(falls[i].gravity, "%s", falls[i].text);
		run_until(1);
		for (double t = 1; t < 2; t += 0.001) {
			run_until(t);
			farthest = fmax(farthest, fabs(angle_about_y(pose()) - falls[i].at));
		}
		expect(falls[i].what, farthest, 0, 1e-9);
	}
}

/* A spring that pulls a joint away from its stop, but too weakly, leaves it at the stop. */
Test(joints, weak_spring_at_a_stop)
{
	start("0 0 -9.8", ARM("<joint name='j' type='prismatic'>" AT_THE_END
			      "<axis><xyz>0 0 "
			      "1</xyz><limit><lower>-0.3</lower><upper>0.2</upper></limit><dynamics><damping>1</"
			      "damping><spring_stiffness>10</spring_stiffness><spring_reference>0.1</"
			      "spring_reference></dynamics></axis></joint>"));
	run_until(10);
	expect("weak spring at the lower stop: m", pose().z, 2 - 0.3, 2e-3);
}

Test(joints, canonical_link_carries_the_frame)
{
	start("0 0 -9.8",
		"<model name='m' canonical_link='b'><link name='a'/><link name='b'><pose>1 0 0 0 0 "
		"0</pose></link><joint name='j' type='fixed'><parent>world</parent><child>a</child></joint></model>");
	run_until(1);
	expect("canonical link falls, first is held: m", pose().z, -4.9049, 1e-9);
}

/* Masses for which ODE's exact solver gives NaN: their island is solved iteratively. */
#define LUMP(name, z, mass, inertia)                                                                                   \
	"<model name='" name "'><pose>0 0 " z " 0 0 0</pose><link name='l'><inertial><mass>" mass                      \
	"</mass><inertia><ixx>" inertia "</ixx><iyy>" inertia "</iyy><izz>" inertia                                    \
	"</izz></inertia></inertial><collision name='c'><geometry><box><size>1 1 "                                     \
	"1</size></box></geometry></collision></link></model>"

Test(joints, what_the_exact_solver_gives_up_on_is_tried_again)
{
	start("0 0 -9.8",
		"<model name='g'><static>true</static><link name='l'><collision name='c'><geometry><plane><normal>0 0 "
		"1</normal><size>9 9</size></plane></geometry></collision></link></model>" LUMP(
			"heavy", "0.5", "1e12", "1e11") LUMP("light", "1.5", "1e-9", "1e-10"));
	run_until(0.3);
	expect("the light one stays on the heavy one: m", pose_of("light").z - pose_of("heavy").z, 1, 1e-3);
}

/* Default axes and given ones, also in another frame. */
#define CROSSED(type, axis, axis2)                                                                                     \
	"<model name='m'><link name='l'><gravity>false</gravity></link><joint name='j' type='" type                    \
	"'><parent>world</parent><child>l</child><axis>" axis "</axis><axis2>" axis2 "</axis2></joint></model>"

Test(joints, parallel_axes_are_left_out)
{
	static const char *const worlds[] = {CROSSED("universal", "", ""),
		CROSSED("revolute2", "<xyz>0 1 0</xyz>", "<xyz>0 -1 1e-4</xyz>"),
		CROSSED("universal", "<xyz>1 0 0</xyz>", "<xyz expressed_in='l'>2 0 0</xyz>")};
	for (size_t i = 0; i < ARRAY_LEN(worlds); i++) {
		start("0 0 0", "%s", worlds[i]);
		printf("%s\n", warning);
		cr_assert(strstr(warning, "are parallel: expected two directions; it is left out"), "%s", warning);
		run_until(0.1);
	}
}

/* --- <physics><ode> ----------------------------------------------------------------------------------------------- */

#define ODE(inside) "<physics><ode>" inside "</ode></physics>"
#define MOTOR(force, velocity) ODE("<max_force>" force "</max_force><velocity>" velocity "</velocity>")

/* The motor of the file reaches its velocity at force / mass, and keeps it. */
Test(joints, a_joint_may_have_a_motor_of_its_own)
{
	start("0 0 0", ARM("<joint name='j' type='prismatic'>" AT_THE_END MOTOR(
			       "2", "0.5") "<axis><xyz>0 0 1</xyz></axis></joint>"));
	run_until(0.2);
	expect("while it gathers speed: m", pose().z - 2, 0.5 * 2 * 0.2 * 0.2, 2e-3 * 0.2);
	run_until(2);
	expect("then: m", pose().z - 2, 0.5 * 2 - 0.5 * 0.5 / (2 * 2), 1e-3);
	/* about its own centre: inertia 0.02; a hinge without stops, and one with stops */
	static const char *const stops[] = {"", "<limit><lower>-9</lower><upper>9</upper></limit>"};
	for (size_t i = 0; i < ARRAY_LEN(stops); i++) {
		start("0 0 0",
			ARM("<joint name='j' type='revolute'><parent>world</parent><child>l</child>%s<axis><xyz>0 0 "
			    "1</xyz>%s</axis></joint>"),
			MOTOR("0.01", "-1"), stops[i]);
		run_until(1);
		expect("hinge: rad", angle_about_z(pose()), -0.5 * 0.01 / 0.02, 1e-3);
		run_until(3);
		expect("hinge at its velocity: rad", angle_about_z(pose()), -(3 - 0.5 * 1 * 0.02 / 0.01), 2e-3);
	}
}

/* At rest on a stop that gives way: erp gap / dt = cfm force. */
Test(joints, a_stop_has_the_erp_and_cfm_of_its_joint)
{
	static const double erps[] = {0.1, 0.4};
	for (size_t i = 0; i < ARRAY_LEN(erps); i++) {
		start("0 0 -9.8",
			ARM("<joint name='j' type='prismatic'>" AT_THE_END
			    "<physics><ode><limit><cfm>0.05</cfm><erp>%g</erp></limit></ode></physics>" LIMITED(
				    "axis", "0 0 1", "-0.3", "0.2") "</joint>"),
			erps[i]);
		run_until(5);
		expect("gap = cfm m g dt / erp: m", 2 - 0.3 - pose().z, 0.05 * G * 0.001 / erps[i], 1e-5);
	}
}

Test(joints, a_ball_has_the_erp_and_cfm_of_its_joint)
{
	static const double erps[] = {0.1, 0.4};
	for (size_t i = 0; i < ARRAY_LEN(erps); i++) {
		start("0 0 -9.8",
			ARM("<joint name='j' "
			    "type='ball'><parent>world</parent><child>l</child><physics><ode><cfm>0.05</cfm><erp>%g</"
			    "erp></ode></physics></joint>"),
			erps[i]);
		cr_assert_str_empty(warning);
		run_until(5);
		expect("gap = cfm m g dt / erp: m", 2 - pose().z, 0.05 * G * 0.001 / erps[i], 1e-6);
	}
	start("0 0 0", ARM("<joint name='j' type='revolute'>" AT_THE_END ODE("<cfm>1</cfm>") "</joint>"));
	cr_assert(strstr(warning, "<erp> and <cfm> of joint \"j\", of type revolute, are ignored"), "%s", warning);
}
