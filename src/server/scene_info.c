/* Threads that the simulation does not wait for read scene infos while models come and go. So a scene info has copies
 * of names and points, in one arena. What robots of one kind have in common is copied once: names, axes, forms, and the
 * points of a mesh that several shapes share. */
#include "server/scene_info.h"

#include "scene/light.h"
#include "sensor/summary.h"
#include "server/scene_info_look.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct scene_info {
	struct troupe_scene shown; /* first: a troupe_scene is its scene info */
	_Atomic uint32_t holders;
	struct arena arena;
	uint32_t *models, *links, *joints; /* [counts of shown] indices in the scene */
	uint32_t *sensor_first;            /* [model_places] of the model's sensors in shown, by the scene's model */
	uint32_t *sdf_models;              /* [models of shown] see scene_info_sdf_model() */
	bool *created;                     /* likewise */
	uint32_t *canonical;               /* likewise; see scene_info_canonical_link() */
	uint32_t *model_of, *link_of, *joint_of; /* [counts of the scene] indices in shown, or TROUPE_NONE */
	uint32_t *shape_of;                      /* [count of the scene's geoms] likewise */
	uint32_t model_places, link_places, joint_places, geom_places;
	struct scene_info_sensor_frames *frames; /* [sensors of shown] see scene_info_untold_frames() */
	struct link_frames *link_frames;         /* [links of shown] see scene_info_link_frames() */
};

/* A form and what the library alone wants of it. */
struct scene_info_form {
	struct troupe_form shown; /* first: a troupe_form is its scene_info_form */
	struct scene_info_polyline polyline;
};

struct copied_mesh { /* the copied points of one mesh */
	const struct mesh *of;
	const double *points;
	const uint32_t *triangles;
};

struct scene_info_making {
	struct scene_info *info;
	const struct scene *scene;
	uint32_t world;
	struct troupe_scene_model *models;
	struct troupe_scene_link *links;
	struct troupe_scene_joint *joints;
	struct troupe_scene_shape *shapes;
	struct share share; /* of what is copied into the arena of info */
	struct troupe_scene_light *lights;
	const struct sensors *from_sensors;
	const struct systems *systems;
	struct troupe_scene_sensor *sensors;
	VEC(struct copied_mesh) meshes;
	struct link_frames_index frames;
};

static const struct scene_info *scene_info_of(const struct troupe_scene *shown)
{
	return (const struct scene_info *)(const void *)shown;
}

static uint32_t *scene_info_no_places(struct arena *arena, uint32_t count)
{
	uint32_t *places = arena_array(arena, uint32_t, count);
	memset(places, 0xff, count * sizeof *places);
	return places;
}

/* --- shapes ------------------------------------------------------------------------------------------------------- */

static const struct {
	enum sdf_shape_kind from;
	troupe_shape_kind to;
} scene_info_shape_kinds[] = {{SDF_BOX, TROUPE_SHAPE_BOX}, {SDF_SPHERE, TROUPE_SHAPE_SPHERE},
	{SDF_CYLINDER, TROUPE_SHAPE_CYLINDER}, {SDF_CAPSULE, TROUPE_SHAPE_CAPSULE}, {SDF_CONE, TROUPE_SHAPE_CONE},
	{SDF_ELLIPSOID, TROUPE_SHAPE_ELLIPSOID}, {SDF_PLANE, TROUPE_SHAPE_PLANE}, {SDF_MESH, TROUPE_SHAPE_MESH},
	{SDF_HEIGHTMAP, TROUPE_SHAPE_HEIGHTMAP}, {SDF_IMAGE, TROUPE_SHAPE_HEIGHTMAP},
	{SDF_POLYLINE, TROUPE_SHAPE_POLYLINE}};

/* False: the shape is not visible. */
static bool scene_info_find_kind(enum sdf_shape_kind kind, troupe_shape_kind *ret_kind)
{
	for (size_t i = 0; i < ARRAY_LEN(scene_info_shape_kinds); i++)
		if (scene_info_shape_kinds[i].from == kind) {
			*ret_kind = scene_info_shape_kinds[i].to;
			return true;
		}
	return false;
}

static struct vec3 scene_info_size_of(const struct sdf_shape *shape)
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

static const char *scene_info_text(struct scene_info_making *m, const char *text)
{
	return share_text(&m->share, &m->info->arena, text);
}

static const struct copied_mesh *scene_info_copy_mesh(struct scene_info_making *m, const struct mesh *mesh)
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
static void scene_info_add_look(struct scene_info_making *m, const struct sdf_visual *visual, struct troupe_form *to)
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
static void scene_info_add_file(struct scene_info_making *m, const struct sdf_shape *shape, struct troupe_form *to)
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

static struct mesh_outline scene_info_read_outline(struct scene_info_making *m, const struct sdf_element *polyline)
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
static struct scene_info_polyline scene_info_read_polyline(struct scene_info_making *m, const struct sdf_shape *shape)
{
	const struct sdf_element *first = sdf_child(shape->element, "polyline", NULL);
	struct scene_info_polyline polyline = {.height = 1};
	if (!first)
		return polyline;
	(void)sdf_child_double(first, "height", 0, SDF_LENGTH_MAX, &polyline.height, NULL);
	struct mesh_outline *outlines = arena_array(&m->info->arena, struct mesh_outline, MESH_OUTLINES_MAX);
	for (const struct sdf_element *at = first; at && polyline.count < MESH_OUTLINES_MAX;
		at = sdf_child(shape->element, "polyline", at))
		outlines[polyline.count++] = scene_info_read_outline(m, at);
	polyline.outlines = outlines;
	return polyline;
}

static void scene_info_add_shape(struct scene_info_making *m, uint32_t link, const char *name,
	const struct sdf_shape *shape, struct pose in_link, const struct sdf_visual *visual)
{
	struct troupe_scene *shown = &m->info->shown;
	troupe_shape_kind kind;
	if (!scene_info_find_kind(shape->kind, &kind))
		return;
	struct scene_info_form form;
	memset(&form, 0, sizeof form); /* gaps, too: see share_keep() */
	form.polyline = scene_info_read_polyline(m, shape);
	struct troupe_form *to = &form.shown;
	to->name = scene_info_text(m, name);
	to->collision = !visual;
	to->kind = kind;
	to->in_link = pose_flat(in_link);
	to->size = scene_info_size_of(shape);
	to->normal = shape->kind == SDF_PLANE ? shape->normal : (struct vec3){0, 0, 1};
	to->uri = shape->uri ? scene_info_text(m, shape->uri) : NULL;
	to->path = shape->path ? scene_info_text(m, shape->path) : NULL;
	scene_info_add_file(m, shape, to);
	scene_info_add_look(m, visual, to);
	if (shape->mesh) {
		const struct copied_mesh *mesh = scene_info_copy_mesh(m, shape->mesh);
		to->points = mesh->points;
		to->point_count = shape->mesh->points.count;
		to->triangles = mesh->triangles;
		to->triangle_count = shape->mesh->corners.count / 3;
	}
	const struct scene_info_form *kept = share_keep(&m->share, &m->info->arena, &form, sizeof form);
	m->shapes[shown->shape_count++] = (struct troupe_scene_shape){&kept->shown, link};
}

static void scene_info_add_shapes(
	struct scene_info_making *m, const struct sdf_world *from, const struct sdf_link *sdf, uint32_t link)
{
	struct troupe_scene *shown = &m->info->shown;
	struct troupe_scene_link *to = &m->links[link];
	to->shape_first = shown->shape_count;
	for (uint32_t i = sdf->collision_first; i < sdf->collision_first + sdf->collision_count; i++)
		scene_info_add_shape(m, link, from->collisions.at[i].name, from->collisions.at[i].shape,
			*from->collisions.at[i].in_link, NULL);
	for (uint32_t i = sdf->visual_first; i < sdf->visual_first + sdf->visual_count; i++)
		scene_info_add_shape(m, link, from->visuals.at[i].name, &from->visuals.at[i].shape,
			from->visuals.at[i].in_link, &from->visuals.at[i]);
	to->shape_count = shown->shape_count - to->shape_first;
}

/* An actor is no model of the file: its shapes are made of what is simulated. */
static struct sdf_shape scene_info_shape_of_actor(const struct scene_geom *geom)
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

static void scene_info_add_actor(
	struct scene_info_making *m, const struct scene_model *actor, uint32_t place, uint32_t link)
{
	struct troupe_scene *shown = &m->info->shown;
	struct troupe_scene_link *to = &m->links[link];
	to->shape_first = shown->shape_count;
	for (uint32_t g = actor->geom_first; g < actor->geom_first + actor->geom_count; g++) {
		const struct scene_geom *geom = &m->scene->geoms[g];
		if (geom->link != place)
			continue;
		const struct sdf_shape shape = scene_info_shape_of_actor(geom);
		const char *scoped = m->scene->links[place].scoped, *name = geom->name + strlen(scoped) + 2;
		scene_info_add_shape(m, link, name, &shape,
			pose_mul(pose_inverse(m->scene->links[place].in_body), geom->in_body), NULL);
	}
	to->shape_count = shown->shape_count - to->shape_first;
}

static void scene_info_add_light(struct scene_info_making *m, const char *name, uint32_t link, uint32_t at,
	struct pose pose, const struct sdf_shine *shine)
{
	m->lights[m->info->shown.light_count++] = (struct troupe_scene_light){.name = scene_info_text(m, name),
		.link = link,
		.at = at,
		.pose = pose_flat(pose),
		.shine = scene_info_light(shine)};
}

static void scene_info_add_lights_of_link(
	struct scene_info_making *m, uint32_t model, const struct sdf_link *sdf, uint32_t link)
{
	const struct sdf_world *from = m->scene->models[model].from;
	struct troupe_scene_link *to = &m->links[link];
	to->light_first = m->info->shown.light_count;
	to->light_count = sdf->light_count;
	for (uint32_t i = sdf->light_first; i < sdf->light_first + sdf->light_count; i++) {
		uint32_t place = scene_link_light(m->scene, model, i);
		const struct scene_light *now = place == SCENE_NONE ? NULL : &m->scene->lights[place];
		scene_info_add_light(m, from->lights.at[i].name, link, 0,
			now ? now->pose : scene_light_in_link(from, i), now ? &now->shine : &from->lights.at[i].shine);
	}
}

static void scene_info_add_lights_of_world(struct scene_info_making *m)
{
	for (uint32_t i = 0; i < m->scene->light_count; i++) {
		const struct scene_light *light = &m->scene->lights[i];
		if (!light->absent && light->model == SCENE_NONE)
			scene_info_add_light(m, light->name, TROUPE_NONE, i, light->pose, &light->shine);
	}
}

/* A collision is one shape, but may be several geoms. */
static void scene_info_find_shapes_of_geoms(struct scene_info_making *m, uint32_t model)
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

/* --- models, links, joints ---------------------------------------------------------------------------------------- */

/* The name of a link or joint within its model; "nested::name" for one in a nested model. Joints of the world itself
 * are in no model. */
static const char *scene_info_name_in(struct scene_info_making *m, uint32_t model, const char *scoped)
{
	const char *name = m->scene->models[model].name;
	size_t length = strlen(name);
	bool inside = !strncmp(scoped, name, length) && !strncmp(scoped + length, "::", 2);
	return scene_info_text(m, inside ? scoped + length + 2 : scoped);
}

/* The first pose of a frame: `in_body` is its pose in the body, or in the world. */
static struct pose scene_info_first_pose(const struct scene *scene, uint32_t body, struct pose in_body)
{
	return body == SCENE_NONE ? in_body : pose_mul(scene->bodies[body].reference, in_body);
}

/* Poses of static models and of their links are the present ones: a static model can be placed elsewhere. */
static struct pose scene_info_model_pose(const struct scene *scene, uint32_t model)
{
	const struct scene_model *from = &scene->models[model];
	return scene_info_first_pose(
		scene, from->body_count ? from->body_first + from->frame_body : SCENE_NONE, from->in_body);
}

/* The place among the shown links of the model of the first one that has the body of link l. */
static uint32_t scene_info_first_of_body(const struct scene *scene, const struct scene_model *model, uint32_t l)
{
	uint32_t body = scene->links[l].body, at = model->link_first;
	if (body == SCENE_NONE)
		return l - model->link_first;
	while (scene->links[at].body != body)
		at++;
	return at - model->link_first;
}

static void scene_info_add_links(struct scene_info_making *m, uint32_t model, uint32_t shown_model)
{
	struct pose base = scene_info_model_pose(m->scene, model);
	const struct scene_model *from = &m->scene->models[model];
	struct troupe_scene *shown = &m->info->shown;
	struct troupe_scene_model *to = &m->models[shown_model];
	to->link_first = shown->link_count;
	for (uint32_t l = from->link_first; l < from->link_first + from->link_count; l++) {
		const struct scene_link *link = &m->scene->links[l];
		uint32_t at = shown->link_count++;
		m->info->links[at] = l;
		m->info->link_of[l] = at;
		m->links[at] = (struct troupe_scene_link){.handle = scene_info_link_handle(m->scene, m->world, l),
			.name = scene_info_name_in(m, model, link->scoped),
			.model = shown_model,
			.in_model = pose_flat(pose_mul(
				pose_inverse(base), scene_info_first_pose(m->scene, link->body, link->in_body))),
			.mass = link->body == SCENE_NONE ? 0 : m->scene->bodies[link->body].mass,
			.fixed_to = to->link_first + scene_info_first_of_body(m->scene, from, l)};
		m->info->link_frames[at] = (struct link_frames){.count = 0};
		if (from->actor)
			scene_info_add_actor(m, from, l, at);
		if (from->sdf == SDF_NONE)
			continue;
		uint32_t place = from->from->models.at[from->sdf].link_first + l - from->link_first;
		const struct sdf_link *sdf = &from->from->links.at[place];
		link_frames_look(&m->frames, from->from);
		m->info->link_frames[at] =
			link_frames_of(&m->frames, from, place, systems_of(m->systems, model), &m->info->arena);
		scene_info_add_shapes(m, from->from, sdf, at);
		scene_info_add_lights_of_link(m, model, sdf, at);
	}
	to->link_count = shown->link_count - to->link_first;
}

/* Among the links of the model. */
static uint32_t scene_info_canonical_of(const struct scene_model *model)
{
	const struct sdf_model *sdf = model->sdf == SDF_NONE ? NULL : &model->from->models.at[model->sdf];
	return sdf && sdf->canonical_link != SDF_NONE ? sdf->canonical_link - sdf->link_first : 0;
}

static void scene_info_add_model(struct scene_info_making *m, uint32_t model)
{
	const struct scene_model *from = &m->scene->models[model];
	uint32_t at = m->info->shown.model_count++;
	m->info->models[at] = model;
	m->info->sdf_models[at] = from->created ? SDF_NONE : from->sdf;
	m->info->created[at] = from->created;
	m->info->model_of[model] = at;
	m->models[at] = (struct troupe_scene_model){.handle = scene_info_model_handle(m->scene, m->world, model),
		.name = scene_info_text(m, from->name),
		.id = from->id,
		.is_static = from->is_static,
		.performer = from->performer,
		.pose = pose_flat(scene_info_model_pose(m->scene, model)),
		.actor = from->actor != NULL};
	scene_info_add_links(m, model, at);
	m->info->canonical[at] = m->models[at].link_first + scene_info_canonical_of(from);
	scene_info_find_shapes_of_geoms(m, model);
}

static uint32_t scene_info_shown_link(const struct scene_info_making *m, uint32_t body, uint32_t sdf_link)
{
	if (body == SCENE_NONE || sdf_link == SDF_NONE)
		return TROUPE_NONE;
	const struct scene_model *model = &m->scene->models[m->scene->bodies[body].model];
	return model->sdf == SDF_NONE
		       ? TROUPE_NONE
		       : m->info->link_of[model->link_first + sdf_link - model->from->models.at[model->sdf].link_first];
}

static troupe_joint_kind scene_info_kind_of(enum sdf_joint_kind kind)
{
	switch (kind) {
	case SDF_PRISMATIC:
		return TROUPE_JOINT_PRISMATIC;
	case SDF_SCREW:
		return TROUPE_JOINT_SCREW;
	case SDF_UNIVERSAL:
		return TROUPE_JOINT_UNIVERSAL;
	case SDF_REVOLUTE2:
		return TROUPE_JOINT_REVOLUTE2;
	case SDF_BALL:
		return TROUPE_JOINT_BALL;
	case SDF_GEARBOX:
		return TROUPE_JOINT_GEARBOX;
	case SDF_FIXED:
		return TROUPE_JOINT_FIXED;
	default:
		return TROUPE_JOINT_REVOLUTE;
	}
}

static void scene_info_add_joint(struct scene_info_making *m, uint32_t joint)
{
	const struct scene_joint *from = &m->scene->joints[joint];
	uint32_t at = m->info->shown.joint_count++;
	struct troupe_scene_joint *to = &m->joints[at];
	m->info->joints[at] = joint;
	m->info->joint_of[joint] = at;
	*to = (struct troupe_scene_joint){.handle = scene_info_joint_handle(m->scene, m->world, joint),
		.name = scene_info_name_in(m, from->model, from->scoped),
		.kind = scene_info_kind_of(from->kind),
		.model = m->info->model_of[from->model],
		.parent = scene_info_shown_link(m, from->parent, from->sdf->parent),
		.child = scene_info_shown_link(m, from->child, from->sdf->child),
		.axis_count = from->axis_count};
	struct troupe_scene_axis axis[2];
	for (uint32_t a = 0; a < from->axis_count; a++)
		axis[a] = (struct troupe_scene_axis){from->axis[a].xyz_world, from->axis[a].lower, from->axis[a].upper,
			from->axis[a].velocity, from->axis[a].effort};
	to->axis = share_keep(&m->share, &m->info->arena, axis, from->axis_count * sizeof *axis);
}

static void scene_info_add_joints(struct scene_info_making *m)
{
	for (uint32_t i = 0; i < m->info->shown.mobile_count; i++) {
		const struct scene_model *from = &m->scene->models[m->info->models[i]];
		m->models[i].joint_first = m->info->shown.joint_count;
		for (uint32_t j = from->joint_first; j < from->joint_first + from->joint_count; j++)
			scene_info_add_joint(m, j);
		m->models[i].joint_count = from->joint_count;
	}
	for (uint32_t i = 0; i < m->scene->world_joints.count; i++) {
		uint32_t joint = m->scene->world_joints.at[i];
		if (m->info->model_of[m->scene->joints[joint].model] != TROUPE_NONE)
			scene_info_add_joint(m, joint);
	}
}

/* --- sensors ------------------------------------------------------------------------------------------------------ */

/* A camera may be turned in its sensor. */
static struct pose scene_info_sensor_in_link(const struct sdf_sensor *sensor)
{
	bool camera = sensor->settings->camera_count == 1;
	return camera ? pose_mul(sensor->in_parent, sensor->settings->cameras->in_sensor) : sensor->in_parent;
}

struct scene_info_sensor_frames scene_info_frames_of(const struct sdf_sensor *sensor)
{
	const struct sdf_settings *settings = sensor->settings;
	const char *picture = settings->camera_count ? settings->cameras->optical_frame : NULL;
	return (struct scene_info_sensor_frames){settings->frame_id, picture ? picture : settings->frame_id};
}

/* Whether the frame is the model's or one of its links', as PosePublisher names them. */
static bool scene_info_is_of_model(const char *model, const char *frame)
{
	size_t count = strlen(model);
	const char *rest = frame + count;
	return !strncmp(frame, model, count) && (!*rest || *rest == '/' || !strncmp(rest, "::", 2));
}

/* A frame has one parent: whether a system of the model publishes where the frame is. */
static bool scene_info_is_told(const struct scene_info_making *m, uint32_t model, const char *frame)
{
	const struct system_set *set = systems_of(m->systems, model);
	bool told = false;
	for (uint32_t i = 0; i < set->count; i++)
		for (uint32_t o = 0; o < set->at[i].outputs.count; o++) {
			const struct troupe_output *output = &set->at[i].outputs.at[o].def;
			bool poses = output->gives == TROUPE_GIVES_POSES || output->gives == TROUPE_GIVES_POSE;
			bool one = output->child_frame &&
				   (output->gives == TROUPE_GIVES_TF || output->gives == TROUPE_GIVES_REPORT);
			told |= (one && !strcmp(output->child_frame, frame)) ||
				(poses && scene_info_is_of_model(m->scene->models[model].name, frame));
		}
	return told;
}

static const char *scene_info_copy_untold(struct scene_info_making *m, uint32_t model, const char *frame)
{
	return frame && !scene_info_is_told(m, model, frame) ? scene_info_text(m, frame) : NULL;
}

static void scene_info_add_sensor(struct scene_info_making *m, const struct sensor *from)
{
	const struct scene_info_sensor_frames named = scene_info_frames_of(from->sdf);
	m->info->frames[m->info->shown.sensor_count] =
		(struct scene_info_sensor_frames){scene_info_copy_untold(m, from->model, named.frame),
			scene_info_copy_untold(m, from->model, named.picture)};
	struct troupe_scene_sensor *to = &m->sensors[m->info->shown.sensor_count++];
	*to = (struct troupe_scene_sensor){.handle = scene_info_sensor_handle(m->scene, m->world, from),
		.name = scene_info_name_in(m, from->model, from->name),
		.type = scene_info_text(m, from->sdf->type),
		.model = m->info->model_of[from->model],
		.link = from->link == SCENE_NONE ? TROUPE_NONE : m->info->link_of[from->link],
		.joint = from->joint == SCENE_NONE ? TROUPE_NONE : m->info->joint_of[from->joint],
		.rate_hz = from->sdf->update_rate,
		.in_link = pose_flat(scene_info_sensor_in_link(from->sdf))};
	if (from->group != SENSOR_SILENT) {
		to->number_count = sensor_kind_column_count(from->sdf->kind);
		to->numbers = sensor_kind_of(from->sdf->kind)->columns;
	}
}

/* In the order of models in the scene info. */
static void scene_info_add_sensors(struct scene_info_making *m)
{
	m->sensors = arena_array(&m->info->arena, struct troupe_scene_sensor, m->from_sensors->count);
	m->info->frames = arena_array(&m->info->arena, struct scene_info_sensor_frames, m->from_sensors->count);
	m->info->sensor_first = arena_array(&m->info->arena, uint32_t, m->scene->model_count);
	for (uint32_t i = 0; i < m->info->shown.model_count; i++) {
		uint32_t model = m->info->models[i];
		const struct sensor_set *set = &m->from_sensors->sets[model];
		m->info->sensor_first[model] = m->info->shown.sensor_count;
		for (uint32_t s = 0; s < set->count; s++)
			scene_info_add_sensor(m, &set->at[s]);
	}
}

/* --- life --------------------------------------------------------------------------------------------------------- */

/* Makes room for all entities, including those that are not shown. */
static void scene_info_make_room(struct scene_info_making *m)
{
	struct scene_info *info = m->info;
	const struct scene *scene = m->scene;
	uint32_t shapes = 0, lights = scene->light_count;
	for (uint32_t i = 0; i < scene->model_count; i++) {
		const struct scene_model *model = &scene->models[i];
		shapes += model->actor ? model->geom_count : 0;
		if (model->absent || !model->id || model->sdf == SDF_NONE)
			continue;
		const struct sdf_model *sdf = &model->from->models.at[model->sdf];
		for (uint32_t l = sdf->link_first; l < sdf->link_first + sdf->link_count; l++) {
			const struct sdf_link *link = &model->from->links.at[l];
			shapes += link->collision_count + link->visual_count;
			lights += link->light_count;
		}
	}
	info->model_places = scene->model_count;
	info->link_places = scene->link_count;
	info->joint_places = scene->joint_count;
	info->geom_places = scene->geom_count;
	info->models = arena_array(&info->arena, uint32_t, scene->model_count);
	info->sdf_models = arena_array(&info->arena, uint32_t, scene->model_count);
	info->created = arena_array(&info->arena, bool, scene->model_count);
	info->canonical = arena_array(&info->arena, uint32_t, scene->model_count);
	info->links = arena_array(&info->arena, uint32_t, scene->link_count);
	info->link_frames = arena_array(&info->arena, struct link_frames, scene->link_count);
	info->joints = arena_array(&info->arena, uint32_t, scene->joint_count);
	info->model_of = scene_info_no_places(&info->arena, scene->model_count);
	info->link_of = scene_info_no_places(&info->arena, scene->link_count);
	info->joint_of = scene_info_no_places(&info->arena, scene->joint_count);
	info->shape_of = scene_info_no_places(&info->arena, scene->geom_count);
	m->models = arena_array(&info->arena, struct troupe_scene_model, scene->model_count);
	m->links = arena_array(&info->arena, struct troupe_scene_link, scene->link_count);
	m->joints = arena_array(&info->arena, struct troupe_scene_joint, scene->joint_count);
	m->shapes = arena_array(&info->arena, struct troupe_scene_shape, shapes);
	m->lights = arena_array(&info->arena, struct troupe_scene_light, lights);
}

const struct troupe_scene *scene_info_create(const struct scene *scene, const struct sensors *sensors,
	const struct systems *systems, uint32_t world, uint64_t epoch)
{
	struct scene_info *info = mem_alloc(sizeof *info);
	struct scene_info_making m = {
		.info = info, .scene = scene, .from_sensors = sensors, .systems = systems, .world = world};
	struct troupe_scene *shown = &info->shown;
	atomic_init(&info->holders, 1);
	scene_info_make_room(&m);
	shown->world = scene_info_text(&m, scene->name);
	shown->epoch = epoch;
	shown->surroundings = scene_info_surroundings(&m.share, &info->arena, &scene->sdf->surroundings.scene);
	scene_info_add_lights_of_world(&m);
	for (uint32_t i = 0; i < scene->model_count; i++)
		if (scene->models[i].id && scene_info_moves(&scene->models[i]))
			scene_info_add_model(&m, i);
	shown->mobile_count = shown->model_count;
	shown->moving_links = shown->link_count;
	for (uint32_t i = 0; i < scene->model_count; i++)
		if (scene->models[i].id && !scene->models[i].absent && !scene_info_moves(&scene->models[i]))
			scene_info_add_model(&m, i);
	scene_info_add_joints(&m);
	scene_info_add_sensors(&m);
	shown->sensors = m.sensors;
	shown->models = m.models;
	shown->links = m.links;
	shown->joints = m.joints;
	shown->shapes = m.shapes;
	shown->lights = m.lights;
	vec_free(&m.meshes);
	share_fini(&m.share);
	link_frames_fini(&m.frames);
	return shown;
}

struct scene_info_polyline scene_info_polyline(const struct troupe_scene *shown, uint32_t shape)
{
	return ((const struct scene_info_form *)(const void *)shown->shapes[shape].form)->polyline;
}

struct scene_info_sensor_frames scene_info_untold_frames(const struct troupe_scene *shown, uint32_t sensor)
{
	return scene_info_of(shown)->frames[sensor];
}

struct link_frames scene_info_link_frames(const struct troupe_scene *shown, uint32_t link)
{
	return scene_info_of(shown)->link_frames[link];
}

const struct troupe_scene *scene_info_hold(const struct troupe_scene *shown)
{
	struct scene_info *info = (struct scene_info *)(void *)(uintptr_t)shown;
	atomic_fetch_add_explicit(&info->holders, 1, memory_order_relaxed);
	return shown;
}

void troupe_scene_release(const struct troupe_scene *shown)
{
	struct scene_info *info = (struct scene_info *)(void *)(uintptr_t)shown;
	/* acq_rel: the thread that frees it sees all accesses of the other holders */
	if (!info || atomic_fetch_sub_explicit(&info->holders, 1, memory_order_acq_rel) != 1)
		return;
	arena_fini(&info->arena);
	free(info);
}

/* --- places ------------------------------------------------------------------------------------------------------- */

uint32_t scene_info_model_at(const struct troupe_scene *shown, uint32_t model)
{
	return scene_info_of(shown)->models[model];
}

uint32_t scene_info_sdf_model(const struct troupe_scene *shown, uint32_t model)
{
	return scene_info_of(shown)->sdf_models[model];
}

bool scene_info_is_created(const struct troupe_scene *shown, uint32_t model)
{
	return scene_info_of(shown)->created[model];
}

uint32_t scene_info_canonical_link(const struct troupe_scene *shown, uint32_t model)
{
	return scene_info_of(shown)->canonical[model];
}

uint32_t scene_info_link_at(const struct troupe_scene *shown, uint32_t link)
{
	return scene_info_of(shown)->links[link];
}

uint32_t scene_info_joint_at(const struct troupe_scene *shown, uint32_t joint)
{
	return scene_info_of(shown)->joints[joint];
}

uint32_t scene_info_shape_of_geom(const struct troupe_scene *shown, uint32_t geom)
{
	return geom < scene_info_of(shown)->geom_places ? scene_info_of(shown)->shape_of[geom] : TROUPE_NONE;
}

uint32_t scene_info_model_of(const struct troupe_scene *shown, uint32_t model)
{
	return model < scene_info_of(shown)->model_places ? scene_info_of(shown)->model_of[model] : TROUPE_NONE;
}

const struct troupe_model_state *troupe_snapshot_model(const struct troupe_snapshot *snapshot, troupe_model model)
{
	const struct scene_info *info = scene_info_of(snapshot->scene);
	uint32_t i = model.at && model.at <= info->model_places ? info->model_of[model.at - 1] : TROUPE_NONE;
	return i < snapshot->model_count && !memcmp(&snapshot->scene->models[i].handle, &model, sizeof model)
		       ? &snapshot->models[i]
		       : NULL;
}

const struct troupe_link_state *troupe_snapshot_link(const struct troupe_snapshot *snapshot, troupe_link link)
{
	const struct scene_info *info = scene_info_of(snapshot->scene);
	uint32_t i = link.at && link.at <= info->link_places ? info->link_of[link.at - 1] : TROUPE_NONE;
	return i < snapshot->link_count && !memcmp(&snapshot->scene->links[i].handle, &link, sizeof link)
		       ? &snapshot->links[i]
		       : NULL;
}

const struct troupe_joint_state *troupe_snapshot_joint(const struct troupe_snapshot *snapshot, troupe_joint joint)
{
	const struct scene_info *info = scene_info_of(snapshot->scene);
	uint32_t i = joint.at && joint.at <= info->joint_places ? info->joint_of[joint.at - 1] : TROUPE_NONE;
	return i < snapshot->joint_count && !memcmp(&snapshot->scene->joints[i].handle, &joint, sizeof joint)
		       ? &snapshot->joints[i]
		       : NULL;
}

const struct troupe_reading *troupe_snapshot_sensor(const struct troupe_snapshot *snapshot, troupe_sensor sensor)
{
	const struct scene_info *info = scene_info_of(snapshot->scene);
	uint32_t i = sensor.at && sensor.at <= info->model_places && info->model_of[sensor.at - 1] != TROUPE_NONE
			     ? info->sensor_first[sensor.at - 1] + sensor.index
			     : TROUPE_NONE;
	return i < snapshot->sensor_count && !memcmp(&snapshot->scene->sensors[i].handle, &sensor, sizeof sensor)
		       ? &snapshot->readings[i]
		       : NULL;
}
