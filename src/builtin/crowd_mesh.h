/* Navigation meshes of Menge: convex polygons on which people walk, the edges over which they go from one to the next,
 * and the edges that are walls. The file is numbers and one name, with blanks between:
 *
 *     count, then for each vertex    x y
 *     count, for each edge           vertex vertex polygon polygon
 *     count, for each wall           vertex vertex polygon next-wall (-1: none)
 *     name of the polygons, count, for each polygon
 *                                    x y of its centre; count and vertices; 3 numbers of its height; count and edges;
 *                                    count and walls
 *
 * Only configure() changes a mesh; then any thread may ask. Units: m. */
#ifndef BUILTIN_CROWD_MESH_H
#define BUILTIN_CROWD_MESH_H

#include "builtin/orca.h"

#include <troupe/plugin.h>

/* Routes: polygons times goals to which ways are found. Searched: polygons times calls of crowd_mesh_find_ways(). */
enum { CROWD_MESH_MAX = 100000, CROWD_MESH_ROUTES_MAX = 4000000, CROWD_MESH_SEARCHED_MAX = 16000000 };

struct crowd_mesh;

/* element: each line of the file is an <l> in it. NULL: it was refused, with file:line. */
struct crowd_mesh *crowd_mesh_read(struct troupe_system *self, const struct troupe_element *element);

/* Finds the ways from everywhere to a goal, for crowd_mesh_toward(); false: refused, there are too many. */
bool crowd_mesh_find_ways(struct troupe_system *self, const struct troupe_element *at, struct crowd_mesh *mesh,
	struct orca_vec goal, uint32_t *ret_ways);

/* Where somebody with this radius goes next, on the shortest way through the middles of edges to the goal that has
 * these ways: the goal, or a corner before it. Outside of the mesh: to the nearest polygon. Where no way leads: `from`.
 */
struct orca_vec crowd_mesh_toward(
	const struct crowd_mesh *mesh, uint32_t ways, struct orca_vec from, struct orca_vec goal, double radius);

/* The points of walls within reach, in the order of the walls, as orca_velocity() needs them. Of more than `max` the
 * nearest ones. A wall is there for those on the side of its polygon. Returns their number. */
uint32_t crowd_mesh_walls(
	const struct crowd_mesh *mesh, struct orca_vec from, double reach, struct orca_vec *ret_points, uint32_t max);

#endif
