/* A box counts as the ball around it: of a cone and a ball it is known exactly whether they meet, but for the apex. A
 * shadow is thrown along a straight line: a model throws one upon the volume if the ball around it meets the way from a
 * part of the volume to the light. */
#include "sensor/sight.h"

#include "base/math.h"
#include "sdf/sensor_kind.h"
#include "sensor/sensor.h"

#define SIGHT_SLACK 1e-9 /* of cosines, for rounding */
#define SIGHT_ROOM 1e-3  /* m, for rounding, and for shadow rays that begin above the surface */

/* --- cones -------------------------------------------------------------------------------------------------------- */

static bool sight_is_ray(const struct vec3 *d)
{
	return d->x != 0 || d->y != 0 || d->z != 0;
}

/* The angle grows by one whose cosine is given. */
static void sight_widen(struct sight_cone *cone, double cosine)
{
	double by = fmin(fmax(cosine, -1), 1), sine = sqrt(1 - by * by);
	double wider = cone->cosine * by - cone->sine * sine;
	cone->sine = cone->sine * by + cone->cosine * sine;
	cone->cosine = wider;
	if (cone->sine < 0)
		cone->cosine = -1, cone->sine = 0;
}

/* The cosine of the largest angle between neighbours. */
static double sight_gap(const struct vec3 *directions, size_t count, uint32_t width)
{
	double least = 1;
	for (size_t i = 0; i < count; i++) {
		if (!sight_is_ray(&directions[i]))
			continue;
		if ((i + 1) % width && i + 1 < count && sight_is_ray(&directions[i + 1]))
			least = fmin(least, vec3_dot(directions[i], directions[i + 1]));
		if (i + width < count && sight_is_ray(&directions[i + width]))
			least = fmin(least, vec3_dot(directions[i], directions[i + width]));
	}
	return least;
}

struct sight_cone sight_cone_of(
	const struct vec3 *directions, size_t count, uint32_t width, bool beside, double spread_rad)
{
	struct sight_cone cone = {.axis = {1, 0, 0}, .cosine = 1, .sine = 0, .slant = 1};
	struct vec3 sum = {0, 0, 0};
	for (size_t i = 0; i < count; i++)
		sum = vec3_add(sum, directions[i]);
	if (vec3_length(sum) > 1e-3 * (double)count)
		cone.axis = vec3_unit(sum);
	for (size_t i = 0; i < count; i++) {
		if (!sight_is_ray(&directions[i]))
			continue;
		cone.cosine = fmin(cone.cosine, vec3_dot(directions[i], cone.axis));
		if (directions[i].x > 0.01) /* as picture_aim_at() has it */
			cone.slant = fmin(cone.slant, directions[i].x);
	}
	cone.cosine = fmax(cone.cosine - SIGHT_SLACK, -1);
	cone.sine = sqrt(1 - cone.cosine * cone.cosine);
	if (beside) {
		double gap = sight_gap(directions, count, width);
		sight_widen(&cone, gap);
		/* rays beside a pixel are more slanted, by less than the chord of the gap */
		double chord = sqrt(fmax(2 - 2 * gap, 0));
		cone.slant = fmax((cone.slant - chord) / (1 + chord), 0.01);
	}
	if (spread_rad > 0)
		sight_widen(&cone, math_cos(fmin(spread_rad, 3.14)));
	return cone;
}

/* --- the volume --------------------------------------------------------------------------------------------------- */

static void sight_of_logical_camera(const struct sdf_logical_camera *camera, struct sight *sight)
{
	if (!(camera->fov_rad < 3))
		return; /* reaches to all sides */
	double wide = math_tan(camera->fov_rad / 2), high = wide / camera->aspect_ratio;
	double longest = sqrt(1 + wide * wide + high * high);
	sight->reach = camera->far_m * longest;
	sight->cosine = 1 / longest - SIGHT_SLACK;
	sight->sine = sqrt(1 - sight->cosine * sight->cosine);
}

static void sight_of_picture(const struct sensors *sensors, const struct sensor *sensor, struct sight *sight)
{
	const struct sdf_camera *camera = sensor->sdf->settings->cameras;
	const struct sight_cone *cone = &sensors->lenses.at[sensor->scan].cone;
	uint32_t parts = sensor_parts(sensor->sdf);
	double far = parts & SENSOR_DEPTH ? camera->depth_far_m : 0;
	if (parts & ~(uint32_t)SENSOR_DEPTH)
		far = fmax(far, camera->far_m);
	sight->colours = parts & SENSOR_COLOUR;
	sight->whole = sensor->sdf->settings->camera_count != 1;
	sight->reach = far / cone->slant;
	sight->axis = cone->axis;
	sight->cosine = cone->cosine;
	sight->sine = cone->sine;
}

static void sight_of_lidar(const struct sensors *sensors, const struct sensor *sensor, struct sight *sight)
{
	const struct sdf_settings *settings = sensor->sdf->settings;
	const struct sight_cone *cone = &sensors->scans.at[sensor->scan].cone;
	sight->reach = settings->signal_count ? settings->signals[0].max : (double)INFINITY;
	sight->axis = cone->axis;
	sight->cosine = cone->cosine;
	sight->sine = cone->sine;
}

/* Covers the volume with balls, slice by slice; a wide one with one ball. */
static void sight_cut(struct sight *sight)
{
	bool narrow = sight->cosine > 0.5;
	uint32_t count = narrow ? SIGHT_PIECES_MAX : 1;
	double step = sight->reach / count, slope = narrow ? sight->sine / sight->cosine : 0;
	sight->piece_count = count;
	for (uint32_t i = 0; i < count && narrow; i++) {
		double aside = (i + 1) * step * slope;
		sight->pieces[i] = (struct sight_ball){vec3_add(sight->at, vec3_scale(sight->axis, (i + 0.5) * step)),
			sqrt(step * step / 4 + aside * aside)};
	}
	if (!narrow)
		sight->pieces[0] = (struct sight_ball){sight->at, sight->reach};
}

static void sight_find_lights(const struct sensors *sensors, struct sight *sight)
{
	const struct lights *lights = sensors->lights;
	if (!lights || !rays_surroundings(sensors->rays)->shadows)
		return;
	sight->lights = lights;
	for (uint32_t i = 0; i < lights->count && !sight->whole; i++) {
		const struct lights_one *light = &lights->at[i];
		double off = vec3_length(vec3_sub(light->p, sight->at));
		bool far = light->shine.kind != SDF_DIRECTIONAL_LIGHT && off > light->shine.range_m + sight->reach;
		if (!light->shine.cast_shadows || far)
			continue;
		sight->whole = sight->light_count == SIGHT_LIGHTS_MAX || !isfinite(sight->reach);
		if (!sight->whole)
			sight->light[sight->light_count++] = i;
	}
	if (sight->light_count && !sight->whole)
		sight_cut(sight);
}

void sight_of(const struct sensors *sensors, const struct state *state, const struct sensor *sensor, struct sight *ret)
{
	struct pose pose = sensor_pose(sensors->scene, state, sensor, false);
	*ret = (struct sight){.reach = INFINITY, .axis = {1, 0, 0}, .cosine = -1};
	if (sensor_kind_is_lidar(sensor->sdf->kind)) {
		sight_of_lidar(sensors, sensor, ret);
	} else if (sensor_kind_of(sensor->sdf->kind)->picture) {
		sight_of_picture(sensors, sensor, ret);
		pose = pose_mul(pose, sensor->sdf->settings->cameras->in_sensor);
	} else if (sensor->sdf->kind == SDF_LOGICAL_CAMERA) {
		sight_of_logical_camera(sensor->sdf->settings->logical_camera, ret);
	}
	ret->at = pose.p;
	ret->axis = quat_rotate(quat_unit(pose.q), ret->axis);
	if (sensor->trail != SCENE_NONE) { /* it was elsewhere, and looked elsewhere, during its scan */
		double arm = sensor->sdf->settings->camera_count
				     ? vec3_length(sensor->sdf->settings->cameras->in_sensor.p)
				     : 0;
		ret->reach += sensor_swept_m(sensors->scene, state, sensor) + 2 * arm;
		ret->cosine = -1;
		ret->sine = 0;
	}
	ret->whole |= !vec3_finite(ret->at);
	if (ret->colours)
		sight_find_lights(sensors, ret);
}

/* --- what is in it ------------------------------------------------------------------------------------------------ */

static bool sight_holds(const struct sight *sight, const struct aabb *box, const struct sight_ball *ball)
{
	const struct vec3 at = sight->at;
	struct vec3 off = {MAX(MAX(box->lo.x - at.x, at.x - box->hi.x), 0.0),
		MAX(MAX(box->lo.y - at.y, at.y - box->hi.y), 0.0), MAX(MAX(box->lo.z - at.z, at.z - box->hi.z), 0.0)};
	if (vec3_dot(off, off) > sight->reach * sight->reach)
		return false;
	struct vec3 way = vec3_sub(ball->at, at);
	double far = vec3_length(way);
	if (!(far > ball->radius))
		return true;
	double sine = ball->radius / far, cosine = sqrt(1 - sine * sine);
	if (sight->sine * cosine + sight->cosine * sine < 0) /* more than half a turn */
		return true;
	return vec3_dot(way, sight->axis) >= far * (sight->cosine * cosine - sight->sine * sine - SIGHT_SLACK);
}

/* Whether the ball meets the way from some point of the piece to the light. */
static bool sight_is_shaded(
	const struct sight_ball *piece, const struct lights_one *light, const struct sight_ball *ball)
{
	double room = piece->radius + ball->radius, along, most = INFINITY;
	struct vec3 off = vec3_sub(ball->at, piece->at), to = vec3_scale(light->direction, -1);
	if (light->shine.kind != SDF_DIRECTIONAL_LIGHT) {
		struct vec3 way = vec3_sub(light->p, piece->at);
		double range = light->shine.range_m + ball->radius;
		most = vec3_length(way);
		to = most > 0 ? vec3_scale(way, 1 / most) : way;
		if (vec3_length(vec3_sub(ball->at, light->p)) > range)
			return false;
	}
	along = fmin(fmax(vec3_dot(off, to), 0), most);
	struct vec3 aside = vec3_sub(off, vec3_scale(to, along));
	return vec3_dot(aside, aside) <= room * room;
}

bool sight_may_meet(const struct sight *sight, const struct aabb *box)
{
	struct vec3 edges = vec3_sub(box->hi, box->lo);
	struct sight_ball ball = {vec3_add(box->lo, vec3_scale(edges, 0.5)), vec3_length(edges) / 2 + SIGHT_ROOM};
	if (sight->whole || !isfinite(ball.radius) || !vec3_finite(ball.at) || sight_holds(sight, box, &ball))
		return true;
	for (uint32_t l = 0; l < sight->light_count; l++)
		for (uint32_t p = 0; p < sight->piece_count; p++)
			if (sight_is_shaded(&sight->pieces[p], &sight->lights->at[sight->light[l]], &ball))
				return true;
	return false;
}
