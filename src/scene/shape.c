#include "scene/scene.h"

/* How far a rotated box of these half edges reaches along each axis. */
static struct vec3 reach_of_box(const struct mat3 *r, struct vec3 half)
{
	return (struct vec3){
		fabs(r->m[0][0]) * half.x + fabs(r->m[0][1]) * half.y + fabs(r->m[0][2]) * half.z,
		fabs(r->m[1][0]) * half.x + fabs(r->m[1][1]) * half.y + fabs(r->m[1][2]) * half.z,
		fabs(r->m[2][0]) * half.x + fabs(r->m[2][1]) * half.y + fabs(r->m[2][2]) * half.z,
	};
}

/* A disc of radius r about an axis reaches r sqrt(1 - a_i^2) along axis i. */
static double reach_of_disc(double radius, double along)
{
	double across = 1 - along * along;
	return across > 0 ? radius * sqrt(across) : 0;
}

static struct vec3 reach_of_cylinder(const struct mat3 *r, double radius, double half)
{
	return (struct vec3){
		fabs(r->m[0][2]) * half + reach_of_disc(radius, r->m[0][2]),
		fabs(r->m[1][2]) * half + reach_of_disc(radius, r->m[1][2]),
		fabs(r->m[2][2]) * half + reach_of_disc(radius, r->m[2][2]),
	};
}

static struct vec3 reach_of_capsule(const struct mat3 *r, double radius, double half)
{
	return (struct vec3){
		fabs(r->m[0][2]) * half + radius,
		fabs(r->m[1][2]) * half + radius,
		fabs(r->m[2][2]) * half + radius,
	};
}

/* The half space under a plane: bounded only where the plane lies along an axis. */
static struct aabb half_space(struct vec3 normal, struct vec3 point)
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

struct aabb scene_geom_box(const struct scene_geom *geom, struct pose body)
{
	struct pose pose = pose_mul(body, geom->in_body);
	struct mat3 r = quat_matrix(pose.q);
	struct vec3 reach = {0, 0, 0};
	switch (geom->kind) {
	case SCENE_BOX:
		reach = reach_of_box(&r, geom->size);
		break;
	case SCENE_SPHERE:
		reach = (struct vec3){geom->size.x, geom->size.x, geom->size.x};
		break;
	case SCENE_CYLINDER:
		reach = reach_of_cylinder(&r, geom->size.x, geom->size.z);
		break;
	case SCENE_CAPSULE:
		reach = reach_of_capsule(&r, geom->size.x, geom->size.z);
		break;
	case SCENE_PLANE:
		return half_space(quat_rotate(pose.q, geom->size), pose.p);
	}
	return (struct aabb){vec3_sub(pose.p, reach), vec3_add(pose.p, reach)};
}
