/* A message is made as a tree of protobuf-c's structs in an arena, and then written at once. protobuf-c writes each
 * part after it has computed its size; a writer of our own is faster, but the descriptors are then not the only list of
 * fields. So only the few messages that are published most often have one (encode_fast.h). */
#include "server/encode.h"

#include "server/scene_info.h"
#include "topic/message.h"

bool encode_end(const ProtobufCMessage *message, struct arena *arena, struct text *out)
{
	message_add_bytes(out, message);
	arena_fini(arena);
	return true;
}

Gz__Msgs__Time *encode_time(struct arena *arena, int64_t ns)
{
	Gz__Msgs__Time *time = arena_new(arena, Gz__Msgs__Time);
	gz__msgs__time__init(time);
	time->sec = ns / 1000000000;
	time->nsec = (int32_t)(ns % 1000000000);
	return time;
}

Gz__Msgs__Header *encode_header(struct arena *arena, int64_t stamp_ns)
{
	Gz__Msgs__Header *header = arena_new(arena, Gz__Msgs__Header);
	gz__msgs__header__init(header);
	header->stamp = encode_time(arena, stamp_ns);
	return header;
}

void encode_header_add(struct arena *arena, Gz__Msgs__Header *header, const char *key, const char *value)
{
	Gz__Msgs__Header__Map *map = arena_new(arena, Gz__Msgs__Header__Map);
	gz__msgs__header__map__init(map);
	map->key = encode_text(key);
	map->value = arena_array(arena, char *, 1);
	map->value[0] = encode_text(value);
	map->n_value = 1;
	if (!header->data)
		header->data = arena_array(arena, Gz__Msgs__Header__Map *, 4);
	header->data[header->n_data++] = map;
}

Gz__Msgs__Vector3d *encode_vec3(struct arena *arena, struct troupe_vec3 v)
{
	Gz__Msgs__Vector3d *out = arena_new(arena, Gz__Msgs__Vector3d);
	gz__msgs__vector3d__init(out);
	out->x = v.x;
	out->y = v.y;
	out->z = v.z;
	return out;
}

Gz__Msgs__Pose *encode_pose(struct arena *arena, const struct troupe_pose *pose, const char *name, uint32_t id)
{
	struct { /* one allocation: there are many poses in a message */
		Gz__Msgs__Pose pose;
		Gz__Msgs__Vector3d position;
		Gz__Msgs__Quaternion orientation;
	} *out = arena_alloc(arena, sizeof *out);
	gz__msgs__pose__init(&out->pose);
	gz__msgs__vector3d__init(&out->position);
	gz__msgs__quaternion__init(&out->orientation);
	out->position.x = pose->x;
	out->position.y = pose->y;
	out->position.z = pose->z;
	out->orientation.x = pose->qx;
	out->orientation.y = pose->qy;
	out->orientation.z = pose->qz;
	out->orientation.w = pose->qw;
	out->pose.position = &out->position;
	out->pose.orientation = &out->orientation;
	out->pose.id = id;
	if (name)
		out->pose.name = encode_text(name);
	return &out->pose;
}

const struct troupe_pose *encode_model_pose(const struct troupe_snapshot *snapshot, uint32_t model)
{
	return model < snapshot->model_count ? &snapshot->models[model].pose : &snapshot->scene->models[model].pose;
}

struct troupe_pose encode_link_pose(const struct troupe_snapshot *snapshot, uint32_t link)
{
	const struct troupe_scene_link *of = &snapshot->scene->links[link];
	if (link >= snapshot->link_count)
		return of->in_model;
	struct pose model = pose_of_flat(*encode_model_pose(snapshot, of->model));
	return pose_flat(pose_mul(pose_inverse(model), pose_of_flat(snapshot->links[link].pose)));
}

uint32_t encode_first_sensor(const struct troupe_scene *scene, uint32_t model)
{
	uint32_t low = 0, high = scene->sensor_count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (scene->sensors[middle].model < model)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
