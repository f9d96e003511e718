/* A worker: the working memory with which a thread steps ODE worlds, of any struct physics. It has no models. ODE's
 * memory, lists, tables and the ODE geoms of static models cannot be used by two threads at once, so each thread that
 * steps has a worker. Which worker steps which ODE world changes no bit.
 *
 * Thread: one thread makes a worker, works with it and destroys it. Memory is allocated when arrays grow or a static
 * geom is met for the first time; a warm step does not allocate. */
#ifndef PHYSICS_WORKER_H
#define PHYSICS_WORKER_H

#include "physics/physics.h"

struct worker;

/* The scene outlives the worker. home: the physics of the secondary that has this worker; stepping the groups of others
 * counts as help. NULL: it helps only. The pointer is compared, not followed. */
struct worker *worker_create(const struct scene *scene, const struct physics *home);
/* The owners for which it worked must not be stepped any more. */
void worker_destroy(struct worker *worker);

/* To be called first in every step in which the worker takes part. `options` are those of the owners. */
void worker_begin(struct worker *worker, const struct physics_options *options);
/* Steps ODE worlds first .. first + count - 1 of the owner's step, each of them once in a step (none that has gone
 * ahead): between physics_begin() and physics_end() of the owner, which do not run meanwhile. Several workers may step
 * different worlds of one owner at the same time. What a worker wrote must be made visible to the owner's thread by the
 * caller. The owner has the worker's scene. TROUPE_EDIVERGED: ODE gave up; the error names the model. */
troupe_status worker_step(
	struct worker *worker, struct physics *owner, uint32_t first, uint32_t count, struct troupe_error *error);
/* The same for one that has gone ahead: see physics_find_ahead(). note_step: the step of the window, if notes are to be
 * taken of it; else 0. */
troupe_status worker_step_ahead(
	struct worker *worker, struct physics *owner, uint32_t at, uint32_t note_step, struct troupe_error *error);
/* The worker's room for third copies of models that go ahead, one ODE world after another. */
struct state_spares *worker_spares(struct worker *worker);
/* Notes about all ODE worlds that the worker stepped since worker_begin(); to be called when its work on the step is
 * done. Valid until the next worker_begin(). */
const struct notes *worker_notes(struct worker *worker);

/* Adds what this worker did since its creation. */
void worker_add_stats(const struct worker *worker, struct physics_stats *stats);

#endif
