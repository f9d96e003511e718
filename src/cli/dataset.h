/* Pictures with boxes and segments of what they show, for training: COCO and KITTI.
 *
 * COCO: instances.json has the members of COCO's object detection; an annotation has, beside these, `instance`, of a
 * box that a camera has measured `visible` and `truncated`, and of a box in space `center`, `size` and `rotation` (w,
 * x, y, z) in the frame of the camera of KITTI. Where there are segments, `segmentation` is the run lengths of the
 * model's pixels (RLE, not compressed), `area` their number, and panoptic.json has what COCO's panoptic segmentation
 * has: a picture of segments is one, because the number of a segment is instance + 65536 * label. Both files are whole
 * after each picture (dataset_coco.h). Pictures and annotations are counted through.
 *
 * KITTI: label_2/NUMBER.txt and calib/NUMBER.txt for the picture image_2/NUMBER.png: one line for each box, as in the
 * object detection benchmark. The type is the label. occluded is 0 where at least 0.9 of the model is visible, 1 from
 * 0.5 on, else 2, and 3 where that is not known. What a box in the picture does not have is written as there: -1, -1000
 * and -10. The cameras P0 to P3 are the same one, and its place is that of the lidar, whose axes are x ahead, y left, z
 * up. Segments become a file of instance_2, 256 * label + instance.
 *
 * The frame of KITTI's camera is x right, y down, z ahead. One thread. */
#ifndef CLI_DATASET_H
#define CLI_DATASET_H

#include "cli/dataset_coco.h"
#include "geom/geom.h"

enum dataset_format { DATASET_NONE, DATASET_COCO, DATASET_KITTI };

struct dataset_box {
	uint32_t label, instance;
	double left, top, right, bottom; /* pixels, all inside: around the visible part */
	bool measured;                   /* the next two are given */
	double visible, truncated;       /* 0 to 1 */
	bool solid;                      /* the next two are given */
	struct pose pose;                /* of the middle, in the frame of KITTI's camera */
	struct vec3 size;                /* along the axes of the model: length, width, height */
};

struct dataset_picture {
	const char *file; /* in the folder */
	uint32_t number;  /* from 0 on */
	uint32_t width, height;
	const double *projection; /* [12], of the camera's P; NULL: not known */
	bool boxed;               /* boxes come from the camera; else they are those of the segments */
	const struct dataset_box *boxes;
	uint32_t count;
	const uint8_t *segments;   /* as dataset_mask_find() takes them; NULL: none */
	const char *segments_file; /* in the folder */
};

struct dataset {
	const char *folder;
	enum dataset_format format;
	struct dataset_coco instances, panoptic;
	uint64_t images, annotations; /* counted so far */
};

/* The format by its name, "coco" or "kitti"; NULL: DATASET_NONE. */
enum dataset_format dataset_format_of(const char *name);
/* The folder exists; it must live as long as the data set. TROUPE_EIO. */
troupe_status dataset_begin(
	struct dataset *set, const char *folder, enum dataset_format format, struct troupe_error *error);
/* The name in the folder of the file for picture `number`, whose usual name is `usual`; free() it. */
char *dataset_file(const struct dataset *set, uint32_t number, const char *usual);
troupe_status dataset_add(struct dataset *set, const struct dataset_picture *picture, struct troupe_error *error);
void dataset_end(struct dataset *set);

#endif
