/* Two trees hold the boxes of the visuals: one those that have stood for a while, and one all others, which is built
 * anew when anything moved. A ray is searched through both. So a large world in which few things move does not pay for
 * what stands in each step; but a ray costs a little more. Which way is cheaper follows from the number of rays since
 * the last build: a small world, or one with many rays, has only the second tree. The hits do not depend on it, because
 * a tree gives candidates only (rays_cast.c).
 *
 * The trees' numbers are of single precision, relative to the middle of the world as it was first. Their boxes are
 * larger than the visuals by the error that a ray of single precision can have anywhere in the box of them all; a ray
 * is cut, in double precision, to this box. So the trees find every visual that the exact ray meets. A visual that
 * would make this error large, because it is huge or far away, is not put into a tree. */
#include "sensor/rays_internal.h"

#include <stdatomic.h>
#include <stdlib.h>

#define RAYS_TREE_REACH_MAX 8192.0 /* m from the middle */
#define RAYS_TREE_ROOM 1.25        /* by how much more the reach may grow before what stands is built anew */

enum {
	RAYS_TREE_STAND_MIN = 64, /* fewer visuals are not worth a tree of their own */
	RAYS_TREE_RESTED = 4,     /* builds after which a visual stands */
	RAYS_TREE_RAYS = 150,     /* so many rays cost by a second tree what a box costs in the building of one */
	RAYS_TREE_PAID = 4,       /* builds in a row */
};

/* --- boxes -------------------------------------------------------------------------------------------------------- */

/* The box of a visual, in the world. */
static struct aabb rays_tree_box_of(const struct seen *seen)
{
	double reach[3], middle[3];
	for (int k = 0; k < 3; k++) {
		reach[k] = fabs(seen->turn[0][k]) * seen->reach.x + fabs(seen->turn[1][k]) * seen->reach.y +
			   fabs(seen->turn[2][k]) * seen->reach.z;
		middle[k] = seen->turn[0][k] * seen->middle.x + seen->turn[1][k] * seen->middle.y +
			    seen->turn[2][k] * seen->middle.z;
	}
	struct vec3 at = vec3_add(seen->at, vec3_from(middle));
	struct vec3 half = vec3_from(reach);
	return (struct aabb){vec3_sub(at, half), vec3_add(at, half)};
}

/* The box of a visual from the beginning of a sweep to its end. A point of the body turns by a chord of at most
 * min(|w| t, 2) times its distance from the centre. */
struct aabb rays_swept_box(const struct rays *rays, const struct seen *seen)
{
	struct aabb box = rays_tree_box_of(seen);
	if (!seen->moves || !(rays->sweep_s > 0))
		return box;
	struct vec3 far = vec3_max(vec3_sub(box.hi, seen->centre), vec3_sub(seen->centre, box.lo));
	struct vec3 back = vec3_scale(seen->v, -rays->sweep_s);
	double turn = fmin(vec3_length(seen->w) * rays->sweep_s, 2) * vec3_length(far);
	box = aabb_grow(box, turn);
	return aabb_join(box, (struct aabb){vec3_add(box.lo, back), vec3_add(box.hi, back)});
}

/* --- the middle --------------------------------------------------------------------------------------------------- */

static int rays_tree_by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The median of all places along each axis: a few that lie far away have no effect. */
static void rays_tree_find_middle(struct rays *rays)
{
	double *values = mem_alloc((rays->places.end + 1) * sizeof *values), middle[3];
	for (int k = 0; k < 3; k++) {
		uint32_t count = 0;
		for (uint32_t i = 0; i < rays->places.end; i++) {
			const struct seen *seen = &rays->seen[i];
			double at[3] = {seen->at.x, seen->at.y, seen->at.z};
			if (seen->kind != SDF_EMPTY && vec3_finite(seen->at))
				values[count++] = at[k];
		}
		qsort(values, count, sizeof *values, rays_tree_by_value);
		middle[k] = count ? values[count / 2] : 0;
		rays->has_middle |= count > 0;
	}
	free(values);
	rays->middle = vec3_from(middle);
}

/* --- sorting ------------------------------------------------------------------------------------------------------ */

static double rays_tree_reach_of(const struct aabb *box)
{
	struct vec3 far = vec3_max(vec3_scale(box->lo, -1), box->hi);
	return fmax(fmax(far.x, far.y), far.z);
}

static struct aabb rays_tree_box(const struct rays *rays, const struct seen *seen)
{
	struct aabb box = rays_swept_box(rays, seen);
	return (struct aabb){vec3_sub(box.lo, rays->middle), vec3_sub(box.hi, rays->middle)};
}

/* Whether the visual has stood, and stands; one that moves during a sweep does not. */
static bool rays_tree_has_rested(const struct seen *seen)
{
	return seen->rested >= RAYS_TREE_RESTED && !seen->moves;
}

/* Sorts all visuals that do not stand into the tree of what moves, and the loose ones. */
static void rays_tree_sort(struct rays *rays)
{
	struct rays_tree *to = &rays->moving_tree;
	to->all = AABB_NONE;
	to->items.count = rays->loose.count = rays->moving = rays->rested = 0;
	for (uint32_t i = 0; i < rays->places.end; i++) {
		struct seen *seen = &rays->seen[i];
		if (rays->stands[i] || seen->kind == SDF_EMPTY || rays->known.at[seen->model].hidden ||
			!vec3_finite(seen->at))
			continue;
		struct aabb box = rays_tree_box(rays, seen);
		rays->moving += seen->moves;
		if (!(rays_tree_reach_of(&box) <= RAYS_TREE_REACH_MAX)) {
			vec_push(&rays->loose, i);
			continue;
		}
		to->all = aabb_join(to->all, box);
		vec_push(&to->items, i);
		rays->rested += rays_tree_has_rested(seen);
	}
}

void rays_tree_take_out(struct rays *rays, uint32_t place)
{
	rays->seen[place].rested = 0;
	rays->gone += rays->stands[place];
	rays->stands[place] = false;
}

/* --- building ----------------------------------------------------------------------------------------------------- */

static void rays_tree_make(struct rays *rays, struct rays_tree *tree, double margin)
{
	rays->boxes.count = 0;
	for (uint32_t i = 0; i < tree->items.count; i++) {
		struct aabb box = aabb_grow(rays_tree_box(rays, &rays->seen[tree->items.at[i]]), margin);
		vec_push(&rays->boxes, (struct tree_box){{(float)box.lo.x, (float)box.lo.y, (float)box.lo.z},
					       {(float)box.hi.x, (float)box.hi.y, (float)box.hi.z}});
	}
	tree_build(tree->tree, rays->boxes.at, tree->items.count, false);
}

/* What is left of the tree of what stands goes to the other one. */
static void rays_tree_let_go(struct rays *rays)
{
	for (uint32_t i = 0; i < rays->standing_tree.items.count; i++)
		rays->stands[rays->standing_tree.items.at[i]] = false;
	rays->standing_tree.items.count = rays->gone = 0;
	rays->standing_tree.all = AABB_NONE;
}

/* Builds the tree of what stands, with all that has rested. */
static void rays_tree_settle(struct rays *rays)
{
	struct rays_tree *standing = &rays->standing_tree;
	struct aabb all = aabb_join(standing->all, rays->moving_tree.all);
	rays_tree_let_go(rays);
	rays_tree_sort(rays);
	for (uint32_t i = 0; i < rays->moving_tree.items.count; i++) {
		uint32_t place = rays->moving_tree.items.at[i];
		if (!rays_tree_has_rested(&rays->seen[place]))
			continue;
		struct aabb box = rays_tree_box(rays, &rays->seen[place]);
		standing->all = aabb_join(standing->all, box);
		vec_push(&standing->items, place);
		rays->stands[place] = true;
	}
	rays->reach = fmin(rays_tree_reach_of(&all) * RAYS_TREE_ROOM, RAYS_TREE_REACH_MAX);
	rays_tree_make(rays, standing, tree_margin(rays->reach));
	rays_tree_sort(rays);
}

/* Whether two trees were cheaper since the last build; and whether the tree of what stands has to be built. */
static void rays_tree_choose(struct rays *rays)
{
	const uint64_t cast = atomic_exchange_explicit(rays->cast, 0, memory_order_relaxed);
	const uint32_t in = rays->standing_tree.items.count, could = in - rays->gone + rays->rested;
	const bool pays = rays->counts && cast < (uint64_t)could * RAYS_TREE_RAYS;
	rays->counts = could >= RAYS_TREE_STAND_MIN; /* from now on */
	if (pays)
		rays->paid = MIN(rays->paid + 1, (uint32_t)RAYS_TREE_PAID);
	else if (rays->paid)
		rays->paid--;
	if (in && !rays->paid) {
		rays_tree_let_go(rays);
		rays_tree_sort(rays);
		return;
	}
	const struct aabb all = aabb_join(rays->standing_tree.all, rays->moving_tree.all);
	const bool outgrown = in && rays_tree_reach_of(&all) > rays->reach;
	const bool grown = rays->rested >= RAYS_TREE_STAND_MIN / 4 && rays->rested >= in / 8;
	if (outgrown || (rays->paid == RAYS_TREE_PAID && (grown || rays->gone > in / 4)))
		rays_tree_settle(rays);
}

void rays_tree_build(struct rays *rays)
{
	if (!rays->has_middle)
		rays_tree_find_middle(rays);
	rays_tree_sort(rays);
	rays_tree_choose(rays);
	struct aabb all = aabb_join(rays->standing_tree.all, rays->moving_tree.all);
	const bool any = rays->moving_tree.items.count || rays->standing_tree.items.count;
	double margin = any ? tree_margin(rays_tree_reach_of(&all)) : 0;
	rays_tree_make(rays, &rays->moving_tree, margin);
	for (uint32_t i = 0; i < rays->moving_tree.items.count; i++)
		rays->seen[rays->moving_tree.items.at[i]].rested++;
	if (!any)
		return;
	all = aabb_grow(all, rays->standing_tree.items.count ? tree_margin(rays->reach) : margin);
	rays->half = vec3_scale(vec3_sub(all.hi, all.lo), 0.5);
	rays->hub = vec3_add(rays->middle, vec3_add(all.lo, rays->half));
}

uint32_t rays_count(const struct rays *rays, uint32_t *ret_loose)
{
	if (ret_loose)
		*ret_loose = rays->loose.count;
	return rays->standing_tree.items.count - rays->gone + rays->moving_tree.items.count + rays->loose.count;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

void rays_tree_init(struct rays *rays)
{
	rays->cast = mem_alloc(sizeof *rays->cast);
	rays->moving_tree.tree = tree_create(rays->maker);
	rays->standing_tree.tree = tree_create(rays->maker);
	rays->standing_tree.all = AABB_NONE;
}

void rays_tree_fini(struct rays *rays)
{
	tree_destroy(rays->moving_tree.tree);
	tree_destroy(rays->standing_tree.tree);
	vec_free(&rays->moving_tree.items);
	vec_free(&rays->standing_tree.items);
	vec_free(&rays->loose);
	vec_free(&rays->boxes);
	free(rays->cast);
}
