/* Shared by scene.c and levels.c while a scene is being made. */
#ifndef SCENE_COMPILE_H
#define SCENE_COMPILE_H

#include "scene/scene.h"

struct compile {
	struct scene *scene;
	const struct sdf_world *sdf;
	struct map warned;         /* kinds of warning already given */
	struct troupe_error first; /* the first of several errors; its status is TROUPE_OK: none */
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

/* Reads performers and levels from the world's plugins (levels.c). */
troupe_status scene_add_levels(struct compile *c, const struct scene_options *options, struct troupe_error *error);

#endif
