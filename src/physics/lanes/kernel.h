/* The exact solver: one step of LANES islands of one shape (shape.h), each in its own lane. The kernels differ in the
 * number of lanes and in the instructions that they need; a lane's result is the same from each of them, bit for bit.
 *
 * Velocities are v = S u + v0: S are the motions that the joints of the tree leave free, v0 corrects the drift of these
 * joints by the part `erp` of it in the step, and is the motion of the ground at the tree's root. With the mass matrix
 * H of the coordinates u (Featherstone, Rigid Body Dynamics Algorithms, 2008: composite rigid bodies, 6.2, and the
 * sparse factorisation L^T D L, 6.5), rows Y and impulses x:
 *
 *   H u = momentum + Y^T x,   rate of the rows = Y u + Y v0,   each row's x and rate obey its law.
 *
 * This complementarity problem is solved by block principal pivoting, in two stages: all rows but friction; then all
 * rows, with the limits of friction from the normal impulses of the first stage. (ODE's exact solver has the same two
 * stages.) No stage uses results of earlier steps. */
#ifndef PHYSICS_LANES_KERNEL_H
#define PHYSICS_LANES_KERNEL_H

#include "physics/lanes/shape.h"
#include "physics/lanes/soft.h"

struct lanes_step {
	double dt;  /* s */
	double erp; /* part of the drift of joints that a step corrects */
	int rounds; /* of pivoting in each stage, after which a lane has failed */
};

/* batch: [shape->batch_count] groups of as many doubles as the kernel has lanes, aligned to a group; the header of the
 * shape says which are input and which are output. work: [shape->work_count] groups, aligned as well. Both belong to
 * the calling thread for the time of the call. */
typedef void lanes_step_fn(const struct lanes_shape *shape, const struct lanes_step *step, double *batch, double *work);

struct lanes_kernel {
	uint32_t lanes;
	const char *needs; /* instruction set, for messages */
	lanes_step_fn *step;
	lanes_soft_fn *soft; /* soft.h */
};

/* kernel_2.c, kernel_2_avx2.c, kernel_4.c, kernel_8.c */
lanes_step_fn lanes_step_2, lanes_step_2_avx2, lanes_step_4, lanes_step_8;

enum { LANES_LEAST = 2, LANES_MOST = 8 };

/* The kernel with the most lanes that this processor has instructions for. */
const struct lanes_kernel *lanes_kernel_best(void);
/* The fastest kernel with exactly so many lanes. NULL: there is none, or this processor lacks the instructions. */
const struct lanes_kernel *lanes_kernel_of(uint32_t lanes);
/* Of `best` and the kernels with fewer lanes, the narrowest that takes so many islands at once: few wide lanes cost as
 * much as all of them, and more memory than the caches have. */
const struct lanes_kernel *lanes_kernel_narrowest(const struct lanes_kernel *best, uint32_t islands);
/* All that this processor can run, one after the other: the first is that of previous NULL; NULL at the end. */
const struct lanes_kernel *lanes_kernel_next(const struct lanes_kernel *previous);

#endif
