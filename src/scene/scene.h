/* The world compiled for simulation: constant after scene_create(), shared by all runners without locks.
 *
 * Flat arrays; a model's parts are contiguous and in file order, and the index of a thing is its identity: contacts are
 * made in the order of geom indices, bodies and joints in the order of theirs, state is hashed by model index + 1.
 * Nothing here depends on which models are loaded or who simulates them.
 *
 * Models are the world's top-level models; nested ones are part of them. Links that fixed joints hold together are one
 * body (users expect rigid; ODE's fixed joint is soft and slow). A body's frame has its origin at the centre of mass
 * and the axes of its first link.
 *
 * Units: metres, kilograms, seconds, radians; poses in the world frame unless the name says otherwise. */
#ifndef SCENE_SCENE_H
#define SCENE_SCENE_H

#include "base/arena.h"
#include "base/map.h"
#include "geom/bvh.h"
#include "geom/geom.h"
#include "mesh/hull.h"
#include "mesh/skin.h"
#include "sdf/sdf.h"

#define SCENE_NONE UINT32_MAX
#define SCENE_POSITION_MAX 1e7 /* m: nothing that moves begins, or goes, beyond this */

enum { SCENE_SECONDARIES_MAX = 256 }; /* that a world may ask for or name */

enum scene_shape_kind {
	SCENE_BOX,       /* size: half edges */
	SCENE_SPHERE,    /* size.x: radius */
	SCENE_CYLINDER,  /* size.x: radius, size.z: half length */
	SCENE_CAPSULE,   /* the same; half length of the cylindrical part */
	SCENE_PLANE,     /* size: unit normal in the geom's frame; static models only */
	SCENE_CONE,      /* size.x: radius of the base, size.z: half height; apex at +z */
	SCENE_ELLIPSOID, /* size: radii */
	SCENE_CONVEX,    /* hull */
	SCENE_MESH,      /* skin: triangles; static models only, as is the next */
	SCENE_HEIGHTMAP, /* skin: a grid */
};

struct scene_geom {
	const char *name; /* "model::link::collision" */
	uint32_t model, link;
	uint32_t body; /* SCENE_NONE: static */
	enum scene_shape_kind kind;
	struct vec3 size;
	const struct hull *hull; /* the scene's */
	const struct skin *skin;
	struct pose in_body; /* of a static geom: in the world */
	struct aabb box;     /* of a static geom: in the world; a plane's is its half space's, often everything */
	const struct sdf_surface *surface;
	uint32_t max_contacts; /* per pair of geoms: the smaller of the two */
};

struct scene_body {
	const char *name; /* scoped name of its first link */
	uint32_t model;
	uint32_t geom_first, geom_count;
	double mass;
	double ixx, iyy, izz, ixy, ixz, iyz; /* about the centre of mass, in the body's axes */
	struct pose reference;               /* at the pose in the file */
	double linear_damping, angular_damping;
	bool gravity;
	bool kinematic; /* not moved by forces: <kinematic>, or held to the world by a fixed joint */
};

struct scene_link {
	const char *name, *scoped; /* as in sdf_link */
	uint32_t model, body;      /* body is SCENE_NONE in a static model */
	struct pose in_body;       /* in a static model: in the world */
	bool self_collide;
};

struct scene_joint {
	const char *name, *scoped;
	uint32_t model;           /* whose state holds it: the child's model */
	uint32_t parent, child;   /* bodies; SCENE_NONE: the world. Never both, never the same. */
	enum sdf_joint_kind kind; /* revolute (also continuous), prismatic, ball, universal, revolute2 */
	struct vec3 anchor;
	uint32_t axis_count;
	const struct sdf_axis *axis;
	double inertia[2]; /* effective inertia (or mass) that an axis moves at the reference pose; for implicit damping
			    */
};

struct scene_model {
	const char *name;
	uint32_t line;
	bool is_static;
	bool performer; /* declared as one */
	/* A dynamic model that exactly one level names comes and goes with that level; SCENE_NONE otherwise. */
	uint32_t level;
	struct vec3 volume; /* edges of a declared performer's box */
	uint32_t pin;       /* secondary that must simulate it, from 1; 0: any */
	uint32_t body_first, body_count, geom_first, geom_count, joint_first, joint_count, link_first, link_count;
	uint32_t frame_body; /* the body that carries the model's frame, that of its canonical link; from body_first */
	struct pose in_body; /* the model's frame in that body's; of a static model: in the world */
	uint32_t sdf;        /* index in sdf_world.models */
};

struct scene_level {
	const char *name;
	uint32_t line;
	struct aabb box, outer; /* outer: grown by the buffer */
	uint32_t pin;
	const uint32_t *models; /* all that it names, in order */
	uint32_t model_count;
};

struct scene {
	const struct sdf_world *sdf;
	const char *name;
	struct vec3 gravity;
	double step_s;           /* max_step_size */
	double real_time_factor; /* 0: as fast as possible */
	uint32_t secondaries;    /* what the world asks for; SCENE_NONE: does not say */
	bool has_levels;         /* false also when told to ignore them */
	uint32_t model_count, body_count, geom_count, joint_count, link_count, level_count;
	uint32_t world_joint_first; /* joints from here on are the world's own; they may connect different models */
	const struct scene_model *models;
	const struct scene_body *bodies;
	const struct scene_geom *geoms;
	const struct scene_joint *joints;
	const struct scene_link *links;
	const struct scene_level *levels;
	/* Static geoms by their boxes; value: geom index. Which of them are present changes from step to step. */
	struct bvh static_tree;
	VEC(struct hull *) hulls; /* what geoms point to */
	VEC(struct skin *) skins;
	struct map model_by_name;
	VEC(const char *) warnings; /* file:line: what is ignored, once per kind */
	struct arena arena;
};

struct scene_options {
	bool ignore_levels;
};

/* world must outlive the scene. Errors (TROUPE_EWORLD): what the simulator cannot take, with file:line. */
troupe_status scene_create(const struct sdf_world *world, const struct scene_options *options, struct scene **ret_scene,
	struct troupe_error *error);
void scene_destroy(struct scene *scene);

/* The box of a geom whose body is at `body`, exact for the shape (of a mesh or heightmap: around its
 * own box) and padded by nothing. A pure function. */
struct aabb scene_geom_box(const struct scene_geom *geom, struct pose body);

/* Model indices by name; SCENE_NONE if none. */
uint32_t scene_find_model(const struct scene *scene, const char *name);
/* A link or joint of a model by its name in the model ("link", "nested::link") or by its full scoped name. */
uint32_t scene_find_link(const struct scene *scene, uint32_t model, const char *name);
uint32_t scene_find_joint(const struct scene *scene, uint32_t model, const char *name);

#endif
