/* Drives joints at a velocity: directly or, with <use_force_commands>, by the force of a PID controller. It is active
 * from the first step, with the target <initial_velocity> or 0, as in Gazebo. */
#include "builtin/parts.h"

struct config {
	struct builtin_joints joints;
	struct builtin_input input;
	struct builtin_pid pid;
	double initial_velocity;
	bool by_force;
};

struct words {
	double target;
	struct builtin_pid_words pid;
};

static const struct troupe_parameter parameters[] = {
	BUILTIN_TEXT("joint_name", "the joints; the rate of the first one is controlled"),
	BUILTIN_NUMBER("initial_velocity", "rad/s or m/s; default 0"),
	BUILTIN_BOOL("use_force_commands", "by the force of a PID controller; default false"),
	BUILTIN_PID,
	BUILTIN_ACTUATORS,
	BUILTIN_TEXT("topic", "of the velocity; default: /model/NAME/joint/JOINT/cmd_vel"),
	BUILTIN_TEXT("sub_topic", "the same, after /model/NAME/"),
	BUILTIN_END,
};
static const struct troupe_words words_of[] = {{"target", TROUPE_WORD_DOUBLE}, {"integral", TROUPE_WORD_DOUBLE},
	{"last error", TROUPE_WORD_DOUBLE}, {NULL, TROUPE_WORD_DOUBLE}};

static bool configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct config *config = self->config = host->alloc(self, sizeof *config);
	config->pid = (struct builtin_pid){1, 0, 0, 1, -1, 1000, -1000, 0};
	if (!builtin_find_joints(self, plugin, "joint_name", &config->joints))
		return false;
	config->initial_velocity = host->number(self, plugin, "initial_velocity", 0);
	config->by_force = host->boolean(self, plugin, "use_force_commands", false);
	builtin_read_pid(self, plugin, &config->pid);
	return builtin_read_input(self, plugin, "velocity", &config->input) &&
	       builtin_take_joint(self, plugin, &config->joints, "cmd_vel", &config->input);
}

static void init(const struct troupe_system *self, void *words)
{
	((struct words *)words)->target = ((const struct config *)self->config)->initial_velocity;
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
	if (!config->by_force) {
		builtin_drive(self, step, &config->joints, w->target);
		return;
	}
	double error = self->host->joint_velocity(step, config->joints.at[0], 0, TROUPE_NOW) - w->target;
	builtin_push(self, step, &config->joints, builtin_pid_update(&config->pid, &w->pid, error, step->dt));
}

const struct troupe_kind builtin_joint_controller = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("JointController"),
	.parameters = parameters,
	.words = words_of,
	.configure = configure,
	.init = init,
	.check = check,
	.command = command,
	.pre_update = pre_update,
};
