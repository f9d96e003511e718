/* The name and value of a word of a model's state, for messages about a difference. The layout of the words is
 * defined in ../scene/state.h. */
#include "server/record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { COMPARE_BODY_WORDS = sizeof(struct body_state) / 8, COMPARE_ANCHOR_WORDS = sizeof(struct body_anchor) / 8 };

/* --- what was recorded -------------------------------------------------------------------------------------------- */

static void compare_forget(struct record_model *model)
{
	free(model->name);
	free(model->words);
	*model = (struct record_model){0};
}

static void compare_take_model(struct record_world *recorded, uint32_t place, struct unpack *in)
{
	uint32_t more = recorded->models.count > place ? 0 : place + 1 - recorded->models.count;
	(void)vec_append(&recorded->models, more);
	struct record_model *model = &recorded->models.at[place];
	compare_forget(model);
	model->id = unpack_u64(in);
	model->name = unpack_string(in);
	model->count = unpack_count(in, (uint64_t)(in->end - in->at) / 8);
	model->words = mem_alloc((size_t)model->count * 8 + 8);
	for (uint32_t i = 0; i < model->count; i++)
		model->words[i] = unpack_u64(in);
}

void record_world_update(struct record_world *recorded, struct unpack *in)
{
	recorded->steps = unpack_u64(in);
	recorded->levels = unpack_u64(in);
	recorded->edits = unpack_u64(in);
	recorded->words.count = 0;
	for (uint32_t count = unpack_count(in, (uint64_t)(in->end - in->at) / 8); count; count--)
		vec_push(&recorded->words, unpack_u64(in));
	for (uint32_t place; (place = unpack_count(in, RECORD_PLACES_MAX));)
		compare_take_model(recorded, place - 1, in);
}

void record_world_fini(struct record_world *recorded)
{
	for (uint32_t i = 0; i < recorded->models.count; i++)
		compare_forget(&recorded->models.at[i]);
	vec_free(&recorded->models);
	vec_free(&recorded->words);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static const char *compare_link_of(const struct scene *scene, const struct scene_model *model, uint32_t body)
{
	for (uint32_t l = model->link_first; l < model->link_first + model->link_count; l++)
		if (scene->links[l].body == model->body_first + body)
			return scene->links[l].name;
	return scene->bodies[model->body_first + body].name;
}

static bool compare_name_joint(const struct server_world *world, uint32_t m, uint32_t word, struct text *out)
{
	const struct scene *scene = world->scene;
	for (uint32_t j = 0; j < scene->joint_count; j++) {
		uint32_t first = world->shared.state->joint_offset[j];
		if (scene->joints[j].model != m || word < first || word >= first + 2)
			continue;
		text_add(out, "joint '%s': position", scene->joints[j].name);
		if (word > first)
			text_add(out, " of its second axis");
		return true;
	}
	return false;
}

static bool compare_name_coupling(const struct server_world *world, uint32_t m, uint32_t word, struct text *out)
{
	const struct scene *scene = world->scene;
	for (uint32_t j = 0; j < scene->joint_count; j++) {
		uint32_t first = world->shared.state->joint_coupling[j];
		if (scene->joints[j].model != m || word < first ||
			word >= first + scene_joint_couplings(&scene->joints[j]))
			continue;
		text_add(out, "joint '%s': force of its coupling", scene->joints[j].name);
		return true;
	}
	return false;
}

enum word_kind { WORD_REAL, WORD_COUNT, WORD_BITS };

static enum word_kind compare_name_word(const struct server_world *world, uint32_t m, uint32_t word, struct text *out)
{
	static const char *const body[] = {"position x", "position y", "position z", "orientation w", "orientation x",
		"orientation y", "orientation z", "velocity x", "velocity y", "velocity z", "angular velocity x",
		"angular velocity y", "angular velocity z"};
	_Static_assert(ARRAY_LEN(body) == COMPARE_BODY_WORDS, "each word of a body has a name");
	const struct scene_model *model = &world->scene->models[m];
	uint32_t bodies = model->body_count, systems = world->shared.state->models[m].system_first;
	if (word < bodies * COMPARE_BODY_WORDS) {
		text_add(out, "link '%s': %s", compare_link_of(world->scene, model, word / COMPARE_BODY_WORDS),
			body[word % COMPARE_BODY_WORDS]);
		return WORD_REAL;
	}
	if (word >= world->shared.state->models[m].words) {
		text_add(out, "impulses of a pile");
		return WORD_BITS;
	}
	if (word >= systems) {
		enum troupe_word_kind kind;
		systems_name_word(world->systems, m, word - systems, out, &kind);
		return kind == TROUPE_WORD_DOUBLE ? WORD_REAL : WORD_BITS;
	}
	if (compare_name_joint(world, m, word, out) || compare_name_coupling(world, m, word, out))
		return WORD_REAL;
	if (bodies && word == systems - 1) {
		text_add(out, "steps at rest");
		return WORD_COUNT;
	}
	uint32_t anchors = systems - 1 - bodies * COMPARE_ANCHOR_WORDS, at = word - anchors;
	text_add(out, "link '%s': resting place's %s", compare_link_of(world->scene, model, at / COMPARE_ANCHOR_WORDS),
		body[at % COMPARE_ANCHOR_WORDS]);
	return WORD_REAL;
}

static void compare_add_word(struct text *out, enum word_kind kind, uint64_t word)
{
	double real;
	memcpy(&real, &word, sizeof real);
	if (kind == WORD_REAL)
		text_add_double(out, real);
	else
		text_add(out, kind == WORD_COUNT ? "%" PRIu64 : "%016" PRIx64, word);
}

/* --- comparing ---------------------------------------------------------------------------------------------------- */

static bool compare_words(
	const struct record_model *recorded, const struct server_world *world, uint32_t m, struct text *out)
{
	const struct state *state = world->shared.state;
	uint32_t count = state_count_all(state, m);
	text_add(out, "model '%s'", recorded->name);
	for (uint32_t i = 0; i < MIN(count, recorded->count); i++) {
		uint64_t found = state_word_of_all(state, m, i);
		if (found == recorded->words[i])
			continue;
		text_add(out, ", ");
		enum word_kind kind = compare_name_word(world, m, i, out);
		text_add(out, ": recorded ");
		compare_add_word(out, kind, recorded->words[i]);
		text_add(out, ", found ");
		compare_add_word(out, kind, found);
		return true;
	}
	if (count != recorded->count)
		text_add(out, ": recorded %u words of state, found %u", recorded->count, count);
	return count != recorded->count;
}

static bool compare_place(
	const struct record_model *recorded, const struct server_world *world, uint32_t m, struct text *out)
{
	const struct scene *scene = world->scene;
	bool there = m < scene->model_count && !scene->models[m].absent && world->shared.state->models[m].words;
	uint64_t id = there ? scene->models[m].id : 0;
	if (recorded->id == id)
		return id && compare_words(recorded, world, m, out);
	if (!id)
		text_add(out, "model '%s': recorded, but not found", recorded->name);
	else if (!recorded->id)
		text_add(out, "model '%s': found, but not recorded", scene->models[m].name);
	else
		text_add(out, "model '%s' (%" PRIu64 ") recorded, '%s' (%" PRIu64 ") found in its place",
			recorded->name, recorded->id, scene->models[m].name, id);
	return true;
}

/* The words of the systems of the world itself. */
static bool compare_world_words(
	const uint64_t *recorded, uint32_t count, const struct server_world *world, struct text *out)
{
	const struct state *state = world->shared.state;
	if (count != state->world.count) {
		text_add(out, "the world's plugins: recorded %u words of state, found %u", count, state->world.count);
		return true;
	}
	for (uint32_t i = 0; i < count; i++) {
		enum troupe_word_kind kind;
		if (recorded[i] == state->world.words[i])
			continue;
		systems_name_word(world->systems, SCENE_NONE, i, out, &kind);
		text_add(out, ": recorded ");
		compare_add_word(out, kind == TROUPE_WORD_DOUBLE ? WORD_REAL : WORD_COUNT, recorded[i]);
		text_add(out, ", found ");
		compare_add_word(out, kind == TROUPE_WORD_DOUBLE ? WORD_REAL : WORD_COUNT, state->world.words[i]);
		return true;
	}
	return false;
}

static bool compare_rest(const struct record_world *recorded, const struct server_world *world, struct text *out)
{
	const struct primary *primary = world->primary;
	if (recorded->steps != primary_steps(primary))
		text_add(out, "recorded %" PRIu64 " steps, found %" PRIu64, recorded->steps, primary_steps(primary));
	else if (recorded->levels != plan_hash(primary_plan(primary)))
		text_add(out, "which levels are loaded: recorded %016" PRIx64 ", found %016" PRIx64, recorded->levels,
			plan_hash(primary_plan(primary)));
	else if (recorded->edits != primary_changes_hash(primary))
		text_add(out,
			"what was removed, placed, disabled or made a performer, wrenches, time step or gravity: "
			"recorded %016" PRIx64 ", found %016" PRIx64,
			recorded->edits, primary_changes_hash(primary));
	else
		return compare_world_words(recorded->words.at, recorded->words.count, world, out);
	return true;
}

bool record_compare(const struct record_world *recorded, const struct server_world *found, struct text *out)
{
	static const struct record_model nobody;
	uint32_t count = MAX(recorded->models.count, found->scene->model_count);
	text_add(out, "world '%s': ", found->scene->name);
	size_t before = out->count;
	for (uint32_t m = 0; m < count; m++) {
		out->count = before;
		if (compare_place(m < recorded->models.count ? &recorded->models.at[m] : &nobody, found, m, out))
			return true;
	}
	out->count = before;
	return compare_rest(recorded, found, out);
}

static bool compare_models(const struct server_world *a, const struct server_world *b, uint32_t m, struct text *out)
{
	const struct state *one = a->shared.state, *two = b->shared.state;
	const struct scene_model *model = &a->scene->models[m];
	if (model->id != b->scene->models[m].id || model->absent != b->scene->models[m].absent) {
		text_add(out, "model '%s': another model is in its place", model->name);
		return true;
	}
	uint32_t count = model->id && !model->absent ? MIN(state_count_all(one, m), state_count_all(two, m)) : 0;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t x = state_word_of_all(one, m, i), y = state_word_of_all(two, m, i);
		if (x == y)
			continue;
		text_add(out, "model '%s', ", model->name);
		enum word_kind kind = compare_name_word(a, m, i, out);
		text_add(out, ": ");
		compare_add_word(out, kind, x);
		text_add(out, " and ");
		compare_add_word(out, kind, y);
		return true;
	}
	return false;
}

bool record_compare_worlds(const struct server_world *a, const struct server_world *b, struct text *out)
{
	const struct state *one = a->shared.state, *two = b->shared.state;
	uint32_t models = a->scene->model_count;
	if (models != b->scene->model_count) {
		text_add(out, "%u and %u models", models, b->scene->model_count);
		return true;
	}
	for (uint32_t i = 0; i < MIN(one->world.count, two->world.count); i++)
		if (one->world.words[i] != two->world.words[i]) {
			enum troupe_word_kind kind;
			systems_name_word(a->systems, SCENE_NONE, i, out, &kind);
			text_add(out, " of the world: ");
			compare_add_word(out, kind == TROUPE_WORD_DOUBLE ? WORD_REAL : WORD_BITS, one->world.words[i]);
			text_add(out, " and ");
			compare_add_word(out, kind == TROUPE_WORD_DOUBLE ? WORD_REAL : WORD_BITS, two->world.words[i]);
			return true;
		}
	for (uint32_t m = 0; m < models; m++)
		if (compare_models(a, b, m, out))
			return true;
	return false;
}

static bool compare_find_in_model(const struct server_world *a, const struct server_world *b, uint32_t m,
	struct record_word *ret_word, struct text *out)
{
	const struct state *one = a->shared.state, *two = b->shared.state;
	const struct scene_model *first = m < a->scene->model_count ? &a->scene->models[m] : NULL;
	const struct scene_model *second = m < b->scene->model_count ? &b->scene->models[m] : NULL;
	bool in_a = first && !first->absent && one->models[m].words,
	     in_b = second && !second->absent && two->models[m].words;
	uint64_t id = in_a ? first->id : 0;
	if (id != (in_b ? second->id : 0)) {
		text_add(out, in_a && in_b ? "model '%s' is another one in the second" : "model '%s' is only in the %s",
			in_a ? first->name : second->name, in_a ? "first" : "second");
		return true;
	}
	uint32_t count = id ? MIN(state_count_all(one, m), state_count_all(two, m)) : 0;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t x = state_word_of_all(one, m, i), y = state_word_of_all(two, m, i);
		if (x == y)
			continue;
		text_add(out, "model '%s', ", first->name);
		bool real = compare_name_word(a, m, i, out) == WORD_REAL;
		*ret_word = (struct record_word){0, m, id, i, real, {x, y}};
		return true;
	}
	if (id && state_count_all(one, m) != state_count_all(two, m))
		text_add(out, "model '%s': %u and %u words of state", first->name, state_count_all(one, m),
			state_count_all(two, m));
	return id && state_count_all(one, m) != state_count_all(two, m);
}

bool record_find_word(
	const struct server_world *a, const struct server_world *b, struct record_word *ret_word, struct text *out)
{
	const struct state *one = a->shared.state, *two = b->shared.state;
	*ret_word = (struct record_word){.model = SCENE_NONE};
	for (uint32_t m = 0; m < MAX(a->scene->model_count, b->scene->model_count); m++)
		if (compare_find_in_model(a, b, m, ret_word, out))
			return true;
	for (uint32_t i = 0; i < MIN(one->world.count, two->world.count); i++)
		if (one->world.words[i] != two->world.words[i]) {
			enum troupe_word_kind kind;
			systems_name_word(a->systems, SCENE_NONE, i, out, &kind);
			text_add(out, " of the world");
			return true;
		}
	return false;
}
