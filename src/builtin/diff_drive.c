/* Drives the left and right wheels by a Twist: linear.x is forward, angular.z is to the left. A command is limited in
 * jerk, then in acceleration, then in velocity, relative to the last two steps, as in Gazebo. Odometry is dead
 * reckoning from the first wheel of each side; it is published at <odom_publish_frequency>. */
#include "builtin/parts.h"

enum diff_drive_input { DIFF_DRIVE_INPUT_VELOCITY, DIFF_DRIVE_INPUT_ENABLE };

struct diff_drive_config {
	struct builtin_joints left, right;
	double separation, radius;
	struct builtin_limits linear, angular;
	struct troupe_pose
		axle; /* centre between the first wheel of each side, x ahead, y to the left; in the model's frame */
	const struct troupe_field *ahead, *turn, *enable;
};

struct diff_drive_words {
	struct builtin_speeds speeds;
	uint64_t disabled;
	struct builtin_reckoned reckoned;
	struct builtin_speed measured;
};

static const struct troupe_words diff_drive_words_of[] = {
	BUILTIN_SPEEDS_WORDS,
	{"disabled", TROUPE_WORD_INTEGER},
	BUILTIN_RECKONED_WORDS,
	{"measured linear", TROUPE_WORD_DOUBLE},
	{"measured angular", TROUPE_WORD_DOUBLE},
	{NULL, TROUPE_WORD_DOUBLE},
};
_Static_assert(sizeof(struct diff_drive_words) == (sizeof diff_drive_words_of / sizeof *diff_drive_words_of - 1) * 8,
	"each word has a name");

static const struct troupe_parameter diff_drive_parameters[] = {
	BUILTIN_TEXT("left_joint", "a wheel's joint on the left"),
	BUILTIN_TEXT("right_joint", "a wheel's joint on the right"),
	BUILTIN_BETWEEN("wheel_separation", 1e-6, 1e6, "m, default 1"),
	BUILTIN_BETWEEN("wheel_radius", 1e-6, 1e6, "m, default 0.2"),
	BUILTIN_LIMITS_OF_DRIVE,
	BUILTIN_TEXT("topic", "of the Twist; default: /model/NAME/cmd_vel"),
	BUILTIN_ODOMETRY,
	BUILTIN_END,
};

static bool diff_drive_read_numbers(
	struct troupe_system *self, const struct troupe_element *plugin, struct diff_drive_config *config)
{
	config->separation = self->host->number(self, plugin, "wheel_separation", 1.0);
	config->radius = self->host->number(self, plugin, "wheel_radius", 0.2);
	return builtin_read_drive_limits(self, plugin, &config->linear, &config->angular);
}

static bool diff_drive_read_wheels(
	struct troupe_system *self, const struct troupe_element *plugin, struct diff_drive_config *config)
{
	if (!builtin_find_joints(self, plugin, "left_joint", &config->left) ||
		!builtin_find_joints(self, plugin, "right_joint", &config->right))
		return false;
	return config->left.at[0] != config->right.at[0] ||
	       self->host->refuse(self, plugin, "joint '%s' is a left and a right joint: expected two joints",
		       config->left.first_name);
}

static bool diff_drive_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct diff_drive_config *config = self->config = host->alloc(self, sizeof *config);
	config->ahead = host->field(self, "gz.msgs.Twist", "linear.x");
	config->turn = host->field(self, "gz.msgs.Twist", "angular.z");
	config->enable = host->field(self, "gz.msgs.Boolean", "data");
	if (!diff_drive_read_wheels(self, plugin, config) || !diff_drive_read_numbers(self, plugin, config))
		return false;
	config->axle = builtin_axle(self, config->left.at[0], config->right.at[0], 0);
	return builtin_take(self, plugin, "topic", "cmd_vel", "gz.msgs.Twist", DIFF_DRIVE_INPUT_VELOCITY) &&
	       builtin_take(self, plugin, NULL, "enable", "gz.msgs.Boolean", DIFF_DRIVE_INPUT_ENABLE) &&
	       builtin_give_odometry(self, plugin);
}

static void diff_drive_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct diff_drive_config *config = self->config;
	struct diff_drive_words *w = words;
	if (input == DIFF_DRIVE_INPUT_ENABLE) {
		w->disabled = self->host->get(message, config->enable, 0) == 0;
		if (w->disabled)
			w->speeds.target = (struct builtin_speed){0, 0};
	} else if (!w->disabled) {
		w->speeds.target = (struct builtin_speed){
			self->host->get(message, config->ahead, 0), self->host->get(message, config->turn, 0)};
	}
}

static void diff_drive_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct diff_drive_config *config = self->config;
	struct diff_drive_words *w = words;
	struct builtin_speed now = builtin_limit_speeds(&w->speeds, &config->linear, &config->angular, step->dt);
	double turn = now.angular * config->separation / 2;
	builtin_drive(self, step, &config->left, (now.linear - turn) / config->radius);
	builtin_drive(self, step, &config->right, (now.linear + turn) / config->radius);
}

/* The distance that the first wheel of a side rolled in the step. */
static double diff_drive_rolled(const struct troupe_system *self, const struct troupe_step *step,
	const struct builtin_joints *wheels, double radius)
{
	double now = self->host->joint_position(step, wheels->at[0], 0, TROUPE_NOW);
	double next = self->host->joint_position(step, wheels->at[0], 0, TROUPE_NEXT);
	return (next - now) * radius;
}

static void diff_drive_post_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct diff_drive_config *config = self->config;
	struct diff_drive_words *w = words;
	double left = diff_drive_rolled(self, step, &config->left, config->radius);
	double right = diff_drive_rolled(self, step, &config->right, config->radius);
	double ahead = (left + right) / 2, turn = (right - left) / config->separation;
	builtin_reckon(self->host, &w->reckoned, ahead, turn);
	w->measured = (struct builtin_speed){ahead / step->dt, turn / step->dt};
}

static void diff_drive_reckon(
	const struct troupe_system *self, const void *words, struct troupe_reckoning *ret_reckoning)
{
	const struct diff_drive_words *w = words;
	*ret_reckoning = (struct troupe_reckoning){((const struct diff_drive_config *)self->config)->axle,
		w->reckoned.x, w->reckoned.y, w->reckoned.yaw, w->measured.linear, w->measured.angular};
}

const struct troupe_kind builtin_diff_drive = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT | TROUPE_RESTS,
	.names = BUILTIN_NAMES("DiffDrive"),
	.parameters = diff_drive_parameters,
	.words = diff_drive_words_of,
	.configure = diff_drive_configure,
	.command = diff_drive_command,
	.pre_update = diff_drive_pre_update,
	.post_update = diff_drive_post_update,
	.reckon = diff_drive_reckon,
};
