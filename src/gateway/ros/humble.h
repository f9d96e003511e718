/* Types of services that have other fields in ROS 2's release Humble than in later ones (controller_manager_msgs). Of
 * such a type definitions.h has both forms, that of Humble by its name with "@humble" behind it; services here have the
 * later one (simulation.h), and a gateway for nodes of Humble converts.
 *
 * Any thread may call the functions. */
#ifndef GATEWAY_ROS_HUMBLE_H
#define GATEWAY_ROS_HUMBLE_H

struct json_t; /* of jansson */

/* The name of the definition that Humble has of the type: that of the type, if there is no other. The caller frees it.
 */
char *humble_form(const char *type);
/* Makes of a request in Humble's form one of the type: lists of controllers that have older names are added to those
 * that took their place. */
void humble_renew(const char *type, struct json_t *request);

#endif
