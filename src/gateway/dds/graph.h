/* What nodes of ROS 2 tell one another besides DDS's own discovery, so that `ros2 node list` and `ros2 node info` show
 * a node and its topics. Pure. */
#ifndef GATEWAY_DDS_GRAPH_H
#define GATEWAY_DDS_GRAPH_H

#include "base/text.h"
#include "gateway/dds/glue.h"

#include <troupe/client.h>

struct graph_end {
	troupe_topic_kind kind; /* published: a writer; taken: a reader */
	unsigned char guid[GLUE_GUID_BYTES];
};

/* Appends rmw_dds_common/msg/ParticipantEntitiesInfo, as CDR with its header: one node in a namespace ("/", "/tb3_1"),
 * of which all ends are. humble: an id has 24 bytes, as until that release, else 16. */
void graph_add(struct text *out, const unsigned char participant[GLUE_GUID_BYTES], const char *space, const char *node,
	const struct graph_end *ends, uint32_t count, bool humble);

/* The names in DDS of a topic of ROS 2, and of a type: "rt/cart/odom", "nav_msgs::msg::dds_::Odometry_",
 * "simulation_interfaces::srv::dds_::GetEntities_Request_". The caller frees them. */
char *graph_topic(const char *name);
char *graph_type(const char *type);

#endif
