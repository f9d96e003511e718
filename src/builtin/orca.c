/* The velocity obstacle of a disc is the cone of relative velocities that lead to a collision, cut off by the disc of
 * those that need longer than the horizon. Its boundary point nearest to the present relative velocity says by how much
 * that has to change; each of the two does its share. For walls the present velocity counts as 0, as in section 5.3 of
 * the paper: then standing still is always allowed, and walls alone never leave nothing. */
#include "builtin/orca.h"

#define ORCA_TINY 1e-10

/* The allowed velocities v: (v - point) . normal >= 0. */
struct orca_line {
	struct orca_vec point, normal;
};

struct orca_lines {
	struct orca_line at[ORCA_DISCS_MAX + ORCA_WALLS_MAX];
	uint32_t count;
};

/* How far v is on the forbidden side; below 0: it is allowed. */
static double orca_excess(const struct orca_line *line, struct orca_vec v)
{
	return orca_dot(orca_sub(line->point, v), line->normal);
}

/* --- half-planes -------------------------------------------------------------------------------------------------- */

static void orca_add_wall(const struct orca_self *self, struct orca_vec wall, struct orca_lines *lines)
{
	struct orca_vec way = orca_sub(wall, self->place);
	double distance = orca_length(way), room = fmax(distance - self->radius, 0) / self->wall_horizon;
	if (distance < ORCA_TINY)
		return; /* no direction is the wrong one */
	struct orca_vec towards = orca_scale(way, 1 / distance);
	lines->at[lines->count++] = (struct orca_line){orca_scale(towards, room), orca_scale(towards, -1)};
}

/* Of discs at one place the one with the least id goes one way and the one with the greatest the other way, so that
 * they leave it one after the other. */
static struct orca_vec orca_apart(uint32_t id, uint32_t other)
{
	return id < other ? (struct orca_vec){0.8, 0.6} : (struct orca_vec){-0.8, -0.6};
}

/* Out of the disc of relative velocities around `centre`. */
static struct orca_line orca_out_of_disc(const struct orca_self *self, const struct orca_disc *other,
	struct orca_vec relative, struct orca_vec centre, double radius)
{
	struct orca_vec from = orca_sub(relative, centre), way = orca_sub(self->place, other->place);
	double length = orca_length(from);
	struct orca_vec normal;
	if (length > ORCA_TINY)
		normal = orca_scale(from, 1 / length);
	else if (orca_length(way) > ORCA_TINY)
		normal = orca_scale(way, 1 / orca_length(way));
	else
		normal = orca_apart(self->id, other->id);
	struct orca_vec change = orca_scale(normal, radius - length);
	return (struct orca_line){orca_add(self->velocity, orca_scale(change, other->share)), normal};
}

static struct orca_line orca_line_of(const struct orca_self *self, const struct orca_disc *other, double dt)
{
	struct orca_vec way = orca_sub(other->place, self->place), v = orca_sub(self->velocity, other->velocity);
	double square = orca_dot(way, way), radius = self->radius + other->radius;
	if (square <= radius * radius) /* they overlap: apart within the step */
		return orca_out_of_disc(self, other, v, orca_scale(way, 1 / dt), radius / dt);
	struct orca_vec centre = orca_scale(way, 1 / self->horizon), from = orca_sub(v, centre);
	double behind = -orca_dot(from, way);
	if (behind > 0 && behind * behind > radius * radius * orca_dot(from, from))
		return orca_out_of_disc(self, other, v, centre, radius / self->horizon);
	double length = sqrt(square - radius * radius), side = orca_cross(way, from) > 0 ? 1 : -1;
	struct orca_vec leg = {
		(way.x * length - side * way.y * radius) / square, (way.y * length + side * way.x * radius) / square};
	struct orca_vec change = orca_sub(orca_scale(leg, orca_dot(v, leg)), v);
	return (struct orca_line){
		orca_add(self->velocity, orca_scale(change, other->share)), {-side * leg.y, side * leg.x}};
}

/* --- the linear programs ------------------------------------------------------------------------------------------ */

struct orca_aim {
	struct orca_vec wanted;
	bool far; /* as far as possible in this direction, and not near to this velocity */
	double speed_max;
};

/* The best velocity on line k that lines 0 .. k - 1 allow. False: there is none. */
static bool orca_on_line(
	const struct orca_lines *lines, uint32_t k, const struct orca_aim *aim, struct orca_vec *ret_velocity)
{
	const struct orca_line *line = &lines->at[k];
	struct orca_vec along = {line->normal.y, -line->normal.x};
	double middle = orca_dot(line->point, along);
	double square = middle * middle + aim->speed_max * aim->speed_max - orca_dot(line->point, line->point);
	if (square < 0)
		return false;
	double low = -middle - sqrt(square), high = -middle + sqrt(square);
	for (uint32_t i = 0; i < k; i++) {
		double slope = orca_dot(along, lines->at[i].normal), needed = orca_excess(&lines->at[i], line->point);
		if (fabs(slope) <= ORCA_TINY && needed > ORCA_TINY)
			return false;
		if (slope > ORCA_TINY)
			low = fmax(low, needed / slope);
		else if (slope < -ORCA_TINY)
			high = fmin(high, needed / slope);
		if (low > high)
			return false;
	}
	double best = orca_dot(along, aim->wanted);
	best = aim->far ? (best > 0 ? high : low) : fmin(fmax(best - middle, low), high);
	*ret_velocity = orca_add(line->point, orca_scale(along, best));
	return true;
}

static struct orca_vec orca_within(struct orca_vec v, double speed_max)
{
	double speed = orca_length(v);
	return speed > speed_max ? orca_scale(v, speed_max / speed) : v;
}

/* The best velocity that all lines allow; else that of the lines before the one whose number is returned. */
static uint32_t orca_best(const struct orca_lines *lines, const struct orca_aim *aim, struct orca_vec *ret_velocity)
{
	double length = orca_length(aim->wanted);
	*ret_velocity = aim->far ? orca_scale(aim->wanted, length > 0 ? aim->speed_max / length : 0)
				 : orca_within(aim->wanted, aim->speed_max);
	for (uint32_t k = 0; k < lines->count; k++) {
		struct orca_vec before = *ret_velocity;
		if (orca_excess(&lines->at[k], before) > 0 && !orca_on_line(lines, k, aim, ret_velocity)) {
			*ret_velocity = before;
			return k;
		}
	}
	return lines->count;
}

/* Where the excess over `less` is not above that over `line`. False: everywhere, or nowhere that matters. */
static bool orca_between(const struct orca_line *line, const struct orca_line *less, struct orca_line *ret_line)
{
	struct orca_vec normal = orca_sub(less->normal, line->normal);
	double length = orca_length(normal);
	if (length < 1e-6)
		return false;
	double offset = orca_dot(less->point, less->normal) - orca_dot(line->point, line->normal);
	ret_line->normal = orca_scale(normal, 1 / length);
	ret_line->point = orca_scale(ret_line->normal, offset / length);
	return true;
}

/* From line `first` on none is left: the velocity with the least excess over lines of discs. */
static void orca_least_excess(
	const struct orca_lines *lines, uint32_t walls, uint32_t first, double speed_max, struct orca_vec *velocity)
{
	double excess = 0;
	for (uint32_t k = first; k < lines->count; k++) {
		if (orca_excess(&lines->at[k], *velocity) <= excess)
			continue;
		struct orca_lines between = {.count = walls};
		for (uint32_t i = 0; i < walls; i++)
			between.at[i] = lines->at[i];
		for (uint32_t i = walls; i < k; i++)
			between.count += orca_between(&lines->at[k], &lines->at[i], &between.at[between.count]);
		const struct orca_aim aim = {lines->at[k].normal, true, speed_max};
		struct orca_vec best;
		if (orca_best(&between, &aim, &best) == between.count) /* else by rounding only: what was is kept */
			*velocity = best;
		excess = orca_excess(&lines->at[k], *velocity);
	}
}

struct orca_vec orca_velocity(const struct orca_self *self, const struct orca_disc *discs, uint32_t disc_count,
	const struct orca_vec *walls, uint32_t wall_count, double dt)
{
	struct orca_lines lines = {.count = 0};
	const struct orca_aim aim = {self->wanted, false, self->speed_max};
	struct orca_vec velocity;
	for (uint32_t i = 0; i < wall_count && i < ORCA_WALLS_MAX; i++)
		orca_add_wall(self, walls[i], &lines);
	uint32_t of_walls = lines.count;
	for (uint32_t i = 0; i < disc_count && i < ORCA_DISCS_MAX; i++)
		lines.at[lines.count++] = orca_line_of(self, &discs[i], dt);
	uint32_t failed = orca_best(&lines, &aim, &velocity);
	if (failed < lines.count)
		orca_least_excess(&lines, of_walls, failed, self->speed_max, &velocity);
	return velocity;
}
