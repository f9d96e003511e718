/* What must be simulated together: the components of a graph whose nodes are models and levels, kept while edges come
 * and go. Joining takes as long as the smaller of the two components is large; a cut as long as it takes to find
 * another way between the two nodes, or the whole of the smaller part, searching from both in turn. What did not change
 * costs nothing.
 *
 * Each component has an owner, the secondary that has all of its nodes. One that was made of two owners', or that
 * components_open() names, has none and is listed: somebody has to decide where it is to be, and to say so with
 * components_own().
 *
 * Thread: one owner. Memory grows to the largest graph seen, so that a warm step allocates nothing. */
#ifndef ASSIGN_COMPONENTS_H
#define ASSIGN_COMPONENTS_H

#include "base/base.h"

enum {
	COMPONENTS_NONE = UINT32_MAX,
	COMPONENTS_OPEN = UINT32_MAX, /* owner of what is listed as open */
};

struct component {
	uint32_t any;    /* one of its nodes: see components.next */
	uint32_t nodes;  /* 0: it is not there (any more) */
	uint32_t movers; /* nodes that are */
	uint32_t pinned; /* likewise: such a component is opened by whatever happens to it */
	uint32_t owner;  /* a secondary, 0: nobody, or COMPONENTS_OPEN */
};

struct component_edge {
	uint32_t node; /* the other end */
	uint32_t twin; /* this edge among the other end's */
};

/* The edges of a node, in no order but that those come first whose other end has more of them: a search need not look
 * at the others. */
struct component_edges {
	VEC(struct component_edge) all;
	uint32_t through;
};

struct components {
	uint32_t node_count;
	uint32_t *of;   /* [node_count] the component of each */
	uint32_t *next; /* [node_count] another of its component, in a ring */
	VEC(struct component)
	sets; /* by number; numbers of those that are gone are used again after components_settle() */
	struct component_edges *edges; /* [node_count] */
	VEC(uint32_t) open;            /* components; some may be gone, or be owned again */
	uint32_t *owned;               /* [owner_count] components with movers that each owner has */
	/* [node_count] the component of each at the last components_settle() */
	uint32_t *was;

	/* private */
	uint32_t *previous; /* [node_count] in the ring */
	bool *mover, *pinned;
	uint64_t *seen; /* [node_count] in which search, and from which side */
	uint64_t searches;
	struct component_side {
		VEC(uint32_t) nodes;
		uint32_t at, edge; /* the next to look at */
	} sides[2];
	VEC(uint32_t) relabelled, gone, free, numbers, numbered;
	uint32_t owner_count;
};

/* Owners are 0 (nobody) to owner_count - 1. */
void components_init(struct components *components, uint32_t owner_count);
void components_fini(struct components *components);
/* There are so many nodes; new ones are alone, and nobody's. */
void components_fit(struct components *components, uint32_t node_count);
/* All edges are gone, and all nodes nobody's. */
void components_reset(struct components *components);

/* Of an edge that is there already, or that is not: nothing happens. */
void components_link(struct components *components, uint32_t a, uint32_t b);
void components_cut(struct components *components, uint32_t a, uint32_t b);
void components_describe(struct components *components, uint32_t node, bool mover, bool pinned);
/* The node's component is to be decided about. */
void components_open(struct components *components, uint32_t node);
void components_own(struct components *components, uint32_t component, uint32_t owner);
/* A number for each of some components, from 0, in the order in which they are asked for: `count` is how many have one.
 * They are valid until components_forget_numbers(), which is to come before the next change. */
uint32_t components_number(struct components *components, uint32_t component, uint32_t *count);
void components_forget_numbers(struct components *components);
/* What is now counts as the state before from here on. */
void components_settle(struct components *components);

#endif
