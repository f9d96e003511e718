/* A light of a link is at the place that the last command gave it, or at that of the file. */
#include "sensor/lights.h"

#include "scene/light.h"

static void lights_add(struct lights *to, struct pose pose, const struct sdf_shine *shine)
{
	if (!shine->on || to->count == LIGHTS_MAX)
		return;
	to->at[to->count++] = (struct lights_one){pose.p, vec3_unit(quat_rotate(pose.q, shine->direction)), *shine};
}

static void lights_add_links(const struct state *state, uint32_t model, struct lights *to)
{
	const struct scene *scene = state->scene;
	const struct scene_model *m = &scene->models[model];
	if (m->sdf == SDF_NONE)
		return;
	uint32_t first = m->from->models.at[m->sdf].link_first;
	for (uint32_t l = 0; l < m->link_count; l++) {
		const struct sdf_link *link = &m->from->links.at[first + l];
		for (uint32_t i = link->light_first; i < link->light_first + link->light_count; i++) {
			uint32_t place = scene_link_light(scene, model, i);
			const struct scene_light *now = place == SCENE_NONE ? NULL : &scene->lights[place];
			struct pose in_link = now ? now->pose : scene_light_in_link(m->from, i);
			lights_add(to, pose_mul(state_link_pose(state, m->link_first + l, false), in_link),
				now ? &now->shine : &m->from->lights.at[i].shine);
		}
	}
}

bool lights_are_on(const struct scene *scene, uint32_t model)
{
	const struct scene_model *m = &scene->models[model];
	bool some = false;
	if (m->sdf == SDF_NONE || !m->from->lights.count)
		return false;
	uint32_t first = m->from->models.at[m->sdf].link_first;
	for (uint32_t l = 0; l < m->link_count; l++)
		some |= m->from->links.at[first + l].light_count > 0;
	return some;
}

void lights_find(const struct state *state, struct lights *lights)
{
	const struct scene *scene = state->scene;
	lights->count = 0;
	for (uint32_t i = 0; i < scene->light_count; i++)
		if (!scene->lights[i].absent && scene->lights[i].model == SCENE_NONE)
			lights_add(lights, scene->lights[i].pose, &scene->lights[i].shine);
	for (uint32_t m = 0; m < scene->model_count; m++)
		if (scene->models[m].id && !scene->models[m].absent)
			lights_add_links(state, m, lights);
}

double lights_reach(const struct lights_one *light, struct vec3 point, struct vec3 *ret_to, double *ret_far)
{
	const struct sdf_shine *shine = &light->shine;
	*ret_to = vec3_scale(light->direction, -1);
	*ret_far = INFINITY;
	if (shine->kind == SDF_DIRECTIONAL_LIGHT)
		return shine->intensity;
	struct vec3 way = vec3_sub(light->p, point);
	double far = vec3_length(way), spot = 1;
	if (!(far > 0 && far <= shine->range_m))
		return 0;
	*ret_to = vec3_scale(way, 1 / far);
	*ret_far = far;
	if (shine->kind == SDF_SPOT_LIGHT) {
		double angle = -vec3_dot(*ret_to, light->direction), inner = math_cos(shine->inner_rad / 2),
		       outer = math_cos(shine->outer_rad / 2);
		if (!(angle > outer))
			return 0;
		double part = angle < inner ? (angle - outer) / (inner - outer) : 1;
		spot = part < 1 ? math_exp(shine->falloff * math_log(part)) : 1;
	}
	double weaker = shine->constant + far * (shine->linear + far * shine->quadratic);
	return weaker > 0 ? shine->intensity * spot / weaker : 0;
}
