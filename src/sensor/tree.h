/* Trees of boxes that rays are searched through: Embree 3 or 4, and its only owner.
 *
 * Embree works in single precision, and its bits differ between CPUs. So it decides nothing here: a tree gives all
 * items whose boxes a ray may meet, and the caller tests the item itself, exactly. Boxes that are larger than necessary
 * cost time and change no result; the caller makes them large enough for the errors of single precision
 * (tree_margin()).
 *
 * Thread: tree_search() any, at the same time; all other calls one, while no thread searches. */
#ifndef SENSOR_TREE_H
#define SENSOR_TREE_H

#include "base/base.h"
#include "geom/geom.h"

enum { TREE_LANES = 8, TREE_ITEMS_MAX = 1 << 27 };

struct tree_box {
	float lo[3], hi[3];
};

/* Eight rays, [axis][lane]. */
struct tree_rays {
	_Alignas(64) float origin[3][TREE_LANES];
	float direction[3][TREE_LANES]; /* about unit */
	float far[TREE_LANES];          /* an item that begins beyond is not met */
	int32_t valid[TREE_LANES];      /* -1: a ray; 0: none */
};

/* The rays of these lanes (valid, as above) may meet the item. May lower far[] of these lanes, and write no other. */
typedef void tree_meet_fn(void *ctx, uint32_t item, const int32_t *valid, float *far);

struct tree;
struct tree_maker;

/* The library stays loaded. set: the instruction set that Embree uses, by its
 * name for it ("sse4.2", "avx2"); NULL: the best that the CPU has. TROUPE_EINVAL: troupe was built without Embree, or
 * the library is not there. */
troupe_status tree_maker_create(const char *set, struct tree_maker **ret_maker, struct troupe_error *error);
void tree_maker_destroy(struct tree_maker *maker); /* after its trees; NULL is fine */
/* Whether the CPU, and the instruction set that was asked for, have AVX. */
bool tree_maker_has_avx(const struct tree_maker *maker);
/* Whether troupe was built with Embree, and the library is there: the first call loads it. Any thread. */
bool tree_available(void);

struct tree *tree_create(struct tree_maker *maker);
void tree_destroy(struct tree *tree); /* NULL is fine */
/* Replaces all items. The boxes are used during the call only. quick: a build that costs less, for a tree that soon
 * changes again; a search then costs more. */
void tree_build(struct tree *tree, const struct tree_box *boxes, uint32_t count, bool quick);
/* Calls meet for each item that a ray may meet, in no order. rays->far is in-out. meet may search other trees. */
void tree_search(const struct tree *tree, struct tree_rays *rays, tree_meet_fn *meet, void *ctx);

/* By how much a box must be larger on every side, when coordinates of it and of the origins of rays are at most
 * `reach`. Single precision rounds a coordinate by 2^-24 of it. The distance to a side is computed of the side, the
 * origin and the inverse direction, with at most six more roundings, and a ray is at most 2 sqrt(3) reach long: 16
 * times this is on the safe side. */
static inline double tree_margin(double reach)
{
	return reach * (32.0 / (1 << 23)) + 1e-30;
}

/* Single precision for `far`: not below the distance. */
static inline float tree_far(double distance)
{
	return (float)(distance * (1 + 0x1p-20) + 1e-30);
}

static inline void tree_rays_set(
	struct tree_rays *rays, uint32_t lane, struct vec3 origin, struct vec3 direction, double far)
{
	rays->origin[0][lane] = (float)origin.x;
	rays->origin[1][lane] = (float)origin.y;
	rays->origin[2][lane] = (float)origin.z;
	rays->direction[0][lane] = (float)direction.x;
	rays->direction[1][lane] = (float)direction.y;
	rays->direction[2][lane] = (float)direction.z;
	rays->far[lane] = tree_far(far);
	rays->valid[lane] = -1;
}

/* This lane has no ray. */
static inline void tree_rays_skip(struct tree_rays *rays, uint32_t lane)
{
	tree_rays_set(rays, lane, (struct vec3){0, 0, 0}, (struct vec3){1, 0, 0}, 0);
	rays->valid[lane] = 0;
}

#endif
