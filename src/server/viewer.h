/* Messages that only viewers need, beside Gazebo's topics: pictures of all that moves (`view`), the work of the
 * secondaries (`secondaries`), contacts and components (`touching`), the state of one model (`model`) and its sensors
 * (`model/sensors`, `sensor`), the triangles of a shape (`scene/mesh`). */
#ifndef SERVER_VIEWER_H
#define SERVER_VIEWER_H

#include "server/clients.h"
#include "topic/scene.pb-c.h"

enum {
	VIEWER_TRIANGLES_MAX = 1 << 19,
	VIEWER_GRID_MAX = 513, /* of a mesh; points along a side of a heightmap */
	VIEWER_CONTACTS_MAX = 4096,
	VIEWER_CONTACT_NUMBERS = 7
}; /* contacts of a message; numbers of each */

extern const struct publish_ops publish_view;        /* troupe.msgs.View */
extern const struct publish_ops publish_secondaries; /* troupe.msgs.Secondaries */
extern const struct publish_ops publish_touching;    /* troupe.msgs.Touching */

/* gz.msgs.UInt32, the id of a model, gives its troupe.msgs.ModelState. */
extern const struct query_ops ask_model;
/* Its message, without joints. */
void viewer_encode_model(
	const struct capture *capture, uint32_t model, struct Troupe__Msgs__ModelState *out, struct arena *arena);
/* The same request gives the troupe.msgs.ModelSensors of the model: its sensors and their topics. */
extern const struct query_ops ask_model_sensors;
/* gz.msgs.StringMsg, a topic, gives the troupe.msgs.ModelSensors with only the sensor that publishes it. */
extern const struct query_ops ask_sensor;
/* gz.msgs.Geometry of a shape of the scene gives a troupe.msgs.Mesh. Files that no shape of the scene names are not
 * read. A file is read on the thread of the client that asks, which may take long. */
extern const struct query_ops ask_mesh;

#endif
