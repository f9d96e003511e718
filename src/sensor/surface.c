/* An item of a mesh's tree is a triangle. A heightmap may have tens of millions of triangles, and a tree of all of them
 * would take gigabytes: its items are square blocks of cells. */
#include "sensor/surface.h"

#include "sensor/pierce.h"

#include <stdlib.h>

enum { BLOCK = 4 }; /* cells along a side */

_Static_assert((int)MESH_TRIANGLES_MAX <= (int)TREE_ITEMS_MAX, "a tree holds the triangles of any mesh");
_Static_assert(TRIMESH_GRID_MAX *TRIMESH_GRID_MAX <= TREE_ITEMS_MAX, "and the blocks of any grid");

struct surface {
	struct tree *tree;
	struct aabb box;
	double margin;
	/* one of these two */
	const struct mesh *mesh;
	struct trimesh_grid grid; /* columns 0: none */
	uint32_t block_columns;
};

/* --- triangles ---------------------------------------------------------------------------------------------------- */

static struct vec3 sensor_surface_grid_point(const struct trimesh_grid *grid, uint32_t row, uint32_t column)
{
	return (struct vec3){grid->origin.x + grid->dx * column, grid->origin.y - grid->dy * row,
		grid->origin.z + (double)grid->z[(size_t)row * grid->columns + column]};
}

static void sensor_surface_get_triangle(const struct surface *surface, uint32_t part, struct vec3 corners[3])
{
	static const uint32_t at[2][3][2] = {{{0, 0}, {1, 0}, {0, 1}}, {{1, 1}, {0, 1}, {1, 0}}};
	const struct trimesh_grid *grid = &surface->grid;
	if (!grid->columns) {
		for (int k = 0; k < 3; k++)
			corners[k] = surface->mesh->points.at[surface->mesh->corners.at[3 * part + (uint32_t)k]];
		return;
	}
	uint32_t cell = part / 2, row = cell / (grid->columns - 1), column = cell % (grid->columns - 1);
	for (int k = 0; k < 3; k++)
		corners[k] = sensor_surface_grid_point(grid, row + at[part % 2][k][0], column + at[part % 2][k][1]);
}

static struct vec3 sensor_surface_normal_of(const struct vec3 corners[3])
{
	return vec3_cross(vec3_sub(corners[1], corners[0]), vec3_sub(corners[2], corners[0]));
}

struct vec3 surface_normal(const struct surface *surface, uint32_t part)
{
	struct vec3 corners[3];
	sensor_surface_get_triangle(surface, part, corners);
	return sensor_surface_normal_of(corners);
}

uint32_t surface_material(const struct surface *surface, uint32_t part)
{
	const struct mesh_part *of = surface->mesh ? mesh_part_of(surface->mesh, part) : NULL;
	return of ? of->material : MESH_NONE;
}

/* The parts that the second and the third corner have in a vector of the triangle's plane. */
struct sensor_surface_share {
	double second, third;
};

static struct sensor_surface_share sensor_surface_shares(const struct vec3 corners[3], struct vec3 along)
{
	struct vec3 one = vec3_sub(corners[1], corners[0]), other = vec3_sub(corners[2], corners[0]);
	struct vec3 normal = vec3_cross(one, other);
	double square = vec3_dot(normal, normal);
	return (struct sensor_surface_share){
		vec3_dot(vec3_cross(along, other), normal) / square, vec3_dot(vec3_cross(one, along), normal) / square};
}

bool surface_texture(const struct surface *surface, uint32_t part, struct vec3 point, struct vec3 across,
	struct vec3 down, struct texture_place *ret_place)
{
	struct vec3 corners[3];
	if (!surface->mesh || !surface->mesh->texcoords.count)
		return false;
	sensor_surface_get_triangle(surface, part, corners);
	const struct mesh_texcoord *at = &surface->mesh->texcoords.at[3 * (size_t)part];
	double u = (double)at[0].u, v = (double)at[0].v, u2 = (double)at[1].u - u, u3 = (double)at[2].u - u,
	       v2 = (double)at[1].v - v, v3 = (double)at[2].v - v;
	struct sensor_surface_share here = sensor_surface_shares(corners, vec3_sub(point, corners[0])),
				    right = sensor_surface_shares(corners, across),
				    below = sensor_surface_shares(corners, down);
	*ret_place = (struct texture_place){.u = u + here.second * u2 + here.third * u3,
		.v = 1 - (v + here.second * v2 + here.third * v3),
		.u_across = right.second * u2 + right.third * u3,
		.v_across = -(right.second * v2 + right.third * v3),
		.u_down = below.second * u2 + below.third * u3,
		.v_down = -(below.second * v2 + below.third * v3)};
	return true;
}

/* --- boxes -------------------------------------------------------------------------------------------------------- */

/* The cells of a block: [first, end). */
struct sensor_surface_block {
	uint32_t row, row_end, column, column_end;
};

static struct sensor_surface_block sensor_surface_block_at(const struct surface *surface, uint32_t item)
{
	const struct trimesh_grid *grid = &surface->grid;
	uint32_t row = item / surface->block_columns * BLOCK, column = item % surface->block_columns * BLOCK;
	return (struct sensor_surface_block){
		row, MIN(row + BLOCK, grid->rows - 1), column, MIN(column + BLOCK, grid->columns - 1)};
}

static struct aabb sensor_surface_box_of(const struct surface *surface, uint32_t item)
{
	struct aabb box = AABB_NONE;
	if (surface->grid.columns) {
		struct sensor_surface_block block = sensor_surface_block_at(surface, item);
		for (uint32_t r = block.row; r <= block.row_end; r++)
			for (uint32_t c = block.column; c <= block.column_end; c++) {
				struct vec3 p = sensor_surface_grid_point(&surface->grid, r, c);
				box = aabb_join(box, (struct aabb){p, p});
			}
	} else {
		struct vec3 corners[3];
		sensor_surface_get_triangle(surface, item, corners);
		for (int k = 0; k < 3; k++)
			box = aabb_join(box, (struct aabb){corners[k], corners[k]});
	}
	return box;
}

static double sensor_surface_reach_of(const struct aabb *box)
{
	struct vec3 far = vec3_max(vec3_scale(box->lo, -1), box->hi);
	return fmax(fmax(fmax(far.x, far.y), far.z), fmax(fmax(box->hi.x, box->hi.y), box->hi.z));
}

static void sensor_surface_build(struct surface *surface, struct tree_maker *maker, uint32_t items)
{
	struct tree_box *boxes = mem_alloc(((size_t)items + 1) * sizeof *boxes);
	struct aabb all = AABB_NONE;
	for (uint32_t i = 0; i < items; i++)
		all = aabb_join(all, sensor_surface_box_of(surface, i));
	surface->box = all;
	surface->margin = tree_margin(sensor_surface_reach_of(&all));
	for (uint32_t i = 0; i < items; i++) {
		struct aabb box = aabb_grow(sensor_surface_box_of(surface, i), surface->margin);
		boxes[i] = (struct tree_box){{(float)box.lo.x, (float)box.lo.y, (float)box.lo.z},
			{(float)box.hi.x, (float)box.hi.y, (float)box.hi.z}};
	}
	surface->tree = tree_create(maker);
	tree_build(surface->tree, boxes, items, false);
	free(boxes);
}

struct surface *surface_of_mesh(struct tree_maker *maker, const struct mesh *mesh)
{
	struct surface *surface = mem_alloc(sizeof *surface);
	surface->mesh = mesh;
	sensor_surface_build(surface, maker, mesh->corners.count / 3);
	return surface;
}

struct surface *surface_of_grid(struct tree_maker *maker, struct trimesh_grid grid)
{
	struct surface *surface = mem_alloc(sizeof *surface);
	surface->grid = grid;
	surface->block_columns = (grid.columns - 1 + BLOCK - 1) / BLOCK;
	sensor_surface_build(surface, maker, surface->block_columns * ((grid.rows - 1 + BLOCK - 1) / BLOCK));
	return surface;
}

void surface_destroy(struct surface *surface)
{
	if (!surface)
		return;
	tree_destroy(surface->tree);
	free(surface->grid.z);
	free(surface);
}

struct aabb surface_box(const struct surface *surface)
{
	return surface->box;
}

const struct vec3 *surface_points(const struct surface *surface, uint32_t *ret_count)
{
	*ret_count = surface->mesh ? surface->mesh->points.count : 0;
	return surface->mesh ? surface->mesh->points.at : NULL;
}

/* --- searching ---------------------------------------------------------------------------------------------------- */

struct sensor_surface_search {
	const struct surface *surface;
	struct surface_rays *rays;
	double start[TREE_LANES]; /* where the ray of the tree begins */
};

static bool sensor_surface_has_both_sides(const struct surface *surface, const struct surface_rays *rays, uint32_t part)
{
	uint32_t material = rays->both_of ? surface_material(surface, part) : MESH_NONE;
	return material < rays->both_count && rays->both_of[material];
}

static void sensor_surface_try_triangle(const struct sensor_surface_search *search, uint32_t part, uint32_t lane)
{
	struct surface_rays *rays = search->rays;
	struct line line = {{rays->origin[0][lane], rays->origin[1][lane], rays->origin[2][lane]},
		{rays->direction[0][lane], rays->direction[1][lane], rays->direction[2][lane]}};
	struct vec3 corners[3];
	double t;
	sensor_surface_get_triangle(search->surface, part, corners);
	if (!pierce_triangle(line, corners, &t) || !(t >= rays->min[lane] && t <= rays->best[lane]))
		return;
	if (!rays->both_sides && vec3_dot(sensor_surface_normal_of(corners), line.direction) > 0 &&
		!sensor_surface_has_both_sides(search->surface, rays, part))
		return;
	if (rays->part[lane] != SURFACE_NONE && t == rays->best[lane] && part > rays->part[lane])
		return;
	rays->best[lane] = t;
	rays->part[lane] = part;
}

static void sensor_surface_try_item(const struct sensor_surface_search *search, uint32_t item, uint32_t lane)
{
	if (!search->surface->grid.columns) {
		sensor_surface_try_triangle(search, item, lane);
		return;
	}
	struct sensor_surface_block block = sensor_surface_block_at(search->surface, item);
	for (uint32_t r = block.row; r < block.row_end; r++)
		for (uint32_t c = block.column; c < block.column_end; c++) {
			uint32_t cell = r * (search->surface->grid.columns - 1) + c;
			sensor_surface_try_triangle(search, 2 * cell, lane);
			sensor_surface_try_triangle(search, 2 * cell + 1, lane);
		}
}

static void sensor_surface_meet(void *ctx, uint32_t item, const int32_t *valid, float *far)
{
	const struct sensor_surface_search *search = ctx;
	for (uint32_t lane = 0; lane < TREE_LANES; lane++)
		if (valid[lane]) {
			sensor_surface_try_item(search, item, lane);
			if (search->rays->part[lane] != SURFACE_NONE)
				far[lane] = search->rays->any
						    ? -1
						    : tree_far(search->rays->best[lane] - search->start[lane]);
		}
}

/* Cuts the ray to the part in the surface's box, so that its origin is near the surface. False: it passes by. */
static bool sensor_surface_cut(
	struct sensor_surface_search *search, const struct surface_rays *rays, uint32_t lane, struct tree_rays *ret_cut)
{
	const struct aabb *box = &search->surface->box;
	struct vec3 half = vec3_scale(vec3_sub(box->hi, box->lo), 0.5), middle = vec3_add(box->lo, half);
	struct vec3 o = {rays->origin[0][lane], rays->origin[1][lane], rays->origin[2][lane]};
	struct vec3 d = {rays->direction[0][lane], rays->direction[1][lane], rays->direction[2][lane]};
	double margin = search->surface->margin;
	struct span span = pierce_box(
		(struct line){vec3_sub(o, middle), d}, vec3_add(half, (struct vec3){margin, margin, margin}));
	double start = fmax(span.enter, rays->min[lane]), end = fmin(span.leave, rays->best[lane]);
	if (!(start <= end))
		return false;
	search->start[lane] = start;
	struct vec3 from = vec3_add(o, vec3_scale(d, start));
	tree_rays_set(ret_cut, lane, from, d, end - start);
	return true;
}

void surface_search(const struct surface *surface, struct surface_rays *rays)
{
	struct sensor_surface_search search = {.surface = surface, .rays = rays};
	struct tree_rays cuts;
	bool any = false;
	for (uint32_t lane = 0; lane < TREE_LANES; lane++) {
		rays->part[lane] = SURFACE_NONE;
		bool in = rays->valid[lane] && sensor_surface_cut(&search, rays, lane, &cuts);
		if (!in)
			tree_rays_skip(&cuts, lane);
		any |= in;
	}
	if (any)
		tree_search(surface->tree, &cuts, sensor_surface_meet, &search);
}
