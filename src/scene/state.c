#include "scene/state.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct body_state) == 13 * 8, "a body is thirteen words, without padding to hash");
_Static_assert(sizeof(struct joint_state) == 2 * 8, "a joint is two words");

enum { BODY_WORDS = 13, JOINT_WORDS = 2 };

static void lay_out(struct state *state, const uint32_t *system_words)
{
	const struct scene *scene = state->scene;
	for (uint32_t m = 0; m < scene->model_count; m++)
		state->models[m].words = scene->models[m].body_count * BODY_WORDS;
	for (uint32_t j = 0; j < scene->joint_count; j++) {
		struct state_model *model = &state->models[scene->joints[j].model];
		state->joint_offset[j] = model->words;
		model->words += JOINT_WORDS;
	}
	for (uint32_t m = 0; m < scene->model_count; m++) {
		struct state_model *model = &state->models[m];
		model->words += scene->models[m].body_count > 0; /* still */
		model->system_first = model->words;
		model->words += system_words ? system_words[m] : 0;
		/* a model's words start on their own cache line: neighbours are written by other runners */
		model->offset = state->word_count;
		state->word_count += (model->words + 7u) & ~7u;
	}
}

struct state *state_create(const struct scene *scene, const uint32_t *system_words)
{
	struct state *state = mem_alloc(sizeof *state);
	state->scene = scene;
	state->models = mem_alloc(scene->model_count * sizeof *state->models);
	state->joint_offset = mem_alloc(scene->joint_count * sizeof *state->joint_offset);
	lay_out(state, system_words);
	for (int i = 0; i < 2; i++)
		state->words[i] = mem_alloc_lines((size_t)state->word_count * 8);
	state->initial = mem_alloc_lines((size_t)state->word_count * 8);
	for (uint32_t m = 0; m < scene->model_count; m++) {
		struct body_state *bodies = state_bodies(state, m, false);
		for (uint32_t b = 0; b < scene->models[m].body_count; b++) {
			struct pose pose = scene->bodies[scene->models[m].body_first + b].reference;
			bodies[b] = (struct body_state){pose.p, pose.q, {0, 0, 0}, {0, 0, 0}};
		}
	}
	state_set_initial(state);
	return state;
}

void state_destroy(struct state *state)
{
	if (!state)
		return;
	free(state->models);
	free(state->joint_offset);
	free(state->words[0]);
	free(state->words[1]);
	free(state->initial);
	free(state);
}

void state_set_initial(struct state *state)
{
	for (uint32_t m = 0; m < state->scene->model_count; m++)
		memcpy(state->initial + state->models[m].offset, state_words(state, m, false),
			state->models[m].words * 8);
}

void state_reset(struct state *state)
{
	for (uint32_t m = 0; m < state->scene->model_count; m++) {
		memcpy(state_words(state, m, false), state->initial + state->models[m].offset,
			state->models[m].words * 8);
		state_touched(state, m);
	}
}

uint64_t state_hash(struct state *state)
{
	uint64_t sum = 0;
	for (uint32_t m = 0; m < state->scene->model_count; m++) {
		struct state_model *model = &state->models[m];
		if (!model->words)
			continue;
		if (!model->hashed) {
			model->hash = hash_words(m + 1, state_words(state, m, false), model->words);
			model->hashed = true;
		}
		sum += model->hash;
	}
	return sum;
}

struct pose state_model_pose(const struct state *state, uint32_t model, bool next)
{
	const struct scene_model *m = &state->scene->models[model];
	return m->body_count ? pose_mul(body_pose(&state_bodies(state, model, next)[m->frame_body]), m->in_body)
			     : m->in_body;
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
					  ? geom->box
					  : scene_geom_box(geom, body_pose(&bodies[geom->body - m->body_first]));
		box = aabb_join(box, one);
	}
	if (!m->geom_count) {
		struct vec3 origin = state_model_pose(state, model, next).p;
		box = (struct aabb){origin, origin};
	}
	return box;
}
