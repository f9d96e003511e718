/* Where a straight line enters and leaves a shape: exact formulas, in double precision.
 *
 * Shapes stand in their own frame: centred, the axis along z. A line is origin + t direction with a unit direction. All
 * these shapes are convex, so the t inside are one span; its ends belong to it. With an origin kilometres away the
 * error of an end is about 1e-12 of the distance, and more where the line only grazes a curved surface.
 *
 * Pure. Thread: any. Units: metres. */
#ifndef SENSOR_PIERCE_H
#define SENSOR_PIERCE_H

#include "geom/geom.h"

struct line {
	struct vec3 origin, direction;
};

struct span {
	double enter, leave; /* enter > leave: the line misses the shape */
};

#define SPAN_NONE ((struct span){INFINITY, -INFINITY})
#define SPAN_ALL ((struct span){-INFINITY, INFINITY})

struct span pierce_box(struct line line, struct vec3 half);
struct span pierce_sphere(struct line line, double radius);
struct span pierce_cylinder(struct line line, double radius, double half);
struct span pierce_capsule(struct line line, double radius, double half); /* half: of the cylindrical part */
struct span pierce_cone(struct line line, double radius, double half);    /* apex at +z */
struct span pierce_ellipsoid(struct line line, struct vec3 radii);
struct span pierce_rectangle(struct line line, double half_x, double half_y); /* in z = 0; both ends are the same */

/* Where the line meets a triangle; false: nowhere. Of triangles that share an edge, by the same two points, a line that
 * meets the edge meets at least one. */
bool pierce_triangle(struct line line, const struct vec3 corners[3], double *ret_t);

#endif
