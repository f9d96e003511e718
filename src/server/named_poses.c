/* A <frame> of the world is not simulated: it stands where the file has it, or moves with the link that it is attached
 * to. A level is named by its plug-in, so it may have the name of a frame; then LEVEL/level is its name here. */
#include "server/named_poses.h"

#include "base/map.h"
#include "server/encode.h"
#include "server/scene_info.h"
#include "topic/message.h"
#include "topic/troupe.pb-c.h"

typedef Troupe__Msgs__NamedPoses__NamedPose named_poses_t;

static named_poses_t *named_poses_add(
	Troupe__Msgs__NamedPoses *message, const char *name, struct pose pose, struct arena *arena)
{
	const struct troupe_pose at = pose_flat(pose);
	named_poses_t *out = ENCODE_NEW(arena, named_poses_t, troupe__msgs__named_poses__named_pose__init);
	out->name = encode_text(name);
	out->pose = encode_pose(arena, &at, NULL, 0);
	message->pose[message->n_pose++] = out;
	return out;
}

/* False: the link is gone. */
static bool named_poses_link_now(
	const struct capture *capture, const struct sdf_world *world, uint32_t link, struct pose *ret_in_world)
{
	const struct troupe_scene *scene = capture->snapshot.scene;
	for (uint32_t i = 0; i < scene->model_count; i++) {
		uint32_t at = scene_info_sdf_model(scene, i);
		const struct sdf_model *model = at == SDF_NONE ? NULL : &world->models.at[at];
		if (!model || link < model->link_first || link - model->link_first >= model->link_count)
			continue;
		const struct troupe_pose in_model =
			encode_link_pose(&capture->snapshot, scene->models[i].link_first + link - model->link_first);
		*ret_in_world =
			pose_mul(pose_of_flat(*encode_model_pose(&capture->snapshot, i)), pose_of_flat(in_model));
		return true;
	}
	return false;
}

static void named_poses_add_frame(const struct capture *capture, const struct sdf_world *world,
	const struct sdf_frame *from, Troupe__Msgs__NamedPoses *message, struct arena *arena)
{
	struct pose link, pose = from->in_world;
	if (from->link != SDF_NONE) {
		if (!named_poses_link_now(capture, world, from->link, &link))
			return;
		pose = pose_mul(link, pose_mul(pose_inverse(sdf_link_in_world(world, from->link)), pose));
	}
	named_poses_add(message, from->name, pose, arena);
}

static void named_poses_add_level(const struct scene_level *level, const struct map *taken,
	Troupe__Msgs__NamedPoses *message, struct arena *arena)
{
	const struct vec3 centre = vec3_scale(vec3_add(level->box.lo, level->box.hi), 0.5);
	const char *name = level->name;
	if (map_find(taken, name, &(uint32_t){0}))
		name = arena_printf(arena, "%s/level", name);
	named_poses_t *out = named_poses_add(message, name, (struct pose){centre, QUAT_IDENTITY}, arena);
	out->level = true;
	out->lower = encode_vec3(arena, vec3_sub(level->box.lo, centre));
	out->upper = encode_vec3(arena, vec3_sub(level->box.hi, centre));
}

static troupe_status named_poses_answer(const struct capture *capture, const struct topic_row *row, const void *request,
	size_t count, struct text *out, struct troupe_error *error)
{
	const struct scene *scene = capture->server->worlds[row->world].scene;
	const struct sdf_world *world = scene->sdf;
	struct arena arena = {0};
	struct map taken = {0};
	Troupe__Msgs__NamedPoses message = TROUPE__MSGS__NAMED_POSES__INIT;
	(void)request, (void)count, (void)error;
	message.header = encode_header(&arena, capture->time_ns);
	message.pose = arena_array(&arena, named_poses_t *, world->frames.count + scene->level_count);
	for (uint32_t i = 0; i < world->frames.count; i++) {
		if (world->frames.at[i].model != SDF_NONE)
			continue;
		named_poses_add_frame(capture, world, &world->frames.at[i], &message, &arena);
		(void)map_add(&taken, world->frames.at[i].name, i);
	}
	for (uint32_t i = 0; i < scene->level_count; i++)
		named_poses_add_level(&scene->levels[i], &taken, &message, &arena);
	map_fini(&taken);
	(void)encode_end(&message.base, &arena, out);
	return TROUPE_OK;
}

const struct query_ops ask_named_poses = {.parts = CAPTURE_MODELS | CAPTURE_LINKS, .answer = named_poses_answer};
