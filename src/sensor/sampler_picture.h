/* Readings of cameras: the head of a picture, its pixels, and the boxes around what it shows. */
#ifndef SENSOR_SAMPLER_PICTURE_H
#define SENSOR_SAMPLER_PICTURE_H

#include "sensor/sampler_sample.h"

enum { SAMPLER_BOXES_MAX = 4096 }; /* in one reading */

/* What follows from the file; of a reading with boxes, the bytes before them. Pure functions. */
struct reading_picture sampler_picture_head(const struct sensor *sensor);
size_t sampler_picture_bytes(const struct sensor *sensor);

/* Adds a reading with its head, and returns its numbers. Then `count` of its pixels are filled in from `first` on: any
 * thread, for different pixels at the same time. */
double *sampler_picture_begin(const struct sampler_sample *sample);
void sampler_picture_fill(const struct sampler_sample *sample, double *numbers, uint32_t first, uint32_t count);
/* Adds the reading of a camera that finds boxes. */
void sampler_picture_read_boxes(const struct sampler_sample *sample);

#endif
