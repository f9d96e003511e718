/* Drives four groups of mecanum wheels by a Twist: linear.x is forward, linear.y to the left, angular.z to the left.
 * A wheel with rollers at 45 degrees holds the ground only along the roller's axle. So with half the sum of wheel
 * separation and wheelbase as the length l (H. Taheri, B. Qiao, N. Ghaeminezhad, "Kinematic model of a four mecanum
 * wheeled mobile robot", 2015):
 *
 *     front left  (x - y - l turn) / radius        front right  (x + y + l turn) / radius
 *     back left   (x + y - l turn) / radius        back right   (x - y + l turn) / radius
 *
 * The world gives the rollers as friction directions of the wheels' collisions (<fdir1>). Commands are limited as those
 * of DiffDrive; the limits of a linear velocity hold for x and for y. Odometry is dead reckoning from the first wheel
 * of each group by the same formula, solved for x, y and turn. Gazebo's MecanumDrive has the topics but publishes
 * nothing on them. */
#include "builtin/parts.h"

enum mecanum_drive_wheel { FRONT_LEFT, FRONT_RIGHT, BACK_LEFT, BACK_RIGHT, WHEELS };
enum way { AHEAD, ASIDE, MECANUM_DRIVE_TURN, MECANUM_DRIVE_WAYS };

/* The share of each way of driving in the speed of a wheel's rim. The turn is multiplied by the length l, too. */
static const double mecanum_drive_part[WHEELS][MECANUM_DRIVE_WAYS] = {{1, -1, -1}, {1, 1, 1}, {1, 1, -1}, {1, -1, 1}};

struct mecanum_drive_config {
	struct builtin_joints wheels[WHEELS];
	double length, radius;
	struct builtin_limits limits[MECANUM_DRIVE_WAYS];
	struct troupe_pose middle; /* between the first wheels, x ahead, y to the left; in the model's frame */
	const struct troupe_field *field[MECANUM_DRIVE_WAYS];
};

struct mecanum_drive_words {
	double target[MECANUM_DRIVE_WAYS];
	double last[MECANUM_DRIVE_WAYS],
		before[MECANUM_DRIVE_WAYS]; /* commanded in the last step and in the one before it */
	struct builtin_reckoned reckoned;
	double measured[MECANUM_DRIVE_WAYS];
};

static const struct troupe_words mecanum_drive_words_of[] = {
	{"target ahead", TROUPE_WORD_DOUBLE},
	{"target aside", TROUPE_WORD_DOUBLE},
	{"target turn", TROUPE_WORD_DOUBLE},
	{"last ahead", TROUPE_WORD_DOUBLE},
	{"last aside", TROUPE_WORD_DOUBLE},
	{"last turn", TROUPE_WORD_DOUBLE},
	{"ahead before", TROUPE_WORD_DOUBLE},
	{"aside before", TROUPE_WORD_DOUBLE},
	{"turn before", TROUPE_WORD_DOUBLE},
	BUILTIN_RECKONED_WORDS,
	{"measured ahead", TROUPE_WORD_DOUBLE},
	{"measured aside", TROUPE_WORD_DOUBLE},
	{"measured turn", TROUPE_WORD_DOUBLE},
	{NULL, TROUPE_WORD_DOUBLE},
};
_Static_assert(
	sizeof(struct mecanum_drive_words) == (sizeof mecanum_drive_words_of / sizeof *mecanum_drive_words_of - 1) * 8,
	"each word has a name");

static const struct troupe_parameter mecanum_drive_parameters[] = {
	BUILTIN_TEXT("front_left_joint", "a wheel's joint"),
	BUILTIN_TEXT("front_right_joint", "a wheel's joint"),
	BUILTIN_TEXT("back_left_joint", "a wheel's joint"),
	BUILTIN_TEXT("back_right_joint", "a wheel's joint"),
	BUILTIN_BETWEEN("wheelbase", 1e-6, 1e6, "m, from the front to the back wheels; default 1"),
	BUILTIN_BETWEEN("wheel_separation", 1e-6, 1e6, "m, from the left to the right wheels; default 1"),
	BUILTIN_BETWEEN("wheel_radius", 1e-6, 1e6, "m, default 0.2"),
	BUILTIN_LIMITS_OF_DRIVE,
	BUILTIN_TEXT("topic", "of the Twist; default: /model/NAME/cmd_vel"),
	BUILTIN_ODOMETRY,
	BUILTIN_END,
};

static bool mecanum_drive_read_wheels(
	struct troupe_system *self, const struct troupe_element *plugin, struct mecanum_drive_config *config)
{
	static const char *const names[WHEELS] = {
		[FRONT_LEFT] = "front_left_joint",
		[FRONT_RIGHT] = "front_right_joint",
		[BACK_LEFT] = "back_left_joint",
		[BACK_RIGHT] = "back_right_joint",
	};
	for (int i = 0; i < WHEELS; i++)
		if (!builtin_find_joints(self, plugin, names[i], &config->wheels[i]))
			return false;
	return true;
}

static struct troupe_pose mecanum_drive_middle_of(
	const struct troupe_system *self, const struct mecanum_drive_config *config)
{
	struct troupe_pose front =
		builtin_axle(self, config->wheels[FRONT_LEFT].at[0], config->wheels[FRONT_RIGHT].at[0], 0);
	struct troupe_pose back =
		builtin_axle(self, config->wheels[BACK_LEFT].at[0], config->wheels[BACK_RIGHT].at[0], 0);
	struct troupe_vec3 sum = troupe_vec3_add(troupe_pose_place(front), troupe_pose_place(back));
	return troupe_pose_make(troupe_vec3_scale(sum, 0.5), troupe_pose_turn(front));
}

static bool mecanum_drive_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct mecanum_drive_config *config = self->config = host->alloc(self, sizeof *config);
	config->field[AHEAD] = host->field(self, "gz.msgs.Twist", "linear.x");
	config->field[ASIDE] = host->field(self, "gz.msgs.Twist", "linear.y");
	config->field[MECANUM_DRIVE_TURN] = host->field(self, "gz.msgs.Twist", "angular.z");
	config->length =
		(host->number(self, plugin, "wheel_separation", 1) + host->number(self, plugin, "wheelbase", 1)) / 2;
	config->radius = host->number(self, plugin, "wheel_radius", 0.2);
	if (!mecanum_drive_read_wheels(self, plugin, config) ||
		!builtin_read_drive_limits(self, plugin, &config->limits[AHEAD], &config->limits[MECANUM_DRIVE_TURN]))
		return false;
	config->limits[ASIDE] = config->limits[AHEAD];
	config->middle = mecanum_drive_middle_of(self, config);
	return builtin_take(self, plugin, "topic", "cmd_vel", "gz.msgs.Twist", 0) &&
	       builtin_give_odometry(self, plugin);
}

static void mecanum_drive_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct mecanum_drive_config *config = self->config;
	struct mecanum_drive_words *w = words;
	(void)input;
	for (int i = 0; i < MECANUM_DRIVE_WAYS; i++)
		w->target[i] = self->host->get(message, config->field[i], 0);
}

static void mecanum_drive_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct mecanum_drive_config *config = self->config;
	struct mecanum_drive_words *w = words;
	for (int i = 0; i < MECANUM_DRIVE_WAYS; i++) {
		double now = builtin_limit(w->target[i], &config->limits[i], w->last[i], w->before[i], step->dt);
		w->before[i] = w->last[i];
		w->last[i] = now;
	}
	for (int i = 0; i < WHEELS; i++) {
		double rim = mecanum_drive_part[i][AHEAD] * w->last[AHEAD] +
			     mecanum_drive_part[i][ASIDE] * w->last[ASIDE] +
			     mecanum_drive_part[i][MECANUM_DRIVE_TURN] * w->last[MECANUM_DRIVE_TURN] * config->length;
		builtin_drive(self, step, &config->wheels[i], rim / config->radius);
	}
}

static void mecanum_drive_post_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct mecanum_drive_config *config = self->config;
	struct mecanum_drive_words *w = words;
	double way[MECANUM_DRIVE_WAYS] = {0, 0, 0}, sine, cosine;
	for (int i = 0; i < WHEELS; i++) {
		uint32_t joint = config->wheels[i].at[0];
		double rolled = (self->host->joint_position(step, joint, 0, TROUPE_NEXT) -
					self->host->joint_position(step, joint, 0, TROUPE_NOW)) *
				config->radius;
		for (int k = 0; k < MECANUM_DRIVE_WAYS; k++)
			way[k] += mecanum_drive_part[i][k] * rolled / WHEELS;
	}
	way[MECANUM_DRIVE_TURN] /= config->length;
	self->host->sincos(w->reckoned.yaw + way[MECANUM_DRIVE_TURN] / 2, &sine, &cosine);
	double chord = builtin_chord(self->host, way[MECANUM_DRIVE_TURN]);
	w->reckoned.x += chord * (way[AHEAD] * cosine - way[ASIDE] * sine);
	w->reckoned.y += chord * (way[AHEAD] * sine + way[ASIDE] * cosine);
	w->reckoned.yaw += way[MECANUM_DRIVE_TURN];
	for (int k = 0; k < MECANUM_DRIVE_WAYS; k++)
		w->measured[k] = way[k] / step->dt;
}

static void mecanum_drive_reckon(
	const struct troupe_system *self, const void *words, struct troupe_reckoning *ret_reckoning)
{
	const struct mecanum_drive_words *w = words;
	*ret_reckoning = (struct troupe_reckoning){((const struct mecanum_drive_config *)self->config)->middle,
		w->reckoned.x, w->reckoned.y, w->reckoned.yaw, w->measured[AHEAD], w->measured[MECANUM_DRIVE_TURN]};
}

const struct troupe_kind builtin_mecanum_drive = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT | TROUPE_RESTS,
	.names = BUILTIN_NAMES("MecanumDrive"),
	.parameters = mecanum_drive_parameters,
	.words = mecanum_drive_words_of,
	.configure = mecanum_drive_configure,
	.command = mecanum_drive_command,
	.pre_update = mecanum_drive_pre_update,
	.post_update = mecanum_drive_post_update,
	.reckon = mecanum_drive_reckon,
};
