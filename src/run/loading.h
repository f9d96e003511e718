/* Which levels are loaded and which models exist, by the definitions of levels: functions of the states so far, not of
 * the assignment.
 *
 *   a level           is loaded while some performer is near it
 *   a mover           exists: a declared performer, or a dynamic model without level
 *   a level's dynamic model (its cargo)
 *                     exists while the level is loaded; also while it may touch a model that exists, or a joint or
 * attachment connects them; and longer while it overlaps a performer's volume or the box of a loaded level. A model
 * that exists without its level is a stray a static model    exists always: nothing may pass through it (law 4)
 *
 * Effects: its own fields, and shared.tracker. Reads scene, state k, shared.boxes and shared.touch, where models that
 * exist must be here, and the other models of levels unloaded. The consequences for other modules are in lists, which
 * the caller works off and empties (loading_clear()).
 *
 * Thread: the primary's, between steps. Allocates only when something changes. */
#ifndef RUN_LOADING_H
#define RUN_LOADING_H

#include "base/pack.h"
#include "run/step.h"

struct loading {
	struct shared *shared;
	const struct scene *scene;
	uint32_t room;     /* of the arrays by model */
	bool *loaded;      /* [level_count] */
	bool *active;      /* [room] movers and dynamic models that exist */
	bool *is_mover;    /* [room] */
	uint32_t *statics; /* [room] static models that exist: see physics_set_statics() */
	indices strays;    /* active models whose level is not loaded */
	uint64_t loads;    /* loads of levels that were not loaded, so far */

	/* answers since loading_clear() */
	VEC(uint32_t) came, went; /* models that became active, or stopped being so; in this order */
	/* Models of levels that were loaded, and new strays: the models under them may have gone, or moved. */
	VEC(uint32_t) fetched;
	VEC(uint32_t) changed_levels; /* levels that were loaded or unloaded */

	/* private */
	uint32_t placings;            /* how often static models were placed, so far */
	bool dirty;                   /* the levels near a performer changed */
	bool must_check;              /* a stray may have to go, even if no pair of models changes */
	bool cargo_known, some_cargo; /* see loading_has_cargo() */
	bvh_values found, walk;
	bool *visited; /* [room] the model is in `walk` */
};

/* At first nothing is active, and no performer has been looked at: see loading_restart(). */
void loading_init(struct loading *loading, struct shared *shared);
void loading_fini(struct loading *loading);
/* The scene has room for more models. */
void loading_fit(struct loading *loading);
void loading_clear(struct loading *loading);

/* Derives from the scene whether the model is a mover and whether it exists as a static model. True: a static model
 * came or went. */
bool loading_learn(struct loading *loading, uint32_t model);
/* A static model was put elsewhere. */
void loading_placed(struct loading *loading, uint32_t model);
/* After loading_learn(): the model came into the scene, left it, or began or ceased to be a performer. */
void loading_add(struct loading *loading, uint32_t model);
void loading_remove(struct loading *loading, uint32_t model);
void loading_performer(struct loading *loading, uint32_t model);

/* Finds the levels that a performer is in and near when its origin is there. True: they changed; .entered of struct
 * tracked says whether the performer entered one. False for a model that is no performer. */
bool loading_look(struct loading *loading, uint32_t model, struct vec3 origin);
/* Ends the existence of all active models, as before a restart. */
void loading_empty(struct loading *loading);
/* As at the start, when loading_empty() has been called: movers become active, and no level is loaded before
 * loading_update(). All performers must be looked at. */
void loading_restart(struct loading *loading);

/* A dynamic model of a level that is no performer, whether it exists now or not. */
bool loading_is_cargo(const struct loading *loading, uint32_t model);
/* Whether some level has such models, which come and go with it: otherwise no bit of a state depends on when a level is
 * loaded, but on which levels are. */
bool loading_has_cargo(struct loading *loading);
/* Whether the model will be active in the coming step, unless another change comes before. */
bool loading_expects(struct loading *loading, uint32_t model);

/* The coming step: first loading_update() loads and unloads levels. Then comes touch_find(), and loading_settle() with
 * its result: unloaded models that were reached become active, and if there are none, strays that nothing holds go.
 * While it returns true, models came or went, and both calls are repeated. */
void loading_update(struct loading *loading);
bool loading_settle(struct loading *loading, bool pairs_changed);

/* Part of the state hash: loaded levels, and strays. */
uint64_t loading_hash(const struct loading *loading);
void loading_pack(const struct loading *loading, struct text *out);
/* After loading_restart(). False: damaged. */
bool loading_unpack(struct loading *loading, struct unpack *in);

#endif
