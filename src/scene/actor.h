/* Actors: models that follow a script and nothing else. Each actor with a <script> is a model of the scene with one
 * kinematic body, whose frame is the actor's, with the shapes of its links' collisions, if it has any; skin and
 * animation are ignored. It pushes what it touches and is pushed by nothing.
 *
 * The script is played as Gazebo plays it (gz-sim's rendering, gz-common's PoseAnimation, gz-math's Spline):
 *   - trajectories one after the other, in the order of their ids; each lasts from its first waypoint to its last
 *   - before delay_start, and for as long as nothing has moved it, the actor is at its first waypoint; without
 *     auto_start it stays where its own pose says
 *   - a waypoint is given in the frame of the actor's <pose>
 *   - between waypoints the position is a cardinal spline: at waypoint i the tangent (per segment, not per second) is
 *     (1 - tension) (p[i+1] - p[i-1]) / 2; at an end the missing neighbour is the end itself, or, where a trajectory
 *     ends at the point at which it began, the neighbour from its other end
 *   - the rotation turns the shorter way at a constant rate (Gazebo rounds the corners of large turns about several
 *     axes at once)
 *   - at the end it begins anew with <loop>, and else stays
 * All functions here are pure and may be called from any thread. */
#ifndef SCENE_ACTOR_H
#define SCENE_ACTOR_H

#include "scene/control.h"
#include "scene/state.h"

enum { ACTOR_WAYPOINTS_MAX = 100000, ACTOR_TRAJECTORIES_MAX = 10000 }; /* of one actor */
#define ACTOR_TIME_MAX 1e9                                             /* s: of a waypoint, and of the delay */
#define ACTOR_POSITION_MAX (SCENE_POSITION_MAX / 2)                    /* m: a spline swings out beyond its points */
/* What would be faster is a jump (a script that does not end where it began, and begins anew): it pushes nothing. */
#define ACTOR_SPEED_MAX 100.0 /* m/s */
#define ACTOR_SPIN_MAX 100.0  /* rad/s */

struct actor_waypoint {
	double time_s;       /* from the first of its trajectory */
	struct pose pose;    /* in the world */
	struct vec3 tangent; /* m, world */
};

struct actor_trajectory {
	double id;
	double begin_s, end_s; /* in the script */
	uint32_t first, count; /* waypoints; at least one */
	uint32_t order;        /* in the file: decides between equal ids */
};

struct scene_actor {
	const struct actor_trajectory *trajectories; /* in the order in which they are played */
	const struct actor_waypoint *waypoints;
	uint32_t trajectory_count, waypoint_count;
	double delay_s, length_s;
	bool loop, auto_start;
	struct pose rest; /* the actor's own pose */
};

/* Where it is at a simulated time, in the world. */
struct pose actor_pose(const struct scene_actor *actor, double time_s);

/* Asks the physics to take a model that is an actor's from where it is in state k (time_s) to where the script has it
 * at the end of the step. The runner that simulates the model calls it, before the physics. */
void actor_drive(const struct state *state, const struct control *control, uint32_t model, double time_s, double dt);

#endif
