/* Which performers are in which levels, and which are near. Pure: positions in, sets out.
 *
 * In a level: the performer's volume (its declared box about the model's origin, axis-aligned) overlaps the level's
 * box. Near a level: the volume overlaps the level's box grown by its buffer. Boxes are closed: touching counts. The
 * sets depend on the positions alone. What is remembered only saves work: after each look, a box in which the
 * performer's origin may move before any set can change.
 *
 * Not thread-safe, but the runner that simulates a performer may call tracker_must_look() while no other thread uses
 * the performer. */
#ifndef LEVEL_TRACKER_H
#define LEVEL_TRACKER_H

#include "scene/scene.h"

struct tracked {
	uint32_t model;
	struct aabb stay; /* no set changes while the origin is within it; empty: not looked at yet */
	/* Of the levels that matter, none comes into the set `near` or leaves it while the origin is within this box;
	 * empty: as above. */
	struct aabb calm;
	bvh_values in, near; /* levels, ascending; `near` includes `in` */
	bool entered;        /* the last look found it in a level that it was not in before */
};

struct tracker {
	const struct scene *scene;
	struct bvh levels; /* by their outer boxes */
	/* All levels matter to struct tracked.calm; otherwise those that name a model that can move, which comes and
	 * goes with the level. The caller's. */
	bool minds_all;
	VEC(struct tracked) performers; /* by model, ascending */
	uint32_t *performer_of;         /* [room] index in performers, SCENE_NONE */
	uint32_t room;
	uint32_t *in_count, *near_count; /* [level_count] performers in and near */
	bvh_values *around;              /* [level_count] models near the level that are not in it, ascending */
	bvh_values found, in, near;      /* scratch */
	uint32_t *unsure_count;          /* [level_count] see tracker_proof_add(); 0 between two proofs */
	bvh_values unsure;               /* levels that need a performer that is surely near */
};

void tracker_init(struct tracker *tracker, const struct scene *scene);
void tracker_fini(struct tracker *tracker);
/* To be called when the scene has room for more models. */
void tracker_fit(struct tracker *tracker);
/* A model became a performer (and has not been looked at), or stopped being one. */
void tracker_add(struct tracker *tracker, uint32_t model);
void tracker_remove(struct tracker *tracker, uint32_t model);

static inline bool tracker_must_look(const struct tracked *performer, struct vec3 origin)
{
	const struct aabb *stay = &performer->stay;
	return !(origin.x >= stay->lo.x && origin.x <= stay->hi.x && origin.y >= stay->lo.y && origin.y <= stay->hi.y &&
		 origin.z >= stay->lo.z && origin.z <= stay->hi.z);
}

/* Looks at one performer; true when one of its sets changed. */
bool tracker_look(struct tracker *tracker, uint32_t performer, struct vec3 origin);

/* Whether none of the levels that matter came into the set `near`, or left it, since the last look, while the origin
 * was within this box. Exact also for a performer that stands just at a border. */
bool tracker_holds(struct tracker *tracker, uint32_t performer, const struct aabb *origins);

/* A proof that each level that matters, while performers moved, had some performer near it if it has one by the last
 * looks, and none if it has none: so that it was neither to be loaded nor to be unloaded in between. First
 * tracker_proof_add() for each performer that moved, with a box in which its origin was: false if it is refuted
 * already. Then tracker_proof_end(), in each case, for the result. */
bool tracker_proof_add(struct tracker *tracker, uint32_t performer, const struct aabb *origins);
bool tracker_proof_end(struct tracker *tracker);

/* A guess: after how many seconds, up to most_s, a performer that goes on from here at this velocity comes near a
 * level that matters and has no performer near it by the last looks, or leaves one that has no other. INFINITY: not
 * sooner. */
double tracker_next_change_s(
	struct tracker *tracker, uint32_t performer, struct vec3 origin, struct vec3 velocity, double most_s);

/* Forgets everything, as if no performer had been looked at. */
void tracker_reset(struct tracker *tracker);

#endif
