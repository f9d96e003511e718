/* Forces on links, given by commands: in the next step, or in each step until they are cleared (*lasting*).
 *
 * Thread: the primary's, between steps. */
#ifndef RUN_WRENCHES_H
#define RUN_WRENCHES_H

#include "base/pack.h"
#include "run/step.h"

enum { WRENCHES_LASTING_MAX = 1 << 16 };

struct lasting_wrench {
	uint32_t link;
	struct vec3 force, torque; /* N, N m, in the world's axes */
	/* Where the force acts: m from the centre of mass of the link's body, in the link's axes. So its torque turns
	 * with the link. */
	struct vec3 offset;
};

struct wrenches { /* zeroed is empty */
	/* For the next step that is not paused, in the order given. If this step is given up, they act when it is taken
	 * again. */
	VEC(struct due_wrench) once;
	VEC(struct lasting_wrench) lasting; /* in the order given */

	/* private */
	VEC(struct due_wrench) all, dealt; /* of the step that is out; dealt: by secondary */
};

void wrenches_fini(struct wrenches *wrenches);

static inline void wrenches_add_once(struct wrenches *wrenches, const struct due_wrench *wrench)
{
	vec_push(&wrenches->once, *wrench);
}

/* TROUPE_ELIMIT: too many lasting wrenches. */
troupe_status wrenches_add_lasting(
	struct wrenches *wrenches, const struct lasting_wrench *wrench, struct troupe_error *error);
/* Whether its link exists in a model that moves and is present, and no step can take its force or its torque, whichever
 * way the link is turned, beyond DUE_WRENCH_MAX. */
bool wrenches_lasting_sane(const struct scene *scene, const struct lasting_wrench *wrench);
/* Removes the lasting wrenches on the link; link SCENE_NONE: on all links of the model. Returns their number. */
uint32_t wrenches_clear(struct wrenches *wrenches, const struct scene *scene, uint32_t model, uint32_t link);
/* Removes all wrenches on the model. */
void wrenches_forget(struct wrenches *wrenches, const struct scene *scene, uint32_t model);
/* Removes all. */
void wrenches_reset(struct wrenches *wrenches);

/* Drops wrenches on models that are absent, and sets the wrenches in the parts of the step: they are valid until the
 * next call. owner[model]: its secondary, from 1; other numbers: none. paused: no part gets any. */
void wrenches_deal(struct wrenches *wrenches, const struct scene *scene, bool paused, const uint32_t *owner,
	struct step_part *parts, uint32_t secondaries);
/* The step was taken: drops the wrenches for one step. */
static inline void wrenches_taken(struct wrenches *wrenches)
{
	wrenches->once.count = 0;
}

/* Part of the state hash: of the lasting wrenches. 0 if there are none. */
uint64_t wrenches_hash(const struct wrenches *wrenches, const struct scene *scene);
void wrenches_pack(const struct wrenches *wrenches, struct text *out);
/* in->bad: damaged, or not of this scene. */
void wrenches_unpack(struct wrenches *wrenches, const struct scene *scene, struct unpack *in);

#endif
