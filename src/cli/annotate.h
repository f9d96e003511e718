/* Brings together what a camera publishes in one step, for a data set (dataset.h): a picture, its camera_info, and
 * boxes, of which it has the topic and "_image", or segments, whose sensor it has, or both. One thread. */
#ifndef CLI_ANNOTATE_H
#define CLI_ANNOTATE_H

#include "cli/dataset.h"

#include <troupe/client.h>

enum { ANNOTATE_CAMERAS_MAX = 4096 }; /* the others are left out */

struct annotate_camera;
struct annotate_info;

struct annotate { /* zeroed: no data set */
	struct dataset set;
	VEC(struct annotate_camera *) cameras;
	VEC(struct annotate_info *) infos;
	uint32_t pictures;
};

/* folder: see dataset_begin(), also for errors. */
troupe_status annotate_begin(
	struct annotate *annotate, const char *folder, enum dataset_format format, struct troupe_error *error);
/* Whether the messages of a topic are wanted. */
bool annotate_wants(const struct annotate *annotate, const struct troupe_topic *topic);
/* A message of such a topic. TROUPE_ECOMMAND: it is no message of its type. */
troupe_status annotate_take(
	struct annotate *annotate, const struct troupe_message *message, struct troupe_error *error);
/* The topics of the run, when they have changed: finds cameras. */
void annotate_follow(struct annotate *annotate, const struct troupe_topics *topics);
struct annotate_picture {
	const char *topic;
	int64_t time_us; /* when it was taken */
	uint32_t width, height;
	const uint8_t *bytes; /* of its pixels */
	size_t count;
	const char *usual; /* the name of its file if it does not belong to the data set */
};
/* A picture of any topic comes. Returns the name of its file in the folder; free() it. */
char *annotate_picture(struct annotate *annotate, const struct annotate_picture *picture);
/* All messages of a step have come: writes what is complete. TROUPE_EIO. */
troupe_status annotate_step(struct annotate *annotate, struct troupe_error *error);
void annotate_end(struct annotate *annotate);

#endif
