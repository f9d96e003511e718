/* The present state in the form that programs read. Thread: the one that does the primary's work, between steps. */
#ifndef SERVER_READ_H
#define SERVER_READ_H

#include "server/internal.h"

/* name: the name that the result has. model, link, joint: indices in the scene. */
void read_model(
	const struct server_world *world, uint32_t model, const char *name, struct troupe_model_state *ret_state);
struct troupe_odometry read_odometry(const struct server_world *world, uint32_t model);
void read_link(const struct server_world *world, uint32_t link, struct troupe_link_state *ret_state);
/* ret_contacts has room for all contacts that the primary has. Returns their number. */
uint32_t read_contacts(
	const struct server_world *world, const struct troupe_scene *view, struct troupe_contact *ret_contacts);
/* Not given, if the sensor is not held or not of the world. */
struct troupe_reading read_sensor(const struct server_world *world, troupe_sensor sensor);
void read_joint(const struct server_world *world, uint32_t joint, struct troupe_joint_state *ret_state);

#endif
