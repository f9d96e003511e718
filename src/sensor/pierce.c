/* A distance between large numbers has their rounding errors. So the origin of a line is first moved along it to about
 * the middle of the shape; the numbers of the quadratic equation are then those of the shape.
 *
 * A product with a zero direction component may give a NaN where the line lies exactly in a side: comparisons are
 * written so that a NaN bounds nothing, and the line counts as inside.
 *
 * Triangles: a line passes an edge on the side that the sign of the volume (direction, p, q) gives. Both triangles at
 * an edge compute it from the same numbers, and exchanging p and q changes no bit but the sign. So no line slips
 * between two triangles. */
#include "sensor/pierce.h"

static struct span pierce_both(struct span a, struct span b)
{
	return (struct span){b.enter > a.enter ? b.enter : a.enter, b.leave < a.leave ? b.leave : a.leave};
}

/* |origin + t direction| <= half in one coordinate */
static struct span pierce_slab(double origin, double direction, double half)
{
	double a = (-half - origin) / direction, b = (half - origin) / direction;
	double lo = a < b ? a : b, hi = a < b ? b : a;
	if (direction == 0)
		return fabs(origin) <= half ? SPAN_ALL : SPAN_NONE;
	return (struct span){lo, hi};
}

static struct span pierce_later(struct span span, double by)
{
	return (struct span){span.enter + by, span.leave + by};
}

/* The line from its point nearest to the origin of the frame; *ret_by is the t of that point. */
static struct line pierce_near_middle(struct line line, double *ret_by)
{
	*ret_by = -vec3_dot(line.origin, line.direction) / vec3_dot(line.direction, line.direction);
	return (struct line){vec3_add(line.origin, vec3_scale(line.direction, *ret_by)), line.direction};
}

/* a t^2 + 2 b t + c <= 0, a > 0 */
static struct span pierce_between_roots(double a, double b, double c)
{
	double square = b * b - a * c;
	if (!(square >= 0))
		return SPAN_NONE;
	double root = sqrt(square);
	/* the root of larger size first: no difference of nearly equal numbers */
	double q = b > 0 ? -b - root : -b + root, one = q / a, other = q != 0 ? c / q : 0;
	return one < other ? (struct span){one, other} : (struct span){other, one};
}

struct span pierce_box(struct line line, struct vec3 half)
{
	return pierce_both(pierce_slab(line.origin.x, line.direction.x, half.x),
		pierce_both(pierce_slab(line.origin.y, line.direction.y, half.y),
			pierce_slab(line.origin.z, line.direction.z, half.z)));
}

struct span pierce_sphere(struct line line, double radius)
{
	double by;
	line = pierce_near_middle(line, &by);
	double a = vec3_dot(line.direction, line.direction), b = vec3_dot(line.origin, line.direction);
	return pierce_later(pierce_between_roots(a, b, vec3_dot(line.origin, line.origin) - radius * radius), by);
}

/* The endless cylinder about z. */
static struct span pierce_pipe(struct line line, double radius)
{
	struct vec3 o = line.origin, d = line.direction;
	double a = d.x * d.x + d.y * d.y, b = o.x * d.x + o.y * d.y, c = o.x * o.x + o.y * o.y - radius * radius;
	if (!(a > 1e-300))
		return c <= 0 ? SPAN_ALL : SPAN_NONE;
	return pierce_between_roots(a, b, c);
}

struct span pierce_cylinder(struct line line, double radius, double half)
{
	double by;
	line = pierce_near_middle(line, &by);
	return pierce_later(
		pierce_both(pierce_pipe(line, radius), pierce_slab(line.origin.z, line.direction.z, half)), by);
}

static struct span pierce_around(struct span a, struct span b)
{
	if (a.enter > a.leave)
		return b;
	if (b.enter > b.leave)
		return a;
	return (struct span){b.enter < a.enter ? b.enter : a.enter, b.leave > a.leave ? b.leave : a.leave};
}

struct span pierce_capsule(struct line line, double radius, double half)
{
	double by;
	line = pierce_near_middle(line, &by);
	struct line up = line, down = line;
	up.origin.z -= half;
	down.origin.z += half;
	struct span middle = pierce_both(pierce_pipe(line, radius), pierce_slab(line.origin.z, line.direction.z, half));
	return pierce_later(
		pierce_around(middle, pierce_around(pierce_sphere(up, radius), pierce_sphere(down, radius))), by);
}

/* With w the depth below the apex: x^2 + y^2 <= k^2 w^2, 0 <= w <= 2 half. The equation has a second cone, above the
 * apex, which the bounds of w leave out. */
struct span pierce_cone(struct line line, double radius, double half)
{
	double by;
	line = pierce_near_middle(line, &by);
	struct vec3 o = line.origin, d = line.direction;
	double slope = radius / (2 * half), k = slope * slope, w = half - o.z;
	double a = d.x * d.x + d.y * d.y - k * d.z * d.z, b = o.x * d.x + o.y * d.y + k * w * d.z,
	       c = o.x * o.x + o.y * o.y - k * w * w;
	struct span inside;
	if (a > 1e-14) {
		inside = pierce_between_roots(a, b, c);
	} else if (a < -1e-14) { /* both cones, and a gap between them */
		struct span gap = pierce_between_roots(-a, -b, -c);
		if (gap.enter > gap.leave) /* by rounding: through the apex */
			gap.enter = gap.leave = -b / a;
		inside = d.z > 0 ? (struct span){-INFINITY, gap.enter} : (struct span){gap.leave, INFINITY};
	} else { /* along the surface: 2 b t + c <= 0 */
		inside = b > 0 ? (struct span){-INFINITY, -c / (2 * b)} : (struct span){-c / (2 * b), INFINITY};
	}
	return pierce_later(pierce_both(inside, pierce_slab(o.z, d.z, half)), by);
}

struct span pierce_ellipsoid(struct line line, struct vec3 radii)
{
	struct line stretched = {{line.origin.x / radii.x, line.origin.y / radii.y, line.origin.z / radii.z},
		{line.direction.x / radii.x, line.direction.y / radii.y, line.direction.z / radii.z}};
	return pierce_sphere(stretched, 1);
}

struct span pierce_rectangle(struct line line, double half_x, double half_y)
{
	if (line.direction.z == 0)
		return SPAN_NONE;
	double t = -line.origin.z / line.direction.z;
	double x = line.origin.x + t * line.direction.x, y = line.origin.y + t * line.direction.y;
	return fabs(x) <= half_x && fabs(y) <= half_y ? (struct span){t, t} : SPAN_NONE;
}

/* Whether a point lies in the box of three corners, but for rounding: of a line in the plane of a triangle the quotient
 * is any number, and a hit far from the triangle would count or not by the order in which a tree gives its items. */
static bool pierce_is_near(struct vec3 point, struct vec3 a, struct vec3 b, struct vec3 c)
{
	struct vec3 lo = vec3_min(vec3_min(a, b), c), hi = vec3_max(vec3_max(a, b), c);
	struct vec3 far = vec3_max(hi, vec3_scale(lo, -1));
	double slack = 1e-9 * fmax(fmax(far.x, far.y), far.z);
	return point.x >= lo.x - slack && point.y >= lo.y - slack && point.z >= lo.z - slack &&
	       point.x <= hi.x + slack && point.y <= hi.y + slack && point.z <= hi.z + slack;
}

bool pierce_triangle(struct line line, const struct vec3 corners[3], double *ret_t)
{
	struct vec3 d = line.direction, a = vec3_sub(corners[0], line.origin), b = vec3_sub(corners[1], line.origin),
		    c = vec3_sub(corners[2], line.origin);
	double u = vec3_dot(d, vec3_cross(b, c)), v = vec3_dot(d, vec3_cross(c, a)), w = vec3_dot(d, vec3_cross(a, b));
	if ((u < 0 || v < 0 || w < 0) && (u > 0 || v > 0 || w > 0))
		return false;
	struct vec3 normal = vec3_cross(vec3_sub(corners[1], corners[0]), vec3_sub(corners[2], corners[0]));
	double steep = vec3_dot(normal, d);
	if (steep == 0)
		return false;
	*ret_t = vec3_dot(normal, a) / steep;
	return pierce_is_near(vec3_scale(d, *ret_t), a, b, c);
}
