/* What rolls on a plane that stands. Most contacts of robots are those of wheels and balls with the floor. They are
 * found here as ODE's own colliders find them, operation by operation, so that they have the same bits
 * (tests/unit/test_roll). What is saved is the way to there: ODE's geom, which has to be made and placed, and memory
 * that little else reads. */
#include "physics/internal.h"

#define PARALLEL 1e-7 /* ODE's, for a disc and a plane: 1 minus the cosine of the angle between them */

static struct vec3 roll_normal(const double *plane)
{
	return (struct vec3){plane[0], plane[1], plane[2]};
}

static void roll_touch(struct vec3 at, const double *plane, double depth, dContactGeom *ret)
{
	*ret = (dContactGeom){.pos = {at.x, at.y, at.z}, .normal = {plane[0], plane[1], plane[2]}, .depth = depth};
}

static int roll_ball(struct vec3 at, double radius, const double *plane, dContactGeom *ret)
{
	const struct vec3 normal = roll_normal(plane);
	double depth = plane[3] - vec3_dot(at, normal) + radius;
	if (!(depth >= 0))
		return 0;
	roll_touch(vec3_sub(at, vec3_scale(normal, radius)), plane, depth, ret);
	return 1;
}

/* The deepest points of both discs. -1: the discs are parallel to the plane. The two depths are rounded differently,
 * because ODE computes them in different orders. */
static int roll_wheel(struct pose at, double radius, double half, const double *plane, int most, dContactGeom *ret)
{
	const struct vec3 normal = roll_normal(plane);
	const struct quat q = at.q;
	/* the third column of ODE's matrix */
	const struct vec3 axis = {
		2 * (q.x * q.z + q.w * q.y), 2 * (q.y * q.z - q.w * q.x), 1 - 2 * q.x * q.x - 2 * q.y * q.y};
	const double along = vec3_dot(normal, axis), off = along < 0 ? along + 1 : along - 1;
	if (off < PARALLEL && off > -PARALLEL)
		return -1;
	struct vec3 down = vec3_sub(vec3_scale(axis, along), normal);
	down = vec3_scale(down, radius / sqrt(vec3_dot(down, down)));
	struct vec3 point = vec3_add(down, vec3_add(at.p, vec3_scale(axis, -half)));
	double depth = plane[3] - vec3_dot(point, normal);
	int count = 0;
	if (depth >= 0)
		roll_touch(point, plane, depth, &ret[count++]);
	if (count == most)
		return count;
	point = vec3_add(down, vec3_add(at.p, vec3_scale(axis, half)));
	depth = plane[3] - point.x * normal.x - point.y * normal.y - point.z * normal.z;
	if (depth >= 0)
		roll_touch(point, plane, depth, &ret[count++]);
	return count;
}

bool roll_knows(enum scene_shape_kind kind)
{
	return kind == SCENE_SPHERE || kind == SCENE_CYLINDER;
}

int roll_on_plane(
	enum scene_shape_kind kind, struct pose at, struct vec3 size, const double *plane, int most, dContactGeom *ret)
{
	return kind == SCENE_SPHERE ? roll_ball(at.p, size.x, plane, ret)
				    : roll_wheel(at, size.x, size.z, plane, most, ret);
}
