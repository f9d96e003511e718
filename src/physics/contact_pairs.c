/* Which geoms may touch.
 *
 * Pairs are sorted by geom index before any contact is made: the order of contact joints decides the result of the
 * solver, and the order in which pairs are found depends on which geom is searched for. */
#include "physics/internal.h"

#include "base/hash.h"

#include <string.h>

dGeomID contact_geom_id(struct worker *worker, uint32_t geom)
{
	const struct scene_geom *g = &worker->scene->geoms[geom];
	if (g->body == SCENE_NONE)
		return worker->statics[geom]->geom;
	struct instance *instance = worker->instances[g->model];
	uint32_t own = geom - worker->scene->models[g->model].geom_first;
	if (!instance->placed[own])
		instance_place_geom(worker, instance, own);
	return instance->geoms[own];
}

static void contact_pairs_add(struct worker *worker, uint32_t a, uint32_t b)
{
	uint32_t low = MIN(a, b), high = MAX(a, b);
	uint64_t key = (uint64_t)low << 32 | high;
	if (worker->owner->options.rule ==
		PHYSICS_BREAK_PAIRS) /* the order of addresses, as a hash space would report them */
		key = hash_mix((uintptr_t)contact_geom_id(worker, low), (uintptr_t)contact_geom_id(worker, high));
	vec_push(&worker->geom_pairs, (struct geom_pair){.key = key, .a = low, .b = high});
}

static bool contact_pairs_below_plane(const struct static_geom *plane, const struct aabb *box)
{
	double depth = plane->offset;
	depth -= plane->normal.x * (plane->normal.x > 0 ? box->lo.x : box->hi.x);
	depth -= plane->normal.y * (plane->normal.y > 0 ? box->lo.y : box->hi.y);
	depth -= plane->normal.z * (plane->normal.z > 0 ? box->lo.z : box->hi.z);
	return depth >= 0;
}

static void contact_pairs_sort_values(bvh_values *values)
{
	for (uint32_t i = 1; i < values->count; i++) {
		uint32_t v = values->at[i], k = i;
		for (; k > 0 && values->at[k - 1] > v; k--)
			values->at[k] = values->at[k - 1];
		values->at[k] = v;
	}
}

static void contact_pairs_make_static(struct worker *worker, uint32_t geom)
{
	const struct static_geom *made = worker->statics[geom];
	if (!made || made->placed != worker->owner->present[worker->scene->geoms[geom].model])
		static_geom_make(worker, geom);
}

static void contact_pairs_list_statics(struct worker *worker, struct instance *instance)
{
	instance->near = aabb_grow(instance->box, PHYSICS_STATIC_MARGIN);
	instance->statics.count = 0;
	bvh_query(&worker->scene->static_tree, &instance->near, &instance->statics);
	uint32_t kept = 0;
	for (uint32_t i = 0; i < instance->statics.count; i++) {
		uint32_t g = instance->statics.at[i];
		const struct scene_geom *fixed = &worker->scene->geoms[g];
		if (!worker->owner->present[fixed->model])
			continue;
		contact_pairs_make_static(worker, g);
		if (fixed->kind == SCENE_PLANE && !contact_pairs_below_plane(worker->statics[g], &instance->near))
			continue;
		if (fixed->unread && !aabb_overlap(&worker->statics[g]->box, &instance->near))
			continue;
		instance->statics.at[kept++] = g;
	}
	instance->statics.count = kept;
	contact_pairs_sort_values(&instance->statics);
}

static void contact_pairs_find_statics(struct worker *worker, struct instance *instance)
{
	if (!instance->statics_known || !aabb_within(&instance->box, &instance->near))
		contact_pairs_list_statics(worker, instance);
	else if (instance->statics_of == worker)
		return;
	for (uint32_t i = 0; i < instance->statics.count; i++)
		contact_pairs_make_static(worker, instance->statics.at[i]);
	instance->statics_known = true;
	instance->statics_of = worker;
}

static struct aabb contact_pairs_box(const struct worker *worker, const struct aabb *box)
{
	return worker->near > 0 ? aabb_grow(*box, worker->near) : *box;
}

static void contact_pairs_add_with_statics(struct worker *worker, struct instance *instance)
{
	const struct scene *scene = worker->scene;
	const struct scene_model *m = &scene->models[instance->model];
	contact_pairs_find_statics(worker, instance);
	for (uint32_t i = 0; i < instance->statics.count; i++) {
		uint32_t s = instance->statics.at[i];
		const struct scene_geom *fixed = &scene->geoms[s];
		const struct aabb fixed_box = fixed->off ? AABB_NONE : worker->statics[s]->box;
		for (uint32_t g = 0; g < m->geom_count; g++) {
			const struct aabb box = contact_pairs_box(worker, &instance->boxes[g]);
			if (!aabb_overlap(&box, &fixed_box) ||
				(instance->kinematic && scene->bodies[scene->geoms[m->geom_first + g].body].kinematic))
				continue;
			if (fixed->kind != SCENE_PLANE || contact_pairs_below_plane(worker->statics[s], &box))
				contact_pairs_add(worker, m->geom_first + g, s);
		}
	}
}

static bool contact_pairs_bodies_may_touch(const struct worker *worker, uint32_t a, uint32_t b)
{
	if (a == b || (worker->scene->bodies[a].kinematic && worker->scene->bodies[b].kinematic))
		return false;
	return !group_joins(worker->owner, worker->making, a, b);
}

/* Whether two links of one model may collide. */
static bool contact_pairs_meet(const struct scene_link *a, const struct scene_link *b)
{
	return a->self_collide || b->self_collide || a->is_static || b->is_static;
}

static void contact_pairs_add_within(struct worker *worker, struct instance *instance)
{
	const struct scene *scene = worker->scene;
	const struct scene_model *m = &scene->models[instance->model];
	for (uint32_t g = 0; g < m->geom_count; g++)
		for (uint32_t h = g + 1; h < m->geom_count; h++) {
			const struct aabb box = contact_pairs_box(worker, &instance->boxes[g]);
			const struct scene_geom *a = &scene->geoms[m->geom_first + g],
						*b = &scene->geoms[m->geom_first + h];
			if (contact_pairs_meet(&scene->links[a->link], &scene->links[b->link]) &&
				aabb_overlap(&box, &instance->boxes[h]) &&
				contact_pairs_bodies_may_touch(worker, a->body, b->body))
				contact_pairs_add(worker, m->geom_first + g, m->geom_first + h);
		}
}

static void contact_pairs_add_models(struct worker *worker, uint32_t model_a, uint32_t model_b)
{
	const struct scene *scene = worker->scene;
	const struct instance *a = worker->instances[model_a], *b = worker->instances[model_b];
	const struct scene_model *ma = &scene->models[model_a], *mb = &scene->models[model_b];
	for (uint32_t g = 0; g < ma->geom_count; g++) {
		const struct aabb box = contact_pairs_box(worker, &a->boxes[g]);
		if (!aabb_overlap(&box, &b->box))
			continue;
		for (uint32_t h = 0; h < mb->geom_count; h++)
			if (aabb_overlap(&box, &b->boxes[h]) &&
				contact_pairs_bodies_may_touch(worker, scene->geoms[ma->geom_first + g].body,
					scene->geoms[mb->geom_first + h].body))
				contact_pairs_add(worker, ma->geom_first + g, mb->geom_first + h);
	}
}

/* Bottom-up merge sort after short insertions: qsort() may allocate, and the step must not. */
static void contact_pairs_sort(struct worker *worker)
{
	enum { RUN = 16 };
	uint32_t count = worker->geom_pairs.count;
	struct geom_pair *from = worker->geom_pairs.at;
	for (uint32_t lo = 0; lo < count; lo += RUN) {
		uint32_t hi = MIN(lo + RUN, count);
		for (uint32_t i = lo + 1; i < hi; i++) {
			struct geom_pair pair = from[i];
			uint32_t k = i;
			for (; k > lo && from[k - 1].key > pair.key; k--)
				from[k] = from[k - 1];
			from[k] = pair;
		}
	}
	if (count <= RUN)
		return;
	worker->sort_space.count = 0;
	struct geom_pair *to = vec_append(&worker->sort_space, count);
	for (uint32_t width = RUN; width < count; width *= 2) {
		for (uint32_t lo = 0; lo < count; lo += 2 * width) {
			uint32_t mid = MIN(lo + width, count), hi = MIN(lo + 2 * width, count), i = lo, j = mid;
			for (uint32_t k = lo; k < hi; k++)
				to[k] = j >= hi || (i < mid && from[i].key <= from[j].key) ? from[i++] : from[j++];
		}
		struct geom_pair *swap = from;
		from = to;
		to = swap;
	}
	if (from != worker->geom_pairs.at)
		memcpy(worker->geom_pairs.at, from, count * sizeof *from);
}

void contact_pairs_find(struct worker *worker, const struct group *group)
{
	worker->geom_pairs.count = 0;
	for (uint32_t i = 0; i < group->members.count; i++) {
		struct instance *instance = worker->instances[group->members.at[i]];
		contact_pairs_add_with_statics(worker, instance);
		if (instance->self_collides)
			contact_pairs_add_within(worker, instance);
	}
	for (uint32_t i = 0; i < group->pair_count; i++)
		contact_pairs_add_models(worker, group->pairs[i].a, group->pairs[i].b);
	contact_pairs_sort(worker);
}
