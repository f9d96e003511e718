/* Levels are checked only after a performer came near one or left it, strays in every step (there are few). A model
 * becomes active or ceases to be so in one place each, so that the lists of answers have every change once. */
#include "run/loading.h"

#include "base/hash.h"

#include <stdlib.h>

/* A static model exists even when its level is not loaded. Workers make its ODE objects when a body first comes
 * near. */
static bool static_exists(const struct loading *loading, uint32_t m)
{
	const struct scene_model *model = &loading->scene->models[m];
	return model->is_static && !model->absent;
}

static bool moves_freely(const struct loading *loading, uint32_t m)
{
	const struct scene_model *model = &loading->scene->models[m];
	return !model->absent && (model->performer || (!model->is_static && model->level == SCENE_NONE));
}

void loading_fit(struct loading *loading)
{
	uint32_t before = loading->room, now = loading->scene->room.models;
	MEM_FIT(loading->active, before, now);
	MEM_FIT(loading->is_mover, before, now);
	MEM_FIT(loading->statics, before, now);
	loading->room = now;
}

void loading_init(struct loading *loading, struct shared *shared)
{
	*loading = (struct loading){.shared = shared, .scene = shared->scene, .placings = 1};
	loading_fit(loading);
	loading->loaded = mem_alloc(loading->scene->level_count * sizeof *loading->loaded);
	for (uint32_t m = 0; m < loading->scene->model_count; m++) {
		loading->is_mover[m] = moves_freely(loading, m);
		loading->statics[m] = static_exists(loading, m);
	}
}

void loading_fini(struct loading *loading)
{
	free(loading->loaded);
	free(loading->active);
	free(loading->is_mover);
	free(loading->statics);
	vec_free(&loading->strays);
	vec_free(&loading->came);
	vec_free(&loading->went);
	vec_free(&loading->fetched);
	vec_free(&loading->changed_levels);
	vec_free(&loading->found);
}

void loading_clear(struct loading *loading)
{
	loading->came.count = loading->went.count = loading->fetched.count = loading->changed_levels.count = 0;
}

/* --- one model ---------------------------------------------------------------------------------------------------- */

static void activate(struct loading *loading, uint32_t model)
{
	if (loading->active[model] || loading->scene->models[model].absent)
		return;
	loading->active[model] = true;
	vec_push(&loading->came, model);
}

static void deactivate(struct loading *loading, uint32_t model)
{
	if (!loading->active[model])
		return;
	loading->active[model] = false;
	vec_push(&loading->went, model);
}

static void forget_stray(struct loading *loading, uint32_t model)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < loading->strays.count; i++)
		if (loading->strays.at[i] != model)
			loading->strays.at[kept++] = loading->strays.at[i];
	loading->strays.count = kept;
}

bool loading_learn(struct loading *loading, uint32_t model)
{
	bool exists = static_exists(loading, model), changed = exists != (loading->statics[model] != 0);
	loading->is_mover[model] = moves_freely(loading, model);
	if (changed)
		loading->statics[model] = exists ? ++loading->placings : 0;
	return changed;
}

void loading_placed(struct loading *loading, uint32_t model)
{
	loading->statics[model] = ++loading->placings;
}

void loading_add(struct loading *loading, uint32_t model)
{
	const struct scene_model *m = &loading->scene->models[model];
	struct tracker *tracker = &loading->shared->tracker;
	if (m->performer && tracker->performer_of[model] == SCENE_NONE)
		tracker_add(tracker, model);
	if (loading->is_mover[model] || (m->level != SCENE_NONE && loading->loaded[m->level]))
		activate(loading, model);
}

void loading_remove(struct loading *loading, uint32_t model)
{
	struct tracker *tracker = &loading->shared->tracker;
	deactivate(loading, model);
	if (tracker->performer_of[model] != SCENE_NONE) {
		tracker_remove(tracker, model);
		loading->dirty = true;
	}
	forget_stray(loading, model);
}

void loading_performer(struct loading *loading, uint32_t model)
{
	struct tracker *tracker = &loading->shared->tracker;
	const struct scene_model *m = &loading->scene->models[model];
	if (tracker->performer_of[model] != SCENE_NONE)
		tracker_remove(tracker, model);
	if (m->performer)
		tracker_add(tracker, model);
	if (m->is_static && !m->performer) {
		deactivate(loading, model);
	} else if (m->performer || m->level == SCENE_NONE) {
		forget_stray(loading, model);
		activate(loading, model);
	} else if (!loading->loaded[m->level]) {
		vec_push(&loading->strays, model);
	}
	loading->dirty = true;
}

bool loading_look(struct loading *loading, uint32_t model)
{
	const struct shared *shared = loading->shared;
	uint32_t performer = shared->tracker.performer_of[model];
	if (performer == SCENE_NONE ||
		!tracker_look(&loading->shared->tracker, performer, state_model_pose(shared->state, model, false).p))
		return false;
	loading->dirty = true;
	return true;
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

void loading_empty(struct loading *loading)
{
	for (uint32_t m = 0; m < loading->scene->model_count; m++)
		deactivate(loading, m);
}

void loading_restart(struct loading *loading)
{
	tracker_reset(&loading->shared->tracker);
	for (uint32_t l = 0; l < loading->scene->level_count; l++) {
		if (loading->loaded[l])
			vec_push(&loading->changed_levels, l);
		loading->loaded[l] = false;
	}
	loading->strays.count = 0;
	for (uint32_t m = 0; m < loading->scene->model_count; m++)
		if (loading->is_mover[m])
			activate(loading, m);
	loading->dirty = true;
}

/* --- levels and strays -------------------------------------------------------------------------------------------- */

static void set_loaded(struct loading *loading, uint32_t level, bool loaded)
{
	const struct scene_level *l = &loading->scene->levels[level];
	loading->loaded[level] = loaded;
	vec_push(&loading->changed_levels, level);
	for (uint32_t i = 0; i < l->model_count; i++) {
		uint32_t model = l->models[i];
		const struct scene_model *m = &loading->scene->models[model];
		if (m->level != level)
			continue;
		if (loaded) {
			forget_stray(loading, model);
			activate(loading, model);
			vec_push(&loading->fetched, model);
		} else if (!m->absent) {
			vec_push(&loading->strays, model); /* removed unless it must stay: see update_strays() */
		}
	}
}

/* Whether the level is loaded in the coming step. */
static bool is_needed(const struct loading *loading, uint32_t level)
{
	return loading->shared->tracker.near_count[level] > 0;
}

static void update_levels(struct loading *loading)
{
	loading->dirty = false;
	for (uint32_t l = 0; l < loading->scene->level_count; l++) {
		bool loaded = is_needed(loading, l);
		if (loaded == loading->loaded[l])
			continue;
		loading->loads += loaded;
		set_loaded(loading, l, loaded);
	}
}

/* Whether the box overlaps a model that no level can unload. */
static bool meets_mover(struct loading *loading, const struct aabb *box)
{
	const struct shared *shared = loading->shared;
	loading->found.count = 0;
	bvh_query(&shared->touch.tree, box, &loading->found);
	for (uint32_t i = 0; i < loading->found.count; i++)
		if (loading->is_mover[loading->found.at[i]] &&
			aabb_overlap(box, &shared->boxes[loading->found.at[i]].box))
			return true;
	return false;
}

static bool must_stay(struct loading *loading, uint32_t model)
{
	const struct shared *shared = loading->shared;
	const struct aabb *box = &shared->boxes[model].box;
	if (meets_mover(loading, box))
		return true;
	for (uint32_t p = 0; p < shared->tracker.performers.count; p++) {
		uint32_t performer = shared->tracker.performers.at[p].model;
		struct aabb volume = aabb_around(
			state_model_pose(shared->state, performer, false).p, loading->scene->models[performer].volume);
		if (aabb_overlap(box, &volume) || aabb_overlap(box, &shared->boxes[performer].box))
			return true;
	}
	for (uint32_t l = 0; l < loading->scene->level_count; l++)
		if (is_needed(loading, l) && aabb_overlap(box, &loading->scene->levels[l].box))
			return true;
	return false;
}

bool loading_expects(struct loading *loading, uint32_t model)
{
	uint32_t level = loading->scene->models[model].level;
	if (loading->is_mover[model] || (level != SCENE_NONE && is_needed(loading, level)))
		return true;
	return loading->active[model] && must_stay(loading, model);
}

static void update_strays(struct loading *loading)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < loading->strays.count; i++) {
		uint32_t model = loading->strays.at[i];
		if (must_stay(loading, model))
			loading->strays.at[kept++] = model;
		else
			deactivate(loading, model);
	}
	loading->strays.count = kept;
}

void loading_update(struct loading *loading)
{
	if (loading->dirty)
		update_levels(loading);
	update_strays(loading);
}

/* --- hash, saving ------------------------------------------------------------------------------------------------- */

uint64_t loading_hash(const struct loading *loading)
{
	uint64_t sum = 0;
	for (uint32_t l = 0; l < loading->scene->level_count; l++)
		if (loading->loaded[l])
			sum += hash_mix(UINT64_C(0x6c6576656c), l + 1); /* "level" */
	for (uint32_t i = 0; i < loading->strays.count; i++)
		sum += hash_mix(UINT64_C(0x7374726179), loading->scene->models[loading->strays.at[i]].id); /* "stray" */
	return sum;
}

void loading_pack(const struct loading *loading, struct text *out)
{
	pack_u64(out, loading->scene->level_count);
	for (uint32_t l = 0; l < loading->scene->level_count; l++)
		pack_u64(out, loading->loaded[l]);
	pack_u64(out, loading->loads);
	pack_u64(out, loading->strays.count);
	for (uint32_t i = 0; i < loading->strays.count; i++)
		pack_u64(out, loading->strays.at[i]);
}

static void unpack_stray(struct loading *loading, struct unpack *in)
{
	const struct scene *scene = loading->scene;
	uint32_t model = unpack_count(in, scene->model_count - 1u);
	const struct scene_model *m = in->bad ? NULL : &scene->models[model];
	if (!m || m->absent || m->level == SCENE_NONE || loading->active[model]) {
		in->bad = true; /* the model exists already: with its level, or as a stray */
		return;
	}
	vec_push(&loading->strays, model);
	activate(loading, model);
}

bool loading_unpack(struct loading *loading, struct unpack *in)
{
	const struct scene *scene = loading->scene;
	uint32_t levels = unpack_count(in, UINT32_MAX);
	for (uint32_t l = 0; l < levels && levels == scene->level_count; l++)
		if (unpack_count(in, 1))
			set_loaded(loading, l, true);
	loading->loads = unpack_u64(in);
	loading->strays.count = 0;
	uint32_t strays = unpack_count(in, scene->model_count);
	for (uint32_t i = 0; i < strays && !in->bad; i++)
		unpack_stray(loading, in);
	for (uint32_t m = 0; m < scene->model_count; m++)
		loading->statics[m] = static_exists(loading, m) ? ++loading->placings : 0;
	return !in->bad && levels == scene->level_count;
}
