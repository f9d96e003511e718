/* The hash by which ROS 2, from its release Iron on, compares types: RIHS01, SHA-256 of a description of the type and
 * of all types in it. */
#ifndef GATEWAY_ROS_TYPE_HASH_H
#define GATEWAY_ROS_TYPE_HASH_H

#include "base/text.h"

/* Appends "RIHS01_" and 64 digits. name: of a type that definitions.h has, "std_msgs/msg/String",
 * "simulation_interfaces/srv/GetEntities_Request". */
void type_hash_add(const char *name, struct text *out);

#endif
