/* The plan of a step: the sequence of its three parts, for a step and for changes of the world between steps.
 *
 *   loading    which levels are loaded and which models exist     run/loading.h
 *   pairs      which models may touch, and which wake             run/pairs.h
 *   placement   which secondary gets what                          run/placement.h
 *
 * Effects: its own fields; shared.boxes, shared.touch and shared.tracker; the costs of models that come; in state k the
 * word of still steps of models that it wakes. It reads scene and state k, which the caller has changed already.
 *
 * Thread: the primary's, between steps. Allocates only when something changes. */
#ifndef RUN_PLAN_H
#define RUN_PLAN_H

#include "run/placement.h"
#include "run/loading.h"
#include "run/pairs.h"

struct plan {
	struct shared *shared;
	struct loading loading;
	struct pairs pairs;
	struct placement placement;

	/* answers of the last plan_step(), besides those of the parts */
	bool statics_changed;
	bool some_came_or_went; /* models, with levels or near others */
	VEC(uint32_t) gone; /* models that became absent or were put elsewhere; not after a reset of the world */

	bool begun; /* a step has been decided */
};

void plan_init(struct plan *plan, struct shared *shared, uint32_t secondaries, const struct assign_policy *policy);
void plan_fini(struct plan *plan);

/* The model left its box or was put elsewhere: looks at it again. */
void plan_leaver(struct plan *plan, uint32_t model);
/* After a window of several steps, in a world without models that come and go with levels: takes notice of the
 * performer's origin in the last state but one, as the plan of the last step would have done; then, when all are
 * looked at, plan_looked_back(). */
void plan_look_back(struct plan *plan, uint32_t model, struct vec3 origin);
void plan_looked_back(struct plan *plan);
/* A step was given up: the boxes of all models are measured again from state k. */
void plan_measure(struct plan *plan);
/* State k was written from outside: looks at everything again. */
void plan_reset(struct plan *plan);
/* --- changes of the world; before plan_step() -------------------------------------------------------------------- */

/* Call it first in a step. */
void plan_begin(struct plan *plan);
/* A model was added to scene, state and systems, or an absent model is back. */
void plan_add(struct plan *plan, uint32_t model);
/* A model has become absent. Its place must be kept until the step is over. */
void plan_remove(struct plan *plan, uint32_t model);
/* The model was put elsewhere. State k holds its new pose, and for a static model the scene does. */
void plan_placed(struct plan *plan, uint32_t model);
/* Collisions of the model were switched on or off. */
void plan_reshaped(struct plan *plan, uint32_t model);
/* The model was attached to another one, or is not any more. Wakes it. */
void plan_attached(struct plan *plan, uint32_t model);
/* State k of the model was written: it moves differently from now on. Wakes it. */
void plan_pushed(struct plan *plan, uint32_t model);
/* The scene has changed: whether the model is a performer, its volume, or its pin. */
void plan_performer(struct plan *plan, uint32_t model);
/* Wakes all models. */
void plan_wake_all(struct plan *plan);

/* A step in which no secondary simulates anything, instead of plan_step(). Then the whole scene may be replaced:
 *
 *   plan_clear()                  ends the existence of all models of the old scene
 *   edit_renew(), edit_unpack()
 *   plan_unpack()                 makes those of the new scene exist */
void plan_empty(struct plan *plan);
void plan_clear(struct plan *plan);

/* The work is shared out anew among secondaries 1 .. count, which know nothing of the world: all levels and models are
 * given to them as at the start. Which levels are loaded and which models exist stays as it is. Not between
 * plan_begin() and plan_step(). */
void plan_regroup(struct plan *plan, uint32_t secondaries);

/* Packs what is not a function of the state words: which levels are loaded, and which models outlived their level. */
void plan_pack(const struct plan *plan, struct text *out);
/* Unpacks, after edit_unpack(); the rest is derived again from state k. False: damaged. */
bool plan_unpack(struct plan *plan, struct unpack *in);
/* The pins of the scene have changed. */
void plan_learn_pins(struct plan *plan);
/* Pack and unpack the pins that differ from the model's home pin: a command set them while the world ran. Unpack
 * after plan_unpack(). */
void plan_pack_pins(const struct plan *plan, struct text *out);
bool plan_unpack_pins(struct plan *plan, struct unpack *in);

/* Whether a secondary will simulate the model in step k, unless a further command changes that. Before plan_step(). */
bool plan_simulates(struct plan *plan, uint32_t model);
/* Decides for step k which levels are loaded and which models exist, and finds the pairs of these. True: pairs have
 * changed. What exists then decides how long a window may be: a stray must be looked at in each step. */
bool plan_levels(struct plan *plan);
/* Decides step k, or a window that begins with it and goes on for ahead_s after it. changed: plan_levels(), which was
 * called before. */
void plan_step(struct plan *plan, bool changed, uint64_t k, double ahead_s);

/* Part of the state hash: which levels are loaded, and which models outlived their level. */
uint64_t plan_hash(const struct plan *plan);

#endif
