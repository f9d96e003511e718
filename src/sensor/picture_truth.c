/* Pictures that no camera takes, of what its pixels show: the normals of surfaces, and how these move in the picture.
 */
#include "sensor/lens.h"
#include "sensor/picture_internal.h"

#include <math.h>

struct picture_truth { /* flow of a chunk */
	const struct sdf_camera *camera;
	const struct picture_past *past;
	struct lens_pinhole hole;
	double ago_s;     /* before state k; past->ago_s before the pixels */
	struct mat3 then; /* of the camera */
	struct vec3 eye;  /* then */
};

/* A vector of the world in the camera's frame. */
static struct vec3 picture_truth_in(const struct mat3 *turn, struct vec3 v)
{
	return (struct vec3){turn->m[0][0] * v.x + turn->m[1][0] * v.y + turn->m[2][0] * v.z,
		turn->m[0][1] * v.x + turn->m[1][1] * v.y + turn->m[2][1] * v.z,
		turn->m[0][2] * v.x + turn->m[1][2] * v.y + turn->m[2][2] * v.z};
}

static void picture_truth_normal(const struct picture_chunk *c, uint32_t ray, float *to)
{
	struct ray moved;
	const struct ray *cast = picture_ray(c, ray, &moved);
	struct vec3 n = rays_normal(c->rays, cast, &c->hits[ray]);
	if (c->moving.how)
		n = (struct vec3){vec3_dot(n, picture_ahead(c, ray, (struct vec3){1, 0, 0})),
			vec3_dot(n, picture_ahead(c, ray, (struct vec3){0, 1, 0})),
			vec3_dot(n, picture_ahead(c, ray, (struct vec3){0, 0, 1}))};
	else
		n = picture_truth_in(&c->turn, n);
	to[0] = (float)(0 - n.y), to[1] = (float)(0 - n.z), to[2] = (float)n.x;
}

/* Where a point of a body was. */
static struct vec3 picture_truth_point_then(const struct picture_truth *truth, uint32_t body, struct vec3 point)
{
	const struct body_state *b = state_body(truth->past->state, body, false);
	struct vec3 arm = vec3_sub(point, b->p);
	double rate = vec3_length(b->w), sin, cos;
	if (rate > 0) {
		struct vec3 axis = vec3_scale(b->w, 1 / rate);
		math_sincos(-rate * truth->ago_s, &sin, &cos);
		arm = vec3_add(vec3_add(vec3_scale(arm, cos), vec3_scale(vec3_cross(axis, arm), sin)),
			vec3_scale(axis, vec3_dot(axis, arm) * (1 - cos)));
	}
	return vec3_add(vec3_sub(b->p, vec3_scale(b->v, truth->ago_s)), arm);
}

/* now, then: from the camera, in its frame. */
static void picture_truth_store(const struct picture_truth *truth, struct vec3 now, struct vec3 then, float *to)
{
	double column, row, column_then, row_then;
	bool both = lens_project(truth->camera, truth->past->wide, &truth->hole, now, &column, &row) &&
		    lens_project(truth->camera, truth->past->wide, &truth->hole, then, &column_then, &row_then);
	to[0] = both ? (float)(column - column_then) : NAN;
	to[1] = both ? (float)(row - row_then) : NAN;
}

/* What the ray has met stands in the picture: it is fixed to the camera, or there is no picture before. */
static bool picture_truth_stands(const struct picture_truth *truth, const struct picture_chunk *c, uint32_t ray)
{
	const struct ray_hit *hit = &c->hits[ray];
	if (!(truth->past->ago_s > 0))
		return true;
	if (hit->model == SCENE_NONE)
		return false;
	uint32_t body = rays_body(c->rays, hit);
	return (body != SCENE_NONE && body == truth->past->body) ||
	       (c->moving.how && c->moving.turns && hit->model == c->moving.how->model);
}

static void picture_truth_flow(
	const struct picture_truth *truth, const struct picture_chunk *c, uint32_t ray, uint32_t pixel, float *to)
{
	struct vec3 now = c->directions[c->where[pixel]], then;
	const struct ray_hit *hit = &c->hits[ray];
	to[0] = to[1] = 0;
	if (picture_truth_stands(truth, c, ray))
		return;
	if (hit->model == SCENE_NONE) {
		then = picture_turned(&c->turn, now);
	} else {
		struct ray moved;
		const struct ray *cast = picture_ray(c, ray, &moved);
		struct vec3 point = ray_point(cast, hit), was = point;
		uint32_t body = rays_body(c->rays, hit);
		if (body != SCENE_NONE)
			was = picture_truth_point_then(truth, body, point);
		/* the same operations as for what it was, so that nothing moves at rest */
		now = c->moving.how ? vec3_scale(now, hit->distance)
				    : picture_truth_in(&c->turn, vec3_sub(point, c->eye));
		then = vec3_sub(was, truth->eye);
	}
	picture_truth_store(truth, now, picture_truth_in(&truth->then, then), to);
}

static struct picture_truth picture_truth_of(
	const struct picture_chunk *c, const struct sdf_camera *camera, const struct picture_past *past)
{
	struct picture_truth truth = {.camera = camera, .past = past, .hole = lens_pinhole_of(camera)};
	if (!past)
		return truth;
	truth.ago_s = past->ago_s + (c->moving.how ? c->moving.ago_s[0] : 0);
	struct pose eye = scan_path_at(past->path, -truth.ago_s);
	truth.then = quat_matrix(quat_unit(eye.q));
	truth.eye = eye.p;
	return truth;
}

void picture_truth(struct picture_chunk *c, const struct sdf_camera *camera, const struct picture *picture,
	uint32_t first, uint32_t count, const uint32_t *pixels, uint32_t rays)
{
	const struct picture_truth truth = picture_truth_of(c, camera, picture->flow ? picture->past : NULL);
	for (size_t i = first; i < (size_t)first + count; i++) {
		if (picture->normals)
			picture->normals[3 * i] = picture->normals[3 * i + 1] = picture->normals[3 * i + 2] = 0;
		if (picture->flow)
			picture->flow[2 * i] = picture->flow[2 * i + 1] = NAN;
	}
	for (uint32_t i = 0; i < rays; i++) {
		size_t pixel = (size_t)first + pixels[i];
		if (picture->normals && c->hits[i].model != SCENE_NONE)
			picture_truth_normal(c, i, &picture->normals[3 * pixel]);
		if (picture->flow)
			picture_truth_flow(&truth, c, i, pixels[i], &picture->flow[2 * pixel]);
	}
}
