/* Levels are checked only after a performer came near one or left it. Strays are checked after pairs of models have
 * changed; and in every step if a performer's volume or a level's box holds one of them, because no pair shows when
 * that ends. A model becomes active or ceases to be so in one place each, so that the lists of answers have every
 * change once.
 *
 * Which strays stay is a question about a graph: two strays that touch do not hold each other. So they are searched
 * from the models and boxes that hold a stray by themselves, along pairs. */
#include "run/loading.h"

#include "base/hash.h"

#include <stdlib.h>

/* A static model exists even when its level is not loaded. Workers make its ODE objects when a body first comes
 * near. */
static bool loading_static_exists(const struct loading *loading, uint32_t m)
{
	const struct scene_model *model = &loading->scene->models[m];
	return model->is_static && !model->absent;
}

static bool loading_moves_freely(const struct loading *loading, uint32_t m)
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
	MEM_FIT(loading->visited, before, now);
	loading->room = now;
}

void loading_init(struct loading *loading, struct shared *shared)
{
	*loading = (struct loading){.shared = shared, .scene = shared->scene, .placings = 1};
	loading_fit(loading);
	loading->loaded = mem_alloc(loading->scene->level_count * sizeof *loading->loaded);
	for (uint32_t m = 0; m < loading->scene->model_count; m++) {
		loading->is_mover[m] = loading_moves_freely(loading, m);
		loading->statics[m] = loading_static_exists(loading, m);
	}
}

void loading_fini(struct loading *loading)
{
	free(loading->loaded);
	free(loading->active);
	free(loading->is_mover);
	free(loading->statics);
	free(loading->visited);
	vec_free(&loading->strays);
	vec_free(&loading->came);
	vec_free(&loading->went);
	vec_free(&loading->fetched);
	vec_free(&loading->changed_levels);
	vec_free(&loading->found);
	vec_free(&loading->walk);
}

void loading_clear(struct loading *loading)
{
	loading->came.count = loading->went.count = loading->fetched.count = loading->changed_levels.count = 0;
}

/* --- one model ---------------------------------------------------------------------------------------------------- */

static void loading_activate(struct loading *loading, uint32_t model)
{
	if (loading->active[model] || loading->scene->models[model].absent)
		return;
	loading->active[model] = true;
	vec_push(&loading->came, model);
}

static void loading_deactivate(struct loading *loading, uint32_t model)
{
	if (!loading->active[model])
		return;
	loading->active[model] = false;
	vec_push(&loading->went, model);
}

static void loading_forget_stray(struct loading *loading, uint32_t model)
{
	indices_remove(&loading->strays, model);
	loading->must_check = true;
}

static void loading_add_stray(struct loading *loading, uint32_t model)
{
	indices_add(&loading->strays, model);
	loading->must_check = true;
}

bool loading_learn(struct loading *loading, uint32_t model)
{
	bool exists = loading_static_exists(loading, model), changed = exists != (loading->statics[model] != 0);
	loading->is_mover[model] = loading_moves_freely(loading, model);
	loading->cargo_known = false;
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
		loading_activate(loading, model);
}

void loading_remove(struct loading *loading, uint32_t model)
{
	struct tracker *tracker = &loading->shared->tracker;
	loading_deactivate(loading, model);
	if (tracker->performer_of[model] != SCENE_NONE) {
		tracker_remove(tracker, model);
		loading->dirty = true;
	}
	loading_forget_stray(loading, model);
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
		loading_deactivate(loading, model);
	} else if (m->performer || m->level == SCENE_NONE) {
		loading_forget_stray(loading, model);
		loading_activate(loading, model);
	} else if (!loading->loaded[m->level]) {
		loading_add_stray(loading, model);
	}
	loading->dirty = true;
}

bool loading_look(struct loading *loading, uint32_t model, struct vec3 origin)
{
	const struct shared *shared = loading->shared;
	uint32_t performer = shared->tracker.performer_of[model];
	if (performer == SCENE_NONE || !tracker_look(&loading->shared->tracker, performer, origin))
		return false;
	loading->dirty = true;
	return true;
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

void loading_empty(struct loading *loading)
{
	for (uint32_t m = 0; m < loading->scene->model_count; m++)
		loading_deactivate(loading, m);
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
			loading_activate(loading, m);
	loading->dirty = true;
}

/* --- levels and strays -------------------------------------------------------------------------------------------- */

static void loading_set_loaded(struct loading *loading, uint32_t level, bool loaded)
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
			loading_forget_stray(loading, model);
			loading_activate(loading, model);
			vec_push(&loading->fetched, model);
		} else if (!m->absent) {
			loading_add_stray(loading, model); /* it goes unless it must stay: see loading_drop_strays() */
		}
	}
}

/* Whether the level is loaded in the coming step. */
static bool loading_is_needed(const struct loading *loading, uint32_t level)
{
	return loading->shared->tracker.near_count[level] > 0;
}

static void loading_update_levels(struct loading *loading)
{
	loading->dirty = false;
	loading->must_check = true;
	for (uint32_t l = 0; l < loading->scene->level_count; l++) {
		bool loaded = loading_is_needed(loading, l);
		if (loaded == loading->loaded[l])
			continue;
		loading->loads += loaded;
		loading_set_loaded(loading, l, loaded);
	}
}

void loading_update(struct loading *loading)
{
	if (loading->dirty)
		loading_update_levels(loading);
}

/* Whether the box of an active stray overlaps the volume of a performer, or the box of a loaded level. */
static bool loading_is_held_by_box(struct loading *loading, uint32_t model)
{
	const struct shared *shared = loading->shared;
	const struct tracker *tracker = &shared->tracker;
	const struct aabb *box = &shared->boxes[model].box;
	for (uint32_t p = 0; p < tracker->performers.count; p++) {
		uint32_t performer = tracker->performers.at[p].model;
		struct aabb volume = aabb_around(
			state_model_pose(shared->state, performer, false).p, loading->scene->models[performer].volume);
		if (aabb_overlap(box, &volume) || aabb_overlap(box, &shared->boxes[performer].box))
			return true;
	}
	loading->found.count = 0;
	bvh_query(&tracker->levels, box, &loading->found);
	for (uint32_t i = 0; i < loading->found.count; i++)
		if (loading_is_needed(loading, loading->found.at[i]) &&
			aabb_overlap(box, &loading->scene->levels[loading->found.at[i]].box))
			return true;
	return false;
}

/* Whether the model will exist without the help of another model of an unloaded level. */
static bool loading_exists_by_itself(struct loading *loading, uint32_t model)
{
	uint32_t level = loading->scene->models[model].level;
	return loading->is_mover[model] || (level != SCENE_NONE && loading_is_needed(loading, level)) ||
	       (loading->active[model] && loading_is_held_by_box(loading, model));
}

static void loading_visit(struct loading *loading, uint32_t model)
{
	if (loading->visited[model])
		return;
	loading->visited[model] = true;
	vec_push(&loading->walk, model);
}

static void loading_end_walk(struct loading *loading)
{
	for (uint32_t i = 0; i < loading->walk.count; i++)
		loading->visited[loading->walk.at[i]] = false;
	loading->walk.count = 0;
}

/* Lists the models that the model touches, or that a joint connects to it, in loading->found. */
static void loading_find_partners(struct loading *loading, uint32_t model)
{
	touch_partners(&loading->shared->touch, loading->shared->boxes, model, &loading->found);
}

bool loading_expects(struct loading *loading, uint32_t model)
{
	bool expects = false;
	loading_visit(loading, model);
	for (uint32_t i = 0; i < loading->walk.count && !expects; i++) {
		expects = loading_exists_by_itself(loading, loading->walk.at[i]);
		loading_find_partners(loading, loading->walk.at[i]);
		for (uint32_t p = 0; p < loading->found.count; p++)
			loading_visit(loading, loading->found.at[p]);
	}
	loading_end_walk(loading);
	return expects;
}

static bool loading_is_stray(const struct loading *loading, uint32_t model)
{
	uint32_t level = loading->scene->models[model].level;
	return loading->active[model] && !loading->is_mover[model] && !loading->loaded[level];
}

static void loading_visit_strays(struct loading *loading, uint32_t stray)
{
	loading_find_partners(loading, stray);
	for (uint32_t i = 0; i < loading->found.count; i++)
		if (loading_is_stray(loading, loading->found.at[i]))
			loading_visit(loading, loading->found.at[i]);
}

/* Whether a model that no level can unload, or a model of a loaded level, touches the stray or is joined to it. */
static bool loading_is_held_by_model(struct loading *loading, uint32_t stray)
{
	loading_find_partners(loading, stray);
	for (uint32_t i = 0; i < loading->found.count; i++)
		if (loading->active[loading->found.at[i]] && !loading_is_stray(loading, loading->found.at[i]))
			return true;
	return false;
}

/* Ends the existence of strays that nothing holds. True: there were some. */
static bool loading_drop_strays(struct loading *loading)
{
	uint32_t kept = 0, before = loading->strays.count;
	loading->must_check = false;
	for (uint32_t i = 0; i < before; i++) {
		uint32_t stray = loading->strays.at[i];
		bool by_box = loading_is_held_by_box(loading, stray);
		loading->must_check |= by_box;
		if (by_box || loading_is_held_by_model(loading, stray))
			loading_visit(loading, stray);
	}
	for (uint32_t i = 0; i < loading->walk.count; i++) /* the list grows */
		loading_visit_strays(loading, loading->walk.at[i]);
	for (uint32_t i = 0; i < before; i++) {
		uint32_t stray = loading->strays.at[i];
		if (loading->visited[stray])
			loading->strays.at[kept++] = stray;
		else
			loading_deactivate(loading, stray);
	}
	loading->strays.count = kept;
	loading_end_walk(loading);
	return kept < before;
}

/* A model of an unloaded level becomes a stray. */
static void loading_reach(struct loading *loading, uint32_t model)
{
	if (loading->active[model])
		return;
	loading_activate(loading, model);
	loading_add_stray(loading, model);
	vec_push(&loading->fetched, model);
}

bool loading_settle(struct loading *loading, bool pairs_changed)
{
	const bvh_values *reached = &loading->shared->touch.reached;
	for (uint32_t i = 0; i < reached->count; i++)
		loading_reach(loading, reached->at[i]);
	if (loading->came.count)
		return true;
	return loading->strays.count && (loading->must_check || pairs_changed) && loading_drop_strays(loading);
}

bool loading_is_cargo(const struct loading *loading, uint32_t model)
{
	const struct scene_model *m = &loading->scene->models[model];
	return !m->absent && !m->is_static && m->level != SCENE_NONE && !m->performer;
}

bool loading_has_cargo(struct loading *loading)
{
	if (loading->cargo_known)
		return loading->some_cargo;
	loading->cargo_known = true;
	loading->some_cargo = false;
	for (uint32_t m = 0; m < loading->scene->model_count; m++)
		loading->some_cargo |= loading_is_cargo(loading, m);
	return loading->some_cargo;
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

static void loading_unpack_stray(struct loading *loading, struct unpack *in)
{
	const struct scene *scene = loading->scene;
	uint32_t model = unpack_count(in, scene->model_count - 1u);
	const struct scene_model *m = in->bad ? NULL : &scene->models[model];
	if (!m || m->absent || m->level == SCENE_NONE || loading->active[model]) {
		in->bad = true; /* the model exists already: with its level, or as a stray */
		return;
	}
	loading_add_stray(loading, model);
	loading_activate(loading, model);
}

bool loading_unpack(struct loading *loading, struct unpack *in)
{
	const struct scene *scene = loading->scene;
	uint32_t levels = unpack_count(in, UINT32_MAX);
	for (uint32_t l = 0; l < levels && levels == scene->level_count; l++)
		if (unpack_count(in, 1))
			loading_set_loaded(loading, l, true);
	loading->loads = unpack_u64(in);
	loading->strays.count = 0;
	uint32_t strays = unpack_count(in, scene->model_count);
	for (uint32_t i = 0; i < strays && !in->bad; i++)
		loading_unpack_stray(loading, in);
	for (uint32_t m = 0; m < scene->model_count; m++)
		loading->statics[m] = loading_static_exists(loading, m) ? ++loading->placings : 0;
	return !in->bad && levels == scene->level_count;
}
