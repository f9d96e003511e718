/* One tree holds the boxes of all visuals, static and moving. A ray is searched through two trees only where it meets
 * the box of a mesh. The tree is built anew when anything moved: for a thousand visuals this costs less than a thousand
 * rays, and a second tree for what does not move would double the cost of every ray.
 *
 * The tree's numbers are of single precision, relative to the middle of the world as it was first. Its boxes are larger
 * than the visuals by the error that a ray of single precision can have anywhere in the box of them all; a ray is cut,
 * in double precision, to this box. So the tree finds every visual that the exact ray meets. A visual that would make
 * this error large, because it is huge or far away, is not put into the tree.
 *
 * Which visual is hit is decided in offer() only: by distance, then by (model id, visual). So the order in which a tree
 * gives its items does not matter. */
#include "sensor/rays.h"

#include "sensor/pierce.h"
#include "sensor/surface.h"

#include "base/ranges.h"

#include <stdlib.h>
#include <string.h>

#define REACH_MAX 8192.0 /* m from the middle */

/* A visual at its place. */
struct seen {
	double turn[3][3]; /* rows: the axes of the visual's frame, in the world */
	struct vec3 at, size;
	enum sdf_shape_kind kind; /* SDF_EMPTY: this place is free, or the visual cannot be seen */
	uint32_t flags;
	uint64_t id; /* of the model */
	uint32_t model, visual;
	struct surface *surface;
	bool both_sides, shadow;
	struct rays_label label;

	/* for rays_follow() */
	uint32_t body; /* SCENE_NONE: static */
	uint32_t link;
	struct pose in_link;
	struct vec3 reach; /* half edges of its box, in its own frame, about `middle` */
	struct vec3 middle;
};

struct known {           /* the model at a place of the scene */
	uint64_t serial; /* 0: none */
	uint32_t first, count;
	struct pose at; /* of a static model */
};

struct kept_surface {
	const void *of; /* mesh or image */
	struct vec3 size, shift;
	struct surface *surface; /* NULL: free */
	uint32_t users;
};

struct packet;

struct rays {
	const struct scene *scene;
	/* by the CPU */
	void (*meet_box)(struct packet *p, uint32_t place, const int32_t *valid, float *far);
	void (*cut)(struct packet *p, const int32_t *valid, struct tree_rays *to);
	const bool *hidden; /* by model; NULL: none is */
	struct tree_maker *maker;
	struct tree *tree;
	struct seen *seen;
	struct ranges places;
	uint32_t room, count;
	VEC(struct known) known;
	VEC(struct pose) poses; /* by body */
	VEC(struct kept_surface) surfaces;
	VEC(uint32_t) items; /* of the tree -> place in seen */
	VEC(uint32_t) loose; /* places */
	VEC(struct tree_box) boxes;
	struct vec3 middle;
	bool has_middle;
	struct vec3 half; /* of the box of all items, about `hub` */
	struct vec3 hub;
};

bool rays_available(void)
{
	return tree_available();
}

troupe_status rays_check(struct troupe_error *error)
{
	struct tree_maker *maker = NULL;
	troupe_status status = tree_maker_create(NULL, &maker, error);
	tree_maker_destroy(maker);
	return status;
}

void rays_destroy(struct rays *rays)
{
	if (!rays)
		return;
	for (uint32_t i = 0; i < rays->surfaces.count; i++)
		surface_destroy(rays->surfaces.at[i].surface);
	tree_destroy(rays->tree);
	tree_maker_destroy(rays->maker);
	free(rays->seen);
	ranges_fini(&rays->places);
	vec_free(&rays->known);
	vec_free(&rays->poses);
	vec_free(&rays->surfaces);
	vec_free(&rays->items);
	vec_free(&rays->loose);
	vec_free(&rays->boxes);
	free(rays);
}

uint32_t rays_count(const struct rays *rays, uint32_t *ret_loose)
{
	if (ret_loose)
		*ret_loose = rays->loose.count;
	return rays->items.count + rays->loose.count;
}

/* --- shapes ------------------------------------------------------------------------------------------------------- */

static bool same_vec3(struct vec3 a, struct vec3 b)
{
	return a.x == b.x && a.y == b.y && a.z == b.z;
}

/* One surface serves all visuals of one mesh. */
static struct surface *take_surface(struct rays *rays, const struct sdf_shape *shape)
{
	bool map = shape->kind == SDF_HEIGHTMAP;
	const void *of = map ? (const void *)shape->image : (const void *)shape->mesh;
	struct kept_surface *to = NULL;
	if (!of)
		return NULL;
	for (uint32_t i = 0; i < rays->surfaces.count; i++) {
		struct kept_surface *kept = &rays->surfaces.at[i];
		if (kept->surface && kept->of == of &&
			(!map || (same_vec3(kept->size, shape->size) && same_vec3(kept->shift, shape->shift)))) {
			kept->users++;
			return kept->surface;
		}
		if (!kept->surface)
			to = kept;
	}
	struct surface *surface =
		map ? surface_of_grid(rays->maker, scene_heightmap(shape)) : surface_of_mesh(rays->maker, shape->mesh);
	struct kept_surface kept = {of, shape->size, shape->shift, surface, 1};
	if (to)
		*to = kept;
	else
		vec_push(&rays->surfaces, kept);
	return surface;
}

static void give_surface(struct rays *rays, const struct surface *surface)
{
	for (uint32_t i = 0; surface && i < rays->surfaces.count; i++) {
		struct kept_surface *kept = &rays->surfaces.at[i];
		if (kept->surface == surface && !--kept->users) {
			surface_destroy(kept->surface);
			*kept = (struct kept_surface){0};
		}
	}
}

/* The shortest rotation that takes z to the normal, as Gazebo turns planes. */
static struct quat from_z(struct vec3 normal)
{
	if (normal.z < -1 + 1e-12)
		return (struct quat){0, 1, 0, 0};
	return quat_unit((struct quat){1 + normal.z, -normal.y, normal.x, 0});
}

static void set_shape(struct rays *rays, struct seen *seen, const struct sdf_shape *shape)
{
	double r = shape->radius, h = shape->length / 2;
	seen->kind = shape->kind;
	seen->size = (struct vec3){r, 0, h};
	seen->reach = (struct vec3){r, r, h};
	switch (shape->kind) {
	case SDF_BOX:
		seen->size = seen->reach = vec3_scale(shape->size, 0.5);
		break;
	case SDF_ELLIPSOID:
		seen->size = seen->reach = shape->size;
		break;
	case SDF_SPHERE:
		seen->reach.z = r;
		break;
	case SDF_CAPSULE:
		seen->reach.z = h + r;
		break;
	case SDF_CYLINDER:
	case SDF_CONE:
		break;
	case SDF_PLANE:
		seen->size = seen->reach = (struct vec3){shape->size.x / 2, shape->size.y / 2, 0};
		seen->in_link.q = quat_mul(seen->in_link.q, from_z(shape->normal));
		break;
	case SDF_MESH:
	case SDF_POLYLINE:
	case SDF_HEIGHTMAP:
		seen->surface = take_surface(rays, shape);
		if (seen->surface) {
			struct aabb box = surface_box(seen->surface);
			seen->reach = vec3_scale(vec3_sub(box.hi, box.lo), 0.5);
			seen->middle = vec3_add(box.lo, seen->reach);
		} else {
			seen->kind = SDF_EMPTY;
		}
		break;
	case SDF_IMAGE:
	case SDF_EMPTY:
		seen->kind = SDF_EMPTY;
	}
}

/* --- labels ------------------------------------------------------------------------------------------------------- */

static bool is_label(const char *name, const char *filename)
{
	return (name && (!strcmp(name, "gz::sim::systems::Label") ||
				!strcmp(name, "ignition::gazebo::systems::Label"))) ||
	       (filename && strstr(filename, "label-system"));
}

static uint32_t label_in(const struct sdf_element *plugin)
{
	const char *text = sdf_child_text(plugin, "label");
	double value;
	return text && text_doubles(text, &value, 1) == 1 && value >= 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

static uint32_t label_of(const struct sdf_world *from, const struct sdf_visual *visual)
{
	for (const struct sdf_element *at = NULL; (at = sdf_child(visual->element, "plugin", at));)
		if (is_label(sdf_attribute(at, "name"), sdf_attribute(at, "filename")))
			return label_in(at);
	for (uint32_t m = from->links.at[visual->link].model; m != SDF_NONE; m = from->models.at[m].parent) {
		const struct sdf_model *model = &from->models.at[m];
		for (uint32_t p = model->plugin_first; p < model->plugin_first + model->plugin_count; p++)
			if (from->plugins.at[p].model == m &&
				is_label(from->plugins.at[p].name, from->plugins.at[p].filename))
				return label_in(from->plugins.at[p].element);
	}
	return 0;
}

static int by_label(const void *a, const void *b)
{
	const struct seen *x = *(const struct seen *const *)a, *y = *(const struct seen *const *)b;
	if (x->label.label != y->label.label)
		return x->label.label < y->label.label ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* Numbers the models of each label. */
static void number_instances(struct rays *rays)
{
	struct seen **all = mem_alloc((rays->places.end + 1) * sizeof *all);
	uint32_t count = 0, number = 0;
	for (uint32_t i = 0; i < rays->places.end; i++)
		if (rays->seen[i].label.label)
			all[count++] = &rays->seen[i];
	qsort(all, count, sizeof *all, by_label);
	for (uint32_t i = 0; i < count; i++) {
		bool same = i > 0 && all[i]->label.label == all[i - 1]->label.label;
		if (!same)
			number = 1;
		else if (all[i]->id != all[i - 1]->id)
			number++;
		all[i]->label.instance = number;
	}
	free(all);
}

struct rays_label rays_label(const struct rays *rays, const struct ray_hit *hit)
{
	return rays->seen[hit->place].label;
}

const struct sdf_scene *rays_surroundings(const struct rays *rays)
{
	return &rays->scene->sdf->surroundings.scene;
}

/* --- following ---------------------------------------------------------------------------------------------------- */

static void place(struct rays *rays, struct seen *seen)
{
	struct pose link = rays->scene->links[seen->link].in_body;
	if (seen->body != SCENE_NONE)
		link = pose_mul(rays->poses.at[seen->body], link);
	struct pose pose = pose_mul(link, seen->in_link);
	struct mat3 m = quat_matrix(quat_unit(pose.q));
	seen->at = pose.p;
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++)
			seen->turn[i][k] = m.m[k][i];
}

static void place_all(struct rays *rays, const struct known *known)
{
	for (uint32_t i = known->first; i < known->first + known->count; i++)
		place(rays, &rays->seen[i]);
}

static void drop_model(struct rays *rays, struct known *known)
{
	for (uint32_t i = known->first; i < known->first + known->count; i++) {
		give_surface(rays, rays->seen[i].surface);
		rays->seen[i] = (struct seen){0};
	}
	ranges_give(&rays->places, known->first, known->count);
	*known = (struct known){0};
}

static void add_visual(struct rays *rays, uint32_t model, uint32_t visual, uint32_t link, struct seen *seen)
{
	const struct scene_model *m = &rays->scene->models[model];
	const struct sdf_visual *from = &m->from->visuals.at[visual];
	*seen = (struct seen){
		.flags = from->visibility_flags,
		.id = m->id,
		.model = model,
		.visual = visual,
		.both_sides = from->material && from->material->double_sided,
		.shadow = from->cast_shadows && from->transparency < 1,
		.body = rays->scene->links[link].body,
		.link = link,
		.in_link = from->in_link,
		.label = {label_of(m->from, from), 0},
	};
	set_shape(rays, seen, &from->shape);
}

/* The visuals of a model stand in the order of its links, and so in that of the file. */
static void add_model(struct rays *rays, uint32_t model, struct known *known)
{
	const struct scene_model *m = &rays->scene->models[model];
	const struct sdf_world *from = m->from;
	*known = (struct known){.serial = m->serial, .at = m->in_body};
	if (m->sdf == SDF_NONE)
		return;
	uint32_t first = from->models.at[m->sdf].link_first;
	for (uint32_t l = 0; l < m->link_count; l++)
		known->count += from->links.at[first + l].visual_count;
	known->first = ranges_take(&rays->places, known->count);
	if (rays->places.end > rays->room) {
		uint32_t room = MAX(rays->places.end, rays->room + rays->room / 2);
		MEM_FIT(rays->seen, rays->room, room);
		rays->room = room;
	}
	struct seen *seen = &rays->seen[known->first];
	for (uint32_t l = 0; l < m->link_count; l++) {
		const struct sdf_link *link = &from->links.at[first + l];
		for (uint32_t v = 0; v < link->visual_count; v++)
			add_visual(rays, model, link->visual_first + v, m->link_first + l, seen++);
	}
	place_all(rays, known);
}

/* Keeps the poses of the model's bodies. True: some of them changed. */
static bool keep_poses(struct rays *rays, const struct state *state, uint32_t model)
{
	const struct scene_model *m = &rays->scene->models[model];
	const struct body_state *bodies = m->body_count ? state_bodies(state, model, false) : NULL;
	bool moved = false;
	for (uint32_t b = 0; b < m->body_count; b++) {
		struct pose now = body_pose(&bodies[b]), *kept = &rays->poses.at[m->body_first + b];
		if (memcmp(kept, &now, sizeof now)) {
			*kept = now;
			moved = true;
		}
	}
	return moved;
}

static bool stands(const struct rays *rays, uint32_t model)
{
	const struct scene_model *m = &rays->scene->models[model];
	return m->id && !m->absent && !(rays->hidden && rays->hidden[model]);
}

static bool drop_models(struct rays *rays)
{
	const struct scene *scene = rays->scene;
	bool changed = false;
	for (uint32_t m = 0; m < rays->known.count; m++) {
		struct known *known = &rays->known.at[m];
		bool same = m < scene->model_count && stands(rays, m) && scene->models[m].serial == known->serial;
		if (known->serial && !same) {
			drop_model(rays, known);
			changed = true;
		}
	}
	return changed;
}

static bool follow_model(struct rays *rays, const struct state *state, uint32_t model)
{
	const struct scene_model *m = &rays->scene->models[model];
	struct known *known = &rays->known.at[model];
	bool moved = keep_poses(rays, state, model);
	if (!known->serial) {
		add_model(rays, model, known);
		return known->count > 0;
	}
	if (m->is_static && memcmp(&known->at, &m->in_body, sizeof known->at)) {
		known->at = m->in_body;
		moved = true;
	}
	if (moved)
		place_all(rays, known);
	return moved && known->count;
}

/* --- the tree ----------------------------------------------------------------------------------------------------- */

static struct aabb box_of(const struct seen *seen)
{
	double reach[3], middle[3];
	for (int k = 0; k < 3; k++) {
		reach[k] = fabs(seen->turn[0][k]) * seen->reach.x + fabs(seen->turn[1][k]) * seen->reach.y +
			   fabs(seen->turn[2][k]) * seen->reach.z;
		middle[k] = seen->turn[0][k] * seen->middle.x + seen->turn[1][k] * seen->middle.y +
			    seen->turn[2][k] * seen->middle.z;
	}
	struct vec3 at = vec3_add(seen->at, (struct vec3){middle[0], middle[1], middle[2]});
	struct vec3 half = {reach[0], reach[1], reach[2]};
	return (struct aabb){vec3_sub(at, half), vec3_add(at, half)};
}

bool rays_box(const struct rays *rays, uint32_t model, struct aabb *ret_box)
{
	const struct known *known = model < rays->known.count ? &rays->known.at[model] : NULL;
	bool found = false;
	*ret_box = AABB_NONE;
	for (uint32_t i = 0; known && i < known->count; i++) {
		const struct seen *seen = &rays->seen[known->first + i];
		if (seen->kind == SDF_EMPTY || !vec3_finite(seen->at))
			continue;
		*ret_box = aabb_join(*ret_box, box_of(seen));
		found = true;
	}
	return found;
}

void rays_hide(struct rays *rays, const bool *hidden)
{
	rays->hidden = hidden;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The median of all places along each axis: a few that lie far away have no effect. */
static void find_middle(struct rays *rays)
{
	double *values = mem_alloc((rays->places.end + 1) * sizeof *values), middle[3];
	for (int k = 0; k < 3; k++) {
		uint32_t count = 0;
		for (uint32_t i = 0; i < rays->places.end; i++) {
			const struct seen *seen = &rays->seen[i];
			double at[3] = {seen->at.x, seen->at.y, seen->at.z};
			if (seen->kind != SDF_EMPTY && vec3_finite(seen->at))
				values[count++] = at[k];
		}
		qsort(values, count, sizeof *values, by_value);
		middle[k] = count ? values[count / 2] : 0;
		rays->has_middle |= count > 0;
	}
	free(values);
	rays->middle = (struct vec3){middle[0], middle[1], middle[2]};
}

static double reach_of(const struct aabb *box)
{
	struct vec3 far = vec3_max(vec3_scale(box->lo, -1), box->hi);
	return fmax(fmax(far.x, far.y), far.z);
}

/* Sorts the visuals into the tree and the loose ones. Returns the box of the tree's, relative to the middle. */
static struct aabb sort_out(struct rays *rays)
{
	struct aabb all = AABB_NONE;
	rays->items.count = rays->loose.count = 0;
	for (uint32_t i = 0; i < rays->places.end; i++) {
		const struct seen *seen = &rays->seen[i];
		if (seen->kind == SDF_EMPTY || !vec3_finite(seen->at))
			continue;
		struct aabb box = box_of(seen);
		box = (struct aabb){vec3_sub(box.lo, rays->middle), vec3_sub(box.hi, rays->middle)};
		if (reach_of(&box) <= REACH_MAX) {
			all = aabb_join(all, box);
			vec_push(&rays->items, i);
		} else {
			vec_push(&rays->loose, i);
		}
	}
	return all;
}

static void build(struct rays *rays)
{
	if (!rays->has_middle)
		find_middle(rays);
	struct aabb all = sort_out(rays);
	uint32_t count = rays->items.count;
	double margin = count ? tree_margin(reach_of(&all)) : 0;
	rays->boxes.count = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct aabb box = aabb_grow(box_of(&rays->seen[rays->items.at[i]]), margin);
		struct vec3 lo = vec3_sub(box.lo, rays->middle), hi = vec3_sub(box.hi, rays->middle);
		vec_push(&rays->boxes, (struct tree_box){{(float)lo.x, (float)lo.y, (float)lo.z},
					       {(float)hi.x, (float)hi.y, (float)hi.z}});
	}
	if (count) {
		all = aabb_grow(all, margin);
		rays->half = vec3_scale(vec3_sub(all.hi, all.lo), 0.5);
		rays->hub = vec3_add(rays->middle, vec3_add(all.lo, rays->half));
	}
	tree_build(rays->tree, rays->boxes.at, count, false);
}

static void fit(struct rays *rays)
{
	const struct scene *scene = rays->scene;
	uint32_t models = rays->known.count, bodies = rays->poses.count;
	if (models < scene->model_count)
		(void)vec_append(&rays->known, scene->model_count - models);
	if (bodies < scene->body_count)
		(void)vec_append(&rays->poses, scene->body_count - bodies);
}

void rays_follow(struct rays *rays, const struct state *state)
{
	const struct scene *scene = rays->scene;
	bool changed = drop_models(rays), came = changed;
	fit(rays);
	for (uint32_t m = 0; m < scene->model_count; m++)
		if (stands(rays, m)) {
			came |= !rays->known.at[m].serial;
			changed |= follow_model(rays, state, m);
		}
	if (came)
		number_instances(rays);
	if (changed)
		build(rays);
}

/* --- casting ------------------------------------------------------------------------------------------------------ */

/* Four numbers of four rays. The compiler makes of them what the CPU has; each is computed as a number alone would be,
 * so this changes no bit. A mask has -1 or 0 for each number. */
enum { QUAD = 4, QUADS = TREE_LANES / QUAD };
typedef double quad __attribute__((vector_size(QUAD * sizeof(double)), may_alias));
typedef int64_t quad_mask __attribute__((vector_size(QUAD * sizeof(int64_t))));
typedef int32_t quad_ints __attribute__((vector_size(QUAD * sizeof(int32_t)), aligned(4)));
typedef float quad_floats __attribute__((vector_size(QUAD * sizeof(float)), aligned(4)));
#define INLINE static inline __attribute__((always_inline))
#define PICK(mask, a, b)                                                                                               \
	({                                                                                                             \
		quad_mask mask_ = (mask);                                                                              \
		(quad)((mask_ & (quad_mask)(a)) | (~mask_ & (quad_mask)(b)));                                          \
	})

struct packet { /* eight rays */
	_Alignas(64) double origin[3][TREE_LANES];
	double direction[3][TREE_LANES], min[TREE_LANES], best[TREE_LANES], start[TREE_LANES];
	double place[TREE_LANES]; /* a whole number; NO_PLACE: nothing is hit yet */
	const struct rays *rays;
	uint32_t mask;
	bool any; /* any hit will do, of a visual that casts a shadow */
	uint32_t part[TREE_LANES];
};

#define NO_PLACE (-1.0)

INLINE const quad *quad_at(const double *numbers, int q)
{
	return (const quad *)(const void *)&numbers[q * QUAD];
}

/* A ray that runs along two sides is inside on a side, too (as in pierce.c). */
INLINE void cut_slab(const quad *origin, const quad *direction, double half, quad *enter, quad *leave)
{
	const quad none = {0}, endless = none + (double)INFINITY;
	quad inverse = 1 / *direction, a = (-half - *origin) * inverse, b = (half - *origin) * inverse;
	quad_mask along = *direction == 0, outside = (*origin < -half) | (*origin > half), order = a < b;
	quad lo = PICK(order, a, b), hi = PICK(order, b, a), nowhere = PICK(outside, endless, -endless);
	lo = PICK(along, nowhere, lo);
	hi = PICK(along, -nowhere, hi);
	order = lo > *enter;
	*enter = PICK(order, lo, *enter);
	order = hi < *leave;
	*leave = PICK(order, hi, *leave);
}

INLINE void cut_box(const quad origin[3], const quad direction[3], struct vec3 half, quad *enter, quad *leave)
{
	const quad none = {0};
	*enter = none - (double)INFINITY;
	*leave = none + (double)INFINITY;
	cut_slab(&origin[0], &direction[0], half.x, enter, leave);
	cut_slab(&origin[1], &direction[1], half.y, enter, leave);
	cut_slab(&origin[2], &direction[2], half.z, enter, leave);
}

INLINE void get_mask(const int32_t *valid, int q, quad_mask *ret_mask)
{
	quad_ints ints;
	memcpy(&ints, &valid[q * QUAD], sizeof ints);
	*ret_mask = __builtin_convertvector(ints, quad_mask);
}

INLINE void far_quads(const struct packet *p, const int32_t *valid, float *far)
{
	const quad none = {0};
	for (int q = 0; q < QUADS; q++) {
		quad distance = (*quad_at(p->best, q) - *quad_at(p->start, q)) * (1 + 0x1p-20) + 1e-30;
		quad_ints write;
		quad_floats kept, now;
		if (p->any)
			distance = PICK(*quad_at(p->place, q) != NO_PLACE, none - 1, distance);
		memcpy(&write, &valid[q * QUAD], sizeof write);
		memcpy(&kept, &far[q * QUAD], sizeof kept);
		now = __builtin_convertvector(distance, quad_floats);
		kept = (quad_floats)((write & (quad_ints)now) | (~write & (quad_ints)kept));
		memcpy(&far[q * QUAD], &kept, sizeof kept);
	}
}

static bool stands_before(const struct seen *a, const struct seen *b)
{
	return a->id != b->id ? a->id < b->id : a->visual < b->visual;
}

/* A hit in [min, best]. */
static void offer(struct packet *p, uint32_t lane, double t, uint32_t place, uint32_t part)
{
	const struct seen *seen = p->rays->seen;
	if (p->place[lane] != NO_PLACE && t == p->best[lane] &&
		stands_before(&seen[(uint32_t)p->place[lane]], &seen[place]))
		return;
	p->best[lane] = t;
	p->place[lane] = place;
	p->part[lane] = part;
}

static struct vec3 turned(const struct seen *seen, struct vec3 v)
{
	return (struct vec3){seen->turn[0][0] * v.x + seen->turn[0][1] * v.y + seen->turn[0][2] * v.z,
		seen->turn[1][0] * v.x + seen->turn[1][1] * v.y + seen->turn[1][2] * v.z,
		seen->turn[2][0] * v.x + seen->turn[2][1] * v.y + seen->turn[2][2] * v.z};
}

static struct vec3 turned_back(const struct seen *seen, struct vec3 v)
{
	return (struct vec3){seen->turn[0][0] * v.x + seen->turn[1][0] * v.y + seen->turn[2][0] * v.z,
		seen->turn[0][1] * v.x + seen->turn[1][1] * v.y + seen->turn[2][1] * v.z,
		seen->turn[0][2] * v.x + seen->turn[1][2] * v.y + seen->turn[2][2] * v.z};
}

static struct line line_in(const struct packet *p, uint32_t lane, const struct seen *seen)
{
	struct vec3 o = {
		p->origin[0][lane] - seen->at.x, p->origin[1][lane] - seen->at.y, p->origin[2][lane] - seen->at.z};
	return (struct line){turned(seen, o),
		turned(seen, (struct vec3){p->direction[0][lane], p->direction[1][lane], p->direction[2][lane]})};
}

static struct span pierce(const struct seen *seen, struct line line)
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

static void try_shape(struct packet *p, uint32_t place, uint32_t lane)
{
	const struct seen *seen = &p->rays->seen[place];
	struct span span = pierce(seen, line_in(p, lane, seen));
	if (!(span.enter <= span.leave))
		return;
	double t = span.enter >= p->min[lane] || !seen->both_sides ? span.enter : span.leave;
	if (t >= p->min[lane] && t <= p->best[lane])
		offer(p, lane, t, place, 0);
}

static void try_surface(struct packet *p, uint32_t place, const int32_t *valid)
{
	const struct seen *seen = &p->rays->seen[place];
	struct surface_rays in = {.both_sides = seen->both_sides, .any = p->any};
	for (uint32_t lane = 0; lane < TREE_LANES; lane++) {
		struct line line = line_in(p, lane, seen);
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
			offer(p, lane, in.best[lane], place, in.part[lane]);
}

/* Nearly all visuals of a warehouse are boxes: eight rays at a time. */
INLINE void box_quads(struct packet *p, uint32_t place, const int32_t *rays)
{
	const struct seen *seen = &p->rays->seen[place];
	for (int q = 0; q < QUADS; q++) {
		const quad *dx = quad_at(p->direction[0], q), *dy = quad_at(p->direction[1], q),
			   *dz = quad_at(p->direction[2], q);
		quad x = *quad_at(p->origin[0], q) - seen->at.x, y = *quad_at(p->origin[1], q) - seen->at.y,
		     z = *quad_at(p->origin[2], q) - seen->at.z;
		quad origin[3], direction[3], t, leave, *best = (quad *)(void *)&p->best[q * QUAD],
							*places = (quad *)(void *)&p->place[q * QUAD];
		quad_mask valid;
		for (int i = 0; i < 3; i++) {
			const double *turn = seen->turn[i];
			origin[i] = turn[0] * x + turn[1] * y + turn[2] * z;
			direction[i] = turn[0] * *dx + turn[1] * *dy + turn[2] * *dz;
		}
		cut_box(origin, direction, seen->size, &t, &leave);
		get_mask(rays, q, &valid);
		valid &= t <= leave;
		if (seen->both_sides)
			t = PICK(t >= *quad_at(p->min, q), t, leave);
		quad_mask hit = valid & (t >= *quad_at(p->min, q)) & (t <= *best),
			  nearer = hit & ((t < *best) | (*places == NO_PLACE)), tie = hit & ~nearer;
		const quad none = {0};
		*best = PICK(nearer, t, *best);
		*places = PICK(nearer, none + place, *places);
		for (uint32_t lane = 0; lane < QUAD; lane++)
			if (tie[lane])
				offer(p, (uint32_t)q * QUAD + lane, t[lane], place, 0);
	}
}

static void box_plain(struct packet *p, uint32_t place, const int32_t *valid, float *far)
{
	box_quads(p, place, valid);
	far_quads(p, valid, far);
}

#ifdef __x86_64__
__attribute__((target("avx"))) static void box_avx(struct packet *p, uint32_t place, const int32_t *valid, float *far)
{
	box_quads(p, place, valid);
	far_quads(p, valid, far);
}
#else
#define box_avx box_plain
#endif

static void try_place(struct packet *p, uint32_t place, const int32_t *valid, float *far)
{
	const struct seen *seen = &p->rays->seen[place];
	if (!(seen->flags & p->mask) || (p->any && !seen->shadow))
		return;
	if (seen->kind == SDF_BOX) {
		p->rays->meet_box(p, place, valid, far);
		return;
	}
	if (seen->surface)
		try_surface(p, place, valid);
	else
		for (uint32_t lane = 0; lane < TREE_LANES; lane++)
			if (valid[lane])
				try_shape(p, place, lane);
	far_quads(p, valid, far);
}

static void meet(void *ctx, uint32_t item, const int32_t *valid, float *far)
{
	struct packet *p = ctx;
	try_place(p, p->rays->items.at[item], valid, far);
}

/* Cuts the rays to the box of all items. */
INLINE void cut_quads(struct packet *p, const int32_t *valid, struct tree_rays *to)
{
	const struct rays *rays = p->rays;
	const double hub[3] = {rays->hub.x, rays->hub.y, rays->hub.z},
		     middle[3] = {rays->middle.x, rays->middle.y, rays->middle.z};
	for (int q = 0; q < QUADS; q++) {
		const quad none = {0};
		quad from[3], direction[3], start, end;
		quad_mask in, order;
		for (int i = 0; i < 3; i++) {
			from[i] = *quad_at(p->origin[i], q) - hub[i];
			direction[i] = *quad_at(p->direction[i], q);
		}
		cut_box(from, direction, rays->half, &start, &end);
		order = start > *quad_at(p->min, q);
		start = PICK(order, start, *quad_at(p->min, q));
		order = end < *quad_at(p->best, q);
		end = PICK(order, end, *quad_at(p->best, q));
		get_mask(valid, q, &in);
		in &= start <= end;
		if (p->any)
			in &= *quad_at(p->place, q) == NO_PLACE;
		start = PICK(in, start, none); /* a lane without a ray must hold numbers, too */
		*(quad *)(void *)&p->start[q * QUAD] = start;
		for (int i = 0; i < 3; i++) {
			quad at = from[i] + start * direction[i] + (hub[i] - middle[i]);
			at = PICK(in, at, none);
			quad_floats origin = __builtin_convertvector(at, quad_floats),
				    ahead = __builtin_convertvector(direction[i], quad_floats);
			memcpy(&to->origin[i][q * QUAD], &origin, sizeof origin);
			memcpy(&to->direction[i][q * QUAD], &ahead, sizeof ahead);
		}
		quad distance = (end - start) * (1 + 0x1p-20) + 1e-30;
		distance = PICK(in, distance, none);
		quad_floats far = __builtin_convertvector(distance, quad_floats);
		quad_ints ints = __builtin_convertvector(in, quad_ints);
		memcpy(&to->far[q * QUAD], &far, sizeof far);
		memcpy(&to->valid[q * QUAD], &ints, sizeof ints);
	}
}

static void cut_plain(struct packet *p, const int32_t *valid, struct tree_rays *to)
{
	cut_quads(p, valid, to);
}

#ifdef __x86_64__
__attribute__((target("avx"))) static void cut_avx(struct packet *p, const int32_t *valid, struct tree_rays *to)
{
	cut_quads(p, valid, to);
}
#else
#define cut_avx cut_plain
#endif

static void load(struct packet *p, uint32_t lane, const struct ray *ray)
{
	p->origin[0][lane] = ray->origin.x;
	p->origin[1][lane] = ray->origin.y;
	p->origin[2][lane] = ray->origin.z;
	p->direction[0][lane] = ray->direction.x;
	p->direction[1][lane] = ray->direction.y;
	p->direction[2][lane] = ray->direction.z;
	p->min[lane] = ray->min;
	p->best[lane] = ray->max;
	p->place[lane] = NO_PLACE;
	p->part[lane] = 0;
}

/* count: 1 to TREE_LANES */
static void search(struct packet *p, const struct ray *cast, uint32_t count)
{
	struct tree_rays in;
	int32_t valid[TREE_LANES];
	for (uint32_t lane = 0; lane < TREE_LANES; lane++) {
		load(p, lane, &cast[MIN(lane, count - 1)]);
		valid[lane] = lane < count ? -1 : 0;
	}
	float far[TREE_LANES] = {0};
	for (uint32_t i = 0; i < p->rays->loose.count; i++)
		try_place(p, p->rays->loose.at[i], valid, far);
	if (!p->rays->items.count)
		return;
	p->rays->cut(p, valid, &in);
	tree_search(p->rays->tree, &in, meet, p);
}

void rays_cast(const struct rays *rays, const struct ray *cast, uint32_t count, uint32_t mask, struct ray_hit *hits)
{
	struct packet p = {.rays = rays, .mask = mask};
	for (uint32_t i = 0; i < count; i += TREE_LANES) {
		uint32_t some = MIN(count - i, (uint32_t)TREE_LANES);
		search(&p, &cast[i], some);
		for (uint32_t lane = 0; lane < some; lane++) {
			uint32_t at = p.place[lane] == NO_PLACE ? SCENE_NONE : (uint32_t)p.place[lane];
			hits[i + lane] = at == SCENE_NONE
						 ? (struct ray_hit){INFINITY, SCENE_NONE, SCENE_NONE, SCENE_NONE, 0}
						 : (struct ray_hit){p.best[lane], rays->seen[at].model,
							   rays->seen[at].visual, at, p.part[lane]};
		}
	}
}

void rays_blocked(const struct rays *rays, const struct ray *cast, uint32_t count, uint32_t mask, bool *blocked)
{
	struct packet p = {.rays = rays, .mask = mask, .any = true};
	for (uint32_t i = 0; i < count; i += TREE_LANES) {
		uint32_t some = MIN(count - i, (uint32_t)TREE_LANES);
		search(&p, &cast[i], some);
		for (uint32_t lane = 0; lane < some; lane++)
			blocked[i + lane] = p.place[lane] != NO_PLACE;
	}
}

troupe_status rays_create(
	const struct scene *scene, const char *set, struct rays **ret_rays, struct troupe_error *error)
{
	struct tree_maker *maker;
	troupe_status status = tree_maker_create(set, &maker, error);
	if (status)
		return status;
	struct rays *rays = mem_alloc(sizeof *rays);
	bool avx = tree_maker_has_avx(maker);
	rays->scene = scene;
	rays->maker = maker;
	rays->meet_box = avx ? box_avx : box_plain;
	rays->cut = avx ? cut_avx : cut_plain;
	rays->tree = tree_create(maker);
	*ret_rays = rays;
	return TROUPE_OK;
}

const struct sdf_visual *rays_visual(const struct rays *rays, const struct ray_hit *hit)
{
	return &rays->scene->models[hit->model].from->visuals.at[hit->visual];
}

/* --- normals ------------------------------------------------------------------------------------------------------ */

/* The side of a box that the point lies on: the one in which it is farthest out. */
static struct vec3 box_normal(struct vec3 p, struct vec3 half)
{
	double x = fabs(p.x) - half.x, y = fabs(p.y) - half.y, z = fabs(p.z) - half.z;
	if (x >= y && x >= z)
		return (struct vec3){copysign(1, p.x), 0, 0};
	return y >= z ? (struct vec3){0, copysign(1, p.y), 0} : (struct vec3){0, 0, copysign(1, p.z)};
}

static struct vec3 cylinder_normal(struct vec3 p, double radius, double half)
{
	if (fabs(p.z) - half >= sqrt(p.x * p.x + p.y * p.y) - radius)
		return (struct vec3){0, 0, copysign(1, p.z)};
	return (struct vec3){p.x, p.y, 0};
}

static struct vec3 capsule_normal(struct vec3 p, double half)
{
	return (struct vec3){p.x, p.y, p.z > half ? p.z - half : p.z < -half ? p.z + half : 0};
}

static struct vec3 cone_normal(struct vec3 p, double radius, double half)
{
	double across = sqrt(p.x * p.x + p.y * p.y), slope = radius / (2 * half);
	if (-half - p.z >= across - slope * (half - p.z))
		return (struct vec3){0, 0, -1};
	return (struct vec3){p.x, p.y, across * slope};
}

static struct vec3 local_normal(const struct seen *seen, struct vec3 p, uint32_t part)
{
	struct vec3 s = seen->size;
	switch (seen->kind) {
	case SDF_BOX:
		return box_normal(p, s);
	case SDF_SPHERE:
		return p;
	case SDF_CYLINDER:
		return cylinder_normal(p, s.x, s.z);
	case SDF_CAPSULE:
		return capsule_normal(p, s.z);
	case SDF_CONE:
		return cone_normal(p, s.x, s.z);
	case SDF_ELLIPSOID:
		return (struct vec3){p.x / (s.x * s.x), p.y / (s.y * s.y), p.z / (s.z * s.z)};
	case SDF_MESH:
	case SDF_POLYLINE:
	case SDF_HEIGHTMAP:
		return surface_normal(seen->surface, part);
	case SDF_PLANE:
	case SDF_IMAGE:
	case SDF_EMPTY:
		break;
	}
	return (struct vec3){0, 0, 1};
}

struct vec3 rays_normal(const struct rays *rays, const struct ray *ray, const struct ray_hit *hit)
{
	const struct seen *seen = &rays->seen[hit->place];
	struct vec3 p = turned(seen, vec3_sub(ray_point(ray, hit), seen->at));
	struct vec3 n = vec3_unit(local_normal(seen, p, hit->part));
	struct vec3 normal = turned_back(seen, n);
	return vec3_dot(normal, ray->direction) > 0 ? vec3_scale(normal, -1) : normal;
}

/* --- outlines -------------------------------------------------------------------------------------------------------
 */

enum { AROUND = 64, RINGS = 33 };

/* A circle about z. */
static uint32_t add_circle(struct vec3 *points, double rx, double ry, double z)
{
	for (uint32_t i = 0; i < AROUND; i++) {
		double sin, cos;
		math_sincos(i * (2 * M_PI / AROUND), &sin, &cos);
		points[i] = (struct vec3){rx * cos, ry * sin, z};
	}
	return AROUND;
}

/* up: by which the upper half is moved up, and the lower half down. */
static uint32_t add_ball(struct vec3 *points, struct vec3 radii, double up)
{
	uint32_t count = 0;
	for (uint32_t r = 0; r < RINGS; r++) {
		double sin, cos;
		math_sincos(r * (M_PI / (RINGS - 1)), &sin, &cos);
		double z = radii.z * cos;
		count += add_circle(&points[count], radii.x * sin, radii.y * sin, z + (2 * r < RINGS ? up : -up));
		if (2 * r + 1 == RINGS && up > 0) /* the equator has two places */
			count += add_circle(&points[count], radii.x * sin, radii.y * sin, z - up);
	}
	return count;
}

static uint32_t add_corners(struct vec3 *points, struct vec3 middle, struct vec3 half)
{
	for (int i = 0; i < 8; i++)
		points[i] = (struct vec3){middle.x + (i & 1 ? half.x : -half.x), middle.y + (i & 2 ? half.y : -half.y),
			middle.z + (i & 4 ? half.z : -half.z)};
	return 8;
}

/* In the visual's own frame. */
static uint32_t outline_of(const struct seen *seen, struct vec3 *points)
{
	struct vec3 s = seen->size;
	uint32_t count = 0;
	const struct vec3 *all = seen->surface ? surface_points(seen->surface, &count) : NULL;
	switch (seen->kind) {
	case SDF_SPHERE:
		return add_ball(points, (struct vec3){s.x, s.x, s.x}, 0);
	case SDF_CAPSULE:
		return add_ball(points, (struct vec3){s.x, s.x, s.x}, s.z);
	case SDF_ELLIPSOID:
		return add_ball(points, s, 0);
	case SDF_CYLINDER:
		count = add_circle(points, s.x, s.x, s.z);
		return count + add_circle(&points[count], s.x, s.x, -s.z);
	case SDF_CONE:
		points[0] = (struct vec3){0, 0, s.z};
		return 1 + add_circle(&points[1], s.x, s.x, -s.z);
	case SDF_MESH:
	case SDF_POLYLINE:
		if (count <= RAYS_OUTLINE_MAX) {
			memcpy(points, all, count * sizeof *points);
			return count;
		}
		break;
	case SDF_BOX:
	case SDF_PLANE:
	case SDF_HEIGHTMAP:
	case SDF_IMAGE:
	case SDF_EMPTY:
		break;
	}
	return add_corners(points, seen->middle, seen->reach);
}

static struct pose model_pose(const struct rays *rays, uint32_t model)
{
	const struct scene_model *m = &rays->scene->models[model];
	return m->body_count ? pose_mul(rays->poses.at[m->body_first + m->frame_body], m->in_body) : m->in_body;
}

void rays_outlines(const struct rays *rays, rays_outline_fn *outline, void *ctx)
{
	struct vec3 *points = NULL;
	for (uint32_t i = 0; i < rays->places.end; i++) {
		const struct seen *seen = &rays->seen[i];
		if (!seen->label.label || seen->kind == SDF_EMPTY)
			continue;
		if (!points)
			points = mem_alloc(RAYS_OUTLINE_MAX * sizeof *points);
		uint32_t count = outline_of(seen, points);
		for (uint32_t k = 0; k < count; k++)
			points[k] = vec3_add(seen->at, turned_back(seen, points[k]));
		outline(ctx, seen->label, model_pose(rays, seen->model), points, count);
	}
	free(points);
}
