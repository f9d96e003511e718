/* Any file that a world or a mesh names could be asked for, so only these are answered: what a material or a
 * heightmap of the scene has as a map, the cube map of its sky, and what a mesh of the scene has; and of these only
 * files that begin as images do. They lie below the folders of which the world may read (base/files.h). */
#include "server/viewer_look.h"

#include "mesh/image_head.h"
#include "mesh/importer.h"
#include "mesh/png_out.h"
#include "mesh/texture.h"
#include "sdf/texture_name.h"
#include "server/encode.h"
#include "topic/message.h"
#include "topic/troupe.pb-c.h"

#include <stdlib.h>
#include <string.h>

struct viewer_look { /* of one mesh, while its message is made */
	const struct mesh *whole;
	const char *path;
	struct files *files;
	struct arena *arena;
	Troupe__Msgs__Mesh *message;
	const char *names[VIEWER_LOOK_IMAGES_MAX]; /* of the images in the message */
	size_t bytes;                              /* of these */
};

/* --- images ------------------------------------------------------------------------------------------------------- */

static troupe_status viewer_look_check(
	const char *bytes, size_t count, const char **ret_type, struct troupe_error *error)
{
	struct image_head head;
	if (count > VIEWER_LOOK_IMAGE_BYTES_MAX)
		return fail(error, TROUPE_ELIMIT, "the image has %zu bytes: expected at most %d", count,
			VIEWER_LOOK_IMAGE_BYTES_MAX);
	if (!image_head(bytes, count, &head))
		return fail(error, TROUPE_EWORLD, "neither PNG nor JPEG");
	if (!head.width || !head.height || head.width > TEXTURE_SIDE_MAX || head.height > TEXTURE_SIDE_MAX ||
		(uint64_t)head.width * head.height > TEXTURE_PIXELS_MAX)
		return fail(error, TROUPE_ELIMIT,
			"an image of %u by %u pixels: expected at most %d along a side, and %d in all", head.width,
			head.height, TEXTURE_SIDE_MAX, TEXTURE_PIXELS_MAX);
	*ret_type = head.type;
	return TROUPE_OK;
}

static troupe_status viewer_look_read(struct files *files, const char *path, const char **ret_type,
	const char **ret_bytes, size_t *ret_count, struct troupe_error *error)
{
	troupe_status status = files_read(files, path, VIEWER_LOOK_IMAGE_BYTES_MAX, ret_bytes, ret_count, error);
	return status ? status : viewer_look_check(*ret_bytes, *ret_count, ret_type, error);
}

static Troupe__Msgs__ImageFile *viewer_look_encode(
	struct arena *arena, const char *type, const char *bytes, size_t count)
{
	Troupe__Msgs__ImageFile *out = ENCODE_NEW(arena, Troupe__Msgs__ImageFile, troupe__msgs__image_file__init);
	out->type = encode_text(type);
	out->data = (ProtobufCBinaryData){count, (uint8_t *)(uintptr_t)bytes};
	return out;
}

/* --- of meshes ---------------------------------------------------------------------------------------------------- */

static bool viewer_look_find(const struct viewer_look *look, const char *name, const char **ret_type,
	const char **ret_bytes, size_t *ret_count)
{
	struct troupe_error ignored;
	bool found = false;
	char *place;
	if (*name == '*') {
		uint32_t number = (uint32_t)strtoul(name + 1, NULL, 10);
		if (!name[1] || number >= look->whole->embedded.count)
			return false;
		*ret_bytes = look->whole->embedded.at[number].bytes;
		*ret_count = look->whole->embedded.at[number].count;
		return !viewer_look_check(*ret_bytes, *ret_count, ret_type, &ignored);
	}
	const char *slash = strrchr(look->path, '/');
	for (uint32_t i = 0; !found && (place = texture_name_place(name, i)); i++) {
		const char *at = *place == '/' || !slash ? arena_strdup(look->arena, place)
							 : arena_printf(look->arena, "%.*s/%s",
								   (int)(slash - look->path), look->path, place);
		found = files_look(look->files, at) == FILES_FILE &&
			!viewer_look_read(look->files, at, ret_type, ret_bytes, ret_count, &ignored);
		free(place);
	}
	return found;
}

/* The index of the image plus 1; 0: there is none. */
static uint32_t viewer_look_image(struct viewer_look *look, const char *name)
{
	const char *type, *bytes;
	size_t count;
	if (!name)
		return 0;
	for (size_t i = 0; i < look->message->n_image; i++)
		if (!strcmp(look->names[i], name))
			return (uint32_t)i + 1;
	if (look->message->n_image == VIEWER_LOOK_IMAGES_MAX || !viewer_look_find(look, name, &type, &bytes, &count) ||
		look->bytes + count > VIEWER_LOOK_ALL_BYTES_MAX)
		return 0;
	look->names[look->message->n_image] = name;
	look->bytes += count;
	look->message->image[look->message->n_image] = viewer_look_encode(look->arena, type, bytes, count);
	return (uint32_t)++look->message->n_image;
}

static float *viewer_look_numbers(struct arena *arena, const double *from, size_t count, size_t *ret_count)
{
	float *numbers = arena_array(arena, float, count);
	for (size_t i = 0; i < count; i++)
		numbers[i] = (float)from[i];
	*ret_count = count;
	return numbers;
}

static Troupe__Msgs__Mesh__Material *viewer_look_material(struct viewer_look *look, const struct mesh_material *from)
{
	Troupe__Msgs__Mesh__Material *out =
		ENCODE_NEW(look->arena, Troupe__Msgs__Mesh__Material, troupe__msgs__mesh__material__init);
	out->diffuse = viewer_look_numbers(look->arena, from->diffuse, 4, &out->n_diffuse);
	out->specular = viewer_look_numbers(look->arena, from->specular, 3, &out->n_specular);
	out->emissive = viewer_look_numbers(look->arena, from->emissive, 3, &out->n_emissive);
	out->shininess = (float)from->shininess;
	out->metallic = from->metallic;
	out->roughness = (float)from->roughness;
	out->metalness = (float)from->metalness;
	out->double_sided = from->double_sided;
	out->cut = from->alpha == MESH_ALPHA_CUT;
	out->opaque = from->alpha == MESH_ALPHA_IGNORED;
	out->cutoff = (float)from->cutoff;
	if (!look->message->n_texcoord)
		return out;
	out->albedo_map = viewer_look_image(look, from->maps[MESH_ALBEDO]);
	out->normal_map = viewer_look_image(look, from->maps[MESH_NORMAL]);
	out->roughness_map = viewer_look_image(look, from->maps[MESH_ROUGHNESS]);
	out->metalness_map = viewer_look_image(look, from->maps[MESH_METALNESS]);
	out->emissive_map = viewer_look_image(look, from->maps[MESH_EMISSIVE]);
	return out;
}

static void viewer_look_add_parts(struct viewer_look *look, const struct mesh *shown)
{
	Troupe__Msgs__Mesh *message = look->message;
	message->part = arena_array(look->arena, Troupe__Msgs__Mesh__Part *, shown->parts.count);
	for (uint32_t i = 0; i < shown->parts.count; i++) {
		const struct mesh_part *from = &shown->parts.at[i];
		if (from->material >= shown->materials.count || !from->count)
			continue;
		Troupe__Msgs__Mesh__Part *part =
			ENCODE_NEW(look->arena, Troupe__Msgs__Mesh__Part, troupe__msgs__mesh__part__init);
		part->first = from->first;
		part->count = from->count;
		part->material = from->material;
		message->part[message->n_part++] = part;
	}
}

void viewer_look_add(
	const struct mesh *whole, const struct mesh *shown, const char *path, struct files *files, struct text *out)
{
	struct arena arena = {0};
	Troupe__Msgs__Mesh message = TROUPE__MSGS__MESH__INIT;
	struct viewer_look look = {.whole = whole, .path = path, .files = files, .arena = &arena, .message = &message};
	message.texcoord = arena_array(&arena, float, 2 * (size_t)shown->texcoords.count);
	for (uint32_t i = 0; i < shown->texcoords.count; i++) {
		message.texcoord[message.n_texcoord++] = shown->texcoords.at[i].u;
		message.texcoord[message.n_texcoord++] = shown->texcoords.at[i].v;
	}
	message.image = arena_array(&arena, Troupe__Msgs__ImageFile *, VIEWER_LOOK_IMAGES_MAX);
	message.material = arena_array(&arena, Troupe__Msgs__Mesh__Material *, shown->materials.count);
	for (uint32_t i = 0; i < shown->materials.count; i++)
		message.material[message.n_material++] = viewer_look_material(&look, &shown->materials.at[i]);
	viewer_look_add_parts(&look, shown);
	/* protobuf: the fields of two messages one behind the other are those of one */
	(void)encode_end(&message.base, &arena, out);
}

/* --- of visuals --------------------------------------------------------------------------------------------------- */

static bool viewer_look_is_map(const struct troupe_material *material, const char *path)
{
	const struct troupe_pbr *pbr = material ? material->pbr : NULL;
	if (!pbr)
		return false;
	const char *const maps[] = {
		pbr->albedo_path, pbr->normal_path, pbr->roughness_path, pbr->metalness_path, pbr->emissive_path};
	for (size_t i = 0; i < ARRAY_LEN(maps); i++)
		if (maps[i] && !strcmp(maps[i], path))
			return true;
	return false;
}

static bool viewer_look_is_ground(const struct troupe_form *shape, const char *path)
{
	for (uint32_t i = 0; i < shape->ground_count; i++) {
		const struct troupe_ground_layer *layer = &shape->ground[i];
		if ((layer->diffuse_path && !strcmp(layer->diffuse_path, path)) ||
			(layer->normal_path && !strcmp(layer->normal_path, path)))
			return true;
	}
	return false;
}

static bool viewer_look_is_of_scene(const struct troupe_scene *scene, const char *path)
{
	for (uint32_t i = 0; i < scene->shape_count; i++)
		if (viewer_look_is_map(scene->shapes[i].form->material, path) ||
			viewer_look_is_ground(scene->shapes[i].form, path))
			return true;
	return false;
}

/* A browser reads no DDS: the faces of a cube map, one below the other, as PNG. Of large faces a smaller copy is
 * enough. */
static troupe_status viewer_look_add_cube(
	const struct texture *cube, struct arena *arena, struct text *out, struct troupe_error *error)
{
	uint32_t copy = 0, side = texture_width(cube);
	while (side > VIEWER_LOOK_FACE_MAX && side % 2 == 0)
		copy++, side /= 2;
	const unsigned char *from = texture_texels(cube, copy);
	size_t count = (size_t)side * side * 6;
	unsigned char *rgb = mem_alloc(3 * count);
	for (size_t i = 0; i < count; i++)
		memcpy(&rgb[3 * i], &from[4 * i], 3);
	struct text png = {0};
	troupe_status status = png_out_add(&png, PNG_OUT_RGB8, side, 6 * side, rgb, error);
	free(rgb);
	if (!status)
		(void)encode_end(&viewer_look_encode(arena, "image/png", png.at, png.count)->base, arena, out);
	text_fini(&png);
	return status;
}

static troupe_status viewer_look_read_cube(
	struct importer *importer, struct files *files, const char *path, struct text *out, struct troupe_error *error)
{
	struct importer_losses losses = {0};
	struct texture *cube;
	const char *bytes;
	size_t count;
	struct arena arena = {0};
	troupe_status status = files_read(files, path, TEXTURE_FILE_BYTES_MAX, &bytes, &count, error);
	if (!status)
		status = importer_cube(importer, &losses, bytes, count, &cube, error);
	if (status)
		return status;
	status = viewer_look_add_cube(cube, &arena, out, error);
	texture_release(cube);
	return status;
}

static troupe_status viewer_look_answer(
	const struct capture *capture, const char *path, struct text *out, struct troupe_error *error)
{
	const struct troupe_scene *scene = capture->snapshot.scene;
	struct files files = {.before = &capture->server->files, .places = &capture->server->shown_places};
	struct troupe_error why;
	struct arena arena = {0};
	const char *type, *bytes;
	size_t count;
	const struct troupe_sky *sky = scene->surroundings.sky;
	bool is_sky = sky && sky->cubemap_path && !strcmp(sky->cubemap_path, path);
	if (!is_sky && !viewer_look_is_of_scene(scene, path))
		return fail(error, TROUPE_ECOMMAND, "'%.200s': no material of the world has this map", path);
	troupe_status status = is_sky ? viewer_look_read_cube(capture->server->importer, &files, path, out, &why)
				      : viewer_look_read(&files, path, &type, &bytes, &count, &why);
	if (status)
		status = fail(error, status, "'%.200s': %s", path, why.text);
	else if (!is_sky)
		(void)encode_end(&viewer_look_encode(&arena, type, bytes, count)->base, &arena, out);
	files_fini(&files);
	return status;
}

static troupe_status viewer_look_answer_image(const struct capture *capture, const struct topic_row *row,
	const void *request, size_t count, struct text *out, struct troupe_error *error)
{
	ProtobufCMessage *asked;
	(void)row;
	troupe_status status = message_of_bytes(
		&gz__msgs__string_msg__descriptor, request, count, &message_limits_usual, &asked, error);
	if (!status)
		status = viewer_look_answer(
			capture, ((const Gz__Msgs__StringMsg *)(const void *)asked)->data, out, error);
	message_free(asked);
	return status;
}

const struct query_ops ask_image = {.parts = CAPTURE_SCENE, .answer = viewer_look_answer_image, .is_slow = true};
