/* Which levels a performer is in changes seldom, so a look at one performer also yields a box `stay`: as long as the
 * performer's origin is in it, no set can change, and the performer need not be looked at. The box is made smaller by
 * more than the error of rounding, so that skipping a look never changes a result. */
#include "level/tracker.h"

#include <stdlib.h>
#include <string.h>

#define REACH 1.0 /* m: levels farther than this from a performer are not even compared */

/* Relative to a coordinate: more than the rounding error of sums and differences of a few such coordinates. */
#define ROUNDING 1e-13

static const struct aabb tracker_nowhere = {{1, 1, 1}, {-1, -1, -1}};

void tracker_init(struct tracker *tracker, const struct scene *scene)
{
	*tracker = (struct tracker){.scene = scene};
	tracker_fit(tracker);
	tracker->in_count = mem_alloc(scene->level_count * sizeof *tracker->in_count);
	tracker->near_count = mem_alloc(scene->level_count * sizeof *tracker->near_count);
	tracker->around = mem_alloc(scene->level_count * sizeof *tracker->around);
	tracker->unsure_count = mem_alloc(scene->level_count * sizeof *tracker->unsure_count);
	for (uint32_t l = 0; l < scene->level_count; l++)
		bvh_insert(&tracker->levels, scene->levels[l].outer, l);
	for (uint32_t m = 0; m < scene->model_count; m++)
		if (scene->models[m].performer && !scene->models[m].absent)
			tracker_add(tracker, m);
}

void tracker_fit(struct tracker *tracker)
{
	uint32_t room = MAX(tracker->scene->room.models, tracker->scene->model_count);
	tracker->performer_of = mem_realloc(tracker->performer_of, room * sizeof *tracker->performer_of);
	for (; tracker->room < room; tracker->room++)
		tracker->performer_of[tracker->room] = SCENE_NONE;
}

void tracker_fini(struct tracker *tracker)
{
	for (uint32_t p = 0; p < tracker->performers.count; p++) {
		vec_free(&tracker->performers.at[p].in);
		vec_free(&tracker->performers.at[p].near);
	}
	vec_free(&tracker->performers);
	for (uint32_t l = 0; tracker->around && l < tracker->scene->level_count; l++)
		vec_free(&tracker->around[l]);
	bvh_fini(&tracker->levels);
	vec_free(&tracker->found);
	vec_free(&tracker->in);
	vec_free(&tracker->near);
	free(tracker->performer_of);
	free(tracker->in_count);
	free(tracker->near_count);
	free(tracker->unsure_count);
	vec_free(&tracker->unsure);
	free(tracker->around);
}

static void tracker_number_from(struct tracker *tracker, uint32_t first)
{
	for (uint32_t p = first; p < tracker->performers.count; p++)
		tracker->performer_of[tracker->performers.at[p].model] = p;
}

void tracker_add(struct tracker *tracker, uint32_t model)
{
	uint32_t at = tracker->performers.count;
	vec_push(&tracker->performers, (struct tracked){0});
	for (; at > 0 && tracker->performers.at[at - 1].model > model; at--)
		tracker->performers.at[at] = tracker->performers.at[at - 1];
	tracker->performers.at[at] = (struct tracked){.model = model, .stay = tracker_nowhere, .calm = tracker_nowhere};
	tracker_number_from(tracker, at);
}

static void tracker_leave_all(struct tracker *tracker, const struct tracked *performer)
{
	for (uint32_t i = 0; i < performer->in.count; i++)
		tracker->in_count[performer->in.at[i]]--;
	for (uint32_t i = 0; i < performer->near.count; i++) {
		tracker->near_count[performer->near.at[i]]--;
		indices_remove(&tracker->around[performer->near.at[i]], performer->model);
	}
}

void tracker_remove(struct tracker *tracker, uint32_t model)
{
	uint32_t at = tracker->performer_of[model];
	struct tracked *performer = &tracker->performers.at[at];
	tracker_leave_all(tracker, performer);
	vec_free(&performer->in);
	vec_free(&performer->near);
	tracker->performer_of[model] = SCENE_NONE;
	memmove(performer, performer + 1, (tracker->performers.count - at - 1) * sizeof *performer);
	tracker->performers.count--;
	tracker_number_from(tracker, at);
}

void tracker_reset(struct tracker *tracker)
{
	for (uint32_t p = 0; p < tracker->performers.count; p++) {
		struct tracked *performer = &tracker->performers.at[p];
		performer->in.count = performer->near.count = 0;
		performer->stay = performer->calm = tracker_nowhere;
		performer->entered = false;
	}
	memset(tracker->in_count, 0, tracker->scene->level_count * sizeof *tracker->in_count);
	memset(tracker->near_count, 0, tracker->scene->level_count * sizeof *tracker->near_count);
	for (uint32_t l = 0; l < tracker->scene->level_count; l++)
		tracker->around[l].count = 0;
}

/* Narrows the box in which the origin may move without a change of whether the volume overlaps `box`. When the two
 * are apart, only the axis on which they are farthest apart counts. */
static void tracker_narrow(struct aabb *stay, struct vec3 origin, const struct aabb *volume, const struct aabb *box)
{
	/* how far the volume may move down, or up, until the two only touch; negative: how far they are apart */
	struct vec3 down = vec3_sub(volume->hi, box->lo), up = vec3_sub(box->hi, volume->lo);
	struct vec3 lowest = vec3_sub(origin, down), highest = vec3_add(origin, up);
	double x = MIN(down.x, up.x), y = MIN(down.y, up.y), z = MIN(down.z, up.z), least = MIN(MIN(x, y), z);
	if (least >= 0) {
		stay->lo = vec3_max(stay->lo, lowest);
		stay->hi = vec3_min(stay->hi, highest);
	} else if (least == down.x) {
		stay->hi.x = MIN(stay->hi.x, lowest.x);
	} else if (least == up.x) {
		stay->lo.x = MAX(stay->lo.x, highest.x);
	} else if (least == down.y) {
		stay->hi.y = MIN(stay->hi.y, lowest.y);
	} else if (least == up.y) {
		stay->lo.y = MAX(stay->lo.y, highest.y);
	} else if (least == down.z) {
		stay->hi.z = MIN(stay->hi.z, lowest.z);
	} else {
		stay->lo.z = MAX(stay->lo.z, highest.z);
	}
}

static double tracker_farthest(double a, double b)
{
	return fmax(fabs(a), fabs(b));
}

/* Leaves out the margin in which rounding might change a set: there the performer is looked at in every step. */
static struct aabb tracker_without_rounding(struct aabb stay, const struct aabb *volume)
{
	double margin = ROUNDING * (1 + tracker_farthest(volume->lo.x, volume->hi.x) +
					   tracker_farthest(volume->lo.y, volume->hi.y) +
					   tracker_farthest(volume->lo.z, volume->hi.z));
	return aabb_grow(stay, -margin);
}

static bool tracker_same(const bvh_values *a, const bvh_values *b)
{
	return a->count == b->count && (!a->count || !memcmp(a->at, b->at, a->count * sizeof *a->at));
}

static void tracker_keep(bvh_values *to, const bvh_values *from)
{
	to->count = 0;
	for (uint32_t i = 0; i < from->count; i++)
		vec_push(to, from->at[i]);
}

/* Copies the sets that were just found to the performer. */
static void tracker_enter_all(struct tracker *tracker, struct tracked *performer)
{
	tracker_keep(&performer->in, &tracker->in);
	tracker_keep(&performer->near, &tracker->near);
	for (uint32_t i = 0; i < performer->in.count; i++)
		tracker->in_count[performer->in.at[i]]++;
	for (uint32_t i = 0; i < performer->near.count; i++) {
		tracker->near_count[performer->near.at[i]]++;
		if (!indices_has(&performer->in, performer->near.at[i]))
			indices_add(&tracker->around[performer->near.at[i]], performer->model);
	}
}

static bool tracker_minds(const struct tracker *tracker, const struct scene_level *level)
{
	bool minds = tracker->minds_all;
	for (uint32_t i = 0; i < level->model_count && !minds; i++)
		minds = !tracker->scene->models[level->models[i]].is_static;
	return minds;
}

/* The volume of a performer while its origin is in a box. Rounding is monotone, so a volume that overlaps wherever the
 * origin is least and greatest overlaps in between. */
struct tracked_sweep {
	struct aabb all, common; /* common: a part of it at each origin, unless it is empty */
	bool is_empty;
};

static struct tracked_sweep tracker_sweep(const struct tracker *tracker, uint32_t model, const struct aabb *origins)
{
	const struct vec3 size = tracker->scene->models[model].volume;
	const struct aabb least = aabb_around(origins->lo, size), most = aabb_around(origins->hi, size);
	struct tracked_sweep sweep = {.all = aabb_join(least, most), .common = {most.lo, least.hi}};
	const struct aabb *c = &sweep.common;
	sweep.is_empty = c->lo.x > c->hi.x || c->lo.y > c->hi.y || c->lo.z > c->hi.z;
	return sweep;
}

static bool tracker_is_always_near(const struct tracker *tracker, const struct tracked_sweep *sweep, uint32_t level)
{
	return !sweep->is_empty && aabb_overlap(&sweep->common, &tracker->scene->levels[level].outer);
}

bool tracker_holds(struct tracker *tracker, uint32_t index, const struct aabb *origins)
{
	const struct tracked *performer = &tracker->performers.at[index];
	const struct tracked_sweep sweep = tracker_sweep(tracker, performer->model, origins);
	bool holds = true;
	tracker->found.count = 0;
	bvh_query(&tracker->levels, &sweep.all, &tracker->found);
	for (uint32_t i = 0; i < tracker->found.count && holds; i++) {
		uint32_t l = tracker->found.at[i];
		holds = !tracker_minds(tracker, &tracker->scene->levels[l]) ||
			(tracker_is_always_near(tracker, &sweep, l) && indices_has(&performer->near, l));
	}
	for (uint32_t i = 0; i < performer->near.count && holds; i++) /* those that it has left */
		holds = aabb_overlap(&sweep.all, &tracker->scene->levels[performer->near.at[i]].outer) ||
			!tracker_minds(tracker, &tracker->scene->levels[performer->near.at[i]]);
	return holds;
}

/* --- proofs ------------------------------------------------------------------------------------------------------- */

bool tracker_proof_add(struct tracker *tracker, uint32_t index, const struct aabb *origins)
{
	const struct tracked *performer = &tracker->performers.at[index];
	if (aabb_within(origins, &performer->calm) || tracker_holds(tracker, index, origins))
		return true;
	const struct tracked_sweep sweep = tracker_sweep(tracker, performer->model, origins);
	for (uint32_t i = 0; i < tracker->found.count; i++) { /* by tracker_holds() */
		uint32_t l = tracker->found.at[i];
		if (!tracker->near_count[l] && tracker_minds(tracker, &tracker->scene->levels[l]))
			return false;
	}
	for (uint32_t i = 0; i < performer->near.count; i++) {
		uint32_t l = performer->near.at[i];
		if (tracker_is_always_near(tracker, &sweep, l) || !tracker_minds(tracker, &tracker->scene->levels[l]))
			continue;
		if (!tracker->unsure_count[l]++)
			vec_push(&tracker->unsure, l);
	}
	return true;
}

bool tracker_proof_end(struct tracker *tracker)
{
	bool proven = true;
	for (uint32_t i = 0; i < tracker->unsure.count; i++) {
		uint32_t l = tracker->unsure.at[i];
		proven &= tracker->near_count[l] > tracker->unsure_count[l];
		tracker->unsure_count[l] = 0;
	}
	tracker->unsure.count = 0;
	return proven;
}

/* When a range that moves at this speed begins to overlap another one, and when it ceases to. */
static void tracker_overlap_times(
	double lo, double hi, double speed, double other_lo, double other_hi, double *begin_s, double *end_s)
{
	const double STANDS_M_S = 1e-6; /* a performer that stands at a border stays there, or the guess is wrong */
	bool overlaps = lo <= other_hi && hi >= other_lo;
	if (fabs(speed) <= STANDS_M_S) {
		*begin_s = overlaps ? *begin_s : (double)INFINITY;
		return;
	}
	double comes = speed > 0 ? (other_lo - hi) / speed : (other_hi - lo) / speed;
	double goes = speed > 0 ? (other_hi - lo) / speed : (other_lo - hi) / speed;
	*begin_s = fmax(*begin_s, comes);
	*end_s = fmin(*end_s, goes);
}

double tracker_next_change_s(
	struct tracker *tracker, uint32_t index, struct vec3 origin, struct vec3 velocity, double most_s)
{
	const struct tracked *performer = &tracker->performers.at[index];
	struct aabb volume = aabb_around(origin, tracker->scene->models[performer->model].volume);
	struct aabb then = aabb_around(
		vec3_add(origin, vec3_scale(velocity, most_s)), tracker->scene->models[performer->model].volume);
	struct aabb all = aabb_join(volume, then);
	double least_s = INFINITY;
	tracker->found.count = 0;
	bvh_query(&tracker->levels, &all, &tracker->found);
	for (uint32_t i = 0; i < tracker->found.count; i++) {
		uint32_t l = tracker->found.at[i];
		const struct aabb *outer = &tracker->scene->levels[l].outer;
		bool is_near = indices_has(&performer->near, l);
		double begin_s = 0, end_s = INFINITY;
		if (tracker->near_count[l] > is_near || !tracker_minds(tracker, &tracker->scene->levels[l]))
			continue;
		tracker_overlap_times(volume.lo.x, volume.hi.x, velocity.x, outer->lo.x, outer->hi.x, &begin_s, &end_s);
		tracker_overlap_times(volume.lo.y, volume.hi.y, velocity.y, outer->lo.y, outer->hi.y, &begin_s, &end_s);
		tracker_overlap_times(volume.lo.z, volume.hi.z, velocity.z, outer->lo.z, outer->hi.z, &begin_s, &end_s);
		double change_s = is_near ? end_s : begin_s <= end_s ? begin_s : (double)INFINITY;
		if (change_s <= most_s)
			least_s = fmin(least_s, fmax(change_s, 0));
	}
	return least_s;
}

bool tracker_look(struct tracker *tracker, uint32_t index, struct vec3 origin)
{
	struct tracked *performer = &tracker->performers.at[index];
	struct aabb volume = aabb_around(origin, tracker->scene->models[performer->model].volume);
	struct aabb reach = aabb_grow(volume, REACH);
	tracker->found.count = tracker->in.count = tracker->near.count = 0;
	bvh_query(&tracker->levels, &reach, &tracker->found);
	struct aabb stay = aabb_around(origin, (struct vec3){2 * REACH, 2 * REACH, 2 * REACH});
	struct aabb calm = stay;
	for (uint32_t i = 0; i < tracker->found.count; i++) {
		const struct scene_level *level = &tracker->scene->levels[tracker->found.at[i]];
		tracker_narrow(&stay, origin, &volume, &level->box);
		tracker_narrow(&stay, origin, &volume, &level->outer);
		if (tracker_minds(tracker, level))
			tracker_narrow(&calm, origin, &volume, &level->outer);
		if (aabb_overlap(&volume, &level->outer))
			indices_add(&tracker->near, tracker->found.at[i]);
		if (aabb_overlap(&volume, &level->box))
			indices_add(&tracker->in, tracker->found.at[i]);
	}
	performer->calm = tracker_without_rounding(calm, &volume);
	performer->stay = tracker_without_rounding(stay, &volume);
	performer->entered = false;
	if (tracker_same(&performer->in, &tracker->in) && tracker_same(&performer->near, &tracker->near))
		return false;
	for (uint32_t i = 0; i < tracker->in.count; i++)
		performer->entered |= !indices_has(&performer->in, tracker->in.at[i]);
	tracker_leave_all(tracker, performer);
	tracker_enter_all(tracker, performer);
	return true;
}
