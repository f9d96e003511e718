/* The bounding box of a geom, along the axes of the world. For a primitive the box is exact: its half extent along
 * each axis has a closed form. The box of a convex hull is that of its points. A mesh or a heightmap may have
 * millions of points, so its box is that of the eight turned corners of the box in its own frame: it encloses the
 * surface, and may be larger than necessary. A plane is a half space, and has a bound only if its normal lies along
 * an axis. A plane of a body ends where no body can be: boxes of models that may touch are finite. */
#include "scene/scene.h"

/* The half extent of a rotated box of these half edges along each axis. */
static struct vec3 scene_shape_reach_of_box(struct quat q, struct vec3 half)
{
	struct mat3 r = quat_matrix(q);
	return (struct vec3){
		fabs(r.m[0][0]) * half.x + fabs(r.m[0][1]) * half.y + fabs(r.m[0][2]) * half.z,
		fabs(r.m[1][0]) * half.x + fabs(r.m[1][1]) * half.y + fabs(r.m[1][2]) * half.z,
		fabs(r.m[2][0]) * half.x + fabs(r.m[2][1]) * half.y + fabs(r.m[2][2]) * half.z,
	};
}

/* A disc of radius r, normal to a unit vector a, reaches r sqrt(1 - a_i^2) along axis i. */
static double scene_shape_reach_of_disc(double radius, double along)
{
	double across = 1 - along * along;
	return across > 0 ? radius * sqrt(across) : 0;
}

/* For shapes with an axis of rotation: the direction of the shape's own z. */
static struct vec3 scene_shape_axis_of(struct quat q)
{
	struct mat3 r = quat_matrix(q);
	return (struct vec3){r.m[0][2], r.m[1][2], r.m[2][2]};
}

static struct vec3 scene_shape_reach_of_cylinder(struct vec3 axis, double radius, double half)
{
	return (struct vec3){
		fabs(axis.x) * half + scene_shape_reach_of_disc(radius, axis.x),
		fabs(axis.y) * half + scene_shape_reach_of_disc(radius, axis.y),
		fabs(axis.z) * half + scene_shape_reach_of_disc(radius, axis.z),
	};
}

static struct vec3 scene_shape_reach_of_capsule(struct vec3 axis, double radius, double half)
{
	return (struct vec3){
		fabs(axis.x) * half + radius,
		fabs(axis.y) * half + radius,
		fabs(axis.z) * half + radius,
	};
}

static struct vec3 scene_shape_reach_of_ellipsoid(struct quat q, struct vec3 s)
{
	struct mat3 r = quat_matrix(q);
	double reach[3];
	for (int i = 0; i < 3; i++) {
		double x = r.m[i][0] * s.x, y = r.m[i][1] * s.y, z = r.m[i][2] * s.z;
		reach[i] = sqrt(x * x + y * y + z * z);
	}
	return vec3_from(reach);
}

/* The box of the apex and of the base. */
static struct aabb scene_shape_box_of_cone(struct vec3 axis, struct vec3 at, double radius, double half)
{
	struct vec3 up = vec3_scale(axis, half), apex = vec3_add(at, up);
	struct vec3 base = vec3_sub(at, up), disc = scene_shape_reach_of_cylinder(axis, radius, 0);
	return aabb_join((struct aabb){apex, apex}, (struct aabb){vec3_sub(base, disc), vec3_add(base, disc)});
}

static struct aabb scene_shape_box_of_points(struct pose pose, const struct vec3 *points, uint32_t count)
{
	struct aabb box = AABB_NONE;
	for (uint32_t i = 0; i < count; i++) {
		struct vec3 p = pose_point(pose, points[i]);
		box = aabb_join(box, (struct aabb){p, p});
	}
	return box;
}

/* Encloses the turned box that the surface has in its own frame. */
static struct aabb scene_shape_turned_box(struct pose pose, const struct aabb *b)
{
	struct vec3 corners[8];
	for (int i = 0; i < 8; i++)
		corners[i] =
			(struct vec3){i & 1 ? b->hi.x : b->lo.x, i & 2 ? b->hi.y : b->lo.y, i & 4 ? b->hi.z : b->lo.z};
	return scene_shape_box_of_points(pose, corners, 8);
}

/* The half space under a plane: it has a bound only if the plane's normal lies along an axis. */
static struct aabb scene_shape_half_space(struct vec3 normal, struct vec3 point)
{
	struct aabb box = AABB_ALL;
	if (normal.x == 0 && normal.y == 0)
		*(normal.z > 0 ? &box.hi.z : &box.lo.z) = point.z;
	else if (normal.x == 0 && normal.z == 0)
		*(normal.y > 0 ? &box.hi.y : &box.lo.y) = point.y;
	else if (normal.y == 0 && normal.z == 0)
		*(normal.x > 0 ? &box.hi.x : &box.lo.x) = point.x;
	return box;
}

static struct aabb scene_shape_bounded(struct aabb box)
{
	const struct vec3 far = {2 * SCENE_POSITION_MAX, 2 * SCENE_POSITION_MAX, 2 * SCENE_POSITION_MAX};
	return (struct aabb){vec3_max(box.lo, vec3_scale(far, -1)), vec3_min(box.hi, far)};
}

struct aabb scene_static_box(const struct scene_geom *geom)
{
	return scene_geom_box(geom, POSE_IDENTITY);
}

struct aabb scene_exact_box(const struct scene_geom *geom)
{
	if (!geom->unread || geom->off)
		return scene_static_box(geom);
	const struct aabb box = unread_exact_box(geom->unread);
	return aabb_is_empty(&box) ? box : scene_shape_turned_box(geom->in_body, &box);
}

struct aabb scene_geom_box(const struct scene_geom *geom, struct pose body)
{
	if (geom->kind == SCENE_SPHERE) /* needs no rotation */
		return scene_shape_box(geom, (struct pose){pose_point(body, geom->in_body.p), QUAT_IDENTITY});
	return scene_shape_box(geom, pose_mul(body, geom->in_body));
}

struct aabb scene_shape_box(const struct scene_geom *geom, struct pose pose)
{
	struct vec3 reach = {0, 0, 0};
	if (geom->off)
		return AABB_NONE;
	switch (geom->kind) {
	case SCENE_BOX:
		reach = scene_shape_reach_of_box(pose.q, geom->size);
		break;
	case SCENE_SPHERE:
		reach = (struct vec3){geom->size.x, geom->size.x, geom->size.x};
		break;
	case SCENE_CYLINDER:
		reach = scene_shape_reach_of_cylinder(scene_shape_axis_of(pose.q), geom->size.x, geom->size.z);
		break;
	case SCENE_CAPSULE:
		reach = scene_shape_reach_of_capsule(scene_shape_axis_of(pose.q), geom->size.x, geom->size.z);
		break;
	case SCENE_ELLIPSOID:
		reach = scene_shape_reach_of_ellipsoid(pose.q, geom->size);
		break;
	case SCENE_CONE:
		return scene_shape_box_of_cone(scene_shape_axis_of(pose.q), pose.p, geom->size.x, geom->size.z);
	case SCENE_CONVEX:
		return scene_shape_box_of_points(pose, geom->hull->points.at, geom->hull->points.count);
	case SCENE_MESH:
	case SCENE_HEIGHTMAP:
		if (geom->unread) {
			const struct aabb box = unread_box(geom->unread);
			return scene_shape_turned_box(pose, &box);
		}
		return scene_shape_turned_box(pose, &geom->trimesh->box);
	case SCENE_PLANE: {
		struct aabb box = scene_shape_half_space(quat_rotate(pose.q, geom->size), pose.p);
		return geom->body == SCENE_NONE ? box : scene_shape_bounded(box);
	}
	}
	return (struct aabb){vec3_sub(pose.p, reach), vec3_add(pose.p, reach)};
}
