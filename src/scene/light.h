/* Lights of the scene: those of the world's file keep their places; those that commands add, and lights of links that
 * commands change, come behind them. Only the primary changes them, between steps. */
#ifndef SCENE_LIGHT_H
#define SCENE_LIGHT_H

#include "scene/scene.h"

/* Puts the lights of the world's file into a new scene. */
void scene_add_lights(struct scene *scene, const struct sdf_world *world);
/* Adds a light, in the lowest place of one that was added and is absent, or behind all others. The caller sets its pose
 * and shine. SCENE_NONE: too many were added. */
uint32_t scene_add_light(struct scene *scene, const char *name);
/* The same at a place: of a light that was added, which it replaces, or behind all others. False: another place. */
bool scene_add_light_at(struct scene *scene, uint32_t place, const char *name);
/* Adds a light of a link, as its file has it: `light` of the model's from->lights. SCENE_NONE: too many were added. */
uint32_t scene_add_link_light(struct scene *scene, uint32_t model, uint32_t light);
/* The same at a place, as scene_add_light_at(). False also when the model has no such light. */
bool scene_add_link_light_at(struct scene *scene, uint32_t place, uint32_t model, uint32_t light);
/* Removes the places of all lights that were added. */
void scene_drop_added_lights(struct scene *scene);
/* A light that was added becomes absent; a light of a link is then as its file has it. */
void scene_drop_light(struct scene *scene, uint32_t place);
/* The place of a light of a link. SCENE_NONE: no command has changed it. */
uint32_t scene_link_light(const struct scene *scene, uint32_t model, uint32_t light);
/* The link that carries `light` of the model's from->lights. SCENE_NONE: none of the model. */
uint32_t scene_link_with_light(const struct scene *scene, uint32_t model, uint32_t light);
/* The pose in its link, as the file has it, of a light of a link. */
struct pose scene_light_in_link(const struct sdf_world *from, uint32_t light);
/* The light of the world of that name, if it is not absent; SCENE_NONE if none. */
uint32_t scene_find_light(const struct scene *scene, const char *name);

#endif
