/* A dynamic tree of boxes: insert, remove, query, all O(log n) in a balanced tree. Shape of the tree depends on the
 * history of insertions, so a query reports in no particular order: whoever needs an order sorts.
 * Not thread-safe while it changes; queries may run in parallel when nothing does. */
#ifndef GEOM_BVH_H
#define GEOM_BVH_H

#include "base/indices.h"
#include "geom/geom.h"

struct bvh_node {
	struct aabb box;
	uint32_t parent, left, right; /* left is UINT32_MAX in a leaf, whose value is in right */
	uint32_t height;              /* 0: leaf */
};

struct bvh { /* zeroed is empty */
	VEC(struct bvh_node) nodes;
	uint32_t root1, free1; /* index plus one; 0: none */
};

/* A handle for the next two. Boxes may be infinite. */
uint32_t bvh_insert(struct bvh *tree, struct aabb box, uint32_t value);
void bvh_remove(struct bvh *tree, uint32_t leaf);
/* Another box, for the same value and by the same handle; the nearer it is, the less that takes. */
void bvh_move(struct bvh *tree, uint32_t leaf, struct aabb box);

struct bvh_item {
	struct aabb box;
	uint32_t value;
	uint32_t *ret_leaf; /* NULL: not wanted */
};
/* Inserts all of them, and leaves the items in another order. Into an empty tree that takes a tenth of the time that
 * one after the other would, and makes a tree that is no worse. */
void bvh_build(struct bvh *tree, struct bvh_item *items, uint32_t count);

/* Appends the values of all leaves whose boxes overlap box, in no order: not a set until somebody sorts it. */
typedef indices bvh_values;
void bvh_query(const struct bvh *tree, const struct aabb *box, bvh_values *values);
void bvh_fini(struct bvh *tree);

#endif
