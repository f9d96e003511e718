/* Geoms and their contacts. ODE's own colliders serve pairs of boxes, spheres, cylinders, capsules and planes, for
 * which their contacts are exact. All other pairs use collide/; ODE's geom is then only a placeholder that knows its
 * body and its pose. */
#include "physics/internal.h"

#include <string.h>

#define HOLDER_RADIUS 1e-3

dGeomID shape_make(const struct scene_geom *geom)
{
	switch (geom->kind) {
	case SCENE_BOX:
		return dCreateBox(0, geom->size.x * 2, geom->size.y * 2, geom->size.z * 2);
	case SCENE_SPHERE:
		return dCreateSphere(0, geom->size.x);
	case SCENE_CYLINDER:
		return dCreateCylinder(0, geom->size.x, geom->size.z * 2);
	case SCENE_CAPSULE:
		return dCreateCapsule(0, geom->size.x, geom->size.z * 2);
	case SCENE_PLANE: {
		if (geom->body != SCENE_NONE)
			return dCreateSphere(0, HOLDER_RADIUS); /* ODE attaches no plane to a body */
		struct vec3 n = quat_rotate(geom->in_body.q, geom->size);
		return dCreatePlane(0, n.x, n.y, n.z, vec3_dot(n, geom->in_body.p));
	}
	case SCENE_CONE:
	case SCENE_ELLIPSOID:
	case SCENE_CONVEX:
	case SCENE_MESH:
	case SCENE_HEIGHTMAP:
		return dCreateSphere(0, HOLDER_RADIUS);
	}
	return 0;
}

/* Pairs of boxes, spheres, cylinders, capsules and planes; without a capsule on a box, which gets one contact from
 * ODE and sinks at one end, and without two cylinders, which drift. */
static bool physics_shape_is_odes_pair(const struct scene_geom *a, const struct scene_geom *b)
{
	enum scene_shape_kind low = MIN(a->kind, b->kind), high = MAX(a->kind, b->kind);
	bool poor = (high == SCENE_CAPSULE && (low == SCENE_BOX || low == SCENE_CYLINDER)) ||
		    (high == SCENE_CYLINDER && low == SCENE_CYLINDER);
	bool held =
		(a->kind == SCENE_PLANE && a->body != SCENE_NONE) || (b->kind == SCENE_PLANE && b->body != SCENE_NONE);
	return high <= SCENE_PLANE && !poor && !held;
}

static bool physics_shape_is_trimesh(enum scene_shape_kind kind)
{
	return kind == SCENE_MESH || kind == SCENE_HEIGHTMAP;
}

/* --- frames ----------------------------------------------------------------------------------------------------- */

static enum collide_kind physics_shape_kind_of(enum scene_shape_kind kind)
{
	switch (kind) {
	case SCENE_BOX:
		return COLLIDE_BOX;
	case SCENE_SPHERE:
		return COLLIDE_SPHERE;
	case SCENE_CYLINDER:
		return COLLIDE_CYLINDER;
	case SCENE_CAPSULE:
		return COLLIDE_CAPSULE;
	case SCENE_CONE:
		return COLLIDE_CONE;
	case SCENE_ELLIPSOID:
		return COLLIDE_ELLIPSOID;
	default:
		return COLLIDE_HULL;
	}
}

static struct collide_shape physics_shape_of(const struct scene_geom *geom, dGeomID id)
{
	/* Copied by ODE, not read here: ODE passes the places of destroyed geoms from thread to thread, by atomics
	 * that ThreadSanitizer does not see. */
	dVector3 p;
	dMatrix3 r;
	dGeomCopyPosition(id, p);
	dGeomCopyRotation(id, r);
	struct collide_shape shape = {.kind = physics_shape_kind_of(geom->kind),
		.size = geom->size,
		.hull = geom->hull,
		.p = {p[0], p[1], p[2]}};
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++)
			shape.r.m[i][j] = r[4 * i + j];
	return shape;
}

static struct vec3 physics_shape_back(const struct mat3 *r, struct vec3 v)
{
	return (struct vec3){r->m[0][0] * v.x + r->m[1][0] * v.y + r->m[2][0] * v.z,
		r->m[0][1] * v.x + r->m[1][1] * v.y + r->m[2][1] * v.z,
		r->m[0][2] * v.x + r->m[1][2] * v.y + r->m[2][2] * v.z};
}

static struct vec3 physics_shape_forth(const struct mat3 *r, struct vec3 v)
{
	return (struct vec3){r->m[0][0] * v.x + r->m[0][1] * v.y + r->m[0][2] * v.z,
		r->m[1][0] * v.x + r->m[1][1] * v.y + r->m[1][2] * v.z,
		r->m[2][0] * v.x + r->m[2][1] * v.y + r->m[2][2] * v.z};
}

/* The shape as the trimesh sees it, placed at p and r. */
static struct collide_shape physics_shape_seen_from(
	const struct collide_shape *shape, struct vec3 p, const struct mat3 *r)
{
	struct collide_shape seen = *shape;
	seen.p = physics_shape_back(r, vec3_sub(shape->p, p));
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++)
			seen.r.m[i][j] = r->m[0][i] * shape->r.m[0][j] + r->m[1][i] * shape->r.m[1][j] +
					 r->m[2][i] * shape->r.m[2][j];
	return seen;
}

/* --- contacts --------------------------------------------------------------------------------------------------- */

static uint32_t physics_shape_on_trimesh(struct worker *worker, const struct scene_geom *fixed, dGeomID id,
	const struct collide_shape *shape, uint32_t most, struct collide_contact *ret)
{
	struct vec3 p = fixed->in_body.p;
	struct mat3 r;
	if (fixed->body == SCENE_NONE) {
		r = quat_matrix(fixed->in_body.q);
	} else {
		struct collide_shape held = physics_shape_of(fixed, id);
		p = held.p, r = held.r;
	}
	const struct trimesh *triangles = scene_trimesh(fixed);
	if (!triangles)
		return 0;
	struct collide_shape seen = physics_shape_seen_from(shape, p, &r);
	uint32_t count = collide_trimesh(&seen, triangles, most, &worker->collide, ret);
	for (uint32_t i = 0; i < count; i++) {
		ret[i].at = vec3_add(p, physics_shape_forth(&r, ret[i].at));
		ret[i].normal = physics_shape_forth(&r, ret[i].normal);
	}
	return count;
}

static uint32_t physics_shape_on_plane(struct worker *worker, const struct collide_shape *shape, uint32_t plane,
	dGeomID id, struct collide_contact *ret)
{
	const struct scene_geom *geom = &worker->scene->geoms[plane];
	if (geom->body == SCENE_NONE)
		return collide_plane(shape, worker->statics[plane]->normal, worker->statics[plane]->offset, ret);
	struct collide_shape held = physics_shape_of(geom, id);
	struct vec3 normal = physics_shape_forth(&held.r, geom->size);
	return collide_plane(shape, normal, vec3_dot(normal, held.p), ret);
}

/* --- growth ------------------------------------------------------------------------------------------------------- */

struct shape_growth { /* m, of two geoms on all sides */
	double a, b;
};

static bool physics_shape_can_grow(const struct scene_geom *geom)
{
	return geom->kind != SCENE_PLANE && geom->kind != SCENE_CONVEX && !physics_shape_is_trimesh(geom->kind);
}

static struct vec3 physics_shape_grown(const struct scene_geom *geom, double by)
{
	if (by == 0 || !physics_shape_can_grow(geom))
		return geom->size;
	bool round = geom->kind == SCENE_CAPSULE; /* its ends grow with its radius */
	return vec3_add(geom->size, (struct vec3){by, by, round ? 0 : by});
}

static void physics_shape_resize(const struct scene_geom *geom, dGeomID id, double by)
{
	struct vec3 size = physics_shape_grown(geom, by);
	switch (geom->kind) {
	case SCENE_BOX:
		dGeomBoxSetLengths(id, size.x * 2, size.y * 2, size.z * 2);
		break;
	case SCENE_SPHERE:
		dGeomSphereSetRadius(id, size.x);
		break;
	case SCENE_CYLINDER:
		dGeomCylinderSetParams(id, size.x, size.z * 2);
		break;
	case SCENE_CAPSULE:
		dGeomCapsuleSetParams(id, size.x, size.z * 2);
		break;
	default:
		break;
	}
}

/* Contacts of the first shape with the second; only the second may be a plane or a trimesh. */
static uint32_t physics_shape_meet(struct worker *worker, uint32_t a, uint32_t b, dGeomID ga, dGeomID gb,
	const struct shape_growth *growth, uint32_t most, struct collide_contact *ret)
{
	const struct scene_geom *of_a = &worker->scene->geoms[a], *of_b = &worker->scene->geoms[b];
	struct collide_shape shape = physics_shape_of(of_a, ga), other;
	shape.size = physics_shape_grown(of_a, growth->a);
	if (physics_shape_is_trimesh(of_b->kind))
		return physics_shape_on_trimesh(worker, of_b, gb, &shape, most, ret);
	if (of_b->kind == SCENE_PLANE)
		return physics_shape_on_plane(worker, &shape, b, gb, ret);
	other = physics_shape_of(of_b, gb);
	other.size = physics_shape_grown(of_b, growth->b);
	return collide_convex(&shape, &other, ret);
}

_Static_assert((int)PHYSICS_CONTACTS_MAX >= (int)COLLIDE_PAIR_MAX, "a pair's contacts must fit");

static int physics_shape_collide_grown(struct worker *worker, uint32_t a, uint32_t b, dGeomID ga, dGeomID gb,
	struct shape_growth growth, int most, dContactGeom *ret)
{
	const struct scene_geom *of_a = &worker->scene->geoms[a];
	if (physics_shape_is_odes_pair(of_a, &worker->scene->geoms[b]))
		return dCollide(ga, gb, most, ret, sizeof *ret);
	bool swap = of_a->kind == SCENE_PLANE || physics_shape_is_trimesh(of_a->kind);
	struct collide_contact found[PHYSICS_CONTACTS_MAX];
	const struct shape_growth turned = {growth.b, growth.a};
	uint32_t count = swap ? physics_shape_meet(worker, b, a, gb, ga, &turned, (uint32_t)most, found)
			      : physics_shape_meet(worker, a, b, ga, gb, &growth, (uint32_t)most, found);
	count = MIN(count, (uint32_t)most);
	double sign = swap ? -1 : 1;
	for (uint32_t i = 0; i < count; i++) {
		const struct collide_contact *c = &found[i];
		ret[i] = (dContactGeom){.pos = {c->at.x, c->at.y, c->at.z},
			.normal = {sign * c->normal.x, sign * c->normal.y, sign * c->normal.z},
			.depth = c->depth,
			.g1 = ga,
			.g2 = gb,
			.side1 = -1,
			.side2 = -1};
	}
	return (int)count;
}

int shape_collide(
	struct worker *worker, uint32_t a, uint32_t b, dGeomID ga, dGeomID gb, double near, int most, dContactGeom *ret)
{
	const struct scene_geom *of_a = &worker->scene->geoms[a], *of_b = &worker->scene->geoms[b];
	bool grows_a = physics_shape_can_grow(of_a), grows_b = physics_shape_can_grow(of_b);
	if (near == 0 || (!grows_a && !grows_b))
		return physics_shape_collide_grown(worker, a, b, ga, gb, (struct shape_growth){0, 0}, most, ret);
	const struct shape_growth growth = {grows_a ? near / (1 + grows_b) : 0, grows_b ? near / (1 + grows_a) : 0};
	physics_shape_resize(of_a, ga, growth.a);
	physics_shape_resize(of_b, gb, growth.b);
	int count = physics_shape_collide_grown(worker, a, b, ga, gb, growth, most, ret);
	physics_shape_resize(of_a, ga, 0);
	physics_shape_resize(of_b, gb, 0);
	for (int i = 0; i < count; i++)
		ret[i].depth -= near;
	return count;
}

int shape_collide_simply(const struct worker *worker, uint32_t a, uint32_t b, int most, dContactGeom *ret)
{
	const struct scene_geom *geoms = worker->scene->geoms;
	const bool swap = geoms[a].kind == SCENE_PLANE;
	const struct scene_geom *plane = &geoms[swap ? a : b], *geom = &geoms[swap ? b : a];
	if (plane->kind != SCENE_PLANE || plane->body != SCENE_NONE || geom->body == SCENE_NONE ||
		!roll_knows(geom->kind))
		return -1;
	const struct instance *instance = worker->instances[geom->model];
	const struct pose at =
		instance_geom_pose(worker, instance, (swap ? b : a) - worker->scene->models[geom->model].geom_first);
	const double *params = worker->statics[swap ? a : b]->plane;
	int count = roll_on_plane(geom->kind, at, geom->size, params, most, ret);
	for (int i = 0; i < count && swap; i++)
		for (int k = 0; k < 3; k++)
			ret[i].normal[k] = -ret[i].normal[k];
	return count;
}
