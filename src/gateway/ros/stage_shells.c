/* All robots of a kind have the same meshes, and a scene is sent anew when a model comes or goes. So a mesh is kept as
 * the text of its points and corners, under the bytes of its geometry. */
#include "gateway/ros/stage_shells.h"

#include "base/json_out.h"
#include "topic/message.h"
#include "topic/troupe.pb-c.h"

#include <math.h>
#include <stdlib.h>

struct stage_shells {
	stage_mesh_fn *mesh_fn;
	void *mesh_ctx;
	struct map shell_of; /* key -> index in all */
	VEC(struct stage_shell) all;
	size_t bytes;
};

struct stage_shells *stage_shells_create(stage_mesh_fn *fn, void *ctx)
{
	struct stage_shells *shells = mem_alloc(sizeof *shells);
	shells->mesh_fn = fn;
	shells->mesh_ctx = ctx;
	return shells;
}

static void stage_shells_drop(struct stage_shells *shells)
{
	for (uint32_t i = 0; i < shells->all.count; i++) {
		free(shells->all.at[i].key);
		text_fini(&shells->all.at[i].json);
	}
	map_fini(&shells->shell_of);
	shells->shell_of = (struct map){0};
	shells->all.count = 0;
	shells->bytes = 0;
}

void stage_shells_destroy(struct stage_shells *shells)
{
	stage_shells_drop(shells);
	vec_free(&shells->all);
	free(shells);
}

static void stage_shells_write_point(struct json_out *out, const float *at)
{
	static const char *const axes[] = {"x", "y", "z"};
	json_out_object(out, NULL);
	for (int i = 0; i < 3; i++)
		text_add(json_out_value(out, axes[i]), "%.7g", (double)at[i]);
	json_out_end(out);
}

/* Points beyond those that a triangle names are kept: few meshes have any. */
static void stage_shells_write(struct stage_shell *shell, const Troupe__Msgs__Mesh *mesh)
{
	size_t points = mesh->n_point / 3, corners = mesh->n_corner / 3 * 3;
	if (!corners || corners / 3 > STAGE_SHAPE_TRIANGLES_MAX)
		return;
	for (size_t i = 0; i < corners; i++)
		if (mesh->corner[i] >= points)
			return;
	struct json_out out = json_out_in_object(&shell->json);
	json_out_array(&out, "points");
	for (size_t i = 0; i < points; i++) {
		const float *at = mesh->point + 3 * i;
		if (!isfinite(at[0]) || !isfinite(at[1]) || !isfinite(at[2])) {
			text_fini(&shell->json);
			return;
		}
		stage_shells_write_point(&out, at);
	}
	json_out_end(&out);
	json_out_strings(&out, "colors", NULL, 0);
	json_out_array(&out, "indices");
	for (size_t i = 0; i < corners; i++)
		json_out_uint(&out, NULL, mesh->corner[i]);
	json_out_end(&out);
	shell->triangles = (uint32_t)(corners / 3);
}

static void stage_shells_read(
	struct stage_shells *shells, const Gz__Msgs__Geometry *geometry, struct stage_shell *shell)
{
	struct text bytes = {0};
	ProtobufCMessage *message;
	if (!shells->mesh_fn(shells->mesh_ctx, geometry, &bytes, NULL) &&
		!message_of_bytes(&troupe__msgs__mesh__descriptor, bytes.at ? bytes.at : "", bytes.count,
			&message_limits_none, &message, NULL)) {
		stage_shells_write(shell, (const Troupe__Msgs__Mesh *)(const void *)message);
		message_free(message);
	}
	text_fini(&bytes);
}

const struct stage_shell *stage_shells_find(struct stage_shells *shells, const Gz__Msgs__Geometry *geometry)
{
	struct text json = {0};
	uint32_t at;
	if (!shells->mesh_fn)
		return NULL;
	message_add_json(&json, &geometry->base);
	if (!map_find(&shells->shell_of, json.at, &at)) {
		struct stage_shell shell = {.key = mem_strdup(json.at)};
		stage_shells_read(shells, geometry, &shell);
		if (shells->bytes + shell.json.count > STAGE_KEPT_BYTES_MAX)
			stage_shells_drop(shells);
		shells->bytes += shell.json.count;
		at = shells->all.count;
		vec_push(&shells->all, shell);
		(void)map_add(&shells->shell_of, shell.key, at);
	}
	text_fini(&json);
	return &shells->all.at[at];
}
