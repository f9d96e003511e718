/* Pairs come from level/touch.c, which says in which steps they changed. The list of recent pairs is merged with them
 * only in such a step, and when one of its pairs is due to end. */
#include "run/pairs.h"

#include <math.h>

void pairs_init(struct pairs *pairs, struct shared *shared)
{
	*pairs = (struct pairs){.shared = shared};
}

void pairs_fini(struct pairs *pairs)
{
	vec_free(&pairs->recent);
	vec_free(&pairs->before);
	vec_free(&pairs->changes);
	vec_free(&pairs->found);
}

/* --- waking ------------------------------------------------------------------------------------------------------- */

void pairs_wake(struct pairs *pairs, uint32_t model)
{
	struct state *state = pairs->shared->state;
	if (pairs->restoring || !pairs->shared->scene->models[model].body_count || !*state_still(state, model, false))
		return;
	*state_still(state, model, false) = 0;
	state_wrote(state, model);
	pairs->woken = true;
}

/* The tree has fat boxes, whose size depends on history; so the exact boxes decide. */
void pairs_wake_sleepers(struct pairs *pairs, const struct aabb *box, uint64_t steps)
{
	const struct shared *shared = pairs->shared;
	struct aabb padded = aabb_grow(*box, TOUCH_PAD);
	pairs->found.count = 0;
	bvh_query(&shared->touch.tree, &padded, &pairs->found);
	for (uint32_t i = 0; i < pairs->found.count; i++)
		if (shared->touch.models[pairs->found.at[i]].here &&
			aabb_overlap(&padded, &shared->boxes[pairs->found.at[i]].box) &&
			*state_still(shared->state, pairs->found.at[i], false) >= steps)
			pairs_wake(pairs, pairs->found.at[i]);
}

void pairs_wake_in(struct pairs *pairs, const struct aabb *box)
{
	pairs_wake_sleepers(pairs, box, 0);
}

/* Wakes the models that rested on the model, or hung from it. */
static void pairs_wake_around(struct pairs *pairs, uint32_t model)
{
	const struct touch *touch = &pairs->shared->touch;
	pairs_wake_in(pairs, &pairs->shared->boxes[model].box);
	for (uint32_t i = 0; i < touch->joined.count; i++)
		if (touch->joined.at[i].a == model || touch->joined.at[i].b == model)
			pairs_wake(
				pairs, touch->joined.at[i].a == model ? touch->joined.at[i].b : touch->joined.at[i].a);
}

void pairs_wake_all(struct pairs *pairs)
{
	const struct scene *scene = pairs->shared->scene;
	for (uint32_t m = 0; m < scene->model_count; m++)
		if (!scene->models[m].absent)
			pairs_wake(pairs, m);
}

/* --- models come and go ------------------------------------------------------------------------------------------- */

void pairs_add(struct pairs *pairs, uint32_t model)
{
	struct shared *shared = pairs->shared;
	if (shared->scene->models[model].body_count)
		touch_add(&shared->touch, model, &shared->boxes[model].box);
}

void pairs_add_all(struct pairs *pairs, const uint32_t *models, uint32_t count)
{
	struct shared *shared = pairs->shared;
	pairs->found.count = 0;
	for (uint32_t i = 0; i < count; i++)
		if (shared->scene->models[models[i]].body_count)
			vec_push(&pairs->found, models[i]);
	touch_add_all(&shared->touch, pairs->found.at, pairs->found.count, shared->boxes);
}

void pairs_remove(struct pairs *pairs, uint32_t model)
{
	struct shared *shared = pairs->shared;
	if (!shared->scene->models[model].body_count)
		return;
	touch_remove(&shared->touch, model);
	pairs_wake_around(pairs, model);
	pairs->due = 0; /* its pairs do not count any more */
}

void pairs_unload(struct pairs *pairs, uint32_t model)
{
	struct shared *shared = pairs->shared;
	if (!shared->scene->models[model].body_count)
		return;
	bool was_here = shared->touch.models[model].here;
	touch_unload(&shared->touch, model, &shared->boxes[model].box);
	if (!was_here)
		return;
	pairs_wake_around(pairs, model);
	pairs->due = 0;
}

void pairs_clear(struct pairs *pairs)
{
	struct touch *touch = &pairs->shared->touch;
	for (uint32_t m = 0; m < touch->room; m++)
		if (touch->models[m].here || touch->models[m].unloaded)
			touch_remove(touch, m);
}

void pairs_forget(struct pairs *pairs, uint32_t model)
{
	if (pairs->shared->touch.models[model].unloaded)
		touch_remove(&pairs->shared->touch, model);
	uint32_t kept = 0;
	for (uint32_t i = 0; i < pairs->recent.count; i++) {
		struct recent_pair pair = pairs->recent.at[i];
		if (pair.a != model && pair.b != model)
			pairs->recent.at[kept++] = pair;
		else
			vec_push(&pairs->changes, (struct pair_change){pair.a, pair.b, PAIR_ENDS});
	}
	pairs->recent.count = kept;
}

void pairs_reset(struct pairs *pairs)
{
	pairs->recent.count = 0;
	pairs->due = 0; /* pairs are found anew, even if those of touch have not changed */
}

void pairs_leaver(struct pairs *pairs, uint32_t model)
{
	struct touch *touch = &pairs->shared->touch;
	const struct aabb *box = &pairs->shared->boxes[model].box;
	if ((touch->models[model].here || touch->models[model].unloaded) && touch_leaves(touch, model, box))
		touch_move(touch, model, box);
}

void pairs_reshaped(struct pairs *pairs, uint32_t model)
{
	struct touch *touch = &pairs->shared->touch;
	if (touch->models[model].here || touch->models[model].unloaded)
		touch_move(touch, model, &pairs->shared->boxes[model].box);
}

/* --- pairs of a step ---------------------------------------------------------------------------------------------- */

static int pairs_compare(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	return a != c ? (a < c ? -1 : 1) : b != d ? (b < d ? -1 : 1) : 0;
}

static bool pairs_still_counts(const struct pairs *pairs, const struct recent_pair *old, uint64_t k)
{
	const struct touch_model *models = pairs->shared->touch.models;
	return old->until > k && models[old->a].here && models[old->b].here;
}

/* The box that a model may sweep in the time: a guess. It goes on as its bodies do now, or up to twice as far, and half
 * as far to any side, because it may turn, and its bodies turn; and it falls, where the gravity of the world takes it.
 */
static struct aabb pairs_reach(const void *ctx, uint32_t model, const struct aabb *box)
{
	const double slack = 0.02, onward = 1.5, aside = 0.5;
	const struct pairs *pairs = ctx;
	const struct scene *scene = pairs->shared->scene;
	const struct body_state *bodies = state_bodies(pairs->shared->state, model, false);
	const double s = pairs->ahead_s;
	struct aabb way = {{0, 0, 0}, {0, 0, 0}};
	double fastest = 0;
	for (uint32_t i = 0; i < scene->models[model].body_count && !pairs->blind; i++) {
		fastest = fmax(fastest, vec3_dot(bodies[i].v, bodies[i].v));
		way = aabb_join(way, (struct aabb){bodies[i].v, bodies[i].v});
	}
	if (fastest == 0)
		return *box;
	const struct vec3 fall = vec3_scale(scene->gravity, 0.5 * s * s);
	const double by = slack + aside * sqrt(fastest) * s;
	const struct vec3 sides = {by + fabs(fall.x), by + fabs(fall.y), by + fabs(fall.z)};
	return (struct aabb){vec3_sub(vec3_add(box->lo, vec3_scale(way.lo, onward * s)), sides),
		vec3_add(vec3_add(box->hi, vec3_scale(way.hi, onward * s)), sides)};
}

bool pairs_look_ahead(struct pairs *pairs, double ahead_s)
{
	bool other = (ahead_s > 0) != (pairs->ahead_s > 0);
	pairs->ahead_s = ahead_s;
	return (ahead_s > 0 && touch_find_near(&pairs->shared->touch, pairs->shared->boxes, pairs_reach, pairs)) ||
	       other;
}

static uint64_t pairs_keep_steps(const struct pairs *pairs)
{
	uint32_t steps = pairs->shared->physics.keep_steps;
	return steps ? steps : PAIRS_KEEP_STEPS;
}

/* Merges the present pairs with the ones that ended lately, in order. */
void pairs_merge(struct pairs *pairs, uint64_t k)
{
	const struct touch *touch = &pairs->shared->touch;
	const touch_pairs *found = pairs->ahead_s > 0 ? &touch->near : &touch->pairs;
	const recent_pairs olds = pairs->recent;
	pairs->recent = pairs->before;
	pairs->before = olds;
	pairs->recent.count = 0;
	pairs->due = UINT64_MAX;
	for (uint32_t i = 0, j = 0; i < found->count || j < olds.count;) {
		struct recent_pair none = {UINT32_MAX, UINT32_MAX, 0, false};
		struct recent_pair old = j < olds.count ? olds.at[j] : none;
		struct touch_pair pair = i < found->count ? found->at[i] : (struct touch_pair){none.a, none.b};
		int order = pairs_compare(pair.a, pair.b, old.a, old.b);
		j += order >= 0;
		if (order <= 0) {
			i++;
			if (order < 0)
				vec_push(&pairs->changes, (struct pair_change){pair.a, pair.b, PAIR_BEGINS});
			bool meets = touch_is_pair(touch, pair), met = order == 0 && old.met;
			if (meets && !met)
				vec_push(&pairs->changes, (struct pair_change){pair.a, pair.b, PAIR_MEETS});
			vec_push(&pairs->recent, (struct recent_pair){pair.a, pair.b, UINT64_MAX, met || meets});
			continue;
		}
		if (old.until == UINT64_MAX)
			old.until = k + pairs_keep_steps(pairs);
		if (!pairs_still_counts(pairs, &old, k)) {
			vec_push(&pairs->changes, (struct pair_change){old.a, old.b, PAIR_ENDS});
			continue;
		}
		pairs->due = MIN(pairs->due, old.until);
		vec_push(&pairs->recent, old);
	}
}
