/* What the files of this folder share. */
#ifndef PHYSICS_INTERNAL_H
#define PHYSICS_INTERNAL_H

#include "collide/collide.h"
#include "physics/physics.h"
#include "physics/sets.h"

#include <ode/ode.h>
#include <stdatomic.h>

enum {
	PHYSICS_EXACT_ROWS =
		96, /* islands of up to so many rows are solved exactly; see ../ARCHITECTURE.md, "Tried and measured" */
	PHYSICS_EXACT_ROWS_MOST = 1000,        /* the same in a world that names the exact solver */
	PHYSICS_KEEP_STEPS = 500,              /* a group whose models have parted is kept together so long */
	PHYSICS_CONTACTS_MAX = NOTES_PAIR_MAX, /* between two geoms */
};
#define PHYSICS_CFM_MIN 1e-10      /* 0 would leave redundant constraints singular */
#define PHYSICS_TURN_FAR 0.1       /* rad that a body turns in a step, beyond which instance_turn() turns it exactly */
#define PHYSICS_STILL_S 0.5        /* how long a model must have been still before it may sleep */
#define PHYSICS_STATIC_MARGIN 0.25 /* m: how far a model may stray before its static neighbours are looked up again */

/* Two surfaces that touch, in a step of dt. */
struct surface_mix {
	dSurfaceParameters surface; /* all but soft_erp, and whether a direction is given: those are a contact's own */
	double erp, min_depth, reach; /* reach: m that a contact may be corrected by in the step */
	double dt;                    /* 0: not reckoned yet */
	bool apart;                   /* their masks let them through each other */
	bool directed;                /* one of them gives the first friction direction */
};

struct surfaces {
	uint32_t kinds;            /* those of the scene */
	struct surface_mix *mixes; /* [kinds squared] */
	struct surface_mix other;  /* the last that has no place there */
};

/* How a joint is driven and its state kept. */
enum joint_way {
	JOINT_ANY,
	JOINT_FREE,  /* nothing drives it and it has no position */
	JOINT_PLAIN, /* a hinge that only a motor or friction acts on, wherever it is and however fast: most wheels */
};

struct axis_setting { /* NaN: not set yet */
	double velocity, force_max, softness;
	double low, high, stop_erp, stop_cfm;
	double force; /* added beside what the solver's row does; not of a plain joint */
};

enum { COUPLING_BODIES_MAX = 4 };

/* A linear function of the velocities of some bodies, to be led to `target`; see couple.c. */
struct coupling {
	uint32_t joint, word; /* where its force is kept: from the first word of the joint's model */
	uint32_t axis;        /* of a mimic: the joint's that follows; SCENE_NONE: a thread or gears */
	uint32_t count, body[COUPLING_BODIES_MAX];
	struct vec3 linear[COUPLING_BODIES_MAX], angular[COUPLING_BODIES_MAX];
	double target;   /* rad/s or m/s */
	double mobility; /* velocity per unit of impulse if its bodies were free */
	double impulse;  /* of the trial, against the function: N s or N m s */

	/* the search */
	double tried;     /* left over after the trial */
	double at, left;  /* the point reached, and what is left over there */
	double best;      /* the point at which least was left over */
	double direction; /* in which the trials go from `at` */
	uint32_t root;    /* its island */
	bool leads;       /* the first of its island; the others do not use what follows */
	int phase;
	uint32_t rounds, directions, narrowed;
	double reach, weight, best_left;
	double low, low_left, high, high_left;
	bool was_low;
};

struct joint_setting { /* what ODE's motor and stops are set to */
	enum joint_way way;
	double effort, friction; /* of a plain one */
	struct axis_setting axis[2];
};

/* Room for what ODE makes; see ode_block.c. */
struct ode_block {
	char *memory; /* aligned as ODE's objects are */
	size_t bytes, used;
	uint32_t live; /* objects in it */
};

/* The ODE objects of one model that this runner simulates, in one piece of memory with all of its arrays. Geoms live as
 * long as the instance; bodies and joints are made anew whenever its group is. */
struct instance {
	uint32_t model;
	uint32_t group;                 /* SCENE_NONE until the next step */
	dBodyID *bodies;                /* [model's body_count] */
	dGeomID *geoms;                 /* [model's geom_count] */
	dJointID *joints;               /* [model's joint_count]; 0: none of ODE's */
	struct joint_setting *settings; /* [model's joint_count] */
	dJointFeedback *feedback;       /* [model's joint_count] ODE writes it; NULL: efforts are not observed */
	struct aabb *boxes;             /* [model's geom_count] of state k */
	bool *centred;                  /* [model's geom_count] at their body's origin */
	struct aabb box;                /* of the model in state k */
	bool boxes_known;
	uint32_t measured_ns; /* see physics_measured_ns() */
	struct aabb near;     /* statics holds all present static geoms that reach into this box */
	bool statics_known;
	bvh_values statics;  /* geom indices, ascending */
	uint32_t joint_rows; /* of all its joints */
	bool self_collides;
	bool led;       /* some body is kinematic */
	bool held;      /* to the world, by a joint or as a kinematic body */
	bool touched;   /* something, in this step */
	bool disturbed; /* in this step: see physics_disturb() */
	bool spins;     /* some body turned far in this step: see PHYSICS_TURN_FAR */
	bool asleep;
	uint32_t set;                           /* in physics.touching */
	struct ode_block for_geoms, for_bodies; /* the latter for joints as well */
};

struct world_joint { /* one of the world's own joints; both its bodies are in the group */
	uint32_t index;
	dJointID id;
	struct joint_setting setting;
	dJointFeedback *feedback; /* as an instance's */
};

struct ode_memory { /* in which ODE steps a world */
	dWorldID world;
	dThreadingImplementationID threading;
};

/* Models that may touch. */
struct group {
	indices members; /* models; empty: the slot is free */
	uint32_t world;  /* in physics.worlds, while there are members */
	uint32_t bodies; /* of its members when it entered that world */
	uint32_t rows;   /* of its constraints in this step */
	VEC(struct world_joint) world_joints;
	const struct physics_pair *pairs; /* of this step; in physics.grouped */
	uint32_t pair_count;
	uint64_t loose_since; /* step at which it was first found to be more than one set; 0: it is one */
};

/* One of ODE's, and the groups that are stepped in it. */
struct ode_world {
	dWorldID id;
	dThreadingImplementationID threading;
	const struct ode_memory *memory; /* in which it steps */
	VEC(uint32_t) groups;
	uint32_t bodies; /* of its groups */
	bool open;       /* in physics.open_worlds */
};

struct static_geom {
	dGeomID geom;       /* NULL: not made yet */
	struct vec3 normal; /* planes */
	double offset;
};

enum contact_part { CONTACT_ALL, CONTACT_DEEPEST, CONTACT_NONE }; /* of the contacts of a pair that are made */

struct contact_pair {
	uint64_t key;
	uint32_t a, b; /* geoms, a < b */
	enum contact_part part;
};

/* Which islands a step of the ODE world at hand is for. A step begins with a first pass over all. When that one fails,
 * each island that is solved exactly has a pass alone, and a last pass over all solves those that failed iteratively.
 */
struct solver_pass {
	bool again;     /* not the first: solver_set_lost() holds */
	uint32_t alone; /* root of the island that is stepped; SCENE_NONE: all */
};

struct island_join {
	uint32_t a, b; /* bodies; one of them may be SCENE_NONE */
	uint32_t rows;
};

struct physics {
	const struct scene *scene;
	struct state *state;
	const struct control *control;
	struct physics_options options;
	struct physics_stats stats;
	_Atomic bool gave_up;      /* ODE left a step by longjmp: its objects are in no state to be freed */
	_Atomic uint32_t diverged; /* the lowest model that did in this step */
	uint64_t step;             /* counts steps; only for keeping groups */
	double dt;                 /* of this step */

	struct instance **instances; /* [room.models], NULL: not taken */
	indices taken;               /* models */
	indices awake;               /* models taken that are stepped */
	uint32_t taken_bodies;
	bool shared; /* see physics_share() */
	VEC(struct group) groups;
	VEC(uint32_t) free_groups;
	VEC(struct ode_world) worlds;
	VEC(uint32_t) free_worlds;            /* without groups */
	VEC(uint32_t) open_worlds;            /* that take in small groups while they have room; the last first */
	VEC(uint32_t) busy_worlds;            /* with groups */
	VEC(struct physics_pair) pairs;       /* those of the last step */
	VEC(struct physics_pair) grouped;     /* the same, group by group */
	bool regroup;                         /* models were taken or released, or sleep begins or ends */
	VEC(struct physics_pair) awake_pairs; /* pairs of models that are awake */
	struct sets touching;                 /* of all taken, by the pairs of this step */
	VEC(bool) set_sleeps;                 /* [sets_count(&touching)] */
	VEC(uint32_t) disturbed;
	indices rested; /* that fell asleep in this step with some speed left */
	struct sets grouping;
	uint32_t loose_groups;
	bool timed; /* this step */

	struct scene_room room;
	uint32_t *present;           /* [room.models] static models that exist: nonzero, another number when moved */
	struct static_geom *statics; /* [room.geoms] */
	struct vec3 gravity;         /* what the groups' worlds are set to */

	/* For the ODE world at hand, which may be one of another physics: that one's instances are in `instances`
	 * meanwhile. */
	struct physics *owner;
	uint64_t asked_to_stop_ns; /* when this was first seen in this step; 0: it was not */
	bool abandoned;            /* the step was given up on this thread: see physics_options.stop */
	struct ode_world *world;
	const struct group *stepping; /* who is to blame when ODE gives up; NULL: somebody in the world at hand */
	struct ode_memory *memory;
	dJointGroupID contacts; /* one is 16 KB */
	struct collide_space collide;
	struct surfaces surfaces;
	struct solver_pass pass;        /* at hand */
	uint32_t rows;                  /* of the constraints of the group that is being begun */
	uint32_t rows_most;             /* of one of its groups */
	VEC(struct island_join) joins;  /* what ties its bodies in this step beyond their joints */
	VEC(uint32_t) bodies;           /* all of them, when they are looked at one by one */
	uint32_t *island;               /* [room.bodies] union-find over bodies */
	uint32_t *island_rows;          /* [room.bodies] at roots */
	bool *island_lost;              /* [room.bodies] at roots: the exact solver fails on it in this step */
	VEC(struct coupling) couplings; /* of the world at hand */
	bool collects;                  /* they are being listed: the first trial of a step */
	VEC(struct contact_pair) contact_pairs;
	VEC(struct contact_pair) sort_space;

	/* see physics_observe() */
	uint32_t observe;
	struct notes notes, notes_scratch;        /* of the ODE worlds that it has worked on in this step */
	uint32_t contacts_before, efforts_before; /* that were noted before the world at hand */
};

/* The groups of the world at hand. */
static inline struct group *group_at_hand(const struct physics *physics, uint32_t i)
{
	return &physics->owner->groups.at[physics->world->groups.at[i]];
}

/* physics.c */
/* Whether the step is to be given up; to be asked often, wherever a step may take long. */
bool physics_abandons(struct physics *physics);

/* ode.c */
void ode_set_random_broken(bool broken); /* of this thread */
/* Whether dBodySetQuaternion() leaves this one as it is: it divides by the length, which rounds to 1 or does not. False
 * for all when the start-up check finds that this ODE reckons otherwise. */
bool ode_keeps_quaternion(struct quat q);
/* Nothing may be freed of this object, or of what it refers to: ODE left it in the middle of something. */
void ode_abandon(const void *object);
/* Whether this thread is inside ode_guard(). */
bool ode_is_guarded(void);
/* Runs fn; when ODE gives up inside it, returns false with its message instead of aborting the process. */
bool ode_guard(void (*fn)(void *ctx), void *ctx, char *ret_message, size_t bytes);

/* shape.c */
dGeomID shape_make(const struct scene_geom *geom);
/* dCollide() for all kinds of geoms: at most `most` contacts in *ret, whose normals push the first geom away. */
int shape_collide(struct physics *physics, uint32_t a, uint32_t b, dGeomID ga, dGeomID gb, int most, dContactGeom *ret);

/* Worlds of any thread may share a memory, one after the other: only one of them is stepped at a time. A world that has
 * shared one goes by ode_destroy_world(), because ODE's counts of who shares what are not for several threads. */
struct ode_memory *ode_memory_create(void);
void ode_memory_destroy(struct ode_memory *memory);
void ode_lend_memory(dWorldID world, const struct ode_memory *memory);
void ode_destroy_world(dWorldID world);

/* Whether ODE's exact solver has failed on this thread since the last call. */
bool ode_take_lost(void);

/* instance.c */
struct instance *instance_create(struct physics *physics, uint32_t model);
void instance_destroy(struct physics *physics, struct instance *instance);
/* Another one for the same model in the same group, without bodies and joints; the one before is left as it is, since
 * ODE may have it in any state. */
struct instance *instance_replace(struct physics *physics, const struct instance *instance);
void instance_make_bodies(struct physics *physics, struct instance *instance, dWorldID world);
void instance_make_joints(struct physics *physics, struct instance *instance, dWorldID world);
void instance_drop(struct physics *physics, struct instance *instance); /* bodies and joints; geoms stay */
void instance_load(struct physics *physics, struct instance *instance);
/* After the step and before anything is stored: bodies that turned far are turned exactly. */
void instance_turn(struct physics *physics, struct instance *instance, double dt);
bool instance_store(struct physics *physics, struct instance *instance); /* false: beyond the bounds of physics.h */
/* Whether a body, or what was stored of a model, is within them. */
bool body_state_sane(const struct body_state *body);
bool instance_sane(dBodyID body);
bool instance_stored_sane(const struct physics *physics, const struct instance *instance);
void instance_measure(struct physics *physics, struct instance *instance, bool next);
dBodyID instance_body(const struct physics *physics, uint32_t body); /* NULL for SCENE_NONE */
dGeomID instance_static_geom(struct physics *physics, uint32_t geom);

/* joint.c */
/* 0 for a gearbox: it has no joint of ODE's. */
dJointID joint_make(struct physics *physics, uint32_t joint, dWorldID world);
/* Nothing of what ODE is told of the joint is known to be so. */
void joint_unset(const struct scene_joint *joint, struct joint_setting *ret);
void joint_control(struct physics *physics, uint32_t joint, dJointID id, struct joint_setting *setting, double dt);
void joint_store(struct physics *physics, uint32_t joint, dJointID id);
/* The model's own. */
void joint_store_all(struct physics *physics, const struct instance *instance);
uint32_t joint_rows(const struct physics *physics, uint32_t joint);

/* The force that the joint adds to an axis in this step, beside what the solver's row for it does. */
double joint_added_force(
	const struct physics *physics, uint32_t joint, const struct joint_setting *setting, uint32_t axis);
/* Whether the child is the world, so that ODE's first body is the parent, and its axes are turned. */
static inline bool joint_is_turned(const struct scene_joint *joint)
{
	return joint->child == SCENE_NONE;
}
/* ODE's coordinate of an axis is this much times SDF's: a screw's motor and stops are those of its slide. */
static inline double joint_scale(const struct scene_joint *joint)
{
	return joint->kind == SDF_SCREW ? 1 / joint->sdf->thread_pitch : 1;
}

/* observe.c */
/* The feedback of joints that have just been made. */
void observe_joints(struct physics *physics, struct instance *instance);
void observe_world_joint(struct physics *physics, struct world_joint *joint);
/* The world at hand is worked on for the first time in this step. */
void observe_begin_world(struct physics *physics);
/* What was noted of the world at hand is forgotten: its step is begun again. */
static inline void observe_begin_again(struct physics *physics)
{
	physics->notes.contacts.count = physics->contacts_before;
	physics->notes.efforts.count = physics->efforts_before;
}
void observe_contacts(
	struct physics *physics, const struct contact_pair *pair, const dContactGeom *found, uint32_t count);
/* Of the world at hand, when its step has come to what is kept. */
void observe_efforts(struct physics *physics, double dt);

/* sleep.c */
uint64_t sleep_steps(double dt); /* that a model must have been still for */
/* Who is awake in this step; keeps the pairs. */
void sleep_update(struct physics *physics, const struct physics_pair *pairs, uint32_t pair_count, double dt);
/* Counts a still step of state k+1, or begins again. */
void sleep_count(struct physics *physics, struct instance *instance, double dt);
void sleep_end_step(struct physics *physics);

/* couple.c */
/* Lists what the joint couples in this step; bodies hold state k. */
void couple_collect(struct physics *physics, uint32_t joint, dJointID id, double dt);
/* Adds the forces of the trial to the bodies. */
void couple_apply(struct physics *physics, double dt);
/* After the first trial, and then after each until it returns true: the trial was the one to keep. In a pass for one
 * island only the couplings of that island are searched. */
void couple_begin(struct physics *physics);
bool couple_search(struct physics *physics);
/* The forces that were kept, to state k+1. */
void couple_store(struct physics *physics, double dt);
/* A gearbox's angle in (-pi, pi] of its parent (axis 0) or child (axis 1), by the bodies as ODE has them. */
double couple_angle(const struct physics *physics, uint32_t joint, uint32_t axis);

/* ode_block.c */
/* What ODE takes for an object of so many bytes. */
static inline size_t ode_aligned(size_t bytes)
{
	return (bytes + 15) & ~(size_t)15;
}

struct ode_block_bytes {
	size_t geom, body, joint; /* that one takes in a block, about; 0: this ODE's cannot be put there */
};

void ode_block_init(void); /* before any of ours is made */
struct ode_block_bytes ode_block_bytes(void);
/* What ODE makes on this thread from now on is put into the block while there is room. What is in it must be destroyed
 * while it is open, too. */
void ode_block_open(struct ode_block *block);
void ode_block_close(void);

/* ode_world.c */
/* An ODE world for a group that has its members: one of its own, or one that it shares with others of its kind. */
void ode_world_enter(struct physics *physics, uint32_t group);
/* A group that has none any more. */
void ode_world_leave(struct physics *physics, uint32_t group);
void ode_world_fini(struct ode_world *world);
/* Another world of ODE's for the same groups; the one before is left as it is. */
void ode_world_make_anew(struct physics *physics, struct ode_world *world);

/* group.c */
void group_update(struct physics *physics);
void group_remove(struct physics *physics, uint32_t model);
void group_fini(struct group *group);
/* Other objects of ODE's for a group of the world at hand; those before are left as they are. */
void group_make_anew(struct physics *physics, struct physics *owner, uint32_t group);

/* contact.c */
void contact_make(struct physics *physics, const struct group *group); /* in the world at hand */

/* At most PHYSICS_CONTACTS_MAX contacts; 0 also for shapes whose masks let them through each other. */
int contact_find(struct physics *physics, const struct contact_pair *pair, dContactGeom *ret);

/* crowd.c */
/* Says of physics.contact_pairs which part of their contacts is made. */
void crowd_thin_out(struct physics *physics);

/* surface.c */
void surfaces_fini(struct surfaces *surfaces);
/* Every pair of kinds is computed again when it is next met. */
void surfaces_forget(struct surfaces *surfaces);
/* The scene has so many kinds. */
void surfaces_fit(struct surfaces *surfaces, uint32_t kinds);
/* Valid until the next call that meets a kind without a place. */
const struct surface_mix *surface_meet(struct surfaces *surfaces, const struct sdf_physics *world,
	const struct scene_geom *a, const struct scene_geom *b, double dt);

/* solver.c: of the world at hand */
/* Bodies that joints, contacts and couplings of the begun step connect have one root. */
void solver_find_islands(struct physics *physics);
uint32_t solver_island(struct physics *physics, uint32_t body);
void solver_begin(struct physics *physics, struct solver_pass pass);
/* Between these two, the group's contacts are made. */
void solver_begin_group(struct physics *physics, const struct group *group);
void solver_join(struct physics *physics, uint32_t body_a, uint32_t body_b, uint32_t rows);
void solver_end_group(struct physics *physics, struct group *group);
/* False: the exact solver failed on some island, so that this step is worth nothing. Never in the last pass. */
bool solver_step(struct physics *physics, double dt);
/* Lists the islands of the step that was begun; none is lost. */
void solver_forget_lost(struct physics *physics);
/* For a second try, when ODE's objects were made anew or the step was worth nothing: the islands of the step that was
 * begun last that the exact solver is to solve, from the one at or after the i-th body on; false: no more. */
bool solver_next_exact(struct physics *physics, uint32_t *i, uint32_t *ret_root);
/* Whether the step brought the island's bodies to positions and velocities that a state may have. */
bool solver_is_sane(struct physics *physics, uint32_t root);
/* The island gets the iterative solver in this step. */
void solver_set_lost(struct physics *physics, uint32_t root, bool lost);

#endif
