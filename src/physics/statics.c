/* ODE's geoms of static models. A world has many and a body is near few, so a geom is made when a body first comes
 * near. Two threads must not use one geom (ODE computes its box and its pose when they are asked for), so each worker
 * has its own. Nobody tells a worker that a static model was moved, or that another model has its place: a geom bears
 * the number of the placing for which it was made (physics_set_statics()), and is made anew when its model has another
 * number. */
#include "physics/internal.h"

static void statics_place(struct static_geom *entry, const struct scene_geom *geom)
{
	if (geom->kind == SCENE_PLANE) {
		entry->normal = quat_rotate(geom->in_body.q, geom->size);
		entry->offset = vec3_dot(entry->normal, geom->in_body.p);
		if (geom->body == SCENE_NONE)
			dGeomPlaneGetParams(entry->geom, entry->plane);
		return;
	}
	dQuaternion q;
	quat_store(geom->in_body.q, q);
	dGeomSetPosition(entry->geom, geom->in_body.p.x, geom->in_body.p.y, geom->in_body.p.z);
	dGeomSetQuaternion(entry->geom, q);
}

void static_geom_make(struct worker *worker, uint32_t index)
{
	const struct scene_geom *geom = &worker->scene->geoms[index];
	struct static_geom *entry = worker->statics[index];
	if (entry)
		dGeomDestroy(entry->geom);
	else
		entry = worker->statics[index] = mem_alloc(sizeof *entry);
	entry->geom = shape_make(geom);
	struct scene_geom on = *geom; /* it may be off now, and on again later */
	on.off = false;
	entry->box = scene_exact_box(&on);
	entry->placed = worker->owner->present[geom->model];
	dGeomSetData(entry->geom, (void *)(uintptr_t)index);
	statics_place(entry, geom);
}

void static_geoms_forget(struct worker *worker)
{
	for (uint32_t g = 0; g < worker->room.geoms; g++) {
		if (!worker->statics[g])
			continue;
		dGeomDestroy(worker->statics[g]->geom);
		free(worker->statics[g]);
		worker->statics[g] = NULL;
	}
}
