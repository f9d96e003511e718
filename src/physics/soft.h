/* Steps piles: islands that are too large to be solved exactly (exact.h). lanes/soft.h says how.
 *
 * Bodies with joints may be among them; each joint is then rows beside the contacts. The impulses with which a step
 * ends are words of the state (scene/state.h), with which the next step begins. Rigid surfaces come to rest at a depth
 * that grows with their load, of the order of load / (mass (SOFT_STIFFNESS / substep)^2) at each point.
 *
 * An exact has one. Its functions are called for the ODE world at hand: soft_begin() and soft_join() when its parts are
 * known, soft_step() when all its piles have been added. */
#ifndef PHYSICS_SOFT_H
#define PHYSICS_SOFT_H

#include <stdbool.h>
#include <stdint.h>

struct soft;
struct worker;

struct soft *soft_create(void);
void soft_destroy(struct soft *soft);

void soft_begin(struct worker *worker);
/* Joins islands whose bodies were pressed together in the step before and are near: bodies of a pile may part for a
 * step by less than can be seen. */
void soft_join(struct worker *worker);
/* root: of exact.parts. Whether the island was a pile in the step before, by the number of its impulses. */
bool soft_was_pile(const struct worker *worker, uint32_t root);
/* Whether the island can be stepped here: no assembly of it is large (assembly.h) or has added mass. */
bool soft_covers(const struct worker *worker, uint32_t root);
void soft_add(struct worker *worker, uint32_t root);
/* Steps all that were added: bodies, couplings and impulses of state k+1, and the impulses that are observed. Leaves to
 * ODE what it brings beyond the bounds of a state. */
void soft_step(struct worker *worker, double dt);

#endif
