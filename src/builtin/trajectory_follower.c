/* Moves a model from waypoint to waypoint in the plane. While the direction to the next waypoint differs from the x
 * axis of <link_name> by more than <bearing_tolerance>, a torque about the link's z axis turns the model; otherwise a
 * force along the x axis drives it. Both act at the centre of mass. A waypoint is reached at <range_tolerance>. After
 * the last one the model is still held there, or, with <loop>, the first one is next. Waypoints are given in the world,
 * or by <line> or <circle> about the place where the link is in the first step. Names, defaults and rules are those of
 * Gazebo's TrajectoryFollower. */
#include "builtin/parts.h"

enum { WAYPOINTS_MAX = 1024, CIRCLE_POINTS = 8 };
enum trajectory_flags { BEGUN = 1, STILL = 2 };

#define TRAJECTORY_STILL_RAD (0.1 * M_PI / 180)

struct trajectory_config {
	uint32_t link;
	struct troupe_vec3 centre; /* of mass, in the link */
	uint32_t count;
	double (*points)[2]; /* in the world, or relative to the first pose */
	bool relative;       /* to the first place */
	bool turned;         /* and to the first direction: a line */
	bool loops, stops_turning;
	double force, torque, range, bearing;
	const struct troupe_field *pause;
};

struct trajectory_words {
	uint64_t next; /* waypoint */
	uint64_t paused, flags;
	double x, y, ahead_x, ahead_y; /* where the link was first, and its x axis */
};

static const struct troupe_words trajectory_words_of[] = {
	{"next waypoint", TROUPE_WORD_INTEGER},
	{"paused", TROUPE_WORD_INTEGER},
	{"begun (1), does not turn (2)", TROUPE_WORD_INTEGER},
	{"first x", TROUPE_WORD_DOUBLE},
	{"first y", TROUPE_WORD_DOUBLE},
	{"first direction x", TROUPE_WORD_DOUBLE},
	{"first direction y", TROUPE_WORD_DOUBLE},
	{NULL, TROUPE_WORD_DOUBLE},
};
_Static_assert(sizeof(struct trajectory_words) == (sizeof trajectory_words_of / sizeof *trajectory_words_of - 1) * 8,
	"each word has a name");

static const struct troupe_parameter trajectory_parameters[] = {
	BUILTIN_TEXT("link_name", "the link on which force and torque act"),
	BUILTIN_BOOL("loop", "after the last waypoint comes the first; default false"),
	BUILTIN_PARTS("waypoints", "<waypoint>X Y</waypoint> in the world, m, one or more"),
	BUILTIN_PARTS("line", "<direction>, rad to the left of the link's x axis, and <length>, m"),
	BUILTIN_PARTS("circle", "<radius>, m"),
	BUILTIN_BETWEEN("range_tolerance", 0, BUILTIN_NUMBER_MAX, "m, default 0.5"),
	BUILTIN_BETWEEN("bearing_tolerance", 0, 180, "degrees, default 2"),
	BUILTIN_BOOL("zero_vel_on_bearing_reached",
		"the link stops turning when it points there to 0.1 degrees; default false"),
	BUILTIN_NUMBER("force", "N, default 60"),
	BUILTIN_NUMBER("torque", "N m, default 50"),
	BUILTIN_TEXT("topic", "of a Boolean that pauses; default: /model/NAME/trajectory_follower/pause"),
	BUILTIN_END,
};

static bool trajectory_read_waypoints(
	struct troupe_system *self, const struct troupe_element *at, struct trajectory_config *config)
{
	const struct troupe_host *host = self->host;
	const struct troupe_element *e = NULL;
	config->points = host->alloc(self, WAYPOINTS_MAX * sizeof *config->points);
	while ((e = host->child(at, "waypoint", e))) {
		if (config->count == WAYPOINTS_MAX)
			return host->refuse(self, e, "one waypoint more: expected at most %d", (int)WAYPOINTS_MAX);
		if (!builtin_numbers_of(host->text_of(e), config->points[config->count++], 2))
			return host->refuse(
				self, e, "<waypoint> is '%.80s': expected two numbers, x and y in m", host->text_of(e));
	}
	return config->count || host->refuse(self, at, "<waypoints> has no <waypoint>: expected one or more");
}

/* The number of a child that must be there. */
static bool trajectory_read_number(
	struct troupe_system *self, const struct troupe_element *at, const char *name, double *ret_value)
{
	const struct troupe_element *e = self->host->child(at, name, NULL);
	if (!e)
		return self->host->refuse(
			self, at, "<%s> has no <%s>: expected a number", self->host->name_of(at), name);
	return builtin_numbers_of(self->host->text_of(e), ret_value, 1) ||
	       self->host->refuse(self, e, "<%s> is '%.80s': expected a number", name, self->host->text_of(e));
}

static bool trajectory_read_line(
	struct troupe_system *self, const struct troupe_element *at, struct trajectory_config *config)
{
	double direction, length;
	if (!trajectory_read_number(self, at, "direction", &direction) ||
		!trajectory_read_number(self, at, "length", &length))
		return false;
	config->relative = config->turned = true;
	config->count = 2; /* the first is where it began */
	config->points = self->host->alloc(self, config->count * sizeof *config->points);
	config->points[1][0] = length * self->host->cos(direction);
	config->points[1][1] = length * self->host->sin(direction);
	return true;
}

static bool trajectory_read_circle(
	struct troupe_system *self, const struct troupe_element *at, struct trajectory_config *config)
{
	double radius;
	if (!trajectory_read_number(self, at, "radius", &radius))
		return false;
	config->relative = true;
	config->count = CIRCLE_POINTS;
	config->points = self->host->alloc(self, config->count * sizeof *config->points);
	for (uint32_t i = 0; i < config->count; i++) {
		double angle = 2 * M_PI * i / CIRCLE_POINTS;
		config->points[i][0] = radius * self->host->cos(angle);
		config->points[i][1] = radius * self->host->sin(angle);
	}
	return true;
}

static bool trajectory_read_way(
	struct troupe_system *self, const struct troupe_element *plugin, struct trajectory_config *config)
{
	const struct troupe_host *host = self->host;
	const struct troupe_element *e;
	if ((e = host->child(plugin, "waypoints", NULL)))
		return trajectory_read_waypoints(self, e, config);
	if ((e = host->child(plugin, "circle", NULL)))
		return trajectory_read_circle(self, e, config);
	if ((e = host->child(plugin, "line", NULL)))
		return trajectory_read_line(self, e, config);
	return host->leave_out(self, plugin, "the plugin has no way: expected <waypoints>, <circle> or <line>");
}

static bool trajectory_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct trajectory_config *config = self->config = host->alloc(self, sizeof *config);
	const struct troupe_element *name = host->child(plugin, "link_name", NULL);
	if (!host->must_move(self))
		return false;
	if (!name)
		return host->leave_out(self, plugin, "the plugin has no <link_name>: expected the name of a link");
	config->link = host->link(self, name, host->text_of(name));
	config->pause = host->field(self, "gz.msgs.Boolean", "data");
	if (config->link == TROUPE_NOTHING || !trajectory_read_way(self, plugin, config))
		return false;
	config->centre = host->link_inertia(self, config->link).centre;
	config->loops = host->boolean(self, plugin, "loop", false);
	config->stops_turning = host->boolean(self, plugin, "zero_vel_on_bearing_reached", false);
	config->force = host->number(self, plugin, "force", 60);
	config->torque = host->number(self, plugin, "torque", 50);
	config->range = host->number(self, plugin, "range_tolerance", 0.5);
	config->bearing = host->number(self, plugin, "bearing_tolerance", 2) * M_PI / 180;
	return builtin_take(self, plugin, "topic", "trajectory_follower/pause", "gz.msgs.Boolean", 0);
}

static void trajectory_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	(void)input;
	((struct trajectory_words *)words)->paused =
		self->host->get(message, ((const struct trajectory_config *)self->config)->pause, 0) != 0;
}

/* The waypoint in the world, at the height of the link. */
static struct troupe_vec3 trajectory_goal_of(
	const struct trajectory_config *config, const struct trajectory_words *w, double height)
{
	const double *point = config->points[w->next % config->count];
	double x = point[0], y = point[1];
	if (config->turned) {
		x = point[0] * w->ahead_x - point[1] * w->ahead_y;
		y = point[0] * w->ahead_y + point[1] * w->ahead_x;
	}
	return config->relative ? troupe_vec3_make(w->x + x, w->y + y, height) : troupe_vec3_make(x, y, height);
}

static void trajectory_begin(struct trajectory_words *w, struct troupe_pose pose)
{
	struct troupe_vec3 ahead = troupe_quat_rotate(troupe_pose_turn(pose), troupe_vec3_make(1, 0, 0));
	w->flags |= BEGUN;
	w->x = pose.x;
	w->y = pose.y;
	w->ahead_x = ahead.x;
	w->ahead_y = ahead.y;
}

static void trajectory_reach(const struct trajectory_config *config, struct trajectory_words *w)
{
	if (w->next + 1 < config->count)
		w->next++;
	else if (config->loops)
		w->next = 0;
}

/* As in Gazebo the link begins to be held almost exactly there, and is held until it must turn again. */
static void trajectory_hold_still(
	const struct troupe_system *self, const struct troupe_step *step, struct trajectory_words *w, double bearing)
{
	const struct troupe_host *host = self->host;
	const struct trajectory_config *config = self->config;
	if (fabs(bearing) > config->bearing)
		w->flags &= ~(uint64_t)STILL;
	else if (fabs(bearing) <= TRAJECTORY_STILL_RAD)
		w->flags |= STILL;
	if (!(w->flags & STILL))
		return;
	struct troupe_twist twist = host->link_twist(step, config->link, TROUPE_NOW);
	twist.angular = troupe_vec3_make(0, 0, 0);
	host->link_drive(step, config->link, twist);
}

static void trajectory_move(const struct troupe_system *self, const struct troupe_step *step, struct troupe_pose pose,
	struct trajectory_words *w, double bearing)
{
	const struct troupe_host *host = self->host;
	const struct trajectory_config *config = self->config;
	bool turns = fabs(bearing) > config->bearing;
	struct troupe_vec3 force = troupe_vec3_make(turns ? 0 : config->force, 0, 0);
	struct troupe_vec3 torque = troupe_vec3_make(0, 0, turns ? copysign(config->torque, bearing) : 0);
	struct troupe_quat q = troupe_pose_turn(pose);
	host->link_force(step, config->link, config->centre,
		(struct troupe_wrench){troupe_quat_rotate(q, force), troupe_quat_rotate(q, torque)});
	if (config->stops_turning)
		trajectory_hold_still(self, step, w, bearing);
}

static void trajectory_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct troupe_host *host = self->host;
	const struct trajectory_config *config = self->config;
	struct trajectory_words *w = words;
	if (w->paused)
		return;
	struct troupe_pose pose = host->link_pose(step, config->link, TROUPE_NOW);
	if (!(w->flags & BEGUN))
		trajectory_begin(w, pose);
	struct troupe_vec3 way = troupe_vec3_sub(trajectory_goal_of(config, w, pose.z), troupe_pose_place(pose));
	if (troupe_vec3_length(way) <= config->range) {
		trajectory_reach(config, w);
		return;
	}
	way = troupe_quat_rotate(troupe_quat_inverse(troupe_pose_turn(pose)), way);
	trajectory_move(self, step, pose, w, host->atan2(way.y, way.x));
}

const struct troupe_kind builtin_trajectory_follower = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("TrajectoryFollower"),
	.parameters = trajectory_parameters,
	.words = trajectory_words_of,
	.configure = trajectory_configure,
	.command = trajectory_command,
	.pre_update = trajectory_pre_update,
};
