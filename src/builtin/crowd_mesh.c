/* Ways are found before the run, from each goal over the whole mesh (Dijkstra), so that a step only follows them. */
#include "builtin/crowd_mesh.h"

#include "builtin/parts.h"

#include <string.h>

enum { CROWD_MESH_NONE = UINT32_MAX, CROWD_MESH_AHEAD = 512, CROWD_MESH_WORD_BYTES = 64 };
#define CROWD_MESH_NEAR 0.1 /* m: a corner that is nearer has been reached */

struct crowd_mesh_edge {
	struct orca_vec a, b;
	uint32_t nodes[2];
};

struct crowd_mesh_wall {
	struct orca_vec a, b, inside; /* inside: the centre of its polygon */
	uint32_t ends[2];             /* vertices */
};

struct crowd_mesh_node {
	struct orca_vec centre;
	uint32_t *corners, *edges;
	uint32_t corner_count, edge_count;
};

struct crowd_mesh {
	struct orca_vec *vertices;
	struct crowd_mesh_edge *edges;
	struct crowd_mesh_wall *walls;
	struct crowd_mesh_node *nodes;
	uint32_t vertex_count, edge_count, wall_count, node_count;
	uint32_t *meeting_first, *meeting; /* for each vertex: where its walls begin; the walls of all vertices */
	uint32_t **ways;                   /* for each goal's polygon: for each polygon the edge to go over */
	uint32_t *ways_to;                 /* the polygon to which they lead */
	uint32_t ways_count, searched;
	struct crowd_mesh_heap *heap; /* for crowd_mesh_find_ways(), of all goals */
};

/* --- reading ------------------------------------------------------------------------------------------------------ */

struct crowd_mesh_reader {
	struct troupe_system *self;
	const struct troupe_element *mesh, *line; /* line: the present one; NULL: none is left, or none was begun */
	const char *at;
	bool failed;
};

/* Whether there is a word; it is at r->at. */
static bool crowd_mesh_find_word(struct crowd_mesh_reader *r, const char *what)
{
	const struct troupe_host *host = r->self->host;
	if (r->failed)
		return false;
	while (!r->at || !r->at[strspn(r->at, " \t\r")]) {
		const struct troupe_element *next = host->child(r->mesh, "l", r->line);
		if (!next) {
			host->refuse(r->self, r->line ? r->line : r->mesh,
				"the navigation mesh ends too early: expected %s", what);
			r->failed = true;
			return false;
		}
		r->line = next;
		r->at = host->text_of(next);
	}
	r->at += strspn(r->at, " \t\r");
	return true;
}

static double crowd_mesh_number(struct crowd_mesh_reader *r, double low, double high, const char *what)
{
	char word[CROWD_MESH_WORD_BYTES];
	double value = 0;
	if (!crowd_mesh_find_word(r, what))
		return low;
	size_t length = strcspn(r->at, " \t\r");
	bool fits = length < sizeof word;
	if (fits) {
		memcpy(word, r->at, length);
		word[length] = '\0';
	}
	if (!fits || !builtin_numbers_of(word, &value, 1) || value < low || value > high) {
		r->self->host->refuse(r->self, r->line, "\"%.*s\": expected %s, a number from %g to %g",
			(int)(fits ? length : sizeof word), r->at, what, low, high);
		r->failed = true;
		return low;
	}
	r->at += length;
	return value;
}

/* A whole number below `below`. */
static uint32_t crowd_mesh_index(struct crowd_mesh_reader *r, uint32_t below, const char *what)
{
	double value = crowd_mesh_number(r, 0, below ? below - 1 : 0, what);
	uint32_t index = (uint32_t)value;
	if (!r->failed && (value != index || !below)) {
		r->self->host->refuse(
			r->self, r->line, "%s is %g: expected a whole number below %u", what, value, below);
		r->failed = true;
	}
	return index;
}

static uint32_t crowd_mesh_count(struct crowd_mesh_reader *r, const char *what)
{
	return crowd_mesh_index(r, CROWD_MESH_MAX + 1, what);
}

static struct orca_vec crowd_mesh_point(struct crowd_mesh_reader *r, const char *what)
{
	struct orca_vec point;
	point.x = crowd_mesh_number(r, -1e6, 1e6, what);
	point.y = crowd_mesh_number(r, -1e6, 1e6, what);
	return point;
}

static void *crowd_mesh_array(struct crowd_mesh_reader *r, uint32_t count, size_t bytes)
{
	return r->self->host->alloc(r->self, (size_t)(count + 1) * bytes);
}

static uint32_t *crowd_mesh_indices(struct crowd_mesh_reader *r, uint32_t below, const char *what, uint32_t *ret_count)
{
	uint32_t count = *ret_count = crowd_mesh_index(r, below + 1, what);
	uint32_t *indices = crowd_mesh_array(r, count, sizeof *indices);
	for (uint32_t i = 0; i < count && !r->failed; i++)
		indices[i] = crowd_mesh_index(r, below, what);
	return indices;
}

static void crowd_mesh_read_vertices(struct crowd_mesh_reader *r, struct crowd_mesh *mesh)
{
	mesh->vertex_count = crowd_mesh_count(r, "the number of vertices");
	mesh->vertices = crowd_mesh_array(r, mesh->vertex_count, sizeof *mesh->vertices);
	for (uint32_t i = 0; i < mesh->vertex_count && !r->failed; i++)
		mesh->vertices[i] = crowd_mesh_point(r, "a coordinate of a vertex");
}

static void crowd_mesh_read_edges(struct crowd_mesh_reader *r, struct crowd_mesh *mesh)
{
	mesh->edge_count = crowd_mesh_count(r, "the number of edges");
	mesh->edges = crowd_mesh_array(r, mesh->edge_count, sizeof *mesh->edges);
	for (uint32_t i = 0; i < mesh->edge_count && !r->failed; i++) {
		struct crowd_mesh_edge *edge = &mesh->edges[i];
		edge->a = mesh->vertices[crowd_mesh_index(r, mesh->vertex_count, "a vertex of an edge")];
		edge->b = mesh->vertices[crowd_mesh_index(r, mesh->vertex_count, "a vertex of an edge")];
		for (uint32_t side = 0; side < 2; side++)
			edge->nodes[side] = crowd_mesh_index(r, CROWD_MESH_MAX, "a polygon of an edge");
	}
}

/* nodes: for each wall its polygon. */
static void crowd_mesh_read_walls(struct crowd_mesh_reader *r, struct crowd_mesh *mesh, uint32_t **ret_nodes)
{
	mesh->wall_count = crowd_mesh_count(r, "the number of walls");
	mesh->walls = crowd_mesh_array(r, mesh->wall_count, sizeof *mesh->walls);
	*ret_nodes = crowd_mesh_array(r, mesh->wall_count, sizeof **ret_nodes);
	for (uint32_t i = 0; i < mesh->wall_count && !r->failed; i++) {
		struct crowd_mesh_wall *wall = &mesh->walls[i];
		for (uint32_t end = 0; end < 2; end++)
			wall->ends[end] = crowd_mesh_index(r, mesh->vertex_count, "a vertex of a wall");
		wall->a = mesh->vertices[wall->ends[0]];
		wall->b = mesh->vertices[wall->ends[1]];
		(*ret_nodes)[i] = crowd_mesh_index(r, CROWD_MESH_MAX, "the polygon of a wall");
		crowd_mesh_number(r, -1, mesh->wall_count, "the next wall, or -1");
	}
}

static void crowd_mesh_read_node(struct crowd_mesh_reader *r, struct crowd_mesh *mesh, struct crowd_mesh_node *node)
{
	uint32_t walls;
	node->centre = crowd_mesh_point(r, "a coordinate of the centre of a polygon");
	node->corners = crowd_mesh_indices(r, mesh->vertex_count, "the vertices of a polygon", &node->corner_count);
	for (uint32_t i = 0; i < 3; i++)
		crowd_mesh_number(r, -BUILTIN_NUMBER_MAX, BUILTIN_NUMBER_MAX, "the height of a polygon");
	node->edges = crowd_mesh_indices(r, mesh->edge_count, "the edges of a polygon", &node->edge_count);
	crowd_mesh_indices(r, mesh->wall_count, "the walls of a polygon", &walls);
	if (!r->failed && node->corner_count < 3) {
		r->self->host->refuse(
			r->self, r->line, "a polygon has %u vertices: expected at least 3", node->corner_count);
		r->failed = true;
	}
}

static void crowd_mesh_read_nodes(struct crowd_mesh_reader *r, struct crowd_mesh *mesh)
{
	if (crowd_mesh_find_word(r, "the name of the polygons"))
		r->at += strcspn(r->at, " \t\r");
	mesh->node_count = crowd_mesh_count(r, "the number of polygons");
	if (!r->failed && !mesh->node_count) {
		r->self->host->refuse(r->self, r->line, "the navigation mesh has no polygons: expected at least one");
		r->failed = true;
	}
	mesh->nodes = crowd_mesh_array(r, mesh->node_count, sizeof *mesh->nodes);
	for (uint32_t i = 0; i < mesh->node_count && !r->failed; i++)
		crowd_mesh_read_node(r, mesh, &mesh->nodes[i]);
}

/* What refers to polygons that came later in the file. */
static void crowd_mesh_check_nodes(struct crowd_mesh_reader *r, struct crowd_mesh *mesh, const uint32_t *of_walls)
{
	bool good = true;
	for (uint32_t i = 0; i < mesh->edge_count && !r->failed; i++)
		good &= mesh->edges[i].nodes[0] < mesh->node_count && mesh->edges[i].nodes[1] < mesh->node_count;
	for (uint32_t i = 0; i < mesh->wall_count && !r->failed; i++) {
		good &= of_walls[i] < mesh->node_count;
		if (good)
			mesh->walls[i].inside = mesh->nodes[of_walls[i]].centre;
	}
	for (uint32_t i = 0; i < mesh->node_count && !r->failed && good; i++)
		for (uint32_t j = 0; j < mesh->nodes[i].edge_count; j++) {
			const struct crowd_mesh_edge *edge = &mesh->edges[mesh->nodes[i].edges[j]];
			good &= edge->nodes[0] == i || edge->nodes[1] == i;
		}
	if (r->failed || good)
		return;
	r->self->host->refuse(r->self, r->mesh,
		"an edge or a wall is of a polygon that does not have it: expected one of the %u polygons",
		mesh->node_count);
	r->failed = true;
}

/* Lists the walls of each vertex. */
static void crowd_mesh_meet(struct crowd_mesh_reader *r, struct crowd_mesh *mesh)
{
	uint32_t *first = mesh->meeting_first = crowd_mesh_array(r, mesh->vertex_count + 1, sizeof *first);
	mesh->meeting = crowd_mesh_array(r, 2 * mesh->wall_count, sizeof *mesh->meeting);
	for (uint32_t i = 0; i < 2 * mesh->wall_count; i++)
		first[mesh->walls[i / 2].ends[i % 2] + 1]++;
	for (uint32_t i = 0; i < mesh->vertex_count; i++)
		first[i + 1] += first[i];
	for (uint32_t i = 2 * mesh->wall_count; i-- > 0;) /* so that those of a vertex come in ascending order */
		mesh->meeting[--first[mesh->walls[i / 2].ends[i % 2] + 1]] = i / 2;
	for (uint32_t i = 0; i < mesh->vertex_count; i++)
		first[i] = first[i + 1];
	first[mesh->vertex_count] = 2 * mesh->wall_count;
}

struct crowd_mesh *crowd_mesh_read(struct troupe_system *self, const struct troupe_element *element)
{
	struct crowd_mesh_reader r = {.self = self, .mesh = element};
	struct crowd_mesh *mesh = self->host->alloc(self, sizeof *mesh);
	uint32_t *of_walls;
	crowd_mesh_read_vertices(&r, mesh);
	crowd_mesh_read_edges(&r, mesh);
	crowd_mesh_read_walls(&r, mesh, &of_walls);
	crowd_mesh_read_nodes(&r, mesh);
	crowd_mesh_check_nodes(&r, mesh, of_walls);
	if (r.failed)
		return NULL;
	crowd_mesh_meet(&r, mesh);
	mesh->ways = crowd_mesh_array(&r, mesh->node_count, sizeof *mesh->ways);
	mesh->ways_to = crowd_mesh_array(&r, mesh->node_count, sizeof *mesh->ways_to);
	return mesh;
}

/* --- polygons ----------------------------------------------------------------------------------------------------- */

static struct orca_vec crowd_mesh_on_line(struct orca_vec a, struct orca_vec b, struct orca_vec p, double *ret_part)
{
	struct orca_vec along = orca_sub(b, a);
	double square = orca_dot(along, along);
	*ret_part = square > 0 ? builtin_clamp(orca_dot(orca_sub(p, a), along) / square, 0, 1) : 0;
	return orca_add(a, orca_scale(along, *ret_part));
}

/* How far the point is from the polygon; 0: it is in it. */
static double crowd_mesh_distance(const struct crowd_mesh *mesh, const struct crowd_mesh_node *node, struct orca_vec p)
{
	bool left = true, right = true;
	double nearest = HUGE_VAL, part;
	for (uint32_t i = 0; i < node->corner_count; i++) {
		struct orca_vec a = mesh->vertices[node->corners[i]];
		struct orca_vec b = mesh->vertices[node->corners[(i + 1) % node->corner_count]];
		double side = orca_cross(orca_sub(b, a), orca_sub(p, a));
		left &= side >= 0;
		right &= side <= 0;
		nearest = fmin(nearest, orca_length(orca_sub(crowd_mesh_on_line(a, b, p, &part), p)));
	}
	return left || right ? 0 : nearest;
}

/* The polygon with the point, else the nearest one. */
static uint32_t crowd_mesh_node_at(const struct crowd_mesh *mesh, struct orca_vec p, double *ret_distance)
{
	uint32_t best = 0;
	*ret_distance = HUGE_VAL;
	for (uint32_t i = 0; i<mesh->node_count && * ret_distance> 0; i++) {
		double distance = crowd_mesh_distance(mesh, &mesh->nodes[i], p);
		if (distance < *ret_distance) {
			*ret_distance = distance;
			best = i;
		}
	}
	return best;
}

/* --- ways --------------------------------------------------------------------------------------------------------- */

/* Polygons by their distance from the goal; equal ones by their numbers. */
struct crowd_mesh_heap {
	uint32_t *nodes, *place; /* place: of each polygon, from 1; 0: it is not in the heap */
	double *distance;        /* of each polygon */
	uint32_t count;
};

static struct crowd_mesh_heap *crowd_mesh_make_heap(struct crowd_mesh_reader *r, uint32_t node_count)
{
	struct crowd_mesh_heap *heap = crowd_mesh_array(r, 1, sizeof *heap);
	heap->nodes = crowd_mesh_array(r, node_count, sizeof *heap->nodes);
	heap->place = crowd_mesh_array(r, node_count, sizeof *heap->place);
	heap->distance = crowd_mesh_array(r, node_count, sizeof *heap->distance);
	return heap;
}

static bool crowd_mesh_is_less(const struct crowd_mesh_heap *heap, uint32_t a, uint32_t b)
{
	return heap->distance[a] < heap->distance[b] || (heap->distance[a] == heap->distance[b] && a < b);
}

static void crowd_mesh_put(struct crowd_mesh_heap *heap, uint32_t at, uint32_t node)
{
	heap->nodes[at] = node;
	heap->place[node] = at + 1;
}

static void crowd_mesh_rise(struct crowd_mesh_heap *heap, uint32_t node)
{
	uint32_t at = heap->place[node] ? heap->place[node] - 1 : heap->count++;
	for (; at && crowd_mesh_is_less(heap, node, heap->nodes[(at - 1) / 2]); at = (at - 1) / 2)
		crowd_mesh_put(heap, at, heap->nodes[(at - 1) / 2]);
	crowd_mesh_put(heap, at, node);
}

static uint32_t crowd_mesh_take_least(struct crowd_mesh_heap *heap)
{
	uint32_t least = heap->nodes[0], node = heap->nodes[--heap->count], at = 0;
	for (uint32_t child; (child = 2 * at + 1) < heap->count; at = child) {
		child +=
			child + 1 < heap->count && crowd_mesh_is_less(heap, heap->nodes[child + 1], heap->nodes[child]);
		if (!crowd_mesh_is_less(heap, heap->nodes[child], node))
			break;
		crowd_mesh_put(heap, at, heap->nodes[child]);
	}
	if (heap->count)
		crowd_mesh_put(heap, at, node);
	return least;
}

static void crowd_mesh_spread(
	const struct crowd_mesh *mesh, uint32_t goal, struct crowd_mesh_heap *heap, uint32_t *ways)
{
	for (uint32_t i = 0; i < mesh->node_count; i++) {
		heap->distance[i] = HUGE_VAL;
		heap->place[i] = 0;
		ways[i] = CROWD_MESH_NONE;
	}
	heap->distance[goal] = 0;
	crowd_mesh_rise(heap, goal);
	while (heap->count) {
		uint32_t from = crowd_mesh_take_least(heap);
		for (uint32_t i = 0; i < mesh->nodes[from].edge_count; i++) {
			const struct crowd_mesh_edge *edge = &mesh->edges[mesh->nodes[from].edges[i]];
			uint32_t to = edge->nodes[edge->nodes[0] == from];
			struct orca_vec middle = orca_scale(orca_add(edge->a, edge->b), 0.5);
			double distance = heap->distance[from] +
					  orca_length(orca_sub(middle, mesh->nodes[from].centre)) +
					  orca_length(orca_sub(middle, mesh->nodes[to].centre));
			if (!(distance < heap->distance[to]))
				continue;
			heap->distance[to] = distance;
			ways[to] = mesh->nodes[from].edges[i];
			crowd_mesh_rise(heap, to);
		}
	}
}

bool crowd_mesh_find_ways(struct troupe_system *self, const struct troupe_element *at, struct crowd_mesh *mesh,
	struct orca_vec goal, uint32_t *ret_ways)
{
	struct crowd_mesh_reader r = {.self = self};
	double distance;
	mesh->searched += mesh->node_count;
	if (mesh->searched > CROWD_MESH_SEARCHED_MAX)
		return self->host->refuse(self, at,
			"too many states and goals on a mesh of %u polygons: expected at most %u goals, counted once "
			"for "
			"each state",
			mesh->node_count, CROWD_MESH_SEARCHED_MAX / mesh->node_count);
	uint32_t node = crowd_mesh_node_at(mesh, goal, &distance);
	for (*ret_ways = 0; *ret_ways < mesh->ways_count; ++*ret_ways)
		if (mesh->ways_to[*ret_ways] == node)
			return true;
	if ((uint64_t)(mesh->ways_count + 1) * mesh->node_count > CROWD_MESH_ROUTES_MAX)
		return self->host->refuse(self, at,
			"too many goals on a mesh of %u polygons: expected at most %u in all", mesh->node_count,
			CROWD_MESH_ROUTES_MAX / mesh->node_count);
	if (!mesh->heap)
		mesh->heap = crowd_mesh_make_heap(&r, mesh->node_count);
	mesh->ways[mesh->ways_count] = crowd_mesh_array(&r, mesh->node_count, sizeof **mesh->ways);
	crowd_mesh_spread(mesh, node, mesh->heap, mesh->ways[mesh->ways_count]);
	mesh->ways_to[mesh->ways_count++] = node;
	return true;
}

/* The ends of edges to go over, with the radius of somebody who keeps clear of their ends. */
struct crowd_mesh_gates {
	struct orca_vec left[CROWD_MESH_AHEAD + 1], right[CROWD_MESH_AHEAD + 1];
	uint32_t count;
};

static void crowd_mesh_add_gate(
	struct crowd_mesh_gates *gates, const struct crowd_mesh_edge *edge, struct orca_vec inside, double radius)
{
	struct orca_vec along = orca_sub(edge->b, edge->a);
	double length = orca_length(along), part = length > 2 * radius ? radius / length : 0.5;
	struct orca_vec a = orca_add(edge->a, orca_scale(along, part)), b = orca_sub(edge->b, orca_scale(along, part));
	bool left = orca_cross(orca_sub(edge->a, inside), orca_sub(edge->b, inside)) > 0;
	gates->left[gates->count] = left ? b : a;
	gates->right[gates->count++] = left ? a : b;
}

/* The first corner of the shortest line through the gates that is not reached yet. Its two sides close in on it gate by
 * gate; where one crosses the other, the other one's corner is a corner of the line. */
static struct orca_vec crowd_mesh_first_corner(const struct crowd_mesh_gates *gates, struct orca_vec from)
{
	struct orca_vec apex = from, left = from, right = from;
	uint32_t left_at = 0, right_at = 0;
	bool open[2] = {true, true}; /* the side still begins at the apex */
	for (uint32_t i = 0; i < gates->count; i++) {
		struct orca_vec l = orca_sub(gates->left[i], apex), r = orca_sub(gates->right[i], apex);
		struct orca_vec now_left = orca_sub(left, apex), now_right = orca_sub(right, apex);
		bool over_left = !open[0] && orca_cross(now_left, r) > 0,
		     over_right = !open[1] && orca_cross(now_right, l) < 0;
		if (over_left || over_right) {
			apex = over_left ? left : right;
			if (orca_length(orca_sub(apex, from)) > CROWD_MESH_NEAR)
				return apex;
			i = over_left ? left_at : right_at;
			left = right = apex;
			left_at = right_at = i;
			open[0] = open[1] = true;
			continue;
		}
		if (open[1] || orca_cross(now_right, r) >= 0) {
			right = gates->right[i];
			right_at = i;
			open[1] = orca_length(r) == 0;
		}
		if (open[0] || orca_cross(now_left, l) <= 0) {
			left = gates->left[i];
			left_at = i;
			open[0] = orca_length(l) == 0;
		}
	}
	return gates->left[gates->count - 1];
}

struct orca_vec crowd_mesh_toward(
	const struct crowd_mesh *mesh, uint32_t ways, struct orca_vec from, struct orca_vec goal, double radius)
{
	struct crowd_mesh_gates gates;
	double outside;
	uint32_t node = crowd_mesh_node_at(mesh, from, &outside), to = mesh->ways_to[ways];
	gates.count = 0;
	if (outside > 0)
		return mesh->nodes[node].centre;
	while (node != to && gates.count < CROWD_MESH_AHEAD) {
		uint32_t over = mesh->ways[ways][node];
		if (over == CROWD_MESH_NONE)
			return from;
		crowd_mesh_add_gate(&gates, &mesh->edges[over], mesh->nodes[node].centre, radius);
		node = mesh->edges[over].nodes[mesh->edges[over].nodes[0] == node];
	}
	gates.left[gates.count] = gates.right[gates.count] = node == to ? goal : mesh->nodes[node].centre;
	gates.count++;
	return crowd_mesh_first_corner(&gates, from);
}

/* --- walls -------------------------------------------------------------------------------------------------------- */

static bool crowd_mesh_is_inside(const struct crowd_mesh_wall *wall, struct orca_vec p)
{
	struct orca_vec along = orca_sub(wall->b, wall->a);
	return orca_cross(along, orca_sub(wall->inside, wall->a)) * orca_cross(along, orca_sub(p, wall->a)) >= 0;
}

/* Whether, of the walls that meet at an end of this one, none is nearer than the end, and none was reported with it. */
static bool crowd_mesh_is_corner(const struct crowd_mesh *mesh, uint32_t self, uint32_t vertex, struct orca_vec p)
{
	struct orca_vec at = mesh->vertices[vertex];
	for (uint32_t i = mesh->meeting_first[vertex]; i < mesh->meeting_first[vertex + 1]; i++) {
		const struct crowd_mesh_wall *other = &mesh->walls[mesh->meeting[i]];
		struct orca_vec away = orca_sub(other->ends[0] == vertex ? other->b : other->a, at);
		if (mesh->meeting[i] == self || !crowd_mesh_is_inside(other, p))
			continue;
		if (orca_dot(away, orca_sub(p, at)) > 0 || mesh->meeting[i] < self)
			return false;
	}
	return true;
}

/* Keeps the nearest `max` in the order in which they came. */
static uint32_t crowd_mesh_keep(struct orca_vec *points, double *distances, uint32_t count, uint32_t max,
	struct orca_vec point, double distance)
{
	uint32_t farthest = 0;
	if (count < max) {
		points[count] = point;
		distances[count] = distance;
		return count + 1;
	}
	for (uint32_t i = 1; i < count; i++)
		farthest = distances[i] > distances[farthest] ? i : farthest;
	if (distance < distances[farthest]) {
		points[farthest] = point;
		distances[farthest] = distance;
	}
	return count;
}

uint32_t crowd_mesh_walls(
	const struct crowd_mesh *mesh, struct orca_vec from, double reach, struct orca_vec *ret_points, uint32_t max)
{
	double distances[ORCA_WALLS_MAX];
	uint32_t count = 0;
	max = max < ORCA_WALLS_MAX ? max : ORCA_WALLS_MAX;
	for (uint32_t i = 0; i < mesh->wall_count; i++) {
		const struct crowd_mesh_wall *wall = &mesh->walls[i];
		double part;
		struct orca_vec point = crowd_mesh_on_line(wall->a, wall->b, from, &part);
		double distance = orca_length(orca_sub(point, from));
		if (distance > reach || !crowd_mesh_is_inside(wall, from))
			continue;
		if ((part == 0 || part == 1) && !crowd_mesh_is_corner(mesh, i, wall->ends[part == 1], from))
			continue;
		count = crowd_mesh_keep(ret_points, distances, count, max, point, distance);
	}
	return count;
}
