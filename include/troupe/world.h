/* The parts of a world (troupe_scene) and their state at a step (troupe_snapshot), for programs that watch or control
 * the world.
 *
 * A handle names a model, a link, a joint or a sensor for as long as its model exists. It is found by name once; its
 * use then needs no search. When a model is removed, its handles become stale, and stay so if another model takes its
 * name. A reset that brings the model back makes them valid again. Handles are also valid in a server that was resumed
 * from a state of this server. When a world takes up a state while it runs (/world/NAME/resume), handles of models that
 * exist in that state are valid; models that are created later may get the handles of models that were created after
 * the state was saved. In the same way models that are created after a reset may get the handles of models that were
 * created before it: the same ones, if the same commands are given again. A handle of zeros is no handle. A nested
 * model has no handle of its own: it is a part of the model around it.
 *
 * Units: metres, kilograms, seconds, radians, newtons. Poses and velocities are in the world's axes unless the
 * comment says otherwise. Quaternions have unit length, up to rounding. */
#ifndef TROUPE_WORLD_H
#define TROUPE_WORLD_H

#include <troupe/base.h>
#include <troupe/geometry.h>
#include <troupe/look.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct troupe_server;

typedef struct troupe_model {
	uint32_t at, born, world;
} troupe_model;
typedef struct troupe_link {
	uint32_t at, born, world;
} troupe_link;
typedef struct troupe_joint {
	uint32_t at, born, world;
} troupe_joint;
typedef struct troupe_sensor {
	uint32_t at, born, world, index;
} troupe_sensor;

/* --- what there is ------------------------------------------------------------------------------------------------ */

#define TROUPE_NONE UINT32_MAX /* in place of an index: none */

struct troupe_scene_model {
	troupe_model handle;
	const char *name;
	uint64_t id; /* as the services `remove` and `set_pose` take it */
	bool is_static, performer, actor;
	struct troupe_pose pose; /* of a static model: in the world; of other models: in the file, or at its creation */
	uint32_t link_first, link_count;   /* in the scene's links */
	uint32_t joint_first, joint_count; /* in the scene's joints; joints of the world itself are in no model's
					    * range */
};

struct troupe_scene_link {
	troupe_link handle;
	const char *name;            /* in its model: "wheel"; in a nested model: "arm::hand" */
	uint32_t model;              /* index in scene.models */
	struct troupe_pose in_model; /* its frame in the model's frame, at the pose of the file */
	double mass; /* of the rigid body that the link is a part of: links that fixed joints connect are one body;
		      * static: 0 */
	uint32_t shape_first, shape_count;
	uint32_t light_first, light_count; /* in the scene's lights */
	/* Index in scene.links: the first link of the rigid body that the link is a part of. The link never moves in
	 * its frame. The first link has its own index. */
	uint32_t fixed_to;
};

typedef enum troupe_joint_kind {
	TROUPE_JOINT_REVOLUTE, /* continuous joints too */
	TROUPE_JOINT_PRISMATIC,
	TROUPE_JOINT_SCREW,
	TROUPE_JOINT_UNIVERSAL,
	TROUPE_JOINT_REVOLUTE2,
	TROUPE_JOINT_BALL,
	TROUPE_JOINT_GEARBOX,
	/* between different models, or read by a force-torque sensor; other fixed joints make their links one body */
	TROUPE_JOINT_FIXED,
} troupe_joint_kind;

struct troupe_scene_axis {
	struct troupe_vec3 direction; /* at the pose in the file */
	double lower, upper;          /* rad or m; -INFINITY, INFINITY: no stop */
	double velocity, effort;      /* the largest allowed; INFINITY: no limit */
};

struct troupe_scene_joint {
	troupe_joint handle;
	const char *name; /* in its model, as for a link; for a joint of the world itself its name in the world */
	troupe_joint_kind kind;
	uint32_t model;         /* the model whose state holds the joint: that of the child */
	uint32_t parent, child; /* indices in scene.links of the links that the file names; TROUPE_NONE: the world */
	uint32_t axis_count;    /* 0 .. 2 */
	const struct troupe_scene_axis *axis; /* [axis_count]; joints with equal axes share them */
};

typedef enum troupe_shape_kind {
	TROUPE_SHAPE_BOX,       /* size: edges */
	TROUPE_SHAPE_SPHERE,    /* size.x: radius */
	TROUPE_SHAPE_CYLINDER,  /* size.x: radius, size.z: length, along z */
	TROUPE_SHAPE_CAPSULE,   /* the same; length of the cylindrical part */
	TROUPE_SHAPE_CONE,      /* size.x: radius of the base, size.z: height, apex at +z, centred */
	TROUPE_SHAPE_ELLIPSOID, /* size: radii */
	TROUPE_SHAPE_PLANE,     /* size.x, size.y: edges of the part to draw; normal: `normal` */
	TROUPE_SHAPE_MESH,      /* uri; size: scale; for a collision also points and triangles */
	TROUPE_SHAPE_HEIGHTMAP, /* uri; size */
	TROUPE_SHAPE_POLYLINE,  /* for a collision: points and triangles */
} troupe_shape_kind;

/* What a shape is. Equal shapes share one form. */
struct troupe_form {
	const char *name; /* of the <visual> or <collision> */
	bool collision;   /* a <collision>; otherwise a <visual> */
	troupe_shape_kind kind;
	struct troupe_pose in_link;
	struct troupe_vec3 size, normal;
	float colour[4]; /* red, green, blue, alpha, 0 .. 1: the diffuse colour in the file, or 0.7 0.7 0.7 1 */
	/* of a <visual> */
	const struct troupe_material *material; /* NULL: none given */
	double transparency;                    /* 0: opaque .. 1 */
	double laser_retro;
	int32_t layer;
	bool cast_shadows;
	const char *uri, *path;   /* as in the file, and the local file that it means; NULL: none */
	const char *submesh;      /* of a mesh: the part of the file that is used; NULL: all of it */
	bool submesh_centred;     /* the part is centred on its box */
	struct troupe_vec3 shift; /* of a heightmap: where its centre at height 0 is */
	const double *points;     /* [3 * point_count] in the shape's frame, scaled; NULL: not known */
	uint32_t point_count;
	const uint32_t *triangles; /* [3 * triangle_count] indices of points */
	uint32_t triangle_count;
	const struct troupe_ground_layer *ground; /* [ground_count] of a heightmap of a <visual> */
	uint32_t ground_count;
};

struct troupe_scene_shape {
	const struct troupe_form *form;
	uint32_t link; /* index in scene.links */
};

struct troupe_scene_sensor {
	troupe_sensor handle;
	const char *name; /* in its model, with its link or joint: "base::imu" */
	const char *type; /* in SDF: "imu", "gpu_lidar" */
	uint32_t model;   /* index in scene.models */
	uint32_t link;    /* index in scene.links; TROUPE_NONE: a sensor of a joint */
	uint32_t joint;   /* index in scene.joints; TROUPE_NONE: a sensor of a link, or of a joint that moves nothing */
	double rate_hz;   /* in simulated time; 0: it measures in each state */
	struct troupe_pose in_link; /* of its frame (of a camera: of its picture's) in the link, or in the joint's */
	/* The names of the numbers of its struct troupe_reading. None: a camera, or a type that is not simulated. See
	 * LOGS in troupe-recordings(5). */
	uint32_t number_count;
	const char *const *numbers;
};

struct troupe_scene_light {
	const char *name;
	uint32_t link; /* index in scene.links of the link that carries it; TROUPE_NONE: a light of the world */
	uint32_t at;   /* of a light of the world: its place, which it keeps; other lights have no place: 0 */
	struct troupe_pose pose; /* in the link, or in the world */
	struct troupe_light shine;
};

/* Immutable. A world gets a new scene when its models or lights change; a later scene has a higher epoch. */
struct troupe_scene {
	const char *world;
	uint64_t epoch;
	uint32_t model_count, link_count, joint_count, shape_count, light_count, sensor_count;
	/* Models that can move, and performers, come first (mobile_count, moving_links), in file order; a created
	 * model takes the lowest place that is free. Static models follow. */
	uint32_t mobile_count, moving_links;
	const struct troupe_scene_model *models;
	const struct troupe_scene_link *links;
	const struct troupe_scene_joint *joints;   /* joints of models that can move, then joints of the world itself */
	const struct troupe_scene_shape *shapes;   /* for each link: collisions, then visuals */
	const struct troupe_scene_light *lights;   /* those of the world, then those of links */
	const struct troupe_scene_sensor *sensors; /* of each model in turn */
	struct troupe_surroundings surroundings;
};

/* --- how it is ---------------------------------------------------------------------------------------------------- */

struct troupe_odometry { /* of the first system of the model that does dead reckoning (DiffDrive) */
	bool given;
	double x, y, yaw;                    /* relative to the pose in state 0, in its frame; yaw: -pi .. pi */
	double linear, angular;              /* m/s forward, rad/s to the left, as measured */
	double drift_m, drift_rad, tilt_rad; /* difference to the true pose of the model: see troupe-report(5) */
	double height_m;                     /* of the model above the plane in which its odometry reckons */
};

struct troupe_model_state {
	const char *name;          /* the scene's */
	struct troupe_pose pose;   /* of the model's frame in the world */
	struct troupe_twist twist; /* of that frame */
	uint32_t secondary;        /* the secondary that simulates the model; 0: none, or the single runner */
	bool loaded;
	bool asleep; /* at rest, and not stepped until a contact or a command wakes it: see SLEEP in troupe-sdf(5) */
};

struct troupe_link_state {
	struct troupe_pose pose;   /* of the link's frame in the world */
	struct troupe_twist twist; /* of that frame */
};

struct troupe_joint_state {
	double position[2]; /* by axis: rad, with full turns counted, or m; relative to the pose in the file */
	double velocity[2];
	/* N m or N along the axis: what the joint exerted on the child in the last step, as the sum of motor, spring,
	 * damper, friction and stop. 0 unless troupe_server_def.observe has TROUPE_OBSERVE_EFFORTS, or messages with
	 * efforts are sent. */
	double effort[2];
};

#define TROUPE_READING_NUMBERS 10

/* The last sample of a sensor that is held (troupe_hold_sensor()). A whole scan or picture is on the sensor's topic. */
struct troupe_reading {
	bool given;                             /* the sensor has measured since it is held, in this server */
	uint64_t step;                          /* the state that it measured */
	double time_s;                          /* simulated, of this state */
	double numbers[TROUPE_READING_NUMBERS]; /* with noise; see troupe_scene_sensor.numbers. NAN: there is none */
};

/* Two collisions that touched at the beginning of the last step that moved one of their models. The first state of a
 * server, and of observing, has none; the next one has those of sleeping models, too. */
struct troupe_contact {
	uint32_t shapes[2]; /* indices in scene.shapes; TROUPE_NONE: a shape of an actor */
	struct troupe_vec3 position;
	struct troupe_vec3 normal; /* unit, from the second into the first */
	double depth;              /* m */
};

/* The whole state of a world, immutable, protected by RCU: it and its scene are valid only inside the callback. */
struct troupe_snapshot {
	const char *world; /* the server's string */
	uint64_t step;
	double time_s;
	bool paused;
	const struct troupe_scene *scene;
	/* scene->mobile_count, moving_links, joint_count, sensor_count */
	uint32_t model_count, link_count, joint_count, sensor_count;
	const struct troupe_model_state *models; /* of scene->models[i] */
	const struct troupe_odometry *odometry;  /* of scene->models[i]; most models have none */
	const struct troupe_link_state *links;   /* of scene->links[i] */
	const struct troupe_joint_state *joints; /* of scene->joints[i] */
	const struct troupe_reading *readings;   /* of scene->sensors[i] */
	/* 0 unless troupe_server_def.observe has TROUPE_OBSERVE_CONTACTS. Contacts of the same two shapes are
	 * adjacent. The order is that of the places of models in the world; it is the same for any number of
	 * secondaries. */
	uint32_t contact_count;
	const struct troupe_contact *contacts;
	uint32_t secondaries;
	const double *busy; /* [secondaries] share of the time since the previous snapshot in which each was at work */
};

/* Any thread, also while the server runs. fn is called with the newest snapshot of each world, one after the other;
 * it blocks no runner. While the server runs, a snapshot is made at the first step boundary after a call asked for
 * one, so a call sees the state at about the time of the previous call; otherwise it sees the present state. During a
 * server's first run there is no snapshot until the first step boundary after the first call, and fn is not called: a
 * program that makes one call before the run always gets one. */
TROUPE_API void troupe_server_snapshot(
	struct troupe_server *server, void (*fn)(void *ctx, const struct troupe_snapshot *snapshot), void *ctx);

/* Inside the callback, by handle. NULL: the handle is stale, or of another world. Static models and their links have
 * no state. */
TROUPE_API const struct troupe_model_state *troupe_snapshot_model(
	const struct troupe_snapshot *snapshot, troupe_model model);
TROUPE_API const struct troupe_link_state *troupe_snapshot_link(
	const struct troupe_snapshot *snapshot, troupe_link link);
TROUPE_API const struct troupe_joint_state *troupe_snapshot_joint(
	const struct troupe_snapshot *snapshot, troupe_joint joint);
TROUPE_API const struct troupe_reading *troupe_snapshot_sensor(
	const struct troupe_snapshot *snapshot, troupe_sensor sensor);

/* Asks for a snapshot, and returns the scene of a world's newest snapshot. The caller may keep the scene, also after
 * the server is destroyed, and calls troupe_scene_release() once. NULL: there is no such world, or no snapshot yet.
 * Any thread. */
TROUPE_API const struct troupe_scene *troupe_server_scene(struct troupe_server *server, uint32_t world);
/* NULL is fine. Any thread. */
TROUPE_API void troupe_scene_release(const struct troupe_scene *scene);

/* --- between steps ------------------------------------------------------------------------------------------------ */

/* The functions below read the present state without a snapshot. The thread that uses the server calls them while the
 * server does not run, and inside def.on_step. */

/* The whole present state. troupe_server_snapshot() may show an earlier state while the server runs; this function
 * does not. busy is NULL. */
TROUPE_API void troupe_server_look(
	struct troupe_server *server, void (*fn)(void *ctx, const struct troupe_snapshot *snapshot), void *ctx);
/* The epoch that the scene in a snapshot of the present state has; 0: there is no such world. */
TROUPE_API uint64_t troupe_server_scene_epoch(const struct troupe_server *server, uint32_t world);
/* Simulated time that the next step of a world takes, unless it is paused; 0: there is no such world. */
TROUPE_API double troupe_server_step_s(const struct troupe_server *server, uint32_t world);

/* Returns a handle of zeros if there is no such name. A link or joint is found by its name in the model ("hand::palm"
 * in the nested model hand), or by its full name ("arm::hand::palm"). */
TROUPE_API troupe_model troupe_find_model(const struct troupe_server *server, uint32_t world, const char *name);
TROUPE_API troupe_link troupe_find_link(const struct troupe_server *server, troupe_model model, const char *name);
TROUPE_API troupe_joint troupe_find_joint(const struct troupe_server *server, troupe_model model, const char *name);
/* A joint of the world itself. */
TROUPE_API troupe_joint troupe_find_world_joint(const struct troupe_server *server, uint32_t world, const char *name);

/* By its name with its link or joint ("base::imu"). */
TROUPE_API troupe_sensor troupe_find_sensor(const struct troupe_server *server, troupe_model model, const char *name);

/* A sensor that is held measures from the next step on, whether its topic has a subscriber or not. It is held
 * until its model is removed. False: the handle is stale, or sensors of this type are not simulated. No state depends
 * on what is held. */
TROUPE_API bool troupe_hold_sensor(struct troupe_server *server, troupe_sensor sensor, bool on);

/* False, and nothing is written: the handle is stale. Static models and their links can be read too. */
TROUPE_API bool troupe_get_model(
	const struct troupe_server *server, troupe_model model, struct troupe_model_state *ret_state);
/* False, and nothing is written: the handle is stale, or the model has no odometry. */
TROUPE_API bool troupe_get_odometry(
	const struct troupe_server *server, troupe_model model, struct troupe_odometry *ret_odometry);
TROUPE_API bool troupe_get_link(
	const struct troupe_server *server, troupe_link link, struct troupe_link_state *ret_state);
TROUPE_API bool troupe_get_joint(
	const struct troupe_server *server, troupe_joint joint, struct troupe_joint_state *ret_state);
/* False also: the sensor has not measured since it is held. */
TROUPE_API bool troupe_get_sensor(
	const struct troupe_server *server, troupe_sensor sensor, struct troupe_reading *ret_reading);

/* Many at once, for programs in languages in which a call costs more than the work that it does: the same for each of
 * `count` handles, into arrays of the caller with as many elements. Return the number of handles that are not stale;
 * all numbers of a stale handle are NAN. poses, twists: may be NULL. */
TROUPE_API uint32_t troupe_get_models(const struct troupe_server *server, const troupe_model *models, uint32_t count,
	struct troupe_pose *ret_poses, struct troupe_twist *ret_twists);
TROUPE_API uint32_t troupe_get_links(const struct troupe_server *server, const troupe_link *links, uint32_t count,
	struct troupe_pose *ret_poses, struct troupe_twist *ret_twists);
TROUPE_API uint32_t troupe_get_joints(const struct troupe_server *server, const troupe_joint *joints, uint32_t count,
	struct troupe_joint_state *ret_states);

#ifdef __cplusplus
}
#endif
#endif
