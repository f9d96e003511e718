/* A scene and its state through a random life: models come, go, return to places that they name, are refused, moved,
 * and switched off. After each event everything is compared with a plain list of what is there: names, ids, places,
 * which part belongs to which, poses of static shapes, the tree of boxes, and the words of each model, which no event
 * of another model may touch. Then the limits and the copies of the state, each beside a plain array of it. */
#include "../random.h"
#include "base/hash.h"
#include "run/owners.h"
#include "scene/light.h"
#include "scene/state.h"
#include "sdf_help.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

TestSuite(scene_life, .timeout = 60);

enum { LIFE_MODELS_MAX = 48, LIFE_LINKS_MAX = 4, LIFE_SYSTEM_WORDS = 3 };

struct life_model {
	char name[16];
	bool present, is_static, off;
	uint32_t place, links, geoms_each;
	struct pose pose;
	uint64_t id, serial, seed; /* seed: of the words that the test wrote */
};

struct life {
	uint64_t dice;
	struct sdf *file;
	struct scene *scene;
	struct state *state;
	struct life_model models[LIFE_MODELS_MAX];
	uint32_t count, named;
};

static struct pose life_pose(uint64_t *dice)
{
	struct vec3 p = random_vec3(dice, 20);
	struct quat q = {random_between(dice, -1, 1), random_between(dice, -1, 1), random_between(dice, -1, 1),
		random_between(dice, -1, 1)};
	return (struct pose){p, quat_unit(q)};
}

static struct pose life_link_pose(uint32_t link)
{
	return (struct pose){{link, 0.5, -0.25 * link}, quat_unit((struct quat){1, 0.1 * link, 0, 0.3})};
}

static struct pose life_collision_pose(uint32_t i)
{
	return (struct pose){{0.1 * i, 0, 0.2}, quat_unit((struct quat){1, 0, 0.2, 0.05 * i})};
}

static int life_print_pose(char *to, size_t size, struct pose p)
{
	return snprintf(to, size, "<pose rotation_format='quat_xyzw'>%.17g %.17g %.17g %.17g %.17g %.17g %.17g</pose>",
		p.p.x, p.p.y, p.p.z, p.q.x, p.q.y, p.q.z, p.q.w);
}

#define LIFE_PRINT(...) at += snprintf(text + at, size - (size_t)at, __VA_ARGS__)

/* Links l0, l1, ..., each with collisions c0, c1, ... and a light; joints j1, j2, ... between neighbours, of which j2
 * and those after it mimic the one before. */
static int life_print_model(char *text, size_t size, const struct life_model *m)
{
	int at = 0;
	LIFE_PRINT("<model name='%s'><static>%d</static>", m->name, m->is_static);
	at += life_print_pose(text + at, size - (size_t)at, m->pose);
	for (uint32_t l = 0; l < m->links; l++) {
		LIFE_PRINT("<link name='l%u'>", l);
		at += life_print_pose(text + at, size - (size_t)at, life_link_pose(l));
		for (uint32_t i = 0; i < m->geoms_each; i++) {
			LIFE_PRINT("<collision name='c%u'>", i);
			at += life_print_pose(text + at, size - (size_t)at, life_collision_pose(i));
			LIFE_PRINT("<geometry><box><size>1 2 %u</size></box></geometry></collision>", i + 1);
		}
		LIFE_PRINT("<light name='lamp' type='point'><pose>0 0 %u 0 0 0</pose></light></link>", l + 1);
	}
	for (uint32_t l = 1; l < m->links; l++) {
		LIFE_PRINT("<joint name='j%u' type='revolute'><parent>l%u</parent><child>l%u</child><axis>"
			   "<xyz>0 0 1</xyz>",
			l, l - 1, l);
		if (l > 1)
			LIFE_PRINT("<mimic joint='j%u' axis='axis'><multiplier>%u</multiplier></mimic>", l - 1, l);
		LIFE_PRINT("</axis></joint>");
	}
	LIFE_PRINT("</model>");
	cr_assert_lt((size_t)at, size);
	return at;
}

static struct life_model *life_draw(struct life *life)
{
	struct life_model *m = &life->models[life->count];
	*m = (struct life_model){.is_static = random_below(&life->dice, 3) == 0,
		.links = 1 + random_below(&life->dice, LIFE_LINKS_MAX),
		.geoms_each = 1 + random_below(&life->dice, 3),
		.pose = life_pose(&life->dice)};
	snprintf(m->name, sizeof m->name, "m%u", life->named++);
	return m;
}

static void life_begin(struct life *life, uint64_t seed)
{
	static char text[32768];
	const size_t size = sizeof text;
	int at = 0;
	*life = (struct life){.dice = seed};
	LIFE_PRINT("<sdf version='1.11'><world name='w'>");
	for (; life->count < 4; life->count++)
		at += life_print_model(text + at, size - (size_t)at, life_draw(life));
	LIFE_PRINT("</world></sdf>");
	const struct scene_options options = {0};
	struct troupe_error error = {0};
	uint32_t words[4] = {LIFE_SYSTEM_WORDS, LIFE_SYSTEM_WORDS, LIFE_SYSTEM_WORDS, LIFE_SYSTEM_WORDS};
	life->file = sdf_help_good(text, NULL);
	cr_assert_eq(
		scene_create(&life->file->worlds.at[0], &options, &life->scene, &error), TROUPE_OK, "%s", error.text);
	life->state = state_create(life->scene, words);
	for (uint32_t m = 0; m < life->count; m++) {
		life->models[m].place = m;
		life->models[m].id = life->models[m].serial = m + 1;
		life->models[m].present = true;
	}
}

static void life_end(struct life *life)
{
	state_destroy(life->state);
	scene_destroy(life->scene);
	sdf_free(life->file);
}

/* --- what is expected ----------------------------------------------------------------------------------------------
 */

static uint32_t life_words_of(const struct life_model *m)
{
	uint32_t bodies = m->is_static ? 0 : m->links, joints = bodies ? bodies - 1 : 0;
	uint32_t couplings = joints > 1 ? joints - 1 : 0;
	return bodies * (13 + 7) + (bodies != 0) + joints * 2 + couplings + LIFE_SYSTEM_WORDS;
}

static void life_write_words(struct life *life, struct life_model *m)
{
	uint64_t dice = m->seed = random_bits(&life->dice);
	uint64_t *words = state_words(life->state, m->place, false);
	for (uint32_t i = 0; i < life_words_of(m); i++)
		words[i] = random_bits(&dice);
	state_wrote(life->state, m->place);
}

static void life_check_words(const struct life *life, const struct life_model *m)
{
	uint64_t dice = m->seed;
	const uint64_t *words = state_words(life->state, m->place, false);
	cr_assert_eq(life->state->models[m->place].words, life_words_of(m), "%s: %u words", m->name,
		life->state->models[m->place].words);
	cr_assert_eq(life->state->models[m->place].offset % 8, 0);
	for (uint32_t i = 0; i < life_words_of(m) && m->seed; i++)
		cr_assert_eq(words[i], random_bits(&dice), "%s: word %u was written by another model", m->name, i);
}

static void life_check_near(struct pose got, struct pose wanted, const char *name)
{
	double apart = vec3_length(vec3_sub(got.p, wanted.p)),
	       dot = fabs(got.q.w * wanted.q.w + got.q.x * wanted.q.x + got.q.y * wanted.q.y + got.q.z * wanted.q.z);
	cr_assert(apart < 1e-12 && dot > 1 - 1e-12, "%s: off by %g m", name, apart);
}

static void life_check_link(const struct life *life, const struct life_model *m, uint32_t l, char *body_taken)
{
	const struct scene *s = life->scene;
	const struct scene_model *to = &s->models[m->place];
	char short_name[16], full[40];
	snprintf(short_name, sizeof short_name, "l%u", l);
	snprintf(full, sizeof full, "%s::l%u", m->name, l);
	uint32_t at = scene_find_link(s, m->place, full);
	cr_assert_eq(at, to->link_first + l, "%s: %u", full, at);
	cr_assert_eq(scene_find_link(s, m->place, short_name), at);
	const struct scene_link *link = &s->links[at];
	cr_assert(link->model == m->place && !strcmp(link->scoped, full) && link->is_static == m->is_static);
	struct pose in_world = pose_mul(m->pose, life_link_pose(l));
	if (m->is_static) {
		cr_assert_eq(link->body, SCENE_NONE);
		life_check_near(link->in_body, in_world, full);
		return;
	}
	cr_assert_eq(link->body, to->body_first + l, "%s", full);
	const struct scene_body *body = &s->bodies[link->body];
	cr_assert(body->model == m->place && !strcmp(body->name, full) && body->geom_count == m->geoms_each &&
			  body->geom_first == to->geom_first + l * m->geoms_each,
		"%s: %s, geoms from %u", full, body->name, body->geom_first);
	cr_assert(!body_taken[link->body]++, "%s: two models have a body", full);
	life_check_near(pose_mul(body->reference, link->in_body), in_world, full);
	if (!l)
		return;
	const struct scene_joint *joint = &s->joints[to->joint_first + l - 1];
	short_name[0] = 'j';
	cr_assert_eq(scene_find_joint(s, m->place, short_name), to->joint_first + l - 1);
	cr_assert(joint->model == m->place && joint->child == link->body && joint->parent == link->body - 1);
	cr_assert(joint->mimic[0].joint == (l > 1 ? to->joint_first + l - 2 : SCENE_NONE) &&
			  joint->mimic[1].joint == SCENE_NONE && (l < 2 || joint->mimic[0].multiplier == l),
		"%s: its joint follows %u", full, joint->mimic[0].joint);
}

static void life_check_geom(const struct life *life, const struct life_model *m, uint32_t g, char *geom_taken)
{
	const struct scene *s = life->scene;
	const struct scene_model *to = &s->models[m->place];
	uint32_t link = g / m->geoms_each, i = g % m->geoms_each, at = to->geom_first + g;
	const struct scene_geom *geom = &s->geoms[at];
	cr_assert(!geom_taken[at]++, "%s: two models have a shape", m->name);
	cr_assert(scene_has_geom(s, at) && geom->model == m->place && geom->link == to->link_first + link &&
			  geom->body == (m->is_static ? SCENE_NONE : to->body_first + link) &&
			  geom->name[1] - '0' == (int)i && geom->off == (m->off && !g),
		"%s: shape %u", m->name, g);
	if (!m->is_static)
		return;
	struct pose in_world = pose_mul(pose_mul(m->pose, life_link_pose(link)), life_collision_pose(i));
	life_check_near(geom->in_body, in_world, m->name);
}

/* The tree has the static shapes of those that are present, each once, and finds them where they are. */
static void life_check_tree(struct life *life)
{
	const struct scene *s = life->scene;
	struct vec3 from = random_vec3(&life->dice, 20);
	struct aabb some = {from, vec3_add(from, (struct vec3){12, 12, 12})};
	const struct aabb all = AABB_ALL, *const boxes[] = {&all, &some};
	for (size_t b = 0; b < ARRAY_LEN(boxes); b++) {
		bvh_values found = {0};
		uint32_t expected = 0;
		bvh_query(&s->static_tree, boxes[b], &found);
		for (uint32_t k = 0; k < life->count; k++) {
			const struct life_model *m = &life->models[k];
			for (uint32_t g = 0; m->present && m->is_static && g < m->links * m->geoms_each; g++) {
				uint32_t at = s->models[m->place].geom_first + g, seen = 0;
				for (uint32_t i = 0; i < found.count; i++)
					seen += found.at[i] == at;
				const struct aabb box = scene_geom_box(&s->geoms[at], POSE_IDENTITY);
				bool is_in = !s->geoms[at].off && aabb_overlap(&box, boxes[b]);
				cr_assert_eq(seen, (uint32_t)is_in, "%s: shape %u is %u times in the tree", m->name, g,
					seen);
				expected += is_in;
			}
		}
		cr_assert_eq(found.count, expected, "the tree has %u that are not there", found.count - expected);
		vec_free(&found);
	}
}

static void life_check(struct life *life)
{
	const struct scene *s = life->scene;
	char *taken = calloc(s->body_count + s->geom_count + 1, 1);
	uint64_t hash = 0;
	for (uint32_t k = 0; k < life->count; k++) {
		const struct life_model *m = &life->models[k];
		cr_assert_eq(scene_find_model(s, m->name), m->present ? m->place : SCENE_NONE, "%s", m->name);
		cr_assert_eq(scene_find_id(s, m->id), m->present ? m->place : SCENE_NONE, "%s", m->name);
		if (!m->present)
			continue;
		const struct scene_model *to = &s->models[m->place];
		cr_assert(to->id == m->id && to->serial == m->serial && !strcmp(to->name, m->name) && !to->absent &&
				  to->is_static == m->is_static && to->created == (m->id > 4),
			"%s: id %llu, serial %llu", m->name, (unsigned long long)to->id,
			(unsigned long long)to->serial);
		cr_assert(to->link_count == m->links && to->geom_count == m->links * m->geoms_each &&
			  to->body_count == (m->is_static ? 0 : m->links) &&
			  to->joint_count == (m->is_static ? 0 : m->links - 1));
		for (uint32_t l = 0; l < m->links; l++)
			life_check_link(life, m, l, taken);
		for (uint32_t g = 0; g < m->links * m->geoms_each; g++)
			life_check_geom(life, m, g, taken + s->body_count);
		life_check_words(life, m);
		hash += hash_words(m->id, state_words(life->state, m->place, false), life_words_of(m));
	}
	free(taken);
	cr_assert_eq(state_hash(life->state), hash, "a hash is old");
	life_check_tree(life);
}

/* --- events --------------------------------------------------------------------------------------------------------
 */

static const struct life_model *life_at_place(const struct life *life, uint32_t place)
{
	for (uint32_t k = 0; k < life->count; k++)
		if (life->models[k].present && life->models[k].place == place)
			return &life->models[k];
	return NULL;
}

/* Its bodies are at their poses in the file, all else is zero. */
static void life_check_new_words(const struct life *life, const struct life_model *m)
{
	const uint64_t *words = state_words(life->state, m->place, false);
	uint32_t bodies = m->is_static ? 0 : m->links;
	for (uint32_t b = 0; b < bodies; b++) {
		const struct body_state *body = state_bodies(life->state, m->place, false) + b;
		const struct scene_body *from = &life->scene->bodies[life->scene->models[m->place].body_first + b];
		cr_assert(!memcmp(&body->p, &from->reference.p, sizeof body->p) &&
			  !memcmp(&body->q, &from->reference.q, sizeof body->q));
		cr_assert(vec3_length(body->v) + vec3_length(body->w) == 0);
	}
	for (uint32_t i = 13 * bodies; i < life_words_of(m); i++)
		cr_assert_eq(words[i], 0, "%s: word %u begins as %llu", m->name, i, (unsigned long long)words[i]);
	cr_assert_eq(life->state->models[m->place].system_first, life_words_of(m) - LIFE_SYSTEM_WORDS);
}

/* like: as many parts as that one has, to be put at these places; NULL: any, at the lowest free ones. */
static void life_add(struct life *life, const struct scene_places *at, const struct life_model *like, bool refused)
{
	static char text[8192];
	struct sdf_options options = {.bare = true};
	struct life_model *m = life_draw(life);
	if (like) {
		m->is_static = like->is_static;
		m->links = like->links;
		m->geoms_each = like->geoms_each;
	}
	int length = snprintf(text, sizeof text, "<sdf version='1.11'>");
	length += life_print_model(text + length, sizeof text - (size_t)length, m);
	snprintf(text + length, sizeof text - (size_t)length, "</sdf>");
	struct sdf *sdf = sdf_help_good(text, &options);
	struct scene_parts *parts = NULL;
	struct troupe_error error = {0};
	const char *warning = NULL;
	uint32_t vacant = 0;
	cr_assert_eq(scene_compile(sdf, NULL, &parts, &error), TROUPE_OK, "%s", error.text);
	troupe_status status = scene_add(life->scene, parts, sdf, at, &m->place, &warning, &error);
	if (refused) {
		cr_assert_eq(status, TROUPE_EINVAL);
		scene_parts_destroy(parts);
		sdf_free(sdf);
		return;
	}
	cr_assert_eq(status, TROUPE_OK, "%s", error.text);
	while (life_at_place(life, vacant))
		vacant++;
	cr_assert_eq(m->place, at ? at->model : vacant, "%s: place %u", m->name, m->place);
	m->id = at ? at->id : life->scene->last_id;
	m->serial = life->scene->last_serial;
	m->present = true;
	life->count++;
	state_add(life->state, m->place, LIFE_SYSTEM_WORDS);
	life_check_new_words(life, m);
	state_set_initial_of(life->state, m->place);
	life_write_words(life, m);
}

static struct scene_places life_places_of(const struct life *life, const struct life_model *m)
{
	const struct scene_model *at = &life->scene->models[m->place];
	return (struct scene_places){at->id, m->place, at->body_first, at->geom_first, at->joint_first, at->link_first};
}

/* The model of a file, or one that stays, is skipped; NULL: that was drawn. */
static struct life_model *life_pick(struct life *life)
{
	struct life_model *m = &life->models[random_below(&life->dice, life->count)];
	return m->present && m->id > 4 ? m : NULL;
}

static void life_remove(struct life *life, struct life_model *m)
{
	scene_set_absent(life->scene, m->place, true);
	state_remove(life->state, m->place);
	scene_free(life->scene, m->place);
	m->present = false;
}

/* Places that overlap those of a model are refused, whichever part of it is in the way, and stay free. */
static void life_be_refused(struct life *life, const struct life_model *m)
{
	struct scene_places at = life_places_of(life, m);
	uint32_t far = 1000;
	struct scene_places tries[] = {{at.id, at.model, far, far, far, far},
		{at.id, far, far, at.geom_first, far, far}, {at.id, far, far, far, far, at.link_first},
		{at.id, far, at.body_first, far, far, far}, {at.id, far, far, far, at.joint_first, far}};
	size_t count = ARRAY_LEN(tries) - (m->is_static ? 2 : m->links < 2);
	for (size_t i = 0; i < count; i++)
		life_add(life, &tries[i], m, true);
}

static struct pose life_geom_pose(const struct life *life, const struct life_model *m, uint32_t geom)
{
	return life->scene->geoms[life->scene->models[m->place].geom_first + geom].in_body;
}

static void life_move(struct life *life, struct life_model *m)
{
	struct pose home = scene_first_pose(&life->scene->models[m->place]), away = life_pose(&life->dice);
	struct pose *first = calloc(m->links * m->geoms_each + 1, sizeof *first);
	scene_place_static(life->scene, m->place, home);
	for (uint32_t g = 0; g < m->links * m->geoms_each; g++)
		first[g] = life_geom_pose(life, m, g);
	scene_place_static(life->scene, m->place, away);
	m->pose = away;
	life_check(life);
	for (uint32_t i = random_below(&life->dice, 2); i; i--) {
		scene_place_static(life->scene, m->place, home); /* the bits that it had at first */
		m->pose = home;
		for (uint32_t g = 0; g < m->links * m->geoms_each; g++) {
			struct pose now = life_geom_pose(life, m, g);
			cr_assert(!memcmp(&now, &first[g], sizeof now));
		}
	}
	free(first);
}

static void life_switch(struct life *life, struct life_model *m)
{
	for (int i = 0; i < 2; i++) /* the second time, nothing is to be done */
		scene_switch_geom(life->scene, life->scene->models[m->place].geom_first, m->off);
	m->off = !m->off;
}

static void life_happen(struct life *life)
{
	uint32_t what = random_below(&life->dice, 10);
	struct life_model *m = life_pick(life);
	if (what < 4 || !m) {
		life_add(life, NULL, NULL, false);
	} else if (what == 4) {
		life_be_refused(life, m);
	} else if (what == 5) {
		struct scene_places at = life_places_of(life, m);
		life_remove(life, m);
		m->id = UINT64_MAX; /* its id comes again */
		life_check(life);
		life_add(life, &at, m, false);
	} else if (what < 8) {
		life_remove(life, m);
	} else if (what == 8 && m->is_static) {
		life_move(life, m);
	} else {
		life_switch(life, m);
	}
}

Test(scene_life, models_come_and_go)
{
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct life life;
		life_begin(&life, seed);
		for (uint32_t m = 0; m < life.count; m++)
			life_check_new_words(&life, &life.models[m]);
		for (uint32_t m = 0; m < life.count; m++)
			life_write_words(&life, &life.models[m]);
		life_check(&life);
		for (int i = 0; i < 60 && life.count + 1 < LIFE_MODELS_MAX; i++) {
			life_happen(&life);
			life_check(&life);
		}
		life_end(&life);
	}
}

/* --- limits --------------------------------------------------------------------------------------------------------
 */

#define LIFE_LAMP(name) "<light name='" name "' type='point'><pose>0 0 1 0 0 0</pose></light>"
#define LIFE_LAMP_LINK(name)                                                                                           \
	"<link name='" name "'><pose>1 2 3 0 0 1</pose>" LIFE_LAMP("one") LIFE_LAMP("two") "</link>"

static const char life_two_models[] = "<sdf version='1.9'><world name='w'><model name='a'><link name='l'/></model>"
				      "<model name='b'><link name='l'/></model></world></sdf>";

static struct scene *life_scene_of(const char *text, struct sdf **ret_sdf)
{
	const struct scene_options options = {0};
	struct troupe_error error = {0};
	struct scene *scene = NULL;
	*ret_sdf = sdf_help_good(text, NULL);
	cr_assert_eq(scene_create(&(*ret_sdf)->worlds.at[0], &options, &scene, &error), TROUPE_OK, "%s", error.text);
	return scene;
}

/* Lights of the world behind those of the file: as many as the limit and no more, whatever was dropped before; the
 * lowest place first. A light of the file has its place for itself. */
Test(scene_life, lights_take_the_lowest_place_up_to_the_limit)
{
	struct sdf *sdf;
	struct scene *scene = life_scene_of("<sdf version='1.9'><world name='w'>" LIFE_LAMP("a")
						    LIFE_LAMP("b") "<model name='m'>" LIFE_LAMP_LINK("k")
							    LIFE_LAMP_LINK("l") "</model></world></sdf>",
		&sdf);
	char name[16];
	cr_assert_eq(scene->light_count, 2, "lights of links are not of the world");
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < SCENE_LIGHTS_ADDED_MAX; i++) {
			snprintf(name, sizeof name, "n%u", i);
			cr_assert_eq(scene_add_light(scene, name), i + 2);
		}
		cr_assert_eq(scene_add_light(scene, "more"), SCENE_NONE);
		cr_assert_eq(scene_add_link_light(scene, 0, 3), SCENE_NONE);
		cr_assert_eq(scene->light_count, SCENE_LIGHTS_ADDED_MAX + 2u);
		scene_drop_light(scene, 70);
		scene_drop_light(scene, 9);
		cr_assert_eq(scene_find_light(scene, "n7"), SCENE_NONE);
		cr_assert_eq(scene_find_light(scene, "n8"), 10);
		cr_assert_eq(scene_find_light(scene, "b"), 1);
		cr_assert_eq(scene_add_light(scene, "again"), 9);
		cr_assert_eq(scene_add_link_light(scene, 0, 3), 70);
		cr_assert_eq(scene_add_light(scene, "more"), SCENE_NONE);
		scene_drop_added_lights(scene);
		cr_assert_eq(scene->light_count, 2);
	}
	cr_assert(!scene_add_light_at(scene, 1, "x") && !scene_add_light_at(scene, 3, "x"),
		"of the file; beyond the end");
	scene->lights[1].absent = true; /* removed by a command: its place stays its own */
	cr_assert(scene_find_light(scene, "b") == SCENE_NONE && scene_add_light(scene, "x") == 2);
	scene_destroy(scene);
	sdf_free(sdf);
}

/* The second light of the second link is found, at its pose, and is none of the world; a model has only its own. */
Test(scene_life, lights_of_links_are_those_of_their_model)
{
	struct sdf *sdf;
	struct scene *scene =
		life_scene_of("<sdf version='1.9'><world name='w'>" LIFE_LAMP("a") "<model name='m'>" LIFE_LAMP_LINK(
				      "k") "</model><model name='n'><pose>5 0 0 1 0 0</pose>" LIFE_LAMP_LINK("k")
				      LIFE_LAMP_LINK("l") "</model></world></sdf>",
			&sdf);
	const struct sdf_world *world = &sdf->worlds.at[0];
	uint32_t last = world->lights.count - 1;
	cr_assert_eq(scene_link_with_light(scene, 1, last), scene_find_link(scene, 1, "l"));
	cr_assert_eq(scene_link_with_light(scene, 0, last), SCENE_NONE);
	cr_assert_eq(scene_link_with_light(scene, 1, last + 1), SCENE_NONE);
	cr_assert(!scene_add_link_light_at(scene, 1, 0, last) && !scene_add_link_light_at(scene, 1, 2, last));
	cr_assert_eq(scene_add_link_light(scene, 1, last), 1);
	const struct scene_light *light = &scene->lights[1];
	cr_assert_str_eq(light->name, "n::l::two");
	cr_assert(light->model == 1 && light->light == last && !light->absent && fabs(light->pose.p.z - 1) < 1e-12 &&
		  fabs(light->pose.p.x) + fabs(light->pose.p.y) < 1e-12);
	cr_assert_eq(scene_link_light(scene, 1, last), 1);
	cr_assert_eq(scene_link_light(scene, 1, last - 1), SCENE_NONE);
	cr_assert_eq(scene_link_light(scene, 0, last), SCENE_NONE);
	cr_assert_eq(scene_find_light(scene, "n::l::two"), SCENE_NONE);
	scene_drop_light(scene, 1);
	cr_assert_eq(scene_link_light(scene, 1, last), SCENE_NONE);
	cr_assert(scene->lights[1].absent && scene->lights[1].changed);
	scene_destroy(scene);
	sdf_free(sdf);
}

/* Equal surfaces are one entry, at most SCENE_SURFACES_MAX of them; those beyond have none. */
Test(scene_life, surfaces_are_counted_up_to_the_limit)
{
	enum { KINDS = SCENE_SURFACES_MAX + 2 };
	static char text[32768];
	const size_t size = sizeof text;
	int at = 0;
	struct sdf *sdf;
	LIFE_PRINT("<sdf version='1.9'><world name='w'><model name='m'><link name='l'>");
	for (uint32_t i = 0; i < 2 * KINDS; i++)
		LIFE_PRINT("<collision name='c%u'><geometry><sphere><radius>1</radius></sphere></geometry><surface>"
			   "<friction><ode><mu>%u</mu></ode></friction></surface></collision>",
			i, 1 + i % KINDS);
	LIFE_PRINT("</link></model></world></sdf>");
	struct scene *scene = life_scene_of(text, &sdf);
	cr_assert_eq(scene->surfaces.count, SCENE_SURFACES_MAX);
	for (uint32_t i = 0; i < 2 * KINDS; i++)
		cr_assert_eq(scene->geoms[i].kind_of_surface, i % KINDS < SCENE_SURFACES_MAX ? i % KINDS : SCENE_NONE,
			"of shape %u", i);
	scene_destroy(scene);
	sdf_free(sdf);
}

/* --- copies of the state -------------------------------------------------------------------------------------------
 */

struct life_copies {
	uint64_t now, next, base; /* the first word of each */
	bool within;
	struct state_spares *spares;
};

static void life_check_copies(const struct state *state, const struct life_copies *expected)
{
	uint32_t count;
	cr_assert_eq(state_words(state, 1, false)[0], expected->now);
	cr_assert_eq(state_impulses(state, 1, false, &count)[0], expected->now);
	if (expected->next)
		cr_assert_eq(state_words(state, 1, true)[0], expected->next);
	if (expected->within)
		cr_assert_eq(state->models[1].at[state->models[1].base][0], expected->base);
	cr_assert_eq(state_words(state, 0, false)[0], 77, "the first model was not stepped");
}

static void life_write_next(const struct state *state, struct life_copies *copies, uint64_t value)
{
	state_words(state, 1, true)[0] = copies->next = value;
	state_resize_impulses(state, 1, true, STATE_IMPULSE_WORDS)[0] = value;
}

/* What was lent is used by others. */
static void life_spoil(const struct state_spares *spares)
{
	for (uint32_t i = 0; i < spares->pieces.count; i++)
		memset(spares->pieces.at[i].at, 0xee, spares->pieces.at[i].words * sizeof(uint64_t));
}

/* Steps and windows of several steps, in any order, of the second of two models. */
static void life_step_copies(struct state *state, struct life_copies *copies, uint32_t what, uint64_t value)
{
	if (!copies->within && what < 2) {
		life_write_next(state, copies, value);
		state_advance(state, 1);
		*copies = (struct life_copies){.now = value, .spares = copies->spares};
	} else if (what < 4) {
		copies->base = copies->within ? copies->base : copies->now;
		if (!copies->within) {
			state_spares_clear(copies->spares);
			state_lend(state, 0, copies->spares);
			state_lend(state, 1, copies->spares);
		}
		life_write_next(state, copies, value);
		state_go_on(state, 1);
		*copies = (struct life_copies){
			.now = value, .base = copies->base, .within = true, .spares = copies->spares};
	} else if (what == 4) {
		state_close_window(state, 1);
		if (copies->within)
			*copies = (struct life_copies){
				.now = copies->base, .next = copies->now, .spares = copies->spares};
		life_spoil(copies->spares);
		if (copies->next) {
			life_check_copies(state, copies);
			state_advance(state, 1);
			*copies = (struct life_copies){.now = copies->next, .spares = copies->spares};
		}
	} else {
		state_leave_window(state, 1);
		life_spoil(copies->spares);
		*copies = (struct life_copies){
			.now = copies->within ? copies->base : copies->now, .spares = copies->spares};
	}
}

Test(scene_life, copies_of_windows_are_those_that_a_list_has)
{
	struct sdf *sdf;
	struct scene *scene = life_scene_of(life_two_models, &sdf);
	struct state *state = state_create(scene, NULL);
	struct state_spares spares = {0};
	struct life_copies copies = {.now = 5, .spares = &spares};
	uint64_t dice = 3;
	state_words(state, 0, false)[0] = 77;
	state_words(state, 1, false)[0] = state_resize_impulses(state, 1, false, STATE_IMPULSE_WORDS)[0] = 5;
	for (uint64_t i = 0; i < 3000; i++) {
		life_step_copies(state, &copies, random_below(&dice, 6), 100 + i);
		life_check_copies(state, &copies);
	}
	state_spares_fini(&spares);
	state_destroy(state);
	scene_destroy(scene);
	sdf_free(sdf);
}

/* What a step forgets to write shows; impulses, too, where there is room for some, and `now` is as it was. */
Test(scene_life, words_of_the_next_state_are_poisoned)
{
	struct sdf *sdf;
	struct scene *scene = life_scene_of(life_two_models, &sdf);
	struct state *state = state_create(scene, NULL);
	uint32_t count, words = state->models[1].words;
	uint64_t before = state_hash(state);
	for (int round = 0; round < 2; round++) {
		state_poison_next(state, 1);
		for (uint32_t i = 0; i < words; i++)
			cr_assert_eq(state_words(state, 1, true)[i], UINT64_MAX);
		const uint64_t *impulses = state_impulses(state, 1, true, &count);
		cr_assert_eq(count, round ? STATE_IMPULSE_WORDS : 0u);
		for (uint32_t i = 0; i < count; i++)
			cr_assert_eq(impulses[i], UINT64_MAX);
		cr_assert_neq(state_words(state, 0, true)[0], UINT64_MAX);
		(void)state_resize_impulses(state, 1, true, 2 * STATE_IMPULSE_WORDS);
	}
	cr_assert_eq(state_hash(state), before);
	state_destroy(state);
	scene_destroy(scene);
	sdf_free(sdf);
}

/* Words of all that is state: those of the model and whole impulses behind them, up to the limit; a reset has none. */
Test(scene_life, impulses_are_whole_and_limited)
{
	struct sdf *sdf;
	struct scene *scene = life_scene_of(life_two_models, &sdf);
	struct state *state = state_create(scene, NULL);
	uint32_t words = state->models[1].words, most = words + STATE_IMPULSES_MAX * STATE_IMPULSE_WORDS;
	uint64_t empty = state_hash(state);
	cr_assert(!state_resize_all(state, 1, words - 1) && !state_resize_all(state, 1, words + 1) &&
		  !state_resize_all(state, 1, most + STATE_IMPULSE_WORDS) && state_count_all(state, 1) == words);
	cr_assert(state_resize_all(state, 1, most) && state_count_all(state, 1) == most &&
		  state_count_all(state, 0) == words);
	cr_assert(state_resize_all(state, 1, words + 2 * STATE_IMPULSE_WORDS));
	uint64_t *impulses = state_resize_impulses(state, 1, false, 2 * STATE_IMPULSE_WORDS);
	for (uint32_t i = 0; i < 2 * STATE_IMPULSE_WORDS; i++)
		impulses[i] = i + 1;
	state_touched(state, 1);
	for (uint32_t i = 0; i < 2 * STATE_IMPULSE_WORDS; i++)
		cr_assert_eq(state_word_of_all(state, 1, words + i), i + 1);
	cr_assert_eq(state_word_of_all(state, 1, words - 1), state_words(state, 1, false)[words - 1]);
	cr_assert_neq(state_hash(state), empty);
	state_keep_impulses(state, 1);
	uint32_t count;
	cr_assert(!memcmp(state_impulses(state, 1, true, &count), impulses, 2 * STATE_IMPULSE_WORDS * 8) &&
		  count == 2 * STATE_IMPULSE_WORDS);
	state_set_initial(state);
	state_reset(state);
	cr_assert_eq(state_hash(state), empty);
	cr_assert(state_count_all(state, 1) == words && state->written.count == 2);
	state_destroy(state);
	scene_destroy(scene);
	sdf_free(sdf);
}

/* --- owners ------------------------------------------------------------------------------------------------------- */

/* The owner of each model, by name. */
static void check_owners(const struct owners *owners, const struct scene *scene, const char *const *expected)
{
	for (uint32_t m = 0; m < scene->model_count; m++) {
		const char *name = owners_name(owners, scene->models[m].owner);
		cr_assert(expected[m] ? name && !strcmp(name, expected[m]) : !name, "model %u: %s", m,
			name ? name : "none");
	}
}

/* Names are in other places where clients have joined before. */
Test(scene_life, owners_are_unpacked_by_name)
{
	static const char text[] =
		"<sdf version='1.9'><world name='w'><model name='a'><link name='l'/></model><model "
		"name='b'><link name='l'/></model><model name='c'><link name='l'/></model></world></sdf>";
	static const char *const expected[] = {"two", NULL, "one"};
	struct owners owners = {.rights = OWNERS_WORLD}, other = {0};
	struct text bytes = {0};
	struct sdf *sdf;
	struct scene *scene = life_scene_of(text, &sdf);
	uint32_t one, two, three;
	cr_assert_eq(owners_add(&owners, "one", &one, NULL), TROUPE_OK);
	cr_assert_eq(owners_add(&owners, "two", &two, NULL), TROUPE_OK);
	owners_take(&owners, &scene->models[0], two);
	owners_take(&owners, &scene->models[2], one);
	check_owners(&owners, scene, expected);
	owners_pack(&owners, scene, &bytes);
	for (uint32_t m = 0; m < 3; m++)
		scene->models[m].owner = 0;
	cr_assert_eq(owners_add(&other, "three", &three, NULL), TROUPE_OK);
	cr_assert_eq(owners_add(&other, "two", &two, NULL), TROUPE_OK);
	struct unpack in = {bytes.at, bytes.at + bytes.count, false};
	cr_assert(owners_unpack(&other, scene, &in));
	cr_assert_eq(in.at, in.end);
	cr_assert_eq(other.rights, OWNERS_WORLD);
	cr_assert_eq(other.all.count, 3);
	check_owners(&other, scene, expected);
	text_fini(&bytes);
	owners_fini(&owners);
	owners_fini(&other);
	scene_destroy(scene);
}
