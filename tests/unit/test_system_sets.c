/* The systems of models that come, leave the topics, return and go: after each event the listeners of every topic are
 * those of a plain list, in its order, and so are the counts and the words of each model, which have names, and places
 * of their own beside those of other models. Always two systems of a model, two models with the same topic, two worlds.
 */
#include "../random.h"
#include "sdf_help.h"
#include "system/guard.h"
#include "system/plugins.h"
#include "system/system.h"
#include "topic/motion.pb-c.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(system_sets, .timeout = 60);

#define SETS_LINK(name) "<link name='" name "'/>"
#define SETS_JOINT(name, child)                                                                                        \
	"<joint name='" name "' type='revolute'><parent>base</parent><child>" child "</child><axis><xyz>0 0 1</xyz>"   \
	"</axis></joint>"
#define SETS_PLUGIN(kind, inside) "<plugin name='gz::sim::systems::" kind "' filename='x'>" inside "</plugin>"
/* Words: 7 of VelocityControl, and one each of the two joints. A touch is not told of in steps, but in update(). */
#define SETS_MODEL(name)                                                                                               \
	"<model name='" name "'>" SETS_LINK("base") SETS_LINK("one") SETS_LINK("two") SETS_JOINT("j1", "one")          \
		SETS_JOINT("j2", "two") SETS_PLUGIN("VelocityControl", "<topic>shared</topic>")                        \
			SETS_PLUGIN("ApplyJointForce", "<joint_name>j1</joint_name>")                                  \
				SETS_PLUGIN("ApplyJointForce", "<joint_name>j2</joint_name>") SETS_PLUGIN(             \
					"TouchPlugin", "<target>none</target><namespace>" name                         \
						       "</namespace><time>1</time><enabled>1</enabled>") "</model>"

enum { SETS_MAX = 24, SETS_TOPICS = 3 };

struct sets_model {
	char name[8];
	bool present, hears;
	uint32_t place, order; /* order: of its last subscription */
};

struct sets {
	uint64_t dice;
	struct sdf *file;
	struct scene *scene;
	struct systems *systems;
	struct sets_model models[SETS_MAX];
	uint32_t count, orders, base_words;
};

static void sets_start(struct sets *sets, uint64_t seed)
{
	static const char text[] = "<sdf version='1.11'><world name='w'>" SETS_MODEL(
		"m0") "<model name='quiet'><static>1</static>" SETS_LINK("l") "</model>" SETS_MODEL("m1") "</world></"
													  "sdf>";
	const struct scene_options options = {0};
	struct troupe_error error = {0};
	*sets = (struct sets){.dice = seed, .count = 2, .orders = 2};
	sets->file = sdf_help_good(text, NULL);
	cr_assert_eq(
		scene_create(&sets->file->worlds.at[0], &options, &sets->scene, &error), TROUPE_OK, "%s", error.text);
	cr_assert_eq(systems_create(sets->scene, NULL, &sets->systems, &error), TROUPE_OK, "%s", error.text);
	cr_assert_eq(sets->systems->warnings.count, 0, "%s",
		sets->systems->warnings.count ? sets->systems->warnings.at[0] : "");
	sets->models[0] = (struct sets_model){"m0", true, true, 0, 0};
	sets->models[1] = (struct sets_model){"m1", true, true, 2, 1};
	sets->base_words = sets->systems->sets[0].words;
}

static void sets_stop(struct sets *sets)
{
	systems_destroy(sets->systems);
	scene_destroy(sets->scene);
	sdf_free(sets->file);
}

/* --- what is expected ----------------------------------------------------------------------------------------------
 */

/* The listeners of the shared topic, in the order in which they came to it. */
static uint32_t sets_hearing(const struct sets *sets, const struct sets_model **at)
{
	uint32_t count = 0;
	for (uint32_t order = 0; order < sets->orders; order++)
		for (uint32_t m = 0; m < sets->count; m++)
			if (sets->models[m].present && sets->models[m].hears && sets->models[m].order == order)
				at[count++] = &sets->models[m];
	return count;
}

static void sets_check_own(const struct sets *sets, const struct sets_model *m)
{
	for (uint32_t i = 0; i < SETS_TOPICS; i++) {
		char name[64];
		snprintf(name, sizeof name,
			i == 0   ? "/model/%s/joint/j1/cmd_force"
			: i == 1 ? "/model/%s/joint/j2/cmd_force"
				 : "/%s/enable",
			m->name);
		const struct system_listeners *listeners = systems_find_listeners(sets->systems, name);
		bool heard = m->present && m->hears;
		cr_assert_eq(listeners != NULL, heard, "%s", name);
		cr_assert_eq(systems_topic_type(sets->systems, name) != NULL, heard, "%s", name);
		if (!heard)
			continue;
		cr_assert(listeners->listeners.count == 1 && listeners->listeners.at[0].model == m->place &&
				  listeners->listeners.at[0].system == i + 1 && !strcmp(listeners->name, name),
			"%s: of model %u, system %u", name, listeners->listeners.at[0].model,
			listeners->listeners.at[0].system);
	}
	if (!m->present)
		return;
	const struct system_set *set = &sets->systems->sets[m->place];
	uint32_t words = 0;
	cr_assert(set->count == 4 && set->updates && set->words == sets->base_words);
	for (uint32_t i = 0; i < set->count; i++) {
		cr_assert(set->at[i].self.model == m->place && set->at[i].index == i && set->at[i].word_first == words);
		words += set->at[i].words;
	}
	cr_assert_eq(words, set->words);
}

static void sets_check(const struct sets *sets)
{
	const struct sets_model *hearing[SETS_MAX];
	uint32_t count = sets_hearing(sets, hearing), present = 0;
	const struct system_listeners *shared = systems_find_listeners(sets->systems, "/shared");
	cr_assert_eq(shared ? shared->listeners.count : 0, count);
	for (uint32_t i = 0; i < count; i++)
		cr_assert(shared->listeners.at[i].model == hearing[i]->place && shared->listeners.at[i].system == 0,
			"the listener %u of the shared topic is model %u: expected %s", i,
			shared->listeners.at[i].model, hearing[i]->name);
	for (uint32_t m = 0; m < sets->count; m++) {
		present += sets->models[m].present;
		sets_check_own(sets, &sets->models[m]);
	}
	cr_assert(sets->systems->count == 4 * present && sets->systems->updating == present &&
			  sets->systems->reading == present && sets->systems->sets[1].count == 0,
		"%u systems, %u update", sets->systems->count, sets->systems->updating);
	uint32_t topics = sets->systems->topics.count - sets->systems->free_topics.count;
	cr_assert_eq(topics, SETS_TOPICS * sets_hearing(sets, hearing) + (count != 0), "%u topics", topics);
}

/* --- events --------------------------------------------------------------------------------------------------------
 */

static void sets_add(struct sets *sets)
{
	struct sets_model *m = &sets->models[sets->count];
	const struct sdf_options options = {.bare = true};
	struct troupe_error error = {0};
	struct scene_parts *parts = NULL;
	const char *warning = NULL;
	snprintf(m->name, sizeof m->name, "m%u", sets->count);
	char *text = mem_printf("<sdf version='1.11'>" SETS_MODEL("%s") "</sdf>", m->name, m->name);
	struct sdf *sdf = sdf_help_good(text, &options);
	free(text);
	cr_assert_eq(scene_compile(sdf, NULL, &parts, &error), TROUPE_OK, "%s", error.text);
	cr_assert_eq(
		scene_add(sets->scene, parts, sdf, NULL, &m->place, &warning, &error), TROUPE_OK, "%s", error.text);
	cr_assert_eq(systems_add(sets->systems, m->place, &warning, &error), TROUPE_OK, "%s", error.text);
	cr_assert_null(warning);
	m->present = m->hears = true;
	m->order = sets->orders++;
	sets->count++;
}

static void sets_happen(struct sets *sets)
{
	struct sets_model *m = &sets->models[random_below(&sets->dice, sets->count)];
	uint32_t what = random_below(&sets->dice, 6);
	if (what < 2 && sets->count < SETS_MAX) {
		sets_add(sets);
	} else if (!m->present) {
		return;
	} else if (what < 4 && m->hears) {
		systems_unsubscribe(sets->systems, m->place);
		m->hears = false;
	} else if (!m->hears && what < 5) {
		systems_subscribe(sets->systems, m->place);
		m->hears = true;
		m->order = sets->orders++;
	} else if (m > &sets->models[1]) { /* those of the file keep their places */
		scene_set_absent(sets->scene, m->place, true);
		if (m->hears)
			systems_unsubscribe(sets->systems, m->place);
		systems_remove(sets->systems, m->place);
		scene_free(sets->scene, m->place);
		m->present = false;
	}
}

Test(system_sets, listeners_are_those_that_are_there)
{
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct sets sets;
		sets_start(&sets, seed);
		sets_check(&sets);
		for (int i = 0; i < 80; i++) {
			sets_happen(&sets);
			sets_check(&sets);
		}
		sets_stop(&sets);
	}
}

/* --- words ---------------------------------------------------------------------------------------------------------
 */

/* Each word has a name of its system and of its own, and its kind; words that no system has are told as that. */
Test(system_sets, words_have_names_and_kinds)
{
	struct sets sets;
	sets_start(&sets, 1);
	struct text names[64] = {0};
	uint32_t doubles = 0, words = sets.systems->sets[2].words;
	cr_assert(words > 8 && words < ARRAY_LEN(names));
	for (uint32_t w = 0; w <= words; w++) {
		enum troupe_word_kind kind = TROUPE_WORD_DOUBLE;
		systems_name_word(sets.systems, 2, w, &names[w], &kind);
		if (w == words)
			break;
		cr_assert(!strncmp(names[w].at, "system '", 8), "%s", names[w].at);
		cr_assert(!strstr(names[w].at, ": word "), "word %u has no name: %s", w, names[w].at);
		doubles += kind == TROUPE_WORD_DOUBLE;
		bool is_velocity =
			strstr(names[w].at, "linear") || strstr(names[w].at, "angular") || strstr(names[w].at, "force");
		cr_assert(strstr(names[w].at, "in force") ? kind == TROUPE_WORD_INTEGER
							  : !is_velocity || kind == TROUPE_WORD_DOUBLE,
			"%s: kind %d", names[w].at, (int)kind);
		for (uint32_t v = 0; v < w; v++)
			cr_assert(strcmp(names[v].at, names[w].at) != 0 || strstr(names[w].at, "ApplyJointForce"),
				"words %u and %u are both %s", v, w, names[w].at);
	}
	cr_assert_str_eq(names[0].at, "system 'gz::sim::systems::VelocityControl': the model in force");
	char last[32];
	snprintf(last, sizeof last, "systems: word %u", words);
	cr_assert_str_eq(names[words].at, last);
	cr_assert(doubles >= 8, "%u", doubles);
	for (uint32_t w = 0; w <= words; w++)
		text_fini(&names[w]);
	sets_stop(&sets);
}

/* A command reaches the words of its system alone; a model that begins again has those of its beginning. */
Test(system_sets, a_command_writes_the_words_of_its_system)
{
	struct sets sets;
	struct system_fault fault = {0};
	sets_start(&sets, 1);
	struct state *state = systems_create_state(sets.systems);
	Gz__Msgs__Twist twist = GZ__MSGS__TWIST__INIT;
	Gz__Msgs__Vector3d linear = GZ__MSGS__VECTOR3D__INIT;
	linear.y = 5;
	twist.linear = &linear;
	uint64_t hash = state_hash(state), first = state_hash_of(state, 0), second = state_hash_of(state, 2);
	const struct system_listeners *shared = systems_find_listeners(sets.systems, "/shared");
	cr_assert_eq(systems_check(sets.systems, &shared->listeners.at[1], &twist.base, NULL), TROUPE_OK);
	systems_command(sets.systems, &shared->listeners.at[1], &twist.base, state, &fault);
	cr_assert(state_hash_of(state, 2) != second && state_hash_of(state, 0) == first && !fault.error.status);
	cr_assert_neq(state_hash(state), hash, "the hash of before is old");
	const struct system *control = &sets.systems->sets[2].at[0];
	for (uint32_t w = control->words; w < sets.systems->sets[2].words; w++)
		cr_assert(state_systems(state, 2, false)[w] == state_systems(state, 0, false)[w], "word %u", w);
	state_reset(state);
	cr_assert_eq(state_hash(state), hash);
	state_destroy(state);
	sets_stop(&sets);
}

/* The names that are near are offered, and no others; a text that is too short is cut. */
Test(system_sets, topics_that_are_near_are_offered)
{
	struct sets sets;
	char text[200], little[8];
	sets_start(&sets, 1);
	systems_near_topics(sets.systems, "/model/m1/joint/j2/cmd_forc", text, sizeof text);
	cr_assert(!strncmp(text, "/model/m1/joint/j2/cmd_force", 28), "%s", text);
	systems_near_topics(sets.systems, "/model/m1/joint/j2/cmd_forc", little, sizeof little);
	cr_assert_str_eq(little, "/model/");
	systems_unsubscribe(sets.systems, 2);
	systems_near_topics(sets.systems, "/model/m1/joint/j2/cmd_forc", text, sizeof text);
	cr_assert(!strstr(text, "m1"), "%s", text);
	sets_stop(&sets);
}

/* --- guards ---------------------------------------------------------------------------------------------------------
 */

enum { GUARDED_WORDS = 5 };

static enum { ADDS, WRITES_BEHIND, WRITES_BEFORE, MAKES_NAN, COUNTS, DRIFTS } guarded_does;
static uint64_t guarded_calls;

static void guarded_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	uint64_t *at = words;
	double *numbers = words;
	(void)self;
	(void)step;
	at[0] += 3;
	numbers[2] += 0.5;
	guarded_calls++;
	switch (guarded_does) {
	case WRITES_BEHIND:
		at[GUARDED_WORDS] = 1;
		break;
	case WRITES_BEFORE:
		at[-1] = 1;
		break;
	case MAKES_NAN:
		numbers[3] = NAN;
		break;
	case COUNTS:
		at[4] = guarded_calls;
		break;
	case DRIFTS:
		numbers[3] = (double)guarded_calls;
		break;
	default:
		break;
	}
}

/* What a plug-in's system may not do is named, with its word, and leaves the words as they were. */
Test(system_sets, a_guard_names_what_a_plug_in_breaks)
{
	static const char *const names[] = {"Kind", NULL};
	static const struct {
		int does;
		bool rehearse;
		const char *text; /* of the fault; NULL: none */
	} rows[] = {{ADDS, false, NULL}, {ADDS, true, NULL}, {COUNTS, false, NULL}, {DRIFTS, false, NULL},
		{WRITES_BEHIND, false, "post_update() writes beyond its 5 words"},
		{WRITES_BEFORE, false, "post_update() writes beyond its 5 words"},
		{WRITES_BEHIND, true, "post_update() writes beyond its 5 words"},
		{MAKES_NAN, false, "word 'd 1' is nan after post_update(): expected a finite number"},
		{COUNTS, true, "word 'last' differs when post_update() is called twice: 1 and 2: "},
		{DRIFTS, true, "word 'd 1' differs when post_update() is called twice: 1 and 2: "}};
	static const struct system_words words_of[] = {
		{"n", TROUPE_WORD_INTEGER, 2}, {"d", TROUPE_WORD_DOUBLE, 2}, {"last", TROUPE_WORD_INTEGER, 1}};
	static const struct system_acts acts;
	const struct troupe_kind kind = {.names = names, .post_update = guarded_update};
	const struct plugin_library library = {.path = "lib.so"};
	const struct system_step step = {.acts = &acts};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct systems all = {.rehearse = rows[i].rehearse};
		struct system system = {.self = {.kind = &kind, .model = SCENE_NONE},
			.all = &all,
			.library = &library,
			.words = GUARDED_WORDS};
		for (size_t n = 0; n < ARRAY_LEN(words_of); n++)
			vec_push(&system.names, words_of[n]);
		const struct guard_call call = {.system = &system, .function = GUARD_POST_UPDATE, .step = &step};
		uint64_t words[GUARDED_WORDS] = {7, 8, 0, 0, 9};
		struct system_fault fault = {0};
		guarded_does = rows[i].does;
		guarded_calls = 0;
		cr_assert(guard_has(&call));
		guard_make(&call, words, rows[i].rehearse, &fault);
		cr_expect_eq(guarded_calls, rows[i].rehearse && !(fault.error.status && i < 8) ? 2 : 1, "%zu", i);
		if (rows[i].text)
			cr_expect(fault.error.status && strstr(fault.error.text, rows[i].text), "%zu: %s", i,
				fault.error.text);
		else
			cr_expect_eq(fault.error.status, TROUPE_OK, "%zu: %s", i, fault.error.text);
		bool kept = rows[i].text && i < 8;
		cr_expect_eq(words[0], kept ? 7u : 10u, "%zu", i);
		cr_expect_eq(words[1], 8u, "%zu", i);
		vec_free(&system.names);
	}
}

static bool guarded_waits(const struct troupe_system *self, const void *words)
{
	const uint64_t *at = words;
	(void)self;
	return at[1] == 8;
}

/* A plug-in that says that it waits is not called in all steps: so update() may change no word then. */
Test(system_sets, what_waits_does_nothing)
{
	static const char *const names[] = {"Kind", NULL};
	static const struct system_acts acts;
	const struct troupe_kind kind = {.names = names, .update = guarded_update, .waits = guarded_waits};
	const struct plugin_library library = {.path = "lib.so"};
	const struct system_step step = {.acts = &acts};
	for (uint64_t second = 7; second <= 8; second++) {
		struct systems all = {0};
		const struct system system = {.self = {.kind = &kind, .model = SCENE_NONE},
			.all = &all,
			.library = &library,
			.words = GUARDED_WORDS};
		const struct guard_call call = {.system = &system, .function = GUARD_UPDATE, .step = &step};
		uint64_t words[GUARDED_WORDS] = {7, second, 0, 0, 9};
		struct system_fault fault = {0};
		guarded_does = ADDS;
		cr_assert_eq(guard_waits_until(&system, words, 0), second == 8 ? UINT64_MAX : 0);
		guard_make(&call, words, false, &fault);
		cr_expect_eq(words[0], second == 8 ? 7u : 10u);
		cr_expect_eq(fault.error.status, second == 8 ? TROUPE_EDIVERGED : TROUPE_OK);
		cr_expect(second != 8 || strstr(fault.error.text, "although waits() says"), "%s", fault.error.text);
	}
}

/* Until the time in the third word. */
static uint64_t guarded_waits_until(const struct troupe_system *self, const void *words, uint64_t now_ns)
{
	const uint64_t *at = words;
	(void)self;
	return at[1] == 8 ? at[2] : now_ns;
}

Test(system_sets, what_waits_until_a_time_does_nothing_before)
{
	static const char *const names[] = {"Kind", NULL};
	static const struct system_acts acts;
	const struct troupe_kind kind = {.names = names, .update = guarded_update, .waits_until = guarded_waits_until};
	const struct plugin_library library = {.path = "lib.so"};
	for (uint64_t now_ns = 999; now_ns <= 1000; now_ns++) {
		const struct system_step step = {.step = {.time_s = (double)now_ns * 1e-9}, .acts = &acts};
		struct systems all = {0};
		const struct system system = {.self = {.kind = &kind, .model = SCENE_NONE},
			.all = &all,
			.library = &library,
			.words = GUARDED_WORDS};
		const struct guard_call call = {.system = &system, .function = GUARD_UPDATE, .step = &step};
		uint64_t words[GUARDED_WORDS] = {7, 8, 1000, 0, 9}, free_words[GUARDED_WORDS] = {7, 7, 1000, 0, 9};
		struct system_fault fault = {0};
		guarded_does = ADDS;
		cr_assert_eq(guard_waits_until(&system, words, now_ns), 1000);
		cr_assert_eq(guard_waits_until(&system, free_words, now_ns), now_ns);
		guard_make(&call, words, false, &fault);
		cr_expect_eq(words[0], now_ns == 999 ? 7u : 10u);
		cr_expect_eq(fault.error.status, now_ns == 999 ? TROUPE_EDIVERGED : TROUPE_OK);
	}
}

static unsigned char *controlled_at;
static bool controlled_differs;

/* Adds to one number of what is asked for; controlled_differs: more in each call. */
static void controlled_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	(void)self;
	(void)step;
	(void)words;
	*controlled_at = (unsigned char)(*controlled_at + (controlled_differs ? ++guarded_calls : 1));
}

#define CONTROLLED_LINK(name)                                                                                          \
	"<link name='" name "'><collision name='c'><geometry><sphere><radius>1</radius></sphere></geometry>"           \
	"</collision></link>"
#define CONTROLLED_MODEL(name)                                                                                         \
	"<model name='" name "'>" CONTROLLED_LINK("base") CONTROLLED_LINK("one") CONTROLLED_LINK("two")                \
		SETS_JOINT("j1", "one") SETS_JOINT("j2", "two") "</model>"

/* What the last system of the second model asks for, for its last joint, body or geom: in a rehearsal each number
 * counts, the first call has no effect, and the other model has none of it. */
Test(system_sets, what_a_rehearsal_asks_for)
{
	static const struct {
		size_t joint, body, geom; /* the offset of the first byte of a number, and 1; 0: of another kind */
	} rows[] = {{.joint = offsetof(struct joint_control, drive) + 1},
		{.joint = offsetof(struct joint_control, velocity) + 1},
		{.joint = offsetof(struct joint_control, force) + 1},
		{.body = offsetof(struct body_control, drive) + 1}, {.body = offsetof(struct body_control, place) + 1},
		{.body = offsetof(struct body_control, v.z) + 1}, {.body = offsetof(struct body_control, w.x) + 1},
		{.body = offsetof(struct body_control, w.z) + 1}, {.body = offsetof(struct body_control, force.y) + 1},
		{.body = offsetof(struct body_control, torque.z) + 1},
		{.body = offsetof(struct body_control, target.p.x) + 1},
		{.body = offsetof(struct body_control, target.q.z) + 1},
		{.geom = offsetof(struct surface_control, speed) + 1},
		{.geom = offsetof(struct surface_control, slip2) + 1}};
	static const char *const names[] = {"Kind", NULL};
	static const struct system_acts acts;
	const struct troupe_kind kind = {.names = names, .pre_update = controlled_update};
	const struct plugin_library library = {.path = "lib.so"};
	const struct scene_options options = {0};
	struct troupe_error error = {0};
	struct sdf *file = sdf_help_good("<sdf version='1.11'><world name='w'>" CONTROLLED_MODEL("a")
						 CONTROLLED_MODEL("b") "</world></sdf>",
		NULL);
	struct scene *scene;
	cr_assert_eq(scene_create(&file->worlds.at[0], &options, &scene, &error), TROUPE_OK, "%s", error.text);
	struct systems all = {.rehearse = true};
	const struct system system = {
		.self = {.kind = &kind, .model = 1}, .all = &all, .scene = scene, .library = &library};
	for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		const size_t joint = rows[i / 2].joint, body = rows[i / 2].body, geom = rows[i / 2].geom;
		const struct control control = {
			.joints = mem_alloc_lines(scene->joint_count * sizeof(struct joint_control)),
			.bodies = mem_alloc_lines(scene->body_count * sizeof(struct body_control)),
			.models = mem_alloc_lines(scene->model_count * sizeof(struct model_control)),
			.surfaces = mem_alloc_lines(scene->geom_count * sizeof(struct surface_control))};
		const struct system_step step = {.acts = &acts, .control = &control, .model = 1};
		const struct guard_call call = {.system = &system, .function = GUARD_PRE_UPDATE, .step = &step};
		struct system_fault fault = {0};
		char *expected = mem_printf(" control of '%s' differs when pre_update() is called twice: ",
			joint  ? scene->joints[scene->joint_count - 1].scoped
			: body ? scene->bodies[scene->body_count - 1].name
			       : scene->links[scene->geoms[scene->geom_count - 1].link].scoped);
		controlled_at = joint  ? (unsigned char *)&control.joints[scene->joint_count - 1] + joint - 1
				: body ? (unsigned char *)&control.bodies[scene->body_count - 1] + body - 1
				       : (unsigned char *)&control.surfaces[scene->geom_count - 1] + geom - 1;
		controlled_differs = i % 2;
		guarded_calls = 0;
		*controlled_at = 7;
		guard_make(&call, NULL, true, &fault);
		if (controlled_differs)
			cr_expect(fault.error.status && strstr(fault.error.text, expected), "%zu: %s", i,
				fault.error.text);
		else
			cr_expect(!fault.error.status && *controlled_at == 8, "%zu: %d: %s", i, *controlled_at,
				fault.error.text);
		free(expected);
		free(control.joints);
		free(control.bodies);
		free(control.models);
		free(control.surfaces);
	}
	scene_destroy(scene);
	sdf_free(file);
}

/* --- where libraries are found ------------------------------------------------------------------------------------ */

static const char *const shelf_folders[] = {"first", "second", "third"};
static const char *const shelf_files[] = {
	"first/push.so", "second/libpush.so", "second/push", "third/libother.so", "third/other", "outside.so"};
enum { SHELF_FOLDERS = 3, SHELF_FILES = 6, SHELF_BYTES = 64 };

/* root: a new folder with these files, none of which is a library. The first two folders stand in one list, and the
 * third with one that is not there in another. */
static struct plugins *shelf_make(char root[SHELF_BYTES], struct text *lists)
{
	(void)snprintf(root, SHELF_BYTES, "%s", "/tmp/test_system_sets_XXXXXX");
	cr_assert(mkdtemp(root));
	for (int i = 0; i < SHELF_FOLDERS; i++) {
		char *path = mem_printf("%s/%s", root, shelf_folders[i]);
		cr_assert(!mkdir(path, 0700));
		free(path);
	}
	for (int i = 0; i < SHELF_FILES; i++) {
		char *path = mem_printf("%s/%s", root, shelf_files[i]);
		FILE *file = fopen(path, "w");
		cr_assert(file && fputs(path, file) >= 0 && !fclose(file));
		free(path);
	}
	unsetenv("TROUPE_PLUGIN_PATH");
	text_add(lists, "%s/first::%s/second", root, root);
	char *last = mem_printf("%s/third:%s/fourth", root, root);
	const char *const folders[] = {lists->at, last, NULL};
	struct plugins *plugins = plugins_create(folders);
	free(last);
	return plugins;
}

static void shelf_end(struct plugins *plugins, const char *root, struct text *lists)
{
	plugins_destroy(plugins);
	for (int i = SHELF_FILES + SHELF_FOLDERS; i-- > 0;) {
		char *path = mem_printf(
			"%s/%s", root, i < SHELF_FOLDERS ? shelf_folders[i] : shelf_files[i - SHELF_FOLDERS]);
		(void)remove(path);
		free(path);
	}
	(void)rmdir(root);
	text_fini(lists);
}

/* By each form of its name, in the first folder that has it; a path must lead into one of the folders. */
Test(system_sets, a_library_is_found_in_the_first_folder_that_has_it)
{
	static const char *const rows[][2] = {{"push", "first/push.so"}, {"libpush.so", "second/libpush.so"},
		{"libpush", "second/libpush.so"}, {"other", "third/other"}, {"first/push", ""}, {"none", ""}};
	char root[SHELF_BYTES];
	struct text lists = {0};
	struct plugins *plugins = shelf_make(root, &lists);
	struct troupe_error error;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *want = mem_printf(
			"plugin '%s': peer has none, and this machine has %s/%s", rows[i][0], root, rows[i][1]);
		troupe_status status = plugins_match(plugins, rows[i][0], 0, "peer", &error);
		cr_expect_eq(status, *rows[i][1] ? TROUPE_EWORLD : TROUPE_OK, "%s", rows[i][0]);
		cr_expect(!status || !strcmp(error.text, want), "%s: expected %s", error.text, want);
		free(want);
	}
	cr_assert_eq(plugins_match(plugins, "none", 5, "peer", &error), TROUPE_EWORLD);
	cr_expect_str_eq(error.text,
		"plugin 'none': not found here; expected hash 0000000000000005, which peer has; see --plugin-path");
	for (int i = 1; i < SHELF_FILES; i += SHELF_FILES - 2) { /* of the second folder, and of none */
		char *path = mem_printf("%s/%s", root, shelf_files[i]);
		const struct sdf_element at = {.file = "w.sdf", .line = 7};
		const struct sdf_plugin plugin = {.name = "x", .filename = path, .element = &at};
		const struct plugin_library *library;
		cr_assert_eq(plugins_find(plugins, &plugin, &library, &error), TROUPE_EWORLD);
		cr_expect(!strncmp(error.text, "w.sdf:7: plugin '/", 18), "%s", error.text);
		cr_expect(strstr(error.text, i == 1 ? "it cannot be loaded" : "it is not in a folder for plug-ins"),
			"%s", error.text);
		cr_expect_null(library);
		free(path);
	}
	shelf_end(plugins, root, &lists);
}

/* The folders in their order, of which three are named, and a name in one of them. */
Test(system_sets, where_a_library_was_sought)
{
	char root[SHELF_BYTES];
	struct text lists = {0}, said = {0};
	struct plugins *plugins = shelf_make(root, &lists);
	char *want = mem_printf(
		"its library \"libothr.so\" is not found in %s/first, %s/second, %s/third or 2 other folders: "
		"expected a library that is there, such as \"libother.so\"",
		root, root, root);
	plugins_explain(plugins, "libothr.so", &said);
	cr_expect_str_eq(said.at, want, "%s", said.at);
	said.count = 0;
	plugins_explain(plugins, "/a/b.so", &said);
	cr_expect_str_eq(
		said.at, "its library \"/a/b.so\" is not found: expected a library that is there", "%s", said.at);
	said.count = 0;
	plugins_explain(plugins, "a/b.so", &said);
	plugins_explain(plugins, "", &said);
	plugins_explain(NULL, "b", &said);
	cr_expect_eq(said.count, 0);
	shelf_end(plugins, root, &lists);
	free(want);
	/* beside these, the folder of the installation */
	static const char *const two[] = {"/none/a:/none/b", NULL}, *const three[] = {"/none/a:/none/b:/none/c", NULL};
	plugins = plugins_create(two);
	plugins_explain(plugins, "x", &said);
	cr_expect(strstr(said.at, " is not found in /none/a, /none/b or /"), "%s", said.at);
	plugins_destroy(plugins);
	said.count = 0;
	plugins = plugins_create(three);
	plugins_explain(plugins, "x", &said);
	cr_expect(strstr(said.at, " /none/a, /none/b, /none/c or 1 other folder: "), "%s", said.at);
	plugins_destroy(plugins);
	text_fini(&said);
}

/* A kind by each of its names, of the first kind that has it. */
Test(system_sets, a_kind_has_several_names)
{
	static const char *const one[] = {"one", "eins", NULL}, *const two[] = {"two", "zwei", "eins", NULL};
	static const struct troupe_kind first = {.names = one}, second = {.names = two};
	const struct troupe_kind *const kinds[] = {&first, &second, NULL};
	struct text said = {0};
	cr_expect_eq(plugin_kind(kinds, "eins"), &first);
	cr_expect_eq(plugin_kind(kinds, "zwei"), &second);
	cr_expect_null(plugin_kind(kinds, "drei"));
	plugin_list_kinds(kinds, &said);
	cr_expect_str_eq(said.at, "one, two");
	text_fini(&said);
}
