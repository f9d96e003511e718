/* Messages of ROS 2 between CDR and the JSON that rosbridge's protocol has: members are named as fields; numbers that
 * are not finite are null; uint8[] is base64. The definitions of the types (definitions.h) say what is where, so a type
 * needs nothing here. Types are named as "std_msgs/msg/Header", or without "msg".
 *
 * Any thread may call the functions. Their time and memory are proportional to their input. */
#ifndef GATEWAY_ROS_JSON_H
#define GATEWAY_ROS_JSON_H

#include "base/text.h"

struct json_t; /* of jansson */

bool ros_json_knows(const char *type);
/* Appends the message as an object in one line. TROUPE_ECOMMAND: the bytes are no such message, or the type is not
 * known. Nothing is appended then. */
troupe_status ros_json_of_cdr(
	const char *type, const void *cdr, size_t count, struct text *json, struct troupe_error *error);
/* Appends the message as CDR. A field that the object does not have is 0, "" or empty, or the default of its
 * definition; bytes may be a list of numbers. TROUPE_ECOMMAND: "linear.x: "1": expected a number", or a member that the
 * type does not have. Nothing is appended then. */
troupe_status ros_json_to_cdr(
	const char *type, const struct json_t *json, struct text *cdr, struct troupe_error *error);

/* Removes the members that the type and the types in it do not have. */
void ros_json_prune(const char *type, struct json_t *json);

#endif
