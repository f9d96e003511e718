/* The shapes and lights of a scene info. Points of a mesh, forms and materials that several shapes share are copied
 * once. */
#include "server/scene_info_internal.h"

#include "scene/light.h"
#include "server/scene_info_look.h"

#include <string.h>

static const struct {
	enum sdf_shape_kind from;
	troupe_shape_kind to;
} scene_info_shapes_kinds[] = {{SDF_BOX, TROUPE_SHAPE_BOX}, {SDF_SPHERE, TROUPE_SHAPE_SPHERE},
	{SDF_CYLINDER, TROUPE_SHAPE_CYLINDER}, {SDF_CAPSULE, TROUPE_SHAPE_CAPSULE}, {SDF_CONE, TROUPE_SHAPE_CONE},
	{SDF_ELLIPSOID, TROUPE_SHAPE_ELLIPSOID}, {SDF_PLANE, TROUPE_SHAPE_PLANE}, {SDF_MESH, TROUPE_SHAPE_MESH},
	{SDF_HEIGHTMAP, TROUPE_SHAPE_HEIGHTMAP}, {SDF_IMAGE, TROUPE_SHAPE_HEIGHTMAP},
	{SDF_POLYLINE, TROUPE_SHAPE_POLYLINE}};

/* False: the shape is not visible. */
static bool scene_info_shapes_find_kind(enum sdf_shape_kind kind, troupe_shape_kind *ret_kind)
{
	for (size_t i = 0; i < ARRAY_LEN(scene_info_shapes_kinds); i++)
		if (scene_info_shapes_kinds[i].from == kind) {
			*ret_kind = scene_info_shapes_kinds[i].to;
			return true;
		}
	return false;
}

static struct vec3 scene_info_shapes_size_of(const struct sdf_shape *shape)
{
	switch (shape->kind) {
	case SDF_SPHERE:
		return (struct vec3){shape->radius, shape->radius, shape->radius};
	case SDF_CYLINDER:
	case SDF_CAPSULE:
	case SDF_CONE:
		return (struct vec3){shape->radius, shape->radius, shape->length};
	default:
		return shape->size;
	}
}

static const struct copied_mesh *scene_info_shapes_copy_mesh(struct scene_info_making *m, const struct mesh *mesh)
{
	for (uint32_t i = 0; i < m->meshes.count; i++)
		if (m->meshes.at[i].of == mesh)
			return &m->meshes.at[i];
	double *points = arena_array(&m->info->arena, double, 3 * (size_t)mesh->points.count);
	uint32_t *triangles = arena_array(&m->info->arena, uint32_t, mesh->corners.count);
	for (uint32_t i = 0; i < mesh->points.count; i++) {
		points[3 * i] = mesh->points.at[i].x;
		points[3 * i + 1] = mesh->points.at[i].y;
		points[3 * i + 2] = mesh->points.at[i].z;
	}
	if (mesh->corners.count)
		memcpy(triangles, mesh->corners.at, mesh->corners.count * sizeof *triangles);
	vec_push(&m->meshes, (struct copied_mesh){mesh, points, triangles});
	return &m->meshes.at[m->meshes.count - 1];
}

/* Also sets the colour: <diffuse>, else <ambient>. */
static void scene_info_shapes_add_look(
	struct scene_info_making *m, const struct sdf_visual *visual, struct troupe_form *to)
{
	static const float usual[4] = {0.7F, 0.7F, 0.7F, 1};
	const struct sdf_material *material = visual ? visual->material : NULL;
	memcpy(to->colour, usual, sizeof usual);
	if (!visual)
		return;
	to->material = scene_info_material(&m->share, &m->info->arena, material);
	to->ground = scene_info_ground(&m->share, &m->info->arena, visual, &to->ground_count);
	to->transparency = visual->transparency;
	to->laser_retro = visual->laser_retro;
	to->layer = visual->layer;
	to->cast_shadows = visual->cast_shadows;
	if (material && (material->diffuse_given || material->ambient_given))
		memcpy(to->colour, material->diffuse_given ? to->material->diffuse : to->material->ambient,
			sizeof to->colour);
}

/* The part of a mesh file, and the place of a heightmap. Errors in them were reported if the file was read. */
static void scene_info_shapes_add_file(
	struct scene_info_making *m, const struct sdf_shape *shape, struct troupe_form *to)
{
	const struct sdf_element *submesh = sdf_child(sdf_child(shape->element, "mesh", NULL), "submesh", NULL);
	const char *name = sdf_child_text(submesh, "name");
	struct vec3 shift = {0, 0, 0};
	if (shape->kind == SDF_MESH && name && *name) {
		to->submesh = scene_info_text(m, name);
		(void)sdf_child_bool(submesh, "center", &to->submesh_centred, NULL);
	}
	if (shape->kind == SDF_HEIGHTMAP)
		(void)sdf_child_vec3(sdf_child(shape->element, "heightmap", NULL), "pos", -SDF_LENGTH_MAX,
			SDF_LENGTH_MAX, &shift, NULL);
	to->shift = shift;
}

static struct mesh_outline scene_info_shapes_read_outline(
	struct scene_info_making *m, const struct sdf_element *polyline)
{
	VEC(struct vec3) points = {0};
	const struct sdf_element *at = NULL;
	struct vec3 point;
	while ((at = sdf_child(polyline, "point", at)) && points.count <= MESH_OUTLINE_POINTS_MAX)
		if (sdf_outline_point(at, &point))
			vec_push(&points, point);
	struct vec3 *kept = arena_array(&m->info->arena, struct vec3, points.count);
	if (points.count)
		memcpy(kept, points.at, points.count * sizeof *kept);
	struct mesh_outline outline = {kept, points.count};
	vec_free(&points);
	return outline;
}

/* All <polyline>s of a geometry are one shape; its height is that of the first, as in sdf/solid.c. */
static struct scene_info_polyline scene_info_shapes_read_polyline(
	struct scene_info_making *m, const struct sdf_shape *shape)
{
	const struct sdf_element *first = sdf_child(shape->element, "polyline", NULL);
	struct scene_info_polyline polyline = {.height = 1};
	if (!first)
		return polyline;
	(void)sdf_child_double(first, "height", 0, SDF_LENGTH_MAX, &polyline.height, NULL);
	struct mesh_outline *outlines = arena_array(&m->info->arena, struct mesh_outline, MESH_OUTLINES_MAX);
	for (const struct sdf_element *at = first; at && polyline.count < MESH_OUTLINES_MAX;
		at = sdf_child(shape->element, "polyline", at))
		outlines[polyline.count++] = scene_info_shapes_read_outline(m, at);
	polyline.outlines = outlines;
	return polyline;
}

static void scene_info_shapes_add_shape(struct scene_info_making *m, uint32_t link, const char *name,
	const struct sdf_shape *shape, struct pose in_link, const struct sdf_visual *visual)
{
	struct troupe_scene *shown = &m->info->shown;
	troupe_shape_kind kind;
	if (!scene_info_shapes_find_kind(shape->kind, &kind))
		return;
	struct scene_info_form form;
	memset(&form, 0, sizeof form); /* gaps, too: see share_keep() */
	form.polyline = scene_info_shapes_read_polyline(m, shape);
	struct troupe_form *to = &form.shown;
	to->name = scene_info_text(m, name);
	to->collision = !visual;
	to->kind = kind;
	to->in_link = pose_flat(in_link);
	to->size = scene_info_shapes_size_of(shape);
	to->normal = shape->kind == SDF_PLANE ? shape->normal : (struct vec3){0, 0, 1};
	to->uri = shape->uri ? scene_info_text(m, shape->uri) : NULL;
	to->path = shape->path ? scene_info_text(m, shape->path) : NULL;
	scene_info_shapes_add_file(m, shape, to);
	scene_info_shapes_add_look(m, visual, to);
	if (shape->mesh) {
		const struct copied_mesh *mesh = scene_info_shapes_copy_mesh(m, shape->mesh);
		to->points = mesh->points;
		to->point_count = shape->mesh->points.count;
		to->triangles = mesh->triangles;
		to->triangle_count = shape->mesh->corners.count / 3;
	}
	const struct scene_info_form *kept = share_keep(&m->share, &m->info->arena, &form, sizeof form);
	m->shapes[shown->shape_count++] = (struct troupe_scene_shape){&kept->shown, link};
}

void scene_info_shapes_add(
	struct scene_info_making *m, const struct sdf_world *from, const struct sdf_link *sdf, uint32_t link)
{
	struct troupe_scene *shown = &m->info->shown;
	struct troupe_scene_link *to = &m->links[link];
	to->shape_first = shown->shape_count;
	for (uint32_t i = sdf->collision_first; i < sdf->collision_first + sdf->collision_count; i++)
		scene_info_shapes_add_shape(m, link, from->collisions.at[i].name, from->collisions.at[i].shape,
			*from->collisions.at[i].in_link, NULL);
	for (uint32_t i = sdf->visual_first; i < sdf->visual_first + sdf->visual_count; i++)
		scene_info_shapes_add_shape(m, link, from->visuals.at[i].name, &from->visuals.at[i].shape,
			from->visuals.at[i].in_link, &from->visuals.at[i]);
	to->shape_count = shown->shape_count - to->shape_first;
}

/* An actor is no model of the file: its shapes are made of what is simulated. */
static struct sdf_shape scene_info_shapes_of_actor(const struct scene_geom *geom)
{
	static const enum sdf_shape_kind kinds[] = {[SCENE_BOX] = SDF_BOX,
		[SCENE_SPHERE] = SDF_SPHERE,
		[SCENE_CYLINDER] = SDF_CYLINDER,
		[SCENE_CAPSULE] = SDF_CAPSULE};
	return (struct sdf_shape){.kind = kinds[geom->kind],
		.size = vec3_scale(geom->size, 2),
		.radius = geom->size.x,
		.length = 2 * geom->size.z};
}

void scene_info_shapes_add_actor(
	struct scene_info_making *m, const struct scene_model *actor, uint32_t place, uint32_t link)
{
	struct troupe_scene *shown = &m->info->shown;
	struct troupe_scene_link *to = &m->links[link];
	to->shape_first = shown->shape_count;
	for (uint32_t g = actor->geom_first; g < actor->geom_first + actor->geom_count; g++) {
		const struct scene_geom *geom = &m->scene->geoms[g];
		if (geom->link != place)
			continue;
		const struct sdf_shape shape = scene_info_shapes_of_actor(geom);
		const char *scoped = m->scene->links[place].scoped, *name = geom->name + strlen(scoped) + 2;
		scene_info_shapes_add_shape(m, link, name, &shape,
			pose_mul(pose_inverse(m->scene->links[place].in_body), geom->in_body), NULL);
	}
	to->shape_count = shown->shape_count - to->shape_first;
}

static void scene_info_shapes_add_light(struct scene_info_making *m, const char *name, uint32_t link, uint32_t at,
	struct pose pose, const struct sdf_shine *shine)
{
	m->lights[m->info->shown.light_count++] = (struct troupe_scene_light){.name = scene_info_text(m, name),
		.link = link,
		.at = at,
		.pose = pose_flat(pose),
		.shine = scene_info_light(shine)};
}

void scene_info_shapes_add_lights_of_link(
	struct scene_info_making *m, uint32_t model, const struct sdf_link *sdf, uint32_t link)
{
	const struct sdf_world *from = m->scene->models[model].from;
	struct troupe_scene_link *to = &m->links[link];
	to->light_first = m->info->shown.light_count;
	to->light_count = sdf->light_count;
	for (uint32_t i = sdf->light_first; i < sdf->light_first + sdf->light_count; i++) {
		uint32_t place = scene_link_light(m->scene, model, i);
		const struct scene_light *now = place == SCENE_NONE ? NULL : &m->scene->lights[place];
		scene_info_shapes_add_light(m, from->lights.at[i].name, link, 0,
			now ? now->pose : scene_light_in_link(from, i), now ? &now->shine : &from->lights.at[i].shine);
	}
}

void scene_info_shapes_add_lights_of_world(struct scene_info_making *m)
{
	for (uint32_t i = 0; i < m->scene->light_count; i++) {
		const struct scene_light *light = &m->scene->lights[i];
		if (!light->absent && light->model == SCENE_NONE)
			scene_info_shapes_add_light(m, light->name, TROUPE_NONE, i, light->pose, &light->shine);
	}
}

void scene_info_shapes_find_geoms(struct scene_info_making *m, uint32_t model)
{
	const struct scene_model *from = &m->scene->models[model];
	for (uint32_t g = from->geom_first; g < from->geom_first + from->geom_count; g++) {
		uint32_t place = m->scene->geoms[g].link;
		uint32_t link = place < m->info->link_places ? m->info->link_of[place] : TROUPE_NONE;
		if (from->actor || link == TROUPE_NONE)
			continue;
		const struct troupe_scene_link *l = &m->links[link];
		for (uint32_t s = l->shape_first; s < l->shape_first + l->shape_count; s++)
			if (m->shapes[s].form->collision && !strcmp(m->shapes[s].form->name, m->scene->geoms[g].name)) {
				m->info->shape_of[g] = s;
				break;
			}
	}
}
