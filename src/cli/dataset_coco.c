/* A member of the file is written over blanks or over the closing brackets. */
#include "cli/dataset_coco.h"

#include <stdlib.h>
#include <string.h>

/* the widest entry of a label, and a comma */
enum { DATASET_COCO_LABEL_ROOM = DATASET_LABELS * 48 };

static const char dataset_coco_close[] = "\n]}\n";

static troupe_status dataset_coco_fail(const struct dataset_coco *coco, int code, struct troupe_error *error)
{
	return code ? fail(error, TROUPE_EIO, "%s: cannot write: %s", coco->path, outfile_why(code)) : TROUPE_OK;
}

troupe_status dataset_coco_begin(struct dataset_coco *coco, struct troupe_error *error)
{
	struct text text = {0};
	coco->files++;
	free(coco->path);
	coco->path = coco->files == 1 ? mem_printf("%s/%s.json", coco->folder, coco->name)
				      : mem_printf("%s/%s-%u.json", coco->folder, coco->name, coco->files);
	memset(coco->named, 0, sizeof coco->named);
	coco->labelled = coco->pictured = coco->annotated = false;
	text_add(&text, "{\"categories\":[");
	coco->labels_at = text.count;
	text_add(&text, "%*s],\n\"images\":[", DATASET_COCO_LABEL_ROOM, "");
	coco->images_at = text.count;
	text_add(&text, "%*s", DATASET_ROOM, "");
	coco->images_end = text.count;
	text_add(&text, "],\n\"annotations\":[");
	coco->annotations_at = text.count;
	text_add_bytes(&text, dataset_coco_close, sizeof dataset_coco_close - 1);
	troupe_status status = outfile_open(&coco->file, coco->path, NULL, error);
	if (!status)
		status = dataset_coco_fail(coco, outfile_write(&coco->file, text.at, text.count), error);
	text_fini(&text);
	return status;
}

/* Writes an entry, behind a comma unless it is the first. */
static troupe_status dataset_coco_put(
	struct dataset_coco *coco, struct text *entry, uint64_t *at, bool *more, struct troupe_error *error)
{
	int code = outfile_write_at(&coco->file, *at, entry->at, entry->count);
	*at += entry->count;
	*more = true;
	text_fini(entry);
	return dataset_coco_fail(coco, code, error);
}

static struct json_out dataset_coco_entry(struct text *text, bool more)
{
	struct json_out out = {.text = text};
	if (more)
		text_add(text, ",");
	text_add(text, "\n");
	json_out_object(&out, NULL);
	return out;
}

troupe_status dataset_coco_add_label(struct dataset_coco *coco, uint32_t label, struct troupe_error *error)
{
	if (label >= DATASET_LABELS || coco->named[label])
		return TROUPE_OK;
	struct text text = {0};
	struct json_out out = dataset_coco_entry(&text, coco->labelled);
	json_out_uint(&out, "id", label);
	json_out_printf(&out, "name", "%u", label);
	if (coco->things)
		json_out_uint(&out, "isthing", 1);
	json_out_end(&out);
	coco->named[label] = true;
	return dataset_coco_put(coco, &text, &coco->labels_at, &coco->labelled, error);
}

troupe_status dataset_coco_add_image(struct dataset_coco *coco, uint64_t id, const char *file, uint32_t width,
	uint32_t height, struct troupe_error *error)
{
	struct text text = {0};
	troupe_status status = coco->files ? TROUPE_OK : dataset_coco_begin(coco, error);
	if (status)
		return status;
	struct json_out out = dataset_coco_entry(&text, coco->pictured);
	json_out_uint(&out, "id", id);
	json_out_string(&out, "file_name", file);
	json_out_uint(&out, "width", width);
	json_out_uint(&out, "height", height);
	json_out_end(&out);
	if (coco->images_at + text.count <= coco->images_end)
		return dataset_coco_put(coco, &text, &coco->images_at, &coco->pictured, error);
	text_fini(&text); /* into the next file */
	status = dataset_coco_fail(coco, outfile_close(&coco->file), error);
	if (!status)
		status = dataset_coco_begin(coco, error);
	return status ? status : dataset_coco_add_image(coco, id, file, width, height, error);
}

struct json_out dataset_coco_annotation(const struct dataset_coco *coco, struct text *annotations)
{
	return dataset_coco_entry(annotations, coco->annotated || annotations->count);
}

troupe_status dataset_coco_add_annotations(
	struct dataset_coco *coco, struct text *annotations, struct troupe_error *error)
{
	size_t count = annotations->count;
	if (!count)
		return TROUPE_OK;
	text_add_bytes(annotations, dataset_coco_close, sizeof dataset_coco_close - 1);
	int code = outfile_write_at(&coco->file, coco->annotations_at, annotations->at, annotations->count);
	coco->annotations_at += count;
	coco->annotated = true;
	return dataset_coco_fail(coco, code, error);
}

void dataset_coco_end(struct dataset_coco *coco)
{
	if (outfile_is_open(&coco->file))
		(void)outfile_close(&coco->file);
	free(coco->path);
	coco->path = NULL;
}
