/* A place of a light that commands added is used again when the light is gone; the ids of lights are their places. */
#include "scene/light.h"

#include <stdlib.h>
#include <string.h>

void scene_add_lights(struct scene *scene, const struct sdf_world *world)
{
	scene->lights = mem_alloc(world->lights.count * sizeof *scene->lights);
	for (uint32_t i = 0; i < world->lights.count; i++) {
		const struct sdf_light *light = &world->lights.at[i];
		if (light->link == SDF_NONE)
			scene->lights[scene->light_count++] = (struct scene_light){.name = mem_strdup(light->name),
				.pose = light->in_world,
				.shine = light->shine,
				.from = light,
				.model = SCENE_NONE};
	}
}

bool scene_add_light_at(struct scene *scene, uint32_t place, const char *name)
{
	uint32_t count = scene->light_count;
	if (place > count || (place < count && scene->lights[place].from))
		return false;
	if (place == count) {
		scene->lights =
			mem_grow(scene->lights, count * sizeof *scene->lights, (count + 1) * sizeof *scene->lights);
		scene->light_count++;
	}
	free(scene->lights[place].name);
	scene->lights[place] =
		(struct scene_light){.name = mem_strdup(name), .pose = POSE_IDENTITY, .model = SCENE_NONE};
	return true;
}

/* The lowest place for a light that is added. SCENE_NONE: too many were added. */
static uint32_t light_vacant_place(const struct scene *scene)
{
	uint32_t place = 0, of_file = 0;
	for (; place < scene->light_count; place++) {
		of_file += scene->lights[place].from != NULL;
		if (!scene->lights[place].from && scene->lights[place].absent)
			break;
	}
	return place - of_file >= SCENE_LIGHTS_ADDED_MAX ? SCENE_NONE : place;
}

uint32_t scene_add_light(struct scene *scene, const char *name)
{
	uint32_t place = light_vacant_place(scene);
	if (place != SCENE_NONE)
		(void)scene_add_light_at(scene, place, name);
	return place;
}

uint32_t scene_link_with_light(const struct scene *scene, uint32_t model, uint32_t light)
{
	const struct scene_model *m = &scene->models[model];
	if (!m->id || m->sdf == SDF_NONE || light >= m->from->lights.count)
		return SCENE_NONE;
	uint32_t link = m->from->lights.at[light].link, first = m->from->models.at[m->sdf].link_first;
	return link != SDF_NONE && link >= first && link - first < m->link_count ? m->link_first + (link - first)
										 : SCENE_NONE;
}

struct pose scene_light_in_link(const struct sdf_world *from, uint32_t light)
{
	const struct sdf_light *l = &from->lights.at[light];
	return pose_mul(pose_inverse(sdf_link_in_world(from, l->link)), l->in_world);
}

bool scene_add_link_light_at(struct scene *scene, uint32_t place, uint32_t model, uint32_t light)
{
	uint32_t link = model < scene->model_count ? scene_link_with_light(scene, model, light) : SCENE_NONE;
	if (link == SCENE_NONE)
		return false;
	const struct sdf_world *from = scene->models[model].from;
	char *name = mem_printf("%s::%s", scene->links[link].scoped, from->lights.at[light].name);
	bool added = scene_add_light_at(scene, place, name);
	free(name);
	if (!added)
		return false;
	struct scene_light *to = &scene->lights[place];
	to->model = model;
	to->light = light;
	to->pose = scene_light_in_link(from, light);
	to->shine = from->lights.at[light].shine;
	return true;
}

uint32_t scene_add_link_light(struct scene *scene, uint32_t model, uint32_t light)
{
	uint32_t place = light_vacant_place(scene);
	return place != SCENE_NONE && scene_add_link_light_at(scene, place, model, light) ? place : SCENE_NONE;
}

void scene_drop_added_lights(struct scene *scene)
{
	while (scene->light_count && !scene->lights[scene->light_count - 1].from)
		free(scene->lights[--scene->light_count].name);
}

void scene_drop_light(struct scene *scene, uint32_t place)
{
	struct scene_light *light = &scene->lights[place];
	if (light->model != SCENE_NONE)
		(void)scene_add_light_at(scene, place, "");
	light->absent = light->changed = true;
}

uint32_t scene_link_light(const struct scene *scene, uint32_t model, uint32_t light)
{
	for (uint32_t i = 0; i < scene->light_count; i++)
		if (scene->lights[i].model == model && scene->lights[i].light == light)
			return i;
	return SCENE_NONE;
}

/* --- a model by itself -------------------------------------------------------------------------------------------- */

uint32_t scene_find_light(const struct scene *scene, const char *name)
{
	for (uint32_t i = 0; i < scene->light_count; i++)
		if (!scene->lights[i].absent && scene->lights[i].model == SCENE_NONE &&
			!strcmp(scene->lights[i].name, name))
			return i;
	return SCENE_NONE;
}
