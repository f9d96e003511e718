/* Shared by scene.c and levels.c while a scene is being made. */
#ifndef SCENE_COMPILE_H
#define SCENE_COMPILE_H

#include "scene/scene.h"

struct compile {
	struct scene *scene;
	const struct sdf_world *sdf;
	struct map warned; /* kinds of warning already given */
	struct arena scratch;
	uint32_t *top;          /* [sdf models] their top-level model */
	uint32_t *weld;         /* [sdf links] union-find; the root is the lowest */
	uint32_t *body_of_root; /* [sdf links] valid at roots */
	uint32_t *link_index;   /* [sdf links] index in scene links */
	bool *link_static;      /* [sdf links] in a static top-level model */
	bool *link_held;        /* [sdf links] at roots: body is kinematic */
	VEC(struct scene_model) models;
	VEC(struct scene_body) bodies;
	VEC(struct scene_geom) geoms;
	VEC(struct scene_joint) joints;
	VEC(struct scene_link) links;
	VEC(struct scene_level) levels;
};

/* Keeps a warning; with kind (a string that lives as long as the scene), only the first of its kind. */
void scene_warn(struct compile *c, const char *kind, const char *format, ...) TROUPE_PRINTF(3, 4);

/* Whether a link stands still with the world: SDF_NONE, or a link of a static model. */
bool scene_in_world(const struct compile *c, uint32_t link);

/* The body of a link, which must have been compiled; SCENE_NONE: the world (joint.c). */
uint32_t scene_joint_body(const struct compile *c, uint32_t link);
/* Compiles a joint of the file into the state of `model`; what no body is left to move by is passed over (joint.c). */
void scene_add_joint(struct compile *c, uint32_t index, const char *file, uint32_t model);

/* Connects axes that mimic others, once all joints are there (joint.c). */
troupe_status scene_add_mimics(struct compile *c, struct troupe_error *error);
/* Compiles the world's actors, after its models (actor.c). */
troupe_status scene_add_actors(struct compile *c, struct troupe_error *error);

/* Reads performers and levels from the world's plugins (levels.c). */
troupe_status scene_add_levels(struct compile *c, const struct scene_options *options, struct troupe_error *error);

#endif
