/* The types of messages: those of Gazebo (gz.msgs) that troupe knows, and its own (troupe.msgs).
 *
 * The .proto files of this folder are the only list of fields. protobuf-c makes structs and descriptors of them when
 * troupe is built; everything here and in message.h works from the descriptors. A C file that uses the fields of a type
 * includes the header that protobuf-c makes, for example "topic/motion.pb-c.h" for Gz__Msgs__Twist.
 *
 * All functions may be called by any thread; what they return lasts as long as the process. */
#ifndef TOPIC_TYPE_H
#define TOPIC_TYPE_H

#include "base/text.h"

#include <protobuf-c/protobuf-c.h>

typedef const ProtobufCMessageDescriptor *message_type; /* ->name is "gz.msgs.Twist" */

/* Finds a type by its name. gz.msgs.Twist, ignition.msgs.Twist and Twist are the same, and each name may begin with a
 * dot. NULL: no such type. */
message_type type_find(const char *name);

/* All types: those of gz.msgs, then those of troupe.msgs, each in alphabetical order of their names in C. */
uint32_t type_count(void);
message_type type_at(uint32_t i); /* i < type_count() */

/* The type of a field of kind PROTOBUF_C_TYPE_MESSAGE, and the values of a field of kind PROTOBUF_C_TYPE_ENUM. */
static inline message_type type_of_field(const ProtobufCFieldDescriptor *field)
{
	return field->descriptor;
}

static inline const ProtobufCEnumDescriptor *type_enum_of_field(const ProtobufCFieldDescriptor *field)
{
	return field->descriptor;
}

/* Bytes of one value of the field in the struct of its message, or in a list. */
size_t type_field_bytes(const ProtobufCFieldDescriptor *field);
static inline bool type_field_in_oneof(const ProtobufCFieldDescriptor *field)
{
	return field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;
}

/* Appends a schema of the type's JSON form (JSON Schema, draft 2020-12), with the types of its fields in "$defs". */
void type_add_json_schema(message_type type, struct text *out);
/* Appends a google.protobuf.FileDescriptorSet as bytes: the file that defines the type, after the files that it
 * imports. */
void type_add_file_set(message_type type, struct text *out);

#endif
