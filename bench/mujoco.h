/* MuJoCo, where configure has found it: the same robots are stepped by it in turns with ours. Only benches use it; no
 * part of troupe is linked with it.
 *
 * It solves another problem: contacts, stops and equalities are soft (a convex optimisation by Newton's method, of at
 * most 100 iterations, begun with the last solution), and the integrator is its default, Euler's with damping of joints
 * taken implicitly. Thread: one at a time. Each call that fails ends the program with a message.
 */
#ifndef BENCH_MUJOCO_H
#define BENCH_MUJOCO_H

#include <stdbool.h>

struct mujoco;

/* "MuJoCo 2.2.2"; NULL: this program was built without it, and nothing below may be called. */
const char *mujoco_name(void);
/* So many copies of the world that the MJCF describes, each with a state of its own. */
struct mujoco *mujoco_create(const char *mjcf, int copies);
void mujoco_destroy(struct mujoco *mujoco);
/* The control of an actuator, in all copies. */
void mujoco_set(struct mujoco *mujoco, const char *actuator, double value);
/* Takes so many steps in each copy. */
void mujoco_run(struct mujoco *mujoco, int steps);
/* Of the frame of a body, in m, in the copy in which it is lowest. */
double mujoco_height(const struct mujoco *mujoco, const char *body);

#endif
