/* Few geoms have a control, and the numbers of a control are few: each is packed whole. */
#include "run/surfaced.h"

#include <math.h>

enum { RUNS = 1, SURFACED_TURNS = 2, SLIPS = 4 };

#define CENTRE_MAX 1e10 /* m: more than a system may ask for */

void surfaced_pack(const struct scene *scene, const struct control *control, const indices *models, struct text *out)
{
	for (uint32_t i = 0; i < models->count; i++) {
		const struct scene_model *m = &scene->models[models->at[i]];
		for (uint32_t g = m->geom_first; g < m->geom_first + m->geom_count; g++) {
			const struct surface_control *surface = &control->surfaces[g];
			uint32_t how = (surface->runs ? RUNS : 0u) | (surface->turns ? SURFACED_TURNS : 0u) |
				       (surface->slips ? SLIPS : 0u);
			if (!how)
				continue;
			pack_var(out, (uint64_t)g + 1);
			pack_var(out, how);
			pack_double(out, surface->speed);
			pack_vec3(out, surface->axis);
			pack_vec3(out, surface->centre);
			pack_double(out, surface->slip1);
			pack_double(out, surface->slip2);
		}
	}
	pack_var(out, 0);
}

bool surfaced_unpack(struct unpack *in, struct surfaced_geom *ret_geom)
{
	uint32_t code = unpack_var_count(in, UINT32_MAX);
	if (!code || in->bad)
		return false;
	uint32_t how = unpack_var_count(in, RUNS | SURFACED_TURNS | SLIPS);
	struct surface_control control = {.runs = how & RUNS, .turns = how & SURFACED_TURNS, .slips = how & SLIPS};
	control.speed = unpack_double(in);
	control.axis = unpack_vec3(in);
	control.centre = unpack_vec3(in);
	control.slip1 = unpack_double(in);
	control.slip2 = unpack_double(in);
	*ret_geom = (struct surfaced_geom){code - 1, control};
	return !in->bad;
}

static bool surfaced_is_sane(const struct surface_control *surface)
{
	double length = vec3_length(surface->axis);
	return length > 0.9 && length < 1.1 && isfinite(surface->speed) && vec3_within(surface->centre, CENTRE_MAX) &&
	       surface->slip1 >= 0 && isfinite(surface->slip1) && surface->slip2 >= 0 && isfinite(surface->slip2);
}

bool surfaced_set(
	const struct scene *scene, const struct control *control, const struct surfaced_geom *geom, indices *models)
{
	if (!scene_has_geom(scene, geom->geom) || scene->geoms[geom->geom].body != SCENE_NONE ||
		!surfaced_is_sane(&geom->control))
		return false;
	indices_add(models, scene->geoms[geom->geom].model);
	*control_surface(control, scene, geom->geom) = geom->control;
	return true;
}

void surfaced_clear(const struct scene *scene, const struct control *control, indices *models)
{
	for (uint32_t i = 0; i < models->count; i++)
		if (models->at[i] < scene->model_count)
			control_clear(control, scene, models->at[i]);
	models->count = 0;
}
