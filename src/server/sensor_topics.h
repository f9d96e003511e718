/* The topics of sensors: names and types as Gazebo's. A message is made of a reading (sensor/reading.h) on the thread
 * of the client. */
#ifndef SERVER_SENSOR_TOPICS_H
#define SERVER_SENSOR_TOPICS_H

#include "sensor/sensor.h"
#include "server/clients.h"

/* Calls fn for each topic on which the sensor publishes. The row has name, type, rate, ops, frame and `of`; the caller
 * completes it. The texts are valid during the call. */
void sensor_topics_each(const struct sensor *sensor, void (*fn)(void *ctx, const struct topic_row *row), void *ctx);

/* The index of the sensor among those of its model, from the row. */
uint32_t sensor_topics_index(const struct topic_row *row);

/* The format of the pictures, from the row of a topic of pictures in colour. */
enum sdf_pixels sensor_topics_pixels(const struct topic_row *row);

/* How the pictures of a topic are compressed (<troupe:compressed>), from the row. quality 0: they are not. */
struct sensor_topics_packing {
	uint32_t quality; /* 1 to 100 */
	bool png;
	uint32_t every; /* of so many samples one is published */
};
struct sensor_topics_packing sensor_topics_packing(const struct topic_row *row);

#endif
