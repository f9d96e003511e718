/* Contacts between pairs of shapes whose depth is known, in random orientations; and that the result does not depend on
 * the order of the two shapes. */
#include "../random.h"
#include "collide/internal.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "config.h"

TestSuite(collide, .timeout = 60);

static struct pose random_pose(uint64_t *seed)
{
	return (struct pose){{random_unit(seed) * 10 - 5, random_unit(seed) * 10 - 5, random_unit(seed) * 10 - 5},
		quat_from_rpy(random_unit(seed) * 6, random_unit(seed) * 6, random_unit(seed) * 6)};
}

static void place(struct collide_shape *shape, struct pose pose)
{
	shape->p = pose.p;
	shape->r = quat_matrix(pose.q);
}

/* b stands on its origin, and a on b, `sunk` deep; both are turned together at random. The deepest contact must have
 * this depth. */
static void check_sunk(struct collide_shape a, double height_a, struct collide_shape b, double top_b, double sunk,
	uint32_t least, double tolerance)
{
	uint64_t seed = 1;
	for (int trial = 0; trial < 50; trial++) {
		struct pose frame = random_pose(&seed);
		struct collide_contact c[COLLIDE_PAIR_MAX];
		struct pose over = {{0, 0, top_b + height_a - sunk}, quat_from_rpy(0, 0, random_unit(&seed))};
		place(&b, frame);
		place(&a, pose_mul(frame, over));
		uint32_t count = collide_convex(&a, &b, c);
		struct vec3 up = quat_rotate(frame.q, (struct vec3){0, 0, 1});
		double deepest = 0;
		cr_assert_geq(count, least, "kinds %d and %d: %u contacts", a.kind, b.kind, count);
		for (uint32_t i = 0; i < count; i++) {
			cr_assert_gt(vec3_dot(c[i].normal, up), 1 - 1e-5, "kinds %d and %d", a.kind, b.kind);
			deepest = fmax(deepest, c[i].depth);
		}
		cr_assert(fabs(deepest - sunk) < tolerance, "kinds %d and %d: %g deep, expected %g", a.kind, b.kind,
			deepest, sunk);
		place(&a, pose_mul(frame, (struct pose){{0, 0, top_b + height_a + 1e-6}, QUAT_IDENTITY}));
		cr_assert_eq(
			collide_convex(&a, &b, c), 0, "kinds %d and %d are apart, but have contacts", a.kind, b.kind);
	}
}

static const struct collide_shape lying = {.kind = COLLIDE_BOX, .size = {0.5, 0.4, 0.3}};

Test(collide, primitives_on_a_box)
{
	static const struct {
		struct collide_shape shape;
		double height;
		uint32_t least;
	} cases[] = {
		{{.kind = COLLIDE_BOX, .size = {0.2, 0.2, 0.1}}, 0.1, 4},
		{{.kind = COLLIDE_SPHERE, .size = {0.2, 0, 0}}, 0.2, 1},
		{{.kind = COLLIDE_CYLINDER, .size = {0.2, 0, 0.3}}, 0.3, 3},
		{{.kind = COLLIDE_CAPSULE, .size = {0.1, 0, 0.3}}, 0.4, 1},
		{{.kind = COLLIDE_CONE, .size = {0.2, 0, 0.3}}, 0.3, 3},
		{{.kind = COLLIDE_ELLIPSOID, .size = {0.2, 0.15, 0.1}}, 0.1, 1},
	};
	static const double depths[] = {1e-6, 1e-3, 0.05};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (size_t d = 0; d < ARRAY_LEN(depths); d++)
			check_sunk(cases[i].shape, cases[i].height, lying, 0.3, depths[d], cases[i].least, 2e-6);
}

/* b is a thousand times as large as a, and the other way round. */
Test(collide, sizes_apart)
{
	const struct collide_shape large = {.kind = COLLIDE_BOX, .size = {50, 50, 50}},
				   small = {.kind = COLLIDE_BOX, .size = {0.05, 0.05, 0.05}};
	check_sunk(small, 0.05, large, 50, 1e-3, 4, 1e-6);
	check_sunk(large, 50, small, 0.05, 1e-3, 4, 1e-6);
}

/* Two edges that cross, each turned by 45 degrees. */
Test(collide, edges)
{
	struct collide_shape a = {.kind = COLLIDE_BOX, .size = {1, 0.1, 0.1}}, b = a;
	struct collide_contact c[COLLIDE_PAIR_MAX];
	double reach = 0.1 * sqrt(2);
	place(&b, (struct pose){{0, 0, 0}, quat_from_rpy(M_PI / 4, 0, 0)});
	place(&a, (struct pose){{0, 0, 2 * reach - 0.01},
			  quat_mul(quat_from_rpy(0, 0, M_PI / 2), quat_from_rpy(M_PI / 4, 0, 0))});
	cr_assert_eq(collide_convex(&a, &b, c), 1);
	cr_assert_float_eq(c[0].depth, 0.01, 1e-9);
	cr_assert_float_eq(c[0].normal.z, 1, 1e-9);
	cr_assert(fabs(c[0].at.x) < 1e-9 && fabs(c[0].at.y) < 1e-9);
}

/* The order of the two shapes changes the direction of the normal, and nothing else. */
Test(collide, symmetric)
{
	uint64_t seed = 4;
	uint32_t touching = 0;
	for (int trial = 0; trial < 2000; trial++) {
		static const enum collide_kind kinds[] = {
			COLLIDE_BOX, COLLIDE_CYLINDER, COLLIDE_CONE, COLLIDE_ELLIPSOID};
		struct collide_shape a = {.kind = kinds[trial % 4], .size = {0.5, 0.4, 0.3}},
				     b = {.kind = kinds[trial / 4 % 4], .size = {0.3, 0.6, 0.2}};
		struct collide_contact one[COLLIDE_PAIR_MAX], two[COLLIDE_PAIR_MAX];
		struct pose pose = random_pose(&seed);
		pose.p = vec3_scale(pose.p, 0.15);
		place(&a, POSE_IDENTITY);
		place(&b, pose);
		uint32_t n = collide_convex(&a, &b, one), m = collide_convex(&b, &a, two);
		cr_assert_eq(!n, !m);
		touching += n > 0;
		double deep = 0, back = 0;
		for (uint32_t i = 0; i < n; i++)
			deep = fmax(deep, one[i].depth);
		for (uint32_t i = 0; i < m; i++)
			back = fmax(back, two[i].depth);
		cr_assert(fabs(deep - back) < 0.02 + 0.2 * deep, "trial %d: %g and %g deep", trial, deep, back);
		/* a shape that is moved along the normal by the depth is apart from the other one (or nearly) */
		if (!n)
			continue;
		a.p = vec3_add(a.p, vec3_scale(one[0].normal, one[0].depth * 1.02 + 1e-3));
		cr_assert_leq(collide_convex(&a, &b, two), 4);
	}
	cr_assert_gt(touching, 300);
}

#ifdef HAVE_MESHES

static struct hull hull_of_box(struct vec3 half)
{
	struct vec3 corners[8];
	struct hull hull = {0};
	for (int i = 0; i < 8; i++)
		corners[i] =
			(struct vec3){i & 1 ? half.x : -half.x, i & 2 ? half.y : -half.y, i & 4 ? half.z : -half.z};
	cr_assert_eq(hull_make(corners, 8, &hull, NULL), TROUPE_OK);
	return hull;
}

/* A hull of a box's corners touches as the box does. */
Test(collide, hulls)
{
	struct hull small = hull_of_box((struct vec3){0.2, 0.2, 0.1}),
		    large = hull_of_box((struct vec3){0.5, 0.4, 0.3});
	struct collide_shape a = {.kind = COLLIDE_HULL, .hull = &small}, b = {.kind = COLLIDE_HULL, .hull = &large};
	static const double depths[] = {1e-6, 1e-3, 0.05};
	for (size_t d = 0; d < ARRAY_LEN(depths); d++) {
		check_sunk(a, 0.1, b, 0.3, depths[d], 4, 1e-7);
		check_sunk(a, 0.1, lying, 0.3, depths[d], 4, 1e-7);
		check_sunk((struct collide_shape){.kind = COLLIDE_SPHERE, .size = {0.2, 0, 0}}, 0.2, b, 0.3, depths[d],
			1, 1e-9);
		check_sunk((struct collide_shape){.kind = COLLIDE_CAPSULE, .size = {0.1, 0, 0.3}}, 0.4, b, 0.3,
			depths[d], 1, 1e-9);
	}
	hull_fini(&small);
	hull_fini(&large);
}

#endif

/* Two slopes that meet in a ridge along y; a ball over it, and beside it. */
Test(collide, ridge)
{
	struct mesh mesh = {0};
	struct trimesh trimesh;
	struct collide_space space = {0};
	struct collide_contact c[10];
	static const struct vec3 points[] = {{-1, -1, -1}, {0, -1, 0}, {1, -1, -1}, {-1, 1, -1}, {0, 1, 0}, {1, 1, -1}};
	for (size_t i = 0; i < 6; i++)
		mesh_add_point(&mesh, points[i]);
	mesh_add_triangle(&mesh, 0, 1, 4), mesh_add_triangle(&mesh, 0, 4, 3);
	mesh_add_triangle(&mesh, 1, 2, 5), mesh_add_triangle(&mesh, 1, 5, 4);
	trimesh_of_mesh(&mesh, &trimesh);
	struct collide_shape ball = {.kind = COLLIDE_SPHERE, .size = {0.2, 0, 0}, .p = {0, 0.3, 0.19}};
	ball.r = quat_matrix(QUAT_IDENTITY);
	cr_assert_eq(collide_trimesh(&ball, &trimesh, 10, &space, c), 1);
	cr_assert_float_eq(c[0].normal.z, 1, 1e-9);
	cr_assert_float_eq(c[0].depth, 0.01, 1e-9);
	ball.p = (struct vec3){0.5 + 0.19 * sqrt(0.5), 0.3, -0.5 + 0.19 * sqrt(0.5)};
	cr_assert_eq(collide_trimesh(&ball, &trimesh, 10, &space, c), 1);
	cr_assert_float_eq(c[0].normal.x, sqrt(0.5), 1e-9);
	cr_assert_float_eq(c[0].depth, 0.01, 1e-9);
	collide_space_fini(&space);
	trimesh_fini(&trimesh);
	mesh_fini(&mesh);
}

/* How far contacts reach along each axis of the ground, and how deep they are, in the ground's frame. round: the
 * contacts are those of a disc, so they may be turned in any way. */
struct reach {
	double x, y, depth;
	bool round;
};

static void expect_reach(
	const char *what, const struct collide_contact *c, uint32_t count, struct pose ground, struct reach expected)
{
	struct aabb box = AABB_NONE;
	struct vec3 sum = {0, 0, 0};
	double deepest = 0, across = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct vec3 at = pose_point(pose_inverse(ground), c[i].at);
		box = aabb_join(box, (struct aabb){at, at});
		sum = vec3_add(sum, at);
		deepest = fmax(deepest, c[i].depth);
		for (uint32_t k = 0; k < i; k++)
			across = fmax(across, vec3_length(vec3_sub(c[i].at, c[k].at)));
	}
	cr_assert(fabs(deepest - expected.depth) < 1e-6, "%s: %g deep, expected %g", what, deepest, expected.depth);
	if (expected.round) {
		cr_assert(count == 4 && fabs(across - expected.x) < 1e-4 && vec3_length(sum) / 4 < 0.01,
			"%s: %u contacts, %g across: expected 4 around its middle, %g across", what, count, across,
			expected.x);
		return;
	}
	double x = box.hi.x - box.lo.x, y = box.hi.y - box.lo.y;
	cr_assert(fabs(x - expected.x) < 1e-4 && fabs(y - expected.y) < 1e-4,
		"%s: contacts reach %g and %g, expected %g and %g", what, x, y, expected.x, expected.y);
}

/* A shape that lies on a plane, on a large box or on a large hull touches it with all of the lower side: for each of
 * its sides, and tilted by next to nothing, as shapes at rest are. */
Test(collide, lies_on_all_of_each_side)
{
	const double quarter = M_PI / 2, sunk = 0.004;
	static const struct collide_shape box = {.kind = COLLIDE_BOX, .size = {0.5, 0.4, 0.3}},
					  can = {.kind = COLLIDE_CYLINDER, .size = {0.3, 0, 0.5}},
					  pill = {.kind = COLLIDE_CAPSULE, .size = {0.3, 0, 0.5}};
	const struct {
		const char *what;
		const struct collide_shape *shape;
		double roll, pitch, height, x, y;
	} sides[] = {
		{"box on -z", &box, 0, 0, 0.3, 1, 0.8},
		{"box on +z", &box, M_PI, 0, 0.3, 1, 0.8},
		{"box on -y", &box, quarter, 0, 0.4, 1, 0.6},
		{"box on +y", &box, -quarter, 0, 0.4, 1, 0.6},
		{"box on +x", &box, 0, quarter, 0.5, 0.6, 0.8},
		{"box on -x", &box, 0, -quarter, 0.5, 0.6, 0.8},
		{"can on -z", &can, 0, 0, 0.5, 0.6, 0.6},
		{"can on +z", &can, M_PI, 0, 0.5, 0.6, 0.6},
		{"can along x", &can, 0, quarter, 0.3, 1, 0},
		{"can along y", &can, quarter, 0, 0.3, 0, 1},
		{"pill along x", &pill, 0, quarter, 0.3, 1, 0},
		{"pill along y", &pill, -quarter, 0, 0.3, 0, 1},
	};
	uint64_t seed = 9;
	for (size_t i = 0; i < ARRAY_LEN(sides); i++)
		for (int trial = 0; trial < 5; trial++) {
			struct pose ground = trial ? random_pose(&seed) : POSE_IDENTITY;
			struct pose over = {{0, 0, sides[i].height - sunk},
				quat_from_rpy(sides[i].roll + 1e-7, sides[i].pitch + 1e-7, 0)};
			struct collide_shape a = *sides[i].shape, slab = {.kind = COLLIDE_BOX, .size = {4, 5, 0.5}};
			struct collide_contact c[COLLIDE_PAIR_MAX];
			struct vec3 up = quat_rotate(ground.q, (struct vec3){0, 0, 1});
			const struct reach expected = {sides[i].x, sides[i].y, sunk, i == 6 || i == 7};
			place(&a, pose_mul(ground, over));
			uint32_t count = collide_plane(&a, up, vec3_dot(up, ground.p), c);
			expect_reach(sides[i].what, c, count, ground, expected);
			place(&slab, pose_mul(ground, (struct pose){{0.1, 0.2, -0.5}, QUAT_IDENTITY}));
			count = collide_convex(&a, &slab, c);
			expect_reach(sides[i].what, c, count, ground, expected);
			count = collide_convex(&slab, &a, c); /* the two shapes in the other order */
			expect_reach(sides[i].what, c, count, ground, expected);
		}
}

/* --- parts of it -------------------------------------------------------------------------------------------------- */

static struct vec3 random_point(uint64_t *seed)
{
	return (struct vec3){random_unit(seed) * 2 - 1, random_unit(seed) * 2 - 1, random_unit(seed) * 2 - 1};
}

static double apart(struct vec3 a, struct vec3 b)
{
	return vec3_length(vec3_sub(a, b));
}

/* The nearest points of two lines are compared with many pairs of points; also for lines that are parallel, or are
 * points. */
Test(collide, nearest_points_of_lines)
{
	enum { POINTS = 200 };
	uint64_t seed = 3;
	for (int trial = 0; trial < 400; trial++) {
		struct vec3 a = random_point(&seed), b = random_point(&seed), c = random_point(&seed),
			    d = random_point(&seed);
		if (trial % 10 == 1)
			d = vec3_add(c, vec3_scale(vec3_sub(b, a), random_unit(&seed) * 2 - 1));
		if (trial % 10 == 2)
			b = a;
		if (trial % 10 == 3)
			d = c;
		struct vec3 p, q;
		round_nearest(a, b, c, d, &p, &q);
		double least = apart(p, q);
		cr_assert(
			fabs(apart(a, p) + apart(p, b) - apart(a, b)) < 1e-9, "trial %d: not on the first line", trial);
		cr_assert(fabs(apart(c, q) + apart(q, d) - apart(c, d)) < 1e-9, "trial %d: not on the second line",
			trial);
		for (int i = 0; i <= POINTS; i++)
			for (int k = 0; k <= POINTS; k++) {
				struct vec3 x = vec3_add(a, vec3_scale(vec3_sub(b, a), (double)i / POINTS));
				struct vec3 y = vec3_add(c, vec3_scale(vec3_sub(d, c), (double)k / POINTS));
				cr_assert(apart(x, y) > least - 1e-9, "trial %d: %g apart, others %g", trial, least,
					apart(x, y));
			}
	}
}

/* Of many contacts on a plane the deepest is kept, and others that together span about as much as all do. */
Test(collide, kept_contacts_span)
{
	uint64_t seed = 9;
	for (int trial = 0; trial < 500; trial++) {
		struct collide_contact c[12];
		uint32_t count = 3 + (uint32_t)(random_unit(&seed) * 9), deepest = 0;
		double most = 0, kept = 0, way = trial % 2 ? 1 : -1;
		for (uint32_t i = 0; i < count; i++) {
			c[i] = (struct collide_contact){{random_unit(&seed), random_unit(&seed), 0}, {0, 0, way},
				0.1 + 0.1 * random_unit(&seed)};
			deepest = c[i].depth > c[deepest].depth ? i : deepest;
		}
		for (uint32_t i = 0; i < count; i++)
			for (uint32_t k = 0; k < i; k++)
				for (uint32_t l = 0; l < k; l++)
					most = fmax(most,
						fabs(vec3_cross(vec3_sub(c[k].at, c[i].at), vec3_sub(c[l].at, c[i].at))
								.z));
		double depth = c[deepest].depth;
		uint32_t left = reduce_flat(c, count);
		cr_assert(left >= 3 && left <= COLLIDE_PAIR_MAX, "trial %d: %u are left", trial, left);
		cr_assert_eq(c[0].depth, depth, "trial %d", trial);
		for (uint32_t i = 0; i < left; i++)
			for (uint32_t k = 0; k < i; k++)
				for (uint32_t l = 0; l < k; l++)
					kept = fmax(kept,
						fabs(vec3_cross(vec3_sub(c[k].at, c[i].at), vec3_sub(c[l].at, c[i].at))
								.z));
		cr_assert(kept > 0.3 * most, "trial %d: an area of %g of %g", trial, kept, most);
	}
}

static struct trimesh grid_of(const float *heights, uint32_t columns, uint32_t rows)
{
	struct trimesh trimesh;
	struct trimesh_grid grid = {.columns = columns,
		.rows = rows,
		.origin = {0, rows - 1, 0},
		.dx = 1,
		.dy = 1,
		.z = mem_alloc(columns * rows * sizeof *grid.z)};
	memcpy(grid.z, heights, columns * rows * sizeof *heights);
	trimesh_of_grid(grid, &trimesh);
	return trimesh;
}

/* A cell with one high corner is touched at this corner. */
Test(collide, each_corner_of_a_cell)
{
	static const double at[4][2] = {{0, 1}, {1, 1}, {0, 0}, {1, 0}};
	for (int corner = 0; corner < 4; corner++) {
		float heights[4] = {0};
		heights[corner] = 1;
		struct trimesh trimesh = grid_of(heights, 2, 2);
		struct collide_space space = {0};
		struct collide_contact found[4];
		double x = at[corner][0], y = at[corner][1];
		struct collide_shape ball = {.kind = COLLIDE_SPHERE, .size = {0.1, 0, 0}};
		place(&ball,
			(struct pose){{x + (x > 0 ? -0.02 : 0.02), y + (y > 0 ? -0.02 : 0.02), 1.03}, QUAT_IDENTITY});
		cr_assert_gt(collide_trimesh(&ball, &trimesh, 4, &space, found), 0, "corner %d", corner);
		collide_space_fini(&space);
		trimesh_fini(&trimesh);
	}
}

/* The deepest contact with a surface is kept, however small the permitted number of contacts is. */
Test(collide, the_deepest_on_a_surface_is_kept)
{
	enum { SIDE = 8, MANY = 32 };
	uint64_t seed = 21;
	for (int trial = 0; trial < 60; trial++) {
		float heights[SIDE * SIDE];
		for (int i = 0; i < SIDE * SIDE; i++)
			heights[i] = (float)(0.3 * random_unit(&seed));
		struct trimesh trimesh = grid_of(heights, SIDE, SIDE);
		struct collide_space space = {0};
		struct collide_contact found[MANY];
		struct collide_shape box = {.kind = COLLIDE_BOX, .size = {2.5, 2.5, 0.3}};
		place(&box, (struct pose){{3.5, 3.5, 0.5},
				    quat_from_rpy(0.1 * random_unit(&seed), 0.1 * random_unit(&seed), 1)});
		double deepest = 0;
		uint32_t all = collide_trimesh(&box, &trimesh, MANY, &space, found);
		for (uint32_t i = 0; i < all; i++)
			deepest = fmax(deepest, found[i].depth);
		cr_assert(all > 6, "%u contacts", all);
		for (uint32_t most = 1; most < 6; most++) {
			double kept = 0;
			uint32_t count = collide_trimesh(&box, &trimesh, most, &space, found);
			cr_assert_eq(count, most);
			for (uint32_t i = 0; i < count; i++)
				kept = fmax(kept, found[i].depth);
			cr_assert_eq(kept, deepest, "trial %d: %u contacts, the deepest %g of %g", trial, most, kept,
				deepest);
		}
		collide_space_fini(&space);
		trimesh_fini(&trimesh);
	}
}
