/* Which dynamic models may touch: law 4. Exact boxes decide; fat ones, which change seldom, only say which pairs to
 * look at.
 *
 * Thread: the primary's, between steps; touch_strayed() by the runner that simulates the model, during them. */
#ifndef LEVEL_TOUCH_H
#define LEVEL_TOUCH_H

#include "scene/scene.h"

#define TOUCH_PAD 0.01   /* m: boxes closer than this, on every axis, may touch */
#define TOUCH_STRAY 0.25 /* m: how far a box may move before its neighbours are looked up again */

struct touch_pair {
	uint32_t a, b; /* models, a < b */
};

struct touch_model {
	bool here;
	bool dirty; /* its box, or that of a neighbour, moved since the last touch_find() */
	uint32_t leaf;
	struct aabb stay;      /* while the box is in this one, its neighbours are known */
	struct aabb fat;       /* stay, padded: what the tree holds */
	bvh_values neighbours; /* models whose fat boxes overlap this one's; ascending */
};

struct touch {
	const struct scene *scene;
	struct bvh tree;
	struct touch_model *models; /* [room] */
	uint32_t room;
	bvh_values crowded;            /* models with neighbours, ascending */
	bool *is_crowded;              /* [room] it is one of them */
	bvh_values found;              /* scratch */
	VEC(struct touch_pair) joined; /* models that joints of the world connect; always pairs */
	VEC(struct touch_pair) pairs;  /* the answer of the last touch_find() */
	VEC(struct touch_pair) before; /* and of the one before */
	bool dirty;                    /* some model is */
};

/* touch_fit(): the scene has room for more models. */
void touch_init(struct touch *touch, const struct scene *scene);
void touch_fit(struct touch *touch);
void touch_fini(struct touch *touch);

/* A model without geoms touches nothing, but the joints of the world may tie it. */
void touch_add(struct touch *touch, uint32_t model, const struct aabb *box);
/* touch_add() for each of these, ascending, when nothing is here yet. */
void touch_add_all(struct touch *touch, const uint32_t *models, uint32_t count, const struct aabb_line *boxes);
void touch_remove(struct touch *touch, uint32_t model);
/* Its box has left touch_model.stay. */
void touch_move(struct touch *touch, uint32_t model, const struct aabb *box);

/* Private: what touch_moved() does for the few that have neighbours. */
void touch_crowd_moved(struct touch *touch, uint32_t model);

/* Its box may have changed since the last touch_find(): pairs of others are not looked at again. */
static inline void touch_moved(struct touch *touch, uint32_t model)
{
	if (touch->is_crowded[model])
		touch_crowd_moved(touch, model);
}

static inline bool touch_strayed(const struct touch *touch, uint32_t model, const struct aabb *box)
{
	return !aabb_within(box, &touch->models[model].stay);
}

/* All pairs of models here whose padded boxes overlap, or that a joint connects, ordered by (a, b), into touch->pairs.
 * False when they are those of the last call. */
bool touch_find(struct touch *touch, const struct aabb_line *boxes);

#endif
