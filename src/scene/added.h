/* The mass that the fluid around a body adds to it (<fluid_added_mass>): a symmetric 6x6 matrix A beside the body's own
 * M, so that (M + A) dV/dt = force for a body at rest. ODE's body has one mass in all directions and an inertia. So the
 * matrix is divided among
 *
 *   mass and inertia of ODE's body: M, the part of A that is the same in all directions, and the rotational part;
 *   rows: each resists the acceleration of one point of the body along one line, as a mass would. They are the rest of
 *   the translational part, along its principal directions, and most couplings with rotation (xp to zr).
 *
 * The rest of the couplings is in `whole` only: free bodies move by the whole matrix; contacts and joints act as if the
 * rest were not there.
 *
 * All is in the axes of the body, at its centre of mass. */
#ifndef SCENE_ADDED_H
#define SCENE_ADDED_H

#include "geom/spatial.h"

#include <stdint.h>

struct scene_added_row {
	struct vec3 at, along; /* along: unit length */
	double mass;           /* kg, > 0 */
};

struct scene_added_part { /* what a link, or a system, gives */
	struct mat6 matrix;
	struct pose in_body; /* the frame of the matrix */
};

struct scene_added {
	double mass; /* of ODE's body */
	double ixx, iyy, izz, ixy, ixz, iyz;
	struct mat6 whole, inverse; /* M + A, and its inverse */
	struct mat6 carried;        /* that of ODE's body and the rows */
	bool divided;               /* carried is the whole */
	uint32_t row_count, part_count;
	const struct scene_added_row *rows;
	const struct scene_added_part *parts;
};

#endif
