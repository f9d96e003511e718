/* The rows of links (assembly.h) in one step: joints that close loops, attachments, couplings, added mass. Pure
 * functions of state k. */
#ifndef PHYSICS_LINK_H
#define PHYSICS_LINK_H

#include "physics/assembly.h"

enum { LINK_ROWS_MAX = 8 };

/* rate = the sum over bodies of linear . v + angular . w, and over coordinates of factor * rate; row: rate = target -
 * soft * impulse. */
struct link_row {
	struct vec3 linear[LANES_LINK_BODIES_MAX], angular[LANES_LINK_BODIES_MAX]; /* as link.bodies */
	double factor[LANES_LINK_DOFS_MAX];
	double target, soft;
	double back; /* the part of the target that corrects positions */
};

struct link_rows {
	uint32_t count;
	struct link_row row[LINK_ROWS_MAX];
};

struct worker;

/* The link's equal_rows rows. */
void link_equalities(const struct worker *worker, const struct assembly_link *link, double dt, struct link_rows *ret);
/* The row of an axis of a loop; its target is what has to be added to that of the axis's law, because the ground
 * moves. */
void link_axis(const struct worker *worker, const struct assembly_link *link, uint32_t axis, struct link_row *ret);
/* The speed along the axis, in m/s, that corrects how far a screw has slid, less what its turn says. */
double link_thread_back(const struct worker *worker, uint32_t joint, double dt);

#endif
