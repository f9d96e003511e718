/* The entries of both formats; dataset_coco.c writes the files of COCO. */
#include "cli/dataset.h"

#include "base/math.h"
#include "cli/dataset_outline.h"
#include "mesh/png_out.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum dataset_format dataset_format_of(const char *name)
{
	return !name ? DATASET_NONE : !strcmp(name, "kitti") ? DATASET_KITTI : DATASET_COCO;
}

/* --- COCO --------------------------------------------------------------------------------------------------------- */

static void dataset_add_polygon(void *ctx, const uint32_t *points, uint32_t count)
{
	struct json_out *out = ctx;
	json_out_array(out, NULL);
	for (uint32_t i = 0; i < count; i++)
		json_out_uint(out, NULL, points[i]);
	json_out_end(out);
}

/* Polygons, as COCO has them for what is no crowd, and beside them the run lengths. */
static void dataset_add_segmentation(
	struct json_out *out, const struct dataset_picture *picture, const struct dataset_mask *mask)
{
	json_out_array(out, "segmentation");
	if (mask)
		dataset_outline(mask, picture->height, dataset_add_polygon, out);
	json_out_end(out);
	if (!mask)
		return;
	json_out_object(out, "mask");
	json_out_array(out, "size");
	json_out_uint(out, NULL, picture->height);
	json_out_uint(out, NULL, picture->width);
	json_out_end(out);
	json_out_array(out, "counts");
	for (uint32_t i = 0; i < mask->counts.count; i++)
		json_out_uint(out, NULL, mask->counts.at[i]);
	json_out_end(out);
	json_out_end(out);
}

static void dataset_add_annotation(struct dataset *set, const struct dataset_picture *picture,
	const struct dataset_box *box, const struct dataset_mask *mask, struct text *text)
{
	double wide = box->right - box->left + 1, high = box->bottom - box->top + 1;
	double around[4] = {box->left, box->top, wide, high};
	struct json_out out = dataset_coco_annotation(&set->instances, text);
	json_out_uint(&out, "id", ++set->annotations);
	json_out_uint(&out, "image_id", set->images);
	json_out_uint(&out, "category_id", box->label);
	json_out_doubles(&out, "bbox", around, ARRAY_LEN(around));
	json_out_double(&out, "area", mask ? mask->area : wide * high);
	json_out_uint(&out, "iscrowd", 0);
	dataset_add_segmentation(&out, picture, mask);
	json_out_uint(&out, "instance", box->instance);
	if (box->measured) {
		json_out_double(&out, "visible", box->visible);
		json_out_double(&out, "truncated", box->truncated);
	}
	if (box->solid) {
		json_out_doubles(&out, "center", &box->pose.p.x, 3);
		json_out_doubles(&out, "size", &box->size.x, 3);
		json_out_doubles(
			&out, "rotation", (double[]){box->pose.q.w, box->pose.q.x, box->pose.q.y, box->pose.q.z}, 4);
	}
	json_out_end(&out);
}

static troupe_status dataset_add_coco(struct dataset *set, const struct dataset_picture *picture,
	const dataset_masks *masks, struct troupe_error *error)
{
	struct text boxes = {0};
	troupe_status status = dataset_coco_add_image(
		&set->instances, set->images + 1, picture->file, picture->width, picture->height, error);
	set->images++;
	for (uint32_t i = 0; i < picture->count && !status; i++) {
		const struct dataset_box *box = &picture->boxes[i];
		status = dataset_coco_add_label(&set->instances, box->label, error);
		dataset_add_annotation(
			set, picture, box, dataset_mask_of(masks, dataset_mask_id(box->label, box->instance)), &boxes);
	}
	if (!status)
		status = dataset_coco_add_annotations(&set->instances, &boxes, error);
	text_fini(&boxes);
	return status;
}

/* The picture of segments is that of COCO's panoptic segmentation, as it is. */
static troupe_status dataset_add_panoptic(struct dataset *set, const struct dataset_picture *picture,
	const dataset_masks *masks, struct troupe_error *error)
{
	struct text text = {0};
	troupe_status status = dataset_coco_add_image(
		&set->panoptic, set->images, picture->file, picture->width, picture->height, error);
	for (uint32_t i = 0; i < masks->count && !status; i++)
		status = dataset_coco_add_label(&set->panoptic, masks->at[i].id >> 16, error);
	struct json_out out = dataset_coco_annotation(&set->panoptic, &text);
	json_out_uint(&out, "image_id", set->images);
	json_out_string(&out, "file_name", picture->segments_file);
	json_out_array(&out, "segments_info");
	for (uint32_t i = 0; i < masks->count; i++) {
		const struct dataset_mask *mask = &masks->at[i];
		const double around[4] = {
			mask->left, mask->top, mask->right - mask->left + 1, mask->bottom - mask->top + 1};
		json_out_object(&out, NULL);
		json_out_uint(&out, "id", mask->id);
		json_out_uint(&out, "category_id", mask->id >> 16);
		json_out_uint(&out, "area", mask->area);
		json_out_doubles(&out, "bbox", around, ARRAY_LEN(around));
		json_out_uint(&out, "iscrowd", 0);
		json_out_end(&out);
	}
	json_out_end(&out);
	json_out_end(&out);
	if (!status)
		status = dataset_coco_add_annotations(&set->panoptic, &text, error);
	text_fini(&text);
	return status;
}

/* --- KITTI -------------------------------------------------------------------------------------------------------- */

static void dataset_add_number(struct text *text, double value)
{
	text_add(text, " ");
	text_add_double(text, round(value * 100) / 100 + 0.0);
}

/* An angle from -pi to pi. */
static double dataset_angle(double angle)
{
	return angle > M_PI ? angle - 2 * M_PI : angle < -M_PI ? angle + 2 * M_PI : angle;
}

/* h w l, the middle of the box's lower side, and its turn about the axis y; alpha: the turn as the camera sees it. */
static void dataset_add_solid(const struct dataset_box *box, double *ret_alpha, struct text *text)
{
	struct vec3 length = quat_rotate(box->pose.q, (struct vec3){1, 0, 0});
	struct vec3 up = quat_rotate(box->pose.q, (struct vec3){0, 0, 1});
	struct vec3 p = vec3_sub(box->pose.p, vec3_scale(up, box->size.z / 2));
	double turn = math_atan2(-length.z, length.x);
	*ret_alpha = dataset_angle(turn - math_atan2(p.x, p.z));
	const double numbers[] = {box->size.z, box->size.y, box->size.x, p.x, p.y, p.z, turn};
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		dataset_add_number(text, numbers[i]);
}

static void dataset_add_line(const struct dataset_box *box, struct text *text)
{
	struct text solid = {0};
	double alpha = -10;
	if (box->solid)
		dataset_add_solid(box, &alpha, &solid);
	else
		text_add(&solid, " -1 -1 -1 -1000 -1000 -1000 -10");
	text_add(text, "%u", box->label);
	dataset_add_number(text, box->measured ? box->truncated : -1);
	text_add(text, " %d", !box->measured ? 3 : box->visible >= 0.9 ? 0 : box->visible >= 0.5 ? 1 : 2);
	const double numbers[] = {alpha, box->left, box->top, box->right, box->bottom};
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		dataset_add_number(text, numbers[i]);
	text_add_bytes(text, solid.at, solid.count);
	text_add(text, "\n");
	text_fini(&solid);
}

static troupe_status dataset_put_file(const struct dataset *set, const char *folder, uint32_t number,
	const struct text *text, struct troupe_error *error)
{
	char *path = mem_printf("%s/%s/%06u.txt", set->folder, folder, number);
	troupe_status status = outfile_replace(path, text->at ? text->at : "", text->count, NULL, error);
	free(path);
	return status;
}

static troupe_status dataset_add_kitti(
	struct dataset *set, const struct dataset_picture *picture, struct troupe_error *error)
{
	struct text lines = {0}, camera = {0};
	for (uint32_t i = 0; i < picture->count; i++)
		dataset_add_line(&picture->boxes[i], &lines);
	troupe_status status = dataset_put_file(set, "label_2", picture->number, &lines, error);
	for (int c = 0; c < 4 && picture->projection; c++) { /* the four cameras are one */
		text_add(&camera, "P%d:", c);
		for (int i = 0; i < 12; i++) {
			text_add(&camera, " ");
			text_add_double(&camera, picture->projection[i]);
		}
		text_add(&camera, "\n");
	}
	text_add(&camera, "R0_rect: 1 0 0 0 1 0 0 0 1\nTr_velo_to_cam: 0 -1 0 0 0 0 -1 0 1 0 0 0\n"
			  "Tr_imu_to_velo: 1 0 0 0 0 1 0 0 0 0 1 0\n");
	if (!status && picture->projection)
		status = dataset_put_file(set, "calib", picture->number, &camera, error);
	text_fini(&lines);
	text_fini(&camera);
	return status;
}

/* instance_2 as in KITTI's semantic benchmark: 256 times the label, and the number of the model. */
static troupe_status dataset_put_instances(
	const struct dataset *set, const struct dataset_picture *picture, struct troupe_error *error)
{
	size_t count = (size_t)picture->width * picture->height;
	uint16_t *values = mem_alloc(count * sizeof *values);
	char *path = mem_printf("%s/instance_2/%06u.png", set->folder, picture->number);
	for (size_t i = 0; i < count; i++)
		values[i] = (uint16_t)(picture->segments[3 * i] | picture->segments[3 * i + 2] << 8);
	troupe_status status = png_out_write(path, PNG_OUT_GREY16, picture->width, picture->height, values, error);
	free(values);
	free(path);
	return status;
}

/* --- both --------------------------------------------------------------------------------------------------------- */

static troupe_status dataset_make_folder(const struct dataset *set, const char *name, struct troupe_error *error)
{
	char *path = mem_printf("%s/%s", set->folder, name);
	int code = mkdir(path, 0777) && errno != EEXIST ? errno : 0;
	troupe_status status =
		code ? fail(error, TROUPE_EIO, "%s: cannot make this folder: %s", path, strerror(code)) : TROUPE_OK;
	free(path);
	return status;
}

troupe_status dataset_begin(
	struct dataset *set, const char *folder, enum dataset_format format, struct troupe_error *error)
{
	static const char *const folders[] = {"image_2", "label_2", "calib"};
	troupe_status status = TROUPE_OK;
	*set = (struct dataset){.folder = folder,
		.format = format,
		.instances = {.folder = folder, .name = "instances"},
		.panoptic = {.folder = folder, .name = "panoptic", .things = true}};
	if (format == DATASET_COCO)
		return dataset_coco_begin(&set->instances, error);
	for (size_t i = 0; i < ARRAY_LEN(folders) && format == DATASET_KITTI && !status; i++)
		status = dataset_make_folder(set, folders[i], error);
	return status;
}

char *dataset_file(const struct dataset *set, uint32_t number, const char *usual)
{
	return set->format == DATASET_KITTI ? mem_printf("image_2/%06u.png", number) : mem_strdup(usual);
}

/* The boxes of what segments show, where nothing else gives boxes. free() them. */
static struct dataset_box *dataset_boxes_of(const dataset_masks *masks)
{
	struct dataset_box *boxes = mem_alloc((masks->count + 1) * sizeof *boxes);
	for (uint32_t i = 0; i < masks->count; i++) {
		const struct dataset_mask *mask = &masks->at[i];
		boxes[i] = (struct dataset_box){.label = mask->id >> 16,
			.instance = mask->id & 0xffff,
			.left = mask->left,
			.top = mask->top,
			.right = mask->right,
			.bottom = mask->bottom};
	}
	return boxes;
}

static troupe_status dataset_add_as(struct dataset *set, const struct dataset_picture *picture,
	const dataset_masks *masks, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	if (set->format == DATASET_COCO) {
		status = dataset_add_coco(set, picture, masks, error);
		return status || !picture->segments ? status : dataset_add_panoptic(set, picture, masks, error);
	}
	if (picture->segments) {
		status = dataset_make_folder(set, "instance_2", error);
		if (!status)
			status = dataset_put_instances(set, picture, error);
	}
	return status ? status : dataset_add_kitti(set, picture, error);
}

troupe_status dataset_add(struct dataset *set, const struct dataset_picture *picture, struct troupe_error *error)
{
	dataset_masks masks = {0};
	struct dataset_picture own = *picture;
	struct dataset_box *boxes = NULL;
	if (picture->segments)
		dataset_mask_find(picture->segments, picture->width, picture->height, &masks);
	if (picture->segments && !picture->boxed) {
		own.boxes = boxes = dataset_boxes_of(&masks);
		own.count = masks.count;
	}
	troupe_status status = dataset_add_as(set, &own, &masks, error);
	free(boxes);
	dataset_masks_fini(&masks);
	return status;
}

void dataset_end(struct dataset *set)
{
	dataset_coco_end(&set->instances);
	dataset_coco_end(&set->panoptic);
}
