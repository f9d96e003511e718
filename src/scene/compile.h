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
	struct scene_owned *own;
	struct arena *arena; /* own->arena */
	VEC(const char *) warnings;
	struct map warned;         /* kinds of warning already given */
	struct map names;          /* of models; value: index in models */
	struct troupe_error first; /* the first of several errors; its status is TROUPE_OK: none */
	struct arena scratch;
	uint32_t *top;          /* [sdf models] their top-level model */
	uint32_t *weld;         /* [sdf links] union-find; the root is the lowest */
	uint32_t *body_of_root; /* [sdf links] valid at roots */
	uint32_t *link_index;   /* [sdf links] index in scene links */
	bool *link_static;      /* [sdf links] in a static top-level model */
	bool *link_held;        /* [sdf links] at roots: body is kinematic */
	const char **link_tie;  /* [sdf links] at roots: the fixed joint that holds the body to the world */
	/* Until scene_install() all indices count from the first thing compiled here; it gives them their places. */
	VEC(struct scene_model) models;
	VEC(struct scene_body) bodies;
	scene_geoms geoms, of_collision; /* the latter: scratch */
	VEC(struct solid) solids;        /* by mesh.id */
	VEC(struct scene_joint) joints;
	VEC(struct scene_link) links;
	uint32_t world_joint_first; /* joints from here on are the world's own */
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
/* Appends what a collision is made of: copies of `geom` with their shapes filled in, none when it is left out (with a
 * warning). is_static: it belongs to no body (solid.c). */
void scene_add_shape(
	struct compile *c, const struct sdf_collision *from, bool is_static, struct scene_geom geom, scene_geoms *out);

/* Moves all that was compiled into the scene (install.c). Returns the place of the first model. at (NULL: wherever
 * there is room): of the only model; SCENE_NONE when somebody is there. */
uint32_t scene_install(struct compile *c, const struct scene_places *at);

/* What a created model, or the whole of the file, brought along and its parts point to. */
struct scene_owned {
	struct sdf *sdf; /* NULL: somebody else's */
	struct arena arena;
	VEC(struct hull *) hulls;
	VEC(struct skin *) skins;
};
void scene_free_owned(struct scene_owned *owned); /* NULL is fine */

/* Reads performers and levels from the world's plugins (levels.c). */
troupe_status scene_add_levels(struct compile *c, const struct scene_options *options, struct troupe_error *error);

#endif
