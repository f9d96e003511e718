/* Messages of the types in topic/type.h, and their three forms: text, bytes, JSON.
 *
 * A message is a struct that protobuf-c made. Each function here that makes a message makes one block of memory, which
 * holds the message with its strings, lists and parts: message_free() frees all of it, and no part may be freed or
 * resized. A caller may also fill structs of its own, with pointers to its own memory, and print or copy them.
 *
 * A field that a form does not name has its default: 0, false, "", the enum's first value, no element; a part (field
 * of message type) is NULL. Only a member of a oneof tells whether it was given. A .proto file here puts a field alone
 * into a oneof NAME_given where it makes a difference whether it was given: `message->NAME_given_case` is then not 0.
 *
 * Any thread may call the functions. The time and memory that they take are proportional to their input. */
#ifndef TOPIC_MESSAGE_H
#define TOPIC_MESSAGE_H

#include "base/arena.h"
#include "topic/type.h"

enum {
	MESSAGE_DEPTH_MAX = 32,         /* messages inside messages */
	MESSAGE_MEMORY_MAX = 256 << 20, /* bytes of one message while it is made */
};

/* Limits of a message that is made from one of its forms. */
struct message_limits {
	size_t bytes_max;   /* of the form */
	uint32_t items_max; /* elements of all lists together */
	double number_max;  /* magnitude of each float and double; 0: any number, also infinity and nan */
	bool any_fields;    /* of JSON: members that the type does not have are skipped, not refused */
};
/* 16 MiB, 100 000 elements, finite numbers within 1e9: for commands. */
extern const struct message_limits message_limits_usual;
/* None, but for memory: for messages that this process made itself, or has checked. */
extern const struct message_limits message_limits_none;

/* --- text --------------------------------------------------------------------------------------------------------- */

/* Makes a message out of protobuf's text format, as gz topic's -p and gz service's --req take it: `linear: {x: 4.0}
 * angular {z: -0.5}`. Fields may be separated by blanks, commas or semicolons. A colon before `{` may be left out, and
 * <...> is the same as {...}. # starts a comment. Numbers are decimal. If a field is given twice, the last one counts;
 * two parts are merged. Only one member of a oneof may be given. A string is enclosed in "..." or '...'; it may contain
 * line ends and the escapes \a \b \f \n \r \t \v \\ \' \" \? \ooo \xHH; several strings in a row are joined. Strings
 * are UTF-8 without zero bytes. A repeated field is given several times, or once with a list: `pose: [{...}, {...}]`,
 * `position: [1, 2]`. An enum is a name or a number that has a name.
 *
 * TROUPE_ECOMMAND: "column N: the field: the error, the expected text", and "column N of line M" from the second line
 * on. Columns are bytes from 1. */
troupe_status message_of_text(message_type type, const char *text, const struct message_limits *limits,
	ProtobufCMessage **ret_message, struct troupe_error *error);

enum message_layout {
	MESSAGE_LINE,  /* all in one line: linear {x: 4} angular {z: -0.5} */
	MESSAGE_LINES, /* one line for each field, indented, as gz topic -e prints */
};
/* Appends the text form. Fields that have their default are left out. */
void message_add_text(struct text *out, const ProtobufCMessage *message, enum message_layout layout);

/* --- bytes: protobuf's encoding ----------------------------------------------------------------------------------- */

/* Fields that the type does not have are skipped. TROUPE_ECOMMAND: "byte N: the field: the error, ..."; bytes are
 * counted from 0. */
troupe_status message_of_bytes(message_type type, const void *bytes, size_t count, const struct message_limits *limits,
	ProtobufCMessage **ret_message, struct troupe_error *error);
/* The same for a message that is looked at once: its parts lie in the arena, which must be empty (zeroed), and are not
 * copied into one block. The message lives as long as the arena, and is not freed. On failure the arena stays empty. */
troupe_status message_of_bytes_in(struct arena *arena, message_type type, const void *bytes, size_t count,
	const struct message_limits *limits, ProtobufCMessage **ret_message, struct troupe_error *error);
void message_add_bytes(struct text *out, const ProtobufCMessage *message);

enum message_number_kind { /* what a number in the bytes of a message is */
	MESSAGE_BYTE,
	MESSAGE_FLOAT,
	MESSAGE_DOUBLE,
	MESSAGE_UINT32,
	MESSAGE_INT32,
	MESSAGE_UINT64,
	MESSAGE_INT64,
};

struct message_numbers {
	enum message_number_kind kind;
	const void *at; /* in the message's bytes, not aligned; NULL if there are none */
	size_t count;
};

/* Finds the numbers of a field in the bytes of a message, without a copy. path: "ranges", "pose.position.x". No
 * numbers: the field has its default. Contract as that of troupe_message_numbers() in troupe/message.h. */
troupe_status message_find_numbers(message_type type, const void *bytes, size_t count, const char *path,
	struct message_numbers *ret_numbers, struct troupe_error *error);
/* The same for one number of any type: troupe_message_number(). */
troupe_status message_find_number(message_type type, const void *bytes, size_t count, const char *path,
	double *ret_number, struct troupe_error *error);

/* --- JSON: protobuf's mapping ------------------------------------------------------------------------------------- */

/* Names of fields are lowerCamelCase, or as in the .proto file. TROUPE_ECOMMAND: the error in the field, or "line N,
 * column M: the error" if the text is no JSON. */
troupe_status message_of_json(message_type type, const char *text, size_t count, const struct message_limits *limits,
	ProtobufCMessage **ret_message, struct troupe_error *error);
/* Appends an object in one line, with names in lowerCamelCase. Fields that have their default are left out. */
void message_add_json(struct text *out, const ProtobufCMessage *message);

/* --- numbers ------------------------------------------------------------------------------------------------------ */

/* Makes a message out of its fields that are numbers, bools or enums, in the order of the fields' numbers, those of a
 * part in its place; a header does not count. gz.msgs.Twist: linear x y z, angular x y z. Fields that are left out at
 * the end are not given. TROUPE_ECOMMAND: a number that the field cannot have, a field that is no number, too many
 * numbers. */
troupe_status message_of_numbers(message_type type, const double *numbers, uint32_t count,
	const struct message_limits *limits, ProtobufCMessage **ret_message, struct troupe_error *error);

/* --- messages ----------------------------------------------------------------------------------------------------- */

/* A string for a message that the caller fills: protobuf-c's structs have `char *`, but no function writes to it. */
static inline char *message_string(const char *string)
{
	return (char *)(uintptr_t)string;
}

/* Room for a message that the caller fills and keeps, zeroed; message_free() frees it. Its parts lie in the same room.
 */
void *message_room(size_t bytes);
ProtobufCMessage *message_create(message_type type); /* all fields have their defaults */
ProtobufCMessage *message_copy(const ProtobufCMessage *message);
void message_free(ProtobufCMessage *message); /* NULL is nothing */
/* A copy that lies in the arena: it lives as long as the arena, and is not freed. */
ProtobufCMessage *message_copy_in(struct arena *arena, const ProtobufCMessage *message);
/* The memory, in bytes, of a message that a function of this header made, without a walk over its fields. */
size_t message_memory(const ProtobufCMessage *message);
/* Whether two messages have the same type and the same bytes. */
bool message_equal(const ProtobufCMessage *a, const ProtobufCMessage *b);

/* Whether a message that the caller filled is within the limits, bytes_max aside: numbers, elements, depth, strings
 * that are UTF-8. TROUPE_ECOMMAND: "linear.x: nan: expected a number between -1e9 and 1e9". */
troupe_status message_check(
	const ProtobufCMessage *message, const struct message_limits *limits, struct troupe_error *error);

/* --- fields by their descriptors ---------------------------------------------------------------------------------- */

/* The number of values that a message has of a field: elements of a list, or else 1 or 0. A field outside of a oneof
 * that has its default counts as 0. */
size_t message_field_count(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field);
/* The i-th value of the field, i < message_field_count(). It points to the field's type in C: a double, an int32_t, a
 * char *, a ProtobufCBinaryData, a ProtobufCMessage *, and so on. */
const void *message_field_at(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field, size_t i);

#endif
