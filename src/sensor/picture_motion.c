/* Pictures while something moves: where the camera was for each row, and what its rays met there. */
#include "sensor/picture_internal.h"

#include <math.h>

#define PICTURE_MOTION_AHEAD_M 2 /* the camera's way shifts what lies so far away */

/* By how many pixels the camera's motion shifts the picture in the exposure that ends it. */
static double picture_motion_shift(const struct sdf_camera *camera, const struct picture_motion *motion)
{
	struct pose from = scan_path_at(motion->path, -motion->exposure_s), to = scan_path_at(motion->path, 0);
	struct quat turn = quat_mul(quat_conj(quat_unit(from.q)), quat_unit(to.q));
	double angle = 2 * vec3_length((struct vec3){turn.x, turn.y, turn.z}); /* of small angles */
	double way = vec3_length(vec3_sub(to.p, from.p));
	return camera->width / camera->fov_rad * (angle + way / PICTURE_MOTION_AHEAD_M);
}

static uint32_t picture_motion_times(const struct sdf_camera *camera, const struct picture_motion *motion)
{
	if (!(motion->exposure_s > 0))
		return 1;
	if (motion->samples)
		return motion->samples;
	double shift = picture_motion_shift(camera, motion);
	return (uint32_t)ceil(fmin(fmax(shift, PICTURE_TIMES_MIN), PICTURE_TIMES_MAX));
}

uint32_t picture_move_begin(
	struct picture_chunk *c, const struct sdf_camera *camera, struct pose pose, const struct picture_motion *motion)
{
	struct picture_moving *m = &c->moving;
	m->how = NULL;
	m->turns = motion && motion->path->count > 1;
	if (!m->turns && !(motion && rays_move(c->rays)))
		return 1;
	m->how = motion;
	m->turn = c->turn;
	m->eye = c->eye;
	if (m->turns)
		m->cone_count = rays_cones(c->rays, motion->model, pose.p, m->cones, PICTURE_CONES_MAX);
	return picture_motion_times(camera, motion);
}

void picture_move_to_row(struct picture_chunk *c, uint32_t pixel)
{
	struct picture_moving *m = &c->moving;
	uint32_t rows = c->total / c->width, row = pixel / c->width;
	double ago_s = m->how->readout_s * (rows - 1 - row) / rows + m->lag_s;
	for (uint32_t i = 0; i < PICTURE_CHUNK; i++)
		m->ago_s[i] = ago_s;
	if (!m->turns)
		return;
	struct pose pose = scan_path_at(m->how->path, -ago_s);
	c->eye = pose.p;
	c->turn = quat_matrix(quat_unit(pose.q));
}

void picture_aim_own(struct picture_chunk *c, uint32_t number, struct vec3 d)
{
	struct picture_moving *m = &c->moving;
	m->own[number] = (struct ray){m->eye, picture_turned(&m->turn, d), c->cast[number].min, c->cast[number].max};
}

/* Whether some of the rays may meet the own model. */
static bool picture_motion_is_near(const struct picture_moving *m, const struct ray *rays, uint32_t count)
{
	bool near = m->cone_count == SCENE_NONE;
	for (uint32_t k = 0; k < m->cone_count && !near; k++)
		for (uint32_t i = 0; i < count; i++)
			near |= vec3_dot(m->cones[k].axis, rays[i].direction) >= m->cones[k].cosine;
	return near;
}

void picture_cast_moving(struct picture_chunk *c, uint32_t count)
{
	enum { EIGHT = 8 };
	struct picture_moving *m = &c->moving;
	const struct rays_swept swept = {m->ago_s, m->turns ? m->how->model : SCENE_NONE, m->own, m->near};
	for (uint32_t i = 0; m->turns && i < count; i += EIGHT)
		m->near[i / EIGHT] = picture_motion_is_near(m, m->own + i, MIN(count - i, (uint32_t)EIGHT));
	rays_cast_swept(c->rays, c->cast, &swept, count, c->mask, c->hits);
}

static bool picture_motion_is_own(const struct picture_moving *m, const struct ray_hit *hit)
{
	return m->turns && hit->model == m->how->model;
}

struct ray picture_moved_ray(const struct picture_chunk *c, uint32_t ray)
{
	const struct picture_moving *m = &c->moving;
	if (picture_motion_is_own(m, &c->hits[ray]))
		return m->own[ray];
	return rays_carried(c->rays, &c->cast[ray], &c->hits[ray], m->ago_s[0]);
}

struct vec3 picture_moved_ahead(const struct picture_chunk *c, uint32_t ray, struct vec3 direction)
{
	const struct picture_moving *m = &c->moving;
	if (picture_motion_is_own(m, &c->hits[ray]))
		return picture_turned(&m->turn, direction);
	struct ray ahead = {c->eye, picture_turned(&c->turn, direction), 0, 0};
	return rays_carried(c->rays, &ahead, &c->hits[ray], m->ago_s[0]).direction;
}
