/* What can be observed of a step beyond the states before and after it: contacts, and what joints exert. Nothing that
 * is simulated depends on it. */
#ifndef PHYSICS_NOTES_H
#define PHYSICS_NOTES_H

#include "scene/scene.h"

enum { /* bits: what is to be noted */
	OBSERVE_CONTACTS = 1,
	OBSERVE_EFFORTS = 2,
	OBSERVE_ALL = 3,
};

enum { NOTES_PAIR_MAX = 64 };                  /* contacts between two geoms */
#define NOTES_LENGTH_MAX (10 * SDF_LENGTH_MAX) /* m: no position or depth is beyond */

/* One point at which two geoms touched at the beginning of a step, in which one of them or both could move. */
struct contact_note {
	uint32_t geoms[2];    /* ascending */
	struct vec3 position; /* m, world */
	struct vec3 normal;   /* unit, from the second into the first */
	double depth;         /* m */
};

/* What a joint exerted in a step, on its child, along or about each of its axes, in N or N m: motor, friction, spring,
 * damper, stop, mimic and commanded force together. The axes are those of state k. Of a gearbox: on the parent about
 * the first axis, on the child about the second. */
struct effort_note {
	uint32_t joint;
	double effort[2];
};

typedef VEC(struct contact_note) contact_notes;
typedef VEC(struct effort_note) effort_notes;

struct notes {
	contact_notes contacts; /* in order: by geoms, several of one pair as they were found */
	effort_notes efforts;   /* in order: by joint */
};

/* Axes of a joint that has efforts; 0: it has none. */
static inline uint32_t notes_axes(const struct scene_joint *joint)
{
	return joint->kind == SDF_GEARBOX ? 2 : joint->axis_count;
}

static inline uint64_t notes_contact_key(const struct contact_note *note)
{
	return (uint64_t)note->geoms[0] << 32 | note->geoms[1];
}

/* Whether a note that came from outside may be one: its geoms are there, are of different order, one of them can move,
 * and its numbers are within bounds. Or: there is such a joint, and it has axes. */
bool notes_contact_sane(const struct scene *scene, const struct contact_note *note);
bool notes_effort_sane(const struct scene *scene, const struct effort_note *note);

/* Put a list in order; notes of the same geoms stay as they are. Cheap when the list consists of few pieces that are in
 * order. scratch is the caller's, and kept; a warm call does not allocate. */
void notes_sort_contacts(contact_notes *list, contact_notes *scratch);
void notes_sort_efforts(effort_notes *list, effort_notes *scratch);

void notes_fini(struct notes *notes);

#endif
