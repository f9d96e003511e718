/* A fleet for bench_fleet: the world and the plan of `worlds/generate fleet`, and a program that drives each robot
 * along its plan by feedback through the library. bench_fleet.py does the same in Python, with the same numbers. */
#ifndef BENCH_FLEET_H
#define BENCH_FLEET_H

#include <troupe/command.h>

#include <stdbool.h>
#include <stdint.h>

enum { FLEET_CONTROL_MS = 40 }; /* of simulated time, between two commands of a robot */

struct fleet_def {
	uint32_t robots, parked, depots;
	const char *sensors;       /* "none", "lidar", "camera" */
	uint32_t step_ms, seconds; /* seconds: the length of the plan */
};

struct fleet_row { /* of a plan: where a robot shall be when; the yaw is not reduced to one turn */
	double time_s, x, y, yaw;
};

struct fleet {
	struct fleet_def def;
	char *world; /* SDF; its models are in a folder that the environment then names */
	char plan_path[64];
	struct fleet_row *rows; /* of all robots, each robot's in the order of time */
	uint32_t *first;        /* [robots + 1] in rows */
};

/* Ends the bench with a message on failure. The plan stays in a file until fleet_destroy(). */
struct fleet *fleet_create(const struct fleet_def *def);
void fleet_destroy(struct fleet *fleet);

struct fleet_driver {
	const struct fleet *fleet;
	troupe_model *models; /* [robots] */
	uint32_t *at;         /* [robots] rows of the plan that are being followed */
	struct troupe_pose *poses;
	struct troupe_twist *twists;
	double error_m; /* the greatest distance from the plan so far, after the first second */
};

struct fleet_driver fleet_driver_create(const struct fleet *fleet, const struct troupe_server *server);
void fleet_driver_destroy(struct fleet_driver *driver);
/* Commands all robots, from their poses at this time. Between steps. */
void fleet_drive(struct fleet_driver *driver, struct troupe_server *server, double time_s);
/* The command of one robot that is there. */
struct troupe_twist fleet_follow(
	struct fleet_driver *driver, uint32_t robot, double time_s, double x, double y, double yaw);

#endif
