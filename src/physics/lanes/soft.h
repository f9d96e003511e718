/* The solver of piles: soft steps. It is for islands whose contacts are too many to be solved exactly.
 *
 * A step is divided into substeps. In each of them the impulses of the contacts are improved one after the other
 * (projected Gauss-Seidel), from those of the substep before. Contacts are as stiff as the substep allows: springs with
 * dampers, so that bodies which overlap do not fly apart, and masses that differ much do no harm. A last pass in each
 * substep takes back the velocities that came from pushing bodies apart. (Macklin et al., Small Steps in Physics
 * Simulation, 2019; Catto, Solver2D, 2024: "soft step".)
 *
 * Contacts of one pair of geoms are in one lane of a block, with the points one after the other. The pairs in the lanes
 * of a block share no body that moves, and neither do the blocks of one colour (../soft.c). So the number of lanes
 * changes no bit. */
#ifndef PHYSICS_LANES_SOFT_H
#define PHYSICS_LANES_SOFT_H

#include <stdbool.h>
#include <stdint.h>

enum { LANES_SOFT_POINTS = 8 }; /* at most in a block */

/* A block is its fields, then the fields of each of its points. A field is a group of as many doubles as the kernel has
 * lanes. SI units; vectors are of the world. In a lane without a pair, and for a point that its pair does not have, all
 * are zero. */
enum {
	LANES_SOFT_MASS_A,    /* 1 / mass */
	LANES_SOFT_INERTIA_A, /* inverse inertia: xx xy xz yy yz zz. In: when the step begins; then followed */
	LANES_SOFT_MASS_B = 7,
	LANES_SOFT_INERTIA_B,
	LANES_SOFT_BLOCK_FIELDS = 14,
};

enum {
	LANES_SOFT_NORMAL,    /* pushes the first body */
	LANES_SOFT_FIRST = 3, /* direction of friction */
	LANES_SOFT_ARM_A = 6, /* from the centre of mass to the point */
	LANES_SOFT_ARM_B = 9,
	LANES_SOFT_IMPULSE = 12,  /* along the normal, the first direction, across both. In: to begin with; out: in the
				   * last substep */
	LANES_SOFT_DEPTH = 15,    /* in: when the step begins; then followed */
	LANES_SOFT_RATE,          /* 1/s: rate at which the overlap is pushed apart, for each m of it */
	LANES_SOFT_GIVE,          /* m/s of this rate lost for each N s. In: < 0: -that of a mass of 1 kg */
	LANES_SOFT_PUSH,          /* greatest rate, when nothing rests on it; LANES_SOFT_ENDLESS: it is a spring */
	LANES_SOFT_FRICTION,      /* coefficients in the first direction and across it */
	LANES_SOFT_WANTED = 21,   /* velocity of the first body's surface against the other's in both directions */
	LANES_SOFT_MASS = 23,     /* out: effective masses: along the normal, in both directions */
	LANES_SOFT_YIELDING = 26, /* out: the first of these for a contact that gives */
	LANES_SOFT_SLIP,          /* m/s for each N s, in both directions */
	LANES_SOFT_SUM = 29,      /* out: impulse of all substeps, as LANES_SOFT_IMPULSE */
	LANES_SOFT_BOUNCE = 32,   /* part of the incoming rate that returns, and the rate from which on it does */
	LANES_SOFT_INCOMING = 34, /* out */
	LANES_SOFT_RESIST,        /* torque per normal force, about directions across the normal and about it */
	LANES_SOFT_TURN = 37,     /* out: impulse of these torques about the first, the second direction, the normal */
	LANES_SOFT_POINT_FIELDS = 40,
};

#define LANES_SOFT_ENDLESS 1e100

/* Joints. A link is rows between at most LANES_SOFT_LINK_BODIES bodies: rate = the sum over bodies of linear . v +
 * angular . w. A link is in one lane of a block; the links in a block's lanes share no body that moves. */
enum { LANES_SOFT_LINK_BODIES = 4 };

enum { /* of a block, for each body: as LANES_SOFT_MASS_A, LANES_SOFT_INERTIA_A */
	LANES_SOFT_LINK_FIELDS = 7 * LANES_SOFT_LINK_BODIES,
};

enum {                     /* of a row: rate = target - soft impulse, while the impulse is between its bounds */
	LANES_SOFT_LINEAR, /* then LANES_SOFT_LINK_BODIES - 1 more, each followed by its angular; they turn */
	LANES_SOFT_ANGULAR = 3,
	LANES_SOFT_TARGET = 6 * LANES_SOFT_LINK_BODIES,
	LANES_SOFT_BACK,  /* the part of the target that corrects positions */
	LANES_SOFT_YIELD, /* soft: rate for each unit of impulse */
	LANES_SOFT_LO,    /* bounds of the impulse in a substep */
	LANES_SOFT_HI,
	LANES_SOFT_ROW_IMPULSE, /* as LANES_SOFT_IMPULSE */
	LANES_SOFT_ROW_SUM,     /* out: of all substeps */
	LANES_SOFT_ROW_MASS,    /* out */
	LANES_SOFT_ROW_FIELDS,
};

struct lanes_soft_links {                         /* a block */
	uint32_t at, rows;                        /* the most that one of its links has */
	uint32_t body_count;                      /* the same */
	uint32_t body[LANES_SOFT_LINK_BODIES][8]; /* lane by lane; 0: none */
	uint32_t last[8];                         /* the body with which its rows turn; 0: they do not */
};

struct lanes_soft_body {
	double v[3], w[3];
	double move[3], turn[3]; /* in the last substep: m, rad */
	double inverse[7];       /* 1 / mass, and the inverse inertia as the body is turned now: xx xy xz yy yz zz */
};

struct lanes_soft_block {
	uint32_t at;           /* its first group */
	uint32_t points;       /* the most that one of its pairs has */
	uint32_t a[8], b[8];   /* bodies, lane by lane */
	bool bounces, resists; /* some point does */
};

struct lanes_soft {
	double *groups;
	const struct lanes_soft_block *blocks;
	const struct lanes_soft_links *links;
	uint32_t block_count, link_count;
	struct lanes_soft_body *bodies;
	uint32_t fixed; /* bodies below this number do not move by forces; 0 is ground at rest */
	bool moved;     /* bodies have moved since the pass before: contacts and links follow them first */
	bool backward;  /* links, blocks and points are taken in the opposite order */
	double push;    /* m/s: by no greater rate than this, or than its own, does a rigid contact hold its load. So
			 * contacts that press against each other for ever cannot press ever more */
	double per_s;   /* 1 / length of a substep */
};

enum lanes_soft_pass {
	LANES_SOFT_PREPARE, /* once in a step, before all others */
	LANES_SOFT_START,   /* gives the bodies the impulses of the substep before */
	LANES_SOFT_SOLVE,   /* with pushing apart */
	LANES_SOFT_RELAX,   /* without */
	LANES_SOFT_END,     /* the same, the last of a substep */
	LANES_SOFT_REBOUND, /* once in a step, after all others */
};

typedef void lanes_soft_fn(const struct lanes_soft *soft, enum lanes_soft_pass pass);

/* soft_2.c, soft_4.c, soft_8.c */
lanes_soft_fn lanes_soft_2, lanes_soft_4, lanes_soft_8;

#endif
