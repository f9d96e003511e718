/* Observed contacts, efforts and forces of a step are compared with formulas. Observing must not change a bit of the
 * state. */
#include "base/hash.h"
#include "server/internal.h"

#include "harness.h"
#include "run/primary_internal.h"

TestSuite(observe, .init = be_sleepless, .fini = stop, .timeout = 60);

static void observe(uint32_t what)
{
	server->worlds[0].primary->options.observe = what;
}

static const struct observed *observed(void)
{
	return &server->worlds[0].primary->observed;
}

static uint32_t joint_of(const char *name)
{
	const struct scene *scene = server->worlds[0].scene;
	for (uint32_t j = 0; j < scene->joint_count; j++)
		if (scene->joints[j].name && !strcmp(scene->joints[j].name, name))
			return j;
	cr_assert_fail("no joint '%s'", name);
	return 0;
}

static double effort_of(const char *joint, uint32_t axis)
{
	return observed()->efforts[joint_of(joint)][axis];
}

static double position_of(const char *joint, uint32_t axis)
{
	return state_joint(server->worlds[0].shared.state, joint_of(joint), false)->position[axis];
}

/* --- efforts ------------------------------------------------------------------------------------------------------ */

#define INERTIAL "<inertial><mass>1</mass><inertia><ixx>0.02</ixx><iyy>0.02</iyy><izz>0.02</izz></inertia></inertial>"
#define SYSTEM(name, joint, more)                                                                                      \
	"<plugin name='gz::sim::systems::" name "' filename='x'><joint_name>" joint "</joint_name>" more "</plugin>"
/* An arm of 0.5 m along x, whose frame is at its own centre; 1 kg. */
#define ARM(kind, axes, systems)                                                                                       \
	"<model name='m'><pose>0.5 0 2 0 0 0</pose><link name='l'>" INERTIAL "</link><joint name='j' type='" kind      \
	"'>" ARM_IS_CHILD axes "</joint>" systems "</model>"
#define ARM_IS_CHILD "<parent>world</parent><child>l</child><pose>-0.5 0 0 0 0 0</pose>"
/* The same, but the child is a static model. */
#define HUNG(kind, axes)                                                                                               \
	"<model name='m'><pose>0.5 0 2 0 0 0</pose><link name='l'>" INERTIAL                                           \
	"</link></model><model name='wall'><static>true</static><link name='l'/></model><joint name='j' type='" kind   \
	"'><parent>m::l</parent><child>wall::l</child><pose>0 0 2 0 0 0</pose>" axes "</joint>"
#define LOCKED "<limit><lower>0</lower><upper>0</upper></limit>"
#define AXIS(xyz, more) "<axis><xyz>" xyz "</xyz>" more "</axis>"
#define HELD SYSTEM("JointController", "j", "")

/* Gravity along -z turns an arm along x by a positive angle about y; the motor holds it with the opposite torque. */
Test(observe, a_motor_holds_a_pendulum_by_m_g_l)
{
	static const char *const solvers[] = {"", "<ode><solver><type>quick</type></solver></ode>"};
	for (size_t i = 0; i < ARRAY_LEN(solvers); i++) {
		want.solver = solvers[i];
		start("0 0 -9.8", "%s", ARM("revolute", AXIS("0 1 0", ""), HELD));
		observe(OBSERVE_EFFORTS);
		run_until(0.5);
		expect("hinge: m g l, on the child: N m", effort_of("j", 0), -9.8 * 0.5, i ? 1e-2 : 1e-6);
	}
	want.solver = "";
	start("0 0 -9.8", "%s", HUNG("revolute", AXIS("0 1 0", LOCKED)));
	observe(OBSERVE_EFFORTS);
	run_until(0.5);
	expect("hinge with the world as child: N m", effort_of("j", 0), 9.8 * 0.5, 1e-6);
}

Test(observe, a_slider_carries_m_g)
{
	start("0 0 -9.8", "%s", ARM("prismatic", AXIS("0 0 1", ""), HELD));
	observe(OBSERVE_EFFORTS);
	run_until(0.5);
	expect("slider held by its motor: N", effort_of("j", 0), 9.8, 1e-6);
	start("0 0 -9.8", "%s", HUNG("prismatic", AXIS("0 0 1", LOCKED)));
	observe(OBSERVE_EFFORTS);
	run_until(0.5);
	expect("slider with the world as child: N", effort_of("j", 0), -9.8, 1e-6);
	start("0 0 -9.8", "%s",
		ARM("prismatic", AXIS("0 0 1", "<limit><lower>-0.1</lower><upper>0.2</upper></limit>"), ""));
	observe(OBSERVE_EFFORTS);
	run_until(2);
	expect("slider on its lower stop: N", effort_of("j", 0), 9.8, 1e-3);
	start("0 0 -9.8", "%s", ARM("prismatic", AXIS("0 0 1", ""), ""));
	observe(OBSERVE_EFFORTS);
	run_until(0.2);
	expect("slider that falls: N", effort_of("j", 0), 0, 1e-9);
}

#define LINK(name, x) "<link name='" name "'><pose>" x " 0 2 0 0 0</pose>" INERTIAL "</link>"
#define BETWEEN(name, kind, parent, child, xyz)                                                                        \
	"<joint name='" name "' type='" kind "'><parent>" parent "</parent><child>" child                              \
	"</child><pose>-0.5 0 0 0 0 0</pose>" AXIS(xyz, "") "</joint>" SYSTEM("JointController", name, "")

/* The weight of the outer link acts on the inner joint, too. */
Test(observe, each_joint_of_a_chain_carries_what_is_beyond)
{
	start("0 0 -9.8", "%s",
		"<model name='m'>" LINK("a", "0.5") LINK("b", "1.5") BETWEEN("j1", "revolute", "world", "a", "0 1 0")
			BETWEEN("j2", "revolute", "a", "b", "0 1 0") "</model>");
	observe(OBSERVE_EFFORTS);
	run_until(0.2);
	expect("chain of hinges, inner: N m", effort_of("j1", 0), -9.8 * (0.5 + 1.5), 1e-5);
	expect("chain of hinges, outer: N m", effort_of("j2", 0), -9.8 * 0.5, 1e-5);
	start("0 0 -9.8", "%s",
		"<model name='m'>" LINK("a", "0.5") LINK("b", "1.5") BETWEEN("j1", "prismatic", "world", "a", "0 0 1")
			BETWEEN("j2", "prismatic", "a", "b", "0 0 -1") "</model>");
	observe(OBSERVE_EFFORTS);
	run_until(0.2);
	expect("chain of sliders, inner: N", effort_of("j1", 0), 2 * 9.8, 1e-5);
	expect("chain of sliders, outer, its axis down: N", effort_of("j2", 0), -9.8, 1e-5);
}

/* A joint of the world, between two models. */
Test(observe, a_joint_between_models)
{
	start("0 0 -9.8", "%s",
		ARM("prismatic", AXIS("0 0 1", ""),
			HELD) "<model name='n'><pose>1.5 0 2 0 0 0</pose><link name='l'>" INERTIAL
			      "</link></model><joint name='between' "
			      "type='revolute'><parent>m::l</parent><child>n::l</child><pose>-0.5 0 0 0 0 "
			      "0</pose>" AXIS("0 1 0", LOCKED) "</joint>");
	observe(OBSERVE_EFFORTS);
	run_until(0.2);
	expect("a joint between two models: N m", effort_of("between", 0), -9.8 * 0.5, 1e-5);
	expect("and what carries both: N", effort_of("j", 0), 2 * 9.8, 1e-5);
	command("/world/w/remove", "name: 'n'");
	run_until(0.201);
	expect("one of them is gone: N m", effort_of("between", 0), 0, 0);
	run_until(0.3);
	expect("what carries the other: N", effort_of("j", 0), 9.8, 1e-5);
}

Test(observe, springs_and_dampers)
{
	start("0 0 -9.8", "%s",
		ARM("prismatic",
			AXIS("0 0 1", "<dynamics><damping>3</damping><spring_stiffness>98</"
				      "spring_stiffness><spring_reference>0.05</spring_reference></dynamics>"),
			""));
	observe(OBSERVE_EFFORTS);
	double before = 0;
	for (int i = 1; i <= 300; i++) { /* the arm swings: k x and d v of the same step */
		before = position_of("j", 0);
		run_until(0.001 * i);
	}
	double speed = (position_of("j", 0) - before) / 0.001;
	expect("spring and damper that swing: N", effort_of("j", 0), -98 * (before - 0.05) - 3 * speed, 1e-2);
	run_until(20);
	expect("spring at rest, k x: N", effort_of("j", 0), -98 * (position_of("j", 0) - 0.05), 1e-6);
	expect("which is m g: N", effort_of("j", 0), 9.8, 1e-5);
	start("0 0 -9.8", "%s", ARM("revolute", AXIS("0 1 0", "<dynamics><damping>1e6</damping></dynamics>"), ""));
	observe(OBSERVE_EFFORTS);
	run_until(1);
	expect("hinge in treacle: N m", effort_of("j", 0), -4.9, 1e-4);
}

/* The stop has the solver's row, and the spring acts besides. */
Test(observe, a_spring_beside_a_stop)
{
	start("0 0 -9.8", "%s",
		ARM("prismatic",
			AXIS("0 0 1", "<limit><lower>-0.05</lower><upper>1</upper></limit><dynamics><damping>1</"
				      "damping><spring_stiffness>98</spring_stiffness></dynamics>"),
			""));
	observe(OBSERVE_EFFORTS);
	run_until(3);
	expect("it lies on its stop: m", position_of("j", 0), -0.05, 1e-6);
	expect("spring and stop together: N", effort_of("j", 0), 9.8, 1e-4);
}

Test(observe, commanded_forces_and_friction)
{
	start("0 0 0", "%s", ARM("revolute", AXIS("0 0 1", ""), SYSTEM("ApplyJointForce", "j", "")));
	observe(OBSERVE_EFFORTS);
	command("/model/m/joint/j/cmd_force", "data: 0.02");
	run_until(0.1);
	expect("a force that was commanded: N m", effort_of("j", 0), 0.02, 1e-9);
	start("0 0 0", "%s",
		ARM("revolute", AXIS("0 0 1", "<dynamics><friction>0.1</friction></dynamics>"),
			SYSTEM("ApplyJointForce", "j", "")));
	observe(OBSERVE_EFFORTS);
	command("/model/m/joint/j/cmd_force", "data: 0.12");
	run_until(0.5);
	expect("less the friction: N m", effort_of("j", 0), 0.02, 1e-9);
	command("/model/m/joint/j/cmd_force", "data: 0.05");
	run_until(3);
	expect("a force that friction holds: N m", effort_of("j", 0), 0, 1e-9);
	start("0 0 0", "%s",
		ARM("revolute", AXIS("0 0 1", "<limit><effort>2</effort></limit>"),
			SYSTEM("JointController", "j",
				"<use_force_commands>true</use_force_commands><p_gain>0.3</p_gain><initial_velocity>5</"
				"initial_velocity>")));
	observe(OBSERVE_EFFORTS);
	run_until(0.001);
	expect("JointController by force, p times what is amiss: N m", effort_of("j", 0), 0.3 * 5, 1e-9);
	command("/model/m/joint/j/cmd_vel", "data: 500");
	run_until(0.002);
	expect("cut at the joint's effort: N m", effort_of("j", 0), 2, 1e-9);
}

/* A wheel turns in place; the body on it slides down a joint of its own. */
Test(observe, a_wheel_slips_at_constant_speed)
{
	start("0 0 -9.8", "%s",
		"<model name='floor'><static>true</static><link name='l'><collision "
		"name='c'><geometry><plane/></geometry><surface><friction><ode><mu>0.5</mu><mu2>0.5</mu2></ode></"
		"friction></surface></collision></link></model><model name='m'><pose>0 0 0.1 0 0 0</pose><link "
		"name='hub'>" INERTIAL "</link><link name='wheel'>" INERTIAL "<collision "
		"name='c'><geometry><sphere><radius>0.1</radius></sphere></geometry><surface><friction><ode><mu>0.5</"
		"mu><mu2>0.5</mu2></ode></friction></surface></collision></link><joint name='lift' "
		"type='prismatic'><parent>world</parent><child>hub</child>" AXIS(
			"0 0 1", "") "</joint><joint name='j' "
				     "type='revolute'><parent>hub</parent><child>wheel</child>" AXIS(
					     "0 1 0", "") "</joint>" SYSTEM("JointController", "j",
					     "<initial_velocity>20</initial_velocity>") "</model>");
	observe(OBSERVE_ALL);
	run_until(2);
	expect("wheel against friction, mu N r: N m", effort_of("j", 0), 0.5 * 2 * 9.8 * 0.1, 1e-2);
	expect("what the free slide exerts: N", effort_of("lift", 0), 0, 1e-9);
	cr_assert_eq(observed()->contacts.count, 1);
	expect("the contact is where the wheel stands: m", observed()->contacts.at[0].position.z, 0, 2e-3);
}

#define AXIS2(xyz, more) "<axis2><xyz>" xyz "</xyz>" more "</axis2>"
#define RUB "<dynamics><friction>9</friction></dynamics>"

/* The arm on two axes: gravity along -y turns it about z, the second axis; gravity along -z about y, the first. */
Test(observe, both_axes_of_a_universal_joint)
{
	static const struct {
		const char *what, *text;
		double first, second;
	} joints[] = {
		{"universal", ARM("universal", AXIS("0 1 0", LOCKED) AXIS2("0 0 1", RUB), ""), -2.45, 4.9},
		{"revolute2", ARM("revolute2", AXIS("0 1 0", RUB) AXIS2("0 0 1", LOCKED), ""), -2.45, 4.9},
		/* the first axis moves with the arm, which is the parent */
		{"universal, the world as child", HUNG("universal", AXIS("0 0 1", LOCKED) AXIS2("0 1 0", RUB)), -4.9,
			2.45},
	};
	for (size_t i = 0; i < ARRAY_LEN(joints); i++) {
		start("0 -9.8 -4.9", "%s", joints[i].text);
		observe(OBSERVE_EFFORTS);
		run_until(0.2);
		puts(joints[i].what);
		expect("first axis: N m", effort_of("j", 0), joints[i].first, 1e-6);
		expect("second axis: N m", effort_of("j", 1), joints[i].second, 1e-6);
	}
}

#define SCREW(pitch, more, systems)                                                                                    \
	"<model name='m'><link name='l'>" INERTIAL                                                                     \
	"</link><joint name='j' type='screw'><parent>world</parent><child>l</child><screw_thread_pitch>" pitch         \
	"</screw_thread_pitch>" AXIS("0 0 1", more) "</joint>" systems "</model>"

Test(observe, a_screw_carries_m_g_by_its_lead)
{
	static const double pitches[] = {0.1, -0.1};
	static const char *const worlds[] = {SCREW("0.1", "", HELD), SCREW("-0.1", "", HELD)};
	for (size_t i = 0; i < ARRAY_LEN(worlds); i++) {
		start("0 0 -9.8", "%s", worlds[i]);
		observe(OBSERVE_EFFORTS);
		run_until(0.5);
		expect("screw held by its motor: N m", effort_of("j", 0), 9.8 * pitches[i] / (2 * M_PI), 1e-5);
	}
	start("0 0 0", "%s", SCREW("1", "", SYSTEM("ApplyJointForce", "j", "")));
	observe(OBSERVE_EFFORTS);
	command("/model/m/joint/j/cmd_force", "data: 0.01");
	run_until(0.2);
	expect("screw that a torque drives: N m", effort_of("j", 0), 0.01, 1e-7);
}

#define SHAFT(name, x, systems)                                                                                        \
	"<model name='" name "'><pose>" x " 0 1 0 0 0</pose><link name='l'>" INERTIAL "</link><joint name='" name      \
	"_j' type='revolute'><parent>world</parent><child>l</child>" AXIS("0 0 1", "") "</joint>" systems "</model>"

/* A torque T drives a shaft of inertia I, through gears of ratio n, and a second shaft of inertia I: a_1 = T / (I + n^2
 * I). */
static void check_gears(double tolerance)
{
	start("0 0 0", "%s",
		SHAFT("a", "0", SYSTEM("ApplyJointForce", "a_j", ""))
			SHAFT("b", "1", "") "<joint name='g' "
					    "type='gearbox'><parent>a::l</parent><child>b::l</child><gearbox_ratio>3</"
					    "gearbox_ratio><gearbox_reference_body>world</gearbox_reference_body>" AXIS(
						    "0 0 1", "") "<axis2><xyz>0 0 1</xyz></axis2><sensor name='s' "
								 "type='force_torque'/></joint>");
	observe(OBSERVE_EFFORTS | OBSERVE_FORCES);
	command("/model/a/joint/a_j/cmd_force", "data: 0.1");
	run_until(0.1);
	double rate = 0.1 / (0.02 + 9 * 0.02);
	expect("gearbox, on the parent: N m", effort_of("g", 0), 0.02 * rate - 0.1, tolerance);
	expect("gearbox, on the child: N m", effort_of("g", 1), -3 * rate * 0.02, tolerance);
	expect("and all of it: N m", observed()->reactions[joint_of("g")].torque.z, -3 * rate * 0.02, tolerance);
	expect("and what drives it: N m", effort_of("a_j", 0), 0.1, 1e-9);
}

Test(observe, gears_pass_on_a_torque)
{
	check_gears(1e-6);
	want.by_ode = true;
	check_gears(1e-6);
	want.solver = "<ode><solver><type>quick</type></solver></ode>";
	check_gears(1e-6);
	want.by_ode = false;
	check_gears(1e-6);
}

#define BAR(joint, link, y, axis)                                                                                      \
	"<link name='" link "'><pose>0.5 " y " 2 0 0 0</pose>" INERTIAL "</link><joint name='" joint                   \
	"' type='revolute'><parent>world</parent><child>" link                                                         \
	"</child><pose>-0.5 0 0 0 0 0</pose><axis><xyz>0 1 0</xyz>" axis "</axis></joint>"

/* The leader's motor holds both links; the mimic holds the follower. */
static void check_mimic(void)
{
	start("0 0 -9.8", "%s",
		"<model name='m'>" BAR("leader", "a", "0", "") BAR("follower", "b", "1",
			"<mimic "
			"joint='leader'><multiplier>2</multiplier><offset>0</offset><reference>0</reference></mimic>")
			SYSTEM("JointController", "leader", "") "</model>");
	observe(OBSERVE_EFFORTS);
	run_until(0.3);
	expect("follower, m g l: N m", effort_of("follower", 0), -4.9, 1e-4);
	/* the motor holds the leader's m g l and twice the follower's, which the mimic passes on */
	expect("leader, motor and mimic together: N m", effort_of("leader", 0), -4.9, 1e-4);
}

Test(observe, a_mimic_holds_its_follower)
{
	check_mimic();
	want.by_ode = true;
	check_mimic();
}

/* --- contacts ----------------------------------------------------------------------------------------------------- */

#define FLOOR                                                                                                          \
	"<model name='floor'><static>true</static><link name='l'><collision "                                          \
	"name='c'><geometry><plane/></geometry></collision></link></model>"
#define BOX(name, pose)                                                                                                \
	"<model name='" name "'><pose>" pose "</pose><link name='l'>" INERTIAL                                         \
	"<collision name='c'><geometry><box><size>1 1 1</size></box></geometry></collision></link></model>"
#define BALL(name, pose)                                                                                               \
	"<model name='" name "'><pose>" pose "</pose><link name='l'>" INERTIAL                                         \
	"<collision name='c'><geometry><sphere><radius>0.5</radius></sphere></geometry></collision></link></model>"

Test(observe, a_box_stands_on_four_points)
{
	static const char *const worlds[] = {FLOOR BOX("a", "0 0 0.498 0 0 0"), BOX("a", "0 0 0.498 0 0 0") FLOOR};
	for (size_t i = 0; i < ARRAY_LEN(worlds); i++) {
		start("0 0 -9.8", "%s", worlds[i]);
		observe(OBSERVE_CONTACTS);
		run_until(0.001);
		const contact_notes *contacts = &observed()->contacts;
		cr_assert_eq(contacts->count, 4);
		double sum_x = 0, sum_y = 0;
		for (uint32_t c = 0; c < contacts->count; c++) {
			const struct contact_note *note = &contacts->at[c];
			cr_assert(note->geoms[0] == 0 && note->geoms[1] == 1);
			expect("normal, from the later into the earlier", note->normal.z, i ? 1 : -1, 1e-12);
			expect("depth at the beginning of the step: m", note->depth, 0.002, 1e-12);
			expect("below a corner: m", fabs(note->position.x), 0.5, 1e-12);
			sum_x += note->position.x;
			sum_y += note->position.y;
		}
		expect("below all four: m", fabs(sum_x) + fabs(sum_y), 0, 1e-12);
	}
}

Test(observe, balls_touch_between_their_centres)
{
	start("0 0 0", "%s", BALL("a", "0 0 2 0 0 0") BALL("b", "0.6 0 2.78 0 0 0")); /* 0.984 apart */
	observe(OBSERVE_CONTACTS);
	run_until(0.001);
	cr_assert_eq(observed()->contacts.count, 1);
	const struct contact_note *note = observed()->contacts.at;
	double apart = hypot(0.6, 0.78);
	expect("depth: m", note->depth, 1 - apart, 1e-9);
	expect("normal from b into a, x", note->normal.x, -0.6 / apart, 1e-9);
	expect("normal from b into a, z", note->normal.z, -0.78 / apart, 1e-9);
	expect("position, x: m", note->position.x, 0.3, 1e-2);
	command("/world/w/set_pose", "name: 'b' position {x: 3 z: 2}");
	run_until(0.002);
	cr_assert_eq(observed()->contacts.count, 0, "%u contacts of balls that are apart", observed()->contacts.count);
}

static uint32_t contacts_of(const char *name)
{
	const struct scene *scene = server->worlds[0].scene;
	uint32_t count = 0, model = scene_find_model(scene, name);
	for (uint32_t i = 0; i < observed()->contacts.count; i++)
		for (int k = 0; k < 2; k++)
			count += scene->geoms[observed()->contacts.at[i].geoms[k]].model == model;
	return count;
}

#define SWING                                                                                                          \
	"<model name='swing'><pose>5.5 0 2 0 0 0</pose><link name='l'>" INERTIAL                                       \
	"</link><joint name='j' type='prismatic'>" ARM_IS_CHILD AXIS(                                                  \
		"0 0 1", "<limit><lower>-0.1</lower><upper>0.2</upper></limit>") "</joint></model>"

/* A model at rest keeps its contacts and efforts until it is removed or placed. */
Test(observe, what_sleeps_keeps_its_notes)
{
	want.sleepless = false;
	start("0 0 -9.8", "%s",
		FLOOR BOX("a", "0 0 0.5 0 0 0") BOX("b", "3 0 0.5 0 0 0") BALL("c", "9 0 9 0 0 0") SWING);
	observe(OBSERVE_ALL);
	run_until(1.2);
	const struct primary *primary = server->worlds[0].primary;
	const struct scene *scene = server->worlds[0].scene;
	cr_assert(primary_sleeps(primary, scene_find_model(scene, "a")));
	cr_assert(primary_sleeps(primary, scene_find_model(scene, "swing")));
	cr_assert(!primary_sleeps(primary, scene_find_model(scene, "c")));
	cr_assert_eq(contacts_of("a"), 4);
	cr_assert_eq(contacts_of("b"), 4);
	cr_assert_eq(contacts_of("c"), 0);
	expect("a slider asleep on its stop: N", effort_of("j", 0), 9.8, 1e-3);
	command("/world/w/remove", "name: 'a'");
	command("/world/w/set_pose", "name: 'b' position {x: 3 z: 2}");
	command("/world/w/remove", "name: 'swing'");
	run_until(1.201);
	cr_assert_eq(observed()->contacts.count, 0, "%u contacts of a model that was removed, and one that was lifted",
		observed()->contacts.count);
	expect("a joint that was removed: N", effort_of("j", 0), 0, 0);
	run_until(3);
	expect("what was lifted is down again: m", pose_of("b").z, 0.5, 5e-3);
	cr_assert_eq(contacts_of("b"), 4);
	command("/world/w/control", "reset {all: true} pause: true");
	struct troupe_limits limits = {.iterations = primary->lockstep.number + 1};
	struct troupe_error error;
	cr_assert_eq(troupe_server_run(server, &limits, &error), TROUPE_OK);
	cr_assert_eq(observed()->contacts.count, 0, "contacts from before a reset");
}

static bool same(const struct contact_note *a, const struct contact_note *b)
{
	return !memcmp(a->geoms, b->geoms, sizeof a->geoms) && !memcmp(&a->position, &b->position, sizeof a->position);
}

/* Boxes that touch without a gap: ODE's exact solver fails, and the step is tried again. */
Test(observe, a_step_that_is_tried_again_is_noted_once)
{
	want.by_ode = true;
	start("0 0 -9.8", "%s",
		FLOOR BOX("a", "0 0 0.5 0 0 0") BOX("b", "0.25 0.15 1.5 0 0 0") BOX("c", "0.1 0.25 2.5 0 0 0"));
	observe(OBSERVE_ALL);
	uint64_t lost_before = 0;
	uint32_t tried_again = 0;
	for (int k = 1; k <= 100; k++) {
		run_until(0.001 * k);
		uint64_t lost = runners_physics_stats(server->runners, 0, 0).lost;
		tried_again += lost != lost_before;
		lost_before = lost;
		const contact_notes *contacts = &observed()->contacts;
		for (uint32_t i = 1; i < contacts->count; i++)
			for (uint32_t j = 0; j < i; j++)
				cr_assert(
					!same(&contacts->at[i], &contacts->at[j]), "step %d: a contact comes twice", k);
	}
	printf("%u of 100 steps were tried again\n", tried_again);
	cr_assert_gt(tried_again, 0);
}

/* The crate belongs to a level, which the probe leaves. */
Test(observe, what_is_unloaded_has_no_notes)
{
	want.sleepless = false;
	start("0 0 -9.8", "%s",
		FLOOR BOX("crate", "0 0 0.5 0 0 0")
			BALL("probe", "0 4 9 0 0 0") "<plugin name='gz::sim' filename='x'><performer "
						     "name='p'><ref>probe</ref><geometry><box><size>1 1 "
						     "1</size></box></geometry></performer><level name='here'><pose>0 "
						     "0 0 0 0 0</pose><geometry><box><size>20 20 "
						     "40</size></box></geometry><ref>crate</ref></level></plugin>");
	observe(OBSERVE_ALL);
	run_until(0.1);
	cr_assert_eq(contacts_of("crate"), 4);
	command("/world/w/set_pose", "name: 'probe' position {x: 90 z: 9}");
	run_until(0.101);
	cr_assert_eq(contacts_of("crate"), 0, "contacts of a crate whose level is not loaded");
	command("/world/w/set_pose", "name: 'probe' position {y: 4 z: 9}");
	run_until(0.103);
	cr_assert_eq(contacts_of("crate"), 4);
}

/* The contacts of a model that is placed while the world is paused are dropped, although no step is taken. */
Test(observe, what_is_placed_while_paused_has_no_contacts)
{
	start("0 0 -9.8", "%s", FLOOR BOX("a", "0 0 0.5 0 0 0") BOX("b", "3 0 0.5 0 0 0"));
	observe(OBSERVE_ALL);
	run_until(0.1);
	struct troupe_limits limits = {.iterations = 103};
	struct troupe_error error;
	command("/world/w/control", "pause: true");
	command("/world/w/set_pose", "name: 'b' position {x: 3 z: 2}");
	cr_assert_eq(troupe_server_run(server, &limits, &error), TROUPE_OK);
	cr_assert_eq(contacts_of("a"), 4);
	cr_assert_eq(contacts_of("b"), 0);
	command("/world/w/set_pose", "name: 'floor' position {z: -1}");
	limits.iterations++;
	cr_assert_eq(troupe_server_run(server, &limits, &error), TROUPE_OK);
	cr_assert_eq(contacts_of("a"), 0, "contacts with a floor that is elsewhere");
}

/* --- forces ------------------------------------------------------------------------------------------------------- */

static struct vec3 force_between(const char *first, const char *second)
{
	const struct scene *scene = server->worlds[0].scene;
	uint32_t a = scene_find_model(scene, first), b = scene_find_model(scene, second);
	struct vec3 sum = {0, 0, 0};
	for (uint32_t i = 0; i < observed()->contacts.count; i++) {
		const struct contact_note *note = &observed()->contacts.at[i];
		uint32_t on = scene->geoms[note->geoms[0]].model, by = scene->geoms[note->geoms[1]].model;
		if (on == a && by == b)
			sum = vec3_add(sum, note->force);
		if (on == b && by == a)
			sum = vec3_sub(sum, note->force);
	}
	return sum;
}

static void expect3(const char *what, struct vec3 measured, double x, double y, double z, double tolerance)
{
	puts(what);
	expect("  x", measured.x, x, tolerance);
	expect("  y", measured.y, y, tolerance);
	expect("  z", measured.z, z, tolerance);
}

/* The upper box presses with m g on the lower one, and both with 2 m g on the floor, whichever comes first in the file.
 * Gravity also pulls along x, which friction balances. */
Test(observe, contacts_carry_what_stands_on_them)
{
	static const char *const worlds[] = {FLOOR BOX("a", "0 0 0.5 0 0 0") BOX("b", "0 0 1.5 0 0 0"),
		BOX("b", "0 0 1.5 0 0 0") BOX("a", "0 0 0.5 0 0 0") FLOOR};
	static const char *const solvers[] = {"", "<ode><solver><type>quick</type><iters>300</iters></solver></ode>"};
	for (size_t i = 0; i < ARRAY_LEN(worlds) * ARRAY_LEN(solvers); i++) {
		want.solver = solvers[i / 2];
		start("2 0 -9.8", "%s", worlds[i % 2]);
		observe(OBSERVE_CONTACTS | OBSERVE_FORCES);
		run_until(2);
		double tolerance = i < 2 ? 1e-5 : 0.1;
		expect3("on the upper box: N", force_between("b", "a"), -2, 0, 9.8, tolerance);
		expect3("on the lower box, by the floor: N", force_between("a", "floor"), -4, 0, 19.6, tolerance);
		for (uint32_t c = 0; c < observed()->contacts.count; c++)
			cr_assert(vec3_dot(observed()->contacts.at[c].force, observed()->contacts.at[c].normal) > -1e-9,
				"a contact pulls");
		observe(OBSERVE_CONTACTS);
		run_until(2.001);
		expect3("not asked for: N", force_between("a", "floor"), 0, 0, 0, 0);
	}
	want.solver = "";
}

static struct reaction reaction_of(const char *joint)
{
	cr_assert(server->worlds[0].scene->joints[joint_of(joint)].measured);
	return observed()->reactions[joint_of(joint)];
}

#define SENSOR "<sensor name='s' type='force_torque'/>"
#define PULLED "<dynamics><damping>20</damping><spring_stiffness>1000</spring_stiffness></dynamics>"

/* The arm's weight acts 0.5 m from the joint: whatever holds it there exerts m g on it, and the torque of its lever. */
Test(observe, a_joint_holds_an_arm_by_its_weight_and_lever)
{
	static const struct {
		const char *what, *text;
		double sign, tolerance;
	} joints[] = {
		{"fixed", ARM("fixed", SENSOR, ""), 1, 1e-6},
		{"hinge with a motor", ARM("revolute", AXIS("0 1 0", "") SENSOR, HELD), 1, 1e-5},
		{"hinge at its stop", ARM("revolute", AXIS("0 1 0", LOCKED) SENSOR, ""), 1, 1e-5},
		{"hinge with another axis", ARM("revolute", AXIS("0 0 1", "") SENSOR, ""), 1, 1e-5},
		{"slide with a motor", ARM("prismatic", AXIS("0 0 1", "") SENSOR, HELD), 1, 1e-5},
		{"slide with a spring", ARM("prismatic", AXIS("0 0 1", PULLED) SENSOR, ""), 1, 1e-4},
		{"slide across", ARM("prismatic", AXIS("0 1 0", "") SENSOR, ""), 1, 1e-5},
		{"universal", ARM("universal", AXIS("0 1 0", LOCKED) AXIS2("0 0 1", RUB) SENSOR, ""), 1, 1e-5},
		{"fixed, the world as child", HUNG("fixed", SENSOR), -1, 1e-6},
		{"hinge, the world as child", HUNG("revolute", AXIS("0 1 0", LOCKED) SENSOR), -1, 1e-5},
		{"slide, the world as child", HUNG("prismatic", AXIS("0 0 1", LOCKED) SENSOR), -1, 1e-5},
	};
	for (size_t i = 0; i < ARRAY_LEN(joints); i++) {
		start("0 0 -9.8", "%s", joints[i].text);
		observe(OBSERVE_FORCES);
		run_until(2);
		puts(joints[i].what);
		expect3("force: N", reaction_of("j").force, 0, 0, 9.8 * joints[i].sign, joints[i].tolerance);
		expect3("torque: N m", reaction_of("j").torque, 0, -4.9 * joints[i].sign, 0, joints[i].tolerance);
		expect("efforts were not asked for: N", effort_of("j", 0), 0, 0);
	}
}

static void start_nut(const char *system)
{
	start("0 0 -9.8",
		"<model name='m'><link name='l'>" INERTIAL "</link><joint name='j' "
		"type='screw'><parent>world</parent><child>l</child><screw_thread_pitch>0.1</screw_thread_pitch>" AXIS(
			"0 0 1", "") SENSOR "</joint>%s</model>",
		system);
	observe(OBSERVE_FORCES);
	run_until(0.5);
}

/* The motor's torque becomes a force along the thread, so nothing turns the nut in all. */
Test(observe, a_screw_holds_a_nut_without_turning_it)
{
	start_nut(HELD);
	expect3("screw, force: N", reaction_of("j").force, 0, 0, 9.8, 1e-4);
	expect3("screw, torque: N m", reaction_of("j").torque, 0, 0, 0, 1e-5);
}

/* m a = m g - F and I a / lead = F lead: the thread holds the nut back by F and turns it by F lead. */
Test(observe, a_thread_turns_a_nut_that_sinks)
{
	double lead = 0.1 / (2 * M_PI), held = 9.8 / (1 + lead * lead / 0.02);
	start_nut("");
	expect3("thread, force: N", reaction_of("j").force, 0, 0, held, 1e-3);
	expect3("thread, torque: N m", reaction_of("j").torque, 0, 0, -held * lead, 1e-4);
}

#define HAND                                                                                                           \
	"<link name='hand'><pose>1 0 0 0 0 0</pose>" INERTIAL                                                          \
	"</link><joint name='wrist' type='fixed'><parent>l</parent><child>hand</child><pose>-0.5 0 0 0 0 "             \
	"0</pose><sensor name='s' type='force_torque'/></joint>"
#define ARM_WITH_HAND(axis, more)                                                                                      \
	"<model name='m'><pose>0.5 0 2 0 0 0</pose><link name='l'>" INERTIAL "</link>" HAND                            \
	"<joint name='j' type='revolute'>" ARM_IS_CHILD                                                                \
	AXIS(axis, "") "</joint>" more "</model>"

static double length_of_wrist(void)
{
	const struct state *state = server->worlds[0].shared.state;
	return vec3_length(vec3_sub(state_body(state, 0, false)->p, state_body(state, 1, false)->p));
}

/* A hand that is fixed to an arm by a measured joint. Around the vertical, at 2 rad/s and 1.5 m: m w^2 r inward. */
Test(observe, a_wrist_feels_the_hand)
{
	start("0 0 -9.8", "%s", ARM_WITH_HAND("0 1 0", HELD));
	observe(OBSERVE_FORCES);
	run_until(0.5);
	expect3("a hand that is held out: N", reaction_of("wrist").force, 0, 0, 9.8, 1e-5);
	expect3("and its torque: N m", reaction_of("wrist").torque, 0, -4.9, 0, 1e-5);
	expect("it does not sag: m", state_body(server->worlds[0].shared.state, 1, false)->p.z, 2, 1e-6);
	command("/world/w/wrench", "entity {name: 'm::hand' type: LINK} wrench {force {x: 3} torque {x: 2}}");
	run_until(0.501);
	expect3("pulled for a step: N", reaction_of("wrist").force, -3, 0, 9.8, 1e-4);
	expect("twisted for a step: N m", reaction_of("wrist").torque.x, -2, 1e-4);
	start("0 0 0", "%s",
		ARM_WITH_HAND("0 0 1", SYSTEM("JointController", "j", "<initial_velocity>2</initial_velocity>")));
	observe(OBSERVE_FORCES);
	run_until(1);
	double angle = 2 * 0.999; /* of the state at the beginning of the step */
	expect3("a hand that is whirled: N", reaction_of("wrist").force, -6 * cos(angle), -6 * sin(angle), 0, 2e-2);
	expect("and stays at its distance: m", length_of_wrist(), 1, 2e-5);
	start("0 0 -9.8", "%s",
		"<model name='m'><pose>0.5 0 2 0 0 0</pose><link name='l'>" INERTIAL "</link>" HAND "</model>");
	observe(OBSERVE_FORCES);
	run_until(0.2);
	expect3("a hand that falls: N", reaction_of("wrist").force, 0, 0, 0, 1e-9);
}

static uint64_t hash_after(uint32_t what)
{
	start("0 0 -9.8", "%s",
		FLOOR BOX("a", "0 0 0.498 0.1 0 0") BOX("b", "0.1 0 1.5 0 0.2 0.1") ARM_WITH_HAND("0 1 0", ""));
	observe(what);
	run_until(1.5);
	uint64_t hash = 0;
	const struct shared *shared = &server->worlds[0].shared;
	for (uint32_t m = 0; m < server->worlds[0].scene->model_count; m++)
		hash = hash_words(hash, state_words(shared->state, m, false), shared->state->models[m].words);
	return hash;
}

Test(observe, forces_change_no_bit)
{
	uint64_t plain = hash_after(0);
	for (uint32_t what = 1; what <= OBSERVE_ALL; what++)
		cr_assert_eq(hash_after(what), plain, "observing %u changes the state", what);
}

/* What a contact sensor that comes later reads must not depend on whether somebody has watched contacts before: models
 * that sleep since then have notes of their last step, or none. */
Test(observe, a_reader_that_comes_later_sees_the_same)
{
	enum { NOTES_MAX = 64 };
	static const char reader[] =
		"name: 'r' sdf: \"<sdf version='1.9'><model name='r'><pose>5 0 3 0 0 0</pose><link name='l'><collision "
		"name='c'><geometry><sphere/></geometry></collision><sensor name='s' "
		"type='contact'><contact><collision>c</collision></contact></sensor></link></model></sdf>\"";
	struct contact_note notes[2][NOTES_MAX];
	uint32_t counts[2];
	want.sleepless = false;
	for (int watched = 0; watched < 2; watched++) {
		start("0 0 -9.8", "%s", FLOOR BOX("a", "0 0 0.7 0.3 0.2 0") BOX("b", "0.1 0 1.9 0 0.2 0.1"));
		observe(watched ? OBSERVE_CONTACTS : 0);
		run_until(8);
		for (uint32_t m = 0; m < server->worlds[0].scene->model_count; m++)
			cr_assert(primary_sleeps(server->worlds[0].primary, m) ||
					  !server->worlds[0].scene->models[m].body_count,
				"model %u sleeps", m);
		command("/world/w/create", reader);
		run_until(8.01);
		counts[watched] = observed()->contacts.count;
		cr_assert(counts[watched] > 3 && counts[watched] <= NOTES_MAX, "%u contacts", counts[watched]);
		memcpy(notes[watched], observed()->contacts.at, counts[watched] * sizeof *notes[0]);
	}
	cr_assert_eq(counts[0], counts[1], "%u contacts, and %u if somebody watched", counts[0], counts[1]);
	cr_assert_arr_eq(notes[0], notes[1], counts[0] * sizeof *notes[0]);
}
