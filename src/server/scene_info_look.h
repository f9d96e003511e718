/* The visible parts of a world in public form (troupe/look.h), made from the description of the file. The results and
 * all texts that they name are copied into the arena, equal ones once. Pure. */
#ifndef SERVER_SCENE_INFO_LOOK_H
#define SERVER_SCENE_INFO_LOOK_H

#include "base/share.h"
#include "sdf/sdf.h"

#include <troupe/look.h>

/* NULL for NULL. */
const struct troupe_material *scene_info_material(
	struct share *share, struct arena *arena, const struct sdf_material *material);
struct troupe_light scene_info_light(const struct sdf_shine *shine);
/* The textures of a heightmap: as sdf/finish.c has them for the cameras. */
const struct troupe_ground_layer *scene_info_ground(
	struct share *share, struct arena *arena, const struct sdf_visual *visual, uint32_t *ret_count);
struct troupe_surroundings scene_info_surroundings(
	struct share *share, struct arena *arena, const struct sdf_scene *scene);

#endif
