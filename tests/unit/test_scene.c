/* The boxes of shapes are compared with points of the shapes' surfaces, in random poses. A part outside the box would
 * touch nothing. */
#include "../random.h"
#include "mesh/hull.h"
#include "scene/scene.h"
#include "scene/sensor_name.h"
#include "sdf_help.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

TestSuite(scene, .timeout = 60);

static uint64_t dice = 1;

static struct pose any_pose(void)
{
	struct quat q = {random_between(&dice, -1, 1), random_between(&dice, -1, 1), random_between(&dice, -1, 1),
		random_between(&dice, -1, 1)};
	return (struct pose){{random_between(&dice, -9, 9), random_between(&dice, -9, 9), random_between(&dice, -9, 9)},
		quat_unit(q)};
}

/* A point of the surface, or inside it. u and v from 0 to 1 reach all of the surface. */
static struct vec3 point_of(const struct scene_geom *geom, double u, double v)
{
	struct vec3 s = geom->size;
	double turn = 2 * M_PI * u, tilt = M_PI * v, r = s.x;
	struct vec3 ball = {cos(turn) * sin(tilt), sin(turn) * sin(tilt), cos(tilt)};
	switch (geom->kind) {
	case SCENE_BOX: /* only corners decide the box */
		return (struct vec3){
			u < 0.5 ? -s.x : s.x, v < 0.5 ? -s.y : s.y, (int)(u * 4) % 2 == (int)(v * 4) % 2 ? -s.z : s.z};
	case SCENE_SPHERE:
		return vec3_scale(ball, r);
	case SCENE_ELLIPSOID:
		return (struct vec3){ball.x * s.x, ball.y * s.y, ball.z * s.z};
	case SCENE_CYLINDER:
		return (struct vec3){r * cos(turn), r * sin(turn), v < 0.5 ? -s.z : s.z};
	case SCENE_CAPSULE:
		return (struct vec3){r * ball.x, r * ball.y, r * ball.z + (v < 0.5 ? s.z : -s.z)};
	case SCENE_CONE:
		return v < 0.5 ? (struct vec3){r * cos(turn), r * sin(turn), -s.z} : (struct vec3){0, 0, s.z};
	default:
		return geom->hull->points.at[(uint32_t)(u * 0.999 * geom->hull->points.count)];
	}
}

static void check_box(const struct scene_geom *geom, struct pose pose, struct aabb box)
{
	enum { TURNS = 200, TILTS = 100 };
	struct aabb found = AABB_NONE;
	for (int i = 0; i < TURNS; i++)
		for (int k = 0; k <= TILTS; k++) {
			struct vec3 p = pose_point(pose, point_of(geom, (double)i / TURNS, (double)k / TILTS));
			found = aabb_join(found, (struct aabb){p, p});
		}
	const double low[] = {found.lo.x - box.lo.x, found.lo.y - box.lo.y, found.lo.z - box.lo.z};
	const double high[] = {box.hi.x - found.hi.x, box.hi.y - found.hi.y, box.hi.z - found.hi.z};
	for (int axis = 0; axis < 3; axis++) {
		cr_assert(low[axis] > -1e-9 && high[axis] > -1e-9, "kind %d is outside its box along %d by %g",
			(int)geom->kind, axis, -fmin(low[axis], high[axis]));
		cr_assert(low[axis] < 3e-3 && high[axis] < 3e-3, "the box of kind %d is larger than it along %d by %g",
			(int)geom->kind, axis, fmax(low[axis], high[axis]));
	}
}

Test(scene, boxes_are_exact)
{
	static const enum scene_shape_kind kinds[] = {
		SCENE_BOX, SCENE_SPHERE, SCENE_ELLIPSOID, SCENE_CYLINDER, SCENE_CAPSULE, SCENE_CONE, SCENE_CONVEX};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		for (int round = 0; round < 12; round++) {
			struct hull hull = {0};
			struct scene_geom geom = {.kind = kinds[i], .hull = &hull};
			geom.size = (struct vec3){random_between(&dice, 0.2, 1), random_between(&dice, 0.2, 1),
				random_between(&dice, 0.2, 1)};
			for (int k = 0; k < 9; k++)
				vec_push(&hull.points,
					((struct vec3){random_between(&dice, -1, 1), random_between(&dice, -1, 1),
						random_between(&dice, -1, 1)}));
			/* upright poses, too: there the formulas divide by numbers that are zero, or nearly zero */
			struct pose pose = round ? any_pose() : POSE_IDENTITY, inside = any_pose();
			check_box(&geom, pose, scene_shape_box(&geom, pose));
			geom.in_body = inside;
			check_box(&geom, pose_mul(pose, inside), scene_geom_box(&geom, pose));
			vec_free(&hull.points);
		}
}

/* A plane is the half-space under it: bounded on one side when the plane's normal is along an axis, and nowhere
 * else. That of a body is bounded by where bodies can be. */
Test(scene, boxes_of_planes)
{
	const struct vec3 at = {1, 2, 3};
	const struct vec3 normals[] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1},
		{0.6, 0.8, 0}, {0.6, 0, 0.8}, {0, 0.6, 0.8}, {0.5, 0.5, 0.7071}};
	for (size_t i = 0; i < ARRAY_LEN(normals); i++) {
		struct scene_geom geom = {.kind = SCENE_PLANE, .size = normals[i], .body = SCENE_NONE};
		struct aabb expected = AABB_ALL, box = scene_shape_box(&geom, (struct pose){at, QUAT_IDENTITY});
		double *const bounds[] = {
			&expected.hi.x, &expected.lo.x, &expected.hi.y, &expected.lo.y, &expected.hi.z, &expected.lo.z};
		const double values[] = {at.x, at.x, at.y, at.y, at.z, at.z};
		if (i < ARRAY_LEN(bounds))
			*bounds[i] = values[i];
		cr_assert(!memcmp(&box, &expected, sizeof box), "normal %g %g %g", normals[i].x, normals[i].y,
			normals[i].z);
		geom.body = 0;
		box = scene_shape_box(&geom, (struct pose){at, QUAT_IDENTITY});
		const double sides[] = {box.hi.x, -box.lo.x, box.hi.y, -box.lo.y, box.hi.z, -box.lo.z};
		for (size_t k = 0; k < ARRAY_LEN(sides); k++)
			cr_assert(sides[k] == 2 * SCENE_POSITION_MAX || (k == i && fabs(sides[k]) <= 3),
				"normal %zu, side %zu: %g", i, k, sides[k]);
		if (i < ARRAY_LEN(bounds))
			cr_assert(box.hi.x == expected.hi.x || box.lo.x == expected.lo.x || box.hi.y == expected.hi.y ||
				  box.lo.y == expected.lo.y || box.hi.z == expected.hi.z || box.lo.z == expected.lo.z);
	}
}

/* --- levels ------------------------------------------------------------------------------------------------------- */

/* One for each line of the file, in the order of the file: what does not count, and what it does instead. */
Test(scene, doubtful_levels_are_told_with_their_line)
{
	static const char text[] =
		"<sdf version='1.9'><world name='w'><light name='lamp' type='point'/><model name='a'><link "
		"name='l'/></model><model name='b'><link name='l'/></model><plugin name='gz::sim' filename='x'>\n"
		"<performer name='none'><ref>nobody</ref><geometry><box><size>1 1 "
		"1</size></box></geometry></performer>\n"
		"<performer "
		"name='ball'><ref>a</ref><geometry><sphere><radius>1</radius></sphere></geometry></performer>\n"
		"<performer name='one'><ref>a</ref><geometry><box><size>1 2 3</size></box></geometry></performer>\n"
		"<performer name='two'><ref>a</ref><geometry><box><size>3 2 1</size></box></geometry></performer>\n"
		"<level name='flat'><ref>b</ref></level>\n"
		"<level name='low'><geometry><box><size>2 4 6</size></box></geometry><buffer>-3</buffer>\n"
		"<ref>b</ref><ref>lamp</ref><ref>b</ref>\n"
		"<ref>nothing</ref></level>\n"
		"<level name='low'><pose>10 0 0 0 0 0</pose><geometry><box><size>2 4 "
		"6</size></box></geometry><buffer>3</buffer><secondary>2</secondary></level>\n"
		"<typo/></plugin>\n"
		"<plugin name='gz::sim' filename='x'><level name='late'><geometry><box><size>1 1 "
		"1</size></box></geometry></level></plugin></world></sdf>";
	static const char *const expected[] = {
		"t.sdf:2: <performer name='none'>: the world has no model 'nobody'; it is ignored",
		"t.sdf:3: <performer name='ball'> has no <geometry><box><size>; it is ignored",
		"t.sdf:5: <performer name='two'>: model 'a' is a performer already; it is ignored",
		"t.sdf:6: <level name='flat'> has no <geometry><box><size>; it is ignored",
		"t.sdf:7: <level name='low'>: a buffer of -3 m is taken as 0",
		"t.sdf:9: <level name='low'>: the world has no entity 'nothing'",
		"t.sdf:10: a second <level name='low'>: reports cannot tell them apart",
		"t.sdf:11: <typo> in plugin 'gz::sim' is ignored",
		"t.sdf:12: a second plugin with levels; only the first counts",
	};
	const struct scene_options options = {0};
	struct troupe_error error = {0};
	struct sdf *sdf = sdf_help_good(text, NULL);
	struct scene *scene = NULL;
	cr_assert_eq(scene_create(&sdf->worlds.at[0], &options, &scene, &error), TROUPE_OK, "%s", error.text);
	cr_assert_eq(scene->warnings.count, ARRAY_LEN(expected));
	for (uint32_t i = 0; i < scene->warnings.count && i < ARRAY_LEN(expected); i++)
		cr_assert_str_eq(
			scene->warnings.at[i], expected[i], "%s: expected %s", scene->warnings.at[i], expected[i]);
	const struct scene_model *a = &scene->models[0], *b = &scene->models[1];
	cr_assert(
		a->performer && a->volume.x == 1 && a->volume.y == 2 && a->volume.z == 3, "the first performer counts");
	cr_assert_str_eq(a->performer_name, "one");
	cr_assert(!b->performer && b->level == 0, "a level that names a model twice has it once");
	cr_assert_eq(scene->level_count, 2);
	const struct aabb low = {{-1, -2, -3}, {1, 2, 3}}, second = {{9, -2, -3}, {11, 2, 3}},
			  outer = {{6, -5, -6}, {14, 5, 6}};
	cr_assert(
		!memcmp(&scene->levels[0].box, &low, sizeof low) && !memcmp(&scene->levels[0].outer, &low, sizeof low),
		"without a buffer");
	cr_assert(!memcmp(&scene->levels[1].box, &second, sizeof low) &&
			  !memcmp(&scene->levels[1].outer, &outer, sizeof low),
		"with a buffer");
	cr_assert(scene->levels[0].pin == 0 && scene->levels[1].pin == 2, "pins");
	scene_destroy(scene);
	sdf_free(sdf);
}

#define LEVEL_BOX(size) "<geometry><box><size>" size "</size></box></geometry>"

/* Each of these alone is an error, whatever comes behind it. */
Test(scene, a_level_with_a_wrong_element_is_refused)
{
	static const char *const wrong[] = {"<pose>x</pose>" LEVEL_BOX("1 1 1"), "<pose>1 2</pose>" LEVEL_BOX("1 1 1"),
		LEVEL_BOX("1 x 1"), LEVEL_BOX("1 1 1") "<buffer>x</buffer>",
		LEVEL_BOX("1 1 1") "<secondary>x</secondary>"};
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		const struct scene_options options = {0};
		struct troupe_error error = {0};
		char *text =
			mem_printf("<sdf version='1.9'><world name='w'><plugin name='gz::sim' filename='x'>\n<level "
				   "name='l'>%s</level></plugin></world></sdf>",
				wrong[i]);
		struct sdf *sdf = sdf_help_good(text, NULL);
		struct scene *scene = NULL;
		cr_assert_eq(scene_create(&sdf->worlds.at[0], &options, &scene, &error), TROUPE_EWORLD, "%s", wrong[i]);
		cr_assert_eq(strncmp(error.text, "t.sdf:2: ", 9), 0, "%s: %s", wrong[i], error.text);
		free(text);
	}
}

struct scene_level_case {
	const char *secondaries, *pin;  /* of the world, and of the second performer */
	const char *secondary, *buffer; /* of the second level, which may be ignored */
	bool good, good_without;        /* with levels, and when they are not wanted */
};

static char *levels_text(const struct scene_level_case *one)
{
	return mem_printf(
		"<sdf version='1.9'><world name='w'><model name='a'><link name='l'/></model><model name='b'><link "
		"name='l'/></model><plugin name='gz::sim' filename='x'><secondaries>%s</secondaries><performer "
		"name='p'><ref>a</ref><geometry><box><size>1 1 1</size></box></geometry></performer><performer "
		"name='q'><ref>b</ref><geometry><box><size>1 1 1</size></box></geometry><secondary>%s</secondary>"
		"</performer><level name='one'><geometry><box><size>1 1 1</size></box></geometry></level><level "
		"name='two'><geometry><box><size>2 2 2</size></box></geometry><buffer>%s</buffer><secondary>%s"
		"</secondary></level></plugin></world></sdf>",
		one->secondaries, one->pin, one->buffer, one->secondary);
}

static void check_levels(const struct scene *scene, const struct scene_level_case *one, bool with_levels)
{
	cr_assert_eq(scene->warnings.count, 0, "%s", scene->warnings.count ? scene->warnings.at[0] : "");
	cr_assert(scene->secondaries == (uint32_t)atoi(one->secondaries) && scene->models[0].pin == 0 &&
		  scene->models[1].pin == (uint32_t)atoi(one->pin) &&
		  scene->models[1].home_pin == scene->models[1].pin);
	cr_assert(scene->level_count == (with_levels ? 2u : 0u));
	if (with_levels)
		cr_assert(scene->levels[1].pin == (uint32_t)atoi(one->secondary) && scene->levels[0].pin == 0 &&
			  scene->levels[1].outer.hi.y == 1 + atof(one->buffer));
}

/* Whole numbers within their limits, for the second of two; a message otherwise. Nothing is told of what is read, also
 * when levels are not wanted. */
Test(scene, numbers_of_levels_have_limits)
{
	static const struct scene_level_case cases[] = {{"0", "1", "1", "0", true, true},
		{"1024", "1024", "1024", "1e9", true, true}, {"3", "9", "7", "2.5", true, true},
		{"1025", "1", "1", "0", false, false}, {"-1", "1", "1", "0", false, false},
		{"0.5", "1", "1", "0", false, false}, {"1", "0", "1", "0", false, false},
		{"1", "1025", "1", "0", false, false}, {"1", "1.5", "1", "0", false, false},
		{"1", "1", "0", "0", false, true}, {"1", "1", "1025", "0", false, true},
		{"1", "1", "1", "1.0000001e9", false, true}};
	for (size_t i = 0; i < 2 * ARRAY_LEN(cases); i++) {
		const struct scene_options options = {.ignore_levels = i % 2};
		struct troupe_error error = {0};
		char *text = levels_text(&cases[i / 2]);
		struct sdf *sdf = sdf_help_good(text, NULL);
		struct scene *scene = NULL;
		bool good = i % 2 ? cases[i / 2].good_without : cases[i / 2].good;
		troupe_status status = scene_create(&sdf->worlds.at[0], &options, &scene, &error);
		cr_assert_eq(status, good ? TROUPE_OK : TROUPE_EWORLD, "case %zu: '%s'", i, error.text);
		if (good)
			check_levels(scene, &cases[i / 2], i % 2 == 0);
		scene_destroy(scene);
		sdf_free(sdf);
		free(text);
	}
}

/* A model is of the one level that names it, however often; not of one of two, nor when it is static; a performer is of
 * none, but has the level to which it returns. */
Test(scene, models_are_of_the_one_level_that_names_them)
{
	static const struct {
		const char *name;
		uint32_t level, home;
	} expected[] = {{"unnamed", SCENE_NONE, SCENE_NONE}, {"first", 0, 0}, {"both", SCENE_NONE, SCENE_NONE},
		{"still", SCENE_NONE, SCENE_NONE}, {"second", 1, 1}, {"twice", 1, 1}, {"walker", SCENE_NONE, 1}};
	static const char text[] =
		"<sdf version='1.9'><world name='w'><model name='unnamed'><link name='l'/></model><model name='first'>"
		"<link name='l'/></model><model name='both'><link name='l'/></model><model name='still'><static>1"
		"</static><link name='l'/></model><model name='second'><link name='l'/></model><model "
		"name='twice'><link "
		"name='l'/></model><model name='walker'><link name='l'/></model><plugin name='gz::sim' filename='x'>"
		"<level name='one'><ref>both</ref><ref>first</ref><geometry><box><size>1 1 1</size></box></geometry>"
		"</level><level name='two'><ref>second</ref><ref>twice</ref><ref>both</ref><ref>still</ref><ref>twice"
		"</ref><ref>walker</ref><geometry><box><size>1 1 1</size></box></geometry></level><performer name='p'>"
		"<ref>walker</ref><geometry><box><size>1 1 "
		"1</size></box></geometry></performer></plugin></world></sdf>";
	const struct scene_options options = {0};
	struct troupe_error error = {0};
	struct sdf *sdf = sdf_help_good(text, NULL);
	struct scene *scene = NULL;
	cr_assert_eq(scene_create(&sdf->worlds.at[0], &options, &scene, &error), TROUPE_OK, "%s", error.text);
	for (uint32_t m = 0; m < ARRAY_LEN(expected); m++)
		cr_assert(!strcmp(scene->models[m].name, expected[m].name) &&
				  scene->models[m].level == expected[m].level &&
				  scene->models[m].home_level == expected[m].home,
			"%s: level %u, home %u", scene->models[m].name, scene->models[m].level,
			scene->models[m].home_level);
	const uint32_t two[] = {4, 5, 2, 3, 5, 6};
	cr_assert(scene->levels[1].model_count == ARRAY_LEN(two) && !memcmp(scene->levels[1].models, two, sizeof two) &&
		  scene->levels[0].model_count == 2);
	scene_destroy(scene);
	sdf_free(sdf);
}

/* --- what a scene refuses, and what it leaves out ------------------------------------------------------------------
 */

#define SCENE_TEST_MODEL(name) "<model name='" name "'><link name='l'/></model>"
#define SCENE_TEST_LINK(name)                                                                                          \
	"<link name='" name "'><inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia>"        \
	"</inertial></link>"

static struct sdf *world_of(const char *inside)
{
	static const char *const folders[] = {"/tmp", NULL}; /* of the files that tests write */
	const struct sdf_options options = {.resource_paths = folders};
	char text[4096];
	int length = snprintf(text, sizeof text, "<sdf version='1.9'><world name='w'>\n%s</world></sdf>", inside);
	cr_assert(length > 0 && (size_t)length < sizeof text);
	return sdf_help_good(text, &options);
}

/* The second of two is at fault, so that a place that is counted from the first one shows. */
Test(scene, worlds_that_are_refused)
{
	static const struct {
		const char *inside, *expected;
	} cases[] = {
		{SCENE_TEST_MODEL(
			 "a") "<plugin name='gz::sim' filename='x'><level name='one'><geometry><box><size>1 1 1"
			      "</size></box></geometry><secondary>1</secondary></level>\n<level name='two'>"
			      "<geometry><box><size>1 1 1</size></box></geometry><secondary>1.5</secondary>"
			      "</level></plugin>",
			"t.sdf:3: <secondary> 1.5: expected a whole number from 1"},
		{SCENE_TEST_MODEL("a") "<plugin name='gz::sim' filename='x'><secondaries>2.5</secondaries></plugin>",
			"t.sdf:2: <secondaries> 2.5: expected a whole number"},
		{SCENE_TEST_MODEL("a") "<plugin name='gz::sim' filename='x'><performer name='p'><ref>a</ref><geometry>"
				       "<box><size>1 1 1</size></box></geometry></performer>\n<performer name='q'/>"
				       "</plugin>",
			"t.sdf:3: <performer name='q'> has no <ref>: expected the name of a model"},
		{"<actor name='near'><script><trajectory id='0' type='t'><waypoint><time>0</time><pose>0 0 0 0 0 0"
		 "</pose></waypoint></trajectory></script></actor>\n<actor name='far'><pose>0 5e8 0 0 0 0</pose>"
		 "<script><trajectory id='0' type='t'><waypoint><time>0</time><pose>0 0 0 0 0 0</pose></waypoint>"
		 "</trajectory></script></actor>",
			"t.sdf:3: actor 'far' is at 0 5e+08 0: expected coordinates within "},
		{"<model name='m'>" SCENE_TEST_LINK("a") SCENE_TEST_LINK("b") SCENE_TEST_LINK(
			 "c") "<joint name='one' type='revolute'><parent>a</parent><child>b</child><axis><xyz>0 0 "
			      "1</xyz>"
			      "<mimic joint='two' axis='axis'><multiplier>1</multiplier></mimic></axis></joint>\n"
			      "<joint name='two' type='revolute'><parent>b</parent><child>c</child><axis><xyz>0 0 1"
			      "</xyz><mimic joint='one' axis='axis'><multiplier>1</multiplier></mimic></axis></joint>"
			      "</model>",
			"mimics itself by way of others: expected a leader that follows nothing"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct scene_options options = {0};
		struct troupe_error error = {0};
		struct sdf *sdf = world_of(cases[i].inside);
		struct scene *scene = NULL;
		cr_assert_eq(scene_create(&sdf->worlds.at[0], &options, &scene, &error), TROUPE_EWORLD, "case %zu", i);
		cr_assert_not_null(strstr(error.text, cases[i].expected), "case %zu: '%s'", i, error.text);
		scene_destroy(scene);
		sdf_free(sdf);
	}
}

static int told;
static char told_text[2][256];

static void hear(void *ctx, const char *text)
{
	(void)ctx;
	if (told < 2)
		snprintf(told_text[told], sizeof told_text[0], "%s", text);
	told++;
}

/* With on_error each model's error is told, and the status is that of the first. */
Test(scene, errors_of_all_models_are_told)
{
	const struct scene_options options = {.on_error = hear};
	struct troupe_error error = {0};
	struct sdf *sdf = world_of(SCENE_TEST_MODEL("good") "<model name='a'><pose>9e8 0 0 0 0 0</pose><link name='l'/>"
							    "</model>\n<model name='b'><pose>-3 9e8 2 0 0 0</pose>"
							    "<link name='l'/></model>");
	struct scene *scene = NULL;
	cr_assert_eq(scene_create(&sdf->worlds.at[0], &options, &scene, &error), TROUPE_EWORLD);
	cr_assert_eq(told, 2);
	cr_assert_not_null(strstr(told_text[0], "t.sdf:2: "), "'%s'", told_text[0]);
	cr_assert_str_eq(
		told_text[1], "t.sdf:3: model 'b' can move and is at -3 9e+08 2: expected coordinates within 1e+07 m");
	cr_assert_str_eq(error.text, told_text[0]);
	scene_destroy(scene);
	sdf_free(sdf);
}

/* Each is left out with its line; what stands beside it stays. */
Test(scene, what_is_left_out_is_told)
{
	static const struct {
		const char *inside, *expected;
	} cases[] = {
		{SCENE_TEST_MODEL("a") "\n<actor name='a'><script><trajectory id='0' type='t'><waypoint><time>0</time>"
				       "<pose>0 0 0 0 0 0</pose></waypoint></trajectory></script></actor>",
			"t.sdf:3: actor 'a' has the name of a model; it is left out"},
		{"<model name='m'>" SCENE_TEST_LINK("a")
				SCENE_TEST_LINK("b") "</model><model name='other'>" SCENE_TEST_LINK(
					"c") "</model>\n"
					     "<joint name='g' type='gearbox'><parent>m::a</parent><child>m::b</child>"
					     "<gearbox_ratio>2</gearbox_ratio><gearbox_reference_body>other::c"
					     "</gearbox_reference_body><axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 0 "
					     "1</xyz></axis2>"
					     "</joint>",
			"t.sdf:3: gearbox 'g': the <gearbox_reference_body> 'other::c' is in another model than its "
			"parent and its child; it is left out"},
		{"<model name='m'><static>true</static><link name='l'><collision name='c'><geometry><image><uri>x.png"
		 "</uri></image></geometry></collision></link></model>",
			"collision 'c': no contact with shapes of kind 'image'; they are left out"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct scene_options options = {0};
		struct troupe_error error = {0};
		struct sdf *sdf = world_of(cases[i].inside);
		struct scene *scene = NULL;
		cr_assert_eq(scene_create(&sdf->worlds.at[0], &options, &scene, &error), TROUPE_OK, "case %zu: %s", i,
			error.text);
		bool found = false;
		for (uint32_t w = 0; w < scene->warnings.count; w++)
			found = found || strstr(scene->warnings.at[w], cases[i].expected);
		cr_assert(found, "case %zu: '%s'", i, scene->warnings.count ? scene->warnings.at[0] : "");
		cr_assert_eq(scene->joint_count, 0);
		scene_destroy(scene);
		sdf_free(sdf);
	}
}

/* An ellipsoid of more corners than a hull may have, which is not centred, and a sheet, which has no inside. */
static void write_meshes(const char *folder)
{
	enum { TURNS = 40, TILTS = 29 };
	char name[80];
	snprintf(name, sizeof name, "%s/fine.obj", folder);
	FILE *file = fopen(name, "w");
	cr_assert_not_null(file);
	for (int k = 0; k <= TILTS; k++)
		for (int i = 0; i < TURNS; i++) {
			double tilt = M_PI * k / TILTS, turn = 2 * M_PI * i / TURNS;
			fprintf(file, "v %.17g %.17g %.17g\n", 5 + 3 * sin(tilt) * cos(turn),
				-1 + 2 * sin(tilt) * sin(turn), cos(tilt));
		}
	for (int k = 0; k < TILTS; k++)
		for (int i = 0; i < TURNS; i++) {
			int a = k * TURNS + i + 1, b = k * TURNS + (i + 1) % TURNS + 1;
			fprintf(file, "f %d %d %d\nf %d %d %d\n", a, a + TURNS, b, b, a + TURNS, b + TURNS);
		}
	cr_assert_eq(fclose(file), 0);
	snprintf(name, sizeof name, "%s/sheet.obj", folder);
	file = fopen(name, "w");
	cr_assert_not_null(file);
	fprintf(file, "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n");
	cr_assert_eq(fclose(file), 0);
}

/* A hull of too many corners keeps those farthest along the axes and in directions between them. */
Test(scene, hulls_of_fine_meshes_are_thinned_out)
{
	char folder[] = "/tmp/test_scene.XXXXXX", inside[1200], name[80];
	cr_assert_not_null(mkdtemp(folder));
	write_meshes(folder);
	snprintf(inside, sizeof inside,
		"<model name='m'><link name='l'><collision name='sheet'><geometry><mesh><uri>%s/sheet.obj</uri></mesh>"
		"</geometry></collision>\n<collision "
		"name='fine'><geometry><mesh><uri>%s/fine.obj</uri></mesh></geometry>"
		"</collision></link></model>",
		folder, folder);
	const struct scene_options options = {0};
	struct troupe_error error = {0};
	struct sdf *sdf = world_of(inside);
	struct scene *scene = NULL;
	cr_assert_eq(scene_create(&sdf->worlds.at[0], &options, &scene, &error), TROUPE_OK, "%s", error.text);
	cr_assert_eq(scene->warnings.count, 2);
	cr_assert_not_null(strstr(scene->warnings.at[0], "t.sdf:2: collision 'sheet' of model 'm' is left out: "), "%s",
		scene->warnings.at[0]);
	cr_assert_not_null(strstr(scene->warnings.at[1], "t.sdf:3: collision 'fine' of model 'm': its hull has "), "%s",
		scene->warnings.at[1]);
	cr_assert_eq(scene->geom_count, 1);
	const struct hull *hull = scene->geoms[0].hull;
	cr_assert(hull->points.count <= HULL_CORNERS_MAX && hull->points.count > HULL_CORNERS_MAX / 2, "%u corners",
		hull->points.count);
	struct aabb box = AABB_NONE;
	double least = INFINITY;
	for (uint32_t i = 0; i < hull->points.count; i++) {
		struct vec3 p = hull->points.at[i];
		box = aabb_join(box, (struct aabb){p, p});
	}
	/* nowhere far within the ellipsoid */
	for (int i = 0; i < 500; i++) {
		struct vec3 d = quat_rotate(any_pose().q, (struct vec3){1, 0, 0});
		double reach = -INFINITY, whole = sqrt(9 * d.x * d.x + 4 * d.y * d.y + d.z * d.z);
		for (uint32_t p = 0; p < hull->points.count; p++)
			reach = fmax(reach, vec3_dot(d, vec3_sub(hull->points.at[p], (struct vec3){5, -1, 0})));
		least = fmin(least, reach / whole);
	}
	cr_assert(least > 0.96, "%g of the ellipsoid is left", least);
	cr_assert(fabs(box.lo.x - 2) < 0.01 && fabs(box.hi.x - 8) < 0.01 && fabs(box.lo.y + 3) < 0.01 &&
		  fabs(box.hi.y - 1) < 0.01 && fabs(box.lo.z + 1) < 1e-6 && fabs(box.hi.z - 1) < 1e-6);
	scene_destroy(scene);
	sdf_free(sdf);
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof name, "%s/%s.obj", folder, i ? "sheet" : "fine");
		unlink(name);
	}
	rmdir(folder);
}

/* --- topics of triggers --------------------------------------------------------------------------------------------
 */

#define SCENE_TEST_CAMERA(name, topic, camera)                                                                         \
	"<sensor name='" name "' type='camera'>" topic "<camera>" camera "</camera></sensor>"

/* That of the camera, else one below the sensor's topic, else one below its path, here of a link of a nested model; a
 * camera that is not triggered has none. */
Test(scene, triggers_have_topics)
{
	static const char *const expected[] = {
		NULL, "/snap", "/own/trigger", "/world/w/model/m/model/n/link/l/sensor/d/image/trigger"};
	struct sdf *sdf = world_of("<model name='m'><link name='k'/><model name='n'><link name='l'>" SCENE_TEST_CAMERA(
		"a", "", "") SCENE_TEST_CAMERA("b", "<topic>own</topic>",
		"<triggered>true</triggered><trigger_topic>snap</trigger_topic>")
			SCENE_TEST_CAMERA("c", "<topic>own</topic>", "<triggered>true</triggered>")
				SCENE_TEST_CAMERA("d", "", "<triggered>true</triggered>") "</link></model></model>");
	const struct scene_options options = {0};
	struct troupe_error error = {0};
	struct scene *scene = NULL;
	struct arena arena = {0};
	const struct sdf_world *world = &sdf->worlds.at[0];
	cr_assert_eq(scene_create(world, &options, &scene, &error), TROUPE_OK, "%s", error.text);
	cr_assert_eq(world->sensors.count, ARRAY_LEN(expected));
	for (uint32_t i = 0; i < world->sensors.count; i++) {
		const char *name = sensor_name_trigger(&arena, scene, world, &world->sensors.at[i]);
		cr_expect(expected[i] ? name && !strcmp(name, expected[i]) : !name, "%u: %s", i, name ? name : "none");
	}
	arena_fini(&arena);
	scene_destroy(scene);
	sdf_free(sdf);
}

/* --- links that are welded ---------------------------------------------------------------------------------------- */

enum { WELD_LINKS_MAX = 6, WELD_MODELS = 2, WELD_ROUNDS = 300 };

struct weld_link {
	struct pose in_model, com; /* com: in the link */
	double mass, moment[3];
	bool kinematic;
	uint32_t group; /* of links that are welded: the lowest of them */
	bool held, fixed;
};

struct weld_model {
	struct pose pose;
	uint32_t count;
	struct weld_link links[WELD_LINKS_MAX];
};

static void weld_add_pose(struct text *out, struct pose p)
{
	text_add(out, "<pose rotation_format='quat_xyzw'>%.17g %.17g %.17g %.17g %.17g %.17g %.17g</pose>", p.p.x,
		p.p.y, p.p.z, p.q.x, p.q.y, p.q.z, p.q.w);
}

static uint32_t weld_any(uint32_t count)
{
	return (uint32_t)random_between(&dice, 0, count - 1e-9);
}

static void weld_add_joint(struct text *out, uint32_t number, const char *kind, const char *parent, const char *child)
{
	text_add(out,
		"<joint name='j%u' type='%s'><parent>%s</parent><child>%s</child><axis><xyz>0 0 1</xyz></axis></joint>",
		number, kind, parent, child);
}

/* All links of one group go into the other. */
static void weld_join(struct weld_model *m, uint32_t a, uint32_t b)
{
	uint32_t from = MAX(m->links[a].group, m->links[b].group), to = MIN(m->links[a].group, m->links[b].group);
	for (uint32_t i = 0; i < m->count; i++)
		if (m->links[i].group == from)
			m->links[i].group = to;
}

/* A tree of joints, of which some are fixed, either end first; and some links are fixed to the world. */
static void weld_add_joints(struct text *out, struct weld_model *m)
{
	uint32_t number = 0;
	for (uint32_t i = 0; i < m->count; i++) {
		char a[8], b[8];
		uint32_t other = i ? weld_any(i) : 0;
		bool welds = random_between(&dice, 0, 1) < 0.6, turned = random_between(&dice, 0, 1) < 0.5;
		(void)snprintf(a, sizeof a, "l%u", i);
		(void)snprintf(b, sizeof b, "l%u", other);
		if (random_between(&dice, 0, 1) < 0.15) {
			weld_add_joint(out, number++, "fixed", "world", a);
			m->links[i].fixed = true;
		}
		if (!i)
			continue;
		weld_add_joint(out, number++, welds ? "fixed" : "revolute", turned ? a : b, turned ? b : a);
		if (welds)
			weld_join(m, i, other);
	}
}

static void weld_make(struct weld_model *m, uint32_t number, struct text *out)
{
	*m = (struct weld_model){.pose = any_pose(), .count = 1 + weld_any(WELD_LINKS_MAX)};
	text_add(out, "<model name='m%u'>", number);
	weld_add_pose(out, m->pose);
	for (uint32_t i = 0; i < m->count; i++) {
		struct weld_link *l = &m->links[i];
		*l = (struct weld_link){.in_model = any_pose(),
			.com = any_pose(),
			.mass = random_between(&dice, 1, 5),
			.kinematic = random_between(&dice, 0, 1) < 0.1,
			.group = i};
		for (int a = 0; a < 3; a++)
			l->moment[a] = random_between(&dice, 1, 1.9);
		text_add(out, "<link name='l%u'><kinematic>%d</kinematic>", i, l->kinematic);
		weld_add_pose(out, l->in_model);
		text_add(out, "<inertial>");
		weld_add_pose(out, l->com);
		text_add(out,
			"<mass>%.17g</mass><inertia><ixx>%.17g</ixx><iyy>%.17g</iyy><izz>%.17g</izz></inertia>"
			"</inertial></link>",
			l->mass, l->moment[0], l->moment[1], l->moment[2]);
	}
	weld_add_joints(out, m);
	text_add(out, "</model>");
	for (uint32_t i = 0; i < m->count; i++)
		for (uint32_t k = 0; k < m->count; k++)
			if (m->links[k].group == m->links[i].group) {
				m->links[i].held |= m->links[k].kinematic || m->links[k].fixed;
				m->links[i].fixed |= m->links[k].fixed;
			}
}

static struct vec3 weld_turned_back(struct quat q, struct vec3 v)
{
	return pose_point(pose_inverse((struct pose){{0, 0, 0}, q}), v);
}

/* Twice the energy of a turn with the rate w, in the world, about the centre of mass. */
static double weld_energy(const struct weld_model *m, uint32_t group, struct vec3 centre, struct vec3 w)
{
	double sum = 0;
	for (uint32_t i = 0; i < m->count; i++) {
		const struct weld_link *l = &m->links[i];
		if (l->group != group)
			continue;
		struct pose at = pose_mul(pose_mul(m->pose, l->in_model), l->com);
		struct vec3 own = weld_turned_back(at.q, w), moves = vec3_cross(w, vec3_sub(at.p, centre));
		sum += l->moment[0] * own.x * own.x + l->moment[1] * own.y * own.y + l->moment[2] * own.z * own.z +
		       l->mass * vec3_dot(moves, moves);
	}
	return sum;
}

static void weld_check_body(const struct scene_body *body, const struct weld_model *m, uint32_t group)
{
	double mass = 0;
	struct vec3 moment = {0, 0, 0}, w = {0.3, -0.7, 0.5};
	for (uint32_t i = 0; i < m->count; i++)
		if (m->links[i].group == group) {
			struct pose at = pose_mul(pose_mul(m->pose, m->links[i].in_model), m->links[i].com);
			mass += m->links[i].mass;
			moment = vec3_add(moment, vec3_scale(at.p, m->links[i].mass));
		}
	struct vec3 centre = vec3_scale(moment, 1 / mass);
	cr_assert_float_eq(body->mass, mass, 1e-9);
	cr_assert_lt(vec3_length(vec3_sub(body->reference.p, centre)), 1e-9);
	struct vec3 own = weld_turned_back(body->reference.q, w);
	double energy = body->ixx * own.x * own.x + body->iyy * own.y * own.y + body->izz * own.z * own.z +
			2 * (body->ixy * own.x * own.y + body->ixz * own.x * own.z + body->iyz * own.y * own.z);
	double expected = weld_energy(m, group, centre, w);
	cr_assert_float_eq(energy, expected, 1e-9 * expected, "%g instead of %g", energy, expected);
	cr_assert_eq(body->kinematic, m->links[group].held);
	cr_assert_eq(body->fixed_by != NULL, m->links[group].fixed);
	cr_assert_eq(body->commanded, m->links[group].held && !m->links[group].fixed);
}

static void weld_check(const struct scene *scene, const struct weld_model *models)
{
	uint32_t link = 0, bodies = 0;
	for (uint32_t k = 0; k < WELD_MODELS; k++) {
		const struct weld_model *m = &models[k];
		for (uint32_t i = 0; i < m->count; i++, link++) {
			const struct scene_link *at = &scene->links[link];
			const struct scene_body *body = &scene->bodies[at->body];
			cr_assert_eq(at->body, scene->links[link - i + m->links[i].group].body);
			struct pose in_world = pose_mul(body->reference, at->in_body);
			struct pose expected = pose_mul(m->pose, m->links[i].in_model);
			cr_assert_lt(vec3_length(vec3_sub(in_world.p, expected.p)), 1e-9);
			if (m->links[i].group != i)
				continue;
			cr_assert_eq(at->body, bodies++);
			cr_assert_str_eq(body->name, at->scoped);
			weld_check_body(body, m, i);
		}
	}
	cr_assert_eq(scene->body_count, bodies);
}

/* Which links are one body, and what it weighs, by the plainest means. */
Test(scene, welded_links_are_one_body)
{
	for (uint32_t round = 0; round < WELD_ROUNDS; round++) {
		struct weld_model models[WELD_MODELS];
		struct text text = {0};
		struct troupe_error error = {0};
		struct scene *scene = NULL;
		text_add(&text, "<sdf version='1.11'><world name='w'>");
		for (uint32_t k = 0; k < WELD_MODELS; k++)
			weld_make(&models[k], k, &text);
		text_add(&text, "</world></sdf>");
		struct sdf *sdf = sdf_help_good(text.at, &(struct sdf_options){0});
		cr_assert_eq(scene_create(&sdf->worlds.at[0], &(struct scene_options){0}, &scene, &error), TROUPE_OK,
			"%s\n%s", error.text, text.at);
		weld_check(scene, models);
		scene_destroy(scene);
		sdf_free(sdf);
		text_fini(&text);
	}
}
