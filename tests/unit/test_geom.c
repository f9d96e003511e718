/* Rotations compose; the tree of boxes answers as an exhaustive search does, after any changes; and the box of a shape
 * holds the shape and is not larger than it must be. */
#include "../random.h"
#include "geom/bvh.h"
#include "scene/scene.h"

#include <criterion/criterion.h>
#include <stdlib.h>

TestSuite(geom, .timeout = 60);

static void near(struct vec3 a, struct vec3 b)
{
	struct vec3 d = vec3_sub(a, b);
	cr_assert(vec3_length(d) < 1e-12, "(%g %g %g) is not (%g %g %g)", a.x, a.y, a.z, b.x, b.y, b.z);
}

Test(geom, rotations_compose_and_invert)
{
	struct pose a = {{1, 2, 3}, quat_from_rpy(0.3, -0.7, 2.1)}, b = {{-4, 0.5, 2}, quat_from_rpy(-1, 0.2, 0.1)};
	struct vec3 v = {0.3, -5, 2};
	near(pose_point(pose_mul(a, b), v), pose_point(a, pose_point(b, v)));
	near(pose_point(pose_inverse(a), pose_point(a, v)), v);
	near(quat_rotate(quat_from_rpy(0, 0, M_PI / 2), (struct vec3){1, 0, 0}), (struct vec3){0, 1, 0});
	near(quat_rotate(quat_from_rpy(M_PI / 2, 0, 0), (struct vec3){0, 1, 0}), (struct vec3){0, 0, 1});
	struct mat3 m = quat_matrix(a.q);
	near((struct vec3){m.m[0][0] * v.x + m.m[0][1] * v.y + m.m[0][2] * v.z,
		     m.m[1][0] * v.x + m.m[1][1] * v.y + m.m[1][2] * v.z,
		     m.m[2][0] * v.x + m.m[2][1] * v.y + m.m[2][2] * v.z},
		quat_rotate(a.q, v));
}

static struct aabb random_box(uint64_t *seed)
{
	struct vec3 centre = {random_unit(seed) * 100, random_unit(seed) * 100, random_unit(seed) * 10};
	return aabb_around(centre, (struct vec3){random_unit(seed) * 8, random_unit(seed) * 8, random_unit(seed) * 8});
}

/* The box of each node is the box around its children; its height is one more than that of its higher child; it is the
 * parent of both. */
static uint32_t check_tree(const struct bvh *tree, uint32_t index)
{
	const struct bvh_node *n = tree->nodes.at, *node = &n[index];
	if (node->left == UINT32_MAX)
		return 1;
	struct aabb both = aabb_join(n[node->left].box, n[node->right].box);
	cr_assert(aabb_within(&node->box, &both) && aabb_within(&both, &node->box));
	cr_assert_eq(node->height, 1 + MAX(n[node->left].height, n[node->right].height));
	cr_assert_eq(n[node->left].parent, index);
	cr_assert_eq(n[node->right].parent, index);
	return check_tree(tree, node->left) + check_tree(tree, node->right);
}

static struct aabb moved(struct aabb box, uint64_t *seed)
{
	struct vec3 by = {random_unit(seed) - 0.5, random_unit(seed) - 0.5, 0};
	return (struct aabb){vec3_add(box.lo, by), vec3_add(box.hi, by)};
}

/* After any insertions, moves and removals a query reports exactly the boxes that an exhaustive search
 * finds. */
Test(geom, tree_agrees_with_exhaustive_search)
{
	enum { COUNT = 600 };
	static struct aabb boxes[COUNT];
	static uint32_t leaves[COUNT];
	static bool here[COUNT];
	struct bvh tree = {0};
	bvh_values found = {0};
	uint64_t seed = 4;
	uint32_t count = 0;
	for (int round = 0; round < 12000; round++) {
		/* few boxes at first: also one alone, and two */
		uint32_t i = (uint32_t)(random_unit(&seed) * (round < 500 ? 3 : COUNT));
		if (here[i] && random_unit(&seed) < 0.7) {
			boxes[i] = i == 7 || random_unit(&seed) < 0.1 ? random_box(&seed) : moved(boxes[i], &seed);
			bvh_move(&tree, leaves[i], boxes[i]);
		} else if (here[i]) {
			bvh_remove(&tree, leaves[i]);
			here[i] = false;
			count--;
		} else {
			leaves[i] = bvh_insert(&tree, boxes[i] = i == 7 ? AABB_ALL : random_box(&seed), i);
			here[i] = true;
			count++;
		}
		/* nodes that were given back are used again */
		cr_assert_leq(tree.nodes.count, 2 * COUNT);
		if (round % 50 && round > 500)
			continue;
		cr_assert_eq(count ? check_tree(&tree, tree.root1 - 1) : tree.root1, count);
		struct aabb probe = random_box(&seed);
		uint32_t expected = 0;
		for (uint32_t k = 0; k < COUNT; k++)
			expected += here[k] && aabb_overlap(&boxes[k], &probe);
		found.count = 0;
		bvh_query(&tree, &probe, &found);
		cr_assert_eq(found.count, expected);
		for (uint32_t k = 0; k < found.count; k++)
			cr_assert(here[found.at[k]] && aabb_overlap(&boxes[found.at[k]], &probe));
	}
	cr_assert_leq(tree.nodes.at[tree.root1 - 1].height, 20, "as high as %u for %u leaves",
		tree.nodes.at[tree.root1 - 1].height, count);
	vec_free(&found);
	bvh_fini(&tree);
}

static uint32_t overlapping(const struct aabb *boxes, const bool *here, uint32_t count, const struct aabb *probe)
{
	uint32_t expected = 0;
	for (uint32_t k = 0; k < count; k++)
		expected += here[k] && aabb_overlap(&boxes[k], probe);
	return expected;
}

/* A tree that is built at once can be used like one that has grown: by queries, insertions and removals. */
Test(geom, a_tree_built_at_once_agrees_with_exhaustive_search)
{
	enum { COUNT = 1000 };
	static struct aabb boxes[COUNT];
	static uint32_t leaves[COUNT];
	static bool here[COUNT];
	static struct bvh_item items[COUNT];
	uint64_t seed = 5;
	for (uint32_t count = 0; count <= COUNT; count += count < 20 ? 1 : 245) {
		struct bvh tree = {0};
		bvh_values found = {0};
		for (uint32_t i = 0; i < count; i++) { /* some boxes everywhere, many in one place */
			boxes[i] = i % 97 == 7 ? AABB_ALL : i % 3 && i ? boxes[i - 1] : random_box(&seed);
			items[i] = (struct bvh_item){boxes[i], i, &leaves[i]};
			here[i] = true;
		}
		bvh_build(&tree, items, count);
		for (uint32_t height = 1, i = 0; count && i < tree.nodes.count; height = 1, i++) {
			while (height < 32 && 1u << height < count)
				height++;
			cr_assert_leq(tree.nodes.at[i].height, 2 * height, "%u leaves: too high", count);
		}
		for (uint32_t round = 0; round < 300 && count; round++) {
			uint32_t i = round * 7 % count;
			struct aabb probe = random_box(&seed);
			found.count = 0;
			bvh_query(&tree, &probe, &found);
			cr_assert_eq(found.count, overlapping(boxes, here, count, &probe));
			for (uint32_t k = 0; k < found.count; k++)
				cr_assert(here[found.at[k]] && aabb_overlap(&boxes[found.at[k]], &probe));
			if (here[i])
				bvh_remove(&tree, leaves[i]);
			else
				leaves[i] = bvh_insert(&tree, boxes[i], i);
			here[i] = !here[i];
		}
		vec_free(&found);
		bvh_fini(&tree);
	}
}

/* The box of a shape holds the shape, and touches it on every side: compared with points of its surface. */
Test(geom, shape_boxes_are_tight)
{
	uint64_t seed = 9;
	for (int kind = SCENE_BOX; kind <= SCENE_CAPSULE; kind++)
		for (int trial = 0; trial < 20; trial++) {
			struct scene_geom geom = {.kind = (enum scene_shape_kind)kind,
				.size = {0.5, kind == SCENE_BOX ? 0.2 : 0, 0.8},
				.in_body = {{0.1, 0.2, 0.3}, quat_from_rpy(random_unit(&seed), 1, 2)}};
			struct pose body = {{5, -3, 1},
				quat_from_rpy(random_unit(&seed) * 6, random_unit(&seed) * 3, random_unit(&seed) * 6)};
			struct aabb box = scene_geom_box(&geom, body), grown = AABB_NONE;
			struct pose pose = pose_mul(body, geom.in_body);
			for (int i = 0; i < 20000; i++) {
				double u = random_unit(&seed) * 2 - 1, phi = random_unit(&seed) * 2 * M_PI,
				       s = sqrt(1 - u * u);
				struct vec3 unit = {s * cos(phi), s * sin(phi), u}, p = {0, 0, 0};
				if (kind == SCENE_BOX)
					p = (struct vec3){
						copysign(0.5, unit.x), copysign(0.2, unit.y), copysign(0.8, unit.z)};
				else if (kind == SCENE_SPHERE)
					p = vec3_scale(unit, 0.5);
				else if (kind == SCENE_CYLINDER)
					p = (struct vec3){0.5 * cos(phi), 0.5 * sin(phi), copysign(0.8, u)};
				else
					p = vec3_add(vec3_scale(unit, 0.5), (struct vec3){0, 0, copysign(0.8, u)});
				struct vec3 at = pose_point(pose, p);
				grown = aabb_join(grown, (struct aabb){at, at});
			}
			struct aabb slack = aabb_grow(box, 1e-9);
			cr_assert(aabb_within(&grown, &slack), "kind %d sticks out", kind);
			slack = aabb_grow(grown, 0.02);
			cr_assert(aabb_within(&box, &slack), "kind %d: box is too large", kind);
		}
}
