/* Which dynamic models may touch: law 4. Exact boxes decide. Larger boxes, which seldom change, only say which pairs
 * must be compared.
 *
 * Thread: the primary's, between steps; touch_leaves() by the runner that simulates the model, during a step. */
#ifndef LEVEL_TOUCH_H
#define LEVEL_TOUCH_H

#include "scene/scene.h"

#include <stddef.h>

#define TOUCH_PAD 0.01    /* m: boxes closer than this, on every axis, may touch */
#define TOUCH_MARGIN 0.25 /* m: how far a box may move before its neighbours are looked up again */
#define TOUCH_AHEAD 1.0   /* m: at most as much farther, on each axis, if it goes on as before */

struct touch_pair {
	uint32_t a, b; /* models, a < b */
};

struct touch_model {
	bool here;     /* it is simulated: it makes pairs */
	bool unloaded; /* it exists in an unloaded level: models that are here reach it */
	bool solid;    /* it had geoms that are not off when it was added or moved: it is in the tree */
	bool dirty;    /* its box, or that of a neighbour, moved since the last touch_find() */
	uint32_t leaf;
	struct vec3 looked;    /* the centre of its box when its neighbours were looked up last */
	struct aabb stay;      /* while the box is within this one, its neighbours are known */
	struct aabb fat;       /* stay, padded: what the tree holds */
	struct aabb near;      /* see touch_find_near() */
	bvh_values neighbours; /* models whose fat boxes overlap this one's; ascending */
};

typedef VEC(struct touch_pair) touch_pairs;
typedef VEC(uint32_t) touch_models;

/* Where a model was in the states of a window after the first one: what is proven afterwards is proven of these
 * boxes. */
struct touch_sweep {
	/* a cache line */
	_Alignas(64) struct aabb box; /* of all its geoms */
	uint64_t mark;                /* of the last window in which the model moved; the rest is about that window */
	uint16_t last;                /* its step in which the model moved last, from 1 */
	uint16_t stepped;             /* the last step that the physics has stepped it in; 0: none */
	uint32_t left;                /* bits of enum left (run/step.h); in one process */

	struct vec3 before; /* where its frame's origin was in the last state but one: see enum step_origins */
	uint64_t hash;      /* of its last state, if that is asked for */
	struct aabb origin; /* of its frame's origin, if that is asked for */
};
_Static_assert(offsetof(struct touch_sweep, before) == 64, "the first part is one cache line");

struct touch {
	const struct scene *scene;
	struct bvh tree;
	struct touch_model *models; /* [room] */
	uint32_t room;
	bvh_values crowded; /* models with neighbours, ascending */
	bool *is_crowded;   /* [room] the model is in `crowded` */
	bvh_values found;   /* scratch */
	touch_pairs joined; /* models that joints of the world or attachments connect; always pairs */
	touch_pairs pairs;  /* the answer of the last touch_find() */
	touch_pairs before; /* the pairs of the call before */
	touch_pairs near;   /* the answer of the last touch_find_near() */
	touch_pairs near_before;
	bvh_values reached; /* the answer of the last touch_find(): unloaded models; one may be there twice */
	bool dirty;         /* some model is dirty */
};

/* touch_fit(): to be called when the scene has room for more models. */
void touch_init(struct touch *touch, const struct scene *scene);
void touch_fit(struct touch *touch);
void touch_fini(struct touch *touch);

/* To be called when attachments of the scene have changed. */
void touch_rejoin(struct touch *touch);

/* The model is here from now on, or unloaded. A model without geoms, or with all geoms off, touches nothing, but joints
 * of the world may connect it. The box counts only if the model was neither before. */
void touch_add(struct touch *touch, uint32_t model, const struct aabb *box);
void touch_unload(struct touch *touch, uint32_t model, const struct aabb *box);
/* touch_add() for each of these models, given in ascending order, while no model is here or unloaded. */
void touch_add_all(struct touch *touch, const uint32_t *models, uint32_t count, const struct aabb_line *boxes);
/* The model is neither here nor unloaded any more. */
void touch_remove(struct touch *touch, uint32_t model);
/* For a model whose box has left touch_model.stay, or whose geoms were switched on or off. */
void touch_move(struct touch *touch, uint32_t model, const struct aabb *box);

/* Private: the part of touch_moved() for models that have neighbours. */
void touch_crowd_moved(struct touch *touch, uint32_t model);

/* The model's box may have changed since the last touch_find(). Pairs of models that did not move are not compared
 * again. */
static inline void touch_moved(struct touch *touch, uint32_t model)
{
	if (touch->is_crowded[model])
		touch_crowd_moved(touch, model);
}

static inline bool touch_leaves(const struct touch *touch, uint32_t model, const struct aabb *box)
{
	return !aabb_within(box, &touch->models[model].stay);
}

/* Finds all pairs of models that are here and whose padded boxes overlap or that a joint connects, ordered by (a, b),
 * and writes them to touch->pairs. False when they are the pairs of the last call.
 *
 * touch->reached: the unloaded models that make such a pair with a model that is here. They are found once, so the
 * caller has them here, or that model elsewhere, before the next call. */
bool touch_find(struct touch *touch, const struct aabb_line *boxes);

/* After touch_find(): finds the pairs of models that are here and may touch in a later step of a window, ordered by
 * (a, b), and writes them to touch->near: the present pairs, and those that would overlap if they were padded, of the
 * boxes that reach() expects the models to sweep: from this box, in which the model is. That is a guess, which
 * touch_prove() checks. False when they are the pairs of the last call. */
bool touch_find_near(struct touch *touch, const struct aabb_line *boxes,
	struct aabb (*reach)(const void *ctx, uint32_t model, const struct aabb *box), const void *ctx);
/* Whether what the model swept must be proven: it has neighbours, or went beyond the box within which it has none. */
static inline bool touch_must_prove(const struct touch *touch, uint32_t model, const struct aabb *sweep)
{
	return touch->is_crowded[model] || touch_leaves(touch, model, sweep);
}

/* Whether the guess of the last touch_find_near() held in the window `mark`: no two models whose padded boxes may have
 * overlapped after the first state, one of them here and the other one here or unloaded, are missing in touch->near.
 * False also for some that only came close. moved: at least those of touch_must_prove() of the models that moved.
 * sweeps: by model; boxes: of models that did not move; NULL: they are forgotten, which is wrong.
 *
 * Models that swept beyond touch_model.stay are looked up again, so that they need no touch_move() where the window
 * took them. If it is given up, some of them may need it where they were before (touch_leaves()). */
bool touch_prove(struct touch *touch, const struct touch_sweep *sweeps, const struct aabb_line *boxes, uint64_t mark,
	const uint32_t *moved, uint32_t count);

/* Whether the pair is an answer of the last touch_find(). */
bool touch_is_pair(const struct touch *touch, struct touch_pair pair);
/* Whether the padded boxes of two models overlap. */
bool touch_meet(const struct aabb_line *boxes, uint32_t a, uint32_t b);
/* Finds the models, here or unloaded, whose padded boxes overlap that of the model or that a joint connects to it; a
 * model may be there twice. */
void touch_partners(const struct touch *touch, const struct aabb_line *boxes, uint32_t model, bvh_values *ret_found);

#endif
