/* The sines and cosines of a row and of all columns are computed once each: a scan of many rows has far more rays than
 * angles. The last angle of a row is min + (count - 1) step, which may differ from the file's max in its last bit;
 * Gazebo's messages give min and step, so the rays are where a reader of the message expects them.
 *
 * A surface that is too near hides those behind it, as in Gazebo: rays begin at the sensor, and not at the least range.
 */
#include "sensor/scan_internal.h"

#include <stdlib.h>
#include <string.h>

static struct scan_axis scan_axis_of(const struct sdf_scan *scan)
{
	return (struct scan_axis){sdf_scan_count(scan), scan->min_rad, sdf_scan_step(scan)};
}

static struct scan_axis scan_axis_between(uint32_t count, double first_rad, double last_rad)
{
	return (struct scan_axis){count, first_rad, count > 1 ? (last_rad - first_rad) / (count - 1) : 0.0};
}

static struct scan_layout scan_pattern_layout(const struct sdf_pattern *pattern)
{
	uint32_t columns = pattern->columns, rows = pattern->rows;
	return (struct scan_layout){scan_axis_between(columns, pattern->by_column[0].azimuth_rad,
					    pattern->by_column[columns - 1].azimuth_rad),
		scan_axis_between(rows, pattern->by_row[0].elevation_rad, pattern->by_row[rows - 1].elevation_rad)};
}

struct scan_layout scan_layout(const struct sdf_lidar *lidar)
{
	if (lidar->pattern)
		return scan_pattern_layout(lidar->pattern);
	return (struct scan_layout){scan_axis_of(&lidar->horizontal), scan_axis_of(&lidar->vertical)};
}

void scan_directions(const struct scan_layout *layout, struct vec3 *directions)
{
	const struct scan_axis *columns = &layout->columns, *rows = &layout->rows;
	struct scan_turn {
		double sin, cos;
	} *turns = mem_alloc(columns->count * sizeof *turns), up;
	for (uint32_t c = 0; c < columns->count; c++)
		math_sincos(columns->min_rad + c * columns->step_rad, &turns[c].sin, &turns[c].cos);
	for (uint32_t r = 0; r < rows->count; r++) {
		math_sincos(rows->min_rad + r * rows->step_rad, &up.sin, &up.cos);
		for (uint32_t c = 0; c < columns->count; c++)
			*directions++ = (struct vec3){up.cos * turns[c].cos, up.cos * turns[c].sin, up.sin};
	}
	free(turns);
}

void scan_pattern_directions(const struct sdf_pattern *pattern, struct vec3 *directions)
{
	for (uint32_t s = 0; s < pattern->scans; s++)
		for (uint32_t r = 0; r < pattern->rows; r++)
			for (uint32_t c = 0; c < pattern->columns; c++) {
				const struct troupe_scan_firing *column = &pattern->by_column[s * pattern->columns + c],
								*row = &pattern->by_row[r];
				double sin, cos, up_sin, up_cos;
				math_sincos(column->azimuth_rad + row->azimuth_rad, &sin, &cos);
				math_sincos(column->elevation_rad + row->elevation_rad, &up_sin, &up_cos);
				*directions++ = (struct vec3){up_cos * cos, up_cos * sin, up_sin};
			}
}

uint32_t scan_pattern_count(const struct sdf_pattern *pattern)
{
	enum {
		HEAD = sizeof(struct troupe_scan_firings) / sizeof(double),
		EACH = sizeof(struct troupe_scan_firing) / sizeof(double)
	};
	return HEAD + EACH * (pattern->columns + pattern->rows);
}

void scan_pattern_store(const struct sdf_lidar *lidar, uint32_t scan, double *numbers)
{
	const struct sdf_pattern *pattern = lidar->pattern;
	struct troupe_scan_firings *head = (struct troupe_scan_firings *)(void *)numbers;
	struct troupe_scan_firing *to = (struct troupe_scan_firing *)(void *)(head + 1);
	*head = (struct troupe_scan_firings){.scan_s = pattern->scan_s,
		.scan = scan,
		.returns = scan_returns(lidar),
		.at_start = lidar->stamp_start};
	memcpy(to, pattern->by_column + (size_t)scan * pattern->columns, pattern->columns * sizeof *to);
	memcpy(to + pattern->columns, pattern->by_row, pattern->rows * sizeof *to);
}

static void scan_store(const struct rays *rays, const struct sdf_signal *range, const struct ray_hit *hit,
	double *ret_range, double *ret_intensity)
{
	bool near = hit->distance < range->min;
	*ret_range = near ? (double)-INFINITY : hit->distance;
	if (ret_intensity)
		*ret_intensity = hit->model != SCENE_NONE && !near ? rays_visual(rays, hit)->laser_retro : 0;
}

static inline struct vec3 scan_turned(const struct mat3 *m, struct vec3 d)
{
	return (struct vec3){m->m[0][0] * d.x + m->m[0][1] * d.y + m->m[0][2] * d.z,
		m->m[1][0] * d.x + m->m[1][1] * d.y + m->m[1][2] * d.z,
		m->m[2][0] * d.x + m->m[2][1] * d.y + m->m[2][2] * d.z};
}

void scan_measure(const struct rays *rays, const struct vec3 *directions, uint32_t count, struct pose sensor,
	const struct sdf_signal *range, uint32_t visibility_mask, double *ranges, double *intensities)
{
	struct ray cast[SCAN_CHUNK];
	struct ray_hit hits[SCAN_CHUNK];
	struct mat3 m = quat_matrix(sensor.q);
	for (uint32_t first = 0; first < count; first += SCAN_CHUNK) {
		uint32_t some = MIN(count - first, (uint32_t)SCAN_CHUNK);
		for (uint32_t i = 0; i < some; i++)
			cast[i] =
				(struct ray){sensor.p, scan_turned(&m, directions[first + i]), 0, fmax(range->max, 0)};
		rays_cast(rays, cast, some, visibility_mask, hits);
		for (uint32_t i = 0; i < some; i++)
			scan_store(rays, range, &hits[i], &ranges[first + i],
				intensities ? &intensities[first + i] : NULL);
	}
}

/* --- scans in motion ---------------------------------------------------------------------------------------------- */

#define SCAN_SAME_S 1e-9 /* times that differ by less are the same */

static bool scan_stood(const struct trail_knot *knot, struct pose body)
{
	return !memcmp(&knot->p, &body.p, sizeof body.p) && !memcmp(&knot->q, &body.q, sizeof body.q);
}

/* Of a body that stood for the whole scan there is one knot, so that its rays have the bits of rays cast at once. */
struct scan_path scan_path_of(const struct trail *trail, double scan_s, double now_s, struct pose body_now,
	struct pose in_body, struct pose now)
{
	struct scan_path path = {.count = 0};
	uint32_t count = trail ? trail_count(trail) : 0, first = 0;
	while (count && trail_at(trail, count - 1)->time_s > now_s - SCAN_SAME_S)
		count--;
	while (first + 1 < count && trail_at(trail, first + 1)->time_s <= now_s - scan_s)
		first++;
	bool stood = true;
	for (uint32_t i = first; i < count; i++) {
		const struct trail_knot *knot = trail_at(trail, i);
		bool same = scan_stood(knot, body_now);
		stood &= same;
		path.at[path.count++] = (struct scan_knot){
			knot->time_s - now_s, same ? now : pose_mul((struct pose){knot->p, knot->q}, in_body)};
	}
	path.count = stood ? 0 : path.count;
	path.at[path.count++] = (struct scan_knot){0, now};
	return path;
}

static inline struct vec3 scan_mix(struct vec3 a, struct vec3 b, double f)
{
	return (struct vec3){a.x + f * (b.x - a.x), a.y + f * (b.y - a.y), a.z + f * (b.z - a.z)};
}

struct pose scan_path_at(const struct scan_path *path, double time_s)
{
	uint32_t i = 0;
	while (i + 1 < path->count && path->at[i].time_s < time_s)
		i++;
	const struct scan_knot *b = &path->at[i];
	if (!i || time_s >= b->time_s)
		return b->pose;
	const struct scan_knot *a = b - 1;
	const struct quat *q = &a->pose.q, *r = &b->pose.q;
	double f = (time_s - a->time_s) / (b->time_s - a->time_s), g = 1 - f;
	double h = q->w * r->w + q->x * r->x + q->y * r->y + q->z * r->z < 0 ? -f : f;
	return (struct pose){
		scan_mix(a->pose.p, b->pose.p, f), quat_unit((struct quat){g * q->w + h * r->w, g * q->x + h * r->x,
							   g * q->y + h * r->y, g * q->z + h * r->z})};
}

#define SCAN_SMALL_RAD 0.01

static struct scan_leg scan_leg_at(const struct scan_path *path, double time_s)
{
	uint32_t i = 0;
	while (i + 1 < path->count && path->at[i].time_s <= time_s)
		i++;
	const struct scan_knot *b = &path->at[i], *a = i ? b - 1 : b;
	struct scan_leg leg = {.begin_s = i ? a->time_s : (double)-INFINITY,
		.end_s = !i || i + 1 < path->count ? b->time_s : (double)INFINITY,
		.base_s = a->time_s,
		.per_s = i ? 1 / (b->time_s - a->time_s) : 0, /* before the first knot it stood */
		.at = a->pose.p,
		.by = vec3_sub(b->pose.p, a->pose.p),
		.turn = quat_matrix(a->pose.q)};
	const struct mat3 to = quat_matrix(b->pose.q);
	double sum = 0; /* of squares: 4 (1 - cos) of the angle */
	for (int r = 0; r < 3; r++)
		for (int c = 0; c < 3; c++) {
			leg.turn_by.m[r][c] = to.m[r][c] - leg.turn.m[r][c];
			sum += leg.turn_by.m[r][c] * leg.turn_by.m[r][c];
		}
	leg.small = sum <= 2 * SCAN_SMALL_RAD * SCAN_SMALL_RAD;
	return leg;
}

/* Its length is 1 to (SCAN_SMALL_RAD / 2)^2 if `small`: then one step of Newton's method is exact to 3e-10. */
static inline struct vec3 scan_unit(struct vec3 v, bool small)
{
	double square = vec3_dot(v, v);
	return vec3_scale(v, small ? 1.5 - 0.5 * square : 1 / sqrt(square));
}

/* The times of the rays of a batch, row after row. */
static void scan_time(const struct scan_job *job, uint32_t from, uint32_t some, struct scan_batch *batch)
{
	const struct sdf_pattern *pattern = job->pattern;
	uint32_t column = (job->first + from) % pattern->columns, row = (job->first + from) / pattern->columns;
	for (uint32_t i = 0; i < some; i++) {
		double time_s = job->by_column[column].time_s + pattern->by_row[row].time_s;
		double ago_s = pattern->scan_s - time_s;
		batch->ago_s[i] = ago_s > 0 ? ago_s : 0;
		if (++column == pattern->columns)
			column = 0, row++;
	}
}

static void scan_aim(struct scan_caster *caster, const struct vec3 *directions, uint32_t some, struct scan_batch *batch)
{
	const double far = fmax(caster->job->range->max, 0);
	struct scan_leg *leg = &caster->leg;
	for (uint32_t i = 0; i < some; i++) {
		double time_s = -batch->ago_s[i];
		if (!(time_s >= leg->begin_s && time_s < leg->end_s))
			*leg = scan_leg_at(caster->path, time_s);
		double f = (time_s - leg->base_s) * leg->per_s;
		struct vec3 turned = vec3_add(scan_turned(&leg->turn, directions[i]),
			vec3_scale(scan_turned(&leg->turn_by, directions[i]), f));
		batch->cast[i] =
			(struct ray){vec3_add(leg->at, vec3_scale(leg->by, f)), scan_unit(turned, leg->small), 0, far};
	}
}

static struct scan_own scan_own_of(const struct scan_job *job, struct pose now)
{
	struct scan_own own;
	own.count = rays_cones(job->rays, job->model, now.p, own.cones, SCAN_CONES_MAX);
	for (uint32_t i = 0; own.count != SCENE_NONE && i < own.count; i++)
		own.cones[i].axis = quat_rotate(quat_conj(quat_unit(now.q)), own.cones[i].axis);
	return own;
}

static bool scan_may_meet(const struct scan_own *own, const struct vec3 *directions, uint32_t count)
{
	bool may = own->count == SCENE_NONE;
	for (uint32_t c = 0; !may && c < own->count; c++)
		for (uint32_t i = 0; i < count; i++)
			may |= vec3_dot(own->cones[c].axis, directions[i]) >= own->cones[c].cosine;
	return may;
}

/* The rays of the sensor where it is now: all of them, or those of eight that may meet its own model. */
static void scan_aim_now(const struct scan_caster *caster, const struct vec3 *directions, uint32_t some,
	struct ray *cast, bool *ret_near)
{
	enum { EIGHT = 8 };
	const struct mat3 m = quat_matrix(caster->now.q);
	const double far = fmax(caster->job->range->max, 0);
	for (uint32_t i = 0; i < some; i += EIGHT) {
		uint32_t end = MIN(i + EIGHT, some);
		bool near = !caster->moves || scan_may_meet(&caster->own, directions + i, end - i);
		ret_near[i / EIGHT] = near;
		for (uint32_t k = i; near && k < end; k++)
			cast[k] = (struct ray){caster->now.p, scan_turned(&m, directions[k]), 0, far};
	}
}

struct scan_caster scan_caster_of(const struct scan_job *job, const struct scan_path *path)
{
	struct scan_caster caster = {.job = job,
		.path = path,
		.now = path->at[path->count - 1].pose,
		.moves = path->count > 1,
		.leg = {.begin_s = INFINITY}};
	caster.swept = caster.moves || (job->motion && rays_move(job->rays));
	if (caster.moves)
		caster.own = scan_own_of(job, caster.now);
	return caster;
}

void scan_caster_aim(struct scan_caster *caster, const struct vec3 *directions, uint32_t from, uint32_t some,
	struct scan_batch *batch)
{
	if (caster->swept)
		scan_time(caster->job, from, some, batch);
	if (caster->moves)
		scan_aim(caster, directions, some, batch);
	scan_aim_now(caster, directions, some, caster->moves ? batch->own : batch->cast, batch->near);
}

void scan_caster_cast(const struct scan_caster *caster, uint32_t some, struct scan_batch *batch)
{
	const struct scan_job *job = caster->job;
	const struct rays_swept swept = {
		batch->ago_s, caster->moves ? job->model : SCENE_NONE, batch->own, batch->near};
	if (caster->swept)
		rays_cast_swept(job->rays, batch->cast, &swept, some, job->visibility_mask, batch->hits);
	else
		rays_cast(job->rays, batch->cast, some, job->visibility_mask, batch->hits);
}

void scan_measure_moving(const struct scan_job *job, const struct scan_path *path, double *ranges, double *intensities)
{
	struct scan_batch batch;
	struct scan_caster caster = scan_caster_of(job, path);
	for (uint32_t first = 0; first < job->count; first += SCAN_CHUNK) {
		uint32_t some = MIN(job->count - first, (uint32_t)SCAN_CHUNK);
		scan_caster_aim(&caster, job->directions + first, first, some, &batch);
		scan_caster_cast(&caster, some, &batch);
		for (uint32_t i = 0; i < some; i++)
			scan_store(job->rays, job->range, &batch.hits[i], &ranges[first + i],
				intensities ? &intensities[first + i] : NULL);
	}
}
