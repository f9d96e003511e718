/* Messages in protobuf's text form, as gz topic's -p and gz service's --req take them:
 * `linear: {x: 4.0} angular {z: -0.5}`. Only the fields that a schema names are accepted; everything else is refused
 * with its place.
 *
 * A message becomes numbers: each leaf of the schema has a slot. Slots not named in the text hold the default 0 and are
 * marked as not given. Texts, lists of numbers, and the parts of a message that repeats, lie behind one pointer, which
 * is NULL in the many messages that have none of these: they are copied by value, and millions of them may wait in a
 * queue. */
#ifndef SYSTEM_MESSAGE_H
#define SYSTEM_MESSAGE_H

#include "base/pack.h"
#include "geom/geom.h"

enum {
	MESSAGE_SLOTS_MAX = 16,
	MESSAGE_BYTES_MAX = 4096,          /* of a text, unless its schema says otherwise */
	MESSAGE_LONG_BYTES_MAX = 16 << 20, /* of one that carries SDF or many items */
	MESSAGE_ITEMS_MAX = 100000,
};

#define MESSAGE_DOUBLE_MAX 1e9

enum message_kind {
	MESSAGE_DOUBLE, /* finite, |value| <= MESSAGE_DOUBLE_MAX */
	MESSAGE_BOOL,
	MESSAGE_UINT,    /* up to 2^32 - 1 */
	MESSAGE_ENUM,    /* a name of the schema's enum_names, or its number */
	MESSAGE_STRING,  /* UTF-8 without zero bytes; its value is 0 */
	MESSAGE_NUMBERS, /* doubles, as many as are given: see message_numbers(); its value is their count */
	MESSAGE_ITEM,    /* one more message of the schema's item; only among the fields without slot */
	MESSAGE_ANY,     /* whatever is well-formed, dropped; only among the fields without slot */
};

struct message_field {
	const char *path; /* "linear.x" */
	enum message_kind kind;
};

struct message_schema {
	const char *type;                   /* "gz.msgs.Twist" */
	const struct message_field *fields; /* one slot each, in this order */
	uint32_t field_count;               /* <= MESSAGE_SLOTS_MAX */
	const struct message_field *others; /* without slot: items, and what is checked and dropped */
	uint32_t other_count;
	const struct message_schema *item; /* of MESSAGE_ITEM, at most one field; an item has no items */
	const char *const *enum_names;     /* of MESSAGE_ENUM, by number; NULL after the last */
	bool headers;                      /* accept and drop a field `header` in every message of it */
	uint32_t bytes_max;                /* of the text; 0: MESSAGE_BYTES_MAX */
};

struct message {
	double value[MESSAGE_SLOTS_MAX]; /* bools as 0 and 1 */
	uint32_t given;                  /* bit i: slot i stood in the text */
	/* Texts, lists of numbers, items; NULL: none. Ask message_string(), message_numbers() and message_item(). */
	struct message_more *more;
};

extern const struct message_schema message_twist;  /* linear.x .y .z, angular.x .y .z */
extern const struct message_schema message_double; /* data */
extern const struct message_schema message_bool;   /* data */

enum { /* gz.msgs.WorldControl */
	MESSAGE_CONTROL_PAUSE,
	MESSAGE_CONTROL_STEP,
	MESSAGE_CONTROL_MULTI_STEP,
	MESSAGE_CONTROL_RESET_ALL,
	MESSAGE_CONTROL_RESET_TIME,
	MESSAGE_CONTROL_RESET_MODELS,
	MESSAGE_CONTROL_SEED,
	MESSAGE_CONTROL_RUN_TO_SEC, /* of simulated time */
	MESSAGE_CONTROL_RUN_TO_NSEC,
	MESSAGE_CONTROL_SLOTS,
};
extern const struct message_schema message_world_control;

enum { /* gz.msgs.Actuators: lists */
	MESSAGE_ACTUATORS_POSITION,
	MESSAGE_ACTUATORS_VELOCITY,
	MESSAGE_ACTUATORS_NORMALIZED,
	MESSAGE_ACTUATORS_SLOTS,
};
extern const struct message_schema message_actuators;

/* --- messages that change the world: their slots, in the order of the schema ------------------------------------- */

/* A pose is seven slots in a row, position x y z and orientation x y z w: see message_pose_of(). */
enum { MESSAGE_POSE_SLOTS = 7 };

enum {                                /* gz.msgs.EntityFactory; accepted and dropped: pose.name, pose.id */
	MESSAGE_FACTORY_SDF,          /* text */
	MESSAGE_FACTORY_SDF_FILENAME, /* text */
	MESSAGE_FACTORY_CLONE_NAME,   /* text */
	MESSAGE_FACTORY_NAME,         /* text */
	MESSAGE_FACTORY_ALLOW_RENAMING,
	MESSAGE_FACTORY_RELATIVE_TO, /* text */
	MESSAGE_FACTORY_POSE,
	MESSAGE_FACTORY_SLOTS = MESSAGE_FACTORY_POSE + MESSAGE_POSE_SLOTS,
};
extern const struct message_schema message_entity_factory;
extern const struct message_schema message_entity_factory_v; /* items (data): message_entity_factory */

enum { /* gz.msgs.Entity; an id of more than 32 bits is refused: no world has so many models */
	MESSAGE_ENTITY_ID,
	MESSAGE_ENTITY_NAME, /* text */
	MESSAGE_ENTITY_TYPE, /* enum message_entity_type */
	MESSAGE_ENTITY_SLOTS,
};
enum message_entity_type { /* gz.msgs.Entity.Type */
	MESSAGE_ENTITY_TYPE_NONE,
	MESSAGE_ENTITY_TYPE_LIGHT,
	MESSAGE_ENTITY_TYPE_MODEL,
	MESSAGE_ENTITY_TYPE_LINK,
	MESSAGE_ENTITY_TYPE_VISUAL,
	MESSAGE_ENTITY_TYPE_COLLISION,
	MESSAGE_ENTITY_TYPE_SENSOR,
	MESSAGE_ENTITY_TYPE_JOINT,
	MESSAGE_ENTITY_TYPE_ACTOR,
	MESSAGE_ENTITY_TYPE_WORLD,
	MESSAGE_ENTITY_TYPES,
};
extern const struct message_schema message_entity;

enum {                     /* gz.msgs.Pose */
	MESSAGE_POSE_NAME, /* text */
	MESSAGE_POSE_ID,
	MESSAGE_POSE_POSE,
	MESSAGE_POSE_END = MESSAGE_POSE_POSE + MESSAGE_POSE_SLOTS,
};
extern const struct message_schema message_pose;
extern const struct message_schema message_pose_v; /* items (pose): message_pose */

enum { /* gz.msgs.Physics; its other fields are accepted and dropped: they are another engine's */
	MESSAGE_PHYSICS_MAX_STEP_SIZE, /* s */
	MESSAGE_PHYSICS_REAL_TIME_FACTOR,
	MESSAGE_PHYSICS_GRAVITY_X, /* m/s^2 */
	MESSAGE_PHYSICS_GRAVITY_Y,
	MESSAGE_PHYSICS_GRAVITY_Z,
	MESSAGE_PHYSICS_REAL_TIME_UPDATE_RATE, /* Hz */
	MESSAGE_PHYSICS_SLOTS,
};
extern const struct message_schema message_physics;

enum { MESSAGE_STRING_DATA /* text */, MESSAGE_STRING_SLOTS };
extern const struct message_schema message_string_msg; /* gz.msgs.StringMsg */

enum {                            /* gz.msgs.StringMsg, with fields that Gazebo does not have */
	MESSAGE_PERFORMER_DATA,   /* text: the model */
	MESSAGE_PERFORMER_SIZE_X, /* m */
	MESSAGE_PERFORMER_SIZE_Y,
	MESSAGE_PERFORMER_SIZE_Z,
	MESSAGE_PERFORMER_REMOVE,
	MESSAGE_PERFORMER_SECONDARY, /* that must simulate it, from 1 */
	MESSAGE_PERFORMER_SLOTS,
};
extern const struct message_schema message_set_performer;

enum {                         /* of a model; Gazebo has no such message */
	MESSAGE_VELOCITY_NAME, /* text */
	MESSAGE_VELOCITY_ID,
	MESSAGE_VELOCITY_LINEAR, /* x y z, m/s, of the model's frame, in the world's axes */
	MESSAGE_VELOCITY_ANGULAR = MESSAGE_VELOCITY_LINEAR + 3, /* x y z, rad/s */
	MESSAGE_VELOCITY_SLOTS = MESSAGE_VELOCITY_ANGULAR + 3,
};
extern const struct message_schema message_set_velocity;

enum {                          /* of a model; Gazebo has no such message */
	MESSAGE_JOINT_NAME,     /* text: the model */
	MESSAGE_JOINT_ID,       /* of the model */
	MESSAGE_JOINT_JOINT,    /* text */
	MESSAGE_JOINT_AXIS,     /* 0 or 1 */
	MESSAGE_JOINT_POSITION, /* rad or m */
	MESSAGE_JOINT_VELOCITY, /* rad/s or m/s */
	MESSAGE_JOINT_SLOTS,
};
extern const struct message_schema message_set_joint;

enum { /* gz.msgs.EntityWrench */
	MESSAGE_WRENCH_ID,
	MESSAGE_WRENCH_NAME,                               /* text */
	MESSAGE_WRENCH_TYPE,                               /* enum message_entity_type */
	MESSAGE_WRENCH_FORCE,                              /* x y z, N, in the world's axes */
	MESSAGE_WRENCH_TORQUE = MESSAGE_WRENCH_FORCE + 3,  /* x y z, N m */
	MESSAGE_WRENCH_OFFSET = MESSAGE_WRENCH_TORQUE + 3, /* x y z, m, from the centre of mass, in the link's axes */
	MESSAGE_WRENCH_SLOTS = MESSAGE_WRENCH_OFFSET + 3,
};
extern const struct message_schema message_entity_wrench;

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Fields may be separated by blanks, commas or semicolons, a colon before `{` may be left out, <...> may stand for
 * {...}, # starts a comment. Numbers are decimal. A field given twice: the last counts, as in protobuf. A text stands
 * in
 * "..." or '...', may hold line ends and the escapes \a \b \f \n \r \t \v \\ \' \" \? \ooo \xHH, and several in a row
 * are one. A field that repeats is given again, or once with a list: `pose: [{...}, {...}]`, `position: [1, 2]`. Time
 * and memory are proportional to the text. The caller owns the message: message_fini(). TROUPE_ECOMMAND with "column N:
 * what is wrong, what was expected" otherwise, "column N of line M" from the second line on; columns are bytes from 1.
 */
troupe_status message_parse(
	const struct message_schema *schema, const char *text, struct message *ret_message, struct troupe_error *error);

/* A message as bytes, and back: for who gives it to somebody in another process. What is read is checked against the
 * schema; true: the caller owns the message. */
void message_pack(const struct message_schema *schema, const struct message *message, struct text *out);
bool message_unpack(const struct message_schema *schema, struct unpack *in, struct message *ret_message);

/* A text as it stands in a message, in quotes and with escapes. */
void message_add_string(struct text *out, const char *string);
/* The text form, from which message_parse() makes the same message. */
void message_print(const struct message_schema *schema, const struct message *message, struct text *out);

/* Frees texts and items; nothing to do for a message without. Copies made by assignment share them: whoever holds the
 * last one calls this, once, and nobody looks at another copy's texts or items afterwards. */
void message_fini(struct message *message);

/* Whether slot i stood in the text. */
static inline bool message_given(const struct message *message, uint32_t slot)
{
	return message->given >> slot & 1;
}

/* The text in a slot, "" when it was not given; as long as the message lives. */
const char *message_string(const struct message *message, uint32_t slot);
/* The numbers of a slot of MESSAGE_NUMBERS in the order of the text, of which there are message->value[slot]. They are
 * the message's. */
const double *message_numbers(const struct message *message, uint32_t slot);
/* The parts of a message that repeats, in the order of the text. They are the message's: no message_fini() for them. */
uint32_t message_item_count(const struct message *message);
const struct message *message_item(const struct message *message, uint32_t i); /* i < message_item_count() */
/* Memory behind the message, beyond sizeof: for limits on queues. */
size_t message_more_bytes(const struct message *message);

/* Whether any of the three slots from `slot` on stood in the text, and what they hold. */
static inline bool message_vector_given(const struct message *message, uint32_t slot)
{
	return message->given >> slot & 7;
}

static inline struct vec3 message_vector(const struct message *message, uint32_t slot)
{
	return (struct vec3){message->value[slot], message->value[slot + 1], message->value[slot + 2]};
}

/* The pose in the MESSAGE_POSE_SLOTS slots from `slot` on. A position that is not given is the origin; an orientation
 * of which nothing is given is the identity, any other is normalised (components not given are 0, as in protobuf).
 * TROUPE_ECOMMAND when it is not finite, or shorter than 1e-6. */
troupe_status message_pose_of(
	const struct message *message, uint32_t slot, struct pose *ret_pose, struct troupe_error *error);

#endif
