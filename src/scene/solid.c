/* Makes geoms from SDF's shapes. Primitives, cones and ellipsoids stay what they are.
 *
 * A mesh that stands becomes its triangles: of a static model, also one that is nested in a model that moves, or of a
 * link that a fixed joint holds to the world. A mesh that moves becomes a convex hull for each part of its file. (<mesh
 * optimization="convex_hull"> makes one hull of all parts, and "convex_decomposition" a hull of each of the pieces that
 * mesh/decompose.c cuts, for a mesh that stands, too.) Hulls of several parts are
 * closer to the true shape than one hull around all of them, and hulls can rest on each other, which triangles cannot.
 * A polyline that moves is divided into convex pieces, which are exact. Heightmaps and planes do not move.
 *
 * Hulls and trimeshes belong to the data of one compilation. Each mesh is converted once, however often it is used. */
#include "scene/compile.h"

#include "base/math.h"

#include <stdlib.h>
#include <string.h>

static const char *scene_solid_file_of(const struct compile *c, const struct sdf_collision *from)
{
	return c->sdf->models.at[c->sdf->links.at[from->link].model].file;
}

static const char *scene_solid_model_of(const struct compile *c, const struct sdf_collision *from)
{
	return c->sdf->models.at[c->sdf->links.at[from->link].model].scoped;
}

static void scene_solid_leave_out(struct compile *c, const struct sdf_collision *from, const char *why)
{
	/* one warning is enough if troupe can make no hulls at all */
	scene_warn(c, strstr(why, "built without") ? "hull" : NULL,
		"%s:%u: collision '%s' of model '%s' is left out: %s", scene_solid_file_of(c, from), from->line,
		from->name, scene_solid_model_of(c, from), why);
}

/* --- hulls ------------------------------------------------------------------------------------------------------ */

typedef VEC(struct vec3) scene_solid_point_list;

/* The points of these triangles, each once, in the order of first use. */
static void scene_solid_points_of(
	const struct mesh *mesh, uint32_t first, uint32_t count, scene_solid_point_list *points)
{
	bool *used = mem_alloc(mesh->points.count + 1);
	for (uint32_t i = 3 * first; i < 3 * (first + count); i++) {
		uint32_t p = mesh->corners.at[i];
		if (!used[p])
			vec_push(points, mesh->points.at[p]);
		used[p] = true;
	}
	free(used);
}

/* Keeps the points that are farthest in directions spread evenly over the sphere (a golden spiral) and along the
 * axes. A finely divided surface loses only points between them. */
static void scene_solid_thin_out(scene_solid_point_list *points)
{
	enum { DIRECTIONS = HULL_CORNERS_MAX - 6 };
	static const struct vec3 axes[6] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
	bool *kept = mem_alloc(points->count);
	for (int i = 0; i < DIRECTIONS + 6; i++) {
		double z = 1 - (2 * i + 1.0) / DIRECTIONS, r = sqrt(MAX(1 - z * z, 0.0)), turn = 2.399963229728653 * i;
		struct vec3 d = i < DIRECTIONS ? (struct vec3){r * math_cos(turn), r * math_sin(turn), z}
					       : axes[i - DIRECTIONS];
		uint32_t best = 0;
		for (uint32_t p = 1; p < points->count; p++)
			if (vec3_dot(d, points->at[p]) > vec3_dot(d, points->at[best]))
				best = p;
		kept[best] = true;
	}
	uint32_t count = 0;
	for (uint32_t p = 0; p < points->count; p++)
		if (kept[p])
			points->at[count++] = points->at[p];
	points->count = count;
	free(kept);
}

static void scene_solid_add_hull(struct compile *c, const struct sdf_collision *from, const struct mesh *mesh,
	uint32_t first, uint32_t count, struct solid *solid, enum compile_solid kind)
{
	struct hull *hull = mem_alloc(sizeof *hull);
	struct troupe_error error;
	scene_solid_point_list points = {0};
	scene_solid_points_of(mesh, first, count, &points);
	troupe_status status = hull_make(points.at, points.count, hull, &error);
	if (!status && hull->points.count > HULL_CORNERS_MAX) {
		scene_warn(c, NULL,
			"%s:%u: collision '%s' of model '%s': its hull has %u corners, of which %d are kept",
			scene_solid_file_of(c, from), from->line, from->name, scene_solid_model_of(c, from),
			hull->points.count, HULL_CORNERS_MAX);
		points.count = 0;
		for (uint32_t i = 0; i < hull->points.count; i++)
			vec_push(&points, hull->points.at[i]);
		hull_fini(hull);
		scene_solid_thin_out(&points);
		status = hull_make(points.at, points.count, hull, &error);
	}
	vec_free(&points);
	if (status) {
		scene_solid_leave_out(c, from, error.text);
		free(hull);
		return;
	}
	vec_push(&c->own->hulls, hull);
	solid->count[kind]++;
}

static void scene_solid_make(struct compile *c, const struct sdf_collision *from, const struct mesh *mesh,
	struct solid *solid, enum compile_solid kind)
{
	solid->tried[kind] = true;
	solid->first[kind] = kind == SOLID_TRIMESH ? c->own->trimeshes.count : c->own->hulls.count;
	if (kind == SOLID_TRIMESH) {
		struct trimesh *trimesh = mem_alloc(sizeof *trimesh);
		trimesh_of_mesh(mesh, trimesh);
		vec_push(&c->own->trimeshes, trimesh);
		solid->count[kind] = 1;
	} else if (kind == SOLID_WHOLE) {
		scene_solid_add_hull(c, from, mesh, 0, mesh->corners.count / 3, solid, kind);
	} else {
		for (uint32_t i = 0; i < mesh->parts.count; i++)
			if (mesh->parts.at[i].count)
				scene_solid_add_hull(
					c, from, mesh, mesh->parts.at[i].first, mesh->parts.at[i].count, solid, kind);
	}
}

static void scene_solid_add_mesh(struct compile *c, const struct sdf_collision *from, const struct mesh *mesh,
	enum compile_solid kind, struct scene_geom geom, scene_geoms *out)
{
	uint32_t room = c->solids.count;
	if (mesh->id >= room)
		(void)vec_append(&c->solids, mesh->id + 1 - room);
	struct solid *solid = &c->solids.at[mesh->id];
	if (!solid->tried[kind])
		scene_solid_make(c, from, mesh, solid, kind);
	for (uint32_t i = solid->first[kind]; i < solid->first[kind] + solid->count[kind]; i++) {
		geom.kind = kind == SOLID_TRIMESH ? SCENE_MESH : SCENE_CONVEX;
		geom.hull = kind == SOLID_TRIMESH ? NULL : c->own->hulls.at[i];
		geom.trimesh = kind == SOLID_TRIMESH ? c->own->trimeshes.at[i] : NULL;
		vec_push(out, geom);
	}
}

/* --- heightmaps ------------------------------------------------------------------------------------------------- */

struct trimesh_grid scene_heightmap(const struct sdf_shape *shape)
{
	const struct image *image = shape->image;
	double sx = fabs(shape->size.x), sy = fabs(shape->size.y), sz = fabs(shape->size.z), most = 0;
	size_t count = (size_t)image->columns * image->rows;
	struct trimesh_grid grid = {.columns = image->columns,
		.rows = image->rows,
		.origin = vec3_add(shape->shift, (struct vec3){-sx / 2, sy / 2, 0}),
		.dx = sx / (image->columns - 1),
		.dy = sy / (image->rows - 1),
		.z = mem_alloc(count * sizeof *grid.z)};
	for (size_t i = 0; i < count; i++)
		most = MAX(most, (double)image->values[i]);
	for (size_t i = 0; i < count; i++) {
		double value = most > 0 ? (double)image->values[i] / most : 0;
		grid.z[i] = (float)(sz * (shape->size.z < 0 ? 1 - value : value));
	}
	return grid;
}

static void scene_solid_add_heightmap(
	struct compile *c, const struct sdf_collision *from, struct scene_geom geom, scene_geoms *out)
{
	struct trimesh *trimesh = mem_alloc(sizeof *trimesh);
	trimesh_of_grid(scene_heightmap(from->shape), trimesh);
	vec_push(&c->own->trimeshes, trimesh);
	geom.kind = SCENE_HEIGHTMAP;
	geom.trimesh = trimesh;
	vec_push(out, geom);
}

/* --- all -------------------------------------------------------------------------------------------------------- */

static void scene_solid_add_file(
	struct compile *c, const struct sdf_collision *from, bool stands, struct scene_geom geom, scene_geoms *out)
{
	const struct sdf_shape *shape = from->shape;
	if (shape->far) {
		geom.kind = shape->kind == SDF_HEIGHTMAP ? SCENE_HEIGHTMAP : SCENE_MESH;
		geom.unread = unread_add(c->scene->unread, shape);
		vec_push(out, geom);
	} else if (shape->kind == SDF_MESH && shape->mesh) {
		enum compile_solid kind = stands ? SOLID_TRIMESH : SOLID_PARTS;
		if (shape->way != SDF_MESH_AS_FITS)
			kind = shape->way == SDF_MESH_ONE_HULL ? SOLID_WHOLE : SOLID_PARTS;
		scene_solid_add_mesh(c, from, shape->pieces ? shape->pieces : shape->mesh, kind, geom, out);
	} else if (shape->kind == SDF_POLYLINE && stands && shape->mesh) {
		scene_solid_add_mesh(c, from, shape->mesh, SOLID_TRIMESH, geom, out);
	} else if (shape->kind == SDF_POLYLINE && !stands && shape->pieces) {
		scene_solid_add_mesh(c, from, shape->pieces, SOLID_PARTS, geom, out);
	} else if (shape->kind == SDF_HEIGHTMAP && shape->image) {
		if (stands)
			scene_solid_add_heightmap(c, from, geom, out);
		else
			scene_solid_leave_out(c, from, "a heightmap on a link that can move");
	} /* else the loader has reported the reason */
}

static bool scene_solid_is_ball(struct vec3 radii)
{
	return radii.x == radii.y && radii.y == radii.z;
}

void scene_add_shape(
	struct compile *c, const struct sdf_collision *from, bool stands, struct scene_geom geom, scene_geoms *out)
{
	const struct sdf_shape *shape = from->shape;
	switch (shape->kind) {
	case SDF_BOX:
		geom.kind = SCENE_BOX;
		geom.size = vec3_scale(shape->size, 0.5);
		break;
	case SDF_SPHERE:
		geom.kind = SCENE_SPHERE;
		geom.size.x = shape->radius;
		break;
	case SDF_CYLINDER:
	case SDF_CAPSULE:
	case SDF_CONE:
		geom.kind = shape->kind == SDF_CYLINDER  ? SCENE_CYLINDER
			    : shape->kind == SDF_CAPSULE ? SCENE_CAPSULE
							 : SCENE_CONE;
		geom.size.x = shape->radius;
		geom.size.z = shape->length / 2;
		break;
	case SDF_ELLIPSOID:
		geom.kind = scene_solid_is_ball(shape->size) ? SCENE_SPHERE : SCENE_ELLIPSOID;
		geom.size = shape->size;
		break;
	case SDF_PLANE:
		geom.kind = SCENE_PLANE;
		geom.size = shape->normal;
		if (!stands) {
			scene_warn(c, "plane on a dynamic model",
				"%s:%u: collision '%s': a plane on a link that can move is left out",
				scene_solid_file_of(c, from), from->line, from->name);
			return;
		}
		break;
	case SDF_MESH:
	case SDF_POLYLINE:
	case SDF_HEIGHTMAP:
		scene_solid_add_file(c, from, stands, geom, out);
		return;
	case SDF_EMPTY:
		return;
	case SDF_IMAGE:
		scene_warn(c, "image",
			"%s:%u: collision '%s': no contact with shapes of kind 'image'; they are left out",
			scene_solid_file_of(c, from), from->line, from->name);
		return;
	}
	vec_push(out, geom);
}

void scene_free_owned(struct scene_owned *owned)
{
	if (!owned)
		return;
	for (uint32_t i = 0; i < owned->hulls.count; i++) {
		hull_fini(owned->hulls.at[i]);
		free(owned->hulls.at[i]);
	}
	for (uint32_t i = 0; i < owned->trimeshes.count; i++) {
		trimesh_fini(owned->trimeshes.at[i]);
		free(owned->trimeshes.at[i]);
	}
	vec_free(&owned->hulls);
	vec_free(&owned->trimeshes);
	sdf_free(owned->sdf);
	arena_fini(&owned->arena);
	free(owned);
}
