/* Drives a model to a pose on the ground, by a Twist on /model/NAME/cmd_vel, which a drive of the model obeys:
 *
 *     farther than linear_deviation: turn towards the place with angular_p_gain times the error of the heading, and
 *                                    when this is at most angular_deviation, go ahead with linear_p_gain times the way
 *     else:                          turn to the wanted heading in the same way
 *
 * When both errors are small enough, the model gets a Twist of 0, and its pose is published on
 * /model/NAME/reached_pose. Formulas, parameters, defaults and topics are those of Gazebo's DriveToPoseController; but
 * the pose is the model's own one in the world, in each step, and not what an OdometryPublisher makes of it. */
#include "builtin/parts.h"

#include <stdio.h>

enum { PLACE = 3, DRIVE_TO_POSE_TURN = 4 };

struct drive_to_pose_config {
	double linear_gain, angular_gain, linear_deviation, angular_deviation;
	uint32_t velocity, reached;
	const struct troupe_field *poses, *place[PLACE], *turn[DRIVE_TO_POSE_TURN], *ahead, *left;
};

struct drive_to_pose_words {
	uint64_t driving;
	double x, y, yaw; /* wanted */
};

static const struct troupe_words drive_to_pose_words_of[] = {{"driving", TROUPE_WORD_INTEGER},
	{"wanted x", TROUPE_WORD_DOUBLE}, {"wanted y", TROUPE_WORD_DOUBLE}, {"wanted yaw", TROUPE_WORD_DOUBLE},
	{NULL, TROUPE_WORD_DOUBLE}};

static const struct troupe_parameter drive_to_pose_parameters[] = {
	BUILTIN_NUMBER("linear_p_gain", "m/s per m, default 1"),
	BUILTIN_NUMBER("angular_p_gain", "rad/s per rad, default 2"),
	BUILTIN_BETWEEN("linear_deviation", 0, BUILTIN_NUMBER_MAX, "m, near enough, default 0.1"),
	BUILTIN_BETWEEN("angular_deviation", 0, BUILTIN_NUMBER_MAX, "rad, near enough, default 0.05"),
	BUILTIN_END,
};

static bool drive_to_pose_find_fields(struct troupe_system *self, struct drive_to_pose_config *config)
{
	static const char *const place[PLACE] = {"position.x", "position.y", "position.z"};
	static const char *const turn[DRIVE_TO_POSE_TURN] = {
		"orientation.w", "orientation.x", "orientation.y", "orientation.z"};
	const struct troupe_host *host = self->host;
	for (int i = 0; i < PLACE; i++)
		config->place[i] = host->field(self, "gz.msgs.Pose", place[i]);
	for (int i = 0; i < DRIVE_TO_POSE_TURN; i++)
		config->turn[i] = host->field(self, "gz.msgs.Pose", turn[i]);
	config->poses = host->field(self, "gz.msgs.Pose_V", "pose");
	config->ahead = host->field(self, "gz.msgs.Twist", "linear.x");
	config->left = host->field(self, "gz.msgs.Twist", "angular.z");
	return config->poses && config->ahead && config->left;
}

static bool drive_to_pose_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct drive_to_pose_config *config = self->config = host->alloc(self, sizeof *config);
	const struct troupe_output velocity = {.name = builtin_topic(self, plugin, NULL, "cmd_vel", NULL),
		.type = "gz.msgs.Twist",
		.gives = TROUPE_GIVES_PUBLISHED};
	const struct troupe_output reached = {.name = builtin_topic(self, plugin, NULL, "reached_pose", NULL),
		.type = "gz.msgs.Pose",
		.gives = TROUPE_GIVES_PUBLISHED};
	config->linear_gain = host->number(self, plugin, "linear_p_gain", 1);
	config->angular_gain = host->number(self, plugin, "angular_p_gain", 2);
	config->linear_deviation = host->number(self, plugin, "linear_deviation", 0.1);
	config->angular_deviation = host->number(self, plugin, "angular_deviation", 0.05);
	return host->must_move(self) && drive_to_pose_find_fields(self, config) &&
	       builtin_take(self, plugin, NULL, "cmd_pose", "gz.msgs.Pose_V", 0) &&
	       host->give(self, plugin, &velocity, &config->velocity) &&
	       host->give(self, plugin, &reached, &config->reached);
}

static bool drive_to_pose_check(const struct troupe_system *self, uint32_t input, const struct troupe_message *message,
	char why[TROUPE_WHY_BYTES])
{
	const struct drive_to_pose_config *config = self->config;
	(void)input;
	if (self->host->get_part(message, config->poses, 0))
		return true;
	(void)snprintf(why, TROUPE_WHY_BYTES, "there is no pose: expected one, the first one is driven to");
	return false;
}

/* The turn about z, as in SDF; the length of the quaternion does not matter. */
static double drive_to_pose_yaw_of(const struct troupe_host *host, double w, double x, double y, double z)
{
	return host->atan2(2 * (w * z + x * y), w * w + x * x - y * y - z * z);
}

static void drive_to_pose_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct troupe_host *host = self->host;
	const struct drive_to_pose_config *config = self->config;
	const struct troupe_message *pose = host->get_part(message, config->poses, 0);
	struct drive_to_pose_words *w = words;
	double turn[DRIVE_TO_POSE_TURN];
	(void)input;
	if (!pose)
		return;
	for (int i = 0; i < DRIVE_TO_POSE_TURN; i++)
		turn[i] = builtin_clamp(host->get(pose, config->turn[i], 0), -BUILTIN_NUMBER_MAX, BUILTIN_NUMBER_MAX);
	w->x = builtin_clamp(host->get(pose, config->place[0], 0), -BUILTIN_NUMBER_MAX, BUILTIN_NUMBER_MAX);
	w->y = builtin_clamp(host->get(pose, config->place[1], 0), -BUILTIN_NUMBER_MAX, BUILTIN_NUMBER_MAX);
	w->yaw = drive_to_pose_yaw_of(host, turn[0], turn[1], turn[2], turn[3]);
	w->driving = 1;
}

/* An angle between -2 pi and 2 pi, as one between -pi and pi. */
static double drive_to_pose_wrapped(double angle)
{
	return angle > M_PI ? angle - 2 * M_PI : angle < -M_PI ? angle + 2 * M_PI : angle;
}

/* The distance to drive and the angle to turn now: the model turns towards the goal, drives, and turns to the last yaw.
 * Both are 0 when it is there. */
static void drive_to_pose_errors_of(const struct troupe_system *self, struct troupe_pose at,
	const struct drive_to_pose_words *w, double *ret_linear, double *ret_angular)
{
	const struct troupe_host *host = self->host;
	const struct drive_to_pose_config *config = self->config;
	double x = w->x - at.x, y = w->y - at.y, way = sqrt(x * x + y * y);
	double yaw = drive_to_pose_yaw_of(host, at.qw, at.qx, at.qy, at.qz);
	bool near = way <= config->linear_deviation;
	double turn = drive_to_pose_wrapped((near ? w->yaw : host->atan2(y, x)) - yaw);
	bool ahead = fabs(turn) <= config->angular_deviation;
	*ret_linear = near || !ahead ? 0 : way;
	*ret_angular = ahead ? 0 : turn;
}

static void drive_to_pose_tell(const struct troupe_system *self, const struct troupe_step *step, struct troupe_pose at)
{
	const struct troupe_host *host = self->host;
	const struct drive_to_pose_config *config = self->config;
	struct troupe_message *message = host->message(step, "gz.msgs.Pose");
	const double place[PLACE] = {at.x, at.y, at.z}, turn[DRIVE_TO_POSE_TURN] = {at.qw, at.qx, at.qy, at.qz};
	for (int i = 0; i < PLACE; i++)
		host->put(message, config->place[i], place[i]);
	for (int i = 0; i < DRIVE_TO_POSE_TURN; i++)
		host->put(message, config->turn[i], turn[i]);
	host->publish(self, step, config->reached, message);
}

static void drive_to_pose_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct troupe_host *host = self->host;
	const struct drive_to_pose_config *config = self->config;
	struct drive_to_pose_words *w = words;
	double linear, angular;
	if (!w->driving)
		return;
	struct troupe_pose at = host->model_pose(step, self->model, TROUPE_NOW);
	drive_to_pose_errors_of(self, at, w, &linear, &angular);
	struct troupe_message *twist = host->message(step, "gz.msgs.Twist");
	host->put(twist, config->ahead, config->linear_gain * linear);
	host->put(twist, config->left, config->angular_gain * angular);
	host->publish(self, step, config->velocity, twist);
	if (linear != 0 || angular != 0)
		return;
	w->driving = 0;
	drive_to_pose_tell(self, step, at);
}

static bool drive_to_pose_waits(const struct troupe_system *self, const void *words)
{
	const struct drive_to_pose_words *w = words;
	(void)self;
	return !w->driving;
}

const struct troupe_kind builtin_drive_to_pose_controller = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("DriveToPoseController"),
	.parameters = drive_to_pose_parameters,
	.words = drive_to_pose_words_of,
	.configure = drive_to_pose_configure,
	.check = drive_to_pose_check,
	.command = drive_to_pose_command,
	.update = drive_to_pose_update,
	.waits = drive_to_pose_waits,
};
