/* Optimal reciprocal collision avoidance of discs in a plane, by J. van den Berg, S. J. Guy, M. Lin and D. Manocha,
 * "Reciprocal n-body collision avoidance", 2011: each other disc and each wall forbids a half-plane of velocities, and
 * of those that are left the one nearest to the wanted one is taken. If none is left, the one that breaks the
 * half-planes of discs least; those of walls are never broken.
 *
 * Pure, with the same bits on every machine: the order of discs and walls counts, and nothing is random. Units: m, s.
 */
#ifndef BUILTIN_ORCA_H
#define BUILTIN_ORCA_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

struct orca_vec {
	double x, y;
};

struct orca_self {
	struct orca_vec place, velocity, wanted; /* wanted: the velocity if nothing were in the way */
	double radius, speed_max;
	double horizon, wall_horizon; /* s: no collision with a disc, or with a wall, for so long; above 0 */
	uint32_t id;
};

struct orca_disc {
	struct orca_vec place, velocity;
	double radius;
	double share; /* what the agent does of the avoidance: 1/2 of one that avoids it too, 1 of one that does not */
	uint32_t id;  /* other than that of the agent; decides which way discs at the same place go */
};

enum { ORCA_DISCS_MAX = 64, ORCA_WALLS_MAX = 64 };

/* The velocity for the next dt s. walls: points of walls that are nearer than all points of their walls around them; a
 * wall is never gone nearer to than the radius. More discs or walls than the limits are left out. */
struct orca_vec orca_velocity(const struct orca_self *self, const struct orca_disc *discs, uint32_t disc_count,
	const struct orca_vec *walls, uint32_t wall_count, double dt);

static inline struct orca_vec orca_add(struct orca_vec a, struct orca_vec b)
{
	return (struct orca_vec){a.x + b.x, a.y + b.y};
}

static inline struct orca_vec orca_sub(struct orca_vec a, struct orca_vec b)
{
	return (struct orca_vec){a.x - b.x, a.y - b.y};
}

static inline struct orca_vec orca_scale(struct orca_vec a, double s)
{
	return (struct orca_vec){a.x * s, a.y * s};
}

static inline double orca_dot(struct orca_vec a, struct orca_vec b)
{
	return a.x * b.x + a.y * b.y;
}

/* Above 0: b is to the left of a. */
static inline double orca_cross(struct orca_vec a, struct orca_vec b)
{
	return a.x * b.y - a.y * b.x;
}

static inline double orca_length(struct orca_vec a)
{
	return sqrt(orca_dot(a, a));
}

#endif
