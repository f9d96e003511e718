/* Acks have the notes of the models that were stepped, in order for each secondary. The kept notes of resting models
 * are in order, too, so one merge makes the new list. A pair of geoms is in one ack only, because models that may
 * touch are on one secondary (law 4). So the order does not depend on which ack it was. */
#include "run/observed.h"

#include "geom/pack.h"

#include <stdlib.h>
#include <string.h>

void observed_fini(struct observed *observed)
{
	vec_free(&observed->contacts);
	vec_free(&observed->spare);
	vec_free(&observed->scratch);
	free(observed->efforts);
	free(observed->reactions);
	free(observed->marked);
}

void observed_fit(struct observed *observed, const struct scene *scene)
{
	const struct scene_room *before = &observed->room, *now = &scene->room;
	if (before->models == now->models && before->joints == now->joints)
		return;
	MEM_FIT(observed->efforts, before->joints, now->joints);
	MEM_FIT(observed->reactions, before->joints, now->joints);
	MEM_FIT(observed->marked, before->models, now->models);
	observed->room = *now;
}

void observed_keep(struct observed *observed, uint32_t what)
{
	if (!(what & OBSERVE_CONTACTS))
		observed->contacts.count = 0;
	if (!(what & OBSERVE_EFFORTS) && observed->room.joints)
		memset(observed->efforts, 0, observed->room.joints * sizeof *observed->efforts);
	if (what & OBSERVE_FORCES)
		return;
	for (uint32_t i = 0; i < observed->contacts.count; i++)
		observed->contacts.at[i].force = (struct vec3){0, 0, 0};
	if (observed->room.joints)
		memset(observed->reactions, 0, observed->room.joints * sizeof *observed->reactions);
}

void observed_clear(struct observed *observed)
{
	observed_keep(observed, 0);
}

static bool observed_is_marked(const struct observed *observed, const struct scene *scene, uint32_t geom)
{
	return observed->marked[scene->geoms[geom].model] == observed->calls;
}

/* Whether the body's model is marked. SCENE_NONE is the world, which is never marked. */
static bool observed_is_marked_end(const struct observed *observed, const struct scene *scene, uint32_t body)
{
	return body != SCENE_NONE && observed->marked[scene->bodies[body].model] == observed->calls;
}

static void observed_forget_joints(struct observed *observed, uint32_t first, uint32_t count)
{
	if (!count)
		return;
	memset(observed->efforts[first], 0, count * sizeof *observed->efforts);
	memset(&observed->reactions[first], 0, count * sizeof *observed->reactions);
}

/* Drops the contacts of marked models, and the notes of the world's own joints that connect a marked model. */
static void observed_drop_marked(struct observed *observed, const struct scene *scene)
{
	observed->spare.count = 0;
	for (uint32_t i = 0; i < observed->contacts.count; i++) {
		const struct contact_note *note = &observed->contacts.at[i];
		if (!observed_is_marked(observed, scene, note->geoms[0]) &&
			!observed_is_marked(observed, scene, note->geoms[1]))
			vec_push(&observed->spare, *note);
	}
	for (uint32_t i = 0; i < scene->world_joints.count; i++) {
		uint32_t joint = scene->world_joints.at[i];
		if (observed_is_marked_end(observed, scene, scene->joints[joint].parent) ||
			observed_is_marked_end(observed, scene, scene->joints[joint].child))
			observed_forget_joints(observed, joint, 1);
	}
	contact_notes swap = observed->contacts;
	observed->contacts = observed->spare;
	observed->spare = swap;
}

static void observed_mark(struct observed *observed, const struct scene *scene, uint32_t model)
{
	const struct scene_model *m = &scene->models[model];
	observed->marked[model] = observed->calls;
	observed_forget_joints(observed, m->joint_first, m->joint_count);
}

/* --- windows --------------------------------------------------------------------------------------------------------
 */

static uint32_t observed_last_of_model(const struct shared *shared, uint64_t mark, uint32_t model)
{
	const struct touch_sweep *sweep = &shared->sweeps[model];
	return sweep->mark == mark ? sweep->stepped : 0;
}

static uint32_t observed_last_of_body(const struct shared *shared, uint64_t mark, uint32_t body)
{
	return body == SCENE_NONE ? 0 : observed_last_of_model(shared, mark, shared->scene->bodies[body].model);
}

static bool observed_contact_counts(const struct shared *shared, uint64_t mark, const struct contact_note *note)
{
	uint32_t a = observed_last_of_model(shared, mark, shared->scene->geoms[note->geoms[0]].model);
	uint32_t b = observed_last_of_model(shared, mark, shared->scene->geoms[note->geoms[1]].model);
	return !note->step || note->step == MAX(a, b);
}

static bool observed_joint_counts(const struct shared *shared, uint64_t mark, uint32_t index, uint32_t step)
{
	const struct scene_joint *joint = &shared->scene->joints[index];
	uint32_t child = observed_last_of_body(shared, mark, joint->child);
	return !step || step == MAX(child, observed_last_of_body(shared, mark, joint->parent));
}

void observed_keep_last(struct notes *notes, const struct shared *shared, uint64_t mark)
{
	uint32_t contacts = 0, efforts = 0, reactions = 0;
	for (uint32_t i = 0; i < notes->contacts.count; i++)
		if (observed_contact_counts(shared, mark, &notes->contacts.at[i])) {
			notes->contacts.at[contacts] = notes->contacts.at[i];
			notes->contacts.at[contacts++].step = 0;
		}
	for (uint32_t i = 0; i < notes->efforts.count; i++)
		if (observed_joint_counts(shared, mark, notes->efforts.at[i].joint, notes->efforts.at[i].step)) {
			notes->efforts.at[efforts] = notes->efforts.at[i];
			notes->efforts.at[efforts++].step = 0;
		}
	for (uint32_t i = 0; i < notes->reactions.count; i++)
		if (observed_joint_counts(shared, mark, notes->reactions.at[i].joint, notes->reactions.at[i].step)) {
			notes->reactions.at[reactions] = notes->reactions.at[i];
			notes->reactions.at[reactions++].step = 0;
		}
	notes->contacts.count = contacts;
	notes->efforts.count = efforts;
	notes->reactions.count = reactions;
}

/* --- a step that was taken ------------------------------------------------------------------------------------------
 */

static void observed_take(
	struct observed *observed, const struct shared *shared, uint64_t mark, const struct notes *notes)
{
	for (uint32_t i = 0; i < notes->contacts.count; i++)
		if (observed_contact_counts(shared, mark, &notes->contacts.at[i])) {
			vec_push(&observed->contacts, notes->contacts.at[i]);
			observed->contacts.at[observed->contacts.count - 1].step = 0;
		}
	for (uint32_t i = 0; i < notes->efforts.count; i++) {
		const struct effort_note *note = &notes->efforts.at[i];
		if (observed_joint_counts(shared, mark, note->joint, note->step))
			memcpy(observed->efforts[note->joint], note->effort, sizeof note->effort);
	}
	for (uint32_t i = 0; i < notes->reactions.count; i++) {
		const struct reaction_note *note = &notes->reactions.at[i];
		if (observed_joint_counts(shared, mark, note->joint, note->step))
			observed->reactions[note->joint] = note->reaction;
	}
}

void observed_merge(
	struct observed *observed, const struct shared *shared, uint64_t mark, struct ack *const *acks, uint32_t count)
{
	const struct scene *scene = shared->scene;
	observed->calls++;
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t m = 0; acks[i]->notes && m < acks[i]->stepped; m++)
			observed_mark(observed, scene, acks[i]->changed.at[m]);
	observed_drop_marked(observed, scene);
	for (uint32_t i = 0; i < count; i++)
		if (acks[i]->notes)
			observed_take(observed, shared, mark, acks[i]->notes);
	notes_sort_contacts(&observed->contacts, &observed->scratch);
}

void observed_forget(struct observed *observed, const struct scene *scene, const uint32_t *models, uint32_t count)
{
	if (!count)
		return;
	observed->calls++;
	for (uint32_t i = 0; i < count; i++)
		observed_mark(observed, scene, models[i]);
	observed_drop_marked(observed, scene);
}

/* --- saving ------------------------------------------------------------------------------------------------------- */

static bool observed_is_zero(const double effort[2])
{
	return effort[0] == 0 && effort[1] == 0;
}

static bool observed_is_nothing(const struct reaction *reaction)
{
	return vec3_dot(reaction->force, reaction->force) == 0 && vec3_dot(reaction->torque, reaction->torque) == 0;
}

static void observed_pack_reactions(const struct observed *observed, struct text *out)
{
	uint32_t count = 0;
	for (uint32_t j = 0; j < observed->room.joints; j++)
		count += !observed_is_nothing(&observed->reactions[j]);
	pack_u64(out, count);
	for (uint32_t j = 0; j < observed->room.joints; j++) {
		if (observed_is_nothing(&observed->reactions[j]))
			continue;
		pack_u64(out, j);
		pack_vec3(out, observed->reactions[j].force);
		pack_vec3(out, observed->reactions[j].torque);
	}
}

void observed_pack(const struct observed *observed, uint32_t what, struct text *out)
{
	uint32_t joints = 0;
	pack_u64(out, what | (uint64_t)observed->needed * (OBSERVE_ALL + 1));
	pack_u64(out, observed->contacts.count);
	for (uint32_t i = 0; i < observed->contacts.count; i++) {
		const struct contact_note *note = &observed->contacts.at[i];
		pack_u64(out, note->geoms[0]);
		pack_u64(out, note->geoms[1]);
		pack_vec3(out, note->position);
		pack_vec3(out, note->normal);
		pack_double(out, note->depth);
		pack_vec3(out, note->force);
	}
	for (uint32_t j = 0; j < observed->room.joints; j++)
		joints += !observed_is_zero(observed->efforts[j]);
	pack_u64(out, joints);
	for (uint32_t j = 0; j < observed->room.joints; j++) {
		if (observed_is_zero(observed->efforts[j]))
			continue;
		pack_u64(out, j);
		pack_double(out, observed->efforts[j][0]);
		pack_double(out, observed->efforts[j][1]);
	}
	observed_pack_reactions(observed, out);
}

static void observed_unpack_reactions(struct observed *observed, const struct scene *scene, struct unpack *in)
{
	uint64_t count = unpack_u64(in);
	for (uint64_t i = 0; i < count && !in->bad; i++) {
		struct reaction_note note = {.joint = unpack_count(in, UINT32_MAX)};
		note.reaction.force = unpack_vec3(in);
		note.reaction.torque = unpack_vec3(in);
		in->bad = in->bad || !notes_reaction_sane(scene, &note);
		if (!in->bad)
			observed->reactions[note.joint] = note.reaction;
	}
}

bool observed_unpack(struct observed *observed, const struct scene *scene, uint32_t *ret_what, struct unpack *in)
{
	observed_fit(observed, scene);
	observed_clear(observed);
	uint32_t both = unpack_count(in, (OBSERVE_ALL + 1) * (OBSERVE_ALL + 1) - 1);
	*ret_what = both & OBSERVE_ALL;
	observed->needed = both / (OBSERVE_ALL + 1);
	in->bad = in->bad || observed->needed & ~*ret_what;
	uint64_t contacts = unpack_u64(in);
	for (uint64_t i = 0; i < contacts && !in->bad; i++) {
		struct contact_note note = {0};
		note.geoms[0] = unpack_count(in, UINT32_MAX);
		note.geoms[1] = unpack_count(in, UINT32_MAX);
		note.position = unpack_vec3(in);
		note.normal = unpack_vec3(in);
		note.depth = unpack_double(in);
		note.force = unpack_vec3(in);
		bool in_order = !i || notes_contact_key(&observed->contacts.at[i - 1]) <= notes_contact_key(&note);
		in->bad = in->bad || !in_order || !notes_contact_sane(scene, &note);
		vec_push(&observed->contacts, note);
	}
	uint64_t joints = unpack_u64(in);
	for (uint64_t i = 0; i < joints && !in->bad; i++) {
		struct effort_note note = {.joint = unpack_count(in, UINT32_MAX)};
		note.effort[0] = unpack_double(in);
		note.effort[1] = unpack_double(in);
		in->bad = in->bad || !notes_effort_sane(scene, &note);
		if (!in->bad)
			memcpy(observed->efforts[note.joint], note.effort, sizeof note.effort);
	}
	observed_unpack_reactions(observed, scene, in);
	observed_keep(observed, *ret_what);
	return !in->bad;
}
