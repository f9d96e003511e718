/* What a library exports is checked before any function of it is called: each fault of a table is told in one line, of
 * the second of two kinds as well as of the first, and what is at a limit is no fault. */
#include "system/plugin_check.h"
#include "system/plugins.h"
#include "system/system.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

TestSuite(plugin_check, .timeout = 60);

static bool check_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	(void)self;
	(void)plugin;
	return true;
}

static void check_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	(void)self;
	(void)step;
	(void)words;
}

static const char *const check_first_names[] = {"first", NULL}, *const check_second_names[] = {"second", "other", NULL};
static const struct troupe_kind check_good = {
	.size = sizeof check_good, .flags = TROUPE_IN_MODEL, .names = check_first_names, .configure = check_configure};

/* The message about a plug-in with a good kind and this one; "": it is fine. */
static const char *check_of(const struct troupe_kind *kind)
{
	static struct troupe_error error;
	const struct troupe_kind *const kinds[] = {&check_good, kind, NULL};
	const struct troupe_plugin plugin = {sizeof plugin, TROUPE_PLUGIN_ABI, "p", "1", kinds};
	error = (struct troupe_error){0};
	troupe_status status = plugin_check(&plugin, &error);
	cr_assert(status == TROUPE_OK || status == TROUPE_EWORLD);
	cr_assert_eq(status, error.status);
	return error.text;
}

static void check_says(const struct troupe_kind *kind, const char *words)
{
	const char *text = check_of(kind);
	cr_assert(*words ? strstr(text, words) != NULL : !*text, "\"%s\": expected \"%s\"", text, words);
}

/* The second kind, which is good as it is. */
static struct troupe_kind check_second(void)
{
	struct troupe_kind kind = check_good;
	kind.names = check_second_names;
	return kind;
}

Test(plugin_check, the_head_of_a_plugin)
{
	const struct troupe_kind *const none[] = {NULL};
	const struct troupe_kind *const one[] = {&check_good, NULL};
	const struct {
		struct troupe_plugin plugin;
		const char *words;
	} cases[] = {
		{{sizeof(struct troupe_plugin), TROUPE_PLUGIN_ABI, "p", "1", one}, ""},
		{{offsetof(struct troupe_plugin, abi), TROUPE_PLUGIN_ABI, "p", "1", one}, "expected 32 or more"},
		{{(1 << 20) + 1, TROUPE_PLUGIN_ABI, "p", "1", one}, "1048577 bytes"},
		{{1 << 20, TROUPE_PLUGIN_ABI, "p", "1", one}, ""},
		{{sizeof(struct troupe_plugin), TROUPE_PLUGIN_ABI + 1, "p", "1", one},
			"it has version 2 of the interface"},
		/* of another version the size is that of another struct: the version is told */
		{{offsetof(struct troupe_plugin, name), TROUPE_PLUGIN_ABI + 1, "p", "1", one}, "it has version 2"},
		{{offsetof(struct troupe_plugin, kinds), TROUPE_PLUGIN_ABI, "p", "1", one}, "has 24 bytes"},
		{{sizeof(struct troupe_plugin), TROUPE_PLUGIN_ABI, "p", "1", NULL}, "no kinds"},
		{{sizeof(struct troupe_plugin), TROUPE_PLUGIN_ABI, "p", "1", none}, "no kinds"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct troupe_error error = {0};
		troupe_status status = plugin_check(&cases[i].plugin, &error);
		cr_assert_eq(status, *cases[i].words ? TROUPE_EWORLD : TROUPE_OK, "case %zu: %s", i, error.text);
		cr_assert(strstr(error.text, cases[i].words), "case %zu: %s", i, error.text);
	}
}

Test(plugin_check, as_many_kinds_as_there_may_be)
{
	static const struct troupe_kind *kinds[PLUGIN_KINDS_MAX + 2];
	const struct troupe_plugin plugin = {sizeof plugin, TROUPE_PLUGIN_ABI, "p", "1", kinds};
	struct troupe_error error = {0};
	for (size_t i = 0; i < PLUGIN_KINDS_MAX; i++)
		kinds[i] = &check_good;
	cr_assert_eq(plugin_check(&plugin, &error), TROUPE_OK, "%s", error.text);
	kinds[PLUGIN_KINDS_MAX] = &check_good;
	cr_assert_eq(plugin_check(&plugin, &error), TROUPE_EWORLD);
	cr_assert(strstr(error.text, "more than 256 kinds"), "%s", error.text);
}

Test(plugin_check, names)
{
	static char longest[PLUGIN_NAME_BYTES_MAX + 2];
	static const char *many[PLUGIN_NAMES_MAX + 2];
	const char *names[] = {"second", longest, NULL}, *const none[] = {NULL};
	struct troupe_kind kind = check_second();
	check_says(&kind, "");
	kind.names = NULL;
	check_says(&kind, "kind 2 has no name");
	kind.names = none;
	check_says(&kind, "kind 2 has no name");
	kind.names = names;
	check_says(&kind, "kind 2 has a name that is not one of 1 to 127");
	memset(longest, 'n', PLUGIN_NAME_BYTES_MAX);
	check_says(&kind, "");
	longest[PLUGIN_NAME_BYTES_MAX] = 'n';
	check_says(&kind, "kind 2 has a name");
	names[1] = "a\x1f";
	check_says(&kind, "kind 2 has a name");
	names[1] = "a\x7f";
	check_says(&kind, "kind 2 has a name");
	names[1] = "a b";
	check_says(&kind, "");
	for (size_t i = 0; i < PLUGIN_NAMES_MAX; i++)
		many[i] = "n";
	kind.names = many;
	check_says(&kind, "");
	many[PLUGIN_NAMES_MAX] = "n";
	check_says(&kind, "kind 'n' has more than 64 names");
}

Test(plugin_check, kinds_of_other_sizes)
{
	struct troupe_kind kind = check_second();
	kind.size = offsetof(struct troupe_kind, configure);
	check_says(&kind, "kind 2 has");
	/* a kind of an older header ends behind configure(): what would follow is not read */
	kind.size = offsetof(struct troupe_kind, init);
	kind.flags = TROUPE_IN_WORLD;
	kind.pre_update = kind.post_update = check_update;
	check_says(&kind, "");
	kind.size = offsetof(struct troupe_kind, post_update);
	check_says(&kind, "kind 'second' may stand in the world, which has no runner");
	kind.pre_update = NULL;
	check_says(&kind, "");
	kind.size = sizeof kind;
	check_says(&kind, "kind 'second' may stand in the world, which has no runner");
	kind.flags = TROUPE_IN_MODEL;
	check_says(&kind, "");
	kind.configure = NULL;
	check_says(&kind, "kind 'second' has no configure()");
}

Test(plugin_check, flags)
{
	struct troupe_kind kind = check_second();
	const struct {
		uint32_t flags;
		const char *words;
	} cases[] = {{TROUPE_RESTS << 1 | TROUPE_IN_MODEL, "flags 0x201"}, {0, "may stand nowhere"},
		{TROUPE_LENIENT | TROUPE_RESTS, "may stand nowhere"}, {TROUPE_IN_ACTOR, ""},
		{TROUPE_IN_WORLD | TROUPE_FOR_EACH_MODEL, "expected either TROUPE_IN_WORLD or TROUPE_FOR_EACH_MODEL"},
		{TROUPE_IN_WORLD | TROUPE_IN_MODEL | TROUPE_FOR_CLIENTS, ""},
		{TROUPE_FOR_EACH_MODEL | TROUPE_RESTS, ""}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		kind.flags = cases[i].flags;
		check_says(&kind, cases[i].words);
	}
}

Test(plugin_check, parameters)
{
	static struct troupe_parameter many[PLUGIN_PARAMETERS_MAX + 2];
	struct troupe_kind kind = check_second();
	const struct {
		struct troupe_parameter second;
		bool good;
	} cases[] = {{{"n", TROUPE_NUMBER, 1, 1, ""}, true}, {{"n", TROUPE_NUMBER, 1, 0.5, ""}, false},
		{{"n", TROUPE_NUMBER, NAN, 1, ""}, false}, {{"n", TROUPE_VECTOR, -HUGE_VAL, HUGE_VAL, ""}, true},
		{{"n", TROUPE_VECTOR, 0, NAN, ""}, false}, {{"n", TROUPE_TEXT, 1, 0, ""}, true},
		{{"n", TROUPE_UNUSED, 1, 0, ""}, true}, {{"", TROUPE_BOOL, 0, 0, ""}, false},
		{{"n", (enum troupe_parameter_kind)(TROUPE_UNUSED + 1), 0, 0, ""}, false}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct troupe_parameter table[] = {{"m", TROUPE_POSE, 0, 0, ""}, cases[i].second, {.name = NULL}};
		kind.parameters = table;
		check_says(&kind, cases[i].good ? "" : "kind 'second': parameter 2 is not valid");
	}
	for (size_t i = 0; i < PLUGIN_PARAMETERS_MAX; i++)
		many[i] = (struct troupe_parameter){"n", TROUPE_BOOL, 0, 0, ""};
	kind.parameters = many;
	check_says(&kind, "");
	many[PLUGIN_PARAMETERS_MAX] = many[0];
	check_says(&kind, "kind 'second' has more than 1024 parameters");
}

Test(plugin_check, words)
{
	static struct troupe_words many[SYSTEM_WORDS_MAX + 2];
	struct troupe_kind kind = check_second();
	const struct {
		struct troupe_words second;
		bool good;
	} cases[] = {{{"w", TROUPE_WORD_INTEGER}, true}, {{"", TROUPE_WORD_INTEGER}, false},
		{{"w", (enum troupe_word_kind)(TROUPE_WORD_INTEGER + 1)}, false}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct troupe_words table[] = {{"v", TROUPE_WORD_DOUBLE}, cases[i].second, {.name = NULL}};
		kind.words = table;
		check_says(&kind, cases[i].good ? "" : "kind 'second': word 2 is not valid");
	}
	for (size_t i = 0; i < SYSTEM_WORDS_MAX; i++)
		many[i] = (struct troupe_words){"w", TROUPE_WORD_DOUBLE};
	kind.words = many;
	check_says(&kind, "");
	many[SYSTEM_WORDS_MAX] = many[0];
	check_says(&kind, "kind 'second' has more than 4096 words");
}
