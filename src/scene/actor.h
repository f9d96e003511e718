/* Actors: models that only follow a script, or a plug-in. Each actor with a <script> or <plugin> is a model of the
 * scene with one kinematic body. The frame of the body is the actor's; its shapes are the collisions of the actor's
 * links, if there are any. Skin and animation are ignored. An actor pushes what it touches; nothing pushes an actor.
 *
 * The script is played as Gazebo plays it (gz-sim's rendering, gz-common's PoseAnimation, gz-math's Spline):
 *   - trajectories are played one after the other, in the order of their ids; each lasts from its first to its last
 *     waypoint
 *   - before delay_start the actor is at its first waypoint, as long as nothing has moved it; without auto_start it
 *     stays at its own pose
 *   - a waypoint is given in the frame of the actor's <pose>
 *   - between waypoints the position is a cardinal spline: at waypoint i the tangent (per segment, not per second) is
 *     (1 - tension) (p[i+1] - p[i-1]) / 2; at an end the missing neighbour is the end itself; if a trajectory ends at
 *     the point where it began, the missing neighbour is the neighbour of its other end
 *   - the rotation takes the shorter way at a constant rate (Gazebo rounds the corners of large turns about several
 *     axes at once)
 *   - at the end the script begins again with <loop>; otherwise the actor stays
 * All functions here are pure and may be called from any thread. */
#ifndef SCENE_ACTOR_H
#define SCENE_ACTOR_H

#include "scene/control.h"
#include "scene/state.h"

enum { ACTOR_WAYPOINTS_MAX = 100000, ACTOR_TRAJECTORIES_MAX = 10000 }; /* of one actor */
#define ACTOR_TIME_MAX 1e9                                             /* s: of a waypoint, or of the delay */
#define ACTOR_POSITION_MAX (SCENE_POSITION_MAX / 2)                    /* m: a spline swings beyond its points */
/* A motion above these limits is a jump, as in a script that begins again elsewhere than where it ended. A jump
 * pushes nothing. */
#define ACTOR_SPEED_MAX 100.0 /* m/s */
#define ACTOR_SPIN_MAX 100.0  /* rad/s */

struct actor_waypoint {
	double time_s;       /* since the first waypoint of its trajectory */
	struct pose pose;    /* in the world */
	struct vec3 tangent; /* m, world */
};

struct actor_trajectory {
	double id;
	double begin_s, end_s; /* in the script */
	uint32_t first, count; /* waypoints; at least one */
	uint32_t order;        /* place in the file: decides between equal ids */
};

struct scene_actor {
	const struct actor_trajectory *trajectories; /* in the order of playing */
	const struct actor_waypoint *waypoints;
	uint32_t trajectory_count;
	double delay_s, length_s;
	bool loop, auto_start;
	struct pose rest; /* the actor's own pose */
	uint32_t sdf;     /* index in the actors of its model's `from` */
};

/* Asks the physics to move an actor's model from its pose in state k (time_s) to the script's pose at the end of the
 * step. The runner that simulates the model calls it before the physics. */
void actor_drive(const struct state *state, const struct control *control, uint32_t model, double time_s, double dt);
/* The same, to this pose instead of the script's. */
void actor_place(
	const struct state *state, const struct control *control, uint32_t model, struct pose target, double dt);

#endif
