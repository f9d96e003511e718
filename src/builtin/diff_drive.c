/* Drives the left and right wheels by a Twist: linear.x is forward, angular.z is to the left. A command is limited in
 * jerk, then in acceleration, then in velocity, relative to the last two steps, as in Gazebo. Odometry is dead
 * reckoning from the first wheel of each side; it is published at <odom_publish_frequency>. */
#include "builtin/parts.h"

#include <string.h>

enum input { INPUT_VELOCITY, INPUT_ENABLE };

struct limits {
	double velocity_min, velocity_max, acceleration_min, acceleration_max, jerk_min, jerk_max;
};

struct config {
	struct builtin_joints left, right;
	double separation, radius;
	struct limits linear, angular;
	struct troupe_pose
		axle; /* centre between the first wheel of each side, x ahead, y to the left; in the model's frame */
	const struct troupe_field *ahead, *turn, *enable;
};

struct speed {
	double linear, angular;
};

struct words {
	struct speed target;       /* the present command */
	struct speed last, before; /* speeds commanded in the last step and in the one before it */
	uint64_t disabled;
	double x, y, yaw; /* odometry relative to the initial pose; yaw counts full turns */
	struct speed measured;
};

static const struct troupe_words words_of[] = {
	{"target linear", TROUPE_WORD_DOUBLE},
	{"target angular", TROUPE_WORD_DOUBLE},
	{"last linear", TROUPE_WORD_DOUBLE},
	{"last angular", TROUPE_WORD_DOUBLE},
	{"linear before", TROUPE_WORD_DOUBLE},
	{"angular before", TROUPE_WORD_DOUBLE},
	{"disabled", TROUPE_WORD_INTEGER},
	{"odometry x", TROUPE_WORD_DOUBLE},
	{"odometry y", TROUPE_WORD_DOUBLE},
	{"odometry yaw", TROUPE_WORD_DOUBLE},
	{"measured linear", TROUPE_WORD_DOUBLE},
	{"measured angular", TROUPE_WORD_DOUBLE},
	{NULL, TROUPE_WORD_DOUBLE},
};
_Static_assert(sizeof(struct words) == (sizeof words_of / sizeof *words_of - 1) * 8, "each word has a name");

/* The three limits of a velocity; a name without linear or angular is for both. */
#define LIMITS(of, unit)                                                                                               \
	BUILTIN_NUMBER("min_" of "velocity", unit "/s"), BUILTIN_NUMBER("max_" of "velocity", unit "/s"),              \
		BUILTIN_BETWEEN("min_" of "acceleration", -BUILTIN_NUMBER_MAX, 0, unit "/s2"),                         \
		BUILTIN_BETWEEN("max_" of "acceleration", 0, BUILTIN_NUMBER_MAX, unit "/s2"),                          \
		BUILTIN_BETWEEN("min_" of "jerk", -BUILTIN_NUMBER_MAX, 0, unit "/s3"),                                 \
		BUILTIN_BETWEEN("max_" of "jerk", 0, BUILTIN_NUMBER_MAX, unit "/s3")

static const struct troupe_parameter parameters[] = {
	BUILTIN_TEXT("left_joint", "a wheel's joint on the left"),
	BUILTIN_TEXT("right_joint", "a wheel's joint on the right"),
	BUILTIN_BETWEEN("wheel_separation", 1e-6, 1e6, "m, default 1"),
	BUILTIN_BETWEEN("wheel_radius", 1e-6, 1e6, "m, default 0.2"),
	LIMITS("", "m or rad"),
	LIMITS("linear_", "m"),
	LIMITS("angular_", "rad"),
	BUILTIN_BETWEEN("odom_publish_frequency", 0, BUILTIN_NUMBER_MAX, "Hz, default 50; 0: in each step"),
	BUILTIN_TEXT("topic", "of the Twist; default: /model/NAME/cmd_vel"),
	BUILTIN_TEXT("odom_topic", "default: /model/NAME/odometry"),
	BUILTIN_TEXT("tf_topic", "default: /model/NAME/tf"),
	BUILTIN_TEXT("frame_id", "default: NAME/odom"),
	BUILTIN_TEXT("child_frame_id", "default: NAME/LINK"),
	BUILTIN_END,
};

/* The older names set linear and angular limits; the newer names are read after them and override them. */
static void read_limits(
	struct troupe_system *self, const struct troupe_element *plugin, const char *of, struct limits *limits)
{
	const struct {
		const char *least, *name;
		double *value;
	} rows[] = {
		{"min", "velocity", &limits->velocity_min},
		{"max", "velocity", &limits->velocity_max},
		{"min", "acceleration", &limits->acceleration_min},
		{"max", "acceleration", &limits->acceleration_max},
		{"min", "jerk", &limits->jerk_min},
		{"max", "jerk", &limits->jerk_max},
	};
	const struct troupe_host *host = self->host;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		*rows[i].value = host->number(
			self, plugin, host->print(self, "%s_%s%s", rows[i].least, of, rows[i].name), *rows[i].value);
}

static bool check_limits(
	struct troupe_system *self, const struct troupe_element *plugin, const struct limits *limits, const char *what)
{
	return limits->velocity_min <= limits->velocity_max ||
	       self->host->refuse(self, plugin, "the least %s velocity, %g, is above the greatest: expected at most %g",
		       what, limits->velocity_min, limits->velocity_max);
}

static bool read_numbers(struct troupe_system *self, const struct troupe_element *plugin, struct config *config)
{
	struct limits both = {-HUGE_VAL, HUGE_VAL, -HUGE_VAL, HUGE_VAL, -HUGE_VAL, HUGE_VAL};
	config->separation = self->host->number(self, plugin, "wheel_separation", 1.0);
	config->radius = self->host->number(self, plugin, "wheel_radius", 0.2);
	read_limits(self, plugin, "", &both);
	config->linear = config->angular = both;
	read_limits(self, plugin, "linear_", &config->linear);
	read_limits(self, plugin, "angular_", &config->angular);
	return check_limits(self, plugin, &config->linear, "linear") &&
	       check_limits(self, plugin, &config->angular, "angular");
}

static bool read_wheels(struct troupe_system *self, const struct troupe_element *plugin, struct config *config)
{
	if (!builtin_find_joints(self, plugin, "left_joint", &config->left) ||
		!builtin_find_joints(self, plugin, "right_joint", &config->right))
		return false;
	return config->left.at[0] != config->right.at[0] ||
	       self->host->refuse(self, plugin, "joint '%s' is a left and a right joint: expected two joints",
		       config->left.first_name);
}

/* The frame of the odometry; it does not depend on the model's origin. */
static struct troupe_pose axle_of(const struct troupe_system *self, const struct config *config)
{
	const struct troupe_host *host = self->host;
	struct troupe_vec3 left = host->joint_in_model(self, config->left.at[0]);
	struct troupe_vec3 right = host->joint_in_model(self, config->right.at[0]);
	struct troupe_vec3 across = troupe_vec3_sub(left, right);
	double half = host->atan2(-across.x, across.y) / 2;
	struct troupe_quat q = {host->cos(half), 0, 0, host->sin(half)};
	return troupe_pose_make(troupe_vec3_scale(troupe_vec3_add(left, right), 0.5), q);
}

/* Topics, frames and rate as Gazebo names them. */
static bool give(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	const char *model = host->owner_name(self);
	const char *body = host->link_name(self, host->frame_link(self)), *link = strrchr(body, ':');
	struct troupe_output output = {
		.gives = TROUPE_GIVES_ODOMETRY,
		.rate_hz = host->number(self, plugin, "odom_publish_frequency", 50),
		.frame = host->text(plugin, "frame_id", host->print(self, "%s/odom", model)),
		.child_frame =
			host->text(plugin, "child_frame_id", host->print(self, "%s/%s", model, link ? link + 1 : body)),
	};
	if (!builtin_give(self, plugin, "odom_topic", host->print(self, "model/%s/odometry", model), &output, NULL))
		return false;
	output.gives = TROUPE_GIVES_TF;
	return builtin_give(self, plugin, "tf_topic", host->print(self, "model/%s/tf", model), &output, NULL);
}

static bool configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct config *config = self->config = host->alloc(self, sizeof *config);
	config->ahead = host->field(self, "gz.msgs.Twist", "linear.x");
	config->turn = host->field(self, "gz.msgs.Twist", "angular.z");
	config->enable = host->field(self, "gz.msgs.Boolean", "data");
	if (!read_wheels(self, plugin, config) || !read_numbers(self, plugin, config))
		return false;
	config->axle = axle_of(self, config);
	return builtin_take(self, plugin, "topic", "cmd_vel", "gz.msgs.Twist", INPUT_VELOCITY) &&
	       builtin_take(self, plugin, NULL, "enable", "gz.msgs.Boolean", INPUT_ENABLE) && give(self, plugin);
}

static void command(const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct config *config = self->config;
	struct words *w = words;
	if (input == INPUT_ENABLE) {
		w->disabled = self->host->get(message, config->enable, 0) == 0;
		if (w->disabled)
			w->target = (struct speed){0, 0};
	} else if (!w->disabled) {
		w->target = (struct speed){
			self->host->get(message, config->ahead, 0), self->host->get(message, config->turn, 0)};
	}
}

/* Changes `value` only if it is out of bounds, so that a value within bounds keeps its bits. */
static double limit(double value, const struct limits *limits, double last, double before, double dt)
{
	double was = (last - before) / dt, jerk = ((value - last) / dt - was) / dt;
	if (jerk < limits->jerk_min || jerk > limits->jerk_max)
		value = last + (was + builtin_clamp(jerk, limits->jerk_min, limits->jerk_max) * dt) * dt;
	double acceleration = (value - last) / dt;
	if (acceleration < limits->acceleration_min || acceleration > limits->acceleration_max)
		value = last + builtin_clamp(acceleration, limits->acceleration_min, limits->acceleration_max) * dt;
	return builtin_clamp(value, limits->velocity_min, limits->velocity_max);
}

static void pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct config *config = self->config;
	struct words *w = words;
	struct speed now = {
		limit(w->target.linear, &config->linear, w->last.linear, w->before.linear, step->dt),
		limit(w->target.angular, &config->angular, w->last.angular, w->before.angular, step->dt),
	};
	w->before = w->last;
	w->last = now;
	double turn = now.angular * config->separation / 2;
	builtin_drive(self, step, &config->left, (now.linear - turn) / config->radius);
	builtin_drive(self, step, &config->right, (now.linear + turn) / config->radius);
}

/* The distance that the first wheel of a side rolled in the step. */
static double rolled(const struct troupe_system *self, const struct troupe_step *step,
	const struct builtin_joints *wheels, double radius)
{
	double now = self->host->joint_position(step, wheels->at[0], 0, TROUPE_NOW);
	double next = self->host->joint_position(step, wheels->at[0], 0, TROUPE_NEXT);
	return (next - now) * radius;
}

/* The chord of an arc of length 1, which has the direction in the middle of the arc: sin(turn / 2) / (turn / 2), by its
 * series where that is exact to the last place. */
static double chord_of(const struct troupe_host *host, double turn)
{
	double half = turn / 2, square = half * half;
	if (square < 0.01)
		return 1 - square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72)));
	return host->sin(half) / half;
}

static void post_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct config *config = self->config;
	struct words *w = words;
	double left = rolled(self, step, &config->left, config->radius);
	double right = rolled(self, step, &config->right, config->radius);
	double ahead = (left + right) / 2, turn = (right - left) / config->separation;
	double chord = ahead * chord_of(self->host, turn), sine, cosine;
	self->host->sincos(w->yaw + turn / 2, &sine, &cosine);
	w->x += chord * cosine;
	w->y += chord * sine;
	w->yaw += turn;
	w->measured = (struct speed){ahead / step->dt, turn / step->dt};
}

static void reckon(const struct troupe_system *self, const void *words, struct troupe_reckoning *ret_reckoning)
{
	const struct words *w = words;
	*ret_reckoning = (struct troupe_reckoning){((const struct config *)self->config)->axle, w->x, w->y, w->yaw,
		w->measured.linear, w->measured.angular};
}

const struct troupe_kind builtin_diff_drive = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("DiffDrive"),
	.parameters = parameters,
	.words = words_of,
	.configure = configure,
	.command = command,
	.pre_update = pre_update,
	.post_update = post_update,
	.reckon = reckon,
};
