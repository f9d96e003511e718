/* Law 4 needs all pairs of dynamic models whose padded boxes overlap, in every step, but few models move far in a
 * step. So a tree holds boxes that are larger than the models' boxes, and each model lists the models whose large
 * boxes overlap its own. A model is looked up in the tree again only when its box has left the inner part of its
 * large box. In between, exact boxes are compared among listed neighbours only, and only where one of the two moved;
 * other pairs are copied from the answer before.
 *
 * Models of unloaded levels are in the tree, too, so that a model that is simulated finds them in the same way. Two
 * unloaded models are no neighbours: a pile that nobody is near costs nothing. */
#include "level/touch.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void touch_add_join(struct touch *touch, uint32_t body_a, uint32_t body_b)
{
	if (body_a == SCENE_NONE || body_b == SCENE_NONE)
		return;
	uint32_t a = touch->scene->bodies[body_a].model, b = touch->scene->bodies[body_b].model;
	if (a != b)
		vec_push(&touch->joined, (struct touch_pair){MIN(a, b), MAX(a, b)});
}

static void touch_find_joined(struct touch *touch)
{
	const struct scene *scene = touch->scene;
	for (uint32_t i = 0; i < scene->world_joints.count; i++) {
		const struct scene_joint *joint = &scene->joints[scene->world_joints.at[i]];
		touch_add_join(touch, joint->parent, joint->child);
	}
	for (uint32_t i = 0; i < scene->attachments.count; i++)
		touch_add_join(touch, scene->attachments.at[i].bodies[0], scene->attachments.at[i].bodies[1]);
}

static void touch_mark_joined(struct touch *touch)
{
	for (uint32_t i = 0; i < touch->joined.count; i++)
		touch->models[touch->joined.at[i].a].dirty = touch->models[touch->joined.at[i].b].dirty = true;
}

/* Pairs of the old list are found anew, as those of the present list always are. */
void touch_rejoin(struct touch *touch)
{
	touch_mark_joined(touch);
	touch->joined.count = 0;
	touch->dirty = true;
	touch_find_joined(touch);
}

void touch_init(struct touch *touch, const struct scene *scene)
{
	*touch = (struct touch){.scene = scene};
	touch_fit(touch);
	touch_find_joined(touch);
}

void touch_fit(struct touch *touch)
{
	uint32_t room = MAX(touch->scene->room.models, touch->scene->model_count);
	touch->models = mem_grow(touch->models, touch->room * sizeof *touch->models, room * sizeof *touch->models);
	touch->is_crowded =
		mem_grow(touch->is_crowded, touch->room * sizeof *touch->is_crowded, room * sizeof *touch->is_crowded);
	touch->room = room;
}

void touch_fini(struct touch *touch)
{
	for (uint32_t m = 0; m < touch->room; m++)
		vec_free(&touch->models[m].neighbours);
	free(touch->models);
	free(touch->is_crowded);
	bvh_fini(&touch->tree);
	vec_free(&touch->crowded);
	vec_free(&touch->found);
	vec_free(&touch->joined);
	vec_free(&touch->pairs);
	vec_free(&touch->before);
	vec_free(&touch->near);
	vec_free(&touch->near_before);
	vec_free(&touch->reached);
}

static void touch_mark(struct touch *touch, uint32_t model)
{
	touch->models[model].dirty = touch->dirty = true;
}

void touch_crowd_moved(struct touch *touch, uint32_t model)
{
	const struct touch_model *self = &touch->models[model];
	touch_mark(touch, model);
	for (uint32_t i = 0; i < self->neighbours.count; i++)
		touch_mark(touch, self->neighbours.at[i]);
}

static void touch_set_crowded(struct touch *touch, uint32_t model, bool crowded)
{
	touch->is_crowded[model] = crowded;
	(crowded ? indices_add : indices_remove)(&touch->crowded, model);
}

/* --- neighbours ------------------------------------------------------------------------------------------------- */

static void touch_meet_neighbours(struct touch *touch, uint32_t model)
{
	struct touch_model *self = &touch->models[model];
	touch->found.count = 0;
	bvh_query(&touch->tree, &self->fat, &touch->found);
	for (uint32_t i = 0; i < touch->found.count; i++) {
		uint32_t other = touch->found.at[i];
		if (other == model || (!self->here && !touch->models[other].here))
			continue;
		indices_add(&self->neighbours, other);
		indices_add(&touch->models[other].neighbours, model);
		touch_set_crowded(touch, other, true);
	}
	if (self->neighbours.count)
		touch_set_crowded(touch, model, true);
	touch_moved(touch, model);
}

static void touch_part_neighbours(struct touch *touch, uint32_t model)
{
	struct touch_model *self = &touch->models[model];
	touch_moved(touch, model);
	for (uint32_t i = 0; i < self->neighbours.count; i++) {
		struct touch_model *other = &touch->models[self->neighbours.at[i]];
		indices_remove(&other->neighbours, model);
		if (!other->neighbours.count)
			touch_set_crowded(touch, self->neighbours.at[i], false);
	}
	self->neighbours.count = 0;
	touch_set_crowded(touch, model, false);
}

/* Every model is searched for, so each pair is found from both sides. */
static void touch_find_neighbours(struct touch *touch, uint32_t model)
{
	struct touch_model *self = &touch->models[model];
	touch->found.count = 0;
	bvh_query(&touch->tree, &self->fat, &touch->found);
	for (uint32_t i = 0; i < touch->found.count; i++)
		if (touch->found.at[i] != model)
			indices_add(&self->neighbours, touch->found.at[i]);
	if (!self->neighbours.count)
		return;
	touch_set_crowded(touch, model, true);
	touch_mark(touch, model);
}

static struct vec3 touch_centre(const struct aabb *box)
{
	return vec3_scale(vec3_add(box->lo, box->hi), 0.5);
}

static void touch_settle(struct touch_model *self, const struct aabb *box)
{
	self->looked = touch_centre(box);
	self->stay = aabb_grow(*box, TOUCH_MARGIN);
	self->fat = aabb_grow(self->stay, TOUCH_PAD);
}

/* All that an arrival or a move changes but the tree; false when the model has no geoms that are on. */
static bool touch_arrive(struct touch *touch, uint32_t model, const struct aabb *box)
{
	struct touch_model *self = &touch->models[model];
	touch->dirty |= touch->joined.count > 0;
	self->stay = AABB_ALL;
	self->solid = scene_is_solid(touch->scene, model);
	if (!self->solid)
		return false; /* joints may still connect it */
	touch_settle(self, box);
	return true;
}

/* On one axis, how far ahead a model is expected that has come this way so far; 0 also in an infinite box. */
static double touch_ahead(double now, double before)
{
	double way = 2 * (now - before);
	return way > TOUCH_AHEAD ? TOUCH_AHEAD : way < -TOUCH_AHEAD ? -TOUCH_AHEAD : isfinite(way) ? way : 0;
}

/* After touch_arrive(): makes room for the way that the model has come since its neighbours were looked up last, from
 * `before`, and again. So a model that goes on straight is looked up seldom, however fast it is. */
static void touch_look_ahead(struct touch_model *self, struct vec3 before)
{
	struct vec3 way = {touch_ahead(self->looked.x, before.x), touch_ahead(self->looked.y, before.y),
		touch_ahead(self->looked.z, before.z)};
	self->stay.lo = vec3_add(self->stay.lo, vec3_min(way, (struct vec3){0}));
	self->stay.hi = vec3_add(self->stay.hi, vec3_max(way, (struct vec3){0}));
	self->fat = aabb_grow(self->stay, TOUCH_PAD);
}

/* The model's place in the tree stays when it is loaded or unloaded. */
static void touch_enter(struct touch *touch, uint32_t model, const struct aabb *box, bool here)
{
	struct touch_model *self = &touch->models[model];
	bool was_there = self->here || self->unloaded;
	if (was_there && self->solid)
		touch_part_neighbours(touch, model);
	self->here = here;
	self->unloaded = !here;
	if (was_there)
		touch->dirty |= touch->joined.count > 0;
	else if (touch_arrive(touch, model, box))
		self->leaf = bvh_insert(&touch->tree, self->fat, model);
	if (self->solid)
		touch_meet_neighbours(touch, model);
}

void touch_add(struct touch *touch, uint32_t model, const struct aabb *box)
{
	touch_enter(touch, model, box, true);
}

void touch_unload(struct touch *touch, uint32_t model, const struct aabb *box)
{
	touch_enter(touch, model, box, false);
}

void touch_add_all(struct touch *touch, const uint32_t *models, uint32_t count, const struct aabb_line *boxes)
{
	struct bvh_item *items = mem_alloc(count * sizeof *items);
	uint32_t solid = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct touch_model *self = &touch->models[models[i]];
		self->here = true;
		if (touch_arrive(touch, models[i], &boxes[models[i]].box))
			items[solid++] = (struct bvh_item){self->fat, models[i], &self->leaf};
	}
	assert(!touch->crowded.count);
	bvh_build(&touch->tree, items, solid);
	free(items);
	for (uint32_t i = 0; i < count; i++)
		if (touch->models[models[i]].solid)
			touch_find_neighbours(touch, models[i]);
}

void touch_remove(struct touch *touch, uint32_t model)
{
	touch->models[model].here = touch->models[model].unloaded = false;
	touch->dirty |= touch->joined.count > 0;
	if (!touch->models[model].solid)
		return;
	touch_part_neighbours(touch, model);
	bvh_remove(&touch->tree, touch->models[model].leaf);
}

void touch_move(struct touch *touch, uint32_t model, const struct aabb *box)
{
	struct touch_model *self = &touch->models[model];
	bool was_solid = self->solid, solid;
	const struct vec3 before = self->looked;
	touch_part_neighbours(touch, model);
	solid = touch_arrive(touch, model, box);
	if (was_solid && solid) {
		touch_look_ahead(self, before);
		bvh_move(&touch->tree, self->leaf, self->fat);
	} else if (was_solid)
		bvh_remove(&touch->tree, self->leaf);
	else if (solid)
		self->leaf = bvh_insert(&touch->tree, self->fat, model);
	if (solid)
		touch_meet_neighbours(touch, model);
}

/* --- pairs ------------------------------------------------------------------------------------------------------ */

/* Whether both models are here. If one of them is, and the other one is unloaded, it is reached. */
static bool touch_counts(struct touch *touch, uint32_t a, uint32_t b)
{
	const struct touch_model *one = &touch->models[a], *other = &touch->models[b];
	if (one->here && other->unloaded)
		vec_push(&touch->reached, b);
	else if (one->unloaded && other->here)
		vec_push(&touch->reached, a);
	return one->here && other->here;
}

static void touch_add_joined(struct touch *touch)
{
	for (uint32_t i = 0; i < touch->joined.count; i++) {
		struct touch_pair pair = touch->joined.at[i];
		if (!touch_counts(touch, pair.a, pair.b))
			continue;
		uint32_t at = touch->pairs.count;
		bool known = false;
		for (uint32_t k = 0; k < touch->pairs.count && !known; k++)
			known = touch->pairs.at[k].a == pair.a && touch->pairs.at[k].b == pair.b;
		if (known)
			continue;
		vec_push(&touch->pairs, pair);
		for (; at > 0 && (touch->pairs.at[at - 1].a > pair.a ||
					 (touch->pairs.at[at - 1].a == pair.a && touch->pairs.at[at - 1].b > pair.b));
			at--)
			touch->pairs.at[at] = touch->pairs.at[at - 1];
		touch->pairs.at[at] = pair;
	}
}

bool touch_meet(const struct aabb_line *boxes, uint32_t a, uint32_t b)
{
	struct aabb padded = aabb_grow(boxes[MIN(a, b)].box, TOUCH_PAD);
	return aabb_overlap(&padded, &boxes[MAX(a, b)].box);
}

static void touch_find_pairs_of(struct touch *touch, uint32_t a, const struct aabb_line *boxes)
{
	const bvh_values *neighbours = &touch->models[a].neighbours;
	for (uint32_t k = indices_place(neighbours, a); k < neighbours->count; k++)
		if (touch_meet(boxes, a, neighbours->at[k]) && touch_counts(touch, a, neighbours->at[k]))
			vec_push(&touch->pairs, (struct touch_pair){a, neighbours->at[k]});
}

void touch_partners(const struct touch *touch, const struct aabb_line *boxes, uint32_t model, bvh_values *ret_found)
{
	const struct touch_model *self = &touch->models[model];
	struct aabb padded = aabb_grow(boxes[model].box, TOUCH_PAD);
	uint32_t kept = 0;
	ret_found->count = 0;
	if (self->solid && (self->here || self->unloaded))
		bvh_query(&touch->tree, &padded, ret_found);
	for (uint32_t i = 0; i < ret_found->count; i++)
		if (ret_found->at[i] != model && touch_meet(boxes, model, ret_found->at[i]))
			ret_found->at[kept++] = ret_found->at[i];
	ret_found->count = kept;
	for (uint32_t i = 0; i < touch->joined.count; i++) {
		struct touch_pair pair = touch->joined.at[i];
		uint32_t other = pair.a == model ? pair.b : pair.a;
		if ((pair.a == model || pair.b == model) &&
			(touch->models[other].here || touch->models[other].unloaded))
			vec_push(ret_found, other);
	}
}

bool touch_find(struct touch *touch, const struct aabb_line *boxes)
{
	uint32_t count = touch->pairs.count, old = 0;
	touch->reached.count = 0;
	if (!touch->dirty)
		return false;
	touch->dirty = false;
	/* find pairs of joined models anew: a pair from a joint is not copied as a pair that touches */
	touch_mark_joined(touch);
	touch->before.count = 0;
	if (count)
		memcpy(vec_append(&touch->before, count), touch->pairs.at, count * sizeof *touch->pairs.at);
	touch->pairs.count = 0;
	for (uint32_t i = 0; i < touch->crowded.count; i++) {
		uint32_t a = touch->crowded.at[i];
		while (old < count && touch->before.at[old].a < a)
			old++;
		if (touch->models[a].dirty)
			touch_find_pairs_of(touch, a, boxes);
		for (; !touch->models[a].dirty && old < count && touch->before.at[old].a == a; old++)
			vec_push(&touch->pairs, touch->before.at[old]);
		touch->models[a].dirty = false;
	}
	if (touch->joined.count)
		touch_add_joined(touch);
	return touch->pairs.count != count ||
	       (count && memcmp(touch->pairs.at, touch->before.at, count * sizeof *touch->pairs.at) != 0);
}

/* --- windows ------------------------------------------------------------------------------------------------------ */

static int touch_order(struct touch_pair one, struct touch_pair other)
{
	return one.a != other.a ? (one.a < other.a ? -1 : 1) : one.b != other.b ? (one.b < other.b ? -1 : 1) : 0;
}

static void touch_add_near_of(struct touch *touch, uint32_t a)
{
	const struct touch_model *self = &touch->models[a];
	const struct aabb box = aabb_grow(self->near, TOUCH_PAD);
	for (uint32_t i = indices_place(&self->neighbours, a); self->here && i < self->neighbours.count; i++) {
		const struct touch_model *other = &touch->models[self->neighbours.at[i]];
		if (other->here && aabb_overlap(&box, &other->near))
			vec_push(&touch->near, (struct touch_pair){a, self->neighbours.at[i]});
	}
}

/* The present pairs that are not among them: of joints, and where a reach was no reach. */
static void touch_merge_pairs(struct touch *touch)
{
	const touch_pairs found = touch->near, *pairs = &touch->pairs;
	touch->near = touch->before; /* of touch_find(), which is not needed between two calls */
	touch->before = found;
	touch->near.count = 0;
	for (uint32_t i = 0, j = 0; i < found.count || j < pairs->count;) {
		int order = i == found.count ? 1 : j == pairs->count ? -1 : touch_order(found.at[i], pairs->at[j]);
		vec_push(&touch->near, order <= 0 ? found.at[i] : pairs->at[j]);
		i += order <= 0;
		j += order >= 0;
	}
}

bool touch_find_near(struct touch *touch, const struct aabb_line *boxes,
	struct aabb (*reach)(const void *ctx, uint32_t model, const struct aabb *box), const void *ctx)
{
	const touch_pairs last = touch->near;
	touch->near = touch->near_before;
	touch->near_before = last;
	touch->near.count = 0;
	for (uint32_t i = 0; i < touch->crowded.count; i++) {
		const uint32_t model = touch->crowded.at[i];
		touch->models[model].near = reach(ctx, model, &boxes[model].box);
	}
	for (uint32_t i = 0; i < touch->crowded.count; i++)
		touch_add_near_of(touch, touch->crowded.at[i]);
	touch_merge_pairs(touch);
	return touch->near.count != last.count ||
	       (last.count && memcmp(touch->near.at, last.at, last.count * sizeof *last.at) != 0);
}

static bool touch_has(const touch_pairs *pairs, struct touch_pair pair)
{
	uint32_t lo = 0, hi = pairs->count;
	while (lo < hi) {
		uint32_t middle = lo + (hi - lo) / 2;
		if (touch_order(pairs->at[middle], pair) < 0)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo < pairs->count && !touch_order(pairs->at[lo], pair);
}

bool touch_is_pair(const struct touch *touch, struct touch_pair pair)
{
	return touch_has(&touch->pairs, pair);
}

/* The same as touch_move(), for a model that is in the tree and stays in it: the box is all that it swept. */
static void touch_follow(struct touch *touch, uint32_t model, const struct aabb *sweep)
{
	struct touch_model *self = &touch->models[model];
	const struct vec3 before = self->looked;
	touch_part_neighbours(touch, model);
	touch_settle(self, sweep);
	touch_look_ahead(self, before);
	bvh_move(&touch->tree, self->leaf, self->fat);
	touch_meet_neighbours(touch, model);
}

/* Whether the two may have met without being listed. */
static bool touch_missed(
	const struct touch *touch, uint32_t a, const struct aabb *sweep, uint32_t b, const struct aabb *box)
{
	const struct aabb padded = aabb_grow(*sweep, TOUCH_PAD), wide = aabb_grow(*box, TOUCH_PAD);
	/* as touch_meet() pads either */
	return (aabb_overlap(&padded, box) || aabb_overlap(sweep, &wide)) &&
	       !touch_has(&touch->near, (struct touch_pair){MIN(a, b), MAX(a, b)});
}

/* Boxes in the tree contain what their models swept: so neighbours are all that a model may have met. */
bool touch_prove(struct touch *touch, const struct touch_sweep *sweeps, const struct aabb_line *boxes, uint64_t mark,
	const uint32_t *moved, uint32_t count)
{
	bool proven = true;
	for (uint32_t i = 0; i < count; i++)
		if (touch->models[moved[i]].solid && touch_leaves(touch, moved[i], &sweeps[moved[i]].box))
			touch_follow(touch, moved[i], &sweeps[moved[i]].box);
	for (uint32_t i = 0; i < count && proven; i++) {
		const bvh_values *others = &touch->models[moved[i]].neighbours;
		for (uint32_t k = 0; k < others->count && proven; k++) {
			uint32_t other = others->at[k];
			if (sweeps[other].mark == mark)
				proven = !touch_missed(
					touch, moved[i], &sweeps[moved[i]].box, other, &sweeps[other].box);
			else if (boxes)
				proven =
					!touch_missed(touch, moved[i], &sweeps[moved[i]].box, other, &boxes[other].box);
		}
	}
	return proven;
}
