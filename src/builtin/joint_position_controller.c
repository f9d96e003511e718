/* Holds joints at a position: by the force of a PID controller or, with <use_velocity_commands>, by the velocity that
 * reaches the position in this step, limited by <cmd_max> if that is given. The position of the first joint is
 * controlled; all joints are driven alike. It is active from the first step, with the target <initial_position> or 0,
 * as in Gazebo. */
#include "builtin/parts.h"

struct config {
	struct builtin_joints joints;
	struct builtin_input input;
	struct builtin_pid pid;
	double initial_position;
	bool by_velocity;
	double velocity_max; /* limit of the velocity; infinite without <cmd_max> */
};

struct words {
	double target;
	struct builtin_pid_words pid;
};

static const struct troupe_parameter parameters[] = {
	BUILTIN_TEXT("joint_name", "the joints; the position of the first one is controlled"),
	BUILTIN_NUMBER("initial_position", "rad or m; default 0"),
	BUILTIN_BETWEEN("joint_index", 0, 0, "only axis 0 has a motor"),
	BUILTIN_PID,
	BUILTIN_BOOL("use_velocity_commands", "by a velocity; default false"),
	BUILTIN_ACTUATORS,
	BUILTIN_TEXT("topic", "of the position; default: /model/NAME/joint/JOINT/0/cmd_pos"),
	BUILTIN_TEXT("sub_topic", "the same, after /model/NAME/"),
	BUILTIN_END,
};
static const struct troupe_words words_of[] = {{"target", TROUPE_WORD_DOUBLE}, {"integral", TROUPE_WORD_DOUBLE},
	{"last error", TROUPE_WORD_DOUBLE}, {NULL, TROUPE_WORD_DOUBLE}};

static bool configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct config *config = self->config = host->alloc(self, sizeof *config);
	config->pid = (struct builtin_pid){1, 0.1, 0.01, 1, -1, 1000, -1000, 0};
	if (!builtin_find_joints(self, plugin, "joint_name", &config->joints))
		return false;
	config->initial_position = host->number(self, plugin, "initial_position", 0);
	builtin_read_pid(self, plugin, &config->pid);
	config->by_velocity = host->boolean(self, plugin, "use_velocity_commands", false);
	config->velocity_max = host->child(plugin, "cmd_max", NULL) ? config->pid.cmd_max : HUGE_VAL;
	if (config->by_velocity && config->velocity_max < 0)
		return host->refuse(self, plugin, "<cmd_max> is %g: expected at least 0 with velocity commands",
			config->pid.cmd_max);
	return builtin_read_input(self, plugin, "position", &config->input) &&
	       builtin_take_joint(self, plugin, &config->joints, "0/cmd_pos", &config->input);
}

static void init(const struct troupe_system *self, void *words)
{
	((struct words *)words)->target = ((const struct config *)self->config)->initial_position;
}

static bool check(const struct troupe_system *self, uint32_t input, const struct troupe_message *message,
	char why[TROUPE_WHY_BYTES])
{
	const struct config *config = self->config;
	(void)input;
	return builtin_check_input(self, &config->input, config->joints.first_name, message, why);
}

static void command(const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct config *config = self->config;
	struct words *w = words;
	(void)input;
	w->target = builtin_input_of(self, &config->input, message, w->target);
}

static void pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct config *config = self->config;
	struct words *w = words;
	double error = self->host->joint_position(step, config->joints.at[0], 0, TROUPE_NOW) - w->target;
	if (config->by_velocity)
		builtin_drive(self, step, &config->joints,
			builtin_clamp(-error / step->dt, -config->velocity_max, config->velocity_max));
	else
		builtin_push(self, step, &config->joints, builtin_pid_update(&config->pid, &w->pid, error, step->dt));
}

const struct troupe_kind builtin_joint_position_controller = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("JointPositionController"),
	.parameters = parameters,
	.words = words_of,
	.configure = configure,
	.init = init,
	.check = check,
	.command = command,
	.pre_update = pre_update,
};
