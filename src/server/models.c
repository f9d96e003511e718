/* Programs find a model by its name, and look for a place that is free: both need all models at one step. The boxes are
 * exact for boxes, spheres, cylinders, capsules and ellipsoids, and around all points of meshes. The points of a mesh
 * may be many, so a client gets boxes only if it asks for them. */
#include "server/models.h"

#include "server/encode.h"
#include "server/model_info.h"
#include "server/scene_info.h"
#include "server/viewer.h"
#include "topic/message.h"
#include "topic/troupe.pb-c.h"

#include <math.h>

/* How far the shape reaches along an axis of the frame in which its rotation is given; of_axis: that axis in the frame
 * of the shape. */
static double models_reach(const struct troupe_form *shape, struct vec3 of_axis)
{
	const double r = shape->size.x, half = shape->size.z / 2, z = fabs(of_axis.z),
		     across = sqrt(fmax(0, of_axis.x * of_axis.x + of_axis.y * of_axis.y));
	switch (shape->kind) {
	case TROUPE_SHAPE_SPHERE:
		return r;
	case TROUPE_SHAPE_CYLINDER:
	case TROUPE_SHAPE_CONE: /* the cylinder around it */
		return across * r + z * half;
	case TROUPE_SHAPE_CAPSULE:
		return r + z * half;
	case TROUPE_SHAPE_ELLIPSOID:
		return vec3_length(
			(struct vec3){of_axis.x * shape->size.x, of_axis.y * shape->size.y, of_axis.z * shape->size.z});
	default: /* a box, and what is not known better than by its edges */
		return (fabs(of_axis.x) * shape->size.x + fabs(of_axis.y) * shape->size.y + z * shape->size.z) / 2;
	}
}

static struct aabb models_box_of_points(const struct troupe_form *shape, struct pose pose)
{
	struct aabb box = AABB_NONE;
	for (uint32_t i = 0; i < shape->point_count; i++) {
		const double *at = &shape->points[3 * (size_t)i];
		struct vec3 point = pose_point(pose, vec3_from(at));
		box = aabb_join(box, (struct aabb){point, point});
	}
	return box;
}

static struct aabb models_box_of_shape(const struct troupe_form *shape, struct pose pose)
{
	if (shape->points)
		return models_box_of_points(shape, pose);
	struct quat back = quat_conj(pose.q);
	struct vec3 half = {models_reach(shape, quat_rotate(back, (struct vec3){1, 0, 0})),
		models_reach(shape, quat_rotate(back, (struct vec3){0, 1, 0})),
		models_reach(shape, quat_rotate(back, (struct vec3){0, 0, 1}))};
	struct vec3 centre = pose.p;
	if (shape->kind == TROUPE_SHAPE_HEIGHTMAP) /* its bottom is at its frame */
		centre = pose_point(
			pose, (struct vec3){shape->shift.x, shape->shift.y, shape->shift.z + shape->size.z / 2});
	return aabb_around(centre, vec3_scale(half, 2));
}

/* In the frame of the model. */
static void models_add_box(
	const struct troupe_snapshot *snapshot, uint32_t model, Troupe__Msgs__Models__Model *out, struct arena *arena)
{
	const struct troupe_scene *scene = snapshot->scene;
	const struct troupe_scene_model *m = &scene->models[model];
	struct aabb box = AABB_NONE;
	for (uint32_t l = m->link_first; l < m->link_first + m->link_count; l++) {
		const struct troupe_scene_link *link = &scene->links[l];
		const struct troupe_pose in_model = encode_link_pose(snapshot, l);
		for (uint32_t s = link->shape_first; s < link->shape_first + link->shape_count; s++) {
			const struct troupe_form *shape = scene->shapes[s].form;
			if (!shape->collision)
				continue;
			out->endless |= shape->kind == TROUPE_SHAPE_PLANE;
			box = aabb_join(box, models_box_of_shape(shape,
						     pose_mul(pose_of_flat(in_model), pose_of_flat(shape->in_link))));
		}
	}
	if (aabb_is_empty(&box) || out->endless)
		return;
	out->lower = encode_vec3(arena, box.lo);
	out->upper = encode_vec3(arena, box.hi);
}

static bool models_has_joints(const struct troupe_scene *scene, const struct troupe_scene_model *model)
{
	for (uint32_t j = model->joint_first; j < model->joint_first + model->joint_count; j++)
		if (scene->joints[j].kind != TROUPE_JOINT_FIXED)
			return true;
	return false;
}

static troupe_status models_answer(const struct capture *capture, const struct topic_row *row, const void *request,
	size_t count, struct text *out, struct troupe_error *error)
{
	const struct troupe_snapshot *snapshot = &capture->snapshot;
	const struct troupe_scene *scene = snapshot->scene;
	struct arena arena = {0};
	Troupe__Msgs__Models message = TROUPE__MSGS__MODELS__INIT;
	ProtobufCMessage *asked;
	troupe_status status =
		message_of_bytes(&gz__msgs__boolean__descriptor, request, count, &message_limits_usual, &asked, error);
	if (status)
		return status;
	bool boxes = ((const Gz__Msgs__Boolean *)(const void *)asked)->data;
	message_free(asked);
	message.header = encode_header(&arena, capture->time_ns);
	message.step = snapshot->step;
	message.paused = snapshot->paused;
	message.no_world = capture->server->def.no_world;
	message.step_s = capture->step_s;
	message.model = arena_array(&arena, Troupe__Msgs__Models__Model *, scene->model_count);
	for (uint32_t i = 0; i < scene->model_count; i++) {
		Troupe__Msgs__Models__Model *model =
			ENCODE_NEW(&arena, Troupe__Msgs__Models__Model, troupe__msgs__models__model__init);
		model->state = ENCODE_NEW(&arena, Troupe__Msgs__ModelState, troupe__msgs__model_state__init);
		viewer_encode_model(capture, i, model->state, &arena);
		model->jointed = models_has_joints(scene, &scene->models[i]);
		model->info = model_info_copy(capture->server->worlds[row->world].model_info, scene->models[i].id,
			scene->models[i].name, &arena);
		if (boxes)
			models_add_box(snapshot, i, model, &arena);
		message.model[message.n_model++] = model;
	}
	(void)encode_end(&message.base, &arena, out);
	return TROUPE_OK;
}

const struct query_ops ask_models = {.parts = CAPTURE_MODELS | CAPTURE_LINKS, .answer = models_answer};
