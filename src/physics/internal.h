/* Declarations that the files of this folder share. */
#ifndef PHYSICS_INTERNAL_H
#define PHYSICS_INTERNAL_H

/* Most of a step's time is in this folder; see bench/NOTES.md. */
#ifdef __OPTIMIZE__
#pragma GCC optimize("O3")
#endif

#include "config.h"

#include "collide/collide.h"
#include "physics/physics.h"
#include "physics/sets.h"
#include "physics/worker.h"

struct assembly;
struct exact;

#ifdef ODE_IS_PRIVATE
#include "private_ode/names.h"
#endif
#include <ode/ode.h>
#include <stdatomic.h>

enum {
	PHYSICS_EXACT_ROWS = 96,               /* islands of up to this many rows are solved exactly; bench/NOTES.md */
	PHYSICS_EXACT_ROWS_MOST = 1000,        /* the same in a world that names the exact solver */
	PHYSICS_KEEP_STEPS = 500,              /* steps for which a group is kept after its models came apart */
	PHYSICS_CONTACTS_MAX = NOTES_PAIR_MAX, /* between two geoms */
};
#define PHYSICS_CFM_MIN 1e-10 /* 0 would leave redundant constraints singular */
/* Greatest speeds at which the position error of a coupling is corrected: m/s, rad/s. */
#define PHYSICS_SLIDE_BACK_MAX 1.0
#define PHYSICS_TURN_BACK_MAX 10.0
#define PHYSICS_TURN_FAR 0.1       /* rad: a body that turns farther in a step is turned exactly by instance_turn() */
#define PHYSICS_STILL_S 0.5        /* how long a model must have been still before it may sleep */
#define PHYSICS_STATIC_MARGIN 0.25 /* m: how far a model may move before its static neighbours are looked up again */

/* How two surfaces that touch combine, in a step of dt. */
struct surface_mix {
	dSurfaceParameters surface;   /* without soft_erp and the direction flag: these are set contact by contact */
	double erp, min_depth, reach; /* reach: m by which the step may correct a contact */
	double push;                  /* the same as a rate: m/s */
	double dt;                    /* 0: not computed yet */
	bool apart;                   /* their masks allow no contact */
	bool directed;                /* one of them gives the first friction direction */
	bool spring;                  /* one of them gives a stiffness: contacts are springs, not rigid */
};

struct surfaces {
	uint32_t kinds;            /* kinds of surface in the scene */
	struct surface_mix *mixes; /* [kinds squared] */
	struct surface_mix other;  /* the last mix of a kind that is not in `mixes` */
};

/* How a joint is driven and its state kept. */
enum joint_way {
	JOINT_ANY,
	JOINT_FREE,  /* no motor, spring or friction; no position is kept */
	JOINT_PLAIN, /* a hinge on which only a motor or friction acts, at any angle and speed: most wheels */
};

struct axis_setting { /* NaN: not set yet */
	double velocity, force_max, softness;
	double low, high, stop_erp, stop_cfm;
	double force; /* added to the force of the solver's row; not for a plain joint */
	double held;  /* rate at which the axis is held in this step, because it would exceed its limit; NaN: it is not
		       */
};

/* What acts on an axis in a step, for lanes/: see LANES_TARGET and LANES_AXIS_MASS there. */
struct axis_law {
	bool row; /* it needs a row */
	double target, soft, lo, hi, low, high, low_soft, high_soft;
	double mass, push;
};

enum { COUPLING_BODIES_MAX = 4 };

/* A linear function of the velocities of some bodies that is brought to `target`; see couple.c. */
struct coupling {
	uint32_t joint, word; /* state word of its force, counted from the first word of the joint's model */
	uint32_t axis;        /* mimic: the axis that follows; SCENE_NONE: a thread or gears */
	uint32_t count, body[COUPLING_BODIES_MAX];
	struct vec3 linear[COUPLING_BODIES_MAX], angular[COUPLING_BODIES_MAX];
	double target;   /* rad/s or m/s */
	double mobility; /* velocity per unit of impulse if its bodies were free */
	double impulse;  /* of the try, against the function: N s or N m s */

	/* the search */
	double tried;     /* error of the rate after the try */
	double at, left;  /* the point reached, and the error there */
	double best;      /* the point with the least error */
	double direction; /* direction of the tries from `at` */
	uint32_t root;    /* its island */
	bool leads;       /* the first of its island; only it uses the fields below */
	int phase;
	uint32_t rounds, directions, narrowed;
	double reach, weight, best_left;
	double low, low_left, high, high_left;
	bool was_low;
};

struct joint_setting { /* current settings of ODE's motor and stops */
	enum joint_way way;
	double effort, friction, velocity; /* of a plain one; the last two while it is not driven */
	struct axis_setting axis[2];
};

/* Memory for ODE's objects; see ode_block.c. */
struct ode_block {
	char *memory; /* aligned as ODE's objects are */
	size_t bytes, used;
	uint32_t live; /* objects in it */
};

/* The ODE objects of one model that this runner simulates. The struct and its arrays are one piece of memory. A geom is
 * made when it is first placed, with --solver ode at once, and lives as long as the instance; bodies and joints are
 * made anew whenever its group is. */
struct instance {
	uint32_t model;
	uint32_t group;                     /* SCENE_NONE until the next step */
	dBodyID *bodies;                    /* [model's body_count] */
	dGeomID *geoms;                     /* [model's geom_count] 0: not made yet */
	dJointID *joints;                   /* [model's joint_count]; 0: ODE has no such joint */
	struct joint_setting *settings;     /* [model's joint_count] NULL until ODE has joints */
	struct joint_setting *own_settings; /* the same, if they are a piece of memory of their own */
	dJointFeedback *feedback;           /* [model's joint_count] ODE writes it; NULL: no joints are observed */
	struct aabb *boxes;                 /* [model's geom_count] of state k */
	bool *centred;                      /* [model's geom_count] at their body's origin */
	bool *placed;                       /* [model's geom_count] the geom is at its pose in state k */
	struct aabb box;                    /* of the model in state k */
	double inverse_mass;                /* 1 / kg, of all its bodies together; 0: some body is kinematic */
	bool boxes_known;
	uint32_t measured_ns; /* see physics_measured_ns() */
	struct aabb near;     /* `statics` lists all present static geoms that overlap this box */
	bool statics_known;
	bvh_values statics;              /* geom indices, ascending */
	const struct worker *statics_of; /* the last worker to use the list: it has all their ODE geoms */
	uint32_t joint_rows;             /* of all its joints, and of added mass */
	dJointID *added;                 /* [added_rows()] rows of added mass, body by body */
	bool has_added;                  /* some body has added mass */
	VEC(uint64_t) joined; /* pairs of bodies that joints connect, ascending; only if it collides with itself */
	bool self_collides;
	bool rates_limited; /* some axis has a limit of its rate */
	bool kinematic;     /* some body is kinematic */
	bool commanded;     /* all its bodies are, and no joint is at them: no force matters to it */
	bool held;          /* to the world, by a joint or as a kinematic body */
	bool touched;       /* something touched it in this step */
	bool disturbed;     /* in this step: see physics_disturb() */
	bool spins;         /* some body turned far in this step: PHYSICS_TURN_FAR */
	bool asleep;
	bool is_near;                           /* scratch of ahead.c */
	uint32_t set;                           /* in physics.touching */
	struct ode_block for_geoms, for_bodies; /* the latter for joints as well */
};

struct world_joint { /* one of the world's own joints; both its bodies are in the group */
	uint32_t index;
	dJointID id;
	struct joint_setting setting;
	dJointFeedback *feedback; /* as in struct instance */
};

struct attachment_joint {   /* all its bodies are in the group */
	uint32_t index;     /* in scene.attachments */
	uint32_t bodies[2]; /* as in struct scene_attachment */
	dJointID id;
};

struct ode_memory { /* working memory in which ODE steps */
	dWorldID ode_world;
	dThreadingImplementationID threading;
};

/* Models that may touch. */
struct group {
	indices members;    /* models; empty: the slot is free */
	uint32_t ode_world; /* in physics.ode_worlds, while there are members */
	uint32_t bodies;    /* bodies of its members when it entered that ODE world */
	uint32_t rows;      /* of its constraints in this step */
	VEC(struct world_joint) world_joints;
	VEC(struct attachment_joint) attachments;
	const struct physics_pair *pairs; /* of this step; in physics.grouped */
	uint32_t pair_count;
	VEC(struct assembly *) assemblies;
	bool assembled;                /* they are known */
	uint32_t row_first, row_count; /* contacts of this step, in worker.rows_of_contacts */
	bool in_ode;                   /* ODE has bodies and joints of it */
	bool alone;                    /* one model, which is commanded: ODE has no bodies of it */
	uint64_t loose_since;          /* step in which it was first seen as more than one set; 0: it is one set */
};

/* An ODE world and the groups that are stepped in it. */
struct ode_world {
	dWorldID id;
	dThreadingImplementationID threading;
	const struct ode_memory *memory; /* of the worker that stepped it last; NULL: none has yet */
	VEC(uint32_t) groups;
	uint32_t bodies; /* of its groups */
	bool open;       /* in physics.open_ode_worlds */
	bool ahead;      /* in physics.ahead: it takes the steps of a window by itself, and no group enters it */
};

struct static_geom { /* of one worker: two threads must not use one ODE geom */
	dGeomID geom;
	uint32_t placed;    /* physics.present of its model when it was made */
	struct vec3 normal; /* planes */
	double offset;
	dVector4 plane;  /* the same as ODE has it, with a normal that it has made a unit vector */
	struct aabb box; /* scene_exact_box() of the geom, if it is on */
};

/* A body at the beginning of a step: its state k with the velocity that commands set, and the forces that act on it in
 * the step, without gravity. */
struct body_at_hand {
	struct vec3 p;
	struct quat q;
	struct vec3 v, w, force, torque;
};

/* A contact of the step: three rows. The rate along the normal is erp depth / dt - softness force, unless the contact
 * parts. The first of the two bodies is pushed along the normal. */
struct contact_row {
	uint32_t geoms[2], bodies[2]; /* bodies: SCENE_NONE: static */
	struct vec3 at, normal;
	struct vec3 first;           /* direction of friction; zero: any */
	double depth, erp, softness; /* depth: m that the step corrects a part of; softness: m/s per N */
	double overlap, push;        /* m, with the depth that need not be corrected; m/s at which it may be */
	double mu[2];
	double motion[2],
		slip[2]; /* m/s wanted across the normal, and m/s per N; in the first direction and across it */
	double bounce, bounce_rate;
	double rolling, spinning;            /* m: torque about directions across the normal, and about it, per N */
	bool moves, slips, bounces, resists; /* the members for it are set */
	bool spring;                         /* see struct surface_mix */
};

typedef VEC(struct contact_row) contact_rows;

enum contact_part { CONTACT_ALL, CONTACT_DEEPEST, CONTACT_NONE }; /* which contacts of a pair are made */

struct geom_pair {
	uint64_t key;
	uint32_t a, b; /* geoms, a < b */
	enum contact_part part;
};

/* The islands that a pass over the present ODE world solves. A step begins with a first pass over all islands. When it
 * fails, each island that is to be solved exactly has a pass alone. A last pass over all islands then solves the failed
 * ones iteratively. */
struct solver_pass {
	bool again;     /* not the first pass: solver_set_lost() applies */
	uint32_t alone; /* root of the only island that is stepped; SCENE_NONE: all islands */
};

struct island_join {
	uint32_t a, b; /* bodies; one of them may be SCENE_NONE */
	uint32_t rows;
};

/* The models of one secondary, and the groups and ODE worlds in which they are stepped. Workers write to what belongs
 * to the ODE world that they step, and to the fields marked so. */
struct physics {
	const struct scene *scene;
	struct state *state;
	const struct control *control;
	struct physics_options options;
	uint64_t regroups;         /* since the start */
	_Atomic bool gave_up;      /* ODE left a step by longjmp: no object may be freed. Writers: workers */
	_Atomic bool abandoned;    /* some worker gave this step up: see physics_options.stop. Writers: workers */
	_Atomic uint32_t diverged; /* the lowest model that diverged in this step. Writers: workers */
	uint64_t step;             /* counts steps; only for keeping groups */
	double dt;                 /* of this step */

	struct instance **instances; /* [room.models], NULL: not taken */
	indices taken;               /* models */
	indices awake;               /* models taken that are stepped */
	uint32_t taken_bodies;
	bool shared; /* see physics_share() */
	VEC(struct group) groups;
	VEC(uint32_t) free_groups;
	VEC(struct ode_world) ode_worlds;
	VEC(uint32_t) free_ode_worlds;        /* without groups */
	VEC(uint32_t) open_ode_worlds;        /* with room for small groups; the last is filled first */
	VEC(uint32_t) busy_ode_worlds;        /* with groups */
	VEC(struct physics_pair) pairs;       /* pairs of the last step */
	VEC(struct physics_pair) grouped;     /* the same, group by group */
	uint64_t attachments_epoch;           /* of the scene, when the groups were made */
	bool regroup;                         /* models were taken or released, or sleep began or ended */
	VEC(struct physics_pair) awake_pairs; /* pairs of models that are awake */
	struct sets touching;                 /* sets of all taken models, by the pairs of this step */
	VEC(bool) set_sleeps;                 /* [sets_count(&touching)] */
	VEC(uint32_t) disturbed;
	indices fell_asleep; /* models that fell asleep in this step while still moving a little */
	struct sets grouping;
	uint32_t loose_groups;
	VEC(uint32_t) ahead;        /* ODE worlds: see physics_find_ahead() */
	VEC(uint32_t) ahead_models; /* of each of them */
	VEC(uint32_t) ahead_first;  /* where those of each begin, and where all end */
	bool timed;                 /* this step */
	uint32_t observe;           /* see physics_observe() */
	bool notes;                 /* they are taken in this step; see physics_note() */
	uint32_t note_step;

	uint32_t room;       /* of the arrays by model */
	uint32_t *present;   /* [room] see physics_set_statics() */
	bool *goes_ahead;    /* [room] its ODE world is ahead; asked for all models in each window */
	struct vec3 gravity; /* gravity that the ODE worlds have now */
};

struct observed_contact {
	dJointID joint;
	bool turned;   /* ODE's first body is that of the second geom */
	uint32_t note; /* of the ODE world at hand */
};

struct joint_turns { /* hinges and screws whose angles are still to be stored: twice atan2(y, x) */
	VEC(uint32_t) joint;
	VEC(double) y, x;
};

/* The working memory with which a thread steps ODE worlds, of any owner: one at a time, the ODE world at hand. */
struct worker {
	const struct scene *scene;
	const struct physics *home; /* see worker_create() */
	bool gave_up;               /* ODE left a step by longjmp: no object may be freed */
	uint64_t lost, helped;      /* see struct physics_stats */
	uint64_t contacts_made;
	uint64_t exact_count, soft_count, left_count[PHYSICS_LEFT_COUNT]; /* the same */
	uint64_t asked_to_stop_ns; /* when a request to stop was first seen in this step; 0: not yet */
	bool abandoned;            /* the step was given up on this thread */

	struct scene_room room;       /* of the arrays below */
	struct static_geom **statics; /* [room.geoms] NULL: not made yet */
	struct ode_memory *memory;
	struct state_spares spares; /* see worker_spares() */
	dJointGroupID contacts;     /* one is 16 KB */
	struct collide_space collide;
	struct surfaces surfaces;

	/* about the ODE world at hand */
	struct physics *owner;
	struct instance **instances; /* the owner's */
	struct ode_world *ode_world;
	const struct group *stepping;   /* group to name if ODE gives up; NULL: some group of the ODE world at hand */
	struct solver_pass pass;        /* at hand */
	uint32_t rows;                  /* rows of constraints of the group that is being begun */
	uint32_t rows_most;             /* largest `rows` of its groups */
	VEC(struct island_join) joins;  /* connections of its bodies in this step other than joints */
	VEC(uint32_t) bodies;           /* all its bodies, when they are examined one by one */
	uint32_t *island;               /* [room.bodies] union-find over bodies */
	uint32_t *island_rows;          /* [room.bodies] at roots */
	bool *island_lost;              /* [room.bodies] at roots: the exact solver fails on it in this step */
	VEC(struct coupling) couplings; /* of the ODE world at hand */
	struct exact *exact;            /* NULL: ODE solves all islands */
	bool sane;                      /* no model of the ODE world at hand left all bounds in lanes */
	bool collects;                  /* couplings are being listed: the first try of a step */
	struct body_at_hand *hand;      /* [hand_count] the bodies of the ODE world at hand */
	uint32_t hand_count, hand_room;
	uint32_t *hand_at;             /* [room.bodies] index in hand */
	const struct group *making;    /* the group whose contacts are made */
	double near;                   /* m: geoms that are no farther apart are pairs */
	contact_rows rows_of_contacts; /* of the ODE world at hand, group by group */
	VEC(struct geom_pair) geom_pairs;
	VEC(struct geom_pair) sort_space;
	struct joint_turns turns; /* of the ODE world at hand */

	struct notes notes, notes_scratch; /* of the ODE worlds that this worker stepped in the step */
	uint32_t observe;                  /* bits OBSERVE_...: the notes that are taken now */
	uint32_t note_step;                /* see struct contact_note */
	uint32_t contacts_before, efforts_before, reactions_before; /* counts before the ODE world at hand */
	VEC(struct observed_contact) observed; /* of the ODE world at hand: see observe_contact_joint() */
	VEC(dJointFeedback) feedback;          /* [observed.count] ODE writes it */
};

/* A body of the ODE world at hand. */
static inline struct body_at_hand *worker_hand(const struct worker *worker, uint32_t body)
{
	return &worker->hand[worker->hand_at[body]];
}

/* The groups of the ODE world at hand. */
static inline struct group *group_at_hand(const struct worker *worker, uint32_t i)
{
	return &worker->owner->groups.at[worker->ode_world->groups.at[i]];
}

/* worker.c */
/* Whether to give up the step. To be called often wherever a step may take long. */
bool worker_abandons(struct worker *worker);

/* diverged.c */
/* Any thread at work on the owner's step. */
void diverged_note(struct physics *owner, uint32_t model);
/* TROUPE_EDIVERGED with the model and the joint at fault: the state of this model is beyond the limits, or ODE gave up
 * with a message on the ODE world at hand. */
troupe_status diverged_in_state(const struct physics *owner, uint32_t model, struct troupe_error *error);
troupe_status diverged_in_ode(const struct worker *worker, const char *message, struct troupe_error *error);

/* statics.c */
/* Makes the ODE geom worker.statics[geom] of a static geom, as it is placed now. To be called when .placed differs
 * from owner.present of its model. */
void static_geom_make(struct worker *worker, uint32_t geom);
/* Destroys all of them. */
void static_geoms_forget(struct worker *worker);

/* ode_shared.c: only where ODE is not a private part of libtroupe. EINTERNAL: ODE does not call ode_random(). */
troupe_status ode_shared_check(struct troupe_error *error);

/* ode.c */
/* From 0 to n - 1: what ODE calls instead of its own dRandInt(). */
int ode_random(int n);
/* For this thread, until the next call. broken: see PHYSICS_BREAK_RANDOM. */
void ode_set_random(uint64_t seed, bool broken);
/* Whether dBodySetQuaternion() leaves this quaternion unchanged: it divides by the length, which may round to 1.
 * False for all quaternions when the start-up check finds that this ODE computes the length differently. */
bool ode_keeps_quaternion(struct quat q);
/* Keeps this object and all that it refers to for good: ODE left it half changed, so nothing in it may be freed. */
void ode_abandon(const void *object);
/* Whether this thread is inside ode_guard(). */
bool ode_is_guarded(void);
/* Runs fn; when ODE gives up inside it, returns false with its message instead of aborting the process. */
bool ode_guard(void (*fn)(void *ctx), void *ctx, char *ret_message, size_t bytes);

/* What this module has in thread-local data, for a thread that leaves one world in the middle of its step to step
 * others. ode_keep() also sets it as it is outside of ode_guard(). */
struct ode_kept {
	void *jump;
	uint32_t random_key;
	bool random_broken, solver_lost;
};
struct ode_kept ode_keep(void);
void ode_restore(const struct ode_kept *kept);

/* added.c: bodies with added mass. The number of rows of a model. */
uint32_t added_rows(const struct scene *scene, uint32_t model);
/* Makes the rows, while the bodies stand at their poses in the file. */
void added_make(struct physics *physics, struct instance *instance, dWorldID ode_world);
/* To be called when all forces of the step but gravity and couplings are on the bodies. */
void added_apply(const struct physics *physics, const struct instance *instance, double dt);
/* The same for one body. by_ode: ODE will turn the body, and not lanes/. */
void added_push(const struct scene_body *from, struct vec3 gravity, double dt, bool by_ode, struct body_at_hand *body);

/* shape.c */
dGeomID shape_make(const struct scene_geom *geom);
/* dCollide() for all kinds of geoms: writes at most `most` contacts to *ret; normals push the first geom away. With
 * near > 0 also for geoms that are less than `near` m apart, with a negative depth, unless both are of convex meshes,
 * triangles and planes. */
int shape_collide(struct worker *worker, uint32_t a, uint32_t b, dGeomID ga, dGeomID gb, double near, int most,
	dContactGeom *ret);

/* The same for near = 0, without geoms of ODE; -1: it does not know this pair. */
int shape_collide_simply(const struct worker *worker, uint32_t a, uint32_t b, int most, dContactGeom *ret);

/* roll.c */
bool roll_knows(enum scene_shape_kind kind);
/* Contacts of a shape of that kind with a plane (a unit normal, and the distance along it), as dCollide() finds them;
 * at most `most`, which is at least 1. size: as in struct scene_geom. Normals are those of the plane; the geoms of *ret
 * are not set. -1: ODE has to find them. */
int roll_on_plane(
	enum scene_shape_kind kind, struct pose at, struct vec3 size, const double *plane, int most, dContactGeom *ret);

/* ODE worlds of any threads may use one memory, one of them at a time. An ODE world that has used a shared memory must
 * be destroyed by ode_destroy_world(), because ODE's reference counts of memories are not thread-safe. */
struct ode_memory *ode_memory_create(void);
void ode_memory_destroy(struct ode_memory *memory);
void ode_lend_memory(dWorldID ode_world, const struct ode_memory *memory);
void ode_destroy_world(dWorldID ode_world);

/* Whether ODE's exact solver has failed on this thread since the last call. */
bool ode_take_lost(void);

/* instance.c */
struct instance *instance_create(struct physics *physics, uint32_t model);
void instance_destroy(struct physics *physics, struct instance *instance);
/* A new instance for the same model and group, without bodies and joints. The old instance is left as it is, since
 * ODE may have left it in any state. */
struct instance *instance_replace(struct physics *physics, const struct instance *instance);
void instance_make_bodies(struct physics *physics, struct instance *instance, dWorldID ode_world);
/* Whether a joint of the model connects the two bodies. */
bool instance_joins(const struct instance *instance, uint32_t body_a, uint32_t body_b);
/* The pose of a geom, by its body in worker.hand. */
struct pose instance_geom_pose(const struct worker *worker, const struct instance *instance, uint32_t geom);
/* Puts ODE's geom there; makes it first, if it is not made yet. */
void instance_place_geom(struct worker *worker, struct instance *instance, uint32_t geom);
/* Fills worker.hand for the bodies of the model: from state k and control; from ODE's bodies. */
void instance_hand(struct worker *worker, const struct instance *instance);
void instance_hand_of_ode(struct worker *worker, const struct instance *instance);
void instance_make_joints(struct physics *physics, struct instance *instance, dWorldID ode_world);
void instance_drop(struct physics *physics, struct instance *instance); /* bodies and joints; geoms stay */
void instance_load(struct physics *physics, struct instance *instance);
/* To be called after the step and before storing: turns bodies exactly that turned far. */
/* `from`, turned by the angular velocity w for dt seconds; spin: the length of w. Not normalised. */
struct quat instance_far_turn(struct quat from, struct vec3 w, double spin, double dt);
void instance_turn(struct worker *worker, struct instance *instance, double dt);
/* A commanded model that ODE does not have: state k -> state k+1. False: beyond the bounds. */
bool instance_move(struct physics *physics, struct instance *instance);
bool instance_store(struct physics *physics, struct instance *instance); /* false: beyond the bounds of physics.h */
/* The same where lanes have stored the bodies of islands: stores kinematic bodies, those that were left to ODE, and
 * the positions of joints. */
bool instance_store_without_ode(struct worker *worker, struct instance *instance);
/* Whether a body, or the stored state of a model, is within these bounds. */
bool body_state_sane(const struct body_state *body);
bool instance_sane(dBodyID body);
bool instance_stored_sane(const struct physics *physics, const struct instance *instance);
void instance_measure(struct physics *physics, struct instance *instance, bool next);
dBodyID instance_body(const struct physics *physics, uint32_t body); /* NULL for SCENE_NONE */

/* joint.c */
/* Marks all settings of the joint in ODE as unknown. */
void joint_unset(const struct scene_joint *joint, struct joint_setting *ret);
void joint_control(struct worker *worker, uint32_t joint, dJointID id, struct joint_setting *setting, double dt);
uint32_t joint_rows(const struct scene *scene, uint32_t joint);

void joint_law(const struct physics *physics, uint32_t joint, uint32_t axis, double dt, struct axis_law *ret);
/* The force that the joint adds to an axis in this step, in addition to the solver's row. */
double joint_added_force(
	const struct physics *physics, uint32_t joint, const struct joint_setting *setting, uint32_t axis);
/* Whether the child is the world: ODE's first body is then the parent, and the axes are reversed. */
static inline bool joint_is_turned(const struct scene_joint *joint)
{
	return joint->child == SCENE_NONE;
}
static inline double joint_clamp(double value, double limit)
{
	return value > limit ? limit : value < -limit ? -limit : value;
}
/* Factor from SDF's coordinate of an axis to ODE's: motor and stops of a screw act on its slide. */
static inline double joint_scale(const struct scene_joint *joint)
{
	return joint->kind == SDF_SCREW ? 1 / joint->sdf->thread_pitch : 1;
}

/* attachment.c */
enum { ATTACHMENT_ROWS = 6 };
/* Lists the attachments in the group. Makes their joints, when the bodies have been made. */
void attachments_list(struct physics *physics, uint32_t group);
void ties_make_joints(struct physics *physics, struct group *group, dWorldID ode_world);
/* Destroys those at a model; SCENE_NONE: all. */
void attachments_drop(struct physics *physics, struct group *group, uint32_t model);

/* snapshots.c */
enum { OBSERVE_JOINTS = OBSERVE_EFFORTS | OBSERVE_FORCES }; /* any of these needs ODE's feedback of joints */
/* Sets up ODE's feedback for joints that have just been made. */
void observe_joints(struct physics *physics, struct instance *instance);
void observe_world_joint(struct physics *physics, struct world_joint *joint);
/* To be called when work on the ODE world at hand begins in this step. */
void observe_begin_ode_world(struct worker *worker);
/* Drops the notes of joints of the ODE world at hand, because its step is tried again with the contacts that were
 * found. */
static inline void observe_begin_joints_again(struct worker *worker)
{
	worker->notes.efforts.count = worker->efforts_before;
	worker->notes.reactions.count = worker->reactions_before;
	worker->observed.count = 0;
}
/* The same, and the notes of contacts. */
static inline void observe_begin_again(struct worker *worker)
{
	worker->notes.contacts.count = worker->contacts_before;
	observe_begin_joints_again(worker);
}
void observe_contacts(struct worker *worker, const struct geom_pair *pair, const dContactGeom *found, uint32_t count);
/* To be called for each contact joint that is made, if forces are wanted. */
void observe_contact_joint(struct worker *worker, const struct contact_row *row, dJointID joint, bool turned);
/* Notes the force on the body of the first geom of a contact in worker.rows_of_contacts. */
void observe_contact_force(struct worker *worker, uint32_t contact, struct vec3 force);
/* Sets up ODE's feedback for them, when all are made. */
void observe_contact_joints(struct worker *worker);
/* Notes efforts, reactions and forces of contacts of the ODE world at hand when the final result of its step is
 * known. */
void observe_result(struct worker *worker, double dt);
static inline bool observes_contact_forces(const struct worker *worker)
{
	const uint32_t both = OBSERVE_CONTACTS | OBSERVE_FORCES;
	return (worker->observe & both) == both;
}

/* sleep.c */
/* Decides which models are awake in this step; copies the pairs. */
void sleep_update(struct physics *physics, const struct physics_pair *pairs, uint32_t pair_count, double dt);
/* Adds one to the model's count of still steps in state k+1, or sets it to 0. */
void sleep_count(struct physics *physics, struct instance *instance, double dt);
void sleep_end_step(struct physics *physics);

/* couple.c */
/* Lists the couplings of the joint for this step; bodies hold state k. */
void couple_collect(struct worker *worker, uint32_t joint, dJointID id, double dt);
/* Adds the forces of the try to the bodies. */
void couple_apply(struct worker *worker, double dt);
/* couple_begin() is called after the first try, couple_search() after each try until it returns true: that try
 * is the one to keep. In a pass for one island only the couplings of that island are searched. */
void couple_begin(struct worker *worker);
bool couple_search(struct worker *worker);
/* Stores the forces that were kept to state k+1. */
void couple_store(struct worker *worker, double dt);
/* A gearbox's angle in (-pi, pi] of its parent (axis 0) or child (axis 1), from the poses of ODE's bodies. */
double couple_angle(const struct physics *physics, uint32_t joint, uint32_t axis);

/* ode_block.c */
/* Memory that ODE uses for an object of this size. */
static inline size_t ode_aligned(size_t bytes)
{
	return (bytes + 15) & ~(size_t)15;
}

struct ode_block_bytes {
	size_t geom, body, joint; /* approximate size in a block; 0: this ODE's cannot be put into one */
};

void ode_block_init(void);    /* before dInitODE2(): ODE's allocations go through this module */
void ode_block_measure(void); /* before any block is opened, after dInitODE2() */
struct ode_block_bytes ode_block_bytes(void);
/* Objects that ODE makes on this thread from now on go into the block while it has room. Objects in the block must
 * also be destroyed while it is open. */
void ode_block_open(struct ode_block *block);
void ode_block_close(void);

/* ode_world.c */
/* Puts a group with members into an ODE world: its own, or one shared with other small groups. */
void ode_world_enter(struct physics *physics, uint32_t group);
/* For a group that has no members any more. */
void ode_world_leave(struct physics *physics, uint32_t group);
void ode_world_fini(struct ode_world *ode_world);
/* The ODE world itself, which is made when it is first asked for. */
dWorldID ode_world_id(struct physics *physics, uint32_t index);
/* Makes a new ODE world for the same groups; the old ODE world is left as it is. A worker must lend its memory anew. */
void ode_world_make_anew(struct physics *physics, struct ode_world *ode_world);

/* group.c */
void group_update(struct physics *physics);
void group_remove(struct physics *physics, uint32_t model);
void group_fini(struct group *group);
/* Whether a joint or an attachment connects two bodies of the group. */
bool group_joins(const struct physics *physics, const struct group *group, uint32_t body_a, uint32_t body_b);
/* Makes new ODE objects for a group; the old objects are left as they are. */
void group_make_anew(struct physics *physics, uint32_t group);
/* Makes bodies and joints of ODE for a group that has none. */
void group_make_ode(struct physics *physics, struct group *group);

/* contact_pairs.c. Fills in worker->geom_pairs: the geoms of the group that may touch, sorted. */
void contact_pairs_find(struct worker *worker, const struct group *group);
/* A geom that moves is put at its pose when it is first asked for in a step. */
dGeomID contact_geom_id(struct worker *worker, uint32_t geom);

/* contact.c */
/* Lists the contacts of a group of the ODE world at hand in worker.rows_of_contacts. */
void contact_make(struct worker *worker, struct group *group);
/* The same for the pairs that are wanted, and with contacts of geoms less than `near` m apart, for a solver that stops
 * bodies before they touch: appends them to *ret. They are not touches for anybody else. */
void contact_list_near(struct worker *worker, const struct group *group, double near,
	bool (*wanted)(const struct worker *worker, const struct geom_pair *pair), contact_rows *ret);
/* The contact as a joint of ODE. */
void contact_make_joint(struct worker *worker, const struct contact_row *row);

/* Finds at most PHYSICS_CONTACTS_MAX contacts; 0 also for shapes whose masks allow no contact. */
int contact_find(struct worker *worker, const struct geom_pair *pair, dContactGeom *ret);

/* crowd.c */
/* Sets `part` of each of worker.geom_pairs: which of its contacts are made. */
void crowd_thin_out(struct worker *worker);

/* surface.c */
void surfaces_fini(struct surfaces *surfaces);
/* Every pair of kinds is computed again at its next use. */
void surfaces_forget(struct surfaces *surfaces);
/* Makes room for this many kinds of the scene. */
void surfaces_fit(struct surfaces *surfaces, uint32_t kinds);
/* Valid until the next call with a kind that is not in the table. */
const struct surface_mix *surface_meet(struct surfaces *surfaces, const struct sdf_physics *world,
	const struct scene_geom *a, const struct scene_geom *b, double dt);

/* solver.c: of the ODE world at hand */
/* Bodies that joints, contacts and couplings of the begun step connect get one root. */
void solver_find_islands(struct worker *worker);
uint32_t solver_island(struct worker *worker, uint32_t body);
void solver_begin(struct worker *worker, struct solver_pass pass);
/* The group's contacts are made between these two calls. */
void solver_begin_group(struct worker *worker, const struct group *group);
void solver_join(struct worker *worker, uint32_t body_a, uint32_t body_b, uint32_t rows);
/* Whether the body is one of those that ODE steps now: all that move, or those that lanes have left. */
bool solver_has(const struct worker *worker, uint32_t body);
void solver_end_group(struct worker *worker, struct group *group);
/* False: the exact solver failed on some island, so the result must not be used. Never false in the last pass. */
bool solver_step(struct worker *worker, double dt);
/* Lists the islands of the step that was begun and marks none as lost. */
void solver_forget_lost(struct worker *worker);
/* For a second try, when ODE's objects were made anew or the result must not be used. Finds the next island for the
 * exact solver in the step that was begun last, from the island of the i-th body on; false: no more. */
bool solver_next_exact(struct worker *worker, uint32_t *i, uint32_t *ret_root);
/* Whether the step brought the island's bodies to positions and velocities that a state may have. */
bool solver_is_sane(struct worker *worker, uint32_t root);
/* The island gets the iterative solver in this step. */
void solver_set_lost(struct worker *worker, uint32_t root, bool lost);

#endif
