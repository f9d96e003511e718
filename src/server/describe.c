/* The SDF of a world is made of the elements of its file, which stay in memory and never change, and of the poses of a
 * capture. So it is printed on the client's thread, however large it is. Only what the file does not have, models that
 * were created and lights, is printed on the thread that takes a step, because it may be gone when the client comes to
 * it. */
#include "server/describe.h"

#include "server/encode.h"
#include "server/scene_info.h"
#include "topic/message.h"
#include "topic/scene.pb-c.h"
#include "topic/world.pb-c.h"

#include <stdlib.h>
#include <string.h>

/* --- SDF ---------------------------------------------------------------------------------------------------------- */

static const struct sdf_world *describe_world_of(const struct capture *capture, const struct topic_row *row)
{
	return capture->server->worlds[row->world].scene->sdf;
}

static void describe_find_actor(const struct sdf_world *world, const char *name, bool *gone_actors)
{
	for (uint32_t a = 0; a < world->actors.count; a++)
		if (!strcmp(world->actors.at[a].name, name))
			gone_actors[a] = false;
}

static void describe_fill_now(
	const struct capture *capture, const struct sdf_world *world, struct pose *poses, bool *gone, bool *gone_actors)
{
	const struct troupe_scene *scene = capture->snapshot.scene;
	memset(gone, true, world->models.count * sizeof *gone);
	memset(gone_actors, true, world->actors.count * sizeof *gone_actors);
	for (uint32_t i = 0; i < scene->model_count; i++) {
		uint32_t model = scene_info_sdf_model(scene, i);
		if (model != SDF_NONE) {
			poses[model] = pose_of_flat(*encode_model_pose(&capture->snapshot, i));
			gone[model] = false;
		} else if (scene->models[i].actor && !scene_info_is_created(scene, i)) {
			describe_find_actor(world, scene->models[i].name, gone_actors);
		}
	}
}

static troupe_status describe_check_config(const void *request, size_t count, struct troupe_error *error)
{
	ProtobufCMessage *message;
	troupe_status status = message_of_bytes(
		&gz__msgs__sdf_generator_config__descriptor, request, count, &message_limits_usual, &message, error);
	if (status)
		return status;
	const Gz__Msgs__SdfGeneratorConfig__EntityGeneratorConfig *config =
		((const Gz__Msgs__SdfGeneratorConfig *)(const void *)message)->global_entity_gen_config;
	if (config && config->copy_model_resources && config->copy_model_resources->data)
		status = fail(error, TROUPE_ECOMMAND,
			"copy_model_resources is not supported: expected false: names of files are absolute paths");
	message_free(message);
	return status;
}

static troupe_status describe_answer_sdf(const struct capture *capture, const struct topic_row *row,
	const void *request, size_t count, struct text *out, struct troupe_error *error)
{
	const struct sdf_world *world = describe_world_of(capture, row);
	struct arena arena = {0};
	Gz__Msgs__StringMsg message = GZ__MSGS__STRING_MSG__INIT;
	struct text sdf = {0};
	troupe_status status = describe_check_config(request, count, error);
	if (status)
		return status;
	struct pose *poses = arena_array(&arena, struct pose, world->models.count);
	bool *gone = arena_array(&arena, bool, world->models.count);
	bool *gone_actors = arena_array(&arena, bool, world->actors.count);
	describe_fill_now(capture, world, poses, gone, gone_actors);
	struct sdf_now now = {.gravity = capture->gravity,
		.step_s = capture->step_s,
		.poses = poses,
		.gone = gone,
		.gone_actors = gone_actors,
		.link_lights = &capture->link_lights,
		.lights = capture->added.at ? capture->added.at : ""};
	sdf_print_now(capture->server->sdf, world, &now, &sdf);
	message.data = encode_text(sdf.at);
	encode_end(&message.base, &arena, out);
	text_fini(&sdf);
	return TROUPE_OK;
}

const struct query_ops ask_sdf = {.parts = CAPTURE_SCENE | CAPTURE_MODELS | CAPTURE_SDF, .answer = describe_answer_sdf};

/* --- the user interface ------------------------------------------------------------------------------------------- */

static char *describe_said(const struct sdf_element *element, const char *child)
{
	const char *text = sdf_child_text(element, child);
	return encode_text(text ? text : "");
}

static Gz__Msgs__TrackVisual *describe_encode_track(struct arena *arena, const struct sdf_element *from)
{
	Gz__Msgs__TrackVisual *out = ENCODE_NEW(arena, Gz__Msgs__TrackVisual, gz__msgs__track_visual__init);
	struct vec3 xyz = {0, 0, 0};
	bool still = false, in_model = false, yaw = false;
	out->name = describe_said(from, "name");
	(void)sdf_child_double(from, "min_dist", 0, HUGE_VAL, &out->min_dist, NULL);
	(void)sdf_child_double(from, "max_dist", 0, HUGE_VAL, &out->max_dist, NULL);
	(void)sdf_child_bool(from, "static", &still, NULL);
	(void)sdf_child_bool(from, "use_model_frame", &in_model, NULL);
	(void)sdf_child_bool(from, "inherit_yaw", &yaw, NULL);
	(void)sdf_child_vec3(from, "xyz", -SDF_LENGTH_MAX, SDF_LENGTH_MAX, &xyz, NULL);
	out->static_ = still;
	out->use_model_frame = in_model;
	out->inherit_yaw = yaw;
	out->xyz = encode_vec3(arena, xyz);
	return out;
}

static Gz__Msgs__GUICamera *describe_encode_camera(struct arena *arena, const struct sdf_element *from)
{
	Gz__Msgs__GUICamera *out = ENCODE_NEW(arena, Gz__Msgs__GUICamera, gz__msgs__guicamera__init);
	const struct sdf_element *track = sdf_child(from, "track_visual", NULL);
	const char *name = sdf_attribute(from, "name");
	struct pose pose = POSE_IDENTITY;
	(void)sdf_child_pose(from, &pose, NULL);
	struct troupe_pose shown = pose_flat(pose);
	out->name = encode_text(name ? name : "");
	out->view_controller = describe_said(from, "view_controller");
	out->projection_type = describe_said(from, "projection_type");
	out->pose = encode_pose(arena, &shown, NULL, 0);
	if (track)
		out->track = describe_encode_track(arena, track);
	return out;
}

static Gz__Msgs__Plugin *describe_encode_plugin(struct arena *arena, const struct sdf_element *from)
{
	Gz__Msgs__Plugin *out = ENCODE_NEW(arena, Gz__Msgs__Plugin, gz__msgs__plugin__init);
	const char *name = sdf_attribute(from, "name"), *file = sdf_attribute(from, "filename");
	struct text inside = {0};
	sdf_print_inside(from, &inside);
	out->name = encode_text(name ? name : "");
	out->filename = encode_text(file ? file : "");
	out->innerxml = encode_text(arena_strdup(arena, inside.at ? inside.at : ""));
	text_fini(&inside);
	return out;
}

static troupe_status describe_answer_gui(const struct capture *capture, const struct topic_row *row,
	const void *request, size_t count, struct text *out, struct troupe_error *error)
{
	const struct sdf_element *world = describe_world_of(capture, row)->element, *plugin = NULL;
	const struct sdf_element *gui = world ? sdf_child(world, "gui", NULL) : NULL;
	const struct sdf_element *camera = gui ? sdf_child(gui, "camera", NULL) : NULL;
	const char *whole = gui ? sdf_attribute(gui, "fullscreen") : NULL;
	struct arena arena = {0};
	Gz__Msgs__GUI message = GZ__MSGS__GUI__INIT;
	uint32_t plugins = 0;
	(void)request, (void)count, (void)error;
	message.header = encode_header(&arena, capture->time_ns);
	message.fullscreen = whole && (!strcmp(whole, "1") || !strcmp(whole, "true"));
	if (camera)
		message.camera = describe_encode_camera(&arena, camera);
	while (gui && (plugin = sdf_child(gui, "plugin", plugin)))
		plugins++;
	message.plugin = arena_array(&arena, Gz__Msgs__Plugin *, plugins);
	while (message.n_plugin < plugins) {
		plugin = sdf_child(gui, "plugin", plugin);
		message.plugin[message.n_plugin++] = describe_encode_plugin(&arena, plugin);
	}
	encode_end(&message.base, &arena, out);
	return TROUPE_OK;
}

const struct query_ops ask_gui = {.answer = describe_answer_gui};
