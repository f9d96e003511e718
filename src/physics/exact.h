/* Steps islands in lanes (lanes/). An island is a set of assemblies (assembly.h) that contacts of this step connect.
 *
 * A worker has one. Its functions are called for the ODE world at hand, in this order: exact_step(), then the
 * queries and exact_note_joints(). */
#ifndef PHYSICS_EXACT_H
#define PHYSICS_EXACT_H

#include "physics/assembly.h"

struct exact;
struct worker;

/* lanes: 0: as many as the processor has instructions for. */
struct exact *exact_create(uint32_t lanes);
void exact_destroy(struct exact *exact);

/* Steps the islands of the ODE world at hand from state k to state k+1, but those that are left to ODE. Expects
 * worker.hand and the contacts of all its groups. Writes the bodies of state k+1, the coupling words, and the forces
 * of contacts and joints that are observed. */
void exact_step(struct worker *worker, double dt);
/* Whether forces move the body; SCENE_NONE is ground. */
bool exact_moves(const struct worker *worker, uint32_t body);
/* How many islands exact_step() has left. */
uint32_t exact_left_count(const struct exact *exact);
/* Whether the body belongs to such an island. Bodies that forces do not move belong to none. */
bool exact_is_left(const struct worker *worker, uint32_t body);
/* Whether no body of the joint belongs to such an island. */
bool exact_has_joint(const struct worker *worker, uint32_t joint);
/* Notes efforts and reactions of such joints, when the bodies of state k+1 are known. */
void exact_note_joints(struct worker *worker, double dt);

#endif
