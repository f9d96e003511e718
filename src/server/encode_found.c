/* A reading has numbers of geoms and ids of models; their names are those of the scene in the capture. */
#include "server/encode_sensor.h"

#include "server/scene_info.h"

bool encode_sensor_logical_camera(const struct sensor_source *source, struct text *out)
{
	const struct troupe_scene *scene = source->capture->snapshot.scene;
	const struct pose *eye = (const struct pose *)(const void *)source->numbers;
	const struct reading_model *seen = (const struct reading_model *)(const void *)(eye + 1);
	size_t count = (source->reading->count - sizeof *eye) / sizeof *seen;
	const struct troupe_pose pose = pose_flat(*eye);
	Gz__Msgs__LogicalCameraImage message = GZ__MSGS__LOGICAL_CAMERA_IMAGE__INIT;
	message.header = encode_sensor_header(source);
	message.pose = encode_pose(source->arena, &pose, NULL, 0);
	message.model = arena_array(source->arena, Gz__Msgs__LogicalCameraImage__Model *, count);
	for (size_t i = 0; i < count; i++)
		for (uint32_t m = 0; m < scene->model_count; m++) {
			if ((double)scene->models[m].id != seen[i].id)
				continue;
			const struct troupe_pose in_camera = pose_flat(seen[i].pose);
			Gz__Msgs__LogicalCameraImage__Model *to = ENCODE_NEW(source->arena,
				Gz__Msgs__LogicalCameraImage__Model, gz__msgs__logical_camera_image__model__init);
			to->name = encode_text(scene->models[m].name);
			to->pose = encode_pose(source->arena, &in_camera, NULL, 0);
			message.model[message.n_model++] = to;
		}
	return encode_end(&message.base, source->arena, out);
}

static Gz__Msgs__Entity *encode_found_entity_of_geom(const struct sensor_source *source, double geom)
{
	const struct troupe_scene *scene = source->capture->snapshot.scene;
	Gz__Msgs__Entity *out = ENCODE_NEW(source->arena, Gz__Msgs__Entity, gz__msgs__entity__init);
	uint32_t shape = scene_info_shape_of_geom(scene, (uint32_t)geom);
	out->type = GZ__MSGS__ENTITY__TYPE__COLLISION;
	if (shape == TROUPE_NONE)
		return out;
	const struct troupe_form *form = scene->shapes[shape].form;
	const struct troupe_scene_link *link = &scene->links[scene->shapes[shape].link];
	out->id = ENCODE_SHAPE_ID | shape;
	out->name = encode_text(
		arena_printf(source->arena, "%s::%s::%s", scene->models[link->model].name, link->name, form->name));
	return out;
}

static Gz__Msgs__Wrench *encode_found_wrench_of(const struct sensor_source *source, struct vec3 force, double sign)
{
	Gz__Msgs__Wrench *out = ENCODE_NEW(source->arena, Gz__Msgs__Wrench, gz__msgs__wrench__init);
	out->force = encode_vec3(source->arena, vec3_scale(force, sign));
	out->torque = encode_vec3(source->arena, (struct troupe_vec3){0, 0, 0});
	return out;
}

/* Contacts of one pair of collisions: the list has them one after the other. */
static Gz__Msgs__Contact *encode_found_pair(
	const struct sensor_source *source, const struct reading_contact *of, size_t count)
{
	Gz__Msgs__Contact *out = ENCODE_NEW(source->arena, Gz__Msgs__Contact, gz__msgs__contact__init);
	out->header = encode_sensor_header(source);
	out->collision1 = encode_found_entity_of_geom(source, of->geoms[0]);
	out->collision2 = encode_found_entity_of_geom(source, of->geoms[1]);
	out->n_position = out->n_normal = out->n_depth = out->n_wrench = count;
	out->position = arena_array(source->arena, Gz__Msgs__Vector3d *, count);
	out->normal = arena_array(source->arena, Gz__Msgs__Vector3d *, count);
	out->depth = arena_array(source->arena, double, count);
	out->wrench = arena_array(source->arena, Gz__Msgs__JointWrench *, count);
	for (size_t i = 0; i < count; i++) {
		Gz__Msgs__JointWrench *wrench =
			ENCODE_NEW(source->arena, Gz__Msgs__JointWrench, gz__msgs__joint_wrench__init);
		wrench->body_1_name = out->collision1->name;
		wrench->body_2_name = out->collision2->name;
		wrench->body_1_wrench = encode_found_wrench_of(source, of[i].force, 1);
		wrench->body_2_wrench = encode_found_wrench_of(source, of[i].force, -1);
		out->position[i] = encode_vec3(source->arena, of[i].position);
		out->normal[i] = encode_vec3(source->arena, of[i].normal);
		out->depth[i] = of[i].depth;
		out->wrench[i] = wrench;
	}
	return out;
}

bool encode_sensor_contacts(const struct sensor_source *source, struct text *out)
{
	const struct reading_contact *all = (const struct reading_contact *)(const void *)source->numbers;
	size_t count = source->reading->count / sizeof *all, first = 0;
	Gz__Msgs__Contacts message = GZ__MSGS__CONTACTS__INIT;
	message.header = encode_sensor_header(source);
	message.contact = arena_array(source->arena, Gz__Msgs__Contact *, count);
	for (size_t i = 1; i <= count; i++) {
		bool same =
			i < count && all[i].geoms[0] == all[first].geoms[0] && all[i].geoms[1] == all[first].geoms[1];
		if (same)
			continue;
		message.contact[message.n_contact++] = encode_found_pair(source, &all[first], i - first);
		first = i;
	}
	return encode_end(&message.base, source->arena, out);
}
