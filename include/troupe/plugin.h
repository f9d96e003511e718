/* Plug-ins: code that drives models, measures, or acts on the world, in a shared library of your own. This header and
 * <troupe/geometry.h> are all that a plug-in needs; troupe's own systems (DiffDrive, ...) use nothing else.
 * src/doc/tutorial/plugin.md goes from nothing to a robot that follows a wall; tests/examples has whole plug-ins.
 *
 * A plug-in is a shared library that exports one constant, `troupe_plugin`, a list of kinds of systems. A <plugin
 * filename="LIBRARY" name="KIND"> in a world makes a system of that kind: of the model in which it stands, or of the
 * world.
 *
 * What a plug-in must keep to, so that a run has the same bits on any number of machines, resumed or replayed:
 * - It keeps no state of its own: no static variables. What it has to remember is in words (struct troupe_words), which
 *   troupe moves with the model, saves, hashes and resets. configure() may store constants in `config`.
 * - Its results depend on what it reads through the host alone. It has no clock, no random generator and no functions
 *   of libm (but sqrt() and others that IEEE 754 defines to the bit): the host has them.
 * `troupe check --plugin FILE WORLD` finds plug-ins that do not.
 *
 * How the processor rounds (fesetround(), -ffast-math) is put back after each call.
 *
 * Threads: the brackets after each function say when it is called, and on which thread.
 *
 *   [setup]    when the model is made: at the start, on the caller's thread, or between steps; in a run over a
 *              network on each machine, which must come to the same result
 *   [primary]  between steps, on the primary's thread. All models are at state k and may be read.
 *   [runner]   during a step, on the runner that simulates the model. Other runners work at the same time, perhaps
 *              on other machines, so only the own model may be read: a query about another one is answered as if
 *              that model did not exist. What depends on other models is for update(), which can leave numbers in
 *              words for pre_update().
 *
 * Step k leads from state k to state k+1. In each step that is not paused:
 *
 *   update()       [primary]  reads state k; may publish and request
 *   command()      [runner]   for each message that is due, in the order given; changes words of state k. Also in
 *                             paused steps.
 *   pre_update()   [runner]   reads state k, writes words of state k+1 and the control of the own model
 *   physics
 *   post_update()  [runner]   reads states k and k+1, writes words of state k+1
 *   report()       [primary]  reads the state after the step and its words, if a client has subscribed
 *
 * Stability: a struct that the plug-in fills begins with its size, and new members come only at its end. A plug-in
 * that was built with this header works with every later troupe that has the same TROUPE_PLUGIN_ABI. */
#ifndef TROUPE_PLUGIN_H
#define TROUPE_PLUGIN_H

#include <troupe/geometry.h>
#include <troupe/reading.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TROUPE_PLUGIN_ABI 1u
#define TROUPE_NOTHING UINT32_MAX /* in place of a handle: there is none */

enum { TROUPE_WHY_BYTES = 256 };

/* Handles are numbers: of a model, link, joint or sensor. Handles of the own model, asked for in configure(), are valid
 * as long as the system exists. Handles of other models are valid during the call in which they were asked for. */

struct troupe_element; /* of the world file: <plugin> and what is in it; lives as long as the system */
struct troupe_message; /* of a type of gz.msgs or troupe.msgs */
struct troupe_field;   /* a place in messages of one type: "linear.x" */
struct troupe_host;
struct troupe_kind;

/* One <plugin> of one model, or of the world. Constant after configure(). */
struct troupe_system {
	const struct troupe_host *host;
	const struct troupe_kind *kind;
	void *config;   /* the plug-in's; memory of host->alloc() */
	uint32_t model; /* the model that it stands in, or, TROUPE_FOR_EACH_MODEL, that it was made for; TROUPE_NOTHING:
			 * it is the world's */
};

struct troupe_step {
	/* k, for messages to people. It goes on when the world is reset or takes up a saved state, so nothing that
	 * should be the same then may depend on it: see troupe_random_index(). */
	uint64_t number;
	double time_s; /* simulated time of the present state; in post_update(): of state k */
	double dt;     /* s */
};

/* The place of a step in a sequence of random numbers: its simulated time in ns. So noise is the same when the steps
 * are the same again: after a reset, from a saved state, in a replay. */
static inline uint64_t troupe_random_index(const struct troupe_step *step)
{
	return step->time_s > 0 ? (uint64_t)(step->time_s * 1e9 + 0.5) : 0;
}

enum troupe_time {
	TROUPE_NOW,  /* state k; on the primary the present state */
	TROUPE_NEXT, /* state k+1: only in post_update(), and only of the own model; elsewhere the same as TROUPE_NOW */
};

/* --- what a plug-in has ------------------------------------------------------------------------------------------- */

enum troupe_parameter_kind {
	TROUPE_NUMBER, /* between low and high */
	TROUPE_BOOL,
	TROUPE_TEXT,
	TROUPE_VECTOR, /* three numbers, each between low and high */
	TROUPE_POSE,   /* six numbers */
	TROUPE_PARTS,  /* anything: the plug-in reads and checks what is in the element */
	TROUPE_UNUSED, /* anything, without effect: a warning says so, with the reason that `what` gives, unless the
			* element has no content, or is 0 or false */
};

/* An element that a <plugin> may have. Wrong kinds and numbers out of range are errors with file:line before
 * configure() is called; so is an element that is not in the table, or, TROUPE_LENIENT, a warning. */
struct troupe_parameter {
	const char *name; /* NULL: the end of the table */
	enum troupe_parameter_kind kind;
	double low, high;
	const char *what; /* what it is, unit and default, for people */
};

enum troupe_word_kind { TROUPE_WORD_DOUBLE, TROUPE_WORD_INTEGER };

/* The state of a system: 8-byte words, so a struct whose members are double and uint64_t only. Zero at first. */
struct troupe_words {
	const char *name; /* NULL: the end of the table. A replay that differs names it. */
	enum troupe_word_kind kind;
};

enum troupe_kind_flags {
	TROUPE_IN_MODEL = 1,       /* it may stand in a model */
	TROUPE_IN_WORLD = 2,       /* it may stand in the world. It has no runner: no pre_update() and post_update(). */
	TROUPE_FOR_EACH_MODEL = 4, /* it stands in the world, and a system is made for each model that can move */
	TROUPE_LENIENT = 8,        /* unknown parameters are a warning: worlds were written for another simulator */
	TROUPE_READS_CONTACTS = 16, /* update() or report() read contacts */
	TROUPE_READS_SENSORS = 32,  /* update() or report() read sensors; says so, and no more */
	TROUPE_IN_ACTOR = 64,       /* it may stand in an actor, which has links but no joints */
	TROUPE_FOR_CLIENTS = 128,   /* in the world: it takes messages from robots of all robot clients, too, which else
				     * reach systems of their own models only */
	/* pre_update() and post_update() are functions of the words, of the model's state and of step->dt: they use
	 * neither the step's number and time nor random numbers. So while the model sleeps, and a step has changed
	 * nothing and acted on nothing, they are not called until a message comes, or something wakes the model. */
	TROUPE_RESTS = 256,
};

struct troupe_reckoning { /* dead reckoning: pose of a frame that is fixed to the model, relative to where it began */
	struct troupe_pose frame; /* in the model's frame */
	double x, y, yaw;         /* m, rad; full turns are counted */
	double linear, angular;   /* m/s ahead, rad/s to the left, in the last step */
};

/* A kind of system. Functions may be NULL, but for configure(). */
struct troupe_kind {
	uint32_t size;            /* sizeof(struct troupe_kind) */
	uint32_t flags;           /* enum troupe_kind_flags */
	const char *const *names; /* in world files; NULL after the last. The first one is used in messages. */
	const struct troupe_parameter *parameters;
	const struct troupe_words *words; /* NULL: none, or configure() adds them */
	/* [setup] Reads parameters, finds joints and links, takes and gives topics. False: a function of the host has
	 * returned false or a missing handle, and has told why, or the plug-in did by refuse() or leave_out(). */
	bool (*configure)(struct troupe_system *self, const struct troupe_element *plugin);
	/* [setup] Sets the words of state 0 that are not zero. */
	void (*init)(const struct troupe_system *self, void *words);
	/* [primary] Whether command() can take a message. False: the reason is in why. */
	bool (*check)(const struct troupe_system *self, uint32_t input, const struct troupe_message *message,
		char why[TROUPE_WHY_BYTES]);
	/* [runner], or [primary] for a model that no runner has. input: see take(). A message that check() refuses must
	 * change nothing. */
	void (*command)(
		const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words);
	void (*pre_update)(
		const struct troupe_system *self, const struct troupe_step *step, void *words); /* [runner] */
	void (*post_update)(
		const struct troupe_system *self, const struct troupe_step *step, void *words);        /* [runner] */
	void (*update)(const struct troupe_system *self, const struct troupe_step *step, void *words); /* [primary] */
	/* [primary] Fills the message of an output of kind TROUPE_GIVES_REPORT; its header has the time already. False:
	 * there is nothing to say. */
	bool (*report)(const struct troupe_system *self, const struct troupe_step *step, const void *words,
		uint32_t output, struct troupe_message *message);
	/* [primary] For outputs TROUPE_GIVES_ODOMETRY and TROUPE_GIVES_TF, and for the odometry in reports of runs. */
	void (*reckon)(const struct troupe_system *self, const void *words, struct troupe_reckoning *ret_reckoning);
	/* [primary] For update(): whether it does nothing in this step and in all later ones, wherever models are,
	 * until a message comes for this system. Then several steps are taken together, and update() is called in the
	 * first of them, and may change no word. With neither this nor waits_until() it may do something in each step,
	 * which is then taken alone; with both, it waits if one of them says so. */
	bool (*waits)(const struct troupe_system *self, const void *words);
	/* [primary] The same until a time: the simulated time in ns, as troupe_random_index() has it, before which
	 * update() does nothing. now_ns: of the present state. A time that is not after it: it may do something now.
	 * NULL: see waits(). */
	uint64_t (*waits_until)(const struct troupe_system *self, const void *words, uint64_t now_ns);
};

struct troupe_plugin {
	uint32_t size; /* sizeof(struct troupe_plugin) */
	uint32_t abi;  /* TROUPE_PLUGIN_ABI */
	const char *name, *version;
	const struct troupe_kind *const *kinds; /* NULL after the last */
};

#if defined(__GNUC__)
#define TROUPE_EXPORT __attribute__((visibility("default")))
#else
#define TROUPE_EXPORT
#endif

#ifdef __cplusplus
#define TROUPE_PLUGIN_SYMBOL extern "C" TROUPE_EXPORT const struct troupe_plugin troupe_plugin
extern "C" TROUPE_EXPORT const struct troupe_plugin troupe_plugin;
#else
#define TROUPE_PLUGIN_SYMBOL TROUPE_EXPORT const struct troupe_plugin troupe_plugin
extern TROUPE_EXPORT const struct troupe_plugin troupe_plugin;
#endif

/* --- what the host gives ------------------------------------------------------------------------------------------ */

enum troupe_gives {
	TROUPE_GIVES_REPORT,    /* report() fills in the message, at the rate, while the topic has a subscriber */
	TROUPE_GIVES_PUBLISHED, /* publish() gives the message, at any step */
	TROUPE_GIVES_ODOMETRY,  /* gz.msgs.Odometry of reckon() */
	TROUPE_GIVES_TF,        /* gz.msgs.Pose_V with the same pose */
	TROUPE_GIVES_JOINTS,    /* gz.msgs.Model with the state of joints */
	TROUPE_GIVES_POSES,     /* gz.msgs.Pose_V of the model in the world, and of its parts in their parents */
	TROUPE_GIVES_POSE,      /* the same poses, as one gz.msgs.Pose each */
};

/* What poses are of. TROUPE_OF_MOVING: links that a joint connects, if the joint is not fixed and the link does not
 * carry the model's frame; TROUPE_OF_FIXED: all other parts; with neither of the two: all. */
enum {
	TROUPE_OF_MODEL = 1,
	TROUPE_OF_LINKS = 2,
	TROUPE_OF_COLLISIONS = 4,
	TROUPE_OF_VISUALS = 8,
	TROUPE_OF_SENSORS = 16,
	TROUPE_OF_MOVING = 32,
	TROUPE_OF_FIXED = 64,
};

/* A topic that is published for the system. The texts are copied. */
struct troupe_output {
	const char *name; /* "/model/cart/odometry" */
	const char *type; /* of TROUPE_GIVES_REPORT and TROUPE_GIVES_PUBLISHED: "gz.msgs.Double" */
	enum troupe_gives gives;
	double rate_hz; /* simulated, at most 1e9; 0: in each step */
	/* frame_id and child_frame_id in the header; NULL: none. Of TROUPE_GIVES_REPORT: the frame to which it is a
	 * transform. */
	const char *frame, *child_frame;
	uint32_t of;      /* of poses: TROUPE_OF_MODEL | TROUPE_OF_LINKS, ... */
	const char *only; /* of joints: the names of those published, each in '\n'; NULL: all */
};

enum troupe_solid_kind {
	TROUPE_SOLID_BOX,       /* size: half edges */
	TROUPE_SOLID_SPHERE,    /* size.x: radius */
	TROUPE_SOLID_CYLINDER,  /* size.x: radius, size.z: half length */
	TROUPE_SOLID_CAPSULE,   /* the same; half length of the cylindrical part */
	TROUPE_SOLID_PLANE,     /* size: unit normal */
	TROUPE_SOLID_CONE,      /* size.x: radius of the base, size.z: half height; apex at +z */
	TROUPE_SOLID_ELLIPSOID, /* size: radii */
	TROUPE_SOLID_CONVEX,    /* a mesh: triangles and volume, but no size */
	TROUPE_SOLID_MESH,      /* the same; a volume if it is closed */
	TROUPE_SOLID_HEIGHTMAP,
};

struct troupe_solid { /* of a collision of a link */
	enum troupe_solid_kind kind;
	struct troupe_vec3 size;
	struct troupe_pose in_link;
	double volume;             /* m^3; 0 for planes and heightmaps */
	struct troupe_vec3 centre; /* of the volume, in the link's frame */
};

struct troupe_inertia { /* of the rigid body that a link is a part of: links that fixed joints connect are one body */
	double mass;    /* kg */
	struct troupe_vec3 centre;        /* of mass, in the link's frame */
	struct troupe_vec3 diagonal, off; /* ixx iyy izz, ixy ixz iyz about the centre, in the link's axes; kg m^2 */
};

struct troupe_axis {
	struct troupe_vec3 direction;    /* in the world */
	double lower, upper;             /* rad or m; -INFINITY, INFINITY: no stop */
	double velocity_max, effort_max; /* INFINITY: no limit */
};

struct troupe_touch {      /* one point at which two models touch */
	uint32_t links[2]; /* TROUPE_NOTHING: never */
	uint32_t models[2];
	struct troupe_vec3 position, normal; /* world; the normal points from the second into the first */
	double depth;                        /* m */
	/* Names of the collisions: "MODEL::LINK::COLLISION". Valid until the next call of touch(). */
	const char *collisions[2];
};

struct troupe_performer {
	uint32_t model;
	uint64_t id; /* of the model, as in messages; no other model ever has it in this run */
	struct troupe_vec3
		size; /* edges of its box, which has the axes of the world and the model's origin in its middle */
};

struct troupe_box { /* closed, along the axes of the world */
	struct troupe_vec3 low, high;
};

/* Where on earth a point of the world is, and what is there. */
struct troupe_site {
	double latitude_deg, longitude_deg, altitude_m;   /* altitude: above the ellipsoid */
	struct troupe_quat axes;                          /* east, north, up; in the world */
	struct troupe_vec3 magnetic_field;                /* T, in the world's axes */
	double temperature_K, pressure_Pa, density_kg_m3; /* of the air; 0: there is none */
};

/* The functions of the host. Functions for [setup] have no lasting effect if they are called elsewhere. A later troupe
 * may have more of them, at the end: `size` tells. The texts that they return live as long as the system. */
struct troupe_host {
	uint32_t size, abi;

	/* --- [setup]: problems. Each returns false, so that `return host->refuse(...)` ends configure(). --- */

	/* The world is wrong: an error with file:line of the element. */
	bool (*refuse)(struct troupe_system *self, const struct troupe_element *at, const char *format, ...);
	/* The plug-in does not fit the model: it is left out, with a warning. */
	bool (*leave_out)(struct troupe_system *self, const struct troupe_element *at, const char *format, ...);
	/* The same without a warning: a TROUPE_FOR_EACH_MODEL has nothing to do for this model. */
	bool (*pass)(struct troupe_system *self);
	/* A warning with file:line, and the plug-in goes on. */
	void (*warn)(struct troupe_system *self, const struct troupe_element *at, const char *format, ...);

	/* --- [setup]: memory and parameters --- */

	void *(*alloc)(struct troupe_system *self, size_t bytes); /* zeroed; freed with the system. Never NULL. */
	const char *(*print)(struct troupe_system *self, const char *format, ...);
	/* The child elements of that name (NULL: of any name), one after the other; after: the one before, NULL: none.
	 * NULL: no further one. */
	const struct troupe_element *(*child)(
		const struct troupe_element *parent, const char *name, const struct troupe_element *after);
	const char *(*name_of)(const struct troupe_element *element);
	const char *(*text_of)(const struct troupe_element *element); /* trimmed; "" if it has none */
	const char *(*attribute)(const struct troupe_element *element, const char *name); /* NULL: it has none */
	/* The value of the first child of that name; `otherwise` without one. Kinds and ranges of parameters were
	 * checked before; of other children (in a TROUPE_PARTS), a text that is no number is an error, which
	 * configure() need not look for: the plug-in is not used then. */
	double (*number)(
		struct troupe_system *self, const struct troupe_element *parent, const char *name, double otherwise);
	bool (*boolean)(
		struct troupe_system *self, const struct troupe_element *parent, const char *name, bool otherwise);
	const char *(*text)(const struct troupe_element *parent, const char *name, const char *otherwise);
	struct troupe_vec3 (*vector)(struct troupe_system *self, const struct troupe_element *parent, const char *name,
		struct troupe_vec3 otherwise);
	struct troupe_pose (*pose)(struct troupe_system *self, const struct troupe_element *parent, const char *name);
	/* The content of the element, as text of SDF. */
	const char *(*inside)(struct troupe_system *self, const struct troupe_element *element);

	/* --- [setup]: the model and its parts --- */

	const char *(*world_name)(const struct troupe_system *self);
	/* The name of the model that the <plugin> stands in, which may be nested in the top-level model. */
	const char *(*owner_name)(const struct troupe_system *self);
	bool (*is_static)(const struct troupe_system *self);
	/* Leaves the plug-in out, with a warning, if its model is static. */
	bool (*must_move)(struct troupe_system *self);
	/* A joint that can be driven, a link: by name in the model that the <plugin> stands in, "arm" or "nested::arm".
	 * at: the element that has the name. TROUPE_NOTHING: there is none; the plug-in is left out. */
	uint32_t (*joint)(struct troupe_system *self, const struct troupe_element *at, const char *name);
	uint32_t (*link)(struct troupe_system *self, const struct troupe_element *at, const char *name);
	/* The same, but without a word when there is none. any: also fixed and ball joints. */
	uint32_t (*find_joint)(const struct troupe_system *self, const char *name, bool any);
	uint32_t (*find_link)(const struct troupe_system *self, const char *name);
	/* All of the model: their handles begin at the result and are in order. */
	uint32_t (*links)(const struct troupe_system *self, uint32_t *ret_count);
	uint32_t (*joints)(const struct troupe_system *self, uint32_t *ret_count);
	/* The link that carries the model's frame (SDF's canonical link); TROUPE_NOTHING: the model has no links. */
	uint32_t (*frame_link)(const struct troupe_system *self);
	const char *(*link_name)(const struct troupe_system *self, uint32_t link);   /* in the model */
	const char *(*joint_name)(const struct troupe_system *self, uint32_t joint); /* in the model */
	uint32_t (*joint_axes)(const struct troupe_system *self, uint32_t joint);
	/* The link that the joint moves, and its parent; TROUPE_NOTHING: the world. */
	uint32_t (*joint_child)(const struct troupe_system *self, uint32_t joint);
	uint32_t (*joint_parent)(const struct troupe_system *self, uint32_t joint);
	struct troupe_inertia (*link_inertia)(const struct troupe_system *self, uint32_t link);
	uint32_t (*link_solids)(const struct troupe_system *self, uint32_t link);
	struct troupe_solid (*link_solid)(const struct troupe_system *self, uint32_t link, uint32_t index);
	bool (*link_wind)(const struct troupe_system *self, uint32_t link); /* <enable_wind> */
	/* At the pose of the file, in the frame of the model that the system is of. */
	struct troupe_pose (*link_in_model)(const struct troupe_system *self, uint32_t link);
	struct troupe_vec3 (*joint_in_model)(const struct troupe_system *self, uint32_t joint); /* its anchor */
	struct troupe_vec3 (*gravity)(const struct troupe_system *self); /* also in pre_update(): it may change */
	struct troupe_vec3 (*wind)(const struct troupe_system *self);    /* <wind> of the world, m/s */
	/* The surface of a TROUPE_SOLID_CONVEX or TROUPE_SOLID_MESH, in the link's frame: three corners for each
	 * triangle, counter-clockwise seen from outside. In memory of the system; other kinds: NULL, and 0 corners. */
	struct troupe_vec3 *(*link_triangles)(
		struct troupe_system *self, uint32_t link, uint32_t index, uint32_t *ret_corners);
	/* The inertia of the link alone, as the file has it. */
	struct troupe_inertia (*link_own_inertia)(const struct troupe_system *self, uint32_t link);

	/* --- [setup]: words and topics --- */

	/* Adds words to those of the kind; returns the index of the first. */
	uint32_t (*add_words)(struct troupe_system *self, const char *name, enum troupe_word_kind kind, uint32_t count);
	/* command() gets the messages on the topic, with this number as `input`: of commands, of systems, and what the
	 * run itself publishes there from the state, such as odometry and what sensors measure. type: NULL: messages of
	 * each type, which command() gets as gz.msgs.StringMsg, empty if they have another type. drives: a joint of the
	 * model that they drive, by its handle, or TROUPE_NOTHING. */
	bool (*take)(struct troupe_system *self, const struct troupe_element *at, const char *topic, const char *type,
		uint32_t input, uint32_t drives);
	/* The same, and the topic is also the name of a service: a request is a message, and its caller is told in
	 * which step it was taken. reply: the type of the answer that callers expect, "gz.msgs.Boolean" or
	 * "gz.msgs.Empty". */
	bool (*serve)(struct troupe_system *self, const struct troupe_element *at, const char *name, const char *type,
		const char *reply, uint32_t input);
	/* A topic is published; *ret_output, NULL is fine: the number for publish() and report(). */
	bool (*give)(struct troupe_system *self, const struct troupe_element *at, const struct troupe_output *output,
		uint32_t *ret_output);
	/* A field of a type; NULL: there is none, and the plug-in is refused. */
	const struct troupe_field *(*field)(struct troupe_system *self, const char *type, const char *path);
	/* A message of protobuf's text form, "linear { x: 1 }". path: NULL, or a field, "linear.x": then the text is
	 * the value of this field ("1"), and the rest of the message has its defaults. NULL: the text is wrong, and the
	 * plug-in is refused. */
	const struct troupe_message *(*read_message)(struct troupe_system *self, const struct troupe_element *at,
		const char *type, const char *path, const char *text);

	/* --- messages --- */

	/* The number of values of a list; of another field 1. */
	uint32_t (*count)(const struct troupe_message *message, const struct troupe_field *field);
	/* The value, in a list the index-th; 0, "" or NULL if there is none. Bools and enums are numbers. */
	double (*get)(const struct troupe_message *message, const struct troupe_field *field, uint32_t index);
	const char *(*get_text)(const struct troupe_message *message, const struct troupe_field *field, uint32_t index);
	const struct troupe_message *(*get_part)(
		const struct troupe_message *message, const struct troupe_field *field, uint32_t index);
	/* Sets the value, or adds it to a list. */
	void (*put)(struct troupe_message *message, const struct troupe_field *field, double value);
	void (*put_text)(struct troupe_message *message, const struct troupe_field *field, const char *value);
	struct troupe_message *(*put_part)(struct troupe_message *message, const struct troupe_field *field);
	/* Whether both messages, or with a field this field of both, have the same value. Numbers with a fraction may
	 * differ by the tolerance. For a field that is a list: whether `message` has each value that `wanted` has. A
	 * header that `wanted` does not have is not compared. */
	bool (*matches)(const struct troupe_message *message, const struct troupe_message *wanted,
		const struct troupe_field *field, double tolerance);
	/* The message in protobuf's encoding, for words: the number of its bytes. If it is more than `max`, nothing is
	 * written. */
	size_t (*pack)(const struct troupe_message *message, void *ret_bytes, size_t max);

	/* --- reading a state: pre_update(), post_update(), update(), report() --- */

	struct troupe_pose (*model_pose)(const struct troupe_step *step, uint32_t model, enum troupe_time when);
	struct troupe_pose (*link_pose)(const struct troupe_step *step, uint32_t link, enum troupe_time when);
	/* Velocity of the origin of the link's frame, and angular velocity; in the world's axes. */
	struct troupe_twist (*link_twist)(const struct troupe_step *step, uint32_t link, enum troupe_time when);
	/* Velocity of the centre of mass of the link's body, and where it is; in the world. */
	struct troupe_vec3 (*centre_velocity)(const struct troupe_step *step, uint32_t link, enum troupe_time when);
	struct troupe_vec3 (*centre)(const struct troupe_step *step, uint32_t link, enum troupe_time when);
	/* rad (with full turns) or m, relative to the pose in the file; rad/s or m/s. */
	double (*joint_position)(const struct troupe_step *step, uint32_t joint, uint32_t axis, enum troupe_time when);
	double (*joint_velocity)(const struct troupe_step *step, uint32_t joint, uint32_t axis, enum troupe_time when);
	struct troupe_axis (*joint_axis)(
		const struct troupe_step *step, uint32_t joint, uint32_t axis, enum troupe_time when);

	/* --- control of the own model: pre_update(). Sums of what all its systems ask for; values without a bound in
	 * practice (1e9 N, 1e4 m/s), NaN or infinite ones, are cut or become 0. --- */

	void (*joint_force)(const struct troupe_step *step, uint32_t joint, double force); /* N or N m on axis 0 */
	/* Axis 0 follows the velocity with at most its effort limit; the last call counts. */
	void (*joint_drive)(const struct troupe_step *step, uint32_t joint, double velocity);
	/* Acts on the link during the step, at a point of its frame; in the world's axes. */
	void (*link_force)(
		const struct troupe_step *step, uint32_t link, struct troupe_vec3 point, struct troupe_wrench wrench);
	/* Sets the velocity before the step: of the link's origin, in the world's axes; or of all bodies of the model
	 * as of one rigid body, about the model's origin. */
	void (*link_drive)(const struct troupe_step *step, uint32_t link, struct troupe_twist twist);
	void (*model_drive)(const struct troupe_step *step, uint32_t model, struct troupe_twist twist);
	/* Whether a system has asked for a force or velocity of the joint of the own model in this step, other than 0.
	 * In pre_update(): the systems before this one. */
	bool (*joint_asked)(const struct troupe_step *step, uint32_t joint);
	/* The joint gets no force or velocity in this step, whatever other systems ask, before or after. */
	void (*joint_release)(const struct troupe_step *step, uint32_t joint);
	/* Puts an actor at the pose in the world at the end of the step, and not where its script says; on its way
	 * there it pushes the models that it touches, unless it is faster than 100 m/s or rad/s. For a model that is no
	 * actor it has no effect. */
	void (*actor_place)(const struct troupe_step *step, uint32_t model, struct troupe_pose pose);
	/* How other things slide on the collisions of the link. In update() the same for links of a static own model.
	 *
	 * A belt runs around the link as around rollers that turn about the axis, a direction in the world: at the
	 * contact with the ground, backwards when the speed (m/s) is positive and the axis points to the left. The
	 * first direction of friction is that of the belt. centre: NULL, or a point of the world around which the model
	 * is to turn: then friction acts along circles around it, with the whole speed. */
	void (*link_belt)(const struct troupe_step *step, uint32_t link, struct troupe_vec3 axis, double speed,
		const struct troupe_vec3 *centre);
	/* A wheel with this axis: each N of friction lets it slip, along the axis by slip1 m/s and across it by slip2,
	 * in addition to the slip of the two surfaces. The first direction of friction is along the axis. */
	void (*link_slip)(
		const struct troupe_step *step, uint32_t link, struct troupe_vec3 axis, double slip1, double slip2);

	/* --- the world: update(), report() --- */

	uint32_t (*find_model)(const struct troupe_step *step, const char *name);
	/* The places of models are 0 .. the result - 1; a place that is free, or whose model is not loaded, has no
	 * name. */
	uint32_t (*models)(const struct troupe_step *step);
	const char *(*model_name)(
		const struct troupe_step *step, uint32_t model);             /* NULL: no model; valid in the call */
	bool (*model_moves)(const struct troupe_step *step, uint32_t model); /* false: it is static */
	uint32_t (*find_link_of)(const struct troupe_step *step, uint32_t model, const char *name);
	uint32_t (*find_joint_of)(const struct troupe_step *step, uint32_t model, const char *name);
	/* The i-th contact of the model in the last step; false: there are no more. TROUPE_READS_CONTACTS. */
	bool (*touch)(const struct troupe_step *step, uint32_t model, uint32_t i, struct troupe_touch *ret_touch);
	/* A sensor of the model, by name: "lidar", or "link::lidar"; TROUPE_NOTHING: none. It measures from now on.
	 * TROUPE_READS_SENSORS. */
	uint32_t (*find_sensor)(const struct troupe_step *step, uint32_t model, const char *name);
	/* The numbers that the sensor measured in the last step, with the simulated time of the sample; NULL: it did
	 * not measure in that step. For a sensor that measures motion, forces or ranges they are the struct of its type
	 * in reading.h; for cameras and contact sensors see src/sensor/reading.h. */
	const double *(*reading)(const struct troupe_step *step, uint32_t model, uint32_t sensor, uint32_t *ret_count,
		double *ret_time_s);
	/* The i-th performer of the world, in the order of the models; false: there are no more. */
	bool (*performer)(const struct troupe_step *step, uint32_t i, struct troupe_performer *ret_performer);

	/* --- acting: update() only. Of one system at most 16384 messages and requests in a step, of all 65536: the
	 * others are dropped, with one line for the system. --- */

	/* A new message, to be filled in; it lives until update() returns. */
	struct troupe_message *(*message)(const struct troupe_step *step, const char *type);
	/* A message of what pack() wrote, to be read or changed; it lives as long. NULL: the bytes are none of the
	 * type. */
	struct troupe_message *(*unpack)(
		const struct troupe_step *step, const char *type, const void *bytes, size_t count);
	/* To all systems that listen to the topic of the output, in this step, and to subscribers outside. If the own
	 * model belongs to a robot client, only to those on which the client may act. */
	void (*publish)(const struct troupe_system *self, const struct troupe_step *step, uint32_t output,
		const struct troupe_message *message);
	/* Joins a link of the own model rigidly to any other link, as they stand in state k, from this step on; until
	 * detach(), or until one of the models is removed or reset. False: one of them does not exist, or the own
	 * model belongs to a robot client that may not act on the other one. */
	bool (*attach)(const struct troupe_system *self, const struct troupe_step *step, uint32_t link, uint32_t other);
	/* Ends all that this system has joined, from this step on. */
	void (*detach)(const struct troupe_system *self, const struct troupe_step *step);
	/* Whether something is joined that this system has attached; in state k. */
	bool (*attached)(const struct troupe_system *self, const struct troupe_step *step);
	/* A request to a service of the world, as a command that is due in this step: "set_pose", "create", "remove",
	 * ...; the message has the type of the service (`troupe topics` lists them). Its outcome is on the topic
	 * replies. If the own model belongs to a robot client, the request has the rights of this client. */
	void (*request)(const struct troupe_system *self, const struct troupe_step *step, const char *service,
		const struct troupe_message *message);

	/* --- anywhere: the same bits on every machine --- */

	double (*sin)(double x);
	double (*cos)(double x);
	double (*tan)(double x);
	double (*asin)(double x);
	double (*acos)(double x);
	double (*atan2)(double y, double x);
	double (*exp)(double x);
	double (*log)(double x);
	double (*pow)(double x, double y); /* x > 0: exp(y log(x)) */
	void (*sincos)(double x, double *ret_sin, double *ret_cos);
	/* The number `index` of a sequence that belongs to this system and the seed of the run: uniform in [0, 1);
	 * normal with mean 0 and deviation 1. The same call has the same result, always: count the index up in a word,
	 * or use troupe_random_index(step). sequence: tells sequences of one system apart. */
	double (*random)(const struct troupe_system *self, uint32_t sequence, uint64_t index);
	double (*random_normal)(const struct troupe_system *self, uint32_t sequence, uint64_t index);
	/* A line in the run's log, for people; at most 200 bytes of it. Not in state or messages. It is dropped while
	 * the world is loaded: warn() is for configure(). */
	void (*log_line)(const struct troupe_system *self, const char *format, ...);

	/* --- added later: `size` tells whether the host has them --- */

	/* [setup] The <plugin>s of the top-level model that the system is of, also those without effect, one after the
	 * other; after: the one before, NULL: none. NULL: no further one. */
	const struct troupe_element *(*sibling)(const struct troupe_system *self, const struct troupe_element *after);
	/* Whether a system has released the joint of the own model in this step. In pre_update(): the systems before
	 * this one. In post_update(): all. */
	bool (*joint_released)(const struct troupe_step *step, uint32_t joint);
	/* [setup] The fluid around a link of the own model adds to its mass: a symmetric matrix of 6 rows, in the frame
	 * of the link, linear part first; kg, kg m, kg m2. As <fluid_added_mass> it takes part in the solution of
	 * contacts and joints, and has no limit. The whole matrix acts on the motion of the link in the world, with its
	 * Coriolis forces. False, with a warning: it is left out, because the mass of the link and what is added is not
	 * positive definite. A link that forces do not move has none: true. */
	bool (*link_add_mass)(
		struct troupe_system *self, const struct troupe_element *at, uint32_t link, const double matrix[36]);
	/* [setup], and where a state is read. By <spherical_coordinates>, as it is now, <magnetic_field> and
	 * <atmosphere> of the world; point: in the world. */
	struct troupe_site (*site)(const struct troupe_system *self, struct troupe_vec3 point);
	/* [setup] The <world>, for elements of other simulators in it. */
	const struct troupe_element *(*world)(const struct troupe_system *self);
	/* Where a state is read: the box around all collisions of the model; at its origin, if it has none. A plane
	 * has no bounds. */
	struct troupe_box (*model_box)(const struct troupe_step *step, uint32_t model, enum troupe_time when);
	/* [setup], and where a state is read. The earth's magnetic field at the place of the point, by the World
	 * Magnetic Model of 2025, whatever <magnetic_field> says; in the world's axes, T. */
	struct troupe_vec3 (*earth_field)(const struct troupe_system *self, struct troupe_vec3 point);
};

#ifdef __cplusplus
}
#endif
#endif
