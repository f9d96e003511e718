/* The order is that of kinds: the model, its links, then collisions and visuals as the view has them, then sensors.
 * Names are Gazebo's: "robot::arm::camera" in the frame "robot::arm". A part of a link never moves in the link. */
#include "server/pose_parts.h"

#include "server/encode.h"
#include "server/scene_info.h"

#include <troupe/plugin.h>

#include <string.h>

struct run_of_parts {
	uint32_t first, count;
};

static struct run_of_parts pose_parts_shapes_of(const struct troupe_scene *scene, const struct troupe_scene_model *m)
{
	if (!m->link_count)
		return (struct run_of_parts){0, 0};
	const struct troupe_scene_link *first = &scene->links[m->link_first], *last = first + m->link_count - 1;
	return (struct run_of_parts){first->shape_first, last->shape_first + last->shape_count - first->shape_first};
}

static struct run_of_parts pose_parts_sensors_of(const struct troupe_scene *scene, uint32_t model)
{
	uint32_t first = encode_first_sensor(scene, model);
	return (struct run_of_parts){first, encode_first_sensor(scene, model + 1) - first};
}

uint32_t pose_parts_count(const struct troupe_scene *scene, uint32_t model)
{
	const struct troupe_scene_model *m = &scene->models[model];
	return 1 + m->link_count + pose_parts_shapes_of(scene, m).count + pose_parts_sensors_of(scene, model).count;
}

/* As in Gazebo, what a joint connects moves in its model, but the link that carries the model's frame. */
static bool pose_parts_moves(const struct troupe_scene *scene, uint32_t model, uint32_t link)
{
	const struct troupe_scene_model *m = &scene->models[model];
	bool joined = false;
	for (uint32_t j = m->joint_first; j < m->joint_first + m->joint_count; j++) {
		const struct troupe_scene_joint *joint = &scene->joints[j];
		joined |= joint->kind != TROUPE_JOINT_FIXED && (joint->parent == link || joint->child == link);
	}
	return joined && link != scene_info_canonical_link(scene, model);
}

static bool pose_parts_is_wanted(
	const struct troupe_scene *scene, uint32_t model, uint32_t kind, uint32_t index, uint32_t of)
{
	if (!(kind & of))
		return false;
	if (!(of & (TROUPE_OF_MOVING | TROUPE_OF_FIXED)))
		return true;
	bool moving = kind == TROUPE_OF_LINKS && pose_parts_moves(scene, model, index);
	return of & (moving ? (uint32_t)TROUPE_OF_MOVING : (uint32_t)TROUPE_OF_FIXED);
}

/* The kind of the part; *ret_index: its place in the view. 0: there is no such part. */
static uint32_t pose_parts_find(const struct troupe_scene *scene, uint32_t model, uint32_t part, uint32_t *ret_index)
{
	const struct troupe_scene_model *m = &scene->models[model];
	struct run_of_parts shapes = pose_parts_shapes_of(scene, m), sensors = pose_parts_sensors_of(scene, model);
	if (!part)
		return TROUPE_OF_MODEL;
	if (--part < m->link_count) {
		*ret_index = m->link_first + part;
		return TROUPE_OF_LINKS;
	}
	if ((part -= m->link_count) < shapes.count) {
		*ret_index = shapes.first + part;
		return scene->shapes[*ret_index].form->collision ? TROUPE_OF_COLLISIONS : TROUPE_OF_VISUALS;
	}
	*ret_index = sensors.first + part - shapes.count;
	return part - shapes.count < sensors.count ? TROUPE_OF_SENSORS : 0;
}

static Gz__Msgs__Pose *pose_parts_encode_named(struct arena *arena, const struct capture *capture,
	const struct troupe_pose *pose, const char *parent, const char *name, uint32_t id)
{
	Gz__Msgs__Pose *out = encode_pose(arena, pose, name, id);
	out->header = encode_header(arena, capture->time_ns);
	encode_header_add(arena, out->header, "frame_id", parent);
	encode_header_add(arena, out->header, "child_frame_id", name);
	return out;
}

/* "robot::arm" of "robot::arm::camera" */
static const char *pose_parts_parent_of(struct arena *arena, const char *name)
{
	char *parent = arena_strdup(arena, name);
	for (char *at = parent + strlen(parent); at > parent + 1; at--)
		if (at[-1] == ':' && at[-2] == ':') {
			at[-2] = '\0';
			break;
		}
	return parent;
}

Gz__Msgs__Pose *pose_parts_encode(
	struct arena *arena, const struct capture *capture, uint32_t model, uint32_t part, uint32_t of)
{
	const struct troupe_snapshot *snapshot = &capture->snapshot;
	const struct troupe_scene *scene = snapshot->scene;
	const char *owner = scene->models[model].name, *name;
	uint32_t index = 0, kind = pose_parts_find(scene, model, part, &index);
	if (!pose_parts_is_wanted(scene, model, kind, index, of))
		return NULL;
	if (kind == TROUPE_OF_MODEL)
		return pose_parts_encode_named(arena, capture, encode_model_pose(snapshot, model), snapshot->world,
			owner, (uint32_t)scene->models[model].id);
	if (kind == TROUPE_OF_LINKS) {
		const struct troupe_scene_link *link = &scene->links[index];
		struct troupe_pose in_model = encode_link_pose(snapshot, index);
		name = arena_printf(arena, "%s::%s", owner, link->name);
		return pose_parts_encode_named(arena, capture, &in_model, owner, name, encode_link_id(link));
	}
	if (kind == TROUPE_OF_SENSORS) {
		const struct troupe_scene_sensor *sensor = &scene->sensors[index];
		name = arena_printf(arena, "%s::%s", owner, sensor->name);
		return pose_parts_encode_named(
			arena, capture, &sensor->in_link, pose_parts_parent_of(arena, name), name, 0);
	}
	const struct troupe_form *shape = scene->shapes[index].form;
	name = arena_printf(arena, "%s::%s::%s", owner, scene->links[scene->shapes[index].link].name, shape->name);
	return pose_parts_encode_named(arena, capture, &shape->in_link, pose_parts_parent_of(arena, name), name, 0);
}
