/* The topics of a server under the names of ROS 2 (ros/names.h), and their subscribers. A channel is a name to which
 * clients have subscribed, whether there is such a topic now or not. One thread. */
#ifndef GATEWAY_ROSBRIDGE_TOPIC_INDEX_H
#define GATEWAY_ROSBRIDGE_TOPIC_INDEX_H

#include "gateway/hub/hub.h"
#include "gateway/ros/names.h"

struct topic_index { /* zeroed is empty */
	struct ros_names names;
	const char *client;              /* as in names_make() */
	char *robot;                     /* whose topics have second names; NULL: none yet */
	struct map by_name;              /* name -> the last of its offers */
	uint32_t *same_name;             /* of each offer: the one before it with this name; UINT32_MAX: none */
	struct subscriber_list channels; /* by name with its slash; subscribers: struct topic_subscription */
	struct hub *hub;                 /* subscribes to topics of the run */
};

/* Takes over what the server has now. */
void topic_index_update(struct topic_index *topic_index, const struct troupe_topics *topics);
void topic_index_fini(struct topic_index *topic_index);

/* The first offer of a name, which same_name follows; UINT32_MAX: there is none. */
uint32_t topic_index_first(const struct topic_index *topic_index, const char *name);

/* The name with its slash, which clients may leave out. The caller frees it. */
char *topic_index_full_name(const char *said);
/* The type of the topic of this name, of published topics first; NULL: there is none. */
const char *topic_index_type(const struct topic_index *topic_index, const char *name);
/* Whether the name has this type, which may be written without "/msg". */
bool topic_index_is_type(const char *type, const char *said);

/* The subscriber is that of a client, which frees it afterwards. */
void topic_index_hear(struct topic_index *topic_index, const char *name, struct hub_subscriber *subscriber);
void topic_index_leave(struct topic_index *topic_index, const char *name, struct hub_subscriber *subscriber);

#endif
