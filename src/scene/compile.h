/* Data and functions that the files of src/scene share while a scene is compiled. */
#ifndef SCENE_COMPILE_H
#define SCENE_COMPILE_H

#include "scene/scene.h"

typedef VEC(struct scene_geom) scene_geoms;

enum compile_solid { SOLID_PARTS, SOLID_WHOLE, SOLID_TRIMESH, SOLID_KINDS };

struct solid { /* the hulls or trimeshes that were made from one mesh */
	bool tried[SOLID_KINDS];
	uint32_t first[SOLID_KINDS], count[SOLID_KINDS]; /* in the scene's hulls, or trimeshes */
};

struct compile {
	struct scene *scene;
	const struct sdf_world *sdf;
	struct scene_owned *own;
	struct arena *arena; /* own->arena */
	VEC(const char *) warnings;
	struct map warned;         /* kinds of warnings that were given already */
	struct map names;          /* of models; value: index in models */
	struct troupe_error first; /* the first error; status TROUPE_OK: none */
	struct arena scratch;
	uint32_t *top;              /* [sdf models] their top-level model */
	bool *fixed;                /* [sdf models] of a top-level model: no part of it can move */
	uint32_t *weld;             /* [sdf links] union-find; the root is the lowest */
	uint32_t *body_of_root;     /* [sdf links] valid at roots */
	uint32_t *link_index;       /* [sdf links] index in scene links */
	bool *link_static;          /* [sdf links] in a top-level model of which no part can move */
	bool *link_held;            /* [sdf links] at roots: the body is kinematic */
	bool *joint_measured;       /* [sdf joints] a force-torque sensor reads it */
	const char **link_fixed_by; /* [sdf links] at roots: the fixed joint that holds the body to the world */
	/* Until scene_install() all indices count from the first part that is compiled here; scene_install() gives
	 * them their places in the scene. */
	VEC(struct scene_model) models;
	VEC(struct scene_body) bodies;
	scene_geoms geoms, of_collision; /* of_collision is scratch memory */
	VEC(struct solid) solids;        /* by mesh.id */
	VEC(struct scene_joint) joints;
	VEC(struct scene_link) links;
	uint32_t world_joint_first; /* joints from this index on are the world's own */
	VEC(struct scene_level) levels;
};

/* Keeps a warning. If kind is not NULL (a string that lives as long as the scene), only the first warning of that
 * kind is kept. */
void scene_warn(struct compile *c, const char *kind, const char *format, ...) TROUPE_PRINTF(3, 4);

/* Whether a link is fixed to the world: SDF_NONE, or a link of a model of which no part can move. */
bool scene_in_world(const struct compile *c, uint32_t link);
/* Finds which links are one body (weld.c). */
void scene_weld_links(struct compile *c);
/* Appends the bodies of a model, whose links are `count` of the file from `first` on; then its links (weld.c). */
void scene_add_bodies(struct compile *c, uint32_t model, uint32_t first, uint32_t count);
void scene_add_links(struct compile *c, uint32_t model, bool is_static, uint32_t first, uint32_t count);

/* Compiles a joint of the file into the state of `model`. A joint that can move no body is left out (joint.c). */
void scene_add_joint(struct compile *c, uint32_t index, const char *file, uint32_t model);

/* Sets body->added from the parts that its links have; the body must not be kinematic. False: contacts and joints do
 * not feel all of it (added.c). */
bool scene_add_added(
	struct arena *arena, struct scene_body *body, const struct scene_added_part *parts, uint32_t count);

/* Connects axes that mimic other axes, after all joints were compiled (joint.c). */
troupe_status scene_add_mimics(struct compile *c, struct troupe_error *error);
/* Compiles the world's actors, after its models (actor.c). */
troupe_status scene_add_actors(struct compile *c, struct troupe_error *error);
/* Appends the geoms of a collision: copies of `geom` with their shapes filled in. A collision that is left out
 * appends none and gives a warning. stands: the collision belongs to no body, or to one that never moves by itself
 * (solid.c). */
void scene_add_shape(
	struct compile *c, const struct sdf_collision *from, bool stands, struct scene_geom geom, scene_geoms *out);

/* Moves all compiled parts into the scene (install.c). Returns the place of the first model. at: the place for the
 * only model; NULL: the lowest free places. SCENE_NONE: another model has the place `at`. */
uint32_t scene_install(struct compile *c, const struct scene_places *at);

/* The data that the parts of a created model, or of the whole file, point to. */
struct scene_owned {
	struct sdf *sdf; /* NULL: another owner has it */
	struct arena arena;
	VEC(struct hull *) hulls;
	VEC(struct trimesh *) trimeshes;
};
void scene_free_owned(struct scene_owned *owned); /* NULL is fine */

/* Reads performers and levels from the world's plugins (levels.c). */
troupe_status scene_add_levels(struct compile *c, const struct scene_options *options, struct troupe_error *error);

#endif
