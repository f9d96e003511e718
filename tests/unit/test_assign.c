/* The assignment policy, told as lines of text, and as properties of random worlds.
 *
 * A line is "situation | step | step ...", of words:
 *   S=3          three secondaries
 *   L1:P1,c2     P1 is in level L1; cargo c2 is named by it (and is there whenever the level is)
 *   P4 / P4x     P4 is there, in no level / is gone
 *   P1>L3 P1>-   P1 leaves all levels and enters L3 / none
 *   P1+L3 P1-L3  P1 enters L3 / leaves it, whatever else it is in
 *   P1~P2 P1!P2  P1 and P2 touch / no longer
 *   L2~P1 L2!P1  P1 is near L2, which is thus loaded / no longer
 *   P1=2 L1=2    pinned to secondary 2; =0: no longer
 *   ?            after this step also tell where everything is
 * The outcome has the moves of models from one secondary to another in each step but the first, " | " between steps,
 * and for ? the place of everything, "P1@1 L1@1". */
#include "../random.h"
#include "assign/assign.h"
#include "assign/table.h"
#include "base/text.h"
#include "joined.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(assign, .timeout = 60);

enum { MODELS = 40, CARGO = 20, LEVELS = 12 }; /* models from index CARGO on are c1, c2, ... */

struct world {
	uint32_t secondaries;
	bool pairs[MODELS][MODELS];
	bool loaded[MODELS], is_mover[MODELS], entered[MODELS], in[MODELS][LEVELS], near[MODELS][LEVELS];
	uint32_t cargo_of[MODELS]; /* the level of this cargo, from 1; 0: none */
	uint32_t model_pin[MODELS], level_pin[LEVELS];
	bool level_loaded[LEVELS], level_held[LEVELS];
	uint32_t level_near[LEVELS];
	uint32_t model[MODELS], level[LEVELS], home[MODELS], component_of[MODELS];
	struct assignment now;
	struct joined components;
	struct assign_scratch scratch;
};

static void world_init(struct world *world)
{
	*world = (struct world){.secondaries = 1};
	world->now = (struct assignment){
		.model = world->model, .level = world->level, .home = world->home, .component_of = world->component_of};
	for (uint32_t m = 0; m < CARGO; m++)
		world->is_mover[m] = true;
}

static void world_fini(struct world *world)
{
	joined_fini(&world->components);
	assign_scratch_fini(&world->scratch);
}

static void load_levels(struct world *world)
{
	for (uint32_t l = 0; l < LEVELS; l++) {
		world->level_held[l] = false;
		world->level_near[l] = UINT32_MAX;
		for (uint32_t m = MODELS; m-- > 0;)
			if (world->loaded[m] && world->is_mover[m] && (world->in[m][l] || world->near[m][l])) {
				world->level_held[l] |= world->in[m][l];
				world->level_near[l] = m;
			}
		world->level_loaded[l] = world->level_near[l] != UINT32_MAX;
	}
	for (uint32_t m = CARGO; m < MODELS; m++)
		if (world->cargo_of[m])
			world->loaded[m] = world->level_loaded[world->cargo_of[m] - 1];
}

/* Pairs and memberships of models that are not there are left out. */
static uint32_t join(struct world *world)
{
	joined_begin(&world->components, MODELS, LEVELS);
	for (uint32_t m = 0; m < MODELS; m++) {
		for (uint32_t l = 0; l < LEVELS; l++)
			if (world->loaded[m] && (world->in[m][l] || (world->cargo_of[m] == l + 1)))
				joined_level(&world->components, m, l);
		for (uint32_t other = 0; other < MODELS; other++)
			if (world->pairs[m][other] && world->loaded[m] && world->loaded[other])
				joined_models(&world->components, m, other);
	}
	return joined_finish(&world->components, world->loaded, world->level_loaded);
}

static void step(struct world *world)
{
	load_levels(world);
	uint32_t count = join(world);
	struct assign_input input = {
		.secondaries = world->secondaries,
		.model_count = MODELS,
		.level_count = LEVELS,
		.component_count = count,
		.model_component = world->components.model_component,
		.level_component = world->components.level_component,
		.model_is_mover = world->is_mover,
		.model_entered = world->entered,
		.level_has_performer = world->level_held,
		.level_near = world->level_near,
		.model_pin = world->model_pin,
		.level_pin = world->level_pin,
	};
	assign_round_robin(&input, &world->now, &world->scratch);
}

/* "P3" -> 2, "c2" -> CARGO + 1, "L4" -> 3 with *ret_level; *at is then behind the text */
static uint32_t parse_node(const char **at, bool *ret_level)
{
	char kind = *(*at)++;
	char *end;
	unsigned long number = strtoul(*at, &end, 10);
	cr_assert(end > *at && strchr("PcL", kind), "bad node at '%s'", *at - 1);
	cr_assert(number >= 1 && number <= (kind == 'L' ? LEVELS : CARGO), "bad number at '%s'", *at - 1);
	*at = end;
	*ret_level = kind == 'L';
	return (uint32_t)number - 1 + (kind == 'c' ? CARGO : 0);
}

static void enter(struct world *world, uint32_t model, uint32_t level)
{
	world->entered[model] |= !world->in[model][level];
	world->in[model][level] = true;
	world->loaded[model] = true;
}

static void fill_level(struct world *world, uint32_t level, const char *list)
{
	bool is_level = true;
	while (*list) {
		uint32_t model = parse_node(&list, &is_level);
		cr_assert(!is_level);
		if (model >= CARGO)
			world->cargo_of[model] = level + 1;
		else
			enter(world, model, level);
		list += *list == ',';
	}
}

static void act(struct world *world, bool is_level, uint32_t a, char verb, bool other_is_level, uint32_t b)
{
	if (verb == '>' && other_is_level) {
		bool already = world->in[a][b];
		memset(world->in[a], 0, sizeof world->in[a]);
		world->in[a][b] = already;
		enter(world, a, b);
	} else if (verb == '+' && other_is_level) {
		enter(world, a, b);
	} else if (verb == '-' && other_is_level) {
		world->in[a][b] = false;
	} else if (is_level) {
		world->near[b][a] = verb == '~';
	} else {
		world->pairs[a][b] = world->pairs[b][a] = verb == '~';
	}
}

static void do_word(struct world *world, const char *word)
{
	bool is_level, other_is_level;
	if (!strncmp(word, "S=", 2)) {
		world->secondaries = (uint32_t)strtoul(word + 2, NULL, 10);
		return;
	}
	uint32_t node = parse_node(&word, &is_level);
	if (*word == ':') {
		fill_level(world, node, word + 1);
	} else if (*word == '=') {
		(is_level ? world->level_pin : world->model_pin)[node] = (uint32_t)strtoul(word + 1, NULL, 10);
	} else if (!*word || *word == 'x') {
		world->loaded[node] = !*word;
		memset(world->in[node], 0, sizeof world->in[node]);
	} else if (!strcmp(word, ">-")) {
		memset(world->in[node], 0, sizeof world->in[node]);
	} else {
		char verb = *word++;
		uint32_t other = parse_node(&word, &other_is_level);
		cr_assert(strchr(">+-~!", verb) && !*word, "bad verb %c", verb);
		act(world, is_level, node, verb, other_is_level, other);
	}
}

static const char *name_of(uint32_t model)
{
	static char name[16];
	snprintf(name, sizeof name, "%c%u", model < CARGO ? 'P' : 'c', model % CARGO + 1);
	return name;
}

static void add_word(struct text *text, const char *word)
{
	bool first = !text->count || (text->count >= 3 && !strcmp(text->at + text->count - 3, " | "));
	text_add(text, "%s%s", first ? "" : " ", word);
}

static void tell_moves(struct text *text, const struct world *world, const uint32_t *before)
{
	char word[64];
	for (uint32_t m = 0; m < MODELS; m++)
		if (before[m] && world->model[m] && before[m] != world->model[m]) {
			snprintf(word, sizeof word, "%s:%u>%u", name_of(m), before[m], world->model[m]);
			add_word(text, word);
		}
}

static void tell_places(struct text *text, const struct world *world)
{
	char word[64];
	for (uint32_t m = 0; m < MODELS; m++)
		if (world->model[m]) {
			snprintf(word, sizeof word, "%s@%u", name_of(m), world->model[m]);
			add_word(text, word);
		}
	for (uint32_t l = 0; l < LEVELS; l++)
		if (world->level[l]) {
			snprintf(word, sizeof word, "L%u@%u", l + 1, world->level[l]);
			add_word(text, word);
		}
}

static void play_step(struct world *world, struct text *outcome, char *words)
{
	char *rest = NULL;
	bool tell = false;
	uint32_t before[MODELS];
	memcpy(before, world->model, sizeof before);
	memset(world->entered, 0, sizeof world->entered);
	for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		if (!strcmp(word, "?"))
			tell = true;
		else
			do_word(world, word);
	step(world);
	tell_moves(outcome, world, before);
	if (tell)
		tell_places(outcome, world);
}

/* The caller frees the text with text_fini(). */
static struct text play(const char *line)
{
	struct world world;
	struct text outcome = {0};
	char *copy = mem_strdup(line), *rest = NULL;
	world_init(&world);
	text_add(&outcome, "%s", "");
	char *words = strtok_r(copy, "|", &rest);
	for (uint32_t i = 0; words; i++, words = strtok_r(NULL, "|", &rest)) {
		if (i > 1)
			text_add(&outcome, " | ");
		play_step(&world, &outcome, words);
	}
	free(copy);
	world_fini(&world);
	return outcome;
}

struct tale {
	const char *line, *outcome;
};

static void check_tales(const struct tale *tales, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct text outcome = play(tales[i].line);
		cr_assert_str_eq(outcome.at, tales[i].outcome, "%s\n\tgave     '%s'\n\texpected '%s'", tales[i].line,
			outcome.at, tales[i].outcome);
		text_fini(&outcome);
	}
}
#define CHECK_TALES(...)                                                                                               \
	do {                                                                                                           \
		static const struct tale tales[] = {__VA_ARGS__};                                                      \
		check_tales(tales, ARRAY_LEN(tales));                                                                  \
	} while (0)

Test(assign, the_specifications_five_examples)
{
	CHECK_TALES({"S=3 L1:P1 L2:P2,P3 ?", "P1@1 P2@2 P3@2 L1@1 L2@2"}, /* all cases below begin like this one */
		{"S=3 L1:P1 L2:P2,P3 | P1>L3", ""}, {"S=3 L1:P1 L2:P2,P3 | P1>L2", "P1:1>2"},
		{"S=3 L1:P1 L2:P2,P3 | P2>L1 P3>L1", "P1:1>2"}, {"S=3 L1:P1 L2:P2,P3 | P3>L3", "P3:2>3"},
		{"S=3 L1:P1 L2:P2,P3 | P2>L1", "P2:2>1"},
		/* the same, but levels stay loaded, because performers that left are still near */
		{"S=3 L1:P1 L2:P2,P3 | P1>L3 L1~P1 ?", "P1@1 P2@2 P3@2 L1@1 L2@2 L3@1"},
		{"S=3 L1:P1 L2:P2,P3 | P2>L1 P3>L1 L2~P2 ?", "P1:1>2 P1@2 P2@2 P3@2 L1@2 L2@2"},
		{"S=3 L1:P1 L2:P2,P3 L3~P1 | P3>L3 ?", "P3:2>3 P1@1 P2@2 P3@3 L1@1 L2@2 L3@3"});
}

Test(assign, first_distribution)
{
	CHECK_TALES({"S=2 L1:P1 L2:P2 L3:P3 ?", "P1@1 P2@2 P3@1 L1@1 L2@2 L3@1"},
		{"S=4 L1:P1 L2:P2 ?", "P1@1 P2@2 L1@1 L2@2"},
		/* levels are assigned in the order of the file, whatever the order of their performers */
		{"S=2 L1:P2 L2:P1 ?", "P1@2 P2@1 L1@1 L2@2"},
		/* levels come before performers without level; round-robin goes on from there */
		{"S=3 P1 P2 L1:P3 L2:P4 ?", "P1@3 P2@1 P3@1 P4@2 L1@1 L2@2"}, {"S=2 P1 P2 P3 ?", "P1@1 P2@2 P3@1"},
		/* levels that share a performer are on one secondary */
		{"S=3 L1:P1 L2:P2 L3:P1 L4:P3 ?", "P1@1 P2@2 P3@3 L1@1 L2@2 L3@1 L4@3"},
		{"S=2 P1 P2 P1~P2 P3 ?", "P1@1 P2@1 P3@2"},
		/* an empty level is with the nearest performer, of several with the one of the lowest number; a level
		 * without a near performer does not exist */
		{"S=2 L1:P1 L2:P2 L3~P2 ?", "P1@1 P2@2 L1@1 L2@2 L3@2"},
		{"S=2 L1:P1 L2:P2,c1 L3:c2 L3~P2 L3~P1 ?", "P1@1 P2@2 c1@2 c2@1 L1@1 L2@2 L3@1"},
		{"S=1 L1:P1 L2:P2 ?", "P1@1 P2@1 L1@1 L2@1"}, {"S=3 ?", ""});
}

Test(assign, merge_moves_the_least_and_ties_favour_those_there)
{
	CHECK_TALES(
		/* one performer meets one performer: the performer that was in the level stays */
		{"S=2 L1:P1 L2:P2 | P1>L2", "P1:1>2"}, {"S=2 L1:P1 L2:P2 | P2>L1", "P2:2>1"},
		/* both performers enter a third level: the sides differ in their numbers only */
		{"S=2 L1:P1 L2:P2 | P1>L3 P2>L3", "P2:2>1"},
		/* a performer in a level touches a performer in none: the side with the level has more nodes */
		{"S=2 P1 L1:P2 | P1~P2", "P1:2>1"},
		/* cargo decides when both sides have equally many movers and levels */
		{"S=2 L1:P1 L2:P2,c1 | P1~P2", "P1:1>2"}, {"S=2 L1:P1,c2 L2:P2,c1 | P1~P2", "P2:2>1 c1:2>1"},
		/* cargo goes with its level, and counts for less than movers */
		{"S=2 L1:P1,c1,c2,c3 L2:P2,P3 | P1~P2", "P1:1>2 c1:1>2 c2:1>2 c3:1>2"},
		/* two performers meet two, one of which entered */
		{"S=2 L1:P1,P2 L2:P3,P4 P3~P4 | P3+L1", "P3:2>1 P4:2>1"},
		/* a performer in two levels joins them */
		{"S=3 L1:P1 L2:P2 L3:P3 | P2+L1 ?", "P2:2>1 P1@1 P2@1 P3@3 L1@1 L2@1 L3@3"},
		/* a performer that appears in a level is where the level is */
		{"S=3 L1:P1 L2:P2 | L2:P3 ?", "P1@1 P2@2 P3@2 L1@1 L2@2"});
}

Test(assign, parts_go_to_the_idle)
{
	CHECK_TALES(
		/* the part that entered moves, even if it is the larger part */
		{"S=2 L1:P1,P2,P3 | P1>L2 P2>L2", "P1:1>2 P2:1>2"},
		/* no part entered: the smaller part moves */
		{"S=2 L1:P1,P2,P3 | P1>-", "P1:1>2"}, {"S=2 L1:P1,P2,P3 | P2>- P3>-", "P3:1>2"},
		/* the component that parted moves, rather than a smaller one that was apart before; secondary 2 is idle
		 * when L3 ends */
		{"S=2 L1:P1,P2 P3 P4 P1~P3 P1~P4 L3:P5 | P1!P4 P1!P3 P5x", "P4:1>2"},
		/* no secondary is idle: no performer moves */
		{"S=2 L1:P1,P2 L2:P3 | P1>L3", ""}, {"S=1 L1:P1,P2 | P1>L2", ""},
		/* a secondary became idle: the fullest secondary gives its smallest component; of equal ones the one
		 * with the highest number */
		{"S=3 P1 P2 P3 P4 P5 | P3x", "P4:1>3"}, {"S=3 P1 P2 P3 P4 P5 P7 P7~P5 | P3x", "P2:2>3"},
		{"S=2 P1 P2 P3 | P2x", "P3:1>2"},
		/* two secondaries are idle, three components are apart */
		{"S=3 L1:P1,P2,P3 | P2>L2 P3>L3", "P2:1>3 P3:1>2"},
		/* merged and parted in one step: the part that was not where most performers were goes to the idle
		 * secondary */
		{"S=3 L1:P1 L2:P2 L3:P3 P4 P4~P2 | P4!P2 P1>L2", "P2:2>1"},

		/* the same with two idle secondaries, whichever of them has the lower number */
		{"S=3 L1:P1 L2:P2 L3:P3 P4 P4~P2 | P4!P2 P1>L2 P3x", "P2:2>1"},
		{"S=3 L1:P1 L2:P2 L3:P3 P4 P4~P2 | P4!P2 P3>L2 P1x", "P2:2>3"},
		/* otherwise to the home of a performer, before the lowest secondary */
		{"S=3 P1 P2 P3 | P2~P3 | P2!P3 P1x", "P3:3>2 | P3:2>3"},
		/* a component that parted just now goes before a smaller one that was apart */
		{"S=2 L1:P1,P2,P3,P4 P3~P4 P5 P6 | P3>- P4>- P5x", "P3:1>2 P4:1>2"},
		/* but only a component that parted from one that still exists */
		{"S=3 L1:P1,P2,P3 L2:P4,P5 L3:P7 P6 | P3>L2 P7x", "P3:1>2 P6:1>3"},
		/* a secondary with more components is fuller than one with more movers */
		{"S=3 P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11 P1~P9 P4~P10 P4~P11 | P3x P6x P7x", "P8:2>3"});
}

Test(assign, fetched_for_contact_returns_home)
{
	CHECK_TALES(
		/* 2 has P2 and P4; P2 is fetched to 1, is apart again, and goes back */
		{"S=2 P1 P2 P3 P4 | P1~P2 | | P1!P2", "P2:2>1 |  | P2:1>2"},
		/* two performers that came together return when no other performer is with them, not before */
		{"S=2 L1:P1,P5,P6 L2:P2,P3 L3:P7 L4:P4 | P1~P2 | P7x | P1!P2", "P2:2>1 P3:2>1 |  | P2:1>2 P3:1>2"},
		/* a performer that entered a level has its home where the level is */
		{"S=2 P1 P2 P3 P4 | P1~P2 | P2+L1 | P1!P2", "P2:2>1 |  | "},
		/* P1 was fetched because a performer entered the level, not only by a contact: no return */
		{"S=2 L1:P1 L2:P2,P3 P4 P5 | P2>L1 P3>L1 | P1>-", "P1:1>2 | "},
		/* the home is idle: the component that parted fills it, and this return is the only move */
		{"S=2 P1 P2 | P1~P2 | P1!P2", "P2:2>1 | P2:1>2"}, {"S=3 P1 P2 P3 | P2~P3 | P2!P3", "P3:3>2 | P3:2>3"},
		/* no return leaves a secondary idle */
		{"S=2 P1 P2 P3 P4 | P1~P2 | P1!P2 P1x P3x | | P5", "P2:2>1 |  |  | P2:1>2"},
		/* the first home counts */
		{"S=3 P1 P2 P3 P4 P5 P6 | P2~P3 | P2!P3 P3~P1 | P3!P1", "P3:3>2 | P3:2>1 | P3:1>3"},
		/* another performer's contact brought P2 home: no home is remembered any more */
		{"S=3 P1 P2 P3 P4 P5 P6 | P1~P2 | P1!P2 P2~P5 | P2!P5 P2~P1 | P2!P1 P2=1 | P2=0",
			"P2:2>1 | P2:1>2 | P2:2>1 |  | "},

		/* a performer that came home is not away from home any more */
		{"S=3 P1 P2 P3 P4 P5 P6 | P1~P2 | P1!P2 P2~P5 | P5x | P2~P3", "P2:2>1 | P2:1>2 |  | P3:3>2"},
		/* the return of one component lets another one return */
		{"S=2 P1 P2 P3 P4 P5 P6 P4~P6 | P1~P2 P3~P4 | P1x P5x P3!P4", "P2:2>1 P3:1>2 | P2:1>2 P3:2>1"},
		/* a performer that was removed and came again has no home */
		{"S=2 P1 P2 P3 P4 | P1~P2 | P1!P2 P2x | P2 ?", "P2:2>1 |  | P1@1 P2@1 P3@1 P4@2"});
}

Test(assign, pins_hold)
{
	CHECK_TALES({"S=3 L1:P1 L2:P2 P2=1 ?", "P1@2 P2@1 L1@2 L2@1"},
		{"S=3 L1:P1 L2:P2 L2=3 ?", "P1@1 P2@3 L1@1 L2@3"},
		/* no secondary has the number of the pin */
		{"S=2 L1:P1 P1=3 ?", "P1@1 L1@1"},
		/* of several pins that of the lowest node counts; models come before levels */
		{"S=3 L1:P1,P2 P1=2 P2=3 L1=1 ?", "P1@2 P2@2 L1@2"}, {"S=3 L1:P1,P2 P2=3 L1=1 ?", "P1@3 P2@3 L1@3"},
		{"S=3 L1:P1,c1 c1=2 L1=1 ?", "P1@2 c1@2 L1@2"},
		/* a pin counts more than a majority; it comes and goes */
		{"S=2 L1:P1 L2:P2,P3 | P1>L2 L2=1 | L2=0", "P2:2>1 P3:2>1 | "},
		{"S=2 P1 P2 | P1=2 | P1=0", "P1:1>2 P2:2>1 | "},
		/* a pinned component is not given away, the other one is; two pinned components leave the other
		 * secondary idle */
		{"S=2 P1 P2 P1=1 P2=1 ?", "P1@1 P2@1"}, {"S=2 P1 P2 P2=1 P1=1 | P1=0", "P1:1>2"},
		/* a performer that a pin has moved has no home elsewhere */
		{"S=2 P1 P2 P3 P4 | P1~P2 | P2=1 | P1!P2 P2=0", "P2:2>1 |  | "});
}

Test(assign, levels_without_performers)
{
	CHECK_TALES(
		/* empty levels stay on their secondary, with their cargo, while a performer is near */
		{"S=2 L1:P1,c1 L2:P2 | P1>L2 L1~P1 ?", "P1:1>2 P1@2 P2@2 c1@1 L1@1 L2@2"},
		/* a level that is loaded because a performer is near goes to the secondary of the lowest near model;
		 * when another performer enters, to that performer's secondary */
		{"S=2 L1:P1 L2:P2 | L3:c1 L3~P2 ? | P1>L3 L3!P2 ?",
			"P1@1 P2@2 c1@2 L1@1 L2@2 L3@2 | c1:2>1 P1@1 P2@2 c1@1 L2@2 L3@1"},
		/* a level near which no performer is left does not exist, and its secondary is not remembered */
		{"S=2 L1:P1 L2:P2 L3:c1 L3~P2 | L3!P2 ? | L3~P1 ?",
			"P1@1 P2@2 L1@1 L2@2 | P1@1 P2@2 c1@1 L1@1 L2@2 L3@1"},
		/* a secondary with cargo is not idle */
		{"S=2 L1:P1,c1 L2:P2,P3 | P1>L2 L1~P1 | P3>L3", "P1:1>2 | "},

		/* two empty levels that cargo ties together are with the lowest model near either level */
		{"S=3 L1:P1 P2 P3 L2:c1 L3:c2 c1~c2 L2~P1 L3~P3 ?", "P1@1 P2@2 P3@3 c1@1 c2@1 L1@1 L2@1 L3@1"});
}

Test(assign, what_is_new_goes_to_the_idle_then_in_turn)
{
	CHECK_TALES({"S=3 L1:P1 L2:P2 | P3 ?", "P1@1 P2@2 P3@3 L1@1 L2@2"},
		{"S=3 L1:P1 L2:P2 | P3 P4 P5 ?", "P1@1 P2@2 P3@3 P4@1 P5@2 L1@1 L2@2"},
		{"S=2 L1:P1 L2:P2 | P3 L3:P4 ?", "P1@1 P2@2 P3@2 P4@1 L1@1 L2@2 L3@1"},
		{"S=3 P1 P2 P3 | P2x | P4 ?", " | P1@1 P3@3 P4@2"},

		/* round-robin goes on from there */
		{"S=3 P1 P2 P3 | P2x | P4 | P5 ?", " |  | P1@1 P3@3 P4@2 P5@3"});
}

/* Below: the same kind of world, changed at random. */

static void world_random(struct world *world, uint64_t *state, bool with_pins)
{
	world_init(world);
	world->secondaries = 1 + random_below(state, 7);
	for (uint32_t m = 0; m < CARGO; m++)
		world->loaded[m] = random_below(state, 3) > 0;
	for (uint32_t m = CARGO; m < MODELS; m++)
		world->cargo_of[m] = 1 + random_below(state, LEVELS);
	for (uint32_t m = 0; with_pins && m < MODELS; m += 9)
		world->model_pin[m] = random_below(state, world->secondaries + 2);
	for (uint32_t l = 0; with_pins && l < LEVELS; l += 5)
		world->level_pin[l] = random_below(state, world->secondaries + 2);
}

static void change_one_thing(struct world *world, uint64_t *state)
{
	uint32_t m = random_below(state, CARGO), other = random_below(state, MODELS), l = random_below(state, LEVELS);
	switch (random_below(state, 6)) {
	case 0:
		if (world->loaded[m])
			act(world, false, m, '>', true, l);
		break;
	case 1:
		memset(world->in[m], 0, sizeof world->in[m]);
		break;
	case 2:
		act(world, true, l, random_below(state, 2) ? '~' : '!', false, m);
		break;
	case 3:
		if (random_below(state, 4) == 0) {
			world->loaded[m] = !world->loaded[m];
			memset(world->in[m], 0, sizeof world->in[m]);
		}
		break;
	default:
		act(world, false, m, random_below(state, 3) ? '!' : '~', false, other);
	}
}

static void check_placed(const struct world *world, const char *where)
{
	uint32_t of_component[MODELS + LEVELS] = {0};
	for (uint32_t i = 0; i < MODELS + LEVELS; i++) {
		bool is_model = i < MODELS;
		uint32_t secondary = is_model ? world->model[i] : world->level[i - MODELS];
		if (!(is_model ? world->loaded[i] : world->level_loaded[i - MODELS])) {
			cr_assert_eq(secondary, ASSIGN_NONE, "%s: node %u is not loaded", where, i);
			continue;
		}
		cr_assert(secondary >= 1 && secondary <= world->secondaries, "%s: node %u on %u", where, i, secondary);
		uint32_t c =
			is_model ? world->components.model_component[i] : world->components.level_component[i - MODELS];
		cr_assert(!of_component[c] || of_component[c] == secondary, "%s: component %u is torn", where, c);
		of_component[c] = secondary;
	}
}

static bool is_pinned(const struct world *world, uint32_t component)
{
	bool pinned = false;
	for (uint32_t m = 0; m < MODELS; m++)
		if (world->components.model_component[m] == component)
			pinned |= world->model_pin[m] && world->model_pin[m] <= world->secondaries;
	for (uint32_t l = 0; l < LEVELS; l++)
		if (world->components.level_component[l] == component)
			pinned |= world->level_pin[l] && world->level_pin[l] <= world->secondaries;
	return pinned;
}

/* No secondary is idle while another one has two components with movers, one of which may move. */
static void check_idle_minimal(const struct world *world, const char *where)
{
	uint32_t models[16] = {0}, components[16] = {0}, movable[16] = {0}, idle = 0;
	bool seen[MODELS + LEVELS] = {false};
	for (uint32_t m = 0; m < MODELS; m++) {
		if (!world->loaded[m])
			continue;
		uint32_t c = world->components.model_component[m];
		models[world->model[m]]++;
		if (!world->is_mover[m] || seen[c])
			continue;
		seen[c] = true;
		components[world->model[m]]++;
		movable[world->model[m]] += !is_pinned(world, c);
	}
	for (uint32_t s = 1; s <= world->secondaries; s++)
		idle += !models[s];
	for (uint32_t s = 1; s <= world->secondaries; s++)
		cr_assert(!idle || components[s] < 2 || !movable[s], "%s: %u idle, but %u has %u", where, idle, s,
			components[s]);
}

static void check_still(struct world *world, const char *where)
{
	struct world before = *world;
	memset(world->entered, 0, sizeof world->entered);
	step(world);
	cr_assert(!memcmp(before.model, world->model, sizeof before.model), "%s: models moved for nothing", where);
	cr_assert(!memcmp(before.level, world->level, sizeof before.level), "%s: levels moved for nothing", where);
	cr_assert(!memcmp(before.home, world->home, sizeof before.home), "%s: homes changed for nothing", where);
	cr_assert_eq(before.now.turn, world->now.turn, "%s: turn", where);
}

/* A second world with the same memory and input, and with its own scratch memory full of random bytes. */
static void check_same(const struct world *before, const struct world *after, const char *where)
{
	struct world twin = *before;
	twin.now.model = twin.model;
	twin.now.level = twin.level;
	twin.now.home = twin.home;
	twin.now.component_of = twin.component_of;
	twin.components = (struct joined){0};
	twin.scratch = (struct assign_scratch){.memory = malloc(1 << 16), .bytes = 1 << 16};
	memset(twin.scratch.memory, 0xa5, twin.scratch.bytes);
	step(&twin);
	cr_assert(!memcmp(twin.model, after->model, sizeof twin.model), "%s: other models", where);
	cr_assert(!memcmp(twin.level, after->level, sizeof twin.level), "%s: other levels", where);
	cr_assert(!memcmp(twin.home, after->home, sizeof twin.home), "%s: other homes", where);
	world_fini(&twin);
}

static void live(uint64_t seed, bool with_pins)
{
	struct world world;
	uint64_t state = seed;
	world_random(&world, &state, with_pins);
	for (uint32_t k = 0; k < 300; k++) {
		char where[64];
		snprintf(where, sizeof where, "seed %llu step %u", (unsigned long long)seed, k);
		memset(world.entered, 0, sizeof world.entered);
		for (uint32_t changes = random_below(&state, 4); changes > 0; changes--)
			change_one_thing(&world, &state);
		struct world before = world;
		step(&world);
		check_placed(&world, where);
		check_idle_minimal(&world, where);
		check_same(&before, &world, where);
		if (k % 3 == 0) /* not in each step: that would hide errors that need two steps */
			check_still(&world, where);
	}
	world_fini(&world);
}

Test(assign, properties_of_random_worlds)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		live(seed, false);
		live(seed + 1000, true);
	}
}

/* The table's counts for each secondary agree with the assignment, however often components are placed again. */
Test(assign, the_table_counts_what_is_placed)
{
	enum { NODES = 40, GROUPS = 12, SECONDARIES = 5 };
	uint32_t component[NODES], level_component[1] = {TABLE_NONE}, model[NODES] = {0}, level[1] = {0},
				   home[NODES] = {0};
	uint32_t component_of[NODES] = {0};
	bool is_mover[NODES], entered[NODES] = {false}, has_performer[1] = {false};
	struct assign_scratch scratch = {0};
	uint64_t state = 5;
	for (uint32_t m = 0; m < NODES; m++) {
		component[m] = random_below(&state, 8) ? random_below(&state, GROUPS) : TABLE_NONE;
		is_mover[m] = random_below(&state, 3) > 0;
	}
	struct assign_input input = {.secondaries = SECONDARIES,
		.model_count = NODES,
		.level_count = 0,
		.component_count = GROUPS,
		.model_component = component,
		.level_component = level_component,
		.model_is_mover = is_mover,
		.model_entered = entered,
		.level_has_performer = has_performer};
	struct assignment now = {.model = model, .level = level, .home = home, .component_of = component_of};
	struct table table;
	table_build(&table, &input, &now, &scratch);
	for (int i = 0; i < 500; i++) {
		uint32_t models[SECONDARIES + 1] = {0}, movers[SECONDARIES + 1] = {0}, with[SECONDARIES + 1] = {0},
					      idle = 0;
		table_place(&table, random_below(&state, GROUPS), 1 + random_below(&state, SECONDARIES));
		for (uint32_t c = 0; c < GROUPS; c++) {
			const struct table_component *placed = &table.components[c];
			models[placed->secondary] += placed->models;
			movers[placed->secondary] += placed->movers;
			with[placed->secondary] += placed->movers > 0;
		}
		for (uint32_t s = 1; s <= SECONDARIES; s++) {
			idle += !models[s];
			cr_assert_eq(table.secondaries[s].models, models[s]);
			cr_assert_eq(table.secondaries[s].movers, movers[s]);
			cr_assert_eq(table.secondaries[s].components, with[s]);
		}
		cr_assert_eq(table.idle, idle);
	}
	assign_scratch_fini(&scratch);
}

Test(assign, memory_of_more_secondaries_is_forgotten)
{
	struct world world;
	world_init(&world);
	world.secondaries = 2;
	world.loaded[0] = world.loaded[1] = true;
	world.model[0] = 7;
	world.home[0] = world.home[1] = 9;
	world.model[1] = 2;
	world.component_of[1] = 12345678;
	world.now.turn = 40;
	step(&world);
	cr_assert_eq(world.model[0], 1);
	cr_assert_eq(world.model[1], 2);
	cr_assert_eq(world.home[1], ASSIGN_NONE);
	world_fini(&world);
}

Test(assign, components_are_numbered_by_their_lowest_node)
{
	struct joined components = {0};
	bool models[5] = {true, false, true, true, true}, levels[3] = {true, true, false};
	for (int round = 0; round < 2; round++) {
		joined_begin(&components, 5, 3);
		joined_models(&components, 4, 0);
		joined_level(&components, 3, 1);
		joined_models(&components, 3, 3);
		joined_level(&components, 4, 2);
		cr_assert_eq(joined_finish(&components, models, levels), 4);
		static const uint32_t of_models[] = {0, COMPONENTS_NONE, 1, 2, 0},
				      of_levels[] = {3, 2, COMPONENTS_NONE};
		cr_assert(!memcmp(components.model_component, of_models, sizeof of_models));
		cr_assert(!memcmp(components.level_component, of_levels, sizeof of_levels));
	}
	joined_begin(&components, 0, 0);
	cr_assert_eq(joined_finish(&components, NULL, NULL), 0);
	joined_fini(&components);
}

Test(assign, components_do_not_depend_on_the_order_of_joins)
{
	enum { NODES = 200, JOINS = 150 };
	struct joined forth = {0}, back = {0};
	bool loaded[NODES];
	uint32_t a[JOINS], b[JOINS];
	uint64_t state = 5;
	for (uint32_t i = 0; i < NODES; i++)
		loaded[i] = true;
	for (uint32_t i = 0; i < JOINS; i++) {
		a[i] = random_below(&state, NODES);
		b[i] = random_below(&state, NODES);
	}
	joined_begin(&forth, NODES, 0);
	joined_begin(&back, NODES, 0);
	for (uint32_t i = 0; i < JOINS; i++) {
		joined_models(&forth, a[i], b[i]);
		joined_models(&back, b[JOINS - 1 - i], a[JOINS - 1 - i]);
	}
	uint32_t count = joined_finish(&forth, loaded, NULL);
	cr_assert(count >= NODES - JOINS && count < NODES);
	cr_assert_eq(joined_finish(&back, loaded, NULL), count);
	cr_assert(!memcmp(forth.model_component, back.model_component, NODES * sizeof(uint32_t)));
	joined_fini(&forth);
	joined_fini(&back);
}

/* A world of the greatest size, where every step empties and fills many secondaries: quadratic work would take hours.
 */
enum { MANY_MODELS = 100000, MANY_LEVELS = 1000, MANY_STEPS = 40 };

struct crowd {
	struct assignment now;
	bool *is_mover, *entered, *loaded, *level_held;
	uint32_t *level_of, *near;
};

static struct crowd crowd_create(void)
{
	struct crowd crowd = {
		.now = {.model = mem_alloc(MANY_MODELS * sizeof(uint32_t)),
			.level = mem_alloc(MANY_LEVELS * sizeof(uint32_t)),
			.home = mem_alloc(MANY_MODELS * sizeof(uint32_t)),
			.component_of = mem_alloc(MANY_MODELS * sizeof(uint32_t))},
		.is_mover = mem_alloc(MANY_MODELS),
		.entered = mem_alloc(MANY_MODELS),
		.loaded = mem_alloc(MANY_MODELS),
		.level_held = mem_alloc(MANY_LEVELS),
		.level_of = mem_alloc(MANY_MODELS * sizeof(uint32_t)),
		.near = mem_alloc(MANY_LEVELS * sizeof(uint32_t)),
	};
	for (uint32_t m = 0; m < MANY_MODELS; m++) {
		crowd.is_mover[m] = crowd.loaded[m] = true;
		crowd.level_of[m] = m % 4 ? UINT32_MAX : m / 4 % MANY_LEVELS;
	}
	return crowd;
}

static void crowd_destroy(struct crowd *crowd)
{
	void *all[] = {crowd->now.model, crowd->now.level, crowd->now.home, crowd->now.component_of, crowd->is_mover,
		crowd->entered, crowd->loaded, crowd->level_held, crowd->level_of, crowd->near};
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		free(all[i]);
}

/* In half of the steps one chain of contacts ties all performers; in the other half they are apart, and some are in
 * another level. */
static uint32_t crowd_join(struct crowd *crowd, struct joined *components, uint32_t k, uint64_t *state)
{
	joined_begin(components, MANY_MODELS, MANY_LEVELS);
	memset(crowd->entered, 0, MANY_MODELS);
	memset(crowd->level_held, 1, MANY_LEVELS);
	memset(crowd->near, 0, MANY_LEVELS * sizeof *crowd->near);
	for (uint32_t m = 0; m < MANY_MODELS; m++) {
		if (random_below(state, 50) == 0) {
			crowd->entered[m] = true;
			crowd->level_of[m] = random_below(state, MANY_LEVELS);
		}
		if (crowd->level_of[m] != UINT32_MAX)
			joined_level(components, m, crowd->level_of[m]);
		if (k % 2 && m)
			joined_models(components, m, m - 1);
	}
	return joined_finish(components, crowd->loaded, crowd->level_held);
}

Test(assign, greatest_world_in_little_time, .timeout = 60)
{
	struct crowd crowd = crowd_create();
	struct joined components = {0};
	struct assign_scratch scratch = {0};
	uint64_t state = 11;
	for (uint32_t k = 0; k < MANY_STEPS; k++) {
		struct assign_input input = {
			.secondaries = TROUPE_SECONDARIES_MAX,
			.model_count = MANY_MODELS,
			.level_count = MANY_LEVELS,
			.component_count = crowd_join(&crowd, &components, k, &state),
			.model_component = components.model_component,
			.level_component = components.level_component,
			.model_is_mover = crowd.is_mover,
			.model_entered = crowd.entered,
			.level_has_performer = crowd.level_held,
			.level_near = crowd.near,
		};
		assign_round_robin(&input, &crowd.now, &scratch);
		uint32_t used = 0;
		bool is_used[TROUPE_SECONDARIES_MAX + 1] = {false};
		for (uint32_t m = 0; m < MANY_MODELS; m++) {
			used += !is_used[crowd.now.model[m]];
			is_used[crowd.now.model[m]] = true;
		}
		cr_assert_eq(used, k % 2 ? 1 : TROUPE_SECONDARIES_MAX, "step %u uses %u", k, used);
	}
	crowd_destroy(&crowd);
	joined_fini(&components);
	assign_scratch_fini(&scratch);
}

Test(assign, warm_calls_keep_their_memory)
{
	struct world world;
	uint64_t state = 3;
	world_random(&world, &state, false);
	for (uint32_t m = 0; m < CARGO; m++)
		world.loaded[m] = true; /* as many components as there can be */
	step(&world);
	size_t bytes = world.scratch.bytes;
	const void *memory = world.scratch.memory, *parent = world.components.components.of;
	for (uint32_t k = 0; k < 100; k++) {
		for (uint32_t m = 1; m < CARGO; m++)
			act(&world, false, m, random_below(&state, 3) ? '!' : '~', false, m - 1);
		step(&world);
	}
	cr_assert_eq(world.scratch.bytes, bytes);
	cr_assert_eq(world.scratch.memory, memory);
	cr_assert_eq(world.components.components.of, parent);
	world_fini(&world);
}
