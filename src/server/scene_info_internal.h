/* A scene info while it is made, as its files share it: scene_info.c makes it and answers questions,
 * scene_info_shapes.c adds shapes and lights. Thread: the primary's, between steps. */
#ifndef SERVER_SCENE_INFO_INTERNAL_H
#define SERVER_SCENE_INFO_INTERNAL_H

#include "base/share.h"
#include "server/scene_info.h"

#include <stdatomic.h>

struct scene_info {
	struct troupe_scene shown; /* first: a troupe_scene is its scene info */
	_Atomic uint32_t holders;
	struct arena arena;
	uint32_t *models, *links, *joints; /* [counts of shown] indices in the scene */
	uint32_t *sensor_first;            /* [model_places] of the model's sensors in shown, by the scene's model */
	uint32_t *sdf_models;              /* [models of shown] see scene_info_sdf_model() */
	bool *created;                     /* likewise */
	uint32_t *canonical;               /* likewise; see scene_info_canonical_link() */
	uint32_t *model_of, *link_of, *joint_of; /* [counts of the scene] indices in shown, or TROUPE_NONE */
	uint32_t *shape_of;                      /* [count of the scene's geoms] likewise */
	uint32_t model_places, link_places, joint_places, geom_places;
	struct scene_info_sensor_frames *frames; /* [sensors of shown] see scene_info_untold_frames() */
	struct link_frames *link_frames;         /* [links of shown] see scene_info_link_frames() */
};

/* A form and what the library alone wants of it. */
struct scene_info_form {
	struct troupe_form shown; /* first: a troupe_form is its scene_info_form */
	struct scene_info_polyline polyline;
};

struct copied_mesh { /* the copied points of one mesh */
	const struct mesh *of;
	const double *points;
	const uint32_t *triangles;
};

struct scene_info_making {
	struct scene_info *info;
	const struct scene *scene;
	uint32_t world;
	struct troupe_scene_model *models;
	struct troupe_scene_link *links;
	struct troupe_scene_joint *joints;
	struct troupe_scene_shape *shapes;
	struct share share; /* of what is copied into the arena of info */
	struct troupe_scene_light *lights;
	const struct sensors *from_sensors;
	const struct systems *systems;
	struct troupe_scene_sensor *sensors;
	VEC(struct copied_mesh) meshes;
	struct link_frames_index frames;
};

/* A copy in the arena of the scene info; equal texts have one. */
const char *scene_info_text(struct scene_info_making *m, const char *text);

/* --- scene_info_shapes.c ------------------------------------------------------------------------------------------ */

/* The shapes of a link of the file, as those of link `link` of the scene info. */
void scene_info_shapes_add(
	struct scene_info_making *m, const struct sdf_world *from, const struct sdf_link *sdf, uint32_t link);
/* The same of an actor, whose link has this place in the scene. */
void scene_info_shapes_add_actor(
	struct scene_info_making *m, const struct scene_model *actor, uint32_t place, uint32_t link);
/* The lights in a link of the file, as those of link `link` of the scene info; and those in no model. */
void scene_info_shapes_add_lights_of_link(
	struct scene_info_making *m, uint32_t model, const struct sdf_link *sdf, uint32_t link);
void scene_info_shapes_add_lights_of_world(struct scene_info_making *m);
/* Which shape each geom of the model is: a collision is one shape, but may be several geoms. */
void scene_info_shapes_find_geoms(struct scene_info_making *m, uint32_t model);

#endif
