/* A model, light or actor without a world around it gets the name and the pose that the caller asks for, whatever the
 * version and form of its file; what is not one such thing is refused. */
#include "sdf_help.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

TestSuite(sdf_bare, .timeout = 60);

/* Link a is 1 m up, b another 2 m along x; the pose in the file must not matter. */
#define ROBOT(attributes)                                                                                              \
	"<model name='robot'" attributes "><pose>9 9 9 0 0 0</pose>"                                                   \
	"<link name='a'><pose>0 0 1 0 0 0</pose></link><link name='b'><pose relative_to='a'>2 0 0 0 0 0</pose></link>" \
	"<joint name='j' type='fixed'><parent>a</parent><child>b</child></joint></model>"
#define IN_SDF(version, inside) "<sdf version='" version "'>" inside "</sdf>"

static const struct pose placed = {{10, 20, 30}, {M_SQRT1_2, 0, 0, M_SQRT1_2}}; /* a quarter turn about z */
static const struct sdf_options spawn = {.bare_name = "r2", .bare_pose = &placed};

#define near3(v, X, Y, Z)                                                                                              \
	cr_assert(fabs((v).x - (X)) < 1e-12 && fabs((v).y - (Y)) < 1e-12 && fabs((v).z - (Z)) < 1e-12,                 \
		"%.17g %.17g %.17g is not %g %g %g", (v).x, (v).y, (v).z, (double)(X), (double)(Y), (double)(Z))

static void check_robot(const struct sdf *sdf)
{
	const struct sdf_world *world = &sdf->worlds.at[0];
	cr_assert(sdf->bare_model);
	cr_assert_eq(sdf->worlds.count, 1);
	cr_assert_eq(world->models.count, 1);
	cr_assert_str_eq(world->models.at[0].name, "r2");
	cr_assert_str_eq(world->models.at[0].scoped, "r2");
	cr_assert_str_eq(world->links.at[1].scoped, "r2::b");
	cr_assert_str_eq(world->joints.at[0].scoped, "r2::j");
	near3(world->models.at[0].in_world.p, 10, 20, 30);
	near3(sdf_link_in_world(world, 0).p, 10, 20, 31);
	near3(sdf_link_in_world(world, 1).p, 10, 22, 31);
}

Test(sdf_bare, a_model_in_sdf_is_renamed_and_placed)
{
	struct sdf *sdf = sdf_help_good(IN_SDF("1.6", ROBOT("")), &spawn);
	check_robot(sdf);
	cr_assert_eq(sdf->warning_count, 0);
	sdf_free(sdf);
}

Test(sdf_bare, a_model_alone_is_read_as_the_newest_with_a_warning)
{
	struct sdf *sdf = sdf_help_good("<?xml version='1.0'?>\n" ROBOT(""), &spawn);
	check_robot(sdf);
	cr_assert(sdf_help_says(sdf, SDF_WARNING, "t.sdf:2: <model> without <sdf> around it is read as SDF 1.12"));
	cr_assert_str_eq(sdf->version, "1.12");
	sdf_free(sdf);
}

Test(sdf_bare, a_world_around_one_model_gives_the_model)
{
	struct sdf *sdf = sdf_help_good(IN_SDF("1.9", "<world name='w'><gravity>0 0 -1</gravity><light name='l'/>"
						      "<plugin name='p' filename='f'/>" ROBOT("") "</world>"),
		&spawn);
	check_robot(sdf);
	cr_assert(sdf_help_says(sdf, SDF_WARNING, "t.sdf:1: of <world> only the model \"robot\" is used"));
	cr_assert_eq(sdf->worlds.at[0].lights.count, 0);
	cr_assert_eq(sdf->worlds.at[0].plugins.count, 0);
	sdf_free(sdf);
}

Test(sdf_bare, name_and_pose_are_independent)
{
	struct sdf *sdf = sdf_help_good(IN_SDF("1.9", ROBOT("")), &(struct sdf_options){.bare_name = "only"});
	cr_assert_str_eq(sdf->worlds.at[0].links.at[0].scoped, "only::a");
	near3(sdf->worlds.at[0].models.at[0].in_world.p, 9, 9, 9);
	sdf_free(sdf);
	sdf = sdf_help_good(IN_SDF("1.9", ROBOT("")), &(struct sdf_options){.bare_pose = &placed});
	cr_assert_str_eq(sdf->worlds.at[0].links.at[0].scoped, "robot::a");
	near3(sdf->worlds.at[0].models.at[0].in_world.p, 10, 20, 30);
	sdf_free(sdf);
}

Test(sdf_bare, a_placement_frame_is_what_the_pose_places)
{
	struct sdf *sdf = sdf_help_good(IN_SDF("1.9", ROBOT(" placement_frame='b'")), &spawn);
	const struct sdf_world *world = &sdf->worlds.at[0];
	near3(sdf_link_in_world(world, 1).p, 10, 20, 30);
	/* b is at 2 0 1 in the model, which is turned: 0 2 1 in the world's axes */
	near3(world->models.at[0].in_world.p, 10, 18, 29);
	sdf_free(sdf);
}

Test(sdf_bare, a_pose_keeps_its_bits)
{
	struct pose pose = {{0.1, -1.0 / 3, 1e-7}, quat_from_rpy(0.1, 0.2, 0.3)};
	struct sdf *sdf = sdf_help_good(IN_SDF("1.9", ROBOT("")), &(struct sdf_options){.bare_pose = &pose});
	struct pose read = sdf->worlds.at[0].models.at[0].in_world;
	cr_assert(read.p.x == pose.p.x && read.p.y == pose.p.y && read.p.z == pose.p.z);
	cr_assert(fabs(read.q.w - pose.q.w) < 1e-15 && fabs(read.q.z - pose.q.z) < 1e-15);
	sdf_free(sdf);
}

Test(sdf_bare, lights_and_actors_are_placed_too)
{
	struct sdf *sdf =
		sdf_help_good(IN_SDF("1.9", "<light name='l' type='point'><pose>1 1 1 0 0 0</pose></light>"), &spawn);
	cr_assert_eq(sdf->worlds.at[0].lights.count, 1);
	cr_assert_str_eq(sdf->worlds.at[0].lights.at[0].name, "r2");
	near3(sdf->worlds.at[0].lights.at[0].in_world.p, 10, 20, 30);
	sdf_free(sdf);
	sdf = sdf_help_good("<actor name='a'/>", &spawn);
	cr_assert_str_eq(sdf->worlds.at[0].actors.at[0].name, "r2");
	near3(sdf->worlds.at[0].actors.at[0].in_world.p, 10, 20, 30);
	sdf_free(sdf);
}

Test(sdf_bare, what_is_printed_is_the_renamed_model)
{
	struct sdf *sdf = sdf_help_good(ROBOT(""), &spawn);
	struct text out = {0}, flat = {0}, again = {0};
	sdf_print(sdf, &out);
	sdf_print_flat(sdf, &flat);
	struct sdf *second = sdf_help_good(out.at, NULL);
	sdf_print_flat(second, &again);
	cr_assert_str_eq(again.at, flat.at);
	cr_assert(strstr(flat.at, "link r2::b pose 10.000000 22.000000 31.000000"));
	text_fini(&out), text_fini(&flat), text_fini(&again);
	sdf_free(sdf), sdf_free(second);
}

Test(sdf_bare, a_world_may_include_its_model_and_files_work)
{
	char folder[] = "/tmp/troupe-bare-XXXXXX", path[64], model[64];
	cr_assert_not_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/world.sdf", folder);
	snprintf(model, sizeof model, "%s/model.sdf", folder);
	FILE *file = fopen(model, "w");
	fputs(IN_SDF("1.7", ROBOT("")), file);
	fclose(file);
	file = fopen(path, "w");
	fputs(IN_SDF("1.9", "<world name='w'><include><uri>model.sdf</uri><name>x</name></include></world>"), file);
	fclose(file);
	struct sdf *sdf = NULL;
	struct troupe_error error;
	cr_assert_eq(sdf_load_file(path, &spawn, &sdf, &error), TROUPE_OK, "%s", error.text);
	check_robot(sdf);
	sdf_free(sdf);
	cr_assert_eq(sdf_load_file(model, &spawn, &sdf, &error), TROUPE_OK, "%s", error.text);
	check_robot(sdf);
	sdf_free(sdf);
	unlink(path), unlink(model), rmdir(folder);
}

static const struct pose no_pose = {{NAN, 0, 0}, {1, 0, 0, 0}}, far_pose = {{0, 2e9, 0}, {1, 0, 0, 0}},
			 no_turn = {{0, 0, 0}, {0, 0, 0, 0}};

static const struct {
	const char *text, *message;
	struct sdf_options options;
} bad[] = {
	{IN_SDF("1.9", ""), "holds no model, light or actor: expected exactly one", {.bare_name = "r"}},
	{IN_SDF("1.9", ROBOT("") "<light name='l'/>"), "holds 2 models, lights and actors", {.bare_name = "r"}},
	{IN_SDF("1.9", "<world name='w'/>"), "a <world> with 0 models", {.bare_name = "r"}},
	{IN_SDF("1.9", "<world name='w'>" ROBOT("") "<model name='s'><link name='l'/></model></world>"),
		"a <world> with 2 models", {.bare_name = "r"}},
	{IN_SDF("1.9", "<world name='w'>" ROBOT("") "</world><world name='v'/>"), "several worlds", {.bare_name = "r"}},
	{"<mujoco/>", "the root element is <mujoco>", {.bare_name = "r"}},
	{"<link name='l'/>", "the root element is <link>", {.bare_name = "r"}},
	{ROBOT(""), "the root element is <model>: expected <sdf>", {0}},
	{ROBOT(""), "the name \"\" for <model>", {.bare_name = ""}},
	{ROBOT(""), "the name \"a::b\" for <model>", {.bare_name = "a::b"}},
	{ROBOT(""), "the name \"world\" for <model>", {.bare_name = "world"}},
	{ROBOT(""), "the name \"__x__\" for <model>", {.bare_name = "__x__"}},
	{ROBOT(""), "<pose> is \"nan 0 0", {.bare_pose = &no_pose}},
	{ROBOT(""), "<pose> is \"0 2", {.bare_pose = &far_pose}},
	{ROBOT(""), "a quaternion that is not zero", {.bare_pose = &no_turn}},
	{ROBOT(" placement_frame='nothing'"), "placement_frame \"nothing\"", {.bare_pose = &placed}},
	{"<model name='m'><pose relative_to='f'/><link name='l'/></model>", "relative_to \"f\"", {.bare_name = "r"}},
};

Test(sdf_bare, what_cannot_be_added_is_refused)
{
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct troupe_error error = {0};
		struct sdf *sdf = NULL;
		troupe_status status = sdf_help_load(bad[i].text, &bad[i].options, &sdf, &error);
		cr_assert_eq(status, TROUPE_EWORLD, "%zu: status %d", i, status);
		cr_assert(!strncmp(error.text, "t.sdf:1: ", 9), "no place in \"%s\"", error.text);
		cr_assert(strstr(error.text, bad[i].message), "\"%s\" does not say \"%s\"", error.text, bad[i].message);
		cr_assert(strstr(error.text, "expected"), "\"%s\"", error.text);
		cr_assert_eq(sdf->worlds.count, 0);
		sdf_free(sdf);
	}
}

/* Without the options a file is read as it was before they existed. */
Test(sdf_bare, only_who_asks_gets_one)
{
	struct sdf *sdf = sdf_help_good(IN_SDF("1.9", "<world name='w'>" ROBOT("") "</world>"), NULL);
	cr_assert(!sdf->bare_model);
	cr_assert_str_eq(sdf->worlds.at[0].name, "w");
	sdf_free(sdf);
}
