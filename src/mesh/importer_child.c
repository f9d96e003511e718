/* A file that is read may name others, which the child asks the parent for: it has no access to the file system. */
#include "mesh/importer_child.h"

#include "base/sandbox.h"
#include "mesh/answer.h"
#include "mesh/import.h"

#include <stdlib.h>
#include <string.h>

struct named_file {
	char *path, *bytes; /* bytes: NULL when there is no such file */
	size_t count;
};

struct importer_child {
	int stream;
	VEC(struct named_file) files; /* the first is the file to read; the others are files that it asked for */
	bool alone;                   /* the parent has ended */
};

static bool importer_child_give(
	struct importer_child *child, enum importer_what what, troupe_status status, const char *bytes, size_t count)
{
	struct importer_head head = {.what = what, .status = status, .bytes = count};
	bool given = sandbox_give(child->stream, &head, sizeof head) && sandbox_give(child->stream, bytes, count);
	child->alone |= !given;
	return given;
}

/* Receives count bytes and adds a zero byte; NULL: the parent has ended. */
static char *importer_child_take(struct importer_child *child, uint64_t count)
{
	char *bytes = mem_alloc(count + 1);
	if (sandbox_take(child->stream, bytes, count))
		return bytes;
	child->alone = true;
	free(bytes);
	return NULL;
}

static bool importer_child_ask_parent(struct importer_child *child, const char *path, struct named_file *ret_file)
{
	struct importer_head head;
	if (child->alone || !importer_child_give(child, WANT_FILE, TROUPE_OK, path, strlen(path)) ||
		!sandbox_take(child->stream, &head, sizeof head))
		return false;
	*ret_file = (struct named_file){.path = mem_strdup(path), .count = head.bytes};
	ret_file->bytes = head.status ? NULL : importer_child_take(child, head.bytes);
	return true;
}

static bool importer_child_read_named(void *ctx, const char *path, const char **ret_bytes, size_t *ret_count)
{
	struct importer_child *child = ctx;
	const struct named_file *found = NULL;
	for (uint32_t i = 0; i < child->files.count && !found; i++)
		if (!strcmp(child->files.at[i].path, path))
			found = &child->files.at[i];
	if (!found) {
		struct named_file file;
		if (!importer_child_ask_parent(child, path, &file))
			return false;
		vec_push(&child->files, file);
		found = &child->files.at[child->files.count - 1];
	}
	*ret_bytes = found->bytes;
	*ret_count = found->count;
	return found->bytes;
}

static void importer_child_forget_files(struct importer_child *child)
{
	for (uint32_t i = 0; i < child->files.count; i++) {
		free(child->files.at[i].path);
		free(child->files.at[i].bytes);
	}
	vec_free(&child->files);
}

static troupe_status importer_child_read_into(
	struct importer_child *child, enum importer_what what, struct text *out, struct troupe_error *error)
{
	const struct named_file *file = &child->files.at[0];
	if (what == ASK_IMAGE) {
		struct image image;
		troupe_status status = import_image(file->bytes, file->count, &image, error);
		if (status)
			return status;
		answer_pack_image(&image, out);
		free(image.values);
		return TROUPE_OK;
	}
	if (what == ASK_TEXELS || what == ASK_CUBE) {
		struct image_texels texels;
		troupe_status status =
			(what == ASK_CUBE ? import_cube : import_texels)(file->bytes, file->count, &texels, error);
		if (status)
			return status;
		answer_pack_texels(&texels, out);
		free(texels.rgba);
		return TROUPE_OK;
	}
	/* welded here, because a file has up to six times as many points as its mesh */
	struct mesh mesh = {0};
	struct import_files files = {importer_child_read_named, child};
	troupe_status status = import_mesh(&files, file->path, file->bytes, file->count, &mesh, error);
	mesh_weld(&mesh);
	if (!status && !mesh.corners.count)
		status = fail(error, TROUPE_EWORLD, "it has no triangles");
	if (!status)
		answer_pack_mesh(&mesh, out);
	mesh_fini(&mesh);
	return status;
}

void importer_serve(int stream, void *ctx)
{
	struct importer_child child = {.stream = stream};
	struct importer_head head;
	(void)ctx;
	while (!child.alone && sandbox_take(stream, &head, sizeof head)) {
		struct named_file file = {.path = importer_child_take(&child, head.path_bytes), .count = head.bytes};
		file.bytes = file.path ? importer_child_take(&child, head.bytes) : NULL;
		if (!file.bytes)
			return;
		vec_push(&child.files, file);
		struct text out = {0};
		struct troupe_error error = {0};
		troupe_status status = importer_child_read_into(&child, (enum importer_what)head.what, &out, &error);
		if (status)
			importer_child_give(&child, ANSWER_REFUSED, status, error.text, strlen(error.text));
		else
			importer_child_give(&child, ANSWER, TROUPE_OK, out.at, out.count);
		text_fini(&out);
		importer_child_forget_files(&child);
	}
}
