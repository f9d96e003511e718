/* The borders of the mask are traced along the sides of pixels, with the mask on the right, as circles of unit steps:
 * one around each part, and one around each hole. A hole is joined from its leftmost corner of the uppermost ones,
 * along a straight line to the left: between that corner and the first border there are only pixels of the same part on
 * both sides. That border is the part's, or that of a hole which begins further up or further left; so holes are taken
 * in this order, and the border has been joined already. */
#include "cli/dataset_outline.h"

#include <stdlib.h>
#include <string.h>

struct dataset_outline_node { /* a corner of a pixel on a border */
	uint32_t x, y, next;
};

struct dataset_outline_circle {
	uint32_t part, first; /* first: a node; of a hole the uppermost one, leftmost */
	bool hole;
	uint32_t x, y; /* of the first node */
};

/* Of the box of the mask, with a rim of one pixel: so all corners and the pixels beside them are inside. */
struct dataset_outline_map {
	uint32_t width, height, left, top; /* left, top: of the rim, plus 1 */
	uint32_t *part;                    /* by pixel, from 1; 0: not of the mask */
	bool *traced;                      /* by pixel: the border above it */
	uint32_t *node;                    /* by upper left corner: a node of a border that is joined, plus 1 */
	VEC(struct dataset_outline_node) nodes;
	VEC(struct dataset_outline_circle) circles;
	VEC(uint32_t) points;
};

static void dataset_outline_fill(struct dataset_outline_map *map, const struct dataset_mask *mask, uint32_t height)
{
	uint32_t at = 0;
	for (uint32_t i = 0; i < mask->counts.count; i++) {
		uint32_t end = at + mask->counts.at[i];
		for (; i % 2 && at < end; at++) {
			uint32_t x = at / height - mask->left + 1, y = at % height - mask->top + 1;
			map->part[(size_t)y * map->width + x] = UINT32_MAX;
		}
		at = end;
	}
}

/* Numbers the pixels of the mask that touch this one by their sides. */
static void dataset_outline_flood(struct dataset_outline_map *map, uint32_t from, uint32_t part)
{
	VEC(uint32_t) open = {0};
	map->part[from] = part;
	vec_push(&open, from);
	while (open.count) {
		uint32_t at = open.at[--open.count];
		const uint32_t beside[] = {at - 1, at + 1, at - map->width, at + map->width};
		for (size_t i = 0; i < ARRAY_LEN(beside); i++)
			if (map->part[beside[i]] == UINT32_MAX) {
				map->part[beside[i]] = part;
				vec_push(&open, beside[i]);
			}
	}
	vec_free(&open);
}

enum { DATASET_OUTLINE_RIGHT, DATASET_OUTLINE_DOWN, DATASET_OUTLINE_LEFT, DATASET_OUTLINE_UP };

/* The way on at a corner. Where two pixels touch by their corners only, it stays at the same one. */
static unsigned dataset_outline_turn(const struct dataset_outline_map *map, uint32_t x, uint32_t y, unsigned way)
{
	const uint32_t at = y * map->width + x, w = map->width;
	/* the pixels ahead, on the right and on the left, by way */
	const uint32_t right[] = {at, at - 1, at - w - 1, at - w}, left[] = {at - w, at, at - 1, at - w - 1};
	if (!map->part[right[way]])
		return (way + 1) % 4;
	return map->part[left[way]] ? (way + 3) % 4 : way;
}

/* From the border above a pixel on, once round. */
static void dataset_outline_trace(struct dataset_outline_map *map, uint32_t pixel)
{
	const uint32_t from_x = pixel % map->width, from_y = pixel / map->width;
	struct dataset_outline_circle circle = {
		.part = map->part[pixel], .first = map->nodes.count, .x = from_x, .y = from_y};
	uint32_t x = from_x, y = from_y;
	unsigned way = DATASET_OUTLINE_RIGHT;
	int64_t twice_area = 0;
	do {
		if (way == DATASET_OUTLINE_RIGHT)
			map->traced[y * map->width + x] = true;
		if (y < circle.y || (y == circle.y && x < circle.x))
			circle.first = map->nodes.count, circle.x = x, circle.y = y;
		struct dataset_outline_node node = {x, y, map->nodes.count + 1};
		vec_push(&map->nodes, node);
		uint32_t before_x = x, before_y = y;
		x += way == DATASET_OUTLINE_RIGHT ? 1 : way == DATASET_OUTLINE_LEFT ? UINT32_MAX : 0;
		y += way == DATASET_OUTLINE_DOWN ? 1 : way == DATASET_OUTLINE_UP ? UINT32_MAX : 0;
		twice_area += (int64_t)before_x * y - (int64_t)x * before_y;
		way = dataset_outline_turn(map, x, y, way);
	} while (x != from_x || y != from_y || way != DATASET_OUTLINE_RIGHT);
	circle.hole = twice_area < 0;
	vec_push(&map->circles, circle);
}

/* Each circle ends at its first node. */
static void dataset_outline_close(struct dataset_outline_map *map, uint32_t begin)
{
	map->nodes.at[map->nodes.count - 1].next = begin;
}

static void dataset_outline_trace_all(struct dataset_outline_map *map)
{
	uint32_t parts = 0, total = map->width * map->height;
	for (uint32_t i = 0; i < total; i++)
		if (map->part[i] == UINT32_MAX)
			dataset_outline_flood(map, i, ++parts);
	for (uint32_t i = 0; i < total; i++)
		if (map->part[i] && !map->part[i - map->width] && !map->traced[i]) {
			uint32_t begin = map->nodes.count;
			dataset_outline_trace(map, i);
			dataset_outline_close(map, begin);
		}
}

static int dataset_outline_compare(const void *one, const void *other)
{
	const struct dataset_outline_circle *a = one, *b = other;
	const uint32_t keys[][2] = {{a->part, b->part}, {a->hole, b->hole}, {a->y, b->y}, {a->x, b->x}};
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	return 0;
}

static void dataset_outline_join(struct dataset_outline_map *map, const struct dataset_outline_circle *circle)
{
	uint32_t at = circle->first;
	do {
		const struct dataset_outline_node *node = &map->nodes.at[at];
		map->node[node->y * map->width + node->x] = at + 1;
		at = node->next;
	} while (at != circle->first);
}

/* Puts the circle of a hole into that of its part: two nodes become four. */
static void dataset_outline_sew(struct dataset_outline_map *map, const struct dataset_outline_circle *hole)
{
	uint32_t x = hole->x;
	while (!map->node[hole->y * map->width + --x])
		;
	uint32_t there = map->node[hole->y * map->width + x] - 1, here = hole->first, more = map->nodes.count;
	dataset_outline_join(map, hole);
	struct dataset_outline_node begin = map->nodes.at[here], end = map->nodes.at[there];
	vec_push(&map->nodes, begin);
	vec_push(&map->nodes, end);
	map->nodes.at[there].next = more;
	map->nodes.at[here].next = more + 1;
}

static int dataset_outline_sign(uint32_t from, uint32_t to)
{
	return (to > from) - (to < from);
}

/* Corners at which it goes straight on are left out. */
static void dataset_outline_tell(struct dataset_outline_map *map, uint32_t first, dataset_outline_each *each, void *ctx)
{
	uint32_t before = first, at = map->nodes.at[first].next;
	map->points.count = 0;
	do {
		const struct dataset_outline_node *a = &map->nodes.at[before], *b = &map->nodes.at[at],
						  *c = &map->nodes.at[b->next];
		if (dataset_outline_sign(a->x, b->x) != dataset_outline_sign(b->x, c->x) ||
			dataset_outline_sign(a->y, b->y) != dataset_outline_sign(b->y, c->y)) {
			vec_push(&map->points, b->x + map->left);
			vec_push(&map->points, b->y + map->top);
		}
		before = at;
		at = b->next;
	} while (before != first);
	each(ctx, map->points.at, map->points.count);
}

void dataset_outline(const struct dataset_mask *mask, uint32_t height, dataset_outline_each *each, void *ctx)
{
	struct dataset_outline_map map = {.width = mask->right - mask->left + 3,
		.height = mask->bottom - mask->top + 3,
		.left = mask->left - 1,
		.top = mask->top - 1};
	size_t total = (size_t)map.width * map.height;
	map.part = mem_alloc(total * sizeof *map.part);
	map.traced = mem_alloc(total * sizeof *map.traced);
	map.node = mem_alloc(total * sizeof *map.node);
	dataset_outline_fill(&map, mask, height);
	dataset_outline_trace_all(&map);
	qsort(map.circles.at, map.circles.count, sizeof *map.circles.at, dataset_outline_compare);
	for (uint32_t first = 0, end; first < map.circles.count; first = end) {
		dataset_outline_join(&map, &map.circles.at[first]);
		for (end = first + 1; end < map.circles.count && map.circles.at[end].hole; end++)
			dataset_outline_sew(&map, &map.circles.at[end]);
		dataset_outline_tell(&map, map.circles.at[first].first, each, ctx);
	}
	free(map.part);
	free(map.traced);
	free(map.node);
	vec_free(&map.nodes);
	vec_free(&map.circles);
	vec_free(&map.points);
}
