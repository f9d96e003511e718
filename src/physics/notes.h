/* Observations of a step beyond the states before and after it: contacts, and what joints exert. No simulated
 * quantity depends on them. */
#ifndef PHYSICS_NOTES_H
#define PHYSICS_NOTES_H

#include "scene/scene.h"

enum { /* bits: what is to be noted */
	OBSERVE_CONTACTS = 1,
	OBSERVE_EFFORTS = 2,
	OBSERVE_FORCES = 4, /* the forces of contacts (with OBSERVE_CONTACTS), and the reactions of joints */
	OBSERVE_ALL = 7,
};

enum { NOTES_PAIR_MAX = 64 };                  /* contacts between two geoms */
#define NOTES_LENGTH_MAX (10 * SDF_LENGTH_MAX) /* m: limit of positions and depths */

/* One point at which two geoms touched at the beginning of a step; at least one of the two could move. */
struct contact_note {
	uint32_t geoms[2];    /* ascending */
	struct vec3 position; /* m, world */
	struct vec3 normal;   /* unit, from the second into the first */
	double depth;         /* m */
	/* In a window: its step, from 1, in which the note was taken, of which those that are not of the last step of
	 * one of the models do not count. 0: it counts. */
	uint32_t step;
	/* N, world: what the second exerted on the first in the step, at `position`, with no torque about it. 0 without
	 * OBSERVE_FORCES. */
	struct vec3 force;
};

/* The force or torque of a joint on its child in a step, along or about each of its axes, in N or N m: the sum of
 * motor, friction, spring, damper, stop, mimic and commanded force. The axes are those of state k. For a gearbox: on
 * the parent about the first axis, on the child about the second. */
struct effort_note {
	uint32_t joint;
	uint32_t step; /* as in struct contact_note */
	double effort[2];
};

/* All that a joint exerted on its child in a step, from the parent: what holds the two together, and the efforts. In
 * the world's axes; the torque is about the joint's anchor in state k. Only of joints that a force-torque sensor
 * measures (scene_joint.measured). */
struct reaction {
	struct vec3 force, torque; /* N, N m */
};

struct reaction_note {
	uint32_t joint;
	uint32_t step; /* as in struct contact_note */
	struct reaction reaction;
};

typedef VEC(struct contact_note) contact_notes;
typedef VEC(struct effort_note) effort_notes;
typedef VEC(struct reaction_note) reaction_notes;

struct notes {
	contact_notes contacts;   /* ordered by geoms; several of one pair in the order found */
	effort_notes efforts;     /* ordered by joint */
	reaction_notes reactions; /* ordered by joint */
};

/* Number of axes of a joint that have efforts; 0: none. */
static inline uint32_t notes_axes(const struct scene_joint *joint)
{
	return joint->kind == SDF_GEARBOX ? 2 : joint->axis_count;
}

static inline uint64_t notes_contact_key(const struct contact_note *note)
{
	return (uint64_t)note->geoms[0] << 32 | note->geoms[1];
}

/* Whether a note from outside is valid. Contact: both geoms exist, the first has the lower index, at least one can
 * move, and all numbers are within bounds. Effort: the joint exists and has axes. Reaction: it exists and is measured.
 */
bool notes_contact_sane(const struct scene *scene, const struct contact_note *note);
bool notes_effort_sane(const struct scene *scene, const struct effort_note *note);
bool notes_reaction_sane(const struct scene *scene, const struct reaction_note *note);

/* Sorts a list; notes of the same geoms keep their order. Fast when the list consists of a few sorted pieces. scratch
 * belongs to the caller and is reused; a warm call does not allocate. */
void notes_sort_contacts(contact_notes *list, contact_notes *scratch);
void notes_sort_efforts(effort_notes *list, effort_notes *scratch);
void notes_sort_reactions(reaction_notes *list, reaction_notes *scratch);

void notes_fini(struct notes *notes);

#endif
