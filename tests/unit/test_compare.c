/* Where two states differ first is told by the names of the state's words, in the order that scene/state.h gives them:
 * each word of a model is changed alone, of the second model of the world, whose bodies are not its links. */
#include "scene/state.h"
#include "server/record.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(compare, .timeout = 60);

#define COMPARE_LINK(name, z)                                                                                          \
	"<link name='" name "'><pose>0 0 " z                                                                           \
	" 0 0 0</pose><collision name='c'><geometry><box><size>0.1 0.2 0.3</size>"                                     \
	"</box></geometry></collision></link>"
#define COMPARE_JOINT(name, type, parent, child, axes)                                                                 \
	"<joint name='" name "' type='" type "'><parent>" parent "</parent><child>" child "</child>" axes "</joint>"
#define COMPARE_AXIS(axis, xyz) "<" axis "><xyz>" xyz "</xyz></" axis ">"

/* skin is welded to base, so that the bodies are base, arm and tip. */
static const char compare_world[] =
	"<sdf version='1.11'><world name='w'><gravity>0 0 0</gravity><model name='first'><pose>9 0 0 0 0 "
	"0</pose>" COMPARE_LINK("base", "0") COMPARE_LINK("lid", "1") COMPARE_JOINT("j1", "prismatic", "base", "lid",
		COMPARE_AXIS("axis", "0 0 1")) "</model><model name='other'>" COMPARE_LINK("base",
		"0") COMPARE_LINK("skin", "1") COMPARE_LINK("arm", "2") COMPARE_LINK("tip", "3") COMPARE_JOINT("weld",
		"fixed", "base", "skin", "") COMPARE_JOINT("j1", "universal", "skin", "arm",
		COMPARE_AXIS("axis", "1 0 0") COMPARE_AXIS("axis2", "0 1 0")) COMPARE_JOINT("j2", "screw", "arm", "tip",
		COMPARE_AXIS("axis",
			"0 0 1") "<thread_pitch>9</thread_pitch>") "<plugin name='gz::sim::systems::VelocityControl' "
								   "filename='x'/></model></world></sdf>";

enum { COMPARE_OTHER = 1, COMPARE_BODIES = 3 };

static struct troupe_server *compare_make_of(const char *world)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server;
	struct troupe_error error;
	def.world_path = "w.sdf";
	def.world_text = world;
	cr_assert_eq(troupe_server_create(&def, &server, &error), TROUPE_OK, "%s", error.text);
	return server;
}

static struct troupe_server *compare_make(void)
{
	return compare_make_of(compare_world);
}

/* The names of the words before those of systems, in their order; *ret_count: how many. */
static char (*compare_names(uint32_t *ret_count))[80]
{
	static const char *const bodies[] = {"base", "arm", "tip"};
	static const char *const body[] = {"position x", "position y", "position z", "orientation w", "orientation x",
		"orientation y", "orientation z", "velocity x", "velocity y", "velocity z", "angular velocity x",
		"angular velocity y", "angular velocity z"};
	static const char *const joints[] = {"joint 'j1': position", "joint 'j1': position of its second axis",
		"joint 'j2': position", "joint 'j2': position of its second axis", "joint 'j2': force of its coupling"};
	static char names[128][80];
	uint32_t count = 0;
	for (size_t b = 0; b < COMPARE_BODIES; b++)
		for (size_t i = 0; i < 13; i++)
			(void)snprintf(names[count++], sizeof *names, "link '%s': %s", bodies[b], body[i]);
	for (size_t i = 0; i < 5; i++)
		(void)snprintf(names[count++], sizeof *names, "%s", joints[i]);
	for (size_t b = 0; b < COMPARE_BODIES; b++)
		for (size_t i = 0; i < 7; i++)
			(void)snprintf(
				names[count++], sizeof *names, "link '%s': resting place's %s", bodies[b], body[i]);
	(void)snprintf(names[count++], sizeof *names, "steps at rest");
	*ret_count = count;
	return names;
}

static void compare_put(const struct server_world *world, uint32_t word, bool real, double value)
{
	uint64_t *at = state_words(world->shared.state, COMPARE_OTHER, false) + word;
	if (real)
		memcpy(at, &value, sizeof value);
	else
		*at = (uint64_t)value;
}

static void compare_says(const char *found, const char *name, const char *values)
{
	char expected[200];
	(void)snprintf(expected, sizeof expected, "model 'other', %s%s", name, values);
	cr_assert_str_eq(found, expected, "'%s' instead of '%s'", found, expected);
}

/* a and b differ in one word, of this name. */
static void compare_one(const struct server_world *a, const struct server_world *b, uint32_t word, const char *name)
{
	struct text out = {0};
	struct record_word found;
	uint64_t kept[2] = {state_word_of_all(a->shared.state, COMPARE_OTHER, word),
		state_word_of_all(b->shared.state, COMPARE_OTHER, word)};
	bool real = strcmp(name, "steps at rest") != 0;
	compare_put(a, word, real, 1.5);
	compare_put(b, word, real, 2.5);
	cr_assert(record_compare_worlds(a, b, &out));
	compare_says(out.at, name, real ? ": 1.5 and 2.5" : ": 1 and 2");
	out.count = 0;
	cr_assert(record_find_word(a, b, &found, &out));
	compare_says(out.at, name, "");
	cr_assert(found.model == COMPARE_OTHER && found.word == word && found.is_real == real);
	cr_assert_eq(found.id, a->scene->models[COMPARE_OTHER].id);
	cr_assert_eq(found.words[0], state_word_of_all(a->shared.state, COMPARE_OTHER, word));
	cr_assert_eq(found.words[1], state_word_of_all(b->shared.state, COMPARE_OTHER, word));
	state_words(a->shared.state, COMPARE_OTHER, false)[word] = kept[0];
	state_words(b->shared.state, COMPARE_OTHER, false)[word] = kept[1];
	text_fini(&out);
}

Test(compare, each_word_has_its_name)
{
	struct troupe_server *one = compare_make(), *two = compare_make();
	const struct server_world *a = &one->worlds[0], *b = &two->worlds[0];
	struct text out = {0};
	struct record_word found;
	uint32_t count;
	char(*names)[80] = compare_names(&count);
	cr_assert_not(record_compare_worlds(a, b, &out));
	cr_assert_not(record_find_word(a, b, &found, &out));
	cr_assert_eq(found.model, SCENE_NONE);
	cr_assert_eq(a->shared.state->models[COMPARE_OTHER].system_first, count);
	for (uint32_t i = 0; i < count; i++)
		compare_one(a, b, i, names[i]);
	for (uint32_t i = count; i < state_count_all(a->shared.state, COMPARE_OTHER); i++) {
		out.count = 0;
		compare_put(a, i, false, 77);
		cr_assert(record_compare_worlds(a, b, &out));
		cr_assert(strstr(out.at, "VelocityControl"), "%u: %s", i, out.at);
		compare_put(a, i, false, (double)state_word_of_all(b->shared.state, COMPARE_OTHER, i));
	}
	cr_assert_not(record_compare_worlds(a, b, &out));
	text_fini(&out);
	troupe_server_destroy(one);
	troupe_server_destroy(two);
}

/* --- with what was recorded --------------------------------------------------------------------------------------- */

/* What a recording of this state would have. */
static struct record_world compare_recorded(const struct server_world *world)
{
	struct record_world recorded = {0};
	const struct state *state = world->shared.state;
	recorded.steps = primary_steps(world->primary);
	recorded.levels = plan_hash(primary_plan(world->primary));
	recorded.edits = primary_changes_hash(world->primary);
	for (uint32_t m = 0; m < world->scene->model_count; m++) {
		uint32_t count = state_count_all(state, m);
		struct record_model model = {.id = world->scene->models[m].id,
			.name = mem_printf("%s", world->scene->models[m].name),
			.count = count,
			.words = mem_alloc(count * sizeof *model.words)};
		for (uint32_t i = 0; i < count; i++)
			model.words[i] = state_word_of_all(state, m, i);
		vec_push(&recorded.models, model);
	}
	return recorded;
}

static void compare_differs(const struct record_world *recorded, const struct server_world *world, const char *words)
{
	struct text out = {0};
	cr_assert_eq(record_compare(recorded, world, &out), words != NULL, "%s", out.at);
	cr_assert(!words || !strcmp(out.at, words), "'%s' instead of '%s'", out.at, words);
	text_fini(&out);
}

Test(compare, what_was_recorded_is_told_beside_what_is_found)
{
	struct troupe_server *server = compare_make();
	const struct server_world *world = &server->worlds[0];
	struct record_world recorded = compare_recorded(world);
	struct record_model *other = &recorded.models.at[COMPARE_OTHER];
	const double far = -4.25;
	compare_differs(&recorded, world, NULL);
	uint64_t kept = other->words[8], id = other->id;
	memcpy(&other->words[8], &far, sizeof far);
	compare_differs(&recorded, world, "world 'w': model 'other', link 'base': velocity y: recorded -4.25, found 0");
	other->words[8] = kept;
	other->count--;
	char text[120];
	(void)snprintf(text, sizeof text, "world 'w': model 'other': recorded %u words of state, found %u",
		other->count, other->count + 1);
	compare_differs(&recorded, world, text);
	other->count++;
	other->id = 0;
	compare_differs(&recorded, world, "world 'w': model 'other': found, but not recorded");
	other->id = 77;
	(void)snprintf(text, sizeof text, "world 'w': model 'other' (77) recorded, 'other' (%u) found in its place",
		(unsigned)id);
	compare_differs(&recorded, world, text);
	other->id = id;
	vec_push(&recorded.models, ((struct record_model){.id = 9, .name = mem_printf("gone")}));
	compare_differs(&recorded, world, "world 'w': model 'gone': recorded, but not found");
	free(recorded.models.at[--recorded.models.count].name);
	recorded.steps = 5;
	compare_differs(&recorded, world, "world 'w': recorded 5 steps, found 0");
	recorded.steps = 0;
	recorded.levels ^= 1;
	(void)snprintf(text, sizeof text, "world 'w': which levels are loaded: recorded %016llx, found %016llx",
		(unsigned long long)recorded.levels, (unsigned long long)recorded.levels ^ 1);
	compare_differs(&recorded, world, text);
	recorded.levels ^= 1;
	vec_push(&recorded.words, 3);
	compare_differs(&recorded, world, "world 'w': the world's plugins: recorded 1 words of state, found 0");
	record_world_fini(&recorded);
	troupe_server_destroy(server);
}

/* Each word of the plug-ins of the world, from the first on. */
Test(compare, words_of_the_worlds_plugins)
{
	static const char world[] =
		"<sdf version='1.11'><world name='w'><plugin name='gz::sim::systems::TriggeredPublisher' filename='x'>"
		"<input type='gz.msgs.Double' topic='/in'/><output type='gz.msgs.Double' topic='/out'>data: "
		"2</output></plugin>"
		"</world></sdf>";
	struct troupe_server *one = compare_make_of(world), *two = compare_make_of(world);
	const struct server_world *a = &one->worlds[0], *b = &two->worlds[0];
	const uint32_t count = a->shared.state->world.count;
	struct record_word found;
	struct text out = {0};
	cr_assert_gt(count, 1);
	cr_assert_not(record_find_word(a, b, &found, &out));
	for (uint32_t i = 0; i < count; i++) {
		out.count = 0;
		b->shared.state->world.words[i] ^= 1;
		cr_assert(record_find_word(a, b, &found, &out), "word %u", i);
		cr_assert(found.model == SCENE_NONE && strstr(out.at, " of the world"), "%s", out.at);
		b->shared.state->world.words[i] ^= 1;
	}
	text_fini(&out);
	troupe_server_destroy(one);
	troupe_server_destroy(two);
}
