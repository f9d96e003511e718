/* A file of COCO's formats, which grows picture by picture: an object of `categories`, `images` and `annotations`. It
 * is JSON before and after each write: images stand before a room of blanks, into which the next one is written, and
 * annotations at the end. When the room is full, the next file is begun, NAME-2.json and so on. One thread. */
#ifndef CLI_DATASET_COCO_H
#define CLI_DATASET_COCO_H

#include "base/json_out.h"
#include "base/outfile.h"

enum { DATASET_LABELS = 256, DATASET_ROOM = 1 << 20 }; /* DATASET_ROOM: bytes for the images of a file */

struct dataset_coco { /* zeroed, but for the first three: no file yet */
	const char *folder, *name;
	bool things; /* categories are those of panoptic segmentation, of which all can be counted */
	struct outfile file;
	char *path;
	uint32_t files;
	bool named[DATASET_LABELS];                                /* labels that stand in the file */
	uint64_t labels_at, images_at, images_end, annotations_at; /* where the next one is written */
	bool labelled, pictured, annotated;                        /* some stand there already */
};

/* Begins the first file. All return TROUPE_EIO. */
troupe_status dataset_coco_begin(struct dataset_coco *coco, struct troupe_error *error);
/* One more picture; the first one begins the file, if dataset_coco_begin() has not. */
troupe_status dataset_coco_add_image(struct dataset_coco *coco, uint64_t id, const char *file, uint32_t width,
	uint32_t height, struct troupe_error *error);
troupe_status dataset_coco_add_label(struct dataset_coco *coco, uint32_t label, struct troupe_error *error);
/* Annotations are collected in a text, each in an object that dataset_coco_annotation() begins; then they are added. */
struct json_out dataset_coco_annotation(const struct dataset_coco *coco, struct text *annotations);
troupe_status dataset_coco_add_annotations(
	struct dataset_coco *coco, struct text *annotations, struct troupe_error *error);
void dataset_coco_end(struct dataset_coco *coco);

#endif
