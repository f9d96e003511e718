/* The system has no words and does nothing in a step: the primary, which gets all commands first, has the camera
 * measure (run/primary_commands.c). So a camera on a static model, which no secondary simulates, can be triggered, too;
 * a triggered model that sleeps need not be woken; and a camera takes its picture in the step to which the message is
 * bound. */
#include "system/camera_trigger.h"

#include "scene/sensor_name.h"
#include "topic/plain.pb-c.h"

static bool camera_trigger_belongs(const struct sdf_model *model, const struct sdf_sensor *sensor)
{
	return sensor->link != SDF_NONE && sensor->link - model->link_first < model->link_count;
}

void camera_trigger_configure(struct system *system, struct arena *arena)
{
	const struct scene_model *m = &system->scene->models[system->self.model];
	const struct sdf_world *world = m->from;
	for (uint32_t i = 0; i < world->sensors.count; i++) {
		const struct sdf_sensor *sensor = &world->sensors.at[i];
		if (!camera_trigger_belongs(&world->models.at[m->sdf], sensor))
			continue;
		const char *name = sensor_name_trigger(arena, system->scene, world, sensor);
		if (name)
			vec_push(&system->topics, (struct system_topic){name, &gz__msgs__boolean__descriptor, i,
							  SCENE_NONE, NULL, false});
	}
}

const struct sdf_sensor *camera_trigger_of(const struct systems *systems, const struct system_listener *listener)
{
	if (listener->model == SCENE_NONE)
		return NULL;
	const struct system *system = &systems->sets[listener->model].at[listener->system];
	const struct sdf_world *world = systems->scene->models[listener->model].from;
	return system->self.kind == &camera_trigger_kind ? &world->sensors.at[system->topics.at[listener->topic].tag]
							 : NULL;
}

const struct troupe_kind camera_trigger_kind = {
	.size = sizeof(struct troupe_kind),
	.names = (const char *const[]){"the camera trigger", NULL},
};
