/* Where two shapes touch, for the pairs that ODE does not handle well: pairs with a convex hull, a cone, an ellipsoid
 * or a trimesh (triangles). (ODE makes one contact where hulls meet, on which nothing rests still, and its triangle
 * meshes are not thread-safe.)
 *
 * Pure functions of their arguments; nothing is kept between calls. Units: metres. Only shapes that overlap get
 * contacts, always in the same order. A trimesh is solid behind its triangles. */
#ifndef COLLIDE_COLLIDE_H
#define COLLIDE_COLLIDE_H

#include "mesh/hull.h"
#include "mesh/trimesh.h"

enum collide_kind {
	COLLIDE_BOX,       /* size: half edges */
	COLLIDE_SPHERE,    /* size.x: radius */
	COLLIDE_CYLINDER,  /* size.x: radius, size.z: half length; along z */
	COLLIDE_CAPSULE,   /* the same; half length excludes the caps */
	COLLIDE_CONE,      /* the same; apex at +z */
	COLLIDE_ELLIPSOID, /* size: radii */
	COLLIDE_HULL,
	COLLIDE_TRIANGLE, /* corners in the working frame, place unused */
};

struct collide_shape {
	enum collide_kind kind;
	struct vec3 size;
	struct vec3 p; /* place in the working frame: any frame that both shapes share */
	struct mat3 r;
	const struct hull *hull;
	struct vec3 corner[3];
};

struct collide_contact {
	struct vec3 at, normal; /* unit; moving the first shape along it separates the shapes */
	double depth;           /* m, more than 0 */
};

enum { COLLIDE_PAIR_MAX = 4 }; /* contacts between two convex shapes that lie flat on each other */

/* Between two convex shapes; at most COLLIDE_PAIR_MAX. */
uint32_t collide_convex(
	const struct collide_shape *a, const struct collide_shape *b, struct collide_contact ret[COLLIDE_PAIR_MAX]);
/* Between a convex shape and the half space normal . p <= offset. */
uint32_t collide_plane(
	const struct collide_shape *a, struct vec3 normal, double offset, struct collide_contact ret[COLLIDE_PAIR_MAX]);

/* Scratch memory of collide_trimesh(): grows to fit and is then reused. */
struct collide_space {
	bvh_values triangles;
	VEC(struct collide_contact) found;
};
void collide_space_fini(struct collide_space *space);

/* Between a convex shape and a trimesh, in the trimesh's frame: the deepest contacts, at most `most`. */
uint32_t collide_trimesh(const struct collide_shape *a, const struct trimesh *trimesh, uint32_t most,
	struct collide_space *space, struct collide_contact *ret);

#endif
