/* Messages in protobuf's text format, as gz topic's -p and gz service's --req take them: `linear: {x: 4.0} angular
 * {z: -0.5}`. Only the fields that a schema names are accepted. Any other field is refused; the error gives its
 * place.
 *
 * A message is stored as numbers: each leaf of the schema has a slot. A slot that the text does not name holds the
 * default 0 and is marked as not given. Strings, lists of numbers, and repeated parts of a message are stored behind
 * one pointer. It is NULL in the many messages that have none of these. Messages are copied by value, and millions of
 * them may wait in a queue. */
#ifndef SYSTEM_MESSAGE_H
#define SYSTEM_MESSAGE_H

#include "base/pack.h"
#include "geom/geom.h"

enum {
	MESSAGE_SLOTS_MAX = 16,
	MESSAGE_BYTES_MAX = 4096,          /* limit of a text, unless its schema has another one */
	MESSAGE_LONG_BYTES_MAX = 16 << 20, /* limit of a text that contains SDF or many items */
	MESSAGE_ITEMS_MAX = 100000,
};

#define MESSAGE_DOUBLE_MAX 1e9

enum message_kind {
	MESSAGE_DOUBLE, /* finite, |value| <= MESSAGE_DOUBLE_MAX */
	MESSAGE_BOOL,
	MESSAGE_UINT,    /* up to 2^32 - 1 */
	MESSAGE_ENUM,    /* a name of the schema's enum_names, or its number */
	MESSAGE_STRING,  /* UTF-8 without zero bytes; its value is 0 */
	MESSAGE_NUMBERS, /* any number of doubles: see message_numbers(); its value is their count */
	MESSAGE_ITEM,    /* a message of the schema's item; only among the fields without slot */
	MESSAGE_ANY,     /* any well-formed value, which is dropped; only among the fields without slot */
};

struct message_field {
	const char *path; /* "linear.x" */
	enum message_kind kind;
};

struct message_schema {
	const char *type;                   /* "gz.msgs.Twist" */
	const struct message_field *fields; /* one slot each, in this order */
	uint32_t field_count;               /* <= MESSAGE_SLOTS_MAX */
	const struct message_field *others; /* fields without slot: items, and fields that are checked and dropped */
	uint32_t other_count;
	const struct message_schema *item; /* schema of the one field of kind MESSAGE_ITEM; an item has no items */
	const char *const *enum_names;     /* names for MESSAGE_ENUM, by number; NULL after the last */
	bool headers;                      /* a field `header` is accepted and dropped in each message */
	uint32_t bytes_max;                /* limit of the text; 0: MESSAGE_BYTES_MAX */
};

struct message {
	double value[MESSAGE_SLOTS_MAX]; /* bools as 0 and 1 */
	uint32_t given;                  /* bit i: the text gave slot i */
	/* Strings, lists of numbers, items; NULL: none. Read them with message_string(), message_numbers(),
	 * message_item(). */
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

enum { /* gz.msgs.Physics; its other fields, for other engines, are accepted and dropped */
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
	MESSAGE_PERFORMER_SECONDARY, /* the secondary that must simulate it, from 1 */
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

/* Parses the text form. Fields may be separated by blanks, commas or semicolons. A colon before `{` may be left out,
 * and <...> is the same as {...}. # starts a comment. Numbers are decimal. If a field is given twice, the last one
 * counts, as in protobuf. A string is enclosed in "..." or '...'; it may contain line ends and the escapes \a \b \f
 * \n \r \t \v \\ \' \" \? \ooo \xHH; several strings in a row are joined. A repeated field is given several times, or
 * once with a list: `pose: [{...}, {...}]`, `position: [1, 2]`. Time and memory are proportional to the text.
 *
 * On success the caller owns the message: message_fini(). Otherwise TROUPE_ECOMMAND with "column N: the error, the
 * expected text", and "column N of line M" from the second line on. Columns are bytes from 1. */
troupe_status message_parse(
	const struct message_schema *schema, const char *text, struct message *ret_message, struct troupe_error *error);

/* A message as bytes, and back, for another process. message_unpack() checks the bytes against the schema; if true,
 * the caller owns the message. */
void message_pack(const struct message_schema *schema, const struct message *message, struct text *out);
bool message_unpack(const struct message_schema *schema, struct unpack *in, struct message *ret_message);

/* Appends a string as it is written in a message, in quotes and with escapes. */
void message_add_string(struct text *out, const char *string);
/* Appends the text form; message_parse() makes the same message from it. */
void message_print(const struct message_schema *schema, const struct message *message, struct text *out);

/* Frees strings, lists and items; a message without these need not be freed. Copies made by assignment share them. So
 * call this once, for the last copy; after that no copy's strings, lists or items may be used. */
void message_fini(struct message *message);

/* Whether the text gave the slot. */
static inline bool message_given(const struct message *message, uint32_t slot)
{
	return message->given >> slot & 1;
}

/* The string in a slot, "" when it was not given; valid as long as the message. */
const char *message_string(const struct message *message, uint32_t slot);
/* The numbers of a slot of kind MESSAGE_NUMBERS, in the order of the text; their count is message->value[slot]. The
 * message owns them. */
const double *message_numbers(const struct message *message, uint32_t slot);
/* The items of a message, in the order of the text. The message owns them: do not call message_fini() for them. */
uint32_t message_item_count(const struct message *message);
const struct message *message_item(const struct message *message, uint32_t i); /* i < message_item_count() */
/* Memory behind the pointer, in addition to sizeof; for limits of queues. */
size_t message_more_bytes(const struct message *message);

/* Whether the text gave any of the three slots that begin at `slot`; and the vector in these slots. */
static inline bool message_vector_given(const struct message *message, uint32_t slot)
{
	return message->given >> slot & 7;
}

static inline struct vec3 message_vector(const struct message *message, uint32_t slot)
{
	return (struct vec3){message->value[slot], message->value[slot + 1], message->value[slot + 2]};
}

/* The pose in the MESSAGE_POSE_SLOTS slots that begin at `slot`. A position that is not given is the origin. An
 * orientation that is not given is the identity; any other one is normalised (missing components are 0, as in
 * protobuf). TROUPE_ECOMMAND if the pose is not finite, or if the orientation is shorter than 1e-6. */
troupe_status message_pose_of(
	const struct message *message, uint32_t slot, struct pose *ret_pose, struct troupe_error *error);

#endif
