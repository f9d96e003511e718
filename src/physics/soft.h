/* Steps piles: islands of free bodies with more contacts than are solved exactly. lanes/soft.h says how.
 *
 * An exact (exact.h) has one; its functions are called for the ODE world at hand, soft_step() when all its piles have
 * been added. The impulses with which a step ends are words of the state (scene/state.h); the next step begins with
 * them. Surfaces whose masses and contacts are rigid come to rest at a depth that grows with their load: of the order
 * of load / (mass (2 pi SOFT_HERTZ)^2). */
#ifndef PHYSICS_SOFT_H
#define PHYSICS_SOFT_H

#include <stdbool.h>
#include <stdint.h>

struct soft;
struct worker;
struct exact;

struct soft *soft_create(void);
void soft_destroy(struct soft *soft);

/* To be called first in a step of an ODE world. */
void soft_begin(struct worker *worker);
/* Joins islands whose bodies were pressed together in the step before and are near: bodies of a pile may part for a step
 * by less than can be seen. */
void soft_join(struct worker *worker);
/* Whether the island was a pile in the step before, by the number of its impulses. */
bool soft_was_pile(const struct worker *worker, uint32_t root);
/* Whether the island can be stepped here: it has no joints, ties or added mass. root: in exact.parts. */
bool soft_covers(const struct worker *worker, uint32_t root);
void soft_add(struct worker *worker, uint32_t root);
/* Steps all that were added: bodies and impulses of state k+1, and the impulses of contacts that are observed. */
void soft_step(struct worker *worker, double dt);

#endif
