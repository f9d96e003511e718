/* Ties: links of two models, or of a model and the world, that a system has joined rigidly while the world runs.
 *
 * A tie is no word of the state, because it hardly ever changes, and the plan has to know it: it is kept like the poses
 * of static models, in the scene, in saved states and in the hash of what was edited. Copies of the world get the whole
 * list when it has changed. A tie ends with each of its models, and with the model whose system made it. */
#include "run/edit_internal.h"

#include "base/hash.h"
#include "geom/pack.h"

#include <stdlib.h>
#include <string.h>

static void edit_tie_changed(struct edit *edit)
{
	uint32_t kept = 0;
	edit->shared->scene->ties_epoch++;
	for (uint32_t i = 0; i < edit->log.count; i++)
		if (edit->log.at[i].kind != EDIT_TIES)
			edit->log.at[kept++] = edit->log.at[i];
	edit->log.count = kept;
	edit_note(edit, EDIT_TIES, 0);
}

static uint32_t edit_tie_model_of(const struct scene *scene, const struct scene_tie *tie, uint32_t end)
{
	return tie->bodies[end] == SCENE_NONE ? SCENE_NONE : scene->bodies[tie->bodies[end]].model;
}

static void edit_tie_tell_plan(struct edit *edit, const struct scene_tie *tie)
{
	for (uint32_t end = 0; end < 2; end++)
		if (tie->bodies[end] != SCENE_NONE)
			edit_effect(edit, EDIT_TIED, edit_tie_model_of(edit->shared->scene, tie, end));
}

troupe_status edit_tie(
	struct edit *edit, uint32_t owner, uint32_t system, uint32_t link, uint32_t other, struct troupe_error *error)
{
	struct scene *scene = edit->shared->scene;
	const struct state *state = edit->shared->state;
	uint32_t a = scene->links[link].body, b = scene->links[other].body;
	if (scene->ties.count == SCENE_TIES_MAX)
		return fail(error, TROUPE_ELIMIT, "%d links are attached to others already: expected no more",
			SCENE_TIES_MAX);
	if (a == b)
		return fail(error, TROUPE_ECOMMAND, "links '%.100s' and '%.100s' are one rigid body, or do not move",
			scene->links[link].scoped, scene->links[other].scoped);
	struct scene_tie tie = {owner, system, {a, b}, POSE_IDENTITY};
	if (b == SCENE_NONE) {
		tie.bodies[0] = b;
		tie.bodies[1] = a;
	}
	tie.pose = body_pose(state_body(state, tie.bodies[1], false));
	if (tie.bodies[0] != SCENE_NONE)
		tie.pose = pose_mul(pose_inverse(body_pose(state_body(state, tie.bodies[0], false))), tie.pose);
	tie.pose.q = quat_unit(tie.pose.q);
	vec_push(&scene->ties, tie);
	edit_tie_tell_plan(edit, &tie);
	edit_tie_changed(edit);
	return TROUPE_OK;
}

/* Ends the ties for which this is true. */
static bool edit_tie_drop(struct edit *edit,
	bool (*is_wanted)(const struct scene *, const struct scene_tie *, uint32_t, uint32_t), uint32_t model,
	uint32_t system)
{
	struct scene *scene = edit->shared->scene;
	uint32_t kept = 0, count = scene->ties.count;
	for (uint32_t i = 0; i < count; i++) {
		const struct scene_tie tie = scene->ties.at[i];
		if (!is_wanted(scene, &tie, model, system)) {
			scene->ties.at[kept++] = tie;
			continue;
		}
		edit_tie_tell_plan(edit, &tie);
	}
	scene->ties.count = kept;
	if (kept != count)
		edit_tie_changed(edit);
	return kept != count;
}

static bool edit_tie_is_of_system(
	const struct scene *scene, const struct scene_tie *tie, uint32_t model, uint32_t system)
{
	(void)scene;
	return tie->owner == model && tie->system == system;
}

static bool edit_tie_is_of_model(
	const struct scene *scene, const struct scene_tie *tie, uint32_t model, uint32_t system)
{
	(void)system;
	return tie->owner == model || edit_tie_model_of(scene, tie, 0) == model ||
	       edit_tie_model_of(scene, tie, 1) == model;
}

static bool edit_tie_is_any(const struct scene *scene, const struct scene_tie *tie, uint32_t model, uint32_t system)
{
	(void)scene, (void)tie, (void)model, (void)system;
	return true;
}

bool edit_untie(struct edit *edit, uint32_t owner, uint32_t system)
{
	return edit_tie_drop(edit, edit_tie_is_of_system, owner, system);
}

void edit_untie_model(struct edit *edit, uint32_t model)
{
	(void)edit_tie_drop(edit, edit_tie_is_of_model, model, 0);
}

void edit_untie_all(struct edit *edit)
{
	(void)edit_tie_drop(edit, edit_tie_is_any, 0, 0);
}

bool edit_is_tied(const struct scene *scene, uint32_t owner, uint32_t system)
{
	bool tied = false;
	for (uint32_t i = 0; i < scene->ties.count && !tied; i++)
		tied = edit_tie_is_of_system(scene, &scene->ties.at[i], owner, system);
	return tied;
}

const char *edit_tied_to(const struct scene *scene, uint32_t model)
{
	for (uint32_t i = 0; i < scene->ties.count; i++) {
		uint32_t a = edit_tie_model_of(scene, &scene->ties.at[i], 0),
			 b = edit_tie_model_of(scene, &scene->ties.at[i], 1);
		uint32_t other = a == model ? b : b == model ? a : model;
		if (other != model)
			return other == SCENE_NONE ? "the world" : scene->models[other].name;
	}
	return NULL;
}

/* --- kept --------------------------------------------------------------------------------------------------------- */

static uint64_t edit_tie_hash_end(const struct scene *scene, uint64_t hash, uint32_t body)
{
	if (body == SCENE_NONE)
		return hash_mix(hash, 0);
	const struct scene_model *m = &scene->models[scene->bodies[body].model];
	return hash_mix(hash_mix(hash, m->id), body - m->body_first);
}

uint64_t edit_hash_ties(const struct scene *scene)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < scene->ties.count; i++) {
		const struct scene_tie *tie = &scene->ties.at[i];
		const double numbers[] = {tie->pose.p.x, tie->pose.p.y, tie->pose.p.z, tie->pose.q.w, tie->pose.q.x,
			tie->pose.q.y, tie->pose.q.z};
		uint64_t hash = hash_mix(UINT64_C(0x746965), i); /* "tie"; their order is the order of joints */
		hash = hash_mix(hash_mix(hash, scene->models[tie->owner].id), tie->system);
		hash = edit_tie_hash_end(scene, edit_tie_hash_end(scene, hash, tie->bodies[0]), tie->bodies[1]);
		for (size_t k = 0; k < ARRAY_LEN(numbers); k++) {
			uint64_t bits;
			memcpy(&bits, &numbers[k], sizeof bits);
			hash = hash_mix(hash, bits);
		}
		sum += hash;
	}
	return sum;
}

void edit_pack_ties(const struct scene *scene, struct text *out)
{
	pack_u64(out, scene->ties.count);
	for (uint32_t i = 0; i < scene->ties.count; i++) {
		const struct scene_tie *tie = &scene->ties.at[i];
		pack_u64(out, tie->owner);
		pack_u64(out, tie->system);
		pack_u64(out, tie->bodies[0] == SCENE_NONE ? 0 : (uint64_t)tie->bodies[0] + 1);
		pack_u64(out, tie->bodies[1]);
		edit_pack_pose(out, &tie->pose);
	}
}

struct edit_ties *edit_unpack_ties(struct unpack *in)
{
	struct edit_ties *ties = mem_alloc(sizeof *ties);
	uint32_t count = unpack_count(in, SCENE_TIES_MAX);
	for (uint32_t i = 0; i < count && !in->bad; i++) {
		struct scene_tie tie = {.owner = unpack_count(in, UINT32_MAX)};
		tie.system = unpack_count(in, UINT32_MAX);
		uint32_t first = unpack_count(in, UINT32_MAX);
		tie.bodies[0] = first ? first - 1 : SCENE_NONE;
		tie.bodies[1] = unpack_count(in, UINT32_MAX);
		tie.pose = edit_unpack_pose(in);
		vec_push(&ties->list, tie);
	}
	return ties;
}

void edit_ties_destroy(struct edit_ties *ties)
{
	if (ties)
		vec_free(&ties->list);
	free(ties);
}

static bool edit_tie_has_body(const struct scene *scene, uint32_t body)
{
	if (body >= scene->body_count || scene->bodies[body].model >= scene->model_count)
		return false;
	const struct scene_model *m = &scene->models[scene->bodies[body].model];
	return m->id && !m->absent && body >= m->body_first && body - m->body_first < m->body_count;
}

static bool edit_tie_is_sane(const struct edit *edit, const struct scene_tie *tie)
{
	const struct scene *scene = edit->shared->scene;
	return tie->owner < scene->model_count && scene->models[tie->owner].id && !scene->models[tie->owner].absent &&
	       tie->system < systems_count(edit->shared->systems, tie->owner) &&
	       edit_tie_has_body(scene, tie->bodies[1]) &&
	       (tie->bodies[0] == SCENE_NONE || edit_tie_has_body(scene, tie->bodies[0])) &&
	       tie->bodies[0] != tie->bodies[1] && vec3_within(tie->pose.p, 4 * SCENE_POSITION_MAX);
}

bool edit_put_ties(struct edit *edit, const struct edit_ties *ties)
{
	struct scene *scene = edit->shared->scene;
	bool sane = true;
	for (uint32_t i = 0; i < ties->list.count; i++)
		sane = sane && edit_tie_is_sane(edit, &ties->list.at[i]);
	if (!sane)
		return false;
	scene->ties.count = 0;
	for (uint32_t i = 0; i < ties->list.count; i++)
		vec_push(&scene->ties, ties->list.at[i]);
	scene->ties_epoch++;
	return true;
}
