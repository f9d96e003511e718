/* Convex polyhedra. */
#ifndef MESH_HULL_H
#define MESH_HULL_H

#include "base/base.h"
#include "geom/geom.h"

enum {
	HULL_POINTS_MAX = 100000,
	HULL_CORNERS_MAX = 512,     /* of a hull that contacts are made with */
	HULL_SIDE_CORNERS_MAX = 64, /* of one of its sides */
};

struct hull_face {
	struct vec3 normal; /* unit, outwards */
	double offset;      /* normal . p is at most this for all points of the hull */
	uint32_t first, count;
};

struct hull { /* zeroed is empty */
	VEC(struct vec3) points;
	VEC(struct hull_face) faces;
	VEC(uint32_t) corners; /* corners of faces, counter-clockwise seen from outside; coplanar faces are one */
	/* What contacts are made with, of a hull of at most HULL_CORNERS_MAX points (hull_sides.c): the faces, but
	 * those that are one but for rounding are one side, flat and convex. side_points has its corners. A side
	 * touches the hull from outside, and reaches no farther than the slack beyond it. */
	VEC(struct hull_face) sides;
	VEC(struct vec3) side_points;
	double slack;       /* m; 0: each side is a face */
	struct vec3 middle; /* mean of the points: lies inside */
};

/* The convex hull of the points. The order of points and faces depends only on the input. TROUPE_EWORLD: the points
 * have no volume, or troupe was built without meshes. *ret_hull must be empty. */
troupe_status hull_make(const struct vec3 *points, uint32_t count, struct hull *ret_hull, struct troupe_error *error);
void hull_fini(struct hull *hull);
/* hull_make() calls it. */
void hull_find_sides(struct hull *hull);

#endif
