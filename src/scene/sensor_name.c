/* Topics of sensors are published by the server, and the trigger of a camera is a topic to which a system listens: both
 * names begin in the same way. */
#include "scene/sensor_name.h"

#include "topic/table.h"

#include <string.h>

/* "/world/w/model/a/model/b": the model may be nested in others. */
static const char *sensor_name_path_of_model(
	struct arena *arena, const struct scene *scene, const struct sdf_world *world, uint32_t model)
{
	const struct sdf_model *m = &world->models.at[model];
	if (m->parent == SDF_NONE)
		return arena_printf(arena, "/world/%s/model/%s", scene->name, m->name);
	return arena_printf(arena, "%s/model/%s", sensor_name_path_of_model(arena, scene, world, m->parent), m->name);
}

/* The cameras of a multicamera are a part of the path: "stereo::left" is "stereo/left". */
static const char *sensor_name_in_path(struct arena *arena, const struct sdf_sensor *sensor)
{
	const char *last = strstr(sensor->name, "::");
	return last ? arena_printf(arena, "%.*s/%s", (int)(last - sensor->name), sensor->name, last + 2) : sensor->name;
}

const char *sensor_name_path(
	struct arena *arena, const struct scene *scene, const struct sdf_world *world, const struct sdf_sensor *sensor)
{
	if (sensor->link != SDF_NONE)
		return arena_printf(arena, "%s/link/%s/sensor/%s",
			sensor_name_path_of_model(arena, scene, world, world->links.at[sensor->link].model),
			world->links.at[sensor->link].name, sensor_name_in_path(arena, sensor));
	return arena_printf(arena, "%s/joint/%s/sensor/%s",
		sensor_name_path_of_model(arena, scene, world, world->joints.at[sensor->joint].model),
		world->joints.at[sensor->joint].name, sensor->name);
}

static const char *sensor_name_with_slash(struct arena *arena, const char *topic)
{
	return *topic == '/' ? arena_strdup(arena, topic) : arena_printf(arena, "/%s", topic);
}

const char *sensor_name_given(struct arena *arena, const struct sdf_sensor *sensor)
{
	const char *own = sdf_sensor_topic(sensor);
	return own ? sensor_name_with_slash(arena, own) : NULL;
}

const char *sensor_name_trigger(
	struct arena *arena, const struct scene *scene, const struct sdf_world *world, const struct sdf_sensor *sensor)
{
	const struct sdf_settings *settings = sensor->settings;
	if (settings->camera_count != 1 || !settings->cameras->triggered || sensor->link == SDF_NONE)
		return NULL;
	int bytes;
	const char *stem = sensor_kind_topic_stem(sensor->kind, &bytes);
	const char *own = settings->cameras->trigger_topic, *given = sensor_name_given(arena, sensor);
	char *name = own && *own ? arena_printf(arena, "%s", sensor_name_with_slash(arena, own))
		     : given     ? arena_printf(arena, "%s/trigger", given)
			     : arena_printf(arena, "%s%s%.*s/trigger", sensor_name_path(arena, scene, world, sensor),
				       bytes ? "/" : "", bytes, stem);
	topic_name_clean(name);
	return name;
}
