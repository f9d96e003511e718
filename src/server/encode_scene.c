/* gz.msgs.Scene: the models with their links, visuals, lights and joints, as a viewer needs them, and the collisions,
 * which Gazebo leaves out, because a viewer draws a link without visuals by them. Poses are relative to the entity
 * around, as in Gazebo. Moving models are at the poses that they had at first; a viewer takes the present ones from
 * pose/info. */
#include "server/encode.h"
#include "server/publish.h"
#include "server/scene_info.h"
#include "topic/message.h"
#include "topic/scene.pb-c.h"

#include <string.h>

static Gz__Msgs__Geometry *encode_scene_new_geometry(struct arena *arena, Gz__Msgs__Geometry__Type type)
{
	Gz__Msgs__Geometry *out = arena_new(arena, Gz__Msgs__Geometry);
	gz__msgs__geometry__init(out);
	out->type = type;
	return out;
}

static Gz__Msgs__Geometry *encode_scene_round(struct arena *arena, const struct troupe_form *shape)
{
	Gz__Msgs__Geometry *out;
	switch (shape->kind) {
	case TROUPE_SHAPE_SPHERE:
		out = encode_scene_new_geometry(arena, GZ__MSGS__GEOMETRY__TYPE__SPHERE);
		out->sphere = ENCODE_NEW(arena, Gz__Msgs__SphereGeom, gz__msgs__sphere_geom__init);
		out->sphere->radius = shape->size.x;
		return out;
	case TROUPE_SHAPE_CYLINDER:
		out = encode_scene_new_geometry(arena, GZ__MSGS__GEOMETRY__TYPE__CYLINDER);
		out->cylinder = ENCODE_NEW(arena, Gz__Msgs__CylinderGeom, gz__msgs__cylinder_geom__init);
		out->cylinder->radius = shape->size.x;
		out->cylinder->length = shape->size.z;
		return out;
	case TROUPE_SHAPE_CAPSULE:
		out = encode_scene_new_geometry(arena, GZ__MSGS__GEOMETRY__TYPE__CAPSULE);
		out->capsule = ENCODE_NEW(arena, Gz__Msgs__CapsuleGeom, gz__msgs__capsule_geom__init);
		out->capsule->radius = shape->size.x;
		out->capsule->length = shape->size.z;
		return out;
	case TROUPE_SHAPE_CONE:
		out = encode_scene_new_geometry(arena, GZ__MSGS__GEOMETRY__TYPE__CONE);
		out->cone = ENCODE_NEW(arena, Gz__Msgs__ConeGeom, gz__msgs__cone_geom__init);
		out->cone->radius = shape->size.x;
		out->cone->length = shape->size.z;
		return out;
	default:
		out = encode_scene_new_geometry(arena, GZ__MSGS__GEOMETRY__TYPE__ELLIPSOID);
		out->ellipsoid = ENCODE_NEW(arena, Gz__Msgs__EllipsoidGeom, gz__msgs__ellipsoid_geom__init);
		out->ellipsoid->radii = encode_vec3(arena, shape->size);
		return out;
	}
}

static Gz__Msgs__Geometry *encode_scene_plane(struct arena *arena, const struct troupe_form *shape)
{
	Gz__Msgs__Geometry *out = encode_scene_new_geometry(arena, GZ__MSGS__GEOMETRY__TYPE__PLANE);
	out->plane = ENCODE_NEW(arena, Gz__Msgs__PlaneGeom, gz__msgs__plane_geom__init);
	out->plane->normal = encode_vec3(arena, shape->normal);
	out->plane->size = ENCODE_NEW(arena, Gz__Msgs__Vector2d, gz__msgs__vector2d__init);
	out->plane->size->x = shape->size.x;
	out->plane->size->y = shape->size.y;
	return out;
}

static Gz__Msgs__Geometry *encode_scene_file(struct arena *arena, const struct troupe_form *shape)
{
	Gz__Msgs__Geometry *out;
	const char *name = shape->path ? shape->path : shape->uri ? shape->uri : "";
	if (shape->kind == TROUPE_SHAPE_HEIGHTMAP) {
		out = encode_scene_new_geometry(arena, GZ__MSGS__GEOMETRY__TYPE__HEIGHTMAP);
		out->heightmap = ENCODE_NEW(arena, Gz__Msgs__HeightmapGeom, gz__msgs__heightmap_geom__init);
		out->heightmap->filename = encode_text(name);
		out->heightmap->size = encode_vec3(arena, shape->size);
		out->heightmap->origin = encode_vec3(arena, shape->shift);
		encode_ground(arena, shape, out->heightmap);
		return out;
	}
	out = encode_scene_new_geometry(arena, GZ__MSGS__GEOMETRY__TYPE__MESH);
	out->mesh = ENCODE_NEW(arena, Gz__Msgs__MeshGeom, gz__msgs__mesh_geom__init);
	out->mesh->filename = encode_text(name);
	out->mesh->scale = encode_vec3(arena, shape->size);
	out->mesh->submesh = encode_text(shape->submesh ? shape->submesh : "");
	out->mesh->center_submesh = shape->submesh_centred;
	return out;
}

static Gz__Msgs__Polyline *encode_scene_outline(struct arena *arena, const struct mesh_outline *from, double height)
{
	Gz__Msgs__Polyline *out = ENCODE_NEW(arena, Gz__Msgs__Polyline, gz__msgs__polyline__init);
	out->height = height;
	out->point = arena_array(arena, Gz__Msgs__Vector2d *, from->count);
	for (uint32_t i = 0; i < from->count; i++) {
		Gz__Msgs__Vector2d *point = ENCODE_NEW(arena, Gz__Msgs__Vector2d, gz__msgs__vector2d__init);
		point->x = from->points[i].x;
		point->y = from->points[i].y;
		out->point[out->n_point++] = point;
	}
	return out;
}

static Gz__Msgs__Geometry *encode_scene_polyline(struct arena *arena, const struct scene_info_polyline from)
{
	Gz__Msgs__Geometry *out = encode_scene_new_geometry(arena, GZ__MSGS__GEOMETRY__TYPE__POLYLINE);
	out->polyline = arena_array(arena, Gz__Msgs__Polyline *, from.count);
	for (uint32_t i = 0; i < from.count; i++)
		out->polyline[out->n_polyline++] = encode_scene_outline(arena, &from.outlines[i], from.height);
	return out;
}

static Gz__Msgs__Geometry *encode_scene_geometry(struct arena *arena, const struct troupe_scene *scene, uint32_t index)
{
	const struct troupe_form *shape = scene->shapes[index].form;
	Gz__Msgs__Geometry *out;
	switch (shape->kind) {
	case TROUPE_SHAPE_BOX:
		out = encode_scene_new_geometry(arena, GZ__MSGS__GEOMETRY__TYPE__BOX);
		out->box = ENCODE_NEW(arena, Gz__Msgs__BoxGeom, gz__msgs__box_geom__init);
		out->box->size = encode_vec3(arena, shape->size);
		return out;
	case TROUPE_SHAPE_PLANE:
		return encode_scene_plane(arena, shape);
	case TROUPE_SHAPE_MESH:
	case TROUPE_SHAPE_HEIGHTMAP:
		return encode_scene_file(arena, shape);
	case TROUPE_SHAPE_POLYLINE:
		return encode_scene_polyline(arena, scene_info_polyline(scene, index));
	default:
		return encode_scene_round(arena, shape);
	}
}

static Gz__Msgs__Visual *encode_scene_visual(struct arena *arena, const struct troupe_scene *scene, uint32_t shape)
{
	const struct troupe_form *from = scene->shapes[shape].form;
	const struct troupe_scene_link *link = &scene->links[scene->shapes[shape].link];
	Gz__Msgs__Visual *out = ENCODE_NEW(arena, Gz__Msgs__Visual, gz__msgs__visual__init);
	out->id = ENCODE_SHAPE_ID | shape;
	out->name = encode_text(from->name);
	out->parent_name = encode_text(link->name);
	out->parent_id = encode_link_id(link);
	out->pose = encode_pose(arena, &from->in_link, NULL, 0);
	out->geometry = encode_scene_geometry(arena, scene, shape);
	out->material = encode_material(arena, from->material);
	out->cast_shadows = from->cast_shadows;
	out->visible = true;
	out->transparency = from->transparency;
	out->laser_retro = from->laser_retro;
	out->meta = ENCODE_NEW(arena, Gz__Msgs__Visual__Meta, gz__msgs__visual__meta__init);
	out->meta->layer = from->layer;
	out->type = GZ__MSGS__VISUAL__TYPE__VISUAL;
	return out;
}

static Gz__Msgs__Collision *encode_scene_collision(
	struct arena *arena, const struct troupe_scene *scene, uint32_t shape)
{
	const struct troupe_form *from = scene->shapes[shape].form;
	Gz__Msgs__Collision *out = ENCODE_NEW(arena, Gz__Msgs__Collision, gz__msgs__collision__init);
	out->id = ENCODE_SHAPE_ID | shape;
	out->name = encode_text(from->name);
	out->pose = encode_pose(arena, &from->in_link, NULL, 0);
	out->geometry = encode_scene_geometry(arena, scene, shape);
	return out;
}

/* Gazebo's message has no frames: one stands in the header of its link, with its name and its place there, as the three
 * numbers of its position and the four (x, y, z, w) of its orientation. */
static void encode_scene_link_frame(struct arena *arena, const struct link_frame *frame, Gz__Msgs__Header *header)
{
	const struct troupe_pose *at = &frame->in_link;
	const double numbers[] = {at->x, at->y, at->z, at->qx, at->qy, at->qz, at->qw};
	struct text pose = {0};
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		text_add(&pose, "%s", i ? " " : "");
		text_add_double(&pose, numbers[i]);
	}
	encode_header_add(arena, header, frame->is_odometry ? "odometry_frame" : "frame", frame->name);
	Gz__Msgs__Header__Map *map = header->data[header->n_data - 1];
	map->value = arena_array(arena, char *, 2);
	map->value[0] = encode_text(frame->name);
	map->value[1] = arena_strdup(arena, pose.at);
	map->n_value = 2;
	text_fini(&pose);
}

static Gz__Msgs__Link *encode_scene_link(struct arena *arena, const struct troupe_scene *scene, uint32_t link)
{
	const struct troupe_scene_link *from = &scene->links[link];
	Gz__Msgs__Link *out = ENCODE_NEW(arena, Gz__Msgs__Link, gz__msgs__link__init);
	out->id = encode_link_id(from);
	out->name = encode_text(from->name);
	out->pose = encode_pose(arena, &from->in_model, NULL, 0);
	out->visual = arena_array(arena, Gz__Msgs__Visual *, from->shape_count);
	out->collision = arena_array(arena, Gz__Msgs__Collision *, from->shape_count);
	for (uint32_t s = from->shape_first; s < from->shape_first + from->shape_count; s++)
		if (scene->shapes[s].form->collision)
			out->collision[out->n_collision++] = encode_scene_collision(arena, scene, s);
		else
			out->visual[out->n_visual++] = encode_scene_visual(arena, scene, s);
	out->light = arena_array(arena, Gz__Msgs__Light *, from->light_count);
	for (uint32_t l = from->light_first; l < from->light_first + from->light_count; l++)
		out->light[out->n_light++] = encode_light(arena, scene, l);
	const struct link_frames frames = scene_info_link_frames(scene, link);
	if (from->fixed_to != link || frames.count) {
		out->header = ENCODE_NEW(arena, Gz__Msgs__Header, gz__msgs__header__init);
		out->header->data = arena_array(arena, Gz__Msgs__Header__Map *, frames.count + 1);
	}
	if (from->fixed_to != link)
		encode_header_add(arena, out->header, "fixed_to", scene->links[from->fixed_to].name);
	for (uint32_t i = 0; i < frames.count; i++)
		encode_scene_link_frame(arena, &frames.at[i], out->header);
	return out;
}

/* Names of sensors are those in their models: "link::sensor". The header has the frames that the world names for the
 * sensor's messages, for viewers that show where it is. */
static Gz__Msgs__Sensor *encode_scene_sensor(
	struct arena *arena, const struct troupe_scene *scene, uint32_t sensor, const struct troupe_scene_link *link)
{
	const struct troupe_scene_sensor *from = &scene->sensors[sensor];
	const struct scene_info_sensor_frames frames = scene_info_untold_frames(scene, sensor);
	Gz__Msgs__Sensor *out = ENCODE_NEW(arena, Gz__Msgs__Sensor, gz__msgs__sensor__init);
	const char *last = from->name, *next;
	while ((next = strstr(last, "::")))
		last = next + 2;
	out->name = encode_text(last);
	out->parent = encode_text(link->name);
	out->parent_id = encode_link_id(link);
	out->type = encode_text(from->type);
	out->update_rate = from->rate_hz;
	out->pose = encode_pose(arena, &from->in_link, NULL, 0);
	if (frames.frame || frames.picture)
		out->header = ENCODE_NEW(arena, Gz__Msgs__Header, gz__msgs__header__init);
	if (frames.frame)
		encode_header_add(arena, out->header, "frame_id", frames.frame);
	if (frames.picture)
		encode_header_add(arena, out->header, "optical_frame_id", frames.picture);
	return out;
}

/* Sensors of joints are left out: Gazebo's message has no place for them. */
static void encode_scene_sensors(
	struct arena *arena, const struct troupe_scene *scene, uint32_t model, Gz__Msgs__Link *out, uint32_t link)
{
	uint32_t first = encode_first_sensor(scene, model), end = encode_first_sensor(scene, model + 1), count = 0;
	for (uint32_t i = first; i < end; i++)
		count += scene->sensors[i].link == link;
	out->sensor = arena_array(arena, Gz__Msgs__Sensor *, count);
	for (uint32_t i = first; i < end; i++)
		if (scene->sensors[i].link == link)
			out->sensor[out->n_sensor++] = encode_scene_sensor(arena, scene, i, &scene->links[link]);
}

static const Gz__Msgs__Joint__Type encode_scene_joint_types[] = {
	[TROUPE_JOINT_REVOLUTE] = GZ__MSGS__JOINT__TYPE__REVOLUTE,
	[TROUPE_JOINT_PRISMATIC] = GZ__MSGS__JOINT__TYPE__PRISMATIC,
	[TROUPE_JOINT_SCREW] = GZ__MSGS__JOINT__TYPE__SCREW,
	[TROUPE_JOINT_UNIVERSAL] = GZ__MSGS__JOINT__TYPE__UNIVERSAL,
	[TROUPE_JOINT_REVOLUTE2] = GZ__MSGS__JOINT__TYPE__REVOLUTE2,
	[TROUPE_JOINT_BALL] = GZ__MSGS__JOINT__TYPE__BALL,
	[TROUPE_JOINT_GEARBOX] = GZ__MSGS__JOINT__TYPE__GEARBOX,
	[TROUPE_JOINT_FIXED] = GZ__MSGS__JOINT__TYPE__FIXED,
};

static Gz__Msgs__Axis *encode_scene_axis(struct arena *arena, const struct troupe_scene_axis *from)
{
	Gz__Msgs__Axis *out = ENCODE_NEW(arena, Gz__Msgs__Axis, gz__msgs__axis__init);
	out->xyz = encode_vec3(arena, from->direction);
	out->limit_lower = from->lower;
	out->limit_upper = from->upper;
	out->limit_velocity = from->velocity;
	out->limit_effort = from->effort;
	return out;
}

Gz__Msgs__Joint *encode_joint(struct arena *arena, const struct troupe_scene *scene, uint32_t joint)
{
	const struct troupe_scene_joint *from = &scene->joints[joint];
	Gz__Msgs__Joint *out = ENCODE_NEW(arena, Gz__Msgs__Joint, gz__msgs__joint__init);
	out->id = encode_joint_id(from);
	out->name = encode_text(from->name);
	out->type = encode_scene_joint_types[from->kind];
	out->parent = encode_text(from->parent == TROUPE_NONE ? "world" : scene->links[from->parent].name);
	out->child = encode_text(from->child == TROUPE_NONE ? "world" : scene->links[from->child].name);
	out->parent_id = from->parent == TROUPE_NONE ? 0 : encode_link_id(&scene->links[from->parent]);
	out->child_id = from->child == TROUPE_NONE ? 0 : encode_link_id(&scene->links[from->child]);
	if (from->axis_count > 0)
		out->axis1 = encode_scene_axis(arena, &from->axis[0]);
	if (from->axis_count > 1)
		out->axis2 = encode_scene_axis(arena, &from->axis[1]);
	return out;
}

static Gz__Msgs__Model *encode_scene_model(struct arena *arena, const struct troupe_scene *scene, uint32_t model)
{
	const struct troupe_scene_model *from = &scene->models[model];
	Gz__Msgs__Model *out = ENCODE_NEW(arena, Gz__Msgs__Model, gz__msgs__model__init);
	out->id = (uint32_t)from->id;
	out->name = encode_text(from->name);
	out->is_static = from->is_static;
	out->pose = encode_pose(arena, &from->pose, NULL, 0);
	out->link = arena_array(arena, Gz__Msgs__Link *, from->link_count);
	for (uint32_t l = from->link_first; l < from->link_first + from->link_count; l++)
		encode_scene_sensors(
			arena, scene, model, out->link[out->n_link++] = encode_scene_link(arena, scene, l), l);
	out->joint = arena_array(arena, Gz__Msgs__Joint *, from->joint_count);
	for (uint32_t j = from->joint_first; j < from->joint_first + from->joint_count; j++)
		out->joint[out->n_joint++] = encode_joint(arena, scene, j);
	return out;
}

void encode_scene(const struct troupe_scene *scene, int64_t stamp_ns, struct text *out)
{
	struct arena arena = {0};
	Gz__Msgs__Scene message = GZ__MSGS__SCENE__INIT;
	message.header = encode_header(&arena, stamp_ns);
	message.name = encode_text(scene->world);
	encode_surroundings(&arena, &scene->surroundings, &message);
	message.light = arena_array(&arena, Gz__Msgs__Light *, scene->light_count);
	for (uint32_t i = 0; i < scene->light_count && scene->lights[i].link == TROUPE_NONE; i++)
		message.light[message.n_light++] = encode_light(&arena, scene, i);
	message.model = arena_array(&arena, Gz__Msgs__Model *, scene->model_count);
	for (uint32_t i = 0; i < scene->model_count; i++)
		message.model[message.n_model++] = encode_scene_model(&arena, scene, i);
	encode_end(&message.base, &arena, out);
}
