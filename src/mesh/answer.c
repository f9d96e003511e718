/* Each array is sent in one piece: a mesh may have millions of points, and sending each number by itself would take
 * longer than reading the file. Every index and every number is checked before the rest of the program can see it. */
#include "mesh/answer.h"

#include "mesh/cube.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static troupe_status answer_refuse(struct troupe_error *error, const char *what)
{
	return fail(error, TROUPE_EPROTOCOL, "%s", what);
}

/* --- meshes ----------------------------------------------------------------------------------------------------- */

static void answer_pack_material(const struct mesh_material *material, struct text *out)
{
	const double numbers[] = {material->diffuse[0], material->diffuse[1], material->diffuse[2],
		material->diffuse[3], material->specular[0], material->specular[1], material->specular[2],
		material->emissive[0], material->emissive[1], material->emissive[2], material->shininess,
		material->roughness, material->metalness, material->cutoff};
	pack_string(out, material->name);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		pack_double(out, numbers[i]);
	pack_u64(out, material->metallic);
	pack_u64(out, material->double_sided);
	pack_u64(out, material->alpha);
	for (int m = 0; m < MESH_MAPS; m++)
		pack_string(out, material->maps[m] ? material->maps[m] : "");
}

void answer_pack_mesh(const struct mesh *mesh, struct text *out)
{
	pack_bytes(out, mesh->points.at, mesh->points.count * sizeof *mesh->points.at);
	pack_bytes(out, mesh->corners.at, mesh->corners.count * sizeof *mesh->corners.at);
	pack_u64(out, mesh->parts.count);
	for (uint32_t i = 0; i < mesh->parts.count; i++) {
		const struct mesh_part *part = &mesh->parts.at[i];
		pack_string(out, part->name);
		pack_string(out, part->other_name);
		pack_u64(out, part->count);
		pack_u64(out, part->material);
	}
	pack_bytes(out, mesh->texcoords.at, mesh->texcoords.count * sizeof *mesh->texcoords.at);
	pack_u64(out, mesh->materials.count);
	for (uint32_t i = 0; i < mesh->materials.count; i++)
		answer_pack_material(&mesh->materials.at[i], out);
	pack_u64(out, mesh->embedded.count);
	for (uint32_t i = 0; i < mesh->embedded.count; i++)
		pack_bytes(out, mesh->embedded.at[i].bytes, mesh->embedded.at[i].count);
}

static bool answer_unpack_points(struct unpack *in, struct mesh *mesh)
{
	size_t bytes;
	const char *at = unpack_bytes(in, &bytes);
	size_t count = bytes / sizeof(struct vec3);
	if (in->bad || bytes % sizeof(struct vec3) || count > MESH_POINTS_MAX)
		return false;
	for (size_t i = 0; i < count; i++) {
		struct vec3 point;
		memcpy(&point, at + i * sizeof point, sizeof point);
		if (!vec3_within(point, MESH_REACH_MAX))
			return false;
		mesh_add_point(mesh, point);
	}
	return true;
}

static bool answer_unpack_corners(struct unpack *in, struct mesh *mesh)
{
	enum { BYTES = 3 * sizeof(uint32_t) };
	size_t bytes;
	const char *at = unpack_bytes(in, &bytes);
	size_t count = bytes / BYTES;
	if (in->bad || bytes % BYTES || count > MESH_TRIANGLES_MAX)
		return false;
	for (size_t i = 0; i < count; i++) {
		uint32_t corner[3];
		memcpy(corner, at + i * BYTES, BYTES);
		for (int k = 0; k < 3; k++)
			if (corner[k] >= mesh->points.count)
				return false;
		mesh_add_triangle(mesh, corner[0], corner[1], corner[2]);
	}
	return true;
}

static const char *answer_unpack_name(struct unpack *in, struct arena *arena)
{
	char *text = unpack_string(in);
	if (strlen(text) > ANSWER_NAME_MAX)
		in->bad = true;
	const char *name = in->bad ? "" : arena_strdup(arena, text);
	free(text);
	return name;
}

/* The parts are contiguous, and together they have all triangles. */
static bool answer_unpack_parts(struct unpack *in, struct mesh *mesh)
{
	uint32_t triangles = mesh->corners.count / 3, first = 0;
	uint32_t count = unpack_count(in, MESH_PARTS_MAX);
	for (uint32_t i = 0; i < count && !in->bad; i++) {
		struct mesh_part part = {.first = first};
		part.name = answer_unpack_name(in, &mesh->arena);
		part.other_name = answer_unpack_name(in, &mesh->arena);
		part.count = unpack_count(in, triangles - first);
		part.material = unpack_count(in, UINT32_MAX);
		vec_push(&mesh->parts, part);
		first += part.count;
	}
	return !in->bad && first == triangles;
}

/* One for each corner, or none. */
static bool answer_unpack_texcoords(struct unpack *in, struct mesh *mesh)
{
	size_t bytes;
	const char *at = unpack_bytes(in, &bytes);
	if (in->bad || (bytes && bytes != mesh->corners.count * sizeof *mesh->texcoords.at))
		return false;
	for (size_t i = 0; i < bytes / sizeof *mesh->texcoords.at; i++) {
		struct mesh_texcoord texcoord;
		memcpy(&texcoord, at + i * sizeof texcoord, sizeof texcoord);
		if (!(fabsf(texcoord.u) <= (float)MESH_TEXCOORD_MAX && fabsf(texcoord.v) <= (float)MESH_TEXCOORD_MAX))
			return false;
		vec_push(&mesh->texcoords, texcoord);
	}
	return true;
}

static double answer_unpack_unit(struct unpack *in)
{
	double value = unpack_double(in);
	in->bad |= !(value >= 0 && value <= 1);
	return value;
}

static struct mesh_material answer_unpack_material(struct unpack *in, struct mesh *mesh)
{
	struct mesh_material material = {.name = answer_unpack_name(in, &mesh->arena)};
	for (int i = 0; i < 4; i++)
		material.diffuse[i] = answer_unpack_unit(in);
	for (int i = 0; i < 3; i++)
		material.specular[i] = answer_unpack_unit(in);
	for (int i = 0; i < 3; i++)
		material.emissive[i] = answer_unpack_unit(in);
	material.shininess = unpack_double(in);
	in->bad |= !(material.shininess >= 0 && material.shininess <= MESH_SHININESS_MAX);
	material.roughness = answer_unpack_unit(in);
	material.metalness = answer_unpack_unit(in);
	material.cutoff = answer_unpack_unit(in);
	material.metallic = unpack_count(in, 1);
	material.double_sided = unpack_count(in, 1);
	material.alpha = (enum mesh_alpha)unpack_count(in, MESH_ALPHA_IGNORED);
	for (int m = 0; m < MESH_MAPS; m++) {
		const char *name = answer_unpack_name(in, &mesh->arena);
		material.maps[m] = *name ? name : NULL;
	}
	return material;
}

static bool answer_unpack_materials(struct unpack *in, struct mesh *mesh)
{
	uint32_t count = unpack_count(in, MESH_MATERIALS_MAX);
	for (uint32_t i = 0; i < count && !in->bad; i++)
		vec_push(&mesh->materials, answer_unpack_material(in, mesh));
	return !in->bad;
}

static bool answer_unpack_embedded(struct unpack *in, struct mesh *mesh)
{
	uint32_t count = unpack_count(in, MESH_EMBEDDED_MAX);
	for (uint32_t i = 0; i < count && !in->bad; i++) {
		struct mesh_embedded image;
		const char *bytes = unpack_bytes(in, &image.count);
		if (in->bad)
			break;
		char *kept = arena_alloc(&mesh->arena, image.count + 1);
		memcpy(kept, bytes, image.count);
		image.bytes = kept;
		vec_push(&mesh->embedded, image);
	}
	return !in->bad;
}

troupe_status answer_unpack_mesh(const char *bytes, size_t count, struct mesh *ret_mesh, struct troupe_error *error)
{
	struct unpack in = {bytes, bytes + count, false};
	const char *why = !answer_unpack_points(&in, ret_mesh)      ? "invalid points"
			  : !answer_unpack_corners(&in, ret_mesh)   ? "invalid triangles"
			  : !answer_unpack_parts(&in, ret_mesh)     ? "invalid parts"
			  : !answer_unpack_texcoords(&in, ret_mesh) ? "invalid texture coordinates"
			  : !answer_unpack_materials(&in, ret_mesh) ? "invalid materials"
			  : !answer_unpack_embedded(&in, ret_mesh)  ? "invalid images"
			  : in.at != in.end                         ? "bytes after the mesh"
								    : NULL;
	if (!why)
		return TROUPE_OK;
	mesh_fini(ret_mesh);
	return answer_refuse(error, why);
}

/* --- images ----------------------------------------------------------------------------------------------------- */

void answer_pack_image(const struct image *image, struct text *out)
{
	pack_u64(out, image->columns);
	pack_u64(out, image->rows);
	pack_bytes(out, image->values, (size_t)image->columns * image->rows * sizeof *image->values);
}

static bool answer_are_grey(const float *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!(values[i] >= 0 && values[i] <= 1))
			return false;
	return true;
}

troupe_status answer_unpack_image(const char *bytes, size_t count, struct image *ret_image, struct troupe_error *error)
{
	struct unpack in = {bytes, bytes + count, false};
	uint32_t columns = unpack_count(&in, IMAGE_SIDE_MAX), rows = unpack_count(&in, IMAGE_SIDE_MAX);
	size_t values_bytes, wanted = (size_t)columns * rows * sizeof(float);
	const char *at = unpack_bytes(&in, &values_bytes);
	if (in.bad || columns < 2 || rows < 2 || values_bytes != wanted || in.at != in.end)
		return answer_refuse(error, "an invalid image");
	float *values = mem_alloc(wanted);
	memcpy(values, at, wanted);
	if (!answer_are_grey(values, (size_t)columns * rows)) {
		free(values);
		return answer_refuse(error, "an image with invalid values");
	}
	*ret_image = (struct image){columns, rows, values};
	return TROUPE_OK;
}

void answer_pack_texels(const struct image_texels *texels, struct text *out)
{
	pack_u64(out, texels->width);
	pack_u64(out, texels->height);
	pack_bytes(out, texels->rgba, 4 * (size_t)texels->width * texels->height);
}

troupe_status answer_unpack_texels(
	const char *bytes, size_t count, bool cube, struct image_texels *ret_texels, struct troupe_error *error)
{
	struct unpack in = {bytes, bytes + count, false};
	uint32_t width = unpack_count(&in, TEXTURE_SIDE_MAX), height = unpack_count(&in, TEXTURE_SIDE_MAX);
	size_t got;
	const char *at = unpack_bytes(&in, &got);
	if (in.bad || !width || !height || (uint64_t)width * height > TEXTURE_PIXELS_MAX ||
		got != 4 * (size_t)width * height || in.at != in.end)
		return answer_refuse(error, "an invalid texture");
	if (cube && !cube_fits(width, height))
		return answer_refuse(error, "a cube map of another shape");
	*ret_texels = (struct image_texels){width, height, mem_alloc(got)};
	memcpy(ret_texels->rgba, at, got);
	return TROUPE_OK;
}
