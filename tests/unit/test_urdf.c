/* Robots in URDF: the model that comes out is compared with what follows from the numbers of the file: places from the
 * product of the origins, a lumped inertia from the theorem of Huygens and Steiner; names are those of libsdformat. */
#include "sdf_help.h"
#include "sdf/sdf.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(urdf, .fini = sdf_help_end, .timeout = 60);

#define R(inside) "<robot name='r'>" inside "</robot>"
#define MASS(m, x)                                                                                                     \
	"<inertial><origin xyz='" x "'/><mass value='" m "'/><inertia ixx='0.1' iyy='0.2' izz='0.15'/></inertial>"
#define L(name, inside) "<link name='" name "'>" inside "</link>\n"
#define BODY(name) L(name, MASS("1", "0 0 0"))
#define J(name, type, parent, child, inside)                                                                           \
	"<joint name='" name "' type='" type "'><parent link='" parent "'/><child link='" child "'/>" inside           \
	"</joint>\n"
#define LIMIT "<limit lower='-1' upper='2' effort='30' velocity='4'/>"
#define BALL(x) "<collision><origin xyz='" x "'/><geometry><sphere radius='0.1'/></geometry></collision>"

static struct sdf *load(const char *text, troupe_status *ret_status)
{
	struct troupe_error error = {0};
	struct sdf *sdf = NULL;
	*ret_status = sdf_load_text(text, strlen(text), "t.urdf", NULL, &sdf, &error);
	return sdf_help_keep(sdf);
}

static struct sdf *good(const char *text)
{
	troupe_status status;
	struct sdf *sdf = load(text, &status);
	cr_assert_eq(status, TROUPE_OK, "%s", sdf->messages.count ? sdf->messages.at[0].text : "");
	cr_assert_eq(sdf->worlds.count, 1);
	return sdf;
}

static bool says(const struct sdf *sdf, const char *part)
{
	for (uint32_t i = 0; i < sdf->messages.count; i++)
		if (strstr(sdf->messages.at[i].text, part))
			return true;
	return false;
}

static void bad(const char *text, const char *part)
{
	troupe_status status;
	struct sdf *sdf = load(text, &status);
	cr_assert_neq(status, TROUPE_OK, "accepted: %s", text);
	cr_assert(says(sdf, part), "'%s' instead of '%s'", sdf->messages.at[0].text, part);
	cr_assert_eq(strncmp(sdf->messages.at[0].text, "t.urdf:", 7), 0, "%s", sdf->messages.at[0].text);
}

static void warns(const char *text, const char *part)
{
	struct sdf *sdf = good(text);
	cr_assert(says(sdf, part), "'%s' is not said", part);
}

static const struct sdf_link *link_of(const struct sdf *sdf, const char *name)
{
	const struct sdf_world *world = &sdf->worlds.at[0];
	for (uint32_t i = 0; i < world->links.count; i++)
		if (!strcmp(world->links.at[i].name, name))
			return &world->links.at[i];
	cr_assert_fail("no link %s", name);
	return NULL;
}

static struct pose link_pose(const struct sdf *sdf, const char *name)
{
	const struct sdf_world *world = &sdf->worlds.at[0];
	return sdf_link_in_world(world, (uint32_t)(link_of(sdf, name) - world->links.at));
}

static const struct sdf_joint *joint_of(const struct sdf *sdf, const char *name)
{
	const struct sdf_world *world = &sdf->worlds.at[0];
	for (uint32_t i = 0; i < world->joints.count; i++)
		if (!strcmp(world->joints.at[i].name, name))
			return &world->joints.at[i];
	cr_assert_fail("no joint %s", name);
	return NULL;
}

#define near(a, b) cr_assert(fabs((a) - (b)) < 1e-9, "%s is %.12g, not %.12g", #a, (double)(a), (double)(b))

static void near3(struct vec3 a, struct vec3 b)
{
	cr_assert(vec3_length(vec3_sub(a, b)) < 1e-9, "%g %g %g is not %g %g %g", a.x, a.y, a.z, b.x, b.y, b.z);
}

Test(urdf, a_link_is_a_link)
{
	struct sdf *sdf = good(R(L("a", MASS("2", "0.1 0.2 0.3") BALL("0 0 1") BALL("0 1 0"))));
	const struct sdf_world *world = &sdf->worlds.at[0];
	cr_assert_str_eq(world->models.at[0].name, "r");
	const struct sdf_link *a = link_of(sdf, "a");
	near(a->inertial->mass, 2);
	near3(a->inertial->in_link.p, ((struct vec3){0.1, 0.2, 0.3}));
	near(a->inertial->iyy, 0.2);
	cr_assert_eq(world->collisions.count, 2);
	cr_assert_str_eq(world->collisions.at[0].name, "a_collision");
	cr_assert_str_eq(world->collisions.at[1].name, "a_collision_1");
	near3(sdf_collision_in_world(world, 1).p, ((struct vec3){0, 1, 0}));
}

/* A lumped link and a joint of one name: the name is that of the joint, and libsdformat has no frame for the link. A
 * joint that is lumped itself gives way to a link. */
Test(urdf, a_lumped_link_may_have_the_name_of_a_joint)
{
	struct sdf *sdf = good(
		R(BODY("base") BODY("HAA") BODY("hip") J("base_HAA", "fixed", "base", "HAA", "<origin xyz='0 0 1'/>")
				J("HAA", "revolute", "HAA", "hip", LIMIT "<origin xyz='1 0 0'/><axis xyz='0 0 1'/>")));
	const struct sdf_world *world = &sdf->worlds.at[0];
	cr_assert_eq(sdf->warning_count, 0);
	cr_assert(world->links.count == 2 && world->joints.count == 1);
	cr_assert_str_eq(world->joints.at[0].name, "HAA");
	cr_assert_str_eq(world->joints.at[0].parent_name, "base");
	cr_assert_eq(world->frames.count, 1);
	cr_assert_str_eq(world->frames.at[0].name, "base_HAA");
	near3(link_pose(sdf, "hip").p, ((struct vec3){1, 0, 1}));
	/* both are lumped: one frame */
	sdf = good(R(BODY("base") BODY("A") BODY("B") J("x", "fixed", "base", "A", "") J("A", "fixed", "A", "B", "")));
	cr_assert_eq(sdf->worlds.at[0].frames.count, 3);
}

/* The values of extensions may be attributes, as libsdformat has it. */
Test(urdf, extensions_with_attributes)
{
	struct sdf *sdf = good(R(
		L("a", MASS("1", "0 0 0") "<collision><geometry><sphere "
					  "radius='1'/></geometry></collision><visual><geometry><sphere "
					  "radius='1'/></geometry></visual>") "<gazebo reference='a'><mu1 "
									      "value='0.3'/><kp value='100'/><material "
									      "value='Gazebo/Red'/><selfCollide "
									      "value='true'/><turnGravityOff "
									      "value='1'/></gazebo><gazebo><static "
									      "value='true'/></gazebo>"));
	const struct sdf_world *world = &sdf->worlds.at[0];
	cr_assert_eq(world->collisions.at[0].surface->mu, 0.3);
	cr_assert_eq(world->collisions.at[0].surface->kp, 100);
	cr_assert(world->visuals.at[0].material && world->visuals.at[0].material->diffuse.r == 1);
	cr_assert(world->links.at[0].self_collide && !world->links.at[0].gravity && world->models.at[0].is_static);
}

/* The inertia of an <inertial> with a turned origin is R I R^T in the axes of the link. */
Test(urdf, a_turned_inertia_is_turned)
{
	struct sdf *sdf = good(R(L("a", "<inertial><origin rpy='0 0 1.5707963267948966'/><mass value='1'/><inertia "
					"ixx='0.1' iyy='0.2' izz='0.15'/></inertial>")));
	near(link_of(sdf, "a")->inertial->ixx, 0.2);
	near(link_of(sdf, "a")->inertial->iyy, 0.1);
	near(link_of(sdf, "a")->inertial->izz, 0.15);
}

Test(urdf, places_are_products_of_origins)
{
	struct sdf *sdf = good(R(BODY("a") BODY("b") BODY("c") J(
		"ab", "revolute", "a", "b", LIMIT "<origin xyz='1 2 3' rpy='0.1 0.2 0.3'/><axis xyz='0 2 0'/>")
			J("bc", "continuous", "b", "c", "<origin xyz='0.5 0 0' rpy='0 0.7 0'/>")));
	struct pose ab = {{1, 2, 3}, quat_from_rpy(0.1, 0.2, 0.3)}, bc = {{0.5, 0, 0}, quat_from_rpy(0, 0.7, 0)};
	struct pose c = pose_mul(ab, bc);
	const struct sdf_joint *first = joint_of(sdf, "ab"), *second = joint_of(sdf, "bc");
	near3(link_pose(sdf, "b").p, ab.p);
	near3(link_pose(sdf, "c").p, c.p);
	near3(first->axis[0].xyz_world, quat_rotate(ab.q, (struct vec3){0, 1, 0}));
	near3(second->axis[0].xyz_world, quat_rotate(c.q, (struct vec3){1, 0, 0})); /* the default axis */
	near(first->axis[0].lower, -1);
	near(first->axis[0].upper, 2);
	near(first->axis[0].effort, 30);
	near(first->axis[0].velocity, 4);
	cr_assert(isinf(second->axis[0].lower) && isinf(second->axis[0].upper));
}

/* Two links that a fixed joint lumps into a third: mass, centre and moments of the three together. */
Test(urdf, fixed_joints_lump_links)
{
	struct sdf *sdf = good(R(L("a", MASS("2", "0.1 0 0") BALL("0 0 0")) L("b", MASS("1", "0 0 0.2") BALL("0 0 0.1"))
			L("c", MASS("3", "0 0 0") BALL("0 0 0")) L("d", MASS("1", "0 0 0")) J("ab", "fixed", "a", "b",
				"<origin xyz='0 1 0'/>") J("bc", "fixed", "b", "c", "<origin xyz='0 0 0.5'/>")
				J("cd", "revolute", "c", "d", LIMIT "<origin xyz='1 0 0'/>")));
	const struct sdf_world *world = &sdf->worlds.at[0];
	const struct vec3 at[] = {{0.1, 0, 0}, {0, 1, 0.2}, {0, 1, 0.5}};
	const double mass[] = {2, 1, 3}, own[] = {0.1, 0.2, 0.15};
	struct vec3 centre = {0, 0, 0};
	double total = 0, ixx = 0, iyz = 0;
	for (int i = 0; i < 3; i++) {
		centre = vec3_add(centre, vec3_scale(at[i], mass[i]));
		total += mass[i];
	}
	centre = vec3_scale(centre, 1 / total);
	for (int i = 0; i < 3; i++) {
		struct vec3 d = vec3_sub(at[i], centre);
		ixx += own[0] + mass[i] * (d.y * d.y + d.z * d.z);
		iyz -= mass[i] * d.y * d.z;
	}
	const struct sdf_link *a = link_of(sdf, "a");
	cr_assert_eq(world->links.count, 2);
	near(a->inertial->mass, total);
	near3(a->inertial->in_link.p, centre);
	near(a->inertial->ixx, ixx);
	near(a->inertial->iyz, iyz);
	cr_assert_eq(world->collisions.count, 3);
	cr_assert_str_eq(world->collisions.at[1].name, "a_fixed_joint_lump__b_collision_1");
	cr_assert_str_eq(world->collisions.at[2].name, "a_fixed_joint_lump__c_collision_2");
	near3(sdf_collision_in_world(world, 1).p, ((struct vec3){0, 1, 0.1}));
	near3(link_pose(sdf, "d").p, ((struct vec3){1, 1, 0.5}));
	cr_assert_eq(&world->links.at[joint_of(sdf, "cd")->parent], a);
}

/* The names of libsdformat for shapes with names, and for links whose names begin with the name of the body. */
#define NAMED(name) "<collision name='" name "'><geometry><sphere radius='0.1'/></geometry></collision>"
Test(urdf, shapes_with_names_keep_them)
{
	struct sdf *sdf = good(R(L("base", MASS("1", "0 0 0") NAMED("box") NAMED("base_box") BALL("0 0 0")) L(
		"base_plate", MASS("1", "0 0 0") BALL("0 0 0")) L("arm", MASS("1", "0 0 0") NAMED("hand") NAMED(""))
			J("j", "fixed", "base", "base_plate", "") J("k", "fixed", "base_plate", "arm", "")));
	static const char *const names[] = {"base_fixed_joint_lump__box_collision", "base_box_collision_1",
		"base_collision_2", "base_plate_collision_3", "base_fixed_joint_lump__hand_collision_4",
		"base_fixed_joint_lump__arm_collision_5"};
	cr_assert_eq(sdf->worlds.at[0].collisions.count, ARRAY_LEN(names));
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		cr_assert_str_eq(sdf->worlds.at[0].collisions.at[i].name, names[i]);
}

/* In URDF joints and links may have the same names. */
Test(urdf, a_lumped_joint_may_have_the_name_of_a_link)
{
	struct sdf *sdf = good(R(BODY("a") BODY("b") BODY("c") J("b", "fixed", "a", "b", "<origin xyz='0 0 1'/>")
			J("a", "fixed", "b", "c", "")));
	near(link_of(sdf, "a")->inertial->mass, 3);
}

Test(urdf, the_last_of_several_extensions_counts)
{
	struct sdf *sdf =
		good(R(L("a", MASS("1", "0 0 0") BALL("0 0 0")) "<gazebo "
								"reference='a'><mu1>0.3</mu1><selfCollide>0</"
								"selfCollide><gravity>0</gravity></gazebo><gazebo "
								"reference='a'><mu1>0.4</mu1><selfCollide>1</"
								"selfCollide><gravity>1</gravity></gazebo>"));
	near(sdf->worlds.at[0].collisions.at[0].surface->mu, 0.4);
	cr_assert(link_of(sdf, "a")->self_collide);
	cr_assert_not(link_of(sdf, "a")->gravity);
}

Test(urdf, a_robot_has_an_origin)
{
	struct sdf *sdf = good(R("<origin xyz='1 2 3' rpy='0 0 1'/>" BODY("a")));
	near3(sdf->worlds.at[0].models.at[0].in_world.p, ((struct vec3){1, 2, 3}));
	cr_assert_eq(sdf->messages.count, 0);
	sdf = good(R("<origin xyz='1 2 3'/><gazebo><pose>4 5 6 0 0 0</pose></gazebo>" BODY("a")));
	near3(sdf->worlds.at[0].models.at[0].in_world.p, ((struct vec3){4, 5, 6}));
}

/* The first definition of a material counts, at the top or in a link; colours are divided by 0.8. */
#define LOOK(name, inside)                                                                                             \
	"<visual><geometry><sphere radius='0.1'/></geometry><material name='" name "'>" inside "</material></visual>"
#define RGBA(c) "<color rgba='" c "'/>"
Test(urdf, materials_have_names)
{
	struct sdf *sdf = good(R(L("a",
		MASS("1", "0 0 0") LOOK("one", RGBA("0.4 0 0 1")) LOOK("one", RGBA("0 1 0 1"))
			LOOK("two", RGBA("0 1 0 1")) LOOK("one", "")
				LOOK("", RGBA("0 0 1 0.5"))) "<material name='two'>" RGBA("0.2 0 0 1") "</material>"));
	struct text out = {0};
	sdf_print(sdf, &out);
	static const char *const diffuse[] = {"0.5 0 0 1", "0.5 0 0 1", "0.25 0 0 1", "0.5 0 0 1", "0 0 1 0.5"};
	const char *at = out.at;
	for (size_t i = 0; i < ARRAY_LEN(diffuse); i++) {
		at = strstr(at, "<diffuse>");
		cr_assert(at);
		at += strlen("<diffuse>");
		cr_assert_eq(strncmp(at, diffuse[i], strlen(diffuse[i])), 0, "%zu: %.20s", i, at);
	}
	text_fini(&out);
}

Test(urdf, limits_may_stand_the_wrong_way_round)
{
	struct sdf *sdf = good(R(BODY("a") BODY("b")
			J("j", "revolute", "a", "b", "<limit lower='2' upper='-1' effort='1' velocity='1'/>")));
	near(joint_of(sdf, "j")->axis[0].lower, -1);
	near(joint_of(sdf, "j")->axis[0].upper, 2);
	cr_assert(says(sdf, "exchanged"));
}

/* A base without mass gets the mass of what is fixed to it. */
Test(urdf, a_massless_base_is_lumped_into)
{
	struct sdf *sdf = good(R(L("foot", "") BODY("a") J("j", "fixed", "foot", "a", "<origin xyz='0 0 1'/>")));
	near(link_of(sdf, "foot")->inertial->mass, 1);
	near3(link_of(sdf, "foot")->inertial->in_link.p, ((struct vec3){0, 0, 1}));
}

Test(urdf, a_fixed_joint_may_be_kept)
{
	static const char *const flags[] = {"disableFixedJointLumping", "preserveFixedJoint"};
	for (int i = 0; i < 2; i++) {
		char text[2000];
		snprintf(text, sizeof text, R("%s<gazebo reference='j'><%s>true</%s></gazebo>"),
			BODY("a") BODY("b") J("j", "fixed", "a", "b", ""), flags[i], flags[i]);
		struct sdf *sdf = good(text);
		cr_assert_eq(sdf->worlds.at[0].links.count, 2);
		cr_assert_eq(joint_of(sdf, "j")->kind, SDF_FIXED);
	}
}

Test(urdf, the_link_world_is_the_world)
{
	struct sdf *sdf = good(R(L("world", "") BODY("a") J("j", "fixed", "world", "a", "<origin xyz='0 0 2'/>")));
	cr_assert_eq(sdf->worlds.at[0].links.count, 1);
	cr_assert_eq(joint_of(sdf, "j")->parent, SDF_NONE);
	near3(link_pose(sdf, "a").p, ((struct vec3){0, 0, 2}));
}

/* Children stand in the order of the names of their joints, as in Gazebo. */
Test(urdf, the_order_is_that_of_joints_names)
{
	struct sdf *sdf = good(R(BODY("root") BODY("x") BODY("y") BODY("z") J("b", "continuous", "root", "x", "")
			J("a", "continuous", "root", "y", "") J("c", "continuous", "y", "z", "")));
	static const char *const order[] = {"root", "y", "z", "x"};
	for (uint32_t i = 0; i < 4; i++)
		cr_assert_str_eq(sdf->worlds.at[0].links.at[i].name, order[i]);
}

Test(urdf, mimic_is_kept)
{
	struct sdf *sdf = good(R(BODY("a") BODY("b") BODY("c") J("j", "revolute", "a", "b", LIMIT)
			J("k", "revolute", "a", "c", LIMIT "<mimic joint='j' multiplier='-2' offset='0.5'/>")));
	struct text out = {0};
	sdf_print(sdf, &out);
	cr_assert(strstr(out.at, "<mimic joint=\"j\">"));
	cr_assert(strstr(out.at, "<multiplier>-2</multiplier>"));
	cr_assert(strstr(out.at, "<offset>0.5</offset>"));
	text_fini(&out);
}

Test(urdf, gazebo_says_more)
{
	struct sdf *sdf = good(R(BODY("a") L("b", MASS("1", "0 0 0") BALL("0 0 0")) J("j", "fixed", "a", "b",
		"<origin xyz='0 0 1'/>") "<gazebo "
					 "reference='b'><mu1>0.3</mu1><mu2>0.4</mu2><kp>1e5</kp><kd>7</"
					 "kd><minDepth>0.002</minDepth><selfCollide>true</selfCollide><gravity>false</"
					 "gravity><sensor name='s' type='imu'><update_rate>20</update_rate><pose>0 1 0 "
					 "0 0 "
					 "0</pose><topic>up</topic></sensor></gazebo><gazebo><plugin filename='f' "
					 "name='n'><x>1</x></plugin></gazebo>"));
	const struct sdf_world *world = &sdf->worlds.at[0];
	const struct sdf_surface *surface = world->collisions.at[0].surface;
	near(surface->mu, 0.3);
	near(surface->mu2, 0.4);
	near(surface->kp, 1e5);
	near(surface->kd, 7);
	near(surface->min_depth, 0.002);
	cr_assert_not(link_of(sdf, "a")->gravity);
	cr_assert(link_of(sdf, "a")->self_collide);
	near3(world->sensors.at[0].in_world.p, ((struct vec3){0, 1, 1}));
	near(world->sensors.at[0].update_rate, 20); /* what stands beside the pose is kept */
	cr_assert_str_eq(sdf_sensor_topic(&world->sensors.at[0]), "up");
	cr_assert_eq(world->plugins.count, 1);
}

/* All that can be printed as SDF loads to the same again. */
Test(urdf, robots_print_as_sdf)
{
	static const char *const robots[] = {"arm", "turtle", "gripper", "quadruped", "humanoid"};
	const char *source = getenv("SOURCE_DIR");
	for (size_t i = 0; i < ARRAY_LEN(robots); i++) {
		char path[1000];
		struct sdf *sdf, *again;
		struct troupe_error error = {0};
		struct text flat = {0}, second = {0}, out = {0};
		snprintf(path, sizeof path, "%s/tests/data/urdf/%s.urdf", source ? source : ".", robots[i]);
		cr_assert_eq(sdf_load_file(path, NULL, &sdf, &error), TROUPE_OK, "%s", error.text);
		sdf_print_flat(sdf, &flat);
		sdf_print(sdf, &out);
		cr_assert_eq(sdf_load_text(out.at, out.count, "again.sdf", NULL, &again, &error), TROUPE_OK, "%s",
			error.text);
		sdf_print_flat(again, &second);
		cr_assert_str_eq(second.at, flat.at);
		text_fini(&flat);
		text_fini(&second);
		text_fini(&out);
		sdf_free(sdf);
		sdf_free(again);
	}
}

Test(urdf, a_long_chain)
{
	struct text text = {0};
	enum { LINKS = 20000 };
	text_add(&text, "<robot name='r'>%s", BODY("l0"));
	for (int i = 1; i < LINKS; i++)
		text_add(&text,
			"<link name='l%d'><inertial><mass value='1'/><inertia ixx='1' iyy='1' "
			"izz='1'/></inertial></link><joint name='j%d' type='fixed'><parent link='l%d'/><child "
			"link='l%d'/></joint>",
			i, i, i - 1, i);
	text_add(&text, "</robot>");
	struct sdf *sdf = good(text.at);
	near(link_of(sdf, "l0")->inertial->mass, LINKS);
	text_fini(&text);
}

Test(urdf, what_is_wrong_has_a_line)
{
	bad(R(""), "t.urdf:1: <robot> has no <link>");
	bad(R("\n" BODY("a") BODY("b")),
		"t.urdf:3: the links \"a\" of line 2 and \"b\" are both the child of no joint");
	bad(R(BODY("a") BODY("a")), "t.urdf:2: a second link \"a\"");
	bad(R(BODY("a") BODY("b") J("j", "continuous", "a", "b", "") J("j", "continuous", "b", "a", "")),
		"a second joint");
	bad(R(BODY("a") BODY("b") J("j", "continuous", "a", "b", "") J("k", "continuous", "b", "a", "")),
		"each link is the child of a joint");
	bad(R(BODY("r") BODY("a") BODY("b") J("j", "continuous", "a", "b", "") J("k", "continuous", "b", "a", "")),
		"t.urdf:2: the link \"a\" is part of a cycle");
	bad(R(BODY("a") BODY("b") BODY("c") J("j", "continuous", "a", "b", "") J("k", "continuous", "c", "b", "")),
		"t.urdf:5: the link \"b\" is also the child of the joint \"j\" of line 4");
	bad(R(BODY("a") J("j", "continuous", "a", "x", "")), "t.urdf:2: <child> names the link \"x\"");
	bad(R(BODY("a") BODY("b") "<joint name='j' type='fixed'><parent link='a'/></joint>"), "has no <child");
	bad(R(BODY("a") BODY("b") J("j", "hinge", "a", "b", "")), "the type of <joint> is \"hinge\"");
	bad(R(BODY("a") BODY("b") J("j", "revolute", "a", "b", "")), "the revolute joint \"j\" has no <limit>");
	bad(R(BODY("a") BODY("b") J("j", "revolute", "a", "b", LIMIT "<mimic joint='x'/>")),
		"<mimic> names the joint \"x\"");
	bad(R(L("a", MASS("-1", "0 0 0"))), "value of <mass> is \"-1\"");
	bad(R(L("a", MASS("nan", "0 0 0"))), "value of <mass> is \"nan\"");
	bad(R(L("a", MASS("1", "0 nan 0"))), "xyz of <origin> is \"0 nan 0\"");
	bad(R(L("a", MASS("1", "0 0"))), "expected three numbers");
	bad(R(L("a", "<inertial><inertia ixx='1' iyy='1' izz='1'/></inertial>")), "<inertial> has no <mass value");
	bad(R(L("a", "<inertial><mass value='1'/></inertial>")), "<inertial> has no <inertia>");
	bad(R(L("a", "")), "no link of the robot has a mass");
	bad(R(L("a", MASS("1", "0 0 0") "<collision/>")), "<collision> has no shape");
	bad(R(L("a", MASS("1", "0 0 0") "<collision><geometry><cone/></geometry></collision>")), "the shape is <cone>");
	bad(R(L("a", MASS("1", "0 0 0") "<visual><geometry><sphere/></geometry></visual>")), "<sphere> has no radius");
	bad("<robot>" BODY("a") "</robot>", "<robot> has no name");
	bad(R("<xacro:macro name='m'/>" BODY("a")), "expected the output of `xacro FILE`");
}

Test(urdf, what_has_no_effect_is_said)
{
	warns(R(BODY("a") BODY("b") J("j", "floating", "a", "b", "")), "the joint \"j\" is floating and is left out");
	warns(R(BODY("a") "<transmission name='t'/>"),
		"<transmission> has no effect, because no plug-in of the robot reads it");
	warns(R(BODY("a") "<gazebo reference='x'/>"), "<gazebo> refers to \"x\"");
	warns(R(BODY("a") BODY("b") J("j", "fixed", "a", "b",
		      "") "<gazebo reference='j'><sensor name='s' type='force_torque'/></gazebo>"),
		"<sensor> of the joint \"j\" is left out");
	warns(R(BODY("a") L("b", "") BODY("c") J("j", "continuous", "a", "b", "") J("k", "continuous", "b", "c", "")),
		"the link \"b\" has no mass: it and the links behind it are left out");
}
