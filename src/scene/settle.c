/* Geoms whose meshes were left unread (unread.h): when they are wanted, and how they become as all others. */
#include "scene/scene.h"

#include <stdlib.h>

const struct trimesh *scene_trimesh(const struct scene_geom *geom)
{
	return geom->unread ? unread_get(geom->unread) : geom->trimesh;
}

void scene_want_level(struct scene *scene, uint32_t level, bool loaded)
{
	if (!scene->unread)
		return;
	const struct scene_level *l = &scene->levels[level];
	for (uint32_t i = 0; i < l->model_count; i++) {
		const struct scene_model *m = &scene->models[l->models[i]];
		for (uint32_t g = m->geom_first; g < m->geom_first + m->geom_count; g++) {
			struct unread_mesh *mesh = scene->geoms[g].unread;
			if (mesh && loaded)
				unread_want(mesh);
			else if (mesh)
				unread_leave(mesh);
		}
	}
}

bool scene_settle(struct scene *scene, uint32_t model)
{
	const struct scene_model *m = &scene->models[model];
	bool changed = false;
	for (uint32_t g = m->geom_first; g < m->geom_first + m->geom_count; g++) {
		struct scene_geom *geom = &scene->geoms[g];
		const struct trimesh *triangles = geom->unread ? unread_get(geom->unread) : NULL;
		if (!triangles)
			continue;
		unread_keep(geom->unread);
		geom->trimesh = triangles;
		geom->unread = NULL;
		if (!geom->off)
			bvh_remove(&scene->static_tree, geom->leaf);
		if (!geom->off)
			geom->leaf = bvh_insert(&scene->static_tree, scene_static_box(geom), g);
		changed = true;
	}
	return changed;
}

/* Where the model's frame is in the file. */
static struct vec3 settle_origin(const struct scene *scene, const struct scene_model *m)
{
	if (!m->body_count)
		return m->in_body.p;
	return pose_mul(scene->bodies[m->body_first + m->frame_body].reference, m->in_body).p;
}

static void settle_read_level(struct scene *scene, uint32_t level)
{
	const struct scene_level *l = &scene->levels[level];
	for (uint32_t i = 0; i < l->model_count; i++) {
		const struct scene_model *m = &scene->models[l->models[i]];
		for (uint32_t g = m->geom_first; g < m->geom_first + m->geom_count; g++)
			(void)scene_trimesh(&scene->geoms[g]);
	}
}

troupe_status scene_read_near(struct scene *scene, struct troupe_error *error)
{
	struct bvh tree = {0};
	bvh_values found = {0};
	if (!scene->unread)
		return TROUPE_OK;
	struct bvh_item *items = mem_alloc(scene->level_count * sizeof *items);
	for (uint32_t l = 0; l < scene->level_count; l++)
		items[l] = (struct bvh_item){scene->levels[l].outer, l, NULL};
	bvh_build(&tree, items, scene->level_count);
	free(items);
	for (uint32_t i = 0; i < scene->model_count; i++) {
		const struct scene_model *m = &scene->models[i];
		const struct aabb volume = aabb_around(settle_origin(scene, m), m->volume);
		found.count = 0;
		if (m->performer)
			bvh_query(&tree, &volume, &found);
		for (uint32_t k = 0; k < found.count; k++)
			settle_read_level(scene, found.at[k]);
	}
	vec_free(&found);
	bvh_fini(&tree);
	return unread_error(scene->unread, error);
}
