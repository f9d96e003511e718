/* The sceneries of all worlds (gateway/ros/scenery.h): two channels of each world beside those of the server. One
 * thread. */
#ifndef GATEWAY_FOXGLOVE_SCENERY_H
#define GATEWAY_FOXGLOVE_SCENERY_H

#include "gateway/foxglove/table.h"
#include "gateway/ros/scenery.h"

struct sceneries { /* zeroed is empty */
	VEC(struct scenery) at;
	VEC(struct troupe_topic) topics; /* the server's, and the channels */
	stage_mesh_fn *mesh_fn;          /* the caller's, of stage_create() */
	void *mesh_ctx;
};

/* The server's topics with the channels of its worlds; valid until the next call. */
struct troupe_topics sceneries_extend(struct sceneries *sceneries, const struct troupe_topics *topics);
void sceneries_fini(struct sceneries *sceneries);
/* The world of which the name is a channel, or a topic of the server; NULL: none. */
struct scenery *sceneries_of_channel(const struct sceneries *sceneries, const char *name);
struct scenery *sceneries_of_topic(const struct sceneries *sceneries, const char *name);

#endif
