/* The world compiled for simulation. All runners share it without locks: they read it during steps, and only the
 * primary changes it, between steps, when a model is created, removed or placed elsewhere (end of this header).
 *
 * The scene consists of flat arrays. The parts of a model are contiguous and in file order. Order is order of
 * indices: contacts are made in the order of geom indices, bodies and joints in the order of their own indices. A
 * model that is created while the world runs takes the lowest free places, so places depend only on the file and on
 * the commands so far. The hash of the state uses the model's id, which is not used again in one history. Nothing here
 * depends on which models are loaded or on which runner simulates them.
 *
 * Models are the top-level models of the world, followed by its actors (actor.h); a nested model is part of its
 * top-level model. Links that fixed joints connect are one body (users expect a rigid connection; ODE's fixed joint
 * is soft and slow), unless a force-torque sensor reads the joint: then it stays a joint, which the solver satisfies.
 * The frame of a body has its origin at the centre of mass and the axes of its first link.
 *
 * Units: metres, kilograms, seconds, radians; poses are in the world frame unless the name says otherwise. */
#ifndef SCENE_SCENE_H
#define SCENE_SCENE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/ranges.h"
#include "geom/bvh.h"
#include "geom/geom.h"
#include "mesh/hull.h"
#include "mesh/trimesh.h"
#include "scene/added.h"
#include "scene/unread.h"
#include "sdf/sdf.h"

#define SCENE_NONE UINT32_MAX
#define SCENE_POSITION_MAX 1e7 /* m: a position of a moving body is never beyond this */

enum scene_shape_kind {
	SCENE_BOX,       /* size: half edges */
	SCENE_SPHERE,    /* size.x: radius */
	SCENE_CYLINDER,  /* size.x: radius, size.z: half length */
	SCENE_CAPSULE,   /* the same; half length of the cylindrical part */
	SCENE_PLANE,     /* size: unit normal in the geom's frame; never moves by itself */
	SCENE_CONE,      /* size.x: radius of the base, size.z: half height; apex at +z */
	SCENE_ELLIPSOID, /* size: radii */
	SCENE_CONVEX,    /* hull */
	SCENE_MESH,      /* trimesh: triangles; never moves by itself */
	SCENE_HEIGHTMAP, /* trimesh: a grid; the same */
};

struct scene_geom { /* members that every step reads come first */
	uint32_t model, link;
	uint32_t body; /* SCENE_NONE: static */
	enum scene_shape_kind kind;
	struct vec3 size;
	const struct sdf_surface *surface;
	uint32_t kind_of_surface;      /* index in scene.surfaces; SCENE_NONE: not in that array */
	uint32_t friction_link;        /* its surface's fdir1 is in the frame of this link; SCENE_NONE: in the geom's */
	uint32_t max_contacts;         /* per pair of geoms, whose smaller limit counts */
	uint32_t leaf;                 /* of a static geom that is not off: in scene.static_tree */
	bool off;                      /* switched off: its box is AABB_NONE, so nothing meets it */
	const struct hull *hull;       /* of a convex geom */
	const struct trimesh *trimesh; /* of a mesh or heightmap */
	struct unread_mesh *unread;    /* of a static mesh or heightmap that has no trimesh here; its
					* scene_static_box() may be too large: scene_exact_box() */
	struct pose in_body;           /* of a static geom: in the world */
	const char *name;              /* of its collision, in the link; a mesh of several parts has a geom for each */
};

struct scene_body {
	const char *name; /* scoped name of its first link */
	uint32_t model;
	uint32_t geom_first, geom_count;
	double mass;
	double ixx, iyy, izz, ixy, ixz, iyz; /* about the centre of mass, in the body's axes */
	struct pose reference;               /* the body's pose in the file */
	double linear_damping, angular_damping;
	bool gravity;
	bool kinematic; /* not moved by forces: <kinematic>, or held to the world by a fixed joint */
	/* Kinematic by <kinematic> alone: it has the velocity that it was given last, and moves exactly so. */
	bool commanded;
	/* The mass that the fluid around it adds; NULL: none. The members above are without it. */
	const struct scene_added *added;
	const char *fixed_by; /* the fixed joint that holds it to the world; NULL: none does */
};

struct scene_link {
	const char *name, *scoped; /* as in sdf_link */
	uint32_t model, body;      /* body is SCENE_NONE in a static model */
	struct pose in_body;       /* in a static model: in the world */
	bool self_collide;
	bool is_static; /* of a static model, perhaps nested in one that moves, whose other parts it collides with */
	bool wind;      /* <enable_wind>: systems that make wind act on the link */
};

/* An axis that follows another axis (the leader) of the same model: position = multiplier * (leader's position -
 * reference) + offset. */
struct scene_mimic {
	uint32_t joint, axis; /* the leader; joint is SCENE_NONE: the axis follows none */
	double multiplier, offset, reference;
};
extern const struct scene_mimic scene_no_mimic[2]; /* of a joint of which no axis follows another */

struct scene_joint {
	const struct sdf_joint *sdf;
	const char *name, *scoped;
	uint32_t model;           /* the model whose state holds the joint: that of the child */
	uint32_t parent, child;   /* bodies; SCENE_NONE: the world. Not both the world, not the same body. */
	enum sdf_joint_kind kind; /* continuous is stored as revolute; fixed: only between models, or measured */
	bool measured;            /* by a force-torque sensor */
	struct vec3 anchor;
	uint32_t axis_count;
	const struct sdf_axis *axis;
	/* Gearbox: axis_count is 0; axis[0] is the parent's axis, axis[1] the child's. Both angles are measured
	 * relative to the body `reference`, and the gearbox holds them to child = -ratio * parent. */
	uint32_t reference;              /* body; SCENE_NONE: the world */
	const struct scene_mimic *mimic; /* [2] by axis */
	/* By axis: effective inertia (or mass) that the axis moves at the reference pose, for implicit damping. A
	 * screw's second entry is the mass. */
	double inertia[2];
	double begin[2]; /* by axis: its position in state 0 (bend.h) */
};

/* The number of a joint's couplings. A coupling relates the rates of different bodies: the thread of a screw, a
 * gearbox, each axis that mimics another. A joint has its couplings in this order. */
static inline uint32_t scene_joint_couplings(const struct scene_joint *joint)
{
	uint32_t own = joint->kind == SDF_SCREW || joint->kind == SDF_GEARBOX;
	for (uint32_t a = 0; a < 2; a++)
		own += joint->mimic[a].joint != SCENE_NONE;
	return own;
}

/* The in_body of a static model, of its links and of its geoms, as they were at first. */
struct scene_first_poses {
	struct pose model, *links, *geoms; /* links and geoms: in the order of the model's */
};

struct scene_model {
	const char *name;
	uint64_t id; /* from 1, in the order of the file, then of creation; 0: this place is free */
	/* From 1, and never given twice, so it says whether the place still has the same model. An id may come again
	 * when the world is replaced by an earlier state of it. No bit of a state depends on the serial. */
	uint64_t serial;
	bool absent;  /* removed: not part of the world, but its place is kept for a while, or for a reset */
	bool created; /* created while the world runs */
	uint32_t line;
	bool is_static;
	bool performer; /* declared as a performer */
	bool may_sleep; /* <allow_auto_disable> */
	/* A dynamic model that exactly one level names is loaded and unloaded with that level; SCENE_NONE otherwise. */
	uint32_t level;
	uint32_t home_level;        /* value of `level` while the model is no performer */
	struct vec3 volume;         /* edges of a declared performer's box */
	const char *performer_name; /* name of the <performer> in the file; NULL: none */
	bool file_performer;        /* performer and volume as in the file */
	struct vec3 file_volume;
	uint32_t pin;      /* secondary that must simulate it, from 1; 0: any */
	uint32_t home_pin; /* the pin of the file, or of the person who started the run */
	uint32_t owner;    /* the robot client that owns it (run/owners.h); 0: none */
	uint32_t body_first, body_count, geom_first, geom_count, joint_first, joint_count, link_first, link_count;
	uint32_t frame_body; /* the body of the canonical link, which carries the model's frame; from body_first */
	struct pose in_body; /* the model's frame in the frame of that body; of a static model: in the world */
	const struct sdf_world *from;
	uint32_t sdf;                    /* index in from->models; SDF_NONE: an actor */
	struct scene_first_poses *first; /* of a static model that was placed elsewhere; otherwise NULL */
	struct scene_owned *owned;       /* data of a created model (compile.h) */
	const struct scene_actor *actor; /* the script that moves the model (actor.h); NULL: none */
};

enum { SCENE_TIES_MAX = 4096 };

/* A rigid joint that a system made while the world runs, between two bodies. */
struct scene_attachment {
	uint32_t owner, system; /* the model of the system, and its index among those of the model */
	uint32_t bodies[2];     /* the first may be SCENE_NONE: the world */
	struct pose pose;       /* of the second body, in the frame of the first */
};

struct scene_level {
	const char *name;
	uint32_t line;
	struct aabb box, outer; /* outer: grown by the buffer */
	uint32_t pin;
	const uint32_t *models; /* all models that the level names, in order */
	uint32_t model_count;
};

/* A light of the world, or a light of a link that a command changed. (The other lights of links are as their file has
 * them.) It has no effect on motion. */
struct scene_light {
	char *name; /* of a light of a link: MODEL::LINK::LIGHT */
	bool absent;
	bool changed;     /* by a command: pose and shine are not those of the file */
	struct pose pose; /* in the world, or in the link */
	struct sdf_shine shine;
	const struct sdf_light *from; /* of the world; NULL: added while the world runs, or of a link */
	uint32_t model;               /* whose link carries it; SCENE_NONE: a light of the world */
	uint32_t light;               /* of a light of a link: which, in the model's from->lights */
};

enum { SCENE_LIGHTS_ADDED_MAX = 4096, SCENE_LIGHT_NAME_BYTES_MAX = 255 };
#define SCENE_LIGHT_ID (UINT32_C(1) << 28) /* the id of a light of the world in messages: this and its place */
#define SCENE_LINK_ID (UINT32_C(1) << 29)  /* the id of a link: this and its place + 1 */

enum { SCENE_SURFACES_MAX = 64 };

struct scene_room { /* capacity of the arrays; users of the scene size their own arrays by it */
	uint32_t models, bodies, geoms, joints;
};

struct scene {
	const struct sdf_world *sdf;
	const char *name;
	struct vec3 gravity;
	struct sdf_earth earth;  /* the place of the world's origin: that of the file, or */
	bool earth_set;          /* the one that a command gave */
	struct vec3 wind;        /* m/s, of the file; physics does not use it: systems do */
	double step_s;           /* max_step_size */
	double real_time_factor; /* 0: as fast as possible */
	uint32_t secondaries;    /* the number that the world asks for; SCENE_NONE: it gives none */
	/* Each is above all indices in use; some indices below it may be free. */
	uint32_t model_count, body_count, geom_count, joint_count, link_count, level_count;
	struct scene_room room;
	struct scene_model *models;
	struct scene_body *bodies;
	struct scene_geom *geoms;
	struct scene_joint *joints;
	struct scene_link *links;
	struct scene_level *levels;
	struct scene_light *lights; /* [light_count] those of the file in its order, then those that were added */
	uint32_t light_count;
	/* The different surfaces of the geoms, each once. The array only grows, up to SCENE_SURFACES_MAX. */
	VEC(struct sdf_surface) surfaces;
	indices world_joints;                     /* joints of the world itself, which may connect different models */
	VEC(struct scene_attachment) attachments; /* in the order in which they were made */
	uint64_t attachments_epoch;               /* grows when `attachments` changes */
	/* Boxes of static geoms; value: geom index. Which static geoms are present changes from step to step. */
	struct bvh static_tree;
	struct map model_by_name;   /* models that are not absent */
	VEC(const char *) warnings; /* "file:line: ...": elements that are ignored, one warning for each kind */
	struct scene_owned *own;
	struct unread *unread; /* of geoms; NULL: there are none */

	/* private */
	struct ranges model_ranges, body_ranges, geom_ranges, joint_ranges, link_ranges;
	uint32_t link_room;
	uint64_t last_id, last_serial;
	uint64_t file_last_id; /* the last id of a model of the file */
};

struct scene_options {
	bool ignore_levels;
	struct unread_options unread; /* for worlds that were loaded with sdf_options.leave_far */
	/* If not NULL, called with the error of each model: scene_create() then goes on with the other models, but
	 * still fails with the first error. */
	void (*on_error)(void *ctx, const char *text);
	void *ctx;
};

/* world must outlive the scene. TROUPE_EWORLD, with file:line: the simulator cannot simulate the world. */
troupe_status scene_create(const struct sdf_world *world, const struct scene_options *options, struct scene **ret_scene,
	struct troupe_error *error);
void scene_destroy(struct scene *scene);

/* --- changes; the primary's, between steps ------------------------------------------------------------------------ */

struct scene_places { /* the places of a model and its parts, to put it at the same places as in another run */
	uint64_t id;
	uint32_t model, body_first, geom_first, joint_first, link_first;
};

/* A model (or actor) that is compiled and has no place in a scene yet. */
struct scene_parts;
/* Compiles the model (or actor) of a bare SDF, which stays the caller's and must outlive the parts. before: NULL, or
 * the parts of the same sdf before sdf_edit(); they are used up, also on failure, and what was made of their meshes is
 * used again. TROUPE_EWORLD as scene_create(). Any thread: no scene is needed. */
troupe_status scene_compile(
	const struct sdf *sdf, struct scene_parts *before, struct scene_parts **ret_parts, struct troupe_error *error);
void scene_parts_destroy(struct scene_parts *parts); /* NULL is fine */

/* Gives the parts their places. On success the scene owns the parts and their sdf; on failure the caller keeps both.
 * The name must not be in use. at: the places to take; NULL: the lowest free places; TROUPE_EINVAL: places that are
 * taken. *ret_warning: the first warning about the model, "" if none; it lives as long as the model. */
troupe_status scene_add(struct scene *scene, struct scene_parts *parts, struct sdf *sdf, const struct scene_places *at,
	uint32_t *ret_model, const char **ret_warning, struct troupe_error *error);
/* Adds to the mass that the fluid adds to the body of a link: a symmetric matrix as in scene/added.h, in the frame of
 * the link. While the model's systems are made, before it is simulated. *ret_whole: contacts and joints feel all of it.
 * False: nothing is changed, because forces do not move the body, or its mass would not be positive definite. */
bool scene_link_add_mass(struct scene *scene, uint32_t link, const struct mat6 *matrix, bool *ret_whole);
/* Sets whether the model is absent: not part of the world, and its name is free. Its place and parts stay until
 * scene_free(). */
void scene_set_absent(struct scene *scene, uint32_t model, bool absent);
/* Frees the places of a created model that is absent. */
void scene_free(struct scene *scene, uint32_t model);
/* Switches a geom on or off, if it is not so already. It keeps its place and its pose. */
void scene_switch_geom(struct scene *scene, uint32_t geom, bool on);
/* Moves a static model to another pose. */
void scene_place_static(struct scene *scene, uint32_t model, struct pose pose);
/* The in_body of a model, or of a link, as it was at first. */
static inline struct pose scene_first_pose(const struct scene_model *model)
{
	return model->first ? model->first->model : model->in_body;
}
struct pose scene_link_first(const struct scene *scene, uint32_t link);

/* The box of a geom whose body is at `body`. It is exact for the shape (for a mesh or heightmap: it encloses the
 * turned box of the shape's own frame), without padding; AABB_NONE if the geom is off. A pure function. */
struct aabb scene_geom_box(const struct scene_geom *geom, struct pose body);
/* The same of a static geom. */
struct aabb scene_static_box(const struct scene_geom *geom);
/* The same for a geom that is at `pose` itself. */
struct aabb scene_shape_box(const struct scene_geom *geom, struct pose pose);

/* --- geoms with unread meshes ------------------------------------------------------------------------------------- */

/* The triangles of a mesh or heightmap; NULL: there are none, and unread_error() may have the reason. As unread_get().
 */
const struct trimesh *scene_trimesh(const struct scene_geom *geom);
/* The box that the static geom would have if its mesh had been read at once. As unread_exact_box(). */
struct aabb scene_exact_box(const struct scene_geom *geom);
/* A level was loaded, or unloaded: the meshes of its models are wanted, or not any more. Any thread. */
void scene_want_level(struct scene *scene, uint32_t level, bool loaded);
/* The geoms of the model are from now on as if their meshes had been read at once; before the model is changed in any
 * way. The primary, between steps. False: no geom has changed. */
bool scene_settle(struct scene *scene, uint32_t model);
/* Reads the meshes of the levels that are near a performer at first. */
troupe_status scene_read_near(struct scene *scene, struct troupe_error *error);

/* The heights of a heightmap that has an image. As in Gazebo: the height of the brightest pixel is size.z, each pixel
 * is a point of the grid, the top of the image is at +y, its centre above the origin; a negative size.z exchanges
 * bright and dark. The caller owns z: free(). */
struct trimesh_grid scene_heightmap(const struct sdf_shape *shape);

/* Whether the place of the geom belongs to a model. */
static inline bool scene_has_geom(const struct scene *scene, uint32_t geom)
{
	if (geom >= scene->geom_count || scene->geoms[geom].model >= scene->model_count)
		return false;
	const struct scene_model *m = &scene->models[scene->geoms[geom].model];
	return m->id && geom >= m->geom_first && geom - m->geom_first < m->geom_count;
}

/* Whether the model has a geom that is not off. */
static inline bool scene_is_solid(const struct scene *scene, uint32_t model)
{
	const struct scene_model *m = &scene->models[model];
	bool solid = false;
	for (uint32_t g = m->geom_first; g < m->geom_first + m->geom_count && !solid; g++)
		solid = !scene->geoms[g].off;
	return solid;
}

/* Whether this is the name of the world plug-in that declares performers and levels, which is read here. */
bool scene_knows_plugin(const char *name);

/* The index of a model by name; SCENE_NONE if none. */
uint32_t scene_find_model(const struct scene *scene, const char *name);
/* The model of that id, if it is not absent; SCENE_NONE if none. */
uint32_t scene_find_id(const struct scene *scene, uint64_t id);
/* A link or joint of a model by its name in the model ("link", "nested::link") or by its full scoped name. */
uint32_t scene_find_link(const struct scene *scene, uint32_t model, const char *name);
uint32_t scene_find_joint(const struct scene *scene, uint32_t model, const char *name);

#endif
