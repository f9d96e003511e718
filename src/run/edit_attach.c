/* Attachments: links of two models, or of a model and the world, that a system has joined rigidly while the world runs.
 *
 * An attachment is no word of the state, because it hardly ever changes, and the plan has to know it: it is kept like
 * the poses of static models, in the scene, in saved states and in the hash of what was edited. Copies of the world get
 * the whole list when it has changed. An attachment ends with each of its models, and with the model whose system made
 * it. */
#include "run/edit_internal.h"

#include "base/hash.h"
#include "geom/pack.h"

#include <stdlib.h>
#include <string.h>

static void edit_attach_changed(struct edit *edit)
{
	uint32_t kept = 0;
	edit->shared->scene->attachments_epoch++;
	for (uint32_t i = 0; i < edit->log.count; i++)
		if (edit->log.at[i].kind != EDIT_ATTACHMENTS)
			edit->log.at[kept++] = edit->log.at[i];
	edit->log.count = kept;
	edit_note(edit, EDIT_ATTACHMENTS, 0);
}

static uint32_t edit_attach_model_of(const struct scene *scene, const struct scene_attachment *attachment, uint32_t end)
{
	return attachment->bodies[end] == SCENE_NONE ? SCENE_NONE : scene->bodies[attachment->bodies[end]].model;
}

static void edit_attach_tell_plan(struct edit *edit, const struct scene_attachment *attachment)
{
	for (uint32_t end = 0; end < 2; end++)
		if (attachment->bodies[end] != SCENE_NONE)
			edit_effect(edit, EDIT_ATTACHED, edit_attach_model_of(edit->shared->scene, attachment, end));
}

troupe_status edit_attach(
	struct edit *edit, uint32_t owner, uint32_t system, uint32_t link, uint32_t other, struct troupe_error *error)
{
	struct scene *scene = edit->shared->scene;
	const struct state *state = edit->shared->state;
	uint32_t a = scene->links[link].body, b = scene->links[other].body;
	if (scene->attachments.count == SCENE_TIES_MAX)
		return fail(error, TROUPE_ELIMIT, "%d links are attached to others already: expected no more",
			SCENE_TIES_MAX);
	if (a == b)
		return fail(error, TROUPE_ECOMMAND, "links '%.100s' and '%.100s' are one rigid body, or do not move",
			scene->links[link].scoped, scene->links[other].scoped);
	struct scene_attachment attachment = {owner, system, {a, b}, POSE_IDENTITY};
	if (b == SCENE_NONE) {
		attachment.bodies[0] = b;
		attachment.bodies[1] = a;
	}
	attachment.pose = body_pose(state_body(state, attachment.bodies[1], false));
	if (attachment.bodies[0] != SCENE_NONE)
		attachment.pose = pose_mul(
			pose_inverse(body_pose(state_body(state, attachment.bodies[0], false))), attachment.pose);
	attachment.pose.q = quat_unit(attachment.pose.q);
	vec_push(&scene->attachments, attachment);
	edit_attach_tell_plan(edit, &attachment);
	edit_attach_changed(edit);
	return TROUPE_OK;
}

/* Ends the attachments for which this is true. */
static bool edit_attach_drop(struct edit *edit,
	bool (*is_wanted)(const struct scene *, const struct scene_attachment *, uint32_t, uint32_t), uint32_t model,
	uint32_t system)
{
	struct scene *scene = edit->shared->scene;
	uint32_t kept = 0, count = scene->attachments.count;
	for (uint32_t i = 0; i < count; i++) {
		const struct scene_attachment attachment = scene->attachments.at[i];
		if (!is_wanted(scene, &attachment, model, system)) {
			scene->attachments.at[kept++] = attachment;
			continue;
		}
		edit_attach_tell_plan(edit, &attachment);
	}
	scene->attachments.count = kept;
	if (kept != count)
		edit_attach_changed(edit);
	return kept != count;
}

static bool edit_attach_is_of_system(
	const struct scene *scene, const struct scene_attachment *attachment, uint32_t model, uint32_t system)
{
	(void)scene;
	return attachment->owner == model && attachment->system == system;
}

static bool edit_attach_is_of_model(
	const struct scene *scene, const struct scene_attachment *attachment, uint32_t model, uint32_t system)
{
	(void)system;
	return attachment->owner == model || edit_attach_model_of(scene, attachment, 0) == model ||
	       edit_attach_model_of(scene, attachment, 1) == model;
}

static bool edit_attach_is_any(
	const struct scene *scene, const struct scene_attachment *attachment, uint32_t model, uint32_t system)
{
	(void)scene, (void)attachment, (void)model, (void)system;
	return true;
}

bool edit_detach(struct edit *edit, uint32_t owner, uint32_t system)
{
	return edit_attach_drop(edit, edit_attach_is_of_system, owner, system);
}

void edit_detach_model(struct edit *edit, uint32_t model)
{
	(void)edit_attach_drop(edit, edit_attach_is_of_model, model, 0);
}

void edit_detach_all(struct edit *edit)
{
	(void)edit_attach_drop(edit, edit_attach_is_any, 0, 0);
}

const char *edit_attached_to(const struct scene *scene, uint32_t model)
{
	for (uint32_t i = 0; i < scene->attachments.count; i++) {
		uint32_t a = edit_attach_model_of(scene, &scene->attachments.at[i], 0),
			 b = edit_attach_model_of(scene, &scene->attachments.at[i], 1);
		uint32_t other = a == model ? b : b == model ? a : model;
		if (other != model)
			return other == SCENE_NONE ? "the world" : scene->models[other].name;
	}
	return NULL;
}

/* --- kept --------------------------------------------------------------------------------------------------------- */

static uint64_t edit_attach_hash_end(const struct scene *scene, uint64_t hash, uint32_t body)
{
	if (body == SCENE_NONE)
		return hash_mix(hash, 0);
	const struct scene_model *m = &scene->models[scene->bodies[body].model];
	return hash_mix(hash_mix(hash, m->id), body - m->body_first);
}

uint64_t edit_hash_attachments(const struct scene *scene)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < scene->attachments.count; i++) {
		const struct scene_attachment *attachment = &scene->attachments.at[i];
		const double numbers[] = {attachment->pose.p.x, attachment->pose.p.y, attachment->pose.p.z,
			attachment->pose.q.w, attachment->pose.q.x, attachment->pose.q.y, attachment->pose.q.z};
		uint64_t hash = hash_mix(UINT64_C(0x746965), i); /* "attachment"; their order is the order of joints */
		hash = hash_mix(hash_mix(hash, scene->models[attachment->owner].id), attachment->system);
		hash = edit_attach_hash_end(
			scene, edit_attach_hash_end(scene, hash, attachment->bodies[0]), attachment->bodies[1]);
		for (size_t k = 0; k < ARRAY_LEN(numbers); k++) {
			uint64_t bits;
			memcpy(&bits, &numbers[k], sizeof bits);
			hash = hash_mix(hash, bits);
		}
		sum += hash;
	}
	return sum;
}

void edit_pack_attachments(const struct scene *scene, struct text *out)
{
	pack_u64(out, scene->attachments.count);
	for (uint32_t i = 0; i < scene->attachments.count; i++) {
		const struct scene_attachment *attachment = &scene->attachments.at[i];
		pack_u64(out, attachment->owner);
		pack_u64(out, attachment->system);
		pack_u64(out, attachment->bodies[0] == SCENE_NONE ? 0 : (uint64_t)attachment->bodies[0] + 1);
		pack_u64(out, attachment->bodies[1]);
		edit_pack_pose(out, &attachment->pose);
	}
}

struct edit_attachments *edit_unpack_attachments(struct unpack *in)
{
	struct edit_attachments *attachments = mem_alloc(sizeof *attachments);
	uint32_t count = unpack_count(in, SCENE_TIES_MAX);
	for (uint32_t i = 0; i < count && !in->bad; i++) {
		struct scene_attachment attachment = {.owner = unpack_count(in, UINT32_MAX)};
		attachment.system = unpack_count(in, UINT32_MAX);
		uint32_t first = unpack_count(in, UINT32_MAX);
		attachment.bodies[0] = first ? first - 1 : SCENE_NONE;
		attachment.bodies[1] = unpack_count(in, UINT32_MAX);
		attachment.pose = edit_unpack_pose(in);
		vec_push(&attachments->list, attachment);
	}
	return attachments;
}

void edit_attachments_destroy(struct edit_attachments *attachments)
{
	if (attachments)
		vec_free(&attachments->list);
	free(attachments);
}

static bool edit_attach_has_body(const struct scene *scene, uint32_t body)
{
	if (body >= scene->body_count || scene->bodies[body].model >= scene->model_count)
		return false;
	const struct scene_model *m = &scene->models[scene->bodies[body].model];
	return m->id && !m->absent && body >= m->body_first && body - m->body_first < m->body_count;
}

static bool edit_attach_is_sane(const struct edit *edit, const struct scene_attachment *attachment)
{
	const struct scene *scene = edit->shared->scene;
	return attachment->owner < scene->model_count && scene->models[attachment->owner].id &&
	       !scene->models[attachment->owner].absent &&
	       attachment->system < systems_count(edit->shared->systems, attachment->owner) &&
	       edit_attach_has_body(scene, attachment->bodies[1]) &&
	       (attachment->bodies[0] == SCENE_NONE || edit_attach_has_body(scene, attachment->bodies[0])) &&
	       attachment->bodies[0] != attachment->bodies[1] &&
	       vec3_within(attachment->pose.p, 4 * SCENE_POSITION_MAX);
}

bool edit_put_attachments(struct edit *edit, const struct edit_attachments *attachments)
{
	struct scene *scene = edit->shared->scene;
	bool sane = true;
	for (uint32_t i = 0; i < attachments->list.count; i++)
		sane = sane && edit_attach_is_sane(edit, &attachments->list.at[i]);
	if (!sane)
		return false;
	scene->attachments.count = 0;
	for (uint32_t i = 0; i < attachments->list.count; i++)
		vec_push(&scene->attachments, attachments->list.at[i]);
	scene->attachments_epoch++;
	return true;
}
