/* What soft.c, soft_contact.c and soft_joint.c share. */
#ifndef PHYSICS_SOFT_INTERNAL_H
#define PHYSICS_SOFT_INTERNAL_H

#include "physics/exact_internal.h"
#include "physics/lanes/soft.h"
#include "physics/link.h"

/* bench/NOTES.md has what was tried. */
#define SOFT_STIFFNESS 0.75 /* rad: a rigid contact is a spring that turns so far in a substep */
#define SOFT_DAMPING 5.0    /* its damping ratio */
#define SOFT_PUSH 0.1       /* m/s: see lanes_soft.push, and struct soft_class */
#define SOFT_MARGIN 1e-3    /* m: contacts are found so long before bodies touch */
#define SOFT_NEAR 0.01      /* m: a point is that of the step before if it was so near, on its body */

/* The more substeps, the more the masses of two bodies that touch differ. */
enum { SOFT_CLASSES = 4 };
struct soft_class {
	double ratio;             /* of masses, up to which an island is of the class */
	uint32_t factor, relaxes; /* of substeps; passes that relax, in each */
	double push;              /* m/s: rate at which overlaps are pushed apart where no file says otherwise */
};

struct soft_island {
	uint32_t root;
	uint32_t mover, mover_count; /* in soft.movers */
	double ratio;                /* the greatest of masses; infinite: it has joints */
	bool sane;
};

struct soft_mover {
	uint32_t body;
	const double *solid;
	struct vec3 gained, spun; /* velocities from forces in a substep */
	struct vec3 moved;        /* since the step began */
	struct quat q;
};

struct soft_pair {           /* of geoms */
	uint32_t row, count; /* in soft.rows */
	uint32_t island;     /* in soft.islands */
	uint32_t bodies[2];  /* in soft.bodies */
	uint32_t owner;      /* the model that has its impulses */
	uint32_t block, lane;
};

struct soft_link { /* a joint, an attachment or a coupling */
	struct assembly_link of;
	uint32_t part, island; /* in exact.parts, in soft.islands */
	uint32_t own;          /* in the part's assembly: one of its links, or SCENE_NONE: an edge of the forest */
	uint32_t bodies[LANES_SOFT_LINK_BODIES]; /* in soft.bodies */
	uint32_t row_first, row_count;           /* in soft.link_rows */
	uint32_t owner;                          /* as above; SCENE_NONE: none */
	uint64_t key;                            /* of its impulses */
	uint32_t block, lane;
};

struct soft_link_row {
	struct link_row row;
	double lo, hi;          /* in a substep */
	uint32_t law, equality; /* that its impulse belongs to, in exact.laws and exact.link_impulses; or SCENE_NONE */
};

enum { SOFT_COLOURS = 64 }; /* what gets none of them is solved one by one */

struct soft_queue { /* pairs or links, by colour, in their order */
	uint32_t head[SOFT_COLOURS + 1], tail[SOFT_COLOURS + 1];
	VEC(uint32_t) next; /* of the same colour; SCENE_NONE: it is the last */
};

struct soft {
	VEC(struct soft_island) islands;
	contact_rows rows; /* of all of them */

	/* of the class at hand */
	const struct soft_class *class;
	uint32_t substeps;
	double h;                           /* s: a substep */
	VEC(struct lanes_soft_body) bodies; /* ground, kinematic bodies, movers */
	uint32_t fixed;                     /* number of the first mover */
	VEC(struct soft_mover) movers;
	VEC(uint64_t) colours; /* [bodies] that one of its pairs, or links, has */
	VEC(struct soft_pair) pairs;
	VEC(struct soft_link) links;
	VEC(struct soft_link_row) link_rows;
	VEC(struct lanes_soft_block) blocks;
	VEC(struct lanes_soft_links) link_blocks;
	struct soft_queue queue;
	size_t group_count;
	struct exact_memory groups;

	VEC(uint32_t) numbered; /* bodies of the scene that have a number */
	uint32_t body_room, model_room;
	uint32_t *number; /* [room.bodies] in soft.bodies; 0: none */
	uint32_t *found;  /* [room.models] place after the impulse that was found last */
};

/* An impulse as it lies in the state. */
struct soft_impulse {
	uint64_t key;
	/* Of a contact: where it is, in the axes of the first body that moves, from its centre of mass; and the impulse
	 * on the first body, world. Of a joint: impulses of up to six rows. N s or N m s, in a substep. */
	float numbers[6];
};
#define SOFT_KEY_OF_JOINT (UINT64_C(1) << 63)
_Static_assert(sizeof(struct soft_impulse) == STATE_IMPULSE_WORDS * 8, "an impulse has no padding to hash");

/* A pair or a link in a block: field f is at[f * stride]. */
struct soft_lane {
	double *at;
	uint32_t stride;
};

static inline void soft_set(const struct soft_lane *lane, uint32_t field, double value)
{
	lane->at[(size_t)field * lane->stride] = value;
}

static inline void soft_set3(const struct soft_lane *lane, uint32_t field, struct vec3 v)
{
	soft_set(lane, field, v.x);
	soft_set(lane, field + 1, v.y);
	soft_set(lane, field + 2, v.z);
}

static inline double soft_of(const struct soft_lane *lane, uint32_t field)
{
	return lane->at[(size_t)field * lane->stride];
}

static inline struct vec3 soft_of3(const struct soft_lane *lane, uint32_t field)
{
	return (struct vec3){soft_of(lane, field), soft_of(lane, field + 1), soft_of(lane, field + 2)};
}

static inline struct soft_lane soft_lane_at(const struct worker *worker, uint32_t group, uint32_t lane)
{
	uint32_t lanes = worker->exact->kernel->lanes;
	return (struct soft_lane){worker->exact->soft->groups.at + (size_t)group * lanes + lane, lanes};
}

static inline struct soft_lane soft_lane_after(const struct soft_lane *lane, uint32_t groups)
{
	return (struct soft_lane){lane->at + (size_t)groups * lane->stride, lane->stride};
}

/* soft.c */
/* The island of a body that moves, plus 1; 0: it is none of these, or the body does not move. */
uint32_t soft_island_of(const struct worker *worker, uint32_t body);
bool soft_is_at_hand(const struct soft *soft, uint32_t island); /* in the class at hand */
uint32_t soft_number_of(const struct soft *soft, uint32_t body);
void soft_set_body(const struct soft *soft, const struct soft_lane *lane, uint32_t field, uint32_t body);
/* Empties soft.queue; adds the next pair or link to it, under the lowest colour that none of its bodies has yet. */
void soft_begin_queue(struct soft *soft);
void soft_enqueue(struct soft *soft, const uint32_t *bodies, uint32_t count);
/* Impulses of the step before with this key, at most `room`; returns their number. They are looked for from where the
 * last was found. */
uint32_t soft_recall(struct worker *worker, uint32_t model, uint64_t key, struct soft_impulse *ret, uint32_t room);
/* Adds one to those of state k+1. */
void soft_keep(struct worker *worker, uint32_t model, const struct soft_impulse *impulse);

/* soft_contact.c */
void soft_list_contacts(struct worker *worker);
void soft_find_ratios(struct worker *worker);
void soft_deal_contacts(struct worker *worker);
void soft_fill_contacts(struct worker *worker, double dt);
void soft_store_contacts(struct worker *worker);

/* soft_joint.c */
void soft_list_joints(struct worker *worker, double dt);
void soft_deal_joints(struct worker *worker);
void soft_fill_joints(struct worker *worker);
void soft_store_joints(struct worker *worker, double dt);

#endif
