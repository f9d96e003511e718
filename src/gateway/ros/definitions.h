/* Definitions of types of ROS 2. Types are named as "std_msgs/Header" or "std_msgs/msg/Header"; the form of a type in
 * an older release has that behind the name: "controller_manager_msgs/ControllerState@humble". */
#ifndef GATEWAY_ROS_DEFINITIONS_H
#define GATEWAY_ROS_DEFINITIONS_H

#include "base/text.h"

/* Appends the definition of the type, which must be one that ros.c names, and those of the types of its fields: see
 * ros_add_schema(). */
void definitions_add(const char *name, struct text *out);
/* The definition of the type whose name is the first `length` characters; NULL: there is none. */
const char *definitions_find(const char *name, size_t length);

#endif
