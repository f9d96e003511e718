/* Feeds damaged SDF to the loader: bytes flipped, cut and repeated, numbers replaced by nasty ones.
 * fuzz_sdf [SEED ROUNDS FILE ...]; without arguments a few hundred rounds over texts of its own. The same arguments
 * damage the same bytes. Whatever comes in, the loader must return, either with a description in which everything is
 * finite, or with one line that names the file. Build with --enable-sanitize=address to see more. */
#include "sdf/sdf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

static const char *const texts[] = {
	"<?xml version=\"1.0\"?><sdf version=\"1.9\"><world name=\"w\"><gravity>0 0 "
	"-9.8</gravity><physics><max_step_size>"
	"0.01</max_step_size></physics><frame name=\"f\" attached_to=\"m\"><pose>1 0 0 0 0 0</pose></frame><model "
	"name=\"m\" "
	"placement_frame=\"a\"><pose relative_to=\"world\">1 2 3 0.1 0.2 0.3</pose><link "
	"name=\"a\"><inertial><mass>2</mass>"
	"<inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz><ixy>0.1</ixy></inertia></inertial><collision name=\"c\"><pose "
	"relative_to=\"j\"/><geometry><box><size>1 2 "
	"3</size></box></geometry><surface><friction><ode><mu>1</mu></ode></friction>"
	"</surface></collision><sensor name=\"s\" type=\"imu\"><update_rate>10</update_rate></sensor></link><link "
	"name=\"b\">"
	"<pose relative_to=\"a\" rotation_format=\"quat_xyzw\">0 0 1 0 0 0 1</pose><visual "
	"name=\"v\"><geometry><plane><normal>"
	"0 0 1</normal></plane></geometry></visual></link><joint name=\"j\" "
	"type=\"revolute\"><parent>a</parent><child>b</child>"
	"<axis><xyz expressed_in=\"__model__\">0 1 "
	"0</xyz><limit><lower>-1</lower><upper>1e16</upper></limit></axis></joint>"
	"<model name=\"n\"><link name=\"a\"><inertial auto=\"true\"/><collision "
	"name=\"c\"><density>5</density><geometry>"
	"<capsule><radius>0.5</radius><length>1</length></capsule></geometry></collision></link></model></model>"
	"<joint name=\"wj\" type=\"fixed\"><parent>world</parent><child>m::n</child></joint></world></sdf>",
	"<sdf version='1.7'><model name='m'><frame name='i::__model__' attached_to='i::l'><pose "
	"relative_to='__model__'>0 0 1 0 0 0"
	"</pose></frame><link name='i::l'><pose relative_to='i::__model__'>1 0 0 0 0 0</pose></link><link "
	"name='o'/><joint "
	"name='i::j' type='universal'><parent>i::l</parent><child>o</child><axis><xyz expressed_in='i::__model__'>1 0 "
	"0</xyz>"
	"</axis><axis2><xyz>0 1 0</xyz></axis2></joint></model></sdf>",
};

static const char *const nasty[] = {"nan", "-inf", "inf", "1e308", "-1e308", "1e-320", "0", "-1", "", "1e9",
	"99999999999999", "x", "__root__", "__model__", "world", "::", "a::b::c", "&amp;", "&#0;", "&lol;", "<", ">",
	"--", "<![CDATA[", "0x10"};

static uint64_t state;

static size_t below(size_t limit)
{
	state = hash_mix(state, 0x9e3779b97f4a7c15u);
	return limit ? (size_t)(state % limit) : 0;
}

static void replace(struct text *text, size_t at, size_t cut, const char *with, size_t count)
{
	struct text out = {0};
	at = MIN(at, text->count);
	cut = MIN(cut, text->count - at);
	text_add_bytes(&out, text->at, at);
	text_add_bytes(&out, with, count);
	text_add_bytes(&out, text->at + at + cut, text->count - at - cut);
	text_fini(text);
	*text = out;
}

/* The next number at or after `from`, or the end. */
static size_t find_number(const struct text *text, size_t from, size_t *ret_length)
{
	while (from < text->count && !strchr("0123456789", text->at[from]))
		from++;
	*ret_length = strspn(text->at + from, "0123456789.e-");
	return from;
}

static void damage(struct text *text)
{
	size_t at = below(text->count), length;
	const char *word = nasty[below(ARRAY_LEN(nasty))];
	switch (below(12)) {
	case 0:
		text->at[at] = (char)(text->at[at] ^ (1 << below(8)));
		break;
	case 1:
		replace(text, at, below(20), "", 0);
		break;
	case 2: {
		char copy[64];
		length = below(sizeof copy);
		length = MIN(length, text->count - at);
		memcpy(copy, text->at + at, length);
		replace(text, below(text->count), 0, copy, length);
		break;
	}
	case 3:
		replace(text, at, 0, word, strlen(word));
		break;
	default:
		at = find_number(text, at, &length);
		replace(text, at, length, word, strlen(word));
	}
}

static void must(bool good, const char *what, const struct text *text)
{
	if (good)
		return;
	fprintf(stderr, "fuzz_sdf: %s; the text was:\n", what);
	fwrite(text->at, 1, text->count, stderr);
	exit(1);
}

static void check_world(const struct sdf_world *world, const struct text *text)
{
	must(vec3_finite(world->gravity) && world->physics.max_step_size > 0, "world values", text);
	for (uint32_t i = 0; i < world->models.count; i++)
		must(pose_finite(world->models.at[i].in_world), "model pose", text);
	for (uint32_t i = 0; i < world->links.count; i++) {
		const struct sdf_link *link = &world->links.at[i];
		must(pose_finite(link->in_world) && pose_finite(link->inertial.in_link), "link pose", text);
		must(world->models.at[link->model].is_static || link->inertial.mass > 0, "mass", text);
	}
	for (uint32_t i = 0; i < world->collisions.count; i++) {
		const struct sdf_collision *collision = &world->collisions.at[i];
		must(pose_finite(collision->in_world) && vec3_finite(collision->shape.size), "collision", text);
		must(collision->shape.radius > 0 && collision->shape.length > 0, "shape", text);
	}
	for (uint32_t i = 0; i < world->joints.count; i++) {
		const struct sdf_joint *joint = &world->joints.at[i];
		must(pose_finite(joint->in_world) && joint->child < world->links.count, "joint", text);
		must(joint->parent == SDF_NONE || joint->parent < world->links.count, "joint's parent", text);
		for (int a = 0; a < 2; a++)
			must(fabs(vec3_length(joint->axis[a].xyz_world) - 1) < 1e-6, "axis", text);
	}
}

static bool one(const struct text *text)
{
	struct troupe_error error = {0};
	struct text out = {0};
	struct sdf *sdf = NULL;
	troupe_status status = sdf_load_text(text->at, text->count, "fuzz.sdf", NULL, &sdf, &error);
	must(sdf != NULL, "no description", text);
	must((status == TROUPE_OK) == (sdf->error_count == 0), "status and errors differ", text);
	if (status) {
		must(!sdf->worlds.count && !strncmp(error.text, "fuzz.sdf:", 9), "refused without a place", text);
	} else {
		for (uint32_t i = 0; i < sdf->worlds.count; i++)
			check_world(&sdf->worlds.at[i], text);
		sdf_print_flat(sdf, &out);
		sdf_print(sdf, &out);
	}
	text_fini(&out);
	sdf_free(sdf);
	return status == TROUPE_OK;
}

static unsigned run(const char *text, size_t bytes, size_t rounds)
{
	unsigned loaded = 0;
	for (size_t i = 0; i < rounds; i++) {
		struct text copy = {0};
		text_add_bytes(&copy, text, bytes);
		for (size_t n = 1 + below(3); n > 0 && copy.count; n--)
			damage(&copy);
		loaded += one(&copy);
		text_fini(&copy);
	}
	return loaded;
}

int main(int argc, char **argv)
{
	unsigned loaded = 0;
	size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 400;
	state = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	for (size_t i = 0; argc <= 3 && i < ARRAY_LEN(texts); i++) {
		struct text whole = {0};
		text_add_bytes(&whole, texts[i], strlen(texts[i]));
		must(one(&whole), "refused undamaged", &whole);
		text_fini(&whole);
		loaded += run(texts[i], strlen(texts[i]), rounds);
	}
	for (int i = 3; i < argc; i++) {
		char *text;
		size_t bytes;
		struct troupe_error error;
		if (text_read_file(argv[i], 1 << 20, &text, &bytes, &error)) {
			fprintf(stderr, "fuzz_sdf: %s\n", error.text);
			continue;
		}
		loaded += run(text, bytes, rounds);
		free(text);
	}
	printf("%u of the damaged texts were accepted\n1 passed, 0 failed\n", loaded);
	return 0;
}
