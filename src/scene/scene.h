/* The world compiled for simulation, shared by all runners without locks: they read it during steps, and only the
 * primary changes it, between steps, when a model is created, removed or put elsewhere (end of this header).
 *
 * Flat arrays; a model's parts are contiguous and in file order, and the order of things is that of their indices:
 * contacts are made in the order of geom indices, bodies and joints in the order of theirs. A model that comes while
 * the world runs takes the lowest places that are free, so places are a function of the file and of the commands so
 * far. State is hashed by the model's id, which is never used again. Nothing here depends on which models are loaded or
 * who simulates them.
 *
 * Models are the world's top-level models, and after them its actors (actor.h); nested ones are part of them. Links
 * that fixed joints hold together are one body (users expect rigid; ODE's fixed joint is soft and slow). A body's frame
 * has its origin at the centre of mass and the axes of its first link.
 *
 * Units: metres, kilograms, seconds, radians; poses in the world frame unless the name says otherwise. */
#ifndef SCENE_SCENE_H
#define SCENE_SCENE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/ranges.h"
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

struct scene_geom { /* what every step reads comes first */
	uint32_t model, link;
	uint32_t body; /* SCENE_NONE: static */
	enum scene_shape_kind kind;
	struct vec3 size;
	const struct sdf_surface *surface;
	uint32_t kind_of_surface; /* index in scene.surfaces; SCENE_NONE: it has no place there */
	uint32_t max_contacts;    /* per pair of geoms: the smaller of the two */
	uint32_t leaf;            /* of a static geom: in scene.static_tree */
	const struct hull *hull;  /* of a convex geom */
	const struct skin *skin;  /* of a mesh or heightmap */
	struct aabb box;          /* of a static geom: in the world; a plane's is its half space's, often everything */
	struct pose in_body;      /* of a static geom: in the world */
	struct pose reference;    /* in_body as it was at first */
	const char *name;         /* "model::link::collision" */
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
	const char *tie; /* the fixed joint that holds it to the world; NULL: none does */
};

struct scene_link {
	const char *name, *scoped; /* as in sdf_link */
	uint32_t model, body;      /* body is SCENE_NONE in a static model */
	struct pose in_body;       /* in a static model: in the world */
	struct pose reference;     /* in_body as it was at first */
	bool self_collide;
};

/* An axis that follows another of the same model: position = multiplier (that one's - reference) + offset. */
struct scene_mimic {
	uint32_t joint, axis; /* the leader's; joint is SCENE_NONE: it follows nothing */
	double multiplier, offset, reference;
};

struct scene_joint {
	const struct sdf_joint *sdf;
	const char *name, *scoped;
	uint32_t model;           /* whose state holds it: the child's model */
	uint32_t parent, child;   /* bodies; SCENE_NONE: the world. Never both, never the same. */
	enum sdf_joint_kind kind; /* all but continuous, which is revolute; fixed: between different models */
	struct vec3 anchor;
	uint32_t axis_count;
	const struct sdf_axis *axis;
	/* Gearbox: axis_count is 0, axis[0] is the parent's and axis[1] the child's, whose angles against `reference`
	 * it holds to child = -ratio parent. */
	uint32_t reference;          /* body; SCENE_NONE: the world */
	struct scene_mimic mimic[2]; /* by axis */
	/* Effective inertia (or mass) that an axis moves at the reference pose, for implicit damping; a screw's second
	 * is the mass. */
	double inertia[2];
};

/* What ties rates of different bodies: a screw's thread, a gearbox, each axis that mimics another. Of a joint, in this
 * order. */
static inline uint32_t scene_joint_couplings(const struct scene_joint *joint)
{
	uint32_t own = joint->kind == SDF_SCREW || joint->kind == SDF_GEARBOX;
	for (uint32_t a = 0; a < 2; a++)
		own += joint->mimic[a].joint != SCENE_NONE;
	return own;
}

struct scene_model {
	const char *name;
	uint64_t id;  /* from 1, in the order of the file, then of creation; 0: nobody has this place */
	bool absent;  /* removed: it keeps its place for a while, or for a reset, but is not part of the world */
	bool created; /* while the world runs */
	uint32_t line;
	bool is_static;
	bool performer; /* declared as one */
	bool may_sleep; /* <allow_auto_disable> */
	/* A dynamic model that exactly one level names comes and goes with that level; SCENE_NONE otherwise. */
	uint32_t level;
	uint32_t home_level; /* what `level` is while it is no performer */
	struct vec3 volume;  /* edges of a declared performer's box */
	const char *performer_name; /* of the <performer> in the file; NULL: there is none */
	bool file_performer; /* these two as the file has them */
	struct vec3 file_volume;
	uint32_t pin;      /* secondary that must simulate it, from 1; 0: any */
	uint32_t home_pin; /* as the file, or the one who runs it, has it */
	uint32_t body_first, body_count, geom_first, geom_count, joint_first, joint_count, link_first, link_count;
	uint32_t frame_body; /* the body that carries the model's frame, that of its canonical link; from body_first */
	struct pose in_body; /* the model's frame in that body's; of a static model: in the world */
	struct pose reference; /* in_body as it was at first */
	const struct sdf_world *from;
	uint32_t sdf;                    /* index in from->models; SDF_NONE: an actor */
	struct scene_owned *owned;       /* what a created model brought along */
	const struct scene_actor *actor; /* the script that moves it (actor.h); NULL: none does */
};

struct scene_level {
	const char *name;
	uint32_t line;
	struct aabb box, outer; /* outer: grown by the buffer */
	uint32_t pin;
	const uint32_t *models; /* all that it names, in order */
	uint32_t model_count;
};

struct scene_light { /* of the world; nothing is lit by it, but it can be removed */
	const char *name;
	bool absent;
};

enum { SCENE_SURFACES_MAX = 64 };

struct scene_room { /* how many the arrays have room for: what others allocate for theirs */
	uint32_t models, bodies, geoms, joints;
};

struct scene {
	const struct sdf_world *sdf;
	const char *name;
	struct vec3 gravity;
	double step_s;           /* max_step_size */
	double real_time_factor; /* 0: as fast as possible */
	uint32_t secondaries;    /* what the world asks for; SCENE_NONE: does not say */
	bool has_levels;         /* false also when told to ignore them */
	/* Above all that are in use; some below may be free. */
	uint32_t model_count, body_count, geom_count, joint_count, link_count, level_count;
	struct scene_room room;
	struct scene_model *models;
	struct scene_body *bodies;
	struct scene_geom *geoms;
	struct scene_joint *joints;
	struct scene_link *links;
	struct scene_level *levels;
	struct scene_light *lights; /* [light_count] in file order */
	uint32_t light_count;
	/* What is told apart of the geoms' surfaces, each once; it only grows, up to SCENE_SURFACES_MAX. */
	VEC(struct sdf_surface) surfaces;
	indices world_joints; /* the world's own, which may connect different models */
	/* Static geoms by their boxes; value: geom index. Which of them are present changes from step to step. */
	struct bvh static_tree;
	struct map model_by_name;   /* models that are not absent */
	VEC(const char *) warnings; /* file:line: what is ignored, once per kind */
	struct scene_owned *own;

	/* private */
	struct ranges model_ranges, body_ranges, geom_ranges, joint_ranges, link_ranges;
	uint32_t link_room;
	uint64_t last_id;
};

struct scene_options {
	bool ignore_levels;
	/* Told of each model's error, when not NULL: scene_create() then goes on to the other models, and still fails
	 * with the first error. */
	void (*on_error)(void *ctx, const char *text);
	void *ctx;
};

/* world must outlive the scene. Errors (TROUPE_EWORLD): what the simulator cannot take, with file:line. */
troupe_status scene_create(const struct sdf_world *world, const struct scene_options *options, struct scene **ret_scene,
	struct troupe_error *error);
void scene_destroy(struct scene *scene);

/* --- changes; the primary's, between steps ------------------------------------------------------------------------ */

struct scene_places { /* where a model and its parts are, for one that is to be put where it was in another run */
	uint64_t id;
	uint32_t model, body_first, geom_first, joint_first, link_first;
};

/* Adds the model (or actor) of a bare SDF, which from then on belongs to the scene; on failure it stays the caller's.
 * Its name must not be in use. at: NULL for the lowest places that are free; places that are taken: TROUPE_EINVAL.
 * *ret_warning: the first of its warnings, "" if none; as long as the model lives. */
troupe_status scene_add(struct scene *scene, struct sdf *sdf, const struct scene_places *at, uint32_t *ret_model,
	const char **ret_warning, struct troupe_error *error);
/* The model is not part of the world any more: its name is free. Its place and parts stay until scene_free(). */
void scene_set_absent(struct scene *scene, uint32_t model, bool absent);
/* Gives up the place of a created model that is absent. */
void scene_free(struct scene *scene, uint32_t model);
/* Puts a static model elsewhere. */
void scene_place_static(struct scene *scene, uint32_t model, struct pose pose);

/* The box of a geom whose body is at `body`, exact for the shape (of a mesh or heightmap: around its
 * own box) and padded by nothing. A pure function. */
struct aabb scene_geom_box(const struct scene_geom *geom, struct pose body);
/* The same for a geom that is itself at `pose`. */
struct aabb scene_shape_box(const struct scene_geom *geom, struct pose pose);

/* Whether a world's plug-in of that name is read here: the one with performers and levels. */
bool scene_knows_plugin(const char *name);

/* Model indices by name; SCENE_NONE if none. */
uint32_t scene_find_model(const struct scene *scene, const char *name);
/* The light of that name that is not absent; SCENE_NONE if none. */
uint32_t scene_find_light(const struct scene *scene, const char *name);
/* The model of that id that is not absent; SCENE_NONE if none. */
uint32_t scene_find_id(const struct scene *scene, uint64_t id);
/* A link or joint of a model by its name in the model ("link", "nested::link") or by its full scoped name. */
uint32_t scene_find_link(const struct scene *scene, uint32_t model, const char *name);
uint32_t scene_find_joint(const struct scene *scene, uint32_t model, const char *name);

#endif
