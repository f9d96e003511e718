/* Messages of topics and services (client.h) for programs that do not bring protobuf with them: JSON for messages that
 * are read as a whole, and numbers in place for scans and pictures.
 *
 * Types are those of gz.msgs, and troupe.msgs, by their names: "gz.msgs.Twist", "ignition.msgs.Twist" and "Twist" are
 * the same. Any thread may call these functions. Errors: TROUPE_ECOMMAND, with the field and what was expected. */
#ifndef TROUPE_MESSAGE_H
#define TROUPE_MESSAGE_H

#include <troupe/base.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A message in binary form as JSON, by protobuf's mapping: one object in one line, names in lowerCamelCase; fields that
 * have their default are left out. *ret_json is terminated, and the caller frees it with free(). */
TROUPE_API troupe_status troupe_message_to_json(
	const char *type, const void *bytes, size_t count, char **ret_json, struct troupe_error *error);

/* The other way round. Names may also be written as in the .proto file (linear_acceleration). A member that the type
 * does not have is an error. The caller frees *ret_bytes with free(). */
TROUPE_API troupe_status troupe_message_from_json(
	const char *type, const char *json, void **ret_bytes, size_t *ret_count, struct troupe_error *error);

typedef enum troupe_number_kind {
	TROUPE_NUMBER_BYTE, /* of a field of type bytes: the pixels of a picture, for example */
	TROUPE_NUMBER_FLOAT,
	TROUPE_NUMBER_DOUBLE,
	TROUPE_NUMBER_UINT32, /* fixed32 */
	TROUPE_NUMBER_INT32,  /* sfixed32 */
	TROUPE_NUMBER_UINT64, /* fixed64 */
	TROUPE_NUMBER_INT64,  /* sfixed64 */
} troupe_number_kind;

struct troupe_numbers {
	troupe_number_kind kind;
	const void *at; /* in the bytes of the message, perhaps not aligned; least significant byte first */
	size_t count;   /* numbers; 0: the message does not have the field, which then has its default */
};

/* Finds the numbers of a field in a message in binary form, without a copy. path: the name of the field as in the
 * .proto file, after the names of the parts around it: "ranges", "pose.position.x". TROUPE_ECOMMAND also: the type has
 * no such field; its values do not lie there as numbers (texts, varints, lists of parts); or they do not lie side by
 * side. */
TROUPE_API troupe_status troupe_message_numbers(const char *type, const void *bytes, size_t count, const char *path,
	struct troupe_numbers *ret_numbers, struct troupe_error *error);

/* One number of a message in binary form, whatever its type: also varints, bools (0, 1) and enums. 0: the message does
 * not have the field. Numbers above 2^53 are rounded. TROUPE_ECOMMAND: the type has no such field, or it is a list, a
 * text or a part. */
TROUPE_API troupe_status troupe_message_number(const char *type, const void *bytes, size_t count, const char *path,
	double *ret_number, struct troupe_error *error);

#ifdef __cplusplus
}
#endif
#endif
