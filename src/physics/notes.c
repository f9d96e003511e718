/* A list of notes consists of sorted pieces: notes of a group, of a runner, notes that were kept. So the sort finds
 * the pieces and merges neighbours until one is left. It is stable and, when warm, allocates nothing; qsort()
 * guarantees neither. */
#include "physics/notes.h"

#include <string.h>

struct items {
	char *at, *scratch;
	size_t bytes; /* of one */
	uint32_t count;
	uint64_t (*key)(const void *item);
};

static uint64_t notes_key_of(const struct items *items, uint32_t i)
{
	return items->key(items->at + i * items->bytes);
}

/* The end of the piece that begins at `first`. */
static uint32_t notes_end_of_piece(const struct items *items, uint32_t first)
{
	uint32_t i = first;
	while (i < items->count && (i == first || notes_key_of(items, i - 1) <= notes_key_of(items, i)))
		i++;
	return i;
}

static void notes_merge(const struct items *items, uint32_t first, uint32_t middle, uint32_t end)
{
	for (uint32_t k = first, i = first, j = middle; k < end; k++) {
		bool left = j >= end || (i < middle && notes_key_of(items, i) <= notes_key_of(items, j));
		memcpy(items->scratch + k * items->bytes, items->at + (left ? i++ : j++) * items->bytes, items->bytes);
	}
}

/* The result is in items->at, which may be the former scratch. */
static void notes_sort(struct items *items)
{
	while (items->count && notes_end_of_piece(items, 0) < items->count) {
		for (uint32_t first = 0; first < items->count;) {
			uint32_t middle = notes_end_of_piece(items, first), end = notes_end_of_piece(items, middle);
			notes_merge(items, first, middle, end);
			first = end;
		}
		char *swap = items->at;
		items->at = items->scratch;
		items->scratch = swap;
	}
}

static uint64_t notes_key_of_contact(const void *item)
{
	return notes_contact_key(item);
}

static uint64_t notes_effort_key(const void *item)
{
	return ((const struct effort_note *)item)->joint;
}

static uint64_t notes_reaction_key(const void *item)
{
	return ((const struct reaction_note *)item)->joint;
}

/* Swaps the two lists when the result ended up in the scratch. */
#define SORT(list, scratch_list, key_fn)                                                                               \
	do {                                                                                                           \
		(scratch_list)->count = 0;                                                                             \
		(void)vec_append(scratch_list, (list)->count);                                                         \
		struct items items_ = {                                                                                \
			(char *)(list)->at, (char *)(scratch_list)->at, sizeof *(list)->at, (list)->count, key_fn};    \
		notes_sort(&items_);                                                                                   \
		if (items_.at != (char *)(list)->at) {                                                                 \
			__typeof__(*(list)) swap_ = *(list);                                                           \
			*(list) = *(scratch_list);                                                                     \
			*(scratch_list) = swap_;                                                                       \
		}                                                                                                      \
	} while (0)

void notes_sort_contacts(contact_notes *list, contact_notes *scratch)
{
	SORT(list, scratch, notes_key_of_contact);
}

void notes_sort_efforts(effort_notes *list, effort_notes *scratch)
{
	SORT(list, scratch, notes_effort_key);
}

void notes_sort_reactions(reaction_notes *list, reaction_notes *scratch)
{
	SORT(list, scratch, notes_reaction_key);
}

static bool notes_is_there(const struct scene *scene, uint32_t geom)
{
	if (geom >= scene->geom_count)
		return false;
	const struct scene_model *m = &scene->models[scene->geoms[geom].model];
	return m->id && !m->absent && geom >= m->geom_first && geom - m->geom_first < m->geom_count;
}

bool notes_contact_sane(const struct scene *scene, const struct contact_note *note)
{
	uint32_t a = note->geoms[0], b = note->geoms[1];
	if (a >= b || !notes_is_there(scene, a) || !notes_is_there(scene, b) ||
		(scene->geoms[a].body == SCENE_NONE && scene->geoms[b].body == SCENE_NONE))
		return false;
	double length2 = vec3_dot(note->normal, note->normal);
	return vec3_finite(note->force) && vec3_within(note->position, NOTES_LENGTH_MAX) &&
	       fabs(note->depth) <= NOTES_LENGTH_MAX && length2 > 0.5 && length2 < 2;
}

static bool notes_is_joint(const struct scene *scene, uint32_t index)
{
	if (index >= scene->joint_count)
		return false;
	const struct scene_model *m = &scene->models[scene->joints[index].model];
	bool own = index >= m->joint_first && index - m->joint_first < m->joint_count;
	return m->id && !m->absent && (own || indices_has(&scene->world_joints, index));
}

bool notes_effort_sane(const struct scene *scene, const struct effort_note *note)
{
	return notes_is_joint(scene, note->joint) && notes_axes(&scene->joints[note->joint]) &&
	       isfinite(note->effort[0]) && isfinite(note->effort[1]);
}

bool notes_reaction_sane(const struct scene *scene, const struct reaction_note *note)
{
	return notes_is_joint(scene, note->joint) && scene->joints[note->joint].measured &&
	       vec3_finite(note->reaction.force) && vec3_finite(note->reaction.torque);
}

void notes_fini(struct notes *notes)
{
	vec_free(&notes->contacts);
	vec_free(&notes->efforts);
	vec_free(&notes->reactions);
}
