/* Components of a graph whose nodes are models and levels: the sets that must be simulated together, kept up to date
 * while edges are added and removed. Joining takes time in proportion to the smaller component. A cut takes as long
 * as finding another path between the two nodes, or the whole of the smaller part, searching from both nodes in turn.
 * Unchanged parts cost nothing.
 *
 * Each component has an owner: the secondary that has all of its nodes. A component that was joined from components
 * of two owners, or that components_open() names, has no owner and is listed as open. The caller decides where it
 * goes and calls components_own().
 *
 * Thread: one owner. Memory grows to the largest graph seen, so that a warm step allocates nothing. */
#ifndef ASSIGN_COMPONENTS_H
#define ASSIGN_COMPONENTS_H

#include "base/base.h"

enum {
	COMPONENTS_NONE = UINT32_MAX,
	COMPONENTS_OPEN = UINT32_MAX, /* owner of an open component */
};

struct component {
	uint32_t any;    /* one of its nodes: see components.next */
	uint32_t nodes;  /* 0: no such component (any more) */
	uint32_t movers; /* nodes that are movers */
	uint32_t pinned; /* pinned nodes; a component with any is opened by every change to it */
	uint32_t owner;  /* a secondary; 0: none; or COMPONENTS_OPEN */
};

struct component_edge {
	uint32_t node; /* the other end */
	uint32_t twin; /* index of this edge among the other end's edges */
};

/* The edges of a node. Edges to nodes with more than one edge come first; otherwise the order means nothing. A search
 * looks at these first edges only. */
struct component_edges {
	VEC(struct component_edge) all;
	uint32_t through;
};

struct components {
	uint32_t node_count;
	uint32_t *of;   /* [node_count] the component of each */
	uint32_t *next; /* [node_count] next node of the same component, in a ring */
	VEC(struct component)
	sets; /* by number; numbers of removed components are used again after components_settle() */
	struct component_edges *edges; /* [node_count] */
	VEC(uint32_t) open;            /* open components; some may be removed or owned by now */
	uint32_t *owned;               /* [owner_count] number of components with movers of each owner */
	/* [node_count] the component of each at the last components_settle() */
	uint32_t *was;

	/* private */
	uint32_t *previous; /* [node_count] previous node in the ring */
	bool *mover, *pinned;
	uint64_t *seen; /* [node_count] last search that reached the node, and its side */
	uint64_t searches;
	struct component_side {
		VEC(uint32_t) nodes;
		uint32_t at, edge; /* next node and edge to look at */
	} sides[2];
	VEC(uint32_t) relabelled, gone, free, numbers, numbered;
	uint32_t owner_count;
};

/* Owners are 0 (none) to owner_count - 1. */
void components_init(struct components *components, uint32_t owner_count);
void components_fini(struct components *components);
/* Sets the number of nodes; new nodes are alone and have no owner. */
void components_fit(struct components *components, uint32_t node_count);
/* Removes all edges; no node has an owner. */
void components_reset(struct components *components);

/* Linking an existing edge or cutting a missing one does nothing. */
void components_link(struct components *components, uint32_t a, uint32_t b);
void components_cut(struct components *components, uint32_t a, uint32_t b);
void components_describe(struct components *components, uint32_t node, bool mover, bool pinned);
/* Opens the node's component: its owner must be decided. */
void components_open(struct components *components, uint32_t node);
void components_own(struct components *components, uint32_t component, uint32_t owner);
/* Numbers components from 0 in the order in which the caller asks for them; `count` is how many have a number.
 * Numbers are valid until components_forget_numbers(), which must be called before the next change. */
uint32_t components_number(struct components *components, uint32_t component, uint32_t *count);
void components_forget_numbers(struct components *components);
/* The present state becomes the previous one: `was` is set from it. */
void components_settle(struct components *components);

#endif
