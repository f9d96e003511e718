/* Data sets of pictures and the boxes of what they show, for training: COCO and KITTI.
 *
 * COCO: instances.json, an object of `categories` (the labels), `images` and `annotations`, with the members of COCO's
 * object detection; an annotation has, beside these, `instance`, `visible` and `truncated`, and of a box in space
 * `center`, `size` and `rotation` (w, x, y, z) in the frame of the camera of KITTI. The file is whole after each
 * picture: images stand before a room of blanks, into which the next one is written, and annotations at the end. When
 * the room is full, instances-2.json is begun, and so on. Pictures and annotations are counted through.
 *
 * KITTI: label_2/NUMBER.txt and calib/NUMBER.txt for the picture image_2/NUMBER.png: one line for each box, as in the
 * object detection benchmark. The type is the label. occluded is 0 where at least 0.9 of the model is visible, 1 from
 * 0.5 on, else 2. What a box in the picture does not have is written as there: -1, -1000 and -10. The cameras P0 to P3
 * are the same one, and its place is that of the lidar, whose axes are x ahead, y left, z up.
 *
 * The frame of KITTI's camera is x right, y down, z ahead. One thread. */
#ifndef CLI_DATASET_H
#define CLI_DATASET_H

#include "base/outfile.h"
#include "geom/geom.h"

enum dataset_format { DATASET_NONE, DATASET_COCO, DATASET_KITTI };
enum { DATASET_LABELS = 256, DATASET_ROOM = 1 << 20 }; /* DATASET_ROOM: bytes for the images of a file */

struct dataset_box {
	uint32_t label, instance;
	double left, top, right, bottom; /* pixels, all inside: around the visible part */
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
	const struct dataset_box *boxes;
	uint32_t count;
};

struct dataset {
	const char *folder;
	enum dataset_format format;
	/* COCO */
	struct outfile file;
	char *path;
	uint32_t files;
	bool named[DATASET_LABELS];                                /* labels that stand in the file */
	uint64_t labels_at, images_at, images_end, annotations_at; /* where the next one is written */
	bool labelled, pictured, annotated;                        /* some stand there already */
	uint64_t images, annotations;                              /* counted so far */
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
