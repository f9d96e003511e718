/* Readings: what sensors measured in one step, as one list and one block of bytes behind it.
 *
 * The bytes of a reading are doubles, and after them, for pictures, the picture. Which struct they are, by kind:
 *   SDF_IMU ... SDF_LIDAR   that of the kind in troupe/reading.h
 *   SDF_CONTACT             a struct reading_contact for each contact of its collisions
 *   SDF_LOGICAL_CAMERA      struct pose of the camera in the world, then a struct reading_model for each model
 *   SDF_BOUNDINGBOX_CAMERA  struct reading_picture, then its picture, rounded up to whole doubles, then a struct
 *                           reading_box for each model
 *   other cameras           struct reading_picture, then its picture
 * A picture is the depth of each pixel (float), then its label and its instance (32 bits each; not of a
 * SDF_BOUNDINGBOX_CAMERA), its normal (three floats), its flow (two floats), label and instance once more, as segments,
 * its temperature (16 bits), and its colour (3 bytes), as far as the sensor has these; see picture.h. Of labels and
 * segments all labels come before all instances.
 *
 * The digest of a list is the sum, mod 2^64, of a hash of each reading: it does not depend on their order, so it is the
 * same however sensors are distributed, and digests of parts of a run add up to that of the run. */
#ifndef SENSOR_READING_H
#define SENSOR_READING_H

#include "sensor/lens.h"
#include "sensor/sensor.h"

#include <troupe/reading.h>

struct reading_picture {
	double width, height, parts;           /* parts: bits SENSOR_DEPTH ... */
	struct lens_pinhole hole;              /* of a wide lens: its focal length on the axis */
	double p_fx, p_fy, p_cx, p_cy, tx, ty; /* of the projection */
	double by_instance;                    /* segments: 1: pixels say which model of its label it is */
	double solid;                          /* boxes: 1: in space; 0: in the picture */
};

struct reading_box { /* of a model that has a label */
	double label, instance;
	double left, top, right, bottom; /* pixels; of a box in space, those around its visible part */
	double visible;                  /* of the pixels that would show it if nothing were before it, 0 to 1 */
	double truncated; /* the part of the box of the whole model that is beyond the picture's border */
	struct pose pose; /* of a box in space, in the camera: of its middle */
	struct vec3 size;
};

struct reading_contact { /* see struct contact_note */
	double geoms[2];
	struct vec3 position, normal; /* normal: from the second geom into the first */
	double depth;
	struct vec3 force; /* on the first */
};

struct reading_model { /* seen by a logical camera */
	double id;
	struct pose pose;
};

struct reading {
	uint64_t id;           /* of the model */
	uint32_t model, index; /* see struct sensor */
	enum sdf_sensor_kind kind;
	int64_t time_ns;
	uint32_t first; /* in the numbers */
	uint32_t count; /* of bytes */
};

struct readings {
	VEC(struct reading) list;
	VEC(double) numbers; /* storage of the bytes: so it is aligned for numbers */
};

void readings_fini(struct readings *readings);
static inline void readings_clear(struct readings *readings)
{
	readings->list.count = readings->numbers.count = 0;
}

/* Adds a reading with room for its bytes, which are zero; the result is valid until the next one is added. */
double *readings_add(
	struct readings *readings, const struct sensor *sensor, uint64_t id, int64_t time_ns, size_t bytes);
static inline const double *readings_numbers(const struct readings *readings, const struct reading *reading)
{
	return readings->numbers.at + reading->first;
}

/* Where a part of the picture (SENSOR_DEPTH ...) begins, in bytes from the beginning of a reading of this kind with
 * these parts; part 0: where the picture ends. */
size_t readings_part_at(enum sdf_sensor_kind kind, uint32_t parts, size_t pixels, uint32_t part);

/* The boxes of a reading of SDF_BOUNDINGBOX_CAMERA. */
const struct reading_box *readings_boxes(const struct reading *reading, const double *numbers, uint32_t *ret_count);

/* The same as the struct of the reading's kind. */
#define READINGS_AS(type, numbers) ((const struct type *)(const void *)(numbers))

/* Appends the readings of another list. */
void readings_append(struct readings *to, const struct readings *from);
/* The reading of that sensor; NULL: there is none. The list must be sorted (readings_sort()). */
const struct reading *readings_find(const struct readings *readings, uint32_t model, uint32_t index);
/* By model, then index. */
void readings_sort(struct readings *readings);

uint64_t readings_digest(const struct readings *readings);

#endif
