/* Commands that set motion (velocities of models, positions and velocities of joints, forces in one step) are
 * compared with mechanics. Where a test reads a result before the next step, the world is paused. */
#include "inside.h"

#include "scene/axis.h"

#define EXACT 1e-12
#define DT 0.001

static char reply[512]; /* text of the last reply */
static troupe_status replied;

static void keep_reply(void *ctx, const struct troupe_reply *of)
{
	(void)ctx;
	replied = of->status;
	snprintf(reply, sizeof reply, "%s", of->text);
}

static void set_up(void)
{
	want.on_reply = keep_reply;
}

TestSuite(motion, .init = set_up, .fini = stop, .timeout = 60);

#define INERTIAL(m, i)                                                                                                 \
	"<inertial><mass>" m "</mass><inertia><ixx>" i "</ixx><iyy>" i "</iyy><izz>" i "</izz></inertia></inertial>"
#define LINK(name, pose, rest) "<link name='" name "'><pose>" pose "</pose>" INERTIAL("2", "0.5") rest "</link>"
#define BOX(size) "<collision name='c'><geometry><box><size>" size "</size></box></geometry></collision>"
#define JOINT(name, type, at, parent, child, rest)                                                                     \
	"<joint name='" name "' type='" type "'><pose relative_to='__model__'>" at "</pose><parent>" parent            \
	"</parent><child>" child "</child>" rest "</joint>"
#define AXIS(xyz) "<axis><xyz expressed_in='__model__'>" xyz "</xyz></axis>"
#define MODEL(name, pose, rest) "<model name='" name "'><pose>" pose "</pose>" rest "</model>"
#define TIED JOINT("tie", "fixed", "0 0 0 0 0 0", "world", "base", "")
#define PAUSE "/world/w/control", "pause: true"
#define GO_ON "/world/w/control", "pause: false"

/* --- looking ------------------------------------------------------------------------------------------------------ */

static void obeyed(const char *topic, const char *text)
{
	replied = TROUPE_OK; /* some topics give no reply */
	command(topic, text);
	steps(1);
	cr_assert_eq(replied, TROUPE_OK, "%s %s: %s", topic, text, reply);
}

/* The command is refused with a reason that contains this text, and only the step changes the state. */
static void refused(const char *topic, const char *text, const char *reason)
{
	uint64_t hash = primary_hash(server->worlds[0].primary);
	replied = TROUPE_OK;
	command(topic, text);
	steps(1);
	cr_assert(replied == TROUPE_ECOMMAND && strstr(reply, reason), "%s: %s, expected %s", text, reply, reason);
	if (server->worlds[0].primary->paused)
		cr_assert_eq(hash, primary_hash(server->worlds[0].primary), "%s: something happened", text);
}

static double rate(const char *model, const char *name, uint32_t axis)
{
	return scene_axis_rate(state(), joint(model, name), axis, false);
}

/* The angle between two orientations. */
static double apart(struct quat a, struct quat b)
{
	struct quat turn = quat_mul(a, quat_conj(b));
	return 2 * asin(fmin(1, vec3_length((struct vec3){turn.x, turn.y, turn.z})));
}

static struct quat about(double x, double y, double z, double angle)
{
	return (struct quat){cos(angle / 2), x * sin(angle / 2), y * sin(angle / 2), z * sin(angle / 2)};
}

/* --- velocities of models ----------------------------------------------------------------------------------------- */

Test(motion, a_free_body_flies)
{
	start("0 0 0", MODEL("b", "1 2 5 0 0 0", LINK("l", "0 0 0 0 0 0", "")));
	obeyed("/world/w/set_velocity", "name: 'b' linear {x: 3 y: -1 z: 0.5} angular {z: 2}");
	steps(499);
	struct troupe_pose p = pose_of("b");
	expect("x = v t", p.x, 1 + 3 * 0.5, 1e-9);
	expect("y = v t", p.y, 2 - 1 * 0.5, 1e-9);
	expect("z = v t", p.z, 5 + 0.5 * 0.5, 1e-9);
	expect("yaw = w t", 2 * atan2(p.qz, p.qw), 2 * 0.5, 1e-6);
	/* a vector that is not given stays as it is, a component that is not given is 0 */
	obeyed("/world/w/set_velocity", "id: 1 linear {y: 4}");
	expect_vector("linear is given", body("b", "l")->v, 0, 4, 0, EXACT);
	expect_vector("angular stays", body("b", "l")->w, 0, 0, 2, EXACT);
	obeyed("/world/w/set_velocity", "name: 'b' angular {x: 0}");
	expect_vector("linear stays", body("b", "l")->v, 0, 4, 0, EXACT);
	expect_vector("angular is given", body("b", "l")->w, 0, 0, 0, EXACT);
}

Test(motion, a_model_moves_as_one_rigid_whole)
{
	start("0 0 0", MODEL("m", "1 0 5 0 0 1.5707963267948966",
			       LINK("base", "0.5 0 0 0 0 0", "") LINK("arm", "2 0 0 0 0 0", "")
				       JOINT("j", "revolute", "1 0 0 0 0 0", "base", "arm", AXIS("0 1 0"))));
	obeyed(PAUSE);
	obeyed("/world/w/set_joint", "name: 'm' joint: 'j' velocity: 7");
	obeyed("/world/w/set_velocity", "name: 'm' linear {x: 1} angular {z: 2}");
	/* the frame is at (1, 0, 5), the links 0.5 and 2 m from it along the world's y */
	expect_vector("v of the base", body("m", "base")->v, 1 - 2 * 0.5, 0, 0, EXACT);
	expect_vector("v of the arm", body("m", "arm")->v, 1 - 2 * 2, 0, 0, EXACT);
	expect_vector("w of the arm", body("m", "arm")->w, 0, 0, 2, EXACT);
	expect("the joint is still", rate("m", "j", 0), 0, EXACT);
	obeyed("/world/w/set_velocity", "name: 'm' linear {z: 3}");
	expect_vector("the frame's velocity is replaced", body("m", "arm")->v, -2 * 2, 0, 3, EXACT);
}

Test(motion, velocities_that_nothing_can_come_of_are_refused)
{
	start("0 0 0",
		MODEL("b", "0 0 5 0 0 0",
			LINK("l", "0 0 0 0 0 0", "") LINK("far", "3 0 0 0 0 0", "")
				JOINT("j", "ball", "0 0 0 0 0 0", "l", "far", "")) MODEL("s", "9 0 0 0 0 0",
			"<static>true</static><link name='l'>" BOX("1 1 1") "</link>") MODEL("k", "20 0 0 0 0 0",
			"<link name='l'><kinematic>true</kinematic></link>") MODEL("t", "30 0 0 0 0 0",
			LINK("base", "0 0 0 0 0 0", "") TIED) "<actor name='a'><script><trajectory id='0' "
							      "type='t'><waypoint><time>0</time><pose>40 0 0 0 0 "
							      "0</pose></waypoint><waypoint><time>1</time><pose>41 0 0 "
							      "0 0 0</pose></waypoint></trajectory></script></actor>");
	obeyed(PAUSE);
	const char *const set = "/world/w/set_velocity";
	refused(set, "name: 'nobody' linear {x: 1}", "the world has no model 'nobody'");
	refused(set, "linear {x: 1}", "neither a name nor an id");
	refused(set, "name: 'b'", "neither linear nor angular");
	refused(set, "name: 's' linear {x: 1}", "model 's' is static");
	obeyed(set, "name: 'k' linear {x: 1}");
	refused("/world/w/wrench", "entity {name: 'k::l' type: LINK} wrench {force {x: 1}}",
		"link 'k::l' is kinematic");
	refused(set, "name: 't' linear {x: 1}", "joint 'tie' holds link 't::base' to the world");
	refused(set, "name: 'a' linear {x: 1}", "actor 'a' is moved by its script");
	refused(set, "name: 'b' linear {x: 10001}", "would move at 10001 m/s: expected at most 10000");
	refused(set, "name: 'b' angular {x: 1e5}", "angular velocity of 100000 rad/s: expected at most 10000");
	refused(set, "name: 'b' angular {z: 9000}", "link 'b::far' would move at 27000 m/s");
	obeyed(set, "name: 'b' linear {x: 10000}");
}

/* --- forces ------------------------------------------------------------------------------------------------------- */

Test(motion, a_force_acts_once)
{
	start("0 0 0", MODEL("b", "0 0 5 0 0 0.5", LINK("l", "1 0 0 0 0 0", "")));
	obeyed("/world/w/wrench", "entity {name: 'b' type: MODEL} wrench {force {x: 10}}");
	expect_vector("dv = F / m dt", body("b", "l")->v, 10 / 2. * DT, 0, 0, EXACT);
	steps(100);
	expect_vector("once", body("b", "l")->v, 10 / 2. * DT, 0, 0, EXACT);
	expect_vector("without a turn", body("b", "l")->w, 0, 0, 0, EXACT);
	obeyed("/world/w/wrench", "entity {name: 'b::l' type: LINK} wrench {torque {y: 3}}");
	expect_vector("dw = T / I dt", body("b", "l")->w, 0, 3 / 0.5 * DT, 0, EXACT);
	steps(100);
	expect_vector("once", body("b", "l")->w, 0, 3 / 0.5 * DT, 0, EXACT);
	/* several forces in one step add up, given by name and by id */
	command("/world/w/wrench", "entity {id: 1 type: MODEL} wrench {force {y: 6}}");
	command("/world/w/wrench", "entity {name: 'b::l'} wrench {force {y: 4} torque {x: 1}}");
	obeyed("/world/w/wrench", "entity {name: 'b'} wrench {force {z: 2}}");
	expect_vector("the sum", body("b", "l")->v, 10 / 2. * DT, (6 + 4) / 2. * DT, 2 / 2. * DT, EXACT);
	expect("the torque", body("b", "l")->w.x, 1 / 0.5 * DT, 1e-9);
}

Test(motion, a_force_off_the_centre_turns)
{
	start("0 0 0", MODEL("b", "0 0 5 0 0 1.5707963267948966", LINK("l", "0 0 0 0 0 0", "")));
	/* 0.2 m along the link's x, which is the world's y */
	obeyed("/world/w/wrench", "entity {name: 'b'} wrench {force {z: 10} force_offset {x: 0.2}}");
	expect_vector("dv", body("b", "l")->v, 0, 0, 10 / 2. * DT, EXACT);
	expect_vector("dw = r x F / I dt", body("b", "l")->w, 0.2 * 10 / 0.5 * DT, 0, 0, EXACT);
}

Test(motion, a_force_acts_on_its_link_alone)
{
	start("0 0 0", MODEL("m", "0 0 5 0 0 0",
			       LINK("base", "0 0 0 0 0 0", "") LINK("arm", "2 0 0 0 0 0", "")
				       JOINT("j", "prismatic", "0 0 0 0 0 0", "base", "arm", AXIS("1 0 0"))));
	obeyed("/world/w/wrench", "entity {name: 'm::arm' type: LINK} wrench {force {x: 10}}");
	expect_vector("the arm", body("m", "arm")->v, 10 / 2. * DT, 0, 0, 1e-9);
	expect_vector("the base", body("m", "base")->v, 0, 0, 0, 1e-9);
}

#define SYSTEMS "<plugin name='gz::sim::systems::ApplyJointForce' filename='x'><joint_name>j</joint_name></plugin>"

/* A force also adds to the forces of systems. */
Test(motion, a_force_adds_to_those_of_systems)
{
	start("0 0 0", MODEL("m", "0 0 5 0 0 0",
			       LINK("arm", "0 0 0 0 0 0", "")
				       JOINT("j", "prismatic", "0 0 0 0 0 0", "world", "arm", AXIS("1 0 0")) SYSTEMS));
	command("/model/m/joint/j/cmd_force", "data: 4");
	obeyed("/world/w/wrench", "entity {name: 'm'} wrench {force {x: 10}}");
	expect("both", body("m", "arm")->v.x, (4 + 10) / 2. * DT, 1e-9);
	steps(1);
	expect("one link goes on", body("m", "arm")->v.x, (4 + 10 + 4) / 2. * DT, 1e-9);
}

Test(motion, forces_that_nothing_can_come_of_are_refused)
{
	start("0 0 0", MODEL("b", "0 0 5 0 0 0", LINK("l", "0 0 0 0 0 0", ""))
			       MODEL("s", "9 0 0 0 0 0", "<static>true</static><link name='l'>" BOX("1 1 1") "</link>")
				       MODEL("t", "30 0 0 0 0 0", LINK("base", "0 0 0 0 0 0", "") TIED));
	const char *const set = "/world/w/wrench";
	refused(set, "entity {name: 'nobody'} wrench {force {x: 1}}", "the world has no model 'nobody'");
	refused(set, "wrench {force {x: 1}}", "neither a name nor an id");
	refused(set, "entity {name: 'b' type: LINK} wrench {force {x: 1}}", "b: expected the scoped name of a link");
	refused(set, "entity {name: 'b::x' type: LINK}", "model 'b' has no link 'x'");
	refused(set, "entity {name: 'b::l' id: 1 type: LINK}", "links have no ids");
	refused(set, "entity {name: 'b' type: JOINT}", "expected MODEL or LINK");
	refused(set, "entity {name: 's'}", "model 's' is static");
	refused(set, "entity {name: 't'}", "joint 'tie' holds link 't::base' to the world");
	refused(set, "entity {name: 'b'} wrench {force {x: 1e9} force_offset {y: 2}}", "a torque of 2e+09 N m");
	expect_vector("nothing moves", body("b", "l")->v, 0, 0, 0, 0);
	obeyed(PAUSE);
	refused(set, "entity {name: 'b'} wrench {force {x: 1}}", "the world is paused");
	obeyed(GO_ON);
	expect_vector("nothing moves", body("b", "l")->v, 0, 0, 0, 0);
}

Test(motion, what_sleeps_wakes)
{
	static const char *const ways[][2] = {
		{"/world/w/set_velocity", "name: 'b' linear {z: 1}"},
		{"/world/w/wrench", "entity {name: 'b'} wrench {force {z: 2000}}"},
		{"/world/w/set_joint", "name: 'b' joint: 'j' velocity: 3"},
		{"/world/w/set_joint", "name: 'b' joint: 'j' position: 1"},
	};
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		start("0 0 -9.8",
			MODEL("floor", "0 0 -1 0 0 0", "<static>true</static><link name='l'>" BOX("9 9 2") "</link>")
				MODEL("b", "0 0 0.5 0 0 0",
					LINK("l", "0 0 0 0 0 0", BOX("1 1 1")) LINK("arm", "0 0 1 0 0 0", "")
						JOINT("j", "continuous", "0 0 1 0 0 0", "l", "arm", AXIS("0 0 1"))));
		const struct primary *primary = server->worlds[0].primary;
		uint32_t m = scene_find_model(state()->scene, "b");
		run_until(2);
		cr_assert(primary_sleeps(primary, m), "it sleeps");
		uint64_t hash = state_hash(server->worlds[0].shared.state);
		obeyed(ways[i][0], ways[i][1]);
		steps(1);
		cr_assert_not(primary_sleeps(primary, m), "%s wakes it", ways[i][1]);
		cr_assert_neq(hash, state_hash(server->worlds[0].shared.state), "%s", ways[i][1]);
	}
}

#define LEVELS                                                                                                         \
	"<plugin name='gz::sim' filename='x'><performer name='p'><ref>p</ref><geometry><box><size>1 1 "                \
	"1</size></box></geometry></performer><level name='far'><pose>100 0 0 0 0 0</pose><geometry><box><size>10 10 " \
	"20</size></box></geometry><buffer>1</buffer><ref>b</ref></level></plugin>"

Test(motion, models_of_levels_that_are_not_loaded)
{
	start("0 0 0", "%s",
		MODEL("p", "0 0 0 0 0 0", LINK("l", "0 0 0 0 0 0", "")) MODEL("b", "100 0 5 0 0 0",
			LINK("l", "0 0 0 0 0 0", "") LINK("arm", "0 0 1 0 0 0", "")
				JOINT("j", "prismatic", "0 0 0 0 0 0", "l", "arm", AXIS("1 0 0"))) LEVELS);
	steps(5);
	refused("/world/w/wrench", "entity {name: 'b'} wrench {force {x: 1}}", "its level is not loaded");
	obeyed("/world/w/set_velocity", "name: 'b' linear {y: 2}");
	obeyed("/world/w/set_joint", "name: 'b' joint: 'j' position: 0.5 velocity: 0");
	steps(100);
	expect_vector("it stands", body("b", "l")->p, 100, 0, 5, EXACT);
	expect("its joint is set", position("b", "j", 0), 0.5, 0);
	/* pushed in the step in which the level is loaded, it is simulated */
	command("/world/w/set_pose", "name: 'p' position {x: 100}");
	obeyed("/world/w/wrench", "entity {name: 'b'} wrench {force {z: 20}}");
	steps(499);
	expect("it flies", body("b", "l")->p.y, 2 * 0.5, 1e-9);
	expect("it is pushed", body("b", "arm")->v.z + body("b", "l")->v.z, 20 / 2. * DT, 1e-6);
	command("/world/w/set_pose", "name: 'p' position {x: 0}");
	refused("/world/w/wrench", "entity {name: 'b'} wrench {force {x: 1}}", "its level is not loaded");
}

Test(motion, what_comes_later_in_the_step_counts)
{
	start("0 0 0", MODEL("b", "0 0 5 0 0 0", LINK("l", "0 0 0 0 0 0", "")));
	const char *const push = "entity {name: 'b'} wrench {force {x: 10}}";
	command("/world/w/wrench", push);
	obeyed("/world/w/reset_model", "name: 'b'");
	expect_vector("undone by a reset of the model", body("b", "l")->v, 0, 0, 0, 0);
	command("/world/w/wrench", push);
	command("/world/w/control", "reset {all: true}");
	steps(1);
	expect_vector("undone by a reset of the world", body("b", "l")->v, 0, 0, 0, 0);
	command("/world/w/wrench", push);
	command(PAUSE);
	steps(3);
	expect_vector("it waits with the world", body("b", "l")->v, 0, 0, 0, 0);
	command(GO_ON);
	steps(3);
	expect_vector("and acts once", body("b", "l")->v, 10 / 2. * DT, 0, 0, EXACT);
	command("/world/w/wrench", push);
	command("/world/w/remove", "name: 'b'");
	steps(3);
}

/* --- joints ------------------------------------------------------------------------------------------------------- */

Test(motion, a_pendulum_is_put_at_an_angle)
{
	start("0 0 0", MODEL("m", "1 0 5 0 0 0",
			       LINK("arm", "0.5 0 0 0 0 0", "")
				       JOINT("j", "continuous", "0 0 0 0 0 0", "world", "arm", AXIS("0 1 0"))));
	obeyed(PAUSE);
	obeyed("/world/w/set_joint", "name: 'm' joint: 'j' position: 1.2 velocity: 3");
	expect("position", position("m", "j", 0), 1.2, 0);
	expect("velocity", rate("m", "j", 0), 3, EXACT);
	expect_vector("the link", body("m", "arm")->p, 1 + 0.5 * cos(1.2), 0, 5 - 0.5 * sin(1.2), EXACT);
	expect_vector("its speed", body("m", "arm")->v, -0.5 * sin(1.2) * 3, 0, -0.5 * cos(1.2) * 3, EXACT);
	obeyed(GO_ON);
	steps(999);
	/* in a step the link moves along a tangent of its circle, which costs a little accuracy */
	expect("it goes on turning", position("m", "j", 0), 1.2 + 3 * 1, 2e-4);
	obeyed("/world/w/set_joint", "id: 1 joint: 'm::j' position: -40 velocity: -1");
	steps(999);
	expect("turns are counted", position("m", "j", 0), -40 - 1, 2e-4);
}

Test(motion, a_slider_moves_with_its_parent)
{
	start("0 0 0",
		MODEL("m", "0 0 5 0 0 0",
			LINK("base", "0 0 0 0 0 0", "") LINK("arm", "1 0 0 0 0 0", "") JOINT("j", "prismatic",
				"0 0 0 0 0 0", "base", "arm",
				"<axis><xyz>0 1 0</xyz><limit><lower>-2</lower><upper>3</upper></limit></axis>")));
	obeyed(PAUSE);
	obeyed("/world/w/set_velocity", "name: 'm' linear {z: 1} angular {z: 2}");
	obeyed("/world/w/set_joint", "name: 'm' joint: 'j' position: 3");
	expect_vector("the arm", body("m", "arm")->p, 1, 3, 5, EXACT);
	expect_vector("it moves with the base", body("m", "arm")->v, -3 * 2, 1 * 2, 1, EXACT);
	expect("and not by itself", rate("m", "j", 0), 0, EXACT);
	obeyed("/world/w/set_joint", "name: 'm' joint: 'j' position: -2 velocity: 0.25");
	expect("velocity", rate("m", "j", 0), 0.25, EXACT);
	expect_vector("on top of the base's motion", body("m", "arm")->v, 2 * 2, 1 * 2 + 0.25, 1, EXACT);
	refused("/world/w/set_joint", "name: 'm' joint: 'j' position: 3.001", "expected -2 to 3, between its stops");
	refused("/world/w/set_joint", "name: 'm' joint: 'j' position: -2.001", "expected -2 to 3, between its stops");
	refused("/world/w/set_joint", "name: 'm' joint: 'j' velocity: 10001", "velocity 10001 of joint 'j'");
}

#define DOUBLE                                                                                                         \
	LINK("base", "0 0 0 0 0 0", "")                                                                                \
	LINK("a", "1 0 0 0 0 0", "")                                                                                   \
	LINK("b", "2 0 0 0 0 0", "")                                                                                   \
	JOINT("j", "revolute", "0.5 0 0 0 0 0", "base", "a", AXIS("0 1 0"))                                            \
	JOINT("k", "revolute", "1.5 0 0 0 0 0", "a", "b", AXIS("0 0 1"))

Test(motion, what_hangs_on_a_joint_goes_with_it)
{
	start("0 0 0", MODEL("m", "0 0 5 0 0 0", DOUBLE));
	const double q = 0.7, p = 1.9, dq = 1.5, dp = -2.5;
	obeyed(PAUSE);
	obeyed("/world/w/set_velocity", "name: 'm' linear {x: 0.1 y: 0.2 z: 0.3} angular {x: -0.4 y: 0.5 z: 0.6}");
	obeyed("/world/w/set_joint", "name: 'm' joint: 'k' position: 1.9 velocity: -2.5");
	obeyed("/world/w/set_joint", "name: 'm' joint: 'j' position: 0.7 velocity: 1.5");
	expect("j", position("m", "j", 0), q, 0);
	expect("k", position("m", "k", 0), p, 0);
	expect("rate of j", rate("m", "j", 0), dq, EXACT);
	expect("rate of k", rate("m", "k", 0), dp, EXACT);
	struct vec3 elbow = {0.5 + cos(q), 0, 5 - sin(q)};
	struct vec3 along = quat_rotate(about(0, 1, 0, q), (struct vec3){0.5 * cos(p), 0.5 * sin(p), 0});
	struct vec3 b = vec3_add(elbow, along);
	expect_vector("the first", body("m", "a")->p, 0.5 + 0.5 * cos(q), 0, 5 - 0.5 * sin(q), EXACT);
	expect_vector("the second", body("m", "b")->p, b.x, b.y, b.z, EXACT);
	expect("its orientation", apart(body("m", "b")->q, quat_mul(about(0, 1, 0, q), about(0, 0, 1, p))), 0, 1e-7);
	/* v = V + W x r of the base, then joint by joint */
	struct vec3 w = {-0.4, 0.5, 0.6}, v = {0.1, 0.2, 0.3};
	v = vec3_add(v, vec3_cross(w, (struct vec3){0.5, 0, 0}));
	w = vec3_add(w, (struct vec3){0, dq, 0});
	v = vec3_add(v, vec3_cross(w, vec3_sub(elbow, (struct vec3){0.5, 0, 5})));
	w = vec3_add(w, vec3_scale(quat_rotate(about(0, 1, 0, q), (struct vec3){0, 0, 1}), dp));
	v = vec3_add(v, vec3_cross(w, along));
	expect_vector("speed of the second", body("m", "b")->v, v.x, v.y, v.z, EXACT);
	expect_vector("its turning", body("m", "b")->w, w.x, w.y, w.z, EXACT);
	/* physics agrees: it corrects nothing */
	obeyed(GO_ON);
	expect("j goes on", position("m", "j", 0), q + dq * DT, 2e-5);
	expect("k goes on", position("m", "k", 0), p + dp * DT, 2e-5);
}

#define TWO_AXES "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>"

Test(motion, either_axis_of_a_universal_joint)
{
	static const char *const kinds[][3] = {
		{"universal", "world", "arm"}, {"revolute2", "world", "arm"}, {"universal", "base", "arm"}};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		start("0 0 0",
			MODEL("m", "0 0 5 0 0 0",
				LINK("arm", "0 0 -1 0 0 0", "") LINK("base", "5 0 0 0 0 0",
					"") "<joint name='j' type='%s'><pose "
					    "relative_to='__model__'/><parent>%s</parent><child>%s</child>" TWO_AXES
					    "</joint>"),
			kinds[i][0], kinds[i][1], kinds[i][2]);
		obeyed(PAUSE);
		obeyed("/world/w/set_joint", "name: 'm' joint: 'j' axis: 1 position: 0.4 velocity: 2");
		obeyed("/world/w/set_joint", "name: 'm' joint: 'j' position: 0.9 velocity: -1");
		obeyed("/world/w/set_joint", "name: 'm' joint: 'j' axis: 1 position: -0.6");
		struct quat turn = quat_mul(about(1, 0, 0, 0.9), about(0, 1, 0, -0.6));
		struct vec3 at = quat_rotate(turn, (struct vec3){0, 0, -1});
		expect("orientation", apart(body("m", "arm")->q, turn), 0, 1e-7);
		expect_vector("where it hangs", body("m", "arm")->p, at.x, at.y, 5 + at.z, EXACT);
		expect("rate of the first", rate("m", "j", 0), -1, EXACT);
		expect("rate of the second", rate("m", "j", 1), 2, EXACT);
		double drift = position("m", "j", 0);
		obeyed(GO_ON);
		expect("the first goes on", position("m", "j", 0), drift - 1 * DT, 2e-5);
		expect("the second goes on", position("m", "j", 1), -0.6 + 2 * DT, 2e-5);
		refused("/world/w/set_joint", "name: 'm' joint: 'j' axis: 2 position: 1",
			"axis 2 of joint 'j': expected 0 or 1");
	}
}

#define WORLD_JOINT(name, type, parent, rest)                                                                          \
	"<joint name='" name "' type='" type "'><pose relative_to='" parent "'/><parent>" parent                       \
	"::arm</parent><child>post::l</child>" rest "</joint>"

/* A static model is a part of the world: so the parent moves, in the opposite direction. */
Test(motion, the_child_is_the_world)
{
	start("0 0 0", "%s",
		MODEL("post", "0 0 -9 0 0 0", "<static>true</static><link name='l'/>") MODEL("m", "0 0 5 0 0 0",
			LINK("arm", "1 0 0 0 0 0", "")) MODEL("n", "0 9 5 0 0 0", LINK("arm", "1 0 0 0 0 0", ""))
			MODEL("u", "0 20 5 0 0 0", LINK("arm", "0 0 -1 0 0 0", ""))
				WORLD_JOINT("j", "revolute", "m", "<axis><xyz>0 0 1</xyz></axis>")
					WORLD_JOINT("k", "prismatic", "n", "<axis><xyz>0 0 1</xyz></axis>")
						WORLD_JOINT("l", "universal", "u", TWO_AXES));
	obeyed(PAUSE);
	obeyed("/world/w/set_joint", "name: 'm' joint: 'j' position: 0.8 velocity: 0.5");
	expect_vector("turned back", body("m", "arm")->p, cos(-0.8), sin(-0.8), 5, EXACT);
	expect("velocity", rate("m", "j", 0), 0.5, EXACT);
	expect("turns back", body("m", "arm")->w.z, -0.5, EXACT);
	obeyed("/world/w/set_joint", "name: 'n' joint: 'k' position: 0.8 velocity: 0.5");
	expect_vector("slid back", body("n", "arm")->p, 1, 9, 5 - 0.8, EXACT);
	expect_vector("slides back", body("n", "arm")->v, 0, 0, -0.5, EXACT);
	obeyed("/world/w/set_joint", "name: 'u' joint: 'l' position: 0.3 velocity: 1");
	obeyed("/world/w/set_joint", "name: 'u' joint: 'l' axis: 1 position: 0.5 velocity: -2");
	struct quat turn = quat_mul(about(1, 0, 0, 0.3), about(0, 1, 0, 0.5));
	expect("orientation", apart(body("u", "arm")->q, quat_conj(turn)), 0, 1e-7);
	obeyed(GO_ON);
	expect("revolute goes on", position("m", "j", 0), 0.8 + 0.5 * DT, 1e-6);
	expect("prismatic goes on", position("n", "k", 0), 0.8 + 0.5 * DT, 1e-6);
	expect("universal goes on", position("u", "l", 0), 0.3 + 1 * DT, 2e-5);
	expect("universal goes on", position("u", "l", 1), 0.5 - 2 * DT, 2e-5);
}

Test(motion, a_screw_slides_as_it_turns)
{
	start("0 0 0", MODEL("m", "0 0 5 0 0 0",
			       LINK("nut", "0.2 0 0 0 0 0", "") JOINT("j", "screw", "0 0 0 0 0 0", "world", "nut",
				       AXIS("0 0 1") "<screw_thread_pitch>0.5</screw_thread_pitch>")));
	const struct scene_joint *j = &state()->scene->joints[joint("m", "j")];
	double lead = 1 / j->sdf->thread_pitch; /* m/rad */
	obeyed(PAUSE);
	obeyed("/world/w/set_joint", "name: 'm' joint: 'j' position: 9 velocity: 2");
	expect_vector("the nut", body("m", "nut")->p, 0.2 * cos(9), 0.2 * sin(9), 5 + 9 * lead, EXACT);
	expect("slides", body("m", "nut")->v.z, 2 * lead, EXACT);
	expect("turns", rate("m", "j", 0), 2, EXACT);
	obeyed(GO_ON);
	steps(499);
	expect("it goes on", position("m", "j", 0), 9 + 2 * 0.5, 1e-4);
	expect("by its thread", body("m", "nut")->p.z, 5 + lead * (9 + 2 * 0.5), 1e-4);
}

#define MIMIC(leader, k, o)                                                                                            \
	"<mimic joint='" leader "'><multiplier>" k "</multiplier><offset>" o "</offset><reference>0</reference></"     \
	"mimic>"

Test(motion, followers_follow)
{
	start("0 0 0", MODEL("m", "0 0 5 0 0 0",
			       LINK("base", "0 0 0 0 0 0", "") LINK("a", "1 0 0 0 0 0", "") LINK("b", "-1 0 0 0 0 0",
				       "") LINK("c", "-2 0 0 0 0 0", "") JOINT("j", "continuous", "0 0 0 0 0 0", "base",
				       "a", AXIS("0 0 1")) JOINT("k", "revolute", "0 0 0 0 0 0", "base", "b",
				       "<axis><xyz>0 0 1</xyz><limit><lower>-3</lower><upper>3</upper></limit>" MIMIC(
					       "j", "-2", "0.1") "</axis>") JOINT("l", "prismatic", "0 0 0 0 0 0", "b",
				       "c", "<axis><xyz>1 0 0</xyz>" MIMIC("k", "0.5", "0") "</axis>")));
	obeyed(PAUSE);
	refused("/world/w/set_joint", "name: 'm' joint: 'k' position: 1", "joint 'k' mimics joint 'j'");
	refused("/world/w/set_joint", "name: 'm' joint: 'j' position: 1.6",
		"position -3.1 of joint 'k': expected -3 to 3");
	obeyed("/world/w/set_joint", "name: 'm' joint: 'j' position: 0.8 velocity: 0.3");
	double k = -2 * 0.8 + 0.1, l = 0.5 * k;
	expect("the follower", position("m", "k", 0), k, EXACT);
	expect("its follower", position("m", "l", 0), l, EXACT);
	expect("rates", rate("m", "k", 0), -2 * 0.3, EXACT);
	expect("rates", rate("m", "l", 0), -0.3, EXACT);
	expect_vector("the leader's link", body("m", "a")->p, cos(0.8), sin(0.8), 5, EXACT);
	expect_vector("the follower's", body("m", "b")->p, -cos(k), -sin(k), 5, EXACT);
	expect_vector("and its", body("m", "c")->p, (-2 + l) * cos(k), (-2 + l) * sin(k), 5, EXACT);
}

Test(motion, joints_that_cannot_move_alone_are_refused)
{
	start("0 0 0",
		MODEL("m", "0 0 5 0 0 0", /* a loop of four links, and a tail */
			LINK("base", "0 0 0 0 0 0", "") LINK("a", "1 0 0 0 0 0", "") LINK("b", "1 1 0 0 0 0", "") LINK(
				"c", "0 1 0 0 0 0", "") LINK("t", "3 0 0 0 0 0", "") LINK("x", "0 0 3 0 0 0",
				"") LINK("y", "0 0 4 0 0 0", "") LINK("z", "0 0 5 0 0 0", "") JOINT("j", "revolute",
				"0 0 0 0 0 0", "base", "a", AXIS("0 0 1")) JOINT("k", "revolute", "1 0 0 0 0 0", "a",
				"b", AXIS("0 0 1")) JOINT("l", "revolute", "1 1 0 0 0 0", "b", "c",
				AXIS("0 0 1")) JOINT("n", "revolute", "0 1 0 0 0 0", "base", "c",
				AXIS("0 0 1")) JOINT("tail", "revolute", "2 0 0 0 0 0", "a", "t",
				AXIS("0 0 1")) JOINT("ball", "ball", "0 0 2 0 0 0", "base", "x", "") JOINT("in",
				"continuous", "0 0 2 0 0 0", "base", "y",
				AXIS("0 0 1")) JOINT("out", "continuous", "0 0 2 0 0 0", "base", "z",
				AXIS("0 0 1")) "<joint name='gears' "
					       "type='gearbox'><parent>y</parent><child>z</child><gearbox_ratio>2</"
					       "gearbox_ratio><gearbox_reference_body>base</"
					       "gearbox_reference_body><axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 0 "
					       "1</xyz></axis2></joint>") MODEL("p", "50 0 5 0 0 0",
			LINK("base", "0 0 0 0 0 0", "") LINK("a", "1 0 0 0 0 0", "") JOINT(
				"j", "revolute", "0 0 0 0 0 0", "base", "a", AXIS("0 0 1"))) MODEL("q", "52 0 5 0 0 0",
			LINK("base", "0 0 0 0 0 0", "") LINK("a", "1 0 0 0 0 0", "") JOINT("j", "revolute",
				"0.5 0 0 0 0 0", "base", "a", AXIS("0 0 1"))) MODEL("f", "70 0 5 0 0 0",
			LINK("base", "0 0 0 0 0 0", "") LINK("a", "1 0 0 0 0 0", "") JOINT("j", "revolute",
				"0 0 0 0 0 0", "base", "a", AXIS("0 0 1")) JOINT("hold", "fixed", "0 0 0 0 0 0",
				"world", "a", "")) "<joint name='rope' type='revolute'><pose "
						   "relative_to='q::base'/><parent>p::a</parent><child>q::base</"
						   "child><axis><xyz>0 0 1</xyz></axis></joint>");
	obeyed(PAUSE);
	const char *const set = "/world/w/set_joint";
	refused(set, "name: 'm' position: 1", "no joint: expected the name");
	refused(set, "name: 'm' joint: 'j'", "neither position nor velocity");
	refused(set, "name: 'm' joint: 'nothing' position: 1", "model 'm' has no joint 'nothing'");
	refused(set, "name: 'm' joint: 'ball' position: 1",
		"joint 'ball' is of type ball: expected one that has an axis");
	refused(set, "name: 'f' joint: 'hold' position: 1",
		"joint 'hold' is of type fixed: expected one that has an axis");
	refused(set, "name: 'm' joint: 'gears' position: 1", "joint 'gears' is of type gearbox");
	refused(set, "name: 'm' joint: 'j' position: 1", "ties bodies that move with joint 'j' to bodies that do not");
	refused(set, "name: 'm' joint: 'l' velocity: 1", "ties bodies that move with joint 'l' to bodies that do not");
	refused(set, "name: 'm' joint: 'in' position: 1", "gearbox 'gears' couples joint 'in' with another");
	refused(set, "name: 'm' joint: 'out' velocity: 1", "gearbox 'gears' couples joint 'out' with another");
	refused(set, "name: 'p' joint: 'j' position: 1", "joint 'rope' ties bodies that move with joint 'j'");
	refused(set, "name: 'f' joint: 'j' position: 1", "joint 'hold' holds link 'f::a' to the world");
	refused(set, "name: 'p' joint: 'j' axis: 1 velocity: 1", "axis 1 of joint 'j': expected 0, the only one");
	obeyed(set, "name: 'm' joint: 'tail' position: 1");
	expect_vector("a tail beside a loop", body("m", "t")->p, 2 + cos(1), sin(1), 5, EXACT);
	/* a joint of the world moves the model of its child */
	obeyed(set, "name: 'q' joint: 'rope' position: 0.5 velocity: 1");
	expect("position", position("q", "rope", 0), 0.5, 0);
	expect_vector("the whole model", body("q", "a")->p, 52 + cos(0.5), sin(0.5), 5, EXACT);
	expect_vector("moves", body("q", "a")->v, -sin(0.5), cos(0.5), 0, EXACT);
	obeyed(set, "name: 'q' joint: 'j' position: 0.5");
}

Test(motion, what_would_be_out_of_bounds_changes_nothing)
{
	start("0 0 0", MODEL("m", "0 0 5 0 0 0",
			       LINK("base", "0 0 0 0 0 0", "") LINK("a", "900 0 0 0 0 0", "") JOINT("j", "continuous",
				       "0 0 0 0 0 0", "base", "a", AXIS("0 0 1"))) MODEL("n", "9 9 5 0 0 0",
			       LINK("a", "0 0 0 0 0 0", "")
				       JOINT("j", "prismatic", "0 0 0 0 0 0", "world", "a", AXIS("1 0 0"))));
	obeyed(PAUSE);
	refused("/world/w/set_joint", "name: 'm' joint: 'j' position: 1 velocity: 100",
		"link 'm::a' would move at 90000 m/s");
	refused("/world/w/set_joint", "name: 'n' joint: 'j' position: 1e8", "link 'n::a' would be beyond 1e+07 m");
	expect("nothing moves", position("m", "j", 0), 0, 0);
	expect_vector("nothing moves", body("m", "a")->p, 900, 0, 5, 0);
}
