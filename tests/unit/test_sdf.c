/* SDF is read as the specification says: each part has its value or its default, poses and includes are resolved, what
 * is wrong is refused with its place, and what is ignored is told. */
#include "base/infile.h"
#include "base/parse.h"
#include "scene/unread.h"
#include "sdf_help.h"
#include "sdf/fuel.h"
#include "sdf/sdf.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(sdf, .fini = sdf_help_end, .timeout = 60);

#define SDF(version, inside) "<sdf version='" version "'>" inside "</sdf>"
#define W(inside) SDF("1.9", "<world name='w'>" inside "</world>")
#define M(inside) SDF("1.9", "<model name='m'>" inside "</model>")
#define LINK(name) "<link name='" name "'/>"
#define TWO LINK("a") LINK("b")
#define JOINT(type, inside)                                                                                            \
	M(TWO "<joint name='j' type='" type "'><parent>a</parent><child>b</child>" inside "</joint>")
#define BOX(inside)                                                                                                    \
	M("<link name='a'><collision name='c'><geometry><box>" inside "</box></geometry></collision></link>")
#define SHAPE(inside) M("<link name='a'><collision name='c'><geometry>" inside "</geometry></collision></link>")
#define INERTIAL(inside) M("<link name='a'><inertial>" inside "</inertial></link>")

static struct sdf *load(const char *text, troupe_status *ret_status, struct troupe_error *error)
{
	struct sdf *sdf = NULL;
	*ret_status = sdf_help_load(text, NULL, &sdf, error);
	return sdf_help_keep(sdf);
}

static struct sdf *good(const char *text)
{
	return sdf_help_keep(sdf_help_good(text, NULL));
}

#define near(a, b) cr_assert(fabs((a) - (b)) < 1e-9, "%s is %.12g, not %.12g", #a, (double)(a), (double)(b))

static void near3(struct vec3 v, double x, double y, double z)
{
	cr_assert(fabs(v.x - x) < 1e-9 && fabs(v.y - y) < 1e-9 && fabs(v.z - z) < 1e-9,
		"%.12g %.12g %.12g is not %g %g %g", v.x, v.y, v.z, x, y, z);
}

static const struct sdf_link *find_link(const struct sdf *sdf, const char *scoped)
{
	const struct sdf_world *world = &sdf->worlds.at[0];
	for (uint32_t i = 0; i < world->links.count; i++)
		if (!strcmp(world->links.at[i].scoped, scoped))
			return &world->links.at[i];
	cr_assert_fail("no link %s", scoped);
	return NULL;
}

static struct pose link_in_world(const struct sdf *sdf, const char *scoped)
{
	const struct sdf_world *world = &sdf->worlds.at[0];
	return sdf_link_in_world(world, (uint32_t)(find_link(sdf, scoped) - world->links.at));
}

static const struct {
	const char *text, *message; /* the message contains this */
	troupe_status status;
} bad[] = {
	{"", "t.sdf:1: ", TROUPE_EWORLD},
	{"hello", "t.sdf:1: ", TROUPE_EWORLD},
	{"<sdf version='1.9'><world name='w'>", "t.sdf:1: ", TROUPE_EWORLD},
	{"<sdf version='1.9'>\n<world name='w'>\n</model></sdf>", "t.sdf:3: ", TROUPE_EWORLD},
	{W("\n<wind>\n<linear_velocity>1 2</linear_velocity></wind>"), "t.sdf:3: <linear_velocity>", TROUPE_EWORLD},
	{W("\n<wind>\n<linear_velocity>1 nan 0</linear_velocity></wind>"), "t.sdf:3: <linear_velocity>", TROUPE_EWORLD},
	{W("\n<wind>\n<linear_velocity>1 1e5 0</linear_velocity></wind>"), "t.sdf:3: <linear_velocity>", TROUPE_EWORLD},
	{JOINT("ball", "<physics><ode>\n<max_force>-1</max_force></ode></physics>"), "t.sdf:2: <max_force>",
		TROUPE_EWORLD},
	{JOINT("ball", "<physics><ode><limit>\n<erp>2</erp></limit></ode></physics>"), "t.sdf:2: <erp>", TROUPE_EWORLD},
	{"<mujoco/>", "the root element is <mujoco>: expected <sdf>", TROUPE_EWORLD},
	{"<sdf/>", "no version", TROUPE_EWORLD},
	{"<sdf version='new'/>", "\"new\" is no number", TROUPE_EWORLD},
	{"<!DOCTYPE s [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]><sdf version='1.9'><world name='&b;'/></sdf>",
		"an entity is declared: expected none", TROUPE_EWORLD},
	{"<!DOCTYPE s SYSTEM 'file:///etc/passwd'><sdf version='1.9'><world name='&x;'/></sdf>", "'x'", TROUPE_EWORLD},
	{SDF("1.9", "<world/>"), "<world> has no name", TROUPE_EWORLD},
	{SDF("1.9", "<world name='w'/>\n<world name='w'/>"), "t.sdf:2: a second <world> \"w\"", TROUPE_EWORLD},
	{W("<gravity>0 0</gravity>"), "<gravity> is \"0 0\": expected three numbers", TROUPE_EWORLD},
	{W("<gravity>0 0 nan</gravity>"), "<gravity> is \"0 0 nan\": expected from", TROUPE_EWORLD},
	{W("<gravity>0 0 -1e300</gravity>"), "<gravity>", TROUPE_EWORLD},
	{W("<physics><max_step_size>-0.1</max_step_size></physics>"), "<max_step_size> is \"-0.1\"", TROUPE_EWORLD},
	{W("<physics><max_step_size>0</max_step_size></physics>"), "<max_step_size> is 0: expected 1e-09 s or more",
		TROUPE_EWORLD},
	{W("<physics><real_time_factor>fast</real_time_factor></physics>"), "expected one number", TROUPE_EWORLD},
	{W("<include/>"), "no <uri>", TROUPE_EWORLD},
	{W("<include><uri>no/such/thing</uri></include>"), "\"no/such/thing\" is not found", TROUPE_EWORLD},
	{W("<model><link name='a'/></model>"), "<model> has no name", TROUPE_EWORLD},
	{W("<model name='m'/>"), "model \"m\" has no link", TROUPE_EWORLD},
	{W("<model name='m'>" LINK("a") "</model><model name='m'>" LINK("a") "</model>"), "the name is taken",
		TROUPE_EWORLD},
	{W("<model name='world'>" LINK("a") "</model>"), "\"world\" of <model> is reserved", TROUPE_EWORLD},
	{W("<model name='__m__'>" LINK("a") "</model>"), "reserved", TROUPE_EWORLD},
	{W("<model name='a::b'>" LINK("a") "</model>"), "contains \"::\"", TROUPE_EWORLD},
	{W("<model name='m'><pose relative_to='x'/>" LINK("a") "</model>"), "pose relative_to \"x\"", TROUPE_EWORLD},
	{W("<frame name='f'><pose relative_to='g'/></frame><frame name='g'><pose relative_to='f'/></frame>"),
		"depends on itself", TROUPE_EWORLD},
	{W("<frame name='f' attached_to='g'/><frame name='g' attached_to='f'/>"), "itself", TROUPE_EWORLD},
	{W("<model name='m'><pose relative_to='m::a'/>" LINK("a") "</model>"), "depends on itself", TROUPE_EWORLD},
	{M(LINK("a") LINK("a")), "the name is taken by the <link> of line 1", TROUPE_EWORLD},
	{M(LINK("a") "<frame name='a'/>"), "the name is taken", TROUPE_EWORLD},
	{M("<link/>"), "<link> has no name", TROUPE_EWORLD},
	{M("<pose>1 2 3</pose>" LINK("a")), "expected six numbers", TROUPE_EWORLD},
	{M("<pose>1 2 3 4 5 6 7</pose>" LINK("a")), "expected six numbers", TROUPE_EWORLD},
	{M("<pose>2e9 0 0 0 0 0</pose>" LINK("a")), "expected from -1e+09 to 1e+09", TROUPE_EWORLD},
	{M("<pose>inf 0 0 0 0 0</pose>" LINK("a")), "<pose> is \"inf", TROUPE_EWORLD},
	{M("<pose rotation_format='quat_xyzw'>0 0 0 0 0 0 0</pose>" LINK("a")), "not zero", TROUPE_EWORLD},
	{M("<pose rotation_format='quat_xyzw' degrees='true'>0 0 0 0 0 0 1</pose>" LINK("a")), "in degrees",
		TROUPE_EWORLD},
	{M("<pose rotation_format='matrix'>0 0 0 0 0 0</pose>" LINK("a")), "rotation_format is \"matrix\"",
		TROUPE_EWORLD},
	{SDF("1.9", "<model name='m' canonical_link='z'>" LINK("a") "</model>"),
		"canonical_link of model \"m\" is \"z\"", TROUPE_EWORLD},
	{SDF("1.9", "<model name='m' placement_frame='z'>" LINK("a") "</model>"), "placement_frame \"z\"",
		TROUPE_EWORLD},
	{M("<link name='a'><velocity_decay><linear>-1</linear></velocity_decay></link>"), "<linear> is \"-1\"",
		TROUPE_EWORLD},
	{INERTIAL("<mass>-1</mass>"), "<mass> is -1: expected 0 kg or more", TROUPE_EWORLD},
	{INERTIAL("<mass>0</mass><inertia><ixx>-1</ixx></inertia>"), "not that of a body", TROUPE_EWORLD},
	{INERTIAL("<mass>nan</mass>"), "<mass> is \"nan\"", TROUPE_EWORLD},
	{INERTIAL("<inertia><ixx>-1</ixx></inertia>"), "not that of a body", TROUPE_EWORLD},
	{INERTIAL("<inertia><ixx>5</ixx></inertia>"), "not that of a body", TROUPE_EWORLD},
	{INERTIAL("<inertia><ixy>2</ixy></inertia>"), "not that of a body", TROUPE_EWORLD},
	{INERTIAL("<inertia><ixx>inf</ixx></inertia>"), "<ixx> is \"inf\"", TROUPE_EWORLD},
	{BOX("<size>1 -1 1</size>"), "<size> is \"1 -1 1\": expected from 0 to", TROUPE_EWORLD},
	{BOX("<size>1 0 1</size>"), "<size> of <box> is 1 0 1: expected 1e-09 m or more", TROUPE_EWORLD},
	{BOX("<size>1 1</size>"), "expected three numbers", TROUPE_EWORLD},
	{SHAPE("<sphere><radius>0</radius></sphere>"), "<radius> of <sphere> is 0", TROUPE_EWORLD},
	{SHAPE("<cylinder><length>-2</length></cylinder>"), "<length> is \"-2\"", TROUPE_EWORLD},
	{SHAPE("<capsule><radius>1e10</radius></capsule>"), "<radius> is \"1e10\"", TROUPE_EWORLD},
	{SHAPE("<plane><normal>0 0 0</normal></plane>"), "<normal> is 0 0 0", TROUPE_EWORLD},
	{SHAPE("<plane><size>1 nan</size></plane>"), "<size> of <plane>", TROUPE_EWORLD},
	{M("<link name='a'><collision name='c'/><collision name='c'/></link>"), "a second <collision> \"c\"",
		TROUPE_EWORLD},
	{M("<link name='a'><visual name='v'/><visual name='v'/></link>"), "a second <visual> \"v\"", TROUPE_EWORLD},
	{M("<link name='a'><sensor name='s'/></link>"), "sensor \"s\" has no type", TROUPE_EWORLD},
	{M("<link name='a'><sensor name='s' type='imu'><update_rate>-3</update_rate></sensor></link>"), "<update_rate>",
		TROUPE_EWORLD},
	{M("<link name='a'><collision "
	   "name='c'><surface><friction><ode><mu>-1</mu></ode></friction></surface></collision></link>"),
		"<mu> is \"-1\"", TROUPE_EWORLD},
	{JOINT("hinge", ""), "the type \"hinge\": expected revolute", TROUPE_EWORLD},
	{JOINT("revolute", "<axis><xyz>0 0 0</xyz></axis>"), "expected a direction", TROUPE_EWORLD},
	{JOINT("revolute", "<axis><xyz expressed_in='q'>0 0 1</xyz></axis>"), "expressed_in \"q\"", TROUPE_EWORLD},
	{JOINT("revolute", "<axis><limit><lower>low</lower></limit></axis>"), "<lower> is \"low\"", TROUPE_EWORLD},
	{JOINT("revolute", "<axis><limit><lower>nan</lower></limit></axis>"), "<lower> is \"nan\"", TROUPE_EWORLD},
	{JOINT("revolute", "<axis><dynamics><damping>inf</damping></dynamics></axis>"), "<damping> is \"inf\"",
		TROUPE_EWORLD},
	{JOINT("screw", "<screw_thread_pitch>0</screw_thread_pitch>"), "thread pitch", TROUPE_EWORLD},
	{M(TWO "<joint name='j' type='fixed'><child>b</child></joint>"), "joint has no <parent>", TROUPE_EWORLD},
	{M(TWO "<joint name='j' type='fixed'><parent>a</parent></joint>"), "joint has no <child>", TROUPE_EWORLD},
	{M(TWO "<joint name='j' type='fixed'><parent>z</parent><child>b</child></joint>"),
		"<parent> of joint \"j\" is \"z\"", TROUPE_EWORLD},
	{M(TWO "<joint name='j' type='fixed'><parent>a</parent><child>z</child></joint>"),
		"<child> of joint \"j\" is \"z\"", TROUPE_EWORLD},
	{M(TWO "<joint name='j' type='fixed'><parent>a</parent><child>world</child></joint>"), "is the world",
		TROUPE_EWORLD},
	{M(TWO "<joint name='j' type='fixed'><parent>a</parent><child>a</child></joint>"), "the same link \"a\"",
		TROUPE_EWORLD},
	{M(TWO "<joint name='j' type='fixed'><parent>a</parent><child>j</child></joint>"), "joint \"j\"",
		TROUPE_EWORLD},
	{M(TWO "<joint name='j' type='fixed'><parent>__root__</parent><child>a</child></joint>"), "__root__",
		TROUPE_EWORLD},
	{M(TWO "<joint name='a' type='fixed'><parent>a</parent><child>b</child></joint>"), "the name is taken",
		TROUPE_EWORLD},
};

Test(sdf, bad_input_is_refused_with_its_place)
{
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct troupe_error error = {0};
		troupe_status status;
		struct sdf *sdf = load(bad[i].text, &status, &error);
		cr_assert_eq(status, bad[i].status, "status %d for %s", status, bad[i].text);
		cr_assert(!strncmp(error.text, "t.sdf:", 6), "no place in \"%s\"", error.text);
		cr_assert(strstr(error.text, bad[i].message) || sdf_help_says(sdf, SDF_ERROR, bad[i].message),
			"\"%s\" does not say \"%s\"", error.text, bad[i].message);
		cr_assert(strstr(error.text, "expected"), "\"%s\" does not say what was expected", error.text);
		cr_assert_eq(sdf->worlds.count, 0);
		cr_assert_gt(sdf->error_count, 0);
	}
}

Test(sdf, numbers_too_small_or_large_for_physics_are_refused)
{
	static const char *const texts[] = {
		INERTIAL("<mass>1e40</mass>"),
		INERTIAL("<inertia><ixx>1e-30</ixx><iyy>1e-30</iyy><izz>3e-30</izz></inertia>"),
		SHAPE("<sphere><radius>1e-320</radius></sphere>"),
		W("<physics><max_step_size>1e-320</max_step_size></physics>"),
		JOINT("revolute", "<axis><xyz>1e-160 0 0</xyz></axis>"),
		/* each within bounds, but not their sum */
		W("<model name='m'><pose>9e8 0 0 0 0 0</pose><link name='a'><pose>9e8 0 0 0 0 0</pose></link></model>"),
	};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct troupe_error error = {0};
		troupe_status status;
		(void)load(texts[i], &status, &error);
		cr_assert_eq(status, TROUPE_EWORLD, "%s", texts[i]);
		cr_assert(strstr(error.text, "expected"), "%s", error.text);
	}
	(void)good(INERTIAL("<mass>1e-6</mass><inertia><ixx>1e-12</ixx><iyy>1e-12</iyy><izz>1e-12</izz></inertia>"));
}

Test(sdf, attributes_are_limited)
{
	struct text text = {0};
	troupe_status status;
	struct troupe_error error;
	text_add(&text, "<sdf version='1.9'><!-- < = --><![CDATA[<]]><world name='w'><plugin name='=='");
	for (int i = 0; i < 500; i++)
		text_add(&text, " a%d='=\"=\">'", i);
	size_t enough = text.count;
	text_add(&text, "/></world></sdf>");
	(void)good(text.at);
	text.count = enough;
	for (int i = 500; i < 1001; i++)
		text_add(&text, " a%d=''", i);
	text_add(&text, "/></world></sdf>");
	(void)load(text.at, &status, &error);
	cr_assert_eq(status, TROUPE_ELIMIT);
	text_fini(&text);
}

Test(sdf, several_errors_are_collected_and_bounded)
{
	struct troupe_error error;
	troupe_status status;
	struct sdf *sdf = load(W("<gravity>x</gravity>\n<model name='m'>\n<pose>y</pose><link "
				 "name='a'><inertial>\n<mass>-1</mass></inertial></link></model>"),
		&status, &error);
	cr_assert_eq(sdf->error_count, 3);
	cr_assert(sdf_help_says(sdf, SDF_ERROR, "t.sdf:1: <gravity>") &&
		  sdf_help_says(sdf, SDF_ERROR, "t.sdf:3: <pose>") && sdf_help_says(sdf, SDF_ERROR, "t.sdf:4: <mass>"));
	struct text many = {0};
	text_add(&many, "<sdf version='1.9'><world name='w'>");
	for (int i = 0; i < 1000; i++)
		text_add(&many, "<model name='m%d'/>", i);
	text_add(&many, "</world></sdf>");
	sdf = load(many.at, &status, &error);
	cr_assert_eq(sdf->error_count, 1000);
	cr_assert_eq(sdf->messages.count, SDF_MESSAGES_MAX);
	text_fini(&many);
}

Test(sdf, what_users_files_contain_is_tolerated)
{
	static const char *const texts[] = {
		"<?xml version='1.0'?><!-- gz topic --echo --><sdf version='1.6'><world name='w'/></sdf>",
		" \n<?xml version='1.0'?>\n<sdf version='1.6'><world name='w'/></sdf>",
		"?xml version='1.0'?>\n<sdf version='1.6'><world name='w'/></sdf>",
		"<sdf version='1.6'><world name='w'><gz:x gz:y='1'><gz::z/></gz:x><nonsense/></world></sdf>",
		"<sdf version='1.6'><world name='w'><plugin name='p' filename='f'><link name='a'/><link "
		"name='a'/></plugin></world></sdf>",
		"<sdf version='1.6'><world name='w'><![CDATA[ words ]]></world></sdf>",
		SDF("1.9", "<world name='w'><gravity></gravity><physics><max_step_size/></physics></world>"),
		W("<model name='m'><static>yes</static>" LINK("a") "</model>"), /* false to Gazebo */
	};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		(void)good(texts[i]);
	struct sdf *sdf = good("\n\n <?xml version='1.0'?>\n<sdf version='1.6'><world name='w'>\n<model name='m'>" LINK(
		"a") "</model></world></sdf>");
	cr_assert_eq(sdf->worlds.at[0].models.at[0].line, 5);
}

/* A '&' that begins no reference stands for itself, as in Gazebo; in comments and CDATA it does so anyway. */
Test(sdf, a_bare_ampersand_is_text)
{
	struct sdf *sdf =
		good("<!-- a & b &c; --><sdf version='1.9'><world name='doors & walls'><model "
		     "name='a&amp;b&#33;&x'><link name='R&D'/><plugin name='p' "
		     "filename='f'><u>http://x/?a=1&b=2&</u><c><![CDATA[&amp;&]]></c></plugin></model></world></sdf>");
	const struct sdf_world *world = &sdf->worlds.at[0];
	cr_assert_str_eq(world->name, "doors & walls");
	cr_assert_str_eq(world->models.at[0].name, "a&b!&x");
	cr_assert_str_eq(world->links.at[0].name, "R&D");
	cr_assert_str_eq(sdf_child_text(world->plugins.at[0].element, "u"), "http://x/?a=1&b=2&");
	cr_assert_str_eq(sdf_child_text(world->plugins.at[0].element, "c"), "&amp;&");
	struct troupe_error error;
	troupe_status status;
	(void)load("<sdf version='1.9'>\n<world name='w'><model name='&x;'/></world></sdf>", &status, &error);
	cr_assert(status == TROUPE_EWORLD && strstr(error.text, "t.sdf:2: "), "%s", error.text);
}

/* Addresses of Fuel, for models and worlds, in the forms that Gazebo's tools and pages have. */
Test(sdf, addresses_of_fuel)
{
	static const struct {
		const char *uri, *owner, *kind, *name, *version, *rest;
	} rows[] = {
		{"https://fuel.gazebosim.org/1.0/OpenRobotics/worlds/Edifice%20X", "openrobotics", "worlds",
			"edifice x", NULL, NULL},
		{"https://app.gazebosim.org/Me/fuel/worlds/Edifice", "me", "worlds", "edifice", NULL, NULL},
		{"https://fuel.gazebosim.org/1.0/Me/models/Sun/2/files/A/b.dae", "me", "models", "sun", "2", "A/b.dae"},
	};
	struct arena arena = {0};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct fuel_address found = {0};
		cr_assert(fuel_parse(&arena, rows[i].uri, &found), "%s", rows[i].uri);
		cr_assert_str_eq(found.owner, rows[i].owner);
		cr_assert_str_eq(found.kind, rows[i].kind);
		cr_assert_str_eq(found.name, rows[i].name);
		cr_assert_str_eq(found.version ? found.version : "", rows[i].version ? rows[i].version : "");
		cr_assert_str_eq(found.rest ? found.rest : "", rows[i].rest ? rows[i].rest : "");
	}
	struct fuel_address none;
	cr_assert_not(fuel_parse(&arena, "https://fuel.gazebosim.org/1.0/OpenRobotics/worlds", &none));
	cr_assert_not(fuel_parse(&arena, "https://fuel.gazebosim.org/1.0/OpenRobotics/lamps/Sun", &none));
	arena_fini(&arena);
}

Test(sdf, warnings_come_once_per_kind)
{
	struct sdf *sdf = good(W("<nonsense/><nonsense/><model name='m'><nonsense/><link name='a'><collision "
				 "name='c'><geometry><blob/></geometry></collision></link></model>"));
	cr_assert_eq(sdf->warning_count, 1);
	cr_assert(sdf_help_says(sdf, SDF_WARNING, "<blob> is no known shape"));
	cr_assert_eq(sdf->worlds.at[0].collisions.at[0].shape->kind, SDF_EMPTY);
}

/* "parent/name count", then ? for an element that SDF does not know and * for an element on which no motion depends. */
static void assert_ignored(const struct sdf *sdf, const char *expected)
{
	uint32_t count;
	struct sdf_ignored *all = sdf_list_ignored(sdf, &count);
	struct text found = {0};
	text_add(&found, "%s", "");
	for (uint32_t i = 0; i < count; i++)
		text_add(&found, "%s%s/%s %u%s%s", i ? ", " : "", all[i].parent, all[i].name, all[i].count,
			all[i].known ? "" : "?", all[i].aside ? "*" : "");
	cr_assert_str_eq(found.at, expected, "%s", found.at);
	text_fini(&found);
	free(all);
}

Test(sdf, ignored_elements_are_listed)
{
	struct sdf *sdf = good(W("<nonsense/><nonsense/><model name='m'><nonsense/>" LINK("a") "</model>"));
	assert_ignored(sdf, "world/nonsense 2?, model/nonsense 1?");
	sdf = good(SDF("1.9",
		"<extra/><world name='w'><road/><population/><gui><plugin name='p' filename='f'/></gui><physics "
		"type='ode'><real_time_update_rate>1</real_time_update_rate><ode><solver><type>quick</"
		"type><precon_iters>1</precon_iters></solver></ode><dart/></physics></world>"));
	assert_ignored(sdf, "sdf/extra 1?, world/road 1*, world/population 1, "
			    "physics/real_time_update_rate 1*, solver/precon_iters 1, physics/dart 1");
}

/* What sensors measure depends on these elements. */
Test(sdf, surroundings_are_not_ignored)
{
	struct sdf *sdf = good(SDF("1.9",
		"<world name='w'><magnetic_field>1 2 "
		"3</magnetic_field><atmosphere><pressure>1</pressure><x/></atmosphere><scene><ambient>1 1 1 "
		"1</ambient><shadows>0</shadows><fog><type>linear</type><x/></fog></scene>"
		"<spherical_coordinates><latitude_deg>1</latitude_deg><x/></spherical_coordinates></world>"));
	assert_ignored(sdf, "atmosphere/x 1?, fog/x 1?, spherical_coordinates/x 1?");
}

/* An element that the loader or the scene reads is not ignored. */
Test(sdf, mimic_is_not_ignored)
{
	struct sdf *sdf = good(W("<model name='m'>" LINK("a") LINK("b")
			LINK("c") "<joint name='j' type='revolute'><parent>a</parent><child>b</child><axis><xyz>0 0 "
				  "1</xyz></axis></joint><joint name='k' "
				  "type='revolute'><parent>b</parent><child>c</child><axis><xyz>0 0 1</xyz><mimic "
				  "joint='j'><multiplier>2</multiplier><offset>0</offset><reference>0</reference><typo/"
				  "></mimic></axis></joint></model>"));
	assert_ignored(sdf, "mimic/typo 1?");
}

/* A spelling error may be the reason why the file is unreadable. */
Test(sdf, unknown_elements_of_an_unreadable_file_are_listed)
{
	static const char text[] =
		"<sdf version='1.9'><world name='w'><population/><model name='m'><link "
		"name='l'><mas>1</mas><inertial><mass>-1</mass></inertial></link></model></world></sdf>";
	struct sdf *sdf = NULL;
	struct troupe_error error;
	cr_assert_eq(sdf_load_text(text, strlen(text), "t.sdf", NULL, &sdf, &error), TROUPE_EWORLD);
	assert_ignored(sdf, "link/mas 1?");
	sdf_free(sdf);
}

Test(sdf, defaults_are_the_specification_s)
{
	struct sdf *sdf = good(W("<model name='m'><link name='a'><collision "
				 "name='c'><geometry><box/></geometry></collision><visual name='v'/></link></model>"));
	const struct sdf_world *world = &sdf->worlds.at[0];
	near3(world->gravity, 0, 0, -9.8);
	near(world->physics.max_step_size, 0.001);
	near(world->physics.real_time_factor, 1);
	cr_assert_null(world->physics.solver);
	cr_assert_eq(world->physics.iterations, 50);
	const struct sdf_link *link = &world->links.at[0];
	cr_assert(link->gravity && !link->kinematic && !link->self_collide && !link->inertial->automatic);
	near(link->inertial->mass, 1);
	near(link->inertial->ixx, 1);
	const struct sdf_collision *collision = &world->collisions.at[0];
	near3(collision->shape->size, 1, 1, 1);
	near(collision->surface->mu, 1);
	near(collision->surface->kp, 1e12);
	cr_assert_eq(collision->max_contacts, 10);
	cr_assert_eq(collision->surface->collide_bitmask, 0xffff);
	cr_assert_eq(collision->surface->fdir1_link, SDF_NONE);
	cr_assert(world->models.at[0].allow_auto_disable && !world->models.at[0].is_static);
}

Test(sdf, physics_and_surface_are_read)
{
	struct sdf *sdf = good(
		W("<physics name='a'><max_step_size>0.5</max_step_size></physics><physics name='b' "
		  "default='1'><max_step_size>0.25</max_step_size><ode><solver><type>world</type><iters>7</iters></"
		  "solver></ode></physics><model name='m'><self_collide>1</self_collide><link name='a'><collision "
		  "name='c'><max_contacts>3</max_contacts><surface><bounce><restitution_coefficient>0.5</"
		  "restitution_coefficient></bounce><friction><ode><mu>inf</mu><fdir1 gz:expressed_in='b'>0 1 "
		  "0</fdir1></ode></friction><contact><collide_bitmask>0x0f</collide_bitmask><category_bitmask>-1</"
		  "category_bitmask><ode><soft_erp>0.1</soft_erp></ode></contact></surface></collision></link><link "
		  "name='b'/></model>"));
	const struct sdf_world *world = &sdf->worlds.at[0];
	const struct sdf_surface *surface = world->collisions.at[0].surface;
	near(world->physics.max_step_size, 0.25);
	cr_assert_str_eq(world->physics.solver, "world");
	cr_assert_eq(world->physics.iterations, 7);
	cr_assert_eq(world->collisions.at[0].max_contacts, 3);
	cr_assert(isinf(surface->mu) && surface->mu2 == 1 && surface->soft_given);
	cr_assert_eq(surface->collide_bitmask, 15);
	cr_assert_eq(surface->category_bitmask, UINT32_MAX);
	cr_assert_eq(surface->fdir1_link, 1);
	near(surface->restitution, 0.5);
	cr_assert(world->links.at[0].self_collide);
}

Test(sdf, gravity_moved_from_physics_to_the_world)
{
	struct sdf *sdf = good(SDF("1.5", "<world name='w'><physics><gravity>0 0 -1</gravity></physics></world>"));
	near3(sdf->worlds.at[0].gravity, 0, 0, -1);
}

Test(sdf, wind_is_read_with_the_links_that_it_moves)
{
	struct sdf *sdf =
		good(W("<wind><linear_velocity>1 -2 3.5</linear_velocity></wind><model "
		       "name='m'><enable_wind>true</enable_wind>" LINK(
			       "a") "<link name='b'><enable_wind>false</enable_wind></link><model "
				    "name='n'>" LINK("a") "</model><model "
							  "name='o'><enable_wind>false</"
							  "enable_wind>" LINK("a") "<link "
										   "name='b'><enable_"
										   "wind>true</"
										   "enable_wind></link></"
										   "model></model><model "
										   "name='p'>" LINK("a") "</model>"));
	const struct sdf_world *world = &sdf->worlds.at[0];
	static const bool expected[] = {true, false, true, false, true, false}; /* in the order of the links */
	near3(world->wind, 1, -2, 3.5);
	cr_assert_eq(world->links.count, ARRAY_LEN(expected));
	for (size_t i = 0; i < ARRAY_LEN(expected); i++)
		cr_assert_eq(world->links.at[i].wind, expected[i], "%s", world->links.at[i].scoped);
	sdf = good(W("<model name='m'>" LINK("a") "</model>"));
	near3(sdf->worlds.at[0].wind, 0, 0, 0);
	cr_assert(!sdf->worlds.at[0].links.at[0].wind);
}

Test(sdf, what_is_ignored_of_a_joint_s_physics)
{
	struct sdf *sdf = good(JOINT("revolute",
		"<physics><provide_feedback>1</provide_feedback><simbody/><ode><max_force>1</max_force><velocity>2</"
		"velocity><cfm_damping>1</cfm_damping><implicit_spring_damper>1</implicit_spring_damper><bounce>0</"
		"bounce><fudge_factor>1</fudge_factor><suspension><erp>0.2</erp></suspension><limit><erp>0.25</"
		"erp><typo/></limit><solver/></ode></physics>"));
	const struct sdf_joint_ode *ode = sdf->worlds.at[0].joints.at[0].ode;
	near(ode->max_force, 1);
	near(ode->velocity, 2);
	near(ode->stop_erp, 0.25);
	cr_assert(isnan(ode->stop_cfm) && isnan(ode->erp) && isnan(ode->cfm));
	assert_ignored(sdf,
		"physics/simbody 1, ode/bounce 1, ode/fudge_factor 1, ode/suspension 1, limit/typo 1?, ode/solver 1?");
	sdf = good(W("<physics><ode><max_force>1</max_force></ode></physics>"));
	assert_ignored(sdf, "ode/max_force 1?");
}

Test(sdf, added_mass_is_read)
{
	struct sdf *sdf = good(INERTIAL("<mass>4</mass><fluid_added_mass><xx>1</xx><xr>0.25</xr><yq>-0.5</yq><zz>3</"
					"zz><qq>7</qq><qr>0.125</qr></fluid_added_mass>"));
	const struct mat6 *added = sdf->worlds.at[0].links.at[0].inertial->added;
	const struct mat6 expected = {{{1, 0, 0, 0, 0, 0.25}, {0, 0, 0, 0, -0.5, 0}, {0, 0, 3, 0, 0, 0}, {0},
		{0, -0.5, 0, 0, 7, 0.125}, {0.25, 0, 0, 0, 0.125, 0}}};
	cr_assert_not_null(added);
	cr_assert_arr_eq(added, &expected, sizeof expected);
	assert_ignored(sdf, "");
	sdf = good(M(LINK("a")));
	cr_assert_null(sdf->worlds.at[0].links.at[0].inertial->added);
}

Test(sdf, poses_are_relative_to_what_they_say)
{
	struct sdf *sdf =
		good(W("<frame name='f'><pose>10 0 0 0 0 1.5707963267948966</pose></frame><model name='m'><pose "
		       "relative_to='f'>1 0 0 0 0 0</pose><link name='a'><pose>0 0 1 0 0 0</pose><collision "
		       "name='c'><pose relative_to='b'>0 0 1 0 0 0</pose></collision></link><link name='b'><pose "
		       "relative_to='j'>1 0 0 0 0 0</pose></link><joint name='j' type='fixed'><pose "
		       "relative_to='n::x'/><parent>a</parent><child>b</child></joint><model name='n'><pose>0 0 5 0 0 "
		       "0</pose><link name='x'><pose>0 2 0 0 0 0</pose></link></model></model><model name='o'><pose "
		       "relative_to='m::n::x'>0 0 0.5 0 0 0</pose>" LINK("a") "</model>"));
	const struct sdf_world *world = &sdf->worlds.at[0];
	near3(world->models.at[0].in_world.p, 10, 1, 0);
	near3(link_in_world(sdf, "m::a").p, 10, 1, 1);
	near3(find_link(sdf, "m::b")->in_model->p, 1, 2, 5);
	near3(link_in_world(sdf, "m::b").p, 8, 2, 5);
	near3(sdf_collision_in_world(world, 0).p, 8, 2, 6);
	near3(world->collisions.at[0].in_link->p, 1, 2, 5);
	near3(link_in_world(sdf, "o::a").p, 8, 1, 5.5);
	near3(sdf_joint_in_world(world, &world->joints.at[0]).p, 8, 1, 5);
	near3(world->frames.at[0].in_world.p, 10, 0, 0);
}

Test(sdf, a_placement_frame_is_what_the_pose_places)
{
	struct sdf *sdf = good(W("<model name='m' placement_frame='n::b'><pose>0 0 10 0 0 0</pose>" LINK(
		"a") "<model name='n'><pose>1 0 0 0 0 0</pose><link name='b'><pose>0 2 0 0 0 "
		     "0</pose></link></model></model>"));
	near3(link_in_world(sdf, "m::n::b").p, 0, 0, 10);
	near3(sdf->worlds.at[0].models.at[0].in_world.p, -1, -2, 10);
}

Test(sdf, rotations_in_all_their_forms)
{
	struct sdf *sdf = good(M("<link name='a'><pose degrees='true'>0 0 0 0 0 90</pose></link><link name='b'><pose "
				 "rotation_format='quat_xyzw'>0 0 0 0 0 2 2</pose></link><link name='c'><pose>0 0 0 0 "
				 "0 1.5707963267948966</pose></link>"));
	for (uint32_t i = 0; i < 3; i++)
		near3(quat_rotate(sdf_link_in_world(&sdf->worlds.at[0], i).q, (struct vec3){1, 0, 0}), 0, 1, 0);
}

Test(sdf, the_canonical_link_of_a_model_without_links_is_that_of_a_nested_one)
{
	struct sdf *sdf = good(
		W("<model name='m'>" LINK("x") "</model><model name='o'><model "
					       "name='none'><static>true</static></model><model name='p'>" LINK("y")
						       LINK("z") "</model></model>"));
	const struct sdf_world *world = &sdf->worlds.at[0];
	static const uint32_t expected[] = {0, 1, SDF_NONE, 1}; /* of m, o, none and p: the links are x, y and z */
	cr_assert_eq(world->models.count, sizeof expected / sizeof *expected);
	for (uint32_t i = 0; i < world->models.count; i++)
		cr_assert_eq(world->models.at[i].canonical_link, expected[i], "%s: %u", world->models.at[i].scoped,
			world->models.at[i].canonical_link);
}

Test(sdf, models_are_contiguous_and_static_is_inherited)
{
#define STATIC_M                                                                                                       \
	"<model name='m'><static>true</static><model name='n'>" LINK("x") "<model name='k'>" LINK(                     \
		"z") "</model></model>" LINK("a") "</model>"
#define DEEP_O "<model name='o' canonical_link='p::y'>" LINK("c") "<model name='p'>" LINK("y") "</model></model>"
	struct sdf *sdf = good(W(STATIC_M DEEP_O));
	const struct sdf_world *world = &sdf->worlds.at[0];
	const struct sdf_model *m = &world->models.at[0], *n = &world->models.at[1], *o = &world->models.at[3];
	cr_assert_str_eq(world->models.at[2].scoped, "m::n::k");
	cr_assert(m->model_count == 3 && m->link_first == 0 && m->link_count == 3);
	cr_assert(n->model_count == 2 && n->link_first == 1 && n->link_count == 2 && n->parent == 0 && n->is_static);
	cr_assert(world->models.at[2].is_static && !o->is_static && o->parent == SDF_NONE);
	cr_assert_eq(m->canonical_link, 0);
	cr_assert_eq(o->canonical_link, 4);
	cr_assert_str_eq(world->links.at[4].scoped, "o::p::y");
}

Test(sdf, joints_know_links_axes_and_limits)
{
	struct sdf *sdf = good(W("<frame name='f'/><model name='m'><pose>0 0 0 0 0 1.5707963267948966</pose>" LINK(
		"a") "<link name='b'><pose>0 0 0 1.5707963267948966 0 0</pose></link><frame name='g' "
		     "attached_to='n'/><joint name='j' "
		     "type='revolute'><parent>world</parent><child>b</child><axis><xyz>0 0 "
		     "2</xyz><limit><lower>-1e16</lower><upper>2</upper><effort>-1</effort><velocity>3</velocity></"
		     "limit></axis></joint><joint name='k' "
		     "type='prismatic'><parent>g</parent><child>a</child><axis><xyz expressed_in='__model__'>1 0 "
		     "0</xyz></axis></joint><model name='n'>" LINK("x") "</model></model><joint name='w' "
									"type='fixed'><parent>f</parent><child>m::n</"
									"child></joint>"));
	const struct sdf_world *world = &sdf->worlds.at[0];
	const struct sdf_joint *j = &world->joints.at[0], *k = &world->joints.at[1], *w = &world->joints.at[2];
	cr_assert(j->parent == SDF_NONE && j->child == 1 && j->axis_count == 1);
	cr_assert_str_eq(j->parent_name, "world");
	near3(j->axis[0].xyz_world, 1, 0, 0);
	cr_assert(isinf(j->axis[0].lower) && j->axis[0].upper == 2 && isinf(j->axis[0].effort) &&
		  j->axis[0].velocity == 3);
	near(j->axis[0].lower_raw, -1e16);
	cr_assert_str_eq(k->parent_name, "n::x");
	near3(k->axis[0].xyz_world, 0, 1, 0);
	cr_assert(w->model == SDF_NONE && w->parent == SDF_NONE && w->child == 2);
	cr_assert_str_eq(w->child_name, "m::n::x");
	cr_assert_eq(world->models.at[0].joint_count, 2);
}

Test(sdf, joint_axes_of_old_versions)
{
#define OLD(version, flag)                                                                                             \
	SDF(version, "<model name='m'>" LINK(                                                                          \
			     "a") "<link name='b'><pose>0 0 0 1.5707963267948966 0 0</pose></link><joint name='j' "    \
				  "type='revolute'><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz>" flag      \
				  "</axis></joint></model>")
	static const struct {
		const char *text;
		bool in_model;
	} cases[] = {
		{OLD("1.4", ""), true},
		{OLD("1.5", ""), false},
		{OLD("1.6", "<use_parent_model_frame>true</use_parent_model_frame>"), true},
		{OLD("1.6", "<use_parent_model_frame>0</use_parent_model_frame>"), false},
		{OLD("1.9", "<use_parent_model_frame>true</use_parent_model_frame>"), false},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct sdf *sdf = good(cases[i].text);
		struct vec3 axis = sdf->worlds.at[0].joints.at[0].axis[0].xyz_world;
		if (cases[i].in_model)
			near3(axis, 0, 0, 1);
		else
			near3(axis, 0, -1, 0);
	}
}

Test(sdf, screws_and_missing_axes)
{
	struct sdf *sdf =
		good(M(TWO "<joint name='n' "
			   "type='screw'><parent>a</parent><child>b</child><screw_thread_pitch>0.5</"
			   "screw_thread_pitch></joint><joint name='o' "
			   "type='screw'><parent>a</parent><child>b</child><thread_pitch>-4</thread_pitch></"
			   "joint><joint name='u' type='universal'><parent>a</parent><child>b</child></joint>"));
	const struct sdf_world *world = &sdf->worlds.at[0];
	near(world->joints.at[0].thread_pitch, 4 * M_PI);
	near(world->joints.at[1].thread_pitch, 4);
	cr_assert_eq(world->joints.at[2].axis_count, 0);
	near3(world->joints.at[2].axis[0].xyz_world, 0, 0, 1);
	near3(world->joints.at[2].axis[1].xyz_world, 1, 0, 0);
	cr_assert(sdf_help_says(sdf, SDF_WARNING, "has 0 of the 2 axes"));
}

Test(sdf, a_world_joint_to_itself_is_left_out)
{
	struct sdf *sdf = good(
		W("<model name='m'>" TWO
		  "<joint name='j' type='fixed'><parent>a</parent><child>b</child></joint></model><joint name='x' "
		  "type='fixed'><parent>m::a</parent><child>m</child><sensor name='s' "
		  "type='force_torque'/></joint><joint name='y' "
		  "type='fixed'><parent>world</parent><child>m</child><sensor name='t' type='force_torque'/></joint>"));
	const struct sdf_world *world = &sdf->worlds.at[0];
	cr_assert_eq(world->joints.count, 2);
	cr_assert_str_eq(world->joints.at[1].name, "y");
	cr_assert(world->sensors.count == 1 && world->sensors.at[0].joint == 1);
	cr_assert_eq(world->models.at[0].joint_count, 1);
	cr_assert(sdf_help_says(sdf, SDF_WARNING, "with itself"));
}

/* Closed forms for solids of density 2: box m/12 (y2+z2), sphere 2/5 m r2, cylinder m/12 (3r2+l2), capsule and cone. */
Test(sdf, auto_inertia_of_each_shape)
{
#define SOLID(shape, size)                                                                                             \
	"<link name='" shape "'><inertial auto='true'><density>2</density></inertial><collision name='c'><geometry>"   \
	"<" shape ">" size "</" shape "></geometry></collision></link>"
#define SOLIDS                                                                                                         \
	SOLID("box", "<size>1 2 3</size>")                                                                             \
	SOLID("sphere", "<radius>0.5</radius>")                                                                        \
	SOLID("cylinder", "<radius>1</radius><length>3</length>")                                                      \
	SOLID("ellipsoid", "<radii>1 2 3</radii>")                                                                     \
	SOLID("capsule", "<radius>1</radius><length>2</length>")                                                       \
	SOLID("cone", "<radius>1</radius><length>2</length>")
	struct sdf *sdf = good(SDF("1.11", "<model name='m'>" SOLIDS "</model>"));
	const struct sdf_inertial *in = find_link(sdf, "m::box")->inertial;
	near(in->mass, 12);
	near(in->ixx, 12 * (4.0 + 9) / 12);
	near(in->izz, 12 * (1.0 + 4) / 12);
	in = find_link(sdf, "m::sphere")->inertial;
	near(in->iyy, 0.4 * in->mass * 0.25);
	in = find_link(sdf, "m::cylinder")->inertial;
	near(in->mass, 2 * M_PI * 3);
	near(in->ixx, in->mass * (3 + 9) / 12);
	near(in->izz, in->mass / 2);
	in = find_link(sdf, "m::ellipsoid")->inertial;
	near(in->ixx, in->mass * (4 + 9) / 5);
	in = find_link(sdf, "m::capsule")->inertial;
	double cylinder = 2 * M_PI * 2, caps = 2 * 4 * M_PI / 3;
	near(in->mass, cylinder + caps);
	near(in->izz, cylinder / 2 + caps * 2 / 5);
	near(in->ixx, cylinder * (3 + 4) / 12 + caps * (2.0 / 5 + 1 + 3.0 / 4));
	in = find_link(sdf, "m::cone")->inertial;
	near(in->mass, 2 * M_PI * 2 / 3);
	near(in->in_link.p.z, -0.5);
	near(in->izz, in->mass * 3 / 10);
	near(in->ixx, in->mass * (3.0 / 20 + 3.0 * 4 / 80));
}

Test(sdf, auto_inertia_adds_shapes_and_keeps_a_mass)
{
	struct sdf *sdf = good(
		SDF("1.11", "<model name='m'><link name='a'><inertial auto='true'><mass>6</mass></inertial><collision "
			    "name='u'><pose>1 0 0.5 0 0 1.5707963267948966</pose><geometry><box><size>1 1 "
			    "1</size></box></geometry></collision><collision name='d'><pose>1 0 -0.5 0 0 "
			    "0</pose><geometry><box><size>1 1 1</size></box></geometry></collision></link><link "
			    "name='b'><inertial auto='1'/><collision "
			    "name='c'><density>4</density><geometry><box/></geometry></collision></link></model>"));
	const struct sdf_inertial *in = find_link(sdf, "m::a")->inertial;
	cr_assert(in->automatic);
	near(in->mass, 6);
	near3(in->in_link.p, 1, 0, 0);
	near(in->ixx, 6 * (1.0 + 4) / 12);
	near(in->izz, 6 * 2.0 / 12);
	near(in->ixy, 0);
	near(find_link(sdf, "m::b")->inertial->mass, 4);
}

static const char *first_message(const struct sdf *sdf)
{
	return sdf->messages.count ? sdf->messages.at[0].text : "no message";
}

/* Libsdformat accepts masses and moments of 0; a step divides by them, so other values take their place, with a
 * warning that names them. What the file says stays what is printed. */
Test(sdf, inertias_of_nothing_are_replaced)
{
	static const struct {
		const char *text, *warning;
		double mass, ixx, iyy, izz, ixy;
	} cases[] = {
		{"<mass>1e-15</mass>", "is 1e-15 kg, too little for a simulation: 1e-06 kg is used", 1e-6, 1, 1, 1, 0},
		{"<mass>0</mass>", "is 0 kg, too little for a simulation: 1e-06 kg is used", 1e-6, 1, 1, 1, 0},
		{"<mass>1e-320</mass>", "1e-06 kg is used", 1e-6, 1, 1, 1, 0},
		/* a ball of water of 0.1 kg has a radius of 28.8 mm */
		{"<mass>0.1</mass><inertia><ixx>0</ixx><iyy>0</iyy><izz>0</izz></inertia>",
			"has the principal moments 0 0 0, too little for a simulation: ixx 3.31641e-05, iyy "
			"3.31641e-05, izz 3.31641e-05 kg m2 are used",
			0.1, 3.31641e-5, 3.31641e-5, 3.31641e-5, 0},
		{"<mass>1</mass><inertia><ixx>1e-30</ixx><iyy>1e-30</iyy><izz>1e-30</izz></inertia>",
			"principal moments", 1, 1.53934e-3, 1.53934e-3, 1.53934e-3, 0},
		/* a rod keeps its other moments */
		{"<mass>1</mass><inertia><ixx>0</ixx><iyy>2</iyy><izz>2</izz></inertia>",
			"ixx 0.002, iyy 2, izz 2 kg m2 are used", 1, 2e-3, 2, 2, 0},
		/* the same, turned by 45 degrees */
		{"<mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>2</izz><ixy>1</ixy></inertia>",
			"principal moments", 1, 1.001, 1.001, 2, 0.999},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[1000];
		struct text flat = {0};
		snprintf(text, sizeof text, M("<link name='a'><inertial>%s</inertial></link>"), cases[i].text);
		struct sdf *sdf = good(text);
		const struct sdf_inertial *in = find_link(sdf, "m::a")->inertial;
		cr_assert(sdf_help_says(sdf, SDF_WARNING, cases[i].warning), "%s: %s", text, first_message(sdf));
		cr_assert_eq(sdf->warning_count, 1);
		cr_assert_float_eq(in->mass, cases[i].mass, 1e-12);
		cr_assert_float_eq(in->ixx, cases[i].ixx, 1e-5 * cases[i].ixx);
		cr_assert_float_eq(in->iyy, cases[i].iyy, 1e-5 * cases[i].iyy);
		cr_assert_float_eq(in->izz, cases[i].izz, 1e-5 * cases[i].izz);
		cr_assert_float_eq(in->ixy, cases[i].ixy, 1e-9, "%g", in->ixy);
		sdf_print_flat(sdf, &flat);
		cr_assert(!strstr(flat.at, "0.002") && !strstr(flat.at, "1.001"), "%s", flat.at);
		text_fini(&flat);
	}
	/* a static model has no use for them */
	struct sdf *still = good(W(
		"<model name='m'><static>1</static><link name='a'><inertial><mass>0</mass></inertial></link></model>"));
	cr_assert_eq(still->warning_count, 0);
}

/* Gazebo keeps the numbers of a part's pose whose frame does not exist. Frames, links, joints and models must be right.
 */
Test(sdf, parts_in_unknown_frames_stay_where_they_stand)
{
	struct sdf *sdf =
		good(W("<light name='l'><pose relative_to='x'>1 2 3 0 0 0</pose></light><actor name='r'><pose "
		       "relative_to='x'>4 0 0 0 0 0</pose></actor><model name='m'><pose>0 0 1 0 0 0</pose><link "
		       "name='body'><pose>0 1 0 0 0 0</pose><visual name='v'><pose relative_to='bdy'>1 0 0 0 0 "
		       "0</pose></visual><collision name='c'><pose relative_to='x'>2 0 0 0 0 "
		       "0</pose></collision><light name='k'><pose relative_to='x'>3 0 0 0 0 0</pose></light><sensor "
		       "name='s' type='camera'><pose relative_to='x'>4 0 0 0 0 0</pose><camera><pose relative_to='x'>5 "
		       "0 0 0 0 0</pose></camera></sensor></link></model>"));
	const struct sdf_world *world = &sdf->worlds.at[0];
	cr_assert_eq(sdf->warning_count, 7);
	cr_assert(sdf_help_says(sdf, SDF_WARNING,
		"pose of <visual> is relative_to \"bdy\", which is not there: the pose counts from its link: expected "
		"the name of a link, joint, frame or model, such as \"body\""));
	near3(world->lights.at[0].in_world.p, 1, 2, 3);
	near3(world->actors.at[0].in_world.p, 4, 0, 0);
	near3(sdf_visual_in_world(world, 0).p, 1, 1, 1);
	near3(sdf_collision_in_world(world, 0).p, 2, 1, 1);
	near3(world->lights.at[1].in_world.p, 3, 1, 1);
	near3(world->sensors.at[0].in_world.p, 4, 1, 1);
	near3(world->sensors.at[0].settings->cameras[0].in_sensor.p, 5, 0, 0);
}

/* A joint between frames of one link holds nothing: Gazebo runs such a model, and so do we, without the joint. */
Test(sdf, a_joint_between_frames_of_a_link_is_left_out)
{
	static const char *const ends[][2] = {{"f", "g"}, {"a", "f"}, {"f", "a"}, {"__model__", "f"}};
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		char text[1000];
		snprintf(text, sizeof text,
			M(TWO "<frame name='f' attached_to='a'/><frame name='g' attached_to='f'><pose>1 0 0 0 0 "
			      "0</pose></frame><joint name='x' "
			      "type='revolute'><parent>%s</parent><child>%s</child><axis><xyz>0 0 "
			      "1</xyz></axis><sensor name='s' type='force_torque'/></joint><joint name='y' "
			      "type='fixed'><parent>g</parent><child>b</child></joint>"),
			ends[i][0], ends[i][1]);
		struct sdf *sdf = good(text);
		const struct sdf_world *world = &sdf->worlds.at[0];
		cr_assert_eq(world->joints.count, 1);
		cr_assert_str_eq(world->joints.at[0].name, "y");
		cr_assert_eq(world->sensors.count, 0);
		cr_assert(sdf_help_says(sdf, SDF_WARNING, "joint \"x\" connects \"a\" with itself: it is left out"),
			"%s", first_message(sdf));
	}
}

Test(sdf, physical_inertias_pass)
{
	/* a thin rod, a thin plate, and a body turned by 45 degrees */
	(void)good(INERTIAL("<inertia><ixx>1</ixx><iyy>1</iyy><izz>1e-9</izz></inertia>"));
	(void)good(INERTIAL("<inertia><ixx>1</ixx><iyy>1</iyy><izz>2</izz></inertia>"));
	(void)good(INERTIAL("<inertia><ixx>1.5</ixx><iyy>1.5</iyy><izz>2</izz><ixy>0.5</ixy></inertia>"));
	/* static models never move, so their inertia does not matter */
	(void)good(SDF("1.9",
		"<model name='m'><static>1</static><link name='a'><inertial><mass>0</mass></inertial></link></model>"));
}

Test(sdf, sensors_plugins_lights_actors)
{
	struct sdf *sdf =
		good(W("<plugin name='gz::sim' filename='dummy'><level name='l'/></plugin><light name='sun' "
		       "type='directional'><pose>0 0 10 0 0 0</pose></light><actor name='walker'/><model "
		       "name='m'><pose>1 0 0 0 0 0</pose><plugin name='p' filename='q'/><link name='a'><pose>0 1 0 0 0 "
		       "0</pose><light name='lamp' type='spot'><pose>0 0 1 0 0 0</pose></light><sensor name='s' "
		       "type='ray'><pose>0 0 2 0 0 0</pose><update_rate>5</update_rate></sensor></link></model>"));
	const struct sdf_world *world = &sdf->worlds.at[0];
	cr_assert_eq(world->plugins.count, 2);
	cr_assert_str_eq(world->plugins.at[0].name, "p");
	cr_assert(world->plugins.at[0].model == 0 && world->plugins.at[1].model == SDF_NONE);
	cr_assert_str_eq(sdf_attribute(sdf_child(world->plugins.at[1].element, "level", NULL), "name"), "l");
	cr_assert(world->lights.at[0].link == SDF_NONE && world->lights.at[1].link == 0);
	near3(world->lights.at[1].in_world.p, 1, 1, 1);
	cr_assert_str_eq(world->actors.at[0].name, "walker");
	cr_assert_str_eq(world->sensors.at[0].type, "lidar");
	near3(world->sensors.at[0].in_world.p, 1, 1, 2);
	near(world->sensors.at[0].update_rate, 5);
}

Test(sdf, elements_can_be_looked_into)
{
	struct sdf *sdf =
		good(W("<plugin name='p' filename='f' gz:x='&lt;&amp;&#65;'>\n<a> one &amp; <!-- no -->two "
		       "</a><a>2.5</a><b>TRUE</b><v>1 2 3 4</v><pose degrees='1'>0 0 0 0 0 180</pose></plugin>"));
	const struct sdf_element *plugin = sdf->worlds.at[0].plugins.at[0].element, *a = sdf_child(plugin, "a", NULL);
	struct troupe_error error;
	double value = 7;
	bool flag = false;
	struct vec3 v = {0, 0, 0};
	struct pose pose = POSE_IDENTITY;
	cr_assert_str_eq(sdf_attribute(plugin, "gz:x"), "<&A");
	cr_assert_null(sdf_attribute(plugin, "x"));
	cr_assert_str_eq(sdf_child_text(plugin, "a"), "one & two");
	cr_assert_eq(a->line, 2);
	cr_assert_str_eq(sdf_child(plugin, "a", a)->text, "2.5");
	cr_assert_null(sdf_child_text(plugin, "z"));
	cr_assert_null(sdf_child_text(NULL, "z"));
	cr_assert_eq(sdf_child_double(plugin, "z", 0, 1, &value, &error), TROUPE_OK);
	cr_assert_eq(sdf_child_double(NULL, "z", 0, 1, &value, &error), TROUPE_OK);
	near(value, 7);
	cr_assert_eq(sdf_child_double(plugin, "a", 0, 1, &value, &error), TROUPE_EWORLD);
	cr_assert_str_eq(error.text, "t.sdf:2: <a> is \"one & two\": expected one number");
	cr_assert_eq(sdf_child_bool(plugin, "b", &flag, &error), TROUPE_OK);
	cr_assert(flag);
	cr_assert_eq(sdf_child_bool(plugin, "v", &flag, &error), TROUPE_EWORLD);
	cr_assert_eq(sdf_child_vec3(plugin, "v", 0, 9, &v, &error), TROUPE_OK);
	near3(v, 1, 2, 3);
	cr_assert_eq(sdf_child_vec3(plugin, "v", 0, 2.5, &v, &error), TROUPE_EWORLD);
	cr_assert_eq(sdf_child_pose(plugin, &pose, &error), TROUPE_OK);
	near(fabs(pose.q.z), 1);
}

Test(sdf, flattened_models_are_restored)
{
	struct sdf *sdf = good(SDF("1.7",
		"<model name='m'><frame name='i::__model__' attached_to='i::l'><pose relative_to='__model__'>0 0 1 0 0 "
		"0</pose></frame><link name='i::l'><pose relative_to='i::__model__'>1 0 0 0 0 0</pose></link><link "
		"name='o'/><joint name='i::j' type='fixed'><parent>i::l</parent><child>o</child></joint></model>"));
	const struct sdf_world *world = &sdf->worlds.at[0];
	cr_assert_eq(world->models.count, 2);
	near3(link_in_world(sdf, "m::i::l").p, 1, 0, 1);
	cr_assert_str_eq(world->joints.at[0].parent_name, "i::l");
}

/* A folder of files that include each other; it is removed at the end. */
struct folder {
	char path[64];
};

static void folder_make(struct folder *folder)
{
	strcpy(folder->path, "test_sdf.XXXXXX");
	cr_assert_not_null(mkdtemp(folder->path));
}

static void folder_add(const struct folder *folder, const char *name, const char *text)
{
	char path[200];
	snprintf(path, sizeof path, "%s/%s", folder->path, name);
	char *slash = strrchr(path, '/');
	*slash = '\0';
	mkdir(path, 0700);
	*slash = '/';
	FILE *file = fopen(path, "w");
	cr_assert_not_null(file);
	fputs(text, file);
	fclose(file);
}

static void folder_remove(const struct folder *folder)
{
	char command[128];
	snprintf(command, sizeof command, "rm -r '%s'", folder->path);
	cr_assert_eq(system(command), 0);
}

static struct sdf *folder_load(const struct folder *folder, const char *name, troupe_status *ret_status)
{
	char path[200];
	struct troupe_error error;
	struct sdf *sdf;
	const char *paths[] = {folder->path, NULL};
	const struct sdf_options options = {.resource_paths = paths};
	snprintf(path, sizeof path, "%s/%s", folder->path, name);
	*ret_status = sdf_load_file(path, &options, &sdf, &error);
	return sdf_help_keep(sdf);
}

static void add_ball(const struct folder *folder)
{
	folder_add(folder, "ball/model.config",
		"<model><sdf version='1.5'>old.sdf</sdf><sdf version='1.10'>new.sdf</sdf><sdf "
		"version='1.99'>future.sdf</sdf></model>");
	folder_add(folder, "ball/old.sdf", SDF("1.5", "<model name='old'>" LINK("l") "</model>"));
	folder_add(folder, "ball/skin.obj", "");
	folder_add(folder, "ball/new.sdf",
		SDF("1.10", "<model name='ball'><pose>0 0 1 0 0 0</pose><link name='l'><pose>0 0 1 0 0 0</pose><visual "
			    "name='v'><geometry><mesh><uri>skin.obj</uri></mesh></geometry></visual><visual "
			    "name='u'><geometry><mesh><uri>model://ball/skin.obj</uri></mesh></geometry></visual></"
			    "link><frame name='top'><pose>0 0 3 0 0 0</pose></frame></model>"));
}

Test(sdf, includes_take_the_newest_file_and_are_overridden)
{
	struct folder folder;
	troupe_status status;
	folder_make(&folder);
	add_ball(&folder);
	folder_add(&folder, "w.sdf",
		W("<include><uri>model://ball</uri></include><include><uri>ball</uri><name>b2</name><pose>5 0 0 0 0 "
		  "0</pose><static>1</static><plugin name='p' "
		  "filename='q'/></include><include><uri>ball/new.sdf</uri><name>b3</name><placement_frame>top</"
		  "placement_frame><pose relative_to='b2'>0 0 0 0 0 0</pose></include><model name='n'>" LINK(
			  "x") "<include><uri>model://ball</uri></include></model>"));
	struct sdf *sdf = folder_load(&folder, "w.sdf", &status);
	cr_assert_eq(status, TROUPE_OK, "%s", first_message(sdf));
	const struct sdf_world *world = &sdf->worlds.at[0];
	cr_assert_eq(world->models.count, 5);
	near3(link_in_world(sdf, "ball::l").p, 0, 0, 2);
	near3(link_in_world(sdf, "b2::l").p, 5, 0, 1);
	near3(link_in_world(sdf, "b3::l").p, 5, 0, -2);
	near3(link_in_world(sdf, "n::ball::l").p, 0, 0, 2);
	cr_assert(world->models.at[1].is_static && world->models.at[1].plugin_count == 1 &&
		  !world->models.at[0].is_static);
	cr_assert_not_null(strstr(world->models.at[0].file, "ball/new.sdf"));
	for (uint32_t i = 0; i < world->visuals.count; i++)
		cr_assert(world->visuals.at[i].shape.path && strstr(world->visuals.at[i].shape.path, "ball/skin.obj"));
	folder_remove(&folder);
}

Test(sdf, merged_includes_keep_their_places)
{
	struct folder folder;
	troupe_status status;
	folder_make(&folder);
	folder_add(&folder, "arm/model.sdf",
		SDF("1.9", "<model name='arm'>" LINK(
				   "l1") "<link name='l2'><pose relative_to='f'/></link><frame name='f'><pose>0 0 2 0 "
					 "0 0</pose></frame><joint name='j' "
					 "type='revolute'><parent>l1</parent><child>l2</child><axis><xyz "
					 "expressed_in='__model__'>0 0 1</xyz></axis></joint></model>"));
	folder_add(&folder, "w.sdf",
		M(LINK("base") "<include merge='true'><uri>arm</uri><pose>1 0 0 0 1.5707963267948966 "
			       "0</pose></include><joint name='k' "
			       "type='fixed'><parent>base</parent><child>l1</child></joint>"));
	struct sdf *sdf = folder_load(&folder, "w.sdf", &status);
	cr_assert_eq(status, TROUPE_OK, "%s", first_message(sdf));
	cr_assert_eq(sdf->worlds.at[0].models.count, 1);
	near3(link_in_world(sdf, "m::l1").p, 1, 0, 0);
	near3(link_in_world(sdf, "m::l2").p, 3, 0, 0);
	near3(sdf->worlds.at[0].joints.at[0].axis[0].xyz_world, 1, 0, 0);
	folder_remove(&folder);
}

/* The pose of a merged include places the frame that it names, which is in the file or in the include. */
Test(sdf, merged_includes_are_placed_by_a_frame_of_theirs)
{
	static const struct {
		const char *attribute, *element;
	} cases[] = {{" placement_frame='tool'", ""}, {"", "<placement_frame>tool</placement_frame>"},
		{" placement_frame='base'", "<placement_frame>tool</placement_frame>"}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct folder folder;
		troupe_status status;
		char arm[600], world[400];
		folder_make(&folder);
		(void)snprintf(arm, sizeof arm,
			"<sdf version='1.9'><model name='arm'%s><pose>1 0 0 0 0 1.5707963267948966</pose><link "
			"name='base'/><link name='tool'><pose>2 0 1 0 0 0</pose></link></model></sdf>",
			cases[i].attribute);
		(void)snprintf(world, sizeof world,
			M("<link name='own'/><include merge='true'><uri>arm</uri>%s%s</include>"), cases[i].element,
			*cases[i].element ? "<pose>1 0 0 0 0 1.5707963267948966</pose>" : "");
		folder_add(&folder, "arm/model.sdf", arm);
		folder_add(&folder, "w.sdf", world);
		struct sdf *sdf = folder_load(&folder, "w.sdf", &status);
		cr_assert_eq(status, TROUPE_OK, "%s", first_message(sdf));
		near3(link_in_world(sdf, "m::tool").p, 1, 0, 0);
		near3(link_in_world(sdf, "m::base").p, 1, -2, -1);
		folder_remove(&folder);
	}
}

/* A model.config is taken as far as it can be read; the line that is told is that of the first of several '&'. */
Test(sdf, the_first_bare_ampersand_of_a_config_is_told)
{
	struct folder folder;
	troupe_status status;
	folder_make(&folder);
	folder_add(&folder, "ball/model.config",
		"<model>\n<name>a & b</name>\n\n<author>\nx & y</author><sdf version='1.9'>R&D.sdf</sdf></model>");
	folder_add(&folder, "ball/R&D.sdf", SDF("1.9", "<model name='ball'>" LINK("l") "</model>"));
	folder_add(&folder, "w.sdf", W("<include><uri>ball</uri></include>"));
	struct sdf *sdf = folder_load(&folder, "w.sdf", &status);
	cr_assert_eq(status, TROUPE_OK, "%s", first_message(sdf));
	cr_assert(sdf_help_says(sdf, SDF_WARNING, "ball/model.config:2: a '&' that begins no reference"), "%s",
		first_message(sdf));
	cr_assert(sdf_help_says(sdf, SDF_WARNING, "the file of the model is R&D.sdf"));
	folder_remove(&folder);
}

/* A model inside a merged model is merged with it. */
Test(sdf, merged_includes_bring_their_models)
{
	struct folder folder;
	troupe_status status;
	folder_make(&folder);
	folder_add(&folder, "arm/model.sdf",
		SDF("1.9", "<model name='arm'>" LINK("base") "<model name='hand'><pose>0 1 0 0 0 0</pose>" LINK(
				   "palm") "</model></model>"));
	folder_add(&folder, "w.sdf",
		M(LINK("own") "<include merge='true'><uri>arm</uri><pose>3 0 0 0 0 "
			      "1.5707963267948966</pose></include>"));
	struct sdf *sdf = folder_load(&folder, "w.sdf", &status);
	cr_assert_eq(status, TROUPE_OK, "%s", first_message(sdf));
	near3(link_in_world(sdf, "m::base").p, 3, 0, 0);
	near3(link_in_world(sdf, "m::hand::palm").p, 2, 0, 0);
	folder_remove(&folder);
}

/* Any number of merged includes may follow one another; only nesting is limited. */
Test(sdf, many_includes_are_merged)
{
	enum { COUNT = 2 * SDF_DEPTH_MAX + 5 };
	struct folder folder;
	troupe_status status;
	char name[64], text[300], *all = NULL;
	size_t bytes = 0;
	FILE *world = open_memstream(&all, &bytes);
	folder_make(&folder);
	(void)fprintf(world, "<sdf version='1.9'><model name='m'>" LINK("own"));
	for (int i = 0; i < COUNT; i++) {
		(void)snprintf(name, sizeof name, "part_%d.sdf", i);
		(void)snprintf(text, sizeof text,
			"<sdf version='1.9'><model name='part%d'><link name='l%d'/></model></sdf>", i, i);
		folder_add(&folder, name, text);
		(void)fprintf(world, "<include merge='true'><uri>%s</uri></include>", name);
	}
	(void)fprintf(world, "</model></sdf>");
	(void)fclose(world);
	folder_add(&folder, "w.sdf", all);
	struct sdf *sdf = folder_load(&folder, "w.sdf", &status);
	cr_assert_eq(status, TROUPE_OK, "%s", first_message(sdf));
	cr_assert_eq(sdf->worlds.at[0].links.count, COUNT + 1);
	folder_remove(&folder);
	free(all);
}

/* <static> in an <include> overrides <static> in the included model. */
Test(sdf, includes_say_what_is_static)
{
	static const struct {
		const char *own, *include;
		bool is_static;
	} cases[] = {{"", "<static>1</static>", true}, {"<static>0</static>", "<static>1</static>", true},
		{"<static>1</static>", "<static>0</static>", false}, {"<static>1</static>", "", true}, {"", "", false}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct folder folder;
		troupe_status status;
		char model[200], world[200];
		folder_make(&folder);
		(void)snprintf(model, sizeof model,
			"<sdf version='1.9'><model name='m'>%s<link name='l'/></model></sdf>", cases[i].own);
		(void)snprintf(world, sizeof world,
			"<sdf version='1.9'><world name='w'><include><uri>m</uri>%s</include></world></sdf>",
			cases[i].include);
		folder_add(&folder, "m/model.sdf", model);
		folder_add(&folder, "w.sdf", world);
		struct sdf *sdf = folder_load(&folder, "w.sdf", &status);
		cr_assert_eq(status, TROUPE_OK, "%s", first_message(sdf));
		cr_assert_eq(sdf->worlds.at[0].models.at[0].is_static, cases[i].is_static, "%s in %s", cases[i].own,
			cases[i].include);
		folder_remove(&folder);
	}
}

/* A pose may be given in a frame of a nested model whose own place comes later in the file. */
Test(sdf, frames_of_models_that_are_placed_later)
{
	struct sdf *sdf =
		good(M("<frame name='f'><pose relative_to='n::g'>1 0 0 0 0 0</pose></frame><link name='a'><pose "
		       "relative_to='f'>0 0 1 0 0 0</pose></link><model name='n'><pose relative_to='h'>0 2 0 0 0 "
		       "0</pose>" LINK("b") "<frame name='g'><pose>0 0 5 0 0 0</pose></frame></model><frame "
					    "name='h'><pose>10 0 0 0 0 1.5707963267948966</pose></frame>"));
	near3(link_in_world(sdf, "m::n::b").p, 8, 0, 0);
	near3(link_in_world(sdf, "m::a").p, 8, 1, 6);
}

/* The default of a joint's second axis never has the direction of the first axis. */
Test(sdf, second_axes_differ_from_first_ones)
{
	static const char *const axes[] = {
		"1 0 0", "-1 0 0", "0 1 0", "0 -1 0", "0 0 1", "0 0 -1", "0.7 0.7 0", "-0.95 0.1 0"};
	for (size_t i = 0; i < ARRAY_LEN(axes); i++) {
		char text[400];
		(void)snprintf(text, sizeof text,
			"<sdf version='1.9'><model name='m'>" TWO "<joint name='j' "
			"type='universal'><parent>a</parent><child>b</child><axis><xyz>%s</xyz></axis></joint></"
			"model></sdf>",
			axes[i]);
		struct sdf *sdf = good(text);
		const struct sdf_joint *joint = &sdf->worlds.at[0].joints.at[0];
		cr_assert(
			fabs(vec3_dot(joint->axis[0].xyz_world, joint->axis[1].xyz_world)) < 0.95, "axis %s", axes[i]);
	}
}

#define JOINTED(name, axis)                                                                                            \
	"<world name='" name "'><model name='m'>" TWO "<joint name='j' type='revolute'><parent>a</parent>"             \
	"<child>b</child><axis>" axis "</axis></joint></model></world>"

Test(sdf, joints_of_each_world_have_their_own_axes)
{
	struct sdf *sdf = good("<sdf version='1.9'>" JOINTED("v", "<xyz>1 0 0</xyz>")
			JOINTED("w", "<xyz>0 1 0</xyz><limit><upper>3</upper></limit>") "</sdf>");
	near3(sdf->worlds.at[0].joints.at[0].axis[0].xyz_world, 1, 0, 0);
	near3(sdf->worlds.at[1].joints.at[0].axis[0].xyz_world, 0, 1, 0);
	cr_assert_eq(sdf->worlds.at[1].joints.at[0].axis[0].upper, 3);
}

Test(sdf, includes_that_cannot_be_are_refused)
{
	static const struct {
		const char *name, *text, *message;
	} cases[] = {
		{"self.sdf", M(LINK("a") "<include><uri>self.sdf</uri></include>"), "includes itself"},
		{"ring.sdf", M(LINK("a") "<include><uri>ring2.sdf</uri></include>"), "includes itself"},
		{"merge.sdf", M(LINK("a") "<include merge='1'><uri>merge2.sdf</uri></include>"), "includes itself"},
		{"empty.sdf", W("<include><uri>hollow</uri></include>"), "holds no model"},
		{"world.sdf", W("<include><uri>world2.sdf</uri></include>"), "holds no model, light or actor"},
		{"broken.sdf", W("<include><uri>broken2.sdf</uri></include>"), "broken2.sdf:1: "},
		{"place.sdf", W("<include><uri>ball</uri><placement_frame>top</placement_frame></include>"),
			"no <pose>"},
		{"none.sdf", W("<include><uri>model://nothing</uri></include>"), "not found"},
	};
	struct folder folder;
	folder_make(&folder);
	add_ball(&folder);
	folder_add(&folder, "ring2.sdf", M(LINK("a") "<include><uri>ring3.sdf</uri></include>"));
	folder_add(&folder, "ring3.sdf", M(LINK("a") "<include><uri>ring.sdf</uri></include>"));
	folder_add(&folder, "merge2.sdf", M(LINK("a2") "<include merge='1'><uri>merge2.sdf</uri></include>"));
	folder_add(&folder, "hollow/readme", "");
	folder_add(&folder, "world2.sdf", W(""));
	folder_add(&folder, "broken2.sdf", "<sdf version='1.9'><model name='m'>");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		troupe_status status;
		folder_add(&folder, cases[i].name, cases[i].text);
		struct sdf *sdf = folder_load(&folder, cases[i].name, &status);
		cr_assert_eq(status, TROUPE_EWORLD, "%s", cases[i].name);
		cr_assert(sdf_help_says(sdf, SDF_ERROR, cases[i].message), "%s: %s", cases[i].name, first_message(sdf));
	}
	folder_remove(&folder);
}

Test(sdf, a_bomb_of_includes_ends_at_a_limit)
{
	struct folder folder;
	troupe_status status;
	folder_make(&folder);
	for (int i = 0; i < SDF_DEPTH_MAX + 2; i++) {
		char name[32], text[300];
		snprintf(name, sizeof name, "b%d.sdf", i);
		snprintf(text, sizeof text, M(LINK("a") "<include><uri>b%d.sdf</uri></include>"), i + 1);
		folder_add(&folder, name, text);
	}
	struct sdf *sdf = folder_load(&folder, "b0.sdf", &status);
	cr_assert_eq(status, TROUPE_ELIMIT);
	cr_assert(sdf_help_says(sdf, SDF_ERROR, "nested too deeply"));
	folder_remove(&folder);
}

Test(sdf, remote_includes_are_left_out_with_a_warning_for_each)
{
	struct sdf *sdf = good(W(
		"<include><uri>https://example.org/a/Tree</uri></include><include><uri>https://example.org/a/Rock</"
		"uri></include><model name='m'>" LINK(
			"a") "</model><model name='o'><include><uri>http://example.org/x</uri></include></model><frame "
			     "name='f' attached_to='Tree'/><joint name='j' "
			     "type='fixed'><parent>m</parent><child>Rock::link</child></joint>"));
	cr_assert_eq(sdf->worlds.at[0].models.count, 2);
	cr_assert_eq(sdf->worlds.at[0].joints.count, 0);
	cr_assert_eq(sdf->warning_count, 4);
	cr_assert(
		sdf_help_says(sdf, SDF_WARNING,
			"<include> of \"https://example.org/a/Tree\" is on another machine, and is not found: expected "
			"a copy in a resource path or in a cache of Fuel, such as ~/.gz/fuel; it is left out") &&
		sdf_help_says(sdf, SDF_WARNING, "so is the joint"));
}

Test(sdf, depth_is_limited)
{
	struct text deep = {0};
	troupe_status status;
	struct troupe_error error;
	text_add(&deep, "<sdf version='1.9'>");
	for (int i = 0; i < 1000; i++)
		text_add(&deep, "<world name='w'>");
	(void)load(deep.at, &status, &error);
	cr_assert_eq(status, TROUPE_ELIMIT);
	cr_assert_not_null(strstr(error.text, "nested too deeply"));
	text_fini(&deep);
}

Test(sdf, a_long_chain_of_frames_costs_no_stack)
{
	enum { COUNT = 100000 };
	struct text text = {0};
	text_add(&text, "<sdf version='1.9'><world name='w'><model name='m'><link name='l'/>");
	for (int i = 0; i < COUNT; i++)
		text_add(&text, "<frame name='f%d' attached_to='f%d'><pose>0 0 1 0 0 0</pose></frame>", i, i + 1);
	text_add(&text, "<frame name='f%d'/></model></world></sdf>", COUNT);
	struct sdf *sdf = good(text.at);
	near(sdf->worlds.at[0].frames.at[0].in_world.p.z, COUNT);
	text_fini(&text);
}

static char *flat(const struct sdf *sdf)
{
	struct text out = {0};
	sdf_print_flat(sdf, &out);
	text_add_bytes(&out, "", 0);
	return out.at;
}

/* Printing, reading and printing again gives the same text. */
static void check_round_trip(const struct sdf *sdf, const char *path)
{
	struct text printed = {0};
	struct troupe_error error = {0};
	struct sdf *again;
	sdf_print(sdf, &printed);
	troupe_status status = sdf_load_text(printed.at, printed.count, path, NULL, &again, &error);
	cr_assert_eq(status, TROUPE_OK, "%s printed: %s", path, error.text);
	char *before = flat(sdf), *after = flat(again);
	cr_assert(!strcmp(before, after), "%s is not the same when it is printed and read again", path);
	free(before);
	free(after);
	text_fini(&printed);
	sdf_free(again);
}

Test(sdf, marks_in_names_are_printed_and_read_again)
{
	static const char name[] = "\"a\" & <b> 'c'";
	struct text printed = {0};
	struct troupe_error error = {0};
	struct sdf *again,
		*sdf = good(W("<model name='&quot;a&quot; &amp; &lt;b&gt; &apos;c&apos;'>" LINK(
			"l") "<plugin name='p' filename='x'><t u='&quot;a&quot; &amp; &lt;b&gt; "
			     "&apos;c&apos;'>&quot;a&quot; &amp; &lt;b&gt; &apos;c&apos;</t></plugin></model>"));
	sdf_print(sdf, &printed);
	cr_assert_eq(sdf_load_text(printed.at, printed.count, "again.sdf", NULL, &again, &error), TROUPE_OK, "%s",
		error.text);
	const struct sdf_element *t = sdf_child(again->worlds.at[0].plugins.at[0].element, "t", NULL);
	cr_assert_str_eq(again->worlds.at[0].models.at[0].name, name);
	cr_assert_str_eq(sdf_attribute(t, "u"), name);
	cr_assert_str_eq(t->text, name);
	text_fini(&printed);
	sdf_free(again);
}

Test(sdf, flat_lines_are_sorted_and_rounded)
{
	struct sdf *sdf =
		good(W("<model name='m'><pose>-1e-9 0 1 0 0 6.283185307179586</pose>" TWO "<joint name='j' "
		       "type='revolute'><parent>a</parent><child>b</child><axis/></joint></model><light name='sun'/>"));
	char *text = flat(sdf);
	cr_assert_str_eq(text,
		"joint m::j revolute parent a child b pose 0.000000 0.000000 1.000000 1.000000 0.000000 0.000000 "
		"0.000000 axis0 0.000000 0.000000 1.000000 -10000000000000000.000000 10000000000000000.000000 damping "
		"0.000000\n"
		"light sun\n"
		"link m::a pose 0.000000 0.000000 1.000000 1.000000 0.000000 0.000000 0.000000 mass 1.000000 com "
		"0.000000 0.000000 0.000000 inertia 1.000000 1.000000 1.000000 0.000000 0.000000 0.000000\n"
		"link m::b pose 0.000000 0.000000 1.000000 1.000000 0.000000 0.000000 0.000000 mass 1.000000 com "
		"0.000000 0.000000 0.000000 inertia 1.000000 1.000000 1.000000 0.000000 0.000000 0.000000\n"
		"model m static=0 pose 0.000000 0.000000 1.000000 1.000000 0.000000 0.000000 0.000000\n"
		"world w gravity 0.000000 0.000000 -9.800000 step 0.001000 rtf 1.000000\n");
	free(text);
}

/* Each kind of joint says how many axes it needs, and is told once when it has fewer; one with enough is not. */
Test(sdf, joints_with_too_few_axes_are_told)
{
#define JOINT_AXIS "<axis><xyz>0 0 1</xyz></axis>"
#define JOINT_AXES JOINT_AXIS "<axis2><xyz>1 0 0</xyz></axis2>"
	static const struct {
		const char *text, *expected; /* NULL: nothing is told */
	} cases[] = {{JOINT("revolute", ""), "is revolute but has 0 of the 1 axes it needs"},
		{JOINT("revolute", JOINT_AXIS), NULL},
		{JOINT("continuous", ""), "is continuous but has 0 of the 1 axes it needs"},
		{JOINT("prismatic", ""), "is prismatic but has 0 of the 1 axes it needs"},
		{JOINT("screw", ""), "is screw but has 0 of the 1 axes it needs"}, {JOINT("screw", JOINT_AXIS), NULL},
		{JOINT("universal", JOINT_AXIS), "is universal but has 1 of the 2 axes it needs"},
		{JOINT("universal", JOINT_AXES), NULL},
		{JOINT("revolute2", JOINT_AXIS), "is revolute2 but has 1 of the 2 axes it needs"},
		{JOINT("revolute2", JOINT_AXES), NULL},
		{JOINT("gearbox", JOINT_AXIS), "is gearbox but has 1 of the 2 axes it needs"},
		{JOINT("gearbox", JOINT_AXES), NULL}, {JOINT("fixed", ""), NULL}, {JOINT("ball", ""), NULL}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		troupe_status status;
		struct troupe_error error = {0};
		struct sdf *sdf = load(cases[i].text, &status, &error);
		cr_expect_eq(sdf_help_says(sdf, SDF_WARNING, cases[i].expected ? cases[i].expected : "axes it needs"),
			cases[i].expected != NULL, "%s", cases[i].text);
	}
}

/* Of robots that differ by name and pose only, the links, joints and sensors are the same elements. */
Test(sdf, equal_elements_are_stored_once)
{
	struct text text = {0}, printed = {0}, again = {0};
	text_add(&text, "<sdf version='1.9'><world name='w'>");
	for (int i = 0; i < 3; i++)
		text_add(&text,
			"<model name='m%d'><pose>%d 0 0 0 0 0</pose><frame name='f' attached_to='%c'/><link name='a'>"
			"<sensor name='s' type='imu'/></link><link name='b'/><joint name='j' type='fixed'>"
			"<parent>a</parent><child>f</child></joint><joint name='k' type='revolute'><parent>a</parent>"
			"<child>b</child><axis><xyz>0 0 1</xyz></axis></joint></model>",
			i, i, i == 1 ? 'a' : 'b');
	text_add(&text, "</world></sdf>");
	struct sdf *sdf = sdf_help_keep(sdf_help_good(text.at, NULL));
	const struct sdf_world *world = &sdf->worlds.at[0];
	cr_assert_eq(world->links.count, 6);
	cr_assert_eq(world->sensors.count, 3);
	cr_assert_eq(world->joints.count, 5, "the second model joins a link with itself");
	cr_assert_eq(world->links.at[0].element, world->links.at[4].element);
	cr_assert_eq(world->sensors.at[0].element, world->sensors.at[1].element);
	cr_assert_eq(world->joints.at[1].element, world->joints.at[2].element);
	cr_assert_neq(world->models.at[0].element, world->models.at[2].element);
	sdf_print(sdf, &printed);
	sdf_print(sdf_help_keep(sdf_help_good(printed.at, NULL)), &again);
	cr_assert_str_eq(printed.at, again.at);
	int joints = 0;
	for (const char *at = printed.at; (at = strstr(at, "<joint ")); at++)
		joints++;
	cr_assert_eq(joints, 5);
	text_fini(&text);
	text_fini(&printed);
	text_fini(&again);
}

Test(sdf, what_is_printed_reads_as_the_same)
{
	struct sdf *sdf = good(SDF("1.6",
		"<world name='w &amp; &lt;'><physics><gravity>1 1 1</gravity></physics><plugin name='p' "
		"filename='f'><a>x &lt; y</a></plugin><frame name='f'><pose>1 2 3 0.1 0.2 0.3</pose></frame><model "
		"name='m' placement_frame='b'><pose relative_to='f'>1 0 0 0 0 1</pose>" LINK(
			"a") "<link name='b'><pose relative_to='a'>0 1 0 1 0 0</pose><light name='l'><pose>0 0 1 0 0 "
			     "0</pose></light></link><model name='n'><link name='z'/></model><joint name='j' "
			     "type='revolute'><parent>n</parent><child>b</child><axis><xyz>0 1 "
			     "1</xyz><use_parent_model_frame>1</use_parent_model_frame></axis></joint></model><light "
			     "name='l' type='spot'/><actor name='q'/></world>"));
	check_round_trip(sdf, "t.sdf");
	sdf = good(SDF("1.9", "<light name='l' type='point'/>"));
	check_round_trip(sdf, "t.sdf");
}

#define CORPUS SOURCE_DIR "/../shared/corpus"

typedef void (*file_fn)(const char *path, const char *name);

static unsigned each_file(const char *folder, const char *suffix, file_fn fn)
{
	char path[2000];
	unsigned count = 0;
	snprintf(path, sizeof path, CORPUS "/%s", folder);
	DIR *dir = opendir(path);
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		size_t length = strlen(entry->d_name), tail = strlen(suffix);
		if (length <= tail || strcmp(entry->d_name + length - tail, suffix))
			continue;
		snprintf(path, sizeof path, CORPUS "/%s/%s", folder, entry->d_name);
		fn(path, entry->d_name);
		count++;
	}
	if (dir)
		closedir(dir);
	return count;
}

static void check_accepted(const char *path, const char *name)
{
	struct troupe_error error = {0};
	struct sdf *sdf;
	troupe_status status = sdf_load_file(path, NULL, &sdf, &error);
	cr_assert_eq(status, TROUPE_OK, "%s: %s", name, error.text);
	if (!status)
		check_round_trip(sdf, path);
	sdf_free(sdf);
}

static void check_rejected(const char *path, const char *name)
{
	struct troupe_error error = {0};
	struct sdf *sdf;
	cr_assert_eq(sdf_load_file(path, NULL, &sdf, &error), TROUPE_EWORLD, "%s is accepted", name);
	cr_assert(!strncmp(error.text, path, strlen(path)) && error.text[strlen(path)] == ':', "%s: no place in \"%s\"",
		name, error.text);
	sdf_free(sdf);
}

/* The words of a line up to the first number are its key; the keys of a world's lines all differ. */
static bool same_number(const char *a, const char *b)
{
	double x, y;
	if (!strcmp(a, b))
		return true;
	if (!parse_double(a, &x) || !parse_double(b, &y))
		return false;
	return fabs(x - y) <= 1e-4 * fmax(1, fmax(fabs(x), fabs(y)));
}

static bool same_line(const char *a, const char *b)
{
	char left[4096], right[4096], *left_rest, *right_rest;
	snprintf(left, sizeof left, "%s", a);
	snprintf(right, sizeof right, "%s", b);
	char *l = strtok_r(left, " ", &left_rest), *r = strtok_r(right, " ", &right_rest);
	while (l && r && same_number(l, r)) {
		l = strtok_r(NULL, " ", &left_rest);
		r = strtok_r(NULL, " ", &right_rest);
	}
	return !l && !r;
}

/* Both texts are sorted by the same names, but perhaps not by the same numbers: so a few lines around are compared,
 * too. */
static void compare_lines(char *expected, char *got, const char *name)
{
	VEC(char *) want = {0};
	VEC(char *) have = {0};
	char *rest;
	for (char *line = strtok_r(expected, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		vec_push(&want, line);
	for (char *line = strtok_r(got, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		vec_push(&have, line);
	cr_assert_eq(want.count, have.count, "%s: %u lines, not %u", name, have.count, want.count);
	for (uint32_t i = 0; i < want.count; i++) {
		bool found = i < have.count && same_line(want.at[i], have.at[i]);
		for (uint32_t k = 0; !found && k < have.count; k++)
			found = same_line(want.at[i], have.at[k]);
		cr_assert(found, "%s: nothing like \"%s\"", name, want.at[i]);
	}
	vec_free(&want);
	vec_free(&have);
}

static void check_expected(const char *path, const char *name)
{
	char sdf_path[2000];
	char *expected;
	size_t bytes;
	struct troupe_error error = {0};
	struct sdf *sdf;
	const char *set = strstr(path, "/expected/") + strlen("/expected/");
	snprintf(sdf_path, sizeof sdf_path, CORPUS "/%.*s", (int)(strlen(set) - strlen(".txt")), set);
	cr_assert_eq(infile_read(path, 1 << 28, &expected, &bytes, &error), TROUPE_OK, "%s", error.text);
	cr_assert_eq(sdf_load_file(sdf_path, NULL, &sdf, &error), TROUPE_OK, "%s", error.text);
	char *got = flat(sdf);
	compare_lines(expected, got, name);
	free(got);
	free(expected);
	sdf_free(sdf);
}

/* Skips the calling test if there is no corpus. Criterion's totals leave skipped tests out; tests/summary counts the
 * line. */
static void need_corpus(void)
{
	if (access(CORPUS, R_OK) == 0)
		return;
	printf("skipped: real files: the corpus is not beside the source folder\n");
	fflush(stdout);
	cr_skip("no corpus");
}

static const char *const sets[] = {"gz-examples", "gz-test", "sdformat"};

Test(sdf, corpus_means_what_another_loader_says, .timeout = 120)
{
	unsigned count = 0;
	need_corpus();
	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		char folder[64];
		snprintf(folder, sizeof folder, "expected/%s", sets[i]);
		count += each_file(folder, ".txt", check_expected);
	}
	cr_assert_gt(count, 100);
}

Test(sdf, corpus_reads_the_same_when_printed, .timeout = 120)
{
	need_corpus();
	for (size_t i = 0; i < ARRAY_LEN(sets); i++)
		cr_assert_gt(each_file(sets[i], ".sdf", check_accepted), 10);
	each_file("gz-distributed", ".sdf", check_accepted);
}

Test(sdf, corpus_of_bad_files_is_refused, .timeout = 60)
{
	need_corpus();
	cr_assert_gt(each_file("rejected", ".sdf", check_rejected), 10);
}

/* Each file is told of once, where it is first named. */
Test(sdf, files_that_are_not_there_are_told_once)
{
	static const char *const expected[] = {
		"t.sdf:2: \"model://none/a.obj\" of model \"m\" is not found beside t.sdf or above it: expected a file "
		"or folder that is there",
		"t.sdf:4: \"none.png\" of model \"n\" is not found beside t.sdf or above it: expected a file or folder "
		"that is there",
		"t.sdf:5: \"https://x/a.obj\" of model \"n\" is on another machine, and is not found: expected a copy "
		"in a resource path or in a cache of Fuel, such as ~/.gz/fuel",
	};
	struct sdf *sdf =
		good("<sdf version='1.9'><world name='w'><model name='m'><link name='l'><visual name='v'><geometry>\n"
		     "<mesh><uri>model://none/a.obj</uri></mesh></geometry></visual><collision name='c'><geometry>\n"
		     "<mesh><uri>model://none/a.obj</uri></mesh></geometry></collision></link></model><model "
		     "name='n'><link name='l'><visual "
		     "name='v'><geometry>\n<heightmap><uri>none.png</uri></heightmap></geometry></visual><visual "
		     "name='w'><geometry>\n<mesh><uri>https://x/a.obj</uri></mesh></geometry></visual><visual "
		     "name='x'><geometry>\n"
		     "<mesh><uri>http://x/b.obj</uri></mesh></geometry></visual></link></model></world></sdf>");
	uint32_t told = 0;
	for (uint32_t i = 0; i < sdf->messages.count; i++)
		if (strstr(sdf->messages.at[i].text, "is not found") ||
			strstr(sdf->messages.at[i].text, "another machine")) {
			cr_assert_lt(told, ARRAY_LEN(expected), "one more: %s", sdf->messages.at[i].text);
			cr_assert_str_eq(sdf->messages.at[i].text, expected[told], "%s: expected %s",
				sdf->messages.at[i].text, expected[told]);
			cr_assert_eq(sdf->messages.at[i].severity, SDF_WARNING);
			told++;
		}
	cr_assert_eq(told, ARRAY_LEN(expected));
}

/* Of the folders four are named, and the others are counted. */
Test(sdf, folders_in_which_a_file_was_sought)
{
	static const char *const after[] = {", above it or in /no/1:", ", above it, in /no/1 or in /no/2:",
		", above it, in /no/1, in /no/2 or in /no/3:", ", in /no/2, in /no/3 or in /no/4:",
		", in /no/2, in /no/3, in /no/4 or in 1 other folder:", ", in /no/3, in /no/4 or in 2 other folders:"};
	static const char *const all[] = {"/no/1", "/no/2", "/no/3", "/no/4", "/no/5", "/no/6"};
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		const char *folders[ARRAY_LEN(all) + 1] = {NULL};
		memcpy(folders, all, (i + 1) * sizeof *folders);
		const struct sdf_options options = {.resource_paths = folders};
		const struct sdf *sdf = sdf_help_good(W("<model name='m'><link name='l'><collision "
							"name='c'><geometry><mesh><uri>a.obj</uri></mesh></geometry>"
							"</collision></link></model>"),
			&options);
		cr_expect(sdf_help_says(sdf, SDF_WARNING, after[i]), "%zu folders: no %s", i + 1, after[i]);
	}
}

/* --- meshes that only levels name --------------------------------------------------------------------------------- */

#define FAR_OBJ(more) more "v -1 0 0\nv 2 0 0\nv 0 3 0\nv 0 0 5\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
#define FAR_MESH(name, uri, inside)                                                                                    \
	"<collision name='" name "'><pose>0 0 7 1 0 0</pose><geometry><mesh" inside "><uri>" uri "</uri>"
#define FAR_END "</mesh></geometry></collision>"
#define FAR_SHAPE(name, uri) FAR_MESH(name, uri, "") FAR_END
#define FAR_STATIC(name, inside)                                                                                       \
	"<model name='" name "'><static>1</static><pose>0 0 9 0 1 0</pose><link name='l'>" inside "</link></model>"
#define FAR_REF(name) "<ref>" name "</ref>"

/* Each file is read by one model only: one that was read is not left. */
static const char far_world[] = W(
	"<plugin name='troupe' filename='x'><performer name='p'><ref>walks</ref><geometry><box><size>1 1 1</size></box>"
	"</geometry></performer><level name='one'><geometry><box><size>9 9 9</size></box></geometry>" FAR_REF("plain")
		FAR_REF("painted") FAR_REF("walks") FAR_REF(
			"moves") "</level><level name='two'><pose>99 0 0 0 0 0</pose>"
				 "<geometry><box><size>9 9 9</size></box></geometry>" FAR_REF("bare") FAR_REF(
					 "plugged") FAR_REF("cut") "</level></plugin>" FAR_STATIC("plain",
					 FAR_SHAPE("a", "plain.obj") FAR_MESH(
						 "b", "plain.obj", "") "<scale>2 -3 4</scale>" FAR_END FAR_SHAPE("c",
						 "plain.obj")) FAR_STATIC("painted",
					 FAR_SHAPE("a", "sub/painted.obj")) FAR_STATIC("bare",
					 FAR_SHAPE("a", "bare.obj")) FAR_STATIC("cut",
					 FAR_MESH("a", "cut.obj",
						 "") "<submesh><name>part</name></submesh>" FAR_END FAR_MESH("b",
						 "hull.obj", " optimization='convex_hull'") FAR_END FAR_MESH("c",
						 "flat.obj", "") "<scale>1 0 1</scale>" FAR_END) FAR_STATIC("walks",
					 FAR_SHAPE(
						 "a", "walks.obj")) "<model name='moves'><link name='l'>" FAR_SHAPE("a",
					 "moves.obj") "</link></model>"
						      "<model name='plugged'><static>1</static><link "
						      "name='l'>" FAR_SHAPE("a",
							      "plugged.obj") "</link><plugin "
									     "name='gz::sim::systems::VelocityControl' "
									     "filename='x'/></model>" FAR_STATIC("unnam"
														 "ed",
										     FAR_SHAPE("a", "unnamed.obj")));

struct far_case {
	const char *file;
	bool far;
	struct aabb box;
};

static const struct far_case far_cases[] = {{"plain.obj", true, {{-1, 0, 0}, {2, 3, 5}}},
	{"plain.obj", true, {{-2, -9, 0}, {4, 0, 20}}}, {"plain.obj", true, {{-1, 0, 0}, {2, 3, 5}}},
	{"painted.obj", true, {{-1, 0, 0}, {2, 3, 5}}}, {.file = "bare.obj"}, {.file = "cut.obj"}, {.file = "hull.obj"},
	{.file = "flat.obj"}, {.file = "walks.obj"}, {.file = "moves.obj"}, {.file = "plugged.obj"},
	{.file = "unnamed.obj"}};

/* The box holds all of the mesh, and hardly more. */
static void far_check_box(const struct aabb *box, const struct aabb *expected)
{
	const double most = 1e-3;
	const struct vec3 below = vec3_sub(expected->lo, box->lo), above = vec3_sub(box->hi, expected->hi);
	cr_assert(below.x >= 0 && below.y >= 0 && below.z >= 0 && above.x >= 0 && above.y >= 0 && above.z >= 0);
	cr_assert(below.x < most && below.y < most && below.z < most, "%g %g %g", box->lo.x, box->lo.y, box->lo.z);
	cr_assert(above.x < most && above.y < most && above.z < most, "%g %g %g", box->hi.x, box->hi.y, box->hi.z);
}

static void far_check(const struct sdf_world *world, bool left)
{
	cr_assert_eq(world->collisions.count, ARRAY_LEN(far_cases));
	for (uint32_t i = 0; i < world->collisions.count; i++) {
		const struct sdf_shape *shape = world->collisions.at[i].shape;
		const struct far_case *expected = &far_cases[i];
		cr_assert(strstr(shape->path, expected->file), "%u: %s", i, shape->path);
		cr_assert_eq(shape->far != NULL, expected->far && left, "%s", shape->path);
		cr_assert(!shape->far || !shape->mesh, "%s", shape->path);
		if (!shape->far)
			continue;
		far_check_box(&shape->far->box, &expected->box);
		cr_assert_str_eq(shape->far->path, shape->path);
		cr_assert_str_eq(
			shape->far->model, world->models.at[world->links.at[world->collisions.at[i].link].model].name);
	}
}

/* Shapes of one file have the same mesh, whichever comes first; those of others have others. */
static void far_check_store(const struct sdf_collision *collisions)
{
	static const uint32_t order[] = {3, 1, 0, 2, 3, 0, 1};
	struct unread *store = unread_create(&(struct unread_options){.importer = NULL});
	struct unread_mesh *meshes[4] = {NULL};
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		struct unread_mesh *mesh = unread_add(store, collisions[order[i]].shape);
		struct aabb box = unread_box(mesh), expected = collisions[order[i]].shape->far->box;
		cr_assert(!meshes[order[i]] || meshes[order[i]] == mesh);
		cr_assert(!memcmp(&box, &expected, sizeof box));
		meshes[order[i]] = mesh;
	}
	cr_assert(meshes[0] == meshes[2] && meshes[0] != meshes[1] && meshes[0] != meshes[3] && meshes[1] != meshes[3]);
	unread_destroy(store);
}

Test(sdf, meshes_that_only_levels_name_are_not_read)
{
	static const char *const files[] = {"plain", "cut", "hull", "flat", "walks", "moves", "plugged", "unnamed"};
	struct folder folder;
	char path[200];
	folder_make(&folder);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		snprintf(path, sizeof path, "%s.obj", files[i]);
		folder_add(&folder, path, FAR_OBJ("o part\n"));
	}
	folder_add(&folder, "sub/painted.obj", FAR_OBJ("mtllib one.mtl\nmtllib other.mtl\n"));
	folder_add(&folder, "sub/one.mtl", "newmtl one\nKd 1 0 0\n");
	folder_add(&folder, "sub/other.mtl", "newmtl other\nKd 0 1 0\n");
	folder_add(&folder, "bare.obj", FAR_OBJ("mtllib none.mtl\n")); /* not there */
	folder_add(&folder, "w.sdf", far_world);
	snprintf(path, sizeof path, "%s/w.sdf", folder.path);
	for (int left = 0; left < 2; left++) {
		struct files files_read = {0};
		struct sdf_options options = {.files = &files_read, .leave_far = left};
		struct sdf *sdf;
		struct troupe_error error;
		cr_assert_eq(sdf_load_file(path, &options, &sdf, &error), TROUPE_OK, "%s", error.text);
		far_check(&sdf->worlds.at[0], left);
		cr_assert_eq(sdf->far_count, left ? 3u : 0u, "%u", sdf->far_count);
		if (left) {
			const struct sdf_collision *c = sdf->worlds.at[0].collisions.at;
			cr_assert(c[0].shape->far == c[2].shape->far && c[0].shape->far != c[1].shape->far);
			for (uint32_t i = 0; i < 4; i++)
				cr_assert_eq(c[i].shape->far->id, i == 3 ? 2 : i % 2, "%u", i);
			far_check_store(c);
			cr_assert_eq(files_look(&files_read, path), FILES_FILE);
			snprintf(path, sizeof path, "%s/sub/other.mtl", folder.path);
			uint32_t index;
			cr_assert(map_find(&files_read.by_path, path, &index), "its materials are at hand");
		}
		sdf_free(sdf);
		files_fini(&files_read);
	}
	folder_remove(&folder);
}
