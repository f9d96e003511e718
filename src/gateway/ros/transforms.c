/* Names are compared often and a robot has some hundred frames, so children are in a map. */
#include "gateway/ros/transforms.h"

#include "gateway/ros/parts.h"

#include <stdlib.h>
#include <string.h>

bool transforms_add(struct transforms *transforms, const char *parent, const char *child, struct pose at,
	const Gz__Msgs__Time *stamp)
{
	if (!strcmp(parent, child) || transforms_has(transforms, child))
		return false;
	vec_push(&transforms->all, (struct transform){mem_strdup(parent), mem_strdup(child), at, stamp});
	(void)map_add(
		&transforms->children, transforms->all.at[transforms->all.count - 1].child, transforms->all.count - 1);
	return true;
}

bool transforms_has(const struct transforms *transforms, const char *child)
{
	uint32_t at;
	return map_find(&transforms->children, child, &at);
}

/* From the frame upwards. A ring of transforms, which a file can have, ends where it began. */
void transforms_make_root(struct transforms *transforms, const char *frame)
{
	VEC(uint32_t) way = {0};
	uint32_t at;
	while (way.count <= transforms->all.count && map_find(&transforms->children, frame, &at)) {
		vec_push(&way, at);
		frame = transforms->all.at[at].parent;
	}
	bool is_ring = way.count > transforms->all.count;
	for (uint32_t i = 0; i < way.count && !is_ring; i++)
		map_remove(&transforms->children, transforms->all.at[way.at[i]].child);
	for (uint32_t i = 0; i < way.count && !is_ring; i++) {
		struct transform *turned = &transforms->all.at[way.at[i]];
		char *parent = turned->parent;
		turned->parent = turned->child;
		turned->child = parent;
		turned->at = pose_inverse(turned->at);
		(void)map_add(&transforms->children, turned->child, way.at[i]);
	}
	vec_free(&way);
}

void transforms_write(const struct transforms *transforms, struct cdr_out *out)
{
	cdr_count(out, transforms->all.count);
	for (uint32_t i = 0; i < transforms->all.count; i++) {
		const struct transform *one = &transforms->all.at[i];
		part_time(out, one->stamp);
		cdr_string(out, one->parent);
		cdr_string(out, one->child);
		part_pose_of(out, one->at);
	}
}

void transforms_fini(struct transforms *transforms)
{
	for (uint32_t i = 0; i < transforms->all.count; i++) {
		free(transforms->all.at[i].parent);
		free(transforms->all.at[i].child);
	}
	vec_free(&transforms->all);
	map_fini(&transforms->children);
	*transforms = (struct transforms){.all = {0}};
}
