/* Casting. Rays are searched in packets of eight. The tree gives candidates only: whether and where a ray meets a
 * visual is computed here, in double precision.
 *
 * Which visual is hit is decided in rays_cast_offer() only: by distance, then by (model id, visual). So the order in
 * which a tree gives its items does not matter. */
#include "sensor/rays_internal.h"

#include "sensor/pierce.h"

#include <stdatomic.h>
#include <string.h>

/* Four numbers of four rays. The compiler makes of them what the CPU has; each is computed as a number alone would be,
 * so this changes no bit. A mask has -1 or 0 for each number. */
enum { QUAD = 4, QUADS = TREE_LANES / QUAD };
typedef double quad __attribute__((vector_size(QUAD * sizeof(double)), may_alias));
typedef int64_t quad_mask __attribute__((vector_size(QUAD * sizeof(int64_t))));
typedef int32_t quad_ints __attribute__((vector_size(QUAD * sizeof(int32_t)), aligned(4)));
typedef float quad_floats __attribute__((vector_size(QUAD * sizeof(float)), aligned(4)));
#define INLINE static inline __attribute__((always_inline))
#define RAYS_CAST_PICK(mask, a, b)                                                                                     \
	({                                                                                                             \
		quad_mask mask_ = (mask);                                                                              \
		(quad)((mask_ & (quad_mask)(a)) | (~mask_ & (quad_mask)(b)));                                          \
	})

struct packet { /* eight rays */
	_Alignas(64) double origin[3][TREE_LANES];
	double direction[3][TREE_LANES], min[TREE_LANES], best[TREE_LANES], start[TREE_LANES];
	double place[TREE_LANES]; /* a whole number; RAYS_CAST_NO_PLACE: nothing is hit yet */
	const struct rays *rays;
	uint32_t mask;
	bool any; /* any hit will do, of a visual that casts a shadow */
	uint32_t part[TREE_LANES];
	bool swept; /* rays are cast at times before state `now` */
	double ago_s[TREE_LANES];
	uint32_t own_first, own_count; /* of a sweep: the places of the own model, which are left out */
};

#define RAYS_CAST_NO_PLACE (-1.0)

INLINE const quad *rays_cast_quad_at(const double *numbers, int q)
{
	return (const quad *)(const void *)&numbers[q * QUAD];
}

/* A ray that runs along two sides is inside on a side, too (as in pierce.c). */
INLINE void rays_cast_cut_slab(const quad *origin, const quad *direction, double half, quad *enter, quad *leave)
{
	const quad none = {0}, endless = none + (double)INFINITY;
	quad inverse = 1 / *direction, a = (-half - *origin) * inverse, b = (half - *origin) * inverse;
	quad_mask along = *direction == 0, outside = (*origin < -half) | (*origin > half), order = a < b;
	quad lo = RAYS_CAST_PICK(order, a, b), hi = RAYS_CAST_PICK(order, b, a),
	     nowhere = RAYS_CAST_PICK(outside, endless, -endless);
	lo = RAYS_CAST_PICK(along, nowhere, lo);
	hi = RAYS_CAST_PICK(along, -nowhere, hi);
	order = lo > *enter;
	*enter = RAYS_CAST_PICK(order, lo, *enter);
	order = hi < *leave;
	*leave = RAYS_CAST_PICK(order, hi, *leave);
}

INLINE void rays_cast_cut_box(const quad origin[3], const quad direction[3], struct vec3 half, quad *enter, quad *leave)
{
	const quad none = {0};
	*enter = none - (double)INFINITY;
	*leave = none + (double)INFINITY;
	rays_cast_cut_slab(&origin[0], &direction[0], half.x, enter, leave);
	rays_cast_cut_slab(&origin[1], &direction[1], half.y, enter, leave);
	rays_cast_cut_slab(&origin[2], &direction[2], half.z, enter, leave);
}

INLINE void rays_cast_get_mask(const int32_t *valid, int q, quad_mask *ret_mask)
{
	quad_ints ints;
	memcpy(&ints, &valid[q * QUAD], sizeof ints);
	*ret_mask = __builtin_convertvector(ints, quad_mask);
}

INLINE void rays_cast_far_quads(const struct packet *p, const int32_t *valid, float *far)
{
	const quad none = {0};
	for (int q = 0; q < QUADS; q++) {
		quad distance =
			(*rays_cast_quad_at(p->best, q) - *rays_cast_quad_at(p->start, q)) * (1 + 0x1p-20) + 1e-30;
		quad_ints write;
		quad_floats kept, now;
		if (p->any)
			distance = RAYS_CAST_PICK(
				*rays_cast_quad_at(p->place, q) != RAYS_CAST_NO_PLACE, none - 1, distance);
		memcpy(&write, &valid[q * QUAD], sizeof write);
		memcpy(&kept, &far[q * QUAD], sizeof kept);
		now = __builtin_convertvector(distance, quad_floats);
		kept = (quad_floats)((write & (quad_ints)now) | (~write & (quad_ints)kept));
		memcpy(&far[q * QUAD], &kept, sizeof kept);
	}
}

static bool rays_cast_stands_before(const struct seen *a, const struct seen *b)
{
	return a->id != b->id ? a->id < b->id : a->visual < b->visual;
}

/* A hit in [min, best]. */
static void rays_cast_offer(struct packet *p, uint32_t lane, double t, uint32_t place, uint32_t part)
{
	const struct seen *seen = p->rays->seen;
	if (p->place[lane] != RAYS_CAST_NO_PLACE && t == p->best[lane] &&
		rays_cast_stands_before(&seen[(uint32_t)p->place[lane]], &seen[place]))
		return;
	p->best[lane] = t;
	p->place[lane] = place;
	p->part[lane] = part;
}

/* v turned by the angle about the unit axis (Rodrigues). */
static struct vec3 rays_cast_turned(struct vec3 v, struct vec3 axis, double sin, double cos)
{
	struct vec3 across = vec3_cross(axis, v);
	return vec3_add(
		vec3_add(vec3_scale(v, cos), vec3_scale(across, sin)), vec3_scale(axis, vec3_dot(axis, v) * (1 - cos)));
}

/* A ray of `ago` s before, carried along with the body of the visual until now. */
static struct line rays_cast_carried(const struct seen *seen, struct line line, double ago_s)
{
	double rate = vec3_length(seen->w), sin, cos;
	struct vec3 arm = vec3_add(vec3_sub(line.origin, seen->centre), vec3_scale(seen->v, ago_s));
	if (rate > 0) {
		struct vec3 axis = vec3_scale(seen->w, 1 / rate);
		math_sincos(rate * ago_s, &sin, &cos);
		arm = rays_cast_turned(arm, axis, sin, cos);
		line.direction = rays_cast_turned(line.direction, axis, sin, cos);
	}
	return (struct line){vec3_add(seen->centre, arm), line.direction};
}

static struct line rays_cast_line_in(const struct packet *p, uint32_t lane, const struct seen *seen)
{
	struct line line = {{p->origin[0][lane], p->origin[1][lane], p->origin[2][lane]},
		{p->direction[0][lane], p->direction[1][lane], p->direction[2][lane]}};
	if (p->swept && seen->moves)
		line = rays_cast_carried(seen, line, p->ago_s[lane]);
	return (struct line){seen_turned(seen, (struct vec3){line.origin.x - seen->at.x, line.origin.y - seen->at.y,
						       line.origin.z - seen->at.z}),
		seen_turned(seen, line.direction)};
}

static struct span rays_cast_pierce(const struct seen *seen, struct line line)
{
	struct vec3 size = seen->size;
	switch (seen->kind) {
	case SDF_BOX:
		return pierce_box(line, size);
	case SDF_SPHERE:
		return pierce_sphere(line, size.x);
	case SDF_CYLINDER:
		return pierce_cylinder(line, size.x, size.z);
	case SDF_CAPSULE:
		return pierce_capsule(line, size.x, size.z);
	case SDF_CONE:
		return pierce_cone(line, size.x, size.z);
	case SDF_ELLIPSOID:
		return pierce_ellipsoid(line, size);
	case SDF_PLANE:
		if (line.direction.z > 0 && !seen->both_sides)
			return SPAN_NONE;
		return pierce_rectangle(line, size.x, size.y);
	case SDF_MESH:
	case SDF_POLYLINE:
	case SDF_HEIGHTMAP:
	case SDF_IMAGE:
	case SDF_EMPTY:
		break;
	}
	return SPAN_NONE;
}

static void rays_cast_try_shape(struct packet *p, uint32_t place, uint32_t lane)
{
	const struct seen *seen = &p->rays->seen[place];
	struct span span = rays_cast_pierce(seen, rays_cast_line_in(p, lane, seen));
	if (!(span.enter <= span.leave))
		return;
	double t = span.enter >= p->min[lane] || !seen->both_sides ? span.enter : span.leave;
	if (t >= p->min[lane] && t <= p->best[lane])
		rays_cast_offer(p, lane, t, place, 0);
}

static void rays_cast_try_surface(struct packet *p, uint32_t place, const int32_t *valid)
{
	const struct seen *seen = &p->rays->seen[place];
	struct surface_rays in = {.both_sides = seen->both_sides,
		.both_of = seen->both_of,
		.both_count = seen->both_count,
		.any = p->any};
	for (uint32_t lane = 0; lane < TREE_LANES; lane++) {
		struct line line = rays_cast_line_in(p, lane, seen);
		in.origin[0][lane] = line.origin.x;
		in.origin[1][lane] = line.origin.y;
		in.origin[2][lane] = line.origin.z;
		in.direction[0][lane] = line.direction.x;
		in.direction[1][lane] = line.direction.y;
		in.direction[2][lane] = line.direction.z;
		in.min[lane] = p->min[lane];
		in.best[lane] = p->best[lane];
		in.valid[lane] = valid[lane];
	}
	surface_search(seen->surface, &in);
	for (uint32_t lane = 0; lane < TREE_LANES; lane++)
		if (valid[lane] && in.part[lane] != SURFACE_NONE)
			rays_cast_offer(p, lane, in.best[lane], place, in.part[lane]);
}

/* Nearly all visuals of a warehouse are boxes: eight rays at a time. */
INLINE void rays_cast_box_quads(struct packet *p, uint32_t place, const int32_t *rays)
{
	const struct seen *seen = &p->rays->seen[place];
	for (int q = 0; q < QUADS; q++) {
		const quad *dx = rays_cast_quad_at(p->direction[0], q), *dy = rays_cast_quad_at(p->direction[1], q),
			   *dz = rays_cast_quad_at(p->direction[2], q);
		quad x = *rays_cast_quad_at(p->origin[0], q) - seen->at.x,
		     y = *rays_cast_quad_at(p->origin[1], q) - seen->at.y,
		     z = *rays_cast_quad_at(p->origin[2], q) - seen->at.z;
		quad origin[3], direction[3], t, leave, *best = (quad *)(void *)&p->best[q * QUAD],
							*places = (quad *)(void *)&p->place[q * QUAD];
		quad_mask valid;
		for (int i = 0; i < 3; i++) {
			const double *turn = seen->turn[i];
			origin[i] = turn[0] * x + turn[1] * y + turn[2] * z;
			direction[i] = turn[0] * *dx + turn[1] * *dy + turn[2] * *dz;
		}
		rays_cast_cut_box(origin, direction, seen->size, &t, &leave);
		rays_cast_get_mask(rays, q, &valid);
		valid &= t <= leave;
		if (seen->both_sides)
			t = RAYS_CAST_PICK(t >= *rays_cast_quad_at(p->min, q), t, leave);
		quad_mask hit = valid & (t >= *rays_cast_quad_at(p->min, q)) & (t <= *best),
			  nearer = hit & ((t < *best) | (*places == RAYS_CAST_NO_PLACE)), tie = hit & ~nearer;
		const quad none = {0};
		*best = RAYS_CAST_PICK(nearer, t, *best);
		*places = RAYS_CAST_PICK(nearer, none + place, *places);
		for (uint32_t lane = 0; lane < QUAD; lane++)
			if (tie[lane])
				rays_cast_offer(p, (uint32_t)q * QUAD + lane, t[lane], place, 0);
	}
}

static void rays_cast_box_plain(struct packet *p, uint32_t place, const int32_t *valid, float *far)
{
	rays_cast_box_quads(p, place, valid);
	rays_cast_far_quads(p, valid, far);
}

#ifdef __x86_64__
__attribute__((target("avx"))) static void rays_cast_box_avx(
	struct packet *p, uint32_t place, const int32_t *valid, float *far)
{
	rays_cast_box_quads(p, place, valid);
	rays_cast_far_quads(p, valid, far);
}
#else
#define rays_cast_box_avx rays_cast_box_plain
#endif

static void rays_cast_try_place(struct packet *p, uint32_t place, const int32_t *valid, float *far)
{
	const struct seen *seen = &p->rays->seen[place];
	if (!(seen->flags & p->mask) || (p->any && !seen->shadow) || place - p->own_first < p->own_count)
		return;
	if (seen->kind == SDF_BOX && !(p->swept && seen->moves)) {
		p->rays->meet_box(p, place, valid, far);
		return;
	}
	if (seen->surface)
		rays_cast_try_surface(p, place, valid);
	else
		for (uint32_t lane = 0; lane < TREE_LANES; lane++)
			if (valid[lane])
				rays_cast_try_shape(p, place, lane);
	rays_cast_far_quads(p, valid, far);
}

static void rays_cast_meet(void *ctx, uint32_t item, const int32_t *valid, float *far)
{
	struct packet *p = ctx;
	rays_cast_try_place(p, p->rays->moving_tree.items.at[item], valid, far);
}

static void rays_cast_meet_standing(void *ctx, uint32_t item, const int32_t *valid, float *far)
{
	struct packet *p = ctx;
	uint32_t place = p->rays->standing_tree.items.at[item];
	if (p->rays->stands[place])
		rays_cast_try_place(p, place, valid, far);
}

/* Cuts the rays to the box of all items. */
INLINE void rays_cast_cut_quads(struct packet *p, const int32_t *valid, struct tree_rays *to)
{
	const struct rays *rays = p->rays;
	const double hub[3] = {rays->hub.x, rays->hub.y, rays->hub.z},
		     middle[3] = {rays->middle.x, rays->middle.y, rays->middle.z};
	for (int q = 0; q < QUADS; q++) {
		const quad none = {0};
		quad from[3], direction[3], start, end;
		quad_mask in, order;
		for (int i = 0; i < 3; i++) {
			from[i] = *rays_cast_quad_at(p->origin[i], q) - hub[i];
			direction[i] = *rays_cast_quad_at(p->direction[i], q);
		}
		rays_cast_cut_box(from, direction, rays->half, &start, &end);
		order = start > *rays_cast_quad_at(p->min, q);
		start = RAYS_CAST_PICK(order, start, *rays_cast_quad_at(p->min, q));
		order = end < *rays_cast_quad_at(p->best, q);
		end = RAYS_CAST_PICK(order, end, *rays_cast_quad_at(p->best, q));
		rays_cast_get_mask(valid, q, &in);
		in &= start <= end;
		if (p->any)
			in &= *rays_cast_quad_at(p->place, q) == RAYS_CAST_NO_PLACE;
		start = RAYS_CAST_PICK(in, start, none); /* a lane without a ray must hold numbers, too */
		*(quad *)(void *)&p->start[q * QUAD] = start;
		for (int i = 0; i < 3; i++) {
			quad at = from[i] + start * direction[i] + (hub[i] - middle[i]);
			at = RAYS_CAST_PICK(in, at, none);
			quad_floats origin = __builtin_convertvector(at, quad_floats),
				    ahead = __builtin_convertvector(direction[i], quad_floats);
			memcpy(&to->origin[i][q * QUAD], &origin, sizeof origin);
			memcpy(&to->direction[i][q * QUAD], &ahead, sizeof ahead);
		}
		quad distance = (end - start) * (1 + 0x1p-20) + 1e-30;
		distance = RAYS_CAST_PICK(in, distance, none);
		quad_floats far = __builtin_convertvector(distance, quad_floats);
		quad_ints ints = __builtin_convertvector(in, quad_ints);
		memcpy(&to->far[q * QUAD], &far, sizeof far);
		memcpy(&to->valid[q * QUAD], &ints, sizeof ints);
	}
}

static void rays_cast_cut_plain(struct packet *p, const int32_t *valid, struct tree_rays *to)
{
	rays_cast_cut_quads(p, valid, to);
}

#ifdef __x86_64__
__attribute__((target("avx"))) static void rays_cast_cut_avx(
	struct packet *p, const int32_t *valid, struct tree_rays *to)
{
	rays_cast_cut_quads(p, valid, to);
}
#else
#define rays_cast_cut_avx rays_cast_cut_plain
#endif

static void rays_cast_load(struct packet *p, uint32_t lane, const struct ray *ray)
{
	p->origin[0][lane] = ray->origin.x;
	p->origin[1][lane] = ray->origin.y;
	p->origin[2][lane] = ray->origin.z;
	p->direction[0][lane] = ray->direction.x;
	p->direction[1][lane] = ray->direction.y;
	p->direction[2][lane] = ray->direction.z;
	p->min[lane] = ray->min;
	p->best[lane] = ray->max;
	p->place[lane] = RAYS_CAST_NO_PLACE;
	p->part[lane] = 0;
}

/* count: 1 to TREE_LANES */
static void rays_cast_search(struct packet *p, const struct ray *cast, uint32_t count)
{
	struct tree_rays in;
	int32_t valid[TREE_LANES];
	for (uint32_t lane = 0; lane < TREE_LANES; lane++) {
		rays_cast_load(p, lane, &cast[MIN(lane, count - 1)]);
		valid[lane] = lane < count ? -1 : 0;
	}
	float far[TREE_LANES] = {0};
	for (uint32_t i = 0; i < p->rays->loose.count; i++)
		rays_cast_try_place(p, p->rays->loose.at[i], valid, far);
	const struct rays_tree *moving = &p->rays->moving_tree, *standing = &p->rays->standing_tree;
	if (moving->items.count || standing->items.count)
		p->rays->cut(p, valid, &in);
	if (standing->items.count)
		tree_search(standing->tree, &in, rays_cast_meet_standing, p);
	if (moving->items.count)
		tree_search(moving->tree, &in, rays_cast_meet, p);
}

struct ray rays_carried(const struct rays *rays, const struct ray *ray, const struct ray_hit *hit, double ago_s)
{
	const struct seen *seen = &rays->seen[hit->place];
	if (!seen->moves)
		return *ray;
	struct line line = rays_cast_carried(seen, (struct line){ray->origin, ray->direction}, ago_s);
	return (struct ray){line.origin, line.direction, ray->min, ray->max};
}

static struct ray_hit rays_cast_hit_of(const struct packet *p, uint32_t lane)
{
	if (p->place[lane] == RAYS_CAST_NO_PLACE)
		return (struct ray_hit){INFINITY, SCENE_NONE, SCENE_NONE, SCENE_NONE, 0};
	uint32_t at = (uint32_t)p->place[lane];
	const struct seen *seen = &p->rays->seen[at];
	return (struct ray_hit){p->best[lane], seen->model, seen->visual, at, p->part[lane]};
}

/* For the choice of trees. */
static void rays_cast_note(const struct rays *rays, uint32_t count)
{
	if (rays->counts)
		atomic_fetch_add_explicit(rays->cast, count, memory_order_relaxed);
}

void rays_cast(const struct rays *rays, const struct ray *cast, uint32_t count, uint32_t mask, struct ray_hit *hits)
{
	struct packet p = {.rays = rays, .mask = mask};
	rays_cast_note(rays, count);
	for (uint32_t i = 0; i < count; i += TREE_LANES) {
		uint32_t some = MIN(count - i, (uint32_t)TREE_LANES);
		rays_cast_search(&p, &cast[i], some);
		for (uint32_t lane = 0; lane < some; lane++) {
			hits[i + lane] = rays_cast_hit_of(&p, lane);
		}
	}
}

/* The visuals of the own model, one by one: they are few. */
static void rays_cast_search_own(struct packet *p, const struct ray *cast, uint32_t count, const struct known *own)
{
	int32_t valid[TREE_LANES];
	float far[TREE_LANES] = {0};
	for (uint32_t lane = 0; lane < TREE_LANES; lane++) {
		const struct ray *ray = &cast[MIN(lane, count - 1)];
		p->origin[0][lane] = ray->origin.x, p->direction[0][lane] = ray->direction.x;
		p->origin[1][lane] = ray->origin.y, p->direction[1][lane] = ray->direction.y;
		p->origin[2][lane] = ray->origin.z, p->direction[2][lane] = ray->direction.z;
		p->start[lane] = 0;
		valid[lane] = lane < count ? -1 : 0;
	}
	for (uint32_t i = own->first; i < own->first + own->count; i++)
		if (p->rays->seen[i].kind != SDF_EMPTY)
			rays_cast_try_place(p, i, valid, far);
}

void rays_cast_swept(const struct rays *rays, const struct ray *cast, const struct rays_swept *swept, uint32_t count,
	uint32_t mask, struct ray_hit *hits)
{
	struct packet p = {.rays = rays, .mask = mask};
	rays_cast_note(rays, count);
	const struct known *own = swept->own < rays->known.count ? &rays->known.at[swept->own] : NULL;
	for (uint32_t i = 0; i < count; i += TREE_LANES) {
		uint32_t some = MIN(count - i, (uint32_t)TREE_LANES);
		p.swept = true;
		p.own_first = own ? own->first : 0;
		p.own_count = own ? own->count : 0;
		for (uint32_t lane = 0; lane < TREE_LANES; lane++)
			p.ago_s[lane] = swept->ago_s[i + MIN(lane, some - 1)];
		rays_cast_search(&p, &cast[i], some);
		p.swept = false;
		p.own_count = 0;
		if (own && swept->own_near[i / TREE_LANES])
			rays_cast_search_own(&p, &swept->own_rays[i], some, own);
		for (uint32_t lane = 0; lane < some; lane++)
			hits[i + lane] = rays_cast_hit_of(&p, lane);
	}
}

void rays_blocked(const struct rays *rays, const struct ray *cast, uint32_t count, uint32_t mask, bool *blocked)
{
	struct packet p = {.rays = rays, .mask = mask, .any = true};
	rays_cast_note(rays, count);
	for (uint32_t i = 0; i < count; i += TREE_LANES) {
		uint32_t some = MIN(count - i, (uint32_t)TREE_LANES);
		rays_cast_search(&p, &cast[i], some);
		for (uint32_t lane = 0; lane < some; lane++)
			blocked[i + lane] = p.place[lane] != RAYS_CAST_NO_PLACE;
	}
}

void rays_choose(struct rays *rays, bool avx)
{
	rays->meet_box = avx ? rays_cast_box_avx : rays_cast_box_plain;
	rays->cut = avx ? rays_cast_cut_avx : rays_cast_cut_plain;
}
