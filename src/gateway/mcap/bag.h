/* The channels of an MCAP file that is a bag of ROS 2: topics under the names and with the types that nodes of ROS 2
 * see (gateway/ros/names.h), messages as CDR, and for each channel the quality of service and the hash of the type, as
 * rosbag2's storage plugin for MCAP reads them. All messages of such a file are CDR: rosbag2 plays no other.
 *
 * A bag belongs to one thread at a time. */
#ifndef GATEWAY_MCAP_BAG_H
#define GATEWAY_MCAP_BAG_H

#include "gateway/mcap/file.h"

#include <troupe/client.h>

struct bag;

/* Whether a name is recorded, and its rate; usual: whether it is without any wish. */
typedef bool bag_choose_fn(void *ctx, const char *name, bool usual, double *ret_rate_hz);

struct bag_def {
	struct mcap_file *file; /* must outlive the bag */
	const char *robot;      /* as for names_make(); NULL: the only one */
	bag_choose_fn *choose;
	bool (*is_usual)(const struct troupe_topic *topic);
	void (*say)(void *ctx, const char *line); /* for people: names that are not what is expected */
	void *ctx;
};

struct bag *bag_create(const struct bag_def *def);
/* NULL is fine. */
void bag_destroy(struct bag *bag);

/* Takes over the names of the server's topics from now on. Messages of earlier topics must have been written. */
void bag_update(struct bag *bag, const struct troupe_topics *topics);
/* Whether the topic is to be subscribed to, and how often: as often as the most frequent of its names wants it. */
bool bag_wants(const struct bag *bag, const char *topic, double *ret_rate_hz);
/* Writes the message under each name that it has. TROUPE_ELIMIT: the file has too many channels; other errors: the
 * message cannot be converted. */
troupe_status bag_write(struct bag *bag, const struct troupe_message *message, struct troupe_error *error);

#endif
