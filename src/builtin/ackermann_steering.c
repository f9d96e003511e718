/* Steers a car by the angles of its front wheels. A Twist has the speed v (linear.x) and the rate of turn w (angular.z)
 * of the middle of the rear axle. It drives on a circle of radius r = v / w about a point on the line of that axle, at
 * least wheel_base / sin(steering_limit); for w = 0 straight ahead. All axles point to the centre of the circle:
 *
 *     tan(left angle) = wheel_base / (r - kingpin_width / 2)     right: +
 *     rim of the left wheels = v (1 - wheel_separation / (2 r))  right: +
 *
 * With <turn_is_angle> angular.z is the angle a of a wheel in the middle while the car drives forwards, at most
 * <steering_limit>; backwards it turns to the same side. So r = wheel_base / tan(a). That is how ROS's plug-in of
 * Gazebo Classic reads a Twist.
 *
 * With <steering_only> a number is the angle a of a wheel in the middle, and no wheel is driven. The same circle, with
 * r = wheel_base / tan(a) and the wheel separation for the kingpins'. The speed of a steering joint, in rad/s, comes
 * from the error of its angle by a PID that begins anew in each step: so with an error e and a step of dt it is
 * p e + i e dt + d e / dt.
 *
 * Odometry is dead reckoning of the middle of the rear axle, from the first wheel of each side and the mean angle of
 * the first steering joints. Parameters, limits and formulas are those of Gazebo's AckermannSteering. */
#include "builtin/parts.h"

#define STRAIGHT_RAD_S 0.001 /* a slower turn is none */
#define STRAIGHT_M 1e9       /* the radius of a straight line */
#define STEER_MAX_RAD 1.57   /* less than a right angle, at which the front axle would stand across the way */

struct ackermann_steering_config {
	bool steering_only, turn_is_angle;
	struct builtin_joints left, right, left_steering, right_steering;
	struct builtin_input input; /* of steering only */
	double separation, kingpins, base, radius, steering_limit;
	struct builtin_pid pid; /* from the error of a steering joint to its speed */
	struct builtin_limits limits;
	struct troupe_pose axle; /* the middle of the rear axle, x ahead, y to the left; in the model's frame */
	const struct troupe_field *ahead, *turn;
};

struct ackermann_steering_words {
	double target_ahead, target_turn; /* turn: with steering_only an angle */
	double last_ahead, last_turn;     /* commanded in the last step */
	double ahead_before, turn_before; /* in the step before it */
	struct builtin_reckoned reckoned;
	double measured_ahead, measured_turn;
};

static const struct troupe_words ackermann_steering_words_of[] = {
	{"target ahead", TROUPE_WORD_DOUBLE},
	{"target turn", TROUPE_WORD_DOUBLE},
	{"last ahead", TROUPE_WORD_DOUBLE},
	{"last turn", TROUPE_WORD_DOUBLE},
	{"ahead before", TROUPE_WORD_DOUBLE},
	{"turn before", TROUPE_WORD_DOUBLE},
	BUILTIN_RECKONED_WORDS,
	{"measured ahead", TROUPE_WORD_DOUBLE},
	{"measured turn", TROUPE_WORD_DOUBLE},
	{NULL, TROUPE_WORD_DOUBLE},
};
_Static_assert(sizeof(struct ackermann_steering_words) ==
		       (sizeof ackermann_steering_words_of / sizeof *ackermann_steering_words_of - 1) * 8,
	"each word has a name");

static const struct troupe_parameter ackermann_steering_parameters[] = {
	BUILTIN_TEXT("left_joint", "a driven wheel's joint on the left"),
	BUILTIN_TEXT("right_joint", "a driven wheel's joint on the right"),
	BUILTIN_TEXT("left_steering_joint", "the joint that steers the left front wheel"),
	BUILTIN_TEXT("right_steering_joint", "the joint that steers the right front wheel"),
	BUILTIN_BETWEEN("wheel_separation", 1e-6, 1e6, "m, between left and right wheels; default 1"),
	BUILTIN_BETWEEN("kingpin_width", 1e-6, 1e6, "m, between the steering joints; default 0.8"),
	BUILTIN_BETWEEN("wheel_base", 1e-6, 1e6, "m, between front and rear wheels; default 1"),
	BUILTIN_BETWEEN("steering_limit", 1e-6, STEER_MAX_RAD, "rad, default 0.5"),
	BUILTIN_BETWEEN("wheel_radius", 1e-6, 1e6, "m, default 0.2"),
	BUILTIN_BOOL("steering_only", "messages are Doubles with an angle; default false"),
	BUILTIN_BOOL("turn_is_angle", "angular.z is an angle; default false (not Gazebo's)"),
	BUILTIN_ACTUATORS,
	BUILTIN_NUMBER("steer_p_gain", "1/s, default 1"),
	BUILTIN_NUMBER("steer_i_gain", "1/s2, default 0"),
	BUILTIN_NUMBER("steer_d_gain", "default 0"),
	BUILTIN_NUMBER("steer_i_max", "rad/s, greatest part of the integral; default 0"),
	BUILTIN_NUMBER("steer_i_min", "rad/s, least part; default 0"),
	BUILTIN_NUMBER("steer_cmd_max", "rad/s, greatest speed of a steering joint; default 1000"),
	BUILTIN_NUMBER("steer_cmd_min", "rad/s, least speed; default -1000"),
	BUILTIN_NUMBER("steer_cmd_offset", "rad/s, is added to the speed; default 0"),
	BUILTIN_LIMITS("", "m or rad"),
	BUILTIN_TEXT("topic", "default: /model/NAME/cmd_vel, steer_angle or /actuators"),
	BUILTIN_TEXT("sub_topic", "the same, after /model/NAME/"),
	BUILTIN_ODOMETRY,
	BUILTIN_END,
};

static bool ackermann_steering_read_joints(
	struct troupe_system *self, const struct troupe_element *plugin, struct ackermann_steering_config *config)
{
	if (!builtin_find_joints(self, plugin, "left_steering_joint", &config->left_steering) ||
		!builtin_find_joints(self, plugin, "right_steering_joint", &config->right_steering))
		return false;
	if (config->left_steering.at[0] == config->right_steering.at[0])
		return self->host->refuse(self, plugin, "joint '%s' steers left and right: expected two joints",
			config->left_steering.first_name);
	return config->steering_only || (builtin_find_joints(self, plugin, "left_joint", &config->left) &&
						builtin_find_joints(self, plugin, "right_joint", &config->right));
}

static bool ackermann_steering_read_numbers(
	struct troupe_system *self, const struct troupe_element *plugin, struct ackermann_steering_config *config)
{
	const struct troupe_host *host = self->host;
	config->separation = host->number(self, plugin, "wheel_separation", 1);
	config->kingpins =
		config->steering_only ? config->separation : host->number(self, plugin, "kingpin_width", 0.8);
	config->base = host->number(self, plugin, "wheel_base", 1);
	config->radius = host->number(self, plugin, "wheel_radius", 0.2);
	config->steering_limit = host->number(self, plugin, "steering_limit", 0.5);
	config->pid = (struct builtin_pid){.p = 1, .cmd_max = 1000, .cmd_min = -1000};
	builtin_read_pid(self, plugin, "steer_", &config->pid);
	config->limits = builtin_unlimited();
	if (config->pid.cmd_min > config->pid.cmd_max)
		return host->refuse(self, plugin, "<steer_cmd_min> is %g, above <steer_cmd_max>: expected at most %g",
			config->pid.cmd_min, config->pid.cmd_max);
	return builtin_read_limits(self, plugin, "", &config->limits);
}

static bool ackermann_steering_take(
	struct troupe_system *self, const struct troupe_element *plugin, const struct ackermann_steering_config *config)
{
	const struct troupe_host *host = self->host;
	const struct troupe_element *sub = host->child(plugin, "sub_topic", NULL), *at;
	bool named = sub || host->child(plugin, "topic", NULL);
	const char *type = !config->steering_only ? "gz.msgs.Twist"
			   : config->input.list   ? "gz.msgs.Actuators"
						  : "gz.msgs.Double";
	if (config->input.list && !named)
		return host->take(self, plugin, "actuators", type, 0, TROUPE_NOTHING);
	const char *usual = sub ? host->text_of(sub) : config->steering_only ? "steer_angle" : "cmd_vel";
	const char *topic = builtin_topic(self, plugin, "topic", usual, &at);
	return host->take(self, at, topic, type, 0, TROUPE_NOTHING);
}

static bool ackermann_steering_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct ackermann_steering_config *config = self->config = host->alloc(self, sizeof *config);
	config->ahead = host->field(self, "gz.msgs.Twist", "linear.x");
	config->turn = host->field(self, "gz.msgs.Twist", "angular.z");
	config->steering_only = host->boolean(self, plugin, "steering_only", false) ||
				host->boolean(self, plugin, "use_actuator_msg", false);
	config->turn_is_angle = host->boolean(self, plugin, "turn_is_angle", false);
	if (!ackermann_steering_read_joints(self, plugin, config) ||
		!ackermann_steering_read_numbers(self, plugin, config))
		return false;
	if (config->steering_only)
		return builtin_read_input(self, plugin, "position", &config->input) &&
		       ackermann_steering_take(self, plugin, config);
	config->axle = builtin_axle(self, config->left_steering.at[0], config->right_steering.at[0], config->base);
	return ackermann_steering_take(self, plugin, config) && builtin_give_odometry(self, plugin);
}

static bool ackermann_steering_check(const struct troupe_system *self, uint32_t input,
	const struct troupe_message *message, char why[TROUPE_WHY_BYTES])
{
	const struct ackermann_steering_config *config = self->config;
	(void)input;
	return !config->steering_only ||
	       builtin_check_input(self, &config->input, config->left_steering.first_name, message, why);
}

static void ackermann_steering_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct ackermann_steering_config *config = self->config;
	struct ackermann_steering_words *w = words;
	(void)input;
	if (config->steering_only) {
		w->target_turn = builtin_input_of(self, &config->input, message, w->target_turn);
		return;
	}
	w->target_ahead = self->host->get(message, config->ahead, 0);
	w->target_turn = self->host->get(message, config->turn, 0);
}

/* Limits both commands, and remembers them. */
static void ackermann_steering_follow(const struct ackermann_steering_config *config, const struct troupe_step *step,
	struct ackermann_steering_words *w)
{
	double ahead = builtin_limit(w->target_ahead, &config->limits, w->last_ahead, w->ahead_before, step->dt);
	double turn = builtin_limit(w->target_turn, &config->limits, w->last_turn, w->turn_before, step->dt);
	if (config->steering_only || config->turn_is_angle)
		turn = builtin_clamp(turn, -config->steering_limit, config->steering_limit);
	w->ahead_before = w->last_ahead;
	w->turn_before = w->last_turn;
	w->last_ahead = ahead;
	w->last_turn = turn;
}

/* The radius of the circle that this angle of a wheel in the middle makes. */
static double ackermann_steering_radius(
	const struct troupe_host *host, const struct ackermann_steering_config *config, double angle)
{
	return angle == 0 ? STRAIGHT_M : config->base / host->tan(angle);
}

/* The radius of the circle to the left; negative: to the right. */
static double ackermann_steering_radius_of(const struct troupe_host *host,
	const struct ackermann_steering_config *config, const struct ackermann_steering_words *w)
{
	double least = config->base / host->sin(config->steering_limit);
	if (config->steering_only)
		return ackermann_steering_radius(host, config, w->last_turn);
	if (config->turn_is_angle)
		return ackermann_steering_radius(host, config, copysign(w->last_turn, w->last_turn * w->last_ahead));
	if (fabs(w->last_turn) < STRAIGHT_RAD_S)
		return STRAIGHT_M;
	double radius = w->last_ahead / w->last_turn;
	if (w->last_ahead == 0)
		return copysign(least, w->last_turn);
	return fabs(radius) < least ? copysign(least, radius) : radius;
}

/* Turns the steering joints of one side; along: from the centre of the circle to the kingpin. */
static void ackermann_steering_steer(const struct troupe_system *self, const struct troupe_step *step,
	const struct builtin_joints *joints, double along)
{
	const struct ackermann_steering_config *config = self->config;
	double angle = self->host->atan2(along < 0 ? -config->base : config->base, fabs(along));
	double error = self->host->joint_position(step, joints->at[0], 0, TROUPE_NOW) - angle;
	struct builtin_pid_words anew = {0};
	builtin_drive(self, step, joints, builtin_pid_update(&config->pid, &anew, error, step->dt));
}

static void ackermann_steering_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct ackermann_steering_config *config = self->config;
	struct ackermann_steering_words *w = words;
	ackermann_steering_follow(config, step, w);
	double radius = ackermann_steering_radius_of(self->host, config, w);
	ackermann_steering_steer(self, step, &config->left_steering, radius - config->kingpins / 2);
	ackermann_steering_steer(self, step, &config->right_steering, radius + config->kingpins / 2);
	if (config->steering_only)
		return;
	double outer = config->separation / (2 * radius);
	builtin_drive(self, step, &config->left, w->last_ahead * (1 - outer) / config->radius);
	builtin_drive(self, step, &config->right, w->last_ahead * (1 + outer) / config->radius);
}

static double ackermann_steering_rolled(
	const struct troupe_system *self, const struct troupe_step *step, uint32_t joint)
{
	return self->host->joint_position(step, joint, 0, TROUPE_NEXT) -
	       self->host->joint_position(step, joint, 0, TROUPE_NOW);
}

/* 1 / r of the circle that the steering joints make: r is the mean of those of the two sides. */
static double ackermann_steering_bend_of(const struct troupe_system *self, const struct troupe_step *step)
{
	const struct troupe_host *host = self->host;
	const struct ackermann_steering_config *config = self->config;
	double left = host->tan(host->joint_position(step, config->left_steering.at[0], 0, TROUPE_NEXT));
	double right = host->tan(host->joint_position(step, config->right_steering.at[0], 0, TROUPE_NEXT));
	double mean = left * right > 0 ? 2 * left * right / (left + right) : (left + right) / 2;
	return mean / config->base;
}

static void ackermann_steering_post_update(
	const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct ackermann_steering_config *config = self->config;
	struct ackermann_steering_words *w = words;
	if (config->steering_only)
		return;
	double ahead = (ackermann_steering_rolled(self, step, config->left.at[0]) +
			       ackermann_steering_rolled(self, step, config->right.at[0])) /
		       2 * config->radius;
	double turn = ahead * ackermann_steering_bend_of(self, step);
	builtin_reckon(self->host, &w->reckoned, ahead, turn);
	w->measured_ahead = ahead / step->dt;
	w->measured_turn = turn / step->dt;
}

/* Without driven wheels there is no odometry: then a number is not finite. */
static void ackermann_steering_reckon(
	const struct troupe_system *self, const void *words, struct troupe_reckoning *ret_reckoning)
{
	const struct ackermann_steering_config *config = self->config;
	const struct ackermann_steering_words *w = words;
	*ret_reckoning = (struct troupe_reckoning){config->axle, config->steering_only ? (double)NAN : w->reckoned.x,
		w->reckoned.y, w->reckoned.yaw, w->measured_ahead, w->measured_turn};
}

const struct troupe_kind builtin_ackermann_steering = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT | TROUPE_RESTS,
	.names = BUILTIN_NAMES("AckermannSteering"),
	.parameters = ackermann_steering_parameters,
	.words = ackermann_steering_words_of,
	.configure = ackermann_steering_configure,
	.check = ackermann_steering_check,
	.command = ackermann_steering_command,
	.pre_update = ackermann_steering_pre_update,
	.post_update = ackermann_steering_post_update,
	.reckon = ackermann_steering_reckon,
};
