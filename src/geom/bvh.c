/* A leaf is inserted where the sum of surface areas grows least. Each ancestor is rotated when its sides differ by
 * more than one level, as in an AVL tree. A leaf that moves is inserted again below the lowest ancestor that contains
 * the new box, which is near for a box that moved a little. Infinite boxes would make areas useless, so areas are
 * taken of clamped boxes.
 *
 * A tree that is built at once is halved again and again: at the median of the box centres, along the axis on which
 * the centres are spread farthest. It is balanced from the start, and the nodes of each part lie next to each other.
 * Boxes without a centre come last. */
#include "geom/bvh.h"

#include <assert.h>
#include <stdlib.h>

#define NIL UINT32_MAX
#define BVH_FAR 1e6 /* m; only the tree's shape depends on it */

static double bvh_clamp(double x)
{
	return x < -BVH_FAR ? -BVH_FAR : x > BVH_FAR ? BVH_FAR : x;
}

static double bvh_area(const struct aabb *b)
{
	double x = bvh_clamp(b->hi.x) - bvh_clamp(b->lo.x), y = bvh_clamp(b->hi.y) - bvh_clamp(b->lo.y),
	       z = bvh_clamp(b->hi.z) - bvh_clamp(b->lo.z);
	return x * y + y * z + z * x;
}

static double bvh_joined_area(const struct aabb *a, const struct aabb *b)
{
	struct aabb joined = aabb_join(*a, *b);
	return bvh_area(&joined);
}

static bool bvh_is_leaf(const struct bvh_node *node)
{
	return node->left == NIL;
}

_Static_assert(sizeof(struct bvh_node) == 64, "a node is a cache line");

/* Room for `count` nodes in all. */
static void bvh_make_room(struct bvh *tree, uint32_t count)
{
	const uint32_t before = tree->nodes.room;
	if (count <= before)
		return;
	tree->nodes.room = MAX(count, 2 * before);
	tree->nodes.at = mem_grow_lines(
		tree->nodes.at, before * sizeof *tree->nodes.at, tree->nodes.room * sizeof *tree->nodes.at);
}

static uint32_t bvh_take_node(struct bvh *tree)
{
	if (tree->free1) {
		uint32_t node = tree->free1 - 1;
		tree->free1 = tree->nodes.at[node].parent;
		return node;
	}
	bvh_make_room(tree, tree->nodes.count + 1);
	return tree->nodes.count++;
}

static void bvh_give_node(struct bvh *tree, uint32_t node)
{
	tree->nodes.at[node].parent = tree->free1;
	tree->free1 = node + 1;
}

/* False when nothing changed. */
static bool bvh_refit(struct bvh *tree, uint32_t index)
{
	struct bvh_node *node = &tree->nodes.at[index], *left = &tree->nodes.at[node->left],
			*right = &tree->nodes.at[node->right];
	struct aabb box = aabb_join(left->box, right->box);
	uint32_t height = 1 + MAX(left->height, right->height);
	if (node->height == height && aabb_within(&node->box, &box) && aabb_within(&box, &node->box))
		return false;
	node->box = box;
	node->height = height;
	return true;
}

static void bvh_replace_child(struct bvh *tree, uint32_t parent, uint32_t old, uint32_t new)
{
	if (parent == NIL)
		tree->root1 = new + 1;
	else if (tree->nodes.at[parent].left == old)
		tree->nodes.at[parent].left = new;
	else
		tree->nodes.at[parent].right = new;
	tree->nodes.at[new].parent = parent;
}

/* The higher child `up` takes the place of `top`; top gets the lower child of up. */
static uint32_t bvh_rotate(struct bvh *tree, uint32_t top, uint32_t up)
{
	struct bvh_node *n = tree->nodes.at;
	uint32_t low = n[n[up].left].height < n[n[up].right].height ? n[up].left : n[up].right;
	uint32_t high = low == n[up].left ? n[up].right : n[up].left;
	bvh_replace_child(tree, n[top].parent, top, up);
	if (n[top].left == up)
		n[top].left = low;
	else
		n[top].right = low;
	n[low].parent = top;
	n[up].left = top;
	n[up].right = high;
	n[top].parent = up;
	bvh_refit(tree, top);
	bvh_refit(tree, up);
	return up;
}

/* Stops where nothing changes. */
static void bvh_refit_upwards(struct bvh *tree, uint32_t index)
{
	while (index != NIL) {
		struct bvh_node *n = tree->nodes.at;
		uint32_t left = n[index].left, right = n[index].right;
		if (n[left].height > n[right].height + 1)
			index = bvh_rotate(tree, index, left);
		else if (n[right].height > n[left].height + 1)
			index = bvh_rotate(tree, index, right);
		else if (!bvh_refit(tree, index))
			return;
		index = tree->nodes.at[index].parent;
	}
}

struct growth {
	uint32_t node;
	double here, joined; /* areas: of the node's box, and of that box joined with the new one */
};

static struct growth bvh_growth_of(const struct bvh *tree, uint32_t node, const struct aabb *box)
{
	const struct aabb *here = &tree->nodes.at[node].box;
	return (struct growth){node, bvh_area(here), bvh_joined_area(here, box)};
}

static uint32_t bvh_best_sibling(const struct bvh *tree, uint32_t top, const struct aabb *box)
{
	const struct bvh_node *n = tree->nodes.at;
	struct growth at = bvh_growth_of(tree, top, box);
	while (!bvh_is_leaf(&n[at.node])) {
		double pushed_down = 2 * (at.joined - at.here), cost[2];
		struct growth child[2] = {
			bvh_growth_of(tree, n[at.node].left, box), bvh_growth_of(tree, n[at.node].right, box)};
		for (int i = 0; i < 2; i++) {
			cost[i] = pushed_down + child[i].joined;
			if (!bvh_is_leaf(&n[child[i].node]))
				cost[i] -= child[i].here;
		}
		if (2 * at.joined < cost[0] && 2 * at.joined < cost[1])
			break;
		at = cost[0] <= cost[1] ? child[0] : child[1];
	}
	return at.node;
}

/* Inserts a leaf that is not in the tree below `top`. */
static void bvh_insert_below(struct bvh *tree, uint32_t top, uint32_t leaf)
{
	struct aabb box = tree->nodes.at[leaf].box;
	uint32_t sibling = bvh_best_sibling(tree, top, &box);
	uint32_t joint = bvh_take_node(tree);
	uint32_t parent = tree->nodes.at[sibling].parent;
	tree->nodes.at[joint] = (struct bvh_node){box, parent, sibling, leaf, 0}; /* to be refitted */
	bvh_replace_child(tree, parent, sibling, joint);
	tree->nodes.at[sibling].parent = joint;
	tree->nodes.at[leaf].parent = joint;
	bvh_refit_upwards(tree, joint);
}

uint32_t bvh_insert(struct bvh *tree, struct aabb box, uint32_t value)
{
	uint32_t leaf = bvh_take_node(tree);
	tree->nodes.at[leaf] = (struct bvh_node){box, NIL, NIL, value, 0};
	if (tree->root1)
		bvh_insert_below(tree, tree->root1 - 1, leaf);
	else
		tree->root1 = leaf + 1;
	return leaf;
}

static uint32_t bvh_sibling_of(const struct bvh *tree, uint32_t index)
{
	const struct bvh_node *parent = &tree->nodes.at[tree->nodes.at[index].parent];
	return parent->left == index ? parent->right : parent->left;
}

/* The leaf's sibling takes the place of their parent. */
static void bvh_take_out(struct bvh *tree, uint32_t leaf)
{
	uint32_t parent = tree->nodes.at[leaf].parent, above = tree->nodes.at[parent].parent;
	bvh_replace_child(tree, above, parent, bvh_sibling_of(tree, leaf));
	bvh_give_node(tree, parent);
	bvh_refit_upwards(tree, above);
}

/* The lowest ancestor that contains the box. */
static uint32_t bvh_holder(const struct bvh *tree, uint32_t leaf, const struct aabb *box)
{
	const struct bvh_node *n = tree->nodes.at;
	uint32_t index = n[leaf].parent;
	while (n[index].parent != NIL && !aabb_within(box, &n[index].box))
		index = n[index].parent;
	return index;
}

void bvh_move(struct bvh *tree, uint32_t leaf, struct aabb box)
{
	struct bvh_node *n = &tree->nodes.at[leaf];
	uint32_t parent = n->parent;
	n->box = box;
	if (parent == NIL)
		return;
	uint32_t top = bvh_holder(tree, leaf, &box);
	if (top == parent) /* the parent is removed together with the leaf */
		top = bvh_sibling_of(tree, leaf);
	bvh_take_out(tree, leaf);
	bvh_insert_below(tree, top, leaf);
}

void bvh_remove(struct bvh *tree, uint32_t leaf)
{
	if (tree->nodes.at[leaf].parent == NIL)
		tree->root1 = 0;
	else
		bvh_take_out(tree, leaf);
	bvh_give_node(tree, leaf);
}

/* --- all at once -------------------------------------------------------------------------------------------------- */

static double bvh_middle(const struct bvh_item *item, int axis)
{
	const struct aabb *b = &item->box;
	return axis == 0 ? b->lo.x + b->hi.x : axis == 1 ? b->lo.y + b->hi.y : b->lo.z + b->hi.z;
}

static int bvh_longest_axis(const struct bvh_item *items, uint32_t count)
{
	double extent[3];
	for (int axis = 0; axis < 3; axis++) {
		double lo = INFINITY, hi = -INFINITY;
		for (uint32_t i = 0; i < count; i++) {
			double at = bvh_middle(&items[i], axis);
			lo = at < lo ? at : lo;
			hi = at > hi ? at : hi;
		}
		extent[axis] = hi - lo;
	}
	return extent[0] >= extent[1] && extent[0] >= extent[2] ? 0 : extent[1] >= extent[2] ? 1 : 2;
}

static void bvh_swap(struct bvh_item *a, struct bvh_item *b)
{
	struct bvh_item kept = *a;
	*a = *b;
	*b = kept;
}

/* Quickselect: afterwards none of the first `half` items lies beyond any other item on the axis. */
static void bvh_halve(struct bvh_item *items, uint32_t count, uint32_t half, int axis)
{
	int64_t first = 0, last = (int64_t)count - 1;
	while (first < last) {
		double pivot = bvh_middle(&items[first + (last - first) / 2], axis);
		int64_t i = first, j = last;
		while (i <= j) {
			while (bvh_middle(&items[i], axis) < pivot)
				i++;
			while (bvh_middle(&items[j], axis) > pivot)
				j--;
			if (i <= j)
				bvh_swap(&items[i++], &items[j--]);
		}
		if ((int64_t)half <= j)
			last = j;
		else if ((int64_t)half >= i)
			first = i;
		else
			return;
	}
}

/* Returns the node; the tree must have room for 2 count - 1 more nodes. */
static uint32_t bvh_build_below(struct bvh *tree, struct bvh_item *items, uint32_t count, uint32_t parent)
{
	uint32_t node = tree->nodes.count++, half = count / 2;
	if (count == 1) {
		tree->nodes.at[node] = (struct bvh_node){items->box, parent, NIL, items->value, 0};
		if (items->ret_leaf)
			*items->ret_leaf = node;
		return node;
	}
	bvh_halve(items, count, half, bvh_longest_axis(items, count));
	uint32_t left = bvh_build_below(tree, items, half, node),
		 right = bvh_build_below(tree, items + half, count - half, node);
	tree->nodes.at[node] = (struct bvh_node){.parent = parent, .left = left, .right = right};
	bvh_refit(tree, node);
	return node;
}

static bool bvh_has_middle(const struct aabb *b)
{
	return isfinite(b->lo.x + b->hi.x) && isfinite(b->lo.y + b->hi.y) && isfinite(b->lo.z + b->hi.z);
}

void bvh_build(struct bvh *tree, struct bvh_item *items, uint32_t count)
{
	uint32_t finite = 0;
	for (uint32_t i = 0; i < count; i++)
		if (bvh_has_middle(&items[i].box))
			bvh_swap(&items[finite++], &items[i]);
	if (tree->root1) {
		finite = 0;
	} else if (finite) {
		tree->nodes.count = tree->free1 = 0;
		bvh_make_room(tree, 2 * finite - 1);
		tree->root1 = 1 + bvh_build_below(tree, items, finite, NIL);
	}
	for (uint32_t i = finite; i < count; i++) {
		uint32_t leaf = bvh_insert(tree, items[i].box, items[i].value);
		if (items[i].ret_leaf)
			*items[i].ret_leaf = leaf;
	}
}

void bvh_query(const struct bvh *tree, const struct aabb *box, bvh_values *values)
{
	/* an AVL tree of 2^32 leaves is less than 47 high; this tree may be somewhat higher */
	enum { STACK = 128 };
	uint32_t stack[STACK], depth = 0;
	if (tree->root1)
		stack[depth++] = tree->root1 - 1;
	while (depth) {
		const struct bvh_node *node = &tree->nodes.at[stack[--depth]];
		if (!aabb_overlap(&node->box, box))
			continue;
		if (bvh_is_leaf(node)) {
			vec_push(values, node->right);
		} else {
			assert(depth + 2 <= STACK);
			__builtin_prefetch(&tree->nodes.at[node->right]);
			__builtin_prefetch(&tree->nodes.at[node->left]);
			stack[depth++] = node->left;
			stack[depth++] = node->right;
		}
	}
}

void bvh_fini(struct bvh *tree)
{
	free(tree->nodes.at);
	*tree = (struct bvh){0};
}
