/* SDF files -> a constant description of one or more worlds. The only user of libxml2. A robot in URDF is read as the
 * model that libsdformat makes of it (sdf/urdf.h).
 *
 * Format: sdformat.org/spec, versions 1.4 to 1.12. Files of Gazebo's users are read as Gazebo reads them: ill-formed
 * comments and undeclared prefixes are tolerated, unknown elements are kept or ignored with one warning per kind, and
 * defaults are those of the specification. Every pose is resolved once, to the world frame and to the frame of its
 * owner. Values that are not physical or not finite are refused with file:line (law 6).
 *
 * Thread: any, one load per sdf at a time. Ownership: all data belong to struct sdf and live until sdf_free(). Units:
 * metres, kilograms, seconds, radians. Limits: SDF_*_MAX below; a file beyond them is refused. */
#ifndef SDF_SDF_H
#define SDF_SDF_H

#include "base/arena.h"
#include "base/files.h"
#include "base/text.h"
#include "geom/geom.h"
#include "geom/spatial.h"
#include "mesh/image.h"
#include "mesh/mesh.h"
#include "mesh/texture.h"
#include "sdf/look.h"
#include "sdf/sensor.h"

enum {
	SDF_FILE_BYTES_MAX = 256 << 20,
	SDF_DEPTH_MAX = 64,       /* of nested elements, nested models and includes, each */
	SDF_MODELS_MAX = 1000000, /* including nested models; the same limit for links, joints, collisions and
				   * visuals, each */
	SDF_WORLDS_MAX = 64,
	SDF_ITERATIONS_MAX = 100000,       /* of the solver, in one step */
	SDF_IGNORED_MAX = 1000,            /* kinds of ignored elements that are listed */
	SDF_TEXTURE_BYTES_MAX = 512 << 20, /* of the decoded textures of a file */
	SDF_MESSAGES_MAX = 200, /* number of warnings and errors that are kept; the others are only counted */
};
#define SDF_LENGTH_MAX 1e9       /* m: no coordinate or size beyond this */
#define SDF_SURFACE_MAX_VEL 0.01 /* m/s: the default of max_vel */
#define SDF_SURFACE_KP 1e12      /* N/m: the stiffness of a surface whose file gives none; such surfaces are rigid */
#define SDF_LENGTH_MIN 1e-9      /* m: no size below this */
#define SDF_MASS_MAX 1e30        /* kg; inertias to 1e48 kg m2 */
#define SDF_MASS_MIN 1e-12
#define SDF_STEP_MIN 1e-9 /* s */
#define SDF_BEGIN_MAX 1e6 /* rad or m, of <initial_position> */
#define SDF_WIND_MAX 1e4  /* m/s, each component */

#define SDF_NONE UINT32_MAX /* no index; in joints: the world */

/* A parsed element as it stood in the file. Systems read plug-ins, sensors and their other settings from it. */
struct sdf_attribute {
	const char *name, *value;
};

struct sdf_element {
	const char *name; /* with its prefix, as written */
	const char *text; /* character data, trimmed; "" if none */
	const struct sdf_attribute *attributes;
	const struct sdf_element *child, *next; /* first child, next sibling; NULL: none */
	const char *file;
	uint32_t attribute_count, line;
};

/* The first child of that name after `after` (NULL: the first of all); NULL if none. */
const struct sdf_element *sdf_child(
	const struct sdf_element *parent, const char *name, const struct sdf_element *after);
const char *sdf_attribute(const struct sdf_element *element, const char *name); /* NULL if none */
/* The text of the child of that name; NULL if there is none or parent is NULL. */
const char *sdf_child_text(const struct sdf_element *parent, const char *name);
/* Reads the value of a child into *value, which does not change if there is no such child or it is empty.
 * TROUPE_EWORLD, with file:line, the element's name, the text and what was expected: the text is not a number, is
 * nan, or is out of [lo, hi] (an infinite number passes only infinite bounds). */
troupe_status sdf_child_double(const struct sdf_element *parent, const char *name, double lo, double hi, double *value,
	struct troupe_error *error);
troupe_status sdf_child_bool(
	const struct sdf_element *parent, const char *name, bool *value, struct troupe_error *error);
troupe_status sdf_child_vec3(const struct sdf_element *parent, const char *name, double lo, double hi,
	struct vec3 *value, struct troupe_error *error);
/* A <point> of a <polyline>: two numbers within SDF_LENGTH_MAX, in m. False: it is something else. */
bool sdf_outline_point(const struct sdf_element *point, struct vec3 *ret_point);
/* A <pose> child as numbers, in any frame: 6 numbers or, by rotation_format, 7; degrees are converted. */
troupe_status sdf_child_pose(const struct sdf_element *parent, struct pose *value, struct troupe_error *error);

enum sdf_shape_kind {
	SDF_EMPTY, /* also a shape of unknown kind, with a warning */
	SDF_BOX,
	SDF_SPHERE,
	SDF_CYLINDER,
	SDF_CAPSULE,
	SDF_ELLIPSOID,
	SDF_CONE,
	SDF_PLANE,
	SDF_MESH,
	SDF_HEIGHTMAP,
	SDF_POLYLINE,
	SDF_IMAGE,
};

/* The solid that a collision's mesh becomes (<mesh optimization>). */
enum sdf_mesh_way {
	SDF_MESH_AS_FITS,  /* a moving model: a hull for each part; a static model: its triangles */
	SDF_MESH_ONE_HULL, /* "convex_hull" */
	SDF_MESH_PIECES,   /* "convex_decomposition": its convex pieces */
};

/* A mesh or heightmap that is not read, because only levels name its model. Shapes with the same file and scale share
 * it. */
struct sdf_far {
	const char *path, *model;
	uint32_t id;                       /* from 0, in the file */
	const struct sdf_element *element; /* that names the file */
	struct aabb box; /* of the mesh, scaled, or of the heightmap: holds all of it, in the shape's frame */
};

struct sdf_shape {
	enum sdf_shape_kind kind;
	struct vec3 size;                  /* box: edges; ellipsoid: radii; mesh: scale; heightmap: size */
	double radius, length;             /* sphere, cylinder, capsule, cone; the length runs along z */
	struct vec3 normal;                /* plane, unit */
	struct vec3 normal_raw;            /* plane, as written */
	const char *uri;                   /* mesh, heightmap, image: as written; NULL if none */
	const char *path;                  /* the local file that uri resolves to; NULL when it was not found */
	const struct sdf_element *element; /* <geometry>, for settings that are not listed here */
	/* For collisions, and for visuals if the options ask for them. NULL: the shape has none, or it could not be
	 * read, and a warning was given. */
	const struct mesh *mesh;   /* mesh: the part that the file names, centred and scaled; polyline: extruded. In
				    * the shape's frame, welded; the same address for the same file, part and scale. */
	const struct mesh *pieces; /* as convex parts: a polyline; the mesh of a collision if it is SDF_MESH_PIECES */
	const struct image *image; /* heightmap */
	/* collision of a static model: mesh and image are NULL, and are to be read when a body comes near; NULL: they
	 * were read */
	const struct sdf_far *far;
	enum sdf_mesh_way way;
	struct vec3 shift; /* heightmap: <pos> */
	/* For visuals, when they are read. The materials of a mesh file, by the number that a part of the mesh has; 0:
	 * the visual has a material of its own, or the file has none. And the textures: of the visual's own material,
	 * or one for each of these; NULL: none. */
	const struct sdf_material *materials;
	uint32_t material_count;
	const struct sdf_maps *maps;
	const struct sdf_heat *heat;     /* NULL: none */
	const struct sdf_ground *ground; /* heightmap of a visual; NULL: it has no textures */
};

/* <surface>; the comments name the element and the default. */
struct sdf_surface {
	double mu, mu2;            /* friction/ode (or torsional-free bullet), 1 */
	struct vec3 fdir1;         /* friction/ode/fdir1, 0 0 0: none. In the frame of fdir1_link */
	uint32_t fdir1_link;       /* SDF_NONE: the collision's frame; otherwise gz:expressed_in names another link */
	double slip1, slip2;       /* friction/ode, 0 */
	double rolling;            /* friction/bullet/rolling_friction, 0 m: torque against rolling for each N */
	double torsion, patch;     /* friction/torsional/coefficient, 1, and /patch_radius, 0 m: against spinning */
	double restitution;        /* bounce/restitution_coefficient, 0 */
	double bounce_threshold;   /* bounce/threshold, 100000 m/s */
	double kp, kd;             /* contact/ode, SDF_SURFACE_KP and 1 N s/m */
	double max_vel;            /* contact/ode, SDF_SURFACE_MAX_VEL */
	double min_depth;          /* contact/ode, 0 m */
	double soft_cfm, soft_erp; /* contact/ode, 0 and 0.2 */
	bool soft_given;           /* the file gives soft_cfm or soft_erp, which then replace kp and kd */
	uint32_t collide_bitmask, category_bitmask; /* contact, 0xffff each */
	bool collide_without_contact;
};

/* The values of a collision for which the file gives none. */
struct sdf_surface sdf_surface_default(void);

struct sdf_collision {
	const char *name;
	uint32_t link;
	uint32_t line;
	const struct pose *in_link;        /* collisions with equal ones share it */
	const struct sdf_shape *shape;     /* likewise */
	const struct sdf_surface *surface; /* likewise */
	uint32_t max_contacts;             /* 10 */
	double laser_retro;
	const struct sdf_element *element;
};

struct sdf_visual {
	const char *name;
	uint32_t link;
	uint32_t line;
	struct pose in_link;
	struct sdf_shape shape;
	const struct sdf_material *material;         /* NULL: none given */
	bool cast_shadows;                           /* true */
	double transparency;                         /* 0: opaque .. 1 */
	double laser_retro;                          /* 0 */
	uint32_t visibility_flags;                   /* 0xffffffff */
	int32_t layer;                               /* 0 */
	const struct sdf_element *element;           /* for settings that are not listed here */
	const struct sdf_ground_paths *ground_paths; /* of a heightmap with textures; otherwise NULL */
};

struct sdf_sensor {
	const char *name, *type; /* type by its current name: "lidar" for "ray", "depth_camera" for "depth" */
	enum sdf_sensor_kind kind;
	uint32_t link, joint; /* one of them is SDF_NONE */
	/* A multicamera is as many sensors of SDF_CAMERA as it has cameras: "SENSOR::CAMERA", with one element, rate
	 * and pose. part: which of them, from 0. */
	uint32_t part;
	uint32_t line;
	struct pose in_parent, in_world;
	double update_rate;                  /* Hz, 0: every step */
	const struct sdf_settings *settings; /* never NULL */
	const struct sdf_element *element;
};

struct sdf_inertial {
	double mass;
	struct pose in_link;                 /* of the inertial frame; its origin is the centre of mass */
	double ixx, iyy, izz, ixy, ixz, iyz; /* in the inertial frame, as written or computed */
	bool automatic;                      /* auto="true": computed from the collisions and their densities; origin
					      * at the centre of mass, axes of the link */
	bool replaced; /* mass or moments cannot be simulated as written: others are used, and a warning names them */
	/* <fluid_added_mass>, NULL: none. At the link's centre of mass, in the axes of the link; kg, kg m, kg m2. With
	 * the mass and inertia of the link it is positive definite (except in a static model). */
	const struct mat6 *added;
};

struct sdf_link {
	const char *name, *scoped; /* scoped: "model::nested::link" */
	uint32_t model;
	uint32_t line;
	const struct pose *in_model;            /* links with equal ones share it */
	const struct sdf_inertial *inertial;    /* likewise */
	bool gravity, self_collide, kinematic;  /* self_collide: that of the link or, if not given, of the model */
	bool wind;                              /* <enable_wind> of the link or, if not given, of the model */
	double linear_damping, angular_damping; /* velocity_decay, 0 */
	/* In struct sdf_world's arrays. */
	uint32_t collision_first, collision_count, visual_first, visual_count, light_first, light_count;
	const struct sdf_element *element;
};

enum sdf_joint_kind {
	SDF_REVOLUTE,
	SDF_CONTINUOUS,
	SDF_PRISMATIC,
	SDF_FIXED,
	SDF_BALL,
	SDF_UNIVERSAL,
	SDF_REVOLUTE2,
	SDF_SCREW,
	SDF_GEARBOX,
};

struct sdf_axis {
	struct vec3 xyz_world;         /* unit, in the world frame */
	double lower, upper;           /* rad or m; ±INFINITY: none (±1e16 in the file as well) */
	double effort, velocity;       /* limits; INFINITY: none (-1 in the file) */
	double stiffness, dissipation; /* limit/stiffness 1e8, limit/dissipation 1 */
	double damping, friction, spring_reference, spring_stiffness;
	double initial_position;     /* rad or m, 0: where the joint begins */
	double lower_raw, upper_raw; /* as written, for print */
	/* For print, which writes the direction in its original frame, so that no bit of it changes: name of that
	 * frame, "" for the joint's own; NULL: print writes the resolved direction. */
	const char *xyz_frame;
};

/* <physics><ode> of a joint. NaN: not given, the world's value holds. */
struct sdf_joint_ode {
	double max_force, velocity; /* a motor on the first axis, while nothing else drives it: N or N m (INFINITY: 1e16
				     * and more in the file), 0: none; m/s or rad/s */
	double stop_erp, stop_cfm; /* limit/erp, limit/cfm: of the stops, unless they have a stiffness or dissipation */
	double erp, cfm;           /* of the joint itself: ball and fixed */
};

struct sdf_joint {
	const char *name, *scoped;
	uint32_t model; /* SDF_NONE: a joint of the world */
	uint32_t line;
	enum sdf_joint_kind kind;
	const char *parent_name, *child_name; /* resolved link names, relative to the scope of the joint's model;
					       * "world" */
	uint32_t parent, child;               /* links; SDF_NONE as parent (or child): the world */
	/* The joint's frame, whose origin is the anchor, in its model, or in the world for a joint of it. Joints with
	 * equal ones share it. */
	const struct pose *in_model;
	uint32_t axis_count; /* 0, 1 or 2: the number of axes in the file */
	/* [2] beyond axis_count: defaults, so that every axis that the kind needs exists. Joints with equal axes share
	 * them. */
	const struct sdf_axis *axis;
	double thread_pitch; /* screw: rad/m, 2 pi / screw_thread_pitch; positive: right-handed. The file's old
			      * thread_pitch has the opposite sign. */
	double gearbox_ratio;
	const struct sdf_joint_ode *ode; /* joints with equal ones share it */
	const char *pose_frame; /* for print: the frame that the pose in the file is relative to; NULL: print writes
				 * the resolved pose */
	const struct sdf_element *element; /* <joint>, for settings that are not listed here */
};

struct sdf_plugin {
	const char *name, *filename;
	uint32_t model, link; /* owner; both SDF_NONE: the world, or an actor */
	bool in_actor;
	const struct sdf_element *element;
};

struct sdf_model {
	const char *name, *scoped;
	uint32_t parent; /* SDF_NONE: a top-level model */
	uint32_t line;
	const char *file;
	bool is_static; /* the flag of this model or of a model around it */
	bool self_collide, allow_auto_disable;
	bool wind; /* <enable_wind> of the model or, if not given, of the model around it */
	struct pose in_parent, in_world;
	uint32_t canonical_link; /* SDF_NONE: none */
	/* Counts for this model and all models nested in it; they are contiguous in struct sdf_world's arrays. A
	 * model stands before the models nested in it: models [index, index + model_count) are the model and its
	 * descendants. */
	uint32_t model_count;
	uint32_t link_first, link_count, joint_first, joint_count, plugin_first, plugin_count;
	const struct sdf_element *element; /* with the changes of an <include>, and without the <include>s in it */
};

struct sdf_frame { /* <frame>: not simulated, but sensors and plug-ins may name it */
	const char *name;
	uint32_t model;                 /* SDF_NONE: the world's */
	uint32_t link;                  /* that it is attached to; SDF_NONE: none */
	struct pose in_model, in_world; /* in_model: for a frame of the world, in the world */
	const struct sdf_element *element;
};

struct sdf_light {
	const char *name, *type; /* directional, point, spot */
	uint32_t line;
	uint32_t link; /* SDF_NONE: the world's */
	struct pose in_world;
	struct sdf_shine shine;
	const struct sdf_element *element;
};

struct sdf_actor {
	const char *name;
	uint32_t line;
	uint32_t plugin_first, plugin_count; /* in world->actor_plugins */
	struct pose in_world;
	const struct sdf_element *element;
};

struct sdf_physics {
	double max_step_size;         /* s, 0.001 */
	double real_time_factor;      /* 1; 0: as fast as possible */
	double real_time_update_rate; /* Hz, 1000; 0: as fast as possible (SDF before 1.11) */
	uint32_t max_contacts;        /* 20 */
	const char *solver;           /* ode/solver/type as written, NULL when the file does not say */
	uint32_t iterations;          /* ode/solver/iters, 50 */
	double sor;                   /* 1.3 */
	double cfm, erp;              /* ode/constraints, 0 and 0.2 */
	double contact_max_correcting_vel, contact_surface_layer; /* 100 m/s, 0.001 m */
	const struct sdf_element *element;                        /* NULL: no <physics> in the file */
};

struct sdf_world {
	const char *name;
	uint32_t line;
	struct vec3 gravity;        /* 0 0 -9.8 */
	struct vec3 wind;           /* <wind><linear_velocity>, m/s; 0 0 0 */
	struct sdf_physics physics; /* the default profile, else the first */
	struct sdf_surroundings surroundings;
	VEC(struct sdf_model) models; /* in file order; see struct sdf_model */
	VEC(struct sdf_link) links;
	VEC(struct sdf_collision) collisions;
	VEC(struct sdf_visual) visuals;
	VEC(struct sdf_sensor) sensors;
	VEC(struct sdf_joint) joints; /* the models' in model order, then the world's own */
	VEC(struct sdf_light) lights;
	VEC(struct sdf_actor) actors;
	VEC(struct sdf_plugin) plugins;       /* the models' in model order, then the world's own */
	VEC(struct sdf_plugin) actor_plugins; /* in the order of the actors */
	VEC(struct sdf_frame) frames;
	const struct sdf_element *element;
};

/* Poses in the world. */
static inline struct pose sdf_link_in_world(const struct sdf_world *world, uint32_t link)
{
	const struct sdf_link *at = &world->links.at[link];
	return pose_mul(world->models.at[at->model].in_world, *at->in_model);
}
static inline struct pose sdf_joint_in_world(const struct sdf_world *world, const struct sdf_joint *joint)
{
	return joint->model == SDF_NONE ? *joint->in_model
					: pose_mul(world->models.at[joint->model].in_world, *joint->in_model);
}
static inline struct pose sdf_collision_in_world(const struct sdf_world *world, uint32_t collision)
{
	const struct sdf_collision *at = &world->collisions.at[collision];
	return pose_mul(sdf_link_in_world(world, at->link), *at->in_link);
}
static inline struct pose sdf_visual_in_world(const struct sdf_world *world, uint32_t visual)
{
	const struct sdf_visual *at = &world->visuals.at[visual];
	return pose_mul(sdf_link_in_world(world, at->link), at->in_link);
}

enum sdf_severity { SDF_WARNING, SDF_ERROR };

struct sdf_message {
	enum sdf_severity severity;
	const char *text; /* "file:line: what is wrong: what was expected", one line */
};

struct sdf {
	const char *path;
	const char *version;    /* as written, "1.6" */
	uint32_t names_version; /* newest version whose rules all names obey: 112, 107 (a name has "::"), 106 (a name
				 * is reserved or used twice) */
	VEC(struct sdf_world) worlds;     /* a model outside of a world gets its own, and .bare_model is set */
	bool bare_model;                  /* also for a light or actor outside of a world */
	const struct sdf_element *root;   /* <sdf>; NULL when the file could not be read */
	VEC(struct sdf_message) messages; /* in the order found */
	uint32_t warning_count, error_count;
	VEC(struct mesh *) meshes;               /* meshes that shapes point to; mesh.id is the index */
	VEC(struct image *) images;              /* likewise */
	uint32_t far_count;                      /* of struct sdf_far */
	VEC(struct texture *) textures;          /* of the visuals' materials */
	struct arena arena;                      /* owns all other data that the members above point to */
	struct load *kept;                       /* private, for sdf_edit(); NULL: it cannot be edited */
	struct sdf_visual_shapes *visual_shapes; /* private, see sdf_put_visual_shapes() */
};

/* The folders that use_environment below means, in the order of the search, separated by colons. The caller frees the
 * text. They are those of GZ_SIM_RESOURCE_PATH, SDF_PATH and IGN_GAZEBO_RESOURCE_PATH, then PREFIX/share for each
 * PREFIX of AMENT_PREFIX_PATH, then those of ROS_PACKAGE_PATH; then the caches of Fuel: those of GZ_FUEL_CACHE_PATH and
 * IGN_FUEL_CACHE_PATH, and .gz/fuel and .ignition/fuel of the home folder if they exist. */
char *sdf_environment_folders(void);

struct sdf_options;
/* The folders in which files are searched for: options->resource_paths, then, if options->use_environment is set, those
 * of the environment. The list ends with NULL; list and texts live in the arena. */
const char *const *sdf_folders(const struct sdf_options *options, struct arena *arena);

/* Whether the meshes and images of visuals are read, too. */
enum sdf_visuals {
	SDF_VISUALS_UNREAD,
	SDF_VISUALS_IF_SEEN, /* of a world that has a sensor which sees them, sdf_sees() */
	SDF_VISUALS_READ,
};

struct sdf_options {
	/* Folders for model:// and relative file names, NULL-terminated. They are searched after the folder of the
	 * file that contains the name. If use_environment is set, sdf_environment_folders() are searched last. */
	const char *const *resource_paths;
	bool use_environment;
	/* All files are read through it; NULL: from the file system, where sdf_allow() allows it. */
	struct files *files;
	struct importer *importer; /* reads meshes and images (mesh/importer.h); NULL: an importer for this load only */
	enum sdf_visuals visuals;
	/* Meshes and heightmaps of collisions of static models that levels name are not read (struct sdf_far), if a box
	 * that holds them can be found in less time. `files` must be set. */
	bool leave_far;
	bool forget_far; /* and their bytes are not kept: files_leave() */
	bool apart_far;  /* and they are marked: files_set_apart() */
	bool find;       /* sdf_load_file() searches for a world of that name with sdf_find_file() */
	/* To add one entity to a running world. If any of the next three is set (NULL: not set), the text must hold
	 * exactly one model, light or actor: in <sdf>, as the root element itself (read as SDF 1.12, with a warning),
	 * or, for a model, as the only model of a <world>, whose other elements are ignored. The name and pose below
	 * replace those of the entity, as an <include> does: scoped names follow, and a placement_frame is the frame
	 * that the pose places. The result has one world around it and .bare_model set. TROUPE_EWORLD: any other
	 * text, a name that is empty, reserved or contains "::", a pose that is not finite or beyond SDF_LENGTH_MAX.
	 * Name and pose are copied. */
	bool bare;
	const char *bare_name;
	const struct pose *bare_pose; /* in the world */
};

/* Whether this is the name of the world plug-in that declares performers and levels. */
bool sdf_declares_levels(const char *plugin_name);

/* Adds the places of which the files of a world may be read: its own folder (files_allow_around()), the resource paths,
 * the folders of the environment if the options use them, and those of the worlds that come with troupe. path: of the
 * world's file, or the name of a world if options->find is set; NULL: it has no file. */
void sdf_allow(const char *path, const struct sdf_options *options, struct files_places *places);

/* Finds the file that a person means by a name such as "warehouse"; such names end in `ending` (".sdf"). An address of
 * Fuel is searched for in the caches only (sdf/fuel.h). The path itself is tried first, then the path with the ending;
 * then the same in the resource paths, in the folders of the environment, and among the worlds that come with troupe.
 * The caller frees the result; NULL: not found. */
char *sdf_find_file(const char *name, const char *ending, const struct sdf_options *options);

/* Loads a file. Collects many errors: they are in (*ret_sdf)->messages, the first also in *error. TROUPE_OK, also if
 * there are warnings; TROUPE_EWORLD, TROUPE_EIO or TROUPE_ELIMIT otherwise. In both cases *ret_sdf is set, and the
 * caller frees it; after an error it holds the messages but no worlds. */
troupe_status sdf_load_file(
	const char *path, const struct sdf_options *options, struct sdf **ret_sdf, struct troupe_error *error);
/* The same from memory; path is used in messages and for relative file names. */
troupe_status sdf_load_text(const char *text, size_t bytes, const char *path, const struct sdf_options *options,
	struct sdf **ret_sdf, struct troupe_error *error);
void sdf_free(struct sdf *sdf); /* NULL is fine */
/* The meshes and images of the visuals of a world that was loaded without them. */
struct sdf_visual_shapes;
/* Reads them through options->files, while other threads read the world. A file that cannot be read leaves its visual
 * as it is. */
struct sdf_visual_shapes *sdf_read_visual_shapes(const struct sdf_world *world, const struct sdf_options *options);
/* The visuals have them from now on, and the sdf, of whose worlds it is, owns them. */
void sdf_put_visual_shapes(struct sdf *sdf, struct sdf_world *world, struct sdf_visual_shapes *read);
void sdf_free_visual_shapes(struct sdf_visual_shapes *read); /* NULL is fine; not after sdf_put_visual_shapes() */
/* Gives the entity of a bare sdf that was loaded without error another name and pose (see bare_name, bare_pose): the
 * result is what sdf_load_text() would give. The elements and meshes that are in memory are used again; no file is
 * looked at if options->files, the set that the sdf was loaded with, is closed. The options resource_paths and
 * use_environment must be the same as for the load. Errors as sdf_load_text(); after one the sdf has no worlds. */
troupe_status sdf_edit(struct sdf *sdf, const struct sdf_options *options, struct troupe_error *error);
/* Frees the memory that only sdf_edit() needs; it must not be called any more. */
void sdf_settle(struct sdf *sdf);

/* One line per entity, world frame, six decimals sorted: the form that `troupe print --flat` shows. */
void sdf_print_flat(const struct sdf *sdf, struct text *out);
/* SDF that loads to the same worlds, in version 1.9 unless the file needs another one: poses resolved, includes
 * expanded, plug-ins and unknown elements kept. */
void sdf_print(const struct sdf *sdf, struct text *out);

/* The elements inside an element, as XML. */
void sdf_print_inside(const struct sdf_element *element, struct text *out);

/* A light of a link that is not as in its file. */
struct sdf_light_now {
	uint32_t light; /* in the world's lights */
	struct pose in_link;
	struct sdf_shine shine;
};

typedef VEC(struct sdf_light_now) sdf_lights_now;

/* How a world is now, where that differs from its file. Names of meshes become absolute paths. */
struct sdf_now {
	struct vec3 gravity;
	double step_s;
	const struct pose *poses; /* [models] of top-level models that are not gone, in the world */
	const bool *gone;         /* [models] top-level models that are not there any more */
	const bool *gone_actors;  /* [actors] */
	const sdf_lights_now *link_lights;
	const char *lights; /* the world's lights and all other entities that the file does not have, as XML */
};
/* SDF of the world as it is now: it loads, and its top-level models are at the given poses. Their joints are as in the
 * file. */
void sdf_print_now(const struct sdf *sdf, const struct sdf_world *world, const struct sdf_now *now, struct text *out);
/* SDF with one top-level model of the world as the file has it, at its pose there: sdf_load_text() makes the same model
 * of it, if the path given there is in the folder of sdf->path. False: the world has no such model. */
bool sdf_print_model(const struct sdf *sdf, const struct sdf_world *world, const char *name, struct text *out);
/* For sdf_now.lights: the model or actor of a bare sdf, at the pose in the world, with these lights; and a light. */
void sdf_print_bare(
	const struct sdf_world *bare, struct pose pose, const sdf_lights_now *link_lights, struct text *out);
void sdf_print_light(const char *name, struct pose pose, const struct sdf_shine *shine, struct text *out);

/* What a user may write in place of a <plugin> of another simulator, as the end of a message: ": publish ...". "":
 * nothing is known. */
const char *sdf_plugin_advice(const struct sdf_element *plugin);

/* An element of the file that has no effect here. */
struct sdf_ignored {
	const char *parent, *name;       /* name of the element around it, and its own name */
	const struct sdf_element *first; /* the first such element */
	uint32_t count;
	bool known; /* SDF has such an element; false: it is unknown */
	bool aside; /* the motion of the models does not depend on it: pictures, sound, wall time */
};

/* The ignored elements, in the order of the file, one entry for each parent and name. Not listed: prefixed elements,
 * and elements in plug-ins, shapes, actors and gui. For a file that could not be read as SDF: the
 * elements of this file that SDF does not know. The array has *ret_count entries and is freed with free(); the names
 * belong to the sdf. */
struct sdf_ignored *sdf_list_ignored(const struct sdf *sdf, uint32_t *ret_count);

const char *sdf_joint_kind_text(enum sdf_joint_kind kind);
const char *sdf_shape_kind_text(enum sdf_shape_kind kind);
/* Whether its readings depend on visuals: cameras and lidars. */
bool sdf_sees(enum sdf_sensor_kind kind);
/* Whether some sensor of the world does so. */
bool sdf_world_sees(const struct sdf_world *world);
/* The topic that the file gives a sensor, as written; NULL: none. */
const char *sdf_sensor_topic(const struct sdf_sensor *sensor);

#endif
