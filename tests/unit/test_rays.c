/* Rays hit what is there. Each ray is compared with a search over all visuals that knows no tree: a box of the tree
 * that is too small, a ray that is cut too short, a visual that was not followed, or a tie that depends on the order,
 * would give another hit. */
#include "../random.h"
#include "base/hash.h"
#include "sdf_help.h"
#include "sensor/pierce.h"
#include "sensor/rays_internal.h"

#include <fenv.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

TestSuite(rays, .timeout = 120);

static struct vec3 random_direction(uint64_t *seed)
{
	struct vec3 v;
	do
		v = random_vec3(seed, 1);
	while (vec3_length(v) > 1 || vec3_length(v) < 0.1);
	return vec3_unit(v);
}

/* --- worlds ------------------------------------------------------------------------------------------------------- */

struct world {
	struct sdf *sdf;
	struct scene *scene;
	struct state *state;
	struct rays *rays;
};

/* Files of these worlds are elsewhere than the worlds. */
static const char *const files_at[] = {SOURCE_DIR "/worlds/models/shapes", NULL};

static struct world load(const char *text, const char *set)
{
	if (!rays_available())
		cr_skip_test("built without Embree");
	const struct sdf_options options = {.visuals = SDF_VISUALS_READ, .resource_paths = files_at};
	struct world w = {.sdf = sdf_help_good(text, &options)};
	struct troupe_error error = {0};
	cr_assert(!scene_create(&w.sdf->worlds.at[0], NULL, &w.scene, &error), "%s", error.text);
	w.state = state_create(w.scene, NULL);
	cr_assert(!rays_create(w.scene, set, &w.rays, &error), "%s", error.text);
	rays_follow(w.rays, w.state);
	return w;
}

static void drop(struct world *w)
{
	rays_destroy(w->rays);
	state_destroy(w->state);
	scene_destroy(w->scene);
	sdf_free(w->sdf);
}

static void add_model(struct text *out, const char *name, bool is_static, struct vec3 p, const char *visual)
{
	text_add(out,
		"<model name='%s'><static>%d</static><pose>%.17g %.17g %.17g 0 0 0</pose><link name='l'>"
		"%s</link></model>",
		name, is_static, p.x, p.y, p.z, visual);
}

#define VISUAL(shape) "<visual name='v'><geometry>" shape "</geometry></visual>"
#define BOX(size) VISUAL("<box><size>" size "</size></box>")
#define OPEN "<sdf version='1.9'><world name='w'>"
#define SHUT "</world></sdf>"

static struct ray_hit cast(const struct world *w, struct vec3 from, struct vec3 direction)
{
	struct ray ray = {from, vec3_unit(direction), 0, INFINITY};
	struct ray_hit hit;
	rays_cast(w->rays, &ray, 1, UINT32_MAX, &hit);
	return hit;
}

static void at(struct ray_hit hit, double distance, uint32_t model)
{
	cr_assert(fabs(hit.distance - distance) < 1e-6 && hit.model == model, "model %u at %.9g, not %u at %.9g",
		hit.model, hit.distance, model, distance);
}

static void none(struct ray_hit hit)
{
	cr_assert(hit.model == SCENE_NONE && hit.visual == SCENE_NONE && isinf(hit.distance), "model %u at %g",
		hit.model, hit.distance);
}

/* --- formulas ------------------------------------------------------------------------------------------------------
 */

/* Whether a point is in a shape, by the definition of the shape; the ends of a span are found by bisection. */
static bool inside(enum sdf_shape_kind kind, struct vec3 s, struct vec3 p)
{
	double across = sqrt(p.x * p.x + p.y * p.y), up = fmax(fabs(p.z) - s.z, 0);
	switch (kind) {
	case SDF_BOX:
		return fabs(p.x) <= s.x && fabs(p.y) <= s.y && fabs(p.z) <= s.z;
	case SDF_SPHERE:
		return vec3_length(p) <= s.x;
	case SDF_CYLINDER:
		return across <= s.x && up == 0;
	case SDF_CAPSULE:
		return sqrt(across * across + up * up) <= s.x;
	case SDF_CONE:
		return up == 0 && across <= s.x * (s.z - p.z) / (2 * s.z);
	default:
		return p.x * p.x / s.x / s.x + p.y * p.y / s.y / s.y + p.z * p.z / s.z / s.z <= 1;
	}
}

static struct span pierce(enum sdf_shape_kind kind, struct vec3 s, struct line line)
{
	switch (kind) {
	case SDF_BOX:
		return pierce_box(line, s);
	case SDF_SPHERE:
		return pierce_sphere(line, s.x);
	case SDF_CYLINDER:
		return pierce_cylinder(line, s.x, s.z);
	case SDF_CAPSULE:
		return pierce_capsule(line, s.x, s.z);
	case SDF_CONE:
		return pierce_cone(line, s.x, s.z);
	default:
		return pierce_ellipsoid(line, s);
	}
}

static struct vec3 along(struct line line, double t)
{
	return vec3_add(line.origin, vec3_scale(line.direction, t));
}

/* The border between a point inside and one outside. */
static double border(enum sdf_shape_kind kind, struct vec3 s, struct line line, double in, double out)
{
	for (int i = 0; i < 200; i++) {
		double middle = in + (out - in) / 2;
		if (inside(kind, s, along(line, middle)))
			in = middle;
		else
			out = middle;
	}
	return in;
}

Test(rays, formulas_agree_with_the_definitions)
{
	static const enum sdf_shape_kind kinds[] = {
		SDF_BOX, SDF_SPHERE, SDF_CYLINDER, SDF_CAPSULE, SDF_CONE, SDF_ELLIPSOID};
	uint64_t seed = 1;
	uint32_t hits = 0, misses = 0;
	for (int i = 0; i < 12000; i++) {
		enum sdf_shape_kind kind = kinds[i % (int)ARRAY_LEN(kinds)];
		struct vec3 s = {
			random_between(&seed, 0.2, 3), random_between(&seed, 0.2, 3), random_between(&seed, 0.2, 3)};
		bool far = i % 3 == 0;
		struct vec3 direction = random_direction(&seed);
		if (i % 5 == 1) /* along an axis */
			direction = (struct vec3){i & 1, (i & 1) ^ 1, 0};
		if (i % 5 == 2)
			direction = (struct vec3){0, 0, i & 1 ? 1 : -1};
		struct vec3 target = random_vec3(&seed, 2);
		struct line line = {vec3_sub(target, vec3_scale(direction, far ? 1000 : 5)), direction};
		struct span span = pierce(kind, s, line);
		double middle = (span.enter + span.leave) / 2, start = far ? 990 : -5, step = 0.01;
		if (span.enter <= span.leave) {
			hits++;
			if (span.leave - span.enter < 1e-4)
				continue;
			cr_assert(inside(kind, s, along(line, middle)), "kind %d, ray %d", kind, i);
			double enter = border(kind, s, line, middle, start - 20),
			       leave = border(kind, s, line, middle, start + 40);
			/* a line that grazes a curved surface is that much less exact */
			double within = 1e-10 / fmin(span.leave - span.enter, 1);
			cr_assert(fabs(span.enter - enter) < within && fabs(span.leave - leave) < within,
				"kind %d, ray %d: %.12g %.12g, not %.12g %.12g", kind, i, span.enter, span.leave, enter,
				leave);
		} else {
			misses++;
			for (double t = start - 5; t < start + 25; t += step)
				cr_assert(!inside(kind, s, along(line, t)), "kind %d, ray %d misses", kind, i);
		}
	}
	cr_assert(hits > 3000 && misses > 1000, "%u hits, %u misses", hits, misses);
}

/* --- a room --------------------------------------------------------------------------------------------------------
 */

static struct world load_room(struct vec3 middle)
{
	struct text text = {0};
	text_add(&text, OPEN);
	static const char *const walls[] = {BOX("0.1 7 3.2"), BOX("10.2 0.1 3.2"), BOX("10 7 0.1")};
	for (int i = 0; i < 6; i++) {
		double side = i % 2 ? 1 : -1;
		struct vec3 off = {
			i / 2 == 0 ? side * 5.05 : 0, i / 2 == 1 ? side * 3.55 : 0, i / 2 == 2 ? side * 1.55 : 0};
		char name[8];
		snprintf(name, sizeof name, "w%d", i);
		add_model(&text, name, true, vec3_add(middle, off), walls[i / 2]);
	}
	text_add(&text, SHUT);
	struct world w = load(text.at, NULL);
	text_fini(&text);
	return w;
}

Test(rays, a_room_is_right_to_a_micrometre)
{
	static const struct vec3 middles[] = {{0, 0, 0}, {1000, 0, 0}, {-3e5, 4e6, 1000}};
	for (size_t m = 0; m < ARRAY_LEN(middles); m++) {
		struct world w = load_room(middles[m]);
		uint64_t seed = 3;
		for (int i = 0; i < 20000; i++) {
			struct vec3 in = {random_between(&seed, -4.9, 4.9), random_between(&seed, -3.4, 3.4),
				random_between(&seed, -1.4, 1.4)};
			struct vec3 d = random_direction(&seed), from = vec3_add(in, middles[m]);
			in = vec3_sub(from, middles[m]); /* as rounded */
			double tx = (copysign(5, d.x) - in.x) / d.x, ty = (copysign(3.5, d.y) - in.y) / d.y,
			       tz = (copysign(1.5, d.z) - in.z) / d.z;
			double t = fmin(tx, fmin(ty, tz));
			struct ray ray = {from, d, 0, INFINITY};
			struct ray_hit hit = cast(&w, from, d);
			cr_assert(
				fabs(hit.distance - t) < (m == 2 ? 1e-8 : 1e-11), "%.12g, not %.12g", hit.distance, t);
			struct vec3 normal = rays_normal(w.rays, &ray, &hit);
			double up = t == tx   ? normal.x * copysign(1, d.x)
				    : t == ty ? normal.y * copysign(1, d.y)
					      : normal.z * copysign(1, d.z);
			cr_assert(fabs(up + 1) < 1e-12 || m == 2, "normal %g %g %g", normal.x, normal.y, normal.z);
		}
		drop(&w);
	}
}

/* --- many shapes ---------------------------------------------------------------------------------------------------
 */

static const char *const shapes[] = {
	VISUAL("<box><size>1 2 0.5</size></box>"),
	VISUAL("<sphere><radius>0.7</radius></sphere>"),
	VISUAL("<cylinder><radius>0.5</radius><length>2</length></cylinder>"),
	VISUAL("<capsule><radius>0.4</radius><length>1.5</length></capsule>"),
	VISUAL("<cone><radius>0.8</radius><length>1.6</length></cone>"),
	VISUAL("<ellipsoid><radii>1 0.5 0.3</radii></ellipsoid>"),
	VISUAL("<plane><normal>0.6 0 0.8</normal><size>2 3</size></plane>"),
	VISUAL("<polyline><point>0 0</point><point>2 0</point><point>1 1</point><height>0.7</height></polyline>"),
	"<visual name='v'><pose>0.3 0 0.1 1 2 3</pose><visibility_flags>2</visibility_flags><geometry>"
	"<box><size>1 1 1</size></box></geometry></visual>",
	"<visual name='v'><cast_shadows>0</cast_shadows><geometry><sphere><radius>0.5</radius></sphere></geometry>"
	"<material><double_sided>1</double_sided></material></visual>",
};

/* Models of all shapes, spread over some space; every second one moves. */
static void add_shapes(struct text *text, uint32_t count, double size, uint64_t seed)
{
	for (uint32_t i = 0; i < count; i++) {
		char name[16];
		snprintf(name, sizeof name, "m%u", i);
		add_model(text, name, i % 2, random_vec3(&seed, size), shapes[i % ARRAY_LEN(shapes)]);
	}
}

static struct world load_shapes(uint32_t count, double size, const char *set)
{
	struct text text = {0};
	text_add(&text, OPEN);
	add_shapes(&text, count, size, 9);
	text_add(&text, SHUT);
	struct world w = load(text.at, set);
	text_fini(&text);
	return w;
}

static void turn_bodies(struct world *w, uint64_t seed)
{
	for (uint32_t b = 0; b < w->scene->body_count; b++) {
		struct body_state *body = state_body(w->state, b, false);
		body->p = vec3_add(body->p, random_vec3(&seed, 1));
		body->q = quat_from_rpy(
			random_between(&seed, -3, 3), random_between(&seed, -3, 3), random_between(&seed, -3, 3));
	}
	rays_follow(w->rays, w->state);
}

/* The first hit by trying every visual, with nothing but the formulas. */
static struct ray_hit search_all(const struct world *w, const struct ray *ray, uint32_t mask)
{
	struct ray_hit best = {INFINITY, SCENE_NONE, SCENE_NONE, 0, 0};
	for (uint32_t m = 0; m < w->scene->model_count; m++) {
		const struct scene_model *model = &w->scene->models[m];
		if (!model->id || model->absent)
			continue;
		const struct sdf_world *from = model->from;
		const struct sdf_model *sdf = &from->models.at[model->sdf];
		for (uint32_t l = 0; l < model->link_count; l++) {
			const struct sdf_link *link = &from->links.at[sdf->link_first + l];
			for (uint32_t v = link->visual_first; v < link->visual_first + link->visual_count; v++) {
				const struct sdf_visual *visual = &from->visuals.at[v];
				const struct sdf_shape *shape = &visual->shape;
				struct pose pose = pose_mul(
					state_link_pose(w->state, model->link_first + l, false), visual->in_link);
				struct pose back = pose_inverse(pose);
				struct line line = {pose_point(back, ray->origin), quat_rotate(back.q, ray->direction)};
				struct vec3 s = {shape->radius, 0, shape->length / 2};
				double t = INFINITY;
				bool both = visual->material && visual->material->double_sided;
				if (!(visual->visibility_flags & mask))
					continue;
				if (shape->kind == SDF_PLANE) {
					struct vec3 n = shape->normal, x = {n.z, 0, -n.x}, y = {0, 1, 0};
					double at = -vec3_dot(n, line.origin) / vec3_dot(n, line.direction);
					struct vec3 p = along(line, at);
					if (vec3_dot(n, line.direction) < 0 &&
						fabs(vec3_dot(x, p)) <= shape->size.x / 2 &&
						fabs(vec3_dot(y, p)) <= shape->size.y / 2)
						t = at;
				} else if (shape->mesh) {
					for (uint32_t c = 0; c < shape->mesh->corners.count; c += 3) {
						const struct vec3 *p = shape->mesh->points.at;
						const uint32_t *k = &shape->mesh->corners.at[c];
						struct vec3 a = p[k[0]],
							    n = vec3_cross(vec3_sub(p[k[1]], a), vec3_sub(p[k[2]], a));
						double at = vec3_dot(n, vec3_sub(a, line.origin)) /
							    vec3_dot(n, line.direction);
						struct vec3 q = along(line, at);
						bool in = vec3_dot(n, line.direction) < 0 && at >= ray->min;
						for (int e = 0; e < 3; e++)
							in &= vec3_dot(n,
								      vec3_cross(vec3_sub(p[k[(e + 1) % 3]], p[k[e]]),
									      vec3_sub(q, p[k[e]]))) >= 0;
						if (in)
							t = fmin(t, at);
					}
				} else {
					if (shape->kind == SDF_BOX)
						s = vec3_scale(shape->size, 0.5);
					if (shape->kind == SDF_ELLIPSOID)
						s = shape->size;
					struct span span = pierce(shape->kind, s, line);
					if (span.enter <= span.leave)
						t = span.enter < ray->min && both ? span.leave : span.enter;
				}
				if (t >= ray->min && t <= ray->max && t < best.distance)
					best = (struct ray_hit){t, m, v, 0, 0};
			}
		}
	}
	return best;
}

static void make_rays(struct ray *cast, uint32_t count, double size, uint64_t seed)
{
	for (uint32_t i = 0; i < count; i++) {
		double min = i % 7 == 3 ? random_between(&seed, 0, 2 * size) : 0,
		       max = i % 7 == 4 ? random_between(&seed, 0, 2 * size) : (double)INFINITY;
		struct vec3 from = random_vec3(&seed, size), d = random_direction(&seed);
		if (i % 11 == 0)
			d = (struct vec3){i % 3 == 0, i % 3 == 1, i % 3 == 2};
		cast[i] = (struct ray){i % 5 == 0 ? vec3_sub(from, vec3_scale(d, 1000)) : from, d, min, max};
	}
}

static void check(const struct world *w, double size, uint64_t seed)
{
	enum { RAYS = 3001 };
	static struct ray rays[RAYS];
	static struct ray_hit hits[RAYS];
	static bool blocked[RAYS];
	uint32_t met = 0;
	make_rays(rays, RAYS, size, seed);
	for (uint32_t mask = 1; mask <= 3; mask++) {
		rays_cast(w->rays, rays, RAYS, mask, hits);
		rays_blocked(w->rays, rays, RAYS, mask, blocked);
		for (uint32_t i = 0; i < RAYS; i++) {
			struct ray_hit want = search_all(w, &rays[i], mask);
			double within = 1e-9;
			cr_assert((isinf(want.distance) && isinf(hits[i].distance)) ||
					  fabs(want.distance - hits[i].distance) < within,
				"ray %u: %.12g, not %.12g", i, hits[i].distance, want.distance);
			cr_assert(want.model == hits[i].model && want.visual == hits[i].visual, "ray %u: %u %u", i,
				hits[i].model, want.model);
			met += want.model != SCENE_NONE;
			if (want.model == SCENE_NONE)
				cr_assert(!blocked[i], "ray %u", i);
			else if (rays_visual(w->rays, &hits[i])->cast_shadows)
				cr_assert(blocked[i], "ray %u", i);
		}
	}
	cr_assert(met > RAYS / 3, "%u", met);
}

Test(rays, all_shapes_at_all_poses)
{
	struct world w = load_shapes(200, 6, NULL);
	uint32_t loose;
	cr_assert(rays_count(w.rays, &loose) == 200 && loose == 0);
	check(&w, 6, 1);
	for (uint64_t i = 2; i < 5; i++) {
		turn_bodies(&w, i);
		check(&w, 6, i);
	}
	drop(&w);
}

/* A body that falls out of the world leaves the tree, and is seen all the same. */
Test(rays, far_away_and_huge_visuals)
{
	struct text text = {0};
	text_add(&text, OPEN);
	add_model(&text, "ground", true, (struct vec3){0, 0, -7}, VISUAL("<plane><size>1e6 1e6</size></plane>"));
	add_shapes(&text, 100, 6, 4);
	text_add(&text, SHUT);
	struct world w = load(text.at, NULL);
	text_fini(&text);
	uint32_t loose;
	cr_assert(rays_count(w.rays, &loose) == 101 && loose == 1);
	state_body(w.state, 3, false)->p = (struct vec3){3e5, 1e5, -2e6};
	rays_follow(w.rays, w.state);
	cr_assert(rays_count(w.rays, &loose) == 101 && loose == 2);
	check(&w, 6, 7);
	drop(&w);
}

/* --- files ---------------------------------------------------------------------------------------------------------
 */

/* Each ray against all triangles of a heightmap. Rays that run at the border between two triangles may hit either. */
Test(rays, a_heightmap)
{
	struct world w =
		load(OPEN "<model name='m'><static>1</static><pose>3 -2 1 0.1 0.2 0.3</pose><link name='l'>" VISUAL(
			     "<heightmap><uri>" SOURCE_DIR "/worlds/models/shapes/hills.png</uri><size>9 7 2.5</size>"
			     "<pos>0.5 0 0.25</pos></heightmap>") "</link></model>" SHUT,
			NULL);
	const struct sdf_shape *shape = &w.sdf->worlds.at[0].visuals.at[0].shape;
	if (!shape->image)
		cr_skip_test("built without meshes");
	struct trimesh map;
	trimesh_of_grid(scene_heightmap(shape), &map);
	struct pose pose = {{3, -2, 1}, quat_from_rpy(0.1, 0.2, 0.3)}, back = pose_inverse(pose);
	uint32_t triangles = 2 * (map.grid.columns - 1) * (map.grid.rows - 1), met = 0;
	uint64_t seed = 5;
	for (int i = 0; i < 2000; i++) {
		struct vec3 target = pose_point(pose, random_vec3(&seed, 4)), d = random_direction(&seed);
		struct line line = {vec3_sub(target, vec3_scale(d, 20)), d};
		struct ray_hit hit = cast(&w, line.origin, d);
		struct line in = {pose_point(back, line.origin), quat_rotate(back.q, d)};
		double best = INFINITY, t;
		for (uint32_t k = 0; k < triangles; k++) {
			struct trimesh_triangle triangle;
			trimesh_get(&map, k, &triangle);
			if (vec3_dot(triangle.normal, in.direction) < 0 && pierce_triangle(in, triangle.p, &t) &&
				t >= 0)
				best = fmin(best, t);
		}
		cr_assert(best == hit.distance || fabs(best - hit.distance) < 1e-9, "ray %d: %.12g, not %.12g", i,
			hit.distance, best);
		met += isfinite(best);
	}
	cr_assert(met > 200, "%u", met);
	trimesh_fini(&map);
	drop(&w);
}

/* Heightmaps of one picture that differ in one number only are seen each with its own. */
Test(rays, heightmaps_of_one_picture)
{
	static const char *const maps[] = {"<size>9 7 9</size><pos>0 0 0</pos>", "<size>9 7 2.5</size><pos>0 0 0</pos>",
		"<size>6 7 2.5</size><pos>0 0 0</pos>", "<size>9 5 2.5</size><pos>0 0 0</pos>",
		"<size>9 7 2.5</size><pos>1 0 0</pos>", "<size>9 7 2.5</size><pos>0 1 0</pos>",
		"<size>9 7 2.5</size><pos>0 0 1</pos>", "<size>9 7 2.5</size><pos>0 0 0</pos>"};
	enum { MAPS = ARRAY_LEN(maps) };
	struct world all = {0};
	for (int i = -1; i < MAPS; i++) { /* all of them, then each alone */
		struct text text = {0};
		text_add(&text, OPEN);
		for (int k = 0; k < MAPS; k++)
			if (i < 0 || i == k)
				text_add(&text,
					"<model name='m%d'><static>1</static><pose>%d 0 0 0 0 0</pose><link "
					"name='l'>" VISUAL(
						"<heightmap><uri>" SOURCE_DIR "/worlds/models/shapes/hills.png</"
						"uri>%s</heightmap>") "</link></model>",
					k, 20 * k, maps[k]);
		text_add(&text, SHUT);
		struct world w = load(text.at, NULL);
		text_fini(&text);
		if (!w.sdf->worlds.at[0].visuals.at[0].shape.image)
			cr_skip_test("built without meshes");
		if (i < 0) {
			all = w;
			continue;
		}
		uint32_t met = 0;
		for (int r = 0; r < 100; r++) {
			struct vec3 from = {20 * i + r % 10 - 4.4, r / 10 - 4.3, 10};
			double one = cast(&w, from, (struct vec3){0, 0, -1}).distance;
			double many = cast(&all, from, (struct vec3){0, 0, -1}).distance;
			cr_assert(one == many, "map %d, ray %d: %g alone, %g among others", i, r, one, many);
			met += isfinite(one);
		}
		cr_assert_gt(met, 20);
		drop(&w);
	}
	drop(&all);
}

/* A line in the plane of a triangle, as far as its numbers can say so, meets it near the triangle or not at all: a hit
 * elsewhere would count or not by the order in which a tree gives its items. */
Test(rays, lines_in_the_plane_of_a_triangle)
{
	uint64_t seed = 11;
	uint32_t met = 0;
	for (int i = 0; i < 200000; i++) {
		struct vec3 corners[3] = {random_vec3(&seed, 2), random_vec3(&seed, 2), random_vec3(&seed, 2)};
		struct vec3 a = vec3_sub(corners[1], corners[0]), b = vec3_sub(corners[2], corners[0]);
		double by[4];
		for (int k = 0; k < 4; k++)
			by[k] = random_between(&seed, -3, 3);
		struct line line = {vec3_add(corners[0], vec3_add(vec3_scale(a, by[0]), vec3_scale(b, by[1]))),
			vec3_unit(vec3_add(vec3_scale(a, by[2]), vec3_scale(b, by[3])))};
		double t;
		if (!pierce_triangle(line, corners, &t))
			continue;
		struct vec3 at = vec3_add(line.origin, vec3_scale(line.direction, t));
		struct aabb box = {vec3_min(vec3_min(corners[0], corners[1]), corners[2]),
			vec3_max(vec3_max(corners[0], corners[1]), corners[2])};
		box = aabb_grow(box, 1e-6);
		cr_assert(at.x >= box.lo.x && at.x <= box.hi.x && at.y >= box.lo.y && at.y <= box.hi.y &&
				  at.z >= box.lo.z && at.z <= box.hi.z,
			"line %d: at %g", i, t);
		met++;
	}
	cr_assert(met > 100, "%u", met);
}

#define CAMERA "<sensor name='c' type='camera'/>"
#define MESH(file) VISUAL("<mesh><uri>" SOURCE_DIR "/worlds/models/shapes/" file "</uri></mesh>")
#define ONE(inside) OPEN "<model name='m'><static>1</static><link name='l'>" inside "</link></model>" SHUT

/* Meshes of visuals are read where something sees them; a file that is missing gives a warning, and is not seen. */
Test(rays, meshes_of_visuals)
{
	static const struct {
		const char *text;
		enum sdf_visuals visuals;
		bool read;
	} cases[] = {{ONE(MESH("block.obj") CAMERA), SDF_VISUALS_IF_SEEN, true},
		{ONE(MESH("block.obj")), SDF_VISUALS_IF_SEEN, false}, {ONE(MESH("block.obj")), SDF_VISUALS_READ, true},
		{ONE(MESH("block.obj") CAMERA), SDF_VISUALS_UNREAD, false},
		{ONE(MESH("no_such_file.obj") CAMERA), SDF_VISUALS_IF_SEEN, false}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct sdf_options options = {.visuals = cases[i].visuals, .resource_paths = files_at};
		struct sdf *sdf = sdf_help_good(cases[i].text, &options);
		const struct mesh *mesh = sdf->worlds.at[0].visuals.at[0].shape.mesh;
		if (i == 0 && sdf_help_says(sdf, SDF_WARNING, "built without meshes"))
			cr_skip_test("built without meshes");
		cr_assert_eq(mesh != NULL, cases[i].read, "case %zu", i);
		cr_assert(i < 4 || sdf_help_says(sdf, SDF_WARNING, "no_such_file.obj"));
		sdf_free(sdf);
	}
	struct world w = load(cases[0].text, NULL);
	struct aabb box = AABB_NONE;
	const struct mesh *mesh = w.sdf->worlds.at[0].visuals.at[0].shape.mesh;
	for (uint32_t k = 0; k < mesh->points.count; k++)
		box = aabb_join(box, (struct aabb){mesh->points.at[k], mesh->points.at[k]});
	at(cast(&w, (struct vec3){0.01, 0.02, 10}, (struct vec3){0, 0, -1}), 10 - box.hi.z, 0);
	drop(&w);
	w = load(cases[4].text, NULL);
	none(cast(&w, (struct vec3){0.01, 0.02, 10}, (struct vec3){0, 0, -1}));
	drop(&w);
}

/* Visuals of one mesh share its surface: it is there as long as one of them is. */
Test(rays, a_mesh_outlives_one_of_its_visuals)
{
	static const char text[] = OPEN "<model name='a'><static>1</static><link name='l'>" MESH(
		"block.obj") "</link></model>"
			     "<model name='b'><static>1</static><pose>30 0 0 0 0 0</pose><link name='l'>" MESH(
				     "block.obj") "</link></model>" SHUT;
	const struct vec3 down = {0, 0, -1};
	(void)mallopt(M_PERTURB, 0xa5); /* freed memory does not keep what was in it */
	struct world w = load(text, NULL);
	if (!w.sdf->worlds.at[0].visuals.at[0].shape.mesh)
		cr_skip_test("built without meshes");
	struct ray_hit before = cast(&w, (struct vec3){30.01, 0.02, 10}, down);
	scene_set_absent(w.scene, 0, true);
	rays_follow(w.rays, w.state);
	none(cast(&w, (struct vec3){0.01, 0.02, 10}, down));
	at(cast(&w, (struct vec3){30.01, 0.02, 10}, down), before.distance, 1);
	drop(&w);
}

/* --- what comes and goes -------------------------------------------------------------------------------------------
 */

Test(rays, models_that_move_come_and_go)
{
	struct text text = {0};
	text_add(&text, OPEN);
	add_model(&text, "a", true, (struct vec3){5, 0, 0}, BOX("1 1 1"));
	add_model(&text, "b", false, (struct vec3){8, 0, 0}, BOX("1 1 1"));
	add_model(&text, "nothing", false, (struct vec3){2, 0, 0}, "");
	text_add(&text, SHUT);
	struct world w = load(text.at, NULL);
	text_fini(&text);
	struct vec3 o = {0, 0, 0}, x = {1, 0, 0};
	at(cast(&w, o, x), 4.5, 0);
	scene_place_static(w.scene, 0, (struct pose){{5, 3, 0}, quat_from_rpy(0, 0, M_PI / 4)});
	rays_follow(w.rays, w.state);
	at(cast(&w, o, x), 7.5, 1);
	at(cast(&w, (struct vec3){0, 3, 0}, x), 5 - sqrt(0.5), 0);
	state_body(w.state, 0, false)->p.x = 6;
	rays_follow(w.rays, w.state);
	at(cast(&w, o, x), 5.5, 1);
	scene_set_absent(w.scene, 1, true);
	rays_follow(w.rays, w.state);
	none(cast(&w, o, x));
	scene_set_absent(w.scene, 1, false);
	rays_follow(w.rays, w.state);
	at(cast(&w, o, x), 5.5, 1);

	/* a created model, in whose place another one comes */
	for (int i = 0; i < 2; i++) {
		const char *sdf_text =
			i ? "<sdf version='1.9'><model name='c'><pose>3 0 0 0 0 0</pose><link name='l'>" VISUAL(
				    "<sphere><radius>0.25</radius></sphere>") "</link></model></sdf>"
			  : "<sdf version='1.9'><model name='c'><pose>3 0 0 0 0 0</pose><link name='l'>" VISUAL(
				    "<polyline><point>-1 -1</point><point>1 -1</point><point>0 1</point>"
				    "<height>4</height></polyline>") "</link></model></sdf>";
		struct sdf_options options = {.bare = true, .visuals = SDF_VISUALS_READ};
		struct sdf *sdf = sdf_help_good(sdf_text, &options);
		struct scene_parts *parts;
		struct troupe_error error;
		uint32_t model;
		const char *warning;
		cr_assert(!scene_compile(sdf, NULL, &parts, &error), "%s", error.text);
		cr_assert(!scene_add(w.scene, parts, sdf, NULL, &model, &warning, &error), "%s", error.text);
		state_add(w.state, model, 0);
		rays_follow(w.rays, w.state);
		if (i)
			at(cast(&w, o, x), 2.75, model);
		else
			at(cast(&w, (struct vec3){0, 0, 1}, x), 2.5, model);
		scene_set_absent(w.scene, model, true);
		scene_free(w.scene, model);
		state_remove(w.state, model);
		/* the second takes the place of the first before the rays follow */
		if (i)
			rays_follow(w.rays, w.state);
	}
	at(cast(&w, o, x), 5.5, 1);
	cr_assert_eq(rays_count(w.rays, NULL), 2);
	drop(&w);
}

static void same_as_anew(const struct world *w, const bool *hidden, uint64_t *seed)
{
	enum { RAYS = 64 };
	struct ray rays[RAYS];
	struct ray_hit hits[RAYS], anew[RAYS];
	struct world other = *w;
	struct troupe_error error;
	cr_assert(!rays_create(w->scene, NULL, &other.rays, &error), "%s", error.text);
	rays_hide(other.rays, hidden);
	rays_follow(other.rays, w->state);
	for (uint32_t i = 0; i < RAYS; i++)
		rays[i] = (struct ray){random_vec3(seed, 12), random_direction(seed), 0, INFINITY};
	rays_cast(w->rays, rays, RAYS, UINT32_MAX, hits);
	rays_cast(other.rays, rays, RAYS, UINT32_MAX, anew);
	for (uint32_t i = 0; i < RAYS; i++) {
		cr_assert_eq(hits[i].model, anew[i].model);
		cr_assert_eq(hits[i].visual, anew[i].visual);
		cr_assert(hits[i].distance == anew[i].distance);
	}
	cr_assert_eq(rays_count(w->rays, NULL), rays_count(other.rays, NULL));
	rays_destroy(other.rays);
}

static void cast_many(const struct world *w, uint64_t *seed)
{
	enum { BATCH = 1000, BATCHES = 70 };
	static struct ray rays[BATCH];
	static struct ray_hit hits[BATCH];
	for (uint32_t i = 0; i < BATCH; i++)
		rays[i] = (struct ray){random_vec3(seed, 12), random_direction(seed), 0, INFINITY};
	for (int i = 0; i < BATCHES; i++)
		rays_cast(w->rays, rays, BATCH, UINT32_MAX, hits);
}

/* What stands for some steps goes to a tree of its own, and comes back when it is moved, hidden or taken away, when the
 * world becomes larger, and when many rays are cast. Each hit is that of rays that see the world for the first time. */
Test(rays, what_stands_is_seen_where_it_is)
{
	enum { STANDING = 400, MOVING = 5, STEPS = 120 };
	struct text text = {0};
	uint64_t seed = 77;
	uint32_t most = 0, least = UINT32_MAX;
	bool hidden[STANDING + MOVING] = {false};
	text_add(&text, OPEN);
	for (uint32_t i = 0; i < STANDING + MOVING; i++) {
		char name[16];
		snprintf(name, sizeof name, "m%u", i);
		add_model(&text, name, i < STANDING, random_vec3(&seed, 10),
			i % 3 ? BOX("0.5 0.3 0.4") : VISUAL("<sphere><radius>0.4</radius></sphere>"));
	}
	text_add(&text, SHUT);
	struct world w = load(text.at, NULL);
	text_fini(&text);
	rays_hide(w.rays, hidden);
	for (uint32_t step = 0; step < STEPS; step++) {
		for (uint32_t i = 0; i < MOVING; i++)
			state_body(w.state, i, false)->p = random_vec3(&seed, step == 60 ? 400 : 10);
		uint32_t some = random_below(&seed, STANDING);
		if (step % 5 == 3 && !w.scene->models[some].absent)
			scene_place_static(w.scene, some, (struct pose){random_vec3(&seed, 10), {1, 0, 0, 0}});
		if (step % 7 == 2)
			scene_set_absent(w.scene, some, !w.scene->models[some].absent);
		hidden[random_below(&seed, STANDING)] = step % 11 == 4;
		rays_follow(w.rays, w.state);
		if (step >= 80 && step < 100)
			cast_many(&w, &seed);
		least = step > 20 && step < 80 ? MIN(least, w.rays->standing_tree.items.count) : least;
		most = step >= 90 && step < 100 ? MAX(most, w.rays->standing_tree.items.count) : most;
		same_as_anew(&w, hidden, &seed);
	}
	cr_assert_gt(least, STANDING / 2, "the tree of what stands has %u visuals", least);
	cr_assert_eq(most, 0, "with many rays there is one tree, not two with %u visuals", most);
	cr_assert_gt(w.rays->standing_tree.items.count, 0, "with few rays there are two again");
	drop(&w);
}

Test(rays, an_empty_world_has_no_hits)
{
	struct world w = load(OPEN SHUT, NULL);
	none(cast(&w, (struct vec3){0, 0, 0}, (struct vec3){1, 0, 0}));
	drop(&w);
}

/* --- sides ---------------------------------------------------------------------------------------------------------
 */

Test(rays, a_visual_is_seen_from_outside)
{
	struct text text = {0};
	text_add(&text, OPEN);
	add_model(&text, "a", true, (struct vec3){0, 0, 0}, BOX("2 2 2"));
	add_model(&text, "b", true, (struct vec3){0, 0, 0},
		"<visual name='v'><geometry><box><size>8 8 8</size></box></geometry>"
		"<material><double_sided>1</double_sided></material></visual>");
	add_model(&text, "p", true, (struct vec3){0, 0, 9}, VISUAL("<plane><size>50 50</size></plane>"));
	text_add(&text, SHUT);
	struct world w = load(text.at, NULL);
	text_fini(&text);
	struct vec3 up = {0, 0, 1}, down = {0, 0, -1};
	at(cast(&w, (struct vec3){0, 0, 0}, up), 4, 1); /* out of a, and the far side of b */
	at(cast(&w, (struct vec3){0, 0, 3}, down), 2, 0);
	at(cast(&w, (struct vec3){0, 0, 10}, down), 1, 2);
	none(cast(&w, (struct vec3){0, 0, 5}, up)); /* the plane from below */
	struct ray ray = {{0, 0, 3}, {0, 0, -1}, 2.5, 100};
	struct ray_hit hit;
	rays_cast(w.rays, &ray, 1, UINT32_MAX, &hit); /* min lies inside a */
	at(hit, 7, 1);
	ray.max = 6;
	rays_cast(w.rays, &ray, 1, UINT32_MAX, &hit);
	none(hit);
	drop(&w);
}

/* --- the same bits --------------------------------------------------------------------------------------------------
 */

/* Two walls whose faces lie in one plane: the lower id is hit, whichever came first into the tree. */
Test(rays, a_tie_goes_to_the_lower_id)
{
	for (int turn = 0; turn < 2; turn++) {
		struct text text = {0};
		text_add(&text, OPEN);
		for (int i = 0; i < 6; i++) {
			char name[8];
			snprintf(name, sizeof name, "w%d", i);
			add_model(&text, name, i % 2, (struct vec3){3, 0.1 * (turn ? 5 - i : i), 0}, BOX("1 4 1"));
		}
		text_add(&text, SHUT);
		struct world w = load(text.at, NULL);
		text_fini(&text);
		at(cast(&w, (struct vec3){0, 0, 0}, (struct vec3){1, 0, 0}), 2.5, 0);
		scene_set_absent(w.scene, 0, true);
		rays_follow(w.rays, w.state);
		at(cast(&w, (struct vec3){0, 0, 0}, (struct vec3){1, 0, 0}), 2.5, 1);
		scene_set_absent(w.scene, 0, false);
		rays_follow(w.rays, w.state);
		at(cast(&w, (struct vec3){0, 0, 0}, (struct vec3){1, 0, 0}), 2.5, 0);
		drop(&w);
	}
}

/* Of triangles of one surface that lie upon each other, the lowest is hit, in whatever order they were tried. */
Test(rays, a_tie_in_a_surface_goes_to_the_lowest_triangle)
{
	enum { SAME = 40 };
	struct tree_maker *maker;
	struct troupe_error error;
	struct mesh mesh = {0};
	cr_assert(!tree_maker_create(NULL, &maker, &error));
	for (uint32_t i = 0; i < SAME; i++) { /* the first and each third lie in front of the others */
		double x = i % 3 ? 2 : 1;
		uint32_t a = mesh_add_point(&mesh, (struct vec3){x, -1, -1});
		uint32_t b = mesh_add_point(&mesh, (struct vec3){x, 0, 1}),
			 c = mesh_add_point(&mesh, (struct vec3){x, 1, -1});
		mesh_add_triangle(&mesh, i ? a : b, i ? b : a, c); /* the first one is seen from behind */
	}
	struct surface *surface = surface_of_mesh(maker, &mesh);
	for (int both = 0; both < 2; both++) {
		struct surface_rays rays = {.both_sides = both};
		for (uint32_t lane = 0; lane < TREE_LANES; lane++) {
			rays.direction[0][lane] = lane % 2 ? -1 : 1;
			rays.origin[0][lane] = lane % 2 ? 3 : 0;
			rays.origin[1][lane] = 0.02 * lane;
			rays.best[lane] = 10;
			rays.part[lane] = SURFACE_NONE;
			rays.valid[lane] = -1;
		}
		surface_search(surface, &rays);
		for (uint32_t lane = 0; lane < TREE_LANES; lane++) {
			bool back = lane % 2;
			cr_assert_eq(rays.part[lane], both ? back : back ? 0 : 3, "lane %u", lane);
			cr_assert_float_eq(rays.best[lane], both || !back ? 1 : 2, 1e-12, "lane %u", lane);
		}
	}
	surface_destroy(surface);
	tree_maker_destroy(maker);
	mesh_fini(&mesh);
}

enum { BITS_RAYS = 20000 };

static uint64_t bits_of(const struct world *w)
{
	struct ray *rays = mem_alloc(BITS_RAYS * sizeof *rays);
	struct ray_hit *hits = mem_alloc(BITS_RAYS * sizeof *hits);
	make_rays(rays, BITS_RAYS, 6, 77);
	rays_cast(w->rays, rays, BITS_RAYS, UINT32_MAX, hits);
	uint64_t hash = 1;
	for (uint32_t i = 0; i < BITS_RAYS; i++) {
		uint64_t bits;
		memcpy(&bits, &hits[i].distance, sizeof bits);
		hash = hash_mix(hash_mix(hash, bits), hits[i].model * 1000ull + hits[i].visual);
	}
	free(rays);
	free(hits);
	return hash;
}

Test(rays, same_bits_with_every_instruction_set_and_history)
{
	static const char *const sets[] = {"sse2", "sse4.2", "avx", "avx2", "avx512"};
	struct world w = load_shapes(200, 6, NULL);
	turn_bodies(&w, 8);
	uint64_t want = bits_of(&w);
	/* another history: bodies moved back and forth, models gone and back, in another order */
	turn_bodies(&w, 5);
	for (uint32_t m = 0; m < 200; m += 3)
		scene_set_absent(w.scene, (m * 7) % 200, true);
	rays_follow(w.rays, w.state);
	state_reset(w.state);
	cr_assert_neq(bits_of(&w), want);
	for (uint32_t m = 0; m < 200; m++)
		scene_set_absent(w.scene, 199 - m, false);
	state_reset(w.state);
	turn_bodies(&w, 8);
	cr_assert_eq(bits_of(&w), want);
	drop(&w);
	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		/* a set that this CPU lacks is replaced by the best that it has */
		struct world other = load_shapes(200, 6, sets[i]);
		turn_bodies(&other, 8);
		cr_assert_eq(bits_of(&other), want, "%s", sets[i]);
		drop(&other);
	}
}

static void *cast_in_thread(void *w)
{
	static _Thread_local uint64_t bits;
	bits = bits_of(w);
	return (void *)(uintptr_t)bits;
}

Test(rays, same_bits_in_several_threads)
{
	struct world w = load_shapes(200, 6, NULL);
	uint64_t want = bits_of(&w);
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		cr_assert(!pthread_create(&threads[i], NULL, cast_in_thread, &w));
	for (int i = 0; i < 4; i++) {
		void *bits;
		cr_assert(!pthread_join(threads[i], &bits));
		cr_assert_eq((uint64_t)(uintptr_t)bits, want);
	}
	drop(&w);
}

Test(rays, floating_point_stays_as_it_was)
{
	fenv_t before, after;
	fegetenv(&before);
	struct world w = load_shapes(2000, 30, NULL);
	turn_bodies(&w, 8);
	(void)bits_of(&w);
	fegetenv(&after);
#if defined __x86_64__
	cr_assert_eq(before.__mxcsr & ~0x3fu, after.__mxcsr & ~0x3fu); /* all but the flags of exceptions */
#endif
	volatile double tiny = 1e-310;
	cr_assert(tiny / 2 > 0);
	drop(&w);
}

static struct texture_place texture_at(
	const struct surface *surface, uint32_t part, struct vec3 point, struct vec3 across, struct vec3 down)
{
	struct texture_place place;
	cr_assert(surface_texture(surface, part, point, across, down, &place));
	return place;
}

/* At the corners of a triangle the texture is where the mesh says; along a vector of its plane it goes on by as much as
 * between the ends of that vector. */
Test(rays, textures_of_triangles_are_linear)
{
	enum { TRIANGLES = 50 };
	uint64_t seed = 3;
	struct mesh mesh = {0};
	struct tree_maker *maker;
	struct troupe_error error;
	for (uint32_t i = 0; i < 3 * TRIANGLES; i++) {
		struct mesh_texcoord at = {(float)random_between(&seed, -2, 2), (float)random_between(&seed, -2, 2)};
		mesh_add_point(&mesh, random_vec3(&seed, 3));
		vec_push(&mesh.texcoords, at);
	}
	for (uint32_t i = 0; i < TRIANGLES; i++)
		mesh_add_triangle(&mesh, 3 * i, 3 * i + 1, 3 * i + 2);
	cr_assert(!tree_maker_create(NULL, &maker, &error));
	struct surface *surface = surface_of_mesh(maker, &mesh);
	for (uint32_t i = 0; i < TRIANGLES; i++) {
		const struct vec3 *corners = &mesh.points.at[3 * (size_t)i];
		for (uint32_t k = 0; k < 3; k++) {
			struct vec3 across = vec3_sub(corners[(k + 1) % 3], corners[k]),
				    down = vec3_scale(vec3_sub(corners[(k + 2) % 3], corners[k]), 0.5);
			struct texture_place place = texture_at(surface, i, corners[k], across, down);
			const struct mesh_texcoord *at = &mesh.texcoords.at[3 * (size_t)i];
			double u = (double)at[k].u, v = 1 - (double)at[k].v, right_u = (double)at[(k + 1) % 3].u,
			       right_v = 1 - (double)at[(k + 1) % 3].v, below_u = (double)at[(k + 2) % 3].u,
			       below_v = 1 - (double)at[(k + 2) % 3].v;
			double found[] = {place.u, place.v, place.u_across, place.v_across, place.u_down, place.v_down};
			double wanted[] = {u, v, right_u - u, right_v - v, (below_u - u) / 2, (below_v - v) / 2};
			for (size_t n = 0; n < ARRAY_LEN(found); n++)
				cr_assert(fabs(found[n] - wanted[n]) < 1e-7, "triangle %u, corner %u, %zu: %g, not %g",
					i, k, n, found[n], wanted[n]);
		}
	}
	surface_destroy(surface);
	tree_maker_destroy(maker);
	mesh_fini(&mesh);
}
