/* Parts of messages that several topics share. Everything that is made lives in the arena of the message.
 *
 * Ids: a model has its id (troupe_scene_model.id). Links, joints and shapes have none of their own in troupe: here
 * they get numbers that no model has, and that stay the same while the model exists. */
#ifndef SERVER_ENCODE_H
#define SERVER_ENCODE_H

#include "base/arena.h"
#include "base/text.h"
#include "scene/scene.h"
#include "topic/plain.pb-c.h"

#include <troupe/world.h>

struct Gz__Msgs__HeightmapGeom;
struct Gz__Msgs__Scene;

#define ENCODE_LIGHT_ID SCENE_LIGHT_ID
#define ENCODE_LINK_ID SCENE_LINK_ID
#define ENCODE_JOINT_ID (UINT32_C(1) << 30)
#define ENCODE_SHAPE_ID (UINT32_C(1) << 31)

#define ENCODE_NEW(arena, Type, init)                                                                                  \
	({                                                                                                             \
		Type *new_ = arena_new(arena, Type);                                                                   \
		init(new_);                                                                                            \
		new_;                                                                                                  \
	})

/* Appends the message's bytes to the text, and frees the arena. Returns true. */
bool encode_end(const ProtobufCMessage *message, struct arena *arena, struct text *out);

Gz__Msgs__Time *encode_time(struct arena *arena, int64_t ns);
/* With the stamp, and with no data. */
Gz__Msgs__Header *encode_header(struct arena *arena, int64_t stamp_ns);
/* Adds "KEY": ["VALUE"]. At most 4 per header. The texts live as long as the message. */
void encode_header_add(struct arena *arena, Gz__Msgs__Header *header, const char *key, const char *value);
Gz__Msgs__Vector3d *encode_vec3(struct arena *arena, struct troupe_vec3 v);
/* name: NULL for none. */
Gz__Msgs__Pose *encode_pose(struct arena *arena, const struct troupe_pose *pose, const char *name, uint32_t id);

/* Present poses of a snapshot that has models and links: of a model in the world, of a link in its model. A static
 * model and its links have no state, and are where the scene has them. */
const struct troupe_pose *encode_model_pose(const struct troupe_snapshot *snapshot, uint32_t model);
struct troupe_pose encode_link_pose(const struct troupe_snapshot *snapshot, uint32_t link);

/* The index of the first sensor of this model or a later one: sensors stand in the order of their models. */
uint32_t encode_first_sensor(const struct troupe_scene *scene, uint32_t model);

/* encode_look.c. NULL for NULL. */
struct Gz__Msgs__Material *encode_material(struct arena *arena, const struct troupe_material *from);
struct Gz__Msgs__Light *encode_light(struct arena *arena, const struct troupe_scene *scene, uint32_t light);
void encode_ground(struct arena *arena, const struct troupe_form *from, struct Gz__Msgs__HeightmapGeom *out);
void encode_surroundings(struct arena *arena, const struct troupe_surroundings *from, struct Gz__Msgs__Scene *out);

struct Gz__Msgs__Joint *encode_joint(struct arena *arena, const struct troupe_scene *scene, uint32_t joint);

/* A char * for a field of a message that is only read. */
static inline char *encode_text(const char *text)
{
	return (char *)(uintptr_t)text;
}

static inline uint32_t encode_link_id(const struct troupe_scene_link *link)
{
	return ENCODE_LINK_ID | link->handle.at;
}
/* Of a light of the world: by its place. */
static inline uint32_t encode_light_id(const struct troupe_scene *scene, uint32_t light)
{
	const struct troupe_scene_light *of = &scene->lights[light];
	return of->link == TROUPE_NONE ? ENCODE_LIGHT_ID | of->at : ENCODE_LIGHT_ID | ENCODE_LINK_ID | light;
}
static inline uint32_t encode_joint_id(const struct troupe_scene_joint *joint)
{
	return ENCODE_JOINT_ID | joint->handle.at;
}

#endif
