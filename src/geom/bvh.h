/* A dynamic tree of boxes: insert, remove and query take O(log n) in a balanced tree. The shape of the tree depends
 * on the history of insertions, so a query reports in no particular order: a caller that needs an order sorts. Not
 * thread-safe while the tree changes; queries may run in parallel while it does not. */
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
	struct {
		struct bvh_node *at; /* each on a cache line of its own */
		uint32_t count, room;
	} nodes;
	uint32_t root1, free1; /* index plus one; 0: none */
};

/* Returns a handle for bvh_remove() and bvh_move(). Boxes may be infinite. */
uint32_t bvh_insert(struct bvh *tree, struct aabb box, uint32_t value);
void bvh_remove(struct bvh *tree, uint32_t leaf);
/* Gives the leaf another box; value and handle stay. The nearer the new box is, the less work. */
void bvh_move(struct bvh *tree, uint32_t leaf, struct aabb box);

struct bvh_item {
	struct aabb box;
	uint32_t value;
	uint32_t *ret_leaf; /* NULL: not wanted */
};
/* Inserts all items and reorders the array. For an empty tree this takes a tenth of the time of single insertions,
 * and the tree is no worse. */
void bvh_build(struct bvh *tree, struct bvh_item *items, uint32_t count);

/* Appends the values of all leaves whose boxes overlap box, unordered: a set of indices only after sorting. */
typedef indices bvh_values;
void bvh_query(const struct bvh *tree, const struct aabb *box, bvh_values *values);
void bvh_fini(struct bvh *tree);

#endif
