/* The present state as programs read it. Between steps, by whoever has the primary's part. */
#ifndef SERVER_READ_H
#define SERVER_READ_H

#include "server/internal.h"

/* name: what the state says of itself. model, link, joint: places in the scene. */
void read_model(
	const struct server_world *world, uint32_t model, const char *name, struct troupe_model_state *ret_state);
struct troupe_odometry read_odometry(const struct server_world *world, uint32_t model);
void read_link(const struct server_world *world, uint32_t link, struct troupe_link_state *ret_state);
/* Into room for all that the primary has; how many they are. */
uint32_t read_contacts(
	const struct server_world *world, const struct troupe_scene *view, struct troupe_contact *ret_contacts);
void read_joint(const struct server_world *world, uint32_t joint, struct troupe_joint_state *ret_state);

/* The place that a handle means; SCENE_NONE: it is stale, or of another kind of thing. *ret_world is NULL then. */
uint32_t read_find_model(const struct troupe_server *server, troupe_model model, struct server_world **ret_world);
uint32_t read_find_link(const struct troupe_server *server, troupe_link link, struct server_world **ret_world);
uint32_t read_find_joint(const struct troupe_server *server, troupe_joint joint, struct server_world **ret_world);

#endif
