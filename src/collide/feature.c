/* Two convex shapes that lie flat on each other need several contacts, but a search for the deepest point gives only
 * one. So each kind of shape also gives the face, edge or point that it turns towards a direction, as a polygon; one
 * polygon clipped by the other gives the points of contact. A disc becomes a polygon whose first point is the one
 * farthest along the direction, so that a tilted disc still meets the ground exactly. */
#include "collide/internal.h"
#include "collide/support.h"

#include <string.h>

#define DISC_POINTS 16

struct vec3 feature_point(const struct collide_shape *shape, struct vec3 local)
{
	return vec3_add(shape->p, support_turn(&shape->r, local));
}

/* --- support ---------------------------------------------------------------------------------------------------- */

struct vec3 feature_support(const struct collide_shape *shape, struct vec3 d)
{
	if (shape->kind == COLLIDE_TRIANGLE)
		return shape->corner[support_farthest(shape->corner, 3, d)];
	return feature_point(shape, support_own(shape, support_turn_back(&shape->r, d)));
}

/* --- sides ------------------------------------------------------------------------------------------------------ */

static void feature_add(struct polygon *out, const struct collide_shape *shape, struct vec3 local)
{
	out->p[out->count++] = feature_point(shape, local);
}

static void feature_box_side(const struct collide_shape *s, struct vec3 d, struct polygon *out)
{
	struct vec3 h = s->size;
	double x = fabs(d.x), y = fabs(d.y), z = fabs(d.z);
	/* axes u and v span the side, so that u, v, outward turn right */
	if (x >= y && x >= z) {
		double f = d.x < 0 ? -1 : 1;
		const double u[4] = {-h.y, h.y, h.y, -h.y}, v[4] = {-h.z, -h.z, h.z, h.z};
		for (int i = 0; i < 4; i++)
			feature_add(out, s, (struct vec3){f * h.x, f * u[i], v[i]});
		out->normal = (struct vec3){f, 0, 0};
	} else if (y >= z) {
		double f = d.y < 0 ? -1 : 1;
		const double u[4] = {-h.z, h.z, h.z, -h.z}, v[4] = {-h.x, -h.x, h.x, h.x};
		for (int i = 0; i < 4; i++)
			feature_add(out, s, (struct vec3){v[i], f * h.y, f * u[i]});
		out->normal = (struct vec3){0, f, 0};
	} else {
		double f = d.z < 0 ? -1 : 1;
		const double u[4] = {-h.x, h.x, h.x, -h.x}, v[4] = {-h.y, -h.y, h.y, h.y};
		for (int i = 0; i < 4; i++)
			feature_add(out, s, (struct vec3){f * u[i], v[i], f * h.z});
		out->normal = (struct vec3){0, 0, f};
	}
	out->flat = true;
}

/* The first point is the one farthest along d, so that a slightly tilted disc meets the ground with its rim. */
static void feature_disc(
	const struct collide_shape *s, double radius, double z, bool up, struct vec3 d, struct polygon *out)
{
	static const double turns[DISC_POINTS][2] = {{1, 0}, {0.92387953251128674, 0.38268343236508977},
		{0.70710678118654752, 0.70710678118654752}, {0.38268343236508977, 0.92387953251128674}, {0, 1},
		{-0.38268343236508977, 0.92387953251128674}, {-0.70710678118654752, 0.70710678118654752},
		{-0.92387953251128674, 0.38268343236508977}, {-1, 0}, {-0.92387953251128674, -0.38268343236508977},
		{-0.70710678118654752, -0.70710678118654752}, {-0.38268343236508977, -0.92387953251128674}, {0, -1},
		{0.38268343236508977, -0.92387953251128674}, {0.70710678118654752, -0.70710678118654752},
		{0.92387953251128674, -0.38268343236508977}};
	double length = sqrt(d.x * d.x + d.y * d.y), x = length > 1e-9 ? d.x / length : 1,
	       y = length > 1e-9 ? d.y / length : 0, f = up ? 1 : -1;
	for (int i = 0; i < DISC_POINTS; i++)
		feature_add(out, s,
			(struct vec3){radius * (x * turns[i][0] - f * y * turns[i][1]),
				radius * (y * turns[i][0] + f * x * turns[i][1]), z});
	out->normal = (struct vec3){0, 0, f};
	out->flat = true;
}

static void feature_cylinder_side(const struct collide_shape *s, struct vec3 d, struct polygon *out)
{
	if (fabs(d.z) > 0.70710678) {
		feature_disc(s, s->size.x, d.z < 0 ? -s->size.z : s->size.z, d.z >= 0, d, out);
		return;
	}
	feature_add(out, s, support_rim(s->size.x, -s->size.z, d));
	feature_add(out, s, support_rim(s->size.x, s->size.z, d));
	out->normal = d;
}

/* Outward normals of the mantle point upwards by at most the angle between radius and slant. */
static void feature_cone_side(const struct collide_shape *s, struct vec3 d, struct polygon *out)
{
	double r = s->size.x, h = 2 * s->size.z, slant = sqrt(r * r + h * h);
	if (d.z < (r / slant - 1) / 2) {
		feature_disc(s, r, -s->size.z, false, d, out);
		return;
	}
	feature_add(out, s, support_rim(r, -s->size.z, d));
	feature_add(out, s, (struct vec3){0, 0, s->size.z});
	out->normal = d;
}

static bool feature_side_reaches(const struct hull *hull, const struct hull_face *side, struct vec3 d, double far)
{
	for (uint32_t i = 0; i < side->count; i++)
		if (vec3_dot(hull->side_points.at[side->first + i], d) >= far)
			return true;
	return false;
}

/* Only sides at the farthest corner count: another side may point more along d and yet not reach that corner. */
static uint32_t feature_best_side(const struct hull *hull, struct vec3 d)
{
	uint32_t corner = support_farthest(hull->points.at, hull->points.count, d), best = 0;
	double far = vec3_dot(hull->points.at[corner], d) - hull->slack, most = -2;
	for (uint32_t i = 0; i < hull->sides.count; i++) {
		double along = vec3_dot(hull->sides.at[i].normal, d);
		if (along > most && feature_side_reaches(hull, &hull->sides.at[i], d, far))
			most = along, best = i;
	}
	return best;
}

static void feature_hull_side(const struct collide_shape *s, uint32_t index, struct polygon *out)
{
	const struct hull_face *side = &s->hull->sides.at[index];
	out->count = 0;
	for (uint32_t i = 0; i < side->count; i++)
		feature_add(out, s, s->hull->side_points.at[side->first + i]);
	out->normal = support_turn(&s->r, side->normal);
	out->flat = true;
}

void feature_toward(const struct collide_shape *shape, struct vec3 d, struct polygon *out)
{
	struct vec3 local = support_turn_back(&shape->r, d);
	out->count = 0;
	out->flat = false;
	switch (shape->kind) {
	case COLLIDE_BOX:
		feature_box_side(shape, local, out);
		break;
	case COLLIDE_CYLINDER:
		feature_cylinder_side(shape, local, out);
		break;
	case COLLIDE_CONE:
		feature_cone_side(shape, local, out);
		break;
	case COLLIDE_HULL:
		feature_hull_side(shape, feature_best_side(shape->hull, local), out);
		return;
	case COLLIDE_TRIANGLE:
		for (int i = 0; i < 3; i++)
			out->p[out->count++] = shape->corner[i];
		out->normal = vec3_unit(vec3_cross(
			vec3_sub(shape->corner[1], shape->corner[0]), vec3_sub(shape->corner[2], shape->corner[0])));
		out->flat = true;
		return;
	case COLLIDE_CAPSULE:
		feature_add(
			out, shape, vec3_add(vec3_scale(local, shape->size.x), (struct vec3){0, 0, -shape->size.z}));
		feature_add(out, shape, vec3_add(vec3_scale(local, shape->size.x), (struct vec3){0, 0, shape->size.z}));
		out->normal = local;
		break;
	case COLLIDE_SPHERE:
	case COLLIDE_ELLIPSOID:
		feature_add(out, shape, support_own(shape, local));
		out->normal = local;
		break;
	}
	out->normal = support_turn(&shape->r, out->normal);
}

struct feature_walk feature_walk(
	const struct collide_shape *shape, struct vec3 d, double cosine, struct polygon *ret_first)
{
	struct feature_walk walk = {shape, support_turn_back(&shape->r, d), cosine, 0, 0};
	if (shape->kind == COLLIDE_HULL) {
		walk.first = feature_best_side(shape->hull, walk.d);
		feature_hull_side(shape, walk.first, ret_first);
	} else {
		feature_toward(shape, d, ret_first);
	}
	return walk;
}

bool feature_next(struct feature_walk *walk, struct polygon *ret_polygon)
{
	const struct hull *hull = walk->shape->hull;
	uint32_t count = walk->shape->kind == COLLIDE_HULL ? hull->sides.count : 0;
	for (; walk->next < count; walk->next++)
		if (walk->next != walk->first && vec3_dot(hull->sides.at[walk->next].normal, walk->d) > walk->cosine)
			break;
	if (walk->next >= count)
		return false;
	feature_hull_side(walk->shape, walk->next++, ret_polygon);
	return true;
}

/* --- clipping --------------------------------------------------------------------------------------------------- */

static void feature_clip_edge(const struct polygon *in, struct vec3 point, struct vec3 inward, struct polygon *out)
{
	out->count = 0;
	for (uint32_t i = 0; i < in->count; i++) {
		struct vec3 a = in->p[i], b = in->p[i + 1 < in->count ? i + 1 : 0];
		double da = vec3_dot(vec3_sub(a, point), inward), db = vec3_dot(vec3_sub(b, point), inward);
		if (da >= 0 && out->count < CLIPPED_MAX)
			out->p[out->count++] = a;
		/* a line is one edge, not one in each direction */
		if ((da >= 0) != (db >= 0) && out->count < CLIPPED_MAX && (in->count > 2 || i == 0))
			out->p[out->count++] = vec3_add(a, vec3_scale(vec3_sub(b, a), da / (da - db)));
	}
}

void feature_clip(const struct polygon *polygon, const struct polygon *base, struct polygon *out)
{
	struct polygon other;
	memcpy(out->p, polygon->p, polygon->count * sizeof *out->p);
	out->count = polygon->count;
	for (uint32_t i = 0; i < base->count && out->count; i++) {
		struct vec3 a = base->p[i], b = base->p[i + 1 < base->count ? i + 1 : 0];
		other.count = 0;
		feature_clip_edge(out, a, vec3_cross(base->normal, vec3_sub(b, a)), &other);
		for (uint32_t k = 0; k < other.count; k++)
			out->p[k] = other.p[k];
		out->count = other.count;
	}
}
