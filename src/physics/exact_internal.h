/* What exact.c, exact_fill.c, exact_store.c and exact_notes.c share. */
#ifndef PHYSICS_EXACT_INTERNAL_H
#define PHYSICS_EXACT_INTERNAL_H

#include "physics/exact.h"
#include "physics/internal.h"
#include "physics/lanes/kernel.h"
#include "physics/soft.h"

enum {
	EXACT_SHAPES_MAX = 2048, /* when there are more, all are made anew as they come again */
	EXACT_TABLE_BITS = 13,
	EXACT_PILE_ROWS = 24,    /* rows of an island without joints, up to which it is solved exactly */
	EXACT_ROUNDS = 40,       /* of pivoting; most islands are solved in less than ten */
	EXACT_ROUNDS_MOST = 400, /* the same with joints and too many rows for ODE's exact solver */
	EXACT_DEEP_MAX = 32,     /* contacts of which the directions are compared */
	EXACT_WAITING_MAX = 64,  /* shapes that wait at once: each needs memory for a batch */
};

#define EXACT_ASTRIDE 0.5    /* cosine of the angle between two directions that are not about the same */
#define EXACT_DEPTH_MAX 0.01 /* m: a body that is deeper in others, in two directions, is stuck */

struct exact_part { /* an assembly in this step */
	const struct assembly *assembly;
	uint32_t law_first; /* in exact.laws: of its axes */
	uint32_t root;      /* union-find over parts; the lowest part of an island is its root */
	uint32_t next;      /* the next part of the island; SCENE_NONE: this is the last */
	uint32_t row_first; /* of a root: the first contact of the island; the others through exact.row_next */
	uint32_t body_first, dof_first; /* of its bodies and coordinates among those of the island */
	uint32_t link_row_first;        /* in exact.link_impulses: of the equalities of its links */
	uint32_t impulses;              /* of its bodies in the state, as points */
	uint32_t pile;                  /* of a root: number of the island in soft.c, plus 1; 0: it is none of them */
	bool left;                      /* the island is left to ODE */
};

struct exact_memory {
	double *at;
	size_t bytes;
};

struct exact_shape {
	struct lanes_shape *shape;
	uint32_t waiting, roots[LANES_MOST]; /* islands in its lanes */
	struct exact_memory batch;           /* while islands wait */
	bool busy;                           /* is in exact.busy */
};

struct exact {
	struct soft *soft;
	const struct lanes_kernel *kernel; /* with the most lanes */
	uint32_t lanes;                    /* of the batches of this step */
	VEC(struct exact_shape) shapes;
	uint32_t table[1u << EXACT_TABLE_BITS]; /* index + 1 of a shape, by the hash of its key; 0: free */
	VEC(uint32_t) busy;                     /* shapes for which islands wait, or have waited */
	VEC(struct exact_memory) spare;         /* of batches */
	struct exact_memory work, narrow;       /* narrow: a batch for a kernel of fewer lanes */
	struct lanes_key key;                   /* of an island */
	bool jointed;                           /* it has joints, attachments or couplings */

	/* about the ODE world at hand */
	VEC(struct exact_part) parts;
	VEC(struct axis_law) laws;
	VEC(uint32_t) row_next;
	uint32_t left; /* islands */
	/* Impulses of the islands that were solved, while joints or forces are observed: N s or N m s. */
	VEC(double) law_impulses; /* [laws.count] */
	VEC(double) link_impulses;
	VEC(struct vec3) contact_impulses; /* [contacts] on the body of the first geom; world */
	uint32_t link_rows;                /* of all parts */
	uint32_t joint_room, *note_of;     /* [room.joints] index of a joint's note among the efforts */

	uint32_t room;          /* of the arrays below */
	uint32_t *part, *place; /* [room.bodies] of a body that moves: its part, and its place in the assembly */
};

/* An island in a lane: field f of the batch is lane.at[f * lane.stride]. */
struct exact_lane {
	const struct lanes_shape *shape;
	double *at;
	uint32_t stride;
	uint32_t root;
};

/* Whether an axis of a loop has a row. An axis of the forest has one if law.row says so. */
static inline bool exact_has_link_law(const struct axis_law *law)
{
	return law->row || law->mass != 0 || law->push != 0;
}

/* exact.c */
double *exact_fit(struct exact_memory *memory, size_t groups, uint32_t lanes);
/* The islands of two bodies become one, if both move. */
void exact_join(struct worker *worker, uint32_t body_a, uint32_t body_b);
/* The root of the part's island. */
uint32_t exact_root(struct exact *exact, uint32_t part);
/* Leaves the island to ODE. */
void exact_leave(struct worker *worker, uint32_t root, enum physics_left why);

/* exact_notes.c */
/* I v, of a body that is turned by q. solid: mass and inertia of an assembly. */
struct vec3 exact_times_inertia(const double *solid, struct quat q, struct vec3 v);
/* The rate of an axis at the end of the step, by its direction at the beginning. */
double exact_rate_after(const struct worker *worker, uint32_t joint, uint32_t axis);
/* x with (I + h [I w]) x = I w: see kernel_turned_momentum() of lanes/kernel.inc. */
struct vec3 exact_turned_spin(const double *solid, struct quat q, struct vec3 w, double h);

/* exact_fill.c */
/* A direction across the normal, where any will do. */
struct vec3 exact_any_direction(struct vec3 normal);
void exact_fill(struct worker *worker, const struct exact_lane *lane, double dt);

/* exact_store.c */
/* Takes the damping of a step from the velocities of state k+1. */
void exact_damp(const struct scene_body *from, struct body_state *next);
/* False: a body is beyond the bounds of a state; nothing of the result is noted. */
bool exact_store(struct worker *worker, const struct exact_lane *lane, double dt);

#endif
