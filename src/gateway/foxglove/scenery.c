/* The channels stand in the table beside the server's topics, so that clients subscribe to them as to all others. */
#include "gateway/foxglove/scenery.h"

#include <stdlib.h>
#include <string.h>

static const char foxglove_scenery_before[] = "/world/", foxglove_scenery_after[] = "/scene/info";

static void foxglove_scenery_add(struct sceneries *sceneries, const char *scene)
{
	const char *name = strstr(scene, foxglove_scenery_before) + strlen(foxglove_scenery_before);
	int rest = (int)(strlen(name) - strlen(foxglove_scenery_after)),
	    all = (int)(strlen(scene) - strlen(foxglove_scenery_after));
	char *world = mem_printf("%.*s", rest, name), *folder = mem_printf("%.*s", all, scene);
	vec_push(&sceneries->at, scenery_make(folder, world, sceneries->mesh_fn, sceneries->mesh_ctx));
	free(world);
	free(folder);
}

static bool foxglove_scenery_is_scene(const struct troupe_topic *topic)
{
	size_t count = strlen(topic->name), ends = strlen(foxglove_scenery_before) + strlen(foxglove_scenery_after);
	return topic->kind == TROUPE_TOPIC_PUBLISHED && count > ends && strstr(topic->name, foxglove_scenery_before) &&
	       !strcmp(topic->type, "gz.msgs.Scene") &&
	       !strcmp(topic->name + count - strlen(foxglove_scenery_after), foxglove_scenery_after);
}

struct troupe_topics sceneries_extend(struct sceneries *sceneries, const struct troupe_topics *topics)
{
	sceneries->topics.count = 0;
	for (uint32_t i = 0; i < topics->count; i++) {
		vec_push(&sceneries->topics, topics->at[i]);
		if (foxglove_scenery_is_scene(&topics->at[i]) && !sceneries_of_topic(sceneries, topics->at[i].name))
			foxglove_scenery_add(sceneries, topics->at[i].name);
	}
	for (uint32_t i = 0; i < sceneries->at.count; i++) {
		struct troupe_topic channel = {.name = sceneries->at.at[i].shapes,
			.kind = TROUPE_TOPIC_PUBLISHED,
			.type = stage_schema_name,
			.owner = "server"};
		vec_push(&sceneries->topics, channel);
		channel.name = sceneries->at.at[i].frames;
		channel.type = "gz.msgs.Pose_V";
		vec_push(&sceneries->topics, channel);
	}
	return (struct troupe_topics){
		.epoch = topics->epoch, .count = sceneries->topics.count, .at = sceneries->topics.at};
}

void sceneries_fini(struct sceneries *sceneries)
{
	for (uint32_t i = 0; i < sceneries->at.count; i++)
		scenery_fini(&sceneries->at.at[i]);
	vec_free(&sceneries->at);
	vec_free(&sceneries->topics);
}

struct scenery *sceneries_of_channel(const struct sceneries *sceneries, const char *name)
{
	for (uint32_t i = 0; i < sceneries->at.count; i++)
		if (!strcmp(sceneries->at.at[i].shapes, name) || !strcmp(sceneries->at.at[i].frames, name))
			return &sceneries->at.at[i];
	return NULL;
}

struct scenery *sceneries_of_topic(const struct sceneries *sceneries, const char *name)
{
	for (uint32_t i = 0; i < sceneries->at.count; i++)
		if (!strcmp(sceneries->at.at[i].scene, name) || !strcmp(sceneries->at.at[i].poses, name))
			return &sceneries->at.at[i];
	return NULL;
}
