/* Convex hulls by qhull's reentrant library. It merges coplanar facets. The order of its facets depends only on the
 * sizes of its hash tables; even so, the facets are sorted by their corners, to be independent of qhull's order. */
#include "mesh/hull.h"

#include "base/arena.h"
#include "config.h"

#include <stdlib.h>
#include <string.h>

void hull_fini(struct hull *hull)
{
	vec_free(&hull->points);
	vec_free(&hull->faces);
	vec_free(&hull->corners);
	vec_free(&hull->sides);
	vec_free(&hull->side_points);
	*hull = (struct hull){0};
}

#ifdef HAVE_MESHES

#include <libqhull_r/qhull_ra.h>
#include <stdio.h>

struct hull_polygon {
	uint32_t count;
	uint32_t *corner;
};

/* Newell's sum: the normal of a nearly flat polygon; its length is twice the area. */
static struct vec3 hull_normal_of(const struct vec3 *points, const uint32_t *corner, uint32_t count)
{
	struct vec3 n = {0, 0, 0};
	for (uint32_t i = 0; i < count; i++) {
		struct vec3 a = points[corner[i]], b = points[corner[(i + 1) % count]];
		n.x += (a.y - b.y) * (a.z + b.z);
		n.y += (a.z - b.z) * (a.x + b.x);
		n.z += (a.x - b.x) * (a.y + b.y);
	}
	return n;
}

static void hull_turn_round(struct hull_polygon *p)
{
	for (uint32_t i = 0; i < p->count / 2; i++) {
		uint32_t swap = p->corner[i];
		p->corner[i] = p->corner[p->count - 1 - i];
		p->corner[p->count - 1 - i] = swap;
	}
}

/* Rotates the polygon so that its lowest corner comes first. */
static void hull_begin_low(struct hull_polygon *p, uint32_t *scratch)
{
	uint32_t low = 0;
	for (uint32_t i = 1; i < p->count; i++)
		if (p->corner[i] < p->corner[low])
			low = i;
	memcpy(scratch, p->corner, p->count * sizeof *scratch);
	for (uint32_t i = 0; i < p->count; i++)
		p->corner[i] = scratch[(low + i) % p->count];
}

static int hull_by_corners(const void *left, const void *right)
{
	const struct hull_polygon *a = left, *b = right;
	for (uint32_t i = 0; i < MIN(a->count, b->count); i++)
		if (a->corner[i] != b->corner[i])
			return a->corner[i] < b->corner[i] ? -1 : 1;
	return a->count < b->count ? -1 : a->count > b->count;
}

static void hull_read_facet(qhT *qh, facetT *facet, struct hull_polygon *polygon, struct arena *arena)
{
	setT *vertices = qh_facet3vertex(qh, facet);
	vertexT *vertex, **vertexp;
	polygon->corner = arena_array(arena, uint32_t, qh_setsize(qh, vertices));
	FOREACHvertex_(vertices) polygon->corner[polygon->count++] = (uint32_t)qh_pointid(qh, vertex->point);
	qh_settempfree(qh, &vertices);
}

/* Removes the points that are not corners; the others keep their order. */
static void hull_keep_corners(const struct vec3 *points, uint32_t count, const struct hull_polygon *polygons,
	uint32_t polygon_count, struct hull *hull)
{
	uint32_t *renamed = mem_alloc(count * sizeof *renamed);
	for (uint32_t f = 0; f < polygon_count; f++)
		for (uint32_t i = 0; i < polygons[f].count; i++)
			renamed[polygons[f].corner[i]] = 1;
	struct vec3 sum = {0, 0, 0};
	for (uint32_t i = 0; i < count; i++)
		if (renamed[i]) {
			renamed[i] = hull->points.count;
			vec_push(&hull->points, points[i]);
			sum = vec3_add(sum, points[i]);
		}
	hull->middle = vec3_scale(sum, 1.0 / hull->points.count);
	for (uint32_t f = 0; f < polygon_count; f++)
		for (uint32_t i = 0; i < polygons[f].count; i++)
			polygons[f].corner[i] = renamed[polygons[f].corner[i]];
	free(renamed);
}

static void hull_add_face(struct hull *hull, struct hull_polygon *p, uint32_t *scratch)
{
	struct hull_face face = {.first = hull->corners.count, .count = p->count, .offset = -INFINITY};
	hull_begin_low(p, scratch);
	for (uint32_t i = 0; i < p->count; i++)
		vec_push(&hull->corners, p->corner[i]);
	face.normal = vec3_unit(hull_normal_of(hull->points.at, p->corner, p->count));
	for (uint32_t i = 0; i < hull->points.count; i++)
		face.offset = MAX(face.offset, vec3_dot(face.normal, hull->points.at[i]));
	vec_push(&hull->faces, face);
}

static void hull_collect(qhT *qh, const struct vec3 *points, uint32_t count, struct hull *hull)
{
	struct arena arena = {0};
	facetT *facet;
	uint32_t polygon_count = 0, room = (uint32_t)qh->num_facets;
	struct hull_polygon *polygons = arena_array(&arena, struct hull_polygon, room);
	FORALLfacets if (polygon_count < room) hull_read_facet(qh, facet, &polygons[polygon_count++], &arena);
	hull_keep_corners(points, count, polygons, polygon_count, hull);
	uint32_t *scratch = arena_array(&arena, uint32_t, hull->points.count);
	for (uint32_t f = 0; f < polygon_count; f++) {
		struct hull_polygon *p = &polygons[f];
		struct vec3 n = hull_normal_of(hull->points.at, p->corner, p->count);
		if (vec3_dot(n, vec3_sub(hull->points.at[p->corner[0]], hull->middle)) < 0)
			hull_turn_round(p);
		hull_begin_low(p, scratch);
	}
	qsort(polygons, polygon_count, sizeof *polygons, hull_by_corners);
	for (uint32_t f = 0; f < polygon_count; f++)
		hull_add_face(hull, &polygons[f], scratch);
	arena_fini(&arena);
}

troupe_status hull_make(const struct vec3 *points, uint32_t count, struct hull *ret_hull, struct troupe_error *error)
{
	char command[] = "qhull Pp", *said = NULL;
	size_t bytes = 0;
	if (count < 4)
		return fail(error, TROUPE_EWORLD, "%u points: expected at least 4", count);
	if (count > HULL_POINTS_MAX)
		return fail(error, TROUPE_ELIMIT, "%u points: expected at most %d", count, HULL_POINTS_MAX);
	FILE *log = open_memstream(&said, &bytes);
	if (!log)
		mem_run_out(0);
	double *numbers = mem_alloc(3 * (size_t)count * sizeof *numbers);
	for (size_t i = 0; i < count; i++)
		numbers[3 * i] = points[i].x, numbers[3 * i + 1] = points[i].y, numbers[3 * i + 2] = points[i].z;
	qhT qh;
	QHULL_LIB_CHECK
	qh_zero(&qh, log);
	int code = qh_new_qhull(&qh, 3, (int)count, numbers, False, command, NULL, log);
	if (code == qh_ERRmem)
		mem_run_out(0);
	if (!code)
		hull_collect(&qh, points, count, ret_hull);
	int left, total;
	qh_freeqhull(&qh, !qh_ALL);
	qh_memfreeshort(&qh, &left, &total);
	fclose(log);
	free(said);
	free(numbers);
	if (code || ret_hull->faces.count < 4) {
		hull_fini(ret_hull);
		return fail(error, TROUPE_EWORLD, "its points have no volume");
	}
	hull_find_sides(ret_hull);
	return TROUPE_OK;
}

#else

troupe_status hull_make(const struct vec3 *points, uint32_t count, struct hull *ret_hull, struct troupe_error *error)
{
	(void)points, (void)count, (void)ret_hull;
	return fail(error, TROUPE_EWORLD, "this troupe was built without meshes");
}

#endif
