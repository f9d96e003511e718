#include "fleet.h"

#include "base/base.h"
#include "base/infile.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILE_BYTES_MAX ((size_t)4 << 30)
#define SPEED_MAX 1.6 /* m/s */
#define TURN_MAX 2.0  /* rad/s */
#define ALONG 1.0     /* 1/s: feedback on the distance along the way */
#define ACROSS 2.0    /* 1/m2: on the distance across it */
#define HEADING 2.0   /* 1/s */

static _Noreturn void fleet_die(const char *what, const char *why)
{
	fprintf(stderr, "bench_fleet: %s: %s\n", what, why);
	exit(1);
}

/* --- the world and the plan --------------------------------------------------------------------------------------- */

static void generate(const struct fleet_def *def, const char *stem)
{
	char numbers[5][16];
	const uint32_t values[] = {def->robots, def->parked, def->depots, def->step_ms, def->seconds * 1000};
	for (int i = 0; i < 5; i++)
		(void)snprintf(numbers[i], sizeof numbers[i], "%u", values[i]);
	fflush(NULL);
	pid_t child = fork();
	if (!child) {
		(void)execl(FLEET_PYTHON, FLEET_PYTHON, FLEET_WORLDS "/generate", "fleet", "--robots", numbers[0],
			"--parked", numbers[1], "--depots", numbers[2], "--sensors", def->sensors, "--step", numbers[3],
			"--steps", numbers[4], stem, (char *)NULL);
		_exit(127);
	}
	int status = 0;
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		fleet_die("worlds/generate", "has failed");
}

/* robot,time,x,y,yaw: the robots in their order. */
static void read_plan(struct fleet *fleet, char *text)
{
	char *rest, *line = strtok_r(text, "\n", &rest);
	uint32_t robot = 0;
	VEC(struct fleet_row) rows = {0};
	fleet->first = mem_alloc((fleet->def.robots + 1) * sizeof *fleet->first);
	while ((line = strtok_r(NULL, "\n", &rest))) {
		struct fleet_row row;
		uint32_t number;
		if (sscanf(line, "robot_%u,%lf,%lf,%lf,%lf", &number, &row.time_s, &row.x, &row.y, &row.yaw) != 5 ||
			number < robot || number > robot + 1 || number >= fleet->def.robots)
			fleet_die(line, "is no row of a plan");
		if (number > robot)
			fleet->first[++robot] = rows.count;
		vec_push(&rows, row);
	}
	fleet->first[fleet->def.robots] = rows.count;
	fleet->rows = rows.at;
}

struct fleet *fleet_create(const struct fleet_def *def)
{
	struct fleet *fleet = mem_alloc(sizeof *fleet);
	char stem[] = "/tmp/bench-fleet-XXXXXX", path[64], *plan;
	struct troupe_error error;
	size_t bytes;
	(void)setenv("GZ_SIM_RESOURCE_PATH", FLEET_WORLDS, 1);
	int file = mkstemp(stem);
	if (file < 0)
		fleet_die(stem, strerror(errno));
	(void)close(file);
	fleet->def = *def;
	generate(def, stem);
	(void)snprintf(path, sizeof path, "%s.sdf", stem);
	(void)snprintf(fleet->plan_path, sizeof fleet->plan_path, "%s.plan", stem);
	if (infile_read(path, FILE_BYTES_MAX, &fleet->world, &bytes, &error) ||
		infile_read(fleet->plan_path, FILE_BYTES_MAX, &plan, &bytes, &error))
		fleet_die("the world", error.text);
	(void)unlink(path);
	(void)unlink(stem);
	read_plan(fleet, plan);
	free(plan);
	return fleet;
}

void fleet_destroy(struct fleet *fleet)
{
	(void)unlink(fleet->plan_path);
	free(fleet->world);
	free(fleet->rows);
	free(fleet->first);
	free(fleet);
}

/* --- following it ------------------------------------------------------------------------------------------------- */

struct fleet_driver fleet_driver_create(const struct fleet *fleet, const struct troupe_server *server)
{
	const uint32_t robots = fleet->def.robots;
	struct fleet_driver driver = {.fleet = fleet,
		.models = mem_alloc(robots * sizeof *driver.models),
		.at = mem_alloc(robots * sizeof *driver.at),
		.poses = mem_alloc(robots * sizeof *driver.poses),
		.twists = mem_alloc(robots * sizeof *driver.twists)};
	for (uint32_t i = 0; i < robots; i++) {
		char name[24];
		(void)snprintf(name, sizeof name, "robot_%u", i);
		driver.at[i] = fleet->first[i];
		driver.models[i] = troupe_find_model(server, 0, name);
	}
	return driver;
}

void fleet_driver_destroy(struct fleet_driver *driver)
{
	free(driver->models);
	free(driver->at);
	free(driver->poses);
	free(driver->twists);
}

static double fleet_between(double low, double value, double high)
{
	return fmax(low, fmin(high, value));
}

/* As bench_fleet.py computes it. */
static double fleet_length(double x, double y)
{
	return sqrt(x * x + y * y);
}

/* Feedback as of Kanayama and others, A stable tracking control method for an autonomous mobile robot, ICRA 1990. */
struct troupe_twist fleet_follow(
	struct fleet_driver *driver, uint32_t robot, double time_s, double x, double y, double yaw)
{
	const struct fleet *fleet = driver->fleet;
	uint32_t *at = &driver->at[robot];
	while (*at + 2 < fleet->first[robot + 1] && fleet->rows[*at + 1].time_s <= time_s)
		++*at;
	const struct fleet_row *a = &fleet->rows[*at], *b = a + 1;
	double takes = b->time_s - a->time_s, part = fmin(1, (time_s - a->time_s) / takes);
	double dx = a->x + part * (b->x - a->x) - x, dy = a->y + part * (b->y - a->y) - y;
	double turn = remainder(a->yaw + part * (b->yaw - a->yaw) - yaw, 2 * M_PI);
	double speed = part < 1 ? fleet_length(b->x - a->x, b->y - a->y) / takes : 0;
	double rate = part < 1 ? (b->yaw - a->yaw) / takes : 0;
	double along = cos(yaw) * dx + sin(yaw) * dy, across = cos(yaw) * dy - sin(yaw) * dx;
	double ahead = speed * cos(turn) + ALONG * along;
	rate += speed * ACROSS * across + HEADING * sin(turn);
	if (time_s > 1)
		driver->error_m = fmax(driver->error_m, fleet_length(dx, dy));
	return (struct troupe_twist){
		{fleet_between(-SPEED_MAX, ahead, SPEED_MAX), 0, 0}, {0, 0, fleet_between(-TURN_MAX, rate, TURN_MAX)}};
}

void fleet_drive(struct fleet_driver *driver, struct troupe_server *server, double time_s)
{
	struct troupe_error error;
	const uint32_t robots = driver->fleet->def.robots;
	if (troupe_get_models(server, driver->models, robots, driver->poses, NULL) != robots)
		fleet_die("a robot", "is not there");
	for (uint32_t i = 0; i < robots; i++) {
		const struct troupe_pose *pose = &driver->poses[i];
		driver->twists[i] = fleet_follow(driver, i, time_s, pose->x, pose->y, 2 * atan2(pose->qz, pose->qw));
	}
	if (troupe_command_twists(server, NULL, driver->models, robots, driver->twists, &error))
		fleet_die("a command", error.text);
}
