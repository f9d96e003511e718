/* Bounds the cost of a crowd in one place.
 *
 * Of n bodies in one place each touches every other: n^2 / 2 pairs with several contacts each, and the work of the
 * solver grows with them (700 boxes in one place: a step of 26 s). No such crowd is physical, since solids lie beside
 * each other, but worlds and commands make them. So in a crowd each shape keeps about its CROWD_MAX deepest pairs
 * only, with one contact each: enough to push the crowd apart, and linear in n.
 *
 * A pair is thinned out only when both of its shapes touch more than CROWD_MAX others. A large plate may carry any
 * number of small bodies, since each of these touches few. Shapes of static models do not count.
 *
 * The decision depends on the pairs of state k only, not on their group or ODE world: pairs are taken in the order of
 * depth, and pairs of equal depth in the order of a hash of their places. */
#include "physics/internal.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

enum { CROWD_MAX = 24, LEAST_PAIRS = (CROWD_MAX + 2) * (CROWD_MAX + 1) / 2 };

struct crowd_pair {
	double depth;
	uint64_t tie_break;
	uint32_t pair; /* in worker.geom_pairs */
};

static bool crowd_is_dynamic(const struct worker *worker, const struct geom_pair *pair)
{
	return worker->scene->geoms[pair->a].body != SCENE_NONE && worker->scene->geoms[pair->b].body != SCENE_NONE;
}

static bool crowd_exceed(const uint32_t *count, const struct geom_pair *pair)
{
	return count[pair->a] > CROWD_MAX && count[pair->b] > CROWD_MAX;
}

static void crowd_clear(const struct worker *worker, uint32_t *count)
{
	for (uint32_t i = 0; i < worker->geom_pairs.count; i++)
		count[worker->geom_pairs.at[i].a] = count[worker->geom_pairs.at[i].b] = 0;
}

static void crowd_add(uint32_t *count, const struct geom_pair *pair)
{
	count[pair->a]++;
	count[pair->b]++;
}

static double crowd_depth_of(struct worker *worker, const struct geom_pair *pair)
{
	dContactGeom found[PHYSICS_CONTACTS_MAX];
	int count = contact_find(worker, pair, found);
	double depth = -1;
	for (int i = 0; i < count; i++)
		depth = fmax(depth, found[i].depth);
	return depth;
}

static int crowd_compare(const void *a, const void *b)
{
	const struct crowd_pair *x = a, *y = b;
	return x->depth != y->depth           ? (x->depth > y->depth ? -1 : 1)
	       : x->tie_break != y->tie_break ? (x->tie_break < y->tie_break ? -1 : 1)
					      : 0;
}

/* Lists pairs in crowds with their depths; writes to `count` how many others each shape touches. */
static uint32_t crowd_find_crowded(struct worker *worker, uint32_t *count, struct crowd_pair *ret)
{
	uint32_t crowded = 0;
	for (uint32_t i = 0; i < worker->geom_pairs.count; i++) {
		const struct geom_pair *pair = &worker->geom_pairs.at[i];
		if (crowd_is_dynamic(worker, pair) && crowd_exceed(count, pair))
			ret[crowded++] = (struct crowd_pair){.pair = i};
	}
	crowd_clear(worker, count);
	for (uint32_t i = 0; i < crowded; i++) {
		const struct geom_pair *pair = &worker->geom_pairs.at[ret[i].pair];
		if (worker_abandons(worker))
			return 0;
		ret[i].depth = crowd_depth_of(worker, pair);
		ret[i].tie_break = hash_mix(pair->a, pair->b);
		if (ret[i].depth >= 0)
			crowd_add(count, pair);
	}
	return crowded;
}

static void crowd_thin_out_pair(
	struct worker *worker, uint32_t *touching, uint32_t *kept, struct crowd_pair *crowd, uint32_t count)
{
	qsort(crowd, count, sizeof *crowd, crowd_compare);
	for (uint32_t i = 0; i < count; i++) {
		struct geom_pair *pair = &worker->geom_pairs.at[crowd[i].pair];
		if (crowd[i].depth < 0 || !crowd_exceed(touching, pair))
			continue;
		pair->part = CONTACT_NONE;
		if (kept[pair->a] >= CROWD_MAX && kept[pair->b] >= CROWD_MAX)
			continue;
		pair->part = CONTACT_DEEPEST;
		crowd_add(kept, pair);
	}
}

void crowd_thin_out(struct worker *worker)
{
	uint32_t pairs = worker->geom_pairs.count;
	if (pairs < LEAST_PAIRS)
		return;
	uint32_t *touching = mem_alloc(worker->room.geoms * sizeof *touching);
	for (uint32_t i = 0; i < pairs; i++)
		if (crowd_is_dynamic(worker, &worker->geom_pairs.at[i]))
			crowd_add(touching, &worker->geom_pairs.at[i]);
	bool crowded = false;
	for (uint32_t i = 0; i < pairs && !crowded; i++)
		crowded = crowd_exceed(touching, &worker->geom_pairs.at[i]);
	if (crowded) {
		uint32_t *kept = mem_alloc(worker->room.geoms * sizeof *kept);
		struct crowd_pair *crowd = mem_alloc(pairs * sizeof *crowd);
		crowd_thin_out_pair(worker, touching, kept, crowd, crowd_find_crowded(worker, touching, crowd));
		free(crowd);
		free(kept);
	}
	free(touching);
}
