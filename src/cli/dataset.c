/* A member of COCO's file is written over blanks or over the closing brackets, so that the file is JSON before and
 * after each write. */
#include "cli/dataset.h"

#include "base/json_out.h"
#include "base/math.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* the widest entry of a label, "{"id":255,"name":"255"}" and a comma */
enum { DATASET_LABEL_ROOM = DATASET_LABELS * 32 };

enum dataset_format dataset_format_of(const char *name)
{
	return !name ? DATASET_NONE : !strcmp(name, "kitti") ? DATASET_KITTI : DATASET_COCO;
}

static troupe_status dataset_fail(const char *path, int code, struct troupe_error *error)
{
	return code ? fail(error, TROUPE_EIO, "%s: cannot write: %s", path, outfile_why(code)) : TROUPE_OK;
}

/* --- COCO --------------------------------------------------------------------------------------------------------- */

static troupe_status dataset_open_coco(struct dataset *set, struct troupe_error *error)
{
	static const char end[] = "\n]}\n";
	struct text text = {0};
	set->files++;
	free(set->path);
	set->path = set->files == 1 ? mem_printf("%s/instances.json", set->folder)
				    : mem_printf("%s/instances-%u.json", set->folder, set->files);
	memset(set->named, 0, sizeof set->named);
	set->labelled = set->pictured = set->annotated = false;
	text_add(&text, "{\"categories\":[");
	set->labels_at = text.count;
	text_add(&text, "%*s],\n\"images\":[", DATASET_LABEL_ROOM, "");
	set->images_at = text.count;
	text_add(&text, "%*s", DATASET_ROOM, "");
	set->images_end = text.count;
	text_add(&text, "],\n\"annotations\":[");
	set->annotations_at = text.count;
	text_add_bytes(&text, end, sizeof end - 1);
	troupe_status status = outfile_open(&set->file, set->path, NULL, error);
	if (!status)
		status = dataset_fail(set->path, outfile_write(&set->file, text.at, text.count), error);
	text_fini(&text);
	return status;
}

/* Writes an entry, behind a comma unless it is the first. */
static int dataset_put(struct dataset *set, struct text *entry, uint64_t *at, bool *more)
{
	int code = outfile_write_at(&set->file, *at, entry->at, entry->count);
	*at += entry->count;
	*more = true;
	return code;
}

static struct json_out dataset_entry(struct text *text, bool more)
{
	if (more)
		text_add(text, ",");
	text_add(text, "\n");
	return (struct json_out){.text = text};
}

static int dataset_put_label(struct dataset *set, uint32_t label)
{
	if (label >= DATASET_LABELS || set->named[label])
		return 0;
	struct text text = {0};
	struct json_out out = dataset_entry(&text, set->labelled);
	json_out_object(&out, NULL);
	json_out_uint(&out, "id", label);
	json_out_printf(&out, "name", "%u", label);
	json_out_end(&out);
	set->named[label] = true;
	int code = dataset_put(set, &text, &set->labels_at, &set->labelled);
	text_fini(&text);
	return code;
}

static void dataset_add_annotation(struct dataset *set, const struct dataset_box *box, struct text *text)
{
	double wide = box->right - box->left + 1, high = box->bottom - box->top + 1;
	double around[4] = {box->left, box->top, wide, high};
	struct json_out out = dataset_entry(text, set->annotated || text->count);
	json_out_object(&out, NULL);
	json_out_uint(&out, "id", ++set->annotations);
	json_out_uint(&out, "image_id", set->images);
	json_out_uint(&out, "category_id", box->label);
	json_out_doubles(&out, "bbox", around, ARRAY_LEN(around));
	json_out_double(&out, "area", wide * high);
	json_out_uint(&out, "iscrowd", 0);
	json_out_strings(&out, "segmentation", NULL, 0);
	json_out_uint(&out, "instance", box->instance);
	json_out_double(&out, "visible", box->visible);
	json_out_double(&out, "truncated", box->truncated);
	if (box->solid) {
		json_out_doubles(&out, "center", &box->pose.p.x, 3);
		json_out_doubles(&out, "size", &box->size.x, 3);
		json_out_doubles(
			&out, "rotation", (double[]){box->pose.q.w, box->pose.q.x, box->pose.q.y, box->pose.q.z}, 4);
	}
	json_out_end(&out);
}

static troupe_status dataset_add_coco(
	struct dataset *set, const struct dataset_picture *picture, struct troupe_error *error)
{
	static const char end[] = "\n]}\n";
	struct text image = {0}, boxes = {0};
	struct json_out out = dataset_entry(&image, set->pictured);
	json_out_object(&out, NULL);
	json_out_uint(&out, "id", set->images + 1);
	json_out_string(&out, "file_name", picture->file);
	json_out_uint(&out, "width", picture->width);
	json_out_uint(&out, "height", picture->height);
	json_out_end(&out);
	if (set->images_at + image.count > set->images_end) { /* into the next file */
		text_fini(&image);
		int code = outfile_close(&set->file);
		troupe_status status = code ? dataset_fail(set->path, code, error) : dataset_open_coco(set, error);
		return status ? status : dataset_add_coco(set, picture, error);
	}
	set->images++;
	int code = dataset_put(set, &image, &set->images_at, &set->pictured);
	for (uint32_t i = 0; i < picture->count && !code; i++) {
		code = dataset_put_label(set, picture->boxes[i].label);
		dataset_add_annotation(set, &picture->boxes[i], &boxes);
	}
	size_t count = boxes.count;
	text_add_bytes(&boxes, end, sizeof end - 1);
	if (!code && picture->count) {
		code = outfile_write_at(&set->file, set->annotations_at, boxes.at, boxes.count);
		set->annotations_at += count;
		set->annotated = true;
	}
	text_fini(&image);
	text_fini(&boxes);
	return dataset_fail(set->path, code, error);
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
	dataset_add_number(text, box->truncated);
	text_add(text, " %d", box->visible >= 0.9 ? 0 : box->visible >= 0.5 ? 1 : 2);
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

/* --- both --------------------------------------------------------------------------------------------------------- */

troupe_status dataset_begin(
	struct dataset *set, const char *folder, enum dataset_format format, struct troupe_error *error)
{
	static const char *const folders[] = {"image_2", "label_2", "calib"};
	*set = (struct dataset){.folder = folder, .format = format};
	if (format == DATASET_COCO)
		return dataset_open_coco(set, error);
	for (size_t i = 0; i < ARRAY_LEN(folders) && format == DATASET_KITTI; i++) {
		char *path = mem_printf("%s/%s", folder, folders[i]);
		int code = mkdir(path, 0777) && errno != EEXIST ? errno : 0;
		troupe_status status =
			code ? fail(error, TROUPE_EIO, "%s: cannot make this folder: %s", path, strerror(code))
			     : TROUPE_OK;
		free(path);
		if (status)
			return status;
	}
	return TROUPE_OK;
}

char *dataset_file(const struct dataset *set, uint32_t number, const char *usual)
{
	return set->format == DATASET_KITTI ? mem_printf("image_2/%06u.png", number) : mem_strdup(usual);
}

troupe_status dataset_add(struct dataset *set, const struct dataset_picture *picture, struct troupe_error *error)
{
	return set->format == DATASET_KITTI ? dataset_add_kitti(set, picture, error)
					    : dataset_add_coco(set, picture, error);
}

void dataset_end(struct dataset *set)
{
	if (outfile_is_open(&set->file))
		(void)outfile_close(&set->file);
	free(set->path);
	set->path = NULL;
}
