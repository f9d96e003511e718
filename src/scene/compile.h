/* Shared by scene.c and levels.c while a scene is being made. */
#ifndef SCENE_COMPILE_H
#define SCENE_COMPILE_H

#include "scene/scene.h"

typedef VEC(struct scene_geom) scene_geoms;

enum compile_solid { SOLID_PARTS, SOLID_WHOLE, SOLID_SKIN, SOLID_KINDS };

struct solid { /* what has been made of one mesh */
	bool tried[SOLID_KINDS];
	uint32_t first[SOLID_KINDS], count[SOLID_KINDS]; /* in the scene's hulls, or skins */
};

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
	scene_geoms geoms, of_collision; /* the latter: scratch */
	VEC(struct solid) solids;        /* by mesh.id */
	VEC(struct scene_joint) joints;
	VEC(struct scene_link) links;
	VEC(struct scene_level) levels;
};

/* Keeps a warning; with kind (a string that lives as long as the scene), only the first of its kind. */
void scene_warn(struct compile *c, const char *kind, const char *format, ...) TROUPE_PRINTF(3, 4);

/* Appends what a collision is made of: copies of `geom` with their shapes filled in, none when it is left out (with a
 * warning). is_static: it belongs to no body (solid.c). */
void scene_add_shape(
	struct compile *c, const struct sdf_collision *from, bool is_static, struct scene_geom geom, scene_geoms *out);
void scene_free_solids(struct scene *scene);

/* Reads performers and levels from the world's plugins (levels.c). */
troupe_status scene_add_levels(struct compile *c, const struct scene_options *options, struct troupe_error *error);

#endif
