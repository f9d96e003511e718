/* The topics that the server itself publishes, and the services that change no world: /clock, /stats, and under
 * /world/NAME/ clock, stats, pose/info, dynamic_pose/info, scene/info, scene/deletion, levels, replies, view,
 * secondaries, touching; services scene/info, scene/graph, generate_world_sdf, gui/info, hash, save, levels, model,
 * model/sensors, sensor, scene/mesh, scene/image, and /gazebo/worlds, /server_control, each also as NAME/blocking.
 * Names, types and rates are Gazebo's; `levels`, `replies`, `view`, `secondaries`, `touching`, `hash`, `save`, `model`,
 * `model/sensors`, `sensor`, `scene/mesh` and `scene/image` are troupe's. */
#ifndef SERVER_PUBLISH_H
#define SERVER_PUBLISH_H

#include "server/clients.h"

/* Adds the rows of all worlds to the table of the server's clients. */
void publish_add_rows(struct troupe_server *server);

/* scene.c: gz.msgs.Scene of a scene. */
void encode_scene(const struct troupe_scene *scene, int64_t stamp_ns, struct text *out);

#endif
