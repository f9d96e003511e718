/* The expanding polytope method (van den Bergen, "Proximity queries and penetration depth computation on 3D game
 * objects", 2001) with another start: any tetrahedron of points of the Minkowski difference a - b, whether or not it
 * contains the origin. The face that is expanded is always the one whose plane has the least *signed* distance from
 * the origin. When that face is a face of the difference itself, its distance is the answer: the depth, or, if
 * negative, the shapes are separated. So no search for a first simplex around the origin is needed, which is the part
 * that fails when shapes just touch. Any support point behind the origin ends the search at once.
 *
 * Everything is computed in the frame of a, so only b's support points have to be rotated. */
#include "collide/internal.h"
#include "collide/support.h"

#include <assert.h>

enum { POINTS_MAX = 100, FACES_MAX = 256, EDGES_MAX = 128, DEPTH_ROUNDS_MAX = 90 };

struct vertex {
	struct vec3 w, a; /* point of the difference, and its point of a */
};

struct face {
	uint8_t v[3];
	struct vec3 n;
	double s; /* INFINITY: too thin to have a normal */
};

struct hunt {
	const struct collide_shape *a, *b;
	struct vec3 p, corner[3]; /* position of b, or its corners */
	struct mat3 r;
	struct vertex v[POINTS_MAX];
	struct face f[FACES_MAX];
	uint32_t points, faces;
	double size;
};

static void depth_set_up(struct hunt *h, const struct collide_shape *a, const struct collide_shape *b)
{
	assert(a->kind != COLLIDE_TRIANGLE);
	h->a = a;
	h->b = b;
	h->points = h->faces = 0;
	if (b->kind == COLLIDE_TRIANGLE) {
		for (int i = 0; i < 3; i++)
			h->corner[i] = support_turn_back(&a->r, vec3_sub(b->corner[i], a->p));
		return;
	}
	h->p = support_turn_back(&a->r, vec3_sub(b->p, a->p));
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++)
			h->r.m[i][k] =
				a->r.m[0][i] * b->r.m[0][k] + a->r.m[1][i] * b->r.m[1][k] + a->r.m[2][i] * b->r.m[2][k];
}

/* False when this direction separates the shapes. */
static bool depth_look(const struct hunt *h, struct vec3 d, struct vertex *ret)
{
	struct vec3 back = vec3_scale(d, -1), b;
	ret->a = support_own(h->a, d);
	if (h->b->kind == COLLIDE_TRIANGLE)
		b = h->corner[support_farthest(h->corner, 3, back)];
	else
		b = vec3_add(h->p, support_turn(&h->r, support_own(h->b, support_turn_back(&h->r, back))));
	ret->w = vec3_sub(ret->a, b);
	return vec3_dot(ret->w, d) > 0;
}

static struct vec3 depth_across(struct vec3 v)
{
	double x = fabs(v.x), y = fabs(v.y), z = fabs(v.z);
	struct vec3 axis = x <= y && x <= z ? (struct vec3){1, 0, 0}
			   : y <= z         ? (struct vec3){0, 1, 0}
					    : (struct vec3){0, 0, 1};
	return vec3_unit(vec3_cross(v, axis));
}

static bool depth_pick_line(struct hunt *h)
{
	static const struct vec3 axes[6] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
	struct vertex at[6];
	double longest = -1;
	for (int i = 0; i < 6; i++)
		if (!depth_look(h, axes[i], &at[i]))
			return false;
	for (int i = 0; i < 6; i += 2) {
		struct vec3 d = vec3_sub(at[i].w, at[i + 1].w);
		if (vec3_dot(d, d) > longest) {
			longest = vec3_dot(d, d);
			h->v[0] = at[i];
			h->v[1] = at[i + 1];
		}
	}
	h->size = sqrt(longest);
	return h->size > 0;
}

static bool depth_pick_third(struct hunt *h)
{
	struct vec3 line = vec3_unit(vec3_sub(h->v[1].w, h->v[0].w)), u = depth_across(line), w = vec3_cross(line, u);
	const struct vec3 d[4] = {u, vec3_scale(u, -1), w, vec3_scale(w, -1)};
	double farthest = 1e-9 * h->size;
	bool found = false;
	for (int i = 0; i < 4; i++) {
		struct vertex at;
		if (!depth_look(h, d[i], &at))
			return false;
		double away = vec3_length(vec3_cross(line, vec3_sub(at.w, h->v[0].w)));
		if (away > farthest) {
			farthest = away;
			h->v[2] = at;
			found = true;
		}
	}
	return found;
}

/* For a triangle: starts with the three points that most often are the answer, because the shape lies on the
 * triangle. */
static bool depth_pick_base(struct hunt *h)
{
	struct vec3 u = vec3_sub(h->corner[1], h->corner[0]), v = vec3_sub(h->corner[2], h->corner[0]),
		    a = support_own(h->a, vec3_scale(vec3_cross(u, v), -1));
	for (int i = 0; i < 3; i++)
		h->v[i] = (struct vertex){vec3_sub(a, h->corner[i]), a};
	h->size = vec3_length(u) + vec3_length(v) + vec3_length(a);
	return h->size > 0;
}

static void depth_add_face(struct hunt *h, uint32_t a, uint32_t b, uint32_t c)
{
	struct face *f = &h->f[h->faces++];
	struct vec3 u = vec3_sub(h->v[b].w, h->v[a].w), v = vec3_sub(h->v[c].w, h->v[a].w), n = vec3_cross(u, v);
	double length = vec3_length(n);
	f->v[0] = (uint8_t)a, f->v[1] = (uint8_t)b, f->v[2] = (uint8_t)c;
	if (length > 1e-14 * h->size * h->size) {
		f->n = vec3_scale(n, 1 / length);
		f->s = vec3_dot(f->n, h->v[a].w);
	} else {
		f->n = (struct vec3){0, 0, 0};
		f->s = INFINITY;
	}
}

static bool depth_pick_fourth(struct hunt *h)
{
	struct vec3 u = vec3_sub(h->v[1].w, h->v[0].w), v = vec3_sub(h->v[2].w, h->v[0].w),
		    n = vec3_unit(vec3_cross(u, v));
	struct vertex over, under;
	if (!depth_look(h, n, &over) || !depth_look(h, vec3_scale(n, -1), &under))
		return false;
	double up = vec3_dot(n, vec3_sub(over.w, h->v[0].w)), down = -vec3_dot(n, vec3_sub(under.w, h->v[0].w));
	if (MAX(up, down) <= 1e-10 * h->size)
		return false;
	h->v[3] = up >= down ? over : under;
	h->points = 4;
	bool flip = up >= down; /* 0 1 2 counter-clockwise seen from outside, away from the fourth point */
	depth_add_face(h, 0, flip ? 2 : 1, flip ? 1 : 2);
	depth_add_face(h, 0, flip ? 1 : 3, flip ? 3 : 1);
	depth_add_face(h, 1, flip ? 2 : 3, flip ? 3 : 2);
	depth_add_face(h, 2, flip ? 0 : 3, flip ? 3 : 0);
	return true;
}

static uint32_t depth_nearest_face(const struct hunt *h)
{
	uint32_t best = 0;
	for (uint32_t i = 1; i < h->faces; i++)
		if (h->f[i].s < h->f[best].s)
			best = i;
	return best;
}

/* Removes the faces that the new point sees and closes the hole with faces to it. False when there is no room. */
static bool depth_grow(struct hunt *h, const struct vertex *to)
{
	uint8_t edge[EDGES_MAX][2];
	uint32_t edges = 0, kept = 0;
	if (h->points == POINTS_MAX)
		return false;
	static const double slack = 1e-13;
	for (uint32_t i = 0; i < h->faces; i++) {
		struct face f = h->f[i];
		if (!(vec3_dot(f.n, to->w) - f.s > slack * h->size)) {
			h->f[kept++] = f;
			continue;
		}
		for (int k = 0; k < 3; k++) {
			uint8_t u = f.v[k], v = f.v[(k + 1) % 3];
			uint32_t e = 0;
			while (e < edges && !(edge[e][0] == v && edge[e][1] == u))
				e++;
			if (e < edges) { /* both faces at this edge are removed */
				edges--;
				edge[e][0] = edge[edges][0], edge[e][1] = edge[edges][1];
			} else if (edges < EDGES_MAX) {
				edge[edges][0] = u, edge[edges][1] = v;
				edges++;
			} else {
				return false;
			}
		}
	}
	h->faces = kept;
	if (kept + edges > FACES_MAX || !edges)
		return false;
	h->v[h->points++] = *to;
	for (uint32_t e = 0; e < edges; e++)
		depth_add_face(h, edge[e][0], edge[e][1], h->points - 1);
	return true;
}

static bool depth_is_curved(const struct collide_shape *s)
{
	return s->kind != COLLIDE_BOX && s->kind != COLLIDE_HULL && s->kind != COLLIDE_TRIANGLE;
}

/* The point of a for the foot of the perpendicular from the origin. */
static struct vec3 depth_witness(const struct hunt *h, const struct face *f)
{
	const struct vertex *p = &h->v[f->v[0]], *q = &h->v[f->v[1]], *r = &h->v[f->v[2]];
	struct vec3 foot = vec3_scale(f->n, f->s), u = vec3_sub(q->w, p->w), v = vec3_sub(r->w, p->w),
		    n = vec3_cross(u, v), d = vec3_sub(foot, p->w);
	double whole = vec3_dot(n, n), b = vec3_dot(vec3_cross(d, v), n) / whole,
	       c = vec3_dot(vec3_cross(u, d), n) / whole;
	return vec3_add(vec3_add(vec3_scale(p->a, 1 - b - c), vec3_scale(q->a, b)), vec3_scale(r->a, c));
}

bool depth_find(const struct collide_shape *a, const struct collide_shape *b, struct vec3 *ret_normal,
	double *ret_depth, struct vec3 *ret_at)
{
	struct hunt h;
	depth_set_up(&h, a, b);
	bool begun = b->kind == COLLIDE_TRIANGLE ? depth_pick_base(&h) : depth_pick_line(&h) && depth_pick_third(&h);
	if (!begun || !depth_pick_fourth(&h))
		return false;
	double enough = (depth_is_curved(a) || depth_is_curved(b) ? 1e-7 : 1e-11) * h.size;
	struct face best = h.f[depth_nearest_face(&h)];
	for (int round = 0; round < DEPTH_ROUNDS_MAX; round++) {
		struct vertex at;
		if (isinf(best.s))
			return false;
		if (!depth_look(&h, best.n, &at))
			return false;
		if (vec3_dot(at.w, best.n) - best.s <= enough || !depth_grow(&h, &at))
			break;
		best = h.f[depth_nearest_face(&h)];
	}
	if (!(best.s > 0))
		return false;
	*ret_normal = support_turn(&a->r, vec3_scale(best.n, -1));
	*ret_depth = best.s;
	*ret_at = vec3_add(a->p, support_turn(&a->r, depth_witness(&h, &best)));
	return true;
}
