/* Brings together what a boundingbox_camera publishes in one step, its picture (the topic of its boxes and "_image"),
 * its boxes and its camera_info, for a data set (dataset.h). One thread. */
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
/* A picture of any topic comes, taken at time_us. Returns the name of its file in the folder; free() it. usual: its
 * name if it does not belong to the data set. */
char *annotate_picture(struct annotate *annotate, const char *topic, int64_t time_us, uint32_t width, uint32_t height,
	const char *usual);
/* All messages of a step have come: writes what is complete. TROUPE_EIO. */
troupe_status annotate_step(struct annotate *annotate, struct troupe_error *error);
void annotate_end(struct annotate *annotate);

#endif
