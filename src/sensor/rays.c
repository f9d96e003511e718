/* Following: the visuals of models that come, move and go, and where they are. */
#include "sensor/rays_internal.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

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
	for (uint32_t k = 0; k < rays->known.count; k++)
		for (uint32_t i = 0; i < rays->known.at[k].count; i++)
			free(rays->seen[rays->known.at[k].first + i].both_of);
	rays_tree_fini(rays);
	tree_maker_destroy(rays->maker);
	free(rays->seen);
	free(rays->stands);
	ranges_fini(&rays->places);
	vec_free(&rays->known);
	vec_free(&rays->poses);
	vec_free(&rays->twists);
	vec_free(&rays->surfaces);
	free(rays);
}

/* --- shapes ------------------------------------------------------------------------------------------------------- */

static bool rays_same_vec3(struct vec3 a, struct vec3 b)
{
	return a.x == b.x && a.y == b.y && a.z == b.z;
}

/* One surface serves all visuals of one mesh. */
static struct surface *rays_take_surface(struct rays *rays, const struct sdf_shape *shape)
{
	bool map = shape->kind == SDF_HEIGHTMAP;
	const void *of = map ? (const void *)shape->image : (const void *)shape->mesh;
	struct kept_surface *to = NULL;
	if (!of)
		return NULL;
	for (uint32_t i = 0; i < rays->surfaces.count; i++) {
		struct kept_surface *kept = &rays->surfaces.at[i];
		if (kept->surface && kept->of == of &&
			(!map || (rays_same_vec3(kept->size, shape->size) &&
					 rays_same_vec3(kept->shift, shape->shift)))) {
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

static void rays_give_surface(struct rays *rays, const struct surface *surface)
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
static struct quat rays_from_z(struct vec3 normal)
{
	if (normal.z < -1 + 1e-12)
		return (struct quat){0, 1, 0, 0};
	return quat_unit((struct quat){1 + normal.z, -normal.y, normal.x, 0});
}

static void rays_set_shape(struct rays *rays, struct seen *seen, const struct sdf_shape *shape)
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
		seen->in_link.q = quat_mul(seen->in_link.q, rays_from_z(shape->normal));
		break;
	case SDF_MESH:
	case SDF_POLYLINE:
	case SDF_HEIGHTMAP:
		seen->surface = rays_take_surface(rays, shape);
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

/* The <plugin> of a visual, or else of the innermost model around it, that is of a kind; NULL: none. */
static const struct sdf_element *rays_plugin_of(const struct sdf_world *from, const struct sdf_visual *visual,
	bool (*is)(const char *name, const char *filename))
{
	for (const struct sdf_element *at = NULL; (at = sdf_child(visual->element, "plugin", at));)
		if (is(sdf_attribute(at, "name"), sdf_attribute(at, "filename")))
			return at;
	for (uint32_t m = from->links.at[visual->link].model; m != SDF_NONE; m = from->models.at[m].parent) {
		const struct sdf_model *model = &from->models.at[m];
		for (uint32_t p = model->plugin_first; p < model->plugin_first + model->plugin_count; p++)
			if (from->plugins.at[p].model == m &&
				is(from->plugins.at[p].name, from->plugins.at[p].filename))
				return from->plugins.at[p].element;
	}
	return NULL;
}

static uint32_t rays_label_of(const struct sdf_world *from, const struct sdf_visual *visual)
{
	const struct sdf_element *plugin = rays_plugin_of(from, visual, sdf_is_label);
	return plugin ? sdf_label(plugin) : 0;
}

static double rays_heat_of(const struct sdf_world *from, const struct sdf_visual *visual)
{
	const struct sdf_element *plugin = rays_plugin_of(from, visual, sdf_is_thermal);
	return plugin ? sdf_temperature_K(plugin) : 0;
}

struct rays_labelled { /* a visual */
	uint32_t label;
	uint64_t id;            /* of the model */
	uint32_t *ret_instance; /* NULL: the model has not been seen here yet, and counts all the same */
};
typedef VEC(struct rays_labelled) rays_labelled_list;

static int rays_by_label(const void *a, const void *b)
{
	const struct rays_labelled *x = a, *y = b;
	if (x->label != y->label)
		return x->label < y->label ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static void rays_list_labels(struct rays *rays, uint32_t model, rays_labelled_list *list)
{
	const struct scene_model *m = &rays->scene->models[model];
	const struct known *known = &rays->known.at[model];
	for (uint32_t i = 0; i < known->count; i++) {
		struct seen *seen = &rays->seen[known->first + i];
		if (seen->label.label)
			vec_push(list, (struct rays_labelled){seen->label.label, m->id, &seen->label.instance});
	}
	if (known->serial || m->sdf == SDF_NONE)
		return;
	const struct sdf_link *links = &m->from->links.at[m->from->models.at[m->sdf].link_first];
	for (uint32_t l = 0; l < m->link_count; l++)
		for (uint32_t v = 0; v < links[l].visual_count; v++) {
			uint32_t label = rays_label_of(m->from, &m->from->visuals.at[links[l].visual_first + v]);
			if (label)
				vec_push(list, (struct rays_labelled){label, m->id, NULL});
		}
}

static bool rays_exists(const struct rays *rays, uint32_t model)
{
	const struct scene_model *m = &rays->scene->models[model];
	return m->id && !m->absent;
}

/* Numbers the models of each label: all that exist, so that what is hidden makes no difference. */
static void rays_number_instances(struct rays *rays)
{
	rays_labelled_list list = {0};
	uint32_t number = 0;
	for (uint32_t m = 0; m < rays->scene->model_count; m++)
		if (rays_exists(rays, m))
			rays_list_labels(rays, m, &list);
	rays->labels = list.count > 0;
	if (list.count)
		qsort(list.at, list.count, sizeof *list.at, rays_by_label);
	for (uint32_t i = 0; i < list.count; i++) {
		const struct rays_labelled *one = &list.at[i];
		if (!i || one->label != one[-1].label)
			number = 1;
		else if (one->id != one[-1].id)
			number++;
		if (one->ret_instance)
			*one->ret_instance = number;
	}
	vec_free(&list);
}

static uint64_t rays_census(const struct rays *rays)
{
	uint64_t census = 1;
	for (uint32_t m = 0; m < rays->scene->model_count; m++)
		if (rays_exists(rays, m))
			census += hash_mix(rays->scene->models[m].serial, m);
	return census;
}

struct rays_label rays_label(const struct rays *rays, const struct ray_hit *hit)
{
	return rays->seen[hit->place].label;
}

double rays_temperature_K(const struct rays *rays, const struct ray_hit *hit)
{
	return rays->seen[hit->place].heat_K;
}

uint32_t rays_body(const struct rays *rays, const struct ray_hit *hit)
{
	return rays->seen[hit->place].body;
}

const struct sdf_scene *rays_surroundings(const struct rays *rays)
{
	return &rays->scene->sdf->surroundings.scene;
}

/* --- following ---------------------------------------------------------------------------------------------------- */

static void rays_place(struct rays *rays, struct seen *seen)
{
	struct pose link = rays->scene->links[seen->link].in_body;
	rays_tree_take_out(rays, (uint32_t)(seen - rays->seen));
	if (seen->body != SCENE_NONE) {
		const struct rays_twist *twist = &rays->twists.at[seen->body];
		link = pose_mul(rays->poses.at[seen->body], link);
		seen->v = twist->v, seen->w = twist->w, seen->centre = rays->poses.at[seen->body].p;
		seen->moves = vec3_dot(seen->v, seen->v) + vec3_dot(seen->w, seen->w) > 0;
	}
	struct pose pose = pose_mul(link, seen->in_link);
	struct mat3 m = quat_matrix(quat_unit(pose.q));
	seen->at = pose.p;
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++)
			seen->turn[i][k] = m.m[k][i];
}

static void rays_place_all(struct rays *rays, const struct known *known)
{
	for (uint32_t i = known->first; i < known->first + known->count; i++)
		rays_place(rays, &rays->seen[i]);
}

static void rays_drop_model(struct rays *rays, struct known *known)
{
	for (uint32_t i = known->first; i < known->first + known->count; i++) {
		rays_give_surface(rays, rays->seen[i].surface);
		free(rays->seen[i].both_of);
		rays_tree_take_out(rays, i);
		rays->seen[i] = (struct seen){0};
	}
	ranges_give(&rays->places, known->first, known->count);
	*known = (struct known){0};
}

/* Materials that no part has do not count: the reader of glTF adds one. */
static void rays_set_sides(const struct sdf_visual *visual, struct seen *seen)
{
	const struct sdf_shape *shape = &visual->shape;
	uint32_t both = 0;
	if (visual->material)
		seen->both_sides = visual->material->double_sided;
	if (visual->material || !shape->mesh)
		return;
	for (uint32_t i = 0; i < shape->mesh->parts.count; i++) {
		const struct mesh_part *part = &shape->mesh->parts.at[i];
		if (part->material < shape->material_count && shape->materials[part->material].double_sided)
			both += part->count;
	}
	seen->both_sides = both && both == shape->mesh->corners.count / 3;
	if (!both || seen->both_sides)
		return;
	seen->both_count = shape->material_count;
	seen->both_of = mem_alloc(shape->material_count * sizeof *seen->both_of);
	for (uint32_t i = 0; i < shape->material_count; i++)
		seen->both_of[i] = shape->materials[i].double_sided;
}

static void rays_add_visual(struct rays *rays, uint32_t model, uint32_t visual, uint32_t link, struct seen *seen)
{
	const struct scene_model *m = &rays->scene->models[model];
	const struct sdf_visual *from = &m->from->visuals.at[visual];
	*seen = (struct seen){
		.flags = from->visibility_flags,
		.id = m->id,
		.model = model,
		.visual = visual,
		.shadow = from->cast_shadows && from->transparency < 1,
		.body = rays->scene->links[link].body,
		.link = link,
		.in_link = from->in_link,
		.label = {rays_label_of(m->from, from), 0},
		.heat_K = rays_heat_of(m->from, from),
	};
	rays_set_sides(from, seen);
	rays_set_shape(rays, seen, &from->shape);
}

/* The visuals of a model stand in the order of its links, and so in that of the file. */
static void rays_add_model(struct rays *rays, uint32_t model, struct known *known)
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
		MEM_FIT(rays->stands, rays->room, room);
		rays->room = room;
	}
	struct seen *seen = &rays->seen[known->first];
	for (uint32_t l = 0; l < m->link_count; l++) {
		const struct sdf_link *link = &from->links.at[first + l];
		for (uint32_t v = 0; v < link->visual_count; v++)
			rays_add_visual(rays, model, link->visual_first + v, m->link_first + l, seen++);
	}
	rays_place_all(rays, known);
}

/* A model that comes into sight again and again costs little. */
static void rays_hide_model(struct rays *rays, struct known *known)
{
	known->hidden = true;
	for (uint32_t i = known->first; i < known->first + known->count; i++)
		rays_tree_take_out(rays, i);
}

/* Keeps the poses of the model's bodies. True: some of them changed. */
static bool rays_keep_poses(struct rays *rays, const struct state *state, uint32_t model)
{
	const struct scene_model *m = &rays->scene->models[model];
	const struct body_state *bodies = m->body_count ? state_bodies(state, model, false) : NULL;
	bool moved = false;
	for (uint32_t b = 0; b < m->body_count; b++) {
		struct pose now = body_pose(&bodies[b]), *kept = &rays->poses.at[m->body_first + b];
		struct rays_twist twist = {{0, 0, 0}, {0, 0, 0}}, *turning = &rays->twists.at[m->body_first + b];
		if (rays->sweep_s > 0)
			twist = (struct rays_twist){bodies[b].v, bodies[b].w};
		if (memcmp(kept, &now, sizeof now) || memcmp(turning, &twist, sizeof twist)) {
			*kept = now;
			*turning = twist;
			moved = true;
		}
	}
	return moved;
}

static bool rays_drop_models(struct rays *rays)
{
	const struct scene *scene = rays->scene;
	bool changed = false;
	for (uint32_t m = 0; m < rays->known.count; m++) {
		struct known *known = &rays->known.at[m];
		bool same = m < scene->model_count && rays_exists(rays, m) && scene->models[m].serial == known->serial;
		bool hide = same && known->serial && !known->hidden && rays->hidden && rays->hidden[m];
		if (!hide && (same || !known->serial))
			continue;
		if (hide)
			rays_hide_model(rays, known);
		else
			rays_drop_model(rays, known);
		changed = true;
	}
	return changed;
}

static bool rays_follow_model(struct rays *rays, const struct state *state, uint32_t model)
{
	const struct scene_model *m = &rays->scene->models[model];
	struct known *known = &rays->known.at[model];
	bool moved = rays_keep_poses(rays, state, model), back = known->hidden;
	known->hidden = false;
	if (!known->serial) {
		rays_add_model(rays, model, known);
		return known->count > 0;
	}
	if (m->is_static && memcmp(&known->at, &m->in_body, sizeof known->at)) {
		known->at = m->in_body;
		moved = true;
	}
	if (moved)
		rays_place_all(rays, known);
	return (moved || back) && known->count;
}

/* --- boxes and cones ---------------------------------------------------------------------------------------------- */

void rays_set_sweep(struct rays *rays, double sweep_s)
{
	rays->sweep_s = sweep_s;
}

/* How near to a box a cone from a point still says where its rays lead: nearer, rounding turns the ways to its corners.
 */
#define RAYS_CONE_CLEAR 1e-3 /* m */

/* A circular cone of less than a right angle is convex: it holds a box if it holds its corners. */
static struct rays_cone rays_cone_of(const struct seen *seen, struct vec3 from)
{
	struct vec3 to = vec3_sub(vec3_add(seen->at, seen_turned_back(seen, seen->middle)), from);
	struct rays_cone cone = {vec3_unit(to), 1};
	for (int i = 0; i < 8; i++) {
		struct vec3 corner = {i & 1 ? seen->reach.x : -seen->reach.x, i & 2 ? seen->reach.y : -seen->reach.y,
			i & 4 ? seen->reach.z : -seen->reach.z};
		struct vec3 way = vec3_add(to, seen_turned_back(seen, corner));
		double length = vec3_length(way), along = vec3_dot(way, cone.axis);
		cone.cosine = fmin(cone.cosine, length > 0 ? along / length - 1e-9 : -1);
	}
	struct vec3 inside = seen_turned(seen, to), room = seen->reach;
	bool touches = fabs(inside.x) <= room.x + RAYS_CONE_CLEAR && fabs(inside.y) <= room.y + RAYS_CONE_CLEAR &&
		       fabs(inside.z) <= room.z + RAYS_CONE_CLEAR;
	if (touches || !(cone.cosine > 0))
		cone.cosine = -2;
	return cone;
}

uint32_t rays_cones(const struct rays *rays, uint32_t model, struct vec3 from, struct rays_cone *cones, uint32_t max)
{
	const struct known *known = model < rays->known.count ? &rays->known.at[model] : NULL;
	uint32_t count = 0;
	for (uint32_t i = 0; known && i < known->count; i++) {
		const struct seen *seen = &rays->seen[known->first + i];
		if (seen->kind == SDF_EMPTY || known->hidden)
			continue;
		if (count == max)
			return SCENE_NONE;
		cones[count++] = rays_cone_of(seen, from);
	}
	return count;
}

bool rays_move(const struct rays *rays)
{
	return rays->moving > 0;
}

bool rays_box(const struct rays *rays, uint32_t model, struct aabb *ret_box)
{
	const struct known *known = model < rays->known.count ? &rays->known.at[model] : NULL;
	bool found = false;
	*ret_box = AABB_NONE;
	for (uint32_t i = 0; known && i < known->count; i++) {
		const struct seen *seen = &rays->seen[known->first + i];
		if (seen->kind == SDF_EMPTY || known->hidden || !vec3_finite(seen->at))
			continue;
		*ret_box = aabb_join(*ret_box, rays_swept_box(rays, seen));
		found = true;
	}
	return found;
}

void rays_make_boxes_only(struct rays *rays)
{
	rays->boxes_only = true;
}

void rays_hide(struct rays *rays, const bool *hidden)
{
	rays->hidden = hidden;
}

static void rays_fit(struct rays *rays)
{
	const struct scene *scene = rays->scene;
	uint32_t models = rays->known.count, bodies = rays->poses.count;
	if (models < scene->model_count)
		(void)vec_append(&rays->known, scene->model_count - models);
	if (bodies < scene->body_count) {
		(void)vec_append(&rays->poses, scene->body_count - bodies);
		(void)vec_append(&rays->twists, scene->body_count - bodies);
	}
}

void rays_follow(struct rays *rays, const struct state *state)
{
	const struct scene *scene = rays->scene;
	const uint64_t census = rays_census(rays);
	bool changed = rays_drop_models(rays), came = census != rays->census;
	changed |= rays->sweep_s != rays->built_sweep_s;
	rays->built_sweep_s = rays->sweep_s;
	rays_fit(rays);
	for (uint32_t m = 0; m < scene->model_count; m++)
		if (rays_exists(rays, m) && !(rays->hidden && rays->hidden[m])) {
			came |= rays->labels && !rays->known.at[m].serial;
			changed |= rays_follow_model(rays, state, m);
		}
	if (came)
		rays_number_instances(rays);
	rays->census = census;
	if (changed && !rays->boxes_only)
		rays_tree_build(rays);
}

troupe_status rays_create(
	const struct scene *scene, const char *set, struct rays **ret_rays, struct troupe_error *error)
{
	struct tree_maker *maker;
	troupe_status status = tree_maker_create(set, &maker, error);
	if (status)
		return status;
	struct rays *rays = mem_alloc(sizeof *rays);
	rays->scene = scene;
	rays->maker = maker;
	rays_choose(rays, tree_maker_has_avx(maker));
	rays_tree_init(rays);
	*ret_rays = rays;
	return TROUPE_OK;
}

const struct sdf_visual *rays_visual(const struct rays *rays, const struct ray_hit *hit)
{
	return &rays->scene->models[hit->model].from->visuals.at[hit->visual];
}
