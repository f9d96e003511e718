/* A name is a regular expression of a client, so only those are compiled whose time and memory are bounded. */
#include "gateway/ros/simulation_entity.h"

#include "topic/convert.h"

#include <ctype.h>
#include <string.h>

static bool simulation_filter_has_reference(const char *pattern)
{
	const char *at = strchr(pattern, '\\');
	while (at && !isdigit((unsigned char)at[1]))
		at = at[1] ? strchr(at + 2, '\\') : NULL;
	return at;
}

/* The C library repeats what stands before a + in its tree. So "(((a+)+)+)" and "a+++" double it each time. */
static bool simulation_filter_has_long_plus(const char *pattern)
{
	const char *at = strchr(pattern, '+');
	while (at && (at == pattern || !strchr(")*?+", at[-1])))
		at = strchr(at + 1, '+');
	return at;
}

/* Repetitions by numbers, of groups by +, and references to groups can take any time and memory. */
static bool simulation_filter_read_name(struct job *job, const char *pattern, struct entity_filter *filter)
{
	if (strlen(pattern) > SIMULATION_FILTER_MAX || strchr(pattern, '{') ||
		simulation_filter_has_reference(pattern) || simulation_filter_has_long_plus(pattern)) {
		job_answer(job, JOB_FAILED,
			"filters.filter '%.60s': expected at most %d bytes without {, references to groups, and + "
			"after one of )*?+",
			pattern, (int)SIMULATION_FILTER_MAX);
		return false;
	}
	if (!*pattern)
		return true;
	filter->has_name = !regcomp(&filter->name, pattern, REG_EXTENDED | REG_NOSUB);
	if (!filter->has_name)
		job_answer(job, JOB_FAILED, "filters.filter '%.60s': expected a regular expression of POSIX, extended",
			pattern);
	return filter->has_name;
}

static bool simulation_filter_read_bounds(struct job *job, const json_t *bounds, struct entity_filter *filter)
{
	const json_t *points = json_object_get(bounds, "points");
	struct vec3 a, b;
	filter->bounds = (int)job_whole(bounds, "type");
	if (filter->bounds == JOB_BOUNDS_EMPTY)
		return true;
	if (filter->bounds == JOB_BOUNDS_CONVEX) {
		job_answer(job, JOB_UNSUPPORTED, "filters.bounds: a convex hull: expected a box (1) or a sphere (3)");
		return false;
	}
	if (filter->bounds > JOB_BOUNDS_SPHERE || json_array_size(points) != 2 ||
		!entity_read_vector(json_array_get(points, 0), &a) ||
		!entity_read_vector(json_array_get(points, 1), &b) ||
		(filter->bounds == JOB_BOUNDS_SPHERE && !(b.x >= 0))) {
		job_answer(job, JOB_FAILED,
			"filters.bounds: expected type 1 with two corners, or type 3 with a centre and a radius from 0 "
			"on");
		return false;
	}
	filter->box = (struct aabb){vec3_min(a, b), vec3_max(a, b)};
	filter->centre = a;
	filter->radius = b.x;
	return true;
}

/* False: it is answered. On true the caller frees it. */
bool entity_filter_read(struct job *job, struct entity_filter *filter)
{
	const json_t *filters = job_arg(job, "filters"), *item;
	size_t i;
	*filter = (struct entity_filter){0};
	if (!job_read_tags(job, "filters.tags", json_object_get(filters, "tags"), &filter->tags))
		return false;
	if (!simulation_filter_read_bounds(job, json_object_get(filters, "bounds"), filter) ||
		!simulation_filter_read_name(job, job_text(filters, "filter"), filter))
		return false;
	json_array_foreach(json_object_get(filters, "categories"), i, item)
	{
		filter->has_categories = true;
		filter->categories[job_whole(item, "category") & 255] = true;
	}
	return true;
}

void entity_filter_fini(struct entity_filter *filter)
{
	if (filter->has_name)
		regfree(&filter->name);
}

/* The box in the world around the one in the frame of the model; a model without collisions is a point. */
static struct aabb simulation_filter_box_in_world(const model_t *model)
{
	const struct pose pose = entity_pose(model);
	const struct vec3 lo = message_vec3(model->lower), hi = message_vec3(model->upper);
	struct aabb box = AABB_NONE;
	if (model->endless)
		return AABB_ALL;
	for (int i = 0; i < 8; i++) {
		struct vec3 corner =
			pose_point(pose, (struct vec3){i & 1 ? hi.x : lo.x, i & 2 ? hi.y : lo.y, i & 4 ? hi.z : lo.z});
		box = aabb_join(box, (struct aabb){corner, corner});
	}
	return box;
}

static bool simulation_filter_is_near(const struct entity_filter *filter, const model_t *model)
{
	if (filter->bounds == JOB_BOUNDS_EMPTY)
		return true;
	const struct aabb box = simulation_filter_box_in_world(model);
	if (filter->bounds == JOB_BOUNDS_BOX)
		return aabb_overlap(&box, &filter->box);
	const struct vec3 nearest = vec3_max(box.lo, vec3_min(box.hi, filter->centre));
	return vec3_length(vec3_sub(nearest, filter->centre)) <= filter->radius;
}

bool entity_filter_passes(const struct entity_filter *filter, const model_t *model)
{
	if (filter->has_name && regexec(&filter->name, model->state->name, 0, NULL, 0))
		return false;
	if (filter->has_categories && !filter->categories[entity_category(model)] &&
		!(filter->categories[ENTITY_OBJECT] && entity_category(model) >= ENTITY_DYNAMIC_OBJECT))
		return false;
	const Troupe__Msgs__EntityInfo *info = model->info;
	if (!job_has_tags(&filter->tags, info ? info->tag : NULL, info ? info->n_tag : 0))
		return false;
	return simulation_filter_is_near(filter, model);
}
