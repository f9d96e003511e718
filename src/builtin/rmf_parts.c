/* The speed is found anew in each step, from what is left of the way: nothing but the speed is remembered. */
#include "builtin/rmf_parts.h"

#include <string.h>

static double rmf_parts_limited(double value, double most)
{
	return builtin_clamp(value, -most, most);
}

double rmf_speed(const struct rmf_motion *motion, double distance, double speed, double speed_there, double dt)
{
	if (fabs(distance) < motion->near / 2 || (speed != 0 && (speed < 0) != (distance < 0)))
		return speed - rmf_parts_limited(speed, motion->acceleration_max * dt); /* stop */
	double needed = (speed_there * speed_there - speed * speed) / (2 * distance);
	needed = rmf_parts_limited(needed, motion->acceleration_max);
	if (fabs(needed) >= motion->acceleration_usual)
		return speed + needed * dt;
	double target = distance < 0 ? -motion->speed_max : motion->speed_max;
	return speed + rmf_parts_limited(target - speed, motion->acceleration_usual * dt);
}

struct troupe_vec3 rmf_pursued(struct troupe_vec3 a, struct troupe_vec3 b, struct troupe_vec3 at, double ahead)
{
	double dx = b.x - a.x, dy = b.y - a.y, fx = at.x - a.x, fy = at.y - a.y;
	double square = dx * dx + dy * dy, along = fx * dx + fy * dy;
	if (!(square > 1e-7))
		return b;
	double nearest = along / square; /* as a part of the line */
	double half = (ahead * ahead - (fx * fx + fy * fy - along * nearest)) / square;
	double part = half > 0 ? sqrt(half) : 0, there = nearest;
	if (nearest + part >= 0 && nearest + part <= 1)
		there = nearest + part;
	else if (nearest - part >= 0 && nearest - part <= 1)
		there = nearest - part;
	there = builtin_clamp(there, 0, 1);
	return troupe_vec3_make(a.x + there * dx, a.y + there * dy, 0);
}

uint32_t rmf_joint(struct troupe_system *self, const char *name)
{
	const struct troupe_host *host = self->host;
	uint32_t count, first = host->joints(self, &count), found = host->find_joint(self, name, false);
	for (uint32_t i = first; i < first + count && found == TROUPE_NOTHING; i++) {
		const char *whole = host->joint_name(self, i), *last = strrchr(whole, ':');
		if (!strcmp(last ? last + 1 : whole, name) && host->joint_axes(self, i))
			found = i;
	}
	return found;
}

struct rmf_motion rmf_read_motion(struct troupe_system *self, const struct troupe_element *at, const char *of)
{
	const struct troupe_host *host = self->host;
	return (struct rmf_motion){host->number(self, at, host->print(self, "v_max_%s", of), 0.2),
		host->number(self, at, host->print(self, "a_max_%s", of), 0.2),
		host->number(self, at, host->print(self, "a_nom_%s", of), 0.08),
		host->number(self, at, host->print(self, "dx_min_%s", of), 0.01)};
}
