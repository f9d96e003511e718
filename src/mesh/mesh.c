/* Points are welded if their coordinates are equal as numbers: exporters write the same text for the same point, also
 * where normals or textures split it. A tolerance would make the result depend on the order of points. */
#include "mesh/mesh.h"

#include <stdlib.h>
#include <string.h>

void mesh_fini(struct mesh *mesh)
{
	vec_free(&mesh->points);
	vec_free(&mesh->corners);
	vec_free(&mesh->parts);
	vec_free(&mesh->texcoords);
	vec_free(&mesh->materials);
	vec_free(&mesh->embedded);
	arena_fini(&mesh->arena);
	*mesh = (struct mesh){0};
}

uint32_t mesh_add_point(struct mesh *mesh, struct vec3 point)
{
	/* -0 becomes +0; welding would treat them as different */
	vec_push(&mesh->points, (struct vec3){point.x + 0.0, point.y + 0.0, point.z + 0.0});
	return mesh->points.count - 1;
}

void mesh_add_triangle(struct mesh *mesh, uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t *corner = vec_append(&mesh->corners, 3);
	corner[0] = a, corner[1] = b, corner[2] = c;
}

const struct mesh_part *mesh_part_of(const struct mesh *mesh, uint32_t triangle)
{
	uint32_t lo = 0, hi = mesh->parts.count;
	while (lo < hi) {
		uint32_t middle = lo + (hi - lo) / 2;
		const struct mesh_part *part = &mesh->parts.at[middle];
		if (triangle < part->first)
			hi = middle;
		else if (triangle - part->first >= part->count)
			lo = middle + 1;
		else
			return part;
	}
	return NULL;
}

/* --- welding ---------------------------------------------------------------------------------------------------- */

struct mesh_place {
	struct vec3 p;
	uint32_t index;
};

static int mesh_by_place(const void *left, const void *right)
{
	const struct mesh_place *a = left, *b = right;
	if (a->p.x != b->p.x)
		return a->p.x < b->p.x ? -1 : 1;
	if (a->p.y != b->p.y)
		return a->p.y < b->p.y ? -1 : 1;
	if (a->p.z != b->p.z)
		return a->p.z < b->p.z ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

/* first[i]: the lowest index of a point at the position of point i. */
static void mesh_find_twins(const struct mesh *mesh, uint32_t *first)
{
	struct mesh_place *places = mem_alloc(mesh->points.count * sizeof *places + 1);
	for (uint32_t i = 0; i < mesh->points.count; i++)
		places[i] = (struct mesh_place){mesh->points.at[i], i};
	qsort(places, mesh->points.count, sizeof *places, mesh_by_place);
	for (uint32_t i = 0; i < mesh->points.count; i++) {
		bool same = i > 0 && places[i].p.x == places[i - 1].p.x && places[i].p.y == places[i - 1].p.y &&
			    places[i].p.z == places[i - 1].p.z;
		first[places[i].index] = same ? first[places[i - 1].index] : places[i].index;
	}
	free(places);
}

static bool mesh_has_area(const struct mesh *mesh, const uint32_t *corner)
{
	const struct vec3 *p = mesh->points.at;
	struct vec3 u = vec3_sub(p[corner[1]], p[corner[0]]), v = vec3_sub(p[corner[2]], p[corner[0]]);
	struct vec3 n = vec3_cross(u, v);
	double longest = MAX(vec3_dot(u, u), vec3_dot(v, v));
	return vec3_length(n) > 1e-12 * longest;
}

void mesh_weld(struct mesh *mesh)
{
	uint32_t *first = mem_alloc(mesh->points.count * sizeof *first + 1);
	uint32_t *renamed = mem_alloc(mesh->points.count * sizeof *renamed + 1);
	mesh_find_twins(mesh, first);
	memset(renamed, 0xff, mesh->points.count * sizeof *renamed);
	struct mesh out = {0};
	for (uint32_t part = 0; part < mesh->parts.count; part++) {
		struct mesh_part *p = &mesh->parts.at[part];
		uint32_t begin = out.corners.count / 3;
		for (uint32_t t = p->first; t < p->first + p->count; t++) {
			uint32_t corner[3];
			for (int k = 0; k < 3; k++)
				corner[k] = first[mesh->corners.at[3 * t + (uint32_t)k]];
			if (corner[0] == corner[1] || corner[1] == corner[2] || corner[0] == corner[2] ||
				!mesh_has_area(mesh, corner))
				continue;
			for (int k = 0; k < 3; k++) {
				if (renamed[corner[k]] == MESH_NONE)
					renamed[corner[k]] = mesh_add_point(&out, mesh->points.at[corner[k]]);
				corner[k] = renamed[corner[k]];
			}
			mesh_add_triangle(&out, corner[0], corner[1], corner[2]);
			if (mesh->texcoords.count)
				memcpy(vec_append(&out.texcoords, 3), &mesh->texcoords.at[3 * (size_t)t],
					3 * sizeof *out.texcoords.at);
		}
		p->first = begin;
		p->count = out.corners.count / 3 - begin;
	}
	free(first);
	free(renamed);
	vec_free(&mesh->points);
	vec_free(&mesh->corners);
	vec_free(&mesh->texcoords);
	mesh->texcoords.at = out.texcoords.at, mesh->texcoords.count = out.texcoords.count;
	mesh->texcoords.room = out.texcoords.room;
	mesh->points.at = out.points.at, mesh->points.count = out.points.count, mesh->points.room = out.points.room;
	mesh->corners.at = out.corners.at, mesh->corners.count = out.corners.count;
	mesh->corners.room = out.corners.room;
}

/* --- cutting ---------------------------------------------------------------------------------------------------- */

static bool mesh_is_named(const struct mesh_part *part, const char *name)
{
	return !name || !strcmp(part->name, name) || !strcmp(part->other_name, name);
}

/* A mesh of glTF with several materials is read as several parts, NAME-0, NAME-1, ... */
static bool mesh_is_numbered(const struct mesh_part *part, const char *name)
{
	size_t length = strlen(name);
	const char *rest = part->other_name + length;
	return !strncmp(part->other_name, name, length) && *rest == '-' && rest[1] &&
	       strspn(rest + 1, "0123456789") == strlen(rest + 1);
}

static bool mesh_has_part(const struct mesh *mesh, const char *name)
{
	bool found = false;
	for (uint32_t i = 0; i < mesh->parts.count; i++)
		found = found || mesh_is_named(&mesh->parts.at[i], name);
	return found;
}

static struct vec3 mesh_middle_of(const struct mesh *mesh)
{
	struct aabb box = AABB_NONE;
	for (uint32_t i = 0; i < mesh->corners.count; i++) {
		struct vec3 p = mesh->points.at[mesh->corners.at[i]];
		box = aabb_join(box, (struct aabb){p, p});
	}
	return mesh->corners.count ? vec3_scale(vec3_add(box.lo, box.hi), 0.5) : (struct vec3){0, 0, 0};
}

static const char *mesh_copy_name(struct mesh *to, const char *name)
{
	return name ? arena_strdup(&to->arena, name) : NULL;
}

static void mesh_copy_materials(const struct mesh *mesh, struct mesh *to)
{
	for (uint32_t i = 0; i < mesh->materials.count; i++) {
		struct mesh_material material = mesh->materials.at[i];
		material.name = mesh_copy_name(to, material.name);
		for (int m = 0; m < MESH_MAPS; m++)
			material.maps[m] = mesh_copy_name(to, material.maps[m]);
		vec_push(&to->materials, material);
	}
}

static void mesh_copy_part(const struct mesh *mesh, const struct mesh_part *from, bool mirrors, struct mesh *to)
{
	const uint32_t order[3] = {0, mirrors ? 2 : 1, mirrors ? 1 : 2};
	struct mesh_part part = {.name = arena_strdup(&to->arena, from->name),
		.other_name = arena_strdup(&to->arena, from->other_name),
		.first = to->corners.count / 3,
		.count = from->count,
		.material = from->material};
	for (uint32_t t = from->first; t < from->first + from->count; t++) {
		const uint32_t *corner = &mesh->corners.at[3 * t];
		mesh_add_triangle(to, corner[order[0]], corner[order[1]], corner[order[2]]);
		for (int k = 0; mesh->texcoords.count && k < 3; k++)
			vec_push(&to->texcoords, mesh->texcoords.at[3 * (size_t)t + order[k]]);
	}
	vec_push(&to->parts, part);
}

bool mesh_cut(const struct mesh *mesh, const char *part, bool centre, struct vec3 scale, struct mesh *ret_mesh)
{
	bool mirrors = scale.x * scale.y * scale.z < 0, known = mesh_has_part(mesh, part);
	for (uint32_t i = 0; i < mesh->points.count; i++)
		mesh_add_point(ret_mesh, mesh->points.at[i]);
	for (uint32_t i = 0; i < mesh->parts.count; i++) {
		const struct mesh_part *from = &mesh->parts.at[i];
		if (known ? mesh_is_named(from, part) : mesh_is_numbered(from, part))
			mesh_copy_part(mesh, from, mirrors, ret_mesh);
	}
	if (!ret_mesh->parts.count) {
		mesh_fini(ret_mesh);
		return false;
	}
	mesh_copy_materials(mesh, ret_mesh);
	struct vec3 shift = centre ? mesh_middle_of(ret_mesh) : (struct vec3){0, 0, 0};
	for (uint32_t i = 0; i < ret_mesh->points.count; i++) {
		struct vec3 p = vec3_sub(ret_mesh->points.at[i], shift);
		ret_mesh->points.at[i] = (struct vec3){p.x * scale.x, p.y * scale.y, p.z * scale.z};
	}
	mesh_weld(ret_mesh);
	return true;
}

/* --- measuring -------------------------------------------------------------------------------------------------- */

static int mesh_by_number(const void *left, const void *right)
{
	uint64_t a, b;
	memcpy(&a, left, sizeof a);
	memcpy(&b, right, sizeof b);
	return a < b ? -1 : a > b;
}

bool mesh_is_closed(const struct mesh *mesh)
{
	uint32_t count = mesh->corners.count;
	if (!count)
		return false;
	uint64_t *there = mem_alloc(count * sizeof *there), *back = mem_alloc(count * sizeof *back);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t a = mesh->corners.at[i], b = mesh->corners.at[i % 3 == 2 ? i - 2 : i + 1];
		there[i] = (uint64_t)a << 32 | b;
		back[i] = (uint64_t)b << 32 | a;
	}
	qsort(there, count, sizeof *there, mesh_by_number);
	qsort(back, count, sizeof *back, mesh_by_number);
	bool closed = !memcmp(there, back, count * sizeof *there);
	free(there);
	free(back);
	return closed;
}

struct mesh_moments mesh_measure(const struct mesh *mesh)
{
	struct mesh_moments out = {0};
	struct vec3 first = {0, 0, 0};
	for (uint32_t i = 0; i < mesh->corners.count; i += 3) {
		const struct vec3 a = mesh->points.at[mesh->corners.at[i]],
				  b = mesh->points.at[mesh->corners.at[i + 1]],
				  c = mesh->points.at[mesh->corners.at[i + 2]];
		double six = vec3_dot(a, vec3_cross(b, c)); /* six times the volume of this tetrahedron */
		struct vec3 s = vec3_add(vec3_add(a, b), c);
		const double pa[3] = {a.x, a.y, a.z}, pb[3] = {b.x, b.y, b.z}, pc[3] = {c.x, c.y, c.z},
			     ps[3] = {s.x, s.y, s.z};
		out.volume += six / 6;
		first = vec3_add(first, vec3_scale(s, six / 24));
		for (int j = 0; j < 3; j++)
			for (int k = 0; k < 3; k++)
				out.second.m[j][k] +=
					six / 120 * (pa[j] * pa[k] + pb[j] * pb[k] + pc[j] * pc[k] + ps[j] * ps[k]);
	}
	if (out.volume != 0)
		out.centre = vec3_scale(first, 1 / out.volume);
	return out;
}
