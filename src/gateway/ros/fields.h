/* The fields of a type of ROS 2, out of its definition (definitions.h): they say what is where in a message, so that
 * its forms (json.h, paired.h, type_hash.h) need no list of types. Definitions are short, so their lines are read anew
 * each time. Any thread may call the functions. */
#ifndef GATEWAY_ROS_FIELDS_H
#define GATEWAY_ROS_FIELDS_H

#include "base/base.h"

enum ros_kind { ROS_BOOL, ROS_UNSIGNED, ROS_SIGNED, ROS_REAL, ROS_STRING, ROS_PART };

enum { ROS_SINGLE = -1, ROS_LIST = 0 };

struct ros_field {
	enum ros_kind kind;
	size_t size;      /* bytes of a number */
	int type_id;      /* of rosidl's type descriptions, of a single value */
	const char *part; /* of a part: the definition of its type */
	const char *type; /* as the definition has it, type_count bytes */
	size_t type_count;
	const char *name;
	size_t name_count;
	int array;          /* ROS_SINGLE, ROS_LIST (of any length) or a length */
	const char *preset; /* the default, up to the end of the line */
};

/* The next field of a definition, behind which *line is then; false: no more. Constants are no fields. */
bool fields_next(const char **line, struct ros_field *ret_field);
/* Whether the field is of this type: "std_msgs/Header". */
bool fields_has_type(const struct ros_field *field, const char *type);
/* Bytes in CDR of one value of the field, at least. */
size_t fields_least_bytes(const struct ros_field *field);

/* Calls fn for each field of the type, and then for those of the types of its fields, each type once: type is the one
 * that has the field, field_type is a primitive one or named as "std_msgs/Header". A type without fields calls fn once
 * with name NULL. False: there is no such type. */
bool fields_each(const char *type,
	void (*fn)(void *ctx, const char *type, const char *name, const char *field_type, int array), void *ctx);

/* Calls fn for each constant of the type itself. Its value is as in the definition: "101". False: there is no such
 * type. */
bool fields_each_constant(const char *type, void (*fn)(void *ctx, const char *name, const char *value), void *ctx);

#endif
