/* Drives joints at a velocity: directly or, with <use_force_commands>, by the force of a PID controller. It is active
 * from the first step, with the target <initial_velocity> or 0, as in Gazebo. */
#include "builtin/parts.h"

struct joint_controller_config {
	struct builtin_control control;
	bool by_force;
};

static const struct troupe_parameter joint_controller_parameters[] = {
	BUILTIN_TEXT("joint_name", "the joints; the rate of the first one is controlled"),
	BUILTIN_NUMBER("initial_velocity", "rad/s or m/s; default 0"),
	BUILTIN_BOOL("use_force_commands", "by the force of a PID controller; default false"),
	BUILTIN_PID,
	BUILTIN_ACTUATORS,
	BUILTIN_TEXT("topic", "of the velocity; default: /model/NAME/joint/JOINT/cmd_vel"),
	BUILTIN_TEXT("sub_topic", "the same, after /model/NAME/"),
	BUILTIN_END,
};

static bool joint_controller_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct joint_controller_config *config = self->config = host->alloc(self, sizeof *config);
	config->control.pid = (struct builtin_pid){1, 0, 0, 1, -1, 1000, -1000, 0};
	config->by_force = host->boolean(self, plugin, "use_force_commands", false);
	return builtin_read_control(self, plugin, "initial_velocity", &config->control) &&
	       builtin_take_control(self, plugin, "velocity", "cmd_vel", &config->control);
}

static void joint_controller_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct joint_controller_config *config = self->config;
	struct builtin_control_words *w = words;
	if (!config->by_force) {
		builtin_drive(self, step, &config->control.joints, w->target);
		return;
	}
	double error = self->host->joint_velocity(step, config->control.joints.at[0], 0, TROUPE_NOW) - w->target;
	builtin_push(self, step, &config->control.joints,
		builtin_pid_update(&config->control.pid, &w->pid, error, step->dt));
}

const struct troupe_kind builtin_joint_controller = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT | TROUPE_RESTS,
	.names = BUILTIN_NAMES("JointController"),
	.parameters = joint_controller_parameters,
	.words = builtin_control_words,
	.configure = joint_controller_configure,
	.init = builtin_control_init,
	.check = builtin_control_check,
	.command = builtin_control_command,
	.pre_update = joint_controller_pre_update,
};
