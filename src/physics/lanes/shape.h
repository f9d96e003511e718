/* The shape of an island: all that decides which operations its step takes. Islands of one shape are stepped side by
 * side, one in each lane (kernel.h), so what follows from a shape is derived once.
 *
 * An island is a forest of bodies. The joints of the forest are no constraints: velocities are written in the
 * coordinates that these joints leave free. Only four things are rows of a complementarity problem: axes with a motor,
 * stops or limits; links, which are joints that close a loop, attachments and couplings; contacts; friction.
 *
 * A shape is made from its key, a list of numbers in a fixed order. Equal keys give equal shapes.
 *
 * Thread: a shape is immutable once it is made. Memory: lanes_shape_destroy(). */
#ifndef PHYSICS_LANES_SHAPE_H
#define PHYSICS_LANES_SHAPE_H

#include "base/arena.h"

#include <stdint.h>

enum lanes_joint {
	LANES_FREE, /* no joint: six coordinates */
	LANES_HINGE,
	LANES_SLIDER,
	LANES_BALL,
	LANES_UNIVERSAL,
	LANES_FIXED,
	LANES_SCREW, /* one coordinate: its turn, in rad */
};

enum {
	LANES_BODIES_MAX = 120,
	LANES_DOFS_MAX = 250, /* coordinates */
	LANES_ROWS_MAX = 240,
	LANES_SLOTS_MAX = LANES_ROWS_MAX / 3,
	LANES_LINKS_MAX = 64,
	LANES_LINK_BODIES_MAX = 4,
	LANES_LINK_DOFS_MAX = 2,
	LANES_AXES_MAX = 2, /* of one joint */
	LANES_KEY_MAX = 1024,
};
#define LANES_GROUND (-1) /* in place of a body: what is not moved by this step (the world, a kinematic body) */

/* --- the key ---------------------------------------------------------------------------------------------------------
 *
 * Bodies in tree order (parents first); then links; then slots. */

struct lanes_key {
	uint32_t count; /* of words; above LANES_KEY_MAX: the island is too large */
	uint32_t dofs, rows;
	uint64_t hash;
	int16_t words[LANES_KEY_MAX];
};

/* A body and the joint to its parent. law: bits of the axes that have a row. */
struct lanes_key_body {
	int16_t parent; /* place in the order of bodies; LANES_GROUND: the joint is to the ground. LANES_FREE: no matter
			 */
	enum lanes_joint joint;
	uint32_t law;
};

/* Rows between some bodies and coordinates. */
struct lanes_key_link {
	uint32_t body_count, dof_count;
	int16_t bodies[LANES_LINK_BODIES_MAX], dofs[LANES_LINK_DOFS_MAX]; /* dofs: of lanes_dof_of() */
	uint32_t equal_rows, law_rows;
};

/* A contact: body a is pushed along the normal. */
struct lanes_key_slot {
	int16_t a, b; /* b: may be LANES_GROUND */
	bool rolls;   /* has three rows of rolling friction */
};

void lanes_key_begin(struct lanes_key *key);
void lanes_key_add_body(struct lanes_key *key, const struct lanes_key_body *body);
void lanes_key_add_link(struct lanes_key *key, const struct lanes_key_link *link);
void lanes_key_add_slot(struct lanes_key *key, const struct lanes_key_slot *slot);
/* False: the island is too large for a key. Computes the hash. */
bool lanes_key_end(struct lanes_key *key);
bool lanes_key_is_equal(const struct lanes_key *a, const struct lanes_key *b);

/* --- the layout of a batch -------------------------------------------------------------------------------------------
 *
 * The memory of a batch is an array of groups of LANES doubles. Offsets below count groups. Units: m, kg, s, rad, N.
 * All vectors are in the world's axes unless said otherwise. */

enum { /* of a body */
	LANES_P = 0,
	LANES_Q = 3, /* w x y z */
	LANES_V = 7,
	LANES_W = 10,
	LANES_FORCE = 13, /* with gravity */
	LANES_TORQUE = 16,
	LANES_MASS = 19,
	LANES_INERTIA = 20, /* xx xy xz yy yz zz, in the body's axes */
	LANES_BODY_FIELDS = 26,
};

enum { /* of the joint to a body's parent; "own" fields are in the body's axes, the others in the parent's or the
	  world's */
	LANES_OWN_ANCHOR = 0, /* from the body's centre of mass */
	LANES_ANCHOR = 3,     /* from the parent's centre of mass; ground: in the world */
	LANES_OWN_AXIS = 6,   /* the coordinate's sign is in it: it turns the body against its parent */
	LANES_AXIS = 9,
	LANES_RELATIVE = 12, /* the body's rotation relative to the parent, w x y z: sliders and fixed joints */
	LANES_LEAD = 16,     /* screw: m / rad */
	LANES_THREAD = 17,   /* screw: m/s along the axis that corrects the thread */
	LANES_GROUND_V = 18, /* velocity of the ground at the anchor */
	LANES_GROUND_W = 21,
	LANES_EDGE_FIELDS = 24,
};

enum { /* of an axis of a tree joint: a force on it that is linear in its rate at the end of the step */
	LANES_AXIS_MASS = 0, /* kg or kg m2: impulse = LANES_AXIS_PUSH - mass * rate */
	LANES_AXIS_PUSH = 1,
	LANES_AXIS_FIELDS = 2,
};

/* The law of an axis: how its impulse x answers to its rate v (at the end of the step).
 *
 *   v = target - soft x   while lo < x < hi
 *   x = lo                while the rate is above target, up to high; then v = high - high_soft (x - lo)
 *   x = hi                while the rate is below target, down to low; then v = low - low_soft (x - hi) */
enum {
	LANES_TARGET = 0, /* rad/s or m/s */
	LANES_SOFT = 1,   /* rate per unit of impulse */
	LANES_LO = 2,
	LANES_HI = 3,
	LANES_LOW = 4,
	LANES_HIGH = 5,
	LANES_LOW_SOFT = 6,
	LANES_HIGH_SOFT = 7,
	LANES_LAW_FIELDS = 8,
	LANES_EQUAL_FIELDS = 2, /* of a row without bounds: LANES_TARGET, LANES_SOFT */
};

enum { LANES_LINK_BODY_FIELDS = 6 }; /* of a row and a body: factor of its velocity, and of its spin */

enum { /* of a contact */
	LANES_AT = 0,
	LANES_NORMAL = 3,
	LANES_FIRST = 6, /* first direction of friction, across the normal */
	LANES_PUSH = 9,  /* m/s wanted along the normal */
	LANES_PUSH_SOFT = 10,
	LANES_MU = 11,     /* in the two directions */
	LANES_MOTION = 13, /* m/s wanted in the two directions */
	LANES_SLIP = 15,   /* softness in the two directions */
	LANES_SLOT_FIELDS = 17,
	LANES_RHO = 17, /* rolling: m, about the first and second direction and the normal */
	LANES_RHO_SOFT = 20,
	LANES_ROLLING_FIELDS = 21,
};

/* Rows that come and go together and move the same coordinates. */
struct lanes_owner {
	uint8_t rows;     /* at most LANES_OWNER_ROWS_MAX */
	uint16_t *row;    /* [rows] */
	uint16_t support; /* how many coordinates it moves */
	uint8_t *dofs;    /* [support] descending: children first */
};
enum { LANES_OWNER_ROWS_MAX = 12 };

struct lanes_link {
	struct lanes_key_link key;
	uint32_t at; /* offset of its rows: for each row the bodies' fields, then a factor for each coordinate */
	uint32_t law_row, equal_row; /* first of its rows */
};

struct lanes_shape {
	struct lanes_key *key; /* only its words that count */
	int body_count, dof_count, slot_count, link_count, owner_count;

	/* by body */
	int16_t *parent; /* LANES_GROUND also of a free body */
	uint8_t *joint;
	int16_t *dof; /* first own coordinate */
	uint8_t *dofs;
	int16_t *root;  /* the first body of its tree */
	uint32_t *edge; /* offset; free bodies have none */
	/* The coordinates that move the body, descending: path[path_first[b]] .. */
	uint32_t *path_first;
	uint8_t *path;

	/* by coordinate */
	int16_t *up;      /* the coordinate before it on the way to the root; -1 */
	uint8_t *depth;   /* how many there are before it */
	int16_t *run;     /* the first of those that come before it without a gap: run[d], .., d - 1, d are one way */
	uint32_t *h_row;  /* where its row of the mass matrix begins: an entry for each depth */
	uint32_t h_count; /* entries of the mass matrix */
	int32_t *axis;    /* offset of its LANES_AXIS_ fields; -1: none (free body, ball) */

	/* rows, in this order: laws, equalities, normals, friction (two for each slot), rolling (three for each slot
	 * that rolls) */
	int law_count, equal_count, normal_first, friction_first, rolling_first, row_count;
	uint32_t law_at, equal_at; /* offsets of their fields */
	int16_t *law_dof;          /* [law_count] coordinate; -1: the row of a link */
	struct lanes_owner *owners;
	/* Coordinates that owners i >= j both move: common[common_first[i (i + 1) / 2 + j]] .. of the next */
	uint32_t *common_first;
	uint8_t *common;

	struct lanes_link *links;
	struct lanes_key_slot *slots;
	uint32_t *slot_at; /* offset */

	uint32_t in_count;    /* groups of the batch's input; p, q, v, w are also its output */
	uint32_t impulses_at; /* [row_count] output */
	uint32_t failed_at;   /* output: a mask; not 0: the lane has no result */
	uint32_t batch_count; /* groups of the whole batch */
	uint32_t work_count;  /* groups of the kernel's working memory */
	struct arena arena;
};

/* The coordinate of a body's axis, before the shape is made: bodies 0 .. `body` of `bodies` are known. */
int lanes_dof_of(const struct lanes_key_body *bodies, uint32_t body, uint32_t axis);

/* Of a key for which lanes_key_end() has said true. */
struct lanes_shape *lanes_shape_create(const struct lanes_key *key);
void lanes_shape_destroy(struct lanes_shape *shape);

#endif
