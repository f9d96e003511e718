/* Feeds damaged SDF to the loader, and what it accepts to the simulator.
 *
 *   fuzz_sdf                           some hundred rounds over texts of its own, and tests/data/fuzz undamaged
 *   fuzz_sdf SEED ROUNDS FILE...       so many rounds over each file, which also lend each other their elements
 *   fuzz_sdf --replay FILE...          the files as they are
 *
 * The same arguments damage the same bytes. Whatever comes in, the loader must return, either with a description in
 * which everything is finite, or with one line that names the file; and what it accepts must be refused with such a
 * line by what comes after it, or simulate 20 steps, and print as SDF that loads to the same. With FUZZ_SDF_LAST=FILE
 * each text is written there first, for when the process does not survive it; with FUZZ_SDF_LOAD_ONLY nothing is
 * simulated (a step that ODE gives up leaks, so leaks are looked for without). Build with --enable-sanitize=address to
 * see more. With WITHOUT_MAIN it is a target for tests/fuzz/run. */
#include "base/infile.h"
#include "sdf/sdf.h"

#include "../amount.h"
#include "damage.h"
#include "seeds.h"

#include <troupe/server.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	STEPS = 20,
	MODELS_TO_RUN = 300, /* larger worlds are only loaded, so that rounds stay short */
#ifdef WITHOUT_MAIN
	HANG_S = 0, /* the timer is the fuzzer's */
#else
	HANG_S = 60,
#endif
	FILE_BYTES_MAX = 1 << 18,
};

#define must(good, what, text) must(good, what, (text)->at, (text)->count)

static void check_world(const struct sdf_world *world, const struct text *text)
{
	must(vec3_finite(world->gravity) && world->physics.max_step_size > 0, "world values", text);
	for (uint32_t i = 0; i < world->models.count; i++)
		must(pose_finite(world->models.at[i].in_world), "model pose", text);
	for (uint32_t i = 0; i < world->links.count; i++) {
		const struct sdf_link *link = &world->links.at[i];
		must(pose_finite(sdf_link_in_world(world, i)) && pose_finite(link->inertial->in_link), "link pose", text);
		must(world->models.at[link->model].is_static || link->inertial->mass > 0, "mass", text);
	}
	for (uint32_t i = 0; i < world->collisions.count; i++) {
		const struct sdf_collision *collision = &world->collisions.at[i];
		must(pose_finite(sdf_collision_in_world(world, i)) && vec3_finite(collision->shape->size), "collision", text);
		must(collision->shape->radius > 0 && collision->shape->length > 0, "shape", text);
	}
	for (uint32_t i = 0; i < world->joints.count; i++) {
		const struct sdf_joint *joint = &world->joints.at[i];
		must(pose_finite(sdf_joint_in_world(world, joint)) && joint->child < world->links.count, "joint", text);
		must(joint->parent == SDF_NONE || joint->parent < world->links.count, "joint's parent", text);
		for (int a = 0; a < 2; a++)
			must(fabs(vec3_length(joint->axis[a].xyz_world) - 1) < 1e-6, "axis", text);
	}
}

/* What is printed has to load, and to mean the same. */
static void check_print(const struct sdf *sdf, const struct text *text)
{
	struct text flat = {0}, again = {0}, out = {0};
	struct troupe_error error = {0};
	struct sdf *second = NULL;
	sdf_print_flat(sdf, &flat);
	sdf_print(sdf, &out);
	if (sdf_load_text(out.at, out.count, "printed.sdf", NULL, &second, &error)) {
		fprintf(stderr, "%s\n%s\n", error.text, out.at);
		must(false, "printed, it is refused", text);
	}
	sdf_print_flat(second, &again);
	if (flat.count != again.count || (flat.count && memcmp(flat.at, again.at, flat.count) != 0)) {
		size_t same = 0;
		while (flat.at[same] && flat.at[same] == again.at[same])
			same++;
		while (same && flat.at[same - 1] != '\n')
			same--;
		fprintf(stderr, "%.300s\n--- printed:\n%.300s\n", flat.at + same, again.at + same);
		must(false, "printed, it means something else", text);
	}
	sdf_free(second);
	text_fini(&flat);
	text_fini(&again);
	text_fini(&out);
}

/* Numbers print with six decimals, and poses go through a product more when they are printed: what is exact to a
 * millionth of a large number need not be so here. */
static bool is_moderate(const struct sdf *sdf)
{
	for (uint32_t w = 0; w < sdf->worlds.count; w++)
		for (uint32_t i = 0; i < sdf->worlds.at[w].models.count; i++)
			if (vec3_length(sdf->worlds.at[w].models.at[i].in_world.p) > 1000)
				return false;
	return true;
}

static bool is_small(const struct sdf *sdf)
{
	uint32_t models = 0;
	for (uint32_t i = 0; i < sdf->worlds.count; i++)
		models += sdf->worlds.at[i].models.count;
	return models <= MODELS_TO_RUN;
}

/* Refused, diverged, or simulated: anything but a broken simulator. */
static void simulate(const struct text *text)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_limits limits = {.iterations = STEPS};
	struct troupe_server *server = NULL;
	struct troupe_error error = {0};
	def.world_path = "fuzz.sdf";
	def.world_text = text->at;
	def.secondaries = 0;
	def.pace = TROUPE_PACE_FACTOR;
	troupe_status status = troupe_server_create(&def, &server, &error);
	if (status) {
		if (status != TROUPE_EWORLD && status != TROUPE_ELIMIT)
			fprintf(stderr, "%d: %s\n", (int)status, error.text);
		must(status == TROUPE_EWORLD || status == TROUPE_ELIMIT, "the server cannot be created", text);
		must(!strncmp(error.text, "fuzz.sdf:", 9), "refused without a place", text);
		return;
	}
	status = troupe_server_run(server, &limits, &error);
	if (status && status != TROUPE_EDIVERGED) {
		fprintf(stderr, "%d: %s\n", (int)status, error.text);
		must(false, "the simulation failed", text);
	}
	troupe_server_destroy(server);
}

static void keep_last(const struct text *text)
{
	const char *path = getenv("FUZZ_SDF_LAST");
	FILE *file = path ? fopen(path, "w") : NULL;
	if (!file)
		return;
	fwrite(text->at, 1, text->count, file);
	fclose(file);
}

static bool one(const struct text *text)
{
	struct troupe_error error = {0};
	struct sdf *sdf = NULL;
	keep_last(text);
	if (HANG_S)
		alarm(HANG_S);
	troupe_status status = sdf_load_text(text->at, text->count, "fuzz.sdf", NULL, &sdf, &error);
	must(sdf != NULL, "no description", text);
	must((status == TROUPE_OK) == (sdf->error_count == 0), "status and errors differ", text);
	if (status) {
		must(!sdf->worlds.count && !strncmp(error.text, "fuzz.sdf:", 9), "refused without a place", text);
	} else {
		for (uint32_t i = 0; i < sdf->worlds.count; i++)
			check_world(&sdf->worlds.at[i], text);
		if (is_moderate(sdf))
			check_print(sdf, text);
		if (sdf->worlds.count && is_small(sdf) && !getenv("FUZZ_SDF_LOAD_ONLY"))
			simulate(text);
	}
	sdf_free(sdf);
	if (HANG_S)
		alarm(0);
	return status == TROUPE_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	struct text text = {0};
	text_add_bytes(&text, (const char *)bytes, count);
	if (count)
		(void)one(&text);
	text_fini(&text);
	return 0;
}

#ifndef WITHOUT_MAIN

static const char *const texts[] = {
	"<?xml version=\"1.0\"?><sdf version=\"1.9\"><world name=\"w\"><gravity>0 0 "
	"-9.8</gravity><physics><max_step_size>0.01</max_step_size></physics><frame name=\"f\" "
	"attached_to=\"m\"><pose>1 0 0 0 0 0</pose></frame><model name=\"m\" placement_frame=\"a\"><pose "
	"relative_to=\"world\">1 2 3 0.1 0.2 0.3</pose><link "
	"name=\"a\"><inertial><mass>2</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz><ixy>0.1</ixy></inertia></"
	"inertial><collision name=\"c\"><pose relative_to=\"j\"/><geometry><box><size>1 2 "
	"3</size></box></geometry><surface><friction><ode><mu>1</mu></ode></friction></surface></collision><sensor "
	"name=\"s\" type=\"imu\"><update_rate>10</update_rate></sensor></link><link name=\"b\"><pose relative_to=\"a\" "
	"rotation_format=\"quat_xyzw\">0 0 1 0 0 0 1</pose><visual name=\"v\"><geometry><plane><normal>0 0 "
	"1</normal></plane></geometry></visual></link><joint name=\"j\" "
	"type=\"revolute\"><parent>a</parent><child>b</child><axis><xyz expressed_in=\"__model__\">0 1 "
	"0</xyz><limit><lower>-1</lower><upper>1e16</upper></limit></axis></joint><model name=\"n\"><link "
	"name=\"a\"><inertial auto=\"true\"/><collision "
	"name=\"c\"><density>5</density><geometry><capsule><radius>0.5</radius><length>1</length></capsule></"
	"geometry></collision></link></model></model><joint name=\"wj\" "
	"type=\"fixed\"><parent>world</parent><child>m::n</child></joint></world></sdf>",
	"<sdf version='1.7'><model name='m'><frame name='i::__model__' attached_to='i::l'><pose "
	"relative_to='__model__'>0 0 1 0 0 0</pose></frame><link name='i::l'><pose relative_to='i::__model__'>1 0 0 0 "
	"0 0</pose></link><link name='o'/><joint name='i::j' "
	"type='universal'><parent>i::l</parent><child>o</child><axis><xyz expressed_in='i::__model__'>1 0 "
	"0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2></joint></model></sdf>",
	"<sdf version='1.9'><world name='w'><scene><ambient>1 1 1 "
	"1</ambient><sky><clouds><speed>1</speed></clouds></sky><fog><type>linear</type></fog></"
	"scene><spherical_coordinates><latitude_deg>5</latitude_deg></spherical_coordinates><magnetic_field>1 2 "
	"3</magnetic_field><atmosphere type='adiabatic'><pressure>1</pressure></atmosphere><light name='l' "
	"type='spot'><attenuation><range>5</range></attenuation><spot><outer_angle>1</outer_angle></spot></"
	"light><model name='m'><frame name='f'/><link name='a'><collision name='c'/><visual "
	"name='v'><transparency>0.5</transparency><material><diffuse>1 0 "
	"0</diffuse><pbr><metal><roughness>0.5</roughness></metal></pbr></material></visual><sensor name='s' "
	"type='lidar'><lidar><scan><horizontal><samples>640</samples><max_angle>3</max_angle></"
	"horizontal><vertical><samples>16</samples></vertical></scan><range><min>0.1</min><max>9</max></"
	"range><noise><stddev>0.1</stddev></noise></lidar></sensor><sensor name='t' type='multicamera'><camera><pose "
	"relative_to='f'>1 0 0 0 0 "
	"0</pose><image><width>64</width></image><clip><far>9</far></clip><lens><intrinsics><fx>1</fx></intrinsics></"
	"lens></camera><camera/></sensor><sensor name='u' "
	"type='contact'><contact><collision>c</collision></contact></sensor></link></model></world></sdf>",
	"<sdf version='1.9'><world name='w'><plugin filename='troupe' "
	"name='troupe::Program'><executable>bin/drive</executable><arg>--speed</arg><arg/><restart>on-failure</"
	"restart></plugin><model name='m m'><link name='l'/><model name='n'><link name='l'><plugin filename='troupe' "
	"name='troupe::Program'><executable>drive</executable><name>d_-.</name><restart>never</restart></plugin></"
	"link></model><plugin filename='' "
	"name='troupe::Program'><executable>/bin/drive</executable></plugin></model></world></sdf>",
	"<robot name='r'><material name='m'><color rgba='1 0 0 1'/></material><link name='a'><inertial><origin xyz='0 "
	"0 0.1' rpy='0.1 0 0'/><mass value='2'/><inertia ixx='0.1' ixy='0.01' iyy='0.1' "
	"izz='0.1'/></inertial><collision><origin xyz='0 0 1'/><geometry><box size='1 2 "
	"3'/></geometry></collision><visual><geometry><cylinder radius='1' length='2'/></geometry><material "
	"name='m'/></visual></link><link name='b'><inertial><mass value='1'/><inertia ixx='1' iyy='1' "
	"izz='1'/></inertial></link><link name='c'><inertial><mass value='1'/><inertia ixx='1' iyy='1' "
	"izz='1'/></inertial><collision><geometry><sphere radius='0.5'/></geometry></collision></link><link "
	"name='d'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial></link><joint name='j' "
	"type='revolute'><parent link='a'/><child link='b'/><origin xyz='1 0 0'/><axis xyz='0 1 0'/><limit lower='-1' "
	"upper='1' effort='9' velocity='2'/><dynamics damping='1' friction='0.1'/></joint><joint name='k' "
	"type='fixed'><parent link='b'/><child link='c'/><origin rpy='0 1 0'/></joint><joint name='l' "
	"type='prismatic'><parent link='c'/><child link='d'/><limit lower='0' upper='1' effort='9' "
	"velocity='2'/><mimic joint='j' multiplier='2' offset='0.1'/></joint><gazebo "
	"reference='c'><mu1>0.5</mu1><kp>1e5</kp><selfCollide>1</selfCollide><material>Gazebo/Red</material><sensor "
	"name='s' type='imu'><pose>0 0 1 0 0 0</pose></sensor></gazebo><gazebo "
	"reference='j'><springStiffness>2</springStiffness><stopErp>0.3</stopErp></gazebo><gazebo><static>0</static></"
	"gazebo></robot>",
};

static unsigned run(struct damage *damage, const struct text *original, size_t rounds)
{
	unsigned loaded = 0;
	for (size_t i = 0; i < rounds; i++) {
		struct text copy = {0};
		text_add_bytes(&copy, original->at, original->count);
		for (size_t n = 1 + damage_below(damage, 4); n > 0 && copy.count > 4; n--)
			damage_once(damage, &copy);
		loaded += copy.count && one(&copy);
		text_fini(&copy);
	}
	return loaded;
}

static bool read_text(const char *path, struct text *ret_text)
{
	struct troupe_error error;
	char *at;
	size_t bytes;
	if (infile_read(path, FILE_BYTES_MAX, &at, &bytes, &error)) {
		fprintf(stderr, "fuzz_sdf: %s\n", error.text);
		return false;
	}
	*ret_text = (struct text){0};
	text_add_bytes(ret_text, at, bytes);
	free(at);
	return ret_text->count > 0;
}

static unsigned replay(const char *path)
{
	struct text text;
	if (!read_text(path, &text))
		return 0;
	unsigned loaded = one(&text);
	text_fini(&text);
	return loaded;
}

/* What was found once. */
static unsigned replay_kept(void)
{
	const char *source = getenv("SOURCE_DIR");
	char folder[1000], path[1300];
	unsigned count = 0;
	snprintf(folder, sizeof folder, "%.900s/tests/data/fuzz", source ? source : ".");
	DIR *dir = opendir(folder);
	for (struct dirent *entry; dir && (entry = readdir(dir));)
		if (strstr(entry->d_name, ".sdf")) {
			snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
			replay(path);
			count++;
		}
	if (dir)
		closedir(dir);
	return count;
}

static unsigned run_own(struct damage *damage, size_t rounds)
{
	struct text own[ARRAY_LEN(texts)] = {{0}};
	unsigned loaded = 0;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		text_add_bytes(&own[i], texts[i], strlen(texts[i]));
	damage->donors = own;
	damage->donor_count = ARRAY_LEN(own);
	for (size_t i = 0; i < ARRAY_LEN(own); i++) {
		must(one(&own[i]), "refused undamaged", &own[i]);
		loaded += run(damage, &own[i], rounds);
	}
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		text_fini(&own[i]);
	return loaded;
}

static unsigned run_files(struct damage *damage, size_t rounds, int count, char **paths)
{
	struct text *all = calloc((size_t)count, sizeof *all);
	size_t read = 0;
	unsigned loaded = 0;
	for (int i = 0; all && i < count; i++)
		read += read_text(paths[i], &all[read]);
	damage->donors = all;
	damage->donor_count = read;
	for (size_t i = 0; i < read; i++)
		loaded += run(damage, &all[i], rounds);
	for (size_t i = 0; i < read; i++)
		text_fini(&all[i]);
	free(all);
	return loaded;
}

int main(int argc, char **argv)
{
	unsigned loaded = 0, kept = 0;
	const char *seeds = seeds_wanted(argc, argv);
	for (unsigned i = 0; seeds && i < ARRAY_LEN(texts); i++)
		seeds_write(seeds, "sdf", i, texts[i], strlen(texts[i]));
	if (seeds)
		return 0;
	if (argc > 1 && !strcmp(argv[1], "--replay")) {
		for (int i = 2; i < argc; i++)
			loaded += replay(argv[i]);
		printf("%u of %d texts were accepted\n1 passed, 0 failed\n", loaded, argc - 2);
		return 0;
	}
	struct damage damage = {.state = argc > 1 ? strtoul(argv[1], NULL, 10) : 1};
	size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : amount(100, 400, 4000);
	if (argc <= 3) {
		kept = replay_kept();
		loaded = run_own(&damage, rounds);
	} else {
		loaded = run_files(&damage, rounds, argc - 3, argv + 3);
	}
	printf("%u of the damaged texts were accepted, %u kept ones replayed\n1 passed, 0 failed\n", loaded, kept);
	return 0;
}

#endif
