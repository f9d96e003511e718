/* Services of a running world that act on bodies and joints. test_library_commands.c has the plain cases. Here are
 * links other than the first, frames other than the body's, joints that hold or held other joints, and refusals. */
#include "library.h"

TestSuite(services, .fini = lib_end, .timeout = 120);

#define DT LIB_DT_S
#define FLOATING(content) LIB_SDF("<world name='w'><gravity>0 0 0</gravity>" LIB_HEAD content "</world>")
#define POINT(name, pose)                                                                                              \
	"<link name='" name "'><pose>" pose "</pose><inertial><mass>2</mass><inertia><ixx>0.1</ixx><iyy>0.1</"         \
					    "iyy><izz>0.1</izz></inertia></inertial></link>"
#define HINGE(name, parent, child, more)                                                                               \
	"<joint name='" name "' type='revolute'><parent>" parent "</parent><child>" child                              \
	"</child><axis><xyz expressed_in='__model__'>0 0 1</xyz>" more "</axis></joint>"

static char reply[200]; /* of the last service; "" when it succeeded */

static void keep(void *ctx, const struct troupe_reply *said)
{
	(void)ctx;
	(void)snprintf(reply, sizeof reply, "%s", said->status ? said->text : "");
}

static struct troupe_server *begin(const char *world)
{
	struct troupe_server_def def = lib_def(world, 1);
	def.on_reply = keep;
	return lib_create(&def);
}

/* Calls the service at the next step, and takes this step. */
static void ask(struct troupe_server *server, const char *topic, const char *text)
{
	(void)snprintf(reply, sizeof reply, "no reply");
	lib_text(server, 0, topic, text);
	lib_step(server, 1);
}

static void does(struct troupe_server *server, const char *topic, const char *text)
{
	ask(server, topic, text);
	cr_assert_str_empty(reply, "%s: %s", text, reply);
}

static void refuses(struct troupe_server *server, const char *topic, const char *text, const char *words)
{
	ask(server, topic, text);
	cr_assert(strstr(reply, words), "%s: '%s' does not say '%s'", text, reply, words);
}

static struct troupe_link_state link_at(const struct troupe_server *server, const char *model, const char *link)
{
	return lib_link_at(server, lib_link(server, model, link));
}

#define NEAR(found, expected)                                                                                          \
	do {                                                                                                           \
		double found_ = (found);                                                                               \
		cr_assert(fabs(found_ - (expected)) < 1e-9, "%s is %.12g", #found, found_);                            \
	} while (0)

/* --- motion ------------------------------------------------------------------------------------------------------- */

Test(services, velocities_are_limited_for_each_link)
{
	struct troupe_server *server = begin(FLOATING(LIB_MODEL("m", "0 0 0 0 0 0",
		POINT("l", "0 0 0 0 0 0") POINT("far", "1000 0 0 0 0 0") HINGE("j", "l", "far", ""))));
	refuses(server, "/world/w/set_velocity", "name: 'm' angular {z: 20}", "expected at most");
	does(server, "/world/w/set_velocity", "name: 'm' angular {z: 2}");
}

/* A linear velocity that is not given stays as it is. It is the velocity of the model's frame, whose origin is not at
 * the centre of mass. */
Test(services, a_velocity_that_is_not_given_stays)
{
	struct troupe_server *server = begin(FLOATING(LIB_MODEL("m", "0 0 0 0 0 0",
		"<link name='l'><inertial><pose>0.5 0 0 0 0 "
		"0</pose><mass>2</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial></"
		"link>")));
	troupe_model m = lib_model(server, "m");
	does(server, "/world/w/set_velocity", "name: 'm' linear {y: 1} angular {z: 2}");
	does(server, "/world/w/set_velocity", "name: 'm' angular {z: 0}");
	struct troupe_model_state at = lib_at(server, m);
	NEAR(at.twist.angular.z, 0);
	cr_assert(fabs(at.twist.linear.y - 1) < 0.01 && fabs(at.twist.linear.x) < 0.01,
		"the origin went on with %g, %g m/s: it had 0, 1", at.twist.linear.x, at.twist.linear.y);
	lib_destroy(server);
}

/* A pose and a velocity in one command do what two commands in one step do; or nothing. */
Test(services, a_pose_and_a_velocity_are_one_command)
{
	static const char world[] = FLOATING(LIB_MODEL("m", "0 0 0 0 0 0.3",
		POINT("l", "0 0 0 0 0 0") POINT("far", "1000 0 0 0 0 0") HINGE("j", "l", "far", "")) LIB_MODEL("held",
		"0 50 0 0 0 0", POINT("l", "0 0 0 0 0 0") HINGE("to_world", "world", "l", "")));
	const char *at = "position {x: 7 y: -3 z: 2} orientation {w: 0.8 z: 0.6}";
	struct troupe_server *one = begin(world), *two = begin(world);
	char text[300];
	for (int both = 0; both < 2; both++) {
		const char *velocity = both ? "linear {y: 3} angular {z: 1.5 x: 0.2}" : "angular {z: -1}";
		(void)snprintf(text, sizeof text, "name: 'm' pose {name: 'held' id: 99 %s} %s", at, velocity);
		does(one, "/world/w/set_velocity", text);
		(void)snprintf(text, sizeof text, "name: 'm' %s", at);
		lib_text(two, 0, "/world/w/set_pose", text);
		(void)snprintf(text, sizeof text, "name: 'm' %s", velocity);
		lib_text(two, 0, "/world/w/set_velocity", text);
		lib_step(two, 1);
		cr_assert_eq(troupe_server_hash(one), troupe_server_hash(two));
	}
	struct troupe_model_state m = lib_at(one, lib_model(one, "m"));
	cr_assert(fabs(m.pose.x - 7) < 0.1 && fabs(m.twist.linear.y - 3) < 0.1);
	for (int i = 0; i < 2; i++) { /* by its id */
		struct troupe_server *server = i ? two : one;
		(void)snprintf(text, sizeof text, "id: %llu pose {position {x: 1}} linear {x: 2}",
			(unsigned long long)lib_model(server, "m").born);
		does(server, "/world/w/set_velocity", text);
		cr_assert(fabs(lib_at(server, lib_model(server, "m")).pose.x - 1) < 0.1);
	}
	static const struct {
		const char *text, *words;
	} wrong[] = {{"name: 'm' pose {position {z: 9}} angular {z: 20}", "would move at"},
		{"name: 'm' pose {position {z: 9}}", "neither linear nor angular"},
		{"name: 'm' pose {position {z: 1e9}} linear {x: 1}", "pose: position 0 0 1e+09: expected"},
		{"name: 'held' pose {position {z: 9}} linear {x: 1}", "pose: joint 'to_world' holds model 'held'"}};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		refuses(one, "/world/w/set_velocity", wrong[i].text, wrong[i].words);
		lib_step(two, 1);
		cr_assert_eq(troupe_server_hash(one), troupe_server_hash(two), "%s", wrong[i].text);
	}
}

/* --- forces ------------------------------------------------------------------------------------------------------- */

Test(services, a_wrench_on_a_model_acts_on_its_canonical_link)
{
	struct troupe_server *server = begin(FLOATING("<model name='m' canonical_link='b'>" POINT("a", "0 0 0 0 0 0")
			POINT("b", "5 0 0 0 0 0") "</model><model name='n'>" POINT("a", "0 9 0 0 0 0")
				POINT("b", "5 9 0 0 0 0") "</model>"));
	does(server, "/world/w/wrench", "entity {name: 'm' type: MODEL} wrench {force {x: 10}}");
	NEAR(link_at(server, "m", "a").twist.linear.x, 0);
	NEAR(link_at(server, "m", "b").twist.linear.x, 10 / 2.0 * DT);
	does(server, "/world/w/wrench", "entity {name: 'n'} wrench {force {x: 10}}");
	NEAR(link_at(server, "n", "a").twist.linear.x, 10 / 2.0 * DT);
	NEAR(link_at(server, "n", "b").twist.linear.x, 0);
}

/* The offset is in the axes of the named link, though a weld makes one body of it and another link. */
Test(services, a_force_acts_where_its_offset_says)
{
	struct troupe_server *server = begin(FLOATING(LIB_MODEL("m", "0 0 0 0 0 0",
		POINT("l", "0 0 0 0 0 0") "<link name='k'><pose>0 0 0 0 0 "
					  "1.5707963267948966</pose><inertial><mass>2</mass><inertia><ixx>0.1</"
					  "ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial></link><joint "
					  "name='weld' type='fixed'><parent>l</parent><child>k</child></joint>")));
	does(server, "/world/w/wrench", "entity {name: 'm::k' type: LINK} wrench {force {x: 10} force_offset {x: 1}}");
	/* the offset is 1 m along the world's y: a torque of -10 N m on 0.2 kg m^2 */
	NEAR(link_at(server, "m", "l").twist.angular.z, -10 / 0.2 * DT);
	NEAR(link_at(server, "m", "l").twist.linear.x, 10 / 4.0 * DT);
}

/* Torques of one step add up, also with those of a plug-in. */
Test(services, wrenches_of_one_step_add_up)
{
	struct troupe_server *server = begin(FLOATING(LIB_MODEL("m", "0 0 0 0 0 0", POINT("l", "0 0 0 0 0 0"))));
	lib_text(server, 0, "/world/w/wrench", "entity {name: 'm'} wrench {force {x: 10} torque {z: 1}}");
	lib_text(server, 0, "/world/w/wrench", "entity {name: 'm'} wrench {force {y: 20} torque {z: 2}}");
	lib_step(server, 1);
	NEAR(link_at(server, "m", "l").twist.linear.x, 10 / 2.0 * DT);
	NEAR(link_at(server, "m", "l").twist.linear.y, 20 / 2.0 * DT);
	NEAR(link_at(server, "m", "l").twist.angular.z, 3 / 0.1 * DT);
	lib_step(server, 1);
	NEAR(link_at(server, "m", "l").twist.angular.z, 3 / 0.1 * DT);
}

/* --- joints ------------------------------------------------------------------------------------------------------- */

/* The link at the joint is tied to other models, which are then removed. */
Test(services, joints_are_free_when_what_tied_them_has_gone)
{
	struct troupe_server *server = begin(FLOATING(LIB_MODEL("m", "0 0 0 0 0 0",
		POINT("l", "0 0 0 0 0 0") POINT("k", "1 0 0 0 0 0") HINGE("j", "l", "k", "")) LIB_MODEL("parent",
		"3 0 0 0 0 0", POINT("l", "0 0 0 0 0 0")) LIB_MODEL("child", "3 3 0 0 0 0",
		POINT("l",
			"0 0 0 0 0 0")) "<joint name='a' "
					"type='ball'><parent>parent::l</parent><child>m::k</child></joint><joint "
					"name='b' type='ball'><parent>m::k</parent><child>child::l</child></joint>"));
	const char *turn = "name: 'm' joint: 'j' position: 0.5", *put = "name: 'm' position {x: 1}";
	refuses(server, "/world/w/set_joint", turn, "ties bodies that move with joint 'j'");
	refuses(server, "/world/w/set_pose", put, "joint '");
	does(server, "/world/w/remove", "name: 'parent'");
	refuses(server, "/world/w/set_joint", turn, "'b' ties bodies that move with joint 'j'");
	refuses(server, "/world/w/set_pose", put, "joint 'b'");
	does(server, "/world/w/remove", "name: 'child'");
	does(server, "/world/w/set_joint", turn);
	does(server, "/world/w/set_pose", put);
	does(server, "/world/w/reset_model", "name: 'm'");
}

/* Both wheels of a gearbox turn with the arm that they are on; the reference body of their angles does not. */
Test(services, joints_that_gearboxes_couple_are_refused)
{
#define GEARED(reference)                                                                                              \
	LIB_MODEL("m", "0 0 0 0 0 0",                                                                                  \
		POINT("base", "0 0 0 0 0 0") POINT("arm", "1 0 0 0 0 0") POINT("low", "2 0 0 0 0 0")                   \
			POINT("high", "3 0 0 0 0 0") HINGE("shoulder", "base", "arm", "")                              \
				HINGE("one", "arm", "low", "") HINGE("two", "arm", "high",                             \
					"") "<joint name='gears' "                                                     \
					    "type='gearbox'><parent>low</parent><child>high</child><gearbox_ratio>2</" \
					    "gearbox_ratio><gearbox_reference_body>" reference                         \
					    "</gearbox_reference_body><axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 0 "   \
					    "1</xyz></axis2></joint>")
	static const char *const worlds[] = {FLOATING(GEARED("arm")), FLOATING(GEARED("base"))};
	for (int of_base = 0; of_base < 2; of_base++) {
		struct troupe_server *server = begin(worlds[of_base]);
		if (of_base)
			refuses(server, "/world/w/set_joint", "name: 'm' joint: 'shoulder' position: 1",
				"gearbox 'gears'");
		else
			does(server, "/world/w/set_joint", "name: 'm' joint: 'shoulder' position: 1");
		refuses(server, "/world/w/set_joint", "name: 'm' joint: 'one' position: 1", "gearbox 'gears'");
		lib_destroy(server);
	}
}

Test(services, kinematic_links_are_not_dragged_along)
{
	struct troupe_server *server = begin(FLOATING(LIB_MODEL("m", "0 0 0 0 0 0",
		POINT("l", "0 0 0 0 0 0") "<link name='k'><pose>1 0 0 0 0 "
					  "0</pose><kinematic>true</kinematic></link>" POINT("free", "0 1 0 0 0 0")
						  HINGE("j", "l", "free", "") HINGE("i", "free", "k", ""))));
	refuses(server, "/world/w/set_joint", "name: 'm' joint: 'j' position: 1",
		"ties bodies that move with joint 'j'");
}

/* A follower's position counts from the reference that its <mimic> gives. */
Test(services, followers_are_put_where_they_belong)
{
	struct troupe_server *server = begin(FLOATING(LIB_MODEL("m", "0 0 0 0 0 0",
		POINT("l", "0 0 0 0 0 0") POINT("a", "1 0 0 0 0 0") POINT("b", "0 1 0 0 0 0")
			HINGE("lead", "l", "a", "") HINGE("follow", "l", "b",
				"<mimic "
				"joint='lead'><multiplier>2</multiplier><offset>0.3</offset><reference>0.1</"
				"reference></mimic>"))));
	does(server, "/world/w/set_joint", "name: 'm' joint: 'lead' position: 0.5 velocity: 0");
	cr_assert(fabs(lib_joint_at(server, lib_joint(server, "m", "lead")).position[0] - 0.5) < 1e-3);
	cr_assert(fabs(lib_joint_at(server, lib_joint(server, "m", "follow")).position[0] - (2 * (0.5 - 0.1) + 0.3)) <
			  2e-3,
		"the follower is at %g", lib_joint_at(server, lib_joint(server, "m", "follow")).position[0]);
}

/* A joint's anchor moves with the base, in the file's pose and in any other. */
Test(services, joints_turn_about_their_anchors)
{
	struct troupe_server *server = begin(FLOATING(LIB_MODEL("m", "2 1 0 0 0 0.4",
		POINT("l", "0 0 0 0 0 1.1") POINT("k", "1 0 0 0 0 0")
			HINGE("j", "l", "k", "") "<allow_auto_disable>0</allow_auto_disable>")));
	/* the anchor is the origin of k: it stays there, and k turns in its place */
	does(server, "/world/w/set_pose", "name: 'm' position {x: -3 y: 2 z: 1} orientation {w: 0.6 z: 0.8}");
	struct troupe_pose before = link_at(server, "m", "k").pose;
	does(server, "/world/w/set_joint", "name: 'm' joint: 'j' position: 1 velocity: 0");
	struct troupe_pose after = link_at(server, "m", "k").pose;
	NEAR(after.x, before.x);
	NEAR(after.y, before.y);
	NEAR(after.z, before.z);
	cr_assert(fabs(after.qz - before.qz) > 0.01 || fabs(after.qw - before.qw) > 0.01, "it turns");
	lib_destroy(server);
}

/* --- others ------------------------------------------------------------------------------------------------------- */

Test(services, an_id_is_no_light)
{
	struct troupe_server *server = begin(
		FLOATING(LIB_MODEL("m", "0 0 0 0 0 0", POINT("l", "0 0 0 0 0 0")) "<light name='lamp' type='point'/>"));
	refuses(server, "/world/w/remove", "id: 99 name: 'lamp'", "99");
	does(server, "/world/w/remove", "name: 'lamp'");
	refuses(server, "/world/w/remove", "name: 'lamp'", "lamp");
}

Test(services, performers_have_three_edges)
{
	struct troupe_server *server = begin(FLOATING(LIB_MODEL("m", "0 0 0 0 0 0", POINT("l", "0 0 0 0 0 0"))));
	static const char *const sizes[] = {"x: -1", "y: -1", "z: -1"};
	char text[80];
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		(void)snprintf(text, sizeof text, "data: 'm' size {%s}", sizes[i]);
		refuses(server, "/world/w/level/set_performer", text, "expected 0 to");
	}
	does(server, "/world/w/level/set_performer", "data: 'm' size {x: 0 y: 1 z: 2}");
}

/* The epoch of the scene grows when a model becomes a performer, and when it ceases to be one. */
Test(services, each_change_of_the_scene_has_its_epoch)
{
	static const char *const changes[][2] = {{"/world/w/level/set_performer", "data: 'm'"},
		{"/world/w/level/set_performer", "data: 'm' remove: true"},
		{"/world/w/level/set_performer", "data: 'still'"}, {"/world/w/reset_model", "name: 'still'"},
		{"/world/w/remove", "name: 'm'"}, {"/world/w/control", "reset {all: true}"},
		{"/world/w/set_pose", "name: 'still' position {x: 3}"}};
	struct troupe_server *server = begin(FLOATING(LIB_MODEL("m", "0 0 0 0 0 0", POINT("l", "0 0 0 0 0 0"))
			LIB_MODEL("still", "9 0 0 0 0 0", "<static>1</static><link name='l'/>")));
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		const struct troupe_scene *scene = troupe_server_scene(server, 0);
		uint64_t before = scene->epoch;
		troupe_scene_release(scene);
		lib_text(server, 0, changes[i][0], changes[i][1]);
		lib_step(server, 1);
		scene = troupe_server_scene(server, 0);
		cr_assert_gt(scene->epoch, before, "%s %s", changes[i][0], changes[i][1]);
		troupe_scene_release(scene);
	}
}

/* A performer that was made larger loads no more levels than at first after its model was reset. */
Test(services, a_reset_model_has_its_size_again)
{
	struct troupe_server *server =
		begin(FLOATING(LIB_MODEL("p", "0 0 0 0 0 0", POINT("l", "0 0 0 0 0 0")) LIB_MODEL("c", "9 0 0 0 0 0",
			POINT("l", "0 0 0 0 0 0")) "<plugin name='gz::sim' filename='x'><performer "
						   "name='p'><ref>p</ref><geometry><box><size>1 1 "
						   "1</size></box></geometry></performer><level name='far'><pose>9 0 0 "
						   "0 0 0</pose><geometry><box><size>2 2 "
						   "2</size></box></geometry><ref>c</ref></level></plugin>"));
	struct troupe_model_state state;
	troupe_model c = lib_model(server, "c");
	lib_step(server, 1);
	cr_assert_eq(lib_at(server, c).secondary, 0, "the level of c is loaded");
	does(server, "/world/w/level/set_performer", "data: 'p' size {x: 30}");
	state = lib_at(server, c);
	cr_assert_eq(state.secondary, 1, "it is");
	does(server, "/world/w/reset_model", "name: 'p'");
	cr_assert_eq(lib_at(server, c).secondary, 0, "the level of c is still loaded");
}

/* Two worlds, of which one has a name that begins with the other's name, have topics of their own. */
Test(services, worlds_are_told_apart_by_their_whole_names)
{
#define ONE(name) "<world name='" name "'>" LIB_HEAD LIB_MODEL("m", "0 0 0 0 0 0", POINT("l", "0 0 0 0 0 0")) "</world>"
	static const char *const worlds[] = {LIB_SDF(ONE("a") ONE("ab")), LIB_SDF(ONE("ab") ONE("a"))};
	for (int i = 0; i < 2; i++) {
		struct troupe_server *server = begin(worlds[i]);
		lib_text(server, 0, "/world/ab/remove", "name: 'm'");
		lib_step(server, 1);
		cr_assert_str_empty(reply, "%s", reply);
		for (uint32_t w = 0; w < 2; w++) {
			troupe_model m = troupe_find_model(server, w, "m");
			bool is_ab = !strcmp(troupe_server_world_name(server, w), "ab");
			cr_assert_eq(lib_given(&m), !is_ab, "%s", troupe_server_world_name(server, w));
		}
		lib_destroy(server);
	}
}

/* --- collisions --------------------------------------------------------------------------------------------------- */

/* A cube with a plinth under it. */
#define ON_PLINTH(name, pose)                                                                                          \
	LIB_MODEL(name, pose,                                                                                          \
		"<link "                                                                                               \
		"name='l'><inertial><mass>1</mass><inertia><ixx>0.04</ixx><iyy>0.04</iyy><izz>0.04</izz></inertia></"  \
		"inertial><collision name='cube'><geometry><box><size>0.5 0.5 "                                        \
		"0.5</size></box></geometry></collision><collision name='plinth'><pose>0 0 -0.35 0 0 "                 \
		"0</pose><geometry><box><size>0.5 0.5 0.2</size></box></geometry></collision></link>")

static double height(const struct troupe_server *server, const char *model)
{
	return lib_at(server, lib_model(server, model)).pose.z;
}

#define AT_HEIGHT(server, model, expected)                                                                             \
	do {                                                                                                           \
		double height_ = height(server, model);                                                                \
		cr_assert(fabs(height_ - (expected)) < 2e-3, "%s is at %.9g, not %g", model, height_,                  \
			(double)(expected));                                                                           \
	} while (0)

/* A collision, a link and a model are disabled: they hold no model up, but do so when they are enabled again. */
Test(services, collisions_are_switched_off_and_on)
{
	struct troupe_server *server = begin(LIB_SDF(LIB_WORLD("w", ON_PLINTH("m", "0 0 0.45 0 0 0"))));
	lib_run(server, 1500); /* the model falls asleep */
	AT_HEIGHT(server, "m", 0.45);
	does(server, "/world/w/disable_collision", "name: 'm::l::plinth'");
	lib_run(server, 3000);
	AT_HEIGHT(server, "m", 0.25);
	does(server, "/world/w/enable_collision", "name: 'm::l::plinth' type: COLLISION");
	does(server, "/world/w/set_pose", "name: 'm' position {z: 0.6}"); /* out of the floor */
	lib_run(server, 4500);
	AT_HEIGHT(server, "m", 0.45);
	does(server, "/world/w/disable_collision", "name: 'm::l' type: LINK");
	lib_run(server, 4501 + 50);
	AT_HEIGHT(server, "m", 0.45 - 9.8 * 0.051 * 0.051 / 2);
	does(server, "/world/w/enable_collision/blocking", "name: 'm::l'");
	does(server, "/world/w/set_pose", "name: 'm' position {z: 0.6}");
	does(server, "/world/w/set_velocity", "name: 'm' linear {}");
	lib_run(server, 6000);
	AT_HEIGHT(server, "m", 0.45);
	does(server, "/world/w/disable_collision", "id: 2 type: MODEL");
	does(server, "/world/w/disable_collision", "name: 'm'"); /* a second time: no error */
	lib_run(server, 7000);
	cr_assert(height(server, "m") < -3);
}

/* Of two models on each other the lower one is disabled: it falls through the floor, and the upper one onto the floor.
 * A sleeping model wakes when its floor is disabled. */
Test(services, a_model_without_collisions_meets_nothing)
{
	struct troupe_server *server = begin(
		LIB_SDF(LIB_WORLD("w", LIB_MODEL("low", "0 0 0.25 0 0 0", LIB_BOX) LIB_MODEL("top", "0 0 0.75 0 0 0",
					       LIB_BOX) LIB_MODEL("still", "5 0 0.25 0 0 0", LIB_BOX))));
	lib_run(server, 1500);
	cr_assert(lib_at(server, lib_model(server, "top")).asleep && lib_at(server, lib_model(server, "still")).asleep);
	does(server, "/world/w/disable_collision", "name: 'low'");
	lib_run(server, 3000);
	AT_HEIGHT(server, "top", 0.25);
	AT_HEIGHT(server, "still", 0.25);
	cr_assert(height(server, "low") < -9);
	does(server, "/world/w/disable_collision", "name: 'ground'");
	lib_run(server, 3100);
	AT_HEIGHT(server, "top", 0.25 - 9.8 * 0.1 * 0.1 / 2);
	AT_HEIGHT(server, "still", 0.25 - 9.8 * 0.1 * 0.1 / 2);
	does(server, "/world/w/set_pose", "name: 'ground' position {x: 1}"); /* while it is disabled */
	does(server, "/world/w/enable_collision", "name: 'ground'");
	does(server, "/world/w/set_pose", "name: 'top' position {z: 0.6}");
	lib_run(server, 5000);
	AT_HEIGHT(server, "top", 0.25);
}

/* A reset of the world, or of the model, enables collisions again; a model in the place of a removed one has them
 * enabled. */
Test(services, a_reset_enables_collisions)
{
	struct troupe_server *server = begin(LIB_SDF(LIB_WORLD("w", LIB_MODEL("m", "0 0 0.25 0 0 0", LIB_BOX))));
	uint64_t first = troupe_server_hash(server);
	does(server, "/world/w/disable_collision", "name: 'ground'");
	does(server, "/world/w/disable_collision", "name: 'm'");
	does(server, "/world/w/reset_model", "name: 'm'");
	does(server, "/world/w/reset_model", "name: 'ground'");
	lib_step(server, 100);
	AT_HEIGHT(server, "m", 0.25);
	does(server, "/world/w/disable_collision", "name: 'm'");
	lib_step(server, 100);
	lib_text(server, 0, "/world/w/control", "reset {all: true} pause: true");
	lib_step(server, 1);
	cr_assert_eq(troupe_server_hash(server), first);
	lib_text(server, 0, "/world/w/control", "pause: false");
	lib_step(server, 100);
	AT_HEIGHT(server, "m", 0.25);
	lib_text(server, 0, "/world/w/create",
		"name: 'n' pose {position {x: 9 z: 0.25}} sdf: \"<sdf version='1.11'><model name='x'>" LIB_BOX
		"</model></sdf>\"");
	lib_step(server, 1);
	does(server, "/world/w/disable_collision", "name: 'n'");
	does(server, "/world/w/remove", "name: 'n'");
	lib_text(server, 0, "/world/w/create",
		"name: 'n' pose {position {x: 9 z: 0.25}} sdf: \"<sdf version='1.11'><model name='x'>" LIB_BOX
		"</model></sdf>\"");
	lib_step(server, 200);
	AT_HEIGHT(server, "n", 0.25);
}

Test(services, collisions_that_are_not_there)
{
	struct troupe_server *server = begin(LIB_SDF(LIB_WORLD(
		"w", LIB_MODEL("m", "0 0 0.25 0 0 0", LIB_BOX) LIB_MODEL("bare", "5 0 9 0 0 0", "<link name='l'/>"))));
	const struct {
		const char *text, *words;
	} cases[] = {{"name: 'nobody'", "the world has no model 'nobody'"},
		{"name: 'nobody::l'", "the world has no model 'nobody'"},
		{"type: MODEL", "neither a name nor an id: expected the name or the id of a model"},
		{"id: 77", "the world has no model with the id 77"},
		{"name: 'm::x'", "model 'm' has no link or collision 'x'"},
		{"name: 'm::l::x' type: COLLISION", "model 'm' has no collision 'l::x'"},
		{"name: 'm::l::c' type: LINK", "model 'm' has no link 'l::c'"},
		{"name: 'm' type: COLLISION", "'m': expected a scoped name, model::link or model::link::collision"},
		{"id: 2 type: LINK", "links and collisions have no ids"}, {"name: 'bare'", "'bare' has no collisions"},
		{"name: 'bare::l'", "'bare::l' has no collisions"},
		{"name: 'm' type: LIGHT", "type 1: it has no collisions: expected MODEL, LINK or COLLISION"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		refuses(server, "/world/w/disable_collision", cases[i].text, cases[i].words);
		refuses(server, "/world/w/enable_collision", cases[i].text, cases[i].words);
	}
}

/* --- wrenches that last ------------------------------------------------------------------------------------------- */

#define SPEED(server, model, link, axis) (link_at(server, model, link).twist.linear.axis)

/* A lasting wrench acts in each step until it is cleared, also after a pause and on a sleeping model; several on one
 * link add up. */
Test(services, a_persistent_wrench_lasts)
{
	struct troupe_server *server = begin(FLOATING(LIB_MODEL("m", "0 0 0 0 0 0", POINT("l", "0 0 0 0 0 0"))
			LIB_MODEL("other", "9 0 0 0 0 0", POINT("l", "0 0 0 0 0 0"))));
	lib_run(server, 1000);
	does(server, "/world/w/wrench/persistent", "entity {name: 'm::l' type: LINK} wrench {force {x: 10}}");
	lib_step(server, 99);
	NEAR(SPEED(server, "m", "l", x), 10.0 / 2 * 100 * DT);
	does(server, "/world/w/wrench/persistent/blocking", "entity {id: 1} wrench {force {x: 4 y: 2}}");
	lib_step(server, 99);
	NEAR(SPEED(server, "m", "l", x), 10.0 / 2 * 200 * DT + 4.0 / 2 * 100 * DT);
	does(server, "/world/w/wrench",
		"entity {name: 'm'} wrench {force {x: 1000}}"); /* for one step, besides these */
	NEAR(SPEED(server, "m", "l", x), 14.0 / 2 * 201 * DT - 4.0 / 2 * 100 * DT + 1000.0 / 2 * DT);
	double x = SPEED(server, "m", "l", x), y = SPEED(server, "m", "l", y);
	lib_text(server, 0, "/world/w/control", "pause: true");
	lib_step(server, 20);
	NEAR(SPEED(server, "m", "l", x), x);
	lib_text(server, 0, "/world/w/control", "pause: false");
	lib_step(server, 10);
	NEAR(SPEED(server, "m", "l", x), x + 14.0 / 2 * 10 * DT);
	NEAR(SPEED(server, "m", "l", y), y + 2.0 / 2 * 10 * DT);
	does(server, "/world/w/wrench/clear", "name: 'other'");
	lib_step(server, 9);
	NEAR(SPEED(server, "m", "l", x), x + 14.0 / 2 * 20 * DT);
	does(server, "/world/w/wrench/clear", "name: 'm::l' type: LINK");
	lib_step(server, 50);
	NEAR(SPEED(server, "m", "l", x), x + 14.0 / 2 * 20 * DT);
	NEAR(SPEED(server, "other", "l", x), 0);
}

/* A force beside the centre of mass keeps its direction in the world, and its point on the link: the link swings like
 * a pendulum whose angular acceleration is -F r cos(angle) / I. */
Test(services, the_point_of_a_persistent_wrench_turns_with_its_link)
{
	struct troupe_server *server = begin(FLOATING(LIB_MODEL("m", "0 0 0 0 0 0", POINT("l", "0 0 0 0 0 0"))));
	const double slice = DT / 100;
	double angle = 0, spin = 0;
	does(server, "/world/w/wrench/persistent", "entity {name: 'm'} wrench {force {x: 1} force_offset {y: 1}}");
	lib_step(server, 699);
	for (int i = 0; i < 70000; i++) {
		spin -= 1 / 0.1 * cos(angle) * slice;
		angle += spin * slice;
	}
	cr_assert(fabs(angle) > 2, "%g", angle);
	double found = link_at(server, "m", "l").twist.angular.z;
	cr_assert(fabs(found - spin) < 0.02, "%g rad/s: expected %g", found, spin);
}

/* A wrench ends with the removal of its model, and with a reset. */
Test(services, persistent_wrenches_end)
{
	struct troupe_server *server = begin(FLOATING(LIB_MODEL("m", "0 0 0 0 0 0", POINT("l", "0 0 0 0 0 0"))
			LIB_MODEL("n", "9 0 0 0 0 0", POINT("l", "0 0 0 0 0 0"))));
	const char *const point =
		"name: 'made' pose {position {y: 9}} sdf: \"<sdf version='1.11'><model name='x'>" POINT(
			"l", "0 0 0 0 0 0") "</model></sdf>\"";
	uint64_t first = troupe_server_hash(server);
	lib_text(server, 0, "/world/w/create", point);
	lib_step(server, 1);
	uint64_t without = troupe_server_hash(server);
	lib_text(server, 0, "/world/w/control", "pause: true");
	does(server, "/world/w/wrench/persistent", "entity {name: 'm'} wrench {force {x: 10}}");
	uint64_t with = troupe_server_hash(server);
	cr_assert_neq(with, without, "a wrench that is to come is state");
	does(server, "/world/w/wrench/persistent", "entity {name: 'n'} wrench {force {x: 10}}");
	does(server, "/world/w/wrench/persistent", "entity {name: 'made'} wrench {force {x: 10}}");
	cr_assert_neq(with, troupe_server_hash(server));
	does(server, "/world/w/reset_model", "name: 'm'");
	does(server, "/world/w/remove", "name: 'made'");
	lib_text(server, 0, "/world/w/create", point); /* another model, in the place of the first */
	lib_step(server, 2);
	lib_text(server, 0, "/world/w/control", "pause: false");
	lib_step(server, 100);
	NEAR(SPEED(server, "m", "l", x), 0);
	NEAR(SPEED(server, "made", "l", x), 0);
	cr_assert(SPEED(server, "n", "l", x) > 0.4);
	lib_text(server, 0, "/world/w/control", "pause: true reset {all: true}");
	lib_step(server, 1);
	cr_assert_eq(troupe_server_hash(server), first);
	lib_text(server, 0, "/world/w/control", "pause: false");
	lib_step(server, 100);
	NEAR(SPEED(server, "n", "l", x), 0);
}

Test(services, persistent_wrenches_that_are_refused)
{
	struct troupe_server *server = begin(FLOATING(LIB_MODEL("m", "0 0 0 0 0 0",
		POINT("l", "0 0 0 0 0 0")) "<model name='still'><static>true</static><link name='l'/></model>"));
	const struct {
		const char *service, *text, *words;
	} cases[] = {{"persistent", "entity {name: 'nobody'} wrench {force {x: 1}}", "the world has no model 'nobody'"},
		{"persistent", "wrench {force {x: 1}}", "neither a name nor an id"},
		{"persistent", "entity {name: 'm::x'} wrench {force {x: 1}}", "model 'm' has no link 'x'"},
		{"persistent", "entity {name: 'still'} wrench {force {x: 1}}",
			"model 'still' is static: expected one that can be pushed"},
		{"persistent", "entity {name: 'm' type: JOINT} wrench {force {x: 1}}", "expected MODEL or LINK"},
		{"persistent", "entity {name: 'm'} wrench {force {x: 1e9} force_offset {x: 2}}",
			"a torque of 2e+09 N m, with that of the force at its offset: expected at most 1e+09"},
		{"clear", "name: 'nobody'", "the world has no model 'nobody'"},
		{"clear", "type: MODEL", "neither a name nor an id"},
		{"clear", "name: 'm' type: LINK", "m: expected the scoped name of a link, model::link"}};
	char service[64];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		(void)snprintf(service, sizeof service, "/world/w/wrench/%s", cases[i].service);
		refuses(server, service, cases[i].text, cases[i].words);
	}
	for (int i = 0; i < 1 << 16; i++)
		lib_text(server, 0, "/world/w/wrench/persistent", "entity {id: 1} wrench {force {x: 1e-9}}");
	lib_step(server, 1);
	cr_assert_str_empty(reply, "%s", reply);
	refuses(server, "/world/w/wrench/persistent", "entity {id: 1} wrench {force {x: 1}}",
		"65536 wrenches last already: expected no more");
	does(server, "/world/w/wrench/clear", "id: 1");
	does(server, "/world/w/wrench/persistent", "entity {id: 1} wrench {force {x: 1}}");
}

/* --- lights ------------------------------------------------------------------------------------------------------- */

/* What they look like then: test_clients.c. */
Test(services, lights_that_are_refused)
{
	struct troupe_server *server = begin(
		LIB_SDF(LIB_WORLD("w", "<light name='sun' type='directional'/><model name='lamp'><link name='l'><light "
				       "name='bulb'/></link><link name='k'><light name='bulb'/></link></model>")));
	const struct {
		const char *text, *words;
	} cases[] = {{"intensity: 1", "neither a name nor an id: expected the name or the id of a light"},
		{"id: 7", "the world has no light with the id 7"},
		{"id: 268435457", "the world has no light with the id 268435457"},
		{"id: 268435456 name: 'moon'", "the light with the id 268435456 is 'sun', not 'moon'"},
		{"name: 'bulb' intensity: 2",
			"light 'bulb': 2 links carry one of this name: expected MODEL::LINK::LIGHT"},
		{"name: 'sun' parent_id: 3", "no link of this parent_id carries a light 'sun'"},
		{"name: 'bulb' parent_id: 3", "no link of this parent_id carries a light 'bulb'"},
		{"name: 'sun' id: 805306369", "no link carries a light 'sun'"},
		{"id: 805306369", "the id 805306369 of a light of a link: expected its name, too"},
		{"name: 'lamp::k::bulb' intensity: -1", "intensity -1: expected 0 to 1e+12"},
		{"name: 'a::b'", "light 'a::b': expected a name of at most 255 bytes without '::', to add a light"},
		{"name: 'sun' intensity: -1", "intensity -1: expected 0 to 1e+12"},
		{"name: 'sun' spot_inner_angle: 7", "spot_inner_angle 7: expected 0 to 6.2832"},
		{"name: 'sun' attenuation_linear: 2", "attenuation_linear 2: expected 0 to 1"},
		{"name: 'sun' diffuse {r: 2}", "diffuse 2: expected 0 to 1"},
		{"name: 'sun' specular {g: -1}", "specular -1: expected 0 to 1"},
		{"name: 'sun' direction {}", "direction 0 0 0: expected a direction"},
		{"name: 'sun' pose {position {x: 1e8}}", "expected coordinates within 1e+07 m"},
		{"name: 'sun' pose {orientation {w: 0}}", "orientation"}};
	uint64_t before = troupe_server_hash(server);
	lib_text(server, 0, "/world/w/control", "pause: true");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		refuses(server, "/world/w/light_config", cases[i].text, cases[i].words);
	cr_assert_eq(troupe_server_hash(server), before, "a refused light changes nothing");
	char text[64];
	for (int i = 0; i < 4096; i++) {
		(void)snprintf(text, sizeof text, "name: 'l%d'", i);
		lib_text(server, 0, "/world/w/light_config", text);
	}
	lib_step(server, 1);
	refuses(server, "/world/w/light_config", "name: 'more'",
		"4096 lights were added, or changed on links, already: expected no more");
	refuses(server, "/world/w/light_config", "name: 'lamp::k::bulb'", "4096 lights were added");
	does(server, "/world/w/remove", "name: 'l77'");
	does(server, "/world/w/light_config", "name: 'more'");
}

/* A light of a link may have the name, and allow_renaming holds for a light of a message, too. */
Test(services, lights_that_are_created)
{
	struct troupe_server *server =
		begin(LIB_SDF(LIB_WORLD("w", "<model name='lamp'><link name='l'><light name='bulb'/></link></model>")));
	lib_text(server, 0, "/world/w/control", "pause: true");
	does(server, "/world/w/create", "light {name: 'bulb' range: 3}");
	refuses(server, "/world/w/create", "light {name: 'bulb'}", "a light 'bulb' exists already");
	does(server, "/world/w/create", "light {name: 'bulb' range: 4} allow_renaming: true");
	refuses(server, "/world/w/create", "light {range: 4}", "expected a name of 1 to ");
	refuses(server, "/world/w/create", "light {name: 'a::b'}", "bytes without '::'");
	does(server, "/world/w/remove", "name: 'bulb' type: LIGHT");
	does(server, "/world/w/remove", "name: 'bulb_0' type: LIGHT");
	refuses(server, "/world/w/remove", "name: 'bulb' type: LIGHT", "the world has no light 'bulb'");
	does(server, "/world/w/light_config", "name: 'bulb' intensity: 2");
}

/* --- crowds ------------------------------------------------------------------------------------------------------- */

enum { CROWD = 60, CROWD_LEAST = 24 };

static void count_partners(void *ctx, const struct troupe_snapshot *snapshot)
{
	bool(*meet)[CROWD] = ctx;
	for (uint32_t i = 0; i < snapshot->contact_count; i++) {
		const struct troupe_contact *contact = &snapshot->contacts[i];
		uint32_t a = snapshot->scene->shapes[contact->shapes[0]].link,
			 b = snapshot->scene->shapes[contact->shapes[1]].link;
		if (a < CROWD && b < CROWD)
			meet[a][b] = meet[b][a] = true;
	}
}

/* Each of very many models in one place keeps contacts with CROWD_LEAST others, even if those others have enough. */
Test(services, each_of_a_crowd_keeps_contacts)
{
	static bool meet[CROWD][CROWD];
	char *world = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&world, &bytes);
	(void)fprintf(out, "<sdf version='1.11'><world name='w'><gravity>0 0 0</gravity>" LIB_HEAD);
	for (int i = 0; i < CROWD; i++)
		(void)fprintf(out,
			"<model name='m%d'><pose>%g %g %g 0 0 0</pose><link name='l'><collision "
			"name='c'><geometry><box><size>1 1 1</size></box></geometry></collision></link></model>",
			i, 0.011 * i, 0.007 * (i % 7), 0.013 * (i % 5));
	(void)fprintf(out, "</world></sdf>");
	(void)fclose(out);
	struct troupe_server_def def = lib_def(world, 1);
	def.observe = TROUPE_OBSERVE_CONTACTS;
	struct troupe_server *server = lib_create(&def);
	lib_step(server, 1);
	troupe_server_snapshot(server, count_partners, meet);
	for (int i = 0; i < CROWD; i++) {
		int partners = 0;
		for (int k = 0; k < CROWD; k++)
			partners += meet[i][k];
		cr_assert(partners >= CROWD_LEAST, "m%d keeps %d contacts", i, partners);
	}
	lib_destroy(server);
	free(world);
}

/* --- what has no body --------------------------------------------------------------------------------------------- */

/* Its links and shapes go with it, and come back to the same bits. The box is 2 m along the model's x axis. */
Test(services, a_static_model_is_hit_where_it_was_put)
{
	const double half = 0.1, radius = 0.25;
	struct troupe_server *server =
		begin(LIB_SDF("<world name='w'>" LIB_HEAD
			      "<model name='shelf'><static>true</static><pose>0 0 0 0 0 0.5</pose><link "
			      "name='l'><pose>2 0 0 0 0 0</pose><collision name='c'><geometry><box><size>1 1 "
			      "0.2</size></box></geometry></collision></link></model>" LIB_MODEL("ball", "5 2 2 0 0 0",
				      "<link "
				      "name='l'><inertial><mass>1</mass><inertia><ixx>0.025</ixx><iyy>0.025</"
				      "iyy><izz>0.025</izz></inertia></inertial><collision "
				      "name='c'><geometry><sphere><radius>0.25</radius></sphere></geometry></"
				      "collision></link>") "</world>"));
	const struct troupe_pose home = link_at(server, "shelf", "l").pose;
	NEAR(home.x, 2 * cos(0.5));
	NEAR(home.y, 2 * sin(0.5));
	does(server, "/world/w/set_pose",
		"name: 'shelf' position {x: 5 z: 1} orientation {w: 0.70710678118654757 z: 0.70710678118654757}");
	const struct troupe_pose moved = link_at(server, "shelf", "l").pose;
	NEAR(moved.x, 5);
	NEAR(moved.y, 2);
	NEAR(moved.z, 1);
	lib_step(server, 2000);
	AT_HEIGHT(server, "ball", 1 + half + radius);
	char text[200];
	(void)snprintf(text, sizeof text, "name: 'shelf' orientation {w: %.17g z: %.17g}", cos(0.25), sin(0.25));
	does(server, "/world/w/set_pose", text);
	const struct troupe_pose again = link_at(server, "shelf", "l").pose;
	NEAR(again.x, home.x);
	NEAR(again.y, home.y);
	lib_step(server, 1000);
	cr_assert_lt(height(server, "ball"), 0, "nothing holds the ball any more");
}

/* Also of a model that was created, and of a copy. */
Test(services, a_copy_is_where_the_message_says)
{
	struct troupe_server *server = begin(FLOATING(""));
	does(server, "/world/w/create",
		"sdf: \"<sdf version='1.9'><model name='m'><pose>1 0 0 0 0 0</pose><link name='l'/></model></sdf>\" "
		"name: 'one' pose {position {x: 2}}");
	does(server, "/world/w/create", "clone_name: 'one' name: 'two' pose {position {x: 5 z: 2}}");
	does(server, "/world/w/create", "clone_name: 'two' name: 'three'");
	static const struct {
		const char *model;
		double x, z;
	} expected[] = {{"one", 2, 0}, {"two", 5, 2}, {"three", 5, 2}};
	for (int reset = 0; reset < 2; reset++)
		for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
			if (reset) {
				char text[60];
				(void)snprintf(text, sizeof text, "name: '%s'", expected[i].model);
				does(server, "/world/w/reset_model", text);
			}
			struct troupe_pose pose = lib_at(server, lib_model(server, expected[i].model)).pose;
			NEAR(pose.x, expected[i].x);
			NEAR(pose.y, 0);
			NEAR(pose.z, expected[i].z);
		}
}

#define TURNED(name, pose)                                                                                             \
	LIB_MODEL(name, pose,                                                                                          \
		POINT("a", "0.1 0.2 0.3 0.4 0 0") "<model name='in'><pose>1 2 3 0 0.5 0.6</pose>" POINT(               \
			"b", "-0.2 0.1 0 0.7 0.8 0") "</model>")

/* The second model of the file, whose nested link is turned and shifted, and the copy of a copy: each link stands to
 * the others as in the first, wherever the copy is. */
Test(services, a_copy_of_the_file_has_all_frames)
{
	struct troupe_server *server = begin(FLOATING(TURNED("m", "9 9 9 0 0 1") TURNED("n", "1 0 0 0 0 0")));
	does(server, "/world/w/create", "clone_name: 'n' name: 'k' pose {position {x: 4 y: -5 z: 6}}");
	does(server, "/world/w/create", "clone_name: 'k' name: 'l' pose {position {x: -4 y: 5 z: -6}}");
	static const char *const links[] = {"a", "in::b"};
	for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
		struct troupe_pose of = link_at(server, "n", links[i]).pose, k = link_at(server, "k", links[i]).pose,
				   l = link_at(server, "l", links[i]).pose;
		NEAR(k.x, of.x + 3);
		NEAR(k.y, of.y - 5);
		NEAR(k.z, of.z + 6);
		NEAR(l.x, of.x - 5);
		NEAR(l.y, of.y + 5);
		NEAR(l.z, of.z - 6);
		NEAR(fabs(k.qw * of.qw + k.qx * of.qx + k.qy * of.qy + k.qz * of.qz), 1);
		NEAR(fabs(l.qw * of.qw + l.qx * of.qx + l.qy * of.qy + l.qz * of.qz), 1);
	}
}

Test(services, creations_that_are_refused)
{
	struct troupe_server *server =
		begin(FLOATING(TURNED("m", "0 0 0 0 0 0") "<actor name='walker'><script><trajectory id='0' "
							  "type='t'><waypoint><time>0</time><pose>0 0 0 0 0 0"
							  "</pose></waypoint></trajectory></script></actor><light "
							  "name='sun' type='directional'/>"));
	const struct {
		const char *text, *words;
	} cases[] = {{"name: 'x'", "none of sdf, sdf_filename and clone_name: expected one of them"},
		{"sdf: ''", "none of sdf, sdf_filename and clone_name: expected one of them"},
		{"sdf_filename: ''", "none of sdf, sdf_filename and clone_name: expected one of them"},
		{"clone_name: ''", "clone_name is empty: expected the name of a model"},
		{"clone_name: 'nobody'", "the world has no model 'nobody'"},
		{"clone_name: 'walker'", "'walker' is an actor: expected a model"},
		{"model {name: 'x'}", "model: only SDF can be created: expected sdf or sdf_filename"},
		{"clone_name: 'm' relative_to: 'm' spherical_coordinates {surface_model: EARTH_WGS84}",
			"both relative_to and spherical_coordinates: expected one of them"},
		{"light {name: 'x'} spherical_coordinates {surface_model: EARTH_WGS84}",
			"spherical_coordinates of a light: expected pose"},
		{"light {name: 'sun'}", "'sun' exists already: expected another name"},
		{"light {name: 'x'} name: 'sun'", "'sun' exists already: expected another name"},
		{"clone_name: 'm'", "model 'm' exists already"}};
	uint64_t before = troupe_server_hash(server);
	lib_text(server, 0, "/world/w/control", "pause: true");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		refuses(server, "/world/w/create", cases[i].text, cases[i].words);
	cr_assert_eq(troupe_server_hash(server), before, "a refused creation changes nothing");
	does(server, "/world/w/create", "light {name: 'x'}");
}

/* The name and the pose of the factory count before those of the light. */
Test(services, a_created_light_is_that_of_its_message)
{
	uint64_t hashes[2];
	for (int way = 0; way < 2; way++) {
		struct troupe_server *server = begin(FLOATING("<light name='sun' type='directional'/>"));
		lib_text(server, 0, "/world/w/control", "pause: true");
		does(server, "/world/w/light_config", "name: 'first' intensity: 3");
		does(server, "/world/w/create",
			way ? "light {name: 'x' type: SPOT intensity: 2 diffuse {r: 0.5 a: 1} pose {position {x: 9}}} "
			      "name: 'lamp' pose {position {x: 1 y: 2 z: 3}}"
			    : "light {name: 'lamp' type: SPOT intensity: 2 diffuse {r: 0.5 a: 1} "
			      "pose {position {x: 1 y: 2 z: 3}}}");
		hashes[way] = troupe_server_hash(server);
		refuses(server, "/world/w/create", "light {name: 'lamp'}", "'lamp' exists already");
		does(server, "/world/w/remove", "name: 'lamp' type: LIGHT");
		does(server, "/world/w/create", "light {name: 'lamp'}");
	}
	cr_assert_eq(hashes[0], hashes[1]);
}

Test(services, performers_that_are_refused)
{
	struct troupe_server *server = begin(FLOATING(TURNED("m", "0 0 0 0 0 0") TURNED("n", "5 0 0 0 0 0")));
	const struct {
		const char *topic, *text, *words;
	} cases[] = {{"/world/w/level/set_performer", "secondary: 1", "no data: expected the name of a model"},
		{"/world/w/level/set_performer", "data: 'nobody'", "the world has no model 'nobody'"},
		{"/world/w/level/set_performer", "data: 'n' secondary: 0", "secondary 0: expected 1 to "},
		{"/world/w/level/set_performer", "data: 'n' secondary: 100000", "secondary 100000: expected 1 to "}};
	uint64_t before = troupe_server_hash(server);
	lib_text(server, 0, "/world/w/control", "pause: true");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		refuses(server, cases[i].topic, cases[i].text, cases[i].words);
	cr_assert_eq(troupe_server_hash(server), before, "what is refused changes nothing");
}

Test(services, a_joint_without_an_axis_is_named)
{
	struct troupe_server *server = begin(FLOATING(LIB_MODEL("m", "0 0 0 0 0 0",
		POINT("a", "0 0 0 0 0 0") POINT("b",
			"1 0 0 0 0 0") "<joint name='j' type='fixed'><parent>a</parent><child>b</child></joint>")));
	refuses(server, "/world/w/set_joint", "name: 'm' joint: 'j' position: 1",
		"joint 'j' is of type fixed: expected one that has an axis");
	refuses(server, "/world/w/set_joint", "name: 'm' joint: 'm::j' position: 1",
		"joint 'm::j' is of type fixed: expected one that has an axis");
	refuses(server, "/world/w/set_joint", "name: 'm' joint: 'k' position: 1", "model 'm' has no joint 'k'");
}

/* The hash is that of the state: a light that shines as before gives the same one again. */
Test(services, lights_that_were_changed_are_in_the_hash)
{
	static const char *const changes[] = {
		"intensity: 5", "intensity: 6", "diffuse {r: 0.5}", "pose {position {x: 3}}"};
	struct troupe_server *server =
		begin(FLOATING("<light name='sun' type='point'/><light name='moon' type='point'/>"));
	uint64_t hashes[2 * (sizeof changes / sizeof *changes) + 1] = {0};
	size_t count = 0;
	lib_text(server, 0, "/world/w/control", "pause: true");
	lib_step(server, 1);
	hashes[count++] = troupe_server_hash(server);
	for (size_t i = 0; i < 2 * (sizeof changes / sizeof *changes); i++) {
		char text[80];
		(void)snprintf(text, sizeof text, "name: '%s' %s", i % 2 ? "sun" : "moon", changes[i / 2]);
		does(server, "/world/w/light_config", text);
		uint64_t hash = troupe_server_hash(server);
		for (size_t k = 0; k < count; k++)
			cr_assert_neq(hash, hashes[k], "%s: the hash of %zu changes", text, k);
		hashes[count++] = hash;
		does(server, "/world/w/light_config", text);
		cr_assert_eq(troupe_server_hash(server), hash, "%s: the same again", text);
	}
}

/* Lights of links, of the world, added ones and removed ones: a saved state has them as they are. */
Test(services, lights_outlive_a_saved_state)
{
	static const char *const changes[][2] = {{"light_config", "name: 'm::k::bulb' intensity: 5"},
		{"light_config", "name: 'moon' intensity: 6"}, {"light_config", "name: 'more' intensity: 7"},
		{"remove", "name: 'sun' type: LIGHT"}, {"light_config", "name: 'm::l::b' diffuse {r: 0.25}"}};
	struct troupe_server *server = begin(FLOATING(
		"<light name='sun' type='point'/><light name='moon' type='point'/>" LIB_MODEL("m", "0 0 0 0 0 0",
			"<link name='l'><light name='a' type='point'/><light name='b' type='point'/></link><link "
			"name='k'><light name='bulb' type='point'/></link><joint name='j' "
			"type='fixed'><parent>l</parent><child>k</child></joint>")));
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		char topic[40];
		void *bytes = NULL;
		size_t count = 0;
		(void)snprintf(topic, sizeof topic, "/world/w/%s", changes[i][0]);
		does(server, topic, changes[i][1]);
		must(troupe_server_pack(server, &bytes, &count, &lib_error));
		struct troupe_server_def def = troupe_server_def_default();
		def.resume_bytes = bytes;
		def.resume_count = count;
		def.on_reply = keep;
		struct troupe_server *again = lib_create(&def);
		cr_assert_eq(troupe_server_hash(again), troupe_server_hash(server), "%s", changes[i][1]);
		/* the next change finds the light in both */
		does(again, "/world/w/light_config", "name: 'm::l::b' intensity: 9");
		does(again, "/world/w/light_config", "name: 'm::l::b' intensity: 1");
		lib_destroy(again);
		free(bytes);
	}
	lib_destroy(server);
}

/* --- robot clients ------------------------------------------------------------------------------------------------ */

#define BY(client, text) "header {data {key: 'client' value: '" client "'}} " text
#define OWNED(name)                                                                                                    \
	"<model name='" name "'><link name='l'><collision name='c'><geometry><sphere><radius>0.1</radius></sphere>"    \
	"</geometry></collision></link>" POINT("k", "1 0 0 0 0 0") HINGE("j", "l", "k", "") "</model>"
#define CREATED(name) "sdf: \"<sdf version='1.9'>" OWNED(name) "</sdf>\""

/* Each service that is about a model, with what it is given after the name; what acts for a client reaches the models
 * that it has created, and those alone: not another client's, not those of the file. The run's own programs reach all.
 */
Test(services, what_acts_for_a_robot_client_reaches_its_own_models)
{
	enum { CLIENTS = 3 };
	static const struct {
		const char *topic, *before, *after;
	} rows[] = {{"set_pose", "name: 'own' ", "position {x: 4}"},
		{"set_pose_vector", "pose {name: 'own' ", "position {x: 5}}"},
		{"set_velocity", "name: 'own' ", "linear {x: 1}"},
		{"set_joint", "name: 'own' ", "joint: 'j' position: 0.5"}, {"reset_model", "name: 'own' ", ""},
		{"disable_collision", "name: 'own::l' ", ""},
		{"wrench", "entity {name: 'own::k' ", "type: LINK} wrench {force {x: 1}}"},
		{"wrench/persistent", "entity {name: 'own' ", "type: MODEL} wrench {force {x: 1}}"},
		{"wrench/clear", "name: 'own' ", "type: MODEL"}, {"level/set_performer", "data: 'own' ", ""},
		{"remove", "name: 'own' ", "type: MODEL"}};
	static const char *const clients[CLIENTS] = {"ann", "bob", "new"}, *const models[CLIENTS] = {
										   "own", "of_bob", "of_file"};
	char topic[80], text[300], said[100];
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct troupe_server *server = begin(FLOATING(OWNED("of_file")));
		(void)snprintf(topic, sizeof topic, "/world/w/%s", rows[i].topic);
		int prefix = (int)(strstr(rows[i].before, "own") - rows[i].before);
		const char *rest = rows[i].before + prefix + 3;
		does(server, "/world/w/create", BY("ann", CREATED("own")));
		does(server, "/world/w/create", BY("bob", CREATED("of_bob")));
		for (size_t n = 0; n < CLIENTS * CLIENTS; n++) {
			size_t c = n / CLIENTS, m = n % CLIENTS;
			(void)snprintf(
				said, sizeof said, "model '%s' was not created by client '%s'", models[m], clients[c]);
			(void)snprintf(text, sizeof text, "header {data {key: 'client' value: '%s'}} %.*s%s%s%s",
				clients[c], prefix, rows[i].before, models[m], rest, rows[i].after);
			if (c != m)
				refuses(server, topic, text, said);
		}
		if (i == 1) /* the second is at fault, and so the first one stays where it is */
			refuses(server, topic,
				BY("ann", "pose {name: 'own' position {x: 7}} pose {name: 'of_bob' position {x: 8}}"),
				"model 'of_bob' was not created by client 'ann'");
		(void)snprintf(text, sizeof text, BY("ann", "%s%s"), rows[i].before, rows[i].after);
		does(server, topic, text);
		lib_destroy(server);
	}
}
