/* The same two-wheeled robots twice: as an SDF world for troupe, and as a bare ODE loop that does nothing else.
 *
 * A robot: a box of 0.6 x 0.4 x 0.2 m and 10 kg, two driven wheels of 0.15 m on hinges, a caster sphere on a ball
 * joint, on a plane. It drives with constant wheel speeds. */
#ifndef BENCH_ROBOTS_H
#define BENCH_ROBOTS_H

#include <stdbool.h>
#include <stdint.h>

/* An SDF world of robots on a square grid, spacing metres apart; free() it. Its robots drive by themselves. */
char *robots_world(int count, double spacing);

/* The same in levels: each robot is a performer, each level a square of 8 by 8 robots with a lamp above them. */
char *robots_world_in_levels(int count, double spacing);

/* The same, where every robot is a performer, with only one level, in which the first half of the robots begin. */
char *robots_world_half_in_a_level(int count, double spacing);

/* One such robot in MJCF: actuators of the velocity of its wheels, "left" and "right", are to be set to what
 * robots_wheel_rate() says. */
const char *robots_mjcf(void);
double robots_wheel_rate(bool right); /* rad/s */

/* Carts cart_0, cart_1, ... like these robots, in world 'w', with DiffDrive; and commands all of them to drive
 * ahead. */
char *robots_driven_world(int count);
struct troupe_server;
void robots_drive(struct troupe_server *server, int count);

/* The bare loop: exact solver, contacts with the plane only, found for each geom by itself: no broad phase is
 * faster. */
enum bare_kind {
	BARE_MANY_WORLDS,   /* an ODE world for each robot */
	BARE_SHARED_MEMORY, /* the same, but the worlds share the memory for stepping, one after the other */
	BARE_ONE_WORLD,     /* one ODE world for all robots */
	BARE_KINDS,
};

struct bare;
struct bare *bare_create(enum bare_kind kind, int count, double spacing);
const char *bare_kind_name(enum bare_kind kind);
/* Steps the robots [first, last) once; with one world, all robots. With many worlds, different threads may step
 * different robots. */
void bare_step(struct bare *bare, int first, int last);
/* Call it on every thread that steps. */
void bare_thread_begin(void);
uint64_t bare_hash(const struct bare *bare);
void bare_destroy(struct bare *bare);

#endif
