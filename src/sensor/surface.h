/* Surfaces of many triangles that rays are searched through: meshes and heightmaps, in their own frame.
 *
 * Thread: surface_search() any, at the same time. */
#ifndef SENSOR_SURFACE_H
#define SENSOR_SURFACE_H

#include "mesh/texture.h"
#include "mesh/trimesh.h"
#include "sensor/tree.h"

#define SURFACE_NONE UINT32_MAX

struct surface;

/* The mesh must outlive the surface. */
struct surface *surface_of_mesh(struct tree_maker *maker, const struct mesh *mesh);
/* The surface owns grid.z. Each cell has two triangles, as in mesh/trimesh.h. */
struct surface *surface_of_grid(struct tree_maker *maker, struct trimesh_grid grid);
void surface_destroy(struct surface *surface); /* NULL is fine */
struct aabb surface_box(const struct surface *surface);
/* The corners of a mesh's triangles; of a grid none. */
const struct vec3 *surface_points(const struct surface *surface, uint32_t *ret_count);

/* Eight rays; [axis][lane] and [lane]. */
struct surface_rays {
	double origin[3][TREE_LANES], direction[3][TREE_LANES]; /* unit */
	double min[TREE_LANES], best[TREE_LANES]; /* hits in [min, best] count; best becomes the t of the nearest */
	uint32_t part[TREE_LANES]; /* becomes its triangle (of several the lowest); SURFACE_NONE: no hit */
	int32_t valid[TREE_LANES]; /* -1: a ray; 0: none */
	bool both_sides;           /* else triangles are hit from their outside only */
	const bool *both_of;       /* but for those of these materials, by number; NULL: none */
	uint32_t both_count;
	bool any; /* any hit will do */
};

void surface_search(const struct surface *surface, struct surface_rays *rays);
/* Not normalised; towards the outside. */
struct vec3 surface_normal(const struct surface *surface, uint32_t part);
/* The number of the material of a triangle (struct mesh_part); MESH_NONE: none. */
uint32_t surface_material(const struct surface *surface, uint32_t part);
/* Where the texture lies at a point of the triangle, and what that changes by along two vectors, in its plane. False:
 * the surface has no texture coordinates. */
bool surface_texture(const struct surface *surface, uint32_t part, struct vec3 point, struct vec3 across,
	struct vec3 down, struct texture_place *ret_place);

#endif
