/* The topics of models: those that their systems take, and those that are published for them (odometry, poses, joints).
 * Their rows come and go with the models. */
#ifndef SERVER_MODEL_TOPICS_H
#define SERVER_MODEL_TOPICS_H

#include "server/clients.h"

struct model_topics; /* of one world */

struct model_topics *model_topics_create(struct server_world *world, struct topic_table *table);
void model_topics_destroy(struct model_topics *topics);
/* Brings the rows up to date after models came or went. Between steps, on the thread that does the primary's part; one
 * comparison when nothing changed. */
void model_topics_update(struct model_topics *topics);

/* Adds the message of a row to the capture, if the row is of a system that reports or has published, and the capture
 * does not have it yet. The same thread. */
void model_topics_report(struct server_world *world, const struct topic_row *row, struct capture *capture);
/* Whether a system has published on this row in the last step. The same thread. */
bool model_topics_has_published(const struct server_world *world, const struct topic_row *row);

#endif
