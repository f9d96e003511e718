/* The memory layout of the state. All copies have the same layout, so that one offset finds a
 * model's words in each of them. The words of a model are contiguous and begin on a cache line of their own, because
 * different runners write neighbouring models. A joint of the world belongs to the model of its child, so the sizes
 * of all models are known only after all joints were counted: the layout is made in several passes, and a model gets
 * its offset in the last one. The lines of a removed model are used again. The hash of a model is kept until its
 * words change. */
#include "scene/bend.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct body_state) == 13 * 8, "a body is thirteen words, without padding to hash");
_Static_assert(sizeof(struct state_model) % 64 == 0, "neighbours, which other threads write, are on other lines");
_Static_assert(sizeof(struct joint_state) == 2 * 8, "a joint is two words");

_Static_assert(sizeof(struct body_anchor) == 7 * 8, "an anchor is seven words");

enum { STATE_BODY_WORDS = 13, JOINT_WORDS = 2, STATE_ANCHOR_WORDS = 7 };

enum { LINE_WORDS = 8 };

static uint32_t state_lines_of(const struct state_model *model)
{
	return (model->words + LINE_WORDS - 1) / LINE_WORDS;
}

static void state_fit_models(struct state *state)
{
	const struct scene_room *room = &state->scene->room;
	state->models = mem_grow_lines(/* a line each: different threads write neighbours */
		state->models, state->room.models * sizeof *state->models, room->models * sizeof *state->models);
	state->impulses = mem_grow(
		state->impulses, state->room.models * sizeof *state->impulses, room->models * sizeof *state->impulses);
	state->initial = mem_grow(
		state->initial, state->room.models * sizeof *state->initial, room->models * sizeof *state->initial);
	state->joint_offset = mem_grow(state->joint_offset, state->room.joints * sizeof *state->joint_offset,
		room->joints * sizeof *state->joint_offset);
	state->joint_coupling = mem_grow(state->joint_coupling, state->room.joints * sizeof *state->joint_coupling,
		room->joints * sizeof *state->joint_coupling);
	state->room = *room;
}

static void state_find_copies(struct state *state, uint32_t model)
{
	struct state_model *m = &state->models[model];
	for (int i = 0; i < STATE_KEPT_COPIES; i++)
		m->at[i] = state->words[i] + m->offset;
}

static void state_fit_words(struct state *state)
{
	if (state->lines.end <= state->line_room && state->words[0])
		return;
	uint32_t room = MAX(state->lines.end, state->line_room + state->line_room / 2);
	size_t before = (size_t)state->line_room * LINE_WORDS * 8, bytes = (size_t)room * LINE_WORDS * 8;
	for (int i = 0; i < STATE_KEPT_COPIES; i++)
		state->words[i] = mem_grow_lines(state->words[i], before, bytes);
	state->line_room = room;
	for (uint32_t m = 0; m < state->scene->model_count; m++)
		state_find_copies(state, m);
}

static void state_lay_out_joint(struct state *state, uint32_t joint)
{
	struct state_model *model = &state->models[state->scene->joints[joint].model];
	state->joint_offset[joint] = model->words;
	model->words += JOINT_WORDS;
}

/* Bodies and the model's own joints. The words of the world's joints follow them, before all other words. */
static void state_lay_out_parts(struct state *state, uint32_t model)
{
	const struct scene_model *m = &state->scene->models[model];
	state->models[model] = (struct state_model){.words = m->body_count * STATE_BODY_WORDS, .next = 1};
	memset(state->impulses[model].count, 0, sizeof state->impulses[model].count);
	for (uint32_t j = m->joint_first; j < m->joint_first + m->joint_count; j++)
		state_lay_out_joint(state, j);
}

static void state_lay_out_couplings(struct state *state, uint32_t joint)
{
	struct state_model *model = &state->models[state->scene->joints[joint].model];
	state->joint_coupling[joint] = model->words;
	model->words += scene_joint_couplings(&state->scene->joints[joint]);
}

static void state_lay_out_own_couplings(struct state *state, uint32_t model)
{
	const struct scene_model *m = &state->scene->models[model];
	for (uint32_t j = m->joint_first; j < m->joint_first + m->joint_count; j++)
		state_lay_out_couplings(state, j);
}

static void state_lay_out_rest(struct state *state, uint32_t model, uint32_t system_words)
{
	struct state_model *m = &state->models[model];
	uint32_t bodies = state->scene->models[model].body_count;
	m->words += bodies ? bodies * STATE_ANCHOR_WORDS + 1 : 0; /* anchors, still */
	m->system_first = m->words;
	m->words += system_words;
	m->offset = ranges_take(&state->lines, state_lines_of(m)) * LINE_WORDS;
}

/* The state that the scene alone gives. */
static void state_begin(struct state *state, uint32_t model)
{
	const struct scene_model *m = &state->scene->models[model];
	if (state->models[model].words)
		memset(state_words(state, model, false), 0, state->models[model].words * 8);
	struct body_state *bodies = state_bodies(state, model, false);
	for (uint32_t b = 0; b < m->body_count; b++) {
		struct pose pose = state->scene->bodies[m->body_first + b].reference;
		bodies[b] = (struct body_state){pose.p, pose.q, {0, 0, 0}, {0, 0, 0}};
	}
}

struct state *state_create(const struct scene *scene, const uint32_t *system_words)
{
	struct state *state = mem_alloc(sizeof *state);
	state->scene = scene;
	state_fit_models(state);
	for (uint32_t m = 0; m < scene->model_count; m++)
		state_lay_out_parts(state, m);
	for (uint32_t i = 0; i < scene->world_joints.count; i++)
		state_lay_out_joint(state, scene->world_joints.at[i]);
	for (uint32_t m = 0; m < scene->model_count; m++)
		state_lay_out_own_couplings(state, m);
	for (uint32_t i = 0; i < scene->world_joints.count; i++)
		state_lay_out_couplings(state, scene->world_joints.at[i]);
	for (uint32_t m = 0; m < scene->model_count; m++)
		state_lay_out_rest(state, m, system_words ? system_words[m] : 0);
	state_fit_words(state);
	for (uint32_t m = 0; m < scene->model_count; m++)
		state_begin(state, m);
	for (uint32_t j = 0; j < scene->joint_count; j++)
		bend_begin(state, j);
	state_set_initial(state);
	return state;
}

void state_add_world(struct state *state, uint32_t words)
{
	state->world.count = words;
	state->world.words = words ? mem_alloc(words * sizeof(uint64_t)) : NULL;
	state->world.initial = words ? mem_alloc(words * sizeof(uint64_t)) : NULL;
}

void state_add(struct state *state, uint32_t model, uint32_t system_words)
{
	state_fit_models(state);
	state_lay_out_parts(state, model);
	state_lay_out_own_couplings(state, model);
	state_lay_out_rest(state, model, system_words);
	state_fit_words(state);
	state_find_copies(state, model);
	state_begin(state, model);
	const struct scene_model *m = &state->scene->models[model];
	for (uint32_t j = m->joint_first; j < m->joint_first + m->joint_count; j++)
		bend_begin(state, j);
}

static void state_free_impulses(struct state_impulses *impulses)
{
	for (int i = 0; i < STATE_COPIES; i++)
		free(impulses->at[i]);
	*impulses = (struct state_impulses){0};
}

void state_remove(struct state *state, uint32_t model)
{
	struct state_model *m = &state->models[model];
	ranges_give(&state->lines, m->offset / LINE_WORDS, state_lines_of(m));
	*m = (struct state_model){0};
	state_free_impulses(&state->impulses[model]);
	free(state->initial[model].at);
	state->initial[model] = (struct state_initial){0};
}

void state_destroy(struct state *state)
{
	if (!state)
		return;
	for (uint32_t m = 0; m < state->room.models; m++) {
		state_free_impulses(&state->impulses[m]);
		free(state->initial[m].at);
	}
	free(state->impulses);
	free(state->models);
	free(state->joint_offset);
	free(state->joint_coupling);
	for (int i = 0; i < STATE_KEPT_COPIES; i++)
		free(state->words[i]);
	free(state->initial);
	free(state->world.words);
	free(state->world.initial);
	vec_free(&state->written);
	ranges_fini(&state->lines);
	free(state);
}

/* The word at this place as state_begin() makes it. */
static uint64_t state_first_word(const struct state *state, uint32_t model, uint32_t word)
{
	const struct scene_model *m = &state->scene->models[model];
	uint32_t body = word / STATE_BODY_WORDS, part = word % STATE_BODY_WORDS;
	uint64_t bits = 0;
	if (body < m->body_count && part < sizeof(struct pose) / sizeof bits)
		memcpy(&bits, (const char *)&state->scene->bodies[m->body_first + body].reference + part * sizeof bits,
			sizeof bits);
	return bits;
}

void state_set_initial_of(struct state *state, uint32_t model)
{
	const uint64_t *words = state_words(state, model, false);
	struct state_initial *initial = &state->initial[model];
	free(initial->at);
	VEC(struct state_initial_word) changed = {0};
	for (uint32_t w = 0; w < state->models[model].words; w++) {
		uint64_t change = words[w] ^ state_first_word(state, model, w);
		if (change)
			vec_push(&changed, (struct state_initial_word){w, change});
	}
	*initial = (struct state_initial){changed.at, changed.count};
}

void state_poison_next(const struct state *state, uint32_t model)
{
	struct state_impulses *impulses = &state->impulses[model];
	uint32_t next = state->models[model].next;
	memset(state_words(state, model, true), 0xff, state->models[model].words * sizeof(uint64_t));
	if (!impulses->room[next])
		return;
	impulses->count[next] = STATE_IMPULSE_WORDS;
	memset(impulses->at[next], 0xff, STATE_IMPULSE_WORDS * sizeof(uint64_t));
}

/* --- third copies ------------------------------------------------------------------------------------------------- */

enum { SPARE_WORDS = 8192 };

void state_lend(struct state *state, uint32_t model, struct state_spares *spares)
{
	struct state_model *m = &state->models[model];
	uint32_t need = state_lines_of(m) * LINE_WORDS;
	while (spares->piece < spares->pieces.count && spares->pieces.at[spares->piece].words - spares->used < need) {
		spares->piece++;
		spares->used = 0;
	}
	if (spares->piece == spares->pieces.count) {
		uint32_t words = MAX(need, (uint32_t)SPARE_WORDS);
		vec_push(&spares->pieces, (struct state_spare){mem_alloc_lines(words * sizeof(uint64_t)), words});
	}
	m->at[STATE_KEPT_COPIES] = spares->pieces.at[spares->piece].at + spares->used;
	spares->used += need;
}

void state_spares_fini(struct state_spares *spares)
{
	for (uint32_t i = 0; i < spares->pieces.count; i++)
		free(spares->pieces.at[i].at);
	vec_free(&spares->pieces);
}

void state_settle(struct state *state, uint32_t model)
{
	struct state_model *m = &state->models[model];
	struct state_impulses *impulses = &state->impulses[model];
	uint8_t from = m->copy, to = 1 - m->base;
	if (from < STATE_KEPT_COPIES)
		return;
	if (m->words)
		memcpy(m->at[to], m->at[from], m->words * sizeof(uint64_t));
	if (impulses->room[from]) {
		uint64_t *at = impulses->at[to];
		uint32_t room = impulses->room[to];
		impulses->at[to] = impulses->at[from];
		impulses->room[to] = impulses->room[from];
		impulses->at[from] = at;
		impulses->room[from] = room;
	}
	impulses->count[to] = impulses->count[from];
	m->copy = to;
}

uint64_t *state_resize_impulses(const struct state *state, uint32_t model, bool next, uint32_t count)
{
	struct state_impulses *impulses = &state->impulses[model];
	uint32_t copy = state_copy(state, model, next);
	if (count > impulses->room[copy]) {
		uint32_t room = MAX(count, 2 * impulses->room[copy]);
		impulses->at[copy] =
			mem_grow(impulses->at[copy], impulses->room[copy] * sizeof(uint64_t), room * sizeof(uint64_t));
		impulses->room[copy] = room;
	}
	if (impulses->count[copy] != count)
		impulses->count[copy] = count;
	return impulses->at[copy];
}

bool state_resize_all(const struct state *state, uint32_t model, uint32_t count)
{
	uint32_t words = state->models[model].words;
	if (count < words || (count - words) % STATE_IMPULSE_WORDS ||
		count - words > STATE_IMPULSES_MAX * STATE_IMPULSE_WORDS)
		return false;
	(void)state_resize_impulses(state, model, false, count - words);
	return true;
}

void state_keep_impulses(const struct state *state, uint32_t model)
{
	uint32_t count;
	const uint64_t *now = state_impulses(state, model, false, &count);
	uint64_t *next = state_resize_impulses(state, model, true, count);
	if (count)
		memcpy(next, now, count * sizeof *next);
}

void state_set_initial(struct state *state)
{
	for (uint32_t m = 0; m < state->scene->model_count; m++)
		state_set_initial_of(state, m);
	if (state->world.count)
		memcpy(state->world.initial, state->world.words, state->world.count * sizeof(uint64_t));
}

void state_reset_model(struct state *state, uint32_t model)
{
	const struct state_initial *initial = &state->initial[model];
	state_begin(state, model);
	for (uint32_t i = 0; i < initial->count; i++)
		state_words(state, model, false)[initial->at[i].word] ^= initial->at[i].change;
	state_clear_impulses(state, model, false);
	state_wrote(state, model);
}

void state_reset(struct state *state)
{
	for (uint32_t m = 0; m < state->scene->model_count; m++)
		if (!state->scene->models[m].absent)
			state_reset_model(state, m);
	if (state->world.count)
		memcpy(state->world.words, state->world.initial, state->world.count * sizeof(uint64_t));
}

uint64_t state_hash(struct state *state)
{
	/* a model's id is above 0 */
	uint64_t of_world = state->world.count ? hash_words(0, state->world.words, state->world.count) : 0;
	return of_world + state_hash_models(state);
}

uint64_t state_hash_of(const struct state *state, uint32_t model)
{
	uint32_t count;
	const uint64_t *impulses = state_impulses(state, model, false, &count);
	uint64_t hash = hash_words(
		state->scene->models[model].id, state_words(state, model, false), state->models[model].words);
	return count ? hash_words(hash, impulses, count) : hash;
}

uint64_t state_hash_models(struct state *state)
{
	uint64_t sum = 0;
	for (uint32_t m = 0; m < state->scene->model_count; m++) {
		struct state_model *model = &state->models[m];
		if (!model->words || state->scene->models[m].absent)
			continue;
		if (!model->hashed) {
			model->hash = state_hash_of(state, m);
			model->hashed = true;
		}
		sum += model->hash;
	}
	return sum;
}

struct pose state_frame_of(const struct scene_model *m, const struct body_state *bodies)
{
	return m->body_count ? pose_mul(body_pose(&bodies[m->frame_body]), m->in_body) : m->in_body;
}

struct pose state_model_pose(const struct state *state, uint32_t model, bool next)
{
	return state_frame_of(&state->scene->models[model], state_bodies(state, model, next));
}

struct pose state_model_home(const struct state *state, uint32_t model)
{
	const struct scene_model *m = &state->scene->models[model];
	const struct state_initial *initial = &state->initial[model];
	if (!m->body_count)
		return m->in_body;
	struct pose frame = state->scene->bodies[m->body_first + m->frame_body].reference;
	uint64_t words[sizeof frame / 8];
	memcpy(words, &frame, sizeof words);
	for (uint32_t i = 0; i < initial->count; i++) {
		uint32_t word = initial->at[i].word - m->frame_body * STATE_BODY_WORDS;
		if (initial->at[i].word >= m->frame_body * STATE_BODY_WORDS && word < ARRAY_LEN(words))
			words[word] ^= initial->at[i].change;
	}
	memcpy(&frame, words, sizeof words);
	return pose_mul(frame, m->in_body);
}

struct pose state_link_pose(const struct state *state, uint32_t link, bool next)
{
	const struct scene_link *l = &state->scene->links[link];
	if (l->body == SCENE_NONE)
		return l->in_body;
	uint32_t first = state->scene->models[l->model].body_first;
	return pose_mul(body_pose(&state_bodies(state, l->model, next)[l->body - first]), l->in_body);
}

struct aabb state_model_box(const struct state *state, uint32_t model, bool next)
{
	const struct scene_model *m = &state->scene->models[model];
	const struct body_state *bodies = state_bodies(state, model, next);
	struct aabb box = AABB_NONE;
	for (uint32_t g = m->geom_first; g < m->geom_first + m->geom_count; g++) {
		const struct scene_geom *geom = &state->scene->geoms[g];
		struct aabb one = geom->body == SCENE_NONE
					  ? scene_static_box(geom)
					  : scene_geom_box(geom, body_pose(&bodies[geom->body - m->body_first]));
		box = aabb_join(box, one);
	}
	if (aabb_is_empty(&box)) {
		struct vec3 origin = state_model_pose(state, model, next).p;
		box = (struct aabb){origin, origin};
	}
	return box;
}
